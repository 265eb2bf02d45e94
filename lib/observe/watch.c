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
  MemraDriver *driver; /* owned */
  CUstream stream;
  pthread_t thread;
  gboolean armed, ending;
  guint users; /* callbacks that are looking at the watch without the lock */
  MemraCulprit culprit; /* function is NULL while there is none */
  char *end_reason;     /* owned, nullable */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards watches and everything in them that changes */
static pthread_cond_t unused = PTHREAD_COND_INITIALIZER;
static GHashTable *watches; /* set of MemraWatch, borrowed: those that are open; NULL when none is */

/* Each driver is listened to from its first watch on, for good: it calls back from whatever thread fails, and to take a
 * callback away under one that is just being made is nothing to rely on. With no watch open the callback does nothing.
 * The library is never unloaded (-z nodelete). */
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
static GSList *heard; /* handles of the drivers that are listened to */

/* The entry before "Returning ...": why this thread's call fails, in the driver's words. */
static _Thread_local char pending_reason[512];
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

static char *
dup_reason (void)
{
  return pending_reason[0] != '\0' ? g_utf8_make_valid (pending_reason, -1) : NULL;
}

/* Whether a failing call matters to the watch at all; of our own end only the reason is kept. */
static gboolean
wants_failure (MemraWatch *watch)
{
  if (!watch->ending)
    return watch->armed && watch->culprit.function == NULL;
  if (watch->end_reason == NULL && pthread_equal (watch->thread, pthread_self ()))
    watch->end_reason = dup_reason ();
  return FALSE;
}

static void
blame (MemraWatch *watch, McuResult result, const char *function)
{
  watch->culprit.function = g_strdup (function);
  watch->culprit.result = result;
  watch->culprit.reason = dup_reason ();
  watch->culprit.other_thread = !pthread_equal (watch->thread, pthread_self ());
  watch->culprit.n_frames = backtrace (watch->culprit.frames, G_N_ELEMENTS (watch->culprit.frames));
}

/* The open watches of a driver that may want to know, each held so that it is not closed meanwhile; NULL for none. */
static GPtrArray *
hold_candidates (const void *driver)
{
  GPtrArray *candidates = NULL;
  GHashTableIter iter;
  gpointer key;

  pthread_mutex_lock (&lock);
  if (watches != NULL)
    {
      g_hash_table_iter_init (&iter, watches);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        {
          MemraWatch *watch = key;

          if (watch->driver->handle != driver || !wants_failure (watch))
            continue;
          if (candidates == NULL)
            candidates = g_ptr_array_new ();
          watch->users++;
          g_ptr_array_add (candidates, watch);
        }
    }
  pthread_mutex_unlock (&lock);
  return candidates;
}

static void
on_failure (const void *driver, McuResult result, const char *function)
{
  g_autoptr (GPtrArray) candidates = hold_candidates (driver);

  for (guint i = 0; candidates != NULL && i < candidates->len; i++)
    {
      MemraWatch *watch = g_ptr_array_index (candidates, i);
      int status = MCU_CAPTURE_STATUS_ACTIVE;

      /* Not under our lock: the failing call may hold locks of the driver, and somebody with ours may want those. */
      if (watch->driver->cu.cuStreamIsCapturing (watch->stream, &status) != MCU_SUCCESS)
        status = MCU_CAPTURE_STATUS_ACTIVE;

      pthread_mutex_lock (&lock);
      if (status != MCU_CAPTURE_STATUS_ACTIVE && watch->culprit.function == NULL)
        blame (watch, result, function);
      if (--watch->users == 0)
        pthread_cond_broadcast (&unused);
      pthread_mutex_unlock (&lock);
    }
}

static void
on_log (void *data, int level G_GNUC_UNUSED, char *message, size_t length)
{
  g_autofree char *text = NULL;
  g_autofree char *function = NULL;
  McuResult result;

  if (in_callback || message == NULL)
    return;
  in_callback = TRUE;
  text = g_strndup (message, length);
  if (parse_returning (text, &result, &function))
    {
      on_failure (data, result, function);
      pending_reason[0] = '\0'; /* a later call must not inherit it */
    }
  else
    g_strlcpy (pending_reason, g_strchomp (text), sizeof pending_reason);
  in_callback = FALSE;
}

static void
listen_to (MemraDriver *driver)
{
  CUlogsCallbackHandle handle;

  pthread_mutex_lock (&registering);
  if (g_slist_find (heard, driver->handle) == NULL
      && driver->cu.cuLogsRegisterCallback (on_log, driver->handle, &handle) == MCU_SUCCESS)
    heard = g_slist_prepend (heard, driver->handle);
  pthread_mutex_unlock (&registering);
}

MemraWatch *
_memra_watch_open (MemraDriver *driver, CUstream stream)
{
  MemraWatch *watch;
  void *warm_up[1];

  if (driver->cu.cuLogsRegisterCallback == NULL)
    return NULL;

  backtrace (warm_up, 1); /* the first call loads the unwinder, which is no thing to do inside a driver call */
  listen_to (driver);
  watch = g_new0 (MemraWatch, 1);
  watch->driver = memra_driver_ref (driver);
  watch->stream = stream;
  watch->thread = pthread_self ();

  pthread_mutex_lock (&lock);
  if (watches == NULL)
    watches = g_hash_table_new (NULL, NULL);
  g_hash_table_add (watches, watch);
  pthread_mutex_unlock (&lock);
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
  if (watch == NULL)
    return;
  pthread_mutex_lock (&lock);
  if (watches != NULL)
    {
      g_hash_table_remove (watches, watch);
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
