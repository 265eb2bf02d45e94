/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many layers as one launch. */
#include "config.h"

#include "sequence-private.h"

static gboolean
enter (MemraStream *stream, MemraCaptureStage stage, MemraCurrent *current, MemraThreadMode *mode, GError **error)
{
  MemraFailure failure = { .sequence = TRUE, .stage = stage };

  failure.result = _memra_context_enter (stream->context, current);
  if (failure.result != MCU_SUCCESS)
    return _memra_capture_fail (stream->context->driver, error, _memra_capture_error_code (failure.result), &failure,
                                "the context cannot be used");
  current->foreign = TRUE; /* what is let go on the way calls functions of the caller */
  _memra_thread_mode_relax (stream->context->driver, mode);
  return TRUE;
}

/**
 * memra_layer_sequence_new:
 * @stream: the stream that launches go into; not being captured
 * @captures: (array length=n_captures): the layers in order, of the stream's context; one may occur more than once
 * @n_captures: how many
 * @options: (nullable): policy and allow-empty are used, for the whole; or %NULL
 * @error: return location for an error
 *
 * Clones the graphs of captures into one graph, where each runs after the one before it; takes its census, judges it,
 * instantiates and uploads it. Nothing runs. The captures are referenced and stay usable, and may also be closed: the
 * sequence has clones of their graphs, and shares what they keep alive.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_CLOSED, _DIRTY or _STALE of a layer that cannot be replayed itself, and
 * %MEMRA_DRIVER_ERROR_WRONG_CONTEXT, which name the layer; %MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE (the stream is being
 * captured); _POLICY, also for no layers at all; _FAILED, for one that the driver does not take since it allocates
 * memory or has conditional nodes (CUDA 801), and at every later step. Any thread; breaks no capture.
 *
 * Returns: (transfer full): the sequence, or %NULL with @error set
 *
 * Since: 0.1
 */
MemraLayerSequence *
memra_layer_sequence_new (MemraStream *stream, MemraLayerCapture *const *captures, guint n_captures,
                          const MemraCaptureOptions *options, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  g_auto (MemraAssembly) assembly = { 0 };
  const MemraCaptureOptions none = { 0 };
  MemraLayerCapture *whole;
  MemraLayerSequence *sequence;

  g_return_val_if_fail (stream != NULL, NULL);
  g_return_val_if_fail (captures != NULL || n_captures == 0, NULL);
  for (guint i = 0; i < n_captures; i++)
    g_return_val_if_fail (captures[i] != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!enter (stream, MEMRA_CAPTURE_STAGE_STATUS, &current, &mode, error))
    return NULL;
  if (!_memra_assembly_make (&assembly, stream, options != NULL ? options : &none, captures, n_captures, error))
    return NULL;
  whole = _memra_scope_finish (&assembly.scope, g_steal_pointer (&assembly.graph), error);
  if (whole == NULL)
    return NULL;

  sequence = g_new0 (MemraLayerSequence, 1);
  g_atomic_ref_count_init (&sequence->ref_count);
  pthread_mutex_init (&sequence->updating, NULL);
  sequence->whole = whole;
  sequence->n_layers = n_captures;
  sequence->captures = g_new (MemraLayerCapture *, n_captures);
  for (guint i = 0; i < n_captures; i++)
    sequence->captures[i] = memra_layer_capture_ref (captures[i]);
  sequence->options.allow_empty = assembly.scope.options.allow_empty;
  if (assembly.scope.options.policy != NULL)
    sequence->options.policy = memra_policy_ref (assembly.scope.options.policy);
  sequence->generations = g_steal_pointer (&assembly.generations);
  sequence->epoch = assembly.epoch;
  sequence->live = g_steal_pointer (&assembly.live);
  return sequence;
}

/**
 * memra_layer_sequence_ref:
 * @sequence: a sequence
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @sequence
 *
 * Since: 0.1
 */
MemraLayerSequence *
memra_layer_sequence_ref (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, NULL);

  g_atomic_ref_count_inc (&sequence->ref_count);
  return sequence;
}

/**
 * memra_layer_sequence_unref:
 * @sequence: (transfer full) (nullable): a sequence
 *
 * Drops a reference. The last one does what memra_layer_sequence_close() does. If completion of the last launch cannot
 * be proven, the graph and what it uses are leaked on purpose, with a warning. Any thread; breaks no capture.
 *
 * Since: 0.1
 */
