/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-update.c: updating an executable graph, as a whole and node by node. */
#include "runtime.h"

/* The graph that an exec is made of, and one that differs from it in one thing. */
enum
{
  SAME,
  MORE,
  MORE_BESIDE,
  FEWER,
  EMPTY,
  EDGE_GONE,
  EDGE_MOVED,
  TYPE,
  FUNCTION,
  FUNCTION_OTHER_MODULE,
  GRID,
  BLOCK,
  SHARED,
  ARGUMENT,
  COOPERATIVE,
  FILL_VALUE,
  FILL_SIZE,
  FILL_ELEMENT,
  FILL_2D,
  COPY_SIZE,
  COPY_ADDRESS,
  COPY_DIRECTION,
  COPY_PAGEABLE,
  HOST_FUNCTION,
  EXTRA_EMPTY_ROOT,
  TWO_CHANGES,
  N_CHANGES
};

static const char *const change_names[N_CHANGES] = { "same",
                                                     "one-more",
                                                     "one-more-beside",
                                                     "one-less",
                                                     "to-empty",
                                                     "edge-gone",
                                                     "edge-moved",
                                                     "type",
                                                     "function",
                                                     "function-of-another-module",
                                                     "grid",
                                                     "block",
                                                     "shared",
                                                     "argument",
                                                     "cooperative",
                                                     "fill-value",
                                                     "fill-size",
                                                     "fill-element",
                                                     "fill-2d",
                                                     "copy-size",
                                                     "copy-address",
                                                     "copy-direction",
                                                     "copy-pageable",
                                                     "host-function",
                                                     "extra-empty-root",
                                                     "two-changes" };

#define AT (w.a + 8192)

static void
do_nothing (void *data)
{
  (void)data;
}

/* store(AT, 5) -> memset -> memcpy device to device -> host function, with `change` done to it. */
static CUgraph
make (int change)
{
  CUstream s = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  CUgraph graph = NULL;
  CUgraphNode node = NULL;
  CUfunction other = NULL;
  CUdeviceptr at = change == ARGUMENT || change == TWO_CHANGES ? AT + 4 : AT;
  uint32_t value = change == ARGUMENT ? 6 : 5;
  void *params[] = { &at, &value };
  uint64_t count = 1;
  void *add_params[] = { &at, &at, &count };
  cu.cuModuleGetFunction (&other, w.module2, "conf_store");
  cu.cuStreamBeginCapture (s, MCU_CAPTURE_MODE_RELAXED);
  if (change == EMPTY)
    goto end;
  if (change == MORE_BESIDE)
    {
      cu.cuEventRecord (event, s);
      cu.cuStreamWaitEvent (fork, event, 0);
    }
  if (change == FUNCTION)
    cu.cuLaunchKernel (w.add, 1, 1, 1, 1, 1, 1, 0, s, add_params, NULL);
  else if (change == COOPERATIVE)
    CX (cuLaunchCooperativeKernel, w.store, 1, 1, 1, 1, 1, 1, 0, s, params);
  else if (change == TYPE)
    cu.cuMemsetD8Async (w.b, 0, 4, s);
  else
    cu.cuLaunchKernel (change == FUNCTION_OTHER_MODULE ? other : w.store, change == GRID ? 2 : 1, 1, 1,
                       change == BLOCK ? 32 : 1, 1, 1, change == SHARED ? 1024 : 0, s, params, NULL);
  if (change == EDGE_MOVED)
    {
      cu.cuEventRecord (event, s);
      cu.cuStreamWaitEvent (fork, event, 0);
    }
  if (change == EDGE_GONE)
    CX (cuStreamUpdateCaptureDependencies, s, NULL, 0, MCU_CAPTURE_SET_DEPENDENCIES);
  if (change == FILL_ELEMENT)
    cu.cuMemsetD32Async (w.b, 0, 16, s);
  else if (change == FILL_2D)
    CX (cuMemsetD2D8Async, w.b, 256, 0, 16, 4, s);
  else
    cu.cuMemsetD8Async (w.b, change == FILL_VALUE ? 1 : 0, change == FILL_SIZE ? 128 : 64, s);
  if (change == COPY_DIRECTION)
    cu.cuMemcpyHtoDAsync (w.a, w.pinned, 64, s);
  else if (change == COPY_PAGEABLE)
    cu.cuMemcpyHtoDAsync (w.a, w.pageable, 64, s);
  else
    cu.cuMemcpyDtoDAsync (w.a, change == COPY_ADDRESS ? w.b + 1024 : w.b, change == COPY_SIZE ? 32 : 64, s);
  if (change == MORE_BESIDE)
    {
      cu.cuMemsetD8Async (w.b + 4096, 0, 64, fork);
      cu.cuEventRecord (event, fork);
      cu.cuStreamWaitEvent (s, event, 0);
    }
  if (change == EDGE_MOVED) /* the same number of edges, the last one elsewhere */
    cu.cuLaunchHostFunc (fork, conf_count_bump, NULL);
  else if (change != FEWER)
    cu.cuLaunchHostFunc (s, change == HOST_FUNCTION || change == TWO_CHANGES ? do_nothing : conf_count_bump, NULL);
  if (change == EDGE_MOVED)
    {
      cu.cuEventRecord (event, fork);
      cu.cuStreamWaitEvent (s, event, 0);
    }
  if (change == MORE)
    conf_kernel (s);
end:
  cu.cuStreamEndCapture (s, &graph);
  conf_own_graph (graph);
  if (change == EXTRA_EMPTY_ROOT)
    CX (cuGraphAddEmptyNode, &node, graph, NULL, 0);
  return graph;
}

