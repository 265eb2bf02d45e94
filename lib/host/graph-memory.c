/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * graph-memory.c: memory that allocation nodes own and free nodes give back.
 *
 * The address exists from the node's creation to the end of the last node or exec that knows it. The memory has a life
 * from a launch to its freeing. What the same graph frees lives while the graph runs; anything else lives from call to
 * call, as for cuMemAllocAsync: from cuGraphLaunch on, so that the client can pass the address to cuMemFreeAsync right
 * behind it, until that call, or the launch of a graph that frees it.
 */
#include "graph-private.h"

#include <string.h>

/* Base address to HostMemory, borrowed; NULL while there is none. */
static GHashTable *memories;

static size_t used_high[HOST_MAX_DEVICES]; /* bytes of graph memory alive at once */

static size_t
memory_used (int ordinal)
{
  GHashTableIter iter;
  gpointer value;
  size_t used = 0;

  if (memories == NULL)
    return 0;
  g_hash_table_iter_init (&iter, memories);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const HostAllocation *allocation = ((HostMemory *) value)->allocation;
      if (((HostMemory *) value)->backed && allocation->context->device->ordinal == ordinal)
        used += allocation->size;
    }
  return used;
}

static void
memory_appear (HostMemory *memory)
{
  int ordinal = memory->allocation->context->device->ordinal;
  host_memory_appear (memory->allocation);
  memory->backed = true;
  used_high[ordinal] = MAX (used_high[ordinal], memory_used (ordinal));
}

void
host_graph_memory_unref (HostMemory *memory)
{
  if (memory == NULL || --memory->refs > 0)
    return;
  g_hash_table_remove (memories, &memory->params.dptr);
  if (g_hash_table_size (memories) == 0)
    g_clear_pointer (&memories, g_hash_table_unref);
  host_memory_unreserve (memory->allocation);
  g_free (memory->descs);
  g_free (memory);
}

static McuResult
params_check (const McuMemAllocNodeParams *params)
{
  if (params->byte_size == 0 || params->pool_props.alloc_type != 1 || params->pool_props.location.type != 1)
    return MCU_ERROR_INVALID_VALUE;
  if (params->pool_props.location.id < 0 || params->pool_props.location.id >= host_settings.n_devices)
    return MCU_ERROR_INVALID_VALUE;
  if (params->access_desc_count > 0 && params->access_descs == NULL)
    return MCU_ERROR_INVALID_VALUE;
  return MCU_SUCCESS;
}

McuResult
host_memory_node_add (HostGraph *graph, const HostEdge *edges, size_t n, HostContext *context, HostPool *pool,
                      McuMemAllocNodeParams *params, HostNode **node)
{
  HostAllocation *allocation;

  (void) pool; /* every pool of the host driver has the same properties */
  McuResult result = params_check (params);
  if (result == MCU_SUCCESS)
    result = host_memory_reserve (context, params->byte_size, &allocation);
  if (result != MCU_SUCCESS)
    return result;

  HostMemory *memory = g_new0 (HostMemory, 1);
  memory->refs = 1;
  memory->allocation = allocation;
  memory->graph = graph->uid;
  params->dptr = (CUdeviceptr) (uintptr_t) allocation->base;
  memory->params = *params;
  if (params->access_desc_count > 0)
    memory->descs = g_memdup2 (params->access_descs, params->access_desc_count * sizeof *params->access_descs);
  memory->params.access_descs = memory->descs;
  if (memories == NULL)
    memories = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_hash_table_replace (memories, &memory->params.dptr, memory);

  HostWork *work = host_work_new (MCU_NODE_MEM_ALLOC, context);
  work->u.memory = memory;
  *node = host_node_new (graph, work, edges, n);
  return MCU_SUCCESS;
}

