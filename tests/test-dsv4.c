/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each bundled kernel against the reference, through its launcher and in every geometry. */
#include "config.h"

#include "dsv4-fixture.h"

#include <math.h>
#include <string.h>

static const guint32 sizes[] = { 1, 2, 3, 4, 5, 7, 63, 127, 128, 131, 255, 256, 257, 1000, 1021, 4096, 65537 };

static void
test_add_inplace (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      g_auto (Vector) dst = { 0 };
      g_auto (Vector) src = { 0 };

      vector_init_random (&dst, &f, sizes[s], 1);
      vector_init_random (&src, &f, sizes[s], 1);
      dsv4_assert_ok (memra_dsv4_add_inplace (f.dsv4, f.stream, dst.buffer, src.buffer, sizes[s], &error), error);
      for (gsize i = 0; i < dst.n; i++)
        dst.values[i] = (double) (float) (dst.values[i] + src.values[i]);
      vector_assert (&dst, &f, 0);
      vector_assert (&src, &f, 0);

      dsv4_assert_ok (memra_dsv4_add_inplace (f.dsv4, f.stream, dst.buffer, dst.buffer, sizes[s], &error), error);
      for (gsize i = 0; i < dst.n; i++)
        dst.values[i] *= 2;
      vector_assert (&dst, &f, 0);
    }
}

static void
test_rmsnorm (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      g_auto (Vector) dst = { 0 };
      g_auto (Vector) src = { 0 };
      g_auto (Vector) weight = { 0 };

      vector_init_empty (&dst, &f, sizes[s]);
      vector_init_random (&src, &f, sizes[s], 10);
      vector_init_random (&weight, &f, sizes[s], 2);
      dsv4_reference_rmsnorm (dst.values, src.values, weight.values, dst.n, (double) 1e-5f);
      dsv4_assert_ok (
          memra_dsv4_rmsnorm (f.dsv4, f.stream, dst.buffer, src.buffer, weight.buffer, sizes[s], 1e-5f, &error), error);
      vector_assert (&dst, &f, 2e-5);
      vector_assert (&src, &f, 0);

      dsv4_assert_ok (
          memra_dsv4_rmsnorm (f.dsv4, f.stream, src.buffer, src.buffer, weight.buffer, sizes[s], 1e-5f, &error), error);
      memcpy (src.values, dst.values, dst.n * sizeof *dst.values);
      vector_assert (&src, &f, 2e-5);
    }
}

static void
test_rmsnorm_zero (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) x = { 0 };
  g_auto (Vector) weight = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  vector_init_random (&x, &f, 100, 0);
  vector_init_random (&weight, &f, 100, 1);
  dsv4_assert_ok (memra_dsv4_rmsnorm (f.dsv4, f.stream, x.buffer, x.buffer, weight.buffer, 100, 1e-6f, &error), error);
  vector_assert (&x, &f, 0);
}

static void
test_matvec (void)
{
  static const guint32 shapes[][2]
      = { { 1, 1 }, { 3, 5 }, { 17, 1 }, { 1, 1021 }, { 64, 256 }, { 257, 129 }, { 31, 4096 }, { 70001, 3 } };
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    {
      const guint32 rows = shapes[s][0], columns = shapes[s][1];
      g_auto (Vector) dst = { 0 };
      g_auto (Vector) matrix = { 0 };
      g_auto (Vector) src = { 0 };

      vector_init_empty (&dst, &f, rows);
      vector_init_random (&matrix, &f, (gsize) rows * columns, 1);
      vector_init_random (&src, &f, columns, 1);
      dsv4_reference_matvec (dst.values, matrix.values, src.values, rows, columns);
      dsv4_assert_ok (
          memra_dsv4_matvec (f.dsv4, f.stream, dst.buffer, matrix.buffer, src.buffer, rows, columns, &error), error);
      vector_assert (&dst, &f, 2e-5);
    }
}

