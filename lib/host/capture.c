/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture.c: the life of a capture: begun, joined, invalidated, ended.
 *
 * Member streams point at their HostMember from begin or join to end, whether the capture is invalidated or not; all
 * leave together.
 */
#include "graph-private.h"

GPtrArray *host_captures;

/* ---------------------------------------------------------------------------------------------------------------
 * Members
 */

void
host_member_set_next (HostMember *member, const HostEdge *edges, size_t n)
{
  g_array_set_size (member->next, 0);
  g_array_append_vals (member->next, edges, (unsigned) n);
}

void
host_member_add_next (HostMember *member, const HostEdge *edges, size_t n)
{
  uint64_t mark = host_graph_mark ();
  for (unsigned i = 0; i < member->next->len; i++)
    g_array_index (member->next, HostEdge, i).node->mark = mark;
  for (size_t i = 0; i < n; i++)
    if (edges[i].node->mark != mark)
      {
        edges[i].node->mark = mark;
        g_array_append_val (member->next, edges[i]);
      }
}

HostMember *
host_capture_join (HostCapture *capture, HostStream *stream)
{
  HostMember *member = g_new0 (HostMember, 1);
  member->capture = capture;
  member->stream = stream;
  member->next = g_array_new (FALSE, FALSE, sizeof (HostEdge));
  stream->capture = member;
  if (capture->members->len > 0)
    capture->forked = true;
  g_ptr_array_add (capture->members, member);
  return member;
}

static void
member_free (gpointer data)
{
  HostMember *member = data;
  member->stream->capture = NULL;
  g_array_unref (member->next);
  g_free (member->nodes);
  g_free (member->data);
  g_free (member);
}

/* ---------------------------------------------------------------------------------------------------------------
 * Captures
 */

static void
capture_finalize (HostObject *object)
{
  HostCapture *capture = (HostCapture *) object;
  g_ptr_array_unref (capture->members);
  g_array_unref (capture->loose);
  g_free (capture);
}

static HostCapture *
capture_new (HostStream *stream, int mode, HostGraph *graph)
{
  HostCapture *capture = g_new0 (HostCapture, 1);
  host_object_init (&capture->object, HOST_KIND_CAPTURE, capture_finalize);
  capture->id = host_next_id ();
  capture->mode = mode;
  capture->status = MCU_CAPTURE_STATUS_ACTIVE;
  capture->thread = host_thread ()->id;
  capture->to_graph = graph != NULL;
  capture->graph = graph != NULL ? graph : host_graph_new ();
  capture->graph->capture = capture;
  capture->members = g_ptr_array_new_with_free_func (member_free);
  capture->loose = g_array_new (FALSE, FALSE, sizeof (HostNode *));
  capture->origin = host_capture_join (capture, stream);
  if (host_captures == NULL)
    host_captures = g_ptr_array_new ();
  g_ptr_array_add (host_captures, capture);
  return capture;
}

/* The capture is over: every member leaves. The graph is destroyed unless it is kept, even when the client made it. */
static HostGraph *
capture_close (HostCapture *capture, bool keep)
{
  HostGraph *graph = capture->graph;
  graph->capture = NULL;
  capture->graph = NULL;
  capture->origin = NULL;
  capture->status = MCU_CAPTURE_STATUS_NONE;
  g_ptr_array_set_size (capture->members, 0);
  g_array_set_size (capture->loose, 0);
  g_ptr_array_remove_fast (host_captures, capture);
  if (host_captures->len == 0)
    g_clear_pointer (&host_captures, g_ptr_array_unref);
  host_object_destroy (capture);
  if (keep)
    return graph;
  if (graph->owner != NULL)
    host_graph_clear (graph); /* the body of a conditional node, which goes on owning it */
  else
    host_graph_destroy (graph);
  return NULL;
}

