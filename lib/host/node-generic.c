/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * node-generic.c: the calls that take CUgraphNodeParams, and the parameters of memory nodes.
 */
#include "graph-private.h"

#include <string.h>

McuResult
host_work_from_params (HostWork **work, HostNodeParams *params)
{
  switch (params->type)
    {
    case MCU_NODE_KERNEL:
      return host_work_new_kernel (work, &params->u.kernel, true);
    case MCU_NODE_MEMCPY:
      if (params->u.memcpy.flags != 0 || params->u.memcpy.reserved != 0)
        return MCU_ERROR_INVALID_VALUE;
      return host_work_new_memcpy (work, &params->u.memcpy.copy, params->u.memcpy.ctx);
    case MCU_NODE_MEMSET:
      return host_work_new_memset (work, &params->u.memset.fill, params->u.memset.ctx);
    case MCU_NODE_HOST:
      return host_work_new_host (work, &params->u.host);
    case MCU_NODE_WAIT_EVENT:
    case MCU_NODE_EVENT_RECORD:
      return host_work_new_event (work, params->type, params->u.event);
    case MCU_NODE_EXT_SEMAS_SIGNAL:
    case MCU_NODE_EXT_SEMAS_WAIT:
      return host_unsupported ("external semaphore nodes");
    case MCU_NODE_BATCH_MEM_OP:
      return host_work_new_mem_ops (work, &params->u.mem_ops);
    default:
      return MCU_ERROR_INVALID_VALUE;
    }
}

static McuResult
node_set_params (CUgraphNode handle, McuNodeParams *generic)
{
  HostNodeParams *params = (HostNodeParams *) generic;
  HostNode *node = host_node_get (handle, -1);
  HostWork *work;

  if (node == NULL || params == NULL || params->type != node->work->type)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_from_params (&work, params);
  if (result == MCU_SUCCESS)
    host_node_set_work (node, work);
  return result;
}

HOST_API McuResult
cuGraphNodeSetParams (CUgraphNode node, McuNodeParams *params)
{
  HOST_CALL (cuGraphNodeSetParams, node_set_params (node, params));
}

static McuResult
node_get_params (CUgraphNode handle, McuNodeParams *generic)
{
  HostNodeParams *params = (HostNodeParams *) generic;
  HostNode *node = host_node_get (handle, -1);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;

  const HostWork *work = node->work;
  memset (params, 0, sizeof *params);
  params->type = work->type;
  switch (work->type)
    {
    case MCU_NODE_KERNEL:
      host_kernel_params_fill (work, &params->u.kernel, true);
      break;
    case MCU_NODE_MEMCPY:
      params->u.memcpy.ctx = work->context;
      params->u.memcpy.copy = *work->u.copy;
      break;
    case MCU_NODE_MEMSET:
      params->u.memset.fill = work->u.fill;
      params->u.memset.ctx = work->context;
      break;
    case MCU_NODE_HOST:
      params->u.host = work->u.host;
      break;
    case MCU_NODE_GRAPH:
      params->u.child.graph = work->u.child;
      params->u.child.ownership = -1;
      break;
    case MCU_NODE_WAIT_EVENT:
    case MCU_NODE_EVENT_RECORD:
      params->u.event = work->u.event;
      break;
    case MCU_NODE_MEM_ALLOC:
      params->u.alloc = work->u.memory->params;
      break;
    case MCU_NODE_MEM_FREE:
      params->u.free = work->u.free.address;
      break;
    case MCU_NODE_BATCH_MEM_OP:
      host_mem_ops_params_fill (work, &params->u.mem_ops);
      break;
    case MCU_NODE_CONDITIONAL:
      params->u.conditional.handle = work->u.conditional->handle;
      params->u.conditional.type = work->u.conditional->type;
      params->u.conditional.size = work->u.conditional->size;
      params->u.conditional.graphs_out = work->u.conditional->bodies;
      params->u.conditional.ctx = work->context;
      break;
    default:
      break;
    }
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeGetParams (CUgraphNode node, McuNodeParams *params)
{
  HOST_CALL (cuGraphNodeGetParams, node_get_params (node, params));
}

static McuResult
alloc_get (CUgraphNode handle, McuMemAllocNodeParams *params)
{
  HostNode *node = host_node_get (handle, MCU_NODE_MEM_ALLOC);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *params = node->work->u.memory->params;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphMemAllocNodeGetParams (CUgraphNode node, McuMemAllocNodeParams *params)
{
  HOST_CALL (cuGraphMemAllocNodeGetParams, alloc_get (node, params));
}

static McuResult
free_get (CUgraphNode handle, CUdeviceptr *address)
{
  HostNode *node = host_node_get (handle, MCU_NODE_MEM_FREE);
  if (node == NULL || address == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *address = node->work->u.free.address;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphMemFreeNodeGetParams (CUgraphNode node, CUdeviceptr *address)
{
  HOST_CALL (cuGraphMemFreeNodeGetParams, free_get (node, address));
}
