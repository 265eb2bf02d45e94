/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * host-private.h: what the files of the host driver share.
 *
 * One lock, host_lock, guards every field of every struct below and every global, unless a comment says otherwise.
 * An API function is
 *
 *   HOST_API McuResult
 *   cuThing (CUstream stream)
 *   {
 *     McuResult result = host_enter (HOST_ENTRY_cuThing);
 *     if (result == MCU_SUCCESS)
 *       result = thing (stream);
 *     return host_leave (HOST_ENTRY_cuThing, result);
 *   }
 *
 * host_enter() takes the lock and host_leave() drops it; every internal function here expects it held and keeps it
 * held, unless its promise says "unlocked" or "may drop the lock". Kernels, host functions, log callbacks and
 * destructors of user objects run unlocked.
 *
 * A handle is the address of its struct. It is looked up in a table of live objects before it is touched, so that a
 * destroyed or foreign one is recognised without reading freed memory.
 *
 * The core (process, devices, contexts, memory, streams, events, modules, launches) and the graph half (graphs, execs,
 * captures) meet here: the section "Core" lists what the graph half may call, "Graph half" what the core calls.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

#include "abi.h"
#include "memra-capture/memra-host-driver.h"
#include "memra-capture/memra-host-module.h"

#include "entries-host.h"

#define HOST_API __attribute__ ((visibility ("default")))

/* Prototypes of every exported entry point. */
#define HOST_PROTOTYPE(kind, capture, base, version, symbol, params) HOST_API McuResult symbol params;
HOST_ENTRIES (HOST_PROTOTYPE)
#undef HOST_PROTOTYPE

#define HOST_PROTOTYPE(base, version, symbol) HOST_API McuResult symbol (void);
HOST_UNSUPPORTED_ENTRIES (HOST_PROTOTYPE)
#undef HOST_PROTOTYPE

/* One number per exported entry point. */
typedef enum
{
#define HOST_ENUM(kind, capture, base, version, symbol, params) HOST_ENTRY_##symbol,
  HOST_ENTRIES (HOST_ENUM)
#undef HOST_ENUM
#define HOST_ENUM(base, version, symbol) HOST_ENTRY_##symbol,
      HOST_UNSUPPORTED_ENTRIES (HOST_ENUM)
#undef HOST_ENUM
          HOST_N_ENTRIES
} HostEntry;

/* What an entry point may do while something captures; the class is in entries-host.h, and host_capture_check() knows
 * what a class means. Entries that record themselves into the stream they name are SAFE: the stream decides. */
typedef enum
{
  HOST_CAPTURE_SAFE,   /* never refused */
  HOST_CAPTURE_UNSAFE, /* "potentially unsafe": 900 and invalidation by the rule of modes and threads */
  HOST_CAPTURE_LOAD,   /* as UNSAFE before driver 12.3, SAFE from it on */
  HOST_CAPTURE_FATAL,  /* 900 and invalidation whenever the context has a live capture: every mode, any thread */
} HostCaptureClass;

/* One row of entries-host.h. */
typedef struct
{
  const char *base;   /* name that cuGetProcAddress knows */
  int version;        /* ABI version */
  const char *symbol; /* exported name */
  int kind;           /* HostEntryKind */
  HostCaptureClass capture;
  McuProc address;
} HostEntryInfo;

typedef enum
{
  HOST_ENTRY_PLAIN,
  HOST_ENTRY_EARLY,  /* needs no cuInit and works in a callback: names of errors, versions, cuInit itself */
  HOST_ENTRY_STREAM, /* NULL stream, or none, means the legacy stream; has a _ptsz or _ptds twin */
  HOST_ENTRY_UNSUPPORTED,
} HostEntryKind;

extern const HostEntryInfo host_entries[HOST_N_ENTRIES]; /* constant */

/* ---------------------------------------------------------------------------------------------------------------
 * Objects
 */

