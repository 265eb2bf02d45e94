/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every driver call that the library makes, failing in turn. What calls there are is not written down here: it is
 * learned from the host driver's counters. For each call and each of five results: an error with the right step, code
 * and result, or none at all where the call is one that may fail; the thread as it was; the stream out of capture;
 * nothing left alive in the driver; and the next try works.
 */
#include "config.h"

#include "capture-fixture.h"

#include "capture/capture-private.h"

#include <string.h>

static const int codes[] = { 2, 700, 900, 901, 999 };

static const char *const kinds[]
    = { "graph", "exec", "capture", "stream", "event", "allocation", "module", "user-object" };

typedef struct
{
  guint64 n[G_N_ELEMENTS (kinds)];
} Census;

static Census
count_objects (void)
{
  Census census;

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    census.n[i] = memra_test_host_control ()->count_objects (kinds[i]);
  return census;
}

/* `lost`: the kind of object whose own destruction was made to fail, "any" if it may be one of any kind, or NULL. */
static void
assert_objects (const Census *before, const char *lost)
{
  Census now = count_objects ();
  gboolean any = g_strcmp0 (lost, "any") == 0;

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      guint64 expected = before->n[i] + (g_strcmp0 (lost, kinds[i]) == 0 ? 1 : 0);

      if (any && now.n[i] == expected + 1)
        any = FALSE;
      else if (now.n[i] != expected)
        g_error ("%" G_GUINT64_FORMAT " of %s, not %" G_GUINT64_FORMAT, now.n[i], kinds[i], expected);
    }
}

/* What stays alive because the call that would have destroyed it did not. */
static const char *
lost_by (const char *entry)
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

static gboolean
is_one_of (const char *entry, const char *const *list)
{
  return g_strv_contains (list, entry);
}

/* ---- The main job ---- */

typedef enum
{
  FORM_PLAIN,
  FORM_STRICT,
  FORM_RECORD,
  FORM_SCOPE,
  FORM_RICH /* with a fork, a copy, a fill, a host function and marks */
} Form;

typedef struct
{
  Fixture fixture;
  Form form;
  GPtrArray *entries;  /* const char *, the driver's */
  guint64 *before;     /* calls per entry, at the start of a profiled capture */
  guint64 *body_began; /* at the start of its body */
  guint64 *body_ended;
  guint64 *after;
  gboolean profiling;
  MemraStream *fork; /* for a rich body, as are the buffers */
  MemraBuffer *scratch[2];
  guint ran; /* times that the layer has run so far */
  guint n_injected, n_survived;
} Faults;

static void
faults_init (Faults *faults, Form form)
{
  const MemraHostControl *control = memra_test_host_control ();
  const char *entry;

  memset (faults, 0, sizeof *faults);
  fixture_init (&faults->fixture);
  faults->form = form;
  memra_capture_options_set_strict (faults->fixture.options, form == FORM_STRICT);
  faults->fork = memra_test_stream_new (faults->fixture.context);
  for (guint i = 0; i < G_N_ELEMENTS (faults->scratch); i++)
    faults->scratch[i] = memra_test_buffer_filled (faults->fixture.stream, 0.0f, FIXTURE_N);
  faults->entries = g_ptr_array_new ();
  for (guint i = 0; (entry = control->get_entry (i)) != NULL; i++)
    g_ptr_array_add (faults->entries, (gpointer) entry);
  g_assert_cmpuint (faults->entries->len, >, 50);
  faults->before = g_new0 (guint64, faults->entries->len);
  faults->body_began = g_new0 (guint64, faults->entries->len);
  faults->body_ended = g_new0 (guint64, faults->entries->len);
  faults->after = g_new0 (guint64, faults->entries->len);
}

static void
faults_clear (Faults *faults)
{
  g_test_message ("faults: %u injected, %u survived", faults->n_injected, faults->n_survived);
  g_assert_cmpuint (faults->n_injected, ==, faults->n_survived);
  g_assert_cmpuint (faults->n_injected, >, 0);
  for (guint i = 0; i < G_N_ELEMENTS (faults->scratch); i++)
    memra_buffer_unref (faults->scratch[i]);
  memra_stream_unref (faults->fork);
  g_ptr_array_unref (faults->entries);
  g_free (faults->before);
  g_free (faults->body_began);
  g_free (faults->body_ended);
  g_free (faults->after);
  fixture_clear (&faults->fixture);
}

static void
count_calls (Faults *faults, guint64 *counts)
{
  if (faults->profiling)
    for (guint i = 0; i < faults->entries->len; i++)
      counts[i] = memra_test_host_control ()->count_calls (g_ptr_array_index (faults->entries, i));
}

static void
do_nothing (void *data)
{
}

/* dst += src, as ever, and beside it something of every kind. */
static gboolean
rich_body (Faults *faults, MemraStream *stream, GError **error)
{
  Fixture *fixture = &faults->fixture;
  McuResult result;

  fixture->calls++;
  if (!memra_stream_mark (stream, "first", error) || !memra_buffer_zero (faults->scratch[0], stream, error)
      || !memra_stream_wait (faults->fork, stream, error)
      || !memra_buffer_copy (faults->scratch[1], faults->scratch[0], faults->fork, error)
      || !fixture_add (fixture, stream, error) || !memra_stream_wait (stream, faults->fork, error)
      || !memra_stream_mark (stream, "second", error))
    return FALSE;
  result = fixture->cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), do_nothing, NULL);
  return result == MCU_SUCCESS
         || _memra_driver_set_error (memra_test_driver (), error, result, "Could not launch a host function");
}

