/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Censuses of real graphs, captured and made by hand, on the driver of the run. */
#include "config.h"

#include "capture-fixture.h"

#include "census/census-private.h"

#include <dlfcn.h>
#include <string.h>

/* Entry points that only these tests need, by their exported names. */
typedef struct
{
  McuResult (*graph_create) (CUgraph *graph, unsigned flags);
  McuResult (*add_kernel) (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t n,
                           const McuKernelNodeParams *params);
  McuResult (*add_empty) (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t n);
  McuResult (*add_dependencies) (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n);
  McuResult (*add_node) (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                         size_t n, McuNodeParams *params);
  McuResult (*conditional_handle) (unsigned long long *handle, CUgraph graph, CUcontext context, unsigned value,
                                   unsigned flags);
  McuResult (*memset_2d) (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                          CUstream stream);
  McuResult (*copy_unified) (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream);
} Extra;

typedef struct
{
  Fixture fixture;
  Extra extra;
  CUmodule module;
  CUfunction add; /* (float *, const float *, unsigned long long) */
} Raw;

static void *
get_entry (const char *name)
{
  void *entry = dlsym (memra_test_driver ()->handle, name);

  g_assert_nonnull (entry);
  return entry;
}

static void
raw_init (Raw *raw)
{
  fixture_init (&raw->fixture);
  fixture_enter (&raw->fixture);
  raw->module = fixture_load_raw_module (&raw->fixture);
  memra_test_assert_cu (raw->fixture.cu->cuModuleGetFunction (&raw->add, raw->module, FIXTURE_KERNEL));
  raw->extra.graph_create = get_entry ("cuGraphCreate");
  raw->extra.add_kernel = get_entry ("cuGraphAddKernelNode_v2");
  raw->extra.add_empty = get_entry ("cuGraphAddEmptyNode");
  raw->extra.add_dependencies = get_entry ("cuGraphAddDependencies");
  raw->extra.add_node = get_entry ("cuGraphAddNode_v2");
  raw->extra.conditional_handle = get_entry ("cuGraphConditionalHandleCreate");
  raw->extra.memset_2d = get_entry ("cuMemsetD2D8Async");
  raw->extra.copy_unified = get_entry ("cuMemcpyAsync");
}

static void
raw_clear (Raw *raw)
{
  if (raw->fixture.cu == NULL) /* the test was skipped */
    return;
  memra_test_assert_cu (raw->fixture.cu->cuModuleUnload (raw->module));
  fixture_leave (&raw->fixture);
  fixture_clear (&raw->fixture);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Raw, raw_clear)

static CUstream
raw_stream (Raw *raw)
{
  return memra_stream_get_cuda_stream (raw->fixture.stream);
}

static void
raw_begin (Raw *raw)
{
  memra_test_assert_cu (raw->fixture.cu->cuStreamBeginCapture (raw_stream (raw), MCU_CAPTURE_MODE_RELAXED));
}

static CUgraph
raw_end (Raw *raw)
{
  CUgraph graph = NULL;

  memra_test_assert_cu (raw->fixture.cu->cuStreamEndCapture (raw_stream (raw), &graph));
  return graph;
}

static CUdeviceptr
raw_address (MemraBuffer *buffer)
{
  return memra_buffer_get_address (buffer);
}

/* One launch into the stream. */
static void
raw_add (Raw *raw, CUdeviceptr dst, CUdeviceptr src, guint64 n, unsigned grid)
{
  void *parameters[] = { &dst, &src, &n };

  memra_test_assert_cu (
      raw->fixture.cu->cuLaunchKernel (raw->add, grid, 1, 1, 64, 1, 1, 0, raw_stream (raw), parameters, NULL));
}

static CUgraphNode
raw_kernel_node (Raw *raw, CUgraph graph, guint64 n, const CUgraphNode *dependencies, size_t n_dependencies)
{
  CUdeviceptr dst = raw_address (raw->fixture.dst), src = raw_address (raw->fixture.src);
  void *parameters[] = { &dst, &src, &n };
  McuKernelNodeParams params = { .func = raw->add,
                                 .grid_x = 1,
                                 .grid_y = 1,
                                 .grid_z = 1,
                                 .block_x = 32,
                                 .block_y = 1,
                                 .block_z = 1,
                                 .kernel_params = parameters };
  CUgraphNode node = NULL;

  memra_test_assert_cu (raw->extra.add_kernel (&node, graph, dependencies, n_dependencies, &params));
  return node;
}

