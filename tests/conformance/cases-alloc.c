/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-alloc.c: allocation nodes and user objects: what a graph holds, and until when. */
#include "runtime.h"

/* Captures an allocation, a fill of it and, if asked, its free. */
static CUgraph
alloc_graph (CUdeviceptr *memory, bool freed)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  int result = cu.cuMemAllocAsync (memory, 65536, stream);
  if (result == 0)
    result = cu.cuMemsetD32Async (*memory, 11, 16, stream);
  if (result == 0 && freed)
    result = cu.cuMemFreeAsync (*memory, stream);
  int ended = cu.cuStreamEndCapture (stream, &graph);
  if (result != 0 || ended != 0)
    fact ("capture=%d/%d", result, ended);
  return conf_own_graph (graph);
}

static void
launch (const char *name, CUgraphExec exec, CUstream stream)
{
  int result = cu.cuGraphLaunch (exec, stream);
  int synced = cu.cuStreamSynchronize (stream);
  fact ("%s=%d/%d", name, result, synced);
}

static void
run_balanced (const ConfCase *test)
{
  CUdeviceptr memory = 0;
  CUgraph graph = alloc_graph (&memory, true);
  CUstream stream = conf_stream (true);
  CUgraphExec exec = NULL;
  fact ("graph=%s", conf_graph (graph));
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, (unsigned)test->arg));
  conf_own_exec (exec);
  fact_r ("upload", cu.cuGraphUpload (exec, stream));
  launch ("launch", exec, stream);
  launch ("launch", exec, stream);
  CUgraphExec second = NULL;
  fact_r ("second-instantiate", cu.cuGraphInstantiateWithFlags (&second, graph, 0));
  conf_own_exec (second);
  conf_forget (exec);
  fact_r ("destroy-exec", cu.cuGraphExecDestroy (exec));
  second = NULL;
  fact_r ("instantiate-again", cu.cuGraphInstantiateWithFlags (&second, graph, 0));
  conf_own_exec (second);
}

static const char *
id_word (int result, uint64_t id, uint64_t before)
{
  return result != 0 ? conf_format ("E%d", result) : id == 0 ? "0" : id == before ? "same" : "new";
}

/* Unfreed memory: relaunch, free by several means, relaunch, and its identity on the way. */
enum
{
  UNFREED_RELAUNCH,
  UNFREED_AUTO_FREE,
  UNFREED_FREE,
  UNFREED_FREE_ASYNC,
  UNFREED_DESTROY_EXEC,
  UNFREED_DESTROY_BOTH,
  UNFREED_FREE_BEFORE_LAUNCH,
  UNFREED_OTHER_GRAPH,
  N_UNFREED
};

static const char *const unfreed_names[N_UNFREED] = { "relaunch",           "auto-free",
                                                      "cuMemFree",          "cuMemFreeAsync",
                                                      "destroy-exec",       "destroy-exec-and-graph",
                                                      "free-before-launch", "freed-by-another-graph" };

