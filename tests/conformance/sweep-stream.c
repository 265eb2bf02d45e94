/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sweep-stream.c: streams, events, contexts, and everything that meets the legacy stream. */
#include "sweep.h"

static void
callback (CUstream stream, int status, void *data)
{
  (void)stream;
  (void)status;
  (void)data;
}

#define ONE_CALL(name, expression)                                                                                     \
  SWEEP_CALL (name)                                                                                                    \
  {                                                                                                                    \
    (void)s;                                                                                                           \
    return (expression);                                                                                               \
  }

ONE_CALL (call_sync_capturing, cu.cuStreamSynchronize (s->capture))
ONE_CALL (call_query_capturing, cu.cuStreamQuery (s->capture))
ONE_CALL (call_sync_side, cu.cuStreamSynchronize (s->side))
ONE_CALL (call_query_side, cu.cuStreamQuery (s->side))
ONE_CALL (call_ctx_sync, cu.cuCtxSynchronize ())
ONE_CALL (call_event_query_ordinary, cu.cuEventQuery (s->ordinary))
ONE_CALL (call_event_sync_ordinary, cu.cuEventSynchronize (s->ordinary))
ONE_CALL (call_event_query_never, cu.cuEventQuery (s->never))
ONE_CALL (call_event_sync_never, cu.cuEventSynchronize (s->never))
ONE_CALL (call_event_query_captured, cu.cuEventQuery (s->captured))
ONE_CALL (call_event_sync_captured, cu.cuEventSynchronize (s->captured))
ONE_CALL (call_record_side, cu.cuEventRecord (s->never, s->side))
ONE_CALL (call_wait_side, cu.cuStreamWaitEvent (s->side, s->ordinary, 0))
ONE_CALL (call_kernel_side, conf_kernel (s->side))
ONE_CALL (call_host_side, cu.cuLaunchHostFunc (s->side, conf_count_bump, NULL))
ONE_CALL (call_callback_side, CX (cuStreamAddCallback, s->side, callback, NULL, 0))
ONE_CALL (call_stream_create, cu.cuStreamCreate (&s->made_stream, 0))
ONE_CALL (call_stream_create_priority, CX (cuStreamCreateWithPriority, &s->made_stream, 1, 0))
ONE_CALL (call_event_create, cu.cuEventCreate (&s->made_event, 0))
ONE_CALL (call_status_side, cu.cuStreamIsCapturing (s->side, (int[]){ 0 }))
ONE_CALL (call_flags, cu.cuStreamGetFlags (s->capture, (unsigned[]){ 0 }))
ONE_CALL (call_get_ctx, cu.cuStreamGetCtx (s->capture, (CUcontext[]){ NULL }))
ONE_CALL (call_priority, CX (cuStreamGetPriority, s->capture, (int[]){ 0 }))
ONE_CALL (call_id, CX (cuStreamGetId, s->capture, (unsigned long long[]){ 0 }))
ONE_CALL (call_exchange, cu.cuThreadExchangeStreamCaptureMode ((int[]){ MCU_CAPTURE_MODE_GLOBAL }))
ONE_CALL (call_ctx_current, cu.cuCtxGetCurrent ((CUcontext[]){ NULL }))
ONE_CALL (call_ctx_set, cu.cuCtxSetCurrent (w.context))
ONE_CALL (call_ctx_device, cu.cuCtxGetDevice ((CUdevice[]){ 0 }))
ONE_CALL (call_device_attribute, cu.cuDeviceGetAttribute ((int[]){ 0 }, 16, w.device))
ONE_CALL (call_device_name, cu.cuDeviceGetName ((char[64]){ 0 }, 64, w.device))
ONE_CALL (call_priority_range, CX (cuCtxGetStreamPriorityRange, (int[]){ 0 }, (int[]){ 0 }))
ONE_CALL (call_limit_get, CX (cuCtxGetLimit, (size_t[]){ 0 }, 0))
ONE_CALL (call_cache_config, CX (cuCtxSetCacheConfig, 0))
ONE_CALL (call_primary_state, CX (cuDevicePrimaryCtxGetState, w.device, (unsigned[]){ 0 }, (int[]){ 0 }))

SWEEP_CALL (call_elapsed)
{
  float milliseconds = 0;
  return cu.cuEventElapsedTime (&milliseconds, s->ordinary, s->ordinary);
}

SWEEP_CALL (call_stream_destroy)
{
  int result = cu.cuStreamDestroy (s->stream);
  if (result == 0)
    s->stream = NULL;
  return result;
}