static MemraCensus *
take (CUgraph graph)
{
  g_autoptr (GError) error = NULL;
  MemraCensus *census = memra_census_new_from_graph (memra_test_driver (), graph, &error);

  g_assert_no_error (error);
  g_assert_nonnull (census);
  return census;
}

/* The kernels' third argument, a plain number that tells them apart here. */
static char *
numbers (MemraCensus *census)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < memra_census_get_n_kernel_nodes (census); i++)
    {
      const MemraKernelNode *kernel = memra_census_get_kernel_node (census, i);
      gsize size;
      guint64 n;

      g_assert_cmpstr (memra_kernel_node_get_name (kernel), ==, FIXTURE_KERNEL);
      g_assert_cmpuint (memra_kernel_node_get_n_arguments (kernel), ==, 3);
      g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 2), ==, MEMRA_ARGUMENT_BYTES);
      memcpy (&n, memra_kernel_node_get_argument_bytes (kernel, 2, &size), sizeof n);
      g_assert_cmpuint (size, ==, sizeof n);
      g_string_append_printf (text, "%s%" G_GUINT64_FORMAT, i > 0 ? " " : "", n);
    }
  return g_string_free (text, FALSE);
}

static void
assert_numbers (MemraCensus *census, const char *wanted)
{
  g_autofree char *text = numbers (census);

  g_assert_cmpstr (text, ==, wanted);
}

static gboolean
has_hazard (MemraCensus *census, const char *kind)
{
  for (guint i = 0; i < memra_census_get_n_hazards (census); i++)
    if (strcmp (memra_census_get_hazard (census, i, NULL), kind) == 0)
      return TRUE;
  return FALSE;
}

static void
assert_round_trip (MemraCensus *census)
{
  g_autofree char *text = memra_census_to_json (census);
  g_autofree char *again = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) loaded = memra_census_from_json (text, -1, &error);

  g_assert_no_error (error);
  again = memra_census_to_json (loaded);
  g_assert_cmpstr (text, ==, again);
}

/* ---- Captured ---- */

static void
test_captured (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  const MemraKernelNode *kernel;
  guint32 shared;
  MemraDim3 grid, block;
  guint64 offset;
  guint buffer;
  CUgraph graph;

  raw_init (&raw);
  raw_begin (&raw);
  raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), 8, 2);
  raw_add (&raw, raw_address (raw.fixture.src) + 16, raw_address (raw.fixture.dst), 9, 3);
  graph = raw_end (&raw);
  census = take (graph);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph)); /* nothing of it is needed any more */

  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 2);
  g_assert_cmpuint (memra_census_get_n_top_level_nodes (census), ==, 2);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, 2);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 1);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 2);
  g_assert_cmpuint (memra_census_get_n_hazards (census), ==, 0);
  assert_numbers (census, "8 9");
  kernel = memra_census_get_kernel_node (census, 1);
  memra_kernel_node_get_geometry (kernel, &grid, &block, &shared);
  g_assert_cmpuint (grid.x, ==, 3);
  g_assert_cmpuint (grid.y, ==, 1);
  g_assert_cmpuint (block.x, ==, 64);
  g_assert_cmpuint (shared, ==, 0);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 0, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 1); /* src came second in the first kernel */
  g_assert_cmpuint (offset, ==, 16);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 1, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 0);
  g_assert_cmpuint (offset, ==, 0);
  assert_round_trip (census);
}

/* No context is needed, and none is left behind. */
static void
test_no_context (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUcontext current = NULL, back = NULL;
  CUgraph graph;

  raw_init (&raw);
  raw_begin (&raw);
  raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), 8, 1);
  graph = raw_end (&raw);
  memra_test_assert_cu (raw.fixture.cu->cuCtxGetCurrent (&current));
  memra_test_assert_cu (raw.fixture.cu->cuCtxSetCurrent (NULL));
  census = take (graph);
  memra_test_assert_cu (raw.fixture.cu->cuCtxGetCurrent (&back));
  g_assert_null (back);
  memra_test_assert_cu (raw.fixture.cu->cuCtxSetCurrent (current));
  assert_numbers (census, "8");
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 2);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

