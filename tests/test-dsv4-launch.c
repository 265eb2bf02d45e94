/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the launchers of the bundled kernels refuse, how they acquire buffers, and where the kernels come from. */
#include "config.h"

#include "dsv4-fixture.h"

#include <glib/gstdio.h>
#include <string.h>

#define REFUSED MEMRA_DRIVER_ERROR_INVALID_ARGUMENT

/* Every launcher with every buffer one element too small, and nothing else wrong. */
static void
test_small_buffers (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraBuffer) b11 = NULL;
  g_autoptr (MemraBuffer) b12 = NULL;
  g_autoptr (MemraBuffer) c12 = NULL;
  g_autoptr (MemraBuffer) b2 = NULL;
  g_autoptr (MemraBuffer) c2 = NULL;
  g_autoptr (MemraBuffer) b1 = NULL;
  const float zeros[12] = { 0 };
  MemraDsv4 *d;
  MemraStream *s;

  dsv4_fixture_init (&f);
  d = f.dsv4;
  s = f.stream;
  b11 = memra_test_buffer_from_floats (s, zeros, 11);
  b12 = memra_test_buffer_from_floats (s, zeros, 12);
  c12 = memra_test_buffer_from_floats (s, zeros, 12);
  b2 = memra_test_buffer_from_floats (s, zeros, 2);
  c2 = memra_test_buffer_from_floats (s, zeros, 2);
  b1 = memra_test_buffer_from_floats (s, zeros, 1);

#define REFUSES(call, message) dsv4_assert_refused (call, &error, REFUSED, "Could not launch memra_dsv4_" message)
  REFUSES (memra_dsv4_add_inplace (d, s, b11, b12, 12, &error),
           "add_inplace: buffer ‘dst’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_add_inplace (d, s, b12, b11, 12, &error),
           "add_inplace: buffer ‘src’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_add_inplace (d, s, b12, c12, G_GUINT64_CONSTANT (1) << 62, &error),
           "add_inplace: buffer ‘dst’ has 48 bytes, and 18446744073709551615 are needed");
  REFUSES (memra_dsv4_rmsnorm (d, s, b11, b12, c12, 12, 0, &error),
           "rmsnorm: buffer ‘dst’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_rmsnorm (d, s, b12, b11, c12, 12, 0, &error),
           "rmsnorm: buffer ‘src’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_rmsnorm (d, s, b12, c12, b11, 12, 0, &error),
           "rmsnorm: buffer ‘weight’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_matvec (d, s, b1, b12, c12, 2, 6, &error), "matvec: buffer ‘dst’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_matvec (d, s, b2, b11, b12, 2, 6, &error),
           "matvec: buffer ‘matrix’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_matvec (d, s, b12, c12, b1, 6, 2, &error), "matvec: buffer ‘src’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_rope (d, s, b11, b1, 3, 4, 10000, &error), "rope: buffer ‘x’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_kv_append (d, s, b11, b12, b2, b2, b1, 2, 6, &error),
           "kv_append: buffer ‘key_cache’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_kv_append (d, s, b12, b11, b2, b2, b1, 2, 6, &error),
           "kv_append: buffer ‘value_cache’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_kv_append (d, s, b12, c12, b1, b2, b1, 2, 6, &error),
           "kv_append: buffer ‘key’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_kv_append (d, s, b12, c12, b2, b1, b1, 2, 6, &error),
           "kv_append: buffer ‘value’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_attention (d, s, b1, b2, b12, c12, b1, 1, 1, 2, 6, &error),
           "attention: buffer ‘dst’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_attention (d, s, b2, b1, b12, c12, b1, 1, 1, 2, 6, &error),
           "attention: buffer ‘query’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_attention (d, s, b2, c2, b11, c12, b1, 1, 1, 2, 6, &error),
           "attention: buffer ‘key_cache’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_attention (d, s, b2, c2, b12, b11, b1, 1, 1, 2, 6, &error),
           "attention: buffer ‘value_cache’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_route (d, s, b1, b2, b12, 12, 2, &error),
           "route: buffer ‘experts’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_route (d, s, b2, b1, b12, 12, 2, &error),
           "route: buffer ‘weights’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_route (d, s, b2, c2, b11, 12, 2, &error),
           "route: buffer ‘logits’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_expert_matvec (d, s, b11, c12, b12, b2, 2, 6, 2, FALSE, &error),
           "expert_matvec: buffer ‘dst’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_expert_matvec (d, s, b12, b11, c12, b2, 2, 6, 2, FALSE, &error),
           "expert_matvec: buffer ‘matrices’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_expert_matvec (d, s, b12, c12, b2, c2, 2, 6, 2, TRUE, &error),
           "expert_matvec: buffer ‘src’ has 8 bytes, and 16 are needed");
  REFUSES (memra_dsv4_expert_matvec (d, s, b12, c12, b2, b1, 2, 6, 2, FALSE, &error),
           "expert_matvec: buffer ‘experts’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_silu_gate (d, s, b11, b12, 12, &error),
           "silu_gate: buffer ‘gate’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_silu_gate (d, s, b12, b11, 12, &error), "silu_gate: buffer ‘up’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_expert_sum (d, s, b1, b12, c12, 2, 6, &error),
           "expert_sum: buffer ‘dst’ has 4 bytes, and 8 are needed");
  REFUSES (memra_dsv4_expert_sum (d, s, b2, b11, c12, 2, 6, &error),
           "expert_sum: buffer ‘src’ has 44 bytes, and 48 are needed");
  REFUSES (memra_dsv4_expert_sum (d, s, b12, c12, b1, 6, 2, &error),
           "expert_sum: buffer ‘weights’ has 4 bytes, and 8 are needed");
}

