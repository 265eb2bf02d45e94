/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interposer: the half of the recorder that is loaded into every process (LD_PRELOAD). It promises to be nothing but
 * a few jumps until a program asks for one of the driver's entry points that matter, to hand out a wrapper of the very
 * ABI that was asked for, to touch nothing that is not the driver's, and to need nothing but the C library. That
 * includes: no GLib, no thread, no signal, no file descriptor that stays open.
 *
 * Who calls whom: interpose-stubs.S is dlsym() and dlvsym(); they jump to the next dlsym() unless interpose-lookup.c
 * wants the name. interpose-wrap.c is the wrappers, generated from interpose-entries.h; they call the driver and then
 * tell the record-*.c files what came of it. The census of a graph is read by record-census.c, an object of its own
 * that is loaded when the first graph is instantiated.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "driver/abi.h"
#include "interpose-entries.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERPOSE_EXPORT __attribute__ ((visibility ("default")))
#define INTERPOSE_LIKELY(x) __builtin_expect (!!(x), 1)
#define INTERPOSE_UNLIKELY(x) __builtin_expect (!!(x), 0)

#define INTERPOSE_DRIVER_SONAME "libcuda.so.1"

/* ---- interpose-elf.c: loaded objects, read without the dynamic linker's big lock ----
 *
 * dladdr() takes the lock that dlopen() holds while constructors run; this code runs inside the driver's log callback,
 * where that could be a deadlock. dl_iterate_phdr() only takes the lock of the list. */

typedef struct
{
  uintptr_t base;           /* what is added to an address in the file */
  uintptr_t start, end;     /* the whole of it */
  const char *name;         /* path as the dynamic linker has it, "" for the program */
  const char *soname;       /* nullable */
  const ElfW (Sym) *symbols; /* nullable, as what follows */
  const char *strings;
  const ElfW (Half) *versions;
  const uint32_t *gnu_hash;
  const uint32_t *hash;
} InterposeObject;

void interpose_read_object (InterposeObject *object, const struct dl_phdr_info *info);
/* The object that an address lies in. Its strings live as long as it stays loaded. */
bool interpose_object_of (const void *address, InterposeObject *object);
/* The first object with a soname. */
bool interpose_object_named (const char *soname, InterposeObject *object);
/* A function of the C library, found without calling anything: a sanitizer asks for functions, and so comes to us, when
 * its own wrappers of the simplest functions do not work yet. */
void *interpose_symbol_of_c_library (const char *name);
/* A symbol that an object defines, in its default version, NULL if it has none. */
void *interpose_symbol (const InterposeObject *object, const char *name);

typedef struct
{
  char path[4096];     /* of the object, "" for an address in no object */
  char module[256];    /* its base name */
  char function[4096]; /* raw name of the function, "" where that is not known */
  uintptr_t offset;    /* in the object, as its file counts */
  uintptr_t plus;      /* from the function's beginning */
} InterposePlace;

/* Where a return address lies; the function is that of the call before it. Exported names are found in memory, others
 * in the object's file, if it still has them. */
void interpose_place_of (const void *address, InterposePlace *place);

/* ---- interpose-lookup.c ---- */

/* One number for each wrapper. */
typedef enum
{
#define INTERPOSE_X(kind, symbol, base, version, per_thread, params, args) INTERPOSE_ROW_##symbol,
  INTERPOSE_ENTRIES
#undef INTERPOSE_X
      INTERPOSE_N_ROWS
} InterposeRow;

typedef enum
{
  INTERPOSE_LOOKUP,    /* cuGetProcAddress itself */
  INTERPOSE_CORE,      /* captures and graphs: always wrapped */
  INTERPOSE_OPERATION, /* becomes a node of a capture: always wrapped, to know what was captured last */
  INTERPOSE_LAUNCH,    /* wrapped where launches are counted, or as CULPRIT */
  INTERPOSE_CULPRIT    /* may break a capture: wrapped where the driver has no error log */
} InterposeKind;

