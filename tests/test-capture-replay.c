/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kept capture: replays, what they check, what is kept alive for them, and how it all ends. */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

/* ---- Replays ---- */

static void
test_replay_counts (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  for (guint i = 1; i <= 3; i++)
    {
      g_assert_true (memra_layer_capture_replay (capture, &error));
      g_assert_no_error (error);
      fixture_assert_ran (&fixture, 1 + i);
      g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, i);
    }
  g_assert_true (memra_layer_capture_launch (capture, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 5);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 4);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
  g_assert_cmpuint (fixture.calls, ==, 1); /* the body is never called again */
  fixture_assert_good_as_new (&fixture, 5);
}

/* Launches of one capture follow one another without being waited for in between. */
static void
test_replay_back_to_back (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  for (guint i = 0; i < 100; i++)
    {
      g_assert_true (i & 1 ? memra_layer_capture_replay (capture, &error)
                           : memra_layer_capture_launch (capture, &error));
      g_assert_no_error (error);
    }
  fixture_assert_ran (&fixture, 101);
}

static void
test_record_only (gconstpointer by_options)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  memra_capture_options_set_record_only (fixture.options, TRUE);
  capture = GPOINTER_TO_INT (by_options)
                ? memra_capture_layer (fixture.stream, 0, fixture.options, fixture_body, &fixture, &error)
                : memra_capture_layer_record (fixture.stream, 0, NULL, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (fixture.calls, ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 0);
  fixture_assert_ran (&fixture, 0);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 1);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 0);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 1);
  fixture_assert_good_as_new (&fixture, 1);
}

typedef struct
{
  Fixture *fixture;
  MemraBuffer *position;
} Stateful;

static gboolean
stateful_body (MemraStream *stream, gpointer data, GError **error)
{
  Stateful *stateful = (Stateful *) data;

  return fixture_body (stream, stateful->fixture, error)
         && memra_dsv4_advance (stateful->fixture->dsv4, stream, stateful->position, error);
}

static guint32
read_position (Stateful *stateful)
{
  g_autoptr (GError) error = NULL;
  guint32 value = G_MAXUINT32;

  g_assert_true (
      memra_buffer_copy_to_host (stateful->position, 0, &value, sizeof value, stateful->fixture->stream, &error));
  g_assert_no_error (error);
  return value;
}

static void
test_stateful (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) position = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Stateful stateful = { &fixture, NULL };
  guint32 start = 40;

  fixture_init (&fixture);
  stateful.position = position = memra_buffer_new_from_host (fixture.stream, &start, sizeof start, &error);
  g_assert_no_error (error);
  capture = memra_capture_layer (fixture.stream, 0, NULL, stateful_body, &stateful, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (read_position (&stateful), ==, 41);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_true (memra_layer_capture_replay (capture, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpuint (read_position (&stateful), ==, 44);
  fixture_assert_ran (&fixture, 4);
}

typedef struct
{
  Fixture *fixture;
  gint runs; /* atomic */
} Counted;

static void
count_run (void *data)
{
  g_atomic_int_inc (&((Counted *) data)->runs);
}

static gboolean
host_function_body (MemraStream *stream, gpointer data, GError **error)
{
  Counted *counted = (Counted *) data;

  memra_test_assert_cu (
      counted->fixture->cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), count_run, counted));
  g_assert_cmpint (g_atomic_int_get (&counted->runs), ==, 0);
  return fixture_body (stream, counted->fixture, error);
}

static void
test_host_function (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Counted counted = { &fixture, 0 };

  fixture_init (&fixture);
  capture = memra_capture_layer (fixture.stream, 0, NULL, host_function_body, &counted, &error);
  g_assert_no_error (error);
  g_assert_cmpint (counted.runs, ==, 1);
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (capture), "host"), ==, 1);
  for (int i = 0; i < 3; i++)
    {
      g_assert_true (memra_layer_capture_replay (capture, &error));
      g_assert_no_error (error);
      g_assert_true (memra_stream_synchronize (fixture.stream, &error));
      g_assert_cmpint (counted.runs, ==, 2 + i);
    }
  fixture_assert_ran (&fixture, 4);
}

/* The caller may forget everything but the capture. */
static void
test_stream_unreffed (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraStream) reader = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  reader = memra_test_stream_new (fixture.context);
  capture = fixture_capture (&fixture, 0);
  memra_stream_unref (g_steal_pointer (&fixture.stream));
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_stream_synchronize (memra_layer_capture_get_stream (capture), &error));
  memra_test_assert_floats (fixture.dst, reader, 5.0f, FIXTURE_N);
}