static void
test_impossible_counts (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraBuffer) a = NULL;
  g_autoptr (MemraBuffer) b = NULL;
  g_autoptr (MemraBuffer) c = NULL;
  g_autoptr (MemraBuffer) p = NULL;
  MemraDsv4 *d;
  MemraStream *s;

  dsv4_fixture_init (&f);
  d = f.dsv4;
  s = f.stream;
  a = memra_test_buffer_filled (s, 1, 64);
  b = memra_test_buffer_filled (s, 1, 64);
  c = memra_test_buffer_filled (s, 1, 64);
  p = dsv4_fixture_word (&f, 0);

  REFUSES (memra_dsv4_add_inplace (d, s, a, b, 0, &error), "add_inplace: ‘n’ is 0");
  REFUSES (memra_dsv4_rmsnorm (d, s, a, b, c, 0, 0, &error), "rmsnorm: ‘n’ is 0");
  REFUSES (memra_dsv4_rmsnorm (d, s, a, b, c, 4, -1, &error), "rmsnorm: ‘epsilon’ is -1, not at least 0");
  REFUSES (memra_dsv4_matvec (d, s, a, b, c, 0, 4, &error), "matvec: ‘rows’ is 0");
  REFUSES (memra_dsv4_matvec (d, s, a, b, c, 4, 0, &error), "matvec: ‘columns’ is 0");
  REFUSES (memra_dsv4_rope (d, s, a, p, 0, 4, 10000, &error), "rope: ‘n_heads’ is 0");
  REFUSES (memra_dsv4_rope (d, s, a, p, 2, 0, 10000, &error), "rope: ‘head_dim’ is 0");
  REFUSES (memra_dsv4_rope (d, s, a, p, 2, 3, 10000, &error), "rope: ‘head_dim’ is 3, which is odd");
  REFUSES (memra_dsv4_rope (d, s, a, p, 2, 4, 0, &error), "rope: ‘base’ is 0, not above 0");
  REFUSES (memra_dsv4_kv_append (d, s, a, b, c, c, p, 0, 4, &error), "kv_append: ‘width’ is 0");
  REFUSES (memra_dsv4_kv_append (d, s, a, b, c, c, p, 4, 0, &error), "kv_append: ‘max_positions’ is 0");
  REFUSES (memra_dsv4_attention (d, s, a, a, b, c, p, 4, 0, 2, 4, &error), "attention: ‘n_kv_heads’ is 0");
  REFUSES (memra_dsv4_attention (d, s, a, a, b, c, p, 4, 3, 2, 4, &error),
           "attention: ‘n_heads’ is 4, not a multiple of ‘n_kv_heads’, 3");
  REFUSES (memra_dsv4_attention (d, s, a, a, b, c, p, 1, 1, 4098, 4, &error),
           "attention: ‘head_dim’ is 4098, more than 4096");
  REFUSES (memra_dsv4_route (d, s, a, b, c, 0, 0, &error), "route: ‘n_experts’ is 0");
  REFUSES (memra_dsv4_route (d, s, a, b, c, 2, 3, &error), "route: ‘n_active’ is 3, more than ‘n_experts’, 2");
  REFUSES (memra_dsv4_expert_matvec (d, s, a, b, c, p, 1, 0, 4, FALSE, &error), "expert_matvec: ‘rows’ is 0");
  REFUSES (memra_dsv4_expert_matvec (d, s, a, b, c, p, 0, 4, 4, FALSE, &error), "expert_matvec: ‘n_active’ is 0");
  REFUSES (memra_dsv4_silu_gate (d, s, a, b, 0, &error), "silu_gate: ‘n’ is 0");
  REFUSES (memra_dsv4_expert_sum (d, s, a, b, c, 4, 0, &error), "expert_sum: ‘n_active’ is 0");
}

