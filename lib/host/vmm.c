/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * vmm.c: reserved address ranges, physical memory, and the mappings of one into the other. Physical memory is a memory
 * file, so that the same bytes can appear at several addresses and outlive a mapping.
 */
#include "core-private.h"

#include <sys/mman.h>
#include <unistd.h>

#define GRANULARITY ((size_t) 2 << 20)

typedef struct
{
  HostObject object;
  HostDevice *device;
  HostAllocationProp prop;
  int fd;
  size_t size;
  uint64_t id;
  unsigned handles; /* cuMemCreate and cuMemRetainAllocationHandle, less cuMemRelease */
} Physical;

typedef struct
{
  char *base;
  size_t size;
  size_t offset;
  Physical *physical; /* referenced */
  uint64_t id;        /* CU_POINTER_ATTRIBUTE_BUFFER_ID: mapping again is a new one */
  int access;         /* CUmemAccess_flags: 0, 1 read, 3 read and write */
} Map;

static GArray *maps; /* Map, in no order: there are few */

static bool
is_aligned (uint64_t value)
{
  return value % GRANULARITY == 0;
}

static void
physical_finalize (HostObject *object)
{
  Physical *physical = (Physical *) object;

  physical->device->used -= physical->size;
  close (physical->fd);
  g_free (physical);
}

static Map *
find_map (uint64_t address)
{
  for (guint i = 0; maps != NULL && i < maps->len; i++)
    {
      Map *map = &g_array_index (maps, Map, i);

      if (address - (uintptr_t) map->base < map->size)
        return map;
    }
  return NULL;
}

bool
host_vmm_find (uint64_t address, HostMapping *mapping)
{
  Map *map = find_map (address);

  if (map != NULL)
    *mapping = (HostMapping){ (uintptr_t) map->base, map->size, map->id, map->physical->id, map->access != 0 };
  return map != NULL;
}

/* Whether mappings follow one another over all the bytes; with `access` (not 0), whether each grants it. */
static bool
covers (uint64_t address, size_t size, int access)
{
  while (size > 0)
    {
      Map *map = find_map (address);
      size_t rest;

      if (map == NULL || (map->access & access) != access)
        return false;
      rest = map->size - (address - (uintptr_t) map->base);
      if (rest >= size)
        return true;
      address += rest;
      size -= rest;
    }
  return true;
}

bool
host_vmm_covers (uint64_t address, size_t size)
{
  return covers (address, size, 1);
}

void
host_vmm_shutdown (void)
{
  if (maps != NULL && maps->len == 0)
    g_clear_pointer (&maps, g_array_unref);
}

/* The range that holds all the bytes, or NULL. */
static HostAllocation *
find_range (uint64_t address, size_t size)
{
  HostAllocation *range = host_memory_find (address);

  if (range == NULL || range->type != HOST_MEMORY_RANGE || size > range->size - (address - (uintptr_t) range->base))
    return NULL;
  return range;
}

static void
range_finalize (HostObject *object)
{
  HostAllocation *range = (HostAllocation *) object;

  host_object_unref (range->context);
  g_free (range);
}

static McuResult
reserve (CUdeviceptr *address, size_t size, size_t alignment, unsigned long long flags)
{
  HostContext *context;
  HostAllocation *range;
  char *base;
  size_t head;
  McuResult result;

  if (address == NULL || size == 0 || !is_aligned (size) || (alignment & (alignment - 1)) != 0 || flags != 0)
    return MCU_ERROR_INVALID_VALUE;
  alignment = MAX (alignment, GRANULARITY);
  result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemAddressReserve, context);
  if (result != MCU_SUCCESS)
    return result;
  if (size + alignment < size)
    return MCU_ERROR_OUT_OF_MEMORY;
  base = mmap (NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return MCU_ERROR_OUT_OF_MEMORY;
  head = (alignment - (uintptr_t) base % alignment) % alignment;
  if (head > 0)
    munmap (base, head);
  if (head < alignment)
    munmap (base + head + size, alignment - head);

  range = g_new0 (HostAllocation, 1);
  host_object_init (&range->object, HOST_KIND_ALLOCATION, range_finalize);
  range->context = host_object_ref (context);
  range->type = HOST_MEMORY_RANGE;
  range->base = base + head;
  range->size = size;
  range->id = host_next_id ();
  host_memory_insert (range);
  *address = (uintptr_t) range->base;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemAddressReserve (CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAddressReserve);

  (void) hint; /* may be ignored, says the API */
  if (result == MCU_SUCCESS)
    result = reserve (address, size, alignment, flags);
  return host_leave (HOST_ENTRY_cuMemAddressReserve, result);
}

