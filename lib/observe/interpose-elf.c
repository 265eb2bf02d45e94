/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loaded objects and their symbols, read from memory. */
#include "config.h"

#include "interpose-private.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* ---- One object ---- */

/* Most C libraries add the load address to the pointers in a loaded dynamic section, some machines' do not. */
static const void *
dynamic_pointer (const InterposeObject *object, ElfW (Addr) value)
{
  return (const void *) (value < object->base ? object->base + value : value);
}

static void
read_dynamic (InterposeObject *object, const ElfW (Dyn) *dynamic)
{
  size_t soname = 0;
  bool has_soname = false;

  for (; dynamic->d_tag != DT_NULL; dynamic++)
    switch (dynamic->d_tag)
      {
      case DT_SYMTAB:
        object->symbols = dynamic_pointer (object, dynamic->d_un.d_ptr);
        break;
      case DT_STRTAB:
        object->strings = dynamic_pointer (object, dynamic->d_un.d_ptr);
        break;
      case DT_VERSYM:
        object->versions = dynamic_pointer (object, dynamic->d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        object->gnu_hash = dynamic_pointer (object, dynamic->d_un.d_ptr);
        break;
      case DT_HASH:
        object->hash = dynamic_pointer (object, dynamic->d_un.d_ptr);
        break;
      case DT_SONAME:
        soname = dynamic->d_un.d_val;
        has_soname = true;
        break;
      default:
        break;
      }
  if (has_soname && object->strings != NULL)
    object->soname = object->strings + soname;
}

static void
read_object (InterposeObject *object, const struct dl_phdr_info *info)
{
  const ElfW (Dyn) *dynamic = NULL;

  memset (object, 0, sizeof *object);
  object->base = info->dlpi_addr;
  object->name = info->dlpi_name != NULL ? info->dlpi_name : "";
  object->start = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];
      uintptr_t start = info->dlpi_addr + header->p_vaddr;

      if (header->p_type == PT_DYNAMIC)
        dynamic = (const ElfW (Dyn) *) start;
      if (header->p_type != PT_LOAD)
        continue;
      if (start < object->start)
        object->start = start;
      if (start + header->p_memsz > object->end)
        object->end = start + header->p_memsz;
    }
  if (dynamic != NULL)
    read_dynamic (object, dynamic);
}

static bool
covers (const struct dl_phdr_info *info, uintptr_t address)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *header = &info->dlpi_phdr[i];

      if (header->p_type == PT_LOAD && address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz)
        return true;
    }
  return false;
}

/* A symbol table has no length of its own; the hash tables know it. */
static uint32_t
count_symbols (const InterposeObject *object)
{
  const uint32_t *table = object->gnu_hash, *buckets, *chains;
  uint32_t n_buckets, first, n = 0;

  if (object->hash != NULL)
    return object->hash[1];
  if (table == NULL)
    return 0;
  n_buckets = table[0];
  first = table[1];
  buckets = table + 4 + table[2] * (sizeof (ElfW (Addr)) / sizeof (uint32_t));
  chains = buckets + n_buckets;
  for (uint32_t i = 0; i < n_buckets; i++)
    if (buckets[i] > n)
      n = buckets[i];
  if (n < first)
    return first;
  while ((chains[n - first] & 1) == 0)
    n++;
  return n + 1;
}

static bool
is_defined (const ElfW (Sym) *symbol)
{
  unsigned type = symbol->st_info & 15;

  return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 && (type == STT_FUNC || type == STT_NOTYPE);
}

void *
interpose_symbol (const InterposeObject *object, const char *name)
{
  uint32_t n = object->symbols != NULL && object->strings != NULL ? count_symbols (object) : 0;
  void *hidden = NULL;

  for (uint32_t i = 0; i < n; i++)
    {
      const ElfW (Sym) *symbol = &object->symbols[i];
      void *address = (void *) (object->base + symbol->st_value);

      if (!is_defined (symbol) || strcmp (object->strings + symbol->st_name, name) != 0)
        continue;
      /* An old version of a symbol only does where there is no other. */
      if (object->versions == NULL || (object->versions[i] & 0x8000) == 0)
        return address;
      hidden = address;
    }
  return hidden;
}

/* ---- All objects ---- */

typedef struct
{
  uintptr_t address;
  const char *soname;
  InterposeObject *object;
} Search;

static int
match_address (struct dl_phdr_info *info, size_t size, void *data)
{
  Search *search = data;

  if (!covers (info, search->address))
    return 0;
  read_object (search->object, info);
  return 1;
}

static int
match_soname (struct dl_phdr_info *info, size_t size, void *data)
{
  Search *search = data;

  read_object (search->object, info);
  return search->object->soname != NULL && strcmp (search->object->soname, search->soname) == 0;
}

bool
interpose_object_of (const void *address, InterposeObject *object)
{
  Search search = { .address = (uintptr_t) address, .object = object };

  return dl_iterate_phdr (match_address, &search) != 0;
}

bool
interpose_object_named (const char *soname, InterposeObject *object)
{
  Search search = { .soname = soname, .object = object };

  return dl_iterate_phdr (match_soname, &search) != 0;
}

/* ---- Return addresses ---- */

typedef struct
{
  uintptr_t address; /* of the call: the byte before the return address */
  InterposePlace *place;
} PlaceSearch;

static void
find_function (const InterposeObject *object, uintptr_t address, InterposePlace *place)
{
  uint32_t n = object->symbols != NULL && object->strings != NULL ? count_symbols (object) : 0;
  const ElfW (Sym) *best = NULL;

  for (uint32_t i = 0; i < n; i++)
    {
      const ElfW (Sym) *symbol = &object->symbols[i];
      uintptr_t start = object->base + symbol->st_value;

      if (!is_defined (symbol) || start > address || (symbol->st_size != 0 && address - start >= symbol->st_size))
        continue;
      if (best == NULL || symbol->st_value > best->st_value)
        best = symbol;
    }
  if (best == NULL)
    return;
  strncpy (place->function, object->strings + best->st_name, sizeof place->function - 1);
  place->plus = address + 1 - object->base - best->st_value;
}

/* Inside the iteration nobody can unload the object. */
static int
match_place (struct dl_phdr_info *info, size_t size, void *data)
{
  PlaceSearch *search = data;
  InterposeObject object;
  char program[PATH_MAX] = "";
  const char *name, *slash;

  if (!covers (info, search->address))
    return 0;
  read_object (&object, info);
  name = object.name;
  if (name[0] == '\0' && readlink ("/proc/self/exe", program, sizeof program - 1) > 0)
    name = program;
  slash = strrchr (name, '/');
  strncpy (search->place->module, slash != NULL ? slash + 1 : name, sizeof search->place->module - 1);
  search->place->offset = search->address + 1 - object.base;
  search->place->ours = covers (info, (uintptr_t) &match_place);
  find_function (&object, search->address, search->place);
  return 1;
}

void
interpose_place_of (const void *address, InterposePlace *place)
{
  PlaceSearch search = { .address = (uintptr_t) address - 1, .place = place };

  memset (place, 0, sizeof *place);
  dl_iterate_phdr (match_place, &search);
}
