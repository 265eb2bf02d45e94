/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exec-params.c: single nodes of an executable graph changed, switched off and on.
 */
#include "graph-private.h"

McuResult
host_exec_set_work (CUgraphExec handle, CUgraphNode node, HostWork *work)
{
  HostExec *exec = host_exec_get (handle);
  HostStep *step = exec != NULL ? host_exec_step_for_write (exec, node, work->type) : NULL;
  if (step == NULL || host_update_check_work (exec, step->work, work) != MCU_UPDATE_SUCCESS)
    {
      host_work_unref (work);
      return MCU_ERROR_INVALID_VALUE;
    }
  host_work_unref (step->work);
  step->work = work;
  return MCU_SUCCESS;
}

/* Checks what every setter checks first, before its parameters. */
static McuResult
check_step (CUgraphExec handle, CUgraphNode node, int type)
{
  HostExec *exec = host_exec_get (handle);
  return exec != NULL && host_exec_step (exec, node, type) != NULL ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static McuResult
set_kernel (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params, bool v2)
{
  HostWork *work;
  McuResult result = check_step (exec, node, MCU_NODE_KERNEL);
  if (result == MCU_SUCCESS)
    result = host_work_new_kernel (&work, params, v2);
  if (result != MCU_SUCCESS)
    return result;
  const HostLaunch *old = host_exec_step (exec, node, MCU_NODE_KERNEL)->work->u.launch;
  work->u.launch->priority = old->priority;
  work->u.launch->cooperative = old->cooperative;
  return host_exec_set_work (exec, node, work);
}

HOST_API McuResult
cuGraphExecKernelNodeSetParams (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphExecKernelNodeSetParams, set_kernel (exec, node, params, false));
}

HOST_API McuResult
cuGraphExecKernelNodeSetParams_v2 (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params)
{
  HOST_CALL (cuGraphExecKernelNodeSetParams_v2, set_kernel (exec, node, params, true));
}

static McuResult
set_memcpy (CUgraphExec exec, CUgraphNode node, const McuMemcpy3D *params, CUcontext context)
{
  HostWork *work;
  McuResult result = check_step (exec, node, MCU_NODE_MEMCPY);
  if (result == MCU_SUCCESS)
    result = host_work_new_memcpy (&work, params, context);
  if (result != MCU_SUCCESS)
    return result;
  const McuMemcpy3D *old = host_exec_step (exec, node, MCU_NODE_MEMCPY)->work->u.copy;
  if (old->height > 1 || old->depth > 1 || work->u.copy->height > 1 || work->u.copy->depth > 1)
    {
      host_work_unref (work);
      return MCU_ERROR_INVALID_VALUE;
    }
  return host_exec_set_work (exec, node, work);
}

HOST_API McuResult
cuGraphExecMemcpyNodeSetParams (CUgraphExec exec, CUgraphNode node, const McuMemcpy3D *params, CUcontext context)
{
  HOST_CALL (cuGraphExecMemcpyNodeSetParams, set_memcpy (exec, node, params, context));
}

static McuResult
set_memset (CUgraphExec exec, CUgraphNode node, const McuMemsetNodeParams *params, CUcontext context)
{
  HostWork *work;
  McuResult result = check_step (exec, node, MCU_NODE_MEMSET);
  if (result == MCU_SUCCESS)
    result = host_work_new_memset (&work, params, context);
  return result == MCU_SUCCESS ? host_exec_set_work (exec, node, work) : result;
}

HOST_API McuResult
cuGraphExecMemsetNodeSetParams (CUgraphExec exec, CUgraphNode node, const McuMemsetNodeParams *params,
                                CUcontext context)
{
  HOST_CALL (cuGraphExecMemsetNodeSetParams, set_memset (exec, node, params, context));
}

static McuResult
set_host (CUgraphExec exec, CUgraphNode node, const McuHostNodeParams *params)
{
  HostWork *work;
  McuResult result = check_step (exec, node, MCU_NODE_HOST);
  if (result == MCU_SUCCESS)
    result = host_work_new_host (&work, params);
  return result == MCU_SUCCESS ? host_exec_set_work (exec, node, work) : result;
}

HOST_API McuResult
cuGraphExecHostNodeSetParams (CUgraphExec exec, CUgraphNode node, const McuHostNodeParams *params)
{
  HOST_CALL (cuGraphExecHostNodeSetParams, set_host (exec, node, params));
}

static McuResult
set_event (CUgraphExec exec, CUgraphNode node, int type, CUevent event)
{
  HostWork *work;
  McuResult result = check_step (exec, node, type);
  if (result == MCU_SUCCESS)
    result = host_work_new_event (&work, type, event);
  return result == MCU_SUCCESS ? host_exec_set_work (exec, node, work) : result;
}

HOST_API McuResult
cuGraphExecEventRecordNodeSetEvent (CUgraphExec exec, CUgraphNode node, CUevent event)
{
  HOST_CALL (cuGraphExecEventRecordNodeSetEvent, set_event (exec, node, MCU_NODE_EVENT_RECORD, event));
}

