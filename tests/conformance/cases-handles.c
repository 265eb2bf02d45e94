/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cases-handles.c: destroyed and NULL handles: an error code, or a crash? Each in a process of its own. What a driver
 * does here depends on memory that it has given back: two recordings say whether a line is a fact.
 */
#include "runtime.h"

typedef enum
{
  STREAM,
  STREAM_NULL,
  EVENT,
  EVENT_NULL,
  GRAPH,
  EXEC,
  NODE,
  NODE_NULL,
  NODE_OF_GRAPH,
  MODULE,
  FUNCTION,
  FUNCTION_NULL,
  CONTEXT
} Dead;

typedef struct
{
  CUstream stream, live;
  CUevent event;
  CUgraph graph, live_graph;
  CUgraphExec exec;
  CUgraphNode node;
  CUmodule module;
  CUfunction function;
  CUcontext context;
} Handles;

typedef struct
{
  Dead dead;
  const char *name;
  int (*call) (Handles *h);
} Row;

#define CALL(name, expression)                                                                                         \
  static int name (Handles *h)                                                                                         \
  {                                                                                                                    \
    (void)h;                                                                                                           \
    return (expression);                                                                                               \
  }

CALL (stream_status, cu.cuStreamIsCapturing (h->stream, (int[]){ 0 }))
CALL (stream_begin, cu.cuStreamBeginCapture (h->stream, MCU_CAPTURE_MODE_RELAXED))
CALL (stream_end, cu.cuStreamEndCapture (h->stream, (CUgraph[]){ NULL }))
CALL (stream_sync, cu.cuStreamSynchronize (h->stream))
CALL (stream_query, cu.cuStreamQuery (h->stream))
CALL (stream_kernel, conf_kernel (h->stream))
CALL (stream_fill, conf_fill (h->stream))
CALL (stream_flags, cu.cuStreamGetFlags (h->stream, (unsigned[]){ 0 }))
CALL (stream_record, cu.cuEventRecord (h->event, h->stream))
CALL (stream_wait, cu.cuStreamWaitEvent (h->stream, h->event, 0))
CALL (stream_destroy, cu.cuStreamDestroy (h->stream))
CALL (event_query, cu.cuEventQuery (h->event))
CALL (event_sync, cu.cuEventSynchronize (h->event))
CALL (event_record, cu.cuEventRecord (h->event, h->live))
CALL (event_wait, cu.cuStreamWaitEvent (h->live, h->event, 0))
CALL (event_destroy, cu.cuEventDestroy (h->event))
CALL (graph_nodes, cu.cuGraphGetNodes (h->graph, NULL, (size_t[]){ 0 }))
CALL (graph_instantiate, cu.cuGraphInstantiateWithFlags ((CUgraphExec[]){ NULL }, h->graph, 0))
CALL (graph_add, CX (cuGraphAddEmptyNode, (CUgraphNode[]){ NULL }, h->graph, NULL, 0))
CALL (graph_clone, CX (cuGraphClone, (CUgraph[]){ NULL }, h->graph))
CALL (graph_destroy, cu.cuGraphDestroy (h->graph))
CALL (exec_launch, cu.cuGraphLaunch (h->exec, h->live))
CALL (exec_upload, cu.cuGraphUpload (h->exec, h->live))
CALL (exec_update, CU (cuGraphExecUpdate_v2, h->exec, h->live_graph, (McuUpdateResultInfo[]){ { 0, NULL, NULL } }))
CALL (exec_destroy, cu.cuGraphExecDestroy (h->exec))
CALL (node_type, cu.cuGraphNodeGetType (h->node, (int[]){ 0 }))
CALL (node_dependencies, CX (cuGraphNodeGetDependencies, h->node, NULL, (size_t[]){ 0 }))
CALL (node_destroy, CX (cuGraphDestroyNode, h->node))
CALL (module_function, cu.cuModuleGetFunction ((CUfunction[]){ NULL }, h->module, "conf_add"))
CALL (module_unload, cu.cuModuleUnload (h->module))
CALL (function_launch, conf_launch (h->function, h->live, NULL))
CALL (function_name, CU (cuFuncGetName, (const char *[]){ NULL }, h->function))
CALL (function_param, CU (cuFuncGetParamInfo, h->function, 0, (size_t[]){ 0 }, (size_t[]){ 0 }))
CALL (context_set, cu.cuCtxSetCurrent (h->context))
CALL (context_push, cu.cuCtxPushCurrent (h->context))

static int
node_params (Handles *h)
{
  McuKernelNodeParams params;
  memset (&params, 0, sizeof params);
  return CU (cuGraphKernelNodeGetParams_v2, h->node, &params);
}

static int
node_set (Handles *h)
{
  McuKernelNodeParams params;
  memset (&params, 0, sizeof params);
  params.func = w.empty;
  params.grid_x = params.grid_y = params.grid_z = params.block_x = params.block_y = params.block_z = 1;
  return CU (cuGraphExecKernelNodeSetParams_v2, h->exec, h->node, &params);
}

