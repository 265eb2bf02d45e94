/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bodies that break their capture. For each culprit and each mode: what the call answers, how the capture ends, what
 * the error says, and that everything is as good as new afterwards; once with a body that goes on regardless, and once
 * with one that gives up with an error of its own. The codes are those of a real driver (13.0).
 */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

G_DEFINE_QUARK (memra_test_error, test_error)

#define TEST_ERROR_GAVE_UP 5

static const char *const mode_names[] = { "global", "thread-local", "relaxed" };

typedef struct _Culprit Culprit;

typedef struct
{
  Fixture *fixture;
  const Culprit *culprit;
  int mode;
  gboolean report;

  CUstream stream;    /* that is captured */
  MemraStream *other; /* not captured, unless the culprit forks into it */
  CUevent event;      /* for the culprit */
  CUevent outside;    /* recorded and complete before the capture */
  CUdeviceptr spare;  /* allocated before the capture, 0 once freed */
  CUmodule module;    /* loaded before the capture, NULL once unloaded */
  CUgraph graph;      /* made before the capture */
  CUgraphExec exec;
  CUgraph body_graph; /* made in the body */
  CUgraphExec body_exec;
  gboolean other_captured;
  MemraLayerCapture *kept; /* for use_kept() only: of another stream, taken before the capture */
} Break;

struct _Culprit
{
  const char *name;
  McuResult (*act) (Break *b);
  McuResult answers[3]; /* of the call, by mode */
  McuResult ends[3];    /* the result in the error, by mode; 0: the capture succeeds */
  const char *function; /* nullable: the entry point to be blamed, where the driver tells */
  gboolean elsewhere;   /* the call is made by another thread */
  guint ran;            /* times that the layer's effect is seen when the capture succeeds */
};

/* ---- Culprits ---- */

static McuResult
synchronise_stream (Break *b)
{
  return b->fixture->cu->cuStreamSynchronize (b->stream);
}

static McuResult
query_stream (Break *b)
{
  return b->fixture->cu->cuStreamQuery (b->stream);
}

static McuResult
synchronise_context (Break *b)
{
  return b->fixture->cu->cuCtxSynchronize ();
}

static McuResult
query_captured_event (Break *b)
{
  memra_test_assert_cu (b->fixture->cu->cuEventRecord (b->event, b->stream));
  return b->fixture->cu->cuEventQuery (b->event);
}

static McuResult
synchronise_captured_event (Break *b)
{
  memra_test_assert_cu (b->fixture->cu->cuEventRecord (b->event, b->stream));
  return b->fixture->cu->cuEventSynchronize (b->event);
}

/* Refused, and for once without harm. */
static McuResult
time_captured_event (Break *b)
{
  float milliseconds;

  memra_test_assert_cu (b->fixture->cu->cuEventRecord (b->event, b->stream));
  return b->fixture->cu->cuEventElapsedTime (&milliseconds, b->outside, b->event);
}

static void
fork_stream (Break *b)
{
  memra_test_assert_cu (b->fixture->cu->cuEventRecord (b->event, b->stream));
  memra_test_assert_cu (b->fixture->cu->cuStreamWaitEvent (memra_stream_get_cuda_stream (b->other), b->event, 0));
}

static McuResult
fork_without_join (Break *b)
{
  g_autoptr (GError) error = NULL;

  fork_stream (b);
  g_assert_true (fixture_add (b->fixture, b->other, &error));
  g_assert_no_error (error);
  return MCU_SUCCESS;
}

static McuResult
fork_and_join (Break *b)
{
  McuResult result = fork_without_join (b);

  memra_test_assert_cu (b->fixture->cu->cuEventRecord (b->event, memra_stream_get_cuda_stream (b->other)));
  memra_test_assert_cu (b->fixture->cu->cuStreamWaitEvent (b->stream, b->event, 0));
  return result;
}

static McuResult
fork_and_end_there (Break *b)
{
  CUgraph graph = NULL;
  McuResult result;

  fork_stream (b);
  result = b->fixture->cu->cuStreamEndCapture (memra_stream_get_cuda_stream (b->other), &graph);
  g_assert_null (graph);
  return result;
}

static McuResult
begin_again (Break *b)
{
  return b->fixture->cu->cuStreamBeginCapture (b->stream, b->mode);
}

static McuResult
end_itself (Break *b)
{
  McuResult result = b->fixture->cu->cuStreamEndCapture (b->stream, &b->body_graph);

  g_assert_nonnull (b->body_graph);
  return result;
}

static McuResult
end_and_begin (Break *b)
{
  g_autoptr (GError) error = NULL;

  memra_test_assert_cu (end_itself (b));
  memra_test_assert_cu (b->fixture->cu->cuStreamBeginCapture (b->stream, b->mode));
  g_assert_true (fixture_add (b->fixture, b->fixture->stream, &error));
  g_assert_no_error (error);
  return MCU_SUCCESS;
}

