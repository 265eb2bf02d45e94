/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that is to be recorded, from any bytes: an ELF file or a script, which may name itself. */
#include "config.h"

#include "fuzz.h"

#include "tools/recording.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder; /* owned; one for the life of the process */
static int inside, outside;

static void
remove_folder (void)
{
  g_autofree char *path = g_build_filename (folder, "program", NULL);

  g_unlink (path);
  g_rmdir (folder);
}

static void
make_folder (void)
{
  g_autoptr (GError) error = NULL;

  folder = g_dir_make_tmp ("memra-fuzz-XXXXXX", &error);
  g_assert_no_error (error);
  atexit (remove_folder);
  outside = open (".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  inside = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_setenv ("PATH", folder, TRUE);
}

static void
write_program (const uint8_t *data, size_t size)
{
  int fd = open ("program", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

  g_assert_cmpint (write (fd, data, size), ==, (gssize) size);
  close (fd);
}

/* A script can name any program of the machine; here only those that lie beside it. */
static gboolean
leads_outside (const uint8_t *data, size_t size)
{
  const uint8_t *end = size > 0 ? memchr (data, '\n', size) : NULL;
  size_t length = end != NULL ? (size_t) (end - data) : size;

  return size > 2 && data[0] == '#' && data[1] == '!' && memchr (data, '/', length) != NULL;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *obstacle = NULL;
  gboolean harmful = TRUE;

  if (leads_outside (data, size))
    return 0;
  if (folder == NULL)
    make_folder ();
  g_assert_cmpint (fchdir (inside), ==, 0);
  write_program (data, size);
  obstacle = tool_preload_obstacle ("./program", &harmful);
  g_assert_cmpint (fchdir (outside), ==, 0);
  g_assert_true (obstacle == NULL || g_str_has_prefix (obstacle, "it "));
  g_assert_true (obstacle != NULL || !harmful);
  return 0;
}
