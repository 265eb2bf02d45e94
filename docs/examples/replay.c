/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A layer that keeps its state on the device: every replay is a step of its own. */
#include <memra-capture/memra-capture.h>

typedef struct
{
  MemraDsv4Layer *layer; /* attention with a KV cache, then routed experts */
  MemraBuffer *hidden;   /* the residual stream of one token */
} Model;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Model *model = user_data;

  return memra_dsv4_layer_forward (model->layer, stream, model->hidden, error);
}

static gboolean
print_position (Model *model, MemraStream *stream, const char *when, GError **error)
{
  guint32 position;

  if (!memra_buffer_copy_to_host (memra_dsv4_layer_get_position (model->layer), 0, &position, sizeof position, stream,
                                  error))
    return FALSE;
  g_print ("%-13s position %u\n", when, position);
  return TRUE;
}

static gboolean
capture_and_replay (Model *model, MemraStream *stream, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = memra_capture_layer (stream, 0, NULL, body, model, error);

  if (capture == NULL || !print_position (model, stream, "captured:", error))
    return FALSE;
  for (int i = 0; i < 3; i++)
    if (!memra_layer_capture_replay (capture, error) || !print_position (model, stream, "replayed:", error))
      return FALSE;

  g_print ("the capture ran the layer %" G_GUINT64_FORMAT " time, replays %" G_GUINT64_FORMAT " times\n",
           memra_layer_capture_get_executions (capture), memra_layer_capture_get_replays (capture));
  return memra_layer_capture_close (capture, error);
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
  MemraDsv4Config config;

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE); /* before buffer allocation */
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  dsv4 = stream != NULL ? memra_dsv4_new (context, error) : NULL;
  if (dsv4 == NULL)
    return FALSE;
  memra_dsv4_config_init_small (&config);
  layer = memra_dsv4_layer_new (dsv4, stream, &config, 1, error);
  hidden = layer != NULL ? memra_buffer_new (stream, config.hidden * sizeof (float), error) : NULL;
  if (hidden == NULL || !memra_buffer_zero (hidden, stream, error))
    return FALSE;
  return capture_and_replay (&(Model){ layer, hidden }, stream, error);
}

int
main (void)
{
  g_autoptr (GError) error = NULL;

  if (run (&error))
    return 0;
  g_printerr ("%s\n", error->message);
  return 1;
}
