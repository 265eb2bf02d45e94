/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "device-private.h"

static guint64
next_serial (void)
{
  static guint64 serial;

  return __atomic_add_fetch (&serial, 1, __ATOMIC_RELAXED);
}

static MemraStream *
stream_new (MemraContext *context, CUstream cuda, gint flags, gboolean owned)
{
  MemraStream *stream = g_new0 (MemraStream, 1);

  g_atomic_ref_count_init (&stream->ref_count);
  stream->context = memra_context_ref (context);
  stream->cuda = cuda;
  stream->serial = next_serial ();
  stream->flags = flags;
  stream->owned = owned;
  stream->legacy = !owned && (cuda == NULL || cuda == MCU_STREAM_LEGACY);
  return stream;
}

/**
 * memra_stream_new:
 * @context: a context
 * @flags: how the stream stands to the legacy stream
 * @error: return location for an error
 *
 * Creates a stream. Any thread; legal while others capture; the thread's current context stays.
 *
 * Errors: %MEMRA_DRIVER_ERROR_OUT_OF_MEMORY, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: (transfer full): the stream
 *
 * Since: 0.1
 */
MemraStream *
memra_stream_new (MemraContext *context, MemraStreamFlags flags, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  CUstream cuda = NULL;
  McuResult result;

  g_return_val_if_fail (context != NULL, NULL);
  g_return_val_if_fail (flags == MEMRA_STREAM_BLOCKING || flags == MEMRA_STREAM_NON_BLOCKING, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    result = context->driver->cu.cuStreamCreate (&cuda, flags);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (context->driver, error, result, "Could not create a stream on device %d", context->ordinal);
      return NULL;
    }
  return stream_new (context, cuda, flags, TRUE);
}

/**
 * memra_stream_wrap:
 * @context: the context that the stream is of
 * @cuda_stream: (nullable): a CUstream or cudaStream_t, which must outlive the returned object and every capture made
 *   with it; %NULL and CU_STREAM_LEGACY are the legacy stream
 * @error: return location for an error
 *
 * Uses a stream that somebody else made and destroys. Any thread; legal under capture.
 *
 * Errors: %MEMRA_DRIVER_ERROR_WRONG_CONTEXT, _FAILED.
 *
 * Returns: (transfer full): the stream
 *
 * Since: 0.1
 */
MemraStream *
memra_stream_wrap (MemraContext *context, struct CUstream_st *cuda_stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  MemraDriver *driver;
  CUcontext owner = NULL;
  McuResult result;

  g_return_val_if_fail (context != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  /* The legacy and the per-thread stream are of whatever context is current; and beside a blocking capture the driver
   * answers 906 to questions about the legacy one. */
  if (cuda_stream == NULL || cuda_stream == MCU_STREAM_LEGACY || cuda_stream == MCU_STREAM_PER_THREAD)
    return stream_new (context, cuda_stream, MEMRA_STREAM_BLOCKING, FALSE);

  driver = context->driver;
  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    result = driver->cu.cuStreamGetCtx (cuda_stream, &owner);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (driver, error, result, "Could not use the given stream");
      return NULL;
    }
  if (owner != context->cuda)
    {
      _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_WRONG_CONTEXT,
                            "The given stream belongs to another context than the one it is wrapped for (device %d)",
                            context->ordinal);
      return NULL;
    }
  return stream_new (context, cuda_stream, MEMRA_FLAGS_UNKNOWN, FALSE);
}

/**
 * memra_stream_ref:
 * @stream: a stream
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @stream
 *
 * Since: 0.1
 */
MemraStream *
memra_stream_ref (MemraStream *stream)
{
  g_return_val_if_fail (stream != NULL, NULL);

  g_atomic_ref_count_inc (&stream->ref_count);
  return stream;
}

/**
 * memra_stream_unref:
 * @stream: (transfer full) (nullable): a stream
 *
 * Drops a reference; the last one destroys a stream of memra_stream_new(), whose pending work still completes. A layer
 * capture holds a reference to its stream. Any thread.
 *
 * Since: 0.1
 */
