/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-info.c: capture information and the editing of a capture's dependencies. */
#include "runtime.h"

typedef struct
{
  int status;
  uint64_t id;
  CUgraph graph;
  const CUgraphNode *dependencies;
  size_t count;
} Info;

static const Info untouched = { -1, 77, (CUgraph)77, (const CUgraphNode *)77, 77 };

static int
get_info (CUstream stream, Info *info)
{
  *info = untouched;
  return cu.cuStreamGetCaptureInfo_v2 (stream, &info->status, &info->id, &info->graph, &info->dependencies,
                                       &info->count);
}

static void
fact_info (const char *name, CUstream stream)
{
  Info info;
  int result = get_info (stream, &info);
  fact ("%s=%d status=%d id=%s graph=%s dependencies=%s count=%s", name, result, info.status,
        info.id == 77  ? "untouched"
        : info.id == 0 ? "0"
                       : "set",
        info.graph == (CUgraph)77 ? "untouched"
        : info.graph == NULL      ? "NULL"
                                  : "set",
        info.dependencies == (const CUgraphNode *)77 ? "untouched"
        : info.dependencies == NULL                  ? "NULL"
                                                     : "set",
        info.count == 77 ? "untouched" : conf_format ("%zu", info.count));
}

/* The states in which the information is asked for. */
enum
{
  IN_NONE,
  IN_EMPTY,
  IN_ONE,
  IN_FORK,
  IN_JOINED,
  IN_INVALIDATED,
  N_STATES
};

static const char *const state_names[N_STATES] = { "none", "empty", "one-node", "fork", "joined", "invalidated" };

static CUstream
enter (int state, CUstream *origin)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  *origin = stream;
  if (state == IN_NONE)
    return stream;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_RELAXED);
  if (state == IN_EMPTY)
    return stream;
  conf_kernel (stream);
  if (state == IN_FORK || state == IN_JOINED)
    {
      cu.cuEventRecord (event, stream);
      cu.cuStreamWaitEvent (fork, event, 0);
      conf_fill (fork);
      cu.cuEventRecord (event, fork);
      conf_kernel (stream);
      if (state == IN_JOINED)
        cu.cuStreamWaitEvent (stream, event, 0);
    }
  if (state == IN_INVALIDATED)
    cu.cuStreamQuery (stream);
  return state == IN_FORK ? fork : stream;
}

static void
run_info (const ConfCase *test)
{
  CUstream origin = NULL;
  CUstream stream = enter (test->arg, &origin);
  int status = -1;
  uint64_t id = 77;
  fact_info ("v2", stream);
  int result = CX (cuStreamGetCaptureInfo_v1, stream, &status, &id);
  fact ("v1=%s status=%d id=%s", conf_r (result), status, id == 77 ? "untouched" : id == 0 ? "0" : "set");
  const CUgraphNode *dependencies = NULL;
  const McuEdgeData *edges = (const McuEdgeData *)77;
  CUgraph graph = NULL;
  size_t count = 77;
  status = -1;
  result = CU (cuStreamGetCaptureInfo_v3, stream, &status, &id, &graph, &dependencies, &edges, &count);
  fact ("v3=%s status=%d edge-data=%s count=%s", conf_r (result), status,
        edges == (const McuEdgeData *)77 ? "untouched"
        : edges == NULL                  ? "NULL"
                                         : "set",
        count == 77 ? "untouched" : conf_format ("%zu", count));
  if (test->arg != IN_NONE)
    conf_end (origin);
}

/* Which outputs may be NULL. */
static void
run_info_nulls (const ConfCase *test)
{
  CUstream origin = NULL;
  CUstream stream = enter (test->arg, &origin);
  int status = -1;
  uint64_t id = 0;
  CUgraph graph = NULL;
  const CUgraphNode *dependencies = NULL;
  const McuEdgeData *edges = NULL;
  size_t count = 0;
  fact_r ("is-capturing-null", cu.cuStreamIsCapturing (stream, NULL));
  fact_r ("v1-null-status", CX (cuStreamGetCaptureInfo_v1, stream, NULL, &id));
  fact_r ("v1-null-id", CX (cuStreamGetCaptureInfo_v1, stream, &status, NULL));
  fact_r ("v2-null-status", cu.cuStreamGetCaptureInfo_v2 (stream, NULL, &id, &graph, &dependencies, &count));
  fact_r ("v2-only-status", cu.cuStreamGetCaptureInfo_v2 (stream, &status, NULL, NULL, NULL, NULL));
  fact_r ("v2-null-count", cu.cuStreamGetCaptureInfo_v2 (stream, &status, NULL, NULL, &dependencies, NULL));
  fact_r ("v2-null-dependencies", cu.cuStreamGetCaptureInfo_v2 (stream, &status, NULL, NULL, NULL, &count));
  fact_r ("v3-only-status", CU (cuStreamGetCaptureInfo_v3, stream, &status, NULL, NULL, NULL, NULL, NULL));
  fact_r ("v3-null-edges", CU (cuStreamGetCaptureInfo_v3, stream, &status, NULL, NULL, &dependencies, NULL, &count));
  fact_r ("v3-edges-alone", CU (cuStreamGetCaptureInfo_v3, stream, &status, NULL, NULL, NULL, &edges, &count));
  fact ("status=%s", conf_status (stream));
  if (test->arg != IN_NONE)
    conf_end (origin);
}

