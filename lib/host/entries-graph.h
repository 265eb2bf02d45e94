/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * entries-graph.h: the entry points of graphs and captures; see entries-host.h for the columns.
 */
#pragma once

/* Structs of the driver's ABI that only the host driver reads, and that abi.h therefore lacks. */

/* CUstreamBatchMemOpParams */
typedef union
{
  int operation;
  struct
  {
    int operation;
    CUdeviceptr address;
    uint64_t value; /* its low half for 32-bit operations */
    unsigned flags;
    CUdeviceptr alias;
  } value;
  uint64_t pad[6];
} HostMemOp;

/* CUDA_BATCH_MEM_OP_NODE_PARAMS */
typedef struct
{
  CUcontext ctx;
  unsigned count;
  HostMemOp *ops;
  unsigned flags;
} HostBatchMemOpNodeParams;

/* clang-format off */
#define HOST_GRAPH_ENTRIES(X)                                                                                          \
  X (PLAIN, SAFE, cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode, (int *mode))            \
  X (STREAM, SAFE, cuStreamBeginCapture, 10000, cuStreamBeginCapture, (CUstream stream))                               \
  X (STREAM, SAFE, cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, (CUstream stream, int mode))                  \
  X (STREAM, SAFE, cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph,                                    \
     (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t count,          \
      int mode))                                                                                                       \
  X (STREAM, SAFE, cuStreamEndCapture, 10000, cuStreamEndCapture, (CUstream stream, CUgraph *graph))                   \
  X (STREAM, SAFE, cuStreamIsCapturing, 10000, cuStreamIsCapturing, (CUstream stream, int *status))                    \
  X (STREAM, SAFE, cuStreamGetCaptureInfo, 10010, cuStreamGetCaptureInfo,                                              \
     (CUstream stream, int *status, uint64_t *id))                                                                     \
  X (STREAM, SAFE, cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2,                                           \
     (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,                    \
      size_t *n_dependencies))                                                                                         \
  X (STREAM, SAFE, cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3,                                           \
     (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,                    \
      const McuEdgeData **data, size_t *n_dependencies))                                                               \
  X (STREAM, SAFE, cuStreamUpdateCaptureDependencies, 11030, cuStreamUpdateCaptureDependencies,                        \
     (CUstream stream, CUgraphNode *dependencies, size_t count, unsigned flags))                                       \
  X (STREAM, SAFE, cuStreamUpdateCaptureDependencies, 12030, cuStreamUpdateCaptureDependencies_v2,                     \
     (CUstream stream, CUgraphNode *dependencies, const McuEdgeData *data, size_t count, unsigned flags))              \
  X (STREAM, SAFE, cuStreamWriteValue32, 11070, cuStreamWriteValue32_v2,                                               \
     (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags))                                           \
  X (STREAM, SAFE, cuStreamWriteValue64, 11070, cuStreamWriteValue64_v2,                                               \
     (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags))                                           \
  X (STREAM, SAFE, cuStreamWaitValue32, 11070, cuStreamWaitValue32_v2,                                                 \
     (CUstream stream, CUdeviceptr address, unsigned value, unsigned flags))                                           \
  X (STREAM, SAFE, cuStreamWaitValue64, 11070, cuStreamWaitValue64_v2,                                                 \
     (CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags))                                           \
  X (STREAM, SAFE, cuStreamBatchMemOp, 11070, cuStreamBatchMemOp_v2,                                                   \
     (CUstream stream, unsigned count, HostMemOp *ops, unsigned flags))                                                \
  X (PLAIN, SAFE, cuGraphCreate, 10000, cuGraphCreate, (CUgraph *graph, unsigned flags))                               \
  X (PLAIN, SAFE, cuGraphDestroy, 10000, cuGraphDestroy, (CUgraph graph))                                              \
  X (PLAIN, SAFE, cuGraphClone, 10000, cuGraphClone, (CUgraph *clone, CUgraph graph))                                  \
  X (PLAIN, SAFE, cuGraphNodeFindInClone, 10000, cuGraphNodeFindInClone,                                               \
     (CUgraphNode *node, CUgraphNode original, CUgraph clone))                                                         \
  X (PLAIN, SAFE, cuGraphGetNodes, 10000, cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count))         \
  X (PLAIN, SAFE, cuGraphGetRootNodes, 10000, cuGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count)) \
  X (PLAIN, SAFE, cuGraphGetEdges, 10000, cuGraphGetEdges,                                                             \
     (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count))                                               \
  X (PLAIN, SAFE, cuGraphGetEdges, 12030, cuGraphGetEdges_v2,                                                          \
     (CUgraph graph, CUgraphNode *from, CUgraphNode *to, McuEdgeData *data, size_t *count))                            \
  X (PLAIN, SAFE, cuGraphNodeGetType, 10000, cuGraphNodeGetType, (CUgraphNode node, int *type))                        \
  X (PLAIN, SAFE, cuGraphNodeGetDependencies, 10000, cuGraphNodeGetDependencies,                                       \
     (CUgraphNode node, CUgraphNode *dependencies, size_t *count))                                                     \
  X (PLAIN, SAFE, cuGraphNodeGetDependencies, 12030, cuGraphNodeGetDependencies_v2,                                    \
     (CUgraphNode node, CUgraphNode *dependencies, McuEdgeData *data, size_t *count))                                  \
  X (PLAIN, SAFE, cuGraphNodeGetDependentNodes, 10000, cuGraphNodeGetDependentNodes,                                   \
     (CUgraphNode node, CUgraphNode *dependents, size_t *count))                                                       \
  X (PLAIN, SAFE, cuGraphNodeGetDependentNodes, 12030, cuGraphNodeGetDependentNodes_v2,                                \
     (CUgraphNode node, CUgraphNode *dependents, McuEdgeData *data, size_t *count))                                    \
  X (PLAIN, SAFE, cuGraphAddDependencies, 10000, cuGraphAddDependencies,                                               \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count))                                    \
  X (PLAIN, SAFE, cuGraphAddDependencies, 12030, cuGraphAddDependencies_v2,                                            \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const McuEdgeData *data, size_t count))           \
  X (PLAIN, SAFE, cuGraphRemoveDependencies, 10000, cuGraphRemoveDependencies,                                         \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count))                                    \
  X (PLAIN, SAFE, cuGraphRemoveDependencies, 12030, cuGraphRemoveDependencies_v2,                                      \
     (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const McuEdgeData *data, size_t count))           \
  X (PLAIN, SAFE, cuGraphDestroyNode, 10000, cuGraphDestroyNode, (CUgraphNode node))                                   \
  X (PLAIN, SAFE, cuGraphAddKernelNode, 10000, cuGraphAddKernelNode,                                                   \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      const McuKernelNodeParams *params))                                                                              \
  X (PLAIN, SAFE, cuGraphAddKernelNode, 12000, cuGraphAddKernelNode_v2,                                                \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      const McuKernelNodeParams *params))                                                                              \
  X (PLAIN, SAFE, cuGraphAddMemcpyNode, 10000, cuGraphAddMemcpyNode,                                                   \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      const McuMemcpy3D *params, CUcontext context))                                                                   \
  X (PLAIN, SAFE, cuGraphAddMemsetNode, 10000, cuGraphAddMemsetNode,                                                   \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      const McuMemsetNodeParams *params, CUcontext context))                                                           \
  X (PLAIN, SAFE, cuGraphAddHostNode, 10000, cuGraphAddHostNode,                                                       \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      const McuHostNodeParams *params))                                                                                \
  X (PLAIN, SAFE, cuGraphAddChildGraphNode, 10000, cuGraphAddChildGraphNode,                                           \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUgraph child))                 \
  X (PLAIN, SAFE, cuGraphAddEmptyNode, 10000, cuGraphAddEmptyNode,                                                     \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count))                                \
  X (PLAIN, SAFE, cuGraphAddEventRecordNode, 11010, cuGraphAddEventRecordNode,                                         \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event))                 \
  X (PLAIN, SAFE, cuGraphAddEventWaitNode, 11010, cuGraphAddEventWaitNode,                                             \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUevent event))                 \
  X (PLAIN, SAFE, cuGraphAddMemAllocNode, 11040, cuGraphAddMemAllocNode,                                               \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      McuMemAllocNodeParams *params))                                                                                  \
  X (PLAIN, SAFE, cuGraphAddMemFreeNode, 11040, cuGraphAddMemFreeNode,                                                 \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, CUdeviceptr address))           \
  X (PLAIN, SAFE, cuGraphAddNode, 12020, cuGraphAddNode,                                                               \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count, McuNodeParams *params))         \
  X (PLAIN, SAFE, cuGraphAddNode, 12030, cuGraphAddNode_v2,                                                            \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data, size_t count,        \
      McuNodeParams *params))                                                                                          \
  X (PLAIN, SAFE, cuGraphNodeSetParams, 12020, cuGraphNodeSetParams, (CUgraphNode node, McuNodeParams *params))        \
  X (PLAIN, SAFE, cuGraphNodeGetParams, 13020, cuGraphNodeGetParams, (CUgraphNode node, McuNodeParams *params))        \
  X (PLAIN, SAFE, cuGraphKernelNodeGetParams, 10000, cuGraphKernelNodeGetParams,                                       \
     (CUgraphNode node, McuKernelNodeParams *params))                                                                  \
  X (PLAIN, SAFE, cuGraphKernelNodeGetParams, 12000, cuGraphKernelNodeGetParams_v2,                                    \
     (CUgraphNode node, McuKernelNodeParams *params))                                                                  \
  X (PLAIN, SAFE, cuGraphKernelNodeSetParams, 10000, cuGraphKernelNodeSetParams,                                       \
     (CUgraphNode node, const McuKernelNodeParams *params))                                                            \
  X (PLAIN, SAFE, cuGraphKernelNodeSetParams, 12000, cuGraphKernelNodeSetParams_v2,                                    \
     (CUgraphNode node, const McuKernelNodeParams *params))                                                            \
  X (PLAIN, SAFE, cuGraphKernelNodeGetAttribute, 11000, cuGraphKernelNodeGetAttribute,                                 \
     (CUgraphNode node, int attribute, void *value))                                                                   \
  X (PLAIN, SAFE, cuGraphKernelNodeSetAttribute, 11000, cuGraphKernelNodeSetAttribute,                                 \
     (CUgraphNode node, int attribute, const void *value))                                                             \
  X (PLAIN, SAFE, cuGraphKernelNodeCopyAttributes, 11000, cuGraphKernelNodeCopyAttributes,                             \
     (CUgraphNode dst, CUgraphNode src))                                                                               \
  X (PLAIN, SAFE, cuGraphMemcpyNodeGetParams, 10000, cuGraphMemcpyNodeGetParams,                                       \
     (CUgraphNode node, McuMemcpy3D *params))                                                                          \
  X (PLAIN, SAFE, cuGraphMemcpyNodeSetParams, 10000, cuGraphMemcpyNodeSetParams,                                       \
     (CUgraphNode node, const McuMemcpy3D *params))                                                                    \
  X (PLAIN, SAFE, cuGraphMemsetNodeGetParams, 10000, cuGraphMemsetNodeGetParams,                                       \
     (CUgraphNode node, McuMemsetNodeParams *params))                                                                  \
  X (PLAIN, SAFE, cuGraphMemsetNodeSetParams, 10000, cuGraphMemsetNodeSetParams,                                       \
     (CUgraphNode node, const McuMemsetNodeParams *params))                                                            \
  X (PLAIN, SAFE, cuGraphHostNodeGetParams, 10000, cuGraphHostNodeGetParams,                                           \
     (CUgraphNode node, McuHostNodeParams *params))                                                                    \
  X (PLAIN, SAFE, cuGraphHostNodeSetParams, 10000, cuGraphHostNodeSetParams,                                           \
     (CUgraphNode node, const McuHostNodeParams *params))                                                              \
  X (PLAIN, SAFE, cuGraphChildGraphNodeGetGraph, 10000, cuGraphChildGraphNodeGetGraph,                                 \
     (CUgraphNode node, CUgraph *graph))                                                                               \
  X (PLAIN, SAFE, cuGraphEventRecordNodeGetEvent, 11010, cuGraphEventRecordNodeGetEvent,                               \
     (CUgraphNode node, CUevent *event))                                                                               \
  X (PLAIN, SAFE, cuGraphEventRecordNodeSetEvent, 11010, cuGraphEventRecordNodeSetEvent,                               \
     (CUgraphNode node, CUevent event))                                                                                \
  X (PLAIN, SAFE, cuGraphEventWaitNodeGetEvent, 11010, cuGraphEventWaitNodeGetEvent,                                   \
     (CUgraphNode node, CUevent *event))                                                                               \
  X (PLAIN, SAFE, cuGraphEventWaitNodeSetEvent, 11010, cuGraphEventWaitNodeSetEvent,                                   \
     (CUgraphNode node, CUevent event))                                                                                \
  X (PLAIN, SAFE, cuGraphMemAllocNodeGetParams, 11040, cuGraphMemAllocNodeGetParams,                                   \
     (CUgraphNode node, McuMemAllocNodeParams *params))                                                                \
  X (PLAIN, SAFE, cuGraphMemFreeNodeGetParams, 11040, cuGraphMemFreeNodeGetParams,                                     \
     (CUgraphNode node, CUdeviceptr *address))                                                                         \
  X (PLAIN, SAFE, cuGraphAddBatchMemOpNode, 11070, cuGraphAddBatchMemOpNode,                                           \
     (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,                                 \
      const HostBatchMemOpNodeParams *params))                                                                         \
  X (PLAIN, SAFE, cuGraphBatchMemOpNodeGetParams, 11070, cuGraphBatchMemOpNodeGetParams,                               \
     (CUgraphNode node, HostBatchMemOpNodeParams *params))                                                             \
  X (PLAIN, SAFE, cuGraphBatchMemOpNodeSetParams, 11070, cuGraphBatchMemOpNodeSetParams,                               \
     (CUgraphNode node, const HostBatchMemOpNodeParams *params))                                                       \
  X (PLAIN, SAFE, cuGraphConditionalHandleCreate, 12030, cuGraphConditionalHandleCreate,                               \
     (unsigned long long *handle, CUgraph graph, CUcontext context, unsigned default_value, unsigned flags))           \
  X (PLAIN, SAFE, cuGraphDebugDotPrint, 11030, cuGraphDebugDotPrint,                                                   \
     (CUgraph graph, const char *path, unsigned flags))                                                                \
  X (PLAIN, SAFE, cuGraphGetId, 13010, cuGraphGetId, (CUgraph graph, unsigned *id))                                    \
  X (PLAIN, SAFE, cuGraphExecGetId, 13010, cuGraphExecGetId, (CUgraphExec exec, unsigned *id))                         \
  X (PLAIN, SAFE, cuGraphNodeGetLocalId, 13010, cuGraphNodeGetLocalId, (CUgraphNode node, unsigned *id))               \
  X (PLAIN, SAFE, cuGraphNodeGetToolsId, 13010, cuGraphNodeGetToolsId, (CUgraphNode node, unsigned long long *id))     \
  X (PLAIN, SAFE, cuGraphNodeGetContainingGraph, 13010, cuGraphNodeGetContainingGraph,                                 \
     (CUgraphNode node, CUgraph *graph))                                                                               \
  X (PLAIN, UNSAFE, cuGraphInstantiate, 10000, cuGraphInstantiate,                                                     \
     (CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size))                              \
  X (PLAIN, UNSAFE, cuGraphInstantiate, 11000, cuGraphInstantiate_v2,                                                  \
     (CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size))                              \
  X (PLAIN, UNSAFE, cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags,                                   \
     (CUgraphExec *exec, CUgraph graph, unsigned long long flags))                                                     \
  X (STREAM, UNSAFE, cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams,                                \
     (CUgraphExec *exec, CUgraph graph, McuInstantiateParams *params))                                                 \
  X (PLAIN, SAFE, cuGraphExecGetFlags, 12000, cuGraphExecGetFlags, (CUgraphExec exec, uint64_t *flags))                \
  X (STREAM, SAFE, cuGraphUpload, 11010, cuGraphUpload, (CUgraphExec exec, CUstream stream))                           \
  X (STREAM, SAFE, cuGraphLaunch, 10000, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                           \
  X (PLAIN, UNSAFE, cuGraphExecDestroy, 10000, cuGraphExecDestroy, (CUgraphExec exec))                                 \
  X (PLAIN, SAFE, cuGraphExecUpdate, 10020, cuGraphExecUpdate,                                                         \
     (CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, int *update_result))                                   \
  X (PLAIN, SAFE, cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2,                                                      \
     (CUgraphExec exec, CUgraph graph, McuUpdateResultInfo *info))                                                     \
  X (PLAIN, SAFE, cuGraphExecKernelNodeSetParams, 10010, cuGraphExecKernelNodeSetParams,                               \
     (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params))                                          \
  X (PLAIN, SAFE, cuGraphExecKernelNodeSetParams, 12000, cuGraphExecKernelNodeSetParams_v2,                            \
     (CUgraphExec exec, CUgraphNode node, const McuKernelNodeParams *params))                                          \
  X (PLAIN, SAFE, cuGraphExecMemcpyNodeSetParams, 10020, cuGraphExecMemcpyNodeSetParams,                               \
     (CUgraphExec exec, CUgraphNode node, const McuMemcpy3D *params, CUcontext context))                               \
  X (PLAIN, SAFE, cuGraphExecMemsetNodeSetParams, 10020, cuGraphExecMemsetNodeSetParams,                               \
     (CUgraphExec exec, CUgraphNode node, const McuMemsetNodeParams *params, CUcontext context))                       \
  X (PLAIN, SAFE, cuGraphExecHostNodeSetParams, 10020, cuGraphExecHostNodeSetParams,                                   \
     (CUgraphExec exec, CUgraphNode node, const McuHostNodeParams *params))                                            \
  X (PLAIN, SAFE, cuGraphExecChildGraphNodeSetParams, 11010, cuGraphExecChildGraphNodeSetParams,                       \
     (CUgraphExec exec, CUgraphNode node, CUgraph child))                                                              \
  X (PLAIN, SAFE, cuGraphExecEventRecordNodeSetEvent, 11010, cuGraphExecEventRecordNodeSetEvent,                       \
     (CUgraphExec exec, CUgraphNode node, CUevent event))                                                              \
  X (PLAIN, SAFE, cuGraphExecEventWaitNodeSetEvent, 11010, cuGraphExecEventWaitNodeSetEvent,                           \
     (CUgraphExec exec, CUgraphNode node, CUevent event))                                                              \
  X (PLAIN, SAFE, cuGraphExecNodeSetParams, 12020, cuGraphExecNodeSetParams,                                           \
     (CUgraphExec exec, CUgraphNode node, McuNodeParams *params))                                                      \
  X (PLAIN, SAFE, cuGraphExecBatchMemOpNodeSetParams, 11070, cuGraphExecBatchMemOpNodeSetParams,                       \
     (CUgraphExec exec, CUgraphNode node, const HostBatchMemOpNodeParams *params))                                     \
  X (PLAIN, SAFE, cuGraphNodeSetEnabled, 11060, cuGraphNodeSetEnabled,                                                 \
     (CUgraphExec exec, CUgraphNode node, unsigned enabled))                                                           \
  X (PLAIN, SAFE, cuGraphNodeGetEnabled, 11060, cuGraphNodeGetEnabled,                                                 \
     (CUgraphExec exec, CUgraphNode node, unsigned *enabled))                                                          \
  X (PLAIN, SAFE, cuDeviceGetGraphMemAttribute, 11040, cuDeviceGetGraphMemAttribute,                                   \
     (CUdevice device, int attribute, void *value))                                                                    \
  X (PLAIN, SAFE, cuDeviceSetGraphMemAttribute, 11040, cuDeviceSetGraphMemAttribute,                                   \
     (CUdevice device, int attribute, void *value))                                                                    \
  X (PLAIN, SAFE, cuDeviceGraphMemTrim, 11040, cuDeviceGraphMemTrim, (CUdevice device))                                \
  X (PLAIN, SAFE, cuUserObjectCreate, 11030, cuUserObjectCreate,                                                       \
     (CUuserObject *object, void *data, CUhostFn destroy, unsigned count, unsigned flags))                             \
  X (PLAIN, SAFE, cuUserObjectRetain, 11030, cuUserObjectRetain, (CUuserObject object, unsigned count))                \
  X (PLAIN, SAFE, cuUserObjectRelease, 11030, cuUserObjectRelease, (CUuserObject object, unsigned count))              \
  X (PLAIN, SAFE, cuGraphRetainUserObject, 11030, cuGraphRetainUserObject,                                             \
     (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))                                             \
  X (PLAIN, SAFE, cuGraphReleaseUserObject, 11030, cuGraphReleaseUserObject,                                           \
     (CUgraph graph, CUuserObject object, unsigned count))
/* clang-format on */
