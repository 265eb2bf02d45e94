/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * graph.c: graph objects and their nodes: made, cloned, listed, destroyed.
 */
#include "graph-private.h"

static uint64_t next_uid = 1;  /* of graphs and nodes */
static uint64_t next_mark = 1; /* of traversals */

uint64_t
host_graph_next_uid (void)
{
  return next_uid++;
}

uint64_t
host_graph_mark (void)
{
  return next_mark++;
}

static void
graph_finalize (HostObject *object)
{
  g_free (object);
}

HostGraph *
host_graph_new (void)
{
  HostGraph *graph = g_new0 (HostGraph, 1);
  graph->uid = host_graph_next_uid ();
  host_object_init (&graph->object, HOST_KIND_GRAPH, graph_finalize);
  return graph;
}

HostGraph *
host_graph_get (CUgraph handle)
{
  return host_object_is_live (handle, HOST_KIND_GRAPH) ? handle : NULL;
}

HostNode *
host_node_get (CUgraphNode handle, int type)
{
  if (!host_object_is_live (handle, HOST_KIND_NODE) || (type >= 0 && handle->work->type != type))
    return NULL;
  return handle;
}

static void
node_finalize (HostObject *object)
{
  HostNode *node = (HostNode *) object;
  host_edges_clear (&node->dependencies);
  host_edges_clear (&node->dependents);
  host_work_unref (node->work);
  g_free (node);
}

static unsigned
work_memory_nodes (const HostWork *work)
{
  switch (work->type)
    {
    case MCU_NODE_MEM_ALLOC:
    case MCU_NODE_MEM_FREE:
      return 1;
    case MCU_NODE_GRAPH:
      return work->u.child->n_memory_nodes;
    default:
      return 0;
    }
}

/* The node is the one that the client reaches embedded graphs through. */
static void
node_own_graphs (HostNode *node)
{
  if (node->work->type == MCU_NODE_GRAPH)
    node->work->u.child->owner = node;
  else if (node->work->type == MCU_NODE_CONDITIONAL)
    for (unsigned i = 0; i < node->work->u.conditional->size; i++)
      node->work->u.conditional->bodies[i]->owner = node;
}

void
host_node_become_root (HostNode *node)
{
  HostGraph *graph = node->graph;
  node->next_root = graph->first_root;
  if (graph->first_root != NULL)
    graph->first_root->previous_root = node;
  graph->first_root = node;
}

void
host_node_cease_root (HostNode *node)
{
  HostGraph *graph = node->graph;
  if (node->previous_root != NULL)
    node->previous_root->next_root = node->next_root;
  else
    graph->first_root = node->next_root;
  if (node->next_root != NULL)
    node->next_root->previous_root = node->previous_root;
  node->previous_root = node->next_root = NULL;
}

HostNode *
host_node_new (HostGraph *graph, HostWork *work, const HostEdge *edges, size_t n)
{
  HostNode *node = g_new0 (HostNode, 1);
  node->graph = graph;
  node->work = work;
  node->uid = host_graph_next_uid ();
  node->id = graph->next_id++;
  host_object_init (&node->object, HOST_KIND_NODE, node_finalize);
  node->previous = graph->last;
  if (graph->last != NULL)
    graph->last->next = node;
  else
    graph->first = node;
  graph->last = node;
  graph->n_nodes++;
  for (HostGraph *outer = graph; outer != NULL; outer = outer->owner != NULL ? outer->owner->graph : NULL)
    outer->n_memory_nodes += work_memory_nodes (work);
  node_own_graphs (node);
  host_node_become_root (node);
  for (size_t i = 0; i < n; i++)
    host_edge_connect (edges[i].node, node, &edges[i].data);
  return node;
}

void
host_node_remove (HostNode *node)
{
  HostGraph *graph = node->graph;
  host_edge_disconnect_all (node);
  host_node_cease_root (node);
  if (node->previous != NULL)
    node->previous->next = node->next;
  else
    graph->first = node->next;
  if (node->next != NULL)
    node->next->previous = node->previous;
  else
    graph->last = node->previous;
  graph->n_nodes--;
  g_clear_pointer (&graph->clones, g_hash_table_unref);
  host_object_destroy (node);
}