SWEEP_CALL (call_event_destroy)
{
  int result = cu.cuEventDestroy (s->event);
  if (result == 0)
    s->event = NULL;
  return result;
}

SWEEP_CALL (call_push_pop)
{
  CUcontext popped = NULL;
  (void)s;
  int result = cu.cuCtxPushCurrent (w.context);
  return result != 0 ? result : cu.cuCtxPopCurrent (&popped);
}

SWEEP_CALL (call_limit_set)
{
  size_t value = 0;
  (void)s;
  int result = CX (cuCtxGetLimit, &value, 0);
  return result != 0 ? result : CX (cuCtxSetLimit, 0, value);
}

SWEEP_CALL (call_primary_retain)
{
  CUcontext context = NULL;
  (void)s;
  return cu.cuDevicePrimaryCtxRetain (&context, w.device);
}

SWEEP_CALL (call_primary_release)
{
  CUcontext context = NULL;
  (void)s;
  int result = cu.cuDevicePrimaryCtxRetain (&context, w.device);
  return result != 0 ? result : cu.cuDevicePrimaryCtxRelease (w.device);
}

const SweepRow sweep_stream_rows[] = {
  { "cuStreamSynchronize.capturing", call_sync_capturing, 0 },
  { "cuStreamQuery.capturing", call_query_capturing, 0 },
  { "cuStreamSynchronize.side", call_sync_side, 0 },
  { "cuStreamQuery.side", call_query_side, 0 },
  { "cuCtxSynchronize", call_ctx_sync, 0 },
  { "cuEventQuery.ordinary", call_event_query_ordinary, 0 },
  { "cuEventSynchronize.ordinary", call_event_sync_ordinary, 0 },
  { "cuEventQuery.never", call_event_query_never, 0 },
  { "cuEventSynchronize.never", call_event_sync_never, 0 },
  { "cuEventQuery.captured", call_event_query_captured, WANT_CAPTURED },
  { "cuEventSynchronize.captured", call_event_sync_captured, WANT_CAPTURED },
  { "cuEventElapsedTime.ordinary", call_elapsed, 0 },
  { "cuEventRecord.side", call_record_side, 0 },
  { "cuStreamWaitEvent.side", call_wait_side, 0 },
  { "cuLaunchKernel.side", call_kernel_side, 0 },
  { "cuLaunchHostFunc.side", call_host_side, 0 },
  { "cuStreamAddCallback.side", call_callback_side, 0 },
  { "cuStreamCreate", call_stream_create, 0 },
  { "cuStreamCreateWithPriority", call_stream_create_priority, 0 },
  { "cuStreamDestroy", call_stream_destroy, WANT_STREAM },
  { "cuEventCreate", call_event_create, 0 },
  { "cuEventDestroy", call_event_destroy, WANT_EVENT },
  { "cuStreamIsCapturing.side", call_status_side, 0 },
  { "cuStreamGetFlags", call_flags, 0 },
  { "cuStreamGetCtx", call_get_ctx, 0 },
  { "cuStreamGetPriority", call_priority, 0 },
  { "cuStreamGetId", call_id, 0 },
  { "cuThreadExchangeStreamCaptureMode", call_exchange, 0 },
  { "cuCtxGetCurrent", call_ctx_current, 0 },
  { "cuCtxSetCurrent", call_ctx_set, 0 },
  { "cuCtxPushPopCurrent", call_push_pop, 0 },
  { "cuCtxGetDevice", call_ctx_device, 0 },
  { "cuDeviceGetAttribute", call_device_attribute, 0 },
  { "cuDeviceGetName", call_device_name, 0 },
  { "cuCtxGetStreamPriorityRange", call_priority_range, 0 },
  { "cuCtxGetLimit", call_limit_get, 0 },
  { "cuCtxSetLimit", call_limit_set, 0 },
  { "cuCtxSetCacheConfig", call_cache_config, 0 },
  { "cuDevicePrimaryCtxRetain", call_primary_retain, 0 },
  { "cuDevicePrimaryCtxRetainRelease", call_primary_release, 0 },
  { "cuDevicePrimaryCtxGetState", call_primary_state, 0 },
  { NULL, NULL, 0 },
};

/* --- the legacy stream --- */

