/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture check: census files against a policy. */
#include "config.h"

#include "tool-private.h"

#include <json-glib/json-glib.h>

/* What became of one file. */
typedef struct
{
  char *name; /* owned: for people */
  guint layer;
  GPtrArray *mismatches; /* owned, nullable: element-type utf8 */
  GError *error;         /* owned, nullable: why it could not be read */
} Verdict;

static void
verdict_clear (gpointer item)
{
  Verdict *verdict = item;

  g_free (verdict->name);
  g_clear_pointer (&verdict->mismatches, g_ptr_array_unref);
  g_clear_error (&verdict->error);
}

/* One census at a time is in memory. */
static GArray *
judge (const MemraPolicy *policy, char *const *files)
{
  GArray *verdicts = g_array_new (FALSE, TRUE, sizeof (Verdict));

  g_array_set_clear_func (verdicts, verdict_clear);
  for (guint i = 0; files[i] != NULL; i++)
    {
      Verdict verdict = { .name = g_filename_display_name (files[i]) };
      g_autoptr (MemraCensus) census = tool_census_load (files[i], &verdict.error);

      if (census != NULL)
        {
          verdict.layer = memra_census_get_layer (census);
          verdict.mismatches = memra_policy_check (policy, census);
        }
      g_array_append_val (verdicts, verdict);
    }
  return verdicts;
}

static void
print_verdicts (const GArray *verdicts, guint n_bad, guint n_unread)
{
  for (guint i = 0; i < verdicts->len; i++)
    {
      const Verdict *verdict = &g_array_index (verdicts, Verdict, i);

      for (guint k = 0; verdict->mismatches != NULL && k < verdict->mismatches->len; k++)
        tool_out ("%s: %s\n", verdict->name, (const char *) verdict->mismatches->pdata[k]);
    }
  if (n_unread > 0)
    return; /* that is the last word, on standard error */
  if (n_bad == 0 && verdicts->len == 1)
    tool_out ("%s: as the policy wants\n", g_array_index (verdicts, Verdict, 0).name);
  else if (n_bad == 0)
    tool_out ("%u files: all as the policy wants\n", verdicts->len);
  else if (verdicts->len > 1)
    tool_out ("%u of %u files are not what the policy wants\n", n_bad, verdicts->len);
}

static void
add_string (JsonBuilder *builder, const char *member, const char *value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_string_value (builder, value);
}

static void
add_verdict (JsonBuilder *builder, const Verdict *verdict)
{
  json_builder_begin_object (builder);
  add_string (builder, "file", verdict->name);
  if (verdict->error != NULL)
    {
      g_autofree char *message = g_utf8_make_valid (verdict->error->message, -1);

      add_string (builder, "error", message);
    }
  else
    {
      json_builder_set_member_name (builder, "layer");
      json_builder_add_int_value (builder, verdict->layer);
      json_builder_set_member_name (builder, "mismatches");
      json_builder_begin_array (builder);
      for (guint i = 0; i < verdict->mismatches->len; i++)
        json_builder_add_string_value (builder, verdict->mismatches->pdata[i]);
      json_builder_end_array (builder);
    }
  json_builder_end_object (builder);
}

static void
print_json (const char *policy, const GArray *verdicts, gboolean fine)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *name = g_filename_display_name (policy);
  g_autofree char *text = NULL;

  json_builder_begin_object (builder);
  add_string (builder, "policy", name);
  json_builder_set_member_name (builder, "files");
  json_builder_begin_array (builder);
  for (guint i = 0; i < verdicts->len; i++)
    add_verdict (builder, &g_array_index (verdicts, Verdict, i));
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "ok");
  json_builder_add_boolean_value (builder, fine);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
}

static int
report (const char *policy, const GArray *verdicts, gboolean json)
{
  guint n_bad = 0, n_unread = 0;

  for (guint i = 0; i < verdicts->len; i++)
    {
      const Verdict *verdict = &g_array_index (verdicts, Verdict, i);

      if (verdict->error != NULL)
        n_unread++;
      else if (verdict->mismatches->len > 0)
        n_bad++;
    }
  if (json)
    print_json (policy, verdicts, n_bad + n_unread == 0);
  else
    print_verdicts (verdicts, n_bad, n_unread);
  for (guint i = 0; i < verdicts->len; i++)
    if (g_array_index (verdicts, Verdict, i).error != NULL)
      tool_error (NULL, "%s", g_array_index (verdicts, Verdict, i).error->message);
  return n_unread > 0 ? TOOL_EXIT_TROUBLE : n_bad > 0 ? TOOL_EXIT_DIFFERENT : TOOL_EXIT_OK;
}

int
tool_cmd_check (const ToolCommand *command, int argc, char **argv)
{
  gboolean json = FALSE;
  g_autofree char *path = NULL;
  g_auto (GStrv) files = NULL;
  const GOptionEntry entries[] = {
    { "policy", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME, &path, "the policy file, see memra-policy(5)", "FILE" },
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &json, "print one JSON object", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  g_autoptr (MemraPolicy) policy = NULL;
  g_autoptr (GArray) verdicts = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  if (!tool_parse (command, entries,
                   "FILE is a census file; - is standard input. Every mismatch is a line\n"
                   "'FILE: sentence'.\n\n"
                   "Exit status: 0 all files are what the policy wants, 1 one is not, 2 trouble.",
                   &argc, &argv, &status))
    return status;
  if (!tool_expect_at_least (command, files, 1) || !tool_expect_one_stdin (command, files))
    return TOOL_EXIT_TROUBLE;
  if (path == NULL)
    {
      tool_error ("see " TOOL_NAME " check --help", "check wants --policy FILE");
      return TOOL_EXIT_TROUBLE;
    }
  policy = memra_policy_load (path, &error);
  if (policy == NULL)
    {
      tool_error (NULL, "%s", error->message);
      return TOOL_EXIT_TROUBLE;
    }
  verdicts = judge (policy, files);
  return report (path, verdicts, json);
}
