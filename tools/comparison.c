/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether all ranks and all repeats made the same graphs. */
#include "config.h"

#include "comparison.h"

#define MOST_NAMES 8

static void
variant_free (gpointer data)
{
  ToolVariant *variant = data;

  g_ptr_array_unref (variant->members);
  g_free (variant);
}

static void
place_free (gpointer data)
{
  ToolPlace *place = data;

  g_ptr_array_unref (place->variants);
  g_free (place);
}

void
tool_comparison_init (ToolComparison *comparison)
{
  *comparison = (ToolComparison){ 0 };
  comparison->recordings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  comparison->members = g_ptr_array_new_with_free_func (g_free);
  comparison->places = g_ptr_array_new_with_free_func (place_free);
}

void
tool_comparison_clear (ToolComparison *comparison)
{
  g_ptr_array_unref (comparison->places);
  g_ptr_array_unref (comparison->members);
  g_ptr_array_unref (comparison->recordings);
}

/* ---- Who takes part ---- */

/* Processes without a rank are repeats of each other. Of those with one, the first of each rank are, the second, and so
 * on: a rank may have helpers that make graphs too. */
guint
tool_comparison_add (ToolComparison *comparison, GPtrArray *processes)
{
  const guint before = comparison->members->len;
  gint last_rank = -1;
  guint nth = 0;

  g_ptr_array_add (comparison->recordings, g_ptr_array_ref (processes));
  comparison->n_directories++;
  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);
      ToolMember *member;

      if (process->graphs->len == 0)
        continue;
      nth = process->rank >= 0 && process->rank == last_rank ? nth + 1 : 0;
      last_rank = process->rank;
      member = g_new0 (ToolMember, 1);
      member->process = process;
      member->family = process->rank >= 0 ? 1 + nth : 0;
      comparison->n_families = MAX (comparison->n_families, member->family + 1);
      g_ptr_array_add (comparison->members, member);
    }
  return comparison->members->len - before;
}

const ToolGraph *
tool_member_get_graph (const ToolMember *member, guint index)
{
  return &g_array_index (member->process->graphs, ToolGraph, index);
}

/* ---- Where they differ ---- */

static ToolVariant *
get_variant (ToolPlace *place, gboolean absent, const char *identity)
{
  ToolVariant *variant;

  for (guint i = 0; i < place->variants->len; i++)
    {
      variant = g_ptr_array_index (place->variants, i);
      if (variant->absent == absent && variant->identity == identity)
        return variant;
    }
  variant = g_new0 (ToolVariant, 1);
  variant->absent = absent;
  variant->identity = identity;
  variant->members = g_ptr_array_new ();
  g_ptr_array_add (place->variants, variant);
  return variant;
}

/* What can be read comes first. Of equally many, the one with the first member stays first: the sort is stable. */
static gint
compare_variants (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const ToolVariant *left = *(ToolVariant *const *) a, *right = *(ToolVariant *const *) b;

  if (left->absent != right->absent)
    return left->absent ? 1 : -1;
  if ((left->identity == NULL) != (right->identity == NULL))
    return left->identity == NULL ? 1 : -1;
  return left->members->len == right->members->len ? 0 : left->members->len > right->members->len ? -1 : 1;
}

/* All of a family's n-th graphs, NULL where there is none left. */
static ToolPlace *
examine (ToolComparison *comparison, guint family, guint index)
{
  ToolPlace *place = g_new0 (ToolPlace, 1);
  gboolean any = FALSE;

  place->family = family;
  place->index = index;
  place->variants = g_ptr_array_new_with_free_func (variant_free);
  for (guint i = 0; i < comparison->members->len; i++)
    {
      ToolMember *member = g_ptr_array_index (comparison->members, i);
      gboolean has = index < member->process->graphs->len;

      if (member->family != family)
        continue;
      any |= has;
      g_ptr_array_add (get_variant (place, !has, has ? tool_member_get_graph (member, index)->identity : NULL)->members,
                       member);
    }
  if (!any)
    {
      place_free (place);
      return NULL;
    }
  g_ptr_array_sort_with_data (place->variants, compare_variants, NULL);
  return place;
}

