/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The differences between two graphs as text and as JSON. */
#include "config.h"

#include "census/diff-graph-private.h"

#include <json-glib/json-glib.h>

/* Places that are named of one kind of change. */
#define MOST_PLACES 8

/* The differences that make one line. */
typedef struct
{
  const MemraDiffEntry *first;
  gboolean same;   /* what changed is the same in all, to the last buffer */
  GArray *entries; /* owned: const MemraDiffEntry * */
} Line;

static void
line_free (gpointer line)
{
  g_array_unref (((Line *) line)->entries);
  g_free (line);
}

static void
append_line (GString *text, const Line *line)
{
  static const char signs[] = "+->~";
  const MemraDiffEntry *first = line->first;

  g_string_append_printf (text, "%c %s", signs[first->change], first->shown);
  if (first->what != NULL)
    g_string_append_printf (text, ": %s%s", first->what, line->same ? "" : ", and the like");
  g_string_append (text, line->entries->len > 1 ? " (" : " (at ");
  if (line->entries->len > 1)
    g_string_append_printf (text, "%u times, at ", line->entries->len);
  for (guint i = 0; i < line->entries->len && i < MOST_PLACES; i++)
    {
      const MemraDiffEntry *entry = g_array_index (line->entries, const MemraDiffEntry *, i);

      g_string_append_printf (text, "%s%u", i > 0 ? ", " : "", entry->a != MEMRA_NO_NODE ? entry->a : entry->b);
      if (entry->change == MEMRA_CHANGE_MOVED)
        g_string_append_printf (text, " -> %u", entry->b);
    }
  g_string_append (text, line->entries->len > MOST_PLACES ? ", ...)\n" : ")\n");
}

/**
 * memra_census_diff_to_string:
 * @diff: differences
 *
 * Writes the differences for people, one line for each kind of change: + added, - removed, > moved, ~ changed. What is
 * the same in every repeated layer is written once, with the places, which are those of the first graph but for added
 * nodes.
 *
 * Returns: (transfer full): the text, empty for equal graphs
 *
 * Since: 0.1
 */
char *
memra_census_diff_to_string (const MemraCensusDiff *diff)
{
  g_autoptr (GHashTable) lines = NULL;
  g_autoptr (GPtrArray) order = NULL;
  GString *text;

  g_return_val_if_fail (diff != NULL, NULL);

  lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  order = g_ptr_array_new_with_free_func (line_free);
  for (guint i = 0; i < diff->entries->len; i++)
    {
      const MemraDiffEntry *entry = &g_array_index (diff->entries, MemraDiffEntry, i);
      g_autofree char *pattern = _memra_dup_pattern (entry->what != NULL ? entry->what : "");
      g_autofree char *key = g_strdup_printf ("%d %s: %s", entry->change, entry->shown, pattern);
      Line *line = g_hash_table_lookup (lines, key);

      if (line == NULL)
        {
          line = g_new (Line, 1);
          *line = (Line){ entry, TRUE, g_array_new (FALSE, FALSE, sizeof (const MemraDiffEntry *)) };
          g_ptr_array_add (order, line);
          g_hash_table_insert (lines, g_steal_pointer (&key), line);
        }
      line->same = line->same && g_strcmp0 (entry->what, line->first->what) == 0;
      g_array_append_val (line->entries, entry);
    }

  text = g_string_new (NULL);
  for (guint i = 0; i < order->len; i++)
    append_line (text, g_ptr_array_index (order, i));
  return g_string_free (text, FALSE);
}

static void
add_place (JsonBuilder *builder, const char *member, guint32 node)
{
  json_builder_set_member_name (builder, member);
  if (node != MEMRA_NO_NODE)
    json_builder_add_int_value (builder, node);
  else
    json_builder_add_null_value (builder);
}

/**
 * memra_census_diff_to_json:
 * @diff: differences
 *
 * Writes the differences as a JSON array of {"a", "b", "change", "message", "name"}, with null for the side that there
 * is not.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
char *
memra_census_diff_to_json (const MemraCensusDiff *diff)
{
  static const char *const words[] = { "added", "removed", "moved", "changed" };
  g_autoptr (JsonBuilder) builder = NULL;
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (diff != NULL, NULL);

  builder = json_builder_new ();
  json_builder_begin_array (builder);
  for (guint i = 0; i < diff->entries->len; i++)
    {
      const MemraDiffEntry *entry = &g_array_index (diff->entries, MemraDiffEntry, i);

      json_builder_begin_object (builder);
      add_place (builder, "a", entry->a);
      add_place (builder, "b", entry->b);
      json_builder_set_member_name (builder, "change");
      json_builder_add_string_value (builder, words[entry->change]);
      json_builder_set_member_name (builder, "message");
      json_builder_add_string_value (builder, entry->message);
      json_builder_set_member_name (builder, "name");
      json_builder_add_string_value (builder, entry->subject);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}
