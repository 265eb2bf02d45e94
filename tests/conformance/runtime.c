/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtime.c: loading the driver, what a case owns, threads, gates and counters. */
#include <dlfcn.h>
#include <errno.h>
#include <time.h>

#include "runtime.h"

ConfTable cu;
ConfExtraTable cx;
ConfWorld w;
McuGetProcAddressV1 conf_gpa_v1;
McuGetProcAddressV2 conf_gpa_v2;

static void *driver_handle;

void *
conf_symbol (const char *name)
{
  return dlsym (driver_handle, name);
}

/* As the library does it: the pinned version with the legacy-stream flag; else the exported name of that ABI. */
static void *
resolve (const char *base, int version, const char *symbol)
{
  void *found = NULL;
  int status = 0;
  if (conf_gpa_v2 != NULL)
    {
      if (w.version != 0 && version > w.version)
        return NULL;
      int result = conf_gpa_v2 (base, &found, version, MCU_GET_PROC_LEGACY_STREAM, &status);
      return result == 0 && status == 0 ? found : NULL;
    }
  if (conf_gpa_v1 != NULL)
    return conf_gpa_v1 (base, &found, version, MCU_GET_PROC_LEGACY_STREAM) == 0 ? found : NULL;
  return dlsym (driver_handle, symbol);
}

bool
conf_is_host_driver (void)
{
  return dlsym (driver_handle, "memra_host_control") != NULL;
}

bool
conf_load (const char *driver, const char **why)
{
  static char text[600];
  const char *path = driver != NULL ? driver : "libcuda.so.1";
  driver_handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (driver_handle == NULL)
    {
      snprintf (text, sizeof text, "no CUDA driver: %s", dlerror ());
      *why = text;
      return false;
    }
  *(void **)&conf_gpa_v2 = dlsym (driver_handle, "cuGetProcAddress_v2");
  *(void **)&conf_gpa_v1 = dlsym (driver_handle, "cuGetProcAddress");
  int (*get_version) (int *) = NULL;
  *(void **)&get_version = dlsym (driver_handle, "cuDriverGetVersion");
  if (get_version == NULL || get_version (&w.version) != 0)
    {
      *why = "the driver does not answer cuDriverGetVersion";
      return false;
    }
#define RESOLVE(need, field, base, version, symbol, params)       *(void **)&cu.field = resolve (base, version, symbol);
#define RESOLVE_EXTRA(need, field, base, version, symbol, params) *(void **)&cx.field = resolve (base, version, symbol);
  MEMRA_DRIVER_ENTRIES (RESOLVE)
  CONF_EXTRA_ENTRIES (RESOLVE_EXTRA)
#undef RESOLVE
#undef RESOLVE_EXTRA
#define REQUIRED(field)                                                                                                \
  if (cu.field == NULL)                                                                                                \
    {                                                                                                                  \
      *why = "the driver lacks the required entry " #field;                                                            \
      return false;                                                                                                    \
    }
#define OPTIONAL(field)
#define CONF_CHECK(need, field, base, version, symbol, params) need (field)
  MEMRA_DRIVER_ENTRIES (CONF_CHECK)
#undef CONF_CHECK
#undef REQUIRED
#undef OPTIONAL
  return true;
}