McuResult
host_memory_node_free (HostGraph *graph, const HostEdge *edges, size_t n, HostContext *context, CUdeviceptr address,
                       HostNode **node)
{
  HostMemory *memory = memories != NULL ? g_hash_table_lookup (memories, &address) : NULL;
  if (memory == NULL || memory->freed_inside)
    return MCU_ERROR_INVALID_VALUE;
  bool inside = memory->graph == graph->uid;
  if (inside && memory->freed_outside)
    return MCU_ERROR_INVALID_VALUE;
  if (!inside)
    for (HostNode *other = graph->n_memory_nodes > 0 ? graph->first : NULL; other != NULL; other = other->next)
      if (other->work->type == MCU_NODE_MEM_FREE && other->work->u.free.memory == memory)
        return MCU_ERROR_INVALID_VALUE;

  HostWork *work = host_work_new (MCU_NODE_MEM_FREE, context);
  work->u.free.address = address;
  work->u.free.memory = memory;
  memory->refs++;
  if (inside)
    memory->freed_inside = true;
  else
    memory->freed_outside = true;
  *node = host_node_new (graph, work, edges, n);
  return MCU_SUCCESS;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Launches
 */

McuResult
host_memory_prepare (HostProgram *program, HostRun *run, bool auto_free)
{
  const HostStep *steps = (const HostStep *) program->steps->data;
  bool any = false;

  /* Which memory the graph frees itself. */
  uint64_t stamp = host_graph_mark ();
  for (unsigned i = 0; i < program->steps->len; i++)
    if (steps[i].special >= 0 && steps[i].work->type == MCU_NODE_MEM_FREE)
      {
        steps[i].work->u.free.memory->freed_by = stamp;
        any = true;
      }
    else if (steps[i].special >= 0 && steps[i].work->type == MCU_NODE_MEM_ALLOC)
      {
        steps[i].work->u.memory->allocated_by = stamp;
        any = true;
      }
  if (!any)
    return MCU_SUCCESS;

  for (unsigned i = 0; i < program->steps->len; i++)
    {
      if (steps[i].special < 0)
        continue;
      const HostWork *work = steps[i].work;
      if (work->type == MCU_NODE_MEM_ALLOC && work->u.memory->freed_by != stamp
          && work->u.memory->allocation->object.live && !auto_free)
        return MCU_ERROR_INVALID_VALUE;
      if (work->type == MCU_NODE_MEM_FREE && work->u.free.memory->allocated_by != stamp
          && !work->u.free.memory->allocation->object.live)
        return MCU_ERROR_INVALID_VALUE;
    }

  for (unsigned i = 0; i < program->steps->len; i++)
    {
      if (steps[i].special < 0)
        continue;
      const HostWork *work = steps[i].work;
      HostSpecial *special = &run->specials[steps[i].special];
      if (work->type == MCU_NODE_MEM_ALLOC)
        {
          special->inside = work->u.memory->freed_by == stamp;
          if (!special->inside && !work->u.memory->allocation->object.live)
            memory_appear (work->u.memory);
        }
      else if (work->type == MCU_NODE_MEM_FREE)
        {
          special->inside = work->u.free.memory->allocated_by == stamp;
          if (!special->inside)
            host_memory_vanish_behind (work->u.free.memory->allocation, NULL, NULL);
        }
    }
  return MCU_SUCCESS;
}

void
host_memory_run_alloc (HostMemory *memory, const HostSpecial *special)
{
  if (special->inside)
    memory_appear (memory);
}

void
host_memory_run_free (HostMemory *memory, const HostSpecial *special)
{
  if (special->inside)
    host_memory_vanish (memory->allocation);
  else if (host_settings.poison && !memory->allocation->object.live)
    memset (memory->allocation->base, HOST_POISON, memory->allocation->size);
}

/* ---------------------------------------------------------------------------------------------------------------
 * Attributes of devices
 */

enum /* CUgraphMem_attribute */
{
  ATTRIBUTE_USED_CURRENT,
  ATTRIBUTE_USED_HIGH,
  ATTRIBUTE_RESERVED_CURRENT,
  ATTRIBUTE_RESERVED_HIGH
};

static McuResult
get_attribute (CUdevice device, int attribute, void *value)
{
  if (device < 0 || device >= host_settings.n_devices)
    return MCU_ERROR_INVALID_DEVICE;
  if (value == NULL)
    return MCU_ERROR_INVALID_VALUE;
  switch (attribute)
    {
    case ATTRIBUTE_USED_CURRENT:
    case ATTRIBUTE_RESERVED_CURRENT: /* nothing is kept beyond what is used */
      *(uint64_t *) value = memory_used (device);
      return MCU_SUCCESS;
    case ATTRIBUTE_USED_HIGH:
    case ATTRIBUTE_RESERVED_HIGH:
      *(uint64_t *) value = used_high[device];
      return MCU_SUCCESS;
    default:
      return MCU_ERROR_INVALID_VALUE;
    }
}

HOST_API McuResult
cuDeviceGetGraphMemAttribute (CUdevice device, int attribute, void *value)
{
  HOST_CALL (cuDeviceGetGraphMemAttribute, get_attribute (device, attribute, value));
}

static McuResult
set_attribute (CUdevice device, int attribute, const void *value)
{
  if (device < 0 || device >= host_settings.n_devices)
    return MCU_ERROR_INVALID_DEVICE;
  if (value == NULL || (attribute != ATTRIBUTE_USED_HIGH && attribute != ATTRIBUTE_RESERVED_HIGH)
      || *(const uint64_t *) value != 0)
    return MCU_ERROR_INVALID_VALUE;
  used_high[device] = memory_used (device);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuDeviceSetGraphMemAttribute (CUdevice device, int attribute, void *value)
{
  HOST_CALL (cuDeviceSetGraphMemAttribute, set_attribute (device, attribute, value));
}

static McuResult
trim (CUdevice device)
{
  GHashTableIter iter;
  gpointer value;

  if (device < 0 || device >= host_settings.n_devices)
    return MCU_ERROR_INVALID_DEVICE;
  if (memories == NULL)
    return MCU_SUCCESS;
  g_hash_table_iter_init (&iter, memories);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      HostMemory *memory = value;
      if (memory->allocation->context->device->ordinal == device && !memory->allocation->object.live)
        memory->backed = false;
    }
  return MCU_SUCCESS;
}

HOST_API McuResult
cuDeviceGraphMemTrim (CUdevice device)
{
  HOST_CALL (cuDeviceGraphMemTrim, trim (device));
}
