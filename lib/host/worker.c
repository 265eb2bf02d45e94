/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * worker.c: fences, operations, and the thread that serves a stream.
 *
 * A stream is a FIFO with one thread, started at the first operation. An operation starts when it is at the head, every
 * fence that it waits for is done, and no test holds the work. Fences are only ever waited for by later operations, so
 * the waits cannot form a circle.
 */
#include "core-private.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

struct HostOp
{
  HostOp *next;
  HostOpRun run;
  void *data;
  HostOpFree free_data;
  GPtrArray *waits; /* nullable; HostFence, owned */
  HostFence *fence; /* owned: the operation's own completion */
};

#define SHUTDOWN_SECONDS 5

static unsigned n_workers;
static GArray *ended; /* pthread_t: threads that nobody has joined yet */
static pthread_cond_t worker_ended = PTHREAD_COND_INITIALIZER;
static GPtrArray *served; /* HostStream, borrowed: those with a worker */

/* ---------------------------------------------------------------------------------------------------------------
 * Fences
 */

HostFence *
host_fence_new (void)
{
  HostFence *fence = g_new0 (HostFence, 1);

  fence->refs = 1;
  return fence;
}

HostFence *
host_fence_ref (HostFence *fence)
{
  fence->refs++;
  return fence;
}

void
host_fence_unref (HostFence *fence)
{
  if (fence == NULL || --fence->refs > 0)
    return;
  g_assert (fence->waiters == NULL);
  g_free (fence);
}