static gboolean
faults_body (MemraStream *stream, gpointer data, GError **error)
{
  Faults *faults = (Faults *) data;
  gboolean ok;

  count_calls (faults, faults->body_began);
  ok = faults->form == FORM_RICH ? rich_body (faults, stream, error) : fixture_body (stream, &faults->fixture, error);
  count_calls (faults, faults->body_ended);
  return ok;
}

static MemraLayerCapture *
scope_job (Faults *faults, GError **error)
{
  g_autoptr (MemraCaptureScope) scope
      = memra_capture_scope_begin (faults->fixture.stream, 81, faults->fixture.options, error);
  g_autoptr (GError) body_error = NULL;

  if (scope == NULL)
    return NULL;
  if (!faults_body (memra_capture_scope_get_stream (scope), faults, &body_error))
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&body_error), "layer 81 capture body: ");
      return NULL;
    }
  return memra_capture_scope_end (g_steal_pointer (&scope), error);
}

static MemraLayerCapture *
job (Faults *faults, GError **error)
{
  Fixture *fixture = &faults->fixture;

  switch (faults->form)
    {
    case FORM_RECORD:
      return memra_capture_layer_record (fixture->stream, 81, fixture->options, faults_body, faults, error);
    case FORM_SCOPE:
      return scope_job (faults, error);
    default:
      return memra_capture_layer (fixture->stream, 81, fixture->options, faults_body, faults, error);
    }
}

static void
job_that_works (Faults *faults)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraLayerCapture) capture = job (faults, &error);

  g_assert_no_error (error);
  g_assert_nonnull (capture);
  if (faults->form == FORM_RECORD)
    g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  faults->ran++;
  fixture_assert_ran (&faults->fixture, faults->ran);
  fixture_assert_thread (&faults->fixture);
}

static void
profile_job (Faults *faults)
{
  g_autoptr (MemraLayerCapture) capture = NULL;

  job_that_works (faults); /* whatever is done but once in a process has been done */
  faults->profiling = TRUE;
  count_calls (faults, faults->before);
  capture = job (faults, NULL);
  count_calls (faults, faults->after);
  faults->profiling = FALSE;
  g_assert_nonnull (capture);
  faults->ran += faults->form == FORM_RECORD ? 0 : 1;
}

typedef enum
{
  PHASE_BEFORE,
  PHASE_BODY,
  PHASE_AFTER
} Phase;

/* Calls whose failure changes nothing that matters: finding out who broke it, putting back a context (there is a second
 * way), the capture's id and last node, reading what is only for messages. */
static const char *const tolerated[] = { "cuCtxGetCurrent",
                                         "cuCtxPopCurrent",
                                         "cuCtxSetCurrent",
                                         "cuThreadExchangeStreamCaptureMode",
                                         "cuStreamGetCaptureInfo",
                                         "cuLogsRegisterCallback",
                                         "cuLogsUnregisterCallback",
                                         "cuStreamDestroy",
                                         "cuFuncGetParamInfo",
                                         "cuPointerGetAttributes",
                                         "cuPointerGetAttribute",
                                         "cuFuncGetModule",
                                         "cuGetErrorName",
                                         "cuGetErrorString",
                                         NULL };

/* The same of a mark and of memra_stream_wait(), in a body. */
static const char *const tolerated_in_body[]
    = { "cuGraphNodeGetType", "cuGraphKernelNodeGetParams", "cuFuncGetName", "cuEventDestroy", NULL };

typedef struct
{
  const char *entry;
  Phase phase;
  MemraCaptureStage stage;
  gboolean unclean; /* and so it is reported that the stream cannot be seen to be clean */
} Expected;

