/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Standard output and standard error: styles, character sets, closed pipes, progress. */
#include "config.h"

#include "tool-private.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH       80
#define LABEL_WIDTH 10

static int output_errno; /* the first failed write, 0: none */
static gboolean colour;
static gboolean progress_possible;
static gboolean progress_visible;
static gint64 program_start;
static gint64 progress_last;
static void (*sigpipe_before) (int) = SIG_DFL;
static void (*sigxfsz_before) (int) = SIG_DFL;

static gboolean
terminal_obeys (int fd)
{
  const char *term = g_getenv ("TERM");

  return isatty (fd) && term != NULL && strcmp (term, "dumb") != 0;
}

void
tool_output_init (void)
{
  const char *no_color = g_getenv ("NO_COLOR");

  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C"); /* figures look the same everywhere */
  sigpipe_before = signal (SIGPIPE, SIG_IGN); /* a reader that went away shows as EPIPE */
  sigxfsz_before = signal (SIGXFSZ, SIG_IGN); /* and a limit on the size of files as EFBIG */
  g_log_writer_default_set_use_stderr (TRUE);
  colour = terminal_obeys (STDOUT_FILENO) && (no_color == NULL || *no_color == '\0');
  program_start = g_get_monotonic_time ();
  progress_possible = terminal_obeys (STDERR_FILENO);
}

void
tool_output_restore_signals (void)
{
  signal (SIGPIPE, sigpipe_before);
  signal (SIGXFSZ, sigxfsz_before);
}

static void
write_bytes (const char *bytes, gsize length)
{
  if (output_errno == 0 && length > 0 && fwrite (bytes, 1, length, stdout) != length)
    output_errno = errno;
}

static void
hide_progress (void)
{
  if (progress_visible)
    fputs ("\r\033[K", stderr);
  progress_visible = FALSE;
}

void
tool_out_text (const char *text)
{
  g_autofree char *visible = tool_text_dup_visible (text);
  g_autofree char *local = NULL;
  const char *charset;

  hide_progress ();
  if (!g_get_charset (&charset))
    local = g_convert_with_fallback (visible, -1, charset, "UTF-8", "?", NULL, NULL, NULL);
  write_bytes (local != NULL ? local : visible, strlen (local != NULL ? local : visible));
}

void
tool_out (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tool_out_text (text);
}

void
tool_out_styled (ToolStyle style, const char *format, ...)
{
  static const char *const codes[] = {
    [TOOL_STYLE_PLAIN] = "",         [TOOL_STYLE_HEADING] = "\033[1m", [TOOL_STYLE_GOOD] = "\033[32m",
    [TOOL_STYLE_BAD] = "\033[1;31m", [TOOL_STYLE_DIM] = "\033[2m",
  };
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  if (colour && style != TOOL_STYLE_PLAIN)
    write_bytes (codes[style], strlen (codes[style]));
  tool_out_text (text);
  if (colour && style != TOOL_STYLE_PLAIN)
    write_bytes ("\033[0m", 4);
}

void
tool_out_label (const char *label)
{
  tool_out_styled (*label != '\0' ? TOOL_STYLE_HEADING : TOOL_STYLE_PLAIN, "%-*s", LABEL_WIDTH, label);
}

void
tool_out_paragraph (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  glong column = 0;

  for (guint i = 0; words[i] != NULL; i++)
    {
      const glong width = g_utf8_strlen (words[i], -1);

      if (column > 0 && column + 1 + width > WIDTH - LABEL_WIDTH)
        {
          tool_out ("\n");
          tool_out_label ("");
          column = 0;
        }
      tool_out ("%s%s", column > 0 ? " " : "", words[i]);
      column += (column > 0) + width;
    }
  tool_out ("\n");
}

void
tool_out_json (const char *text)
{
  gsize length = strlen (text);

  hide_progress ();
  write_bytes (text, length);
  if (length == 0 || text[length - 1] != '\n')
    write_bytes ("\n", 1);
}

void
tool_out_flush (void)
{
  if (fflush (stdout) != 0 && output_errno == 0)
    output_errno = errno;
}

int
tool_out_finish (int status)
{
  tool_progress_end ();
  tool_out_flush ();
  if (output_errno == 0 || output_errno == EPIPE)
    return status;
  tool_error (NULL, "Could not write to standard output: %s", g_strerror (output_errno));
  return TOOL_EXIT_TROUBLE;
}

static void
complain (const char *hint, const char *format, va_list arguments)
{
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  g_autofree char *visible = tool_text_dup_visible (text);

  hide_progress ();
  tool_out_flush ();
  if (hint != NULL)
    g_printerr (TOOL_NAME ": %s (%s)\n", visible, hint);
  else
    g_printerr (TOOL_NAME ": %s\n", visible);
}

void
tool_error (const char *hint, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  complain (hint, format, arguments);
  va_end (arguments);
}

void
tool_note (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  complain (NULL, format, arguments);
  va_end (arguments);
}

void
tool_progress (const char *format, ...)
{
  gint64 now;
  va_list arguments;

  if (!progress_possible)
    return;
  now = g_get_monotonic_time ();
  if (now - program_start < G_USEC_PER_SEC || now - progress_last < G_USEC_PER_SEC / 10)
    return;

  tool_out_flush ();
  fputs ("\r\033[K", stderr);
  va_start (arguments, format);
  vfprintf (stderr, format, arguments);
  va_end (arguments);
  fflush (stderr);
  progress_last = now;
  progress_visible = TRUE;
}

void
tool_progress_end (void)
{
  hide_progress ();
  fflush (stderr);
}
