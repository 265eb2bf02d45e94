/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A census as a file, and two of them compared. */
#include "config.h"

#include "census-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One byte more than memra_census_from_json() takes, so that it is the one to refuse. */
#define MAX_FILE ((gsize) 512 * 1024 * 1024 + 1)

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

static gboolean
set_file_error (GError **error, const char *path, int number)
{
  g_autofree char *name = g_filename_display_name (path);

  g_set_error (error, G_FILE_ERROR, (gint) g_file_error_from_errno (number), "Could not read %s: %s", name,
               g_strerror (number));
  return FALSE;
}

gboolean
_memra_read_file (GString *text, const char *path, gsize enough, GError **error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = 0;

  if (fd < 0)
    return set_file_error (error, path, errno);
  do
    {
      gsize old_length = text->len;

      g_string_set_size (text, old_length + 65536);
      do
        n = read (fd, text->str + old_length, 65536);
      while (n < 0 && errno == EINTR);
      g_string_truncate (text, old_length + (gsize) MAX (n, 0));
    }
  while (n > 0 && text->len < enough);
  if (n < 0)
    set_file_error (error, path, errno);
  close (fd);
  return n >= 0;
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
  g_autoptr (GString) text = g_string_new (NULL);
  MemraCensus *census;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!_memra_read_file (text, path, MAX_FILE, error))
    return NULL;
  census = memra_census_from_json (text->str, (gssize) text->len, error);
  if (census == NULL)
    {
      g_autofree char *name = g_filename_display_name (path);

      g_prefix_error (error, "%s: ", name);
    }
  return census;
}
