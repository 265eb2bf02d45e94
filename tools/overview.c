/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A record folded, for people. */
#include "config.h"

#include "overview.h"

#include <string.h>

#define LONGEST_NAME 40
#define MOST_NAMES   4

/* ---- Graphs ---- */

static void
kernel_kind_free (gpointer data)
{
  ToolKernelKind *kind = data;

  g_free (kind->name);
  g_free (kind->short_name);
  g_free (kind);
}

static void
distinct_free (gpointer data)
{
  ToolDistinct *distinct = data;

  g_free (distinct->error);
  g_array_unref (distinct->instances);
  g_ptr_array_unref (distinct->kernels);
  g_hash_table_unref (distinct->types);
  g_hash_table_unref (distinct->hazards);
  g_free (distinct);
}

static ToolDistinct *
distinct_new (guint number, const ToolGraph *graph)
{
  ToolDistinct *distinct = g_new0 (ToolDistinct, 1);

  distinct->number = number;
  distinct->identity = graph->identity;
  distinct->error = g_strdup (graph->error);
  distinct->instances = g_array_new (FALSE, FALSE, sizeof (ToolInstance));
  distinct->kernels = g_ptr_array_new_with_free_func (kernel_kind_free);
  distinct->types = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  distinct->hazards = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return distinct;
}

static const char *
get_name (const MemraKernelNode *node)
{
  const char *name = memra_kernel_node_get_demangled_name (node);

  if (name == NULL)
    name = memra_kernel_node_get_name (node);
  return name != NULL ? name : "(no name)";
}

static void
count_kernel (ToolDistinct *distinct, GHashTable *by_name, const MemraKernelNode *node)
{
  const char *name = get_name (node);
  ToolKernelKind *kind = g_hash_table_lookup (by_name, name);
  MemraDim3 grid, block;
  guint32 shared;

  memra_kernel_node_get_geometry (node, &grid, &block, &shared);
  if (kind == NULL)
    {
      kind = g_new0 (ToolKernelKind, 1);
      kind->name = g_strdup (name);
      kind->short_name = tool_text_dup_short_name (name, LONGEST_NAME);
      kind->grid = grid;
      kind->block = block;
      kind->shared = shared;
      g_hash_table_insert (by_name, kind->name, kind);
      g_ptr_array_add (distinct->kernels, kind);
    }
  kind->count++;
  kind->varies |= memcmp (&grid, &kind->grid, sizeof grid) != 0 || memcmp (&block, &kind->block, sizeof block) != 0
                  || shared != kind->shared;
}

/* Of equally many, the one that comes first in the graph stays first: the sort is stable. */
static gint
compare_kernels (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const ToolKernelKind *left = *(ToolKernelKind *const *) a, *right = *(ToolKernelKind *const *) b;

  return (left->count < right->count) - (left->count > right->count);
}

static void
add_counts (GHashTable *to, GHashTable *from)
{
  GHashTableIter iter;
  gpointer key, value;

  if (from == NULL)
    return;
  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &key, &value))
    tool_count (to, key, GPOINTER_TO_UINT (value));
}

static void
take_census (ToolDistinct *distinct, const MemraCensus *census)
{
  g_autoptr (GHashTable) by_name = g_hash_table_new (g_str_hash, g_str_equal);

  distinct->n_nodes = memra_census_get_n_nodes (census);
  distinct->n_kernels = memra_census_get_n_kernel_nodes (census);
  add_counts (distinct->types, memra_census_get_nodes (census));
  for (guint i = 0; i < memra_census_get_n_hazards (census); i++)
    tool_count (distinct->hazards, memra_census_get_hazard (census, i, NULL), 1);
  for (guint i = 0; i < distinct->n_kernels; i++)
    count_kernel (distinct, by_name, memra_census_get_kernel_node (census, i));
  g_ptr_array_sort_with_data (distinct->kernels, compare_kernels, NULL);
}

/* Where there is no census, there may still be what the event told of it. */
static void
describe (ToolDistinct *distinct, ToolTroubles *troubles)
{
  const ToolGraph *graph = g_array_index (distinct->instances, ToolInstance, 0).graph;
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = distinct->identity != NULL ? tool_distinct_load (distinct, &error) : NULL;

  if (census != NULL)
    {
      take_census (distinct, census);
      return;
    }
  if (error != NULL)
    {
      tool_troubles_add (troubles, error);
      distinct->identity = NULL;
      g_free (distinct->error);
      distinct->error = g_utf8_make_valid (error->message, -1);
    }
  distinct->n_nodes = graph->nodes;
  distinct->n_kernels = graph->kernels;
  add_counts (distinct->types, graph->types);
  add_counts (distinct->hazards, graph->hazards);
}

