/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runtime.h: what every case of the conformance program may use.
 *
 * A case runs in a clean state, writes facts and leaves its clean-up to the runtime: whatever it made with
 * conf_stream(), conf_event(), conf_own_*() is ended, drained and destroyed after it.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"
#include "extra-entries.h"

#define CONF_FIELD(need, field, base, version, symbol, params) McuResult (*field) params;
typedef struct
{
  MEMRA_DRIVER_ENTRIES (CONF_FIELD)
} ConfTable;

typedef struct
{
  CONF_EXTRA_ENTRIES (CONF_FIELD)
} ConfExtraTable; /* of its own, so that an entry may stand in both lists */
#undef CONF_FIELD

extern ConfTable cu;
extern ConfExtraTable cx;

/* Calls that may be absent go through CU (entry, arguments...) or, for the extra entries, CX: absent ones answer
 * CONF_ABSENT. */
#define CONF_ABSENT    (-1)
#define CU(entry, ...) (cu.entry != NULL ? cu.entry (__VA_ARGS__) : CONF_ABSENT)
#define CX(entry, ...) (cx.entry != NULL ? cx.entry (__VA_ARGS__) : CONF_ABSENT)

/* The loader itself, for the cases about it. */
extern McuGetProcAddressV1 conf_gpa_v1; /* nullable */
extern McuGetProcAddressV2 conf_gpa_v2; /* nullable */
void *conf_symbol (const char *name);   /* dlsym on the driver; nullable */

/* Made once per process. */
typedef struct
{
  int version;
  CUdevice device;
  CUcontext context; /* the primary context, current on the main thread */
  CUmodule module;
  CUmodule module2; /* the same image, loaded again */
  CUfunction empty, add, store, mix, big, huge;
  CUdeviceptr a, b; /* CONF_BYTES each */
  uint32_t *pinned; /* CONF_BYTES */
  uint32_t pageable[64];
  const void *image;    /* what cuModuleLoadData() takes */
  char image_path[512]; /* what cuModuleLoad() takes */
} ConfWorld;

#define CONF_BYTES ((size_t)65536)
extern ConfWorld w;

bool conf_load (const char *driver, const char **why);

/* Whether the driver that was loaded is this project's own. */
bool conf_is_host_driver (void);
bool conf_start (const char *host_module, const char **why); /* cuInit, context, module, buffers */
int conf_load_image (const char *host_module);
extern const char conf_ptx[];

/* Cases. */
enum
{
  CONF_ISOLATED = 1, /* in a process of its own */
  CONF_NO_INIT = 2   /* in a process that has not called cuInit */
};

typedef struct ConfCase ConfCase;
struct ConfCase
{
  char *id;
  void (*run) (const ConfCase *test);
  int mode;         /* capture mode, where the case has one */
  int arg;          /* the case function's own */
  const void *data; /* likewise; borrowed */
  unsigned flags;
};

void conf_add (unsigned flags, void (*run) (const ConfCase *), int mode, int arg, const void *data, const char *id, ...)
    __attribute__ ((format (printf, 6, 7)));
void conf_add_modes (void (*run) (const ConfCase *), int arg, const void *data,
                     const char *id); /* id/MODE, three cases */

extern const char *const conf_mode_names[3];

void conf_cases_capture (void);
void conf_cases_end (void);
void conf_cases_thread (void);
void conf_cases_events (void);
void conf_cases_sweep (void);
void conf_cases_info (void);
void conf_cases_graph (void);
void conf_cases_order (void);
void conf_cases_exec (void);
void conf_cases_alloc (void);
void conf_cases_update (void);
void conf_cases_memory (void);
void conf_cases_kernel (void);
void conf_cases_loader (void);
void conf_cases_log (void);
void conf_cases_handles (void);

/* Facts: each is written at once, so that a crash loses nothing. */
extern int conf_out;
extern bool conf_texts; /* --texts: the driver's own sentences too, which no other driver need repeat */
void fact (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
void fact_r (const char *name, int result); /* "name=900", "name=absent" */

/* Words for facts; each stays valid for the next thirty or so of them. */
const char *conf_r (int result);
const char *conf_status (CUstream stream); /* none, active, invalidated, E906 */
const char *conf_graph (CUgraph graph);    /* NULL, 0[], 3[kernel*2 memset] */
const char *conf_fresh (CUstream stream);  /* a capture of one fill: ok, or begin/fill/end */
const char *conf_yes (bool value);
const char *conf_format (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* Ends the capture and writes result, graph, status after and a fresh capture; the graph is destroyed. */
void conf_end (CUstream stream);
/* The same, handing the graph over; the runtime still owns it. Returns the result. */
int conf_end_graph (CUstream stream, CUgraph *graph);

/* Owned by the runtime until the case ends. */
CUstream conf_stream (bool nonblocking);
CUevent conf_event (void);
CUgraph conf_own_graph (CUgraph graph);
CUgraphExec conf_own_exec (CUgraphExec exec);
CUevent conf_own_event (CUevent event);
CUstream conf_own_stream (CUstream stream);
CUdeviceptr conf_own_memory (CUdeviceptr address);
void conf_forget (const void *handle); /* the case destroyed it itself */
bool conf_clean_up (void);             /* after a case; false: this process is no longer healthy */
int conf_health (void);                /* 0, or the first result that is wrong */

/* Work. */
int conf_launch (CUfunction function, CUstream stream, void **params); /* one block of 64 */
int conf_kernel (CUstream stream);                                     /* conf_empty */
int conf_kernel_add (CUstream stream);                                 /* a[i] += b[i] */
int conf_kernel_store (CUstream stream, CUdeviceptr at, uint32_t value);
int conf_fill (CUstream stream); /* a memset of w.b */
uint32_t conf_peek (CUdeviceptr at);
void conf_poke (CUdeviceptr at, uint32_t value);
CUgraph conf_make_graph (int n_kernels, int n_fills);               /* captured, RELAXED; owned by the runtime */
CUgraphExec conf_make_exec (CUgraph graph);                         /* owned by the runtime */
size_t conf_nodes (CUgraph graph, CUgraphNode *nodes, size_t room); /* the count */
CUgraphNode conf_node (CUgraph graph, size_t index);                /* nullable */
CUcontext conf_other_context (void); /* made at the first call, not made current; nullable */

/* Runs fn on a new thread with the main context current (unless bare) and, if thread_mode is not negative, that
 * thread's capture mode exchanged; returns fn's result. */
int conf_on_thread (int (*fn) (void *data), void *data, int thread_mode);
int conf_on_bare_thread (int (*fn) (void *data), void *data);
int conf_set_thread_mode (int mode); /* of the calling thread; returns the old one */

/* A gate: a host function that holds its stream until opened, three seconds at most. */
typedef struct ConfGate ConfGate;
ConfGate *conf_gate (CUstream stream); /* enqueues it */
void conf_gate_open (ConfGate *gate);
bool conf_gate_wait_entered (ConfGate *gate);

/* A counter that host functions and destructors bump and that a case can wait for, two seconds at most. */
void conf_count_reset (void);
void conf_count_bump (void *unused);
int conf_count_wait (int at_least); /* the count when reached, or when the time was up */
int conf_count_settle (void);       /* the count, after long enough that what is going to happen has happened */
