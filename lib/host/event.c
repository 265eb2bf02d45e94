/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * event.c: events. A recording is the completion of an empty operation; recording again only points elsewhere, so a
 * wait keeps what it saw.
 */
#include "core-private.h"

#define EVENT_INTERPROCESS 4

static void
event_finalize (HostObject *object)
{
  HostEvent *event = (HostEvent *) object;

  host_fence_unref (event->fence);
  host_object_unref (event->context);
  g_free (event);
}

static void
set_fence (HostEvent *event, HostFence *fence)
{
  host_capture_forget_event (event);
  host_fence_ref (fence);
  host_fence_unref (event->fence);
  event->fence = fence;
}

HostFence *
host_event_start_recording (HostEvent *event)
{
  HostFence *fence = host_fence_new ();

  set_fence (event, fence);
  return fence;
}

static McuResult
create (CUevent *out, unsigned flags)
{
  HostContext *context;
  HostEvent *event;
  McuResult result;

  if (out == NULL
      || (flags & ~(unsigned) (MCU_EVENT_BLOCKING_SYNC | MCU_EVENT_DISABLE_TIMING | EVENT_INTERPROCESS)) != 0)
    return MCU_ERROR_INVALID_VALUE;
  result = host_context_current (&context);
  if (result != MCU_SUCCESS)
    return result;
  if (flags & EVENT_INTERPROCESS)
    return host_unsupported ("events between processes");
  event = g_new0 (HostEvent, 1);
  host_object_init (&event->object, HOST_KIND_EVENT, event_finalize);
  event->context = host_object_ref (context);
  event->flags = flags;
  *out = event;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuEventCreate (CUevent *event, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventCreate);

  if (result == MCU_SUCCESS)
    result = create (event, flags);
  return host_leave (HOST_ENTRY_cuEventCreate, result);
}

static McuResult
destroy (CUevent event)
{
  if (!host_object_is_live (event, HOST_KIND_EVENT))
    return MCU_ERROR_INVALID_HANDLE;
  host_capture_forget_event (event);
  host_object_destroy (event);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuEventDestroy (CUevent event)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventDestroy);

  if (result == MCU_SUCCESS)
    result = destroy (event);
  return host_leave (HOST_ENTRY_cuEventDestroy, result);
}

HOST_API McuResult
cuEventDestroy_v2 (CUevent event)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventDestroy_v2);

  if (result == MCU_SUCCESS)
    result = destroy (event);
  return host_leave (HOST_ENTRY_cuEventDestroy_v2, result);
}

static McuResult
event_get (CUevent handle, HostEvent **event)
{
  if (!host_object_is_live (handle, HOST_KIND_EVENT))
    return MCU_ERROR_INVALID_HANDLE;
  *event = handle;
  return host_context_health (handle->context);
}

static McuResult
record (CUevent handle, CUstream stream_handle, unsigned flags)
{
  HostEvent *event;
  HostStream *stream;
  McuResult result = event_get (handle, &event);

  if (result == MCU_SUCCESS)
    result = host_stream_get_for_work (stream_handle, &stream);
  if (result != MCU_SUCCESS)
    return result;
  if (stream->context != event->context)
    return MCU_ERROR_INVALID_HANDLE;
  if (stream->capture != NULL)
    return host_capture_event_record (stream, event, flags);
  if (flags != 0)
    return MCU_ERROR_ILLEGAL_STATE;
  set_fence (event, host_stream_enqueue (stream, host_op_new (NULL, NULL, NULL)));
  return MCU_SUCCESS;
}

HOST_API McuResult
cuEventRecord (CUevent event, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventRecord);

  if (result == MCU_SUCCESS)
    result = record (event, stream, 0);
  return host_leave (HOST_ENTRY_cuEventRecord, result);
}

HOST_API McuResult
cuEventRecordWithFlags (CUevent event, CUstream stream, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventRecordWithFlags);

  if (result == MCU_SUCCESS)
    result = flags <= MCU_EVENT_RECORD_EXTERNAL ? record (event, stream, flags) : MCU_ERROR_INVALID_VALUE;
  return host_leave (HOST_ENTRY_cuEventRecordWithFlags, result);
}

