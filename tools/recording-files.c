/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening what lies in a folder of the recorder's, which may come from anywhere: nothing there makes a reader wait, and
 * a writer does not follow links out of the folder. */
#include "config.h"

#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean
set_failed (GError **error, const char *path, GFileError code, const char *reason)
{
  g_autofree char *name = g_filename_display_name (path);

  g_set_error (error, G_FILE_ERROR, (gint) code, "Could not read %s: %s", name, reason);
  return FALSE;
}

static gboolean
set_errno (GError **error, const char *path, int number)
{
  return set_failed (error, path, g_file_error_from_errno (number), g_strerror (number));
}

/* Without O_NONBLOCK the mere opening of a pipe would wait for its other end. */
static FILE *
open_regular (const char *path, int flags, const char *mode, GError **error)
{
  int fd = open (path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status;
  FILE *file;

  if (fd < 0 || fstat (fd, &status) != 0)
    set_errno (error, path, errno);
  else if (!S_ISREG (status.st_mode))
    set_failed (error, path, G_FILE_ERROR_INVAL, "it is not a regular file");
  else if ((file = fdopen (fd, mode)) != NULL)
    return file;
  else
    set_errno (error, path, errno);
  if (fd >= 0)
    close (fd);
  return NULL;
}

FILE *
tool_recording_open (const char *path, GError **error)
{
  return open_regular (path, O_RDONLY, "r", error);
}

FILE *
tool_recording_append (const char *path)
{
  return open_regular (path, O_WRONLY | O_APPEND | O_NOFOLLOW, "a", NULL);
}

gboolean
tool_recording_close (FILE *file, const char *path, GError **error)
{
  gboolean success = !ferror (file) || set_errno (error, path, errno);

  fclose (file);
  return success;
}

/* What is too long by its size is not read to find that out; and it may grow meanwhile. */
static gboolean
read_up_to (FILE *file, gsize most, GString *all)
{
  char chunk[16 * 1024];
  struct stat status;
  gsize n;

  if (fstat (fileno (file), &status) == 0 && (guint64) status.st_size > most)
    return FALSE;
  while (all->len <= most && (n = fread (chunk, 1, sizeof chunk, file)) > 0)
    g_string_append_len (all, chunk, (gssize) n);
  return all->len <= most;
}

gboolean
tool_recording_read (const char *path, gsize most, char **bytes, gsize *length, GError **error)
{
  FILE *file = tool_recording_open (path, error);
  g_autoptr (GString) all = g_string_new (NULL);
  gboolean fits;

  if (file == NULL)
    return FALSE;
  fits = read_up_to (file, most, all);
  if (!tool_recording_close (file, path, error))
    return FALSE;
  if (!fits)
    {
      g_autofree char *reason = g_strdup_printf ("it has more than %" G_GSIZE_FORMAT " MiB, the most that is read", most >> 20);

      return set_failed (error, path, G_FILE_ERROR_NOMEM, reason);
    }
  *length = all->len;
  *bytes = g_string_free (g_steal_pointer (&all), FALSE);
  return TRUE;
}

gboolean
tool_recording_read_line (FILE *file, GString *line, gsize longest)
{
  int c = EOF;

  g_string_truncate (line, 0);
  while (line->len <= longest && (c = getc_unlocked (file)) != EOF)
    {
      g_string_append_c (line, (char) c);
      if (c == '\n')
        break;
    }
  return line->len > 0;
}

void
tool_recording_skip_line (FILE *file)
{
  int c;

  while ((c = getc_unlocked (file)) != EOF && c != '\n')
    continue;
}
