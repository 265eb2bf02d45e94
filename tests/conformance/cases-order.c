/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-order.c: is the order of cuGraphGetNodes the order of creation? */
#include "runtime.h"

#define MANY 1000

/* The one new dependency of a capturing stream after each call: the node that the call made. */
static CUgraphNode
last_node (CUstream stream)
{
  int status = 0;
  const CUgraphNode *dependencies = NULL;
  size_t count = 0;
  if (cu.cuStreamGetCaptureInfo_v2 (stream, &status, NULL, NULL, &dependencies, &count) != 0 || count != 1)
    return NULL;
  return dependencies[0];
}

static void
compare (CUgraph graph, CUgraphNode *created, size_t n)
{
  static CUgraphNode nodes[MANY], from[2 * MANY], to[2 * MANY];
  size_t count = conf_nodes (graph, nodes, MANY);
  size_t edges = 2 * MANY;
  bool same = count == n;
  for (size_t i = 0; same && i < n; i++)
    same = nodes[i] == created[i];
  fact ("n=%zu creation-order=%s", count, conf_yes (same));
  if (cu.cuGraphGetEdges (graph, from, to, &edges) != 0)
    return;
  /* Are the edges sorted by the creation of their ends? A short list is written out. */
  char list[200] = "";
  bool by_to = true, by_from = true;
  size_t last_to = 0, last_from = 0;
  for (size_t i = 0; i < edges; i++)
    {
      size_t f = 0, t = 0;
      while (f < n && created[f] != from[i])
        f++;
      while (t < n && created[t] != to[i])
        t++;
      by_from = by_from && f >= last_from;
      by_to = by_to && t >= last_to;
      last_from = f;
      last_to = t;
      if (edges <= 24)
        snprintf (list + strlen (list), sizeof list - strlen (list), " %zu-%zu", f, t);
    }
  fact ("edges=%zu by-to=%s by-from=%s%s", edges, conf_yes (by_to), conf_yes (by_from), list);
}

static void
run_line (const ConfCase *test)
{
  static CUgraphNode created[MANY];
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  bool all = true;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  for (int i = 0; i < MANY; i++)
    {
      int result = test->arg && i % 3 == 1 ? conf_fill (stream) : conf_kernel (stream);
      created[i] = last_node (stream);
      all = all && result == 0 && created[i] != NULL;
    }
  fact ("captured=%s", conf_yes (all));
  fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
  conf_own_graph (graph);
  compare (graph, created, MANY);
  CUgraphExec exec = conf_make_exec (graph);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  compare (graph, created, MANY);
}

static void
run_fork (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream forks[3];
  CUevent event = conf_event ();
  CUevent joins[3];
  CUgraphNode created[32];
  size_t n = 0;
  CUgraph graph = NULL;
  (void)test;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  conf_kernel (stream);
  created[n++] = last_node (stream);
  cu.cuEventRecord (event, stream);
  for (int i = 0; i < 3; i++)
    {
      forks[i] = conf_stream (true);
      joins[i] = conf_event ();
      cu.cuStreamWaitEvent (forks[i], event, 0);
    }
  for (int round = 0; round < 3; round++)
    for (int i = 2; i >= 0; i--)
      {
        if ((round + i) % 2 == 0)
          conf_kernel (forks[i]);
        else
          conf_fill (forks[i]);
        created[n++] = last_node (forks[i]);
      }
  conf_fill (stream);
  created[n++] = last_node (stream);
  for (int i = 0; i < 3; i++)
    {
      cu.cuEventRecord (joins[i], forks[i]);
      cu.cuStreamWaitEvent (stream, joins[i], 0);
    }
  conf_kernel (stream);
  created[n++] = last_node (stream);
  conf_end_graph (stream, &graph);
  compare (graph, created, n);
  size_t count = 8;
  CUgraphNode dependencies[8] = { NULL };
  fact_r ("join-dependencies", CX (cuGraphNodeGetDependencies, created[n - 1], dependencies, &count));
  char text[100] = "";
  for (size_t i = 0; i < count && i < 8; i++)
    for (size_t k = 0; k < n; k++)
      if (created[k] == dependencies[i])
        snprintf (text + strlen (text), sizeof text - strlen (text), " %zu", k);
  fact ("n=%zu:%s", count, text);
}

/* Nodes added by hand in the middle of the capture; then one destroyed; then a clone. */
static void
run_edited (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraphNode created[8];
  CUgraph graph = NULL;
  CUgraph clone = NULL;
  int status = 0;
  (void)test;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  conf_kernel (stream);
  created[0] = last_node (stream);
  cu.cuStreamGetCaptureInfo_v2 (stream, &status, NULL, &graph, NULL, NULL);
  fact_r ("add", CX (cuGraphAddEmptyNode, &created[1], graph, NULL, 0));
  conf_fill (stream);
  created[2] = last_node (stream);
  fact_r ("add", CX (cuGraphAddEmptyNode, &created[3], graph, &created[2], 1));
  conf_kernel (stream);
  created[4] = last_node (stream);
  conf_end_graph (stream, &graph);
  compare (graph, created, 5);
  fact_r ("destroy", CX (cuGraphDestroyNode, created[1]));
  memmove (&created[1], &created[2], 3 * sizeof created[0]);
  compare (graph, created, 4);
  fact_r ("add", CX (cuGraphAddEmptyNode, &created[4], graph, NULL, 0));
  compare (graph, created, 5);
  fact_r ("destroy-middle-of-chain", CX (cuGraphDestroyNode, created[1]));
  memmove (&created[1], &created[2], 3 * sizeof created[0]);
  compare (graph, created, 4);
  fact_r ("clone", CX (cuGraphClone, &clone, graph));
  conf_own_graph (clone);
  fact ("graph=%s clone=%s", conf_graph (graph), conf_graph (clone));
  CUgraphNode roots[8] = { NULL };
  size_t count = 8;
  CX (cuGraphGetRootNodes, graph, roots, &count);
  char order[60] = "";
  for (size_t i = 0; i < count && i < 8; i++)
    {
      size_t k = 0;
      while (k < 4 && created[k] != roots[i])
        k++;
      snprintf (order + strlen (order), sizeof order - strlen (order), " %zu", k);
    }
  fact ("roots=%zu:%s", count, order);
}

void
conf_cases_order (void)
{
  conf_add (0, run_line, 0, 0, NULL, "order/line-1000");
  conf_add (0, run_line, 0, 1, NULL, "order/line-1000-mixed");
  conf_add (0, run_fork, 0, 0, NULL, "order/fork-join");
  conf_add (0, run_edited, 0, 0, NULL, "order/edited");
}
