/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-end.c: the ways a capture ends, what an invalidated one answers, and capture into a caller's graph. */
#include "runtime.h"

static int
begin (CUstream stream, int mode)
{
  return cu.cuStreamBeginCapture (stream, mode);
}

typedef struct
{
  CUstream stream;
  CUgraph graph;
  bool null_output;
} End;

static int
end_on_thread (void *data)
{
  End *end = data;
  return cu.cuStreamEndCapture (end->stream, end->null_output ? NULL : &end->graph);
}

static void
run_not_capturing (const ConfCase *test)
{
  CUstream stream = test->arg == 2 ? NULL : conf_stream (test->arg);
  CUgraph graph = (CUgraph)1;
  fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
  fact ("graph=%s", graph == NULL ? "NULL" : graph == (CUgraph)1 ? "untouched" : "set");
  fact_r ("end-null-output", cu.cuStreamEndCapture (stream, NULL));
}

/* Is the output set to NULL when end fails? */
static void
run_output (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = (CUgraph)1;
  begin (stream, MCU_CAPTURE_MODE_RELAXED);
  (void)test;
  cu.cuStreamQuery (stream);
  fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
  fact ("graph=%s", graph == NULL ? "NULL" : graph == (CUgraph)1 ? "untouched" : "set");
}

static void
run_null_output (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  begin (stream, test->mode);
  conf_kernel (stream);
  if (test->arg == 1)
    cu.cuStreamQuery (stream);
  End end = { stream, NULL, true };
  if (test->arg == 2)
    fact_r ("end-null-output-on-other-thread", conf_on_thread (end_on_thread, &end, -1));
  else
    fact_r ("end-null-output", cu.cuStreamEndCapture (stream, NULL));
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

static void
run_wrong_thread (const ConfCase *test)
{
  CUstream stream = conf_stream (test->data != NULL);
  begin (stream, test->mode);
  conf_kernel (stream);
  End end = { stream, NULL, false };
  fact_r ("end-on-other-thread", conf_on_thread (end_on_thread, &end, test->arg));
  fact ("graph=%s status=%s", conf_graph (conf_own_graph (end.graph)), conf_status (stream));
  conf_end (stream);
}

/* Begun on a thread that no longer exists. */
static int
begin_on_thread (void *data)
{
  End *end = data;
  return begin (end->stream, end->null_output ? MCU_CAPTURE_MODE_RELAXED : MCU_CAPTURE_MODE_THREAD_LOCAL);
}

static void
run_begun_elsewhere (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  End end = { stream, NULL, test->arg };
  fact_r ("begin-on-a-thread-that-ends", conf_on_thread (begin_on_thread, &end, -1));
  fact_r ("kernel", conf_kernel (stream));
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

static void
fork_to (CUstream stream, CUstream fork)
{
  CUevent event = conf_event ();
  cu.cuEventRecord (event, stream);
  cu.cuStreamWaitEvent (fork, event, 0);
}

static void
run_on_fork (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUstream fork = conf_stream (test->arg);
  CUgraph graph = NULL;
  begin (stream, test->mode);
  conf_kernel (stream);
  fork_to (stream, fork);
  if (test->data != NULL)
    {
      conf_kernel (fork);
      fork_to (fork, stream);
    }
  fact_r ("end-on-fork", cu.cuStreamEndCapture (fork, &graph));
  fact ("graph=%s status=%s/%s", conf_graph (conf_own_graph (graph)), conf_status (stream), conf_status (fork));
  conf_end (stream);
  fact ("fork=%s", conf_status (fork));
  fact ("fork-fresh=%s", conf_fresh (fork));
}

enum
{
  UNJOINED_WORK,
  UNJOINED_EMPTY,
  UNJOINED_INVALIDATED,
  UNJOINED_RECORDED /* the fork recorded its event, the origin never waited */
};

static void
run_unjoined (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  begin (stream, test->mode);
  conf_kernel (stream);
  fork_to (stream, fork);
  if (test->arg != UNJOINED_EMPTY)
    fact_r ("kernel-fork", conf_kernel (fork));
  if (test->arg == UNJOINED_RECORDED)
    cu.cuEventRecord (conf_event (), fork);
  if (test->arg == UNJOINED_INVALIDATED)
    fact_r ("break", cu.cuStreamQuery (fork));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  conf_end (stream);
  CUgraph graph = NULL;
  fact ("fork=%s", conf_status (fork));
  fact_r ("end-again", cu.cuStreamEndCapture (stream, &graph));
  fact_r ("end-on-fork", cu.cuStreamEndCapture (fork, &graph));
  fact ("fork-fresh=%s", conf_fresh (fork));
}

static void
run_invalidated (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUgraph graph = NULL;
  begin (stream, test->mode);
  conf_kernel (stream);
  fact_r ("break", cu.cuStreamSynchronize (stream));
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
  fact_r ("end-again", cu.cuStreamEndCapture (stream, &graph));
}

/* What the members of an invalidated capture answer. */
enum
{
  AFTER_KERNEL,
  AFTER_FILL,
  AFTER_COPY,
  AFTER_HOST,
  AFTER_RECORD,
  AFTER_WAIT_CAPTURED,
  AFTER_WAIT_ORDINARY,
  AFTER_SYNC,
  AFTER_QUERY,
  AFTER_INFO,
  AFTER_UPDATE,
  AFTER_ALLOC_ASYNC,
  AFTER_QUERY_EVENT,
  AFTER_LAUNCH_GRAPH,
  AFTER_MEM_ALLOC,
  AFTER_CTX_SYNC,
  N_AFTER
};

static const char *const after_names[N_AFTER] = { "kernel",       "fill",          "copy",          "host-function",
                                                  "event-record", "wait-captured", "wait-ordinary", "sync",
                                                  "query",        "info",          "update-deps",   "mem-alloc-async",
                                                  "event-query",  "graph-launch",  "alloc",         "ctx-sync" };

static void
run_after (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUstream outside = conf_stream (true);
  CUevent captured = conf_event ();
  CUevent ordinary = conf_event ();
  CUgraphExec exec = conf_make_exec (conf_make_graph (1, 0));
  CUdeviceptr memory = 0;
  int status = -1;
  uint64_t id = 0;
  CUgraph graph = NULL;
  cu.cuEventRecord (ordinary, outside);
  cu.cuStreamSynchronize (outside);
  for (int member = 0; member < 2; member++)
    {
      begin (stream, test->mode);
      conf_kernel (stream);
      cu.cuEventRecord (captured, stream);
      cu.cuStreamWaitEvent (fork, captured, 0);
      cu.cuStreamQuery (stream);
      CUstream s = member == 0 ? stream : fork;
      int r = CONF_ABSENT;
      switch (test->arg)
        {
        case AFTER_KERNEL:
          r = conf_kernel (s);
          break;
        case AFTER_FILL:
          r = conf_fill (s);
          break;
        case AFTER_COPY:
          r = cu.cuMemcpyDtoDAsync (w.a, w.b, 64, s);
          break;
        case AFTER_HOST:
          r = cu.cuLaunchHostFunc (s, conf_count_bump, NULL);
          break;
        case AFTER_RECORD:
          r = cu.cuEventRecord (ordinary, s);
          break;
        case AFTER_WAIT_CAPTURED:
          r = cu.cuStreamWaitEvent (s, captured, 0);
          break;
        case AFTER_WAIT_ORDINARY:
          r = cu.cuStreamWaitEvent (s, ordinary, 0);
          break;
        case AFTER_SYNC:
          r = cu.cuStreamSynchronize (s);
          break;
        case AFTER_QUERY:
          r = cu.cuStreamQuery (s);
          break;
        case AFTER_INFO:
          r = cu.cuStreamGetCaptureInfo_v2 (s, &status, &id, &graph, NULL, NULL);
          break;
        case AFTER_UPDATE:
          r = CX (cuStreamUpdateCaptureDependencies, s, NULL, 0, MCU_CAPTURE_SET_DEPENDENCIES);
          break;
        case AFTER_ALLOC_ASYNC:
          r = cu.cuMemAllocAsync (&memory, 4096, s);
          break;
        case AFTER_QUERY_EVENT:
          r = cu.cuEventQuery (captured);
          break;
        case AFTER_LAUNCH_GRAPH:
          r = cu.cuGraphLaunch (exec, s);
          break;
        case AFTER_MEM_ALLOC:
          r = cu.cuMemAlloc (&memory, 4096);
          conf_own_memory (memory);
          memory = 0;
          break;
        case AFTER_CTX_SYNC:
          r = cu.cuCtxSynchronize ();
          break;
        }
      fact ("%s=%s status=%s/%s", member == 0 ? "origin" : "fork", conf_r (r), conf_status (stream),
            conf_status (fork));
      conf_end (stream);
    }
  if (test->arg == AFTER_INFO)
    fact ("info-status=%d graph=%s", status, graph == NULL ? "NULL" : "set");
}

/* --- cuStreamBeginCaptureToGraph --- */

enum
{
  TO_EMPTY,
  TO_FULL_NO_DEPENDENCIES,
  TO_FULL_AFTER,
  TO_NULL_GRAPH,
  TO_NULL_DEPENDENCIES,
  TO_FOREIGN_DEPENDENCY,
  TO_BAD_MODE,
  TO_INVALIDATED,
  TO_UNJOINED,
  TO_INSTANTIATE_MEANWHILE,
  TO_NULL_OUTPUT,
  TO_WRONG_THREAD,
  N_TO
};

static const char *const to_names[N_TO] = { "empty",
                                            "no-dependencies",
                                            "after-a-node",
                                            "null-graph",
                                            "null-dependencies",
                                            "foreign-dependency",
                                            "bad-mode",
                                            "invalidated",
                                            "unjoined",
                                            "instantiate-meanwhile",
                                            "null-output",
                                            "wrong-thread" };

static void
run_to_graph (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUgraph graph = NULL;
  CUgraph out = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode dependency = NULL;
  cu.cuGraphCreate (&graph, 0);
  conf_own_graph (graph);
  if (test->arg != TO_EMPTY)
    fact_r ("add", CX (cuGraphAddEmptyNode, &dependency, graph, NULL, 0));
  if (test->arg == TO_FOREIGN_DEPENDENCY)
    dependency = conf_node (conf_make_graph (1, 0), 0);
  size_t count = test->arg == TO_EMPTY || test->arg == TO_FULL_NO_DEPENDENCIES ? 0 : 1;
  int begun = CX (cuStreamBeginCaptureToGraph, stream, test->arg == TO_NULL_GRAPH ? NULL : graph,
                  test->arg == TO_NULL_DEPENDENCIES || count == 0 ? NULL : &dependency, NULL, count,
                  test->arg == TO_BAD_MODE ? 3 : test->mode);
  fact_r ("begin", begun);
  fact ("status=%s", conf_status (stream));
  if (begun != 0)
    return;
  fact_r ("kernel", conf_kernel (stream));
  if (test->arg == TO_INVALIDATED)
    fact_r ("break", cu.cuStreamQuery (stream));
  if (test->arg == TO_UNJOINED)
    {
      fork_to (stream, fork);
      fact_r ("kernel-fork", conf_kernel (fork));
    }
  if (test->arg == TO_INSTANTIATE_MEANWHILE)
    {
      conf_set_thread_mode (MCU_CAPTURE_MODE_RELAXED);
      fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
      conf_set_thread_mode (MCU_CAPTURE_MODE_GLOBAL);
      conf_own_exec (exec);
      exec = NULL;
    }
  End end = { stream, NULL, false };
  if (test->arg == TO_WRONG_THREAD)
    fact_r ("end-on-other-thread", conf_on_thread (end_on_thread, &end, -1));
  fact_r ("end", cu.cuStreamEndCapture (stream, test->arg == TO_NULL_OUTPUT ? NULL : &out));
  fact ("out=%s status=%s graph=%s",
        out == NULL    ? "NULL"
        : out == graph ? "same"
                       : "other",
        conf_status (stream), conf_graph (graph));
  fact ("fresh=%s", conf_fresh (stream));
  size_t edges = 0;
  fact_r ("edges", cu.cuGraphGetEdges (graph, NULL, NULL, &edges));
  fact ("n=%zu", edges);
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
  if (exec != NULL)
    fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
}

void
conf_cases_end (void)
{
  conf_add (0, run_not_capturing, 0, 0, NULL, "end/not-capturing/blocking");
  conf_add (0, run_not_capturing, 0, 1, NULL, "end/not-capturing/nonblocking");
  conf_add (0, run_not_capturing, 0, 2, NULL, "end/not-capturing/null-stream");
  conf_add (0, run_output, 2, 0, NULL, "end/failed-output");
  conf_add_modes (run_null_output, 0, NULL, "end/null-output");
  conf_add (0, run_null_output, 2, 1, NULL, "end/null-output-invalidated");
  conf_add (0, run_null_output, 1, 2, NULL, "end/null-output-wrong-thread");
  for (int mode = 0; mode < 3; mode++)
    {
      const char *m = conf_mode_names[mode];
      conf_add (0, run_wrong_thread, mode, -1, NULL, "end/wrong-thread/%s/blocking", m);
      conf_add (0, run_wrong_thread, mode, -1, "", "end/wrong-thread/%s/nonblocking", m);
      conf_add (0, run_wrong_thread, mode, MCU_CAPTURE_MODE_RELAXED, "", "end/wrong-thread-relaxed/%s", m);
      conf_add (0, run_on_fork, mode, 0, NULL, "end/on-fork/%s/blocking", m);
      conf_add (0, run_on_fork, mode, 1, NULL, "end/on-fork/%s/nonblocking", m);
      conf_add (0, run_on_fork, mode, 1, "", "end/on-joined-fork/%s", m);
      conf_add (0, run_invalidated, mode, 0, NULL, "end/invalidated/%s/blocking", m);
      conf_add (0, run_invalidated, mode, 1, NULL, "end/invalidated/%s/nonblocking", m);
    }
  conf_add (0, run_begun_elsewhere, 1, 0, NULL, "end/begun-elsewhere/thread-local");
  conf_add (0, run_begun_elsewhere, 2, 1, NULL, "end/begun-elsewhere/relaxed");
  conf_add_modes (run_unjoined, UNJOINED_WORK, NULL, "end/unjoined");
  conf_add_modes (run_unjoined, UNJOINED_EMPTY, NULL, "end/unjoined-empty-fork");
  conf_add_modes (run_unjoined, UNJOINED_INVALIDATED, NULL, "end/unjoined-invalidated");
  conf_add (0, run_unjoined, 2, UNJOINED_RECORDED, NULL, "end/unjoined-recorded");
  for (int after = 0; after < N_AFTER; after++)
    conf_add (0, run_after, MCU_CAPTURE_MODE_RELAXED, after, NULL, "invalidated/%s", after_names[after]);
  conf_add (0, run_after, MCU_CAPTURE_MODE_GLOBAL, AFTER_MEM_ALLOC, NULL, "invalidated/alloc/global");
  conf_add (0, run_after, MCU_CAPTURE_MODE_THREAD_LOCAL, AFTER_MEM_ALLOC, NULL, "invalidated/alloc/thread-local");
  for (int to = 0; to < N_TO; to++)
    conf_add (0, run_to_graph, MCU_CAPTURE_MODE_THREAD_LOCAL, to, NULL, "to-graph/%s", to_names[to]);
  conf_add (0, run_to_graph, MCU_CAPTURE_MODE_RELAXED, TO_WRONG_THREAD, NULL, "to-graph/wrong-thread/relaxed");
}
