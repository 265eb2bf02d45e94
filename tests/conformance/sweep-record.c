/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sweep-record.c: what a capturing stream records, refuses, and how bad arguments leave it. */
#include "sweep.h"

static uint32_t scratch[1024];

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

ONE_CALL (record_kernel, conf_kernel_add (s->capture))
ONE_CALL (record_cooperative, CX (cuLaunchCooperativeKernel, w.empty, 1, 1, 1, 64, 1, 1, 0, s->capture, NULL))
ONE_CALL (record_fill8, cu.cuMemsetD8Async (w.b, 0, 64, s->capture))
ONE_CALL (record_fill16, CX (cuMemsetD16Async, w.b, 0, 64, s->capture))
ONE_CALL (record_fill32, cu.cuMemsetD32Async (w.b, 0, 64, s->capture))
ONE_CALL (record_fill2d, CX (cuMemsetD2D8Async, w.b, 256, 0, 64, 4, s->capture))
ONE_CALL (record_fill_zero, cu.cuMemsetD8Async (w.b, 0, 0, s->capture))
ONE_CALL (record_fill_odd, cu.cuMemsetD32Async (w.b + 1, 0, 4, s->capture))
ONE_CALL (record_fill_null, cu.cuMemsetD8Async (0, 0, 64, s->capture))
ONE_CALL (record_fill_unknown, cu.cuMemsetD8Async (0x1000, 0, 64, s->capture))
ONE_CALL (record_fill_host, cu.cuMemsetD8Async ((CUdeviceptr)(uintptr_t)scratch, 0, 64, s->capture))
ONE_CALL (record_fill_pinned, cu.cuMemsetD8Async ((CUdeviceptr)(uintptr_t)w.pinned, 0, 64, s->capture))
ONE_CALL (record_fill_over, cu.cuMemsetD8Async (w.b, 0, (size_t)1 << 40, s->capture))
ONE_CALL (record_htod_pinned, cu.cuMemcpyHtoDAsync (w.a, w.pinned, 64, s->capture))
ONE_CALL (record_htod_pageable, cu.cuMemcpyHtoDAsync (w.a, scratch, 64, s->capture))
ONE_CALL (record_htod_large, cu.cuMemcpyHtoDAsync (w.a, scratch, 4096, s->capture))
ONE_CALL (record_dtoh_pinned, cu.cuMemcpyDtoHAsync (w.pinned, w.a, 64, s->capture))
ONE_CALL (record_dtoh_pageable, cu.cuMemcpyDtoHAsync (scratch, w.a, 64, s->capture))
ONE_CALL (record_dtod, cu.cuMemcpyDtoDAsync (w.a, w.b, 64, s->capture))
ONE_CALL (record_copy, CX (cuMemcpyAsync, w.a, w.b, 64, s->capture))
ONE_CALL (record_copy_hosts,
          CX (cuMemcpyAsync, (CUdeviceptr)(uintptr_t)scratch, (CUdeviceptr)(uintptr_t)(scratch + 64), 64, s->capture))
