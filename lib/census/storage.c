/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arena, the map and the address ranges of a census. */
#include "config.h"

#include "storage-private.h"

#include <string.h>

#define ARENA_FIRST_CHUNK   4096
#define ARENA_LARGEST_CHUNK (1024 * 1024)

/* So many young ranges at most: they are moved about at each insertion, and merged at a cost that grows with all. */
#define MANY_YOUNG 512

gpointer
_memra_arena_alloc_chunk (MemraArena *arena, gsize size)
{
  gsize chunk_size = MAX (arena->chunk_size, ARENA_FIRST_CHUNK);

  if (arena->chunks == NULL)
    arena->chunks = g_ptr_array_new_with_free_func (g_free);
  if (size > chunk_size / 4)
    {
      gpointer memory = g_malloc (size);

      g_ptr_array_add (arena->chunks, memory);
      return memory;
    }
  arena->next = g_malloc (chunk_size);
  arena->left = chunk_size;
  arena->chunk_size = MIN (2 * chunk_size, ARENA_LARGEST_CHUNK);
  g_ptr_array_add (arena->chunks, arena->next);
  return _memra_arena_alloc (arena, size);
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

/* The first of the ranges that ends behind an address. */
static guint
first_behind (const GArray *array, guint64 address)
{
  guint begin = 0, end = array != NULL ? array->len : 0;

  while (begin < end)
    {
      guint middle = begin + (end - begin) / 2;

      if (g_array_index (array, MemraRange, middle).end <= address)
        begin = middle + 1;
      else
        end = middle;
    }
  return begin;
}

static const MemraRange *
find_in (const GArray *array, guint64 address)
{
  guint i = first_behind (array, address);
  const MemraRange *range;

  if (array == NULL || i == array->len)
    return NULL;
  range = &g_array_index (array, MemraRange, i);
  return range->start <= address ? range : NULL;
}

const MemraRange *
_memra_ranges_find (const MemraRanges *ranges, guint64 address)
{
  const MemraRange *range = find_in (ranges->young, address);

  return range != NULL ? range : find_in (ranges->old, address);
}

static void
remove_overlapping (GArray *array, guint64 start, guint64 end)
{
  guint first = first_behind (array, start), n = 0;

  while (array != NULL && first + n < array->len && g_array_index (array, MemraRange, first + n).start < end)
    n++;
  if (n > 0)
    g_array_remove_range (array, first, n);
}

static void
merge_young (MemraRanges *ranges)
{
  GArray *merged = g_array_sized_new (FALSE, FALSE, sizeof (MemraRange), ranges->old->len + ranges->young->len);
  guint i = 0;

  for (guint k = 0; k < ranges->young->len; k++)
    {
      const MemraRange *young = &g_array_index (ranges->young, MemraRange, k);
      guint end = i;

      while (end < ranges->old->len && g_array_index (ranges->old, MemraRange, end).start < young->start)
        end++;
      if (end > i)
        g_array_append_vals (merged, &g_array_index (ranges->old, MemraRange, i), end - i);
      g_array_append_val (merged, *young);
      i = end;
    }
  if (i < ranges->old->len)
    g_array_append_vals (merged, &g_array_index (ranges->old, MemraRange, i), ranges->old->len - i);
  g_array_unref (ranges->old);
  ranges->old = merged;
  g_array_set_size (ranges->young, 0);
}

void
_memra_ranges_insert (MemraRanges *ranges, guint64 start, guint64 end, guint32 value)
{
  MemraRange range = { .start = start, .end = end, .value = value };

  if (ranges->old == NULL)
    {
      ranges->old = g_array_new (FALSE, FALSE, sizeof (MemraRange));
      ranges->young = g_array_new (FALSE, FALSE, sizeof (MemraRange));
    }
  remove_overlapping (ranges->old, start, end);
  remove_overlapping (ranges->young, start, end);
  g_array_insert_val (ranges->young, first_behind (ranges->young, start), range);
  if (ranges->young->len == MANY_YOUNG)
    merge_young (ranges);
}

void
_memra_ranges_clear (MemraRanges *ranges)
{
  g_clear_pointer (&ranges->old, g_array_unref);
  g_clear_pointer (&ranges->young, g_array_unref);
}
