/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far a body got, in words. */
#include "config.h"

#include "capture-private.h"

const char *
_memra_recording_last_mark (MemraRecording *recording)
{
  return recording->marks->len > 0 ? g_array_index (recording->marks, MemraMark, recording->marks->len - 1).name : NULL;
}

const char *
_memra_recording_last_work (MemraRecording *recording, const char *last_node)
{
  if (last_node != NULL)
    return last_node;
  return recording->last_kernel != NULL ? recording->last_kernel->name : recording->last_node;
}

char *
_memra_recording_where (MemraRecording *recording, const char *last_node)
{
  const char *mark = _memra_recording_last_mark (recording);
  const char *node = _memra_recording_last_work (recording, last_node);

  if (recording->breach != NULL)
    return g_strdup (recording->breach->message);
  if (mark != NULL && node != NULL)
    return g_strdup_printf ("after '%s', last node %s", mark, node);
  if (mark != NULL)
    return g_strdup_printf ("after '%s'", mark);
  return node != NULL ? g_strdup_printf ("after %s", node) : NULL;
}
