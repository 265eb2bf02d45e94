/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main job: what is refused, what succeeds, what a failing body leaves behind, and whose state is kept. */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

typedef enum
{
  TEST_ERROR_BODY = 17
} TestError;

G_DEFINE_QUARK (memra_test_error, test_error)

static const MemraCaptureMode all_modes[]
    = { MEMRA_CAPTURE_MODE_GLOBAL, MEMRA_CAPTURE_MODE_THREAD_LOCAL, MEMRA_CAPTURE_MODE_RELAXED };

/* ---- The original's scenario, one to one, in its order and in one context ---- */

static gboolean
failing_body (MemraStream *stream, gpointer fixture, GError **error)
{
  if (!fixture_body (stream, fixture, error))
    return FALSE;
  g_set_error (error, test_error_quark (), TEST_ERROR_BODY, "the seventeenth weight is missing");
  return FALSE;
}

static gboolean
copy_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  fixture->calls++;
  return memra_buffer_copy (fixture->dst, fixture->src, stream, error);
}

static void
scenario_tracking_on (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;

  memra_context_set_event_tracking (fixture->context, TRUE);
  g_assert_null (memra_capture_layer (fixture->stream, 3, NULL, fixture_body, fixture, &error));
  assert_capture_error (error, 3, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "before buffer allocation");
  g_assert_cmpuint (fixture->calls, ==, 0);
  g_assert_true (memra_context_get_event_tracking (fixture->context));
  memra_context_set_event_tracking (fixture->context, FALSE);
  fixture_assert_ran (fixture, 0);
}

static void
scenario_one_kernel (Fixture *fixture)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  GPtrArray *kernels;

  capture = memra_capture_layer (fixture->stream, 3, NULL, fixture_body, fixture, &error);
  g_assert_no_error (error);
  g_assert_nonnull (capture);
  g_assert_cmpuint (fixture->calls, ==, 1);
  fixture_assert_ran (fixture, 1);
  kernels = memra_layer_capture_get_kernels (capture);
  g_assert_cmpuint (kernels->len, ==, 1);
  assert_contains (g_ptr_array_index (kernels, 0), "dsv4_add_inplace");
  g_assert_false (memra_context_get_event_tracking (fixture->context));
}

static void
scenario_failing_body (Fixture *fixture)
{
  g_autoptr (GError) error = NULL;
  MemraCaptureStatus status = MEMRA_CAPTURE_STATUS_INVALIDATED;

  g_assert_null (memra_capture_layer (fixture->stream, 4, NULL, failing_body, fixture, &error));
  assert_body_error (error, 4, test_error_quark (), TEST_ERROR_BODY, MCU_SUCCESS);
  assert_contains (error->message, "the seventeenth weight is missing");
  assert_contains (error->message, FIXTURE_KERNEL);
  g_assert_cmpuint (fixture->calls, ==, 2);
  g_assert_true (memra_stream_get_capture_status (fixture->stream, &status, NULL));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_NONE);
  g_assert_false (memra_context_get_event_tracking (fixture->context));
  fixture_assert_ran (fixture, 1);
}

static void
scenario_copy (Fixture *fixture)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  capture = memra_capture_layer (fixture->stream, 5, NULL, copy_body, fixture, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (fixture->calls, ==, 3);
  g_assert_cmpuint (g_hash_table_size (memra_layer_capture_get_nodes (capture)), >, 0);
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (capture), "memcpy"), ==, 1);
  memra_test_assert_floats (fixture->dst, fixture->stream, 2.0f, FIXTURE_N);
}

static void
test_original (void)
{
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  scenario_tracking_on (&fixture);
  scenario_one_kernel (&fixture);
  scenario_failing_body (&fixture);
  scenario_copy (&fixture);
  memra_test_assert_stream_usable (fixture.stream);
}

/* ---- Event tracking ---- */

