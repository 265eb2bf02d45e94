/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record-loader.c: loads record-program.c as an object, with RTLD_DEEPBIND, and runs it: record-loader OBJECT WORD... */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <dlfcn.h>
#include <stdio.h>

int
main (int argc, char **argv)
{
  void *handle = argc > 1 ? dlopen (argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
  int (*run) (int, char **) = handle != NULL ? (int (*) (int, char **)) dlsym (handle, "record_program_main") : NULL;

  if (run == NULL)
    {
      fprintf (stderr, "record-loader: %s\n", argc > 1 ? dlerror () : "no object");
      return 99;
    }
  return run (argc - 1, argv + 1);
}
