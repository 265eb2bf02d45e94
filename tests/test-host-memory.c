/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host driver's memory, where the conformance table and the library do not look: shapes, pools, mappings, words. */
#include "config.h"

#include "host-api.h"

#include <string.h>

/* ---- Fills ---- */

static void
test_fills (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuMemsetD8_v2 (bench.memory, 0x11, 3));
  memra_test_assert_cu (cu->cuMemsetD16_v2 (bench.memory + 4, 0x2233, 2));
  memra_test_assert_cu (cu->cuMemsetD32_v2 (bench.memory + 8, 0x44556677, 2));
  memra_test_assert_cu (cu->cuCtxSynchronize ());
  g_assert_cmpmem (bench.bytes, 17, "\x11\x11\x11\0\x33\x22\x33\x22\x77\x66\x55\x44\x77\x66\x55\x44\0", 17);

  /* Two rows of two elements, 16 bytes apart. */
  memra_test_assert_cu (cu->cuMemsetD2D8_v2 (bench.memory + 64, 16, 0xa1, 2, 2));
  memra_test_assert_cu (cu->cuMemsetD2D16_v2 (bench.memory + 128, 16, 0xb2b3, 2, 2));
  memra_test_assert_cu (cu->cuMemsetD2D32_v2 (bench.memory + 192, 16, 0xc4c5c6c7, 2, 2));
  memra_test_assert_cu (cu->cuMemsetD2D16Async (bench.memory + 256, 16, 0x0102, 1, 3, bench.stream));
  memra_test_assert_cu (cu->cuMemsetD2D32Async (bench.memory + 320, 16, 0x01020304, 1, 2, bench.stream));
  memra_test_assert_cu (cu->cuCtxSynchronize ());
  g_assert_cmpmem (bench.bytes + 64, 3, "\xa1\xa1\0", 3);
  g_assert_cmpmem (bench.bytes + 80, 3, "\xa1\xa1\0", 3);
  g_assert_cmpmem (bench.bytes + 128, 5, "\xb3\xb2\xb3\xb2\0", 5);
  g_assert_cmpmem (bench.bytes + 144, 5, "\xb3\xb2\xb3\xb2\0", 5);
  g_assert_cmpmem (bench.bytes + 208, 9, "\xc7\xc6\xc5\xc4\xc7\xc6\xc5\xc4\0", 9);
  g_assert_cmpmem (bench.bytes + 288, 3, "\x02\x01\0", 3);
  g_assert_cmpmem (bench.bytes + 336, 5, "\x04\x03\x02\x01\0", 5);
  g_assert_cmpuint (bench.bytes[96] | bench.bytes[304], ==, 0);

  /* Elements that are not aligned, rows that overlap, and memory that is not there. */
  g_assert_cmpint (cu->cuMemsetD16_v2 (bench.memory + 1, 0, 1), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemsetD32_v2 (bench.memory + 2, 0, 1), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemsetD2D8_v2 (bench.memory, 1, 0, 2, 2), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemsetD8_v2 (bench.memory + HOST_BENCH_BYTES - 1, 0, 2), ==, MCU_ERROR_INVALID_VALUE);
}

/* ---- Copies ---- */

static void
test_copies_2d (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  guint8 source[32], back[32] = { 0 };
  HostMemcpy2D copy = { .src_memory_type = MCU_MEMORYTYPE_HOST,
                        .src_host = source,
                        .src_pitch = 8,
                        .dst_memory_type = MCU_MEMORYTYPE_DEVICE,
                        .dst_pitch = 16,
                        .dst_x_bytes = 4,
                        .dst_y = 1,
                        .width_bytes = 4,
                        .height = 3 };

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  for (guint i = 0; i < sizeof source; i++)
    source[i] = (guint8) (i + 1);
  copy.dst_device = bench.memory;
  memra_test_assert_cu (cu->cuMemcpy2D_v2 (&copy));
  for (guint y = 0; y < 3; y++)
    g_assert_cmpmem (bench.bytes + (y + 1) * 16 + 4, 4, source + y * 8, 4);
  g_assert_cmpuint (bench.bytes[16 + 3] | bench.bytes[16 + 8], ==, 0);

  /* Back, with pitches of 0, which are the width. */
  copy = (HostMemcpy2D){ .src_memory_type = MCU_MEMORYTYPE_DEVICE,
                         .src_device = bench.memory + 20,
                         .dst_memory_type = MCU_MEMORYTYPE_HOST,
                         .dst_host = back,
                         .width_bytes = 4,
                         .height = 1 };
  memra_test_assert_cu (cu->cuMemcpy2DUnaligned_v2 (&copy));
  g_assert_cmpmem (back, 4, source, 4);
  memset (back, 0, sizeof back);
  memra_test_assert_cu (cu->cuMemcpy2DAsync_v2 (&copy, bench.stream));
  host_bench_wait (&bench);
  g_assert_cmpmem (back, 5, "\1\2\3\4\0", 5);
  g_assert_cmpint (cu->cuMemcpy2D_v2 (NULL), ==, MCU_ERROR_INVALID_VALUE);
  copy.src_memory_type = MCU_MEMORYTYPE_ARRAY;
  g_assert_cmpint (cu->cuMemcpy2D_v2 (&copy), !=, MCU_SUCCESS);
}

