/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Host functions: called as often as the graph runs, and their data freed once, when nothing can call them any more. */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

/* What a host function is given. Counters are atomic: the driver calls on threads of its own. */
typedef struct
{
  gint calls;
  gint destroyed;
  gint calls_when_destroyed;
} Data;

typedef struct
{
  Fixture fixture;
  Data data;
  Data other;
  guint times;                /* how often a body enqueues a function with `data` */
  MemraStream *fork;          /* nullable: where */
  gboolean with_other;        /* in the place of `data` */
  gboolean give_up;           /* the body fails in the end */
  gboolean breaks;            /* ... or breaks the capture first */
  MemraLayerCapture *capture; /* borrowed, nullable: asked by destroy_and_ask() */
  guint64 replays;
} Bench;

static void
bench_init (Bench *bench)
{
  memset (bench, 0, sizeof *bench);
  fixture_init (&bench->fixture);
  bench->times = 1;
}

static void
bench_clear (Bench *bench)
{
  g_clear_pointer (&bench->fork, memra_stream_unref);
  fixture_clear (&bench->fixture);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

static void
call (gpointer data)
{
  g_atomic_int_inc (&((Data *) data)->calls);
}

static void
destroy (gpointer user_data)
{
  Data *data = user_data;

  g_atomic_int_set (&data->calls_when_destroyed, g_atomic_int_get (&data->calls));
  g_atomic_int_inc (&data->destroyed);
}

static void
assert_data (Data *data, gint calls, gint destroyed)
{
  g_assert_cmpint (g_atomic_int_get (&data->calls), ==, calls);
  g_assert_cmpint (g_atomic_int_get (&data->destroyed), ==, destroyed);
}

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Bench *bench = user_data;
  MemraStream *where = bench->fork != NULL ? bench->fork : stream;
  gboolean ok = bench->fork == NULL || memra_stream_wait (bench->fork, stream, error);

  if (ok && bench->breaks)
    g_assert_cmpint (bench->fixture.cu->cuStreamSynchronize (memra_stream_get_cuda_stream (stream)), ==, 900);
  for (guint i = 0; ok && i < bench->times; i++)
    ok = memra_stream_host_func (where, call, bench->with_other ? &bench->other : &bench->data, destroy, error);
  ok = ok && (bench->fork == NULL || memra_stream_wait (stream, bench->fork, error));
  ok = ok && fixture_add (&bench->fixture, stream, error);
  if (ok && bench->give_up)
    {
      g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_IO, "the weights are gone");
      return FALSE;
    }
  return ok;
}

static void
replay (Bench *bench, MemraLayerCapture *capture, guint times)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < times; i++)
    {
      memra_layer_capture_replay (capture, &error);
      g_assert_no_error (error);
    }
  memra_stream_synchronize (bench->fixture.stream, &error);
  g_assert_no_error (error);
}

static MemraLayerCapture *
record (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *capture = memra_capture_layer_record (bench->fixture.stream, 4, NULL, body, bench, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (capture), "host"), ==, bench->times);
  return capture;
}

static void
test_replays (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *capture;

  bench_init (&bench);
  capture = record (&bench);
  assert_data (&bench.data, 0, 0);
  replay (&bench, capture, 3);
  assert_data (&bench.data, 3, 0);
  memra_layer_capture_close (capture, &error);
  g_assert_no_error (error);
  assert_data (&bench.data, 3, 1);
  memra_layer_capture_unref (capture);
  assert_data (&bench.data, 3, 1);
  fixture_assert_thread (&bench.fixture);
}

/* Once by the capture itself; and closed by the last reference. */
static void
test_executed (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *capture;

  bench_init (&bench);
  capture = memra_capture_layer (bench.fixture.stream, 4, NULL, body, &bench, &error);
  g_assert_no_error (error);
  assert_data (&bench.data, 1, 0);
  replay (&bench, capture, 2);
  memra_layer_capture_unref (capture);
  assert_data (&bench.data, 3, 1);
}

/* Data that is given twice is freed twice: it may have a reference for each. */
static void
test_same_data (void)
{
  g_auto (Bench) bench = { 0 };
  MemraLayerCapture *capture;

  bench_init (&bench);
  bench.times = 2;
  capture = record (&bench);
  replay (&bench, capture, 1);
  assert_data (&bench.data, 2, 0);
  memra_layer_capture_unref (capture);
  assert_data (&bench.data, 2, 2);
}

