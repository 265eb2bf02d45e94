/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Aligning two sequences: which element of one is which of the other. */
#pragma once

#include <glib.h>

#define MEMRA_UNALIGNED G_MAXUINT32

/* For each of a's n elements the index of its partner in b, or MEMRA_UNALIGNED; partners are equal, and their order is
 * the same in both. The alignment is a longest one (Myers, O(ND), in linear space) as long as what differs at one place
 * is not more than some two thousand elements; beyond, a long one. (transfer full) */
guint32 *_memra_align (const guint32 *a, guint32 n, const guint32 *b, guint32 m);

/* One side of an alignment. */
typedef struct
{
  const guint32 *tokens;   /* what makes two elements partners */
  const guint64 *contents; /* what makes two partners alike */
  guint32 *partners;       /* owned by the caller, as all here */
  guint32 n;
} MemraSide;

/* Where elements of one side alone stand among others with the same tokens, it is open which of them are the additional
 * ones: shifts them so that as many partners as possible are alike. Changes `partners` of both sides. */
void _memra_align_shift (MemraSide *a, MemraSide *b);
