/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kept capture: what it is asked, and what becomes of it in the end. */
#include "config.h"

#include "capture-private.h"

/**
 * memra_layer_capture_ref:
 * @capture: a capture
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @capture
 *
 * Since: 0.1
 */
MemraLayerCapture *
memra_layer_capture_ref (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  g_atomic_ref_count_inc (&capture->ref_count);
  return capture;
}

static guint64 captures_epoch; /* atomic */

guint64
_memra_captures_get_epoch (void)
{
  return __atomic_load_n (&captures_epoch, __ATOMIC_ACQUIRE);
}

/* The capture first, so that whoever sees the new epoch sees what is new. */
void
_memra_layer_capture_changed (MemraLayerCapture *capture)
{
  __atomic_add_fetch (&capture->generation, 1, __ATOMIC_RELEASE);
  __atomic_add_fetch (&captures_epoch, 1, __ATOMIC_RELEASE);
}

/* The results after which a context does no more work at all, so that nothing is in flight in it. */
static gboolean
is_dead (McuResult result)
{
  return _memra_driver_error_code (result) == MEMRA_DRIVER_ERROR_BROKEN_CONTEXT;
}

/* Waits for the stream if there is anything to wait for. */
static gboolean
drain (MemraLayerCapture *capture, McuResult *result)
{
  int status;

  *result = MCU_SUCCESS;
  if (!capture->in_flight)
    return TRUE;
  *result = _memra_stream_status (capture->stream, &status);
  if (*result == MCU_SUCCESS && status != MCU_CAPTURE_STATUS_NONE)
    return FALSE; /* to wait for a stream that is being captured breaks that capture */
  if (*result == MCU_SUCCESS)
    *result = capture->stream->context->driver->cu.cuStreamSynchronize (capture->stream->cuda);
  return *result == MCU_SUCCESS || is_dead (*result);
}

gboolean
_memra_layer_capture_prove_completion (MemraLayerCapture *capture, McuResult *result, GPtrArray **superseded)
{
  *superseded = NULL;
  if (!drain (capture, result))
    return FALSE;
  capture->in_flight = FALSE;
  *superseded = g_steal_pointer (&capture->superseded);
  return TRUE;
}

static void
retained_clear (gpointer item)
{
  const MemraRetained *kept = item;

  if (kept->destroy != NULL)
    kept->destroy (kept->data);
}

GArray *
_memra_retained_new (void)
{
  GArray *retained = g_array_new (FALSE, FALSE, sizeof (MemraRetained));

  g_array_set_clear_func (retained, retained_clear);
  return retained;
}

/* Destroys exec and graph; the first failure of both is the answer. */
static McuResult
release_graph (MemraLayerCapture *capture)
{
  const MemraDriverTable *cu = &capture->stream->context->driver->cu;
  CUgraphExec exec = g_steal_pointer (&capture->exec);
  CUgraph graph = g_steal_pointer (&capture->graph);
  McuResult first = exec != NULL ? cu->cuGraphExecDestroy (exec) : MCU_SUCCESS;
  McuResult second = graph != NULL ? cu->cuGraphDestroy (graph) : MCU_SUCCESS;

  g_clear_pointer (&capture->kernel_nodes, g_free);
  return first != MCU_SUCCESS ? first : second;
}

