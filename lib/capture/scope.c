/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the refusals to the end of a capture: whatever happens between, one end for one begin. */
#include "config.h"

#include "capture-private.h"

#include <time.h>

/* Bodies of ours that are running on this thread: 0 or 1. */
static _Thread_local guint running_bodies;

void
_memra_body_enter (void)
{
  running_bodies++;
}

void
_memra_body_leave (void)
{
  running_bodies--;
}

gint64
_memra_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

void
_memra_scope_book (MemraCaptureScope *scope, MemraCaptureStep step)
{
  gint64 now = _memra_now ();

  scope->timings[step] += now - scope->step_started;
  scope->step_started = now;
}

static gboolean
fail (MemraCaptureScope *scope, GError **error, MemraCaptureError code, MemraCaptureStage stage, McuResult result, const char *what)
{
  MemraFailure failure = { .layer = scope->layer, .stage = stage, .result = result };

  return what != NULL ? _memra_capture_fail (scope->stream->context->driver, error, code, &failure, "%s", what)
                      : _memra_capture_fail (scope->stream->context->driver, error, code, &failure, NULL);
}

/* The refusals, none of which touches the stream. */
static gboolean
check_status (MemraCaptureScope *scope, GError **error)
{
  MemraStream *stream = scope->stream;
  int status;
  McuResult result;

  if (stream->legacy)
    return fail (scope, error, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                 "the legacy stream cannot be captured; use a stream of memra_stream_new() or cuStreamCreate()");
  if (memra_context_get_event_tracking (stream->context))
    return fail (scope, error, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                 "event tracking is on in the stream's context; switch it off before buffer allocation, since a buffer "
                 "allocated meanwhile carries events that no capture can wait for");

  result = _memra_stream_status (stream, &status);
  if (result != MCU_SUCCESS)
    return fail (scope, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_STATUS, result, NULL);
  if (status != MCU_CAPTURE_STATUS_NONE)
    return fail (scope, error, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                 status == MCU_CAPTURE_STATUS_ACTIVE
                     ? "the stream is already being captured; that capture goes on unharmed"
                     : "the stream is in a broken capture that nobody ended; memra_stream_recover() ends it");
  if (running_bodies > 0)
    return fail (scope, error, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE, MEMRA_CAPTURE_STAGE_STATUS, MCU_SUCCESS,
                 "nested: this thread is inside the body of another layer's capture; capture one after the other");
  return TRUE;
}

/* A private blocking stream where strict needs one; else the caller's. */
static gboolean
choose_stream (MemraCaptureScope *scope, GError **error)
{
  g_autoptr (GError) reason = NULL;
  MemraStreamFlags flags = MEMRA_STREAM_BLOCKING;
  McuResult result = scope->options.strict ? _memra_stream_learn_flags (scope->stream, &flags) : MCU_SUCCESS;

  if (result != MCU_SUCCESS)
    return fail (scope, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_BEGIN, result,
                 "whether the stream is blocking, as a strict capture needs it, cannot be told");
  if (flags == MEMRA_STREAM_NON_BLOCKING)
    scope->issue = memra_stream_new (scope->stream->context, MEMRA_STREAM_BLOCKING, &reason);
  else
    scope->issue = memra_stream_ref (scope->stream);
  if (scope->issue != NULL)
    return TRUE;
  result = memra_driver_error_get_cuda_result (reason);
  return fail (scope, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_BEGIN, result,
               "no private stream could be created for a strict capture");
}

static gboolean
open_capture (MemraCaptureScope *scope, GError **error)
{
  const MemraDriverTable *cu = &scope->stream->context->driver->cu;
  McuResult result;

  /* Surfaces errors of earlier work here, where they are not mistaken for the layer's. */
  result = cu->cuStreamSynchronize (scope->stream->cuda);
  if (result != MCU_SUCCESS)
    return fail (scope, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_PRE_DRAIN, result,
                 "earlier work in the stream failed, or the stream cannot be waited for");
  _memra_scope_book (scope, MEMRA_CAPTURE_STEP_PRE_DRAIN);

  if (!choose_stream (scope, error))
    return FALSE;
  if (!scope->options.blind)
    scope->watch = _memra_watch_open (scope->stream->context->driver, scope->issue->cuda);
  result = cu->cuStreamBeginCapture (scope->issue->cuda, scope->options.mode);
  if (result != MCU_SUCCESS)
    return fail (scope, error, _memra_capture_error_code (result), MEMRA_CAPTURE_STAGE_BEGIN, result, NULL);
  scope->open = TRUE;
  _memra_watch_arm (scope->watch);
  scope->recording = _memra_recording_new (scope->issue);
  scope->recording->fragile = scope->options.mode == MEMRA_CAPTURE_MODE_GLOBAL;
  return TRUE;
}