static const Expected expectations[] = {
  { "cuCtxGetCurrent", PHASE_BEFORE, MEMRA_CAPTURE_STAGE_STATUS, FALSE },
  { "cuCtxPushCurrent", PHASE_BEFORE, MEMRA_CAPTURE_STAGE_STATUS, FALSE },
  { "cuStreamIsCapturing", PHASE_BEFORE, MEMRA_CAPTURE_STAGE_STATUS, FALSE },
  { "cuStreamSynchronize", PHASE_BEFORE, MEMRA_CAPTURE_STAGE_PRE_DRAIN, FALSE },
  { "cuStreamCreate", PHASE_BEFORE, MEMRA_CAPTURE_STAGE_BEGIN, FALSE },
  { "cuStreamBeginCapture", PHASE_BEFORE, MEMRA_CAPTURE_STAGE_BEGIN, FALSE },
  { "cuStreamEndCapture", PHASE_AFTER, MEMRA_CAPTURE_STAGE_END, FALSE },
  { "cuStreamIsCapturing", PHASE_AFTER, MEMRA_CAPTURE_STAGE_END, TRUE },
  { "cuCtxGetCurrent", PHASE_AFTER, MEMRA_CAPTURE_STAGE_END, FALSE }, /* entering the second half of a scope */
  { "cuCtxPushCurrent", PHASE_AFTER, MEMRA_CAPTURE_STAGE_END, FALSE },
  { "cuGraphGetNodes", PHASE_AFTER, MEMRA_CAPTURE_STAGE_NODE_CENSUS, FALSE },
  { "cuGraphNodeGetType", PHASE_AFTER, MEMRA_CAPTURE_STAGE_NODE_CENSUS, FALSE },
  { "cuGraphGetEdges", PHASE_AFTER, MEMRA_CAPTURE_STAGE_NODE_CENSUS, FALSE },
  { "cuGraphNodeGetDependencies", PHASE_AFTER, MEMRA_CAPTURE_STAGE_NODE_CENSUS, FALSE },
  { "cuGraphKernelNodeGetParams", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuGraphMemcpyNodeGetParams", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuGraphMemsetNodeGetParams", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuGraphHostNodeGetParams", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuFuncGetName", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuFuncGetParamInfo", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuPointerGetAttributes", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuPointerGetAttribute", PHASE_AFTER, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, FALSE },
  { "cuGraphInstantiate", PHASE_AFTER, MEMRA_CAPTURE_STAGE_INSTANTIATE, FALSE },
  { "cuGraphInstantiateWithParams", PHASE_AFTER, MEMRA_CAPTURE_STAGE_INSTANTIATE, FALSE },
  { "cuGraphInstantiateWithFlags", PHASE_AFTER, MEMRA_CAPTURE_STAGE_INSTANTIATE, FALSE },
  { "cuGraphUpload", PHASE_AFTER, MEMRA_CAPTURE_STAGE_UPLOAD, FALSE },
  { "cuGraphLaunch", PHASE_AFTER, MEMRA_CAPTURE_STAGE_LAUNCH, FALSE },
  { "cuStreamSynchronize", PHASE_AFTER, MEMRA_CAPTURE_STAGE_COMPLETION, FALSE },
};

static Phase
phase_of (Faults *faults, guint index, guint nth)
{
  if (nth <= faults->body_began[index] - faults->before[index])
    return PHASE_BEFORE;
  return nth <= faults->body_ended[index] - faults->before[index] ? PHASE_BODY : PHASE_AFTER;
}

static const Expected *
find_expected (const char *entry, Phase phase)
{
  for (gsize i = 0; i < G_N_ELEMENTS (expectations); i++)
    if (expectations[i].phase == phase && strcmp (expectations[i].entry, entry) == 0)
      return &expectations[i];
  return NULL;
}

static void
check_body_failure (const char *entry, int code, const GError *error)
{
  assert_body_error (error, 81, MEMRA_DRIVER_ERROR, (gint) _memra_driver_error_code (code), code);
  (void) entry;
}

static void
check_failure (Faults *faults, const char *entry, Phase phase, int code, const GError *error)
{
  const Expected *expected = find_expected (entry, phase);
  gboolean handed_over;
  g_autofree char *number = g_strdup_printf ("(%d)", code);

  assert_contains (error->message, number);
  if (phase == PHASE_BODY)
    {
      check_body_failure (entry, code, error);
      return;
    }
  if (faults->form == FORM_STRICT && phase == PHASE_BEFORE && strstr (error->message, "private stream") != NULL)
    expected = find_expected ("cuStreamCreate", PHASE_BEFORE);
  if (expected == NULL)
    g_error ("%s failed, and nobody knows which step that should have been: %s", entry, error->message);
  handed_over = expected->stage == MEMRA_CAPTURE_STAGE_LAUNCH || expected->stage == MEMRA_CAPTURE_STAGE_COMPLETION;
  assert_capture_error (error, 81, (gint) _memra_capture_error_code (code), expected->stage, code,
                        handed_over ? MEMRA_EXECUTION_UNKNOWN : MEMRA_EXECUTION_NOT_EXECUTED, !expected->unclean);
  g_assert_cmpint (memra_capture_error_get_partial_census (error) != NULL, ==,
                   expected->stage >= MEMRA_CAPTURE_STAGE_KERNEL_CENSUS);
  if (expected->stage == MEMRA_CAPTURE_STAGE_COMPLETION)
    faults->ran++; /* it did run; that nobody could be sure of it is what UNKNOWN says */
}

static void
check_success (Faults *faults, const char *entry, Phase phase, MemraLayerCapture *capture)
{
  if (!is_one_of (entry, tolerated) && !(phase == PHASE_BODY && is_one_of (entry, tolerated_in_body)))
    g_error ("%s failed, and the capture took no notice", entry);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, faults->form == FORM_RECORD ? 0 : 1);
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (capture), "kernel"), ==, 1);
  faults->ran += faults->form == FORM_RECORD ? 0 : 1;
}

/* The last exchange of a thread's capture mode is what puts it back: if that one fails nothing can be done about it. */
static void
repair_thread_mode (Faults *faults, const char *entry)
{
  if (strcmp (entry, "cuThreadExchangeStreamCaptureMode") == 0)
    fixture_set_thread_mode (faults->fixture.cu, faults->fixture.thread_mode);
}

