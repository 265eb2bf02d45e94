/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * work.c: what a node does, made from the client's parameters, shared and copied.
 */
#include "graph-private.h"

HostWork *
host_work_new (int type, HostContext *context)
{
  HostWork *work = g_new0 (HostWork, 1);
  work->refs = 1;
  work->type = type;
  work->context = context;
  return work;
}

HostWork *
host_work_ref (HostWork *work)
{
  work->refs++;
  return work;
}

static void
work_free (HostWork *work)
{
  switch (work->type)
    {
    case MCU_NODE_KERNEL:
      host_launch_free (work->u.launch);
      break;
    case MCU_NODE_MEMCPY:
      g_free (work->u.copy);
      break;
    case MCU_NODE_GRAPH:
      if (work->u.child != NULL)
        host_graph_destroy (work->u.child);
      break;
    case MCU_NODE_WAIT_EVENT:
    case MCU_NODE_EVENT_RECORD:
      host_object_unref (work->u.event);
      break;
    case MCU_NODE_MEM_ALLOC:
      host_graph_memory_unref (work->u.memory);
      break;
    case MCU_NODE_MEM_FREE:
      host_graph_memory_unref (work->u.free.memory);
      break;
    case MCU_NODE_BATCH_MEM_OP:
      host_mem_ops_free (work->u.mem_ops);
      break;
    case MCU_NODE_CONDITIONAL:
      host_conditional_free (work->u.conditional);
      break;
    default:
      break;
    }
  g_free (work);
}

void
host_work_unref (HostWork *work)
{
  if (work != NULL && --work->refs == 0)
    work_free (work);
}

HostWork *
host_work_copy (HostWork *work)
{
  HostWork *copy;
  HostGraph *child;

  switch (work->type)
    {
    case MCU_NODE_KERNEL:
      copy = host_work_new (work->type, work->context);
      copy->u.launch = host_launch_copy (work->u.launch);
      return copy;
    case MCU_NODE_GRAPH:
      if (host_graph_clone (&child, work->u.child) != MCU_SUCCESS)
        return NULL;
      copy = host_work_new (work->type, work->context);
      copy->u.child = child;
      return copy;
    case MCU_NODE_CONDITIONAL:
      return NULL;
    default:
      return host_work_ref (work);
    }
}

McuResult
host_work_new_kernel (HostWork **work, const McuKernelNodeParams *params, bool v2)
{
  HostContext *context;
  HostLaunch *launch;
  McuResult result;

  if (params == NULL)
    return MCU_ERROR_INVALID_VALUE;

  CUfunction function = params->func;
  HostContext *wanted = NULL;
  if (function == NULL && v2)
    {
      function = (CUfunction) params->kern;
      wanted = params->ctx;
    }
  if (function == NULL || (params->kernel_params != NULL && params->extra != NULL))
    return MCU_ERROR_INVALID_VALUE;
  if (wanted != NULL)
    {
      if (!host_object_is_live (wanted, HOST_KIND_CONTEXT))
        return MCU_ERROR_INVALID_CONTEXT;
      context = wanted;
    }
  else if ((result = host_context_current (&context)) != MCU_SUCCESS)
    return result;

  const unsigned grid[3] = { params->grid_x, params->grid_y, params->grid_z };
  const unsigned block[3] = { params->block_x, params->block_y, params->block_z };
  result = host_launch_new (&launch, function, grid, block, params->shared_bytes, params->kernel_params, params->extra);
  if (result != MCU_SUCCESS)
    return result;
  *work = host_work_new (MCU_NODE_KERNEL, context);
  (*work)->u.launch = launch;
  return MCU_SUCCESS;
}

/* The context of a copy or a fill: `context`, checked, or the current one. */
static McuResult
work_context (HostContext **context)
{
  if (*context == NULL)
    return host_context_current (context);
  return host_object_is_live (*context, HOST_KIND_CONTEXT) ? MCU_SUCCESS : MCU_ERROR_INVALID_CONTEXT;
}

McuResult
host_work_new_memcpy (HostWork **work, const McuMemcpy3D *params, HostContext *context)
{
  if (params == NULL)
    return MCU_ERROR_INVALID_VALUE;

  McuMemcpy3D copy = *params;
  McuResult result = work_context (&context);
  if (result == MCU_SUCCESS)
    result = host_copy_check (&copy);
  if (result != MCU_SUCCESS)
    return result;
  *work = host_work_new (MCU_NODE_MEMCPY, context);
  (*work)->u.copy = g_memdup2 (params, sizeof *params);
  return MCU_SUCCESS;
}

McuResult
host_work_new_memset (HostWork **work, const McuMemsetNodeParams *params, HostContext *context)
{
  if (params == NULL)
    return MCU_ERROR_INVALID_VALUE;

  McuResult result = work_context (&context);
  if (result == MCU_SUCCESS)
    result = host_fill_check (params);
  if (result != MCU_SUCCESS)
    return result;
  *work = host_work_new (MCU_NODE_MEMSET, context);
  (*work)->u.fill = *params;
  return MCU_SUCCESS;
}

McuResult
host_work_new_host (HostWork **work, const McuHostNodeParams *params)
{
  if (params == NULL || params->fn == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *work = host_work_new (MCU_NODE_HOST, NULL);
  (*work)->u.host.fn = params->fn;
  (*work)->u.host.user_data = params->user_data;
  return MCU_SUCCESS;
}

McuResult
host_work_new_event (HostWork **work, int type, HostEvent *event)
{
  if (!host_object_is_live (event, HOST_KIND_EVENT))
    return event == NULL ? MCU_ERROR_INVALID_VALUE : MCU_ERROR_INVALID_HANDLE;
  *work = host_work_new (type, event->context);
  (*work)->u.event = host_object_ref (event);
  return MCU_SUCCESS;
}
