/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-layer-capture.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-layer-sequence
 * @title: Sequences
 * @short_description: many captured layers as one launch
 * @include: memra-capture/memra-capture.h
 *
 * A sequence is one graph with the graphs of several captures inside it, one after the other, so that a whole model
 * costs one launch. It holds clones: a capture that is updated or edited afterwards makes the sequence outdated, and it
 * refuses to run until memra_layer_sequence_update().
 */

MEMRA_AVAILABLE_IN_0_1
MemraLayerSequence *memra_layer_sequence_new (MemraStream               *stream,
                                              MemraLayerCapture *const  *captures,
                                              guint                      n_captures,
                                              const MemraCaptureOptions *options,
                                              GError                   **error);
MEMRA_AVAILABLE_IN_0_1
MemraLayerSequence *memra_layer_sequence_ref (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
void memra_layer_sequence_unref (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
guint memra_layer_sequence_get_n_layers (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
MemraLayerCapture *memra_layer_sequence_get_layer_capture (MemraLayerSequence *sequence,
                                                           guint               index);
MEMRA_AVAILABLE_IN_0_1
MemraStream *memra_layer_sequence_get_stream (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_layer_sequence_get_census (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_layer_sequence_get_replays (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
struct CUgraph_st *memra_layer_sequence_get_cuda_graph (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
struct CUgraphExec_st *memra_layer_sequence_get_cuda_graph_exec (MemraLayerSequence *sequence);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_sequence_check (MemraLayerSequence *sequence,
                                     GError            **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_sequence_replay (MemraLayerSequence *sequence,
                                      GError            **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_sequence_launch (MemraLayerSequence *sequence,
                                      GError            **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_sequence_update (MemraLayerSequence *sequence,
                                      MemraUpdateFlags    flags,
                                      MemraUpdateOutcome *outcome,
                                      GError            **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_sequence_close (MemraLayerSequence *sequence,
                                     GError            **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraLayerSequence, memra_layer_sequence_unref)

G_END_DECLS
