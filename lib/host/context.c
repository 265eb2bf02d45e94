/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * context.c: contexts, primary ones included, and the stack of contexts that each thread has.
 */
#include "core-private.h"

#include <string.h>

static void
context_finalize (HostObject *object)
{
  HostContext *context = (HostContext *) object;

  g_ptr_array_free (context->streams, TRUE);
  g_free (context);
}

static HostContext *
context_new (HostDevice *device, unsigned flags, bool primary)
{
  HostContext *context = g_new0 (HostContext, 1);

  host_object_init (&context->object, HOST_KIND_CONTEXT, context_finalize);
  context->device = device;
  context->flags = flags;
  context->primary = primary;
  context->id = host_next_id ();
  context->streams = g_ptr_array_new ();
  context->legacy = host_stream_new (context, MCU_STREAM_DEFAULT, 0);
  context->legacy->legacy = true;
  host_object_retire (&context->legacy->object); /* not a handle of the client's, and not counted */
  return context;
}

static void
collect_event (void *object, void *data)
{
  HostEvent *event = object;

  if (event->context == data)
    {
      host_capture_forget_event (event);
      host_object_destroy (event);
    }
}

static bool
is_retained (HostContext *context)
{
  return context->primary && context->device->primary == context && context->device->primary_refs > 0;
}

/* Everything of the context goes with it, after its work has ended, unless somebody retains it meanwhile. */
static void
context_destroy (HostContext *context)
{
  host_object_ref (context);
  host_context_drain (context);
  if (context->object.live && !is_retained (context))
    {
      g_autoptr (GPtrArray) streams = g_ptr_array_new ();

      host_graph_context_destroyed (context);
      for (guint i = 0; i < context->streams->len; i++)
        g_ptr_array_add (streams, host_object_ref (g_ptr_array_index (context->streams, i)));
      for (guint i = 0; i < streams->len; i++)
        {
          HostStream *stream = g_ptr_array_index (streams, i);

          host_capture_forget_stream (stream);
          host_stream_close (stream);
        }
      context->legacy = NULL;
      host_object_foreach (HOST_KIND_EVENT, collect_event, context);
      host_modules_forget_context (context);
      host_memory_forget_context (context);
      if (context->device->primary == context)
        context->device->primary = NULL;
      host_object_destroy (context);
      for (guint i = 0; i < streams->len; i++)
        {
          host_worker_await_end (g_ptr_array_index (streams, i));
          host_object_unref (g_ptr_array_index (streams, i));
        }
    }
  host_object_unref (context);
}

static void
destroy_one (void *object, void *data)
{
  HostContext *context = object;

  (void) data;
  if (context->primary)
    context->device->primary_refs = 0;
  context_destroy (context);
}

void
host_contexts_shutdown (void)
{
  host_object_foreach (HOST_KIND_CONTEXT, destroy_one, NULL);
}

McuResult
host_context_health (HostContext *context)
{
  return context->object.live ? context->broken : MCU_ERROR_CONTEXT_IS_DESTROYED;
}

McuResult
host_context_current (HostContext **context)
{
  GPtrArray *stack = host_thread ()->stack;

  if (host_thread ()->in_callback)
    return MCU_ERROR_NOT_PERMITTED;
  if (stack->len == 0)
    {
      host_log ("No context is current to the calling thread");
      return MCU_ERROR_INVALID_CONTEXT;
    }
  *context = g_ptr_array_index (stack, stack->len - 1);
  return host_context_health (*context);
}

static void
stack_push (HostContext *context)
{
  g_ptr_array_add (host_thread ()->stack, host_object_ref (context));
}

static void
stack_pop (void)
{
  GPtrArray *stack = host_thread ()->stack;
  HostContext *context = g_ptr_array_index (stack, stack->len - 1);

  g_ptr_array_set_size (stack, (gint) stack->len - 1);
  host_object_unref (context);
}

static McuResult
context_create (CUcontext *out, unsigned flags, CUdevice ordinal)
{
  HostDevice *device;
  McuResult result = out != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;

  if (result == MCU_SUCCESS && host_device_available (device) == 0)
    result = MCU_ERROR_OUT_OF_MEMORY;
  if (result != MCU_SUCCESS)
    return result;
  *out = context_new (device, flags, false);
  stack_push (*out);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuCtxCreate_v2 (CUcontext *context, unsigned flags, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxCreate_v2);

  if (result == MCU_SUCCESS)
    result = context_create (context, flags, device);
  return host_leave (HOST_ENTRY_cuCtxCreate_v2, result);
}

