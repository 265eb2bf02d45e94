/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A test of error paths that no GPU could make happen: the host driver fails a call that is named. */
#include <memra-capture/memra-capture.h>

static gboolean
body (MemraStream *stream, gpointer buffer, GError **error)
{
  return memra_buffer_zero (buffer, stream, error);
}

static gboolean
run (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  const MemraHostControl *control = driver != NULL ? memra_driver_get_host_control (driver) : NULL;
  g_autoptr (MemraContext) context = control != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) fault = NULL;

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  buffer = stream != NULL ? memra_buffer_new (stream, 1024, error) : NULL;
  if (buffer == NULL)
    return FALSE;

  control->inject_fault ("cuGraphInstantiateWithParams", 1, 2); /* the next call of it: out of memory */
  capture = memra_capture_layer (stream, 0, NULL, body, buffer, &fault);
  if (capture != NULL)
    return FALSE;
  g_print ("%s\n", fault->message);
  g_print ("graphs left behind: %llu\n", control->count_objects ("graph"));

  capture = memra_capture_layer (stream, 0, NULL, body, buffer, error);
  g_print ("the next capture %s\n", capture != NULL ? "is fine" : "fails");
  return capture != NULL;
}

int
main (void)
{
  g_autoptr (GError) error = NULL;

  if (run (&error))
    return 0;
  g_printerr ("%s\n", error != NULL ? error->message : "the fault did not fire");
  return 1;
}
