/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The census object and its getters; those of a kernel node are in kernel-node.c. */
#include "config.h"

#include "reading-private.h"

#include <string.h>

/* Bytes of a message: what it quotes may be as long as a file. */
#define LONGEST_MESSAGE ((gsize) 1000)

/**
 * memra_census_error_quark:
 *
 * Gets the number of the domain %MEMRA_CENSUS_ERROR.
 *
 * Returns: the quark
 *
 * Since: 0.1
 */
/* It would take the name for a subtraction: */
/* clang-format off */
G_DEFINE_QUARK (memra-census-error-quark, memra_census_error)
/* clang-format on */

void
_memra_census_set_error (GError **error, MemraCensusError code, const char *message)
{
  gsize length = strlen (message);
  g_autofree char *valid = g_utf8_make_valid (message, (gssize) MIN (length, LONGEST_MESSAGE));

  g_set_error (error, MEMRA_CENSUS_ERROR, (gint) code, "%s%s", valid, length > LONGEST_MESSAGE ? "..." : "");
}

MemraCensus *
_memra_census_new (guint layer)
{
  MemraCensus *census = g_new0 (MemraCensus, 1);

  g_atomic_ref_count_init (&census->ref_count);
  census->layer = layer;
  census->strings = g_string_chunk_new (1024);
  census->nodes = g_array_new (FALSE, FALSE, sizeof (MemraNode));
  census->edges = g_array_new (FALSE, FALSE, sizeof (MemraEdge));
  census->details = g_array_new (FALSE, FALSE, sizeof (MemraDetail));
  census->counts = g_hash_table_new (g_str_hash, g_str_equal);
  census->names = g_ptr_array_new ();
  census->copies = g_array_new (FALSE, FALSE, sizeof (MemraCopy));
  census->hazards = g_array_new (FALSE, FALSE, sizeof (MemraHazard));
  census->allocations = g_array_new (FALSE, FALSE, sizeof (MemraAllocation));
  census->pageable_copy = MEMRA_NO_RECORD;
  return census;
}

const char *
_memra_census_intern (MemraCensus *census, const char *text)
{
  g_autofree char *valid = NULL;

  if (g_utf8_validate (text, -1, NULL))
    return g_string_chunk_insert_const (census->strings, text);
  valid = g_utf8_make_valid (text, -1);
  return g_string_chunk_insert_const (census->strings, valid);
}

void
_memra_census_count (MemraCensus *census)
{
  guint known[MEMRA_N_KNOWN_TYPES] = { 0 };

  for (guint i = 0; i < census->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (census, i);

      if (node->depth == 0)
        census->n_top_level++;
      if (node->type < G_N_ELEMENTS (known))
        known[node->type]++;
      else
        {
          const char *name = _memra_census_type_name (census, node->type);
          guint n = GPOINTER_TO_UINT (g_hash_table_lookup (census->counts, name));

          g_hash_table_insert (census->counts, (gpointer) name, GUINT_TO_POINTER (n + 1));
        }
    }
  for (guint32 i = 0; i < G_N_ELEMENTS (known); i++)
    if (known[i] > 0)
      g_hash_table_insert (census->counts, (gpointer) _memra_census_type_name (census, i), GUINT_TO_POINTER (known[i]));

  for (guint i = 0; i < census->edges->len; i++)
    if (g_array_index (census->edges, MemraEdge, i).type == MCU_EDGE_DEFAULT)
      census->n_normal_edges++;
    else
      census->n_programmatic_edges++;
}

gboolean
_memra_census_is_partial (const MemraCensus *census)
{
  return census->n_kernels != memra_census_get_count (census, "kernel")
         || census->copies->len != memra_census_get_count (census, "memcpy") + memra_census_get_count (census, "memset");
}

void
_memra_census_list_names (MemraCensus *census)
{
  g_ptr_array_set_size (census->names, (gint) census->n_kernels);
  for (guint i = 0; i < census->n_kernels; i++)
    census->names->pdata[i] = (gpointer) census->kernels[i].function->name;
}

/**
 * memra_census_ref:
 * @census: a census
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @census
 *
 * Since: 0.1
 */
MemraCensus *
memra_census_ref (MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, NULL);

  g_atomic_ref_count_inc (&census->ref_count);
  return census;
}

