/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <glib.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-types
 * @title: Types
 * @short_description: the objects, and the driver's handles
 * @include: memra-capture/memra-capture.h
 *
 * Every object is opaque. Those that are reference-counted have a ref and an unref; an unref takes %NULL, and every
 * type has its g_autoptr(). The driver's own handles go by their struct names: a CUstream, a cudaStream_t, a CUgraph
 * or a cudaGraph_t of the caller is a pointer to that very struct and needs no cast, and no header of this library
 * includes cuda.h.
 */

/* The driver's handles by their struct names: a CUstream, a cudaStream_t, a CUgraph or a cudaGraph_t of the caller
 * is a pointer to this very struct and needs no cast, and this header needs no cuda.h. */
struct CUctx_st;
struct CUstream_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmod_st;
struct CUfunc_st;

/**
 * MemraDriver:
 *
 * A loaded CUDA driver: NVIDIA's, or the host driver. Reference-counted; constant once opened, so any number of
 * threads may use one. See memra_driver_open().
 *
 * Since: 0.1
 */
typedef struct _MemraDriver MemraDriver;

/**
 * MemraContext:
 *
 * A CUDA context, with the setting of event tracking. Reference-counted; any number of threads may use one. See
 * memra_context_new() and memra_context_wrap().
 *
 * Since: 0.1
 */
typedef struct _MemraContext MemraContext;

/**
 * MemraStream:
 *
 * A stream: one of the library's, or a handle of somebody else's. Reference-counted; any number of threads may use
 * one, and the driver keeps the order of what they issue. See memra_stream_new() and memra_stream_wrap().
 *
 * Since: 0.1
 */
typedef struct _MemraStream MemraStream;

/**
 * MemraBuffer:
 *
 * Device memory that knows its size, its context, and whether it carries events. Reference-counted; any number of
 * threads may use one. The order of the work that uses it is kept by its events if it carries any, and is the
 * caller's business if not. See memra_buffer_new().
 *
 * Since: 0.1
 */
typedef struct _MemraBuffer MemraBuffer;

/**
 * MemraModule:
 *
 * Loaded code. Reference-counted; constant, so any number of threads may use one. See memra_module_load().
 *
 * Since: 0.1
 */
typedef struct _MemraModule MemraModule;

/**
 * MemraKernel:
 *
 * A kernel of a #MemraModule, which it keeps loaded. Reference-counted; constant, so any number of threads may use
 * one. See memra_module_get_kernel().
 *
 * Since: 0.1
 */
typedef struct _MemraKernel MemraKernel;

/**
 * MemraCensus:
 *
 * What is in a graph. Reference-counted; constant, so any number of threads may use one. See
 * memra_layer_capture_get_census(), memra_census_new_from_graph() and memra_census_load().
 *
 * Since: 0.1
 */
typedef struct _MemraCensus MemraCensus;

/**
 * MemraKernelNode:
 *
 * A kernel node of a #MemraCensus, which owns it: it lives as long as the census. Constant, so any number of threads
 * may use one.
 *
 * Since: 0.1
 */
typedef struct _MemraKernelNode MemraKernelNode;

/**
 * MemraPolicy:
 *
 * What a graph must be like. Reference-counted. Filled by one thread, and not changed once it is in use; then any
 * number of threads may use one. See memra_policy_new() and memra_policy_load().
 *
 * Since: 0.1
 */
typedef struct _MemraPolicy MemraPolicy;

/**
 * MemraCaptureOptions:
 *
 * Options of a capture. Changed by one thread at a time; a capture takes a copy when it begins. See
 * memra_capture_options_new().
 *
 * Since: 0.1
 */
typedef struct _MemraCaptureOptions MemraCaptureOptions;

/**
 * MemraCaptureScope:
 *
 * A capture that is open between two calls. For one thread at a time. See memra_capture_scope_begin().
 *
 * Since: 0.1
 */
typedef struct _MemraCaptureScope MemraCaptureScope;

/**
 * MemraLayerCapture:
 *
 * A captured layer that is kept for replay. Reference-counted; any number of threads may use one, and its launches
 * are serialised by a lock of its own, since the driver does not lock a graph. The getters for what belongs to the
 * census are not for a thread that runs beside memra_layer_capture_update() or memra_kernel_edit_commit() on the same
 * capture. See memra_capture_layer().
 *
 * Since: 0.1
 */
typedef struct _MemraLayerCapture MemraLayerCapture;

/**
 * MemraLayerSequence:
 *
 * The layers of several captures as one graph. Reference-counted; any number of threads may use one, and its launches
 * are serialised by a lock of its own. The getters for census and handles are not for a thread that runs beside
 * memra_layer_sequence_update() on the same sequence. See memra_layer_sequence_new().
 *
 * Since: 0.1
 */
typedef struct _MemraLayerSequence MemraLayerSequence;

/**
 * MemraDsv4:
 *
 * The kernels of the bundled decoder layer, loaded. Reference-counted; constant, so any number of threads may use
 * one. See memra_dsv4_new().
 *
 * Since: 0.1
 */
typedef struct _MemraDsv4 MemraDsv4;

/**
 * MemraDsv4Layer:
 *
 * A bundled decoder layer with weights, KV cache and position. For one thread, and one stream, at a time. See
 * memra_dsv4_layer_new().
 *
 * Since: 0.1
 */
typedef struct _MemraDsv4Layer MemraDsv4Layer;

/**
 * MemraDim3:
 * @x: width
 * @y: height
 * @z: depth
 *
 * A grid in blocks or a block in threads.
 *
 * Since: 0.1
 */
typedef struct _MemraDim3 MemraDim3;
struct _MemraDim3
{
  guint32 x;
  guint32 y;
  guint32 z;
};

G_END_DECLS
