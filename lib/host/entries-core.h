/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * entries-core.h: the entry points of everything but graphs and captures; see entries-host.h for the columns.
 *
 * HOST_UNSUPPORTED_ENTRIES (X): X (base, version, symbol) exist so that programs link and find them, and answer 801.
 */
#pragma once

/* Structs of the driver's ABI that only the host driver reads, and that abi.h therefore lacks. */

/* CUlaunchAttribute */
typedef struct
{
  int id;
  char pad[4];
  union
  {
    char pad[64];
    int value;
    unsigned dim[3];
    struct
    {
      CUevent event;
      int flags;
      int trigger_at_block_start;
    } event;
  } u;
} HostLaunchAttribute;

/* CUlaunchConfig */
typedef struct
{
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CUstream stream;
  HostLaunchAttribute *attributes;
  unsigned n_attributes;
} HostLaunchConfig;

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
} HostMemcpy2D;

/* CUmemAllocationProp */
typedef struct
{
  int type;
  int handle_types;
  McuMemLocation location;
  void *win32_handle_meta_data;
  unsigned char alloc_flags[8];
} HostAllocationProp;

/* CUuuid */
typedef struct
{
  char bytes[16];
} HostUuid;

/* clang-format off */
#define HOST_CORE_ENTRIES(X)                                                                                           \
  /* Process */                                                                                                        \
  X (EARLY, SAFE, cuInit, 2000, cuInit, (unsigned flags))                                                              \
  X (EARLY, SAFE, cuDriverGetVersion, 2020, cuDriverGetVersion, (int *version))                                        \
  X (EARLY, SAFE, cuGetErrorName, 6000, cuGetErrorName, (int error, const char **name))                                \
  X (EARLY, SAFE, cuGetErrorString, 6000, cuGetErrorString, (int error, const char **text))                            \
  X (EARLY, SAFE, cuGetProcAddress, 11030, cuGetProcAddress,                                                           \
     (const char *base, void **pfn, int version, uint64_t flags))                                                      \
  X (EARLY, SAFE, cuGetProcAddress, 12000, cuGetProcAddress_v2,                                                        \
     (const char *base, void **pfn, int version, uint64_t flags, int *status))                                         \
  X (EARLY, SAFE, cuLogsRegisterCallback, 12090, cuLogsRegisterCallback,                                               \
     (McuLogsCallback callback, void *user_data, CUlogsCallbackHandle *handle))                                        \
  X (EARLY, SAFE, cuLogsUnregisterCallback, 12090, cuLogsUnregisterCallback, (CUlogsCallbackHandle handle))            \
  X (PLAIN, SAFE, cuModuleGetLoadingMode, 11070, cuModuleGetLoadingMode, (int *mode))                                  \
  /* Devices */                                                                                                        \
  X (PLAIN, SAFE, cuDeviceGet, 2000, cuDeviceGet, (CUdevice *device, int ordinal))                                     \
  X (PLAIN, SAFE, cuDeviceGetCount, 2000, cuDeviceGetCount, (int *count))                                              \
  X (PLAIN, SAFE, cuDeviceGetName, 2000, cuDeviceGetName, (char *name, int length, CUdevice device))                   \
  X (PLAIN, SAFE, cuDeviceGetUuid, 9020, cuDeviceGetUuid, (HostUuid *uuid, CUdevice device))                           \
  X (PLAIN, SAFE, cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2, (HostUuid *uuid, CUdevice device))                       \
  X (PLAIN, SAFE, cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId, (char *name, int length, CUdevice device))           \
  X (PLAIN, SAFE, cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                       \
  X (PLAIN, SAFE, cuDeviceGetAttribute, 2000, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))      \
  X (PLAIN, SAFE, cuDeviceComputeCapability, 2000, cuDeviceComputeCapability,                                          \
     (int *major, int *minor, CUdevice device))                                                                        \
  X (PLAIN, SAFE, cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer))      \
  X (PLAIN, SAFE, cuDeviceGetDefaultMemPool, 11020, cuDeviceGetDefaultMemPool, (CUmemoryPool *pool, CUdevice device))  \
  X (PLAIN, SAFE, cuDeviceGetMemPool, 11020, cuDeviceGetMemPool, (CUmemoryPool *pool, CUdevice device))                \
  X (PLAIN, SAFE, cuDeviceSetMemPool, 11020, cuDeviceSetMemPool, (CUdevice device, CUmemoryPool pool))                 \
  X (PLAIN, SAFE, cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device))     \
  X (PLAIN, SAFE, cuDevicePrimaryCtxRelease, 7000, cuDevicePrimaryCtxRelease, (CUdevice device))                       \
  X (PLAIN, SAFE, cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                   \
  X (PLAIN, SAFE, cuDevicePrimaryCtxReset, 7000, cuDevicePrimaryCtxReset, (CUdevice device))                           \
  X (PLAIN, SAFE, cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2, (CUdevice device))                       \
  X (PLAIN, SAFE, cuDevicePrimaryCtxSetFlags, 7000, cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags))     \
  X (PLAIN, SAFE, cuDevicePrimaryCtxSetFlags, 11000, cuDevicePrimaryCtxSetFlags_v2,                                    \
     (CUdevice device, unsigned flags))                                                                                \
  X (PLAIN, SAFE, cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState,                                        \
     (CUdevice device, unsigned *flags, int *active))                                                                  \
  /* Contexts */                                                                                                       \
  X (PLAIN, SAFE, cuCtxCreate, 3020, cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device))            \
  X (PLAIN, SAFE, cuCtxCreate, 11040, cuCtxCreate_v3,                                                                  \
     (CUcontext *context, void *affinity, int n_affinity, unsigned flags, CUdevice device))                            \
  X (PLAIN, SAFE, cuCtxCreate, 12050, cuCtxCreate_v4,                                                                  \
     (CUcontext *context, void *params, unsigned flags, CUdevice device))                                              \
  X (PLAIN, SAFE, cuCtxDestroy, 2000, cuCtxDestroy, (CUcontext context))                                               \
  X (PLAIN, SAFE, cuCtxDestroy, 4000, cuCtxDestroy_v2, (CUcontext context))                                            \
  X (PLAIN, SAFE, cuCtxPushCurrent, 2000, cuCtxPushCurrent, (CUcontext context))                                       \
  X (PLAIN, SAFE, cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2, (CUcontext context))                                    \
  X (PLAIN, SAFE, cuCtxPopCurrent, 2000, cuCtxPopCurrent, (CUcontext *context))                                        \
  X (PLAIN, SAFE, cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2, (CUcontext *context))                                     \
  X (PLAIN, SAFE, cuCtxSetCurrent, 4000, cuCtxSetCurrent, (CUcontext context))                                         \
  X (PLAIN, SAFE, cuCtxGetCurrent, 4000, cuCtxGetCurrent, (CUcontext *context))                                        \
  X (PLAIN, SAFE, cuCtxGetDevice, 2000, cuCtxGetDevice, (CUdevice *device))                                            \
  X (PLAIN, SAFE, cuCtxGetDevice, 13000, cuCtxGetDevice_v2, (CUdevice *device, CUcontext context))                     \
  X (PLAIN, SAFE, cuCtxGetFlags, 7000, cuCtxGetFlags, (unsigned *flags))                                               \
  X (PLAIN, SAFE, cuCtxGetId, 12000, cuCtxGetId, (CUcontext context, unsigned long long *id))                          \
  X (PLAIN, SAFE, cuCtxGetApiVersion, 3020, cuCtxGetApiVersion, (CUcontext context, unsigned *version))                \
  X (PLAIN, SAFE, cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange, (int *least, int *greatest))         \
  X (PLAIN, FATAL, cuCtxSynchronize, 2000, cuCtxSynchronize, (void))                                                   \
  X (PLAIN, FATAL, cuCtxSynchronize, 13000, cuCtxSynchronize_v2, (CUcontext context))                                  \
  X (PLAIN, SAFE, cuCtxGetLimit, 3010, cuCtxGetLimit, (size_t *value, int limit))                                      \
  X (PLAIN, UNSAFE, cuCtxSetLimit, 3010, cuCtxSetLimit, (int limit, size_t value))                                     \
  X (PLAIN, SAFE, cuCtxGetCacheConfig, 3020, cuCtxGetCacheConfig, (int *config))                                       \
  X (PLAIN, UNSAFE, cuCtxSetCacheConfig, 3020, cuCtxSetCacheConfig, (int config))                                      \
  X (PLAIN, SAFE, cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags))                \
  X (PLAIN, SAFE, cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess, (CUcontext peer))                              \
  /* Streams */                                                                                                        \
  X (PLAIN, SAFE, cuStreamCreate, 2000, cuStreamCreate, (CUstream *stream, unsigned flags))                            \
  X (PLAIN, SAFE, cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority,                                        \
     (CUstream *stream, unsigned flags, int priority))                                                                 \
  X (PLAIN, SAFE, cuStreamDestroy, 2000, cuStreamDestroy, (CUstream stream))                                           \
  X (PLAIN, SAFE, cuStreamDestroy, 4000, cuStreamDestroy_v2, (CUstream stream))                                        \
  X (STREAM, UNSAFE, cuStreamQuery, 2000, cuStreamQuery, (CUstream stream))                                            \
  X (STREAM, UNSAFE, cuStreamSynchronize, 2000, cuStreamSynchronize, (CUstream stream))                                \
  X (STREAM, SAFE, cuStreamWaitEvent, 3020, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))       \
  X (STREAM, SAFE, cuStreamGetFlags, 5050, cuStreamGetFlags, (CUstream stream, unsigned *flags))                       \
  X (STREAM, SAFE, cuStreamGetPriority, 5050, cuStreamGetPriority, (CUstream stream, int *priority))                   \
  X (STREAM, SAFE, cuStreamGetCtx, 9020, cuStreamGetCtx, (CUstream stream, CUcontext *context))                        \
  X (STREAM, SAFE, cuStreamGetCtx, 12050, cuStreamGetCtx_v2,                                                           \
     (CUstream stream, CUcontext *context, void **green_context))                                                      \
  X (STREAM, SAFE, cuStreamGetId, 12000, cuStreamGetId, (CUstream stream, unsigned long long *id))                     \
  X (STREAM, SAFE, cuStreamGetDevice, 12080, cuStreamGetDevice, (CUstream stream, CUdevice *device))                   \
  X (STREAM, UNSAFE, cuStreamAddCallback, 5000, cuStreamAddCallback,                                                   \
     (CUstream stream, CUstreamCallback callback, void *user_data, unsigned flags))                                    \
  X (STREAM, SAFE, cuLaunchHostFunc, 10000, cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *user_data))         \
  X (STREAM, UNSAFE, cuStreamAttachMemAsync, 6000, cuStreamAttachMemAsync,                                             \
     (CUstream stream, CUdeviceptr address, size_t length, unsigned flags))                                            \
  X (STREAM, SAFE, cuStreamGetAttribute, 11000, cuStreamGetAttribute, (CUstream stream, int attribute, void *value))   \
  X (STREAM, SAFE, cuStreamSetAttribute, 11000, cuStreamSetAttribute,                                                  \
     (CUstream stream, int attribute, const void *value))                                                              \
  X (STREAM, SAFE, cuStreamCopyAttributes, 11000, cuStreamCopyAttributes, (CUstream stream, CUstream from))            \
  /* Events */                                                                                                         \
  X (PLAIN, SAFE, cuEventCreate, 2000, cuEventCreate, (CUevent *event, unsigned flags))                                \
  X (PLAIN, SAFE, cuEventDestroy, 2000, cuEventDestroy, (CUevent event))                                               \
  X (PLAIN, SAFE, cuEventDestroy, 4000, cuEventDestroy_v2, (CUevent event))                                            \
  X (STREAM, SAFE, cuEventRecord, 2000, cuEventRecord, (CUevent event, CUstream stream))                               \
  X (STREAM, SAFE, cuEventRecordWithFlags, 11010, cuEventRecordWithFlags,                                              \
     (CUevent event, CUstream stream, unsigned flags))                                                                 \
  X (PLAIN, UNSAFE, cuEventQuery, 2000, cuEventQuery, (CUevent event))                                                 \
  X (PLAIN, UNSAFE, cuEventSynchronize, 2000, cuEventSynchronize, (CUevent event))                                     \
  X (PLAIN, SAFE, cuEventElapsedTime, 2000, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))     \
  X (PLAIN, SAFE, cuEventElapsedTime, 12080, cuEventElapsedTime_v2,                                                    \
     (float *milliseconds, CUevent start, CUevent end))                                                                \
  /* Memory */                                                                                                         \
  X (PLAIN, SAFE, cuMemGetInfo, 3020, cuMemGetInfo_v2, (size_t *available, size_t *total))                             \
  X (PLAIN, UNSAFE, cuMemAlloc, 3020, cuMemAlloc_v2, (CUdeviceptr *address, size_t size))                              \
  X (PLAIN, UNSAFE, cuMemAllocPitch, 3020, cuMemAllocPitch_v2,                                                         \
     (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element_size))                        \
  X (PLAIN, UNSAFE, cuMemAllocManaged, 6000, cuMemAllocManaged, (CUdeviceptr *address, size_t size, unsigned flags))   \
  X (PLAIN, UNSAFE, cuMemFree, 3020, cuMemFree_v2, (CUdeviceptr address))                                              \
  X (PLAIN, UNSAFE, cuMemHostAlloc, 2020, cuMemHostAlloc, (void **address, size_t size, unsigned flags))               \
  X (PLAIN, UNSAFE, cuMemAllocHost, 3020, cuMemAllocHost_v2, (void **address, size_t size))                            \
  X (PLAIN, UNSAFE, cuMemFreeHost, 2000, cuMemFreeHost, (void *address))                                               \
  X (PLAIN, UNSAFE, cuMemHostRegister, 4000, cuMemHostRegister, (void *address, size_t size, unsigned flags))          \
  X (PLAIN, UNSAFE, cuMemHostRegister, 6050, cuMemHostRegister_v2, (void *address, size_t size, unsigned flags))       \
  X (PLAIN, UNSAFE, cuMemHostUnregister, 4000, cuMemHostUnregister, (void *address))                                   \
  X (PLAIN, SAFE, cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2,                                       \
     (CUdeviceptr *device_address, void *address, unsigned flags))                                                     \
  X (PLAIN, SAFE, cuMemHostGetFlags, 2030, cuMemHostGetFlags, (unsigned *flags, void *address))                        \
  X (PLAIN, SAFE, cuMemGetAddressRange, 3020, cuMemGetAddressRange_v2,                                                 \
     (CUdeviceptr *base, size_t *size, CUdeviceptr address))                                                           \
  X (STREAM, UNSAFE, cuMemAllocAsync, 11020, cuMemAllocAsync, (CUdeviceptr *address, size_t size, CUstream stream))    \
  X (STREAM, UNSAFE, cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync,                                          \
     (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream))                                          \
  X (STREAM, UNSAFE, cuMemFreeAsync, 11020, cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                    \
  X (PLAIN, UNSAFE, cuMemPoolCreate, 11020, cuMemPoolCreate, (CUmemoryPool *pool, const McuMemPoolProps *props))       \
  X (PLAIN, UNSAFE, cuMemPoolDestroy, 11020, cuMemPoolDestroy, (CUmemoryPool pool))                                    \
  X (PLAIN, UNSAFE, cuMemPoolTrimTo, 11020, cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep))                         \
  X (PLAIN, UNSAFE, cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute,                                               \
     (CUmemoryPool pool, int attribute, void *value))                                                                  \
  X (PLAIN, UNSAFE, cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute,                                               \
     (CUmemoryPool pool, int attribute, void *value))                                                                  \
  X (STREAM, UNSAFE, cuMemPrefetchAsync, 8000, cuMemPrefetchAsync,                                                     \
     (CUdeviceptr address, size_t size, CUdevice device, CUstream stream))                                             \
  X (STREAM, UNSAFE, cuMemPrefetchAsync, 12020, cuMemPrefetchAsync_v2,                                                 \
     (CUdeviceptr address, size_t size, McuMemLocation location, unsigned flags, CUstream stream))                     \
  X (PLAIN, SAFE, cuPointerGetAttribute, 4000, cuPointerGetAttribute,                                                  \
     (void *data, int attribute, CUdeviceptr address))                                                                 \
  X (PLAIN, SAFE, cuPointerGetAttributes, 7000, cuPointerGetAttributes,                                                \
     (unsigned count, int *attributes, void **data, CUdeviceptr address))                                              \
  X (PLAIN, SAFE, cuPointerSetAttribute, 6000, cuPointerSetAttribute,                                                  \
     (const void *value, int attribute, CUdeviceptr address))                                                          \
  /* Virtual memory */                                                                                                 \
  X (PLAIN, SAFE, cuMemAddressReserve, 10020, cuMemAddressReserve,                                                     \
     (CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags))                \
  X (PLAIN, SAFE, cuMemAddressFree, 10020, cuMemAddressFree, (CUdeviceptr address, size_t size))                       \
  X (PLAIN, SAFE, cuMemCreate, 10020, cuMemCreate,                                                                     \
     (unsigned long long *handle, size_t size, const HostAllocationProp *prop, unsigned long long flags))              \
  X (PLAIN, SAFE, cuMemRelease, 10020, cuMemRelease, (unsigned long long handle))                                      \
  X (PLAIN, SAFE, cuMemMap, 10020, cuMemMap,                                                                           \
     (CUdeviceptr address, size_t size, size_t offset, unsigned long long handle, unsigned long long flags))           \
  X (PLAIN, SAFE, cuMemUnmap, 10020, cuMemUnmap, (CUdeviceptr address, size_t size))                                   \
  X (PLAIN, SAFE, cuMemSetAccess, 10020, cuMemSetAccess,                                                               \
     (CUdeviceptr address, size_t size, const McuMemAccessDesc *access, size_t count))                                 \
  X (PLAIN, SAFE, cuMemGetAccess, 10020, cuMemGetAccess,                                                               \
     (unsigned long long *flags, const McuMemLocation *location, CUdeviceptr address))                                 \
  X (PLAIN, SAFE, cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity,                                 \
     (size_t *granularity, const HostAllocationProp *prop, int option))                                                \
  X (PLAIN, SAFE, cuMemGetAllocationPropertiesFromHandle, 10020, cuMemGetAllocationPropertiesFromHandle,               \
     (HostAllocationProp *prop, unsigned long long handle))                                                            \
  X (PLAIN, SAFE, cuMemRetainAllocationHandle, 11000, cuMemRetainAllocationHandle,                                     \
     (unsigned long long *handle, void *address))                                                                      \
  /* Copies and fills */                                                                                               \
  X (STREAM, SAFE, cuMemcpy, 4000, cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t size))                          \
  X (STREAM, SAFE, cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t size))               \
  X (STREAM, SAFE, cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t size))                     \
  X (STREAM, SAFE, cuMemcpyDtoD, 3020, cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t size))               \
  X (STREAM, SAFE, cuMemcpyPeer, 4000, cuMemcpyPeer,                                                                   \
     (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size))                    \
  X (STREAM, SAFE, cuMemcpy2D, 3020, cuMemcpy2D_v2, (const HostMemcpy2D *copy))                                        \
  X (STREAM, SAFE, cuMemcpy2DUnaligned, 3020, cuMemcpy2DUnaligned_v2, (const HostMemcpy2D *copy))                      \
  X (STREAM, SAFE, cuMemcpy3D, 3020, cuMemcpy3D_v2, (const McuMemcpy3D *copy))                                         \
  X (STREAM, SAFE, cuMemcpyAsync, 4000, cuMemcpyAsync,                                                                 \
     (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))                                                 \
  X (STREAM, SAFE, cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2,                                                      \
     (CUdeviceptr dst, const void *src, size_t size, CUstream stream))                                                 \
  X (STREAM, SAFE, cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2,                                                      \
     (void *dst, CUdeviceptr src, size_t size, CUstream stream))                                                       \
  X (STREAM, SAFE, cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2,                                                      \
     (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream))                                                 \
  X (STREAM, SAFE, cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync,                                                         \
     (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size, CUstream stream))   \
  X (STREAM, SAFE, cuMemcpy2DAsync, 3020, cuMemcpy2DAsync_v2, (const HostMemcpy2D *copy, CUstream stream))             \
  X (STREAM, SAFE, cuMemcpy3DAsync, 3020, cuMemcpy3DAsync_v2, (const McuMemcpy3D *copy, CUstream stream))              \
  X (STREAM, SAFE, cuMemcpyBatchAsync, 12080, cuMemcpyBatchAsync,                                                      \
     (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes, size_t *indices,            \
      size_t n_attributes, size_t *failed, CUstream stream))                                                           \
  X (STREAM, SAFE, cuMemcpyBatchAsync, 13000, cuMemcpyBatchAsync_v2,                                                   \
     (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes, size_t *indices,            \
      size_t n_attributes, CUstream stream))                                                                           \
  X (STREAM, SAFE, cuMemsetD8, 3020, cuMemsetD8_v2, (CUdeviceptr dst, unsigned char value, size_t count))              \
  X (STREAM, SAFE, cuMemsetD16, 3020, cuMemsetD16_v2, (CUdeviceptr dst, unsigned short value, size_t count))           \
  X (STREAM, SAFE, cuMemsetD32, 3020, cuMemsetD32_v2, (CUdeviceptr dst, unsigned value, size_t count))                 \
  X (STREAM, SAFE, cuMemsetD2D8, 3020, cuMemsetD2D8_v2,                                                                \
     (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height))                                \
  X (STREAM, SAFE, cuMemsetD2D16, 3020, cuMemsetD2D16_v2,                                                              \
     (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height))                               \
  X (STREAM, SAFE, cuMemsetD2D32, 3020, cuMemsetD2D32_v2,                                                              \
     (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height))                                     \
  X (STREAM, SAFE, cuMemsetD8Async, 3020, cuMemsetD8Async,                                                             \
     (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream))                                            \
  X (STREAM, SAFE, cuMemsetD16Async, 3020, cuMemsetD16Async,                                                           \
     (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream))                                           \
  X (STREAM, SAFE, cuMemsetD32Async, 3020, cuMemsetD32Async,                                                           \
     (CUdeviceptr dst, unsigned value, size_t count, CUstream stream))                                                 \
  X (STREAM, SAFE, cuMemsetD2D8Async, 3020, cuMemsetD2D8Async,                                                         \
     (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream))               \
  X (STREAM, SAFE, cuMemsetD2D16Async, 3020, cuMemsetD2D16Async,                                                       \
     (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream))              \
  X (STREAM, SAFE, cuMemsetD2D32Async, 3020, cuMemsetD2D32Async,                                                       \
     (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream))                    \
  /* Modules and kernels */                                                                                            \
  X (PLAIN, LOAD, cuModuleLoad, 2000, cuModuleLoad, (CUmodule *module, const char *path))                              \
  X (PLAIN, LOAD, cuModuleLoadData, 2000, cuModuleLoadData, (CUmodule *module, const void *image))                     \
  X (PLAIN, LOAD, cuModuleLoadDataEx, 2010, cuModuleLoadDataEx,                                                        \
     (CUmodule *module, const void *image, unsigned count, int *options, void **values))                               \
  X (PLAIN, LOAD, cuModuleLoadFatBinary, 2000, cuModuleLoadFatBinary, (CUmodule *module, const void *image))           \
  X (PLAIN, UNSAFE, cuModuleUnload, 2000, cuModuleUnload, (CUmodule module))                                           \
  X (PLAIN, SAFE, cuModuleGetFunction, 2000, cuModuleGetFunction,                                                      \
     (CUfunction *function, CUmodule module, const char *name))                                                        \
  X (PLAIN, SAFE, cuModuleGetFunctionCount, 12040, cuModuleGetFunctionCount, (unsigned *count, CUmodule module))       \
  X (PLAIN, SAFE, cuModuleEnumerateFunctions, 12040, cuModuleEnumerateFunctions,                                       \
     (CUfunction *functions, unsigned count, CUmodule module))                                                         \
  X (PLAIN, LOAD, cuLibraryLoadData, 12000, cuLibraryLoadData,                                                         \
     (CUlibrary *library, const void *image, int *jit_options, void **jit_values, unsigned n_jit_options,              \
      int *options, void **values, unsigned n_options))                                                                \
  X (PLAIN, LOAD, cuLibraryLoadFromFile, 12000, cuLibraryLoadFromFile,                                                 \
     (CUlibrary *library, const char *path, int *jit_options, void **jit_values, unsigned n_jit_options, int *options, \
      void **values, unsigned n_options))                                                                              \
  X (PLAIN, UNSAFE, cuLibraryUnload, 12000, cuLibraryUnload, (CUlibrary library))                                      \
  X (PLAIN, SAFE, cuLibraryGetKernel, 12000, cuLibraryGetKernel,                                                       \
     (CUkernel *kernel, CUlibrary library, const char *name))                                                          \
  X (PLAIN, SAFE, cuLibraryGetKernelCount, 12040, cuLibraryGetKernelCount, (unsigned *count, CUlibrary library))       \
  X (PLAIN, SAFE, cuLibraryEnumerateKernels, 12040, cuLibraryEnumerateKernels,                                         \
     (CUkernel *kernels, unsigned count, CUlibrary library))                                                           \
  X (PLAIN, SAFE, cuLibraryGetModule, 12000, cuLibraryGetModule, (CUmodule *module, CUlibrary library))                \
  X (PLAIN, SAFE, cuKernelGetFunction, 12000, cuKernelGetFunction, (CUfunction *function, CUkernel kernel))            \
  X (PLAIN, SAFE, cuKernelGetLibrary, 12050, cuKernelGetLibrary, (CUlibrary *library, CUkernel kernel))                \
  X (PLAIN, SAFE, cuKernelGetName, 12030, cuKernelGetName, (const char **name, CUkernel kernel))                       \
  X (PLAIN, SAFE, cuKernelGetParamInfo, 12040, cuKernelGetParamInfo,                                                   \
     (CUkernel kernel, size_t index, size_t *offset, size_t *size))                                                    \
  X (PLAIN, SAFE, cuKernelGetParamCount, 13020, cuKernelGetParamCount, (CUkernel kernel, size_t *count))               \
  X (PLAIN, SAFE, cuKernelGetAttribute, 12000, cuKernelGetAttribute,                                                   \
     (int *value, int attribute, CUkernel kernel, CUdevice device))                                                    \
  X (PLAIN, SAFE, cuKernelSetAttribute, 12000, cuKernelSetAttribute,                                                   \
     (int attribute, int value, CUkernel kernel, CUdevice device))                                                     \
  X (PLAIN, SAFE, cuFuncGetName, 12030, cuFuncGetName, (const char **name, CUfunction function))                       \
  X (PLAIN, SAFE, cuFuncGetModule, 11000, cuFuncGetModule, (CUmodule *module, CUfunction function))                    \
  X (PLAIN, SAFE, cuFuncGetParamInfo, 12040, cuFuncGetParamInfo,                                                       \
     (CUfunction function, size_t index, size_t *offset, size_t *size))                                                \
  X (PLAIN, SAFE, cuFuncGetParamCount, 13020, cuFuncGetParamCount, (CUfunction function, size_t *count))               \
  X (PLAIN, SAFE, cuFuncGetAttribute, 2020, cuFuncGetAttribute, (int *value, int attribute, CUfunction function))      \
  X (PLAIN, SAFE, cuFuncSetAttribute, 9000, cuFuncSetAttribute, (CUfunction function, int attribute, int value))       \
  X (PLAIN, SAFE, cuFuncSetCacheConfig, 3000, cuFuncSetCacheConfig, (CUfunction function, int config))                 \
  X (PLAIN, SAFE, cuFuncIsLoaded, 12040, cuFuncIsLoaded, (int *state, CUfunction function))                            \
  X (PLAIN, SAFE, cuFuncLoad, 12040, cuFuncLoad, (CUfunction function))                                                \
  X (PLAIN, SAFE, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, cuOccupancyMaxActiveBlocksPerMultiprocessor,      \
     (int *count, CUfunction function, int block_size, size_t shared_bytes))                                           \
  X (STREAM, SAFE, cuLaunchKernel, 4000, cuLaunchKernel,                                                               \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
      unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void **extra))                          \
  X (STREAM, SAFE, cuLaunchKernelEx, 11060, cuLaunchKernelEx,                                                          \
     (const HostLaunchConfig *config, CUfunction function, void **params, void **extra))                               \
  X (STREAM, SAFE, cuLaunchCooperativeKernel, 9000, cuLaunchCooperativeKernel,                                         \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
      unsigned block_z, unsigned shared_bytes, CUstream stream, void **params))

