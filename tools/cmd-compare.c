/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture compare: whether all ranks and all repeats made the same graphs. */
#include "config.h"

#include "comparison.h"

#include <json-glib/json-glib.h>

#define MOST_PLACES     10 /* that are told in full */
#define MOST_DIFF_LINES 15 /* of one difference */

static gboolean
load (ToolComparison *comparison, char *const *directories, GError **error)
{
  for (guint i = 0; directories[i] != NULL; i++)
    {
      g_autoptr (GPtrArray) processes = tool_recording_load (directories[i], NULL, NULL, error);

      if (processes == NULL)
        return FALSE;
      if (tool_comparison_add (comparison, processes) == 0)
        {
          g_autofree char *name = g_filename_display_name (directories[i]);

          g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "There is no recorded graph in %s", name);
          return FALSE;
        }
    }
  for (guint i = 0; i < comparison->recordings->len; i++)
    if (!tool_recording_identify (g_ptr_array_index (comparison->recordings, i), NULL, error))
      return FALSE;
  return TRUE;
}

/* ---- For people ---- */

static void
print_indented (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (lines);

  while (n > 0 && *lines[n - 1] == '\0')
    n--;
  for (guint i = 0; i < n && i < MOST_DIFF_LINES; i++)
    tool_out ("    %s\n", lines[i]);
  if (n > MOST_DIFF_LINES)
    tool_out ("    and %u more lines\n", n - MOST_DIFF_LINES);
}

/* The file of a variant's first member. */
static char *
dup_census_path (const ToolPlace *place, guint variant)
{
  const ToolVariant *which = g_ptr_array_index (place->variants, variant);
  const ToolMember *member = g_ptr_array_index (which->members, 0);

  return tool_graph_dup_path (member->process, tool_member_get_graph (member, place->index));
}

static gboolean
print_place (const ToolComparison *comparison, const ToolPlace *place, GError **error)
{
  const ToolVariant *usual = g_ptr_array_index (place->variants, 0);
  g_autofree char *names = tool_comparison_dup_names (comparison, usual->members);

  tool_out ("\nGraph %u", place->index + 1);
  if (place->family > 1)
    tool_out (" of each rank's process %u", place->family);
  tool_out (": %s %s\n", names, usual->members->len > 1 ? "agree" : "has one");
  for (guint i = 1; i < place->variants->len; i++)
    {
      const ToolVariant *odd = g_ptr_array_index (place->variants, i);
      g_autofree char *odd_names = tool_comparison_dup_names (comparison, odd->members);
      g_autofree char *path_a = NULL;
      g_autofree char *path_b = NULL;
      g_autofree char *text = NULL;
      g_autoptr (MemraCensusDiff) diff = NULL;

      if (odd->absent)
        {
          tool_out_styled (TOOL_STYLE_BAD, "  %s", odd_names);
          tool_out (": no such graph\n");
          continue;
        }
      diff = tool_place_diff (place, i, error);
      if (diff == NULL)
        return FALSE;
      path_a = dup_census_path (place, 0);
      path_b = dup_census_path (place, i);
      text = memra_census_diff_to_string (diff);
      tool_out_styled (TOOL_STYLE_BAD, "  %s", odd_names);
      tool_out (": another one (diff %s %s)\n", path_a, path_b);
      print_indented (text);
    }
  return TRUE;
}

static gboolean
print (const ToolComparison *comparison, GError **error)
{
  g_autofree char *verdict = tool_comparison_dup_verdict (comparison);

  tool_out ("%s\n", verdict);
  for (guint i = 0; i < comparison->places->len && i < MOST_PLACES; i++)
    if (!print_place (comparison, g_ptr_array_index (comparison->places, i), error))
      return FALSE;
  if (comparison->places->len > MOST_PLACES)
    tool_out ("\nand %u more graphs differ\n", comparison->places->len - MOST_PLACES);
  return TRUE;
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
add_int (JsonBuilder *builder, const char *name, gint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, value);
}

