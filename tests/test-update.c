/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing a kept capture: update in place, and edits of its kernels. */
#include "config.h"

#include "capture-fixture.h"

#include "census/census-private.h"

#include <string.h>

typedef struct
{
  Fixture fixture;
  MemraBuffer *other; /* FIXTURE_N times 10 */
  MemraBuffer *host_side;
  guint n_adds;
  MemraBuffer *source;
  gboolean with_copy;
  gboolean fail;
} Bench;

static void
bench_init (Bench *bench)
{
  memset (bench, 0, sizeof *bench);
  fixture_init (&bench->fixture);
  bench->other = memra_test_buffer_filled (bench->fixture.stream, 10.0f, FIXTURE_N);
  bench->host_side = memra_test_buffer_filled (bench->fixture.stream, 0.0f, FIXTURE_N);
  bench->n_adds = 1;
  bench->source = bench->fixture.src;
}

static void
bench_clear (Bench *bench)
{
  memra_buffer_unref (bench->other);
  memra_buffer_unref (bench->host_side);
  fixture_clear (&bench->fixture);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Bench, bench_clear)

static gboolean
body (MemraStream *stream, gpointer data, GError **error)
{
  Bench *bench = data;

  bench->fixture.calls++;
  for (guint i = 0; i < bench->n_adds; i++)
    if (!memra_dsv4_add_inplace (bench->fixture.dsv4, stream, bench->fixture.dst, bench->source, FIXTURE_N, error))
      return FALSE;
  if (bench->with_copy && !memra_buffer_copy (bench->host_side, bench->fixture.dst, stream, error))
    return FALSE;
  if (bench->fail)
    g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_IO, "the weights are gone");
  return !bench->fail;
}

static MemraLayerCapture *
capture (Bench *bench)
{
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *capture = memra_capture_layer (bench->fixture.stream, 9, NULL, body, bench, &error);

  g_assert_no_error (error);
  return capture;
}

static void
replay (Bench *bench, MemraLayerCapture *capture)
{
  g_autoptr (GError) error = NULL;

  memra_layer_capture_replay (capture, &error);
  g_assert_no_error (error);
  memra_stream_synchronize (bench->fixture.stream, &error);
  g_assert_no_error (error);
}

static void
test_in_place (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;
  MemraUpdateOutcome outcome = MEMRA_UPDATE_REINSTANTIATED;
  struct CUgraphExec_st *exec;

  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  exec = memra_layer_capture_get_cuda_graph_exec (kept);
  bench.source = bench.other;
  g_assert_true (memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &bench, &outcome, &error));
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_UPDATED);
  g_assert_true (memra_layer_capture_get_cuda_graph_exec (kept) == exec);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 3.0f, FIXTURE_N); /* an update runs nothing */
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 13.0f, FIXTURE_N);
  g_assert_cmpuint (bench.fixture.calls, ==, 2);
  fixture_assert_thread (&bench.fixture);
}

/* What the new body used is kept, what the old one used is let go. */
static void
test_keeps_new_buffers (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  kept = capture (&bench);
  bench.source = memra_test_buffer_filled (bench.fixture.stream, 5.0f, FIXTURE_N);
  memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &bench, NULL, &error);
  g_assert_no_error (error);
  memra_buffer_unref (bench.source);
  replay (&bench, kept); /* checked: the buffer is alive */
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 8.0f, FIXTURE_N);
}

static void
test_refused (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  bench.n_adds = 2;
  g_assert_false (memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &bench, NULL, &error));
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED, MEMRA_CAPTURE_STAGE_UPDATE, 910,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "the topology changed");
  assert_contains (error->message, "as it was before");
  g_assert_cmpuint (memra_census_get_count (memra_layer_capture_get_census (kept), "kernel"), ==, 1);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 5.0f, FIXTURE_N);
  memra_test_assert_stream_usable (bench.fixture.stream);
}

static gboolean
copy_or_add (MemraStream *stream, gpointer data, GError **error)
{
  Bench *bench = data;

  return bench->with_copy ? memra_buffer_copy (bench->fixture.dst, bench->source, stream, error)
                          : body (stream, data, error);
}