void
host_fence_complete (HostFence *fence)
{
  struct timespec now;

  g_assert (!fence->done);
  clock_gettime (CLOCK_MONOTONIC, &now);
  fence->done = true;
  fence->done_ns = (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
  for (GSList *link = fence->waiters; link != NULL; link = link->next)
    pthread_cond_signal (link->data);
}

void
host_fence_wait (HostFence *fence)
{
  pthread_cond_t cond;
  GSList link = { &cond, NULL };

  if (fence->done)
    return;
  pthread_cond_init (&cond, NULL);
  link.next = fence->waiters;
  fence->waiters = &link;
  while (!fence->done)
    pthread_cond_wait (&cond, &host_lock);
  fence->waiters = g_slist_remove_link (fence->waiters, &link);
  pthread_cond_destroy (&cond);
}

/* ---------------------------------------------------------------------------------------------------------------
 * Operations
 */

HostOp *
host_op_new (HostOpRun run, void *data, HostOpFree free_data)
{
  HostOp *op = g_new0 (HostOp, 1);

  op->run = run;
  op->data = data;
  op->free_data = free_data;
  op->fence = host_fence_new ();
  return op;
}

static void
unref_fence (void *fence)
{
  host_fence_unref (fence);
}

void
host_op_wait_for (HostOp *op, HostFence *fence)
{
  if (fence == NULL || fence->done)
    return;
  if (op->waits == NULL)
    op->waits = g_ptr_array_new_with_free_func (unref_fence);
  g_ptr_array_add (op->waits, host_fence_ref (fence));
}

/* Completes the operation and frees it. */
static void
op_finish (HostOp *op)
{
  if (op->free_data != NULL)
    op->free_data (op->data);
  host_fence_complete (op->fence);
  host_fence_unref (op->fence);
  if (op->waits != NULL)
    g_ptr_array_free (op->waits, TRUE);
  g_free (op);
}

/* The first fence that the operation must still wait for, or NULL. */
static HostFence *
op_obstacle (HostOp *op)
{
  for (guint i = 0; op->waits != NULL && i < op->waits->len; i++)
    {
      HostFence *fence = g_ptr_array_index (op->waits, i);

      if (!fence->done)
        return fence;
    }
  return NULL;
}

static HostOp *
stream_take_op (HostStream *stream)
{
  HostOp *op = stream->head;

  stream->head = op->next;
  if (stream->head == NULL)
    stream->tail = NULL;
  return op;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Workers
 */

static void
run_op (HostStream *stream, HostOp *op)
{
  McuResult result = MCU_SUCCESS;

  stream->running = op;
  if (op->run != NULL && !host_stopping && stream->context->broken == MCU_SUCCESS)
    {
      pthread_mutex_unlock (&host_lock);
      result = op->run (op->data);
      pthread_mutex_lock (&host_lock);
    }
  if (result != MCU_SUCCESS && stream->context->broken == MCU_SUCCESS)
    stream->context->broken = result;
  stream->running = NULL;
  op_finish (op);
}

/* Serves the stream until it closes; locked. */
static void
serve (HostStream *stream)
{
  for (;;)
    {
      HostOp *op = stream->head;
      HostFence *obstacle;

      if (op == NULL)
        {
          if (stream->closing || host_stopping)
            return;
          pthread_cond_wait (&stream->wake, &host_lock);
          continue;
        }
      obstacle = op_obstacle (op);
      if (host_stopping)
        run_op (stream, stream_take_op (stream));
      else if (host_held)
        pthread_cond_wait (&stream->wake, &host_lock);
      else if (obstacle != NULL)
        {
          host_fence_ref (obstacle);
          host_fence_wait (obstacle);
          host_fence_unref (obstacle);
        }
      else
        run_op (stream, stream_take_op (stream));
    }
}

static void *
worker_main (void *data)
{
  HostStream *stream = data;
  HostThread *thread = host_thread ();

  thread->worker = stream;
  thread->in_callback = true; /* CUDA calls from a host function or a kernel are refused */
  pthread_mutex_lock (&host_lock);
  serve (stream);
  thread->worker = NULL;
  stream->worker = false;
  g_ptr_array_remove_fast (served, stream);
  if (stream->closing)
    g_ptr_array_remove_fast (stream->context->streams, stream);
  host_object_unref (stream);
  if (ended == NULL)
    ended = g_array_new (FALSE, FALSE, sizeof (pthread_t));
  g_array_append_val (ended, (pthread_t){ pthread_self () });
  n_workers--;
  pthread_cond_broadcast (&worker_ended);
  pthread_mutex_unlock (&host_lock);
  return NULL;
}

/* Signals are for the client's own threads. */
static bool
worker_start (HostStream *stream)
{
  sigset_t all, before;
  int error;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  error = pthread_create (&stream->worker_thread, NULL, worker_main, stream);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (error != 0)
    return false;
  host_object_ref (stream);
  stream->worker = true;
  n_workers++;
  if (served == NULL)
    served = g_ptr_array_new ();
  g_ptr_array_add (served, stream);
  return true;
}

/* The legacy stream waits for the blocking streams of its context, and they for it. */
static void
add_implicit_waits (HostStream *stream, HostOp *op)
{
  HostContext *context = stream->context;

  if (stream->legacy)
    {
      for (guint i = 0; i < context->streams->len; i++)
        {
          HostStream *other = g_ptr_array_index (context->streams, i);

          if (other != stream && !(other->flags & MCU_STREAM_NON_BLOCKING))
            host_op_wait_for (op, other->last);
        }
    }
  else if (!(stream->flags & MCU_STREAM_NON_BLOCKING) && context->legacy != NULL)
    host_op_wait_for (op, context->legacy->last);
}

HostFence *
host_stream_enqueue (HostStream *stream, HostOp *op)
{
  HostFence *fence = op->fence;

  add_implicit_waits (stream, op);
  host_fence_unref (stream->last);
  stream->last = host_fence_ref (fence);
  if (host_stopping || (!stream->worker && !worker_start (stream)))
    {
      if (!host_stopping)
        stream->context->broken = MCU_ERROR_OPERATING_SYSTEM;
      op_finish (op);
      return fence;
    }
  if (stream->tail != NULL)
    stream->tail->next = op;
  else
    stream->head = op;
  stream->tail = op;
  pthread_cond_signal (&stream->wake);
  return fence;
}

void
host_workers_wake (void)
{
  for (guint i = 0; served != NULL && i < served->len; i++)
    {
      HostStream *stream = g_ptr_array_index (served, i);

      pthread_cond_signal (&stream->wake);
    }
}

void
host_workers_reap (void)
{
  GArray *threads = ended;

  if (threads == NULL)
    return;
  ended = NULL;
  pthread_mutex_unlock (&host_lock);
  for (guint i = 0; i < threads->len; i++)
    pthread_join (g_array_index (threads, pthread_t, i), NULL);
  g_array_free (threads, TRUE);
  pthread_mutex_lock (&host_lock);
}

void
host_worker_await_end (HostStream *stream)
{
  while (stream->worker)
    pthread_cond_wait (&worker_ended, &host_lock);
  host_workers_reap ();
}

bool
host_workers_shutdown (void)
{
  unsigned self = host_thread ()->worker != NULL ? 1 : 0;
  struct timespec limit;
  int error = 0;

  host_stopping = true;
  host_workers_wake ();
  clock_gettime (CLOCK_REALTIME, &limit);
  limit.tv_sec += SHUTDOWN_SECONDS;
  while (n_workers > self && error != ETIMEDOUT)
    error = pthread_cond_timedwait (&worker_ended, &host_lock, &limit);
  host_workers_reap ();
  if (n_workers > 0)
    return false;
  g_clear_pointer (&served, g_ptr_array_unref);
  return true;
}
