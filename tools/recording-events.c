/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading the events of one process. */
#include "config.h"

#include "recording-private.h"

#include "observe/record-format.h"

#include <string.h>

/* An event is smaller than this, and nested less; a file may come from anywhere. */
#define LONGEST_LINE (1024 * 1024)
#define MOST_NESTED  16

typedef struct
{
  ToolProcess *process;   /* borrowed */
  ToolTroubles *troubles; /* borrowed, nullable: whoever reads wants all that can be had */
  gboolean introduced;    /* its "process" was there */
} Reading;

static gboolean
read_process (Reading *reading, JsonObject *event, GError **error)
{
  ToolProcess *process = reading->process;
  JsonObject *driver = tool_member_object (event, "driver");

  if (g_strcmp0 (tool_member_string (event, "format"), RECORD_EVENTS_FORMAT) != 0)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "this is no record of a process");
      return FALSE;
    }
  if (tool_member_int (event, "version", 0) != RECORD_EVENTS_VERSION)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_VERSION,
                   "the record is of version %" G_GINT64_FORMAT ", and this is for version %d",
                   tool_member_int (event, "version", 0), RECORD_EVENTS_VERSION);
      return FALSE;
    }
  if (reading->introduced)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "a second process in one file");
      return FALSE;
    }
  reading->introduced = TRUE;
  process->host = tool_member_dup_string (event, "host");
  process->pid = tool_member_int (event, "pid", 0);
  process->rank = (gint) CLAMP (tool_member_int (event, "rank", -1), -1, G_MAXINT);
  process->run = tool_member_dup_string (event, "run");
  process->program = tool_member_dup_string (event, "program");
  process->command = tool_member_dup_command (event, "arguments");
  process->started = MAX (tool_member_int (event, "time_us", 0), 1);
  process->has_launches = tool_member_bool (event, "counts_launches");
  if (driver != NULL)
    {
      process->driver = tool_member_dup_string (driver, "path");
      process->driver_version = (gint) CLAMP (tool_member_int (driver, "version", 0), 0, G_MAXINT);
    }
  return TRUE;
}

ToolGraph *
tool_process_get_graph (ToolProcess *process, guint number)
{
  guint place = GPOINTER_TO_UINT (g_hash_table_lookup (process->places, GUINT_TO_POINTER (number)));

  return place > 0 ? &g_array_index (process->graphs, ToolGraph, place - 1) : NULL;
}

void
tool_process_add_graph (ToolProcess *process, const ToolGraph *graph)
{
  g_array_append_val (process->graphs, *graph);
  g_hash_table_insert (process->places, GUINT_TO_POINTER (graph->number), GUINT_TO_POINTER (process->graphs->len));
}

static void
add_counts (GHashTable *to, GHashTable *from)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, from);
  while (g_hash_table_iter_next (&iter, &key, &value))
    tool_count (to, key, GPOINTER_TO_UINT (value));
}

static void
read_instantiate (ToolProcess *process, JsonObject *event)
{
  ToolGraph graph = { .number = tool_member_uint (event, "graph") };

  if (graph.number == 0) /* it failed */
    {
      process->n_failed++;
      return;
    }
  graph.captured = tool_member_bool (event, "captured");
  graph.nodes = tool_member_uint (event, "nodes");
  graph.kernels = tool_member_uint (event, "kernels");
  graph.thread = tool_member_int (event, "thread", 0);
  graph.census = tool_member_dup_string (event, "census");
  graph.hash = tool_member_dup_string (event, "hash");
  graph.error = tool_member_dup_string (event, "census_error");
  graph.types = tool_member_dup_counts (event, "types");
  graph.hazards = tool_member_dup_counts (event, "hazards");
  graph.stack = tool_member_dup_stack (event, "stack");
  /* A name out of a file is no way out of the folder. */
  if (graph.census != NULL && strchr (graph.census, '/') != NULL)
    g_clear_pointer (&graph.census, g_free);
  tool_process_add_graph (process, &graph);
  if (graph.hazards != NULL)
    add_counts (process->hazards, graph.hazards);
}

static void
read_broken (ToolProcess *process, JsonObject *event)
{
  ToolBroken broken = { .capture = tool_member_uint (event, "capture") };

  broken.thread = tool_member_int (event, "thread", 0);
  broken.operations = tool_member_uint (event, "operations");
  broken.function = tool_member_dup_string (event, "function");
  broken.result = (int) tool_member_int (event, "result", 0);
  broken.result_name = tool_member_dup_string (event, "result_name");
  broken.reason = tool_member_dup_string (event, "reason");
  broken.caller = tool_member_dup_string (event, "caller");
  broken.other_thread = tool_member_bool (event, "other_thread");
  broken.after = tool_member_dup_node (event, "after");
  broken.stack = tool_member_dup_stack (event, "stack");
  g_array_append_val (process->broken, broken);
}

static void
read_update (ToolProcess *process, JsonObject *event)
{
  ToolRefusal refusal = { .graph = tool_member_uint (event, "graph") };
  ToolGraph *graph = tool_process_get_graph (process, refusal.graph);

  if (tool_member_bool (event, "accepted"))
    {
      process->n_updates++;
      if (graph != NULL)
        graph->updates++;
      return;
    }
  refusal.thread = tool_member_int (event, "thread", 0);
  refusal.function = tool_member_dup_string (event, "function");
  refusal.reason = tool_member_dup_string (event, "reason");
  refusal.driver_reason = tool_member_dup_string (event, "driver_reason");
  refusal.node = tool_member_dup_node (event, "node");
  refusal.stack = tool_member_dup_stack (event, "stack");
  if (refusal.reason == NULL)
    refusal.reason = g_strdup_printf ("result %" G_GINT64_FORMAT, tool_member_int (event, "result", 0));
  tool_count (process->refusals, refusal.reason, 1);
  g_array_append_val (process->refused, refusal);
}

