/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * managed.c: hints about managed memory, which here is always where it is wanted, and copies in batches, which are not
 * implemented. A stream that captures refuses them all.
 */
#include "core-private.h"

/* Whether all the bytes are managed memory. */
static bool
is_managed (uint64_t address, size_t size)
{
  HostAllocation *allocation = host_memory_find (address);

  return allocation != NULL && allocation->type == HOST_MEMORY_MANAGED && size > 0
         && host_memory_covers (address, size);
}

/* Nothing moves. */
static McuResult
prefetch (HostEntry entry, uint64_t address, size_t size, CUstream handle)
{
  HostStream *stream;
  McuResult result = host_stream_get_for (entry, handle, true, &stream);

  if (result != MCU_SUCCESS)
    return result;
  return is_managed (address, size) ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

HOST_API McuResult
cuMemPrefetchAsync (CUdeviceptr address, size_t size, CUdevice device, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPrefetchAsync);

  if (result == MCU_SUCCESS && (device < -1 || device >= host_settings.n_devices)) /* -1: the host */
    result = MCU_ERROR_INVALID_DEVICE;
  if (result == MCU_SUCCESS)
    result = prefetch (HOST_ENTRY_cuMemPrefetchAsync, address, size, stream);
  return host_leave (HOST_ENTRY_cuMemPrefetchAsync, result);
}

HOST_API McuResult
cuMemPrefetchAsync_v2 (CUdeviceptr address, size_t size, McuMemLocation location, unsigned flags, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemPrefetchAsync_v2);

  (void) location;
  if (result == MCU_SUCCESS)
    {
      if (flags != 0)
        result = MCU_ERROR_INVALID_VALUE;
      else
        result = prefetch (HOST_ENTRY_cuMemPrefetchAsync_v2, address, size, stream);
    }
  return host_leave (HOST_ENTRY_cuMemPrefetchAsync_v2, result);
}

HOST_API McuResult
cuStreamAttachMemAsync (CUstream handle, CUdeviceptr address, size_t length, unsigned flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamAttachMemAsync);

  (void) flags;
  if (result == MCU_SUCCESS)
    result = prefetch (HOST_ENTRY_cuStreamAttachMemAsync, address, MAX (length, 1), handle);
  return host_leave (HOST_ENTRY_cuStreamAttachMemAsync, result);
}

/* Refused while the stream captures, but without harm to the capture. */
static McuResult
copy_batch (CUstream handle)
{
  HostStream *stream;
  McuResult result = host_stream_get (handle, &stream);

  if (result != MCU_SUCCESS)
    return result;
  return stream->capture != NULL ? MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED : host_unsupported ("copies in batches");
}

HOST_API McuResult
cuMemcpyBatchAsync (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes,
                    size_t *indices, size_t n_attributes, size_t *failed, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemcpyBatchAsync);

  (void) dsts, (void) srcs, (void) sizes, (void) count, (void) attributes, (void) indices, (void) n_attributes;
  (void) failed;
  if (result == MCU_SUCCESS)
    result = copy_batch (stream);
  return host_leave (HOST_ENTRY_cuMemcpyBatchAsync, result);
}

HOST_API McuResult
cuMemcpyBatchAsync_v2 (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, void *attributes,
                       size_t *indices, size_t n_attributes, CUstream stream)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemcpyBatchAsync_v2);

  (void) dsts, (void) srcs, (void) sizes, (void) count, (void) attributes, (void) indices, (void) n_attributes;
  if (result == MCU_SUCCESS)
    result = copy_batch (stream);
  return host_leave (HOST_ENTRY_cuMemcpyBatchAsync_v2, result);
}