typedef enum
{
  HOST_KIND_CONTEXT,
  HOST_KIND_STREAM,
  HOST_KIND_EVENT,
  HOST_KIND_ALLOCATION,      /* HostAllocation on the device */
  HOST_KIND_HOST_ALLOCATION, /* HostAllocation: pinned or registered host memory */
  HOST_KIND_POOL,
  HOST_KIND_MODULE,
  HOST_KIND_LIBRARY,
  HOST_KIND_FUNCTION,
  HOST_KIND_KERNEL,
  HOST_KIND_GRAPH,
  HOST_KIND_NODE,
  HOST_KIND_EXEC,
  HOST_KIND_USER_OBJECT,
  HOST_KIND_CAPTURE,
  HOST_KIND_LOG_CALLBACK,
  HOST_KIND_PHYSICAL, /* cuMemCreate */
  HOST_N_KINDS
} HostKind;

typedef struct HostObject HostObject;
typedef void (*HostFinalize) (HostObject *object);

/* First member of every object. */
struct HostObject
{
  uint32_t magic; /* HOST_MAGIC while the memory is an object */
  HostKind kind;
  unsigned refs; /* the live table's own, plus one for everybody who points here and may outlive the handle */
  bool live;     /* the client's handle is valid */
  HostFinalize finalize;
};

#define HOST_MAGIC 0x6d656d72u

typedef struct CUctx_st HostContext;
typedef struct CUstream_st HostStream;
typedef struct CUevent_st HostEvent;
typedef struct CUmod_st HostModule;
typedef struct CUlib_st HostLibrary;
typedef struct CUfunc_st HostFunction;
typedef struct CUkern_st HostKernel;
typedef struct CUmemPoolHandle_st HostPool;
typedef struct CUgraph_st HostGraph;                /* graph half */
typedef struct CUgraphNode_st HostNode;             /* graph half */
typedef struct CUgraphExec_st HostExec;             /* graph half */
typedef struct CUuserObject_st HostUserObject;      /* graph half */
typedef struct HostCapture HostCapture;             /* graph half: one capture, origin and forks */
typedef struct HostMember HostMember;               /* graph half: one stream's part in a capture */
typedef struct HostCapturedEvent HostCapturedEvent; /* graph half: what an event recorded in a capture stands for */
typedef struct HostImage HostImage;                 /* a shared object that is loaded */
typedef struct HostFence HostFence;
typedef struct HostOp HostOp;
typedef struct HostAllocation HostAllocation;
typedef struct HostLaunch HostLaunch;

/* A point in the execution of a stream: done once. */
struct HostFence
{
  unsigned refs;
  bool done;
  int64_t done_ns; /* CLOCK_MONOTONIC, when done */
  GSList *waiters; /* pthread_cond_t *, borrowed from the stacks of the waiting threads */
};

typedef struct
{
  int ordinal;
  HostContext *primary;  /* nullable; owned while retained, or NULL */
  unsigned primary_refs; /* cuDevicePrimaryCtxRetain */
  unsigned primary_flags;
  HostPool *default_pool; /* nullable until asked for; owned */
  HostPool *current_pool; /* nullable: the default one; borrowed */
  size_t used;            /* bytes allocated */
} HostDevice;

#define HOST_MAX_DEVICES 16

struct CUctx_st
{
  HostObject object;
  HostDevice *device; /* borrowed */
  bool primary;
  unsigned flags;
  uint64_t id;        /* cuCtxGetId; never reused */
  McuResult broken;   /* what every call answers, 0: healthy */
  HostStream *legacy; /* owned */
  GPtrArray *streams; /* HostStream, borrowed: all that live or have work left, legacy and per-thread ones too */
};

#define HOST_N_STREAM_ATTRIBUTES 17

/* CUstreamAttrValue */
typedef struct
{
  char bytes[64];
} HostStreamAttribute;

