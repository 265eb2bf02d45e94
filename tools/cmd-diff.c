/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture diff: what changed between two graphs, and with --arguments what is frozen in them. */
#include "config.h"

#include "tool-private.h"

#include <json-glib/json-glib.h>

#include <string.h>

typedef struct
{
  gboolean arguments;
  gboolean json;
  char **must_vary;     /* owned, nullable */
  char **must_not_vary; /* owned, nullable */
  char **files;         /* owned, nullable */
} Options;

static void
options_clear (Options *options)
{
  g_strfreev (options->must_vary);
  g_strfreev (options->must_not_vary);
  g_strfreev (options->files);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

static void
add_string (JsonBuilder *builder, const char *member, const char *value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_string_value (builder, value);
}

static void
add_int (JsonBuilder *builder, const char *member, gint64 value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_int_value (builder, value);
}

static void
add_boolean (JsonBuilder *builder, const char *member, gboolean value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_boolean_value (builder, value);
}

/* One of the files, as an object. */
static void
add_file (JsonBuilder *builder, const char *path, const MemraCensus *census)
{
  g_autofree char *name = g_filename_display_name (path);

  json_builder_begin_object (builder);
  add_string (builder, "file", name);
  add_int (builder, "layer", memra_census_get_layer (census));
  add_int (builder, "nodes", memra_census_get_n_nodes (census));
  add_int (builder, "kernels", memra_census_get_n_kernel_nodes (census));
  json_builder_end_object (builder);
}

static void
print_object (JsonBuilder *builder)
{
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = json_to_string (root, FALSE);

  tool_out_json (text);
}

/* ---- Graphs ---- */

static const char *const kinds[] = { [MEMRA_CHANGE_ADDED] = "added",
                                     [MEMRA_CHANGE_REMOVED] = "removed",
                                     [MEMRA_CHANGE_MOVED] = "moved",
                                     [MEMRA_CHANGE_CHANGED] = "changed" };

static void
count_kinds (const MemraCensusDiff *diff, guint counts[G_N_ELEMENTS (kinds)])
{
  memset (counts, 0, G_N_ELEMENTS (kinds) * sizeof *counts);
  for (guint i = 0; i < memra_census_diff_get_n_changes (diff); i++)
    counts[memra_census_diff_get_change (diff, i, NULL, NULL, NULL)]++;
}

static void
print_diff (const MemraCensusDiff *diff, const MemraCensus *census)
{
  g_autofree char *text = memra_census_diff_to_string (diff);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint counts[G_N_ELEMENTS (kinds)];
  const char *comma = "";

  if (memra_census_diff_get_n_changes (diff) == 0)
    {
      guint n = memra_census_get_n_nodes (census);

      tool_out_styled (TOOL_STYLE_GOOD, "equal");
      tool_out (": %u node%s\n", n, n == 1 ? "" : "s");
      return;
    }
  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != '\0')
      {
        tool_out_styled (*lines[i] == '+'   ? TOOL_STYLE_GOOD
                         : *lines[i] == '-' ? TOOL_STYLE_BAD
                                            : TOOL_STYLE_PLAIN,
                         "%s", lines[i]);
        tool_out ("\n");
      }
  count_kinds (diff, counts);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (counts[i] > 0)
      {
        tool_out ("%s%u %s", comma, counts[i], kinds[i]);
        comma = ", ";
      }
  tool_out ("\n");
}

static void
print_diff_json (const MemraCensusDiff *diff, char *const *files, const GPtrArray *censuses)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *changes = memra_census_diff_to_json (diff);
  guint counts[G_N_ELEMENTS (kinds)];

  count_kinds (diff, counts);
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "a");
  add_file (builder, files[0], censuses->pdata[0]);
  json_builder_set_member_name (builder, "b");
  add_file (builder, files[1], censuses->pdata[1]);
  add_boolean (builder, "equal", memra_census_diff_get_n_changes (diff) == 0);
  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    add_int (builder, kinds[i], counts[i]);
  json_builder_set_member_name (builder, "changes");
  json_builder_add_value (builder, json_from_string (changes, NULL));
  json_builder_end_object (builder);
  print_object (builder);
}

