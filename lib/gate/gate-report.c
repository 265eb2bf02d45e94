/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a gate came to. */
#include "config.h"

#include "gate-private.h"

/**
 * memra_gate_report_free:
 * @report: (transfer full) (nullable): a report
 *
 * Frees a report.
 *
 * Since: 0.1
 */
void
memra_gate_report_free (MemraGateReport *report)
{
  if (report == NULL)
    return;
  if (report->failure != NULL)
    g_string_free (report->failure, TRUE);
  g_free (report->message);
  g_free (report);
}

/**
 * memra_gate_report_is_green:
 * @report: a report
 *
 * Says whether everything was equal.
 *
 * Returns: %TRUE if so
 *
 * Since: 0.1
 */
gboolean
memra_gate_report_is_green (const MemraGateReport *report)
{
  g_return_val_if_fail (report != NULL, FALSE);

  return report->failure == NULL;
}

/**
 * memra_gate_report_get_n_eager_runs:
 * @report: a report
 *
 * Gets how many eager runs were made.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint
memra_gate_report_get_n_eager_runs (const MemraGateReport *report)
{
  g_return_val_if_fail (report != NULL, 0);

  return report->n_eager_runs;
}

/**
 * memra_gate_report_get_n_captures:
 * @report: a report
 *
 * Gets how many captures were executed and compared.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint
memra_gate_report_get_n_captures (const MemraGateReport *report)
{
  g_return_val_if_fail (report != NULL, 0);

  return report->n_captures;
}

/**
 * memra_gate_report_get_n_replays:
 * @report: a report
 *
 * Gets how many replays were compared.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint
memra_gate_report_get_n_replays (const MemraGateReport *report)
{
  g_return_val_if_fail (report != NULL, 0);

  return report->n_replays;
}

/**
 * memra_gate_report_get_n_compared_bytes:
 * @report: a report
 *
 * Gets how many bytes of output were compared, up to the first difference.
 *
 * Returns: the number of bytes
 *
 * Since: 0.1
 */
guint64
memra_gate_report_get_n_compared_bytes (const MemraGateReport *report)
{
  g_return_val_if_fail (report != NULL, 0);

  return report->n_compared_bytes;
}

/**
 * memra_gate_report_get_message:
 * @report: a report
 *
 * Gets the verdict as a sentence: what was compared, or where the first difference lies and both values.
 *
 * Returns: (transfer none): the sentence, owned by @report
 *
 * Since: 0.1
 */
const char *
memra_gate_report_get_message (const MemraGateReport *report)
{
  g_return_val_if_fail (report != NULL, NULL);

  return report->message;
}
