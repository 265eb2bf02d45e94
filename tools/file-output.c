/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing files that a person asked for by name. */
#include "config.h"

#include "tool-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static gboolean
fail (const char *path, GError **error)
{
  int saved = errno;
  g_autofree char *name = g_filename_display_name (path);

  g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (saved), "Could not write %s: %s", name,
               g_strerror (saved));
  return FALSE;
}

gboolean
tool_write_in_place (const char *path, const char *text, GError **error)
{
  FILE *file = fopen (path, "we");

  if (file == NULL)
    return fail (path, error);
  if (fputs (text, file) < 0)
    {
      fail (path, error);
      fclose (file);
      return FALSE;
    }
  return fclose (file) == 0 || fail (path, error);
}

gboolean
tool_write_whole (const char *path, const char *text, GError **error)
{
  char *target = realpath (path, NULL); /* a link stays, and what it leads to is replaced */
  struct stat info;
  gboolean success;

  /* Renaming over a pipe or a device would take it from everybody. */
  if (target != NULL && stat (target, &info) == 0 && !S_ISREG (info.st_mode) && !S_ISDIR (info.st_mode))
    success = tool_write_in_place (target, text, error);
  else
    {
      g_autoptr (GError) reason = NULL;

      success = g_file_set_contents_full (target != NULL ? target : path, text, (gssize) strlen (text),
                                          G_FILE_SET_CONTENTS_CONSISTENT, 0666, &reason);
      if (!success)
        {
          g_autofree char *name = g_filename_display_name (path);

          g_set_error (error, reason->domain, reason->code, "Could not write %s: %s", name, reason->message);
        }
    }
  free (target);
  return success;
}
