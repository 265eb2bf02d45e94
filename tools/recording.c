/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading what "record" left in a folder. */
#include "config.h"

#include "recording.h"

#include "observe/record-format.h"

#include <json-glib/json-glib.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
graph_clear (gpointer data)
{
  ToolGraph *graph = data;

  g_free (graph->census);
  g_free (graph->hash);
  g_free (graph->error);
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
  process->broken = g_array_new (FALSE, TRUE, sizeof (ToolBroken));
  g_array_set_clear_func (process->broken, broken_clear);
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
  g_array_unref (process->graphs);
  g_array_unref (process->broken);
  g_hash_table_unref (process->hazards);
  g_hash_table_unref (process->refusals);
  g_free (process);
}

/* An event is smaller than this, and nested less; a file may come from anywhere. */
#define LONGEST_LINE (1024 * 1024)
#define MOST_NESTED  16

/* ---- Members, which may be missing or of any type ---- */

static JsonNode *
get_value (JsonObject *object, const char *name, GType type)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == type ? node : NULL;
}

static gint64
get_int (JsonObject *object, const char *name, gint64 otherwise)
{
  JsonNode *node = get_value (object, name, G_TYPE_INT64);

  return node != NULL ? json_node_get_int (node) : otherwise;
}

static guint
get_uint (JsonObject *object, const char *name)
{
  return (guint) CLAMP (get_int (object, name, 0), 0, G_MAXUINT);
}

static gboolean
get_bool (JsonObject *object, const char *name)
{
  JsonNode *node = get_value (object, name, G_TYPE_BOOLEAN);

  return node != NULL && json_node_get_boolean (node);
}

static const char *
get_string (JsonObject *object, const char *name)
{
  JsonNode *node = get_value (object, name, G_TYPE_STRING);

  return node != NULL ? json_node_get_string (node) : NULL;
}

/* Half a character in an escape makes bytes that are no text. */
static char *
dup_string (JsonObject *object, const char *name)
{
  const char *string = get_string (object, name);

  return string != NULL ? g_utf8_make_valid (string, -1) : NULL;
}

static JsonObject *
get_object (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static void
count (GHashTable *counts, const char *what, guint n)
{
  guint before = GPOINTER_TO_UINT (g_hash_table_lookup (counts, what));

  g_hash_table_insert (counts, g_strdup (what), GUINT_TO_POINTER (before + n));
}

/* ---- Events ---- */

static gboolean
read_process (ToolProcess *process, JsonObject *event, GError **error)
{
  if (g_strcmp0 (get_string (event, "format"), RECORD_EVENTS_FORMAT) != 0)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "this is no record of a process");
      return FALSE;
    }
  if (get_int (event, "version", 0) != RECORD_EVENTS_VERSION)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_VERSION,
                   "the record is of version %" G_GINT64_FORMAT ", and this is for version %d", get_int (event, "version", 0),
                   RECORD_EVENTS_VERSION);
      return FALSE;
    }
  if (process->started != 0)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "a second process in one file");
      return FALSE;
    }
  process->host = dup_string (event, "host");
  process->pid = get_int (event, "pid", 0);
  process->rank = (gint) CLAMP (get_int (event, "rank", -1), -1, G_MAXINT);
  process->run = dup_string (event, "run");
  process->program = dup_string (event, "program");
  process->started = MAX (get_int (event, "time_us", 0), 1);
  process->has_launches = get_bool (event, "counts_launches");
  return TRUE;
}

static ToolGraph *
get_graph (ToolProcess *process, guint number)
{
  /* Where it is in all but the oddest records. */
  if (number - 1 < process->graphs->len && g_array_index (process->graphs, ToolGraph, number - 1).number == number)
    return &g_array_index (process->graphs, ToolGraph, number - 1);
  for (guint i = process->graphs->len; i > 0; i--)
    if (g_array_index (process->graphs, ToolGraph, i - 1).number == number)
      return &g_array_index (process->graphs, ToolGraph, i - 1);
  return NULL;
}

