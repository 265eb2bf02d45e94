/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Command lines, a word to a line. The whole command is run, in a folder with a few files to name, but it has no driver
 * to open and runs no program: what is left is what reads words, and all that a word can be the name of.
 */
#include "config.h"

#include "fuzz.h"

#include "observe/record-format.h"
#include "tools/recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_WORDS   64
#define LONGEST_LINE 16384 /* of a complaint that quotes a word */

typedef struct
{
  const char *name;
  const char *text; /* NULL: the census of fuzz_census_new() */
} File;

/* What command lines can name. */
static const File files[] = {
  { "census", NULL },
  { "policy", "[Policy]\nVersion=1\n[Nodes]\nkernel=1..2\n[Kernels]\n*add*=1\n" },
  { "recording/events-7.jsonl",
    "{\"event\":\"process\",\"format\":\"memra-capture-events\",\"version\":1,\"time_us\":5,\"pid\":7}\n"
    "{\"event\":\"instantiate\",\"graph\":1,\"nodes\":5,\"census\":\"graph-7-1.json\",\"hash\":\"a\"}\n" },
  { "recording/graph-7-1.json", NULL },
  { "recording/graph-8-1.json", NULL },
  { "nonsense", "{\"format\":" },
};

static char *sandbox; /* owned: absolute; below it are lib/ and work/, the current directory of the command */
static int work = -1, outside = -1; /* that, and the one of ours */
static FILE *output;                /* what the command prints */
static GString *complaints;         /* and what it says on standard error */

/* ---- What the command cannot do here ---- */

int __real_dladdr (const void *address, Dl_info *info);
int __wrap_dladdr (const void *address, Dl_info *info);
MemraDriver *__wrap_memra_driver_get_default (GError **error);
MemraDriver *__wrap_memra_driver_open (const char *path, GError **error);

MemraDriver *
__wrap_memra_driver_get_default (GError **error)
{
  return __wrap_memra_driver_open (NULL, error);
}

MemraDriver *
__wrap_memra_driver_open (const char *path G_GNUC_UNUSED, GError **error)
{
  g_set_error_literal (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER, "There is no driver");
  return NULL;
}

/* Beside the library the command finds the recorder: here an empty file, which nobody loads. */
int
__wrap_dladdr (const void *address, Dl_info *info)
{
  static char *library;

  if (address != (const void *) memra_census_load)
    return __real_dladdr (address, info);
  if (library == NULL)
    library = g_build_filename (sandbox, "lib", "libmemra-capture.so", NULL);
  memset (info, 0, sizeof *info);
  info->dli_fname = library;
  return 1;
}

int
tool_run (char **argv, char **environment, gboolean *started)
{
  g_assert_nonnull (argv[0]);
  g_assert_nonnull (g_environ_getenv (environment, RECORD_ENV_DIRECTORY));
  *started = strcmp (argv[0], "nothing-there") != 0;
  return *started ? 0 : 127;
}

/* ---- The folder ---- */

static void
put_file (const char *name, const char *text)
{
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;

  if (text == NULL)
    {
      census = fuzz_census_new ();
      memra_census_save (census, name, &error);
    }
  else
    g_file_set_contents (name, text, -1, &error);
  g_assert_no_error (error);
}