bool
conf_start (const char *host_module, const char **why)
{
  static char text[200];
  const char *step = "cuInit";
  void *pinned = NULL;
  int result = cu.cuInit (0);
#define STEP(what, call)                                                                                               \
  if (result == 0)                                                                                                     \
    {                                                                                                                  \
      step = what;                                                                                                     \
      result = (call);                                                                                                 \
    }
  STEP ("cuDeviceGet", cu.cuDeviceGet (&w.device, 0));
  STEP ("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain (&w.context, w.device));
  STEP ("cuCtxSetCurrent", cu.cuCtxSetCurrent (w.context));
  STEP ("loading the kernels", conf_load_image (host_module));
  STEP ("loading the kernels again", cu.cuModuleLoadData (&w.module2, w.image));
  STEP ("conf_empty", cu.cuModuleGetFunction (&w.empty, w.module, "conf_empty"));
  STEP ("conf_add", cu.cuModuleGetFunction (&w.add, w.module, "conf_add"));
  STEP ("conf_store", cu.cuModuleGetFunction (&w.store, w.module, "conf_store"));
  STEP ("conf_mix", cu.cuModuleGetFunction (&w.mix, w.module, "conf_mix"));
  STEP ("conf_big", cu.cuModuleGetFunction (&w.big, w.module, "conf_big"));
  STEP ("conf_huge", cu.cuModuleGetFunction (&w.huge, w.module, "conf_huge"));
  STEP ("cuMemAlloc", cu.cuMemAlloc (&w.a, CONF_BYTES));
  STEP ("cuMemAlloc", cu.cuMemAlloc (&w.b, CONF_BYTES));
  STEP ("cuMemHostAlloc", cu.cuMemHostAlloc (&pinned, CONF_BYTES, 0));
  STEP ("cuMemsetD32Async", cu.cuMemsetD32Async (w.a, 0, CONF_BYTES / 4, NULL));
  STEP ("cuMemsetD32Async", cu.cuMemsetD32Async (w.b, 0, CONF_BYTES / 4, NULL));
  STEP ("an eager launch", conf_kernel_add (NULL));
  STEP ("cuCtxSynchronize", cu.cuCtxSynchronize ());
#undef STEP
  if (result != 0)
    {
      snprintf (text, sizeof text, "cannot start: %s gives %d", step, result);
      *why = text;
      return false;
    }
  w.pinned = pinned;
  memset (w.pinned, 0, CONF_BYTES);
  return true;
}

/* --- what a case owns --- */

enum
{
  OWN_EXEC,
  OWN_GRAPH,
  OWN_EVENT,
  OWN_STREAM,
  OWN_MEMORY,
  N_KINDS
};

#define MAX_OWNED 512
static struct
{
  const void *handle[MAX_OWNED];
  int n;
} owned[N_KINDS];

static const void *
own (int kind, const void *handle)
{
  if (handle != NULL && owned[kind].n < MAX_OWNED)
    owned[kind].handle[owned[kind].n++] = handle;
  return handle;
}

void
conf_forget (const void *handle)
{
  for (int kind = 0; kind < N_KINDS; kind++)
    for (int i = 0; i < owned[kind].n; i++)
      if (owned[kind].handle[i] == handle)
        owned[kind].handle[i] = NULL;
}

CUstream
conf_stream (bool nonblocking)
{
  CUstream stream = NULL;
  if (cu.cuStreamCreate (&stream, nonblocking ? MCU_STREAM_NON_BLOCKING : MCU_STREAM_DEFAULT) != 0)
    fact ("cannot create a stream");
  return conf_own_stream (stream);
}

CUevent
conf_event (void)
{
  CUevent event = NULL;
  if (cu.cuEventCreate (&event, MCU_EVENT_DEFAULT) != 0)
    fact ("cannot create an event");
  return conf_own_event (event);
}

CUstream
conf_own_stream (CUstream stream)
{
  own (OWN_STREAM, stream);
  return stream;
}

CUevent
conf_own_event (CUevent event)
{
  own (OWN_EVENT, event);
  return event;
}

CUgraph
conf_own_graph (CUgraph graph)
{
  own (OWN_GRAPH, graph);
  return graph;
}

CUgraphExec
conf_own_exec (CUgraphExec exec)
{
  own (OWN_EXEC, exec);
  return exec;
}

CUdeviceptr
conf_own_memory (CUdeviceptr address)
{
  own (OWN_MEMORY, (const void *)(uintptr_t)address);
  return address;
}

/* --- threads --- */

typedef struct
{
  int (*fn) (void *data);
  void *data;
  int thread_mode;
  bool bare;
  int result;
} Thread;

static void *
thread_main (void *data)
{
  Thread *thread = data;
  if (!thread->bare)
    CU (cuCtxSetCurrent, w.context);
  if (thread->thread_mode >= 0)
    conf_set_thread_mode (thread->thread_mode);
  thread->result = thread->fn (thread->data);
  return NULL;
}

static int
run_thread (Thread *thread)
{
  pthread_t id;
  if (pthread_create (&id, NULL, thread_main, thread) != 0)
    {
      fact ("cannot create a thread");
      return CONF_ABSENT;
    }
  pthread_join (id, NULL);
  return thread->result;
}

int
conf_on_thread (int (*fn) (void *data), void *data, int thread_mode)
{
  Thread thread = { fn, data, thread_mode, false, 0 };
  return run_thread (&thread);
}

int
conf_on_bare_thread (int (*fn) (void *data), void *data)
{
  Thread thread = { fn, data, -1, true, 0 };
  return run_thread (&thread);
}

int
conf_set_thread_mode (int mode)
{
  CU (cuThreadExchangeStreamCaptureMode, &mode);
  return mode;
}

/* --- gates and counters --- */

struct ConfGate
{
  bool open;
  bool entered;
  bool timed_out;
};

#define MAX_GATES 64
static ConfGate gates[MAX_GATES]; /* never freed: a late host function may still look */
static int n_gates;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int counter;

static struct timespec
in_seconds (int seconds)
{
  struct timespec when;
  clock_gettime (CLOCK_REALTIME, &when);
  when.tv_sec += seconds;
  return when;
}

static void
gate_function (void *data)
{
  ConfGate *gate = data;
  struct timespec until = in_seconds (3);
  pthread_mutex_lock (&lock);
  gate->entered = true;
  pthread_cond_broadcast (&changed);
  while (!gate->open && !gate->timed_out)
    if (pthread_cond_timedwait (&changed, &lock, &until) == ETIMEDOUT)
      gate->timed_out = true;
  pthread_mutex_unlock (&lock);
}

ConfGate *
conf_gate (CUstream stream)
{
  ConfGate *gate = &gates[n_gates++ % MAX_GATES];
  pthread_mutex_lock (&lock);
  memset (gate, 0, sizeof *gate);
  pthread_mutex_unlock (&lock);
  int result = cu.cuLaunchHostFunc (stream, gate_function, gate);
  if (result != 0)
    fact_r ("gate", result);
  return gate;
}

void
conf_gate_open (ConfGate *gate)
{
  pthread_mutex_lock (&lock);
  gate->open = true;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&lock);
}

