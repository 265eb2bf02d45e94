/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host driver's own entry points, all of them, for the tests of it: the library's table has only what the library
 * calls. A context, a stream and some memory besides.
 */
#pragma once

#include "capture-fixture.h"

#include "host/entries-host.h"

G_BEGIN_DECLS

typedef struct
{
#define HOST_API_FIELD(kind, capture, base, version, symbol, params) McuResult (*symbol) params;
  HOST_ENTRIES (HOST_API_FIELD)
#undef HOST_API_FIELD
} HostApi;

#define HOST_BENCH_BYTES 4096u

typedef struct
{
  const HostApi *cu;
  CUcontext context;  /* current */
  CUstream stream;    /* non-blocking */
  CUdeviceptr memory; /* HOST_BENCH_BYTES of zeros */
  guint8 *bytes;      /* the same, as the host sees it */
} HostBench;

/* Resolved once. */
const HostApi *host_api_get (void);

/* A context of its own, which is destroyed with all that it has. */
void host_bench_init (HostBench *bench);
void host_bench_clear (HostBench *bench);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HostBench, host_bench_clear)

/* All work of the stream is done. */
void host_bench_wait (HostBench *bench);

G_END_DECLS