static void
test_rope (void)
{
  static const guint32 shapes[][2] = { { 1, 2 }, { 3, 6 }, { 8, 32 }, { 7, 128 }, { 300, 10 } };
  static const guint32 positions[] = { 0, 1, 31, 63, 5000 };
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (gsize p = 0; p < G_N_ELEMENTS (positions); p++)
      {
        const guint32 n_heads = shapes[s][0], head_dim = shapes[s][1];
        g_autoptr (MemraBuffer) position = dsv4_fixture_word (&f, positions[p]);
        g_auto (Vector) x = { 0 };

        vector_init_random (&x, &f, (gsize) n_heads * head_dim, 3);
        dsv4_reference_rope (x.values, positions[p], n_heads, head_dim, 10000);
        dsv4_assert_ok (memra_dsv4_rope (f.dsv4, f.stream, x.buffer, position, n_heads, head_dim, 10000.0f, &error),
                        error);
        vector_assert (&x, &f, positions[p] == 0 ? 0 : 1e-5 + positions[p] * 1e-6);
      }
}

static void
test_kv_append (void)
{
  static const guint32 widths[] = { 1, 7, 64, 1000 };
  static const guint32 positions[] = { 0, 3, 6, 7, 8, G_MAXUINT32 }; /* of 7 */
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (widths); s++)
    for (gsize p = 0; p < G_N_ELEMENTS (positions); p++)
      {
        const gsize width = widths[s];
        g_autoptr (MemraBuffer) position = dsv4_fixture_word (&f, positions[p]);
        g_auto (Vector) key_cache = { 0 };
        g_auto (Vector) value_cache = { 0 };
        g_auto (Vector) key = { 0 };
        g_auto (Vector) value = { 0 };

        vector_init_random (&key_cache, &f, 7 * width, 1);
        vector_init_random (&value_cache, &f, 7 * width, 1);
        vector_init_random (&key, &f, width, 1);
        vector_init_random (&value, &f, width, 1);
        dsv4_assert_ok (memra_dsv4_kv_append (f.dsv4, f.stream, key_cache.buffer, value_cache.buffer, key.buffer,
                                              value.buffer, position, widths[s], 7, &error),
                        error);
        if (positions[p] < 7)
          {
            memcpy (key_cache.values + positions[p] * width, key.values, width * sizeof *key.values);
            memcpy (value_cache.values + positions[p] * width, value.values, width * sizeof *value.values);
          }
        vector_assert (&key_cache, &f, 0);
        vector_assert (&value_cache, &f, 0);
      }
}

typedef struct
{
  guint32 n_heads, n_kv_heads, head_dim, max_positions;
} Shape;

static void
check_attention (Dsv4Fixture *f, const Shape *s, guint32 at, double scale, double tolerance)
{
  const gsize n = (gsize) s->n_heads * s->head_dim;
  const gsize n_cached = (gsize) s->max_positions * s->n_kv_heads * s->head_dim;
  g_autoptr (MemraBuffer) position = dsv4_fixture_word (f, at);
  g_autoptr (GError) error = NULL;
  g_auto (Vector) dst = { 0 };
  g_auto (Vector) query = { 0 };
  g_auto (Vector) keys = { 0 };
  g_auto (Vector) values = { 0 };

  vector_init_empty (&dst, f, n);
  vector_init_random (&query, f, n, scale);
  vector_init_random (&keys, f, n_cached, 1);
  vector_init_random (&values, f, n_cached, 1);
  dsv4_reference_attention (dst.values, query.values, keys.values, values.values, at, s->n_heads, s->n_kv_heads,
                            s->head_dim, s->max_positions);
  dsv4_assert_ok (memra_dsv4_attention (f->dsv4, f->stream, dst.buffer, query.buffer, keys.buffer, values.buffer,
                                        position, s->n_heads, s->n_kv_heads, s->head_dim, s->max_positions, &error),
                  error);
  vector_assert (&dst, f, tolerance);

  dsv4_assert_ok (memra_dsv4_attention (f->dsv4, f->stream, query.buffer, query.buffer, keys.buffer, values.buffer,
                                        position, s->n_heads, s->n_kv_heads, s->head_dim, s->max_positions, &error),
                  error);
  memcpy (query.values, dst.values, n * sizeof *dst.values);
  vector_assert (&query, f, tolerance);
}

