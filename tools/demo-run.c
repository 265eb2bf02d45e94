/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The demo: layers captured and replayed, and the same steps run eagerly. */
#include "config.h"

#include "demo-private.h"

#include <time.h>

#define SEED 20240 /* of the first layer's weights; the next layer's is one more */

const char *const demo_step_names[MEMRA_CAPTURE_N_STEPS] = {
  [MEMRA_CAPTURE_STEP_PRE_DRAIN] = "pre-drain",   [MEMRA_CAPTURE_STEP_BODY] = "body",
  [MEMRA_CAPTURE_STEP_CENSUS] = "census",         [MEMRA_CAPTURE_STEP_INSTANTIATE] = "instantiate",
  [MEMRA_CAPTURE_STEP_UPLOAD] = "upload",         [MEMRA_CAPTURE_STEP_LAUNCH] = "launch",
  [MEMRA_CAPTURE_STEP_COMPLETION] = "completion",
};

void
demo_clear (Demo *demo)
{
  g_clear_pointer (&demo->captures, g_ptr_array_unref);
  g_clear_pointer (&demo->layers, g_ptr_array_unref);
  g_clear_pointer (&demo->outputs, g_ptr_array_unref);
  g_clear_pointer (&demo->hidden, memra_buffer_unref);
  g_clear_pointer (&demo->dsv4, memra_dsv4_unref);
  g_clear_pointer (&demo->stream, memra_stream_unref);
  g_clear_pointer (&demo->context, memra_context_unref);
  g_clear_pointer (&demo->driver, memra_driver_unref);
  g_clear_pointer (&demo->device_name, g_free);
  g_clear_pointer (&demo->trace, g_free);
  g_clear_pointer (&demo->caches, g_free);
  g_clear_pointer (&demo->body_calls, g_free);
  g_clear_pointer (&demo->positions_after_capture, g_free);
  g_clear_pointer (&demo->positions, g_free);
  g_clear_pointer (&demo->replay_ns, g_free);
  g_clear_pointer (&demo->eager_ns, g_free);
  g_clear_pointer (&demo->once.problem, g_free);
  g_clear_pointer (&demo->moved.problem, g_free);
  g_clear_pointer (&demo->alive.problem, g_free);
}

static gint64
now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The token of a step: any vector will do, as long as it is the same for replay and eager, on every machine. */
static void
fill_input (const Demo *demo, guint step, float *values)
{
  guint32 state = 2463534242u + step * 2654435769u;

  for (guint i = 0; i < demo->config.hidden; i++)
    {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      values[i] = (float) (state >> 8) * 0x1p-23f - 1.0f;
    }
}

gboolean
demo_write_input (Demo *demo, guint step, GError **error)
{
  g_autofree float *values = g_new (float, demo->config.hidden);

  fill_input (demo, step, values);
  return memra_buffer_copy_from_host (demo->hidden, 0, values, demo->config.hidden * sizeof *values, demo->stream,
                                      error);
}

/* Host memory for what replay leaves behind. */
static gboolean
allocate_records (Demo *demo, GError **error)
{
  gsize trace = (gsize) (1 + demo->n_replays) * demo->n_layers * demo->config.hidden;
  gsize caches = 2 * demo->n_layers * demo_cache_elements (demo);

  demo->trace = g_try_new0 (guint32, trace);
  demo->caches = g_try_new0 (guint32, caches);
  demo->body_calls = g_new0 (guint, demo->n_layers);
  demo->positions_after_capture = g_new0 (guint32, demo->n_layers);
  demo->positions = g_new0 (guint32, demo->n_layers);
  demo->replay_ns = g_new0 (gint64, demo->n_replays);
  demo->eager_ns = g_new0 (gint64, demo->n_replays);
  if (demo->trace != NULL && demo->caches != NULL)
    return TRUE;
  g_set_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY,
               "Could not allocate %" G_GSIZE_FORMAT
               " MiB of host memory for the comparison; take fewer layers or replays",
               ((trace + caches) * sizeof (guint32)) >> 20);
  return FALSE;
}

