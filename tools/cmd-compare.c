/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memra-capture compare: whether all ranks and all repeats made the same graphs.
 *
 * The n-th graph of one process is held against the n-th of the others. Of a census only its hash is kept, so memory does
 * not grow with the size of graphs; two are in memory while their difference is told.
 */
#include "config.h"

#include "recording.h"

#include <json-glib/json-glib.h>

#include <string.h>

#define MOST_PLACES 10     /* that are told in full */
#define MOST_DIFF_LINES 15 /* of one difference */
#define MOST_NAMES 8

/* A process that takes part. */
typedef struct
{
  const ToolProcess *process; /* borrowed */
  guint family;               /* only members of one family are held against each other */
  const char **hashes;        /* owned array of interned strings, one for each graph */
} Member;

/* Those whose n-th graph is one and the same. */
typedef struct
{
  const char *hash;    /* borrowed; NULL: they have no n-th graph */
  GPtrArray *members;  /* owned: Member, borrowed */
} Variant;

/* One place where members differ. */
typedef struct
{
  guint family;
  guint index;
  GPtrArray *variants; /* owned: Variant, the one that most have first, those without a graph last */
} Place;

typedef struct
{
  GPtrArray *recordings; /* owned: GPtrArray of ToolProcess */
  GPtrArray *members;    /* owned: Member */
  GPtrArray *places;     /* owned: Place */
  GHashTable *canonical; /* owned: checksum of a file's bytes -> hash of the census in it; both owned */
  guint n_families;
  guint n_places; /* also those where all agree */
  gboolean several_directories;
} Comparison;

static void
member_free (gpointer data)
{
  Member *member = data;

  g_free (member->hashes);
  g_free (member);
}

static void
variant_free (gpointer data)
{
  Variant *variant = data;

  g_ptr_array_unref (variant->members);
  g_free (variant);
}

static void
place_free (gpointer data)
{
  Place *place = data;

  g_ptr_array_unref (place->variants);
  g_free (place);
}

static void
comparison_clear (Comparison *comparison)
{
  g_ptr_array_unref (comparison->places);
  g_ptr_array_unref (comparison->members);
  g_ptr_array_unref (comparison->recordings);
  g_hash_table_unref (comparison->canonical);
}

/* ---- Who takes part ---- */

/* Processes without a rank are repeats of each other. Of those with one, the first of each rank are, the second, and so
 * on: a rank may have helpers that make graphs too. */
static void
add_members (Comparison *comparison, GPtrArray *processes)
{
  gint last_rank = -1;
  guint nth = 0;

  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);
      Member *member;

      if (process->graphs->len == 0)
        continue;
      nth = process->rank >= 0 && process->rank == last_rank ? nth + 1 : 0;
      last_rank = process->rank;
      member = g_new0 (Member, 1);
      member->process = process;
      member->family = process->rank >= 0 ? 1 + nth : 0;
      comparison->n_families = MAX (comparison->n_families, member->family + 1);
      g_ptr_array_add (comparison->members, member);
    }
}

static char *
dup_census_path (const Member *member, guint index)
{
  const ToolGraph *graph = &g_array_index (member->process->graphs, ToolGraph, index);

  return g_build_filename (member->process->directory, graph->census, NULL);
}

/* The hash of the census in a file. Of files with the same bytes only one is read as a census. */
static const char *
hash_file (Comparison *comparison, const char *path, GError **error)
{
  g_autofree char *bytes = NULL;
  g_autofree char *checksum = NULL;
  g_autoptr (MemraCensus) census = NULL;
  const char *known;
  gsize length;

  if (!tool_recording_read (path, &bytes, &length, error))
    return NULL;
  checksum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) bytes, length);
  known = g_hash_table_lookup (comparison->canonical, checksum);
  if (known != NULL)
    return known;
  census = memra_census_from_json (bytes, (gssize) length, error);
  if (census == NULL)
    {
      g_autofree char *name = g_filename_display_name (path);

      g_prefix_error (error, "%s: ", name);
      return NULL;
    }
  g_hash_table_insert (comparison->canonical, g_strdup (checksum), memra_census_dup_hash (census));
  return g_hash_table_lookup (comparison->canonical, checksum);
}