/* Of a graph that is being captured, without hurting the capture. */
static void
test_under_capture (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUgraph graph = NULL;
  int status;

  raw_init (&raw);
  raw_begin (&raw);
  raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), 8, 1);
  memra_test_assert_cu (
      raw.fixture.cu->cuStreamGetCaptureInfo_v2 (raw_stream (&raw), &status, NULL, &graph, NULL, NULL));
  census = take (graph);
  assert_numbers (census, "8");
  raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), 9, 1);
  graph = raw_end (&raw);
  g_clear_pointer (&census, memra_census_unref);
  census = take (graph);
  assert_numbers (census, "8 9");
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

static gboolean
marked_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = data;

  return fixture_add (fixture, stream, error) && memra_stream_mark (stream, "attention", error)
         && fixture_add (fixture, stream, error) && fixture_add (fixture, stream, error)
         && memra_stream_mark (stream, "ffn", error) && fixture_add (fixture, stream, error);
}

static void
test_sections (void)
{
  static const char *const wanted[] = { NULL, "attention", "attention", "ffn" };
  g_auto (Fixture) fixture;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraCensus *census;

  fixture_init (&fixture);
  capture = memra_capture_layer (fixture.stream, 5, NULL, marked_body, &fixture, &error);
  g_assert_no_error (error);
  census = memra_layer_capture_get_census (capture);
  g_assert_cmpuint (memra_census_get_layer (census), ==, 5);
  g_assert_cmpuint (memra_census_get_n_kernel_nodes (census), ==, G_N_ELEMENTS (wanted));
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, i)), ==, wanted[i]);
  assert_round_trip (census);
}

/* The same work twice, in other memory, is the same census. */
static void
test_same_twice (void)
{
  g_auto (Raw) raw = { 0 };
  g_autofree char *text = NULL;

  raw_init (&raw);
  for (guint run = 0; run < 2; run++)
    {
      g_autoptr (MemraBuffer) other = memra_test_buffer_filled (raw.fixture.stream, 1.0f, FIXTURE_N);
      g_autoptr (MemraCensus) census = NULL;
      CUgraph graph;

      raw_begin (&raw);
      raw_add (&raw, raw_address (run == 0 ? raw.fixture.dst : other), raw_address (raw.fixture.src), 8, 1);
      raw_add (&raw, raw_address (run == 0 ? raw.fixture.dst : other) + 64, raw_address (raw.fixture.src), 8, 1);
      graph = raw_end (&raw);
      census = take (graph);
      if (run == 0)
        text = memra_census_to_json (census);
      else
        {
          g_autofree char *again = memra_census_to_json (census);

          g_assert_cmpstr (text, ==, again);
        }
      memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
    }
}

