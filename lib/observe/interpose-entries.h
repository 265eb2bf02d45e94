/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * interpose-entries.h: every entry point of the driver that the recorder wraps, once.
 *
 * Define INTERPOSE_X (kind, symbol, base, version, per_thread, params, args), then INTERPOSE_ENTRIES uses it for each:
 *   symbol      the exported name of that ABI
 *   base        the name that cuGetProcAddress is asked for; with `version` and `per_thread` it names the same ABI
 *   per_thread  whether NULL means the per-thread stream (_ptsz, _ptds)
 *
 * Unlike lib/driver/entries.h this has the old ABIs too: what a program asks for is what it must get.
 */
#pragma once

#include "driver/abi.h"

/* The beginning of CUlaunchConfig. */
typedef struct
{
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  CUstream stream;
} InterposeLaunchConfig;

typedef int (*InterposeRecaptureCallback) (void *data, CUgraphNode node, const void *from, const void *to, int status);

/* clang-format off */

/* ---- Captures and graphs. Each has a body of its own in interpose-wrap.c. ---- */

#define INTERPOSE_CORE_ENTRIES(X)                                                                                      \
  X (LOOKUP, cuGetProcAddress, cuGetProcAddress, 11030, false,                                                         \
     (const char *name, void **pfn, int version, uint64_t flags), (name, pfn, version, flags))                         \
  X (LOOKUP, cuGetProcAddress_v2, cuGetProcAddress, 12000, false,                                                      \
     (const char *name, void **pfn, int version, uint64_t flags, int *status), (name, pfn, version, flags, status))    \
  X (CORE, cuStreamBeginCapture, cuStreamBeginCapture, 10000, false, (CUstream stream), (stream))                      \
  X (CORE, cuStreamBeginCapture_ptsz, cuStreamBeginCapture, 10000, true, (CUstream stream), (stream))                  \
  X (CORE, cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010, false, (CUstream stream, int mode), (stream, mode))   \
  X (CORE, cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture, 10010, true, (CUstream stream, int mode),               \
     (stream, mode))                                                                                                   \
  X (CORE, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, false,                                     \
     (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t count,          \
      int mode), (stream, graph, dependencies, data, count, mode))                                                     \
  X (CORE, cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph, 12030, true,                                 \
     (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t count,          \
      int mode), (stream, graph, dependencies, data, count, mode))                                                     \
  X (CORE, cuStreamBeginRecaptureToGraph, cuStreamBeginRecaptureToGraph, 13030, false,                                 \
     (CUstream stream, int mode, CUgraph graph, InterposeRecaptureCallback callback, void *user_data),                 \
     (stream, mode, graph, callback, user_data))                                                                       \
  X (CORE, cuStreamBeginRecaptureToGraph_ptsz, cuStreamBeginRecaptureToGraph, 13030, true,                             \
     (CUstream stream, int mode, CUgraph graph, InterposeRecaptureCallback callback, void *user_data),                 \
     (stream, mode, graph, callback, user_data))                                                                       \
  X (CORE, cuStreamEndCapture, cuStreamEndCapture, 10000, false, (CUstream stream, CUgraph *graph), (stream, graph))   \
  X (CORE, cuStreamEndCapture_ptsz, cuStreamEndCapture, 10000, true, (CUstream stream, CUgraph *graph),                \
     (stream, graph))                                                                                                  \
  X (CORE, cuStreamDestroy, cuStreamDestroy, 2000, false, (CUstream stream), (stream))                                 \
  X (CORE, cuStreamDestroy_v2, cuStreamDestroy, 4000, false, (CUstream stream), (stream))                              \
  X (CORE, cuCtxDestroy, cuCtxDestroy, 2000, false, (CUcontext context), (context))                                    \
  X (CORE, cuCtxDestroy_v2, cuCtxDestroy, 4000, false, (CUcontext context), (context))                                 \
  X (CORE, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, false, (CUdevice device), (device))                 \
  X (CORE, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, false, (CUdevice device), (device))             \
  X (CORE, cuGraphInstantiate, cuGraphInstantiate, 10000, false,                                                       \
     (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text, size_t size), (exec, graph, node, text, size))  \
  X (CORE, cuGraphInstantiate_v2, cuGraphInstantiate, 11000, false,                                                    \
     (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text, size_t size), (exec, graph, node, text, size))  \
  X (CORE, cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, false,                                     \
     (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags))                               \
  X (CORE, cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, false,                                   \
     (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params), (exec, graph, params))                          \
  X (CORE, cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams, 12000, true,                               \
     (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params), (exec, graph, params))                          \
  X (CORE, cuGraphExecUpdate, cuGraphExecUpdate, 10020, false,                                                         \
     (CUgraphExec exec, CUgraph graph, CUgraphNode *node, int *update), (exec, graph, node, update))                   \
  X (CORE, cuGraphExecUpdate_v2, cuGraphExecUpdate, 12000, false,                                                      \
     (CUgraphExec exec, CUgraph graph, McuUpdateResultInfo *info), (exec, graph, info))                                \
  X (CORE, cuGraphExecDestroy, cuGraphExecDestroy, 10000, false, (CUgraphExec exec), (exec))                           \
  X (CORE, cuGraphDestroy, cuGraphDestroy, 10000, false, (CUgraph graph), (graph))                                     \
  X (CORE, cuGraphClone, cuGraphClone, 10000, false, (CUgraph *clone, CUgraph graph), (clone, graph))                  \
  X (LAUNCH, cuGraphLaunch, cuGraphLaunch, 10000, false, (CUgraphExec exec, CUstream stream), (exec, stream))          \
  X (LAUNCH, cuGraphLaunch_ptsz, cuGraphLaunch, 10000, true, (CUgraphExec exec, CUstream stream), (exec, stream))

