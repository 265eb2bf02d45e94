/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extra-entries.h: the driver entry points that the conformance program calls beyond lib/driver/entries.h, in the same
 * X-macro shape. All are optional: a case whose entry is absent says so in its line.
 */
#pragma once

#include "abi.h"

/* CUmemAllocationProp */
typedef struct
{
  int type; /* 1: pinned */
  int handle_types;
  McuMemLocation location;
  void *win32_metadata;
  unsigned char compression;
  unsigned char gpu_direct;
  unsigned short usage;
  unsigned char reserved[4];
} ConfAllocationProp;

/* CUDA_MEMCPY2D_v2 */
typedef struct
{
  size_t src_x_bytes, src_y;
  unsigned src_memory_type;
  const void *src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  size_t src_pitch;
  size_t dst_x_bytes, dst_y;
  unsigned dst_memory_type;
  void *dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  size_t dst_pitch;
  size_t width_bytes, height;
} ConfMemcpy2D;

/* CUmemcpyAttributes */
typedef struct
{
  int src_access_order; /* 1: stream order */
  McuMemLocation src_hint;
  McuMemLocation dst_hint;
  unsigned flags;
} ConfCopyAttributes;

/* CUstreamBatchMemOpParams: the write-value member of the union, padded to the union's size. */
typedef struct
{
  int operation; /* 2: write 32 bits */
  CUdeviceptr address;
  uint64_t value;
  unsigned flags;
  CUdeviceptr alias;
  uint64_t pad;
} ConfBatchMemOp;

/* CUlaunchAttributeValue: 64 bytes; the members that the cases use. */
typedef union
{
  char pad[64];
  int number;
} ConfAttributeValue;

/* CUlaunchAttribute */
typedef struct
{
  int id;
  char pad[4];
  ConfAttributeValue value;
} ConfLaunchAttribute;

enum
{
  CONF_ATTRIBUTE_COOPERATIVE = 2,
  CONF_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6,
  CONF_ATTRIBUTE_PRIORITY = 8
};

/* CUlaunchConfig */
typedef struct
{
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CUstream stream;
  ConfLaunchAttribute *attributes;
  unsigned n_attributes;
} ConfLaunchConfig;