ONE_CALL (legacy_status, cu.cuStreamIsCapturing (NULL, (int[]){ 0 }))
ONE_CALL (legacy_status_handle, cu.cuStreamIsCapturing (MCU_STREAM_LEGACY, (int[]){ 0 }))
ONE_CALL (legacy_kernel, conf_kernel (NULL))
ONE_CALL (legacy_kernel_handle, conf_kernel (MCU_STREAM_LEGACY))
ONE_CALL (per_thread_kernel, conf_kernel (MCU_STREAM_PER_THREAD))
ONE_CALL (per_thread_sync, cu.cuStreamSynchronize (MCU_STREAM_PER_THREAD))
ONE_CALL (legacy_fill, conf_fill (NULL))
ONE_CALL (legacy_copy, cu.cuMemcpyHtoDAsync (w.a, w.pinned, 64, NULL))
ONE_CALL (legacy_host, cu.cuLaunchHostFunc (NULL, conf_count_bump, NULL))
ONE_CALL (legacy_record, cu.cuEventRecord (s->never, NULL))
ONE_CALL (legacy_wait_ordinary, cu.cuStreamWaitEvent (NULL, s->ordinary, 0))
ONE_CALL (legacy_wait_captured, cu.cuStreamWaitEvent (NULL, s->captured, 0))
ONE_CALL (legacy_sync, cu.cuStreamSynchronize (NULL))
ONE_CALL (legacy_query, cu.cuStreamQuery (NULL))
ONE_CALL (legacy_alloc, cu.cuMemAllocAsync (&s->made_memory, 4096, NULL))
ONE_CALL (legacy_launch, cu.cuGraphLaunch (s->exec, NULL))
ONE_CALL (legacy_upload, cu.cuGraphUpload (s->exec, NULL))
ONE_CALL (legacy_callback, CX (cuStreamAddCallback, NULL, callback, NULL, 0))
ONE_CALL (legacy_begin, cu.cuStreamBeginCapture (NULL, MCU_CAPTURE_MODE_RELAXED))
ONE_CALL (legacy_flags, cu.cuStreamGetFlags (NULL, (unsigned[]){ 0 }))

/* Work on a blocking stream that is not the captured one. */
ONE_CALL (blocking_kernel, conf_kernel (s->made_stream))

SWEEP_CALL (legacy_info)
{
  int status = 0;
  uint64_t id = 0;
  (void)s;
  return cu.cuStreamGetCaptureInfo_v2 (NULL, &status, &id, NULL, NULL, NULL);
}

SWEEP_CALL (legacy_free)
{
  int result = cu.cuMemFreeAsync (s->memory, NULL);
  if (result == 0)
    s->memory = 0;
  return result;
}

SWEEP_CALL (blocking_side_kernel)
{
  int result = cu.cuStreamCreate (&s->made_stream, MCU_STREAM_DEFAULT);
  return result != 0 ? result : blocking_kernel (s);
}

SWEEP_CALL (legacy_end)
{
  CUgraph graph = NULL;
  (void)s;
  return cu.cuStreamEndCapture (NULL, &graph);
}

const SweepRow sweep_legacy_rows[] = {
  { "cuStreamIsCapturing", legacy_status, 0 },
  { "cuStreamIsCapturing.handle", legacy_status_handle, 0 },
  { "cuStreamGetCaptureInfo", legacy_info, 0 },
  { "cuLaunchKernel", legacy_kernel, 0 },
  { "cuLaunchKernel.handle", legacy_kernel_handle, 0 },
  { "cuLaunchKernel.per-thread", per_thread_kernel, 0 },
  { "cuLaunchKernel.blocking-side", blocking_side_kernel, 0 },
  { "cuStreamSynchronize.per-thread", per_thread_sync, 0 },
  { "cuMemsetD8Async", legacy_fill, 0 },
  { "cuMemcpyHtoDAsync", legacy_copy, 0 },
  { "cuLaunchHostFunc", legacy_host, 0 },
  { "cuEventRecord", legacy_record, 0 },
  { "cuStreamWaitEvent.ordinary", legacy_wait_ordinary, 0 },
  { "cuStreamWaitEvent.captured", legacy_wait_captured, WANT_CAPTURED },
  { "cuStreamSynchronize", legacy_sync, 0 },
  { "cuStreamQuery", legacy_query, 0 },
  { "cuMemAllocAsync", legacy_alloc, 0 },
  { "cuMemFreeAsync", legacy_free, WANT_POOL_MEMORY },
  { "cuGraphLaunch", legacy_launch, WANT_EXEC },
  { "cuGraphUpload", legacy_upload, WANT_EXEC },
  { "cuStreamAddCallback", legacy_callback, 0 },
  { "cuStreamBeginCapture", legacy_begin, 0 },
  { "cuStreamEndCapture", legacy_end, 0 },
  { "cuStreamGetFlags", legacy_flags, 0 },
  { NULL, NULL, 0 },
};
