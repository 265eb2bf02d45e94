/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-graph.c: reading graphs: the array protocol, node parameters, edges, children, conditionals, clones. */
#include "runtime.h"

/* node, node, node -> their places in the graph, "0 1 -" */
static const char *
places (CUgraph graph, CUgraphNode *out, size_t n)
{
  char text[200] = "";
  size_t used = 0;
  CUgraphNode nodes[64] = { NULL };
  size_t count = conf_nodes (graph, nodes, 64);
  for (size_t i = 0; i < n && used < sizeof text - 16; i++)
    {
      size_t at = 0;
      while (at < count && nodes[at] != out[i])
        at++;
      const char *place = out[i] == NULL             ? "NULL"
                          : out[i] == (CUgraphNode)7 ? "untouched"
                          : at < count               ? conf_format ("%zu", at)
                                                     : "?";
      used += (size_t)snprintf (text + used, sizeof text - used, "%s%s", i > 0 ? " " : "", place);
    }
  return conf_format ("%s", text);
}

static void
fill_handles (CUgraphNode *nodes, size_t n)
{
  for (size_t i = 0; i < n; i++)
    nodes[i] = (CUgraphNode)7;
}

/* The protocol of every node array: NULL for the count, a longer and a shorter array. */
static void
run_protocol (const ConfCase *test)
{
  CUgraph graph = conf_make_graph (2, 1);
  CUgraphNode nodes[6], to[6];
  CUgraphNode last = conf_node (graph, 2);
  static const size_t rooms[] = { 0, 1, 2, 3, 5 };
  size_t count = 99;
  int r = CONF_ABSENT;
  for (size_t i = 0; i <= sizeof rooms / sizeof rooms[0]; i++)
    {
      bool ask = i == 0;
      count = ask ? 99 : rooms[i - 1];
      size_t room = count;
      fill_handles (nodes, 6);
      fill_handles (to, 6);
      switch (test->arg)
        {
        case 0:
          r = cu.cuGraphGetNodes (graph, ask ? NULL : nodes, &count);
          break;
        case 1:
          r = CX (cuGraphGetRootNodes, graph, ask ? NULL : nodes, &count);
          break;
        case 2:
          r = cu.cuGraphGetEdges (graph, ask ? NULL : nodes, ask ? NULL : to, &count);
          break;
        case 3:
          r = CU (cuGraphGetEdges_v2, graph, ask ? NULL : nodes, ask ? NULL : to, NULL, &count);
          break;
        case 4:
          r = CX (cuGraphNodeGetDependencies, last, ask ? NULL : nodes, &count);
          break;
        case 5:
          r = CX (cuGraphNodeGetDependentNodes, conf_node (graph, 0), ask ? NULL : nodes, &count);
          break;
        }
      if (ask)
        fact ("ask=%s n=%zu", conf_r (r), count);
      else
        fact ("room %zu: %s n=%zu [%s]%s", room, conf_r (r), count, places (graph, nodes, 5),
              test->arg == 2 || test->arg == 3 ? conf_format (" to [%s]", places (graph, to, 5)) : "");
    }
  if (test->arg == 0)
    {
      fact_r ("null-count", cu.cuGraphGetNodes (graph, nodes, NULL));
      fact_r ("null-both", cu.cuGraphGetNodes (graph, NULL, NULL));
      count = 3;
      fact_r ("null-graph", cu.cuGraphGetNodes (NULL, nodes, &count));
    }
  if (test->arg == 2)
    {
      count = 3;
      fact_r ("null-to", cu.cuGraphGetEdges (graph, nodes, NULL, &count));
    }
}

static void
run_memset_params (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  McuMemsetNodeParams params;
  memset (&params, 0, sizeof params);
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  switch (test->arg)
    {
    case 0:
      cu.cuMemsetD8Async (w.b, 0x1ab & 0xff, 100, stream);
      break;
    case 1:
      CX (cuMemsetD16Async, w.b, 0x1234, 100, stream);
      break;
    case 2:
      cu.cuMemsetD32Async (w.b, 0x12345678, 100, stream);
      break;
    case 3:
      CX (cuMemsetD2D8Async, w.b, 256, 3, 64, 4, stream);
      break;
    case 4:
      CX (cuMemsetD2D8Async, w.b, 256, 3, 64, 1, stream);
      break;
    case 5:
      cu.cuMemsetD8Async (w.b, 0, 1024, stream);
      break;
    }
  conf_end_graph (stream, &graph);
  fact_r ("get", cu.cuGraphMemsetNodeGetParams (conf_node (graph, 0), &params));
  fact ("dst=%s pitch=%zu value=%#x element=%u width=%zu height=%zu", params.dst == w.b ? "same" : "other",
        params.pitch, params.value, params.element_size, params.width, params.height);
}

