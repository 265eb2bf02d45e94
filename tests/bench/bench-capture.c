/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library costs beside the same raw driver calls, measured in pairs within one run: A B A B ..., the ratio pair
 * by pair, and the median of the ratios. Every case takes a chain of N kernels (dst[i] += src[i] on 64 floats).
 *
 *   launch    memra_layer_capture_launch against cuGraphLaunch of the same exec (CPU time of the call)
 *   replay    memra_layer_capture_replay (checked) against cuGraphLaunch
 *   capture   memra_capture_layer, start to completion, against the same driver calls made bare: capture, a walk of the
 *             nodes (types, parameters, names, dependencies), instantiation, upload, launch, completion
 *   no-walk   the same against those calls without the walk: what the census costs on top
 *   record    memra_capture_layer_record, start to replayable, against the same bare calls without walk and launch
 *   update    memra_layer_capture_update against the bare calls of "record": what re-instantiation would cost
 *   edit      one argument of a kernel changed, memra_kernel_edit_begin to memra_kernel_edit_free, against the driver's two
 *             setters alone, for graph and executable graph
 *   edits     one argument of every kernel changed, in one batch likewise, against the bare calls of "record"
 *   census    memra_census_new_from_graph against cuGraphGetNodes alone
 *
 * And of a sequence of 61 layers of 20 kernels, which point at 200 allocations and one:
 *
 *   layers    memra_layer_sequence_launch against a cuGraphLaunch for each layer
 *   sequence  memra_layer_sequence_launch against cuGraphLaunch of the same exec
 *   checked   memra_layer_sequence_replay against memra_layer_sequence_launch: what the check costs
 */
#include "config.h"

#include "memra-test.h"

#include "driver/driver-private.h"

#include <stdlib.h>
#include <time.h>

typedef struct
{
  const MemraDriverTable *cu;
  MemraStream *stream;
  CUstream cuda;
  MemraDsv4 *dsv4;
  CUfunction function;
  CUdeviceptr dst, src;
  guint n; /* kernels in the chain */
} Bench;

typedef struct
{
  double a, b, ratio; /* medians; a and b in microseconds */
} Figure;

static gint n_pairs = 15;
static gint max_kernels = 10000;
static gboolean as_json;
static gboolean first_row = TRUE;

