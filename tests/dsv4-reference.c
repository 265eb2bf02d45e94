/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "dsv4-reference.h"

#include <math.h>
#include <string.h>

#define N_WEIGHTS 10

/* The weights, by their documented numbers. */
enum
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
  DOWN_WEIGHTS
};

struct _Dsv4Reference
{
  MemraDsv4Config config;
  double *weights[N_WEIGHTS]; /* owned */
  double *keys;               /* owned */
  double *values;             /* owned */
  guint32 position;
};

static double
dot (const double *a, const double *b, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

void
dsv4_reference_rmsnorm (double *dst, const double *src, const double *weight, gsize n, double epsilon)
{
  const double root = sqrt (dot (src, src, n) / (double) n + epsilon);

  for (gsize i = 0; i < n; i++)
    dst[i] = src[i] * weight[i] / root;
}

void
dsv4_reference_matvec (double *dst, const double *matrix, const double *src, gsize rows, gsize columns)
{
  for (gsize row = 0; row < rows; row++)
    dst[row] = dot (matrix + row * columns, src, columns);
}

void
dsv4_reference_rope (double *x, guint32 position, gsize n_heads, gsize head_dim, double base)
{
  const gsize half = head_dim / 2;

  for (gsize head = 0; head < n_heads; head++)
    for (gsize i = 0; i < half; i++)
      {
        const double angle = position * pow (base, -2.0 * (double) i / (double) head_dim);
        double *first = x + head * head_dim + i;
        double *second = first + half;
        const double rotated = *first * cos (angle) - *second * sin (angle);

        *second = *first * sin (angle) + *second * cos (angle);
        *first = rotated;
      }
}

void
dsv4_reference_attention (double *dst, const double *query, const double *key_cache, const double *value_cache,
                          guint32 position, gsize n_heads, gsize n_kv_heads, gsize head_dim, gsize max_positions)
{
  const gsize length = position < max_positions ? (gsize) position + 1 : max_positions;
  const gsize width = n_kv_heads * head_dim;
  g_autofree double *shares = g_new (double, length);

  for (gsize head = 0; head < n_heads; head++)
    {
      const gsize column = head / (n_heads / n_kv_heads) * head_dim;
      double largest = -INFINITY;
      double total = 0;

      for (gsize p = 0; p < length; p++)
        {
          shares[p]
              = dot (query + head * head_dim, key_cache + p * width + column, head_dim) / sqrt ((double) head_dim);
          largest = MAX (largest, shares[p]);
        }
      for (gsize p = 0; p < length; p++)
        {
          shares[p] = exp (shares[p] - largest);
          total += shares[p];
        }
      for (gsize d = 0; d < head_dim; d++)
        {
          double sum = 0;

          for (gsize p = 0; p < length; p++)
            sum += shares[p] / total * value_cache[p * width + column + d];
          dst[head * head_dim + d] = sum;
        }
    }
}

double
dsv4_reference_route (guint32 *experts, double *weights, const double *logits, gsize n_experts, gsize n_active)
{
  g_autofree gboolean *chosen = g_new0 (gboolean, n_experts);
  double total = 0;
  double next = -INFINITY;

  for (gsize k = 0; k < n_active; k++)
    {
      gsize best = n_experts;

      for (gsize i = 0; i < n_experts; i++)
        if (!chosen[i] && (best == n_experts || logits[i] > logits[best]))
          best = i;
      chosen[best] = TRUE;
      experts[k] = (guint32) best;
      weights[k] = exp (logits[best] - logits[experts[0]]);
      total += weights[k];
    }
  for (gsize k = 0; k < n_active; k++)
    weights[k] /= total;
  for (gsize i = 0; i < n_experts; i++)
    if (!chosen[i])
      next = MAX (next, logits[i]);
  return logits[experts[n_active - 1]] - next;
}

double
dsv4_reference_silu (double gate)
{
  return gate / (1 + exp (-gate));
}

static guint64
mix (guint64 x)
{
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return x;
}

static double *
make_weight (guint32 seed, guint number, gsize n, gsize columns)
{
  const gboolean norm = number == ATTENTION_NORM || number == EXPERT_NORM;
  double *weight = g_new (double, n);

  for (gsize i = 0; i < n; i++)
    {
      const guint64 bits = mix (mix (seed * G_GUINT64_CONSTANT (256) + number) + (i + 1) * 0x9e3779b97f4a7c15);
      const double u = (double) (bits >> 40) / (1 << 23) - 1;

      weight[i] = norm ? 1 + u / 8 : u * sqrt (3.0 / (double) columns);
    }
  return weight;
}

Dsv4Reference *
dsv4_reference_new (const MemraDsv4Config *config, guint32 seed)
{
  Dsv4Reference *reference = g_new0 (Dsv4Reference, 1);
  const gsize hidden = config->hidden;
  const gsize query = (gsize) config->n_heads * config->head_dim;
  const gsize key = (gsize) config->n_kv_heads * config->head_dim;
  const gsize expert = (gsize) config->n_experts * config->expert_hidden * hidden;

  reference->config = *config;
  reference->weights[ATTENTION_NORM] = make_weight (seed, ATTENTION_NORM, hidden, 0);
  reference->weights[QUERY_WEIGHT] = make_weight (seed, QUERY_WEIGHT, query * hidden, hidden);
  reference->weights[KEY_WEIGHT] = make_weight (seed, KEY_WEIGHT, key * hidden, hidden);
  reference->weights[VALUE_WEIGHT] = make_weight (seed, VALUE_WEIGHT, key * hidden, hidden);
  reference->weights[OUTPUT_WEIGHT] = make_weight (seed, OUTPUT_WEIGHT, hidden * query, query);
  reference->weights[EXPERT_NORM] = make_weight (seed, EXPERT_NORM, hidden, 0);
  reference->weights[ROUTER_WEIGHT] = make_weight (seed, ROUTER_WEIGHT, config->n_experts * hidden, hidden);
  reference->weights[GATE_WEIGHTS] = make_weight (seed, GATE_WEIGHTS, expert, hidden);
  reference->weights[UP_WEIGHTS] = make_weight (seed, UP_WEIGHTS, expert, hidden);
  reference->weights[DOWN_WEIGHTS] = make_weight (seed, DOWN_WEIGHTS, expert, config->expert_hidden);
  reference->keys = g_new0 (double, config->max_positions *key);
  reference->values = g_new0 (double, config->max_positions *key);
  return reference;
}

void
dsv4_reference_free (Dsv4Reference *reference)
{
  if (reference == NULL)
    return;
  for (gsize i = 0; i < N_WEIGHTS; i++)
    g_free (reference->weights[i]);
  g_free (reference->keys);
  g_free (reference->values);
  g_free (reference);
}

static void
attention_block (Dsv4Reference *reference, double *hidden)
{
  const MemraDsv4Config *c = &reference->config;
  double *const *w = reference->weights;
  const gsize n_query = (gsize) c->n_heads * c->head_dim;
  const gsize n_key = (gsize) c->n_kv_heads * c->head_dim;
  g_autofree double *normed = g_new (double, c->hidden);
  g_autofree double *query = g_new (double, n_query);
  g_autofree double *key = g_new (double, n_key);
  g_autofree double *value = g_new (double, n_key);
  g_autofree double *attended = g_new (double, n_query);

  dsv4_reference_rmsnorm (normed, hidden, w[ATTENTION_NORM], c->hidden, 1e-6);
  dsv4_reference_matvec (query, w[QUERY_WEIGHT], normed, n_query, c->hidden);
  dsv4_reference_matvec (key, w[KEY_WEIGHT], normed, n_key, c->hidden);
  dsv4_reference_matvec (value, w[VALUE_WEIGHT], normed, n_key, c->hidden);
  dsv4_reference_rope (query, reference->position, c->n_heads, c->head_dim, 10000);
  dsv4_reference_rope (key, reference->position, c->n_kv_heads, c->head_dim, 10000);
  if (reference->position < c->max_positions)
    {
      memcpy (reference->keys + reference->position * n_key, key, n_key * sizeof *key);
      memcpy (reference->values + reference->position * n_key, value, n_key * sizeof *value);
    }
  dsv4_reference_attention (attended, query, reference->keys, reference->values, reference->position, c->n_heads,
                            c->n_kv_heads, c->head_dim, c->max_positions);
  dsv4_reference_matvec (normed, w[OUTPUT_WEIGHT], attended, c->hidden, n_query);
  for (gsize i = 0; i < c->hidden; i++)
    hidden[i] += normed[i];
}

static double
expert_block (Dsv4Reference *reference, double *hidden)
{
  const MemraDsv4Config *c = &reference->config;
  double *const *w = reference->weights;
  const gsize matrix = (gsize) c->expert_hidden * c->hidden;
  g_autofree double *normed = g_new (double, c->hidden);
  g_autofree double *logits = g_new (double, c->n_experts);
  g_autofree guint32 *experts = g_new (guint32, c->n_active_experts);
  g_autofree double *shares = g_new (double, c->n_active_experts);
  g_autofree double *gate = g_new (double, c->expert_hidden);
  g_autofree double *up = g_new (double, c->expert_hidden);
  g_autofree double *output = g_new (double, c->hidden);
  double margin;

  dsv4_reference_rmsnorm (normed, hidden, w[EXPERT_NORM], c->hidden, 1e-6);
  dsv4_reference_matvec (logits, w[ROUTER_WEIGHT], normed, c->n_experts, c->hidden);
  margin = dsv4_reference_route (experts, shares, logits, c->n_experts, c->n_active_experts);
  for (gsize k = 0; k < c->n_active_experts; k++)
    {
      dsv4_reference_matvec (gate, w[GATE_WEIGHTS] + experts[k] * matrix, normed, c->expert_hidden, c->hidden);
      dsv4_reference_matvec (up, w[UP_WEIGHTS] + experts[k] * matrix, normed, c->expert_hidden, c->hidden);
      for (gsize i = 0; i < c->expert_hidden; i++)
        gate[i] = dsv4_reference_silu (gate[i]) * up[i];
      dsv4_reference_matvec (output, w[DOWN_WEIGHTS] + experts[k] * matrix, gate, c->hidden, c->expert_hidden);
      for (gsize i = 0; i < c->hidden; i++)
        hidden[i] += shares[k] * output[i];
    }
  return margin;
}

double
dsv4_reference_forward (Dsv4Reference *reference, double *hidden)
{
  double margin;

  attention_block (reference, hidden);
  margin = expert_block (reference, hidden);
  reference->position++;
  return margin;
}

const double *
dsv4_reference_get_keys (Dsv4Reference *reference)
{
  return reference->keys;
}

const double *
dsv4_reference_get_values (Dsv4Reference *reference)
{
  return reference->values;
}