static void
run_unfreed (const ConfCase *test)
{
  CUdeviceptr memory = 0;
  CUgraph graph = alloc_graph (&memory, false);
  CUstream stream = conf_stream (true);
  CUgraphExec exec = NULL;
  uint64_t id = 0, next = 0;
  int r = cu.cuGraphInstantiateWithFlags (&exec, graph,
                                          test->arg == UNFREED_AUTO_FREE ? MCU_INSTANTIATE_AUTO_FREE_ON_LAUNCH : 0);
  fact_r ("instantiate", r);
  conf_own_exec (exec);
  r = cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, memory);
  fact ("id-before=%s", id_word (r, id, 0));
  if (test->arg == UNFREED_FREE_BEFORE_LAUNCH)
    fact_r ("free", cu.cuMemFree (memory));
  launch ("launch", exec, stream);
  r = cu.cuPointerGetAttribute (&id, MCU_POINTER_BUFFER_ID, memory);
  fact ("id=%s", id_word (r, id, 0));
  fact ("value=%u", conf_peek (memory));
  switch (test->arg)
    {
    case UNFREED_FREE:
      fact_r ("free", cu.cuMemFree (memory));
      break;
    case UNFREED_FREE_ASYNC:
      fact_r ("free-async", cu.cuMemFreeAsync (memory, stream));
      break;
    case UNFREED_DESTROY_BOTH:
      conf_forget (graph);
      fact_r ("destroy-graph", cu.cuGraphDestroy (graph));
      /* fall through */
    case UNFREED_DESTROY_EXEC:
      conf_forget (exec);
      fact_r ("destroy-exec", cu.cuGraphExecDestroy (exec));
      exec = NULL;
      fact ("value=%u", conf_peek (memory));
      break;
    case UNFREED_OTHER_GRAPH:
      {
        CUgraph other = NULL;
        cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
        fact_r ("capture-free", cu.cuMemFreeAsync (memory, stream));
        conf_end_graph (stream, &other);
        CUgraphExec freeing = NULL;
        if (other != NULL)
          fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&freeing, other, 0));
        conf_own_exec (freeing);
        if (freeing != NULL)
          launch ("launch-free", freeing, stream);
        if (freeing != NULL)
          launch ("launch-free", freeing, stream);
        break;
      }
    }
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  r = cu.cuPointerGetAttribute (&next, MCU_POINTER_BUFFER_ID, memory);
  fact ("id-then=%s", id_word (r, next, id));
  if (exec != NULL)
    {
      launch ("relaunch", exec, stream);
      r = cu.cuPointerGetAttribute (&next, MCU_POINTER_BUFFER_ID, memory);
      fact ("id-then=%s", id_word (r, next, id));
    }
  fact_r ("free-at-last", cu.cuMemFree (memory));
  fact_r ("free-twice", cu.cuMemFree (memory));
}

static void
run_restrictions (const ConfCase *test)
{
  CUdeviceptr memory = 0;
  CUgraph graph = alloc_graph (&memory, true);
  CUgraph other = NULL;
  CUgraphNode node = NULL;
  CUgraphNode alloc = conf_node (graph, 0);
  CUgraphNode fill = conf_node (graph, 1);
  McuMemAllocNodeParams params;
  CUdeviceptr freed = 0;
  (void)test;
  memset (&params, 0, sizeof params);
  fact_r ("alloc-params", CU (cuGraphMemAllocNodeGetParams, alloc, &params));
  fact ("size=%zu address=%s type=%d location=%d/%d access=%zu", params.byte_size,
        params.dptr == memory ? "same" : "other", params.pool_props.alloc_type, params.pool_props.location.type,
        params.pool_props.location.id, params.access_desc_count);
  fact_r ("free-params", CU (cuGraphMemFreeNodeGetParams, conf_node (graph, 2), &freed));
  fact ("address=%s", freed == memory ? "same" : "other");
  fact_r ("clone", CX (cuGraphClone, &other, graph));
  conf_own_graph (other);
  CUgraph outer = NULL;
  cu.cuGraphCreate (&outer, 0);
  conf_own_graph (outer);
  fact_r ("as-child", cu.cuGraphAddChildGraphNode (&node, outer, NULL, 0, graph));
  fact_r ("remove-edge", CX (cuGraphRemoveDependencies, graph, &alloc, &fill, 1));
  fact_r ("destroy-node", CX (cuGraphDestroyNode, fill));
  fact_r ("destroy-alloc", CX (cuGraphDestroyNode, alloc));
  fact ("graph=%s", conf_graph (graph));
  CUgraphExec exec = conf_make_exec (graph);
  McuUpdateResultInfo info = { 77, NULL, NULL };
  fact_r ("update-same", CU (cuGraphExecUpdate_v2, exec, graph, &info));
  fact ("result=%d", info.result);
  CUdeviceptr memory2 = 0;
  CUgraph again = alloc_graph (&memory2, true);
  fact_r ("update-recaptured", CU (cuGraphExecUpdate_v2, exec, again, &info));
  fact ("result=%d", info.result);
  fact_r ("enable", CX (cuGraphNodeSetEnabled, exec, alloc, 0));
}