void
host_graph_clear (HostGraph *graph)
{
  HostNode *next;
  for (HostNode *node = graph->first; node != NULL; node = next)
    {
      next = node->next;
      host_object_destroy (node);
    }
  graph->first = graph->last = graph->first_root = NULL;
  graph->n_nodes = 0;
  graph->n_edges = 0;
  graph->n_memory_nodes = 0;
  g_clear_pointer (&graph->clones, g_hash_table_unref);
  g_clear_pointer (&graph->handles, g_ptr_array_unref);
  host_user_objects_free (graph->user_objects);
  graph->user_objects = NULL;
}

void
host_graph_destroy (HostGraph *graph)
{
  host_graph_clear (graph);
  host_object_destroy (graph);
}

McuResult
host_graph_check_edit (HostGraph *graph, bool removal)
{
  if (!removal)
    return MCU_SUCCESS;
  if (graph->n_memory_nodes > 0)
    return MCU_ERROR_NOT_SUPPORTED;
  return graph->capture != NULL ? MCU_ERROR_ILLEGAL_STATE : MCU_SUCCESS;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Clones
 */

static void
edges_copy (HostEdges *to, const HostEdges *from)
{
  for (unsigned i = 0; i < from->n; i++)
    host_edges_add (to, from->items[i].node->copy, &from->items[i].data);
}

static bool
graph_can_be_cloned (HostGraph *graph)
{
  if (graph->n_memory_nodes > 0)
    return false;
  for (HostNode *node = graph->first; node != NULL; node = node->next)
    if (node->work->type == MCU_NODE_CONDITIONAL
        || (node->work->type == MCU_NODE_GRAPH && !graph_can_be_cloned (node->work->u.child)))
      return false;
  return true;
}

McuResult
host_graph_clone (HostGraph **clone, HostGraph *graph)
{
  if (!graph_can_be_cloned (graph))
    return MCU_ERROR_NOT_SUPPORTED;

  HostGraph *copy = host_graph_new ();
  copy->origin = graph->uid;
  for (HostNode *node = graph->first; node != NULL; node = node->next)
    {
      node->copy = host_node_new (copy, host_work_copy (node->work), NULL, 0);
      node->copy->original = node->uid;
      node->copy->id = node->id;
    }
  for (HostNode *node = graph->first; node != NULL; node = node->next)
    {
      if (node->dependencies.n > 0)
        host_node_cease_root (node->copy);
      edges_copy (&node->copy->dependencies, &node->dependencies);
      edges_copy (&node->copy->dependents, &node->dependents);
    }
  copy->n_edges = graph->n_edges;
  copy->next_id = graph->next_id;
  copy->user_objects = host_user_objects_copy (graph->user_objects);
  *clone = copy;
  return MCU_SUCCESS;
}

static McuResult
graph_clone (CUgraph *clone, CUgraph handle)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || clone == NULL)
    return MCU_ERROR_INVALID_VALUE;
  return host_graph_clone (clone, graph);
}

HOST_API McuResult
cuGraphClone (CUgraph *clone, CUgraph graph)
{
  HOST_CALL (cuGraphClone, graph_clone (clone, graph));
}