static McuResult
allocate (Break *b)
{
  CUdeviceptr address = 0;
  McuResult result = b->fixture->cu->cuMemAlloc (&address, 4096);

  if (result == MCU_SUCCESS)
    memra_test_assert_cu (b->fixture->cu->cuMemFree (address));
  return result;
}

static McuResult
free_memory (Break *b)
{
  McuResult result = b->fixture->cu->cuMemFree (b->spare);

  if (result == MCU_SUCCESS)
    b->spare = 0;
  return result;
}

/* Goes through the legacy stream: runs at once, and nothing of it is in the graph. */
static McuResult
copy_synchronously (Break *b)
{
  float values[FIXTURE_N] = { 0 };
  McuResult result = b->fixture->cu->cuMemcpyDtoH (values, memra_buffer_get_address (b->fixture->dst), sizeof values);

  g_assert_cmpfloat (values[FIXTURE_N - 1], ==, 1.0f);
  return result;
}

static McuResult
unload_module (Break *b)
{
  McuResult result = b->fixture->cu->cuModuleUnload (b->module);

  if (result == MCU_SUCCESS)
    b->module = NULL;
  return result;
}

static McuResult
instantiate (Break *b)
{
  return b->fixture->cu->cuGraphInstantiateWithFlags (&b->body_exec, b->graph, 0);
}

static McuResult
launch_graph (Break *b)
{
  return b->fixture->cu->cuGraphLaunch (b->exec, b->stream);
}

static McuResult
upload_graph (Break *b)
{
  return b->fixture->cu->cuGraphUpload (b->exec, b->stream);
}

static McuResult
wait_for_outside_event (Break *b)
{
  return b->fixture->cu->cuStreamWaitEvent (b->stream, b->outside, 0);
}

static McuResult
wait_for_other_capture (Break *b)
{
  CUstream other = memra_stream_get_cuda_stream (b->other);

  memra_test_assert_cu (b->fixture->cu->cuStreamBeginCapture (other, b->mode));
  memra_test_assert_cu (b->fixture->cu->cuEventRecord (b->event, other));
  b->other_captured = TRUE;
  return b->fixture->cu->cuStreamWaitEvent (b->stream, b->event, 0);
}

static McuResult
launch_into_legacy (Break *b)
{
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (GError) error = NULL;

  float values[FIXTURE_N] = { 0 };

  legacy = memra_stream_wrap (b->fixture->context, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (fixture_add (b->fixture, legacy, &error));
  g_assert_no_error (error);

  /* It runs now, while the capture is open. */
  g_assert_true (memra_stream_synchronize (legacy, &error));
  g_assert_no_error (error);
  memra_test_assert_cu (
      b->fixture->cu->cuMemcpyDtoH (values, memra_buffer_get_address (b->fixture->dst), sizeof values));
  g_assert_cmpfloat (values[FIXTURE_N - 1], ==, 3.0f);
  return MCU_SUCCESS;
}

typedef struct
{
  Break *b;
  McuResult (*act) (Break *b);
  McuResult result;
} Elsewhere;

static gpointer
act_elsewhere (gpointer data)
{
  Elsewhere *elsewhere = (Elsewhere *) data;

  fixture_enter (elsewhere->b->fixture);
  elsewhere->result = elsewhere->act (elsewhere->b);
  fixture_leave (elsewhere->b->fixture);
  return NULL;
}

static McuResult
on_another_thread (Break *b, McuResult (*act) (Break *b))
{
  Elsewhere elsewhere = { b, act, -1 };

  g_thread_join (g_thread_new ("elsewhere", act_elsewhere, &elsewhere));
  return elsewhere.result;
}

static McuResult
synchronise_context_elsewhere (Break *b)
{
  return on_another_thread (b, synchronise_context);
}

static McuResult
allocate_elsewhere (Break *b)
{
  return on_another_thread (b, allocate);
}

static McuResult
query_outside_event (Break *b)
{
  return b->fixture->cu->cuEventQuery (b->outside);
}

static McuResult
query_event_elsewhere (Break *b)
{
  return on_another_thread (b, query_outside_event);
}

/* What the library's own calls do in a body: nothing that could harm it. */
static McuResult
use_library (Break *b)
{
  Fixture *fixture = b->fixture;
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (GError) refusal = NULL;
  g_autoptr (GError) error = NULL;
  float value = 7.0f;

  buffer = memra_buffer_new (fixture->stream, 1 << 20, &error);
  g_assert_no_error (error);
  stream = memra_stream_new (fixture->context, MEMRA_STREAM_NON_BLOCKING, &error);
  g_assert_no_error (error);
  dsv4 = memra_dsv4_new (fixture->context, &error);
  g_assert_no_error (error);
  g_assert_false (memra_stream_synchronize (fixture->stream, &refusal));
  g_assert_error (refusal, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURING);
  g_clear_error (&refusal);
  g_assert_false (memra_buffer_copy_to_host (fixture->dst, 0, &value, sizeof value, fixture->stream, &refusal));
  g_assert_error (refusal, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURING);
  g_assert_cmpfloat (value, ==, 7.0f);
  g_clear_error (&refusal);
  g_assert_false (memra_buffer_copy_from_host (fixture->dst, 0, &value, sizeof value, fixture->stream, &refusal));
  g_assert_error (refusal, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURING);
  g_clear_error (&refusal);
  g_assert_null (memra_buffer_new_from_host (fixture->stream, &value, sizeof value, &refusal));
  g_assert_error (refusal, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURING);
  g_assert_true (memra_stream_synchronize (stream, &error)); /* another stream may be waited for */
  g_assert_no_error (error);
  return MCU_SUCCESS;
}

/* And its questions about the captured stream itself, and about the world. */
static McuResult
ask_library (Break *b)
{
  Fixture *fixture = b->fixture;
  g_autoptr (MemraStream) wrapped = NULL;
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraContext) wrapped_context = NULL;
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *name = NULL;
  MemraCaptureStatus status = MEMRA_CAPTURE_STATUS_NONE;

  wrapped = memra_stream_wrap (fixture->context, b->stream, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_get_capture_status (wrapped, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_ACTIVE);
  context = memra_context_new (memra_test_driver (), 0, &error);
  g_assert_no_error (error);
  wrapped_context
      = memra_context_wrap (memra_test_driver (), memra_context_get_cuda_context (fixture->context), &error);
  g_assert_no_error (error);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (fixture->dsv4), FIXTURE_KERNEL, &error);
  g_assert_no_error (error);
  name = memra_driver_dup_device_name (memra_test_driver (), 0, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_recover (b->other, &error)); /* which is not being captured */
  g_assert_no_error (error);
  return MCU_SUCCESS;
}

