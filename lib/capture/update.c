/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Re-capturing a layer and updating the executable graph in place. */
#include "config.h"

#include "capture-private.h"

static const char *
describe_refusal (int result)
{
  switch (result)
    {
    case MCU_UPDATE_TOPOLOGY_CHANGED:
      return "the topology changed: nodes were added, removed or connected otherwise";
    case MCU_UPDATE_NODE_TYPE_CHANGED:
      return "a node became one of another type";
    case MCU_UPDATE_FUNCTION_CHANGED:
      return "a node launches another kernel";
    case MCU_UPDATE_PARAMETERS_CHANGED:
      return "a node's parameters changed in a way that cannot be updated";
    case MCU_UPDATE_NOT_SUPPORTED:
      return "something about a node cannot be updated at all";
    case MCU_UPDATE_UNSUPPORTED_FUNCTION_CHANGE:
      return "a node launches another kernel, and that one cannot take its place";
    case MCU_UPDATE_ATTRIBUTES_CHANGED:
      return "a node's attributes changed in a way that cannot be updated";
    default:
      return "the driver gives no reason";
    }
}

McuResult
_memra_layer_capture_update_exec (MemraLayerCapture *capture, CUgraph graph, MemraRefusal *refusal)
{
  const MemraDriverTable *cu = &capture->stream->context->driver->cu;
  McuUpdateResultInfo info = { 0 };
  McuResult result;

  if (cu->cuGraphExecUpdate_v2 == NULL)
    return cu->cuGraphExecUpdate (capture->exec, graph, &refusal->node, &refusal->result);
  result = cu->cuGraphExecUpdate_v2 (capture->exec, graph, &info);
  refusal->node = info.error_node;
  refusal->result = info.result;
  return result;
}

