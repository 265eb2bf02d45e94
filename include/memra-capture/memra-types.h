/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <glib.h>

G_BEGIN_DECLS

/* The driver's handles by their struct names: a CUstream, a cudaStream_t, a CUgraph or a cudaGraph_t of the caller
 * is a pointer to this very struct and needs no cast, and this header needs no cuda.h. */
struct CUctx_st;
struct CUstream_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmod_st;
struct CUfunc_st;

typedef struct _MemraDriver MemraDriver;
typedef struct _MemraContext MemraContext;
typedef struct _MemraStream MemraStream;
typedef struct _MemraBuffer MemraBuffer;
typedef struct _MemraModule MemraModule;
typedef struct _MemraKernel MemraKernel;
typedef struct _MemraCensus MemraCensus;
typedef struct _MemraKernelNode MemraKernelNode;
typedef struct _MemraPolicy MemraPolicy;
typedef struct _MemraCaptureOptions MemraCaptureOptions;
typedef struct _MemraCaptureScope MemraCaptureScope;
typedef struct _MemraLayerCapture MemraLayerCapture;
typedef struct _MemraDsv4 MemraDsv4;
typedef struct _MemraDsv4Layer MemraDsv4Layer;

/**
 * MemraDim3:
 * @x: width
 * @y: height
 * @z: depth
 *
 * A grid in blocks or a block in threads.
 */
typedef struct
{
  guint32 x;
  guint32 y;
  guint32 z;
} MemraDim3;

G_END_DECLS
