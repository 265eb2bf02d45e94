/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Access to buffers, and the order that a buffer's events keep between streams: a read follows the last write, a write
 * follows the last write and every read since. Events are recorded outside of captures, where alone they are legal.
 */
#include "config.h"

#include "buffer-private.h"

static void
ref_buffer (gpointer buffer)
{
  memra_buffer_ref (buffer);
}

static void
unref_buffer (gpointer buffer)
{
  memra_buffer_unref (buffer);
}

/* An event that was recorded before a capture breaks it when waited for inside (905), and one recorded inside is of no
 * use outside (907): so a buffer with events and a capture do not go together, whatever the context's setting says now. */
static gboolean
refuse_under_capture (MemraBuffer *buffer, MemraStream *stream, GError **error)
{
  g_autoptr (GError) refusal = NULL;
  MemraRecording *recording;
  int status;
  McuResult result = _memra_stream_status (stream, &status);

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (buffer->context->driver, error, result, "Could not acquire a buffer");
  if (status == MCU_CAPTURE_STATUS_NONE)
    return TRUE;

  _memra_driver_refuse (&refusal, MEMRA_DRIVER_ERROR_EVENT_TRACKING,
                        "Buffer of %" G_GSIZE_FORMAT " bytes carries events and cannot be used in a capture; switch event "
                        "tracking off before buffer allocation",
                        buffer->size);
  recording = _memra_stream_find_recording (stream);
  if (recording != NULL)
    _memra_recording_refuse (recording, refusal);
  g_propagate_error (error, g_steal_pointer (&refusal));
  return FALSE;
}

/* Makes the stream wait for what the access must follow. Called with the buffer locked and its context current. */
static McuResult
wait_for_others (MemraBuffer *buffer, MemraStream *stream, gboolean write)
{
  const MemraDriverTable *cu = &buffer->context->driver->cu;
  McuResult result = MCU_SUCCESS;

  if (buffer->written && buffer->writer != stream->serial)
    result = cu->cuStreamWaitEvent (stream->cuda, buffer->write_event, 0);
  for (guint i = 0; write && result == MCU_SUCCESS && i < buffer->readers->len; i++)
    {
      const MemraReader *reader = &g_array_index (buffer->readers, MemraReader, i);

      if (reader->stream != stream->serial)
        result = cu->cuStreamWaitEvent (stream->cuda, reader->event, 0);
    }
  return result;
}

static guint64
acquire (MemraBuffer *buffer, MemraStream *stream, gboolean write, MemraAccess *access, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  McuResult result = MCU_SUCCESS;

  if (!_memra_context_require_same (buffer->context, "buffer", stream->context, "stream", error))
    return 0;

  if (buffer->carries_events)
    {
      if (!refuse_under_capture (buffer, stream, error))
        return 0;
      result = _memra_context_enter (buffer->context, &current);
      if (result == MCU_SUCCESS)
        {
          pthread_mutex_lock (&buffer->lock);
          result = wait_for_others (buffer, stream, write);
          pthread_mutex_unlock (&buffer->lock);
        }
      if (result != MCU_SUCCESS)
        {
          _memra_driver_set_error (buffer->context->driver, error, result, "Could not order a buffer's access");
          return 0;
        }
    }
  else
    {
      MemraRecording *recording = _memra_stream_find_recording (stream);

      if (recording != NULL)
        _memra_recording_retain (recording, buffer, ref_buffer, unref_buffer, NULL);
    }

  access->buffer = memra_buffer_ref (buffer);
  access->stream = memra_stream_ref (stream);
  access->write = write;
  return buffer->address;
}

/**
 * memra_buffer_acquire_read:
 * @buffer: a buffer
 * @stream: the stream that will read it
 * @access: (out caller-allocates): an access, not in use
 * @error: return location for an error
 *
 * Opens a read access: work enqueued into @stream until memra_access_end() may read the buffer. If the buffer carries
 * events, @stream waits for the last write of other streams, and nothing may be captured; if it carries none, the
 * caller orders the streams, and a capture that is open in @stream keeps the buffer alive. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_WRONG_CONTEXT, _EVENT_TRACKING (refused under capture; nothing was enqueued), _FAILED.
 *
 * Returns: the device address, or 0 on error, with @access untouched
 *
 * Since: 0.1
 */