static void
test_attention (void)
{
  static const Shape shapes[]
      = { { 1, 1, 1, 1 }, { 4, 2, 6, 7 }, { 8, 2, 32, 64 }, { 6, 1, 10, 33 }, { 3, 3, 128, 300 }, { 2, 1, 4096, 5 } };
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      const guint32 n = shapes[i].max_positions;
      const guint32 positions[] = { 0, n / 2, n - 1, n, G_MAXUINT32 };

      for (gsize p = 0; p < G_N_ELEMENTS (positions); p++)
        check_attention (&f, &shapes[i], positions[p], 1, 1e-5);
    }
}

/* Scores of some hundreds, whose exponentials do not fit a float: only an online softmax gets them right. */
static void
test_attention_large_scores (void)
{
  static const Shape shape = { 4, 2, 32, 200 };
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  check_attention (&f, &shape, 199, 500, 1e-3);
}

/* Every position scores higher than all before it, or lower: the worst cases for scaling down what was summed. */
static void
test_attention_sorted_scores (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraBuffer) position = NULL;

  dsv4_fixture_init (&f);
  position = dsv4_fixture_word (&f, 99);
  for (int sign = -1; sign <= 1; sign += 2)
    {
      g_auto (Vector) dst = { 0 };
      g_auto (Vector) query = { 0 };
      g_auto (Vector) keys = { 0 };
      g_auto (Vector) values = { 0 };
      float ramp[200], unit[2] = { 1, 0 };

      for (int i = 0; i < 100; i++)
        {
          ramp[2 * i] = (float) (sign * i);
          ramp[2 * i + 1] = 5;
        }
      vector_init_empty (&dst, &f, 2);
      vector_init_floats (&query, &f, unit, 2);
      vector_init_floats (&keys, &f, ramp, 200);
      vector_init_random (&values, &f, 200, 1);
      dsv4_reference_attention (dst.values, query.values, keys.values, values.values, 99, 1, 1, 2, 100);
      dsv4_assert_ok (memra_dsv4_attention (f.dsv4, f.stream, dst.buffer, query.buffer, keys.buffer, values.buffer,
                                            position, 1, 1, 2, 100, &error),
                      error);
      vector_assert (&dst, &f, 1e-5);
    }
}

static void
check_route (Dsv4Fixture *f, const Vector *logits, guint32 n_active)
{
  g_auto (Vector) weights = { 0 };
  g_autofree guint32 *wanted = g_new (guint32, n_active);
  g_autofree guint32 *experts = g_new0 (guint32, n_active);
  g_autoptr (MemraBuffer) buffer = dsv4_fixture_words (f, experts, n_active);
  g_autoptr (GError) error = NULL;

  vector_init_empty (&weights, f, n_active);
  dsv4_reference_route (wanted, weights.values, logits->values, logits->n, n_active);
  dsv4_assert_ok (memra_dsv4_route (f->dsv4, f->stream, buffer, weights.buffer, logits->buffer, (guint32) logits->n,
                                    n_active, &error),
                  error);
  dsv4_fixture_read_words (f, buffer, experts, n_active);
  g_assert_cmpmem (experts, n_active * sizeof *experts, wanted, n_active * sizeof *wanted);
  vector_assert (&weights, f, 1e-6);
}

static void
test_route (void)
{
  static const guint32 shapes[][2] = { { 1, 1 }, { 2, 1 }, { 8, 2 }, { 8, 8 }, { 131, 7 }, { 1000, 8 }, { 300, 300 } };
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    {
      g_auto (Vector) logits = { 0 };

      vector_init_random (&logits, &f, shapes[s][0], 4);
      check_route (&f, &logits, shapes[s][1]);
    }
}