static void
remove_all (const char *path)
{
  g_autoptr (GDir) folder = g_file_test (path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open (path, 0, NULL);
  const char *name;

  while (folder != NULL && (name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *below = g_build_filename (path, name, NULL);

      remove_all (below);
    }
  g_remove (path);
}

/* Whether a path is one of the files, or a folder that one of them lies in. */
static gboolean
is_known (const char *path)
{
  const gsize length = strlen (path);

  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    if (strncmp (files[i].name, path, length) == 0 && (files[i].name[length] == '\0' || files[i].name[length] == '/'))
      return TRUE;
  return FALSE;
}

static void
remove_unknown (const char *path)
{
  g_autoptr (GDir) folder = g_dir_open (path, 0, NULL);
  const char *name;

  g_assert_nonnull (folder);
  while ((name = g_dir_read_name (folder)) != NULL)
    {
      g_autofree char *below = strcmp (path, ".") == 0 ? g_strdup (name) : g_build_filename (path, name, NULL);

      if (!is_known (below))
        remove_all (below);
      else if (g_file_test (below, G_FILE_TEST_IS_DIR))
        remove_unknown (below);
    }
}

/* As it was, whatever a command line has written. */
static void
tidy_up (void)
{
  static gint64 stamps[G_N_ELEMENTS (files)]; /* of the files as they were put there; 0: not yet */

  remove_unknown (".");
  for (gsize i = 0; i < G_N_ELEMENTS (files); i++)
    {
      struct stat info;

      if (stamps[i] == 0 || g_stat (files[i].name, &info) != 0
          || info.st_mtim.tv_sec * G_GINT64_CONSTANT (1000000000) + info.st_mtim.tv_nsec != stamps[i])
        {
          put_file (files[i].name, files[i].text);
          g_assert_cmpint (g_stat (files[i].name, &info), ==, 0);
          stamps[i] = info.st_mtim.tv_sec * G_GINT64_CONSTANT (1000000000) + info.st_mtim.tv_nsec;
        }
    }
}

static void
remove_sandbox (void)
{
  remove_all (sandbox);
}

static void
take_complaint (const char *text)
{
  g_string_append (complaints, text);
}

static void
set_up (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = NULL;
  g_autofree char *library = NULL;
  g_autofree char *recorder = NULL;

  sandbox = g_dir_make_tmp ("memra-fuzz-XXXXXX", &error);
  g_assert_no_error (error);
  atexit (remove_sandbox);
  library = g_build_filename (sandbox, "lib", "memra-capture", NULL);
  recorder = g_build_filename (library, RECORD_LIBRARY, NULL);
  folder = g_build_filename (sandbox, "work", NULL);
  g_assert_cmpint (g_mkdir_with_parents (library, 0700), ==, 0);
  put_file (recorder, "");
  g_assert_cmpint (g_mkdir (folder, 0700), ==, 0);
  outside = open (".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  work = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g_assert_cmpint (fchdir (work), ==, 0);
  g_assert_cmpint (g_mkdir ("recording", 0700), ==, 0);
  tidy_up ();
  g_assert_cmpint (fchdir (outside), ==, 0);

  g_assert_nonnull (freopen ("/dev/null", "r", stdin));
  g_setenv ("PATH", "/nonexistent", TRUE); /* nor does it find Graphviz */
  g_setenv ("LC_ALL", "C.UTF-8", TRUE);
  g_unsetenv ("TERM");
  tool_output_init ();
  complaints = g_string_new (NULL);
  output = fdopen (memfd_create ("output", MFD_CLOEXEC), "w+");
  g_assert_nonnull (output);
}

/* ---- A run ---- */

/* (transfer full) (nullable): words that stay in the folder; NULL if these do not. */
static char **
make_words (const uint8_t *data, size_t size)
{
  g_autofree char *text = g_strndup (size > 0 ? (const char *) data : "", size);
  g_auto (GStrv) words = g_strsplit (text, "\n", MOST_WORDS);

  return strchr (text, '/') != NULL ? NULL : g_steal_pointer (&words);
}

/* What was printed is text without anything that moves a cursor. */
static void
check_output (void)
{
  g_autofree char *text = NULL;
  struct stat info;

  g_assert_cmpint (fflush (output), ==, 0);
  g_assert_cmpint (fstat (fileno (output), &info), ==, 0);
  text = g_malloc ((gsize) info.st_size + 1);
  g_assert_cmpint (pread (fileno (output), text, (gsize) info.st_size, 0), ==, info.st_size);
  text[info.st_size] = '\0';
  g_assert_true (g_utf8_validate_len (text, (gsize) info.st_size, NULL));
  g_assert_null (strchr (text, '\033'));
  rewind (output);
  g_assert_cmpint (ftruncate (fileno (output), 0), ==, 0);
}

static void
check_complaints (int status)
{
  if (status == TOOL_EXIT_TROUBLE)
    g_assert_cmpuint (complaints->len, >, strlen (TOOL_NAME ": "));
  if (complaints->len > 0)
    {
      g_assert_true (g_str_has_prefix (complaints->str, TOOL_NAME ": "));
      g_assert_true (g_str_has_suffix (complaints->str, "\n"));
      g_assert_true (g_utf8_validate (complaints->str, -1, NULL));
      g_assert_null (strchr (complaints->str, '\033'));
      g_assert_cmpuint (complaints->len, <=, LONGEST_LINE);
    }
  g_string_truncate (complaints, 0);
}

static int
run (int argc, char **argv)
{
  FILE *const before = stdout;
  GPrintFunc printerr = g_set_printerr_handler (take_complaint);
  int status;

  g_assert_cmpint (fchdir (work), ==, 0);
  stdout = output;
  status = tool_out_finish (tool_run_command (argc, argv));
  stdout = before;
  g_set_printerr_handler (printerr);
  tidy_up ();
  g_assert_cmpint (fchdir (outside), ==, 0);
  return status;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_auto (GStrv) words = NULL;
  char *argv[MOST_WORDS + 2] = { (char *) TOOL_NAME };
  int argc = 1, status;

  if (size > 4096 || (words = make_words (data, size)) == NULL)
    return 0;
  if (sandbox == NULL)
    set_up ();
  for (char **word = words; *word != NULL; word++)
    argv[argc++] = *word; /* the parser takes them out of here, and they stay ours */
  status = run (argc, argv);
  g_assert_true (status == TOOL_EXIT_OK || status == TOOL_EXIT_DIFFERENT || status == TOOL_EXIT_TROUBLE
                 || status == 127);
  check_output ();
  check_complaints (status);
  return 0;
}