struct CUstream_st
{
  HostObject object;
  HostContext *context; /* referenced; the handle dies with the context */
  unsigned flags;       /* MCU_STREAM_* */
  int priority;
  uint64_t id;
  bool legacy, per_thread;         /* the special ones, which the client cannot destroy */
  uint64_t thread;                 /* of a per-thread stream: HostThread.id */
  HostFence *last;                 /* nullable; owned: completion of what was put in last */
  HostOp *head, *tail;             /* FIFO of what has not started; owned */
  HostOp *running;                 /* nullable; owned by the worker */
  bool worker;                     /* a thread serves this stream */
  bool closing;                    /* the worker ends when the FIFO is empty */
  pthread_t worker_thread;         /* valid while `worker` */
  pthread_cond_t wake;             /* tells the worker */
  HostStreamAttribute *attributes; /* nullable: none ever set; HOST_N_STREAM_ATTRIBUTES of them; owned */
  HostMember *capture; /* nullable; graph half's: not NULL from begin or join until end, invalidated or not */
};

struct CUevent_st
{
  HostObject object;
  HostContext *context;        /* referenced */
  unsigned flags;              /* MCU_EVENT_* */
  HostFence *fence;            /* nullable: never recorded in a stream that executes; owned */
  HostCapturedEvent *captured; /* nullable; graph half's: the last record was a captured one */
};

typedef enum
{
  HOST_MEMORY_DEVICE,     /* cuMemAlloc */
  HOST_MEMORY_POOL,       /* cuMemAllocAsync */
  HOST_MEMORY_GRAPH,      /* an allocation node's */
  HOST_MEMORY_MANAGED,    /* cuMemAllocManaged */
  HOST_MEMORY_HOST,       /* cuMemHostAlloc */
  HOST_MEMORY_REGISTERED, /* cuMemHostRegister: not ours to free */
  HOST_MEMORY_RANGE,      /* cuMemAddressReserve */
} HostMemoryType;

struct HostAllocation
{
  HostObject object;    /* live: has an identity, pointer queries find it */
  HostContext *context; /* referenced */
  HostMemoryType type;
  char *base;        /* also the device address */
  size_t size;       /* as asked for */
  size_t block_size; /* of the memory behind, >= size; 0 when the memory is not ours */
  uint64_t id;       /* CU_POINTER_ATTRIBUTE_BUFFER_ID, never reused; 0 before the first life */
  unsigned flags;
  HostPool *pool; /* nullable; referenced */
  bool orphan;    /* of a graph, unreserved while live: goes for good when it vanishes */
};

/* One kernel of one loaded module. */
struct CUfunc_st
{
  HostObject object;
  HostModule *module;            /* borrowed; alive while the function's handle is */
  HostKernel *kern;              /* nullable: of a library's module, the kernel; borrowed; alive as the module is */
  HostImage *image;              /* referenced: keeps the code mapped */
  const MemraHostKernel *kernel; /* borrowed from the image */
  size_t args_size;              /* bytes of the parameter buffer */
  int max_dynamic_shared;
  int preferred_carveout;
};

struct CUkern_st
{
  HostObject object;
  HostLibrary *library;          /* borrowed; alive while the kernel's handle is */
  HostImage *image;              /* referenced */
  const MemraHostKernel *kernel; /* borrowed from the image */
  int max_dynamic_shared;
  int preferred_carveout;
};

/* A kernel launch with its arguments copied. */
struct HostLaunch
{
  HostFunction *function; /* holds a reference (and so the code stays mapped) */
  HostKernel *kern;       /* nullable; referenced: where the function came out of a library */
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  int priority;
  bool cooperative;
  bool programmatic;   /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
  unsigned cluster[3]; /* 0: none asked for */
  char *args;          /* owned; function->args_size bytes, the parameter buffer */
  size_t packed_size;  /* bytes given through `extra`, the rest being 0 */
  void *extra[5];      /* the same again, pointing here, when given that way; else all NULL */
  void **params;       /* owned; params[i] points into args; n_parameters of them and a NULL */
};

/* What this thread of the client has; created at its first call. Only its own thread touches it, so without the lock.
 */
