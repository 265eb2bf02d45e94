/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-buffer.h>
#include <memra-capture/memra-module.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-dsv4
 * @title: Bundled decoder layer
 * @short_description: kernels, and a layer made of them, to try captures on
 * @include: memra-capture/memra-capture.h
 *
 * Every launcher enqueues exactly one kernel. It acquires its buffers, and so is legal under capture and keeps them
 * alive; it checks the buffers' sizes, and takes counts in elements, each at least 1. All elements are float32 unless
 * a line says otherwise. `position` is a buffer of one guint32 in device memory: the kernel reads it when it runs, so
 * a replay sees the value of its own time. Buffers of one launch are different ones unless a line says that they may
 * be the same.
 */

/**
 * MemraDsv4Config:
 * @hidden: width of the residual stream, a multiple of @n_heads
 * @n_heads: query heads
 * @n_kv_heads: key and value heads, a divisor of @n_heads
 * @head_dim: width of a head, even
 * @n_experts: routed experts
 * @n_active_experts: experts that a token goes through, at most @n_experts and at most 8
 * @expert_hidden: inner width of an expert
 * @max_positions: capacity of the KV cache
 *
 * Shape of a bundled decoder layer. All figures are counts of float32 elements or of heads.
 *
 * Since: 0.1
 */
typedef struct _MemraDsv4Config MemraDsv4Config;
struct _MemraDsv4Config
{
  guint32 hidden;
  guint32 n_heads;
  guint32 n_kv_heads;
  guint32 head_dim;
  guint32 n_experts;
  guint32 n_active_experts;
  guint32 expert_hidden;
  guint32 max_positions;
};

MEMRA_AVAILABLE_IN_0_1
MemraDsv4 *memra_dsv4_new (MemraContext *context,
                           GError      **error);
MEMRA_AVAILABLE_IN_0_1
MemraDsv4 *memra_dsv4_ref (MemraDsv4 *dsv4);
MEMRA_AVAILABLE_IN_0_1
void memra_dsv4_unref (MemraDsv4 *dsv4);
MEMRA_AVAILABLE_IN_0_1
MemraModule *memra_dsv4_get_module (MemraDsv4 *dsv4);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_add_inplace (MemraDsv4   *dsv4,
                                 MemraStream *stream,
                                 MemraBuffer *dst,
                                 MemraBuffer *src,
                                 guint64      n,
                                 GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_rmsnorm (MemraDsv4   *dsv4,
                             MemraStream *stream,
                             MemraBuffer *dst,
                             MemraBuffer *src,
                             MemraBuffer *weight,
                             guint32      n,
                             float        epsilon,
                             GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_matvec (MemraDsv4   *dsv4,
                            MemraStream *stream,
                            MemraBuffer *dst,
                            MemraBuffer *matrix,
                            MemraBuffer *src,
                            guint32      rows,
                            guint32      columns,
                            GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_rope (MemraDsv4   *dsv4,
                          MemraStream *stream,
                          MemraBuffer *x,
                          MemraBuffer *position,
                          guint32      n_heads,
                          guint32      head_dim,
                          float        base,
                          GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_kv_append (MemraDsv4   *dsv4,
                               MemraStream *stream,
                               MemraBuffer *key_cache,
                               MemraBuffer *value_cache,
                               MemraBuffer *key,
                               MemraBuffer *value,
                               MemraBuffer *position,
                               guint32      width,
                               guint32      max_positions,
                               GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_attention (MemraDsv4   *dsv4,
                               MemraStream *stream,
                               MemraBuffer *dst,
                               MemraBuffer *query,
                               MemraBuffer *key_cache,
                               MemraBuffer *value_cache,
                               MemraBuffer *position,
                               guint32      n_heads,
                               guint32      n_kv_heads,
                               guint32      head_dim,
                               guint32      max_positions,
                               GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_route (MemraDsv4   *dsv4,
                           MemraStream *stream,
                           MemraBuffer *experts,
                           MemraBuffer *weights,
                           MemraBuffer *logits,
                           guint32      n_experts,
                           guint32      n_active,
                           GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_expert_matvec (MemraDsv4   *dsv4,
                                   MemraStream *stream,
                                   MemraBuffer *dst,
                                   MemraBuffer *matrices,
                                   MemraBuffer *src,
                                   MemraBuffer *experts,
                                   guint32      n_active,
                                   guint32      rows,
                                   guint32      columns,
                                   gboolean     per_expert_src,
                                   GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_silu_gate (MemraDsv4   *dsv4,
                               MemraStream *stream,
                               MemraBuffer *gate,
                               MemraBuffer *up,
                               guint32      n,
                               GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_expert_sum (MemraDsv4   *dsv4,
                                MemraStream *stream,
                                MemraBuffer *dst,
                                MemraBuffer *src,
                                MemraBuffer *weights,
                                guint32      n,
                                guint32      n_active,
                                GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_advance (MemraDsv4   *dsv4,
                             MemraStream *stream,
                             MemraBuffer *position,
                             GError     **error);

MEMRA_AVAILABLE_IN_0_1
void memra_dsv4_config_init_small (MemraDsv4Config *config);
MEMRA_AVAILABLE_IN_0_1
MemraDsv4Layer *memra_dsv4_layer_new (MemraDsv4             *dsv4,
                                      MemraStream           *stream,
                                      const MemraDsv4Config *config,
                                      guint32                seed,
                                      GError               **error);
MEMRA_AVAILABLE_IN_0_1
void memra_dsv4_layer_free (MemraDsv4Layer *layer);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_layer_forward (MemraDsv4Layer *layer,
                                   MemraStream    *stream,
                                   MemraBuffer    *hidden,
                                   GError        **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_dsv4_layer_reset (MemraDsv4Layer *layer,
                                 MemraStream    *stream,
                                 GError        **error);
MEMRA_AVAILABLE_IN_0_1
MemraBuffer *memra_dsv4_layer_get_position (MemraDsv4Layer *layer);
MEMRA_AVAILABLE_IN_0_1
MemraBuffer *memra_dsv4_layer_get_key_cache (MemraDsv4Layer *layer);
MEMRA_AVAILABLE_IN_0_1
MemraBuffer *memra_dsv4_layer_get_value_cache (MemraDsv4Layer *layer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraDsv4, memra_dsv4_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraDsv4Layer, memra_dsv4_layer_free)

G_END_DECLS
