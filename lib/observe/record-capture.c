/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The captures of a recorded process, from begin to end. */
#include "config.h"

#include "record-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct _RecordCapture
{
  RecordCapture *next;
  RecordCaptureFacts facts;
  uint64_t id; /* the driver's, 0 where it did not tell */
  CUcontext context;
  bool ending; /* somebody ends it, or its stream is about to go */
  bool broken; /* and reported */
  unsigned users; /* who ask the driver about its stream, without the lock */
};

static RecordCapture *captures;
static unsigned last_number;

void
record_captures_forget (void)
{
  captures = NULL;
  last_number = 0;
}

int
record_thread (void)
{
  return (int) syscall (SYS_gettid);
}

CUstream
record_stream (CUstream stream, bool per_thread)
{
  return stream == NULL && per_thread ? MCU_STREAM_PER_THREAD : stream;
}

/* The capture of a stream as this thread knows it. With the lock. */
static RecordCapture **
find_by_stream (CUstream stream)
{
  RecordCapture **place = &captures;

  while (*place != NULL && ((*place)->facts.stream != stream
                            || (stream == MCU_STREAM_PER_THREAD && (*place)->facts.thread != record_thread ())))
    place = &(*place)->next;
  return place;
}

/* Nobody looks at the stream any more, and nobody will. With the lock. */
static void
retire (RecordCapture *capture)
{
  capture->ending = true;
  while (capture->users > 0)
    record_wait ();
}

static void
unlink_capture (RecordCapture *capture)
{
  RecordCapture **place = &captures;

  while (*place != NULL && *place != capture)
    place = &(*place)->next;
  if (*place == NULL)
    return;
  *place = capture->next;
  __atomic_sub_fetch (&record_capturing, 1, __ATOMIC_RELAXED);
}

/* It is over, and not by an end. */
static void
lose (RecordCapture *capture, const char *why)
{
  RecordText text;

  record_text_begin (&text, "lost");
  record_text_number (&text, "capture", capture->facts.number);
  record_text_string (&text, "reason", why);
  record_write (&text);
  free (capture);
  record_unlisten ();
}

/* ---- Begin ---- */

static void
ask_for_id (RecordCapture *capture)
{
  const InterposeDriver *driver = interpose_driver ();
  int status;

  if (driver->cuStreamGetCaptureInfo_v2 != NULL)
    driver->cuStreamGetCaptureInfo_v2 (capture->facts.stream, &status, &capture->id, NULL, NULL, NULL);
  if (driver->cuStreamGetCtx != NULL)
    driver->cuStreamGetCtx (capture->facts.stream, &capture->context);
}

static const char *
mode_name (int mode)
{
  static const char *const names[] = { "global", "thread-local", "relaxed" };

  return mode >= 0 && mode < 3 ? names[mode] : "unknown";
}

/* From now on the capture is watched. */
static void
add (RecordCapture *capture)
{
  RecordCapture *stale;

  ask_for_id (capture);
  record_listen (); /* until it is over */
  record_lock ();
  /* A stream that captures anew has none of the old. */
  stale = *find_by_stream (capture->facts.stream);
  if (stale != NULL && !stale->ending)
    {
      retire (stale);
      unlink_capture (stale);
    }
  else
    stale = NULL;
  capture->facts.number = ++last_number;
  capture->next = captures;
  captures = capture;
  __atomic_add_fetch (&record_capturing, 1, __ATOMIC_RELAXED);
  record_unlock ();
  if (stale != NULL)
    lose (stale, "its stream began another capture");
}

void
record_begun (McuResult result, const char *function, CUstream stream, int mode, CUgraph into, bool again)
{
  void *frames[RECORD_MAX_FRAMES];
  RecordCapture *capture = NULL;
  RecordGuard guard;
  RecordText text;

  record_enter (&guard);
  if (result == MCU_SUCCESS && stream != NULL && interpose_driver () != NULL)
    capture = calloc (1, sizeof *capture);
  record_text_begin (&text, "begin");
  if (capture != NULL)
    {
      capture->facts.stream = stream;
      capture->facts.thread = record_thread ();
      add (capture);
      record_text_number (&text, "capture", capture->facts.number);
    }
  record_text_string (&text, "function", function);
  record_text_hex (&text, "stream", (uintptr_t) stream);
  record_text_string (&text, "mode", mode_name (mode));
  if (into != NULL)
    record_text_bool (&text, "into_graph", true);
  if (again)
    record_text_bool (&text, "recapture", true);
  record_text_result (&text, result);
  if (result != MCU_SUCCESS)
    record_text_string (&text, "reason", record_last_reason ());
  if (record_wants_stacks ())
    record_text_stack (&text, frames, record_stack_take (frames));
  record_write (&text);
  record_leave (&guard);
}

