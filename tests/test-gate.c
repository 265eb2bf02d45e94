/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The replay gate: green for a layer that keeps its state on the device, red for everything that does not. */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

/* A bundled decoder layer with its hidden state, and ways to do it wrong. */
typedef struct
{
  Fixture fixture;
  MemraDsv4Config config;
  MemraDsv4Layer *layer;
  MemraBuffer *hidden;
  guint run;
  gboolean frozen;   /* a scalar that should come from device memory is an argument */
  gboolean wavering; /* another kernel for odd runs */
  guint bodies;
} Model;

static void
model_init (Model *model)
{
  g_autoptr (GError) error = NULL;

  memset (model, 0, sizeof *model);
  fixture_init (&model->fixture);
  memra_dsv4_config_init_small (&model->config);
  model->layer = memra_dsv4_layer_new (model->fixture.dsv4, model->fixture.stream, &model->config, 7, &error);
  g_assert_no_error (error);
  model->hidden = memra_test_buffer_filled (model->fixture.stream, 0.5f, model->config.hidden);
}

static void
model_clear (Model *model)
{
  memra_dsv4_layer_free (model->layer);
  memra_buffer_unref (model->hidden);
  fixture_clear (&model->fixture);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Model, model_clear)

static gboolean
restore (MemraStream *stream, gpointer data, GError **error)
{
  Model *model = data;

  return memra_dsv4_layer_reset (model->layer, stream, error);
}

static gboolean
set_inputs (MemraStream *stream, guint run, gpointer data, GError **error)
{
  Model *model = data;
  g_autofree float *values = g_new (float, model->config.hidden);

  model->run = run;
  for (guint i = 0; i < model->config.hidden; i++)
    values[i] = 0.25f + (i * 31 + run * 17) % 101 / 101.0f;
  return memra_buffer_copy_from_host (model->hidden, 0, values, model->config.hidden * sizeof (float), stream, error);
}

static gboolean
body (MemraStream *stream, gpointer data, GError **error)
{
  Model *model = data;
  guint n = model->frozen ? 1 + model->run % 2 : 1;

  model->bodies++;
  for (guint i = 0; i < n; i++)
    if (!memra_dsv4_layer_forward (model->layer, stream, model->hidden, error))
      return FALSE;
  if (model->wavering && model->run % 2 == 1)
    return memra_dsv4_advance (model->fixture.dsv4, stream, memra_dsv4_layer_get_position (model->layer), error);
  return !model->wavering
         || memra_dsv4_silu_gate (model->fixture.dsv4, stream, model->hidden, model->hidden, model->config.hidden,
                                  error);
}

static gboolean
read_outputs (MemraStream *stream, MemraGateOutputs *outputs, gpointer data, GError **error)
{
  Model *model = data;
  const struct
  {
    const char *name;
    MemraBuffer *buffer;
  } buffers[] = {
    { "hidden", model->hidden },
    { "key cache", memra_dsv4_layer_get_key_cache (model->layer) },
    { "position", memra_dsv4_layer_get_position (model->layer) },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (buffers); i++)
    {
      gsize size = memra_buffer_get_size (buffers[i].buffer);
      g_autofree guint8 *bytes = g_malloc (size);

      if (!memra_buffer_copy_to_host (buffers[i].buffer, 0, bytes, size, stream, error))
        return FALSE;
      memra_gate_outputs_add (outputs, buffers[i].name, bytes, size);
    }
  return TRUE;
}

static const MemraGateCallbacks callbacks
    = { .restore = restore, .set_inputs = set_inputs, .body = body, .read_outputs = read_outputs };

static MemraGateReport *
run (Model *model, guint n_replays, MemraGateFlags flags)
{
  g_autoptr (GError) error = NULL;
  MemraGateReport *report
      = memra_gate_run (model->fixture.stream, 3, NULL, &callbacks, model, n_replays, flags, &error);

  g_assert_no_error (error);
  g_test_message ("%s", memra_gate_report_get_message (report));
  return report;
}

