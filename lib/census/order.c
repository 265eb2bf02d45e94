/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Edges of one graph, and its nodes in topological order.
 *
 * Edges are asked for node by node. cuGraphGetEdges would be one call, but its cost grows with the square of the number
 * of edges: on driver 13.0 one second for a chain of 100,000 nodes, against 6 ms for all their dependencies.
 */
#include "config.h"

#include "reading-private.h"

#include <string.h>

#define FEW 16

static inline McuResult
get_dependencies (MemraDriver *driver, CUgraphNode node, CUgraphNode *dependencies, McuEdgeData *data, gsize *n)
{
  if (driver->cu.cuGraphNodeGetDependencies_v2 != NULL)
    return driver->cu.cuGraphNodeGetDependencies_v2 (node, dependencies, data, n);
  if (data != NULL)
    memset (data, 0, *n * sizeof *data);
  return driver->cu.cuGraphNodeGetDependencies (node, dependencies, n);
}

/* The index of a handle. Nearly always it is the one that the caller guesses; else a map over all nodes is made. */
static gboolean
index_of (MemraMap *map, const CUgraphNode *nodes, guint32 n, CUgraphNode node, guint32 guess, guint32 *index)
{
  if (G_LIKELY (guess < n && nodes[guess] == node))
    {
      *index = guess;
      return TRUE;
    }
  if (map->n == 0)
    for (guint32 i = 0; i < n; i++)
      _memra_map_insert (map, GPOINTER_TO_SIZE (nodes[i]), i);
  return _memra_map_lookup (map, GPOINTER_TO_SIZE (node), index);
}

static gboolean
read_node (MemraLinks *links, MemraDriver *driver, const CUgraphNode *nodes, guint32 i, MemraMap *map, GError **error)
{
  CUgraphNode few[FEW], *dependencies = few;
  McuEdgeData few_data[FEW], *data = few_data;
  g_autofree CUgraphNode *many = NULL;
  g_autofree McuEdgeData *many_data = NULL;
  gsize n = FEW;
  int type = 0;
  McuResult result = driver->cu.cuGraphNodeGetType (nodes[i], &type);

  if (G_UNLIKELY (result != MCU_SUCCESS))
    return _memra_driver_set_error (driver, error, result, "Could not get the type of node %u", i);
  links->types[i] = (guint32) type;
  result = get_dependencies (driver, nodes[i], few, few_data, &n);

  if (G_UNLIKELY (result == MCU_SUCCESS && n == FEW)) /* full: there may be more */
    {
      n = 0;
      result = get_dependencies (driver, nodes[i], NULL, NULL, &n);
      dependencies = many = g_new0 (CUgraphNode, n);
      data = many_data = g_new0 (McuEdgeData, n);
      if (result == MCU_SUCCESS)
        result = get_dependencies (driver, nodes[i], dependencies, data, &n);
    }
  if (G_UNLIKELY (result != MCU_SUCCESS))
    return _memra_driver_set_error (driver, error, result, "Could not get the dependencies of node %u", i);

  for (gsize k = 0; k < n; k++)
    {
      MemraEdge edge = { .to = i, .type = data[k].type };

      if (G_UNLIKELY (!index_of (map, nodes, links->n, dependencies[k], i - 1, &edge.from)))
        {
          g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED,
                       "Node %u depends on a node that its graph does not list", i);
          return FALSE;
        }
      if (edge.from >= i)
        links->sorted = FALSE;
      if (G_UNLIKELY (links->n_items == links->capacity))
        {
          links->capacity *= 2;
          links->items = g_renew (MemraEdge, links->items, links->capacity);
        }
      links->items[links->n_items++] = edge;
    }
  return TRUE;
}

gboolean
_memra_links_read (MemraLinks *links, MemraDriver *driver, const CUgraphNode *nodes, guint32 n, GError **error)
{
  MemraMap map = { 0 };
  gboolean success = TRUE;

  links->n = n;
  links->types = g_new (guint32, n);
  links->first = g_new (guint32, (gsize) n + 1);
  links->capacity = MAX (n, 16);
  links->items = g_new (MemraEdge, links->capacity);
  links->sorted = TRUE;
  links->first[0] = 0;
  for (guint32 i = 0; i < n && success; i++)
    {
      success = read_node (links, driver, nodes, i, &map, error);
      links->first[i + 1] = links->n_items;
    }
  _memra_map_clear (&map);
  return success;
}

void
_memra_links_clear (MemraLinks *links)
{
  g_clear_pointer (&links->types, g_free);
  g_clear_pointer (&links->first, g_free);
  g_clear_pointer (&links->items, g_free);
}

/* A heap of indices, smallest first. */
static void
heap_push (guint32 *heap, guint32 *n, guint32 value)
{
  guint32 i = (*n)++;

  for (; i > 0 && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = value;
}

static guint32
heap_pop (guint32 *heap, guint32 *n)
{
  guint32 smallest = heap[0], last = heap[--*n], i = 0;

  for (guint32 child = 1; child < *n; child = 2 * i + 1)
    {
      if (child + 1 < *n && heap[child + 1] < heap[child])
        child++;
      if (heap[child] >= last)
        break;
      heap[i] = heap[child];
      i = child;
    }
  heap[i] = last;
  return smallest;
}

guint32 *
_memra_links_sort (const MemraLinks *links, GError **error)
{
  const MemraEdge *edges = links->items;
  guint32 n = links->n, n_heap = 0, n_done = 0;
  g_autofree guint32 *order = NULL;
  g_autofree guint32 *waiting = NULL;    /* number of dependencies that are not done */
  g_autofree guint32 *first_user = NULL; /* users of node i: items first_user[i] to first_user[i + 1] - 1 of users */
  g_autofree guint32 *users = NULL;
  g_autofree guint32 *heap = NULL;

  if (links->sorted) /* the smallest index left is then always free to go */
    return NULL;

  order = g_new (guint32, n);
  waiting = g_new (guint32, n);
  heap = g_new (guint32, n);
  users = g_new (guint32, links->n_items);
  first_user = g_new0 (guint32, (gsize) n + 2);
  for (guint32 k = 0; k < links->n_items; k++)
    first_user[edges[k].from + 2]++;
  for (guint32 i = 2; i < n + 2; i++)
    first_user[i] += first_user[i - 1];
  for (guint32 k = 0; k < links->n_items; k++)
    users[first_user[edges[k].from + 1]++] = edges[k].to;

  for (guint32 i = 0; i < n; i++)
    {
      waiting[i] = links->first[i + 1] - links->first[i];
      if (waiting[i] == 0)
        heap_push (heap, &n_heap, i);
    }
  while (n_heap > 0)
    {
      guint32 i = heap_pop (heap, &n_heap);

      order[n_done++] = i;
      for (guint32 k = first_user[i]; k < first_user[i + 1]; k++)
        if (--waiting[users[k]] == 0)
          heap_push (heap, &n_heap, users[k]);
    }
  if (n_done < n)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED,
                   "%u of %u nodes of the graph wait for each other in a circle", n - n_done, n);
      return NULL;
    }
  return g_steal_pointer (&order);
}
