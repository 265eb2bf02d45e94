/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-log.c: what the driver's error log says, on which thread, and what a callback may ask. */
#include "runtime.h"

#define MAX_ENTRIES 12

typedef struct
{
  char text[MAX_ENTRIES][400];
  int level[MAX_ENTRIES];
  pthread_t thread[MAX_ENTRIES];
  int status[MAX_ENTRIES]; /* of the watched stream, asked inside the callback */
  int n;
} Log;

static Log entries;
static CUstream watched; /* nullable */

/* Addresses are no facts. */
static void
copy_text (char *to, size_t room, const char *from, size_t length)
{
  size_t n = 0;
  for (size_t i = 0; i < length && from[i] != '\0' && n + 1 < room; i++)
    {
      to[n++] = from[i];
      if (n >= 2 && to[n - 1] == 'x' && to[n - 2] == '0' && n + 2 < room)
        {
          while (i + 1 < length && strchr ("0123456789abcdefABCDEF", from[i + 1]) != NULL && from[i + 1] != '\0')
            i++;
          to[n++] = '?';
        }
    }
  while (n > 0 && (to[n - 1] == '\n' || to[n - 1] == ' '))
    n--;
  to[n] = '\0';
}

static void
on_log (void *data, int level, char *message, size_t length)
{
  Log *log = data;
  if (log->n >= MAX_ENTRIES)
    return;
  int i = log->n++;
  copy_text (log->text[i], sizeof log->text[i], message, length);
  log->level[i] = level;
  log->thread[i] = pthread_self ();
  log->status[i] = -1;
  if (watched != NULL)
    cu.cuStreamIsCapturing (watched, &log->status[i]);
}

static int
alloc_on_thread (void *data)
{
  (void)data;
  CUdeviceptr memory = 0;
  return cu.cuMemAlloc (&memory, 4096);
}

static int
end_on_thread (void *data)
{
  CUgraph graph = NULL;
  return cu.cuStreamEndCapture (data, &graph);
}

enum
{
  LOG_SYNC,
  LOG_CTX_SYNC,
  LOG_ALLOC,
  LOG_ALLOC_OTHER,
  LOG_ALLOC_RELAXED,
  LOG_LEGACY,
  LOG_UNJOINED,
  LOG_ON_FORK,
  LOG_NOT_CAPTURING,
  LOG_AFTER_BREAK,
  LOG_OUTSIDE_EVENT,
  LOG_MERGE,
  LOG_QUERY_EVENT,
  LOG_QUERY_CAPTURED,
  LOG_WRONG_THREAD,
  LOG_BEGIN_AGAIN,
  LOG_UPDATE,
  LOG_INSTANTIATE,
  LOG_LAUNCH,
  LOG_MODULE_UNLOAD,
  LOG_NO_CONTEXT,
  LOG_INVALID_VALUE,
  LOG_NOT_READY,
  LOG_NOT_FOUND,
  LOG_ATTRIBUTE,
  N_LOGS
};

static const char *const log_names[N_LOGS] = { "stream-sync",
                                               "ctx-sync",
                                               "alloc",
                                               "alloc-on-other-thread",
                                               "alloc-relaxed",
                                               "legacy-kernel",
                                               "end-unjoined",
                                               "end-on-fork",
                                               "end-not-capturing",
                                               "kernel-after-break",
                                               "outside-event",
                                               "merge",
                                               "event-query",
                                               "event-query-captured",
                                               "wrong-thread",
                                               "begin-again",
                                               "update-refused",
                                               "instantiate",
                                               "graph-launch",
                                               "module-unload",
                                               "no-context",
                                               "invalid-value",
                                               "not-ready",
                                               "not-found",
                                               "pointer-attribute" };

