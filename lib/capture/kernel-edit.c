/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Editing kernel nodes of a kept capture: a batch that is applied as a whole or not at all. What the driver hands out is
 * only read; edits are made on copies and given back through its setters, to the graph and to its executable form, so
 * that census and liveness check see what will run.
 */
#include "config.h"

#include "capture-private.h"

#include "census/reading-private.h"

#include <string.h>

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
  CUgraphNode *nodes;         /* owned: of each kernel of the census */
  GArray *items;              /* element-type Item */
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

/* `params` with the argument values of `bytes`, all of it ours. */
static void
launch_init (Launch *launch, const McuKernelNodeParams *params, const MemraFunction *function, const guint8 *bytes)
{
  launch->params = *params;
  launch->bytes = g_malloc (MAX (function->size, 1));
  if (function->size > 0)
    memcpy (launch->bytes, bytes, function->size);
  launch->params.extra = NULL;
  launch->params.kernel_params = g_new (void *, MAX (function->n_parameters, 1));
  for (guint i = 0; i < function->n_parameters; i++)
    launch->params.kernel_params[i] = launch->bytes + function->parameters[i].offset;
}

/* The handles of the graph's kernels, in the census's order. */
static CUgraphNode *
list_nodes (MemraLayerCapture *capture, GError **error)
{
  g_autoptr (MemraCensus) nodes = NULL;
  CUgraphNode *handles;
  guint n = 0;

  nodes = _memra_census_read_nodes (capture->stream->context->driver, capture->graph, capture->layer, NULL, 0, error);
  if (nodes == NULL)
    return NULL;
  handles = g_new0 (CUgraphNode, capture->census->n_kernels + 1);
  for (guint i = 0; i < nodes->nodes->len; i++)
    if (_memra_census_node (nodes, i)->type == MCU_NODE_KERNEL && n < capture->census->n_kernels)
      handles[n++] = _memra_reading_handle (nodes->reading, i);
  return handles;
}

/**
 * memra_kernel_edit_begin:
 * @capture: a capture
 * @error: return location for an error
 *
 * Begins a batch of edits of the capture's kernels. Nothing changes before memra_kernel_edit_commit(). Two batches of one
 * capture at a time do not see each other. Any thread, one at a time for one batch.
 *
 * Errors: %MEMRA_CAPTURE_ERROR_CLOSED, and those of reading a graph.
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
  if (capture->graph == NULL)
    ok = fail (edit, error, MEMRA_CAPTURE_ERROR_CLOSED, MCU_SUCCESS, "the capture was closed");
  else
    {
      edit->nodes = list_nodes (capture, error);
      ok = edit->nodes != NULL;
    }
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
  g_free (edit->nodes);
  memra_census_unref (edit->census);
  memra_layer_capture_unref (edit->capture);
  g_free (edit);
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
  guint n = 0;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (kernel != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  for (guint i = 0; i < edit->census->n_kernels; i++)
    {
      const MemraFunction *function = edit->census->kernels[i].function;

      if ((strcmp (function->name, name) == 0 || strcmp (function->demangled, name) == 0) && n++ == occurrence)
        {
          *kernel = i;
          return TRUE;
        }
    }
  what = g_strdup_printf ("there is no kernel ‘%s’ number %u in the graph, which has %u of them", name, occurrence, n);
  return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
}

/* The item of a kernel, made when first asked for: NULL with an error if the kernel cannot be edited. */
static Item *
get_item (MemraKernelEdit *edit, guint kernel, GError **error)
{
  g_autofree char *what = NULL;
  const MemraKernelNode *node;
  McuKernelNodeParams params;
  Item item = { .kernel = kernel };
  McuResult result;

  if (kernel >= edit->census->n_kernels)
    {
      what = g_strdup_printf ("there is no kernel %u in the graph, which has %u", kernel, edit->census->n_kernels);
      fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
      return NULL;
    }
  for (guint i = 0; i < edit->items->len; i++)
    if (g_array_index (edit->items, Item, i).kernel == kernel)
      return &g_array_index (edit->items, Item, i);

  node = &edit->census->kernels[kernel];
  if (node->depth > 0)
    what = g_strdup_printf ("kernel %u %s is inside a child graph or conditional body, where nodes cannot be edited", kernel,
                            node->function->name);
  else if (!node->function->layout_known)
    what = g_strdup_printf ("the driver does not tell the arguments' sizes of kernel %u %s (needs 12.4)", kernel, node->function->name);
  if (what != NULL)
    {
      fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
      return NULL;
    }

  item.node = edit->nodes[kernel];
  result = _memra_driver_get_kernel_params (edit->capture->stream->context->driver, item.node, &params);
  if (result != MCU_SUCCESS)
    {
      fail (edit, error, MEMRA_CAPTURE_ERROR_FAILED, result, NULL);
      return NULL;
    }
  if (params.kernel_params == NULL && params.extra != NULL)
    {
      what = g_strdup_printf ("kernel %u %s was launched with packed arguments (extra), which cannot be edited one by one", kernel,
                              node->function->name);
      fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS, what);
      return NULL;
    }
  launch_init (&item.before, &params, node->function, node->bytes);
  launch_init (&item.after, &params, node->function, node->bytes);
  g_array_append_val (edit->items, item);
  return &g_array_index (edit->items, Item, edit->items->len - 1);
}

