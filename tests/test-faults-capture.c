/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every driver call of the main job, failing in turn: in all of its forms there is an error with the right step, code
 * and result, or none at all where the call is one that may fail; and the stream is out of capture.
 */
#include "config.h"

#include "faults.h"

#include "capture/capture-private.h"

#include <string.h>

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
  GPtrArray *entries; /* const char *, the driver's */
  GArray *before;     /* calls per entry, at the start of a profiled capture */
  GArray *body_began; /* at the start of its body */
  GArray *body_ended;
  GArray *after;
  gboolean profiling;
  MemraStream *fork; /* for a rich body, as are the buffers */
  MemraBuffer *scratch[2];
  guint ran; /* times that the layer has run so far */
  guint n_injected, n_survived;
} Faults;

static void
faults_init (Faults *faults, Form form)
{
  memset (faults, 0, sizeof *faults);
  fixture_init (&faults->fixture);
  faults->form = form;
  memra_capture_options_set_strict (faults->fixture.options, form == FORM_STRICT);
  faults->fork = memra_test_stream_new (faults->fixture.context);
  for (guint i = 0; i < G_N_ELEMENTS (faults->scratch); i++)
    faults->scratch[i] = memra_test_buffer_filled (faults->fixture.stream, 0.0f, FIXTURE_N);
  faults->entries = faults_get_entries ();
}

static void
faults_clear (Faults *faults)
{
  for (guint i = 0; i < G_N_ELEMENTS (faults->scratch); i++)
    memra_buffer_unref (faults->scratch[i]);
  memra_stream_unref (faults->fork);
  g_ptr_array_unref (faults->entries);
  g_array_unref (faults->before);
  g_array_unref (faults->body_began);
  g_array_unref (faults->body_ended);
  g_array_unref (faults->after);
  fixture_clear (&faults->fixture);
}

static void
count_calls (Faults *faults, GArray **counts)
{
  if (faults->profiling)
    *counts = faults_count_calls (faults->entries);
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

  count_calls (faults, &faults->body_began);
  ok = faults->form == FORM_RICH ? rich_body (faults, stream, error) : fixture_body (stream, &faults->fixture, error);
  count_calls (faults, &faults->body_ended);
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
  count_calls (faults, &faults->before);
  capture = job (faults, NULL);
  count_calls (faults, &faults->after);
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
  if (nth <= faults_calls_between (faults->before, faults->body_began, index))
    return PHASE_BEFORE;
  return nth <= faults_calls_between (faults->before, faults->body_ended, index) ? PHASE_BODY : PHASE_AFTER;
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
check_failure (Faults *faults, const char *entry, Phase phase, int code, const GError *error)
{
  const Expected *expected = find_expected (entry, phase);
  gboolean handed_over;
  g_autofree char *number = g_strdup_printf ("(%d)", code);

  assert_contains (error->message, number);
  if (phase == PHASE_BODY)
    {
      assert_body_error (error, 81, MEMRA_DRIVER_ERROR, (gint) _memra_driver_error_code (code), code);
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
  if (!faults_is_one_of (entry, tolerated) && !(phase == PHASE_BODY && faults_is_one_of (entry, tolerated_in_body)))
    g_error ("%s failed, and the capture took no notice", entry);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, faults->form == FORM_RECORD ? 0 : 1);
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (capture), "kernel"), ==, 1);
  faults->ran += faults->form == FORM_RECORD ? 0 : 1;
}

static void
inject_once (Faults *faults, guint index, guint nth, int code)
{
  const MemraHostControl *control = memra_test_host_control ();
  const char *entry = g_ptr_array_index (faults->entries, index);
  Phase phase = phase_of (faults, index, nth);
  FaultsObjects objects = faults_count_objects ();
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
    faults_repair (&faults->fixture, entry);
    fixture_assert_thread (&faults->fixture);
    g_assert_cmpint (fixture_status (&faults->fixture, faults->fixture.stream), ==, MCU_CAPTURE_STATUS_NONE);
    fixture_assert_ran (&faults->fixture, faults->ran);
  }
  faults_assert_objects (&objects, faults_lost_by (entry));
  objects = faults_count_objects ();
  job_that_works (faults);
  faults_assert_objects (&objects, NULL);
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
      guint64 n = faults_calls_between (faults.before, faults.after, i);

      if (n > 0)
        g_test_message ("%s: %" G_GUINT64_FORMAT " calls", (const char *) g_ptr_array_index (faults.entries, i), n);
      for (guint nth = 1; nth <= n; nth++)
        for (gsize c = 0; c < FAULTS_N_CODES; c++)
          inject_once (&faults, i, nth, faults_codes[c]);
    }
  memra_test_assert_stream_usable (faults.fixture.stream);
  faults_report (faults.n_injected, faults.n_survived);
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
    if (faults_calls_between (faults.before, faults.after, i) > 0
        && faults_is_one_of (g_ptr_array_index (faults.entries, i), made))
      found++;
  g_assert_cmpuint (found, ==, G_N_ELEMENTS (made) - 1);
  faults_clear (&faults);
}

typedef struct
{
  const char *path;
  const char *swept; /* the public functions that it is about, see test-faults.sh */
  Form form;
} Sweep;

static const Sweep sweeps[] = {
  { "/faults/capture/plain", "memra_capture_layer", FORM_PLAIN },
  { "/faults/capture/strict", "memra_capture_layer", FORM_STRICT },
  { "/faults/capture/record", "memra_capture_layer_record", FORM_RECORD },
  { "/faults/capture/scope", "memra_capture_scope_begin memra_capture_scope_end", FORM_SCOPE },
  { "/faults/capture/rich", "memra_capture_layer memra_stream_mark memra_stream_wait", FORM_RICH },
};

static void
add_tests (void)
{
  memra_test_add ("/faults/capture/calls", test_capture_calls);
  for (gsize i = 0; i < G_N_ELEMENTS (sweeps); i++)
    memra_test_add_data (sweeps[i].path, GINT_TO_POINTER (sweeps[i].form), test_capture_faults);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