/* One buffer in two places: refused where the kernel would read what it has written. */
static void
test_same_buffer_refused (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraBuffer) a = NULL;
  g_autoptr (MemraBuffer) b = NULL;
  MemraDsv4 *d;
  MemraStream *s;

  dsv4_fixture_init (&f);
  d = f.dsv4;
  s = f.stream;
  a = memra_test_buffer_filled (s, 1, 64);
  b = memra_test_buffer_filled (s, 1, 64);

#define SAME(call, kernel, one, two)                                                                                   \
  REFUSES (call, kernel ": ‘" one "’ and ‘" two "’ are the same buffer, and it cannot work in place")
  SAME (memra_dsv4_matvec (d, s, a, b, a, 4, 4, &error), "matvec", "dst", "src");
  SAME (memra_dsv4_matvec (d, s, a, a, b, 4, 4, &error), "matvec", "dst", "matrix");
  SAME (memra_dsv4_rope (d, s, a, a, 4, 4, 10000, &error), "rope", "x", "position");
  SAME (memra_dsv4_kv_append (d, s, a, a, b, b, b, 4, 4, &error), "kv_append", "key_cache", "value_cache");
  SAME (memra_dsv4_attention (d, s, a, a, a, b, b, 2, 1, 4, 4, &error), "attention", "dst", "key_cache");
  SAME (memra_dsv4_route (d, s, a, a, b, 4, 2, &error), "route", "experts", "weights");
  SAME (memra_dsv4_expert_matvec (d, s, a, b, a, b, 1, 4, 4, FALSE, &error), "expert_matvec", "dst", "src");
  SAME (memra_dsv4_expert_sum (d, s, a, a, b, 4, 2, &error), "expert_sum", "dst", "src");
}

/* One buffer in two places of a launch, with events: acquired once, so that nothing waits for itself. */
static void
test_same_buffer_with_events (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) x = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  memra_context_set_event_tracking (f.context, TRUE);
  vector_init_random (&x, &f, 100, 1);
  memra_context_set_event_tracking (f.context, FALSE);
  g_assert_true (memra_buffer_carries_events (x.buffer));
  for (int i = 0; i < 3; i++)
    dsv4_assert_ok (memra_dsv4_add_inplace (f.dsv4, f.stream, x.buffer, x.buffer, 100, &error), error);
  for (gsize i = 0; i < 100; i++)
    x.values[i] *= 8;
  vector_assert (&x, &f, 0);
}