static void
read_instantiate (ToolProcess *process, JsonObject *event)
{
  JsonObject *hazards = get_object (event, "hazards");
  ToolGraph graph = { .number = get_uint (event, "graph") };

  if (graph.number == 0) /* it failed */
    return;
  graph.captured = get_bool (event, "captured");
  graph.nodes = get_uint (event, "nodes");
  graph.kernels = get_uint (event, "kernels");
  graph.census = dup_string (event, "census");
  graph.hash = dup_string (event, "hash");
  graph.error = dup_string (event, "census_error");
  /* A name out of a file is no way out of the folder. */
  if (graph.census != NULL && strchr (graph.census, '/') != NULL)
    g_clear_pointer (&graph.census, g_free);
  g_array_append_val (process->graphs, graph);
  if (hazards != NULL)
    {
      g_autoptr (GList) kinds = json_object_get_members (hazards);

      for (GList *kind = kinds; kind != NULL; kind = kind->next)
        count (process->hazards, kind->data, get_uint (hazards, kind->data));
    }
}

static void
read_broken (ToolProcess *process, JsonObject *event)
{
  JsonObject *after = get_object (event, "after");
  ToolBroken broken = { .capture = get_uint (event, "capture") };

  broken.function = dup_string (event, "function");
  broken.result = (int) get_int (event, "result", 0);
  broken.result_name = dup_string (event, "result_name");
  broken.reason = dup_string (event, "reason");
  broken.caller = dup_string (event, "caller");
  broken.other_thread = get_bool (event, "other_thread");
  if (after != NULL && get_string (after, "demangled") != NULL)
    broken.after = g_strdup_printf ("%s '%s'", get_string (after, "type"), get_string (after, "demangled"));
  else if (after != NULL)
    broken.after = g_strdup_printf ("a %s node", get_string (after, "type"));
  g_array_append_val (process->broken, broken);
}

static void
read_update (ToolProcess *process, JsonObject *event)
{
  const char *reason = get_string (event, "reason");
  g_autofree char *bare = NULL;

  if (get_bool (event, "accepted"))
    {
      process->n_updates++;
      return;
    }
  process->n_refused++;
  if (reason == NULL)
    reason = bare = g_strdup_printf ("result %" G_GINT64_FORMAT, get_int (event, "result", 0));
  count (process->refusals, reason, 1);
}

static gboolean
read_event (ToolProcess *process, JsonObject *event, GError **error)
{
  const char *kind = get_string (event, "event");

  if (kind == NULL)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "there is no \"event\"");
      return FALSE;
    }
  if (strcmp (kind, "process") == 0)
    return read_process (process, event, error);
  if (process->started == 0)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "the first event is not \"process\"");
      return FALSE;
    }
  if (strcmp (kind, "begin") == 0 && get_uint (event, "capture") != 0)
    {
      process->n_captures++;
      process->n_open++;
    }
  else if ((strcmp (kind, "end") == 0 || strcmp (kind, "lost") == 0) && get_uint (event, "capture") != 0)
    process->n_open -= process->n_open > 0;
  else if (strcmp (kind, "broken") == 0)
    read_broken (process, event);
  else if (strcmp (kind, "instantiate") == 0)
    read_instantiate (process, event);
  else if (strcmp (kind, "update") == 0)
    read_update (process, event);
  else if (strcmp (kind, "launches") == 0)
    {
      ToolGraph *graph = get_graph (process, get_uint (event, "graph"));

      if (graph != NULL)
        graph->launches = (guint64) get_int (event, "count", 0);
    }
  /* Others are of a later version of this format and add to it. */
  return TRUE;
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
read_line (ToolProcess *process, JsonParser *parser, const char *line, gssize length, GError **error)
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
  return read_event (process, json_node_get_object (root), error);
}

/* A line without an end is what a process left that was killed while it wrote. */
static gboolean
read_events (ToolProcess *process, const char *path, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GString) line = g_string_new (NULL);
  FILE *file = tool_recording_open (path, error);
  gboolean success = file != NULL;
  guint number = 0;

  while (success && tool_recording_read_line (file, line, LONGEST_LINE))
    {
      gboolean ended = line->str[line->len - 1] == '\n';

      number++;
      if (!ended && line->len <= LONGEST_LINE)
        process->truncated = TRUE;
      else if (!read_line (process, parser, line->str, (gssize) line->len - ended, error))
        {
          g_autofree char *name = g_filename_display_name (path);

          g_prefix_error (error, "%s: line %u: ", name, number);
          success = FALSE;
        }
    }
  if (file != NULL)
    success = tool_recording_close (file, path, success ? error : NULL) && success;
  return success;
}

/* ---- Counters ---- */

