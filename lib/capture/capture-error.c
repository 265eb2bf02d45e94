/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MEMRA_CAPTURE_ERROR: an extended error that says where, what had run, and in what state the stream is. */
#include "config.h"

#include "capture-private.h"

typedef struct
{
  MemraCaptureStage stage;
  McuResult result;
  MemraExecution execution;
  gboolean unclean;
  MemraCensus *partial; /* owned, nullable */
  char **stack;         /* owned, nullable */
} MemraCaptureErrorPrivate;

static void
memra_capture_error_private_init (MemraCaptureErrorPrivate *private)
{
  memset (private, 0, sizeof *private);
}

static void
memra_capture_error_private_copy (const MemraCaptureErrorPrivate *from, MemraCaptureErrorPrivate *to)
{
  *to = *from;
  if (to->partial != NULL)
    memra_census_ref (to->partial);
  to->stack = g_strdupv (from->stack);
}

static void
memra_capture_error_private_clear (MemraCaptureErrorPrivate *private)
{
  memra_census_unref (private->partial);
  g_strfreev (private->stack);
}

/**
 * memra_capture_error_quark:
 *
 * Gets the number of the domain %MEMRA_CAPTURE_ERROR.
 *
 * Returns: the quark
 *
 * Since: 0.1
 */
G_DEFINE_EXTENDED_ERROR (MemraCaptureError, memra_capture_error)

static const char *const stage_names[] = {
  "status", "pre-drain", "begin", "body", "end", "node census", "kernel census",
  "policy", "instantiate", "upload", "launch", "completion", "update", "replay", "close", "assembly",
};

/**
 * memra_capture_stage_to_string:
 * @stage: a stage
 *
 * Gets a stage's name as it stands in messages, such as "kernel census".
 *
 * Returns: (transfer none): the name, static
 *
 * Since: 0.1
 */
const char *
memra_capture_stage_to_string (MemraCaptureStage stage)
{
  g_return_val_if_fail ((guint) stage < G_N_ELEMENTS (stage_names), NULL);

  return stage_names[stage];
}

/**
 * memra_capture_error_get_stage:
 * @error: an error of a capture function
 *
 * Gets the step that failed. An error of another domain than %MEMRA_CAPTURE_ERROR is the body's own. Of an error that a
 * body passes on from a capture of its own it is that capture's step.
 *
 * Returns: the stage; %MEMRA_CAPTURE_STAGE_BODY for other domains
 *
 * Since: 0.1
 */
MemraCaptureStage
memra_capture_error_get_stage (const GError *error)
{
  g_return_val_if_fail (error != NULL, MEMRA_CAPTURE_STAGE_STATUS);

  return error->domain == MEMRA_CAPTURE_ERROR ? memra_capture_error_get_private (error)->stage : MEMRA_CAPTURE_STAGE_BODY;
}

/**
 * memra_capture_error_get_cuda_result:
 * @error: an error of a capture function
 *
 * Gets the CUresult that made the step fail.
 *
 * Returns: the CUresult, or 0 when no driver call failed
 *
 * Since: 0.1
 */
gint
memra_capture_error_get_cuda_result (const GError *error)
{
  g_return_val_if_fail (error != NULL, MCU_SUCCESS);

  if (error->domain == MEMRA_DRIVER_ERROR)
    return memra_driver_error_get_cuda_result (error);
  return error->domain == MEMRA_CAPTURE_ERROR ? memra_capture_error_get_private (error)->result : MCU_SUCCESS;
}

/**
 * memra_capture_error_get_execution:
 * @error: an error of a capture function
 *
 * Says whether the captured work has run. After %MEMRA_EXECUTION_NOT_EXECUTED, and with
 * memra_capture_error_get_stream_clean(), the caller can try again or run the layer eagerly; after
 * %MEMRA_EXECUTION_UNKNOWN the state that the layer writes is not known.
 *
 * Returns: the execution; %MEMRA_EXECUTION_NOT_EXECUTED for other domains, since a body's error means no launch
 *
 * Since: 0.1
 */
