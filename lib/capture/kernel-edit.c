/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A batch of edits of kernel nodes, up to its commit: look-ups, and copies of what the driver keeps. */
#include "config.h"

#include "kernel-edit-private.h"

#include "census/reading-private.h"

#include <string.h>

/* So many look-ups by name go through the list; for more, an index pays. */
#define FEW_LOOKUPS 8

gboolean
_memra_kernel_edit_fail (MemraKernelEdit *edit, GError **error, MemraCaptureError code, McuResult result,
                         const char *what)
{
  MemraFailure failure = { .layer = edit->capture->layer, .stage = MEMRA_CAPTURE_STAGE_UPDATE, .result = result };

  return what != NULL ? _memra_capture_fail (edit->capture->stream->context->driver, error, code, &failure, "%s", what)
                      : _memra_capture_fail (edit->capture->stream->context->driver, error, code, &failure, NULL);
}

static void
launch_clear (MemraEditLaunch *launch)
{
  g_free (launch->params.kernel_params);
  g_free (launch->bytes);
}

static void
item_clear (gpointer item)
{
  launch_clear (&((MemraEditItem *) item)->before);
  launch_clear (&((MemraEditItem *) item)->after);
}

/* `params` with its argument values, all of it ours. */
static void
launch_init (MemraEditLaunch *launch, const McuKernelNodeParams *params, const MemraFunction *function)
{
  launch->params = *params;
  launch->bytes = g_malloc0 (MAX (function->size, 1));
  launch->params.extra = NULL;
  launch->params.kernel_params = g_new (void *, MAX (function->n_parameters, 1));
  for (guint i = 0; i < function->n_parameters; i++)
    {
      const MemraParameter *parameter = &function->parameters[i];

      launch->params.kernel_params[i] = launch->bytes + parameter->offset;
      if (params->kernel_params[i] != NULL)
        memcpy (launch->bytes + parameter->offset, params->kernel_params[i], parameter->size);
    }
}

/* The handles of the graph's kernels, in the census's order. With the lock held, as all that follows. */
static gboolean
list_nodes (MemraKernelEdit *edit, GError **error)
{
  MemraLayerCapture *capture = edit->capture;
  g_autoptr (MemraCensus) nodes = NULL;
  guint n = 0;

  if (capture->kernel_nodes != NULL)
    return TRUE;
  nodes = _memra_census_read_nodes (capture->stream->context->driver, capture->graph, capture->layer, NULL, 0, error);
  if (nodes == NULL)
    return FALSE;
  if (memra_census_get_count (nodes, "kernel") != capture->census->n_kernels)
    return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS,
                                    "somebody else added kernels to the graph, or took some away");
  capture->kernel_nodes = g_new0 (CUgraphNode, capture->census->n_kernels + 1);
  for (guint i = 0; i < nodes->nodes->len; i++)
    if (_memra_census_node (nodes, i)->type == MCU_NODE_KERNEL)
      capture->kernel_nodes[n++] = _memra_reading_handle (nodes->reading, i);
  return TRUE;
}

gboolean
_memra_kernel_edit_check_open (MemraKernelEdit *edit, GError **error)
{
  if (edit->capture->exec == NULL)
    return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_CLOSED, MCU_SUCCESS, "the capture was closed");
  if (edit->capture->dirty)
    return _memra_kernel_edit_fail (
        edit, error, MEMRA_CAPTURE_ERROR_DIRTY, MCU_SUCCESS,
        "an edit failed half way and could not be rolled back; memra_layer_capture_update() makes the capture "
        "whole again");
  if (edit->capture->generation != edit->generation)
    return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS,
                                    "the capture was updated or edited since this batch began; begin another one");
  return TRUE;
}

/**
 * memra_kernel_edit_begin:
 * @capture: a capture
 * @error: return location for an error
 *
 * Begins a batch of edits of the capture's kernels. Nothing changes before memra_kernel_edit_commit(). Of two batches
 * that are begun side by side, the one that is committed first wins, and the other is refused. The first batch of a
 * graph asks the driver for its nodes. Any thread, one at a time for one batch.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_CLOSED, %MEMRA_CAPTURE_ERROR_DIRTY, and those of reading a graph.
 *
 * Returns: (transfer full): the batch
 *
 * Since: 0.1
 */