static void
test_tracking_refused_by_all (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) recorded = NULL;
  g_autoptr (GError) scoped = NULL;

  fixture_init (&fixture);
  memra_context_set_event_tracking (fixture.context, TRUE);
  g_assert_null (memra_capture_layer_record (fixture.stream, 8, NULL, fixture_body, &fixture, &recorded));
  assert_capture_error (recorded, 8, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_null (memra_capture_scope_begin (fixture.stream, 9, NULL, &scoped));
  assert_capture_error (scoped, 9, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_true (memra_context_get_event_tracking (fixture.context));
  g_assert_cmpuint (fixture.calls, ==, 0);
  memra_context_set_event_tracking (fixture.context, FALSE);
  fixture_assert_good_as_new (&fixture, 0);
}

typedef enum
{
  TRACKED_REPORTED, /* the body hands the refusal on */
  TRACKED_IGNORED,  /* the body goes on as if nothing had been */
  TRACKED_SILENT,   /* the body fails, without an error */
  TRACKED_READ,     /* as ignored, by a read access */
  TRACKED_FORK      /* as ignored, in a forked stream */
} TrackedHow;

typedef struct
{
  Fixture *fixture;
  MemraBuffer *tracked;
  MemraStream *fork;
  TrackedHow how;
} Tracked;

static gboolean
tracked_body (MemraStream *stream, gpointer data, GError **error)
{
  Tracked *tracked = (Tracked *) data;
  g_autoptr (GError) refusal = NULL;
  MemraAccess access = MEMRA_ACCESS_INIT;
  MemraStream *used = stream;
  guint64 address;

  if (!fixture_body (stream, tracked->fixture, error))
    return FALSE;
  if (tracked->how == TRACKED_FORK)
    {
      if (!memra_stream_wait (tracked->fork, stream, error))
        return FALSE;
      used = tracked->fork;
    }
  address = tracked->how == TRACKED_READ ? memra_buffer_acquire_read (tracked->tracked, used, &access, &refusal)
                                         : memra_buffer_acquire_write (tracked->tracked, used, &access, &refusal);
  g_assert_cmphex (address, ==, 0);
  g_assert_null (access.buffer);
  g_assert_error (refusal, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_EVENT_TRACKING);
  assert_contains (refusal->message, "before buffer allocation");
  g_assert_cmpint (fixture_status (tracked->fixture, stream), ==, MCU_CAPTURE_STATUS_ACTIVE);
  if (tracked->how == TRACKED_FORK && !memra_stream_wait (stream, tracked->fork, error))
    return FALSE;
  if (tracked->how == TRACKED_REPORTED)
    g_propagate_error (error, g_steal_pointer (&refusal));
  return tracked->how != TRACKED_REPORTED && tracked->how != TRACKED_SILENT;
}

static void
test_tracked_buffer (gconstpointer how)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (MemraStream) fork = NULL;
  g_autoptr (GError) error = NULL;
  Tracked tracked = { &fixture, NULL, NULL, (TrackedHow) GPOINTER_TO_INT (how) };

  fixture_init (&fixture);
  fork = memra_test_stream_new (fixture.context);
  memra_context_set_event_tracking (fixture.context, TRUE);
  buffer = memra_test_buffer_filled (fixture.stream, 5.0f, FIXTURE_N);
  memra_context_set_event_tracking (fixture.context, FALSE);
  g_assert_true (memra_buffer_carries_events (buffer));
  tracked.tracked = buffer;
  tracked.fork = fork;

  g_assert_null (memra_capture_layer (fixture.stream, 6, NULL, tracked_body, &tracked, &error));
  if (tracked.how == TRACKED_REPORTED)
    assert_body_error (error, 6, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_EVENT_TRACKING, MCU_SUCCESS);
  else
    assert_capture_error (error, 6, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, MEMRA_CAPTURE_STAGE_BODY, MCU_SUCCESS,
                          MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "before buffer allocation");
  g_assert_cmpuint (fixture.calls, ==, 1);
  fixture_assert_good_as_new (&fixture, 0);
  memra_test_assert_floats (buffer, fixture.stream, 5.0f, FIXTURE_N);
}

/* ---- Refusals before the body ---- */