static const char *
place (CUgraph graph, CUgraphNode node)
{
  if (node == NULL)
    return "NULL";
  for (size_t i = 0; i < 8; i++)
    if (conf_node (graph, i) == node)
      return conf_format ("%zu", i);
  return "?";
}

static void
run_update (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = make (SAME);
  CUgraph changed = make (test->arg);
  CUgraphExec exec = conf_make_exec (graph);
  CUgraphNode node = (CUgraphNode)7;
  int result = 77;
  fact ("graph=%s", conf_graph (changed));
  fact_r ("v1", cu.cuGraphExecUpdate (exec, changed, &node, &result));
  fact ("result=%d node=%s", result, place (changed, node));
  McuUpdateResultInfo info = { 77, (CUgraphNode)7, (CUgraphNode)7 };
  fact_r ("v2", CU (cuGraphExecUpdate_v2, exec, changed, &info));
  fact ("result=%d node=%s from=%s", info.result, place (changed, info.error_node),
        place (changed, info.error_from_node));
  conf_poke (AT, 0);
  conf_poke (AT + 4, 0);
  conf_count_reset ();
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("values=%u/%u host=%d", conf_peek (AT), conf_peek (AT + 4), conf_count_wait (0));
}

static void
run_update_arguments (const ConfCase *test)
{
  CUgraph graph = make (SAME);
  CUgraphExec exec = conf_make_exec (graph);
  CUgraphNode node = NULL;
  int result = 77;
  McuUpdateResultInfo info = { 77, NULL, NULL };
  (void)test;
  fact_r ("v1-null-exec", cu.cuGraphExecUpdate (NULL, graph, &node, &result));
  fact_r ("v1-null-graph", cu.cuGraphExecUpdate (exec, NULL, &node, &result));
  fact_r ("v2-null-exec", CU (cuGraphExecUpdate_v2, NULL, graph, &info));
  fact_r ("v2-null-graph", CU (cuGraphExecUpdate_v2, exec, NULL, &info));
  fact ("result=%d", info.result);
  fact_r ("v2-null-info", CU (cuGraphExecUpdate_v2, exec, graph, NULL));
}

/* An update while a launch is in flight: that launch keeps the old parameters. */
static void
run_update_in_flight (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph changed = make (ARGUMENT);
  CUgraphExec exec = conf_make_exec (make (SAME));
  McuUpdateResultInfo info = { 77, NULL, NULL };
  (void)test;
  conf_poke (AT, 0);
  conf_poke (AT + 4, 0);
  ConfGate *gate = conf_gate (stream);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("update", CU (cuGraphExecUpdate_v2, exec, changed, &info));
  fact ("result=%d", info.result);
  conf_gate_open (gate);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("values=%u/%u", conf_peek (AT), conf_peek (AT + 4));
}

