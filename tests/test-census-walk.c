/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Censuses of graphs on a driver made of data: shapes, versions and failures that no driver at hand has on demand. */
#include "config.h"

#include "capture-fixture.h"
#include "census-fake.h"

#include "census/census-private.h"

#include <string.h>

#define DEVICE MCU_MEMORYTYPE_DEVICE
#define HOST   MCU_MEMORYTYPE_HOST

static const FakeFunction none = { "none", 0, { 0 }, { 0 } };
static const FakeFunction add = { "add", 3, { 0, 8, 16 }, { 8, 4, 8 } };      /* (float *, int, float *) */
static const FakeFunction mixed = { "mixed", 3, { 0, 8, 40 }, { 1, 32, 8 } }; /* (char, struct, unsigned long) */
static const FakeFunction mangled = { "_Z6k_tmplIfEvPT_", 1, { 0 }, { 8 } };  /* void k_tmpl<float>(float*) */
static const FakeFunction nameless = { NULL, 1, { 0 }, { 8 } };
static const FakeFunction overlapping = { "overlapping", 2, { 0, 4 }, { 8, 8 } };

static MemraCensus *
take (MemraDriver *driver, CUgraph graph)
{
  g_autoptr (GError) error = NULL;
  MemraCensus *census = memra_census_new_from_graph (driver, graph, &error);

  g_assert_no_error (error);
  g_assert_nonnull (census);
  return census;
}

static void
assert_kernels (MemraCensus *census, const char *wanted)
{
  g_autoptr (GString) names = g_string_new (NULL);
  const GPtrArray *kernels = memra_census_get_kernels (census);

  g_assert_cmpuint (kernels->len, ==, memra_census_get_n_kernel_nodes (census));
  for (guint i = 0; i < kernels->len; i++)
    {
      g_string_append_printf (names, "%s%s", i > 0 ? " " : "", (const char *) kernels->pdata[i]);
      g_assert_cmpstr (kernels->pdata[i], ==, memra_kernel_node_get_name (memra_census_get_kernel_node (census, i)));
    }
  g_assert_cmpstr (names->str, ==, wanted);
}

/* "kind@node kind@node" */
static void
assert_hazards (MemraCensus *census, const char *wanted)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < memra_census_get_n_hazards (census); i++)
    {
      const char *message, *kind = memra_census_get_hazard (census, i, &message);
      guint node = memra_census_get_hazard_node (census, i);

      g_test_message ("%s: %s", kind, message);
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", kind);
      if (node != G_MAXUINT)
        g_string_append_printf (text, "@%u", node);
    }
  g_assert_cmpstr (text->str, ==, wanted);
}

/* Whatever a census is of, its file must read back as the same. */
static void
assert_round_trip (MemraCensus *census)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) loaded = NULL;
  g_autofree char *text = memra_census_to_json (census);
  g_autofree char *again = NULL;
  g_autofree char *string = memra_census_to_string (census);
  g_autofree char *string_again = NULL;

  loaded = memra_census_from_json (text, -1, &error);
  g_assert_no_error (error);
  again = memra_census_to_json (loaded);
  g_assert_cmpstr (text, ==, again);
  g_assert_true (memra_census_equal (census, loaded));
  string_again = memra_census_to_string (loaded);
  g_assert_cmpstr (string, ==, string_again);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, memra_census_get_n_allocations (loaded));
}

static FakeFunction *
function_new (const char *name)
{
  FakeFunction *function = g_new0 (FakeFunction, 1);

  function->name = name;
  return function;
}

/* ---- Order ---- */

static void
test_empty (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  MemraCensus *census = take (driver, fake_graph_new ());
  g_autofree char *text = memra_census_to_string (census);

  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 0);
  g_assert_cmpuint (g_hash_table_size (memra_census_get_nodes (census)), ==, 0);
  g_assert_true (g_str_has_prefix (text, "layer 0: 0 nodes\n"));
  assert_hazards (census, "empty-graph");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* Two arms that part and meet, created arm by arm: each arm in its order, ties by creation. */
static void
test_fork_join (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  g_autofree FakeFunction *f = function_new ("a"), *g = function_new ("b"), *h = function_new ("c"),
                          *i = function_new ("d");
  FakeNode *a = fake_add_kernel (graph, NULL, f, NULL), *b = fake_add_kernel (graph, a, g, NULL);
  FakeNode *c = fake_add_kernel (graph, a, h, NULL), *d = fake_add_kernel (graph, c, i, NULL);
  MemraCensus *census;

  fake_connect (b, d, MCU_EDGE_DEFAULT);
  census = take (driver, graph);
  assert_kernels (census, "a b c d");
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 4);
  g_assert_cmpuint (memra_census_get_n_programmatic_edges (census), ==, 0);
  assert_hazards (census, "");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* Nodes added last first: what depends on what decides, then creation. */