/**
 * memra_census_unref:
 * @census: (transfer full) (nullable): a census
 *
 * Drops a reference. Any thread; makes no driver call.
 *
 * Since: 0.1
 */
void
memra_census_unref (MemraCensus *census)
{
  if (census == NULL || !g_atomic_ref_count_dec (&census->ref_count))
    return;
  _memra_reading_free (census->reading);
  g_array_unref (census->nodes);
  g_array_unref (census->edges);
  g_array_unref (census->details);
  g_hash_table_unref (census->counts);
  g_ptr_array_unref (census->names);
  g_free (census->kernels);
  g_array_unref (census->copies);
  g_array_unref (census->hazards);
  g_array_unref (census->allocations);
  g_string_chunk_free (census->strings);
  memra_census_unref (census->base);
  g_free (census->uses);
  _memra_arena_clear (&census->arena);
  g_free (census);
}

/**
 * memra_census_get_layer:
 * @census: a census
 *
 * Gets the number of the layer, as it was given to the capture; 0 for a graph that somebody else made.
 *
 * Returns: the layer
 *
 * Since: 0.1
 */
guint
memra_census_get_layer (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->layer;
}

/**
 * memra_census_get_n_nodes:
 * @census: a census
 *
 * Gets the number of nodes at every depth: those of the graph, and those inside child graphs and conditional nodes.
 *
 * Returns: the number of nodes
 *
 * Since: 0.1
 */
guint
memra_census_get_n_nodes (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->nodes->len;
}

/**
 * memra_census_get_n_top_level_nodes:
 * @census: a census
 *
 * Gets the number of nodes of the graph itself, without those inside child graphs and conditional nodes.
 *
 * Returns: the number of nodes
 *
 * Since: 0.1
 */
guint
memra_census_get_n_top_level_nodes (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->n_top_level;
}

/**
 * memra_census_get_count:
 * @census: a census
 * @type: a node type, such as "kernel", see memra_census_get_nodes()
 *
 * Gets the number of nodes of one type, at every depth.
 *
 * Returns: the number of nodes, 0 for a type that does not occur
 *
 * Since: 0.1
 */
guint
memra_census_get_count (const MemraCensus *census, const char *type)
{
  g_return_val_if_fail (census != NULL, 0);
  g_return_val_if_fail (type != NULL, 0);

  return GPOINTER_TO_UINT (g_hash_table_lookup (census->counts, type));
}

/**
 * memra_census_get_nodes:
 * @census: a census
 *
 * Gets the number of nodes of each type that occurs, at every depth. Keys are "kernel", "memcpy", "memset", "host",
 * "child-graph", "empty", "wait-event", "event-record", "ext-semas-signal", "ext-semas-wait", "mem-alloc", "mem-free",
 * "batch-mem-op", "conditional", and "unknown-N" for a type N that this version does not know. Values are
 * GUINT_TO_POINTER() of the number.
 *
 * Returns: (transfer none) (element-type utf8 guint): the numbers, owned by @census and not to be changed
 *
 * Since: 0.1
 */
GHashTable *
memra_census_get_nodes (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, NULL);

  return census->counts;
}

/**
 * memra_census_get_kernels:
 * @census: a census
 *
 * Gets the raw name of every kernel node, in the order of memra_census_get_kernel_node().
 *
 * Returns: (transfer none) (element-type utf8): the names, owned by @census and not to be changed
 *
 * Since: 0.1
 */
GPtrArray *
memra_census_get_kernels (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, NULL);

  return census->names;
}

/**
 * memra_census_get_n_normal_edges:
 * @census: a census
 *
 * Gets the number of ordinary edges, at every depth.
 *
 * Returns: the number of edges
 *
 * Since: 0.1
 */
guint
memra_census_get_n_normal_edges (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->n_normal_edges;
}

/**
 * memra_census_get_n_programmatic_edges:
 * @census: a census
 *
 * Gets the number of programmatic edges, at every depth: over these a kernel may begin before the one ahead has ended.
 *
 * Returns: the number of edges
 *
 * Since: 0.1
 */
guint
memra_census_get_n_programmatic_edges (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->n_programmatic_edges;
}

/**
 * memra_census_get_n_allocations:
 * @census: a census
 *
 * Gets the number of distinct allocations that kernels, copies and fills of the graph point at. A pointer's buffer
 * number is below it.
 *
 * Returns: the number of allocations
 *
 * Since: 0.1
 */