guint64
memra_buffer_acquire_read (MemraBuffer *buffer, MemraStream *stream, MemraAccess *access, GError **error)
{
  g_return_val_if_fail (buffer != NULL, 0);
  g_return_val_if_fail (stream != NULL, 0);
  g_return_val_if_fail (access != NULL && access->buffer == NULL, 0);
  g_return_val_if_fail (error == NULL || *error == NULL, 0);

  return acquire (buffer, stream, FALSE, access, error);
}

/**
 * memra_buffer_acquire_write:
 * @buffer: a buffer
 * @stream: the stream that will write it
 * @access: (out caller-allocates): an access, not in use
 * @error: return location for an error
 *
 * Opens a write access (which may also read). As memra_buffer_acquire_read(), but a buffer with events makes @stream
 * wait for the reads of other streams too.
 *
 * Returns: the device address, or 0 on error, with @access untouched
 *
 * Since: 0.1
 */
guint64
memra_buffer_acquire_write (MemraBuffer *buffer, MemraStream *stream, MemraAccess *access, GError **error)
{
  g_return_val_if_fail (buffer != NULL, 0);
  g_return_val_if_fail (stream != NULL, 0);
  g_return_val_if_fail (access != NULL && access->buffer == NULL, 0);
  g_return_val_if_fail (error == NULL || *error == NULL, 0);

  return acquire (buffer, stream, TRUE, access, error);
}

static McuResult
record_read (MemraBuffer *buffer, MemraStream *stream)
{
  const MemraDriverTable *cu = &buffer->context->driver->cu;
  MemraReader reader = { .stream = stream->serial };
  McuResult result;

  for (guint i = 0; i < buffer->readers->len; i++)
    if (g_array_index (buffer->readers, MemraReader, i).stream == stream->serial)
      return cu->cuEventRecord (g_array_index (buffer->readers, MemraReader, i).event, stream->cuda);

  if (buffer->idle_readers->len > 0)
    {
      reader.event = g_array_index (buffer->idle_readers, MemraReader, buffer->idle_readers->len - 1).event;
      g_array_set_size (buffer->idle_readers, buffer->idle_readers->len - 1);
    }
  else
    {
      result = cu->cuEventCreate (&reader.event, MCU_EVENT_DISABLE_TIMING);
      if (result != MCU_SUCCESS)
        return result;
    }
  result = cu->cuEventRecord (reader.event, stream->cuda);
  g_array_append_val (result == MCU_SUCCESS ? buffer->readers : buffer->idle_readers, reader);
  return result;
}

static McuResult
record_write (MemraBuffer *buffer, MemraStream *stream)
{
  McuResult result = buffer->context->driver->cu.cuEventRecord (buffer->write_event, stream->cuda);

  if (result != MCU_SUCCESS)
    return result;
  buffer->written = TRUE;
  buffer->writer = stream->serial;
  if (buffer->readers->len > 0)
    g_array_append_vals (buffer->idle_readers, buffer->readers->data, buffer->readers->len);
  g_array_set_size (buffer->readers, 0); /* the write waited for them */
  return MCU_SUCCESS;
}

/**
 * memra_access_end:
 * @access: an access; one that is not in use is left alone
 * @error: return location for an error
 *
 * Closes an access: work enqueued into its stream from now on no longer belongs to it. If the buffer carries events,
 * one is recorded in the stream. The access can be used again afterwards, also on error. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_FAILED, _BROKEN_CONTEXT: later accesses may then not be ordered after this one.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_access_end (MemraAccess *access, GError **error)
{
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_auto (MemraCurrent) current = { 0 };
  McuResult result;

  g_return_val_if_fail (access != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  buffer = g_steal_pointer (&access->buffer);
  stream = g_steal_pointer (&access->stream);
  if (buffer == NULL || !buffer->carries_events)
    return TRUE;

  result = _memra_context_enter (buffer->context, &current);
  if (result == MCU_SUCCESS)
    {
      pthread_mutex_lock (&buffer->lock);
      result = access->write ? record_write (buffer, stream) : record_read (buffer, stream);
      pthread_mutex_unlock (&buffer->lock);
    }
  return result == MCU_SUCCESS
         || _memra_driver_set_error (buffer->context->driver, error, result, "Could not record the end of a buffer's access");
}

/**
 * memra_access_clear:
 * @access: an access
 *
 * As memra_access_end(), for scopes that are left early: an error is only logged.
 *
 * Since: 0.1
 */
void
memra_access_clear (MemraAccess *access)
{
  g_autoptr (GError) error = NULL;

  g_return_if_fail (access != NULL);

  if (!memra_access_end (access, &error))
    g_debug ("%s", error->message);
}
