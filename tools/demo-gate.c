/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* demo --gate: what a captured layer is held against before it is trusted, each with one verdict. */
#include "config.h"

#include "demo-private.h"

/* Some of the demo's layers, as the replay gate runs them. */
typedef struct
{
  Demo *demo;
  guint first, end;
} Layers;

static void
check_clear (gpointer item)
{
  g_free (((DemoCheck *) item)->text);
}

static void
conclude (GArray *checks, const char *name, gboolean pass, char *text)
{
  const DemoCheck check = { name, pass, text };

  g_array_append_val (checks, check);
}

/* For --corrupt: another value for the first argument of a kind, never to be launched. */
static gboolean
spoil (MemraLayerCapture *capture, MemraArgumentKind kind, guint64 value, GError **error)
{
  const MemraCensus *census = memra_layer_capture_get_census (capture);
  g_autoptr (MemraKernelEdit) edit = memra_kernel_edit_begin (capture, error);

  if (edit == NULL)
    return FALSE;
  for (guint k = 0; k < memra_census_get_n_kernel_nodes (census); k++)
    {
      const MemraKernelNode *kernel = memra_census_get_kernel_node (census, k);

      for (guint a = 0; a < memra_kernel_node_get_n_arguments (kernel); a++)
        {
          gsize size;

          memra_kernel_node_get_argument_bytes (kernel, a, &size);
          if (memra_kernel_node_get_argument_kind (kernel, a) == kind && (size == 4 || size == 8))
            return memra_kernel_edit_set_argument (edit, k, a, &value, size, error)
                   && memra_kernel_edit_commit (edit, error);
        }
    }
  g_set_error_literal (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_EDIT, "There is no argument to be corrupted");
  return FALSE;
}

static gboolean
issue (MemraStream *stream, gpointer user_data, GError **error)
{
  const Layers *layers = user_data;

  for (guint i = layers->first; i < layers->end; i++)
    if (!memra_dsv4_layer_forward (layers->demo->layers->pdata[i], stream, layers->demo->hidden, error))
      return FALSE;
  return TRUE;
}

static MemraLayerCapture *
record (Demo *demo, guint layer, GError **error)
{
  Layers layers = { demo, layer, layer + 1 };

  return memra_capture_layer_record (demo->stream, layer, NULL, issue, &layers, error);
}

/* A capture that points at a buffer which is gone. */
static MemraLayerCapture *
make_stale (Demo *demo, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = record (demo, 0, error);
  g_autoptr (MemraBuffer) buffer = capture != NULL ? memra_buffer_new (demo->stream, 4096, error) : NULL;

  if (buffer == NULL || !memra_stream_synchronize (demo->stream, error)
      || !spoil (capture, MEMRA_ARGUMENT_POINTER, memra_buffer_get_address (buffer), error))
    return NULL;
  return g_steal_pointer (&capture);
}

static gboolean
check_liveness (Demo *demo, GArray *checks, GError **error)
{
  g_autoptr (MemraLayerCapture) stale = NULL;
  g_autoptr (GError) reason = NULL;
  guint n = 0;
  gboolean pass = TRUE;

  if (demo->corrupt)
    {
      stale = make_stale (demo, error);
      if (stale == NULL)
        return FALSE;
      pass = memra_stream_synchronize (demo->stream, error);
      if (!pass)
        return FALSE;
      pass = memra_layer_capture_check (stale, &reason);
    }
  for (guint i = 0; i < demo->n_layers && pass; i++)
    {
      pass = memra_layer_capture_check (demo->captures->pdata[i], &reason);
      n += memra_census_get_n_allocations (memra_layer_capture_get_census (demo->captures->pdata[i]));
    }
  conclude (checks, "liveness", pass,
            pass ? g_strdup_printf ("%u allocations are those that were captured", n) : g_strdup (reason->message));
  return TRUE;
}

/* Each layer captured again, a step later: what has moved was frozen into the first graph. */
static gboolean
check_arguments (Demo *demo, GArray *checks, GError **error)
{
  guint n_kernels = 0;

  for (guint i = 0; i < demo->n_layers; i++)
    {
      g_autoptr (MemraLayerCapture) again = record (demo, i, error);
      g_autoptr (MemraArgumentReport) report = NULL;
      MemraCensus *censuses[2];

      if (again == NULL || (demo->corrupt && !spoil (again, MEMRA_ARGUMENT_BYTES, 1, error)))
        return FALSE;
      censuses[0] = memra_layer_capture_get_census (demo->captures->pdata[i]);
      censuses[1] = memra_layer_capture_get_census (again);
      report = memra_census_compare_arguments (censuses, G_N_ELEMENTS (censuses), error);
      if (report == NULL)
        return FALSE;
      if (memra_argument_report_get_n_changes (report) > 0)
        {
          conclude (checks, "arguments", FALSE,
                    g_strdup_printf ("layer %u: %s", i, memra_argument_report_get_change (report, 0, NULL, NULL)));
          return TRUE;
        }
      n_kernels += memra_census_get_n_kernel_nodes (censuses[0]);
    }
  conclude (checks, "arguments", TRUE,
            g_strdup_printf ("none of %u kernels has one that moves with the step", n_kernels));
  return TRUE;
}

static gboolean
restore (MemraStream *stream, gpointer user_data, GError **error)
{
  const Layers *layers = user_data;

  for (guint i = layers->first; i < layers->end; i++)
    if (!memra_dsv4_layer_reset (layers->demo->layers->pdata[i], stream, error))
      return FALSE;
  return TRUE;
}

