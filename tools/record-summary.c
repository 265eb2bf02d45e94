/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What "record" says at the end. */
#include "config.h"

#include "recording.h"


#define MOST_LINES 20 /* of broken captures, and of graphs that do not hold */

typedef struct
{
  guint processes, truncated, open;
  guint graphs, captured, unread;
  guint64 nodes, kernels, launches;
  guint captures, updates, refused;
  gboolean has_launches;
  GHashTable *hashes;   /* owned: of different graphs, borrowed */
  GHashTable *hazards;  /* owned: kind -> number */
  GHashTable *refusals; /* owned: reason -> number */
  GPtrArray *broken;    /* owned: sentences, in order */
  GHashTable *times;    /* owned: sentence (borrowed) -> how often */
} Sum;

static void
add_counts (GHashTable *to, GHashTable *from)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      guint before = GPOINTER_TO_UINT (g_hash_table_lookup (to, key));

      g_hash_table_insert (to, key, GUINT_TO_POINTER (before + GPOINTER_TO_UINT (value)));
    }
}

/* Equal sentences of one process are said once. */
static void
add_broken (Sum *sum, const ToolProcess *process)
{
  g_autofree char *name = tool_process_dup_name (process, FALSE);

  for (guint i = 0; i < process->broken->len; i++)
    {
      g_autofree char *sentence = tool_broken_dup_sentence (&g_array_index (process->broken, ToolBroken, i));
      char *line = g_strdup_printf ("%s: a capture was %s", name, sentence);
      guint times = GPOINTER_TO_UINT (g_hash_table_lookup (sum->times, line));

      if (times == 0)
        {
          g_ptr_array_add (sum->broken, line);
          g_hash_table_insert (sum->times, line, GUINT_TO_POINTER (1));
        }
      else
        {
          g_hash_table_insert (sum->times, line, GUINT_TO_POINTER (times + 1));
          g_free (line);
        }
    }
}

static void
add_process (Sum *sum, const ToolProcess *process)
{
  sum->processes++;
  sum->truncated += process->truncated;
  sum->open += process->n_open;
  sum->captures += process->n_captures;
  sum->updates += process->n_updates;
  sum->refused += process->refused->len;
  sum->has_launches |= process->has_launches;
  add_counts (sum->hazards, process->hazards);
  add_counts (sum->refusals, process->refusals);
  add_broken (sum, process);
  for (guint i = 0; i < process->graphs->len; i++)
    {
      const ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, i);

      sum->graphs++;
      sum->captured += graph->captured;
      sum->nodes += graph->nodes;
      sum->kernels += graph->kernels;
      sum->launches += graph->launches;
      sum->unread += graph->census == NULL;
      if (graph->hash != NULL)
        g_hash_table_add (sum->hashes, graph->hash);
    }
}

static void
put_counts (GString *text, const char *label, GHashTable *counts)
{
  g_autofree char *words = tool_counts_dup_text (counts);

  if (*words != '\0')
    g_string_append_printf (text, "%s%s", label, words);
}

static const char *
plural (guint64 n)
{
  return n == 1 ? "" : "s";
}

static void
put_graphs (GString *text, const Sum *sum)
{
  g_string_append_printf (text, "\n  %u graph%s instantiated in %u process%s (%u captured, %u built by hand; %u different)",
                          sum->graphs, plural (sum->graphs), sum->processes, sum->processes == 1 ? "" : "es", sum->captured,
                          sum->graphs - sum->captured, g_hash_table_size (sum->hashes));
  g_string_append_printf (text, "\n  %" G_GUINT64_FORMAT " node%s, %" G_GUINT64_FORMAT " kernel%s", sum->nodes,
                          plural (sum->nodes), sum->kernels, plural (sum->kernels));
  if (sum->has_launches)
    g_string_append_printf (text, ", %" G_GUINT64_FORMAT " launch%s", sum->launches, sum->launches == 1 ? "" : "es");
  if (sum->unread > 0)
    g_string_append_printf (text, "\n  %u graph%s could not be read; the events tell why", sum->unread, plural (sum->unread));
  if (sum->updates + sum->refused > 0)
    {
      g_string_append_printf (text, "\n  %u update%s accepted, %u refused", sum->updates, plural (sum->updates), sum->refused);
      put_counts (text, ": ", sum->refusals);
    }
}

static void
put_broken (GString *text, const Sum *sum)
{
  guint n = 0;

  for (guint i = 0; i < sum->broken->len; i++)
    n += GPOINTER_TO_UINT (g_hash_table_lookup (sum->times, sum->broken->pdata[i]));
  g_string_append_printf (text, "\n  %u capture%s begun, %u broken", sum->captures, plural (sum->captures), n);
  if (sum->open > 0)
    g_string_append_printf (text, ", %u never ended", sum->open);
  for (guint i = 0; i < sum->broken->len && i < MOST_LINES; i++)
    {
      guint times = GPOINTER_TO_UINT (g_hash_table_lookup (sum->times, sum->broken->pdata[i]));

      g_string_append_printf (text, "\n    %s", (const char *) sum->broken->pdata[i]);
      if (times > 1)
        g_string_append_printf (text, " (%u times)", times);
    }
  if (sum->broken->len > MOST_LINES)
    g_string_append_printf (text, "\n    and %u more, in the events", sum->broken->len - MOST_LINES);
}

