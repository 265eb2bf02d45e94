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
faults_repair (Fixture *fixture, const char *entry)
{
  if (strcmp (entry, "cuThreadExchangeStreamCaptureMode") == 0)
    fixture_set_thread_mode (fixture->cu, fixture->thread_mode);
  if (strcmp (entry, "cuDevicePrimaryCtxRelease") == 0)
    memra_test_assert_cu (fixture->cu->cuDevicePrimaryCtxRelease (0));
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

void
faults_assert_replays (FaultsBench *bench)
{
  if (bench->dying)
    return;
  memra_test_host_control ()->clear_faults ();
  g_assert_true (memra_layer_capture_replay (bench->capture, NULL));
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
    faults_assert_replays (bench);
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

/* With a context goes all that it had, whether it was destroyed before or not; but graphs are nobody's. */
static void
assert_objects_of (FaultsBench *bench, const FaultsOperation *operation, const char *entry, guint nth,
                   const FaultsObjects *before)
{
  const char *lost = faults_lost_by (entry);
  FaultsObjects objects = *before;

  if (g_strcmp0 (lost, "graph") == 0 && nth <= G_N_ELEMENTS (operation->n_inside))
    objects.n[0] += operation->n_inside[nth - 1];
  if (bench->dying && g_strcmp0 (lost, "graph") != 0 && g_strcmp0 (lost, "exec") != 0)
    lost = NULL;
  faults_assert_objects (&objects, lost);
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
  faults_repair (bench->fixture, entry);
  fixture_assert_thread (bench->fixture);
  g_assert_cmpint (fixture_status (bench->fixture, bench->fixture->stream), ==, MCU_CAPTURE_STATUS_NONE);
  assert_objects_of (bench, operation, entry, nth, &objects);
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
bench_init (FaultsBench *bench, Fixture *fixture)
{
  g_autoptr (GError) error = NULL;

  memset (bench, 0, sizeof *bench);
  fixture_init (fixture);
  bench->fixture = fixture;
  bench->other = memra_test_stream_new (fixture->context);
  memra_context_set_event_tracking (fixture->context, TRUE);
  bench->tracked = memra_test_buffer_filled (bench->other, 1.0f, FIXTURE_N);
  memra_context_set_event_tracking (fixture->context, FALSE);
  bench->capture = fixture_capture (fixture, 90);
  bench->sequence = memra_layer_sequence_new (fixture->stream, &bench->capture, 1, NULL, &error);
  g_assert_no_error (error);

  /* Every event that the tracked buffer will ever need is made now, so that the count of objects stays. */
  g_assert_true (memra_buffer_copy (fixture->dst, bench->tracked, fixture->stream, NULL));
  g_assert_true (memra_buffer_zero (bench->tracked, fixture->stream, NULL));
}

static void
bench_clear (FaultsBench *bench)
{
  memra_layer_sequence_unref (bench->sequence);
  memra_layer_capture_unref (bench->capture);
  memra_buffer_unref (bench->tracked);
  memra_stream_unref (bench->other);
  fixture_clear (bench->fixture);
}

static void
test_operation (gconstpointer data)
{
  Fixture fixture;
  FaultsBench bench;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench, &fixture);
  sweep (&bench, (const FaultsOperation *) data);
  g_assert_true (memra_stream_synchronize (bench.other, NULL));
  g_assert_true (memra_stream_synchronize (fixture.stream, NULL));
  memra_test_assert_stream_usable (fixture.stream);
  bench_clear (&bench);
}

/* ---- The context dies ---- */

/* What nobody can ask of a dead context: whether the stream is still in a capture. If so, the error has said so. */
static void
assert_clean_or_said (Fixture *fixture, const FaultsOperation *operation, const GError *error)
{
  const MemraHostControl *control = memra_test_host_control ();
  CUcontext context = memra_context_get_cuda_context (fixture->context);
  int status;

  g_assert_cmpint (fixture->cu->cuStreamIsCapturing (memra_stream_get_cuda_stream (fixture->stream), &status), ==,
                   MCU_ERROR_ILLEGAL_ADDRESS); /* it is dead indeed */
  control->break_context (context, MCU_SUCCESS);
  status = fixture_status (fixture, fixture->stream);
  control->break_context (context, MCU_ERROR_ILLEGAL_ADDRESS);
  if (status == MCU_CAPTURE_STATUS_NONE)
    return;
  if (operation->quiet != NULL && faults_is_one_of ("cuStreamEndCapture", operation->quiet))
    return; /* the end of an abandoned scope has no error to say it in: it was a warning */
  g_assert_nonnull (error);
  assert_contains (error->message, "still being captured");
  g_assert_cmpint (memra_capture_error_get_stream_clean (error), ==, error->domain != MEMRA_CAPTURE_ERROR);
}

static void
die (const FaultsOperation *operation, const char *entry, guint nth)
{
  const MemraHostControl *control = memra_test_host_control ();
  FaultsObjects objects = faults_count_objects ();
  guint64 fired = control->count_faults ();
  g_autoptr (GError) error = NULL;
  Fixture fixture;
  FaultsBench bench;
  gboolean ok;

  bench_init (&bench, &fixture);
  g_assert_true (operation->run (&bench, NULL));
  bench.dying = TRUE;
  g_assert_cmpint (
      control->inject_break (entry, nth, memra_context_get_cuda_context (fixture.context), MCU_ERROR_ILLEGAL_ADDRESS),
      ==, 0);
  ok = operation->run (&bench, &error);
  if (control->count_faults () != fired + 1)
    g_error ("%s: call %u of %s was not made this time", operation->name, nth, entry);
  control->clear_faults ();
  g_assert_true (ok == (error == NULL));
  if (!ok)
    check_error (operation, entry, MCU_ERROR_ILLEGAL_ADDRESS, error);
  faults_repair (&fixture, entry);
  fixture_assert_thread (&fixture);
  assert_clean_or_said (&fixture, operation, error);
  bench_clear (&bench);
  assert_objects_of (&bench, operation, entry, nth, &objects);
}

static void
test_dying (gconstpointer data)
{
  const FaultsOperation *operation = (const FaultsOperation *) data;
  g_autoptr (GPtrArray) entries = NULL;
  g_autoptr (GArray) before = NULL;
  g_autoptr (GArray) after = NULL;
  Fixture fixture;
  FaultsBench bench;
  guint injected = 0, survived = 0;

  if (!memra_test_need_host ())
    return;
  entries = faults_get_entries ();
  bench_init (&bench, &fixture);
  g_assert_true (operation->run (&bench, NULL));
  before = faults_count_calls (entries);
  g_assert_true (operation->run (&bench, NULL));
  after = faults_count_calls (entries);
  bench_clear (&bench);
  for (guint i = 0; i < entries->len; i++)
    for (guint nth = 1; nth <= faults_calls_between (before, after, i); nth++)
      {
        injected++;
        die (operation, g_ptr_array_index (entries, i), nth);
        survived++;
      }
  faults_report (injected, survived);

  bench_init (&bench, &fixture);
  fixture_assert_good_as_new (&fixture, 0);
  bench_clear (&bench);
}

static void
add (const char *kind, const FaultsOperation *operation, void (*test) (gconstpointer data))
{
  g_autofree char *path = g_strdup_printf ("/faults/%s/%s", kind, operation->name);

  memra_test_add_data (path, operation, test);
}

void
faults_add_operations (const FaultsOperation *operations, gsize n)
{
  for (gsize i = 0; i < n; i++)
    {
      add ("operation", &operations[i], test_operation);
      add ("dying", &operations[i], test_dying);
    }
}
