/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Objects that are opened with RTLD_DEEPBIND find the C library's dlsym(), and the driver they are linked with, before
 * they find us. dlopen() only takes a note of such an opening, for the same reason that dlsym() is only a jump. The next
 * look-up, which is how whoever opened an object gets at what is in it, then puts our addresses where the dynamic linker
 * put, or has yet to put, those of the same names.
 */
#include "config.h"

#include "interpose-private.h"
#include "record-private.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IS_IMPORT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_IMPORT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

_Atomic bool interpose_deepbind_pending;

#ifdef IS_IMPORT

typedef struct
{
  const ElfW (Rela) *items;
  size_t size; /* bytes */
} Relocations;

/* What of an object must be known to change its imports. */
typedef struct
{
  InterposeObject object;
  Relocations all, calls;
  uintptr_t relro_start, relro_end; /* read-only by now */
} Importer;

static const void *
dynamic_pointer (const Importer *importer, ElfW (Addr) value)
{
  return (const void *) (value < importer->object.base ? importer->object.base + value : value);
}

static void
read_relocations (Importer *importer, const ElfW (Dyn) *dynamic)
{
  for (; dynamic->d_tag != DT_NULL; dynamic++)
    switch (dynamic->d_tag)
      {
      case DT_RELA:
        importer->all.items = dynamic_pointer (importer, dynamic->d_un.d_ptr);
        break;
      case DT_RELASZ:
        importer->all.size = dynamic->d_un.d_val;
        break;
      case DT_JMPREL:
        importer->calls.items = dynamic_pointer (importer, dynamic->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        importer->calls.size = dynamic->d_un.d_val;
        break;
      default:
        break;
      }
}

static void
store (const Importer *importer, uintptr_t *slot, uintptr_t value)
{
  uintptr_t page_size = (uintptr_t) sysconf (_SC_PAGESIZE), page = (uintptr_t) slot & ~(page_size - 1);
  bool protected = (uintptr_t) slot >= importer->relro_start && (uintptr_t) slot < importer->relro_end;

  if (protected && mprotect ((void *) page, page_size, PROT_READ | PROT_WRITE) != 0)
    return;
  __atomic_store_n (slot, value, __ATOMIC_RELEASE);
  if (protected)
    mprotect ((void *) page, page_size, PROT_READ);
}

static void
change (const Importer *importer, const Relocations *relocations)
{
  const InterposeObject *object = &importer->object;

  for (size_t i = 0; i < relocations->size / sizeof *relocations->items; i++)
    {
      const ElfW (Rela) *item = &relocations->items[i];
      const ElfW (Sym) *symbol = &object->symbols[ELF64_R_SYM (item->r_info)];
      uintptr_t *slot = (uintptr_t *) (object->base + item->r_offset);
      void *ours;

      if (!IS_IMPORT (ELF64_R_TYPE (item->r_info)) || symbol->st_shndx != SHN_UNDEF)
        continue;
      ours = interpose_export_of (object->strings + symbol->st_name);
      if (ours != NULL && *slot != (uintptr_t) ours)
        store (importer, slot, (uintptr_t) ours);
    }
}

/* Objects that must go on as they are: ourselves, the C library, which has dlsym() itself, and the driver. */
static bool
is_left_alone (const InterposeObject *object)
{
  static const char *const sonames[]
      = { "libmemra-record.so", "libc.so.6", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
          INTERPOSE_DRIVER_SONAME };

  for (size_t i = 0; object->soname != NULL && i < sizeof sonames / sizeof sonames[0]; i++)
    if (strcmp (object->soname, sonames[i]) == 0)
      return true;
  return object->symbols == NULL || object->strings == NULL;
}

static int
change_object (struct dl_phdr_info *info, size_t size, void *data)
{
  Importer importer = { 0 };
  const ElfW (Dyn) *dynamic = NULL;

  interpose_read_object (&importer.object, info);
  if (is_left_alone (&importer.object))
    return 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];

      if (header->p_type == PT_DYNAMIC)
        dynamic = (const ElfW (Dyn) *) (info->dlpi_addr + header->p_vaddr);
      if (header->p_type == PT_GNU_RELRO)
        {
          importer.relro_start = info->dlpi_addr + header->p_vaddr;
          importer.relro_end = importer.relro_start + header->p_memsz;
        }
    }
  if (dynamic == NULL)
    return 0;
  read_relocations (&importer, dynamic);
  change (&importer, &importer.all);
  change (&importer, &importer.calls);
  return 0;
}

void
interpose_deepbind_settle (void)
{
  if (atomic_exchange (&interpose_deepbind_pending, false))
    dl_iterate_phdr (change_object, NULL);
}

#else

void
interpose_deepbind_settle (void)
{
  interpose_deepbind_pending = false;
}

#endif