/* Buffers, kernels and their module, taken away by the caller, are still there for replays; not one moment longer. */
static void
test_kept_alive (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();
  guint64 allocations = 0, modules = 0;
  CUdeviceptr address;
  float value = 0.0f;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  if (control != NULL)
    {
      allocations = control->count_objects ("allocation");
      modules = control->count_objects ("module");
    }
  address = memra_buffer_get_address (fixture.dst);
  memra_buffer_unref (g_steal_pointer (&fixture.dst));
  memra_buffer_unref (g_steal_pointer (&fixture.src));
  memra_dsv4_unref (g_steal_pointer (&fixture.dsv4));
  if (control != NULL)
    {
      g_assert_cmpuint (control->count_objects ("allocation"), ==, allocations);
      g_assert_cmpuint (control->count_objects ("module"), ==, modules);
    }
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_stream_synchronize (fixture.stream, &error));
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuMemcpyDtoH (&value, address, sizeof value));
  fixture_leave (&fixture);
  g_assert_cmpfloat (value, ==, 5.0f);

  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  if (control != NULL)
    {
      g_assert_cmpuint (control->count_objects ("allocation"), ==, allocations - 2);
      g_assert_cmpuint (control->count_objects ("module"), ==, modules - 1);
    }
}

/* ---- Refused replays ---- */

static void
test_replay_closed (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 21);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);

  g_assert_false (memra_layer_capture_replay (capture, &error));
  assert_capture_error (error, 21, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_REPLAY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  g_assert_false (memra_layer_capture_launch (capture, &error));
  assert_capture_error (error, 21, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_REPLAY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  g_assert_false (memra_layer_capture_check (capture, &error));
  assert_capture_error (error, 21, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_REPLAY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_null (memra_layer_capture_get_cuda_graph (capture));
  g_assert_null (memra_layer_capture_get_cuda_graph_exec (capture));
  g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 1); /* the census stays */
  fixture_assert_good_as_new (&fixture, 1);
}

static void
test_replay_into_capture (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  CUstream raw;
  CUgraph graph = NULL;
  gsize n_nodes = G_MAXSIZE;

  fixture_init (&fixture);
  raw = memra_stream_get_cuda_stream (fixture.stream);
  capture = fixture_capture (&fixture, 22);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_GLOBAL));
  fixture_leave (&fixture);
  g_assert_false (memra_layer_capture_replay (capture, &error));
  assert_capture_error (error, 22, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_REPLAY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 0);

  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamEndCapture (raw, &graph)); /* unharmed */
  memra_test_assert_cu (fixture.cu->cuGraphGetNodes (graph, NULL, &n_nodes));
  g_assert_cmpuint (n_nodes, ==, 0);
  memra_test_assert_cu (fixture.cu->cuGraphDestroy (graph));
  fixture_leave (&fixture);
  fixture_assert_ran (&fixture, 1);
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 2);
}

/* The bare launch asks nothing, and breaks the capture; it still does not run. */
static void
test_launch_into_capture (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  CUstream raw;
  CUgraph graph = NULL;

  fixture_init (&fixture);
  raw = memra_stream_get_cuda_stream (fixture.stream);
  capture = fixture_capture (&fixture, 22);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_GLOBAL));
  fixture_leave (&fixture);
  g_assert_false (memra_layer_capture_launch (capture, &error));
  assert_capture_error (error, 22, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_REPLAY,
                        MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 0);
  fixture_enter (&fixture);
  g_assert_cmpint (fixture.cu->cuStreamEndCapture (raw, &graph), ==, MCU_ERROR_STREAM_CAPTURE_INVALIDATED);
  fixture_leave (&fixture);
  fixture_assert_good_as_new (&fixture, 1);
}

/* ---- Stale allocations ---- */

typedef struct
{
  Fixture *fixture;
  CUdeviceptr dst, src;
} Raw;

static gboolean
raw_body (MemraStream *stream, gpointer data, GError **error)
{
  Raw *raw = (Raw *) data;

  return fixture_add_raw (raw->fixture, stream, raw->dst, raw->src, error);
}

