/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The demo as a person reads it, on 80 columns. */
#include "config.h"

#include "demo-private.h"

#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>

/* Characters that no shell gives a meaning in the middle of a word. */
#define SAFE_IN_SHELL "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

void
demo_print_start (const Demo *demo)
{
  const MemraDsv4Config *c = &demo->config;
  const int version = memra_driver_get_version (demo->driver);

  tool_out_label ("Driver");
  if (memra_driver_get_kind (demo->driver) == MEMRA_DRIVER_HOST)
    tool_out ("host driver, on the CPU, speaking CUDA %d.%d\n", version / 1000, version % 1000 / 10);
  else
    tool_out ("CUDA %d.%d\n", version / 1000, version % 1000 / 10);
  tool_out_label ("Device");
  tool_out ("%d: %s\n", demo->device, demo->device_name);
  tool_out_label ("Layers");
  tool_out ("%u decoder layer%s, %u wide: %u query and %u key-value heads of %u,\n", demo->n_layers,
            demo->n_layers == 1 ? "" : "s", c->hidden, c->n_heads, c->n_kv_heads, c->head_dim);
  tool_out_label ("");
  tool_out ("%u of %u experts of %u, a KV cache of %u positions\n\n", c->n_active_experts, c->n_experts,
            c->expert_hidden, c->max_positions);
  tool_out_flush ();
}

static MemraCensus *
get_census (const Demo *demo, guint layer)
{
  return memra_layer_capture_get_census (demo->captures->pdata[layer]);
}

/* A census as JSON without the layer's number, which memra_census_equal() compares as well. */
static char *
dup_content (const Demo *demo, guint layer)
{
  g_autofree char *json = memra_census_to_json (get_census (demo, layer));
  g_autoptr (JsonNode) root = json_from_string (json, NULL);

  json_object_remove_member (json_node_get_object (root), "layer");
  return json_to_string (root, FALSE);
}

/* "layers 0-3, 7" */
static char *
dup_ranges (const GArray *layers)
{
  g_autoptr (GString) text = g_string_new (layers->len == 1 ? "layer " : "layers ");

  for (guint i = 0, end; i < layers->len; i = end)
    {
      const guint first = g_array_index (layers, guint, i);

      for (end = i + 1; end < layers->len && g_array_index (layers, guint, end) == first + (end - i);)
        end++;
      g_string_append_printf (text, "%s%u", i > 0 ? ", " : "", first);
      if (end - i > 1)
        g_string_append_printf (text, "-%u", first + (end - i) - 1);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* One block for each distinct census, in the order of first appearance. */
static void
print_censuses (const Demo *demo)
{
  g_autoptr (GPtrArray) groups = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref); /* of layers */
  g_autoptr (GHashTable) by_content = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < demo->n_layers; i++)
    {
      g_autofree char *content = dup_content (demo, i);
      GArray *group = g_hash_table_lookup (by_content, content);

      if (group == NULL)
        {
          group = g_array_new (FALSE, FALSE, sizeof (guint));
          g_ptr_array_add (groups, group);
          g_hash_table_insert (by_content, g_steal_pointer (&content), group);
        }
      g_array_append_val (group, i);
    }
  for (guint i = 0; i < groups->len; i++)
    {
      const GArray *group = groups->pdata[i];
      g_autofree char *ranges = dup_ranges (group);

      tool_out_label ("Census");
      tool_out ("%s%s\n", ranges, group->len > 1 ? ": same census" : "");
      tool_print_census (get_census (demo, g_array_index (group, guint, 0)));
      tool_out ("\n");
    }
}

static int
compare_figures (gconstpointer a, gconstpointer b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return x < y ? -1 : x > y;
}

/* Sorts. */
static void
print_figures (const char *what, gint64 *ns, guint n)
{
  qsort (ns, n, sizeof *ns, compare_figures);
  tool_out_label ("");
  tool_out ("%-34s%12.1f%12.1f\n", what, (double) (ns[(n - 1) / 2] + ns[n / 2]) / 2000.0, (double) ns[n - 1] / 1000.0);
}

