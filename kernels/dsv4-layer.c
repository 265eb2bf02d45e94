/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bundled decoder layer: the kernels in order, and what they work on. */
#include "config.h"

#include "dsv4-private.h"

#include <math.h>

#define EPSILON   1e-6f
#define ROPE_BASE 10000.0f

/* The layer's buffers. Weights come first: their number is their place in the generator's sequence. */
typedef enum
{
  ATTENTION_NORM,
  QUERY_WEIGHT,
  KEY_WEIGHT,
  VALUE_WEIGHT,
  OUTPUT_WEIGHT,
  EXPERT_NORM,
  ROUTER_WEIGHT,
  GATE_WEIGHTS,
  UP_WEIGHTS,
  DOWN_WEIGHTS,
  N_WEIGHTS,
  KEY_CACHE = N_WEIGHTS,
  VALUE_CACHE,
  POSITION,
  NORMED,
  QUERY,
  KEY,
  VALUE,
  ATTENDED,
  BLOCK_OUTPUT,
  LOGITS,
  EXPERTS,
  EXPERT_WEIGHTS,
  GATE,
  UP,
  EXPERT_OUTPUTS,
  N_BUFFERS
} LayerBuffer;

struct _MemraDsv4Layer
{
  MemraDsv4 *dsv4; /* owned */
  MemraDsv4Config config;
  MemraBuffer *buffers[N_BUFFERS]; /* owned; NULL only while the layer is being made */
};

static gboolean refuse_config (GError **error, const char *why, ...) G_GNUC_PRINTF (2, 3);

static gboolean
refuse_config (GError **error, const char *why, ...)
{
  g_autofree char *reason = NULL;
  va_list arguments;

  va_start (arguments, why);
  reason = g_strdup_vprintf (why, arguments);
  va_end (arguments);
  return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, "Could not make a decoder layer: %s",
                               reason);
}

static gboolean
check_config (const MemraDsv4Config *c, GError **error)
{
  const struct
  {
    const char *name;
    guint32 count;
  } counts[] = {
    { "hidden", c->hidden },
    { "n_heads", c->n_heads },
    { "n_kv_heads", c->n_kv_heads },
    { "head_dim", c->head_dim },
    { "n_experts", c->n_experts },
    { "n_active_experts", c->n_active_experts },
    { "expert_hidden", c->expert_hidden },
    { "max_positions", c->max_positions },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (counts); i++)
    if (counts[i].count == 0)
      return refuse_config (error, "‘%s’ is 0", counts[i].name);
  if (c->hidden % c->n_heads != 0)
    return refuse_config (error, "‘hidden’ is %u, not a multiple of ‘n_heads’, %u", c->hidden, c->n_heads);
  if (c->n_heads % c->n_kv_heads != 0)
    return refuse_config (error, "‘n_heads’ is %u, not a multiple of ‘n_kv_heads’, %u", c->n_heads, c->n_kv_heads);
  if (c->head_dim % 2 != 0)
    return refuse_config (error, "‘head_dim’ is %u, which is odd", c->head_dim);
  if (c->head_dim > MEMRA_DSV4_MAX_HEAD_DIM)
    return refuse_config (error, "‘head_dim’ is %u, more than %u", c->head_dim, MEMRA_DSV4_MAX_HEAD_DIM);
  if (c->n_active_experts > c->n_experts)
    return refuse_config (error, "‘n_active_experts’ is %u, more than ‘n_experts’, %u", c->n_active_experts,
                          c->n_experts);
  if (c->n_active_experts > MEMRA_DSV4_MAX_ACTIVE_EXPERTS)
    return refuse_config (error, "‘n_active_experts’ is %u, more than %u", c->n_active_experts,
                          MEMRA_DSV4_MAX_ACTIVE_EXPERTS);
  if (_memra_dsv4_multiply (c->n_heads, c->head_dim, 1) > G_MAXUINT32)
    return refuse_config (error, "‘n_heads’ times ‘head_dim’ is more than %u", G_MAXUINT32);
  if (_memra_dsv4_multiply (c->n_active_experts, c->expert_hidden, 1) > G_MAXUINT32)
    return refuse_config (error, "‘n_active_experts’ times ‘expert_hidden’ is more than %u", G_MAXUINT32);
  return TRUE;
}

