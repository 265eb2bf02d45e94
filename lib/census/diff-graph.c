/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One of two graphs that are compared: what its nodes are called, what is in them, and what they follow. */
#include "config.h"

#include "census/diff-graph-private.h"

#include <string.h>

void
_memra_diff_graph_clear (MemraDiffGraph *graph)
{
  g_free (graph->tokens);
  g_free (graph->contents);
  g_free (graph->partners);
  g_free (graph->first_edge);
  g_free (graph->visited);
  g_hash_table_unref (graph->hazards);
}

/* What a node is called: two nodes can stand for each other if they are called the same. Owned by the census, or by
 * the caller through `made`. */
const char *
_memra_diff_subject (const MemraCensus *census, guint32 number, gboolean by_type, char **made)
{
  const MemraNode *node = _memra_census_node (census, number);

  *made = NULL;
  if (!by_type && node->type == MCU_NODE_KERNEL)
    return census->kernels[node->record].function->name;
  if (!by_type && (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET))
    return _memra_copy_direction_to_string (g_array_index (census->copies, MemraCopy, node->record).direction);
  return *made = _memra_type_dup_name (node->type);
}

static guint32
number_of (GHashTable *names, const char *name)
{
  gpointer number = g_hash_table_lookup (names, name);

  if (number == NULL)
    {
      number = GUINT_TO_POINTER (g_hash_table_size (names) + 1);
      g_hash_table_insert (names, g_strdup (name), number);
    }
  return GPOINTER_TO_UINT (number);
}

void
_memra_diff_graph_make_tokens (MemraDiffGraph *graph, gboolean by_type, MemraDiffVocabulary *vocabulary)
{
  const guint32 n = graph->census->nodes->len;

  graph->tokens = g_new (guint32, n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const MemraNode *node = _memra_census_node (graph->census, i);
      g_autofree char *made = NULL;
      guint64 word = number_of (vocabulary->names, _memra_diff_subject (graph->census, i, by_type, &made));

      /* A kernel called "fill" is no fill, and nothing moves into a child graph unnoticed. */
      word = word << 32 | (guint64) node->depth << 1 | (node->type == MCU_NODE_KERNEL);
      if (!_memra_map_lookup (&vocabulary->tokens, word, &graph->tokens[i]))
        _memra_map_insert (&vocabulary->tokens, word, graph->tokens[i] = vocabulary->tokens.n + 1);
    }
}

static guint64
mix (guint64 hash, gconstpointer bytes, gsize n)
{
  for (const guint8 *p = bytes, *end = p + n; p < end; p++)
    hash = (hash ^ *p) * G_GUINT64_CONSTANT (0x100000001b3);
  return hash;
}

static guint64
mix_place (guint64 hash, const MemraPlace *place)
{
  const guint64 words[] = { place->kind, place->offset, place->pitch };

  return mix (hash, words, sizeof words);
}

/* Everything but where pointers begin. */
static guint64
mix_argument (guint64 hash, const MemraKernelNode *kernel, guint index)
{
  const MemraPointer *pointers;
  guint n = _memra_kernel_node_argument_pointers (kernel, index, &pointers);
  guint32 offset, size, at = 0;

  _memra_kernel_node_argument_range (kernel, index, &offset, &size);
  for (guint i = 0; i <= n; i++)
    {
      guint32 end = i < n ? pointers[i].at - offset : size;

      if (end > at)
        hash = mix (hash, kernel->bytes + offset + at, end - at);
      if (i < n)
        hash = mix (hash, &pointers[i].offset, sizeof pointers[i].offset);
      at = end + sizeof (guint64);
    }
  return hash;
}

static guint64
content_of (const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);
  guint64 hash = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  if (node->section != NULL)
    hash = mix (hash, node->section, strlen (node->section));
  if (node->record == MEMRA_NO_RECORD)
    return hash;
  if (node->type == MCU_NODE_KERNEL)
    {
      const MemraKernelNode *kernel = &census->kernels[node->record];

      hash = mix (hash, &kernel->grid, sizeof kernel->grid);
      hash = mix (hash, &kernel->block, sizeof kernel->block);
      hash = mix (hash, &kernel->shared_bytes, sizeof kernel->shared_bytes);
      for (guint i = 0; i < _memra_kernel_n_comparable (kernel); i++)
        hash = mix_argument (hash, kernel, i);
      return hash;
    }
  if (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET)
    {
      const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, node->record);

      hash = mix (hash, copy->extent, sizeof copy->extent);
      hash = mix (hash, &copy->value, sizeof copy->value);
      return mix_place (mix_place (hash, &copy->source), &copy->target);
    }
  return mix (hash, &g_array_index (census->details, MemraDetail, node->record).bytes, sizeof (guint64));
}

void
_memra_diff_graph_make_contents (MemraDiffGraph *graph)
{
  const guint32 n = graph->census->nodes->len;

  graph->contents = g_new (guint64, n + 1);
  for (guint32 i = 0; i < n; i++)
    graph->contents[i] = content_of (graph->census, i);
}

void
_memra_diff_graph_index_edges (MemraDiffGraph *graph)
{
  const GArray *edges = graph->census->edges;
  const guint32 n = graph->census->nodes->len;
  guint at = 0;

  graph->first_edge = g_new (guint32, n + 2);
  graph->visited = g_new0 (guint32, n + 1);
  for (guint32 i = 0; i <= n; i++)
    {
      while (at < edges->len && g_array_index (edges, MemraEdge, at).to < i)
        at++;
      graph->first_edge[i] = at;
    }
}

static gboolean
has_hazard (const MemraCensus *census, const char *kind)
{
  for (guint i = 0; i < census->hazards->len; i++)
    if (strcmp (g_array_index (census->hazards, MemraHazard, i).kind, kind) == 0)
      return TRUE;
  return FALSE;
}

static void
string_free (gpointer string)
{
  g_string_free (string, TRUE);
}

/* The kinds of each node's hazards, but for those that stand for many nodes and are noted at the first of them alone:
 * of these, edges are compared one by one, and a foreign context counts only if the other graph has none. */
void
_memra_diff_graph_list_hazards (MemraDiffGraph *graph, const MemraCensus *other)
{
  const GArray *hazards = graph->census->hazards;
  gboolean foreign_counts = !has_hazard (other, "foreign-context");

  graph->hazards = g_hash_table_new_full (NULL, NULL, NULL, string_free);
  for (guint i = 0; i < hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (hazards, MemraHazard, i);
      gpointer key = GSIZE_TO_POINTER ((gsize) hazard->node + 1);
      GString *kinds;

      if (hazard->node == MEMRA_NO_NODE || strcmp (hazard->kind, "programmatic-edge") == 0
          || (strcmp (hazard->kind, "foreign-context") == 0 && !foreign_counts))
        continue;
      kinds = g_hash_table_lookup (graph->hazards, key);
      if (kinds == NULL)
        g_hash_table_insert (graph->hazards, key, g_string_new (hazard->kind));
      else
        g_string_append_printf (kinds, ", %s", hazard->kind);
    }
}

const char *
_memra_diff_graph_get_hazards (const MemraDiffGraph *graph, guint32 node)
{
  const GString *kinds = g_hash_table_lookup (graph->hazards, GSIZE_TO_POINTER ((gsize) node + 1));

  return kinds != NULL ? kinds->str : "none";
}
