/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-events.c: events, forks and joins. */
#include "runtime.h"

static int
begin (CUstream stream, int mode)
{
  return cu.cuStreamBeginCapture (stream, mode);
}

static void
record_done (CUevent event)
{
  CUstream stream = conf_stream (true);
  cu.cuEventRecord (event, stream);
  cu.cuStreamSynchronize (stream);
}

static size_t
edge_count (CUgraph graph)
{
  size_t n = 0;
  if (graph != NULL)
    cu.cuGraphGetEdges (graph, NULL, NULL, &n);
  return n;
}

static void
run_fork_join (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUstream fork = conf_stream (test->arg);
  CUevent event = conf_event ();
  CUgraph graph = NULL;
  begin (stream, test->mode);
  fact_r ("kernel", conf_kernel (stream));
  fact_r ("record", cu.cuEventRecord (event, stream));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  fact_r ("wait", cu.cuStreamWaitEvent (fork, event, 0));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  fact_r ("fill-fork", conf_fill (fork));
  fact_r ("kernel", conf_kernel (stream));
  fact_r ("record-fork", cu.cuEventRecord (event, fork));
  fact_r ("wait-origin", cu.cuStreamWaitEvent (stream, event, 0));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  fact_r ("kernel", conf_kernel (stream));
  conf_end_graph (stream, &graph);
  fact ("fork=%s edges=%zu", conf_status (fork), edge_count (graph));
  fact ("fork-fresh=%s", conf_fresh (fork));
}

/* Recording an event that no work precedes; waiting on it from elsewhere. */
static void
run_fork_at_once (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent event = conf_event ();
  CUgraph graph = NULL;
  begin (stream, test->mode);
  fact_r ("record", cu.cuEventRecord (event, stream));
  fact_r ("wait", cu.cuStreamWaitEvent (fork, event, 0));
  fact ("status=%s/%s", conf_status (stream), conf_status (fork));
  fact_r ("kernel-fork", conf_kernel (fork));
  cu.cuEventRecord (event, fork);
  cu.cuStreamWaitEvent (stream, event, 0);
  conf_end_graph (stream, &graph);
  fact ("edges=%zu", edge_count (graph));
}

enum
{
  EDGES_SELF,      /* waiting in the recording stream itself */
  EDGES_TWICE,     /* one event waited on twice */
  EDGES_REDUNDANT, /* two related events of one stream */
  EDGES_CYCLE,     /* forks waiting on one another */
  EDGES_RERECORD,  /* the event moves on between the waits */
  EDGES_DIAMOND,
  N_EDGES
};

static const char *const edge_names[N_EDGES]
    = { "self-wait", "wait-twice", "redundant", "cycle", "re-record", "diamond" };

static void
run_edges (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUevent first = conf_event ();
  CUevent second = conf_event ();
  CUgraph graph = NULL;
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (first, stream);
  switch (test->arg)
    {
    case EDGES_SELF:
      fact_r ("wait", cu.cuStreamWaitEvent (stream, first, 0));
      conf_kernel (stream);
      break;
    case EDGES_TWICE:
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      conf_fill (fork);
      break;
    case EDGES_REDUNDANT:
      conf_kernel (stream);
      cu.cuEventRecord (second, stream);
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      fact_r ("wait", cu.cuStreamWaitEvent (fork, second, 0));
      conf_fill (fork);
      break;
    case EDGES_CYCLE:
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      conf_fill (fork);
      cu.cuEventRecord (second, fork);
      fact_r ("wait-back", cu.cuStreamWaitEvent (stream, second, 0));
      conf_kernel (stream);
      cu.cuEventRecord (first, stream);
      fact_r ("wait-again", cu.cuStreamWaitEvent (fork, first, 0));
      conf_fill (fork);
      break;
    case EDGES_RERECORD:
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      conf_kernel (stream);
      fact_r ("record", cu.cuEventRecord (first, stream));
      conf_fill (fork);
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      conf_fill (fork);
      break;
    default:
      fact_r ("wait", cu.cuStreamWaitEvent (fork, first, 0));
      conf_kernel (stream);
      conf_fill (fork);
      break;
    }
  if (test->arg != EDGES_SELF)
    {
      cu.cuEventRecord (second, fork);
      cu.cuStreamWaitEvent (stream, second, 0);
      conf_kernel (stream);
    }
  conf_end_graph (stream, &graph);
  fact ("edges=%zu", edge_count (graph));
}