/* Two slices of two rows of four bytes, out of and into something larger. */
static void
test_copies_3d (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  McuMemcpy3D copy = { .src_memory_type = MCU_MEMORYTYPE_DEVICE,
                       .src_pitch = 8,
                       .src_height = 4,
                       .src_x_bytes = 2,
                       .src_y = 1,
                       .src_z = 1,
                       .dst_memory_type = MCU_MEMORYTYPE_DEVICE,
                       .dst_pitch = 4,
                       .dst_height = 2,
                       .width_bytes = 4,
                       .height = 2,
                       .depth = 2 };

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  for (guint i = 0; i < 128; i++)
    bench.bytes[i] = (guint8) i;
  copy.src_device = bench.memory;
  copy.dst_device = bench.memory + 1024;
  memra_test_assert_cu (cu->cuMemcpy3D_v2 (&copy));
  memra_test_assert_cu (cu->cuCtxSynchronize ());
  for (guint z = 0; z < 2; z++)
    for (guint y = 0; y < 2; y++)
      g_assert_cmpmem (bench.bytes + 1024 + (z * 2 + y) * 4, 4, bench.bytes + (z + 1) * 32 + (y + 1) * 8 + 2, 4);
  copy.dst_device = bench.memory + 2048;
  memra_test_assert_cu (cu->cuMemcpy3DAsync_v2 (&copy, bench.stream));
  host_bench_wait (&bench);
  g_assert_cmpmem (bench.bytes + 2048, 16, bench.bytes + 1024, 16);
  g_assert_cmpint (cu->cuMemcpy3D_v2 (NULL), ==, MCU_ERROR_INVALID_VALUE);
}

/* Between two devices, by either of the two calls; a context that is not one is refused. */
static void
test_copies_between_devices (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUcontext second = NULL, popped = NULL;
  CUdeviceptr there = 0;
  int can = -1;

  if (!memra_test_need_host ())
    return;
  g_assert_cmpint (control->set_device_count (2), ==, 0);
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuCtxCreate_v2 (&second, 0, 1));
  memra_test_assert_cu (cu->cuMemAlloc_v2 (&there, 64));
  memra_test_assert_cu (cu->cuCtxPopCurrent_v2 (&popped));
  memset (bench.bytes, 7, 8);
  memra_test_assert_cu (cu->cuMemcpyPeer (there, second, bench.memory, bench.context, 8));
  memra_test_assert_cu (cu->cuCtxSynchronize ()); /* a copy within devices is not waited for */
  memra_test_assert_cu (cu->cuMemcpyPeerAsync (bench.memory + 64, bench.context, there, second, 8, bench.stream));
  host_bench_wait (&bench);
  g_assert_cmpmem (bench.bytes + 64, 9, "\7\7\7\7\7\7\7\7\0", 9);
  g_assert_cmpint (cu->cuMemcpyPeer (there, NULL, bench.memory, bench.context, 8), ==, MCU_ERROR_INVALID_CONTEXT);

  /* Direct access is what no device of it has. */
  memra_test_assert_cu (cu->cuDeviceCanAccessPeer (&can, 0, 1));
  g_assert_cmpint (can, ==, 0);
  g_assert_cmpint (cu->cuDeviceCanAccessPeer (&can, 0, 2), ==, MCU_ERROR_INVALID_DEVICE);
  g_assert_cmpint (cu->cuCtxEnablePeerAccess (second, 0), ==, 217);
  g_assert_cmpint (cu->cuCtxEnablePeerAccess (second, 1), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuCtxEnablePeerAccess (bench.context, 0), ==, MCU_ERROR_INVALID_CONTEXT);
  g_assert_cmpint (cu->cuCtxDisablePeerAccess (second), ==, 705);
  memra_test_assert_cu (cu->cuCtxDestroy_v2 (second));
  host_bench_clear (&bench);
  g_assert_cmpint (control->set_device_count (1), ==, 0);
}

