/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * proc-address.c: the table of entry points, cuGetProcAddress, and the entry points that answer 801.
 */
#include "core-private.h"
#include "per-thread.h"

#include <string.h>

#define PER_THREAD_VERSION 7000

const HostEntryInfo host_entries[HOST_N_ENTRIES] = {
#define ENTRY(kind, capture, base, version, symbol, params)                                                            \
  { #base, version, #symbol, HOST_ENTRY_##kind, HOST_CAPTURE_##capture, (McuProc) symbol },
  HOST_ENTRIES (ENTRY)
#undef ENTRY
#define ENTRY(base, version, symbol)                                                                                   \
  { #base, version, #symbol, HOST_ENTRY_UNSUPPORTED, HOST_CAPTURE_SAFE, (McuProc) symbol },
      HOST_UNSUPPORTED_ENTRIES (ENTRY)
#undef ENTRY
};

/* An entry point that exists and is not implemented. Its real parameters do not matter: it reads none. */
#define UNSUPPORTED(base, version, symbol)                                                                             \
  HOST_API McuResult symbol (void)                                                                                     \
  {                                                                                                                    \
    McuResult result = host_enter (HOST_ENTRY_##symbol);                                                               \
    return host_leave (HOST_ENTRY_##symbol, result == MCU_SUCCESS ? host_unsupported (#symbol) : result);              \
  }
HOST_UNSUPPORTED_ENTRIES (UNSUPPORTED)
#undef UNSUPPORTED

static McuProc
find_twin (McuProc address)
{
  static const struct
  {
    McuProc plain, twin;
  } twins[] = {
#define TWIN(symbol, suffix, params, args) { (McuProc) symbol, (McuProc) symbol##suffix },
    HOST_PER_THREAD_ENTRIES (TWIN)
#undef TWIN
  };

  for (size_t i = 0; i < G_N_ELEMENTS (twins); i++)
    if (twins[i].plain == address)
      return twins[i].twin;
  return NULL;
}

/* The version that an entry point is known by: twins for per-thread streams came with 7.0. */
static int
version_of (const HostEntryInfo *entry, bool per_thread)
{
  return per_thread && entry->version < PER_THREAD_VERSION && find_twin (entry->address) != NULL ? PER_THREAD_VERSION
                                                                                                 : entry->version;
}

/* The newest ABI that the caller and the claimed driver version both know; a negative version means any. A name that
 * only newer drivers have is not found, as it would not be there. */
static int
lookup (const char *base, int version, bool per_thread, void **pfn)
{
  int status = MCU_GET_PROC_NOT_FOUND;
  const HostEntryInfo *best = NULL;

  for (int i = 0; i < HOST_N_ENTRIES; i++)
    {
      const HostEntryInfo *entry = &host_entries[i];

      if (strcmp (entry->base, base) != 0 || entry->version > host_settings.driver_version)
        continue;
      status = MCU_GET_PROC_VERSION_NOT_SUFFICIENT;
      if ((version < 0 || version_of (entry, per_thread) <= version)
          && (best == NULL || entry->version > best->version))
        best = entry;
    }
  *pfn = NULL;
  if (best == NULL)
    return status;
  if (per_thread)
    *pfn = (void *) find_twin (best->address);
  if (*pfn == NULL)
    *pfn = (void *) best->address;
  return MCU_GET_PROC_SUCCESS;
}

static McuResult
get_proc_address (const char *base, void **pfn, int version, uint64_t flags, int *status)
{
  int found;

  if (base == NULL || pfn == NULL || version > host_settings.driver_version
      || flags > (MCU_GET_PROC_LEGACY_STREAM | MCU_GET_PROC_PER_THREAD_STREAM))
    return MCU_ERROR_INVALID_VALUE;
  found = lookup (base, version, (flags & MCU_GET_PROC_PER_THREAD_STREAM) != 0, pfn);
  if (status != NULL)
    *status = found;
  return MCU_SUCCESS;
}

/* Without a status, a name that is not found is an error. */
HOST_API McuResult
cuGetProcAddress (const char *base, void **pfn, int version, uint64_t flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuGetProcAddress);

  if (result == MCU_SUCCESS)
    {
      void *found = NULL;

      result = pfn != NULL ? get_proc_address (base, &found, version, flags, NULL) : MCU_ERROR_INVALID_VALUE;
      if (result == MCU_SUCCESS && found == NULL)
        result = MCU_ERROR_NOT_FOUND;
      if (result == MCU_SUCCESS)
        *pfn = found;
    }
  return host_leave (HOST_ENTRY_cuGetProcAddress, result);
}

HOST_API McuResult
cuGetProcAddress_v2 (const char *base, void **pfn, int version, uint64_t flags, int *status)
{
  McuResult result = host_enter (HOST_ENTRY_cuGetProcAddress_v2);

  if (result == MCU_SUCCESS)
    result = get_proc_address (base, pfn, version, flags, status);
  return host_leave (HOST_ENTRY_cuGetProcAddress_v2, result);
}
