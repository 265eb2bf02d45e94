/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "faults.h"

#include "capture/capture-private.h"

#include <string.h>

const int faults_codes[FAULTS_N_CODES] = { 2, 700, 900, 901, 999 };

static const char *const kinds[FAULTS_N_KINDS]
    = { "graph", "exec", "capture", "stream", "event", "allocation", "module", "user-object" };

FaultsObjects
faults_count_objects (void)
{
  FaultsObjects objects;

  for (gsize i = 0; i < FAULTS_N_KINDS; i++)
    objects.n[i] = memra_test_host_control ()->count_objects (kinds[i]);
  return objects;
}

void
faults_assert_objects (const FaultsObjects *before, const char *lost)
{
  FaultsObjects now = faults_count_objects ();
  gboolean any = g_strcmp0 (lost, "any") == 0;

  for (gsize i = 0; i < FAULTS_N_KINDS; i++)
    {
      guint64 expected = before->n[i] + (g_strcmp0 (lost, kinds[i]) == 0 ? 1 : 0);

      if (any && now.n[i] == expected + 1)
        any = FALSE;
      else if (now.n[i] != expected)
        g_error ("%" G_GUINT64_FORMAT " of %s, not %" G_GUINT64_FORMAT, now.n[i], kinds[i], expected);
    }
}

const char *
faults_lost_by (const char *entry)
{
  static const struct
  {
    const char *entry, *kind;
  } losses[] = { { "cuGraphDestroy", "graph" },
                 { "cuGraphExecDestroy", "exec" },
                 { "cuStreamDestroy", "stream" },
                 { "cuEventDestroy", "event" },
                 { "cuMemFree", "allocation" },
                 { "cuModuleUnload", "module" },
                 /* What cannot even be entered is not released in it either. */
                 { "cuCtxGetCurrent", "any" },
                 { "cuCtxPushCurrent", "any" } };

  for (gsize i = 0; i < G_N_ELEMENTS (losses); i++)
    if (strcmp (entry, losses[i].entry) == 0)
      return losses[i].kind;
  return NULL;
}

gboolean
faults_is_one_of (const char *entry, const char *const *list)
{
  return g_strv_contains (list, entry);
}

GPtrArray *
faults_get_entries (void)
{
  GPtrArray *entries = g_ptr_array_new ();
  const char *entry;

  for (guint i = 0; (entry = memra_test_host_control ()->get_entry (i)) != NULL; i++)
    g_ptr_array_add (entries, (gpointer) entry);
  g_assert_cmpuint (entries->len, >, 50);
  return entries;
}

GArray *
faults_count_calls (GPtrArray *entries)
{
  GArray *counts = g_array_sized_new (FALSE, FALSE, sizeof (guint64), entries->len);

  for (guint i = 0; i < entries->len; i++)
    {
      guint64 n = memra_test_host_control ()->count_calls (g_ptr_array_index (entries, i));

      g_array_append_val (counts, n);
    }
  return counts;
}

guint64
faults_calls_between (GArray *before, GArray *after, guint index)
{
  return g_array_index (after, guint64, index) - g_array_index (before, guint64, index);
}

void
faults_repair_thread_mode (Fixture *fixture, const char *entry)
{
  if (strcmp (entry, "cuThreadExchangeStreamCaptureMode") == 0)
    fixture_set_thread_mode (fixture->cu, fixture->thread_mode);
}

void
faults_report (guint injected, guint survived)
{
  g_test_message ("faults: %u injected, %u survived", injected, survived);
  g_assert_cmpuint (injected, ==, survived);
  g_assert_cmpuint (injected, >, 0);
}

static gboolean
fill_then_add (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  return memra_buffer_zero (fixture->dst, stream, error) && fixture_add (fixture, stream, error);
}

static gboolean
add_then_fill (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  return fixture_add (fixture, stream, error) && memra_buffer_zero (fixture->dst, stream, error);
}