static void
add_member (JsonBuilder *builder, const ToolMember *member)
{
  json_builder_begin_object (builder);
  add_string (builder, "directory", member->process->directory);
  add_string (builder, "process", member->process->id);
  add_string (builder, "host", member->process->host);
  if (member->process->rank >= 0)
    add_int (builder, "rank", member->process->rank);
  add_int (builder, "graphs", member->process->graphs->len);
  json_builder_end_object (builder);
}

static guint
number_of (const ToolComparison *comparison, gconstpointer member)
{
  guint index = 0;

  return g_ptr_array_find (comparison->members, member, &index) ? index : G_MAXUINT;
}

static gboolean
add_variant (JsonBuilder *builder, const ToolComparison *comparison, const ToolPlace *place, guint index,
             GError **error)
{
  const ToolVariant *variant = g_ptr_array_index (place->variants, index);

  json_builder_begin_object (builder);
  add_string (builder, "hash", variant->identity);
  json_builder_set_member_name (builder, "members");
  json_builder_begin_array (builder);
  for (guint i = 0; i < variant->members->len; i++)
    json_builder_add_int_value (builder, number_of (comparison, variant->members->pdata[i]));
  json_builder_end_array (builder);
  if (!variant->absent)
    {
      g_autofree char *path = dup_census_path (place, index);

      add_string (builder, "census", path);
    }
  if (!variant->absent && index > 0)
    {
      g_autofree char *text = NULL;
      g_autoptr (MemraCensusDiff) diff = tool_place_diff (place, index, error);

      if (diff == NULL)
        return FALSE;
      text = memra_census_diff_to_json (diff);
      json_builder_set_member_name (builder, "diff");
      json_builder_add_value (builder, json_from_string (text, NULL));
    }
  json_builder_end_object (builder);
  return TRUE;
}

static gboolean
print_json (const ToolComparison *comparison, GError **error)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "agree");
  json_builder_add_boolean_value (builder, comparison->places->len == 0);
  add_int (builder, "compared", comparison->n_places);
  json_builder_set_member_name (builder, "processes");
  json_builder_begin_array (builder);
  for (guint i = 0; i < comparison->members->len; i++)
    add_member (builder, g_ptr_array_index (comparison->members, i));
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "differ");
  json_builder_begin_array (builder);
  for (guint i = 0; i < comparison->places->len; i++)
    {
      const ToolPlace *place = g_ptr_array_index (comparison->places, i);

      json_builder_begin_object (builder);
      add_int (builder, "graph", place->index + 1);
      add_int (builder, "process_of_rank", MAX (place->family, 1));
      json_builder_set_member_name (builder, "variants");
      json_builder_begin_array (builder);
      for (guint k = 0; k < place->variants->len; k++)
        if (!add_variant (builder, comparison, place, k, error))
          return FALSE;
      json_builder_end_array (builder);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
  return TRUE;
}

int
tool_cmd_compare (const ToolCommand *command, int argc, char **argv)
{
  gboolean json = FALSE;
  g_auto (GStrv) directories = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &json, "print the comparison as JSON", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &directories, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  ToolComparison comparison;
  g_autoptr (GError) error = NULL;
  gboolean success;
  int status;

  if (!tool_parse (command, entries,
                   "DIR is a folder that record wrote. The n-th graph of each process is held\n"
                   "against the n-th of the others: of all ranks if a launcher gave them ranks,\n"
                   "else of all repeats, in one folder or in several.\n"
                   "The exit status is 0 if all agree, 1 if not.\n\n"
                   "  " TOOL_NAME " compare run1 run2",
                   &argc, &argv, &status))
    return status;
  if (directories == NULL)
    return tool_expect_arguments (command, directories, 1) ? TOOL_EXIT_OK : TOOL_EXIT_TROUBLE;

  tool_comparison_init (&comparison);
  success = load (&comparison, directories, &error);
  tool_progress_end ();
  if (success)
    {
      tool_comparison_compare (&comparison);
      success = json ? print_json (&comparison, &error) : print (&comparison, &error);
    }
  status = !success ? TOOL_EXIT_TROUBLE : comparison.places->len > 0 ? TOOL_EXIT_DIFFERENT : TOOL_EXIT_OK;
  if (!success)
    tool_error (NULL, "%s", error->message);
  tool_comparison_clear (&comparison);
  return status;
}
