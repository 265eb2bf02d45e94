/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks: taken inside failing calls of the driver, so nothing here takes the dynamic linker's lock. */
#include "config.h"

#include "record-private.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*DemangleFunc) (const char *mangled, char *output, size_t *length, int *status);

static void
prepare (void)
{
  void *frames[1];

  backtrace (frames, 1); /* loads the unwinder */
}

void
record_stack_prepare (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;

  pthread_once (&once, prepare);
}

int
record_stack_take (void **frames)
{
  return backtrace (frames, RECORD_MAX_FRAMES);
}

/* Where the process has the C++ runtime, which whoever has mangled names does have. */
void
record_demangle (const char *name, char *text, size_t size)
{
  InterposeObject runtime;
  DemangleFunc demangle = NULL;
  char *demangled = NULL;
  int status = -1;

  if (name[0] == '_' && name[1] == 'Z' && interpose_object_named ("libstdc++.so.6", &runtime))
    demangle = (DemangleFunc) interpose_symbol (&runtime, "__cxa_demangle");
  if (demangle != NULL)
    demangled = demangle (name, NULL, NULL, &status);
  snprintf (text, size, "%s", status == 0 && demangled != NULL ? demangled : name);
  free (demangled);
}

static bool
is_driver (const void *address)
{
  const InterposeDriver *driver = interpose_driver ();

  return driver != NULL && (uintptr_t) address >= driver->start && (uintptr_t) address < driver->end;
}

/* Too much for the stack of a thread that somebody else made. */
typedef struct
{
  InterposePlace place;
  char name[sizeof ((InterposePlace *) NULL)->function];
  char caller[sizeof ((InterposePlace *) NULL)->function + 512];
} Work;

/* "step+0x42 in libengine.so", or "libengine.so+0x1234" without a symbol. */
static void
describe_caller (Work *work, const void *address)
{
  const InterposePlace *place = &work->place;

  if (place->module[0] == '\0')
    snprintf (work->caller, sizeof work->caller, "%p", address);
  else if (place->function[0] == '\0')
    snprintf (work->caller, sizeof work->caller, "%s+0x%zx", place->module, (size_t) place->offset);
  else
    snprintf (work->caller, sizeof work->caller, "%s+0x%zx in %s", work->name, (size_t) place->plus, place->module);
}

static void
put_frame (RecordText *text, const Work *work, const void *address)
{
  const InterposePlace *place = &work->place;

  record_text_open (text, NULL, '{');
  if (place->module[0] != '\0')
    {
      record_text_string (text, "module", place->module);
      record_text_hex (text, "offset", place->offset);
    }
  else
    record_text_hex (text, "address", (uintptr_t) address);
  if (place->function[0] != '\0')
    {
      record_text_string (text, "function", work->name);
      record_text_hex (text, "plus", place->plus);
    }
  record_text_close (text, '}');
}

/* The runtime library is everybody's way to the driver and says nothing about who called. */
static bool
is_runtime (const InterposePlace *place)
{
  return strncmp (place->module, "libcudart", strlen ("libcudart")) == 0;
}

/* Innermost are perhaps a sanitizer, then our callback or wrapper, and the driver. */
static int
first_outside (void *const *frames, int n_frames)
{
  int first = 0;

  while (first < n_frames && !interpose_is_ours (frames[first]))
    first++;
  if (first == n_frames)
    return 0;
  while (first < n_frames && (interpose_is_ours (frames[first]) || is_driver (frames[first])))
    first++;
  return first;
}

void
record_text_stack (RecordText *text, void *const *frames, int n_frames)
{
  Work *work = malloc (sizeof *work);

  if (work == NULL)
    return;
  work->caller[0] = '\0';
  record_text_open (text, "stack", '[');
  for (int i = first_outside (frames, n_frames); i < n_frames; i++)
    {
      interpose_place_of (frames[i], &work->place);
      record_demangle (work->place.function, work->name, sizeof work->name);
      if (work->caller[0] == '\0' && !is_runtime (&work->place))
        describe_caller (work, frames[i]);
      put_frame (text, work, frames[i]);
    }
  record_text_close (text, ']');
  record_text_string (text, "caller", work->caller[0] != '\0' ? work->caller : NULL);
  free (work);
}
