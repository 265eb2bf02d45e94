/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-abi.c: asks record-old-driver.c for each ABI of some functions, in each way, and calls what it gets. What it
 * prints must be the same whether somebody stands in between or not.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "driver/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *handle;
static McuGetProcAddressV1 get;

/* With the arguments of the widest form; the others take what they have. */
static void
call (const char *how, void *address)
{
  McuResult (*function) (void *, void *, void *, void *, size_t)
      = (McuResult (*) (void *, void *, void *, void *, size_t)) address;

  printf ("%s: ", how);
  if (address == NULL)
    puts ("not found");
  else
    printf ("-> %d\n", function ((void *) 0x1000, (void *) 2, (void *) 0x3000, (void *) 0x4000, 5000));
}

static void
ask (const char *name, int version, uint64_t flags)
{
  void *address = NULL;
  char how[128];
  McuResult result = get (name, &address, version, flags);

  snprintf (how, sizeof how, "%s %d/%d (%d)", name, version, (int) flags, result);
  call (how, address);
}

int
main (void)
{
  static const char *const names[] = { "cuStreamBeginCapture", "cuStreamBeginCapture_v2_ptsz", "cuGraphInstantiate",
                                       "cuGraphInstantiate_v2", "cuGraphExecUpdate", "cuGraphLaunch_ptsz", "cuNothing" };

  handle = dlopen ("libcuda.so.1", RTLD_NOW);
  get = handle != NULL ? (McuGetProcAddressV1) dlsym (handle, "cuGetProcAddress") : NULL;
  if (get == NULL)
    {
      fprintf (stderr, "record-abi: %s\n", dlerror ());
      return 99;
    }
  for (int flags = MCU_GET_PROC_LEGACY_STREAM; flags <= MCU_GET_PROC_PER_THREAD_STREAM; flags++)
    {
      ask ("cuInit", 2000, flags);
      ask ("cuStreamBeginCapture", 9000, flags);
      ask ("cuStreamBeginCapture", 10000, flags);
      ask ("cuStreamBeginCapture", 10010, flags);
      ask ("cuStreamBeginCapture", 11080, flags);
      ask ("cuGraphInstantiate", 10000, flags);
      ask ("cuGraphInstantiate", 11000, flags);
      ask ("cuGraphInstantiate", 11080, flags);
      ask ("cuGraphInstantiateWithFlags", 11030, flags);
      ask ("cuGraphInstantiateWithFlags", 11080, flags);
      ask ("cuGraphExecUpdate", 11080, flags);
      ask ("cuGraphLaunch", 11080, flags);
    }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    {
      call (names[i], dlsym (handle, names[i]));
      call (names[i], dlvsym (handle, names[i], "LIBCUDA_TEST"));
      call (names[i], dlvsym (handle, names[i], "LIBCUDA_OTHER"));
    }
  /* The C library's functions, by version. */
  printf ("dlvsym finds the C library's: %d\n", dlvsym (RTLD_DEFAULT, "clock_gettime", "GLIBC_2.17") == dlsym (RTLD_DEFAULT, "clock_gettime"));
  return 0;
}
