/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Census files as arguments; - is standard input. */
#include "config.h"

#include "tool-private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
      if (bytes->len + (gsize) n > TOOL_LARGEST_CENSUS)
        {
          g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "Standard input is larger than any census (%u MiB)",
                       (guint) (TOOL_LARGEST_CENSUS >> 20));
          return NULL;
        }
      g_byte_array_append (bytes, chunk, (guint) n);
    }
  *length = bytes->len;
  g_byte_array_append (bytes, (const guint8 *) "", 1);
  return (char *) g_byte_array_free (g_steal_pointer (&bytes), FALSE);
}

MemraCensus *
tool_census_load (const char *path, GError **error)
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

GPtrArray *
tool_census_load_all_or_complain (char *const *paths)
{
  g_autoptr (GPtrArray) censuses = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_census_unref);

  for (guint i = 0; paths[i] != NULL; i++)
    {
      g_autoptr (GError) error = NULL;
      MemraCensus *census = tool_census_load (paths[i], &error);

      if (census == NULL)
        {
          tool_error (NULL, "%s", error->message);
          return NULL;
        }
      g_ptr_array_add (censuses, census);
    }
  return g_steal_pointer (&censuses);
}