/* ---- Allocations ---- */

static void
test_allocations (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUdeviceptr address = 0;
  gsize pitch = 0, available = 0, total = 0, before;
  void *pinned = NULL, *other = NULL;
  unsigned flags = 0, off = 0, on = 1;
  guint64 unsupported;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuMemGetInfo_v2 (&before, &total));
  memra_test_assert_cu (cu->cuMemAllocPitch_v2 (&address, &pitch, 100, 10, 4));
  g_assert_cmpuint (pitch, >=, 100);
  g_assert_cmpuint (address % pitch, ==, 0);
  memra_test_assert_cu (cu->cuMemsetD2D8_v2 (address, pitch, 1, 100, 10));
  memra_test_assert_cu (cu->cuMemGetInfo_v2 (&available, &total));
  g_assert_cmpuint (before - available, >=, 10 * pitch);
  memra_test_assert_cu (cu->cuMemFree_v2 (address));
  memra_test_assert_cu (cu->cuMemGetInfo_v2 (&available, &total));
  g_assert_cmpuint (available, ==, before);
  g_assert_cmpint (cu->cuMemAllocPitch_v2 (&address, &pitch, 100, 10, 3), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemAllocPitch_v2 (&address, &pitch, G_MAXSIZE / 2, 16, 4), ==, MCU_ERROR_OUT_OF_MEMORY);

  memra_test_assert_cu (cu->cuMemAllocHost_v2 (&pinned, 256));
  memra_test_assert_cu (cu->cuMemHostAlloc (&other, 256, 4));
  memra_test_assert_cu (cu->cuMemHostGetFlags (&flags, other));
  g_assert_cmpuint (flags, ==, 4 | 2);
  g_assert_cmpint (cu->cuMemHostGetFlags (&flags, &flags), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemHostGetFlags (NULL, other), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuMemFreeHost (pinned));
  memra_test_assert_cu (cu->cuMemFreeHost (other));

  /* Memory operations are asynchronous, and are not made otherwise for one address. */
  unsupported = control->count_unsupported ();
  memra_test_assert_cu (cu->cuPointerSetAttribute (&off, 6, bench.memory));
  g_assert_cmpint (cu->cuPointerSetAttribute (&on, 6, bench.memory), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpuint (control->count_unsupported (), ==, unsupported + 1);
  g_assert_cmpint (cu->cuPointerSetAttribute (&off, 7, bench.memory), ==, MCU_ERROR_INVALID_VALUE);
}

static void
test_pools (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  McuMemPoolProps props = { .alloc_type = 1, .location = { 1, 0 } };
  CUmemoryPool pool = NULL, answer = NULL;
  CUdeviceptr address = 0;
  guint64 used = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuMemPoolCreate (&pool, &props));
  memra_test_assert_cu (cu->cuDeviceSetMemPool (0, pool));
  memra_test_assert_cu (cu->cuDeviceGetMemPool (&answer, 0));
  g_assert_true (answer == pool);
  memra_test_assert_cu (cu->cuMemAllocAsync (&address, 1000, bench.stream));
  memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, 7, &used)); /* CU_MEMPOOL_ATTR_USED_MEM_CURRENT */
  g_assert_cmpuint (used, >=, 1000);
  memra_test_assert_cu (cu->cuMemFreeAsync (address, bench.stream));
  host_bench_wait (&bench);
  memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, 7, &used));
  g_assert_cmpuint (used, ==, 0);
  memra_test_assert_cu (cu->cuDeviceGetDefaultMemPool (&answer, 0));
  g_assert_true (answer != pool);
  memra_test_assert_cu (cu->cuDeviceSetMemPool (0, answer));
  g_assert_cmpint (cu->cuDeviceSetMemPool (0, NULL), !=, MCU_SUCCESS);
  g_assert_cmpint (cu->cuDeviceGetMemPool (&answer, 1), ==, MCU_ERROR_INVALID_DEVICE);
  memra_test_assert_cu (cu->cuMemPoolDestroy (pool));
}

