/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph that is not what the policy wants is refused before anything runs. Argument: layer.policy. */
#include <memra-capture/memra-capture.h>

#include <locale.h>

typedef struct
{
  MemraDsv4Layer *layer;
  MemraBuffer *hidden;
  MemraBuffer *copy; /* where a debugging aid that somebody forgot copies to, or NULL */
} Model;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Model *model = user_data;

  return memra_dsv4_layer_forward (model->layer, stream, model->hidden, error)
         && (model->copy == NULL || memra_buffer_copy (model->copy, model->hidden, stream, error));
}

static gboolean
capture (Model *model, MemraStream *stream, MemraPolicy *policy, GError **error)
{
  g_autoptr (MemraCaptureOptions) options = memra_capture_options_new ();
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) refusal = NULL;

  memra_capture_options_set_policy (options, policy);
  capture = memra_capture_layer (stream, 3, options, body, model, &refusal);
  if (capture != NULL)
    g_print ("accepted and run once\n");
  else if (g_error_matches (refusal, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_POLICY))
    g_print ("%s\nnothing ran; the graph had %u nodes\n", refusal->message,
             memra_census_get_n_nodes (memra_capture_error_get_partial_census (refusal)));
  else
    {
      g_propagate_error (error, g_steal_pointer (&refusal));
      return FALSE;
    }
  return TRUE;
}

static gboolean
run (const char *path, GError **error)
{
  g_autoptr (MemraPolicy) policy = memra_policy_load (path, error);
  g_autoptr (MemraDriver) driver = policy != NULL ? memra_driver_open (memra_host_driver_path (), error) : NULL;
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (MemraBuffer) hidden = NULL;
  g_autoptr (MemraBuffer) copy = NULL;
  MemraDsv4Config config;

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  memra_dsv4_config_init_small (&config);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  dsv4 = stream != NULL ? memra_dsv4_new (context, error) : NULL;
  layer = dsv4 != NULL ? memra_dsv4_layer_new (dsv4, stream, &config, 1, error) : NULL;
  hidden = layer != NULL ? memra_buffer_new (stream, config.hidden * sizeof (float), error) : NULL;
  copy = hidden != NULL ? memra_buffer_new (stream, config.hidden * sizeof (float), error) : NULL;
  if (copy == NULL || !memra_buffer_zero (hidden, stream, error))
    return FALSE;
  return capture (&(Model){ layer, hidden, NULL }, stream, policy, error)
         && capture (&(Model){ layer, hidden, copy }, stream, policy, error);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, ""); /* messages have quotes that are not in ASCII */
  if (run (argc > 1 ? argv[1] : "layer.policy", &error))
    return 0;
  g_printerr ("%s\n", error->message);
  return 1;
}