typedef struct
{
  uint64_t id;        /* never reused, from 1 */
  GPtrArray *stack;   /* HostContext, referenced (may be dead): the context stack, top last */
  int capture_mode;   /* graph half's: MCU_CAPTURE_MODE_*, starts GLOBAL */
  bool in_callback;   /* in a host function, or a destructor of a user object: most CUDA calls answer 800 */
  bool in_log;        /* in a log callback: failures are not logged again */
  bool locked;        /* between host_enter() and host_leave() with the lock held */
  bool per_thread;    /* inside a _ptsz twin: NULL is the per-thread stream */
  HostStream *worker; /* nullable: the stream that this thread serves */
  GPtrArray *log;     /* char *, owned: lines to send in host_leave() before the "Returning" line */
} HostThread;

/* Settings of the control table and of the environment. */
typedef struct
{
  int driver_version;
  int n_devices;
  bool poison;
  bool reuse;
  unsigned shuffle; /* seed, 0: topological order */
  size_t memory;    /* bytes of each device */
} HostSettings;

extern pthread_mutex_t host_lock;
extern HostSettings host_settings;
extern HostDevice host_devices[HOST_MAX_DEVICES];

/* ---------------------------------------------------------------------------------------------------------------
 * Core: process
 */

/* Takes the lock, counts the call, fires faults, refuses a call before cuInit (3), after fork (3), in a callback (800).
 * Whatever it answers, host_leave() must follow. */
McuResult host_enter (HostEntry entry);

/* Drops the lock; for a result other than success and 600 sends this call's log lines and "Returning N (NAME) from
 * FUNCTION" to the log callbacks. Returns `result`. */
McuResult host_leave (HostEntry entry, McuResult result);

