/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library costs beside the same raw driver calls, measured in pairs within one run: A B A B ..., the ratio
 * pair by pair, and the median of the ratios. Every case takes a chain of N kernels (dst[i] += src[i] on 64 floats).
 *
 *   launch    memra_layer_capture_launch against cuGraphLaunch of the same exec (CPU time of the call)
 *   replay    memra_layer_capture_replay (checked) against cuGraphLaunch
 *   capture   memra_capture_layer, start to completion, against the same driver calls made bare: capture, a walk of the
 *             nodes (types, parameters, names, dependencies), instantiation, upload, launch, completion
 *   no-walk   the same against those calls without the walk: what the census costs on top
 *   record    memra_capture_layer_record, start to replayable, against the same bare calls without walk and launch
 *   update    memra_layer_capture_update against the bare calls of "record": what re-instantiation would cost
 *   edit      one argument of a kernel changed, memra_kernel_edit_begin to memra_kernel_edit_free, against the driver's
 * two setters alone, for graph and executable graph edits     one argument of every kernel changed, in one batch
 * likewise, against the bare calls of "record" census    memra_census_new_from_graph against cuGraphGetNodes alone
 */
#include "config.h"

#include "bench.h"
#include "raw.h"

static double
capture_ours (Bench *bench, gpointer data G_GNUC_UNUSED)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  double start = bench_now_us (), end;

  capture = memra_capture_layer (bench->stream, 0, NULL, bench_body, bench, &error);
  end = bench_now_us ();
  bench_check (capture != NULL, error);
  return end - start;
}

/* `walk` is a pointer that is NULL for no walk. */
static double
capture_raw (Bench *bench, gpointer walk)
{
  RawCapture raw;

  raw_capture (bench, walk != NULL, TRUE, &raw);
  return raw.end - raw.start;
}

static double
record_ours (Bench *bench, gpointer data G_GNUC_UNUSED)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  double start = bench_now_us (), end;

  capture = memra_capture_layer_record (bench->stream, 0, NULL, bench_body, bench, &error);
  end = bench_now_us ();
  bench_check (capture != NULL, error);
  return end - start;
}

static double
record_raw (Bench *bench, gpointer data G_GNUC_UNUSED)
{
  RawCapture raw;

  raw_capture (bench, FALSE, FALSE, &raw);
  return raw.end - raw.start;
}

static double
update_ours (Bench *bench, gpointer capture)
{
  g_autoptr (GError) error = NULL;
  double start = bench_now_us (), end;
  gboolean ok = memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, bench_body, bench, NULL, &error);

  end = bench_now_us ();
  bench_check (ok, error);
  return end - start;
}

/* From one value to another and back, so that the kernel's work stays what it is. */
#define N_EDITS 50

static double
edit_kernels (MemraLayerCapture *capture, guint first, guint n_kernels, guint n_batches)
{
  g_autoptr (GError) error = NULL;
  double start = bench_now_us ();

  for (guint i = 0; i < n_batches; i++)
    {
      g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (capture, &error);
      guint64 n = i % 2 == 0 ? 63 : 64;
      gboolean ok = edit != NULL;

      for (guint k = first; ok && k < first + n_kernels; k++)
        ok = memra_kernel_edit_set_argument (edit, k, 2, &n, sizeof n, &error);
      bench_check (ok && memra_kernel_edit_commit (edit, &error), error);
    }
  return (bench_now_us () - start) / n_batches;
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

  bench_must (cu->cuGraphGetNodes (memra_layer_capture_get_cuda_graph (capture), nodes, &count), "cuGraphGetNodes");
  bench_must (_memra_driver_get_kernel_params (memra_test_driver (), nodes[bench->n / 2], &params),
              "cuGraphKernelNodeGetParams");
  params.kernel_params = arguments;
  start = bench_now_us ();
  for (guint i = 0; i < N_EDITS; i++)
    {
      n = i % 2 == 0 ? 63 : 64;
      if (cu->cuGraphExecKernelNodeSetParams_v2 != NULL)
        {
          bench_must (cu->cuGraphExecKernelNodeSetParams_v2 (exec, nodes[bench->n / 2], &params), "the setter");
          bench_must (cu->cuGraphKernelNodeSetParams_v2 (nodes[bench->n / 2], &params), "the setter");
        }
      else
        {
          bench_must (cu->cuGraphExecKernelNodeSetParams (exec, nodes[bench->n / 2], &params), "the setter");
          bench_must (cu->cuGraphKernelNodeSetParams (nodes[bench->n / 2], &params), "the setter");
        }
    }
  return (bench_now_us () - start) / N_EDITS;
}

static double
census_ours (Bench *bench, gpointer capture)
{
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;
  double start = bench_now_us ();

  census = memra_census_new_from_graph (memra_test_driver (), memra_layer_capture_get_cuda_graph (capture), &error);
  bench_check (census != NULL && memra_census_get_n_kernel_nodes (census) == bench->n, error);
  return bench_now_us () - start;
}

static double
census_raw (Bench *bench, gpointer capture)
{
  CUgraph graph = memra_layer_capture_get_cuda_graph (capture);
  g_autofree CUgraphNode *nodes = NULL;
  double start = bench_now_us ();
  gsize n = 0;

  bench_must (bench->cu->cuGraphGetNodes (graph, NULL, &n), "cuGraphGetNodes");
  nodes = g_new (CUgraphNode, n);
  bench_must (bench->cu->cuGraphGetNodes (graph, nodes, &n), "cuGraphGetNodes");
  return bench_now_us () - start;
}

static void
run (Bench *bench)
{
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  capture = memra_capture_layer (bench->stream, 0, NULL, bench_body, bench, &error);
  bench_check (capture != NULL, error);
  bench_report (bench, "launch", bench->n, bench_measure (bench, capture, bench_launch, bench_launch_raw));
  bench_report (bench, "replay", bench->n, bench_measure (bench, capture, bench_replay, bench_launch_raw));
  bench_report (bench, "capture", bench->n, bench_measure (bench, bench, capture_ours, capture_raw));
  bench_report (bench, "no-walk", bench->n, bench_measure (bench, NULL, capture_ours, capture_raw));
  bench_report (bench, "record", bench->n, bench_measure (bench, NULL, record_ours, record_raw));
  if (memra_test_driver ()->cu.cuFuncGetParamInfo != NULL) /* edits need to know the arguments' sizes */
    {
      bench_report (bench, "edit", bench->n, bench_measure (bench, capture, edit_ours, edit_raw));
      bench_report (bench, "edits", bench->n, bench_measure (bench, capture, edits_ours, record_raw));
    }
  bench_report (bench, "update", bench->n, bench_measure (bench, capture, update_ours, record_raw));
  bench_report (bench, "census", bench->n, bench_measure (bench, capture, census_ours, census_raw));
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
