/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a recorded process is told in its environment, and what becomes of its record in the child of fork(). */
#include "config.h"

#include "record-private.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum
{
  STATE_UNKNOWN,
  STATE_OFF,
  STATE_ON
} state;

/* Copies, since the program may change its environment. */
static char directory[RECORD_MAX_DIRECTORY + 1];
static char run[128];
static bool launches, stacks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

int record_capturing;
__thread int record_inside __attribute__ ((tls_model ("initial-exec")));

static bool
has_option (const char *options, const char *option)
{
  return options != NULL && strstr (options, option) != NULL;
}

static void
read_settings (void)
{
  const char *path = getenv (RECORD_ENV_DIRECTORY);
  const char *options = getenv (RECORD_ENV_OPTIONS);
  const char *run_id = getenv (RECORD_ENV_RUN);

  if (path == NULL || path[0] != '/' || strlen (path) >= sizeof directory)
    {
      state = STATE_OFF;
      return;
    }
  strcpy (directory, path);
  if (run_id != NULL)
    strncpy (run, run_id, sizeof run - 1);
  launches = has_option (options, "launches");
  stacks = has_option (options, "stacks");
  state = STATE_ON;
}

/* So early that the program has had no chance to change its environment. */
__attribute__ ((constructor)) static void
start (void)
{
  if (state == STATE_UNKNOWN)
    read_settings ();
}

bool
record_is_on (void)
{
  if (INTERPOSE_UNLIKELY (state == STATE_UNKNOWN))
    read_settings ();
  return state == STATE_ON;
}

bool
record_counts_launches (void)
{
  return launches;
}

bool
record_wants_stacks (void)
{
  return stacks;
}

const char *
record_directory (void)
{
  return directory;
}

const char *
record_run (void)
{
  return run;
}

/* "memra-capture: process 7 IS IN TROUBLE: could not write FILE: why", in one write() and without the C library's files. */
static void
say (const char *trouble, const char *what, int error_number)
{
  char line[PATH_MAX + 256];
  int length = snprintf (line, sizeof line, "memra-capture: process %d %s: could not write %s: %s\n", (int) getpid (), trouble,
                         what, strerror (error_number));

  if (length > 0 && write (STDERR_FILENO, line, (size_t) length < sizeof line ? (size_t) length : sizeof line - 1) < 0)
    return;
}

void
record_give_up (const char *what, int error_number)
{
  if (state != STATE_ON)
    return;
  state = STATE_OFF;
  say ("is not recorded any more", what, error_number);
}

void
record_stop_counting (const char *what, int error_number)
{
  if (!launches)
    return;
  launches = false;
  say ("has its launches counted no further", what, error_number);
}

void
record_enter (RecordGuard *guard)
{
  guard->saved_errno = errno;
  pthread_setcancelstate (PTHREAD_CANCEL_DISABLE, &guard->cancel_state);
  record_inside++;
}

void
record_leave (RecordGuard *guard)
{
  record_inside--;
  pthread_setcancelstate (guard->cancel_state, NULL);
  errno = guard->saved_errno;
}

/* The child has no CUDA any more and none of our threads' locks; it starts as a process that has recorded nothing. */
static void
after_fork (void)
{
  pthread_mutex_init (&lock, NULL);
  pthread_cond_init (&woken, NULL);
  __atomic_store_n (&record_capturing, 0, __ATOMIC_RELAXED);
  record_inside = 0;
  record_files_forget ();
  record_captures_forget ();
  record_graphs_forget ();
  record_log_forget ();
}

static void
watch_forks (void)
{
  pthread_atfork (NULL, NULL, after_fork);
}

void
record_lock (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once (&once, watch_forks);
  pthread_mutex_lock (&lock);
}

void
record_unlock (void)
{
  pthread_mutex_unlock (&lock);
}

void
record_wait (void)
{
  pthread_cond_wait (&woken, &lock);
}

void
record_wake (void)
{
  pthread_cond_broadcast (&woken);
}
