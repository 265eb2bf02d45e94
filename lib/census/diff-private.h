/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Comparing two nodes that stand for each other. */
#pragma once

#include "census/census-private.h"
#include <memra-capture/memra-capture.h>

/* Which allocation of one census is which of the other. Allocations are numbered by first appearance, so one that is
 * added shifts the numbers of all that follow: what counts is that the same stays the same. */
typedef struct
{
  GHashTable *forward;  /* buffer of a -> buffer of b, both + 1 */
  GHashTable *backward;
} MemraPairing;

void _memra_pairing_init (MemraPairing *pairing);
void _memra_pairing_clear (MemraPairing *pairing);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraPairing, _memra_pairing_clear)

/* Whether a's buffer is b's; two that are both new become partners. Without a pairing, whether they have one number. */
gboolean _memra_pairing_match (MemraPairing *pairing, guint32 a, guint32 b);

/* "buffer 3 + 128", "41 (0x29000000)", "0x0102..." or "?": what argument `index` of a kernel is. (transfer full) */
char *_memra_argument_describe (const MemraKernelNode *kernel, guint index);

/* Whether argument `index` of both is the same. The kernels are launches of the same function. */
gboolean _memra_argument_equal (const MemraKernelNode *a, const MemraKernelNode *b, guint index, MemraPairing *pairing);

/* Appends what differs between two nodes of one type and name, "grid 4x1x1 -> 8x1x1; argument 2: 41 -> 42". */
void _memra_node_compare (const MemraCensus *a, guint32 node_a, const MemraCensus *b, guint32 node_b, MemraPairing *pairing,
                          GString *text);
