/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Putting the graphs of captures together to one. */
#include "config.h"

#include "sequence-private.h"

void
_memra_assembly_clear (MemraAssembly *assembly)
{
  if (assembly->graph != NULL)
    assembly->scope.stream->context->driver->cu.cuGraphDestroy (assembly->graph);
  _memra_recording_unref (assembly->scope.recording);
  g_clear_pointer (&assembly->members, g_ptr_array_unref);
  g_free (assembly->generations);
  _memra_live_set_free (assembly->live);
}

char *
_memra_sequence_dup_place (const MemraLayerCapture *capture, guint place)
{
  return capture->layer == place ? g_strdup_printf ("layer %u", place)
                                 : g_strdup_printf ("layer %u (place %u)", capture->layer, place);
}

static gboolean
fail (MemraAssembly *assembly, GError **error, MemraCaptureError code, MemraCaptureStage stage, McuResult result,
      const char *place, const char *what)
{
  MemraFailure failure = { .sequence = TRUE, .stage = stage, .result = result };

  return _memra_capture_fail (assembly->scope.stream->context->driver, error, code, &failure, "%s%s%s", place,
                              what != NULL ? ": " : "", what != NULL ? what : "");
}

/* The driver says no more than "not supported". */
static const char *
explain (const MemraCensus *census, McuResult result)
{
  if (result != MCU_ERROR_NOT_SUPPORTED)
    return NULL;
  if (memra_census_get_count (census, "mem-alloc") > 0 || memra_census_get_count (census, "mem-free") > 0)
    return "its graph allocates or frees memory, and the driver takes no such graph into another one; allocate outside "
           "of "
           "the layer";
  if (memra_census_get_count (census, "conditional") > 0)
    return "its graph has conditional nodes, and the driver takes no such graph into another one";
  return "the driver does not take its graph into another one";
}

/* With the lock of the capture held: what does not change afterwards by itself. */
static gboolean
check_member (MemraAssembly *assembly, const MemraLayerCapture *capture, const char *place, GError **error)
{
  g_autoptr (GError) reason = NULL;
  MemraCaptureError code = MEMRA_CAPTURE_ERROR_STALE;

  if (capture->exec == NULL)
    return fail (assembly, error, MEMRA_CAPTURE_ERROR_CLOSED, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS, place,
                 "the capture was closed");
  if (capture->dirty)
    return fail (assembly, error, MEMRA_CAPTURE_ERROR_DIRTY, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS, place,
                 "an edit failed half way and could not be rolled back; memra_layer_capture_update() makes the capture "
                 "whole again");
  if (_memra_census_check_allocations (capture->census, capture->stream->context->driver, &reason))
    return TRUE;
  if (!g_error_matches (reason, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE))
    code = MEMRA_CAPTURE_ERROR_FAILED;
  return fail (assembly, error, code, MEMRA_CAPTURE_STAGE_STATUS, memra_driver_error_get_cuda_result (reason), place,
               reason->message);
}

/* With the lock of the capture held. The sequence shares what keeps memory and code alive, so that neither an update
 * nor the end of the capture takes it away. */
static gboolean
add_locked (MemraAssembly *assembly, MemraLayerCapture *capture, guint i, CUgraphNode *last, const char *place,
            GError **error)
{
  const MemraDriverTable *cu = &capture->stream->context->driver->cu;
  MemraRecording *recording = assembly->scope.recording;
  const MemraMark mark = { .n_nodes = i, .counted = TRUE, .name = g_strdup (place) };
  CUgraphNode node = NULL;
  McuResult result;

  g_array_append_val (recording->marks, mark);
  if (!check_member (assembly, capture, place, error))
    return FALSE;
  result = cu->cuGraphAddChildGraphNode (&node, assembly->graph, last, i > 0 ? 1 : 0, capture->graph);
  if (result != MCU_SUCCESS)
    return fail (assembly, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_ASSEMBLY, result, place,
                 explain (capture->census, result));
  *last = node;
  assembly->generations[i] = __atomic_load_n (&capture->generation, __ATOMIC_ACQUIRE);
  g_ptr_array_add (assembly->members, memra_census_ref (capture->census));
  _memra_recording_own (recording, _memra_recording_ref (capture->recording), (GDestroyNotify) _memra_recording_unref);
  _memra_recording_own (recording, g_array_ref (capture->retained), (GDestroyNotify) g_array_unref);
  return TRUE;
}

static gboolean
add (MemraAssembly *assembly, MemraLayerCapture *capture, guint i, CUgraphNode *last, GError **error)
{
  g_autofree char *place = _memra_sequence_dup_place (capture, i);
  gboolean ok;

  if (!_memra_context_require_same (assembly->scope.stream->context, "stream", capture->stream->context, "capture",
                                    error))
    {
      g_prefix_error (error, "sequence status: %s: ", place);
      return FALSE;
    }
  pthread_mutex_lock (&capture->lock);
  ok = add_locked (assembly, capture, i, last, place, error);
  pthread_mutex_unlock (&capture->lock);
  if (ok)
    _memra_live_set_add (assembly->live, assembly->members->pdata[i], place);
  return ok;
}

/* To upload into a stream that is being captured would break that capture. */
static gboolean
check_stream (MemraAssembly *assembly, GError **error)
{
  int status = MCU_CAPTURE_STATUS_NONE;
  McuResult result = _memra_stream_status (assembly->scope.stream, &status);

  if (result != MCU_SUCCESS)
    return fail (assembly, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_STATUS, result,
                 "the stream cannot be asked whether it is being captured", NULL);
  return status == MCU_CAPTURE_STATUS_NONE
         || fail (assembly, error, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                  "the stream is being captured, and an upload would break that capture", NULL);
}

gboolean
_memra_assembly_make (MemraAssembly *assembly, MemraStream *stream, const MemraCaptureOptions *options,
                      MemraLayerCapture *const *captures, guint n, GError **error)
{
  CUgraphNode last = NULL;
  McuResult result;

  assembly->members = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_census_unref);
  assembly->generations = g_new0 (guint64, n);
  assembly->live = _memra_live_set_new ();
  assembly->epoch = _memra_captures_get_epoch ();
  assembly->scope.stream = stream;
  assembly->scope.options = *options;
  assembly->scope.options.record_only = TRUE;
  assembly->scope.members = assembly->members;
  assembly->scope.recording = _memra_recording_new_detached (stream->context);
  assembly->scope.step_started = _memra_now ();

  if (!check_stream (assembly, error))
    return FALSE;
  result = stream->context->driver->cu.cuGraphCreate (&assembly->graph, 0);
  if (result != MCU_SUCCESS)
    {
      assembly->graph = NULL;
      return fail (assembly, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_ASSEMBLY, result,
                   "there is no graph to put the layers into", NULL);
    }
  for (guint i = 0; i < n; i++)
    if (!add (assembly, captures[i], i, &last, error))
      return FALSE;
  return TRUE;
}
