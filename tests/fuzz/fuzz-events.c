/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the recorder leaves in a folder, from any bytes: events up to the first nul byte, counters of launches behind.
 */
#include "config.h"

#include "fuzz.h"

#include "observe/record-format.h"
#include "tools/recording.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

static char *folder, *events, *counts; /* owned; one folder for the life of the process */

static void
remove_folder (void)
{
  g_unlink (events);
  g_unlink (counts);
  g_rmdir (folder);
}

static void
make_folder (void)
{
  g_autoptr (GError) error = NULL;

  folder = g_dir_make_tmp ("memra-fuzz-XXXXXX", &error);
  g_assert_no_error (error);
  events = g_build_filename (folder, "events-7.jsonl", NULL);
  counts = g_build_filename (folder, "launches-7.counts", NULL);
  atexit (remove_folder);
}

static void
write_file (const char *path, const void *bytes, gsize n)
{
  FILE *file = fopen (path, "we");

  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (bytes, 1, n, file), ==, n);
  fclose (file);
}

static void
write_counts (const uint8_t *bytes, gsize n)
{
  g_autofree guint8 *text = g_malloc0 (RECORD_COUNTS_CHUNK + n);

  memcpy (text, RECORD_COUNTS_MAGIC, strlen (RECORD_COUNTS_MAGIC));
  memcpy (text + RECORD_COUNTS_CHUNK, bytes, n);
  write_file (counts, text, RECORD_COUNTS_CHUNK + n);
}

static void
check_words (GHashTable *counts)
{
  GHashTableIter iter;
  gpointer word;

  g_hash_table_iter_init (&iter, counts);
  while (g_hash_table_iter_next (&iter, &word, NULL))
    g_assert_true (g_utf8_validate (word, -1, NULL));
}

/* Everything that is said about it. */
static void
look_at (GPtrArray *processes)
{
  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);
      g_autofree char *name = tool_process_dup_name (process, TRUE);

      g_assert_true (g_utf8_validate (name, -1, NULL));
      check_words (process->hazards);
      check_words (process->refusals);
      for (guint k = 0; k < process->broken->len; k++)
        {
          g_autofree char *sentence = tool_broken_dup_sentence (&g_array_index (process->broken, ToolBroken, k));

          g_assert_true (g_utf8_validate (sentence, -1, NULL));
        }
      for (guint k = 0; k < process->graphs->len; k++)
        {
          const ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, k);

          g_assert_true (graph->census == NULL || strchr (graph->census, '/') == NULL);
        }
    }
}

/* Whoever wants all that can be had gets something of everything, and all of what has no fault. */
static void
read_leniently (const GPtrArray *processes)
{
  g_auto (ToolTroubles) troubles = { 0 };
  g_autoptr (GPtrArray) all = NULL;
  g_autoptr (GError) error = NULL;

  tool_troubles_init (&troubles);
  all = tool_recording_load (folder, NULL, &troubles, &error);
  g_assert_no_error (error);
  look_at (all);
  g_assert_cmpuint (troubles.sentences->len, <=, troubles.count);
  g_assert_cmpint (troubles.count > 0, ==, processes == NULL);
  for (guint i = 0; i < troubles.sentences->len; i++)
    g_assert_true (g_utf8_validate (troubles.sentences->pdata[i], -1, NULL));
  if (processes != NULL)
    g_assert_cmpuint (all->len, ==, processes->len);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const uint8_t *nul = size > 0 ? memchr (data, 0, size) : NULL;
  g_autoptr (GPtrArray) processes = NULL;
  g_autoptr (GError) error = NULL;

  if (folder == NULL)
    make_folder ();
  write_file (events, data, nul != NULL ? (gsize) (nul - data) : size);
  if (nul != NULL)
    write_counts (nul + 1, (gsize) (data + size - nul - 1));
  processes = tool_recording_load (folder, NULL, NULL, &error);
  read_leniently (processes);
  if (processes != NULL)
    {
      g_autoptr (GPtrArray) again = NULL;

      g_assert_no_error (error);
      look_at (processes);
      tool_recording_settle (processes);
      again = tool_recording_load (folder, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (again->len, ==, processes->len);
    }
  else
    g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_unlink (counts);
  return 0;
}