ONE_CALL (record_copy_zero, cu.cuMemcpyDtoDAsync (w.a, w.b, 0, s->capture))
ONE_CALL (record_copy_null, cu.cuMemcpyDtoDAsync (0, w.b, 64, s->capture))
ONE_CALL (record_copy_unknown, cu.cuMemcpyDtoDAsync (0x1000, w.b, 64, s->capture))
ONE_CALL (record_host, cu.cuLaunchHostFunc (s->capture, conf_count_bump, NULL))
ONE_CALL (record_host_null, cu.cuLaunchHostFunc (s->capture, NULL, NULL))
ONE_CALL (record_alloc, cu.cuMemAllocAsync ((CUdeviceptr[]){ 0 }, 4096, s->capture))
ONE_CALL (record_alloc_zero, cu.cuMemAllocAsync ((CUdeviceptr[]){ 0 }, 0, s->capture))
ONE_CALL (record_alloc_pool, CX (cuMemAllocFromPoolAsync, (CUdeviceptr[]){ 0 }, 4096, s->pool, s->capture))
ONE_CALL (record_free, cu.cuMemFreeAsync (s->memory, s->capture))
ONE_CALL (record_free_inside, cu.cuMemFreeAsync (s->memory + 8, s->capture))
ONE_CALL (record_free_null, cu.cuMemFreeAsync (0, s->capture))
ONE_CALL (record_free_sync, cu.cuMemFree (s->memory))
ONE_CALL (record_event, cu.cuEventRecord (s->never, s->capture))
ONE_CALL (record_event_external, CX (cuEventRecordWithFlags, s->never, s->capture, MCU_EVENT_RECORD_EXTERNAL))
ONE_CALL (record_wait_external, cu.cuStreamWaitEvent (s->capture, s->ordinary, MCU_EVENT_WAIT_EXTERNAL))
ONE_CALL (record_wait_never, cu.cuStreamWaitEvent (s->capture, s->never, 0))
ONE_CALL (record_wait_ordinary, cu.cuStreamWaitEvent (s->capture, s->ordinary, 0))
ONE_CALL (record_write_value, CX (cuStreamWriteValue32, s->capture, w.a, 0, 0))
ONE_CALL (record_wait_value, CX (cuStreamWaitValue32, s->capture, w.a, 0, 0))
ONE_CALL (record_launch, cu.cuGraphLaunch (s->exec, s->capture))
ONE_CALL (record_upload, cu.cuGraphUpload (s->exec, s->capture))
ONE_CALL (record_prefetch, CX (cuMemPrefetchAsync, s->memory, 4096, w.device, s->capture))
ONE_CALL (record_callback, CX (cuStreamAddCallback, s->capture, callback, NULL, 0))
ONE_CALL (record_attach, CX (cuStreamAttachMemAsync, s->capture, s->memory, 0, 4))
ONE_CALL (record_grid_zero, cu.cuLaunchKernel (w.empty, 0, 1, 1, 64, 1, 1, 0, s->capture, NULL, NULL))
ONE_CALL (record_block_zero, cu.cuLaunchKernel (w.empty, 1, 1, 1, 0, 1, 1, 0, s->capture, NULL, NULL))
ONE_CALL (record_block_huge, cu.cuLaunchKernel (w.empty, 1, 1, 1, 4096, 1, 1, 0, s->capture, NULL, NULL))
ONE_CALL (record_shared_huge, cu.cuLaunchKernel (w.empty, 1, 1, 1, 64, 1, 1, 1 << 20, s->capture, NULL, NULL))
ONE_CALL (record_shared_more, cu.cuLaunchKernel (w.empty, 1, 1, 1, 64, 1, 1, 64 << 10, s->capture, NULL, NULL))
ONE_CALL (record_no_function, cu.cuLaunchKernel (NULL, 1, 1, 1, 64, 1, 1, 0, s->capture, NULL, NULL))

SWEEP_CALL (record_kernel_ex)
{
  ConfLaunchConfig config = { 1, 1, 1, 64, 1, 1, 0, s->capture, NULL, 0 };
  return CX (cuLaunchKernelEx, &config, w.empty, NULL, NULL);
}

SWEEP_CALL (record_kernel_programmatic)
{
  ConfLaunchAttribute attribute;
  memset (&attribute, 0, sizeof attribute);
  attribute.id = CONF_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION;
  attribute.value.number = 1;
  ConfLaunchConfig config = { 1, 1, 1, 64, 1, 1, 0, s->capture, &attribute, 1 };
  return CX (cuLaunchKernelEx, &config, w.empty, NULL, NULL);
}

SWEEP_CALL (record_copy2d)
{
  ConfMemcpy2D copy;
  memset (&copy, 0, sizeof copy);
  copy.src_memory_type = copy.dst_memory_type = MCU_MEMORYTYPE_DEVICE;
  copy.src_device = w.b;
  copy.dst_device = w.a;
  copy.src_pitch = copy.dst_pitch = 256;
  copy.width_bytes = 64;
  copy.height = 4;
  return CX (cuMemcpy2DAsync, &copy, s->capture);
}

SWEEP_CALL (record_copy3d)
{
  McuMemcpy3D copy;
  memset (&copy, 0, sizeof copy);
  copy.src_memory_type = copy.dst_memory_type = MCU_MEMORYTYPE_DEVICE;
  copy.src_device = w.b;
  copy.dst_device = w.a;
  copy.src_pitch = copy.dst_pitch = 256;
  copy.src_height = copy.dst_height = 4;
  copy.width_bytes = 64;
  copy.height = 4;
  copy.depth = 2;
  return CX (cuMemcpy3DAsync, &copy, s->capture);
}

SWEEP_CALL (record_batch_copy)
{
  CUdeviceptr dst = w.a;
  CUdeviceptr src = w.b;
  size_t size = 64;
  size_t index = 0;
  size_t failed = 0;
  ConfCopyAttributes attributes;
  memset (&attributes, 0, sizeof attributes);
  attributes.src_access_order = 1;
  return CX (cuMemcpyBatchAsync, &dst, &src, &size, 1, &attributes, &index, 1, &failed, s->capture);
}

SWEEP_CALL (record_batch_op)
{
  ConfBatchMemOp operation;
  memset (&operation, 0, sizeof operation);
  operation.operation = 2;
  operation.address = w.a;
  return CX (cuStreamBatchMemOp, s->capture, 1, &operation, 0);
}

