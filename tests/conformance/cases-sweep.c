/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-sweep.c: the engine of the sweep; the rows are in the sweep-*.c files. */
#include <sys/mman.h>

#include "sweep.h"

static ConfAllocationProp
physical_prop (void)
{
  ConfAllocationProp prop = { .type = 1, .location = { 1, 0 } };
  prop.location.id = w.device;
  return prop;
}

static int
prepare_virtual (Sweep *s, unsigned want)
{
  ConfAllocationProp prop = physical_prop ();
  McuMemAccessDesc access = { { 1, w.device }, 3 };
  int result = 0;
  if (want & (WANT_RESERVED | WANT_MAPPED))
    result = CX (cuMemAddressReserve, &s->range, SWEEP_SIZE, 0, 0, 0);
  if (result == 0 && want & (WANT_PHYSICAL | WANT_MAPPED))
    result = CX (cuMemCreate, &s->physical, SWEEP_SIZE, &prop, 0);
  if (result == 0 && want & WANT_MAPPED)
    {
      result = CX (cuMemMap, s->range, SWEEP_SIZE, 0, s->physical, 0);
      s->mapped = result == 0;
      if (result == 0)
        result = CX (cuMemSetAccess, s->range, SWEEP_SIZE, &access, 1);
    }
  return result;
}

/* Memory that another graph's allocation node owns, live after one launch. */
static int
prepare_launched (Sweep *s)
{
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  int result = cu.cuStreamBeginCapture (s->side, MCU_CAPTURE_MODE_RELAXED);
  if (result == 0)
    result = cu.cuMemAllocAsync (&s->memory, 4096, s->side);
  int ended = cu.cuStreamEndCapture (s->side, &graph);
  conf_own_graph (graph);
  if (result == 0)
    result = ended;
  if (result == 0)
    result = cu.cuGraphInstantiateWithFlags (&exec, graph, 0);
  conf_own_exec (exec);
  if (result == 0)
    result = cu.cuGraphLaunch (exec, s->side);
  return result;
}