static void
raw_allocate (Raw *raw)
{
  const MemraDriverTable *cu = raw->fixture->cu;
  CUstream stream = memra_stream_get_cuda_stream (raw->fixture->stream);

  fixture_enter (raw->fixture);
  memra_test_assert_cu (cu->cuMemAlloc (&raw->dst, FIXTURE_BYTES));
  memra_test_assert_cu (cu->cuMemAlloc (&raw->src, FIXTURE_BYTES));
  memra_test_assert_cu (cu->cuMemsetD8Async (raw->dst, 0, FIXTURE_BYTES, stream));
  memra_test_assert_cu (cu->cuMemsetD8Async (raw->src, 0, FIXTURE_BYTES, stream));
  memra_test_assert_cu (cu->cuStreamSynchronize (stream));
  fixture_leave (raw->fixture);
}

static void
raw_free (Raw *raw)
{
  fixture_enter (raw->fixture);
  memra_test_assert_cu (raw->fixture->cu->cuMemFree (raw->dst));
  memra_test_assert_cu (raw->fixture->cu->cuMemFree (raw->src));
  fixture_leave (raw->fixture);
}

static void
assert_stale (MemraLayerCapture *capture, const char *argument)
{
  g_autoptr (GError) checked = NULL;
  g_autoptr (GError) replayed = NULL;

  g_assert_false (memra_layer_capture_check (capture, &checked));
  assert_capture_error (checked, 23, MEMRA_CAPTURE_ERROR_STALE, MEMRA_CAPTURE_STAGE_REPLAY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_false (memra_layer_capture_replay (capture, &replayed));
  assert_capture_error (replayed, 23, MEMRA_CAPTURE_ERROR_STALE, MEMRA_CAPTURE_STAGE_REPLAY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (replayed->message, FIXTURE_KERNEL);
  assert_contains (replayed->message, argument);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 0);
}

/* Freed, and nothing in its place. */
static void
test_stale_freed (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Raw raw = { &fixture, 0, 0 };

  fixture_init (&fixture);
  raw_allocate (&raw);
  capture = memra_capture_layer (fixture.stream, 23, NULL, raw_body, &raw, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_check (capture, &error));
  g_assert_no_error (error);
  raw_free (&raw);
  assert_stale (capture, "argument 0");
  fixture_assert_good_as_new (&fixture, 0);
}

/* Freed, and another allocation of the same size at the same address: only its identity gives it away. */
static void
test_stale_replaced (gconstpointer which)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Raw raw = { &fixture, 0, 0 };
  CUdeviceptr *freed = GPOINTER_TO_INT (which) == 0 ? &raw.dst : &raw.src;
  CUdeviceptr address = 0;

  fixture_init (&fixture);
  raw_allocate (&raw);
  capture = memra_capture_layer (fixture.stream, 23, NULL, raw_body, &raw, &error);
  g_assert_no_error (error);

  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuMemFree (*freed));
  memra_test_assert_cu (fixture.cu->cuMemAlloc (&address, FIXTURE_BYTES));
  fixture_leave (&fixture);
  if (memra_test_on_gpu ())
    g_test_message ("the new allocation is at %s address", address == *freed ? "the same" : "another");
  else
    g_assert_cmphex (address, ==, *freed);
  assert_stale (capture, GPOINTER_TO_INT (which) == 0 ? "argument 0" : "argument 1");
  *freed = address;
  raw_free (&raw);
  fixture_assert_good_as_new (&fixture, 0);
}

/* The bare launch is what it says: no check. It goes to memory that is there, so nothing is harmed. */
static void
test_launch_does_not_check (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Raw raw = { &fixture, 0, 0 };
  CUdeviceptr address = 0;

  fixture_init (&fixture);
  raw_allocate (&raw);
  capture = memra_capture_layer (fixture.stream, 23, NULL, raw_body, &raw, &error);
  g_assert_no_error (error);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuMemFree (raw.src));
  memra_test_assert_cu (fixture.cu->cuMemAlloc (&address, FIXTURE_BYTES));
  fixture_leave (&fixture);
  if (address == raw.src)
    {
      g_assert_true (memra_layer_capture_launch (capture, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 1);
      g_assert_true (memra_stream_synchronize (fixture.stream, &error));
    }
  else
    g_test_skip ("the driver did not hand out the same address again");
  raw.src = address;
  raw_free (&raw);
}