void
host_capture_invalidate (HostCapture *capture)
{
  capture->status = MCU_CAPTURE_STATUS_INVALIDATED;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Begin
 */

static McuResult
check_begin (CUstream handle, int mode, HostStream **stream)
{
  McuResult result = host_stream_get (handle, stream);
  if (result != MCU_SUCCESS)
    return result;
  if (mode < MCU_CAPTURE_MODE_GLOBAL || mode > MCU_CAPTURE_MODE_RELAXED)
    return MCU_ERROR_INVALID_VALUE;
  if ((*stream)->legacy)
    {
      result = host_capture_check_legacy ((*stream)->context);
      if (result != MCU_SUCCESS)
        return result;
      host_log ("The legacy stream cannot capture");
      return MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  return (*stream)->capture != NULL ? MCU_ERROR_ILLEGAL_STATE : MCU_SUCCESS;
}

static McuResult
capture_begin (CUstream handle, int mode)
{
  HostStream *stream;
  McuResult result = check_begin (handle, mode, &stream);
  if (result == MCU_SUCCESS)
    capture_new (stream, mode, NULL);
  return result;
}

/* Before 10.1 there were no modes. */
HOST_API McuResult
cuStreamBeginCapture (CUstream stream)
{
  HOST_CALL (cuStreamBeginCapture, capture_begin (stream, MCU_CAPTURE_MODE_GLOBAL));
}

HOST_API McuResult
cuStreamBeginCapture_v2 (CUstream stream, int mode)
{
  HOST_CALL (cuStreamBeginCapture_v2, capture_begin (stream, mode));
}

static McuResult
capture_begin_to_graph (CUstream handle, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                        size_t n, int mode)
{
  HostStream *stream;
  GArray *edges;

  if (host_graph_get (graph) == NULL || graph->capture != NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = check_begin (handle, mode, &stream);
  if (result == MCU_SUCCESS)
    result = host_edges_from_client (&edges, graph, dependencies, data, n);
  if (result != MCU_SUCCESS)
    return result;
  HostCapture *capture = capture_new (stream, mode, graph);
  host_member_set_next (capture->origin, (HostEdge *) edges->data, edges->len);
  g_array_unref (edges);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuStreamBeginCaptureToGraph (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const McuEdgeData *data,
                             size_t count, int mode)
{
  HOST_CALL (cuStreamBeginCaptureToGraph, capture_begin_to_graph (stream, graph, dependencies, data, count, mode));
}

/* ---------------------------------------------------------------------------------------------------------------
 * End
 */

/* Marks what the origin's next operation would wait for, near or far. */
static void
mark_joined (HostCapture *capture, uint64_t mark)
{
  GPtrArray *stack = g_ptr_array_new ();
  const GArray *next = capture->origin->next;
  for (unsigned i = 0; i < next->len; i++)
    g_ptr_array_add (stack, g_array_index (next, HostEdge, i).node);
  while (stack->len > 0)
    {
      HostNode *node = g_ptr_array_steal_index_fast (stack, stack->len - 1);
      if (node->mark == mark)
        continue;
      node->mark = mark;
      for (unsigned i = 0; i < node->dependencies.n; i++)
        if (node->dependencies.items[i].node->mark != mark)
          g_ptr_array_add (stack, node->dependencies.items[i].node);
    }
  g_ptr_array_unref (stack);
}

/* Whether everything that forks recorded leads back to the origin. */
static bool
capture_is_joined (HostCapture *capture)
{
  if (!capture->forked)
    return true;
  uint64_t mark = host_graph_mark ();
  mark_joined (capture, mark);
  for (unsigned i = 0; i < capture->loose->len; i++)
    if (g_array_index (capture->loose, HostNode *, i)->mark != mark)
      return false;
  for (unsigned i = 0; i < capture->members->len; i++)
    {
      const HostMember *member = capture->members->pdata[i];
      for (unsigned e = 0; member->worked && e < member->next->len; e++)
        if (g_array_index (member->next, HostEdge, e).node->mark != mark)
          return false;
    }
  return true;
}

/* Why the capture cannot end well, with a sentence about it: 0, or the result. */
static McuResult
check_end (HostMember *member, const char **why)
{
  HostCapture *capture = member->capture;
  if (member != capture->origin)
    {
      *why = "The stream joined a capture that another stream began";
      return MCU_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
  if (capture->mode != MCU_CAPTURE_MODE_RELAXED && capture->thread != host_thread ()->id)
    {
      *why = "The capture was begun by another thread, and not in relaxed mode";
      return MCU_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
  if (capture->status == MCU_CAPTURE_STATUS_INVALIDATED)
    {
      *why = "An earlier call invalidated the capture";
      return MCU_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
  if (!capture_is_joined (capture))
    {
      *why = "Work of a forked stream was not joined to the stream that began the capture";
      return MCU_ERROR_STREAM_CAPTURE_UNJOINED;
    }
  return MCU_SUCCESS;
}

static McuResult
capture_end (CUstream handle, CUgraph *graph)
{
  HostStream *stream;
  const char *why;
  McuResult result = host_stream_get (handle, &stream);
  if (result == MCU_SUCCESS && stream->legacy)
    result = host_capture_check_legacy (stream->context);
  if (result != MCU_SUCCESS)
    return result;
  if (graph != NULL)
    *graph = NULL;
  if (stream->capture == NULL)
    {
      host_log ("The stream is not capturing");
      return MCU_ERROR_ILLEGAL_STATE;
    }

  HostCapture *capture = host_object_ref (stream->capture->capture);
  result = check_end (stream->capture, &why);
  if (result == MCU_SUCCESS)
    {
      HostGraph *captured = capture_close (capture, graph != NULL || capture->to_graph);
      if (graph != NULL)
        *graph = captured;
    }
  else
    {
      host_log_now (why); /* while the capture is still there; another thread may end it meanwhile */
      if (result == MCU_ERROR_STREAM_CAPTURE_UNMATCHED && capture->object.live)
        host_capture_invalidate (capture);
      else if (capture->object.live)
        capture_close (capture, false);
    }
  host_object_unref (capture);
  return result;
}

HOST_API McuResult
cuStreamEndCapture (CUstream stream, CUgraph *graph)
{
  HOST_CALL (cuStreamEndCapture, capture_end (stream, graph));
}

/* ---------------------------------------------------------------------------------------------------------------
 * Things that go away meanwhile
 */

void
host_capture_forget_stream (HostStream *stream)
{
  HostMember *member = stream->capture;
  if (member == NULL)
    return;
  HostCapture *capture = member->capture;
  if (member == capture->origin)
    {
      capture_close (capture, false);
      return;
    }
  for (unsigned i = 0; member->worked && i < member->next->len; i++)
    g_array_append_val (capture->loose, g_array_index (member->next, HostEdge, i).node);
  g_ptr_array_remove (capture->members, member);
}

void
host_capture_forget_event (HostEvent *event)
{
  HostCapturedEvent *captured = event->captured;
  if (captured == NULL)
    return;
  event->captured = NULL;
  host_object_unref (captured->capture);
  g_free (captured->edges);
  g_free (captured);
}

void
host_graph_context_destroyed (HostContext *context)
{
  (void) context; /* streams and events told already; nothing else follows a context */
}

static void
destroy_exec (void *object, void *data)
{
  (void) data;
  host_object_destroy (object);
}

static void
destroy_graph (void *object, void *data)
{
  HostGraph *graph = object;
  (void) data;
  if (graph->owner == NULL)
    host_graph_destroy (graph);
}

void
host_graph_shutdown (void)
{
  while (host_captures != NULL)
    capture_close (host_captures->pdata[0], false);
  host_object_foreach (HOST_KIND_EXEC, destroy_exec, NULL);
  host_object_foreach (HOST_KIND_GRAPH, destroy_graph, NULL);
  host_user_objects_shutdown ();
}
