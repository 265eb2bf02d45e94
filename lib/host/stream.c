/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stream.c: streams: handles, waiting, and the host functions put into them. What runs them is worker.c.
 */
#include "core-private.h"

static void
stream_finalize (HostObject *object)
{
  HostStream *stream = (HostStream *) object;

  g_assert (!stream->worker && stream->head == NULL);
  host_fence_unref (stream->last);
  g_free (stream->attributes);
  pthread_cond_destroy (&stream->wake);
  host_object_unref (stream->context);
  g_free (stream);
}

HostStream *
host_stream_new (HostContext *context, unsigned flags, int priority)
{
  HostStream *stream = g_new0 (HostStream, 1);

  host_object_init (&stream->object, HOST_KIND_STREAM, stream_finalize);
  stream->context = host_object_ref (context);
  stream->flags = flags;
  stream->priority = CLAMP (priority, HOST_PRIORITY_GREATEST, HOST_PRIORITY_LEAST);
  stream->id = host_next_id ();
  pthread_cond_init (&stream->wake, NULL);
  g_ptr_array_add (context->streams, stream);
  return stream;
}

/* With a worker, the stream stays in its context until the work is done; the worker takes it out. */
void
host_stream_close (HostStream *stream)
{
  if (stream->closing)
    return;
  stream->closing = true;
  host_object_retire (&stream->object);
  if (stream->worker)
    pthread_cond_signal (&stream->wake);
  else
    g_ptr_array_remove_fast (stream->context->streams, stream);
  host_object_unref (stream);
}

/* This thread's stream in the context, made when first named. Not a handle that can be destroyed, nor counted. */
static HostStream *
per_thread_stream (HostContext *context)
{
  uint64_t thread = host_thread ()->id;
  HostStream *stream;

  for (guint i = 0; i < context->streams->len; i++)
    {
      stream = g_ptr_array_index (context->streams, i);
      if (stream->per_thread && stream->thread == thread && !stream->closing)
        return stream;
    }
  stream = host_stream_new (context, MCU_STREAM_DEFAULT, 0);
  stream->per_thread = true;
  stream->thread = thread;
  host_object_retire (&stream->object);
  return stream;
}

static void
forget_in_context (void *object, void *data)
{
  HostContext *context = object;
  uint64_t thread = *(uint64_t *) data;

  for (guint i = 0; i < context->streams->len; i++)
    {
      HostStream *stream = g_ptr_array_index (context->streams, i);

      if (stream->per_thread && stream->thread == thread && !stream->closing)
        {
          host_capture_forget_stream (stream);
          host_stream_close (stream);
          return;
        }
    }
}

void
host_streams_forget_thread (uint64_t thread)
{
  host_object_foreach (HOST_KIND_CONTEXT, forget_in_context, &thread);
}

McuResult
host_stream_get (CUstream handle, HostStream **stream)
{
  HostContext *context;
  McuResult result;

  if (handle == NULL)
    handle = host_thread ()->per_thread ? MCU_STREAM_PER_THREAD : MCU_STREAM_LEGACY;
  if (handle != MCU_STREAM_LEGACY && handle != MCU_STREAM_PER_THREAD)
    {
      if (!host_object_is_live (handle, HOST_KIND_STREAM))
        return MCU_ERROR_INVALID_HANDLE;
      *stream = handle;
      return host_context_health (handle->context);
    }
  result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    *stream = handle == MCU_STREAM_LEGACY ? context->legacy : per_thread_stream (context);
  return result;
}

McuResult
host_stream_get_for_work (CUstream handle, HostStream **stream)
{
  McuResult result = host_stream_get (handle, stream);

  if (result == MCU_SUCCESS && (*stream)->legacy)
    result = host_capture_check_legacy ((*stream)->context);
  return result;
}

/* The streams whose work a wait for this one includes. */
static bool
includes (HostStream *stream, HostStream *other)
{
  return other == stream || (stream->legacy && !(other->flags & MCU_STREAM_NON_BLOCKING));
}

bool
host_stream_is_idle (HostStream *stream)
{
  GPtrArray *streams = stream->context->streams;

  for (guint i = 0; i < streams->len; i++)
    {
      HostStream *other = g_ptr_array_index (streams, i);

      if (includes (stream, other) && other->last != NULL && !other->last->done)
        return false;
    }
  return true;
}

static void
unref_fence (void *fence)
{
  host_fence_unref (fence);
}

/* Waits for what the streams hold now: for `stream` and what it includes, or for all of them when it is NULL. */
static void
drain (HostContext *context, HostStream *stream)
{
  GPtrArray *fences = g_ptr_array_new_with_free_func (unref_fence);

  for (guint i = 0; i < context->streams->len; i++)
    {
      HostStream *other = g_ptr_array_index (context->streams, i);

      if ((stream == NULL || includes (stream, other)) && other->last != NULL && !other->last->done)
        g_ptr_array_add (fences, host_fence_ref (other->last));
    }
  for (guint i = 0; i < fences->len; i++)
    host_fence_wait (g_ptr_array_index (fences, i));
  g_ptr_array_free (fences, TRUE);
}

