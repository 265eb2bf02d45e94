/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The scope form of a capture, for code that cannot be a callback. */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

static MemraCaptureScope *
scope_begin (Fixture *fixture, MemraStream *stream, guint layer)
{
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope = memra_capture_scope_begin (stream, layer, fixture->options, &error);

  g_assert_no_error (error);
  g_assert_nonnull (scope);
  g_assert_true (memra_capture_scope_get_stream (scope) == stream);
  fixture_assert_thread (fixture);
  g_assert_cmpint (fixture_status (fixture, stream), ==, MCU_CAPTURE_STATUS_ACTIVE);
  return scope;
}

static void
scope_add (Fixture *fixture, MemraStream *stream)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (fixture_add (fixture, stream, &error));
  g_assert_no_error (error);
}

static void
test_scope_mode (gconstpointer mode)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, (MemraCaptureMode) GPOINTER_TO_INT (mode));
  scope = scope_begin (&fixture, fixture.stream, 31);
  g_assert_true (memra_stream_mark (fixture.stream, "attention", &error));
  scope_add (&fixture, fixture.stream);
  capture = memra_capture_scope_end (scope, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_layer_capture_get_layer (capture), ==, 31);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 1);
  /* A capture that any thread can break is not looked into while it is open. */
  g_assert_cmpstr (
      memra_kernel_node_get_section (memra_census_get_kernel_node (memra_layer_capture_get_census (capture), 0)), ==,
      GPOINTER_TO_INT (mode) == MEMRA_CAPTURE_MODE_GLOBAL ? NULL : "attention");
  fixture_assert_ran (&fixture, 1);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 2);
}

static void
test_scope_record_only (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  memra_capture_options_set_record_only (fixture.options, TRUE);
  scope = scope_begin (&fixture, fixture.stream, 31);
  scope_add (&fixture, fixture.stream);
  capture = memra_capture_scope_end (scope, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 0);
  fixture_assert_ran (&fixture, 0);
}

static void
test_scope_strict (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  memra_capture_options_set_strict (fixture.options, TRUE);
  scope = memra_capture_scope_begin (fixture.stream, 31, fixture.options, &error);
  g_assert_no_error (error);
  g_assert_true (memra_capture_scope_get_stream (scope) != fixture.stream);
  g_assert_cmpint (memra_stream_get_flags (memra_capture_scope_get_stream (scope)), ==, MEMRA_STREAM_BLOCKING);
  g_assert_cmpint (fixture_status (&fixture, fixture.stream), ==, MCU_CAPTURE_STATUS_NONE);
  scope_add (&fixture, memra_capture_scope_get_stream (scope));
  capture = memra_capture_scope_end (scope, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_get_stream (capture) == fixture.stream);
  fixture_assert_good_as_new (&fixture, 1);
}

static gboolean
leave_early (Fixture *fixture)
{
  g_autoptr (MemraCaptureScope) scope = scope_begin (fixture, fixture->stream, 32);

  scope_add (fixture, memra_capture_scope_get_stream (scope));
  return FALSE; /* as code does that meets an error */
}

