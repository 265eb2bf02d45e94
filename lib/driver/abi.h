/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * abi.h: the part of the CUDA driver's binary interface that this project speaks.
 *
 * Our own declarations, so that nothing needs a CUDA toolkit to build. Handles carry cuda.h's names (C11 and C++
 * allow the identical typedef twice); structs and constants carry the prefix Mcu/MCU_, so that this file and cuda.h
 * can meet in one translation unit: lib/driver/abi-check.c compares the two with static assertions wherever a toolkit
 * is present. Enumerated parameters are plain int or unsigned here: the ABI is the same, and an unknown value from a
 * newer driver is then an ordinary number.
 *
 * Shared by the library, the host driver, the recorder and the conformance program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUuserObject_st *CUuserObject;
typedef struct CUlogsCallbackEntry_st *CUlogsCallbackHandle;
typedef struct CUarray_st *CUarray;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void (*CUhostFn) (void *user_data);
typedef void (*CUstreamCallback) (CUstream stream, int status, void *user_data);

typedef int McuResult; /* CUresult */

enum /* CUresult: the values that this project names or produces */
{
  MCU_SUCCESS = 0,
  MCU_ERROR_INVALID_VALUE = 1,
  MCU_ERROR_OUT_OF_MEMORY = 2,
  MCU_ERROR_NOT_INITIALIZED = 3,
  MCU_ERROR_DEINITIALIZED = 4,
  MCU_ERROR_STUB_LIBRARY = 34,
  MCU_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36,
  MCU_ERROR_NO_DEVICE = 100,
  MCU_ERROR_INVALID_DEVICE = 101,
  MCU_ERROR_INVALID_IMAGE = 200,
  MCU_ERROR_INVALID_CONTEXT = 201,
  MCU_ERROR_NO_BINARY_FOR_GPU = 209,
  MCU_ERROR_FILE_NOT_FOUND = 301,
  MCU_ERROR_OPERATING_SYSTEM = 304,
  MCU_ERROR_INVALID_HANDLE = 400,
  MCU_ERROR_ILLEGAL_STATE = 401,
  MCU_ERROR_LOSSY_QUERY = 402,
  MCU_ERROR_NOT_FOUND = 500,
  MCU_ERROR_NOT_READY = 600,
  MCU_ERROR_ILLEGAL_ADDRESS = 700,
  MCU_ERROR_CONTEXT_IS_DESTROYED = 709,
  MCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  MCU_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  MCU_ERROR_LAUNCH_FAILED = 719,
  MCU_ERROR_NOT_PERMITTED = 800,
  MCU_ERROR_NOT_SUPPORTED = 801,
  MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  MCU_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  MCU_ERROR_STREAM_CAPTURE_MERGE = 902,
  MCU_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
  MCU_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  MCU_ERROR_STREAM_CAPTURE_ISOLATION = 905,
  MCU_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  MCU_ERROR_CAPTURED_EVENT = 907,
  MCU_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
  MCU_ERROR_UNKNOWN = 999
};

/* Special stream handles (CU_STREAM_LEGACY, CU_STREAM_PER_THREAD). */
#define MCU_STREAM_LEGACY ((CUstream) 0x1)
#define MCU_STREAM_PER_THREAD ((CUstream) 0x2)

enum
{
  MCU_STREAM_DEFAULT = 0,
  MCU_STREAM_NON_BLOCKING = 1,

  MCU_EVENT_DEFAULT = 0,
  MCU_EVENT_BLOCKING_SYNC = 1,
  MCU_EVENT_DISABLE_TIMING = 2,

  MCU_EVENT_RECORD_EXTERNAL = 1,
  MCU_EVENT_WAIT_EXTERNAL = 1,

  MCU_CAPTURE_MODE_GLOBAL = 0,
  MCU_CAPTURE_MODE_THREAD_LOCAL = 1,
  MCU_CAPTURE_MODE_RELAXED = 2,

  MCU_CAPTURE_STATUS_NONE = 0,
  MCU_CAPTURE_STATUS_ACTIVE = 1,
  MCU_CAPTURE_STATUS_INVALIDATED = 2,

  MCU_CAPTURE_ADD_DEPENDENCIES = 0,
  MCU_CAPTURE_SET_DEPENDENCIES = 1,