static void
test_green (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraGateReport) report = NULL;

  model_init (&model);
  report = run (&model, 4, MEMRA_GATE_NONE);
  g_assert_true (memra_gate_report_is_green (report));
  g_assert_cmpuint (memra_gate_report_get_n_eager_runs (report), ==, 5);
  g_assert_cmpuint (memra_gate_report_get_n_captures (report), ==, 1);
  g_assert_cmpuint (memra_gate_report_get_n_replays (report), ==, 4);
  g_assert_cmpuint (memra_gate_report_get_n_compared_bytes (report), >, 5 * model.config.hidden * sizeof (float));
  /* Five eager runs, one capture, one more capture for the kernel list: replays call no body. */
  g_assert_cmpuint (model.bodies, ==, 7);
  fixture_assert_thread (&model.fixture);
}

static void
test_red_arm (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraGateReport) report = NULL;
  g_autoptr (MemraGateReport) without_replays = NULL;

  model_init (&model);
  report = run (&model, 2, MEMRA_GATE_CORRUPT);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "red: replay 2: output ‘hidden’ differs in 1 of");
  without_replays = run (&model, 0, MEMRA_GATE_CORRUPT);
  g_assert_false (memra_gate_report_is_green (without_replays));
  assert_contains (memra_gate_report_get_message (without_replays), "red: the capture's one execution");
}

static void
test_frozen (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraGateReport) report = NULL;

  model_init (&model);
  model.frozen = TRUE;
  report = run (&model, 1, MEMRA_GATE_NONE);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "red: replay 1: output ‘hidden’ differs");
}

static void
test_other_kernel (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraGateReport) report = NULL;

  model_init (&model);
  model.wavering = TRUE;
  report = run (&model, 2, MEMRA_GATE_NONE); /* run 2 captures what run 0 did; run 1 shows in the outputs */
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "red: replay 1");
}

static gboolean
read_nothing (MemraStream *stream G_GNUC_UNUSED, MemraGateOutputs *outputs G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED,
              GError **error G_GNUC_UNUSED)
{
  return TRUE;
}

static void
test_nothing_compared (void)
{
  g_auto (Model) model = { 0 };
  MemraGateCallbacks blind = callbacks;
  g_autoptr (MemraGateReport) report = NULL;
  g_autoptr (GError) error = NULL;

  model_init (&model);
  blind.read_outputs = read_nothing;
  report = memra_gate_run (model.fixture.stream, 3, NULL, &blind, &model, 1, MEMRA_GATE_NONE, &error);
  g_assert_no_error (error);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "no output was compared");
}

static gboolean
kernel_list_body (MemraStream *stream, gpointer data, GError **error)
{
  Model *model = data;

  /* Same effect on what is compared, another kernel: a library's choice that the outputs do not show. */
  return memra_buffer_zero (model->hidden, stream, error)
         && (model->run % 2 == 0 ? memra_dsv4_add_inplace (model->fixture.dsv4, stream, model->hidden, model->hidden,
                                                           model->config.hidden, error)
                                 : memra_dsv4_silu_gate (model->fixture.dsv4, stream, model->hidden, model->hidden,
                                                         model->config.hidden, error));
}

static void
test_kernel_list (void)
{
  g_auto (Model) model = { 0 };
  MemraGateCallbacks choosing = callbacks;
  g_autoptr (MemraGateReport) report = NULL;
  g_autoptr (GError) error = NULL;

  model_init (&model);
  choosing.body = kernel_list_body;
  report = memra_gate_run (model.fixture.stream, 3, NULL, &choosing, &model, 1, MEMRA_GATE_NONE, &error);
  g_assert_no_error (error);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report),
                   "kernel 0 of the layer is memra_dsv4_silu_gate and not memra_dsv4_add_inplace");
}

static gboolean
failing_restore (MemraStream *stream G_GNUC_UNUSED, gpointer data, GError **error)
{
  Model *model = data;

  if (model->run < 1)
    return restore (stream, data, error);
  g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_IO, "the disk is gone");
  return FALSE;
}