static gboolean
hash_member (Comparison *comparison, Member *member, GError **error)
{
  const GArray *graphs = member->process->graphs;

  member->hashes = g_new0 (const char *, graphs->len);
  for (guint i = 0; i < graphs->len; i++)
    {
      const ToolGraph *graph = &g_array_index (graphs, ToolGraph, i);
      g_autofree char *path = NULL;
      const char *hash;

      if (graph->census == NULL)
        {
          g_autofree char *name = tool_process_dup_name (member->process, TRUE);

          g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED, "Graph %u of %s has no census: %s", graph->number,
                       name, graph->error != NULL ? graph->error : "unknown");
          return FALSE;
        }
      path = dup_census_path (member, i);
      hash = hash_file (comparison, path, error);
      if (hash == NULL)
        return FALSE;
      /* Equal hashes of different bytes are the same pointer. */
      member->hashes[i] = g_intern_string (hash);
      tool_progress ("Reading %s", graph->census);
    }
  return TRUE;
}

static gboolean
load (Comparison *comparison, char *const *directories, GError **error)
{
  comparison->several_directories = directories[1] != NULL;
  for (guint i = 0; directories[i] != NULL; i++)
    {
      GPtrArray *processes = tool_recording_load (directories[i], NULL, error);
      guint before = comparison->members->len;

      if (processes == NULL)
        return FALSE;
      g_ptr_array_add (comparison->recordings, processes);
      add_members (comparison, processes);
      if (comparison->members->len == before)
        {
          g_autofree char *name = g_filename_display_name (directories[i]);

          g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "There is no recorded graph in %s", name);
          return FALSE;
        }
    }
  for (guint i = 0; i < comparison->members->len; i++)
    if (!hash_member (comparison, g_ptr_array_index (comparison->members, i), error))
      return FALSE;
  return TRUE;
}

/* ---- Where they differ ---- */

static Variant *
get_variant (Place *place, const char *hash)
{
  Variant *variant;

  for (guint i = 0; i < place->variants->len; i++)
    {
      variant = g_ptr_array_index (place->variants, i);
      if (variant->hash == hash)
        return variant;
    }
  variant = g_new0 (Variant, 1);
  variant->hash = hash;
  variant->members = g_ptr_array_new ();
  g_ptr_array_add (place->variants, variant);
  return variant;
}

/* Of equally many, the one with the first member stays first: the sort is stable. */
static gint
compare_variants (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const Variant *left = *(Variant *const *) a, *right = *(Variant *const *) b;

  if ((left->hash == NULL) != (right->hash == NULL))
    return left->hash == NULL ? 1 : -1;
  return left->members->len == right->members->len ? 0 : left->members->len > right->members->len ? -1 : 1;
}

/* All of a family's n-th graphs, NULL where there is none left. */
static Place *
examine (Comparison *comparison, guint family, guint index)
{
  Place *place = g_new0 (Place, 1);
  gboolean any = FALSE;

  place->family = family;
  place->index = index;
  place->variants = g_ptr_array_new_with_free_func (variant_free);
  for (guint i = 0; i < comparison->members->len; i++)
    {
      Member *member = g_ptr_array_index (comparison->members, i);
      gboolean has = index < member->process->graphs->len;

      if (member->family != family)
        continue;
      any |= has;
      g_ptr_array_add (get_variant (place, has ? member->hashes[index] : NULL)->members, member);
    }
  if (!any)
    {
      place_free (place);
      return NULL;
    }
  g_ptr_array_sort_with_data (place->variants, compare_variants, NULL);
  return place;
}

static void
compare (Comparison *comparison)
{
  for (guint family = 0; family < comparison->n_families; family++)
    for (guint index = 0;; index++)
      {
        Place *place = examine (comparison, family, index);

        if (place == NULL)
          break;
        comparison->n_places++;
        if (place->variants->len > 1)
          g_ptr_array_add (comparison->places, place);
        else
          place_free (place);
      }
}

/* ---- For people ---- */

/* "ranks 0-2, 5", or the names of processes. */
static char *
dup_names (const Comparison *comparison, const GPtrArray *members)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean ranks = !comparison->several_directories;

  for (guint i = 0; i < members->len; i++)
    ranks &= ((const Member *) members->pdata[i])->family == 1;
  if (ranks)
    g_string_append (text, members->len > 1 ? "ranks" : "rank");
  for (guint i = 0, end; ranks && i < members->len; i = end)
    {
      gint first = ((const Member *) members->pdata[i])->process->rank;

      for (end = i + 1; end < members->len
                        && ((const Member *) members->pdata[end])->process->rank == first + (gint) (end - i);)
        end++;
      g_string_append_printf (text, "%s%d", i > 0 ? ", " : " ", first);
      if (end - i > 1)
        g_string_append_printf (text, "-%d", first + (gint) (end - i) - 1);
    }
  for (guint i = 0; !ranks && i < members->len && i < MOST_NAMES; i++)
    {
      const Member *member = members->pdata[i];
      g_autofree char *name = tool_process_dup_name (member->process, FALSE);
      g_autofree char *directory = g_filename_display_name (member->process->directory);

      g_string_append_printf (text, "%s%s", i > 0 ? ", " : "", name);
      if (comparison->several_directories)
        g_string_append_printf (text, " in %s", directory);
    }
  if (!ranks && members->len > MOST_NAMES)
    g_string_append_printf (text, " and %u more", members->len - MOST_NAMES);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
