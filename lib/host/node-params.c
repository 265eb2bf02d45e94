/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * node-params.c: what the nodes of a graph do, read and changed.
 */
#include "graph-private.h"

#include <string.h>

void
host_node_set_work (HostNode *node, HostWork *work)
{
  host_work_unref (node->work);
  node->work = work;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Kernels
 */

void
host_kernel_params_fill (const HostWork *work, McuKernelNodeParams *params, bool v2)
{
  const HostLaunch *launch = work->u.launch;
  params->func = launch->function;
  params->grid_x = launch->grid[0];
  params->grid_y = launch->grid[1];
  params->grid_z = launch->grid[2];
  params->block_x = launch->block[0];
  params->block_y = launch->block[1];
  params->block_z = launch->block[2];
  params->shared_bytes = launch->shared_bytes;
  params->kernel_params = launch->function->kernel->n_parameters > 0 ? launch->params : NULL;
  params->extra = NULL;
  if (launch->extra[0] != NULL)
    {
      params->kernel_params = NULL;
      params->extra = (void **) launch->extra;
    }
  if (v2)
    {
      params->kern = launch->kern;
      params->ctx = work->context;
    }
}

static McuResult
kernel_get (CUgraphNode handle, McuKernelNodeParams *params, bool v2)
{
  HostNode *node = host_node_get (handle, MCU_NODE_KERNEL);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  host_kernel_params_fill (node->work, params, v2);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphKernelNodeGetParams (CUgraphNode node, McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphKernelNodeGetParams, kernel_get (node, params, false));
}

HOST_API McuResult
cuGraphKernelNodeGetParams_v2 (CUgraphNode node, McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphKernelNodeGetParams_v2, kernel_get (node, params, true));
}

static McuResult
kernel_set (CUgraphNode handle, const McuKernelNodeParams *params, bool v2)
{
  HostWork *work;
  HostNode *node = host_node_get (handle, MCU_NODE_KERNEL);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_kernel (&work, params, v2);
  if (result == MCU_SUCCESS)
    {
      /* Attributes are not among the parameters and stay. */
      const HostLaunch *old = node->work->u.launch;
      work->u.launch->priority = old->priority;
      work->u.launch->cooperative = old->cooperative;
      memcpy (work->u.launch->cluster, old->cluster, sizeof old->cluster);
      host_node_set_work (node, work);
    }
  return result;
}

HOST_API McuResult
cuGraphKernelNodeSetParams (CUgraphNode node, const McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphKernelNodeSetParams, kernel_set (node, params, false));
}

HOST_API McuResult
cuGraphKernelNodeSetParams_v2 (CUgraphNode node, const McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphKernelNodeSetParams_v2, kernel_set (node, params, true));
}

/* CUlaunchAttributeID, the ones a kernel node keeps. */
enum
{
  ATTRIBUTE_COOPERATIVE = 2,
  ATTRIBUTE_CLUSTER_DIMENSION = 4,
  ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6,
  ATTRIBUTE_PRIORITY = 8
};

static McuResult
kernel_get_attribute (CUgraphNode handle, int attribute, void *value)
{
  HostNode *node = host_node_get (handle, MCU_NODE_KERNEL);
  if (node == NULL || value == NULL)
    return MCU_ERROR_INVALID_VALUE;
  const HostLaunch *launch = node->work->u.launch;
  switch (attribute)
    {
    case ATTRIBUTE_COOPERATIVE:
      *(int *) value = launch->cooperative;
      return MCU_SUCCESS;
    case ATTRIBUTE_CLUSTER_DIMENSION:
      memcpy (value, launch->cluster, sizeof launch->cluster);
      return MCU_SUCCESS;
    case ATTRIBUTE_PROGRAMMATIC_SERIALIZATION:
      *(int *) value = launch->programmatic;
      return MCU_SUCCESS;
    case ATTRIBUTE_PRIORITY:
      *(int *) value = launch->priority;
      return MCU_SUCCESS;
    default:
      return host_unsupported ("this kernel node attribute");
    }
}

HOST_API McuResult
cuGraphKernelNodeGetAttribute (CUgraphNode node, int attribute, void *value)
{
  HOST_CALL (cuGraphKernelNodeGetAttribute, kernel_get_attribute (node, attribute, value));
}

static McuResult
kernel_set_attribute (CUgraphNode handle, int attribute, const void *value)
{
  HostNode *node = host_node_get (handle, MCU_NODE_KERNEL);
  if (node == NULL || value == NULL)
    return MCU_ERROR_INVALID_VALUE;
  HostLaunch *launch = node->work->u.launch;
  switch (attribute)
    {
    case ATTRIBUTE_COOPERATIVE:
      launch->cooperative = *(const int *) value != 0;
      return MCU_SUCCESS;
    case ATTRIBUTE_CLUSTER_DIMENSION:
      memcpy (launch->cluster, value, sizeof launch->cluster);
      return MCU_SUCCESS;
    case ATTRIBUTE_PRIORITY:
      launch->priority = *(const int *) value;
      return MCU_SUCCESS;
    default:
      return host_unsupported ("setting this kernel node attribute");
    }
}

HOST_API McuResult
cuGraphKernelNodeSetAttribute (CUgraphNode node, int attribute, const void *value)
{
  HOST_CALL (cuGraphKernelNodeSetAttribute, kernel_set_attribute (node, attribute, value));
}

