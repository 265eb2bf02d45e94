/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture record: runs a program and writes down every graph it makes. */
#include "config.h"

#include "recording.h"

#include "observe/record-format.h"

#include <glib/gstdio.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The recorder's object ---- */

/* Where it may lie as seen from the library: installed, also when the whole prefix was moved, and in a build tree. */
static char *
dup_recorder_path (void)
{
  static const char *const places[] = { "memra-capture/" RECORD_LIBRARY, "../observe/.libs/" RECORD_LIBRARY };
  Dl_info library;

  if (dladdr ((void *) memra_census_load, &library) != 0 && library.dli_fname != NULL)
    {
      g_autofree char *directory = g_path_get_dirname (library.dli_fname);

      for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
        {
          g_autofree char *candidate = g_build_filename (directory, places[i], NULL);

          if (g_file_test (candidate, G_FILE_TEST_IS_REGULAR))
            return g_canonicalize_filename (candidate, NULL);
        }
    }
  return g_strdup (MEMRA_RECORDER_DIR "/" RECORD_LIBRARY);
}

static char *
dup_recorder_or_complain (void)
{
  g_autofree char *path = dup_recorder_path ();

  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR))
    {
      tool_error (NULL, "The recorder is not at %s, where the installation should have it", path);
      return NULL;
    }
  /* The dynamic linker takes these for the ends of names. */
  if (strpbrk (path, " :") != NULL)
    {
      tool_error (NULL, "The recorder cannot be loaded from '%s': the path has a space or a colon", path);
      return NULL;
    }
  return g_steal_pointer (&path);
}

/* ---- The folder ---- */

static gboolean
refuse (const char *directory, const char *why)
{
  g_autofree char *name = g_filename_display_name (directory);

  tool_error (NULL, "Could not record into %s: %s", name, why);
  return FALSE;
}

/* Whether files can be made there, and filled. */
static gboolean
try_directory (const char *directory)
{
  g_autofree char *probe = g_build_filename (directory, ".probe-XXXXXX", NULL);
  int fd = g_mkstemp (probe), error;

  if (fd < 0)
    return refuse (directory, g_strerror (errno));
  error = posix_fallocate (fd, 0, RECORD_COUNTS_CHUNK);
  close (fd);
  unlink (probe);
  return error == 0 || error == EINVAL || error == EOPNOTSUPP || refuse (directory, g_strerror (error));
}

/* The folder exists already: somebody may want several runs in one. */
static gboolean
check_directory (const char *directory)
{
  struct stat info;

  if (lstat (directory, &info) != 0)
    return refuse (directory, g_strerror (errno));
  if (S_ISLNK (info.st_mode))
    return refuse (directory, "it is a symbolic link; name the folder that it points to");
  if (!S_ISDIR (info.st_mode))
    return refuse (directory, "it is no directory");
  return try_directory (directory);
}

/* Makes the folder if it is not there. */
static gboolean
prepare_directory (const char *directory, gboolean *made)
{
  g_autofree char *parent = g_path_get_dirname (directory);

  *made = FALSE;
  if (strlen (directory) > RECORD_MAX_DIRECTORY)
    return refuse (directory, "its name is too long");
  if (g_mkdir_with_parents (parent, 0700) != 0)
    return refuse (directory, g_strerror (errno));
  if (g_mkdir (directory, 0700) != 0)
    return errno == EEXIST ? check_directory (directory) : refuse (directory, g_strerror (errno));
  *made = TRUE;
  if (try_directory (directory))
    return TRUE;
  g_rmdir (directory);
  return FALSE;
}

/* A name of its own. */
static char *
dup_default_directory (void)
{
  for (guint i = 1;; i++)
    {
      g_autofree char *name = i == 1 ? g_strdup_printf ("memra-record-%d", (int) getpid ())
                                     : g_strdup_printf ("memra-record-%d.%u", (int) getpid (), i);

      if (!g_file_test (name, G_FILE_TEST_EXISTS) && !g_file_test (name, G_FILE_TEST_IS_SYMLINK))
        return g_canonicalize_filename (name, NULL);
    }
}

/* ---- The program ---- */

/* Unique over time and machines that share the folder. */
static char *
dup_run (void)
{
  return g_strdup_printf ("%.60s-%d-%" G_GINT64_FORMAT, g_get_host_name (), (int) getpid (), g_get_real_time ());
}