static void
test_scope_autoptr (gconstpointer mode)
{
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, (MemraCaptureMode) GPOINTER_TO_INT (mode));
  leave_early (&fixture);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_scope_abort_broken (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  scope = scope_begin (&fixture, fixture.stream, 33);
  scope_add (&fixture, fixture.stream);
  g_assert_cmpint (fixture.cu->cuStreamQuery (memra_stream_get_cuda_stream (fixture.stream)), ==, 900);
  memra_capture_scope_abort (scope);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_scope_end_broken (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  scope = scope_begin (&fixture, fixture.stream, 33);
  scope_add (&fixture, fixture.stream);
  g_assert_cmpint (fixture.cu->cuStreamQuery (memra_stream_get_cuda_stream (fixture.stream)), ==, 900);
  g_assert_null (memra_capture_scope_end (scope, &error));
  assert_capture_error (error, 33, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, 901,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, FIXTURE_KERNEL);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_scope_empty (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_scope_end (scope_begin (&fixture, fixture.stream, 34), &error));
  assert_capture_error (error, 34, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  memra_capture_options_set_allow_empty (fixture.options, TRUE);
  capture = memra_capture_scope_end (scope_begin (&fixture, fixture.stream, 34), &error);
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_scope_tracked_buffer (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  memra_context_set_event_tracking (fixture.context, TRUE);
  buffer = memra_test_buffer_filled (fixture.stream, 5.0f, FIXTURE_N);
  memra_context_set_event_tracking (fixture.context, FALSE);
  scope = scope_begin (&fixture, fixture.stream, 35);
  scope_add (&fixture, fixture.stream);
  g_assert_false (memra_buffer_zero (buffer, fixture.stream, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_EVENT_TRACKING);
  g_clear_error (&error);
  g_assert_null (memra_capture_scope_end (scope, &error));
  assert_capture_error (error, 35, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, MEMRA_CAPTURE_STAGE_BODY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  fixture_assert_good_as_new (&fixture, 0);
}

typedef struct
{
  MemraCaptureScope *scope;
  MemraLayerCapture *capture;
  GError *error;
  gboolean abort;
} Elsewhere;

static gpointer
end_elsewhere (gpointer data)
{
  Elsewhere *elsewhere = (Elsewhere *) data;

  if (elsewhere->abort)
    memra_capture_scope_abort (elsewhere->scope);
  else
    elsewhere->capture = memra_capture_scope_end (elsewhere->scope, &elsewhere->error);
  return NULL;
}

/* Ended by another thread: all right if relaxed; else the driver says so, and the capture is gone (908). */
static void
test_scope_other_thread (gconstpointer data)
{
  g_auto (Fixture) fixture = { 0 };
  MemraCaptureMode mode = (MemraCaptureMode) (GPOINTER_TO_INT (data) % 3);
  Elsewhere elsewhere = { NULL, NULL, NULL, GPOINTER_TO_INT (data) >= 3 };
  gboolean works = mode == MEMRA_CAPTURE_MODE_RELAXED && !elsewhere.abort;

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, mode);
  elsewhere.scope = scope_begin (&fixture, fixture.stream, 36);
  scope_add (&fixture, fixture.stream);
  g_thread_join (g_thread_new ("elsewhere", end_elsewhere, &elsewhere));
  if (works)
    {
      g_assert_no_error (elsewhere.error);
      g_assert_nonnull (elsewhere.capture);
    }
  else
    {
      g_assert_null (elsewhere.capture);
      if (!elsewhere.abort)
        {
          assert_capture_error (elsewhere.error, 36, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END,
                                MCU_ERROR_STREAM_CAPTURE_WRONG_THREAD, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
          assert_contains (elsewhere.error->message, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD (908)");
        }
    }
  g_clear_error (&elsewhere.error);
  g_clear_pointer (&elsewhere.capture, memra_layer_capture_unref);
  fixture_assert_good_as_new (&fixture, works ? 1 : 0);
}

/* Several scopes of one thread, open at once on several streams and ended in either order. */
static void
test_scope_several (gconstpointer data)
{
  enum
  {
    N = 4
  };
  g_auto (Fixture) fixture = { 0 };
  gboolean reverse = GPOINTER_TO_INT (data) & 1;
  MemraStream *streams[N];
  MemraBuffer *buffers[N];
  MemraCaptureScope *scopes[N];
  MemraLayerCapture *captures[N];
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, (MemraCaptureMode) (GPOINTER_TO_INT (data) >> 1));
  for (guint i = 0; i < N; i++)
    {
      streams[i] = memra_test_stream_new (fixture.context);
      buffers[i] = memra_test_buffer_filled (streams[i], (float) i, FIXTURE_N);
    }
  for (guint i = 0; i < N; i++)
    scopes[i] = scope_begin (&fixture, streams[i], i);
  for (guint round = 0; round < 2; round++) /* interleaved */
    for (guint i = 0; i < N; i++)
      {
        g_assert_true (memra_dsv4_add_inplace (fixture.dsv4, streams[i], buffers[i], fixture.src, FIXTURE_N, &error));
        g_assert_no_error (error);
      }
  for (guint i = 0; i < N; i++)
    {
      guint which = reverse ? N - 1 - i : i;

      captures[which] = memra_capture_scope_end (scopes[which], &error);
      g_assert_no_error (error);
    }
  for (guint i = 0; i < N; i++)
    {
      g_assert_cmpuint (memra_layer_capture_get_layer (captures[i]), ==, i);
      g_assert_cmpuint (memra_layer_capture_get_kernels (captures[i])->len, ==, 2);
      memra_test_assert_floats (buffers[i], streams[i], (float) i + 4.0f, FIXTURE_N);
      memra_layer_capture_unref (captures[i]);
      memra_test_assert_stream_usable (streams[i]);
      memra_buffer_unref (buffers[i]);
      memra_stream_unref (streams[i]);
    }
  fixture_assert_good_as_new (&fixture, 0);
}

/* A second scope on a stream that has one is refused, and the first goes on. */
static void
test_scope_twice (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  fixture_init (&fixture);
  scope = scope_begin (&fixture, fixture.stream, 37);
  g_assert_null (memra_capture_scope_begin (fixture.stream, 38, NULL, &error));
  assert_capture_error (error, 38, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  scope_add (&fixture, fixture.stream);
  capture = memra_capture_scope_end (scope, &error);
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 1);
}

/* A buffer that the scope used is kept by the capture, and let go when the scope is aborted. */
static void
test_scope_keeps (void)
{
  g_auto (Fixture) fixture = { 0 };
  const MemraHostControl *control = memra_test_host_control ();
  MemraCaptureScope *scope;
  MemraBuffer *buffer;
  guint64 allocations;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  allocations = control->count_objects ("allocation");
  scope = scope_begin (&fixture, fixture.stream, 39);
  buffer = memra_buffer_new (fixture.stream, FIXTURE_BYTES, NULL); /* legal, and not recorded */
  g_assert_true (memra_buffer_zero (buffer, fixture.stream, NULL));
  memra_buffer_unref (buffer);
  g_assert_cmpuint (control->count_objects ("allocation"), ==, allocations + 1);
  memra_capture_scope_abort (scope);
  g_assert_cmpuint (control->count_objects ("allocation"), ==, allocations);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
add_tests (void)
{
  static const char *const modes[] = { "global", "thread-local", "relaxed" };

  for (int i = 0; i < 3; i++)
    {
      g_autofree char *plain = g_strdup_printf ("/scope/plain/%s", modes[i]);
      g_autofree char *aborted = g_strdup_printf ("/scope/autoptr/%s", modes[i]);
      g_autofree char *ended = g_strdup_printf ("/scope/ended-elsewhere/%s", modes[i]);
      g_autofree char *in_order = g_strdup_printf ("/scope/several/%s/in-order", modes[i]);
      g_autofree char *reversed = g_strdup_printf ("/scope/several/%s/reversed", modes[i]);

      memra_test_add_data (plain, GINT_TO_POINTER (i), test_scope_mode);
      memra_test_add_data (aborted, GINT_TO_POINTER (i), test_scope_autoptr);
      memra_test_add_data (ended, GINT_TO_POINTER (i), test_scope_other_thread);
      memra_test_add_data (in_order, GINT_TO_POINTER (2 * i), test_scope_several);
      memra_test_add_data (reversed, GINT_TO_POINTER (2 * i + 1), test_scope_several);
    }
  memra_test_add_data ("/scope/aborted-elsewhere/relaxed", GINT_TO_POINTER (5), test_scope_other_thread);
  memra_test_add_data ("/scope/aborted-elsewhere/thread-local", GINT_TO_POINTER (4), test_scope_other_thread);
  memra_test_add ("/scope/record-only", test_scope_record_only);
  memra_test_add ("/scope/strict", test_scope_strict);
  memra_test_add ("/scope/abort-broken", test_scope_abort_broken);
  memra_test_add ("/scope/end-broken", test_scope_end_broken);
  memra_test_add ("/scope/empty", test_scope_empty);
  memra_test_add ("/scope/tracked-buffer", test_scope_tracked_buffer);
  memra_test_add ("/scope/twice", test_scope_twice);
  memra_test_add ("/scope/keeps", test_scope_keeps);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
