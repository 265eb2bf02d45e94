/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-capture.c: begin, what a capture is, and several captures at once. */
#include "runtime.h"

static const char *const kind_names[2] = { "blocking", "nonblocking" };

static int
begin (CUstream stream, int mode)
{
  return cu.cuStreamBeginCapture (stream, mode);
}

static void
run_empty (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  fact_r ("begin", begin (stream, test->mode));
  fact ("status=%s", conf_status (stream));
  conf_end_graph (stream, &graph);
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
  fact_r ("upload", cu.cuGraphUpload (exec, stream));
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
}

/* Executed never at capture, once per launch. */
static void
run_one_kernel (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUgraph graph = NULL;
  conf_poke (w.a, 10);
  conf_poke (w.b, 1);
  fact_r ("begin", begin (stream, test->mode));
  fact_r ("kernel", conf_kernel_add (stream));
  fact ("status=%s", conf_status (stream));
  conf_end_graph (stream, &graph);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("ran=%d", (int)conf_peek (w.a) - 10);
  conf_poke (w.b, 1);
  CUgraphExec exec = conf_make_exec (graph);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("ran=%d", (int)conf_peek (w.a) - 10);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("ran=%d", (int)conf_peek (w.a) - 10);
}

enum
{
  AGAIN_ORIGIN,
  AGAIN_FORK,
  AGAIN_INVALIDATED,
  AGAIN_BAD_MODE
};

static void
run_again (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  cu.cuStreamWaitEvent (fork, event, 0);
  if (test->arg == AGAIN_INVALIDATED)
    fact_r ("break", cu.cuStreamQuery (stream));
  fact_r ("begin", begin (test->arg == AGAIN_FORK ? fork : stream, test->arg == AGAIN_BAD_MODE ? 3 : test->mode));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  conf_end (stream);
  fact ("fork=%s", conf_status (fork));
}

/* Streams that are not of our making. */
static void
run_begin_special (const ConfCase *test)
{
  CUstream stream = test->arg == 0 ? NULL : test->arg == 1 ? MCU_STREAM_LEGACY : MCU_STREAM_PER_THREAD;
  CUgraph graph = NULL;
  fact_r ("begin", begin (stream, test->mode));
  fact ("status=%s", conf_status (stream));
  fact_r ("kernel", conf_kernel (stream));
  fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
  fact ("graph=%s status=%s", conf_graph (conf_own_graph (graph)), conf_status (stream));
}

static void
run_begin_arguments (const ConfCase *test)
{
  CUstream stream = test->data != NULL ? NULL : conf_stream (true);
  fact_r ("begin", begin (stream, test->arg));
  fact ("status=%s", conf_status (stream));
  if (stream != NULL)
    conf_end (stream);
}

static int
begin_on_thread (void *data)
{
  return begin (data, MCU_CAPTURE_MODE_RELAXED);
}

