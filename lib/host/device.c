/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * device.c: the devices that the host driver pretends to have, and what they say of themselves.
 */
#include "core-private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

HostDevice host_devices[HOST_MAX_DEVICES] = {
  { .ordinal = 0 },  { .ordinal = 1 },  { .ordinal = 2 },  { .ordinal = 3 },  { .ordinal = 4 },  { .ordinal = 5 },
  { .ordinal = 6 },  { .ordinal = 7 },  { .ordinal = 8 },  { .ordinal = 9 },  { .ordinal = 10 }, { .ordinal = 11 },
  { .ordinal = 12 }, { .ordinal = 13 }, { .ordinal = 14 }, { .ordinal = 15 },
};

/* CUdevice_attribute numbers that are not 0, in ascending order. */
static const struct
{
  int attribute;
  int value;
} attributes[] = {
  { 1, 1024 },     /* MAX_THREADS_PER_BLOCK */
  { 2, 1024 },     /* MAX_BLOCK_DIM_X */
  { 3, 1024 },     /* MAX_BLOCK_DIM_Y */
  { 4, 64 },       /* MAX_BLOCK_DIM_Z */
  { 5, INT_MAX },  /* MAX_GRID_DIM_X */
  { 6, 65535 },    /* MAX_GRID_DIM_Y */
  { 7, 65535 },    /* MAX_GRID_DIM_Z */
  { 8, 49152 },    /* MAX_SHARED_MEMORY_PER_BLOCK */
  { 9, 65536 },    /* TOTAL_CONSTANT_MEMORY */
  { 10, 32 },      /* WARP_SIZE */
  { 11, INT_MAX }, /* MAX_PITCH */
  { 12, 65536 },   /* MAX_REGISTERS_PER_BLOCK */
  { 13, 1000000 }, /* CLOCK_RATE, kHz */
  { 14, 512 },     /* TEXTURE_ALIGNMENT */
  { 15, 1 },       /* GPU_OVERLAP */
  { 16, 1 },       /* MULTIPROCESSOR_COUNT */
  { 19, 1 },       /* CAN_MAP_HOST_MEMORY */
  { 30, 512 },     /* SURFACE_ALIGNMENT */
  { 31, 1 },       /* CONCURRENT_KERNELS */
  { 36, 1000000 }, /* MEMORY_CLOCK_RATE, kHz */
  { 37, 64 },      /* GLOBAL_MEMORY_BUS_WIDTH */
  { 38, 1048576 }, /* L2_CACHE_SIZE */
  { 39, 2048 },    /* MAX_THREADS_PER_MULTIPROCESSOR */
  { 40, 1 },       /* ASYNC_ENGINE_COUNT */
  { 41, 1 },       /* UNIFIED_ADDRESSING */
  { 51, 32 },      /* TEXTURE_PITCH_ALIGNMENT */
  { 75, 9 },       /* COMPUTE_CAPABILITY_MAJOR */
  { 76, 0 },       /* COMPUTE_CAPABILITY_MINOR */
  { 78, 1 },       /* STREAM_PRIORITIES_SUPPORTED */
  { 79, 1 },       /* GLOBAL_L1_CACHE_SUPPORTED */
  { 80, 1 },       /* LOCAL_L1_CACHE_SUPPORTED */
  { 81, 233472 },  /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
  { 82, 65536 },   /* MAX_REGISTERS_PER_MULTIPROCESSOR */
  { 83, 1 },       /* MANAGED_MEMORY */
  { 87, 2 },       /* SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO */
  { 89, 1 },       /* CONCURRENT_MANAGED_ACCESS */
  { 91, 1 },       /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
  { 97, 232448 },  /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
  { 99, 1 },       /* HOST_REGISTER_SUPPORTED */
  { 102, 1 },      /* VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
  { 106, 32 },     /* MAX_BLOCKS_PER_MULTIPROCESSOR */
  { 115, 1 },      /* MEMORY_POOLS_SUPPORTED */
};

size_t
host_device_available (const HostDevice *device)
{
  return host_settings.memory > device->used ? host_settings.memory - device->used : 0;
}

#define LAST_ATTRIBUTE 147

McuResult
host_device_get (CUdevice ordinal, HostDevice **device)
{
  if (ordinal < 0 || ordinal >= host_settings.n_devices)
    return MCU_ERROR_INVALID_DEVICE;
  *device = &host_devices[ordinal];
  return MCU_SUCCESS;
}