print_indented (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (lines);

  while (n > 0 && *lines[n - 1] == '\0')
    n--;
  for (guint i = 0; i < n && i < MOST_DIFF_LINES; i++)
    tool_out ("    %s\n", lines[i]);
  if (n > MOST_DIFF_LINES)
    tool_out ("    and %u more lines\n", n - MOST_DIFF_LINES);
}

static MemraCensusDiff *
diff_variants (const Place *place, guint variant, char **path_a, char **path_b, GError **error)
{
  const Variant *usual = g_ptr_array_index (place->variants, 0), *odd = g_ptr_array_index (place->variants, variant);
  g_autoptr (MemraCensus) a = NULL;
  g_autoptr (MemraCensus) b = NULL;

  *path_a = dup_census_path (g_ptr_array_index (usual->members, 0), place->index);
  *path_b = dup_census_path (g_ptr_array_index (odd->members, 0), place->index);
  a = memra_census_load (*path_a, error);
  b = a != NULL ? memra_census_load (*path_b, error) : NULL;
  return b != NULL ? memra_census_diff (a, b) : NULL;
}

static gboolean
print_place (const Comparison *comparison, const Place *place, GError **error)
{
  const Variant *usual = g_ptr_array_index (place->variants, 0);
  g_autofree char *names = dup_names (comparison, usual->members);

  tool_out ("\nGraph %u", place->index + 1);
  if (place->family > 1)
    tool_out (" of each rank's process %u", place->family);
  tool_out (": %s %s\n", names, usual->members->len > 1 ? "agree" : "has one");
  for (guint i = 1; i < place->variants->len; i++)
    {
      const Variant *odd = g_ptr_array_index (place->variants, i);
      g_autofree char *odd_names = dup_names (comparison, odd->members);
      g_autofree char *path_a = NULL;
      g_autofree char *path_b = NULL;
      g_autofree char *text = NULL;
      g_autoptr (MemraCensusDiff) diff = NULL;

      if (odd->hash == NULL)
        {
          tool_out_styled (TOOL_STYLE_BAD, "  %s", odd_names);
          tool_out (": no such graph\n");
          continue;
        }
      diff = diff_variants (place, i, &path_a, &path_b, error);
      if (diff == NULL)
        return FALSE;
      text = memra_census_diff_to_string (diff);
      tool_out_styled (TOOL_STYLE_BAD, "  %s", odd_names);
      tool_out (": another one (diff %s %s)\n", path_a, path_b);
      print_indented (text);
    }
  return TRUE;
}

static void
print_totals (const Comparison *comparison)
{
  guint least = G_MAXUINT, most = 0;

  for (guint i = 0; i < comparison->members->len; i++)
    {
      guint n = ((const Member *) comparison->members->pdata[i])->process->graphs->len;

      least = MIN (least, n);
      most = MAX (most, n);
    }
  tool_out ("%u process%s with ", comparison->members->len, comparison->members->len == 1 ? "" : "es");
  if (least == most)
    tool_out ("%u graph%s each", most, most == 1 ? "" : "s");
  else
    tool_out ("%u to %u graphs", least, most);
  if (comparison->members->len == 1)
    tool_out (": there is nothing to compare it with\n");
  else if (comparison->places->len == 0)
    tool_out (": all agree\n");
  else
    tool_out (": %u of %u differ%s\n", comparison->places->len, comparison->n_places,
              comparison->places->len == 1 ? "s" : "");
}

static gboolean
print (const Comparison *comparison, GError **error)
{
  print_totals (comparison);
  for (guint i = 0; i < comparison->places->len && i < MOST_PLACES; i++)
    if (!print_place (comparison, g_ptr_array_index (comparison->places, i), error))
      return FALSE;
  if (comparison->places->len > MOST_PLACES)
    tool_out ("\nand %u more graphs differ\n", comparison->places->len - MOST_PLACES);
  return TRUE;
}

/* ---- As JSON ---- */

static void
add_string (JsonBuilder *builder, const char *name, const char *value)
{
  json_builder_set_member_name (builder, name);
  if (value == NULL)
    json_builder_add_null_value (builder);
  else
    {
      g_autofree char *valid = g_utf8_make_valid (value, -1);

      json_builder_add_string_value (builder, valid);
    }
}

static void
add_int (JsonBuilder *builder, const char *name, gint64 value)
{
  json_builder_set_member_name (builder, name);
  json_builder_add_int_value (builder, value);
}

