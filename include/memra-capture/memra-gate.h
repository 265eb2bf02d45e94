/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-layer-sequence.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-gate
 * @title: Gate
 * @short_description: proof that replay equals eager
 * @include: memra-capture/memra-capture.h
 *
 * The gate runs a layer eagerly, captured and replayed, from the same state and with the same inputs, and compares
 * what it wrote bit for bit.
 */

/**
 * MemraGateOutputs:
 *
 * Where a read_outputs callback of #MemraGateCallbacks puts what the layer wrote. It lives as long as that call. For
 * one thread at a time.
 *
 * Since: 0.1
 */
typedef struct _MemraGateOutputs MemraGateOutputs;

/**
 * MemraGateReport:
 *
 * The verdict of memra_gate_run(). Constant, so any number of threads may use one.
 *
 * Since: 0.1
 */
typedef struct _MemraGateReport MemraGateReport;

/**
 * MemraGateCallbacks:
 * @snapshot: (nullable): saves all state that the layer reads and writes; called once, first
 * @restore: puts the saved state back; called before every run
 * @set_inputs: (nullable): writes the inputs of the given run, 0 for the first, then 1, 2, ...
 * @body: issues the layer's work; called for eager runs and under capture alike
 * @read_outputs: reads everything that the layer wrote, with memra_gate_outputs_add(); always the same buffers in the
 *   same order
 *
 * What memra_gate_run() needs of a layer. Every callback gets the stream to use, which is not being captured but for
 * @body, and returns %FALSE with an error set if it fails. All are called on the thread that called memra_gate_run().
 *
 * Since: 0.1
 */
typedef struct _MemraGateCallbacks MemraGateCallbacks;
struct _MemraGateCallbacks
{
  gboolean (*snapshot) (MemraStream *stream, gpointer user_data, GError **error);
  gboolean (*restore) (MemraStream *stream, gpointer user_data, GError **error);
  gboolean (*set_inputs) (MemraStream *stream, guint run, gpointer user_data, GError **error);
  MemraLayerBody body;
  gboolean (*read_outputs) (MemraStream *stream, MemraGateOutputs *outputs, gpointer user_data, GError **error);
};

/**
 * MemraGateFlags:
 * @MEMRA_GATE_NONE: nothing special
 * @MEMRA_GATE_CORRUPT: flip one bit of what the last replay wrote before it is compared: a gate that stays green with
 *   this compares nothing
 *
 * How memra_gate_run() works.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_GATE_NONE = 0,
  MEMRA_GATE_CORRUPT = 1
} MemraGateFlags;

MEMRA_AVAILABLE_IN_0_1
void memra_gate_outputs_add (MemraGateOutputs *outputs,
                             const char       *name,
                             gconstpointer     data,
                             gsize             size);
MEMRA_AVAILABLE_IN_0_1
MemraGateReport *memra_gate_run (MemraStream               *stream,
                                 guint                      layer,
                                 const MemraCaptureOptions *options,
                                 const MemraGateCallbacks  *callbacks,
                                 gpointer                   user_data,
                                 guint                      n_replays,
                                 MemraGateFlags             flags,
                                 GError                   **error);
MEMRA_AVAILABLE_IN_0_1
MemraGateReport *memra_gate_run_sequence (MemraLayerSequence       *sequence,
                                          const MemraGateCallbacks *callbacks,
                                          gpointer                  user_data,
                                          guint                     n_replays,
                                          MemraGateFlags            flags,
                                          GError                  **error);
MEMRA_AVAILABLE_IN_0_1
void memra_gate_report_free (MemraGateReport *report);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_gate_report_is_green (const MemraGateReport *report);
MEMRA_AVAILABLE_IN_0_1
guint memra_gate_report_get_n_eager_runs (const MemraGateReport *report);
MEMRA_AVAILABLE_IN_0_1
guint memra_gate_report_get_n_captures (const MemraGateReport *report);
MEMRA_AVAILABLE_IN_0_1
guint memra_gate_report_get_n_replays (const MemraGateReport *report);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_gate_report_get_n_compared_bytes (const MemraGateReport *report);
MEMRA_AVAILABLE_IN_0_1
const char *memra_gate_report_get_message (const MemraGateReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraGateReport, memra_gate_report_free)

G_END_DECLS
