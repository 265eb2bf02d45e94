/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The census of a graph of somebody else's program. This is an object of its own beside the recorder's: it brings GLib,
 * and is only loaded into a process that has instantiated a graph. It has the reading half of the census room compiled
 * in, under no exported name, so that it never meets a libmemra-capture that the program itself uses.
 */
#include "config.h"

#include "record-private.h"

#include "census/census-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__ ((visibility ("default"))) const RecordCensusModule *memra_record_census (void);

/* The errors of the capture room, which is not part of this object and makes none. */
GQuark
memra_capture_error_quark (void)
{
  return g_quark_from_static_string ("memra-capture-error-quark");
}

gint
memra_capture_error_get_cuda_result (const GError *error G_GNUC_UNUSED)
{
  return 0;
}

/* The program's driver, opened once and for ever; it is loaded, so this only finds it. */
static MemraDriver *
get_driver (const char *path, GError **error)
{
  static GMutex lock;
  static MemraDriver *driver;

  g_mutex_lock (&lock);
  if (driver == NULL)
    driver = memra_driver_open (path, error);
  g_mutex_unlock (&lock);
  return driver;
}

static gboolean
write_all (int fd, const char *bytes, gsize length)
{
  while (length > 0)
    {
      gssize n = write (fd, bytes, length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      bytes += n;
      length -= (gsize) n;
    }
  return TRUE;
}

/* What a process of the same number left there when it was killed, or a pipe or link that somebody has put there, goes. */
static int
make_temporary (const char *path)
{
  unlink (path);
  return open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Aside, then renamed: there is never half a file of that name. */
static gboolean
write_file (const char *text, gsize length, const char *temporary, const char *path, GError **error)
{
  int fd = make_temporary (temporary);
  gboolean success = fd >= 0 && write_all (fd, text, length);
  int saved = errno;

  if (fd >= 0 && close (fd) != 0 && success)
    {
      success = FALSE;
      saved = errno;
    }
  if (success && rename (temporary, path) != 0)
    {
      success = FALSE;
      saved = errno;
    }
  if (success)
    return TRUE;
  if (fd >= 0)
    unlink (temporary);
  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (saved), "Could not write %s: %s", path, g_strerror (saved));
  return FALSE;
}

/* {"kernel":3,"memset":1}; keys need no escapes. */
static void
put_counts (GHashTable *counts, char *text, gsize size)
{
  g_autoptr (GString) json = g_string_new ("{");
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, counts);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_string_append_printf (json, "%s\"%s\":%u", json->len > 1 ? "," : "", (const char *) key, GPOINTER_TO_UINT (value));
  g_string_append_c (json, '}');
  g_strlcpy (text, json->len < size ? json->str : "{}", size);
}

static void
fill_facts (const MemraCensus *census, const char *text, gsize length, RecordCensusFacts *facts)
{
  g_autoptr (GHashTable) hazards = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, (gssize) length);

  for (guint i = 0; i < memra_census_get_n_hazards (census); i++)
    {
      const char *kind = memra_census_get_hazard (census, i, NULL);
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (hazards, kind));

      g_hash_table_insert (hazards, (gpointer) kind, GUINT_TO_POINTER (n + 1));
    }
  facts->nodes = memra_census_get_n_nodes (census);
  facts->kernels = memra_census_get_n_kernel_nodes (census);
  facts->edges = memra_census_get_n_normal_edges (census) + memra_census_get_n_programmatic_edges (census);
  put_counts (memra_census_get_nodes (census), facts->types, sizeof facts->types);
  put_counts (hazards, facts->hazards, sizeof facts->hazards);
  g_strlcpy (facts->hash, hash, sizeof facts->hash);
}

static bool
write_census (const char *driver_path, CUgraph graph, const char *temporary, const char *path, RecordCensusFacts *facts)
{
  g_autoptr (GError) error = NULL;
  MemraDriver *driver = get_driver (driver_path, &error);
  g_autoptr (MemraCensus) census = driver != NULL ? memra_census_new_from_graph (driver, graph, &error) : NULL;
  g_autofree char *text = census != NULL ? memra_census_to_json (census) : NULL;
  gsize length = text != NULL ? strlen (text) : 0;

  if (text != NULL && write_file (text, length, temporary, path, &error))
    {
      fill_facts (census, text, length, facts);
      return true;
    }
  g_strlcpy (facts->error, error != NULL ? error->message : "unknown", sizeof facts->error);
  return false;
}

const RecordCensusModule *
memra_record_census (void)
{
  static const RecordCensusModule module = { RECORD_CENSUS_ABI, write_census };

  return &module;
}
