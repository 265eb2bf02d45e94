/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the bundled kernels share: the kernels on a stream, random numbers, and comparing with a reference.
 */
#pragma once

#include "dsv4-reference.h"
#include "memra-test.h"

G_BEGIN_DECLS

typedef struct
{
  MemraContext *context;
  MemraStream *stream;
  MemraDsv4 *dsv4;
  GRand *random; /* the same sequence in every run */
} Dsv4Fixture;

/* With event tracking off. */
void dsv4_fixture_init (Dsv4Fixture *f);
void dsv4_fixture_clear (Dsv4Fixture *f);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Dsv4Fixture, dsv4_fixture_clear)

/* A vector on both sides: as doubles, each exactly a float, and in a buffer with a few elements more, all -77. */
typedef struct
{
  gsize n;
  double *values;      /* owned */
  MemraBuffer *buffer; /* owned */
} Vector;

#define VECTOR_MARGIN 5
#define VECTOR_MARK   -77.0f

/* Uniform in [-scale, scale). */
void vector_init_random (Vector *vector, Dsv4Fixture *f, gsize n, double scale);
/* For a result: NaN, so that an element which is not written shows. */
void vector_init_empty (Vector *vector, Dsv4Fixture *f, gsize n);
void vector_init_floats (Vector *vector, Dsv4Fixture *f, const float *values, gsize n);
void vector_clear (Vector *vector);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Vector, vector_clear)

/* Waits; asserts that the buffer has the vector's values, each to within tolerance * (1 + |value|), exactly with 0, and
 * that the elements after them are untouched. */
void vector_assert (const Vector *vector, Dsv4Fixture *f, double tolerance);

/* A buffer of guint32. (transfer full) */
MemraBuffer *dsv4_fixture_words (Dsv4Fixture *f, const guint32 *words, gsize n);
MemraBuffer *dsv4_fixture_word (Dsv4Fixture *f, guint32 word);
void dsv4_fixture_read_words (Dsv4Fixture *f, MemraBuffer *buffer, guint32 *words, gsize n);

/* Asserts a MEMRA_DRIVER_ERROR with exactly this message, and clears it. */
void dsv4_assert_refused (gboolean result, GError **error, MemraDriverError code, const char *message);

/* Asserts success: dsv4_assert_ok (memra_dsv4_advance (..., &error), error); */
#define dsv4_assert_ok(result, error)                                                                                  \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    gboolean ok_ = (result);                                                                                           \
    g_assert_no_error (error);                                                                                         \
    g_assert_true (ok_);                                                                                               \
  }                                                                                                                    \
  G_STMT_END

G_END_DECLS
