/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Editing kernel nodes of a kept capture: a batch that is applied as a whole or not at all. What the driver hands out
 * is only read; edits are made on copies and given back through its setters, to the graph and to its executable form,
 * so that census and liveness check see what will run.
 */
#include "config.h"

#include "capture-private.h"

#include "census/reading-private.h"

#include <string.h>

/* So many look-ups by name go through the list; for more, an index pays. */
#define FEW_LOOKUPS 8

/* One launch: a copy of everything that the driver keeps for a node. */
typedef struct
{
  McuKernelNodeParams params; /* kernel_params is ours, extra is NULL */
  guint8 *bytes;              /* owned: the parameter buffer */
} Launch;

typedef struct
{
  guint kernel;
  CUgraphNode node;
  Launch before, after;
} Item;

struct _MemraKernelEdit
{
  MemraLayerCapture *capture; /* owned */
  MemraCensus *census;        /* owned: as it was when the edit began */
  guint64 generation;         /* of the capture, likewise */
  GArray *items;              /* element-type Item */
  MemraMap places;            /* kernel + 1 -> index into items */
  guint n_lookups;
  GHashTable *kernels; /* owned, nullable: name (borrowed) -> GArray of kernels */
};

static gboolean
fail (MemraKernelEdit *edit, GError **error, MemraCaptureError code, McuResult result, const char *what)
{
  MemraFailure failure = { .layer = edit->capture->layer, .stage = MEMRA_CAPTURE_STAGE_UPDATE, .result = result };

  return what != NULL ? _memra_capture_fail (edit->capture->stream->context->driver, error, code, &failure, "%s", what)
                      : _memra_capture_fail (edit->capture->stream->context->driver, error, code, &failure, NULL);
}

static void
launch_clear (Launch *launch)
{
  g_free (launch->params.kernel_params);
  g_free (launch->bytes);
}

static void
item_clear (gpointer item)
{
  launch_clear (&((Item *) item)->before);
  launch_clear (&((Item *) item)->after);
}

/* `params` with its argument values, all of it ours. */
static void
launch_init (Launch *launch, const McuKernelNodeParams *params, const MemraFunction *function)
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
    return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS,
                 "somebody else added kernels to the graph, or took some away");
  capture->kernel_nodes = g_new0 (CUgraphNode, capture->census->n_kernels + 1);
  for (guint i = 0; i < nodes->nodes->len; i++)
    if (_memra_census_node (nodes, i)->type == MCU_NODE_KERNEL)
      capture->kernel_nodes[n++] = _memra_reading_handle (nodes->reading, i);
  return TRUE;
}

static gboolean
check_open (MemraKernelEdit *edit, GError **error)
{
  if (edit->capture->exec == NULL)
    return fail (edit, error, MEMRA_CAPTURE_ERROR_CLOSED, MCU_SUCCESS, "the capture was closed");
  if (edit->capture->dirty)
    return fail (edit, error, MEMRA_CAPTURE_ERROR_DIRTY, MCU_SUCCESS,
                 "an edit failed half way and could not be rolled back; memra_layer_capture_update() makes the capture "
                 "whole again");
  if (edit->capture->generation != edit->generation)
    return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS,
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
  edit->items = g_array_new (FALSE, TRUE, sizeof (Item));
  g_array_set_clear_func (edit->items, item_clear);

  pthread_mutex_lock (&capture->lock);
  edit->census = memra_census_ref (capture->census);
  edit->generation = capture->generation;
  ok = check_open (edit, error) && list_nodes (edit, error);
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
  return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
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
read_item (MemraKernelEdit *edit, Item *item, GError **error)
{
  const MemraFunction *function = edit->census->kernels[item->kernel].function;
  g_autofree char *what = NULL;
  McuKernelNodeParams params;
  McuResult result;

  if (!check_open (edit, error))
    return FALSE;
  item->node = edit->capture->kernel_nodes[item->kernel];
  result = _memra_driver_get_kernel_params (edit->capture->stream->context->driver, item->node, &params);
  if (result != MCU_SUCCESS)
    return fail (edit, error, MEMRA_CAPTURE_ERROR_FAILED, result, NULL);
  if (params.kernel_params == NULL && (params.extra != NULL || function->n_parameters > 0))
    {
      what = g_strdup_printf (
          "kernel %u %s was launched with packed arguments (extra), which cannot be edited one by one", item->kernel,
          function->name);
      return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
    }
  launch_init (&item->before, &params, function);
  launch_init (&item->after, &params, function);
  return TRUE;
}

/* The item of a kernel, made when first asked for: NULL with an error if the kernel cannot be edited. Valid until the
 * next is made. */
static Item *
get_item (MemraKernelEdit *edit, guint kernel, GError **error)
{
  g_autofree char *obstacle = dup_obstacle (edit, kernel);
  Item item = { .kernel = kernel };
  guint32 place;
  gboolean ok;

  if (obstacle != NULL)
    {
      fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, obstacle);
      return NULL;
    }
  if (_memra_map_lookup (&edit->places, (guint64) kernel + 1, &place))
    return &g_array_index (edit->items, Item, place);

  pthread_mutex_lock (&edit->capture->lock);
  ok = read_item (edit, &item, error);
  pthread_mutex_unlock (&edit->capture->lock);
  if (!ok)
    return NULL;
  _memra_map_insert (&edit->places, (guint64) kernel + 1, edit->items->len);
  g_array_append_val (edit->items, item);
  return &g_array_index (edit->items, Item, edit->items->len - 1);
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
  return what == NULL || fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
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
  Item *item;

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
  Item *item;

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
  Item *item;

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
apply (MemraLayerCapture *capture, const Item *item)
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
      const Item *item = g_array_index (items, const Item *, n);

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

  return fail (edit, error, dirty ? MEMRA_CAPTURE_ERROR_DIRTY : MEMRA_CAPTURE_ERROR_EDIT, result, what);
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
      const Item *item = g_array_index (items, const Item *, i);

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
item_differs (const Item *item, const MemraFunction *function)
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
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (const Item *));
  g_autoptr (MemraCensus) copy = NULL;
  g_autoptr (MemraCensusPatch) patch = NULL;
  g_autoptr (GError) reason = NULL;

  if (!check_open (edit, error))
    return FALSE;
  /* Whoever has a reference to the census keeps it as it is. The capture has one, and so has this batch. */
  if (!g_atomic_ref_count_compare (&capture->census->ref_count, 2))
    copy = _memra_census_copy (capture->census);
  patch = _memra_census_patch_new (copy != NULL ? copy : capture->census, driver);
  for (guint i = 0; i < edit->items->len; i++)
    {
      const Item *item = &g_array_index (edit->items, Item, i);

      if (!item_differs (item, edit->census->kernels[item->kernel].function))
        continue;
      g_array_append_val (items, item);
      if (!_memra_census_patch_add (patch, item->kernel, &item->after.params, item->after.bytes, &reason))
        return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, memra_driver_error_get_cuda_result (reason),
                     reason->message);
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
