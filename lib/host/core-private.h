/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * core-private.h: what the files of the core share among themselves.
 *
 * The rules of host-private.h hold: the lock is held unless a promise says otherwise.
 */
#pragma once

#include "host-private.h"

/* ---------------------------------------------------------------------------------------------------------------
 * Process
 */

extern bool host_initialised; /* cuInit succeeded */
extern bool host_stopping;    /* the process exits: workers drop what they have */
extern bool host_down;        /* the process has exited: every call answers 4 */
extern bool host_forked;      /* in a child that fork() made; set once, before any other thread can exist */
extern bool host_held;        /* hold_work() */

/* What it can be told to be. */
#define HOST_VERSION_OLDEST 11040
#define HOST_VERSION_NEWEST 13020

/* environment.c: reads what the environment sets. What cannot be read is said on standard error, and left as it is; so is
 * a fault that add_fault does not take. */
void host_environment_read (HostSettings *settings,
                            bool (*add_fault) (const char *base, unsigned nth, int result, bool every));

/* Whether a fault is due for this call; counts it. */
bool host_fault_due (HostEntry entry, McuResult *result);

/* Reads the environment; the first call only. */
void host_control_read_environment (void);

/* Calls counted per entry point, answers of 801, faults fired. */
extern unsigned long long host_calls[HOST_N_ENTRIES];
extern unsigned long long host_unsupported_calls;

/* Frees faults and the names of entries. */
void host_control_shutdown (void);

/* ---------------------------------------------------------------------------------------------------------------
 * Logs
 */

/* A callback that wants log lines. */
typedef struct CUlogsCallbackEntry_st
{
  HostObject object;
  McuLogsCallback callback;
  void *user_data;
  unsigned running; /* deliveries under way; unregistering waits for those of other threads */
} HostLogCallback;

/* The callbacks to deliver to, each with a reference and counted as running; NULL when there is none. */
GPtrArray *host_log_targets (void);

/* Sends the thread's lines and the "Returning" line. Unlocked; takes the targets. */
void host_log_deliver (GPtrArray *targets, HostThread *thread, HostEntry entry, McuResult result);

/* ---------------------------------------------------------------------------------------------------------------
 * Objects, workers, memory: ends
 */

/* Frees the tables of live objects that are empty. */
void host_objects_shutdown (void);

/* Tells the workers to drop their work and waits for them, a few seconds at most; drops the lock meanwhile. Returns
 * whether all have ended. */
bool host_workers_shutdown (void);

/* Wakes every worker to look again at host_held and host_stopping. */
void host_workers_wake (void);

/* Joins the threads of workers that have ended; drops the lock meanwhile. */
void host_workers_reap (void);

/* Waits until the worker of a stream that is closed and has no work left has ended, and joins it; drops the lock
 * meanwhile. The caller holds a reference. */
void host_worker_await_end (HostStream *stream);

/* Ends the per-thread streams of a thread that ends. */
void host_streams_forget_thread (uint64_t thread);

/* Destroys every context. */
void host_contexts_shutdown (void);

/* Frees what is cached. */
void host_memory_shutdown (void);

/* ---------------------------------------------------------------------------------------------------------------
 * Devices, contexts, streams
 */

/* The device of an ordinal: 101 out of range. */
McuResult host_device_get (CUdevice ordinal, HostDevice **device);

/* Total memory that each device pretends to have. */
#define HOST_DEVICE_MEMORY ((size_t) 8 << 30) /* at start */

/* Priorities of streams: lower numbers are greater. */
#define HOST_PRIORITY_LEAST    0
#define HOST_PRIORITY_GREATEST (-5)

/* A new stream of the context; NULL never. */
HostStream *host_stream_new (HostContext *context, unsigned flags, int priority);

/* Retires the stream and lets its work finish. */
void host_stream_close (HostStream *stream);

/* The stream of a handle for a call that works in it; a `synchronous` call cannot be captured. */
McuResult host_stream_get_for (HostEntry entry, CUstream handle, bool synchronous, HostStream **stream);

/* Waits for the fence, which is of the stream: 0, or what the context is broken with. */
McuResult host_stream_wait (HostStream *stream, HostFence *fence);

/* Checks the copy and records it or puts it into the stream; a synchronous one is in the default stream and is waited
 * for where the driver waits. */
McuResult host_copy_submit (HostEntry entry, McuMemcpy3D *copy, CUstream handle, bool synchronous);

/* 0, what the context is broken with, or 709. */
McuResult host_context_health (HostContext *context);

/* ---------------------------------------------------------------------------------------------------------------
 * Memory
 */

/* A pool of stream-ordered memory. */
struct CUmemPoolHandle_st
{
  HostObject object;
  HostDevice *device; /* borrowed */
  bool builtin;       /* a device's default pool, which cannot be destroyed */
  size_t used, used_high;
  uint64_t release_threshold;
  int reuse[4]; /* CU_MEMPOOL_ATTR_REUSE_*, by attribute number */
};

/* The device's default pool, made when asked for; its current one. */
HostPool *host_pool_default (HostDevice *device);
HostPool *host_pool_current (HostDevice *device);

/* The allocation, live or reserved by an allocation node, that an address lies in, or NULL. */
HostAllocation *host_memory_find_any (uint64_t address);

