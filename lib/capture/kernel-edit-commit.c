/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A batch of edits applied, or rolled back. */
#include "config.h"

#include "kernel-edit-private.h"

#include <string.h>

static McuResult
set_exec (MemraLayerCapture *capture, CUgraphNode node, const McuKernelNodeParams *params)
{
  const MemraDriverTable *cu = &capture->stream->context->driver->cu;

  return cu->cuGraphExecKernelNodeSetParams_v2 != NULL
             ? cu->cuGraphExecKernelNodeSetParams_v2 (capture->exec, node, params)
             : cu->cuGraphExecKernelNodeSetParams (capture->exec, node, params);
}

static McuResult
set_graph (MemraLayerCapture *capture, CUgraphNode node, const McuKernelNodeParams *params)
{
  const MemraDriverTable *cu = &capture->stream->context->driver->cu;

  return cu->cuGraphKernelNodeSetParams_v2 != NULL ? cu->cuGraphKernelNodeSetParams_v2 (node, params)
                                                   : cu->cuGraphKernelNodeSetParams (node, params);
}

/* Exec first: what it refuses, the graph must not have. An exec that was made from an earlier graph knows that one's
 * nodes only, which are gone; it is brought up to date as a whole when all of the graph is. */
static McuResult
apply (MemraLayerCapture *capture, const MemraEditItem *item)
{
  McuResult result = capture->exec_is_older ? MCU_SUCCESS : set_exec (capture, item->node, &item->after.params);

  if (result != MCU_SUCCESS)
    return result;
  result = set_graph (capture, item->node, &item->after.params);
  if (result != MCU_SUCCESS && !capture->exec_is_older
      && set_exec (capture, item->node, &item->before.params) != MCU_SUCCESS)
    capture->dirty = TRUE;
  return result;
}

static void
roll_back (MemraLayerCapture *capture, const GArray *items, guint n)
{
  while (n-- > 0)
    {
      const MemraEditItem *item = g_array_index (items, const MemraEditItem *, n);

      if (!capture->exec_is_older && set_exec (capture, item->node, &item->before.params) != MCU_SUCCESS)
        capture->dirty = TRUE;
      if (set_graph (capture, item->node, &item->before.params) != MCU_SUCCESS)
        capture->dirty = TRUE;
    }
}

static gboolean
refuse (MemraKernelEdit *edit, GError **error, McuResult result, const char *whom)
{
  const gboolean dirty = edit->capture->dirty;
  g_autofree char *what = g_strdup_printf ("the driver refused the edit of %s; %s", whom,
                                           dirty ? "and rolling back failed too, so the graph is neither old nor new"
                                                 : "everything was rolled back");

  return _memra_kernel_edit_fail (edit, error, dirty ? MEMRA_CAPTURE_ERROR_DIRTY : MEMRA_CAPTURE_ERROR_EDIT, result,
                                  what);
}

static gboolean
apply_all (MemraKernelEdit *edit, const GArray *items, GError **error)
{
  MemraLayerCapture *capture = edit->capture;
  g_autofree char *whom = NULL;
  MemraRefusal refusal = { 0 };
  McuResult result;

  for (guint i = 0; i < items->len; i++)
    {
      const MemraEditItem *item = g_array_index (items, const MemraEditItem *, i);

      result = apply (capture, item);
      if (result == MCU_SUCCESS)
        continue;
      roll_back (capture, items, i);
      whom = g_strdup_printf ("kernel %u %s", item->kernel, edit->census->kernels[item->kernel].function->name);
      return refuse (edit, error, result, whom);
    }
  if (!capture->exec_is_older)
    return TRUE;
  result = _memra_layer_capture_update_exec (capture, capture->graph, &refusal);
  if (result == MCU_SUCCESS)
    return TRUE;
  roll_back (capture, items, items->len);
  return refuse (edit, error, result, "the executable graph as a whole");
}

/* What an item would change; what was only looked at is left alone. */
static gboolean
item_differs (const MemraEditItem *item, const MemraFunction *function)
{
  const McuKernelNodeParams *a = &item->before.params, *b = &item->after.params;

  return memcmp (item->before.bytes, item->after.bytes, function->size) != 0 || a->grid_x != b->grid_x
         || a->grid_y != b->grid_y || a->grid_z != b->grid_z || a->block_x != b->block_x || a->block_y != b->block_y
         || a->block_z != b->block_z || a->shared_bytes != b->shared_bytes;
}

static gboolean
commit_locked (MemraKernelEdit *edit, GError **error)
{
  MemraLayerCapture *capture = edit->capture;
  MemraDriver *driver = capture->stream->context->driver;
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (const MemraEditItem *));
  g_autoptr (MemraCensus) copy = NULL;
  g_autoptr (MemraCensusPatch) patch = NULL;
  g_autoptr (GError) reason = NULL;

  if (!_memra_kernel_edit_check_open (edit, error))
    return FALSE;
  /* Whoever has a reference to the census keeps it as it is. The capture has one, and so has this batch. */
  if (!g_atomic_ref_count_compare (&capture->census->ref_count, 2))
    copy = _memra_census_copy (capture->census);
  patch = _memra_census_patch_new (copy != NULL ? copy : capture->census, driver);
  for (guint i = 0; i < edit->items->len; i++)
    {
      const MemraEditItem *item = &g_array_index (edit->items, MemraEditItem, i);

      if (!item_differs (item, edit->census->kernels[item->kernel].function))
        continue;
      g_array_append_val (items, item);
      if (!_memra_census_patch_add (patch, item->kernel, &item->after.params, item->after.bytes, &reason))
        return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT,
                                        memra_driver_error_get_cuda_result (reason), reason->message);
    }
  if (items->len == 0)
    return TRUE;
  if (!apply_all (edit, items, error))
    return FALSE;

  _memra_census_patch_apply (patch);
  if (copy != NULL)
    {
      memra_census_unref (capture->census);
      capture->census = g_steal_pointer (&copy);
    }
  _memra_layer_capture_changed (capture);
  return TRUE;
}

/**
 * memra_kernel_edit_commit:
 * @edit: a batch, which can be freed afterwards and not be committed again
 * @error: return location for an error
 *
 * Applies the batch to the graph and to its executable form. Later replays run with the new values; one that is in
 * flight is not touched. The capture's census follows, so pointers that were put in are checked at replays; they are
 * not kept alive, see memra_layer_capture_retain(). What was not edited stays checked as it was captured. A census that
 * was got before stays as it was only for whoever has a reference of his own; without one it must not be read
 * meanwhile. If one edit fails, those before it are rolled back.
 *
 * An edit costs the driver's two setters and a query for each pointer that is put in. After an update in place it costs
 * another update, since the executable graph goes by the nodes of the graph that it was made from.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_EDIT: refused, the capture is as it was; %MEMRA_CAPTURE_ERROR_DIRTY: rolling back failed
 * too, and the capture refuses to be replayed until memra_layer_capture_update(); %MEMRA_CAPTURE_ERROR_CLOSED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_kernel_edit_commit (MemraKernelEdit *edit, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  gboolean ok;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  _memra_context_enter (edit->capture->stream->context, &current);
  _memra_thread_mode_relax (edit->capture->stream->context->driver, &mode);
  pthread_mutex_lock (&edit->capture->lock);
  ok = commit_locked (edit, error);
  pthread_mutex_unlock (&edit->capture->lock);
  return ok;
}