static void
test_callback_error (void)
{
  g_auto (Model) model = { 0 };
  MemraGateCallbacks failing = callbacks;
  g_autoptr (GError) error = NULL;

  model_init (&model);
  failing.restore = failing_restore;
  g_assert_null (memra_gate_run (model.fixture.stream, 3, NULL, &failing, &model, 3, MEMRA_GATE_NONE, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_IO);
  g_assert_cmpstr (error->message, ==, "layer 3 gate: restore: the disk is gone");
  memra_test_assert_stream_usable (model.fixture.stream);
}

static gboolean
mute (MemraStream *stream G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  return FALSE;
}

static gboolean
mute_inputs (MemraStream *stream G_GNUC_UNUSED, guint run G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED,
             GError **error G_GNUC_UNUSED)
{
  return FALSE;
}

static gboolean
mute_outputs (MemraStream *stream G_GNUC_UNUSED, MemraGateOutputs *outputs G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED,
              GError **error G_GNUC_UNUSED)
{
  return FALSE;
}

/* A callback that fails without a word: there is an error all the same, and it says which. */
static void
test_mute_callbacks (void)
{
  static const char *const names[] = { "snapshot", "restore", "set_inputs", "body, run eagerly", "read_outputs" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_auto (Model) model = { 0 };
      MemraGateCallbacks failing = callbacks;
      g_autoptr (GError) error = NULL;
      g_autofree char *wanted = g_strdup_printf ("layer 3 gate: %s: it failed without saying why", names[i]);

      model_init (&model);
      failing.snapshot = i == 0 ? mute : NULL;
      failing.restore = i == 1 ? mute : restore;
      failing.set_inputs = i == 2 ? mute_inputs : set_inputs;
      failing.body = i == 3 ? mute : body;
      failing.read_outputs = i == 4 ? mute_outputs : read_outputs;
      g_assert_null (memra_gate_run (model.fixture.stream, 3, NULL, &failing, &model, 1, MEMRA_GATE_NONE, &error));
      g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BODY);
      g_assert_cmpstr (error->message, ==, wanted);
      g_clear_error (&error);
      g_assert_null (memra_gate_run (model.fixture.stream, 3, NULL, &failing, &model, 1, MEMRA_GATE_NONE, NULL));
      memra_test_assert_stream_usable (model.fixture.stream);
    }
}

static gboolean
read_first_run (MemraStream *stream, MemraGateOutputs *outputs, gpointer data, GError **error)
{
  return ((Model *) data)->run > 0 || read_outputs (stream, outputs, data, error);
}

static gboolean
read_empty (MemraStream *stream G_GNUC_UNUSED, MemraGateOutputs *outputs, gpointer data G_GNUC_UNUSED,
            GError **error G_GNUC_UNUSED)
{
  memra_gate_outputs_add (outputs, "nothing", NULL, 0);
  return TRUE;
}

/* Not one run may go uncompared, whatever the others have. */
static void
test_nothing_compared_later (void)
{
  g_auto (Model) model = { 0 };
  MemraGateCallbacks blind = callbacks;
  g_autoptr (MemraGateReport) report = NULL;
  g_autoptr (MemraGateReport) empty = NULL;
  g_autoptr (GError) error = NULL;

  model_init (&model);
  blind.read_outputs = read_first_run;
  report = memra_gate_run (model.fixture.stream, 3, NULL, &blind, &model, 2, MEMRA_GATE_NONE, &error);
  g_assert_no_error (error);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "red: replay 1: no output was compared");
  blind.read_outputs = read_empty;
  empty = memra_gate_run (model.fixture.stream, 3, NULL, &blind, &model, 2, MEMRA_GATE_CORRUPT, &error);
  g_assert_no_error (error);
  g_assert_false (memra_gate_report_is_green (empty));
  assert_contains (memra_gate_report_get_message (empty), "no output was compared");
}

/* A capture that ran nothing proves nothing. */
static void
test_record_only (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraCaptureOptions) options = memra_capture_options_new ();
  g_autoptr (MemraGateReport) report = NULL;
  g_autoptr (GError) error = NULL;

  model_init (&model);
  memra_capture_options_set_record_only (options, TRUE);
  report = memra_gate_run (model.fixture.stream, 3, options, &callbacks, &model, 1, MEMRA_GATE_NONE, &error);
  g_assert_no_error (error);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "red: the capture was recorded only");
}

/* Two captures of the layer, one after the other, against the body called twice. */
static gboolean
body_twice (MemraStream *stream, gpointer data, GError **error)
{
  return body (stream, data, error) && body (stream, data, error);
}

static MemraLayerSequence *
sequence_new (Model *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  MemraLayerSequence *sequence;

  g_assert_true (set_inputs (model->fixture.stream, 0, model, &error));
  capture = memra_capture_layer_record (model->fixture.stream, 0, NULL, body, model, &error);
  g_assert_no_error (error);
  sequence
      = memra_layer_sequence_new (model->fixture.stream, (MemraLayerCapture *[]){ capture, capture }, 2, NULL, &error);
  g_assert_no_error (error);
  return sequence;
}

