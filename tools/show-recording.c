/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture show DIR: what is in a folder of record's. */
#include "config.h"

#include "overview.h"

#include <json-glib/json-glib.h>

#include <string.h>

#define WIDTH          80
#define INDENT         7 /* of what stands below a graph */
#define MOST_PROCESSES 16
#define MOST_GRAPHS    100
#define MOST_KERNELS   8
#define MOST_BROKEN    20

static const char *
plural (guint64 n)
{
  return n == 1 ? "" : "s";
}

/* ---- For people ---- */

/* Words below a graph, in as many lines as it takes. */
static void
print_wrapped (ToolStyle style, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  g_autoptr (GString) line = g_string_new (NULL);
  glong column = 0;

  for (guint i = 0; words[i] != NULL; i++)
    {
      glong width = g_utf8_strlen (words[i], -1);

      if (column > 0 && column + 1 + width > WIDTH - INDENT)
        {
          tool_out_styled (style, "%*s%s\n", INDENT, "", line->str);
          g_string_truncate (line, 0);
          column = 0;
        }
      g_string_append_printf (line, "%s%s", column > 0 ? " " : "", words[i]);
      column += (column > 0) + width;
    }
  tool_out_styled (style, "%*s%s\n", INDENT, "", line->str);
}

static void
print_process (const ToolProcess *process)
{
  g_autofree char *name = tool_process_dup_name (process, TRUE);
  g_autofree char *version = tool_driver_version_dup_text (process->driver_version);

  tool_out ("  %s: %u graph%s", name, process->graphs->len, plural (process->graphs->len));
  if (process->broken->len > 0)
    tool_out_styled (TOOL_STYLE_BAD, ", %u broken capture%s", process->broken->len, plural (process->broken->len));
  if (process->driver_version != 0)
    tool_out (", driver %s", version);
  tool_out ("\n");
  if (process->command != NULL || process->program != NULL)
    print_wrapped (TOOL_STYLE_DIM, process->command != NULL ? process->command : process->program);
}

static void
print_processes (const ToolOverview *overview, const char *directory)
{
  g_autofree char *name = g_filename_display_name (directory);
  const guint n = overview->processes->len;

  tool_out_styled (TOOL_STYLE_HEADING, "%s", name);
  tool_out (": %u process%s, %u graph%s (%u different)", n, n == 1 ? "" : "es", overview->n_graphs,
            plural (overview->n_graphs), overview->graphs->len);
  if (overview->has_launches)
    tool_out (", %" G_GUINT64_FORMAT " launch%s", overview->n_launches, overview->n_launches == 1 ? "" : "es");
  tool_out ("\n");
  for (guint i = 0; i < n && i < MOST_PROCESSES; i++)
    print_process (g_ptr_array_index (overview->processes, i));
  if (n > MOST_PROCESSES)
    tool_out ("  and %u more processes\n", n - MOST_PROCESSES);
}

static void
print_where (const ToolDistinct *distinct)
{
  const ToolGraph *graph = g_array_index (distinct->instances, ToolInstance, 0).graph;
  const guint n = distinct->instances->len;

  if (graph->census == NULL)
    return;
  tool_out_styled (TOOL_STYLE_DIM, "%*s%s", INDENT, "", graph->census);
  if (n > 1)
    tool_out_styled (TOOL_STYLE_DIM, " and %u more", n - 1);
  tool_out ("\n");
}

static void
print_graph (const ToolOverview *overview, const ToolDistinct *distinct)
{
  g_autofree char *number = g_strdup_printf ("G%u", distinct->number);
  g_autofree char *times = g_strdup_printf ("x %u", distinct->instances->len);
  g_autofree char *launches
      = overview->has_launches ? g_strdup_printf ("%" G_GUINT64_FORMAT, distinct->n_launches) : g_strdup ("-");
  g_autofree char *types = tool_counts_dup_text (distinct->types);
  g_autofree char *kernels = tool_distinct_dup_kernels (distinct, MOST_KERNELS);
  g_autofree char *hazards = tool_counts_dup_text (distinct->hazards);

  tool_out ("%-*s%6s %9s %6u  %s\n", INDENT - 1, number, times, launches, distinct->n_nodes, types);
  if (*kernels != '\0')
    print_wrapped (TOOL_STYLE_PLAIN, kernels);
  if (*hazards != '\0')
    {
      g_autofree char *line = g_strconcat ("hazards: ", hazards, NULL);

      print_wrapped (TOOL_STYLE_BAD, line);
    }
  if (distinct->identity == NULL)
    {
      g_autofree char *line
          = g_strconcat ("could not be read: ", distinct->error != NULL ? distinct->error : "unknown", NULL);

      print_wrapped (TOOL_STYLE_BAD, line);
    }
  print_where (distinct);
}

