/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * host-func.c: host functions in streams. They run on the stream's worker, where CUDA calls answer 800.
 */
#include "core-private.h"

typedef struct
{
  CUhostFn fn;               /* nullable: then callback */
  CUstreamCallback callback; /* nullable */
  CUstream stream;           /* the handle as given */
  void *user_data;
} Call;

static McuResult
call_run (void *data)
{
  Call *call = data;

  if (call->fn != NULL)
    call->fn (call->user_data);
  else
    call->callback (call->stream, MCU_SUCCESS, call->user_data);
  return MCU_SUCCESS;
}

static void
enqueue (HostStream *stream, const Call *call)
{
  Call *copy = g_new (Call, 1);

  *copy = *call;
  host_stream_enqueue (stream, host_op_new (call_run, copy, g_free));
}

static McuResult
launch_host_func (CUstream handle, CUhostFn fn, void *user_data)
{
  HostStream *stream;
  McuResult result = fn != NULL ? host_stream_get_for_work (handle, &stream) : MCU_ERROR_INVALID_VALUE;

  if (result != MCU_SUCCESS)
    return result;
  if (stream->capture != NULL)
    return host_capture_host_fn (stream, fn, user_data);
  enqueue (stream, &(Call){ .fn = fn, .user_data = user_data });
  return MCU_SUCCESS;
}

HOST_API McuResult
cuLaunchHostFunc (CUstream stream, CUhostFn fn, void *user_data)
{
  McuResult result = host_enter (HOST_ENTRY_cuLaunchHostFunc);

  if (result == MCU_SUCCESS)
    result = launch_host_func (stream, fn, user_data);
  return host_leave (HOST_ENTRY_cuLaunchHostFunc, result);
}

static McuResult
add_callback (CUstream handle, CUstreamCallback callback, void *user_data, unsigned flags)
{
  HostStream *stream;
  McuResult result;

  if (callback == NULL || flags != 0)
    return MCU_ERROR_INVALID_VALUE;
  result = host_stream_get_for (HOST_ENTRY_cuStreamAddCallback, handle, true, &stream);
  if (result == MCU_SUCCESS)
    enqueue (stream, &(Call){ .callback = callback, .stream = handle, .user_data = user_data });
  return result;
}

/* Unlike a host function, not recordable. */
HOST_API McuResult
cuStreamAddCallback (CUstream stream, CUstreamCallback callback, void *user_data, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamAddCallback);

  if (result == MCU_SUCCESS)
    result = add_callback (stream, callback, user_data, flags);
  return host_leave (HOST_ENTRY_cuStreamAddCallback, result);
}