static const char *
side (unsigned type, const void *host, CUdeviceptr device, const void *want_host, CUdeviceptr want_device)
{
  const char *h = host == NULL ? "NULL" : host == want_host ? "same" : "other";
  const char *d = device == 0                                   ? "0"
                  : device == want_device                       ? "same"
                  : device == (CUdeviceptr)(uintptr_t)want_host ? "host-address"
                                                                : "other";
  return conf_format ("type%u host=%s device=%s", type, h, d);
}

static void
run_memcpy_params (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  McuMemcpy3D p;
  ConfMemcpy2D two;
  memset (&p, 0, sizeof p);
  memset (&two, 0, sizeof two);
  const void *host_src = NULL;
  const void *host_dst = NULL;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  switch (test->arg)
    {
    case 0:
      cu.cuMemcpyHtoDAsync (w.a, w.pinned, 100, stream);
      host_src = w.pinned;
      break;
    case 1:
      cu.cuMemcpyHtoDAsync (w.a, w.pageable, 100, stream);
      host_src = w.pageable;
      break;
    case 2:
      cu.cuMemcpyDtoHAsync (w.pinned, w.b, 100, stream);
      host_dst = w.pinned;
      break;
    case 3:
      cu.cuMemcpyDtoHAsync (w.pageable, w.b, 100, stream);
      host_dst = w.pageable;
      break;
    case 4:
      cu.cuMemcpyDtoDAsync (w.a, w.b, 100, stream);
      break;
    case 5:
      CX (cuMemcpyAsync, w.a, w.b, 100, stream);
      break;
    case 6:
      CX (cuMemcpyAsync, w.a, (CUdeviceptr)(uintptr_t)w.pinned, 100, stream);
      host_src = w.pinned;
      break;
    case 7:
      CX (cuMemcpyAsync, w.a, (CUdeviceptr)(uintptr_t)w.pageable, 100, stream);
      host_src = w.pageable;
      break;
    case 8:
      two.src_memory_type = two.dst_memory_type = MCU_MEMORYTYPE_DEVICE;
      two.src_device = w.b;
      two.dst_device = w.a;
      two.src_pitch = 512;
      two.dst_pitch = 256;
      two.width_bytes = 64;
      two.height = 4;
      CX (cuMemcpy2DAsync, &two, stream);
      break;
    }
  conf_end_graph (stream, &graph);
  fact_r ("get", cu.cuGraphMemcpyNodeGetParams (conf_node (graph, 0), &p));
  fact ("src %s", side (p.src_memory_type, p.src_host, p.src_device, host_src, w.b));
  fact ("dst %s", side (p.dst_memory_type, p.dst_host, p.dst_device, host_dst, w.a));
  fact ("width=%zu height=%zu depth=%zu pitch=%zu/%zu rows=%zu/%zu x=%zu/%zu", p.width_bytes, p.height, p.depth,
        p.src_pitch, p.dst_pitch, p.src_height, p.dst_height, p.src_x_bytes, p.dst_x_bytes);
}

static void
run_wrong_getter (const ConfCase *test)
{
  CUgraph graph = conf_make_graph (1, 1);
  CUgraphNode kernel = conf_node (graph, 0);
  CUgraphNode fill = conf_node (graph, 1);
  McuKernelNodeParams k;
  McuMemsetNodeParams m;
  McuMemcpy3D c;
  McuHostNodeParams h;
  CUgraph child = NULL;
  McuMemAllocNodeParams alloc;
  CUdeviceptr freed = 0;
  (void)test;
  fact_r ("kernel-of-memset", cu.cuGraphKernelNodeGetParams (fill, &k));
  fact_r ("kernel-v2-of-memset", CU (cuGraphKernelNodeGetParams_v2, fill, &k));
  fact_r ("memset-of-kernel", cu.cuGraphMemsetNodeGetParams (kernel, &m));
  fact_r ("memcpy-of-kernel", cu.cuGraphMemcpyNodeGetParams (kernel, &c));
  fact_r ("host-of-kernel", cu.cuGraphHostNodeGetParams (kernel, &h));
  fact_r ("child-of-kernel", cu.cuGraphChildGraphNodeGetGraph (kernel, &child));
  fact_r ("alloc-of-kernel", CU (cuGraphMemAllocNodeGetParams, kernel, &alloc));
  fact_r ("free-of-kernel", CU (cuGraphMemFreeNodeGetParams, kernel, &freed));
  fact_r ("kernel-null-params", cu.cuGraphKernelNodeGetParams (kernel, NULL));
  fact_r ("type-null", cu.cuGraphNodeGetType (kernel, NULL));
}