bool
conf_gate_wait_entered (ConfGate *gate)
{
  struct timespec until = in_seconds (2);
  pthread_mutex_lock (&lock);
  while (!gate->entered)
    if (pthread_cond_timedwait (&changed, &lock, &until) == ETIMEDOUT)
      break;
  bool entered = gate->entered;
  pthread_mutex_unlock (&lock);
  return entered;
}

static bool
open_all_gates (void)
{
  bool timed_out = false;
  pthread_mutex_lock (&lock);
  for (int i = 0; i < MAX_GATES; i++)
    {
      gates[i].open = true;
      timed_out = timed_out || gates[i].timed_out;
      gates[i].timed_out = false;
    }
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&lock);
  return timed_out;
}

void
conf_count_reset (void)
{
  pthread_mutex_lock (&lock);
  counter = 0;
  pthread_mutex_unlock (&lock);
}

void
conf_count_bump (void *unused)
{
  (void)unused;
  pthread_mutex_lock (&lock);
  counter++;
  pthread_cond_broadcast (&changed);
  pthread_mutex_unlock (&lock);
}

int
conf_count_wait (int at_least)
{
  struct timespec until = in_seconds (2);
  pthread_mutex_lock (&lock);
  while (counter < at_least)
    if (pthread_cond_timedwait (&changed, &lock, &until) == ETIMEDOUT)
      break;
  int count = counter;
  pthread_mutex_unlock (&lock);
  return count;
}

int
conf_count_settle (void)
{
  struct timespec pause = { 0, 30 * 1000 * 1000 };
  nanosleep (&pause, NULL);
  return conf_count_wait (0);
}

/* --- after a case --- */

int
conf_health (void)
{
  CUdeviceptr memory = 0;
  uint32_t out = 0x600df00d;
  uint32_t back = 0;
  int result = cu.cuMemAlloc (&memory, 4096);
  if (result != 0)
    return result;
  result = cu.cuMemcpyHtoD (memory, &out, sizeof out);
  if (result == 0)
    result = cu.cuMemcpyDtoH (&back, memory, sizeof back);
  int freed = cu.cuMemFree (memory);
  if (result == 0 && back != out)
    result = MCU_ERROR_UNKNOWN;
  return result != 0 ? result : freed;
}

bool
conf_clean_up (void)
{
  if (w.context == NULL)
    return true;
  CUcontext current = NULL;
  if (cu.cuCtxGetCurrent (&current) != 0 || current != w.context)
    cu.cuCtxSetCurrent (w.context);
  conf_set_thread_mode (MCU_CAPTURE_MODE_GLOBAL);
  bool timed_out = open_all_gates ();
  for (int i = 0; i < owned[OWN_STREAM].n; i++)
    {
      CUstream stream = (CUstream)owned[OWN_STREAM].handle[i];
      int status = 0;
      CUgraph graph = NULL;
      if (stream != NULL && cu.cuStreamIsCapturing (stream, &status) == 0 && status != MCU_CAPTURE_STATUS_NONE)
        if (cu.cuStreamEndCapture (stream, &graph) == 0 && graph != NULL)
          cu.cuGraphDestroy (graph);
    }
  int drained = cu.cuCtxSynchronize ();
  for (int kind = 0; kind < N_KINDS; kind++)
    {
      for (int i = owned[kind].n - 1; i >= 0; i--)
        {
          void *handle = (void *)owned[kind].handle[i];
          if (handle == NULL)
            continue;
          if (kind == OWN_EXEC)
            cu.cuGraphExecDestroy (handle);
          else if (kind == OWN_GRAPH)
            cu.cuGraphDestroy (handle);
          else if (kind == OWN_EVENT)
            cu.cuEventDestroy (handle);
          else if (kind == OWN_STREAM)
            cu.cuStreamDestroy (handle);
          else
            cu.cuMemFree ((CUdeviceptr)(uintptr_t)handle);
        }
      owned[kind].n = 0;
    }
  if (timed_out)
    fact ("gate=timeout");
  int health = conf_health ();
  if (drained != 0 || health != 0)
    fact ("sick=%s/%s", conf_r (drained), conf_r (health));
  return drained == 0 && health == 0;
}