/* The next operation depends on the nodes that the information names: those two kernels in turn. */
static void
run_info_nodes (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  Info info;
  CUgraph graph = NULL;
  CUgraphNode seen[2] = { NULL, NULL };
  (void)test;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  for (int i = 0; i < 2; i++)
    {
      conf_kernel (stream);
      if (get_info (stream, &info) == 0 && info.count == 1)
        seen[i] = info.dependencies[0];
    }
  fact ("distinct=%s", conf_yes (seen[0] != NULL && seen[1] != NULL && seen[0] != seen[1]));
  conf_end_graph (stream, &graph);
  fact ("graph-same=%s", conf_yes (graph == info.graph));
  fact ("first=%s second=%s", conf_yes (conf_node (graph, 0) == seen[0]), conf_yes (conf_node (graph, 1) == seen[1]));
}

/* --- updating dependencies --- */

enum
{
  UPDATE_NOT_CAPTURING,
  UPDATE_NULL_COUNT_1,
  UPDATE_FLAG_2,
  UPDATE_SET_NONE,
  UPDATE_ADD_NONE,
  UPDATE_SET_EARLIER,
  UPDATE_ADD_EARLIER,
  UPDATE_ADD_DUPLICATE,
  UPDATE_FOREIGN_NODE,
  UPDATE_NULL_NODE,
  UPDATE_BY_HAND,
  UPDATE_BY_HAND_UNREACHED,
  UPDATE_ON_FORK,
  N_UPDATES
};

static const char *const update_names[N_UPDATES]
    = { "not-capturing", "null-array",   "flag-2",    "set-none", "add-none",          "set-earlier", "add-earlier",
        "add-duplicate", "foreign-node", "null-node", "by-hand",  "by-hand-unreached", "on-fork" };

static void
run_update (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  CUgraph graph = NULL;
  CUgraphNode nodes[2] = { NULL, NULL };
  CUgraphNode foreign = conf_node (conf_make_graph (1, 0), 0);
  CUgraphNode node = NULL;
  Info info;
  int r = CONF_ABSENT;
  if (test->arg != UPDATE_NOT_CAPTURING)
    {
      cu.cuStreamBeginCapture (stream, test->mode);
      conf_kernel (stream);
      get_info (stream, &info);
      nodes[0] = info.count == 1 ? info.dependencies[0] : NULL;
      conf_fill (stream);
      get_info (stream, &info);
      nodes[1] = info.count == 1 ? info.dependencies[0] : NULL;
    }
  switch (test->arg)
    {
    case UPDATE_NULL_COUNT_1:
      r = CX (cuStreamUpdateCaptureDependencies, stream, NULL, 1, 0);
      break;
    case UPDATE_FLAG_2:
      r = CX (cuStreamUpdateCaptureDependencies, stream, nodes, 1, 2);
      break;
    case UPDATE_NOT_CAPTURING:
    case UPDATE_SET_NONE:
      r = CX (cuStreamUpdateCaptureDependencies, stream, NULL, 0, 1);
      break;
    case UPDATE_ADD_NONE:
      r = CX (cuStreamUpdateCaptureDependencies, stream, NULL, 0, 0);
      break;
    case UPDATE_SET_EARLIER:
      r = CX (cuStreamUpdateCaptureDependencies, stream, &nodes[0], 1, 1);
      break;
    case UPDATE_ADD_EARLIER:
      r = CX (cuStreamUpdateCaptureDependencies, stream, &nodes[0], 1, 0);
      break;
    case UPDATE_ADD_DUPLICATE:
      r = CX (cuStreamUpdateCaptureDependencies, stream, &nodes[1], 1, 0);
      break;
    case UPDATE_FOREIGN_NODE:
      r = CX (cuStreamUpdateCaptureDependencies, stream, &foreign, 1, 1);
      break;
    case UPDATE_NULL_NODE:
      r = CX (cuStreamUpdateCaptureDependencies, stream, &node, 1, 1);
      break;
    case UPDATE_BY_HAND:
    case UPDATE_BY_HAND_UNREACHED:
      get_info (stream, &info);
      fact_r ("add", CX (cuGraphAddEmptyNode, &node, info.graph, &nodes[1], 1));
      fact ("dependencies-are-still-the-fill=%s",
            conf_yes (get_info (stream, &info) == 0 && info.count == 1 && info.dependencies[0] == nodes[1]));
      r = test->arg == UPDATE_BY_HAND ? CX (cuStreamUpdateCaptureDependencies, stream, &node, 1, 1) : 0;
      break;
    case UPDATE_ON_FORK:
      cu.cuEventRecord (event, stream);
      cu.cuStreamWaitEvent (fork, event, 0);
      conf_kernel (fork);
      r = CX (cuStreamUpdateCaptureDependencies, fork, NULL, 0, 1); /* its kernel is dropped: no 904? */
      break;
    }
  fact_r ("update", r);
  fact ("status=%s", conf_status (stream));
  if (test->arg == UPDATE_NOT_CAPTURING)
    return;
  fact_info ("info", stream);
  fact_r ("kernel", conf_kernel (stream));
  size_t edges = 0;
  if (conf_end_graph (stream, &graph) == 0)
    {
      cu.cuGraphGetEdges (graph, NULL, NULL, &edges);
      fact ("edges=%zu", edges);
    }
}

