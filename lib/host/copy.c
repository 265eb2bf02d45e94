/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * copy.c: copies: checking, running, and putting them into streams. The entry points are in copy-api.c.
 */
#include "core-private.h"

#include <string.h>

/* One side of a copy. */
typedef struct
{
  uint64_t base;
  size_t x, y, z;
  size_t pitch, height;
} Side;

static Side
source (const McuMemcpy3D *copy)
{
  uint64_t base = copy->src_memory_type == MCU_MEMORYTYPE_HOST ? (uintptr_t) copy->src_host : copy->src_device;

  return (Side){ base, copy->src_x_bytes, copy->src_y, copy->src_z, copy->src_pitch, copy->src_height };
}

static Side
destination (const McuMemcpy3D *copy)
{
  uint64_t base = copy->dst_memory_type == MCU_MEMORYTYPE_HOST ? (uintptr_t) copy->dst_host : copy->dst_device;

  return (Side){ base, copy->dst_x_bytes, copy->dst_y, copy->dst_z, copy->dst_pitch, copy->dst_height };
}

static uint64_t
row (const Side *side, size_t y, size_t z)
{
  return side->base + side->x + (side->y + y) * side->pitch + (side->z + z) * side->pitch * side->height;
}

static bool
is_empty (const McuMemcpy3D *copy)
{
  return copy->width_bytes == 0 || copy->height == 0 || copy->depth == 0;
}

