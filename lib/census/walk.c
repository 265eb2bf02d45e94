/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Step "node census": every node of a graph, at every depth, in order, with its type, its section and its edges. */
#include "config.h"

#include "reading-private.h"

#include <stdlib.h>

/* A graph with fewer nodes gives them in one call. */
#define FEW_NODES 2048
/* Graphs nested deeper than this are taken for a damaged driver rather than followed down the stack. */
#define MAX_DEPTH 200

typedef struct
{
  MemraCensus *census;
  MemraReading *reading;
  MemraDriver *driver;
  guint n_nodes, n_edges; /* of all graphs that were entered: room for so many there is */
} Walk;

static gboolean walk_graph (Walk *walk, CUgraph graph, guint32 depth, const char *section, GError **error);

void
_memra_reading_free (MemraReading *reading)
{
  if (reading == NULL)
    return;
  memra_driver_unref (reading->driver);
  g_free (reading->top);
  g_array_unref (reading->handles);
  _memra_dump_free (reading->dump);
  _memra_map_clear (&reading->functions);
  g_ptr_array_unref (reading->function_list);
  _memra_ranges_clear (&reading->ranges);
  _memra_map_clear (&reading->values);
  g_free (reading);
}

MemraDetail *
_memra_census_add_detail (MemraCensus *census, guint32 number)
{
  MemraDetail detail = { .node = number, .buffer = MEMRA_NO_BUFFER };

  _memra_census_node (census, number)->record = census->details->len;
  g_array_append_val (census->details, detail);
  return &g_array_index (census->details, MemraDetail, census->details->len - 1);
}

/* The nodes of a graph. To count them takes the driver as long as to list them, so they are listed into more and more
 * room until some is left over. */
static CUgraphNode *
get_nodes (MemraDriver *driver, CUgraph graph, gsize *n, GError **error)
{
  g_autofree CUgraphNode *nodes = NULL;

  for (gsize room = FEW_NODES; room < MEMRA_NO_NODE; room *= 8)
    {
      McuResult result;

      g_free (nodes);
      nodes = g_new (CUgraphNode, room);
      *n = room;
      result = driver->cu.cuGraphGetNodes (graph, nodes, n);
      if (result != MCU_SUCCESS)
        {
          _memra_driver_set_error (driver, error, result, "Could not list the nodes of the graph");
          return NULL;
        }
      if (*n < room)
        return g_steal_pointer (&nodes);
    }
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED, "The graph has too many nodes");
  return NULL;
}

static int
compare_edges (gconstpointer a, gconstpointer b)
{
  guint32 from_a = ((const MemraEdge *) a)->from, from_b = ((const MemraEdge *) b)->from;

  return (from_a > from_b) - (from_a < from_b);
}

/* Makes room in an array, so that items can be added with no more than push(). */
static void
reserve (GArray *array, guint n)
{
  guint length = array->len;

  g_array_set_size (array, MAX (n, length));
  g_array_set_size (array, length);
}

#define push(array, type, item) (((type *) (gpointer) (array)->data)[(array)->len++] = (item))

/* The edges into a node, by their nodes' numbers in the census. */
static void
add_edges (Walk *walk, const MemraLinks *links, guint32 i, const guint32 *number_of)
{
  GArray *edges = walk->census->edges;
  guint n_before = edges->len;

  for (guint32 k = links->first[i]; k < links->first[i + 1]; k++)
    {
      MemraEdge edge = links->items[k];

      edge.from = number_of[edge.from];
      edge.to = number_of[i];
      push (edges, MemraEdge, edge);
    }
  if (edges->len - n_before > 1)
    qsort (&g_array_index (edges, MemraEdge, n_before), edges->len - n_before, sizeof (MemraEdge), compare_edges);
}

static gboolean walk_nodes (Walk *walk, const CUgraphNode *nodes, guint32 n, guint32 depth, const char *section,
                            const MemraSectionMark *marks, guint n_marks, GError **error);

static gboolean
walk_child (Walk *walk, CUgraphNode node, guint32 number, guint32 depth, const char *section, GError **error)
{
  guint detail = walk->census->details->len;
  CUgraph child = NULL;
  McuResult result = walk->driver->cu.cuGraphChildGraphNodeGetGraph (node, &child);
  guint32 size;

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (walk->driver, error, result, "Could not get the graph inside child graph node %u",
                                    number);
  _memra_census_add_detail (walk->census, number);
  if (!walk_graph (walk, child, depth + 1, section, error))
    return FALSE;
  size = walk->census->nodes->len - number - 1;
  g_array_index (walk->census->details, MemraDetail, detail).bodies
      = _memra_arena_copy (&walk->census->arena, &size, sizeof size);
  g_array_index (walk->census->details, MemraDetail, detail).n_bodies = 1;
  return TRUE;
}

