/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exec.c: executable graphs: instantiated, uploaded, destroyed, and found again by the nodes they were made of.
 */
#include "graph-private.h"

HostExec *
host_exec_get (CUgraphExec handle)
{
  return host_object_is_live (handle, HOST_KIND_EXEC) ? handle : NULL;
}

static void
exec_finalize (HostObject *object)
{
  HostExec *exec = (HostExec *) object;
  host_program_unref (exec->program);
  g_clear_pointer (&exec->index, g_hash_table_unref);
  host_fence_unref (exec->last);
  host_object_unref (exec->memory_graph);
  g_free (exec);
}

/* ---------------------------------------------------------------------------------------------------------------
 * Instantiation
 */

#define KNOWN_FLAGS                                                                                                    \
  (MCU_INSTANTIATE_AUTO_FREE_ON_LAUNCH | MCU_INSTANTIATE_UPLOAD | MCU_INSTANTIATE_DEVICE_LAUNCH                        \
   | MCU_INSTANTIATE_USE_NODE_PRIORITY)

/* What a graph for launches by the device may contain. */
static int
check_device_launch (HostProgram *program, HostNode **offender)
{
  HostContext *context = NULL;
  bool any = false;
  for (unsigned i = 0; i < program->steps->len; i++)
    {
      const HostStep *step = &g_array_index (program->steps, HostStep, i);
      if (step->work == NULL)
        continue;
      *offender = step->node;
      if (step->work->type > MCU_NODE_MEMSET)
        return MCU_INSTANTIATE_RESULT_NODE_OPERATION_NOT_SUPPORTED;
      if (context != NULL && step->work->context != context)
        return MCU_INSTANTIATE_RESULT_MULTIPLE_CTXS_NOT_SUPPORTED;
      context = step->work->context;
      any = true;
    }
  *offender = NULL;
  return any ? MCU_INSTANTIATE_RESULT_SUCCESS : MCU_INSTANTIATE_RESULT_ERROR;
}

static bool
has_unused_handle (HostGraph *graph)
{
  for (unsigned i = 0; graph->handles != NULL && i < graph->handles->len; i++)
    if (!((HostConditionalHandle *) graph->handles->pdata[i])->used)
      return true;
  return false;
}

/* `reason` gets MCU_INSTANTIATE_RESULT_*, `offender` the node it is about. */
static McuResult
exec_new (HostExec **out, HostEntry entry, CUgraph handle, uint64_t flags, bool with_params, int *reason,
          HostNode **offender)
{
  HostProgram *program;
  HostContext *context;

  *reason = MCU_INSTANTIATE_RESULT_ERROR;
  *offender = NULL;
  HostGraph *graph = host_graph_get (handle);
  if (out == NULL || graph == NULL || (flags & ~(uint64_t) KNOWN_FLAGS) != 0)
    return MCU_ERROR_INVALID_VALUE;
  if ((flags & MCU_INSTANTIATE_UPLOAD) != 0 && !with_params)
    return MCU_ERROR_INVALID_VALUE;
  if ((flags & MCU_INSTANTIATE_DEVICE_LAUNCH) != 0 && (flags & MCU_INSTANTIATE_AUTO_FREE_ON_LAUNCH) != 0)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = host_capture_check (entry, context);
  if (result == MCU_SUCCESS && host_device_available (context->device) == 0)
    result = MCU_ERROR_OUT_OF_MEMORY;
  if (result != MCU_SUCCESS)
    return result;
  if (graph->n_memory_nodes > 0 && graph->n_memory_execs > 0)
    return MCU_ERROR_NOT_SUPPORTED;
  if (has_unused_handle (graph) && host_settings.driver_version >= 12080)
    {
      *reason = MCU_INSTANTIATE_RESULT_CONDITIONAL_HANDLE_UNUSED;
      return MCU_ERROR_INVALID_VALUE;
    }

  result = host_program_new (&program, graph, offender);
  if (result != MCU_SUCCESS)
    {
      if (*offender != NULL)
        *reason = MCU_INSTANTIATE_RESULT_INVALID_STRUCTURE;
      return result;
    }
  if ((flags & MCU_INSTANTIATE_DEVICE_LAUNCH) != 0)
    {
      int answer = check_device_launch (program, offender);
      if (answer != MCU_INSTANTIATE_RESULT_SUCCESS)
        {
          host_program_unref (program);
          *reason = answer;
          return answer == MCU_INSTANTIATE_RESULT_ERROR ? MCU_ERROR_INVALID_VALUE : MCU_ERROR_NOT_SUPPORTED;
        }
    }

  HostExec *exec = g_new0 (HostExec, 1);
  host_object_init (&exec->object, HOST_KIND_EXEC, exec_finalize);
  exec->uid = host_graph_next_uid ();
  exec->program = program;
  exec->flags = flags;
  if (graph->n_memory_nodes > 0)
    {
      graph->n_memory_execs++;
      exec->memory_graph = host_object_ref (graph);
    }
  *reason = MCU_INSTANTIATE_RESULT_SUCCESS;
  *out = exec;
  return MCU_SUCCESS;
}