void
memra_layer_sequence_unref (MemraLayerSequence *sequence)
{
  if (sequence == NULL || !g_atomic_ref_count_dec (&sequence->ref_count))
    return;
  memra_layer_capture_unref (sequence->whole);
  for (guint i = 0; i < sequence->n_layers; i++)
    memra_layer_capture_unref (sequence->captures[i]);
  g_free (sequence->captures);
  g_free (sequence->generations);
  _memra_live_set_free (sequence->live);
  memra_policy_unref (sequence->options.policy);
  pthread_mutex_destroy (&sequence->updating);
  g_free (sequence);
}

/**
 * memra_layer_sequence_get_n_layers:
 * @sequence: a sequence
 *
 * Gets how many layers it was made of.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint
memra_layer_sequence_get_n_layers (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, 0);

  return sequence->n_layers;
}

/**
 * memra_layer_sequence_get_layer_capture:
 * @sequence: a sequence
 * @index: a layer's place, counted from 0
 *
 * Gets a capture that the sequence was made of.
 *
 * Returns: (transfer none): the capture, owned by @sequence
 *
 * Since: 0.1
 */
MemraLayerCapture *
memra_layer_sequence_get_layer_capture (MemraLayerSequence *sequence, guint index)
{
  g_return_val_if_fail (sequence != NULL, NULL);
  g_return_val_if_fail (index < sequence->n_layers, NULL);

  return sequence->captures[index];
}

/**
 * memra_layer_sequence_get_stream:
 * @sequence: a sequence
 *
 * Gets the stream that launches go into.
 *
 * Returns: (transfer none): the stream, owned by @sequence
 *
 * Since: 0.1
 */
MemraStream *
memra_layer_sequence_get_stream (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, NULL);

  return sequence->whole->stream;
}

/**
 * memra_layer_sequence_get_census:
 * @sequence: a sequence
 *
 * Gets the census of the whole: one child graph for each layer, with the layer's nodes inside it, at depth 1. Each
 * layer is a section, such as "layer 3"; what was a section of the layer is "layer 3: attention" here. The number of
 * the census itself is 0.
 *
 * Returns: (transfer none): the census, owned by @sequence, until memra_layer_sequence_update(), and also after
 *   memra_layer_sequence_close()
 *
 * Since: 0.1
 */
MemraCensus *
memra_layer_sequence_get_census (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, NULL);

  return sequence->whole->census;
}

/**
 * memra_layer_sequence_get_replays:
 * @sequence: a sequence
 *
 * Gets how many replays and bare launches the driver has accepted. Those of its layers' own captures do not count.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint64
memra_layer_sequence_get_replays (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, 0);

  return memra_layer_capture_get_replays (sequence->whole);
}

/**
 * memra_layer_sequence_get_cuda_graph:
 * @sequence: a sequence
 *
 * Gets the CUgraph, to be read with calls of one's own. The driver does not lock it.
 *
 * Returns: (transfer none) (nullable): the handle, or %NULL when closed
 *
 * Since: 0.1
 */
struct CUgraph_st *
memra_layer_sequence_get_cuda_graph (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, NULL);

  return sequence->whole->graph;
}

/**
 * memra_layer_sequence_get_cuda_graph_exec:
 * @sequence: a sequence
 *
 * Gets the CUgraphExec, for launches of one's own, which memra_layer_sequence_close() cannot wait for. The driver does
 * not lock it.
 *
 * Returns: (transfer none) (nullable): the handle, or %NULL when closed
 *
 * Since: 0.1
 */
struct CUgraphExec_st *
memra_layer_sequence_get_cuda_graph_exec (MemraLayerSequence *sequence)
{
  g_return_val_if_fail (sequence != NULL, NULL);

  return sequence->whole->exec;
}

/* The layer that is not what was cloned any more, or n_layers. The epoch spares a launch the look at each of them as
 * long as no capture of the process changes. With the lock held. */
static guint
find_changed (MemraLayerSequence *sequence)
{
  const guint64 epoch = _memra_captures_get_epoch ();

  if (G_LIKELY (epoch == sequence->epoch))
    return sequence->n_layers;
  for (guint i = 0; i < sequence->n_layers; i++)
    if (__atomic_load_n (&sequence->captures[i]->generation, __ATOMIC_ACQUIRE) != sequence->generations[i])
      return i;
  sequence->epoch = epoch;
  return sequence->n_layers;
}