/* And what it does with captures that are there already. */
static McuResult
use_kept (Break *b)
{
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;
  float values[FIXTURE_N];

  g_assert_true (memra_layer_capture_check (b->kept, &error));
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_replay (b->kept, &error));
  g_assert_no_error (error);
  census = memra_census_new_from_graph (memra_test_driver (), memra_layer_capture_get_cuda_graph (b->kept), &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_close (b->kept, &error)); /* waits for the replay */
  g_assert_no_error (error);
  buffer = memra_buffer_new (b->other, sizeof values, &error);
  g_assert_no_error (error);
  g_assert_true (memra_buffer_zero (buffer, b->other, &error));
  g_assert_true (memra_buffer_copy_to_host (buffer, 0, values, sizeof values, b->other, &error));
  g_assert_no_error (error);
  return MCU_SUCCESS;
}

/* clang-format off */
static const Culprit culprits[] = {
  { "synchronise-stream", synchronise_stream, { 900, 900, 900 }, { 901, 901, 901 }, "cuStreamSynchronize", FALSE, 0 },
  { "query-stream", query_stream, { 900, 900, 900 }, { 901, 901, 901 }, "cuStreamQuery", FALSE, 0 },
  { "synchronise-context", synchronise_context, { 900, 900, 900 }, { 901, 901, 901 }, "cuCtxSynchronize", FALSE, 0 },
  { "query-captured-event", query_captured_event, { 907, 907, 907 }, { 901, 901, 901 }, "cuEventQuery", FALSE, 0 },
  { "synchronise-captured-event", synchronise_captured_event, { 907, 907, 907 }, { 901, 901, 901 },
    "cuEventSynchronize", FALSE, 0 },
  { "time-captured-event", time_captured_event, { 907, 907, 907 }, { 0, 0, 0 }, NULL, FALSE, 1 },
  { "fork-without-join", fork_without_join, { 0, 0, 0 }, { 904, 904, 904 }, NULL, FALSE, 0 },
  { "fork-and-join", fork_and_join, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 2 },
  { "fork-and-end-there", fork_and_end_there, { 903, 903, 903 }, { 901, 901, 901 }, "cuStreamEndCapture", FALSE, 0 },
  { "begin-again", begin_again, { 401, 401, 401 }, { 0, 0, 0 }, NULL, FALSE, 1 },
  { "end-itself", end_itself, { 0, 0, 0 }, { 401, 401, 401 }, NULL, FALSE, 0 },
  { "allocate", allocate, { 900, 900, 0 }, { 901, 901, 0 }, "cuMemAlloc", FALSE, 1 },
  { "free", free_memory, { 900, 900, 0 }, { 901, 901, 0 }, "cuMemFree", FALSE, 1 },
  { "copy-synchronously", copy_synchronously, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 1 },
  { "unload-module", unload_module, { 900, 900, 0 }, { 901, 901, 0 }, "cuModuleUnload", FALSE, 1 },
  { "instantiate", instantiate, { 900, 900, 0 }, { 901, 901, 0 }, "cuGraphInstantiate", FALSE, 1 },
  { "launch-graph", launch_graph, { 900, 900, 900 }, { 901, 901, 901 }, "cuGraphLaunch", FALSE, 0 },
  { "upload-graph", upload_graph, { 900, 900, 900 }, { 901, 901, 901 }, "cuGraphUpload", FALSE, 0 },
  { "wait-for-outside-event", wait_for_outside_event, { 905, 905, 905 }, { 901, 901, 901 },
    "cuStreamWaitEvent", FALSE, 0 },
  { "wait-for-other-capture", wait_for_other_capture, { 902, 902, 902 }, { 901, 901, 901 },
    "cuStreamWaitEvent", FALSE, 0 },
  { "launch-into-legacy", launch_into_legacy, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 2 },
  { "synchronise-context-elsewhere", synchronise_context_elsewhere, { 900, 900, 900 }, { 901, 901, 901 },
    "cuCtxSynchronize", TRUE, 0 },
  { "allocate-elsewhere", allocate_elsewhere, { 900, 0, 0 }, { 901, 0, 0 }, "cuMemAlloc", TRUE, 1 },
  { "query-event-elsewhere", query_event_elsewhere, { 900, 0, 0 }, { 901, 0, 0 }, "cuEventQuery", TRUE, 1 },
  { "use-library", use_library, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 1 },
  { "ask-library", ask_library, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 1 },
  { "use-kept", use_kept, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 1 },
};
/* clang-format on */