MemraKernelEdit *
memra_kernel_edit_begin (MemraLayerCapture *capture, GError **error)
{
  g_autoptr (MemraKernelEdit) edit = NULL;
  gboolean ok;

  g_return_val_if_fail (capture != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  edit = g_new0 (MemraKernelEdit, 1);
  edit->capture = memra_layer_capture_ref (capture);
  edit->items = g_array_new (FALSE, TRUE, sizeof (MemraEditItem));
  g_array_set_clear_func (edit->items, item_clear);

  pthread_mutex_lock (&capture->lock);
  edit->census = memra_census_ref (capture->census);
  edit->generation = capture->generation;
  ok = _memra_kernel_edit_check_open (edit, error) && list_nodes (edit, error);
  pthread_mutex_unlock (&capture->lock);
  return ok ? g_steal_pointer (&edit) : NULL;
}

/**
 * memra_kernel_edit_free:
 * @edit: (transfer full) (nullable): a batch
 *
 * Frees a batch. Edits that were not committed never happen.
 *
 * Since: 0.1
 */
void
memra_kernel_edit_free (MemraKernelEdit *edit)
{
  if (edit == NULL)
    return;
  g_array_unref (edit->items);
  _memra_map_clear (&edit->places);
  g_clear_pointer (&edit->kernels, g_hash_table_unref);
  memra_census_unref (edit->census);
  memra_layer_capture_unref (edit->capture);
  g_free (edit);
}

static void
index_name (GHashTable *kernels, const char *name, guint kernel)
{
  GArray *list = g_hash_table_lookup (kernels, name);

  if (list == NULL)
    {
      list = g_array_new (FALSE, FALSE, sizeof (guint));
      g_hash_table_insert (kernels, (gpointer) name, list);
    }
  g_array_append_val (list, kernel);
}

static void
index_kernels (MemraKernelEdit *edit)
{
  edit->kernels = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify) g_array_unref);
  for (guint i = 0; i < edit->census->n_kernels; i++)
    {
      const MemraFunction *function = edit->census->kernels[i].function;

      index_name (edit->kernels, function->name, i);
      if (strcmp (function->demangled, function->name) != 0)
        index_name (edit->kernels, function->demangled, i);
    }
}

/* The kernel, or with *n how many there are of the name if it is not among them. */
static gboolean
look_up (MemraKernelEdit *edit, const char *name, guint occurrence, guint *kernel, guint *n)
{
  const MemraFunction *last = NULL;
  gboolean matches = FALSE;

  *n = 0;
  if (edit->kernels == NULL && edit->n_lookups++ == FEW_LOOKUPS)
    index_kernels (edit);
  if (edit->kernels != NULL)
    {
      const GArray *list = g_hash_table_lookup (edit->kernels, name);

      *n = list != NULL ? list->len : 0;
      if (occurrence < *n)
        *kernel = g_array_index (list, guint, occurrence);
      return occurrence < *n;
    }
  for (guint i = 0; i < edit->census->n_kernels; i++)
    {
      const MemraFunction *function = edit->census->kernels[i].function;

      if (function != last)
        matches = strcmp (function->name, name) == 0 || strcmp (function->demangled, name) == 0;
      last = function;
      if (matches && (*n)++ == occurrence)
        {
          *kernel = i;
          return TRUE;
        }
    }
  return FALSE;
}

/**
 * memra_kernel_edit_find:
 * @edit: a batch
 * @name: a kernel's name, raw or demangled
 * @occurrence: which of the kernels of that name, counted from 0 in the census's order
 * @kernel: (out): return location for the kernel's index, as in memra_census_get_kernel_node()
 * @error: return location for an error
 *
 * Looks a kernel up by name. Errors: %MEMRA_CAPTURE_ERROR_EDIT.
 *
 * Returns: %TRUE if there is one
 *
 * Since: 0.1
 */
gboolean
memra_kernel_edit_find (MemraKernelEdit *edit, const char *name, guint occurrence, guint *kernel, GError **error)
{
  g_autofree char *what = NULL;
  guint n;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (kernel != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (look_up (edit, name, occurrence, kernel, &n))
    return TRUE;
  what = g_strdup_printf ("there is no kernel ‘%s’ number %u in the graph, which has %u of them", name, occurrence, n);
  return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
}

/* Why a kernel cannot be edited, whatever its values; NULL if it can. */
static char *
dup_obstacle (const MemraKernelEdit *edit, guint kernel)
{
  const MemraKernelNode *node;

  if (kernel >= edit->census->n_kernels)
    return g_strdup_printf ("there is no kernel %u in the graph, which has %u", kernel, edit->census->n_kernels);
  node = &edit->census->kernels[kernel];
  if (node->depth > 0)
    return g_strdup_printf ("kernel %u %s is inside a child graph or conditional body, where nodes cannot be edited",
                            kernel, node->function->name);
  if (!node->function->layout_known)
    return g_strdup_printf ("the driver does not tell the arguments' sizes of kernel %u %s (needs 12.4)", kernel,
                            node->function->name);
  return NULL;
}

/* With the lock held: the node's handle is good only as long as its graph is. */
static gboolean
read_item (MemraKernelEdit *edit, MemraEditItem *item, GError **error)
{
  const MemraFunction *function = edit->census->kernels[item->kernel].function;
  g_autofree char *what = NULL;
  McuKernelNodeParams params;
  McuResult result;

  if (!_memra_kernel_edit_check_open (edit, error))
    return FALSE;
  item->node = edit->capture->kernel_nodes[item->kernel];
  result = _memra_driver_get_kernel_params (edit->capture->stream->context->driver, item->node, &params);
  if (result != MCU_SUCCESS)
    return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_FAILED, result, NULL);
  if (params.kernel_params == NULL && (params.extra != NULL || function->n_parameters > 0))
    {
      what = g_strdup_printf (
          "kernel %u %s was launched with packed arguments (extra), which cannot be edited one by one", item->kernel,
          function->name);
      return _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
    }
  launch_init (&item->before, &params, function);
  launch_init (&item->after, &params, function);
  return TRUE;
}

