/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture-rules.c: what a call answers while something captures, and what it breaks.
 *
 * Everything that a real driver was measured to do is a row of a table here; the code only looks rows up. The class of
 * an entry point is in entries-core.h and entries-graph.h.
 */
#include "graph-private.h"

/* ---------------------------------------------------------------------------------------------------------------
 * Situations
 */

typedef struct
{
  McuResult result;
  bool own;         /* invalidates the capture that the call belongs to */
  bool other;       /* invalidates the second one */
  const char *text; /* nullable: a line for the log */
} Rule;

static const Rule situations[HOST_N_SITUATIONS] = {
  [HOST_SITUATION_MEMBER_SYNC] = { MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED, true, false, NULL },
  [HOST_SITUATION_CAPTURED_EVENT]
  = { MCU_ERROR_CAPTURED_EVENT, true, false, "The event was recorded in a capture that is still open" },
  [HOST_SITUATION_OUTSIDE_EVENT] = { MCU_ERROR_STREAM_CAPTURE_ISOLATION, true, false, NULL },
  [HOST_SITUATION_ELAPSED] = { MCU_ERROR_CAPTURED_EVENT, false, false, NULL },
  [HOST_SITUATION_ENDED_EVENT] = { MCU_ERROR_INVALID_VALUE, false, false, NULL },
  [HOST_SITUATION_ENDED_WAIT] = { MCU_ERROR_INVALID_VALUE, true, false, NULL },
  [HOST_SITUATION_MERGE] = { MCU_ERROR_STREAM_CAPTURE_MERGE, true, true, NULL },
  [HOST_SITUATION_LEGACY] = { MCU_ERROR_STREAM_CAPTURE_IMPLICIT, true, false,
                              "The legacy stream cannot be used while a blocking stream of its context captures" },
  [HOST_SITUATION_LEGACY_JOINS] = { MCU_ERROR_STREAM_CAPTURE_IMPLICIT, true, false, NULL },
};