/* ---- Around them ---- */

static gboolean
another_body (MemraStream *stream, gpointer data G_GNUC_UNUSED, GError **error)
{
  g_autoptr (MemraBuffer) buffer = memra_buffer_new (stream, FIXTURE_BYTES, error);

  return buffer != NULL && memra_buffer_zero (buffer, stream, error);
}

static MemraLayerCapture *
take_another (Break *b)
{
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *kept = memra_capture_layer (b->other, 8, NULL, another_body, b->fixture, &error);

  g_assert_no_error (error);
  return kept;
}

static void
break_prepare (Break *b)
{
  Fixture *fixture = b->fixture;
  const MemraDriverTable *cu = fixture->cu;

  b->stream = memra_stream_get_cuda_stream (fixture->stream);
  b->other = memra_test_stream_new (fixture->context);
  fixture_enter (fixture);
  memra_test_assert_cu (cu->cuEventCreate (&b->event, MCU_EVENT_DEFAULT));
  memra_test_assert_cu (cu->cuEventCreate (&b->outside, MCU_EVENT_DEFAULT));
  memra_test_assert_cu (cu->cuEventRecord (b->outside, b->stream));
  memra_test_assert_cu (cu->cuEventSynchronize (b->outside));
  memra_test_assert_cu (cu->cuMemAlloc (&b->spare, 4096));
  memra_test_assert_cu (cu->cuStreamBeginCapture (b->stream, MCU_CAPTURE_MODE_RELAXED));
  memra_test_assert_cu (cu->cuMemsetD32Async (b->spare, 1, 1, b->stream));
  memra_test_assert_cu (cu->cuStreamEndCapture (b->stream, &b->graph));
  memra_test_assert_cu (cu->cuGraphInstantiateWithFlags (&b->exec, b->graph, 0));
  b->module = fixture_load_raw_module (fixture);
  fixture_leave (fixture);
  if (b->culprit->act == use_kept)
    b->kept = take_another (b);
}

static void
break_clear (Break *b)
{
  const MemraDriverTable *cu = b->fixture->cu;
  CUgraph graph = NULL;

  fixture_enter (b->fixture);
  if (b->other_captured)
    {
      g_assert_cmpint (cu->cuStreamEndCapture (memra_stream_get_cuda_stream (b->other), &graph), ==,
                       MCU_ERROR_STREAM_CAPTURE_INVALIDATED);
      g_assert_null (graph);
    }
  memra_test_assert_cu (cu->cuGraphExecDestroy (b->exec));
  memra_test_assert_cu (cu->cuGraphDestroy (b->graph));
  if (b->body_exec != NULL)
    memra_test_assert_cu (cu->cuGraphExecDestroy (b->body_exec));
  if (b->body_graph != NULL)
    memra_test_assert_cu (cu->cuGraphDestroy (b->body_graph));
  if (b->spare != 0)
    memra_test_assert_cu (cu->cuMemFree (b->spare));
  if (b->module != NULL)
    memra_test_assert_cu (cu->cuModuleUnload (b->module));
  memra_test_assert_cu (cu->cuEventDestroy (b->event));
  memra_test_assert_cu (cu->cuEventDestroy (b->outside));
  fixture_leave (b->fixture);
  memra_test_assert_stream_usable (b->other);
  memra_layer_capture_unref (b->kept);
  memra_stream_unref (b->other);
}