/* A member waits on an event from outside its capture. */
enum
{
  OUT_NEVER,
  OUT_DONE,
  OUT_PENDING,
  OUT_LEGACY,
  N_OUT
};

static const char *const out_names[N_OUT] = { "never-recorded", "completed", "pending", "recorded-on-legacy" };

static void
run_outside (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUstream side = conf_stream (true);
  CUevent event = conf_event ();
  CUevent joiner = conf_event ();
  ConfGate *gate = NULL;
  if (test->arg == OUT_DONE)
    record_done (event);
  else if (test->arg == OUT_LEGACY)
    cu.cuEventRecord (event, NULL);
  else if (test->arg == OUT_PENDING)
    {
      gate = conf_gate (side);
      cu.cuEventRecord (event, side);
    }
  for (int member = 0; member < 2; member++)
    {
      begin (stream, test->mode);
      conf_kernel (stream);
      cu.cuEventRecord (joiner, stream);
      cu.cuStreamWaitEvent (fork, joiner, 0);
      int result = cu.cuStreamWaitEvent (member == 0 ? stream : fork, event, 0);
      fact ("wait-%s=%d status=%s/%s", member == 0 ? "origin" : "fork", result, conf_status (stream),
            conf_status (fork));
      conf_end (stream);
    }
  if (gate != NULL)
    conf_gate_open (gate);
}

/* A member of one capture waits on the event of another. */
static void
run_merge (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream other = conf_stream (true);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  begin (other, test->mode);
  conf_kernel (stream);
  conf_kernel (other);
  cu.cuEventRecord (event, other);
  if (test->arg == 0)
    fact_r ("wait", cu.cuStreamWaitEvent (stream, event, 0));
  else
    fact_r ("record", cu.cuEventRecord (event, stream));
  fact ("status=%s/%s", conf_status (stream), conf_status (other));
  conf_end (stream);
  conf_end (other);
}

static void
run_event_of_invalidated (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream idle = conf_stream (true);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  cu.cuStreamQuery (stream);
  fact ("status=%s", conf_status (stream));
  fact_r ("wait-idle", cu.cuStreamWaitEvent (idle, event, 0));
  fact ("status=%s", conf_status (idle));
  fact_r ("query", cu.cuEventQuery (event));
  conf_end (stream);
}

/* An event whose capture has ended. */
enum
{
  ENDED_OK,
  ENDED_DESTROYED,
  ENDED_INVALIDATED,
  ENDED_UNJOINED,
  N_ENDED
};

static const char *const ended_names[N_ENDED] = { "ok", "graph-destroyed", "invalidated", "unjoined" };

static void
run_ended (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream fork = conf_stream (true);
  CUstream idle = conf_stream (true);
  CUstream second = conf_stream (true);
  CUevent event = conf_event ();
  CUevent ordinary = conf_event ();
  CUgraph graph = NULL;
  float elapsed = 0;
  record_done (ordinary);
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  if (test->arg == ENDED_UNJOINED)
    {
      cu.cuStreamWaitEvent (fork, event, 0);
      conf_kernel (fork);
    }
  if (test->arg == ENDED_INVALIDATED)
    cu.cuStreamQuery (stream);
  fact_r ("end", cu.cuStreamEndCapture (stream, &graph));
  conf_own_graph (graph);
  if (test->arg == ENDED_DESTROYED)
    {
      conf_forget (graph);
      fact_r ("destroy-graph", cu.cuGraphDestroy (graph));
    }
  fact_r ("query", cu.cuEventQuery (event));
  fact_r ("sync", cu.cuEventSynchronize (event));
  fact_r ("wait-idle", cu.cuStreamWaitEvent (idle, event, 0));
  fact ("idle=%s", conf_status (idle));
  fact_r ("elapsed", cu.cuEventElapsedTime (&elapsed, ordinary, event));
  begin (second, test->mode);
  conf_kernel (second);
  fact_r ("wait-in-another-capture", cu.cuStreamWaitEvent (second, event, 0));
  fact ("status=%s", conf_status (second));
  conf_end (second);
  fact_r ("record-again", cu.cuEventRecord (event, idle));
  fact_r ("sync", cu.cuEventSynchronize (event));
  fact_r ("query", cu.cuEventQuery (event));
}

