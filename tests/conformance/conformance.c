/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * conformance.c: the table of cases, and the supervisor that runs them.
 *
 * The supervisor never touches CUDA. It runs the table in a worker (this program again), one case after the other; when
 * a worker crashes, hangs or reports that its context is no longer healthy, the line says so and a new worker goes on
 * with the next case. Isolated cases get a worker each. Lines come out in table order whoever finishes first.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime.h"

enum
{
  EXIT_NO_DRIVER = 2,
  EXIT_WATCHDOG = 3,
  EXIT_SICK = 77,
  WATCHDOG_SECONDS = 120,
  START_SECONDS = 30,
  CASE_SECONDS = 10,
  MAX_CASES = 2000,
  MAX_WORKERS = 6 /* the first runs the table, the others isolated cases */
};

static ConfCase cases[MAX_CASES];
static int n_cases;

void
conf_add (unsigned flags, void (*run) (const ConfCase *), int mode, int arg, const void *data, const char *id, ...)
{
  char text[200];
  va_list args;
  va_start (args, id);
  vsnprintf (text, sizeof text, id, args);
  va_end (args);
  if (n_cases == MAX_CASES)
    abort ();
  cases[n_cases++] = (ConfCase){ strdup (text), run, mode, arg, data, flags };
}

void
conf_add_modes (void (*run) (const ConfCase *), int arg, const void *data, const char *id)
{
  for (int mode = 0; mode < 3; mode++)
    conf_add (0, run, mode, arg, data, "%s/%s", id, conf_mode_names[mode]);
}

static void
fill_table (void)
{
  conf_cases_capture ();
  conf_cases_end ();
  conf_cases_thread ();
  conf_cases_events ();
  conf_cases_sweep ();
  conf_cases_info ();
  conf_cases_graph ();
  conf_cases_order ();
  conf_cases_exec ();
  conf_cases_alloc ();
  conf_cases_update ();
  conf_cases_memory ();
  conf_cases_kernel ();
  conf_cases_loader ();
  conf_cases_log ();
  conf_cases_handles ();
  for (int i = 0; i < n_cases; i++)
    for (int j = 0; j < i; j++)
      if (strcmp (cases[i].id, cases[j].id) == 0)
        {
          fprintf (stderr, "conformance: the case id %s is there twice\n", cases[i].id);
          abort ();
        }
}

/* --- worker --- */

typedef struct
{
  const char *driver; /* nullable */
  const char *module; /* nullable */
  const char *prefix; /* "" for all */
} Options;

static bool
selected (const Options *options, int i)
{
  return strncmp (cases[i].id, options->prefix, strlen (options->prefix)) == 0;
}

/* Runs one isolated case, or the others from `first` on. Exit status for the supervisor. */
static int
work (const Options *options, int first, bool alone)
{
  const char *why = NULL;
  bool init = !alone || (cases[first].flags & CONF_NO_INIT) == 0;
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (!conf_load (options->driver, &why) || (init && !conf_start (options->module, &why)))
    {
      fprintf (stderr, "conformance: %s\n", why);
      return EXIT_NO_DRIVER;
    }
  dprintf (conf_out, "#%d\n", w.version);
  for (int i = first; i < n_cases; i++)
    {
      if (!alone && (!selected (options, i) || (cases[i].flags & CONF_ISOLATED) != 0))
        continue;
      dprintf (conf_out, "@%d\n%s", i, cases[i].id);
      cases[i].run (&cases[i]);
      bool healthy = conf_clean_up ();
      dprintf (conf_out, "\n");
      if (alone)
        break;
      if (!healthy)
        _exit (EXIT_SICK);
    }
  /* What a GPU's driver does at exit is no case of ours, and a sick one may hang there. The host driver's end is its own
   * shutdown, and where what ran of it is written down, if it was built for that. */
  if (conf_is_host_driver ())
    exit (0);
  _exit (0);
}

/* --- supervisor --- */

typedef struct
{
  char *text;
  bool done;
} Line;

typedef struct
{
  pid_t pid; /* 0: idle */
  int fd;
  bool alone;
  int first;   /* case that it was started for */
  int current; /* case being run, -1 before the first */
  int next;    /* where a successor of this worker begins */
  time_t deadline;
  bool killed;
  char *pending; /* bytes since the last newline */
  size_t n_pending;
} Worker;

static Line lines[MAX_CASES];
static Worker workers[MAX_WORKERS];
static volatile sig_atomic_t printed; /* index of the first case not yet printed */
static int driver_version;

