/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main job, in its two forms: around a body, and between two calls. */
#include "config.h"

#include "capture-private.h"

/* Everything that must be put back when control leaves, however it leaves: a C++ exception and a cancelled thread
 * unwind through here too, and run the cleanup of the frame that holds this. */
typedef struct
{
  MemraCaptureScope *scope; /* owned, nullable */
  MemraCurrent current;
  MemraThreadMode mode;     /* the caller's */
  gboolean in_body;
  GError *body_error;       /* owned, nullable */
} Guard;

/* Does nothing if the caller's mode could not be learned, since then it could not be put back either. */
static void
exchange_mode (Guard *guard, int mode)
{
  if (guard->mode.driver != NULL)
    guard->mode.driver->cu.cuThreadExchangeStreamCaptureMode (&mode);
}

static void
guard_clear (Guard *guard)
{
  if (guard->in_body)
    {
      _memra_body_leave ();
      exchange_mode (guard, MCU_CAPTURE_MODE_RELAXED); /* our own calls below must not break captures of others */
    }
  g_clear_error (&guard->body_error);
  g_clear_pointer (&guard->scope, _memra_scope_free);
  _memra_thread_mode_restore (&guard->mode);
  _memra_context_leave (&guard->current);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Guard, guard_clear)

static gboolean
guard_enter (Guard *guard, MemraStream *stream, guint layer, MemraCaptureStage stage, GError **error)
{
  MemraDriver *driver = stream->context->driver;
  McuResult result = _memra_context_enter (stream->context, &guard->current);
  MemraFailure failure = { .layer = layer, .stage = stage, .result = result };

  if (result != MCU_SUCCESS)
    return _memra_capture_fail (driver, error, _memra_capture_error_code (result), &failure, "the context cannot be used");
  _memra_thread_mode_relax (driver, &guard->mode);
  return TRUE;
}

/* The body runs in the caller's own capture mode; the library's own steps run relaxed, and in the stream's context
 * whatever the body made current. */
static gboolean
run_body (Guard *guard, MemraLayerBody body, gpointer user_data)
{
  gboolean ok;

  exchange_mode (guard, guard->mode.mode);
  guard->current.foreign = TRUE;
  _memra_body_enter ();
  guard->in_body = TRUE;
  ok = body (guard->scope->issue, user_data, &guard->body_error);
  guard->in_body = FALSE;
  _memra_body_leave ();
  exchange_mode (guard, MCU_CAPTURE_MODE_RELAXED);
  _memra_context_reenter (&guard->current);
  return ok;
}

gpointer
_memra_capture_run (MemraStream *stream, guint layer, const MemraCaptureOptions *options, MemraLayerBody body, gpointer user_data,
                    MemraFinish finish, gpointer finish_data, GError **error)
{
  g_auto (Guard) guard = { 0 };
  gboolean ok;
  CUgraph graph;

  if (!guard_enter (&guard, stream, layer, MEMRA_CAPTURE_STAGE_STATUS, error))
    return NULL;
  guard.scope = _memra_scope_open (stream, layer, options, error);
  if (guard.scope == NULL)
    return NULL;

  ok = run_body (&guard, body, user_data);
  if (ok && guard.body_error != NULL)
    g_critical ("layer %u capture: the body succeeded and set an error: %s", layer, guard.body_error->message);
  graph = _memra_scope_close (guard.scope, ok, ok ? NULL : g_steal_pointer (&guard.body_error), error);
  return graph != NULL ? finish (guard.scope, graph, finish_data, error) : NULL;
}

static gpointer
finish_execute (MemraCaptureScope *scope, CUgraph graph, gpointer data G_GNUC_UNUSED, GError **error)
{
  return _memra_scope_finish (scope, graph, error);
}

static gpointer
finish_record (MemraCaptureScope *scope, CUgraph graph, gpointer data G_GNUC_UNUSED, GError **error)
{
  scope->options.record_only = TRUE;
  return _memra_scope_finish (scope, graph, error);
}

/**
 * memra_capture_layer:
 * @stream: the stream to capture and to run in; not the legacy stream
 * @layer: a number for messages and for the census
 * @options: (nullable): options, or %NULL for the defaults
 * @body: (scope call): issues the layer's work
 * @user_data: data for @body
 * @error: return location for an error
 *
 * Captures one layer into a graph and runs it once: refuses what cannot be captured, waits for earlier work in @stream,
 * begins a capture, calls @body exactly once, ends the capture, takes the census, judges hazards and policy,
 * instantiates, uploads, launches, and waits for completion.
 *
 * On success the work was issued once, ran exactly once, and is complete; the capture is kept for
 * memra_layer_capture_replay(). On failure the error says the step (memra_capture_error_get_stage()), whether anything
 * ran (memra_capture_error_get_execution()) and whether @stream is out of capture
 * (memra_capture_error_get_stream_clean()). An error that @body sets keeps its domain and code.
 *
 * The capture is ended on every way out of @body, also when a C++ exception or the cancellation of the thread unwinds
 * through it. The thread's current context and capture mode are as they were on return. Any thread; several threads may
 * capture at once in streams of their own.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE and _EVENT_TRACKING (refused, nothing was touched), _BODY (a body that failed
 * without an error of its own), _BROKEN, _POLICY, _FAILED; and the body's own.
 *
 * Returns: (transfer full): the capture, or %NULL with @error set
 *
 * Since: 0.1
 */