MemraCaptureScope *
_memra_scope_open (MemraStream *stream, guint layer, const MemraCaptureOptions *options, GError **error)
{
  g_autoptr (MemraCaptureScope) scope = g_new0 (MemraCaptureScope, 1);

  scope->stream = memra_stream_ref (stream);
  scope->layer = layer;
  scope->options.mode = MEMRA_CAPTURE_MODE_RELAXED;
  if (options != NULL)
    scope->options = *options;
  if (scope->options.policy != NULL)
    memra_policy_ref (scope->options.policy);
  scope->step_started = _memra_now ();

  if (!check_status (scope, error) || !open_capture (scope, error))
    return NULL;
  return g_steal_pointer (&scope);
}

/* Whether the stream is in another capture than ours when the body is done: a body that ended ours and began another
 * would otherwise pass with half a layer. Graph and dependencies are not asked for: another thread may be breaking the
 * capture at this moment, and what the driver hands out then is gone before it can be read. */
static void
look_at_end (MemraCaptureScope *scope)
{
  int status = MCU_CAPTURE_STATUS_NONE;
  guint64 id = 0;
  McuResult result = scope->stream->context->driver->cu.cuStreamGetCaptureInfo_v2 (scope->issue->cuda, &status, &id, NULL, NULL, NULL);

  scope->swapped = result == MCU_SUCCESS && status == MCU_CAPTURE_STATUS_ACTIVE && scope->recording->id != 0
                   && id != scope->recording->id;
}

/* The node that was captured last, of a graph that is ours alone by now. (transfer full) (nullable) */
static char *
describe_last_node (MemraDriver *driver, CUgraph graph)
{
  g_autofree CUgraphNode *nodes = NULL;
  gsize n = 0;

  if (driver->cu.cuGraphGetNodes (graph, NULL, &n) != MCU_SUCCESS || n == 0)
    return NULL;
  nodes = g_new0 (CUgraphNode, n);
  if (driver->cu.cuGraphGetNodes (graph, nodes, &n) != MCU_SUCCESS)
    return NULL;
  return _memra_census_describe_node (driver, nodes[n - 1]);
}

gboolean
_memra_stream_leave_capture (MemraStream *stream, McuResult *result)
{
  const MemraDriverTable *cu = &stream->context->driver->cu;
  CUgraph graph = NULL;
  int status;

  *result = _memra_stream_status (stream, &status);
  if (*result != MCU_SUCCESS || status == MCU_CAPTURE_STATUS_NONE)
    return *result == MCU_SUCCESS;

  *result = cu->cuStreamEndCapture (stream->cuda, &graph);
  if (graph != NULL)
    cu->cuGraphDestroy (graph);
  return _memra_stream_status (stream, &status) == MCU_SUCCESS && status == MCU_CAPTURE_STATUS_NONE;
}

static gboolean
end_once (MemraCaptureScope *scope, CUgraph *graph, McuResult *result)
{
  McuResult verified;
  gboolean clean;

  *graph = NULL;
  _memra_watch_ending (scope->watch);
  *result = scope->stream->context->driver->cu.cuStreamEndCapture (scope->issue->cuda, graph);
  scope->open = FALSE;
  _memra_watch_close (scope->watch);
  _memra_recording_close (scope->recording);
  /* A capture that our end did not end (an end of a driver that refuses) gets a second chance before it is given up. */
  clean = _memra_stream_leave_capture (scope->issue, &verified);
  if (!clean && *result == MCU_SUCCESS)
    *result = verified; /* why the stream could not be seen to be out of capture */
  return clean;
}

static void
destroy_graph (MemraCaptureScope *scope, CUgraph graph)
{
  if (graph != NULL)
    scope->stream->context->driver->cu.cuGraphDestroy (graph);
}

/* How far the body got and, if it was seen, which call broke the capture: "broken by cuStreamSynchronize (900), called
 * from step+0x42 in libengine.so, after 'attention', last node memra_dsv4_rmsnorm"; NULL if nothing is known. */
static char *
tell_story (MemraCaptureScope *scope, const char *last_node)
{
  MemraDriver *driver = scope->stream->context->driver;
  const MemraCulprit *culprit = _memra_watch_get_culprit (scope->watch);
  const char *end_reason = _memra_watch_get_end_reason (scope->watch);
  g_autofree char *where = _memra_recording_where (scope->recording, last_node);
  GString *story = g_string_new (NULL);

  if (culprit != NULL)
    {
      g_autofree char *blame = _memra_culprit_describe (driver, culprit);

      g_string_append (story, blame);
    }
  if (where != NULL)
    g_string_append_printf (story, "%s%s", story->len > 0 ? ", " : "", where);
  if (culprit == NULL && end_reason != NULL)
    g_string_append_printf (story, "%s(the driver: %s)", story->len > 0 ? " " : "", end_reason);
  return g_string_free (story, story->len == 0);
}

