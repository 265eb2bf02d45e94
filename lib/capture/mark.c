/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Marks: naming the sections of a layer, and finding out early where a capture broke. */
#include "config.h"

#include "capture-private.h"

/* The capture was found broken at this mark: it broke after the one before. */
static gboolean
breach (MemraRecording *recording, MemraStream *stream, const char *name, GError **error)
{
  const char *mark = _memra_recording_last_mark (recording);
  const char *node = _memra_recording_last_work (recording, NULL);
  g_autoptr (GString) where = g_string_new (NULL);

  if (mark != NULL)
    g_string_append_printf (where, "between '%s' and '%s'", mark, name);
  else
    g_string_append_printf (where, "before '%s'", name);
  if (node != NULL)
    g_string_append_printf (where, ", after %s", node);

  if (recording->breach == NULL)
    recording->breach = g_error_new_literal (MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN, where->str);
  return _memra_driver_set_error (stream->context->driver, error, MCU_ERROR_STREAM_CAPTURE_INVALIDATED, "The capture broke %s",
                                  recording->breach->message);
}

/**
 * memra_stream_mark:
 * @stream: a stream
 * @name: what the work from here on is called, such as "attention"
 * @error: return location for an error
 *
 * Names a section of the layer that is being captured. The census tells each kernel's section, and an error of the
 * capture says between which marks it broke. On a stream that is not in one of this library's captures it does nothing,
 * so a body can be run eagerly too. It records nothing into the graph. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_CAPTURE_BROKEN: the capture has been broken since the mark before; the message says between
 * which marks and after which kernel.
 *
 * Returns: %TRUE, or %FALSE if the capture is broken
 *
 * Since: 0.1
 */
gboolean
memra_stream_mark (MemraStream *stream, const char *name, GError **error)
{
  const MemraDriverTable *cu;
  MemraRecording *recording;
  const CUgraphNode *dependencies = NULL;
  const McuEdgeData *edges = NULL;
  gsize n_dependencies = 0;
  CUgraph graph = NULL;
  int status = MCU_CAPTURE_STATUS_NONE;
  guint64 id = 0;
  MemraMark mark = { 0 };
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  recording = _memra_stream_find_recording (stream);
  if (recording == NULL)
    return TRUE;

  cu = &stream->context->driver->cu;
  if (cu->cuStreamGetCaptureInfo_v3 != NULL)
    result = cu->cuStreamGetCaptureInfo_v3 (stream->cuda, &status, &id, &graph, &dependencies, &edges, &n_dependencies);
  else
    result = cu->cuStreamGetCaptureInfo_v2 (stream->cuda, &status, &id, &graph, &dependencies, &n_dependencies);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (stream->context->driver, error, result, "Could not set mark '%s'", name);
  if (status != MCU_CAPTURE_STATUS_ACTIVE)
    return breach (recording, stream, name, error);

  result = cu->cuGraphGetNodes (graph, NULL, &mark.n_nodes);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (stream->context->driver, error, result, "Could not set mark '%s'", name);
  mark.name = g_strdup (name);
  pthread_mutex_lock (&recording->context->lock);
  g_array_append_val (recording->marks, mark);
  g_free (recording->last_node);
  recording->last_node
      = n_dependencies > 0 ? _memra_census_describe_node (stream->context->driver, dependencies[n_dependencies - 1]) : NULL;
  recording->last_kernel = NULL; /* what the driver says is the last node counts from here */
  pthread_mutex_unlock (&recording->context->lock);
  return TRUE;
}
