/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-exec.c: instantiate, upload, launch, enable; host functions and what they may call. */
#include <unistd.h>

#include "runtime.h"

static void
run_flags (const ConfCase *test)
{
  CUgraph graph = conf_make_graph (2, 1);
  CUgraphExec exec = NULL;
  uint64_t flags = 99;
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, (unsigned)test->arg));
  fact ("exec=%s", exec == NULL ? "NULL" : "set");
  if (exec != NULL)
    {
      fact_r ("get-flags", CX (cuGraphExecGetFlags, exec, &flags));
      fact ("flags=%d", (int)flags);
    }
  conf_own_exec (exec);
}

static void
run_with_params (const ConfCase *test)
{
  CUgraph graph = conf_make_graph (2, 1);
  CUgraphExec exec = NULL;
  CUstream stream = conf_stream (true);
  uint64_t flags = 99;
  McuInstantiateParams params = { (uint64_t)test->arg, test->data != NULL ? stream : NULL, (CUgraphNode)7, 77 };
  fact_r ("instantiate", CU (cuGraphInstantiateWithParams, &exec, graph, &params));
  fact ("result=%d node=%s exec=%s", params.result,
        params.error_node == NULL             ? "NULL"
        : params.error_node == (CUgraphNode)7 ? "untouched"
                                              : "set",
        exec == NULL ? "NULL" : "set");
  if (exec != NULL)
    {
      fact_r ("get-flags", CX (cuGraphExecGetFlags, exec, &flags));
      fact ("flags=%d", (int)flags);
    }
  conf_own_exec (exec);
}

static void
run_nulls (const ConfCase *test)
{
  CUgraph graph = conf_make_graph (1, 0);
  CUgraphExec exec = (CUgraphExec)7;
  McuInstantiateParams params = { 0, NULL, NULL, 0 };
  CUstream stream = conf_stream (true);
  (void)test;
  fact_r ("instantiate-null-out", cu.cuGraphInstantiateWithFlags (NULL, graph, 0));
  fact_r ("instantiate-null-graph", cu.cuGraphInstantiateWithFlags (&exec, NULL, 0));
  fact ("exec=%s", exec == NULL ? "NULL" : exec == (CUgraphExec)7 ? "untouched" : "set");
  fact_r ("params-null", CU (cuGraphInstantiateWithParams, &exec, graph, NULL));
  fact_r ("params-null-graph", CU (cuGraphInstantiateWithParams, &exec, NULL, &params));
  fact_r ("upload-null", cu.cuGraphUpload (NULL, stream));
  fact_r ("launch-null", cu.cuGraphLaunch (NULL, stream));
  fact_r ("destroy-null", cu.cuGraphExecDestroy (NULL));
  fact_r ("destroy-null-graph", cu.cuGraphDestroy (NULL));
}

static CUgraph
adding_graph (void)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_RELAXED);
  conf_kernel_add (stream);
  cu.cuStreamEndCapture (stream, &graph);
  return conf_own_graph (graph);
}

static void
reset_sum (void)
{
  uint32_t ones[64];
  for (int i = 0; i < 64; i++)
    ones[i] = 1;
  fact_r ("reset", cu.cuMemcpyHtoD (w.b, ones, sizeof ones));
  conf_poke (w.a, 0);
}

static void
run_graph_destroyed (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = adding_graph ();
  CUgraphExec exec = conf_make_exec (graph);
  (void)test;
  reset_sum ();
  conf_forget (graph);
  fact_r ("destroy-graph", cu.cuGraphDestroy (graph));
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("ran=%u", conf_peek (w.a));
}

/* The same exec launched again before it has run, in the same and in another stream. */
static void
run_relaunch (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream second = conf_stream (true);
  CUstream third = conf_stream (true);
  CUgraphExec exec = conf_make_exec (adding_graph ());
  reset_sum ();
  ConfGate *gate = conf_gate (stream);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("launch", cu.cuGraphLaunch (exec, test->arg ? second : stream));
  fact_r ("upload", cu.cuGraphUpload (exec, second));
  conf_kernel (third);
  fact_r ("third", cu.cuStreamSynchronize (third));
  fact_r ("query", cu.cuStreamQuery (stream));
  if (test->arg)
    fact_r ("query-second", cu.cuStreamQuery (second));
  conf_gate_open (gate);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact_r ("sync-second", cu.cuStreamSynchronize (second));
  fact ("ran=%u", conf_peek (w.a));
}

