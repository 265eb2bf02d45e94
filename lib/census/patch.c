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
  copy->uses = NULL;
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

      if (allocation->id == wanted->id && allocation->block_id == wanted->block_id && allocation->start == wanted->start
          && allocation->end == wanted->end)
        return i;
    }
  return MEMRA_NO_BUFFER;
}

/* Memory that the graph allocates itself has no identity that the driver could tell. Of several allocations that have
 * an address in turn, the last is taken. */
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
_memra_census_patch_add (MemraCensusPatch *patch, guint32 kernel, const McuKernelNodeParams *params,
                         const guint8 *bytes, GError **error)
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
install_values (MemraCensus *census, const KernelPatch *item)
{
  MemraKernelNode *kernel = &census->kernels[item->kernel];
  const McuKernelNodeParams *params = item->params;

  /* Bytes and pointers lie in the arena of this very census, for this very kernel. */
  if (kernel->n_bytes > 0)
    memcpy ((guint8 *) kernel->bytes, item->bytes, kernel->n_bytes);
  kernel->grid = (MemraDim3){ params->grid_x, params->grid_y, params->grid_z };
  kernel->block = (MemraDim3){ params->block_x, params->block_y, params->block_z };
  kernel->shared_bytes = params->shared_bytes;
}

static void
install_pointers (MemraCensusPatch *patch, const KernelPatch *item)
{
  MemraKernelNode *kernel = &patch->census->kernels[item->kernel];

  if (item->n_pointers > MAX (kernel->n_pointers, kernel->pointer_room))
    {
      kernel->pointer_room = kernel->n_bytes / sizeof (guint64);
      kernel->pointers = _memra_arena_alloc (&patch->census->arena, kernel->pointer_room * sizeof *kernel->pointers);
    }
  else
    kernel->pointer_room = MAX (kernel->n_pointers, kernel->pointer_room);
  kernel->n_pointers = item->n_pointers;
  if (item->n_pointers > 0)
    memcpy ((MemraPointer *) kernel->pointers, &g_array_index (patch->pointers, MemraPointer, item->first_pointer),
            item->n_pointers * sizeof *kernel->pointers);
}

/* ---- Numbers ----
 *
 * Allocations stand in order of first appearance, and each is known by its first user. When a pointer changes, all
 * numbers may; but most often none does, and then the rest of a large graph is left in peace. */

static void
set_user (MemraAllocation *allocation, const MemraUser *user, guint64 offset)
{
  allocation->user = user->user;
  allocation->user_index = user->index;
  allocation->user_argument = user->argument;
  allocation->user_at = user->at;
  allocation->user_offset = offset;
}

typedef struct
{
  const GArray *old;
  GArray *allocations; /* MemraAllocation */
  guint32 *numbers;    /* old number -> new one, or MEMRA_NO_BUFFER */
  guint32 *uses;       /* of each new one */
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

      set_user (&allocation, user, offset);
      numbering->numbers[*buffer] = number = numbering->allocations->len;
      g_array_append_val (numbering->allocations, allocation);
    }
  numbering->uses[number]++;
  *buffer = number;
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
    {
      const MemraKernelNode *kernel = &census->kernels[node->record];
      MemraPointer *pointers = (MemraPointer *) kernel->pointers;

      for (guint i = 0; i < kernel->n_pointers; i++)
        {
          const MemraUser user = _memra_kernel_user (kernel, node->record, pointers[i].at);

          renumber (numbering, &pointers[i].buffer, &user, pointers[i].offset);
        }
    }
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

/* Gives every allocation its number anew, leaves out those that nobody points at, and counts the uses of the others. */
static void
renumber_all (MemraCensus *census)
{
  const guint n = census->allocations->len;
  g_autofree guint32 *numbers = g_new (guint32, n + 1);
  Numbering numbering = { .old = census->allocations, .numbers = numbers };

  memset (numbers, 0xff, n * sizeof *numbers); /* MEMRA_NO_BUFFER */
  numbering.allocations = g_array_sized_new (FALSE, FALSE, sizeof (MemraAllocation), n);
  numbering.uses = g_new0 (guint32, n + 1);
  for (guint32 i = 0; i < census->nodes->len; i++)
    renumber_node (&numbering, census, i);
  g_array_unref (census->allocations);
  census->allocations = numbering.allocations;
  census->n_allocations = census->allocations->len;
  g_free (census->uses);
  census->uses = numbering.uses;
}

/* Where something is in the order of appearance. */
typedef struct
{
  guint32 node;
  guint32 at;
} Appearance;

static gboolean
is_before (Appearance a, Appearance b)
{
  return a.node != b.node ? a.node < b.node : a.at < b.at;
}

static Appearance
first_appearance (const MemraCensus *census, guint32 buffer)
{
  const MemraAllocation *allocation = &g_array_index (census->allocations, MemraAllocation, buffer);
  const MemraKernelNode *kernel;

  switch (allocation->user)
    {
    case MEMRA_USER_KERNEL:
      kernel = &census->kernels[allocation->user_index];
      return (Appearance){ kernel->node,
                           kernel->function->n_parameters > 0
                               ? kernel->function->parameters[allocation->user_argument].offset + allocation->user_at
                               : allocation->user_at };
    case MEMRA_USER_COPY_SOURCE:
    case MEMRA_USER_COPY_TARGET:
      return (Appearance){ g_array_index (census->copies, MemraCopy, allocation->user_index).node,
                           allocation->user == MEMRA_USER_COPY_TARGET };
    default:
      return (Appearance){ allocation->user_index, 0 };
    }
}

