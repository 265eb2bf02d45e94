/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-policy.h>
#include <memra-capture/memra-stream.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-layer-capture
 * @title: Captures
 * @short_description: capture a layer, run it once, keep it for replay
 * @include: memra-capture/memra-capture.h
 *
 * memra_capture_layer() captures what a body issues, runs it exactly once, and keeps the graph. The steps are, in
 * order: status, pre-drain, begin, body, end, node census, kernel census, policy, instantiate, upload, launch,
 * completion. An error names the one that failed.
 *
 * A kept capture is replayed with memra_layer_capture_replay(), which first asks the driver whether all that the
 * graph points at is still there, or with memra_layer_capture_launch(), which does not.
 */

/**
 * MemraCaptureMode:
 * @MEMRA_CAPTURE_MODE_GLOBAL: potentially unsafe calls of any thread break the capture
 * @MEMRA_CAPTURE_MODE_THREAD_LOCAL: potentially unsafe calls of the capturing thread break it
 * @MEMRA_CAPTURE_MODE_RELAXED: potentially unsafe calls run at once and are not recorded
 *
 * How strict the driver is while a capture is open, with the driver's own values.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CAPTURE_MODE_GLOBAL = 0,
  MEMRA_CAPTURE_MODE_THREAD_LOCAL = 1,
  MEMRA_CAPTURE_MODE_RELAXED = 2
} MemraCaptureMode;

/**
 * MemraLayerBody:
 * @stream: the stream to issue the layer's work into; with the strict option it may be another than the caller's
 * @user_data: the caller's data
 * @error: return location for an error
 *
 * Issues the work of one layer. Called exactly once per capture, on the calling thread, between begin and end of the
 * capture, with the stream's context current. Nothing that it issues runs before the capture has been launched.
 * It must not wait for the stream or the device, must not use the legacy stream, and must join every stream it forks.
 *
 * Returns: %TRUE to go on, %FALSE to abandon the capture, with @error set or not
 *
 * Since: 0.1
 */
typedef gboolean (*MemraLayerBody) (MemraStream *stream,
                                    gpointer     user_data,
                                    GError     **error);

