/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A census that follows edits of its graph. It is not read anew: what the edits do not touch is what it was when it was
 * captured, whatever has become of it since, and a pointer into memory that was freed meanwhile must stay known as one.
 * And an edit of one argument must not cost what a census does.
 */
#include "config.h"

#include "reading-private.h"

#include <string.h>

/* A kernel as it is to be. */
typedef struct
{
  guint32 kernel;
  const McuKernelNodeParams *params; /* borrowed */
  const guint8 *bytes;               /* borrowed */
  guint first_pointer, n_pointers;   /* in the patch's list */
} KernelPatch;

struct _MemraCensusPatch
{
  MemraCensus *census; /* borrowed */
  MemraDriver *driver; /* borrowed */
  GArray *kernels;     /* owned: KernelPatch */
  GArray *pointers;    /* owned: MemraPointer */
  GArray *allocations; /* owned: MemraAllocation, numbered after those of the census */
  gboolean points_elsewhere;
};

MemraCensus *
_memra_census_copy (MemraCensus *census)
{
  MemraCensus *copy = g_new0 (MemraCensus, 1);
  MemraCensus *base = census->base != NULL ? census->base : census;

  *copy = *census;
  g_atomic_ref_count_init (&copy->ref_count);
  copy->base = memra_census_ref (base);
  copy->strings = g_string_chunk_new (64);
  copy->arena = (MemraArena){ 0 };
  copy->reading = NULL;
  g_array_ref (copy->nodes);
  g_array_ref (copy->edges);
  g_array_ref (copy->hazards);
  g_hash_table_ref (copy->counts);
  g_ptr_array_ref (copy->names);
  copy->details = g_array_copy (census->details);
  copy->copies = g_array_copy (census->copies);
  copy->allocations = g_array_copy (census->allocations);
  copy->kernels = g_memdup2 (census->kernels, census->n_kernels * sizeof *census->kernels);
  for (guint i = 0; i < copy->n_kernels; i++)
    {
      MemraKernelNode *kernel = &copy->kernels[i];

      if (kernel->n_bytes > 0)
        kernel->bytes = _memra_arena_copy (&copy->arena, kernel->bytes, kernel->n_bytes);
      if (kernel->n_pointers > 0)
        kernel->pointers
            = _memra_arena_copy (&copy->arena, kernel->pointers, kernel->n_pointers * sizeof *kernel->pointers);
      kernel->pointer_room = 0;
    }
  return copy;
}

MemraCensusPatch *
_memra_census_patch_new (MemraCensus *census, MemraDriver *driver)
{
  MemraCensusPatch *patch = g_new0 (MemraCensusPatch, 1);

  patch->census = census;
  patch->driver = driver;
  patch->kernels = g_array_new (FALSE, FALSE, sizeof (KernelPatch));
  patch->pointers = g_array_new (FALSE, FALSE, sizeof (MemraPointer));
  patch->allocations = g_array_new (FALSE, FALSE, sizeof (MemraAllocation));
  return patch;
}

void
_memra_census_patch_free (MemraCensusPatch *patch)
{
  if (patch == NULL)
    return;
  g_array_unref (patch->kernels);
  g_array_unref (patch->pointers);
  g_array_unref (patch->allocations);
  g_free (patch);
}

static guint32
find_same (const GArray *allocations, const MemraAllocation *wanted)
{
  for (guint i = 0; i < allocations->len; i++)
    {
      const MemraAllocation *allocation = &g_array_index (allocations, MemraAllocation, i);

      if (allocation->id == wanted->id && allocation->block_id == wanted->block_id
          && allocation->start == wanted->start && allocation->end == wanted->end)
        return i;
    }
  return MEMRA_NO_BUFFER;
}

/* Memory that the graph allocates itself has no identity that the driver could tell. Of several allocations that have an
 * address in turn, the last is taken. */
static guint32
find_own (const GArray *allocations, guint64 address)
{
  for (guint i = allocations->len; i-- > 0;)
    {
      const MemraAllocation *allocation = &g_array_index (allocations, MemraAllocation, i);

      if (allocation->id == 0 && address >= allocation->start && address < allocation->end)
        return i;
    }
  return MEMRA_NO_BUFFER;
}

