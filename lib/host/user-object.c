/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * user-object.c: the client's data that graphs keep alive, and who runs its destructors: the client's thread at the end
 * of the call that gave up the last reference, as NVIDIA's driver was seen to do it, or, when that was the end of a
 * launch, a thread of the driver's own. CUDA calls answer 800 in either.
 */
#include "graph-private.h"

#include <limits.h>

struct CUuserObject_st
{
  HostObject object; /* live: somebody holds a reference */
  void *data;
  CUhostFn destroy;
  unsigned count;  /* all references */
  unsigned client; /* those that the client holds itself */
};

typedef struct
{
  CUhostFn destroy;
  void *data;
} Destruction;

static GQueue due = G_QUEUE_INIT; /* Destruction, owned: for the client's thread */

/* The thread starts with the first destruction that is its own and sleeps in between. */
static GQueue pending = G_QUEUE_INIT; /* Destruction, owned */
static bool running, stopping;
static pthread_t thread;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static void *
destroyer_main (void *unused)
{
  (void) unused;
  pthread_mutex_lock (&host_lock);
  for (;;)
    {
      Destruction *next = g_queue_pop_head (&pending);
      if (next != NULL)
        {
          pthread_mutex_unlock (&host_lock);
          host_call_unlocked (next->destroy, next->data);
          g_free (next);
          pthread_mutex_lock (&host_lock);
        }
      else if (stopping)
        break;
      else
        pthread_cond_wait (&wake, &host_lock);
    }
  pthread_mutex_unlock (&host_lock);
  return NULL;
}

static void
destroyer_add (CUhostFn destroy, void *data)
{
  Destruction *next = g_new (Destruction, 1);
  next->destroy = destroy;
  next->data = data;
  if (host_thread ()->locked && host_thread ()->worker == NULL)
    {
      g_queue_push_tail (&due, next);
      return;
    }
  g_queue_push_tail (&pending, next);
  if (!running)
    running = pthread_create (&thread, NULL, destroyer_main, NULL) == 0;
  pthread_cond_signal (&wake);
}

void
host_user_objects_flush (void)
{
  Destruction *next;
  while ((next = g_queue_pop_head (&due)) != NULL)
    {
      host_call_back (next->destroy, next->data);
      g_free (next);
    }
}

/* Runs what is pending and ends the thread; drops the lock meanwhile. */
void
host_user_objects_shutdown (void)
{
  if (!running)
    return;
  stopping = true;
  pthread_cond_signal (&wake);
  pthread_mutex_unlock (&host_lock);
  pthread_join (thread, NULL);
  pthread_mutex_lock (&host_lock);
  running = stopping = false;
}

static void
object_finalize (HostObject *object)
{
  g_free (object);
}

void
host_user_object_retain (HostUserObject *object, unsigned count)
{
  object->count += count;
}

void
host_user_object_release (HostUserObject *object, unsigned count)
{
  object->count -= count;
  if (object->count > 0)
    return;
  destroyer_add (object->destroy, object->data);
  host_object_destroy (object);
}

GHashTable *
host_user_objects_copy (GHashTable *objects)
{
  GHashTableIter iter;
  gpointer key;

  if (objects == NULL)
    return NULL;
  GHashTable *copy = g_hash_table_new (NULL, NULL);
  g_hash_table_iter_init (&iter, objects);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      host_user_object_retain (key, 1);
      g_hash_table_insert (copy, key, GUINT_TO_POINTER (1));
    }
  return copy;
}

void
host_user_objects_free (GHashTable *objects)
{
  GHashTableIter iter;
  gpointer key, value;

  if (objects == NULL)
    return;
  g_hash_table_iter_init (&iter, objects);
  while (g_hash_table_iter_next (&iter, &key, &value))
    host_user_object_release (key, GPOINTER_TO_UINT (value));
  g_hash_table_unref (objects);
}

