/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object.c: live objects, by kind.
 */
#include "core-private.h"

static GHashTable *live[HOST_N_KINDS]; /* sets of HostObject *, borrowed: the handle's reference is the object's own */

void
host_object_init_dead (HostObject *object, HostKind kind, HostFinalize finalize)
{
  object->magic = HOST_MAGIC;
  object->kind = kind;
  object->refs = 1;
  object->live = false;
  object->finalize = finalize;
}

void
host_object_revive (HostObject *object)
{
  g_assert (object->magic == HOST_MAGIC && !object->live);
  object->live = true;
  if (live[object->kind] == NULL)
    live[object->kind] = g_hash_table_new (NULL, NULL);
  g_hash_table_add (live[object->kind], object);
}

void
host_object_init (HostObject *object, HostKind kind, HostFinalize finalize)
{
  host_object_init_dead (object, kind, finalize);
  host_object_revive (object);
}

bool
host_object_is_live (const void *handle, HostKind kind)
{
  return handle != NULL && live[kind] != NULL && g_hash_table_contains (live[kind], handle);
}

void
host_object_retire (HostObject *object)
{
  g_assert (object->magic == HOST_MAGIC);
  if (!object->live)
    return;
  object->live = false;
  g_hash_table_remove (live[object->kind], object);
}

void *
host_object_ref (void *data)
{
  HostObject *object = data;

  g_assert (object->magic == HOST_MAGIC);
  object->refs++;
  return object;
}

void
host_object_unref (void *data)
{
  HostObject *object = data;

  if (object == NULL)
    return;
  g_assert (object->magic == HOST_MAGIC && object->refs > 0);
  if (--object->refs > 0)
    return;
  host_object_retire (object);
  object->magic = 0;
  object->finalize (object);
}

void
host_object_destroy (void *data)
{
  HostObject *object = data;

  host_object_retire (object);
  host_object_unref (object);
}

size_t
host_object_count (HostKind kind)
{
  return live[kind] != NULL ? g_hash_table_size (live[kind]) : 0;
}

void
host_object_foreach (HostKind kind, void (*fn) (void *object, void *data), void *data)
{
  g_autoptr (GPtrArray) objects = NULL;
  GHashTableIter iter;
  void *object;

  if (live[kind] == NULL)
    return;
  objects = g_ptr_array_new ();
  g_hash_table_iter_init (&iter, live[kind]);
  while (g_hash_table_iter_next (&iter, &object, NULL))
    g_ptr_array_add (objects, host_object_ref (object));
  for (guint i = 0; i < objects->len; i++)
    {
      HostObject *each = g_ptr_array_index (objects, i);

      if (each->live)
        fn (each, data);
    }
  for (guint i = 0; i < objects->len; i++)
    host_object_unref (g_ptr_array_index (objects, i));
}

void
host_objects_shutdown (void)
{
  for (int i = 0; i < HOST_N_KINDS; i++)
    if (live[i] != NULL && g_hash_table_size (live[i]) == 0)
      g_clear_pointer (&live[i], g_hash_table_unref);
}
