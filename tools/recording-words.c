/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was read from a recorder's folder, in words. */
#include "config.h"

#include "recording.h"

#include <string.h>

char *
tool_process_dup_name (const ToolProcess *process, gboolean with_host)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (process->rank >= 0)
    g_string_append_printf (text, "rank %d (process %s", process->rank, process->id);
  else
    g_string_append_printf (text, "process %s", process->id);
  if (with_host && process->host != NULL)
    g_string_append_printf (text, " of %s", process->host);
  if (process->rank >= 0)
    g_string_append_c (text, ')');
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
tool_broken_dup_sentence (const ToolBroken *broken)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (broken->function != NULL)
    g_string_append_printf (text, "broken by %s (%d", broken->function, broken->result);
  else
    g_string_append_printf (text, "broken by a call that was not seen (the end answered %d", broken->result);
  g_string_append_printf (text, "%s%s)", broken->result_name != NULL ? ", " : "",
                          broken->result_name != NULL ? broken->result_name : "");
  if (broken->caller != NULL && broken->function != NULL)
    g_string_append_printf (text, ", called from %s", broken->caller);
  if (broken->other_thread)
    g_string_append (text, ", on another thread");
  if (broken->after != NULL)
    g_string_append_printf (text, ", after %s", broken->after);
  if (broken->reason != NULL)
    g_string_append_printf (text, " (the driver: %s)", broken->reason);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- Counts ---- */

void
tool_count (GHashTable *counts, const char *what, guint n)
{
  guint before = GPOINTER_TO_UINT (g_hash_table_lookup (counts, what));

  g_hash_table_insert (counts, g_strdup (what), GUINT_TO_POINTER (n <= G_MAXUINT - before ? before + n : G_MAXUINT));
}

static gint
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
tool_counts_get_keys (GHashTable *counts)
{
  GPtrArray *keys = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, counts);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_ptr_array_add (keys, key);
  g_ptr_array_sort (keys, compare_strings);
  return keys;
}

char *
tool_counts_dup_text (GHashTable *counts)
{
  g_autoptr (GPtrArray) keys = tool_counts_get_keys (counts);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < keys->len; i++)
    g_string_append_printf (text, "%s%u %s", i > 0 ? ", " : "",
                            GPOINTER_TO_UINT (g_hash_table_lookup (counts, keys->pdata[i])),
                            (const char *) keys->pdata[i]);
  return g_string_free (g_steal_pointer (&text), FALSE);
}