static gboolean
set_inputs (MemraStream *stream G_GNUC_UNUSED, guint run, gpointer user_data, GError **error)
{
  return demo_write_input (((const Layers *) user_data)->demo, run, error);
}

static gboolean
read_buffer (MemraStream *stream, MemraGateOutputs *outputs, const char *name, MemraBuffer *buffer, GError **error)
{
  const gsize size = memra_buffer_get_size (buffer);
  g_autofree guint8 *bytes = g_malloc (size);

  if (!memra_buffer_copy_to_host (buffer, 0, bytes, size, stream, error))
    return FALSE;
  memra_gate_outputs_add (outputs, name, bytes, size);
  return TRUE;
}

static gboolean
read_outputs (MemraStream *stream, MemraGateOutputs *outputs, gpointer user_data, GError **error)
{
  const Layers *layers = user_data;

  if (!read_buffer (stream, outputs, "hidden output", layers->demo->hidden, error))
    return FALSE;
  for (guint i = layers->first; i < layers->end; i++)
    {
      MemraDsv4Layer *layer = layers->demo->layers->pdata[i];

      if (!read_buffer (stream, outputs, "key cache", memra_dsv4_layer_get_key_cache (layer), error)
          || !read_buffer (stream, outputs, "value cache", memra_dsv4_layer_get_value_cache (layer), error)
          || !read_buffer (stream, outputs, "position", memra_dsv4_layer_get_position (layer), error))
        return FALSE;
    }
  return TRUE;
}

static const MemraGateCallbacks callbacks
    = { .restore = restore, .set_inputs = set_inputs, .body = issue, .read_outputs = read_outputs };

/* Every layer by itself. */
static gboolean
check_replay (Demo *demo, GArray *checks, GError **error)
{
  const MemraGateFlags flags = demo->corrupt ? MEMRA_GATE_CORRUPT : MEMRA_GATE_NONE;
  guint64 n_bytes = 0;

  for (guint i = 0; i < demo->n_layers; i++)
    {
      Layers layers = { demo, i, i + 1 };
      g_autoptr (MemraGateReport) report = NULL;

      tool_progress ("gate of layer %u of %u", i + 1, demo->n_layers);
      report = memra_gate_run (demo->stream, i, NULL, &callbacks, &layers, demo->n_replays, flags, error);
      if (report == NULL)
        return FALSE;
      if (!memra_gate_report_is_green (report))
        {
          conclude (checks, "replay", FALSE, g_strdup (memra_gate_report_get_message (report)));
          return TRUE;
        }
      n_bytes += memra_gate_report_get_n_compared_bytes (report);
    }
  conclude (checks, "replay", TRUE,
            g_strdup_printf ("equals eager in %" G_GUINT64_FORMAT " bytes of all layers", n_bytes));
  return TRUE;
}

/* All layers as one launch. */
static gboolean
check_sequence (Demo *demo, GArray *checks, GError **error)
{
  const MemraGateFlags flags = demo->corrupt ? MEMRA_GATE_CORRUPT : MEMRA_GATE_NONE;
  Layers layers = { demo, 0, demo->n_layers };
  g_autoptr (MemraLayerSequence) sequence = memra_layer_sequence_new (
      demo->stream, (MemraLayerCapture *const *) demo->captures->pdata, demo->n_layers, NULL, error);
  g_autoptr (MemraGateReport) report = NULL;
  gboolean pass;

  if (sequence == NULL)
    return FALSE;
  report = memra_gate_run_sequence (sequence, &callbacks, &layers, demo->n_replays, flags, error);
  if (report == NULL)
    return FALSE;
  pass = memra_gate_report_is_green (report);
  conclude (
      checks, "sequence", pass,
      pass ? g_strdup_printf ("%u launches of all layers at once equal eager", memra_gate_report_get_n_replays (report))
           : g_strdup (memra_gate_report_get_message (report)));
  return memra_layer_sequence_close (sequence, error);
}

GArray *
demo_gate (Demo *demo)
{
  static const struct
  {
    const char *name;
    gboolean (*run) (Demo *demo, GArray *checks, GError **error);
  } all[] = { { "liveness", check_liveness },
              { "arguments", check_arguments },
              { "replay", check_replay },
              { "sequence", check_sequence } };
  GArray *checks = g_array_new (FALSE, FALSE, sizeof (DemoCheck));

  g_array_set_clear_func (checks, check_clear);
  for (gsize i = 0; i < G_N_ELEMENTS (all); i++)
    {
      g_autoptr (GError) error = NULL;
      const guint n = checks->len;

      if (all[i].run (demo, checks, &error))
        continue;
      g_array_set_size (checks, n); /* what cannot be checked has not passed */
      conclude (checks, all[i].name, FALSE, g_strdup (error->message));
    }
  tool_progress_end ();
  return checks;
}

gboolean
demo_gate_holds (const GArray *checks)
{
  for (guint i = 0; i < checks->len; i++)
    if (!g_array_index (checks, DemoCheck, i).pass)
      return FALSE;
  return TRUE;
}

void
demo_print_gate (const GArray *checks)
{
  for (guint i = 0; i < checks->len; i++)
    {
      const DemoCheck *check = &g_array_index (checks, DemoCheck, i);
      g_autofree char *line = g_strdup_printf ("%s: %s", check->name, check->text);

      tool_out_styled (check->pass ? TOOL_STYLE_GOOD : TOOL_STYLE_BAD, "%-10s", check->pass ? "PASS" : "FAIL");
      tool_out_paragraph (line);
    }
}