/* Does an update enable a disabled node again? */
static void
run_update_disabled (const ConfCase *test)
{
  CUgraph graph = make (SAME);
  CUgraphExec exec = conf_make_exec (graph);
  McuUpdateResultInfo info = { 77, NULL, NULL };
  unsigned enabled = 77;
  (void)test;
  fact_r ("off", CX (cuGraphNodeSetEnabled, exec, conf_node (graph, 0), 0));
  fact_r ("update", CU (cuGraphExecUpdate_v2, exec, make (ARGUMENT), &info));
  fact_r ("get", CX (cuGraphNodeGetEnabled, exec, conf_node (graph, 0), &enabled));
  fact ("enabled=%u", enabled);
}

/* Child graphs are compared in depth. */
static CUgraph
wrap (CUgraph inner)
{
  CUgraph outer = NULL;
  CUgraphNode node = NULL;
  cu.cuGraphCreate (&outer, 0);
  cu.cuGraphAddChildGraphNode (&node, outer, NULL, 0, inner);
  return conf_own_graph (outer);
}

static void
run_update_child (const ConfCase *test)
{
  CUgraph graph = wrap (make (SAME));
  CUgraph changed = wrap (make (test->arg));
  CUgraphExec exec = conf_make_exec (graph);
  McuUpdateResultInfo info = { 77, NULL, NULL };
  CUgraph inner = NULL;
  fact_r ("update", CU (cuGraphExecUpdate_v2, exec, changed, &info));
  cu.cuGraphChildGraphNodeGetGraph (conf_node (changed, 0), &inner);
  fact ("result=%d node=%s inner=%s", info.result, place (changed, info.error_node), place (inner, info.error_node));
  fact_r ("set-child", CX (cuGraphExecChildGraphNodeSetParams, exec, conf_node (graph, 0), make (test->arg)));
}

/* --- node by node --- */

static void
run_set_kernel (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = make (SAME);
  CUgraphExec exec = conf_make_exec (graph);
  CUgraphNode node = conf_node (graph, 0);
  McuKernelNodeParams p, before;
  CUdeviceptr at = AT + 4;
  uint32_t value = 9;
  void *params[] = { &at, &value };
  (void)test;
  memset (&p, 0, sizeof p);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, node, &p));
  before = p;
  p.kernel_params = params;
  p.extra = NULL;
  fact_r ("set", CU (cuGraphExecKernelNodeSetParams_v2, exec, node, &p));
  conf_poke (AT, 0);
  conf_poke (AT + 4, 0);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("values=%u/%u", conf_peek (AT), conf_peek (AT + 4));
  memset (&p, 0, sizeof p);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, node, &p));
  uint32_t kept = 0;
  if (p.kernel_params != NULL)
    memcpy (&kept, p.kernel_params[1], sizeof kept);
  fact ("graph-keeps=%u", kept);
  p = before;
  p.grid_x = 0;
  fact_r ("grid-0", CU (cuGraphExecKernelNodeSetParams_v2, exec, node, &p));
  p = before;
  p.kernel_params = NULL;
  p.extra = NULL;
  fact_r ("no-params", CU (cuGraphExecKernelNodeSetParams_v2, exec, node, &p));
  p = before;
  p.func = w.empty;
  fact_r ("function", CU (cuGraphExecKernelNodeSetParams_v2, exec, node, &p));
  fact_r ("wrong-type", CU (cuGraphExecKernelNodeSetParams_v2, exec, conf_node (graph, 1), &before));
  fact_r ("foreign", CU (cuGraphExecKernelNodeSetParams_v2, exec, conf_node (make (SAME), 0), &before));
  fact_r ("null-params", CU (cuGraphExecKernelNodeSetParams_v2, exec, node, NULL));
  fact_r ("null-exec", CU (cuGraphExecKernelNodeSetParams_v2, NULL, node, &before));
  /* The graph's own node. */
  p = before;
  p.kernel_params = params;
  p.extra = NULL;
  fact_r ("set-in-graph", CX (cuGraphKernelNodeSetParams, node, &p));
  memset (&p, 0, sizeof p);
  CU (cuGraphKernelNodeGetParams_v2, node, &p);
  if (p.kernel_params != NULL)
    memcpy (&kept, p.kernel_params[1], sizeof kept);
  fact ("graph-has=%u", kept);
}

