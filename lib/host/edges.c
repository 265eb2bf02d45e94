/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edges.c: edges between nodes, and the getters that list them.
 */
#include "graph-private.h"

#include <string.h>

bool
host_edge_is_default (const McuEdgeData *data)
{
  return data == NULL || (data->from_port == 0 && data->to_port == 0 && data->type == MCU_EDGE_DEFAULT);
}

void
host_edges_add (HostEdges *edges, HostNode *node, const McuEdgeData *data)
{
  if (edges->n == edges->capacity)
    {
      edges->capacity = edges->capacity == 0 ? 1 : 2 * edges->capacity;
      edges->items = g_renew (HostEdge, edges->items, edges->capacity);
    }
  HostEdge *edge = &edges->items[edges->n++];
  edge->node = node;
  if (data != NULL)
    edge->data = *data;
  else
    memset (&edge->data, 0, sizeof edge->data);
}

void
host_edges_clear (HostEdges *edges)
{
  g_clear_pointer (&edges->items, g_free);
  edges->n = edges->capacity = 0;
}

static HostEdge *
edges_find (const HostEdges *edges, const HostNode *node)
{
  for (unsigned i = 0; i < edges->n; i++)
    if (edges->items[i].node == node)
      return &edges->items[i];
  return NULL;
}

static void
edges_remove (HostEdges *edges, const HostNode *node)
{
  HostEdge *edge = edges_find (edges, node);
  if (edge == NULL)
    return;
  edges->n--;
  memmove (edge, edge + 1, (size_t) (edges->items + edges->n - edge) * sizeof *edge);
}

/* The edge, seen from `to`; searches the shorter of the two lists. */
static HostEdge *
edge_find (HostNode *from, HostNode *to)
{
  if (from->dependents.n < to->dependencies.n && edges_find (&from->dependents, to) == NULL)
    return NULL;
  return edges_find (&to->dependencies, from);
}

void
host_edge_connect (HostNode *from, HostNode *to, const McuEdgeData *data)
{
  if (to->dependencies.n == 0)
    host_node_cease_root (to);
  host_edges_add (&to->dependencies, from, data);
  host_edges_add (&from->dependents, to, data);
  to->graph->n_edges++;
}

static void
edge_disconnect (HostNode *from, HostNode *to)
{
  edges_remove (&to->dependencies, from);
  edges_remove (&from->dependents, to);
  to->graph->n_edges--;
  if (to->dependencies.n == 0)
    host_node_become_root (to);
}

void
host_edge_disconnect_all (HostNode *node)
{
  for (unsigned i = 0; i < node->dependencies.n; i++)
    edges_remove (&node->dependencies.items[i].node->dependents, node);
  for (unsigned i = 0; i < node->dependents.n; i++)
    {
      HostNode *dependent = node->dependents.items[i].node;
      edges_remove (&dependent->dependencies, node);
      if (dependent->dependencies.n == 0)
        host_node_become_root (dependent);
    }
  node->graph->n_edges -= (size_t) node->dependencies.n + node->dependents.n;
  if (node->dependencies.n > 0)
    host_node_become_root (node);
  host_edges_clear (&node->dependencies);
  host_edges_clear (&node->dependents);
}

/* Whether a client's edge data is a value that exists and fits the node that the edge leaves. */
static bool
edge_data_is_valid (const HostNode *from, const McuEdgeData *data)
{
  if (host_edge_is_default (data))
    return true;
  if (data->type > MCU_EDGE_PROGRAMMATIC || data->from_port > 2 || data->to_port != 0)
    return false;
  if (data->from_port == 1 && data->type != MCU_EDGE_PROGRAMMATIC)
    return false;
  return from->work->type == MCU_NODE_KERNEL;
}

McuResult
host_edges_from_client (GArray **edges, HostGraph *graph, const CUgraphNode *nodes, const McuEdgeData *data, size_t n)
{
  *edges = NULL;
  if (n > 0 && nodes == NULL)
    return MCU_ERROR_INVALID_VALUE;

  GArray *list = g_array_sized_new (FALSE, FALSE, sizeof (HostEdge), (unsigned) MIN (n, 4096));
  uint64_t mark = host_graph_mark ();
  for (size_t i = 0; i < n; i++)
    {
      HostNode *node = host_node_get (nodes[i], -1);
      if (node == NULL || node->graph != graph || node->mark == mark
          || (data != NULL && !edge_data_is_valid (node, &data[i])))
        {
          g_array_unref (list);
          return MCU_ERROR_INVALID_VALUE;
        }
      node->mark = mark;
      HostEdge edge = { .node = node };
      if (data != NULL)
        edge.data = data[i];
      g_array_append_val (list, edge);
    }
  *edges = list;
  return MCU_SUCCESS;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Getters
 */

static McuResult
graph_get_edges (CUgraph handle, CUgraphNode *from, CUgraphNode *to, McuEdgeData *data, size_t *count)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || count == NULL || (from == NULL) != (to == NULL) || (data != NULL && from == NULL)
      || (from != NULL && *count == 0))
    return MCU_ERROR_INVALID_VALUE;
  if (from == NULL)
    {
      *count = graph->n_edges;
      return MCU_SUCCESS;
    }

  size_t n = 0;
  for (HostNode *node = graph->first; node != NULL && n < *count; node = node->next)
    for (unsigned i = 0; i < node->dependents.n && n < *count; i++)
      {
        const HostEdge *edge = &node->dependents.items[i];
        if (data != NULL)
          data[n] = edge->data;
        else if (!host_edge_is_default (&edge->data))
          return MCU_ERROR_LOSSY_QUERY;
        from[n] = node;
        to[n++] = edge->node;
      }
  for (size_t i = n; i < *count; i++)
    {
      from[i] = to[i] = NULL;
      if (data != NULL)
        memset (&data[i], 0, sizeof data[i]);
    }
  if (*count > n)
    *count = n;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphGetEdges (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
  HOST_CALL (cuGraphGetEdges, graph_get_edges (graph, from, to, NULL, count));
}

