/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that fail and go on failing; and the end of a capture, where there is nobody left to try again. */
#include "config.h"

#include "faults.h"

#include "capture/capture-private.h"

#include <string.h>

static void
test_end_never_works (gconstpointer code)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) refused = NULL;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  g_assert_cmpint (control->inject_fault_from ("cuStreamEndCapture", 1, GPOINTER_TO_INT (code)), ==, 0);
  g_assert_null (memra_capture_layer (fixture.stream, 82, NULL, fixture_body, &fixture, &error));
  assert_capture_error (error, 82, (gint) _memra_capture_error_code (GPOINTER_TO_INT (code)), MEMRA_CAPTURE_STAGE_END,
                        GPOINTER_TO_INT (code), MEMRA_EXECUTION_NOT_EXECUTED, FALSE);
  assert_contains (error->message, "still being captured");
  assert_contains (error->message, "memra_stream_recover()");
  g_assert_cmpint (fixture_status (&fixture, fixture.stream), ==, MCU_CAPTURE_STATUS_ACTIVE);
  fixture_assert_thread (&fixture);
  g_assert_false (memra_stream_recover (fixture.stream, &refused));
  g_assert_cmpint (memra_driver_error_get_cuda_result (refused), ==, GPOINTER_TO_INT (code));
  control->clear_faults ();
  g_clear_error (&error);
  g_assert_true (memra_stream_recover (fixture.stream, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 0);
}

static gboolean
failing_body (MemraStream *stream, gpointer data, GError **error)
{
  if (fixture_body (stream, data, error))
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no weights");
  return FALSE;
}

/* The body's error keeps its domain, and its message says that the stream is not clean. */
static void
test_body_fails_and_end_never_works (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  g_assert_cmpint (control->inject_fault_from ("cuStreamEndCapture", 1, 999), ==, 0);
  g_assert_null (memra_capture_layer (fixture.stream, 83, NULL, failing_body, &fixture, &error));
  control->clear_faults ();
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  assert_contains (error->message, "layer 83 capture body: no weights");
  assert_contains (error->message, "capture end: CUDA_ERROR_UNKNOWN (999)");
  assert_contains (error->message, "still being captured");
  g_assert_true (memra_stream_recover (fixture.stream, NULL));
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_abort_never_works (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  MemraCaptureScope *scope;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  scope = memra_capture_scope_begin (fixture.stream, 84, NULL, NULL);
  g_assert_cmpint (control->inject_fault_from ("cuStreamEndCapture", 1, 999), ==, 0);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "layer 84*still being captured*");
  memra_capture_scope_abort (scope);
  g_test_assert_expected_messages ();
  control->clear_faults ();
  g_assert_true (memra_stream_recover (fixture.stream, NULL));
  fixture_assert_good_as_new (&fixture, 0);
}

/* The launch was accepted, and nobody can tell whether it is done: what it uses is not freed, whatever that costs. */
static void
test_completion_never_works (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  guint64 execs;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  execs = control->count_objects ("exec");
  g_assert_cmpint (control->inject_fault_from ("cuStreamSynchronize", 2, 999), ==, 0);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "layer 85*leaked*");
  g_assert_null (memra_capture_layer (fixture.stream, 85, NULL, fixture_body, &fixture, &error));
  g_test_assert_expected_messages ();
  control->clear_faults ();
  assert_capture_error (error, 85, MEMRA_CAPTURE_ERROR_FAILED, MEMRA_CAPTURE_STAGE_COMPLETION, 999,
                        MEMRA_EXECUTION_UNKNOWN, TRUE);
  g_assert_cmpuint (control->count_objects ("exec"), ==, execs + 1);
  fixture_assert_good_as_new (&fixture, 1);
}

/* A dead context does no more work, so there everything is released at once. */
static void
test_completion_dead (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  FaultsObjects objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  objects = faults_count_objects ();
  g_assert_cmpint (control->inject_fault_from ("cuStreamSynchronize", 2, 700), ==, 0);
  g_assert_null (memra_capture_layer (fixture.stream, 86, NULL, fixture_body, &fixture, &error));
  control->clear_faults ();
  assert_capture_error (error, 86, MEMRA_CAPTURE_ERROR_FAILED, MEMRA_CAPTURE_STAGE_COMPLETION, 700,
                        MEMRA_EXECUTION_UNKNOWN, TRUE);
  faults_assert_objects (&objects, NULL);
  fixture_assert_good_as_new (&fixture, 1);
}

static void
count_destroyed (gpointer data)
{
  ++*(guint *) data;
}

/* The same at the end of a kept capture: closing says so and can be tried again; dropping leaks, with a warning. */
static void
test_close_never_works (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  guint destroyed = 0;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 87);
  memra_layer_capture_retain (capture, &destroyed, count_destroyed);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_cmpint (control->inject_fault_from ("cuStreamSynchronize", 1, 999), ==, 0);
  for (guint i = 0; i < 2; i++)
    {
      g_clear_error (&error);
      g_assert_false (memra_layer_capture_close (capture, &error));
      assert_capture_error (error, 87, MEMRA_CAPTURE_ERROR_BUSY, MEMRA_CAPTURE_STAGE_CLOSE, 999,
                            MEMRA_EXECUTION_UNKNOWN, TRUE);
      g_assert_cmpuint (destroyed, ==, 0);
      g_assert_nonnull (memra_layer_capture_get_cuda_graph_exec (capture));
    }
  control->clear_faults ();
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (destroyed, ==, 1);
  fixture_assert_good_as_new (&fixture, 2);
}