static gboolean
check_current (MemraLayerSequence *sequence, GError **error)
{
  guint i;
  g_autofree char *place = NULL;
  g_autofree char *what = NULL;

  if (!_memra_layer_capture_check_open (sequence->whole, error))
    return FALSE;
  i = find_changed (sequence);
  if (G_LIKELY (i == sequence->n_layers))
    return TRUE;
  place = _memra_sequence_dup_place (sequence->captures[i], i);
  what = g_strdup_printf ("%s was updated or edited since it was cloned, and would run as it was before; "
                          "memra_layer_sequence_update() takes it over",
                          place);
  return _memra_layer_capture_fail_replay (sequence->whole, error, MEMRA_CAPTURE_ERROR_OUTDATED, MCU_SUCCESS,
                                           MEMRA_EXECUTION_NOT_EXECUTED, what);
}

static gboolean
check_locked (MemraLayerSequence *sequence, GError **error)
{
  g_autoptr (GError) reason = NULL;
  MemraCaptureError code = MEMRA_CAPTURE_ERROR_STALE;

  if (!check_current (sequence, error))
    return FALSE;
  if (G_LIKELY (_memra_live_set_check (sequence->live, sequence->whole->stream->context->driver, &reason)))
    return TRUE;
  if (!g_error_matches (reason, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE))
    code = MEMRA_CAPTURE_ERROR_FAILED;
  return _memra_layer_capture_fail_replay (sequence->whole, error, code, memra_driver_error_get_cuda_result (reason),
                                           MEMRA_EXECUTION_NOT_EXECUTED, reason->message);
}

/**
 * memra_layer_sequence_check:
 * @sequence: a sequence
 * @error: return location for an error
 *
 * Does for all layers what memra_layer_capture_check() does for one: every allocation that any of them points at must
 * be the one that was captured. One driver query for each distinct allocation, however many layers use it. Also, no
 * layer may have been updated or edited since it was cloned. Any thread; legal while others capture.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_STALE, with layer, kernel, argument and what has become of the allocation; _OUTDATED,
 * with the layer; _CLOSED; _FAILED.
 *
 * Returns: %TRUE if the sequence can be replayed
 *
 * Since: 0.1
 */