HOST_API McuResult
cuGraphExecEventWaitNodeSetEvent (CUgraphExec exec, CUgraphNode node, CUevent event)
{
  HOST_CALL (cuGraphExecEventWaitNodeSetEvent, set_event (exec, node, MCU_NODE_WAIT_EVENT, event));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Child graphs
 */

/* What lies between the ENTER and the LEAVE of a child graph, as a program of its own. */
static HostProgram *
program_slice (HostProgram *program, unsigned enter)
{
  const HostStep *outer = HOST_STEP (program, enter);
  HostProgram *slice = g_new0 (HostProgram, 1);
  slice->refs = 1;
  slice->n_nodes = outer->peers;
  slice->steps = g_array_new (FALSE, FALSE, sizeof (HostStep));
  slice->edges = g_array_new (FALSE, FALSE, sizeof (HostStepEdge));
  for (unsigned i = enter + 1; i < outer->partner; i++)
    {
      HostStep step = *HOST_STEP (program, i);
      unsigned first = step.first, n = step.n;
      if (step.work != NULL)
        host_work_ref (step.work);
      step.bodies = NULL;
      step.first = slice->edges->len;
      step.n = 0;
      for (unsigned e = first; e < first + n; e++)
        {
          HostStepEdge edge = *HOST_STEP_EDGE (program, e);
          if (edge.step == enter)
            continue;
          edge.step -= enter + 1;
          g_array_append_val (slice->edges, edge);
          step.n++;
        }
      g_array_append_val (slice->steps, step);
    }
  return slice;
}

static McuResult
set_child (CUgraphExec handle, CUgraphNode node, CUgraph child)
{
  McuUpdateResultInfo info;
  HostProgram *program;
  HostNode *offender;

  HostExec *exec = host_exec_get (handle);
  HostGraph *graph = host_graph_get (child);
  HostStep *step = exec != NULL ? host_exec_step_for_write (exec, node, MCU_NODE_GRAPH) : NULL;
  if (step == NULL || graph == NULL || graph->capture != NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_program_new (&program, graph, &offender);
  if (result != MCU_SUCCESS)
    return result;

  unsigned enter = (unsigned) (step - (HostStep *) exec->program->steps->data);
  HostProgram *slice = program_slice (exec->program, enter);
  unsigned *map = host_update_pair (exec, slice, program, &info);
  if (map != NULL)
    for (unsigned i = 0; i < program->steps->len; i++)
      {
        HostStep *old = HOST_STEP (exec->program, enter + 1 + map[i]);
        if (old->work == NULL)
          continue;
        host_work_unref (old->work);
        old->work = host_work_ref (HOST_STEP (program, i)->work);
      }
  else
    result = MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  g_free (map);
  host_program_unref (slice);
  host_program_unref (program);
  return result;
}

HOST_API McuResult
cuGraphExecChildGraphNodeSetParams (CUgraphExec exec, CUgraphNode node, CUgraph child)
{
  HOST_CALL (cuGraphExecChildGraphNodeSetParams, set_child (exec, node, child));
}

/* ---------------------------------------------------------------------------------------------------------------
 * The generic call, switching
 */

static McuResult
set_any (CUgraphExec exec, CUgraphNode node, McuNodeParams *generic)
{
  HostNodeParams *params = (HostNodeParams *) generic;
  HostWork *work;

  if (params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (params->type == MCU_NODE_KERNEL)
    return set_kernel (exec, node, &params->u.kernel, true);
  if (params->type == MCU_NODE_MEMCPY)
    return set_memcpy (exec, node, &params->u.memcpy.copy, params->u.memcpy.ctx);
  if (params->type == MCU_NODE_GRAPH)
    return set_child (exec, node, params->u.child.graph);
  McuResult result = check_step (exec, node, params->type);
  if (result == MCU_SUCCESS)
    result = host_work_from_params (&work, params);
  return result == MCU_SUCCESS ? host_exec_set_work (exec, node, work) : result;
}

HOST_API McuResult
cuGraphExecNodeSetParams (CUgraphExec exec, CUgraphNode node, McuNodeParams *params)
{
  HOST_CALL (cuGraphExecNodeSetParams, set_any (exec, node, params));
}

static bool
can_be_switched (const HostStep *step)
{
  return step->work != NULL && step->work->type <= MCU_NODE_MEMSET;
}

static McuResult
set_enabled (CUgraphExec handle, CUgraphNode node, unsigned enabled)
{
  HostExec *exec = host_exec_get (handle);
  HostStep *step = exec != NULL ? host_exec_step (exec, node, -1) : NULL;
  if (step == NULL || !can_be_switched (step))
    return MCU_ERROR_INVALID_VALUE;
  host_exec_step_for_write (exec, node, -1)->enabled = enabled != 0;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeSetEnabled (CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
  HOST_CALL (cuGraphNodeSetEnabled, set_enabled (exec, node, enabled));
}

static McuResult
get_enabled (CUgraphExec handle, CUgraphNode node, unsigned *enabled)
{
  HostExec *exec = host_exec_get (handle);
  HostStep *step = exec != NULL ? host_exec_step (exec, node, -1) : NULL;
  if (step == NULL || enabled == NULL || !can_be_switched (step))
    return MCU_ERROR_INVALID_VALUE;
  *enabled = step->enabled;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeGetEnabled (CUgraphExec exec, CUgraphNode node, unsigned *enabled)
{
  HOST_CALL (cuGraphNodeGetEnabled, get_enabled (exec, node, enabled));
}
