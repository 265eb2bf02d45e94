/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report on arguments as text. */
#include "config.h"

#include "census/arguments-private.h"

#include <string.h>

/* Places that are named in one line. */
#define MOST_PLACES 8

/* Changes that make one line. */
typedef struct
{
  const MemraArgumentChange *first;
  gboolean same;
  GArray *changes; /* owned: const MemraArgumentChange * */
} Line;

static void
line_free (gpointer line)
{
  g_array_unref (((Line *) line)->changes);
  g_free (line);
}

static char *
dup_subject (const MemraArgumentReport *report, const MemraArgumentChange *change)
{
  const MemraNode *node = _memra_census_node (report->censuses[0], change->node);

  return node->type == MCU_NODE_KERNEL ? g_strdup (report->censuses[0]->kernels[node->record].function->name)
                                       : _memra_type_dup_name (node->type);
}

static void
append_line (GString *text, const MemraArgumentReport *report, const Line *line)
{
  g_autofree char *subject = dup_subject (report, line->first);

  if (line->changes->len == 1)
    {
      g_string_append_printf (text, "%s\n", line->first->message);
      return;
    }
  g_string_append_printf (text, "%s %s: %s%s (%u times, at ", subject, line->first->what, line->first->values,
                          line->same ? "" : ", and the like", line->changes->len);
  for (guint i = 0; i < line->changes->len && i < MOST_PLACES; i++)
    g_string_append_printf (text, "%s%u", i > 0 ? ", " : "",
                            g_array_index (line->changes, const MemraArgumentChange *, i)->node);
  g_string_append (text, line->changes->len > MOST_PLACES ? ", ...)\n" : ")\n");
}

/**
 * memra_argument_report_to_string:
 * @report: a report
 *
 * Writes the report for people, a line for each thing that moved. What moved alike in every repeated layer is written
 * once, with the nodes' places.
 *
 * Returns: (transfer full): the text, empty if nothing moved
 *
 * Since: 0.1
 */
char *
memra_argument_report_to_string (const MemraArgumentReport *report)
{
  g_autoptr (GHashTable) lines = NULL;
  g_autoptr (GPtrArray) order = NULL;
  GString *text;

  g_return_val_if_fail (report != NULL, NULL);

  lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  order = g_ptr_array_new_with_free_func (line_free);
  for (guint i = 0; i < report->changes->len; i++)
    {
      const MemraArgumentChange *change = &g_array_index (report->changes, MemraArgumentChange, i);
      g_autofree char *subject = dup_subject (report, change);
      g_autofree char *pattern = _memra_dup_pattern (change->values);
      g_autofree char *key = g_strdup_printf ("%s %s: %s", subject, change->what, pattern);
      Line *line = g_hash_table_lookup (lines, key);

      if (line == NULL)
        {
          line = g_new (Line, 1);
          *line = (Line){ change, TRUE, g_array_new (FALSE, FALSE, sizeof (const MemraArgumentChange *)) };
          g_ptr_array_add (order, line);
          g_hash_table_insert (lines, g_steal_pointer (&key), line);
        }
      line->same = line->same && strcmp (change->values, line->first->values) == 0;
      g_array_append_val (line->changes, change);
    }

  text = g_string_new (NULL);
  for (guint i = 0; i < order->len; i++)
    append_line (text, report, g_ptr_array_index (order, i));
  return g_string_free (text, FALSE);
}