static void
test_refused_legacy (gconstpointer handle)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  legacy = memra_stream_wrap (fixture.context, (CUstream) handle, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_is_legacy (legacy));
  g_assert_null (memra_capture_layer (legacy, 1, NULL, fixture_body, &fixture, &error));
  assert_capture_error (error, 1, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "legacy stream");
  g_assert_cmpuint (fixture.calls, ==, 0);
  memra_test_assert_stream_usable (legacy);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_refused_capturing (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) scoped = NULL;
  CUstream stream;
  CUgraph graph = NULL;
  gsize n_nodes = 0;

  fixture_init (&fixture);
  stream = memra_stream_get_cuda_stream (fixture.stream);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_GLOBAL));
  g_assert_null (memra_capture_layer (fixture.stream, 1, NULL, fixture_body, &fixture, &error));
  assert_capture_error (error, 1, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "already being captured");
  g_assert_null (memra_capture_scope_begin (fixture.stream, 1, NULL, &scoped));
  assert_capture_error (scoped, 1, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_cmpuint (fixture.calls, ==, 0);

  /* The capture of whoever began it is unharmed. */
  memra_test_assert_cu (fixture.cu->cuMemsetD8Async (memra_buffer_get_address (fixture.dst), 0, FIXTURE_BYTES, stream));
  memra_test_assert_cu (fixture.cu->cuStreamEndCapture (stream, &graph));
  memra_test_assert_cu (fixture.cu->cuGraphGetNodes (graph, NULL, &n_nodes));
  g_assert_cmpuint (n_nodes, ==, 1);
  memra_test_assert_cu (fixture.cu->cuGraphDestroy (graph));
  fixture_leave (&fixture);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_refused_broken (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  CUstream stream;

  fixture_init (&fixture);
  stream = memra_stream_get_cuda_stream (fixture.stream);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_RELAXED));
  g_assert_cmpint (fixture.cu->cuStreamQuery (stream), ==, MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  fixture_leave (&fixture);

  g_assert_null (memra_capture_layer (fixture.stream, 2, NULL, fixture_body, &fixture, &error));
  assert_capture_error (error, 2, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "memra_stream_recover()");
  g_assert_cmpuint (fixture.calls, ==, 0);
  g_clear_error (&error);
  g_assert_true (memra_stream_recover (fixture.stream, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_recover (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  legacy = memra_stream_wrap (fixture.context, NULL, &error);
  g_assert_true (memra_stream_recover (legacy, &error));
  g_assert_no_error (error);
  g_assert_true (memra_stream_recover (fixture.stream, &error)); /* not being captured: nothing to do */
  g_assert_no_error (error);

  fixture_enter (&fixture);
  memra_test_assert_cu (
      fixture.cu->cuStreamBeginCapture (memra_stream_get_cuda_stream (fixture.stream), MCU_CAPTURE_MODE_GLOBAL));
  fixture_leave (&fixture);
  g_assert_true (memra_stream_recover (fixture.stream, &error)); /* an active one is ended as well */
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 0);
}

typedef enum
{
  NESTED_SAME_STREAM,
  NESTED_OTHER_STREAM,
  NESTED_SCOPE,
  NESTED_RECORD
} NestedHow;

typedef struct
{
  Fixture *fixture;
  MemraStream *other;
  NestedHow how;
} Nested;

static gboolean
nested_body (MemraStream *stream, gpointer data, GError **error)
{
  Nested *nested = (Nested *) data;
  g_autoptr (GError) refusal = NULL;
  guint calls;

  if (!fixture_body (stream, nested->fixture, error))
    return FALSE;
  calls = nested->fixture->calls;
  switch (nested->how)
    {
    case NESTED_SAME_STREAM:
      g_assert_null (memra_capture_layer (stream, 2, NULL, fixture_body, nested->fixture, &refusal));
      break;
    case NESTED_OTHER_STREAM:
      g_assert_null (memra_capture_layer (nested->other, 2, NULL, fixture_body, nested->fixture, &refusal));
      break;
    case NESTED_SCOPE:
      g_assert_null (memra_capture_scope_begin (nested->other, 2, NULL, &refusal));
      break;
    case NESTED_RECORD:
      g_assert_null (memra_capture_layer_record (nested->other, 2, NULL, fixture_body, nested->fixture, &refusal));
      break;
    default:
      g_assert_not_reached ();
    }
  assert_capture_error (refusal, 2, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  if (nested->how != NESTED_SAME_STREAM)
    assert_contains (refusal->message, "nested");
  g_assert_cmpuint (nested->fixture->calls, ==, calls);
  g_assert_cmpint (fixture_status (nested->fixture, stream), ==, MCU_CAPTURE_STATUS_ACTIVE);
  return TRUE;
}

static void
test_refused_nested (gconstpointer how)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) other = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Nested nested = { &fixture, NULL, (NestedHow) GPOINTER_TO_INT (how) };

  fixture_init (&fixture);
  nested.other = other = memra_test_stream_new (fixture.context);
  capture = memra_capture_layer (fixture.stream, 1, NULL, nested_body, &nested, &error);
  g_assert_no_error (error); /* the outer capture goes on */
  g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 1);
  fixture_assert_ran (&fixture, 1);
  fixture_assert_good_as_new (&fixture, 1);
  memra_test_assert_stream_usable (other);
}

/* ---- Bodies that fail ---- */

static gboolean
silent_body (MemraStream *stream, gpointer fixture, GError **error)
{
  return fixture_body (stream, fixture, error) && FALSE;
}

static void
test_body_silent (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 12, NULL, silent_body, &fixture, &error));
  assert_capture_error (error, 12, MEMRA_CAPTURE_ERROR_BODY, MEMRA_CAPTURE_STAGE_BODY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, FIXTURE_KERNEL);
  g_assert_cmpuint (fixture.calls, ==, 1);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_body_error_unwanted (void)
{
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  g_assert_null (
      memra_capture_layer (fixture.stream, 1, NULL, failing_body, &fixture, NULL)); /* no place for an error */
  g_assert_null (memra_capture_layer (fixture.stream, 1, NULL, silent_body, &fixture, NULL));
  g_assert_null (memra_capture_layer (fixture.stream, 1, NULL, fixture_empty_body, &fixture, NULL));
  fixture_assert_good_as_new (&fixture, 0);
}