static void
test_refused_node (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  bench.with_copy = TRUE;
  kept = memra_capture_layer (bench.fixture.stream, 9, NULL, copy_or_add, &bench, &error);
  g_assert_no_error (error);
  bench.with_copy = FALSE;
  g_assert_false (
      memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, copy_or_add, &bench, NULL, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED);
  assert_contains (error->message, "a node became one of another type: node memra_dsv4_add_inplace");
}

static void
test_or_reinstantiate (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;
  MemraUpdateOutcome outcome = MEMRA_UPDATE_UPDATED;

  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  bench.n_adds = 2;
  memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, &bench, &outcome, &error);
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_REINSTANTIATED);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 7.0f, FIXTURE_N);
  g_assert_cmpuint (memra_layer_capture_get_kernels (kept)->len, ==, 2);
}

static void
test_failing_body (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  kept = capture (&bench);
  bench.fail = TRUE;
  g_assert_false (memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, &bench, NULL, &error));
  assert_body_error (error, 9, G_FILE_ERROR, G_FILE_ERROR_IO, 0);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 5.0f, FIXTURE_N);
}

static void
test_closed (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;

  bench_init (&bench);
  kept = capture (&bench);
  g_assert_true (memra_layer_capture_close (kept, NULL));
  g_assert_false (memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, &bench, NULL, &error));
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_UPDATE, 0,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_cmpuint (bench.fixture.calls, ==, 1); /* the body is not issued in vain */
}

/* Updates that nothing is launched between: what the bodies before used does not pile up. */
static void
test_lets_go (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;
  guint64 n_allocations;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  kept = memra_capture_layer_record (bench.fixture.stream, 9, NULL, body, &bench, &error);
  g_assert_no_error (error);
  n_allocations = control->count_objects ("allocation");
  for (guint i = 0; i < 5; i++)
    {
      bench.source = memra_test_buffer_filled (bench.fixture.stream, 5.0f, FIXTURE_N);
      memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &bench, NULL, &error);
      g_assert_no_error (error);
      memra_buffer_unref (bench.source);
      g_assert_cmpuint (control->count_objects ("allocation"), ==, n_allocations + 1);
    }
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 6.0f, FIXTURE_N);
}

static void
test_edit (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;
  guint64 address, n = 0;
  guint kernel = 99, buffer;
  guint64 offset;

  bench_init (&bench);
  bench.n_adds = 2;
  kept = capture (&bench); /* 5 */
  edit = memra_kernel_edit_begin (kept, &error);
  g_assert_no_error (error);
  memra_kernel_edit_find (edit, FIXTURE_KERNEL, 1, &kernel, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (kernel, ==, 1);
  memra_kernel_edit_get_argument (edit, kernel, 2, &n, sizeof n, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, FIXTURE_N);
  address = memra_buffer_get_address (bench.other);
  memra_kernel_edit_set_argument (edit, kernel, 1, &address, sizeof address, &error);
  g_assert_no_error (error);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 5.0f, FIXTURE_N);
  replay (&bench, kept); /* not committed yet: 9 */
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 9.0f, FIXTURE_N);
  memra_kernel_edit_commit (edit, &error);
  g_assert_no_error (error);
  replay (&bench, kept); /* + 2 + 10 */
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 21.0f, FIXTURE_N);
  /* The census is that of the edited graph: another buffer than the first kernel's. */
  g_assert_true (memra_kernel_node_get_argument_pointer (
      memra_census_get_kernel_node (memra_layer_capture_get_census (kept), 1), 1, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 2);
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_EDIT);
}