#define HOST_CORE_UNSUPPORTED_ENTRIES(X)                                                                               \
  X (cuGetExportTable, 3000, cuGetExportTable)                                                                         \
  X (cuLogsCurrent, 12090, cuLogsCurrent)                                                                              \
  X (cuLogsDumpToFile, 12090, cuLogsDumpToFile)                                                                        \
  X (cuLogsDumpToMemory, 12090, cuLogsDumpToMemory)                                                                    \
  X (cuMemAlloc, 2000, cuMemAlloc)                                                                                     \
  X (cuMemFree, 2000, cuMemFree)                                                                                       \
  X (cuMemGetInfo, 2000, cuMemGetInfo)                                                                                 \
  X (cuMemGetAddressRange, 2000, cuMemGetAddressRange)                                                                 \
  X (cuMemcpyHtoD, 2000, cuMemcpyHtoD)                                                                                 \
  X (cuMemcpyDtoH, 2000, cuMemcpyDtoH)                                                                                 \
  X (cuMemcpyDtoD, 2000, cuMemcpyDtoD)                                                                                 \
  X (cuMemcpyHtoDAsync, 2000, cuMemcpyHtoDAsync)                                                                       \
  X (cuMemcpyDtoHAsync, 2000, cuMemcpyDtoHAsync)                                                                       \
  X (cuMemcpyDtoDAsync, 3000, cuMemcpyDtoDAsync)                                                                       \
  X (cuMemsetD8, 2000, cuMemsetD8)                                                                                     \
  X (cuMemsetD16, 2000, cuMemsetD16)                                                                                   \
  X (cuMemsetD32, 2000, cuMemsetD32)                                                                                   \
  X (cuDeviceTotalMem, 2000, cuDeviceTotalMem)                                                                         \
  X (cuCtxCreate, 2000, cuCtxCreate)                                                                                   \
  X (cuModuleGetGlobal, 2000, cuModuleGetGlobal)                                                                       \
  X (cuModuleGetGlobal, 3020, cuModuleGetGlobal_v2)                                                                    \
  X (cuModuleGetTexRef, 2000, cuModuleGetTexRef)                                                                       \
  X (cuModuleGetSurfRef, 3000, cuModuleGetSurfRef)                                                                     \
  X (cuLibraryGetGlobal, 12000, cuLibraryGetGlobal)                                                                    \
  X (cuLibraryGetManaged, 12000, cuLibraryGetManaged)                                                                  \
  X (cuLinkCreate, 6050, cuLinkCreate_v2)                                                                              \
  X (cuArrayCreate, 3020, cuArrayCreate_v2)                                                                            \
  X (cuArray3DCreate, 3020, cuArray3DCreate_v2)                                                                        \
  X (cuTexObjectCreate, 5000, cuTexObjectCreate)                                                                       \
  X (cuSurfObjectCreate, 5000, cuSurfObjectCreate)                                                                     \
  X (cuTensorMapEncodeTiled, 12000, cuTensorMapEncodeTiled)                                                            \
  X (cuMemAdvise, 8000, cuMemAdvise)                                                                                   \
  X (cuMemAdvise, 12020, cuMemAdvise_v2)                                                                               \
  X (cuMemRangeGetAttribute, 8000, cuMemRangeGetAttribute)                                                             \
  X (cuMemPoolSetAccess, 11020, cuMemPoolSetAccess)                                                                    \
  X (cuMemPoolGetAccess, 11020, cuMemPoolGetAccess)                                                                    \
  X (cuMemExportToShareableHandle, 10020, cuMemExportToShareableHandle)                                                \
  X (cuMemImportFromShareableHandle, 10020, cuMemImportFromShareableHandle)                                            \
  X (cuIpcGetMemHandle, 4010, cuIpcGetMemHandle)                                                                       \
  X (cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2)                                                                 \
  X (cuIpcGetEventHandle, 4010, cuIpcGetEventHandle)                                                                   \
  X (cuImportExternalSemaphore, 10000, cuImportExternalSemaphore)                                                      \
  X (cuSignalExternalSemaphoresAsync, 10000, cuSignalExternalSemaphoresAsync)                                          \
  X (cuWaitExternalSemaphoresAsync, 10000, cuWaitExternalSemaphoresAsync)                                              \
  X (cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
  X (cuOccupancyMaxPotentialBlockSize, 6050, cuOccupancyMaxPotentialBlockSize)                                         \
  X (cuLaunchCooperativeKernelMultiDevice, 9000, cuLaunchCooperativeKernelMultiDevice)                                 \
  X (cuGreenCtxCreate, 12040, cuGreenCtxCreate)                                                                        \
  X (cuProfilerStart, 4000, cuProfilerStart)                                                                           \
  X (cuProfilerStop, 4000, cuProfilerStop)
/* clang-format on */
