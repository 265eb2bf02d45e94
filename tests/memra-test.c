/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "memra-test.h"

#include "driver/driver-private.h"

#include <errno.h>
#include <string.h>

typedef struct
{
  void (*func) (void); /* or */
  void (*data_func) (gconstpointer data);
  gconstpointer data;
} Test;

static MemraDriver *driver;        /* of this run; NULL before it was asked for, and where there is none */
static GError *driver_error;       /* why there is none */
static GPtrArray *tests;           /* element-type Test, owned; GLib frees only those that it ran */
static MemraContext *held_context; /* on a GPU: making a context takes longer than most tests */

gboolean
memra_test_on_gpu (void)
{
  return g_strcmp0 (g_getenv ("MEMRA_TEST_DRIVER"), "cuda") == 0;
}

const char *
memra_test_host_driver_path (void)
{
  /* From where test programs lie: tests/ or tests/.libs/ of a build tree, or tests/ of a bundle. */
  static const char *const places[]
    = { "../lib/host/.libs/libcuda.so.1", "../../lib/host/.libs/libcuda.so.1", "../lib/memra-capture/host/libcuda.so.1" };
  static char *path;

  if (g_once_init_enter (&path))
    {
      g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
      /* The name it was called by will do where there is no /proc. */
      g_autofree char *folder = g_path_get_dirname (program != NULL ? program : program_invocation_name);
      g_autofree char *directory = g_canonicalize_filename (folder, NULL);
      char *found = NULL;

      for (gsize i = 0; i < G_N_ELEMENTS (places) && found == NULL; i++)
        {
          g_autofree char *candidate = g_canonicalize_filename (places[i], directory);

          if (g_file_test (candidate, G_FILE_TEST_EXISTS))
            found = g_steal_pointer (&candidate);
        }
      g_once_init_leave (&path, found != NULL ? found : g_strdup (memra_host_driver_path ()));
    }
  return path;
}

static MemraDriver *
try_driver (void)
{
  if (driver == NULL && driver_error == NULL)
    driver = memra_test_on_gpu () ? memra_driver_get_default (&driver_error)
                                  : memra_driver_open (memra_test_host_driver_path (), &driver_error);
  return driver;
}

MemraDriver *
memra_test_driver (void)
{
  if (try_driver () == NULL)
    g_error ("No driver for this test: %s", driver_error->message);
  return driver;
}

const MemraDriverTable *
memra_test_cu (void)
{
  return &memra_test_driver ()->cu;
}

const MemraHostControl *
memra_test_host_control (void)
{
  return memra_driver_get_host_control (memra_test_driver ());
}

gboolean
memra_test_need_gpu (void)
{
  if (memra_test_on_gpu ())
    return TRUE;
  g_test_skip ("needs a GPU; this run is on the host driver");
  return FALSE;
}

gboolean
memra_test_need_host (void)
{
  if (!memra_test_on_gpu ())
    return TRUE;
  g_test_skip ("needs the host driver; this run is on a GPU");
  return FALSE;
}

MemraContext *
memra_test_context_new (void)
{
  g_autoptr (GError) error = NULL;
  MemraContext *context = memra_context_new (memra_test_driver (), 0, &error);

  g_assert_no_error (error);
  g_assert_nonnull (context);
  memra_context_set_event_tracking (context, FALSE);
  if (memra_test_on_gpu () && held_context == NULL)
    held_context = memra_context_ref (context);
  return context;
}

MemraStream *
memra_test_stream_new (MemraContext *context)
{
  g_autoptr (GError) error = NULL;
  MemraStream *stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, &error);

  g_assert_no_error (error);
  g_assert_nonnull (stream);
  return stream;
}

MemraBuffer *
memra_test_buffer_from_floats (MemraStream *stream, const float *values, gsize n)
{
  g_autoptr (GError) error = NULL;
  MemraBuffer *buffer = memra_buffer_new_from_host (stream, values, n * sizeof *values, &error);

  g_assert_no_error (error);
  g_assert_nonnull (buffer);
  memra_stream_synchronize (stream, &error);
  g_assert_no_error (error);
  return buffer;
}

MemraBuffer *
memra_test_buffer_filled (MemraStream *stream, float value, gsize n)
{
  g_autofree float *values = g_new (float, n);

  for (gsize i = 0; i < n; i++)
    values[i] = value;
  return memra_test_buffer_from_floats (stream, values, n);
}

void
memra_test_read_floats (MemraBuffer *buffer, MemraStream *stream, float *values, gsize n)
{
  g_autoptr (GError) error = NULL;
  gboolean done;

  memra_stream_synchronize (stream, &error);
  g_assert_no_error (error);
  done = memra_buffer_copy_to_host (buffer, 0, values, n * sizeof *values, stream, &error);
  g_assert_no_error (error);
  g_assert_true (done);
}