static void
test_edit_errors (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;
  guint64 value = 0;
  guint kernel;

  bench_init (&bench);
  kept = capture (&bench);
  edit = memra_kernel_edit_begin (kept, &error);
  g_assert_no_error (error);

  g_assert_false (memra_kernel_edit_find (edit, "memra_dsv4_rope", 0, &kernel, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_EDIT);
  assert_contains (error->message, "no kernel ‘memra_dsv4_rope’ number 0");
  g_clear_error (&error);
  g_assert_false (memra_kernel_edit_set_argument (edit, 1, 0, &value, 8, &error));
  assert_contains (error->message, "there is no kernel 1 in the graph, which has 1");
  g_clear_error (&error);
  g_assert_false (memra_kernel_edit_set_argument (edit, 0, 2, &value, 4, &error));
  assert_contains (error->message, "argument 2 of kernel 0 memra_dsv4_add_inplace is 8 bytes wide, not 4");
  g_clear_error (&error);
  g_assert_false (memra_kernel_edit_set_argument (edit, 0, 3, &value, 8, &error));
  assert_contains (error->message, "has 3 arguments, and no argument 3");
  g_clear_error (&error);
  g_assert_true (memra_kernel_edit_commit (edit, &error)); /* nothing to do */
  g_assert_no_error (error);
}

/* The second of two edits is refused by the device: the first must be undone. */
static void
test_edit_rollback (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;
  const MemraDim3 grid = { 1, 1, 1 }, block = { 4096, 1, 1 };
  guint64 address;

  bench_init (&bench);
  bench.n_adds = 2;
  kept = capture (&bench); /* 5 */
  edit = memra_kernel_edit_begin (kept, &error);
  g_assert_no_error (error);
  address = memra_buffer_get_address (bench.other);
  g_assert_true (memra_kernel_edit_set_argument (edit, 0, 1, &address, sizeof address, &error));
  g_assert_true (memra_kernel_edit_set_geometry (edit, 1, &grid, &block, 0, &error));
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_EDIT);
  g_test_message ("%s", error->message);
  assert_contains (error->message, "kernel 1 memra_dsv4_add_inplace; everything was rolled back");
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 9.0f, FIXTURE_N);
}

static void
test_edit_dirty (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;
  guint64 address;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  bench.n_adds = 2;
  kept = capture (&bench); /* 5 */
  edit = memra_kernel_edit_begin (kept, &error);
  address = memra_buffer_get_address (bench.other);
  g_assert_true (memra_kernel_edit_set_argument (edit, 0, 1, &address, sizeof address, &error));
  g_assert_true (memra_kernel_edit_set_argument (edit, 1, 1, &address, sizeof address, &error));
  /* The second edit fails, and so does taking the first one back. */
  control->inject_fault_from ("cuGraphExecKernelNodeSetParams", 2, 1);
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  control->clear_faults ();
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_DIRTY);
  g_clear_error (&error);
  g_assert_false (memra_layer_capture_replay (kept, &error));
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_DIRTY, MEMRA_CAPTURE_STAGE_REPLAY, 0,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, &bench, NULL, &error);
  g_assert_no_error (error);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 9.0f, FIXTURE_N);
}

/* ---- More of edits ---- */

static void
set_source (MemraKernelEdit *edit, guint kernel, CUdeviceptr address)
{
  g_autoptr (GError) error = NULL;

  memra_kernel_edit_set_argument (edit, kernel, 1, &address, sizeof address, &error);
  g_assert_no_error (error);
}

/* One edit, committed. */
static void
edit_source (MemraLayerCapture *capture, guint kernel, CUdeviceptr address)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (capture, &error);

  g_assert_no_error (error);
  set_source (edit, kernel, address);
  memra_kernel_edit_commit (edit, &error);
  g_assert_no_error (error);
}

/* After an update in place the executable graph still goes by the nodes of the graph that it was made from. */
static void
test_edit_after_update (void)
{
  static const MemraUpdateFlags flags[] = { MEMRA_UPDATE_IN_PLACE_ONLY, MEMRA_UPDATE_OR_REINSTANTIATE };

  for (gsize i = 0; i < G_N_ELEMENTS (flags); i++)
    {
      g_auto (Bench) bench = { 0 };
      g_autoptr (MemraLayerCapture) kept = NULL;
      g_autoptr (GError) error = NULL;

      bench_init (&bench);
      bench.n_adds = 2;
      kept = capture (&bench); /* 5 */
      bench.n_adds = flags[i] == MEMRA_UPDATE_IN_PLACE_ONLY ? 2 : 3;
      memra_layer_capture_update (kept, NULL, flags[i], body, &bench, NULL, &error);
      g_assert_no_error (error);
      edit_source (kept, 1, memra_buffer_get_address (bench.other));
      replay (&bench, kept); /* + 2 + 10, or + 2 + 10 + 2 */
      memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, i == 0 ? 17.0f : 19.0f, FIXTURE_N);
      edit_source (kept, 0, memra_buffer_get_address (bench.other));
      edit_source (kept, 1, memra_buffer_get_address (bench.fixture.src));
      replay (&bench, kept); /* + 10 + 2, or + 10 + 2 + 2 */
      memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, i == 0 ? 29.0f : 33.0f, FIXTURE_N);
    }
}

