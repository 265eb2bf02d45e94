/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture report: what record wrote, as a page to look at. */
#include "config.h"

#include "report-private.h"

#include <string.h>

static char *
write_page (const char *directory, GPtrArray *processes, ToolTroubles *troubles)
{
  g_auto (ToolOverview) overview = { 0 };
  g_auto (ToolComparison) comparison = { 0 };
  Report report = { .directory = directory, .overview = &overview, .comparison = &comparison, .troubles = troubles };

  tool_overview_init (&overview, processes, troubles);
  tool_comparison_init (&comparison);
  tool_comparison_add (&comparison, processes);
  tool_comparison_compare (&comparison);
  return report_write (&report);
}

static int
run (const char *directory, const char *output)
{
  g_auto (ToolTroubles) troubles = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) processes = NULL;
  g_autofree char *page = NULL;

  tool_troubles_init (&troubles);
  processes = tool_overview_load (directory, &troubles, &error);
  if (processes != NULL)
    page = write_page (directory, processes, &troubles);
  tool_progress_end ();
  tool_troubles_print (&troubles);
  if (page != NULL && strcmp (output, "-") == 0)
    tool_out_json (page);
  else if (page == NULL || !tool_write_whole (output, page, &error))
    {
      tool_error (NULL, "%s", error->message);
      return TOOL_EXIT_TROUBLE;
    }
  return TOOL_EXIT_OK;
}

int
tool_cmd_report (const ToolCommand *command, int argc, char **argv)
{
  g_autofree char *output = NULL;
  g_auto (GStrv) directories = NULL;
  const GOptionEntry entries[] = {
    { "output", 'o', G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME, &output, "the file to write (report.html in DIR)",
      "OUT" },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &directories, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  int status;

  if (!tool_parse (command, entries,
                   "DIR is a folder that record wrote. The report is one HTML file with all in it:\n"
                   "no script, nothing from the network. It has the captures that broke with their\n"
                   "call stacks, updates that were refused, where ranks differ, and each graph with\n"
                   "its kernels, hazards and picture, which Graphviz draws if it is there.\n"
                   "What cannot be read is passed over with a note.\n\n"
                   "  " TOOL_NAME " report memra-record-4711 -o report.html",
                   &argc, &argv, &status))
    return status;
  if (!tool_expect_arguments (command, directories, 1))
    return TOOL_EXIT_TROUBLE;
  if (output == NULL)
    output = g_build_filename (directories[0], "report.html", NULL);
  return run (directories[0], output);
}
