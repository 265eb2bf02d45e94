/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-thread.c: the thread capture mode, and how far a refusal reaches: threads and contexts. */
#include "runtime.h"

static int
exchange_and_report (void *data)
{
  int mode = *(int *)data;
  int result = cu.cuThreadExchangeStreamCaptureMode (&mode);
  fact ("exchange=%d old=%d", result, mode);
  mode = MCU_CAPTURE_MODE_GLOBAL;
  result = cu.cuThreadExchangeStreamCaptureMode (&mode);
  fact ("back=%d old=%d", result, mode);
  return 0;
}

static void
run_exchange (const ConfCase *test)
{
  int mode = test->arg;
  conf_on_thread (exchange_and_report, &mode, -1);
}

static int
exchange_null (void *data)
{
  (void)data;
  return cu.cuThreadExchangeStreamCaptureMode (NULL);
}

static void
run_exchange_null (const ConfCase *test)
{
  (void)test;
  fact_r ("exchange-null", conf_on_thread (exchange_null, NULL, -1));
}

static void
run_exchange_bare (const ConfCase *test)
{
  int mode = MCU_CAPTURE_MODE_RELAXED;
  (void)test;
  conf_on_bare_thread (exchange_and_report, &mode);
}

/* The exchange during a capture, and does it outlive it? */
static void
run_exchange_during (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  int mode = MCU_CAPTURE_MODE_RELAXED;
  cu.cuStreamBeginCapture (stream, test->mode);
  conf_kernel (stream);
  fact_r ("exchange", cu.cuThreadExchangeStreamCaptureMode (&mode));
  fact ("old=%d status=%s", mode, conf_status (stream));
  conf_end (stream);
  mode = MCU_CAPTURE_MODE_GLOBAL;
  fact_r ("exchange", cu.cuThreadExchangeStreamCaptureMode (&mode));
  fact ("old=%d", mode);
}

/* The rule of potentially unsafe calls, in full: capture mode, thread mode, thread. */
typedef struct
{
  CUevent ordinary;
  CUstream side;
  CUdeviceptr memory;
} Unsafe;

static int
unsafe_alloc (void *data)
{
  Unsafe *unsafe = data;
  return cu.cuMemAlloc (&unsafe->memory, 4096);
}

static int
unsafe_event_query (void *data)
{
  return cu.cuEventQuery (((Unsafe *)data)->ordinary);
}

static int
unsafe_side_sync (void *data)
{
  return cu.cuStreamSynchronize (((Unsafe *)data)->side);
}

typedef struct
{
  const char *name;
  int (*fn) (void *data);
} UnsafeCall;

static const UnsafeCall unsafe_calls[]
    = { { "alloc", unsafe_alloc }, { "event-query", unsafe_event_query }, { "side-sync", unsafe_side_sync } };

static void
run_matrix (const ConfCase *test)
{
  const UnsafeCall *call = test->data;
  CUstream stream = conf_stream (true);
  Unsafe unsafe = { conf_event (), conf_stream (true), 0 };
  cu.cuEventRecord (unsafe.ordinary, unsafe.side);
  cu.cuStreamSynchronize (unsafe.side);
  for (int other = 0; other < 2; other++)
    for (int thread_mode = 0; thread_mode < 3; thread_mode++)
      {
        int result;
        cu.cuStreamBeginCapture (stream, test->mode);
        conf_kernel (stream);
        if (other)
          result = conf_on_thread (call->fn, &unsafe, thread_mode);
        else
          {
            conf_set_thread_mode (thread_mode);
            result = call->fn (&unsafe);
            conf_set_thread_mode (MCU_CAPTURE_MODE_GLOBAL);
          }
        fact ("%s thread %s: call=%d status=%s", other ? "other" : "begin", conf_mode_names[thread_mode], result,
              conf_status (stream));
        conf_end (stream);
        conf_own_memory (unsafe.memory);
        unsafe.memory = 0;
      }
}