/* Arguments in one packed buffer read as those given one by one. */
static void
test_extra (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  guint64 packed[3];
  size_t size = sizeof packed;
  void *extra[]
      = { MCU_LAUNCH_PARAM_BUFFER_POINTER, packed, MCU_LAUNCH_PARAM_BUFFER_SIZE, &size, MCU_LAUNCH_PARAM_END };
  CUgraph graph;
  guint buffer;

  raw_init (&raw);
  packed[0] = raw_address (raw.fixture.dst);
  packed[1] = raw_address (raw.fixture.src);
  packed[2] = 11;
  raw_begin (&raw);
  memra_test_assert_cu (raw.fixture.cu->cuLaunchKernel (raw.add, 1, 1, 1, 1, 1, 1, 0, raw_stream (&raw), NULL, extra));
  graph = raw_end (&raw);
  census = take (graph);
  assert_numbers (census, "11");
  g_assert_true (memra_kernel_node_get_argument_pointer (memra_census_get_kernel_node (census, 0), 1, &buffer, NULL));
  g_assert_cmpuint (buffer, ==, 1);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

static void
no_host_function (void *data G_GNUC_UNUSED)
{
}

static void
test_copies (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  g_autofree float *pageable = g_new0 (float, FIXTURE_N);
  CUdeviceptr dst, src;
  void *pinned = NULL;
  guint64 bytes;
  CUgraph graph;

  raw_init (&raw);
  dst = raw_address (raw.fixture.dst);
  src = raw_address (raw.fixture.src);
  memra_test_assert_cu (raw.fixture.cu->cuMemHostAlloc (&pinned, 4096, 0));
  raw_begin (&raw);
  memra_test_assert_cu (raw.fixture.cu->cuMemcpyHtoDAsync (dst, pageable, 100, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuMemcpyHtoDAsync (dst, pinned, 100, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuMemcpyDtoHAsync (pageable, dst, 96, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuMemcpyDtoDAsync (dst, src + 8, 64, raw_stream (&raw)));
  memra_test_assert_cu (raw.extra.copy_unified (dst, GPOINTER_TO_SIZE (pinned) + 32, 60, raw_stream (&raw)));
  memra_test_assert_cu (raw.extra.copy_unified (dst, src, 56, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuMemsetD8Async (dst, 7, 1000, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuMemsetD32Async (dst, 0x01020304, 100, raw_stream (&raw)));
  memra_test_assert_cu (raw.extra.memset_2d (dst, 64, 1, 16, 4, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuLaunchHostFunc (raw_stream (&raw), no_host_function, NULL));
  graph = raw_end (&raw);
  census = take (graph);

  g_assert_cmpuint (memra_census_get_n_copies (census), ==, 9);
  g_assert_cmpint (memra_census_get_copy (census, 0, &bytes), ==, MEMRA_COPY_HOST_TO_DEVICE);
  g_assert_cmpuint (bytes, ==, 100);
  g_assert_cmpint (memra_census_get_copy (census, 1, NULL), ==, MEMRA_COPY_HOST_TO_DEVICE);
  g_assert_cmpint (memra_census_get_copy (census, 2, &bytes), ==, MEMRA_COPY_DEVICE_TO_HOST);
  g_assert_cmpuint (bytes, ==, 96);
  g_assert_cmpint (memra_census_get_copy (census, 3, NULL), ==, MEMRA_COPY_DEVICE_TO_DEVICE);
  g_assert_cmpint (memra_census_get_copy (census, 4, NULL), ==, MEMRA_COPY_HOST_TO_DEVICE);
  g_assert_cmpint (memra_census_get_copy (census, 5, NULL), ==, MEMRA_COPY_DEVICE_TO_DEVICE);
  for (guint i = 6; i < 9; i++)
    g_assert_cmpint (memra_census_get_copy (census, i, NULL), ==, MEMRA_COPY_FILL);
  memra_census_get_copy (census, 6, &bytes);
  g_assert_cmpuint (bytes, ==, 1000);
  memra_census_get_copy (census, 7, &bytes);
  g_assert_cmpuint (bytes, ==, 400);
  memra_census_get_copy (census, 8, &bytes);
  g_assert_cmpuint (bytes, ==, 64);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 3); /* dst, pinned, src */
  g_assert_cmpuint (memra_census_get_n_hazards (census), ==, 3);
  g_assert_cmpstr (memra_census_get_hazard (census, 0, NULL), ==, "pageable-source");
  g_assert_cmpstr (memra_census_get_hazard (census, 1, NULL), ==, "device-to-host-pageable");
  g_assert_cmpstr (memra_census_get_hazard (census, 2, NULL), ==, "host-node");
  g_assert_cmpuint (memra_census_get_hazard_node (census, 2), ==, 9);
  assert_round_trip (census);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
  memra_test_assert_cu (raw.fixture.cu->cuMemFreeHost (pinned));
}

static void
test_graph_memory (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUdeviceptr own = 0, kept = 0;
  CUgraph graph;
  guint buffer;

  raw_init (&raw);
  raw_begin (&raw);
  memra_test_assert_cu (raw.fixture.cu->cuMemAllocAsync (&own, 3000, raw_stream (&raw)));
  raw_add (&raw, own, raw_address (raw.fixture.src), 8, 1);
  memra_test_assert_cu (raw.fixture.cu->cuMemFreeAsync (own, raw_stream (&raw)));
  memra_test_assert_cu (raw.fixture.cu->cuMemAllocAsync (&kept, 512, raw_stream (&raw)));
  graph = raw_end (&raw);
  census = take (graph);
  g_assert_cmpuint (memra_census_get_count (census, "mem-alloc"), ==, 2);
  g_assert_cmpuint (memra_census_get_count (census, "mem-free"), ==, 1);
  g_assert_true (memra_kernel_node_get_argument_pointer (memra_census_get_kernel_node (census, 0), 0, &buffer, NULL));
  g_assert_cmpuint (buffer, ==, 0);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 3);
  g_assert_cmpuint (memra_census_get_n_hazards (census), ==, 1);
  g_assert_cmpstr (memra_census_get_hazard (census, 0, NULL), ==, "unbalanced-allocation");
  g_assert_cmpuint (memra_census_get_hazard_node (census, 0), ==, 3);
  assert_round_trip (census);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

/* ---- Made by hand ---- */

static void
test_by_hand (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUgraphNode last, middle, first, free_node, from[2], to[2];
  CUgraph graph = NULL;

  raw_init (&raw);
  memra_test_assert_cu (raw.extra.graph_create (&graph, 0));
  last = raw_kernel_node (&raw, graph, 4, NULL, 0);
  free_node = raw_kernel_node (&raw, graph, 1, NULL, 0);
  middle = raw_kernel_node (&raw, graph, 3, NULL, 0);
  first = raw_kernel_node (&raw, graph, 2, NULL, 0);
  from[0] = middle;
  to[0] = last;
  from[1] = first;
  to[1] = middle;
  memra_test_assert_cu (raw.extra.add_dependencies (graph, from, to, 2));
  g_assert_nonnull (free_node);
  census = take (graph);
  assert_numbers (census, "1 2 3 4");
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 2);
  assert_round_trip (census);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

static void
test_fork_join (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUgraphNode root, arms[3], join;
  CUgraph graph = NULL;

  raw_init (&raw);
  memra_test_assert_cu (raw.extra.graph_create (&graph, 0));
  root = raw_kernel_node (&raw, graph, 1, NULL, 0);
  for (guint i = 0; i < 3; i++)
    arms[i] = raw_kernel_node (&raw, graph, 2 + i, &root, 1);
  memra_test_assert_cu (raw.extra.add_empty (&join, graph, arms, 3));
  raw_kernel_node (&raw, graph, 5, &join, 1);
  census = take (graph);
  assert_numbers (census, "1 2 3 4 5");
  g_assert_cmpuint (memra_census_get_count (census, "empty"), ==, 1);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 7);
  assert_round_trip (census);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

static void
test_children (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUgraph graph = NULL, child = NULL;
  CUgraphNode nodes[3];

  raw_init (&raw);
  memra_test_assert_cu (raw.extra.graph_create (&child, 0));
  nodes[0] = raw_kernel_node (&raw, child, 7, NULL, 0);
  raw_kernel_node (&raw, child, 8, nodes, 1);
  memra_test_assert_cu (raw.extra.graph_create (&graph, 0));
  memra_test_assert_cu (raw.fixture.cu->cuGraphAddChildGraphNode (&nodes[0], graph, NULL, 0, child));
  nodes[1] = raw_kernel_node (&raw, graph, 1, nodes, 1);
  memra_test_assert_cu (raw.fixture.cu->cuGraphAddChildGraphNode (&nodes[2], graph, nodes + 1, 1, child));
  census = take (graph);
  assert_numbers (census, "7 8 1 7 8");
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 7);
  g_assert_cmpuint (memra_census_get_n_top_level_nodes (census), ==, 3);
  g_assert_cmpuint (memra_kernel_node_get_depth (memra_census_get_kernel_node (census, 1)), ==, 1);
  g_assert_cmpuint (memra_kernel_node_get_depth (memra_census_get_kernel_node (census, 2)), ==, 0);
  assert_round_trip (census);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (child));
}

static CUgraph
make_conditional (Raw *raw)
{
  McuNodeParams params = { .type = MCU_NODE_CONDITIONAL };
  CUgraphNode node, inner;
  CUgraph graph = NULL;

  memra_test_assert_cu (raw->extra.graph_create (&graph, 0));
  params.u.conditional.type = MCU_COND_IF;
  params.u.conditional.size = 1;
  params.u.conditional.ctx = memra_context_get_cuda_context (raw->fixture.context);
  memra_test_assert_cu (
      raw->extra.conditional_handle (&params.u.conditional.handle, graph, params.u.conditional.ctx, 1, 1));
  memra_test_assert_cu (raw->extra.add_node (&node, graph, NULL, NULL, 0, &params));
  inner = raw_kernel_node (raw, params.u.conditional.graphs_out[0], 2, NULL, 0);
  raw_kernel_node (raw, params.u.conditional.graphs_out[0], 3, &inner, 1);
  raw_kernel_node (raw, graph, 4, &node, 1);
  return graph;
}

/* Opened, or marked as closed; and from a dump only if the driver has no getter. */
static void
test_conditional (void)
{
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  g_autofree char *text = NULL;
  gboolean has_getter = memra_test_cu ()->cuGraphNodeGetParams != NULL;
  CUgraph graph;

  if (memra_driver_get_version (memra_test_driver ()) < 12030)
    {
      g_test_skip ("needs conditional nodes (driver 12.3)");
      return;
    }
  raw_init (&raw);
  graph = make_conditional (&raw);
  census = take (graph);
  text = memra_census_to_string (census);
  g_test_message ("%s", text);
  g_assert_cmpuint (memra_census_get_count (census, "conditional"), ==, 1);
  if (has_hazard (census, "opaque-node"))
    {
      g_assert_false (has_getter);
      assert_numbers (census, "4");
      g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 2);
    }
  else
    {
      assert_numbers (census, "2 3 4");
      g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 4);
      g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 2);
      g_assert_true ((strstr (text, "debug dump") != NULL) == !has_getter);
    }
  assert_round_trip (census);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

/* ---- Versions ---- */

/* Each older driver tells less, and the census says so instead of guessing. */
static void
test_versions (void)
{
  static const int versions[] = { 11040, 11080, 12000, 12020, 12030, 12040, 12080, 13000, 13020 };
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Raw) raw = { 0 };
  CUgraph graph;

  if (!memra_test_need_host ())
    return;
  raw_init (&raw);
  raw_begin (&raw);
  raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), 8, 1);
  raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), 9, 1);
  graph = raw_end (&raw);
  for (guint i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autoptr (MemraDriver) driver = NULL;
      g_autoptr (MemraCensus) census = NULL;
      g_autoptr (GError) error = NULL;
      const MemraKernelNode *kernel;

      g_assert_cmpint (control->set_driver_version (versions[i]), ==, 0);
      driver = memra_driver_open (memra_test_host_driver_path (), &error);
      g_assert_no_error (error);
      g_assert_cmpint (memra_driver_get_version (driver), ==, versions[i]);
      census = memra_census_new_from_graph (driver, graph, &error);
      g_assert_no_error (error);
      kernel = memra_census_get_kernel_node (census, 1);
      g_test_message ("%d: %s, %u arguments", versions[i], memra_kernel_node_get_name (kernel),
                      memra_kernel_node_get_n_arguments (kernel));
      g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 2);
      g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 1);
      if (versions[i] >= 12030 || !has_hazard (census, "unnamed-kernel"))
        g_assert_cmpstr (memra_kernel_node_get_name (kernel), ==, FIXTURE_KERNEL);
      else
        g_assert_cmpstr (memra_kernel_node_get_name (kernel), ==, "kernel@0");
      if (versions[i] >= 12040)
        assert_numbers (census, "8 9");
      else
        g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_UNKNOWN);
      assert_round_trip (census);
    }
  g_assert_cmpint (control->set_driver_version (memra_driver_get_version (memra_test_driver ())), ==, 0);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

