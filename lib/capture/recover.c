/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Getting a stream out of a capture that somebody left open. */
#include "config.h"

#include "capture-private.h"

/**
 * memra_stream_recover:
 * @stream: a stream that an abandoned or broken capture may have been left open on
 * @error: return location for an error
 *
 * Ends whatever capture the stream began, throws its graph away, and makes sure that the stream is usable again. On a
 * stream that is not being captured it does nothing. Call it on the thread that began the capture, unless that was
 * relaxed. A stream that only joined another's capture is out when that one is ended.
 *
 * Errors: %MEMRA_DRIVER_ERROR_CAPTURE_BROKEN, _BROKEN_CONTEXT, _FAILED: the stream is still in a capture; destroying it
 * is what remains.
 *
 * Returns: %TRUE if the stream is out of capture
 *
 * Since: 0.1
 */
gboolean
memra_stream_recover (MemraStream *stream, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  result = _memra_context_enter (stream->context, &current);
  if (result == MCU_SUCCESS && _memra_stream_leave_capture (stream, &result))
    return TRUE;
  return _memra_driver_set_error (stream->context->driver, error, result, "The stream could not be brought out of its capture");
}
