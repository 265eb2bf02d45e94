/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * launch.c: executable graphs in streams.
 *
 * A launch is one operation of its stream: the stream's worker runs the steps one after the other.
 */
#include "graph-private.h"

static McuResult program_run (const HostProgram *program, const HostRun *run);

/* Waits for the fence without the lock being held. */
static void
wait_unlocked (HostFence *fence)
{
  if (fence == NULL)
    return;
  pthread_mutex_lock (&host_lock);
  host_fence_wait (fence);
  pthread_mutex_unlock (&host_lock);
}

static void
complete_unlocked (HostFence *fence)
{
  pthread_mutex_lock (&host_lock);
  if (!fence->done)
    host_fence_complete (fence);
  pthread_mutex_unlock (&host_lock);
}

static McuResult
conditional_run (const HostStep *step, const HostRun *run)
{
  const HostConditional *conditional = step->work->u.conditional;
  unsigned value = conditional->value;
  switch (conditional->type)
    {
    case MCU_COND_IF:
      if (value != 0)
        return program_run (step->bodies[0], run);
      return conditional->size > 1 ? program_run (step->bodies[1], run) : MCU_SUCCESS;
    case MCU_COND_SWITCH:
      return value < conditional->size ? program_run (step->bodies[value], run) : MCU_SUCCESS;
    default: /* a WHILE that starts true was refused */
      return MCU_SUCCESS;
    }
}

/* A fill may have been recorded for any address at all, or the memory may be gone. */
static McuResult
fill_run (const McuMemsetNodeParams *fill)
{
  pthread_mutex_lock (&host_lock);
  McuResult result = host_fill_check (fill);
  pthread_mutex_unlock (&host_lock);
  if (result != MCU_SUCCESS)
    return MCU_ERROR_ILLEGAL_ADDRESS;
  host_fill_run (fill);
  return MCU_SUCCESS;
}

static McuResult
step_run (const HostStep *step, const HostRun *run)
{
  const HostWork *work = step->work;
  const HostSpecial *special = step->special >= 0 ? &run->specials[step->special] : NULL;

  switch (work->type)
    {
    case MCU_NODE_KERNEL:
      host_launch_run (work->u.launch);
      break;
    case MCU_NODE_MEMCPY:
      host_copy_run (work->u.copy);
      break;
    case MCU_NODE_MEMSET:
      return fill_run (&work->u.fill);
    case MCU_NODE_HOST:
      host_call_unlocked (work->u.host.fn, work->u.host.user_data);
      break;
    case MCU_NODE_WAIT_EVENT:
      wait_unlocked (special->fence);
      break;
    case MCU_NODE_EVENT_RECORD:
      complete_unlocked (special->fence);
      break;
    case MCU_NODE_MEM_ALLOC:
    case MCU_NODE_MEM_FREE:
      pthread_mutex_lock (&host_lock);
      if (work->type == MCU_NODE_MEM_ALLOC)
        host_memory_run_alloc (work->u.memory, special);
      else
        host_memory_run_free (work->u.free.memory, special);
      pthread_mutex_unlock (&host_lock);
      break;
    case MCU_NODE_BATCH_MEM_OP:
      host_mem_ops_run (work->u.mem_ops);
      break;
    case MCU_NODE_CONDITIONAL:
      return conditional_run (step, run);
    default:
      break;
    }
  return MCU_SUCCESS;
}

static McuResult
program_run (const HostProgram *program, const HostRun *run)
{
  const HostStep *steps = (const HostStep *) program->steps->data;
  const unsigned *order = program == run->program ? run->order : NULL;
  for (unsigned i = 0; i < program->steps->len; i++)
    {
      const HostStep *step = &steps[order != NULL ? order[i] : i];
      McuResult result = step->work != NULL && step->enabled ? step_run (step, run) : MCU_SUCCESS;
      if (result != MCU_SUCCESS)
        return result;
    }
  return MCU_SUCCESS;
}

static McuResult
run_main (void *data)
{
  const HostRun *run = data;
  return program_run (run->program, run);
}

