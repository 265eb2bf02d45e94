/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture-record.c: work put into a capturing stream becomes nodes.
 */
#include "graph-private.h"

/* 901 for the member of an invalidated capture. */
static McuResult
check_active (const HostStream *stream)
{
  return stream->capture->capture->status == MCU_CAPTURE_STATUS_ACTIVE ? MCU_SUCCESS
                                                                       : MCU_ERROR_STREAM_CAPTURE_INVALIDATED;
}

/* The stream's next operation depends on the new node alone. */
static void
member_continue (HostMember *member, HostNode *node)
{
  HostEdge edge = { .node = node };
  host_member_set_next (member, &edge, 1);
  member->worked = true;
}

/* Takes `work`. */
static void
record (HostStream *stream, HostWork *work)
{
  HostMember *member = stream->capture;
  member_continue (
      member, host_node_new (member->capture->graph, work, (const HostEdge *) member->next->data, member->next->len));
}

McuResult
host_capture_work (HostStream *stream, HostWork *work)
{
  McuResult result = check_active (stream);
  if (result == MCU_SUCCESS)
    record (stream, work);
  else
    host_work_unref (work);
  return result;
}

/* A kernel that may start before its predecessors have ended: edges from kernels say so. */
static void
make_programmatic (HostMember *member)
{
  for (unsigned i = 0; i < member->next->len; i++)
    {
      HostEdge *edge = &g_array_index (member->next, HostEdge, i);
      if (edge->node->work->type != MCU_NODE_KERNEL || !host_edge_is_default (&edge->data))
        continue;
      edge->data.from_port = 1;
      edge->data.type = MCU_EDGE_PROGRAMMATIC;
    }
}

McuResult
host_capture_kernel (HostStream *stream, HostLaunch *launch)
{
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    {
      host_launch_free (launch);
      return result;
    }
  if (launch->programmatic)
    make_programmatic (stream->capture);
  HostWork *work = host_work_new (MCU_NODE_KERNEL, stream->context);
  work->u.launch = launch;
  record (stream, work);
  return MCU_SUCCESS;
}

void
host_capture_kernel_refused (HostStream *stream)
{
  host_capture_invalidate (stream->capture->capture);
}

McuResult
host_capture_memcpy (HostStream *stream, const McuMemcpy3D *copy)
{
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    return result;
  HostWork *work = host_work_new (MCU_NODE_MEMCPY, stream->context);
  work->u.copy = g_memdup2 (copy, sizeof *copy);
  record (stream, work);
  return MCU_SUCCESS;
}

McuResult
host_capture_memset (HostStream *stream, const McuMemsetNodeParams *fill)
{
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    return result;
  HostWork *work = host_work_new (MCU_NODE_MEMSET, stream->context);
  work->u.fill = *fill;
  record (stream, work);
  return MCU_SUCCESS;
}

McuResult
host_capture_host_fn (HostStream *stream, CUhostFn fn, void *user_data)
{
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    return result;
  HostWork *work = host_work_new (MCU_NODE_HOST, stream->context);
  work->u.host.fn = fn;
  work->u.host.user_data = user_data;
  record (stream, work);
  return MCU_SUCCESS;
}

McuResult
host_capture_mem_alloc (HostStream *stream, HostPool *pool, size_t size, CUdeviceptr *address)
{
  HostMember *member = stream->capture;
  HostNode *node;
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    return result;

  McuMemAllocNodeParams params = { .byte_size = size };
  params.pool_props.alloc_type = 1;
  params.pool_props.location.type = 1;
  params.pool_props.location.id = stream->context->device->ordinal;
  result = host_memory_node_add (member->capture->graph, (const HostEdge *) member->next->data, member->next->len,
                                 stream->context, pool, &params, &node);
  if (result != MCU_SUCCESS)
    return result;
  member_continue (member, node);
  *address = params.dptr;
  return MCU_SUCCESS;
}

McuResult
host_capture_mem_free (HostStream *stream, CUdeviceptr address)
{
  HostMember *member = stream->capture;
  HostNode *node;
  McuResult result = check_active (stream);
  if (result == MCU_SUCCESS)
    result = host_memory_node_free (member->capture->graph, (const HostEdge *) member->next->data, member->next->len,
                                    stream->context, address, &node);
  if (result == MCU_SUCCESS)
    member_continue (member, node);
  return result;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Events
 */

static HostWork *
event_work (HostStream *stream, int type, HostEvent *event)
{
  HostWork *work = host_work_new (type, stream->context);
  work->u.event = host_object_ref (event);
  return work;
}

McuResult
host_capture_event_record (HostStream *stream, HostEvent *event, unsigned flags)
{
  HostMember *member = stream->capture;
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    return result;
  if ((flags & MCU_EVENT_RECORD_EXTERNAL) != 0)
    {
      record (stream, event_work (stream, MCU_NODE_EVENT_RECORD, event));
      return MCU_SUCCESS;
    }
  HostCapturedEvent *captured = g_new0 (HostCapturedEvent, 1);
  captured->capture = host_object_ref (member->capture);
  captured->n = member->next->len;
  captured->edges = g_memdup2 (member->next->data, captured->n * sizeof (HostEdge));
  host_capture_forget_event (event);
  event->captured = captured;
  return MCU_SUCCESS;
}

/* A wait of a stream that captures nothing on an event that a capture recorded. */
static McuResult
wait_of_outsider (HostStream *stream, const HostCapturedEvent *captured)
{
  HostCapture *capture = captured->capture;
  if (capture->status != MCU_CAPTURE_STATUS_ACTIVE) /* ended, or never to be a graph */
    return MCU_ERROR_INVALID_VALUE;
  if (stream->legacy)
    return host_capture_refuse (HOST_SITUATION_LEGACY_JOINS, capture, NULL);
  HostMember *member = host_capture_join (capture, stream);
  host_member_set_next (member, captured->edges, captured->n);
  return MCU_SUCCESS;
}

McuResult
host_capture_event_wait (HostStream *stream, HostEvent *event, unsigned flags, bool *handled)
{
  HostMember *member = stream->capture;
  HostCapturedEvent *captured = event->captured;

  *handled = true;
  if (member == NULL)
    {
      if ((flags & MCU_EVENT_WAIT_EXTERNAL) != 0)
        return MCU_ERROR_ILLEGAL_STATE;
      return wait_of_outsider (stream, captured);
    }
  McuResult result = check_active (stream);
  if (result != MCU_SUCCESS)
    return result;
  if ((flags & MCU_EVENT_WAIT_EXTERNAL) != 0)
    {
      record (stream, event_work (stream, MCU_NODE_WAIT_EVENT, event));
      return MCU_SUCCESS;
    }
  if (captured == NULL)
    return event->fence == NULL ? MCU_SUCCESS
                                : host_capture_refuse (HOST_SITUATION_OUTSIDE_EVENT, member->capture, NULL);
  if (captured->capture->status == MCU_CAPTURE_STATUS_NONE)
    return host_capture_refuse (HOST_SITUATION_ENDED_WAIT, member->capture, NULL);
  if (captured->capture != member->capture)
    return host_capture_refuse (HOST_SITUATION_MERGE, member->capture, captured->capture);
  host_member_add_next (member, captured->edges, captured->n);
  return MCU_SUCCESS;
}
