/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A census for people. */
#include "config.h"

#include "census-private.h"

#include <stdlib.h>
#include <string.h>

static int
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
append_counts (GString *text, const MemraCensus *census)
{
  guint n;
  g_autofree const char **types = (const char **) g_hash_table_get_keys_as_array (census->counts, &n);

  g_string_append_printf (text, "layer %u: %u node%s", census->layer, census->nodes->len, census->nodes->len == 1 ? "" : "s");
  if (census->n_top_level != census->nodes->len)
    g_string_append_printf (text, " (%u at the top level)", census->n_top_level);
  qsort (types, n, sizeof *types, compare_strings);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (text, "%s %s %u", i == 0 ? ":" : ",", types[i], memra_census_get_count (census, types[i]));
  g_string_append_printf (text, "\nedges: normal %u, programmatic %u\n", census->n_normal_edges,
                          census->n_programmatic_edges);
}

/* Lines that are alike become one with their number, in the order in which they first come. */
static void
append_lines (GString *text, const char *title, char *(*describe) (const MemraCensus *, guint),
              const MemraCensus *census, guint n)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal); /* line -> place in `lines`, from 1 */
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray) counts = g_array_new (FALSE, FALSE, sizeof (guint));

  if (n == 0)
    return;
  for (guint i = 0; i < n; i++)
    {
      char *line = describe (census, i);
      guint place = GPOINTER_TO_UINT (g_hash_table_lookup (places, line));

      if (place == 0)
        {
          const guint one = 1;

          g_ptr_array_add (lines, line);
          g_array_append_val (counts, one);
          g_hash_table_insert (places, line, GUINT_TO_POINTER (lines->len));
        }
      else
        {
          g_array_index (counts, guint, place - 1)++;
          g_free (line);
        }
    }
  g_string_append_printf (text, "%s:\n", title);
  for (guint i = 0; i < lines->len; i++)
    g_string_append_printf (text, "  %6u  %s\n", g_array_index (counts, guint, i), (const char *) lines->pdata[i]);
}

static char *
describe_section (const MemraCensus *census, guint index)
{
  const char *section = _memra_census_node (census, index)->section;

  return g_strdup (section != NULL ? section : "(before the first mark)");
}

static char *
describe_kernel (const MemraCensus *census, guint index)
{
  const MemraKernelNode *kernel = &census->kernels[index];

  return g_strdup_printf ("%s  grid %ux%ux%u  block %ux%ux%u  shared %u", kernel->function->demangled, kernel->grid.x,
                          kernel->grid.y, kernel->grid.z, kernel->block.x, kernel->block.y, kernel->block.z,
                          kernel->shared_bytes);
}

static char *
describe_copy (const MemraCensus *census, guint index)
{
  const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, index);

  if (copy->direction == MEMRA_COPY_FILL)
    return g_strdup_printf ("fill  %" G_GUINT64_FORMAT " bytes  with 0x%x", copy->bytes, copy->value);
  return g_strdup_printf ("%s  %" G_GUINT64_FORMAT " bytes", _memra_copy_direction_to_string (copy->direction),
                          copy->bytes);
}

/**
 * memra_census_to_string:
 * @census: a census
 *
 * Describes a census for people: counts of nodes by type in the first line, then edges, sections, kernels with how
 * often and in what shape they are launched, copies and hazards. The same census always gives the same text, but the
 * text is not for programs: see memra_census_to_json(). Any thread.
 *
 * Returns: (transfer full): the text, lines ending in newlines
 *
 * Since: 0.1
 */
char *
memra_census_to_string (const MemraCensus *census)
{
  GString *text;
  gboolean has_sections = FALSE;

  g_return_val_if_fail (census != NULL, NULL);

  text = g_string_new (NULL);
  append_counts (text, census);
  for (guint i = 0; i < census->nodes->len && !has_sections; i++)
    has_sections = _memra_census_node (census, i)->section != NULL;
  if (has_sections)
    append_lines (text, "nodes by section", describe_section, census, census->nodes->len);
  append_lines (text, "kernels", describe_kernel, census, census->n_kernels);
  append_lines (text, "copies", describe_copy, census, census->copies->len);
  for (guint i = 0; i < census->details->len; i++)
    {
      const MemraDetail *detail = &g_array_index (census->details, MemraDetail, i);

      if (detail->from_dump)
        g_string_append_printf (text, "node %u: conditional bodies read from the driver's debug dump\n", detail->node);
    }
  if (census->hazards->len > 0)
    g_string_append (text, "hazards:\n");
  for (guint i = 0; i < census->hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (census->hazards, MemraHazard, i);

      g_string_append_printf (text, "  %s: %s\n", hazard->kind, hazard->message);
    }
  return g_string_free (text, FALSE);
}