typedef struct
{
  const char *symbol; /* exported name of this ABI */
  const char *base;   /* the name that cuGetProcAddress knows */
  int version;        /* of the ABI */
  InterposeKind kind;
  bool per_thread;  /* its default stream is the per-thread one */
  McuProc handed;   /* our wrapper that calls interpose_driver_entry() */
  McuProc exported; /* our wrapper that calls interpose_next_entry() */
} InterposeEntry;

extern const InterposeEntry interpose_entries[INTERPOSE_N_ROWS]; /* interpose-wrap.c */

/* What stands behind a wrapper that we handed out; never NULL then. */
McuProc interpose_driver_entry (InterposeRow row);

/* What stands behind our exported symbol: the next one that the dynamic linker would have taken, which may be another
 * interposer's; NULL where no driver is loaded. */
McuProc interpose_next_entry (InterposeRow row);

/* Whether an address lies in this very object. */
bool interpose_is_ours (const void *address);

/* What a caller of cuGetProcAddress gets for what the driver answered. */
void *interpose_answer (const char *base, void *address, int version, uint64_t flags);

/* Loads an object that lies beside this one. NULL, and why not, valid until the thread's next such call. */
void *interpose_open_beside (const char *file_name, const char **trouble);

/* Called by interpose-stubs.S: where dlsym(), dlvsym() and dlopen() are to jump to. */
void *interpose_dlsym_target (void *handle, const char *name) __attribute__ ((visibility ("hidden")));
void *interpose_dlvsym_target (void *handle, const char *name) __attribute__ ((visibility ("hidden")));
void *interpose_dlopen_target (const char *file_name, int flags) __attribute__ ((visibility ("hidden")));

/* What we export under a name, NULL if we do not. */
void *interpose_export_of (const char *name);

/* ---- interpose-deepbind.c ---- */

/* An object was opened, or is about to be, that binds past us. */
extern _Atomic bool interpose_deepbind_pending;
/* Makes it bind to us. */
void interpose_deepbind_settle (void);

/* The driver that is recorded: the first one whose entry points were asked for. Entries that its version does not have
 * are NULL; the structure is constant once interpose_driver() has returned it. */
typedef struct
{
  const char *path; /* as loaded; valid for ever, since the driver is kept loaded */
  uintptr_t start, end;
  int version;
  bool has_log;
  McuResult (*cuDriverGetVersion) (int *version);
  McuResult (*cuGetErrorName) (int error, const char **name);
  McuResult (*cuStreamIsCapturing) (CUstream stream, int *status);
  McuResult (*cuStreamGetCtx) (CUstream stream, CUcontext *context);
  McuResult (*cuStreamGetCaptureInfo_v2) (CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                          const CUgraphNode **dependencies, size_t *n_dependencies);
  McuResult (*cuStreamGetCaptureInfo_v3) (CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                          const CUgraphNode **dependencies, const McuEdgeData **edge_data,
                                          size_t *n_dependencies);
  McuResult (*cuGraphGetNodes) (CUgraph graph, CUgraphNode *nodes, size_t *count);
  McuResult (*cuGraphNodeGetType) (CUgraphNode node, int *type);
  McuResult (*cuGraphKernelNodeGetParams) (CUgraphNode node, McuKernelNodeParams *params);
  McuResult (*cuGraphKernelNodeGetParams_v2) (CUgraphNode node, McuKernelNodeParams *params);
  McuResult (*cuFuncGetName) (const char **name, CUfunction function);
  McuResult (*cuKernelGetName) (const char **name, CUkernel kernel);
  McuResult (*cuLogsRegisterCallback) (McuLogsCallback callback, void *user_data, CUlogsCallbackHandle *handle);
  McuResult (*cuLogsUnregisterCallback) (CUlogsCallbackHandle handle);
} InterposeDriver;

/* NULL while none was seen. */
const InterposeDriver *interpose_driver (void);
