/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* main() of a fuzz target without a fuzzer: replays the files and folders given, as the fuzzer's own main() does. */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>

static gboolean
replay_file (const char *path)
{
  g_autofree char *bytes = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree uint8_t *copy = NULL;
  gsize size;

  if (!g_file_get_contents (path, &bytes, &size, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return FALSE;
    }
  fprintf (stderr, "Running: %s\n", path);
  /* Of exactly this size, as the fuzzer hands it out: a sanitizer sees a byte read behind it. */
  copy = g_memdup2 (bytes, size);
  LLVMFuzzerTestOneInput (copy, size);
  return TRUE;
}

static gboolean
replay (const char *path)
{
  g_autoptr (GDir) folder = NULL;
  const char *name;
  gboolean ok = TRUE;

  if (!g_file_test (path, G_FILE_TEST_IS_DIR))
    return replay_file (path);
  folder = g_dir_open (path, 0, NULL);
  if (folder == NULL)
    return FALSE;
  while ((name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);

      ok = replay_file (file) && ok;
    }
  return ok;
}

int
main (int argc, char **argv)
{
  gboolean ok = TRUE;

  LLVMFuzzerInitialize (&argc, &argv);
  for (int i = 1; i < argc; i++)
    ok = replay (argv[i]) && ok;
  return ok ? 0 : 1;
}
