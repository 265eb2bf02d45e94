/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture dot: a picture of a graph, in Graphviz's language or drawn by Graphviz. */
#include "config.h"

#include "tool-private.h"

#include <string.h>

static int
complain (const GError *error)
{
  if (g_error_matches (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
    tool_error ("install it; on Debian and Ubuntu: apt-get install graphviz", "--svg needs Graphviz, and %s",
                error->message);
  else
    tool_error (NULL, "%s", error->message);
  return TOOL_EXIT_TROUBLE;
}

static int
run (const char *file, const char *output, gboolean svg)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = tool_census_load (file, &error);
  g_autofree char *text = NULL;

  if (census == NULL)
    return complain (error);
  text = memra_census_to_dot (census);
  if (svg)
    {
      g_autofree char *dot = g_steal_pointer (&text);

      text = tool_graphviz_draw (dot, 0, &error);
      if (text == NULL)
        return complain (error);
    }
  if (output == NULL || strcmp (output, "-") == 0)
    tool_out_json (text);
  else if (!tool_write_in_place (output, text, &error))
    return complain (error);
  return TOOL_EXIT_OK;
}

int
tool_cmd_dot (const ToolCommand *command, int argc, char **argv)
{
  gboolean svg = FALSE;
  g_autofree char *output = NULL;
  g_auto (GStrv) files = NULL;
  const GOptionEntry entries[] = {
    { "output", 'o', G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME, &output, "write to OUT, not to standard output",
      "OUT" },
    { "svg", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &svg, "have Graphviz draw it, and write SVG", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  int status;

  if (!tool_parse (command, entries,
                   "FILE is a census file; - is standard input. The picture is in Graphviz's\n"
                   "language. A block of nodes that is repeated is drawn once; sections are boxes;\n"
                   "nodes with a hazard are red.\n\n"
                   "  " TOOL_NAME " dot --svg -o layer.svg census/layer-000.json",
                   &argc, &argv, &status))
    return status;
  if (!tool_expect_arguments (command, files, 1))
    return TOOL_EXIT_TROUBLE;
  return run (files[0], output, svg);
}