/* ---- Policy ---- */

typedef struct
{
  guint graphs, failed;
  GString *lines;
} Judgement;

static void
judge_graph (Judgement *judgement, const ToolProcess *process, const ToolGraph *graph, MemraPolicy *policy)
{
  g_autofree char *path = graph->census != NULL ? g_build_filename (process->directory, graph->census, NULL) : NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = path != NULL ? memra_census_load (path, &error) : NULL;
  g_autoptr (GPtrArray) mismatches = census != NULL ? memra_policy_check (policy, census) : NULL;
  g_autofree char *nameless = g_strdup_printf ("graph %u of process %s", graph->number, process->id);
  const char *name = graph->census != NULL ? graph->census : nameless;

  judgement->graphs++;
  if (census != NULL && mismatches->len == 0)
    return;
  judgement->failed++;
  if (judgement->failed > MOST_LINES)
    return;
  if (census == NULL)
    g_string_append_printf (judgement->lines, "\n    %s: there is no census: %s", name,
                            error != NULL ? error->message : graph->error != NULL ? graph->error : "unknown");
  else
    for (guint i = 0; i < mismatches->len; i++)
      g_string_append_printf (judgement->lines, "\n    %s: %s", name, (const char *) mismatches->pdata[i]);
}

/* A gate through which nothing went has not been passed. */
static gboolean
put_policy (GString *text, GPtrArray *processes, MemraPolicy *policy)
{
  g_autoptr (GString) lines = g_string_new (NULL);
  Judgement judgement = { .lines = lines };

  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);

      for (guint k = 0; k < process->graphs->len; k++)
        judge_graph (&judgement, process, &g_array_index (process->graphs, ToolGraph, k), policy);
    }
  if (judgement.graphs == 0)
    g_string_append (text, "\n  policy: there was no graph to hold against it");
  else if (judgement.failed == 0)
    g_string_append_printf (text, "\n  policy: all %u graph%s hold", judgement.graphs, plural (judgement.graphs));
  else
    {
      g_string_append_printf (text, "\n  policy: %u of %u graph%s do%s not hold%s", judgement.failed, judgement.graphs,
                              plural (judgement.graphs), judgement.failed == 1 ? "es" : "", lines->str);
      if (judgement.failed > MOST_LINES)
        g_string_append_printf (text, "\n    and %u more graphs", judgement.failed - MOST_LINES);
    }
  return judgement.graphs > 0 && judgement.failed == 0;
}

/* ---- All of it ---- */

static void
put_summary (GString *text, GPtrArray *processes)
{
  Sum sum = { .hashes = g_hash_table_new (g_str_hash, g_str_equal),
              .hazards = g_hash_table_new (g_str_hash, g_str_equal),
              .refusals = g_hash_table_new (g_str_hash, g_str_equal),
              .broken = g_ptr_array_new_with_free_func (g_free),
              .times = g_hash_table_new (g_str_hash, g_str_equal) };

  for (guint i = 0; i < processes->len; i++)
    add_process (&sum, g_ptr_array_index (processes, i));
  put_graphs (text, &sum);
  if (sum.captures > 0)
    put_broken (text, &sum);
  put_counts (text, "\n  hazards: ", sum.hazards);
  if (sum.truncated > 0)
    g_string_append_printf (text, "\n  %u process%s ended in the middle of an event", sum.truncated,
                            sum.truncated == 1 ? "" : "es");
  g_hash_table_unref (sum.hashes);
  g_hash_table_unref (sum.hazards);
  g_hash_table_unref (sum.refusals);
  g_hash_table_unref (sum.times);
  g_ptr_array_unref (sum.broken);
}

gboolean
tool_record_summarise (const char *directory, const char *run, MemraPolicy *policy)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) processes = tool_recording_load (directory, run, NULL, &error);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *name = g_filename_display_name (directory);
  gboolean holds = TRUE;

  if (processes == NULL)
    {
      tool_error (NULL, "%s", error->message);
      return policy == NULL;
    }
  tool_recording_settle (processes);
  if (processes->len == 0)
    g_string_append_printf (text, "Nothing to record in %s: no process made a CUDA graph", name);
  else
    {
      g_string_append_printf (text, "Recorded in %s:", name);
      put_summary (text, processes);
    }
  if (policy != NULL)
    holds = put_policy (text, processes, policy);
  tool_note ("%s", text->str);
  return holds;
}
