/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether what a graph points at is still what it was: asked before every checked replay, so it has to be quick. */
#include "config.h"

#include "census-private.h"

/* "Kernel 7 memra_x argument 2": who holds the first pointer into an allocation. */
char *
_memra_allocation_name_user (const MemraCensus *census, const MemraAllocation *allocation)
{
  g_autofree char *node = NULL;

  switch (allocation->user)
    {
    case MEMRA_USER_KERNEL:
      node = _memra_census_name_node (census, census->kernels[allocation->user_index].node);
      return allocation->user_at == 0 ? g_strdup_printf ("%s argument %u", node, allocation->user_argument)
                                      : g_strdup_printf ("%s argument %u, byte %u of it,", node,
                                                         allocation->user_argument, allocation->user_at);
    case MEMRA_USER_COPY_SOURCE:
    case MEMRA_USER_COPY_TARGET:
      node = _memra_census_name_node (census, g_array_index (census->copies, MemraCopy, allocation->user_index).node);
      return g_strdup_printf ("%s %s", node, allocation->user == MEMRA_USER_COPY_SOURCE ? "source" : "target");
    default:
      return _memra_census_name_node (census, allocation->user_index);
    }
}

void
_memra_allocation_set_stale (const MemraAllocation *allocation, const char *user, MemraDriver *driver, GError **error)
{
  int attributes[] = { MCU_POINTER_BUFFER_ID, MCU_POINTER_RANGE_SIZE };
  guint64 id = 0, size_now = 0;
  void *slots[] = { &id, &size_now };
  gboolean is_part = allocation->end - allocation->start < allocation->range_size;
  g_autofree char *fate = NULL;

  if (driver->cu.cuPointerGetAttributes (G_N_ELEMENTS (attributes), attributes, slots, allocation->start)
      != MCU_SUCCESS)
    id = size_now = 0;

  if (id == 0)
    fate = g_strdup (size_now > 0 || is_part ? "has been unmapped" : "has been freed");
  else if (id == allocation->id || is_part)
    fate = g_strdup ("has other memory mapped to it now");
  else
    fate = g_strdup_printf ("has been freed; another one of %" G_GUINT64_FORMAT " bytes is there now", size_now);

  g_set_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE,
               "%s points %" G_GUINT64_FORMAT " bytes into an allocation of %" G_GUINT64_FORMAT
               " bytes at 0x%" G_GINT64_MODIFIER "x that %s",
               user, allocation->user_offset, allocation->end - allocation->start, allocation->start, fate);
}

/* Host memory that the driver does not know has no identity: nobody can say that it is still the same. */
gboolean
_memra_census_check_pageable (const MemraCensus *census, GError **error)
{
  const MemraCopy *copy;
  g_autofree char *name = NULL;

  if (census->pageable_copy == MEMRA_NO_RECORD)
    return TRUE;
  copy = &g_array_index (census->copies, MemraCopy, census->pageable_copy);
  name = _memra_census_name_node (census, copy->node);
  g_set_error (
      error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_STALE,
      "%s %s pageable host memory, and no driver call tells whether that memory is still the caller's: use pinned "
      "memory, or launch without a check",
      name, copy->source.kind == MEMRA_PLACE_PAGEABLE ? "reads" : "writes");
  return FALSE;
}

/* Apart from the check, which has nothing to clean up. */
static gboolean
set_error (const MemraCensus *census, const MemraAllocation *stale, McuResult failed, MemraDriver *driver, GError **error)
{
  g_autofree char *user = NULL;

  if (failed != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, failed, "Could not ask what is at address 0x%" G_GINT64_MODIFIER "x",
                                    stale->start);
  user = _memra_allocation_name_user (census, stale);
  _memra_allocation_set_stale (stale, user, driver, error);
  return FALSE;
}

gboolean
_memra_census_check_allocations (const MemraCensus *census, MemraDriver *driver, GError **error)
{
  McuResult failed;
  const MemraAllocation *stale = _memra_allocations_find_stale (
      (const MemraAllocation *) (gpointer) census->allocations->data, census->allocations->len, driver, &failed);

  if (G_UNLIKELY (stale != NULL))
    return set_error (census, stale, failed, driver, error);
  return census->pageable_copy == MEMRA_NO_RECORD || _memra_census_check_pageable (census, error);
}