static gboolean
check_argument (MemraKernelEdit *edit, guint kernel, guint argument, gsize size, GError **error)
{
  const MemraFunction *function = edit->census->kernels[kernel].function;
  g_autofree char *what = NULL;

  if (argument >= function->n_parameters)
    what = g_strdup_printf ("kernel %u %s has %u arguments, and no argument %u", kernel, function->name, function->n_parameters, argument);
  else if (size != function->parameters[argument].size)
    what = g_strdup_printf ("argument %u of kernel %u %s is %u bytes wide, not %" G_GSIZE_FORMAT, argument, kernel, function->name,
                            function->parameters[argument].size, size);
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
memra_kernel_edit_get_argument (MemraKernelEdit *edit, guint kernel, guint argument, gpointer value, gsize size, GError **error)
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
 * Notes a new value for an argument. Errors: %MEMRA_CAPTURE_ERROR_EDIT: no such kernel or argument, another size, a launch
 * with packed arguments, a kernel inside a child graph.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_kernel_edit_set_argument (MemraKernelEdit *edit, guint kernel, guint argument, gconstpointer value, gsize size, GError **error)
{
  Item *item;

  g_return_val_if_fail (edit != NULL, FALSE);
  g_return_val_if_fail (value != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  item = get_item (edit, kernel, error);
  if (item == NULL || !check_argument (edit, kernel, argument, size, error))
    return FALSE;
  memcpy (item->after.params.kernel_params[argument], value, size);
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

  return cu->cuGraphExecKernelNodeSetParams_v2 != NULL ? cu->cuGraphExecKernelNodeSetParams_v2 (capture->exec, node, params)
                                                       : cu->cuGraphExecKernelNodeSetParams (capture->exec, node, params);
}

static McuResult
set_graph (MemraLayerCapture *capture, CUgraphNode node, const McuKernelNodeParams *params)
{
  const MemraDriverTable *cu = &capture->stream->context->driver->cu;

  return cu->cuGraphKernelNodeSetParams_v2 != NULL ? cu->cuGraphKernelNodeSetParams_v2 (node, params)
                                                   : cu->cuGraphKernelNodeSetParams (node, params);
}

/* Exec first: what it refuses, the graph must not have. */
static McuResult
apply (MemraLayerCapture *capture, Item *item)
{
  McuResult result = set_exec (capture, item->node, &item->after.params);

  if (result != MCU_SUCCESS)
    return result;
  result = set_graph (capture, item->node, &item->after.params);
  if (result != MCU_SUCCESS && set_exec (capture, item->node, &item->before.params) != MCU_SUCCESS)
    capture->dirty = TRUE;
  return result;
}

static void
roll_back (MemraLayerCapture *capture, GArray *items, guint n)
{
  while (n-- > 0)
    {
      Item *item = &g_array_index (items, Item, n);

      if (set_exec (capture, item->node, &item->before.params) != MCU_SUCCESS
          || set_graph (capture, item->node, &item->before.params) != MCU_SUCCESS)
        capture->dirty = TRUE;
    }
}

/* A census of the edited graph, with the sections of the old one. */
static gboolean
refresh_census (MemraKernelEdit *edit, GError **error)
{
  MemraLayerCapture *capture = edit->capture;
  GArray *marks = capture->recording->marks;
  g_autofree MemraSectionMark *sections = g_new0 (MemraSectionMark, marks->len + 1);
  g_autoptr (MemraCensus) census = NULL;

  for (guint i = 0; i < marks->len; i++)
    {
      sections[i].n_nodes = g_array_index (marks, MemraMark, i).n_nodes;
      sections[i].name = g_array_index (marks, MemraMark, i).name;
    }
  census = _memra_census_read_nodes (capture->stream->context->driver, capture->graph, capture->layer, sections, marks->len, error);
  if (census == NULL)
    return FALSE;
  _memra_census_set_context (census, capture->stream->context->cuda);
  if (!_memra_census_read_kernels (census, error))
    return FALSE;
  memra_census_unref (capture->census);
  capture->census = g_steal_pointer (&census);
  return TRUE;
}

static gboolean
commit_locked (MemraKernelEdit *edit, GError **error)
{
  MemraLayerCapture *capture = edit->capture;
  g_autoptr (GError) reason = NULL;
  g_autofree char *what = NULL;

  if (capture->exec == NULL)
    return fail (edit, error, MEMRA_CAPTURE_ERROR_CLOSED, MCU_SUCCESS, "the capture was closed");
  if (capture->census != edit->census)
    return fail (edit, error, MEMRA_CAPTURE_ERROR_EDIT, MCU_SUCCESS,
                 "the capture was updated or edited since this batch began; begin another one");

  for (guint i = 0; i < edit->items->len; i++)
    {
      Item *item = &g_array_index (edit->items, Item, i);
      McuResult result = apply (capture, item);

      if (result == MCU_SUCCESS)
        continue;
      roll_back (capture, edit->items, i);
      what = g_strdup_printf ("the driver refused the edit of kernel %u %s; %s", item->kernel,
                              edit->census->kernels[item->kernel].function->name,
                              capture->dirty ? "and rolling back failed too, so the graph is neither old nor new"
                                             : "everything was rolled back");
      return fail (edit, error, capture->dirty ? MEMRA_CAPTURE_ERROR_DIRTY : MEMRA_CAPTURE_ERROR_EDIT, result, what);
    }
  if (refresh_census (edit, &reason))
    return TRUE;
  roll_back (capture, edit->items, edit->items->len);
  what = g_strdup_printf ("the edited graph could not be read: %s", reason->message);
  return fail (edit, error, capture->dirty ? MEMRA_CAPTURE_ERROR_DIRTY : MEMRA_CAPTURE_ERROR_EDIT,
               memra_driver_error_get_cuda_result (reason), what);
}

/**
 * memra_kernel_edit_commit:
 * @edit: a batch, which can be freed afterwards and not be committed again
 * @error: return location for an error
 *
 * Applies the batch to the graph and to its executable form. Later replays run with the new values; one that is in
 * flight is not touched. The capture's census is taken anew, so pointers that were put in are checked at replays; they
 * are not kept alive, see memra_layer_capture_retain(). If one edit fails, those before it are rolled back.
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