/* ... and a refusal then is rolled back too. */
static void
test_edit_after_update_refused (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &bench, NULL, &error);
  g_assert_no_error (error);
  edit = memra_kernel_edit_begin (kept, &error);
  set_source (edit, 0, memra_buffer_get_address (bench.other));
  g_assert_cmpint (control->inject_fault ("cuGraphExecUpdate", 1, 910), ==, 0);
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  control->clear_faults ();
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_EDIT, MEMRA_CAPTURE_STAGE_UPDATE, 910,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "everything was rolled back");
  g_clear_error (&error);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 5.0f, FIXTURE_N);
  memra_kernel_edit_commit (edit, &error); /* the batch is still good */
  g_assert_no_error (error);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 15.0f, FIXTURE_N);
}

typedef struct
{
  Fixture *fixture;
  CUdeviceptr sources[3];
} Raw;

/* dst += each source, by address: the capture keeps none of them alive. */
static gboolean
raw_body (MemraStream *stream, gpointer data, GError **error)
{
  Raw *raw = data;

  for (gsize i = 0; i < G_N_ELEMENTS (raw->sources); i++)
    if (!fixture_add_raw (raw->fixture, stream, memra_buffer_get_address (raw->fixture->dst), raw->sources[i], error))
      return FALSE;
  return TRUE;
}

/* An edit of one kernel does not make a stale pointer of another look like a number. */
static void
test_edit_keeps_liveness (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;
  MemraBuffer *doomed;
  Raw raw;

  bench_init (&bench);
  doomed = memra_test_buffer_filled (bench.fixture.stream, 7.0f, FIXTURE_N);
  raw = (Raw){ &bench.fixture,
               { memra_buffer_get_address (bench.fixture.src), memra_buffer_get_address (doomed),
                 memra_buffer_get_address (bench.fixture.src) } };
  kept = memra_capture_layer (bench.fixture.stream, 9, NULL, raw_body, &raw, &error); /* 12 */
  g_assert_no_error (error);
  memra_buffer_unref (doomed);
  edit_source (kept, 0, memra_buffer_get_address (bench.other));
  g_assert_false (memra_layer_capture_replay (kept, &error));
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_STALE, MEMRA_CAPTURE_STAGE_REPLAY, 0,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "Kernel 1 memra_dsv4_add_inplace argument 1");
  g_clear_error (&error);
  /* Edited out, it no longer counts; what was put in does. */
  edit_source (kept, 1, memra_buffer_get_address (bench.host_side));
  replay (&bench, kept); /* + 10 + 0 + 2 */
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 24.0f, FIXTURE_N);
  memra_buffer_unref (g_steal_pointer (&bench.other));
  g_assert_false (memra_layer_capture_check (kept, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE);
  assert_contains (error->message, "Kernel 0 memra_dsv4_add_inplace argument 1");
}

/* Whoever holds the census from before an edit keeps it. */
static void
test_edit_census (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraCensus) before = NULL;
  g_autoptr (MemraCensus) between = NULL;
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autoptr (MemraCensusDiff) back = NULL;
  g_autofree char *text = NULL;
  g_autofree char *before_text = NULL;
  g_autofree char *after_text = NULL;

  bench_init (&bench);
  bench.n_adds = 3;
  kept = capture (&bench);
  before = memra_census_ref (memra_layer_capture_get_census (kept));
  before_text = memra_census_to_json (before);
  edit_source (kept, 1, memra_buffer_get_address (bench.other));
  between = memra_census_ref (memra_layer_capture_get_census (kept));
  g_assert_true (between != before);
  after_text = memra_census_to_json (before);
  g_assert_cmpstr (before_text, ==, after_text);
  diff = memra_census_diff (before, between);
  text = memra_census_diff_to_string (diff);
  g_assert_cmpstr (text, ==, "~ memra_dsv4_add_inplace: argument 1: buffer 1 + 0 -> a new buffer + 0 (at 1)\n");
  edit_source (kept, 1, memra_buffer_get_address (bench.fixture.src)); /* a copy of a copy */
  back = memra_census_diff (before, memra_layer_capture_get_census (kept));
  g_assert_cmpuint (memra_census_diff_get_n_changes (back), ==, 0);
  g_assert_true (memra_census_equal (before, memra_layer_capture_get_census (kept)));
  g_assert_false (memra_census_equal (before, between));
}