/* The item of a kernel, made when first asked for: NULL with an error if the kernel cannot be edited. Valid until the
 * next is made. */
static MemraEditItem *
get_item (MemraKernelEdit *edit, guint kernel, GError **error)
{
  g_autofree char *obstacle = dup_obstacle (edit, kernel);
  MemraEditItem item = { .kernel = kernel };
  guint32 place;
  gboolean ok;

  if (obstacle != NULL)
    {
      _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, obstacle);
      return NULL;
    }
  if (_memra_map_lookup (&edit->places, (guint64) kernel + 1, &place))
    return &g_array_index (edit->items, MemraEditItem, place);

  pthread_mutex_lock (&edit->capture->lock);
  ok = read_item (edit, &item, error);
  pthread_mutex_unlock (&edit->capture->lock);
  if (!ok)
    return NULL;
  _memra_map_insert (&edit->places, (guint64) kernel + 1, edit->items->len);
  g_array_append_val (edit->items, item);
  return &g_array_index (edit->items, MemraEditItem, edit->items->len - 1);
}

static gboolean
check_argument (MemraKernelEdit *edit, guint kernel, guint argument, gsize size, GError **error)
{
  const MemraFunction *function = edit->census->kernels[kernel].function;
  g_autofree char *what = NULL;

  if (argument >= function->n_parameters)
    what = g_strdup_printf ("kernel %u %s has %u arguments, and no argument %u", kernel, function->name,
                            function->n_parameters, argument);
  else if (size != function->parameters[argument].size)
    what = g_strdup_printf ("argument %u of kernel %u %s is %u bytes wide, not %" G_GSIZE_FORMAT, argument, kernel,
                            function->name, function->parameters[argument].size, size);
  return what == NULL || _memra_kernel_edit_fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
}

/**
 * memra_kernel_edit_get_argument:
 * @edit: a batch
 * @kernel: the kernel's index
 * @argument: the argument's number
 * @value: (out caller-allocates): where to copy the value to
 * @size: bytes at @value, which must be the argument's size
 * @error: return location for an error
 *
 * Gets an argument's value, with the edits of this batch. Errors: %MEMRA_CAPTURE_ERROR_EDIT.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_kernel_edit_get_argument (MemraKernelEdit *edit, guint kernel, guint argument, gpointer value, gsize size,
                                GError **error)
{
  MemraEditItem *item;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (value != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  item = get_item (edit, kernel, error);
  if (item == NULL || !check_argument (edit, kernel, argument, size, error))
    return FALSE;
  memcpy (value, item->after.params.kernel_params[argument], size);
  return TRUE;
}

/**
 * memra_kernel_edit_set_argument:
 * @edit: a batch
 * @kernel: the kernel's index
 * @argument: the argument's number
 * @value: the new value
 * @size: bytes at @value, which must be the argument's size as the driver tells it
 * @error: return location for an error
 *
 * Notes a new value for an argument. Errors: %MEMRA_CAPTURE_ERROR_EDIT: no such kernel or argument, another size, a
 * launch with packed arguments, a kernel inside a child graph.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_kernel_edit_set_argument (MemraKernelEdit *edit, guint kernel, guint argument, gconstpointer value, gsize size,
                                GError **error)
{
  MemraEditItem *item;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (value != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  item = get_item (edit, kernel, error);
  if (item == NULL || !check_argument (edit, kernel, argument, size, error))
    return FALSE;
  memcpy (item->after.bytes + edit->census->kernels[kernel].function->parameters[argument].offset, value, size);
  return TRUE;
}

/**
 * memra_kernel_edit_set_geometry:
 * @edit: a batch
 * @kernel: the kernel's index
 * @grid: blocks
 * @block: threads per block
 * @shared_bytes: dynamic shared memory per block, in bytes
 * @error: return location for an error
 *
 * Notes a new launch geometry. Whether the device takes it is seen at the commit. Errors: %MEMRA_CAPTURE_ERROR_EDIT.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_kernel_edit_set_geometry (MemraKernelEdit *edit, guint kernel, const MemraDim3 *grid, const MemraDim3 *block,
                                guint32 shared_bytes, GError **error)
{
  McuKernelNodeParams *params;
  MemraEditItem *item;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (grid != NULL && block != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  item = get_item (edit, kernel, error);
  if (item == NULL)
    return FALSE;
  params = &item->after.params;
  params->grid_x = grid->x;
  params->grid_y = grid->y;
  params->grid_z = grid->z;
  params->block_x = block->x;
  params->block_y = block->y;
  params->block_z = block->z;
  params->shared_bytes = shared_bytes;
  return TRUE;
}