void
memra_stream_unref (MemraStream *stream)
{
  g_auto (MemraCurrent) current = { 0 };

  if (stream == NULL || !g_atomic_ref_count_dec (&stream->ref_count))
    return;

  if (stream->owned)
    {
      McuResult result = _memra_context_enter (stream->context, &current);

      if (result == MCU_SUCCESS)
        result = stream->context->driver->cu.cuStreamDestroy (stream->cuda);
      if (result != MCU_SUCCESS)
        g_debug ("destroying a stream answered %d", result);
      _memra_context_leave (&current);
    }
  memra_context_unref (stream->context);
  g_free (stream);
}

/**
 * memra_stream_get_context:
 * @stream: a stream
 *
 * Gets the context that the stream is of.
 *
 * Returns: (transfer none): the context, owned by @stream
 *
 * Since: 0.1
 */
MemraContext *
memra_stream_get_context (MemraStream *stream)
{
  g_return_val_if_fail (stream != NULL, NULL);

  return stream->context;
}

/**
 * memra_stream_get_cuda_stream:
 * @stream: a stream
 *
 * Gets the CUstream, for calls of one's own.
 *
 * Returns: (transfer none) (nullable): the handle; for the legacy stream the one it was wrapped by, perhaps %NULL
 *
 * Since: 0.1
 */
struct CUstream_st *
memra_stream_get_cuda_stream (MemraStream *stream)
{
  g_return_val_if_fail (stream != NULL, NULL);

  return stream->cuda;
}

McuResult
_memra_stream_learn_flags (MemraStream *stream, MemraStreamFlags *flags)
{
  gint known = g_atomic_int_get (&stream->flags);
  unsigned answer = MCU_STREAM_DEFAULT;
  int status;
  McuResult result = MCU_SUCCESS;

  *flags = MEMRA_STREAM_BLOCKING;
  if (known == MEMRA_FLAGS_UNKNOWN)
    {
      /* cuStreamGetFlags breaks the capture of a stream that it is asked about (900; measured, driver 580). */
      result = _memra_stream_status (stream, &status);
      if (result == MCU_SUCCESS && status != MCU_CAPTURE_STATUS_NONE)
        result = MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      if (result == MCU_SUCCESS)
        result = stream->context->driver->cu.cuStreamGetFlags (stream->cuda, &answer);
      if (result != MCU_SUCCESS)
        return result;
      known = answer & MCU_STREAM_NON_BLOCKING ? MEMRA_STREAM_NON_BLOCKING : MEMRA_STREAM_BLOCKING;
      g_atomic_int_set (&stream->flags, known);
    }
  *flags = (MemraStreamFlags) known;
  return MCU_SUCCESS;
}

/**
 * memra_stream_get_flags:
 * @stream: a stream
 *
 * Says how the stream stands to the legacy stream. Of a wrapped stream that is being captured this cannot be asked without
 * breaking the capture; if it has not been asked before, such a stream counts as blocking. Any thread.
 *
 * Returns: the flags
 *
 * Since: 0.1
 */
MemraStreamFlags
memra_stream_get_flags (MemraStream *stream)
{
  MemraStreamFlags flags;

  g_return_val_if_fail (stream != NULL, MEMRA_STREAM_BLOCKING);

  _memra_stream_learn_flags (stream, &flags);
  return flags;
}

/**
 * memra_stream_is_legacy:
 * @stream: a stream
 *
 * Says whether this is the legacy default stream, which cannot be captured.
 *
 * Returns: %TRUE for the legacy stream
 *
 * Since: 0.1
 */
gboolean
memra_stream_is_legacy (MemraStream *stream)
{
  g_return_val_if_fail (stream != NULL, FALSE);

  return stream->legacy;
}