static void
print_graphs (const ToolOverview *overview)
{
  if (overview->graphs->len == 0)
    return;
  tool_out ("\n");
  tool_out_styled (TOOL_STYLE_HEADING, "%-*s%6s %9s %6s  %s\n", INDENT - 1, "graph", "times", "launches", "nodes",
                   "of which, and kernels");
  for (guint i = 0; i < overview->graphs->len && i < MOST_GRAPHS; i++)
    print_graph (overview, g_ptr_array_index (overview->graphs, i));
  if (overview->graphs->len > MOST_GRAPHS)
    tool_out ("and %u more graphs; --json has all\n", overview->graphs->len - MOST_GRAPHS);
}

static void
print_broken (const ToolOverview *overview)
{
  if (overview->n_captures == 0 && overview->n_broken == 0)
    return;
  tool_out ("\n%u capture%s begun, ", overview->n_captures, plural (overview->n_captures));
  tool_out_styled (overview->n_broken > 0 ? TOOL_STYLE_BAD : TOOL_STYLE_PLAIN, "%u broken", overview->n_broken);
  if (overview->n_open > 0)
    tool_out (", %u never ended", overview->n_open);
  tool_out ("\n");
  for (guint i = 0; i < overview->broken->len && i < MOST_BROKEN; i++)
    {
      const ToolBrokenKind *kind = g_ptr_array_index (overview->broken, i);
      g_autofree char *names = tool_processes_dup_names (kind->processes);

      tool_out ("  %s", names);
      if (kind->processes->len > 1)
        tool_out (", %u times", kind->processes->len);
      tool_out (":\n");
      print_wrapped (TOOL_STYLE_PLAIN, kind->sentence);
    }
  if (overview->broken->len > MOST_BROKEN)
    tool_out ("  and %u more; --json has all\n", overview->broken->len - MOST_BROKEN);
}

static void
print_updates (const ToolOverview *overview)
{
  if (overview->n_updates + overview->n_refused > 0)
    {
      tool_out ("\n%u update%s accepted, ", overview->n_updates, plural (overview->n_updates));
      tool_out_styled (overview->n_refused > 0 ? TOOL_STYLE_BAD : TOOL_STYLE_PLAIN, "%u refused\n",
                       overview->n_refused);
    }
  for (guint i = 0; i < overview->refusals->len && i < MOST_BROKEN; i++)
    {
      const ToolRefusalKind *kind = g_ptr_array_index (overview->refusals, i);
      g_autofree char *line = g_strdup_printf ("%u: %s", kind->processes->len, kind->refusal->reason);

      print_wrapped (TOOL_STYLE_PLAIN, line);
    }
  if (overview->n_failed > 0)
    tool_out ("\n%u instantiation%s failed\n", overview->n_failed, plural (overview->n_failed));
  if (overview->n_truncated > 0)
    tool_out ("\n%u process%s ended in the middle of an event\n", overview->n_truncated,
              overview->n_truncated == 1 ? "" : "es");
}

/* ---- As JSON ---- */

static void
add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  if (value == NULL)
    json_builder_add_null_value (builder);
  else
    {
      g_autofree char *valid = g_utf8_make_valid (value, -1);

      json_builder_add_string_value (builder, valid);
    }
}

static void
add_int (JsonBuilder *builder, const char *name, guint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, (gint64) MIN (value, G_MAXINT64));
}

static void
begin_list (JsonBuilder *builder, const char *name)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_array (builder);
}

static void
add_counts (JsonBuilder *builder, const char *name, GHashTable *counts)
{
  g_autoptr (GPtrArray) keys = tool_counts_get_keys (counts);

  json_builder_set_member_name (builder, name);
  json_builder_begin_object (builder);
  for (guint i = 0; i < keys->len; i++)
    add_int (builder, keys->pdata[i], GPOINTER_TO_UINT (g_hash_table_lookup (counts, keys->pdata[i])));
  json_builder_end_object (builder);
}

static void
add_stack (JsonBuilder *builder, char **stack)
{
  begin_list (builder, "stack");
  for (guint i = 0; stack != NULL && stack[i] != NULL; i++)
    json_builder_add_string_value (builder, stack[i]);
  json_builder_end_array (builder);
}

static void
add_process (JsonBuilder *builder, const ToolProcess *process)
{
  json_builder_begin_object (builder);
  add_string (builder, "process", process->id);
  add_string (builder, "host", process->host);
  if (process->rank >= 0)
    add_int (builder, "rank", (guint64) process->rank);
  add_string (builder, "command", process->command);
  add_int (builder, "driver_version", (guint64) process->driver_version);
  add_int (builder, "graphs", process->graphs->len);
  add_int (builder, "captures", process->n_captures);
  add_int (builder, "broken", process->broken->len);
  json_builder_end_object (builder);
}