/* Elements of each buffer; G_MAXUINT64 for more than there can be. */
static void
count_elements (const MemraDsv4Config *c, guint64 *elements)
{
  const guint64 query = _memra_dsv4_multiply (c->n_heads, c->head_dim, 1);
  const guint64 key = _memra_dsv4_multiply (c->n_kv_heads, c->head_dim, 1);
  const guint64 expert = _memra_dsv4_multiply (c->n_experts, c->hidden, c->expert_hidden);
  const guint64 inner = _memra_dsv4_multiply (c->n_active_experts, c->expert_hidden, 1);

  elements[ATTENTION_NORM] = c->hidden;
  elements[QUERY_WEIGHT] = _memra_dsv4_multiply (query, c->hidden, 1);
  elements[KEY_WEIGHT] = _memra_dsv4_multiply (key, c->hidden, 1);
  elements[VALUE_WEIGHT] = elements[KEY_WEIGHT];
  elements[OUTPUT_WEIGHT] = elements[QUERY_WEIGHT];
  elements[EXPERT_NORM] = c->hidden;
  elements[ROUTER_WEIGHT] = _memra_dsv4_multiply (c->n_experts, c->hidden, 1);
  elements[GATE_WEIGHTS] = expert;
  elements[UP_WEIGHTS] = expert;
  elements[DOWN_WEIGHTS] = expert;
  elements[KEY_CACHE] = _memra_dsv4_multiply (key, c->max_positions, 1);
  elements[VALUE_CACHE] = elements[KEY_CACHE];
  elements[POSITION] = 1;
  elements[NORMED] = c->hidden;
  elements[QUERY] = query;
  elements[KEY] = key;
  elements[VALUE] = key;
  elements[ATTENDED] = query;
  elements[BLOCK_OUTPUT] = c->hidden;
  elements[LOGITS] = c->n_experts;
  elements[EXPERTS] = c->n_active_experts;
  elements[EXPERT_WEIGHTS] = c->n_active_experts;
  elements[GATE] = inner;
  elements[UP] = inner;
  elements[EXPERT_OUTPUTS] = _memra_dsv4_multiply (c->n_active_experts, c->hidden, 1);
}

/* Length of the rows of a weight matrix: what one output sums over. */
static guint32
count_columns (const MemraDsv4Config *c, guint weight)
{
  switch (weight)
    {
    case OUTPUT_WEIGHT:
      return c->n_heads * c->head_dim;
    case DOWN_WEIGHTS:
      return c->expert_hidden;
    default:
      return c->hidden;
    }
}

/* splitmix64's finaliser. */
static guint64
mix (guint64 x)
{
  x = (x ^ x >> 30) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* As the documentation of memra_dsv4_layer_new() says. Every step is exact or rounds once, so that it gives the same
 * bits on every machine. */
static void
fill_weight (const MemraDsv4Config *config, guint32 seed, guint weight, float *values, gsize n)
{
  const gboolean norm = weight == ATTENTION_NORM || weight == EXPERT_NORM;
  const float spread = norm ? 0.125f : sqrtf (3.0f / (float) count_columns (config, weight));
  const float centre = norm ? 1.0f : 0.0f;
  const guint64 state = mix ((guint64) seed << 8 | weight);

  for (gsize i = 0; i < n; i++)
    {
      const guint64 bits = mix (state + (i + 1) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15));
      const float unit = (float) (bits >> 40) * 0x1p-23f - 1.0f;

      values[i] = centre + spread * unit;
    }
}

