/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Captures the layers of a model one by one, and runs them as one launch. */
#include <memra-capture/memra-capture.h>

#define N_LAYERS 3

typedef struct
{
  MemraDsv4Layer *layer;
  MemraBuffer *hidden;
} Layer;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  const Layer *layer = user_data;

  return memra_dsv4_layer_forward (layer->layer, stream, layer->hidden, error);
}

static gboolean
show_position (Layer *layer, MemraStream *stream, GError **error)
{
  guint32 position = 0;

  if (!memra_buffer_copy_to_host (memra_dsv4_layer_get_position (layer->layer), 0, &position, sizeof position, stream,
                                  error))
    return FALSE;
  g_print ("the last layer is at position %u\n", position);
  return TRUE;
}

static gboolean
run_model (MemraStream *stream, Layer *layers, MemraLayerCapture **captures, GError **error)
{
  g_autoptr (MemraLayerSequence) sequence = memra_layer_sequence_new (stream, captures, N_LAYERS, NULL, error);
  g_autoptr (GError) outdated = NULL;
  MemraCensus *census;

  if (sequence == NULL)
    return FALSE;
  census = memra_layer_sequence_get_census (sequence);
  g_print ("%u layers, %u kernels, %u allocations\n", memra_layer_sequence_get_n_layers (sequence),
           memra_census_get_count (census, "kernel"), memra_census_get_n_allocations (census));

  for (guint token = 0; token < 2; token++)
    if (!memra_layer_sequence_replay (sequence, error))
      return FALSE;
  if (!show_position (&layers[N_LAYERS - 1], stream, error))
    return FALSE;

  /* A layer that changes takes the sequence out of service until it has the change, too. */
  if (!memra_layer_capture_update (captures[1], NULL, MEMRA_UPDATE_IN_PLACE_ONLY, body, &layers[1], NULL, error))
    return FALSE;
  if (!memra_layer_sequence_replay (sequence, &outdated))
    g_print ("%s\n", outdated->message);
  return memra_layer_sequence_update (sequence, MEMRA_UPDATE_IN_PLACE_ONLY, NULL, error)
         && memra_layer_sequence_replay (sequence, error) && show_position (&layers[N_LAYERS - 1], stream, error)
         && memra_layer_sequence_close (sequence, error);
}

static gboolean
run (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraBuffer) hidden = NULL;
  MemraDsv4Config config;
  Layer layers[N_LAYERS] = { 0 };
  MemraLayerCapture *captures[N_LAYERS] = { 0 };
  gboolean ok;

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  memra_dsv4_config_init_small (&config);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  dsv4 = stream != NULL ? memra_dsv4_new (context, error) : NULL;
  hidden = dsv4 != NULL ? memra_buffer_new (stream, config.hidden * sizeof (float), error) : NULL;
  ok = hidden != NULL && memra_buffer_zero (hidden, stream, error);

  for (guint i = 0; i < N_LAYERS && ok; i++)
    {
      layers[i].hidden = hidden;
      layers[i].layer = memra_dsv4_layer_new (dsv4, stream, &config, 1 + i, error);
      if (layers[i].layer != NULL)
        captures[i] = memra_capture_layer (stream, i, NULL, body, &layers[i], error);
      ok = captures[i] != NULL;
    }
  ok = ok && run_model (stream, layers, captures, error);
  for (guint i = 0; i < N_LAYERS; i++)
    {
      memra_layer_capture_unref (captures[i]);
      memra_dsv4_layer_free (layers[i].layer);
    }
  return ok;
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