static gboolean
contradicting_body (MemraStream *stream, gpointer fixture, GError **error)
{
  g_set_error (error, test_error_quark (), TEST_ERROR_BODY, "never mind");
  return fixture_body (stream, fixture, NULL);
}

static void
test_body_contradicts_itself (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*succeeded and set an error*never mind*");
  capture = memra_capture_layer (fixture.stream, 1, NULL, contradicting_body, &fixture, &error);
  g_test_assert_expected_messages ();
  g_assert_no_error (error);
  g_assert_nonnull (capture);
  fixture_assert_good_as_new (&fixture, 1);
}

static gboolean
marked_failing_body (MemraStream *stream, gpointer fixture, GError **error)
{
  return memra_stream_mark (stream, "attention", error) && failing_body (stream, fixture, error);
}

static void
test_body_fails_after_mark (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 7, NULL, marked_failing_body, &fixture, &error));
  assert_body_error (error, 7, test_error_quark (), TEST_ERROR_BODY, MCU_SUCCESS);
  assert_contains (error->message, "after 'attention', last node " FIXTURE_KERNEL);
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- Empty layers ---- */

static void
test_empty_refused (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 2, NULL, fixture_empty_body, &fixture, &error));
  assert_capture_error (error, 2, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, MCU_SUCCESS,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "empty");
  g_assert_nonnull (memra_capture_error_get_partial_census (error));
  g_assert_cmpuint (memra_census_get_n_nodes (memra_capture_error_get_partial_census (error)), ==, 0);
  g_assert_cmpuint (fixture.calls, ==, 1);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_empty_allowed (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  memra_capture_options_set_allow_empty (fixture.options, TRUE);
  capture = memra_capture_layer (fixture.stream, 2, fixture.options, fixture_empty_body, &fixture, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (fixture.calls, ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
  g_assert_cmpuint (g_hash_table_size (memra_layer_capture_get_nodes (capture)), ==, 0);
  g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 0);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- What success means ---- */

static void
test_success_counts (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  GHashTable *nodes;
  gpointer count = NULL;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 41);
  g_assert_cmpuint (memra_layer_capture_get_layer (capture), ==, 41);
  g_assert_cmpuint (memra_census_get_layer (memra_layer_capture_get_census (capture)), ==, 41);
  g_assert_true (memra_layer_capture_get_stream (capture) == fixture.stream);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, 0);
  g_assert_nonnull (memra_layer_capture_get_cuda_graph (capture));
  g_assert_nonnull (memra_layer_capture_get_cuda_graph_exec (capture));
  nodes = memra_layer_capture_get_nodes (capture);
  g_assert_cmpuint (g_hash_table_size (nodes), ==, 1);
  g_assert_true (g_hash_table_lookup_extended (nodes, "kernel", NULL, &count));
  g_assert_cmpuint (GPOINTER_TO_UINT (count), ==, 1);
  fixture_assert_ran (&fixture, 1);
}

/* One begin, one end, one launch: seen from the driver's side. */
static void
test_success_calls (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  const MemraHostControl *control = memra_test_host_control ();
  static const char *const once[] = { "cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiateWithParams",
                                      "cuGraphUpload",        "cuGraphLaunch",      "cuLaunchKernel" };
  guint64 before[G_N_ELEMENTS (once)];

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  for (gsize i = 0; i < G_N_ELEMENTS (once); i++)
    before[i] = control->count_calls (once[i]);
  capture = fixture_capture (&fixture, 0);
  for (gsize i = 0; i < G_N_ELEMENTS (once); i++)
    {
      g_test_message ("%s", once[i]);
      g_assert_cmpuint (control->count_calls (once[i]) - before[i], ==, 1);
    }
}

static gboolean
ordered_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  return memra_dsv4_silu_gate (fixture->dsv4, stream, fixture->dst, fixture->src, FIXTURE_N, error)
         && memra_stream_mark (stream, "middle", error) && fixture_add (fixture, stream, error)
         && memra_dsv4_rmsnorm (fixture->dsv4, stream, fixture->dst, fixture->dst, fixture->src, FIXTURE_N, 1e-6f,
                                error)
         && memra_stream_mark (stream, "end", error) && fixture_add (fixture, stream, error);
}

static void
test_success_order (void)
{
  static const char *const names[] = { "memra_dsv4_silu_gate", FIXTURE_KERNEL, "memra_dsv4_rmsnorm", FIXTURE_KERNEL };
  static const char *const sections[] = { NULL, "middle", "middle", "end" };
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  GPtrArray *kernels;

  fixture_init (&fixture);
  capture = memra_capture_layer (fixture.stream, 0, NULL, ordered_body, &fixture, &error);
  g_assert_no_error (error);
  kernels = memra_layer_capture_get_kernels (capture);
  g_assert_cmpuint (kernels->len, ==, G_N_ELEMENTS (names));
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const MemraKernelNode *node = memra_census_get_kernel_node (memra_layer_capture_get_census (capture), i);

      g_assert_cmpstr (g_ptr_array_index (kernels, i), ==, names[i]);
      g_assert_cmpstr (memra_kernel_node_get_section (node), ==, sections[i]);
    }
}

