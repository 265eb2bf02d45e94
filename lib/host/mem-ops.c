/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mem-ops.c: single words written and waited for, in streams and as graph nodes.
 */
#include "core-private.h"
#include "graph-private.h"

#include <unistd.h>

enum /* CUstreamBatchMemOpType */
{
  OP_WAIT_32 = 1,
  OP_WRITE_32 = 2,
  OP_FLUSH_REMOTE_WRITES = 3,
  OP_WAIT_64 = 4,
  OP_WRITE_64 = 5,
  OP_BARRIER = 6
};

enum /* CUstreamWaitValue_flags, without FLUSH */
{
  WAIT_GEQ,
  WAIT_EQ,
  WAIT_AND,
  WAIT_NOR
};

#define WAIT_FLUSH (1u << 30)
#define MAX_OPS    256
#define POLL_US    50

/* ---------------------------------------------------------------------------------------------------------------
 * Checking, running
 */

static bool
op_is_wide (const HostMemOp *op)
{
  return op->operation == OP_WAIT_64 || op->operation == OP_WRITE_64;
}

static McuResult
op_check (const HostMemOp *op)
{
  switch (op->operation)
    {
    case OP_WAIT_32:
    case OP_WAIT_64:
      if ((op->value.flags & ~WAIT_FLUSH) > WAIT_NOR)
        return MCU_ERROR_INVALID_VALUE;
      break;
    case OP_WRITE_32:
    case OP_WRITE_64:
      if (op->value.flags > 1)
        return MCU_ERROR_INVALID_VALUE;
      break;
    case OP_FLUSH_REMOTE_WRITES:
    case OP_BARRIER:
      return MCU_SUCCESS;
    default:
      return MCU_ERROR_INVALID_VALUE;
    }
  if (op->value.address % (op_is_wide (op) ? 8 : 4) != 0 || host_memory_find (op->value.address) == NULL)
    return MCU_ERROR_INVALID_VALUE;
  return MCU_SUCCESS;
}

static McuResult
ops_check (const HostMemOp *ops, unsigned count, unsigned flags)
{
  if (ops == NULL || count == 0 || count > MAX_OPS || flags != 0)
    return MCU_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++)
    {
      McuResult result = op_check (&ops[i]);
      if (result != MCU_SUCCESS)
        return result;
    }
  return MCU_SUCCESS;
}

static uint64_t
op_read (const HostMemOp *op)
{
  if (op_is_wide (op))
    return __atomic_load_n ((uint64_t *) (uintptr_t) op->value.address, __ATOMIC_ACQUIRE);
  return __atomic_load_n ((uint32_t *) (uintptr_t) op->value.address, __ATOMIC_ACQUIRE);
}

static bool
op_is_met (const HostMemOp *op)
{
  uint64_t mask = op_is_wide (op) ? UINT64_MAX : UINT32_MAX;
  uint64_t sign = op_is_wide (op) ? (uint64_t) 1 << 63 : (uint64_t) 1 << 31;
  uint64_t found = op_read (op);
  uint64_t wanted = op->value.value & mask;
  switch (op->value.flags & ~WAIT_FLUSH)
    {
    case WAIT_GEQ: /* cyclic: the difference, as a signed number, is not negative */
      return ((found - wanted) & sign) == 0;
    case WAIT_EQ:
      return found == wanted;
    case WAIT_AND:
      return (found & wanted) != 0;
    default:
      return (~(found | wanted) & mask) != 0;
    }
}

/* The process exits: nobody is going to write the word any more. */
static bool
is_stopping (void)
{
  pthread_mutex_lock (&host_lock);
  bool stopping = host_stopping;
  pthread_mutex_unlock (&host_lock);
  return stopping;
}

static void
op_run (const HostMemOp *op)
{
  switch (op->operation)
    {
    case OP_WAIT_32:
    case OP_WAIT_64:
      while (!op_is_met (op) && !is_stopping ())
        usleep (POLL_US);
      break;
    case OP_WRITE_32:
      __atomic_store_n ((uint32_t *) (uintptr_t) op->value.address, (uint32_t) op->value.value, __ATOMIC_RELEASE);
      break;
    case OP_WRITE_64:
      __atomic_store_n ((uint64_t *) (uintptr_t) op->value.address, op->value.value, __ATOMIC_RELEASE);
      break;
    default: /* every write of the host driver is complete at once */
      break;
    }
}

void
host_mem_ops_run (const HostMemOps *ops)
{
  for (unsigned i = 0; i < ops->count; i++)
    op_run (&ops->ops[i]);
}

static HostMemOps *
ops_new (const HostMemOp *ops, unsigned count)
{
  HostMemOps *copy = g_new (HostMemOps, 1);
  copy->count = count;
  copy->ops = g_memdup2 (ops, count * sizeof *ops);
  return copy;
}

void
host_mem_ops_free (HostMemOps *ops)
{
  g_free (ops->ops);
  g_free (ops);
}

/* ---------------------------------------------------------------------------------------------------------------
 * In streams
 */

static McuResult
op_main (void *data)
{
  host_mem_ops_run (data);
  return MCU_SUCCESS;
}

static void
op_free (void *data)
{
  host_mem_ops_free (data);
}

