/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Liveness of several graphs at once: layers of one model share most of what they point at. */
#include "config.h"

#include "census-private.h"

struct _MemraLiveSet
{
  GArray *allocations; /* MemraAllocation, close together: this is all that a check looks at */
  GPtrArray *users;    /* of each: who points at it first, in words; owned */
  MemraMap places;     /* start -> index of the last that starts there */
  GError *pageable;    /* owned, nullable: why no check can pass */
};

MemraLiveSet *
_memra_live_set_new (void)
{
  MemraLiveSet *set = g_new0 (MemraLiveSet, 1);

  set->allocations = g_array_new (FALSE, FALSE, sizeof (MemraAllocation));
  set->users = g_ptr_array_new_with_free_func (g_free);
  return set;
}

void
_memra_live_set_free (MemraLiveSet *set)
{
  if (set == NULL)
    return;
  g_array_unref (set->allocations);
  g_ptr_array_unref (set->users);
  _memra_map_clear (&set->places);
  g_clear_error (&set->pageable);
  g_free (set);
}

/* One address may have held several allocations, one after the other, when the graphs were captured. */
static gboolean
is_known (const MemraLiveSet *set, const MemraAllocation *allocation)
{
  const MemraAllocation *known;
  guint32 index;

  if (!_memra_map_lookup (&set->places, allocation->start, &index))
    return FALSE;
  known = &g_array_index (set->allocations, MemraAllocation, index);
  return known->id == allocation->id && known->block_id == allocation->block_id;
}

void
_memra_live_set_add (MemraLiveSet *set, const MemraCensus *census, const char *place)
{
  for (guint i = 0; i < census->allocations->len; i++)
    {
      const MemraAllocation *allocation = &g_array_index (census->allocations, MemraAllocation, i);
      g_autofree char *user = NULL;

      if (allocation->id == 0 || is_known (set, allocation))
        continue;
      user = _memra_allocation_name_user (census, allocation);
      _memra_map_insert (&set->places, allocation->start, set->allocations->len);
      g_array_append_val (set->allocations, *allocation);
      g_ptr_array_add (set->users, g_strdup_printf ("%s: %s", place, user));
    }
  if (set->pageable == NULL && !_memra_census_check_pageable (census, &set->pageable))
    g_prefix_error (&set->pageable, "%s: ", place);
}

gboolean
_memra_live_set_check (const MemraLiveSet *set, MemraDriver *driver, GError **error)
{
  const MemraAllocation *all = (const MemraAllocation *) (gpointer) set->allocations->data;
  McuResult failed;
  const MemraAllocation *stale = _memra_allocations_find_stale (all, set->allocations->len, driver, &failed);

  if (G_LIKELY (stale == NULL && set->pageable == NULL))
    return TRUE;
  if (stale == NULL)
    g_propagate_error (error, g_error_copy (set->pageable));
  else if (failed != MCU_SUCCESS)
    _memra_driver_set_error (driver, error, failed, "Could not ask what is at address 0x%" G_GINT64_MODIFIER "x",
                             stale->start);
  else
    _memra_allocation_set_stale (stale, set->users->pdata[stale - all], driver, error);
  return FALSE;
}

guint
_memra_live_set_get_size (const MemraLiveSet *set)
{
  return set->allocations->len;
}