#define CONF_EXTRA_ENTRIES(X)                                                                                          \
  X (OPTIONAL, cuMemHostRegister, "cuMemHostRegister", 6050, "cuMemHostRegister_v2",                                   \
     (void *address, size_t size, unsigned flags))                                                                     \
  X (OPTIONAL, cuMemHostUnregister, "cuMemHostUnregister", 4000, "cuMemHostUnregister", (void *address))               \
  X (OPTIONAL, cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer", 3020, "cuMemHostGetDevicePointer_v2",           \
     (CUdeviceptr * address, void *host, unsigned flags))                                                              \
  X (OPTIONAL, cuMemAllocManaged, "cuMemAllocManaged", 6000, "cuMemAllocManaged",                                      \
     (CUdeviceptr * address, size_t size, unsigned flags))                                                             \
  X (OPTIONAL, cuMemAddressReserve, "cuMemAddressReserve", 10020, "cuMemAddressReserve",                               \
     (CUdeviceptr * address, size_t size, size_t alignment, CUdeviceptr wish, unsigned long long flags))               \
  X (OPTIONAL, cuMemAddressFree, "cuMemAddressFree", 10020, "cuMemAddressFree", (CUdeviceptr address, size_t size))    \
  X (OPTIONAL, cuMemCreate, "cuMemCreate", 10020, "cuMemCreate",                                                       \
     (unsigned long long *handle, size_t size, const ConfAllocationProp *prop, unsigned long long flags))              \
  X (OPTIONAL, cuMemRelease, "cuMemRelease", 10020, "cuMemRelease", (unsigned long long handle))                       \
  X (OPTIONAL, cuMemMap, "cuMemMap", 10020, "cuMemMap",                                                                \
     (CUdeviceptr address, size_t size, size_t offset, unsigned long long handle, unsigned long long flags))           \
  X (OPTIONAL, cuMemUnmap, "cuMemUnmap", 10020, "cuMemUnmap", (CUdeviceptr address, size_t size))                      \
  X (OPTIONAL, cuMemSetAccess, "cuMemSetAccess", 10020, "cuMemSetAccess",                                              \
     (CUdeviceptr address, size_t size, const McuMemAccessDesc *access, size_t count))                                 \
  X (OPTIONAL, cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", 10020, "cuMemGetAllocationGranularity", \
     (size_t * granularity, const ConfAllocationProp *prop, int option))                                               \
  X (OPTIONAL, cuMemPoolCreate, "cuMemPoolCreate", 11020, "cuMemPoolCreate",                                           \
     (CUmemoryPool * pool, const McuMemPoolProps *props))                                                              \
  X (OPTIONAL, cuMemPoolDestroy, "cuMemPoolDestroy", 11020, "cuMemPoolDestroy", (CUmemoryPool pool))                   \
  X (OPTIONAL, cuMemPoolGetAttribute, "cuMemPoolGetAttribute", 11020, "cuMemPoolGetAttribute",                         \
     (CUmemoryPool pool, int attribute, void *value))                                                                  \
  X (OPTIONAL, cuMemPoolSetAttribute, "cuMemPoolSetAttribute", 11020, "cuMemPoolSetAttribute",                         \
     (CUmemoryPool pool, int attribute, void *value))                                                                  \
  X (OPTIONAL, cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020, "cuMemPoolTrimTo", (CUmemoryPool pool, size_t keep))         \
  X (OPTIONAL, cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020, "cuDeviceGetDefaultMemPool",             \
     (CUmemoryPool * pool, CUdevice device))                                                                           \
  X (OPTIONAL, cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, "cuMemAllocFromPoolAsync",                   \
     (CUdeviceptr * address, size_t size, CUmemoryPool pool, CUstream stream))                                         \
  X (OPTIONAL, cuMemGetInfo, "cuMemGetInfo", 3020, "cuMemGetInfo_v2", (size_t * available, size_t * total))            \
  X (OPTIONAL, cuMemGetAddressRange, "cuMemGetAddressRange", 3020, "cuMemGetAddressRange_v2",                          \
     (CUdeviceptr * base, size_t * size, CUdeviceptr address))                                                         \
  X (OPTIONAL, cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000, "cuMemPrefetchAsync",                                   \
     (CUdeviceptr address, size_t size, CUdevice device, CUstream stream))                                             \
  X (OPTIONAL, cuMemcpy, "cuMemcpy", 4000, "cuMemcpy", (CUdeviceptr dst, CUdeviceptr src, size_t size))                \
  X (OPTIONAL, cuMemcpyDtoD, "cuMemcpyDtoD", 3020, "cuMemcpyDtoD_v2", (CUdeviceptr dst, CUdeviceptr src, size_t size)) \
  X (OPTIONAL, cuMemcpyAsync, "cuMemcpyAsync", 4000, "cuMemcpyAsync",                                                  \
     (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))                                                 \
  X (OPTIONAL, cuMemcpy2DAsync, "cuMemcpy2DAsync", 3020, "cuMemcpy2DAsync_v2",                                         \
     (const ConfMemcpy2D *copy, CUstream stream))                                                                      \
  X (OPTIONAL, cuMemcpy3DAsync, "cuMemcpy3DAsync", 3020, "cuMemcpy3DAsync_v2",                                         \
     (const McuMemcpy3D *copy, CUstream stream))                                                                       \
  X (OPTIONAL, cuMemcpyBatchAsync, "cuMemcpyBatchAsync", 12080, "cuMemcpyBatchAsync",                                  \
     (CUdeviceptr * dsts, CUdeviceptr * srcs, size_t * sizes, size_t count, ConfCopyAttributes * attributes,           \
      size_t * indices, size_t n_attributes, size_t * failed, CUstream stream))                                        \
  X (OPTIONAL, cuMemsetD8, "cuMemsetD8", 3020, "cuMemsetD8_v2", (CUdeviceptr dst, unsigned char value, size_t count))  \
  X (OPTIONAL, cuMemsetD32, "cuMemsetD32", 3020, "cuMemsetD32_v2", (CUdeviceptr dst, unsigned value, size_t count))    \
  X (OPTIONAL, cuMemsetD16Async, "cuMemsetD16Async", 3020, "cuMemsetD16Async",                                         \
     (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream))                                           \
  X (OPTIONAL, cuMemsetD2D8Async, "cuMemsetD2D8Async", 3020, "cuMemsetD2D8Async",                                      \
     (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream))               \
  X (OPTIONAL, cuDeviceGetGraphMemAttribute, "cuDeviceGetGraphMemAttribute", 11040, "cuDeviceGetGraphMemAttribute",    \
     (CUdevice device, int attribute, void *value))                                                                    \
  X (OPTIONAL, cuDeviceSetGraphMemAttribute, "cuDeviceSetGraphMemAttribute", 11040, "cuDeviceSetGraphMemAttribute",    \
     (CUdevice device, int attribute, void *value))                                                                    \
  X (OPTIONAL, cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", 11040, "cuDeviceGraphMemTrim", (CUdevice device))         \
  X (OPTIONAL, cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 7000, "cuDevicePrimaryCtxGetState",           \
     (CUdevice device, unsigned *flags, int *active))                                                                  \
  X (OPTIONAL, cuCtxCreate, "cuCtxCreate", 3020, "cuCtxCreate_v2",                                                     \
     (CUcontext * context, unsigned flags, CUdevice device))                                                           \
  X (OPTIONAL, cuCtxDestroy, "cuCtxDestroy", 4000, "cuCtxDestroy_v2", (CUcontext context))                             \
  X (OPTIONAL, cuCtxSetLimit, "cuCtxSetLimit", 3010, "cuCtxSetLimit", (int limit, size_t value))                       \
  X (OPTIONAL, cuCtxGetLimit, "cuCtxGetLimit", 3010, "cuCtxGetLimit", (size_t * value, int limit))                     \
  X (OPTIONAL, cuCtxSetCacheConfig, "cuCtxSetCacheConfig", 3020, "cuCtxSetCacheConfig", (int config))                  \
  X (OPTIONAL, cuCtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", 5050, "cuCtxGetStreamPriorityRange",        \
     (int *least, int *greatest))                                                                                      \
  X (OPTIONAL, cuCtxGetId, "cuCtxGetId", 12000, "cuCtxGetId", (CUcontext context, unsigned long long *id))             \
  X (OPTIONAL, cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050, "cuStreamCreateWithPriority",           \
     (CUstream * stream, unsigned flags, int priority))                                                                \
  X (OPTIONAL, cuStreamGetPriority, "cuStreamGetPriority", 5050, "cuStreamGetPriority",                                \
     (CUstream stream, int *priority))                                                                                 \
  X (OPTIONAL, cuStreamGetId, "cuStreamGetId", 12000, "cuStreamGetId", (CUstream stream, unsigned long long *id))      \
  X (OPTIONAL, cuStreamAddCallback, "cuStreamAddCallback", 5000, "cuStreamAddCallback",                                \
     (CUstream stream, CUstreamCallback callback, void *user_data, unsigned flags))                                    \
  X (OPTIONAL, cuStreamAttachMemAsync, "cuStreamAttachMemAsync", 6000, "cuStreamAttachMemAsync",                       \
     (CUstream stream, CUdeviceptr address, size_t size, unsigned flags))                                              \
  X (OPTIONAL, cuStreamSetAttribute, "cuStreamSetAttribute", 11000, "cuStreamSetAttribute",                            \
     (CUstream stream, int attribute, const ConfAttributeValue *value))                                                \
  X (OPTIONAL, cuStreamGetAttribute, "cuStreamGetAttribute", 11000, "cuStreamGetAttribute",                            \
     (CUstream stream, int attribute, ConfAttributeValue *value))                                                      \
  X (OPTIONAL, cuStreamWriteValue32, "cuStreamWriteValue32", 11070, "cuStreamWriteValue32_v2",                         \
     (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))                                           \
  X (OPTIONAL, cuStreamWaitValue32, "cuStreamWaitValue32", 11070, "cuStreamWaitValue32_v2",                            \
     (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))                                           \
  X (OPTIONAL, cuStreamBatchMemOp, "cuStreamBatchMemOp", 11070, "cuStreamBatchMemOp_v2",                               \
     (CUstream stream, unsigned count, ConfBatchMemOp *operations, unsigned flags))                                    \
  X (OPTIONAL, cuEventRecordWithFlags, "cuEventRecordWithFlags", 11010, "cuEventRecordWithFlags",                      \
     (CUevent event, CUstream stream, unsigned flags))                                                                 \
  X (OPTIONAL, cuModuleGetFunctionCount, "cuModuleGetFunctionCount", 12040, "cuModuleGetFunctionCount",                \
     (unsigned *count, CUmodule module))                                                                               \
  X (OPTIONAL, cuModuleGetLoadingMode, "cuModuleGetLoadingMode", 11070, "cuModuleGetLoadingMode", (int *mode))         \
  X (OPTIONAL, cuLibraryLoadData, "cuLibraryLoadData", 12000, "cuLibraryLoadData",                                     \
     (CUlibrary * library, const void *code, void *jit_options, void **jit_values, unsigned n_jit, void *options,      \
      void **values, unsigned n_options))                                                                              \
  X (OPTIONAL, cuLibraryUnload, "cuLibraryUnload", 12000, "cuLibraryUnload", (CUlibrary library))                      \
  X (OPTIONAL, cuLibraryGetKernel, "cuLibraryGetKernel", 12000, "cuLibraryGetKernel",                                  \
     (CUkernel * kernel, CUlibrary library, const char *name))                                                         \
  X (OPTIONAL, cuLibraryGetModule, "cuLibraryGetModule", 12000, "cuLibraryGetModule",                                  \
     (CUmodule * module, CUlibrary library))                                                                           \
  X (OPTIONAL, cuLibraryGetKernelCount, "cuLibraryGetKernelCount", 12040, "cuLibraryGetKernelCount",                   \
     (unsigned *count, CUlibrary library))                                                                             \
  X (OPTIONAL, cuLibraryEnumerateKernels, "cuLibraryEnumerateKernels", 12040, "cuLibraryEnumerateKernels",             \
     (CUkernel * kernels, unsigned count, CUlibrary library))                                                          \
  X (OPTIONAL, cuKernelGetFunction, "cuKernelGetFunction", 12000, "cuKernelGetFunction",                               \
     (CUfunction * function, CUkernel kernel))                                                                         \
  X (OPTIONAL, cuKernelGetLibrary, "cuKernelGetLibrary", 12050, "cuKernelGetLibrary",                                  \
     (CUlibrary * library, CUkernel kernel))                                                                           \
  X (OPTIONAL, cuFuncLoad, "cuFuncLoad", 12040, "cuFuncLoad", (CUfunction function))                                   \
  X (OPTIONAL, cuFuncIsLoaded, "cuFuncIsLoaded", 12040, "cuFuncIsLoaded", (int *state, CUfunction function))           \
  X (OPTIONAL, cuFuncGetAttribute, "cuFuncGetAttribute", 2020, "cuFuncGetAttribute",                                   \
     (int *value, int attribute, CUfunction function))                                                                 \
  X (OPTIONAL, cuFuncSetAttribute, "cuFuncSetAttribute", 9000, "cuFuncSetAttribute",                                   \
     (CUfunction function, int attribute, int value))                                                                  \
  X (OPTIONAL, cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,       \
     "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                                                    \
     (int *blocks, CUfunction function, int block_size, size_t shared_bytes))                                          \
  X (OPTIONAL, cuLaunchKernelEx, "cuLaunchKernelEx", 11060, "cuLaunchKernelEx",                                        \
     (const ConfLaunchConfig *config, CUfunction function, void **params, void **extra))                               \
  X (OPTIONAL, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, "cuLaunchCooperativeKernel",              \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
      unsigned block_z, unsigned shared_bytes, CUstream stream, void **params))                                        \
  X (OPTIONAL, cuStreamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph", 12030, "cuStreamBeginCaptureToGraph",       \
     (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *edge_data, size_t count,     \
      int mode))                                                                                                       \
  X (OPTIONAL, cuStreamGetCaptureInfo_v1, "cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo",                   \
     (CUstream stream, int *status, uint64_t *id))                                                                     \
  X (OPTIONAL, cuStreamUpdateCaptureDependencies, "cuStreamUpdateCaptureDependencies", 11030,                          \
     "cuStreamUpdateCaptureDependencies", (CUstream stream, CUgraphNode * dependencies, size_t count, unsigned flags)) \
  X (OPTIONAL, cuStreamUpdateCaptureDependencies_v2, "cuStreamUpdateCaptureDependencies", 12030,                       \
     "cuStreamUpdateCaptureDependencies_v2",                                                                           \
     (CUstream stream, CUgraphNode * dependencies, const McuEdgeData *edge_data, size_t count, unsigned flags))        \
  X (OPTIONAL, cuGraphClone, "cuGraphClone", 10000, "cuGraphClone", (CUgraph * clone, CUgraph graph))                  \
  X (OPTIONAL, cuGraphNodeFindInClone, "cuGraphNodeFindInClone", 10000, "cuGraphNodeFindInClone",                      \
     (CUgraphNode * node, CUgraphNode original, CUgraph clone))                                                        \
  X (OPTIONAL, cuGraphGetRootNodes, "cuGraphGetRootNodes", 10000, "cuGraphGetRootNodes",                               \
     (CUgraph graph, CUgraphNode * nodes, size_t * count))                                                             \
  X (OPTIONAL, cuGraphNodeGetDependencies, "cuGraphNodeGetDependencies", 10000, "cuGraphNodeGetDependencies",          \
     (CUgraphNode node, CUgraphNode * dependencies, size_t * count))                                                   \
  X (OPTIONAL, cuGraphNodeGetDependencies_v2, "cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2",    \
     (CUgraphNode node, CUgraphNode * dependencies, McuEdgeData * edge_data, size_t * count))                          \
  X (OPTIONAL, cuGraphNodeGetDependentNodes, "cuGraphNodeGetDependentNodes", 10000, "cuGraphNodeGetDependentNodes",    \
     (CUgraphNode node, CUgraphNode * nodes, size_t * count))                                                          \
  X (OPTIONAL, cuGraphAddDependencies, "cuGraphAddDependencies", 10000, "cuGraphAddDependencies",                      \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count))                                    \
  X (OPTIONAL, cuGraphAddDependencies_v2, "cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2",                \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const McuEdgeData *edge_data, size_t count))      \
  X (OPTIONAL, cuGraphRemoveDependencies, "cuGraphRemoveDependencies", 10000, "cuGraphRemoveDependencies",             \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count))                                    \
  X (OPTIONAL, cuGraphDestroyNode, "cuGraphDestroyNode", 10000, "cuGraphDestroyNode", (CUgraphNode node))              \
  X (OPTIONAL, cuGraphAddNode_v2, "cuGraphAddNode", 12030, "cuGraphAddNode_v2",                                        \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *edge_data, size_t count,  \
      McuNodeParams *params))                                                                                          \
  X (OPTIONAL, cuGraphAddKernelNode, "cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2",                         \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                \
      const McuKernelNodeParams *params))                                                                              \
  X (OPTIONAL, cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode", 10000, "cuGraphAddMemcpyNode",                            \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count, const McuMemcpy3D *params,     \
      CUcontext context))                                                                                              \
  X (OPTIONAL, cuGraphAddMemsetNode, "cuGraphAddMemsetNode", 10000, "cuGraphAddMemsetNode",                            \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                \
      const McuMemsetNodeParams *params, CUcontext context))                                                           \
  X (OPTIONAL, cuGraphAddHostNode, "cuGraphAddHostNode", 10000, "cuGraphAddHostNode",                                  \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                \
      const McuHostNodeParams *params))                                                                                \
  X (OPTIONAL, cuGraphAddEmptyNode, "cuGraphAddEmptyNode", 10000, "cuGraphAddEmptyNode",                               \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count))                               \
  X (OPTIONAL, cuGraphAddEventRecordNode, "cuGraphAddEventRecordNode", 11010, "cuGraphAddEventRecordNode",             \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event))                \
  X (OPTIONAL, cuGraphAddEventWaitNode, "cuGraphAddEventWaitNode", 11010, "cuGraphAddEventWaitNode",                   \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event))                \
  X (OPTIONAL, cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", 11040, "cuGraphAddMemAllocNode",                      \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                \
      McuMemAllocNodeParams *params))                                                                                  \
  X (OPTIONAL, cuGraphAddMemFreeNode, "cuGraphAddMemFreeNode", 11040, "cuGraphAddMemFreeNode",                         \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUdeviceptr address))          \
  X (OPTIONAL, cuGraphEventRecordNodeGetEvent, "cuGraphEventRecordNodeGetEvent", 11010,                                \
     "cuGraphEventRecordNodeGetEvent", (CUgraphNode node, CUevent * event))                                            \
  X (OPTIONAL, cuGraphEventWaitNodeGetEvent, "cuGraphEventWaitNodeGetEvent", 11010, "cuGraphEventWaitNodeGetEvent",    \
     (CUgraphNode node, CUevent * event))                                                                              \
  X (OPTIONAL, cuGraphKernelNodeSetParams, "cuGraphKernelNodeSetParams", 12000, "cuGraphKernelNodeSetParams_v2",       \
     (CUgraphNode node, const McuKernelNodeParams *params))                                                            \
  X (OPTIONAL, cuGraphKernelNodeGetAttribute, "cuGraphKernelNodeGetAttribute", 11000, "cuGraphKernelNodeGetAttribute", \
     (CUgraphNode node, int attribute, ConfAttributeValue *value))                                                     \
  X (OPTIONAL, cuGraphConditionalHandleCreate, "cuGraphConditionalHandleCreate", 12030,                                \
     "cuGraphConditionalHandleCreate",                                                                                 \
     (unsigned long long *handle, CUgraph graph, CUcontext context, unsigned value, unsigned flags))                   \
  X (OPTIONAL, cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled", 11060, "cuGraphNodeSetEnabled",                         \
     (CUgraphExec exec, CUgraphNode node, unsigned enabled))                                                           \
  X (OPTIONAL, cuGraphNodeGetEnabled, "cuGraphNodeGetEnabled", 11060, "cuGraphNodeGetEnabled",                         \
     (CUgraphExec exec, CUgraphNode node, unsigned *enabled))                                                          \
  X (OPTIONAL, cuGraphExecGetFlags, "cuGraphExecGetFlags", 12000, "cuGraphExecGetFlags",                               \
     (CUgraphExec exec, uint64_t * flags))                                                                             \
  X (OPTIONAL, cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams", 10020,                                \
     "cuGraphExecMemcpyNodeSetParams",                                                                                 \
     (CUgraphExec exec, CUgraphNode node, const McuMemcpy3D *params, CUcontext context))                               \
  X (OPTIONAL, cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams", 10020,                                \
     "cuGraphExecMemsetNodeSetParams",                                                                                 \
     (CUgraphExec exec, CUgraphNode node, const McuMemsetNodeParams *params, CUcontext context))                       \
  X (OPTIONAL, cuGraphExecHostNodeSetParams, "cuGraphExecHostNodeSetParams", 10020, "cuGraphExecHostNodeSetParams",    \
     (CUgraphExec exec, CUgraphNode node, const McuHostNodeParams *params))                                            \
  X (OPTIONAL, cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams", 11010,                        \
     "cuGraphExecChildGraphNodeSetParams", (CUgraphExec exec, CUgraphNode node, CUgraph child))                        \
  X (OPTIONAL, cuGraphReleaseUserObject, "cuGraphReleaseUserObject", 11030, "cuGraphReleaseUserObject",                \
     (CUgraph graph, CUuserObject object, unsigned count))                                                             \
  X (OPTIONAL, cuUserObjectRetain, "cuUserObjectRetain", 11030, "cuUserObjectRetain",                                  \
     (CUuserObject object, unsigned count))
