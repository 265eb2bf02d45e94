/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture show: prints a census file, or what is in a folder of record's. */
#include "config.h"

#include "overview.h"

int
tool_cmd_show (const ToolCommand *command, int argc, char **argv)
{
  gboolean json = FALSE;
  g_auto (GStrv) files = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &json, "print JSON, of a census its canonical form", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  int status;

  if (!tool_parse (command, entries,
                   "FILE is a census file, as demo --save writes them; - is standard input.\n"
                   "DIR is a folder that record wrote: equal graphs are one line, broken captures\n"
                   "are told with the call that broke them. What cannot be read is passed over\n"
                   "with a note.\n\n"
                   "  " TOOL_NAME " show census/layer-000.json\n"
                   "  " TOOL_NAME " show memra-record-4711",
                   &argc, &argv, &status))
    return status;
  if (!tool_expect_arguments (command, files, 1))
    return TOOL_EXIT_TROUBLE;

  if (g_file_test (files[0], G_FILE_TEST_IS_DIR))
    return tool_show_recording (files[0], json);
  census = tool_census_load (files[0], &error);
  if (census == NULL)
    {
      tool_error (NULL, "%s", error->message);
      return TOOL_EXIT_TROUBLE;
    }
  text = json ? memra_census_to_json (census) : memra_census_to_string (census);
  if (json)
    tool_out_json (text);
  else
    {
      tool_out_text (text);
      if (!g_str_has_suffix (text, "\n"))
        tool_out ("\n");
    }
  return TOOL_EXIT_OK;
}