static double
now_us (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void
must (McuResult result, const char *what)
{
  if (result == MCU_SUCCESS)
    return;
  g_printerr ("bench: %s answered %d\n", what, result);
  exit (1);
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

/* Runs a and b in turn, one unmeasured pair first. */
static Figure
measure (Bench *bench, gpointer data, double (*a) (Bench *, gpointer), double (*b) (Bench *, gpointer))
{
  g_autofree double *as = g_new (double, n_pairs);
  g_autofree double *bs = g_new (double, n_pairs);
  g_autofree double *ratios = g_new (double, n_pairs);
  Figure figure;

  for (gint i = -1; i < n_pairs; i++)
    {
      double x = a (bench, data), y = b (bench, data);

      if (i < 0)
        continue;
      as[i] = x;
      bs[i] = y;
      ratios[i] = x / y;
    }
  figure.a = median (as, n_pairs);
  figure.b = median (bs, n_pairs);
  figure.ratio = median (ratios, n_pairs);
  return figure;
}

static void
issue (Bench *bench)
{
  guint64 n = 64;
  void *arguments[] = { &bench->dst, &bench->src, &n };

  for (guint i = 0; i < bench->n; i++)
    must (bench->cu->cuLaunchKernel (bench->function, 1, 1, 1, 64, 1, 1, 0, bench->cuda, arguments, NULL), "cuLaunchKernel");
}

static gboolean
body (MemraStream *stream G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
  issue (data);
  return TRUE;
}

static double
capture_ours (Bench *bench, gpointer data G_GNUC_UNUSED)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  double start = now_us (), end;

  capture = memra_capture_layer (bench->stream, 0, NULL, body, bench, &error);
  end = now_us ();
  if (capture == NULL)
    g_error ("%s", error->message);
  return end - start;
}

static void
walk_raw (Bench *bench, CUgraph graph)
{
  const MemraDriverTable *cu = bench->cu;
  g_autofree CUgraphNode *nodes = NULL;
  gsize n = 0;

  must (cu->cuGraphGetNodes (graph, NULL, &n), "cuGraphGetNodes");
  nodes = g_new (CUgraphNode, n);
  must (cu->cuGraphGetNodes (graph, nodes, &n), "cuGraphGetNodes");
  for (gsize i = 0; i < n; i++)
    {
      McuKernelNodeParams params;
      CUgraphNode dependencies[4];
      McuEdgeData edges[4];
      gsize n_dependencies = 4;
      const char *name = NULL;
      int type;

      must (cu->cuGraphNodeGetType (nodes[i], &type), "cuGraphNodeGetType");
      must (cu->cuGraphKernelNodeGetParams_v2 != NULL ? cu->cuGraphKernelNodeGetParams_v2 (nodes[i], &params)
                                                      : cu->cuGraphKernelNodeGetParams (nodes[i], &params),
            "cuGraphKernelNodeGetParams");
      if (cu->cuFuncGetName != NULL)
        must (cu->cuFuncGetName (&name, params.func), "cuFuncGetName");
      must (cu->cuGraphNodeGetDependencies_v2 != NULL
                ? cu->cuGraphNodeGetDependencies_v2 (nodes[i], dependencies, edges, &n_dependencies)
                : cu->cuGraphNodeGetDependencies (nodes[i], dependencies, &n_dependencies),
            "cuGraphNodeGetDependencies");
    }
}

/* `walk` is a pointer that is NULL for no walk. */
static double
capture_raw (Bench *bench, gpointer walk)
{
  const MemraDriverTable *cu = bench->cu;
  double start = now_us (), end;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;

  must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  must (cu->cuStreamBeginCapture (bench->cuda, MCU_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  issue (bench);
  must (cu->cuStreamEndCapture (bench->cuda, &graph), "cuStreamEndCapture");
  if (walk != NULL)
    walk_raw (bench, graph);
  must (cu->cuGraphInstantiateWithFlags (&exec, graph, 0), "cuGraphInstantiateWithFlags");
  must (cu->cuGraphUpload (exec, bench->cuda), "cuGraphUpload");
  must (cu->cuGraphLaunch (exec, bench->cuda), "cuGraphLaunch");
  must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  end = now_us ();
  must (cu->cuGraphExecDestroy (exec), "cuGraphExecDestroy");
  must (cu->cuGraphDestroy (graph), "cuGraphDestroy");
  return end - start;
}

static double
record_ours (Bench *bench, gpointer data G_GNUC_UNUSED)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  double start = now_us (), end;

  capture = memra_capture_layer_record (bench->stream, 0, NULL, body, bench, &error);
  end = now_us ();
  if (capture == NULL)
    g_error ("%s", error->message);
  return end - start;
}

static double
record_raw (Bench *bench, gpointer data G_GNUC_UNUSED)
{
  const MemraDriverTable *cu = bench->cu;
  double start = now_us (), end;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;

  must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  must (cu->cuStreamBeginCapture (bench->cuda, MCU_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  issue (bench);
  must (cu->cuStreamEndCapture (bench->cuda, &graph), "cuStreamEndCapture");
  must (cu->cuGraphInstantiateWithFlags (&exec, graph, 0), "cuGraphInstantiateWithFlags");
  must (cu->cuGraphUpload (exec, bench->cuda), "cuGraphUpload");
  end = now_us ();
  must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  must (cu->cuGraphExecDestroy (exec), "cuGraphExecDestroy");
  must (cu->cuGraphDestroy (graph), "cuGraphDestroy");
  return end - start;
}

static double
update_ours (Bench *bench, gpointer capture)
{
  g_autoptr (GError) error = NULL;
  double start = now_us (), end;
  gboolean ok = memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, bench, NULL, &error);

  end = now_us ();
  if (!ok)
    g_error ("%s", error->message);
  return end - start;
}

/* From one value to another and back, so that the kernel's work stays what it is. */
#define N_EDITS 50

static double
edit_kernels (MemraLayerCapture *capture, guint first, guint n_kernels, guint n_batches)
{
  g_autoptr (GError) error = NULL;
  double start = now_us ();

  for (guint i = 0; i < n_batches; i++)
    {
      g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (capture, &error);
      guint64 n = i % 2 == 0 ? 63 : 64;
      gboolean ok = edit != NULL;

      for (guint k = first; ok && k < first + n_kernels; k++)
        ok = memra_kernel_edit_set_argument (edit, k, 2, &n, sizeof n, &error);
      if (!ok || !memra_kernel_edit_commit (edit, &error))
        g_error ("%s", error->message);
    }
  return (now_us () - start) / n_batches;
}

static double
edit_ours (Bench *bench, gpointer capture)
{
  return edit_kernels (capture, bench->n / 2, 1, N_EDITS);
}

static double
edits_ours (Bench *bench, gpointer capture)
{
  return edit_kernels (capture, 0, bench->n, 2);
}

static double
edit_raw (Bench *bench, gpointer capture)
{
  const MemraDriverTable *cu = bench->cu;
  CUgraphExec exec = memra_layer_capture_get_cuda_graph_exec (capture);
  g_autofree CUgraphNode *nodes = g_new (CUgraphNode, bench->n);
  McuKernelNodeParams params = { 0 };
  gsize count = bench->n;
  guint64 n;
  void *arguments[] = { &bench->dst, &bench->src, &n };
  double start;

  must (cu->cuGraphGetNodes (memra_layer_capture_get_cuda_graph (capture), nodes, &count), "cuGraphGetNodes");
  must (_memra_driver_get_kernel_params (memra_test_driver (), nodes[bench->n / 2], &params), "cuGraphKernelNodeGetParams");
  params.kernel_params = arguments;
  start = now_us ();
  for (guint i = 0; i < N_EDITS; i++)
    {
      n = i % 2 == 0 ? 63 : 64;
      if (cu->cuGraphExecKernelNodeSetParams_v2 != NULL)
        {
          must (cu->cuGraphExecKernelNodeSetParams_v2 (exec, nodes[bench->n / 2], &params), "the setter");
          must (cu->cuGraphKernelNodeSetParams_v2 (nodes[bench->n / 2], &params), "the setter");
        }
      else
        {
          must (cu->cuGraphExecKernelNodeSetParams (exec, nodes[bench->n / 2], &params), "the setter");
          must (cu->cuGraphKernelNodeSetParams (nodes[bench->n / 2], &params), "the setter");
        }
    }
  return (now_us () - start) / N_EDITS;
}

/* Few enough launches in a batch that none waits for a place in the driver's queue. */
static gint
batch (Bench *bench)
{
  return bench->n <= 100 ? 50 : bench->n <= 1000 ? 10 : 3;
}

static double
launch_ours (Bench *bench, gpointer capture)
{
  gint n = batch (bench);
  double start, end;

  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  start = now_us ();
  for (gint i = 0; i < n; i++)
    if (!memra_layer_capture_launch (capture, NULL))
      g_error ("launch failed");
  end = now_us ();
  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  return (end - start) / n;
}

static double
replay_ours (Bench *bench, gpointer capture)
{
  gint n = batch (bench);
  double start, end;

  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  start = now_us ();
  for (gint i = 0; i < n; i++)
    if (!memra_layer_capture_replay (capture, NULL))
      g_error ("replay failed");
  end = now_us ();
  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  return (end - start) / n;
}

static double
launch_raw (Bench *bench, gpointer capture)
{
  CUgraphExec exec = memra_layer_capture_get_cuda_graph_exec (capture);
  gint n = batch (bench);
  double start, end;

  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  start = now_us ();
  for (gint i = 0; i < n; i++)
    must (bench->cu->cuGraphLaunch (exec, bench->cuda), "cuGraphLaunch");
  end = now_us ();
  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  return (end - start) / n;
}

static double
census_ours (Bench *bench, gpointer capture)
{
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;
  double start = now_us ();

  census = memra_census_new_from_graph (memra_test_driver (), memra_layer_capture_get_cuda_graph (capture), &error);
  if (census == NULL || memra_census_get_n_kernel_nodes (census) != bench->n)
    g_error ("%s", error != NULL ? error->message : "census of the wrong size");
  return now_us () - start;
}

static double
census_raw (Bench *bench, gpointer capture)
{
  CUgraph graph = memra_layer_capture_get_cuda_graph (capture);
  g_autofree CUgraphNode *nodes = NULL;
  double start = now_us ();
  gsize n = 0;

  must (bench->cu->cuGraphGetNodes (graph, NULL, &n), "cuGraphGetNodes");
  nodes = g_new (CUgraphNode, n);
  must (bench->cu->cuGraphGetNodes (graph, nodes, &n), "cuGraphGetNodes");
  return now_us () - start;
}

#define N_LAYERS      61
#define N_PER_LAYER   20
#define N_ALLOCATIONS 200

typedef struct
{
  MemraBuffer *buffers[N_ALLOCATIONS];
  MemraLayerCapture *captures[N_LAYERS];
  MemraLayerSequence *sequence;
  Bench *bench;
  guint next; /* buffer */
} Model;

static gboolean
model_body (MemraStream *stream G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
  Model *model = data;
  guint64 n = 64;

  for (guint i = 0; i < N_PER_LAYER; i++)
    {
      CUdeviceptr dst = memra_buffer_get_address (model->buffers[model->next++ % N_ALLOCATIONS]);
      void *arguments[] = { &dst, &model->bench->src, &n };

      must (model->bench->cu->cuLaunchKernel (model->bench->function, 1, 1, 1, 64, 1, 1, 0, model->bench->cuda,
                                              arguments, NULL),
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
#define N_SEQUENCE_BATCH 3

static double
time_model (Model *model, Run run)
{
  Bench *bench = model->bench;
  CUgraphExec whole = memra_layer_sequence_get_cuda_graph_exec (model->sequence);
  CUgraphExec execs[N_LAYERS];
  double start, end;

  for (guint i = 0; i < N_LAYERS; i++)
    execs[i] = memra_layer_capture_get_cuda_graph_exec (model->captures[i]);
  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  start = now_us ();
  for (gint i = 0; i < N_SEQUENCE_BATCH; i++)
    if (run == RUN_LAYERS)
      for (guint k = 0; k < N_LAYERS; k++)
        must (bench->cu->cuGraphLaunch (execs[k], bench->cuda), "cuGraphLaunch");
    else if (run == RUN_RAW)
      must (bench->cu->cuGraphLaunch (whole, bench->cuda), "cuGraphLaunch");
    else if (!(run == RUN_LAUNCH ? memra_layer_sequence_launch (model->sequence, NULL)
                                 : memra_layer_sequence_replay (model->sequence, NULL)))
      g_error ("launch failed");
  end = now_us ();
  must (bench->cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  return (end - start) / N_SEQUENCE_BATCH;
}

static double
sequence_layers (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_LAYERS);
}

static double
sequence_raw (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_RAW);
}

static double
sequence_launch (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_LAUNCH);
}

static double
sequence_replay (Bench *bench G_GNUC_UNUSED, gpointer model)
{
  return time_model (model, RUN_REPLAY);
}

static void
report (const char *what, guint n, Figure figure)
{
  if (as_json)
    g_print ("%s\n  {\"case\": \"%s\", \"kernels\": %u, \"ours_us\": %.3f, \"raw_us\": %.3f, \"ratio\": %.4f}", first_row ? "" : ",",
             what, n, figure.a, figure.b, figure.ratio);
  else
    g_print ("%-8s %8u %14.2f %14.2f %8.3f\n", what, n, figure.a, figure.b, figure.ratio);
  first_row = FALSE;
}

static void
run (Bench *bench)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  capture = memra_capture_layer (bench->stream, 0, NULL, body, bench, &error);
  if (capture == NULL)
    g_error ("%s", error->message);
  report ("launch", bench->n, measure (bench, capture, launch_ours, launch_raw));
  report ("replay", bench->n, measure (bench, capture, replay_ours, launch_raw));
  report ("capture", bench->n, measure (bench, bench, capture_ours, capture_raw));
  report ("no-walk", bench->n, measure (bench, NULL, capture_ours, capture_raw));
  report ("record", bench->n, measure (bench, NULL, record_ours, record_raw));
  if (memra_test_driver ()->cu.cuFuncGetParamInfo != NULL) /* edits need to know the arguments' sizes */
    {
      report ("edit", bench->n, measure (bench, capture, edit_ours, edit_raw));
      report ("edits", bench->n, measure (bench, capture, edits_ours, record_raw));
    }
  report ("update", bench->n, measure (bench, capture, update_ours, record_raw));
  report ("census", bench->n, measure (bench, capture, census_ours, census_raw));
}

static void
run_sequence (Bench *bench)
{
  const guint n = N_LAYERS * N_PER_LAYER;
  Model model = { .bench = bench };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N_ALLOCATIONS; i++)
    {
      model.buffers[i] = memra_buffer_new (bench->stream, 256, &error);
      if (model.buffers[i] == NULL || !memra_buffer_zero (model.buffers[i], bench->stream, &error))
        g_error ("%s", error->message);
    }
  for (guint i = 0; i < N_LAYERS; i++)
    {
      model.captures[i] = memra_capture_layer (bench->stream, i, NULL, model_body, &model, &error);
      if (model.captures[i] == NULL)
        g_error ("%s", error->message);
    }
  model.sequence = memra_layer_sequence_new (bench->stream, model.captures, N_LAYERS, NULL, &error);
  if (model.sequence == NULL)
    g_error ("%s", error->message);
  report ("layers", n, measure (bench, &model, sequence_launch, sequence_layers));
  report ("sequence", n, measure (bench, &model, sequence_launch, sequence_raw));
  report ("checked", n, measure (bench, &model, sequence_replay, sequence_launch));

  memra_layer_sequence_unref (model.sequence);
  for (guint i = 0; i < N_LAYERS; i++)
    memra_layer_capture_unref (model.captures[i]);
  for (guint i = 0; i < N_ALLOCATIONS; i++)
    memra_buffer_unref (model.buffers[i]);
}

int
main (int argc, char **argv)
{
  const GOptionEntry options[] = {
    { "pairs", 0, 0, G_OPTION_ARG_INT, &n_pairs, "Measured pairs for each figure (15)", "N" },
    { "max", 0, 0, G_OPTION_ARG_INT, &max_kernels, "Longest chain (10000)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print JSON", NULL },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) parser = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraBuffer) dst = NULL;
  g_autoptr (MemraBuffer) src = NULL;
  g_autoptr (MemraKernel) kernel = NULL;
  g_autofree char *device = NULL;
  Bench bench = { 0 };

  g_option_context_add_main_entries (parser, options, NULL);
  if (!g_option_context_parse (parser, &argc, &argv, &error) || n_pairs < 1 || max_kernels < 1)
    {
      g_printerr ("bench: %s\n", error != NULL ? error->message : "--pairs and --max take numbers from 1");
      return 2;
    }
  if (memra_test_driver () == NULL)
    {
      g_printerr ("bench: no driver\n");
      return 2;
    }

  context = memra_test_context_new ();
  memra_context_set_event_tracking (context, FALSE);
  bench.cu = memra_test_cu ();
  must (bench.cu->cuCtxSetCurrent (memra_context_get_cuda_context (context)), "cuCtxSetCurrent");
  bench.stream = memra_test_stream_new (context);
  bench.cuda = memra_stream_get_cuda_stream (bench.stream);
  bench.dsv4 = memra_dsv4_new (context, &error);
  dst = bench.dsv4 != NULL ? memra_buffer_new (bench.stream, 256, &error) : NULL;
  src = dst != NULL ? memra_buffer_new (bench.stream, 256, &error) : NULL;
  if (src == NULL || !memra_buffer_zero (dst, bench.stream, &error) || !memra_buffer_zero (src, bench.stream, &error))
    g_error ("%s", error->message);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (bench.dsv4), "memra_dsv4_add_inplace", &error);
  if (kernel == NULL)
    g_error ("%s", error->message);
  bench.function = memra_kernel_get_cuda_function (kernel);
  bench.dst = memra_buffer_get_address (dst);
  bench.src = memra_buffer_get_address (src);

  device = memra_driver_dup_device_name (memra_test_driver (), 0, NULL);
  if (as_json)
    g_print ("{\"device\": \"%s\", \"driver\": %d, \"pairs\": %d, \"figures\": [", device, memra_driver_get_version (memra_test_driver ()),
             n_pairs);
  else
    g_print ("%s, driver API %d, medians of %d pairs\n%-8s %8s %14s %14s %8s\n", device,
             memra_driver_get_version (memra_test_driver ()), n_pairs, "case", "kernels", "ours (us)", "raw (us)", "ratio");
  for (bench.n = 1; bench.n <= (guint) max_kernels; bench.n *= 10)
    run (&bench);
  run_sequence (&bench);
  if (as_json)
    g_print ("\n]}\n");

  memra_dsv4_unref (bench.dsv4);
  memra_stream_unref (bench.stream);
  return 0;
}