/* Allocations that the graph does not point at may come and go. */
static void
test_not_stale (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Raw raw = { &fixture, 0, 0 };

  fixture_init (&fixture);
  raw_allocate (&raw);
  capture = fixture_capture (&fixture, 23);
  raw_free (&raw);
  g_assert_true (memra_layer_capture_check (capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 2);
}

/* ---- The end ---- */

typedef struct
{
  gint destroyed; /* atomic */
  Gate *gate;     /* nullable: must have been passed before */
  guint passed;   /* of the gate, when destroyed */
  MemraLayerCapture *capture;
  gboolean closed_first; /* the graph was gone already */
} Kept;

static void
kept_destroy (gpointer data)
{
  Kept *kept = (Kept *) data;

  if (kept->gate != NULL)
    kept->passed = kept->gate->passed;
  if (kept->capture != NULL)
    kept->closed_first = memra_layer_capture_get_cuda_graph (kept->capture) == NULL
                         && memra_layer_capture_get_cuda_graph_exec (kept->capture) == NULL;
  g_atomic_int_inc (&kept->destroyed);
}

static void
test_retain (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Kept first = { 0 }, second = { 0 };

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  first.capture = second.capture = capture;
  memra_layer_capture_retain (capture, &first, kept_destroy);
  memra_layer_capture_retain (capture, &second, kept_destroy);
  memra_layer_capture_retain (capture, &second, NULL); /* nothing to be called */
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  g_assert_cmpint (first.destroyed + second.destroyed, ==, 0);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  g_assert_cmpint (first.destroyed, ==, 1);
  g_assert_cmpint (second.destroyed, ==, 1);
  g_assert_true (first.closed_first);
  g_assert_true (memra_layer_capture_close (capture, &error)); /* twice is all right */
  g_assert_no_error (error);
  g_clear_pointer (&capture, memra_layer_capture_unref);
  g_assert_cmpint (first.destroyed, ==, 1);
  g_assert_cmpint (second.destroyed, ==, 1);
}

static void
test_retain_unref (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *capture;
  Kept kept = { 0 };

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  memra_layer_capture_retain (capture, &kept, kept_destroy);
  g_assert_true (memra_layer_capture_ref (capture) == capture);
  memra_layer_capture_unref (capture);
  g_assert_cmpint (kept.destroyed, ==, 0);
  memra_layer_capture_unref (capture);
  g_assert_cmpint (kept.destroyed, ==, 1);
  fixture_assert_good_as_new (&fixture, 1);
}

/* The caller's function may leave another context current; the thread of whoever closes is as it was all the same. */
static void
unset_context (gpointer data G_GNUC_UNUSED)
{
  memra_test_assert_cu (memra_test_cu ()->cuCtxSetCurrent (NULL));
}

static void
test_retain_messy (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  CUcontext popped;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  memra_layer_capture_retain (capture, &fixture, unset_context);
  fixture_enter (&fixture);
  fixture.current = memra_context_get_cuda_context (fixture.context);
  g_assert_true (memra_layer_capture_close (capture, NULL));
  fixture_assert_thread (&fixture);
  memra_test_assert_cu (fixture.cu->cuCtxPopCurrent (&popped));
  memra_test_assert_cu (fixture.cu->cuCtxGetCurrent (&fixture.current));
  fixture_assert_good_as_new (&fixture, 1);
}

typedef struct
{
  Fixture *fixture;
  Gate *gate;
  gint *flag; /* atomic: what must not happen before the gate has opened */
  gboolean skip_first;
} Gated;

static void
gated_stand (void *data)
{
  Gated *gated = (Gated *) data;

  if (gated->skip_first) /* the execution by the capture itself */
    gated->skip_first = FALSE;
  else
    gate_stand (gated->gate);
}

static gboolean
gated_body (MemraStream *stream, gpointer data, GError **error)
{
  Gated *gated = (Gated *) data;

  memra_test_assert_cu (
      gated->fixture->cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), gated_stand, gated));
  return fixture_body (stream, gated->fixture, error);
}

static gpointer
open_gate_later (gpointer data)
{
  Gated *gated = (Gated *) data;

  gate_await_entered (gated->gate);
  fixture_linger (gated->flag);
  gate_open (gated->gate);
  return NULL;
}

