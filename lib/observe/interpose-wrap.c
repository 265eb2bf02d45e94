/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The wrappers. Of each entry point there are two, which only differ in what they call: one that dlsym() and
 * cuGetProcAddress() hand out, for the address that they were about to hand out, and one that is exported under the
 * driver's own name for programs that are linked with the driver, for what the dynamic linker finds behind us.
 */
#include "config.h"

#include "interpose-private.h"
#include "record-private.h"

#define ARGUMENTS(...) __VA_ARGS__

static inline bool
is_capturing (void)
{
  return INTERPOSE_UNLIKELY (__atomic_load_n (&record_capturing, __ATOMIC_RELAXED) != 0);
}

/* ---- Types and prototypes ---- */

#define INTERPOSE_X(kind, symbol, base, version, per_thread, params, args)                                             \
  typedef McuResult (*symbol##_func) params;                                                                           \
  INTERPOSE_EXPORT McuResult symbol params;                                                                            \
  static McuResult handed_##symbol params;
INTERPOSE_ENTRIES
#undef INTERPOSE_X

/* ---- Bodies: what is done around the real function ---- */

static McuResult
body_cuGetProcAddress (cuGetProcAddress_func real, bool per_thread, const char *name, void **pfn, int version, uint64_t flags)
{
  McuResult result = real (name, pfn, version, flags);

  if (result == MCU_SUCCESS && pfn != NULL)
    *pfn = interpose_answer (name, *pfn, version, flags);
  return result;
}

static McuResult
body_cuGetProcAddress_v2 (cuGetProcAddress_v2_func real, bool per_thread, const char *name, void **pfn, int version,
                          uint64_t flags, int *status)
{
  McuResult result = real (name, pfn, version, flags, status);

  if (result == MCU_SUCCESS && pfn != NULL)
    *pfn = interpose_answer (name, *pfn, version, flags);
  return result;
}

static McuResult
body_cuStreamBeginCapture (cuStreamBeginCapture_func real, bool per_thread, CUstream stream)
{
  McuResult result;

  if (!record_is_on ())
    return real (stream);
  record_listen ();
  result = real (stream);
  record_begun (result, "cuStreamBeginCapture", record_stream (stream, per_thread), MCU_CAPTURE_MODE_GLOBAL, NULL, false);
  record_unlisten ();
  return result;
}

static McuResult
body_cuStreamBeginCapture_v2 (cuStreamBeginCapture_v2_func real, bool per_thread, CUstream stream, int mode)
{
  McuResult result;

  if (!record_is_on ())
    return real (stream, mode);
  record_listen ();
  result = real (stream, mode);
  record_begun (result, "cuStreamBeginCapture_v2", record_stream (stream, per_thread), mode, NULL, false);
  record_unlisten ();
  return result;
}

static McuResult
body_cuStreamBeginCaptureToGraph (cuStreamBeginCaptureToGraph_func real, bool per_thread, CUstream stream, CUgraph graph,
                                  const CUgraphNode *dependencies, const McuEdgeData *data, size_t count, int mode)
{
  McuResult result;

  if (!record_is_on ())
    return real (stream, graph, dependencies, data, count, mode);
  record_listen ();
  result = real (stream, graph, dependencies, data, count, mode);
  record_begun (result, "cuStreamBeginCaptureToGraph", record_stream (stream, per_thread), mode, graph, false);
  record_unlisten ();
  return result;
}

static McuResult
body_cuStreamBeginRecaptureToGraph (cuStreamBeginRecaptureToGraph_func real, bool per_thread, CUstream stream, int mode,
                                    CUgraph graph, InterposeRecaptureCallback callback, void *user_data)
{
  McuResult result;

  if (!record_is_on ())
    return real (stream, mode, graph, callback, user_data);
  record_listen ();
  result = real (stream, mode, graph, callback, user_data);
  record_begun (result, "cuStreamBeginRecaptureToGraph", record_stream (stream, per_thread), mode, graph, true);
  record_unlisten ();
  return result;
}

static McuResult
body_cuStreamEndCapture (cuStreamEndCapture_func real, bool per_thread, CUstream stream, CUgraph *graph)
{
  CUstream known = record_stream (stream, per_thread);
  RecordCapture *capture;
  McuResult result;

  if (!record_is_on ())
    return real (stream, graph);
  capture = record_ending (known);
  record_listen ();
  result = real (stream, graph);
  record_ended (capture, result, known, result == MCU_SUCCESS && graph != NULL ? *graph : NULL);
  record_unlisten ();
  return result;
}

static McuResult
body_cuStreamDestroy (cuStreamDestroy_func real, bool per_thread, CUstream stream)
{
  record_stream_gone (stream);
  return real (stream);
}

static McuResult
body_cuCtxDestroy (cuCtxDestroy_func real, bool per_thread, CUcontext context)
{
  if (context != NULL)
    record_context_gone (context);
  return real (context);
}

static McuResult
body_cuDevicePrimaryCtxReset (cuDevicePrimaryCtxReset_func real, bool per_thread, CUdevice device)
{
  record_context_gone (NULL);
  return real (device);
}

/* After an instantiation, whichever of the four it was. */
static void
finish_instantiation (McuResult result, CUgraphExec *exec, CUgraph graph, const RecordInstantiation *how)
{
  record_instantiated (result, result == MCU_SUCCESS && exec != NULL ? *exec : NULL, graph, how);
  record_unlisten ();
  if (result != MCU_SUCCESS && is_capturing ())
    record_failure_seen (result, how->function);
}

static McuResult
instantiate_in_words (cuGraphInstantiate_func real, const char *function, CUgraphExec *exec, CUgraph graph,
                      CUgraphNode *node, char *text, size_t size)
{
  RecordInstantiation how = { .function = function, .failure = -1 };
  McuResult result;

  if (!record_is_on ())
    return real (exec, graph, node, text, size);
  record_listen ();
  result = real (exec, graph, node, text, size);
  finish_instantiation (result, exec, graph, &how);
  return result;
}

static McuResult
body_cuGraphInstantiate (cuGraphInstantiate_func real, bool per_thread, CUgraphExec *exec, CUgraph graph,
                         CUgraphNode *node, char *text, size_t size)
{
  return instantiate_in_words (real, "cuGraphInstantiate", exec, graph, node, text, size);
}

static McuResult
body_cuGraphInstantiate_v2 (cuGraphInstantiate_v2_func real, bool per_thread, CUgraphExec *exec, CUgraph graph,
                            CUgraphNode *node, char *text, size_t size)
{
  return instantiate_in_words (real, "cuGraphInstantiate_v2", exec, graph, node, text, size);
}

static McuResult
body_cuGraphInstantiateWithFlags (cuGraphInstantiateWithFlags_func real, bool per_thread, CUgraphExec *exec,
                                  CUgraph graph, unsigned long long flags)
{
  RecordInstantiation how
      = { .function = "cuGraphInstantiateWithFlags", .has_flags = true, .flags = flags, .failure = -1 };
  McuResult result;

  if (!record_is_on ())
    return real (exec, graph, flags);
  record_listen ();
  result = real (exec, graph, flags);
  finish_instantiation (result, exec, graph, &how);
  return result;
}

static McuResult
body_cuGraphInstantiateWithParams (cuGraphInstantiateWithParams_func real, bool per_thread, CUgraphExec *exec,
                                   CUgraph graph, McuInstantiateParams *params)
{
  RecordInstantiation how = { .function = "cuGraphInstantiateWithParams", .failure = -1 };
  McuResult result;

  if (!record_is_on ())
    return real (exec, graph, params);
  record_listen ();
  result = real (exec, graph, params);
  if (params != NULL)
    {
      how.has_flags = true;
      how.flags = params->flags;
      how.failure = params->result;
      how.error_node = params->error_node;
    }
  finish_instantiation (result, exec, graph, &how);
  return result;
}

static McuResult
body_cuGraphExecUpdate (cuGraphExecUpdate_func real, bool per_thread, CUgraphExec exec, CUgraph graph, CUgraphNode *node,
                        int *update)
{
  McuResult result;

  if (!record_is_on ())
    return real (exec, graph, node, update);
  record_listen ();
  result = real (exec, graph, node, update);
  if (result == MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE) /* in no other case are these said to be set */
    record_updated (result, "cuGraphExecUpdate", exec, graph, update != NULL ? *update : 0, node != NULL ? *node : NULL);
  else
    record_updated (result, "cuGraphExecUpdate", exec, graph, 0, NULL);
  record_unlisten ();
  return result;
}

static McuResult
body_cuGraphExecUpdate_v2 (cuGraphExecUpdate_v2_func real, bool per_thread, CUgraphExec exec, CUgraph graph,
                           McuUpdateResultInfo *info)
{
  McuResult result;

  if (!record_is_on ())
    return real (exec, graph, info);
  record_listen ();
  result = real (exec, graph, info);
  if (result == MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE && info != NULL)
    record_updated (result, "cuGraphExecUpdate_v2", exec, graph, info->result, info->error_node);
  else
    record_updated (result, "cuGraphExecUpdate_v2", exec, graph, 0, NULL);
  record_unlisten ();
  return result;
}

static McuResult
body_cuGraphExecDestroy (cuGraphExecDestroy_func real, bool per_thread, CUgraphExec exec)
{
  McuResult result;
  unsigned graph;

  if (!record_is_on ())
    return real (exec);
  graph = record_exec_destroying (exec);
  result = real (exec);
  record_exec_destroyed (result, exec, graph);
  return result;
}

static McuResult
body_cuGraphDestroy (cuGraphDestroy_func real, bool per_thread, CUgraph graph)
{
  unsigned capture = record_graph_destroying (graph);
  McuResult result = real (graph);

  if (capture != 0 && result != MCU_SUCCESS)
    record_graph_captured (graph, capture);
  return result;
}

static McuResult
body_cuGraphClone (cuGraphClone_func real, bool per_thread, CUgraph *clone, CUgraph graph)
{
  McuResult result = real (clone, graph);

  if (result == MCU_SUCCESS && clone != NULL && record_graph_origin (graph) != 0)
    record_graph_captured (*clone, record_graph_origin (graph));
  return result;
}

static McuResult
body_cuGraphLaunch (cuGraphLaunch_func real, bool per_thread, CUgraphExec exec, CUstream stream)
{
  McuResult result = real (exec, stream);

  if (result == MCU_SUCCESS)
    {
      if (record_counts_launches ())
        record_launched (exec);
    }
  else if (is_capturing ())
    record_failure_seen (result, "cuGraphLaunch");
  return result;
}

#define body_cuStreamBeginCapture_ptsz body_cuStreamBeginCapture
#define body_cuStreamBeginCapture_v2_ptsz body_cuStreamBeginCapture_v2
#define body_cuStreamBeginCaptureToGraph_ptsz body_cuStreamBeginCaptureToGraph
#define body_cuStreamBeginRecaptureToGraph_ptsz body_cuStreamBeginRecaptureToGraph
#define body_cuStreamEndCapture_ptsz body_cuStreamEndCapture
#define body_cuStreamDestroy_v2 body_cuStreamDestroy
#define body_cuCtxDestroy_v2 body_cuCtxDestroy
#define body_cuDevicePrimaryCtxReset_v2 body_cuDevicePrimaryCtxReset
#define body_cuGraphInstantiateWithParams_ptsz body_cuGraphInstantiateWithParams
#define body_cuGraphLaunch_ptsz body_cuGraphLaunch

/* ---- Both wrappers of each ---- */

/* Only reached by who calls a driver that is not there. */
#define NEXT(symbol)                                                                                                   \
  symbol##_func real = (symbol##_func) interpose_next_entry (INTERPOSE_ROW_##symbol);                                  \
                                                                                                                       \
  if (INTERPOSE_UNLIKELY (real == NULL))                                                                               \
    return MCU_ERROR_NOT_INITIALIZED;

#define HANDED(symbol) symbol##_func real = (symbol##_func) interpose_driver_entry (INTERPOSE_ROW_##symbol);

#define INTERPOSE_X(kind, symbol, base, version, per_thread, params, args)                                             \
  static McuResult handed_##symbol params                                                                              \
  {                                                                                                                    \
    HANDED (symbol)                                                                                                    \
    return body_##symbol (real, per_thread, ARGUMENTS args);                                                           \
  }                                                                                                                    \
  McuResult symbol params                                                                                              \
  {                                                                                                                    \
    NEXT (symbol)                                                                                                      \
    return body_##symbol (real, per_thread, ARGUMENTS args);                                                           \
  }
INTERPOSE_CORE_ENTRIES (INTERPOSE_X)
#undef INTERPOSE_X

#define OPERATION(symbol, per_thread, args, stream)                                                                    \
  {                                                                                                                    \
    McuResult result = real args;                                                                                      \
                                                                                                                       \
    if (is_capturing ())                                                                                               \
      record_operation (result, #symbol, record_stream (stream, per_thread));                                          \
    return result;                                                                                                     \
  }

#define WRAP_OPERATION(symbol, per_thread, params, args, stream)                                                       \
  static McuResult handed_##symbol params                                                                              \
  {                                                                                                                    \
    HANDED (symbol)                                                                                                    \
    OPERATION (symbol, per_thread, args, stream)                                                                       \
  }                                                                                                                    \
  McuResult symbol params                                                                                              \
  {                                                                                                                    \
    NEXT (symbol)                                                                                                      \
    OPERATION (symbol, per_thread, args, stream)                                                                       \
  }

#define WRAP_OPERATIONS(symbol, twin, base, version, params, args, stream)                                             \
  WRAP_OPERATION (symbol, false, params, args, stream)                                                                 \
  WRAP_OPERATION (symbol##twin, true, params, args, stream)
INTERPOSE_OPERATION_ENTRIES (WRAP_OPERATIONS)

#define CULPRIT(symbol, args)                                                                                          \
  {                                                                                                                    \
    McuResult result = real args;                                                                                      \
                                                                                                                       \
    if (INTERPOSE_UNLIKELY (result != MCU_SUCCESS) && is_capturing ())                                                 \
      record_failure_seen (result, #symbol);                                                                           \
    return result;                                                                                                     \
  }

#define WRAP_CULPRIT(symbol, params, args)                                                                             \
  static McuResult handed_##symbol params                                                                              \
  {                                                                                                                    \
    HANDED (symbol)                                                                                                    \
    CULPRIT (symbol, args)                                                                                             \
  }                                                                                                                    \
  McuResult symbol params                                                                                              \
  {                                                                                                                    \
    NEXT (symbol)                                                                                                      \
    CULPRIT (symbol, args)                                                                                             \
  }

#define WRAP_CULPRITS(symbol, twin, base, version, params, args)                                                       \
  WRAP_CULPRIT (symbol, params, args)                                                                                  \
  WRAP_CULPRIT (symbol##twin, params, args)
INTERPOSE_CULPRIT_TWIN_ENTRIES (WRAP_CULPRITS)

#define WRAP_PLAIN_CULPRIT(symbol, base, version, params, args) WRAP_CULPRIT (symbol, params, args)
INTERPOSE_CULPRIT_PLAIN_ENTRIES (WRAP_PLAIN_CULPRIT)

/* ---- The table ---- */

const InterposeEntry interpose_entries[INTERPOSE_N_ROWS] = {
#define INTERPOSE_X(kind, symbol, base, version, per_thread, params, args)                                             \
  { #symbol, #base, version, INTERPOSE_##kind, per_thread, (McuProc) handed_##symbol, (McuProc) symbol },
  INTERPOSE_ENTRIES
#undef INTERPOSE_X
};