static char **
make_environment (const char *recorder, const char *directory, const char *run, gboolean launches, gboolean stacks)
{
  char **environment = g_get_environ ();
  const char *preload = g_environ_getenv (environment, "LD_PRELOAD");
  g_autofree char *both = preload != NULL && *preload != '\0' ? g_strconcat (recorder, ":", preload, NULL) : g_strdup (recorder);
  g_autofree char *options = g_strconcat (launches ? "launches " : "", stacks ? "stacks" : "", NULL);

  if (recorder != NULL)
    environment = g_environ_setenv (environment, "LD_PRELOAD", both, TRUE);
  environment = g_environ_setenv (environment, RECORD_ENV_DIRECTORY, directory, TRUE);
  environment = g_environ_setenv (environment, RECORD_ENV_RUN, run, TRUE);
  return g_environ_setenv (environment, RECORD_ENV_OPTIONS, options, TRUE);
}

typedef struct
{
  char *directory;
  char *policy_path;
  gboolean launches;
  gboolean stacks;
} Options;

static int
record (char **argv, const Options *options, MemraPolicy *policy)
{
  g_autofree char *recorder = dup_recorder_or_complain ();
  g_autofree char *directory = NULL;
  g_autofree char *run = dup_run ();
  g_autofree char *obstacle = NULL;
  g_auto (GStrv) environment = NULL;
  gboolean made, started, harmful;
  int status;

  if (recorder == NULL)
    return TOOL_EXIT_TROUBLE;
  directory = options->directory != NULL ? g_canonicalize_filename (options->directory, NULL) : dup_default_directory ();
  if (!prepare_directory (directory, &made))
    return TOOL_EXIT_TROUBLE;
  obstacle = tool_preload_obstacle (argv[0], &harmful);
  if (obstacle != NULL)
    {
      g_autofree char *name = g_filename_display_name (argv[0]);

      tool_note ("'%s' itself is not recorded: %s%s", name, obstacle,
                 harmful ? "" : "; programs that it starts may be");
    }
  environment = make_environment (obstacle != NULL && harmful ? NULL : recorder, directory, run, options->launches,
                                  options->stacks);
  status = tool_run (argv, environment, &started);
  if (!started)
    {
      if (made)
        g_rmdir (directory);
      return status;
    }
  if (!tool_record_summarise (directory, run, policy) && status == 0)
    return TOOL_EXIT_DIFFERENT;
  return status;
}

int
tool_cmd_record (const ToolCommand *command, int argc, char **argv)
{
  Options options = { 0 };
  const GOptionEntry entries[] = {
    { "output", 'o', G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME, &options.directory, "folder for the record", "DIR" },
    { "launches", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options.launches, "count the launches of each graph", NULL },
    { "stacks", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options.stacks, "note who called, not only for failures", NULL },
    { "check", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME, &options.policy_path, "hold every graph against a policy",
      "POLICY" },
    TOOL_OPTIONS_END,
  };
  g_autoptr (MemraPolicy) policy = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  if (!tool_parse (command, entries,
                   "Runs COMMAND and writes down every CUDA graph that it and its children\n"
                   "make: a census file for each, and what happened in events-PID.jsonl.\n"
                   "The exit status is that of COMMAND; 1 if that was 0 and a graph is not what\n"
                   "POLICY wants; 2 if nothing could be recorded; 126 or 127 if COMMAND could not\n"
                   "be run.\n\n"
                   "  " TOOL_NAME " record -o run1 -- python3 train.py",
                   &argc, &argv, &status))
    status = status == TOOL_EXIT_OK ? TOOL_EXIT_OK : TOOL_EXIT_TROUBLE;
  else
    {
      const int first = argc > 1 && strcmp (argv[1], "--") == 0 ? 2 : 1;
      g_autoptr (GPtrArray) program = g_ptr_array_new ();

      for (int i = first; i < argc; i++)
        g_ptr_array_add (program, argv[i]);
      g_ptr_array_add (program, NULL);
      if (options.policy_path != NULL)
        policy = memra_policy_load (options.policy_path, &error);
      if (program->len < 2)
        {
          tool_error ("see " TOOL_NAME " record --help", "No command to record was given");
          status = TOOL_EXIT_TROUBLE;
        }
      else if (error != NULL)
        {
          tool_error (NULL, "%s", error->message);
          status = TOOL_EXIT_TROUBLE;
        }
      else
        status = record ((char **) program->pdata, &options, policy);
    }
  g_free (options.directory);
  g_free (options.policy_path);
  return status;
}
