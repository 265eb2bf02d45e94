/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Comparing two nodes that stand for each other. */
#pragma once

#include "census/census-private.h"
#include <memra-capture/memra-capture.h>

/*
 * When pointers of two censuses are the same.
 *
 * By role: allocations are numbered by first appearance, so one that is added shifts the numbers of all that follow;
 * what counts is that the same stays the same. The partners are those that most pointers speak for.
 *
 * By address: what a replay would use. Only of two censuses that hold addresses; memory that a graph allocates itself
 * is another one in each, and counts by its number, as everything does where addresses are not to be had.
 */
typedef struct
{
  gboolean by_role;
  MemraMap partners;       /* by role: buffer of a + 1 -> buffer of b */
  MemraMap backward;       /* buffer of b + 1 -> buffer of a */
  const MemraCensus *a, *b; /* by address; NULL: by number */
} MemraPairing;

/* By role; `partners` and `moves` are for each node of a its node of b, in the same place of the order or in another,
 * or MEMRA_UNALIGNED. */
void _memra_pairing_init_roles (MemraPairing *pairing, const MemraCensus *a, const MemraCensus *b,
                                const guint32 *partners, const guint32 *moves);
void _memra_pairing_init_addresses (MemraPairing *pairing, const MemraCensus *a, const MemraCensus *b);
void _memra_pairing_clear (MemraPairing *pairing);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraPairing, _memra_pairing_clear)

/* Whether a census knows where its allocations are: one that was read from a file does not. */
gboolean _memra_census_has_addresses (const MemraCensus *census);

gboolean _memra_pairing_match (const MemraPairing *pairing, guint32 buffer_a, guint64 offset_a, guint32 buffer_b,
                               guint64 offset_b);

/* Appends a pointer of b as one of a is told: "buffer 3 + 128" by a's number, or "a new buffer + 128". Without a
 * pairing, by its own number. */
void _memra_pairing_describe (const MemraPairing *pairing, guint32 buffer_b, guint64 offset, GString *text);

/* What can be compared of a kernel's arguments: their number where the layout is known; 1 where only the bytes are; 0
 * where not even they. */
guint _memra_kernel_n_comparable (const MemraKernelNode *kernel);

/* A stretch of an argument that is told as one value: the whole of a number or pointer, a word of a struct. */
typedef struct
{
  guint32 at; /* byte of the argument */
  guint32 size;
} MemraPart;

/* Whether argument `index` of both is the same. Both have one of that number. */
gboolean _memra_argument_equal (const MemraKernelNode *a, const MemraKernelNode *b, guint index,
                                const MemraPairing *pairing);

/* Adds to `parts` (MemraPart, ascending, each once) what differs in an argument that has the same size in both. */
void _memra_argument_add_differences (const MemraKernelNode *a, const MemraKernelNode *b, guint index,
                                      const MemraPairing *pairing, GArray *parts);

guint32 _memra_argument_size (const MemraKernelNode *kernel, guint index);

/* "buffer 3 + 128", "41", "1073741824 (as float32 2)", "0x010203": one part of an argument. With `census`, a pointer's
 * address too; with `pairing`, of a kernel of b, as one of a would be told. Both nullable. (transfer full) */
char *_memra_argument_describe (const MemraKernelNode *kernel, guint index, MemraPart part, const MemraCensus *census,
                                const MemraPairing *pairing);

/* "argument 2", or "argument 2 byte 16" for a part that is not all of it. (transfer full) */
char *_memra_argument_name (const MemraKernelNode *kernel, guint index, MemraPart part);

/* Appends what differs between two nodes of one type and name, "grid 4x1x1 -> 8x1x1; argument 2: 41 -> 42". */
void _memra_node_compare (const MemraCensus *a, guint32 node_a, const MemraCensus *b, guint32 node_b,
                          const MemraPairing *pairing, GString *text);

/* What differs, without the numbers and addresses of buffers: these are others in every repetition of a layer.
 * (transfer full) */
char *_memra_dup_pattern (const char *what);
