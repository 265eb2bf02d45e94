/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Storage of a census: an arena for what lives as long as the census does, a map from 64-bit numbers to 32-bit ones for
 * what is asked once per node or argument, and a table of address ranges. A census of 100,000 kernels must not cost a
 * million allocations.
 */
#pragma once

#include <glib.h>

/* Zeroed memory is an empty arena. */
typedef struct
{
  guint8 *next;      /* borrowed: free part of the newest chunk */
  gsize left;        /* bytes in it */
  gsize chunk_size;  /* of the next chunk */
  GPtrArray *chunks; /* owned, nullable */
} MemraArena;

#define MEMRA_ARENA_ALIGN(size) (((size) + 7) & ~(gsize) 7)

gpointer _memra_arena_alloc_chunk (MemraArena *arena, gsize size);
gpointer _memra_arena_copy (MemraArena *arena, gconstpointer bytes, gsize size);
void _memra_arena_clear (MemraArena *arena);

/* Memory aligned for any of our structs, not cleared, valid until _memra_arena_clear(). */
static inline gpointer
_memra_arena_alloc (MemraArena *arena, gsize size)
{
  gpointer memory = arena->next;

  size = MEMRA_ARENA_ALIGN (size);
  if (G_UNLIKELY (size > arena->left))
    return _memra_arena_alloc_chunk (arena, size);
  arena->next += size;
  arena->left -= size;
  return memory;
}

/* Gives back the end of what was allocated last. */
static inline void
_memra_arena_trim (MemraArena *arena, gpointer memory, gsize old_size, gsize new_size)
{
  gsize excess = MEMRA_ARENA_ALIGN (old_size) - MEMRA_ARENA_ALIGN (new_size);

  if (arena->next == (guint8 *) memory + MEMRA_ARENA_ALIGN (old_size))
    {
      arena->next -= excess;
      arena->left += excess;
    }
}

typedef struct
{
  guint64 key; /* 0: the slot is empty */
  guint32 value;
} MemraMapSlot;

/* Zeroed memory is an empty map. The key 0 cannot be stored and is never found. */
typedef struct
{
  MemraMapSlot *slots; /* owned; open addressing, at most half full */
  guint shift;         /* 64 less the logarithm of the number of slots; 0: no slots */
  guint n;             /* keys stored */
} MemraMap;

/* Adds a key or replaces its value. */
void _memra_map_insert (MemraMap *map, guint64 key, guint32 value);
void _memra_map_clear (MemraMap *map);

static inline gboolean
_memra_map_lookup (const MemraMap *map, guint64 key, guint32 *value)
{
  gsize i;

  if (G_UNLIKELY (map->shift == 0))
    return FALSE;
  i = (key * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)) >> map->shift;
  while (map->slots[i].key != 0)
    {
      if (G_LIKELY (map->slots[i].key == key))
        {
          *value = map->slots[i].value;
          return TRUE;
        }
      i = (i + 1) & (((gsize) 1 << (64 - map->shift)) - 1);
    }
  return FALSE;
}

/* A part of the address space and what it belongs to. */
typedef struct
{
  guint64 start, end;
  guint32 value;
} MemraRange;

/* Ranges that do not overlap. Zeroed memory is an empty table. */
typedef struct
{
  GArray *old;   /* owned, nullable: MemraRange, sorted */
  GArray *young; /* owned, nullable: those that came since, sorted; merged into `old` when they are many */
} MemraRanges;

/* The range that an address lies in, or NULL; valid until the next change. */
const MemraRange *_memra_ranges_find (const MemraRanges *ranges, guint64 address);

/* Adds a range; what overlaps it is taken out. */
void _memra_ranges_insert (MemraRanges *ranges, guint64 start, guint64 end, guint32 value);
void _memra_ranges_clear (MemraRanges *ranges);
