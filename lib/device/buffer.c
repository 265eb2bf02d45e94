/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Device memory, and copies that wait. */
#include "config.h"

#include "buffer-private.h"

/**
 * memra_buffer_new:
 * @stream: a stream of the context to allocate in; its work is not waited for
 * @size: bytes, at least 1
 * @error: return location for an error
 *
 * Allocates device memory at once, also while @stream is being captured (the allocation is not recorded). The contents
 * are undefined. With event tracking on, the buffer carries events for as long as it lives, and no capture will take it.
 *
 * Errors: %MEMRA_DRIVER_ERROR_OUT_OF_MEMORY, _BROKEN_CONTEXT, _FAILED. Any thread; breaks no capture.
 *
 * Returns: (transfer full): the buffer
 *
 * Since: 0.1
 */
MemraBuffer *
memra_buffer_new (MemraStream *stream, gsize size, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  MemraContext *context;
  MemraBuffer *buffer;
  CUdeviceptr address = 0;
  CUevent write_event = NULL;
  gboolean tracking;
  McuResult result;

  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (size > 0, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  context = stream->context;
  tracking = memra_context_get_event_tracking (context);
  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    {
      _memra_thread_mode_relax (context->driver, &mode);
      result = context->driver->cu.cuMemAlloc (&address, size);
      if (result == MCU_SUCCESS && tracking)
        {
          result = context->driver->cu.cuEventCreate (&write_event, MCU_EVENT_DISABLE_TIMING);
          if (result != MCU_SUCCESS)
            context->driver->cu.cuMemFree (address);
        }
    }
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (context->driver, error, result, "Could not allocate %" G_GSIZE_FORMAT " bytes on device %d", size,
                               context->ordinal);
      return NULL;
    }

  buffer = g_new0 (MemraBuffer, 1);
  g_atomic_ref_count_init (&buffer->ref_count);
  buffer->context = memra_context_ref (context);
  buffer->address = address;
  buffer->size = size;
  buffer->carries_events = tracking;
  buffer->write_event = write_event;
  pthread_mutex_init (&buffer->lock, NULL);
  if (tracking)
    {
      buffer->readers = g_array_new (FALSE, FALSE, sizeof (MemraReader));
      buffer->idle_readers = g_array_new (FALSE, FALSE, sizeof (MemraReader));
    }
  return buffer;
}

/**
 * memra_buffer_new_from_host:
 * @stream: the stream to copy in; it is waited for
 * @data: (array length=size) (element-type guint8): bytes to copy
 * @size: bytes, at least 1
 * @error: return location for an error
 *
 * Allocates device memory as memra_buffer_new() does and copies @data into it; @data can be freed on return. Refused
 * while @stream is being captured.
 *
 * Errors: as memra_buffer_new() and memra_buffer_copy_from_host().
 *
 * Returns: (transfer full): the buffer
 *
 * Since: 0.1
 */
MemraBuffer *
memra_buffer_new_from_host (MemraStream *stream, gconstpointer data, gsize size, GError **error)
{
  g_autoptr (MemraBuffer) buffer = NULL;

  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (data != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!_memra_stream_require_not_capturing (stream, "copy from the host", error))
    return NULL;
  buffer = memra_buffer_new (stream, size, error);
  if (buffer == NULL || !memra_buffer_copy_from_host (buffer, 0, data, size, stream, error))
    return NULL;
  return g_steal_pointer (&buffer);
}

/**
 * memra_buffer_ref:
 * @buffer: a buffer
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @buffer
 *
 * Since: 0.1
 */
MemraBuffer *
memra_buffer_ref (MemraBuffer *buffer)
{
  g_return_val_if_fail (buffer != NULL, NULL);

  g_atomic_ref_count_inc (&buffer->ref_count);
  return buffer;
}

static void
destroy_readers (MemraBuffer *buffer, GArray *readers)
{
  if (readers == NULL)
    return;
  for (guint i = 0; i < readers->len; i++)
    buffer->context->driver->cu.cuEventDestroy (g_array_index (readers, MemraReader, i).event);
  g_array_unref (readers);
}

/**
 * memra_buffer_unref:
 * @buffer: (transfer full) (nullable): a buffer
 *
 * Drops a reference; the last one frees the memory, for which the driver waits for work that may use it. A buffer that
 * was acquired under capture is held by the capture. Any thread; breaks no capture.
 *
 * Since: 0.1
 */