/* Elapsed time of captured events, while the capture is open. */
static void
run_elapsed (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUevent first = conf_event ();
  CUevent second = conf_event ();
  CUevent ordinary = conf_event ();
  float elapsed = 0;
  record_done (ordinary);
  begin (stream, test->mode);
  cu.cuEventRecord (first, stream);
  conf_kernel (stream);
  cu.cuEventRecord (second, stream);
  fact_r ("elapsed", cu.cuEventElapsedTime (&elapsed, test->arg ? ordinary : first, second));
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

/* A captured event recorded once more, outside the capture. */
static void
run_rerecord_outside (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream idle = conf_stream (true);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  fact_r ("record-outside", cu.cuEventRecord (event, idle));
  fact ("status=%s/%s", conf_status (stream), conf_status (idle));
  fact_r ("wait-origin", cu.cuStreamWaitEvent (stream, event, 0));
  fact ("status=%s", conf_status (stream));
  conf_end (stream);
}

/* The flags of record and wait. */
enum
{
  FLAG_RECORD_EXTERNAL_OUTSIDE,
  FLAG_RECORD_EXTERNAL,
  FLAG_RECORD_0,
  FLAG_RECORD_2,
  FLAG_WAIT_EXTERNAL_OUTSIDE,
  FLAG_WAIT_EXTERNAL,
  FLAG_WAIT_EXTERNAL_NEVER,
  FLAG_WAIT_EXTERNAL_CAPTURED,
  FLAG_WAIT_2,
  N_FLAGS
};

static const char *const flag_names[N_FLAGS] = {
  "record-external-outside", "record-external",        "record-0", "record-2", "wait-external-outside", "wait-external",
  "wait-external-never",     "wait-external-captured", "wait-2"
};

static void
run_flags (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUevent event = conf_event ();
  bool outside = test->arg == FLAG_RECORD_EXTERNAL_OUTSIDE || test->arg == FLAG_WAIT_EXTERNAL_OUTSIDE;
  if (test->arg == FLAG_WAIT_EXTERNAL || test->arg == FLAG_WAIT_EXTERNAL_OUTSIDE || test->arg == FLAG_WAIT_2)
    record_done (event);
  if (!outside)
    {
      begin (stream, test->mode);
      conf_kernel (stream);
      if (test->arg == FLAG_WAIT_EXTERNAL_CAPTURED)
        cu.cuEventRecord (event, stream);
    }
  switch (test->arg)
    {
    case FLAG_RECORD_EXTERNAL_OUTSIDE:
    case FLAG_RECORD_EXTERNAL:
      fact_r ("record", CX (cuEventRecordWithFlags, event, stream, 1));
      break;
    case FLAG_RECORD_0:
      fact_r ("record", CX (cuEventRecordWithFlags, event, stream, 0));
      break;
    case FLAG_RECORD_2:
      fact_r ("record", CX (cuEventRecordWithFlags, event, stream, 2));
      break;
    case FLAG_WAIT_2:
      fact_r ("wait", cu.cuStreamWaitEvent (stream, event, 2));
      break;
    default:
      fact_r ("wait", cu.cuStreamWaitEvent (stream, event, MCU_EVENT_WAIT_EXTERNAL));
      break;
    }
  fact ("status=%s", conf_status (stream));
  if (outside)
    return;
  CUgraph graph = NULL;
  if (conf_end_graph (stream, &graph) != 0)
    return;
  fact ("edges=%zu", edge_count (graph));
  fact_r ("event-query", cu.cuEventQuery (event));
  CUgraphExec exec = conf_make_exec (graph);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact_r ("event-query", cu.cuEventQuery (event));
}

/* The event handle of event nodes. */
static void
run_event_nodes (const ConfCase *test)
{
  CUgraph graph = NULL;
  CUgraphNode record = NULL;
  CUgraphNode wait = NULL;
  CUevent event = conf_event ();
  CUevent out = NULL;
  (void)test;
  cu.cuGraphCreate (&graph, 0);
  conf_own_graph (graph);
  fact_r ("add-record", CX (cuGraphAddEventRecordNode, &record, graph, NULL, 0, event));
  fact_r ("add-wait", CX (cuGraphAddEventWaitNode, &wait, graph, &record, 1, event));
  fact ("graph=%s", conf_graph (graph));
  fact_r ("get-record", CX (cuGraphEventRecordNodeGetEvent, record, &out));
  fact ("same=%s", conf_yes (out == event));
  fact_r ("get-wait", CX (cuGraphEventWaitNodeGetEvent, wait, &out));
  fact ("same=%s", conf_yes (out == event));
  fact_r ("get-record-of-wait", CX (cuGraphEventRecordNodeGetEvent, wait, &out));
}

/* The legacy stream waits on a captured event: does it join? */
static void
run_legacy_waits (const ConfCase *test)
{
  CUstream stream = conf_stream (test->arg);
  CUevent event = conf_event ();
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  fact_r ("wait-legacy", cu.cuStreamWaitEvent (NULL, event, 0));
  fact ("status=%s/%s", conf_status (stream), conf_status (NULL));
  conf_end (stream);
}

/* Work that was in the idle stream before it joined is not waited for. */
static void
run_join_busy (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUstream busy = conf_stream (true);
  CUevent event = conf_event ();
  CUgraph graph = NULL;
  ConfGate *gate = conf_gate (busy);
  begin (stream, test->mode);
  conf_kernel (stream);
  cu.cuEventRecord (event, stream);
  fact_r ("wait-busy", cu.cuStreamWaitEvent (busy, event, 0));
  fact ("status=%s/%s", conf_status (stream), conf_status (busy));
  conf_fill (busy);
  cu.cuEventRecord (event, busy);
  cu.cuStreamWaitEvent (stream, event, 0);
  conf_end_graph (stream, &graph);
  fact_r ("query-busy", cu.cuStreamQuery (busy));
  conf_gate_open (gate);
  fact_r ("sync-busy", cu.cuStreamSynchronize (busy));
}

void
conf_cases_events (void)
{
  for (int mode = 0; mode < 3; mode++)
    for (int kind = 0; kind < 2; kind++)
      conf_add (0, run_fork_join, mode, kind, NULL, "event/fork-join/%s/%s", conf_mode_names[mode],
                kind ? "nonblocking" : "blocking");
  conf_add (0, run_fork_at_once, 1, 0, NULL, "event/fork-at-once");
  for (int i = 0; i < N_EDGES; i++)
    conf_add (0, run_edges, 1, i, NULL, "event/edges/%s", edge_names[i]);
  for (int i = 0; i < N_OUT; i++)
    conf_add_modes (run_outside, i, NULL, conf_format ("event/outside/%s", out_names[i]));
  conf_add_modes (run_merge, 0, NULL, "event/merge-wait");
  conf_add_modes (run_merge, 1, NULL, "event/record-in-another-capture");
  conf_add_modes (run_event_of_invalidated, 0, NULL, "event/of-invalidated");
  for (int i = 0; i < N_ENDED; i++)
    conf_add (0, run_ended, 1, i, NULL, "event/ended/%s", ended_names[i]);
  conf_add_modes (run_elapsed, 0, NULL, "event/elapsed/captured");
  conf_add_modes (run_elapsed, 1, NULL, "event/elapsed/mixed");
  conf_add (0, run_rerecord_outside, 1, 0, NULL, "event/re-record-outside");
  for (int i = 0; i < N_FLAGS; i++)
    conf_add (0, run_flags, 1, i, NULL, "event/flags/%s", flag_names[i]);
  conf_add (0, run_event_nodes, 0, 0, NULL, "event/nodes");
  for (int kind = 0; kind < 2; kind++)
    conf_add (0, run_legacy_waits, 1, kind, NULL, "event/legacy-waits/%s", kind ? "nonblocking" : "blocking");
  conf_add (0, run_join_busy, 1, 0, NULL, "event/join-busy");
}
