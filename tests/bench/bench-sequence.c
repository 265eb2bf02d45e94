/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a sequence costs: 61 layers of 20 kernels, which point at 201 allocations, as one launch.
 *
 *   layers    memra_layer_sequence_launch against a cuGraphLaunch for each layer
 *   sequence  memra_layer_sequence_launch against cuGraphLaunch of the same exec
 *   checked   memra_layer_sequence_replay against memra_layer_sequence_launch: what the check costs
 */
#include "config.h"

#include "bench.h"

#define N_LAYERS      61
#define N_PER_LAYER   20
#define N_ALLOCATIONS 200

typedef struct
{
  Bench *bench;
  MemraBuffer *buffers[N_ALLOCATIONS];
  MemraLayerCapture *captures[N_LAYERS];
  MemraLayerSequence *sequence;
  guint next; /* buffer */
} Model;

static gboolean
body (MemraStream *stream G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
  Model *model = data;
  Bench *bench = model->bench;
  guint64 n = 64;

  for (guint i = 0; i < N_PER_LAYER; i++)
    {
      CUdeviceptr dst = memra_buffer_get_address (model->buffers[model->next++ % N_ALLOCATIONS]);
      void *arguments[] = { &dst, &bench->src, &n };

      bench_must (bench->cu->cuLaunchKernel (bench->function, 1, 1, 1, 64, 1, 1, 0, bench->cuda, arguments, NULL),
                  "cuLaunchKernel");
    }
  return TRUE;
}

typedef enum
{
  RUN_LAYERS, /* a bare launch of each */
  RUN_RAW,    /* a bare launch of the whole */
  RUN_LAUNCH,
  RUN_REPLAY
} Run;

/* A batch of three, so that none waits for a place in the driver's queue. */
#define N_BATCH 3

static double
time_model (Model *model, Run run)
{
  Bench *bench = model->bench;
  CUgraphExec whole = memra_layer_sequence_get_cuda_graph_exec (model->sequence);
  CUgraphExec execs[N_LAYERS];
  double start, end;

  for (guint i = 0; i < N_LAYERS; i++)
    execs[i] = memra_layer_capture_get_cuda_graph_exec (model->captures[i]);
  bench_must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  start = bench_now_us ();
  for (gint i = 0; i < N_BATCH; i++)
    if (run == RUN_LAYERS)
      for (guint k = 0; k < N_LAYERS; k++)
        bench_must (bench->cu->cuGraphLaunch (execs[k], bench->cuda), "cuGraphLaunch");
    else if (run == RUN_RAW)
      bench_must (bench->cu->cuGraphLaunch (whole, bench->cuda), "cuGraphLaunch");
    else if (run == RUN_LAUNCH)
      bench_check (memra_layer_sequence_launch (model->sequence, NULL), NULL);
    else
      bench_check (memra_layer_sequence_replay (model->sequence, NULL), NULL);
  end = bench_now_us ();
  bench_must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  return (end - start) / N_BATCH;
}

static double
run_layers (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_LAYERS);
}

static double
run_raw (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_RAW);
}

static double
run_launch (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_LAUNCH);
}

static double
run_replay (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_REPLAY);
}

int
main (int argc, char **argv)
{
  const guint n = N_LAYERS * N_PER_LAYER;
  Bench bench = { 0 };
  Model model = { .bench = &bench };
  g_autoptr (GError) error = NULL;

  bench_open (&bench, argc, argv, "kernels", n);
  for (guint i = 0; i < N_ALLOCATIONS; i++)
    {
      model.buffers[i] = memra_buffer_new (bench.stream, 256, &error);
      bench_check (model.buffers[i] != NULL && memra_buffer_zero (model.buffers[i], bench.stream, &error), error);
    }
  for (guint i = 0; i < N_LAYERS; i++)
    {
      model.captures[i] = memra_capture_layer (bench.stream, i, NULL, body, &model, &error);
      bench_check (model.captures[i] != NULL, error);
    }
  model.sequence = memra_layer_sequence_new (bench.stream, model.captures, N_LAYERS, NULL, &error);
  bench_check (model.sequence != NULL, error);

  bench_report (&bench, "layers", n, bench_measure (&bench, &model, run_launch, run_layers));
  bench_report (&bench, "sequence", n, bench_measure (&bench, &model, run_launch, run_raw));
  bench_report (&bench, "checked", n, bench_measure (&bench, &model, run_replay, run_launch));

  memra_layer_sequence_unref (model.sequence);
  for (guint i = 0; i < N_LAYERS; i++)
    memra_layer_capture_unref (model.captures[i]);
  for (guint i = 0; i < N_ALLOCATIONS; i++)
    memra_buffer_unref (model.buffers[i]);
  bench_close (&bench);
  return 0;
}