static MemraBuffer *
make_buffer (MemraStream *stream, const MemraDsv4Config *config, guint32 seed, guint index, guint64 n, GError **error)
{
  g_autofree float *values = NULL;

  if (index >= N_WEIGHTS)
    return memra_buffer_new (stream, n * sizeof *values, error);
  values = g_try_new (float, n);
  if (values == NULL)
    {
      _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY,
                            "Could not make a decoder layer: no %" G_GSIZE_FORMAT " bytes for its weights",
                            (gsize) n * sizeof *values);
      return NULL;
    }
  fill_weight (config, seed, index, values, n);
  return memra_buffer_new_from_host (stream, values, n * sizeof *values, error);
}

/**
 * memra_dsv4_config_init_small:
 * @config: (out caller-allocates): the shape to fill in
 *
 * Gives the shape of a small but complete layer: 256 wide, 8 query and 2 key-value heads of 32, 8 experts of 128 of
 * which 2 are active, 64 positions. It takes about 4 MB.
 *
 * Since: 0.1
 */
void
memra_dsv4_config_init_small (MemraDsv4Config *config)
{
  g_return_if_fail (config != NULL);

  *config = (MemraDsv4Config){
    .hidden = 256,
    .n_heads = 8,
    .n_kv_heads = 2,
    .head_dim = 32,
    .n_experts = 8,
    .n_active_experts = 2,
    .expert_hidden = 128,
    .max_positions = 64,
  };
}

/**
 * memra_dsv4_layer_new:
 * @dsv4: the kernels
 * @stream: the stream to copy weights in; it is waited for
 * @config: the layer's shape
 * @seed: which weights
 * @error: return location for an error
 *
 * Makes a decoder layer at position 0 with an empty cache. On return it is complete and can be used on any stream of
 * the context, on one at a time. Refused while @stream is being captured. Any thread.
 *
 * The weights depend on @config and @seed alone. Element i of weight w is centre + spread * u, where u is the upper 24
 * bits of mix (mix (seed * 256 + w) + (i + 1) * 0x9e3779b97f4a7c15) divided by 2^23, less 1; mix is the finaliser of
 * splitmix64. The weights are numbered attention norm 0, query 1, key 2, value 3, output 4, expert norm 5, router 6,
 * gate 7, up 8, down 9. Norms have centre 1 and spread 1/8. Matrices have centre 0 and spread sqrt (3 / columns), which
 * keeps the size of what they multiply; each block adds to the residual stream what came from a normalised one, so that
 * it grows with the number of layers and steps at most linearly.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT for an impossible @config, and those of memra_buffer_new_from_host().
 *
 * Returns: (transfer full): the layer
 *
 * Since: 0.1
 */
MemraDsv4Layer *
memra_dsv4_layer_new (MemraDsv4 *dsv4, MemraStream *stream, const MemraDsv4Config *config, guint32 seed, GError **error)
{
  g_autoptr (MemraDsv4Layer) layer = NULL;
  guint64 elements[N_BUFFERS];

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, NULL);
  g_return_val_if_fail (config != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!check_config (config, error))
    return NULL;
  layer = g_new0 (MemraDsv4Layer, 1);
  layer->dsv4 = memra_dsv4_ref (dsv4);
  layer->config = *config;
  count_elements (config, elements);
  for (guint i = 0; i < N_BUFFERS; i++)
    if (elements[i] > G_MAXSSIZE / sizeof (float))
      {
        refuse_config (error, "it would take more memory than there can be");
        return NULL;
      }
  for (guint i = 0; i < N_BUFFERS; i++)
    {
      layer->buffers[i] = make_buffer (stream, config, seed, i, elements[i], error);
      if (layer->buffers[i] == NULL)
        return NULL;
    }
  if (!memra_dsv4_layer_reset (layer, stream, error) || !memra_stream_synchronize (stream, error))
    return NULL;
  return g_steal_pointer (&layer);
}

/**
 * memra_dsv4_layer_free:
 * @layer: (transfer full) (nullable): a layer
 *
 * Frees a layer. What a capture of it needs is held by the capture. Any thread; breaks no capture.
 *
 * Since: 0.1
 */
void
memra_dsv4_layer_free (MemraDsv4Layer *layer)
{
  if (layer == NULL)
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (layer->buffers); i++)
    memra_buffer_unref (layer->buffers[i]);
  memra_dsv4_unref (layer->dsv4);
  g_free (layer);
}

