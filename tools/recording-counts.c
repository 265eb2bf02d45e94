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

/* Each counter by itself: the file may be of any size, and most of it holes. */
void
tool_recording_read_counts (ToolProcess *process)
{
  g_autofree char *path = dup_counts_path (process);
  FILE *file = tool_recording_open (path, NULL);
  char magic[sizeof RECORD_COUNTS_MAGIC - 1];

  if (file == NULL)
    return;
  if (pread (fileno (file), magic, sizeof magic, 0) == sizeof magic
      && memcmp (magic, RECORD_COUNTS_MAGIC, sizeof magic) == 0)
    for (guint i = 0; i < process->graphs->len; i++)
      {
        ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, i);
        const off_t at = RECORD_COUNTS_CHUNK + (off_t) (graph->number - 1) * (off_t) sizeof (guint64);
        guint64 launches;

        if (pread (fileno (file), &launches, sizeof launches, at) == sizeof launches)
          graph->launches = launches;
      }
  fclose (file);
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
