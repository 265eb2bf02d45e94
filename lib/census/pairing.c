/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When pointers of two censuses are the same. */
#include "config.h"

#include "census/align.h"
#include "census/diff-private.h"

/* How many pointers say that one buffer stands for another. */
typedef struct
{
  guint32 a, b;
  guint32 n;
  guint32 order;
} Vote;

typedef struct
{
  MemraMap places; /* both buffers -> index into votes */
  GArray *votes;   /* owned: Vote */
} Ballot;

static void
cast (Ballot *ballot, guint32 a, guint32 b)
{
  Vote vote = { a, b, 1, ballot->votes->len };
  guint64 key = ((guint64) a + 1) << 32 | b;
  guint32 place;

  if (a == MEMRA_NO_BUFFER || b == MEMRA_NO_BUFFER)
    return;
  if (_memra_map_lookup (&ballot->places, key, &place))
    {
      g_array_index (ballot->votes, Vote, place).n++;
      return;
    }
  _memra_map_insert (&ballot->places, key, vote.order);
  g_array_append_val (ballot->votes, vote);
}

static void
cast_place (Ballot *ballot, const MemraPlace *a, const MemraPlace *b)
{
  if (a->kind == MEMRA_PLACE_BUFFER && b->kind == MEMRA_PLACE_BUFFER)
    cast (ballot, a->buffer, b->buffer);
}

static void
cast_node (Ballot *ballot, const MemraCensus *a, const MemraNode *x, const MemraCensus *b, const MemraNode *y)
{
  if (x->type == MCU_NODE_KERNEL)
    {
      const MemraKernelNode *kernel = &a->kernels[x->record], *other = &b->kernels[y->record];

      for (guint i = 0; kernel->n_pointers == other->n_pointers && i < kernel->n_pointers; i++)
        cast (ballot, kernel->pointers[i].buffer, other->pointers[i].buffer);
    }
  else if (x->type == MCU_NODE_MEMCPY || x->type == MCU_NODE_MEMSET)
    {
      const MemraCopy *copy = &g_array_index (a->copies, MemraCopy, x->record);
      const MemraCopy *other = &g_array_index (b->copies, MemraCopy, y->record);

      cast_place (ballot, &copy->source, &other->source);
      cast_place (ballot, &copy->target, &other->target);
    }
  else
    cast (ballot, g_array_index (a->details, MemraDetail, x->record).buffer,
          g_array_index (b->details, MemraDetail, y->record).buffer);
}

static gint
compare_votes (gconstpointer x, gconstpointer y)
{
  const Vote *a = x, *b = y;

  if (a->n != b->n)
    return a->n > b->n ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

void
_memra_pairing_init_roles (MemraPairing *pairing, const MemraCensus *a, const MemraCensus *b, const guint32 *partners,
                           const guint32 *moves)
{
  g_autoptr (GArray) votes = g_array_new (FALSE, FALSE, sizeof (Vote));
  Ballot ballot = { .votes = votes };

  *pairing = (MemraPairing){ .by_role = TRUE };
  for (guint32 i = 0; i < a->nodes->len; i++)
    if (partners[i] != MEMRA_UNALIGNED || moves[i] != MEMRA_UNALIGNED)
      {
        const MemraNode *x = _memra_census_node (a, i);
        const MemraNode *y = _memra_census_node (b, partners[i] != MEMRA_UNALIGNED ? partners[i] : moves[i]);

        if (x->record != MEMRA_NO_RECORD && y->record != MEMRA_NO_RECORD)
          cast_node (&ballot, a, x, b, y);
      }
  g_array_sort (votes, compare_votes);
  for (guint i = 0; i < votes->len; i++)
    {
      const Vote *vote = &g_array_index (votes, Vote, i);
      guint32 unused;

      if (_memra_map_lookup (&pairing->partners, (guint64) vote->a + 1, &unused)
          || _memra_map_lookup (&pairing->backward, (guint64) vote->b + 1, &unused))
        continue;
      _memra_map_insert (&pairing->partners, (guint64) vote->a + 1, vote->b);
      _memra_map_insert (&pairing->backward, (guint64) vote->b + 1, vote->a);
    }
  _memra_map_clear (&ballot.places);
}

gboolean
_memra_census_has_addresses (const MemraCensus *census)
{
  return census->allocations->len == census->n_allocations;
}

void
_memra_pairing_init_addresses (MemraPairing *pairing, const MemraCensus *a, const MemraCensus *b)
{
  *pairing = (MemraPairing){ 0 };
  if (!_memra_census_has_addresses (a) || !_memra_census_has_addresses (b))
    return;
  pairing->a = a;
  pairing->b = b;
}

void
_memra_pairing_clear (MemraPairing *pairing)
{
  _memra_map_clear (&pairing->partners);
  _memra_map_clear (&pairing->backward);
}

void
_memra_pairing_describe (const MemraPairing *pairing, guint32 buffer_b, guint64 offset, GString *text)
{
  guint32 buffer = buffer_b;

  if (pairing != NULL && pairing->by_role && !_memra_map_lookup (&pairing->backward, (guint64) buffer_b + 1, &buffer))
    g_string_append_printf (text, "a new buffer + %" G_GUINT64_FORMAT, offset);
  else
    g_string_append_printf (text, "buffer %u + %" G_GUINT64_FORMAT, buffer, offset);
}

gboolean
_memra_pairing_match (const MemraPairing *pairing, guint32 buffer_a, guint64 offset_a, guint32 buffer_b,
                      guint64 offset_b)
{
  guint32 partner;

  if (pairing->by_role)
    return offset_a == offset_b && _memra_map_lookup (&pairing->partners, (guint64) buffer_a + 1, &partner)
           && partner == buffer_b;
  if (pairing->a != NULL)
    {
      const MemraAllocation *x = &g_array_index (pairing->a->allocations, MemraAllocation, buffer_a);
      const MemraAllocation *y = &g_array_index (pairing->b->allocations, MemraAllocation, buffer_b);

      if (x->id != 0 || y->id != 0)
        return x->start + offset_a == y->start + offset_b;
    }
  return buffer_a == buffer_b && offset_a == offset_b;
}