void
host_stream_drain (HostStream *stream)
{
  drain (stream->context, stream);
}

void
host_context_drain (HostContext *context)
{
  drain (context, NULL);
}

static McuResult
create (CUstream *out, unsigned flags, int priority)
{
  HostContext *context;
  McuResult result;

  if (out == NULL || (flags & ~(unsigned) MCU_STREAM_NON_BLOCKING) != 0)
    return MCU_ERROR_INVALID_VALUE;
  host_workers_reap ();
  result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    *out = host_stream_new (context, flags, priority);
  return result;
}

HOST_API McuResult
cuStreamCreate (CUstream *stream, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamCreate);

  if (result == MCU_SUCCESS)
    result = create (stream, flags, 0);
  return host_leave (HOST_ENTRY_cuStreamCreate, result);
}

HOST_API McuResult
cuStreamCreateWithPriority (CUstream *stream, unsigned flags, int priority)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamCreateWithPriority);

  if (result == MCU_SUCCESS)
    result = create (stream, flags, priority);
  return host_leave (HOST_ENTRY_cuStreamCreateWithPriority, result);
}

static McuResult
destroy (CUstream handle)
{
  bool idle;

  if (!host_object_is_live (handle, HOST_KIND_STREAM))
    return MCU_ERROR_INVALID_HANDLE;
  idle = handle->head == NULL && handle->running == NULL;
  host_object_ref (handle);
  host_capture_forget_stream (handle);
  host_stream_close (handle);
  if (idle)
    host_worker_await_end (handle);
  host_object_unref (handle);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuStreamDestroy (CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamDestroy);

  if (result == MCU_SUCCESS)
    result = destroy (stream);
  return host_leave (HOST_ENTRY_cuStreamDestroy, result);
}

HOST_API McuResult
cuStreamDestroy_v2 (CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamDestroy_v2);

  if (result == MCU_SUCCESS)
    result = destroy (stream);
  return host_leave (HOST_ENTRY_cuStreamDestroy_v2, result);
}

/* For a wait, or one of the queries that a capturing stream refuses too. */
static McuResult
get_for_wait (HostEntry entry, CUstream handle, HostStream **stream)
{
  McuResult result = host_stream_get_for_work (handle, stream);

  return result == MCU_SUCCESS ? host_capture_check_stream (entry, *stream) : result;
}

HOST_API McuResult
cuStreamQuery (CUstream handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamQuery);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = get_for_wait (HOST_ENTRY_cuStreamQuery, handle, &stream);
  if (result == MCU_SUCCESS && !host_stream_is_idle (stream))
    result = MCU_ERROR_NOT_READY;
  return host_leave (HOST_ENTRY_cuStreamQuery, result);
}

HOST_API McuResult
cuStreamSynchronize (CUstream handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamSynchronize);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = get_for_wait (HOST_ENTRY_cuStreamSynchronize, handle, &stream);
  if (result == MCU_SUCCESS && host_thread ()->in_callback && !host_stream_is_idle (stream))
    result = MCU_ERROR_NOT_PERMITTED; /* it might wait for itself */
  if (result == MCU_SUCCESS)
    {
      host_object_ref (stream);
      host_stream_drain (stream);
      result = stream->context->broken;
      host_object_unref (stream);
    }
  return host_leave (HOST_ENTRY_cuStreamSynchronize, result);
}

HOST_API McuResult
cuStreamGetFlags (CUstream handle, unsigned *flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetFlags);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = flags != NULL ? get_for_wait (HOST_ENTRY_cuStreamGetFlags, handle, &stream) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *flags = stream->flags;
  return host_leave (HOST_ENTRY_cuStreamGetFlags, result);
}

HOST_API McuResult
cuStreamGetPriority (CUstream handle, int *priority)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetPriority);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = priority != NULL ? host_stream_get (handle, &stream) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *priority = stream->priority;
  return host_leave (HOST_ENTRY_cuStreamGetPriority, result);
}

HOST_API McuResult
cuStreamGetCtx (CUstream handle, CUcontext *context)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetCtx);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = context != NULL ? host_stream_get (handle, &stream) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *context = stream->context;
  return host_leave (HOST_ENTRY_cuStreamGetCtx, result);
}

HOST_API McuResult
cuStreamGetCtx_v2 (CUstream handle, CUcontext *context, void **green_context)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetCtx_v2);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = context != NULL ? host_stream_get (handle, &stream) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    {
      *context = stream->context;
      if (green_context != NULL)
        *green_context = NULL;
    }
  return host_leave (HOST_ENTRY_cuStreamGetCtx_v2, result);
}

HOST_API McuResult
cuStreamGetId (CUstream handle, unsigned long long *id)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetId);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = id != NULL ? get_for_wait (HOST_ENTRY_cuStreamGetId, handle, &stream) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *id = stream->id;
  return host_leave (HOST_ENTRY_cuStreamGetId, result);
}

HOST_API McuResult
cuStreamGetDevice (CUstream handle, CUdevice *device)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetDevice);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = device != NULL ? host_stream_get (handle, &stream) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *device = stream->context->device->ordinal;
  return host_leave (HOST_ENTRY_cuStreamGetDevice, result);
}
