/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host driver's graphs, where the conformance table and the library do not look: what nodes are changed to, and
 * ids. */
#include "config.h"

#include "host-api.h"

#include "host/graph-private.h"

#include <string.h>

/* A graph of one node of each kind, none of which depends on another. */
typedef struct
{
  HostBench bench;
  const HostApi *cu;
  CUmodule module;
  CUfunction add;
  CUdeviceptr dst, src;
  guint64 n;
  void *params[4];
  McuKernelNodeParams launch;
  McuMemcpy3D copy;
  McuMemsetNodeParams fill;
  CUgraph graph;
  CUgraphNode kernel, copier, filler, caller;
  guint calls[2];
} Nodes;

static void
count_call (void *data)
{
  ++*(guint *) data;
}

static McuMemcpy3D
copy_of (CUdeviceptr dst, CUdeviceptr src, gsize size)
{
  return (McuMemcpy3D){ .src_memory_type = MCU_MEMORYTYPE_DEVICE,
                        .src_device = src,
                        .dst_memory_type = MCU_MEMORYTYPE_DEVICE,
                        .dst_device = dst,
                        .width_bytes = size,
                        .height = 1,
                        .depth = 1 };
}

static void
nodes_init (Nodes *nodes)
{
  g_autofree char *path = fixture_dup_host_module_path ();
  McuHostNodeParams call = { count_call, &nodes->calls[0] };

  memset (nodes, 0, sizeof *nodes);
  host_bench_init (&nodes->bench);
  nodes->cu = nodes->bench.cu;
  memra_test_assert_cu (nodes->cu->cuModuleLoad (&nodes->module, path));
  memra_test_assert_cu (nodes->cu->cuModuleGetFunction (&nodes->add, nodes->module, FIXTURE_KERNEL));
  nodes->dst = nodes->bench.memory;
  nodes->src = nodes->bench.memory + 64;
  nodes->n = 4;
  nodes->params[0] = &nodes->dst;
  nodes->params[1] = &nodes->src;
  nodes->params[2] = &nodes->n;
  nodes->launch = (McuKernelNodeParams){ .func = nodes->add,
                                         .grid_x = 1,
                                         .grid_y = 1,
                                         .grid_z = 1,
                                         .block_x = 32,
                                         .block_y = 1,
                                         .block_z = 1,
                                         .kernel_params = nodes->params };
  nodes->copy = copy_of (nodes->bench.memory + 512, nodes->bench.memory + 256, 16);
  nodes->fill = (McuMemsetNodeParams){ nodes->bench.memory + 1024, 0, 5, 1, 16, 1 };
  memra_test_assert_cu (nodes->cu->cuGraphCreate (&nodes->graph, 0));
  memra_test_assert_cu (nodes->cu->cuGraphAddKernelNode_v2 (&nodes->kernel, nodes->graph, NULL, 0, &nodes->launch));
  memra_test_assert_cu (
      nodes->cu->cuGraphAddMemcpyNode (&nodes->copier, nodes->graph, NULL, 0, &nodes->copy, nodes->bench.context));
  memra_test_assert_cu (
      nodes->cu->cuGraphAddMemsetNode (&nodes->filler, nodes->graph, NULL, 0, &nodes->fill, nodes->bench.context));
  memra_test_assert_cu (nodes->cu->cuGraphAddHostNode (&nodes->caller, nodes->graph, NULL, 0, &call));
}

static void
nodes_clear (Nodes *nodes)
{
  if (nodes->graph == NULL)
    return;
  memra_test_assert_cu (nodes->cu->cuGraphDestroy (nodes->graph));
  memra_test_assert_cu (nodes->cu->cuModuleUnload (nodes->module));
  host_bench_clear (&nodes->bench);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Nodes, nodes_clear)

