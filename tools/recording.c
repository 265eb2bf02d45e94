/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading what "record" left in a folder. */
#include "config.h"

#include "recording-private.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SENTENCES 20 /* of what was passed over */

/* ---- What was passed over ---- */

void
tool_troubles_init (ToolTroubles *troubles)
{
  troubles->sentences = g_ptr_array_new_with_free_func (g_free);
  troubles->count = 0;
}

void
tool_troubles_clear (ToolTroubles *troubles)
{
  g_clear_pointer (&troubles->sentences, g_ptr_array_unref);
}

void
tool_troubles_add (ToolTroubles *troubles, const GError *error)
{
  troubles->count++;
  if (troubles->sentences->len < MOST_SENTENCES)
    g_ptr_array_add (troubles->sentences, g_utf8_make_valid (error->message, -1));
}

/* ---- What is held ---- */

static void
graph_clear (gpointer data)
{
  ToolGraph *graph = data;

  g_free (graph->census);
  g_free (graph->hash);
  g_free (graph->error);
  g_clear_pointer (&graph->types, g_hash_table_unref);
  g_clear_pointer (&graph->hazards, g_hash_table_unref);
  g_strfreev (graph->stack);
}

static void
broken_clear (gpointer data)
{
  ToolBroken *broken = data;

  g_free (broken->function);
  g_free (broken->result_name);
  g_free (broken->reason);
  g_free (broken->after);
  g_free (broken->caller);
  g_strfreev (broken->stack);
}

static void
refusal_clear (gpointer data)
{
  ToolRefusal *refusal = data;

  g_free (refusal->function);
  g_free (refusal->reason);
  g_free (refusal->driver_reason);
  g_free (refusal->node);
  g_strfreev (refusal->stack);
}

static ToolProcess *
process_new (const char *directory, const char *id)
{
  ToolProcess *process = g_new0 (ToolProcess, 1);

  process->directory = g_strdup (directory);
  process->id = g_strdup (id);
  process->rank = -1;
  process->pid = strtoll (id, NULL, 10);
  process->graphs = g_array_new (FALSE, TRUE, sizeof (ToolGraph));
  g_array_set_clear_func (process->graphs, graph_clear);
  process->places = g_hash_table_new (NULL, NULL);
  process->broken = g_array_new (FALSE, TRUE, sizeof (ToolBroken));
  g_array_set_clear_func (process->broken, broken_clear);
  process->refused = g_array_new (FALSE, TRUE, sizeof (ToolRefusal));
  g_array_set_clear_func (process->refused, refusal_clear);
  process->hazards = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  process->refusals = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return process;
}

static void
process_free (gpointer data)
{
  ToolProcess *process = data;

  g_free (process->directory);
  g_free (process->id);
  g_free (process->host);
  g_free (process->run);
  g_free (process->program);
  g_free (process->command);
  g_free (process->driver);
  g_array_unref (process->graphs);
  g_hash_table_unref (process->places);
  g_array_unref (process->broken);
  g_array_unref (process->refused);
  g_hash_table_unref (process->hazards);
  g_hash_table_unref (process->refusals);
  g_free (process);
}

/* ---- The folder ---- */

/* "ID" out of "PREFIXIDSUFFIX". */
static char *
dup_between (const char *name, const char *prefix, const char *suffix)
{
  if (!g_str_has_prefix (name, prefix) || !g_str_has_suffix (name, suffix)
      || strlen (name) <= strlen (prefix) + strlen (suffix))
    return NULL;
  return g_strndup (name + strlen (prefix), strlen (name) - strlen (prefix) - strlen (suffix));
}

/* A census that no event tells of: somebody threw the events away, or put the file there. Where events are, the rest
 * may have been passed over. */
static void
add_orphan (GHashTable *by_id, GPtrArray *processes, const char *directory, const char *name, gboolean lenient)
{
  g_autofree char *id = dup_between (name, "graph-", ".json");
  char *dash = id != NULL ? strrchr (id, '-') : NULL;
  ToolProcess *process;
  ToolGraph graph = { 0 };

  if (dash == NULL || dash == id)
    return;
  *dash = '\0';
  graph.number = (guint) MIN (g_ascii_strtoull (dash + 1, NULL, 10), G_MAXUINT);
  process = g_hash_table_lookup (by_id, id);
  if (graph.number == 0)
    return;
  if (process != NULL && process->started != 0 && (!lenient || tool_process_get_graph (process, graph.number) != NULL))
    return;
  if (process == NULL)
    {
      process = process_new (directory, id);
      g_hash_table_insert (by_id, process->id, process);
      g_ptr_array_add (processes, process);
    }
  graph.census = g_strdup (name);
  tool_process_add_graph (process, &graph);
}

static gint
compare_graphs (gconstpointer a, gconstpointer b)
{
  const ToolGraph *left = a, *right = b;

  return (left->number > right->number) - (left->number < right->number);
}

static gint
compare_processes (gconstpointer a, gconstpointer b)
{
  const ToolProcess *left = *(ToolProcess *const *) a, *right = *(ToolProcess *const *) b;

  if (left->rank != right->rank)
    return left->rank < right->rank ? -1 : 1;
  if (left->started != right->started)
    return left->started < right->started ? -1 : 1;
  return strcmp (left->id, right->id);
}

/* FALSE: that is an error, since nobody is to be told of what is passed over. */
static gboolean
read_events (ToolProcess *process, const char *path, ToolTroubles *troubles, GError **error)
{
  g_autoptr (GError) reason = NULL;

  if (tool_recording_read_events (process, path, troubles, &reason))
    return TRUE;
  if (troubles == NULL)
    {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
  tool_troubles_add (troubles, reason);
  return TRUE;
}

GPtrArray *
tool_recording_load (const char *directory, const char *run, ToolTroubles *troubles, GError **error)
{
  g_autoptr (GPtrArray) processes = g_ptr_array_new_with_free_func (process_free);
  g_autoptr (GHashTable) by_id = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GDir) dir = g_dir_open (directory, 0, error);
  const char *name;

  if (dir == NULL)
    return NULL;
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *id = dup_between (name, "events-", ".jsonl");
      g_autofree char *path = id != NULL ? g_build_filename (directory, name, NULL) : NULL;
      ToolProcess *process;

      if (id == NULL)
        continue;
      process = process_new (directory, id);
      g_ptr_array_add (processes, process);
      g_hash_table_insert (by_id, process->id, process);
      if (!read_events (process, path, troubles, error))
        return NULL;
      tool_recording_read_counts (process);
    }
  g_dir_rewind (dir);
  while (run == NULL && (name = g_dir_read_name (dir)) != NULL)
    add_orphan (by_id, processes, directory, name, troubles != NULL);
  for (guint i = processes->len; i > 0; i--)
    {
      ToolProcess *process = g_ptr_array_index (processes, i - 1);

      g_array_sort (process->graphs, compare_graphs);
      /* One that was killed before its first event was there says nothing. */
      if ((process->started == 0 && process->graphs->len == 0) || (run != NULL && g_strcmp0 (process->run, run) != 0))
        g_ptr_array_remove_index (processes, i - 1);
    }
  g_ptr_array_sort (processes, compare_processes);
  return g_steal_pointer (&processes);
}