static void
test_route_ties (void)
{
  static const float cases[][6] = {
    { 1, 1, 1, 1, 1, 1 },
    { 0, 2, 1, 2, 1, 2 },
    { -1, -3, -1, -2, -3, -1 },
    { -0.0f, 0.0f, -1, 0.0f, -0.0f, -1 },
    { -INFINITY, 3, -INFINITY, 3, -5, -INFINITY },
  };
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  for (gsize c = 0; c < G_N_ELEMENTS (cases); c++)
    for (guint32 n_active = 1; n_active <= 6; n_active++)
      {
        g_auto (Vector) logits = { 0 };

        vector_init_floats (&logits, &f, cases[c], 6);
        check_route (&f, &logits, n_active);
      }
}

static void
test_route_nan (void)
{
  static const float logits[] = { NAN, 1, -INFINITY, -NAN, 2 };
  static const guint32 wanted[] = { 4, 1, 2, 0, 3 };
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) vector = { 0 };
  g_auto (Vector) weights = { 0 };
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;
  guint32 experts[5] = { 0 };

  dsv4_fixture_init (&f);
  vector_init_floats (&vector, &f, logits, 5);
  vector_init_empty (&weights, &f, 5);
  buffer = dsv4_fixture_words (&f, experts, 5);
  dsv4_assert_ok (memra_dsv4_route (f.dsv4, f.stream, buffer, weights.buffer, vector.buffer, 5, 5, &error), error);
  dsv4_fixture_read_words (&f, buffer, experts, 5);
  g_assert_cmpmem (experts, sizeof experts, wanted, sizeof wanted);
}

static void
check_expert_matvec (Dsv4Fixture *f, const guint32 *active, guint32 n_active, guint32 rows, guint32 columns,
                     gboolean per_expert_src)
{
  const guint32 n_experts = 5;
  g_auto (Vector) dst = { 0 };
  g_auto (Vector) matrices = { 0 };
  g_auto (Vector) src = { 0 };
  g_autoptr (MemraBuffer) experts = dsv4_fixture_words (f, active, n_active);
  g_autoptr (GError) error = NULL;

  vector_init_empty (&dst, f, (gsize) n_active * rows);
  vector_init_random (&matrices, f, (gsize) n_experts * rows * columns, 1);
  vector_init_random (&src, f, (gsize) (per_expert_src ? n_active : 1) * columns, 1);
  for (gsize k = 0; k < n_active; k++)
    if (active[k] < n_experts)
      dsv4_reference_matvec (dst.values + k * rows, matrices.values + (gsize) active[k] * rows * columns,
                             src.values + (per_expert_src ? k * columns : 0), rows, columns);
  dsv4_assert_ok (memra_dsv4_expert_matvec (f->dsv4, f->stream, dst.buffer, matrices.buffer, src.buffer, experts,
                                            n_active, rows, columns, per_expert_src, &error),
                  error);
  vector_assert (&dst, f, 2e-5);
}

static void
test_expert_matvec (void)
{
  static const guint32 active[] = { 4, 0, 3, 3, 1 };
  static const guint32 shapes[][2] = { { 3, 3 }, { 7, 5 }, { 128, 64 }, { 33, 1021 } };
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (guint32 n_active = 1; n_active <= G_N_ELEMENTS (active); n_active += 2)
      {
        check_expert_matvec (&f, active, n_active, shapes[s][0], shapes[s][1], FALSE);
        check_expert_matvec (&f, active, n_active, shapes[s][0], shapes[s][1], TRUE);
      }
}

/* An expert that there is not shows as NaN, and touches no memory. */
static void
test_expert_matvec_no_such_expert (void)
{
  static const guint32 active[] = { 1, 5, G_MAXUINT32, 0 };
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  check_expert_matvec (&f, active, 4, 16, 24, FALSE);
}

