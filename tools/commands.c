/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of subcommands, and dispatch. */
#include "config.h"

#include "tool-private.h"

#include <string.h>

/* Every subcommand, in the order of --help. A new one is a row here and a file cmd-NAME.c. */
static const ToolCommand commands[] = {
  { "info", NULL, "show the driver, its devices, and what they allow", tool_cmd_info },
  { "demo", NULL, "capture decoder layers, replay them, prove replay equals eager", tool_cmd_demo },
  { "show", "FILE|DIR", "print a census file, or what record wrote", tool_cmd_show },
  { "diff", "A B [C...]", "tell what changed between graphs, or what is frozen in them", tool_cmd_diff },
  { "check", "FILE...", "hold census files against a policy", tool_cmd_check },
  { "dot", "FILE", "draw a picture of a graph", tool_cmd_dot },
  { "record", "[--] COMMAND [ARGUMENT...]", "run a program and write down every graph it makes", tool_cmd_record, TRUE },
  { "report", "DIR", "write what record wrote as a page to look at", tool_cmd_report },
  { "compare", "DIR...", "tell whether all ranks and repeats made the same graphs", tool_cmd_compare },
};

static const ToolCommand *
find_command (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i].name, name) == 0)
      return &commands[i];
  return NULL;
}

static char *
dup_summary (void)
{
  g_autoptr (GString) text = g_string_new ("Captures layers of GPU work into CUDA graphs and tells what is in them.\n\n"
                                           "Commands:\n");

  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    g_string_append_printf (text, "  %-10s %s\n", commands[i].name, commands[i].summary);
  g_string_append (text, "\n" TOOL_NAME " COMMAND --help tells more.\n"
                         "Exit status: 0 as expected, 1 a difference or a failed proof, 2 wrong usage\n"
                         "or input.");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

int
tool_run_command (int argc, char **argv)
{
  gboolean version = FALSE;
  const GOptionEntry entries[] = {
    { "version", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &version, "show the version and exit", NULL },
    TOOL_OPTIONS_END,
  };
  g_autofree char *summary = dup_summary ();
  const ToolCommand *command;
  int status;

  if (!tool_parse (NULL, entries, summary, &argc, &argv, &status))
    return status;
  if (version)
    {
      tool_out (TOOL_NAME " %d.%d.%d\n", MEMRA_CAPTURE_MAJOR_VERSION, MEMRA_CAPTURE_MINOR_VERSION,
                MEMRA_CAPTURE_MICRO_VERSION);
      return TOOL_EXIT_OK;
    }
  if (argc > 1 && strcmp (argv[1], "--") == 0)
    {
      argc--;
      argv++;
    }
  if (argc < 2)
    {
      tool_error ("see " TOOL_NAME " --help", "No command was given");
      return TOOL_EXIT_TROUBLE;
    }
  command = find_command (argv[1]);
  if (command == NULL)
    {
      g_autofree char *name = g_filename_display_name (argv[1]);

      tool_error ("see " TOOL_NAME " --help", "There is no command '%s'", name);
      return TOOL_EXIT_TROUBLE;
    }
  return command->run (command, argc - 1, argv + 1);
}
