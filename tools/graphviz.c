/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pictures, drawn by Graphviz. */
#include "config.h"

#include "tool-private.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a run of dot reads and writes: files that are nowhere, so that nobody waits for anybody and nothing is left. */
typedef struct
{
  int in, out, err;
} Streams;

static void
streams_clear (Streams *streams)
{
  const int fds[] = { streams->in, streams->out, streams->err };

  for (gsize i = 0; i < G_N_ELEMENTS (fds); i++)
    if (fds[i] >= 0)
      close (fds[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Streams, streams_clear)

static gboolean
fail (GError **error, const char *what)
{
  int saved = errno;

  g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (saved), "%s: %s", what, g_strerror (saved));
  return FALSE;
}

static gboolean
streams_open (Streams *streams, const char *text, GError **error)
{
  gsize left = strlen (text);
  gssize n;

  streams->in = memfd_create ("dot", MFD_CLOEXEC);
  streams->out = memfd_create ("svg", MFD_CLOEXEC);
  streams->err = memfd_create ("messages", MFD_CLOEXEC);
  if (streams->in < 0 || streams->out < 0 || streams->err < 0)
    return fail (error, "Could not make a file for Graphviz");
  for (; left > 0; text += n, left -= (gsize) n)
    {
      n = write (streams->in, text, left);
      if (n < 0 && errno == EINTR)
        n = 0;
      if (n < 0)
        return fail (error, "Could not write what Graphviz is to draw");
    }
  return lseek (streams->in, 0, SEEK_SET) == 0 || fail (error, "Could not hand over what Graphviz is to draw");
}

static char *
read_all (int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char chunk[65536];
  gssize n;

  if (lseek (fd, 0, SEEK_SET) != 0)
    return g_strdup ("");
  while ((n = read (fd, chunk, sizeof chunk)) != 0)
    if (n > 0)
      g_string_append_len (text, chunk, n);
    else if (errno != EINTR)
      break;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
set_up_child (gpointer data G_GNUC_UNUSED)
{
  tool_output_restore_signals ();
}

/* The status of a child that has ended. deadline != 0: it is ended then, and FALSE is returned. */
static gboolean
await (GPid pid, gint64 deadline, int *status)
{
  gulong pause = 500;
  gboolean in_time = TRUE;
  pid_t answer;

  while ((answer = waitpid (pid, status, WNOHANG)) == 0 || (answer < 0 && errno == EINTR))
    {
      tool_progress ("Graphviz is drawing");
      if (deadline != 0 && in_time && g_get_monotonic_time () >= deadline)
        {
          in_time = FALSE;
          kill (pid, SIGKILL);
        }
      g_usleep (pause);
      pause = MIN (2 * pause, 50000);
    }
  if (answer < 0)
    *status = -1;
  tool_progress_end ();
  g_spawn_close_pid (pid);
  return in_time;
}

char *
tool_graphviz_draw (const char *dot, guint seconds, GError **error)
{
  const gint64 deadline = seconds > 0 ? g_get_monotonic_time () + seconds * G_USEC_PER_SEC : 0;
  g_auto (Streams) streams = { -1, -1, -1 };
  char *argv[] = { (char *) "dot", (char *) "-Tsvg", NULL };
  g_autoptr (GError) reason = NULL;
  g_autofree char *svg = NULL;
  GPid pid;
  int status = -1;

  if (!streams_open (&streams, dot, error))
    return NULL;
  if (!g_spawn_async_with_fds (NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, set_up_child, NULL,
                               &pid, streams.in, streams.out, streams.err, &reason))
    {
      if (g_error_matches (reason, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
        g_set_error_literal (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT, "there is no program 'dot' on PATH");
      else
        g_set_error (error, G_SPAWN_ERROR, reason->code, "Graphviz's dot could not be run: %s", reason->message);
      return NULL;
    }
  if (!await (pid, deadline, &status))
    {
      g_set_error (error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "Graphviz's dot was not done within %u second%s",
                   seconds, seconds == 1 ? "" : "s");
      return NULL;
    }
  svg = read_all (streams.out);
  if (status == 0 && strstr (svg, "<svg") != NULL)
    return g_steal_pointer (&svg);
  else
    {
      g_autofree char *messages = read_all (streams.err);
      char *first = strchr (g_strstrip (messages), '\n');

      if (first != NULL)
        *first = '\0';
      g_set_error (error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "Graphviz's dot drew nothing%s%s",
                   *messages != '\0' ? ": " : "", messages);
      return NULL;
    }
}