/* FALSE where the process should have been told of. Whoever wants all that can be had goes on without. */
static gboolean
expect_process (Reading *reading, GError **error)
{
  g_autoptr (GError) missing = NULL;

  if (reading->process->started != 0)
    return TRUE;
  g_set_error (&missing, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "the first event is not \"process\"");
  if (reading->troubles != NULL)
    reading->process->started = 1;
  g_propagate_error (error, g_steal_pointer (&missing));
  return FALSE;
}

static void
take_event (ToolProcess *process, const char *kind, JsonObject *event)
{
  if (strcmp (kind, "begin") == 0 && tool_member_uint (event, "capture") != 0)
    {
      process->n_captures++;
      process->n_open++;
    }
  else if ((strcmp (kind, "end") == 0 || strcmp (kind, "lost") == 0) && tool_member_uint (event, "capture") != 0)
    process->n_open -= process->n_open > 0;
  else if (strcmp (kind, "broken") == 0)
    read_broken (process, event);
  else if (strcmp (kind, "instantiate") == 0)
    read_instantiate (process, event);
  else if (strcmp (kind, "update") == 0)
    read_update (process, event);
  else if (strcmp (kind, "launches") == 0)
    {
      ToolGraph *graph = tool_process_get_graph (process, tool_member_uint (event, "graph"));

      if (graph != NULL)
        graph->launches = (guint64) tool_member_int (event, "count", 0);
    }
  /* Others are of a later version of this format and add to it. */
}

static gboolean
read_event (Reading *reading, JsonObject *event, GError **error)
{
  const char *kind = tool_member_string (event, "event");
  gboolean expected;

  if (kind == NULL)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "there is no \"event\"");
      return FALSE;
    }
  if (strcmp (kind, "process") == 0)
    return read_process (reading, event, error);
  expected = expect_process (reading, error);
  if (reading->process->started != 0)
    take_event (reading->process, kind, event);
  return expected;
}

/* Why a line is not given to json-glib, which goes down the stack with the brackets that a text opens, knows comments,
 * assignments and more kinds of strings than JSON has, and of several values takes the last and leaks the others. NULL if
 * it can be. */
static const char *
fault_of_line (const char *line, gssize length)
{
  gboolean in_string = FALSE, begun = FALSE;
  guint depth = 0;

  if (length > LONGEST_LINE)
    return "longer than any event";
  for (gssize i = 0; i < length; i++)
    if (depth == 0 && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
      continue;
    else if (!begun && line[i] != '{')
      return "this is no JSON object";
    else if (begun && depth == 0)
      return "something behind the end of the event";
    else if (line[i] == '"')
      in_string = !in_string;
    else if (in_string)
      i += line[i] == '\\';
    else if (line[i] == '/' || line[i] == '\'' || line[i] == '#')
      return "a character that JSON does not have outside of strings";
    else if (line[i] == '{' || line[i] == '[')
      {
        begun = TRUE;
        if (++depth > MOST_NESTED)
          return "nested deeper than any event";
      }
    else if ((line[i] == '}' || line[i] == ']') && depth > 0)
      depth--;
  return NULL;
}

static gboolean
read_line (Reading *reading, JsonParser *parser, const char *line, gssize length, GError **error)
{
  const char *fault = fault_of_line (line, length);
  g_autoptr (GError) reason = NULL;
  JsonNode *root;

  if (fault != NULL)
    {
      g_set_error_literal (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, fault);
      return FALSE;
    }
  if (!json_parser_load_from_data (parser, line, length, &reason))
    {
      g_autofree char *message = g_utf8_make_valid (reason->message, -1);

      g_set_error_literal (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_PARSE, message);
      return FALSE;
    }
  root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "this is no JSON object");
      return FALSE;
    }
  return read_event (reading, json_node_get_object (root), error);
}

/* Takes over what was wrong with a line. FALSE if that ends the reading: events of another version mean something else,
 * though they may look the same. */
static gboolean
pass_over (Reading *reading, const char *path, guint number, GError *fault, GError **error)
{
  g_autofree char *name = g_filename_display_name (path);
  gboolean goes_on
      = reading->troubles != NULL && !g_error_matches (fault, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_VERSION);

  g_prefix_error (&fault, "%s: line %u: ", name, number);
  if (reading->troubles == NULL)
    g_propagate_error (error, fault);
  else
    {
      tool_troubles_add (reading->troubles, fault);
      g_error_free (fault);
    }
  return goes_on;
}

/* A line without an end is what a process left that was killed while it wrote. */
gboolean
tool_recording_read_events (ToolProcess *process, const char *path, ToolTroubles *troubles, GError **error)
{
  Reading reading = { .process = process, .troubles = troubles };
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GString) line = g_string_new (NULL);
  FILE *file = tool_recording_open (path, error);
  gboolean going = file != NULL, success = going;
  guint number = 0;

  while (going && tool_recording_read_line (file, line, LONGEST_LINE))
    {
      gboolean ended = line->str[line->len - 1] == '\n', too_long = !ended && line->len > LONGEST_LINE;
      GError *fault = NULL;

      number++;
      if (too_long && troubles != NULL)
        tool_recording_skip_line (file);
      if (!ended && !too_long)
        process->truncated = TRUE;
      else if (!read_line (&reading, parser, line->str, (gssize) line->len - ended, &fault))
        going = pass_over (&reading, path, number, fault, error);
    }
  success = success && (going || troubles != NULL);
  if (file != NULL)
    success = tool_recording_close (file, path, success ? error : NULL) && success;
  return success;
}
