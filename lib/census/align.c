/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "census/align.h"

#include <string.h>

/* Furthest places are kept for every number of differences up to here: 4 bytes times its square. */
#define MOST_DIFFERENCES 3000

#define NOWHERE (-1)

/* How far (x) a path with d differences gets on diagonal k (x - y = k), for all k of -d to d: element k + d; NOWHERE if
 * none stays inside. */
typedef gint32 *Frontier;

typedef struct
{
  gint32 n, m;
} Bounds;

/* Where a path comes out on diagonal k that has made d - 1 differences and makes one more: past an element of a (from the
 * left) or of b (from above), whichever gets further. *from_k is the diagonal it comes from. */
static gint32
step (const Frontier before, Bounds bounds, gint32 d, gint32 k, gint32 *from_k)
{
  gint32 left = k - 1 >= -(d - 1) ? before[k - 1 + d - 1] : NOWHERE;
  gint32 above = k + 1 <= d - 1 ? before[k + 1 + d - 1] : NOWHERE;

  left = left != NOWHERE && left < bounds.n ? left + 1 : NOWHERE;
  above = above != NOWHERE && above - k <= bounds.m ? above : NOWHERE;
  *from_k = above > left ? k + 1 : k - 1;
  return MAX (left, above);
}

static void
walk_back (GPtrArray *frontiers, Bounds bounds, gint32 d, guint32 offset, guint32 *partners)
{
  gint32 x = bounds.n, k = bounds.n - bounds.m;

  for (; d > 0; d--)
    {
      gint32 from_k, start = step (g_ptr_array_index (frontiers, d - 1), bounds, d, k, &from_k);

      for (; x > start; x--)
        partners[offset + x - 1] = offset + x - 1 - k;
      x = from_k < k ? start - 1 : start;
      k = from_k;
    }
  for (; x > 0; x--)
    partners[offset + x - 1] = offset + x - 1;
}

static void
align_middle (const guint32 *a, const guint32 *b, Bounds bounds, guint32 offset, guint32 *partners)
{
  g_autoptr (GPtrArray) frontiers = g_ptr_array_new_with_free_func (g_free);

  for (gint32 d = 0; d <= bounds.n + bounds.m && d <= MOST_DIFFERENCES; d++)
    {
      Frontier frontier = g_new (gint32, 2 * d + 1);

      for (gint32 k = -d; k <= d; k++)
        frontier[k + d] = NOWHERE;
      g_ptr_array_add (frontiers, frontier);
      for (gint32 k = -d; k <= d; k += 2)
        {
          gint32 from_k, x = d == 0 ? 0 : step (g_ptr_array_index (frontiers, d - 1), bounds, d, k, &from_k);

          if (x == NOWHERE)
            continue;
          while (x < bounds.n && x - k < bounds.m && a[x] == b[x - k])
            x++;
          frontier[k + d] = x;
          if (x == bounds.n && x - k == bounds.m)
            {
              walk_back (frontiers, bounds, d, offset, partners);
              return;
            }
        }
    }
}

guint32 *
_memra_align (const guint32 *a, guint32 n, const guint32 *b, guint32 m)
{
  guint32 *partners = g_new (guint32, MAX (n, 1));
  guint32 head = 0, tail = 0;

  memset (partners, 0xff, n * sizeof *partners); /* MEMRA_UNALIGNED */
  while (head < n && head < m && a[head] == b[head])
    {
      partners[head] = head;
      head++;
    }
  while (tail < n - head && tail < m - head && a[n - 1 - tail] == b[m - 1 - tail])
    {
      partners[n - 1 - tail] = m - 1 - tail;
      tail++;
    }
  if (n - head - tail > 0 && m - head - tail > 0)
    align_middle (a + head, b + head, (Bounds){ n - head - tail, m - head - tail }, head, partners);
  return partners;
}