  MCU_GET_PROC_LEGACY_STREAM = 1,
  MCU_GET_PROC_PER_THREAD_STREAM = 2,
  MCU_GET_PROC_SUCCESS = 0,
  MCU_GET_PROC_NOT_FOUND = 1,
  MCU_GET_PROC_VERSION_NOT_SUFFICIENT = 2,

  MCU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  MCU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,

  MCU_MEMORYTYPE_HOST = 1,
  MCU_MEMORYTYPE_DEVICE = 2,
  MCU_MEMORYTYPE_ARRAY = 3,
  MCU_MEMORYTYPE_UNIFIED = 4,

  MCU_POINTER_CONTEXT = 1,
  MCU_POINTER_MEMORY_TYPE = 2,
  MCU_POINTER_DEVICE_POINTER = 3,
  MCU_POINTER_HOST_POINTER = 4,
  MCU_POINTER_BUFFER_ID = 7,
  MCU_POINTER_IS_MANAGED = 8,
  MCU_POINTER_DEVICE_ORDINAL = 9,
  MCU_POINTER_RANGE_START_ADDR = 11,
  MCU_POINTER_RANGE_SIZE = 12,
  MCU_POINTER_MAPPED = 13,
  MCU_POINTER_MEMPOOL_HANDLE = 17,
  MCU_POINTER_MAPPING_SIZE = 18,
  MCU_POINTER_MAPPING_BASE_ADDR = 19,
  MCU_POINTER_MEMORY_BLOCK_ID = 20,

  MCU_NODE_KERNEL = 0,
  MCU_NODE_MEMCPY = 1,
  MCU_NODE_MEMSET = 2,
  MCU_NODE_HOST = 3,
  MCU_NODE_GRAPH = 4,
  MCU_NODE_EMPTY = 5,
  MCU_NODE_WAIT_EVENT = 6,
  MCU_NODE_EVENT_RECORD = 7,
  MCU_NODE_EXT_SEMAS_SIGNAL = 8,
  MCU_NODE_EXT_SEMAS_WAIT = 9,
  MCU_NODE_MEM_ALLOC = 10,
  MCU_NODE_MEM_FREE = 11,
  MCU_NODE_BATCH_MEM_OP = 12,
  MCU_NODE_CONDITIONAL = 13,

  MCU_EDGE_DEFAULT = 0,
  MCU_EDGE_PROGRAMMATIC = 1,

  MCU_INSTANTIATE_AUTO_FREE_ON_LAUNCH = 1,
  MCU_INSTANTIATE_UPLOAD = 2,
  MCU_INSTANTIATE_DEVICE_LAUNCH = 4,
  MCU_INSTANTIATE_USE_NODE_PRIORITY = 8,

  MCU_INSTANTIATE_RESULT_SUCCESS = 0,
  MCU_INSTANTIATE_RESULT_ERROR = 1,
  MCU_INSTANTIATE_RESULT_INVALID_STRUCTURE = 2,
  MCU_INSTANTIATE_RESULT_NODE_OPERATION_NOT_SUPPORTED = 3,
  MCU_INSTANTIATE_RESULT_MULTIPLE_CTXS_NOT_SUPPORTED = 4,
  MCU_INSTANTIATE_RESULT_CONDITIONAL_HANDLE_UNUSED = 5,

  MCU_UPDATE_SUCCESS = 0,
  MCU_UPDATE_ERROR = 1,
  MCU_UPDATE_TOPOLOGY_CHANGED = 2,
  MCU_UPDATE_NODE_TYPE_CHANGED = 3,
  MCU_UPDATE_FUNCTION_CHANGED = 4,
  MCU_UPDATE_PARAMETERS_CHANGED = 5,
  MCU_UPDATE_NOT_SUPPORTED = 6,
  MCU_UPDATE_UNSUPPORTED_FUNCTION_CHANGE = 7,
  MCU_UPDATE_ATTRIBUTES_CHANGED = 8,

  MCU_DOT_VERBOSE = 1,
  MCU_DOT_HANDLES = 1024,
  MCU_DOT_CONDITIONAL = 32768,

  MCU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1,
  MCU_GRAPH_USER_OBJECT_MOVE = 1,

  MCU_COND_IF = 0,
  MCU_COND_WHILE = 1,
  MCU_COND_SWITCH = 2
};

/* Markers of the `extra` launch form: {POINTER, buffer, SIZE, &size, END}. */
#define MCU_LAUNCH_PARAM_END ((void *) 0x00)
#define MCU_LAUNCH_PARAM_BUFFER_POINTER ((void *) 0x01)
#define MCU_LAUNCH_PARAM_BUFFER_SIZE ((void *) 0x02)

