/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * logs.c: the error log. A callback runs on the thread of the failing call, inside it, after its effects are visible
 * and without the lock.
 */
#include "core-private.h"

#include <string.h>

static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* some delivery has ended */

static void
callback_finalize (HostObject *object)
{
  g_free (object);
}

static void
collect (void *object, void *data)
{
  HostLogCallback *callback = object;

  callback->running++;
  g_ptr_array_add (data, host_object_ref (callback));
}

GPtrArray *
host_log_targets (void)
{
  GPtrArray *targets;

  if (host_object_count (HOST_KIND_LOG_CALLBACK) == 0)
    return NULL;
  targets = g_ptr_array_new ();
  host_object_foreach (HOST_KIND_LOG_CALLBACK, collect, targets);
  return targets;
}

/* Unlocked. */
static void
send (GPtrArray *targets, const char *line)
{
  HostThread *thread = host_thread ();

  thread->in_log = true;
  for (guint i = 0; i < targets->len; i++)
    {
      HostLogCallback *callback = g_ptr_array_index (targets, i);
      g_autofree char *copy = g_strdup (line);

      callback->callback (callback->user_data, 0, copy, strlen (copy));
    }
  thread->in_log = false;
}

/* Locked. */
static void
release (GPtrArray *targets)
{
  for (guint i = 0; i < targets->len; i++)
    {
      HostLogCallback *callback = g_ptr_array_index (targets, i);

      callback->running--;
      host_object_unref (callback);
    }
  pthread_cond_broadcast (&idle);
  g_ptr_array_free (targets, TRUE);
}

void
host_log_deliver (GPtrArray *targets, HostThread *thread, HostEntry entry, McuResult result)
{
  const char *name = host_result_name (result);
  g_autofree char *last = g_strdup_printf ("Returning %d (%s) from %s", result, name != NULL ? name : "unknown error",
                                           host_entries[entry].symbol);

  for (guint i = 0; i < thread->log->len; i++)
    send (targets, g_ptr_array_index (thread->log, i));
  send (targets, last);
  pthread_mutex_lock (&host_lock);
  release (targets);
  pthread_mutex_unlock (&host_lock);
}

void
host_log_now (const char *line)
{
  HostThread *thread = host_thread ();
  GPtrArray *targets = thread->in_log ? NULL : host_log_targets ();

  if (targets == NULL)
    return;
  thread->locked = false;
  pthread_mutex_unlock (&host_lock);
  send (targets, line);
  pthread_mutex_lock (&host_lock);
  thread->locked = true;
  release (targets);
}

HOST_API McuResult
cuLogsRegisterCallback (McuLogsCallback callback, void *user_data, CUlogsCallbackHandle *handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuLogsRegisterCallback);

  if (result == MCU_SUCCESS)
    {
      if (host_forked)
        result = MCU_ERROR_NOT_INITIALIZED;
      else if (callback == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        {
          HostLogCallback *entry = g_new0 (HostLogCallback, 1);

          host_object_init (&entry->object, HOST_KIND_LOG_CALLBACK, callback_finalize);
          entry->callback = callback;
          entry->user_data = user_data;
          if (handle != NULL)
            *handle = entry;
        }
    }
  return host_leave (HOST_ENTRY_cuLogsRegisterCallback, result);
}

HOST_API McuResult
cuLogsUnregisterCallback (CUlogsCallbackHandle handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuLogsUnregisterCallback);

  if (result == MCU_SUCCESS)
    {
      if (host_forked)
        result = MCU_ERROR_NOT_INITIALIZED;
      else if (!host_object_is_live (handle, HOST_KIND_LOG_CALLBACK))
        result = MCU_ERROR_INVALID_VALUE;
      else
        {
          /* From inside a callback, its own delivery cannot end before this returns. */
          unsigned own = host_thread ()->in_log ? 1 : 0;

          host_object_retire (&handle->object);
          while (handle->running > own)
            pthread_cond_wait (&idle, &host_lock);
          host_object_unref (handle);
        }
    }
  return host_leave (HOST_ENTRY_cuLogsUnregisterCallback, result);
}