static gboolean
walk_bodies (Walk *walk, const MemraBodies *bodies, guint32 depth, const char *section, guint32 *sizes, GError **error)
{
  for (guint i = 0; i < bodies->n; i++)
    {
      guint before = walk->census->nodes->len;

      if (bodies->graphs != NULL)
        {
          if (!walk_graph (walk, bodies->graphs[i], depth + 1, section, error))
            return FALSE;
        }
      else
        {
          guint n;
          const CUgraphNode *nodes = _memra_dump_get_cluster (walk->reading->dump, bodies->clusters[i], &n);

          if (!walk_nodes (walk, nodes, n, depth + 1, section, NULL, 0, error))
            return FALSE;
        }
      sizes[i] = walk->census->nodes->len - before;
    }
  return TRUE;
}

static gboolean
walk_conditional (Walk *walk, CUgraphNode node, guint32 number, guint32 depth, const char *section, GError **error)
{
  guint index = walk->census->details->len;
  MemraBodies bodies = { 0 };
  gboolean success;

  if (!_memra_bodies_read (&bodies, walk->reading, node, error))
    return FALSE;
  _memra_census_add_detail (walk->census, number);
  if (bodies.n == 0)
    {
      g_array_index (walk->census->details, MemraDetail, index).opaque = TRUE;
      success = TRUE;
    }
  else
    {
      guint32 *sizes = _memra_arena_alloc (&walk->census->arena, bodies.n * sizeof *sizes);
      MemraDetail *detail;

      success = walk_bodies (walk, &bodies, depth, section, sizes, error);
      detail = &g_array_index (walk->census->details, MemraDetail, index);
      detail->from_dump = bodies.clusters != NULL;
      detail->bodies = sizes;
      detail->n_bodies = bodies.n;
    }
  _memra_bodies_clear (&bodies);
  return success;
}

/* The section of the node created as the k-th: the last mark with n_nodes <= k. */
static const char *
section_of (const MemraSectionMark *marks, guint n_marks, gsize k)
{
  guint begin = 0, end = n_marks;

  while (begin < end)
    {
      guint middle = begin + (end - begin) / 2;

      if (marks[middle].n_nodes <= k)
        begin = middle + 1;
      else
        end = middle;
    }
  return begin > 0 ? marks[begin - 1].name : NULL;
}

static gboolean
add_node (Walk *walk, CUgraphNode handle, guint32 type, guint32 depth, const char *section, GError **error)
{
  guint32 number = walk->census->nodes->len;
  MemraNode node = { .section = section, .type = type, .depth = depth, .record = MEMRA_NO_RECORD };

  push (walk->census->nodes, MemraNode, node);
  push (walk->reading->handles, CUgraphNode, handle);
  if (G_UNLIKELY (type == MCU_NODE_GRAPH))
    return walk_child (walk, handle, number, depth, section, error);
  if (G_UNLIKELY (type == MCU_NODE_CONDITIONAL))
    return walk_conditional (walk, handle, number, depth, section, error);
  return TRUE;
}

/* The nodes of one graph, and what is inside them. */
static gboolean
walk_nodes (Walk *walk, const CUgraphNode *nodes, guint32 n, guint32 depth, const char *section,
            const MemraSectionMark *marks, guint n_marks, GError **error)
{
  MemraLinks links = { 0 };
  g_autoptr (GError) circle = NULL;
  g_autofree guint32 *order = NULL;
  g_autofree guint32 *number_of = NULL;
  gboolean success = FALSE;

  if (depth > MAX_DEPTH)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED, "Graphs are nested more than %d deep",
                   MAX_DEPTH);
      return FALSE;
    }
  if (!_memra_links_read (&links, walk->driver, nodes, n, error))
    goto out;
  order = _memra_links_sort (&links, &circle);
  if (circle != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&circle));
      goto out;
    }

  walk->n_nodes += n;
  walk->n_edges += links.n_items;
  reserve (walk->census->nodes, walk->n_nodes);
  reserve (walk->reading->handles, walk->n_nodes);
  reserve (walk->census->edges, walk->n_edges);
  number_of = g_new (guint32, n);
  for (guint32 k = 0; k < n; k++)
    {
      guint32 i = order != NULL ? order[k] : k;

      number_of[i] = walk->census->nodes->len;
      add_edges (walk, &links, i, number_of);
      if (!add_node (walk, nodes[i], links.types[i], depth, n_marks > 0 ? section_of (marks, n_marks, i) : section,
                     error))
        goto out;
    }
  success = TRUE;

