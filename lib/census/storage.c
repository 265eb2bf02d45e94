/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arena and the map of a census. */
#include "config.h"

#include "storage-private.h"

#include <string.h>

#define ARENA_FIRST_CHUNK   4096
#define ARENA_LARGEST_CHUNK (1024 * 1024)
#define ARENA_ALIGNMENT     8

gpointer
_memra_arena_alloc (MemraArena *arena, gsize size)
{
  gpointer memory;

  size = (size + ARENA_ALIGNMENT - 1) & ~(gsize) (ARENA_ALIGNMENT - 1);
  if (G_UNLIKELY (size > arena->left))
    {
      gsize chunk_size = MAX (arena->chunk_size, ARENA_FIRST_CHUNK);

      if (arena->chunks == NULL)
        arena->chunks = g_ptr_array_new_with_free_func (g_free);
      if (size > chunk_size / 4)
        {
          memory = g_malloc (size);
          g_ptr_array_add (arena->chunks, memory);
          return memory;
        }
      arena->next = g_malloc (chunk_size);
      arena->left = chunk_size;
      arena->chunk_size = MIN (2 * chunk_size, ARENA_LARGEST_CHUNK);
      g_ptr_array_add (arena->chunks, arena->next);
    }
  memory = arena->next;
  arena->next += size;
  arena->left -= size;
  return memory;
}

gpointer
_memra_arena_copy (MemraArena *arena, gconstpointer bytes, gsize size)
{
  gpointer copy = _memra_arena_alloc (arena, size);

  if (size > 0)
    memcpy (copy, bytes, size);
  return copy;
}

void
_memra_arena_clear (MemraArena *arena)
{
  g_clear_pointer (&arena->chunks, g_ptr_array_unref);
  memset (arena, 0, sizeof *arena);
}

static void
map_put (MemraMap *map, guint64 key, guint32 value)
{
  gsize mask = ((gsize) 1 << (64 - map->shift)) - 1;
  gsize i = (key * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> map->shift;

  while (map->slots[i].key != 0 && map->slots[i].key != key)
    i = (i + 1) & mask;
  if (map->slots[i].key == 0)
    map->n++;
  map->slots[i].key = key;
  map->slots[i].value = value;
}

void
_memra_map_insert (MemraMap *map, guint64 key, guint32 value)
{
  gsize n_slots = map->shift == 0 ? 0 : (gsize) 1 << (64 - map->shift);

  g_return_if_fail (key != 0);

  if (2 * ((gsize) map->n + 1) > n_slots)
    {
      MemraMapSlot *old = map->slots;

      map->shift = map->shift == 0 ? 64 - 6 : map->shift - 1;
      map->slots = g_new0 (MemraMapSlot, (gsize) 1 << (64 - map->shift));
      map->n = 0;
      for (gsize i = 0; i < n_slots; i++)
        if (old[i].key != 0)
          map_put (map, old[i].key, old[i].value);
      g_free (old);
    }
  map_put (map, key, value);
}

void
_memra_map_clear (MemraMap *map)
{
  g_free (map->slots);
  memset (map, 0, sizeof *map);
}
