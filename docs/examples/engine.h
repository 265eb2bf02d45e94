/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stand-in for somebody else's engine: it has a context, a stream and memory of its own, issues its work with plain
 * calls of the driver API, and knows nothing of memra-capture. A real one includes cuda.h and links libcuda; this one
 * looks its calls up, so that the examples can be built where there is no CUDA toolkit.
 */
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct CUctx_st;
struct CUstream_st;
struct CUgraph_st;

/* clang-format takes these types for products. */
/* clang-format off */
#define ENGINE_CALLS(X)                                                                                                \
  X (cuInit, (unsigned flags))                                                                                         \
  X (cuDeviceGet, (int *device, int ordinal))                                                                          \
  X (cuDevicePrimaryCtxRetain, (struct CUctx_st **context, int device))                                                \
  X (cuDevicePrimaryCtxRelease_v2, (int device))                                                                       \
  X (cuCtxSetCurrent, (struct CUctx_st *context))                                                                      \
  X (cuStreamCreate, (struct CUstream_st **stream, unsigned flags))                                                    \
  X (cuStreamDestroy_v2, (struct CUstream_st *stream))                                                                 \
  X (cuStreamSynchronize, (struct CUstream_st *stream))                                                                \
  X (cuStreamBeginCapture_v2, (struct CUstream_st *stream, int mode))                                                  \
  X (cuStreamEndCapture, (struct CUstream_st *stream, struct CUgraph_st **graph))                                      \
  X (cuGraphDestroy, (struct CUgraph_st *graph))                                                                       \
  X (cuMemAlloc_v2, (unsigned long long *address, size_t size))                                                        \
  X (cuMemFree_v2, (unsigned long long address))                                                                       \
  X (cuMemsetD32Async, (unsigned long long to, unsigned value, size_t count, struct CUstream_st *stream))              \
  X (cuMemcpyDtoDAsync_v2, (unsigned long long to, unsigned long long from, size_t size, struct CUstream_st *stream))  \
  X (cuMemcpyDtoHAsync_v2, (void *to, unsigned long long from, size_t size, struct CUstream_st *stream))               \
  X (cuMemcpyDtoH_v2, (void *to, unsigned long long from, size_t size))
/* clang-format on */

typedef struct
{
#define ENGINE_CALL(name, params) int (*name) params;
  ENGINE_CALLS (ENGINE_CALL)
#undef ENGINE_CALL
  int device;
  struct CUctx_st *context;
  struct CUstream_st *stream;
} Engine;

/* 0, or the number of a CUDA error. */
static inline int
engine_open (Engine *engine, const char *driver)
{
  void *library = dlopen (driver, RTLD_NOW | RTLD_LOCAL);
  void *call;
  int result;

  memset (engine, 0, sizeof *engine);
#define ENGINE_CALL(name, params)                                                                                      \
  call = library != NULL ? dlsym (library, #name) : NULL;                                                              \
  if (call == NULL)                                                                                                    \
    return 500;                                                                                                        \
  memcpy (&engine->name, &call, sizeof call);
  ENGINE_CALLS (ENGINE_CALL)
#undef ENGINE_CALL

  result = engine->cuInit (0);
  if (result == 0)
    result = engine->cuDeviceGet (&engine->device, 0);
  if (result == 0)
    result = engine->cuDevicePrimaryCtxRetain (&engine->context, engine->device);
  if (result == 0)
    result = engine->cuCtxSetCurrent (engine->context);
  if (result == 0)
    result = engine->cuStreamCreate (&engine->stream, 1); /* CU_STREAM_NON_BLOCKING */
  return result;
}

static inline void
engine_close (Engine *engine)
{
  engine->cuStreamDestroy_v2 (engine->stream);
  engine->cuDevicePrimaryCtxRelease_v2 (engine->device);
}
