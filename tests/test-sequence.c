/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many layers as one launch: in order, once, refused where one layer would be, and current with its layers. */
#include "config.h"

#include "capture-fixture.h"

#include "capture/sequence-private.h"

#include <dlfcn.h>
#include <string.h>

#define N_LAYERS 61

typedef struct
{
  Fixture *fixture;
  MemraBuffer *source;   /* what the layer adds to dst; dst itself doubles it */
  MemraBuffer *position; /* nullable: moved on by one */
  CUdeviceptr raw;       /* not 0: a source that nothing keeps alive */
  Gate *gate;            /* nullable: stood at */
  guint n_adds;
} Layer;

static gboolean
body (MemraStream *stream, gpointer data, GError **error)
{
  Layer *layer = data;
  Fixture *fixture = layer->fixture;

  if (layer->gate != NULL)
    memra_test_assert_cu (
        fixture->cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), gate_stand, layer->gate));
  if (!memra_stream_mark (stream, "sum", error))
    return FALSE;
  if (layer->raw != 0 && !fixture_add_raw (fixture, stream, memra_buffer_get_address (fixture->dst), layer->raw, error))
    return FALSE;
  for (guint i = 0; i < layer->n_adds; i++)
    if (!memra_dsv4_add_inplace (fixture->dsv4, stream, fixture->dst, layer->source, FIXTURE_N_U64, error))
      return FALSE;
  return layer->position == NULL || memra_dsv4_advance (fixture->dsv4, stream, layer->position, error);
}

static MemraLayerCapture *
capture (Layer *layer, guint number)
{
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *made = memra_capture_layer_record (layer->fixture->stream, number, NULL, body, layer, &error);

  g_assert_no_error (error);
  return made;
}