static int
diff_graphs (const Options *options, const GPtrArray *censuses)
{
  g_autoptr (MemraCensusDiff) diff = memra_census_diff (censuses->pdata[0], censuses->pdata[1]);

  if (options->json)
    print_diff_json (diff, options->files, censuses);
  else
    print_diff (diff, censuses->pdata[0]);
  return memra_census_diff_get_n_changes (diff) == 0 ? TOOL_EXIT_OK : TOOL_EXIT_DIFFERENT;
}

/* ---- Arguments ---- */

/* Kernels whose arguments no census holds, since the driver did not tell them. */
static guint
count_untold (const MemraCensus *census)
{
  guint n = 0;

  for (guint i = 0; i < memra_census_get_n_kernel_nodes (census); i++)
    {
      const MemraKernelNode *node = memra_census_get_kernel_node (census, i);
      gsize size = 1;

      if (memra_kernel_node_get_n_arguments (node) == 1
          && memra_kernel_node_get_argument_kind (node, 0) == MEMRA_ARGUMENT_UNKNOWN)
        memra_kernel_node_get_argument_bytes (node, 0, &size);
      n += size == 0;
    }
  return n;
}

static guint
count_rules (const Options *options)
{
  return (options->must_vary != NULL ? g_strv_length (options->must_vary) : 0)
         + (options->must_not_vary != NULL ? g_strv_length (options->must_not_vary) : 0);
}

static void
print_report (const Options *options, const MemraArgumentReport *report, const GPtrArray *broken,
              const GPtrArray *censuses)
{
  g_autofree char *text = memra_argument_report_to_string (report);
  const guint n = memra_argument_report_get_n_changes (report), n_rules = count_rules (options);
  const guint untold = count_untold (censuses->pdata[0]);

  tool_out_text (text);
  for (guint i = 0; i < broken->len; i++)
    {
      tool_out_styled (TOOL_STYLE_BAD, "broken");
      tool_out (": %s\n", (const char *) broken->pdata[i]);
    }
  if (n == 0)
    tool_out ("nothing moved between %u captures", censuses->len);
  else
    tool_out ("%u value%s moved between %u captures", n, n == 1 ? "" : "s", censuses->len);
  if (n_rules > 0 && broken->len == 0)
    tool_out (n_rules == 1 ? "; the rule holds" : "; all %u rules hold", n_rules);
  tool_out ("\n");
  if (untold > 0)
    tool_out ("not compared: the arguments of %u kernel%s, which the driver (below 12.4) did not tell\n", untold,
              untold == 1 ? "" : "s");
}

static void
add_change (JsonBuilder *builder, const MemraArgumentReport *report, guint index, const MemraCensus *census,
            const guint *occurrences)
{
  guint kernel, argument;
  const char *message = memra_argument_report_get_change (report, index, &kernel, &argument);

  json_builder_begin_object (builder);
  if (kernel != MEMRA_NO_PLACE)
    {
      add_int (builder, "kernel", kernel);
      add_string (builder, "name", memra_kernel_node_get_name (memra_census_get_kernel_node (census, kernel)));
      add_int (builder, "occurrence", occurrences[kernel]);
    }
  if (argument != MEMRA_NO_PLACE)
    add_int (builder, "argument", argument);
  add_string (builder, "message", message);
  json_builder_end_object (builder);
}

/* For each kernel how many of the same name stand before it. */
static guint *
count_occurrences (const MemraCensus *census)
{
  const guint n = memra_census_get_n_kernel_nodes (census);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  guint *occurrences = g_new (guint, n + 1);

  for (guint i = 0; i < n; i++)
    {
      gpointer name = (gpointer) memra_kernel_node_get_name (memra_census_get_kernel_node (census, i));

      occurrences[i] = GPOINTER_TO_UINT (g_hash_table_lookup (seen, name));
      g_hash_table_insert (seen, name, GUINT_TO_POINTER (occurrences[i] + 1));
    }
  return occurrences;
}