static void
test_backward (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  g_autofree FakeFunction *f = function_new ("last"), *g = function_new ("free"), *h = function_new ("middle"),
                          *i = function_new ("first");
  FakeNode *last = fake_add_kernel (graph, NULL, f, NULL);
  FakeNode *middle, *first;
  g_autofree char *text = NULL;
  MemraCensus *census;

  fake_add_kernel (graph, NULL, g, NULL);
  middle = fake_add_kernel (graph, NULL, h, NULL);
  first = fake_add_kernel (graph, NULL, i, NULL);
  fake_connect (middle, last, MCU_EDGE_DEFAULT);
  fake_connect (first, middle, MCU_EDGE_DEFAULT);
  fake_connect (first, last, MCU_EDGE_DEFAULT);
  census = take (driver, graph);
  assert_kernels (census, "free first middle last");
  text = memra_census_to_json (census);
  assert_contains (text, "\"list\":[\n[1,2],\n[1,3],\n[2,3]\n]");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_circle (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *a = fake_add (graph, MCU_NODE_EMPTY, NULL), *b = fake_add (graph, MCU_NODE_EMPTY, a);
  g_autoptr (GError) error = NULL;

  fake_connect (b, a, MCU_EDGE_DEFAULT);
  g_assert_null (memra_census_new_from_graph (driver, graph, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED);
  assert_contains (error->message, "2 of 2 nodes");
  fake_driver_free (driver);
}

static void
test_foreign_dependency (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new (), other = fake_graph_new ();
  g_autoptr (GError) error = NULL;

  fake_add (graph, MCU_NODE_EMPTY, fake_add (other, MCU_NODE_EMPTY, NULL));
  g_assert_null (memra_census_new_from_graph (driver, graph, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED);
  fake_driver_free (driver);
}

/* More dependencies than are asked for at first, and given in no order. */
static void
test_wide_join (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *nodes[100];
  FakeNode *join;
  MemraCensus *census;

  for (guint i = 0; i < 100; i++)
    nodes[i] = fake_add (graph, MCU_NODE_EMPTY, NULL);
  join = fake_add (graph, MCU_NODE_EMPTY, NULL);
  for (guint i = 0; i < 100; i++)
    fake_connect (nodes[(i * 37) % 100], join, MCU_EDGE_DEFAULT);
  census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 101);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 100);
  for (guint i = 0; i < 100; i++)
    {
      g_assert_cmpuint (g_array_index (census->edges, MemraEdge, i).from, ==, i);
      g_assert_cmpuint (g_array_index (census->edges, MemraEdge, i).to, ==, 100);
    }
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_types (void)
{
  static const char *const names[]
      = { "kernel",       "memcpy",       "memset",           "host",           "child-graph", "empty",
          "wait-event",   "event-record", "ext-semas-signal", "ext-semas-wait", "mem-alloc",   "mem-free",
          "batch-mem-op", "conditional",  "unknown-14",       "unknown-99" };
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *node = NULL;
  MemraCensus *census;
  g_autofree char *text = NULL;

  for (int type = 1; type <= 14; type++)
    if (type == MCU_NODE_GRAPH)
      node = fake_add_child (graph, node, fake_graph_new ());
    else
      node = fake_add (graph, type, node);
  node = fake_add (graph, 99, node);
  fake_add (graph, 99, node);
  fake_add_kernel (graph, NULL, &none, NULL);
  census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 17);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      gpointer value = g_hash_table_lookup (memra_census_get_nodes (census), names[i]);

      g_assert_cmpuint (GPOINTER_TO_UINT (value), ==, strcmp (names[i], "unknown-99") == 0 ? 2 : 1);
      g_assert_cmpuint (memra_census_get_count (census, names[i]), ==, GPOINTER_TO_UINT (value));
    }
  g_assert_cmpuint (memra_census_get_count (census, "no such type"), ==, 0);
  text = memra_census_to_string (census);
  g_assert_true (g_str_has_prefix (text, "layer 0: 17 nodes: batch-mem-op 1, child-graph 1, conditional 1, empty 1, "));
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* ---- Sections, depth ---- */

static void
test_sections (void)
{
  static const MemraSectionMark marks[] = { { 1, "attention" }, { 3, "skipped" }, { 3, "ffn" }, { 9, "never" } };
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new (), child = fake_graph_new ();
  FakeNode *node = fake_add_kernel (graph, NULL, &none, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = NULL;
  g_autofree char *text = NULL;
  static const char *const wanted[] = { NULL, "attention", "attention", "attention", "ffn" };

  fake_add_kernel (child, NULL, &none, NULL);
  node = fake_add_kernel (graph, node, &none, NULL);
  node = fake_add_child (graph, node, child);
  fake_add_kernel (graph, node, &none, NULL);
  census = _memra_census_read_nodes (driver, graph, 3, marks, G_N_ELEMENTS (marks), &error);
  g_assert_no_error (error);
  g_assert_true (_memra_census_read_kernels (census, &error));
  g_assert_cmpuint (memra_census_get_layer (census), ==, 3);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_cmpstr (_memra_census_node (census, i)->section, ==, wanted[i]);
  g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, 0)), ==, NULL);
  g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, 3)), ==, "ffn");
  text = memra_census_to_string (census);
  assert_contains (text, "nodes by section:\n       1  (before the first mark)\n       3  attention\n       1  ffn\n");
  assert_round_trip (census);
  g_clear_pointer (&census, memra_census_unref);
  fake_driver_free (driver);
}

static void
test_children (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new (), child = fake_graph_new (), grandchild = fake_graph_new ();
  g_autofree FakeFunction *f = function_new ("outer"), *g = function_new ("child"), *h = function_new ("grandchild");
  FakeNode *node = fake_add_kernel (grandchild, NULL, h, NULL);
  const MemraKernelNode *kernel;
  MemraCensus *census;

  fake_add_kernel (grandchild, node, h, NULL);
  node = fake_add_kernel (child, NULL, g, NULL);
  node = fake_add_child (child, node, grandchild);
  fake_add_kernel (child, node, g, NULL);
  node = fake_add_child (graph, NULL, child);
  node = fake_add_kernel (graph, node, f, NULL);
  fake_add_child (graph, node, child);

  census = take (driver, graph);
  assert_kernels (census, "child grandchild grandchild child outer child grandchild grandchild child");
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 13);
  g_assert_cmpuint (memra_census_get_n_top_level_nodes (census), ==, 3);
  g_assert_cmpuint (memra_census_get_count (census, "child-graph"), ==, 4);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 2 + 2 * (2 + 1));
  kernel = memra_census_get_kernel_node (census, 1);
  g_assert_cmpuint (memra_kernel_node_get_depth (kernel), ==, 2);
  g_assert_cmpuint (memra_kernel_node_get_depth (memra_census_get_kernel_node (census, 4)), ==, 0);
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* An endless nest is an error, not the end of the stack. */
static void
test_endless_nest (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  g_autoptr (GError) error = NULL;

  fake_add_child (graph, NULL, graph);
  g_assert_null (memra_census_new_from_graph (driver, graph, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED);
  fake_driver_free (driver);
}

/* ---- Conditional nodes ---- */

static CUgraph
make_conditional (CUgraph *inner)
{
  CUgraph graph = fake_graph_new (), body = fake_graph_new (), other = fake_graph_new ();
  FakeNode *before = fake_add_kernel (graph, NULL, &none, NULL), *node = fake_add (graph, MCU_NODE_CONDITIONAL, before),
           *deep;

  node->bodies[0] = body;
  node->bodies[1] = other;
  node->n_bodies = 2;
  fake_add (graph, MCU_NODE_EMPTY, node);
  deep = fake_add (body, MCU_NODE_CONDITIONAL, fake_add_kernel (body, NULL, &mangled, NULL));
  deep->bodies[0] = fake_graph_new ();
  deep->n_bodies = 1;
  fake_add_kernel (deep->bodies[0], NULL, &none, NULL);
  fake_add (other, MCU_NODE_EMPTY, NULL);
  *inner = body;
  return graph;
}

static void
assert_opened (MemraCensus *census)
{
  const MemraDetail *detail;

  assert_kernels (census, "none _Z6k_tmplIfEvPT_ none");
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 7);
  g_assert_cmpuint (memra_census_get_n_top_level_nodes (census), ==, 3);
  g_assert_cmpuint (memra_kernel_node_get_depth (memra_census_get_kernel_node (census, 1)), ==, 1);
  g_assert_cmpuint (memra_kernel_node_get_depth (memra_census_get_kernel_node (census, 2)), ==, 2);
  detail = &g_array_index (census->details, MemraDetail, _memra_census_node (census, 1)->record);
  g_assert_cmpuint (detail->n_bodies, ==, 2);
  g_assert_cmpuint (detail->bodies[0], ==, 3);
  g_assert_cmpuint (detail->bodies[1], ==, 1);
  assert_hazards (census, "");
  assert_round_trip (census);
}

