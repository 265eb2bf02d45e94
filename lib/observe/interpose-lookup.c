/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who gets a wrapper: dlsym(), dlvsym() and cuGetProcAddress(), and what stands behind the wrappers.
 *
 * A name is only the driver's if the address that the dynamic linker found lies in an object with the driver's soname.
 */
#include "config.h"

#include "interpose-private.h"
#include "record-private.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef void *(*SymbolFunc) (void *handle, const char *name);
typedef void *(*VersionFunc) (void *handle, const char *name, const char *version);
typedef void *(*OpenFunc) (const char *file_name, int flags);

/* All of these only ever change from NULL to their value. */
static _Atomic (SymbolFunc) next_dlsym;
static _Atomic (VersionFunc) next_dlvsym;
static _Atomic (OpenFunc) next_dlopen;
static struct
{
  _Atomic (McuProc) driver; /* behind what we handed out */
  _Atomic (McuProc) next;   /* behind what we export */
  _Atomic (McuProc) symbol; /* exported by the driver */
} slots[INTERPOSE_N_ROWS];

static InterposeDriver driver;
static _Atomic (const InterposeDriver *) adopted;
static InterposeObject driver_object;
static pthread_mutex_t adoption = PTHREAD_MUTEX_INITIALIZER;

/* ---- The C library's own ---- */

/* The next one in the order of lookup, which may be another interposer's: it has the right to see what the program asks
 * for. The call is made from here, so "next" is after us. */
static void *
find_next (const char *name)
{
  SymbolFunc symbol = (SymbolFunc) interpose_symbol_of_c_library ("dlsym");
  void *next = symbol != NULL ? symbol (RTLD_NEXT, name) : NULL;

  return next != NULL ? next : interpose_symbol_of_c_library (name);
}

static SymbolFunc
get_next_dlsym (void)
{
  SymbolFunc next = next_dlsym;

  if (INTERPOSE_UNLIKELY (next == NULL))
    next_dlsym = next = (SymbolFunc) find_next ("dlsym");
  return next;
}

static VersionFunc
get_next_dlvsym (void)
{
  VersionFunc next = next_dlvsym;

  if (INTERPOSE_UNLIKELY (next == NULL))
    next_dlvsym = next = (VersionFunc) find_next ("dlvsym");
  return next;
}

static OpenFunc
get_next_dlopen (void)
{
  OpenFunc next = next_dlopen;

  if (INTERPOSE_UNLIKELY (next == NULL))
    next_dlopen = next = (OpenFunc) find_next ("dlopen");
  return next;
}

/* ---- The driver ---- */

typedef struct
{
  const char *symbol;
  int version;
  size_t offset;
} Need;

#define NEED(symbol, version)                                                                                          \
  {                                                                                                                    \
    #symbol, version, offsetof (InterposeDriver, symbol)                                                               \
  }

static const Need needs[] = {
  NEED (cuGetErrorName, 6000),
  NEED (cuStreamIsCapturing, 10000),
  NEED (cuStreamGetCtx, 9020),
  NEED (cuStreamGetCaptureInfo_v2, 11030),
  NEED (cuStreamGetCaptureInfo_v3, 12030),
  NEED (cuGraphGetNodes, 10000),
  NEED (cuGraphNodeGetType, 10000),
  NEED (cuGraphKernelNodeGetParams, 10000),
  NEED (cuGraphKernelNodeGetParams_v2, 12000),
  NEED (cuFuncGetName, 12030),
  NEED (cuKernelGetName, 12030),
  NEED (cuLogsRegisterCallback, 12090),
  NEED (cuLogsUnregisterCallback, 12090),
};

const InterposeDriver *
interpose_driver (void)
{
  return adopted;
}

/* The object holds a driver: makes it the one that is recorded. It is kept loaded from now on, since what we hand out
 * jumps into it. */