static McuResult
graph_find_in_clone (CUgraphNode *out, CUgraphNode handle, CUgraph clone)
{
  HostNode *original = host_node_get (handle, -1);
  HostGraph *graph = host_graph_get (clone);
  if (out == NULL || original == NULL || graph == NULL || graph->origin != original->graph->uid)
    return MCU_ERROR_INVALID_VALUE;
  if (graph->clones == NULL)
    {
      graph->clones = g_hash_table_new (g_int64_hash, g_int64_equal);
      for (HostNode *node = graph->first; node != NULL; node = node->next)
        g_hash_table_insert (graph->clones, &node->original, node);
    }
  HostNode *node = g_hash_table_lookup (graph->clones, &original->uid);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *out = node;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeFindInClone (CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
  HOST_CALL (cuGraphNodeFindInClone, graph_find_in_clone (node, original, clone));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Creation, destruction
 */

static McuResult
graph_create (CUgraph *graph, unsigned flags)
{
  if (graph == NULL || flags != 0)
    return MCU_ERROR_INVALID_VALUE;
  *graph = host_graph_new ();
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphCreate (CUgraph *graph, unsigned flags)
{
  HOST_CALL (cuGraphCreate, graph_create (graph, flags));
}

static McuResult
graph_destroy (CUgraph handle)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || graph->owner != NULL || graph->capture != NULL)
    return MCU_ERROR_INVALID_VALUE;
  host_graph_destroy (graph);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphDestroy (CUgraph graph)
{
  HOST_CALL (cuGraphDestroy, graph_destroy (graph));
}

static McuResult
graph_destroy_node (CUgraphNode handle)
{
  HostNode *node = host_node_get (handle, -1);
  if (node == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_graph_check_edit (node->graph, true);
  if (result == MCU_SUCCESS)
    host_node_remove (node);
  return result;
}

HOST_API McuResult
cuGraphDestroyNode (CUgraphNode node)
{
  HOST_CALL (cuGraphDestroyNode, graph_destroy_node (node));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Getters
 */

static McuResult
graph_get_nodes (CUgraph handle, bool roots, CUgraphNode *nodes, size_t *count)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || count == NULL || (nodes != NULL && *count == 0))
    return MCU_ERROR_INVALID_VALUE;
  if (nodes == NULL && !roots)
    {
      *count = graph->n_nodes;
      return MCU_SUCCESS;
    }

  size_t n = 0;
  for (HostNode *node = roots ? graph->first_root : graph->first; node != NULL && (nodes == NULL || n < *count);
       node = roots ? node->next_root : node->next)
    {
      if (nodes != NULL)
        nodes[n] = node;
      n++;
    }
  if (nodes != NULL)
    for (size_t i = n; i < *count; i++)
      nodes[i] = NULL;
  *count = n;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphGetNodes (CUgraph graph, CUgraphNode *nodes, size_t *count)
{
  HOST_CALL (cuGraphGetNodes, graph_get_nodes (graph, false, nodes, count));
}

HOST_API McuResult
cuGraphGetRootNodes (CUgraph graph, CUgraphNode *nodes, size_t *count)
{
  HOST_CALL (cuGraphGetRootNodes, graph_get_nodes (graph, true, nodes, count));
}

static McuResult
node_get_type (CUgraphNode handle, int *type)
{
  HostNode *node = host_node_get (handle, -1);
  if (node == NULL || type == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *type = node->work->type;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeGetType (CUgraphNode node, int *type)
{
  HOST_CALL (cuGraphNodeGetType, node_get_type (node, type));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Ids (13.1)
 */

static McuResult
graph_get_id (CUgraph handle, unsigned *id)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || id == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *id = (unsigned) graph->uid;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphGetId (CUgraph graph, unsigned *id)
{
  HOST_CALL (cuGraphGetId, graph_get_id (graph, id));
}

static McuResult
node_get_ids (CUgraphNode handle, unsigned *local, unsigned long long *tools, CUgraph *graph)
{
  HostNode *node = host_node_get (handle, -1);
  if (node == NULL || (local == NULL && tools == NULL && graph == NULL))
    return MCU_ERROR_INVALID_VALUE;
  if (local != NULL)
    *local = node->id;
  if (tools != NULL)
    *tools = node->graph->uid << 32 | node->id;
  if (graph != NULL)
    *graph = node->graph;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeGetLocalId (CUgraphNode node, unsigned *id)
{
  HOST_CALL (cuGraphNodeGetLocalId, node_get_ids (node, id, NULL, NULL));
}

HOST_API McuResult
cuGraphNodeGetToolsId (CUgraphNode node, unsigned long long *id)
{
  HOST_CALL (cuGraphNodeGetToolsId, node_get_ids (node, NULL, id, NULL));
}

HOST_API McuResult
cuGraphNodeGetContainingGraph (CUgraphNode node, CUgraph *graph)
{
  HOST_CALL (cuGraphNodeGetContainingGraph, node_get_ids (node, NULL, NULL, graph));
}