static void
test_mark_eager (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_true (memra_stream_mark (fixture.stream, "attention", &error)); /* a body that is run eagerly */
  g_assert_no_error (error);
  g_assert_true (ordered_body (fixture.stream, &fixture, &error));
  g_assert_no_error (error);
}

static void
test_success_timings (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraLayerCapture) recorded = NULL;
  g_autoptr (GError) error = NULL;
  const gint64 *timings;
  guint n_steps = 0;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  timings = memra_layer_capture_get_timings (capture, &n_steps);
  g_assert_cmpuint (n_steps, >=, MEMRA_CAPTURE_N_STEPS);
  for (guint i = 0; i < MEMRA_CAPTURE_N_STEPS; i++)
    g_assert_cmpint (timings[i], >, 0);

  recorded = memra_capture_layer_record (fixture.stream, 0, NULL, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  timings = memra_layer_capture_get_timings (recorded, NULL);
  g_assert_cmpint (timings[MEMRA_CAPTURE_STEP_UPLOAD], >, 0);
  g_assert_cmpint (timings[MEMRA_CAPTURE_STEP_LAUNCH], ==, 0);
  g_assert_cmpint (timings[MEMRA_CAPTURE_STEP_COMPLETION], ==, 0);
}

static void
test_success_to_string (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraLayerCapture) recorded = NULL;
  g_autofree char *text = NULL;
  g_autofree char *recorded_text = NULL;

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 23);
  text = memra_layer_capture_to_string (capture);
  assert_contains (text, "layer 23");
  assert_contains (text, "executed once");
  assert_contains (text, FIXTURE_KERNEL);
  recorded = memra_capture_layer_record (fixture.stream, 24, NULL, fixture_body, &fixture, NULL);
  recorded_text = memra_layer_capture_to_string (recorded);
  assert_contains (recorded_text, "executed not yet");
}

/* ---- Work before, and work of the layer, is waited for ---- */

typedef struct
{
  Fixture *fixture;
  Gate *gate;
  gint done; /* atomic: what must not happen before the gate has opened */
  guint passed_in_body;
} Waiting;

/* Opens the gate only once the other thread has had all the time it could want to run ahead. */
static gpointer
open_later (gpointer data)
{
  Waiting *waiting = (Waiting *) data;

  gate_await_entered (waiting->gate);
  fixture_linger (&waiting->done);
  gate_open (waiting->gate);
  return NULL;
}

static gboolean
draining_body (MemraStream *stream, gpointer data, GError **error)
{
  Waiting *waiting = (Waiting *) data;

  waiting->passed_in_body = waiting->gate->passed;
  g_atomic_int_set (&waiting->done, TRUE);
  return fixture_body (stream, waiting->fixture, error);
}

static void
test_pre_drain (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Gate gate;
  Waiting waiting = { &fixture, &gate, FALSE, 0 };
  GThread *opener;

  fixture_init (&fixture);
  gate_init (&gate);
  fixture_enter (&fixture);
  memra_test_assert_cu (
      fixture.cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (fixture.stream), gate_stand, &gate));
  fixture_leave (&fixture);
  opener = g_thread_new ("opener", open_later, &waiting);
  capture = memra_capture_layer (fixture.stream, 0, NULL, draining_body, &waiting, &error);
  g_thread_join (opener);
  g_assert_no_error (error);
  g_assert_cmpuint (waiting.passed_in_body, ==, 1);
  fixture_assert_ran (&fixture, 1);
  gate_clear (&gate);
}

static gboolean
gate_body (MemraStream *stream, gpointer data, GError **error)
{
  Waiting *waiting = (Waiting *) data;

  memra_test_assert_cu (
      memra_test_cu ()->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), gate_stand, waiting->gate));
  return fixture_body (stream, waiting->fixture, error);
}

static void
test_completion (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Gate gate;
  Waiting waiting = { &fixture, &gate, FALSE, 0 };
  GThread *opener;
  guint passed;

  fixture_init (&fixture);
  gate_init (&gate);
  opener = g_thread_new ("opener", open_later, &waiting);
  capture = memra_capture_layer (fixture.stream, 0, NULL, gate_body, &waiting, &error);
  passed = gate.passed;
  g_atomic_int_set (&waiting.done, TRUE);
  g_thread_join (opener);
  g_assert_no_error (error);
  g_assert_cmpuint (passed, ==, 1);
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (capture), "host"), ==, 1);
  fixture_assert_ran (&fixture, 1);
  gate_clear (&gate);
}

