/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bundled kernels in every geometry, past their launchers, and the same bits each time. */
#include "config.h"

#include "dsv4-fixture.h"

#include <string.h>

static const guint32 blocks[] = { 1, 2, 3, 7, 8, 32, 33, 100, 128, 255, 256, 1000, 1024 };
static const guint32 grids[] = { 1, 2, 5, 64 };

/* Launches a kernel by name and address, past its launcher. */
static void
launch_raw (Dsv4Fixture *f, const char *name, guint32 grid, guint32 block, guint32 shared, gconstpointer *arguments,
            guint n_arguments)
{
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (GError) error = NULL;
  const MemraDim3 blocks_of_launch = { grid, 1, 1 }, threads = { block, 1, 1 };

  kernel = memra_module_get_kernel (memra_dsv4_get_module (f->dsv4), name, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (memra_kernel_get_name (kernel), ==, name);
  if (memra_kernel_get_n_arguments (kernel) >= 0)
    g_assert_cmpint (memra_kernel_get_n_arguments (kernel), ==, (gint) n_arguments);
  dsv4_assert_ok (
      memra_kernel_launch (kernel, f->stream, &blocks_of_launch, &threads, shared, arguments, n_arguments, &error),
      error);
}

/* Runs `check` for every block and a few grids. */
static void
each_geometry (void (*check) (Dsv4Fixture *f, guint32 grid, guint32 block))
{
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
  for (gsize b = 0; b < G_N_ELEMENTS (blocks); b++)
    for (gsize g = 0; g < G_N_ELEMENTS (grids); g++)
      check (&f, grids[g], blocks[b]);
}

/* Addresses off by one element each way, so that neither both nor one is aligned for vectors of four. */
static void
check_add_inplace (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  for (gsize shift = 0; shift < 4; shift++)
    {
      const gsize at = shift % 2, from = shift / 2;
      const guint64 n = 515;
      g_auto (Vector) dst = { 0 };
      g_auto (Vector) src = { 0 };
      guint64 to_address, from_address;
      gconstpointer arguments[] = { &to_address, &from_address, &n };

      vector_init_random (&dst, f, n + 2, 1);
      vector_init_random (&src, f, n + 2, 1);
      to_address = memra_buffer_get_address (dst.buffer) + at * sizeof (float);
      from_address = memra_buffer_get_address (src.buffer) + from * sizeof (float);
      launch_raw (f, "memra_dsv4_add_inplace", grid, block, 0, arguments, G_N_ELEMENTS (arguments));
      for (gsize i = 0; i < n; i++)
        dst.values[at + i] = (double) (float) (dst.values[at + i] + src.values[from + i]);
      vector_assert (&dst, f, 0);
    }
}

static void
check_rmsnorm (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  const guint32 n = 259;
  const float epsilon = 0.5f;
  g_auto (Vector) dst = { 0 };
  g_auto (Vector) src = { 0 };
  g_auto (Vector) weight = { 0 };
  guint64 addresses[3];
  gconstpointer arguments[] = { &addresses[0], &addresses[1], &addresses[2], &n, &epsilon };

  vector_init_empty (&dst, f, n);
  vector_init_random (&src, f, n, 2);
  vector_init_random (&weight, f, n, 1);
  addresses[0] = memra_buffer_get_address (dst.buffer);
  addresses[1] = memra_buffer_get_address (src.buffer);
  addresses[2] = memra_buffer_get_address (weight.buffer);
  dsv4_reference_rmsnorm (dst.values, src.values, weight.values, n, 0.5);
  launch_raw (f, "memra_dsv4_rmsnorm", grid, block, 0, arguments, G_N_ELEMENTS (arguments));
  vector_assert (&dst, f, 1e-5);
}

static void
check_matvec (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  const guint32 rows = 11, columns = 131;
  g_auto (Vector) dst = { 0 };
  g_auto (Vector) matrix = { 0 };
  g_auto (Vector) src = { 0 };
  guint64 addresses[3];
  gconstpointer arguments[] = { &addresses[0], &addresses[1], &addresses[2], &rows, &columns };

  vector_init_empty (&dst, f, rows);
  vector_init_random (&matrix, f, rows * columns, 1);
  vector_init_random (&src, f, columns, 1);
  addresses[0] = memra_buffer_get_address (dst.buffer);
  addresses[1] = memra_buffer_get_address (matrix.buffer);
  addresses[2] = memra_buffer_get_address (src.buffer);
  dsv4_reference_matvec (dst.values, matrix.values, src.values, rows, columns);
  launch_raw (f, "memra_dsv4_matvec", grid, block, 0, arguments, G_N_ELEMENTS (arguments));
  vector_assert (&dst, f, 1e-5);
}

static void
check_attention (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  const guint32 n_heads = 6, n_kv_heads = 2, head_dim = 20, max_positions = 150;
  const gsize n = n_heads * head_dim, n_cached = (gsize) max_positions * n_kv_heads * head_dim;
  g_autoptr (MemraBuffer) position = dsv4_fixture_word (f, 140);
  g_auto (Vector) dst = { 0 };
  g_auto (Vector) query = { 0 };
  g_auto (Vector) keys = { 0 };
  g_auto (Vector) values = { 0 };
  guint64 addresses[5];
  gconstpointer arguments[] = { &addresses[0], &addresses[1], &addresses[2], &addresses[3], &addresses[4],
                                &n_heads,      &n_kv_heads,   &head_dim,     &max_positions };

  vector_init_empty (&dst, f, n);
  vector_init_random (&query, f, n, 3);
  vector_init_random (&keys, f, n_cached, 2);
  vector_init_random (&values, f, n_cached, 1);
  addresses[0] = memra_buffer_get_address (dst.buffer);
  addresses[1] = memra_buffer_get_address (query.buffer);
  addresses[2] = memra_buffer_get_address (keys.buffer);
  addresses[3] = memra_buffer_get_address (values.buffer);
  addresses[4] = memra_buffer_get_address (position);
  dsv4_reference_attention (dst.values, query.values, keys.values, values.values, 140, n_heads, n_kv_heads, head_dim,
                            max_positions);
  launch_raw (f, "memra_dsv4_attention", grid, block, 2 * sizeof (float) * head_dim, arguments,
              G_N_ELEMENTS (arguments));
  vector_assert (&dst, f, 1e-5);
}

static void
check_route (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  const guint32 n_experts = 61, n_active = 5;
  g_auto (Vector) logits = { 0 };
  g_auto (Vector) weights = { 0 };
  guint32 wanted[5], got[5] = { 0 };
  g_autoptr (MemraBuffer) experts = dsv4_fixture_words (f, got, n_active);
  guint64 addresses[3];
  gconstpointer arguments[] = { &addresses[0], &addresses[1], &addresses[2], &n_experts, &n_active };

  vector_init_random (&logits, f, n_experts, 3);
  vector_init_empty (&weights, f, n_active);
  addresses[0] = memra_buffer_get_address (experts);
  addresses[1] = memra_buffer_get_address (weights.buffer);
  addresses[2] = memra_buffer_get_address (logits.buffer);
  dsv4_reference_route (wanted, weights.values, logits.values, n_experts, n_active);
  launch_raw (f, "memra_dsv4_route", grid, block, 0, arguments, G_N_ELEMENTS (arguments));
  dsv4_fixture_read_words (f, experts, got, n_active);
  g_assert_cmpmem (got, sizeof got, wanted, sizeof wanted);
  vector_assert (&weights, f, 1e-6);
}

static void
check_rope (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  const guint32 n_heads = 5, head_dim = 14;
  const float base = 100.0f;
  g_autoptr (MemraBuffer) position = dsv4_fixture_word (f, 3);
  g_auto (Vector) x = { 0 };
  guint64 addresses[2];
  gconstpointer arguments[] = { &addresses[0], &addresses[1], &n_heads, &head_dim, &base };

  vector_init_random (&x, f, n_heads * head_dim, 1);
  addresses[0] = memra_buffer_get_address (x.buffer);
  addresses[1] = memra_buffer_get_address (position);
  dsv4_reference_rope (x.values, 3, n_heads, head_dim, 100);
  launch_raw (f, "memra_dsv4_rope", grid, block, 0, arguments, G_N_ELEMENTS (arguments));
  vector_assert (&x, f, 1e-5);
}

static void
check_advance (Dsv4Fixture *f, guint32 grid, guint32 block)
{
  g_autoptr (MemraBuffer) position = dsv4_fixture_word (f, 9);
  const guint64 address = memra_buffer_get_address (position);
  gconstpointer arguments[] = { &address };
  guint32 word = 0;

  launch_raw (f, "memra_dsv4_advance", grid, block, 0, arguments, G_N_ELEMENTS (arguments));
  dsv4_fixture_read_words (f, position, &word, 1);
  g_assert_cmpuint (word, ==, 10);
}

static void
test_add_inplace (void)
{
  each_geometry (check_add_inplace);
}

static void
test_rmsnorm (void)
{
  each_geometry (check_rmsnorm);
}

static void
test_matvec (void)
{
  each_geometry (check_matvec);
}

static void
test_rope (void)
{
  each_geometry (check_rope);
}

static void
test_attention (void)
{
  each_geometry (check_attention);
}

static void
test_route (void)
{
  each_geometry (check_route);
}

static void
test_advance (void)
{
  each_geometry (check_advance);
}

/* The order of every sum is fixed: the same launch gives the same bits. */
static void
test_same_bits (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) matrix = { 0 };
  g_auto (Vector) src = { 0 };
  g_autofree float *first = g_new (float, 300);
  g_autofree float *again = g_new (float, 300);

  dsv4_fixture_init (&f);
  vector_init_random (&matrix, &f, 300 * 1021, 1);
  vector_init_random (&src, &f, 1021, 1);
  for (int i = 0; i < 20; i++)
    {
      g_auto (Vector) dst = { 0 };
      g_autoptr (GError) error = NULL;

      vector_init_empty (&dst, &f, 300);
      dsv4_assert_ok (memra_dsv4_matvec (f.dsv4, f.stream, dst.buffer, matrix.buffer, src.buffer, 300, 1021, &error),
                      error);
      dsv4_assert_ok (memra_dsv4_rmsnorm (f.dsv4, f.stream, dst.buffer, dst.buffer, matrix.buffer, 300, 1e-6f, &error),
                      error);
      memra_test_read_floats (dst.buffer, f.stream, again, 300);
      if (i == 0)
        memcpy (first, again, 300 * sizeof *first);
      g_assert_cmpmem (first, 300 * sizeof *first, again, 300 * sizeof *again);
    }
}

static void
add_tests (void)
{
  memra_test_add ("/dsv4-geometry/add-inplace", test_add_inplace);
  memra_test_add ("/dsv4-geometry/rmsnorm", test_rmsnorm);
  memra_test_add ("/dsv4-geometry/matvec", test_matvec);
  memra_test_add ("/dsv4-geometry/rope", test_rope);
  memra_test_add ("/dsv4-geometry/attention", test_attention);
  memra_test_add ("/dsv4-geometry/route", test_route);
  memra_test_add ("/dsv4-geometry/advance", test_advance);
  memra_test_add ("/dsv4-geometry/same-bits", test_same_bits);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