/* Graphs that cannot be read are one if they are not read for one reason and have one hash. */
static char *
dup_key (const ToolGraph *graph)
{
  if (graph->identity != NULL)
    return g_strdup (graph->identity);
  if (graph->hash != NULL)
    return g_strconcat ("unread/", graph->hash, NULL);
  return g_strconcat ("unread/", graph->error != NULL ? graph->error : "", NULL);
}

static void
add_graph (ToolOverview *overview, GHashTable *by_key, const ToolProcess *process, const ToolGraph *graph)
{
  g_autofree char *key = dup_key (graph);
  ToolDistinct *distinct = g_hash_table_lookup (by_key, key);
  ToolInstance instance = { process, graph };

  if (distinct == NULL)
    {
      distinct = distinct_new (overview->graphs->len + 1, graph);
      g_ptr_array_add (overview->graphs, distinct);
      g_hash_table_insert (by_key, g_steal_pointer (&key), distinct);
    }
  g_array_append_val (distinct->instances, instance);
  distinct->n_launches += graph->launches;
  distinct->n_updates += graph->updates;
  overview->n_graphs++;
  overview->n_captured += graph->captured;
  overview->n_unread += graph->identity == NULL;
  overview->n_launches += graph->launches;
}

const ToolDistinct *
tool_overview_find (const ToolOverview *overview, const ToolGraph *graph)
{
  for (guint i = 0; i < overview->graphs->len; i++)
    {
      const ToolDistinct *distinct = g_ptr_array_index (overview->graphs, i);

      if (graph->identity != NULL ? distinct->identity == graph->identity
                                  : g_array_index (distinct->instances, ToolInstance, 0).graph == graph)
        return distinct;
    }
  return NULL;
}

MemraCensus *
tool_distinct_load (const ToolDistinct *distinct, GError **error)
{
  const ToolInstance *first = &g_array_index (distinct->instances, ToolInstance, 0);

  return tool_graph_load (first->process, first->graph, error);
}

/* ---- Broken captures and refused updates ---- */

static void
broken_kind_free (gpointer data)
{
  ToolBrokenKind *kind = data;

  g_free (kind->sentence);
  g_ptr_array_unref (kind->processes);
  g_free (kind);
}

static void
refusal_kind_free (gpointer data)
{
  ToolRefusalKind *kind = data;

  g_ptr_array_unref (kind->processes);
  g_free (kind);
}

static char *
dup_stack_key (const char *text, char **stack)
{
  g_autofree char *lines = stack != NULL ? g_strjoinv ("\n", stack) : g_strdup ("");

  return g_strconcat (text, "\n", lines, NULL);
}

static void
add_broken (ToolOverview *overview, GHashTable *by_key, const ToolProcess *process, const ToolBroken *broken)
{
  g_autofree char *sentence = tool_broken_dup_sentence (broken);
  g_autofree char *key = dup_stack_key (sentence, broken->stack);
  ToolBrokenKind *kind = g_hash_table_lookup (by_key, key);

  if (kind == NULL)
    {
      kind = g_new0 (ToolBrokenKind, 1);
      kind->broken = broken;
      kind->sentence = g_steal_pointer (&sentence);
      kind->processes = g_ptr_array_new ();
      g_ptr_array_add (overview->broken, kind);
      g_hash_table_insert (by_key, g_steal_pointer (&key), kind);
    }
  g_ptr_array_add (kind->processes, (gpointer) process);
}

static void
add_refusal (ToolOverview *overview, GHashTable *by_key, const ToolProcess *process, const ToolRefusal *refusal)
{
  g_autofree char *text = g_strdup_printf ("%s/%s/%s", refusal->function != NULL ? refusal->function : "",
                                           refusal->reason, refusal->node != NULL ? refusal->node : "");
  g_autofree char *key = dup_stack_key (text, refusal->stack);
  ToolRefusalKind *kind = g_hash_table_lookup (by_key, key);

  if (kind == NULL)
    {
      kind = g_new0 (ToolRefusalKind, 1);
      kind->refusal = refusal;
      kind->processes = g_ptr_array_new ();
      g_ptr_array_add (overview->refusals, kind);
      g_hash_table_insert (by_key, g_steal_pointer (&key), kind);
    }
  g_ptr_array_add (kind->processes, (gpointer) process);
}

/* ---- All of it ---- */