/* What a pool is asked and told; and with poison what was freed is spoilt when the stream gets there, not before. */
static void
test_pool_attributes (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  McuMemPoolProps props = { .alloc_type = 1, .location = { 1, 0 } };
  CUmemoryPool pool = NULL;
  CUdeviceptr address = 0;
  guint64 value = 0;
  int flag = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuMemPoolCreate (&pool, &props));
  for (int attribute = 1; attribute <= 3; attribute++) /* reuse: after events, opportunistic, internal */
    {
      memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, attribute, &flag));
      g_assert_cmpint (flag, ==, 1);
      flag = 0;
      memra_test_assert_cu (cu->cuMemPoolSetAttribute (pool, attribute, &flag));
      flag = 1;
      memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, attribute, &flag));
      g_assert_cmpint (flag, ==, 0);
    }
  memra_test_assert_cu (cu->cuMemAllocFromPoolAsync (&address, 500, pool, bench.stream));
  memra_test_assert_cu (cu->cuMemsetD8Async (address, 1, 500, bench.stream));
  host_bench_wait (&bench);
  memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, 5, &value)); /* reserved now, and at most */
  g_assert_cmpuint (value, >=, 500);
  control->set_poison (1);
  memra_test_assert_cu (cu->cuMemFreeAsync (address, bench.stream));
  host_bench_wait (&bench);
  control->set_poison (0);
  g_assert_cmpuint (*(guint8 *) address, ==, 0xdb);
  memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, 6, &value));
  g_assert_cmpuint (value, >=, 500);
  value = 0;
  memra_test_assert_cu (cu->cuMemPoolSetAttribute (pool, 6, &value));
  memra_test_assert_cu (cu->cuMemPoolGetAttribute (pool, 8, &value));
  g_assert_cmpuint (value, ==, 0);
  value = 1;
  g_assert_cmpint (cu->cuMemPoolSetAttribute (pool, 8, &value), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemPoolGetAttribute (pool, 99, &value), ==, MCU_ERROR_INVALID_VALUE);
  props.location.type = 2;
  g_assert_cmpint (cu->cuMemPoolCreate (&pool, &props), ==, MCU_ERROR_NOT_SUPPORTED);
  memra_test_assert_cu (cu->cuMemPoolDestroy (pool));
}

/* With reuse an address comes back with a new identity; without, it does not come back. */
static void
test_reuse (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUdeviceptr addresses[3] = { 0 };
  guint64 ids[2] = { 0 };

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  for (guint i = 0; i < 2; i++)
    {
      memra_test_assert_cu (cu->cuMemAlloc_v2 (&addresses[i], 12345));
      memra_test_assert_cu (cu->cuPointerGetAttribute (&ids[i], MCU_POINTER_BUFFER_ID, addresses[i]));
      memra_test_assert_cu (cu->cuMemFree_v2 (addresses[i]));
    }
  g_assert_cmphex (addresses[0], ==, addresses[1]);
  g_assert_cmpuint (ids[0], !=, ids[1]);
  control->set_reuse_addresses (0);
  memra_test_assert_cu (cu->cuMemAlloc_v2 (&addresses[2], 12345));
  control->set_reuse_addresses (1);
  g_assert_cmphex (addresses[2], !=, addresses[1]);
  memra_test_assert_cu (cu->cuMemFree_v2 (addresses[2]));
}