out:
  _memra_links_clear (&links);
  return success;
}

static gboolean
walk_graph (Walk *walk, CUgraph graph, guint32 depth, const char *section, GError **error)
{
  gsize n;
  g_autofree CUgraphNode *nodes = get_nodes (walk->driver, graph, &n, error);

  return nodes != NULL && walk_nodes (walk, nodes, (guint32) n, depth, section, NULL, 0, error);
}

MemraCensus *
_memra_census_read_nodes (MemraDriver *driver, CUgraph graph, guint layer, const MemraSectionMark *marks, guint n_marks,
                          GError **error)
{
  g_autoptr (MemraCensus) census = _memra_census_new (layer);
  g_autofree MemraSectionMark *own_marks = g_new (MemraSectionMark, n_marks);
  MemraReading *reading = g_new0 (MemraReading, 1);
  Walk walk = { .census = census, .reading = reading, .driver = driver };

  census->reading = reading;
  reading->driver = memra_driver_ref (driver);
  reading->graph = graph;
  reading->handles = g_array_new (FALSE, FALSE, sizeof (CUgraphNode));
  reading->function_list = g_ptr_array_new ();
  for (guint i = 0; i < n_marks; i++)
    {
      own_marks[i].n_nodes = marks[i].n_nodes;
      own_marks[i].name = _memra_census_intern (census, marks[i].name);
    }

  reading->top = get_nodes (driver, graph, &reading->n_top, error);
  if (reading->top == NULL)
    return NULL;
  if (!walk_nodes (&walk, reading->top, (guint32) reading->n_top, 0, NULL, own_marks, n_marks, error))
    return NULL;
  _memra_census_count (census);
  return g_steal_pointer (&census);
}

void
_memra_census_set_context (MemraCensus *census, CUcontext context)
{
  if (census->reading != NULL)
    census->reading->context = context;
}

char *
_memra_census_describe_node (MemraDriver *driver, CUgraphNode node)
{
  McuKernelNodeParams params;
  const char *name = NULL;
  McuResult result;
  int type;

  if (driver->cu.cuGraphNodeGetType (node, &type) != MCU_SUCCESS)
    return g_strdup ("a node that the driver does not know");
  if (type == MCU_NODE_KERNEL && _memra_driver_get_kernel_params (driver, node, &params) == MCU_SUCCESS)
    name = _memra_kernel_name (driver, &params, &result);
  return name != NULL ? g_utf8_make_valid (name, -1) : _memra_type_dup_name ((guint32) type);
}

/**
 * memra_census_new_from_graph:
 * @driver: the driver that the graph is of
 * @graph: a graph, made by anyone; it is only read, and must not be changed or destroyed meanwhile
 * @error: return location for an error
 *
 * Takes the census of a graph: of nodes, kernels with names, shapes and arguments, copies, edges, allocations and
 * hazards, down through child graphs and, where the driver lets it, conditional nodes. The census keeps nothing of the
 * graph, which may be destroyed afterwards.
 *
 * Bodies of conditional nodes are read from driver 13.2 on; below that from the driver's debug dump, and marked so;
 * where that fails the node stays closed and is the hazard "opaque-node".
 *
 * Errors: %MEMRA_DRIVER_ERROR of the driver call that failed; %MEMRA_CENSUS_ERROR_FAILED for a graph that is no graph.
 * Any thread; needs no current context and does not change it; legal under capture, also for the graph that is being
 * captured.
 *
 * Returns: (transfer full): the census
 *
 * Since: 0.1
 */
MemraCensus *
memra_census_new_from_graph (MemraDriver *driver, struct CUgraph_st *graph, GError **error)
{
  g_autoptr (MemraCensus) census = NULL;

  g_return_val_if_fail (driver != NULL, NULL);
  g_return_val_if_fail (graph != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  census = _memra_census_read_nodes (driver, graph, 0, NULL, 0, error);
  if (census == NULL || !_memra_census_read_kernels (census, error))
    return NULL;
  return g_steal_pointer (&census);
}