static void
add_process (ToolOverview *overview, GHashTable *graphs, GHashTable *broken, GHashTable *refusals,
             const ToolProcess *process)
{
  for (guint i = 0; i < process->graphs->len; i++)
    add_graph (overview, graphs, process, &g_array_index (process->graphs, ToolGraph, i));
  for (guint i = 0; i < process->broken->len; i++)
    add_broken (overview, broken, process, &g_array_index (process->broken, ToolBroken, i));
  for (guint i = 0; i < process->refused->len; i++)
    add_refusal (overview, refusals, process, &g_array_index (process->refused, ToolRefusal, i));
  overview->has_launches |= process->has_launches;
  overview->n_captures += process->n_captures;
  overview->n_broken += process->broken->len;
  overview->n_open += process->n_open;
  overview->n_failed += process->n_failed;
  overview->n_updates += process->n_updates;
  overview->n_refused += process->refused->len;
  overview->n_truncated += process->truncated;
}

void
tool_overview_init (ToolOverview *overview, GPtrArray *processes, ToolTroubles *troubles)
{
  g_autoptr (GHashTable) graphs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) broken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) refusals = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  *overview = (ToolOverview){ .processes = g_ptr_array_ref (processes) };
  overview->graphs = g_ptr_array_new_with_free_func (distinct_free);
  overview->broken = g_ptr_array_new_with_free_func (broken_kind_free);
  overview->refusals = g_ptr_array_new_with_free_func (refusal_kind_free);
  for (guint i = 0; i < processes->len; i++)
    add_process (overview, graphs, broken, refusals, g_ptr_array_index (processes, i));
  for (guint i = 0; i < overview->graphs->len; i++)
    {
      ToolDistinct *distinct = g_ptr_array_index (overview->graphs, i);

      tool_progress ("Reading graph %u of %u", i + 1, overview->graphs->len);
      describe (distinct, troubles);
      overview->n_nodes += (guint64) distinct->n_nodes * distinct->instances->len;
      overview->n_kernels += (guint64) distinct->n_kernels * distinct->instances->len;
    }
}

void
tool_overview_clear (ToolOverview *overview)
{
  g_clear_pointer (&overview->graphs, g_ptr_array_unref);
  g_clear_pointer (&overview->broken, g_ptr_array_unref);
  g_clear_pointer (&overview->refusals, g_ptr_array_unref);
  g_clear_pointer (&overview->processes, g_ptr_array_unref);
}

GPtrArray *
tool_overview_load (const char *directory, ToolTroubles *troubles, GError **error)
{
  g_autoptr (GPtrArray) processes = tool_recording_load (directory, NULL, troubles, error);

  if (processes == NULL)
    return NULL;
  if (processes->len == 0)
    {
      g_autofree char *name = g_filename_display_name (directory);

      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "There is no record of a program in %s", name);
      return NULL;
    }
  if (!tool_recording_identify (processes, troubles, error))
    return NULL;
  return g_steal_pointer (&processes);
}

void
tool_troubles_print (const ToolTroubles *troubles)
{
  for (guint i = 0; i < troubles->sentences->len; i++)
    tool_note ("Passed over: %s", (const char *) troubles->sentences->pdata[i]);
  if (troubles->count > troubles->sentences->len)
    tool_note ("Passed over: %u more", troubles->count - troubles->sentences->len);
}

/* ---- Words ---- */

char *
tool_processes_dup_names (const GPtrArray *processes)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  guint n;

  for (guint i = 0; i < processes->len; i++)
    if (g_hash_table_add (seen, processes->pdata[i]) && g_hash_table_size (seen) <= MOST_NAMES)
      {
        g_autofree char *name = tool_process_dup_name (processes->pdata[i], FALSE);

        g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", name);
      }
  n = g_hash_table_size (seen);
  if (n > MOST_NAMES)
    g_string_append_printf (text, " and %u more", n - MOST_NAMES);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
tool_distinct_dup_kernels (const ToolDistinct *distinct, guint most)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < distinct->kernels->len && i < most; i++)
    {
      const ToolKernelKind *kind = g_ptr_array_index (distinct->kernels, i);

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", kind->short_name);
      if (kind->count > 1)
        g_string_append_printf (text, " x%u", kind->count);
    }
  if (distinct->kernels->len > most)
    g_string_append_printf (text, " and %u more", distinct->kernels->len - most);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
tool_driver_version_dup_text (gint version)
{
  return g_strdup_printf ("%d.%d", version / 1000, version % 1000 / 10);
}
