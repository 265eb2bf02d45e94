/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the check before a replay costs by the number of allocations that a layer points at: a layer of 1,000 kernels
 * (more where there are more allocations), each kernel with a target of its own as far as they go.
 *
 *   checks    memra_layer_capture_replay against memra_layer_capture_launch
 *   check     memra_layer_capture_check alone, against a query of the driver for each allocation
 */
#include "config.h"

#include "bench.h"

#define N_KERNELS 1000

typedef struct
{
  CUdeviceptr *targets;
  guint n_targets;
  Bench *bench;
  MemraLayerCapture *capture;
} Layer;

static gboolean
body (MemraStream *stream G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
  const Layer *layer = data;
  Bench *bench = layer->bench;
  guint64 n = 64;

  for (guint i = 0; i < bench->n; i++)
    {
      CUdeviceptr target = layer->targets[i % layer->n_targets];
      void *arguments[] = { &target, &target, &n };

      bench_must (bench->cu->cuLaunchKernel (bench->function, 1, 1, 1, 64, 1, 1, 0, bench->cuda, arguments, NULL),
                  "cuLaunchKernel");
    }
  return TRUE;
}

static double
check_ours (Bench *bench G_GNUC_UNUSED, gpointer data)
{
  const Layer *layer = data;
  double start = bench_now_us ();

  bench_check (memra_layer_capture_check (layer->capture, NULL), NULL);
  return bench_now_us () - start;
}

static double
check_raw (Bench *bench, gpointer data)
{
  const Layer *layer = data;
  double start = bench_now_us ();

  for (guint i = 0; i < layer->n_targets; i++)
    {
      guint64 id;

      bench_must (bench->cu->cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, layer->targets[i]),
                  "cuPointerGetAttribute");
    }
  return bench_now_us () - start;
}

static void
run (Bench *bench, guint n)
{
  g_autoptr (GPtrArray) buffers = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_buffer_unref);
  g_autofree CUdeviceptr *targets = g_new (CUdeviceptr, n);
  Layer layer = { .targets = targets, .n_targets = n, .bench = bench };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < n; i++)
    {
      MemraBuffer *buffer = memra_buffer_new (bench->stream, 256, &error);

      bench_check (buffer != NULL, error);
      g_ptr_array_add (buffers, buffer);
      bench_check (memra_buffer_zero (buffer, bench->stream, &error), error);
      targets[i] = memra_buffer_get_address (buffer);
    }
  bench->n = MAX (N_KERNELS, n);
  layer.capture = memra_capture_layer (bench->stream, 0, NULL, body, &layer, &error);
  bench_check (layer.capture != NULL, error);
  bench_report (bench, "checks", n, bench_measure (bench, layer.capture, bench_replay, bench_launch));
  bench_report (bench, "check", n, bench_measure (bench, &layer, check_ours, check_raw));
  memra_layer_capture_unref (layer.capture);
}

int
main (int argc, char **argv)
{
  Bench bench = { 0 };

  bench_open (&bench, argc, argv, "allocations", 10000);
  for (guint n = (guint) bench.min; n <= (guint) bench.max; n *= 10)
    run (&bench, n);
  bench_close (&bench);
  return 0;
}