/* Managed memory is where it is wanted; hints about any other are refused, and copies in batches are not there. */
static void
test_managed (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  const McuMemLocation device = { 1, 0 };
  CUdeviceptr managed = 0;
  guint64 unsupported;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuMemAllocManaged (&managed, 4096, 1));
  g_assert_cmpint (cu->cuMemAllocManaged (&managed, 4096, 3), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuMemPrefetchAsync (managed, 4096, 0, bench.stream));
  memra_test_assert_cu (cu->cuMemPrefetchAsync (managed, 4096, -1, bench.stream));
  memra_test_assert_cu (cu->cuMemPrefetchAsync_v2 (managed, 4096, device, 0, bench.stream));
  memra_test_assert_cu (cu->cuStreamAttachMemAsync (bench.stream, managed, 0, 4));
  g_assert_cmpint (cu->cuMemPrefetchAsync (managed, 4096, 1, bench.stream), ==, MCU_ERROR_INVALID_DEVICE);
  g_assert_cmpint (cu->cuMemPrefetchAsync (managed, 4097, 0, bench.stream), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemPrefetchAsync (bench.memory, 16, 0, bench.stream), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuMemPrefetchAsync_v2 (managed, 4096, device, 1, bench.stream), ==, MCU_ERROR_INVALID_VALUE);
  unsupported = memra_test_host_control ()->count_unsupported ();
  g_assert_cmpint (cu->cuMemcpyBatchAsync_v2 (NULL, NULL, NULL, 0, NULL, NULL, 0, bench.stream), ==,
                   MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpuint (memra_test_host_control ()->count_unsupported (), ==, unsupported + 1);
  memra_test_assert_cu (cu->cuMemFree_v2 (managed));
}