/* ---- Liveness ---- */

static MemraCensus *
census_of_pair (Raw *raw, CUdeviceptr dst, CUdeviceptr src)
{
  MemraCensus *census;
  CUgraph graph;

  raw_begin (raw);
  raw_add (raw, dst, src, 8, 1);
  graph = raw_end (raw);
  census = take (graph);
  memra_test_assert_cu (raw->fixture.cu->cuGraphDestroy (graph));
  return census;
}

static void
assert_alive (MemraCensus *census)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (_memra_census_check_allocations (census, memra_test_driver (), &error));
  g_assert_no_error (error);
}

static void
assert_stale (MemraCensus *census, const char *part)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (_memra_census_check_allocations (census, memra_test_driver (), &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE);
  g_test_message ("%s", error->message);
  assert_contains (error->message,
                   "Kernel 0 " FIXTURE_KERNEL " argument 1 points 16 bytes into an allocation of 4096 bytes");
  assert_contains (error->message, part);
}

typedef enum
{
  PLAIN,
  POOL,
  PINNED,
  N_MEMORIES
} Memory;

static CUdeviceptr
allocate (Raw *raw, Memory memory, gsize size)
{
  CUdeviceptr address = 0;
  void *host = NULL;

  if (memory == PLAIN)
    memra_test_assert_cu (raw->fixture.cu->cuMemAlloc (&address, size));
  else if (memory == POOL)
    {
      memra_test_assert_cu (raw->fixture.cu->cuMemAllocAsync (&address, size, raw_stream (raw)));
      memra_test_assert_cu (raw->fixture.cu->cuStreamSynchronize (raw_stream (raw)));
    }
  else
    {
      memra_test_assert_cu (raw->fixture.cu->cuMemHostAlloc (&host, size, 0));
      address = GPOINTER_TO_SIZE (host);
    }
  return address;
}