static void
run_begin_no_context (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  (void)test;
  fact_r ("begin without a current context", conf_on_bare_thread (begin_on_thread, stream));
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

static int
work_on_thread (void *data)
{
  CUstream stream = data;
  CUgraph graph = NULL;
  int status = -1;
  fact_r ("is-capturing", cu.cuStreamIsCapturing (stream, &status));
  fact ("status=%d", status);
  fact_r ("kernel", conf_kernel (stream));
  int result = cu.cuStreamEndCapture (stream, &graph);
  conf_own_graph (graph);
  return result;
}

/* Is a current context needed for the calls inside a capture and for its end? */
static void
run_work_no_context (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  (void)test;
  begin (stream, MCU_CAPTURE_MODE_RELAXED);
  fact_r ("end without a current context", conf_on_bare_thread (work_on_thread, stream));
  fact ("status=%s", conf_status (stream));
}

static void
run_pending_work (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUgraph graph = NULL;
  conf_poke (w.a + 512, 0); /* before the gate: this copy waits for blocking streams */
  ConfGate *gate = conf_gate (stream);
  fact_r ("begin", begin (stream, test->mode));
  fact_r ("kernel", conf_kernel_store (stream, w.a + 512, 7));
  conf_end_graph (stream, &graph);
  fact_r ("query", cu.cuStreamQuery (stream));
  conf_gate_open (gate);
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("value=%u", conf_peek (w.a + 512));
}

/* Two captures begun by one thread, ended in either order. */
static void
run_two (const ConfCase *test)
{
  CUstream first = conf_stream (true);
  CUstream second = conf_stream (true);
  fact_r ("begin", begin (first, test->mode));
  fact_r ("begin", begin (second, test->mode));
  fact_r ("kernel", conf_kernel (first));
  fact_r ("fill", conf_fill (second));
  fact ("status=%s/%s", conf_status (first), conf_status (second));
  conf_end (test->arg ? second : first);
  fact ("status=%s/%s", conf_status (first), conf_status (second));
  conf_end (test->arg ? first : second);
}

/* A violation in one capture and its neighbour: the neighbour's mode is the case's argument. */
static void
run_two_break (const ConfCase *test)
{
  CUstream first = conf_stream (true);
  CUstream second = conf_stream (true);
  CUdeviceptr memory = 0;
  begin (first, test->mode);
  begin (second, test->arg);
  conf_kernel (first);
  conf_kernel (second);
  fact_r ("query-first", cu.cuStreamQuery (first));
  fact ("status=%s/%s", conf_status (first), conf_status (second));
  fact_r ("alloc", cu.cuMemAlloc (&memory, 4096));
  conf_own_memory (memory);
  fact ("status=%s/%s", conf_status (first), conf_status (second));
  conf_end (first);
  conf_end (second);
}

static void
run_ids (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  uint64_t ids[3] = { 0, 0, 0 };
  int status = 0;
  for (int round = 0; round < 2; round++)
    {
      begin (stream, test->mode);
      conf_kernel (stream);
      cu.cuEventRecord (event, stream);
      cu.cuStreamWaitEvent (fork, event, 0);
      fact_r ("info-origin", cu.cuStreamGetCaptureInfo_v2 (stream, &status, &ids[round], NULL, NULL, NULL));
      fact_r ("info-fork", cu.cuStreamGetCaptureInfo_v2 (fork, &status, &ids[2], NULL, NULL, NULL));
      fact ("positive=%s fork-has-it=%s", conf_yes (ids[round] > 0), conf_yes (ids[2] == ids[round]));
      conf_end (stream);
    }
  fact ("second-id-greater=%s", conf_yes (ids[1] > ids[0]));
}

static void
run_destroy_mid_capture (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  cu.cuStreamWaitEvent (fork, event, 0);
  conf_kernel (fork);
  if (test->arg == 1) /* joined first */
    {
      cu.cuEventRecord (event, fork);
      cu.cuStreamWaitEvent (stream, event, 0);
    }
  fact_r ("destroy-fork", cu.cuStreamDestroy (fork));
  conf_forget (fork);
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

static void
run_destroy_origin (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  CUdeviceptr memory = 0;
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  cu.cuStreamWaitEvent (fork, event, 0);
  fact_r ("destroy-origin", cu.cuStreamDestroy (stream));
  conf_forget (stream);
  fact ("fork=%s", conf_status (fork));
  fact_r ("kernel-fork", conf_kernel (fork));
  fact ("fork=%s", conf_status (fork));
  CUgraph graph = NULL;
  fact_r ("end-fork", cu.cuStreamEndCapture (fork, &graph));
  fact ("fork=%s", conf_status (fork));
  fact_r ("alloc", cu.cuMemAlloc (&memory, 4096));
  conf_own_memory (memory);
}

static void
run_destroy_event (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  cu.cuStreamWaitEvent (fork, event, 0);
  fact_r ("destroy-event", cu.cuEventDestroy (event));
  conf_forget (event);
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  CUevent join = conf_event ();
  conf_kernel (fork);
  cu.cuEventRecord (join, fork);
  cu.cuStreamWaitEvent (stream, join, 0);
  conf_end (stream);
}

/* Work that escapes a capture on a NON_BLOCKING stream: does it run now? */
enum
{
  ESCAPE_LEGACY_KERNEL,
  ESCAPE_SIDE_KERNEL,
  ESCAPE_SYNC_COPY,
  ESCAPE_SYNC_SET,
  ESCAPE_LEGACY_COPY,
  N_ESCAPES
};

static const char *const escape_names[N_ESCAPES]
    = { "legacy-kernel", "side-kernel", "sync-copy", "sync-set", "legacy-copy" };

static void
run_escape (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream side = conf_stream (true);
  CUdeviceptr at = w.a + 1024;
  uint32_t value = 5;
  int result = CONF_ABSENT;
  conf_poke (at, 0);
  begin (stream, test->mode);
  conf_kernel (stream);
  if (test->arg == ESCAPE_LEGACY_KERNEL)
    result = conf_kernel_store (NULL, at, 5);
  else if (test->arg == ESCAPE_SIDE_KERNEL)
    result = conf_kernel_store (side, at, 5);
  else if (test->arg == ESCAPE_SYNC_COPY)
    result = cu.cuMemcpyHtoD (at, &value, sizeof value);
  else if (test->arg == ESCAPE_SYNC_SET)
    result = CX (cuMemsetD32, at, 5, 1);
  else
    result = cu.cuMemcpyHtoDAsync (at, &value, sizeof value, NULL);
  fact_r (escape_names[test->arg], result);
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
  fact_r ("sync", cu.cuCtxSynchronize ());
  fact ("value=%u", conf_peek (at));
}

void
conf_cases_capture (void)
{
  for (int mode = 0; mode < 3; mode++)
    for (int kind = 0; kind < 2; kind++)
      {
        const char *m = conf_mode_names[mode];
        const char *k = kind_names[kind];
        conf_add (0, run_empty, mode, kind, NULL, "capture/empty/%s/%s", m, k);
        conf_add (0, run_one_kernel, mode, kind, NULL, "capture/one-kernel/%s/%s", m, k);
      }
  conf_add_modes (run_again, AGAIN_ORIGIN, NULL, "begin/capturing");
  conf_add_modes (run_again, AGAIN_FORK, NULL, "begin/fork");
  conf_add_modes (run_again, AGAIN_INVALIDATED, NULL, "begin/invalidated");
  conf_add (0, run_again, 0, AGAIN_BAD_MODE, NULL, "begin/capturing-bad-mode");
  conf_add_modes (run_begin_special, 0, NULL, "begin/null-stream");
  conf_add (0, run_begin_special, 2, 1, NULL, "begin/legacy-handle");
  conf_add_modes (run_begin_special, 2, NULL, "begin/per-thread");
  conf_add (0, run_begin_arguments, 0, 3, NULL, "begin/mode-3");
  conf_add (0, run_begin_arguments, 0, -1, NULL, "begin/mode-minus-1");
  conf_add (0, run_begin_arguments, 0, 3, "legacy", "begin/null-stream-mode-3");
  conf_add (0, run_begin_no_context, 2, 0, NULL, "begin/no-context");
  conf_add (0, run_work_no_context, 2, 0, NULL, "capture/no-context");
  for (int kind = 0; kind < 2; kind++)
    conf_add (0, run_pending_work, 0, kind, NULL, "begin/pending-work/%s", kind_names[kind]);
  conf_add_modes (run_two, 0, NULL, "capture/two-in-order");
  conf_add_modes (run_two, 1, NULL, "capture/two-reversed");
  for (int mode = 0; mode < 3; mode++)
    for (int other = 0; other < 3; other++)
      conf_add (0, run_two_break, mode, other, NULL, "capture/two-one-breaks/%s/%s", conf_mode_names[mode],
                conf_mode_names[other]);
  conf_add_modes (run_ids, 0, NULL, "capture/ids");
  conf_add_modes (run_destroy_mid_capture, 0, NULL, "capture/destroy-fork-unjoined");
  conf_add_modes (run_destroy_mid_capture, 1, NULL, "capture/destroy-fork-joined");
  conf_add_modes (run_destroy_event, 0, NULL, "capture/destroy-event");
  for (int mode = 0; mode < 3; mode++)
    conf_add (CONF_ISOLATED, run_destroy_origin, mode, 0, NULL, "capture/destroy-origin/%s", conf_mode_names[mode]);
  for (int escape = 0; escape < N_ESCAPES; escape++)
    conf_add_modes (run_escape, escape, NULL, conf_format ("escape/%s", escape_names[escape]));
}
