/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plain C: needs neither GLib nor cuda.h, and can be included alone. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;

/**
 * SECTION:memra-host-driver
 * @title: Host driver controls
 * @short_description: failing calls, older drivers, several devices: what tests want of the host driver
 * @include: memra-capture/memra-host-driver.h
 *
 * The host driver is a libcuda.so.1 that runs on the CPU. A program that wants to steer it (a test that needs a
 * failing call, an older driver, two devices) asks for this table with memra_driver_get_host_control(), or, with no
 * part of this library, with dlsym (handle, "memra_host_control"), which has the type #MemraHostControlFunc.
 *
 * The same settings can be given to a program that knows nothing of them, in the environment, which is read once, at
 * the first call of the process: `MEMRA_HOST_DRIVER_VERSION=12040`, `MEMRA_HOST_DEVICES=2`,
 * `MEMRA_HOST_FAULT=cuStreamEndCapture:1:901` (entry:nth:code, several separated by commas), `MEMRA_HOST_POISON=1`,
 * `MEMRA_HOST_REUSE=1`, `MEMRA_HOST_SHUFFLE=SEED`, `MEMRA_HOST_MEMORY=BYTES`. None of them names a library.
 *
 * The header is plain C; it needs neither GLib nor cuda.h and can be included alone.
 */

/**
 * MEMRA_HOST_CONTROL_ABI:
 *
 * The layout of #MemraHostControl that this header describes. Fields are only ever added at the end.
 *
 * Since: 0.1
 */
#define MEMRA_HOST_CONTROL_ABI 1

/**
 * MemraHostControl:
 * @abi: the layout of the table: the %MEMRA_HOST_CONTROL_ABI of the host driver
 * @set_driver_version: claims to be this driver from now on, 11040 to 13020 (13000 at start). cuGetProcAddress hides
 *   what the version did not have. Affects drivers opened afterwards. Returns 0, or 1 (invalid value) and changes
 *   nothing
 * @set_device_count: sets the number of devices, 0 to 16 (1 at start); 0 makes cuInit answer 100. Returns 0, or 1 for
 *   a number out of range or when contexts are alive on a device that would vanish
 * @inject_fault: the nth call of `entry` from now on (1: the next) answers `result` and does nothing else. "*"
 *   matches every entry point. Any number of faults may be pending; each fires once. Returns 0, or 1 for an entry it
 *   does not know
 * @inject_fault_from: as @inject_fault, and every later call of it too, until @clear_faults
 * @clear_faults: drops all pending faults
 * @count_faults: how many faults have fired since the process began
 * @count_calls: how often an entry point was called since the process began; "*": all of them
 * @get_entry: the name of the index-th entry point that it implements, %NULL past the end: for walking all of them
 * @count_objects: live objects of a kind: "context" "stream" "event" "allocation" "host-allocation" "module" "graph"
 *   "exec" "user-object" "capture"; "*": all of them. Primary contexts count while retained
 * @count_unsupported: calls answered CUDA_ERROR_NOT_SUPPORTED because the host driver lacks the feature
 * @set_poison: fills freed memory with 0xdb, so that reading it shows. Off at start
 * @set_reuse_addresses: gives the next allocation of the same size the address that was freed last, with a new buffer
 *   id, as a GPU does. On at start
 * @set_shuffle: runs graph nodes in a random legal order from this seed; 0: in topological order (at start). Finds
 *   missing edges
 * @break_context: the context answers `result` to every later call, as after an illegal address (700). 0 heals it,
 *   which no GPU does
 * @hold_work: no stream starts another operation until released. Lets a test see that work is asynchronous, or that
 *   an order is real, without sleeping. Calls that wait for the work then wait for the release
 * @release_work: ends what @hold_work began
 * @inject_break: as @inject_fault, and the call breaks `context`, as @break_context does: a context that dies at a
 *   moment of one's choice. The call that does it need not be about that context. Returns 0, or 1 for an entry it does
 *   not know or a context that is not alive
 * @set_memory: sets the memory of every device, in bytes (8 GiB at start). What is allocated stays. Where an allocation
 *   does not fit, it answers 2 (out of memory); where nothing at all is left, so do new contexts, modules and
 *   executable graphs, whose own needs are not counted otherwise
 *
 * The controls of the host driver. Every function may be called from any thread at any time and returns at once.
 * Entry points are named as cuGetProcAddress names them: "cuMemAlloc", not "cuMemAlloc_v2".
 *
 * Since: 0.1
 */
typedef struct _MemraHostControl MemraHostControl;
struct _MemraHostControl
{
  unsigned int abi;
  int (*set_driver_version) (int version);
  int (*set_device_count) (int count);
  int (*inject_fault) (const char *entry, unsigned nth, int result);
  int (*inject_fault_from) (const char *entry, unsigned nth, int result);
  void (*clear_faults) (void);
  unsigned long long (*count_faults) (void);
  unsigned long long (*count_calls) (const char *entry);
  const char *(*get_entry) (unsigned index);
  unsigned long long (*count_objects) (const char *kind);
  unsigned long long (*count_unsupported) (void);
  void (*set_poison) (int on);
  void (*set_reuse_addresses) (int on);
  void (*set_shuffle) (unsigned seed);
  void (*break_context) (struct CUctx_st *context, int result);
  void (*hold_work) (void);
  void (*release_work) (void);
  int (*inject_break) (const char *entry, unsigned nth, struct CUctx_st *context, int result);
  void (*set_memory) (unsigned long long bytes);
};

/**
 * MemraHostControlFunc:
 *
 * The type of the host driver's symbol "memra_host_control".
 *
 * Returns: the controls, valid for the life of the process
 *
 * Since: 0.1
 */
typedef const MemraHostControl *(*MemraHostControlFunc) (void);

#ifdef __cplusplus
}
#endif