/* What a new value points at. */
static gboolean
resolve (MemraCensusPatch *patch, guint64 value, const MemraUser *user, MemraPointer *pointer, GError **error)
{
  const GArray *known = patch->census->allocations;
  MemraAllocation allocation;
  guint32 added;

  pointer->buffer = MEMRA_NO_BUFFER;
  if (!_memra_may_be_address (value))
    return TRUE;
  pointer->buffer = find_own (known, value);
  if (pointer->buffer != MEMRA_NO_BUFFER)
    {
      pointer->offset = value - g_array_index (known, MemraAllocation, pointer->buffer).start;
      return TRUE;
    }
  if (!_memra_allocation_read (patch->driver, value, user, &allocation, error))
    return FALSE;
  if (allocation.id == 0)
    return TRUE;
  pointer->offset = value - allocation.start;
  pointer->buffer = find_same (known, &allocation);
  if (pointer->buffer != MEMRA_NO_BUFFER)
    return TRUE;
  added = find_same (patch->allocations, &allocation);
  if (added == MEMRA_NO_BUFFER)
    {
      added = patch->allocations->len;
      g_array_append_val (patch->allocations, allocation);
    }
  pointer->buffer = known->len + added;
  return TRUE;
}

static const MemraPointer *
pointer_at (const MemraKernelNode *kernel, guint32 at)
{
  for (guint i = 0; i < kernel->n_pointers && kernel->pointers[i].at <= at; i++)
    if (kernel->pointers[i].at == at)
      return &kernel->pointers[i];
  return NULL;
}

/* The pointers of one argument, as they are found when a graph is read; what did not change is what it was. */
static gboolean
add_argument (MemraCensusPatch *patch, KernelPatch *item, const MemraKernelNode *kernel, guint argument, GError **error)
{
  const MemraParameter *parameter = &kernel->function->parameters[argument];
  MemraUser user = { .user = MEMRA_USER_KERNEL, .index = item->kernel, .argument = argument };

  if (parameter->offset % sizeof (guint64) != 0)
    return TRUE;
  for (guint32 at = 0; at + sizeof (guint64) <= parameter->size; at += sizeof (guint64))
    {
      const guint32 place = parameter->offset + at;
      const MemraPointer *old = pointer_at (kernel, place);
      MemraPointer pointer = { .at = place, .buffer = MEMRA_NO_BUFFER };

      if (memcmp (kernel->bytes + place, item->bytes + place, sizeof (guint64)) != 0)
        {
          guint64 value;

          memcpy (&value, item->bytes + place, sizeof value);
          user.at = at;
          if (!resolve (patch, value, &user, &pointer, error))
            return FALSE;
          patch->points_elsewhere = patch->points_elsewhere || old != NULL || pointer.buffer != MEMRA_NO_BUFFER;
        }
      else if (old != NULL)
        pointer = *old;
      if (pointer.buffer != MEMRA_NO_BUFFER)
        {
          g_array_append_val (patch->pointers, pointer);
          item->n_pointers++;
        }
    }
  return TRUE;
}

gboolean
_memra_census_patch_add (MemraCensusPatch *patch, guint32 kernel, const McuKernelNodeParams *params, const guint8 *bytes,
                         GError **error)
{
  const MemraKernelNode *node = &patch->census->kernels[kernel];
  KernelPatch item = { .kernel = kernel, .params = params, .bytes = bytes, .first_pointer = patch->pointers->len };

  for (guint i = 0; i < node->function->n_parameters; i++)
    if (!add_argument (patch, &item, node, i, error))
      return FALSE;
  g_array_append_val (patch->kernels, item);
  return TRUE;
}

static void
install (MemraCensusPatch *patch, const KernelPatch *item)
{
  MemraCensus *census = patch->census;
  MemraKernelNode *kernel = &census->kernels[item->kernel];
  const McuKernelNodeParams *params = item->params;

  /* Bytes and pointers lie in the arena of this very census, for this very kernel. */
  if (kernel->n_bytes > 0)
    memcpy ((guint8 *) kernel->bytes, item->bytes, kernel->n_bytes);
  if (item->n_pointers > MAX (kernel->n_pointers, kernel->pointer_room))
    {
      kernel->pointer_room = kernel->n_bytes / sizeof (guint64);
      kernel->pointers = _memra_arena_alloc (&census->arena, kernel->pointer_room * sizeof *kernel->pointers);
    }
  else
    kernel->pointer_room = MAX (kernel->n_pointers, kernel->pointer_room);
  kernel->n_pointers = item->n_pointers;
  if (item->n_pointers > 0)
    memcpy ((MemraPointer *) kernel->pointers, &g_array_index (patch->pointers, MemraPointer, item->first_pointer),
            item->n_pointers * sizeof *kernel->pointers);
  kernel->grid = (MemraDim3){ params->grid_x, params->grid_y, params->grid_z };
  kernel->block = (MemraDim3){ params->block_x, params->block_y, params->block_z };
  kernel->shared_bytes = params->shared_bytes;
}