/* Allocation nodes made by hand; bad arguments. */
static void
run_by_hand (const ConfCase *test)
{
  CUgraph graph = NULL;
  CUgraphNode alloc = NULL, freeing = NULL, second = NULL;
  McuMemAllocNodeParams params;
  CUstream stream = conf_stream (true);
  (void)test;
  cu.cuGraphCreate (&graph, 0);
  conf_own_graph (graph);
  memset (&params, 0, sizeof params);
  params.pool_props.alloc_type = 1;
  params.pool_props.location.type = 1;
  params.byte_size = 4096;
  fact_r ("alloc", CX (cuGraphAddMemAllocNode, &alloc, graph, NULL, 0, &params));
  fact ("address=%s", params.dptr != 0 ? "set" : "0");
  CUdeviceptr memory = params.dptr;
  fact_r ("free", CX (cuGraphAddMemFreeNode, &freeing, graph, &alloc, 1, memory));
  fact_r ("free-again", CX (cuGraphAddMemFreeNode, &second, graph, &freeing, 1, memory));
  fact_r ("free-unknown", CX (cuGraphAddMemFreeNode, &second, graph, NULL, 0, w.a));
  fact_r ("free-null", CX (cuGraphAddMemFreeNode, &second, graph, NULL, 0, 0));
  params.byte_size = 0;
  fact_r ("alloc-zero", CX (cuGraphAddMemAllocNode, &second, graph, NULL, 0, &params));
  params.byte_size = 4096;
  params.pool_props.location.id = 99;
  fact_r ("alloc-device-99", CX (cuGraphAddMemAllocNode, &second, graph, NULL, 0, &params));
  params.pool_props.location.id = 0;
  params.pool_props.alloc_type = 0;
  fact_r ("alloc-type-0", CX (cuGraphAddMemAllocNode, &second, graph, NULL, 0, &params));
  fact ("graph=%s", conf_graph (graph));
  CUgraphExec exec = NULL;
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
  conf_own_exec (exec);
  if (exec != NULL)
    launch ("launch", exec, stream);
}

static void
run_attributes (const ConfCase *test)
{
  CUdeviceptr memory = 0;
  uint64_t values[4] = { 0, 0, 0, 0 };
  uint64_t zero = 0;
  (void)test;
  fact_r ("trim", CX (cuDeviceGraphMemTrim, w.device));
  for (int step = 0; step < 3; step++)
    {
      if (step == 1)
        {
          CUgraphExec exec = conf_make_exec (alloc_graph (&memory, false));
          launch ("launch", exec, conf_stream (true));
        }
      else if (step == 2)
        {
          fact_r ("free", cu.cuMemFree (memory));
          fact_r ("reset-high", CX (cuDeviceSetGraphMemAttribute, w.device, 1, &zero));
          fact_r ("set-current", CX (cuDeviceSetGraphMemAttribute, w.device, 0, &zero));
        }
      int r = 0;
      for (int i = 0; i < 4; i++)
        r = CX (cuDeviceGetGraphMemAttribute, w.device, i, &values[i]);
      fact ("get=%s used=%s reserved=%s", conf_r (r), values[0] != 0 ? "some" : "0", values[2] != 0 ? "some" : "0");
    }
  fact_r ("get-4", CX (cuDeviceGetGraphMemAttribute, w.device, 4, &values[0]));
}

/* --- user objects --- */

