/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of a recorded process. None stays open: a program may close every descriptor it does not know, and the next
 * file that it opens would then get our lines. An event is one write() to a file opened for appending, so it is there
 * whole when the call returns, whatever becomes of the process.
 */
#include "config.h"

#include "record-private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_IMAGES 10000 /* programs that one process id became by exec() */
#define COUNTERS_PER_CHUNK (RECORD_COUNTS_CHUNK / sizeof (uint64_t))
#define MAX_CHUNKS 4096

static pthread_mutex_t files = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; taken after the tables' lock */
static pid_t owner;                                       /* whose files these are, 0: there are none yet */
static char id[32];
static char events_path[PATH_MAX];
static uint64_t *_Atomic chunks[MAX_CHUNKS];

void
record_files_forget (void)
{
  pthread_mutex_init (&files, NULL);
  owner = 0;
  /* The parent's counters stay mapped, and nobody here counts in them. */
  for (size_t i = 0; i < MAX_CHUNKS && chunks[i] != NULL; i++)
    chunks[i] = NULL;
}

/* ---- The first line ---- */

static void
put_rank (RecordText *text)
{
  static const char *const names[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" };

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      const char *value = getenv (names[i]);

      if (value == NULL || *value == '\0' || strlen (value) > 9 || strspn (value, "0123456789") != strlen (value))
        continue;
      record_text_number (text, "rank", atoi (value));
      record_text_string (text, "rank_from", names[i]);
      return;
    }
}