static MemraLayerSequence *
sequence_new (Fixture *fixture, MemraLayerCapture *const *captures, guint n)
{
  g_autoptr (GError) error = NULL;
  MemraLayerSequence *sequence = memra_layer_sequence_new (fixture->stream, captures, n, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (sequence);
  fixture_assert_thread (fixture);
  return sequence;
}

static void
replay (MemraLayerSequence *sequence)
{
  g_autoptr (GError) error = NULL;

  memra_layer_sequence_replay (sequence, &error);
  g_assert_no_error (error);
}

static void
assert_refused (GError **error, MemraCaptureError code, MemraCaptureStage stage, const char *part)
{
  g_autofree char *prefix = g_strdup_printf ("sequence %s: ", memra_capture_stage_to_string (stage));

  g_assert_error (*error, MEMRA_CAPTURE_ERROR, code);
  g_test_message ("%s", (*error)->message);
  g_assert_true (g_str_has_prefix ((*error)->message, prefix));
  assert_contains ((*error)->message, part);
  g_assert_cmpint (memra_capture_error_get_stage (*error), ==, stage);
  g_assert_cmpint (memra_capture_error_get_execution (*error), ==, MEMRA_EXECUTION_NOT_EXECUTED);
  g_clear_error (error);
}

static void
test_order (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *captures[6];
  g_autoptr (MemraLayerSequence) sequence = NULL;
  float expected = 1.0f;

  fixture_init (&fixture);
  if (memra_test_host_control () != NULL)
    memra_test_host_control ()->set_shuffle (7); /* whatever is not ordered by an edge is not in order */
  for (guint i = 0; i < G_N_ELEMENTS (captures); i++)
    {
      Layer layer = { .fixture = &fixture, .source = i % 2 == 0 ? fixture.src : fixture.dst, .n_adds = 1 };

      captures[i] = capture (&layer, i);
    }
  sequence = sequence_new (&fixture, captures, G_N_ELEMENTS (captures));
  g_assert_cmpuint (memra_layer_sequence_get_n_layers (sequence), ==, G_N_ELEMENTS (captures));
  g_assert_true (memra_layer_sequence_get_layer_capture (sequence, 2) == captures[2]);
  g_assert_true (memra_layer_sequence_get_stream (sequence) == fixture.stream);
  fixture_assert_ran (&fixture, 0);
  for (guint run = 0; run < 2; run++)
    {
      replay (sequence);
      for (guint i = 0; i < G_N_ELEMENTS (captures); i++)
        expected = i % 2 == 0 ? expected + 2.0f : 2.0f * expected;
      memra_test_assert_floats (fixture.dst, fixture.stream, expected, FIXTURE_N);
    }
  if (memra_test_host_control () != NULL)
    memra_test_host_control ()->set_shuffle (0);
  g_assert_cmpuint (memra_layer_sequence_get_replays (sequence), ==, 2);
  g_assert_cmpuint (memra_layer_capture_get_replays (captures[0]), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS (captures); i++)
    memra_layer_capture_unref (captures[i]);
}

/* 61 layers, each with a position of its own, and each moved on by one with every launch. */
static void
test_once (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *captures[N_LAYERS];
  MemraBuffer *positions[N_LAYERS];
  g_autoptr (MemraLayerSequence) sequence = NULL;
  g_autoptr (GError) error = NULL;
  guint32 value = 0;

  fixture_init (&fixture);
  for (guint i = 0; i < N_LAYERS; i++)
    {
      Layer layer = { .fixture = &fixture, .source = fixture.src, .n_adds = 1 };

      layer.position = positions[i] = memra_buffer_new_from_host (fixture.stream, &i, sizeof i, &error);
      g_assert_no_error (error);
      captures[i] = capture (&layer, i);
    }
  sequence = sequence_new (&fixture, captures, N_LAYERS);
  for (guint run = 1; run <= 3; run++)
    {
      if (run < 3)
        replay (sequence);
      else
        g_assert_true (memra_layer_sequence_launch (sequence, &error));
      fixture_assert_ran (&fixture, run * N_LAYERS);
      for (guint i = 0; i < N_LAYERS; i++)
        {
          g_assert_true (memra_buffer_copy_to_host (positions[i], 0, &value, sizeof value, fixture.stream, &error));
          g_assert_cmpuint (value, ==, i + run);
        }
    }
  /* dst, src, and a position for each. */
  g_assert_cmpuint (_memra_live_set_get_size (sequence->live), ==, 2 + N_LAYERS);
  for (guint i = 0; i < N_LAYERS; i++)
    {
      memra_layer_capture_unref (captures[i]);
      memra_buffer_unref (positions[i]);
    }
}

/* However many layers use an allocation, it is asked for once. */
static void
test_one_query (void)
{
  g_auto (Fixture) fixture = { 0 };
  Layer layer = { .fixture = &fixture, .n_adds = 1 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  MemraLayerCapture *captures[N_LAYERS];
  g_autoptr (MemraLayerSequence) sequence = NULL;
  guint64 before;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  layer.source = fixture.src;
  kept = capture (&layer, 0);
  for (guint i = 0; i < N_LAYERS; i++)
    captures[i] = kept;
  sequence = sequence_new (&fixture, captures, N_LAYERS);
  before = memra_test_host_control ()->count_calls ("cuPointerGetAttributes");
  replay (sequence);
  g_assert_cmpuint (memra_test_host_control ()->count_calls ("cuPointerGetAttributes"), ==, before + 2);
  fixture_assert_ran (&fixture, N_LAYERS);
}

static void
test_census (void)
{
  g_auto (Fixture) fixture = { 0 };
  Layer layer = { .fixture = &fixture, .n_adds = 2 };
  g_autoptr (MemraLayerCapture) first = NULL;
  g_autoptr (MemraLayerCapture) second = NULL;
  g_autoptr (MemraLayerSequence) sequence = NULL;
  MemraCensus *census;

  fixture_init (&fixture);
  layer.source = fixture.src;
  first = capture (&layer, 0);
  second = capture (&layer, 7);
  sequence = sequence_new (&fixture, (MemraLayerCapture *[]){ first, second }, 2);
  census = memra_layer_sequence_get_census (sequence);
  g_assert_cmpuint (memra_census_get_n_top_level_nodes (census), ==, 2);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 6);
  g_assert_cmpuint (memra_census_get_count (census, "child-graph"), ==, 2);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, 4);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 2);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 3);
  g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, 0)), ==, "layer 0: sum");
  g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, 3)), ==,
                   "layer 7 (place 1): sum");
  g_assert_cmpuint (memra_kernel_node_get_depth (memra_census_get_kernel_node (census, 3)), ==, 1);
}

