/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * update.c: a whole executable graph takes over the parameters of another graph of the same shape.
 *
 * The two are paired as the driver documents it: exits in order of creation, then dependencies in the order of their
 * edges. The exec gets the other graph's program; only the names by which the client knows the nodes stay.
 */
#include "graph-private.h"

#include <string.h>

#define UNPAIRED UINT32_MAX

static bool
copy_is_flat (const McuMemcpy3D *copy)
{
  return copy->height <= 1 && copy->depth <= 1;
}

/* Whether two addresses belong to the same device, as far as it is known. */
static bool
same_device (CUdeviceptr a, CUdeviceptr b)
{
  const HostAllocation *first = host_memory_find (a);
  const HostAllocation *second = host_memory_find (b);
  return first == NULL || second == NULL || first->context == second->context;
}

static bool
copy_may_change (const McuMemcpy3D *from, const McuMemcpy3D *to)
{
  if (from->src_memory_type != to->src_memory_type || from->dst_memory_type != to->dst_memory_type)
    return false;
  if (copy_is_flat (from) != copy_is_flat (to))
    return false;
  if (from->src_memory_type == MCU_MEMORYTYPE_DEVICE && !same_device (from->src_device, to->src_device))
    return false;
  return from->dst_memory_type != MCU_MEMORYTYPE_DEVICE || same_device (from->dst_device, to->dst_device);
}

static bool
fill_may_change (const McuMemsetNodeParams *from, const McuMemsetNodeParams *to)
{
  if (!same_device (from->dst, to->dst))
    return false;
  if (from->height <= 1 && to->height <= 1)
    return true;
  return from->height == to->height && from->width == to->width && from->element_size == to->element_size
         && from->pitch == to->pitch;
}

int
host_update_check_work (const HostExec *exec, const HostWork *old_work, const HostWork *new_work)
{
  if (old_work->type != new_work->type)
    return MCU_UPDATE_NODE_TYPE_CHANGED;
  switch (old_work->type)
    {
    case MCU_NODE_KERNEL:
      if (old_work->context != new_work->context)
        return MCU_UPDATE_UNSUPPORTED_FUNCTION_CHANGE;
      if (old_work->u.launch->cooperative != new_work->u.launch->cooperative)
        return MCU_UPDATE_ATTRIBUTES_CHANGED;
      if ((exec->flags & MCU_INSTANTIATE_USE_NODE_PRIORITY) != 0
          && old_work->u.launch->priority != new_work->u.launch->priority)
        return MCU_UPDATE_ATTRIBUTES_CHANGED;
      return MCU_UPDATE_SUCCESS;
    case MCU_NODE_MEMCPY:
      return copy_may_change (old_work->u.copy, new_work->u.copy) ? MCU_UPDATE_SUCCESS : MCU_UPDATE_PARAMETERS_CHANGED;
    case MCU_NODE_MEMSET:
      return fill_may_change (&old_work->u.fill, &new_work->u.fill) ? MCU_UPDATE_SUCCESS
                                                                    : MCU_UPDATE_PARAMETERS_CHANGED;
    case MCU_NODE_MEM_ALLOC:
      return old_work->u.memory == new_work->u.memory ? MCU_UPDATE_SUCCESS : MCU_UPDATE_ERROR;
    case MCU_NODE_MEM_FREE:
      return old_work->u.free.memory == new_work->u.free.memory ? MCU_UPDATE_SUCCESS : MCU_UPDATE_ERROR;
    case MCU_NODE_BATCH_MEM_OP:
      return old_work->u.mem_ops->count == new_work->u.mem_ops->count ? MCU_UPDATE_SUCCESS
                                                                      : MCU_UPDATE_PARAMETERS_CHANGED;
    case MCU_NODE_CONDITIONAL:
      if (old_work->u.conditional->type != new_work->u.conditional->type
          || old_work->u.conditional->size != new_work->u.conditional->size)
        return MCU_UPDATE_PARAMETERS_CHANGED;
      return MCU_UPDATE_SUCCESS;
    default:
      return MCU_UPDATE_SUCCESS;
    }
}

/* ---------------------------------------------------------------------------------------------------------------
 * Pairing
 */

typedef struct
{
  HostProgram *old, *new;
  unsigned *to_old; /* by index in `new` */
  unsigned *to_new; /* by index in `old` */
  unsigned *queue;  /* steps of `new` whose dependencies are to be paired */
  unsigned n_queue;
  McuUpdateResultInfo *info;
} Pairing;

static bool
refuse (McuUpdateResultInfo *info, int result, CUgraphNode node, CUgraphNode from)
{
  info->result = result;
  info->error_node = node;
  info->error_from_node = from;
  return false;
}

static int
step_type (const HostStep *step)
{
  return step->work != NULL ? step->work->type : MCU_NODE_GRAPH;
}