static void
release (Raw *raw, Memory memory, CUdeviceptr address)
{
  if (memory == PLAIN)
    memra_test_assert_cu (raw->fixture.cu->cuMemFree (address));
  else if (memory == POOL)
    {
      memra_test_assert_cu (raw->fixture.cu->cuMemFreeAsync (address, raw_stream (raw)));
      memra_test_assert_cu (raw->fixture.cu->cuStreamSynchronize (raw_stream (raw)));
    }
  else
    memra_test_assert_cu (raw->fixture.cu->cuMemFreeHost (GSIZE_TO_POINTER ((gsize) address)));
}

static void
test_liveness (gconstpointer data)
{
  const Memory memory = (Memory) GPOINTER_TO_UINT (data);
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  CUdeviceptr address, again, other;

  raw_init (&raw);
  address = allocate (&raw, memory, 4096);
  census = census_of_pair (&raw, raw_address (raw.fixture.dst), address + 16);
  assert_alive (census);
  for (guint i = 0; i < 20; i++) /* unrelated memory comes and goes */
    {
      other = allocate (&raw, memory, 4096);
      assert_alive (census);
      release (&raw, memory, other);
      assert_alive (census);
    }
  release (&raw, memory, address);
  assert_stale (census, "that has been freed");
  again = allocate (&raw, memory, 4096);
  if (again == address)
    assert_stale (census, "another one of 4096 bytes is there now");
  else
    g_test_message ("the driver did not give the same address again");
  release (&raw, memory, again);
}

