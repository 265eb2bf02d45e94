/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Myers' algorithm in linear space: a path is searched from both ends of a box at once; where the two meet, the box is
 * split into two smaller ones.
 */
#include "config.h"

#include "census/align.h"

#include <string.h>

/* A search that has not met after so many steps is split at the furthest point that it came to. This bounds the cost of
 * two sequences that have little in common to so many times their length. */
#define MOST_STEPS 1024

#define NOWHERE (-1)

/* What is still to be aligned: elements a0 to a1 - 1 with b0 to b1 - 1. */
typedef struct
{
  gint32 a0, a1, b0, b1;
} Box;

typedef struct
{
  gint32 x, y;
} Point;

typedef struct
{
  const guint32 *a, *b;
  guint32 *partners;
  gint32 *forward;  /* by diagonal x - y: the greatest x that a path from the beginning reaches, or NOWHERE */
  gint32 *backward; /* the least x that a path from the end reaches, or NOWHERE */
} Search;

/* Diagonals that a search has come to, every other one of them at each step. */
typedef struct
{
  gint32 low, high;
} Diagonals;

/* One diagonal more on each side, as far as there are such in the box. What lies beyond counts as never reached. */
static void
widen (Diagonals *reached, gint32 *furthest, gint32 low, gint32 high)
{
  if (reached->low > low)
    furthest[--reached->low - 1] = NOWHERE;
  else
    reached->low++;
  if (reached->high < high)
    furthest[++reached->high + 1] = NOWHERE;
  else
    reached->high--;
}

/* One more difference forward on diagonal k: past an element of a or of b, whichever gets further, and then along all
 * that is equal. */
static gint32
step_forward (const Search *search, const Box *box, gint32 k)
{
  gint32 left = search->forward[k - 1], above = search->forward[k + 1];
  gint32 x;

  left = left != NOWHERE && left < box->a1 ? left + 1 : NOWHERE;
  above = above != NOWHERE && above - k <= box->b1 ? above : NOWHERE;
  x = MAX (left, above);
  if (x != NOWHERE)
    while (x < box->a1 && x - k < box->b1 && search->a[x] == search->b[x - k])
      x++;
  return x;
}

static gint32
step_backward (const Search *search, const Box *box, gint32 k)
{
  gint32 right = search->backward[k + 1], below = search->backward[k - 1];
  gint32 x;

  right = right != NOWHERE && right > box->a0 ? right - 1 : NOWHERE;
  below = below != NOWHERE && below - k >= box->b0 ? below : NOWHERE;
  x = right == NOWHERE ? below : below == NOWHERE ? right : MIN (right, below);
  if (x != NOWHERE)
    while (x > box->a0 && x - k > box->b0 && search->a[x - 1] == search->b[x - k - 1])
      x--;
  return x;
}

/* The point that either search came furthest to. */
static Point
furthest_point (const Search *search, const Box *box, const Diagonals *forward, const Diagonals *backward)
{
  Point best = { box->a0, box->b0 };
  gint64 most = 0;

  for (gint32 k = forward->low; k <= forward->high; k += 2)
    {
      gint32 x = search->forward[k];
      gint64 progress = (gint64) x - box->a0 + (x - k) - box->b0;

      if (x != NOWHERE && progress > most)
        {
          most = progress;
          best = (Point){ x, x - k };
        }
    }
  for (gint32 k = backward->low; k <= backward->high; k += 2)
    {
      gint32 x = search->backward[k];
      gint64 progress = (gint64) box->a1 - x + box->b1 - (x - k);

      if (x != NOWHERE && progress > most)
        {
          most = progress;
          best = (Point){ x, x - k };
        }
    }
  return best;
}

/* A point on a best path through the box, whose corners differ. */
static Point
find_middle (Search *search, const Box *box)
{
  const gint32 low = box->a0 - box->b1, high = box->a1 - box->b0;
  Diagonals forward = { box->a0 - box->b0, box->a0 - box->b0 }, backward = { box->a1 - box->b1, box->a1 - box->b1 };
  const gboolean odd = ((forward.low - backward.low) & 1) != 0;

  search->forward[forward.low] = box->a0;
  search->backward[backward.low] = box->a1;
  for (gint32 steps = 1;; steps++)
    {
      widen (&forward, search->forward, low, high);
      for (gint32 k = forward.high; k >= forward.low; k -= 2)
        {
          gint32 x = search->forward[k] = step_forward (search, box, k);

          if (odd && x != NOWHERE && k >= backward.low && k <= backward.high && search->backward[k] != NOWHERE
              && search->backward[k] <= x)
            return (Point){ x, x - k };
        }
      widen (&backward, search->backward, low, high);
      for (gint32 k = backward.high; k >= backward.low; k -= 2)
        {
          gint32 x = search->backward[k] = step_backward (search, box, k);

          if (!odd && x != NOWHERE && k >= forward.low && k <= forward.high && search->forward[k] != NOWHERE
              && x <= search->forward[k])
            return (Point){ x, x - k };
        }
      if (steps >= MOST_STEPS)
        return furthest_point (search, box, &forward, &backward);
    }
}

