/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "capture-private.h"

/**
 * memra_capture_options_new:
 *
 * Makes options with their defaults: mode %MEMRA_CAPTURE_MODE_RELAXED, not strict, an empty graph refused, the graph
 * executed once. Options may be used for any number of captures, and freed while captures made with them live.
 *
 * Returns: (transfer full): options
 *
 * Since: 0.1
 */
MemraCaptureOptions *
memra_capture_options_new (void)
{
  MemraCaptureOptions *options = g_new0 (MemraCaptureOptions, 1);

  options->mode = MEMRA_CAPTURE_MODE_RELAXED;
  return options;
}

/**
 * memra_capture_options_free:
 * @options: (transfer full) (nullable): options
 *
 * Frees options.
 *
 * Since: 0.1
 */
void
memra_capture_options_free (MemraCaptureOptions *options)
{
  if (options == NULL)
    return;
  memra_policy_unref (options->policy);
  g_free (options);
}

/**
 * memra_capture_options_set_mode:
 * @options: options
 * @mode: the driver's capture mode
 *
 * Chooses which potentially unsafe calls (allocation, free, queries and waits on other streams, module unload) break
 * the capture: those of any thread, those of the capturing thread, or none, in which case they take effect at once and
 * are not part of the graph. Waiting for the captured stream or for the device breaks every capture.
 *
 * Since: 0.1
 */
void
memra_capture_options_set_mode (MemraCaptureOptions *options, MemraCaptureMode mode)
{
  g_return_if_fail (options != NULL);
  g_return_if_fail (mode >= MEMRA_CAPTURE_MODE_GLOBAL && mode <= MEMRA_CAPTURE_MODE_RELAXED);

  options->mode = mode;
}

/**
 * memra_capture_options_set_strict:
 * @options: options
 * @strict: whether work that escapes to the legacy stream fails the capture
 *
 * Work that a body puts into the legacy stream by mistake runs at once and is missing from the graph; the driver says
 * nothing when the captured stream is non-blocking. Strict captures a blocking stream, for which the driver refuses
 * such work (906): the caller's own if it is blocking, else a private one that is handed to the body.
 *
 * Since: 0.1
 */
void
memra_capture_options_set_strict (MemraCaptureOptions *options, gboolean strict)
{
  g_return_if_fail (options != NULL);

  options->strict = strict;
}

/**
 * memra_capture_options_set_allow_empty:
 * @options: options
 * @allow_empty: whether a graph without nodes is all right
 *
 * Lets a layer that issues nothing pass. By default it is refused at the step policy, since work that went into another
 * stream by mistake looks just like that.
 *
 * Since: 0.1
 */
void
memra_capture_options_set_allow_empty (MemraCaptureOptions *options, gboolean allow_empty)
{
  g_return_if_fail (options != NULL);

  options->allow_empty = allow_empty;
}

/**
 * memra_capture_options_set_record_only:
 * @options: options
 * @record_only: whether to stop before the launch
 *
 * Leaves the one execution out: the capture is kept, uploaded and ready for replay, and nothing has run.
 *
 * Since: 0.1
 */
void
memra_capture_options_set_record_only (MemraCaptureOptions *options, gboolean record_only)
{
  g_return_if_fail (options != NULL);

  options->record_only = record_only;
}

/**
 * memra_capture_options_set_policy:
 * @options: options
 * @policy: (nullable): what the graph must be like, or %NULL for the default: not empty
 *
 * A graph that is not what the policy wants is refused before anything runs, with every mismatch in the message and the
 * census in memra_capture_error_get_partial_census(). memra_capture_options_set_allow_empty() goes on top of it.
 *
 * Since: 0.1
 */
void
memra_capture_options_set_policy (MemraCaptureOptions *options, MemraPolicy *policy)
{
  g_return_if_fail (options != NULL);

  if (policy != NULL)
    memra_policy_ref (policy);
  memra_policy_unref (options->policy);
  options->policy = policy;
}

/**
 * memra_capture_options_set_diagnose:
 * @options: options
 * @diagnose: whether to listen to the driver's error log while the capture is open
 *
 * On by default. With a driver of 12.9 or later an error then names the call that broke the capture, its caller and its
 * thread. It costs nothing while nothing breaks.
 *
 * Since: 0.1
 */
void
memra_capture_options_set_diagnose (MemraCaptureOptions *options, gboolean diagnose)
{
  g_return_if_fail (options != NULL);

  options->blind = !diagnose;
}