/* Refused while anything is mapped there. */
static McuResult
address_free (uint64_t address, size_t size)
{
  HostAllocation *range = find_range (address, size);
  McuResult result;

  if (range == NULL || (uintptr_t) range->base != address || range->size != size)
    return MCU_ERROR_INVALID_VALUE;
  for (guint i = 0; maps != NULL && i < maps->len; i++)
    if ((uintptr_t) g_array_index (maps, Map, i).base - address < size)
      return MCU_ERROR_INVALID_VALUE;
  result = host_capture_check (HOST_ENTRY_cuMemAddressFree, range->context);
  if (result != MCU_SUCCESS)
    return result;
  host_memory_remove (range);
  munmap (range->base, range->size);
  host_object_destroy (range);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemAddressFree (CUdeviceptr address, size_t size)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemAddressFree);

  if (result == MCU_SUCCESS)
    result = address_free (address, size);
  return host_leave (HOST_ENTRY_cuMemAddressFree, result);
}

static McuResult
create (unsigned long long *handle, size_t size, const HostAllocationProp *prop, unsigned long long flags)
{
  HostDevice *device;
  Physical *physical;
  McuResult result;
  int fd;

  if (handle == NULL || prop == NULL || size == 0 || !is_aligned (size) || flags != 0 || prop->type != 1)
    return MCU_ERROR_INVALID_VALUE;
  if (prop->handle_types != 0 || prop->location.type != 1)
    return host_unsupported ("physical memory that is shared or not on a device");
  result = host_device_get (prop->location.id, &device);
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemCreate, NULL);
  if (result != MCU_SUCCESS)
    return result;
  if (size > host_device_available (device))
    return MCU_ERROR_OUT_OF_MEMORY;
  fd = memfd_create ("memra-host-memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate (fd, (off_t) size) != 0)
    {
      if (fd >= 0)
        close (fd);
      return MCU_ERROR_OUT_OF_MEMORY;
    }
  physical = g_new0 (Physical, 1);
  host_object_init (&physical->object, HOST_KIND_PHYSICAL, physical_finalize);
  physical->device = device;
  physical->prop = *prop;
  physical->fd = fd;
  physical->size = size;
  physical->id = host_next_id ();
  physical->handles = 1;
  device->used += size;
  *handle = (uintptr_t) physical;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemCreate (unsigned long long *handle, size_t size, const HostAllocationProp *prop, unsigned long long flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemCreate);

  if (result == MCU_SUCCESS)
    result = create (handle, size, prop, flags);
  return host_leave (HOST_ENTRY_cuMemCreate, result);
}

static McuResult
physical_get (unsigned long long handle, Physical **physical)
{
  *physical = (Physical *) (uintptr_t) handle;
  return host_object_is_live (*physical, HOST_KIND_PHYSICAL) ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

/* The memory itself stays while it is mapped. */
HOST_API McuResult
cuMemRelease (unsigned long long handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemRelease);
  Physical *physical;

  if (result == MCU_SUCCESS)
    result = physical_get (handle, &physical);
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuMemRelease, NULL);
  if (result == MCU_SUCCESS && --physical->handles == 0)
    host_object_destroy (physical);
  return host_leave (HOST_ENTRY_cuMemRelease, result);
}

static McuResult
map (uint64_t address, size_t size, size_t offset, unsigned long long handle, unsigned long long flags)
{
  HostAllocation *range = find_range (address, size);
  Physical *physical;
  McuResult result = physical_get (handle, &physical);
  Map map;

  if (result != MCU_SUCCESS)
    return result;
  if (range == NULL || size == 0 || !is_aligned (size) || !is_aligned (address) || offset != 0 || flags != 0
      || size > physical->size)
    return MCU_ERROR_INVALID_VALUE;
  for (guint i = 0; maps != NULL && i < maps->len; i++)
    {
      Map *other = &g_array_index (maps, Map, i);

      if ((uintptr_t) other->base < address + size && address < (uintptr_t) other->base + other->size)
        return MCU_ERROR_INVALID_VALUE;
    }
  result = host_capture_check (HOST_ENTRY_cuMemMap, range->context);
  if (result != MCU_SUCCESS)
    return result;
  map = (Map){ (char *) (uintptr_t) address, size, offset, host_object_ref (physical), host_next_id (), 0 };
  if (maps == NULL)
    maps = g_array_new (FALSE, FALSE, sizeof (Map));
  g_array_append_val (maps, map);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemMap (CUdeviceptr address, size_t size, size_t offset, unsigned long long handle, unsigned long long flags)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemMap);

  if (result == MCU_SUCCESS)
    result = map (address, size, offset, handle, flags);
  return host_leave (HOST_ENTRY_cuMemMap, result);
}