/* ---- Whose state is kept ---- */

/* How a body leaves the stack of contexts behind; with any of them but the first it changes the capture mode, too. */
typedef enum
{
  MESS_NONE,
  MESS_UNSET,
  MESS_PUSH,
  MESS_POP,
  N_MESSES
} Mess;

typedef struct
{
  Fixture *fixture;
  Mess mess;
  gboolean fail;
} State;

static void
make_mess (Fixture *fixture, Mess mess)
{
  CUcontext context = memra_context_get_cuda_context (fixture->context);

  if (mess == MESS_UNSET)
    memra_test_assert_cu (fixture->cu->cuCtxSetCurrent (NULL));
  else if (mess == MESS_PUSH)
    memra_test_assert_cu (fixture->cu->cuCtxPushCurrent (context));
  else
    memra_test_assert_cu (fixture->cu->cuCtxPopCurrent (&context));
  fixture_set_thread_mode (fixture->cu, (fixture->thread_mode + 1) % 3);
}

static gboolean
state_body (MemraStream *stream, gpointer data, GError **error)
{
  State *state = (State *) data;
  Fixture *fixture = state->fixture;
  CUcontext current = NULL;

  memra_test_assert_cu (fixture->cu->cuCtxGetCurrent (&current));
  g_assert_true (current == memra_context_get_cuda_context (fixture->context));      /* of the stream */
  g_assert_cmpint (fixture_get_thread_mode (fixture->cu), ==, fixture->thread_mode); /* of the caller */
  if (!fixture_body (stream, fixture, error))
    return FALSE;
  if (state->mess != MESS_NONE)
    make_mess (fixture, state->mess);
  if (state->fail)
    g_set_error (error, test_error_quark (), TEST_ERROR_BODY, "no");
  return !state->fail;
}

/* Whatever context and mode the thread has, they are the same afterwards: on success, on failure, and if the body
 * leaves others behind. */
static void
check_state (Fixture *fixture)
{
  guint ran = 0;

  for (guint i = 0; i < 2 * N_MESSES; i++)
    {
      State state = { fixture, (Mess) (i / 2), i % 2 };
      g_autoptr (GError) error = NULL;
      g_autoptr (MemraLayerCapture) capture
          = memra_capture_layer (fixture->stream, i, NULL, state_body, &state, &error);

      fixture_assert_thread (fixture);
      if (state.fail)
        g_assert_error (error, test_error_quark (), TEST_ERROR_BODY);
      else
        g_assert_no_error (error);
      ran += capture != NULL ? 1 : 0;
      fixture_assert_ran (fixture, ran);
      memra_test_assert_stream_usable (fixture->stream);
    }
}

static void
test_state (gconstpointer data)
{
  g_auto (Fixture) fixture = { 0 };
  int mode = GPOINTER_TO_INT (data) % 3;
  gboolean own = GPOINTER_TO_INT (data) / 3;
  const MemraDriverTable *cu = memra_test_cu ();
  CUcontext popped;

  fixture_init (&fixture);
  fixture_set_thread_mode (cu, mode);
  fixture.thread_mode = mode;
  if (own)
    fixture_enter (&fixture);
  memra_test_assert_cu (cu->cuCtxGetCurrent (&fixture.current));
  check_state (&fixture);
  while (fixture.current != NULL) /* what the messes left below the top as well */
    {
      memra_test_assert_cu (cu->cuCtxPopCurrent (&popped));
      memra_test_assert_cu (cu->cuCtxGetCurrent (&fixture.current));
    }
  fixture_set_thread_mode (cu, MCU_CAPTURE_MODE_GLOBAL);
  fixture.thread_mode = MCU_CAPTURE_MODE_GLOBAL;
}

static void
test_state_refused (void)
{
  g_auto (Fixture) fixture = { 0 };
  const MemraDriverTable *cu = memra_test_cu ();

  fixture_init (&fixture);
  for (int mode = 0; mode < 3; mode++)
    {
      g_autoptr (GError) error = NULL;

      fixture_set_thread_mode (cu, mode);
      fixture.thread_mode = mode;
      memra_context_set_event_tracking (fixture.context, TRUE);
      g_assert_null (memra_capture_layer (fixture.stream, 0, NULL, fixture_body, &fixture, &error));
      g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_EVENT_TRACKING);
      fixture_assert_thread (&fixture);
      memra_context_set_event_tracking (fixture.context, FALSE);
      g_clear_error (&error);
      g_assert_null (memra_capture_layer (fixture.stream, 0, NULL, fixture_empty_body, &fixture, &error));
      g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_POLICY);
      fixture_assert_thread (&fixture);
    }
  fixture_set_thread_mode (cu, MCU_CAPTURE_MODE_GLOBAL);
  fixture.thread_mode = MCU_CAPTURE_MODE_GLOBAL;
}