static void
test_conditional_getter (void)
{
  MemraDriver *driver = fake_driver_new (13020);
  CUgraph body;
  MemraCensus *census = take (driver, make_conditional (&body));
  g_autofree char *text = memra_census_to_string (census);

  assert_opened (census);
  assert_lacks (text, "debug dump");
  g_assert_cmpuint (fake_count ("cuGraphDebugDotPrint"), ==, 0);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_conditional_dump (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph body;
  MemraCensus *census = take (driver, make_conditional (&body));
  g_autofree char *text = memra_census_to_string (census);
  g_autofree char *json = memra_census_to_json (census);

  assert_opened (census);
  assert_contains (text, "node 1: conditional bodies read from the driver's debug dump\n");
  assert_contains (json, "{\"bodies\":[3,1],\"bodies_from\":\"debug-dump\",\"depth\":0,\"node\":1,");
  g_assert_cmpuint (fake_count ("cuGraphDebugDotPrint"), ==, 1);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* No getter and no dump that can be believed: closed, and said so. */
static void
test_conditional_opaque (gconstpointer dump)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph body;
  MemraCensus *census;

  fake_set_dump (dump);
  if (dump == NULL)
    fake_fail ("cuGraphDebugDotPrint", 1, MCU_ERROR_NOT_SUPPORTED);
  census = take (driver, make_conditional (&body));
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 3);
  assert_kernels (census, "none");
  assert_hazards (census, "opaque-node@1");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_conditional_getter_refuses (void)
{
  MemraDriver *driver = fake_driver_new (13020);
  g_autoptr (GError) error = NULL;
  CUgraph body, graph = make_conditional (&body);
  MemraCensus *census;

  fake_fail ("cuGraphNodeGetParams", 1, MCU_ERROR_NOT_SUPPORTED); /* then the dump does */
  census = take (driver, graph);
  assert_opened (census);
  memra_census_unref (census);
  fake_fail ("cuGraphNodeGetParams", 1, MCU_ERROR_UNKNOWN);
  g_assert_null (memra_census_new_from_graph (driver, graph, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_UNKNOWN);
  fake_driver_free (driver);
}

/* ---- Names ---- */

static void
test_names (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *node = NULL;
  MemraCensus *census;
  const char *name;

  for (guint i = 0; i < 50; i++)
    node = fake_add_kernel (graph, node, i % 2 == 0 ? &none : &mangled, NULL);
  node->kernel.kern = (CUkernel) node->kernel.func; /* a CUkernel where the function should be */
  node->kernel.func = NULL;
  census = take (driver, graph);
  g_assert_cmpuint (fake_count ("cuFuncGetName"), ==, 2);   /* once per function */
  g_assert_cmpuint (fake_count ("cuKernelGetName"), ==, 0); /* the handle was known by then */
  g_assert_cmpuint (fake_count ("cuFuncGetParamInfo"), ==, 1 + 2);
  name = memra_kernel_node_get_demangled_name (memra_census_get_kernel_node (census, 1));
  g_assert_true (strcmp (name, "void k_tmpl<float>(float*)") == 0 || strcmp (name, "_Z6k_tmplIfEvPT_") == 0);
  g_assert_cmpstr (memra_kernel_node_get_name (memra_census_get_kernel_node (census, 49)), ==, "_Z6k_tmplIfEvPT_");
  g_assert_cmpstr (memra_kernel_node_get_demangled_name (memra_census_get_kernel_node (census, 0)), ==, "none");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_kern_only (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *node = fake_add_kernel (graph, NULL, &none, NULL);
  MemraCensus *census;

  node->kernel.kern = (CUkernel) node->kernel.func;
  node->kernel.func = NULL;
  census = take (driver, graph);
  assert_kernels (census, "none");
  g_assert_cmpuint (fake_count ("cuFuncGetName"), ==, 0);
  g_assert_cmpuint (fake_count ("cuKernelGetParamInfo"), ==, 1);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* Below 12.3 names stand in the debug dump only, below 12.4 arguments have no sizes. */
static void
test_names_of_old_driver (void)
{
  MemraDriver *driver = fake_driver_new (11080);
  CUgraph graph = fake_graph_new ();
  guint64 pointer = 0x302000000;
  void *parameters[] = { &pointer };
  FakeNode *node = fake_add_kernel (graph, NULL, &mangled, parameters);
  const MemraKernelNode *kernel;
  MemraCensus *census;
  gsize size = 9;

  fake_add_kernel (graph, node, &mangled, parameters);
  fake_add_memory (pointer, 1000, 5, DEVICE);
  census = take (driver, graph);
  assert_kernels (census, "_Z6k_tmplIfEvPT_ _Z6k_tmplIfEvPT_");
  g_assert_cmpuint (fake_count ("cuGraphDebugDotPrint"), ==, 1);
  kernel = memra_census_get_kernel_node (census, 0);
  g_assert_cmpuint (memra_kernel_node_get_n_arguments (kernel), ==, 1);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_UNKNOWN);
  g_assert_null (memra_kernel_node_get_argument_bytes (kernel, 0, &size));
  g_assert_cmpuint (size, ==, 0);
  g_assert_false (memra_kernel_node_get_argument_pointer (kernel, 0, NULL, NULL));
  assert_hazards (census, "");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_unnamed (void)
{
  MemraDriver *driver = fake_driver_new (11080);
  CUgraph graph = fake_graph_new ();
  FakeNode *node = fake_add_kernel (graph, NULL, &none, NULL);
  MemraCensus *census;

  fake_fail ("cuGraphDebugDotPrint", 1, MCU_ERROR_UNKNOWN);
  node = fake_add_kernel (graph, node, &add, NULL);
  fake_add_kernel (graph, node, &none, NULL);
  census = take (driver, graph);
  assert_kernels (census, "kernel@0 kernel@1 kernel@0");
  assert_hazards (census, "unnamed-kernel@0 unnamed-kernel@1");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);

  driver = fake_driver_new (13000); /* has the calls, and they tell nothing */
  graph = fake_graph_new ();
  fake_set_dump ("digraph dot {\n}\n");
  fake_add_kernel (graph, NULL, &nameless, NULL);
  census = take (driver, graph);
  assert_kernels (census, "kernel@0");
  assert_hazards (census, "unnamed-kernel@0");
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_describe_node (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  CUgraphNode kernel = (CUgraphNode) fake_add_kernel (graph, NULL, &add, NULL);
  CUgraphNode copy = (CUgraphNode) fake_add (graph, MCU_NODE_MEMCPY, NULL),
              odd = (CUgraphNode) fake_add (graph, 40, NULL);
  char *name;

  name = _memra_census_describe_node (driver, kernel);
  g_assert_cmpstr (name, ==, "add");
  g_free (name);
  name = _memra_census_describe_node (driver, copy);
  g_assert_cmpstr (name, ==, "memcpy");
  g_free (name);
  name = _memra_census_describe_node (driver, odd);
  g_assert_cmpstr (name, ==, "unknown-40");
  g_free (name);
  fake_fail ("cuFuncGetName", 1, MCU_ERROR_UNKNOWN);
  name = _memra_census_describe_node (driver, kernel);
  g_assert_cmpstr (name, ==, "kernel");
  g_free (name);
  fake_fail ("cuGraphNodeGetType", 1, MCU_ERROR_UNKNOWN);
  name = _memra_census_describe_node (driver, kernel);
  g_assert_nonnull (name);
  g_free (name);
  fake_driver_free (driver);
}

/* ---- Arguments ---- */

typedef struct
{
  int a;
  guint64 p;
  double d;
  short s;
} Struct;

static void
test_arguments (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint64 first = 0x7f0000001000, second = 0x7f0000002040, number = 42, null = 0;
  int n = -2;
  char c = 'x';
  Struct value;
  void *add_parameters[] = { &second, &n, &first }, *mixed_parameters[] = { &c, &value, &number },
       *null_parameters[] = { &null, &n, &second };
  FakeNode *node = fake_add_kernel (graph, NULL, &add, add_parameters);
  const MemraKernelNode *kernel;
  MemraCensus *census;
  g_autofree char *text = NULL;
  guint32 shared;
  MemraDim3 grid, block;
  guint64 offset;
  guint buffer;
  gsize size, at;

  memset (&value, 0, sizeof value);
  value.a = 1;
  value.p = first + 16;
  node->kernel.grid_x = 7;
  node->kernel.grid_y = 8;
  node->kernel.grid_z = 9;
  node->kernel.block_x = 256;
  node->kernel.shared_bytes = 1024;
  node = fake_add_kernel (graph, node, &mixed, mixed_parameters);
  fake_add_kernel (graph, node, &add, null_parameters);
  fake_add_memory (first, 0x100, 11, DEVICE);
  fake_add_memory (0x7f0000002000, 0x100, 12, DEVICE);

  census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 2);
  kernel = memra_census_get_kernel_node (census, 0);
  memra_kernel_node_get_geometry (kernel, &grid, &block, &shared);
  g_assert_cmpuint (grid.x, ==, 7);
  g_assert_cmpuint (grid.y, ==, 8);
  g_assert_cmpuint (grid.z, ==, 9);
  g_assert_cmpuint (block.x, ==, 256);
  g_assert_cmpuint (shared, ==, 1024);
  g_assert_cmpuint (memra_kernel_node_get_n_arguments (kernel), ==, 3);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_POINTER);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 0, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 0); /* the first met, wherever it lies */
  g_assert_cmpuint (offset, ==, 0x40);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 1), ==, MEMRA_ARGUMENT_BYTES);
  g_assert_cmpmem (memra_kernel_node_get_argument_bytes (kernel, 1, &size), 4, &n, sizeof n);
  g_assert_cmpuint (size, ==, 4);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 2, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 1);
  g_assert_cmpuint (offset, ==, 0);

  kernel = memra_census_get_kernel_node (census, 1);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_BYTES);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 1), ==, MEMRA_ARGUMENT_MIXED);
  g_assert_false (memra_kernel_node_get_argument_pointer (kernel, 1, NULL, NULL));
  g_assert_cmpuint (memra_kernel_node_get_n_argument_pointers (kernel, 1), ==, 1);
  memra_kernel_node_get_nth_argument_pointer (kernel, 1, 0, &at, &buffer, &offset);
  g_assert_cmpuint (at, ==, 8);
  g_assert_cmpuint (buffer, ==, 1);
  g_assert_cmpuint (offset, ==, 16);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 2), ==, MEMRA_ARGUMENT_BYTES);

  kernel = memra_census_get_kernel_node (census, 2);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_BYTES); /* NULL */

  text = memra_census_to_json (census);
  assert_contains (
      text,
      "{\"args\":[{\"buffer\":0,\"offset\":64},{\"hex\":\"feffffff\"},{\"buffer\":1,\"offset\":0}],\"block\":[256,1,1],"
      "\"demangled\":\"add\",\"depth\":0,\"grid\":[7,8,9],\"name\":\"add\",\"node\":0,\"section\":null,\"shared\":"
      "1024}");
  assert_contains (
      text, "{\"args\":[{\"hex\":\"78\"},{\"hex\":\"0100000000000000000000000000000000000000000000000000000000000000\","
            "\"pointers\":[{\"at\":8,\"buffer\":1,\"offset\":16}]},{\"hex\":\"2a00000000000000\"}]");
  assert_contains (text,
                   "{\"args\":[{\"hex\":\"0000000000000000\"},{\"hex\":\"feffffff\"},{\"buffer\":0,\"offset\":64}]");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* Arguments in one packed buffer. */