static void
test_stale (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *captures[3];
  g_autoptr (MemraLayerSequence) sequence = NULL;
  g_autoptr (GError) error = NULL;
  CUdeviceptr address = 0;

  fixture_init (&fixture);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuMemAlloc (&address, FIXTURE_BYTES));
  fixture_leave (&fixture);
  for (guint i = 0; i < G_N_ELEMENTS (captures); i++)
    {
      Layer layer = { .fixture = &fixture, .source = fixture.src, .n_adds = 2, .raw = i == 1 ? address : 0 };

      captures[i] = capture (&layer, i);
    }
  sequence = sequence_new (&fixture, captures, G_N_ELEMENTS (captures));
  g_assert_true (memra_layer_sequence_check (sequence, &error));
  g_assert_no_error (error);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuMemFree (address));
  fixture_leave (&fixture);
  g_assert_false (memra_layer_sequence_check (sequence, &error));
  assert_refused (
      &error, MEMRA_CAPTURE_ERROR_STALE, MEMRA_CAPTURE_STAGE_REPLAY,
      "layer 1: Kernel 0 memra_dsv4_add_inplace argument 1 points 0 bytes into an allocation of 1024 bytes");
  g_assert_false (memra_layer_sequence_replay (sequence, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_STALE, MEMRA_CAPTURE_STAGE_REPLAY, "has been freed");
  fixture_assert_ran (&fixture, 0);
  /* Nor is one put together of it. */
  g_assert_null (memra_layer_sequence_new (fixture.stream, captures, G_N_ELEMENTS (captures), NULL, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_STALE, MEMRA_CAPTURE_STAGE_STATUS, "layer 1: Kernel 0");
  for (guint i = 0; i < G_N_ELEMENTS (captures); i++)
    memra_layer_capture_unref (captures[i]);
}

static void
edit (MemraLayerCapture *kept, CUdeviceptr source)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraKernelEdit) batch = memra_kernel_edit_begin (kept, &error);

  g_assert_no_error (error);
  g_assert_true (memra_kernel_edit_set_argument (batch, 0, 1, &source, sizeof source, &error));
  g_assert_true (memra_kernel_edit_commit (batch, &error));
  g_assert_no_error (error);
}

