/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-old-driver.c: a libcuda.so.1 of driver 11.8 that only says what it is called with. It has the ABIs that the host
 * driver lacks, versioned symbols for dlvsym(), and, with RECORD_TEST_INTERNAL set, a cuGetProcAddress() whose answers are
 * not the addresses that it exports.
 */
#include "driver/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__ ((visibility ("default")))

/* X (base, version, per_thread, symbol, params, format, args) */
#define FUNCTIONS(X)                                                                                                   \
  X ("cuInit", 2000, 0, cuInit, (unsigned flags), "%u", flags)                                                         \
  X ("cuStreamBeginCapture", 10000, 0, cuStreamBeginCapture, (CUstream stream), "%p", (void *) stream)                 \
  X ("cuStreamBeginCapture", 10000, 1, cuStreamBeginCapture_ptsz, (CUstream stream), "%p", (void *) stream)            \
  X ("cuStreamBeginCapture", 10010, 0, cuStreamBeginCapture_v2, (CUstream stream, int mode), "%p %d",                  \
     (void *) stream, mode)                                                                                            \
  X ("cuStreamBeginCapture", 10010, 1, cuStreamBeginCapture_v2_ptsz, (CUstream stream, int mode), "%p %d",             \
     (void *) stream, mode)                                                                                            \
  X ("cuGraphInstantiate", 10000, 0, cuGraphInstantiate,                                                               \
     (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text, size_t size), "%p %p %p %p %zu",                \
     (void *) exec, (void *) graph, (void *) node, (void *) text, size)                                                \
  X ("cuGraphInstantiate", 11000, 0, cuGraphInstantiate_v2,                                                            \
     (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text, size_t size), "%p %p %p %p %zu",                \
     (void *) exec, (void *) graph, (void *) node, (void *) text, size)                                                \
  X ("cuGraphInstantiateWithFlags", 11040, 0, cuGraphInstantiateWithFlags,                                             \
     (CUgraphExec *exec, CUgraph graph, unsigned long long flags), "%p %p %llu", (void *) exec, (void *) graph, flags) \
  X ("cuGraphExecUpdate", 10020, 0, cuGraphExecUpdate,                                                                 \
     (CUgraphExec exec, CUgraph graph, CUgraphNode *node, int *update), "%p %p %p %p", (void *) exec, (void *) graph,  \
     (void *) node, (void *) update)                                                                                   \
  X ("cuGraphLaunch", 10000, 0, cuGraphLaunch, (CUgraphExec exec, CUstream stream), "%p %p", (void *) exec,            \
     (void *) stream)                                                                                                  \
  X ("cuGraphLaunch", 10000, 1, cuGraphLaunch_ptsz, (CUgraphExec exec, CUstream stream), "%p %p", (void *) exec,       \
     (void *) stream)

#define DEFINE(base, version, per_thread, symbol, params, format, ...)                                                 \
  API McuResult symbol params;                                                                                         \
  API McuResult symbol params                                                                                          \
  {                                                                                                                    \
    printf (#symbol " " format "\n", __VA_ARGS__);                                                                     \
    return MCU_ERROR_NOT_SUPPORTED;                                                                                    \
  }                                                                                                                    \
  static McuResult internal_##symbol params                                                                            \
  {                                                                                                                    \
    printf (#symbol " " format "\n", __VA_ARGS__);                                                                     \
    return MCU_ERROR_NOT_SUPPORTED;                                                                                    \
  }
FUNCTIONS (DEFINE)

static const struct
{
  const char *base;
  int version, per_thread;
  McuProc exported, internal;
} functions[] = {
#define ROW(base, version, per_thread, symbol, params, format, ...)                                                    \
  { base, version, per_thread, (McuProc) symbol, (McuProc) internal_##symbol },
  FUNCTIONS (ROW)
};

API McuResult cuDriverGetVersion (int *version);
API McuResult cuStreamIsCapturing (CUstream stream, int *status);
API McuResult cuGetProcAddress (const char *name, void **pfn, int version, uint64_t flags);

McuResult
cuDriverGetVersion (int *version)
{
  *version = 11080;
  return MCU_SUCCESS;
}

McuResult
cuStreamIsCapturing (CUstream stream, int *status)
{
  *status = MCU_CAPTURE_STATUS_NONE;
  return MCU_SUCCESS;
}

McuResult
cuGetProcAddress (const char *name, void **pfn, int version, uint64_t flags)
{
  int best = -1, per_thread = (flags & MCU_GET_PROC_PER_THREAD_STREAM) != 0;

  for (int i = 0; i < (int) (sizeof functions / sizeof functions[0]); i++)
    if (strcmp (functions[i].base, name) == 0 && functions[i].version <= version && functions[i].per_thread <= per_thread
        && (best < 0 || functions[i].version > functions[best].version
            || (functions[i].version == functions[best].version && functions[i].per_thread)))
      best = i;
  if (best < 0)
    return MCU_ERROR_NOT_FOUND;
  *pfn = (void *) (getenv ("RECORD_TEST_INTERNAL") != NULL ? functions[best].internal : functions[best].exported);
  return MCU_SUCCESS;
}
