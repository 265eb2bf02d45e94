/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * image.c: loading host modules: shared objects, from a file or from memory.
 */
#include "core-private.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MACHINE_CUDA 190

#if defined(__x86_64__)
#define MACHINE_HERE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_HERE EM_AARCH64
#else
#define MACHINE_HERE EM_NONE
#endif

HostImage *
host_image_ref (HostImage *image)
{
  image->refs++;
  return image;
}

/* The dynamic loader knows an object by its name, here the number of the file descriptor. While it keeps the object, so
 * must we keep the descriptor, or the next image would be taken for this one. */
void
host_image_unref (HostImage *image)
{
  if (--image->refs > 0)
    return;
  dlclose (image->handle);
  if (image->fd >= 0)
    {
      g_autofree char *name = g_strdup_printf ("/proc/self/fd/%d", image->fd);
      void *still = dlopen (name, RTLD_NOW | RTLD_NOLOAD);

      if (still != NULL)
        dlclose (still);
      else
        close (image->fd);
    }
  g_free (image);
}

/* Whether the bytes are a shared object for this machine: 0, 200 for no object at all, 209 for another kind. */
static McuResult
check_elf (const Elf64_Ehdr *header)
{
  if (memcmp (header->e_ident, ELFMAG, SELFMAG) != 0)
    return MCU_ERROR_INVALID_IMAGE;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine == MACHINE_CUDA || header->e_machine != MACHINE_HERE)
    return MCU_ERROR_NO_BINARY_FOR_GPU;
  return header->e_type == ET_DYN ? MCU_SUCCESS : MCU_ERROR_INVALID_IMAGE;
}

/* An object in memory comes without its length: it ends where the last thing that its headers name ends. */
static size_t
elf_size (const Elf64_Ehdr *header)
{
  const char *bytes = (const char *) header;
  size_t end = MAX (header->e_shoff + (size_t) header->e_shnum * header->e_shentsize,
                    header->e_phoff + (size_t) header->e_phnum * header->e_phentsize);

  for (int i = 0; i < header->e_shnum; i++)
    {
      Elf64_Shdr section;

      memcpy (&section, bytes + header->e_shoff + (size_t) i * header->e_shentsize, sizeof section);
      if (section.sh_type != SHT_NOBITS)
        end = MAX (end, section.sh_offset + section.sh_size);
    }
  for (int i = 0; i < header->e_phnum; i++)
    {
      Elf64_Phdr segment;

      memcpy (&segment, bytes + header->e_phoff + (size_t) i * header->e_phentsize, sizeof segment);
      end = MAX (end, segment.p_offset + segment.p_filesz);
    }
  return end;
}

/* What an image is that is no object for this machine: code for a GPU in one of its forms, or nothing known. Reads no
 * further than the bytes agree. */
static McuResult
classify (const unsigned char *image)
{
  static const char *const heads[] = { "\x50\xed\x55\xba", /* fat binary */
                                       "\xb1\x43\x62\x46", /* its wrapper */
                                       "//", ".version" }; /* assembly text */

  for (size_t i = 0; i < G_N_ELEMENTS (heads); i++)
    if (strncmp ((const char *) image, heads[i], strlen (heads[i])) == 0)
      return MCU_ERROR_NO_BINARY_FOR_GPU;
  return MCU_ERROR_INVALID_IMAGE;
}

static bool
write_all (int fd, const char *bytes, size_t size)
{
  while (size > 0)
    {
      ssize_t written = write (fd, bytes, size);

      if (written < 0 && errno != EINTR)
        return false;
      if (written > 0)
        {
          bytes += written;
          size -= (size_t) written;
        }
    }
  return true;
}

/* Unlocked. */
static McuResult
open_object (const char *path, int fd, HostImage **out)
{
  void *handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  MemraHostModuleFunc get_module;
  const MemraHostModule *module;
  HostImage *image;

  if (handle == NULL)
    {
      host_log ("%s", dlerror ());
      return MCU_ERROR_INVALID_IMAGE;
    }
  *(void **) &get_module = dlsym (handle, "memra_host_module");
  module = get_module != NULL ? get_module () : NULL;
  if (module == NULL || module->abi != MEMRA_HOST_MODULE_ABI)
    {
      host_log ("%s", module == NULL ? "The shared object is not a host module" : "The host module has another ABI");
      dlclose (handle);
      return module == NULL ? MCU_ERROR_INVALID_IMAGE : MCU_ERROR_NO_BINARY_FOR_GPU;
    }
  image = g_new0 (HostImage, 1);
  image->refs = 1;
  image->handle = handle;
  image->fd = fd;
  image->module = module;
  *out = image;
  return MCU_SUCCESS;
}

/* The bytes at the head of a file decide before the dynamic loader sees it. Unlocked. */
static McuResult
load_file (const char *path, HostImage **image)
{
  g_autofree char *absolute = NULL;
  union
  {
    Elf64_Ehdr header;
    unsigned char bytes[sizeof (Elf64_Ehdr) + 1];
  } head = { 0 };
  int fd = -1;
  ssize_t count;
  McuResult result;

  /* Without a slash the dynamic loader would search its own path. */
  absolute = g_canonicalize_filename (path, NULL);
  fd = open (absolute, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return MCU_ERROR_FILE_NOT_FOUND;
  count = read (fd, head.bytes, sizeof head.header);
  close (fd);
  if (count < 0)
    return MCU_ERROR_FILE_NOT_FOUND;
  if ((size_t) count < sizeof head.header || memcmp (head.bytes, ELFMAG, SELFMAG) != 0)
    return classify (head.bytes);
  result = check_elf (&head.header);
  return result == MCU_SUCCESS ? open_object (absolute, -1, image) : result;
}

/* Unlocked. */
static McuResult
load_bytes (const void *data, HostImage **image)
{
  g_autofree char *name = NULL;
  Elf64_Ehdr header;
  McuResult result;
  int fd;

  if (memcmp (data, ELFMAG, 1) != 0 || strncmp (data, ELFMAG, SELFMAG) != 0)
    return classify (data);
  memcpy (&header, data, sizeof header);
  result = check_elf (&header);
  if (result != MCU_SUCCESS)
    return result;
  fd = memfd_create ("memra-host-module", MFD_CLOEXEC);
  if (fd < 0)
    return MCU_ERROR_OPERATING_SYSTEM;
  name = g_strdup_printf ("/proc/self/fd/%d", fd);
  if (!write_all (fd, data, elf_size (data)))
    result = MCU_ERROR_OPERATING_SYSTEM;
  else
    result = open_object (name, fd, image);
  if (result != MCU_SUCCESS)
    close (fd);
  return result;
}

McuResult
host_image_load (const char *path, const void *data, HostImage **image)
{
  McuResult result;

  if (path == NULL && data == NULL)
    return MCU_ERROR_INVALID_VALUE;
  pthread_mutex_unlock (&host_lock);
  result = path != NULL ? load_file (path, image) : load_bytes (data, image);
  pthread_mutex_lock (&host_lock);
  return result;
}