static void
run_destroy_in_flight (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = adding_graph ();
  CUgraphExec exec = conf_make_exec (graph);
  reset_sum ();
  ConfGate *gate = conf_gate (stream);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  if (test->arg == 1)
    {
      conf_forget (graph);
      fact_r ("destroy-graph", cu.cuGraphDestroy (graph));
    }
  conf_forget (exec);
  fact_r ("destroy-exec", cu.cuGraphExecDestroy (exec));
  fact_r ("query", cu.cuStreamQuery (stream));
  conf_gate_open (gate);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("ran=%u", conf_peek (w.a));
}

static void
run_enabled (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  CUgraphNode empty = NULL;
  unsigned enabled = 77;
  CUdeviceptr at = w.a + 4096;
  (void)test;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_RELAXED);
  conf_kernel_store (stream, at, 5);
  cu.cuMemsetD32Async (at + 256, 6, 1, stream);
  cu.cuMemcpyDtoDAsync (at + 512, at + 256, 4, stream);
  cu.cuLaunchHostFunc (stream, conf_count_bump, NULL);
  cu.cuStreamEndCapture (stream, &graph);
  conf_own_graph (graph);
  CX (cuGraphAddEmptyNode, &empty, graph, NULL, 0);
  CUgraphExec exec = conf_make_exec (graph);
  static const char *const names[] = { "kernel", "memset", "memcpy", "host", "empty" };
  for (size_t i = 0; i < 5; i++)
    {
      CUgraphNode node = conf_node (graph, i);
      int get = CX (cuGraphNodeGetEnabled, exec, node, &enabled);
      fact ("%s: get=%s/%u", names[i], conf_r (get), enabled);
      fact_r ("off", CX (cuGraphNodeSetEnabled, exec, node, 0));
      get = CX (cuGraphNodeGetEnabled, exec, node, &enabled);
      fact ("get=%s/%u", conf_r (get), enabled);
    }
  conf_poke (at, 0);
  conf_poke (at + 256, 0);
  conf_poke (at + 512, 1);
  conf_count_reset ();
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("values=%u/%u/%u host=%d", conf_peek (at), conf_peek (at + 256), conf_peek (at + 512), conf_count_wait (0));
  fact_r ("set-7", CX (cuGraphNodeSetEnabled, exec, conf_node (graph, 0), 7));
  CX (cuGraphNodeGetEnabled, exec, conf_node (graph, 0), &enabled);
  fact ("get=%u", enabled);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("value=%u", conf_peek (at));
  fact_r ("foreign-node", CX (cuGraphNodeSetEnabled, exec, conf_node (adding_graph (), 0), 0));
  fact_r ("null-node", CX (cuGraphNodeSetEnabled, exec, NULL, 0));
  fact_r ("null-exec", CX (cuGraphNodeSetEnabled, NULL, conf_node (graph, 0), 0));
  fact_r ("get-null-out", CX (cuGraphNodeGetEnabled, exec, conf_node (graph, 0), NULL));
}

/* --- host functions --- */

static void
run_host_node (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  (void)test;
  conf_count_reset ();
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  fact_r ("host", cu.cuLaunchHostFunc (stream, conf_count_bump, NULL));
  conf_end_graph (stream, &graph);
  fact ("ran=%d", conf_count_settle ());
  CUgraphExec exec = conf_make_exec (graph);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("ran=%d", conf_count_wait (2));
}

static CUstream inner_stream;
static CUevent inner_event;
static CUgraphExec inner_exec;
static CUdeviceptr inner_memory;
static int inner_results[16];

/* From a host function: one call that might block, or the harmless ones in turn. */
static void
inner (void *data)
{
  int which = *(const int *)data;
  CUdeviceptr memory = 0;
  CUcontext context = NULL;
  int status = 0;
  const char *name = NULL;
  uint64_t id = 0;
  switch (which)
    {
    case 0:
      inner_results[0] = cu.cuMemAlloc (&memory, 4096);
      inner_results[1] = conf_kernel (inner_stream);
      inner_results[2] = cu.cuEventQuery (inner_event);
      inner_results[3] = cu.cuStreamQuery (inner_stream);
      inner_results[4] = cu.cuCtxGetCurrent (&context);
      inner_results[5] = cu.cuStreamIsCapturing (inner_stream, &status);
      inner_results[6] = cu.cuDeviceGetCount (&status);
      inner_results[7] = cu.cuGetErrorName (1, &name);
      inner_results[8] = cu.cuEventRecord (inner_event, inner_stream);
      inner_results[9] = cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, w.a);
      inner_results[10] = cu.cuCtxSetCurrent (w.context);
      inner_results[11] = cu.cuDriverGetVersion (&status);
      inner_results[12] = context == NULL ? 0 : context == w.context ? 1 : 2;
      break;
    case 1:
      inner_results[0] = cu.cuStreamSynchronize (inner_stream);
      break;
    case 2:
      inner_results[0] = cu.cuCtxSynchronize ();
      break;
    case 3:
      inner_results[0] = cu.cuEventSynchronize (inner_event);
      break;
    case 4:
      inner_results[0] = cu.cuMemFree (inner_memory);
      break;
    case 5:
      inner_results[0] = cu.cuGraphLaunch (inner_exec, inner_stream);
      break;
    case 6:
      inner_results[0] = cu.cuMemcpyDtoH (&status, w.a, 4);
      break;
    case 7:
      inner_results[0] = cu.cuStreamBeginCapture (inner_stream, MCU_CAPTURE_MODE_RELAXED);
      break;
    }
  conf_count_bump (NULL);
}

