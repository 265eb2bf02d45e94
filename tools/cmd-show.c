/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture show: prints a census file. */
#include "config.h"

#include "tool-private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A census of ten thousand kernels takes a few megabytes; this is no census. */
#define LARGEST_INPUT ((gsize) 1 << 30)

static char *
read_standard_input (gsize *length, GError **error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint8 chunk[65536];
  gssize n;

  while ((n = read (STDIN_FILENO, chunk, sizeof chunk)) != 0)
    {
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        {
          int saved = errno;

          g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (saved), "Could not read standard input: %s",
                       g_strerror (saved));
          return NULL;
        }
      if (bytes->len + (gsize) n > LARGEST_INPUT)
        {
          g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "Standard input is larger than any census (%u MiB)",
                       (guint) (LARGEST_INPUT >> 20));
          return NULL;
        }
      g_byte_array_append (bytes, chunk, (guint) n);
    }
  *length = bytes->len;
  g_byte_array_append (bytes, (const guint8 *) "", 1);
  return (char *) g_byte_array_free (g_steal_pointer (&bytes), FALSE);
}

static MemraCensus *
load (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  MemraCensus *census;
  gsize length;

  if (strcmp (path, "-") != 0)
    return memra_census_load (path, error);
  text = read_standard_input (&length, error);
  if (text == NULL)
    return NULL;
  census = memra_census_from_json (text, (gssize) length, error);
  if (census == NULL)
    g_prefix_error (error, "Standard input: ");
  return census;
}

int
tool_cmd_show (const ToolCommand *command, int argc, char **argv)
{
  gboolean json = FALSE;
  g_auto (GStrv) files = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &json, "print the census as canonical JSON", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  int status;

  if (!tool_parse (command, entries,
                   "FILE is a census file, as demo --save writes them; - is standard input.\n\n"
                   "  " TOOL_NAME " show census/layer-000.json",
                   &argc, &argv, &status))
    return status;
  if (!tool_expect_arguments (command, files, 1))
    return TOOL_EXIT_TROUBLE;

  census = load (files[0], &error);
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
