/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names for the frames of a failing call. */
#include "config.h"

#include "observe-private.h"

#include "census/reading-private.h"

#include <dlfcn.h>
#include <string.h>

/* "step+0x42 in libengine.so", "libengine.so+0x1234" without a symbol, or the bare address without an object. */
static char *
describe_frame (void *address)
{
  Dl_info info;
  g_autofree char *object = NULL;
  g_autofree char *demangled = NULL;

  /* A return address: one byte back lies the call, which may end its function. */
  if (dladdr ((char *) address - 1, &info) == 0 || info.dli_fname == NULL)
    return g_strdup_printf ("%p", address);
  object = g_path_get_basename (info.dli_fname);
  if (info.dli_sname == NULL)
    return g_strdup_printf ("%s+0x%" G_GSIZE_MODIFIER "x", object, (gsize) ((char *) address - (char *) info.dli_fbase));
  demangled = _memra_demangle (info.dli_sname);
  return g_strdup_printf ("%s+0x%" G_GSIZE_MODIFIER "x in %s", demangled != NULL ? demangled : info.dli_sname,
                          (gsize) ((char *) address - (char *) info.dli_saddr), object);
}

static const void *
object_of (const void *address)
{
  Dl_info info;

  return dladdr (address, &info) != 0 ? info.dli_fbase : NULL;
}

/* The first frame that is neither ours (the callback, innermost) nor the driver's. */
static gint
first_foreign_frame (MemraDriver *driver, const MemraCulprit *culprit)
{
  void *entry = dlsym (driver->handle, "cuInit");
  const void *driver_object = entry != NULL ? object_of (entry) : NULL;
  gint i;

  /* Frame 0 and perhaps more are the callback. The driver's frames follow; what called it comes after the last of them.
   * The body may well be in this very object (a statically linked library), so ours are skipped only before the driver's. */
  for (i = 0; i < culprit->n_frames && object_of (culprit->frames[i]) != driver_object; i++)
    ;
  for (; i < culprit->n_frames && object_of (culprit->frames[i]) == driver_object; i++)
    ;
  return i < culprit->n_frames ? i : 0;
}

char *
_memra_culprit_describe (MemraDriver *driver, const MemraCulprit *culprit)
{
  GString *text = g_string_new (NULL);
  gint first = first_foreign_frame (driver, culprit);

  g_string_append_printf (text, "broken by %s (%d)", culprit->function, culprit->result);
  if (culprit->n_frames > 0)
    {
      g_autofree char *frame = describe_frame (culprit->frames[first]);

      g_string_append_printf (text, ", called from %s", frame);
    }
  if (culprit->other_thread)
    g_string_append (text, ", on another thread");
  if (culprit->reason != NULL)
    g_string_append_printf (text, " (the driver: %s)", culprit->reason);
  return g_string_free (text, FALSE);
}

char **
_memra_culprit_dup_stack (MemraDriver *driver, const MemraCulprit *culprit)
{
  GPtrArray *lines = g_ptr_array_new ();

  for (gint i = first_foreign_frame (driver, culprit); i < culprit->n_frames; i++)
    g_ptr_array_add (lines, describe_frame (culprit->frames[i]));
  g_ptr_array_add (lines, NULL);
  return (char **) g_ptr_array_free (lines, FALSE);
}