/* ---- What becomes a node when its stream captures. A twin has the same parameters. ----
 * X (symbol, twin, base, version, params, args, stream) */

#define INTERPOSE_OPERATION_ENTRIES(X)                                                                                 \
  X (cuLaunchKernel, _ptsz, cuLaunchKernel, 4000,                                                                      \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
      unsigned block_z, unsigned shared, CUstream stream, void **params, void **extra),                                \
     (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, extra), stream)             \
  X (cuLaunchKernelEx, _ptsz, cuLaunchKernelEx, 11060,                                                                 \
     (const InterposeLaunchConfig *config, CUfunction function, void **params, void **extra),                          \
     (config, function, params, extra), config->stream)                                                                \
  X (cuLaunchCooperativeKernel, _ptsz, cuLaunchCooperativeKernel, 9000,                                                \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
      unsigned block_z, unsigned shared, CUstream stream, void **params),                                              \
     (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params), stream)                    \
  X (cuLaunchHostFunc, _ptsz, cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn fn, void *data),                     \
     (stream, fn, data), stream)                                                                                       \
  X (cuMemcpyAsync, _ptsz, cuMemcpyAsync, 4000, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream),      \
     (dst, src, size, stream), stream)                                                                                 \
  X (cuMemcpyHtoDAsync_v2, _ptsz, cuMemcpyHtoDAsync, 3020,                                                             \
     (CUdeviceptr dst, const void *src, size_t size, CUstream stream), (dst, src, size, stream), stream)               \
  X (cuMemcpyDtoHAsync_v2, _ptsz, cuMemcpyDtoHAsync, 3020,                                                             \
     (void *dst, CUdeviceptr src, size_t size, CUstream stream), (dst, src, size, stream), stream)                     \
  X (cuMemcpyDtoDAsync_v2, _ptsz, cuMemcpyDtoDAsync, 3020,                                                             \
     (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream), (dst, src, size, stream), stream)               \
  X (cuMemcpyPeerAsync, _ptsz, cuMemcpyPeerAsync, 4000,                                                                \
     (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size, CUstream stream),                   \
     (dst, to, src, from, size, stream), stream)                                                                       \
  X (cuMemcpy2DAsync_v2, _ptsz, cuMemcpy2DAsync, 3020, (const void *copy, CUstream stream), (copy, stream), stream)    \
  X (cuMemcpy3DAsync_v2, _ptsz, cuMemcpy3DAsync, 3020, (const void *copy, CUstream stream), (copy, stream), stream)    \
  X (cuMemsetD8Async, _ptsz, cuMemsetD8Async, 3020,                                                                    \
     (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream), (dst, value, count, stream), stream)       \
  X (cuMemsetD16Async, _ptsz, cuMemsetD16Async, 3020,                                                                  \
     (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream), (dst, value, count, stream), stream)      \
  X (cuMemsetD32Async, _ptsz, cuMemsetD32Async, 3020,                                                                  \
     (CUdeviceptr dst, unsigned value, size_t count, CUstream stream), (dst, value, count, stream), stream)            \
  X (cuMemsetD2D8Async, _ptsz, cuMemsetD2D8Async, 3020,                                                                \
     (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream),               \
     (dst, pitch, value, width, height, stream), stream)                                                               \
  X (cuMemsetD2D16Async, _ptsz, cuMemsetD2D16Async, 3020,                                                              \
     (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream),              \
     (dst, pitch, value, width, height, stream), stream)                                                               \
  X (cuMemsetD2D32Async, _ptsz, cuMemsetD2D32Async, 3020,                                                              \
     (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream),                    \
     (dst, pitch, value, width, height, stream), stream)                                                               \
  X (cuMemAllocAsync, _ptsz, cuMemAllocAsync, 11020, (CUdeviceptr *address, size_t size, CUstream stream),             \
     (address, size, stream), stream)                                                                                  \
  X (cuMemAllocFromPoolAsync, _ptsz, cuMemAllocFromPoolAsync, 11020,                                                   \
     (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream), (address, size, pool, stream), stream)   \
  X (cuMemFreeAsync, _ptsz, cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream), (address, stream), stream)

/* ---- What is known to break captures, for drivers without an error log. ---- */