/* A pointer that is another one now. */
typedef struct
{
  guint32 kernel;
  const MemraPointer *old; /* nullable */
  MemraPointer *new;       /* nullable: in the patch's list */
} Move;

/* Takes one move over if no number changes by it; else says so, with everything still as it was. */
static gboolean
move_quietly (MemraCensusPatch *patch, const Move *move, gboolean is_only_one)
{
  MemraCensus *census = patch->census;
  const MemraKernelNode *kernel = &census->kernels[move->kernel];
  const guint32 n = census->allocations->len, at = move->old != NULL ? move->old->at : move->new->at;
  const Appearance here = { kernel->node, at };
  const guint32 before = move->old != NULL ? move->old->buffer : MEMRA_NO_BUFFER;
  const guint32 after = move->new != NULL ? move->new->buffer : MEMRA_NO_BUFFER;
  const gboolean is_first = before != MEMRA_NO_BUFFER && !is_before (first_appearance (census, before), here);
  const MemraUser user = _memra_kernel_user (kernel, move->kernel, at);

  if (before == after)
    {
      if (is_first)
        set_user (&g_array_index (census->allocations, MemraAllocation, before), &user, move->new->offset);
      return TRUE;
    }
  if (is_first && (!is_only_one || census->uses[before] > 1))
    return FALSE; /* somebody else is the first user from now on, or nobody */
  if (is_first && after != MEMRA_NO_BUFFER && after >= n)
    {
      /* One that is used nowhere else for another: it takes its number. */
      MemraAllocation *allocation = &g_array_index (census->allocations, MemraAllocation, before);

      *allocation = g_array_index (patch->allocations, MemraAllocation, after - n);
      set_user (allocation, &user, move->new->offset);
      move->new->buffer = before;
      return TRUE;
    }
  if (is_first && before + 1 < n)
    return FALSE; /* it goes, and those behind it move up */
  if (after != MEMRA_NO_BUFFER && after < n && !is_before (first_appearance (census, after), here))
    return FALSE;
  if (after != MEMRA_NO_BUFFER && after >= n
      && (!is_only_one || (n > 0 && !is_before (first_appearance (census, n - 1), here))))
    return FALSE;

  if (before != MEMRA_NO_BUFFER && --census->uses[before] == 0)
    g_array_set_size (census->allocations, before);
  if (after != MEMRA_NO_BUFFER && after < n)
    census->uses[after]++;
  else if (after != MEMRA_NO_BUFFER)
    {
      MemraAllocation allocation = g_array_index (patch->allocations, MemraAllocation, after - n);

      set_user (&allocation, &user, move->new->offset);
      census->uses = g_renew (guint32, census->uses, n + 2);
      census->uses[n] = 1;
      g_array_append_val (census->allocations, allocation);
    }
  census->n_allocations = census->allocations->len;
  return TRUE;
}

/* The pointers of a kernel that are not what they were. */
static void
list_moves (MemraCensusPatch *patch, const KernelPatch *item, GArray *moves)
{
  const MemraKernelNode *kernel = &patch->census->kernels[item->kernel];
  guint i = 0, k = 0;

  while (i < kernel->n_pointers || k < item->n_pointers)
    {
      const MemraPointer *old = i < kernel->n_pointers ? &kernel->pointers[i] : NULL;
      MemraPointer *new
          = k < item->n_pointers ? &g_array_index (patch->pointers, MemraPointer, item->first_pointer + k) : NULL;
      Move move = { .kernel = item->kernel };

      if (old != NULL && (new == NULL || old->at <= new->at))
        move.old = old;
      if (new != NULL && (old == NULL || new->at <= old->at))
        move.new = new;
      i += move.old != NULL;
      k += move.new != NULL;
      if (move.old == NULL || move.new == NULL || old->buffer != new->buffer || old->offset != new->offset)
        g_array_append_val (moves, move);
    }
}

void
_memra_census_patch_apply (MemraCensusPatch *patch)
{
  MemraCensus *census = patch->census;
  g_autoptr (GArray) moves = NULL;
  gboolean quiet = TRUE;

  for (guint i = 0; i < patch->kernels->len; i++)
    install_values (census, &g_array_index (patch->kernels, KernelPatch, i));
  if (!patch->points_elsewhere)
    return;

  if (census->uses == NULL)
    renumber_all (census); /* which changes nothing but that uses are counted */
  moves = g_array_new (FALSE, FALSE, sizeof (Move));
  for (guint i = 0; i < patch->kernels->len; i++)
    list_moves (patch, &g_array_index (patch->kernels, KernelPatch, i), moves);
  for (guint i = 0; i < moves->len && quiet; i++)
    quiet = move_quietly (patch, &g_array_index (moves, Move, i), moves->len == 1);
  if (!quiet && patch->allocations->len > 0)
    g_array_append_vals (census->allocations, patch->allocations->data, patch->allocations->len);
  for (guint i = 0; i < patch->kernels->len; i++)
    install_pointers (patch, &g_array_index (patch->kernels, KernelPatch, i));
  if (!quiet)
    renumber_all (census);
}