static CUgraphExec
instantiate (Nodes *nodes)
{
  CUgraphExec exec = NULL;

  memra_test_assert_cu (nodes->cu->cuGraphInstantiateWithFlags (&exec, nodes->graph, 0));
  return exec;
}

static void
launch (Nodes *nodes, CUgraphExec exec)
{
  memra_test_assert_cu (nodes->cu->cuGraphLaunch (exec, nodes->bench.stream));
  host_bench_wait (&nodes->bench);
}

/* ---- Nodes of a graph ---- */

static void
test_set_params (void)
{
  g_auto (Nodes) nodes = { 0 };
  McuMemsetNodeParams fill;
  McuMemcpy3D copy;
  McuHostNodeParams call;
  CUgraphExec before, exec;
  guint8 *bytes;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  bytes = nodes.bench.bytes;
  memset (bytes + 256, 3, 16);
  memset (bytes + 272, 4, 16);
  before = instantiate (&nodes);

  fill = nodes.fill;
  fill.value = 6;
  memra_test_assert_cu (nodes.cu->cuGraphMemsetNodeSetParams (nodes.filler, &fill));
  copy = copy_of (nodes.bench.memory + 512, nodes.bench.memory + 272, 16);
  memra_test_assert_cu (nodes.cu->cuGraphMemcpyNodeSetParams (nodes.copier, &copy));
  call = (McuHostNodeParams){ count_call, &nodes.calls[1] };
  memra_test_assert_cu (nodes.cu->cuGraphHostNodeSetParams (nodes.caller, &call));
  memset (&call, 0, sizeof call);
  memra_test_assert_cu (nodes.cu->cuGraphHostNodeGetParams (nodes.caller, &call));
  g_assert_true (call.user_data == &nodes.calls[1]);

  launch (&nodes, before); /* what was instantiated before is as it was */
  g_assert_cmpuint (bytes[1024], ==, 5);
  g_assert_cmpuint (bytes[512], ==, 3);
  g_assert_cmpuint (nodes.calls[0], ==, 1);
  exec = instantiate (&nodes);
  launch (&nodes, exec);
  g_assert_cmpuint (bytes[1024], ==, 6);
  g_assert_cmpuint (bytes[512], ==, 4);
  g_assert_cmpuint (nodes.calls[0], ==, 1);
  g_assert_cmpuint (nodes.calls[1], ==, 1);

  /* Of another node, and nonsense. */
  g_assert_cmpint (nodes.cu->cuGraphMemsetNodeSetParams (nodes.copier, &fill), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphMemcpyNodeSetParams (nodes.kernel, &copy), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphHostNodeSetParams (nodes.filler, &call), ==, MCU_ERROR_INVALID_VALUE);
  call.fn = NULL;
  g_assert_cmpint (nodes.cu->cuGraphHostNodeSetParams (nodes.caller, &call), ==, MCU_ERROR_INVALID_VALUE);
  fill.element_size = 3;
  g_assert_cmpint (nodes.cu->cuGraphMemsetNodeSetParams (nodes.filler, &fill), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (before));
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
}

