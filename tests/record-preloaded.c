/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-preloaded.c: another tool that is preloaded and also stands before dlsym(), in the usual way. It says that it is
 * there, and what it was asked for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__ ((constructor)) static void
start (void)
{
  static const char line[] = "another tool is loaded\n";

  if (write (STDERR_FILENO, line, sizeof line - 1) < 0)
    return;
}

/* Sanitizers ask for functions before strcmp() can be called. */
static int
is_launch (const char *name)
{
  const char *launch = "cuGraphLaunch";

  while (*name != '\0' && *name == *launch)
    name++, launch++;
  return *name == *launch;
}

__attribute__ ((visibility ("default"))) void *
dlsym (void *handle, const char *name)
{
  static void *(*real) (void *, const char *);
  static const char line[] = "another tool sees cuGraphLaunch\n";

  if (real == NULL)
    real = (void *(*) (void *, const char *)) dlvsym (RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (real == NULL)
    real = (void *(*) (void *, const char *)) dlvsym (RTLD_NEXT, "dlsym", "GLIBC_2.17");
  if (real == NULL)
    abort ();
  if (is_launch (name) && write (STDERR_FILENO, line, sizeof line - 1) < 0)
    abort ();
  return real (handle, name);
}
