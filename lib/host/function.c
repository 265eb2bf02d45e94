/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * function.c: what functions are asked.
 */
#include "core-private.h"

/* CUfunction_attribute */
enum
{
  FUNCTION_MAX_THREADS_PER_BLOCK = 0,
  FUNCTION_SHARED_SIZE_BYTES = 1,
  FUNCTION_CONST_SIZE_BYTES = 2,
  FUNCTION_LOCAL_SIZE_BYTES = 3,
  FUNCTION_NUM_REGS = 4,
  FUNCTION_PTX_VERSION = 5,
  FUNCTION_BINARY_VERSION = 6,
  FUNCTION_CACHE_MODE_CA = 7,
  FUNCTION_MAX_DYNAMIC_SHARED = 8,
  FUNCTION_PREFERRED_CARVEOUT = 9,
  FUNCTION_LAST = 15
};

McuResult
host_function_get_attribute (int attribute, int max_dynamic_shared, int preferred_carveout, int *value)
{
  switch (attribute)
    {
    case FUNCTION_MAX_THREADS_PER_BLOCK:
      *value = HOST_MAX_BLOCK_THREADS;
      return MCU_SUCCESS;
    case FUNCTION_NUM_REGS:
      *value = 32;
      return MCU_SUCCESS;
    case FUNCTION_PTX_VERSION:
    case FUNCTION_BINARY_VERSION:
      *value = 90;
      return MCU_SUCCESS;
    case FUNCTION_MAX_DYNAMIC_SHARED:
      *value = max_dynamic_shared >= 0 ? max_dynamic_shared : HOST_DEFAULT_DYNAMIC_SHARED;
      return MCU_SUCCESS;
    case FUNCTION_PREFERRED_CARVEOUT:
      *value = preferred_carveout;
      return MCU_SUCCESS;
    default:
      *value = 0; /* no static shared, constant or local memory, and no cluster asked for */
      return attribute > 0 && attribute <= FUNCTION_LAST ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
    }
}

McuResult
host_function_set_attribute (int attribute, int value, int *max_dynamic_shared, int *preferred_carveout)
{
  switch (attribute)
    {
    case FUNCTION_MAX_DYNAMIC_SHARED:
      if (value < 0 || value > HOST_MAX_DYNAMIC_SHARED)
        return MCU_ERROR_INVALID_VALUE;
      *max_dynamic_shared = value;
      return MCU_SUCCESS;
    case FUNCTION_PREFERRED_CARVEOUT:
      if (value < -1 || value > 100)
        return MCU_ERROR_INVALID_VALUE;
      *preferred_carveout = value;
      return MCU_SUCCESS;
    default:
      if (attribute > FUNCTION_PREFERRED_CARVEOUT && attribute <= FUNCTION_LAST)
        return host_unsupported ("this attribute of a function");
      return MCU_ERROR_INVALID_VALUE;
    }
}

McuResult
host_function_get (CUfunction handle, HostFunction **function)
{
  if (!host_object_is_live (handle, HOST_KIND_FUNCTION))
    return MCU_ERROR_INVALID_HANDLE;
  *function = handle;
  return MCU_SUCCESS;
}

/* The function of a handle, of which NULL is not even one, and the pointer for the answer is there. */
static McuResult
function_for (const void *out, CUfunction handle, HostFunction **function)
{
  return out != NULL && handle != NULL ? host_function_get (handle, function) : MCU_ERROR_INVALID_VALUE;
}

HOST_API McuResult
cuFuncGetName (const char **name, CUfunction handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncGetName);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (name, handle, &function);
  if (result == MCU_SUCCESS)
    *name = function->kernel->name;
  return host_leave (HOST_ENTRY_cuFuncGetName, result);
}

HOST_API McuResult
cuFuncGetModule (CUmodule *module, CUfunction handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncGetModule);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (module, handle, &function);
  if (result == MCU_SUCCESS)
    *module = function->module;
  return host_leave (HOST_ENTRY_cuFuncGetModule, result);
}

HOST_API McuResult
cuFuncGetParamInfo (CUfunction handle, size_t index, size_t *offset, size_t *size)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncGetParamInfo);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (handle, handle, &function);
  if (result == MCU_SUCCESS)
    result = host_kernel_param_info (function->kernel, index, offset, size);
  return host_leave (HOST_ENTRY_cuFuncGetParamInfo, result);
}

HOST_API McuResult
cuFuncGetParamCount (CUfunction handle, size_t *count)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncGetParamCount);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (count, handle, &function);
  if (result == MCU_SUCCESS)
    *count = function->kernel->n_parameters;
  return host_leave (HOST_ENTRY_cuFuncGetParamCount, result);
}

HOST_API McuResult
cuFuncGetAttribute (int *value, int attribute, CUfunction handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncGetAttribute);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (value, handle, &function);
  if (result == MCU_SUCCESS)
    result = host_function_get_attribute (attribute, function->max_dynamic_shared, function->preferred_carveout, value);
  return host_leave (HOST_ENTRY_cuFuncGetAttribute, result);
}

HOST_API McuResult
cuFuncSetAttribute (CUfunction handle, int attribute, int value)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncSetAttribute);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (handle, handle, &function);
  if (result == MCU_SUCCESS)
    result
        = host_function_set_attribute (attribute, value, &function->max_dynamic_shared, &function->preferred_carveout);
  return host_leave (HOST_ENTRY_cuFuncSetAttribute, result);
}

/* A preference, and there is no cache to split. */
HOST_API McuResult
cuFuncSetCacheConfig (CUfunction handle, int config)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncSetCacheConfig);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (handle, handle, &function);
  if (result == MCU_SUCCESS && (config < 0 || config > 3))
    result = MCU_ERROR_INVALID_VALUE;
  return host_leave (HOST_ENTRY_cuFuncSetCacheConfig, result);
}

HOST_API McuResult
cuFuncIsLoaded (int *state, CUfunction handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncIsLoaded);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (state, handle, &function);
  if (result == MCU_SUCCESS)
    *state = 1;
  return host_leave (HOST_ENTRY_cuFuncIsLoaded, result);
}

HOST_API McuResult
cuFuncLoad (CUfunction handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuFuncLoad);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (handle, handle, &function);
  return host_leave (HOST_ENTRY_cuFuncLoad, result);
}

/* By threads and by shared memory; registers are never short here. */
HOST_API McuResult
cuOccupancyMaxActiveBlocksPerMultiprocessor (int *count, CUfunction handle, int block_size, size_t shared_bytes)
{
  McuResult result = host_enter (HOST_ENTRY_cuOccupancyMaxActiveBlocksPerMultiprocessor);
  HostFunction *function;

  if (result == MCU_SUCCESS)
    result = function_for (count, handle, &function);
  if (result == MCU_SUCCESS)
    {
      if (block_size <= 0 || block_size > HOST_MAX_BLOCK_THREADS)
        result = MCU_ERROR_INVALID_VALUE;
      else if (shared_bytes > (size_t) function->max_dynamic_shared)
        *count = 0;
      else
        {
          int by_threads = HOST_MAX_THREADS / ((block_size + 31) / 32 * 32);
          int by_shared = (int) (HOST_MAX_SHARED / (shared_bytes + 1024)); /* each block costs 1 KiB more */

          *count = MIN (MIN (by_threads, by_shared), HOST_MAX_BLOCKS);
        }
    }
  return host_leave (HOST_ENTRY_cuOccupancyMaxActiveBlocksPerMultiprocessor, result);
}
