/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program of README.md. */
#include <memra-capture/memra-capture.h>

static gboolean
body (MemraStream *stream, gpointer buffer, GError **error)
{
  return memra_buffer_zero (buffer, stream, error); /* issue the layer's work here */
}

int
main (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), &error);
  g_autoptr (MemraContext) context = driver ? memra_context_new (driver, 0, &error) : NULL;
  if (context)
    memra_context_set_event_tracking (context, FALSE); /* before buffer allocation */
  g_autoptr (MemraStream) stream = context ? memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, &error) : NULL;
  g_autoptr (MemraBuffer) buffer = stream ? memra_buffer_new (stream, 1024, &error) : NULL;
  g_autoptr (MemraLayerCapture) capture = buffer ? memra_capture_layer (stream, 0, NULL, body, buffer, &error) : NULL;
  if (capture == NULL || !memra_layer_capture_replay (capture, &error))
    return g_printerr ("%s\n", error->message), 1;
  g_autofree char *text = memra_layer_capture_to_string (capture);
  g_print ("%s\n", text);
  return 0;
}