static void
run_log (const ConfCase *test)
{
  CUlogsCallbackHandle handle = NULL;
  CUstream stream = conf_stream (test->arg != LOG_LEGACY);
  CUstream other = conf_stream (true);
  CUevent event = conf_event ();
  CUevent ordinary = conf_event ();
  CUgraph graph = conf_make_graph (1, 0);
  CUgraphExec exec = conf_make_exec (graph);
  CUgraph changed = conf_make_graph (2, 0);
  CUmodule module = NULL;
  CUdeviceptr memory = 0;
  CUgraph out = NULL;
  CUfunction function = NULL;
  McuUpdateResultInfo info = { 0, NULL, NULL };
  uint64_t id = 0;
  int r = CONF_ABSENT;
  bool capture = test->arg != LOG_NOT_CAPTURING && test->arg != LOG_UPDATE && test->arg < LOG_NO_CONTEXT;
  cu.cuModuleLoadData (&module, w.image);
  cu.cuEventRecord (ordinary, other);
  cu.cuStreamSynchronize (other);
  ConfGate *gate = test->arg == LOG_NOT_READY ? conf_gate (other) : NULL;
  memset (&entries, 0, sizeof entries);
  watched = capture ? stream : NULL;
  int registered = CU (cuLogsRegisterCallback, on_log, &entries, &handle);
  fact_r ("register", registered);
  if (capture)
    {
      cu.cuStreamBeginCapture (stream, test->arg == LOG_ALLOC_RELAXED ? MCU_CAPTURE_MODE_RELAXED : test->mode);
      conf_kernel (stream);
      cu.cuEventRecord (event, stream);
    }
  switch (test->arg)
    {
    case LOG_SYNC:
      r = cu.cuStreamSynchronize (stream);
      break;
    case LOG_CTX_SYNC:
      r = cu.cuCtxSynchronize ();
      break;
    case LOG_ALLOC:
    case LOG_ALLOC_RELAXED:
      r = cu.cuMemAlloc (&memory, 4096);
      break;
    case LOG_ALLOC_OTHER:
      r = conf_on_thread (alloc_on_thread, NULL, -1);
      break;
    case LOG_LEGACY:
      r = conf_kernel (NULL);
      break;
    case LOG_UNJOINED:
    case LOG_ON_FORK:
      cu.cuStreamWaitEvent (other, event, 0);
      conf_kernel (other);
      r = test->arg == LOG_ON_FORK ? cu.cuStreamEndCapture (other, &out) : 0;
      break;
    case LOG_NOT_CAPTURING:
      r = cu.cuStreamEndCapture (stream, &out);
      break;
    case LOG_AFTER_BREAK:
      cu.cuStreamQuery (stream);
      r = conf_kernel (stream);
      break;
    case LOG_OUTSIDE_EVENT:
      r = cu.cuStreamWaitEvent (stream, ordinary, 0);
      break;
    case LOG_MERGE:
      cu.cuStreamBeginCapture (other, test->mode);
      r = cu.cuStreamWaitEvent (other, event, 0);
      break;
    case LOG_QUERY_EVENT:
      r = cu.cuEventQuery (ordinary);
      break;
    case LOG_QUERY_CAPTURED:
      r = cu.cuEventQuery (event);
      break;
    case LOG_WRONG_THREAD:
      r = conf_on_thread (end_on_thread, stream, -1);
      break;
    case LOG_BEGIN_AGAIN:
      r = cu.cuStreamBeginCapture (stream, test->mode);
      break;
    case LOG_UPDATE:
      r = CU (cuGraphExecUpdate_v2, exec, changed, &info);
      break;
    case LOG_INSTANTIATE:
      r = cu.cuGraphInstantiateWithFlags (&exec, changed, 0);
      break;
    case LOG_LAUNCH:
      r = cu.cuGraphLaunch (exec, stream);
      break;
    case LOG_MODULE_UNLOAD:
      r = cu.cuModuleUnload (module);
      break;
    case LOG_NO_CONTEXT:
      r = conf_on_bare_thread (alloc_on_thread, NULL);
      break;
    case LOG_INVALID_VALUE:
      r = cu.cuMemAlloc (&memory, 0);
      break;
    case LOG_NOT_READY:
      r = cu.cuStreamQuery (other);
      break;
    case LOG_NOT_FOUND:
      r = cu.cuModuleGetFunction (&function, w.module, "no_such_kernel");
      break;
    case LOG_ATTRIBUTE:
      r = cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, 0x1000);
      break;
    }
  int before_end = entries.n;
  fact_r ("call", r);
  if (capture)
    fact_r ("end", cu.cuStreamEndCapture (stream, &out));
  conf_own_graph (out);
  if (gate != NULL)
    conf_gate_open (gate);
  if (handle != NULL)
    fact_r ("unregister", CU (cuLogsUnregisterCallback, handle));
  cu.cuStreamQuery (NULL);
  watched = NULL;
  for (int i = 0; i < entries.n; i++)
    fact ("%s level=%d here=%s status=%d: %s", i < before_end ? "call" : "end", entries.level[i],
          conf_yes (pthread_equal (entries.thread[i], pthread_self ()) != 0), entries.status[i],
          conf_texts || strncmp (entries.text[i], "Returning ", 10) == 0 ? entries.text[i] : "(a sentence)");
  if (test->arg == LOG_INSTANTIATE && r == 0)
    conf_own_exec (exec);
  if (test->arg != LOG_MODULE_UNLOAD || r != 0)
    cu.cuModuleUnload (module);
  if (memory != 0)
    conf_own_memory (memory);
}

static void
run_arguments (const ConfCase *test)
{
  CUlogsCallbackHandle handle = NULL;
  CUlogsCallbackHandle second = NULL;
  CUdeviceptr memory = 0;
  (void)test;
  memset (&entries, 0, sizeof entries);
  fact_r ("null-callback", CU (cuLogsRegisterCallback, NULL, NULL, &handle));
  fact_r ("register", CU (cuLogsRegisterCallback, on_log, &entries, &handle));
  fact_r ("register-twice", CU (cuLogsRegisterCallback, on_log, &entries, &second));
  cu.cuMemAlloc (&memory, 0);
  int both = entries.n;
  if (second != NULL)
    fact_r ("unregister", CU (cuLogsUnregisterCallback, second));
  cu.cuMemAlloc (&memory, 0);
  int one = entries.n - both;
  if (handle != NULL)
    fact_r ("unregister", CU (cuLogsUnregisterCallback, handle));
  cu.cuMemAlloc (&memory, 0);
  fact ("entries=%d/%d/%d", both, one, entries.n - both - one);
  fact_r ("unregister-null", CU (cuLogsUnregisterCallback, NULL));
}

void
conf_cases_log (void)
{
  for (int i = 0; i < N_LOGS; i++)
    conf_add (0, run_log, MCU_CAPTURE_MODE_GLOBAL, i, NULL, "log/%s", log_names[i]);
  conf_add (CONF_ISOLATED, run_arguments, 0, 0, NULL, "log/arguments");
}