/* The forms before 11.4, whose log stays empty. */
static McuResult
instantiate_with_log (HostEntry entry, CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
                      size_t size)
{
  HostNode *offender;
  int reason;
  McuResult result = exec_new (exec, entry, graph, 0, false, &reason, &offender);
  if (error_node != NULL)
    *error_node = offender;
  if (log != NULL && size > 0)
    *log = '\0';
  return result;
}

HOST_API McuResult
cuGraphInstantiate (CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
  HOST_CALL (cuGraphInstantiate,
             instantiate_with_log (HOST_ENTRY_cuGraphInstantiate, exec, graph, error_node, log, size));
}

HOST_API McuResult
cuGraphInstantiate_v2 (CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
  HOST_CALL (cuGraphInstantiate_v2,
             instantiate_with_log (HOST_ENTRY_cuGraphInstantiate_v2, exec, graph, error_node, log, size));
}

static McuResult
instantiate_with_flags (CUgraphExec *exec, CUgraph graph, uint64_t flags)
{
  HostNode *offender;
  int reason;
  return exec_new (exec, HOST_ENTRY_cuGraphInstantiateWithFlags, graph, flags, false, &reason, &offender);
}

HOST_API McuResult
cuGraphInstantiateWithFlags (CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
  HOST_CALL (cuGraphInstantiateWithFlags, instantiate_with_flags (exec, graph, flags));
}

static void
exec_destroy (HostExec *exec)
{
  if (exec->memory_graph != NULL)
    exec->memory_graph->n_memory_execs--;
  host_object_destroy (exec); /* launches in flight hold references */
}

static McuResult
exec_destroy_handle (CUgraphExec handle)
{
  HostExec *exec = host_exec_get (handle);
  if (exec == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_capture_check (HOST_ENTRY_cuGraphExecDestroy, NULL);
  if (result == MCU_SUCCESS)
    exec_destroy (exec);
  return result;
}

HOST_API McuResult
cuGraphExecDestroy (CUgraphExec exec)
{
  HOST_CALL (cuGraphExecDestroy, exec_destroy_handle (exec));
}

static McuResult
instantiate_with_params (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params)
{
  HostStream *stream = NULL;

  if (params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  params->error_node = NULL;
  params->result = MCU_INSTANTIATE_RESULT_ERROR;
  if ((params->flags & MCU_INSTANTIATE_UPLOAD) != 0)
    {
      McuResult result = host_stream_get_for_work (params->upload_stream, &stream);
      if (result != MCU_SUCCESS)
        return result;
    }
  McuResult result = exec_new (exec, HOST_ENTRY_cuGraphInstantiateWithParams, graph, params->flags, true,
                               &params->result, &params->error_node);
  if (result != MCU_SUCCESS || stream == NULL)
    return result;
  result = host_exec_upload (*exec, stream);
  if (result != MCU_SUCCESS)
    {
      params->result = MCU_INSTANTIATE_RESULT_ERROR;
      exec_destroy (*exec);
      *exec = NULL;
    }
  return result;
}

HOST_API McuResult
cuGraphInstantiateWithParams (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params)
{
  HOST_CALL (cuGraphInstantiateWithParams, instantiate_with_params (exec, graph, params));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Questions
 */

static McuResult
exec_get_flags (CUgraphExec handle, uint64_t *flags)
{
  HostExec *exec = host_exec_get (handle);
  if (exec == NULL || flags == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *flags = exec->flags & (MCU_INSTANTIATE_AUTO_FREE_ON_LAUNCH | MCU_INSTANTIATE_DEVICE_LAUNCH);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphExecGetFlags (CUgraphExec exec, uint64_t *flags)
{
  HOST_CALL (cuGraphExecGetFlags, exec_get_flags (exec, flags));
}

static McuResult
exec_get_id (CUgraphExec handle, unsigned *id)
{
  HostExec *exec = host_exec_get (handle);
  if (exec == NULL || id == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *id = (unsigned) exec->uid;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphExecGetId (CUgraphExec exec, unsigned *id)
{
  HOST_CALL (cuGraphExecGetId, exec_get_id (exec, id));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Steps by node
 */

HostStep *
host_exec_step (HostExec *exec, CUgraphNode handle, int type)
{
  HostNode *node = host_node_get (handle, type);
  if (node == NULL)
    return NULL;
  HostStep *steps = (HostStep *) exec->program->steps->data;
  if (exec->index == NULL)
    {
      exec->index = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
      for (unsigned i = 0; i < exec->program->steps->len; i++)
        if (steps[i].kind != HOST_STEP_LEAVE)
          g_hash_table_insert (exec->index, g_memdup2 (&steps[i].uid, sizeof steps[i].uid), GUINT_TO_POINTER (i + 1));
    }
  unsigned found = GPOINTER_TO_UINT (g_hash_table_lookup (exec->index, &node->uid));
  return found > 0 ? &steps[found - 1] : NULL;
}

HostStep *
host_exec_step_for_write (HostExec *exec, CUgraphNode node, int type)
{
  HostStep *step = host_exec_step (exec, node, type);
  if (step == NULL)
    return NULL;
  size_t index = (size_t) (step - (HostStep *) exec->program->steps->data);
  exec->program = host_program_own (exec->program);
  return (HostStep *) exec->program->steps->data + index;
}