static MemraGateReport *
run_sequence (Model *model, MemraLayerSequence *sequence, MemraLayerBody eager, guint n_replays, MemraGateFlags flags)
{
  MemraGateCallbacks whole = callbacks;
  g_autoptr (GError) error = NULL;
  MemraGateReport *report;

  whole.body = eager;
  report = memra_gate_run_sequence (sequence, &whole, model, n_replays, flags, &error);
  g_assert_no_error (error);
  g_test_message ("%s", memra_gate_report_get_message (report));
  return report;
}

static void
test_sequence (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraLayerSequence) sequence = NULL;
  g_autoptr (MemraGateReport) green = NULL;
  g_autoptr (MemraGateReport) corrupt = NULL;
  g_autoptr (MemraGateReport) shorter = NULL;
  MemraGateCallbacks failing = callbacks;
  g_autoptr (GError) error = NULL;

  model_init (&model);
  sequence = sequence_new (&model);
  green = run_sequence (&model, sequence, body_twice, 3, MEMRA_GATE_NONE);
  g_assert_true (memra_gate_report_is_green (green));
  g_assert_cmpuint (memra_gate_report_get_n_eager_runs (green), ==, 4);
  g_assert_cmpuint (memra_gate_report_get_n_captures (green), ==, 0);
  g_assert_cmpuint (memra_gate_report_get_n_replays (green), ==, 4);
  g_assert_cmpuint (memra_layer_sequence_get_replays (sequence), ==, 4);
  assert_contains (memra_gate_report_get_message (green), "sequence gate: green: 4 replays of 2 layers equal 4 eager");

  corrupt = run_sequence (&model, sequence, body_twice, 0, MEMRA_GATE_CORRUPT);
  g_assert_false (memra_gate_report_is_green (corrupt));
  assert_contains (memra_gate_report_get_message (corrupt), "sequence gate: red: replay 0: output ‘hidden’ differs");

  shorter = run_sequence (&model, sequence, body, 1, MEMRA_GATE_NONE); /* one layer less than it should be */
  g_assert_false (memra_gate_report_is_green (shorter));
  assert_contains (memra_gate_report_get_message (shorter), "sequence gate: red: replay 0");

  failing.restore = mute;
  g_assert_null (memra_gate_run_sequence (sequence, &failing, &model, 1, MEMRA_GATE_NONE, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BODY);
  g_assert_cmpstr (error->message, ==, "sequence gate: restore: it failed without saying why");
  fixture_assert_thread (&model.fixture);
}

/* A layer that takes a scalar in anew each run: right as captured, wrong later. */
static void
test_sequence_frozen (void)
{
  g_auto (Model) model = { 0 };
  g_autoptr (MemraLayerSequence) sequence = NULL;
  g_autoptr (MemraGateReport) report = NULL;

  model_init (&model);
  model.frozen = TRUE;
  sequence = sequence_new (&model);
  report = run_sequence (&model, sequence, body_twice, 1, MEMRA_GATE_NONE);
  g_assert_false (memra_gate_report_is_green (report));
  assert_contains (memra_gate_report_get_message (report), "sequence gate: red: replay 1: output ‘hidden’ differs");
}

static void
add_tests (void)
{
  g_test_summary ("The replay gate is green only if captures and replays really happened and every bit is the same.");
  memra_test_add ("/gate/green", test_green);
  memra_test_add ("/gate/red-arm", test_red_arm);
  memra_test_add ("/gate/frozen", test_frozen);
  memra_test_add ("/gate/other-kernel", test_other_kernel);
  memra_test_add ("/gate/kernel-list", test_kernel_list);
  memra_test_add ("/gate/nothing-compared", test_nothing_compared);
  memra_test_add ("/gate/nothing-compared-later", test_nothing_compared_later);
  memra_test_add ("/gate/callback-error", test_callback_error);
  memra_test_add ("/gate/mute-callbacks", test_mute_callbacks);
  memra_test_add ("/gate/record-only", test_record_only);
  memra_test_add ("/gate/sequence", test_sequence);
  memra_test_add ("/gate/sequence-frozen", test_sequence_frozen);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