static void
adopt (const InterposeObject *object)
{
  driver.cuDriverGetVersion = (McuResult (*) (int *)) interpose_symbol (object, "cuDriverGetVersion");
  if (driver.cuDriverGetVersion == NULL || driver.cuDriverGetVersion (&driver.version) != MCU_SUCCESS)
    return;
  if (get_next_dlopen () (object->name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == NULL)
    return;
  driver_object = *object;
  driver.path = object->name;
  driver.start = object->start;
  driver.end = object->end;
  for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
    if (driver.version >= needs[i].version)
      {
        void *address = interpose_symbol (object, needs[i].symbol);

        memcpy ((char *) &driver + needs[i].offset, &address, sizeof address);
      }
  driver.has_log = driver.cuLogsRegisterCallback != NULL && driver.cuLogsUnregisterCallback != NULL;
  if (driver.cuStreamIsCapturing != NULL)
    adopted = &driver;
}

/* Whether this is the driver that is recorded; if none is yet, this one is. */
static bool
is_driver (const InterposeObject *object)
{
  if (object->soname == NULL || strcmp (object->soname, INTERPOSE_DRIVER_SONAME) != 0)
    return false;
  if (adopted == NULL)
    {
      pthread_mutex_lock (&adoption);
      if (adopted == NULL)
        adopt (object);
      pthread_mutex_unlock (&adoption);
    }
  return adopted != NULL && object->start == driver.start;
}

static bool
is_in_driver (const void *address)
{
  InterposeObject object;

  if (adopted != NULL && (uintptr_t) address >= driver.start && (uintptr_t) address < driver.end)
    return true;
  return interpose_object_of (address, &object) && is_driver (&object);
}

static McuProc
exported_by_driver (InterposeRow row)
{
  McuProc address = slots[row].symbol;

  if (address == NULL)
    slots[row].symbol = address = (McuProc) interpose_symbol (&driver_object, interpose_entries[row].symbol);
  return address;
}

/* ---- What stands behind the wrappers ---- */

McuProc
interpose_driver_entry (InterposeRow row)
{
  return slots[row].driver;
}

McuProc
interpose_next_entry (InterposeRow row)
{
  McuProc next = slots[row].next;
  InterposeObject object;

  if (INTERPOSE_LIKELY (next != NULL))
    return next;
  next = (McuProc) get_next_dlsym () (RTLD_NEXT, interpose_entries[row].symbol);
  /* The driver may have been loaded out of everybody's sight, and this symbol found all the same. */
  if (interpose_object_named (INTERPOSE_DRIVER_SONAME, &object))
    {
      if (record_is_on ())
        is_driver (&object);
      if (next == NULL)
        next = (McuProc) interpose_symbol (&object, interpose_entries[row].symbol);
    }
  slots[row].next = next;
  return next;
}

static bool
is_wanted (InterposeKind kind)
{
  switch (kind)
    {
    case INTERPOSE_LAUNCH:
      return record_counts_launches () || !driver.has_log;
    case INTERPOSE_CULPRIT:
      return !driver.has_log;
    default:
      return true;
    }
}

/* The wrapper for an address of the driver, or the address itself. */
static void *
wrap (InterposeRow row, void *address)
{
  McuProc none = NULL;

  if (!is_wanted (interpose_entries[row].kind))
    return address;
  /* The same ABI at a second address of the same driver makes no difference; that of something else does. */
  if (!atomic_compare_exchange_strong (&slots[row].driver, &none, (McuProc) address) && none != (McuProc) address
      && !(is_in_driver ((void *) none) && is_in_driver (address)))
    return address;
  return (void *) interpose_entries[row].handed;
}

/* ---- dlsym(), dlvsym() and dlopen() ---- */

static int
find_symbol (const char *name)
{
  for (int i = 0; i < INTERPOSE_N_ROWS; i++)
    if (interpose_entries[i].symbol[2] == name[2] && strcmp (interpose_entries[i].symbol, name) == 0)
      return i;
  return -1;
}

/* Where the linker put the beginning of this object. */
extern const char __ehdr_start[] __attribute__ ((visibility ("hidden")));

bool
interpose_is_ours (const void *address)
{
  static uintptr_t end;
  InterposeObject object;

  if (end == 0 && interpose_object_of (__ehdr_start, &object))
    end = object.end;
  return (uintptr_t) address >= (uintptr_t) __ehdr_start && (uintptr_t) address < end;
}

static void *
ask (void *handle, const char *name, const char *version)
{
  return version != NULL ? get_next_dlvsym () (handle, name, version) : get_next_dlsym () (handle, name);
}

/* What the caller would have found in its own scope if our exports were not in front of it. */
static void *
look_past_us (const char *name, const char *version, const void *caller)
{
  void *address = ask (RTLD_NEXT, name, version);
  struct link_map *map = NULL;
  Dl_info info;

  if (address == NULL && dladdr1 (caller, &info, (void **) &map, RTLD_DL_LINKMAP) != 0 && map != NULL)
    address = ask (map, name, version);
  return address != NULL && !interpose_is_ours (address) ? address : NULL;
}

static void *
look_up (void *handle, const char *name, const char *version, const void *caller)
{
  void *address = handle == RTLD_DEFAULT ? look_past_us (name, version, caller) : ask (handle, name, version);

  if (address != NULL && interpose_is_ours (address))
    address = look_past_us (name, version, caller);
  if (address == NULL || !is_in_driver (address))
    return address;
  return wrap ((InterposeRow) find_symbol (name), address);
}

static void *
driver_dlsym (void *handle, const char *name)
{
  return look_up (handle, name, NULL, __builtin_return_address (0));
}

static void *
driver_dlvsym (void *handle, const char *name, const char *version)
{
  return look_up (handle, name, version, __builtin_return_address (0));
}

/* RTLD_NEXT is asked by other interposers, for what is behind them, and those are behind us. */
static bool
is_of_interest (void *handle, const char *name)
{
  return name != NULL && name[0] == 'c' && name[1] == 'u' && handle != RTLD_NEXT && record_is_on () && !record_inside
         && find_symbol (name) >= 0;
}

void *
interpose_export_of (const char *name)
{
  int row;

  if (strcmp (name, "dlsym") == 0)
    return (void *) dlsym;
  if (strcmp (name, "dlvsym") == 0)
    return (void *) dlvsym;
  if (strcmp (name, "dlopen") == 0)
    return (void *) dlopen;
  row = name[0] == 'c' && name[1] == 'u' ? find_symbol (name) : -1;
  return row >= 0 ? (void *) interpose_entries[row].exported : NULL;
}

void *
interpose_dlopen_target (const char *file_name, int flags)
{
  if (INTERPOSE_UNLIKELY ((flags & RTLD_DEEPBIND) != 0) && record_is_on ())
    interpose_deepbind_pending = true;
  return (void *) get_next_dlopen ();
}

void *
interpose_dlsym_target (void *handle, const char *name)
{
  if (INTERPOSE_UNLIKELY (interpose_deepbind_pending))
    interpose_deepbind_settle ();
  return is_of_interest (handle, name) ? (void *) driver_dlsym : (void *) get_next_dlsym ();
}

void *
interpose_dlvsym_target (void *handle, const char *name)
{
  if (INTERPOSE_UNLIKELY (interpose_deepbind_pending))
    interpose_deepbind_settle ();
  return is_of_interest (handle, name) ? (void *) driver_dlvsym : (void *) get_next_dlvsym ();
}

#if !defined(__x86_64__) && !defined(__aarch64__)
/* Jumps, if the compiler is so kind (it is, with optimisation). */
INTERPOSE_EXPORT void *
dlsym (void *restrict handle, const char *restrict name)
{
  return ((SymbolFunc) interpose_dlsym_target (handle, name)) (handle, name);
}

INTERPOSE_EXPORT void *
dlvsym (void *restrict handle, const char *restrict name, const char *restrict version)
{
  return ((VersionFunc) interpose_dlvsym_target (handle, name)) (handle, name, version);
}

INTERPOSE_EXPORT void *
dlopen (const char *file_name, int flags)
{
  return ((OpenFunc) interpose_dlopen_target (file_name, flags)) (file_name, flags);
}
#endif

/* ---- cuGetProcAddress() ---- */

/* The newest ABI that the version asked for has, as the driver chooses it. */
static int
find_by_version (const char *base, int version, bool per_thread)
{
  int best = -1;

  if (version < 0) /* the driver takes it for a very late one (measured) */
    version = INT_MAX;
  for (int i = 0; i < INTERPOSE_N_ROWS; i++)
    {
      const InterposeEntry *entry = &interpose_entries[i];

      if (strcmp (entry->base, base) != 0 || entry->version > version || (entry->per_thread && !per_thread))
        continue;
      if (best < 0 || entry->version > interpose_entries[best].version
          || (entry->version == interpose_entries[best].version && entry->per_thread))
        best = i;
    }
  return best;
}

void *
interpose_answer (const char *base, void *address, int version, uint64_t flags)
{
  bool known = false;
  int row;

  if (!record_is_on () || record_inside || address == NULL || base[0] != 'c' || base[1] != 'u')
    return address;
  /* What the driver answers is what it exports (measured), so the address says which ABI it is, whatever was asked. */
  for (int i = 0; i < INTERPOSE_N_ROWS; i++)
    if (interpose_entries[i].base[2] == base[2] && strcmp (interpose_entries[i].base, base) == 0)
      {
        if (!known && !(known = is_in_driver (address)))
          return address;
        if (exported_by_driver ((InterposeRow) i) == (McuProc) address)
          return wrap ((InterposeRow) i, address);
      }
  if (!known)
    return address;
  row = find_by_version (base, version, (flags & MCU_GET_PROC_PER_THREAD_STREAM) != 0);
  return row >= 0 ? wrap ((InterposeRow) row, address) : address;
}

/* ---- Our own directory ---- */

void *
interpose_open_beside (const char *file_name, const char **trouble)
{
  InterposeObject self;
  char path[PATH_MAX];
  const char *slash;
  void *handle;

  *trouble = "its folder cannot be found";
  if (!interpose_object_of ((const void *) &interpose_open_beside, &self))
    return NULL;
  slash = strrchr (self.name, '/');
  if (slash == NULL
      || snprintf (path, sizeof path, "%.*s/%s", (int) (slash - self.name), self.name, file_name) >= (int) sizeof path)
    return NULL;
  handle = get_next_dlopen () (path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  *trouble = handle == NULL ? dlerror () : NULL;
  return handle;
}