gboolean
faults_update_swapped (FaultsBench *bench, MemraUpdateFlags flags, MemraUpdateOutcome *outcome, GError **error)
{
  g_autoptr (GError) reason = NULL;

  if (memra_layer_capture_update (bench->capture, NULL, flags, bench->swapped ? fill_then_add : add_then_fill,
                                  bench->fixture, outcome, &reason))
    {
      bench->swapped = !bench->swapped;
      return TRUE;
    }
  if (!g_error_matches (reason, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED))
    {
      memra_test_host_control ()->clear_faults ();
      g_assert_true (memra_layer_capture_replay (bench->capture, NULL));
    }
  g_propagate_error (error, g_steal_pointer (&reason));
  return FALSE;
}

/* Calls whose failure an operation need not report: putting a context or mode back, releasing, and what is only for
 * messages. */
static const char *const quiet[] = { "cuCtxGetCurrent",
                                     "cuCtxPopCurrent",
                                     "cuCtxPushCurrent",
                                     "cuCtxSetCurrent",
                                     "cuThreadExchangeStreamCaptureMode",
                                     "cuEventDestroy",
                                     "cuMemFree",
                                     "cuStreamDestroy",
                                     "cuModuleUnload",
                                     "cuDevicePrimaryCtxRelease",
                                     "cuFuncGetParamInfo",
                                     "cuGetErrorName",
                                     "cuGetErrorString",
                                     "cuStreamGetCaptureInfo",
                                     "cuLogsRegisterCallback",
                                     "cuLogsUnregisterCallback",
                                     "cuGraphDestroy",
                                     "cuGraphExecDestroy",
                                     NULL };

/* What must be said of whether the work has run. */
static MemraExecution
expect_execution (MemraCaptureStage stage, const char *entry, int code)
{
  switch (stage)
    {
    case MEMRA_CAPTURE_STAGE_LAUNCH:
    case MEMRA_CAPTURE_STAGE_COMPLETION:
    case MEMRA_CAPTURE_STAGE_CLOSE:
      return MEMRA_EXECUTION_UNKNOWN;
    default:
      /* A launch that a capture's own rules refuse has certainly not run. */
      return strcmp (entry, "cuGraphLaunch") == 0 && _memra_capture_error_code (code) == MEMRA_CAPTURE_ERROR_FAILED
                 ? MEMRA_EXECUTION_UNKNOWN
                 : MEMRA_EXECUTION_NOT_EXECUTED;
    }
}

static void
check_error (const FaultsOperation *operation, const char *entry, int code, const GError *error)
{
  g_autofree char *number = g_strdup_printf ("(%d)", code);

  if (operation->domain != NULL)
    g_assert_true (error->domain == operation->domain ());
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, code);
  assert_contains (error->message, number);
  if (error->domain == MEMRA_DRIVER_ERROR)
    {
      g_assert_cmpint (error->code, ==, _memra_driver_error_code (code));
      return;
    }
  g_assert_true (error->domain == MEMRA_CAPTURE_ERROR);
  if (operation->domain != NULL)
    g_assert_cmpint (memra_capture_error_get_stage (error), ==, operation->stage);
  g_assert_cmpint (memra_capture_error_get_execution (error), ==,
                   expect_execution (memra_capture_error_get_stage (error), entry, code));
}

static gboolean
may_be_quiet (const FaultsOperation *operation, const char *entry, int code)
{
  if (operation->closes && code == MCU_ERROR_ILLEGAL_ADDRESS
      && (strcmp (entry, "cuStreamSynchronize") == 0 || strcmp (entry, "cuStreamIsCapturing") == 0))
    return TRUE;
  return faults_is_one_of (entry, quiet) || (operation->quiet != NULL && faults_is_one_of (entry, operation->quiet));
}