static McuResult
check_side (const McuMemcpy3D *copy, const Side *side, unsigned type)
{
  uint64_t first, last;

  if (side->base == 0)
    return MCU_ERROR_INVALID_VALUE;
  if ((copy->height > 1 || copy->depth > 1) && side->pitch < side->x + copy->width_bytes)
    return MCU_ERROR_INVALID_VALUE;
  if (copy->depth > 1 && side->height < side->y + copy->height)
    return MCU_ERROR_INVALID_VALUE;
  if (type == MCU_MEMORYTYPE_HOST)
    return MCU_SUCCESS;
  first = row (side, 0, 0);
  last = row (side, copy->height - 1, copy->depth - 1) + copy->width_bytes;
  return last > first && host_memory_covers (first, last - first) ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

/* What a unified address is: memory that no allocation holds is the host's own. */
static unsigned
resolve (uint64_t address)
{
  HostAllocation *allocation = host_memory_find_any (address);

  return allocation == NULL || allocation->object.kind == HOST_KIND_HOST_ALLOCATION ? MCU_MEMORYTYPE_HOST
                                                                                    : MCU_MEMORYTYPE_DEVICE;
}

McuResult
host_copy_check (McuMemcpy3D *copy)
{
  McuResult result;
  Side src, dst;

  if (copy->src_memory_type == MCU_MEMORYTYPE_ARRAY || copy->dst_memory_type == MCU_MEMORYTYPE_ARRAY)
    return host_unsupported ("arrays");
  if (copy->src_memory_type < MCU_MEMORYTYPE_HOST || copy->src_memory_type > MCU_MEMORYTYPE_UNIFIED
      || copy->dst_memory_type < MCU_MEMORYTYPE_HOST || copy->dst_memory_type > MCU_MEMORYTYPE_UNIFIED)
    return MCU_ERROR_INVALID_VALUE;
  if (copy->src_memory_type == MCU_MEMORYTYPE_UNIFIED)
    {
      copy->src_memory_type = resolve (copy->src_device);
      copy->src_host = copy->src_memory_type == MCU_MEMORYTYPE_HOST ? (void *) (uintptr_t) copy->src_device : NULL;
    }
  if (copy->dst_memory_type == MCU_MEMORYTYPE_UNIFIED)
    {
      copy->dst_memory_type = resolve (copy->dst_device);
      copy->dst_host = copy->dst_memory_type == MCU_MEMORYTYPE_HOST ? (void *) (uintptr_t) copy->dst_device : NULL;
    }
  if (is_empty (copy))
    return MCU_SUCCESS;
  src = source (copy);
  dst = destination (copy);
  result = check_side (copy, &src, copy->src_memory_type);
  return result == MCU_SUCCESS ? check_side (copy, &dst, copy->dst_memory_type) : result;
}

void
host_copy_run (const McuMemcpy3D *copy)
{
  Side src = source (copy);
  Side dst = destination (copy);

  if (is_empty (copy))
    return;
  for (size_t z = 0; z < copy->depth; z++)
    for (size_t y = 0; y < copy->height; y++)
      memmove ((void *) (uintptr_t) row (&dst, y, z), (const void *) (uintptr_t) row (&src, y, z), copy->width_bytes);
}

void
host_copy_init (McuMemcpy3D *copy, int dst_type, uint64_t dst, int src_type, uint64_t src, size_t size)
{
  memset (copy, 0, sizeof *copy);
  copy->dst_memory_type = (unsigned) dst_type;
  if (dst_type == MCU_MEMORYTYPE_HOST)
    copy->dst_host = (void *) (uintptr_t) dst;
  else
    copy->dst_device = dst;
  copy->src_memory_type = (unsigned) src_type;
  if (src_type == MCU_MEMORYTYPE_HOST)
    copy->src_host = (const void *) (uintptr_t) src;
  else
    copy->src_device = src;
  copy->width_bytes = size;
  copy->height = 1;
  copy->depth = 1;
}

/* A copy in a stream, with what was read ahead of it. */
typedef struct
{
  McuMemcpy3D copy;
  void *staging; /* nullable; owned */
} Work;

static McuResult
work_run (void *data)
{
  Work *work = data;

  host_copy_run (&work->copy);
  return MCU_SUCCESS;
}

static void
work_free (void *data)
{
  Work *work = data;

  g_free (work->staging);
  g_free (work);
}

/* Reads the source now, because the caller may change ordinary memory as soon as the call returns. False without
 * memory. */
static bool
stage (Work *work)
{
  McuMemcpy3D *copy = &work->copy;
  McuMemcpy3D ahead = *copy;
  size_t size;

  if (!g_size_checked_mul (&size, copy->width_bytes, copy->height) || !g_size_checked_mul (&size, size, copy->depth))
    return false;
  work->staging = g_try_malloc (size);
  if (work->staging == NULL)
    return false;
  ahead.dst_memory_type = MCU_MEMORYTYPE_HOST;
  ahead.dst_host = work->staging;
  ahead.dst_x_bytes = ahead.dst_y = ahead.dst_z = 0;
  ahead.dst_pitch = copy->width_bytes;
  ahead.dst_height = copy->height;
  host_copy_run (&ahead);
  copy->src_host = work->staging;
  copy->src_x_bytes = copy->src_y = copy->src_z = 0;
  copy->src_pitch = copy->width_bytes;
  copy->src_height = copy->height;
  return true;
}

McuResult
host_stream_wait (HostStream *stream, HostFence *fence)
{
  McuResult result;

  host_object_ref (stream);
  host_fence_ref (fence);
  host_fence_wait (fence);
  host_fence_unref (fence);
  result = stream->context->broken;
  host_object_unref (stream);
  return result;
}

/* The stream that a call works in; `synchronous` ones work in the default stream and cannot be captured. */
McuResult
host_stream_get_for (HostEntry entry, CUstream handle, bool synchronous, HostStream **stream)
{
  McuResult result = host_stream_get_for_work (handle, stream);

  if (result == MCU_SUCCESS && synchronous && (*stream)->capture != NULL)
    result = host_capture_check_stream (entry, *stream);
  return result;
}

McuResult
host_copy_submit (HostEntry entry, McuMemcpy3D *copy, CUstream handle, bool synchronous)
{
  HostStream *stream;
  Work *work;
  HostFence *fence;
  bool from_host, to_host;
  const McuMemcpy3D asked = *copy;
  McuResult result = host_stream_get_for (entry, handle, synchronous, &stream);

  if (result == MCU_SUCCESS)
    result = host_copy_check (copy);
  if (result != MCU_SUCCESS || is_empty (copy))
    return result;
  if (stream->capture != NULL)
    return host_capture_memcpy (stream, &asked); /* a unified address stays one in the node */

  from_host = copy->src_memory_type == MCU_MEMORYTYPE_HOST;
  to_host = copy->dst_memory_type == MCU_MEMORYTYPE_HOST;
  work = g_new0 (Work, 1);
  work->copy = *copy;
  if (from_host && !synchronous && !host_memory_is_pinned (copy->src_host) && !stage (work))
    {
      work_free (work);
      return MCU_ERROR_OUT_OF_MEMORY;
    }
  fence = host_stream_enqueue (stream, host_op_new (work_run, work, work_free));

  /* A copy within the device is never waited for; one into ordinary host memory always is. */
  if ((synchronous && (from_host || to_host)) || (to_host && !host_memory_is_pinned (copy->dst_host)))
    result = host_stream_wait (stream, fence);
  return result;
}