/* ---------------------------------------------------------------------------------------------------------------
 * Entry points
 */

static McuResult
object_create (CUuserObject *out, void *data, CUhostFn destroy, unsigned count, unsigned flags)
{
  if (out == NULL || destroy == NULL || count == 0 || count > INT_MAX || flags != MCU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return MCU_ERROR_INVALID_VALUE;
  HostUserObject *object = g_new0 (HostUserObject, 1);
  object->data = data;
  object->destroy = destroy;
  object->count = object->client = count;
  host_object_init (&object->object, HOST_KIND_USER_OBJECT, object_finalize);
  *out = object;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuUserObjectCreate (CUuserObject *object, void *data, CUhostFn destroy, unsigned count, unsigned flags)
{
  HOST_CALL (cuUserObjectCreate, object_create (object, data, destroy, count, flags));
}

static HostUserObject *
object_get (CUuserObject handle, unsigned count)
{
  if (count == 0 || count > INT_MAX || !host_object_is_live (handle, HOST_KIND_USER_OBJECT))
    return NULL;
  return handle;
}

static McuResult
object_retain (CUuserObject handle, unsigned count)
{
  HostUserObject *object = object_get (handle, count);
  if (object == NULL || object->count > INT_MAX - count)
    return MCU_ERROR_INVALID_VALUE;
  host_user_object_retain (object, count);
  object->client += count;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuUserObjectRetain (CUuserObject object, unsigned count)
{
  HOST_CALL (cuUserObjectRetain, object_retain (object, count));
}

static McuResult
object_release (CUuserObject handle, unsigned count)
{
  HostUserObject *object = object_get (handle, count);
  if (object == NULL || object->client < count)
    return MCU_ERROR_INVALID_VALUE;
  object->client -= count;
  host_user_object_release (object, count);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuUserObjectRelease (CUuserObject object, unsigned count)
{
  HOST_CALL (cuUserObjectRelease, object_release (object, count));
}

static McuResult
graph_retain (CUgraph graph, CUuserObject handle, unsigned count, unsigned flags)
{
  HostUserObject *object = object_get (handle, count);
  if (host_graph_get (graph) == NULL || object == NULL || flags > MCU_GRAPH_USER_OBJECT_MOVE)
    return MCU_ERROR_INVALID_VALUE;
  if (flags == MCU_GRAPH_USER_OBJECT_MOVE)
    {
      if (object->client < count)
        return MCU_ERROR_INVALID_VALUE;
      object->client -= count;
    }
  else
    host_user_object_retain (object, count);
  if (graph->user_objects == NULL)
    graph->user_objects = g_hash_table_new (NULL, NULL);
  count += GPOINTER_TO_UINT (g_hash_table_lookup (graph->user_objects, object));
  g_hash_table_insert (graph->user_objects, object, GUINT_TO_POINTER (count));
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphRetainUserObject (CUgraph graph, CUuserObject object, unsigned count, unsigned flags)
{
  HOST_CALL (cuGraphRetainUserObject, graph_retain (graph, object, count, flags));
}

static McuResult
graph_release (CUgraph graph, CUuserObject handle, unsigned count)
{
  HostUserObject *object = object_get (handle, count);
  if (host_graph_get (graph) == NULL || object == NULL || graph->user_objects == NULL)
    return MCU_ERROR_INVALID_VALUE;
  unsigned held = GPOINTER_TO_UINT (g_hash_table_lookup (graph->user_objects, object));
  if (held < count)
    return MCU_ERROR_INVALID_VALUE;
  if (held == count)
    g_hash_table_remove (graph->user_objects, object);
  else
    g_hash_table_insert (graph->user_objects, object, GUINT_TO_POINTER (held - count));
  host_user_object_release (object, count);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuGraphReleaseUserObject (CUgraph graph, CUuserObject object, unsigned count)
{
  HOST_CALL (cuGraphReleaseUserObject, graph_release (graph, object, count));
}
