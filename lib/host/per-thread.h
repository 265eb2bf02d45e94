/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * per-thread.h: the twins of entry points for clients whose default stream is the per-thread one.
 *
 * X (symbol, suffix, params, args): symbol##suffix does what symbol does, with NULL meaning the per-thread stream.
 */
#pragma once

#include "host-private.h"

/* clang-format off */
#define HOST_PER_THREAD_ENTRIES(X)                                                                                     \
  X (cuStreamQuery, _ptsz, (CUstream stream), (stream))                                                                \
  X (cuStreamSynchronize, _ptsz, (CUstream stream), (stream))                                                          \
  X (cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))               \
  X (cuStreamGetFlags, _ptsz, (CUstream stream, unsigned *flags), (stream, flags))                                     \
  X (cuStreamGetPriority, _ptsz, (CUstream stream, int *priority), (stream, priority))                                 \
  X (cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *context), (stream, context))                                  \
  X (cuStreamGetCtx_v2, _ptsz, (CUstream stream, CUcontext *context, void **green_context), (stream, context,          \
     green_context))                                                                                                   \
  X (cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *id), (stream, id))                                    \
  X (cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice *device), (stream, device))                                  \
  X (cuStreamAddCallback, _ptsz, (CUstream stream, CUstreamCallback callback, void *user_data, unsigned flags),        \
     (stream, callback, user_data, flags))                                                                             \
  X (cuLaunchHostFunc, _ptsz, (CUstream stream, CUhostFn fn, void *user_data), (stream, fn, user_data))                \
  X (cuStreamAttachMemAsync, _ptsz, (CUstream stream, CUdeviceptr address, size_t length, unsigned flags),             \
     (stream, address, length, flags))                                                                                 \
  X (cuStreamGetAttribute, _ptsz, (CUstream stream, int attribute, void *value), (stream, attribute, value))           \
  X (cuStreamSetAttribute, _ptsz, (CUstream stream, int attribute, const void *value), (stream, attribute,             \
     value))                                                                                                           \
  X (cuStreamCopyAttributes, _ptsz, (CUstream stream, CUstream from), (stream, from))                                  \
  X (cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))                                          \
  X (cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned flags), (event, stream, flags))          \
  X (cuMemAllocAsync, _ptsz, (CUdeviceptr *address, size_t size, CUstream stream), (address, size, stream))            \
  X (cuMemAllocFromPoolAsync, _ptsz, (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream),          \
     (address, size, pool, stream))                                                                                    \
  X (cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream stream), (address, stream))                                 \
  X (cuMemPrefetchAsync, _ptsz, (CUdeviceptr address, size_t size, CUdevice device, CUstream stream), (address,        \
     size, device, stream))                                                                                            \
  X (cuMemPrefetchAsync_v2, _ptsz, (CUdeviceptr address, size_t size, McuMemLocation location, unsigned flags,         \
     CUstream stream), (address, size, location, flags, stream))                                                       \
  X (cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size))                               \
  X (cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void *src, size_t size), (dst, src, size))                        \
  X (cuMemcpyDtoH_v2, _ptds, (void *dst, CUdeviceptr src, size_t size), (dst, src, size))                              \
  X (cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t size), (dst, src, size))                        \
  X (cuMemcpyPeer, _ptds, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,             \
     size_t size), (dst, dst_context, src, src_context, size))                                                         \
  X (cuMemcpy2D_v2, _ptds, (const HostMemcpy2D *copy), (copy))                                                         \
  X (cuMemcpy2DUnaligned_v2, _ptds, (const HostMemcpy2D *copy), (copy))                                                \
  X (cuMemcpy3D_v2, _ptds, (const McuMemcpy3D *copy), (copy))                                                          \
  X (cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream), (dst, src, size,          \
     stream))                                                                                                          \
  X (cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr dst, const void *src, size_t size, CUstream stream), (dst, src,         \
     size, stream))                                                                                                    \
  X (cuMemcpyDtoHAsync_v2, _ptsz, (void *dst, CUdeviceptr src, size_t size, CUstream stream), (dst, src, size,         \
     stream))                                                                                                          \
  X (cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream), (dst, src,         \
     size, stream))                                                                                                    \
  X (cuMemcpyPeerAsync, _ptsz, (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,        \
     size_t size, CUstream stream), (dst, dst_context, src, src_context, size, stream))                                \
  X (cuMemcpy2DAsync_v2, _ptsz, (const HostMemcpy2D *copy, CUstream stream), (copy, stream))                           \
  X (cuMemcpy3DAsync_v2, _ptsz, (const McuMemcpy3D *copy, CUstream stream), (copy, stream))                            \
  X (cuMemcpyBatchAsync, _ptsz, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void               \
     *attributes, size_t *indices, size_t n_attributes, size_t *failed, CUstream stream), (dsts, srcs, sizes,          \
     count, attributes, indices, n_attributes, failed, stream))                                                        \
  X (cuMemcpyBatchAsync_v2, _ptsz, (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void            \
     *attributes, size_t *indices, size_t n_attributes, CUstream stream), (dsts, srcs, sizes, count, attributes,       \
     indices, n_attributes, stream))                                                                                   \
  X (cuMemsetD8_v2, _ptds, (CUdeviceptr dst, unsigned char value, size_t count), (dst, value, count))                  \
  X (cuMemsetD16_v2, _ptds, (CUdeviceptr dst, unsigned short value, size_t count), (dst, value, count))                \
  X (cuMemsetD32_v2, _ptds, (CUdeviceptr dst, unsigned value, size_t count), (dst, value, count))                      \
  X (cuMemsetD2D8_v2, _ptds, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height),        \
     (dst, pitch, value, width, height))                                                                               \
  X (cuMemsetD2D16_v2, _ptds, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t               \
     height), (dst, pitch, value, width, height))                                                                      \
  X (cuMemsetD2D32_v2, _ptds, (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height),            \
     (dst, pitch, value, width, height))                                                                               \
  X (cuMemsetD8Async, _ptsz, (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream), (dst, value,       \
     count, stream))                                                                                                   \
  X (cuMemsetD16Async, _ptsz, (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream), (dst,            \
     value, count, stream))                                                                                            \
  X (cuMemsetD32Async, _ptsz, (CUdeviceptr dst, unsigned value, size_t count, CUstream stream), (dst, value,           \
     count, stream))                                                                                                   \
  X (cuMemsetD2D8Async, _ptsz, (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,       \
     CUstream stream), (dst, pitch, value, width, height, stream))                                                     \
  X (cuMemsetD2D16Async, _ptsz, (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t             \
     height, CUstream stream), (dst, pitch, value, width, height, stream))                                             \
  X (cuMemsetD2D32Async, _ptsz, (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height,           \
     CUstream stream), (dst, pitch, value, width, height, stream))                                                     \
  X (cuLaunchKernel, _ptsz, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned          \
     block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void          \
     **extra), (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params,             \
     extra))                                                                                                           \
  X (cuLaunchKernelEx, _ptsz, (const HostLaunchConfig *config, CUfunction function, void **params, void                \
     **extra), (config, function, params, extra))                                                                      \
  X (cuLaunchCooperativeKernel, _ptsz, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,        \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void                \
     **params), (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params))           \
  X (cuStreamBeginCapture, _ptsz, (CUstream stream), (stream))                                                         \
  X (cuStreamBeginCapture_v2, _ptsz, (CUstream stream, int mode), (stream, mode))                                      \
  X (cuStreamBeginCaptureToGraph, _ptsz, (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const       \
     McuEdgeData *data, size_t count, int mode), (stream, graph, dependencies, data, count, mode))                     \
  X (cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *graph), (stream, graph))                                    \
  X (cuStreamIsCapturing, _ptsz, (CUstream stream, int *status), (stream, status))                                     \
  X (cuStreamGetCaptureInfo, _ptsz, (CUstream stream, int *status, uint64_t *id), (stream, status, id))                \
  X (cuStreamGetCaptureInfo_v2, _ptsz, (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const              \
     CUgraphNode **dependencies, size_t *n_dependencies), (stream, status, id, graph, dependencies,                    \
     n_dependencies))                                                                                                  \
  X (cuStreamGetCaptureInfo_v3, _ptsz, (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const              \
     CUgraphNode **dependencies, const McuEdgeData **data, size_t *n_dependencies), (stream, status, id, graph,        \
     dependencies, data, n_dependencies))                                                                              \
  X (cuStreamUpdateCaptureDependencies, _ptsz, (CUstream stream, CUgraphNode *dependencies, size_t count,              \
     unsigned flags), (stream, dependencies, count, flags))                                                            \
  X (cuStreamUpdateCaptureDependencies_v2, _ptsz, (CUstream stream, CUgraphNode *dependencies, const McuEdgeData       \
     *data, size_t count, unsigned flags), (stream, dependencies, data, count, flags))                                 \
  X (cuStreamWriteValue32_v2, _ptsz, (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags),           \
     (stream, address, value, flags))                                                                                  \
  X (cuStreamWriteValue64_v2, _ptsz, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags),           \
     (stream, address, value, flags))                                                                                  \
  X (cuStreamWaitValue32_v2, _ptsz, (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags),            \
     (stream, address, value, flags))                                                                                  \
  X (cuStreamWaitValue64_v2, _ptsz, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags),            \
     (stream, address, value, flags))                                                                                  \
  X (cuStreamBatchMemOp_v2, _ptsz, (CUstream stream, unsigned count, HostMemOp *ops, unsigned flags), (stream,         \
     count, ops, flags))                                                                                               \
  X (cuGraphInstantiateWithParams, _ptsz, (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params),            \
     (exec, graph, params))                                                                                            \
  X (cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))                                        \
  X (cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))
/* clang-format on */

#define HOST_PER_THREAD_PROTOTYPE(symbol, suffix, params, args) HOST_API McuResult symbol##suffix params;
HOST_PER_THREAD_ENTRIES (HOST_PER_THREAD_PROTOTYPE)
#undef HOST_PER_THREAD_PROTOTYPE