static gboolean
break_body (MemraStream *stream, gpointer data, GError **error)
{
  Break *b = (Break *) data;

  g_assert_true (stream == b->fixture->stream);
  if (!fixture_body (stream, b->fixture, error))
    return FALSE;
  g_assert_cmpint (b->culprit->act (b), ==, b->culprit->answers[b->mode]);
  if (!b->report)
    return TRUE;
  g_set_error (error, test_error_quark (), TEST_ERROR_GAVE_UP, "the body gave up");
  return FALSE;
}

static void
assert_blamed (const Culprit *culprit, const GError *error)
{
  if (culprit->function == NULL || !memra_driver_has_entry (memra_test_driver (), "cuLogsRegisterCallback"))
    return;
  assert_contains (error->message, "broken by");
  assert_contains (error->message, culprit->function);
  if (culprit->elsewhere)
    assert_contains (error->message, "on another thread");
  else
    assert_lacks (error->message, "on another thread");
}

static void
check_outcome (Break *b, MemraLayerCapture *capture, const GError *error)
{
  const Culprit *culprit = b->culprit;
  McuResult end = culprit->ends[b->mode];

  g_assert_cmpuint (b->fixture->calls, ==, 1);
  if (b->report)
    {
      g_assert_null (capture);
      assert_body_error (error, 9, test_error_quark (), TEST_ERROR_GAVE_UP, MCU_SUCCESS);
      assert_contains (error->message, "the body gave up");
      if (end != MCU_SUCCESS)
        {
          g_autofree char *code = g_strdup_printf ("(%d)", end);

          assert_contains (error->message, "capture end: CUDA_ERROR_");
          assert_contains (error->message, code);
        }
      else
        assert_lacks (error->message, "capture end");
    }
  else if (end == MCU_SUCCESS)
    {
      g_assert_no_error (error);
      g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
    }
  else
    {
      g_assert_null (capture);
      assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, end,
                            MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
      assert_blamed (culprit, error);
    }
}

static guint
times_ran (Break *b)
{
  gboolean succeeded = !b->report && b->culprit->ends[b->mode] == MCU_SUCCESS;

  if (b->culprit->act == launch_into_legacy) /* escaped: it ran at once, whatever became of the capture */
    return succeeded ? 2 : 1;
  return succeeded ? b->culprit->ran : 0;
}

typedef struct
{
  guint8 culprit;
  guint8 mode;
  guint8 report;
} Case;

static Case cases[G_N_ELEMENTS (culprits) * 3 * 2];

static void
test_break (gconstpointer data)
{
  const Case *c = (const Case *) data;
  g_auto (Fixture) fixture = { 0 };
  Break b = { &fixture, &culprits[c->culprit], c->mode, c->report };

  fixture_init (&fixture);
  break_prepare (&b);
  memra_capture_options_set_mode (fixture.options, (MemraCaptureMode) c->mode);
  {
    g_autoptr (GError) error = NULL;
    g_autoptr (MemraLayerCapture) capture
        = memra_capture_layer (fixture.stream, 9, fixture.options, break_body, &b, &error);

    check_outcome (&b, capture, error);
    if (b.culprit->act == launch_into_legacy && capture != NULL)
      g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 1); /* escaped: not in the graph */
    if (b.culprit->act == copy_synchronously && capture != NULL)
      g_assert_cmpuint (memra_census_get_n_copies (memra_layer_capture_get_census (capture)), ==, 0);
    if (b.culprit->act == fork_and_join && capture != NULL)
      {
        g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 2);
        g_assert_cmpuint (memra_census_get_n_normal_edges (memra_layer_capture_get_census (capture)), ==, 1);
      }
    fixture_assert_ran (&fixture, times_ran (&b));
  }
  break_clear (&b);
  fixture_assert_good_as_new (&fixture, times_ran (&b));
}

/* ---- Cases that do not fit the table ---- */

static void
test_end_and_begin (gconstpointer mode)
{
  static const Culprit culprit = { "end-and-begin", end_and_begin, { 0, 0, 0 }, { 0, 0, 0 }, NULL, FALSE, 0 };
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  Break b = { &fixture, &culprit, GPOINTER_TO_INT (mode), FALSE };

  fixture_init (&fixture);
  break_prepare (&b);
  memra_capture_options_set_mode (fixture.options, (MemraCaptureMode) b.mode);
  g_assert_null (memra_capture_layer (fixture.stream, 9, fixture.options, break_body, &b, &error));
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "began another");
  break_clear (&b);
  fixture_assert_good_as_new (&fixture, 0);
}

/* Strict: work that escapes to the legacy stream fails loudly, whether the caller's stream is blocking or not. */
typedef struct
{
  Fixture *fixture;
  gboolean report;
  int mode;
} Strict;

