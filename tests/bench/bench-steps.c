/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the time of a capture goes, step by step: memra_capture_layer, by its own timings, against the same driver
 * calls made bare. The raw "census" is a walk of the nodes: types, parameters, names, dependencies.
 */
#include "config.h"

#include "bench.h"
#include "raw.h"

static const struct
{
  MemraCaptureStep step;
  const char *name;
} steps[] = {
  { MEMRA_CAPTURE_STEP_PRE_DRAIN, "pre-drain" },   { MEMRA_CAPTURE_STEP_BODY, "body" },
  { MEMRA_CAPTURE_STEP_CENSUS, "census" },         { MEMRA_CAPTURE_STEP_INSTANTIATE, "instantiate" },
  { MEMRA_CAPTURE_STEP_UPLOAD, "upload" },         { MEMRA_CAPTURE_STEP_LAUNCH, "launch" },
  { MEMRA_CAPTURE_STEP_COMPLETION, "completion" },
};

static void
capture_ours (Bench *bench, double *us, double *whole)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  const gint64 *timings;
  double start = bench_now_us ();

  capture = memra_capture_layer (bench->stream, 0, NULL, bench_body, bench, &error);
  *whole = bench_now_us () - start;
  bench_check (capture != NULL, error);
  timings = memra_layer_capture_get_timings (capture, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    us[i] = timings[steps[i].step] / 1e3;
}

static void
capture_raw (Bench *bench, double *us, double *whole)
{
  RawCapture raw;

  raw_capture (bench, TRUE, TRUE, &raw);
  *whole = raw.end - raw.start;
  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    us[i] = raw.us[steps[i].step];
}

static void
run (Bench *bench)
{
  const guint n_steps = G_N_ELEMENTS (steps);
  g_autofree double *ours = g_new (double, (n_steps + 1) * bench->n_pairs);
  g_autofree double *raw = g_new (double, (n_steps + 1) * bench->n_pairs);

  for (gint i = 0; i < bench->n_pairs; i++)
    {
      double a[G_N_ELEMENTS (steps) + 1], b[G_N_ELEMENTS (steps) + 1];

      /* The second of each, as bench_measure() does. */
      capture_ours (bench, a, &a[n_steps]);
      capture_ours (bench, a, &a[n_steps]);
      capture_raw (bench, b, &b[n_steps]);
      capture_raw (bench, b, &b[n_steps]);
      for (guint k = 0; k <= n_steps; k++)
        {
          ours[k * bench->n_pairs + i] = a[k];
          raw[k * bench->n_pairs + i] = b[k];
        }
    }
  for (guint k = 0; k <= n_steps; k++)
    bench_report (bench, k < n_steps ? steps[k].name : "whole", bench->n,
                  bench_figure (ours + k * bench->n_pairs, raw + k * bench->n_pairs, bench->n_pairs));
}

int
main (int argc, char **argv)
{
  Bench bench = { 0 };

  bench_open (&bench, argc, argv, "kernels", 10000);
  for (bench.n = (guint) bench.min; bench.n <= (guint) bench.max; bench.n *= 10)
    run (&bench);
  bench_close (&bench);
  return 0;
}