/* The call that takes any node's parameters, for the graph and for what was instantiated of it. */
static void
test_set_any_params (void)
{
  g_auto (Nodes) nodes = { 0 };
  HostNodeParams params = { .type = MCU_NODE_MEMSET };
  CUgraphExec exec;
  guint8 *bytes;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  bytes = nodes.bench.bytes;
  params.u.memset.fill = nodes.fill;
  params.u.memset.fill.value = 7;
  params.u.memset.ctx = nodes.bench.context;
  memra_test_assert_cu (nodes.cu->cuGraphNodeSetParams (nodes.filler, (McuNodeParams *) &params));
  exec = instantiate (&nodes);
  launch (&nodes, exec);
  g_assert_cmpuint (bytes[1024], ==, 7);
  params.u.memset.fill.value = 8;
  memra_test_assert_cu (nodes.cu->cuGraphExecNodeSetParams (exec, nodes.filler, (McuNodeParams *) &params));
  launch (&nodes, exec);
  g_assert_cmpuint (bytes[1024], ==, 8);
  g_assert_cmpint (nodes.cu->cuGraphNodeSetParams (nodes.copier, (McuNodeParams *) &params), ==,
                   MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphExecNodeSetParams (exec, nodes.copier, (McuNodeParams *) &params), ==,
                   MCU_ERROR_INVALID_VALUE);

  memset (&params, 0, sizeof params);
  params.type = MCU_NODE_MEMCPY;
  params.u.memcpy.ctx = nodes.bench.context;
  params.u.memcpy.copy = copy_of (nodes.bench.memory + 512, nodes.bench.memory + 1024, 16);
  memra_test_assert_cu (nodes.cu->cuGraphExecNodeSetParams (exec, nodes.copier, (McuNodeParams *) &params));
  launch (&nodes, exec);
  launch (&nodes, exec);
  g_assert_cmpuint (bytes[512], ==, 8);

  memset (&params, 0, sizeof params);
  params.type = MCU_NODE_HOST;
  params.u.host = (McuHostNodeParams){ count_call, &nodes.calls[1] };
  memra_test_assert_cu (nodes.cu->cuGraphExecNodeSetParams (exec, nodes.caller, (McuNodeParams *) &params));
  launch (&nodes, exec);
  g_assert_cmpuint (nodes.calls[1], ==, 1);

  memset (&params, 0, sizeof params);
  params.type = MCU_NODE_KERNEL;
  params.u.kernel = nodes.launch;
  params.u.kernel.block_x = 64;
  memra_test_assert_cu (nodes.cu->cuGraphExecNodeSetParams (exec, nodes.kernel, (McuNodeParams *) &params));
  launch (&nodes, exec);
  g_assert_cmpint (nodes.cu->cuGraphExecNodeSetParams (exec, nodes.kernel, NULL), ==, MCU_ERROR_INVALID_VALUE);

  /* Read back; and a type that nobody can make. */
  memra_test_assert_cu (nodes.cu->cuGraphNodeGetParams (nodes.kernel, (McuNodeParams *) &params));
  g_assert_cmpint (params.type, ==, MCU_NODE_KERNEL);
  g_assert_cmpuint (params.u.kernel.block_x, ==, 32); /* the graph's own */
  params.type = 99;
  g_assert_cmpint (nodes.cu->cuGraphAddNode (&nodes.copier, nodes.graph, NULL, 0, (McuNodeParams *) &params), ==,
                   MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
}

static void
test_kernel_attributes (void)
{
  g_auto (Nodes) nodes = { 0 };
  CUgraphNode second = NULL;
  int value = 1, cluster[3] = { 2, 1, 1 }, answer[3] = { 0 };
  guint64 unsupported;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  memra_test_assert_cu (nodes.cu->cuGraphAddKernelNode_v2 (&second, nodes.graph, NULL, 0, &nodes.launch));
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeSetAttribute (nodes.kernel, 2, &value));
  value = -3;
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeSetAttribute (nodes.kernel, 8, &value));
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeSetAttribute (nodes.kernel, 4, cluster));
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeGetAttribute (second, 2, answer));
  g_assert_cmpint (answer[0], ==, 0);
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeCopyAttributes (second, nodes.kernel));
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeGetAttribute (second, 2, answer));
  g_assert_cmpint (answer[0], ==, 1);
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeGetAttribute (second, 8, answer));
  g_assert_cmpint (answer[0], ==, -3);
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeGetAttribute (second, 4, answer));
  g_assert_cmpmem (answer, sizeof answer, cluster, sizeof cluster);
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeGetAttribute (second, 6, answer));
  g_assert_cmpint (answer[0], ==, 0);

  /* A node's parameters are changed without its attributes. */
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeSetParams_v2 (second, &nodes.launch));
  memra_test_assert_cu (nodes.cu->cuGraphKernelNodeGetAttribute (second, 8, answer));
  g_assert_cmpint (answer[0], ==, -3);

  unsupported = memra_test_host_control ()->count_unsupported ();
  g_assert_cmpint (nodes.cu->cuGraphKernelNodeSetAttribute (nodes.kernel, 1, &value), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (nodes.cu->cuGraphKernelNodeGetAttribute (nodes.kernel, 1, answer), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpuint (memra_test_host_control ()->count_unsupported (), ==, unsupported + 2);
  g_assert_cmpint (nodes.cu->cuGraphKernelNodeSetAttribute (nodes.filler, 2, &value), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphKernelNodeGetAttribute (nodes.kernel, 2, NULL), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphKernelNodeCopyAttributes (second, nodes.filler), ==, MCU_ERROR_INVALID_VALUE);
}

/* ---- Events ---- */

/* The first event is recorded by an earlier launch; the nodes are then given the second one. */
static void
test_events (void)
{
  g_auto (Nodes) nodes = { 0 };
  CUgraphNode recorder = NULL, waiter = NULL;
  CUevent events[2] = { NULL }, answer = NULL;
  CUgraphExec exec;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  for (guint i = 0; i < 2; i++)
    memra_test_assert_cu (nodes.cu->cuEventCreate (&events[i], 0));
  memra_test_assert_cu (nodes.cu->cuGraphAddEventRecordNode (&recorder, nodes.graph, NULL, 0, events[0]));
  memra_test_assert_cu (nodes.cu->cuGraphAddEventWaitNode (&waiter, nodes.graph, NULL, 0, events[0]));
  exec = instantiate (&nodes);

  memra_test_assert_cu (nodes.cu->cuGraphEventRecordNodeSetEvent (recorder, events[1]));
  memra_test_assert_cu (nodes.cu->cuGraphEventRecordNodeGetEvent (recorder, &answer));
  g_assert_true (answer == events[1]);
  memra_test_assert_cu (nodes.cu->cuGraphEventWaitNodeSetEvent (waiter, events[1]));
  memra_test_assert_cu (nodes.cu->cuGraphEventWaitNodeGetEvent (waiter, &answer));
  g_assert_true (answer == events[1]);
  g_assert_cmpint (nodes.cu->cuGraphEventRecordNodeSetEvent (waiter, events[1]), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphEventWaitNodeSetEvent (recorder, events[1]), ==, MCU_ERROR_INVALID_VALUE);

  launch (&nodes, exec); /* records the first one */
  memra_test_assert_cu (nodes.cu->cuEventQuery (events[0]));
  memra_test_assert_cu (nodes.cu->cuGraphExecEventRecordNodeSetEvent (exec, recorder, events[1]));
  memra_test_assert_cu (nodes.cu->cuGraphExecEventWaitNodeSetEvent (exec, waiter, events[1]));
  g_assert_cmpint (nodes.cu->cuGraphExecEventWaitNodeSetEvent (exec, recorder, events[1]), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (nodes.cu->cuEventDestroy_v2 (events[0]));
  g_assert_cmpint (nodes.cu->cuGraphExecEventRecordNodeSetEvent (exec, recorder, events[0]), !=, MCU_SUCCESS);
  launch (&nodes, exec);
  memra_test_assert_cu (nodes.cu->cuEventSynchronize (events[1]));
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
}

/* ---- Words ---- */

static void
test_words (void)
{
  g_auto (Nodes) nodes = { 0 };
  HostMemOp ops[2] = { { .value = { .operation = 2, .value = 11 } }, { .value = { .operation = 5, .value = 12 } } };
  HostBatchMemOpNodeParams params = { .count = 2, .ops = ops }, answer = { 0 };
  CUgraphNode node = NULL;
  CUgraphExec exec;
  guint32 *word;
  guint64 *wide;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  word = (guint32 *) (nodes.bench.bytes + 2048);
  wide = (guint64 *) (nodes.bench.bytes + 2056);
  ops[0].value.address = nodes.bench.memory + 2048;
  ops[1].value.address = nodes.bench.memory + 2056;
  params.ctx = nodes.bench.context;
  memra_test_assert_cu (nodes.cu->cuGraphAddBatchMemOpNode (&node, nodes.graph, NULL, 0, &params));
  exec = instantiate (&nodes);
  launch (&nodes, exec);
  g_assert_cmpuint (*word, ==, 11);
  g_assert_cmpuint (*wide, ==, 12);
  memra_test_assert_cu (nodes.cu->cuGraphBatchMemOpNodeGetParams (node, &answer));
  g_assert_cmpuint (answer.count, ==, 2);
  g_assert_cmpuint (answer.ops[1].value.value, ==, 12);

  ops[0].value.value = 21;
  memra_test_assert_cu (nodes.cu->cuGraphExecBatchMemOpNodeSetParams (exec, node, &params));
  launch (&nodes, exec);
  g_assert_cmpuint (*word, ==, 21);
  ops[0].value.value = 31;
  memra_test_assert_cu (nodes.cu->cuGraphBatchMemOpNodeSetParams (node, &params));
  memra_test_assert_cu (nodes.cu->cuGraphBatchMemOpNodeGetParams (node, &answer));
  g_assert_cmpuint (answer.ops[0].value.value, ==, 31);

  params.count = 1; /* an executable graph's node keeps its number of words */
  g_assert_cmpint (nodes.cu->cuGraphExecBatchMemOpNodeSetParams (exec, node, &params), ==, MCU_ERROR_INVALID_VALUE);
  ops[0].value.operation = 7;
  g_assert_cmpint (nodes.cu->cuGraphBatchMemOpNodeSetParams (node, &params), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphBatchMemOpNodeSetParams (nodes.filler, &params), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphBatchMemOpNodeGetParams (node, NULL), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
}

/* ---- Order, and what cannot be instantiated ---- */

/* A chain whose nodes were made last first: what runs is the order of the edges. */
static void
test_order (void)
{
  enum
  {
    N = 9
  };
  g_auto (Nodes) nodes = { 0 };
  CUgraphNode chain[N];
  CUgraphExec exec;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  for (guint i = N; i-- > 0;)
    {
      /* Each moves on by one what the one before has written. */
      McuMemcpy3D copy = copy_of (nodes.bench.memory + 3000 + i + 1, nodes.bench.memory + 3000 + i, 1);

      memra_test_assert_cu (
          nodes.cu->cuGraphAddMemcpyNode (&chain[i], nodes.graph, NULL, 0, &copy, nodes.bench.context));
      if (i + 1 < N)
        memra_test_assert_cu (nodes.cu->cuGraphAddDependencies (nodes.graph, &chain[i], &chain[i + 1], 1));
    }
  nodes.bench.bytes[3000] = 77;
  exec = instantiate (&nodes);
  launch (&nodes, exec);
  for (guint i = 0; i <= N; i++)
    g_assert_cmpuint (nodes.bench.bytes[3000 + i], ==, 77);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));

  /* A circle has no order. */
  memra_test_assert_cu (nodes.cu->cuGraphAddDependencies (nodes.graph, &chain[N - 1], &chain[0], 1));
  g_assert_cmpint (nodes.cu->cuGraphInstantiateWithFlags (&exec, nodes.graph, 0), ==, MCU_ERROR_INVALID_VALUE);
}

/* The calls of older drivers, and the flags and handles that do not go together. */
static void
test_instantiate (void)
{
  g_auto (Nodes) nodes = { 0 };
  CUgraphExec exec = NULL;
  CUgraphNode offender = (CUgraphNode) &nodes;
  McuInstantiateParams params = { 0 };
  CUgraph conditional = NULL;
  unsigned long long handle = 0;
  char log[16] = "unchanged";

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  memra_test_assert_cu (nodes.cu->cuGraphInstantiate (&exec, nodes.graph, &offender, log, sizeof log));
  g_assert_null (offender);
  g_assert_cmpstr (log, ==, "");
  launch (&nodes, exec);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
  memra_test_assert_cu (nodes.cu->cuGraphInstantiate_v2 (&exec, nodes.graph, NULL, NULL, 0));
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
  g_assert_cmpint (nodes.cu->cuGraphInstantiate_v2 (&exec, NULL, NULL, NULL, 0), ==, MCU_ERROR_INVALID_VALUE);

  /* A host function cannot be launched by the device. */
  params.flags = MCU_INSTANTIATE_DEVICE_LAUNCH;
  g_assert_cmpint (nodes.cu->cuGraphInstantiateWithParams (&exec, nodes.graph, &params), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (params.result, ==, MCU_INSTANTIATE_RESULT_NODE_OPERATION_NOT_SUPPORTED);
  g_assert_true (params.error_node == nodes.caller);

  memra_test_assert_cu (nodes.cu->cuGraphCreate (&conditional, 0));
  memra_test_assert_cu (nodes.cu->cuGraphConditionalHandleCreate (&handle, conditional, nodes.bench.context, 0, 0));
  params.flags = 0;
  g_assert_cmpint (nodes.cu->cuGraphInstantiateWithParams (&exec, conditional, &params), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (params.result, ==, MCU_INSTANTIATE_RESULT_CONDITIONAL_HANDLE_UNUSED);
  memra_test_assert_cu (nodes.cu->cuGraphDestroy (conditional));
}

/* A node made by the call that makes any, of each kind, and read back by the call that reads any. */
static void
test_any_node (void)
{
  g_auto (Nodes) nodes = { 0 };
  HostMemOp op = { .value = { .operation = 2, .value = 41 } };
  HostNodeParams made[7]
      = { { .type = MCU_NODE_KERNEL },      { .type = MCU_NODE_MEMCPY },       { .type = MCU_NODE_MEMSET },
          { .type = MCU_NODE_HOST },        { .type = MCU_NODE_EVENT_RECORD }, { .type = MCU_NODE_WAIT_EVENT },
          { .type = MCU_NODE_BATCH_MEM_OP } };
  HostNodeParams read, semaphore = { .type = MCU_NODE_EXT_SEMAS_WAIT };
  CUgraph graph = NULL;
  CUgraphNode added[7] = { NULL };
  CUgraphExec exec = NULL;
  CUevent event = NULL;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  memra_test_assert_cu (nodes.cu->cuEventCreate (&event, 0));
  memra_test_assert_cu (nodes.cu->cuGraphCreate (&graph, 0));
  made[0].u.kernel = nodes.launch;
  made[1].u.memcpy.copy = nodes.copy;
  made[1].u.memcpy.ctx = nodes.bench.context;
  made[2].u.memset.fill = nodes.fill;
  made[2].u.memset.ctx = nodes.bench.context;
  made[3].u.host = (McuHostNodeParams){ count_call, &nodes.calls[0] };
  made[4].u.event = event;
  made[5].u.event = event;
  op.value.address = nodes.bench.memory + 2048;
  made[6].u.mem_ops = (HostBatchMemOpNodeParams){ nodes.bench.context, 1, &op, 0 };
  for (guint i = 0; i < G_N_ELEMENTS (made); i++)
    {
      memra_test_assert_cu (
          nodes.cu->cuGraphAddNode (&added[i], graph, i > 0 ? &added[i - 1] : NULL, i > 0, (McuNodeParams *) &made[i]));
      memset (&read, 0xff, sizeof read);
      memra_test_assert_cu (nodes.cu->cuGraphNodeGetParams (added[i], (McuNodeParams *) &read));
      g_assert_cmpint (read.type, ==, made[i].type);
      switch (read.type)
        {
        case MCU_NODE_KERNEL:
          g_assert_true (read.u.kernel.func == nodes.add);
          break;
        case MCU_NODE_MEMCPY:
          g_assert_cmphex (read.u.memcpy.copy.dst_device, ==, nodes.copy.dst_device);
          break;
        case MCU_NODE_MEMSET:
          g_assert_cmphex (read.u.memset.fill.dst, ==, nodes.fill.dst);
          break;
        case MCU_NODE_HOST:
          g_assert_true (read.u.host.user_data == &nodes.calls[0]);
          break;
        case MCU_NODE_BATCH_MEM_OP:
          g_assert_cmpuint (read.u.mem_ops.ops[0].value.value, ==, 41);
          break;
        default:
          g_assert_true (read.u.event == event);
          break;
        }
    }
  memra_test_assert_cu (nodes.cu->cuGraphInstantiateWithFlags (&exec, graph, 0));
  launch (&nodes, exec);
  g_assert_cmpuint (nodes.calls[0], ==, 1);
  g_assert_cmpuint (*(guint32 *) (nodes.bench.bytes + 2048), ==, 41);
  memra_test_assert_cu (nodes.cu->cuEventQuery (event));
  made[1].u.memcpy.flags = 1;
  g_assert_cmpint (nodes.cu->cuGraphNodeSetParams (added[1], (McuNodeParams *) &made[1]), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphAddNode (&added[0], graph, NULL, 0, (McuNodeParams *) &semaphore), ==,
                   MCU_ERROR_NOT_SUPPORTED);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
  memra_test_assert_cu (nodes.cu->cuGraphDestroy (graph));
}

/* What does nothing, a graph in a graph, and memory of a graph; trimming takes only what is not in use. */
static void
test_nodes_without_work (void)
{
  g_auto (Nodes) nodes = { 0 };
  HostNodeParams empty = { .type = MCU_NODE_EMPTY }, child = { .type = MCU_NODE_GRAPH };
  HostNodeParams alloc = { .type = MCU_NODE_MEM_ALLOC }, free = { .type = MCU_NODE_MEM_FREE }, read;
  CUgraph graph = NULL;
  CUgraphNode added[4] = { NULL };
  CUgraphExec exec = NULL;
  guint64 used = 99, high = 0;

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  memra_test_assert_cu (nodes.cu->cuGraphCreate (&graph, 0));
  memra_test_assert_cu (nodes.cu->cuGraphAddNode (&added[0], graph, NULL, 0, (McuNodeParams *) &empty));
  child.u.child.graph = nodes.graph;
  memra_test_assert_cu (nodes.cu->cuGraphAddNode (&added[1], graph, added, 1, (McuNodeParams *) &child));
  memra_test_assert_cu (nodes.cu->cuGraphNodeGetParams (added[1], (McuNodeParams *) &read));
  g_assert_true (read.u.child.graph != nodes.graph); /* it is a copy */
  alloc.u.alloc.pool_props = (McuMemPoolProps){ .alloc_type = 1, .location = { 1, 0 } };
  alloc.u.alloc.byte_size = 10000;
  memra_test_assert_cu (nodes.cu->cuGraphAddNode (&added[2], graph, &added[1], 1, (McuNodeParams *) &alloc));
  g_assert_cmpuint (alloc.u.alloc.dptr, !=, 0);
  memra_test_assert_cu (nodes.cu->cuGraphNodeGetParams (added[2], (McuNodeParams *) &read));
  g_assert_cmphex (read.u.alloc.dptr, ==, alloc.u.alloc.dptr);
  free.u.free = alloc.u.alloc.dptr;
  memra_test_assert_cu (nodes.cu->cuGraphAddNode (&added[3], graph, &added[2], 1, (McuNodeParams *) &free));
  memra_test_assert_cu (nodes.cu->cuGraphNodeGetParams (added[3], (McuNodeParams *) &read));
  g_assert_cmphex (read.u.free, ==, alloc.u.alloc.dptr);
  memra_test_assert_cu (nodes.cu->cuGraphInstantiateWithFlags (&exec, graph, 0));
  launch (&nodes, exec);
  g_assert_cmpuint (nodes.calls[0], ==, 1);
  memra_test_assert_cu (nodes.cu->cuDeviceGetGraphMemAttribute (0, 1, &high));
  g_assert_cmpuint (high, >=, 10000);
  memra_test_assert_cu (nodes.cu->cuDeviceGraphMemTrim (0));
  memra_test_assert_cu (nodes.cu->cuDeviceGetGraphMemAttribute (0, 2, &used));
  g_assert_cmpuint (used, ==, 0);
  g_assert_cmpint (nodes.cu->cuDeviceGraphMemTrim (1), ==, MCU_ERROR_INVALID_DEVICE);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
  memra_test_assert_cu (nodes.cu->cuGraphDestroy (graph));
}

/* ---- Ids ---- */

static void
test_ids (void)
{
  g_auto (Nodes) nodes = { 0 };
  CUgraph other = NULL, owner = NULL;
  CUgraphExec exec;
  unsigned id = 0, id_of_other = 0, id_of_exec = 0, local[2] = { 0 };
  unsigned long long tools[2] = { 0 };

  if (!memra_test_need_host ())
    return;
  nodes_init (&nodes);
  memra_test_assert_cu (nodes.cu->cuGraphCreate (&other, 0));
  exec = instantiate (&nodes);
  memra_test_assert_cu (nodes.cu->cuGraphGetId (nodes.graph, &id));
  memra_test_assert_cu (nodes.cu->cuGraphGetId (other, &id_of_other));
  memra_test_assert_cu (nodes.cu->cuGraphExecGetId (exec, &id_of_exec));
  g_assert_cmpuint (id, !=, id_of_other);
  g_assert_cmpuint (id, !=, id_of_exec);
  for (guint i = 0; i < 2; i++)
    {
      CUgraphNode node = i == 0 ? nodes.kernel : nodes.copier;

      memra_test_assert_cu (nodes.cu->cuGraphNodeGetLocalId (node, &local[i]));
      memra_test_assert_cu (nodes.cu->cuGraphNodeGetToolsId (node, &tools[i]));
      memra_test_assert_cu (nodes.cu->cuGraphNodeGetContainingGraph (node, &owner));
      g_assert_true (owner == nodes.graph);
    }
  g_assert_cmpuint (local[0], !=, local[1]);
  g_assert_cmpuint (tools[0], !=, tools[1]);
  g_assert_cmpuint (tools[0] >> 32, ==, tools[1] >> 32);
  g_assert_cmpint (nodes.cu->cuGraphGetId (nodes.graph, NULL), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphExecGetId (NULL, &id), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (nodes.cu->cuGraphNodeGetLocalId (NULL, &id), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (nodes.cu->cuGraphExecDestroy (exec));
  memra_test_assert_cu (nodes.cu->cuGraphDestroy (other));
}

static void
add_tests (void)
{
  memra_test_add ("/host-graph/set-params", test_set_params);
  memra_test_add ("/host-graph/set-any-params", test_set_any_params);
  memra_test_add ("/host-graph/kernel-attributes", test_kernel_attributes);
  memra_test_add ("/host-graph/events", test_events);
  memra_test_add ("/host-graph/words", test_words);
  memra_test_add ("/host-graph/order", test_order);
  memra_test_add ("/host-graph/instantiate", test_instantiate);
  memra_test_add ("/host-graph/any-node", test_any_node);
  memra_test_add ("/host-graph/nodes-without-work", test_nodes_without_work);
  memra_test_add ("/host-graph/ids", test_ids);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
