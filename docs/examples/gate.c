/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Proves that a layer does the same captured and replayed as eagerly, and that the proof can fail. */
#include <memra-capture/memra-capture.h>

#include <locale.h>

typedef struct
{
  MemraDsv4Config config;
  MemraDsv4Layer *layer;
  MemraBuffer *hidden;
} Model;

/* Before every run: all state that the layer reads and writes, but for its inputs. */
static gboolean
restore (MemraStream *stream, gpointer user_data, GError **error)
{
  Model *model = user_data;

  return memra_dsv4_layer_reset (model->layer, stream, error);
}

/* The inputs of each run, different for each, so that a replay that repeats an old value shows. */
static gboolean
set_inputs (MemraStream *stream, guint run, gpointer user_data, GError **error)
{
  Model *model = user_data;
  gsize size = model->config.hidden * sizeof (float);
  g_autofree float *values = g_new (float, model->config.hidden);

  for (guint i = 0; i < model->config.hidden; i++)
    values[i] = (float) ((i + 7 * run) % 32) / 32.0f;
  return memra_buffer_copy_from_host (model->hidden, 0, values, size, stream, error);
}

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Model *model = user_data;

  return memra_dsv4_layer_forward (model->layer, stream, model->hidden, error);
}

/* Everything that the layer wrote, always in the same order. */
static gboolean
read_outputs (MemraStream *stream, MemraGateOutputs *outputs, gpointer user_data, GError **error)
{
  Model *model = user_data;
  MemraBuffer *keys = memra_dsv4_layer_get_key_cache (model->layer);
  const struct
  {
    const char *name;
    MemraBuffer *buffer;
  } written[] = { { "hidden", model->hidden }, { "keys", keys } };

  for (gsize i = 0; i < G_N_ELEMENTS (written); i++)
    {
      gsize size = memra_buffer_get_size (written[i].buffer);
      g_autofree guint8 *bytes = g_malloc (size);

      if (!memra_buffer_copy_to_host (written[i].buffer, 0, bytes, size, stream, error))
        return FALSE;
      memra_gate_outputs_add (outputs, written[i].name, bytes, size);
    }
  return TRUE;
}

static gboolean
gate (Model *model, MemraStream *stream, MemraGateFlags flags, GError **error)
{
  const MemraGateCallbacks callbacks
      = { .restore = restore, .set_inputs = set_inputs, .body = body, .read_outputs = read_outputs };
  g_autoptr (MemraGateReport) report = memra_gate_run (stream, 0, NULL, &callbacks, model, 3, flags, error);

  if (report == NULL)
    return FALSE;
  g_print ("%s\n", memra_gate_report_get_message (report));
  return TRUE;
}

static gboolean
run (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (MemraBuffer) hidden = NULL;
  Model model = { 0 };

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  memra_dsv4_config_init_small (&model.config);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  dsv4 = stream != NULL ? memra_dsv4_new (context, error) : NULL;
  layer = dsv4 != NULL ? memra_dsv4_layer_new (dsv4, stream, &model.config, 1, error) : NULL;
  hidden = layer != NULL ? memra_buffer_new (stream, model.config.hidden * sizeof (float), error) : NULL;
  if (hidden == NULL)
    return FALSE;
  model.layer = layer;
  model.hidden = hidden;
  /* The second turns one bit around, to see that the gate does compare. */
  return gate (&model, stream, MEMRA_GATE_NONE, error) && gate (&model, stream, MEMRA_GATE_CORRUPT, error);
}

int
main (void)
{
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, ""); /* messages have quotes that are not in ASCII */
  if (run (&error))
    return 0;
  g_printerr ("%s\n", error->message);
  return 1;
}
