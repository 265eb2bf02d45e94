/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running a program as if we were not there. */
#include "config.h"

#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What somebody may send us and mean the program. */
static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };

static volatile sig_atomic_t child_pid;

/* A terminal's signals go to the whole foreground group and so to the program as well; what a process sends to us is for
 * it. What it sends to us itself is not. */
static void
pass_on (int number, siginfo_t *info, void *context G_GNUC_UNUSED)
{
  int saved = errno;

  if (child_pid > 0 && info->si_code <= 0 && info->si_pid != child_pid)
    kill ((pid_t) child_pid, number);
  errno = saved;
}

static void
install_handlers (struct sigaction *old)
{
  struct sigaction action;

  memset (&action, 0, sizeof action);
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset (&action.sa_mask);
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    {
      sigaction (signals[i], NULL, &old[i]);
      /* What is ignored, as under nohup, stays ignored, for us and for the program. */
      if (old[i].sa_handler != SIG_IGN)
        sigaction (signals[i], &action, NULL);
    }
}

static void
restore_handlers (const struct sigaction *old)
{
  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    sigaction (signals[i], &old[i], NULL);
}

/* In the child; only returns to report. */
static void
become (char **argv, char **environment, const sigset_t *mask, const struct sigaction *old, int report)
{
  int error;

  restore_handlers (old);
  tool_output_restore_signals ();
  sigprocmask (SIG_SETMASK, mask, NULL);
  execvpe (argv[0], argv, environment);
  error = errno;
  if (write (report, &error, sizeof error) < 0)
    _exit (125);
  _exit (127);
}

/* As shells say and answer it. */
static int
complain (const char *program, int error)
{
  g_autofree char *name = g_filename_display_name (program);

  tool_error (NULL, "Could not run '%s': %s", name, g_strerror (error));
  return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

static int
wait_for (pid_t child)
{
  int status = 0;

  while (waitpid (child, &status, 0) < 0)
    if (errno != EINTR)
      return TOOL_EXIT_TROUBLE;
  return WIFSIGNALED (status) ? 128 + WTERMSIG (status) : WEXITSTATUS (status);
}

int
tool_run (char **argv, char **environment, gboolean *started)
{
  struct sigaction old[G_N_ELEMENTS (signals)];
  sigset_t all, mask;
  int report[2], error = 0, status;
  pid_t child;
  gssize n;

  *started = FALSE;
  if (pipe2 (report, O_CLOEXEC) != 0)
    {
      tool_error (NULL, "Could not make a pipe: %s", g_strerror (errno));
      return TOOL_EXIT_TROUBLE;
    }
  sigfillset (&all);
  sigprocmask (SIG_BLOCK, &all, &mask);
  install_handlers (old);
  child = fork ();
  if (child == 0)
    become (argv, environment, &mask, old, report[1]);
  child_pid = child;
  error = child < 0 ? errno : 0;
  sigprocmask (SIG_SETMASK, &mask, NULL);
  close (report[1]);
  if (child < 0)
    {
      close (report[0]);
      restore_handlers (old);
      tool_error (NULL, "Could not start a process: %s", g_strerror (error));
      return TOOL_EXIT_TROUBLE;
    }

  do
    n = read (report[0], &error, sizeof error);
  while (n < 0 && errno == EINTR);
  close (report[0]);
  status = wait_for (child);
  child_pid = 0;
  restore_handlers (old);
  if (n == sizeof error)
    return complain (argv[0], error);
  *started = TRUE;
  return status;
}