static CUuserObject
make_object (void)
{
  CUuserObject object = NULL;
  conf_count_reset ();
  fact_r ("create", cu.cuUserObjectCreate (&object, NULL, conf_count_bump, 1, MCU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  return object;
}

enum
{
  OBJECT_GRAPH,
  OBJECT_RETAIN,
  OBJECT_EXEC,
  OBJECT_IN_FLIGHT,
  OBJECT_CLONE,
  OBJECT_CHILD,
  OBJECT_CAPTURE,
  OBJECT_CAPTURE_BROKEN,
  OBJECT_UPDATE,
  OBJECT_RELEASE,
  N_OBJECTS
};

static const char *const object_names[N_OBJECTS]
    = { "graph",   "retain-without-move", "exec",   "in-flight", "clone", "child",
        "capture", "broken-capture",      "update", "release" };

static void
run_object (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  CUgraph other = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode node = NULL;
  CUuserObject object = make_object ();
  bool capturing = test->arg == OBJECT_CAPTURE || test->arg == OBJECT_CAPTURE_BROKEN;
  if (capturing)
    {
      int status = 0;
      cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
      conf_kernel (stream);
      cu.cuStreamGetCaptureInfo_v2 (stream, &status, NULL, &graph, NULL, NULL);
    }
  else
    {
      graph = conf_make_graph (1, 0);
      conf_forget (graph);
    }
  fact_r ("retain",
          cu.cuGraphRetainUserObject (graph, object, 1, test->arg == OBJECT_RETAIN ? 0 : MCU_GRAPH_USER_OBJECT_MOVE));
  if (test->arg == OBJECT_RETAIN)
    {
      fact_r ("release-own", cu.cuUserObjectRelease (object, 1));
      fact ("destroyed=%d", conf_count_settle ());
    }
  if (test->arg == OBJECT_RELEASE)
    {
      fact_r ("release-from-graph", CX (cuGraphReleaseUserObject, graph, object, 1));
      fact ("destroyed=%d", conf_count_wait (1));
    }
  if (test->arg == OBJECT_CAPTURE_BROKEN)
    fact_r ("break", cu.cuStreamQuery (stream));
  if (capturing)
    {
      graph = NULL;
      fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
      fact ("destroyed=%d", test->arg == OBJECT_CAPTURE_BROKEN ? conf_count_wait (1) : conf_count_settle ());
      if (graph == NULL)
        return;
    }
  ConfGate *gate = NULL;
  switch (test->arg)
    {
    case OBJECT_EXEC:
    case OBJECT_IN_FLIGHT:
      fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&exec, graph, 0));
      break;
    case OBJECT_CLONE:
      fact_r ("clone", CX (cuGraphClone, &other, graph));
      break;
    case OBJECT_CHILD:
      cu.cuGraphCreate (&other, 0);
      fact_r ("add-child", cu.cuGraphAddChildGraphNode (&node, other, NULL, 0, graph));
      break;
    case OBJECT_UPDATE:
      {
        CUgraph plain = conf_make_graph (1, 0);
        McuUpdateResultInfo info = { 77, NULL, NULL };
        exec = conf_make_exec (plain);
        conf_forget (exec);
        fact_r ("update", CU (cuGraphExecUpdate_v2, exec, graph, &info));
        break;
      }
    }
  if (test->arg == OBJECT_IN_FLIGHT)
    {
      gate = conf_gate (stream);
      fact_r ("launch", cu.cuGraphLaunch (exec, stream));
    }
  fact_r ("destroy-graph", cu.cuGraphDestroy (graph));
  bool gone = test->arg == OBJECT_GRAPH || test->arg == OBJECT_RETAIN || test->arg == OBJECT_CAPTURE;
  fact ("destroyed=%d", gone ? conf_count_wait (1) : conf_count_settle ());
  if (exec != NULL)
    fact_r ("destroy-exec", cu.cuGraphExecDestroy (exec));
  if (other != NULL)
    fact_r ("destroy-other", cu.cuGraphDestroy (other));
  if (gate != NULL)
    {
      fact ("destroyed=%d", conf_count_settle ());
      conf_gate_open (gate);
      fact_r ("sync", cu.cuStreamSynchronize (stream));
    }
  if (!gone)
    fact ("destroyed=%d", conf_count_wait (1));
  fact ("at-last=%d", conf_count_settle ());
}