static void
test_extra (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint8 packed[24] = { 0 };
  guint64 pointer = 0x302000010;
  int n = 5;
  gsize size = sizeof packed, short_size = 12;
  void *extra[]
      = { MCU_LAUNCH_PARAM_BUFFER_POINTER, packed, MCU_LAUNCH_PARAM_BUFFER_SIZE, &size, MCU_LAUNCH_PARAM_END };
  void *short_extra[]
      = { MCU_LAUNCH_PARAM_BUFFER_SIZE, &short_size, MCU_LAUNCH_PARAM_BUFFER_POINTER, packed, MCU_LAUNCH_PARAM_END };
  void *no_extra[] = { MCU_LAUNCH_PARAM_END };
  FakeNode *node = fake_add_kernel (graph, NULL, &add, NULL);
  const MemraKernelNode *kernel;
  MemraCensus *census;
  guint64 offset;
  guint buffer;

  memcpy (packed, &pointer, sizeof pointer);
  memcpy (packed + 8, &n, sizeof n);
  node->kernel.extra = extra;
  node = fake_add_kernel (graph, node, &add, NULL);
  node->kernel.extra = short_extra; /* fewer bytes than the function takes */
  node = fake_add_kernel (graph, node, &add, NULL);
  node->kernel.extra = no_extra;
  fake_add_kernel (graph, node, &add, NULL); /* none of the two forms */
  fake_add_memory (0x302000000, 0x100, 3, DEVICE);

  census = take (driver, graph);
  kernel = memra_census_get_kernel_node (census, 0);
  g_assert_cmpuint (memra_kernel_node_get_n_arguments (kernel), ==, 3);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 0, &buffer, &offset));
  g_assert_cmpuint (offset, ==, 16);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 2), ==, MEMRA_ARGUMENT_BYTES);
  for (guint i = 1; i < 4; i++)
    {
      kernel = memra_census_get_kernel_node (census, i);
      g_assert_cmpuint (memra_kernel_node_get_n_arguments (kernel), ==, 1);
      g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_UNKNOWN);
      g_assert_cmpuint (memra_kernel_node_get_n_argument_pointers (kernel, 0), ==,
                        i == 1 ? 1 : 0); /* found all the same */
    }
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 1);
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_nonsense_layout (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint64 value = 1;
  void *parameters[] = { &value, &value };
  MemraCensus *census;

  fake_add_kernel (graph, NULL, &overlapping, parameters);
  census = take (driver, graph);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (memra_census_get_kernel_node (census, 0), 0), ==,
                   MEMRA_ARGUMENT_UNKNOWN);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* One query per allocation, one per value that is none, however often they turn up. */
