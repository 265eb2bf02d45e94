/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contexts, and making one current without anybody noticing. */
#include "config.h"

#include "device-private.h"

static MemraContext *
context_new (MemraDriver *driver, CUcontext cuda, CUdevice device, gboolean owned)
{
  MemraContext *context = g_new0 (MemraContext, 1);

  g_atomic_ref_count_init (&context->ref_count);
  context->driver = memra_driver_ref (driver);
  context->cuda = cuda;
  context->device = device;
  context->ordinal = device; /* the driver's device handle is its ordinal, by cuDeviceGet's contract */
  context->owned = owned;
  context->tracking = TRUE;
  pthread_mutex_init (&context->lock, NULL);
  context->recordings = g_ptr_array_new ();
  return context;
}

/**
 * memra_context_new:
 * @driver: a driver
 * @ordinal: a device, counted from 0
 * @error: return location for an error
 *
 * Retains the device's primary context, the one that the runtime API uses. Event tracking is on, see
 * memra_context_set_event_tracking(). Do not create the first context of a device while another thread captures.
 *
 * Errors: %MEMRA_DRIVER_ERROR_NO_DEVICE, _OUT_OF_MEMORY, _FAILED. Any thread; the thread's current context stays.
 *
 * Returns: (transfer full): the context
 *
 * Since: 0.1
 */
MemraContext *
memra_context_new (MemraDriver *driver, gint ordinal, GError **error)
{
  g_auto (MemraThreadMode) mode = { 0 };
  CUdevice device;
  CUcontext cuda = NULL;
  McuResult result;

  g_return_val_if_fail (driver != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  result = driver->cu.cuDeviceGet (&device, ordinal);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (driver, error, result, "Could not open device %d of %d", ordinal, driver->n_devices);
      return NULL;
    }
  _memra_thread_mode_relax (driver, &mode);
  result = driver->cu.cuDevicePrimaryCtxRetain (&cuda, device);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (driver, error, result, "Could not retain the primary context of device %d", ordinal);
      return NULL;
    }
  return context_new (driver, cuda, device, TRUE);
}

/**
 * memra_context_wrap:
 * @driver: the driver that the context is of
 * @cuda_context: a CUcontext, which must outlive the returned object
 * @error: return location for an error
 *
 * Uses a context that somebody else made and destroys. Event tracking is on, as for memra_context_new().
 *
 * Errors: %MEMRA_DRIVER_ERROR_FAILED, _BROKEN_CONTEXT. Any thread; the thread's current context stays.
 *
 * Returns: (transfer full): the context
 *
 * Since: 0.1
 */
MemraContext *
memra_context_wrap (MemraDriver *driver, struct CUctx_st *cuda_context, GError **error)
{
  g_autoptr (MemraContext) context = NULL;
  g_auto (MemraCurrent) current = { 0 };
  McuResult result;

  g_return_val_if_fail (driver != NULL, NULL);
  g_return_val_if_fail (cuda_context != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  context = context_new (driver, cuda_context, 0, FALSE);
  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    result = driver->cu.cuCtxGetDevice (&context->device);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (driver, error, result, "Could not use the given context");
      return NULL;
    }
  context->ordinal = context->device;
  _memra_context_leave (&current);
  return g_steal_pointer (&context);
}

/**
 * memra_context_ref:
 * @context: a context
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @context
 *
 * Since: 0.1
 */
MemraContext *
memra_context_ref (MemraContext *context)
{
  g_return_val_if_fail (context != NULL, NULL);

  g_atomic_ref_count_inc (&context->ref_count);
  return context;
}

/**
 * memra_context_unref:
 * @context: (transfer full) (nullable): a context
 *
 * Drops a reference; the last one releases a primary context that memra_context_new() retained. Any thread.
 *
 * Since: 0.1
 */
void
memra_context_unref (MemraContext *context)
{
  if (context == NULL || !g_atomic_ref_count_dec (&context->ref_count))
    return;

  if (context->owned)
    {
      McuResult result = context->driver->cu.cuDevicePrimaryCtxRelease (context->device);

      if (result != MCU_SUCCESS)
        g_debug ("releasing the primary context of device %d answered %d", context->ordinal, result);
    }
  g_ptr_array_unref (context->recordings);
  pthread_mutex_destroy (&context->lock);
  memra_driver_unref (context->driver);
  g_free (context);
}

/**
 * memra_context_get_driver:
 * @context: a context
 *
 * Gets the driver.
 *
 * Returns: (transfer none): the driver, owned by @context
 *
 * Since: 0.1
 */
MemraDriver *
memra_context_get_driver (MemraContext *context)
{
  g_return_val_if_fail (context != NULL, NULL);

  return context->driver;
}

/**
 * memra_context_get_cuda_context:
 * @context: a context
 *
 * Gets the CUcontext, for calls of one's own.
 *
 * Returns: (transfer none): the handle
 *
 * Since: 0.1
 */