HOST_API McuResult
cuGraphGetEdges_v2 (CUgraph graph, CUgraphNode *from, CUgraphNode *to, McuEdgeData *data, size_t *count)
{
  HOST_CALL (cuGraphGetEdges_v2, graph_get_edges (graph, from, to, data, count));
}

/* Lists one direction of a node's edges. */
static McuResult
node_get_edges (CUgraphNode handle, bool dependents, CUgraphNode *nodes, McuEdgeData *data, size_t *count)
{
  HostNode *node = host_node_get (handle, -1);
  if (node == NULL || count == NULL || (data != NULL && nodes == NULL) || (nodes != NULL && *count == 0))
    return MCU_ERROR_INVALID_VALUE;
  const HostEdges *edges = dependents ? &node->dependents : &node->dependencies;
  if (nodes == NULL)
    {
      *count = edges->n;
      return MCU_SUCCESS;
    }

  size_t n = MIN (*count, edges->n);
  for (size_t i = 0; i < n; i++)
    {
      if (data != NULL)
        data[i] = edges->items[i].data;
      else if (!host_edge_is_default (&edges->items[i].data))
        return MCU_ERROR_LOSSY_QUERY;
      nodes[i] = edges->items[i].node;
    }
  for (size_t i = n; i < *count; i++)
    {
      nodes[i] = NULL;
      if (data != NULL)
        memset (&data[i], 0, sizeof data[i]);
    }
  *count = n;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphNodeGetDependencies (CUgraphNode node, CUgraphNode *dependencies, size_t *count)
{
  HOST_CALL (cuGraphNodeGetDependencies, node_get_edges (node, false, dependencies, NULL, count));
}

HOST_API McuResult
cuGraphNodeGetDependencies_v2 (CUgraphNode node, CUgraphNode *dependencies, McuEdgeData *data, size_t *count)
{
  HOST_CALL (cuGraphNodeGetDependencies_v2, node_get_edges (node, false, dependencies, data, count));
}

HOST_API McuResult
cuGraphNodeGetDependentNodes (CUgraphNode node, CUgraphNode *dependents, size_t *count)
{
  HOST_CALL (cuGraphNodeGetDependentNodes, node_get_edges (node, true, dependents, NULL, count));
}

HOST_API McuResult
cuGraphNodeGetDependentNodes_v2 (CUgraphNode node, CUgraphNode *dependents, McuEdgeData *data, size_t *count)
{
  HOST_CALL (cuGraphNodeGetDependentNodes_v2, node_get_edges (node, true, dependents, data, count));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Editing
 */

static McuResult
graph_edit_dependencies (CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const McuEdgeData *data,
                         size_t count, bool add)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (count == 0)
    return MCU_SUCCESS;
  if (from == NULL || to == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = host_graph_check_edit (graph, !add);
  if (result != MCU_SUCCESS)
    return result;

  size_t done = 0;
  for (; done < count; done++)
    {
      HostNode *a = host_node_get (from[done], -1);
      HostNode *b = host_node_get (to[done], -1);
      if (a == NULL || b == NULL || a == b || a->graph != graph || b->graph != graph)
        break;
      HostEdge *edge = edge_find (a, b);
      const McuEdgeData *wanted = data != NULL ? &data[done] : NULL;
      if (add)
        {
          if (edge != NULL || !edge_data_is_valid (a, wanted))
            break;
          host_edge_connect (a, b, wanted);
        }
      else
        {
          static const McuEdgeData plain;
          if (edge == NULL || memcmp (&edge->data, wanted != NULL ? wanted : &plain, sizeof plain) != 0)
            break;
          edge_disconnect (a, b);
        }
    }
  if (done == count)
    return MCU_SUCCESS;

  /* All or nothing: what an earlier pair added goes again. What it took away comes back at the end of the lists. */
  while (done-- > 0)
    if (add)
      edge_disconnect (from[done], to[done]);
    else
      host_edge_connect (from[done], to[done], data != NULL ? &data[done] : NULL);
  return MCU_ERROR_INVALID_VALUE;
}

HOST_API McuResult
cuGraphAddDependencies (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
  HOST_CALL (cuGraphAddDependencies, graph_edit_dependencies (graph, from, to, NULL, count, true));
}

HOST_API McuResult
cuGraphAddDependencies_v2 (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const McuEdgeData *data,
                           size_t count)
{
  HOST_CALL (cuGraphAddDependencies_v2, graph_edit_dependencies (graph, from, to, data, count, true));
}

HOST_API McuResult
cuGraphRemoveDependencies (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
  HOST_CALL (cuGraphRemoveDependencies, graph_edit_dependencies (graph, from, to, NULL, count, false));
}

HOST_API McuResult
cuGraphRemoveDependencies_v2 (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const McuEdgeData *data,
                              size_t count)
{
  HOST_CALL (cuGraphRemoveDependencies_v2, graph_edit_dependencies (graph, from, to, data, count, false));
}