static void
print_timings (const Demo *demo)
{
  g_autofree gint64 *ns = g_new (gint64, MAX (demo->n_layers, demo->n_replays));
  g_autofree gint64 *sums = g_new0 (gint64, demo->n_layers);

  tool_out_label ("Timings");
  tool_out_styled (TOOL_STYLE_DIM, "%-34s%12s%12s\n", "capture of a layer, microseconds", "median", "worst");
  for (guint step = 0; step < MEMRA_CAPTURE_N_STEPS; step++)
    {
      for (guint i = 0; i < demo->n_layers; i++)
        {
          ns[i] = memra_layer_capture_get_timings (demo->captures->pdata[i], NULL)[step];
          sums[i] += ns[i];
        }
      print_figures (demo_step_names[step], ns, demo->n_layers);
    }
  print_figures ("all of it", sums, demo->n_layers);
}

void
demo_print_captures (const Demo *demo)
{
  tool_out_label ("Captured");
  tool_out ("%u layer%s: ", demo->n_layers, demo->n_layers == 1 ? "" : "s");
  if (demo->once.problem == NULL)
    tool_out ("each body called once, each layer run once\n\n");
  else
    tool_out ("layer %u is wrong: %s\n\n", demo->once.layer, demo->once.problem);
  print_censuses (demo);
  print_timings (demo);
  tool_out ("\n");
  tool_out_flush ();
}

static void
print_tokens (const Demo *demo)
{
  g_autofree gint64 *replay = g_new (gint64, demo->n_replays);
  g_autofree gint64 *eager = g_new (gint64, demo->n_replays);

  memcpy (replay, demo->replay_ns, demo->n_replays * sizeof *replay);
  memcpy (eager, demo->eager_ns, demo->n_replays * sizeof *eager);
  tool_out_label ("Token");
  tool_out_styled (TOOL_STYLE_DIM, "%-34s%12s%12s\n", "through all layers, microseconds", "median", "worst");
  print_figures ("replay, checked", replay, demo->n_replays);
  print_figures ("eager", eager, demo->n_replays);
  tool_out ("\n");
}

static void G_GNUC_PRINTF (4, 5) print_line (const char *label, gboolean known, gboolean good, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list arguments;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tool_out_label (label);
  tool_out_styled (!known ? TOOL_STYLE_DIM
                   : good ? TOOL_STYLE_GOOD
                          : TOOL_STYLE_BAD,
                   "%-6s",
                   !known ? "-"
                   : good ? "ok"
                          : "FAIL");
  tool_out ("%s\n", text);
}

static void
print_proof (const Demo *demo)
{
  const guint64 outputs = (guint64) (1 + demo->n_replays) * demo->n_layers * demo->config.hidden;
  const guint64 cached = (guint64) 2 * demo->n_layers * demo_cache_elements (demo);

  print_line ("Proof", TRUE, demo->once.problem == NULL, "captured: each layer ran exactly once, to position 1");
  print_line ("", TRUE, demo->moved.problem == NULL, "replayed %u times: each layer moved on to position %u",
              demo->n_replays, 1 + demo->n_replays);
  print_line ("", TRUE, demo->alive.problem == NULL, "outputs are finite and differ from layer to layer, step to step");
  print_line ("", TRUE, !demo->mismatch.found, "replay equals eager, bit for bit:");
  tool_out_label ("");
  tool_out ("      %" G_GUINT64_FORMAT " outputs, %" G_GUINT64_FORMAT " KV cache values, %u positions\n", outputs,
            cached, demo->n_layers);
}

void
demo_print_end (const Demo *demo, const char *saved_in)
{
  g_autofree char *failure = demo_dup_failure (demo);

  print_tokens (demo);
  print_proof (demo);
  if (failure != NULL)
    {
      tool_out ("\n");
      tool_out_styled (TOOL_STYLE_BAD, "%-10s", "Failed");
      tool_out_paragraph (failure);
    }
  tool_out ("\n");
  tool_out_label ("Next");
  if (demo->corrupt)
    tool_out (TOOL_NAME " demo, without --corrupt, to see the proof hold\n");
  else if (failure != NULL && memra_driver_get_kind (demo->driver) == MEMRA_DRIVER_CUDA)
    tool_out (TOOL_NAME " demo --driver host, to see whether it is the GPU\n");
  else if (failure != NULL)
    tool_out (TOOL_NAME " info --json, for the report of this fault\n");
  else if (saved_in != NULL)
    {
      g_autofree char *path = g_build_filename (saved_in, "layer-000.json", NULL);
      g_autofree char *quoted = g_shell_quote (path);
      const gboolean safe = path[strspn (path, SAFE_IN_SHELL)] == '\0';

      tool_out (TOOL_NAME " show %s\n", safe ? path : quoted);
    }
  else
    tool_out (TOOL_NAME " demo --save DIR && " TOOL_NAME " show DIR/layer-000.json\n");
}