static McuResult
submit (CUstream handle, const HostMemOp *ops, unsigned count, unsigned flags)
{
  HostStream *stream;
  McuResult result = host_stream_get_for_work (handle, &stream);
  if (result == MCU_SUCCESS)
    result = ops_check (ops, count, flags);
  if (result != MCU_SUCCESS)
    return result;
  if (stream->capture == NULL)
    {
      host_stream_enqueue (stream, host_op_new (op_main, ops_new (ops, count), op_free));
      return MCU_SUCCESS;
    }
  HostWork *work = host_work_new (MCU_NODE_BATCH_MEM_OP, stream->context);
  work->u.mem_ops = ops_new (ops, count);
  return host_capture_work (stream, work);
}

static McuResult
submit_one (CUstream stream, int operation, CUdeviceptr address, uint64_t value, unsigned flags)
{
  HostMemOp op = { .value = { .operation = operation, .address = address, .value = value, .flags = flags } };
  return submit (stream, &op, 1, 0);
}

HOST_API McuResult
cuStreamWriteValue32_v2 (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags)
{
  HOST_CALL (cuStreamWriteValue32_v2, submit_one (stream, OP_WRITE_32, address, value, flags));
}

HOST_API McuResult
cuStreamWriteValue64_v2 (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags)
{
  HOST_CALL (cuStreamWriteValue64_v2, submit_one (stream, OP_WRITE_64, address, value, flags));
}

HOST_API McuResult
cuStreamWaitValue32_v2 (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags)
{
  HOST_CALL (cuStreamWaitValue32_v2, submit_one (stream, OP_WAIT_32, address, value, flags));
}

HOST_API McuResult
cuStreamWaitValue64_v2 (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags)
{
  HOST_CALL (cuStreamWaitValue64_v2, submit_one (stream, OP_WAIT_64, address, value, flags));
}

HOST_API McuResult
cuStreamBatchMemOp_v2 (CUstream stream, unsigned count, HostMemOp *ops, unsigned flags)
{
  HOST_CALL (cuStreamBatchMemOp_v2, submit (stream, ops, count, flags));
}

/* ---------------------------------------------------------------------------------------------------------------
 * As nodes
 */

McuResult
host_work_new_mem_ops (HostWork **work, const HostBatchMemOpNodeParams *params)
{
  HostContext *context = params != NULL ? params->ctx : NULL;
  if (params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (context != NULL && !host_object_is_live (context, HOST_KIND_CONTEXT))
    return MCU_ERROR_INVALID_CONTEXT;
  McuResult result = context == NULL ? host_context_current (&context) : MCU_SUCCESS;
  if (result == MCU_SUCCESS)
    result = ops_check (params->ops, params->count, params->flags);
  if (result != MCU_SUCCESS)
    return result;
  *work = host_work_new (MCU_NODE_BATCH_MEM_OP, context);
  (*work)->u.mem_ops = ops_new (params->ops, params->count);
  return MCU_SUCCESS;
}

void
host_mem_ops_params_fill (const HostWork *work, HostBatchMemOpNodeParams *params)
{
  params->ctx = work->context;
  params->count = work->u.mem_ops->count;
  params->ops = work->u.mem_ops->ops;
  params->flags = 0;
}

static McuResult
node_add (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, size_t n,
          const HostBatchMemOpNodeParams *params)
{
  HostWork *work;
  McuResult result = host_node_check_add (out, graph, dependencies, n);
  if (result == MCU_SUCCESS)
    result = host_work_new_mem_ops (&work, params);
  return result == MCU_SUCCESS ? host_node_add (out, graph, dependencies, NULL, n, work) : result;
}

HOST_API McuResult
cuGraphAddBatchMemOpNode (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                          const HostBatchMemOpNodeParams *params)
{
  HOST_CALL (cuGraphAddBatchMemOpNode, node_add (node, graph, dependencies, count, params));
}

static McuResult
node_get (CUgraphNode handle, HostBatchMemOpNodeParams *params)
{
  HostNode *node = host_node_get (handle, MCU_NODE_BATCH_MEM_OP);
  if (node == NULL || params == NULL)
    return MCU_ERROR_INVALID_VALUE;
  host_mem_ops_params_fill (node->work, params);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphBatchMemOpNodeGetParams (CUgraphNode node, HostBatchMemOpNodeParams *params)
{
  HOST_CALL (cuGraphBatchMemOpNodeGetParams, node_get (node, params));
}

static McuResult
node_set (CUgraphNode handle, const HostBatchMemOpNodeParams *params)
{
  HostWork *work;
  HostNode *node = host_node_get (handle, MCU_NODE_BATCH_MEM_OP);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_mem_ops (&work, params);
  if (result == MCU_SUCCESS)
    host_node_set_work (node, work);
  return result;
}

HOST_API McuResult
cuGraphBatchMemOpNodeSetParams (CUgraphNode node, const HostBatchMemOpNodeParams *params)
{
  HOST_CALL (cuGraphBatchMemOpNodeSetParams, node_set (node, params));
}

static McuResult
exec_set (CUgraphExec handle, CUgraphNode node, const HostBatchMemOpNodeParams *params)
{
  HostWork *work;
  HostExec *exec = host_exec_get (handle);
  if (exec == NULL || host_exec_step (exec, node, MCU_NODE_BATCH_MEM_OP) == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_work_new_mem_ops (&work, params);
  return result == MCU_SUCCESS ? host_exec_set_work (handle, node, work) : result;
}

HOST_API McuResult
cuGraphExecBatchMemOpNodeSetParams (CUgraphExec exec, CUgraphNode node, const HostBatchMemOpNodeParams *params)
{
  HOST_CALL (cuGraphExecBatchMemOpNodeSetParams, exec_set (exec, node, params));
}