static void
test_fork (void)
{
  g_auto (Bench) bench = { 0 };
  MemraLayerCapture *capture;

  bench_init (&bench);
  bench.fork = memra_test_stream_new (bench.fixture.context);
  capture = record (&bench);
  replay (&bench, capture, 2);
  assert_data (&bench.data, 2, 0);
  memra_layer_capture_unref (capture);
  assert_data (&bench.data, 2, 1);
}

static void
test_aborted (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (GError) error = NULL;
  MemraCaptureScope *scope;

  bench_init (&bench);
  scope = memra_capture_scope_begin (bench.fixture.stream, 4, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_host_func (memra_capture_scope_get_stream (scope), call, &bench.data, destroy, &error));
  assert_data (&bench.data, 0, 0);
  memra_capture_scope_abort (scope);
  assert_data (&bench.data, 0, 1);
  fixture_assert_good_as_new (&bench.fixture, 0);
}

static void
test_failing_body (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  bench.give_up = TRUE;
  g_assert_null (memra_capture_layer (bench.fixture.stream, 4, NULL, body, &bench, &error));
  assert_body_error (error, 4, G_FILE_ERROR, G_FILE_ERROR_IO, 0);
  assert_data (&bench.data, 0, 1);
  fixture_assert_good_as_new (&bench.fixture, 0);
}

/* Into a capture that is broken already nothing can be recorded; the data is freed all the same. */
static void
test_broken (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  bench.breaks = TRUE;
  g_assert_null (memra_capture_layer (bench.fixture.stream, 4, NULL, body, &bench, &error));
  assert_body_error (error, 4, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN, 901);
  assert_contains (error->message, "Could not enqueue a host function");
  assert_data (&bench.data, 0, 1);
  fixture_assert_good_as_new (&bench.fixture, 0);
}

/* The graph is made, and cannot be launched. */
static void
test_failing_launch (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  static const char *const entries[]
      = { "cuStreamEndCapture", "cuGraphGetNodes", "cuGraphInstantiateWithParams", "cuGraphUpload", "cuGraphLaunch" };

  if (!memra_test_need_host ())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      g_auto (Bench) bench = { 0 };
      g_autoptr (GError) error = NULL;

      bench_init (&bench);
      g_assert_cmpint (control->inject_fault (entries[i], 1, 999), ==, 0);
      g_assert_null (memra_capture_layer (bench.fixture.stream, 4, NULL, body, &bench, &error));
      g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_FAILED);
      control->clear_faults ();
      assert_data (&bench.data, 0, 1);
      fixture_assert_good_as_new (&bench.fixture, 0);
    }
}

/* The call itself fails: every driver call that it makes, in turn. */
static void
test_failing_call (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  static const char *const entries[] = { "cuCtxGetCurrent", "cuStreamGetCaptureInfo", "cuLaunchHostFunc" };

  if (!memra_test_need_host ())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      g_auto (Bench) bench = { 0 };
      g_autoptr (GError) error = NULL;

      bench_init (&bench);
      g_assert_cmpint (control->inject_fault (entries[i], 1, 999), ==, 0);
      g_assert_false (memra_stream_host_func (bench.fixture.stream, call, &bench.data, destroy, &error));
      g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
      g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, 999);
      control->clear_faults ();
      assert_data (&bench.data, 0, 1);
      g_clear_error (&error);
      g_assert_cmpint (control->inject_fault (entries[i], 1, 999), ==, 0);
      g_assert_false (memra_stream_host_func (bench.fixture.stream, call, &bench.data, NULL, &error));
      control->clear_faults ();
      assert_data (&bench.data, 0, 1);
      fixture_assert_thread (&bench.fixture);
    }
}

/* Under capture too; the capture is not to blame, and goes on. */
static void
test_failing_call_captured (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  g_assert_cmpint (control->inject_fault ("cuLaunchHostFunc", 1, 2), ==, 0);
  g_assert_null (memra_capture_layer (bench.fixture.stream, 4, NULL, body, &bench, &error));
  assert_body_error (error, 4, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY, 2);
  control->clear_faults ();
  assert_data (&bench.data, 0, 1);
  fixture_assert_good_as_new (&bench.fixture, 0);
}

