/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* words.c: facts and the words in them, and the small pieces of work that cases are made of. */
#include <stdarg.h>
#include <unistd.h>

#include "runtime.h"

const char *const conf_mode_names[3] = { "global", "thread-local", "relaxed" };

int conf_out = STDOUT_FILENO;
bool conf_texts;

static void
put (const char *text)
{
  size_t left = strlen (text);
  while (left > 0)
    {
      ssize_t n = write (conf_out, text, left);
      if (n <= 0)
        _exit (4);
      text += n;
      left -= (size_t)n;
    }
}

void
fact (const char *format, ...)
{
  char text[2048] = " | ";
  va_list args;
  va_start (args, format);
  vsnprintf (text + 3, sizeof text - 3, format, args);
  va_end (args);
  for (char *c = text; *c != '\0'; c++)
    if (*c == '\n' || *c == '\r')
      *c = ' ';
  put (text);
}

const char *
conf_format (const char *format, ...)
{
  static char ring[32][512];
  static unsigned next;
  char *text = ring[next++ % 32];
  va_list args;
  va_start (args, format);
  vsnprintf (text, sizeof ring[0], format, args);
  va_end (args);
  return text;
}

const char *
conf_r (int result)
{
  return result == CONF_ABSENT ? "absent" : conf_format ("%d", result);
}

void
fact_r (const char *name, int result)
{
  fact ("%s=%s", name, conf_r (result));
}

const char *
conf_yes (bool value)
{
  return value ? "yes" : "no";
}

const char *
conf_status (CUstream stream)
{
  static const char *const names[] = { "none", "active", "invalidated" };
  int status = -1;
  int result = cu.cuStreamIsCapturing (stream, &status);
  if (result != 0)
    return conf_format ("E%d", result);
  return status >= 0 && status <= 2 ? names[status] : conf_format ("status%d", status);
}

static const char *
type_name (CUgraphNode node)
{
  static const char *const names[]
      = { "kernel",       "memcpy",     "memset",   "host",      "child",    "empty",        "wait-event",
          "event-record", "ext-signal", "ext-wait", "mem-alloc", "mem-free", "batch-mem-op", "conditional" };
  int type = -1;
  int result = cu.cuGraphNodeGetType (node, &type);
  if (result != 0)
    return conf_format ("E%d", result);
  return type >= 0 && type <= 13 ? names[type] : conf_format ("type%d", type);
}

size_t
conf_nodes (CUgraph graph, CUgraphNode *nodes, size_t room)
{
  size_t count = 0;
  if (graph == NULL || cu.cuGraphGetNodes (graph, NULL, &count) != 0)
    return 0;
  if (count > room)
    count = room;
  if (count > 0 && cu.cuGraphGetNodes (graph, nodes, &count) != 0)
    return 0;
  return count;
}

CUgraphNode
conf_node (CUgraph graph, size_t index)
{
  CUgraphNode nodes[64] = { NULL };
  size_t count = conf_nodes (graph, nodes, 64);
  return index < count ? nodes[index] : NULL;
}

const char *
conf_graph (CUgraph graph)
{
  if (graph == NULL)
    return "NULL";
  size_t count = 0;
  int result = cu.cuGraphGetNodes (graph, NULL, &count);
  if (result != 0)
    return conf_format ("E%d", result);
  CUgraphNode nodes[64] = { NULL };
  size_t n = conf_nodes (graph, nodes, 64);
  char text[400] = "";
  size_t used = 0;
  for (size_t i = 0; i < n && used < sizeof text - 40;)
    {
      const char *name = type_name (nodes[i]);
      size_t run = 1;
      while (i + run < n && strcmp (type_name (nodes[i + run]), name) == 0)
        run++;
      used += (size_t)snprintf (text + used, sizeof text - used, "%s%s", i > 0 ? " " : "", name);
      if (run > 1)
        used += (size_t)snprintf (text + used, sizeof text - used, "*%zu", run);
      i += run;
    }
  return conf_format ("%zu[%s%s]", count, text, n < count ? " ..." : "");
}

const char *
conf_fresh (CUstream stream)
{
  CUgraph graph = NULL;
  int begun = cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  int filled = conf_fill (stream);
  int ended = cu.cuStreamEndCapture (stream, &graph);
  if (ended == 0 && graph != NULL)
    cu.cuGraphDestroy (graph);
  return begun == 0 && filled == 0 && ended == 0 ? "ok" : conf_format ("%d/%d/%d", begun, filled, ended);
}

int
conf_end_graph (CUstream stream, CUgraph *graph)
{
  *graph = NULL;
  int result = cu.cuStreamEndCapture (stream, graph);
  conf_own_graph (*graph);
  /* One after the other: the order in which C evaluates arguments is open, and conf_fresh() changes the stream. */
  const char *status = conf_status (stream);
  const char *nodes = conf_graph (*graph);
  const char *fresh = conf_fresh (stream);
  fact ("end=%d graph=%s status=%s fresh=%s", result, nodes, status, fresh);
  return result;
}

void
conf_end (CUstream stream)
{
  CUgraph graph = NULL;
  conf_end_graph (stream, &graph);
}

/* --- work --- */

int
conf_launch (CUfunction function, CUstream stream, void **params)
{
  return cu.cuLaunchKernel (function, 1, 1, 1, 64, 1, 1, 0, stream, params, NULL);
}

int
conf_kernel (CUstream stream)
{
  return conf_launch (w.empty, stream, NULL);
}

int
conf_kernel_add (CUstream stream)
{
  uint64_t count = 64;
  void *params[] = { &w.a, &w.b, &count };
  return conf_launch (w.add, stream, params);
}

int
conf_kernel_store (CUstream stream, CUdeviceptr at, uint32_t value)
{
  void *params[] = { &at, &value };
  return cu.cuLaunchKernel (w.store, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

int
conf_fill (CUstream stream)
{
  return cu.cuMemsetD8Async (w.b, 0, 256, stream);
}

uint32_t
conf_peek (CUdeviceptr at)
{
  uint32_t value = 0xdeadbeef;
  int result = cu.cuMemcpyDtoH (&value, at, sizeof value);
  if (result != 0)
    fact_r ("peek", result);
  return value;
}

void
conf_poke (CUdeviceptr at, uint32_t value)
{
  int result = cu.cuMemcpyHtoD (at, &value, sizeof value);
  if (result != 0)
    fact_r ("poke", result);
}

CUgraph
conf_make_graph (int n_kernels, int n_fills)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  int result = cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_RELAXED);
  for (int i = 0; i < n_kernels && result == 0; i++)
    result = conf_kernel (stream);
  for (int i = 0; i < n_fills && result == 0; i++)
    result = conf_fill (stream);
  if (result == 0)
    result = cu.cuStreamEndCapture (stream, &graph);
  if (result != 0)
    fact_r ("cannot make a graph", result);
  return conf_own_graph (graph);
}

CUgraphExec
conf_make_exec (CUgraph graph)
{
  CUgraphExec exec = NULL;
  int result = cu.cuGraphInstantiateWithFlags (&exec, graph, 0);
  if (result != 0)
    fact_r ("cannot instantiate", result);
  return conf_own_exec (exec);
}

CUcontext
conf_other_context (void)
{
  static CUcontext other;
  if (other == NULL)
    {
      CUcontext popped = NULL;
      int result = CX (cuCtxCreate, &other, 0, w.device);
      if (result != 0)
        fact_r ("cannot create a context", result);
      else
        CU (cuCtxPopCurrent, &popped);
      CU (cuCtxSetCurrent, w.context);
    }
  return other;
}