static void
inject (FaultsBench *bench, const FaultsOperation *operation, const char *entry, guint nth, int code)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (GError) error = NULL;
  FaultsObjects objects = faults_count_objects ();
  guint64 fired = control->count_faults ();
  gboolean ok;

  g_assert_cmpint (control->inject_fault (entry, nth, code), ==, 0);
  ok = operation->run (bench, &error);
  if (control->count_faults () != fired + 1)
    g_error ("%s: call %u of %s was not made this time", operation->name, nth, entry);
  control->clear_faults ();
  g_assert_true (ok == (error == NULL));
  if (!ok)
    check_error (operation, entry, code, error);
  else if (!may_be_quiet (operation, entry, code))
    g_error ("%s: call %u of %s failed, and nobody took notice", operation->name, nth, entry);
  faults_repair_thread_mode (bench->fixture, entry);
  fixture_assert_thread (bench->fixture);
  g_assert_cmpint (fixture_status (bench->fixture, bench->fixture->stream), ==, MCU_CAPTURE_STATUS_NONE);
  if (g_strcmp0 (faults_lost_by (entry), "graph") == 0)
    objects.n[0] += nth <= G_N_ELEMENTS (operation->n_inside) ? operation->n_inside[nth - 1] : 0;
  faults_assert_objects (&objects, faults_lost_by (entry));
  g_clear_error (&error);
  g_assert_true (operation->run (bench, &error));
  g_assert_no_error (error);
}

static void
sweep (FaultsBench *bench, const FaultsOperation *operation)
{
  const gsize n_codes = operation->in_turn ? 1 : FAULTS_N_CODES;
  g_autoptr (GPtrArray) entries = faults_get_entries ();
  g_autoptr (GArray) before = NULL;
  g_autoptr (GArray) after = NULL;
  guint injected = 0, survived = 0;

  g_assert_true (operation->run (bench, NULL)); /* whatever is done but once in a process has been done */
  before = faults_count_calls (entries);
  g_assert_true (operation->run (bench, NULL));
  after = faults_count_calls (entries);
  for (guint i = 0; i < entries->len; i++)
    for (guint nth = 1; nth <= faults_calls_between (before, after, i); nth++)
      for (gsize c = 0; c < n_codes; c++)
        {
          injected++;
          inject (bench, operation, g_ptr_array_index (entries, i), nth, faults_codes[(nth + c) % FAULTS_N_CODES]);
          survived++;
        }
  faults_report (injected, survived);
}

static void
test_operation (gconstpointer data)
{
  const FaultsOperation *operation = (const FaultsOperation *) data;
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) other = NULL;
  g_autoptr (MemraBuffer) tracked = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraLayerSequence) sequence = NULL;
  FaultsBench bench = { &fixture };

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  bench.other = other = memra_test_stream_new (fixture.context);
  memra_context_set_event_tracking (fixture.context, TRUE);
  bench.tracked = tracked = memra_test_buffer_filled (other, 1.0f, FIXTURE_N);
  memra_context_set_event_tracking (fixture.context, FALSE);
  bench.capture = capture = fixture_capture (&fixture, 90);
  bench.sequence = sequence = memra_layer_sequence_new (fixture.stream, &capture, 1, NULL, NULL);
  g_assert_nonnull (sequence);

  /* Every event that the tracked buffer will ever need is made now, so that the count of objects stays. */
  g_assert_true (memra_buffer_copy (fixture.dst, tracked, fixture.stream, NULL));
  g_assert_true (memra_buffer_zero (tracked, fixture.stream, NULL));
  sweep (&bench, operation);
  g_assert_true (memra_stream_synchronize (other, NULL));
  g_assert_true (memra_stream_synchronize (fixture.stream, NULL));
  memra_test_assert_stream_usable (fixture.stream);
}

void
faults_add_operations (const FaultsOperation *operations, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      g_autofree char *path = g_strdup_printf ("/faults/operation/%s", operations[i].name);

      memra_test_add_data (path, &operations[i], test_operation);
    }
}