/* Makes the pages what the mapping's access says. */
static bool
apply (const Map *map)
{
  int flags = MAP_FIXED | (map->access != 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  int protection = map->access == 3 ? PROT_READ | PROT_WRITE : map->access == 1 ? PROT_READ : PROT_NONE;
  int fd = map->access != 0 ? map->physical->fd : -1;

  return mmap (map->base, map->size, protection, flags, fd, (off_t) map->offset) != MAP_FAILED;
}

/* Whole mappings only. */
static McuResult
unmap (uint64_t address, size_t size)
{
  HostAllocation *range = find_range (address, size);
  HostContext *context;
  McuResult result;

  if (range == NULL || size == 0 || !covers (address, size, 0))
    return MCU_ERROR_INVALID_VALUE;
  for (guint i = 0; i < maps->len; i++)
    {
      Map *each = &g_array_index (maps, Map, i);
      uint64_t base = (uintptr_t) each->base;

      if (base < address + size && address < base + each->size
          && (base < address || base + each->size > address + size))
        return MCU_ERROR_INVALID_VALUE;
    }
  result = host_capture_check (HOST_ENTRY_cuMemUnmap, range->context);
  if (result != MCU_SUCCESS)
    return result;
  context = host_object_ref (range->context);
  host_context_drain (context);
  host_object_unref (context);
  for (guint i = 0; i < maps->len;)
    {
      Map *each = &g_array_index (maps, Map, i);

      if ((uintptr_t) each->base - address >= size)
        {
          i++;
          continue;
        }
      each->access = 0;
      apply (each);
      host_object_unref (each->physical);
      g_array_remove_index_fast (maps, i);
    }
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemUnmap (CUdeviceptr address, size_t size)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemUnmap);

  if (result == MCU_SUCCESS)
    result = unmap (address, size);
  return host_leave (HOST_ENTRY_cuMemUnmap, result);
}

static McuResult
set_access (uint64_t address, size_t size, const McuMemAccessDesc *access, size_t count)
{
  HostAllocation *range = find_range (address, size);
  McuResult result;

  if (range == NULL || access == NULL || count == 0 || size == 0 || !covers (address, size, 0))
    return MCU_ERROR_INVALID_VALUE;
  result = host_capture_check (HOST_ENTRY_cuMemSetAccess, range->context);
  if (result != MCU_SUCCESS)
    return result;
  for (size_t i = 0; i < count; i++)
    if (access[i].location.type != 1 || access[i].flags < 0 || access[i].flags > 3 || access[i].flags == 2)
      return MCU_ERROR_INVALID_VALUE;
  for (guint i = 0; i < maps->len; i++)
    {
      Map *each = &g_array_index (maps, Map, i);

      if ((uintptr_t) each->base - address >= size)
        continue;
      each->access = access[count - 1].flags;
      if (!apply (each))
        return MCU_ERROR_OUT_OF_MEMORY;
    }
  return MCU_SUCCESS;
}

HOST_API McuResult
cuMemSetAccess (CUdeviceptr address, size_t size, const McuMemAccessDesc *access, size_t count)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemSetAccess);

  if (result == MCU_SUCCESS)
    result = set_access (address, size, access, count);
  return host_leave (HOST_ENTRY_cuMemSetAccess, result);
}

HOST_API McuResult
cuMemGetAccess (unsigned long long *flags, const McuMemLocation *location, CUdeviceptr address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemGetAccess);

  if (result == MCU_SUCCESS)
    {
      Map *map = find_map (address);

      if (flags == NULL || location == NULL || map == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *flags = (unsigned) map->access;
    }
  return host_leave (HOST_ENTRY_cuMemGetAccess, result);
}

HOST_API McuResult
cuMemGetAllocationGranularity (size_t *granularity, const HostAllocationProp *prop, int option)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemGetAllocationGranularity);

  if (result == MCU_SUCCESS)
    {
      if (granularity == NULL || prop == NULL || option < 0 || option > 1)
        result = MCU_ERROR_INVALID_VALUE;
      else
        *granularity = GRANULARITY;
    }
  return host_leave (HOST_ENTRY_cuMemGetAllocationGranularity, result);
}

HOST_API McuResult
cuMemGetAllocationPropertiesFromHandle (HostAllocationProp *prop, unsigned long long handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemGetAllocationPropertiesFromHandle);
  Physical *physical;

  if (result == MCU_SUCCESS)
    result = prop != NULL ? physical_get (handle, &physical) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *prop = physical->prop;
  return host_leave (HOST_ENTRY_cuMemGetAllocationPropertiesFromHandle, result);
}

HOST_API McuResult
cuMemRetainAllocationHandle (unsigned long long *handle, void *address)
{
  McuResult result = host_enter (HOST_ENTRY_cuMemRetainAllocationHandle);

  if (result == MCU_SUCCESS)
    {
      Map *map = find_map ((uintptr_t) address);

      if (handle == NULL || map == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        {
          /* A handle released while mapped comes back to life. */
          if (!map->physical->object.live)
            host_object_revive (host_object_ref (map->physical));
          map->physical->handles++;
          *handle = (uintptr_t) map->physical;
        }
    }
  return host_leave (HOST_ENTRY_cuMemRetainAllocationHandle, result);
}
