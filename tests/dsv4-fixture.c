/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "dsv4-fixture.h"

#include <math.h>

void
dsv4_fixture_init (Dsv4Fixture *f)
{
  g_autoptr (GError) error = NULL;

  f->context = memra_test_context_new ();
  f->stream = memra_test_stream_new (f->context);
  f->dsv4 = memra_dsv4_new (f->context, &error);
  g_assert_no_error (error);
  g_assert_nonnull (f->dsv4);
  f->random = g_rand_new_with_seed (20240229);
}

void
dsv4_fixture_clear (Dsv4Fixture *f)
{
  g_clear_pointer (&f->dsv4, memra_dsv4_unref);
  g_clear_pointer (&f->stream, memra_stream_unref);
  g_clear_pointer (&f->context, memra_context_unref);
  g_clear_pointer (&f->random, g_rand_free);
}

void
vector_init_floats (Vector *vector, Dsv4Fixture *f, const float *values, gsize n)
{
  g_autofree float *floats = g_new (float, n + VECTOR_MARGIN);

  vector->n = n;
  vector->values = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    {
      floats[i] = values[i];
      vector->values[i] = (double) values[i];
    }
  for (gsize i = n; i < n + VECTOR_MARGIN; i++)
    floats[i] = VECTOR_MARK;
  vector->buffer = memra_test_buffer_from_floats (f->stream, floats, n + VECTOR_MARGIN);
}

void
vector_init_random (Vector *vector, Dsv4Fixture *f, gsize n, double scale)
{
  g_autofree float *floats = g_new (float, n);

  for (gsize i = 0; i < n; i++)
    floats[i] = (float) g_rand_double_range (f->random, -scale, scale);
  vector_init_floats (vector, f, floats, n);
}

void
vector_init_empty (Vector *vector, Dsv4Fixture *f, gsize n)
{
  g_autofree float *floats = g_new (float, n);

  for (gsize i = 0; i < n; i++)
    floats[i] = NAN;
  vector_init_floats (vector, f, floats, n);
}

void
vector_clear (Vector *vector)
{
  g_clear_pointer (&vector->values, g_free);
  g_clear_pointer (&vector->buffer, memra_buffer_unref);
}

void
vector_assert (const Vector *vector, Dsv4Fixture *f, double tolerance)
{
  g_autofree float *floats = g_new (float, vector->n + VECTOR_MARGIN);

  memra_test_read_floats (vector->buffer, f->stream, floats, vector->n + VECTOR_MARGIN);
  for (gsize i = 0; i < vector->n; i++)
    {
      const double value = vector->values[i];
      const double limit = tolerance * (1 + fabs (value));
      const gboolean both_nan = isnan (value) && isnan (floats[i]);

      if (!both_nan && !(fabs ((double) floats[i] - value) <= limit))
        g_error ("Element %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " is %.9g, not %.9g", i, vector->n,
                 (double) floats[i], value);
    }
  for (gsize i = vector->n; i < vector->n + VECTOR_MARGIN; i++)
    g_assert_cmpfloat (floats[i], ==, VECTOR_MARK);
}

MemraBuffer *
dsv4_fixture_words (Dsv4Fixture *f, const guint32 *words, gsize n)
{
  g_autoptr (GError) error = NULL;
  MemraBuffer *buffer = memra_buffer_new_from_host (f->stream, words, n * sizeof *words, &error);

  g_assert_no_error (error);
  g_assert_nonnull (buffer);
  return buffer;
}

MemraBuffer *
dsv4_fixture_word (Dsv4Fixture *f, guint32 word)
{
  return dsv4_fixture_words (f, &word, 1);
}

void
dsv4_fixture_read_words (Dsv4Fixture *f, MemraBuffer *buffer, guint32 *words, gsize n)
{
  g_autoptr (GError) error = NULL;

  dsv4_assert_ok (memra_stream_synchronize (f->stream, &error), error);
  dsv4_assert_ok (memra_buffer_copy_to_host (buffer, 0, words, n * sizeof *words, f->stream, &error), error);
}

void
dsv4_assert_refused (gboolean result, GError **error, MemraDriverError code, const char *message)
{
  g_assert_error (*error, MEMRA_DRIVER_ERROR, (int) code);
  g_assert_cmpstr ((*error)->message, ==, message);
  g_assert_false (result);
  g_clear_error (error);
}