/**
 * memra_layer_capture_close:
 * @capture: a capture
 * @error: return location for an error
 *
 * Waits for the last launch and releases the graph, its executable form, and everything the capture kept alive. The
 * capture can no longer be replayed; its census stays. Closing twice is all right. Without it the last
 * memra_layer_capture_unref() does the same and can only log a failure.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_BUSY: completion could not be proven, since the stream is being captured or cannot be
 * waited for: nothing was released, and closing can be tried again. %MEMRA_CAPTURE_ERROR_FAILED: the driver refused to
 * destroy a handle; all else was released. Any thread; breaks no capture.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_layer_capture_close (MemraLayerCapture *capture, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  MemraFailure failure = { .stage = MEMRA_CAPTURE_STAGE_CLOSE, .execution = MEMRA_EXECUTION_UNKNOWN };
  MemraDriver *driver;
  MemraRecording *recording = NULL;
  g_autoptr (GPtrArray) superseded = NULL;
  GArray *retained = NULL;
  gboolean proven;

  g_return_val_if_fail (capture != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  failure.layer = capture->layer;
  failure.sequence = capture->is_sequence;
  driver = capture->stream->context->driver;
  _memra_context_enter (capture->stream->context, &current); /* if it fails, so does every call below, and says why */
  _memra_thread_mode_relax (driver, &mode);

  pthread_mutex_lock (&capture->lock);
  proven = _memra_layer_capture_prove_completion (capture, &failure.result, &superseded);
  if (proven)
    {
      failure.result = release_graph (capture);
      recording = g_steal_pointer (&capture->recording);
      retained = capture->retained;
      capture->retained = _memra_retained_new ();
    }
  pthread_mutex_unlock (&capture->lock);

  if (!proven)
    return _memra_capture_fail (
        driver, error, MEMRA_CAPTURE_ERROR_BUSY, &failure,
        "the last launch cannot be proven complete%s, so nothing that the device may still use was released; "
        "close it again later",
        failure.result == MCU_SUCCESS ? " while its stream is being captured" : "");
  current.foreign = TRUE;
  g_clear_pointer (&superseded, g_ptr_array_unref);
  _memra_recording_unref (recording);
  g_array_unref (retained); /* without the lock: the caller's functions may do as they like */
  return failure.result == MCU_SUCCESS
         || _memra_capture_fail (driver, error, MEMRA_CAPTURE_ERROR_FAILED, &failure,
                                 "the driver did not destroy the graph cleanly");
}

/* What was leaked on purpose stays reachable, so that a leak checker can tell it from what was forgotten. */
static void
leak (MemraLayerCapture *capture)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static GSList *leaked;

  pthread_mutex_lock (&lock);
  leaked = g_slist_prepend (leaked, capture);
  pthread_mutex_unlock (&lock);
}

/**
 * memra_layer_capture_unref:
 * @capture: (transfer full) (nullable): a capture
 *
 * Drops a reference. The last one does what memra_layer_capture_close() does. If completion of the last launch cannot
 * be proven, what the capture kept alive is leaked on purpose, with a warning, rather than freed under the device's
 * feet. Any thread; breaks no capture.
 *
 * Since: 0.1
 */
void
memra_layer_capture_unref (MemraLayerCapture *capture)
{
  g_autoptr (GError) error = NULL;

  if (capture == NULL || !g_atomic_ref_count_dec (&capture->ref_count))
    return;

  if (!memra_layer_capture_close (capture, &error))
    {
      if (g_error_matches (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BUSY))
        {
          g_warning ("%s; it is leaked", error->message);
          leak (capture);
          return;
        }
      g_debug ("%s", error->message);
    }
  g_array_unref (capture->retained);
  pthread_mutex_destroy (&capture->lock);
  memra_census_unref (capture->census);
  memra_stream_unref (capture->stream);
  g_free (capture);
}

/**
 * memra_layer_capture_retain:
 * @capture: a capture, not closed
 * @data: something that the graph uses and that must outlive it
 * @destroy: (nullable): called with @data when the capture and every #MemraLayerSequence that it is part of have been
 *   closed and their last launches are complete
 *
 * Hands over something to be kept as long as the graph may run: memory of another allocator, a library's handle.
 * Buffers and kernels of this library that the body used are kept already. @destroy is called exactly once, on the
 * thread that closes or drops the last of them. Any thread.
 *
 * Since: 0.1
 */
void
memra_layer_capture_retain (MemraLayerCapture *capture, gpointer data, GDestroyNotify destroy)
{
  MemraRetained kept = { data, destroy };

  g_return_if_fail (capture != NULL);

  pthread_mutex_lock (&capture->lock);
  g_array_append_val (capture->retained, kept);
  pthread_mutex_unlock (&capture->lock);
}

/**
 * memra_layer_capture_get_layer:
 * @capture: a capture
 *
 * Gets the number that the capture was made with.
 *
 * Returns: the layer
 *
 * Since: 0.1
 */
guint
memra_layer_capture_get_layer (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, 0);

  return capture->layer;
}

/**
 * memra_layer_capture_get_stream:
 * @capture: a capture
 *
 * Gets the stream that replays go into.
 *
 * Returns: (transfer none): the stream, owned by @capture
 *
 * Since: 0.1
 */