/* The command line, as far as it fits. */
static void
put_arguments (RecordText *text)
{
  char line[2048];
  int fd = open ("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read (fd, line, sizeof line - 1) : 0;

  if (fd >= 0)
    close (fd);
  record_text_open (text, "arguments", '[');
  if (length > 0)
    {
      line[length] = '\0';
      for (const char *argument = line; argument < line + length; argument += strlen (argument) + 1)
        record_text_string (text, NULL, argument);
    }
  record_text_close (text, ']');
}

static void
put_driver (RecordText *text)
{
  const InterposeDriver *driver = interpose_driver ();

  if (driver == NULL)
    return;
  record_text_open (text, "driver", '{');
  record_text_string (text, "path", driver->path);
  record_text_number (text, "version", driver->version);
  record_text_bool (text, "error_log", driver->has_log);
  record_text_close (text, '}');
}

static void
compose_process (RecordText *text)
{
  char host[256] = "", program[PATH_MAX] = "";

  gethostname (host, sizeof host - 1);
  if (readlink ("/proc/self/exe", program, sizeof program - 1) < 0)
    program[0] = '\0';
  record_text_begin (text, "process");
  record_text_string (text, "format", RECORD_EVENTS_FORMAT);
  record_text_number (text, "version", RECORD_EVENTS_VERSION);
  record_text_string (text, "host", host);
  record_text_number (text, "pid", getpid ());
  record_text_number (text, "parent", getppid ());
  put_rank (text);
  record_text_string (text, "run", record_run ());
  record_text_string (text, "program", program);
  put_arguments (text);
  put_driver (text);
  record_text_bool (text, "counts_launches", record_counts_launches ());
}

/* ---- Writing ---- */

void
record_writing_begin (sigset_t *mask)
{
  sigset_t set;

  sigemptyset (&set);
  sigaddset (&set, SIGXFSZ);
  pthread_sigmask (SIG_BLOCK, &set, mask);
}

/* The signal is sent to the thread that wrote: none that is pending here is another's. */
void
record_writing_end (const sigset_t *mask)
{
  static const struct timespec now;
  sigset_t set;

  if (sigismember (mask, SIGXFSZ))
    return;
  sigemptyset (&set);
  sigaddset (&set, SIGXFSZ);
  while (sigtimedwait (&set, NULL, &now) < 0 && errno == EINTR)
    ;
  pthread_sigmask (SIG_SETMASK, mask, NULL);
}

/* 0 or an error number. */
static int
write_all (int fd, const char *bytes, size_t length)
{
  while (length > 0)
    {
      ssize_t n = write (fd, bytes, length);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errno;
      bytes += n;
      length -= (size_t) n;
    }
  return 0;
}

static int
end_line (RecordText *text)
{
  record_text_close (text, '}');
  record_text_close (text, '\n');
  return text->bytes != NULL ? 0 : ENOMEM;
}

/* Makes the file of events, under a name that nobody else has: a process id is unique neither in time, since exec()
 * keeps it, nor in space, since several machines may share the folder. With the lock; 0 or an error number. */
static int
create (void)
{
  RecordText text;
  int fd = -1, error = EEXIST;

  for (int image = 1; image <= MAX_IMAGES && error == EEXIST; image++)
    {
      if (image == 1)
        snprintf (id, sizeof id, "%d", (int) getpid ());
      else
        snprintf (id, sizeof id, "%d.%d", (int) getpid (), image);
      if (snprintf (events_path, sizeof events_path, "%s/events-%s.jsonl", record_directory (), id) >= (int) sizeof events_path)
        return ENAMETOOLONG;
      fd = open (events_path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
      error = fd >= 0 ? 0 : errno;
    }
  if (error != 0)
    return error;
  compose_process (&text);
  error = end_line (&text);
  if (error == 0)
    error = write_all (fd, text.bytes, text.length);
  record_text_free (&text);
  close (fd);
  if (error == 0)
    owner = getpid ();
  return error;
}

/* A child that came about behind fork()'s back has another process id and all of our variables. */
static int
ensure (void)
{
  if (owner != 0 && owner != getpid ())
    record_files_forget ();
  return owner != 0 ? 0 : create ();
}

void
record_write (RecordText *text)
{
  int error = end_line (text), fd;
  sigset_t mask;

  record_writing_begin (&mask);
  pthread_mutex_lock (&files);
  if (error == 0)
    error = ensure ();
  if (error == 0)
    {
      fd = open (events_path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
      error = fd >= 0 ? write_all (fd, text->bytes, text->length) : errno;
      if (fd >= 0)
        close (fd);
    }
  pthread_mutex_unlock (&files);
  record_writing_end (&mask);
  record_text_free (text);
  if (error != 0)
    record_give_up (events_path[0] != '\0' ? events_path : record_directory (), error);
}

bool
record_graph_path (unsigned graph, char *name, char *path, char *temporary)
{
  int error, length;
  sigset_t mask;

  record_writing_begin (&mask);
  pthread_mutex_lock (&files);
  error = ensure ();
  if (error == 0)
    {
      snprintf (name, PATH_MAX, "graph-%s-%u.json", id, graph);
      length = snprintf (path, PATH_MAX, "%s/%s", record_directory (), name);
      if (length >= PATH_MAX || snprintf (temporary, PATH_MAX, "%s/.%s.part", record_directory (), name) >= PATH_MAX)
        error = ENAMETOOLONG;
    }
  pthread_mutex_unlock (&files);
  record_writing_end (&mask);
  if (error != 0)
    record_give_up (events_path[0] != '\0' ? events_path : record_directory (), error);
  return error == 0;
}

/* ---- Counters ----
 *
 * A shared mapping of the file: what is counted is in the kernel's hands at once, so neither _exit() nor a crash loses
 * any of it, and counting costs one addition. */

/* A chunk of the file. NULL, and said, if there is no room for it. Blocks are reserved first: a store into a hole on a full
 * disk would be a signal. */
static uint64_t *
map_chunk (size_t index)
{
  char path[PATH_MAX];
  off_t offset = (off_t) (index + 1) * RECORD_COUNTS_CHUNK;
  void *chunk = MAP_FAILED;
  int fd, error;

  if (snprintf (path, sizeof path, "%s/launches-%s.counts", record_directory (), id) >= (int) sizeof path)
    {
      record_stop_counting (record_directory (), ENAMETOOLONG);
      return NULL;
    }
  fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 || (index == 0 && pwrite (fd, RECORD_COUNTS_MAGIC, 8, 0) != 8))
    error = errno;
  else
    error = posix_fallocate (fd, offset, RECORD_COUNTS_CHUNK);
  if (error == 0)
    {
      chunk = mmap (NULL, RECORD_COUNTS_CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
      error = chunk != MAP_FAILED ? 0 : errno;
    }
  if (fd >= 0)
    close (fd);
  if (error != 0)
    record_stop_counting (path, error);
  return error == 0 ? chunk : NULL;
}

void
record_count_prepare (unsigned graph)
{
  size_t index = (graph - 1) / COUNTERS_PER_CHUNK;
  sigset_t mask;

  if (!record_counts_launches () || index >= MAX_CHUNKS || chunks[index] != NULL)
    return;
  record_writing_begin (&mask);
  pthread_mutex_lock (&files);
  if (chunks[index] == NULL && ensure () == 0)
    {
      uint64_t *chunk = map_chunk (index);

      if (chunk != NULL)
        chunks[index] = chunk;
    }
  pthread_mutex_unlock (&files);
  record_writing_end (&mask);
}

void
record_count_launch (unsigned graph)
{
  size_t index = (graph - 1) / COUNTERS_PER_CHUNK;
  uint64_t *chunk = index < MAX_CHUNKS ? chunks[index] : NULL;

  if (INTERPOSE_LIKELY (chunk != NULL))
    __atomic_add_fetch (&chunk[(graph - 1) % COUNTERS_PER_CHUNK], 1, __ATOMIC_RELAXED);
}