/* An edit or an update of a layer: refused until the sequence is brought up to date. */
static void
test_outdated (void)
{
  g_auto (Fixture) fixture = { 0 };
  Layer layer = { .fixture = &fixture, .n_adds = 1 };
  g_autoptr (MemraBuffer) ten = NULL;
  g_autoptr (MemraLayerCapture) first = NULL;
  g_autoptr (MemraLayerCapture) second = NULL;
  g_autoptr (MemraLayerCapture) stranger = NULL;
  g_autoptr (MemraLayerSequence) sequence = NULL;
  g_autoptr (GError) error = NULL;
  MemraUpdateOutcome outcome;

  fixture_init (&fixture);
  ten = memra_test_buffer_filled (fixture.stream, 10.0f, FIXTURE_N);
  layer.source = fixture.src;
  first = capture (&layer, 0);
  second = capture (&layer, 1);
  stranger = capture (&layer, 2);
  sequence = sequence_new (&fixture, (MemraLayerCapture *[]){ first, second }, 2);
  replay (sequence); /* 1 + 2 + 2 */
  edit (stranger, memra_buffer_get_address (ten));
  replay (sequence); /* 9: an edit of another capture is none of its business */
  edit (second, memra_buffer_get_address (ten));
  g_assert_false (memra_layer_sequence_replay (sequence, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_OUTDATED, MEMRA_CAPTURE_STAGE_REPLAY, "layer 1 was updated or edited");
  g_assert_false (memra_layer_sequence_launch (sequence, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_OUTDATED, MEMRA_CAPTURE_STAGE_REPLAY, "memra_layer_sequence_update()");
  memra_test_assert_floats (fixture.dst, fixture.stream, 9.0f, FIXTURE_N);
  g_assert_true (memra_layer_sequence_update (sequence, MEMRA_UPDATE_IN_PLACE_ONLY, &outcome, &error));
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_UPDATED);
  replay (sequence); /* + 2 + 10 */
  memra_test_assert_floats (fixture.dst, fixture.stream, 21.0f, FIXTURE_N);
  g_assert_cmpuint (memra_census_get_n_allocations (memra_layer_sequence_get_census (sequence)), ==, 3);

  /* One kernel more: the driver refuses, and says why; the sequence stays what it was, and outdated. */
  layer.n_adds = 2;
  g_assert_true (memra_layer_capture_update (first, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, &layer, NULL, &error));
  g_assert_no_error (error);
  g_assert_false (memra_layer_sequence_update (sequence, MEMRA_UPDATE_IN_PLACE_ONLY, &outcome, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED, MEMRA_CAPTURE_STAGE_UPDATE, "the topology changed");
  g_assert_false (memra_layer_sequence_launch (sequence, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_OUTDATED, MEMRA_CAPTURE_STAGE_REPLAY, "layer 0");
  g_assert_true (memra_layer_sequence_update (sequence, MEMRA_UPDATE_OR_REINSTANTIATE, &outcome, &error));
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_REINSTANTIATED);
  replay (sequence); /* + 2 + 2 + 10 */
  memra_test_assert_floats (fixture.dst, fixture.stream, 35.0f, FIXTURE_N);
  fixture_assert_thread (&fixture);
}

static void
test_members_refused (void)
{
  g_auto (Fixture) fixture = { 0 };
  Layer layer = { .fixture = &fixture, .n_adds = 1 };
  g_autoptr (MemraLayerCapture) good = NULL;
  g_autoptr (MemraLayerCapture) closed = NULL;
  g_autoptr (MemraCaptureScope) scope = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  layer.source = fixture.src;
  good = capture (&layer, 0);
  closed = capture (&layer, 5);
  g_assert_true (memra_layer_capture_close (closed, &error));
  g_assert_null (memra_layer_sequence_new (fixture.stream, (MemraLayerCapture *[]){ good, closed }, 2, NULL, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_STATUS, "layer 5 (place 1): ");
  good->dirty = TRUE;
  g_assert_null (memra_layer_sequence_new (fixture.stream, &good, 1, NULL, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_DIRTY, MEMRA_CAPTURE_STAGE_STATUS, "layer 0: an edit failed half way");
  good->dirty = FALSE;
  g_assert_null (memra_layer_sequence_new (fixture.stream, NULL, 0, NULL, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, "empty");

  scope = memra_capture_scope_begin (fixture.stream, 3, NULL, &error);
  g_assert_no_error (error);
  g_assert_null (memra_layer_sequence_new (fixture.stream, &good, 1, NULL, &error));
  assert_refused (&error, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, "being captured");
  g_assert_cmpint (fixture_status (&fixture, fixture.stream), ==, MCU_CAPTURE_STATUS_ACTIVE);
  memra_capture_scope_abort (g_steal_pointer (&scope));
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_foreign_context (void)
{
  g_auto (Fixture) fixture = { 0 };
  Layer layer = { .fixture = &fixture, .n_adds = 1 };
  g_autoptr (MemraContext) other = NULL;
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;
  McuResult (*create) (CUcontext *, unsigned, CUdevice);
  McuResult (*destroy) (CUcontext);
  CUcontext raw = NULL, popped = NULL;
  MemraStream *stream;

  create = (McuResult (*) (CUcontext *, unsigned, CUdevice)) dlsym (memra_test_driver ()->handle, "cuCtxCreate_v2");
  destroy = (McuResult (*) (CUcontext)) dlsym (memra_test_driver ()->handle, "cuCtxDestroy_v2");
  fixture_init (&fixture);
  layer.source = fixture.src;
  kept = capture (&layer, 9);
  memra_test_assert_cu (create (&raw, 0, 0));
  memra_test_assert_cu (fixture.cu->cuCtxPopCurrent (&popped));
  other = memra_context_wrap (memra_test_driver (), raw, &error);
  g_assert_no_error (error);
  stream = memra_test_stream_new (other);
  g_assert_null (memra_layer_sequence_new (stream, &kept, 1, NULL, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT);
  assert_contains (error->message, "layer 9 (place 0)");
  fixture_assert_thread (&fixture);
  memra_stream_unref (stream);
  memra_test_assert_cu (destroy (raw));
}

static gboolean
allocating_body (MemraStream *stream, gpointer data, GError **error G_GNUC_UNUSED)
{
  Fixture *fixture = data;
  CUdeviceptr own = 0;

  memra_test_assert_cu (fixture->cu->cuMemAllocAsync (&own, 4096, memra_stream_get_cuda_stream (stream)));
  memra_test_assert_cu (fixture->cu->cuMemFreeAsync (own, memra_stream_get_cuda_stream (stream)));
  return TRUE;
}

static void
test_allocation_nodes (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  kept = memra_capture_layer_record (fixture.stream, 4, NULL, allocating_body, &fixture, &error);
  g_assert_no_error (error);
  g_assert_null (memra_layer_sequence_new (fixture.stream, &kept, 1, NULL, &error));
  g_assert_cmpint (memra_capture_error_get_cuda_result (error), ==, MCU_ERROR_NOT_SUPPORTED);
  assert_refused (&error, MEMRA_CAPTURE_ERROR_FAILED, MEMRA_CAPTURE_STAGE_ASSEMBLY,
                  "its graph allocates or frees memory");
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- The end ---- */

typedef struct
{
  gint destroyed; /* atomic */
  Gate *gate;     /* nullable */
  gboolean too_early;
} Kept;

static void
kept_destroy (gpointer data)
{
  Kept *kept = data;

  kept->too_early = kept->gate != NULL && !gate_is_open (kept->gate);
  g_atomic_int_inc (&kept->destroyed);
}

static gpointer
open_later (gpointer data)
{
  Kept *kept = data;

  gate_await_entered (kept->gate);
  fixture_linger (&kept->destroyed);
  gate_open (kept->gate);
  return NULL;
}

/* The capture is closed, its buffers are forgotten, and the sequence is dropped while it stands in the middle. */
static void
test_in_flight (gconstpointer by_close)
{
  g_auto (Fixture) fixture = { 0 };
  Gate gate;
  Layer layer = { .fixture = &fixture, .n_adds = 1, .gate = &gate };
  Kept kept = { 0, &gate, FALSE };
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *captured;
  MemraLayerSequence *sequence;
  GThread *opener;

  fixture_init (&fixture);
  gate_init (&gate);
  layer.source = memra_test_buffer_filled (fixture.stream, 2.0f, FIXTURE_N);
  captured = capture (&layer, 0);
  memra_buffer_unref (layer.source);
  memra_layer_capture_retain (captured, &kept, kept_destroy);
  sequence = sequence_new (&fixture, &captured, 1);
  g_assert_true (memra_layer_capture_close (captured, &error));
  g_assert_no_error (error);
  memra_layer_capture_unref (captured);
  g_assert_cmpint (g_atomic_int_get (&kept.destroyed), ==, 0);
  replay (sequence);
  opener = g_thread_new ("opener", open_later, &kept);
  if (GPOINTER_TO_INT (by_close))
    {
      g_assert_true (memra_layer_sequence_close (sequence, &error));
      g_assert_no_error (error);
      g_assert_true (memra_layer_sequence_close (sequence, &error));
      g_assert_false (memra_layer_sequence_replay (sequence, &error));
      assert_refused (&error, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_REPLAY, "the sequence was closed");
      g_assert_null (memra_layer_sequence_get_cuda_graph (sequence));
      g_assert_null (memra_layer_sequence_get_cuda_graph_exec (sequence));
      g_assert_false (memra_layer_sequence_update (sequence, MEMRA_UPDATE_IN_PLACE_ONLY, NULL, &error));
      assert_refused (&error, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_UPDATE, "the sequence was closed");
    }
  memra_layer_sequence_unref (sequence);
  g_thread_join (opener);
  g_assert_cmpint (kept.destroyed, ==, 1);
  g_assert_false (kept.too_early);
  gate_clear (&gate);
  fixture_assert_good_as_new (&fixture, 1);
}

static void
add_tests (void)
{
  g_test_summary ("A sequence runs all its layers in order and once, or says which layer keeps it from doing so.");
  memra_test_add ("/sequence/order", test_order);
  memra_test_add ("/sequence/once", test_once);
  memra_test_add ("/sequence/one-query", test_one_query);
  memra_test_add ("/sequence/census", test_census);
  memra_test_add ("/sequence/stale", test_stale);
  memra_test_add ("/sequence/outdated", test_outdated);
  memra_test_add ("/sequence/members-refused", test_members_refused);
  memra_test_add ("/sequence/foreign-context", test_foreign_context);
  memra_test_add ("/sequence/allocation-nodes", test_allocation_nodes);
  memra_test_add_data ("/sequence/in-flight/unref", GINT_TO_POINTER (0), test_in_flight);
  memra_test_add_data ("/sequence/in-flight/close", GINT_TO_POINTER (1), test_in_flight);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
