/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults in what is done with a kept capture: replays, checks, updates, edits, and its end. */
#include "config.h"

#include "faults.h"

#include <string.h>

static gboolean
run_replay (FaultsBench *bench, GError **error)
{
  guint64 replays = memra_layer_capture_get_replays (bench->capture);
  gboolean ok = memra_layer_capture_replay (bench->capture, error);

  g_assert_cmpuint (memra_layer_capture_get_replays (bench->capture) - replays, ==, ok ? 1 : 0);
  return ok;
}

static gboolean
run_launch (FaultsBench *bench, GError **error)
{
  return memra_layer_capture_launch (bench->capture, error);
}

static gboolean
run_check (FaultsBench *bench, GError **error)
{
  return memra_layer_capture_check (bench->capture, error);
}

/* Whether it is updated or not, it replays. */
static gboolean
run_update (FaultsBench *bench, GError **error)
{
  MemraUpdateOutcome outcome;

  if (memra_layer_capture_update (bench->capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, fixture_body, bench->fixture,
                                  &outcome, error))
    {
      g_assert_cmpint (outcome, ==, MEMRA_UPDATE_UPDATED);
      return TRUE;
    }
  faults_assert_replays (bench);
  return FALSE;
}

static gboolean
run_reinstantiate (FaultsBench *bench, GError **error)
{
  MemraUpdateOutcome outcome;

  if (!faults_update_swapped (bench, MEMRA_UPDATE_OR_REINSTANTIATE, &outcome, error))
    return FALSE;
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_REINSTANTIATED);
  return TRUE;
}

/* That the driver refuses is what should come of it; what it was asked about the node is only for the message. */
static gboolean
run_update_refused (FaultsBench *bench, GError **error)
{
  g_autoptr (GError) refusal = NULL;

  g_assert_false (faults_update_swapped (bench, MEMRA_UPDATE_IN_PLACE_ONLY, NULL, &refusal));
  if (g_error_matches (refusal, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&refusal));
  return FALSE;
}

/* An argument and the geometry are set to what they are. Afterwards the capture replays, edited or not. */
static gboolean
run_kernel_edit (FaultsBench *bench, GError **error)
{
  const MemraDim3 grid = { 1, 1, 1 }, block = { 64, 1, 1 };
  guint64 n = 0;
  g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (bench->capture, error);
  guint kernel = 0;
  gboolean ok = edit != NULL && memra_kernel_edit_find (edit, FIXTURE_KERNEL, 0, &kernel, error)
                && memra_kernel_edit_get_argument (edit, kernel, 2, &n, sizeof n, error)
                && memra_kernel_edit_set_argument (edit, kernel, 2, &n, sizeof n, error)
                && memra_kernel_edit_set_geometry (edit, kernel, &grid, &block, 0, error)
                && memra_kernel_edit_commit (edit, error);

  if (ok)
    {
      g_assert_cmpuint (n, ==, FIXTURE_N);
      return TRUE;
    }
  faults_assert_replays (bench);
  return FALSE;
}

static gboolean
run_census (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraCensus) census
      = memra_census_new_from_graph (memra_test_driver (), memra_layer_capture_get_cuda_graph (bench->capture), error);

  return census != NULL;
}

/* A capture's whole life: what could not be closed at first is closed at the second try. */
static gboolean
run_life (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = memra_capture_layer_record (
      bench->fixture->stream, 92, bench->fixture->options, fixture_body, bench->fixture, error);

  if (capture == NULL || !memra_layer_capture_replay (capture, error))
    return FALSE;
  if (memra_layer_capture_close (capture, error))
    return TRUE;
  memra_test_host_control ()->clear_faults ();
  g_assert_true (memra_layer_capture_close (capture, NULL));
  return FALSE;
}

/* Not closed, only dropped, with nothing in flight: there is nobody to tell. (In flight: test-faults-lasting.c.) */
static gboolean
run_drop (FaultsBench *bench, GError **error)
{
  MemraLayerCapture *capture = memra_capture_layer_record (bench->fixture->stream, 93, bench->fixture->options,
                                                           fixture_body, bench->fixture, error);

  if (capture == NULL)
    return FALSE;
  memra_layer_capture_unref (capture);
  return TRUE;
}

static void
count_warning (const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer n_warnings)
{
  assert_contains (message, "layer 94 capture: ");
  ++*(guint *) n_warnings;
}

/* A stream that cannot be seen to be clean is a warning, as an abort has no error to return; and a test's warnings are
 * fatal unless they are expected, which takes knowing them. */
static gboolean
run_abort (FaultsBench *bench, GError **error)
{
  MemraCaptureScope *scope = memra_capture_scope_begin (bench->fixture->stream, 94, bench->fixture->options, error);
  GLogLevelFlags fatal;
  guint handler, n_warnings = 0;
  gboolean ok;

  if (scope == NULL)
    return FALSE;
  ok = fixture_body (memra_capture_scope_get_stream (scope), bench->fixture, error);
  fatal = g_log_set_always_fatal (G_LOG_FATAL_MASK);
  handler = g_log_set_handler (G_LOG_DOMAIN, G_LOG_LEVEL_WARNING, count_warning, &n_warnings);
  memra_capture_scope_abort (scope);
  g_log_remove_handler (G_LOG_DOMAIN, handler);
  g_log_set_always_fatal (fatal);
  g_assert_cmpuint (n_warnings, <=, 1);
  return ok;
}

/* Looked up to describe a node, for a message. */
static const char *const quiet_for_refusal[]
    = { "cuGraphNodeGetType", "cuGraphKernelNodeGetParams", "cuFuncGetName", NULL };

/* An end that fails is tried again. */
static const char *const quiet_for_abort[] = { "cuStreamEndCapture", "cuStreamIsCapturing", NULL };

static const FaultsOperation operations[] = {
  { "replay", "memra_layer_capture_replay", run_replay, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "launch", "memra_layer_capture_launch", run_launch, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "check", "memra_layer_capture_check", run_check, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "update", "memra_layer_capture_update", run_update },
  { "update-or-reinstantiate", "memra_layer_capture_update", run_reinstantiate },
  { "update-refused", "memra_layer_capture_update", run_update_refused, .quiet = quiet_for_refusal },
  { "kernel-edit",
    "memra_kernel_edit_begin memra_kernel_edit_find memra_kernel_edit_get_argument memra_kernel_edit_set_argument "
    "memra_kernel_edit_set_geometry memra_kernel_edit_commit memra_kernel_edit_free",
    run_kernel_edit },
  { "census", "memra_census_new_from_graph", run_census, memra_driver_error_quark },
  { "life", "memra_capture_layer_record memra_layer_capture_close", run_life, .closes = TRUE },
  { "drop", "memra_layer_capture_unref", run_drop },
  { "abort", "memra_capture_scope_begin memra_capture_scope_abort", run_abort, .quiet = quiet_for_abort },
};

static void
add_tests (void)
{
  faults_add_operations (operations, G_N_ELEMENTS (operations));
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
