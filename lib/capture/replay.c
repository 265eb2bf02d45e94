/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replays: checked and bare. */
#include "config.h"

#include "capture-private.h"

gboolean
_memra_layer_capture_fail_replay (MemraLayerCapture *capture, GError **error, MemraCaptureError code, McuResult result,
                                  MemraExecution execution, const char *what)
{
  MemraFailure failure = { .layer = capture->layer,
                           .sequence = capture->is_sequence,
                           .stage = MEMRA_CAPTURE_STAGE_REPLAY,
                           .result = result,
                           .execution = execution };

  return what != NULL ? _memra_capture_fail (capture->stream->context->driver, error, code, &failure, "%s", what)
                      : _memra_capture_fail (capture->stream->context->driver, error, code, &failure, NULL);
}

static gboolean
fail_dirty (MemraLayerCapture *capture, GError **error)
{
  return _memra_layer_capture_fail_replay (
      capture, error, MEMRA_CAPTURE_ERROR_DIRTY, MCU_SUCCESS, MEMRA_EXECUTION_NOT_EXECUTED,
      "an edit failed half way and could not be rolled back; memra_layer_capture_update() makes the capture whole "
      "again");
}

gboolean
_memra_layer_capture_fail_open (MemraLayerCapture *capture, GError **error)
{
  if (capture->exec != NULL)
    return fail_dirty (capture, error);
  return _memra_layer_capture_fail_replay (capture, error, MEMRA_CAPTURE_ERROR_CLOSED, MCU_SUCCESS,
                                           MEMRA_EXECUTION_NOT_EXECUTED,
                                           capture->is_sequence ? "the sequence was closed" : "the capture was closed");
}

static gboolean
check_locked (MemraLayerCapture *capture, GError **error)
{
  g_autoptr (GError) reason = NULL;

  if (!_memra_layer_capture_check_open (capture, error))
    return FALSE;
  if (_memra_census_check_allocations (capture->census, capture->stream->context->driver, &reason))
    return TRUE;
  return _memra_layer_capture_fail_replay (
      capture, error,
      g_error_matches (reason, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE) ? MEMRA_CAPTURE_ERROR_STALE
                                                                               : MEMRA_CAPTURE_ERROR_FAILED,
      memra_driver_error_get_cuda_result (reason), MEMRA_EXECUTION_NOT_EXECUTED, reason->message);
}

gboolean
_memra_layer_capture_launch_locked (MemraLayerCapture *capture, GError **error)
{
  McuResult result;

  if (!_memra_layer_capture_check_open (capture, error))
    return FALSE;
  capture->in_flight = TRUE;
  result = capture->stream->context->driver->cu.cuGraphLaunch (capture->exec, capture->stream->cuda);
  if (G_UNLIKELY (result == MCU_ERROR_INVALID_CONTEXT))
    {
      /* A driver that wants the context current, although the stream says which one it is (driver 580 does not). */
      g_auto (MemraCurrent) current = { 0 };

      result = _memra_context_enter (capture->stream->context, &current);
      if (result == MCU_SUCCESS)
        result = capture->stream->context->driver->cu.cuGraphLaunch (capture->exec, capture->stream->cuda);
    }
  if (G_UNLIKELY (result != MCU_SUCCESS))
    {
      MemraCaptureError code = _memra_capture_error_code (result);

      /* What a capture's own rules refuse has certainly not run. */
      return _memra_layer_capture_fail_replay (
          capture, error, code, result,
          code == MEMRA_CAPTURE_ERROR_BROKEN ? MEMRA_EXECUTION_NOT_EXECUTED : MEMRA_EXECUTION_UNKNOWN, NULL);
    }
  capture->replays++;
  return TRUE;
}

/* A launch into a stream that is being captured would break that capture. */
static inline gboolean
check_stream (MemraLayerCapture *capture, GError **error)
{
  int status;
  McuResult result = _memra_stream_status (capture->stream, &status);

  if (G_UNLIKELY (result != MCU_SUCCESS))
    return _memra_layer_capture_fail_replay (capture, error, _memra_capture_error_code (result), result,
                                             MEMRA_EXECUTION_NOT_EXECUTED, NULL);
  if (G_UNLIKELY (status != MCU_CAPTURE_STATUS_NONE))
    return _memra_layer_capture_fail_replay (capture, error, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MCU_SUCCESS,
                                             MEMRA_EXECUTION_NOT_EXECUTED,
                                             "its stream is being captured, and a launch would break that capture");
  return TRUE;
}

gboolean
_memra_layer_capture_check_stream (MemraLayerCapture *capture, GError **error)
{
  return check_stream (capture, error);
}

/**
 * memra_layer_capture_check:
 * @capture: a capture
 * @error: return location for an error
 *
 * Asks the driver whether every allocation that the graph points at is still the one that it pointed at when it was
 * captured: the same buffer id, base and size, and for mapped memory the same mapping. One query for each distinct
 * allocation, whatever the number of nodes. What no driver call can see is memory that a caching allocator took back
 * and gave to somebody else; memra_layer_capture_retain() is for that. Pageable host memory has no identity at all: a
 * graph that copies from or to it never passes. Any thread; legal while others capture.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_STALE, with the kernel, the argument and what has become of the allocation; _CLOSED;
 * _DIRTY; _FAILED.
 *
 * Returns: %TRUE if the capture can be replayed
 *
 * Since: 0.1
 */
gboolean
memra_layer_capture_check (MemraLayerCapture *capture, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  gboolean ok;

  g_return_val_if_fail (capture != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  _memra_context_enter (capture->stream->context, &current);
  pthread_mutex_lock (&capture->lock);
  ok = check_locked (capture, error);
  pthread_mutex_unlock (&capture->lock);
  return ok;
}

/**
 * memra_layer_capture_replay:
 * @capture: a capture
 * @error: return location for an error
 *
 * Checks the capture as memra_layer_capture_check() does, and launches it into its stream. It does not wait. A launch
 * follows earlier work in the stream and the previous launch of the same capture. Any thread; not into a stream that is
 * being captured.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_STALE, _CLOSED, _DIRTY, _NOT_CAPTURABLE (all: nothing was launched), _BROKEN, _FAILED;
 * memra_capture_error_get_execution() says whether it may have run.
 *
 * Returns: %TRUE if the launch was accepted
 *
 * Since: 0.1
 */
gboolean
memra_layer_capture_replay (MemraLayerCapture *capture, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  gboolean ok;

  g_return_val_if_fail (capture != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  _memra_context_enter (capture->stream->context, &current);
  pthread_mutex_lock (&capture->lock);
  ok = check_locked (capture, error) && check_stream (capture, error)
       && _memra_layer_capture_launch_locked (capture, error);
  pthread_mutex_unlock (&capture->lock);
  return ok;
}

/**
 * memra_layer_capture_launch:
 * @capture: a capture
 * @error: return location for an error
 *
 * Launches without any check, for hot paths whose owner answers for every address in the graph and for the stream: one
 * that is being captured refuses the launch and its capture breaks (900). Else as memra_layer_capture_replay().
 *
 * Returns: %TRUE if the launch was accepted
 *
 * Since: 0.1
 */
gboolean
memra_layer_capture_launch (MemraLayerCapture *capture, GError **error)
{
  gboolean ok;

  g_return_val_if_fail (capture != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  pthread_mutex_lock (&capture->lock);
  ok = _memra_layer_capture_launch_locked (capture, error);
  pthread_mutex_unlock (&capture->lock);
  return ok;
}