void
memra_test_assert_floats (MemraBuffer *buffer, MemraStream *stream, float value, gsize n)
{
  g_autofree float *values = g_new (float, n);

  memra_test_read_floats (buffer, stream, values, n);
  for (gsize i = 0; i < n; i++)
    if (memcmp (&values[i], &value, sizeof value) != 0)
      g_error ("Value %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " is %.9g, not %.9g", i, n, (double) values[i], (double) value);
}

void
memra_test_assert_stream_usable (MemraStream *stream)
{
  const MemraDriverTable *cu = memra_test_cu ();
  CUcontext context = memra_context_get_cuda_context (memra_stream_get_context (stream));
  CUstream raw = memra_stream_get_cuda_stream (stream);
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  CUdeviceptr address = 0;
  guint32 value = 0;
  int mode = MCU_CAPTURE_MODE_RELAXED;
  int status = -1;

  memra_test_assert_cu (cu->cuCtxPushCurrent (context));
  memra_test_assert_cu (cu->cuThreadExchangeStreamCaptureMode (&mode));
  memra_test_assert_cu (cu->cuStreamIsCapturing (raw, &status));
  g_assert_cmpint (status, ==, MCU_CAPTURE_STATUS_NONE);
  memra_test_assert_cu (cu->cuStreamSynchronize (raw));

  if (!memra_stream_is_legacy (stream))
    {
      memra_test_assert_cu (cu->cuMemAlloc (&address, sizeof value));
      memra_test_assert_cu (cu->cuMemsetD32Async (address, 1, 1, raw));

      memra_test_assert_cu (cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_RELAXED));
      memra_test_assert_cu (cu->cuMemsetD32Async (address, 0x600df00d, 1, raw));
      memra_test_assert_cu (cu->cuStreamEndCapture (raw, &graph));
      g_assert_nonnull (graph);
      memra_test_assert_cu (cu->cuGraphInstantiateWithFlags (&exec, graph, 0));

      memra_test_assert_cu (cu->cuMemcpyDtoHAsync (&value, address, sizeof value, raw));
      memra_test_assert_cu (cu->cuStreamSynchronize (raw));
      g_assert_cmphex (value, ==, 1);
      memra_test_assert_cu (cu->cuGraphLaunch (exec, raw));
      memra_test_assert_cu (cu->cuMemcpyDtoHAsync (&value, address, sizeof value, raw));
      memra_test_assert_cu (cu->cuStreamSynchronize (raw));
      g_assert_cmphex (value, ==, 0x600df00d);

      memra_test_assert_cu (cu->cuGraphExecDestroy (exec));
      memra_test_assert_cu (cu->cuGraphDestroy (graph));
      memra_test_assert_cu (cu->cuMemFree (address));
    }

  memra_test_assert_cu (cu->cuThreadExchangeStreamCaptureMode (&mode));
  memra_test_assert_cu (cu->cuCtxPopCurrent (&context));
}

char *
memra_test_dup_data_path (const char *name)
{
  return g_test_build_filename (G_TEST_DIST, "tests", name, NULL);
}

void
memra_test_fail_cu (const char *file, int line, const char *function, const char *call, McuResult result)
{
  g_autofree char *text = _memra_driver_describe (memra_test_driver (), result);
  g_autofree char *message = g_strdup_printf ("%s: %s", call, text);

  g_assertion_message (G_LOG_DOMAIN, file, line, function, message);
}

static void
run_test (gconstpointer data)
{
  const Test *test = (const Test *) data;

  if (try_driver () == NULL)
    {
      if (memra_test_on_gpu ())
        {
          g_test_skip (driver_error->message);
          return;
        }
      g_error ("The host driver does not load: %s", driver_error->message);
    }
  if (test->func != NULL)
    test->func ();
  else
    test->data_func (test->data);
}

void
memra_test_add (const char *path, void (*func) (void))
{
  Test *test = g_new0 (Test, 1);

  test->func = func;
  g_ptr_array_add (tests, test);
  g_test_add_data_func (path, test, run_test);
}

void
memra_test_add_data (const char *path, gconstpointer data, void (*func) (gconstpointer data))
{
  Test *test = g_new0 (Test, 1);

  test->data_func = func;
  test->data = data;
  g_ptr_array_add (tests, test);
  g_test_add_data_func (path, test, run_test);
}

int
memra_test_main (int argc, char **argv, void (*add_tests) (void))
{
  int status;

  g_test_init (&argc, &argv, NULL);
  tests = g_ptr_array_new_with_free_func (g_free);
  add_tests ();
  status = g_test_run ();

  g_clear_pointer (&tests, g_ptr_array_unref);
  g_clear_pointer (&held_context, memra_context_unref);
  g_clear_pointer (&driver, memra_driver_unref);
  g_clear_error (&driver_error);
  return status;
}