void
memra_buffer_unref (MemraBuffer *buffer)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  McuResult result;

  if (buffer == NULL || !g_atomic_ref_count_dec (&buffer->ref_count))
    return;

  result = _memra_context_enter (buffer->context, &current);
  _memra_thread_mode_relax (buffer->context->driver, &mode);
  if (result == MCU_SUCCESS)
    result = buffer->context->driver->cu.cuMemFree (buffer->address);
  if (result != MCU_SUCCESS)
    g_debug ("freeing a buffer of %" G_GSIZE_FORMAT " bytes answered %d", buffer->size, result);
  if (buffer->write_event != NULL)
    buffer->context->driver->cu.cuEventDestroy (buffer->write_event);
  destroy_readers (buffer, buffer->readers);
  destroy_readers (buffer, buffer->idle_readers);
  _memra_thread_mode_restore (&mode);
  _memra_context_leave (&current);

  pthread_mutex_destroy (&buffer->lock);
  memra_context_unref (buffer->context);
  g_free (buffer);
}

/**
 * memra_buffer_get_size:
 * @buffer: a buffer
 *
 * Gets the size in bytes.
 *
 * Returns: the size
 *
 * Since: 0.1
 */
gsize
memra_buffer_get_size (MemraBuffer *buffer)
{
  g_return_val_if_fail (buffer != NULL, 0);

  return buffer->size;
}

/**
 * memra_buffer_get_address:
 * @buffer: a buffer
 *
 * Gets the device address without acquiring the buffer: nothing orders the access, and no capture keeps it alive.
 *
 * Returns: the address
 *
 * Since: 0.1
 */
guint64
memra_buffer_get_address (MemraBuffer *buffer)
{
  g_return_val_if_fail (buffer != NULL, 0);

  return buffer->address;
}

/**
 * memra_buffer_get_context:
 * @buffer: a buffer
 *
 * Gets the context that the buffer is of.
 *
 * Returns: (transfer none): the context, owned by @buffer
 *
 * Since: 0.1
 */
MemraContext *
memra_buffer_get_context (MemraBuffer *buffer)
{
  g_return_val_if_fail (buffer != NULL, NULL);

  return buffer->context;
}

/**
 * memra_buffer_carries_events:
 * @buffer: a buffer
 *
 * Says whether the buffer was allocated with event tracking on, and so cannot be used in a capture.
 *
 * Returns: %TRUE if it carries events
 *
 * Since: 0.1
 */
gboolean
memra_buffer_carries_events (MemraBuffer *buffer)
{
  g_return_val_if_fail (buffer != NULL, FALSE);

  return buffer->carries_events;
}

static gboolean
check_range (MemraBuffer *buffer, gsize offset, gsize size, const char *what, GError **error)
{
  if (offset <= buffer->size && size <= buffer->size - offset)
    return TRUE;
  return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT,
                               "Could not %s: bytes %" G_GSIZE_FORMAT " to %" G_GSIZE_FORMAT " of a buffer of %" G_GSIZE_FORMAT, what,
                               offset, offset + size, buffer->size);
}

/* Ends the access, and makes the caller's error, if there is one already, win over the access's. */
static gboolean
finish (MemraBuffer *buffer, MemraAccess *access, McuResult result, const char *what, GError **error)
{
  if (result != MCU_SUCCESS)
    {
      memra_access_clear (access);
      return _memra_driver_set_error (buffer->context->driver, error, result, "Could not %s", what);
    }
  return memra_access_end (access, error);
}