static void
inject_once (Faults *faults, guint index, guint nth, int code)
{
  const MemraHostControl *control = memra_test_host_control ();
  const char *entry = g_ptr_array_index (faults->entries, index);
  Phase phase = phase_of (faults, index, nth);
  Census objects = count_objects ();
  guint64 fired = control->count_faults ();
  guint64 begins = control->count_calls ("cuStreamBeginCapture");
  guint calls = faults->fixture.calls;

  {
    g_autoptr (GError) error = NULL;
    g_autoptr (MemraLayerCapture) capture = NULL;

    g_assert_cmpint (control->inject_fault (entry, nth, code), ==, 0);
    faults->n_injected++;
    capture = job (faults, &error);
    if (control->count_faults () != fired + 1)
      g_error ("call %u of %s was not made this time", nth, entry);
    control->clear_faults ();

    g_assert_true ((capture == NULL) == (error != NULL));
    if (capture == NULL)
      check_failure (faults, entry, phase, code, error);
    else
      check_success (faults, entry, phase, capture);
    g_assert_cmpuint (faults->fixture.calls - calls, ==, capture != NULL || phase != PHASE_BEFORE ? 1 : 0);
    g_assert_cmpuint (control->count_calls ("cuStreamBeginCapture") - begins, <=, 1);
    repair_thread_mode (faults, entry);
    fixture_assert_thread (&faults->fixture);
    g_assert_cmpint (fixture_status (&faults->fixture, faults->fixture.stream), ==, MCU_CAPTURE_STATUS_NONE);
    fixture_assert_ran (&faults->fixture, faults->ran);
  }
  assert_objects (&objects, lost_by (entry));
  objects = count_objects ();
  job_that_works (faults);
  assert_objects (&objects, NULL);
  faults->n_survived++;
}

static void
test_capture_faults (gconstpointer form)
{
  Faults faults;

  if (!memra_test_need_host ())
    return;
  faults_init (&faults, (Form) GPOINTER_TO_INT (form));
  profile_job (&faults);
  for (guint i = 0; i < faults.entries->len; i++)
    {
      guint64 n = faults.after[i] - faults.before[i];

      if (n > 0)
        g_test_message ("%s: %" G_GUINT64_FORMAT " calls", (const char *) g_ptr_array_index (faults.entries, i), n);
      for (guint nth = 1; nth <= n; nth++)
        for (gsize c = 0; c < G_N_ELEMENTS (codes); c++)
          inject_once (&faults, i, nth, codes[c]);
    }
  memra_test_assert_stream_usable (faults.fixture.stream);
  faults_clear (&faults);
}

/* What the main job is made of: if one of these were not called, it would not be the main job. */
static void
test_capture_calls (void)
{
  static const char *const made[] = { "cuStreamIsCapturing",
                                      "cuStreamSynchronize",
                                      "cuStreamBeginCapture",
                                      "cuLaunchKernel",
                                      "cuStreamEndCapture",
                                      "cuGraphGetNodes",
                                      "cuGraphNodeGetType",
                                      "cuGraphKernelNodeGetParams",
                                      "cuFuncGetName",
                                      "cuGraphInstantiateWithParams",
                                      "cuGraphUpload",
                                      "cuGraphLaunch",
                                      NULL };
  Faults faults;
  guint found = 0;

  if (!memra_test_need_host ())
    return;
  faults_init (&faults, FORM_PLAIN);
  profile_job (&faults);
  for (guint i = 0; i < faults.entries->len; i++)
    if (faults.after[i] > faults.before[i] && is_one_of (g_ptr_array_index (faults.entries, i), made))
      found++;
  g_assert_cmpuint (found, ==, G_N_ELEMENTS (made) - 1);
  faults.n_injected = faults.n_survived = 1;
  faults_clear (&faults);
}

/* ---- Calls that fail and go on failing ---- */

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
  Census objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  objects = count_objects ();
  g_assert_cmpint (control->inject_fault_from ("cuStreamSynchronize", 2, 700), ==, 0);
  g_assert_null (memra_capture_layer (fixture.stream, 86, NULL, fixture_body, &fixture, &error));
  control->clear_faults ();
  assert_capture_error (error, 86, MEMRA_CAPTURE_ERROR_FAILED, MEMRA_CAPTURE_STAGE_COMPLETION, 700,
                        MEMRA_EXECUTION_UNKNOWN, TRUE);
  assert_objects (&objects, NULL);
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
  Census objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  objects = count_objects ();
  capture = fixture_capture (&fixture, 89);
  memra_layer_capture_retain (capture, &destroyed, count_destroyed);
  g_assert_cmpint (control->inject_fault ((const char *) entry, 1, 999), ==, 0);
  g_assert_false (memra_layer_capture_close (capture, &error));
  assert_capture_error (error, 89, MEMRA_CAPTURE_ERROR_FAILED, MEMRA_CAPTURE_STAGE_CLOSE, 999, MEMRA_EXECUTION_UNKNOWN,
                        TRUE);
  g_assert_cmpuint (destroyed, ==, 1);
  assert_objects (&objects, lost_by ((const char *) entry));
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (capture, &error)); /* there is nothing left to fail */
  g_assert_no_error (error);
  g_assert_cmpuint (destroyed, ==, 1);
  fixture_assert_good_as_new (&fixture, 1);
}

