/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory.c: allocating and freeing, on the device and in pinned host memory.
 */
#include "core-private.h"

/* cuMemHostAlloc: PORTABLE, DEVICEMAP, WRITECOMBINED; cuMemHostRegister: PORTABLE, DEVICEMAP, IOMEMORY, READ_ONLY. */
#define HOST_ALLOC_FLAGS    0x7u
#define HOST_REGISTER_FLAGS 0xfu

/* The current context, for a call that may be refused while something captures. */
static McuResult
enter_memory (HostEntry entry, HostContext **context)
{
  McuResult result = host_context_current (context);

  return result == MCU_SUCCESS ? host_capture_check (entry, *context) : result;
}

static McuResult
allocate (HostEntry entry, HostMemoryType type, CUdeviceptr *address, size_t size)
{
  HostContext *context;
  HostAllocation *allocation;
  McuResult result;

  if (address == NULL || size == 0)
    {
      host_log ("Nothing was asked for, or there is no place for its address");
      return MCU_ERROR_INVALID_VALUE;
    }
  result = enter_memory (entry, &context);
  if (result == MCU_SUCCESS)
    result = host_memory_new (context, type, size, NULL, NULL, &allocation);
  if (result == MCU_SUCCESS)
    *address = (uintptr_t) allocation->base;
  return result;
}

HOST_API McuResult
cuMemAlloc_v2 (CUdeviceptr *address, size_t size)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAlloc_v2);

  if (result == MCU_SUCCESS)
    result = allocate (HOST_ENTRY_cuMemAlloc_v2, HOST_MEMORY_DEVICE, address, size);
  return host_leave (HOST_ENTRY_cuMemAlloc_v2, result);
}

HOST_API McuResult
cuMemAllocPitch_v2 (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element_size)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAllocPitch_v2);
  size_t row = (width + HOST_ALIGNMENT - 1) & ~(HOST_ALIGNMENT - 1);
  size_t size;

  if (result == MCU_SUCCESS)
    {
      if (pitch == NULL || row < width || (element_size != 4 && element_size != 8 && element_size != 16))
        result = MCU_ERROR_INVALID_VALUE;
      else if (!g_size_checked_mul (&size, row, height))
        result = MCU_ERROR_OUT_OF_MEMORY;
      else
        result = allocate (HOST_ENTRY_cuMemAllocPitch_v2, HOST_MEMORY_DEVICE, address, size);
    }
  if (result == MCU_SUCCESS)
    *pitch = row;
  return host_leave (HOST_ENTRY_cuMemAllocPitch_v2, result);
}

HOST_API McuResult
cuMemAllocManaged (CUdeviceptr *address, size_t size, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAllocManaged);

  if (result == MCU_SUCCESS)
    {
      if (flags != 1 && flags != 2) /* attached to all, or to the host */
        result = MCU_ERROR_INVALID_VALUE;
      else
        result = allocate (HOST_ENTRY_cuMemAllocManaged, HOST_MEMORY_MANAGED, address, size);
    }
  return host_leave (HOST_ENTRY_cuMemAllocManaged, result);
}

/* Waits for the work of the context that owns the memory, which may still use it. Afterwards look the address up again:
 * the lock was dropped. */
static void
drain_owner (HostAllocation *allocation)
{
  HostContext *owner = host_object_ref (allocation->context);

  host_context_drain (owner);
  host_object_unref (owner);
}

static McuResult
free_device (HostEntry entry, CUdeviceptr address)
{
  HostContext *context;
  HostAllocation *allocation;
  McuResult result = enter_memory (entry, &context);

  if (result != MCU_SUCCESS || address == 0)
    return result;
  allocation = host_memory_find_base (address);
  if (allocation == NULL)
    return MCU_ERROR_INVALID_VALUE;
  drain_owner (allocation);
  allocation = host_memory_find_base (address);
  if (allocation == NULL)
    return MCU_ERROR_INVALID_VALUE;
  host_memory_delete (allocation, NULL, NULL);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemFree_v2 (CUdeviceptr address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemFree_v2);

  if (result == MCU_SUCCESS)
    result = free_device (HOST_ENTRY_cuMemFree_v2, address);
  return host_leave (HOST_ENTRY_cuMemFree_v2, result);
}

static McuResult
allocate_host (HostEntry entry, void **address, size_t size, unsigned flags)
{
  HostContext *context;
  HostAllocation *allocation;
  McuResult result;

  if (address == NULL || (flags & ~HOST_ALLOC_FLAGS) != 0)
    return MCU_ERROR_INVALID_VALUE;
  result = enter_memory (entry, &context);
  if (result == MCU_SUCCESS && size == 0)
    {
      *address = NULL;
      return MCU_SUCCESS;
    }
  if (result == MCU_SUCCESS)
    result = host_memory_new (context, HOST_MEMORY_HOST, size, NULL, NULL, &allocation);
  if (result == MCU_SUCCESS)
    {
      allocation->flags = flags;
      *address = allocation->base;
    }
  return result;
}

