/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes a kept capture: one argument of one kernel, then the whole layer anew, in place. */
#include <memra-capture/memra-capture.h>

#define N 256

typedef struct
{
  MemraDsv4 *dsv4;
  MemraBuffer *sum, *addend, *other;
  guint times;
} Layer;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Layer *layer = user_data;

  for (guint i = 0; i < layer->times; i++)
    if (!memra_dsv4_add_inplace (layer->dsv4, stream, layer->sum, layer->addend, N, error))
      return FALSE;
  return TRUE;
}

static MemraBuffer *
filled (MemraStream *stream, float value, GError **error)
{
  float values[N];

  for (int i = 0; i < N; i++)
    values[i] = value;
  return memra_buffer_new_from_host (stream, values, sizeof values, error);
}

static gboolean
print_sum (Layer *layer, MemraStream *stream, const char *when, GError **error)
{
  float value;

  if (!memra_buffer_copy_to_host (layer->sum, 0, &value, sizeof value, stream, error))
    return FALSE;
  g_print ("%-9s %g\n", when, (double) value);
  return TRUE;
}

/* Lets the first addition add another buffer from now on. */
static gboolean
edit (MemraLayerCapture *capture, MemraBuffer *addend, GError **error)
{
  g_autoptr (MemraKernelEdit) batch = memra_kernel_edit_begin (capture, error);
  guint64 address = memra_buffer_get_address (addend);
  guint kernel;

  if (batch == NULL || !memra_kernel_edit_find (batch, "memra_dsv4_add_inplace", 0, &kernel, error)
      || !memra_kernel_edit_set_argument (batch, kernel, 1, &address, sizeof address, error)
      || !memra_kernel_edit_commit (batch, error))
    return FALSE;
  /* The address came past the library, so nothing keeps the buffer but this. */
  memra_layer_capture_retain (capture, memra_buffer_ref (addend), (GDestroyNotify) memra_buffer_unref);
  return TRUE;
}

static gboolean
change (Layer *layer, MemraStream *stream, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = memra_capture_layer (stream, 0, NULL, body, layer, error);
  g_autoptr (GError) refusal = NULL;
  MemraUpdateOutcome outcome;

  if (capture == NULL || !print_sum (layer, stream, "captured", error))
    return FALSE;
  if (!edit (capture, layer->other, error) || !memra_layer_capture_replay (capture, error)
      || !print_sum (layer, stream, "edited", error))
    return FALSE;

  /* The same kernels with other arguments: the driver can update the executable graph where it is. */
  layer->addend = layer->sum;
  if (!memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, layer, &outcome, error)
      || !memra_layer_capture_replay (capture, error) || !print_sum (layer, stream, "updated", error))
    return FALSE;

  /* One kernel more: it cannot, and says so; the capture is as it was. */
  layer->times = 2;
  if (memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, layer, &outcome, &refusal))
    return FALSE;
  g_print ("%s\n", refusal->message);
  if (!memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, layer, &outcome, error))
    return FALSE;
  g_print ("%s\n", outcome == MEMRA_UPDATE_REINSTANTIATED ? "instantiated anew" : "updated in place");
  return memra_layer_capture_replay (capture, error) && print_sum (layer, stream, "replayed", error);
}

static gboolean
run (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraBuffer) sum = NULL;
  g_autoptr (MemraBuffer) one = NULL;
  g_autoptr (MemraBuffer) ten = NULL;

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  dsv4 = stream != NULL ? memra_dsv4_new (context, error) : NULL;
  sum = dsv4 != NULL ? filled (stream, 0.0f, error) : NULL;
  one = sum != NULL ? filled (stream, 1.0f, error) : NULL;
  ten = one != NULL ? filled (stream, 10.0f, error) : NULL;
  return ten != NULL && change (&(Layer){ dsv4, sum, one, ten, 1 }, stream, error);
}

int
main (void)
{
  g_autoptr (GError) error = NULL;

  if (run (&error))
    return 0;
  g_printerr ("%s\n", error != NULL ? error->message : "an update that should have been refused was not");
  return 1;
}
