/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults in sequences: putting them together, replaying, bringing them up to date, and their end. */
#include "config.h"

#include "faults.h"

#include "capture/capture-private.h"

static gboolean
run_sequence_new (FaultsBench *bench, GError **error)
{
  MemraLayerCapture *const captures[] = { bench->capture, bench->capture };
  g_autoptr (MemraLayerSequence) sequence
      = memra_layer_sequence_new (bench->fixture->stream, captures, G_N_ELEMENTS (captures), NULL, error);

  return sequence != NULL;
}

static gboolean
run_sequence_replay (FaultsBench *bench, GError **error)
{
  return memra_layer_sequence_replay (bench->sequence, error);
}

static gboolean
run_sequence_launch (FaultsBench *bench, GError **error)
{
  return memra_layer_sequence_launch (bench->sequence, error);
}

static gboolean
run_sequence_check (FaultsBench *bench, GError **error)
{
  return memra_layer_sequence_check (bench->sequence, error);
}

/* Updated or not, the sequence is whole: brought up to date without a fault, it replays. */
static gboolean
update (FaultsBench *bench, MemraUpdateFlags flags, MemraUpdateOutcome expected, GError **error)
{
  MemraUpdateOutcome outcome;

  if (memra_layer_sequence_update (bench->sequence, flags, &outcome, error))
    {
      g_assert_cmpint (outcome, ==, expected);
      return TRUE;
    }
  if (!bench->dying)
    {
      memra_test_host_control ()->clear_faults ();
      g_assert_true (memra_layer_sequence_update (bench->sequence, flags, NULL, NULL));
      g_assert_true (memra_layer_sequence_replay (bench->sequence, NULL));
    }
  return FALSE;
}

/* After a change of the layer. Updated or not, nothing is lost, and the next update works. */
static gboolean
run_sequence_update (FaultsBench *bench, GError **error)
{
  _memra_layer_capture_changed (bench->capture);
  return update (bench, MEMRA_UPDATE_IN_PLACE_ONLY, MEMRA_UPDATE_UPDATED, error);
}

/* The layer is re-instantiated, and then the sequence of it. */
static gboolean
run_sequence_reinstantiate (FaultsBench *bench, GError **error)
{
  return faults_update_swapped (bench, MEMRA_UPDATE_OR_REINSTANTIATE, NULL, error)
         && update (bench, MEMRA_UPDATE_OR_REINSTANTIATE, MEMRA_UPDATE_REINSTANTIATED, error);
}

/* A sequence's whole life: what could not be closed at first is closed at the second try. */
static gboolean
run_sequence_life (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraLayerSequence) sequence
      = memra_layer_sequence_new (bench->fixture->stream, &bench->capture, 1, NULL, error);

  if (sequence == NULL || !memra_layer_sequence_replay (sequence, error))
    return FALSE;
  if (memra_layer_sequence_close (sequence, error))
    return TRUE;
  memra_test_host_control ()->clear_faults ();
  g_assert_true (memra_layer_sequence_close (sequence, NULL));
  return FALSE;
}

static const FaultsOperation operations[] = {
  { "sequence-new", "memra_layer_sequence_new memra_layer_sequence_unref", run_sequence_new, .n_inside = { 2 } },
  { "sequence-replay", "memra_layer_sequence_replay", run_sequence_replay, memra_capture_error_quark,
    MEMRA_CAPTURE_STAGE_REPLAY },
  { "sequence-launch", "memra_layer_sequence_launch", run_sequence_launch, memra_capture_error_quark,
    MEMRA_CAPTURE_STAGE_REPLAY },
  { "sequence-check", "memra_layer_sequence_check", run_sequence_check, memra_capture_error_quark,
    MEMRA_CAPTURE_STAGE_REPLAY },
  { "sequence-update", "memra_layer_sequence_update", run_sequence_update, .n_inside = { 1 } },
  { "sequence-update-or-reinstantiate", "memra_layer_sequence_update", run_sequence_reinstantiate,
    .n_inside = { 0, 1 } },
  { "sequence-life", "memra_layer_sequence_close", run_sequence_life, .closes = TRUE, .n_inside = { 1 } },
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