MemraExecution
memra_capture_error_get_execution (const GError *error)
{
  g_return_val_if_fail (error != NULL, MEMRA_EXECUTION_UNKNOWN);

  return error->domain == MEMRA_CAPTURE_ERROR ? memra_capture_error_get_private (error)->execution
                                              : MEMRA_EXECUTION_NOT_EXECUTED;
}

/**
 * memra_capture_error_get_stream_clean:
 * @error: an error of a capture function
 *
 * Says whether the stream was seen out of capture afterwards. If not, memra_stream_recover() from the thread that began
 * the capture may bring it out.
 *
 * Returns: %TRUE if the stream is clean; %TRUE for other domains, whose message says so if it is not
 *
 * Since: 0.1
 */
gboolean
memra_capture_error_get_stream_clean (const GError *error)
{
  g_return_val_if_fail (error != NULL, FALSE);

  return error->domain != MEMRA_CAPTURE_ERROR || !memra_capture_error_get_private (error)->unclean;
}

/**
 * memra_capture_error_get_partial_census:
 * @error: an error of a capture function
 *
 * Gets what could be read of the graph before the capture failed.
 *
 * Returns: (transfer none) (nullable): the census, owned by @error, or %NULL
 *
 * Since: 0.1
 */
MemraCensus *
memra_capture_error_get_partial_census (const GError *error)
{
  g_return_val_if_fail (error != NULL, NULL);

  return error->domain == MEMRA_CAPTURE_ERROR ? memra_capture_error_get_private (error)->partial : NULL;
}

/**
 * memra_capture_error_get_stack:
 * @error: an error of a capture function
 *
 * Gets the stack of the call that broke the capture, from its caller outwards, each line as "step+0x42 in libengine.so".
 * It is known when the driver (12.9) reported the failing call while it failed.
 *
 * Returns: (transfer none) (nullable) (array zero-terminated=1): the lines, owned by @error, or %NULL
 *
 * Since: 0.1
 */
const char *const *
memra_capture_error_get_stack (const GError *error)
{
  g_return_val_if_fail (error != NULL, NULL);

  return error->domain == MEMRA_CAPTURE_ERROR ? (const char *const *) memra_capture_error_get_private (error)->stack : NULL;
}

MemraCaptureError
_memra_capture_error_code (McuResult result)
{
  if (result == MCU_ERROR_ILLEGAL_STATE
      || (result >= MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= MCU_ERROR_STREAM_CAPTURE_WRONG_THREAD))
    return MEMRA_CAPTURE_ERROR_BROKEN;
  return MEMRA_CAPTURE_ERROR_FAILED;
}

gboolean
_memra_capture_fail (MemraDriver *driver, GError **error, MemraCaptureError code, const MemraFailure *failure, const char *what, ...)
{
  g_autoptr (GString) message = g_string_new (NULL);
  MemraCaptureErrorPrivate *private;
  GError *made;

  if (failure->sequence)
    g_string_printf (message, "sequence %s: ", memra_capture_stage_to_string (failure->stage));
  else
    g_string_printf (message, "layer %u capture %s: ", failure->layer, memra_capture_stage_to_string (failure->stage));
  if (failure->result != MCU_SUCCESS)
    {
      g_autofree char *description = _memra_driver_describe (driver, failure->result);

      g_string_append (message, description);
      if (what != NULL)
        g_string_append (message, "; ");
    }
  if (what != NULL)
    {
      va_list arguments;

      va_start (arguments, what);
      g_string_append_vprintf (message, what, arguments);
      va_end (arguments);
    }
  if (failure->unclean)
    g_string_append (message, "; the stream is still being captured: call memra_stream_recover() from the thread that began it");

  made = g_error_new_literal (MEMRA_CAPTURE_ERROR, code, message->str);
  private = memra_capture_error_get_private (made);
  private->stage = failure->stage;
  private->result = failure->result;
  private->execution = failure->execution;
  private->unclean = failure->unclean;
  private->partial = failure->partial != NULL ? memra_census_ref (failure->partial) : NULL;
  private->stack = g_strdupv (failure->stack);
  g_propagate_error (error, made);
  return FALSE;
}
