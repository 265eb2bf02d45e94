/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which of a recorder's graphs are the same one. Of a census only its hash is kept, so memory does not grow with the
 * size of graphs. */
#include "config.h"

#include "recording.h"

char *
tool_graph_dup_path (const ToolProcess *process, const ToolGraph *graph)
{
  return g_build_filename (process->directory, graph->census, NULL);
}

static MemraCensus *
parse (const char *path, const char *bytes, gsize length, GError **error)
{
  MemraCensus *census = memra_census_from_json (bytes, (gssize) length, error);

  if (census == NULL)
    {
      g_autofree char *name = g_filename_display_name (path);

      g_prefix_error (error, "%s: ", name);
    }
  return census;
}

MemraCensus *
tool_graph_load (const ToolProcess *process, const ToolGraph *graph, GError **error)
{
  g_autofree char *path = tool_graph_dup_path (process, graph);
  g_autofree char *bytes = NULL;
  gsize length;

  return tool_recording_read (path, TOOL_LARGEST_CENSUS, &bytes, &length, error) ? parse (path, bytes, length, error) : NULL;
}

/* The hash of the census in a file. Of files with the same bytes only one is read as a census: `known` has checksums of
 * bytes -> hashes, interned. */
static const char *
hash_file (GHashTable *known, const char *path, GError **error)
{
  g_autofree char *bytes = NULL;
  g_autofree char *checksum = NULL;
  g_autofree char *hash = NULL;
  g_autoptr (MemraCensus) census = NULL;
  const char *identity;
  gsize length;

  if (!tool_recording_read (path, TOOL_LARGEST_CENSUS, &bytes, &length, error))
    return NULL;
  checksum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) bytes, length);
  identity = g_hash_table_lookup (known, checksum);
  if (identity != NULL)
    return identity;
  census = parse (path, bytes, length, error);
  if (census == NULL)
    return NULL;
  hash = memra_census_dup_hash (census);
  /* Equal hashes of different bytes are the same pointer. */
  identity = g_intern_string (hash);
  g_hash_table_insert (known, g_steal_pointer (&checksum), (gpointer) identity);
  return identity;
}

static const char *
identify (GHashTable *known, const ToolProcess *process, const ToolGraph *graph, GError **error)
{
  g_autofree char *path = NULL;

  if (graph->census == NULL)
    {
      g_autofree char *name = tool_process_dup_name (process, TRUE);

      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED, "Graph %u of %s has no census: %s",
                   graph->number, name, graph->error != NULL ? graph->error : "unknown");
      return NULL;
    }
  tool_progress ("Reading %s", graph->census);
  path = tool_graph_dup_path (process, graph);
  return hash_file (known, path, error);
}

gboolean
tool_recording_identify (GPtrArray *processes, ToolTroubles *troubles, GError **error)
{
  g_autoptr (GHashTable) known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = g_ptr_array_index (processes, i);

      for (guint k = 0; k < process->graphs->len; k++)
        {
          ToolGraph *graph = &g_array_index (process->graphs, ToolGraph, k);
          g_autoptr (GError) reason = NULL;

          graph->identity = identify (known, process, graph, &reason);
          if (reason == NULL)
            continue;
          if (troubles == NULL)
            {
              g_propagate_error (error, g_steal_pointer (&reason));
              return FALSE;
            }
          if (graph->error == NULL)
            graph->error = g_utf8_make_valid (reason->message, -1);
          tool_troubles_add (troubles, reason);
        }
    }
  return TRUE;
}