SWEEP_CALL (record_set_attribute)
{
  ConfAttributeValue value;
  memset (&value, 0, sizeof value);
  return CX (cuStreamSetAttribute, s->capture, CONF_ATTRIBUTE_PRIORITY, &value);
}

SWEEP_CALL (record_get_attribute)
{
  ConfAttributeValue value;
  memset (&value, 0, sizeof value);
  return CX (cuStreamGetAttribute, s->capture, CONF_ATTRIBUTE_PRIORITY, &value);
}

SWEEP_CALL (record_free_twice)
{
  int result = cu.cuMemFreeAsync (s->memory, s->capture);
  return result != 0 ? result : cu.cuMemFreeAsync (s->memory, s->capture);
}

const SweepRow sweep_record_rows[] = {
  { "kernel", record_kernel, 0 },
  { "kernel-ex", record_kernel_ex, 0 },
  { "kernel-programmatic", record_kernel_programmatic, 0 },
  { "kernel-cooperative", record_cooperative, 0 },
  { "kernel.grid-zero", record_grid_zero, 0 },
  { "kernel.block-zero", record_block_zero, 0 },
  { "kernel.block-4096", record_block_huge, 0 },
  { "kernel.shared-64K", record_shared_more, 0 },
  { "kernel.shared-1M", record_shared_huge, 0 },
  { "kernel.null-function", record_no_function, 0 },
  { "memset-8", record_fill8, 0 },
  { "memset-16", record_fill16, 0 },
  { "memset-32", record_fill32, 0 },
  { "memset-2d", record_fill2d, 0 },
  { "memset.zero-size", record_fill_zero, 0 },
  { "memset.misaligned", record_fill_odd, 0 },
  { "memset.null", record_fill_null, 0 },
  { "memset.unknown-address", record_fill_unknown, 0 },
  { "memset.ordinary-host", record_fill_host, 0 },
  { "memset.pinned", record_fill_pinned, 0 },
  { "memset.too-long", record_fill_over, 0 },
  { "htod-pinned", record_htod_pinned, 0 },
  { "htod-pageable", record_htod_pageable, 0 },
  { "htod-pageable-4K", record_htod_large, 0 },
  { "dtoh-pinned", record_dtoh_pinned, 0 },
  { "dtoh-pageable", record_dtoh_pageable, 0 },
  { "dtod", record_dtod, 0 },
  { "copy", record_copy, 0 },
  { "copy-2d", record_copy2d, 0 },
  { "copy-3d", record_copy3d, 0 },
  { "copy-batch", record_batch_copy, 0 },
  { "copy.host-to-host", record_copy_hosts, 0 },
  { "copy.zero-size", record_copy_zero, 0 },
  { "copy.null", record_copy_null, 0 },
  { "copy.unknown-address", record_copy_unknown, 0 },
  { "host-function", record_host, 0 },
  { "host-function.null", record_host_null, 0 },
  { "alloc", record_alloc, 0 },
  { "alloc.zero-size", record_alloc_zero, 0 },
  { "alloc-from-pool", record_alloc_pool, WANT_POOL },
  { "free.of-this-capture", record_free, WANT_GRAPH_MEMORY },
  { "free.twice", record_free_twice, WANT_GRAPH_MEMORY },
  { "free.inside", record_free_inside, WANT_GRAPH_MEMORY },
  { "free.pool-memory", record_free, WANT_POOL_MEMORY },
  { "free.cuMemAlloc-memory", record_free, WANT_MEMORY },
  { "free.of-another-graph", record_free, WANT_LAUNCHED },
  { "free.null", record_free_null, 0 },
  { "cuMemFree.of-this-capture", record_free_sync, WANT_GRAPH_MEMORY },
  { "event-record", record_event, 0 },
  { "event-record-external", record_event_external, 0 },
  { "event-wait-external", record_wait_external, 0 },
  { "event-wait.never-recorded", record_wait_never, 0 },
  { "event-wait.ordinary", record_wait_ordinary, 0 },
  { "write-value", record_write_value, 0 },
  { "wait-value", record_wait_value, 0 },
  { "batch-mem-op", record_batch_op, 0 },
  { "graph-launch", record_launch, WANT_EXEC },
  { "graph-upload", record_upload, WANT_EXEC },
  { "prefetch", record_prefetch, WANT_MANAGED },
  { "add-callback", record_callback, 0 },
  { "attach-memory", record_attach, WANT_MANAGED },
  { "set-attribute", record_set_attribute, 0 },
  { "get-attribute", record_get_attribute, 0 },
  { NULL, NULL, 0 },
};
