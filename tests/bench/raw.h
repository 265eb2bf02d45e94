/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The same capture by the driver's calls alone, which ours is measured against. */
#ifndef MEMRA_BENCH_RAW_H
#define MEMRA_BENCH_RAW_H

#include "bench.h"

typedef struct
{
  double start, end; /* microseconds of bench_now_us(); what releases the graph is not in it */
  double us[MEMRA_CAPTURE_N_STEPS];
} RawCapture;

/* Capture, with `walk` a walk of the nodes, instantiation, upload, and with `launch` a launch and its completion. */
void raw_capture (Bench *bench, gboolean walk, gboolean launch, RawCapture *raw);

#endif
