/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double
bench_now_us (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

void
bench_must (McuResult result, const char *what)
{
  if (result == MCU_SUCCESS)
    return;
  g_printerr ("bench: %s answered %d\n", what, result);
  exit (1);
}

void
bench_check (gboolean ok, const GError *error)
{
  if (ok)
    return;
  g_printerr ("bench: %s\n", error != NULL ? error->message : "not what was to be measured");
  exit (1);
}

/* glibc gives memory back to the kernel, and faults it in again, at every turn until it has once freed a large block.
 * A program with an engine in it has done that long ago. */
static void
age_heap (void)
{
  gpointer block = g_malloc (31 * 1024 * 1024);

  memset (block, 1, 4096);
  g_free (block);
}

void
bench_open (Bench *bench, int argc, char **argv, const char *axis, gint max)
{
  const GOptionEntry options[] = {
    { "pairs", 0, 0, G_OPTION_ARG_INT, &bench->n_pairs, "Measured pairs for each figure (15)", "N" },
    { "min", 0, 0, G_OPTION_ARG_INT, &bench->min, "Smallest number that is measured (1)", "N" },
    { "max", 0, 0, G_OPTION_ARG_INT, &bench->max, "Largest number that is measured", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &bench->as_json, "Print JSON", NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) parser = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraKernel) kernel = NULL;
  g_autofree char *device = NULL;

  bench->axis = axis;
  bench->n_pairs = 15;
  bench->min = 1;
  bench->max = max;
  g_option_context_add_main_entries (parser, options, NULL);
  if (!g_option_context_parse (parser, &argc, &argv, &error) || bench->n_pairs < 1 || bench->min < 1 || bench->max < 1)
    {
      g_printerr ("bench: %s\n", error != NULL ? error->message : "--pairs, --min and --max take numbers from 1");
      exit (2);
    }
  if (memra_test_driver () == NULL)
    {
      g_printerr ("bench: no driver\n");
      exit (2);
    }

  age_heap ();
  bench->context = memra_test_context_new ();
  memra_context_set_event_tracking (bench->context, FALSE);
  bench->cu = memra_test_cu ();
  bench_must (bench->cu->cuCtxSetCurrent (memra_context_get_cuda_context (bench->context)), "cuCtxSetCurrent");
  bench->stream = memra_test_stream_new (bench->context);
  bench->cuda = memra_stream_get_cuda_stream (bench->stream);
  bench->dsv4 = memra_dsv4_new (bench->context, &error);
  bench_check (bench->dsv4 != NULL, error);
  bench->dst_buffer = memra_buffer_new (bench->stream, 256, &error);
  bench_check (bench->dst_buffer != NULL && memra_buffer_zero (bench->dst_buffer, bench->stream, &error), error);
  bench->src_buffer = memra_buffer_new (bench->stream, 256, &error);
  bench_check (bench->src_buffer != NULL && memra_buffer_zero (bench->src_buffer, bench->stream, &error), error);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (bench->dsv4), "memra_dsv4_add_inplace", &error);
  bench_check (kernel != NULL, error);
  bench->function = memra_kernel_get_cuda_function (kernel);
  bench->dst = memra_buffer_get_address (bench->dst_buffer);
  bench->src = memra_buffer_get_address (bench->src_buffer);

  device = memra_driver_dup_device_name (memra_test_driver (), 0, NULL);
  if (bench->as_json)
    g_print ("{\"device\": \"%s\", \"driver\": %d, \"pairs\": %d, \"figures\": [", device,
             memra_driver_get_version (memra_test_driver ()), bench->n_pairs);
  else
    g_print ("%s, driver API %d, medians of %d pairs\n%-12s %11s %14s %14s %8s\n", device,
             memra_driver_get_version (memra_test_driver ()), bench->n_pairs, "case", axis, "ours (us)", "raw (us)",
             "ratio");
}

void
bench_close (Bench *bench)
{
  if (bench->as_json)
    g_print ("\n]}\n");
  memra_buffer_unref (bench->dst_buffer);
  memra_buffer_unref (bench->src_buffer);
  memra_dsv4_unref (bench->dsv4);
  memra_stream_unref (bench->stream);
  memra_context_unref (bench->context);
}

void
bench_issue (Bench *bench)
{
  guint64 n = 64;
  void *arguments[] = { &bench->dst, &bench->src, &n };

  for (guint i = 0; i < bench->n; i++)
    bench_must (bench->cu->cuLaunchKernel (bench->function, 1, 1, 1, 64, 1, 1, 0, bench->cuda, arguments, NULL),
                "cuLaunchKernel");
}

gboolean
bench_body (MemraStream *stream G_GNUC_UNUSED, gpointer bench, GError **error G_GNUC_UNUSED)
{
  bench_issue (bench);
  return TRUE;
}

gint
bench_batch (guint n_kernels)
{
  return n_kernels <= 100 ? 50 : n_kernels <= 1000 ? 10 : 3;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static double
median (double *values, gint n)
{
  qsort (values, n, sizeof *values, compare_doubles);
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Figure
bench_figure (double *as, double *bs, gint n)
{
  g_autofree double *ratios = g_new (double, n);

  for (gint i = 0; i < n; i++)
    ratios[i] = as[i] / bs[i];
  return (Figure){ .a = median (as, n), .b = median (bs, n), .ratio = median (ratios, n) };
}

Figure
bench_measure (Bench *bench, gpointer data, BenchArm a, BenchArm b)
{
  g_autofree double *as = g_new (double, bench->n_pairs);
  g_autofree double *bs = g_new (double, bench->n_pairs);

  for (gint i = 0; i < bench->n_pairs; i++)
    {
      a (bench, data);
      as[i] = a (bench, data);
      b (bench, data);
      bs[i] = b (bench, data);
    }
  return bench_figure (as, bs, bench->n_pairs);
}

void
bench_report (Bench *bench, const char *what, guint n, Figure figure)
{
  if (bench->as_json)
    g_print ("%s\n  {\"case\": \"%s\", \"%s\": %u, \"ours_us\": %.3f, \"raw_us\": %.3f, \"ratio\": %.4f}",
             bench->begun ? "," : "", what, bench->axis, n, figure.a, figure.b, figure.ratio);
  else
    g_print ("%-12s %11u %14.2f %14.2f %8.3f\n", what, n, figure.a, figure.b, figure.ratio);
  bench->begun = TRUE;
}

typedef enum
{
  LAUNCH_RAW,
  LAUNCH,
  REPLAY
} Launch;

static double
time_launches (Bench *bench, MemraLayerCapture *capture, Launch launch)
{
  CUgraphExec exec = memra_layer_capture_get_cuda_graph_exec (capture);
  gint n = bench_batch (bench->n);
  double start, end;

  bench_must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  start = bench_now_us ();
  for (gint i = 0; i < n; i++)
    if (launch == LAUNCH_RAW)
      bench_must (bench->cu->cuGraphLaunch (exec, bench->cuda), "cuGraphLaunch");
    else if (launch == LAUNCH)
      bench_check (memra_layer_capture_launch (capture, NULL), NULL);
    else
      bench_check (memra_layer_capture_replay (capture, NULL), NULL);
  end = bench_now_us ();
  bench_must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  return (end - start) / n;
}

double
bench_launch_raw (Bench *bench, gpointer capture)
{
  return time_launches (bench, capture, LAUNCH_RAW);
}

double
bench_launch (Bench *bench, gpointer capture)
{
  return time_launches (bench, capture, LAUNCH);
}

double
bench_replay (Bench *bench, gpointer capture)
{
  return time_launches (bench, capture, REPLAY);
}
