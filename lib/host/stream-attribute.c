/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stream-attribute.c: attributes of streams. They tune a GPU and change nothing here, but are kept.
 */
#include "core-private.h"

#include <string.h>

#define ATTRIBUTE_PRIORITY 8

/* Access policy window, synchronisation policy, priority, memory synchronisation domain and its map. */
static bool
is_known (int attribute)
{
  return attribute == 1 || attribute == 3 || (attribute >= ATTRIBUTE_PRIORITY && attribute <= 10);
}

static McuResult
get_attribute (HostStream *stream, int attribute, void *value)
{
  HostStreamAttribute answer = { { 0 } };

  if (value == NULL || !is_known (attribute))
    return MCU_ERROR_INVALID_VALUE;
  if (attribute == ATTRIBUTE_PRIORITY)
    memcpy (&answer, &stream->priority, sizeof stream->priority);
  else if (stream->attributes != NULL)
    answer = stream->attributes[attribute];
  memcpy (value, &answer, sizeof answer);
  return MCU_SUCCESS;
}

static McuResult
set_attribute (HostStream *stream, int attribute, const void *value)
{
  if (value == NULL || !is_known (attribute))
    return MCU_ERROR_INVALID_VALUE;
  if (attribute == ATTRIBUTE_PRIORITY)
    {
      int priority;

      memcpy (&priority, value, sizeof priority);
      stream->priority = CLAMP (priority, HOST_PRIORITY_GREATEST, HOST_PRIORITY_LEAST);
      return MCU_SUCCESS;
    }
  if (stream->attributes == NULL)
    stream->attributes = g_new0 (HostStreamAttribute, HOST_N_STREAM_ATTRIBUTES);
  memcpy (&stream->attributes[attribute], value, sizeof (HostStreamAttribute));
  return MCU_SUCCESS;
}

HOST_API McuResult
cuStreamGetAttribute (CUstream handle, int attribute, void *value)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamGetAttribute);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = host_stream_get (handle, &stream);
  if (result == MCU_SUCCESS)
    result = get_attribute (stream, attribute, value);
  return host_leave (HOST_ENTRY_cuStreamGetAttribute, result);
}

HOST_API McuResult
cuStreamSetAttribute (CUstream handle, int attribute, const void *value)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamSetAttribute);
  HostStream *stream;

  if (result == MCU_SUCCESS)
    result = host_stream_get (handle, &stream);
  if (result == MCU_SUCCESS)
    result = set_attribute (stream, attribute, value);
  return host_leave (HOST_ENTRY_cuStreamSetAttribute, result);
}

HOST_API McuResult
cuStreamCopyAttributes (CUstream handle, CUstream from_handle)
{
  McuResult result = host_enter (HOST_ENTRY_cuStreamCopyAttributes);
  HostStream *stream, *from;

  if (result == MCU_SUCCESS)
    result = host_stream_get (handle, &stream);
  if (result == MCU_SUCCESS)
    result = host_stream_get (from_handle, &from);
  if (result == MCU_SUCCESS)
    for (int i = 0; i < HOST_N_STREAM_ATTRIBUTES; i++)
      {
        HostStreamAttribute value;

        if (is_known (i) && get_attribute (from, i, &value) == MCU_SUCCESS)
          set_attribute (stream, i, &value);
      }
  return host_leave (HOST_ENTRY_cuStreamCopyAttributes, result);
}
