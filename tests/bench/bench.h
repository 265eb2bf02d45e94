/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the measuring programs share: the chain of kernels that they capture, pairs of measurements, and the way figures
 * are printed. Everything that goes wrong ends the program with a sentence: a figure of half a run is worth nothing.
 */
#ifndef MEMRA_BENCH_H
#define MEMRA_BENCH_H

#include "../memra-test.h"

#include "driver/driver-private.h"

typedef struct
{
  const MemraDriverTable *cu;
  MemraContext *context;
  MemraStream *stream;
  CUstream cuda;
  MemraDsv4 *dsv4;
  CUfunction function; /* memra_dsv4_add_inplace: dst[i] += src[i] */
  MemraBuffer *dst_buffer, *src_buffer;
  CUdeviceptr dst, src; /* 64 floats each */
  guint n;              /* kernels in the chain */
  gint n_pairs;
  gint min, max;    /* of what the program varies, in powers of ten */
  gboolean as_json; /* figures as one JSON object */
  const char *axis; /* what a figure is given for: "kernels" */
  gboolean begun;   /* a figure was printed */
} Bench;

typedef struct
{
  double a, b, ratio; /* medians; a and b in microseconds, ratio that of the pairs' ratios */
} Figure;

/* Takes what it measures into account itself, in microseconds. */
typedef double (*BenchArm) (Bench *bench, gpointer data);

/* Reads the options, opens the test driver and prints the head of the table. `max` is the default of --max. */
void bench_open (Bench *bench, int argc, char **argv, const char *axis, gint max);
void bench_close (Bench *bench);

double bench_now_us (void);
void bench_must (McuResult result, const char *what);
void bench_check (gboolean ok, const GError *error);

/* The chain, by the driver's own call. The body is for memra_capture_layer(), its data is the Bench. */
void bench_issue (Bench *bench);
gboolean bench_body (MemraStream *stream, gpointer bench, GError **error);

/* So many launches that none waits for a place in the driver's queue. */
gint bench_batch (guint n_kernels);

/* Runs a and b in turn, each twice, of which the second counts: A meets the heap and the driver's pools as A leaves
 * them, not as B does. With A B A B each paid for what the other had given back. */
Figure bench_measure (Bench *bench, gpointer data, BenchArm a, BenchArm b);
/* The figure of pairs measured elsewhere; sorts the values. */
Figure bench_figure (double *as, double *bs, gint n);
void bench_report (Bench *bench, const char *what, guint n, Figure figure);

/* CPU time of one launch out of a batch, by the driver's call, by the bare launch and by the checked replay. */
double bench_launch_raw (Bench *bench, gpointer capture);
double bench_launch (Bench *bench, gpointer capture);
double bench_replay (Bench *bench, gpointer capture);

#endif
