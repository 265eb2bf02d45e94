/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A census as a file, and two of them compared. */
#include "config.h"

#include "census-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As much as memra_census_from_json() takes. */
#define MAX_FILE ((gsize) 512 * 1024 * 1024)

/**
 * memra_census_equal:
 * @a: a census
 * @b: another census
 *
 * Says whether two censuses are the same in everything that a census file holds: layer, nodes, edges, sections, kernels
 * with shapes and arguments, copies, hazards, and which of these point at the same allocation. Addresses do not count.
 * Any thread.
 *
 * Returns: %TRUE if they are
 *
 * Since: 0.1
 */
gboolean
memra_census_equal (const MemraCensus *a, const MemraCensus *b)
{
  g_autofree char *text_a = NULL;
  g_autofree char *text_b = NULL;

  g_return_val_if_fail (a != NULL, FALSE);
  g_return_val_if_fail (b != NULL, FALSE);

  if (a == b)
    return TRUE;
  if (a->layer != b->layer || a->nodes->len != b->nodes->len || a->edges->len != b->edges->len
      || a->n_kernels != b->n_kernels || a->copies->len != b->copies->len || a->hazards->len != b->hazards->len)
    return FALSE;
  text_a = memra_census_to_json (a);
  text_b = memra_census_to_json (b);
  return strcmp (text_a, text_b) == 0;
}

/**
 * memra_census_dup_hash:
 * @census: a census
 *
 * Computes the SHA-256 of the canonical JSON. Equal censuses have equal hashes, on every driver. Any thread.
 *
 * Returns: (transfer full): 64 hexadecimal digits
 *
 * Since: 0.1
 */
char *
memra_census_dup_hash (const MemraCensus *census)
{
  g_autofree char *text = NULL;

  g_return_val_if_fail (census != NULL, NULL);

  text = memra_census_to_json (census);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
}

/**
 * memra_census_save:
 * @census: a census
 * @path: (type filename): a file
 * @error: return location for an error
 *
 * Writes a census file: memra_census_to_json() aside, then renamed to @path, so that there is never half a file.
 * Errors: %G_FILE_ERROR. Any thread; makes no driver call.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_census_save (const MemraCensus *census, const char *path, GError **error)
{
  g_autofree char *text = NULL;

  g_return_val_if_fail (census != NULL, FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  text = memra_census_to_json (census);
  return g_file_set_contents (path, text, -1, error);
}

static void
set_file_error (GError **error, const char *path, int number)
{
  g_autofree char *name = g_filename_display_name (path);

  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (number), "Could not read %s: %s", name,
               g_strerror (number));
}

/* Reads on until the end, or until there is more than `most`. */
static gboolean
read_all (GString *text, int fd, gsize most)
{
  gssize n;

  do
    {
      gsize old_length = text->len;

      g_string_set_size (text, old_length + 65536);
      do
        n = read (fd, text->str + old_length, 65536);
      while (n < 0 && errno == EINTR);
      g_string_truncate (text, old_length + (gsize) MAX (n, 0));
    }
  while (n > 0 && text->len <= most);
  return n >= 0;
}

GString *
_memra_read_file (const char *path, gsize most, MemraCensusError too_long, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  gboolean long_file;
  struct stat status;

  if (fd < 0)
    {
      set_file_error (error, path, errno);
      return NULL;
    }
  long_file = fstat (fd, &status) == 0 && S_ISREG (status.st_mode) && (guint64) status.st_size > most;
  if (!long_file && !read_all (text, fd, most))
    {
      set_file_error (error, path, errno);
      close (fd);
      return NULL;
    }
  close (fd);
  if (long_file || text->len > most)
    {
      g_autofree char *name = g_filename_display_name (path);

      g_set_error (error, MEMRA_CENSUS_ERROR, (gint) too_long, "%s: the file has more than %" G_GSIZE_FORMAT " MiB, the most that is read",
                   name, most >> 20);
      return NULL;
    }
  return g_steal_pointer (&text);
}

/**
 * memra_census_load:
 * @path: (type filename): a census file, or a pipe
 * @error: return location for an error
 *
 * Reads a census file. A loaded census equals the one that was saved; what it lacks are addresses, so it cannot be used
 * to check whether allocations still live.
 *
 * Errors: %G_FILE_ERROR if the file cannot be read, else as memra_census_from_json(), with the file's name before them.
 * Any thread; makes no driver call.
 *
 * Returns: (transfer full): the census
 *
 * Since: 0.1
 */
MemraCensus *
memra_census_load (const char *path, GError **error)
{
  g_autoptr (GString) text = NULL;
  MemraCensus *census;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  text = _memra_read_file (path, MAX_FILE, MEMRA_CENSUS_ERROR_FORMAT, error);
  if (text == NULL)
    return NULL;
  census = memra_census_from_json (text->str, (gssize) text->len, error);
  if (census == NULL)
    {
      g_autofree char *name = g_filename_display_name (path);

      g_prefix_error (error, "%s: ", name);
    }
  return census;
}