static time_t
seconds (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static void
on_alarm (int signal_number)
{
  (void)signal_number;
  static const char text[] = "conformance: the watchdog ended the run; waiting for case ";
  const char *id = printed < n_cases ? cases[printed].id : "(none)";
  ssize_t ignored = write (STDERR_FILENO, text, sizeof text - 1);
  ignored = write (STDERR_FILENO, id, strlen (id));
  ignored = write (STDERR_FILENO, "\n", 1);
  (void)ignored;
  for (int i = 0; i < MAX_WORKERS; i++)
    if (workers[i].pid > 0)
      kill (workers[i].pid, SIGKILL);
  _exit (EXIT_WATCHDOG);
}

static void
start (Worker *worker, const Options *options, int first, bool alone)
{
  int ends[2];
  char number[20];
  if (pipe2 (ends, O_CLOEXEC) != 0)
    abort ();
  snprintf (number, sizeof number, "%d", first);
  fflush (stdout);
  pid_t pid = fork ();
  if (pid < 0)
    abort ();
  if (pid == 0)
    {
      const char *argv[12];
      int n = 0;
      argv[n++] = "conformance";
      argv[n++] = alone ? "--worker-alone" : "--worker";
      argv[n++] = number;
      argv[n++] = "--case";
      argv[n++] = options->prefix;
      if (options->driver != NULL)
        {
          argv[n++] = "--driver";
          argv[n++] = options->driver;
        }
      if (options->module != NULL)
        {
          argv[n++] = "--module";
          argv[n++] = options->module;
        }
      if (conf_texts)
        argv[n++] = "--texts";
      argv[n] = NULL;
      dup2 (ends[1], STDOUT_FILENO);
      execv ("/proc/self/exe", (char *const *)argv);
      _exit (127);
    }
  close (ends[1]);
  free (worker->pending);
  *worker = (Worker){ pid, ends[0], alone, first, -1, first, seconds () + START_SECONDS, false, NULL, 0 };
}

static void
finish_line (int i, const char *text, const char *suffix)
{
  if (i < 0 || i >= n_cases || lines[i].done)
    return;
  size_t size = strlen (text) + strlen (suffix) + 1;
  lines[i].text = malloc (size);
  snprintf (lines[i].text, size, "%s%s", text, suffix);
  lines[i].done = true;
}

static void
take_line (Worker *worker, const char *text)
{
  worker->deadline = seconds () + CASE_SECONDS;
  if (text[0] == '#')
    {
      if (driver_version == 0)
        {
          driver_version = atoi (text + 1);
          printf ("# conformance table, format 1\n# driver version %d\n", driver_version);
        }
      return;
    }
  if (text[0] == '@')
    {
      worker->current = atoi (text + 1);
      return;
    }
  finish_line (worker->current, text, "");
  worker->next = worker->current + 1;
  worker->current = -1;
}

/* Returns false at the end of the worker's output. */
static bool
take_output (Worker *worker)
{
  char bytes[4096];
  ssize_t n = read (worker->fd, bytes, sizeof bytes);
  if (n < 0 && errno == EINTR)
    return true;
  if (n <= 0)
    return false;
  for (ssize_t i = 0; i < n; i++)
    {
      worker->pending = realloc (worker->pending, worker->n_pending + 2);
      worker->pending[worker->n_pending] = bytes[i];
      if (bytes[i] == '\n')
        {
          worker->pending[worker->n_pending] = '\0';
          worker->n_pending = 0;
          take_line (worker, worker->pending);
        }
      else
        worker->pending[++worker->n_pending] = '\0';
    }
  return true;
}

/* The worker's output has ended: what does that say about its case? Returns its exit status, or -1. */
static int
reap (Worker *worker)
{
  int status = 0;
  char suffix[80] = "";
  close (worker->fd);
  while (waitpid (worker->pid, &status, 0) < 0 && errno == EINTR)
    continue;
  worker->pid = 0;
  int code = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
  if (worker->killed)
    snprintf (suffix, sizeof suffix, " | timeout");
  else if (WIFSIGNALED (status))
    snprintf (suffix, sizeof suffix, " | crash=%s",
              WTERMSIG (status) == SIGSEGV   ? "SIGSEGV"
              : WTERMSIG (status) == SIGABRT ? "SIGABRT"
                                             : "signal");
  else
    snprintf (suffix, sizeof suffix, " | exit=%d", code);
  if (worker->current >= 0)
    {
      const char *text = worker->n_pending > 0 ? worker->pending : cases[worker->current].id;
      finish_line (worker->current, text, suffix);
      worker->next = worker->current + 1;
    }
  return code;
}

static void
print_ready (const Options *options)
{
  for (; printed < n_cases; printed++)
    {
      if (!selected (options, printed))
        continue;
      if (!lines[printed].done)
        break;
      puts (lines[printed].text);
    }
  fflush (stdout);
}

static int
next_of (const Options *options, int from, bool alone)
{
  for (int i = from; i < n_cases; i++)
    if (selected (options, i) && ((cases[i].flags & CONF_ISOLATED) != 0) == alone)
      return i;
  return -1;
}

static int
supervise (const Options *options)
{
  int next_alone = next_of (options, 0, true);
  int first = next_of (options, 0, false);
  int fruitless = 0;
  signal (SIGALRM, on_alarm);
  alarm (WATCHDOG_SECONDS);
  if (first >= 0)
    start (&workers[0], options, first, false);
  for (;;)
    {
      struct pollfd fds[MAX_WORKERS];
      int busy = 0;
      for (int i = 0; i < MAX_WORKERS; i++)
        {
          /* The very first worker shows whether there is a driver at all. */
          if (workers[i].pid == 0 && next_alone >= 0 && i > 0 && (driver_version != 0 || first < 0)
              && (driver_version != 0 || i == 1))
            {
              start (&workers[i], options, next_alone, true);
              next_alone = next_of (options, next_alone + 1, true);
            }
          fds[i] = (struct pollfd){ workers[i].pid != 0 ? workers[i].fd : -1, POLLIN, 0 };
          busy += workers[i].pid != 0;
        }
      if (busy == 0)
        break;
      int ready = poll (fds, MAX_WORKERS, 200);
      for (int i = 0; i < MAX_WORKERS; i++)
        {
          Worker *worker = &workers[i];
          if (worker->pid == 0)
            continue;
          if (!worker->killed && seconds () > worker->deadline)
            {
              worker->killed = true;
              kill (worker->pid, SIGKILL);
            }
          if (ready <= 0 || fds[i].revents == 0 || take_output (worker))
            continue;
          int before = worker->next;
          bool alone = worker->alone;
          int code = reap (worker);
          if (code == EXIT_NO_DRIVER && driver_version == 0)
            return EXIT_NO_DRIVER;
          if (alone)
            {
              finish_line (worker->first, cases[worker->first].id, " | did not start");
              continue;
            }
          int next = next_of (options, worker->next, false);
          fruitless = worker->next == before ? fruitless + 1 : 0;
          if (fruitless == 3)
            {
              fprintf (stderr, "conformance: a worker cannot start any more, at case %s\n", cases[before].id);
              return 1;
            }
          if (next >= 0)
            start (worker, options, next, false);
        }
      print_ready (options);
    }
  print_ready (options);
  return 0;
}

static int
usage (void)
{
  fputs ("usage: conformance [--driver LIBCUDA] [--module HOST-KERNELS] [--case PREFIX] [--texts] [--list]\n", stderr);
  return EXIT_NO_DRIVER;
}

int
main (int argc, char **argv)
{
  Options options = { NULL, NULL, "" };
  int worker = -1;
  bool alone = false;
  bool list = false;
  for (int i = 1; i < argc; i++)
    {
      const char *value = i + 1 < argc ? argv[i + 1] : NULL;
      if (strcmp (argv[i], "--list") == 0 || strcmp (argv[i], "--texts") == 0)
        {
          list = list || strcmp (argv[i], "--list") == 0;
          conf_texts = conf_texts || strcmp (argv[i], "--texts") == 0;
          continue;
        }
      if (value == NULL)
        return usage ();
      if (strcmp (argv[i], "--driver") == 0)
        options.driver = value;
      else if (strcmp (argv[i], "--module") == 0)
        options.module = value;
      else if (strcmp (argv[i], "--case") == 0)
        options.prefix = value;
      else if (strcmp (argv[i], "--worker") == 0 || strcmp (argv[i], "--worker-alone") == 0)
        {
          worker = atoi (value);
          alone = argv[i][strlen ("--worker")] != '\0';
        }
      else
        return usage ();
      i++;
    }
  static char beside[600];
  ssize_t length = readlink ("/proc/self/exe", beside, 500);
  if (options.module == NULL && length > 0)
    {
      strcpy (beside + length, "-host-kernels.so");
      if (access (beside, R_OK) == 0)
        options.module = beside;
    }
  fill_table ();
  if (list)
    {
      for (int i = 0; i < n_cases; i++)
        if (selected (&options, i))
          puts (cases[i].id);
      return 0;
    }
  if (worker >= n_cases)
    return usage ();
  if (worker >= 0)
    return work (&options, worker, alone);
  int status = supervise (&options);
  if (status == 0 && next_of (&options, 0, false) < 0 && next_of (&options, 0, true) < 0)
    {
      fprintf (stderr, "conformance: no case begins with %s\n", options.prefix);
      return EXIT_NO_DRIVER;
    }
  return status;
}