HOST_API McuResult
cuDeviceGet (CUdevice *device, int ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGet);

  if (result == MCU_SUCCESS)
    {
      if (device == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else if (ordinal < 0 || ordinal >= host_settings.n_devices)
        result = MCU_ERROR_INVALID_DEVICE;
      else
        *device = ordinal;
    }
  return host_leave (HOST_ENTRY_cuDeviceGet, result);
}

HOST_API McuResult
cuDeviceGetCount (int *count)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetCount);

  if (result == MCU_SUCCESS)
    {
      if (count == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *count = host_settings.n_devices;
    }
  return host_leave (HOST_ENTRY_cuDeviceGetCount, result);
}

HOST_API McuResult
cuDeviceGetName (char *name, int length, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetName);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = name != NULL && length > 0 ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    g_strlcpy (name, "memra host driver", (gsize) length);
  return host_leave (HOST_ENTRY_cuDeviceGetName, result);
}

/* Constant for an ordinal: there is nothing to tell one machine from another. */
static McuResult
get_uuid (HostUuid *uuid, CUdevice ordinal)
{
  HostDevice *device;
  McuResult result = uuid != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;

  if (result != MCU_SUCCESS)
    return result;
  memcpy (uuid->bytes, "memra-host-drv-", 15);
  uuid->bytes[15] = (char) device->ordinal;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuDeviceGetUuid (HostUuid *uuid, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetUuid);

  if (result == MCU_SUCCESS)
    result = get_uuid (uuid, device);
  return host_leave (HOST_ENTRY_cuDeviceGetUuid, result);
}

HOST_API McuResult
cuDeviceGetUuid_v2 (HostUuid *uuid, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetUuid_v2);

  if (result == MCU_SUCCESS)
    result = get_uuid (uuid, device);
  return host_leave (HOST_ENTRY_cuDeviceGetUuid_v2, result);
}

HOST_API McuResult
cuDeviceGetPCIBusId (char *name, int length, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetPCIBusId);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = name != NULL && length > 0 ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    g_snprintf (name, (gulong) length, "0000:00:%02x.0", device->ordinal);
  return host_leave (HOST_ENTRY_cuDeviceGetPCIBusId, result);
}

HOST_API McuResult
cuDeviceTotalMem_v2 (size_t *bytes, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceTotalMem_v2);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = bytes != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *bytes = host_settings.memory;
  return host_leave (HOST_ENTRY_cuDeviceTotalMem_v2, result);
}

static McuResult
get_attribute (int *value, int attribute, CUdevice ordinal)
{
  HostDevice *device;

  if (value == NULL || attribute < 1 || attribute > LAST_ATTRIBUTE)
    return MCU_ERROR_INVALID_VALUE;
  *value = 0;
  for (size_t i = 0; i < G_N_ELEMENTS (attributes); i++)
    if (attributes[i].attribute == attribute)
      *value = attributes[i].value;
  if (attribute == 34) /* PCI_DEVICE_ID */
    *value = ordinal;
  return host_device_get (ordinal, &device);
}

HOST_API McuResult
cuDeviceGetAttribute (int *value, int attribute, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceGetAttribute);

  if (result == MCU_SUCCESS)
    result = get_attribute (value, attribute, device);
  return host_leave (HOST_ENTRY_cuDeviceGetAttribute, result);
}

HOST_API McuResult
cuDeviceComputeCapability (int *major, int *minor, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceComputeCapability);

  if (result == MCU_SUCCESS)
    result = get_attribute (major, MCU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result == MCU_SUCCESS)
    result = get_attribute (minor, MCU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return host_leave (HOST_ENTRY_cuDeviceComputeCapability, result);
}

HOST_API McuResult
cuDeviceCanAccessPeer (int *can, CUdevice first, CUdevice second)
{
  McuResult result = host_enter (HOST_ENTRY_cuDeviceCanAccessPeer);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = can != NULL ? host_device_get (first, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_device_get (second, &device);
  if (result == MCU_SUCCESS)
    *can = 0;
  return host_leave (HOST_ENTRY_cuDeviceCanAccessPeer, result);
}

HOST_API McuResult
cuModuleGetLoadingMode (int *mode)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleGetLoadingMode);

  if (result == MCU_SUCCESS)
    {
      if (mode == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *mode = 1; /* eager */
    }
  return host_leave (HOST_ENTRY_cuModuleGetLoadingMode, result);
}