struct CUctx_st *
memra_context_get_cuda_context (MemraContext *context)
{
  g_return_val_if_fail (context != NULL, NULL);

  return context->cuda;
}

/**
 * memra_context_get_ordinal:
 * @context: a context
 *
 * Gets the device that the context is of, counted from 0.
 *
 * Returns: the ordinal
 *
 * Since: 0.1
 */
gint
memra_context_get_ordinal (MemraContext *context)
{
  g_return_val_if_fail (context != NULL, 0);

  return context->ordinal;
}

/**
 * memra_context_get_event_tracking:
 * @context: a context
 *
 * Says whether buffers allocated from now on will carry events.
 *
 * Returns: the setting
 *
 * Since: 0.1
 */
gboolean
memra_context_get_event_tracking (MemraContext *context)
{
  g_return_val_if_fail (context != NULL, FALSE);

  return g_atomic_int_get (&context->tracking);
}

/**
 * memra_context_set_event_tracking:
 * @context: a context
 * @tracking: whether buffers allocated from now on carry events
 *
 * With tracking on, as at start, a buffer owns events that order the streams which use it. Such events are recorded
 * outside of a capture and cannot be waited on inside one, so captures refuse a context with tracking on and any buffer
 * that carries events: switch tracking off before buffer allocation. The setting does not touch existing buffers.
 * Any thread; makes no driver call.
 *
 * Since: 0.1
 */
void
memra_context_set_event_tracking (MemraContext *context, gboolean tracking)
{
  g_return_if_fail (context != NULL);

  g_atomic_int_set (&context->tracking, tracking != FALSE);
}

/**
 * memra_context_synchronize:
 * @context: a context
 * @error: return location for an error
 *
 * Waits for all work of the context. Illegal while any stream of the context is being captured, in every mode and from
 * every thread: the driver answers 900 and breaks those captures. Any thread; the thread's current context stays.
 *
 * Errors: %MEMRA_DRIVER_ERROR_CAPTURE_BROKEN, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_context_synchronize (MemraContext *context, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  McuResult result;

  g_return_val_if_fail (context != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    result = context->driver->cu.cuCtxSynchronize ();
  return result == MCU_SUCCESS
         || _memra_driver_set_error (context->driver, error, result, "Could not wait for device %d", context->ordinal);
}

McuResult
_memra_context_enter (MemraContext *context, MemraCurrent *current)
{
  const MemraDriverTable *cu = &context->driver->cu;
  CUcontext previous = NULL;
  McuResult result;

  current->context = NULL;
  result = cu->cuCtxGetCurrent (&previous);
  if (result == MCU_SUCCESS && previous != context->cuda)
    result = cu->cuCtxPushCurrent (context->cuda);
  if (result != MCU_SUCCESS)
    return result;

  current->context = context;
  current->previous = previous;
  return MCU_SUCCESS;
}

void
_memra_context_reenter (MemraCurrent *current)
{
  const MemraDriverTable *cu;
  CUcontext now = NULL;

  if (current->context == NULL)
    return;
  cu = &current->context->driver->cu;
  if (cu->cuCtxGetCurrent (&now) == MCU_SUCCESS && now != current->context->cuda)
    cu->cuCtxSetCurrent (current->context->cuda);
}

void
_memra_context_leave (MemraCurrent *current)
{
  const MemraDriverTable *cu;
  gboolean look = current->foreign;
  CUcontext now = NULL;

  if (current->context == NULL)
    return;
  cu = &current->context->driver->cu;
  if (current->previous != current->context->cuda && cu->cuCtxPopCurrent (&now) != MCU_SUCCESS)
    look = TRUE;
  if (look && cu->cuCtxGetCurrent (&now) == MCU_SUCCESS && now != current->previous)
    cu->cuCtxSetCurrent (current->previous);
  current->context = NULL;
}

void
_memra_thread_mode_relax (MemraDriver *driver, MemraThreadMode *mode)
{
  mode->mode = MCU_CAPTURE_MODE_RELAXED;
  mode->driver = driver->cu.cuThreadExchangeStreamCaptureMode (&mode->mode) == MCU_SUCCESS ? driver : NULL;
}

void
_memra_thread_mode_restore (MemraThreadMode *mode)
{
  if (mode->driver != NULL)
    mode->driver->cu.cuThreadExchangeStreamCaptureMode (&mode->mode);
  mode->driver = NULL;
}

gboolean
_memra_context_require_same (MemraContext *a, const char *what_a, MemraContext *b, const char *what_b, GError **error)
{
  if (a == b || a->cuda == b->cuda)
    return TRUE;
  if (a->ordinal != b->ordinal)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_WRONG_CONTEXT,
                                 "The %s belongs to device %d and the %s to device %d; use objects of one context together",
                                 what_a, a->ordinal, what_b, b->ordinal);
  return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_WRONG_CONTEXT,
                               "The %s and the %s belong to two contexts of device %d; use objects of one context together",
                               what_a, what_b, a->ordinal);
}