/* Allocations in order of first appearance, those that nobody points at any more left out. */
typedef struct
{
  const GArray *old;
  GArray *allocations; /* MemraAllocation */
  guint32 *numbers;    /* old number -> new one, or MEMRA_NO_BUFFER */
} Numbering;

static void
renumber (Numbering *numbering, guint32 *buffer, const MemraUser *user, guint64 offset)
{
  guint32 number;

  if (*buffer == MEMRA_NO_BUFFER)
    return;
  number = numbering->numbers[*buffer];
  if (number == MEMRA_NO_BUFFER)
    {
      MemraAllocation allocation = g_array_index (numbering->old, MemraAllocation, *buffer);

      allocation.user = user->user;
      allocation.user_index = user->index;
      allocation.user_argument = user->argument;
      allocation.user_at = user->at;
      allocation.user_offset = offset;
      numbering->numbers[*buffer] = number = numbering->allocations->len;
      g_array_append_val (numbering->allocations, allocation);
    }
  *buffer = number;
}

static void
renumber_kernel (Numbering *numbering, const MemraKernelNode *kernel, guint32 index)
{
  const MemraFunction *function = kernel->function;
  MemraPointer *pointers = (MemraPointer *) kernel->pointers;
  guint32 argument = 0;

  for (guint i = 0; i < kernel->n_pointers; i++)
    {
      MemraUser user = { .user = MEMRA_USER_KERNEL, .index = index };

      while (argument + 1 < function->n_parameters && function->parameters[argument + 1].offset <= pointers[i].at)
        argument++;
      user.argument = argument;
      user.at = pointers[i].at - (function->n_parameters > 0 ? function->parameters[argument].offset : 0);
      renumber (numbering, &pointers[i].buffer, &user, pointers[i].offset);
    }
}

static void
renumber_place (Numbering *numbering, MemraPlace *place, guint user, guint32 index)
{
  if (place->kind == MEMRA_PLACE_BUFFER)
    renumber (numbering, &place->buffer, &(MemraUser){ .user = user, .index = index }, place->offset);
}

static void
renumber_node (Numbering *numbering, MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);

  if (node->record == MEMRA_NO_RECORD)
    return;
  if (node->type == MCU_NODE_KERNEL)
    renumber_kernel (numbering, &census->kernels[node->record], node->record);
  else if (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET)
    {
      MemraCopy *copy = &g_array_index (census->copies, MemraCopy, node->record);

      renumber_place (numbering, &copy->source, MEMRA_USER_COPY_SOURCE, node->record);
      renumber_place (numbering, &copy->target, MEMRA_USER_COPY_TARGET, node->record);
    }
  else
    renumber (numbering, &g_array_index (census->details, MemraDetail, node->record).buffer,
              &(MemraUser){ .user = MEMRA_USER_NODE, .index = number }, 0);
}

void
_memra_census_patch_apply (MemraCensusPatch *patch)
{
  MemraCensus *census = patch->census;
  g_autofree guint32 *numbers = NULL;
  Numbering numbering;

  for (guint i = 0; i < patch->kernels->len; i++)
    install (patch, &g_array_index (patch->kernels, KernelPatch, i));
  if (!patch->points_elsewhere)
    return;

  if (patch->allocations->len > 0)
    g_array_append_vals (census->allocations, patch->allocations->data, patch->allocations->len);
  numbers = g_new (guint32, census->allocations->len + 1);
  memset (numbers, 0xff, census->allocations->len * sizeof *numbers); /* MEMRA_NO_BUFFER */
  numbering = (Numbering){ census->allocations,
                           g_array_sized_new (FALSE, FALSE, sizeof (MemraAllocation), census->allocations->len), numbers };
  for (guint32 i = 0; i < census->nodes->len; i++)
    renumber_node (&numbering, census, i);
  g_array_unref (census->allocations);
  census->allocations = numbering.allocations;
  census->n_allocations = census->allocations->len;
}