/* What was handed over is let go only when the last launch is complete. */
static void
test_retain_waits (gconstpointer by_unref)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *capture;
  g_autoptr (GError) error = NULL;
  Gate gate;
  Kept kept = { 0, &gate, 0, NULL, FALSE };
  Gated gated = { &fixture, &gate, &kept.destroyed, TRUE };
  GThread *opener;

  fixture_init (&fixture);
  gate_init (&gate);
  capture = memra_capture_layer (fixture.stream, 0, NULL, gated_body, &gated, &error);
  g_assert_no_error (error);
  memra_layer_capture_retain (capture, &kept, kept_destroy);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  opener = g_thread_new ("opener", open_gate_later, &gated);
  if (GPOINTER_TO_INT (by_unref))
    memra_layer_capture_unref (capture);
  else
    {
      g_assert_true (memra_layer_capture_close (capture, &error));
      g_assert_no_error (error);
      memra_layer_capture_unref (capture);
    }
  g_thread_join (opener);
  g_assert_cmpint (kept.destroyed, ==, 1);
  g_assert_cmpuint (kept.passed, ==, 1);
  gate_clear (&gate);
  fixture_assert_good_as_new (&fixture, 2);
}

static gpointer
unref_capture (gpointer capture)
{
  memra_layer_capture_unref ((MemraLayerCapture *) capture);
  return NULL;
}

static void
test_unref_elsewhere (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *capture;
  Kept kept = { 0 };

  fixture_init (&fixture);
  memra_capture_options_set_mode (fixture.options, MEMRA_CAPTURE_MODE_THREAD_LOCAL);
  capture = fixture_capture (&fixture, 0);
  memra_layer_capture_retain (capture, &kept, kept_destroy);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  g_thread_join (g_thread_new ("unref", unref_capture, capture));
  g_assert_cmpint (kept.destroyed, ==, 1);
  fixture_assert_good_as_new (&fixture, 2);
}

/* Dropped before its stream's last reference, and after it. */
static void
test_unref_order (gconstpointer capture_last)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *capture;
  const MemraHostControl *control = memra_test_host_control ();
  guint64 streams = 0;

  fixture_init (&fixture);
  if (control != NULL)
    streams = control->count_objects ("stream");
  capture = fixture_capture (&fixture, 0);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  if (GPOINTER_TO_INT (capture_last))
    {
      memra_stream_unref (g_steal_pointer (&fixture.stream));
      if (control != NULL)
        g_assert_cmpuint (control->count_objects ("stream"), ==, streams);
      memra_layer_capture_unref (capture);
    }
  else
    {
      memra_layer_capture_unref (capture);
      memra_stream_unref (g_steal_pointer (&fixture.stream));
    }
  if (control != NULL)
    g_assert_cmpuint (control->count_objects ("stream"), ==, streams - 1);
}

/* While its stream is being captured by somebody, completion cannot be proven; nothing is released, and it can be tried
 * again. */
static void
test_close_busy (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  CUstream raw;
  CUgraph graph = NULL;
  Kept kept = { 0 };

  fixture_init (&fixture);
  raw = memra_stream_get_cuda_stream (fixture.stream);
  capture = fixture_capture (&fixture, 24);
  memra_layer_capture_retain (capture, &kept, kept_destroy);
  g_assert_true (memra_layer_capture_replay (capture, NULL));
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_GLOBAL));
  fixture_leave (&fixture);

  g_assert_false (memra_layer_capture_close (capture, &error));
  assert_capture_error (error, 24, MEMRA_CAPTURE_ERROR_BUSY, MEMRA_CAPTURE_STAGE_CLOSE, MCU_SUCCESS,
                        MEMRA_EXECUTION_UNKNOWN, TRUE);
  g_assert_cmpint (kept.destroyed, ==, 0);
  g_assert_nonnull (memra_layer_capture_get_cuda_graph_exec (capture));
  g_assert_cmpint (fixture_status (&fixture, fixture.stream), ==, MCU_CAPTURE_STATUS_ACTIVE);

  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamEndCapture (raw, &graph));
  memra_test_assert_cu (fixture.cu->cuGraphDestroy (graph));
  fixture_leave (&fixture);
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_no_error (error);
  g_assert_cmpint (kept.destroyed, ==, 1);
  fixture_assert_good_as_new (&fixture, 2);
}

