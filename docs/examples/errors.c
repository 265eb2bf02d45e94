/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an error of a capture says, and what to do next. */
#include <memra-capture/memra-capture.h>

typedef struct
{
  MemraBuffer *from, *to;
  gboolean is_broken; /* waits for the device in the middle, which no capture survives */
  gboolean fails;     /* gives up with an error of its own */
} Layer;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Layer *layer = user_data;

  if (!memra_stream_mark (stream, "prepare", error) || !memra_buffer_zero (layer->from, stream, error))
    return FALSE;
  if (layer->is_broken)
    memra_context_synchronize (memra_stream_get_context (stream), NULL); /* and nobody looks at the result */
  if (layer->fails)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "The weights are not there");
      return FALSE;
    }
  return memra_stream_mark (stream, "copy", error) && memra_buffer_copy (layer->to, layer->from, stream, error);
}

/* Runs the layer once, captured if it can be, eagerly if not. The capture is kept in @capture. */
static gboolean
run_layer (MemraStream *stream, Layer *layer, MemraLayerCapture **capture, GError **error)
{
  g_autoptr (GError) reason = NULL;

  *capture = memra_capture_layer (stream, 4, NULL, body, layer, &reason);
  if (*capture != NULL)
    return TRUE;
  g_print ("%s\n", reason->message);
  g_print ("  stage %s, CUDA result %d, %s, stream %s\n",
           memra_capture_stage_to_string (memra_capture_error_get_stage (reason)),
           memra_capture_error_get_cuda_result (reason),
           memra_capture_error_get_execution (reason) == MEMRA_EXECUTION_NOT_EXECUTED ? "nothing ran" : "state unknown",
           memra_capture_error_get_stream_clean (reason) ? "clean" : "still capturing");

  /* The body's own error: captured or not, it would come again. */
  if (reason->domain != MEMRA_CAPTURE_ERROR && reason->domain != MEMRA_DRIVER_ERROR)
    {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
  /* Handed to the driver and not known to be complete: to run the layer again could run it twice. */
  if (memra_capture_error_get_execution (reason) != MEMRA_EXECUTION_NOT_EXECUTED)
    {
      g_propagate_error (error, g_steal_pointer (&reason));
      return FALSE;
    }
  if (!memra_stream_recover (stream, error)) /* does nothing to a clean one */
    return FALSE;
  g_print ("  running it eagerly\n");
  return body (stream, layer, error) && memra_stream_synchronize (stream, error);
}

static gboolean
run (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraBuffer) from = NULL;
  g_autoptr (MemraBuffer) to = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) own = NULL;

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  from = stream != NULL ? memra_buffer_new (stream, 4096, error) : NULL;
  to = from != NULL ? memra_buffer_new (stream, 4096, error) : NULL;
  if (to == NULL || !run_layer (stream, &(Layer){ from, to, .is_broken = TRUE }, &capture, error))
    return FALSE;
  if (run_layer (stream, &(Layer){ from, to, .fails = TRUE }, &capture, &own))
    return FALSE;
  g_print ("  given up, with the body's own code: %s\n",
           g_error_matches (own, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? "yes" : "no");
  return TRUE;
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