HOST_API McuResult
cuCtxCreate_v3 (CUcontext *context, void *affinity, int n_affinity, unsigned flags, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxCreate_v3);

  if (result == MCU_SUCCESS)
    {
      if (affinity != NULL || n_affinity != 0)
        result = host_unsupported ("execution affinity");
      else
        result = context_create (context, flags, device);
    }
  return host_leave (HOST_ENTRY_cuCtxCreate_v3, result);
}

/* CUctxCreateParams: two pointers and a count; NULL in both pointers asks for nothing special. */
HOST_API McuResult
cuCtxCreate_v4 (CUcontext *context, void *params, unsigned flags, CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxCreate_v4);
  struct
  {
    void *affinity;
    int n_affinity;
    void *cig;
  } given = { 0 };

  if (result == MCU_SUCCESS)
    {
      if (params != NULL)
        memcpy (&given, params, sizeof given);
      if (given.affinity != NULL || given.n_affinity != 0 || given.cig != NULL)
        result = host_unsupported ("parameters of a context");
      else
        result = context_create (context, flags, device);
    }
  return host_leave (HOST_ENTRY_cuCtxCreate_v4, result);
}

/* A primary context is not destroyed this way. */
static McuResult
destroy (CUcontext context)
{
  GPtrArray *stack = host_thread ()->stack;

  if (!host_object_is_live (context, HOST_KIND_CONTEXT) || context->primary)
    return MCU_ERROR_INVALID_CONTEXT;
  host_object_ref (context);
  context_destroy (context);
  if (stack->len > 0 && g_ptr_array_index (stack, stack->len - 1) == context)
    stack_pop ();
  host_object_unref (context);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuCtxDestroy (CUcontext context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxDestroy);

  if (result == MCU_SUCCESS)
    result = destroy (context);
  return host_leave (HOST_ENTRY_cuCtxDestroy, result);
}

HOST_API McuResult
cuCtxDestroy_v2 (CUcontext context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxDestroy_v2);

  if (result == MCU_SUCCESS)
    result = destroy (context);
  return host_leave (HOST_ENTRY_cuCtxDestroy_v2, result);
}

static McuResult
push (CUcontext context)
{
  if (!host_object_is_live (context, HOST_KIND_CONTEXT))
    return MCU_ERROR_INVALID_CONTEXT;
  stack_push (context);
  return MCU_SUCCESS;
}

static McuResult
pop (CUcontext *context)
{
  GPtrArray *stack = host_thread ()->stack;

  if (stack->len == 0)
    return MCU_ERROR_INVALID_CONTEXT;
  if (context != NULL)
    *context = g_ptr_array_index (stack, stack->len - 1);
  stack_pop ();
  return MCU_SUCCESS;
}

HOST_API McuResult
cuCtxPushCurrent (CUcontext context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxPushCurrent);

  if (result == MCU_SUCCESS)
    result = push (context);
  return host_leave (HOST_ENTRY_cuCtxPushCurrent, result);
}

HOST_API McuResult
cuCtxPushCurrent_v2 (CUcontext context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxPushCurrent_v2);

  if (result == MCU_SUCCESS)
    result = push (context);
  return host_leave (HOST_ENTRY_cuCtxPushCurrent_v2, result);
}

HOST_API McuResult
cuCtxPopCurrent (CUcontext *context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxPopCurrent);

  if (result == MCU_SUCCESS)
    result = pop (context);
  return host_leave (HOST_ENTRY_cuCtxPopCurrent, result);
}

HOST_API McuResult
cuCtxPopCurrent_v2 (CUcontext *context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxPopCurrent_v2);

  if (result == MCU_SUCCESS)
    result = pop (context);
  return host_leave (HOST_ENTRY_cuCtxPopCurrent_v2, result);
}

