/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a driver's handle to a number of ours. A launch looks a handle up each time, so reading is free of locks: an open
 * table whose keys are only ever added, and that is replaced, not moved, when it has grown too full. The old table is
 * left to those who still read it; all of them together are no larger than the last.
 */
#include "config.h"

#include "record-private.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uintptr_t key;   /* 0: free. Never changes once it is set. */
  unsigned number; /* 0: removed */
} Slot;

struct _RecordMapTable
{
  size_t size; /* a power of two */
  size_t used; /* keys, removed ones too */
  Slot slots[];
};

static size_t
spread (uintptr_t key)
{
  return (size_t) ((key >> 4) * (uintptr_t) 0x9e3779b97f4a7c15ull >> 16);
}

static Slot *
find (RecordMapTable *table, uintptr_t key)
{
  for (size_t i = spread (key);; i++)
    {
      Slot *slot = &table->slots[i & (table->size - 1)];
      uintptr_t found = __atomic_load_n (&slot->key, __ATOMIC_ACQUIRE);

      if (found == key || found == 0)
        return slot;
    }
}

static RecordMapTable *
new_table (size_t size)
{
  RecordMapTable *table = calloc (1, sizeof *table + size * sizeof (Slot));

  if (table != NULL)
    table->size = size;
  return table;
}

static void
insert (RecordMapTable *table, uintptr_t key, unsigned number)
{
  Slot *slot = find (table, key);

  __atomic_store_n (&slot->number, number, __ATOMIC_RELEASE);
  if (slot->key == 0)
    {
      table->used++;
      __atomic_store_n (&slot->key, key, __ATOMIC_RELEASE);
    }
}

/* A table with room for one more, with what is not removed. */
static RecordMapTable *
grow (RecordMap *map)
{
  RecordMapTable *old = map->table, *table;
  size_t live = 0, size = 64;

  if (old != NULL && 2 * (old->used + 1) <= old->size)
    return old;
  for (size_t i = 0; old != NULL && i < old->size; i++)
    live += old->slots[i].number != 0;
  while (size < 4 * (live + 1))
    size *= 2;
  table = new_table (size);
  if (table == NULL)
    return NULL;
  for (size_t i = 0; old != NULL && i < old->size; i++)
    if (old->slots[i].number != 0)
      insert (table, old->slots[i].key, old->slots[i].number);
  __atomic_store_n (&map->table, table, __ATOMIC_RELEASE);
  return table;
}

void
record_map_put (RecordMap *map, const void *handle, unsigned number)
{
  RecordMapTable *table = handle != NULL ? grow (map) : NULL;

  if (table != NULL)
    insert (table, (uintptr_t) handle, number);
}

unsigned
record_map_remove (RecordMap *map, const void *handle)
{
  Slot *slot = map->table != NULL && handle != NULL ? find (map->table, (uintptr_t) handle) : NULL;

  return slot != NULL && slot->key != 0 ? __atomic_exchange_n (&slot->number, 0, __ATOMIC_ACQ_REL) : 0;
}

unsigned
record_map_get (const RecordMap *map, const void *handle)
{
  RecordMapTable *table = __atomic_load_n (&map->table, __ATOMIC_ACQUIRE);
  Slot *slot = table != NULL && handle != NULL ? find (table, (uintptr_t) handle) : NULL;

  return slot != NULL && slot->key != 0 ? __atomic_load_n (&slot->number, __ATOMIC_ACQUIRE) : 0;
}

void
record_map_forget (RecordMap *map)
{
  map->table = NULL;
}