/* Every call of a close that has a launch to wait for. Whatever it answers, trying again releases the rest. */
static void
close_with_fault (Fixture *fixture, const char *entry, guint nth, int code)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (GError) error = NULL;
  Census objects = count_objects ();
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
    g_assert_true (is_one_of (entry, tolerated) || strcmp (entry, "cuCtxPushCurrent") == 0 || code == 700);
  g_assert_cmpuint (control->count_faults (), ==, fired + 1);
  if (strcmp (entry, "cuThreadExchangeStreamCaptureMode") == 0)
    fixture_set_thread_mode (fixture->cu, fixture->thread_mode);
  fixture_assert_thread (fixture);
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (destroyed, ==, 1);
  memra_layer_capture_unref (capture);
  assert_objects (&objects, lost_by (entry));
}

static void
test_close_faults (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GPtrArray) entries = g_ptr_array_new ();
  g_autoptr (GArray) counts = g_array_new (FALSE, FALSE, sizeof (guint64));
  MemraLayerCapture *capture;
  const char *entry;
  guint injected = 0;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 91);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  for (guint i = 0; (entry = control->get_entry (i)) != NULL; i++)
    {
      guint64 n = control->count_calls (entry);

      g_ptr_array_add (entries, (gpointer) entry);
      g_array_append_val (counts, n);
    }
  g_assert_true (memra_layer_capture_close (capture, NULL));
  for (guint i = 0; i < entries->len; i++)
    g_array_index (counts, guint64, i)
        = control->count_calls (g_ptr_array_index (entries, i)) - g_array_index (counts, guint64, i);
  memra_layer_capture_unref (capture);
  for (guint i = 0; i < entries->len; i++)
    for (guint nth = 1; nth <= g_array_index (counts, guint64, i); nth++)
      for (gsize c = 0; c < G_N_ELEMENTS (codes); c++, injected++)
        close_with_fault (&fixture, g_ptr_array_index (entries, i), nth, codes[c]);
  g_test_message ("faults: %u injected, %u survived", injected, injected);
  g_assert_cmpuint (injected, >=, 6 * G_N_ELEMENTS (codes));
  memra_test_assert_stream_usable (fixture.stream);
}

/* ---- All other functions ---- */

typedef struct
{
  Fixture *fixture;
  MemraStream *other;
  MemraBuffer *tracked;
  MemraLayerCapture *capture;
  MemraLayerSequence *sequence;
  gboolean skip_checks;
} Bench;

typedef struct
{
  const char *name;
  gboolean (*run) (Bench *bench, GError **error);
  GQuark (*domain) (void); /* NULL: the body's or the capture's */
  MemraCaptureStage stage; /* for capture errors, if `domain` is theirs */
  gboolean in_turn;        /* it makes so many calls that each gets one of the codes only */
  guint n_inside;          /* graphs inside the one that is lost if its destruction fails */
} Operation;

static gboolean
run_buffer_new (Bench *bench, GError **error)
{
  g_autoptr (MemraBuffer) buffer = memra_buffer_new (bench->fixture->stream, 4096, error);

  return buffer != NULL;
}

static gboolean
run_buffer_new_tracked (Bench *bench, GError **error)
{
  g_autoptr (MemraBuffer) buffer = NULL;

  memra_context_set_event_tracking (bench->fixture->context, TRUE);
  buffer = memra_buffer_new (bench->fixture->stream, 4096, error);
  memra_context_set_event_tracking (bench->fixture->context, FALSE);
  return buffer != NULL;
}

static gboolean
run_buffer_new_from_host (Bench *bench, GError **error)
{
  char bytes[100] = { 0 };
  g_autoptr (MemraBuffer) buffer = memra_buffer_new_from_host (bench->fixture->stream, bytes, sizeof bytes, error);

  return buffer != NULL;
}

static gboolean
run_copy_from_host (Bench *bench, GError **error)
{
  float values[FIXTURE_N] = { 0 };

  return memra_buffer_copy_from_host (bench->tracked, 0, values, sizeof values, bench->fixture->stream, error);
}

static gboolean
run_copy_to_host (Bench *bench, GError **error)
{
  float values[FIXTURE_N];

  return memra_buffer_copy_to_host (bench->fixture->dst, 0, values, sizeof values, bench->fixture->stream, error);
}

/* Between two streams, so that events are recorded and waited for. */
static gboolean
run_copy_tracked (Bench *bench, GError **error)
{
  return memra_buffer_zero (bench->tracked, bench->other, error)
         && memra_buffer_copy (bench->fixture->dst, bench->tracked, bench->fixture->stream, error)
         && memra_buffer_zero (bench->tracked, bench->other, error);
}

static gboolean
run_copy (Bench *bench, GError **error)
{
  return memra_buffer_copy (bench->fixture->dst, bench->fixture->src, bench->fixture->stream, error);
}

static gboolean
run_stream_new (Bench *bench, GError **error)
{
  g_autoptr (MemraStream) stream = memra_stream_new (bench->fixture->context, MEMRA_STREAM_BLOCKING, error);

  return stream != NULL;
}

