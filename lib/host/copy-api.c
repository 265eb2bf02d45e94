/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * copy-api.c: the entry points that copy.
 */
#include "core-private.h"

static McuResult
copy_1d (HostEntry entry, int dst_type, uint64_t dst, int src_type, uint64_t src, size_t size, CUstream stream,
         bool synchronous)
{
  McuResult result = host_enter (entry);
  McuMemcpy3D copy;

  if (result == MCU_SUCCESS)
    {
      host_copy_init (&copy, dst_type, dst, src_type, src, size);
      result = host_copy_submit (entry, &copy, stream, synchronous);
    }
  return host_leave (entry, result);
}

HOST_API McuResult
cuMemcpy (CUdeviceptr dst, CUdeviceptr src, size_t size)
{
  return copy_1d (HOST_ENTRY_cuMemcpy, MCU_MEMORYTYPE_UNIFIED, dst, MCU_MEMORYTYPE_UNIFIED, src, size, NULL, true);
}

HOST_API McuResult
cuMemcpyHtoD_v2 (CUdeviceptr dst, const void *src, size_t size)
{
  return copy_1d (HOST_ENTRY_cuMemcpyHtoD_v2, MCU_MEMORYTYPE_DEVICE, dst, MCU_MEMORYTYPE_HOST, (uintptr_t) src, size,
                  NULL, true);
}

HOST_API McuResult
cuMemcpyDtoH_v2 (void *dst, CUdeviceptr src, size_t size)
{
  return copy_1d (HOST_ENTRY_cuMemcpyDtoH_v2, MCU_MEMORYTYPE_HOST, (uintptr_t) dst, MCU_MEMORYTYPE_DEVICE, src, size,
                  NULL, true);
}

HOST_API McuResult
cuMemcpyDtoD_v2 (CUdeviceptr dst, CUdeviceptr src, size_t size)
{
  return copy_1d (HOST_ENTRY_cuMemcpyDtoD_v2, MCU_MEMORYTYPE_DEVICE, dst, MCU_MEMORYTYPE_DEVICE, src, size, NULL, true);
}

HOST_API McuResult
cuMemcpyAsync (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
  return copy_1d (HOST_ENTRY_cuMemcpyAsync, MCU_MEMORYTYPE_UNIFIED, dst, MCU_MEMORYTYPE_UNIFIED, src, size, stream,
                  false);
}

HOST_API McuResult
cuMemcpyHtoDAsync_v2 (CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
  return copy_1d (HOST_ENTRY_cuMemcpyHtoDAsync_v2, MCU_MEMORYTYPE_DEVICE, dst, MCU_MEMORYTYPE_HOST, (uintptr_t) src,
                  size, stream, false);
}

HOST_API McuResult
cuMemcpyDtoHAsync_v2 (void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
  return copy_1d (HOST_ENTRY_cuMemcpyDtoHAsync_v2, MCU_MEMORYTYPE_HOST, (uintptr_t) dst, MCU_MEMORYTYPE_DEVICE, src,
                  size, stream, false);
}

HOST_API McuResult
cuMemcpyDtoDAsync_v2 (CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
  return copy_1d (HOST_ENTRY_cuMemcpyDtoDAsync_v2, MCU_MEMORYTYPE_DEVICE, dst, MCU_MEMORYTYPE_DEVICE, src, size, stream,
                  false);
}

/* Every context sees all memory, so the contexts only have to exist. */
static McuResult
copy_peer (HostEntry entry, CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size,
           CUstream stream, bool synchronous)
{
  McuResult result = host_enter (entry);
  McuMemcpy3D copy;

  if (result == MCU_SUCCESS
      && (!host_object_is_live (dst_context, HOST_KIND_CONTEXT)
          || !host_object_is_live (src_context, HOST_KIND_CONTEXT)))
    result = MCU_ERROR_INVALID_CONTEXT;
  if (result == MCU_SUCCESS)
    {
      host_copy_init (&copy, MCU_MEMORYTYPE_DEVICE, dst, MCU_MEMORYTYPE_DEVICE, src, size);
      result = host_copy_submit (entry, &copy, stream, synchronous);
    }
  return host_leave (entry, result);
}

HOST_API McuResult
cuMemcpyPeer (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size)
{
  return copy_peer (HOST_ENTRY_cuMemcpyPeer, dst, dst_context, src, src_context, size, NULL, true);
}

HOST_API McuResult
cuMemcpyPeerAsync (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t size,
                   CUstream stream)
{
  return copy_peer (HOST_ENTRY_cuMemcpyPeerAsync, dst, dst_context, src, src_context, size, stream, false);
}

static McuResult
copy_2d (HostEntry entry, const HostMemcpy2D *from, CUstream stream, bool synchronous)
{
  McuResult result = host_enter (entry);

  if (result == MCU_SUCCESS)
    {
      if (from == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        {
          McuMemcpy3D copy = {
            .src_x_bytes = from->src_x_bytes,
            .src_y = from->src_y,
            .src_memory_type = from->src_memory_type,
            .src_host = from->src_host,
            .src_device = from->src_device,
            .src_array = from->src_array,
            .src_pitch = from->src_pitch != 0 ? from->src_pitch : from->src_x_bytes + from->width_bytes,
            .dst_x_bytes = from->dst_x_bytes,
            .dst_y = from->dst_y,
            .dst_memory_type = from->dst_memory_type,
            .dst_host = from->dst_host,
            .dst_device = from->dst_device,
            .dst_array = from->dst_array,
            .dst_pitch = from->dst_pitch != 0 ? from->dst_pitch : from->dst_x_bytes + from->width_bytes,
            .width_bytes = from->width_bytes,
            .height = from->height,
            .depth = 1,
          };

          result = host_copy_submit (entry, &copy, stream, synchronous);
        }
    }
  return host_leave (entry, result);
}

HOST_API McuResult
cuMemcpy2D_v2 (const HostMemcpy2D *copy)
{
  return copy_2d (HOST_ENTRY_cuMemcpy2D_v2, copy, NULL, true);
}

HOST_API McuResult
cuMemcpy2DUnaligned_v2 (const HostMemcpy2D *copy)
{
  return copy_2d (HOST_ENTRY_cuMemcpy2DUnaligned_v2, copy, NULL, true);
}

HOST_API McuResult
cuMemcpy2DAsync_v2 (const HostMemcpy2D *copy, CUstream stream)
{
  return copy_2d (HOST_ENTRY_cuMemcpy2DAsync_v2, copy, stream, false);
}

static McuResult
copy_3d (HostEntry entry, const McuMemcpy3D *from, CUstream stream, bool synchronous)
{
  McuResult result = host_enter (entry);

  if (result == MCU_SUCCESS)
    {
      if (from == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        {
          McuMemcpy3D copy = *from;

          result = host_copy_submit (entry, &copy, stream, synchronous);
        }
    }
  return host_leave (entry, result);
}

HOST_API McuResult
cuMemcpy3D_v2 (const McuMemcpy3D *copy)
{
  return copy_3d (HOST_ENTRY_cuMemcpy3D_v2, copy, NULL, true);
}

HOST_API McuResult
cuMemcpy3DAsync_v2 (const McuMemcpy3D *copy, CUstream stream)
{
  return copy_3d (HOST_ENTRY_cuMemcpy3DAsync_v2, copy, stream, false);
}