/* Closing while another stream is captured by somebody else does no harm, whatever the mode. */
static void
test_close_beside_capture (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) other = NULL;
  g_autoptr (GError) error = NULL;
  CUgraph graph = NULL;
  CUstream raw;

  fixture_init (&fixture);
  other = memra_test_stream_new (fixture.context);
  raw = memra_stream_get_cuda_stream (other);
  for (int mode = 0; mode < 3; mode++)
    {
      g_autoptr (MemraLayerCapture) capture = NULL;

      fixture_enter (&fixture);
      memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (raw, mode));
      fixture_leave (&fixture);
      capture = fixture_capture (&fixture, 25); /* a whole main job beside it */
      g_assert_true (memra_layer_capture_replay (capture, &error));
      g_assert_no_error (error);
      g_assert_true (memra_layer_capture_close (capture, &error));
      g_assert_no_error (error);
      g_assert_cmpint (fixture_status (&fixture, other), ==, MCU_CAPTURE_STATUS_ACTIVE);
      fixture_enter (&fixture);
      memra_test_assert_cu (fixture.cu->cuStreamEndCapture (raw, &graph));
      memra_test_assert_cu (fixture.cu->cuGraphDestroy (graph));
      fixture_leave (&fixture);
    }
  fixture_assert_good_as_new (&fixture, 6);
}

/* Nothing is left of captures that are gone. */
static void
test_no_leftovers (void)
{
  static const char *const kinds[]
      = { "graph", "exec", "capture", "stream", "event", "allocation", "module", "user-object" };
  g_auto (Fixture) fixture = { 0 };
  const MemraHostControl *control = memra_test_host_control ();
  guint64 before[G_N_ELEMENTS (kinds)];

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  memra_layer_capture_unref (fixture_capture (&fixture, 0));
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    before[i] = control->count_objects (kinds[i]);
  for (guint strict = 0; strict < 2; strict++)
    {
      g_autoptr (MemraLayerCapture) capture = NULL;

      memra_capture_options_set_strict (fixture.options, strict);
      capture = fixture_capture (&fixture, 0);
      g_assert_true (memra_layer_capture_replay (capture, NULL));
      g_clear_pointer (&capture, memra_layer_capture_unref);
      g_assert_null (memra_capture_layer (fixture.stream, 0, NULL, fixture_empty_body, &fixture, NULL));
      for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
        {
          g_test_message ("%s", kinds[i]);
          g_assert_cmpuint (control->count_objects (kinds[i]), ==, before[i]);
        }
    }
}

static void
add_tests (void)
{
  memra_test_add ("/replay/counts", test_replay_counts);
  memra_test_add ("/replay/back-to-back", test_replay_back_to_back);
  memra_test_add_data ("/replay/record-only/by-function", GINT_TO_POINTER (0), test_record_only);
  memra_test_add_data ("/replay/record-only/by-options", GINT_TO_POINTER (1), test_record_only);
  memra_test_add ("/replay/stateful", test_stateful);
  memra_test_add ("/replay/host-function", test_host_function);
  memra_test_add ("/replay/stream-unreffed", test_stream_unreffed);
  memra_test_add ("/replay/kept-alive", test_kept_alive);
  memra_test_add ("/replay/closed", test_replay_closed);
  memra_test_add ("/replay/into-a-capture", test_replay_into_capture);
  memra_test_add ("/replay/launch-into-capture", test_launch_into_capture);
  memra_test_add ("/replay/stale/freed", test_stale_freed);
  memra_test_add_data ("/replay/stale/replaced-first", GINT_TO_POINTER (0), test_stale_replaced);
  memra_test_add_data ("/replay/stale/replaced-second", GINT_TO_POINTER (1), test_stale_replaced);
  memra_test_add ("/replay/stale/launch-does-not-check", test_launch_does_not_check);
  memra_test_add ("/replay/stale/others-may-go", test_not_stale);
  memra_test_add ("/close/retain", test_retain);
  memra_test_add ("/close/retain-unref", test_retain_unref);
  memra_test_add ("/close/retain-messy", test_retain_messy);
  memra_test_add_data ("/close/retain-waits/close", GINT_TO_POINTER (0), test_retain_waits);
  memra_test_add_data ("/close/retain-waits/unref", GINT_TO_POINTER (1), test_retain_waits);
  memra_test_add ("/close/unref-elsewhere", test_unref_elsewhere);
  memra_test_add_data ("/close/unref-order/stream-last", GINT_TO_POINTER (0), test_unref_order);
  memra_test_add_data ("/close/unref-order/capture-last", GINT_TO_POINTER (1), test_unref_order);
  memra_test_add ("/close/busy", test_close_busy);
  memra_test_add ("/close/beside-a-capture", test_close_beside_capture);
  memra_test_add ("/close/no-leftovers", test_no_leftovers);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
