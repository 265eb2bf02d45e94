/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "raw.h"

#include <string.h>

/* Types, parameters, names and dependencies of all nodes. */
static void
walk_nodes (Bench *bench, CUgraph graph)
{
  const MemraDriverTable *cu = bench->cu;
  g_autofree CUgraphNode *nodes = NULL;
  gsize n = 0;

  bench_must (cu->cuGraphGetNodes (graph, NULL, &n), "cuGraphGetNodes");
  nodes = g_new (CUgraphNode, n);
  bench_must (cu->cuGraphGetNodes (graph, nodes, &n), "cuGraphGetNodes");
  for (gsize i = 0; i < n; i++)
    {
      McuKernelNodeParams params;
      CUgraphNode dependencies[4];
      McuEdgeData edges[4];
      gsize n_dependencies = 4;
      const char *name = NULL;
      int type;

      bench_must (cu->cuGraphNodeGetType (nodes[i], &type), "cuGraphNodeGetType");
      bench_must (cu->cuGraphKernelNodeGetParams_v2 != NULL ? cu->cuGraphKernelNodeGetParams_v2 (nodes[i], &params)
                                                            : cu->cuGraphKernelNodeGetParams (nodes[i], &params),
                  "cuGraphKernelNodeGetParams");
      if (cu->cuFuncGetName != NULL)
        bench_must (cu->cuFuncGetName (&name, params.func), "cuFuncGetName");
      bench_must (cu->cuGraphNodeGetDependencies_v2 != NULL
                      ? cu->cuGraphNodeGetDependencies_v2 (nodes[i], dependencies, edges, &n_dependencies)
                      : cu->cuGraphNodeGetDependencies (nodes[i], dependencies, &n_dependencies),
                  "cuGraphNodeGetDependencies");
    }
}

/* Ends a step: what has passed since the last one is its time. */
static void
book (RawCapture *raw, MemraCaptureStep step)
{
  double now = bench_now_us ();

  raw->us[step] = now - raw->end;
  raw->end = now;
}

void
raw_capture (Bench *bench, gboolean walk, gboolean launch, RawCapture *raw)
{
  const MemraDriverTable *cu = bench->cu;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;

  memset (raw, 0, sizeof *raw);
  raw->start = raw->end = bench_now_us ();
  bench_must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  book (raw, MEMRA_CAPTURE_STEP_PRE_DRAIN);
  bench_must (cu->cuStreamBeginCapture (bench->cuda, MCU_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  bench_issue (bench);
  bench_must (cu->cuStreamEndCapture (bench->cuda, &graph), "cuStreamEndCapture");
  book (raw, MEMRA_CAPTURE_STEP_BODY);
  if (walk)
    {
      walk_nodes (bench, graph);
      book (raw, MEMRA_CAPTURE_STEP_CENSUS);
    }
  bench_must (cu->cuGraphInstantiateWithFlags (&exec, graph, 0), "cuGraphInstantiateWithFlags");
  book (raw, MEMRA_CAPTURE_STEP_INSTANTIATE);
  bench_must (cu->cuGraphUpload (exec, bench->cuda), "cuGraphUpload");
  book (raw, MEMRA_CAPTURE_STEP_UPLOAD);
  if (launch)
    {
      bench_must (cu->cuGraphLaunch (exec, bench->cuda), "cuGraphLaunch");
      book (raw, MEMRA_CAPTURE_STEP_LAUNCH);
      bench_must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
      book (raw, MEMRA_CAPTURE_STEP_COMPLETION);
    }
  else
    bench_must (cu->cuStreamSynchronize (bench->cuda), "cuStreamSynchronize");
  bench_must (cu->cuGraphExecDestroy (exec), "cuGraphExecDestroy");
  bench_must (cu->cuGraphDestroy (graph), "cuGraphDestroy");
}