static McuResult
wait_event (CUstream stream_handle, CUevent handle, unsigned flags)
{
  HostEvent *event;
  HostStream *stream;
  McuResult result;
  bool handled = true;

  if (flags > MCU_EVENT_WAIT_EXTERNAL)
    return MCU_ERROR_INVALID_VALUE;
  result = event_get (handle, &event);
  if (result == MCU_SUCCESS)
    result = host_stream_get_for_work (stream_handle, &stream);
  if (result != MCU_SUCCESS)
    return result;
  if (stream->capture != NULL || event->captured != NULL)
    {
      result = host_capture_event_wait (stream, event, flags, &handled);
      if (handled || result != MCU_SUCCESS)
        return result;
    }
  if (flags != 0)
    return MCU_ERROR_ILLEGAL_STATE;
  if (event->fence != NULL && !event->fence->done)
    {
      HostOp *op = host_op_new (NULL, NULL, NULL);

      host_op_wait_for (op, event->fence);
      host_stream_enqueue (stream, op);
    }
  return MCU_SUCCESS;
}

HOST_API McuResult
cuStreamWaitEvent (CUstream stream, CUevent event, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamWaitEvent);

  if (result == MCU_SUCCESS)
    result = wait_event (stream, event, flags);
  return host_leave (HOST_ENTRY_cuStreamWaitEvent, result);
}

HOST_API McuResult
cuEventQuery (CUevent handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventQuery);
  HostEvent *event;

  if (result == MCU_SUCCESS)
    result = event_get (handle, &event);
  if (result == MCU_SUCCESS)
    result = host_capture_check_event (HOST_ENTRY_cuEventQuery, event);
  if (result == MCU_SUCCESS && event->fence != NULL && !event->fence->done)
    result = MCU_ERROR_NOT_READY;
  return host_leave (HOST_ENTRY_cuEventQuery, result);
}

HOST_API McuResult
cuEventSynchronize (CUevent handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventSynchronize);
  HostEvent *event;

  if (result == MCU_SUCCESS)
    result = event_get (handle, &event);
  if (result == MCU_SUCCESS)
    result = host_capture_check_event (HOST_ENTRY_cuEventSynchronize, event);
  if (result == MCU_SUCCESS && host_thread ()->in_callback && event->fence != NULL && !event->fence->done)
    result = MCU_ERROR_NOT_PERMITTED; /* it might wait for itself */
  if (result == MCU_SUCCESS && event->fence != NULL)
    {
      HostContext *context = host_object_ref (event->context);
      HostFence *fence = host_fence_ref (event->fence);

      host_fence_wait (fence);
      host_fence_unref (fence);
      result = context->broken;
      host_object_unref (context);
    }
  return host_leave (HOST_ENTRY_cuEventSynchronize, result);
}

static McuResult
elapsed (HostEntry entry, float *milliseconds, CUevent start, CUevent end)
{
  CUevent events[] = { start, end };
  bool pending = false;

  if (milliseconds == NULL)
    return MCU_ERROR_INVALID_VALUE;
  for (int i = 0; i < 2; i++)
    {
      HostEvent *event;
      McuResult result = event_get (events[i], &event);

      if (result == MCU_SUCCESS)
        result = host_capture_check_event (entry, event);
      if (result != MCU_SUCCESS)
        return result;
      if ((event->flags & MCU_EVENT_DISABLE_TIMING) || event->fence == NULL)
        return MCU_ERROR_INVALID_HANDLE;
      pending = pending || !event->fence->done;
    }
  if (start->context->device != end->context->device)
    return MCU_ERROR_INVALID_HANDLE;
  if (pending)
    return MCU_ERROR_NOT_READY;
  *milliseconds = (float) ((double) (end->fence->done_ns - start->fence->done_ns) / 1e6);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuEventElapsedTime (float *milliseconds, CUevent start, CUevent end)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventElapsedTime);

  if (result == MCU_SUCCESS)
    result = elapsed (HOST_ENTRY_cuEventElapsedTime, milliseconds, start, end);
  return host_leave (HOST_ENTRY_cuEventElapsedTime, result);
}

HOST_API McuResult
cuEventElapsedTime_v2 (float *milliseconds, CUevent start, CUevent end)
{
  McuResult result = host_enter (HOST_ENTRY_cuEventElapsedTime_v2);

  if (result == MCU_SUCCESS)
    result = elapsed (HOST_ENTRY_cuEventElapsedTime_v2, milliseconds, start, end);
  return host_leave (HOST_ENTRY_cuEventElapsedTime_v2, result);
}