static int
prepare (Sweep *s, unsigned want)
{
  int result = 0;
#define NEED(flag, call)                                                                                               \
  if (result == 0 && (want & (flag)))                                                                                  \
    result = (call);
  NEED (WANT_MEMORY, cu.cuMemAlloc (&s->memory, 4096));
  NEED (WANT_HOST, cu.cuMemHostAlloc (&s->host, 4096, 0));
  NEED (WANT_POOL_MEMORY, cu.cuMemAllocAsync (&s->memory, 4096, s->side));
  NEED (WANT_MANAGED, CX (cuMemAllocManaged, &s->memory, 4096, 1));
  if (want & WANT_PAGES)
    {
      s->pages = mmap (NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memset (s->pages, 1, 65536);
    }
  NEED (WANT_REGISTERED, CX (cuMemHostRegister, s->pages, 65536, 0));
  s->registered = result == 0 && (want & WANT_REGISTERED) != 0;
  McuMemPoolProps props = { .alloc_type = 1, .location = { 1, w.device } };
  NEED (WANT_POOL, CX (cuMemPoolCreate, &s->pool, &props));
  NEED (WANT_RESERVED | WANT_PHYSICAL | WANT_MAPPED, prepare_virtual (s, want));
  NEED (WANT_MODULE, cu.cuModuleLoadData (&s->module, w.image));
  NEED (WANT_LIBRARY, CX (cuLibraryLoadData, &s->library, w.image, NULL, NULL, 0, NULL, NULL, 0));
  NEED (WANT_LIBRARY, CX (cuLibraryGetKernel, &s->kernel, s->library, "conf_empty"));
  NEED (WANT_STREAM, cu.cuStreamCreate (&s->stream, MCU_STREAM_NON_BLOCKING));
  NEED (WANT_EVENT, cu.cuEventCreate (&s->event, 0));
  NEED (WANT_LAUNCHED, prepare_launched (s));
#undef NEED
  if (want & (WANT_GRAPH | WANT_EXEC))
    {
      s->graph = conf_make_graph (1, 0);
      conf_forget (s->graph);
    }
  if (want & WANT_EXEC)
    {
      s->exec = conf_make_exec (s->graph);
      conf_forget (s->exec);
    }
  cu.cuStreamSynchronize (s->side);
  return result;
}

/* Gives back what is left, whatever the call did. */
static void
finish (Sweep *s, unsigned want)
{
  if (s->made_exec != NULL)
    cu.cuGraphExecDestroy (s->made_exec);
  if (s->exec != NULL)
    cu.cuGraphExecDestroy (s->exec);
  if (s->clone != NULL)
    cu.cuGraphDestroy (s->clone);
  if (s->graph != NULL)
    cu.cuGraphDestroy (s->graph);
  if (s->mapped)
    CX (cuMemUnmap, s->range, SWEEP_SIZE);
  if (s->physical != 0)
    CX (cuMemRelease, s->physical);
  if (s->range != 0)
    CX (cuMemAddressFree, s->range, SWEEP_SIZE);
  if (s->memory != 0 && !(want & WANT_GRAPH_MEMORY))
    cu.cuMemFree (s->memory);
  if (s->made_memory != 0)
    cu.cuMemFree (s->made_memory);
  if (s->host != NULL)
    cu.cuMemFreeHost (s->host);
  if (s->registered)
    CX (cuMemHostUnregister, s->pages);
  if (s->pages != NULL)
    munmap (s->pages, 65536);
  if (s->pool != NULL)
    CX (cuMemPoolDestroy, s->pool);
  if (s->module != NULL)
    cu.cuModuleUnload (s->module);
  if (s->library != NULL)
    CX (cuLibraryUnload, s->library);
  if (s->stream != NULL)
    cu.cuStreamDestroy (s->stream);
  if (s->made_stream != NULL)
    cu.cuStreamDestroy (s->made_stream);
  if (s->event != NULL)
    cu.cuEventDestroy (s->event);
  if (s->made_event != NULL)
    cu.cuEventDestroy (s->made_event);
}

typedef struct
{
  const char *name;
  bool nonblocking;
  bool other;
  int thread_mode;
} Variant;

static const Variant variants[] = {
  { "nonblocking.same", true, false, -1 },
  { "nonblocking.other", true, true, -1 },
  { "nonblocking.same-relaxed", true, false, MCU_CAPTURE_MODE_RELAXED },
  { "nonblocking.other-relaxed", true, true, MCU_CAPTURE_MODE_RELAXED },
  { "blocking.same", false, false, -1 },
  { "blocking.other", false, true, -1 },
};

typedef struct
{
  const SweepRow *row;
  Sweep *sweep;
} Job;

static int
call_row (void *data)
{
  Job *job = data;
  return job->row->call (job->sweep);
}

static void
run_variant (const ConfCase *test, const Variant *variant)
{
  const SweepRow *row = test->data;
  Sweep s;
  memset (&s, 0, sizeof s);
  s.capture = conf_stream (variant->nonblocking);
  s.side = conf_stream (true);
  s.ordinary = conf_event ();
  s.never = conf_event ();
  s.captured = conf_event ();
  cu.cuEventRecord (s.ordinary, s.side);
  int prepared = prepare (&s, row->want);
  if (prepared != 0)
    {
      fact ("%s=not prepared (%s)", variant->name, conf_r (prepared));
      finish (&s, row->want);
      return;
    }
  int begun = cu.cuStreamBeginCapture (s.capture, test->mode);
  int first = conf_kernel (s.capture);
  if (row->want & WANT_GRAPH_MEMORY)
    first = first != 0 ? first : cu.cuMemAllocAsync (&s.memory, 4096, s.capture);
  if (row->want & WANT_CAPTURED)
    first = first != 0 ? first : cu.cuEventRecord (s.captured, s.capture);
  Job job = { row, &s };
  int result;
  if (variant->other)
    result = conf_on_thread (call_row, &job, variant->thread_mode);
  else
    {
      if (variant->thread_mode >= 0)
        conf_set_thread_mode (variant->thread_mode);
      result = call_row (&job);
      conf_set_thread_mode (MCU_CAPTURE_MODE_GLOBAL);
    }
  const char *status = conf_status (s.capture);
  CUgraph graph = NULL;
  int ended = cu.cuStreamEndCapture (s.capture, &graph);
  const char *after = conf_status (s.capture);
  const char *nodes = conf_graph (graph);
  const char *fresh = conf_fresh (s.capture);
  fact ("%s=%s %s end=%d %s %s %s%s", variant->name, conf_r (result), status, ended, nodes, after, fresh,
        begun != 0 || first != 0 ? conf_format (" (begin %d, first %d)", begun, first) : "");
  if (graph != NULL)
    cu.cuGraphDestroy (graph);
  finish (&s, row->want);
  int health = conf_health ();
  if (health != 0)
    fact ("unhealthy=%d", health);
}

static void
run_sweep (const ConfCase *test)
{
  for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
    run_variant (test, &variants[i]);
}

/* What is recorded depends little on mode and thread: one line, each mode once, one other thread, one blocking stream.
 */
static void
run_record (const ConfCase *test)
{
  static const Variant recorded[] = {
    { "global", true, false, -1 },
    { "thread-local", true, false, -1 },
    { "relaxed", true, false, -1 },
    { "relaxed.other-thread", true, true, -1 },
    { "relaxed.blocking", false, false, -1 },
  };
  static const int modes[] = { 0, 1, 2, 2, 2 };
  for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++)
    {
      ConfCase in_mode = *test;
      in_mode.mode = modes[i];
      run_variant (&in_mode, &recorded[i]);
    }
}

static void
add_rows (const char *group, const SweepRow *rows)
{
  for (; rows->name != NULL; rows++)
    conf_add_modes (run_sweep, 0, rows, conf_format ("%s/%s", group, rows->name));
}

/* Creating a context is slow: in the relaxed and the global mode only, and from the begin thread. */
static void
run_create_context (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUcontext context = NULL;
  CUcontext popped = NULL;
  cu.cuStreamBeginCapture (stream, test->mode);
  conf_kernel (stream);
  int result = CX (cuCtxCreate, &context, 0, w.device);
  fact_r ("create", result);
  fact ("status=%s", conf_status (stream));
  if (result == 0)
    {
      cu.cuCtxPopCurrent (&popped);
      fact_r ("destroy", CX (cuCtxDestroy, context));
      fact ("status=%s", conf_status (stream));
    }
  conf_end (stream);
}

void
conf_cases_sweep (void)
{
  add_rows ("safety", sweep_memory_rows);
  add_rows ("safety", sweep_stream_rows);
  add_rows ("safety", sweep_code_rows);
  add_rows ("safety", sweep_graph_rows);
  add_rows ("legacy", sweep_legacy_rows);
  for (const SweepRow *row = sweep_record_rows; row->name != NULL; row++)
    conf_add (0, run_record, 0, 0, row, "record/%s", row->name);
  conf_add (0, run_create_context, 0, 0, NULL, "safety/cuCtxCreate/global");
  conf_add (0, run_create_context, 2, 0, NULL, "safety/cuCtxCreate/relaxed");
}
