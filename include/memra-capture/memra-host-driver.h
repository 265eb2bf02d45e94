/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The host driver's controls.
 *
 * The host driver is a libcuda.so.1 that runs on the CPU. A program that wants to steer it (a test that needs a
 * failing call, an older driver, two devices) asks for this table with memra_driver_get_host_control(), or, with no
 * part of this library, with dlsym (handle, "memra_host_control"), which has the type MemraHostControlFunc.
 * This header is plain C and needs neither GLib nor cuda.h.
 *
 * The same settings can be given to a program that knows nothing of them, in the environment, read once in cuInit:
 * MEMRA_HOST_DRIVER_VERSION=12040, MEMRA_HOST_DEVICES=2, MEMRA_HOST_FAULT=cuStreamEndCapture:1:901 (entry:nth:code,
 * several separated by commas), MEMRA_HOST_POISON=1, MEMRA_HOST_REUSE=1, MEMRA_HOST_SHUFFLE=SEED.
 * None of them names a library.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;

/* MEMRA_HOST_CONTROL_ABI: the layout that this header describes; fields are only ever added at the end. */
#define MEMRA_HOST_CONTROL_ABI 1

/* Every function may be called from any thread at any time and returns at once, unless it says otherwise.
 * Entry points are named as cuGetProcAddress names them: "cuMemAlloc", not "cuMemAlloc_v2". */
typedef struct
{
  unsigned abi;

  /* Claims to be this driver from now on, 11040 to 13020 (13000 at start). cuGetProcAddress hides what the version
   * did not have. Affects drivers opened afterwards. Returns 0, or 1 (invalid value) and changes nothing. */
  int (*set_driver_version) (int version);

  /* Number of devices, 0 to 16 (1 at start); 0 makes cuInit answer 100. Returns 0, or 1 for a number out of range or
   * when contexts are alive on a device that would vanish. */
  int (*set_device_count) (int count);

  /* The nth call of `entry` from now on (1: the next) answers `result` and does nothing else. "*" matches every entry
   * point. Any number of faults may be pending; each fires once. Returns 0, or 1 for an entry it does not know. */
  int (*inject_fault) (const char *entry, unsigned nth, int result);

  /* As above, and every later call of it too, until clear_faults(). */
  int (*inject_fault_from) (const char *entry, unsigned nth, int result);
  void (*clear_faults) (void);

  /* How many faults have fired since the process began. */
  unsigned long long (*count_faults) (void);

  /* How often an entry point was called since the process began; "*": all of them. */
  unsigned long long (*count_calls) (const char *entry);

  /* The name of the index-th entry point it implements, NULL past the end: for walking all of them. */
  const char *(*get_entry) (unsigned index);

  /* Live objects: "context" "stream" "event" "allocation" "host-allocation" "module" "graph" "exec" "user-object"
   * "capture"; "*": all of them. Primary contexts count while retained. */
  unsigned long long (*count_objects) (const char *kind);

  /* Calls answered CUDA_ERROR_NOT_SUPPORTED because the host driver lacks the feature. */
  unsigned long long (*count_unsupported) (void);

  /* Fill freed memory with 0xdb, so that reading it shows. Off at start. */
  void (*set_poison) (int on);

  /* Give the next allocation of the same size the address that was freed last, with a new buffer id, as a GPU does.
   * On at start. */
  void (*set_reuse_addresses) (int on);

  /* Run graph nodes in a random legal order from this seed, 0: in topological order (at start). Finds missing edges. */
  void (*set_shuffle) (unsigned seed);

  /* The context answers `result` to every later call, as after an illegal address (700). 0 heals it, which no GPU does. */
  void (*break_context) (struct CUctx_st *context, int result);

  /* Hold: no stream starts another operation until released. Lets a test see that work is asynchronous, or that an
   * order is real, without sleeping. Calls that wait for the work then wait for the release. */
  void (*hold_work) (void);
  void (*release_work) (void);
} MemraHostControl;

typedef const MemraHostControl *(*MemraHostControlFunc) (void);

#ifdef __cplusplus
}
#endif
