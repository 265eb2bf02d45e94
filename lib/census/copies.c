/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies, fills, and nodes that allocate and free. */
#include "config.h"

#include "reading-private.h"

typedef enum
{
  SIDE_UNKNOWN,
  SIDE_HOST,
  SIDE_DEVICE
} Side;

/* One end of a copy as the driver tells it. */
typedef struct
{
  guint memory_type; /* MCU_MEMORYTYPE_* */
  guint64 host, device;
  gsize x_bytes, y, z, pitch, height;
} End;

/* Where an end lies, and on which side. `rows` and `slices` tell whether its pitch means anything. */
static gboolean
place_end (MemraCensus *census, const End *end, const MemraUser *user, gsize rows, gsize slices, MemraPlace *place,
           Side *side, GError **error)
{
  guint64 address = end->memory_type == MCU_MEMORYTYPE_HOST ? end->host : end->device;
  const MemraAllocation *allocation;

  if (end->memory_type == MCU_MEMORYTYPE_ARRAY)
    {
      place->kind = MEMRA_PLACE_ARRAY;
      *side = SIDE_DEVICE;
      return TRUE;
    }
  address += end->x_bytes + (guint64) end->y * end->pitch + (guint64) end->z * end->pitch * end->height;
  place->pitch = rows > 1 || slices > 1 ? end->pitch : 0;
  if (!_memra_reading_find (census, address, user, &place->buffer, &place->offset, error))
    return FALSE;

  if (place->buffer != MEMRA_NO_BUFFER)
    {
      allocation = &g_array_index (census->allocations, MemraAllocation, place->buffer);
      place->kind = MEMRA_PLACE_BUFFER;
      if (end->memory_type == MCU_MEMORYTYPE_UNIFIED)
        *side = allocation->host ? SIDE_HOST : SIDE_DEVICE;
      else
        *side = end->memory_type == MCU_MEMORYTYPE_HOST ? SIDE_HOST : SIDE_DEVICE;
    }
  else if (end->memory_type == MCU_MEMORYTYPE_HOST || end->memory_type == MCU_MEMORYTYPE_UNIFIED)
    {
      place->kind = MEMRA_PLACE_PAGEABLE;
      *side = SIDE_HOST;
    }
  else
    {
      place->kind = MEMRA_PLACE_UNKNOWN;
      *side = end->memory_type == MCU_MEMORYTYPE_DEVICE ? SIDE_DEVICE : SIDE_UNKNOWN;
    }
  return TRUE;
}

static MemraCopyDirection
direction_of (Side source, Side target)
{
  if (source == SIDE_UNKNOWN || target == SIDE_UNKNOWN)
    return MEMRA_COPY_UNKNOWN;
  if (source == SIDE_HOST)
    return target == SIDE_HOST ? MEMRA_COPY_HOST_TO_HOST : MEMRA_COPY_HOST_TO_DEVICE;
  return target == SIDE_HOST ? MEMRA_COPY_DEVICE_TO_HOST : MEMRA_COPY_DEVICE_TO_DEVICE;
}

gboolean
_memra_census_read_copy (MemraCensus *census, guint32 number, GError **error)
{
  MemraReading *reading = census->reading;
  McuMemcpy3D params = { 0 };
  MemraCopy copy = { .node = number };
  MemraUser user = { .user = MEMRA_USER_COPY_SOURCE, .index = census->copies->len };
  Side source = SIDE_UNKNOWN, target = SIDE_UNKNOWN;
  End from, to;
  McuResult result = reading->driver->cu.cuGraphMemcpyNodeGetParams (_memra_reading_handle (reading, number), &params);

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (reading->driver, error, result, "Could not get the parameters of copy node %u",
                                    number);

  from = (End){ params.src_memory_type, GPOINTER_TO_SIZE (params.src_host),
                params.src_device,      params.src_x_bytes,
                params.src_y,           params.src_z,
                params.src_pitch,       params.src_height };
  to = (End){ params.dst_memory_type, GPOINTER_TO_SIZE (params.dst_host),
              params.dst_device,      params.dst_x_bytes,
              params.dst_y,           params.dst_z,
              params.dst_pitch,       params.dst_height };
  copy.extent[0] = params.width_bytes;
  copy.extent[1] = params.height;
  copy.extent[2] = params.depth;
  copy.bytes = copy.extent[0] * copy.extent[1] * copy.extent[2];
  if (!place_end (census, &from, &user, params.height, params.depth, &copy.source, &source, error))
    return FALSE;
  user.user = MEMRA_USER_COPY_TARGET;
  if (!place_end (census, &to, &user, params.height, params.depth, &copy.target, &target, error))
    return FALSE;
  copy.direction = direction_of (source, target);

  if (census->pageable_copy == MEMRA_NO_RECORD
      && (copy.source.kind == MEMRA_PLACE_PAGEABLE || copy.target.kind == MEMRA_PLACE_PAGEABLE))
    census->pageable_copy = census->copies->len;
  _memra_census_node (census, number)->record = census->copies->len;
  g_array_append_val (census->copies, copy);
  return TRUE;
}