static void
run_free (void *data)
{
  HostRun *run = data;
  if (run->specials != NULL)
    for (unsigned i = 0; i < run->program->steps->len; i++)
      {
        const HostStep *step = &g_array_index (run->program->steps, HostStep, i);
        if (step->special < 0 || run->specials[step->special].fence == NULL)
          continue;
        HostFence *fence = run->specials[step->special].fence;
        if (step->work->type == MCU_NODE_EVENT_RECORD && !fence->done)
          host_fence_complete (fence); /* never ran */
        host_fence_unref (fence);
      }
  g_free (run->specials);
  g_free (run->order);
  host_program_unref (run->program);
  host_object_unref (run->exec);
  g_free (run);
}

/* Fixes which recording each wait waits for, in the order in which the steps will run. */
static void
prepare_events (HostRun *run)
{
  const HostProgram *program = run->program;
  for (unsigned i = 0; i < program->steps->len; i++)
    {
      const HostStep *step = &g_array_index (program->steps, HostStep, run->order != NULL ? run->order[i] : i);
      if (step->special < 0)
        continue;
      if (step->work->type == MCU_NODE_EVENT_RECORD)
        run->specials[step->special].fence = host_event_start_recording (step->work->u.event);
      else if (step->work->type == MCU_NODE_WAIT_EVENT && step->work->u.event->fence != NULL)
        run->specials[step->special].fence = host_fence_ref (step->work->u.event->fence);
    }
}

static McuResult
exec_launch (CUgraphExec handle, CUstream stream_handle)
{
  HostStream *stream;
  HostExec *exec = host_exec_get (handle);
  if (exec == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_stream_get_for_work (stream_handle, &stream);
  if (result == MCU_SUCCESS && stream->capture != NULL)
    result = host_capture_check_stream (HOST_ENTRY_cuGraphLaunch, stream);
  if (result != MCU_SUCCESS)
    return result;

  HostRun *run = g_new0 (HostRun, 1);
  run->exec = host_object_ref (exec);
  run->program = host_program_ref (exec->program);
  if (exec->program->n_special > 0)
    {
      run->specials = g_new0 (HostSpecial, exec->program->n_special);
      result = host_memory_prepare (exec->program, run, (exec->flags & MCU_INSTANTIATE_AUTO_FREE_ON_LAUNCH) != 0);
      if (result != MCU_SUCCESS)
        {
          run_free (run);
          return result;
        }
    }
  if (host_settings.shuffle != 0)
    run->order = host_program_shuffle (exec->program, host_settings.shuffle + exec->n_launches);
  exec->n_launches++;
  if (run->specials != NULL)
    prepare_events (run);

  HostOp *op = host_op_new (run_main, run, run_free);
  host_op_wait_for (op, exec->last);
  HostFence *done = host_stream_enqueue (stream, op);
  host_fence_unref (exec->last);
  exec->last = host_fence_ref (done);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphLaunch (CUgraphExec exec, CUstream stream)
{
  HOST_CALL (cuGraphLaunch, exec_launch (exec, stream));
}

McuResult
host_exec_upload (HostExec *exec, HostStream *stream)
{
  if (stream->capture != NULL)
    return host_capture_check_stream (HOST_ENTRY_cuGraphUpload, stream);
  HostOp *op = host_op_new (NULL, NULL, NULL);
  host_op_wait_for (op, exec->last);
  HostFence *done = host_stream_enqueue (stream, op);
  host_fence_unref (exec->last);
  exec->last = host_fence_ref (done);
  return MCU_SUCCESS;
}

static McuResult
exec_upload (CUgraphExec handle, CUstream stream_handle)
{
  HostStream *stream;
  HostExec *exec = host_exec_get (handle);
  if (exec == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_stream_get_for_work (stream_handle, &stream);
  return result == MCU_SUCCESS ? host_exec_upload (exec, stream) : result;
}

HOST_API McuResult
cuGraphUpload (CUgraphExec exec, CUstream stream)
{
  HOST_CALL (cuGraphUpload, exec_upload (exec, stream));
}