static void
test_unref_never_works (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *capture;
  guint destroyed = 0;
  guint64 execs;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  execs = control->count_objects ("exec");
  capture = fixture_capture (&fixture, 88);
  memra_layer_capture_retain (capture, &destroyed, count_destroyed);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  g_assert_cmpint (control->inject_fault_from ("cuStreamSynchronize", 1, 999), ==, 0);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, "layer 88*leaked*");
  memra_layer_capture_unref (capture);
  g_test_assert_expected_messages ();
  control->clear_faults ();
  g_assert_cmpuint (destroyed, ==, 0);
  g_assert_cmpuint (control->count_objects ("exec"), ==, execs + 1);
  fixture_assert_good_as_new (&fixture, 2);
}

/* A graph or exec that the driver does not destroy is reported; all else is released, and the caller's things too. */
static void
test_destroy_fails (gconstpointer entry)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  guint destroyed = 0;
  FaultsObjects objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  objects = faults_count_objects ();
  capture = fixture_capture (&fixture, 89);
  memra_layer_capture_retain (capture, &destroyed, count_destroyed);
  g_assert_cmpint (control->inject_fault ((const char *) entry, 1, 999), ==, 0);
  g_assert_false (memra_layer_capture_close (capture, &error));
  assert_capture_error (error, 89, MEMRA_CAPTURE_ERROR_FAILED, MEMRA_CAPTURE_STAGE_CLOSE, 999, MEMRA_EXECUTION_UNKNOWN,
                        TRUE);
  g_assert_cmpuint (destroyed, ==, 1);
  faults_assert_objects (&objects, faults_lost_by ((const char *) entry));
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (capture, &error)); /* there is nothing left to fail */
  g_assert_no_error (error);
  g_assert_cmpuint (destroyed, ==, 1);
  fixture_assert_good_as_new (&fixture, 1);
}

/* Entering the context and leaving it as it was found, and what goes with the kept objects. */
static const char *const quiet_at_close[] = {
  "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode", NULL
};

/* Every call of a close that has a launch to wait for. Whatever it answers, trying again releases the rest. */
static void
close_with_fault (Fixture *fixture, const char *entry, guint nth, int code)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (GError) error = NULL;
  FaultsObjects objects = faults_count_objects ();
  MemraLayerCapture *capture = fixture_capture (fixture, 91);
  guint64 fired = control->count_faults ();
  guint destroyed = 0;

  memra_layer_capture_retain (capture, &destroyed, count_destroyed);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  g_assert_cmpint (control->inject_fault (entry, nth, code), ==, 0);
  if (!memra_layer_capture_close (capture, &error))
    {
      gboolean busy = g_error_matches (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BUSY);

      g_assert_cmpint (memra_capture_error_get_stage (error), ==, MEMRA_CAPTURE_STAGE_CLOSE);
      g_assert_cmpint (memra_capture_error_get_cuda_result (error), ==, code);
      g_assert_cmpint (busy, ==,
                       strcmp (entry, "cuStreamIsCapturing") == 0 || strcmp (entry, "cuStreamSynchronize") == 0);
      g_assert_cmpuint (destroyed, ==, busy ? 0 : 1);
    }
  else /* with a dead context there is nothing to wait for */
    g_assert_true (faults_is_one_of (entry, quiet_at_close) || code == 700);
  g_assert_cmpuint (control->count_faults (), ==, fired + 1);
  faults_repair (fixture, entry);
  fixture_assert_thread (fixture);
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (destroyed, ==, 1);
  memra_layer_capture_unref (capture);
  faults_assert_objects (&objects, faults_lost_by (entry));
}

static void
test_close_faults (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GArray) before = NULL;
  g_autoptr (GArray) after = NULL;
  MemraLayerCapture *capture;
  guint injected = 0, survived = 0;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  entries = faults_get_entries ();
  capture = fixture_capture (&fixture, 91);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  before = faults_count_calls (entries);
  g_assert_true (memra_layer_capture_close (capture, NULL));
  after = faults_count_calls (entries);
  memra_layer_capture_unref (capture);
  for (guint i = 0; i < entries->len; i++)
    for (guint nth = 1; nth <= faults_calls_between (before, after, i); nth++)
      for (gsize c = 0; c < FAULTS_N_CODES; c++)
        {
          injected++;
          close_with_fault (&fixture, g_ptr_array_index (entries, i), nth, faults_codes[c]);
          survived++;
        }
  faults_report (injected, survived);
  g_assert_cmpuint (injected, >=, 6 * FAULTS_N_CODES);
  memra_test_assert_stream_usable (fixture.stream);
}

static void
add_tests (void)
{
  memra_test_add_data ("/faults/end-never-works/999", GINT_TO_POINTER (999), test_end_never_works);
  memra_test_add_data ("/faults/end-never-works/901", GINT_TO_POINTER (901), test_end_never_works);
  memra_test_add ("/faults/end-never-works/body", test_body_fails_and_end_never_works);
  memra_test_add ("/faults/end-never-works/abort", test_abort_never_works);
  memra_test_add ("/faults/completion/never-works", test_completion_never_works);
  memra_test_add ("/faults/completion/dead", test_completion_dead);
  memra_test_add ("/faults/close/never-works", test_close_never_works);
  memra_test_add ("/faults/close/unref-never-works", test_unref_never_works);
  memra_test_add ("/faults/close/every-call", test_close_faults);
  memra_test_add_data ("/faults/close/exec", "cuGraphExecDestroy", test_destroy_fails);
  memra_test_add_data ("/faults/close/graph", "cuGraphDestroy", test_destroy_fails);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