static void
add_member (JsonBuilder *builder, const Member *member)
{
  json_builder_begin_object (builder);
  add_string (builder, "directory", member->process->directory);
  add_string (builder, "process", member->process->id);
  add_string (builder, "host", member->process->host);
  if (member->process->rank >= 0)
    add_int (builder, "rank", member->process->rank);
  add_int (builder, "graphs", member->process->graphs->len);
  json_builder_end_object (builder);
}

static guint
number_of (const Comparison *comparison, gconstpointer member)
{
  guint index = 0;

  return g_ptr_array_find (comparison->members, member, &index) ? index : G_MAXUINT;
}

static gboolean
add_variant (JsonBuilder *builder, const Comparison *comparison, const Place *place, guint index, GError **error)
{
  const Variant *variant = g_ptr_array_index (place->variants, index);

  json_builder_begin_object (builder);
  add_string (builder, "hash", variant->hash);
  json_builder_set_member_name (builder, "members");
  json_builder_begin_array (builder);
  for (guint i = 0; i < variant->members->len; i++)
    json_builder_add_int_value (builder, number_of (comparison, variant->members->pdata[i]));
  json_builder_end_array (builder);
  if (variant->hash != NULL)
    {
      g_autofree char *path = dup_census_path (g_ptr_array_index (variant->members, 0), place->index);

      add_string (builder, "census", path);
    }
  if (variant->hash != NULL && index > 0)
    {
      g_autofree char *path_a = NULL;
      g_autofree char *path_b = NULL;
      g_autofree char *text = NULL;
      g_autoptr (MemraCensusDiff) diff = diff_variants (place, index, &path_a, &path_b, error);

      if (diff == NULL)
        return FALSE;
      text = memra_census_diff_to_json (diff);
      json_builder_set_member_name (builder, "diff");
      json_builder_add_value (builder, json_from_string (text, NULL));
    }
  json_builder_end_object (builder);
  return TRUE;
}

static gboolean
print_json (const Comparison *comparison, GError **error)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "agree");
  json_builder_add_boolean_value (builder, comparison->places->len == 0);
  add_int (builder, "compared", comparison->n_places);
  json_builder_set_member_name (builder, "processes");
  json_builder_begin_array (builder);
  for (guint i = 0; i < comparison->members->len; i++)
    add_member (builder, g_ptr_array_index (comparison->members, i));
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "differ");
  json_builder_begin_array (builder);
  for (guint i = 0; i < comparison->places->len; i++)
    {
      const Place *place = g_ptr_array_index (comparison->places, i);

      json_builder_begin_object (builder);
      add_int (builder, "graph", place->index + 1);
      add_int (builder, "process_of_rank", MAX (place->family, 1));
      json_builder_set_member_name (builder, "variants");
      json_builder_begin_array (builder);
      for (guint k = 0; k < place->variants->len; k++)
        if (!add_variant (builder, comparison, place, k, error))
          return FALSE;
      json_builder_end_array (builder);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
  return TRUE;
}

int
tool_cmd_compare (const ToolCommand *command, int argc, char **argv)
{
  gboolean json = FALSE;
  g_auto (GStrv) directories = NULL;
  const GOptionEntry entries[] = {
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &json, "print the comparison as JSON", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &directories, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  Comparison comparison = { 0 };
  g_autoptr (GError) error = NULL;
  gboolean success;
  int status;

  if (!tool_parse (command, entries,
                   "DIR is a folder that record wrote. The n-th graph of each process is held\n"
                   "against the n-th of the others: of all ranks if a launcher gave them ranks,\n"
                   "else of all repeats, in one folder or in several.\n"
                   "The exit status is 0 if all agree, 1 if not.\n\n"
                   "  " TOOL_NAME " compare run1 run2",
                   &argc, &argv, &status))
    return status;
  if (directories == NULL)
    return tool_expect_arguments (command, directories, 1) ? TOOL_EXIT_OK : TOOL_EXIT_TROUBLE;

  comparison.recordings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  comparison.members = g_ptr_array_new_with_free_func (member_free);
  comparison.places = g_ptr_array_new_with_free_func (place_free);
  comparison.canonical = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  success = load (&comparison, directories, &error);
  tool_progress_end ();
  if (success)
    {
      compare (&comparison);
      success = json ? print_json (&comparison, &error) : print (&comparison, &error);
    }
  status = !success ? TOOL_EXIT_TROUBLE : comparison.places->len > 0 ? TOOL_EXIT_DIFFERENT : TOOL_EXIT_OK;
  if (!success)
    tool_error (NULL, "%s", error->message);
  comparison_clear (&comparison);
  return status;
}