static void
test_eager (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  for (guint i = 1; i <= 3; i++)
    {
      g_assert_true (memra_stream_host_func (bench.fixture.stream, call, &bench.data, destroy, &error));
      memra_stream_synchronize (bench.fixture.stream, &error);
      g_assert_no_error (error);
      assert_data (&bench.data, i, i);
      g_assert_cmpint (bench.data.calls_when_destroyed, ==, i);
    }
  g_assert_true (memra_stream_host_func (bench.fixture.stream, call, &bench.data, NULL, &error));
  memra_stream_synchronize (bench.fixture.stream, &error);
  assert_data (&bench.data, 4, 3);

  legacy = memra_stream_wrap (bench.fixture.context, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_host_func (legacy, call, &bench.data, destroy, &error));
  memra_stream_synchronize (legacy, &error);
  g_assert_no_error (error);
  assert_data (&bench.data, 5, 4);
  fixture_assert_thread (&bench.fixture);
}

/* A capture that somebody else begins and ends: the graph keeps the data. */
static void
test_foreign (void)
{
  g_auto (Bench) bench = { 0 };
  const MemraDriverTable *cu;
  g_autoptr (GError) error = NULL;
  CUstream raw;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;

  bench_init (&bench);
  cu = bench.fixture.cu;
  raw = memra_stream_get_cuda_stream (bench.fixture.stream);
  fixture_enter (&bench.fixture);
  memra_test_assert_cu (cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_RELAXED));
  g_assert_true (memra_stream_host_func (bench.fixture.stream, call, &bench.data, destroy, &error));
  g_assert_no_error (error);
  memra_test_assert_cu (cu->cuStreamEndCapture (raw, &graph));
  memra_test_assert_cu (cu->cuGraphInstantiateWithFlags (&exec, graph, 0));
  memra_test_assert_cu (cu->cuGraphDestroy (graph));
  assert_data (&bench.data, 0, 0);
  for (guint i = 0; i < 2; i++)
    memra_test_assert_cu (cu->cuGraphLaunch (exec, raw));
  memra_test_assert_cu (cu->cuStreamSynchronize (raw));
  assert_data (&bench.data, 2, 0);
  memra_test_assert_cu (cu->cuGraphExecDestroy (exec));
  g_assert_true (fixture_linger (&bench.data.destroyed)); /* on whatever thread */
  assert_data (&bench.data, 2, 1);

  /* Never instantiated. */
  memra_test_assert_cu (cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_RELAXED));
  g_assert_true (memra_stream_host_func (bench.fixture.stream, call, &bench.other, destroy, &error));
  memra_test_assert_cu (cu->cuStreamEndCapture (raw, &graph));
  memra_test_assert_cu (cu->cuGraphDestroy (graph));
  g_assert_true (fixture_linger (&bench.other.destroyed));
  assert_data (&bench.other, 0, 1);
  fixture_leave (&bench.fixture);
}

static void
test_foreign_failing (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  static const char *const entries[] = { "cuUserObjectCreate", "cuGraphRetainUserObject", "cuLaunchHostFunc" };

  if (!memra_test_need_host ())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      g_auto (Bench) bench = { 0 };
      g_autoptr (GError) error = NULL;
      const MemraDriverTable *cu;
      CUstream raw;
      CUgraph graph = NULL;

      bench_init (&bench);
      cu = bench.fixture.cu;
      raw = memra_stream_get_cuda_stream (bench.fixture.stream);
      fixture_enter (&bench.fixture);
      memra_test_assert_cu (cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_RELAXED));
      g_assert_cmpint (control->inject_fault (entries[i], 1, 999), ==, 0);
      g_assert_false (memra_stream_host_func (bench.fixture.stream, call, &bench.data, destroy, &error));
      g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
      control->clear_faults ();
      memra_test_assert_cu (cu->cuStreamEndCapture (raw, &graph));
      memra_test_assert_cu (cu->cuGraphDestroy (graph));
      g_assert_true (fixture_linger (&bench.data.destroyed));
      assert_data (&bench.data, 0, 1);
      g_assert_cmpuint (control->count_objects ("user-object"), ==, 0);
      fixture_leave (&bench.fixture);
    }
}

/* ---- In flight ---- */

typedef struct
{
  Gate gate;
  gint destroyed;
} Slow;

static void
destroy_slow (gpointer data)
{
  g_atomic_int_set (&((Slow *) data)->destroyed, TRUE);
}

static void
stand (gpointer data)
{
  gate_stand (&((Slow *) data)->gate);
}

static gboolean
slow_body (MemraStream *stream, gpointer slow, GError **error)
{
  return memra_stream_host_func (stream, stand, slow, destroy_slow, error);
}