static gboolean
strict_body (MemraStream *stream, gpointer data, GError **error)
{
  Strict *strict = (Strict *) data;
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (GError) escape = NULL;

  if (!fixture_body (stream, strict->fixture, error))
    return FALSE;
  legacy = memra_stream_wrap (strict->fixture->context, NULL, &escape);
  g_assert_no_error (escape);
  g_assert_false (fixture_add (strict->fixture, legacy, &escape));
  g_assert_error (escape, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN);
  g_assert_cmpint (memra_driver_error_get_cuda_result (escape), ==, MCU_ERROR_STREAM_CAPTURE_IMPLICIT);
  g_assert_cmpint (fixture_status (strict->fixture, stream), ==, MCU_CAPTURE_STATUS_INVALIDATED);
  if (strict->report)
    g_propagate_error (error, g_steal_pointer (&escape));
  return !strict->report;
}

static void
test_strict (gconstpointer data)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) blocking = NULL;
  g_autoptr (GError) error = NULL;
  gboolean own_is_blocking = GPOINTER_TO_INT (data) & 1;
  Strict strict = { &fixture, (GPOINTER_TO_INT (data) & 2) != 0, GPOINTER_TO_INT (data) >> 2 };

  fixture_init (&fixture);
  blocking = memra_stream_new (fixture.context, MEMRA_STREAM_BLOCKING, &error);
  g_assert_no_error (error);
  memra_capture_options_set_mode (fixture.options, (MemraCaptureMode) strict.mode);
  memra_capture_options_set_strict (fixture.options, TRUE);
  g_assert_null (memra_capture_layer (own_is_blocking ? blocking : fixture.stream, 10, fixture.options, strict_body,
                                      &strict, &error));
  if (strict.report)
    assert_body_error (error, 10, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN,
                       MCU_ERROR_STREAM_CAPTURE_IMPLICIT);
  else
    {
      assert_capture_error (error, 10, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END,
                            MCU_ERROR_STREAM_CAPTURE_INVALIDATED, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
      if (memra_driver_has_entry (memra_test_driver (), "cuLogsRegisterCallback"))
        assert_contains (error->message, "cuLaunchKernel (906)");
    }
  memra_test_assert_stream_usable (blocking);
  fixture_assert_good_as_new (&fixture, 0);
}

/* The blocking stream of a caller who did not ask for strict breaks all the same: that is the driver's rule. */
static void
test_blocking_without_strict (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) blocking = NULL;
  g_autoptr (GError) error = NULL;
  Strict strict = { &fixture, FALSE, MCU_CAPTURE_MODE_RELAXED };

  fixture_init (&fixture);
  blocking = memra_stream_new (fixture.context, MEMRA_STREAM_BLOCKING, &error);
  g_assert_no_error (error);
  g_assert_null (memra_capture_layer (blocking, 11, NULL, strict_body, &strict, &error));
  assert_capture_error (error, 11, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END,
                        MCU_ERROR_STREAM_CAPTURE_INVALIDATED, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  memra_test_assert_stream_usable (blocking);
  fixture_assert_good_as_new (&fixture, 0);
}

/* A module unloaded between two marks: found at the second, which names both and the last kernel. */
typedef struct
{
  Break *b;
  gboolean report;
  gboolean second_mark;
} Marked;

static gboolean
marked_body (MemraStream *stream, gpointer data, GError **error)
{
  Marked *marked = (Marked *) data;
  g_autoptr (GError) breach = NULL;

  if (!memra_stream_mark (stream, "attention", error) || !fixture_body (stream, marked->b->fixture, error))
    return FALSE;
  g_assert_cmpint (unload_module (marked->b), ==, MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (!marked->second_mark)
    return TRUE;
  g_assert_false (memra_stream_mark (stream, "ffn", &breach));
  g_assert_error (breach, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN);
  assert_contains (breach->message, "between 'attention' and 'ffn', after " FIXTURE_KERNEL);
  if (marked->report)
    g_propagate_error (error, g_steal_pointer (&breach));
  return !marked->report;
}

static void
test_marks (gconstpointer data)
{
  static const Culprit culprit = { "marks", unload_module, { 0 }, { 0 }, NULL, FALSE, 0 };
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  Break b = { &fixture, &culprit, MCU_CAPTURE_MODE_THREAD_LOCAL, FALSE };
  Marked marked = { &b, (GPOINTER_TO_INT (data) & 1) != 0, (GPOINTER_TO_INT (data) & 2) != 0 };

  fixture_init (&fixture);
  break_prepare (&b);
  memra_capture_options_set_mode (fixture.options, MEMRA_CAPTURE_MODE_THREAD_LOCAL);
  g_assert_null (memra_capture_layer (fixture.stream, 13, fixture.options, marked_body, &marked, &error));
  if (marked.report)
    assert_body_error (error, 13, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN,
                       MCU_ERROR_STREAM_CAPTURE_INVALIDATED);
  else
    assert_capture_error (error, 13, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END,
                          MCU_ERROR_STREAM_CAPTURE_INVALIDATED, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, marked.second_mark ? "between 'attention' and 'ffn', after " FIXTURE_KERNEL
                                                      : "after 'attention', last node " FIXTURE_KERNEL);
  break_clear (&b);
  fixture_assert_good_as_new (&fixture, 0);
}

/* A broken capture found by the first mark of all. */
static gboolean
first_mark_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  fixture->calls++;
  g_assert_cmpint (fixture->cu->cuStreamQuery (memra_stream_get_cuda_stream (stream)), ==, 900);
  return memra_stream_mark (stream, "attention", error);
}

