/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pointer.c: what an address says of itself.
 */
#include "core-private.h"

#include <string.h>

/* CUpointer_attribute numbers that abi.h does not name. */
enum
{
  POINTER_P2P_TOKENS = 5,
  POINTER_SYNC_MEMOPS = 6,
  POINTER_IS_LEGACY_IPC = 10,
  POINTER_ALLOWED_HANDLE_TYPES = 14,
  POINTER_IS_GPU_DIRECT_RDMA = 15,
  POINTER_ACCESS_FLAGS = 16,
  POINTER_IS_HW_DECOMPRESS = 21
};

/* Bytes of an answer, by attribute; 0: there is no such attribute. */
static const unsigned char sizes[] = {
  [MCU_POINTER_CONTEXT] = 8,
  [MCU_POINTER_MEMORY_TYPE] = 4,
  [MCU_POINTER_DEVICE_POINTER] = 8,
  [MCU_POINTER_HOST_POINTER] = 8,
  [POINTER_P2P_TOKENS] = 16,
  [POINTER_SYNC_MEMOPS] = 4,
  [MCU_POINTER_BUFFER_ID] = 8,
  [MCU_POINTER_IS_MANAGED] = 4,
  [MCU_POINTER_DEVICE_ORDINAL] = 4,
  [POINTER_IS_LEGACY_IPC] = 4,
  [MCU_POINTER_RANGE_START_ADDR] = 8,
  [MCU_POINTER_RANGE_SIZE] = 8,
  [MCU_POINTER_MAPPED] = 4,
  [POINTER_ALLOWED_HANDLE_TYPES] = 8,
  [POINTER_IS_GPU_DIRECT_RDMA] = 4,
  [POINTER_ACCESS_FLAGS] = 4,
  [MCU_POINTER_MEMPOOL_HANDLE] = 8,
  [MCU_POINTER_MAPPING_SIZE] = 8,
  [MCU_POINTER_MAPPING_BASE_ADDR] = 8,
  [MCU_POINTER_MEMORY_BLOCK_ID] = 8,
  [POINTER_IS_HW_DECOMPRESS] = 4,
};

static size_t
size_of (int attribute)
{
  return attribute > 0 && (size_t) attribute < G_N_ELEMENTS (sizes) ? sizes[attribute] : 0;
}

/* Answers in the low bytes of *value: 1 for what the address does not have. */
static McuResult
get (const HostAllocation *allocation, uint64_t address, int attribute, uint64_t *value)
{
  bool is_range = allocation->type == HOST_MEMORY_RANGE;
  bool is_host = allocation->type == HOST_MEMORY_HOST || allocation->type == HOST_MEMORY_REGISTERED;
  bool is_managed = allocation->type == HOST_MEMORY_MANAGED;
  HostMapping mapping = { (uintptr_t) allocation->base, allocation->size, allocation->id, allocation->id, true };
  McuResult result = MCU_SUCCESS;

  if (is_range && !host_vmm_find (address, &mapping))
    return MCU_ERROR_INVALID_VALUE; /* a reservation is nothing yet */
  switch (attribute)
    {
    case MCU_POINTER_CONTEXT:
      *value = is_range || allocation->type == HOST_MEMORY_POOL ? 0 : (uintptr_t) allocation->context;
      break;
    case MCU_POINTER_MEMORY_TYPE:
      *value = is_host ? MCU_MEMORYTYPE_HOST : MCU_MEMORYTYPE_DEVICE;
      break;
    case MCU_POINTER_DEVICE_POINTER:
      *value = address;
      result = mapping.accessible ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
      break;
    case MCU_POINTER_HOST_POINTER:
      *value = address;
      result = is_host || is_managed ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
      break;
    case MCU_POINTER_BUFFER_ID:
      *value = mapping.id;
      break;
    case MCU_POINTER_IS_MANAGED:
      *value = is_managed;
      break;
    case MCU_POINTER_DEVICE_ORDINAL:
      *value = (unsigned) allocation->context->device->ordinal;
      break;
    case POINTER_IS_LEGACY_IPC:
      *value = allocation->type == HOST_MEMORY_DEVICE;
      break;
    case MCU_POINTER_RANGE_START_ADDR:
      *value = (uintptr_t) allocation->base;
      break;
    case MCU_POINTER_RANGE_SIZE:
      *value = allocation->size;
      break;
    case MCU_POINTER_MAPPED:
      *value = 1;
      break;
    case POINTER_ACCESS_FLAGS:
      *value = 3; /* read and write */
      break;
    case MCU_POINTER_MEMPOOL_HANDLE:
      *value = allocation->pool != NULL && allocation->pool->object.live ? (uintptr_t) allocation->pool : 0;
      break;
    case MCU_POINTER_MAPPING_SIZE:
      *value = mapping.size;
      break;
    case MCU_POINTER_MAPPING_BASE_ADDR:
      *value = mapping.base;
      break;
    case MCU_POINTER_MEMORY_BLOCK_ID:
      *value = mapping.block_id;
      break;
    case POINTER_SYNC_MEMOPS:
    case POINTER_ALLOWED_HANDLE_TYPES:
    case POINTER_IS_GPU_DIRECT_RDMA:
    case POINTER_IS_HW_DECOMPRESS:
      *value = 0; /* a GPU's own affairs, which the host driver has none of */
      break;
    default:
      result = MCU_ERROR_INVALID_VALUE;
      break;
    }
  return result;
}