static void
test_query_counts (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint64 values[40];
  FakeNode *node = NULL;
  MemraCensus *census;

  fake_add_memory (0x302000000, 0x10000, 1, DEVICE);
  for (guint i = 0; i < 20; i++)
    values[i] = 0x302000000 + 8 * i; /* one allocation */
  for (guint i = 20; i < 30; i++)
    values[i] = 0x400000000 + i % 2; /* two values of none */
  for (guint i = 30; i < 40; i++)
    values[i] = i % 2 == 0 ? i : G_GUINT64_CONSTANT (0x3ff0000000000000) + i; /* no addresses at all */
  for (guint i = 0; i < 400; i++)
    {
      void *parameters[] = { &values[i % 40] };

      node = fake_add_kernel (graph, node, &mangled, parameters);
    }
  census = take (driver, graph);
  g_assert_cmpuint (fake_count ("cuPointerGetAttributes"), ==, 1 + 2);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 1);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* The same program at other addresses gives the same bytes; the same kernels on other buffers do not. */
static void
test_canonical (void)
{
  char *texts[3], *hashes[3];

  for (guint run = 0; run < 3; run++)
    {
      MemraDriver *driver = fake_driver_new (13000);
      CUgraph graph = fake_graph_new ();
      guint64 a = run == 0 ? 0x7f0000000000 : 0x302000000, b = run == 0 ? 0x7e0000000000 : 0x304000000;
      int n = 3;
      void *forth[] = { &a, &n, &b }, *back[] = { &b, &n, &a };
      MemraCensus *census;

      fake_add_memory (a, 0x1000, 1 + run, DEVICE);
      fake_add_memory (b, 0x1000, 2 + run, DEVICE);
      fake_add_kernel (graph, fake_add_kernel (graph, NULL, &add, forth), &add, run == 2 ? forth : back);
      census = take (driver, graph);
      texts[run] = memra_census_to_json (census);
      hashes[run] = memra_census_dup_hash (census);
      memra_census_unref (census);
      fake_driver_free (driver);
    }
  g_assert_cmpstr (texts[0], ==, texts[1]);
  g_assert_cmpstr (hashes[0], ==, hashes[1]);
  g_assert_cmpstr (texts[0], !=, texts[2]);
  g_assert_cmpstr (hashes[0], !=, hashes[2]);
  g_assert_cmpuint (strlen (hashes[0]), ==, 64);
  for (guint run = 0; run < 3; run++)
    {
      g_free (texts[run]);
      g_free (hashes[run]);
    }
}

/* ---- Edges ---- */

static void
test_programmatic_edge (void)
{
  MemraDriver *driver = fake_driver_new (12030);
  CUgraph graph = fake_graph_new ();
  FakeNode *a = fake_add_kernel (graph, NULL, &none, NULL), *b = fake_add_kernel (graph, NULL, &add, NULL), *c;
  MemraCensus *census;
  g_autofree char *text = NULL;

  fake_connect (a, b, MCU_EDGE_PROGRAMMATIC);
  c = fake_add_kernel (graph, b, &none, NULL);
  fake_connect (a, c, 7); /* of a newer driver */
  census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 1);
  g_assert_cmpuint (memra_census_get_n_programmatic_edges (census), ==, 2);
  assert_hazards (census, "programmatic-edge@1");
  text = memra_census_to_json (census);
  assert_contains (text, "\"list\":[\n[0,1,1],\n[0,2,7],\n[1,2]\n]");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* ---- Copies, fills, memory ---- */

static FakeNode *
add_copy (CUgraph graph, FakeNode *after, guint from_type, guint64 from, guint to_type, guint64 to, gsize bytes)
{
  FakeNode *node = fake_add (graph, MCU_NODE_MEMCPY, after);

  node->copy.src_memory_type = from_type;
  node->copy.src_host = from_type == HOST ? GSIZE_TO_POINTER ((gsize) from) : NULL;
  node->copy.src_device = from_type == HOST ? 0 : from;
  node->copy.dst_memory_type = to_type;
  node->copy.dst_host = to_type == HOST ? GSIZE_TO_POINTER ((gsize) to) : NULL;
  node->copy.dst_device = to_type == HOST ? 0 : to;
  node->copy.width_bytes = bytes;
  node->copy.height = node->copy.depth = 1;
  return node;
}