/* Also what no file holds: where allocations are, and who points at them first. */
static void
assert_same_allocations (const MemraCensus *a, const MemraCensus *b)
{
  g_assert_cmpuint (a->n_allocations, ==, b->n_allocations);
  g_assert_cmpuint (a->allocations->len, ==, b->allocations->len);
  for (guint i = 0; i < a->allocations->len; i++)
    {
      const MemraAllocation *x = &g_array_index (a->allocations, MemraAllocation, i);
      const MemraAllocation *y = &g_array_index (b->allocations, MemraAllocation, i);

      g_assert_cmpuint (x->start, ==, y->start);
      g_assert_cmpuint (x->end, ==, y->end);
      g_assert_cmpuint (x->id, ==, y->id);
      g_assert_cmpuint (x->user, ==, y->user);
      g_assert_cmpuint (x->user_index, ==, y->user_index);
      g_assert_cmpuint (x->user_argument, ==, y->user_argument);
      g_assert_cmpuint (x->user_at, ==, y->user_at);
      g_assert_cmpuint (x->user_offset, ==, y->user_offset);
    }
}

#define N_RANDOM 12

static gboolean
random_body (MemraStream *stream, gpointer data, GError **error)
{
  Bench *bench = data;

  for (guint i = 0; i < N_RANDOM; i++)
    if (!memra_dsv4_add_inplace (bench->fixture.dsv4, stream, bench->fixture.dst, bench->fixture.src, FIXTURE_N, error)
        || (i == N_RANDOM / 2 && !memra_buffer_copy (bench->host_side, bench->fixture.src, stream, error)))
      return FALSE;
  return TRUE;
}

/* A census that followed a thousand edits is the one that is read from the graph. */
static void
test_edit_census_random (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  g_autoptr (GError) error = NULL;
  CUdeviceptr addresses[6];

  bench_init (&bench);
  addresses[0] = memra_buffer_get_address (bench.fixture.src);
  addresses[1] = memra_buffer_get_address (bench.fixture.dst);
  addresses[2] = memra_buffer_get_address (bench.other);
  addresses[3] = memra_buffer_get_address (bench.host_side);
  addresses[4] = 0;
  addresses[5] = 12345;
  kept = memra_capture_layer_record (bench.fixture.stream, 0, NULL, random_body, &bench, &error);
  g_assert_no_error (error);
  for (guint round = 0; round < 1000; round++)
    {
      g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (kept, &error);
      g_autoptr (MemraCensus) held = NULL;
      g_autoptr (MemraCensus) fresh = NULL;
      guint n = g_rand_boolean (random) ? 1 : g_rand_int_range (random, 0, 5);

      g_assert_no_error (error);
      if (g_rand_boolean (random))
        held = memra_census_ref (memra_layer_capture_get_census (kept));
      for (guint i = 0; i < n; i++)
        {
          guint kernel = g_rand_int_range (random, 0, N_RANDOM), argument = g_rand_int_range (random, 0, 3);
          guint64 value = addresses[g_rand_int_range (random, 0, G_N_ELEMENTS (addresses))]
                          + (argument < 2 ? 4 * (round % 3) : 0);
          MemraDim3 grid = { 1 + round % 5, 1, 1 }, block = { 64, 1, 1 };

          memra_kernel_edit_set_argument (edit, kernel, argument, &value, sizeof value, &error);
          g_assert_no_error (error);
          if (round % 4 == 0)
            memra_kernel_edit_set_geometry (edit, kernel, &grid, &block, 0, &error);
          g_assert_no_error (error);
        }
      memra_kernel_edit_commit (edit, &error);
      g_assert_no_error (error);
      fresh = memra_census_new_from_graph (memra_test_driver (), memra_layer_capture_get_cuda_graph (kept), &error);
      g_assert_no_error (error);
      g_assert_true (memra_census_equal (fresh, memra_layer_capture_get_census (kept)));
      assert_same_allocations (fresh, memra_layer_capture_get_census (kept));
      g_assert_true (memra_layer_capture_check (kept, &error));
    }
}

