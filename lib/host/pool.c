/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pool.c: stream-ordered memory and the pools it comes from.
 */
#include "core-private.h"

#include <string.h>

/* CUmemPool_attribute */
enum
{
  POOL_REUSE_FOLLOW_EVENTS = 1,
  POOL_REUSE_OPPORTUNISTIC = 2,
  POOL_REUSE_INTERNAL = 3,
  POOL_RELEASE_THRESHOLD = 4,
  POOL_RESERVED_CURRENT = 5,
  POOL_RESERVED_HIGH = 6,
  POOL_USED_CURRENT = 7,
  POOL_USED_HIGH = 8
};

static void
pool_finalize (HostObject *object)
{
  g_free (object);
}

static HostPool *
pool_new (HostDevice *device, bool builtin)
{
  HostPool *pool = g_new0 (HostPool, 1);

  host_object_init (&pool->object, HOST_KIND_POOL, pool_finalize);
  pool->device = device;
  pool->builtin = builtin;
  for (int i = POOL_REUSE_FOLLOW_EVENTS; i <= POOL_REUSE_INTERNAL; i++)
    pool->reuse[i] = 1;
  return pool;
}

HostPool *
host_pool_default (HostDevice *device)
{
  if (device->default_pool == NULL)
    device->default_pool = pool_new (device, true);
  return device->default_pool;
}

HostPool *
host_pool_current (HostDevice *device)
{
  return device->current_pool != NULL ? device->current_pool : host_pool_default (device);
}

static McuResult
pool_get (CUmemoryPool handle)
{
  return host_object_is_live (handle, HOST_KIND_POOL) ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

HOST_API McuResult
cuDeviceGetDefaultMemPool (CUmemoryPool *pool, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetDefaultMemPool);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = pool != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *pool = host_pool_default (device);
  return host_leave (HOST_ENTRY_cuDeviceGetDefaultMemPool, result);
}

HOST_API McuResult
cuDeviceGetMemPool (CUmemoryPool *pool, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetMemPool);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = pool != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *pool = host_pool_current (device);
  return host_leave (HOST_ENTRY_cuDeviceGetMemPool, result);
}

HOST_API McuResult
cuDeviceSetMemPool (CUdevice ordinal, CUmemoryPool pool)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceSetMemPool);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = host_device_get (ordinal, &device);
  if (result == MCU_SUCCESS)
    result = pool_get (pool);
  if (result == MCU_SUCCESS)
    {
      if (pool->device != device)
        result = MCU_ERROR_INVALID_VALUE;
      else
        device->current_pool = pool;
    }
  return host_leave (HOST_ENTRY_cuDeviceSetMemPool, result);
}

HOST_API McuResult
cuMemPoolCreate (CUmemoryPool *pool, const McuMemPoolProps *props)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPoolCreate);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    {
      if (pool == NULL || props == NULL || props->alloc_type != 1)
        result = MCU_ERROR_INVALID_VALUE;
      else if (props->handle_types != 0 || props->location.type != 1)
        result = host_unsupported ("pools that are shared or not on a device");
      else
        result = host_device_get (props->location.id, &device);
    }
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemPoolCreate, NULL);
  if (result == MCU_SUCCESS)
    *pool = pool_new (device, false);
  return host_leave (HOST_ENTRY_cuMemPoolCreate, result);
}

/* Allocations outlive their pool. */
HOST_API McuResult
cuMemPoolDestroy (CUmemoryPool pool)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPoolDestroy);

  if (result == MCU_SUCCESS)
    result = pool_get (pool);
  if (result == MCU_SUCCESS && pool->builtin)
    result = MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemPoolDestroy, NULL);
  if (result == MCU_SUCCESS)
    {
      if (pool->device->current_pool == pool)
        pool->device->current_pool = NULL;
      host_object_destroy (pool);
    }
  return host_leave (HOST_ENTRY_cuMemPoolDestroy, result);
}

/* Nothing is held back for a pool, so there is nothing to give back. */
HOST_API McuResult
cuMemPoolTrimTo (CUmemoryPool pool, size_t keep)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPoolTrimTo);

  (void) keep;
  if (result == MCU_SUCCESS)
    result = pool_get (pool);
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemPoolTrimTo, NULL);
  return host_leave (HOST_ENTRY_cuMemPoolTrimTo, result);
}

static McuResult
pool_get_attribute (HostPool *pool, int attribute, void *value)
{
  switch (attribute)
    {
    case POOL_REUSE_FOLLOW_EVENTS:
    case POOL_REUSE_OPPORTUNISTIC:
    case POOL_REUSE_INTERNAL:
      *(int *) value = pool->reuse[attribute];
      return MCU_SUCCESS;
    case POOL_RELEASE_THRESHOLD:
      *(uint64_t *) value = pool->release_threshold;
      return MCU_SUCCESS;
    case POOL_RESERVED_CURRENT:
    case POOL_USED_CURRENT:
      *(uint64_t *) value = pool->used;
      return MCU_SUCCESS;
    case POOL_RESERVED_HIGH:
    case POOL_USED_HIGH:
      *(uint64_t *) value = pool->used_high;
      return MCU_SUCCESS;
    default:
      return MCU_ERROR_INVALID_VALUE;
    }
}

