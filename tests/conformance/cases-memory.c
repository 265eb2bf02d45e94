/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cases-memory.c: what the driver says about an address before it is freed, after, and when it lives again.
 * Codes and same/new/zero only: an address or an id is no fact.
 */
#include <sys/mman.h>

#include "runtime.h"

static const struct
{
  int attribute;
  const char *name;
} attributes[] = {
  { MCU_POINTER_CONTEXT, "context" },
  { MCU_POINTER_MEMORY_TYPE, "type" },
  { MCU_POINTER_DEVICE_POINTER, "device-pointer" },
  { MCU_POINTER_HOST_POINTER, "host-pointer" },
  { MCU_POINTER_BUFFER_ID, "id" },
  { MCU_POINTER_IS_MANAGED, "managed" },
  { MCU_POINTER_DEVICE_ORDINAL, "ordinal" },
  { 10, "legacy-ipc" },
  { MCU_POINTER_RANGE_START_ADDR, "start" },
  { MCU_POINTER_RANGE_SIZE, "size" },
  { MCU_POINTER_MAPPED, "mapped" },
  { MCU_POINTER_MEMPOOL_HANDLE, "pool" },
  { MCU_POINTER_MAPPING_SIZE, "mapping-size" },
  { MCU_POINTER_MAPPING_BASE_ADDR, "mapping-base" },
  { MCU_POINTER_MEMORY_BLOCK_ID, "block-id" },
};

#define N_ATTRIBUTES (sizeof attributes / sizeof attributes[0])

typedef struct
{
  uint64_t value[N_ATTRIBUTES];
  int result[N_ATTRIBUTES];
} Look;

/* One attribute as a word. `allocation` is the address that the allocation call gave. */
static const char *
word (int attribute, int result, uint64_t value, CUdeviceptr allocation, const Look *before, size_t i)
{
  if (result != 0)
    return conf_format ("E%d", result);
  switch (attribute)
    {
    case MCU_POINTER_BUFFER_ID:
    case MCU_POINTER_MEMORY_BLOCK_ID:
      return value == 0                                 ? "0"
             : before == NULL || before->result[i] != 0 ? "set"
             : before->value[i] == value                ? "same"
                                                        : "new";
    case MCU_POINTER_CONTEXT:
      return value == 0 ? "0" : value == (uint64_t)(uintptr_t)w.context ? "main" : "other";
    case MCU_POINTER_DEVICE_POINTER:
    case MCU_POINTER_HOST_POINTER:
    case MCU_POINTER_RANGE_START_ADDR:
    case MCU_POINTER_MAPPING_BASE_ADDR:
      return value == 0 ? "0" : value == allocation ? "allocation" : value < allocation ? "below" : "above";
    case MCU_POINTER_MEMPOOL_HANDLE:
      return value == 0 ? "0" : "set";
    default:
      return conf_format ("%lld", (long long)(int64_t)value);
    }
}

static void
look (const char *name, CUdeviceptr address, CUdeviceptr allocation, const Look *before, Look *now)
{
  char text[700] = "";
  size_t used = 0;
  memset (now, 0, sizeof *now);
  for (size_t i = 0; i < N_ATTRIBUTES; i++)
    {
      now->result[i] = cu.cuPointerGetAttribute (&now->value[i], attributes[i].attribute, address);
      /* 32-bit answers leave the upper half as it was: zero. */
      used += (size_t)snprintf (text + used, sizeof text - used, " %s=%s", attributes[i].name,
                                word (attributes[i].attribute, now->result[i], now->value[i], allocation, before, i));
    }
  CUdeviceptr base = 0;
  size_t size = 0;
  int range = CX (cuMemGetAddressRange, &base, &size, address);
  fact ("%s:%s range=%s%s", name, text, conf_r (range),
        range == 0 ? conf_format ("/%s/%zu", base == allocation ? "allocation" : "other", size) : "");
}

enum
{
  PLAIN,
  PLAIN_SMALL,
  POOL,
  OWN_POOL,
  MANAGED,
  PINNED,
  REGISTERED
};

static const char *const memory_names[]
    = { "cuMemAlloc", "cuMemAlloc-small", "cuMemAllocAsync", "cuMemAllocFromPoolAsync",
        "managed",    "pinned",           "registered" };

static void *pages;
static CUmemoryPool own_pool;