static void
test_copies (void)
{
  static const MemraCopyDirection wanted[]
      = { MEMRA_COPY_HOST_TO_DEVICE,   MEMRA_COPY_HOST_TO_DEVICE, MEMRA_COPY_DEVICE_TO_HOST,
          MEMRA_COPY_DEVICE_TO_DEVICE, MEMRA_COPY_HOST_TO_DEVICE, MEMRA_COPY_HOST_TO_HOST,
          MEMRA_COPY_DEVICE_TO_DEVICE, MEMRA_COPY_FILL,           MEMRA_COPY_DEVICE_TO_HOST };
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint64 device = 0x302000000, other = 0x304000000, pinned = 0x7f0000000000, pageable = 0x550000000000;
  FakeNode *node = NULL;
  MemraCensus *census;
  const MemraCopy *copy;
  guint64 bytes;

  fake_add_memory (device, 0x10000, 1, DEVICE);
  fake_add_memory (other, 0x10000, 2, DEVICE);
  fake_add_memory (pinned, 0x10000, 3, HOST);
  node = add_copy (graph, node, HOST, pageable, DEVICE, device, 100);
  node = add_copy (graph, node, HOST, pinned, DEVICE, device, 100);
  node = add_copy (graph, node, DEVICE, device, HOST, pageable, 96);
  node = add_copy (graph, node, DEVICE, device, DEVICE, other, 1000);
  node = add_copy (graph, node, MCU_MEMORYTYPE_UNIFIED, pageable, MCU_MEMORYTYPE_UNIFIED, device, 64);
  node = add_copy (graph, node, MCU_MEMORYTYPE_UNIFIED, pinned, MCU_MEMORYTYPE_UNIFIED, pageable, 64);
  node = add_copy (graph, node, DEVICE, device, MCU_MEMORYTYPE_ARRAY, 0, 4);
  node->copy.src_x_bytes = 4;
  node->copy.src_y = 2;
  node->copy.src_z = 1;
  node->copy.src_pitch = 256;
  node->copy.src_height = 16;
  node->copy.height = 3;
  node->copy.depth = 2;
  node = fake_add (graph, MCU_NODE_MEMSET, node);
  node->fill
      = (McuMemsetNodeParams){ .dst = other + 8, .value = 7, .element_size = 4, .width = 100, .height = 1, .pitch = 9 };
  add_copy (graph, node, DEVICE, 0x999000000, HOST, pinned, 8); /* nobody's memory */

  census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_copies (census), ==, G_N_ELEMENTS (wanted));
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    g_assert_cmpint (memra_census_get_copy (census, i, NULL), ==, wanted[i]);
  memra_census_get_copy (census, 2, &bytes);
  g_assert_cmpuint (bytes, ==, 96);
  memra_census_get_copy (census, 6, &bytes);
  g_assert_cmpuint (bytes, ==, 4 * 3 * 2);
  copy = &g_array_index (census->copies, MemraCopy, 6);
  g_assert_cmpuint (copy->source.offset, ==, 4 + 2 * 256 + 256 * 16);
  g_assert_cmpuint (copy->source.pitch, ==, 256);
  g_assert_cmpint (copy->target.kind, ==, MEMRA_PLACE_ARRAY);
  copy = &g_array_index (census->copies, MemraCopy, 7);
  g_assert_cmpuint (copy->bytes, ==, 400);
  g_assert_cmpuint (copy->value, ==, 7);
  g_assert_cmpuint (copy->target.offset, ==, 8);
  g_assert_cmpuint (copy->target.pitch, ==, 0); /* one row: of no meaning */
  g_assert_cmpint (g_array_index (census->copies, MemraCopy, 8).source.kind, ==, MEMRA_PLACE_UNKNOWN);
  assert_hazards (census, "pageable-source@0 device-to-host-pageable@2 pageable-source@4 pageable-target@5");
  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static FakeNode *
add_memory_node (CUgraph graph, FakeNode *after, int type, guint64 address, gsize size)
{
  FakeNode *node = fake_add (graph, type, after);

  node->memory = address;
  node->memory_size = size;
  return node;
}