static void
run_host_params (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  McuHostNodeParams params = { NULL, NULL };
  (void)test;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  cu.cuLaunchHostFunc (stream, conf_count_bump, &params);
  conf_end_graph (stream, &graph);
  fact_r ("get", cu.cuGraphHostNodeGetParams (conf_node (graph, 0), &params));
  fact ("function=%s data=%s", params.fn == conf_count_bump ? "same" : "other",
        params.user_data == &params ? "same" : "other");
}

static void
run_child (const ConfCase *test)
{
  CUgraph inner = conf_make_graph (2, 1);
  CUgraph outer = NULL;
  CUgraph read = NULL;
  CUgraph again = NULL;
  CUgraphNode node = NULL;
  size_t count = 0;
  (void)test;
  cu.cuGraphCreate (&outer, 0);
  conf_own_graph (outer);
  fact_r ("add", cu.cuGraphAddChildGraphNode (&node, outer, NULL, 0, inner));
  fact ("outer=%s", conf_graph (outer));
  fact_r ("get", cu.cuGraphChildGraphNodeGetGraph (node, &read));
  cu.cuGraphChildGraphNodeGetGraph (node, &again);
  fact ("copy=%s stable=%s inner=%s", conf_yes (read != inner), conf_yes (read == again), conf_graph (read));
  fact_r ("edges", cu.cuGraphGetEdges (read, NULL, NULL, &count));
  fact ("n=%zu", count);
  CUgraphNode extra = NULL;
  fact_r ("extend-original", CX (cuGraphAddEmptyNode, &extra, inner, NULL, 0));
  fact ("child=%s", conf_graph (read));
  fact_r ("extend-child", CX (cuGraphAddEmptyNode, &extra, read, NULL, 0));
  fact ("child=%s", conf_graph (read));
  CUstream stream = conf_stream (true);
  CUgraphExec exec = conf_make_exec (outer);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
}

/* A driver may recurse without end here. */
static void
run_child_self (const ConfCase *test)
{
  CUgraph graph = NULL;
  CUgraphNode node = NULL;
  (void)test;
  cu.cuGraphCreate (&graph, 0);
  fact_r ("add-self", cu.cuGraphAddChildGraphNode (&node, graph, NULL, 0, graph));
  fact ("graph=%s", conf_graph (graph));
}

static void
run_conditional (const ConfCase *test)
{
  CUgraph graph = NULL;
  CUgraph body = NULL;
  CUgraph out = NULL;
  CUgraphNode node = NULL;
  CUstream stream = conf_stream (true);
  CUgraphExec exec = NULL;
  unsigned long long handle = 0;
  uint32_t start = 3;
  cu.cuGraphCreate (&graph, 0);
  conf_own_graph (graph);
  int made = CX (cuGraphConditionalHandleCreate, &handle, graph, w.context, test->arg == 0 ? 1 : 0, 1);
  fact_r ("handle", made);
  McuNodeParams params;
  memset (&params, 0, sizeof params);
  params.type = MCU_NODE_CONDITIONAL;
  params.u.conditional.handle = handle;
  params.u.conditional.type = MCU_COND_IF;
  params.u.conditional.size = 1;
  params.u.conditional.ctx = w.context;
  int added = made != 0 ? made : CX (cuGraphAddNode_v2, &node, graph, NULL, NULL, 0, &params);
  fact_r ("add", added);
  if (added != 0)
    return;
  body = params.u.conditional.graphs_out != NULL ? params.u.conditional.graphs_out[0] : NULL;
  fact ("graph=%s body=%s", conf_graph (graph), conf_graph (body));
  conf_poke (w.a + 2048, start);
  fact_r ("begin", CX (cuStreamBeginCaptureToGraph, stream, body, NULL, NULL, 0, MCU_CAPTURE_MODE_THREAD_LOCAL));
  fact_r ("kernel", conf_kernel_store (stream, w.a + 2048, 9));
  fact_r ("end", cu.cuStreamEndCapture (stream, &out));
  fact ("body-same=%s graph=%s body=%s", conf_yes (out == body), conf_graph (graph), conf_graph (body));
  fact_r ("clone", CX (cuGraphClone, &out, graph));
  memset (&params, 0, sizeof params);
  fact_r ("get-params", CU (cuGraphNodeGetParams, node, &params));
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("value=%u", conf_peek (w.a + 2048));
}