/* ---- Size ---- */

static void
test_cost (void)
{
  const guint n = 100000;
  g_auto (Raw) raw = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  g_autofree CUgraphNode *nodes = g_new (CUgraphNode, n);
  size_t count = 0;
  gint64 start, walked, taken;
  CUgraph graph;

  raw_init (&raw);
  raw_begin (&raw);
  for (guint i = 0; i < n; i++)
    raw_add (&raw, raw_address (raw.fixture.dst), raw_address (raw.fixture.src), i, 1);
  graph = raw_end (&raw);

  start = g_get_monotonic_time ();
  memra_test_assert_cu (raw.fixture.cu->cuGraphGetNodes (graph, NULL, &count));
  memra_test_assert_cu (raw.fixture.cu->cuGraphGetNodes (graph, nodes, &count));
  for (guint i = 0; i < n; i++)
    {
      McuKernelNodeParams params;
      int type;

      memra_test_assert_cu (raw.fixture.cu->cuGraphNodeGetType (nodes[i], &type));
      memra_test_assert_cu (_memra_driver_get_kernel_params (memra_test_driver (), nodes[i], &params));
    }
  walked = g_get_monotonic_time ();
  census = take (graph);
  taken = g_get_monotonic_time ();
  g_assert_cmpuint (memra_census_get_n_kernel_nodes (census), ==, n);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, n - 1);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 2);
  g_test_message ("%u kernels: nodes, types and parameters alone %.1f ms; census %.1f ms", n,
                  (double) (walked - start) / 1e3, (double) (taken - walked) / 1e3);
  memra_test_assert_cu (raw.fixture.cu->cuGraphDestroy (graph));
}

static void
add_tests (void)
{
  memra_test_add ("/census/captured", test_captured);
  memra_test_add ("/census/no-context", test_no_context);
  memra_test_add ("/census/under-capture", test_under_capture);
  memra_test_add ("/census/sections", test_sections);
  memra_test_add ("/census/same-twice", test_same_twice);
  memra_test_add ("/census/extra", test_extra);
  memra_test_add ("/census/copies", test_copies);
  memra_test_add ("/census/graph-memory", test_graph_memory);
  memra_test_add ("/census/by-hand", test_by_hand);
  memra_test_add ("/census/fork-join", test_fork_join);
  memra_test_add ("/census/children", test_children);
  memra_test_add ("/census/conditional", test_conditional);
  memra_test_add ("/census/versions", test_versions);
  memra_test_add_data ("/census/liveness/plain", GUINT_TO_POINTER (PLAIN), test_liveness);
  memra_test_add_data ("/census/liveness/pool", GUINT_TO_POINTER (POOL), test_liveness);
  memra_test_add_data ("/census/liveness/pinned", GUINT_TO_POINTER (PINNED), test_liveness);
  memra_test_add ("/census/cost", test_cost);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