static void
test_host_memory (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  g_autofree guint8 *bytes = g_malloc0 (8192);
  CUdeviceptr address = 0;
  int value = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  g_assert_cmpint (cu->cuMemHostGetDevicePointer_v2 (&address, bytes, 0), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuMemHostRegister (bytes, 8192, 0));
  memra_test_assert_cu (cu->cuMemHostGetDevicePointer_v2 (&address, bytes, 0));
  g_assert_cmphex (address, ==, (guintptr) bytes);
  g_assert_cmpint (cu->cuMemHostRegister (bytes + 100, 10, 0), ==, MCU_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  memra_test_assert_cu (cu->cuMemsetD8_v2 (address, 5, 10)); /* of host memory: it is waited for */
  g_assert_cmpuint (bytes[9], ==, 5);
  memra_test_assert_cu (cu->cuMemHostUnregister (bytes));
  g_assert_cmpint (cu->cuMemHostUnregister (bytes), ==, MCU_ERROR_HOST_MEMORY_NOT_REGISTERED);

  /* Of a pointer: access for reading and writing, nothing that only a GPU has, and no tokens for others. */
  memra_test_assert_cu (cu->cuPointerGetAttribute (&value, 16, bench.memory));
  g_assert_cmpint (value, ==, 3);
  memra_test_assert_cu (cu->cuPointerGetAttribute (&value, 6, bench.memory));
  g_assert_cmpint (value & 1, ==, 0);
  g_assert_cmpint (cu->cuPointerGetAttribute (&address, 5, bench.memory), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (cu->cuPointerGetAttribute (&value, 16, (guintptr) bytes), ==, MCU_ERROR_INVALID_VALUE);
}

/* A handle that was released lives on in its mapping, and can be had again from it. */
static void
test_mappings (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  HostAllocationProp prop = { .type = 1, .location = { 1, 0 } }, answer = { 0 };
  McuMemAccessDesc access = { { 1, 0 }, 3 };
  McuMemLocation device = { 1, 0 };
  CUdeviceptr range = 0;
  unsigned long long handle = 0, again = 0, flags = 0;
  gsize size = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuMemGetAllocationGranularity (&size, &prop, 0));
  memra_test_assert_cu (cu->cuMemAddressReserve (&range, 2 * size, 0, 0, 0));
  memra_test_assert_cu (cu->cuMemCreate (&handle, size, &prop, 0));
  memra_test_assert_cu (cu->cuMemGetAllocationPropertiesFromHandle (&answer, handle));
  g_assert_cmpint (answer.type, ==, 1);
  g_assert_cmpint (answer.location.type, ==, 1);
  g_assert_cmpint (cu->cuMemGetAllocationPropertiesFromHandle (NULL, handle), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuMemMap (range, size, 0, handle, 0));
  memra_test_assert_cu (cu->cuMemGetAccess (&flags, &device, range));
  g_assert_cmpuint (flags, ==, 0);
  memra_test_assert_cu (cu->cuMemSetAccess (range, size, &access, 1));
  memra_test_assert_cu (cu->cuMemGetAccess (&flags, &device, range + 1));
  g_assert_cmpuint (flags, ==, 3);
  g_assert_cmpint (cu->cuMemGetAccess (&flags, &device, range + size), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuMemRelease (handle));
  memra_test_assert_cu (cu->cuMemsetD8_v2 (range, 1, 16));
  memra_test_assert_cu (cu->cuMemRetainAllocationHandle (&again, (void *) range));
  g_assert_cmpuint (again, ==, handle);
  memra_test_assert_cu (cu->cuMemMap (range + size, size, 0, again, 0));
  memra_test_assert_cu (cu->cuMemSetAccess (range + size, size, &access, 1));
  memra_test_assert_cu (cu->cuMemRelease (again));
  memra_test_assert_cu (cu->cuCtxSynchronize ());
  g_assert_cmpmem ((void *) (range + size), 16, (void *) range, 16); /* it is the same memory twice */
  g_assert_cmpint (cu->cuMemRetainAllocationHandle (&again, bench.bytes), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuMemUnmap (range, 2 * size));
  memra_test_assert_cu (cu->cuMemAddressFree (range, 2 * size));
  g_assert_cmpuint (memra_test_host_control ()->count_objects ("allocation"), ==, 1);
}

/* ---- Words that streams write and wait for ---- */

static void
test_words (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUstream other = NULL;
  const guint64 big = G_GUINT64_CONSTANT (0x123456789abcdef0);

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuStreamCreate (&other, MCU_STREAM_NON_BLOCKING));
  /* In the order of the words, not of the calls: the write waits for that of another stream. */
  memra_test_assert_cu (cu->cuStreamWaitValue64_v2 (bench.stream, bench.memory, big, 1));
  memra_test_assert_cu (cu->cuStreamWriteValue32_v2 (bench.stream, bench.memory + 64, 9, 0));
  g_assert_false (fixture_linger ((gint *) (bench.bytes + 64)));
  g_assert_cmpint (cu->cuStreamQuery (bench.stream), ==, MCU_ERROR_NOT_READY);
  memra_test_assert_cu (cu->cuStreamWriteValue64_v2 (other, bench.memory, big, 0));
  host_bench_wait (&bench);
  g_assert_cmpint (*(gint *) (bench.bytes + 64), ==, 9);
  g_assert_cmpmem (bench.bytes, 8, &big, 8);

  /* What is there already lets a stream pass at once: at least, any of these bits, not all of these bits. */
  memra_test_assert_cu (cu->cuStreamWaitValue64_v2 (bench.stream, bench.memory, big - 1, 0));
  memra_test_assert_cu (cu->cuStreamWaitValue64_v2 (bench.stream, bench.memory, 0x10, 2));
  memra_test_assert_cu (cu->cuStreamWaitValue64_v2 (bench.stream, bench.memory, 0, 3));
  memra_test_assert_cu (cu->cuStreamWaitValue32_v2 (bench.stream, bench.memory, (unsigned) big, 1 | 1u << 30));
  host_bench_wait (&bench);
  g_assert_cmpint (cu->cuStreamWaitValue64_v2 (bench.stream, bench.memory + 4, 0, 0), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuStreamWaitValue64_v2 (bench.stream, bench.memory, 0, 4), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuStreamWriteValue64_v2 (bench.stream, bench.memory, 0, 2), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuStreamBatchMemOp_v2 (bench.stream, 0, NULL, 0), ==, MCU_ERROR_INVALID_VALUE);
}

static void
add_tests (void)
{
  memra_test_add ("/host-memory/fills", test_fills);
  memra_test_add ("/host-memory/copies-2d", test_copies_2d);
  memra_test_add ("/host-memory/copies-3d", test_copies_3d);
  memra_test_add ("/host-memory/copies-between-devices", test_copies_between_devices);
  memra_test_add ("/host-memory/allocations", test_allocations);
  memra_test_add ("/host-memory/pools", test_pools);
  memra_test_add ("/host-memory/pool-attributes", test_pool_attributes);
  memra_test_add ("/host-memory/reuse", test_reuse);
  memra_test_add ("/host-memory/managed", test_managed);
  memra_test_add ("/host-memory/host-memory", test_host_memory);
  memra_test_add ("/host-memory/mappings", test_mappings);
  memra_test_add ("/host-memory/words", test_words);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