/* ---- What is captured ---- */

/* The stream's place in a capture: the capture's id and its last node. */
static bool
ask_for_node (CUstream stream, uint64_t *id, CUgraphNode *node)
{
  const InterposeDriver *driver = interpose_driver ();
  const CUgraphNode *dependencies = NULL;
  const McuEdgeData *edges = NULL;
  size_t n = 0;
  int status = MCU_CAPTURE_STATUS_NONE;
  McuResult result = MCU_ERROR_NOT_SUPPORTED;

  if (driver->cuStreamGetCaptureInfo_v3 != NULL)
    result = driver->cuStreamGetCaptureInfo_v3 (stream, &status, id, NULL, &dependencies, &edges, &n);
  else if (driver->cuStreamGetCaptureInfo_v2 != NULL)
    result = driver->cuStreamGetCaptureInfo_v2 (stream, &status, id, NULL, &dependencies, &n);
  if (result != MCU_SUCCESS || status != MCU_CAPTURE_STATUS_ACTIVE || n == 0 || dependencies == NULL)
    return false;
  *node = dependencies[n - 1];
  return true;
}

void
record_operation (McuResult result, const char *function, CUstream stream)
{
  char type[sizeof ((RecordCaptureFacts *) NULL)->after_type], *name;
  CUgraphNode node;
  uint64_t id;
  RecordGuard guard;

  if (result != MCU_SUCCESS)
    {
      record_failure_seen (result, function);
      return;
    }
  if (stream == NULL || stream == MCU_STREAM_LEGACY)
    return;
  record_enter (&guard);
  name = malloc (sizeof ((RecordCaptureFacts *) NULL)->after_name);
  if (name != NULL && ask_for_node (stream, &id, &node))
    {
      record_describe_node (node, type, sizeof type, name, sizeof ((RecordCaptureFacts *) NULL)->after_name);
      record_lock ();
      for (RecordCapture *capture = captures; capture != NULL; capture = capture->next)
        if (capture->id == id && !capture->ending)
          {
            capture->facts.operations++;
            strcpy (capture->facts.after_type, type);
            strcpy (capture->facts.after_name, name);
          }
      record_unlock ();
    }
  free (name);
  record_leave (&guard);
}

/* ---- What breaks ---- */

/* What a per-thread stream does is only seen by its own thread. With the lock. */
static bool
can_be_asked (const RecordCapture *capture)
{
  return !capture->ending && !capture->broken
         && (capture->facts.stream != MCU_STREAM_PER_THREAD || capture->facts.thread == record_thread ());
}

/* Whether this very call broke it: the first to see that it is no longer active. Without the lock, with a use taken. */
static bool
has_broken (RecordCapture *capture, RecordCaptureFacts *facts)
{
  int status = MCU_CAPTURE_STATUS_ACTIVE;
  bool first = false;

  if (interpose_driver ()->cuStreamIsCapturing (capture->facts.stream, &status) != MCU_SUCCESS)
    status = MCU_CAPTURE_STATUS_ACTIVE;
  record_lock ();
  if (status != MCU_CAPTURE_STATUS_ACTIVE && !capture->broken)
    {
      capture->broken = first = true;
      *facts = capture->facts;
    }
  capture->users--;
  record_wake ();
  record_unlock ();
  return first;
}

void
record_find_broken (void (*broken) (const RecordCaptureFacts *facts, void *data), void *data)
{
  enum
  {
    MOST = 64
  };
  RecordCapture *asked[MOST];
  RecordCaptureFacts *facts = malloc (sizeof *facts);
  int n = 0;

  record_lock ();
  for (RecordCapture *capture = captures; capture != NULL && n < MOST; capture = capture->next)
    if (facts != NULL && can_be_asked (capture))
      {
        capture->users++;
        asked[n++] = capture;
      }
  record_unlock ();
  for (int i = 0; i < n; i++)
    if (has_broken (asked[i], facts))
      broken (facts, data);
  free (facts);
}

/* ---- End ---- */

RecordCapture *
record_ending (CUstream stream)
{
  RecordCapture *capture;
  RecordGuard guard;

  record_enter (&guard);
  record_lock ();
  capture = *find_by_stream (stream);
  /* In relaxed mode any thread may end it; of two that try, one is right. */
  if (capture != NULL && capture->ending)
    capture = NULL;
  if (capture != NULL)
    retire (capture);
  record_unlock ();
  record_leave (&guard);
  return capture;
}