static bool
pair_steps (Pairing *pairing, unsigned new_index, unsigned old_index)
{
  const HostStep *step = HOST_STEP (pairing->new, new_index);
  const HostStep *old = HOST_STEP (pairing->old, old_index);
  if (step_type (step) != step_type (old) || step->kind != old->kind)
    return refuse (pairing->info, MCU_UPDATE_NODE_TYPE_CHANGED, step->node, NULL);
  if (step->peers != old->peers)
    return refuse (pairing->info, MCU_UPDATE_TOPOLOGY_CHANGED, NULL, NULL);
  if (step->n != old->n)
    return refuse (pairing->info, MCU_UPDATE_TOPOLOGY_CHANGED, step->node, NULL);
  pairing->to_old[new_index] = old_index;
  pairing->to_new[old_index] = new_index;
  pairing->queue[pairing->n_queue++] = new_index;
  return true;
}

static bool
pair_dependencies (Pairing *pairing, unsigned new_index)
{
  const HostStep *step = HOST_STEP (pairing->new, new_index);
  const HostStep *old = HOST_STEP (pairing->old, pairing->to_old[new_index]);
  for (unsigned i = 0; i < step->n; i++)
    {
      const HostStepEdge *a = HOST_STEP_EDGE (pairing->new, step->first + i);
      const HostStepEdge *b = HOST_STEP_EDGE (pairing->old, old->first + i);
      HostNode *from = HOST_STEP (pairing->new, a->step)->node;
      if (memcmp (&a->data, &b->data, sizeof a->data) != 0)
        return refuse (pairing->info, MCU_UPDATE_TOPOLOGY_CHANGED, step->node, from);
      if (pairing->to_old[a->step] == UNPAIRED && pairing->to_new[b->step] == UNPAIRED)
        {
          if (!pair_steps (pairing, a->step, b->step))
            return false;
        }
      else if (pairing->to_old[a->step] != b->step)
        return refuse (pairing->info, MCU_UPDATE_TOPOLOGY_CHANGED, step->node, from);
    }
  return true;
}

/* The steps that nothing depends on, in order. */
static GArray *
program_exits (HostProgram *program)
{
  GArray *exits = g_array_new (FALSE, FALSE, sizeof (unsigned));
  bool *needed = g_new0 (bool, MAX (program->steps->len, 1));
  for (unsigned i = 0; i < program->edges->len; i++)
    needed[HOST_STEP_EDGE (program, i)->step] = true;
  for (unsigned i = 0; i < program->steps->len; i++)
    if (!needed[i])
      g_array_append_val (exits, i);
  g_free (needed);
  return exits;
}

static bool
pair_exits (Pairing *pairing)
{
  GArray *new_exits = program_exits (pairing->new);
  GArray *old_exits = program_exits (pairing->old);
  bool ok = true;
  if (new_exits->len > old_exits->len)
    {
      unsigned first = g_array_index (new_exits, unsigned, 0);
      ok = refuse (pairing->info, MCU_UPDATE_TOPOLOGY_CHANGED, HOST_STEP (pairing->new, first)->node, NULL);
    }
  for (unsigned i = 0; i < new_exits->len && ok; i++)
    ok = pair_steps (pairing, g_array_index (new_exits, unsigned, i), g_array_index (old_exits, unsigned, i));
  g_array_unref (new_exits);
  g_array_unref (old_exits);
  return ok;
}

static bool
check_steps (const HostExec *exec, Pairing *pairing)
{
  for (unsigned i = 0; i < pairing->new->steps->len; i++)
    {
      HostStep *step = HOST_STEP (pairing->new, i);
      HostStep *old = HOST_STEP (pairing->old, pairing->to_old[i]);
      if (step->work == NULL)
        continue;
      int result = host_update_check_work (exec, old->work, step->work);
      if (result != MCU_UPDATE_SUCCESS)
        return refuse (pairing->info, result, step->node, NULL);
      for (unsigned b = 0; step->bodies != NULL && old->bodies != NULL && b < step->work->u.conditional->size; b++)
        {
          unsigned *map = host_update_pair (exec, old->bodies[b], step->bodies[b], pairing->info);
          if (map == NULL)
            return false;
          g_free (map);
        }
    }
  return true;
}

