/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * context-query.c: what the current context is asked, and waiting for all of its work.
 */
#include "core-private.h"

/* Checks that a context is current and healthy, and that the pointer for the answer is there. */
static McuResult
current_for (const void *out, HostContext **context)
{
  return out != NULL ? host_context_current (context) : MCU_ERROR_INVALID_VALUE;
}

HOST_API McuResult
cuCtxGetDevice (CUdevice *device)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetDevice);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = current_for (device, &context);
  if (result == MCU_SUCCESS)
    *device = context->device->ordinal;
  return host_leave (HOST_ENTRY_cuCtxGetDevice, result);
}

/* The context, or the current one for NULL. */
static McuResult
context_or_current (CUcontext handle, HostContext **context)
{
  if (handle == NULL)
    return host_context_current (context);
  if (!host_object_is_live (handle, HOST_KIND_CONTEXT))
    return MCU_ERROR_INVALID_CONTEXT;
  *context = handle;
  return host_context_health (handle);
}

HOST_API McuResult
cuCtxGetDevice_v2 (CUdevice *device, CUcontext handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetDevice_v2);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = device != NULL ? context_or_current (handle, &context) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *device = context->device->ordinal;
  return host_leave (HOST_ENTRY_cuCtxGetDevice_v2, result);
}

HOST_API McuResult
cuCtxGetFlags (unsigned *flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetFlags);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = current_for (flags, &context);
  if (result == MCU_SUCCESS)
    *flags = context->flags;
  return host_leave (HOST_ENTRY_cuCtxGetFlags, result);
}

HOST_API McuResult
cuCtxGetId (CUcontext handle, unsigned long long *id)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetId);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = id != NULL ? context_or_current (handle, &context) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *id = context->id;
  return host_leave (HOST_ENTRY_cuCtxGetId, result);
}

HOST_API McuResult
cuCtxGetApiVersion (CUcontext handle, unsigned *version)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetApiVersion);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = version != NULL ? context_or_current (handle, &context) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *version = 3020;
  return host_leave (HOST_ENTRY_cuCtxGetApiVersion, result);
}

HOST_API McuResult
cuCtxGetStreamPriorityRange (int *least, int *greatest)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetStreamPriorityRange);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    {
      if (least != NULL)
        *least = HOST_PRIORITY_LEAST;
      if (greatest != NULL)
        *greatest = HOST_PRIORITY_GREATEST;
    }
  return host_leave (HOST_ENTRY_cuCtxGetStreamPriorityRange, result);
}

static McuResult
synchronize (HostEntry entry, HostContext *context)
{
  McuResult result = host_capture_check (entry, context);

  if (result != MCU_SUCCESS)
    return result;
  host_object_ref (context);
  host_context_drain (context);
  result = host_context_health (context);
  host_object_unref (context);
  return result;
}

HOST_API McuResult
cuCtxSynchronize (void)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxSynchronize);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = synchronize (HOST_ENTRY_cuCtxSynchronize, context);
  return host_leave (HOST_ENTRY_cuCtxSynchronize, result);
}

HOST_API McuResult
cuCtxSynchronize_v2 (CUcontext handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxSynchronize_v2);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = context_or_current (handle, &context);
  if (result == MCU_SUCCESS)
    result = synchronize (HOST_ENTRY_cuCtxSynchronize_v2, context);
  return host_leave (HOST_ENTRY_cuCtxSynchronize_v2, result);
}

/* CU_LIMIT_*: stack size, printf buffer, heap, two of device-side launch. They limit nothing
 * here, and all contexts share them. */
static size_t limits[] = { 1024, 1048576, 8388608, 2, 2048 };

HOST_API McuResult
cuCtxGetLimit (size_t *value, int limit)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetLimit);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = current_for (value, &context);
  if (result == MCU_SUCCESS)
    {
      if (limit < 0 || (size_t) limit >= G_N_ELEMENTS (limits))
        result = host_unsupported ("this limit");
      else
        *value = limits[limit];
    }
  return host_leave (HOST_ENTRY_cuCtxGetLimit, result);
}

HOST_API McuResult
cuCtxSetLimit (int limit, size_t value)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxSetLimit);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuCtxSetLimit, context);
  if (result == MCU_SUCCESS)
    {
      if (limit < 0 || (size_t) limit >= G_N_ELEMENTS (limits))
        result = host_unsupported ("this limit");
      else
        limits[limit] = value;
    }
  return host_leave (HOST_ENTRY_cuCtxSetLimit, result);
}

/* The split between cache and shared memory is a preference, and there is no such memory here. */
HOST_API McuResult
cuCtxGetCacheConfig (int *config)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetCacheConfig);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = current_for (config, &context);
  if (result == MCU_SUCCESS)
    *config = 0;
  return host_leave (HOST_ENTRY_cuCtxGetCacheConfig, result);
}

HOST_API McuResult
cuCtxSetCacheConfig (int config)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxSetCacheConfig);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = config >= 0 && config <= 3 ? host_context_current (&context) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuCtxSetCacheConfig, context);
  return host_leave (HOST_ENTRY_cuCtxSetCacheConfig, result);
}

/* cuDeviceCanAccessPeer says that no device can. */
static McuResult
peer (CUcontext other)
{
  HostContext *context;
  McuResult result = host_context_current (&context);

  if (result != MCU_SUCCESS)
    return result;
  return host_object_is_live (other, HOST_KIND_CONTEXT) && other != context ? 217 : MCU_ERROR_INVALID_CONTEXT;
}

HOST_API McuResult
cuCtxEnablePeerAccess (CUcontext other, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxEnablePeerAccess);

  if (result == MCU_SUCCESS)
    result = flags == 0 ? peer (other) : MCU_ERROR_INVALID_VALUE;
  return host_leave (HOST_ENTRY_cuCtxEnablePeerAccess, result);
}

HOST_API McuResult
cuCtxDisablePeerAccess (CUcontext other)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxDisablePeerAccess);

  if (result == MCU_SUCCESS)
    result = peer (other);
  if (result == 217)
    result = 705; /* was never enabled */
  return host_leave (HOST_ENTRY_cuCtxDisablePeerAccess, result);
}
