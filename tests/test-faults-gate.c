/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Faults in the gate. It goes through eager runs, a capture, replays and one more capture; whichever call of these
 * fails, there is its error and no report, and never a red one: a fault is no difference.
 */
#include "config.h"

#include "faults.h"

#include <string.h>

/* The state: dst, as it was found. */
static gboolean
restore (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  return memra_buffer_zero (fixture->dst, stream, error);
}

static gboolean
set_inputs (MemraStream *stream, guint run, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;
  float values[FIXTURE_N];

  for (guint i = 0; i < FIXTURE_N; i++)
    values[i] = (float) (run + i);
  return memra_buffer_copy_from_host (fixture->src, 0, values, sizeof values, stream, error);
}

static gboolean
read_outputs (MemraStream *stream, MemraGateOutputs *outputs, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;
  float values[FIXTURE_N];

  if (!memra_buffer_copy_to_host (fixture->dst, 0, values, sizeof values, stream, error))
    return FALSE;
  memra_gate_outputs_add (outputs, "dst", values, sizeof values);
  return TRUE;
}

static const MemraGateCallbacks callbacks
    = { .restore = restore, .set_inputs = set_inputs, .body = fixture_body, .read_outputs = read_outputs };

static gboolean
judge (MemraGateReport *report, guint n_replays)
{
  if (report == NULL)
    return FALSE;
  if (!memra_gate_report_is_green (report))
    g_error ("%s", memra_gate_report_get_message (report));
  g_assert_cmpuint (memra_gate_report_get_n_replays (report), ==, n_replays);
  memra_gate_report_free (report);
  return TRUE;
}

static gboolean
run_gate (FaultsBench *bench, GError **error)
{
  return judge (memra_gate_run (bench->fixture->stream, 95, bench->fixture->options, &callbacks, bench->fixture, 2,
                                MEMRA_GATE_NONE, error),
                2);
}

static gboolean
run_gate_sequence (FaultsBench *bench, GError **error)
{
  return judge (memra_gate_run_sequence (bench->sequence, &callbacks, bench->fixture, 1, MEMRA_GATE_NONE, error), 2);
}

static const FaultsOperation operations[] = {
  { "gate", "memra_gate_run", run_gate, .closes = TRUE },
  { "gate-sequence", "memra_gate_run_sequence", run_gate_sequence },
};

static void
add_tests (void)
{
  faults_add_operations (operations, G_N_ELEMENTS (operations));
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