static void
run_clone (const ConfCase *test)
{
  CUgraph graph = conf_make_graph (2, 2);
  CUgraph clone = NULL;
  CUgraphNode originals[4], clones[4], found = NULL;
  bool in_order = true;
  (void)test;
  fact_r ("clone", CX (cuGraphClone, &clone, graph));
  conf_own_graph (clone);
  fact ("clone=%s", conf_graph (clone));
  conf_nodes (graph, originals, 4);
  conf_nodes (clone, clones, 4);
  for (int i = 0; i < 4; i++)
    in_order = CX (cuGraphNodeFindInClone, &found, originals[i], clone) == 0 && found == clones[i] && in_order;
  fact ("same-order=%s", conf_yes (in_order));
  fact_r ("find-in-original", CX (cuGraphNodeFindInClone, &found, originals[0], graph));
  fact_r ("clone-null", CX (cuGraphClone, NULL, graph));
  fact_r ("clone-of-null", CX (cuGraphClone, &clone, NULL));
}

/* Building by hand, and what is refused. */
static void
run_build (const ConfCase *test)
{
  CUgraph graph = NULL;
  CUgraphNode a = NULL, b = NULL, c = NULL, null_node = NULL;
  CUgraphNode foreign = conf_node (conf_make_graph (1, 0), 0);
  CUgraphExec exec = NULL;
  size_t count = 0;
  (void)test;
  fact_r ("create-flags-1", cu.cuGraphCreate (&graph, 1));
  fact_r ("create-null", cu.cuGraphCreate (NULL, 0));
  fact_r ("create", cu.cuGraphCreate (&graph, 0));
  conf_own_graph (graph);
  fact_r ("a", CX (cuGraphAddEmptyNode, &a, graph, NULL, 0));
  fact_r ("b", CX (cuGraphAddEmptyNode, &b, graph, &a, 1));
  fact_r ("null-dependencies", CX (cuGraphAddEmptyNode, &c, graph, NULL, 1));
  fact_r ("null-node", CX (cuGraphAddEmptyNode, &c, graph, &null_node, 1));
  fact_r ("foreign-dependency", CX (cuGraphAddEmptyNode, &c, graph, &foreign, 1));
  fact_r ("twice-the-same", CX (cuGraphAddEmptyNode, &c, graph, (CUgraphNode[]){ a, a }, 2));
  fact_r ("null-graph", CX (cuGraphAddEmptyNode, &c, NULL, NULL, 0));
  fact_r ("null-out", CX (cuGraphAddEmptyNode, NULL, graph, NULL, 0));
  fact ("graph=%s", conf_graph (graph));
  fact_r ("edge-again", CX (cuGraphAddDependencies, graph, &a, &b, 1));
  fact_r ("edge-self", CX (cuGraphAddDependencies, graph, &a, &a, 1));
  fact_r ("edge-back", CX (cuGraphAddDependencies, graph, &b, &a, 1));
  fact_r ("edges", cu.cuGraphGetEdges (graph, NULL, NULL, &count));
  fact ("n=%zu", count);
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  fact ("exec=%s", exec == NULL ? "NULL" : "set");
  conf_own_exec (exec);
  McuInstantiateParams params = { 0, NULL, NULL, 0 };
  exec = NULL;
  fact_r ("with-params", CU (cuGraphInstantiateWithParams, &exec, graph, &params));
  fact ("result=%d node=%s", params.result, places (graph, &params.error_node, 1));
  conf_own_exec (exec);
  fact_r ("remove-back", CX (cuGraphRemoveDependencies, graph, &b, &a, 1));
  fact_r ("remove-absent", CX (cuGraphRemoveDependencies, graph, &b, &a, 1));
  exec = NULL;
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
}