static gboolean
fail (MemraUpdate *update, MemraWork *work, GError **error, McuResult result, const MemraRefusal *refusal)
{
  MemraFailure failure = { .layer = update->capture->layer,
                           .sequence = update->capture->is_sequence,
                           .stage = MEMRA_CAPTURE_STAGE_UPDATE,
                           .result = result,
                           .partial = work->census };
  g_autofree char *node = NULL;

  if (result != MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
    return _memra_capture_fail (work->driver, error, _memra_capture_error_code (result), &failure, NULL);
  if (refusal->node != NULL)
    node = _memra_census_describe_node (work->driver, refusal->node);
  return _memra_capture_fail (
      work->driver, error, MEMRA_CAPTURE_ERROR_UPDATE_REFUSED, &failure, "%s%s%s; the %s",
      describe_refusal (refusal->result), node != NULL ? ": node " : "", node != NULL ? node : "",
      update->capture->is_sequence ? "sequence is as it was before: ask for re-instantiation"
                                   : "capture is as it was before: replay it, or ask for re-instantiation");
}

/* The new graph, census and kept objects take the place of the old; what the old body used may still be in flight. */
static void
take_over (MemraUpdate *update, MemraCaptureScope *scope, MemraWork *work)
{
  const MemraDriverTable *cu = &work->driver->cu;
  MemraLayerCapture *capture = update->capture;

  if (!capture->in_flight)
    update->replaced = g_steal_pointer (&capture->recording);
  else
    {
      if (capture->superseded == NULL)
        capture->superseded = g_ptr_array_new_with_free_func ((GDestroyNotify) _memra_recording_unref);
      g_ptr_array_add (capture->superseded, g_steal_pointer (&capture->recording));
    }
  capture->recording = g_steal_pointer (&scope->recording);

  cu->cuGraphDestroy (capture->graph);
  capture->graph = g_steal_pointer (&work->graph);
  memra_census_unref (capture->census);
  capture->census = g_steal_pointer (&work->census);
  capture->exec_is_older = work->exec == NULL;
  if (work->exec != NULL)
    {
      cu->cuGraphExecDestroy (capture->exec); /* legal while it runs: the launch completes */
      capture->exec = g_steal_pointer (&work->exec);
    }
  g_clear_pointer (&capture->kernel_nodes, g_free);
  _memra_layer_capture_changed (capture);
  capture->dirty = FALSE;
}

static gboolean
fail_closed (MemraLayerCapture *capture, GError **error)
{
  MemraFailure failure
      = { .layer = capture->layer, .sequence = capture->is_sequence, .stage = MEMRA_CAPTURE_STAGE_UPDATE };

  return _memra_capture_fail (capture->stream->context->driver, error, MEMRA_CAPTURE_ERROR_CLOSED, &failure,
                              capture->is_sequence ? "the sequence was closed" : "the capture was closed");
}

gboolean
_memra_update_locked (MemraUpdate *update, MemraCaptureScope *scope, MemraWork *work, GError **error)
{
  MemraRefusal refusal = { 0 };
  McuResult result;

  if (update->capture->exec == NULL) /* since the update began */
    return fail_closed (update->capture, error);
  result = _memra_layer_capture_update_exec (update->capture, work->graph, &refusal);
  update->outcome = MEMRA_UPDATE_UPDATED;
  if (result == MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE && update->flags & MEMRA_UPDATE_OR_REINSTANTIATE)
    {
      if (!_memra_work_instantiate (scope, work, error))
        return FALSE;
      update->outcome = MEMRA_UPDATE_REINSTANTIATED;
    }
  else if (result != MCU_SUCCESS)
    return fail (update, work, error, result, &refusal);
  take_over (update, scope, work);
  return TRUE;
}

/* Before the body runs: whether there is anything to update. What bodies before the last update used is let go as soon
 * as no launch can be using it, so that it does not pile up. */
gboolean
_memra_update_prepare (MemraLayerCapture *capture, GError **error)
{
  g_auto (MemraCurrent) current = { .foreign = TRUE }; /* what is let go calls functions of the caller */
  g_auto (MemraThreadMode) mode = { 0 };
  GPtrArray *superseded = NULL;
  gboolean open;
  McuResult ignored;

  _memra_context_enter (capture->stream->context, &current);
  _memra_thread_mode_relax (capture->stream->context->driver, &mode);
  pthread_mutex_lock (&capture->lock);
  open = capture->exec != NULL;
  if (open)
    _memra_layer_capture_prove_completion (capture, &ignored,
                                           &superseded); /* whatever it is, the update meets it, too */
  pthread_mutex_unlock (&capture->lock);
  g_clear_pointer (&superseded, g_ptr_array_unref);
  return open || fail_closed (capture, error);
}

static gpointer
finish_update (MemraCaptureScope *scope, CUgraph graph, gpointer data, GError **error)
{
  MemraUpdate *update = data;
  g_auto (MemraWork) work = { .driver = scope->stream->context->driver, .graph = graph };
  gboolean ok;

  if (!_memra_work_examine (scope, &work, error))
    return NULL;
  pthread_mutex_lock (&update->capture->lock);
  ok = _memra_update_locked (update, scope, &work, error);
  pthread_mutex_unlock (&update->capture->lock);
  return ok ? update : NULL;
}

void
_memra_update_release (MemraUpdate *update)
{
  g_auto (MemraCurrent) current = { .foreign = TRUE };
  g_auto (MemraThreadMode) mode = { 0 };

  if (update->replaced == NULL)
    return;
  _memra_context_enter (update->capture->stream->context, &current);
  _memra_thread_mode_relax (update->capture->stream->context->driver, &mode);
  _memra_recording_unref (update->replaced);
}

/**
 * memra_layer_capture_update:
 * @capture: a capture
 * @options: (nullable): options as for memra_capture_layer(); record only is implied
 * @flags: whether a refused update may be followed by a fresh instantiation
 * @body: (scope call): issues the layer's work anew
 * @user_data: data for @body
 * @outcome: (out) (optional): return location for what was done
 * @error: return location for an error
 *
 * Captures the layer again and brings the executable graph up to date in place, which is many times cheaper than
 * instantiating it. Nothing of the layer runs. On success the census and what the capture keeps alive are those of the
 * new graph; a census that was got before stays valid only with a reference of its own.
 *
 * If the driver refuses, the error gives its reason in words, with the node and its kernel, and the capture is as it
 * was. There is no silent second try: only %MEMRA_UPDATE_OR_REINSTANTIATE allows one, and @outcome says if it happened.
 *
 * Errors: those of memra_capture_layer(), %MEMRA_CAPTURE_ERROR_UPDATE_REFUSED, %MEMRA_CAPTURE_ERROR_CLOSED. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_layer_capture_update (MemraLayerCapture *capture, const MemraCaptureOptions *options, MemraUpdateFlags flags,
                            MemraLayerBody body, gpointer user_data, MemraUpdateOutcome *outcome, GError **error)
{
  MemraUpdate update = { .capture = capture, .flags = flags };

  g_return_val_if_fail (capture != NULL, FALSE);
  g_return_val_if_fail (body != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!_memra_update_prepare (capture, error))
    return FALSE;
  if (_memra_capture_run (capture->stream, capture->layer, options, body, user_data, finish_update, &update, error)
      == NULL)
    return FALSE;
  _memra_update_release (&update);
  if (outcome != NULL)
    *outcome = update.outcome;
  return TRUE;
}