HOST_API McuResult
cuMemHostAlloc (void **address, size_t size, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemHostAlloc);

  if (result == MCU_SUCCESS)
    result = allocate_host (HOST_ENTRY_cuMemHostAlloc, address, size, flags);
  return host_leave (HOST_ENTRY_cuMemHostAlloc, result);
}

HOST_API McuResult
cuMemAllocHost_v2 (void **address, size_t size)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAllocHost_v2);

  if (result == MCU_SUCCESS)
    result = allocate_host (HOST_ENTRY_cuMemAllocHost_v2, address, size, 0);
  return host_leave (HOST_ENTRY_cuMemAllocHost_v2, result);
}

/* The live host allocation of the type that begins at the address, or NULL. */
static HostAllocation *
find_host (void *address, HostMemoryType type)
{
  HostAllocation *allocation = host_memory_find ((uintptr_t) address);

  return allocation != NULL && allocation->base == address && allocation->type == type ? allocation : NULL;
}

/* Frees, or unregisters, once the work that may use it is done. */
static McuResult
free_host (HostEntry entry, void *address, HostMemoryType type, McuResult not_found)
{
  HostContext *context;
  HostAllocation *allocation;
  McuResult result = enter_memory (entry, &context);

  if (result != MCU_SUCCESS)
    return result;
  if (address == NULL)
    return type == HOST_MEMORY_HOST ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
  allocation = find_host (address, type);
  if (allocation == NULL)
    return not_found;
  drain_owner (allocation);
  allocation = find_host (address, type);
  if (allocation == NULL)
    return not_found;
  host_memory_delete (allocation, NULL, NULL);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemFreeHost (void *address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemFreeHost);

  if (result == MCU_SUCCESS)
    result = free_host (HOST_ENTRY_cuMemFreeHost, address, HOST_MEMORY_HOST, MCU_ERROR_INVALID_VALUE);
  return host_leave (HOST_ENTRY_cuMemFreeHost, result);
}

static McuResult
register_host (HostEntry entry, void *address, size_t size, unsigned flags)
{
  HostContext *context;
  McuResult result;

  if (address == NULL || size == 0 || (uintptr_t) address + size < size || (flags & ~HOST_REGISTER_FLAGS) != 0)
    return MCU_ERROR_INVALID_VALUE;
  result = enter_memory (entry, &context);
  if (result != MCU_SUCCESS)
    return result;
  return host_memory_register (context, address, size, flags);
}

HOST_API McuResult
cuMemHostRegister (void *address, size_t size, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemHostRegister);

  if (result == MCU_SUCCESS)
    result = register_host (HOST_ENTRY_cuMemHostRegister, address, size, flags);
  return host_leave (HOST_ENTRY_cuMemHostRegister, result);
}

HOST_API McuResult
cuMemHostRegister_v2 (void *address, size_t size, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemHostRegister_v2);

  if (result == MCU_SUCCESS)
    result = register_host (HOST_ENTRY_cuMemHostRegister_v2, address, size, flags);
  return host_leave (HOST_ENTRY_cuMemHostRegister_v2, result);
}

HOST_API McuResult
cuMemHostUnregister (void *address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemHostUnregister);

  if (result == MCU_SUCCESS)
    result = free_host (HOST_ENTRY_cuMemHostUnregister, address, HOST_MEMORY_REGISTERED,
                        MCU_ERROR_HOST_MEMORY_NOT_REGISTERED);
  return host_leave (HOST_ENTRY_cuMemHostUnregister, result);
}

HOST_API McuResult
cuMemHostGetDevicePointer_v2 (CUdeviceptr *device_address, void *address, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemHostGetDevicePointer_v2);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    {
      if (device_address == NULL || flags != 0 || !host_memory_is_pinned (address))
        result = MCU_ERROR_INVALID_VALUE;
      else
        *device_address = (uintptr_t) address;
    }
  return host_leave (HOST_ENTRY_cuMemHostGetDevicePointer_v2, result);
}

HOST_API McuResult
cuMemHostGetFlags (unsigned *flags, void *address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemHostGetFlags);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    {
      HostAllocation *allocation = host_memory_find ((uintptr_t) address);

      if (flags == NULL || allocation == NULL || allocation->type != HOST_MEMORY_HOST)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *flags = allocation->flags | 2; /* mapped, as everything is where addresses are unified */
    }
  return host_leave (HOST_ENTRY_cuMemHostGetFlags, result);
}

HOST_API McuResult
cuMemGetInfo_v2 (size_t *available, size_t *total)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemGetInfo_v2);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = available != NULL && total != NULL ? host_context_current (&context) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    {
      *available = host_device_available (context->device);
      *total = host_settings.memory;
    }
  return host_leave (HOST_ENTRY_cuMemGetInfo_v2, result);
}