/* ---- Options ---- */

static gboolean
mode_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;
  CUdeviceptr address = 0;
  McuResult result;

  if (!fixture_body (stream, fixture, error))
    return FALSE;
  result = fixture->cu->cuMemAlloc (&address, 64);
  if (result == MCU_SUCCESS)
    memra_test_assert_cu (fixture->cu->cuMemFree (address));
  g_assert_cmpint (result, ==, MCU_SUCCESS); /* only a relaxed capture lets it pass */
  return TRUE;
}

static void
test_default_is_relaxed (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) by_null = NULL;
  g_autoptr (MemraLayerCapture) by_new = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  by_null = memra_capture_layer (fixture.stream, 0, NULL, mode_body, &fixture, &error);
  g_assert_no_error (error);
  by_new = memra_capture_layer (fixture.stream, 0, fixture.options, mode_body, &fixture, &error);
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 2);
}

static void
test_all_modes (void)
{
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  for (guint i = 0; i < G_N_ELEMENTS (all_modes); i++)
    {
      g_autoptr (MemraLayerCapture) capture = NULL;

      memra_capture_options_set_mode (fixture.options, all_modes[i]);
      capture = fixture_capture (&fixture, i);
      fixture_assert_ran (&fixture, i + 1);
    }
  fixture_assert_good_as_new (&fixture, 3);
}

typedef struct
{
  Fixture *fixture;
  MemraStream *given;
  MemraStreamFlags flags;
} Given;

static gboolean
given_body (MemraStream *stream, gpointer data, GError **error)
{
  Given *given = (Given *) data;

  given->given = stream;
  given->flags = memra_stream_get_flags (stream);
  return fixture_body (stream, given->fixture, error);
}

static void
test_strict_streams (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) blocking = NULL;
  g_autoptr (MemraLayerCapture) through_private = NULL;
  g_autoptr (MemraLayerCapture) through_own = NULL;
  g_autoptr (GError) error = NULL;
  Given given = { &fixture, NULL, MEMRA_STREAM_NON_BLOCKING };

  fixture_init (&fixture);
  blocking = memra_stream_new (fixture.context, MEMRA_STREAM_BLOCKING, &error);
  g_assert_no_error (error);
  memra_capture_options_set_strict (fixture.options, TRUE);

  through_private = memra_capture_layer (fixture.stream, 0, fixture.options, given_body, &given, &error);
  g_assert_no_error (error);
  g_assert_true (given.given != fixture.stream);
  g_assert_cmpint (given.flags, ==, MEMRA_STREAM_BLOCKING);
  g_assert_true (memra_layer_capture_get_stream (through_private) == fixture.stream);
  fixture_assert_ran (&fixture, 1);

  through_own = memra_capture_layer (blocking, 0, fixture.options, given_body, &given, &error);
  g_assert_no_error (error);
  g_assert_true (given.given == blocking);
  fixture_assert_ran (&fixture, 2);
  g_assert_true (memra_layer_capture_replay (through_private, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 3);
  memra_test_assert_stream_usable (blocking);
  fixture_assert_good_as_new (&fixture, 3);
}

static void
test_options_are_reusable (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) first = NULL;
  g_autoptr (MemraLayerCapture) second = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  memra_capture_options_set_record_only (fixture.options, TRUE);
  first = memra_capture_layer (fixture.stream, 0, fixture.options, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  memra_capture_options_set_record_only (fixture.options, FALSE);
  second = memra_capture_layer (fixture.stream, 0, fixture.options, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  g_clear_pointer (&fixture.options, memra_capture_options_free); /* captures do not hold on to them */
  g_assert_cmpuint (memra_layer_capture_get_executions (first), ==, 0);
  g_assert_cmpuint (memra_layer_capture_get_executions (second), ==, 1);
  g_assert_true (memra_layer_capture_replay (first, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 2);
}

static void
test_blocking_stream (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) blocking = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  blocking = memra_stream_new (fixture.context, MEMRA_STREAM_BLOCKING, &error);
  g_assert_no_error (error);
  capture = memra_capture_layer (blocking, 0, NULL, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_stream_synchronize (blocking, &error));
  fixture_assert_ran (&fixture, 2);
  memra_test_assert_stream_usable (blocking);
}

/* The per-thread stream is an ordinary one for captures. */
static void
test_per_thread_stream (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuCtxGetCurrent (&fixture.current));
  stream = memra_stream_wrap (fixture.context, MCU_STREAM_PER_THREAD, &error);
  g_assert_no_error (error);
  g_assert_false (memra_stream_is_legacy (stream));
  capture = memra_capture_layer (stream, 0, NULL, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_stream_synchronize (stream, &error));
  fixture_assert_ran (&fixture, 2);
  g_clear_pointer (&capture, memra_layer_capture_unref);
  fixture_assert_thread (&fixture);
  fixture_leave (&fixture);
  memra_test_assert_cu (fixture.cu->cuCtxGetCurrent (&fixture.current));
}