/* The body's own error first, with how far it got; then what the end said, if it failed too. */
static void
fail_with_body (MemraCaptureScope *scope, GError *body_error, McuResult end_result, gboolean clean, const char *where, char **stack,
                GError **error)
{
  g_autoptr (GString) suffix = g_string_new (NULL);
  MemraFailure failure = { .layer = scope->layer, .stage = MEMRA_CAPTURE_STAGE_BODY, .unclean = !clean, .stack = stack };

  if (where != NULL)
    g_string_append_printf (suffix, " (%s)", where);
  if (end_result != MCU_SUCCESS)
    {
      g_autofree char *description = _memra_driver_describe (scope->stream->context->driver, end_result);

      g_string_append_printf (suffix, "; capture end: %s", description);
    }

  if (body_error == NULL && scope->recording->refusal != NULL)
    {
      _memra_capture_fail (scope->stream->context->driver, error, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, &failure, "%s%s",
                           scope->recording->refusal->message, suffix->str);
      return;
    }
  if (body_error == NULL)
    {
      _memra_capture_fail (scope->stream->context->driver, error, MEMRA_CAPTURE_ERROR_BODY, &failure,
                           "the body failed without saying why%s", suffix->str);
      return;
    }
  if (!clean)
    g_string_append (suffix, "; the stream is still being captured: call memra_stream_recover() from the thread that began it");
  g_prefix_error (&body_error, "layer %u capture %s: ", scope->layer, memra_capture_stage_to_string (MEMRA_CAPTURE_STAGE_BODY));
  if (suffix->len > 0)
    {
      char *whole = g_strconcat (body_error->message, suffix->str, NULL);

      g_free (body_error->message);
      body_error->message = whole;
    }
  g_propagate_error (error, body_error);
}

static void
fail_with_end (MemraCaptureScope *scope, McuResult result, gboolean clean, const char *where, char **stack, GError **error)
{
  MemraDriver *driver = scope->stream->context->driver;
  MemraFailure failure
      = { .layer = scope->layer, .stage = MEMRA_CAPTURE_STAGE_END, .result = result, .unclean = !clean, .stack = stack };
  MemraCaptureError code = _memra_capture_error_code (result);

  if (result == MCU_ERROR_ILLEGAL_STATE)
    _memra_capture_fail (driver, error, code, &failure, "the body ended the capture itself, and with it the graph is lost");
  else if (result == MCU_ERROR_STREAM_CAPTURE_UNJOINED)
    _memra_capture_fail (driver, error, code, &failure, "a stream that the body forked was never joined back%s%s",
                         where == NULL ? "" : where[0] == '(' ? " " : ", ", where != NULL ? where : "");
  else
    _memra_capture_fail (driver, error, code, &failure, where != NULL ? "%s" : NULL, where);
}

CUgraph
_memra_scope_close (MemraCaptureScope *scope, gboolean body_ok, GError *body_error, GError **error)
{
  MemraRecording *recording = scope->recording;
  g_autofree char *last_node = NULL;
  g_autofree char *where = NULL;
  g_auto (GStrv) stack = NULL;
  CUgraph graph;
  McuResult result;
  gboolean clean;

  look_at_end (scope);
  clean = end_once (scope, &graph, &result);
  _memra_scope_book (scope, MEMRA_CAPTURE_STEP_BODY);
  if (body_ok && result == MCU_SUCCESS && clean && !scope->swapped && recording->refusal == NULL)
    return graph;

  if (graph != NULL)
    last_node = describe_last_node (scope->stream->context->driver, graph);
  where = tell_story (scope, last_node);
  if (_memra_watch_get_culprit (scope->watch) != NULL)
    stack = _memra_culprit_dup_stack (scope->stream->context->driver, _memra_watch_get_culprit (scope->watch));
  destroy_graph (scope, graph);

  if (!body_ok)
    fail_with_body (scope, body_error, result, clean, where, stack, error);
  else if (recording->refusal != NULL)
    {
      MemraFailure failure = { .layer = scope->layer, .stage = MEMRA_CAPTURE_STAGE_BODY, .unclean = !clean };

      _memra_capture_fail (scope->stream->context->driver, error, MEMRA_CAPTURE_ERROR_EVENT_TRACKING, &failure,
                           "%s (the body went on regardless)", recording->refusal->message);
    }
  else if (scope->swapped)
    fail (scope, error, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, MCU_SUCCESS,
          "the body ended the capture and began another one in the same stream; the layer's graph is lost");
  else
    fail_with_end (scope, result, clean, where, stack, error);
  return NULL;
}

void
_memra_scope_discard (MemraCaptureScope *scope)
{
  g_auto (MemraCurrent) current = { 0 };
  CUgraph graph;
  McuResult result;

  if (!scope->open)
    return;
  _memra_context_enter (scope->stream->context, &current);
  if (!end_once (scope, &graph, &result))
    g_warning ("layer %u capture: the stream is still being captured after its capture was abandoned (%d)", scope->layer, result);
  destroy_graph (scope, graph);
}

void
_memra_scope_free (MemraCaptureScope *scope)
{
  _memra_scope_discard (scope);
  _memra_recording_unref (scope->recording);
  _memra_watch_free (scope->watch);
  memra_policy_unref (scope->options.policy);
  memra_stream_unref (scope->issue);
  memra_stream_unref (scope->stream);
  g_free (scope);
}