MemraLayerCapture *
memra_capture_layer (MemraStream *stream, guint layer, const MemraCaptureOptions *options, MemraLayerBody body, gpointer user_data,
                     GError **error)
{
  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (body != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return _memra_capture_run (stream, layer, options, body, user_data, finish_execute, NULL, error);
}

/**
 * memra_capture_layer_record:
 * @stream: the stream to capture; not the legacy stream
 * @layer: a number for messages and for the census
 * @options: (nullable): options, or %NULL for the defaults
 * @body: (scope call): issues the layer's work
 * @user_data: data for @body
 * @error: return location for an error
 *
 * As memra_capture_layer(), but stops before the launch: nothing of the layer has run, and
 * memra_layer_capture_get_executions() is 0.
 *
 * Returns: (transfer full): the capture, or %NULL with @error set
 *
 * Since: 0.1
 */
MemraLayerCapture *
memra_capture_layer_record (MemraStream *stream, guint layer, const MemraCaptureOptions *options, MemraLayerBody body,
                            gpointer user_data, GError **error)
{
  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (body != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return _memra_capture_run (stream, layer, options, body, user_data, finish_record, NULL, error);
}

/**
 * memra_capture_scope_begin:
 * @stream: the stream to capture and to run in; not the legacy stream
 * @layer: a number for messages and for the census
 * @options: (nullable): options, or %NULL for the defaults
 * @error: return location for an error
 *
 * Begins what memra_capture_layer() does, for code that cannot be a callback. What is issued into
 * memra_capture_scope_get_stream() until memra_capture_scope_end() is captured. A scope that is not ended must be
 * aborted; g_autoptr(MemraCaptureScope) does.
 *
 * Unless the mode is %MEMRA_CAPTURE_MODE_RELAXED the scope must be ended on the thread that began it. A thread may have
 * several scopes open on several streams, but none on one stream twice.
 *
 * Errors: those of the steps status, pre-drain and begin, see memra_capture_layer().
 *
 * Returns: (transfer full): the open scope, or %NULL with @error set
 *
 * Since: 0.1
 */
MemraCaptureScope *
memra_capture_scope_begin (MemraStream *stream, guint layer, const MemraCaptureOptions *options, GError **error)
{
  g_auto (Guard) guard = { 0 };

  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!guard_enter (&guard, stream, layer, MEMRA_CAPTURE_STAGE_STATUS, error))
    return NULL;
  return _memra_scope_open (stream, layer, options, error);
}

/**
 * memra_capture_scope_get_stream:
 * @scope: an open scope
 *
 * Gets the stream to issue work into: the caller's, or with the strict option perhaps a private one.
 *
 * Returns: (transfer none): the stream, owned by @scope
 *
 * Since: 0.1
 */
MemraStream *
memra_capture_scope_get_stream (MemraCaptureScope *scope)
{
  g_return_val_if_fail (scope != NULL, NULL);

  return scope->issue;
}

/**
 * memra_capture_scope_end:
 * @scope: (transfer full): an open scope
 * @error: return location for an error
 *
 * Ends the capture and goes on as memra_capture_layer() does: census, policy, instantiation, upload, one launch (unless
 * the options say record only) and completion. The scope is consumed, also on error.
 *
 * Errors: those of memra_capture_layer() from the step end on.
 *
 * Returns: (transfer full): the capture, or %NULL with @error set
 *
 * Since: 0.1
 */
MemraLayerCapture *
memra_capture_scope_end (MemraCaptureScope *scope, GError **error)
{
  g_auto (Guard) guard = { 0 };
  MemraLayerCapture *result = NULL;

  g_return_val_if_fail (scope != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  guard.scope = scope;
  if (guard_enter (&guard, scope->stream, scope->layer, MEMRA_CAPTURE_STAGE_END, error))
    {
      CUgraph graph = _memra_scope_close (scope, TRUE, NULL, error);

      if (graph != NULL)
        result = _memra_scope_finish (scope, graph, error);
    }
  return result;
}

/**
 * memra_capture_scope_abort:
 * @scope: (transfer full) (nullable): an open scope
 *
 * Ends the capture and throws the graph away. Nothing of it runs.
 *
 * Since: 0.1
 */
void
memra_capture_scope_abort (MemraCaptureScope *scope)
{
  if (scope != NULL)
    _memra_scope_free (scope);
}