McuResult
host_capture_refuse (HostSituation situation, HostCapture *own, HostCapture *other)
{
  const Rule *rule = &situations[situation];
  if (rule->own && own != NULL)
    host_capture_invalidate (own);
  if (rule->other && other != NULL)
    host_capture_invalidate (other);
  if (rule->text != NULL)
    host_log ("%s", rule->text);
  return rule->result;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Classes
 */

/* Whether an UNSAFE call conflicts with a capture, by the mode of the calling thread, the mode of the capture, and
 * whether another thread began it. */
static const bool unsafe_conflicts[3][3][2] = {
  [MCU_CAPTURE_MODE_GLOBAL] = {
    [MCU_CAPTURE_MODE_GLOBAL] = { true, true },
    [MCU_CAPTURE_MODE_THREAD_LOCAL] = { true, false },
    [MCU_CAPTURE_MODE_RELAXED] = { false, false },
  },
  [MCU_CAPTURE_MODE_THREAD_LOCAL] = {
    [MCU_CAPTURE_MODE_GLOBAL] = { true, false },
    [MCU_CAPTURE_MODE_THREAD_LOCAL] = { true, false },
    [MCU_CAPTURE_MODE_RELAXED] = { false, false },
  },
  [MCU_CAPTURE_MODE_RELAXED] = { { false, false }, { false, false }, { false, false } },
};

static HostCaptureClass
entry_class (HostEntry entry)
{
  HostCaptureClass class = host_entries[entry].capture;
  if (class == HOST_CAPTURE_LOAD)
    return host_settings.driver_version >= 12030 ? HOST_CAPTURE_SAFE : HOST_CAPTURE_UNSAFE;
  return class;
}

/* Whether the capture has a stream in the context. */
static bool
capture_is_in (const HostCapture *capture, const HostContext *context)
{
  for (unsigned i = 0; i < capture->members->len; i++)
    if (((const HostMember *) capture->members->pdata[i])->stream->context == context)
      return true;
  return false;
}

static McuResult
check_unsafe (void)
{
  const HostThread *thread = host_thread ();
  bool own = false, foreign = false;
  for (unsigned i = 0; host_captures != NULL && i < host_captures->len; i++)
    {
      HostCapture *capture = host_captures->pdata[i];
      bool other = capture->thread != thread->id;
      if (!unsafe_conflicts[CLAMP (thread->capture_mode, 0, MCU_CAPTURE_MODE_RELAXED)][capture->mode][other])
        continue;
      host_capture_invalidate (capture);
      own = own || !other;
      foreign = foreign || other;
    }
  if (!own && !foreign)
    return MCU_SUCCESS;
  host_log (own ? "The call conflicts with a capture that this thread began"
                : "The call conflicts with a global capture that another thread began");
  return MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static McuResult
check_fatal (const HostContext *context)
{
  bool hit = false;
  for (unsigned i = 0; host_captures != NULL && i < host_captures->len; i++)
    {
      HostCapture *capture = host_captures->pdata[i];
      if (!capture_is_in (capture, context))
        continue;
      host_capture_invalidate (capture);
      hit = true;
    }
  return hit ? MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED : MCU_SUCCESS;
}

McuResult
host_capture_check (HostEntry entry, HostContext *context)
{
  if (host_captures == NULL)
    return MCU_SUCCESS;
  switch (entry_class (entry))
    {
    case HOST_CAPTURE_UNSAFE:
      return check_unsafe ();
    case HOST_CAPTURE_FATAL:
      return check_fatal (context);
    default:
      return MCU_SUCCESS;
    }
}

McuResult
host_capture_check_stream (HostEntry entry, HostStream *stream)
{
  if (stream->capture != NULL)
    return host_capture_refuse (HOST_SITUATION_MEMBER_SYNC, stream->capture->capture, NULL);
  return host_capture_check (entry, stream->context);
}

HostCapture *
host_capture_of_blocking (const HostContext *context)
{
  for (unsigned i = 0; host_captures != NULL && i < host_captures->len; i++)
    {
      HostCapture *capture = host_captures->pdata[i];
      for (unsigned m = 0; m < capture->members->len; m++)
        {
          const HostStream *stream = ((const HostMember *) capture->members->pdata[m])->stream;
          if (stream->context == context && (stream->flags & MCU_STREAM_NON_BLOCKING) == 0)
            return capture;
        }
    }
  return NULL;
}

McuResult
host_capture_check_legacy (HostContext *context)
{
  McuResult result = MCU_SUCCESS;
  for (unsigned i = 0; host_captures != NULL && i < host_captures->len; i++)
    {
      HostCapture *capture = host_captures->pdata[i];
      for (unsigned m = 0; m < capture->members->len; m++)
        {
          const HostStream *stream = ((const HostMember *) capture->members->pdata[m])->stream;
          if (stream->context != context || (stream->flags & MCU_STREAM_NON_BLOCKING) != 0)
            continue;
          host_capture_invalidate (capture);
          result = MCU_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
  return result == MCU_SUCCESS ? result : host_capture_refuse (HOST_SITUATION_LEGACY, NULL, NULL);
}

McuResult
host_capture_check_event (HostEntry entry, HostEvent *event)
{
  if (event->captured != NULL)
    {
      HostCapture *capture = event->captured->capture;
      if (capture->status != MCU_CAPTURE_STATUS_ACTIVE)
        return host_capture_refuse (HOST_SITUATION_ENDED_EVENT, NULL, NULL);
      bool elapsed = entry == HOST_ENTRY_cuEventElapsedTime || entry == HOST_ENTRY_cuEventElapsedTime_v2;
      return host_capture_refuse (elapsed ? HOST_SITUATION_ELAPSED : HOST_SITUATION_CAPTURED_EVENT, capture, NULL);
    }
  return host_capture_check (entry, event->context);
}
