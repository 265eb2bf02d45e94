/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Demangling, with the C++ runtime's own function.
 *
 * libstdc++ is opened when the first mangled name turns up, and never closed. Linking it would put a C++ runtime into
 * every program that uses this library, and cost each a millisecond at start, for names that most programs never print;
 * libiberty is a static library without a stable interface, and for many distributions not one to build upon. Where
 * libstdc++ is not there the raw name stands for the demangled one; it is the key everywhere anyway.
 */
#include "config.h"

#include "reading-private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are left as they are: a demangled name can be many times longer than a mangled one. */
#define MAX_MANGLED 16384

typedef char *(*DemangleFunc) (const char *mangled, char *output, size_t *length, int *status);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static DemangleFunc demangle;

static void
find_demangler (void)
{
  void *handle = dlopen ("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

  demangle = (DemangleFunc) dlsym (handle != NULL ? handle : RTLD_DEFAULT, "__cxa_demangle");
}

char *
_memra_demangle (const char *name)
{
  char *demangled, *copy;
  int status = -1;

  if (strncmp (name, "_Z", 2) != 0 || strlen (name) > MAX_MANGLED)
    return NULL;
  pthread_once (&once, find_demangler);
  if (demangle == NULL)
    return NULL;
  demangled = demangle (name, NULL, NULL, &status);
  copy = status == 0 ? g_strdup (demangled) : NULL;
  free (demangled);
  return copy;
}