static bool
is_capturing (CUstream stream)
{
  int status = MCU_CAPTURE_STATUS_NONE;

  return interpose_driver ()->cuStreamIsCapturing (stream, &status) == MCU_SUCCESS && status != MCU_CAPTURE_STATUS_NONE;
}

/* Whether the end itself is what went wrong, so that nobody was told of a culprit yet. */
static void
write_end_broken (const RecordCapture *capture, McuResult result, const char *reason)
{
  void *frames[RECORD_MAX_FRAMES];
  bool consequence = result == MCU_ERROR_STREAM_CAPTURE_INVALIDATED;
  RecordText text;

  record_text_begin (&text, "broken");
  record_text_number (&text, "capture", capture->facts.number);
  record_text_string (&text, "function", consequence ? NULL : "cuStreamEndCapture");
  record_text_result (&text, result);
  record_text_string (&text, "reason", reason);
  record_text_bool (&text, "other_thread", capture->facts.thread != record_thread ());
  record_text_bool (&text, "at_end", true);
  record_text_number (&text, "operations", capture->facts.operations);
  if (capture->facts.operations > 0)
    record_text_node (&text, "after", capture->facts.after_type, capture->facts.after_name);
  record_text_stack (&text, frames, record_stack_take (frames));
  record_write (&text);
}

static void
write_end (const RecordCapture *capture, McuResult result, CUstream stream, CUgraph graph)
{
  const InterposeDriver *driver = interpose_driver ();
  void *frames[RECORD_MAX_FRAMES];
  RecordText text;
  size_t n = 0;

  record_text_begin (&text, "end");
  if (capture != NULL)
    record_text_number (&text, "capture", capture->facts.number);
  else
    record_text_hex (&text, "stream", (uintptr_t) stream);
  record_text_result (&text, result);
  if (result != MCU_SUCCESS)
    record_text_string (&text, "reason", record_last_reason ());
  else if (graph != NULL && driver->cuGraphGetNodes != NULL && driver->cuGraphGetNodes (graph, NULL, &n) == MCU_SUCCESS)
    record_text_number (&text, "top_level_nodes", (int64_t) n);
  if (record_wants_stacks ())
    record_text_stack (&text, frames, record_stack_take (frames));
  record_write (&text);
}

void
record_ended (RecordCapture *capture, McuResult result, CUstream stream, CUgraph graph)
{
  RecordGuard guard;
  bool over;

  if (interpose_driver () == NULL)
    return;
  record_enter (&guard);
  if (capture != NULL && result == MCU_SUCCESS && graph != NULL)
    record_graph_captured (graph, capture->facts.number);
  if (capture != NULL && result != MCU_SUCCESS && !capture->broken)
    write_end_broken (capture, result, record_last_reason ());
  write_end (capture, result, stream, graph);
  over = capture != NULL && (result == MCU_SUCCESS || !is_capturing (stream));
  if (capture != NULL)
    {
      record_lock ();
      if (over)
        unlink_capture (capture);
      else
        capture->ending = false;
      record_unlock ();
    }
  if (over)
    {
      free (capture);
      record_unlisten ();
    }
  record_leave (&guard);
}

/* ---- Streams and contexts that go ---- */

void
record_stream_gone (CUstream stream)
{
  RecordCapture *capture;
  RecordGuard guard;

  if (!record_is_on () || __atomic_load_n (&record_capturing, __ATOMIC_RELAXED) == 0 || stream == NULL)
    return;
  record_enter (&guard);
  record_lock ();
  capture = *find_by_stream (stream);
  if (capture != NULL && capture->ending)
    capture = NULL;
  if (capture != NULL)
    {
      retire (capture);
      unlink_capture (capture);
    }
  record_unlock ();
  if (capture != NULL)
    lose (capture, "its stream was destroyed");
  record_leave (&guard);
}

void
record_context_gone (CUcontext context)
{
  RecordCapture *capture;
  RecordGuard guard;

  if (!record_is_on () || __atomic_load_n (&record_capturing, __ATOMIC_RELAXED) == 0)
    return;
  record_enter (&guard);
  do
    {
      record_lock ();
      for (capture = captures; capture != NULL; capture = capture->next)
        if (!capture->ending && (context == NULL || capture->context == context))
          break;
      if (capture != NULL)
        {
          retire (capture);
          unlink_capture (capture);
        }
      record_unlock ();
      if (capture != NULL)
        lose (capture, "its context was destroyed");
    }
  while (capture != NULL);
  record_leave (&guard);
}
