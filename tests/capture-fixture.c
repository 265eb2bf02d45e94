/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "capture-fixture.h"

#include "kernels/dsv4-private.h"

#include <string.h>

int
fixture_get_thread_mode (const MemraDriverTable *cu)
{
  int mode = MCU_CAPTURE_MODE_RELAXED, back;

  memra_test_assert_cu (cu->cuThreadExchangeStreamCaptureMode (&mode));
  back = mode;
  memra_test_assert_cu (cu->cuThreadExchangeStreamCaptureMode (&back));
  return mode;
}

void
fixture_set_thread_mode (const MemraDriverTable *cu, int mode)
{
  memra_test_assert_cu (cu->cuThreadExchangeStreamCaptureMode (&mode));
}

static void
make_layer (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;

  fixture->dsv4 = memra_dsv4_new (fixture->context, &error);
  g_assert_no_error (error);
  g_assert_nonnull (fixture->dsv4);
  fixture->stream = memra_test_stream_new (fixture->context);
  fixture->dst = memra_test_buffer_filled (fixture->stream, 1.0f, FIXTURE_N);
  fixture->src = memra_test_buffer_filled (fixture->stream, 2.0f, FIXTURE_N);
  fixture->options = memra_capture_options_new ();
  fixture_assert_thread (fixture);
}

void
fixture_init_on (Fixture *fixture, MemraDriver *driver, gint ordinal)
{
  g_autoptr (GError) error = NULL;

  memset (fixture, 0, sizeof *fixture);
  fixture->cu = memra_test_cu ();
  memra_test_assert_cu (fixture->cu->cuCtxGetCurrent (&fixture->current));
  fixture->thread_mode = fixture_get_thread_mode (fixture->cu);
  fixture->context = memra_context_new (driver, ordinal, &error);
  g_assert_no_error (error);
  memra_context_set_event_tracking (fixture->context, FALSE);
  make_layer (fixture);
}

void
fixture_init (Fixture *fixture)
{
  memset (fixture, 0, sizeof *fixture);
  fixture->cu = memra_test_cu ();
  memra_test_assert_cu (fixture->cu->cuCtxGetCurrent (&fixture->current));
  fixture->thread_mode = fixture_get_thread_mode (fixture->cu);
  fixture->context = memra_test_context_new ();
  make_layer (fixture);
}

void
fixture_clear (Fixture *fixture)
{
  if (fixture->context == NULL)
    return; /* a test that was skipped before fixture_init() */
  fixture_assert_thread (fixture);
  memra_capture_options_free (fixture->options);
  memra_buffer_unref (fixture->src);
  memra_buffer_unref (fixture->dst);
  memra_stream_unref (fixture->stream);
  memra_dsv4_unref (fixture->dsv4);
  memra_context_unref (fixture->context);
  memset (fixture, 0, sizeof *fixture);
}

gboolean
fixture_add (Fixture *fixture, MemraStream *stream, GError **error)
{
  return memra_dsv4_add_inplace (fixture->dsv4, stream, fixture->dst, fixture->src, FIXTURE_N_U64, error);
}

gboolean
fixture_body (MemraStream *stream, gpointer fixture, GError **error)
{
  ((Fixture *) fixture)->calls++;
  return fixture_add ((Fixture *) fixture, stream, error);
}

gboolean
fixture_empty_body (MemraStream *stream, gpointer fixture, GError **error)
{
  ((Fixture *) fixture)->calls++;
  return TRUE;
}

MemraLayerCapture *
fixture_capture (Fixture *fixture, guint layer)
{
  g_autoptr (GError) error = NULL;
  guint calls = fixture->calls;
  MemraLayerCapture *capture
      = memra_capture_layer (fixture->stream, layer, fixture->options, fixture_body, fixture, &error);

  g_assert_no_error (error);
  g_assert_nonnull (capture);
  g_assert_cmpuint (fixture->calls, ==, calls + 1);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
  return capture;
}

void
fixture_assert_ran (Fixture *fixture, guint times)
{
  memra_test_assert_floats (fixture->dst, fixture->stream, 1.0f + 2.0f * (float) times, FIXTURE_N);
}

void
fixture_assert_thread (Fixture *fixture)
{
  CUcontext current = NULL;

  memra_test_assert_cu (fixture->cu->cuCtxGetCurrent (&current));
  g_assert_true (current == fixture->current);
  g_assert_cmpint (fixture_get_thread_mode (fixture->cu), ==, fixture->thread_mode);
}

