/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture dot: a picture of a graph, in Graphviz's language or drawn by Graphviz. */
#include "config.h"

#include "tool-private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Graphviz ---- */

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

static int
await (GPid pid)
{
  gulong pause = 500;
  int status = -1;
  pid_t answer;

  while ((answer = waitpid (pid, &status, WNOHANG)) == 0 || (answer < 0 && errno == EINTR))
    {
      tool_progress ("Graphviz is drawing");
      g_usleep (pause);
      pause = MIN (2 * pause, 50000);
    }
  tool_progress_end ();
  g_spawn_close_pid (pid);
  return answer < 0 ? -1 : status;
}

/* (transfer full) (nullable) */
static char *
draw (const char *dot, GError **error)
{
  g_auto (Streams) streams = { -1, -1, -1 };
  char *argv[] = { (char *) "dot", (char *) "-Tsvg", NULL };
  g_autoptr (GError) reason = NULL;
  g_autofree char *svg = NULL;
  GPid pid;
  int status;

  if (!streams_open (&streams, dot, error))
    return NULL;
  if (!g_spawn_async_with_fds (NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, set_up_child, NULL,
                               &pid, streams.in, streams.out, streams.err, &reason))
    {
      if (g_error_matches (reason, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
        g_set_error_literal (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT,
                             "--svg needs Graphviz, and there is no program 'dot' on PATH");
      else
        g_set_error (error, G_SPAWN_ERROR, reason->code, "Graphviz's dot could not be run: %s", reason->message);
      return NULL;
    }
  status = await (pid);
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

/* ---- The command ---- */

static int
complain (const GError *error)
{
  tool_error (g_error_matches (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT)
                  ? "install it; on Debian and Ubuntu: apt-get install graphviz"
                  : NULL,
              "%s", error->message);
  return TOOL_EXIT_TROUBLE;
}

/* In place: it may be a pipe or a device. */
static gboolean
write_file (const char *path, const char *text, GError **error)
{
  g_autofree char *name = g_filename_display_name (path);
  g_autofree char *what = g_strdup_printf ("Could not write %s", name);
  FILE *file = fopen (path, "we");

  if (file == NULL)
    return fail (error, what);
  if (fputs (text, file) < 0)
    {
      fail (error, what);
      fclose (file);
      return FALSE;
    }
  return fclose (file) == 0 || fail (error, what);
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

      text = draw (dot, &error);
      if (text == NULL)
        return complain (error);
    }
  if (output == NULL || strcmp (output, "-") == 0)
    tool_out_json (text);
  else if (!write_file (output, text, &error))
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
