/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Command lines, through GOption, with our own --help so that it goes the way of all output. */
#include "config.h"

#include "tool-private.h"

#include <string.h>

/* GOption writes an ellipsis that an ASCII terminal cannot show. */
static void
print_help (GOptionContext *context)
{
  g_autofree char *help = g_option_context_get_help (context, FALSE, NULL);
  g_auto (GStrv) parts = g_strsplit (help, "\342\200\246", -1);
  g_autofree char *plain = g_strjoinv ("...", parts);

  tool_out_text (plain);
}

static char *
dup_program (const ToolCommand *command)
{
  return command != NULL ? g_strdup_printf (TOOL_NAME " %s", command->name) : g_strdup (TOOL_NAME);
}

static void
complain (const ToolCommand *command, const char *what)
{
  g_autofree char *program = dup_program (command);
  g_autofree char *hint = g_strdup_printf ("see %s --help", program);

  tool_error (hint, "%s", what);
}

gboolean
tool_parse (const ToolCommand *command, const GOptionEntry *entries, const char *description, int *argc, char ***argv,
            int *status)
{
  gboolean help = FALSE;
  const GOptionEntry help_entry[] = {
    { "help", 'h', G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &help, "show this help and exit", NULL },
    TOOL_OPTIONS_END,
  };
  g_autoptr (GOptionContext) context
      = g_option_context_new (command != NULL ? command->usage : "COMMAND [OPTION...] [ARGUMENT...]");
  g_autofree char *program = dup_program (command);
  g_autoptr (GError) error = NULL;

  g_set_prgname (program);
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_set_strict_posix (context, command == NULL || command->strict);
  if (command != NULL)
    {
      g_autofree char *summary = g_strdup_printf ("%c%s.", g_ascii_toupper (command->summary[0]), command->summary + 1);

      g_option_context_set_summary (context, summary);
      g_option_context_set_description (context, description);
    }
  else
    g_option_context_set_summary (context, description);
  g_option_context_add_main_entries (context, help_entry, NULL);
  g_option_context_add_main_entries (context, entries, NULL);

  if (!g_option_context_parse (context, argc, argv, &error))
    {
      complain (command, error->message);
      *status = TOOL_EXIT_TROUBLE;
      return FALSE;
    }
  if (help)
    {
      print_help (context);
      *status = TOOL_EXIT_OK;
      return FALSE;
    }
  return TRUE;
}

gboolean
tool_expect_arguments (const ToolCommand *command, char *const *arguments, guint n)
{
  guint given = arguments != NULL ? g_strv_length ((char **) arguments) : 0;
  g_autofree char *what = NULL;

  if (given == n)
    return TRUE;
  if (n == 0)
    {
      g_autofree char *name = g_filename_display_name (arguments[0]);

      what = g_strdup_printf ("%s takes no argument, but was given '%s'", command->name, name);
    }
  else
    what = g_strdup_printf ("%s takes %u argument%s (%s), but was given %u", command->name, n, n == 1 ? "" : "s",
                            command->usage, given);
  complain (command, what);
  return FALSE;
}

gboolean
tool_expect_at_least (const ToolCommand *command, char *const *arguments, guint n)
{
  guint given = arguments != NULL ? g_strv_length ((char **) arguments) : 0;
  g_autofree char *what = NULL;

  if (given >= n)
    return TRUE;
  what = g_strdup_printf ("%s takes at least %u argument%s (%s), but was given %u", command->name, n, n == 1 ? "" : "s",
                          command->usage, given);
  complain (command, what);
  return FALSE;
}

gboolean
tool_expect_one_stdin (const ToolCommand *command, char *const *arguments)
{
  guint n = 0;

  for (guint i = 0; arguments != NULL && arguments[i] != NULL; i++)
    n += strcmp (arguments[i], "-") == 0;
  if (n > 1)
    complain (command, "- is standard input, which can be read only once");
  return n <= 1;
}

gboolean
tool_expect_range (const ToolCommand *command, const char *option, int value, int low, int high)
{
  g_autofree char *what = NULL;

  if (value >= low && value <= high)
    return TRUE;
  what = g_strdup_printf ("--%s %d is out of range; it goes from %d to %d", option, value, low, high);
  complain (command, what);
  return FALSE;
}