static void
add_graph (JsonBuilder *builder, const ToolOverview *overview, const ToolDistinct *distinct)
{
  json_builder_begin_object (builder);
  add_string (builder, "hash", distinct->identity);
  if (distinct->identity == NULL)
    add_string (builder, "error", distinct->error);
  add_int (builder, "times", distinct->instances->len);
  if (overview->has_launches)
    add_int (builder, "launches", distinct->n_launches);
  add_int (builder, "updates", distinct->n_updates);
  add_int (builder, "nodes", distinct->n_nodes);
  add_counts (builder, "types", distinct->types);
  add_counts (builder, "hazards", distinct->hazards);
  begin_list (builder, "kernels");
  for (guint i = 0; i < distinct->kernels->len; i++)
    {
      const ToolKernelKind *kind = g_ptr_array_index (distinct->kernels, i);

      json_builder_begin_object (builder);
      add_string (builder, "name", kind->name);
      add_string (builder, "short", kind->short_name);
      add_int (builder, "count", kind->count);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  begin_list (builder, "instances");
  for (guint i = 0; i < distinct->instances->len; i++)
    {
      const ToolInstance *instance = &g_array_index (distinct->instances, ToolInstance, i);

      json_builder_begin_object (builder);
      add_string (builder, "process", instance->process->id);
      add_int (builder, "graph", instance->graph->number);
      add_string (builder, "census", instance->graph->census);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
}

static void
add_processes (JsonBuilder *builder, const GPtrArray *processes)
{
  begin_list (builder, "processes");
  for (guint i = 0; i < processes->len; i++)
    json_builder_add_string_value (builder, ((const ToolProcess *) processes->pdata[i])->id);
  json_builder_end_array (builder);
}

static void
add_broken (JsonBuilder *builder, const ToolBrokenKind *kind)
{
  const ToolBroken *broken = kind->broken;

  json_builder_begin_object (builder);
  add_processes (builder, kind->processes);
  add_string (builder, "sentence", kind->sentence);
  add_string (builder, "function", broken->function);
  add_int (builder, "result", (guint64) MAX (broken->result, 0));
  add_string (builder, "result_name", broken->result_name);
  add_string (builder, "reason", broken->reason);
  add_string (builder, "caller", broken->caller);
  add_string (builder, "after", broken->after);
  json_builder_set_member_name (builder, "other_thread");
  json_builder_add_boolean_value (builder, broken->other_thread);
  add_stack (builder, broken->stack);
  json_builder_end_object (builder);
}

static void
add_refusal (JsonBuilder *builder, const ToolRefusalKind *kind)
{
  json_builder_begin_object (builder);
  add_processes (builder, kind->processes);
  add_string (builder, "function", kind->refusal->function);
  add_string (builder, "reason", kind->refusal->reason);
  add_string (builder, "node", kind->refusal->node);
  add_stack (builder, kind->refusal->stack);
  json_builder_end_object (builder);
}

static void
print_json (const ToolOverview *overview, const char *directory, const ToolTroubles *troubles)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_begin_object (builder);
  add_string (builder, "directory", directory);
  begin_list (builder, "processes");
  for (guint i = 0; i < overview->processes->len; i++)
    add_process (builder, g_ptr_array_index (overview->processes, i));
  json_builder_end_array (builder);
  begin_list (builder, "graphs");
  for (guint i = 0; i < overview->graphs->len; i++)
    add_graph (builder, overview, g_ptr_array_index (overview->graphs, i));
  json_builder_end_array (builder);
  add_int (builder, "captures", overview->n_captures);
  add_int (builder, "captures_never_ended", overview->n_open);
  begin_list (builder, "broken");
  for (guint i = 0; i < overview->broken->len; i++)
    add_broken (builder, g_ptr_array_index (overview->broken, i));
  json_builder_end_array (builder);
  add_int (builder, "updates_accepted", overview->n_updates);
  begin_list (builder, "updates_refused");
  for (guint i = 0; i < overview->refusals->len; i++)
    add_refusal (builder, g_ptr_array_index (overview->refusals, i));
  json_builder_end_array (builder);
  add_int (builder, "passed_over", troubles->count);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
}

int
tool_show_recording (const char *directory, gboolean json)
{
  g_auto (ToolTroubles) troubles = { 0 };
  g_auto (ToolOverview) overview = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) processes = NULL;

  tool_troubles_init (&troubles);
  processes = tool_overview_load (directory, &troubles, &error);
  if (processes != NULL)
    tool_overview_init (&overview, processes, &troubles);
  tool_progress_end ();
  tool_troubles_print (&troubles);
  if (processes == NULL)
    {
      tool_error (NULL, "%s", error->message);
      return TOOL_EXIT_TROUBLE;
    }
  if (json)
    print_json (&overview, directory, &troubles);
  else
    {
      print_processes (&overview, directory);
      print_graphs (&overview);
      print_broken (&overview);
      print_updates (&overview);
    }
  return TOOL_EXIT_OK;
}
