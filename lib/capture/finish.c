/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the ended capture to the kept, once-executed graph: census, policy, instantiate, upload, launch, completion. */
#include "config.h"

#include "capture-private.h"

void
_memra_work_clear (MemraWork *work)
{
  if (work->exec != NULL)
    work->driver->cu.cuGraphExecDestroy (work->exec);
  if (work->graph != NULL)
    work->driver->cu.cuGraphDestroy (work->graph);
  memra_census_unref (work->census);
}

static gboolean
fail (MemraCaptureScope *scope, MemraWork *work, GError **error, MemraCaptureStage stage, McuResult result, const char *what)
{
  MemraFailure failure = { .layer = scope->layer,
                           .sequence = scope->members != NULL,
                           .stage = stage,
                           .result = result,
                           .partial = work->census };

  if (stage == MEMRA_CAPTURE_STAGE_LAUNCH || stage == MEMRA_CAPTURE_STAGE_COMPLETION)
    failure.execution = MEMRA_EXECUTION_UNKNOWN;
  return what != NULL ? _memra_capture_fail (work->driver, error, _memra_capture_error_code (result), &failure, "%s", what)
                      : _memra_capture_fail (work->driver, error, _memra_capture_error_code (result), &failure, NULL);
}

static gboolean
read_census (MemraCaptureScope *scope, MemraWork *work, GError **error)
{
  GArray *marks = scope->recording->marks;
  g_autofree MemraSectionMark *sections = g_new0 (MemraSectionMark, marks->len);
  g_autoptr (GError) reason = NULL;
  guint n_sections = 0;

  for (guint i = 0; i < marks->len; i++)
    {
      const MemraMark *mark = &g_array_index (marks, MemraMark, i);

      if (mark->counted)
        sections[n_sections++] = (MemraSectionMark){ mark->n_nodes, mark->name };
    }
  work->census = _memra_census_read_nodes (work->driver, work->graph, scope->layer, sections, n_sections, &reason);
  if (work->census == NULL)
    return fail (scope, work, error, MEMRA_CAPTURE_STAGE_NODE_CENSUS, memra_driver_error_get_cuda_result (reason), reason->message);
  if (scope->members != NULL)
    _memra_census_adopt_sections (work->census, scope->members);
  _memra_census_set_context (work->census, scope->stream->context->cuda);
  if (!_memra_census_read_kernels (work->census, &reason))
    return fail (scope, work, error, MEMRA_CAPTURE_STAGE_KERNEL_CENSUS, memra_driver_error_get_cuda_result (reason), reason->message);
  return TRUE;
}

static gboolean
judge (MemraCaptureScope *scope, MemraWork *work, GError **error)
{
  MemraFailure failure = { .layer = scope->layer,
                           .sequence = scope->members != NULL,
                           .stage = MEMRA_CAPTURE_STAGE_POLICY,
                           .partial = work->census };
  g_autoptr (MemraPolicy) policy = scope->options.policy != NULL ? memra_policy_ref (scope->options.policy) : memra_policy_new ();
  g_autoptr (GPtrArray) mismatches = NULL;
  g_autofree char *list = NULL;

  if (memra_census_get_n_nodes (work->census) == 0 && scope->options.allow_empty)
    return TRUE;
  mismatches = memra_policy_check (policy, work->census);
  if (mismatches->len == 0)
    return TRUE;
  g_ptr_array_add (mismatches, NULL);
  list = g_strjoinv ("; ", (char **) mismatches->pdata);
  return _memra_capture_fail (work->driver, error, MEMRA_CAPTURE_ERROR_POLICY, &failure, "%s", list);
}

static const char *
describe_instantiation (int result)
{
  switch (result)
    {
    case MCU_INSTANTIATE_RESULT_INVALID_STRUCTURE:
      return "the graph's structure is invalid";
    case MCU_INSTANTIATE_RESULT_NODE_OPERATION_NOT_SUPPORTED:
      return "a node's operation is not supported";
    case MCU_INSTANTIATE_RESULT_MULTIPLE_CTXS_NOT_SUPPORTED:
      return "the graph spans several contexts";
    case MCU_INSTANTIATE_RESULT_CONDITIONAL_HANDLE_UNUSED:
      return "a conditional handle is not used by any conditional node";
    default:
      return NULL;
    }
}