static void
run_inner (const ConfCase *test)
{
  static int which;
  CUstream stream = conf_stream (true);
  which = test->arg;
  inner_stream = conf_stream (true);
  inner_event = conf_event ();
  inner_exec = conf_make_exec (conf_make_graph (1, 0));
  cu.cuMemAlloc (&inner_memory, 4096);
  cu.cuEventRecord (inner_event, inner_stream);
  cu.cuStreamSynchronize (inner_stream);
  conf_count_reset ();
  memset (inner_results, 0, sizeof inner_results);
  if (test->data == NULL)
    fact_r ("host-function", cu.cuLaunchHostFunc (stream, inner, &which));
  else
    {
      CUgraph graph = NULL;
      cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
      cu.cuLaunchHostFunc (stream, inner, &which);
      cu.cuStreamEndCapture (stream, &graph);
      CUgraphExec exec = conf_make_exec (conf_own_graph (graph));
      fact_r ("launch", cu.cuGraphLaunch (exec, stream));
    }
  int done = conf_count_wait (1);
  if (done == 0)
    {
      fact ("hangs");
      _exit (5);
    }
  if (which == 0)
    {
      static const char *const names[]
          = { "cuMemAlloc",      "cuLaunchKernel",        "cuEventQuery",     "cuStreamQuery",
              "cuCtxGetCurrent", "cuStreamIsCapturing",   "cuDeviceGetCount", "cuGetErrorName",
              "cuEventRecord",   "cuPointerGetAttribute", "cuCtxSetCurrent",  "cuDriverGetVersion" };
      for (int i = 0; i < 12; i++)
        fact_r (names[i], inner_results[i]);
      fact ("current-context=%s", inner_results[12] == 0 ? "NULL" : inner_results[12] == 1 ? "main" : "other");
    }
  else
    fact_r ("result", inner_results[0]);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("inner=%s", conf_status (inner_stream));
}

void
conf_cases_exec (void)
{
  static const int flags[] = { 0, 1, 2, 4, 5, 8, 16, 256 };
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    conf_add (0, run_flags, 0, flags[i], NULL, "instantiate/flags/%d", flags[i]);
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    conf_add (0, run_with_params, 0, flags[i], NULL, "instantiate/with-params/%d", flags[i]);
  conf_add (0, run_with_params, 0, 2, "", "instantiate/with-params/2-and-stream");
  conf_add (0, run_nulls, 0, 0, NULL, "exec/nulls");
  conf_add (0, run_graph_destroyed, 0, 0, NULL, "exec/graph-destroyed-first");
  conf_add (0, run_relaunch, 0, 0, NULL, "exec/relaunch/same-stream");
  conf_add (0, run_relaunch, 0, 1, NULL, "exec/relaunch/other-stream");
  conf_add (0, run_destroy_in_flight, 0, 0, NULL, "exec/destroy-in-flight");
  conf_add (0, run_destroy_in_flight, 0, 1, NULL, "exec/destroy-both-in-flight");
  conf_add (0, run_enabled, 0, 0, NULL, "exec/enabled");
  conf_add (0, run_host_node, 0, 0, NULL, "host/node");
  static const char *const calls[]
      = { "harmless-calls", "cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize",
          "cuMemFree",      "cuGraphLaunch",       "cuMemcpyDtoH",     "cuStreamBeginCapture" };
  for (int i = 0; i < 8; i++)
    {
      conf_add (CONF_ISOLATED, run_inner, 0, i, NULL, "host/eager/%s", calls[i]);
      if (i < 2)
        conf_add (CONF_ISOLATED, run_inner, 0, i, "", "host/graph/%s", calls[i]);
    }
}