static void
print_report_json (const Options *options, const MemraArgumentReport *report, const GPtrArray *broken,
                   const GPtrArray *censuses, gboolean fine)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree guint *occurrences = count_occurrences (censuses->pdata[0]);

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "files");
  json_builder_begin_array (builder);
  for (guint i = 0; i < censuses->len; i++)
    add_file (builder, options->files[i], censuses->pdata[i]);
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "moved");
  json_builder_begin_array (builder);
  for (guint i = 0; i < memra_argument_report_get_n_changes (report); i++)
    add_change (builder, report, i, censuses->pdata[0], occurrences);
  json_builder_end_array (builder);
  add_int (builder, "rules", count_rules (options));
  json_builder_set_member_name (builder, "broken");
  json_builder_begin_array (builder);
  for (guint i = 0; i < broken->len; i++)
    json_builder_add_string_value (builder, broken->pdata[i]);
  json_builder_end_array (builder);
  add_int (builder, "not_compared", count_untold (censuses->pdata[0]));
  add_boolean (builder, "ok", fine);
  json_builder_end_object (builder);
  print_object (builder);
}

static int
diff_arguments (const Options *options, const GPtrArray *censuses)
{
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GPtrArray) broken = NULL;
  g_autoptr (GError) error = NULL;
  gboolean fine;

  report = memra_census_compare_arguments ((MemraCensus *const *) censuses->pdata, censuses->len, &error);
  if (report == NULL)
    {
      tool_error ("see " TOOL_NAME " diff A B", "%s", error->message);
      return TOOL_EXIT_TROUBLE;
    }
  broken = memra_argument_report_check (report, (const char *const *) options->must_vary,
                                        (const char *const *) options->must_not_vary);
  fine = count_rules (options) > 0 ? broken->len == 0 : memra_argument_report_get_n_changes (report) == 0;
  if (options->json)
    print_report_json (options, report, broken, censuses, fine);
  else
    print_report (options, report, broken, censuses);
  return fine ? TOOL_EXIT_OK : TOOL_EXIT_DIFFERENT;
}

static gboolean
parse (const ToolCommand *command, Options *options, int argc, char **argv, int *status)
{
  const GOptionEntry entries[] = {
    { "arguments", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options->arguments,
      "compare what kernels and copies are given", NULL },
    { "must-vary", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_STRING_ARRAY, &options->must_vary, "what has to have moved",
      "RULE" },
    { "must-not-vary", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_STRING_ARRAY, &options->must_not_vary,
      "what must not have moved", "RULE" },
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options->json, "print one JSON object", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &options->files, NULL, NULL },
    TOOL_OPTIONS_END,
  };

  if (!tool_parse (command, entries,
                   "A and B are census files; - is standard input. Lines begin with + for a node\n"
                   "that only B has, - for one that only A has, > for one that has moved and ~ for\n"
                   "one that is given something else. What changed in every layer is told once.\n\n"
                   "With --arguments the files are captures of one layer at different steps, two\n"
                   "or more: what moves is frozen into each graph. A RULE is a pattern for names of\n"
                   "kernels, and after a colon the number of an argument: 'memra_dsv4_rope:1'.\n\n"
                   "Exit status: 0 equal, or all rules hold; 1 different, or a rule is broken;\n"
                   "2 trouble.",
                   &argc, &argv, status))
    return FALSE;
  *status = TOOL_EXIT_TROUBLE;
  if (!options->arguments && count_rules (options) > 0)
    {
      tool_error ("see " TOOL_NAME " diff --help", "--must-vary and --must-not-vary are rules for --arguments");
      return FALSE;
    }
  return (options->arguments ? tool_expect_at_least (command, options->files, 2)
                             : tool_expect_arguments (command, options->files, 2))
         && tool_expect_one_stdin (command, options->files);
}

int
tool_cmd_diff (const ToolCommand *command, int argc, char **argv)
{
  g_auto (Options) options = { 0 };
  g_autoptr (GPtrArray) censuses = NULL;
  int status;

  if (!parse (command, &options, argc, argv, &status))
    return status;
  censuses = tool_census_load_all_or_complain (options.files);
  if (censuses == NULL)
    return TOOL_EXIT_TROUBLE;
  return options.arguments ? diff_arguments (&options, censuses) : diff_graphs (&options, censuses);
}