static gpointer
drop (gpointer capture)
{
  memra_layer_capture_unref (capture);
  return NULL;
}

static void
test_in_flight (void)
{
  g_auto (Bench) bench = { 0 };
  Slow slow = { .destroyed = FALSE };
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *capture;
  GThread *thread;

  bench_init (&bench);
  gate_init (&slow.gate);
  capture = memra_capture_layer_record (bench.fixture.stream, 4, NULL, slow_body, &slow, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  gate_await_entered (&slow.gate);
  thread = g_thread_new ("drop", drop, capture);
  g_assert_false (fixture_linger (&slow.destroyed)); /* the function still uses it */
  gate_open (&slow.gate);
  g_thread_join (thread);
  g_assert_true (slow.destroyed);
  g_assert_cmpuint (slow.gate.passed, ==, 1);
  gate_clear (&slow.gate);
}

/* ---- Updates ---- */

static void
update (Bench *bench, MemraLayerCapture *capture)
{
  g_autoptr (GError) error = NULL;

  memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, bench, NULL, &error);
  g_assert_no_error (error);
}

static void
test_updated (void)
{
  g_auto (Bench) bench = { 0 };
  MemraLayerCapture *capture;

  bench_init (&bench);
  capture = record (&bench);
  replay (&bench, capture, 1);
  bench.with_other = TRUE;
  update (&bench, capture);
  assert_data (&bench.data, 1, 1); /* nothing was in flight that could call it */
  replay (&bench, capture, 2);
  assert_data (&bench.data, 1, 1);
  assert_data (&bench.other, 2, 0);
  memra_layer_capture_unref (capture);
  assert_data (&bench.other, 2, 1);
}

/* Updates that nothing is launched between do not pile up what their bodies used, nor is any of it forgotten. */
static void
test_updated_often (void)
{
  g_auto (Bench) bench = { 0 };
  MemraLayerCapture *capture;

  bench_init (&bench);
  capture = record (&bench);
  for (gint i = 1; i <= 5; i++)
    {
      update (&bench, capture);
      assert_data (&bench.data, 0, i);
    }
  memra_layer_capture_unref (capture);
  assert_data (&bench.data, 0, 6);
}

static void
destroy_and_ask (gpointer data)
{
  Bench *bench = data;

  bench->replays += memra_layer_capture_get_replays (bench->capture); /* takes the capture's lock */
}

static void
call_nothing (gpointer data G_GNUC_UNUSED)
{
}

static gboolean
asking_body (MemraStream *stream, gpointer data, GError **error)
{
  return memra_stream_host_func (stream, call_nothing, data, destroy_and_ask, error);
}

static void
test_destroy_may_ask (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  capture = memra_capture_layer_record (bench.fixture.stream, 4, NULL, asking_body, &bench, &error);
  g_assert_no_error (error);
  bench.capture = capture;
  replay (&bench, capture, 3);
  memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, asking_body, &bench, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (bench.replays, ==, 3);
  g_assert_true (memra_layer_capture_close (capture, &error));
  g_assert_cmpuint (bench.replays, ==, 6);
}

static void
add_tests (void)
{
  g_test_summary ("A host function is called as often as its graph runs, and its data is freed exactly once.");
  memra_test_add ("/host-func/replays", test_replays);
  memra_test_add ("/host-func/executed", test_executed);
  memra_test_add ("/host-func/same-data", test_same_data);
  memra_test_add ("/host-func/fork", test_fork);
  memra_test_add ("/host-func/aborted", test_aborted);
  memra_test_add ("/host-func/failing-body", test_failing_body);
  memra_test_add ("/host-func/broken", test_broken);
  memra_test_add ("/host-func/failing-launch", test_failing_launch);
  memra_test_add ("/host-func/failing-call", test_failing_call);
  memra_test_add ("/host-func/failing-call-captured", test_failing_call_captured);
  memra_test_add ("/host-func/eager", test_eager);
  memra_test_add ("/host-func/foreign", test_foreign);
  memra_test_add ("/host-func/foreign-failing", test_foreign_failing);
  memra_test_add ("/host-func/in-flight", test_in_flight);
  memra_test_add ("/host-func/updated", test_updated);
  memra_test_add ("/host-func/updated-often", test_updated_often);
  memra_test_add ("/host-func/destroy-may-ask", test_destroy_may_ask);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