static gboolean
make_layers (Demo *demo, GError **error)
{
  for (guint i = 0; i < demo->n_layers; i++)
    {
      MemraDsv4Layer *layer;
      MemraBuffer *output;

      tool_progress ("making layer %u of %u", i + 1, demo->n_layers);
      layer = memra_dsv4_layer_new (demo->dsv4, demo->stream, &demo->config, SEED + i, error);
      if (layer == NULL)
        return FALSE;
      g_ptr_array_add (demo->layers, layer);
      output = memra_buffer_new (demo->stream, demo->config.hidden * sizeof (float), error);
      if (output == NULL)
        return FALSE;
      g_ptr_array_add (demo->outputs, output);
    }
  tool_progress_end ();
  return TRUE;
}

gboolean
demo_open (Demo *demo, GError **error)
{
  memra_dsv4_config_init_small (&demo->config);
  demo->config.max_positions = MAX (demo->config.max_positions, 1 + demo->n_replays);
  demo->layers = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_dsv4_layer_free);
  demo->captures = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_layer_capture_unref);
  demo->outputs = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_buffer_unref);

  demo->device_name = memra_driver_dup_device_name (demo->driver, demo->device, error);
  if (demo->device_name == NULL)
    return FALSE;
  demo->context = memra_context_new (demo->driver, demo->device, error);
  if (demo->context == NULL)
    return FALSE;
  memra_context_set_event_tracking (demo->context, FALSE); /* before buffer allocation: see memra_capture_layer() */
  demo->stream = memra_stream_new (demo->context, MEMRA_STREAM_NON_BLOCKING, error);
  if (demo->stream == NULL)
    return FALSE;
  demo->dsv4 = memra_dsv4_new (demo->context, error);
  if (demo->dsv4 == NULL)
    return FALSE;
  demo->hidden = memra_buffer_new (demo->stream, demo->config.hidden * sizeof (float), error);
  return demo->hidden != NULL && allocate_records (demo, error) && make_layers (demo, error);
}

typedef struct
{
  MemraDsv4Layer *layer;
  MemraBuffer *hidden;
  guint *calls;
} Body;

static gboolean
issue_layer (MemraStream *stream, gpointer user_data, GError **error)
{
  const Body *body = user_data;

  (*body->calls)++;
  return memra_dsv4_layer_forward (body->layer, stream, body->hidden, error);
}

/* Keeps what a layer has put out, without waiting. */
static gboolean
keep_output (Demo *demo, guint layer, GError **error)
{
  return memra_buffer_copy (demo->outputs->pdata[layer], demo->hidden, demo->stream, error);
}

static gboolean
read_output (Demo *demo, guint layer, guint32 *bits, GError **error)
{
  return memra_buffer_copy_to_host (demo->outputs->pdata[layer], 0, bits, demo->config.hidden * sizeof *bits,
                                    demo->stream, error);
}

static gboolean
read_trace (Demo *demo, guint step, GError **error)
{
  for (guint i = 0; i < demo->n_layers; i++)
    if (!read_output (demo, i, demo_get_trace (demo, step, i), error))
      return FALSE;
  return TRUE;
}

static gboolean
read_positions (Demo *demo, guint32 *positions, GError **error)
{
  for (guint i = 0; i < demo->n_layers; i++)
    if (!memra_buffer_copy_to_host (memra_dsv4_layer_get_position (demo->layers->pdata[i]), 0, &positions[i],
                                    sizeof *positions, demo->stream, error))
      return FALSE;
  return TRUE;
}

/* 0: keys, 1: values. */
static gboolean
read_cache (Demo *demo, guint layer, guint which, guint32 *bits, GError **error)
{
  MemraBuffer *cache = which == 0 ? memra_dsv4_layer_get_key_cache (demo->layers->pdata[layer])
                                  : memra_dsv4_layer_get_value_cache (demo->layers->pdata[layer]);

  return memra_buffer_copy_to_host (cache, 0, bits, demo_cache_elements (demo) * sizeof *bits, demo->stream, error);
}

gboolean
demo_capture (Demo *demo, GError **error)
{
  if (!demo_write_input (demo, 0, error))
    return FALSE;
  for (guint i = 0; i < demo->n_layers; i++)
    {
      Body body = { demo->layers->pdata[i], demo->hidden, &demo->body_calls[i] };
      MemraLayerCapture *capture;

      tool_progress ("capturing layer %u of %u", i + 1, demo->n_layers);
      capture = memra_capture_layer (demo->stream, i, NULL, issue_layer, &body, error);
      if (capture == NULL)
        return FALSE;
      g_ptr_array_add (demo->captures, capture);
      if (!keep_output (demo, i, error))
        return FALSE;
    }
  tool_progress_end ();
  if (!read_trace (demo, 0, error) || !read_positions (demo, demo->positions_after_capture, error))
    return FALSE;
  demo_judge_capture (demo);
  return TRUE;
}