static gboolean
attention_block (MemraDsv4Layer *layer, MemraStream *stream, MemraBuffer *hidden, GError **error)
{
  const MemraDsv4Config *c = &layer->config;
  MemraBuffer *const *b = layer->buffers;
  MemraDsv4 *dsv4 = layer->dsv4;
  const guint32 query = c->n_heads * c->head_dim;
  const guint32 key = c->n_kv_heads * c->head_dim;

  return memra_dsv4_rmsnorm (dsv4, stream, b[NORMED], hidden, b[ATTENTION_NORM], c->hidden, EPSILON, error)
         && memra_dsv4_matvec (dsv4, stream, b[QUERY], b[QUERY_WEIGHT], b[NORMED], query, c->hidden, error)
         && memra_dsv4_matvec (dsv4, stream, b[KEY], b[KEY_WEIGHT], b[NORMED], key, c->hidden, error)
         && memra_dsv4_matvec (dsv4, stream, b[VALUE], b[VALUE_WEIGHT], b[NORMED], key, c->hidden, error)
         && memra_dsv4_rope (dsv4, stream, b[QUERY], b[POSITION], c->n_heads, c->head_dim, ROPE_BASE, error)
         && memra_dsv4_rope (dsv4, stream, b[KEY], b[POSITION], c->n_kv_heads, c->head_dim, ROPE_BASE, error)
         && memra_dsv4_kv_append (dsv4, stream, b[KEY_CACHE], b[VALUE_CACHE], b[KEY], b[VALUE], b[POSITION], key,
                                  c->max_positions, error)
         && memra_dsv4_attention (dsv4, stream, b[ATTENDED], b[QUERY], b[KEY_CACHE], b[VALUE_CACHE], b[POSITION],
                                  c->n_heads, c->n_kv_heads, c->head_dim, c->max_positions, error)
         && memra_dsv4_matvec (dsv4, stream, b[BLOCK_OUTPUT], b[OUTPUT_WEIGHT], b[ATTENDED], c->hidden, query, error)
         && memra_dsv4_add_inplace (dsv4, stream, hidden, b[BLOCK_OUTPUT], c->hidden, error);
}

static gboolean
expert_block (MemraDsv4Layer *layer, MemraStream *stream, MemraBuffer *hidden, GError **error)
{
  const MemraDsv4Config *c = &layer->config;
  MemraBuffer *const *b = layer->buffers;
  MemraDsv4 *dsv4 = layer->dsv4;
  const guint32 k = c->n_active_experts;

  return memra_dsv4_rmsnorm (dsv4, stream, b[NORMED], hidden, b[EXPERT_NORM], c->hidden, EPSILON, error)
         && memra_dsv4_matvec (dsv4, stream, b[LOGITS], b[ROUTER_WEIGHT], b[NORMED], c->n_experts, c->hidden, error)
         && memra_dsv4_route (dsv4, stream, b[EXPERTS], b[EXPERT_WEIGHTS], b[LOGITS], c->n_experts, k, error)
         && memra_dsv4_expert_matvec (dsv4, stream, b[GATE], b[GATE_WEIGHTS], b[NORMED], b[EXPERTS], k,
                                      c->expert_hidden, c->hidden, FALSE, error)
         && memra_dsv4_expert_matvec (dsv4, stream, b[UP], b[UP_WEIGHTS], b[NORMED], b[EXPERTS], k, c->expert_hidden,
                                      c->hidden, FALSE, error)
         && memra_dsv4_silu_gate (dsv4, stream, b[GATE], b[UP], k * c->expert_hidden, error)
         && memra_dsv4_expert_matvec (dsv4, stream, b[EXPERT_OUTPUTS], b[DOWN_WEIGHTS], b[GATE], b[EXPERTS], k,
                                      c->hidden, c->expert_hidden, TRUE, error)
         && memra_dsv4_expert_sum (dsv4, stream, b[BLOCK_OUTPUT], b[EXPERT_OUTPUTS], b[EXPERT_WEIGHTS], c->hidden, k,
                                   error)
         && memra_dsv4_add_inplace (dsv4, stream, hidden, b[BLOCK_OUTPUT], c->hidden, error);
}