static gboolean
has_unread (const ToolPlace *place)
{
  for (guint i = 0; i < place->variants->len; i++)
    {
      const ToolVariant *variant = g_ptr_array_index (place->variants, i);

      if (!variant->absent && variant->identity == NULL)
        return TRUE;
    }
  return FALSE;
}

void
tool_comparison_compare (ToolComparison *comparison)
{
  for (guint family = 0; family < comparison->n_families; family++)
    for (guint index = 0;; index++)
      {
        ToolPlace *place = examine (comparison, family, index);

        if (place == NULL)
          break;
        comparison->n_places++;
        comparison->n_unread += has_unread (place);
        if (place->variants->len > 1 || has_unread (place))
          g_ptr_array_add (comparison->places, place);
        else
          place_free (place);
      }
}

/* ---- Words ---- */

char *
tool_comparison_dup_names (const ToolComparison *comparison, const GPtrArray *members)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean ranks = comparison->n_directories <= 1;

  for (guint i = 0; i < members->len; i++)
    ranks &= ((const ToolMember *) members->pdata[i])->family == 1;
  if (ranks)
    g_string_append (text, members->len > 1 ? "ranks" : "rank");
  for (guint i = 0, end; ranks && i < members->len; i = end)
    {
      gint first = ((const ToolMember *) members->pdata[i])->process->rank;

      for (end = i + 1;
           end < members->len && ((const ToolMember *) members->pdata[end])->process->rank == first + (gint) (end - i);)
        end++;
      g_string_append_printf (text, "%s%d", i > 0 ? ", " : " ", first);
      if (end - i > 1)
        g_string_append_printf (text, "-%d", first + (gint) (end - i) - 1);
    }
  for (guint i = 0; !ranks && i < members->len && i < MOST_NAMES; i++)
    {
      const ToolMember *member = members->pdata[i];
      g_autofree char *name = tool_process_dup_name (member->process, FALSE);
      g_autofree char *directory = g_filename_display_name (member->process->directory);

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", name);
      if (comparison->n_directories > 1)
        g_string_append_printf (text, " in %s", directory);
    }
  if (!ranks && members->len > MOST_NAMES)
    g_string_append_printf (text, " and %u more", members->len - MOST_NAMES);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
tool_comparison_dup_verdict (const ToolComparison *comparison)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint least = G_MAXUINT, most = 0;

  for (guint i = 0; i < comparison->members->len; i++)
    {
      guint n = ((const ToolMember *) comparison->members->pdata[i])->process->graphs->len;

      least = MIN (least, n);
      most = MAX (most, n);
    }
  g_string_append_printf (text, "%u process%s with ", comparison->members->len,
                          comparison->members->len == 1 ? "" : "es");
  if (least == most)
    g_string_append_printf (text, "%u graph%s each", most, most == 1 ? "" : "s");
  else
    g_string_append_printf (text, "%u to %u graphs", least, most);
  if (comparison->members->len == 1)
    g_string_append (text, ": there is nothing to compare it with");
  else if (comparison->places->len == 0)
    g_string_append (text, ": all agree");
  else
    g_string_append_printf (text, ": %u of %u differ%s%s", comparison->places->len, comparison->n_places,
                            comparison->places->len == 1 ? "s" : "",
                            comparison->n_unread > 0 ? " or cannot be read" : "");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

MemraCensusDiff *
tool_place_diff (const ToolPlace *place, guint variant, GError **error)
{
  const ToolVariant *usual = g_ptr_array_index (place->variants, 0),
                    *odd = g_ptr_array_index (place->variants, variant);
  const ToolMember *left = g_ptr_array_index (usual->members, 0), *right = g_ptr_array_index (odd->members, 0);
  g_autoptr (MemraCensus) a = tool_graph_load (left->process, tool_member_get_graph (left, place->index), error);
  g_autoptr (MemraCensus) b
      = a != NULL ? tool_graph_load (right->process, tool_member_get_graph (right, place->index), error) : NULL;

  return b != NULL ? memra_census_diff (a, b) : NULL;
}