gboolean
memra_layer_sequence_check (MemraLayerSequence *sequence, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  gboolean ok;

  g_return_val_if_fail (sequence != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  _memra_context_enter (sequence->whole->stream->context, &current);
  pthread_mutex_lock (&sequence->whole->lock);
  ok = check_locked (sequence, error);
  pthread_mutex_unlock (&sequence->whole->lock);
  return ok;
}

/**
 * memra_layer_sequence_replay:
 * @sequence: a sequence
 * @error: return location for an error
 *
 * Checks the sequence as memra_layer_sequence_check() does, and launches all layers with one launch. It does not wait.
 * It follows earlier work in its stream and its own previous launch; to keep it apart from launches of its layers' own
 * captures in other streams is the caller's business. Any thread; not into a stream that is being captured.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_STALE, _OUTDATED, _CLOSED, _NOT_CAPTURABLE (all: nothing was launched), _BROKEN,
 * _FAILED; memra_capture_error_get_execution() says whether it may have run.
 *
 * Returns: %TRUE if the launch was accepted
 *
 * Since: 0.1
 */
gboolean
memra_layer_sequence_replay (MemraLayerSequence *sequence, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  gboolean ok;

  g_return_val_if_fail (sequence != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  _memra_context_enter (sequence->whole->stream->context, &current);
  pthread_mutex_lock (&sequence->whole->lock);
  ok = check_locked (sequence, error) && _memra_layer_capture_check_stream (sequence->whole, error)
       && _memra_layer_capture_launch_locked (sequence->whole, error);
  pthread_mutex_unlock (&sequence->whole->lock);
  return ok;
}

/**
 * memra_layer_sequence_launch:
 * @sequence: a sequence
 * @error: return location for an error
 *
 * Launches without asking the driver anything, for hot paths whose owner answers for every address and for the stream.
 * It refuses a sequence that is closed or outdated all the same, since to know that takes no call. Else as
 * memra_layer_sequence_replay().
 *
 * Returns: %TRUE if the launch was accepted
 *
 * Since: 0.1
 */
gboolean
memra_layer_sequence_launch (MemraLayerSequence *sequence, GError **error)
{
  gboolean ok;

  g_return_val_if_fail (sequence != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  pthread_mutex_lock (&sequence->whole->lock);
  ok = check_current (sequence, error) && _memra_layer_capture_launch_locked (sequence->whole, error);
  pthread_mutex_unlock (&sequence->whole->lock);
  return ok;
}

/* Whether it is as its layers are. */
static gboolean
is_current (MemraLayerSequence *sequence)
{
  gboolean current;

  pthread_mutex_lock (&sequence->whole->lock);
  current = find_changed (sequence) == sequence->n_layers;
  pthread_mutex_unlock (&sequence->whole->lock);
  return current;
}

static gboolean
update (MemraLayerSequence *sequence, MemraUpdate *change, GError **error)
{
  MemraLayerCapture *whole = sequence->whole;
  MemraDriver *driver = whole->stream->context->driver;
  g_auto (MemraAssembly) assembly = { 0 };
  g_auto (MemraWork) work = { .driver = driver };
  gboolean ok;

  if (!_memra_update_prepare (whole, error))
    return FALSE;
  if (is_current (sequence))
    return TRUE;
  if (!_memra_assembly_make (&assembly, whole->stream, &sequence->options, sequence->captures, sequence->n_layers,
                             error))
    return FALSE;
  work.graph = g_steal_pointer (&assembly.graph);
  if (!_memra_work_examine (&assembly.scope, &work, error))
    return FALSE;
  pthread_mutex_lock (&whole->lock);
  ok = _memra_update_locked (change, &assembly.scope, &work, error);
  if (ok)
    {
      MemraLiveSet *live = g_steal_pointer (&sequence->live);

      g_free (sequence->generations);
      sequence->generations = g_steal_pointer (&assembly.generations);
      sequence->epoch = assembly.epoch;
      sequence->live = g_steal_pointer (&assembly.live);
      assembly.live = live;
    }
  pthread_mutex_unlock (&whole->lock);
  return ok;
}

/**
 * memra_layer_sequence_update:
 * @sequence: a sequence
 * @flags: whether a refused update may be followed by a fresh instantiation
 * @outcome: (out) (optional): return location for what was done
 * @error: return location for an error
 *
 * Brings the sequence up to date with its layers: after memra_layer_capture_update() or memra_kernel_edit_commit() on
 * one of them it would run the layer as it was, and refuses to. All layers are cloned anew and the executable graph is
 * updated in place. Nothing runs. If no layer has changed nothing is done. On failure the sequence is as it was. A
 * census that was got before stays valid only with a reference of its own.
 *
 * Errors: those of memra_layer_sequence_new(), %MEMRA_CAPTURE_ERROR_UPDATE_REFUSED with the driver's reason, _CLOSED,
 * also if one of the layers' captures was closed. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_layer_sequence_update (MemraLayerSequence *sequence, MemraUpdateFlags flags, MemraUpdateOutcome *outcome,
                             GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  MemraUpdate change = { .flags = flags, .outcome = MEMRA_UPDATE_UPDATED };
  gboolean ok;

  g_return_val_if_fail (sequence != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  change.capture = sequence->whole;
  if (!enter (sequence->whole->stream, MEMRA_CAPTURE_STAGE_UPDATE, &current, &mode, error))
    return FALSE;
  pthread_mutex_lock (&sequence->updating);
  ok = update (sequence, &change, error);
  pthread_mutex_unlock (&sequence->updating);
  _memra_update_release (&change);
  if (ok && outcome != NULL)
    *outcome = change.outcome;
  return ok;
}

/**
 * memra_layer_sequence_close:
 * @sequence: a sequence
 * @error: return location for an error
 *
 * Waits for the last launch and releases the graph, its executable form, and the sequence's share in what its layers
 * keep alive. The layers' captures are not closed. Closing twice is all right. Without it the last
 * memra_layer_sequence_unref() does the same and can only log a failure.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_BUSY: completion could not be proven, so nothing was released, and closing can be tried
 * again; %MEMRA_CAPTURE_ERROR_FAILED: the driver refused to destroy a handle; all else was released. Any thread; breaks
 * no capture.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_layer_sequence_close (MemraLayerSequence *sequence, GError **error)
{
  g_return_val_if_fail (sequence != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return memra_layer_capture_close (sequence->whole, error);
}