static int
make (int kind, size_t size, CUdeviceptr *address, CUstream stream)
{
  void *host = NULL;
  int result = CONF_ABSENT;
  McuMemPoolProps props = { .alloc_type = 1, .location = { 1, w.device } };
  switch (kind)
    {
    case PLAIN:
    case PLAIN_SMALL:
      return cu.cuMemAlloc (address, size);
    case POOL:
      result = cu.cuMemAllocAsync (address, size, stream);
      break;
    case OWN_POOL:
      result = own_pool != NULL ? 0 : CX (cuMemPoolCreate, &own_pool, &props);
      if (result == 0)
        result = CX (cuMemAllocFromPoolAsync, address, size, own_pool, stream);
      break;
    case MANAGED:
      return CX (cuMemAllocManaged, address, size, 1);
    case PINNED:
      result = cu.cuMemHostAlloc (&host, size, 0);
      *address = (CUdeviceptr)(uintptr_t)host;
      return result;
    case REGISTERED:
      if (pages == NULL)
        pages = mmap (NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      *address = (CUdeviceptr)(uintptr_t)pages;
      return CX (cuMemHostRegister, pages, size, 0);
    }
  cu.cuStreamSynchronize (stream);
  return result;
}

static int
give_back (int kind, CUdeviceptr address, CUstream stream)
{
  int result;
  switch (kind)
    {
    case POOL:
    case OWN_POOL:
      result = cu.cuMemFreeAsync (address, stream);
      cu.cuStreamSynchronize (stream);
      return result;
    case PINNED:
      return cu.cuMemFreeHost ((void *)(uintptr_t)address);
    case REGISTERED:
      return CX (cuMemHostUnregister, (void *)(uintptr_t)address);
    default:
      return cu.cuMemFree (address);
    }
}

static void
run_life (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUdeviceptr address = 0, again = 0;
  Look first, inside, gone, back;
  size_t size = test->arg == PLAIN_SMALL ? 256 : test->arg == REGISTERED ? 65536 : (size_t)4 << 20;
  int result = make (test->arg, size, &address, stream);
  fact_r ("alloc", result);
  if (result != 0)
    return;
  look ("live", address, address, NULL, &first);
  look ("inside", address + 100, address, &first, &inside);
  fact_r ("free", give_back (test->arg, address, stream));
  look ("freed", address, address, &first, &gone);
  result = make (test->arg, size, &again, stream);
  fact_r ("alloc", result);
  if (result != 0)
    return;
  fact ("same-address=%s", conf_yes (again == address));
  look ("again", again, again, &first, &back);
  fact_r ("free", give_back (test->arg, again, stream));
}

/* Are ids distinct among live allocations, and does the end of one belong to the next? */
static void
run_neighbours (const ConfCase *test)
{
  CUdeviceptr memory[3] = { 0, 0, 0 };
  uint64_t ids[3] = { 0, 0, 0 };
  size_t size = test->arg ? 256 : (size_t)4 << 20;
  for (int i = 0; i < 3; i++)
    {
      cu.cuMemAlloc (&memory[i], size);
      fact_r ("id", cu.cuPointerGetAttribute (&ids[i], MCU_POINTER_BUFFER_ID, memory[i]));
    }
  fact ("ascending=%s", conf_yes (ids[0] < ids[1] && ids[1] < ids[2]));
  fact_r ("free-middle", cu.cuMemFree (memory[1]));
  uint64_t id = 0;
  fact_r ("middle", cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, memory[1]));
  fact_r ("first", cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, memory[0]));
  fact ("same=%s", conf_yes (id == ids[0]));
  cu.cuMemFree (memory[0]);
  cu.cuMemFree (memory[2]);
}

static void
run_unknown (const ConfCase *test)
{
  static uint32_t words[16];
  Look now;
  CUdeviceptr address = test->arg == 0 ? 0 : test->arg == 1 ? 0x1000 : (CUdeviceptr)(uintptr_t)words;
  look ("unknown", address, address, NULL, &now);
  uint64_t id = 77, type = 77;
  int which[2] = { MCU_POINTER_BUFFER_ID, MCU_POINTER_MEMORY_TYPE };
  void *data[2] = { &id, &type };
  fact_r ("plural", cu.cuPointerGetAttributes (2, which, data, address));
  fact ("id=%s type=%s",
        id == 77  ? "untouched"
        : id == 0 ? "0"
                  : "set",
        (uint32_t)type == 77 ? "untouched" : conf_format ("%u", (unsigned)(uint32_t)type));
  fact_r ("cuMemFree", cu.cuMemFree (address));
  fact_r ("cuMemFreeHost", cu.cuMemFreeHost ((void *)(uintptr_t)address));
  fact_r ("cuMemHostUnregister", CX (cuMemHostUnregister, (void *)(uintptr_t)address));
}

