/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loaded objects and their symbols, read from memory. */
#include "config.h"

#include "interpose-private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

void
interpose_read_object (InterposeObject *object, const struct dl_phdr_info *info)
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

/* ---- The C library, before everything ---- */

static bool
same_text (const char *a, const char *b)
{
  while (*a != '\0' && *a == *b)
    a++, b++;
  return *a == *b;
}

static void *
find_bare (const struct link_map *map, const char *name)
{
  InterposeObject object = { .base = map->l_addr };
  uint32_t n;

  read_dynamic (&object, map->l_ld);
  n = object.symbols != NULL && object.strings != NULL ? count_symbols (&object) : 0;
  for (uint32_t i = 0; i < n; i++)
    if (is_defined (&object.symbols[i]) && (object.versions == NULL || (object.versions[i] & 0x8000) == 0)
        && same_text (object.strings + object.symbols[i].st_name, name))
      return (void *) (object.base + object.symbols[i].st_value);
  return NULL;
}

void *
interpose_symbol_of_c_library (const char *name)
{
  static const char *const sonames[] = { "libc.so.6", "libdl.so.2" };

  for (size_t i = 0; i < sizeof sonames / sizeof sonames[0]; i++)
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
      {
        InterposeObject object = { .base = map->l_addr };
        void *address;

        read_dynamic (&object, map->l_ld);
        address = object.soname != NULL && same_text (object.soname, sonames[i]) ? find_bare (map, name) : NULL;
        if (address != NULL)
          return address;
      }
  return NULL;
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
  interpose_read_object (search->object, info);
  return 1;
}

static int
match_soname (struct dl_phdr_info *info, size_t size, void *data)
{
  Search *search = data;

  interpose_read_object (search->object, info);
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

/* As much as there is room for. */
static void
copy_text (char *to, size_t size, const char *from)
{
  size_t length = strnlen (from, size - 1);

  memcpy (to, from, length);
  to[length] = '\0';
}

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
  copy_text (place->function, sizeof place->function, object->strings + best->st_name);
  place->plus = address + 1 - object->base - best->st_value;
}

/* Inside the iteration nobody can unload the object. */
static int
match_place (struct dl_phdr_info *info, size_t size, void *data)
{
  PlaceSearch *search = data;
  InterposePlace *place = search->place;
  InterposeObject object;

  if (!covers (info, search->address))
    return 0;
  interpose_read_object (&object, info);
  copy_text (place->path, sizeof place->path, object.name);
  place->offset = search->address + 1 - object.base;
  find_function (&object, search->address, place);
  return 1;
}

/* The function in the symbol table of a mapped file. `offset` is that of the return address. */
static void
find_in_symbols (const char *file, size_t size, InterposePlace *place)
{
  const ElfW (Ehdr) *header = (const void *) file;
  const ElfW (Shdr) *sections = (const void *) (file + header->e_shoff);
  const ElfW (Sym) *best = NULL;
  const char *strings = NULL;
  size_t strings_size = 0;

  if (header->e_shoff > size || header->e_shentsize != sizeof *sections
      || (size - header->e_shoff) / sizeof *sections < header->e_shnum)
    return;
  for (unsigned i = 0; i < header->e_shnum; i++)
    {
      const ElfW (Shdr) *table = &sections[i], *names;
      const ElfW (Sym) *symbols = (const void *) (file + table->sh_offset);

      if (table->sh_type != SHT_SYMTAB || table->sh_link >= header->e_shnum || table->sh_offset > size
          || table->sh_size > size - table->sh_offset)
        continue;
      names = &sections[table->sh_link];
      if (names->sh_offset > size || names->sh_size > size - names->sh_offset)
        continue;
      strings = file + names->sh_offset;
      strings_size = names->sh_size;
      for (size_t k = 0; k < table->sh_size / sizeof *symbols; k++)
        if (is_defined (&symbols[k]) && place->offset - 1 - symbols[k].st_value < symbols[k].st_size
            && symbols[k].st_name < strings_size)
          best = &symbols[k];
    }
  if (best == NULL || strnlen (strings + best->st_name, strings_size - best->st_name) == strings_size - best->st_name)
    return;
  copy_text (place->function, sizeof place->function, strings + best->st_name);
  place->plus = place->offset - best->st_value;
}

/* Functions that are not exported have their names in the file only, unless it was stripped. */
static void
find_in_file (InterposePlace *place)
{
  int fd = open (place->path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  char *file = MAP_FAILED;

  if (fd < 0)
    return;
  if (fstat (fd, &info) == 0 && S_ISREG (info.st_mode) && (size_t) info.st_size >= sizeof (ElfW (Ehdr)))
    file = mmap (NULL, (size_t) info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close (fd);
  if (file == MAP_FAILED)
    return;
  if (memcmp (file, ELFMAG, SELFMAG) == 0)
    find_in_symbols (file, (size_t) info.st_size, place);
  munmap (file, (size_t) info.st_size);
}

void
interpose_place_of (const void *address, InterposePlace *place)
{
  PlaceSearch search = { .address = (uintptr_t) address - 1, .place = place };
  const char *slash;

  memset (place, 0, sizeof *place);
  if (dl_iterate_phdr (match_place, &search) == 0)
    return;
  if (place->path[0] == '\0' && readlink ("/proc/self/exe", place->path, sizeof place->path - 1) < 0)
    place->path[0] = '\0';
  slash = strrchr (place->path, '/');
  copy_text (place->module, sizeof place->module, slash != NULL ? slash + 1 : place->path);
  if (place->function[0] == '\0')
    find_in_file (place);
}