/* Adds a line that host_leave() will send before the "Returning" line, should the call fail. */
void host_log (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* Sends a line to the log callbacks at once, before the call changes anything; drops the lock meanwhile. */
void host_log_now (const char *line);

/* Answers 801 and counts it; `what` names the missing feature in the log. */
McuResult host_unsupported (const char *what);

/* This thread's state, never NULL. */
HostThread *host_thread (void);

/* Runs fn (user_data) unlocked with CUDA calls refused (800). Call it without the lock. */
void host_call_unlocked (CUhostFn fn, void *user_data);

/* As above for a thread that holds the lock: drops it around the call. */
void host_call_back (CUhostFn fn, void *user_data);

/* Name of a result such as "CUDA_ERROR_INVALID_VALUE"; NULL for an unknown one. Unlocked. */
const char *host_result_name (int result);

/* Bytes of the device that are not allocated. */
size_t host_device_available (const HostDevice *device);

/* Fresh number from 1, never reused. One sequence for contexts, streams, buffers and captures. */
uint64_t host_next_id (void);

/* ---------------------------------------------------------------------------------------------------------------
 * Core: objects
 */

/* Makes `object` (zeroed memory from g_new0) a live object of `kind` with one reference, the handle's own. `finalize`
 * frees the memory; it runs locked. */
void host_object_init (HostObject *object, HostKind kind, HostFinalize finalize);

/* As above, but not live: for objects that get their handle's validity later, through host_object_revive(). */
void host_object_init_dead (HostObject *object, HostKind kind, HostFinalize finalize);
void host_object_revive (HostObject *object);

/* Whether `handle` is a live object of `kind`; any pointer value may be asked. */
bool host_object_is_live (const void *handle, HostKind kind);

/* Ends the life of the handle, without dropping a reference. */
void host_object_retire (HostObject *object);

void *host_object_ref (void *object);

/* Drops a reference; NULL is nothing. The last one finalizes. */
void host_object_unref (void *object);

/* Retires the handle and drops its reference. */
void host_object_destroy (void *object);

/* Number of live objects of a kind. */
size_t host_object_count (HostKind kind);

/* Calls fn for every live object of the kind; fn may destroy objects. */
void host_object_foreach (HostKind kind, void (*fn) (void *object, void *data), void *data);

/* ---------------------------------------------------------------------------------------------------------------
 * Core: contexts and streams
 */

/* The current context, checked: 201 for none, 709 for a destroyed one, and a broken one's result. */
McuResult host_context_current (HostContext **context);

/* The stream of a handle: 400 for what is not a live stream, and a broken context's result. NULL, 0x1 and 0x2 mean
 * those of the current context, and only they need one: 201. */
McuResult host_stream_get (CUstream handle, HostStream **stream);

/* As above, for work about to be enqueued outside a capture: for the legacy stream also host_capture_check_legacy(). */
McuResult host_stream_get_for_work (CUstream handle, HostStream **stream);

/* ---------------------------------------------------------------------------------------------------------------
 * Core: fences and operations
 */

HostFence *host_fence_new (void);
HostFence *host_fence_ref (HostFence *fence);
void host_fence_unref (HostFence *fence); /* NULL is nothing */

/* Marks the fence done now and wakes who waits. Once only. */
void host_fence_complete (HostFence *fence);

/* Waits until the fence is done; drops the lock meanwhile. The caller holds a reference. */
void host_fence_wait (HostFence *fence);

/* Does an operation's work: on the stream's worker thread, unlocked. A result other than success breaks the context. */
typedef McuResult (*HostOpRun) (void *data);

/* Frees its data: locked, after the work or when it is dropped at process exit; fences that `run` would have completed
 * must be complete after it. Nullable. */
typedef void (*HostOpFree) (void *data);

/* A new operation; `run` may be NULL for a mere marker. */
HostOp *host_op_new (HostOpRun run, void *data, HostOpFree free_data);

/* The operation starts only after `fence` is done; NULL is nothing. */
void host_op_wait_for (HostOp *op, HostFence *fence);

/* Puts the operation into the stream (takes it) with the implicit waits between the legacy stream and blocking ones,
 * and returns at once. Returns its completion: borrowed, good until the lock is dropped; ref it to keep it. */
HostFence *host_stream_enqueue (HostStream *stream, HostOp *op);

/* Whether everything put into the stream is done; the legacy stream includes the blocking streams of its context. */
bool host_stream_is_idle (HostStream *stream);

/* Waits for everything put into the stream up to now; may drop the lock. */
void host_stream_drain (HostStream *stream);

/* Waits for everything put into any stream of the context up to now; may drop the lock. */
void host_context_drain (HostContext *context);

/* ---------------------------------------------------------------------------------------------------------------
 * Core: events, for graph nodes that record and wait
 */

/* Gives the event a new, pending recording (and forgets a captured one) and returns its fence with a reference for the
 * caller, who completes it when the node runs. */
HostFence *host_event_start_recording (HostEvent *event);

/* ---------------------------------------------------------------------------------------------------------------
 * Core: work, the same for streams and graph nodes
 */

/* Checks a launch (400 no such function, 1 for its shape or missing arguments) and copies its arguments, from `params`
 * or from `extra`. `function` may be a CUkernel's handle, as in cuLaunchKernel. */
McuResult host_launch_new (HostLaunch **launch, CUfunction function, const unsigned grid[3], const unsigned block[3],
                           unsigned shared_bytes, void **params, void **extra);
HostLaunch *host_launch_copy (const HostLaunch *launch);
void host_launch_free (HostLaunch *launch);

/* Runs every block on this thread. Unlocked. */
void host_launch_run (const HostLaunch *launch);

/* Checks a copy: 1 for a memory type, pitch or range that it cannot be, 801 for arrays. Resolves UNIFIED into HOST or
 * DEVICE in place. A device address must lie in a live allocation. */
McuResult host_copy_check (McuMemcpy3D *copy);

/* Copies. Unlocked. */
void host_copy_run (const McuMemcpy3D *copy);

/* A plain copy of `size` bytes as the driver records it: one row. Types are MCU_MEMORYTYPE_*. */
void host_copy_init (McuMemcpy3D *copy, int dst_type, uint64_t dst, int src_type, uint64_t src, size_t size);

/* Checks a fill: 1 for an element size other than 1, 2, 4, for misalignment, or an address outside live allocations. */
McuResult host_fill_check (const McuMemsetNodeParams *fill);

/* The same, but any address will do: what the driver checks when it records. */
McuResult host_fill_check_shape (const McuMemsetNodeParams *fill);

/* Fills. Unlocked. */
void host_fill_run (const McuMemsetNodeParams *fill);

/* ---------------------------------------------------------------------------------------------------------------
 * Core: memory
 */

/* The live allocation or registered range that an address lies in, or NULL. */
HostAllocation *host_memory_find (uint64_t address);

/* Reserves an address and memory for an allocation node: not live, no id. 2 when the device is full. */
McuResult host_memory_reserve (HostContext *context, size_t size, HostAllocation **allocation);

/* Gives a reserved allocation a new life with a new id (the allocation node runs), and takes it away (the free node
 * runs, or the client frees the address in a stream: the core calls this itself then). `allocation->object.live` tells.
 */
void host_memory_appear (HostAllocation *allocation);
void host_memory_vanish (HostAllocation *allocation);

/* What freed memory is filled with, when that is switched on. */
#define HOST_POISON 0xdb

/* The identity ends now, but the memory is in use until the fence is done; it is not poisoned. */
void host_memory_vanish_behind (HostAllocation *allocation, HostStream *stream, HostFence *fence);

/* Drops a reserved allocation for good; its address may be handed out again. While it is live the memory stays until
 * the client frees the address. */
void host_memory_unreserve (HostAllocation *allocation);

/* ---------------------------------------------------------------------------------------------------------------
 * Graph half: asked by the core before it does anything
 */

/* For a stream with stream->capture set: records instead of executing. An invalidated capture answers 901. */
McuResult host_capture_kernel (HostStream *stream, HostLaunch *launch); /* takes launch, whatever it answers */

/* A launch into the stream was wrong in itself, which invalidates the capture. */
void host_capture_kernel_refused (HostStream *stream);
McuResult host_capture_memcpy (HostStream *stream, const McuMemcpy3D *copy);
McuResult host_capture_memset (HostStream *stream, const McuMemsetNodeParams *fill);
McuResult host_capture_host_fn (HostStream *stream, CUhostFn fn, void *user_data);
McuResult host_capture_mem_alloc (HostStream *stream, HostPool *pool, size_t size, CUdeviceptr *address);
McuResult host_capture_mem_free (HostStream *stream, CUdeviceptr address);

/* cuEventRecord(WithFlags) into a stream with stream->capture set. */
McuResult host_capture_event_record (HostStream *stream, HostEvent *event, unsigned flags);

/* cuStreamWaitEvent where the stream captures or event->captured is set. Sets *handled to false when the wait is an
 * ordinary one after all, which the core then does. */
McuResult host_capture_event_wait (HostStream *stream, HostEvent *event, unsigned flags, bool *handled);

/* A call that a stream refuses while it captures, e.g. cuStreamSynchronize, cuStreamQuery, cuStreamAddCallback: 900 and
 * invalidation for a member (also of an invalidated capture); for another stream as HOST_CAPTURE_UNSAFE. 0: go on. */
McuResult host_capture_check_stream (HostEntry entry, HostStream *stream);

/* What the entry's class in entries-host.h says (UNSAFE, LOAD, FATAL): 900 with invalidation and a log line, or 0. */
McuResult host_capture_check (HostEntry entry, HostContext *context);

/* Use of the context's legacy stream: 906 with invalidation and a log line when a blocking stream of it captures. */
McuResult host_capture_check_legacy (HostContext *context);

/* cuEventQuery, cuEventSynchronize, cuEventElapsedTime: 907 with invalidation when the event was last recorded in a
 * live capture, 1 when in an ended one; then, for an event recorded, the entry's class. 0: go on. */
McuResult host_capture_check_event (HostEntry entry, HostEvent *event);

/* The event is recorded anew outside a capture, or destroyed: frees and clears event->captured. */
void host_capture_forget_event (HostEvent *event);

/* The stream's handle is being destroyed: it leaves its capture, which dies if this was the origin. */
void host_capture_forget_stream (HostStream *stream);

/* A module, context or allocation goes away: nothing to do unless the graph half keeps tables of its own. */
void host_graph_context_destroyed (HostContext *context);

/* Runs the destructors of user objects that this call has made due; drops the lock meanwhile. For host_leave(). */
void host_user_objects_flush (void);

/* Frees the graph half's global tables, at process exit after the workers have ended. */
void host_graph_shutdown (void);