static gboolean
run_stream_wrap (Bench *bench, GError **error)
{
  g_autoptr (MemraStream) stream
      = memra_stream_wrap (bench->fixture->context, memra_stream_get_cuda_stream (bench->other), error);

  return stream != NULL;
}

static gboolean
run_stream_synchronize (Bench *bench, GError **error)
{
  return memra_stream_synchronize (bench->fixture->stream, error);
}

static gboolean
run_stream_wait (Bench *bench, GError **error)
{
  return memra_stream_wait (bench->fixture->stream, bench->other, error);
}

static gboolean
run_stream_status (Bench *bench, GError **error)
{
  MemraCaptureStatus status;

  return memra_stream_get_capture_status (bench->fixture->stream, &status, error);
}

static gboolean
run_stream_recover (Bench *bench, GError **error)
{
  return memra_stream_recover (bench->fixture->stream, error);
}

static gboolean
run_context_new (Bench *bench, GError **error)
{
  g_autoptr (MemraContext) context = memra_context_new (memra_test_driver (), 0, error);

  return context != NULL;
}

static gboolean
run_context_wrap (Bench *bench, GError **error)
{
  g_autoptr (MemraContext) context
      = memra_context_wrap (memra_test_driver (), memra_context_get_cuda_context (bench->fixture->context), error);

  return context != NULL;
}

static gboolean
run_context_synchronize (Bench *bench, GError **error)
{
  return memra_context_synchronize (bench->fixture->context, error);
}

static gboolean
run_device_name (Bench *bench, GError **error)
{
  g_autofree char *name = memra_driver_dup_device_name (memra_test_driver (), 0, error);

  return name != NULL;
}

static gboolean
run_module_load (Bench *bench, GError **error)
{
  g_autofree char *path = fixture_dup_host_module_path ();
  g_autoptr (MemraModule) module = memra_module_load (bench->fixture->context, path, error);

  return module != NULL;
}

static gboolean
run_get_kernel (Bench *bench, GError **error)
{
  g_autoptr (MemraKernel) kernel
      = memra_module_get_kernel (memra_dsv4_get_module (bench->fixture->dsv4), FIXTURE_KERNEL, error);

  if (kernel == NULL)
    return FALSE;
  /* Three, or not known: never a wrong number. */
  g_assert_true (memra_kernel_get_n_arguments (kernel) == 3 || memra_kernel_get_n_arguments (kernel) == -1);
  return TRUE;
}

static gboolean
run_launch_kernel (Bench *bench, GError **error)
{
  return fixture_add (bench->fixture, bench->fixture->stream, error);
}

static gboolean
run_dsv4_new (Bench *bench, GError **error)
{
  g_autoptr (MemraDsv4) dsv4 = memra_dsv4_new (bench->fixture->context, error);

  return dsv4 != NULL;
}

static gboolean
run_replay (Bench *bench, GError **error)
{
  guint64 replays = memra_layer_capture_get_replays (bench->capture);
  gboolean ok = memra_layer_capture_replay (bench->capture, error);

  g_assert_cmpuint (memra_layer_capture_get_replays (bench->capture) - replays, ==, ok ? 1 : 0);
  return ok;
}

static gboolean
run_launch (Bench *bench, GError **error)
{
  return memra_layer_capture_launch (bench->capture, error);
}

/* Whether it is updated or not, it replays. */
static gboolean
run_update (Bench *bench, GError **error)
{
  gboolean ok = memra_layer_capture_update (bench->capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, fixture_body,
                                            bench->fixture, NULL, error);

  if (!ok)
    {
      memra_test_host_control ()->clear_faults ();
      g_assert_true (memra_layer_capture_replay (bench->capture, NULL));
    }
  return ok;
}

static gboolean
run_sequence_new (Bench *bench, GError **error)
{
  MemraLayerCapture *const captures[] = { bench->capture, bench->capture };
  g_autoptr (MemraLayerSequence) sequence
      = memra_layer_sequence_new (bench->fixture->stream, captures, G_N_ELEMENTS (captures), NULL, error);

  return sequence != NULL;
}

static gboolean
run_sequence_replay (Bench *bench, GError **error)
{
  return memra_layer_sequence_replay (bench->sequence, error);
}

static gboolean
run_sequence_launch (Bench *bench, GError **error)
{
  return memra_layer_sequence_launch (bench->sequence, error);
}

/* After a change of the layer. Updated or not, nothing is lost, and the next update works. */
static gboolean
run_sequence_update (Bench *bench, GError **error)
{
  _memra_layer_capture_changed (bench->capture);
  return memra_layer_sequence_update (bench->sequence, MEMRA_UPDATE_IN_PLACE_ONLY, NULL, error);
}

static gboolean
run_check (Bench *bench, GError **error)
{
  return memra_layer_capture_check (bench->capture, error);
}

/* The last argument is set to what it is. Afterwards the capture replays, edited or not. */
static gboolean
run_kernel_edit (Bench *bench, GError **error)
{
  const guint64 n = FIXTURE_N;
  g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (bench->capture, error);
  guint kernel = 0;
  gboolean ok = edit != NULL && memra_kernel_edit_find (edit, FIXTURE_KERNEL, 0, &kernel, error)
                && memra_kernel_edit_set_argument (edit, kernel, 2, &n, sizeof n, error)
                && memra_kernel_edit_commit (edit, error);

  if (!ok)
    {
      memra_test_host_control ()->clear_faults ();
      g_assert_true (memra_layer_capture_replay (bench->capture, NULL));
    }
  return ok;
}

