/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The demo's proof: exactly once, replays move on, replay equals eager. */
#include "config.h"

#include "demo-private.h"

#include <math.h>
#include <string.h>

gsize
demo_cache_elements (const Demo *demo)
{
  return (gsize) demo->config.max_positions * demo->config.n_kv_heads * demo->config.head_dim;
}

guint32 *
demo_get_trace (const Demo *demo, guint step, guint layer)
{
  return demo->trace + ((gsize) step * demo->n_layers + layer) * demo->config.hidden;
}

guint32 *
demo_get_cache (const Demo *demo, guint layer, guint which)
{
  return demo->caches + ((gsize) layer * 2 + which) * demo_cache_elements (demo);
}

static void blame (DemoPromise *promise, guint layer, const char *format, ...) G_GNUC_PRINTF (3, 4);

/* The first one counts. */
static void
blame (DemoPromise *promise, guint layer, const char *format, ...)
{
  va_list arguments;

  if (promise->problem != NULL)
    return;
  va_start (arguments, format);
  promise->problem = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  promise->layer = layer;
}

void
demo_judge_capture (Demo *demo)
{
  for (guint i = 0; i < demo->n_layers; i++)
    {
      guint64 executions = memra_layer_capture_get_executions (demo->captures->pdata[i]);

      if (demo->body_calls[i] != 1)
        blame (&demo->once, i, "its body was called %u times, not once", demo->body_calls[i]);
      if (demo->positions_after_capture[i] != 1)
        blame (&demo->once, i, "its position after the capture is %u, not 1", demo->positions_after_capture[i]);
      if (executions != 1)
        blame (&demo->once, i, "the capture counts %" G_GUINT64_FORMAT " executions, not 1", executions);
    }
}

static float
as_float (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static void
judge_output (Demo *demo, guint step, guint layer)
{
  const guint32 *bits = demo_get_trace (demo, step, layer);
  const gsize size = demo->config.hidden * sizeof *bits;

  for (guint i = 0; i < demo->config.hidden; i++)
    if (!isfinite (as_float (bits[i])))
      blame (&demo->alive, layer, "element %u of its output in step %u is not finite", i, step);
  if (step > 0 && memcmp (bits, demo_get_trace (demo, step - 1, layer), size) == 0)
    blame (&demo->alive, layer, "steps %u and %u put out the same", step - 1, step);
  if (layer > 0 && memcmp (bits, demo_get_trace (demo, step, layer - 1), size) == 0)
    blame (&demo->alive, layer, "it changed nothing in step %u", step);
}

void
demo_judge_replays (Demo *demo)
{
  for (guint i = 0; i < demo->n_layers; i++)
    {
      guint64 replays = memra_layer_capture_get_replays (demo->captures->pdata[i]);

      if (demo->positions[i] != 1 + demo->n_replays)
        blame (&demo->moved, i, "its position after %u replays is %u, not %u", demo->n_replays, demo->positions[i],
               1 + demo->n_replays);
      if (replays != demo->n_replays)
        blame (&demo->moved, i, "the capture counts %" G_GUINT64_FORMAT " replays, not %u", replays, demo->n_replays);
    }
  for (guint step = 0; step <= demo->n_replays; step++)
    for (guint i = 0; i < demo->n_layers; i++)
      judge_output (demo, step, i);
}

void
demo_corrupt (Demo *demo)
{
  demo_get_trace (demo, demo->n_replays, demo->n_layers / 2)[demo->config.hidden / 2] ^= 1;
}

void
demo_match (Demo *demo, const char *buffer, guint layer, guint step, const guint32 *replay, const guint32 *eager,
            gsize n)
{
  gsize i = 0;

  if (demo->mismatch.found || memcmp (replay, eager, n * sizeof *replay) == 0)
    return;
  while (replay[i] == eager[i])
    i++;
  demo->mismatch = (DemoMismatch){ TRUE, buffer, layer, step, i, replay[i], eager[i] };
}

gboolean
demo_holds (const Demo *demo)
{
  return demo->once.problem == NULL && demo->moved.problem == NULL && demo->alive.problem == NULL
         && !demo->mismatch.found;
}

static char *
dup_mismatch (const DemoMismatch *mismatch)
{
  g_autofree char *where = NULL;

  if (mismatch->step == 0)
    where = g_strdup_printf ("layer %u, step 0 (the capture's own run)", mismatch->layer);
  else
    where = g_strdup_printf ("layer %u, replay %u", mismatch->layer, mismatch->step);
  if (strcmp (mismatch->buffer, "position") == 0)
    return g_strdup_printf ("%s, position: replay %u, eager %u", where, mismatch->replay, mismatch->eager);
  return g_strdup_printf ("%s, %s, element %" G_GSIZE_FORMAT ": replay %.9g (0x%08x), eager %.9g (0x%08x)", where,
                          mismatch->buffer, mismatch->element, (double) as_float (mismatch->replay), mismatch->replay,
                          (double) as_float (mismatch->eager), mismatch->eager);
}

char *
demo_dup_failure (const Demo *demo)
{
  const DemoPromise *promises[] = { &demo->once, &demo->moved, &demo->alive };

  for (gsize i = 0; i < G_N_ELEMENTS (promises); i++)
    if (promises[i]->problem != NULL)
      return g_strdup_printf ("layer %u: %s", promises[i]->layer, promises[i]->problem);
  return demo->mismatch.found ? dup_mismatch (&demo->mismatch) : NULL;
}