/* Nothing is launched and nothing stays acquired when a later buffer cannot be had. */
static void
test_foreign_buffer (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) x = { 0 };
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraBuffer) foreign = NULL;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();

  if (!memra_test_need_host ())
    return;
  dsv4_fixture_init (&f);
  g_assert_cmpint (control->set_device_count (2), ==, 0);
  context = memra_context_new (memra_test_driver (), 1, &error);
  if (context == NULL) /* the driver was opened when there was one device */
    {
      g_test_skip (error->message);
      g_assert_cmpint (control->set_device_count (1), ==, 0);
      return;
    }
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_test_stream_new (context);
  foreign = memra_test_buffer_filled (stream, 1, 10);
  vector_init_random (&x, &f, 10, 1);
  g_assert_false (memra_dsv4_add_inplace (f.dsv4, f.stream, x.buffer, foreign, 10, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT);
  vector_assert (&x, &f, 0);
  g_clear_error (&error);
  g_assert_false (memra_dsv4_advance (f.dsv4, stream, foreign, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT);
}

/* The host driver's kernels lie beside it; a copy of the driver elsewhere has none, and says what it missed. */
static void
test_no_module (void)
{
  g_autofree char *directory = NULL;
  g_autofree char *path = NULL;
  g_autofree char *image = NULL;
  g_autofree char *module = NULL;
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;

  if (!memra_test_need_host ())
    return;
  directory = g_dir_make_tmp ("memra-dsv4-XXXXXX", &error);
  g_assert_no_error (error);
  path = g_build_filename (directory, "libcuda.so.1", NULL);
  module = g_build_filename (directory, "memra-dsv4.so", NULL);
  g_assert_true (g_file_get_contents (memra_test_host_driver_path (), &image, &length, NULL));
  g_assert_true (g_file_set_contents (path, image, (gssize) length, NULL));
  driver = memra_driver_open (path, &error);
  g_assert_no_error (error);
  context = memra_context_new (driver, 0, &error);
  g_assert_no_error (error);
  dsv4 = memra_dsv4_new (context, &error);
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NOT_FOUND);
  g_assert_nonnull (strstr (error->message, module));
  g_assert_null (dsv4);
  g_assert_cmpint (g_remove (path), ==, 0);
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

static void
test_mistakes (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraBuffer) a = NULL;
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  a = memra_test_buffer_filled (f.stream, 1, 4);

  g_test_expect_message ("memra-capture", G_LOG_LEVEL_CRITICAL, "*dsv4 != NULL*");
  g_assert_false (memra_dsv4_add_inplace (NULL, f.stream, a, a, 4, &error));
  g_test_expect_message ("memra-capture", G_LOG_LEVEL_CRITICAL, "*src != NULL*");
  g_assert_false (memra_dsv4_add_inplace (f.dsv4, f.stream, a, NULL, 4, &error));
  g_test_expect_message ("memra-capture", G_LOG_LEVEL_CRITICAL, "*position != NULL*");
  g_assert_false (memra_dsv4_advance (f.dsv4, f.stream, NULL, &error));
  g_test_expect_message ("memra-capture", G_LOG_LEVEL_CRITICAL, "*context != NULL*");
  g_assert_null (memra_dsv4_new (NULL, &error));
  g_test_assert_expected_messages ();
  g_assert_no_error (error);
  memra_dsv4_unref (NULL);
}

static void
test_ref (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) x = { 0 };
  g_autoptr (MemraDsv4) other = NULL;
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  vector_init_random (&x, &f, 4, 0);
  other = memra_dsv4_ref (f.dsv4);
  g_assert_true (other == f.dsv4);
  g_clear_pointer (&f.dsv4, memra_dsv4_unref);
  g_assert_nonnull (memra_dsv4_get_module (other));
  dsv4_assert_ok (memra_dsv4_add_inplace (other, f.stream, x.buffer, x.buffer, 4, &error), error);
  vector_assert (&x, &f, 0);
}

static void
add_tests (void)
{
  memra_test_add ("/dsv4-launch/small-buffers", test_small_buffers);
  memra_test_add ("/dsv4-launch/impossible-counts", test_impossible_counts);
  memra_test_add ("/dsv4-launch/same-buffer-refused", test_same_buffer_refused);
  memra_test_add ("/dsv4-launch/same-buffer-with-events", test_same_buffer_with_events);
  memra_test_add ("/dsv4-launch/foreign-buffer", test_foreign_buffer);
  memra_test_add ("/dsv4-launch/no-module", test_no_module);
  memra_test_add ("/dsv4-launch/mistakes", test_mistakes);
  memra_test_add ("/dsv4-launch/ref", test_ref);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