/**
 * memra_dsv4_layer_forward:
 * @layer: a layer
 * @stream: the stream to launch into
 * @hidden: the residual stream of one token, changed in place
 * @error: return location for an error
 *
 * Enqueues one step: the attention block and the expert block are added to @hidden, the key and value go into the cache
 * at the layer's position, and the position moves on by one. Under capture the sections are marked "attention",
 * "experts" and "advance"; each replay is a step of its own. After the last position the cache is no longer written,
 * and attention sees all of it.
 *
 * Legal under capture. One thread at a time for a layer.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT if @hidden is too small, and those of memra_buffer_acquire_write(),
 * memra_kernel_launch() and memra_stream_mark(). Part of the step may then have been enqueued.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_layer_forward (MemraDsv4Layer *layer, MemraStream *stream, MemraBuffer *hidden, GError **error)
{
  gsize needed;

  g_return_val_if_fail (layer != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (hidden != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  needed = layer->config.hidden * sizeof (float);
  if (memra_buffer_get_size (hidden) < needed)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT,
                                 "Could not run a decoder layer: buffer ‘hidden’ has %" G_GSIZE_FORMAT
                                 " bytes, and %" G_GSIZE_FORMAT " are needed",
                                 memra_buffer_get_size (hidden), needed);
  return memra_stream_mark (stream, "attention", error) && attention_block (layer, stream, hidden, error)
         && memra_stream_mark (stream, "experts", error) && expert_block (layer, stream, hidden, error)
         && memra_stream_mark (stream, "advance", error)
         && memra_dsv4_advance (layer->dsv4, stream, layer->buffers[POSITION], error);
}

/**
 * memra_dsv4_layer_reset:
 * @layer: a layer
 * @stream: the stream to fill in
 * @error: return location for an error
 *
 * Enqueues a return to position 0 with an empty cache. Legal under capture. One thread at a time for a layer.
 *
 * Errors: those of memra_buffer_zero().
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_layer_reset (MemraDsv4Layer *layer, MemraStream *stream, GError **error)
{
  g_return_val_if_fail (layer != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return memra_buffer_zero (layer->buffers[POSITION], stream, error)
         && memra_buffer_zero (layer->buffers[KEY_CACHE], stream, error)
         && memra_buffer_zero (layer->buffers[VALUE_CACHE], stream, error);
}

/**
 * memra_dsv4_layer_get_position:
 * @layer: a layer
 *
 * Gets the position, one guint32.
 *
 * Returns: (transfer none): the buffer, owned by @layer
 *
 * Since: 0.1
 */
MemraBuffer *
memra_dsv4_layer_get_position (MemraDsv4Layer *layer)
{
  g_return_val_if_fail (layer != NULL, NULL);

  return layer->buffers[POSITION];
}

/**
 * memra_dsv4_layer_get_key_cache:
 * @layer: a layer
 *
 * Gets the cached keys: positions times key-value heads times width of a head.
 *
 * Returns: (transfer none): the buffer, owned by @layer
 *
 * Since: 0.1
 */
MemraBuffer *
memra_dsv4_layer_get_key_cache (MemraDsv4Layer *layer)
{
  g_return_val_if_fail (layer != NULL, NULL);

  return layer->buffers[KEY_CACHE];
}

/**
 * memra_dsv4_layer_get_value_cache:
 * @layer: a layer
 *
 * Gets the cached values, laid out as the keys.
 *
 * Returns: (transfer none): the buffer, owned by @layer
 *
 * Since: 0.1
 */
MemraBuffer *
memra_dsv4_layer_get_value_cache (MemraDsv4Layer *layer)
{
  g_return_val_if_fail (layer != NULL, NULL);

  return layer->buffers[VALUE_CACHE];
}