/**
 * memra_buffer_copy_from_host:
 * @buffer: a buffer
 * @offset: where to copy to, in bytes
 * @data: (array length=size) (element-type guint8): bytes to copy
 * @size: bytes
 * @stream: the stream to copy in; it is waited for
 * @error: return location for an error
 *
 * Copies host memory into the buffer and waits for it. Refused while @stream is being captured: a captured copy would
 * read @data again at every replay. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, _WRONG_CONTEXT, _CAPTURING, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_buffer_copy_from_host (MemraBuffer *buffer, gsize offset, gconstpointer data, gsize size, MemraStream *stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  MemraAccess access = MEMRA_ACCESS_INIT;
  guint64 address;
  McuResult result;

  g_return_val_if_fail (buffer != NULL, FALSE);
  g_return_val_if_fail (data != NULL || size == 0, FALSE);
  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!check_range (buffer, offset, size, "copy from the host", error)
      || !_memra_stream_require_not_capturing (stream, "copy from the host", error))
    return FALSE;
  if (size == 0)
    return TRUE;
  address = memra_buffer_acquire_write (buffer, stream, &access, error);
  if (address == 0)
    return FALSE;
  result = _memra_context_enter (buffer->context, &current);
  if (result == MCU_SUCCESS)
    result = buffer->context->driver->cu.cuMemcpyHtoDAsync (address + offset, data, size, stream->cuda);
  return finish (buffer, &access, result, "copy from the host", error) && memra_stream_synchronize (stream, error);
}

/**
 * memra_buffer_copy_to_host:
 * @buffer: a buffer
 * @offset: where to copy from, in bytes
 * @data: (out caller-allocates) (array length=size) (element-type guint8): where to copy to
 * @size: bytes
 * @stream: the stream to copy in; it is waited for
 * @error: return location for an error
 *
 * Copies the buffer's contents to host memory and waits for them. Refused while @stream is being captured: nothing of
 * the capture has run yet, so there is nothing to read. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, _WRONG_CONTEXT, _CAPTURING, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_buffer_copy_to_host (MemraBuffer *buffer, gsize offset, gpointer data, gsize size, MemraStream *stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  MemraAccess access = MEMRA_ACCESS_INIT;
  guint64 address;
  McuResult result;

  g_return_val_if_fail (buffer != NULL, FALSE);
  g_return_val_if_fail (data != NULL || size == 0, FALSE);
  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!check_range (buffer, offset, size, "copy to the host", error)
      || !_memra_stream_require_not_capturing (stream, "copy to the host", error))
    return FALSE;
  if (size == 0)
    return TRUE;
  address = memra_buffer_acquire_read (buffer, stream, &access, error);
  if (address == 0)
    return FALSE;
  result = _memra_context_enter (buffer->context, &current);
  if (result == MCU_SUCCESS)
    result = buffer->context->driver->cu.cuMemcpyDtoHAsync (data, address + offset, size, stream->cuda);
  return finish (buffer, &access, result, "copy to the host", error) && memra_stream_synchronize (stream, error);
}

/**
 * memra_buffer_copy:
 * @destination: a buffer
 * @source: a buffer of the same size
 * @stream: the stream to copy in
 * @error: return location for an error
 *
 * Enqueues a device-to-device copy of all of @source. Legal under capture. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, _WRONG_CONTEXT, _EVENT_TRACKING, _CAPTURE_BROKEN, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_buffer_copy (MemraBuffer *destination, MemraBuffer *source, MemraStream *stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraAccess) reading = MEMRA_ACCESS_INIT;
  MemraAccess writing = MEMRA_ACCESS_INIT;
  guint64 from, to;
  McuResult result;

  g_return_val_if_fail (destination != NULL, FALSE);
  g_return_val_if_fail (source != NULL, FALSE);
  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (destination->size != source->size)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT,
                                 "Could not copy a buffer of %" G_GSIZE_FORMAT " bytes into one of %" G_GSIZE_FORMAT, source->size,
                                 destination->size);
  if (destination == source)
    return TRUE;
  from = memra_buffer_acquire_read (source, stream, &reading, error);
  to = from != 0 ? memra_buffer_acquire_write (destination, stream, &writing, error) : 0;
  if (to == 0)
    return FALSE;
  result = _memra_context_enter (destination->context, &current);
  if (result == MCU_SUCCESS)
    result = destination->context->driver->cu.cuMemcpyDtoDAsync (to, from, source->size, stream->cuda);
  return finish (destination, &writing, result, "copy between buffers", error) && memra_access_end (&reading, error);
}

/**
 * memra_buffer_zero:
 * @buffer: a buffer
 * @stream: the stream to fill in
 * @error: return location for an error
 *
 * Enqueues a fill of the whole buffer with zero bytes. Legal under capture. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_WRONG_CONTEXT, _EVENT_TRACKING, _CAPTURE_BROKEN, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_buffer_zero (MemraBuffer *buffer, MemraStream *stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  MemraAccess access = MEMRA_ACCESS_INIT;
  guint64 address;
  McuResult result;

  g_return_val_if_fail (buffer != NULL, FALSE);
  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  address = memra_buffer_acquire_write (buffer, stream, &access, error);
  if (address == 0)
    return FALSE;
  result = _memra_context_enter (buffer->context, &current);
  if (result == MCU_SUCCESS)
    result = buffer->context->driver->cu.cuMemsetD8Async (address, 0, buffer->size, stream->cuda);
  return finish (buffer, &access, result, "fill a buffer", error);
}
