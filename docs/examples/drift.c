/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds what differs between two captures of a layer: a value that was frozen, and a graph that has drifted. */
#include <memra-capture/memra-capture.h>

typedef struct
{
  MemraDsv4 *dsv4;
  MemraBuffer *sum, *addend;
  guint64 step;   /* a mistake: it goes into an argument */
  gboolean scale; /* another kernel at the end */
} Layer;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Layer *layer = user_data;

  return memra_dsv4_add_inplace (layer->dsv4, stream, layer->sum, layer->addend, layer->step, error)
         && (!layer->scale || memra_dsv4_silu_gate (layer->dsv4, stream, layer->sum, layer->addend, 64, error));
}

static MemraCensus *
census_at (MemraStream *stream, Layer *layer, guint64 step, GError **error)
{
  g_autoptr (MemraLayerCapture) capture = NULL;

  layer->step = step;
  capture = memra_capture_layer_record (stream, 0, NULL, body, layer, error);
  return capture != NULL ? memra_census_ref (memra_layer_capture_get_census (capture)) : NULL;
}

static gboolean
compare (MemraCensus *a, MemraCensus *b, MemraCensus *other, GError **error)
{
  MemraCensus *const both[] = { a, b };
  g_autoptr (MemraArgumentReport) report = memra_census_compare_arguments (both, 2, error);
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autofree char *text = NULL;

  if (report == NULL)
    return FALSE;
  for (guint i = 0; i < memra_argument_report_get_n_changes (report); i++)
    g_print ("%s\n", memra_argument_report_get_change (report, i, NULL, NULL));

  diff = memra_census_diff (b, other);
  text = memra_census_diff_to_string (diff);
  g_print ("%s", text);
  return TRUE;
}

static gboolean
run (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraContext) context = driver != NULL ? memra_context_new (driver, 0, error) : NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraBuffer) sum = NULL;
  g_autoptr (MemraBuffer) addend = NULL;
  g_autoptr (MemraCensus) first = NULL;
  g_autoptr (MemraCensus) second = NULL;
  g_autoptr (MemraCensus) other = NULL;
  Layer layer = { 0 };

  if (context == NULL)
    return FALSE;
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error);
  dsv4 = stream != NULL ? memra_dsv4_new (context, error) : NULL;
  sum = dsv4 != NULL ? memra_buffer_new (stream, 256, error) : NULL;
  addend = sum != NULL ? memra_buffer_new (stream, 256, error) : NULL;
  if (addend == NULL)
    return FALSE;
  layer = (Layer){ dsv4, sum, addend, 0, FALSE };
  first = census_at (stream, &layer, 41, error);
  second = first != NULL ? census_at (stream, &layer, 42, error) : NULL;
  layer.scale = TRUE;
  other = second != NULL ? census_at (stream, &layer, 42, error) : NULL;
  return other != NULL && compare (first, second, other, error);
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
