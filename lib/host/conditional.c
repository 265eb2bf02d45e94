/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * conditional.c: IF, WHILE and SWITCH nodes.
 *
 * On a GPU a kernel sets the handle. Kernels of the host driver cannot, so a handle keeps the value that it has at
 * launch: its default, or 0.
 */
#include "graph-private.h"

enum
{
  COND_ASSIGN_DEFAULT = 1
};

static uint64_t next_handle = 1;

HostConditionalHandle *
host_conditional_handle_find (HostGraph *graph, uint64_t id)
{
  /* A graph's handles may be used in graphs embedded in it too. */
  for (; graph != NULL; graph = graph->owner != NULL ? graph->owner->graph : NULL)
    for (unsigned i = 0; graph->handles != NULL && i < graph->handles->len; i++)
      {
        HostConditionalHandle *handle = graph->handles->pdata[i];
        if (handle->id == id)
          return handle;
      }
  return NULL;
}

void
host_conditional_free (HostConditional *conditional)
{
  if (conditional == NULL)
    return;
  for (unsigned i = 0; i < conditional->size; i++)
    host_graph_destroy (conditional->bodies[i]);
  g_free (conditional->bodies);
  g_free (conditional);
}

static bool
size_is_valid (int type, unsigned size)
{
  switch (type)
    {
    case MCU_COND_IF:
      return size == 1 || (size == 2 && host_settings.driver_version >= 12080);
    case MCU_COND_WHILE:
      return size == 1;
    case MCU_COND_SWITCH:
      return size >= 1 && host_settings.driver_version >= 12080;
    default:
      return false;
    }
}

McuResult
host_node_add_conditional (CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                           size_t n, McuConditionalNodeParams *params)
{
  GArray *edges;
  HostContext *context = params->ctx;

  HostConditionalHandle *handle = host_conditional_handle_find (graph, params->handle);
  if (handle == NULL || handle->used || !size_is_valid (params->type, params->size))
    return MCU_ERROR_INVALID_VALUE;
  if (context != NULL && !host_object_is_live (context, HOST_KIND_CONTEXT))
    return MCU_ERROR_INVALID_CONTEXT;
  McuResult result = context == NULL ? host_context_current (&context) : MCU_SUCCESS;
  if (result == MCU_SUCCESS)
    result = host_edges_from_client (&edges, graph, dependencies, data, n);
  if (result != MCU_SUCCESS)
    return result;

  HostConditional *conditional = g_new0 (HostConditional, 1);
  conditional->handle = handle->id;
  conditional->value = handle->value;
  conditional->type = params->type;
  conditional->size = params->size;
  conditional->bodies = g_new0 (HostGraph *, params->size);
  for (unsigned i = 0; i < params->size; i++)
    conditional->bodies[i] = host_graph_new ();
  handle->used = true;

  HostWork *work = host_work_new (MCU_NODE_CONDITIONAL, context);
  work->u.conditional = conditional;
  *out = host_node_new (graph, work, (HostEdge *) edges->data, edges->len);
  g_array_unref (edges);
  params->graphs_out = conditional->bodies;
  return MCU_SUCCESS;
}

static McuResult
handle_create (unsigned long long *out, CUgraph graph, CUcontext context, unsigned default_value, unsigned flags)
{
  if (out == NULL || host_graph_get (graph) == NULL || (flags & ~(unsigned) COND_ASSIGN_DEFAULT) != 0)
    return MCU_ERROR_INVALID_VALUE;
  if (context != NULL && !host_object_is_live (context, HOST_KIND_CONTEXT))
    return MCU_ERROR_INVALID_CONTEXT;
  HostConditionalHandle *handle = g_new0 (HostConditionalHandle, 1);
  handle->id = next_handle++;
  handle->value = (flags & COND_ASSIGN_DEFAULT) != 0 ? default_value : 0;
  if (graph->handles == NULL)
    graph->handles = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (graph->handles, handle);
  *out = handle->id;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphConditionalHandleCreate (unsigned long long *handle, CUgraph graph, CUcontext context, unsigned default_value,
                                unsigned flags)
{
  HOST_CALL (cuGraphConditionalHandleCreate, handle_create (handle, graph, context, default_value, flags));
}