static gboolean
run_census (Bench *bench, GError **error)
{
  g_autoptr (MemraCensus) census
      = memra_census_new_from_graph (memra_test_driver (), memra_layer_capture_get_cuda_graph (bench->capture), error);

  return census != NULL;
}

static void
destroy_once (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* Run or refused: what came with it is given back, and once. */
static gboolean
run_host_func (Bench *bench, GError **error)
{
  MemraStream *stream = bench->fixture->stream;
  gint destroyed = 0;
  gboolean ok = memra_stream_host_func (stream, do_nothing, &destroyed, destroy_once, error);

  while (g_atomic_int_get (&destroyed) == 0)
    g_thread_yield ();
  g_assert_cmpint (destroyed, ==, 1);
  return ok;
}

static gboolean
run_access (Bench *bench, GError **error)
{
  g_auto (MemraAccess) access = { 0 };

  return memra_buffer_acquire_write (bench->tracked, bench->other, &access, error) != 0
         && memra_access_end (&access, error);
}

static gboolean
run_module_load_data (Bench *bench, GError **error)
{
  g_autofree char *path = fixture_dup_host_module_path ();
  g_autofree char *image = NULL;
  g_autoptr (MemraModule) module = NULL;

  g_assert_true (g_file_get_contents (path, &image, NULL, NULL));
  module = memra_module_load_data (bench->fixture->context, image, error);
  return module != NULL;
}

/* Everything that a layer does outside of a capture. */
static gboolean
run_layer (Bench *bench, GError **error)
{
  MemraStream *stream = bench->fixture->stream;
  MemraDsv4Config config;
  MemraDsv4Layer *layer;
  g_autoptr (MemraBuffer) hidden = NULL;
  gboolean ok;

  memra_dsv4_config_init_small (&config);
  layer = memra_dsv4_layer_new (bench->fixture->dsv4, stream, &config, 1, error);
  if (layer == NULL)
    return FALSE;
  hidden = memra_buffer_new (stream, config.hidden * sizeof (float), error);
  ok = hidden != NULL && memra_buffer_zero (hidden, stream, error)
       && memra_dsv4_layer_forward (layer, stream, hidden, error) && memra_dsv4_layer_reset (layer, stream, error);
  memra_dsv4_layer_free (layer);
  return ok;
}

static const Operation operations[] = {
  { "buffer-new", run_buffer_new, memra_driver_error_quark, 0 },
  { "buffer-new-tracked", run_buffer_new_tracked, memra_driver_error_quark, 0 },
  { "buffer-new-from-host", run_buffer_new_from_host, memra_driver_error_quark, 0 },
  { "buffer-copy-from-host", run_copy_from_host, memra_driver_error_quark, 0 },
  { "buffer-copy-to-host", run_copy_to_host, memra_driver_error_quark, 0 },
  { "buffer-copy", run_copy, memra_driver_error_quark, 0 },
  { "buffer-copy-tracked", run_copy_tracked, memra_driver_error_quark, 0 },
  { "stream-new", run_stream_new, memra_driver_error_quark, 0 },
  { "stream-wrap", run_stream_wrap, memra_driver_error_quark, 0 },
  { "stream-synchronize", run_stream_synchronize, memra_driver_error_quark, 0 },
  { "stream-wait", run_stream_wait, memra_driver_error_quark, 0 },
  { "stream-status", run_stream_status, memra_driver_error_quark, 0 },
  { "stream-recover", run_stream_recover, memra_driver_error_quark, 0 },
  { "context-new", run_context_new, memra_driver_error_quark, 0 },
  { "context-wrap", run_context_wrap, memra_driver_error_quark, 0 },
  { "context-synchronize", run_context_synchronize, memra_driver_error_quark, 0 },
  { "device-name", run_device_name, memra_driver_error_quark, 0 },
  { "module-load", run_module_load, memra_driver_error_quark, 0 },
  { "get-kernel", run_get_kernel, memra_driver_error_quark, 0 },
  { "launch-kernel", run_launch_kernel, memra_driver_error_quark, 0 },
  { "dsv4-new", run_dsv4_new, memra_driver_error_quark, 0 },
  { "replay", run_replay, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "launch", run_launch, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "check", run_check, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "update", run_update, NULL, 0 },
  { "sequence-new", run_sequence_new, NULL, 0, FALSE, 2 },
  { "sequence-replay", run_sequence_replay, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "sequence-launch", run_sequence_launch, memra_capture_error_quark, MEMRA_CAPTURE_STAGE_REPLAY },
  { "sequence-update", run_sequence_update, NULL, 0, FALSE, 1 },
  { "kernel-edit", run_kernel_edit, NULL, 0 },
  { "census", run_census, memra_driver_error_quark, 0 },
  { "host-func", run_host_func, memra_driver_error_quark, 0 },
  { "access", run_access, memra_driver_error_quark, 0 },
  { "module-load-data", run_module_load_data, memra_driver_error_quark, 0 },
  { "layer", run_layer, memra_driver_error_quark, 0, TRUE },
};

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

static void
check_operation_error (const Operation *operation, const char *entry, int code, const GError *error)
{
  g_autofree char *number = g_strdup_printf ("(%d)", code);

  if (operation->domain != NULL)
    g_assert_true (error->domain == operation->domain ());
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, code);
  assert_contains (error->message, number);
  if (error->domain == MEMRA_DRIVER_ERROR)
    g_assert_cmpint (error->code, ==, _memra_driver_error_code (code));
  else
    {
      /* A launch that a capture's own rules refuse has certainly not run. */
      gboolean unknown
          = strcmp (entry, "cuGraphLaunch") == 0 && _memra_capture_error_code (code) == MEMRA_CAPTURE_ERROR_FAILED;

      if (operation->domain != NULL)
        g_assert_cmpint (memra_capture_error_get_stage (error), ==, operation->stage);
      g_assert_cmpint (memra_capture_error_get_execution (error), ==,
                       unknown ? MEMRA_EXECUTION_UNKNOWN : MEMRA_EXECUTION_NOT_EXECUTED);
    }
}

