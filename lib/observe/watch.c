/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listening to the driver's error log (12.9). The driver calls back on the thread of the failing call, inside it, when
 * its effects are visible (measured, driver 580): the entry during which our stream leaves the active state is the one
 * that broke the capture, whatever else the log carries.
 */
#include "config.h"

#include "observe-private.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct _MemraWatch
{
  guint64 id; /* what the driver hands back to us: never a pointer, so a late callback finds nothing rather than a corpse */
  MemraDriver *driver; /* owned */
  CUstream stream;
  pthread_t thread;
  CUlogsCallbackHandle handle; /* NULL when closed */
  gboolean armed, ending;
  guint users; /* callbacks that are looking at the watch without the lock */
  MemraCulprit culprit; /* function is NULL while there is none */
  char *end_reason;     /* owned, nullable */

  /* The entry before "Returning ...", if there is one: why the call fails, in the driver's words. */
  char *reason;            /* owned, nullable */
  pthread_t reason_thread; /* whose call */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards watches and everything in them that changes */
static pthread_cond_t unused = PTHREAD_COND_INITIALIZER;
static GHashTable *watches;                              /* id -> MemraWatch, borrowed; NULL when none is open */
static guint64 last_id;

static _Thread_local gboolean in_callback; /* we call the driver in here, which may log */

/* "Returning 900 (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) from cuStreamSynchronize" */
static gboolean
parse_returning (const char *message, McuResult *result, char **function)
{
  const char *returning = strstr (message, "Returning ");
  const char *from = returning != NULL ? strstr (returning, " from ") : NULL;
  gsize length;

  if (from == NULL)
    return FALSE;
  *result = atoi (returning + strlen ("Returning "));
  from += strlen (" from ");
  length = strspn (from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (length == 0)
    return FALSE;
  *function = g_strndup (from, length);
  return TRUE;
}

/* The reason for this thread's failing call, which a later call must not inherit. */
static char *
take_reason (MemraWatch *watch)
{
  if (watch->reason == NULL || !pthread_equal (watch->reason_thread, pthread_self ()))
    return NULL;
  return g_steal_pointer (&watch->reason);
}

/* Whether a failing call matters to the watch at all; of our own end only the reason is kept. */
static gboolean
wants_failure (MemraWatch *watch)
{
  if (!watch->ending && watch->armed && watch->culprit.function == NULL)
    return TRUE;
  if (watch->ending && watch->end_reason == NULL && pthread_equal (watch->thread, pthread_self ()))
    watch->end_reason = take_reason (watch);
  else
    g_free (take_reason (watch));
  return FALSE;
}

static void
blame (MemraWatch *watch, McuResult result, const char *function, char *reason)
{
  watch->culprit.function = g_strdup (function);
  watch->culprit.result = result;
  watch->culprit.reason = reason;
  watch->culprit.other_thread = !pthread_equal (watch->thread, pthread_self ());
  watch->culprit.n_frames = backtrace (watch->culprit.frames, G_N_ELEMENTS (watch->culprit.frames));
}

static void
on_reason (guint64 id, const char *text)
{
  MemraWatch *watch;

  pthread_mutex_lock (&lock);
  watch = watches != NULL ? g_hash_table_lookup (watches, &id) : NULL;
  if (watch != NULL)
    {
      g_free (watch->reason);
      watch->reason = g_utf8_make_valid (text, -1);
      watch->reason_thread = pthread_self ();
    }
  pthread_mutex_unlock (&lock);
}

static void
on_failure (guint64 id, McuResult result, const char *function)
{
  MemraWatch *watch;
  char *reason;
  int status = MCU_CAPTURE_STATUS_ACTIVE;

  pthread_mutex_lock (&lock);
  watch = watches != NULL ? g_hash_table_lookup (watches, &id) : NULL;
  if (watch == NULL || !wants_failure (watch))
    {
      pthread_mutex_unlock (&lock);
      return;
    }
  watch->users++;
  reason = take_reason (watch);
  pthread_mutex_unlock (&lock);

  /* Not under our lock: the failing call may hold locks of the driver, and somebody with ours may want those. */
  if (watch->driver->cu.cuStreamIsCapturing (watch->stream, &status) != MCU_SUCCESS)
    status = MCU_CAPTURE_STATUS_ACTIVE;

  pthread_mutex_lock (&lock);
  if (status != MCU_CAPTURE_STATUS_ACTIVE && watch->culprit.function == NULL)
    blame (watch, result, function, g_steal_pointer (&reason));
  if (--watch->users == 0)
    pthread_cond_broadcast (&unused);
  pthread_mutex_unlock (&lock);
  g_free (reason);
}

static void
on_log (void *data, int level G_GNUC_UNUSED, char *message, size_t length)
{
  g_autofree char *text = NULL;
  g_autofree char *function = NULL;
  guint64 id = GPOINTER_TO_SIZE (data);
  McuResult result;

  if (in_callback || message == NULL)
    return;
  in_callback = TRUE;
  text = g_strndup (message, length);
  if (parse_returning (text, &result, &function))
    on_failure (id, result, function);
  else
    on_reason (id, g_strchomp (text));
  in_callback = FALSE;
}

MemraWatch *
_memra_watch_open (MemraDriver *driver, CUstream stream)
{
  MemraWatch *watch;
  void *warm_up[1];

  if (driver->cu.cuLogsRegisterCallback == NULL || driver->cu.cuLogsUnregisterCallback == NULL)
    return NULL;

  watch = g_new0 (MemraWatch, 1);
  watch->driver = memra_driver_ref (driver);
  watch->stream = stream;
  watch->thread = pthread_self ();
  backtrace (warm_up, 1); /* the first call loads the unwinder, which is no thing to do inside a driver call */

  pthread_mutex_lock (&lock);
  watch->id = ++last_id;
  if (watches == NULL)
    watches = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_hash_table_insert (watches, &watch->id, watch);
  pthread_mutex_unlock (&lock);

  if (driver->cu.cuLogsRegisterCallback (on_log, GSIZE_TO_POINTER (watch->id), &watch->handle) != MCU_SUCCESS)
    watch->handle = NULL;
  return watch;
}

void
_memra_watch_arm (MemraWatch *watch)
{
  if (watch == NULL)
    return;
  pthread_mutex_lock (&lock);
  watch->armed = TRUE;
  pthread_mutex_unlock (&lock);
}

void
_memra_watch_ending (MemraWatch *watch)
{
  if (watch == NULL)
    return;
  pthread_mutex_lock (&lock);
  watch->ending = TRUE;
  watch->thread = pthread_self ();
  pthread_mutex_unlock (&lock);
}

void
_memra_watch_close (MemraWatch *watch)
{
  CUlogsCallbackHandle handle;

  if (watch == NULL)
    return;
  handle = g_steal_pointer (&watch->handle);
  if (handle != NULL)
    watch->driver->cu.cuLogsUnregisterCallback (handle);

  pthread_mutex_lock (&lock);
  if (watches != NULL)
    {
      g_hash_table_remove (watches, &watch->id);
      if (g_hash_table_size (watches) == 0)
        g_clear_pointer (&watches, g_hash_table_unref);
    }
  while (watch->users > 0)
    pthread_cond_wait (&unused, &lock);
  pthread_mutex_unlock (&lock);
}

void
_memra_watch_free (MemraWatch *watch)
{
  if (watch == NULL)
    return;
  _memra_watch_close (watch);
  g_free (watch->culprit.function);
  g_free (watch->culprit.reason);
  g_free (watch->end_reason);
  g_free (watch->reason);
  memra_driver_unref (watch->driver);
  g_free (watch);
}

const MemraCulprit *
_memra_watch_get_culprit (MemraWatch *watch)
{
  return watch != NULL && watch->culprit.function != NULL ? &watch->culprit : NULL;
}

const char *
_memra_watch_get_end_reason (MemraWatch *watch)
{
  return watch != NULL ? watch->end_reason : NULL;
}