static void
test_first_mark (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 14, NULL, first_mark_body, &fixture, &error));
  assert_body_error (error, 14, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN,
                     MCU_ERROR_STREAM_CAPTURE_INVALIDATED);
  assert_contains (error->message, "before 'attention'");
  fixture_assert_good_as_new (&fixture, 0);
}

/* A device-to-host copy is recorded, not run: the host reads what was there before, and waiting for it breaks it all.
 */
typedef struct
{
  Fixture *fixture;
  float *host;
  gboolean wait;
} Readback;

static gboolean
readback_body (MemraStream *stream, gpointer data, GError **error)
{
  Readback *readback = (Readback *) data;
  CUstream raw = memra_stream_get_cuda_stream (stream);

  if (!fixture_body (stream, readback->fixture, error))
    return FALSE;
  memra_test_assert_cu (readback->fixture->cu->cuMemcpyDtoHAsync (
      readback->host, memra_buffer_get_address (readback->fixture->dst), FIXTURE_BYTES, raw));
  g_assert_cmpfloat (readback->host[0], ==, -1.0f);
  if (readback->wait)
    g_assert_cmpint (readback->fixture->cu->cuStreamSynchronize (raw), ==, MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return TRUE;
}

static void
test_readback (gconstpointer wait)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree float *host = g_new0 (float, FIXTURE_N);
  Readback readback = { &fixture, host, GPOINTER_TO_INT (wait) };

  fixture_init (&fixture);
  host[0] = -1.0f;
  capture = memra_capture_layer (fixture.stream, 15, NULL, readback_body, &readback, &error);
  if (readback.wait)
    {
      g_assert_null (capture);
      assert_capture_error (error, 15, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END,
                            MCU_ERROR_STREAM_CAPTURE_INVALIDATED, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
      g_assert_cmpfloat (host[0], ==, -1.0f);
    }
  else
    {
      guint64 bytes = 0;
      MemraCensus *census;

      g_assert_no_error (error);
      census = memra_layer_capture_get_census (capture);
      g_assert_cmpfloat (host[0], ==, 3.0f); /* once it has run */
      g_assert_cmpuint (memra_census_get_n_copies (census), ==, 1);
      g_assert_cmpint (memra_census_get_copy (census, 0, &bytes), ==, MEMRA_COPY_DEVICE_TO_HOST);
      g_assert_cmpuint (bytes, ==, FIXTURE_BYTES);
      g_assert_true (memra_layer_capture_close (capture, &error));
    }
  fixture_assert_good_as_new (&fixture, readback.wait ? 0 : 1);
}

/* An event recorded inside a capture tells no time, neither inside nor after its end, until it is recorded anew. */
typedef struct
{
  Fixture *fixture;
  CUevent events[2];
} Elapsed;

static gboolean
elapsed_body (MemraStream *stream, gpointer data, GError **error)
{
  Elapsed *elapsed = (Elapsed *) data;
  const MemraDriverTable *cu = elapsed->fixture->cu;
  CUstream raw = memra_stream_get_cuda_stream (stream);

  memra_test_assert_cu (cu->cuEventRecord (elapsed->events[0], raw));
  if (!fixture_body (stream, elapsed->fixture, error))
    return FALSE;
  memra_test_assert_cu (cu->cuEventRecord (elapsed->events[1], raw));
  return TRUE;
}

static void
test_elapsed (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Elapsed elapsed = { &fixture, { NULL, NULL } };
  CUstream raw;
  float milliseconds = -1.0f;

  fixture_init (&fixture);
  raw = memra_stream_get_cuda_stream (fixture.stream);
  fixture_enter (&fixture);
  for (guint i = 0; i < 2; i++)
    memra_test_assert_cu (fixture.cu->cuEventCreate (&elapsed.events[i], MCU_EVENT_DEFAULT));
  fixture_leave (&fixture);
  capture = memra_capture_layer (fixture.stream, 16, NULL, elapsed_body, &elapsed, &error);
  g_assert_no_error (error); /* recording made no node and did no harm */
  g_assert_cmpuint (memra_census_get_n_nodes (memra_layer_capture_get_census (capture)), ==, 1);

  fixture_enter (&fixture);
  g_assert_cmpint (fixture.cu->cuEventQuery (elapsed.events[1]), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (fixture.cu->cuEventSynchronize (elapsed.events[1]), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (fixture.cu->cuEventElapsedTime (&milliseconds, elapsed.events[0], elapsed.events[1]), ==,
                   MCU_ERROR_INVALID_VALUE);
  g_assert_cmpfloat (milliseconds, ==, -1.0f);
  for (guint i = 0; i < 2; i++)
    memra_test_assert_cu (fixture.cu->cuEventRecord (elapsed.events[i], raw));
  memra_test_assert_cu (fixture.cu->cuEventSynchronize (elapsed.events[1]));
  memra_test_assert_cu (fixture.cu->cuEventElapsedTime (&milliseconds, elapsed.events[0], elapsed.events[1]));
  g_assert_cmpfloat (milliseconds, >=, 0.0f);
  for (guint i = 0; i < 2; i++)
    memra_test_assert_cu (fixture.cu->cuEventDestroy (elapsed.events[i]));
  fixture_leave (&fixture);
  fixture_assert_good_as_new (&fixture, 1);
}

/* Telling who broke it can be switched off, and the stack is there when it is on. */
static gboolean
querying_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  if (!fixture_body (stream, fixture, error))
    return FALSE;
  g_assert_cmpint (fixture->cu->cuStreamQuery (memra_stream_get_cuda_stream (stream)), ==, 900);
  return TRUE;
}

static void
test_diagnose (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) told = NULL;
  g_autoptr (GError) copy = NULL;
  g_autoptr (GError) untold = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 17, NULL, querying_body, &fixture, &told));
  memra_capture_options_set_diagnose (fixture.options, FALSE);
  g_assert_null (memra_capture_layer (fixture.stream, 17, fixture.options, querying_body, &fixture, &untold));
  g_assert_error (untold, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BROKEN);
  assert_lacks (untold->message, "broken by");
  assert_contains (untold->message, FIXTURE_KERNEL); /* how far it got is known all the same */
  g_assert_null (memra_capture_error_get_stack (untold));
  if (memra_driver_has_entry (memra_test_driver (), "cuLogsRegisterCallback"))
    {
      assert_contains (told->message, "broken by cuStreamQuery (900)");
      g_assert_nonnull (memra_capture_error_get_stack (told));
      g_assert_nonnull (memra_capture_error_get_stack (told)[0]);
      copy = g_error_copy (told);
      g_assert_cmpstr (memra_capture_error_get_stack (copy)[0], ==, memra_capture_error_get_stack (told)[0]);
      g_assert_cmpint (memra_capture_error_get_stage (copy), ==, MEMRA_CAPTURE_STAGE_END);
    }
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- All of them ---- */