static void
inject_operation (Bench *bench, const Operation *operation, const char *entry, guint nth, int code)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (GError) error = NULL;
  Census objects = count_objects ();
  guint64 fired = control->count_faults ();
  gboolean ok;

  g_assert_cmpint (control->inject_fault (entry, nth, code), ==, 0);
  ok = operation->run (bench, &error);
  if (control->count_faults () != fired + 1)
    g_error ("%s: call %u of %s was not made this time", operation->name, nth, entry);
  control->clear_faults ();
  g_assert_true (ok == (error == NULL));
  if (!ok)
    check_operation_error (operation, entry, code, error);
  else if (!is_one_of (entry, quiet))
    g_error ("%s: call %u of %s failed, and nobody took notice", operation->name, nth, entry);
  if (strcmp (entry, "cuThreadExchangeStreamCaptureMode") == 0)
    fixture_set_thread_mode (bench->fixture->cu, bench->fixture->thread_mode);
  fixture_assert_thread (bench->fixture);
  if (g_strcmp0 (lost_by (entry), "graph") == 0)
    objects.n[0] += operation->n_inside;
  assert_objects (&objects, lost_by (entry));
  g_clear_error (&error);
  g_assert_true (operation->run (bench, &error));
  g_assert_no_error (error);
}

static void
bench_operation (Bench *bench, const Operation *operation)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (GArray) before = g_array_new (FALSE, TRUE, sizeof (guint64));
  const char *entry;
  guint injected = 0;

  g_assert_true (operation->run (bench, NULL));
  for (guint i = 0; (entry = control->get_entry (i)) != NULL; i++)
    {
      guint64 n = control->count_calls (entry);

      g_array_append_val (before, n);
    }
  g_assert_true (operation->run (bench, NULL));
  for (guint i = 0; i < before->len; i++)
    g_array_index (before, guint64, i)
        = control->count_calls (control->get_entry (i)) - g_array_index (before, guint64, i);
  for (guint i = 0; i < before->len; i++)
    for (guint nth = 1; nth <= g_array_index (before, guint64, i); nth++)
      for (gsize c = 0; c < (operation->in_turn ? 1 : G_N_ELEMENTS (codes)); c++, injected++)
        inject_operation (bench, operation, control->get_entry (i), nth, codes[(nth + c) % G_N_ELEMENTS (codes)]);
  g_test_message ("faults: %u injected, %u survived", injected, injected);
  g_assert_cmpuint (injected, >, 0);
}

static void
test_operation (gconstpointer data)
{
  const Operation *operation = (const Operation *) data;
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) other = NULL;
  g_autoptr (MemraBuffer) tracked = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraLayerSequence) sequence = NULL;
  Bench bench = { &fixture };

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
  bench_operation (&bench, operation);
  g_assert_true (memra_stream_synchronize (other, NULL));
  g_assert_true (memra_stream_synchronize (fixture.stream, NULL));
  memra_test_assert_stream_usable (fixture.stream);
}

static void
add_tests (void)
{
  memra_test_add ("/faults/capture/calls", test_capture_calls);
  memra_test_add_data ("/faults/capture/plain", GINT_TO_POINTER (FORM_PLAIN), test_capture_faults);
  memra_test_add_data ("/faults/capture/strict", GINT_TO_POINTER (FORM_STRICT), test_capture_faults);
  memra_test_add_data ("/faults/capture/record", GINT_TO_POINTER (FORM_RECORD), test_capture_faults);
  memra_test_add_data ("/faults/capture/scope", GINT_TO_POINTER (FORM_SCOPE), test_capture_faults);
  memra_test_add_data ("/faults/capture/rich", GINT_TO_POINTER (FORM_RICH), test_capture_faults);
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
  for (gsize i = 0; i < G_N_ELEMENTS (operations); i++)
    {
      g_autofree char *path = g_strdup_printf ("/faults/operation/%s", operations[i].name);

      memra_test_add_data (path, &operations[i], test_operation);
    }
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