/* CUDA_KERNEL_NODE_PARAMS_v2 (12.0). The v1 struct (10.0) is the same without the last two fields: a driver that
 * only knows v1 leaves them untouched, so zero the struct first. The v3 in McuNodeParams has the v2 layout. */
typedef struct
{
  CUfunction func;
  unsigned int grid_x, grid_y, grid_z;
  unsigned int block_x, block_y, block_z;
  unsigned int shared_bytes;
  void **kernel_params;
  void **extra;
  CUkernel kern;
  CUcontext ctx;
} McuKernelNodeParams;

/* CUDA_MEMCPY3D_v2 */
typedef struct
{
  size_t src_x_bytes, src_y, src_z, src_lod;
  unsigned int src_memory_type;
  const void *src_host;
  CUdeviceptr src_device;
  CUarray src_array;
  void *reserved0;
  size_t src_pitch, src_height;
  size_t dst_x_bytes, dst_y, dst_z, dst_lod;
  unsigned int dst_memory_type;
  void *dst_host;
  CUdeviceptr dst_device;
  CUarray dst_array;
  void *reserved1;
  size_t dst_pitch, dst_height;
  size_t width_bytes, height, depth;
} McuMemcpy3D;

/* CUDA_MEMSET_NODE_PARAMS_v1 */
typedef struct
{
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value;
  unsigned int element_size;
  size_t width; /* in elements */
  size_t height;
} McuMemsetNodeParams;

/* CUDA_HOST_NODE_PARAMS_v1 */
typedef struct
{
  CUhostFn fn;
  void *user_data;
} McuHostNodeParams;

/* CUmemLocation */
typedef struct
{
  int type; /* 1: device */
  int id;
} McuMemLocation;

/* CUmemPoolProps */
typedef struct
{
  int alloc_type; /* 1: pinned */
  int handle_types;
  McuMemLocation location;
  void *win32_security_attributes;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
} McuMemPoolProps;

/* CUmemAccessDesc */
typedef struct
{
  McuMemLocation location;
  int flags;
} McuMemAccessDesc;

/* CUDA_MEM_ALLOC_NODE_PARAMS_v1 */
typedef struct
{
  McuMemPoolProps pool_props;
  const McuMemAccessDesc *access_descs;
  size_t access_desc_count;
  size_t byte_size;
  CUdeviceptr dptr;
} McuMemAllocNodeParams;

/* CUgraphEdgeData (12.3) */
typedef struct
{
  unsigned char from_port;
  unsigned char to_port;
  unsigned char type;
  unsigned char reserved[5];
} McuEdgeData;

/* CUDA_CONDITIONAL_NODE_PARAMS (12.3) */
typedef struct
{
  unsigned long long handle;
  int type;
  unsigned int size;
  CUgraph *graphs_out;
  CUcontext ctx;
} McuConditionalNodeParams;

/* CUgraphNodeParams (12.2): zero all of it before use. */
typedef struct
{
  int type;
  int reserved0[3];
  union
  {
    long long reserved1[29];
    McuKernelNodeParams kernel;
    McuHostNodeParams host;
    McuConditionalNodeParams conditional;
    CUgraph child;
  } u;
  long long reserved2;
} McuNodeParams;

/* CUDA_GRAPH_INSTANTIATE_PARAMS (12.0) */
typedef struct
{
  uint64_t flags;
  CUstream upload_stream;
  CUgraphNode error_node;
  int result;
} McuInstantiateParams;

/* CUgraphExecUpdateResultInfo (12.0) */
typedef struct
{
  int result;
  CUgraphNode error_node;
  CUgraphNode error_from_node;
} McuUpdateResultInfo;

/* CUlogsCallback (12.9); level 0 is an error, 1 a warning. */
typedef void (*McuLogsCallback) (void *data, int level, char *message, size_t length);

/* The untyped entry point that cuGetProcAddress hands out. */
typedef void (*McuProc) (void);
typedef McuResult (*McuGetProcAddressV1) (const char *symbol, void **pfn, int version, uint64_t flags);
typedef McuResult (*McuGetProcAddressV2) (const char *symbol, void **pfn, int version, uint64_t flags, int *status);

#ifdef __cplusplus
}
#endif