void
fixture_assert_good_as_new (Fixture *fixture, guint times)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  MemraCaptureOptions *before = fixture->options;
  g_autoptr (GError) error = NULL;
  g_autofree float *values = g_new (float, FIXTURE_N);

  fixture_assert_thread (fixture);
  g_assert_cmpint (fixture_status (fixture, fixture->stream), ==, MCU_CAPTURE_STATUS_NONE);
  g_assert_false (memra_context_get_event_tracking (fixture->context));
  fixture_assert_ran (fixture, times);
  memra_test_assert_stream_usable (fixture->stream);

  fixture->options = memra_capture_options_new ();
  capture = fixture_capture (fixture, 1000);
  fixture_assert_ran (fixture, times + 1);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_ran (fixture, times + 2);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  memra_capture_options_free (fixture->options);
  fixture->options = before;

  for (guint i = 0; i < FIXTURE_N; i++)
    values[i] = 1.0f + 2.0f * (float) times;
  g_assert_true (memra_buffer_copy_from_host (fixture->dst, 0, values, FIXTURE_BYTES, fixture->stream, &error));
  g_assert_no_error (error);
  fixture_assert_thread (fixture);
}

void
fixture_enter (Fixture *fixture)
{
  memra_test_assert_cu (fixture->cu->cuCtxPushCurrent (memra_context_get_cuda_context (fixture->context)));
}

void
fixture_leave (Fixture *fixture)
{
  CUcontext popped = NULL;

  memra_test_assert_cu (fixture->cu->cuCtxPopCurrent (&popped));
  g_assert_true (popped == memra_context_get_cuda_context (fixture->context));
}

char *
fixture_dup_host_module_path (void)
{
  g_autofree char *directory = g_path_get_dirname (memra_test_host_driver_path ());

  return g_build_filename (directory, "memra-dsv4.so", NULL);
}

CUmodule
fixture_load_raw_module (Fixture *fixture)
{
  g_autofree char *path = fixture_dup_host_module_path ();
  CUmodule module = NULL;

  if (memra_test_on_gpu ())
    memra_test_assert_cu (fixture->cu->cuModuleLoadData (&module, memra_dsv4_fatbin));
  else
    memra_test_assert_cu (fixture->cu->cuModuleLoad (&module, path));
  return module;
}

int
fixture_status (Fixture *fixture, MemraStream *stream)
{
  int status = -1;

  memra_test_assert_cu (fixture->cu->cuStreamIsCapturing (memra_stream_get_cuda_stream (stream), &status));
  return status;
}

gboolean
fixture_add_raw (Fixture *fixture, MemraStream *stream, CUdeviceptr dst, CUdeviceptr src, GError **error)
{
  const MemraDim3 grid = { 1, 1, 1 }, block = { 64, 1, 1 };
  guint64 n = FIXTURE_N;
  gconstpointer arguments[] = { &dst, &src, &n };
  g_autoptr (MemraKernel) kernel
      = memra_module_get_kernel (memra_dsv4_get_module (fixture->dsv4), FIXTURE_KERNEL, error);

  return kernel != NULL
         && memra_kernel_launch (kernel, stream, &grid, &block, 0, arguments, G_N_ELEMENTS (arguments), error);
}

void
gate_init (Gate *gate)
{
  memset (gate, 0, sizeof *gate);
  pthread_mutex_init (&gate->lock, NULL);
  pthread_cond_init (&gate->changed, NULL);
}

void
gate_clear (Gate *gate)
{
  pthread_mutex_destroy (&gate->lock);
  pthread_cond_destroy (&gate->changed);
}

void
gate_stand (gpointer data)
{
  Gate *gate = (Gate *) data;

  pthread_mutex_lock (&gate->lock);
  gate->entered = TRUE;
  pthread_cond_broadcast (&gate->changed);
  while (!gate->open)
    pthread_cond_wait (&gate->changed, &gate->lock);
  gate->passed++;
  pthread_mutex_unlock (&gate->lock);
}

void
gate_open (Gate *gate)
{
  pthread_mutex_lock (&gate->lock);
  gate->open = TRUE;
  pthread_cond_broadcast (&gate->changed);
  pthread_mutex_unlock (&gate->lock);
}

void
gate_await_entered (Gate *gate)
{
  pthread_mutex_lock (&gate->lock);
  while (!gate->entered)
    pthread_cond_wait (&gate->changed, &gate->lock);
  pthread_mutex_unlock (&gate->lock);
}

gboolean
gate_is_open (Gate *gate)
{
  gboolean open;

  pthread_mutex_lock (&gate->lock);
  open = gate->open;
  pthread_mutex_unlock (&gate->lock);
  return open;
}

gboolean
fixture_linger (gint *flag)
{
  for (guint i = 0; i < 20000 && !g_atomic_int_get (flag); i++)
    g_thread_yield ();
  return g_atomic_int_get (flag);
}

void
fixture_fail_contains (const char *file, int line, const char *function, const char *text, const char *part,
                       gboolean wanted)
{
  g_autofree char *message
      = g_strdup_printf ("\"%s\" %s \"%s\"", text != NULL ? text : "(NULL)", wanted ? "lacks" : "contains", part);

  g_assertion_message (G_LOG_DOMAIN, file, line, function, message);
}