/* One token through all layers; *took is the time from the first launch to the end of the last layer's work. */
static gboolean
run_step (Demo *demo, guint step, gboolean eager, gint64 *took, GError **error)
{
  gint64 start;

  if (!demo_write_input (demo, step, error))
    return FALSE;
  start = now_ns ();
  for (guint i = 0; i < demo->n_layers; i++)
    {
      gboolean ok = eager ? memra_dsv4_layer_forward (demo->layers->pdata[i], demo->stream, demo->hidden, error)
                          : memra_layer_capture_replay (demo->captures->pdata[i], error);

      if (!ok || !keep_output (demo, i, error))
        return FALSE;
    }
  if (!memra_stream_synchronize (demo->stream, error))
    return FALSE;
  *took = now_ns () - start;
  return TRUE;
}

gboolean
demo_replay (Demo *demo, GError **error)
{
  for (guint step = 1; step <= demo->n_replays; step++)
    {
      tool_progress ("replay %u of %u", step, demo->n_replays);
      if (!run_step (demo, step, FALSE, &demo->replay_ns[step - 1], error) || !read_trace (demo, step, error))
        return FALSE;
    }
  tool_progress_end ();
  for (guint i = 0; i < demo->n_layers; i++)
    for (guint which = 0; which < 2; which++)
      if (!read_cache (demo, i, which, demo_get_cache (demo, i, which), error))
        return FALSE;
  if (!read_positions (demo, demo->positions, error))
    return FALSE;
  demo_judge_replays (demo);
  return TRUE;
}

static gboolean
compare_step (Demo *demo, guint step, guint32 *bits, GError **error)
{
  for (guint i = 0; i < demo->n_layers; i++)
    {
      if (!read_output (demo, i, bits, error))
        return FALSE;
      demo_match (demo, "hidden output", i, step, demo_get_trace (demo, step, i), bits, demo->config.hidden);
    }
  return TRUE;
}

/* Caches and positions at the end. */
static gboolean
compare_state (Demo *demo, guint32 *bits, GError **error)
{
  static const char *const names[] = { "key cache", "value cache" };
  g_autofree guint32 *positions = g_new (guint32, demo->n_layers);

  for (guint i = 0; i < demo->n_layers; i++)
    for (guint which = 0; which < 2; which++)
      {
        if (!read_cache (demo, i, which, bits, error))
          return FALSE;
        demo_match (demo, names[which], i, demo->n_replays, demo_get_cache (demo, i, which), bits,
                    demo_cache_elements (demo));
      }
  if (!read_positions (demo, positions, error))
    return FALSE;
  for (guint i = 0; i < demo->n_layers; i++)
    demo_match (demo, "position", i, demo->n_replays, &demo->positions[i], &positions[i], 1);
  return TRUE;
}

gboolean
demo_compare (Demo *demo, GError **error)
{
  g_autofree guint32 *bits = g_new (guint32, MAX (demo->config.hidden, demo_cache_elements (demo)));

  if (demo->corrupt)
    demo_corrupt (demo);
  for (guint i = 0; i < demo->n_layers; i++)
    if (!memra_dsv4_layer_reset (demo->layers->pdata[i], demo->stream, error))
      return FALSE;
  for (guint step = 0; step <= demo->n_replays; step++)
    {
      gint64 took;

      tool_progress ("eager step %u of %u", step + 1, demo->n_replays + 1);
      if (!run_step (demo, step, TRUE, &took, error) || !compare_step (demo, step, bits, error))
        return FALSE;
      if (step > 0)
        demo->eager_ns[step - 1] = took;
    }
  tool_progress_end ();
  return compare_state (demo, bits, error);
}

gboolean
demo_close (Demo *demo, GError **error)
{
  for (guint i = 0; i < demo->captures->len; i++)
    if (!memra_layer_capture_close (demo->captures->pdata[i], error))
      return FALSE;
  return TRUE;
}