MemraStream *
memra_layer_capture_get_stream (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  return capture->stream;
}

/**
 * memra_layer_capture_get_census:
 * @capture: a capture
 *
 * Gets the census that was taken when the layer was captured.
 *
 * Returns: (transfer none): the census, owned by @capture, also after memra_layer_capture_close()
 *
 * Since: 0.1
 */
MemraCensus *
memra_layer_capture_get_census (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  return capture->census;
}

/**
 * memra_layer_capture_get_nodes:
 * @capture: a capture
 *
 * Gets the node counts by type, see memra_census_get_nodes().
 *
 * Returns: (transfer none) (element-type utf8 guint): the counts, owned by @capture; not to be changed
 *
 * Since: 0.1
 */
GHashTable *
memra_layer_capture_get_nodes (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  return memra_census_get_nodes (capture->census);
}

/**
 * memra_layer_capture_get_kernels:
 * @capture: a capture
 *
 * Gets the kernel names in order, see memra_census_get_kernels().
 *
 * Returns: (transfer none) (element-type utf8): the names, owned by @capture; not to be changed
 *
 * Since: 0.1
 */
GPtrArray *
memra_layer_capture_get_kernels (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  return memra_census_get_kernels (capture->census);
}

/**
 * memra_layer_capture_get_executions:
 * @capture: a capture
 *
 * Gets how often the capture itself ran the layer: 1, or 0 when it was only recorded. Replays do not count.
 *
 * Returns: 0 or 1
 *
 * Since: 0.1
 */
guint64
memra_layer_capture_get_executions (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, 0);

  return capture->executions;
}

/**
 * memra_layer_capture_get_replays:
 * @capture: a capture
 *
 * Gets how many replays and bare launches the driver has accepted.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint64
memra_layer_capture_get_replays (MemraLayerCapture *capture)
{
  guint64 replays;

  g_return_val_if_fail (capture != NULL, 0);

  pthread_mutex_lock (&capture->lock);
  replays = capture->replays;
  pthread_mutex_unlock (&capture->lock);
  return replays;
}

/**
 * memra_layer_capture_get_timings:
 * @capture: a capture
 * @n_steps: (out) (optional): return location for the number of steps, at least %MEMRA_CAPTURE_N_STEPS
 *
 * Gets how long each step took, in nanoseconds of wall time, indexed by #MemraCaptureStep. Steps that were left out
 * are 0.
 *
 * Returns: (transfer none) (array length=n_steps): the timings, owned by @capture
 *
 * Since: 0.1
 */
const gint64 *
memra_layer_capture_get_timings (MemraLayerCapture *capture, guint *n_steps)
{
  g_return_val_if_fail (capture != NULL, NULL);

  if (n_steps != NULL)
    *n_steps = MEMRA_CAPTURE_N_STEPS;
  return capture->timings;
}

/**
 * memra_layer_capture_get_cuda_graph:
 * @capture: a capture
 *
 * Gets the CUgraph, to be read with calls of one's own. The driver does not lock it.
 *
 * Returns: (transfer none) (nullable): the handle, or %NULL when closed
 *
 * Since: 0.1
 */
struct CUgraph_st *
memra_layer_capture_get_cuda_graph (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  return capture->graph;
}

/**
 * memra_layer_capture_get_cuda_graph_exec:
 * @capture: a capture
 *
 * Gets the CUgraphExec, for launches of one's own, which memra_layer_capture_close() cannot wait for. The driver does
 * not lock it.
 *
 * Returns: (transfer none) (nullable): the handle, or %NULL when closed
 *
 * Since: 0.1
 */
struct CUgraphExec_st *
memra_layer_capture_get_cuda_graph_exec (MemraLayerCapture *capture)
{
  g_return_val_if_fail (capture != NULL, NULL);

  return capture->exec;
}

/**
 * memra_layer_capture_to_string:
 * @capture: a capture
 *
 * Describes the capture for people: layer, executions, and the census.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
char *
memra_layer_capture_to_string (MemraLayerCapture *capture)
{
  g_autofree char *census = NULL;

  g_return_val_if_fail (capture != NULL, NULL);

  census = memra_census_to_string (capture->census);
  return g_strdup_printf ("executed %s\n%s", capture->executions == 1 ? "once" : "not yet", census);
}
