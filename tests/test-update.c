/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing a kept capture: update in place, and edits of its kernels. */
#include "config.h"

#include "capture-fixture.h"

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
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED, MEMRA_CAPTURE_STAGE_UPDATE, 910, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
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

  return bench->with_copy ? memra_buffer_copy (bench->fixture.dst, bench->source, stream, error) : body (stream, data, error);
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
  g_assert_false (memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, copy_or_add, &bench, NULL, &error));
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
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_UPDATE, 0, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
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
  assert_capture_error (error, 9, MEMRA_CAPTURE_ERROR_DIRTY, MEMRA_CAPTURE_STAGE_REPLAY, 0, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_clear_error (&error);
  memra_layer_capture_update (kept, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body, &bench, NULL, &error);
  g_assert_no_error (error);
  replay (&bench, kept);
  memra_test_assert_floats (bench.fixture.dst, bench.fixture.stream, 9.0f, FIXTURE_N);
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
  memra_test_add ("/kernel-edit/argument", test_edit);
  memra_test_add ("/kernel-edit/errors", test_edit_errors);
  memra_test_add ("/kernel-edit/rollback", test_edit_rollback);
  memra_test_add ("/kernel-edit/dirty", test_edit_dirty);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
