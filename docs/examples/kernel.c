/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures a kernel of one's own. Argument: the module, scale-kernel.so on the host driver, a cubin on a GPU. */
#include <memra-capture/memra-capture.h>

#define N 1000

typedef struct
{
  MemraKernel *kernel;
  MemraBuffer *x;
} Layer;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Layer *layer = user_data;
  const MemraDim3 grid = { 4, 1, 1 }, block = { 256, 1, 1 };
  g_auto (MemraAccess) access = MEMRA_ACCESS_INIT;
  guint64 x = memra_buffer_acquire_write (layer->x, stream, &access, error); /* and the capture keeps the buffer */
  float factor = 2.0f;
  guint32 n = N;
  gconstpointer arguments[] = { &x, &factor, &n };

  return x != 0
         && memra_kernel_launch (layer->kernel, stream, &grid, &block, 0, arguments, G_N_ELEMENTS (arguments), error);
}

static gboolean
run (const char *path, GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraModule) module = context != NULL ? memra_module_load (context, path, error) : NULL;
  g_autoptr (MemraKernel) kernel = module != NULL ? memra_module_get_kernel (module, "scale", error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraBuffer) x = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autofree char *text = NULL;
  float values[N];

  if (kernel == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  for (int i = 0; i < N; i++)
    values[i] = 1.0f;
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  x = stream != NULL ? memra_buffer_new_from_host (stream, values, sizeof values, error) : NULL;
  capture = x != NULL ? memra_capture_layer (stream, 0, NULL, body, &(Layer){ kernel, x }, error) : NULL;
  if (capture == NULL || !memra_layer_capture_replay (capture, error)
      || !memra_buffer_copy_to_host (x, 0, values, sizeof values, stream, error))
    return FALSE;
  text = memra_census_to_json (memra_layer_capture_get_census (capture));
  g_print ("x[%d] is %g after one execution and one replay\n%s", N - 1, (double) values[N - 1], text);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (run (argc > 1 ? argv[1] : "./scale-kernel.so", &error))
    return 0;
  g_printerr ("%s\n", error->message);
  return 1;
}