static const Row rows[] = {
  { STREAM, "stream/is-capturing", stream_status },
  { STREAM, "stream/begin-capture", stream_begin },
  { STREAM, "stream/end-capture", stream_end },
  { STREAM, "stream/synchronize", stream_sync },
  { STREAM, "stream/query", stream_query },
  { STREAM, "stream/kernel", stream_kernel },
  { STREAM, "stream/memset", stream_fill },
  { STREAM, "stream/get-flags", stream_flags },
  { STREAM, "stream/event-record", stream_record },
  { STREAM, "stream/wait-event", stream_wait },
  { STREAM, "stream/destroy", stream_destroy },
  { STREAM_NULL, "null-stream/destroy", stream_destroy },
  { EVENT, "event/query", event_query },
  { EVENT, "event/synchronize", event_sync },
  { EVENT, "event/record", event_record },
  { EVENT, "event/wait", event_wait },
  { EVENT, "event/destroy", event_destroy },
  { EVENT_NULL, "null-event/query", event_query },
  { EVENT_NULL, "null-event/record", event_record },
  { EVENT_NULL, "null-event/wait", event_wait },
  { EVENT_NULL, "null-event/destroy", event_destroy },
  { GRAPH, "graph/get-nodes", graph_nodes },
  { GRAPH, "graph/instantiate", graph_instantiate },
  { GRAPH, "graph/add-node", graph_add },
  { GRAPH, "graph/clone", graph_clone },
  { GRAPH, "graph/destroy", graph_destroy },
  { EXEC, "exec/launch", exec_launch },
  { EXEC, "exec/upload", exec_upload },
  { EXEC, "exec/update", exec_update },
  { EXEC, "exec/destroy", exec_destroy },
  { NODE, "node/get-type", node_type },
  { NODE, "node/get-params", node_params },
  { NODE, "node/destroy", node_destroy },
  { NODE_NULL, "null-node/get-type", node_type },
  { NODE_NULL, "null-node/get-params", node_params },
  { NODE_NULL, "null-node/get-dependencies", node_dependencies },
  { NODE_NULL, "null-node/destroy", node_destroy },
  { NODE_OF_GRAPH, "node-of-destroyed-graph/get-type", node_type },
  { NODE_OF_GRAPH, "node-of-destroyed-graph/exec-set", node_set },
  { MODULE, "module/get-function", module_function },
  { MODULE, "module/unload", module_unload },
  { FUNCTION, "function-of-unloaded-module/launch", function_launch },
  { FUNCTION, "function-of-unloaded-module/get-name", function_name },
  { FUNCTION, "function-of-unloaded-module/get-param-info", function_param },
  { FUNCTION_NULL, "null-function/launch", function_launch },
  { CONTEXT, "context/set-current", context_set },
  { CONTEXT, "context/push-current", context_push },
};

static void
run_dead (const ConfCase *test)
{
  const Row *row = test->data;
  Handles h;
  CUcontext popped = NULL;
  memset (&h, 0, sizeof h);
  cu.cuStreamCreate (&h.live, MCU_STREAM_NON_BLOCKING);
  cu.cuStreamCreate (&h.stream, MCU_STREAM_NON_BLOCKING);
  cu.cuEventCreate (&h.event, 0);
  cu.cuModuleLoadData (&h.module, w.image);
  cu.cuModuleGetFunction (&h.function, h.module, "conf_empty");
  h.live_graph = conf_make_graph (1, 0);
  h.graph = conf_make_graph (1, 0);
  h.exec = conf_make_exec (h.graph);
  h.node = conf_node (h.graph, 0);
  /* Nothing is left to the runtime: it must not destroy twice. */
  conf_forget (h.graph);
  conf_forget (h.exec);
  int killed = 0;
  switch (row->dead)
    {
    case STREAM:
      killed = cu.cuStreamDestroy (h.stream);
      break;
    case STREAM_NULL:
      h.stream = NULL;
      break;
    case EVENT:
      killed = cu.cuEventDestroy (h.event);
      break;
    case EVENT_NULL:
      h.event = NULL;
      break;
    case GRAPH:
    case NODE_OF_GRAPH:
      killed = cu.cuGraphDestroy (h.graph);
      break;
    case EXEC:
      killed = cu.cuGraphExecDestroy (h.exec);
      break;
    case NODE:
      killed = CX (cuGraphDestroyNode, h.node);
      break;
    case NODE_NULL:
      h.node = NULL;
      break;
    case MODULE:
    case FUNCTION:
      killed = cu.cuModuleUnload (h.module);
      break;
    case FUNCTION_NULL:
      h.function = NULL;
      break;
    case CONTEXT:
      killed = CX (cuCtxCreate, &h.context, 0, w.device);
      if (killed == 0)
        {
          cu.cuStreamCreate (&h.stream, MCU_STREAM_NON_BLOCKING);
          cu.cuCtxPopCurrent (&popped);
          killed = CX (cuCtxDestroy, h.context);
        }
      break;
    }
  if (killed != 0)
    fact_r ("destroyed", killed);
  if (killed == 0)
    fact_r ("call", row->call (&h));
}

void
conf_cases_handles (void)
{
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    conf_add (CONF_ISOLATED, run_dead, 0, 0, &rows[i], "handle/%s", rows[i].name);
}