static char *
dup_counts_path (const ToolProcess *process)
{
  g_autofree char *name = g_strdup_printf ("launches-%s.counts", process->id);

  return g_build_filename (process->directory, name, NULL);
}

static void
read_counts (ToolProcess *process)
{
  g_autofree char *path = dup_counts_path (process);
  g_autofree char *bytes = NULL;
  gsize length;

  if (!tool_recording_read (path, &bytes, &length, NULL) || length < RECORD_COUNTS_CHUNK
      || memcmp (bytes, RECORD_COUNTS_MAGIC, strlen (RECORD_COUNTS_MAGIC)) != 0)
    return;
  for (guint i = 0; i < process->graphs->len; i++)
    {
      ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, i);
      gsize at = RECORD_COUNTS_CHUNK + (gsize) (graph->number - 1) * sizeof (guint64);

      if (at + sizeof (guint64) <= length)
        memcpy (&graph->launches, bytes + at, sizeof graph->launches);
    }
}

static gboolean
is_alive (const ToolProcess *process)
{
  return g_strcmp0 (process->host, g_get_host_name ()) == 0 && process->pid > 0
         && (kill ((pid_t) process->pid, 0) == 0 || errno == EPERM);
}

void
tool_recording_settle (GPtrArray *processes)
{
  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);
      g_autofree char *counts = dup_counts_path (process);
      g_autofree char *name = g_strdup_printf ("events-%s.jsonl", process->id);
      g_autofree char *path = g_build_filename (process->directory, name, NULL);
      g_autoptr (GString) lines = g_string_new (NULL);
      FILE *file;
      gboolean written;

      /* Behind an event that was cut off nothing can be added that could be read. */
      if (!process->has_launches || process->truncated || is_alive (process) || !g_file_test (counts, G_FILE_TEST_EXISTS))
        continue;
      for (guint k = 0; k < process->graphs->len; k++)
        {
          const ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, k);

          g_string_append_printf (lines, "{\"event\":\"launches\",\"graph\":%u,\"count\":%" G_GUINT64_FORMAT "}\n",
                                  graph->number, graph->launches);
        }
      file = tool_recording_append (path);
      if (file == NULL)
        continue;
      written = fwrite (lines->str, 1, lines->len, file) == lines->len;
      if (fclose (file) == 0 && written)
        unlink (counts);
    }
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

/* A census that no event tells of: somebody threw the events away, or put the file there. */
static void
add_orphan (GHashTable *by_id, GPtrArray *processes, const char *directory, const char *name)
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
  if (graph.number == 0 || (process != NULL && process->started != 0))
    return;
  if (process == NULL)
    {
      process = process_new (directory, id);
      g_hash_table_insert (by_id, process->id, process);
      g_ptr_array_add (processes, process);
    }
  graph.census = g_strdup (name);
  g_array_append_val (process->graphs, graph);
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

GPtrArray *
tool_recording_load (const char *directory, const char *run, GError **error)
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
      if (!read_events (process, path, error))
        return NULL;
      read_counts (process);
    }
  g_dir_rewind (dir);
  while (run == NULL && (name = g_dir_read_name (dir)) != NULL)
    add_orphan (by_id, processes, directory, name);
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

/* ---- Words ---- */

char *
tool_process_dup_name (const ToolProcess *process, gboolean with_host)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (process->rank >= 0)
    g_string_append_printf (text, "rank %d (process %s", process->rank, process->id);
  else
    g_string_append_printf (text, "process %s", process->id);
  if (with_host && process->host != NULL)
    g_string_append_printf (text, " of %s", process->host);
  if (process->rank >= 0)
    g_string_append_c (text, ')');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
tool_broken_dup_sentence (const ToolBroken *broken)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (broken->function != NULL)
    g_string_append_printf (text, "broken by %s (%d", broken->function, broken->result);
  else
    g_string_append_printf (text, "broken by a call that was not seen (the end answered %d", broken->result);
  g_string_append_printf (text, "%s%s)", broken->result_name != NULL ? ", " : "",
                          broken->result_name != NULL ? broken->result_name : "");
  if (broken->caller != NULL && broken->function != NULL)
    g_string_append_printf (text, ", called from %s", broken->caller);
  if (broken->other_thread)
    g_string_append (text, ", on another thread");
  if (broken->after != NULL)
    g_string_append_printf (text, ", after %s", broken->after);
  if (broken->reason != NULL)
    g_string_append_printf (text, " (the driver: %s)", broken->reason);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