/* Replaces the top of the stack; NULL pops it. */
HOST_API McuResult
cuCtxSetCurrent (CUcontext context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxSetCurrent);
  GPtrArray *stack = host_thread ()->stack;

  if (result == MCU_SUCCESS)
    {
      if (context != NULL && !host_object_is_live (context, HOST_KIND_CONTEXT))
        result = MCU_ERROR_INVALID_CONTEXT;
      else
        {
          if (stack->len > 0)
            stack_pop ();
          if (context != NULL)
            stack_push (context);
        }
    }
  return host_leave (HOST_ENTRY_cuCtxSetCurrent, result);
}

HOST_API McuResult
cuCtxGetCurrent (CUcontext *context)
{
  McuResult result = host_enter (HOST_ENTRY_cuCtxGetCurrent);
  GPtrArray *stack = host_thread ()->stack;

  if (result == MCU_SUCCESS)
    {
      if (context == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *context = stack->len > 0 ? g_ptr_array_index (stack, stack->len - 1) : NULL;
    }
  return host_leave (HOST_ENTRY_cuCtxGetCurrent, result);
}

HOST_API McuResult
cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxRetain);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = context != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS && device->primary == NULL && host_device_available (device) == 0)
    result = MCU_ERROR_OUT_OF_MEMORY;
  if (result == MCU_SUCCESS)
    {
      if (device->primary == NULL)
        device->primary = context_new (device, device->primary_flags, true);
      device->primary_refs++;
      *context = device->primary;
    }
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxRetain, result);
}

static McuResult
primary_release (CUdevice ordinal)
{
  HostDevice *device;
  McuResult result = host_device_get (ordinal, &device);

  if (result != MCU_SUCCESS)
    return result;
  if (device->primary_refs == 0)
    return MCU_ERROR_INVALID_CONTEXT;
  if (--device->primary_refs == 0)
    context_destroy (device->primary);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuDevicePrimaryCtxRelease (CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxRelease);

  if (result == MCU_SUCCESS)
    result = primary_release (device);
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxRelease, result);
}

HOST_API McuResult
cuDevicePrimaryCtxRelease_v2 (CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxRelease_v2);

  if (result == MCU_SUCCESS)
    result = primary_release (device);
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxRelease_v2, result);
}

/* Destroys what the context holds; whoever retained it has nothing left to release. */
static McuResult
primary_reset (CUdevice ordinal)
{
  HostDevice *device;
  McuResult result = host_device_get (ordinal, &device);

  if (result == MCU_SUCCESS && device->primary != NULL)
    {
      device->primary_refs = 0;
      context_destroy (device->primary);
    }
  return result;
}

HOST_API McuResult
cuDevicePrimaryCtxReset (CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxReset);

  if (result == MCU_SUCCESS)
    result = primary_reset (device);
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxReset, result);
}

HOST_API McuResult
cuDevicePrimaryCtxReset_v2 (CUdevice device)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxReset_v2);

  if (result == MCU_SUCCESS)
    result = primary_reset (device);
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxReset_v2, result);
}

static McuResult
primary_set_flags (CUdevice ordinal, unsigned flags)
{
  HostDevice *device;
  McuResult result = host_device_get (ordinal, &device);

  if (result == MCU_SUCCESS)
    {
      device->primary_flags = flags;
      if (device->primary != NULL)
        device->primary->flags = flags;
    }
  return result;
}

HOST_API McuResult
cuDevicePrimaryCtxSetFlags (CUdevice device, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxSetFlags);

  if (result == MCU_SUCCESS)
    result = primary_set_flags (device, flags);
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxSetFlags, result);
}

HOST_API McuResult
cuDevicePrimaryCtxSetFlags_v2 (CUdevice device, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxSetFlags_v2);

  if (result == MCU_SUCCESS)
    result = primary_set_flags (device, flags);
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxSetFlags_v2, result);
}

HOST_API McuResult
cuDevicePrimaryCtxGetState (CUdevice ordinal, unsigned *flags, int *active)
{
  McuResult result = host_enter (HOST_ENTRY_cuDevicePrimaryCtxGetState);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = flags != NULL && active != NULL ? host_device_get (ordinal, &device) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    {
      *flags = device->primary_flags;
      *active = device->primary != NULL;
    }
  return host_leave (HOST_ENTRY_cuDevicePrimaryCtxGetState, result);
}
