/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture-info.c: a capture asked about and steered from outside, and the capture mode of threads.
 */
#include "graph-private.h"

/* The stream of a query; for the legacy stream 906 while a blocking stream of its context captures, without harm. */
static McuResult
stream_get_for_query (CUstream handle, HostStream **stream)
{
  McuResult result = host_stream_get (handle, stream);
  if (result == MCU_SUCCESS && (*stream)->legacy && host_capture_of_blocking ((*stream)->context) != NULL)
    return MCU_ERROR_STREAM_CAPTURE_IMPLICIT;
  return result;
}

static int
stream_status (const HostStream *stream)
{
  return stream->capture != NULL ? stream->capture->capture->status : MCU_CAPTURE_STATUS_NONE;
}

static McuResult
is_capturing (CUstream handle, int *status)
{
  HostStream *stream;
  if (status == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = stream_get_for_query (handle, &stream);
  if (result == MCU_SUCCESS)
    *status = stream_status (stream);
  return result;
}

HOST_API McuResult
cuStreamIsCapturing (CUstream stream, int *status)
{
  HOST_CALL (cuStreamIsCapturing, is_capturing (stream, status));
}

static bool
has_edge_data (const HostMember *member)
{
  for (unsigned i = 0; i < member->next->len; i++)
    if (!host_edge_is_default (&g_array_index (member->next, HostEdge, i).data))
      return true;
  return false;
}

/* Renews the arrays that cuStreamGetCaptureInfo hands out. */
static void
member_list (HostMember *member)
{
  unsigned n = member->next->len;
  member->nodes = g_renew (CUgraphNode, member->nodes, MAX (n, 1));
  member->data = g_renew (McuEdgeData, member->data, MAX (n, 1));
  for (unsigned i = 0; i < n; i++)
    {
      member->nodes[i] = g_array_index (member->next, HostEdge, i).node;
      member->data[i] = g_array_index (member->next, HostEdge, i).data;
    }
}

static McuResult
capture_info (CUstream handle, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,
              const McuEdgeData **data, size_t *count)
{
  HostStream *stream;
  if (status == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = stream_get_for_query (handle, &stream);
  if (result != MCU_SUCCESS)
    return result;
  if (stream_status (stream) != MCU_CAPTURE_STATUS_ACTIVE)
    {
      *status = stream_status (stream);
      return MCU_SUCCESS;
    }

  HostMember *member = stream->capture;
  if (data != NULL && dependencies == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *status = MCU_CAPTURE_STATUS_ACTIVE;
  if (id != NULL)
    *id = member->capture->id;
  if (graph != NULL)
    *graph = member->capture->graph;
  if (dependencies != NULL)
    {
      member_list (member);
      bool ever = member->next->data != NULL; /* NULL only until the stream has depended on something */
      *dependencies = ever ? member->nodes : NULL;
      if (data != NULL)
        *data = ever ? member->data : NULL;
      else if (has_edge_data (member))
        return MCU_ERROR_LOSSY_QUERY;
    }
  if (count != NULL)
    *count = member->next->len;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuStreamGetCaptureInfo (CUstream stream, int *status, uint64_t *id)
{
  HOST_CALL (cuStreamGetCaptureInfo, capture_info (stream, status, id, NULL, NULL, NULL, NULL));
}

HOST_API McuResult
cuStreamGetCaptureInfo_v2 (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,
                           size_t *n_dependencies)
{
  HOST_CALL (cuStreamGetCaptureInfo_v2, capture_info (stream, status, id, graph, dependencies, NULL, n_dependencies));
}

HOST_API McuResult
cuStreamGetCaptureInfo_v3 (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies,
                           const McuEdgeData **data, size_t *n_dependencies)
{
  HOST_CALL (cuStreamGetCaptureInfo_v3, capture_info (stream, status, id, graph, dependencies, data, n_dependencies));
}

static McuResult
update_dependencies (CUstream handle, CUgraphNode *dependencies, const McuEdgeData *data, size_t count, unsigned flags)
{
  HostStream *stream;
  GArray *edges;
  McuResult result = host_stream_get (handle, &stream);
  if (result != MCU_SUCCESS)
    return result;
  if (stream->capture == NULL)
    {
      host_log ("The stream is not capturing");
      return MCU_ERROR_ILLEGAL_STATE;
    }
  HostMember *member = stream->capture;
  if (member->capture->status == MCU_CAPTURE_STATUS_INVALIDATED)
    return MCU_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags > MCU_CAPTURE_SET_DEPENDENCIES)
    return MCU_ERROR_INVALID_VALUE;
  result = host_edges_from_client (&edges, member->capture->graph, dependencies, data, count);
  if (result != MCU_SUCCESS)
    return result;
  if (flags == MCU_CAPTURE_SET_DEPENDENCIES)
    host_member_set_next (member, (HostEdge *) edges->data, edges->len);
  else
    host_member_add_next (member, (HostEdge *) edges->data, edges->len);
  g_array_unref (edges);
  return MCU_SUCCESS;
}

HOST_API McuResult
cuStreamUpdateCaptureDependencies (CUstream stream, CUgraphNode *dependencies, size_t count, unsigned flags)
{
  HOST_CALL (cuStreamUpdateCaptureDependencies, update_dependencies (stream, dependencies, NULL, count, flags));
}

HOST_API McuResult
cuStreamUpdateCaptureDependencies_v2 (CUstream stream, CUgraphNode *dependencies, const McuEdgeData *data, size_t count,
                                      unsigned flags)
{
  HOST_CALL (cuStreamUpdateCaptureDependencies_v2, update_dependencies (stream, dependencies, data, count, flags));
}

static McuResult
exchange_mode (int *mode)
{
  HostThread *thread = host_thread ();
  if (mode == NULL) /* which crashes NVIDIA's driver; any number is taken, though */
    return MCU_ERROR_INVALID_VALUE;
  int old = thread->capture_mode;
  thread->capture_mode = *mode;
  *mode = old;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuThreadExchangeStreamCaptureMode (int *mode)
{
  HOST_CALL (cuThreadExchangeStreamCaptureMode, exchange_mode (mode));
}