static void
run_arguments (const ConfCase *test)
{
  uint64_t value = 0;
  int which[2] = { MCU_POINTER_BUFFER_ID, 999 };
  void *data[2] = { &value, &value };
  CUdeviceptr memory = 0;
  void *host = NULL;
  (void)test;
  fact_r ("attribute-0", cu.cuPointerGetAttribute (&value, 0, w.a));
  fact_r ("attribute-999", cu.cuPointerGetAttribute (&value, 999, w.a));
  fact_r ("null-data", cu.cuPointerGetAttribute (NULL, MCU_POINTER_BUFFER_ID, w.a));
  fact_r ("plural-bad", cu.cuPointerGetAttributes (2, which, data, w.a));
  fact_r ("plural-none", cu.cuPointerGetAttributes (0, which, data, w.a));
  fact_r ("alloc-0", cu.cuMemAlloc (&memory, 0));
  fact_r ("alloc-null", cu.cuMemAlloc (NULL, 64));
  fact_r ("alloc-huge", cu.cuMemAlloc (&memory, (size_t)1 << 50));
  fact_r ("host-alloc-0", cu.cuMemHostAlloc (&host, 0, 0));
  fact_r ("host-alloc-flags", cu.cuMemHostAlloc (&host, 64, 1 << 20));
  fact_r ("free-0", cu.cuMemFree (0));
  fact_r ("free-inside", cu.cuMemFree (w.a + 256));
  fact_r ("free-async-0", cu.cuMemFreeAsync (0, NULL));
  fact_r ("alloc-async-0", cu.cuMemAllocAsync (&memory, 0, NULL));
  fact_r ("copy-zero", cu.cuMemcpyDtoH (w.pinned, w.a, 0));
  fact_r ("fill-zero", cu.cuMemsetD8Async (w.a, 0, 0, NULL));
  fact_r ("fill-misaligned", cu.cuMemsetD32Async (w.a + 2, 0, 4, NULL));
}

/* A driver may follow these addresses, on the GPU or on the host. */
static void
run_bad_copy (const ConfCase *test)
{
  fact_r ("copy", cu.cuMemcpyHtoD ((CUdeviceptr)test->arg, w.pinned, 4));
  fact_r ("copy-async", cu.cuMemcpyHtoDAsync ((CUdeviceptr)test->arg, w.pinned, 4, NULL));
  fact_r ("sync", cu.cuCtxSynchronize ());
}

/* Reserved, mapped, remapped to other memory, unmapped. */
static void
run_virtual (const ConfCase *test)
{
  size_t size = (size_t)2 << 20;
  CUdeviceptr range = 0;
  unsigned long long one = 0, two = 0;
  ConfAllocationProp prop = { .type = 1, .location = { 1, 0 } };
  McuMemAccessDesc access = { { 1, 0 }, 3 };
  Look reserved, mapped, now;
  (void)test;
  fact_r ("granularity", CX (cuMemGetAllocationGranularity, &size, &prop, 0));
  fact ("is-2M=%s", conf_yes (size == (size_t)2 << 20));
  fact_r ("reserve", CX (cuMemAddressReserve, &range, 2 * size, 0, 0, 0));
  look ("reserved", range, range, NULL, &reserved);
  fact_r ("create", CX (cuMemCreate, &one, size, &prop, 0));
  fact_r ("create", CX (cuMemCreate, &two, size, &prop, 0));
  fact_r ("map", CX (cuMemMap, range, size, 0, one, 0));
  look ("mapped", range, range, &reserved, &mapped);
  fact_r ("access", CX (cuMemSetAccess, range, size, &access, 1));
  look ("accessible", range, range, &mapped, &now);
  look ("unmapped-half", range + size, range, &mapped, &now);
  conf_poke (range, 5);
  cu.cuCtxSynchronize (); /* a small copy may still be under way, and to unmap under it makes the context sick */
  fact_r ("map-again", CX (cuMemMap, range, size, 0, two, 0));
  fact_r ("unmap", CX (cuMemUnmap, range, size));
  look ("unmapped", range, range, &mapped, &now);
  fact_r ("map-other", CX (cuMemMap, range, size, 0, two, 0));
  fact_r ("access", CX (cuMemSetAccess, range, size, &access, 1));
  look ("remapped", range, range, &mapped, &now);
  fact_r ("unmap", CX (cuMemUnmap, range, size));
  fact_r ("map-first", CX (cuMemMap, range, size, 0, one, 0));
  look ("first-again", range, range, &mapped, &now);
  fact_r ("free-mapped", CX (cuMemAddressFree, range, 2 * size));
  fact_r ("release-mapped", CX (cuMemRelease, one));
  fact_r ("unmap", CX (cuMemUnmap, range, size));
  fact_r ("release", CX (cuMemRelease, two));
  fact_r ("address-free", CX (cuMemAddressFree, range, 2 * size));
  look ("gone", range, range, &mapped, &now);
}