static McuResult
pool_set_attribute (HostPool *pool, int attribute, const void *value)
{
  switch (attribute)
    {
    case POOL_REUSE_FOLLOW_EVENTS:
    case POOL_REUSE_OPPORTUNISTIC:
    case POOL_REUSE_INTERNAL:
      pool->reuse[attribute] = *(const int *) value != 0;
      return MCU_SUCCESS;
    case POOL_RELEASE_THRESHOLD:
      pool->release_threshold = *(const uint64_t *) value;
      return MCU_SUCCESS;
    case POOL_RESERVED_HIGH:
    case POOL_USED_HIGH:
      if (*(const uint64_t *) value != 0)
        return MCU_ERROR_INVALID_VALUE;
      pool->used_high = pool->used;
      return MCU_SUCCESS;
    default:
      return MCU_ERROR_INVALID_VALUE;
    }
}

HOST_API McuResult
cuMemPoolGetAttribute (CUmemoryPool pool, int attribute, void *value)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPoolGetAttribute);

  if (result == MCU_SUCCESS)
    result = value != NULL ? pool_get (pool) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemPoolGetAttribute, NULL);
  if (result == MCU_SUCCESS)
    result = pool_get_attribute (pool, attribute, value);
  return host_leave (HOST_ENTRY_cuMemPoolGetAttribute, result);
}

HOST_API McuResult
cuMemPoolSetAttribute (CUmemoryPool pool, int attribute, void *value)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPoolSetAttribute);

  if (result == MCU_SUCCESS)
    result = value != NULL ? pool_get (pool) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemPoolSetAttribute, NULL);
  if (result == MCU_SUCCESS)
    result = pool_set_attribute (pool, attribute, value);
  return host_leave (HOST_ENTRY_cuMemPoolSetAttribute, result);
}

/* The address is known at once, as on a GPU; `pool` NULL means the device's current one. Nothing is allocated for no
 * bytes. */
static McuResult
allocate_async (HostEntry entry, CUdeviceptr *address, size_t size, HostPool *pool, CUstream handle)
{
  HostStream *stream;
  HostAllocation *allocation;
  McuResult result;

  if (address == NULL)
    return MCU_ERROR_INVALID_VALUE;
  result = host_stream_get_for_work (handle, &stream);
  if (result == MCU_SUCCESS && stream->capture == NULL)
    result = host_capture_check (entry, stream->context);
  if (result != MCU_SUCCESS)
    return result;
  *address = 0;
  if (size == 0)
    return MCU_SUCCESS;
  if (pool == NULL)
    pool = host_pool_current (stream->context->device);
  if (stream->capture != NULL)
    return host_capture_mem_alloc (stream, pool, size, address);
  result = host_memory_new (stream->context, HOST_MEMORY_POOL, size, pool, stream, &allocation);
  if (result == MCU_SUCCESS)
    *address = (uintptr_t) allocation->base;
  return result;
}

HOST_API McuResult
cuMemAllocAsync (CUdeviceptr *address, size_t size, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAllocAsync);

  if (result == MCU_SUCCESS)
    result = allocate_async (HOST_ENTRY_cuMemAllocAsync, address, size, NULL, stream);
  return host_leave (HOST_ENTRY_cuMemAllocAsync, result);
}

HOST_API McuResult
cuMemAllocFromPoolAsync (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAllocFromPoolAsync);

  if (result == MCU_SUCCESS)
    result = pool_get (pool);
  if (result == MCU_SUCCESS)
    result = allocate_async (HOST_ENTRY_cuMemAllocFromPoolAsync, address, size, pool, stream);
  return host_leave (HOST_ENTRY_cuMemAllocFromPoolAsync, result);
}

typedef struct
{
  char *base;
  size_t size;
} Poisoning;

static McuResult
poison_run (void *data)
{
  Poisoning *poisoning = data;

  memset (poisoning->base, HOST_POISON, poisoning->size);
  return MCU_SUCCESS;
}

/* The identity ends at the call, the memory when the stream gets there. */
static McuResult
free_async (CUdeviceptr address, CUstream handle)
{
  HostStream *stream;
  HostAllocation *allocation;
  Poisoning *poisoning = NULL;
  HostFence *fence;
  McuResult result = host_stream_get_for_work (handle, &stream);

  if (result == MCU_SUCCESS && stream->capture == NULL)
    result = host_capture_check (HOST_ENTRY_cuMemFreeAsync, stream->context);
  if (result != MCU_SUCCESS || address == 0)
    return result;
  if (stream->capture != NULL)
    return host_capture_mem_free (stream, address);
  allocation = host_memory_find_base (address);
  if (allocation == NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (host_settings.poison)
    {
      poisoning = g_new (Poisoning, 1);
      poisoning->base = allocation->base;
      poisoning->size = allocation->block_size;
    }
  fence = host_stream_enqueue (stream, host_op_new (poisoning != NULL ? poison_run : NULL, poisoning, g_free));
  host_memory_delete (allocation, stream, fence);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemFreeAsync (CUdeviceptr address, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemFreeAsync);

  if (result == MCU_SUCCESS)
    result = free_async (address, stream);
  return host_leave (HOST_ENTRY_cuMemFreeAsync, result);
}