/* X (symbol, twin, base, version, params, args) */
#define INTERPOSE_CULPRIT_TWIN_ENTRIES(X)                                                                              \
  X (cuStreamSynchronize, _ptsz, cuStreamSynchronize, 2000, (CUstream stream), (stream))                               \
  X (cuStreamQuery, _ptsz, cuStreamQuery, 2000, (CUstream stream), (stream))                                           \
  X (cuStreamWaitEvent, _ptsz, cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags),              \
     (stream, event, flags))                                                                                           \
  X (cuEventRecord, _ptsz, cuEventRecord, 2000, (CUevent event, CUstream stream), (event, stream))                     \
  X (cuMemcpy, _ptds, cuMemcpy, 4000, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size))               \
  X (cuMemcpyHtoD_v2, _ptds, cuMemcpyHtoD, 3020, (CUdeviceptr dst, const void *src, size_t size), (dst, src, size))    \
  X (cuMemcpyDtoH_v2, _ptds, cuMemcpyDtoH, 3020, (void *dst, CUdeviceptr src, size_t size), (dst, src, size))          \
  X (cuMemcpyDtoD_v2, _ptds, cuMemcpyDtoD, 3020, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size))    \
  X (cuMemsetD8_v2, _ptds, cuMemsetD8, 3020, (CUdeviceptr dst, unsigned char value, size_t count),                     \
     (dst, value, count))                                                                                              \
  X (cuMemsetD32_v2, _ptds, cuMemsetD32, 3020, (CUdeviceptr dst, unsigned value, size_t count), (dst, value, count))   \
  X (cuGraphUpload, _ptsz, cuGraphUpload, 11010, (CUgraphExec exec, CUstream stream), (exec, stream))

/* X (symbol, base, version, params, args) */
#define INTERPOSE_CULPRIT_PLAIN_ENTRIES(X)                                                                             \
  X (cuEventQuery, cuEventQuery, 2000, (CUevent event), (event))                                                       \
  X (cuEventSynchronize, cuEventSynchronize, 2000, (CUevent event), (event))                                           \
  X (cuCtxSynchronize, cuCtxSynchronize, 2000, (void), ())                                                             \
  X (cuMemAlloc_v2, cuMemAlloc, 3020, (CUdeviceptr *address, size_t size), (address, size))                            \
  X (cuMemAllocPitch_v2, cuMemAllocPitch, 3020,                                                                        \
     (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element),                             \
     (address, pitch, width, height, element))                                                                         \
  X (cuMemAllocManaged, cuMemAllocManaged, 6000, (CUdeviceptr *address, size_t size, unsigned flags),                  \
     (address, size, flags))                                                                                           \
  X (cuMemFree_v2, cuMemFree, 3020, (CUdeviceptr address), (address))                                                  \
  X (cuMemHostAlloc, cuMemHostAlloc, 2020, (void **address, size_t size, unsigned flags), (address, size, flags))      \
  X (cuMemFreeHost, cuMemFreeHost, 2000, (void *address), (address))                                                   \
  X (cuModuleLoad, cuModuleLoad, 2000, (CUmodule *module, const char *path), (module, path))                           \
  X (cuModuleLoadData, cuModuleLoadData, 2000, (CUmodule *module, const void *image), (module, image))                 \
  X (cuModuleUnload, cuModuleUnload, 2000, (CUmodule module), (module))                                                \
  X (cuLibraryUnload, cuLibraryUnload, 12000, (CUlibrary library), (library))

/* clang-format on */

/* Per-thread twins of what is older than 7.0 came with 7.0. */
#define INTERPOSE_TWIN_VERSION(version) ((version) > 7000 ? (version) : 7000)

#define INTERPOSE_OPERATION_ROWS(symbol, twin, base, version, params, args, stream)                                    \
  INTERPOSE_X (OPERATION, symbol, base, version, false, params, args)                                                  \
  INTERPOSE_X (OPERATION, symbol##twin, base, INTERPOSE_TWIN_VERSION (version), true, params, args)
#define INTERPOSE_CULPRIT_TWIN_ROWS(symbol, twin, base, version, params, args)                                         \
  INTERPOSE_X (CULPRIT, symbol, base, version, false, params, args)                                                    \
  INTERPOSE_X (CULPRIT, symbol##twin, base, INTERPOSE_TWIN_VERSION (version), true, params, args)
#define INTERPOSE_CULPRIT_PLAIN_ROWS(symbol, base, version, params, args)                                              \
  INTERPOSE_X (CULPRIT, symbol, base, version, false, params, args)

#define INTERPOSE_ENTRIES                                                                                              \
  INTERPOSE_CORE_ENTRIES (INTERPOSE_X)                                                                                 \
  INTERPOSE_OPERATION_ENTRIES (INTERPOSE_OPERATION_ROWS)                                                               \
  INTERPOSE_CULPRIT_TWIN_ENTRIES (INTERPOSE_CULPRIT_TWIN_ROWS)                                                         \
  INTERPOSE_CULPRIT_PLAIN_ENTRIES (INTERPOSE_CULPRIT_PLAIN_ROWS)