gboolean
_memra_census_read_fill (MemraCensus *census, guint32 number, GError **error)
{
  MemraReading *reading = census->reading;
  McuMemsetNodeParams params = { 0 };
  MemraCopy copy = { .node = number, .direction = MEMRA_COPY_FILL };
  MemraUser user = { .user = MEMRA_USER_COPY_TARGET, .index = census->copies->len };
  McuResult result = reading->driver->cu.cuGraphMemsetNodeGetParams (_memra_reading_handle (reading, number), &params);

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (reading->driver, error, result, "Could not get the parameters of fill node %u",
                                    number);

  copy.value = params.value;
  copy.element_size = params.element_size;
  copy.extent[0] = (guint64) params.width * params.element_size;
  copy.extent[1] = params.height;
  copy.extent[2] = 1;
  copy.bytes = copy.extent[0] * copy.extent[1];
  copy.target.pitch = params.height > 1 ? params.pitch : 0;
  if (!_memra_reading_find (census, params.dst, &user, &copy.target.buffer, &copy.target.offset, error))
    return FALSE;
  copy.target.kind = copy.target.buffer != MEMRA_NO_BUFFER ? MEMRA_PLACE_BUFFER : MEMRA_PLACE_UNKNOWN;
  _memra_census_node (census, number)->record = census->copies->len;
  g_array_append_val (census->copies, copy);
  return TRUE;
}

static gboolean
read_alloc (MemraCensus *census, guint32 number, MemraDetail *detail, GError **error)
{
  MemraReading *reading = census->reading;
  McuMemAllocNodeParams params = { 0 };
  McuResult result;

  if (reading->driver->cu.cuGraphMemAllocNodeGetParams == NULL)
    return TRUE;
  result = reading->driver->cu.cuGraphMemAllocNodeGetParams (_memra_reading_handle (reading, number), &params);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (reading->driver, error, result,
                                    "Could not get the parameters of allocation node %u", number);
  detail->bytes = params.byte_size;
  if (params.dptr != 0 && params.byte_size > 0)
    detail->buffer = _memra_reading_add_graph_memory (census, params.dptr, params.byte_size, number);
  return TRUE;
}

gboolean
_memra_census_read_memory_node (MemraCensus *census, guint32 number, GError **error)
{
  MemraReading *reading = census->reading;
  MemraDetail *detail = _memra_census_add_detail (census, number);
  MemraUser user = { .user = MEMRA_USER_NODE, .index = number };
  CUdeviceptr address = 0;
  guint64 offset;
  McuResult result;

  if (_memra_census_node (census, number)->type == MCU_NODE_MEM_ALLOC)
    return read_alloc (census, number, detail, error);
  if (reading->driver->cu.cuGraphMemFreeNodeGetParams == NULL)
    return TRUE;
  result = reading->driver->cu.cuGraphMemFreeNodeGetParams (_memra_reading_handle (reading, number), &address);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (reading->driver, error, result, "Could not get the parameters of free node %u",
                                    number);
  return _memra_reading_find (census, address, &user, &detail->buffer, &offset, error);
}
