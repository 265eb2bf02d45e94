/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The demo as a program reads it: one JSON object. */
#include "config.h"

#include "demo-private.h"

#include <json-glib/json-glib.h>

/* Microseconds to the eighth: exact in binary, and so short in JSON. */
static double
to_microseconds (gint64 ns)
{
  return (double) ((ns * 8 + 500) / 1000) / 8.0;
}

static void
add_string (JsonBuilder *builder, const char *member, const char *value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_string_value (builder, value);
}

static void
add_int (JsonBuilder *builder, const char *member, gint64 value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_int_value (builder, value);
}

static void
add_boolean (JsonBuilder *builder, const char *member, gboolean value)
{
  json_builder_set_member_name (builder, member);
  json_builder_add_boolean_value (builder, value);
}

static void
add_bits (JsonBuilder *builder, const char *member, guint32 bits)
{
  g_autofree char *text = g_strdup_printf ("0x%08x", bits);

  add_string (builder, member, text);
}

static void
add_microseconds (JsonBuilder *builder, const char *member, const gint64 *ns, guint n)
{
  json_builder_set_member_name (builder, member);
  json_builder_begin_array (builder);
  for (guint i = 0; i < n; i++)
    json_builder_add_double_value (builder, to_microseconds (ns[i]));
  json_builder_end_array (builder);
}

static void
add_driver (JsonBuilder *builder, const Demo *demo)
{
  json_builder_set_member_name (builder, "driver");
  json_builder_begin_object (builder);
  add_string (builder, "kind", tool_driver_kind_to_string (memra_driver_get_kind (demo->driver)));
  add_int (builder, "version", memra_driver_get_version (demo->driver));
  add_string (builder, "device", demo->device_name);
  json_builder_end_object (builder);
}

static void
add_layer (JsonBuilder *builder, const Demo *demo, guint layer)
{
  MemraLayerCapture *capture = demo->captures->pdata[layer];
  g_autofree char *census = memra_census_to_json (memra_layer_capture_get_census (capture));
  const gint64 *timings = memra_layer_capture_get_timings (capture, NULL);

  json_builder_begin_object (builder);
  add_int (builder, "layer", layer);
  add_int (builder, "executions", (gint64) memra_layer_capture_get_executions (capture));
  add_int (builder, "position_after_capture", demo->positions_after_capture[layer]);
  add_int (builder, "position_after_replays", demo->positions[layer]);
  json_builder_set_member_name (builder, "timings");
  json_builder_begin_object (builder);
  for (guint step = 0; step < MEMRA_CAPTURE_N_STEPS; step++)
    {
      json_builder_set_member_name (builder, demo_step_names[step]);
      json_builder_add_double_value (builder, to_microseconds (timings[step]));
    }
  json_builder_end_object (builder);
  json_builder_set_member_name (builder, "census");
  json_builder_add_value (builder, json_from_string (census, NULL));
  json_builder_end_object (builder);
}

static void
add_mismatch (JsonBuilder *builder, const DemoMismatch *mismatch)
{
  json_builder_set_member_name (builder, "mismatch");
  json_builder_begin_object (builder);
  add_int (builder, "layer", mismatch->layer);
  add_int (builder, "step", mismatch->step);
  add_string (builder, "buffer", mismatch->buffer);
  add_int (builder, "element", (gint64) mismatch->element);
  add_bits (builder, "replay_bits", mismatch->replay);
  add_bits (builder, "eager_bits", mismatch->eager);
  json_builder_end_object (builder);
}

void
demo_print_json (const Demo *demo)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *failure = demo_dup_failure (demo);
  g_autofree char *text = NULL;

  json_builder_begin_object (builder);
  add_driver (builder, demo);
  json_builder_set_member_name (builder, "layers");
  json_builder_begin_array (builder);
  for (guint i = 0; i < demo->n_layers; i++)
    add_layer (builder, demo, i);
  json_builder_end_array (builder);
  add_int (builder, "replays", demo->n_replays);
  add_microseconds (builder, "replay_us", demo->replay_ns, demo->n_replays);
  add_microseconds (builder, "eager_us", demo->eager_ns, demo->n_replays);
  add_boolean (builder, "exactly_once", demo->once.problem == NULL);
  add_boolean (builder, "replays_move_on", demo->moved.problem == NULL);
  add_boolean (builder, "outputs_alive", demo->alive.problem == NULL);
  add_boolean (builder, "replay_equals_eager", !demo->mismatch.found);
  if (demo->mismatch.found)
    add_mismatch (builder, &demo->mismatch);
  if (failure != NULL)
    add_string (builder, "failure", failure);
  json_builder_end_object (builder);

  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
}

void
demo_print_gate_json (const Demo *demo, const GArray *checks)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_begin_object (builder);
  add_driver (builder, demo);
  add_int (builder, "layers", demo->n_layers);
  json_builder_set_member_name (builder, "checks");
  json_builder_begin_array (builder);
  for (guint i = 0; i < checks->len; i++)
    {
      const DemoCheck *check = &g_array_index (checks, DemoCheck, i);

      json_builder_begin_object (builder);
      add_string (builder, "name", check->name);
      add_boolean (builder, "pass", check->pass);
      add_string (builder, "message", check->text);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  add_boolean (builder, "pass", demo_gate_holds (checks));
  json_builder_end_object (builder);

  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
}