/**
 * MemraCaptureStep:
 * @MEMRA_CAPTURE_STEP_PRE_DRAIN: waiting for earlier work
 * @MEMRA_CAPTURE_STEP_BODY: begin, body and end
 * @MEMRA_CAPTURE_STEP_CENSUS: nodes, kernels, hazards and policy
 * @MEMRA_CAPTURE_STEP_INSTANTIATE: instantiation
 * @MEMRA_CAPTURE_STEP_UPLOAD: upload
 * @MEMRA_CAPTURE_STEP_LAUNCH: the launch call
 * @MEMRA_CAPTURE_STEP_COMPLETION: waiting for completion
 * @MEMRA_CAPTURE_N_STEPS: number of steps
 *
 * Steps of a capture that are timed.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CAPTURE_STEP_PRE_DRAIN,
  MEMRA_CAPTURE_STEP_BODY,
  MEMRA_CAPTURE_STEP_CENSUS,
  MEMRA_CAPTURE_STEP_INSTANTIATE,
  MEMRA_CAPTURE_STEP_UPLOAD,
  MEMRA_CAPTURE_STEP_LAUNCH,
  MEMRA_CAPTURE_STEP_COMPLETION,
  MEMRA_CAPTURE_N_STEPS
} MemraCaptureStep;

/**
 * MemraUpdateFlags:
 * @MEMRA_UPDATE_IN_PLACE_ONLY: an update that the driver refuses is an error
 * @MEMRA_UPDATE_OR_REINSTANTIATE: an update that the driver refuses is followed by a fresh instantiation
 *
 * What memra_layer_capture_update() may do.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_UPDATE_IN_PLACE_ONLY = 0,
  MEMRA_UPDATE_OR_REINSTANTIATE = 1
} MemraUpdateFlags;

/**
 * MemraUpdateOutcome:
 * @MEMRA_UPDATE_UPDATED: the executable graph was updated in place
 * @MEMRA_UPDATE_REINSTANTIATED: the driver refused, and a fresh executable graph took its place
 *
 * What memra_layer_capture_update() did.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_UPDATE_UPDATED,
  MEMRA_UPDATE_REINSTANTIATED
} MemraUpdateOutcome;

MEMRA_AVAILABLE_IN_0_1
MemraCaptureOptions *memra_capture_options_new (void);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_free (MemraCaptureOptions *options);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_set_mode (MemraCaptureOptions *options,
                                     MemraCaptureMode     mode);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_set_strict (MemraCaptureOptions *options,
                                       gboolean             strict);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_set_allow_empty (MemraCaptureOptions *options,
                                            gboolean             allow_empty);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_set_record_only (MemraCaptureOptions *options,
                                            gboolean             record_only);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_set_policy (MemraCaptureOptions *options,
                                       MemraPolicy         *policy);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_options_set_diagnose (MemraCaptureOptions *options,
                                         gboolean             diagnose);

MEMRA_AVAILABLE_IN_0_1
MemraLayerCapture *memra_capture_layer (MemraStream               *stream,
                                        guint                      layer,
                                        const MemraCaptureOptions *options,
                                        MemraLayerBody             body,
                                        gpointer                   user_data,
                                        GError                   **error);
MEMRA_AVAILABLE_IN_0_1
MemraLayerCapture *memra_capture_layer_record (MemraStream               *stream,
                                               guint                      layer,
                                               const MemraCaptureOptions *options,
                                               MemraLayerBody             body,
                                               gpointer                   user_data,
                                               GError                   **error);
MEMRA_AVAILABLE_IN_0_1
MemraCaptureScope *memra_capture_scope_begin (MemraStream               *stream,
                                              guint                      layer,
                                              const MemraCaptureOptions *options,
                                              GError                   **error);
MEMRA_AVAILABLE_IN_0_1
MemraStream *memra_capture_scope_get_stream (MemraCaptureScope *scope);
MEMRA_AVAILABLE_IN_0_1
MemraLayerCapture *memra_capture_scope_end (MemraCaptureScope *scope,
                                            GError           **error);
MEMRA_AVAILABLE_IN_0_1
void memra_capture_scope_abort (MemraCaptureScope *scope);

MEMRA_AVAILABLE_IN_0_1
MemraLayerCapture *memra_layer_capture_ref (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
void memra_layer_capture_unref (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
guint memra_layer_capture_get_layer (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
MemraStream *memra_layer_capture_get_stream (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
GHashTable *memra_layer_capture_get_nodes (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
GPtrArray *memra_layer_capture_get_kernels (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_layer_capture_get_census (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_layer_capture_get_executions (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_layer_capture_get_replays (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
const gint64 *memra_layer_capture_get_timings (MemraLayerCapture *capture,
                                               guint             *n_steps);
MEMRA_AVAILABLE_IN_0_1
struct CUgraph_st *memra_layer_capture_get_cuda_graph (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
struct CUgraphExec_st *memra_layer_capture_get_cuda_graph_exec (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
char *memra_layer_capture_to_string (MemraLayerCapture *capture);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_capture_check (MemraLayerCapture *capture,
                                    GError           **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_capture_replay (MemraLayerCapture *capture,
                                     GError           **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_capture_launch (MemraLayerCapture *capture,
                                     GError           **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_capture_update (MemraLayerCapture         *capture,
                                     const MemraCaptureOptions *options,
                                     MemraUpdateFlags           flags,
                                     MemraLayerBody             body,
                                     gpointer                   user_data,
                                     MemraUpdateOutcome        *outcome,
                                     GError                   **error);
MEMRA_AVAILABLE_IN_0_1
void memra_layer_capture_retain (MemraLayerCapture *capture,
                                 gpointer           data,
                                 GDestroyNotify     destroy);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_layer_capture_close (MemraLayerCapture *capture,
                                    GError           **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraCaptureOptions, memra_capture_options_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraCaptureScope, memra_capture_scope_abort)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraLayerCapture, memra_layer_capture_unref)

G_END_DECLS
