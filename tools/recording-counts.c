/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launches per graph, which a process counts in a file while it lives. */
#include "config.h"

#include "recording-private.h"

#include "observe/record-format.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *
dup_counts_path (const ToolProcess *process)
{
  g_autofree char *name = g_strdup_printf ("launches-%s.counts", process->id);

  return g_build_filename (process->directory, name, NULL);
}

void
tool_recording_read_counts (ToolProcess *process)
{
  g_autofree char *path = dup_counts_path (process);
  g_autofree char *bytes = NULL;
  gsize length;

  if (!tool_recording_read (path, &bytes, &length, NULL) || length < RECORD_COUNTS_CHUNK
      || memcmp (bytes, RECORD_COUNTS_MAGIC, strlen (RECORD_COUNTS_MAGIC)) != 0)
    return;
  for (guint i = 0; i < process->graphs->len; i++)
    {
      ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, i);
      gsize at = RECORD_COUNTS_CHUNK + (gsize) (graph->number - 1) * sizeof (guint64);

      if (at + sizeof (guint64) <= length)
        memcpy (&graph->launches, bytes + at, sizeof graph->launches);
    }
}

static gboolean
is_alive (const ToolProcess *process)
{
  return g_strcmp0 (process->host, g_get_host_name ()) == 0 && process->pid > 0
         && (kill ((pid_t) process->pid, 0) == 0 || errno == EPERM);
}

void
tool_recording_settle (GPtrArray *processes)
{
  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);
      g_autofree char *counts = dup_counts_path (process);
      g_autofree char *name = g_strdup_printf ("events-%s.jsonl", process->id);
      g_autofree char *path = g_build_filename (process->directory, name, NULL);
      g_autoptr (GString) lines = g_string_new (NULL);
      FILE *file;
      gboolean written;

      /* Behind an event that was cut off nothing can be added that could be read. */
      if (!process->has_launches || process->truncated || is_alive (process)
          || !g_file_test (counts, G_FILE_TEST_EXISTS))
        continue;
      for (guint k = 0; k < process->graphs->len; k++)
        {
          const ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, k);

          g_string_append_printf (lines, "{\"event\":\"launches\",\"graph\":%u,\"count\":%" G_GUINT64_FORMAT "}\n",
                                  graph->number, graph->launches);
        }
      file = tool_recording_append (path);
      if (file == NULL)
        continue;
      written = fwrite (lines->str, 1, lines->len, file) == lines->len;
      if (fclose (file) == 0 && written)
        unlink (counts);
    }
}
