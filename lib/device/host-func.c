/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions of the caller in a stream, and who frees their data. */
#include "config.h"

#include "device-private.h"

/* A function that is called once. */
typedef struct
{
  MemraHostFunc func;
  gpointer data;
  GDestroyNotify destroy;
} Call;

/* How the capture that a stream is in stands. */
typedef struct
{
  int status;
  guint64 id;
  CUgraph graph; /* borrowed: being captured */
} CaptureState;

static void
run_call (void *user_data)
{
  Call *call = user_data;

  call->func (call->data);
  call->destroy (call->data);
  g_free (call);
}

static McuResult
ask_capture (MemraStream *stream, CaptureState *state)
{
  *state = (CaptureState){ .status = MCU_CAPTURE_STATUS_NONE };
  if (stream->legacy) /* never is, and beside a blocking capture the driver answers 906 */
    return MCU_SUCCESS;
  return stream->context->driver->cu.cuStreamGetCaptureInfo_v2 (stream->cuda, &state->status, &state->id, &state->graph,
                                                                NULL, NULL);
}

/* Outside of a capture: the data lives until the function has run. */
static McuResult
launch_once (MemraStream *stream, const Call *call)
{
  const MemraDriverTable *cu = &stream->context->driver->cu;
  McuResult result;
  Call *copy;

  if (call->destroy == NULL)
    return cu->cuLaunchHostFunc (stream->cuda, call->func, call->data);
  copy = g_memdup2 (call, sizeof *call);
  result = cu->cuLaunchHostFunc (stream->cuda, run_call, copy);
  if (result != MCU_SUCCESS)
    {
      call->destroy (call->data);
      g_free (copy);
    }
  return result;
}

/* In a capture of ours, which keeps the data as it keeps buffers. */
static McuResult
launch_recorded (MemraStream *stream, MemraRecording *recording, const Call *call)
{
  McuResult result = stream->context->driver->cu.cuLaunchHostFunc (stream->cuda, call->func, call->data);

  if (result == MCU_SUCCESS && call->destroy != NULL)
    _memra_recording_own (recording, call->data, call->destroy);
  else if (call->destroy != NULL)
    call->destroy (call->data);
  return result;
}

/* In somebody else's capture: the graph itself and everything made from it keep the data. */
static McuResult
launch_foreign (MemraStream *stream, CUgraph graph, const Call *call)
{
  const MemraDriverTable *cu = &stream->context->driver->cu;
  CUuserObject object = NULL;
  McuResult result;

  if (call->destroy != NULL)
    {
      result = cu->cuUserObjectCreate (&object, call->data, call->destroy, 1, MCU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
      if (result != MCU_SUCCESS)
        {
          call->destroy (call->data);
          return result;
        }
      result = cu->cuGraphRetainUserObject (graph, object, 1, MCU_GRAPH_USER_OBJECT_MOVE);
      if (result != MCU_SUCCESS)
        {
          cu->cuUserObjectRelease (object, 1); /* calls destroy */
          return result;
        }
    }
  return cu->cuLaunchHostFunc (stream->cuda, call->func, call->data);
}

static McuResult
launch (MemraStream *stream, const Call *call)
{
  CaptureState state;
  MemraRecording *recording;
  McuResult result = ask_capture (stream, &state);

  if (result == MCU_SUCCESS && state.status == MCU_CAPTURE_STATUS_INVALIDATED)
    result = MCU_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (result != MCU_SUCCESS)
    {
      if (call->destroy != NULL)
        call->destroy (call->data);
      return result;
    }
  if (state.status == MCU_CAPTURE_STATUS_NONE)
    return launch_once (stream, call);
  recording = _memra_context_find_recording (stream->context, state.id);
  return recording != NULL ? launch_recorded (stream, recording, call) : launch_foreign (stream, state.graph, call);
}

/**
 * memra_stream_host_func:
 * @stream: a stream
 * @func: (scope notified): called with @data on a thread of the driver when the stream gets there; it must not call
 * CUDA
 * @data: (closure func): data for @func
 * @destroy: (nullable): frees @data
 * @error: return location for an error
 *
 * Enqueues a call of a function. Later work in the stream waits for it. Legal under capture, where it is recorded as a
 * host node, and every replay calls @func.
 *
 * @data is taken over in any case, and @destroy is called with it exactly once:
 *
 * - in a capture of this library, when graph and executable graph are gone and every replay is complete, as for
 *   memra_layer_capture_retain(), on the thread that closes or drops the capture, ends it without success, or replaces
 *   the graph by another with memra_layer_capture_update();
 * - in somebody else's capture, when the last of the graph and everything made from it is gone, on whatever thread
 *   the driver chooses;
 * - outside of a capture, right after @func has run, on the driver's thread;
 * - if this call fails, before it returns. (In somebody else's capture that began well, at the latest with its graph.)
 *
 * A body may be run in any of these ways, so @destroy is best written to make no call of CUDA either. If the context
 * breaks before the stream gets to a function outside of a capture, the driver calls nothing, and @data is lost. Any
 * thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_CAPTURE_BROKEN, _OUT_OF_MEMORY, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_stream_host_func (MemraStream *stream, MemraHostFunc func, gpointer data, GDestroyNotify destroy, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  const Call call = { func, data, destroy };
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (func != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  result = _memra_context_enter (stream->context, &current);
  if (result == MCU_SUCCESS)
    result = launch (stream, &call);
  else if (destroy != NULL)
    destroy (data);
  return result == MCU_SUCCESS
         || _memra_driver_set_error (stream->context->driver, error, result, "Could not enqueue a host function");
}