guint
memra_census_get_n_allocations (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->n_allocations;
}

/**
 * memra_census_get_n_kernel_nodes:
 * @census: a census
 *
 * Gets the number of kernel nodes that memra_census_get_kernel_node() tells about.
 *
 * Returns: the number of kernel nodes
 *
 * Since: 0.1
 */
guint
memra_census_get_n_kernel_nodes (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->n_kernels;
}

/**
 * memra_census_get_kernel_node:
 * @census: a census
 * @index: a kernel node, counted from 0
 *
 * Gets one kernel node. They stand in topological order, ties by creation of the node, those of a child graph where the
 * child graph stands: for one stream, in the order of issue.
 *
 * Returns: (transfer none): the kernel node, owned by @census
 *
 * Since: 0.1
 */
const MemraKernelNode *
memra_census_get_kernel_node (const MemraCensus *census, guint index)
{
  g_return_val_if_fail (census != NULL, NULL);
  g_return_val_if_fail (index < census->n_kernels, NULL);

  return &census->kernels[index];
}

/**
 * memra_census_get_n_copies:
 * @census: a census
 *
 * Gets the number of copies and fills (memcpy and memset nodes).
 *
 * Returns: the number of copies
 *
 * Since: 0.1
 */
guint
memra_census_get_n_copies (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->copies->len;
}

/**
 * memra_census_get_copy:
 * @census: a census
 * @index: a copy or fill, counted from 0, in the order of the kernels
 * @bytes: (out) (optional): return location for the number of bytes that are written
 *
 * Gets direction and size of a copy or fill.
 *
 * Returns: the direction
 *
 * Since: 0.1
 */
MemraCopyDirection
memra_census_get_copy (const MemraCensus *census, guint index, guint64 *bytes)
{
  const MemraCopy *copy;

  g_return_val_if_fail (census != NULL, MEMRA_COPY_UNKNOWN);
  g_return_val_if_fail (index < census->copies->len, MEMRA_COPY_UNKNOWN);

  copy = &g_array_index (census->copies, MemraCopy, index);
  if (bytes != NULL)
    *bytes = copy->bytes;
  return copy->direction;
}

/**
 * memra_census_get_n_hazards:
 * @census: a census
 *
 * Gets the number of hazards: facts about the graph that have hurt people.
 *
 * Returns: the number of hazards
 *
 * Since: 0.1
 */
guint
memra_census_get_n_hazards (const MemraCensus *census)
{
  g_return_val_if_fail (census != NULL, 0);

  return census->hazards->len;
}

/**
 * memra_census_get_hazard:
 * @census: a census
 * @index: a hazard, counted from 0
 * @message: (out) (optional) (transfer none): return location for a sentence that says what and where
 *
 * Gets a hazard. Kinds are "device-to-host-pageable", "pageable-source", "pageable-target", "host-node",
 * "unbalanced-allocation", "programmatic-edge", "foreign-context", "empty-graph", "unnamed-kernel" and "opaque-node".
 * What can be true of thousands of nodes at once (programmatic edges, foreign contexts) is one hazard, at the first of
 * them, that says how many there are.
 *
 * Returns: (transfer none): the kind, owned by @census
 *
 * Since: 0.1
 */
const char *
memra_census_get_hazard (const MemraCensus *census, guint index, const char **message)
{
  const MemraHazard *hazard;

  g_return_val_if_fail (census != NULL, NULL);
  g_return_val_if_fail (index < census->hazards->len, NULL);

  hazard = &g_array_index (census->hazards, MemraHazard, index);
  if (message != NULL)
    *message = hazard->message;
  return hazard->kind;
}

/**
 * memra_census_get_hazard_node:
 * @census: a census
 * @index: a hazard, counted from 0
 *
 * Gets the node that a hazard is about, by its place in the walk over all nodes of the graph at every depth.
 *
 * Returns: the number of the node, or %G_MAXUINT for a hazard of the graph as a whole
 *
 * Since: 0.1
 */
guint
memra_census_get_hazard_node (const MemraCensus *census, guint index)
{
  g_return_val_if_fail (census != NULL, G_MAXUINT);
  g_return_val_if_fail (index < census->hazards->len, G_MAXUINT);

  return g_array_index (census->hazards, MemraHazard, index).node;
}