McuResult
_memra_stream_status (MemraStream *stream, int *status)
{
  g_auto (MemraCurrent) current = { 0 };
  McuResult result;

  *status = MCU_CAPTURE_STATUS_NONE;
  if (stream->cuda != NULL && stream->cuda != MCU_STREAM_LEGACY && stream->cuda != MCU_STREAM_PER_THREAD)
    return stream->context->driver->cu.cuStreamIsCapturing (stream->cuda, status);

  result = _memra_context_enter (stream->context, &current);
  if (result == MCU_SUCCESS)
    result = stream->context->driver->cu.cuStreamIsCapturing (stream->cuda, status);
  /* 906: a blocking stream of this context is being captured. The legacy stream itself never is. */
  return result == MCU_ERROR_STREAM_CAPTURE_IMPLICIT && stream->legacy ? MCU_SUCCESS : result;
}

/**
 * memra_stream_get_capture_status:
 * @stream: a stream
 * @status: (out): return location for the status
 * @error: return location for an error
 *
 * Asks the driver whether the stream is being captured, by whomever. The legacy stream never is. Any thread; legal
 * under capture, and the only question about a stream that is.
 *
 * Errors: %MEMRA_DRIVER_ERROR_FAILED, _BROKEN_CONTEXT.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_stream_get_capture_status (MemraStream *stream, MemraCaptureStatus *status, GError **error)
{
  int value;
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (status != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  result = _memra_stream_status (stream, &value);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (stream->context->driver, error, result, "Could not get the stream's capture status");
  *status = (MemraCaptureStatus) value;
  return TRUE;
}

gboolean
_memra_stream_require_not_capturing (MemraStream *stream, const char *what, GError **error)
{
  int status;
  McuResult result = _memra_stream_status (stream, &status);

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (stream->context->driver, error, result, "Could not %s", what);
  if (status == MCU_CAPTURE_STATUS_NONE)
    return TRUE;
  return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_CAPTURING,
                               "Could not %s: the stream is being captured, and waiting for it would break the capture; "
                               "do it before the capture or after it",
                               what);
}

/**
 * memra_stream_synchronize:
 * @stream: a stream
 * @error: return location for an error
 *
 * Waits until all work in the stream is done. A stream that is being captured is refused before the driver is asked,
 * so the capture goes on unharmed. Any thread; breaks no capture of others.
 *
 * Errors: %MEMRA_DRIVER_ERROR_CAPTURING, _BROKEN_CONTEXT, _CAPTURE_BROKEN, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_stream_synchronize (MemraStream *stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!_memra_stream_require_not_capturing (stream, "wait for the stream", error))
    return FALSE;
  result = _memra_context_enter (stream->context, &current);
  if (result == MCU_SUCCESS)
    {
      _memra_thread_mode_relax (stream->context->driver, &mode);
      result = stream->context->driver->cu.cuStreamSynchronize (stream->cuda);
    }
  return result == MCU_SUCCESS
         || _memra_driver_set_error (stream->context->driver, error, result, "Could not wait for the stream");
}

/**
 * memra_stream_wait:
 * @stream: the stream that waits
 * @other: the stream that it waits for
 * @error: return location for an error
 *
 * Makes later work in @stream follow all work that is in @other now. Under capture this forks a capture into @stream
 * (when @other is being captured) or joins it back (when @stream is). Joining streams of a capture with streams outside
 * of it is an error of the driver (905) that breaks the capture. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_WRONG_CONTEXT, _CAPTURE_BROKEN, _OUT_OF_MEMORY, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_stream_wait (MemraStream *stream, MemraStream *other, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  const MemraDriverTable *cu;
  CUevent event = NULL;
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (other != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!_memra_context_require_same (stream->context, "waiting stream", other->context, "stream waited for", error))
    return FALSE;
  cu = &stream->context->driver->cu;
  result = _memra_context_enter (stream->context, &current);
  if (result == MCU_SUCCESS)
    result = cu->cuEventCreate (&event, MCU_EVENT_DISABLE_TIMING);
  if (result == MCU_SUCCESS)
    {
      result = cu->cuEventRecord (event, other->cuda);
      if (result == MCU_SUCCESS)
        result = cu->cuStreamWaitEvent (stream->cuda, event, 0);
      cu->cuEventDestroy (event); /* legal at once, also under capture: the driver keeps what the wait needs */
    }
  return result == MCU_SUCCESS
         || _memra_driver_set_error (stream->context->driver, error, result, "Could not make one stream wait for another");
}