/* Stream-ordered memory while its free is still to come. */
static void
run_pending_free (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUdeviceptr memory = 0;
  uint64_t id = 0;
  (void)test;
  fact_r ("alloc", cu.cuMemAllocAsync (&memory, 65536, stream));
  cu.cuStreamSynchronize (stream);
  ConfGate *gate = conf_gate (stream);
  fact_r ("free", cu.cuMemFreeAsync (memory, stream));
  fact_r ("id", cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, memory));
  fact_r ("free-again", cu.cuMemFreeAsync (memory, stream));
  conf_gate_open (gate);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact_r ("id", cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, memory));
  fact_r ("free-again", cu.cuMemFreeAsync (memory, stream));
  fact_r ("cuMemFree", cu.cuMemFree (memory));
}

/* When does device-to-host into ordinary memory run, and when is the source of host-to-device read? */
static void
run_pageable (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  conf_poke (w.a + 128, 21);
  w.pageable[0] = w.pinned[0] = 1;
  uint32_t *host = test->arg & 1 ? w.pinned : w.pageable;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  if (test->arg & 2)
    fact_r ("htod", cu.cuMemcpyHtoDAsync (w.a + 128, host, 4, stream));
  else
    fact_r ("dtoh", cu.cuMemcpyDtoHAsync (host, w.a + 128, 4, stream));
  conf_end_graph (stream, &graph);
  fact ("host=%u", host[0]);
  host[0] = 2;
  CUgraphExec exec = conf_make_exec (graph);
  host[0] = 3;
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("host=%u device=%u", host[0], conf_peek (w.a + 128));
}

void
conf_cases_memory (void)
{
  for (int kind = PLAIN; kind <= REGISTERED; kind++)
    conf_add (0, run_life, 0, kind, NULL, "memory/life/%s", memory_names[kind]);
  conf_add (0, run_virtual, 0, 0, NULL, "memory/life/virtual");
  conf_add (0, run_neighbours, 0, 0, NULL, "memory/neighbours/large");
  conf_add (0, run_neighbours, 0, 1, NULL, "memory/neighbours/small");
  conf_add (0, run_unknown, 0, 0, NULL, "memory/unknown/null");
  conf_add (0, run_unknown, 0, 1, NULL, "memory/unknown/4096");
  conf_add (0, run_unknown, 0, 2, NULL, "memory/unknown/ordinary-host");
  conf_add (0, run_arguments, 0, 0, NULL, "memory/arguments");
  conf_add (CONF_ISOLATED, run_bad_copy, 0, 0, NULL, "memory/copy-to/null");
  conf_add (CONF_ISOLATED, run_bad_copy, 0, 0x1000, NULL, "memory/copy-to/4096");
  conf_add (0, run_pending_free, 0, 0, NULL, "memory/pending-free");
  conf_add (0, run_pageable, 0, 0, NULL, "memory/copy/dtoh-pageable");
  conf_add (0, run_pageable, 0, 1, NULL, "memory/copy/dtoh-pinned");
  conf_add (0, run_pageable, 0, 2, NULL, "memory/copy/htod-pageable");
  conf_add (0, run_pageable, 0, 3, NULL, "memory/copy/htod-pinned");
}