static void
add_table (void)
{
  Case *c = cases;

  for (guint i = 0; i < G_N_ELEMENTS (culprits); i++)
    for (guint mode = 0; mode < 3; mode++)
      for (guint report = 0; report < 2; report++, c++)
        {
          g_autofree char *path = g_strdup_printf ("/capture/break/%s/%s%s", culprits[i].name, mode_names[mode],
                                                   report ? "/reported" : "/ignored");

          c->culprit = i;
          c->mode = mode;
          c->report = report;
          memra_test_add_data (path, c, test_break);
        }
}

static void
add_tests (void)
{
  add_table ();
  for (int mode = 0; mode < 3; mode++)
    {
      g_autofree char *path = g_strdup_printf ("/capture/break/end-and-begin/%s", mode_names[mode]);

      memra_test_add_data (path, GINT_TO_POINTER (mode), test_end_and_begin);
      for (int how = 0; how < 4; how++)
        {
          g_autofree char *strict
              = g_strdup_printf ("/capture/break/strict/%s/%s/%s", mode_names[mode],
                                 how & 1 ? "blocking" : "non-blocking", how & 2 ? "reported" : "ignored");

          memra_test_add_data (strict, GINT_TO_POINTER (mode * 4 + how), test_strict);
        }
    }
  memra_test_add ("/capture/break/blocking-without-strict", test_blocking_without_strict);
  memra_test_add_data ("/capture/break/marks/last-mark", GINT_TO_POINTER (0), test_marks);
  memra_test_add_data ("/capture/break/marks/between-ignored", GINT_TO_POINTER (2), test_marks);
  memra_test_add_data ("/capture/break/marks/between-reported", GINT_TO_POINTER (3), test_marks);
  memra_test_add ("/capture/break/marks/first", test_first_mark);
  memra_test_add_data ("/capture/break/readback/recorded", GINT_TO_POINTER (FALSE), test_readback);
  memra_test_add_data ("/capture/break/readback/waited-for", GINT_TO_POINTER (TRUE), test_readback);
  memra_test_add ("/capture/break/elapsed-time", test_elapsed);
  memra_test_add ("/capture/break/diagnose", test_diagnose);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