/* ---- Programming mistakes are criticals, never crashes ---- */

static void
test_mistakes (void)
{
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*stream != NULL*");
  g_assert_null (memra_capture_layer (NULL, 0, NULL, fixture_body, &fixture, NULL));
  g_test_assert_expected_messages ();
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*body != NULL*");
  g_assert_null (memra_capture_layer (fixture.stream, 0, NULL, NULL, &fixture, NULL));
  g_test_assert_expected_messages ();
  memra_layer_capture_unref (NULL);
  memra_capture_scope_abort (NULL);
  memra_capture_options_free (NULL);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
add_tests (void)
{
  memra_test_add ("/capture/original", test_original);

  memra_test_add ("/capture/tracking/refused-by-all-forms", test_tracking_refused_by_all);
  memra_test_add_data ("/capture/tracking/buffer-reported", GINT_TO_POINTER (TRACKED_REPORTED), test_tracked_buffer);
  memra_test_add_data ("/capture/tracking/buffer-ignored", GINT_TO_POINTER (TRACKED_IGNORED), test_tracked_buffer);
  memra_test_add_data ("/capture/tracking/buffer-silent", GINT_TO_POINTER (TRACKED_SILENT), test_tracked_buffer);
  memra_test_add_data ("/capture/tracking/buffer-read", GINT_TO_POINTER (TRACKED_READ), test_tracked_buffer);
  memra_test_add_data ("/capture/tracking/buffer-in-fork", GINT_TO_POINTER (TRACKED_FORK), test_tracked_buffer);

  memra_test_add_data ("/capture/refused/legacy-null", NULL, test_refused_legacy);
  memra_test_add_data ("/capture/refused/legacy-handle", MCU_STREAM_LEGACY, test_refused_legacy);
  memra_test_add ("/capture/refused/already-capturing", test_refused_capturing);
  memra_test_add ("/capture/refused/broken", test_refused_broken);
  memra_test_add ("/capture/recover", test_recover);
  memra_test_add_data ("/capture/nested/same-stream", GINT_TO_POINTER (NESTED_SAME_STREAM), test_refused_nested);
  memra_test_add_data ("/capture/nested/other-stream", GINT_TO_POINTER (NESTED_OTHER_STREAM), test_refused_nested);
  memra_test_add_data ("/capture/nested/scope", GINT_TO_POINTER (NESTED_SCOPE), test_refused_nested);
  memra_test_add_data ("/capture/nested/record", GINT_TO_POINTER (NESTED_RECORD), test_refused_nested);

  memra_test_add ("/capture/body/silent", test_body_silent);
  memra_test_add ("/capture/body/error-unwanted", test_body_error_unwanted);
  memra_test_add ("/capture/body/contradicts-itself", test_body_contradicts_itself);
  memra_test_add ("/capture/body/fails-after-mark", test_body_fails_after_mark);

  memra_test_add ("/capture/empty/refused", test_empty_refused);
  memra_test_add ("/capture/empty/allowed", test_empty_allowed);

  memra_test_add ("/capture/success/counts", test_success_counts);
  memra_test_add ("/capture/success/calls", test_success_calls);
  memra_test_add ("/capture/success/order-and-sections", test_success_order);
  memra_test_add ("/capture/success/mark-eager", test_mark_eager);
  memra_test_add ("/capture/success/timings", test_success_timings);
  memra_test_add ("/capture/success/to-string", test_success_to_string);
  memra_test_add ("/capture/success/pre-drain", test_pre_drain);
  memra_test_add ("/capture/success/completion", test_completion);

  for (int i = 0; i < 6; i++)
    {
      static const char *const mode_names[] = { "global", "thread-local", "relaxed" };
      g_autofree char *path
          = g_strdup_printf ("/capture/state/%s/%s", i < 3 ? "no-context" : "own-context", mode_names[i % 3]);

      memra_test_add_data (path, GINT_TO_POINTER (i), test_state);
    }
  memra_test_add ("/capture/state/refused", test_state_refused);

  memra_test_add ("/capture/options/default-is-relaxed", test_default_is_relaxed);
  memra_test_add ("/capture/options/all-modes", test_all_modes);
  memra_test_add ("/capture/options/strict-streams", test_strict_streams);
  memra_test_add ("/capture/options/reusable", test_options_are_reusable);
  memra_test_add ("/capture/stream/blocking", test_blocking_stream);
  memra_test_add ("/capture/stream/per-thread", test_per_thread_stream);
  memra_test_add ("/capture/mistakes", test_mistakes);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
