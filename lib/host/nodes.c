/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nodes.c: nodes that the client adds by hand.
 */
#include "graph-private.h"

McuResult
host_node_check_add (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n)
{
  if (out == NULL || host_graph_get (graph) == NULL || (n > 0 && dependencies == NULL))
    return MCU_ERROR_INVALID_VALUE;
  return MCU_SUCCESS;
}

McuResult
host_node_add (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t n,
               HostWork *work)
{
  GArray *edges;
  McuResult result = host_edges_from_client (&edges, graph, dependencies, data, n);
  if (result != MCU_SUCCESS)
    {
      host_work_unref (work);
      return result;
    }
  *out = host_node_new (graph, work, (HostEdge *) edges->data, edges->len);
  g_array_unref (edges);
  return MCU_SUCCESS;
}

static McuResult
add_kernel (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n,
            const McuKernelNodeParams *params, bool v2)
{
  HostWork *work;
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_work_new_kernel (&work, params, v2);
  return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, NULL, n, work) : result;
}

HOST_API McuResult
cuGraphAddKernelNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                      const McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphAddKernelNode, add_kernel (node, graph, dependencies, count, params, false));
}

HOST_API McuResult
cuGraphAddKernelNode_v2 (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                         const McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphAddKernelNode_v2, add_kernel (node, graph, dependencies, count, params, true));
}

static McuResult
add_memcpy (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n, const McuMemcpy3D *params,
            CUcontext context)
{
  HostWork *work;
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_work_new_memcpy (&work, params, context);
  return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, NULL, n, work) : result;
}

HOST_API McuResult
cuGraphAddMemcpyNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                      const McuMemcpy3D *params, CUcontext context)
{
  HOST_CALL (cuGraphAddMemcpyNode, add_memcpy (node, graph, dependencies, count, params, context));
}

static McuResult
add_memset (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n,
            const McuMemsetNodeParams *params, CUcontext context)
{
  HostWork *work;
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_work_new_memset (&work, params, context);
  return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, NULL, n, work) : result;
}

HOST_API McuResult
cuGraphAddMemsetNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                      const McuMemsetNodeParams *params, CUcontext context)
{
  HOST_CALL (cuGraphAddMemsetNode, add_memset (node, graph, dependencies, count, params, context));
}

static McuResult
add_host (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n, const McuHostNodeParams *params)
{
  HostWork *work;
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_work_new_host (&work, params);
  return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, NULL, n, work) : result;
}

HOST_API McuResult
cuGraphAddHostNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                    const McuHostNodeParams *params)
{
  HOST_CALL (cuGraphAddHostNode, add_host (node, graph, dependencies, count, params));
}

static McuResult
add_event (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n, int type, CUevent event)
{
  HostWork *work;
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_work_new_event (&work, type, event);
  return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, NULL, n, work) : result;
}

HOST_API McuResult
cuGraphAddEventRecordNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                           CUevent event)
{
  HOST_CALL (cuGraphAddEventRecordNode, add_event (node, graph, dependencies, count, MCU_NODE_EVENT_RECORD, event));
}

HOST_API McuResult
cuGraphAddEventWaitNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event)
{
  HOST_CALL (cuGraphAddEventWaitNode, add_event (node, graph, dependencies, count, MCU_NODE_WAIT_EVENT, event));
}

static McuResult
add_empty (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t n)
{
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result != MCU_SUCCESS)
    return result;
  return host_node_add (out, graph, dependencies, data, n, host_work_new (MCU_NODE_EMPTY, NULL));
}

HOST_API McuResult
cuGraphAddEmptyNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
  HOST_CALL (cuGraphAddEmptyNode, add_empty (node, graph, dependencies, NULL, count));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Child graphs
 */

/* Whether `graph` is `inner` or lies around it. */
static bool
graph_contains (const HostGraph *graph, const HostGraph *inner)
{
  while (inner != NULL && inner != graph)
    inner = inner->owner != NULL ? inner->owner->graph : NULL;
  return inner == graph;
}