unsigned *
host_update_pair (const HostExec *exec, HostProgram *old, HostProgram *program, McuUpdateResultInfo *info)
{
  unsigned n = program->steps->len;

  refuse (info, MCU_UPDATE_SUCCESS, NULL, NULL);
  if (program->n_nodes != old->n_nodes)
    {
      refuse (info, MCU_UPDATE_TOPOLOGY_CHANGED, NULL, NULL);
      return NULL;
    }
  Pairing pairing = { .old = old, .new = program, .info = info };
  pairing.to_old = g_new (unsigned, MAX (n, 1));
  pairing.to_new = g_new (unsigned, MAX (old->steps->len, 1));
  pairing.queue = g_new (unsigned, MAX (n, 1));
  memset (pairing.to_old, 0xff, n * sizeof (unsigned));
  memset (pairing.to_new, 0xff, old->steps->len * sizeof (unsigned));

  bool ok = pair_exits (&pairing);
  for (unsigned done = 0; ok && done < pairing.n_queue; done++)
    ok = pair_dependencies (&pairing, pairing.queue[done]);
  if (ok && pairing.n_queue != old->steps->len)
    ok = refuse (info, MCU_UPDATE_TOPOLOGY_CHANGED, NULL, NULL);
  if (ok)
    ok = check_steps (exec, &pairing);

  g_free (pairing.to_new);
  g_free (pairing.queue);
  if (ok)
    return pairing.to_old;
  g_free (pairing.to_old);
  return NULL;
}

/* The client goes on naming the steps by the nodes of the graph that was instantiated. */
static void
take_names (HostProgram *old, HostProgram *program, const unsigned *map)
{
  for (unsigned i = 0; i < program->steps->len; i++)
    {
      HOST_STEP (program, i)->uid = HOST_STEP (old, map[i])->uid;
      HOST_STEP (program, i)->enabled = HOST_STEP (old, map[i])->enabled;
    }
}

/* How many steps depend on each, one number per step. */
static unsigned *
count_dependents (HostProgram *program)
{
  unsigned *counts = g_new0 (unsigned, MAX (program->steps->len, 1));
  for (unsigned i = 0; i < program->edges->len; i++)
    counts[HOST_STEP_EDGE (program, i)->step]++;
  return counts;
}

/* The first form of the call looks at the shape in another way: it knows no result for a number of nodes that differs,
 * and names the first node that has more or fewer dependents than before. */
static void
translate_to_v1 (HostProgram *old, HostProgram *program, McuUpdateResultInfo *info)
{
  if (info->result != MCU_UPDATE_TOPOLOGY_CHANGED)
    return;
  if (info->error_node == NULL)
    {
      info->result = MCU_UPDATE_NOT_SUPPORTED;
      return;
    }
  unsigned *before = count_dependents (old);
  unsigned *now = count_dependents (program);
  for (unsigned i = 0; i < MIN (old->steps->len, program->steps->len); i++)
    if (before[i] != now[i])
      {
        info->error_node = HOST_STEP (program, i)->node;
        break;
      }
  g_free (before);
  g_free (now);
}

static McuResult
exec_update (HostEntry entry, CUgraphExec handle, CUgraph graph_handle, McuUpdateResultInfo *info)
{
  HostProgram *program;
  HostNode *offender;
  HostContext *context;

  refuse (info, MCU_UPDATE_SUCCESS, NULL, NULL);
  HostExec *exec = host_exec_get (handle);
  HostGraph *graph = host_graph_get (graph_handle);
  if (exec == NULL || graph == NULL)
    return MCU_ERROR_INVALID_VALUE;
  info->result = MCU_UPDATE_ERROR;
  McuResult result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = host_capture_check (entry, context);
  if (result != MCU_SUCCESS)
    return result;
  result = host_program_new (&program, graph, &offender);
  if (result != MCU_SUCCESS)
    return result;
  unsigned *map = host_update_pair (exec, exec->program, program, info);
  if (map == NULL)
    {
      if (entry == HOST_ENTRY_cuGraphExecUpdate)
        translate_to_v1 (exec->program, program, info);
      host_program_unref (program);
      return MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
  take_names (exec->program, program, map);
  g_free (map);
  host_program_unref (exec->program);
  exec->program = program;
  g_clear_pointer (&exec->index, g_hash_table_unref);
  return MCU_SUCCESS;
}

static McuResult
exec_update_v1 (CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, int *update_result)
{
  McuUpdateResultInfo info;
  if (error_node == NULL || update_result == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = exec_update (HOST_ENTRY_cuGraphExecUpdate, exec, graph, &info);
  *error_node = info.error_node;
  *update_result = info.result;
  return result;
}

HOST_API McuResult
cuGraphExecUpdate (CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, int *update_result)
{
  HOST_CALL (cuGraphExecUpdate, exec_update_v1 (exec, graph, error_node, update_result));
}

static McuResult
exec_update_v2 (CUgraphExec exec, CUgraph graph, McuUpdateResultInfo *info)
{
  McuUpdateResultInfo unused;
  return exec_update (HOST_ENTRY_cuGraphExecUpdate_v2, exec, graph, info != NULL ? info : &unused);
}

HOST_API McuResult
cuGraphExecUpdate_v2 (CUgraphExec exec, CUgraph graph, McuUpdateResultInfo *info)
{
  HOST_CALL (cuGraphExecUpdate_v2, exec_update_v2 (exec, graph, info));
}
