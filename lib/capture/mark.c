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

/* Where a capture stands: how many nodes it has, and the last one that later work would follow. What the driver hands out
 * here dies when the capture breaks, so this is not for captures that any other thread can break at any moment. */
static McuResult
look (MemraDriver *driver, CUstream stream, int *status, MemraMark *mark, char **last_node)
{
  const CUgraphNode *dependencies = NULL;
  const McuEdgeData *edges = NULL;
  gsize n_dependencies = 0;
  CUgraph graph = NULL;
  guint64 id = 0;
  McuResult result;

  if (driver->cu.cuStreamGetCaptureInfo_v3 != NULL)
    result = driver->cu.cuStreamGetCaptureInfo_v3 (stream, status, &id, &graph, &dependencies, &edges, &n_dependencies);
  else
    result = driver->cu.cuStreamGetCaptureInfo_v2 (stream, status, &id, &graph, &dependencies, &n_dependencies);
  if (result != MCU_SUCCESS || *status != MCU_CAPTURE_STATUS_ACTIVE)
    return result;
  result = driver->cu.cuGraphGetNodes (graph, NULL, &mark->n_nodes);
  mark->counted = result == MCU_SUCCESS;
  if (n_dependencies > 0)
    *last_node = _memra_census_describe_node (driver, dependencies[n_dependencies - 1]);
  return result;
}

/**
 * memra_stream_mark:
 * @stream: a stream
 * @name: what the work from here on is called, such as "attention"
 * @error: return location for an error
 *
 * Names a section of the layer that is being captured. The census tells each kernel's section, and an error of the
 * capture says between which marks it broke. On a stream that is not in one of this library's captures it does nothing,
 * so a body can be run eagerly too. It records nothing into the graph. In a capture of %MEMRA_CAPTURE_MODE_GLOBAL, which
 * any thread may break at any moment, the graph cannot be looked at safely: marks then serve errors only, and the census
 * has no sections. Any thread.
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
  MemraDriver *driver;
  MemraRecording *recording;
  g_autofree char *last_node = NULL;
  int status = MCU_CAPTURE_STATUS_NONE;
  MemraMark mark = { 0 };
  McuResult result;

  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  recording = _memra_stream_find_recording (stream);
  if (recording == NULL)
    return TRUE;

  driver = stream->context->driver;
  if (recording->fragile)
    result = driver->cu.cuStreamIsCapturing (stream->cuda, &status);
  else
    result = look (driver, stream->cuda, &status, &mark, &last_node);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, result, "Could not set mark '%s'", name);
  if (status != MCU_CAPTURE_STATUS_ACTIVE)
    return breach (recording, stream, name, error);

  mark.name = g_strdup (name);
  pthread_mutex_lock (&recording->context->lock);
  g_array_append_val (recording->marks, mark);
  if (mark.counted)
    {
      g_free (recording->last_node);
      recording->last_node = g_steal_pointer (&last_node);
      recording->last_kernel = NULL; /* what the driver says is the last node counts from here */
    }
  pthread_mutex_unlock (&recording->context->lock);
  return TRUE;
}