static void
test_silu_gate (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      g_auto (Vector) gate = { 0 };
      g_auto (Vector) up = { 0 };

      vector_init_random (&gate, &f, sizes[s], s % 2 == 0 ? 4 : 200);
      vector_init_random (&up, &f, sizes[s], 3);
      for (gsize i = 0; i < gate.n; i++)
        gate.values[i] = dsv4_reference_silu (gate.values[i]) * up.values[i];
      dsv4_assert_ok (memra_dsv4_silu_gate (f.dsv4, f.stream, gate.buffer, up.buffer, sizes[s], &error), error);
      vector_assert (&gate, &f, 1e-6);

      dsv4_assert_ok (memra_dsv4_silu_gate (f.dsv4, f.stream, up.buffer, up.buffer, sizes[s], &error), error);
      for (gsize i = 0; i < up.n; i++)
        up.values[i] *= dsv4_reference_silu (up.values[i]);
      vector_assert (&up, &f, 1e-6);
    }
}

static void
test_expert_sum (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      const guint32 n = sizes[s], n_active = (guint32) (s % 8) + 1;
      g_auto (Vector) dst = { 0 };
      g_auto (Vector) src = { 0 };
      g_auto (Vector) weights = { 0 };

      vector_init_empty (&dst, &f, n);
      vector_init_random (&src, &f, (gsize) n_active * n, 1);
      vector_init_random (&weights, &f, n_active, 1);
      for (gsize i = 0; i < n; i++)
        {
          dst.values[i] = 0;
          for (gsize k = 0; k < n_active; k++)
            dst.values[i] += weights.values[k] * src.values[k * n + i];
        }
      dsv4_assert_ok (
          memra_dsv4_expert_sum (f.dsv4, f.stream, dst.buffer, src.buffer, weights.buffer, n, n_active, &error), error);
      vector_assert (&dst, &f, 2e-6);
    }
}

static void
test_advance (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraBuffer) position = NULL;
  g_autoptr (GError) error = NULL;
  guint32 words[2] = { 41, 7 };

  dsv4_fixture_init (&f);
  position = dsv4_fixture_words (&f, words, 2);
  for (guint32 i = 1; i <= 3; i++)
    {
      dsv4_assert_ok (memra_dsv4_advance (f.dsv4, f.stream, position, &error), error);
      dsv4_fixture_read_words (&f, position, words, 2);
      g_assert_cmpuint (words[0], ==, 41 + i);
      g_assert_cmpuint (words[1], ==, 7);
    }
}

static void
add_tests (void)
{
  memra_test_add ("/dsv4/add-inplace", test_add_inplace);
  memra_test_add ("/dsv4/rmsnorm", test_rmsnorm);
  memra_test_add ("/dsv4/rmsnorm-zero", test_rmsnorm_zero);
  memra_test_add ("/dsv4/matvec", test_matvec);
  memra_test_add ("/dsv4/rope", test_rope);
  memra_test_add ("/dsv4/kv-append", test_kv_append);
  memra_test_add ("/dsv4/attention", test_attention);
  memra_test_add ("/dsv4/attention-large-scores", test_attention_large_scores);
  memra_test_add ("/dsv4/attention-sorted-scores", test_attention_sorted_scores);
  memra_test_add ("/dsv4/route", test_route);
  memra_test_add ("/dsv4/route-ties", test_route_ties);
  memra_test_add ("/dsv4/route-nan", test_route_nan);
  memra_test_add ("/dsv4/expert-matvec", test_expert_matvec);
  memra_test_add ("/dsv4/expert-matvec-no-such-expert", test_expert_matvec_no_such_expert);
  memra_test_add ("/dsv4/silu-gate", test_silu_gate);
  memra_test_add ("/dsv4/expert-sum", test_expert_sum);
  memra_test_add ("/dsv4/advance", test_advance);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
