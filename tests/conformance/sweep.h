/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sweep.h: one call inside a capture, in every mode, on both kinds of capture stream, from several threads.
 *
 * A row names what must exist before the capture begins; the engine makes it, captures one kernel, makes the call,
 * looks, ends, and frees whatever is left. A call that gives something up (a free, an unload) clears its slot when it
 * succeeds.
 */
#pragma once

#include "runtime.h"

enum
{
  WANT_MEMORY = 1 << 0, /* memory: cuMemAlloc */
  WANT_HOST = 1 << 1,   /* host: cuMemHostAlloc */
  WANT_PAGES = 1 << 2,  /* pages: ordinary host pages, registered with WANT_REGISTERED */
  WANT_REGISTERED = 1 << 3,
  WANT_POOL = 1 << 4,          /* pool: made by us */
  WANT_POOL_MEMORY = 1 << 5,   /* memory: stream-ordered */
  WANT_RESERVED = 1 << 6,      /* range: reserved addresses */
  WANT_PHYSICAL = 1 << 7,      /* physical: an allocation handle */
  WANT_MAPPED = 1 << 8,        /* the handle mapped at the range */
  WANT_MANAGED = 1 << 9,       /* memory: managed */
  WANT_MODULE = 1 << 10,       /* module */
  WANT_LIBRARY = 1 << 11,      /* library, kernel */
  WANT_GRAPH = 1 << 12,        /* graph: one kernel */
  WANT_EXEC = 1 << 13,         /* exec, of graph */
  WANT_STREAM = 1 << 14,       /* stream */
  WANT_EVENT = 1 << 15,        /* event */
  WANT_CAPTURED = 1 << 16,     /* captured: recorded in the capture */
  WANT_GRAPH_MEMORY = 1 << 17, /* memory: allocated by an earlier node of this capture */
  WANT_LAUNCHED = 1 << 18,     /* memory: allocated by another graph that has been launched */
};

typedef struct
{
  CUstream capture, side;
  CUevent ordinary; /* recorded on side before the capture, completed */
  CUevent never;
  CUevent captured;
  CUdeviceptr memory;
  void *host;
  void *pages;
  bool registered;
  CUmemoryPool pool;
  CUdeviceptr range;
  unsigned long long physical;
  bool mapped;
  CUmodule module;
  CUlibrary library;
  CUkernel kernel;
  CUgraph graph;
  CUgraph clone; /* a graph that the call made */
  CUgraphExec exec;
  CUgraphExec made_exec;
  CUstream stream;
  CUstream made_stream;
  CUevent event;
  CUevent made_event;
  CUdeviceptr made_memory;
} Sweep;

typedef struct
{
  const char *name;
  int (*call) (Sweep *sweep);
  unsigned want;
} SweepRow;

#define SWEEP_SIZE       ((size_t)2 << 20) /* of ranges and physical allocations: a multiple of every granularity */
#define SWEEP_CALL(name) static int name (Sweep *s)

extern const SweepRow sweep_memory_rows[], sweep_stream_rows[], sweep_code_rows[], sweep_graph_rows[],
    sweep_legacy_rows[], sweep_record_rows[];
