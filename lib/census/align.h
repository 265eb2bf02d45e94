/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Aligning two sequences: which element of one is which of the other. */
#pragma once

#include <glib.h>

#define MEMRA_UNALIGNED G_MAXUINT32

/* For each of a's n elements the index of its partner in b, or MEMRA_UNALIGNED; partners are equal, and their order is
 * the same in both. The alignment is a longest one (Myers, O(ND)) unless the two differ in more than some thousand
 * places; then what lies between common beginning and end is left unaligned. (transfer full) */
guint32 *_memra_align (const guint32 *a, guint32 n, const guint32 *b, guint32 m);
