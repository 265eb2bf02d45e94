/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the bundled kernels must compute, in plain C and double precision, written from their documentation. Vectors and
 * matrices are laid out as the kernels' buffers are.
 */
#pragma once

#include <memra-capture/memra-capture.h>

G_BEGIN_DECLS

void dsv4_reference_rmsnorm (double *dst, const double *src, const double *weight, gsize n, double epsilon);
void dsv4_reference_matvec (double *dst, const double *matrix, const double *src, gsize rows, gsize columns);
void dsv4_reference_rope (double *x, guint32 position, gsize n_heads, gsize head_dim, double base);
void dsv4_reference_attention (double *dst, const double *query, const double *key_cache, const double *value_cache,
                               guint32 position, gsize n_heads, gsize n_kv_heads, gsize head_dim, gsize max_positions);

/* Returns by how much the last chosen logit is larger than the first that was not, infinity if all were chosen. */
double dsv4_reference_route (guint32 *experts, double *weights, const double *logits, gsize n_experts, gsize n_active);
double dsv4_reference_silu (double gate);

/* A whole layer, with weights, cache and position of its own. */
typedef struct _Dsv4Reference Dsv4Reference;

Dsv4Reference *dsv4_reference_new (const MemraDsv4Config *config, guint32 seed);
void dsv4_reference_free (Dsv4Reference *reference);

/* One step. Returns the margin of its routing: with a margin near rounding, float and double may choose differently. */
double dsv4_reference_forward (Dsv4Reference *reference, double *hidden);

/* The cache: positions times key-value heads times width of a head. Owned by the reference. */
const double *dsv4_reference_get_keys (Dsv4Reference *reference);
const double *dsv4_reference_get_values (Dsv4Reference *reference);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Dsv4Reference, dsv4_reference_free)

G_END_DECLS