/* The begin thread is gone by the time of the unsafe call. */
static int
begin_here (void *data)
{
  return cu.cuStreamBeginCapture (data, MCU_CAPTURE_MODE_RELAXED);
}

static int
begin_here_local (void *data)
{
  return cu.cuStreamBeginCapture (data, MCU_CAPTURE_MODE_THREAD_LOCAL);
}

static void
run_orphan (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  Unsafe unsafe = { NULL, NULL, 0 };
  fact_r ("begin", conf_on_thread (test->arg ? begin_here_local : begin_here, stream, -1));
  fact_r ("alloc", unsafe_alloc (&unsafe));
  conf_own_memory (unsafe.memory);
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

/* --- scope: what a call in another context does to a capture in this one --- */

typedef struct
{
  const ConfCase *test;
  CUevent ordinary;
  CUdeviceptr memory, buffer;
} Scope;

static const char *const scope_names[]
    = { "ctx-sync", "sync-copy", "alloc", "legacy-host-function", "legacy-fill", "event-query", "stream-sync" };

enum
{
  SCOPE_CTX_SYNC,
  SCOPE_SYNC_COPY,
  SCOPE_ALLOC,
  SCOPE_LEGACY_HOST,
  SCOPE_LEGACY_FILL,
  SCOPE_EVENT_QUERY,
  SCOPE_STREAM_SYNC,
  N_SCOPES
};

static int
scope_call (void *data)
{
  Scope *scope = data;
  uint32_t word = 0;
  CUcontext popped = NULL;
  int result = CONF_ABSENT;
  if (CU (cuCtxPushCurrent, conf_other_context ()) != 0)
    return CONF_ABSENT;
  switch (scope->test->arg)
    {
    case SCOPE_CTX_SYNC:
      result = cu.cuCtxSynchronize ();
      break;
    case SCOPE_SYNC_COPY:
      result = cu.cuMemcpyDtoH (&word, scope->buffer, sizeof word);
      break;
    case SCOPE_ALLOC:
      result = cu.cuMemAlloc (&scope->memory, 4096);
      break;
    case SCOPE_LEGACY_HOST:
      result = cu.cuLaunchHostFunc (NULL, conf_count_bump, NULL);
      break;
    case SCOPE_LEGACY_FILL:
      result = cu.cuMemsetD8Async (scope->buffer, 0, 64, NULL);
      break;
    case SCOPE_EVENT_QUERY:
      result = cu.cuEventQuery (scope->ordinary);
      break;
    case SCOPE_STREAM_SYNC:
      result = cu.cuStreamSynchronize (NULL);
      break;
    }
  cu.cuCtxPopCurrent (&popped);
  return result;
}

static void
run_scope (const ConfCase *test)
{
  static CUdeviceptr buffer;
  CUcontext popped = NULL;
  CUcontext other = conf_other_context ();
  Scope scope = { test, NULL, 0, 0 };
  if (other == NULL)
    return;
  cu.cuCtxPushCurrent (other);
  if (buffer == 0)
    cu.cuMemAlloc (&buffer, 4096);
  scope.buffer = buffer;
  cu.cuEventCreate (&scope.ordinary, 0);
  cu.cuEventRecord (scope.ordinary, NULL);
  cu.cuCtxSynchronize ();
  cu.cuCtxPopCurrent (&popped);
  for (int nonblocking = 0; nonblocking < 2; nonblocking++)
    for (int thread = 0; thread < 2; thread++)
      {
        CUstream stream = conf_stream (nonblocking);
        cu.cuStreamBeginCapture (stream, test->mode);
        conf_kernel (stream);
        int result = thread ? conf_on_thread (scope_call, &scope, -1) : scope_call (&scope);
        fact ("%s %s thread: call=%s status=%s", nonblocking ? "nonblocking" : "blocking", thread ? "other" : "begin",
              conf_r (result), conf_status (stream));
        conf_end (stream);
      }
  cu.cuEventDestroy (scope.ordinary);
  if (scope.memory != 0)
    {
      cu.cuCtxPushCurrent (other);
      cu.cuMemFree (scope.memory);
      cu.cuCtxPopCurrent (&popped);
    }
}

/* Capture on a stream while another context is current; a fork into a stream of another context. */
static void
run_foreign_current (const ConfCase *test)
{
  CUcontext popped = NULL;
  CUcontext other = conf_other_context ();
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  if (other == NULL)
    return;
  cu.cuCtxPushCurrent (other);
  fact_r ("begin", cu.cuStreamBeginCapture (stream, test->mode));
  fact_r ("kernel", conf_kernel (stream));
  fact_r ("fill", conf_fill (stream));
  fact ("status=%s", conf_status (stream));
  fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
  fact ("graph=%s status=%s", conf_graph (conf_own_graph (graph)), conf_status (stream));
  CUgraphExec exec = NULL;
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  cu.cuCtxPopCurrent (&popped);
}

static void
run_foreign_fork (const ConfCase *test)
{
  CUcontext popped = NULL;
  CUcontext other = conf_other_context ();
  CUstream stream = conf_stream (true);
  CUevent event = conf_event ();
  CUstream fork = NULL;
  CUevent join = NULL;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  if (other == NULL)
    return;
  cu.cuCtxPushCurrent (other);
  cu.cuStreamCreate (&fork, MCU_STREAM_NON_BLOCKING);
  cu.cuEventCreate (&join, 0);
  cu.cuCtxPopCurrent (&popped);
  cu.cuStreamBeginCapture (stream, test->mode);
  fact_r ("kernel", conf_kernel (stream));
  fact_r ("record", cu.cuEventRecord (event, stream));
  fact_r ("wait", cu.cuStreamWaitEvent (fork, event, 0));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  fact_r ("host-function-fork", cu.cuLaunchHostFunc (fork, conf_count_bump, NULL));
  fact_r ("record-join", cu.cuEventRecord (join, fork));
  fact_r ("wait-join", cu.cuStreamWaitEvent (stream, join, 0));
  conf_end_graph (stream, &graph);
  fact ("fork=%s", conf_status (fork));
  if (graph != NULL)
    fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
  if (exec != NULL)
    {
      fact_r ("launch", cu.cuGraphLaunch (exec, stream));
      fact_r ("sync", cu.cuStreamSynchronize (stream));
    }
  cu.cuStreamDestroy (fork);
  cu.cuEventDestroy (join);
}

void
conf_cases_thread (void)
{
  for (int mode = 0; mode < 3; mode++)
    conf_add (0, run_exchange, 0, mode, NULL, "thread-mode/exchange/%s", conf_mode_names[mode]);
  conf_add (0, run_exchange, 0, 3, NULL, "thread-mode/exchange/3");
  conf_add (0, run_exchange, 0, -1, NULL, "thread-mode/exchange/minus-1");
  conf_add (CONF_ISOLATED, run_exchange_null, 0, 0, NULL, "thread-mode/exchange/null");
  conf_add (0, run_exchange_bare, 0, 0, NULL, "thread-mode/exchange/no-context");
  conf_add_modes (run_exchange_during, 0, NULL, "thread-mode/during");
  for (size_t i = 0; i < sizeof unsafe_calls / sizeof unsafe_calls[0]; i++)
    conf_add_modes (run_matrix, 0, &unsafe_calls[i], conf_format ("thread-mode/rule/%s", unsafe_calls[i].name));
  conf_add (0, run_orphan, 0, 0, NULL, "thread-mode/orphan/relaxed");
  conf_add (0, run_orphan, 0, 1, NULL, "thread-mode/orphan/thread-local");
  for (int scope = 0; scope < N_SCOPES; scope++)
    conf_add_modes (run_scope, scope, NULL, conf_format ("scope/other-context/%s", scope_names[scope]));
  conf_add (0, run_foreign_current, 1, 0, NULL, "scope/foreign-current");
  conf_add (0, run_foreign_fork, 1, 0, NULL, "scope/foreign-fork");
}
