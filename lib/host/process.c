/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * process.c: the process's one lock, the threads that call, and the way into and out of every entry point.
 */
#include "core-private.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>

#ifdef NDEBUG
pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
#else
pthread_mutex_t host_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
#endif

bool host_initialised;
bool host_stopping;
bool host_down;
bool host_forked;

static uint64_t last_id;
static uint64_t last_thread_id;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static __thread HostThread *this_thread;

static void
lock (void)
{
  int error = pthread_mutex_lock (&host_lock);
  g_assert (error == 0);
}

static void
unlock (void)
{
  int error = pthread_mutex_unlock (&host_lock);
  g_assert (error == 0);
}

/* Runs in the child of fork(): nothing here may be used again, and its lock may be held by a thread that is gone. */
static void
after_fork (void)
{
  host_forked = true;
}

static void
thread_free (void *data)
{
  HostThread *thread = data;

  this_thread = NULL;
  if (!host_forked)
    {
      lock ();
      if (!host_down)
        host_streams_forget_thread (thread->id);
      for (guint i = 0; i < thread->stack->len; i++)
        host_object_unref (g_ptr_array_index (thread->stack, i));
      unlock ();
    }
  g_ptr_array_free (thread->stack, TRUE);
  g_ptr_array_free (thread->log, TRUE);
  g_free (thread);
}

/* The library stays mapped once used, as a real driver does: its threads and keys outlive any dlclose(). */
static void
process_start (void)
{
  Dl_info info;

  pthread_key_create (&thread_key, thread_free);
  pthread_atfork (NULL, NULL, after_fork);
  if (dladdr ((void *) &host_lock, &info) != 0 && info.dli_fname != NULL)
    dlopen (info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

HostThread *
host_thread (void)
{
  HostThread *thread = this_thread;

  if (thread != NULL)
    return thread;
  pthread_once (&process_once, process_start);
  thread = g_new0 (HostThread, 1);
  thread->id = __atomic_add_fetch (&last_thread_id, 1, __ATOMIC_RELAXED);
  thread->stack = g_ptr_array_new ();
  thread->log = g_ptr_array_new_with_free_func (g_free);
  thread->capture_mode = MCU_CAPTURE_MODE_GLOBAL;
  this_thread = thread;
  pthread_setspecific (thread_key, thread);
  return thread;
}

uint64_t
host_next_id (void)
{
  return ++last_id;
}

/* Calls that answer 800 in a callback are, on a GPU, those that look at the current context. Of the others these are
 * let through. */
static bool
is_allowed_in_callback (HostEntry entry)
{
  return entry == HOST_ENTRY_cuEventQuery || entry == HOST_ENTRY_cuEventRecord || entry == HOST_ENTRY_cuStreamQuery
         || entry == HOST_ENTRY_cuStreamIsCapturing || entry == HOST_ENTRY_cuStreamSynchronize
         || entry == HOST_ENTRY_cuEventSynchronize || entry == HOST_ENTRY_cuStreamBeginCapture_v2
         || entry == HOST_ENTRY_cuGraphLaunch;
}

McuResult
host_enter (HostEntry entry)
{
  HostThread *thread = host_thread ();
  bool early = host_entries[entry].kind == HOST_ENTRY_EARLY;
  McuResult result = MCU_SUCCESS;

  if (host_forked)
    return early ? MCU_SUCCESS : MCU_ERROR_NOT_INITIALIZED;
  lock ();
  thread->locked = true;
  host_control_read_environment ();
  host_calls[entry]++;
  if (host_fault_due (entry, &result))
    return result;
  if (early)
    return MCU_SUCCESS;
  if (host_down || host_stopping)
    return MCU_ERROR_DEINITIALIZED;
  if (!host_initialised)
    return MCU_ERROR_NOT_INITIALIZED;
  if (thread->in_callback && !is_allowed_in_callback (entry))
    return MCU_ERROR_NOT_PERMITTED;
  return MCU_SUCCESS;
}

McuResult
host_leave (HostEntry entry, McuResult result)
{
  HostThread *thread = host_thread ();

  if (thread->locked)
    {
      GPtrArray *targets = NULL;

      host_user_objects_flush ();
      if (result != MCU_SUCCESS && result != MCU_ERROR_NOT_READY && !thread->in_log)
        targets = host_log_targets ();
      thread->locked = false;
      unlock ();
      if (targets != NULL)
        host_log_deliver (targets, thread, entry, result);
    }
  if (thread->log->len > 0 && !thread->in_log)
    g_ptr_array_set_size (thread->log, 0);
  return result;
}

void
host_log (const char *format, ...)
{
  HostThread *thread = host_thread ();
  va_list args;

  if (thread->in_log)
    return;
  va_start (args, format);
  g_ptr_array_add (thread->log, g_strdup_vprintf (format, args));
  va_end (args);
}

McuResult
host_unsupported (const char *what)
{
  host_unsupported_calls++;
  host_log ("The host driver does not implement %s", what);
  return MCU_ERROR_NOT_SUPPORTED;
}

void
host_call_unlocked (CUhostFn fn, void *user_data)
{
  HostThread *thread = host_thread ();
  bool was = thread->in_callback;

  thread->in_callback = true;
  fn (user_data);
  thread->in_callback = was;
}

void
host_call_back (CUhostFn fn, void *user_data)
{
  HostThread *thread = host_thread ();
  bool was_locked = thread->locked;

  thread->locked = false;
  unlock ();
  host_call_unlocked (fn, user_data);
  lock ();
  thread->locked = was_locked;
}

HOST_API McuResult
cuInit (unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuInit);

  if (result == MCU_SUCCESS)
    {
      if (host_forked)
        result = MCU_ERROR_NOT_INITIALIZED;
      else if (host_down || host_stopping)
        result = MCU_ERROR_DEINITIALIZED;
      else if (flags != 0)
        result = MCU_ERROR_INVALID_VALUE;
      else if (host_settings.n_devices == 0)
        result = MCU_ERROR_NO_DEVICE;
      else
        host_initialised = true;
    }
  return host_leave (HOST_ENTRY_cuInit, result);
}

HOST_API McuResult
cuDriverGetVersion (int *version)
{
  McuResult result = host_enter (HOST_ENTRY_cuDriverGetVersion);

  if (result == MCU_SUCCESS)
    {
      if (version == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *version = host_settings.driver_version;
    }
  return host_leave (HOST_ENTRY_cuDriverGetVersion, result);
}

/* Ends the workers and frees what the driver owns. What the client never released stays reachable from the tables. */
static void __attribute__ ((destructor)) process_end (void)
{
  HostThread *thread = this_thread;

  if (host_forked)
    return;
  lock ();
  if (host_workers_shutdown ())
    {
      host_graph_shutdown ();
      host_contexts_shutdown ();
      host_vmm_shutdown ();
      host_memory_shutdown ();
      host_control_shutdown ();
    }
  host_down = true;
  unlock ();
  if (thread != NULL && thread->worker == NULL)
    {
      pthread_setspecific (thread_key, NULL);
      thread_free (thread);
    }
  lock ();
  host_objects_shutdown ();
  unlock ();
}
