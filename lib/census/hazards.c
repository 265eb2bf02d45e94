/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts about a graph that have hurt people. */
#include "config.h"

#include "reading-private.h"

#include <stdlib.h>
#include <string.h>

void
_memra_census_add_hazard (MemraCensus *census, const char *kind, guint32 number, const char *format, ...)
{
  MemraHazard hazard = { .kind = kind, .node = number };
  g_autofree char *message = NULL;
  va_list arguments;

  va_start (arguments, format);
  message = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  hazard.message = _memra_census_intern (census, message);
  g_array_append_val (census->hazards, hazard);
}

void
_memra_census_note_foreign (MemraCensus *census, guint32 number)
{
  if (census->reading->n_foreign++ == 0)
    census->reading->first_foreign = number;
}

static void
judge_copy (MemraCensus *census, const MemraCopy *copy)
{
  g_autofree char *name = _memra_census_name_node (census, copy->node);

  if (copy->source.kind == MEMRA_PLACE_PAGEABLE)
    _memra_census_add_hazard (census, "pageable-source", copy->node,
                              "%s reads pageable host memory at every replay, wherever that memory is by then", name);
  if (copy->target.kind == MEMRA_PLACE_PAGEABLE)
    _memra_census_add_hazard (
        census, copy->direction == MEMRA_COPY_DEVICE_TO_HOST ? "device-to-host-pageable" : "pageable-target",
        copy->node, "%s writes pageable host memory at every replay, wherever that memory is by then", name);
}

static void
judge_nodes (MemraCensus *census)
{
  for (guint i = 0; i < census->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (census, i);

      if (node->type == MCU_NODE_HOST)
        _memra_census_add_hazard (
            census, "host-node", i,
            "Node %u calls a host function at every replay, on a thread of the driver, which must not "
            "call CUDA and may no longer find its data",
            i);
      else if (node->type > MCU_NODE_CONDITIONAL)
        _memra_census_add_hazard (census, "opaque-node", i,
                                  "Node %u is of type %u, of which this version knows nothing", i, node->type);
      else if (node->type == MCU_NODE_CONDITIONAL && g_array_index (census->details, MemraDetail, node->record).opaque)
        _memra_census_add_hazard (
            census, "opaque-node", i,
            "Node %u is conditional, and this driver does not tell what is inside: it is not counted", i);
    }
}

/* Pairs allocation nodes with free nodes by their buffer. */
static void
judge_memory (MemraCensus *census)
{
  g_autofree guint8 *freed = g_new0 (guint8, census->allocations->len);

  for (guint i = 0; i < census->details->len; i++)
    {
      const MemraDetail *detail = &g_array_index (census->details, MemraDetail, i);

      if (_memra_census_node (census, detail->node)->type != MCU_NODE_MEM_FREE)
        continue;
      if (detail->buffer != MEMRA_NO_BUFFER
          && g_array_index (census->allocations, MemraAllocation, detail->buffer).id == 0)
        freed[detail->buffer] = TRUE;
      else
        _memra_census_add_hazard (
            census, "unbalanced-allocation", detail->node,
            "Node %u frees memory that this graph did not allocate: a second launch fails unless it is "
            "allocated anew in between",
            detail->node);
    }
  for (guint i = 0; i < census->details->len; i++)
    {
      const MemraDetail *detail = &g_array_index (census->details, MemraDetail, i);

      if (_memra_census_node (census, detail->node)->type == MCU_NODE_MEM_ALLOC
          && (detail->buffer == MEMRA_NO_BUFFER || !freed[detail->buffer]))
        _memra_census_add_hazard (
            census, "unbalanced-allocation", detail->node,
            "Node %u allocates %" G_GUINT64_FORMAT
            " bytes that the graph does not free: a second launch fails unless they are freed in between",
            detail->node, detail->bytes);
    }
}

static void
judge_edges (MemraCensus *census)
{
  const MemraEdge *first = NULL;
  g_autofree char *from = NULL;
  g_autofree char *to = NULL;

  if (census->n_programmatic_edges == 0)
    return;
  for (guint i = 0; i < census->edges->len && first == NULL; i++)
    if (g_array_index (census->edges, MemraEdge, i).type != MCU_EDGE_DEFAULT)
      first = &g_array_index (census->edges, MemraEdge, i);
  from = _memra_census_name_node (census, first->from);
  to = _memra_census_name_node (census, first->to);
  _memra_census_add_hazard (census, "programmatic-edge", first->to,
                            "%s may begin before %s has ended, unless its own code waits; %u of %u edges are such", to,
                            from, census->n_programmatic_edges, census->edges->len);
}

static int
compare_hazards (gconstpointer a, gconstpointer b)
{
  const MemraHazard *x = a, *y = b;
  guint64 node_x = x->node == MEMRA_NO_NODE ? 0 : (guint64) x->node + 1,
          node_y = y->node == MEMRA_NO_NODE ? 0 : (guint64) y->node + 1;

  if (node_x != node_y)
    return node_x < node_y ? -1 : 1;
  return strcmp (x->kind, y->kind);
}

void
_memra_census_find_hazards (MemraCensus *census)
{
  const MemraReading *reading = census->reading;

  if (census->nodes->len == 0)
    _memra_census_add_hazard (census, "empty-graph", MEMRA_NO_NODE,
                              "The graph has no nodes: launching it does nothing");
  judge_nodes (census);
  for (guint i = 0; i < census->copies->len; i++)
    {
      const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, i);

      if (copy->source.kind == MEMRA_PLACE_PAGEABLE || copy->target.kind == MEMRA_PLACE_PAGEABLE)
        judge_copy (census, copy);
    }
  judge_memory (census);
  judge_edges (census);
  if (reading->n_foreign > 0)
    {
      g_autofree char *name = _memra_census_name_node (census, reading->first_foreign);

      _memra_census_add_hazard (census, "foreign-context", reading->first_foreign,
                                "%s is of another context than the graph's; %u of %u kernels are", name,
                                reading->n_foreign, census->n_kernels);
    }
  if (census->hazards->len > 1)
    qsort (census->hazards->data, census->hazards->len, sizeof (MemraHazard), compare_hazards);
}