static void
run_object_arguments (const ConfCase *test)
{
  CUuserObject object = NULL;
  CUgraph graph = conf_make_graph (1, 0);
  (void)test;
  fact_r ("flags-0", cu.cuUserObjectCreate (&object, NULL, conf_count_bump, 1, 0));
  fact_r ("flags-2", cu.cuUserObjectCreate (&object, NULL, conf_count_bump, 1, 2));
  fact_r ("count-0", cu.cuUserObjectCreate (&object, NULL, conf_count_bump, 0, 1));
  fact_r ("null-destructor", cu.cuUserObjectCreate (&object, NULL, NULL, 1, 1));
  fact_r ("null-out", cu.cuUserObjectCreate (NULL, NULL, conf_count_bump, 1, 1));
  object = make_object ();
  fact_r ("retain-0", cu.cuGraphRetainUserObject (graph, object, 0, 0));
  fact_r ("retain-flags-2", cu.cuGraphRetainUserObject (graph, object, 1, 2));
  fact_r ("retain-null-graph", cu.cuGraphRetainUserObject (NULL, object, 1, 0));
  fact_r ("retain-null-object", cu.cuGraphRetainUserObject (graph, NULL, 1, 0));
  fact_r ("release-0", cu.cuUserObjectRelease (object, 0));
  fact_r ("release-null", cu.cuUserObjectRelease (NULL, 1));
  fact_r ("retain-object", CX (cuUserObjectRetain, object, 2));
  fact_r ("release-2", cu.cuUserObjectRelease (object, 2));
  fact ("destroyed=%d", conf_count_settle ());
  fact_r ("release-1", cu.cuUserObjectRelease (object, 1));
  fact ("destroyed=%d", conf_count_wait (1));
}

static pthread_t destructor_thread;
static int destructor_result;

static void
calling_destructor (void *data)
{
  CUdeviceptr memory = 0;
  destructor_thread = pthread_self ();
  destructor_result = data != NULL ? cu.cuMemAlloc (&memory, 4096) : 0;
  conf_count_bump (NULL);
}

static void
run_object_thread (const ConfCase *test)
{
  CUuserObject object = NULL;
  conf_count_reset ();
  fact_r ("create", cu.cuUserObjectCreate (&object, (void *)test->data, calling_destructor, 1, 1));
  fact_r ("release", cu.cuUserObjectRelease (object, 1));
  fact ("destroyed=%d", conf_count_wait (1));
  fact ("on-the-calling-thread=%s", conf_yes (pthread_equal (destructor_thread, pthread_self ()) != 0));
  if (test->data != NULL)
    fact_r ("cuMemAlloc-inside", destructor_result);
}

void
conf_cases_alloc (void)
{
  conf_add (0, run_balanced, 0, 0, NULL, "alloc/balanced");
  conf_add (0, run_balanced, 0, 1, NULL, "alloc/balanced-auto-free");
  for (int i = 0; i < N_UNFREED; i++)
    conf_add (0, run_unfreed, 0, i, NULL, "alloc/unfreed/%s", unfreed_names[i]);
  conf_add (0, run_restrictions, 0, 0, NULL, "alloc/restrictions");
  conf_add (0, run_by_hand, 0, 0, NULL, "alloc/by-hand");
  conf_add (0, run_attributes, 0, 0, NULL, "alloc/attributes");
  for (int i = 0; i < N_OBJECTS; i++)
    conf_add (0, run_object, 0, i, NULL, "user-object/%s", object_names[i]);
  conf_add (0, run_object_arguments, 0, 0, NULL, "user-object/arguments");
  conf_add (0, run_object_thread, 0, 0, NULL, "user-object/thread");
  conf_add (CONF_ISOLATED, run_object_thread, 0, 0, "call", "user-object/thread-and-call");
}