/* Programmatic edges and the old queries. */
static void
run_edge_data (const ConfCase *test)
{
  CUgraph graph = NULL;
  CUgraphNode a = NULL, b = NULL, from = NULL, to = NULL;
  McuEdgeData edge, out;
  McuKernelNodeParams kernel;
  size_t count = 1;
  memset (&kernel, 0, sizeof kernel);
  memset (&edge, 0, sizeof edge);
  memset (&out, 0, sizeof out);
  kernel.func = w.empty;
  kernel.grid_x = kernel.grid_y = kernel.grid_z = kernel.block_x = kernel.block_y = kernel.block_z = 1;
  if (test->arg == 1)
    edge.from_port = 1, edge.type = MCU_EDGE_PROGRAMMATIC;
  else if (test->arg == 2)
    edge.from_port = 2;
  else if (test->arg == 3)
    edge.type = 9;
  cu.cuGraphCreate (&graph, 0);
  conf_own_graph (graph);
  fact_r ("a", CX (cuGraphAddKernelNode, &a, graph, NULL, 0, &kernel));
  fact_r ("b", CX (cuGraphAddKernelNode, &b, graph, NULL, 0, &kernel));
  fact_r ("add", CX (cuGraphAddDependencies_v2, graph, &a, &b, &edge, 1));
  fact_r ("edges", cu.cuGraphGetEdges (graph, &from, &to, &count));
  fact_r ("edges-count", cu.cuGraphGetEdges (graph, NULL, NULL, &count));
  fact ("n=%zu", count);
  count = 1;
  fact_r ("edges-v2-no-data", CU (cuGraphGetEdges_v2, graph, &from, &to, NULL, &count));
  count = 1;
  fact_r ("edges-v2", CU (cuGraphGetEdges_v2, graph, &from, &to, &out, &count));
  fact ("n=%zu edge=%u/%u/%u", count, out.from_port, out.to_port, out.type);
  count = 1;
  fact_r ("dependencies", CX (cuGraphNodeGetDependencies, b, &from, &count));
  count = 1;
  fact_r ("dependencies-v2", CX (cuGraphNodeGetDependencies_v2, b, &from, &out, &count));
  CUgraphExec exec = NULL;
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
}

void
conf_cases_graph (void)
{
  static const char *const protocols[] = { "nodes", "roots", "edges", "edges-v2", "dependencies", "dependents" };
  static const char *const sets[] = { "d8", "d16", "d32", "2d", "2d-one-row", "d8-1024" };
  static const char *const copies[]
      = { "htod-pinned", "htod-pageable",      "dtoh-pinned", "dtoh-pageable", "dtod", "copy",
          "copy-pinned", "copy-from-pageable", "2d" };
  static const char *const edges[] = { "plain", "programmatic", "launch-port", "unknown-type" };
  for (int i = 0; i < 6; i++)
    conf_add (0, run_protocol, 0, i, NULL, "array/%s", protocols[i]);
  for (int i = 0; i < 6; i++)
    conf_add (0, run_memset_params, 0, i, NULL, "node/memset/%s", sets[i]);
  for (int i = 0; i < 9; i++)
    conf_add (0, run_memcpy_params, 0, i, NULL, "node/memcpy/%s", copies[i]);
  conf_add (0, run_host_params, 0, 0, NULL, "node/host");
  conf_add (0, run_wrong_getter, 0, 0, NULL, "node/wrong-getter");
  conf_add (0, run_child, 0, 0, NULL, "node/child");
  conf_add (CONF_ISOLATED, run_child_self, 0, 0, NULL, "node/child-of-itself");
  conf_add (0, run_conditional, 0, 0, NULL, "node/conditional/taken");
  conf_add (0, run_conditional, 0, 1, NULL, "node/conditional/not-taken");
  conf_add (0, run_clone, 0, 0, NULL, "graph/clone");
  conf_add (0, run_build, 0, 0, NULL, "graph/build");
  for (int i = 0; i < 4; i++)
    conf_add (0, run_edge_data, 0, i, NULL, "graph/edge-data/%s", edges[i]);
}