HOST_API McuResult
cuPointerGetAttribute (void *data, int attribute, CUdeviceptr address)
{
  McuResult result = host_enter (HOST_ENTRY_cuPointerGetAttribute);

  if (result == MCU_SUCCESS)
    {
      HostAllocation *allocation = host_memory_find (address);
      uint64_t value;

      if (data == NULL || size_of (attribute) == 0 || allocation == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else if (attribute == POINTER_P2P_TOKENS)
        result = host_unsupported ("peer-to-peer tokens");
      else
        result = get (allocation, address, attribute, &value);
      if (result == MCU_SUCCESS)
        memcpy (data, &value, size_of (attribute));
    }
  return host_leave (HOST_ENTRY_cuPointerGetAttribute, result);
}

/* An address that is not known, or lacks an attribute, gets zeros and not an error. */
HOST_API McuResult
cuPointerGetAttributes (unsigned count, int *attributes, void **data, CUdeviceptr address)
{
  McuResult result = host_enter (HOST_ENTRY_cuPointerGetAttributes);

  if (result == MCU_SUCCESS && (count == 0 || attributes == NULL || data == NULL))
    result = MCU_ERROR_INVALID_VALUE;
  for (unsigned i = 0; result == MCU_SUCCESS && i < count; i++)
    if (size_of (attributes[i]) == 0 || data[i] == NULL)
      result = MCU_ERROR_INVALID_VALUE;
    else if (attributes[i] == POINTER_P2P_TOKENS)
      result = host_unsupported ("peer-to-peer tokens");
  if (result == MCU_SUCCESS)
    {
      HostAllocation *allocation = host_memory_find (address);

      for (unsigned i = 0; i < count; i++)
        {
          uint64_t value = 0;

          if (allocation == NULL || get (allocation, address, attributes[i], &value) != MCU_SUCCESS)
            value = 0;
          memcpy (data[i], &value, size_of (attributes[i]));
        }
    }
  return host_leave (HOST_ENTRY_cuPointerGetAttributes, result);
}

HOST_API McuResult
cuPointerSetAttribute (const void *value, int attribute, CUdeviceptr address)
{
  McuResult result = host_enter (HOST_ENTRY_cuPointerSetAttribute);

  if (result == MCU_SUCCESS)
    {
      if (value == NULL || attribute != POINTER_SYNC_MEMOPS || host_memory_find (address) == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else if (*(const unsigned *) value != 0)
        result = host_unsupported ("synchronous memory operations on an address");
    }
  return host_leave (HOST_ENTRY_cuPointerSetAttribute, result);
}

/* The allocation, or the accessible mapping in a reserved range, that an address lies in. */
HOST_API McuResult
cuMemGetAddressRange_v2 (CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemGetAddressRange_v2);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    {
      HostAllocation *allocation = host_memory_find (address);
      HostMapping mapping;

      if (allocation == NULL)
        result = MCU_ERROR_NOT_FOUND;
      else if (allocation->type == HOST_MEMORY_RANGE)
        result = host_vmm_find (address, &mapping) && mapping.accessible ? MCU_SUCCESS : MCU_ERROR_NOT_FOUND;
      else
        mapping = (HostMapping){ (uintptr_t) allocation->base, allocation->size, 0, 0, true };
      if (result == MCU_SUCCESS && base != NULL)
        *base = mapping.base;
      if (result == MCU_SUCCESS && size != NULL)
        *size = mapping.size;
    }
  return host_leave (HOST_ENTRY_cuMemGetAddressRange_v2, result);
}
