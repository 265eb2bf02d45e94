/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory-table.c: allocations and where they lie: from a device address, which is a host address, to what owns it.
 */
#include "core-private.h"

#include <string.h>

static GPtrArray
    *table; /* HostAllocation, borrowed: live ones and those reserved for graphs, by address; none overlap */

static bool
is_host (HostMemoryType type)
{
  return type == HOST_MEMORY_HOST || type == HOST_MEMORY_REGISTERED;
}

/* Position of the first allocation that begins after the address. */
static guint
upper_bound (uint64_t address)
{
  guint low = 0;
  guint high = table != NULL ? table->len : 0;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      HostAllocation *allocation = g_ptr_array_index (table, middle);

      if ((uintptr_t) allocation->base <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

HostAllocation *
host_memory_find_any (uint64_t address)
{
  guint next = upper_bound (address);
  HostAllocation *allocation;

  if (next == 0)
    return NULL;
  allocation = g_ptr_array_index (table, next - 1);
  return address - (uintptr_t) allocation->base < allocation->size ? allocation : NULL;
}

HostAllocation *
host_memory_find (uint64_t address)
{
  HostAllocation *allocation = host_memory_find_any (address);

  return allocation != NULL && allocation->object.live ? allocation : NULL;
}

HostAllocation *
host_memory_find_base (uint64_t address)
{
  HostAllocation *allocation = host_memory_find (address);

  if (allocation == NULL || (uintptr_t) allocation->base != address || is_host (allocation->type)
      || allocation->type == HOST_MEMORY_RANGE)
    return NULL;
  return allocation;
}

bool
host_memory_covers (uint64_t address, size_t size)
{
  HostAllocation *allocation = host_memory_find_any (address);

  if (allocation == NULL || size > allocation->size - (address - (uintptr_t) allocation->base))
    return false;
  return allocation->type != HOST_MEMORY_RANGE || host_vmm_covers (address, size);
}

bool
host_memory_is_pinned (const void *address)
{
  HostAllocation *allocation = host_memory_find ((uintptr_t) address);

  return allocation != NULL && is_host (allocation->type);
}

void
host_memory_insert (HostAllocation *allocation)
{
  if (table == NULL)
    table = g_ptr_array_new ();
  g_ptr_array_insert (table, (gint) upper_bound ((uintptr_t) allocation->base), allocation);
}

void
host_memory_remove (HostAllocation *allocation)
{
  guint next = upper_bound ((uintptr_t) allocation->base);

  if (next > 0 && g_ptr_array_index (table, next - 1) == allocation)
    g_ptr_array_remove_index (table, next - 1);
}

static void
allocation_finalize (HostObject *object)
{
  HostAllocation *allocation = (HostAllocation *) object;

  host_object_unref (allocation->pool);
  host_object_unref (allocation->context);
  g_free (allocation);
}

/* Accounts for bytes that come into use, or go out of it. */
static void
count (HostAllocation *allocation, bool appears)
{
  HostPool *pool = allocation->pool;
  size_t size = allocation->block_size;

  if (is_host (allocation->type) || allocation->type == HOST_MEMORY_RANGE)
    return;
  if (!appears)
    size = -size;
  allocation->context->device->used += size;
  if (pool != NULL)
    {
      pool->used += size;
      pool->used_high = MAX (pool->used_high, pool->used);
    }
}

/* An allocation with memory and no identity. */
static McuResult
allocation_new (HostContext *context, HostMemoryType type, size_t size, HostPool *pool, HostStream *stream,
                HostAllocation **out)
{
  HostDevice *device = context->device;
  size_t block_size = (size + HOST_ALIGNMENT - 1) & ~(HOST_ALIGNMENT - 1);
  HostAllocation *allocation;
  char *base;

  if (block_size < size || (!is_host (type) && block_size > host_device_available (device)))
    return MCU_ERROR_OUT_OF_MEMORY;
  base = host_block_take (device, is_host (type), block_size, stream);
  if (base == NULL)
    return MCU_ERROR_OUT_OF_MEMORY;
  allocation = g_new0 (HostAllocation, 1);
  host_object_init_dead (&allocation->object, is_host (type) ? HOST_KIND_HOST_ALLOCATION : HOST_KIND_ALLOCATION,
                         allocation_finalize);
  allocation->context = host_object_ref (context);
  allocation->type = type;
  allocation->base = base;
  allocation->size = size;
  allocation->block_size = block_size;
  allocation->pool = pool != NULL ? host_object_ref (pool) : NULL;
  host_memory_insert (allocation);
  *out = allocation;
  return MCU_SUCCESS;
}

void
host_memory_appear (HostAllocation *allocation)
{
  host_object_revive (&allocation->object);
  allocation->id = host_next_id ();
  count (allocation, true);
}

McuResult
host_memory_new (HostContext *context, HostMemoryType type, size_t size, HostPool *pool, HostStream *stream,
                 HostAllocation **out)
{
  McuResult result = allocation_new (context, type, size, pool, stream, out);

  if (result == MCU_SUCCESS)
    host_memory_appear (*out);
  return result;
}

McuResult
host_memory_reserve (HostContext *context, size_t size, HostAllocation **out)
{
  return allocation_new (context, HOST_MEMORY_GRAPH, size, NULL, NULL, out);
}

McuResult
host_memory_register (HostContext *context, void *address, size_t size, unsigned flags)
{
  HostAllocation *before = host_memory_find_any ((uintptr_t) address);
  guint next = upper_bound ((uintptr_t) address);
  HostAllocation *allocation;

  if (before != NULL)
    return MCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (table != NULL && next < table->len)
    {
      HostAllocation *after = g_ptr_array_index (table, next);

      if (after->base < (char *) address + size)
        return MCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
  allocation = g_new0 (HostAllocation, 1);
  host_object_init (&allocation->object, HOST_KIND_HOST_ALLOCATION, allocation_finalize);
  allocation->context = host_object_ref (context);
  allocation->type = HOST_MEMORY_REGISTERED;
  allocation->base = address;
  allocation->size = size;
  allocation->id = host_next_id ();
  allocation->flags = flags;
  host_memory_insert (allocation);
  return MCU_SUCCESS;
}

static void
forget (HostAllocation *allocation, HostStream *stream, HostFence *fence)
{
  HostDevice *device = allocation->context->device;

  host_memory_remove (allocation);
  if (allocation->block_size > 0)
    host_block_give (device, is_host (allocation->type), allocation->base, allocation->block_size, stream, fence);
  host_object_destroy (allocation);
}

void
host_memory_vanish (HostAllocation *allocation)
{
  if (!allocation->object.live)
    return;
  if (host_settings.poison)
    memset (allocation->base, HOST_POISON, allocation->block_size);
  host_memory_vanish_behind (allocation, NULL, NULL);
}

void
host_memory_vanish_behind (HostAllocation *allocation, HostStream *stream, HostFence *fence)
{
  if (!allocation->object.live)
    return;
  count (allocation, false);
  host_object_retire (&allocation->object);
  if (allocation->orphan)
    forget (allocation, stream, fence);
}

void
host_memory_unreserve (HostAllocation *allocation)
{
  if (allocation->object.live)
    allocation->orphan = true;
  else
    forget (allocation, NULL, NULL);
}

void
host_memory_delete (HostAllocation *allocation, HostStream *stream, HostFence *fence)
{
  if (allocation->type == HOST_MEMORY_GRAPH)
    {
      if (fence != NULL)
        host_memory_vanish_behind (allocation, stream, fence);
      else
        host_memory_vanish (allocation);
      return;
    }
  count (allocation, false);
  forget (allocation, stream, fence);
}

static void
forget_one (void *object, void *data)
{
  HostAllocation *allocation = object;

  if (allocation->context == data && allocation->type != HOST_MEMORY_RANGE)
    host_memory_delete (allocation, NULL, NULL);
}

void
host_memory_forget_context (HostContext *context)
{
  host_object_foreach (HOST_KIND_ALLOCATION, forget_one, context);
  host_object_foreach (HOST_KIND_HOST_ALLOCATION, forget_one, context);
}

void
host_memory_shutdown (void)
{
  for (int i = 0; i < HOST_MAX_DEVICES; i++)
    {
      if (host_devices[i].default_pool != NULL)
        host_object_destroy (host_devices[i].default_pool);
      host_devices[i].default_pool = NULL;
      host_devices[i].current_pool = NULL;
    }
  if (table != NULL && table->len == 0)
    g_clear_pointer (&table, g_ptr_array_unref);
  host_block_shutdown ();
}