/* Puts an allocation into, and takes it out of, the table that the two above search. */
void host_memory_insert (HostAllocation *allocation);
void host_memory_remove (HostAllocation *allocation);

/* Whether `size` bytes from `address` lie in one allocation that is live or reserved (and mapped). */
bool host_memory_covers (uint64_t address, size_t size);

/* Whether the address lies in pinned or registered host memory. */
bool host_memory_is_pinned (const void *address);

/* Frees all memory of a context, whatever is in flight. */
void host_memory_forget_context (HostContext *context);

/* Memory of `size` bytes, a multiple of HOST_ALIGNMENT, aligned to it: the one freed last of this size, or new. Memory
 * freed in `stream` (nullable) may be taken again in it at once. NULL when there is none. */
char *host_block_take (HostDevice *device, bool host, size_t size, HostStream *stream);

/* Takes the memory back, usable again for anybody when `fence` (nullable: now) is done. */
void host_block_give (HostDevice *device, bool host, char *base, size_t size, HostStream *stream, HostFence *fence);

/* Frees all that is kept. */
void host_block_shutdown (void);

#define HOST_ALIGNMENT ((size_t) 512)

/* A new allocation with memory and identity; NULL and 2 when the device, or the machine, is full. `stream` as above. */
McuResult host_memory_new (HostContext *context, HostMemoryType type, size_t size, HostPool *pool, HostStream *stream,
                           HostAllocation **allocation);

/* Gives host memory of the client's an identity: 712 where some of it has one. */
McuResult host_memory_register (HostContext *context, void *address, size_t size, unsigned flags);

/* Ends the allocation; its memory is reusable when `fence` (nullable) is done. */
void host_memory_delete (HostAllocation *allocation, HostStream *stream, HostFence *fence);

/* The live device allocation (not host memory, not a reserved range) that begins at the address, or NULL. */
HostAllocation *host_memory_find_base (uint64_t address);

/* A mapped piece of a reserved range. */
typedef struct
{
  uint64_t base;
  size_t size;
  uint64_t id;       /* of the mapping */
  uint64_t block_id; /* of the physical memory */
  bool accessible;
} HostMapping;

/* The mapping an address of a HOST_MEMORY_RANGE lies in. */
bool host_vmm_find (uint64_t address, HostMapping *mapping);

/* Whether the bytes are mapped throughout. */
bool host_vmm_covers (uint64_t address, size_t size);

/* Frees the range's mappings. */
void host_vmm_shutdown (void);

/* ---------------------------------------------------------------------------------------------------------------
 * Modules
 */

/* A loaded shared object; several modules may share one. */
struct HostImage
{
  unsigned refs;
  void *handle; /* dlopen()'s */
  int fd;       /* memory file that holds an image given as bytes, -1 for a file */
  const MemraHostModule *module;
};

HostImage *host_image_ref (HostImage *image);

/* The last reference unloads. */
void host_image_unref (HostImage *image);

/* Loads a file or an image in memory: 1, 200, 209, 301. Drops the lock while the dynamic loader runs. */
McuResult host_image_load (const char *path, const void *data, HostImage **image);

struct CUmod_st
{
  HostObject object;
  HostContext *context; /* referenced */
  HostImage *image;     /* referenced */
  HostLibrary *library; /* nullable: loaded through one; borrowed */
  GPtrArray *functions; /* HostFunction, referenced, in the image's order */
};

struct CUlib_st
{
  HostObject object;
  HostImage *image;   /* referenced */
  GPtrArray *kernels; /* HostKernel, referenced, in the image's order */
  GPtrArray *modules; /* HostModule, referenced: one for each context that asked */
};

HostModule *host_module_new (HostContext *context, HostImage *image, HostLibrary *library);

/* Retires the module and its functions. */
void host_module_unload (HostModule *module);

/* Unloads the modules of a context. */
void host_modules_forget_context (HostContext *context);

/* The library's module in a context, made when first asked for. */
HostModule *host_library_module (HostLibrary *library, HostContext *context);

/* Bytes of a kernel's parameter buffer. */
size_t host_kernel_args_size (const MemraHostKernel *kernel);

/* Offset and size of a parameter: 1 past the end. */
McuResult host_kernel_param_info (const MemraHostKernel *kernel, size_t index, size_t *offset, size_t *size);

/* The kernel's function in a context, made when first asked for. */
HostFunction *host_kernel_function (HostKernel *kernel, HostContext *context);

/* The function of a handle, which must be a function's: 400. */
McuResult host_function_get (CUfunction handle, HostFunction **function);

/* Limits of a launch: dynamic shared memory as it comes, and for a function that asked for more. */
#define HOST_MAX_BLOCK_THREADS      1024
#define HOST_DEFAULT_DYNAMIC_SHARED 49152
#define HOST_MAX_DYNAMIC_SHARED     232448

/* Limits of a multiprocessor. */
#define HOST_MAX_THREADS 2048
#define HOST_MAX_BLOCKS  32
#define HOST_MAX_SHARED  233472

/* CU_FUNC_ATTRIBUTE_* of a function or kernel that has these settings, -1 being the default. */
McuResult host_function_get_attribute (int attribute, int max_dynamic_shared, int preferred_carveout, int *value);
McuResult host_function_set_attribute (int attribute, int value, int *max_dynamic_shared, int *preferred_carveout);