/* Looking at an argument is no edit, and an edit costs no census. */
static void
test_edit_calls (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (GError) error = NULL;
  guint64 n_set, n_nodes, n_queries, n_params;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  bench.n_adds = 100;
  kept = capture (&bench);
  edit_source (kept, 0, memra_buffer_get_address (bench.other)); /* lists the nodes once */
  n_set = control->count_calls ("cuGraphExecKernelNodeSetParams");
  n_nodes = control->count_calls ("cuGraphNodeGetType");
  n_queries = control->count_calls ("cuPointerGetAttributes");
  n_params = control->count_calls ("cuGraphKernelNodeGetParams");
  for (guint i = 0; i < 10; i++)
    {
      g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (kept, &error);
      guint64 n;

      g_assert_no_error (error);
      for (guint k = 0; k < 20; k++)
        g_assert_true (memra_kernel_edit_get_argument (edit, k, 2, &n, sizeof n, &error));
      g_assert_cmpuint (n, ==, FIXTURE_N);
      set_source (edit, 7, memra_buffer_get_address (i % 2 == 0 ? bench.other : bench.fixture.src));
      memra_kernel_edit_commit (edit, &error);
      g_assert_no_error (error);
    }
  g_assert_cmpuint (control->count_calls ("cuGraphExecKernelNodeSetParams"), ==, n_set + 10);
  g_assert_cmpuint (control->count_calls ("cuGraphNodeGetType"), ==, n_nodes);
  g_assert_cmpuint (control->count_calls ("cuPointerGetAttributes"), ==, n_queries + 10);
  g_assert_cmpuint (control->count_calls ("cuGraphKernelNodeGetParams"), ==, n_params + 200);
}

/* Of two batches that are begun side by side the second to be committed is refused; so is one that an update overtakes,
 * before it touches a node that is gone. */
static void
test_edit_overtaken (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) first = NULL;
  g_autoptr (MemraKernelEdit) second = NULL;
  g_autoptr (MemraKernelEdit) third = NULL;
  g_autoptr (GError) error = NULL;
  guint64 n;

  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  first = memra_kernel_edit_begin (kept, &error);
  second = memra_kernel_edit_begin (kept, &error);
  set_source (first, 0, memra_buffer_get_address (bench.other));
  set_source (second, 0, memra_buffer_get_address (bench.host_side));
  g_assert_true (memra_kernel_edit_commit (first, &error));
  g_assert_false (memra_kernel_edit_commit (second, &error));
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_EDIT, MEMRA_CAPTURE_STAGE_UPDATE, 0, MEMRA_EXECUTION_NOT_EXECUTED,
                        TRUE);
  g_clear_error (&error);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 13.0f, FIXTURE_N);

  third = memra_kernel_edit_begin (kept, &error);
  memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &bench, NULL, &error);
  g_assert_no_error (error);
  g_assert_false (memra_kernel_edit_get_argument (third, 0, 2, &n, sizeof n, &error));
  assert_contains (error->message, "updated or edited since this batch began");
  g_clear_error (&error);
  g_assert_true (memra_layer_capture_close (kept, &error));
  g_assert_false (memra_kernel_edit_get_argument (third, 0, 2, &n, sizeof n, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_CLOSED);
  g_clear_error (&error);
  g_assert_null (memra_kernel_edit_begin (kept, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_CLOSED);
}

/* More look-ups than go through the list. */
static void
test_edit_find (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;
  guint kernel = 0;

  bench_init (&bench);
  bench.n_adds = 30;
  kept = capture (&bench);
  edit = memra_kernel_edit_begin (kept, &error);
  for (guint i = 0; i < 30; i++)
    {
      g_assert_true (memra_kernel_edit_find (edit, FIXTURE_KERNEL, i, &kernel, &error));
      g_assert_cmpuint (kernel, ==, i);
    }
  g_assert_false (memra_kernel_edit_find (edit, FIXTURE_KERNEL, 30, &kernel, &error));
  assert_contains (error->message, "number 30 in the graph, which has 30 of them");
  g_clear_error (&error);
  g_assert_false (memra_kernel_edit_find (edit, "memra_dsv4_rope", 0, &kernel, &error));
  assert_contains (error->message, "number 0 in the graph, which has 0 of them");
}

/* A dirty capture is not edited further, and its check says so. */
static void
test_edit_dirty_more (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  kept = capture (&bench);
  edit = memra_kernel_edit_begin (kept, &error);
  set_source (edit, 0, memra_buffer_get_address (bench.other));
  g_assert_cmpint (control->inject_fault ("cuGraphKernelNodeSetParams", 1, 999), ==, 0);
  g_assert_cmpint (control->inject_fault ("cuGraphExecKernelNodeSetParams", 2, 999), ==, 0);
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  control->clear_faults ();
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_DIRTY);
  g_clear_error (&error);
  g_assert_false (memra_layer_capture_check (kept, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_DIRTY);
  g_clear_error (&error);
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_DIRTY);
  g_clear_error (&error);
  g_assert_null (memra_kernel_edit_begin (kept, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_DIRTY);
}

/* A query that fails while the census is made ready leaves everything as it was. */
static void
test_edit_query_fails (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  edit = memra_kernel_edit_begin (kept, &error);
  set_source (edit, 0, memra_buffer_get_address (bench.other));
  g_assert_cmpint (control->inject_fault ("cuPointerGetAttributes", 1, 999), ==, 0);
  g_assert_false (memra_kernel_edit_commit (edit, &error));
  control->clear_faults ();
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_EDIT, MEMRA_CAPTURE_STAGE_UPDATE, 999,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 5.0f, FIXTURE_N);
}

