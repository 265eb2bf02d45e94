/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sweep-memory.c: memory, pools, mappings, copies and attributes. */
#include "sweep.h"

static uint32_t scratch[1024];

SWEEP_CALL (call_alloc)
{
  return cu.cuMemAlloc (&s->made_memory, 4096);
}

SWEEP_CALL (call_free)
{
  int result = cu.cuMemFree (s->memory);
  if (result == 0)
    s->memory = 0;
  return result;
}

SWEEP_CALL (call_alloc_managed)
{
  return CX (cuMemAllocManaged, &s->made_memory, 4096, 1);
}

SWEEP_CALL (call_host_alloc)
{
  return cu.cuMemHostAlloc (&s->host, 4096, 0);
}

SWEEP_CALL (call_free_host)
{
  int result = cu.cuMemFreeHost (s->host);
  if (result == 0)
    s->host = NULL;
  return result;
}

SWEEP_CALL (call_register)
{
  int result = CX (cuMemHostRegister, s->pages, 65536, 0);
  s->registered = result == 0;
  return result;
}

SWEEP_CALL (call_unregister)
{
  int result = CX (cuMemHostUnregister, s->pages);
  if (result == 0)
    s->registered = false;
  return result;
}

SWEEP_CALL (call_reserve)
{
  return CX (cuMemAddressReserve, &s->range, SWEEP_SIZE, 0, 0, 0);
}

SWEEP_CALL (call_address_free)
{
  int result = CX (cuMemAddressFree, s->range, SWEEP_SIZE);
  if (result == 0)
    s->range = 0;
  return result;
}

SWEEP_CALL (call_create)
{
  ConfAllocationProp prop = { .type = 1, .location = { 1, 0 } };
  return CX (cuMemCreate, &s->physical, SWEEP_SIZE, &prop, 0);
}

SWEEP_CALL (call_release)
{
  int result = CX (cuMemRelease, s->physical);
  if (result == 0)
    s->physical = 0;
  return result;
}

SWEEP_CALL (call_map)
{
  int result = CX (cuMemMap, s->range, SWEEP_SIZE, 0, s->physical, 0);
  s->mapped = result == 0;
  return result;
}

SWEEP_CALL (call_set_access)
{
  McuMemAccessDesc access = { { 1, 0 }, 3 };
  return CX (cuMemSetAccess, s->range, SWEEP_SIZE, &access, 1);
}

SWEEP_CALL (call_unmap)
{
  int result = CX (cuMemUnmap, s->range, SWEEP_SIZE);
  if (result == 0)
    s->mapped = false;
  return result;
}

SWEEP_CALL (call_pool_create)
{
  McuMemPoolProps props = { .alloc_type = 1, .location = { 1, 0 } };
  return CX (cuMemPoolCreate, &s->pool, &props);
}

SWEEP_CALL (call_pool_destroy)
{
  int result = CX (cuMemPoolDestroy, s->pool);
  if (result == 0)
    s->pool = NULL;
  return result;
}

SWEEP_CALL (call_pool_get)
{
  uint64_t value = 0;
  return CX (cuMemPoolGetAttribute, s->pool, 4, &value);
}

SWEEP_CALL (call_pool_set)
{
  uint64_t value = 0;
  return CX (cuMemPoolSetAttribute, s->pool, 4, &value);
}

SWEEP_CALL (call_pool_trim)
{
  return CX (cuMemPoolTrimTo, s->pool, 0);
}

SWEEP_CALL (call_default_pool)
{
  CUmemoryPool pool = NULL;
  (void)s;
  return CX (cuDeviceGetDefaultMemPool, &pool, w.device);
}

SWEEP_CALL (call_alloc_async_side)
{
  return cu.cuMemAllocAsync (&s->made_memory, 4096, s->side);
}

SWEEP_CALL (call_free_async_side)
{
  int result = cu.cuMemFreeAsync (s->memory, s->side);
  if (result == 0)
    s->memory = 0;
  return result;
}

SWEEP_CALL (call_get_info)
{
  size_t available = 0;
  size_t total = 0;
  (void)s;
  return CX (cuMemGetInfo, &available, &total);
}

SWEEP_CALL (call_address_range)
{
  CUdeviceptr base = 0;
  size_t size = 0;
  (void)s;
  return CX (cuMemGetAddressRange, &base, &size, w.a);
}

SWEEP_CALL (call_pointer)
{
  uint64_t id = 0;
  (void)s;
  return cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, w.a);
}

SWEEP_CALL (call_pointers)
{
  uint64_t id = 0;
  int attribute = MCU_POINTER_BUFFER_ID;
  void *data = &id;
  (void)s;
  return cu.cuPointerGetAttributes (1, &attribute, &data, w.a);
}

SWEEP_CALL (call_graph_memory_get)
{
  uint64_t value = 0;
  (void)s;
  return CX (cuDeviceGetGraphMemAttribute, w.device, 0, &value);
}