/* The form with edge data. */
static void
run_update_v2 (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  McuEdgeData edge;
  CUgraph graph = NULL;
  Info info;
  memset (&edge, 0, sizeof edge);
  if (test->arg)
    {
      edge.from_port = 1;
      edge.type = MCU_EDGE_PROGRAMMATIC;
    }
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  conf_kernel (stream);
  get_info (stream, &info);
  CUgraphNode node = info.count == 1 ? info.dependencies[0] : NULL;
  fact_r ("update", CX (cuStreamUpdateCaptureDependencies_v2, stream, &node, &edge, 1, MCU_CAPTURE_SET_DEPENDENCIES));
  fact_info ("v2", stream);
  int status = 0;
  const CUgraphNode *dependencies = NULL;
  const McuEdgeData *edges = NULL;
  size_t count = 0;
  int result = CU (cuStreamGetCaptureInfo_v3, stream, &status, NULL, NULL, &dependencies, &edges, &count);
  fact_r ("v3", result);
  if (result == 0 && edges != NULL && count == 1)
    fact ("edge=%u/%u/%u", edges[0].from_port, edges[0].to_port, edges[0].type);
  fact_r ("v3-null-edges", CU (cuStreamGetCaptureInfo_v3, stream, &status, NULL, NULL, &dependencies, NULL, &count));
  fact_r ("kernel", conf_kernel (stream));
  if (conf_end_graph (stream, &graph) != 0)
    return;
  CUgraphNode from = NULL;
  CUgraphNode to = NULL;
  McuEdgeData out;
  memset (&out, 0, sizeof out);
  count = 1;
  fact_r ("edges-v1", cu.cuGraphGetEdges (graph, &from, &to, &count));
  count = 1;
  fact_r ("edges-v2", CU (cuGraphGetEdges_v2, graph, &from, &to, &out, &count));
  fact ("n=%zu edge=%u/%u/%u", count, out.from_port, out.to_port, out.type);
}

void
conf_cases_info (void)
{
  for (int state = 0; state < N_STATES; state++)
    conf_add (0, run_info, 0, state, NULL, "info/%s", state_names[state]);
  conf_add (0, run_info_nulls, 0, IN_NONE, NULL, "info/nulls/none");
  conf_add (0, run_info_nulls, 0, IN_ONE, NULL, "info/nulls/one-node");
  conf_add (0, run_info_nodes, 0, 0, NULL, "info/nodes");
  for (int update = 0; update < N_UPDATES; update++)
    conf_add (0, run_update, MCU_CAPTURE_MODE_THREAD_LOCAL, update, NULL, "update-dependencies/%s",
              update_names[update]);
  conf_add (0, run_update_v2, 0, 0, NULL, "update-dependencies/v2-plain");
  conf_add (0, run_update_v2, 0, 1, NULL, "update-dependencies/v2-programmatic");
}