/* Arguments that are read back are copies. */
static void
test_edit_copies (void)
{
  g_auto (Bench) bench = { 0 };
  g_autoptr (MemraLayerCapture) kept = NULL;
  g_autoptr (MemraKernelEdit) edit = NULL;
  g_autoptr (GError) error = NULL;
  guint64 n = 0, again = 0;

  bench_init (&bench);
  kept = capture (&bench); /* 3 */
  edit = memra_kernel_edit_begin (kept, &error);
  g_assert_true (memra_kernel_edit_get_argument (edit, 0, 2, &n, sizeof n, &error));
  n = 0;
  g_assert_true (memra_kernel_edit_get_argument (edit, 0, 2, &again, sizeof again, &error));
  g_assert_cmpuint (again, ==, FIXTURE_N);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 5.0f, FIXTURE_N);
}

static void
add_tests (void)
{
  g_test_summary ("A kept capture is changed as a whole or not at all.");
  memra_test_add ("/update/in-place", test_in_place);
  memra_test_add ("/update/keeps-new-buffers", test_keeps_new_buffers);
  memra_test_add ("/update/refused", test_refused);
  memra_test_add ("/update/refused-node", test_refused_node);
  memra_test_add ("/update/or-reinstantiate", test_or_reinstantiate);
  memra_test_add ("/update/failing-body", test_failing_body);
  memra_test_add ("/update/closed", test_closed);
  memra_test_add ("/update/lets-go", test_lets_go);
  memra_test_add ("/kernel-edit/argument", test_edit);
  memra_test_add ("/kernel-edit/errors", test_edit_errors);
  memra_test_add ("/kernel-edit/rollback", test_edit_rollback);
  memra_test_add ("/kernel-edit/dirty", test_edit_dirty);
  memra_test_add ("/kernel-edit/dirty-more", test_edit_dirty_more);
  memra_test_add ("/kernel-edit/after-update", test_edit_after_update);
  memra_test_add ("/kernel-edit/after-update-refused", test_edit_after_update_refused);
  memra_test_add ("/kernel-edit/keeps-liveness", test_edit_keeps_liveness);
  memra_test_add ("/kernel-edit/census", test_edit_census);
  memra_test_add ("/kernel-edit/census-random", test_edit_census_random);
  memra_test_add ("/kernel-edit/calls", test_edit_calls);
  memra_test_add ("/kernel-edit/overtaken", test_edit_overtaken);
  memra_test_add ("/kernel-edit/find", test_edit_find);
  memra_test_add ("/kernel-edit/query-fails", test_edit_query_fails);
  memra_test_add ("/kernel-edit/copies", test_edit_copies);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
