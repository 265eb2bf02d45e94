/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * entries.h: every driver entry point that the library calls, once.
 *
 * X (need, field, base, version, symbol, params)
 *   need     REQUIRED or OPTIONAL. A missing required entry refuses the driver; a missing optional one is NULL in the
 *            table and whoever needs it says so.
 *   base     the name that cuGetProcAddress is asked for
 *   field    name in MemraDriverTable
 *   version  the pinned ABI: this very number is requested, never the header's or the driver's
 *   symbol   the exported name of that ABI, for drivers without cuGetProcAddress and for the host driver's exports
 *   params   the C parameter list; every entry returns McuResult
 *
 * Where an ABI changed (edge data in 12.3, exec update in 12.0, kernel params in 12.0) both are listed, each in its own field.
 */
#pragma once

#include "abi.h"

#define MEMRA_DRIVER_ENTRIES(X)                                                                                                  \
  X (REQUIRED, cuInit, "cuInit", 2000, "cuInit", (unsigned flags))                                                               \
  X (REQUIRED, cuDriverGetVersion, "cuDriverGetVersion", 2020, "cuDriverGetVersion", (int *version))                             \
  X (REQUIRED, cuGetErrorName, "cuGetErrorName", 6000, "cuGetErrorName", (int error, const char **name))                         \
  X (REQUIRED, cuGetErrorString, "cuGetErrorString", 6000, "cuGetErrorString", (int error, const char **text))                   \
  X (REQUIRED, cuDeviceGetCount, "cuDeviceGetCount", 2000, "cuDeviceGetCount", (int *count))                                     \
  X (REQUIRED, cuDeviceGet, "cuDeviceGet", 2000, "cuDeviceGet", (CUdevice *device, int ordinal))                                 \
  X (REQUIRED, cuDeviceGetName, "cuDeviceGetName", 2000, "cuDeviceGetName", (char *name, int length, CUdevice device))           \
  X (REQUIRED, cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000, "cuDeviceGetAttribute",                                       \
     (int *value, int attribute, CUdevice device))                                                                               \
  X (REQUIRED, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, "cuDevicePrimaryCtxRetain",                           \
     (CUcontext *context, CUdevice device))                                                                                      \
  X (REQUIRED, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2", (CUdevice device)) \
  X (REQUIRED, cuCtxGetCurrent, "cuCtxGetCurrent", 4000, "cuCtxGetCurrent", (CUcontext *context))                                \
  X (REQUIRED, cuCtxSetCurrent, "cuCtxSetCurrent", 4000, "cuCtxSetCurrent", (CUcontext context))                                 \
  X (REQUIRED, cuCtxPushCurrent, "cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2", (CUcontext context))                           \
  X (REQUIRED, cuCtxPopCurrent, "cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2", (CUcontext *context))                             \
  X (REQUIRED, cuCtxGetDevice, "cuCtxGetDevice", 2000, "cuCtxGetDevice", (CUdevice *device))                                     \
  X (REQUIRED, cuCtxSynchronize, "cuCtxSynchronize", 2000, "cuCtxSynchronize", (void))                                           \
  X (REQUIRED, cuStreamCreate, "cuStreamCreate", 2000, "cuStreamCreate", (CUstream *stream, unsigned flags))                     \
  X (REQUIRED, cuStreamDestroy, "cuStreamDestroy", 4000, "cuStreamDestroy_v2", (CUstream stream))                                \
  X (REQUIRED, cuStreamGetFlags, "cuStreamGetFlags", 5050, "cuStreamGetFlags", (CUstream stream, unsigned *flags))               \
  X (REQUIRED, cuStreamGetCtx, "cuStreamGetCtx", 9020, "cuStreamGetCtx", (CUstream stream, CUcontext * context))                 \
  X (REQUIRED, cuStreamQuery, "cuStreamQuery", 2000, "cuStreamQuery", (CUstream stream))                                         \
  X (REQUIRED, cuStreamSynchronize, "cuStreamSynchronize", 2000, "cuStreamSynchronize", (CUstream stream))                       \
  X (REQUIRED, cuStreamWaitEvent, "cuStreamWaitEvent", 3020, "cuStreamWaitEvent",                                                \
     (CUstream stream, CUevent event, unsigned flags))                                                                           \
  X (REQUIRED, cuLaunchHostFunc, "cuLaunchHostFunc", 10000, "cuLaunchHostFunc", (CUstream stream, CUhostFn fn, void *user_data)) \
  X (REQUIRED, cuEventCreate, "cuEventCreate", 2000, "cuEventCreate", (CUevent *event, unsigned flags))                          \
  X (REQUIRED, cuEventDestroy, "cuEventDestroy", 4000, "cuEventDestroy_v2", (CUevent event))                                     \
  X (REQUIRED, cuEventRecord, "cuEventRecord", 2000, "cuEventRecord", (CUevent event, CUstream stream))                          \
  X (REQUIRED, cuEventQuery, "cuEventQuery", 2000, "cuEventQuery", (CUevent event))                                              \
  X (REQUIRED, cuEventSynchronize, "cuEventSynchronize", 2000, "cuEventSynchronize", (CUevent event))                            \
  X (REQUIRED, cuEventElapsedTime, "cuEventElapsedTime", 2000, "cuEventElapsedTime",                                             \
     (float *milliseconds, CUevent start, CUevent end))                                                                          \
  X (REQUIRED, cuMemAlloc, "cuMemAlloc", 3020, "cuMemAlloc_v2", (CUdeviceptr *address, size_t size))                             \
  X (REQUIRED, cuMemFree, "cuMemFree", 3020, "cuMemFree_v2", (CUdeviceptr address))                                              \
  X (REQUIRED, cuMemHostAlloc, "cuMemHostAlloc", 2020, "cuMemHostAlloc", (void **address, size_t size, unsigned flags))          \
  X (REQUIRED, cuMemFreeHost, "cuMemFreeHost", 2000, "cuMemFreeHost", (void *address))                                           \
  X (REQUIRED, cuMemAllocAsync, "cuMemAllocAsync", 11020, "cuMemAllocAsync", (CUdeviceptr *address, size_t size, CUstream stream)) \
  X (REQUIRED, cuMemFreeAsync, "cuMemFreeAsync", 11020, "cuMemFreeAsync", (CUdeviceptr address, CUstream stream))                \
  X (REQUIRED, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2",                                             \
     (CUdeviceptr dst, const void *src, size_t size, CUstream stream))                                                           \
  X (REQUIRED, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2",                                             \
     (void *dst, CUdeviceptr src, size_t size, CUstream stream))                                                                 \
  X (REQUIRED, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2",                                             \
     (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))                                                           \
  X (REQUIRED, cuMemcpyDtoH, "cuMemcpyDtoH", 3020, "cuMemcpyDtoH_v2", (void *dst, CUdeviceptr src, size_t size))                 \
  X (REQUIRED, cuMemcpyHtoD, "cuMemcpyHtoD", 3020, "cuMemcpyHtoD_v2", (CUdeviceptr dst, const void *src, size_t size))           \
  X (REQUIRED, cuMemsetD8Async, "cuMemsetD8Async", 3020, "cuMemsetD8Async",                                                      \
     (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream))                                                      \
  X (REQUIRED, cuMemsetD32Async, "cuMemsetD32Async", 3020, "cuMemsetD32Async",                                                   \
     (CUdeviceptr dst, unsigned value, size_t count, CUstream stream))                                                           \
  X (REQUIRED, cuPointerGetAttribute, "cuPointerGetAttribute", 4000, "cuPointerGetAttribute",                                    \
     (void *data, int attribute, CUdeviceptr address))                                                                           \
  X (REQUIRED, cuPointerGetAttributes, "cuPointerGetAttributes", 7000, "cuPointerGetAttributes",                                 \
     (unsigned count, int *attributes, void **data, CUdeviceptr address))                                                        \
  X (REQUIRED, cuModuleLoad, "cuModuleLoad", 2000, "cuModuleLoad", (CUmodule *module, const char *path))                         \
  X (REQUIRED, cuModuleLoadData, "cuModuleLoadData", 2000, "cuModuleLoadData", (CUmodule *module, const void *image))            \
  X (REQUIRED, cuModuleUnload, "cuModuleUnload", 2000, "cuModuleUnload", (CUmodule module))                                      \
  X (REQUIRED, cuModuleGetFunction, "cuModuleGetFunction", 2000, "cuModuleGetFunction",                                          \
     (CUfunction *function, CUmodule module, const char *name))                                                                  \
  X (REQUIRED, cuLaunchKernel, "cuLaunchKernel", 4000, "cuLaunchKernel",                                                         \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,                \
      unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void **extra))                                    \
  X (OPTIONAL, cuFuncGetName, "cuFuncGetName", 12030, "cuFuncGetName", (const char **name, CUfunction function))                 \
  X (OPTIONAL, cuKernelGetName, "cuKernelGetName", 12030, "cuKernelGetName", (const char **name, CUkernel kernel))               \
  X (OPTIONAL, cuFuncGetParamInfo, "cuFuncGetParamInfo", 12040, "cuFuncGetParamInfo",                                            \
     (CUfunction function, size_t index, size_t *offset, size_t *size))                                                          \
  X (OPTIONAL, cuKernelGetParamInfo, "cuKernelGetParamInfo", 12040, "cuKernelGetParamInfo",                                      \
     (CUkernel kernel, size_t index, size_t *offset, size_t *size))                                                              \
  X (OPTIONAL, cuFuncGetModule, "cuFuncGetModule", 11000, "cuFuncGetModule", (CUmodule * module, CUfunction function))           \
  X (REQUIRED, cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", 10010,                                    \
     "cuThreadExchangeStreamCaptureMode", (int *mode))                                                                           \
  X (REQUIRED, cuStreamBeginCapture, "cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2", (CUstream stream, int mode))      \
  X (REQUIRED, cuStreamEndCapture, "cuStreamEndCapture", 10000, "cuStreamEndCapture", (CUstream stream, CUgraph * graph))        \
  X (REQUIRED, cuStreamIsCapturing, "cuStreamIsCapturing", 10000, "cuStreamIsCapturing", (CUstream stream, int *status))         \
  X (REQUIRED, cuStreamGetCaptureInfo_v2, "cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2",                          \
     (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, size_t *n_dependencies))     \
  X (OPTIONAL, cuStreamGetCaptureInfo_v3, "cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3",                          \
     (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,                              \
      const McuEdgeData **edge_data, size_t *n_dependencies))                                                                    \
  X (REQUIRED, cuGraphCreate, "cuGraphCreate", 10000, "cuGraphCreate", (CUgraph *graph, unsigned flags))                         \
  X (REQUIRED, cuGraphDestroy, "cuGraphDestroy", 10000, "cuGraphDestroy", (CUgraph graph))                                       \
  X (REQUIRED, cuGraphGetNodes, "cuGraphGetNodes", 10000, "cuGraphGetNodes", (CUgraph graph, CUgraphNode *nodes, size_t *count)) \
  X (REQUIRED, cuGraphGetEdges, "cuGraphGetEdges", 10000, "cuGraphGetEdges",                                                     \
     (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count))                                                         \
  X (OPTIONAL, cuGraphGetEdges_v2, "cuGraphGetEdges", 12030, "cuGraphGetEdges_v2",                                               \
     (CUgraph graph, CUgraphNode *from, CUgraphNode *to, McuEdgeData *edge_data, size_t *count))                                 \
  X (REQUIRED, cuGraphNodeGetDependencies, "cuGraphNodeGetDependencies", 10000, "cuGraphNodeGetDependencies",                    \
     (CUgraphNode node, CUgraphNode *dependencies, size_t *count))                                                               \
  X (OPTIONAL, cuGraphNodeGetDependencies_v2, "cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2",              \
     (CUgraphNode node, CUgraphNode *dependencies, McuEdgeData *edge_data, size_t *count))                                       \
  X (REQUIRED, cuGraphNodeGetType, "cuGraphNodeGetType", 10000, "cuGraphNodeGetType", (CUgraphNode node, int *type))             \
  X (REQUIRED, cuGraphKernelNodeGetParams, "cuGraphKernelNodeGetParams", 10000, "cuGraphKernelNodeGetParams",                    \
     (CUgraphNode node, McuKernelNodeParams *params))                                                                            \
  X (OPTIONAL, cuGraphKernelNodeGetParams_v2, "cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2",              \
     (CUgraphNode node, McuKernelNodeParams *params))                                                                            \
  X (REQUIRED, cuGraphKernelNodeSetParams, "cuGraphKernelNodeSetParams", 10000, "cuGraphKernelNodeSetParams",                    \
     (CUgraphNode node, const McuKernelNodeParams *params))                                                                      \
  X (OPTIONAL, cuGraphKernelNodeSetParams_v2, "cuGraphKernelNodeSetParams", 12000, "cuGraphKernelNodeSetParams_v2",              \
     (CUgraphNode node, const McuKernelNodeParams *params))                                                                      \
  X (REQUIRED, cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams", 10010, "cuGraphExecKernelNodeSetParams",        \
     (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params))                                                    \
  X (OPTIONAL, cuGraphExecKernelNodeSetParams_v2, "cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2",  \
     (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params))                                                    \
  X (REQUIRED, cuGraphMemcpyNodeGetParams, "cuGraphMemcpyNodeGetParams", 10000, "cuGraphMemcpyNodeGetParams",                    \
     (CUgraphNode node, McuMemcpy3D *params))                                                                                    \
  X (REQUIRED, cuGraphMemsetNodeGetParams, "cuGraphMemsetNodeGetParams", 10000, "cuGraphMemsetNodeGetParams",                    \
     (CUgraphNode node, McuMemsetNodeParams *params))                                                                            \
  X (REQUIRED, cuGraphHostNodeGetParams, "cuGraphHostNodeGetParams", 10000, "cuGraphHostNodeGetParams",                          \
     (CUgraphNode node, McuHostNodeParams *params))                                                                              \
  X (REQUIRED, cuGraphChildGraphNodeGetGraph, "cuGraphChildGraphNodeGetGraph", 10000, "cuGraphChildGraphNodeGetGraph",           \
     (CUgraphNode node, CUgraph *graph))                                                                                         \
  X (REQUIRED, cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode", 10000, "cuGraphAddChildGraphNode",                          \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUgraph child))                           \
  X (OPTIONAL, cuGraphMemAllocNodeGetParams, "cuGraphMemAllocNodeGetParams", 11040, "cuGraphMemAllocNodeGetParams",              \
     (CUgraphNode node, McuMemAllocNodeParams *params))                                                                          \
  X (OPTIONAL, cuGraphMemFreeNodeGetParams, "cuGraphMemFreeNodeGetParams", 11040, "cuGraphMemFreeNodeGetParams",                 \
     (CUgraphNode node, CUdeviceptr *address))                                                                                   \
  X (OPTIONAL, cuGraphNodeGetParams, "cuGraphNodeGetParams", 13020, "cuGraphNodeGetParams",                                      \
     (CUgraphNode node, McuNodeParams *params))                                                                                  \
  X (OPTIONAL, cuGraphDebugDotPrint, "cuGraphDebugDotPrint", 11030, "cuGraphDebugDotPrint",                                      \
     (CUgraph graph, const char *path, unsigned flags))                                                                          \
  X (REQUIRED, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040, "cuGraphInstantiateWithFlags",                 \
     (CUgraphExec *exec, CUgraph graph, unsigned long long flags))                                                               \
  X (OPTIONAL, cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 12000, "cuGraphInstantiateWithParams",              \
     (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params))                                                           \
  X (REQUIRED, cuGraphUpload, "cuGraphUpload", 11010, "cuGraphUpload", (CUgraphExec exec, CUstream stream))                      \
  X (REQUIRED, cuGraphLaunch, "cuGraphLaunch", 10000, "cuGraphLaunch", (CUgraphExec exec, CUstream stream))                      \
  X (REQUIRED, cuGraphExecDestroy, "cuGraphExecDestroy", 10000, "cuGraphExecDestroy", (CUgraphExec exec))                        \
  X (REQUIRED, cuGraphExecUpdate, "cuGraphExecUpdate", 10020, "cuGraphExecUpdate",                                               \
     (CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, int *result))                                                    \
  X (OPTIONAL, cuGraphExecUpdate_v2, "cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2",                                         \
     (CUgraphExec exec, CUgraph graph, McuUpdateResultInfo *info))                                                               \
  X (REQUIRED, cuUserObjectCreate, "cuUserObjectCreate", 11030, "cuUserObjectCreate",                                            \
     (CUuserObject *object, void *data, CUhostFn destroy, unsigned refcount, unsigned flags))                                    \
  X (REQUIRED, cuUserObjectRelease, "cuUserObjectRelease", 11030, "cuUserObjectRelease", (CUuserObject object, unsigned count))  \
  X (REQUIRED, cuGraphRetainUserObject, "cuGraphRetainUserObject", 11030, "cuGraphRetainUserObject",                             \
     (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))                                                       \
  X (OPTIONAL, cuLogsRegisterCallback, "cuLogsRegisterCallback", 12090, "cuLogsRegisterCallback",                                \
     (McuLogsCallback callback, void *user_data, CUlogsCallbackHandle *handle))                                                  \
  X (OPTIONAL, cuLogsUnregisterCallback, "cuLogsUnregisterCallback", 12090, "cuLogsUnregisterCallback",                          \
     (CUlogsCallbackHandle handle))

/* One field per entry, named like the entry. Filled by lib/driver/driver.c; constant afterwards. */
typedef struct
{
#define MEMRA_DRIVER_FIELD(need, field, base, version, symbol, params) McuResult (*field) params;
  MEMRA_DRIVER_ENTRIES (MEMRA_DRIVER_FIELD)
#undef MEMRA_DRIVER_FIELD
} MemraDriverTable;