static void
test_graph_memory (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint64 address = 0x48ea000000, inside = address + 64, n = 0;
  void *parameters[] = { &inside, &n, &address };
  FakeNode *node = add_memory_node (graph, NULL, MCU_NODE_MEM_ALLOC, address, 3000);
  const MemraKernelNode *kernel;
  g_autoptr (GError) error = NULL;
  MemraCensus *census;
  guint64 offset;
  guint buffer;

  node = fake_add_kernel (graph, node, &add, parameters);
  node = add_memory_node (graph, node, MCU_NODE_MEM_FREE, address, 0);
  node = add_memory_node (graph, node, MCU_NODE_MEM_ALLOC, address, 500); /* the same address once more */
  node = fake_add_kernel (graph, node, &add, parameters);
  node = add_memory_node (graph, node, MCU_NODE_MEM_ALLOC, 0x48eb000000, 16);
  add_memory_node (graph, node, MCU_NODE_MEM_FREE, 0x49ffffff00, 0);

  census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 3);
  kernel = memra_census_get_kernel_node (census, 0);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 0, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 0);
  g_assert_cmpuint (offset, ==, 64);
  kernel = memra_census_get_kernel_node (census, 1);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 2, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 1);
  g_assert_cmpuint (offset, ==, 0);
  assert_hazards (census, "unbalanced-allocation@3 unbalanced-allocation@5 unbalanced-allocation@6");
  assert_round_trip (census);
  g_assert_true (_memra_census_check_allocations (census, driver, &error)); /* the graph's own memory needs no check */
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_foreign_context (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  int contexts[3];
  FakeNode *node = NULL;
  g_autoptr (GError) error = NULL;
  MemraCensus *census;

  for (guint i = 0; i < 6; i++)
    {
      node = fake_add_kernel (graph, node, &none, NULL);
      node->kernel.ctx = (CUcontext) &contexts[i / 4];
    }
  census = take (driver, graph);
  assert_hazards (census, "foreign-context@4");
  memra_census_unref (census);

  census = _memra_census_read_nodes (driver, graph, 0, NULL, 0, &error);
  _memra_census_set_context (census, (CUcontext) &contexts[2]);
  g_assert_true (_memra_census_read_kernels (census, &error));
  assert_hazards (census, "foreign-context@0");
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_host_node (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  MemraCensus *census;

  fake_add (graph, 21, fake_add (graph, MCU_NODE_HOST, NULL));
  census = take (driver, graph);
  assert_hazards (census, "host-node@0 opaque-node@1");
  memra_census_unref (census);
  fake_driver_free (driver);
}

/* ---- Liveness ---- */

typedef struct
{
  MemraDriver *driver;
  MemraCensus *census;
} Alive;

#define A G_GUINT64_CONSTANT (0x7f0000001000)
#define B G_GUINT64_CONSTANT (0x7f0000002000)

static void
alive_init (Alive *alive)
{
  static guint64 a = A + 0x10, b = B, number = 1;
  static int n = 1;
  static char c;
  static Struct value;
  static void *add_parameters[] = { &a, &n, &a }, *mixed_parameters[] = { &c, &value, &number };
  CUgraph graph;

  value.p = b;
  alive->driver = fake_driver_new (13000);
  graph = fake_graph_new ();
  fake_add_memory (A, 0x100, 1, DEVICE);
  fake_add_memory (B, 0x200, 2, DEVICE);
  fake_add_kernel (graph, fake_add_kernel (graph, NULL, &add, add_parameters), &mixed, mixed_parameters);
  alive->census = take (alive->driver, graph);
}

static void
alive_clear (Alive *alive)
{
  memra_census_unref (alive->census);
  fake_driver_free (alive->driver);
}

static void
assert_stale (Alive *alive, const char *wanted)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (_memra_census_check_allocations (alive->census, alive->driver, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE);
  g_assert_cmpstr (error->message, ==, wanted);
}

static void
test_alive (void)
{
  g_autoptr (GError) error = NULL;
  Alive alive;
  guint n;

  alive_init (&alive);
  n = fake_count ("cuPointerGetAttributes");
  for (guint i = 0; i < 100; i++)
    {
      fake_add_memory (0x302000000 + i * 0x10000, 0x100, 100 + i, DEVICE); /* somebody else's */
      if (i > 0)
        fake_remove_memory (0x302000000 + (i - 1) * 0x10000);
      g_assert_true (_memra_census_check_allocations (alive.census, alive.driver, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpuint (fake_count ("cuPointerGetAttributes"), ==, n + 200); /* one per allocation */
  alive_clear (&alive);
}

static void
test_freed (void)
{
  Alive alive;

  alive_init (&alive);
  fake_remove_memory (A);
  assert_stale (
      &alive,
      "Kernel 0 add argument 0 points 16 bytes into an allocation of 256 bytes at 0x7f0000001000 that has been freed");
  alive_clear (&alive);
}

static void
test_freed_in_struct (void)
{
  Alive alive;

  alive_init (&alive);
  fake_remove_memory (B);
  fake_add_memory (B, 0x4000, 3, DEVICE);
  assert_stale (
      &alive,
      "Kernel 1 mixed argument 1, byte 8 of it, points 0 bytes into an allocation of 512 bytes at 0x7f0000002000 that "
      "has been freed; another one of 16384 bytes is there now");
  alive_clear (&alive);
}

static void
test_check_fails (void)
{
  g_autoptr (GError) error = NULL;
  Alive alive;

  alive_init (&alive);
  fake_fail ("cuPointerGetAttributes", 1, MCU_ERROR_UNKNOWN);
  g_assert_false (_memra_census_check_allocations (alive.census, alive.driver, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
  g_clear_error (&error);
  fake_fail ("cuPointerGetAttributes", 1, MCU_ERROR_INVALID_VALUE); /* as the call for one attribute answers */
  assert_stale (
      &alive,
      "Kernel 0 add argument 0 points 16 bytes into an allocation of 256 bytes at 0x7f0000001000 that has been freed");
  alive_clear (&alive);
}

/* Two mappings in one reserved range are two allocations, each with its own life. */
static void
test_mappings (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  guint64 low = 0x7f0000000040, high = 0x7f0000200080;
  int n = 0;
  void *parameters[] = { &low, &n, &high };
  g_autoptr (GError) error = NULL;
  FakeMemory *mapping;
  Alive alive = { .driver = driver };

  fake_add_memory (0x7f0000000000, 0x800000, 1, DEVICE);
  fake_add_memory (0x7f0000000000, 0x800000, 2, DEVICE);
  mapping = fake_find_memory (low);
  mapping->mapping = 0x7f0000000000;
  mapping->mapping_size = 0x200000;
  mapping = fake_find_memory (high);
  mapping->mapping = 0x7f0000200000;
  mapping->mapping_size = 0x200000;
  fake_add_kernel (graph, NULL, &add, parameters);
  alive.census = take (driver, graph);
  g_assert_cmpuint (memra_census_get_n_allocations (alive.census), ==, 2);
  g_assert_true (_memra_census_check_allocations (alive.census, driver, &error));
  mapping->id = 9; /* unmapped and mapped again */
  assert_stale (
      &alive,
      "Kernel 0 add argument 2 points 128 bytes into an allocation of 2097152 bytes at 0x7f0000200000 that has other "
      "memory mapped to it now");
  mapping->id = 2;
  mapping->block_id++; /* other memory under the same identity */
  assert_stale (
      &alive,
      "Kernel 0 add argument 2 points 128 bytes into an allocation of 2097152 bytes at 0x7f0000200000 that has other "
      "memory mapped to it now");
  mapping->mapping = 1;
  mapping->mapping_size = 1;
  assert_stale (
      &alive,
      "Kernel 0 add argument 2 points 128 bytes into an allocation of 2097152 bytes at 0x7f0000200000 that has been "
      "unmapped");
  alive_clear (&alive);
}

static void
test_copies_stale (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  Alive alive = { .driver = driver };
  FakeNode *node;

  fake_add_memory (A, 0x100, 1, DEVICE);
  fake_add_memory (B, 0x100, 2, HOST);
  node = add_copy (graph, NULL, DEVICE, A, HOST, B + 4, 16);
  alive.census = take (driver, graph);
  fake_remove_memory (B);
  assert_stale (
      &alive,
      "Copy 0 (device-to-host, 16 bytes) target points 4 bytes into an allocation of 256 bytes at 0x7f0000002000 that "
      "has been freed");
  memra_census_unref (alive.census);

  add_copy (graph, node, HOST, 0x550000000000, DEVICE, A, 8);
  alive.census = take (driver, graph);
  assert_stale (
      &alive,
      "Copy 0 (device-to-host, 16 bytes) writes pageable host memory, and no driver call tells whether that memory is "
      "still the caller's: use pinned memory, or launch without a check");
  alive_clear (&alive);
}

/* ---- Failing calls ---- */

/* Whatever fails, in whatever turn: an error, or (where the call may be missing) a census that says what it lacks. */
static void
test_failures (void)
{
  static const char *const entries[] = { "cuGraphGetNodes",
                                         "cuGraphNodeGetType",
                                         "cuGraphNodeGetDependencies",
                                         "cuGraphKernelNodeGetParams",
                                         "cuGraphMemcpyNodeGetParams",
                                         "cuGraphMemsetNodeGetParams",
                                         "cuGraphMemAllocNodeGetParams",
                                         "cuGraphMemFreeNodeGetParams",
                                         "cuGraphChildGraphNodeGetGraph",
                                         "cuGraphNodeGetParams",
                                         "cuFuncGetName",
                                         "cuFuncGetParamInfo",
                                         "cuPointerGetAttributes" };
  guint n_errors = 0;

  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    for (guint nth = 1; nth < 100; nth++)
      {
        MemraDriver *driver = fake_driver_new (13020);
        CUgraph body, child = make_conditional (&body), graph = fake_graph_new ();
        guint64 pointer = A, zero = 0;
        void *parameters[] = { &pointer, &zero, &pointer };
        FakeNode *node = fake_add_kernel (graph, NULL, &add, parameters);
        g_autoptr (GError) error = NULL;
        g_autoptr (MemraCensus) census = NULL;
        gboolean called;

        fake_add_memory (A, 0x100, 1, DEVICE);
        node = fake_add_child (graph, node, child);
        node = add_copy (graph, node, HOST, B, DEVICE, A, 8);
        node = fake_add (graph, MCU_NODE_MEMSET, node);
        node = add_memory_node (graph, node, MCU_NODE_MEM_ALLOC, 0x48ea000000, 64);
        add_memory_node (graph, node, MCU_NODE_MEM_FREE, 0x48ea000000, 0);
        fake_fail (entries[i], nth, MCU_ERROR_UNKNOWN);
        census = memra_census_new_from_graph (driver, graph, &error);
        called = fake_count (entries[i]) >= nth;
        if (called)
          {
            g_assert_null (census);
            g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
            g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_UNKNOWN);
            assert_contains (error->message, "CUDA_ERROR_UNKNOWN (999)");
            n_errors++;
          }
        else
          g_assert_no_error (error);
        g_clear_pointer (&census, memra_census_unref);
        fake_driver_free (driver);
        if (!called)
          break;
      }
  g_assert_cmpuint (n_errors, >, G_N_ELEMENTS (entries));
}

/* What the second step could not read, the first still tells. */
static void
test_partial (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *node
      = add_memory_node (graph, fake_add_kernel (graph, NULL, &none, NULL), MCU_NODE_MEM_ALLOC, 0x48ea000000, 64);
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = NULL;

  fake_add_kernel (graph, node, &mangled, NULL);
  fake_fail ("cuGraphKernelNodeGetParams", 2, MCU_ERROR_UNKNOWN);
  census = _memra_census_read_nodes (driver, graph, 8, NULL, 0, &error);
  g_assert_nonnull (census);
  g_assert_false (_memra_census_read_kernels (census, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 3);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, 2);
  g_assert_cmpuint (memra_census_get_n_kernel_nodes (census), ==, 0);
  g_assert_cmpuint (memra_census_get_kernels (census)->len, ==, 0);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 0);
  assert_round_trip (census);
  g_clear_pointer (&census, memra_census_unref);
  fake_driver_free (driver);
}

/* ---- Size ---- */

static CUgraph
make_large (guint n)
{
  enum
  {
    N_BUFFERS = 200
  };
  static guint64 buffers[N_BUFFERS];
  static int size = 4096;
  CUgraph graph = fake_graph_new ();
  FakeNode *node = NULL;

  for (guint i = 0; i < N_BUFFERS; i++)
    {
      buffers[i] = A + i * 0x10000;
      fake_add_memory (buffers[i], 0x1000, i + 1, DEVICE);
    }
  for (guint i = 0; i < n; i++)
    {
      void *parameters[] = { &buffers[i % N_BUFFERS], &size, &buffers[(i * 7) % N_BUFFERS] };

      node = fake_add_kernel (graph, node, i % 3 == 0 ? &mangled : &add, parameters);
    }
  return graph;
}

static void
test_large (void)
{
  const guint n = 100000;
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = make_large (n);
  gint64 start = g_get_monotonic_time (), read, written;
  MemraCensus *census = take (driver, graph);
  g_autofree char *text = NULL;

  read = g_get_monotonic_time ();
  text = memra_census_to_json (census);
  written = g_get_monotonic_time ();
  g_test_message ("census of %u kernels on a driver that costs next to nothing: %.1f ms; JSON of %.1f MB: %.1f ms", n,
                  (double) (read - start) / 1e3, (double) strlen (text) / 1e6, (double) (written - read) / 1e3);
  g_assert_cmpuint (memra_census_get_n_kernel_nodes (census), ==, n);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, n - 1);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 200);
  g_assert_cmpuint (fake_count ("cuPointerGetAttributes"), ==, 200);
  g_assert_cmpuint (fake_count ("cuFuncGetName"), ==, 2);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
test_large_file (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  MemraCensus *census = take (driver, make_large (5000));

  assert_round_trip (census);
  memra_census_unref (census);
  fake_driver_free (driver);
}

static void
add_tests (void)
{
  g_test_add_func ("/census/walk/empty", test_empty);
  g_test_add_func ("/census/walk/fork-join", test_fork_join);
  g_test_add_func ("/census/walk/backward", test_backward);
  g_test_add_func ("/census/walk/circle", test_circle);
  g_test_add_func ("/census/walk/foreign-dependency", test_foreign_dependency);
  g_test_add_func ("/census/walk/wide-join", test_wide_join);
  g_test_add_func ("/census/walk/types", test_types);
  g_test_add_func ("/census/walk/sections", test_sections);
  g_test_add_func ("/census/walk/children", test_children);
  g_test_add_func ("/census/walk/endless-nest", test_endless_nest);
  g_test_add_func ("/census/conditional/getter", test_conditional_getter);
  g_test_add_func ("/census/conditional/dump", test_conditional_dump);
  g_test_add_data_func ("/census/conditional/no-dump", NULL, test_conditional_opaque);
  g_test_add_data_func ("/census/conditional/empty-dump", "", test_conditional_opaque);
  g_test_add_data_func ("/census/conditional/other-dump",
                        "subgraph cluster_1 {\n\"graph_1_node_0\"[label=\"0\nx\nnode handle: 0x0000000000000010\n\"];\n"
                        "\"graph_1_node_1\"[label=\"{\nCONDITIONAL\n| {node handle| 0x20}\n| {Conditional Type| IF}\n| "
                        "{True | graph_2}\n",
                        test_conditional_opaque);
  g_test_add_func ("/census/conditional/getter-refuses", test_conditional_getter_refuses);
  g_test_add_func ("/census/names/once-per-function", test_names);
  g_test_add_func ("/census/names/kern-only", test_kern_only);
  g_test_add_func ("/census/names/old-driver", test_names_of_old_driver);
  g_test_add_func ("/census/names/unnamed", test_unnamed);
  g_test_add_func ("/census/names/describe-node", test_describe_node);
  g_test_add_func ("/census/arguments/kinds", test_arguments);
  g_test_add_func ("/census/arguments/extra", test_extra);
  g_test_add_func ("/census/arguments/nonsense-layout", test_nonsense_layout);
  g_test_add_func ("/census/arguments/query-counts", test_query_counts);
  g_test_add_func ("/census/canonical", test_canonical);
  g_test_add_func ("/census/programmatic-edge", test_programmatic_edge);
  g_test_add_func ("/census/copies", test_copies);
  g_test_add_func ("/census/graph-memory", test_graph_memory);
  g_test_add_func ("/census/foreign-context", test_foreign_context);
  g_test_add_func ("/census/host-node", test_host_node);
  g_test_add_func ("/census/liveness/alive", test_alive);
  g_test_add_func ("/census/liveness/freed", test_freed);
  g_test_add_func ("/census/liveness/freed-in-struct", test_freed_in_struct);
  g_test_add_func ("/census/liveness/check-fails", test_check_fails);
  g_test_add_func ("/census/liveness/mappings", test_mappings);
  g_test_add_func ("/census/liveness/copies", test_copies_stale);
  g_test_add_func ("/census/failures", test_failures);
  g_test_add_func ("/census/partial", test_partial);
  g_test_add_func ("/census/large/cost", test_large);
  g_test_add_func ("/census/large/file", test_large_file);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