McuResult
host_node_add_child (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                     size_t n, CUgraph child, int ownership)
{
  GArray *edges;
  HostGraph *inner = child;

  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result != MCU_SUCCESS)
    return result;
  if (host_graph_get (child) == NULL || ownership < 0 || ownership > 1 || child->capture != NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (child == graph) /* which crashes NVIDIA's driver */
    return MCU_ERROR_INVALID_VALUE;
  if (ownership == 1 && (child->owner != NULL || child->n_memory_execs > 0 || graph_contains (child, graph)))
    return MCU_ERROR_INVALID_VALUE;
  result = host_edges_from_client (&edges, graph, dependencies, data, n);
  if (result == MCU_SUCCESS && ownership == 0)
    result = host_graph_clone (&inner, child);
  if (result == MCU_SUCCESS)
    {
      HostWork *work = host_work_new (MCU_NODE_GRAPH, NULL);
      work->u.child = inner;
      *out = host_node_new (graph, work, (HostEdge *) edges->data, edges->len);
    }
  g_clear_pointer (&edges, g_array_unref);
  return result;
}

HOST_API McuResult
cuGraphAddChildGraphNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                          CUgraph child)
{
  HOST_CALL (cuGraphAddChildGraphNode, host_node_add_child (node, graph, dependencies, NULL, count, child, 0));
}

/* ---------------------------------------------------------------------------------------------------------------
 * The generic call
 */

static McuResult
add_alloc (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t n,
           McuMemAllocNodeParams *params)
{
  GArray *edges;
  HostContext *context;

  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS && params == NULL)
    result = MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = host_edges_from_client (&edges, graph, dependencies, data, n);
  if (result != MCU_SUCCESS)
    return result;
  result = host_memory_node_add (graph, (HostEdge *) edges->data, edges->len, context, NULL, params, out);
  g_array_unref (edges);
  return result;
}

HOST_API McuResult
cuGraphAddMemAllocNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                        McuMemAllocNodeParams *params)
{
  HOST_CALL (cuGraphAddMemAllocNode, add_alloc (node, graph, dependencies, NULL, count, params));
}

static McuResult
add_free (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t n,
          CUdeviceptr address)
{
  GArray *edges;

  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_edges_from_client (&edges, graph, dependencies, data, n);
  if (result != MCU_SUCCESS)
    return result;
  result = host_memory_node_free (graph, (HostEdge *) edges->data, edges->len, NULL, address, out);
  g_array_unref (edges);
  return result;
}

HOST_API McuResult
cuGraphAddMemFreeNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                       CUdeviceptr address)
{
  HOST_CALL (cuGraphAddMemFreeNode, add_free (node, graph, dependencies, NULL, count, address));
}

static McuResult
add_any (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t n,
         McuNodeParams *generic)
{
  HostNodeParams *params = (HostNodeParams *) generic;
  HostWork *work;

  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result != MCU_SUCCESS)
    return result;
  if (params == NULL || params->reserved0[0] != 0 || params->reserved0[1] != 0 || params->reserved0[2] != 0
      || params->reserved2 != 0)
    return MCU_ERROR_INVALID_VALUE;
  switch (params->type)
    {
    case MCU_NODE_EMPTY:
      return add_empty (out, graph, dependencies, data, n);
    case MCU_NODE_GRAPH:
      return host_node_add_child (out, graph, dependencies, data, n, params->u.child.graph, params->u.child.ownership);
    case MCU_NODE_MEM_ALLOC:
      return add_alloc (out, graph, dependencies, data, n, &params->u.alloc);
    case MCU_NODE_MEM_FREE:
      return add_free (out, graph, dependencies, data, n, params->u.free);
    case MCU_NODE_CONDITIONAL:
      return host_node_add_conditional (out, graph, dependencies, data, n, &params->u.conditional);
    default:
      result = host_work_from_params (&work, params);
      return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, data, n, work) : result;
    }
}

HOST_API McuResult
cuGraphAddNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, McuNodeParams *params)
{
  HOST_CALL (cuGraphAddNode, add_any (node, graph, dependencies, NULL, count, params));
}

HOST_API McuResult
cuGraphAddNode_v2 (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                   size_t count, McuNodeParams *params)
{
  HOST_CALL (cuGraphAddNode_v2, add_any (node, graph, dependencies, data, count, params));
}