/* Aligns what is equal at the ends of a box, and cuts it off. */
static void
strip (const Search *search, Box *box)
{
  while (box->a0 < box->a1 && box->b0 < box->b1 && search->a[box->a0] == search->b[box->b0])
    search->partners[box->a0++] = box->b0++;
  while (box->a0 < box->a1 && box->b0 < box->b1 && search->a[box->a1 - 1] == search->b[box->b1 - 1])
    search->partners[--box->a1] = --box->b1;
}

guint32 *
_memra_align (const guint32 *a, guint32 n, const guint32 *b, guint32 m)
{
  guint32 *partners = g_new (guint32, MAX (n, 1));
  g_autoptr (GArray) boxes = g_array_new (FALSE, FALSE, sizeof (Box));
  Search search = { .a = a, .b = b, .partners = partners };
  Box box = { 0, (gint32) n, 0, (gint32) m };
  g_autofree gint32 *forward = NULL;
  g_autofree gint32 *backward = NULL;

  memset (partners, 0xff, n * sizeof *partners); /* MEMRA_UNALIGNED */
  if ((guint64) n + m > G_MAXINT32 / 4)
    return partners;
  g_array_append_val (boxes, box);
  while (boxes->len > 0)
    {
      Box before, after;
      Point middle;

      box = g_array_index (boxes, Box, boxes->len - 1);
      g_array_set_size (boxes, boxes->len - 1);
      strip (&search, &box);
      if (box.a0 == box.a1 || box.b0 == box.b1)
        continue;
      if (forward == NULL)
        {
          /* Diagonals go from -m to n, and one more on each side is looked at. */
          forward = g_new (gint32, (gsize) n + m + 3);
          backward = g_new (gint32, (gsize) n + m + 3);
          search.forward = forward + m + 1;
          search.backward = backward + m + 1;
        }
      middle = find_middle (&search, &box);
      g_return_val_if_fail (middle.x + middle.y > box.a0 + box.b0 && middle.x + middle.y < box.a1 + box.b1, partners);
      before = (Box){ box.a0, middle.x, box.b0, middle.y };
      after = (Box){ middle.x, box.a1, middle.y, box.b1 };
      g_array_append_val (boxes, after);
      g_array_append_val (boxes, before);
    }
  return partners;
}

/* How much fewer partners are alike when y's partner is `to` and no longer `from`. */
static gint
cost (const MemraSide *x, const MemraSide *y, guint32 partner, guint32 from, guint32 to)
{
  return (x->contents[to] != y->contents[partner]) - (x->contents[from] != y->contents[partner]);
}

/* Shifts the run of x from `begin` to `end` - 1, all of them alone, by `n` places: down if it is positive. */
static void
shift (MemraSide *x, MemraSide *y, guint32 begin, guint32 end, gint64 n)
{
  for (; n > 0; n--, begin++, end++)
    {
      x->partners[begin] = x->partners[end];
      y->partners[x->partners[end]] = begin;
      x->partners[end] = MEMRA_UNALIGNED;
    }
  for (; n < 0; n++)
    {
      begin--;
      end--;
      x->partners[end] = x->partners[begin];
      y->partners[x->partners[begin]] = end;
      x->partners[begin] = MEMRA_UNALIGNED;
    }
}

/* The best place for a run, as how far to shift it. */
static gint64
find_shift (const MemraSide *x, const MemraSide *y, guint32 begin, guint32 end)
{
  gint64 best = 0;
  gint64 sum = 0, least = 0;
  guint32 low = begin, high = end;

  while (low > 0 && x->partners[low - 1] != MEMRA_UNALIGNED && x->tokens[low - 1] == x->tokens[high - 1])
    {
      low--;
      high--;
      sum += cost (x, y, x->partners[low], low, high);
      if (sum < least)
        {
          least = sum;
          best = (gint64) low - begin;
        }
    }
  low = begin;
  high = end;
  sum = 0;
  while (high < x->n && x->partners[high] != MEMRA_UNALIGNED && x->tokens[high] == x->tokens[low])
    {
      sum += cost (x, y, x->partners[high], high, low);
      low++;
      high++;
      if (sum < least)
        {
          least = sum;
          best = (gint64) low - begin;
        }
    }
  return best;
}

static void
shift_runs (MemraSide *x, MemraSide *y)
{
  for (guint32 begin = 0, end; begin < x->n; begin = end)
    {
      gint64 n;

      end = begin + 1;
      if (x->partners[begin] != MEMRA_UNALIGNED)
        continue;
      while (end < x->n && x->partners[end] == MEMRA_UNALIGNED)
        end++;
      n = find_shift (x, y, begin, end);
      shift (x, y, begin, end, n);
      if (n > 0)
        end = (guint32) (end + n);
    }
}

void
_memra_align_shift (MemraSide *a, MemraSide *b)
{
  shift_runs (a, b);
  shift_runs (b, a);
}