static McuResult
kernel_copy_attributes (CUgraphNode to, CUgraphNode from)
{
  HostNode *dst = host_node_get (to, MCU_NODE_KERNEL);
  HostNode *src = host_node_get (from, MCU_NODE_KERNEL);
  if (dst == NULL || src == NULL)
    return MCU_ERROR_INVALID_VALUE;
  dst->work->u.launch->cooperative = src->work->u.launch->cooperative;
  dst->work->u.launch->priority = src->work->u.launch->priority;
  memcpy (dst->work->u.launch->cluster, src->work->u.launch->cluster, sizeof src->work->u.launch->cluster);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphKernelNodeCopyAttributes (CUgraphNode dst, CUgraphNode src)
{
  HOST_CALL (cuGraphKernelNodeCopyAttributes, kernel_copy_attributes (dst, src));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Copies, fills, host functions
 */

static McuResult
memcpy_get (CUgraphNode handle, McuMemcpy3D *params)
{
  HostNode *node = host_node_get (handle, MCU_NODE_MEMCPY);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *params = *node->work->u.copy;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphMemcpyNodeGetParams (CUgraphNode node, McuMemcpy3D *params)
{
  HOST_CALL (cuGraphMemcpyNodeGetParams, memcpy_get (node, params));
}

static McuResult
memcpy_set (CUgraphNode handle, const McuMemcpy3D *params)
{
  HostWork *work;
  HostNode *node = host_node_get (handle, MCU_NODE_MEMCPY);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_memcpy (&work, params, node->work->context);
  if (result == MCU_SUCCESS)
    host_node_set_work (node, work);
  return result;
}

HOST_API McuResult
cuGraphMemcpyNodeSetParams (CUgraphNode node, const McuMemcpy3D *params)
{
  HOST_CALL (cuGraphMemcpyNodeSetParams, memcpy_set (node, params));
}

static McuResult
memset_get (CUgraphNode handle, McuMemsetNodeParams *params)
{
  HostNode *node = host_node_get (handle, MCU_NODE_MEMSET);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *params = node->work->u.fill;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphMemsetNodeGetParams (CUgraphNode node, McuMemsetNodeParams *params)
{
  HOST_CALL (cuGraphMemsetNodeGetParams, memset_get (node, params));
}

static McuResult
memset_set (CUgraphNode handle, const McuMemsetNodeParams *params)
{
  HostWork *work;
  HostNode *node = host_node_get (handle, MCU_NODE_MEMSET);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_memset (&work, params, node->work->context);
  if (result == MCU_SUCCESS)
    host_node_set_work (node, work);
  return result;
}

HOST_API McuResult
cuGraphMemsetNodeSetParams (CUgraphNode node, const McuMemsetNodeParams *params)
{
  HOST_CALL (cuGraphMemsetNodeSetParams, memset_set (node, params));
}

static McuResult
host_get (CUgraphNode handle, McuHostNodeParams *params)
{
  HostNode *node = host_node_get (handle, MCU_NODE_HOST);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *params = node->work->u.host;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphHostNodeGetParams (CUgraphNode node, McuHostNodeParams *params)
{
  HOST_CALL (cuGraphHostNodeGetParams, host_get (node, params));
}

static McuResult
host_set (CUgraphNode handle, const McuHostNodeParams *params)
{
  HostWork *work;
  HostNode *node = host_node_get (handle, MCU_NODE_HOST);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_host (&work, params);
  if (result == MCU_SUCCESS)
    host_node_set_work (node, work);
  return result;
}

HOST_API McuResult
cuGraphHostNodeSetParams (CUgraphNode node, const McuHostNodeParams *params)
{
  HOST_CALL (cuGraphHostNodeSetParams, host_set (node, params));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Child graphs, events
 */

static McuResult
child_get (CUgraphNode handle, CUgraph *graph)
{
  HostNode *node = host_node_get (handle, MCU_NODE_GRAPH);
  if (node == NULL || graph == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *graph = node->work->u.child;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphChildGraphNodeGetGraph (CUgraphNode node, CUgraph *graph)
{
  HOST_CALL (cuGraphChildGraphNodeGetGraph, child_get (node, graph));
}

static McuResult
event_get (CUgraphNode handle, int type, CUevent *event)
{
  HostNode *node = host_node_get (handle, type);
  if (node == NULL || event == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *event = node->work->u.event;
  return MCU_SUCCESS;
}

static McuResult
event_set (CUgraphNode handle, int type, CUevent event)
{
  HostWork *work;
  HostNode *node = host_node_get (handle, type);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_event (&work, type, event);
  if (result == MCU_SUCCESS)
    host_node_set_work (node, work);
  return result;
}

HOST_API McuResult
cuGraphEventRecordNodeGetEvent (CUgraphNode node, CUevent *event)
{
  HOST_CALL (cuGraphEventRecordNodeGetEvent, event_get (node, MCU_NODE_EVENT_RECORD, event));
}

HOST_API McuResult
cuGraphEventRecordNodeSetEvent (CUgraphNode node, CUevent event)
{
  HOST_CALL (cuGraphEventRecordNodeSetEvent, event_set (node, MCU_NODE_EVENT_RECORD, event));
}

HOST_API McuResult
cuGraphEventWaitNodeGetEvent (CUgraphNode node, CUevent *event)
{
  HOST_CALL (cuGraphEventWaitNodeGetEvent, event_get (node, MCU_NODE_WAIT_EVENT, event));
}

HOST_API McuResult
cuGraphEventWaitNodeSetEvent (CUgraphNode node, CUevent event)
{
  HOST_CALL (cuGraphEventWaitNodeSetEvent, event_set (node, MCU_NODE_WAIT_EVENT, event));
}