static void
run_set_others (const ConfCase *test)
{
  CUgraph graph = make (SAME);
  CUgraphExec exec = conf_make_exec (graph);
  CUgraphNode fill = conf_node (graph, 1), copy = conf_node (graph, 2), host = conf_node (graph, 3);
  McuMemsetNodeParams m, m0;
  McuMemcpy3D c, c0;
  McuHostNodeParams h = { conf_count_bump, NULL };
  (void)test;
  memset (&m0, 0, sizeof m0);
  memset (&c0, 0, sizeof c0);
  fact_r ("memset-get", cu.cuGraphMemsetNodeGetParams (fill, &m0));
  m = m0;
  m.value = 3;
  fact_r ("value", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m, w.context));
  m = m0;
  m.width = 32;
  fact_r ("width", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m, w.context));
  m = m0;
  m.width = 256;
  fact_r ("wider", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m, w.context));
  m = m0;
  m.height = 2;
  m.pitch = 256;
  fact_r ("2d", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m, w.context));
  m = m0;
  m.element_size = 4;
  m.width = 16;
  fact_r ("element", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m, w.context));
  m = m0;
  m.element_size = 3;
  fact_r ("element-3", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m, w.context));
  fact_r ("null-context", CX (cuGraphExecMemsetNodeSetParams, exec, fill, &m0, NULL));
  fact_r ("null", CX (cuGraphExecMemsetNodeSetParams, exec, fill, NULL, w.context));
  fact_r ("wrong-type", CX (cuGraphExecMemsetNodeSetParams, exec, copy, &m0, w.context));
  fact_r ("memcpy-get", cu.cuGraphMemcpyNodeGetParams (copy, &c0));
  c = c0;
  fact_r ("same", CX (cuGraphExecMemcpyNodeSetParams, exec, copy, &c, w.context));
  c.width_bytes = 32;
  fact_r ("width", CX (cuGraphExecMemcpyNodeSetParams, exec, copy, &c, w.context));
  c = c0;
  c.src_memory_type = MCU_MEMORYTYPE_HOST;
  c.src_host = w.pinned;
  c.src_device = 0;
  fact_r ("from-pinned", CX (cuGraphExecMemcpyNodeSetParams, exec, copy, &c, w.context));
  fact_r ("null", CX (cuGraphExecMemcpyNodeSetParams, exec, copy, NULL, w.context));
  fact_r ("wrong-type", CX (cuGraphExecMemcpyNodeSetParams, exec, fill, &c0, w.context));
  fact_r ("host", CX (cuGraphExecHostNodeSetParams, exec, host, &h));
  fact_r ("host-null", CX (cuGraphExecHostNodeSetParams, exec, host, NULL));
  fact_r ("host-wrong-type", CX (cuGraphExecHostNodeSetParams, exec, fill, &h));
}

void
conf_cases_update (void)
{
  for (int change = 0; change < N_CHANGES; change++)
    conf_add (0, run_update, 0, change, NULL, "exec-update/%s", change_names[change]);
  conf_add (0, run_update_arguments, 0, 0, NULL, "exec-update/arguments");
  conf_add (0, run_update_in_flight, 0, 0, NULL, "exec-update/in-flight");
  conf_add (0, run_update_disabled, 0, 0, NULL, "exec-update/disabled-node");
  conf_add (0, run_update_child, 0, SAME, NULL, "exec-update/child-same");
  conf_add (0, run_update_child, 0, ARGUMENT, NULL, "exec-update/child-argument");
  conf_add (0, run_update_child, 0, MORE, NULL, "exec-update/child-one-more");
  conf_add (0, run_update_child, 0, TYPE, NULL, "exec-update/child-type");
  conf_add (0, run_set_kernel, 0, 0, NULL, "exec-set/kernel");
  conf_add (0, run_set_others, 0, 0, NULL, "exec-set/others");
}