SWEEP_CALL (call_graph_memory_trim)
{
  (void)s;
  return CX (cuDeviceGraphMemTrim, w.device);
}

SWEEP_CALL (call_htod)
{
  (void)s;
  return cu.cuMemcpyHtoD (w.a, scratch, 64);
}

SWEEP_CALL (call_htod_pinned)
{
  (void)s;
  return cu.cuMemcpyHtoD (w.a, w.pinned, 64);
}

SWEEP_CALL (call_dtoh)
{
  (void)s;
  return cu.cuMemcpyDtoH (scratch, w.a, 64);
}

SWEEP_CALL (call_dtod)
{
  (void)s;
  return CX (cuMemcpyDtoD, w.a, w.b, 64);
}

SWEEP_CALL (call_memcpy)
{
  (void)s;
  return CX (cuMemcpy, w.a, w.b, 64);
}

SWEEP_CALL (call_set8)
{
  (void)s;
  return CX (cuMemsetD8, w.b, 0, 64);
}

SWEEP_CALL (call_htod_side)
{
  return cu.cuMemcpyHtoDAsync (w.a, w.pinned, 64, s->side);
}

SWEEP_CALL (call_htod_side_pageable)
{
  return cu.cuMemcpyHtoDAsync (w.a, scratch, 64, s->side);
}

SWEEP_CALL (call_dtoh_side)
{
  return cu.cuMemcpyDtoHAsync (w.pinned, w.a, 64, s->side);
}

SWEEP_CALL (call_dtoh_side_pageable)
{
  return cu.cuMemcpyDtoHAsync (scratch, w.a, 64, s->side);
}

SWEEP_CALL (call_fill_side)
{
  return conf_fill (s->side);
}

const SweepRow sweep_memory_rows[] = {
  { "cuMemAlloc", call_alloc, 0 },
  { "cuMemFree", call_free, WANT_MEMORY },
  { "cuMemAllocManaged", call_alloc_managed, 0 },
  { "cuMemHostAlloc", call_host_alloc, 0 },
  { "cuMemFreeHost", call_free_host, WANT_HOST },
  { "cuMemHostRegister", call_register, WANT_PAGES },
  { "cuMemHostUnregister", call_unregister, WANT_PAGES | WANT_REGISTERED },
  { "cuMemAddressReserve", call_reserve, 0 },
  { "cuMemAddressFree", call_address_free, WANT_RESERVED },
  { "cuMemCreate", call_create, 0 },
  { "cuMemRelease", call_release, WANT_PHYSICAL },
  { "cuMemMap", call_map, WANT_RESERVED | WANT_PHYSICAL },
  { "cuMemSetAccess", call_set_access, WANT_MAPPED },
  { "cuMemUnmap", call_unmap, WANT_MAPPED },
  { "cuMemPoolCreate", call_pool_create, 0 },
  { "cuMemPoolDestroy", call_pool_destroy, WANT_POOL },
  { "cuMemPoolGetAttribute", call_pool_get, WANT_POOL },
  { "cuMemPoolSetAttribute", call_pool_set, WANT_POOL },
  { "cuMemPoolTrimTo", call_pool_trim, WANT_POOL },
  { "cuDeviceGetDefaultMemPool", call_default_pool, 0 },
  { "cuMemAllocAsync.side", call_alloc_async_side, 0 },
  { "cuMemFreeAsync.side", call_free_async_side, WANT_POOL_MEMORY },
  { "cuMemFree.pool-memory", call_free, WANT_POOL_MEMORY },
  { "cuMemGetInfo", call_get_info, 0 },
  { "cuMemGetAddressRange", call_address_range, 0 },
  { "cuPointerGetAttribute", call_pointer, 0 },
  { "cuPointerGetAttributes", call_pointers, 0 },
  { "cuDeviceGetGraphMemAttribute", call_graph_memory_get, 0 },
  { "cuDeviceGraphMemTrim", call_graph_memory_trim, 0 },
  { "cuMemcpyHtoD", call_htod, 0 },
  { "cuMemcpyHtoD.pinned", call_htod_pinned, 0 },
  { "cuMemcpyDtoH", call_dtoh, 0 },
  { "cuMemcpyDtoD", call_dtod, 0 },
  { "cuMemcpy", call_memcpy, 0 },
  { "cuMemsetD8", call_set8, 0 },
  { "cuMemcpyHtoDAsync.side", call_htod_side, 0 },
  { "cuMemcpyHtoDAsync.side-pageable", call_htod_side_pageable, 0 },
  { "cuMemcpyDtoHAsync.side", call_dtoh_side, 0 },
  { "cuMemcpyDtoHAsync.side-pageable", call_dtoh_side_pageable, 0 },
  { "cuMemsetD8Async.side", call_fill_side, 0 },
  { NULL, NULL, 0 },
};