static gboolean
instantiate (MemraCaptureScope *scope, MemraWork *work, GError **error)
{
  McuInstantiateParams params = { 0 };
  g_autofree char *what = NULL;
  McuResult result;

  if (work->driver->cu.cuGraphInstantiateWithParams == NULL)
    {
      result = work->driver->cu.cuGraphInstantiateWithFlags (&work->exec, work->graph, 0);
      return result == MCU_SUCCESS || fail (scope, work, error, MEMRA_CAPTURE_STAGE_INSTANTIATE, result, NULL);
    }

  result = work->driver->cu.cuGraphInstantiateWithParams (&work->exec, work->graph, &params);
  if (result == MCU_SUCCESS)
    return TRUE;
  work->exec = NULL;
  if (describe_instantiation (params.result) != NULL)
    {
      g_autofree char *node
          = params.error_node != NULL ? _memra_census_describe_node (work->driver, params.error_node) : NULL;

      what = g_strconcat (describe_instantiation (params.result), node != NULL ? ": node " : NULL, node, NULL);
    }
  return fail (scope, work, error, MEMRA_CAPTURE_STAGE_INSTANTIATE, result, what);
}

gboolean
_memra_work_examine (MemraCaptureScope *scope, MemraWork *work, GError **error)
{
  if (!read_census (scope, work, error) || !judge (scope, work, error))
    return FALSE;
  _memra_scope_book (scope, MEMRA_CAPTURE_STEP_CENSUS);
  return TRUE;
}

gboolean
_memra_work_instantiate (MemraCaptureScope *scope, MemraWork *work, GError **error)
{
  McuResult result;

  if (!instantiate (scope, work, error))
    return FALSE;
  _memra_scope_book (scope, MEMRA_CAPTURE_STEP_INSTANTIATE);

  result = work->driver->cu.cuGraphUpload (work->exec, scope->stream->cuda);
  if (result != MCU_SUCCESS)
    return fail (scope, work, error, MEMRA_CAPTURE_STAGE_UPLOAD, result, NULL);
  _memra_scope_book (scope, MEMRA_CAPTURE_STEP_UPLOAD);
  return TRUE;
}

static MemraLayerCapture *
keep (MemraCaptureScope *scope, MemraWork *work)
{
  MemraLayerCapture *capture = g_new0 (MemraLayerCapture, 1);

  g_atomic_ref_count_init (&capture->ref_count);
  capture->stream = memra_stream_ref (scope->stream);
  capture->layer = scope->layer;
  capture->is_sequence = scope->members != NULL;
  capture->census = g_steal_pointer (&work->census);
  capture->graph = g_steal_pointer (&work->graph);
  capture->exec = g_steal_pointer (&work->exec);
  capture->recording = g_steal_pointer (&scope->recording);
  capture->retained = _memra_retained_new ();
  pthread_mutex_init (&capture->lock, NULL);
  return capture;
}

MemraLayerCapture *
_memra_scope_finish (MemraCaptureScope *scope, CUgraph graph, GError **error)
{
  MemraDriver *driver = scope->stream->context->driver;
  g_auto (MemraWork) work = { .driver = driver, .graph = graph };
  g_autoptr (MemraLayerCapture) capture = NULL;
  McuResult result;

  if (!_memra_work_examine (scope, &work, error) || !_memra_work_instantiate (scope, &work, error))
    return NULL;

  capture = keep (scope, &work);
  if (!scope->options.record_only)
    {
      /* From here on the GPU may be at work, so the capture itself sees to a safe release. */
      work.census = memra_census_ref (capture->census);
      capture->in_flight = TRUE;
      result = driver->cu.cuGraphLaunch (capture->exec, scope->stream->cuda);
      if (result != MCU_SUCCESS)
        {
          fail (scope, &work, error, MEMRA_CAPTURE_STAGE_LAUNCH, result, NULL);
          return NULL;
        }
      _memra_scope_book (scope, MEMRA_CAPTURE_STEP_LAUNCH);

      result = driver->cu.cuStreamSynchronize (scope->stream->cuda);
      if (result != MCU_SUCCESS)
        {
          fail (scope, &work, error, MEMRA_CAPTURE_STAGE_COMPLETION, result, NULL);
          return NULL;
        }
      capture->in_flight = FALSE;
      capture->executions = 1;
      _memra_scope_book (scope, MEMRA_CAPTURE_STEP_COMPLETION);
    }
  memcpy (capture->timings, scope->timings, sizeof capture->timings);
  return g_steal_pointer (&capture);
}
