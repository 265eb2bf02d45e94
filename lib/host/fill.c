/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fill.c: fills: checking, running, and the entry points.
 */
#include "core-private.h"

#include <string.h>

static bool
is_empty (const McuMemsetNodeParams *fill)
{
  return fill->width == 0 || fill->height == 0;
}

/* Checks all but the address; the bytes from the first to the last. */
static McuResult
check_shape (const McuMemsetNodeParams *fill, size_t *size)
{
  size_t row;

  *size = 0;
  if (fill->element_size != 1 && fill->element_size != 2 && fill->element_size != 4)
    return MCU_ERROR_INVALID_VALUE;
  if (is_empty (fill))
    return MCU_SUCCESS;
  if (fill->dst % fill->element_size != 0 || !g_size_checked_mul (&row, fill->width, fill->element_size)
      || (fill->height > 1 && (fill->pitch < row || fill->pitch % fill->element_size != 0))
      || !g_size_checked_mul (size, fill->pitch, fill->height - 1) || !g_size_checked_add (size, *size, row))
    return MCU_ERROR_INVALID_VALUE;
  return MCU_SUCCESS;
}

McuResult
host_fill_check_shape (const McuMemsetNodeParams *fill)
{
  size_t size;

  return check_shape (fill, &size);
}

McuResult
host_fill_check (const McuMemsetNodeParams *fill)
{
  size_t size;
  McuResult result = check_shape (fill, &size);

  if (result != MCU_SUCCESS || size == 0)
    return result;
  return host_memory_covers (fill->dst, size) ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static void
fill_row (char *row, size_t count, unsigned size, unsigned value)
{
  if (size == 1)
    memset (row, (int) (value & 0xff), count);
  else
    for (size_t i = 0; i < count; i++)
      memcpy (row + i * size, &value, size); /* the low bytes come first on every host this runs on */
}

void
host_fill_run (const McuMemsetNodeParams *fill)
{
  if (is_empty (fill))
    return;
  for (size_t y = 0; y < fill->height; y++)
    fill_row ((char *) (uintptr_t) fill->dst + y * fill->pitch, fill->width, fill->element_size, fill->value);
}

static McuResult
work_run (void *data)
{
  host_fill_run (data);
  return MCU_SUCCESS;
}

/* The forms without a stream work in the default one, and do not wait for device memory either. */
static McuResult
submit (HostEntry entry, const McuMemsetNodeParams *fill, CUstream handle, bool synchronous)
{
  HostStream *stream;
  McuResult result = host_stream_get_for (entry, handle, synchronous, &stream);
  McuMemsetNodeParams *work;
  HostFence *fence;

  if (result == MCU_SUCCESS)
    result = stream->capture != NULL ? host_fill_check_shape (fill) : host_fill_check (fill);
  if (result != MCU_SUCCESS || is_empty (fill))
    return result;
  if (stream->capture != NULL)
    return host_capture_memset (stream, fill);
  work = g_new (McuMemsetNodeParams, 1);
  *work = *fill;
  fence = host_stream_enqueue (stream, host_op_new (work_run, work, g_free));
  if (synchronous && host_memory_is_pinned ((void *) (uintptr_t) fill->dst))
    result = host_stream_wait (stream, fence);
  return result;
}

static McuResult
enter_and_submit (HostEntry entry, CUdeviceptr dst, size_t pitch, unsigned value, unsigned element_size, size_t width,
                  size_t height, CUstream stream, bool synchronous)
{
  McuMemsetNodeParams fill = { dst, pitch, value, element_size, width, height };
  McuResult result = host_enter (entry);

  if (result == MCU_SUCCESS)
    result = submit (entry, &fill, stream, synchronous);
  return host_leave (entry, result);
}

HOST_API McuResult
cuMemsetD8_v2 (CUdeviceptr dst, unsigned char value, size_t count)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD8_v2, dst, 0, value, 1, count, 1, NULL, true);
}

HOST_API McuResult
cuMemsetD16_v2 (CUdeviceptr dst, unsigned short value, size_t count)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD16_v2, dst, 0, value, 2, count, 1, NULL, true);
}

HOST_API McuResult
cuMemsetD32_v2 (CUdeviceptr dst, unsigned value, size_t count)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD32_v2, dst, 0, value, 4, count, 1, NULL, true);
}

HOST_API McuResult
cuMemsetD2D8_v2 (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD2D8_v2, dst, pitch, value, 1, width, height, NULL, true);
}

HOST_API McuResult
cuMemsetD2D16_v2 (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD2D16_v2, dst, pitch, value, 2, width, height, NULL, true);
}

HOST_API McuResult
cuMemsetD2D32_v2 (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD2D32_v2, dst, pitch, value, 4, width, height, NULL, true);
}

HOST_API McuResult
cuMemsetD8Async (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD8Async, dst, 0, value, 1, count, 1, stream, false);
}

HOST_API McuResult
cuMemsetD16Async (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD16Async, dst, 0, value, 2, count, 1, stream, false);
}

HOST_API McuResult
cuMemsetD32Async (CUdeviceptr dst, unsigned value, size_t count, CUstream stream)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD32Async, dst, 0, value, 4, count, 1, stream, false);
}

HOST_API McuResult
cuMemsetD2D8Async (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD2D8Async, dst, pitch, value, 1, width, height, stream, false);
}

HOST_API McuResult
cuMemsetD2D16Async (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD2D16Async, dst, pitch, value, 2, width, height, stream, false);
}

HOST_API McuResult
cuMemsetD2D32Async (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream)
{
  return enter_and_submit (HOST_ENTRY_cuMemsetD2D32Async, dst, pitch, value, 4, width, height, stream, false);
}
