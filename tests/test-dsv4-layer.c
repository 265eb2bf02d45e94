/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bundled decoder layer against a layer composed of the references. */
#include "config.h"

#include "dsv4-fixture.h"

#include <math.h>

/* Small, and odd where it can be. */
static const MemraDsv4Config odd_config = {
  .hidden = 30,
  .n_heads = 6,
  .n_kv_heads = 3,
  .head_dim = 14,
  .n_experts = 5,
  .n_active_experts = 3,
  .expert_hidden = 17,
  .max_positions = 7,
};

static MemraDsv4Layer *
make_layer (Dsv4Fixture *f, const MemraDsv4Config *config, guint32 seed)
{
  g_autoptr (GError) error = NULL;
  MemraDsv4Layer *layer = memra_dsv4_layer_new (f->dsv4, f->stream, config, seed, &error);

  g_assert_no_error (error);
  g_assert_nonnull (layer);
  return layer;
}

static void
assert_position (Dsv4Fixture *f, MemraDsv4Layer *layer, guint32 position)
{
  guint32 word = G_MAXUINT32;

  dsv4_fixture_read_words (f, memra_dsv4_layer_get_position (layer), &word, 1);
  g_assert_cmpuint (word, ==, position);
}

static void
assert_cache (Dsv4Fixture *f, MemraBuffer *cache, const double *wanted, gsize n)
{
  g_autofree float *floats = g_new (float, n);

  g_assert_cmpuint (memra_buffer_get_size (cache), ==, n * sizeof *floats);
  memra_test_read_floats (cache, f->stream, floats, n);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon ((double) floats[i], wanted[i], 1e-4 * (1 + fabs (wanted[i])));
}

/* Two layers one after the other, for some steps more than the cache has positions; each step has its own input. */
static void
check_layers (const MemraDsv4Config *config, guint n_steps)
{
  const gsize n_cached = (gsize) config->max_positions * config->n_kv_heads * config->head_dim;
  g_auto (Dsv4Fixture) f = { 0 };
  MemraDsv4Layer *layers[2];
  Dsv4Reference *references[2];
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  for (guint i = 0; i < 2; i++)
    {
      layers[i] = make_layer (&f, config, i + 1);
      references[i] = dsv4_reference_new (config, i + 1);
    }
  for (guint step = 0; step < n_steps; step++)
    {
      g_auto (Vector) hidden = { 0 };

      vector_init_random (&hidden, &f, config->hidden, 1);
      for (guint i = 0; i < 2; i++)
        {
          dsv4_assert_ok (memra_dsv4_layer_forward (layers[i], f.stream, hidden.buffer, &error), error);
          g_assert_cmpfloat (dsv4_reference_forward (references[i], hidden.values), >, 1e-4);
        }
      vector_assert (&hidden, &f, 1e-4);
    }
  for (guint i = 0; i < 2; i++)
    {
      assert_position (&f, layers[i], n_steps);
      assert_cache (&f, memra_dsv4_layer_get_key_cache (layers[i]), dsv4_reference_get_keys (references[i]), n_cached);
      assert_cache (&f, memra_dsv4_layer_get_value_cache (layers[i]), dsv4_reference_get_values (references[i]),
                    n_cached);
      memra_dsv4_layer_free (layers[i]);
      dsv4_reference_free (references[i]);
    }
}

static void
test_reference_small (void)
{
  MemraDsv4Config config = { 0 };

  memra_dsv4_config_init_small (&config);
  check_layers (&config, 6);
}

static void
test_reference_odd (void)
{
  check_layers (&odd_config, odd_config.max_positions + 3);
}

static void
test_reference_plain (void)
{
  const MemraDsv4Config config = {
    .hidden = 2,
    .n_heads = 1,
    .n_kv_heads = 1,
    .head_dim = 2,
    .n_experts = 1,
    .n_active_experts = 1,
    .expert_hidden = 1,
    .max_positions = 1,
  };

  check_layers (&config, 2);
}

static void
run_steps (Dsv4Fixture *f, MemraDsv4Layer *layer, guint n_steps, float *result)
{
  g_autoptr (MemraBuffer) hidden = memra_test_buffer_filled (f->stream, 0.5f, odd_config.hidden);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < n_steps; i++)
    dsv4_assert_ok (memra_dsv4_layer_forward (layer, f->stream, hidden, &error), error);
  memra_test_read_floats (hidden, f->stream, result, odd_config.hidden);
}

/* After a reset the same steps give the same bits, and so does another layer with the same seed; another seed does not.
 */
static void
test_same_bits (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (MemraDsv4Layer) twin = NULL;
  g_autoptr (MemraDsv4Layer) other = NULL;
  g_autoptr (GError) error = NULL;
  float first[30], again[30];

  dsv4_fixture_init (&f);
  layer = make_layer (&f, &odd_config, 7);
  twin = make_layer (&f, &odd_config, 7);
  other = make_layer (&f, &odd_config, 8);
  run_steps (&f, layer, 5, first);
  assert_position (&f, layer, 5);

  dsv4_assert_ok (memra_dsv4_layer_reset (layer, f.stream, &error), error);
  assert_position (&f, layer, 0);
  run_steps (&f, layer, 5, again);
  g_assert_cmpmem (first, sizeof first, again, sizeof again);
  run_steps (&f, twin, 5, again);
  g_assert_cmpmem (first, sizeof first, again, sizeof again);

  run_steps (&f, other, 5, again);
  for (gsize i = 0; i < G_N_ELEMENTS (first); i++)
    g_assert_cmpfloat (first[i], !=, again[i]);
}

/* A step depends on the steps before it: the same input gives something else after another than at the start. */
static void
test_stateful (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_auto (Vector) early = { 0 };
  g_auto (Vector) late = { 0 };
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (GError) error = NULL;
  float input[30], first[30], second[30];
  double difference = 0;

  dsv4_fixture_init (&f);
  layer = make_layer (&f, &odd_config, 1);
  vector_init_random (&early, &f, odd_config.hidden, 1);
  memra_test_read_floats (early.buffer, f.stream, input, odd_config.hidden);
  vector_init_floats (&late, &f, input, odd_config.hidden);
  dsv4_assert_ok (memra_dsv4_layer_forward (layer, f.stream, early.buffer, &error), error);
  run_steps (&f, layer, 1, first);
  dsv4_assert_ok (memra_dsv4_layer_forward (layer, f.stream, late.buffer, &error), error);
  memra_test_read_floats (early.buffer, f.stream, first, odd_config.hidden);
  memra_test_read_floats (late.buffer, f.stream, second, odd_config.hidden);
  for (gsize i = 0; i < G_N_ELEMENTS (first); i++)
    difference = MAX (difference, fabs ((double) first[i] - (double) second[i]));
  g_assert_cmpfloat (difference, >, 0.01);
}

/* Twelve layers, far beyond the cache, each step fed with the one before. */
static void
test_stays_finite (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (GPtrArray) layers = g_ptr_array_new_with_free_func ((GDestroyNotify) memra_dsv4_layer_free);
  g_autoptr (MemraBuffer) hidden = NULL;
  g_autoptr (GError) error = NULL;
  float values[30];

  dsv4_fixture_init (&f);
  hidden = memra_test_buffer_filled (f.stream, 1, odd_config.hidden);
  for (guint i = 0; i < 12; i++)
    g_ptr_array_add (layers, make_layer (&f, &odd_config, i));
  for (guint step = 0; step < 100; step++)
    for (guint i = 0; i < layers->len; i++)
      dsv4_assert_ok (memra_dsv4_layer_forward (g_ptr_array_index (layers, i), f.stream, hidden, &error), error);
  memra_test_read_floats (hidden, f.stream, values, odd_config.hidden);
  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_assert_true (isfinite (values[i]));
      g_assert_cmpfloat (fabsf (values[i]), <, 5000);
    }
}

static void
test_zero_hidden (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_auto (Vector) hidden = { 0 };
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  layer = make_layer (&f, &odd_config, 1);
  vector_init_random (&hidden, &f, odd_config.hidden, 0);
  dsv4_assert_ok (memra_dsv4_layer_forward (layer, f.stream, hidden.buffer, &error), error);
  vector_assert (&hidden, &f, 0);
}

static void
test_small_hidden (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (MemraBuffer) hidden = NULL;
  g_autoptr (GError) error = NULL;

  dsv4_fixture_init (&f);
  layer = make_layer (&f, &odd_config, 1);
  hidden = memra_test_buffer_filled (f.stream, 1, odd_config.hidden - 1);
  dsv4_assert_refused (memra_dsv4_layer_forward (layer, f.stream, hidden, &error), &error,
                       MEMRA_DRIVER_ERROR_INVALID_ARGUMENT,
                       "Could not run a decoder layer: buffer ‘hidden’ has 116 bytes, and 120 are needed");
  assert_position (&f, layer, 0);
}

static void
refuse_config (Dsv4Fixture *f, const MemraDsv4Config *config, const char *why)
{
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *message = g_strdup_printf ("Could not make a decoder layer: %s", why);

  layer = memra_dsv4_layer_new (f->dsv4, f->stream, config, 0, &error);
  dsv4_assert_refused (layer != NULL, &error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, message);
}

static void
test_impossible_config (void)
{
  g_auto (Dsv4Fixture) f = { 0 };

  dsv4_fixture_init (&f);
#define REFUSES(field, value, why)                                                                                     \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    MemraDsv4Config config_;                                                                                           \
    memra_dsv4_config_init_small (&config_);                                                                           \
    config_.field = (value);                                                                                           \
    refuse_config (&f, &config_, (why));                                                                               \
  }                                                                                                                    \
  G_STMT_END
  REFUSES (hidden, 0, "‘hidden’ is 0");
  REFUSES (n_heads, 0, "‘n_heads’ is 0");
  REFUSES (n_kv_heads, 0, "‘n_kv_heads’ is 0");
  REFUSES (head_dim, 0, "‘head_dim’ is 0");
  REFUSES (n_experts, 0, "‘n_experts’ is 0");
  REFUSES (n_active_experts, 0, "‘n_active_experts’ is 0");
  REFUSES (expert_hidden, 0, "‘expert_hidden’ is 0");
  REFUSES (max_positions, 0, "‘max_positions’ is 0");
  REFUSES (hidden, 250, "‘hidden’ is 250, not a multiple of ‘n_heads’, 8");
  REFUSES (n_kv_heads, 3, "‘n_heads’ is 8, not a multiple of ‘n_kv_heads’, 3");
  REFUSES (head_dim, 33, "‘head_dim’ is 33, which is odd");
  REFUSES (head_dim, 4098, "‘head_dim’ is 4098, more than 4096");
  REFUSES (n_active_experts, 9, "‘n_active_experts’ is 9, more than ‘n_experts’, 8");
  REFUSES (expert_hidden, G_MAXUINT32, "‘n_active_experts’ times ‘expert_hidden’ is more than 4294967295");
#undef REFUSES
}

static void
test_config_limits (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  MemraDsv4Config config;

  dsv4_fixture_init (&f);
  memra_dsv4_config_init_small (&config);
  config.n_experts = 20;
  config.n_active_experts = 9;
  refuse_config (&f, &config, "‘n_active_experts’ is 9, more than 8");

  memra_dsv4_config_init_small (&config);
  config.hidden = config.n_heads = config.n_kv_heads = 1 << 24;
  config.head_dim = 4096;
  refuse_config (&f, &config, "‘n_heads’ times ‘head_dim’ is more than 4294967295");

  config = odd_config;
  config.hidden = G_MAXUINT32 - 3; /* 6 divides it */
  config.n_experts = G_MAXUINT32;
  config.expert_hidden = G_MAXUINT32 / 8;
  refuse_config (&f, &config, "it would take more memory than there can be");
}

/* With tracking on, a layer's buffers carry events; it works all the same. */
static void
test_event_tracking (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (MemraDsv4Layer) plain = NULL;
  float first[30], again[30];

  dsv4_fixture_init (&f);
  plain = make_layer (&f, &odd_config, 3);
  run_steps (&f, plain, 2, first);
  memra_context_set_event_tracking (f.context, TRUE);
  layer = make_layer (&f, &odd_config, 3);
  g_assert_true (memra_buffer_carries_events (memra_dsv4_layer_get_position (layer)));
  run_steps (&f, layer, 2, again);
  memra_context_set_event_tracking (f.context, FALSE);
  g_assert_cmpmem (first, sizeof first, again, sizeof again);
}

/* Whatever allocation or copy fails while a layer is made: an error, and nothing left behind. */
static void
test_new_fails (void)
{
  static const char *const entries[] = { "cuMemAlloc", "cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuStreamSynchronize" };
  g_auto (Dsv4Fixture) f = { 0 };
  const MemraHostControl *control = memra_test_host_control ();
  unsigned long long n_objects;

  if (!memra_test_need_host ())
    return;
  dsv4_fixture_init (&f);
  n_objects = control->count_objects ("*");
  for (gsize e = 0; e < G_N_ELEMENTS (entries); e++)
    {
      gboolean failed = TRUE;
      guint nth;

      for (nth = 1; failed && nth < 100; nth++)
        {
          g_autoptr (GError) error = NULL;
          g_autoptr (MemraDsv4Layer) layer = NULL;
          const unsigned long long n_faults = control->count_faults ();

          g_assert_cmpint (control->inject_fault (entries[e], nth, 2), ==, 0);
          layer = memra_dsv4_layer_new (f.dsv4, f.stream, &odd_config, 1, &error);
          failed = control->count_faults () != n_faults;
          control->clear_faults ();
          g_assert_true ((layer == NULL) == failed);
          if (failed)
            {
              g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY);
              g_assert_cmpuint (control->count_objects ("*"), ==, n_objects);
            }
        }
      g_test_message ("%s: %u calls", entries[e], nth - 2);
      g_assert_cmpuint (nth, >, entries[e][2] == 'S' ? 1 : 2);
    }
}

/* Whatever launch of a step fails: an error that names the kernel. */
static void
test_forward_fails (void)
{
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraDsv4Layer) layer = NULL;
  g_autoptr (MemraBuffer) hidden = NULL;
  const MemraHostControl *control = memra_test_host_control ();

  if (!memra_test_need_host ())
    return;
  dsv4_fixture_init (&f);
  layer = make_layer (&f, &odd_config, 1);
  hidden = memra_test_buffer_filled (f.stream, 1, odd_config.hidden);
  for (guint nth = 1; nth <= 20; nth++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (control->inject_fault ("cuLaunchKernel", nth, 701), ==, 0);
      g_assert_false (memra_dsv4_layer_forward (layer, f.stream, hidden, &error));
      control->clear_faults ();
      g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
      g_assert_true (g_str_has_prefix (error->message, "Could not launch memra_dsv4_"));
      g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, 701);
      assert_position (&f, layer, 0);
    }
}

typedef struct
{
  MemraDsv4Layer *layer;
  MemraBuffer *hidden;
} Step;

static gboolean
forward_body (MemraStream *stream, gpointer user_data, GError **error)
{
  const Step *step = (const Step *) user_data;

  return memra_dsv4_layer_forward (step->layer, stream, step->hidden, error);
}

/* A captured step: each kernel in its section, and five replays are five more steps, bit for bit as without a graph. */
static void
test_capture (void)
{
  static const char *const kernels[] = {
    "attention memra_dsv4_rmsnorm",     "attention memra_dsv4_matvec",      "attention memra_dsv4_matvec",
    "attention memra_dsv4_matvec",      "attention memra_dsv4_rope",        "attention memra_dsv4_rope",
    "attention memra_dsv4_kv_append",   "attention memra_dsv4_attention",   "attention memra_dsv4_matvec",
    "attention memra_dsv4_add_inplace", "experts memra_dsv4_rmsnorm",       "experts memra_dsv4_matvec",
    "experts memra_dsv4_route",         "experts memra_dsv4_expert_matvec", "experts memra_dsv4_expert_matvec",
    "experts memra_dsv4_silu_gate",     "experts memra_dsv4_expert_matvec", "experts memra_dsv4_expert_sum",
    "experts memra_dsv4_add_inplace",   "advance memra_dsv4_advance",
  };
  g_auto (Dsv4Fixture) f = { 0 };
  g_autoptr (MemraDsv4Layer) eager = NULL;
  g_autoptr (MemraDsv4Layer) captured = NULL;
  g_autoptr (MemraBuffer) hidden = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraCensus *census;
  float wanted[30], got[30];
  Step step;

  dsv4_fixture_init (&f);
  eager = make_layer (&f, &odd_config, 5);
  captured = make_layer (&f, &odd_config, 5);
  hidden = memra_test_buffer_filled (f.stream, 0.5f, odd_config.hidden);
  run_steps (&f, eager, 6, wanted);

  step.layer = captured;
  step.hidden = hidden;
  capture = memra_capture_layer (f.stream, 0, NULL, forward_body, &step, &error);
  g_assert_no_error (error);
  assert_position (&f, captured, 1);
  for (guint i = 0; i < 5; i++)
    dsv4_assert_ok (memra_layer_capture_replay (capture, &error), error);
  assert_position (&f, captured, 6);
  memra_test_read_floats (hidden, f.stream, got, odd_config.hidden);
  g_assert_cmpmem (got, sizeof got, wanted, sizeof wanted);

  census = memra_layer_capture_get_census (capture);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, G_N_ELEMENTS (kernels));
  g_assert_cmpuint (memra_census_get_n_kernel_nodes (census), ==, G_N_ELEMENTS (kernels));
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      const MemraKernelNode *node = memra_census_get_kernel_node (census, i);
      g_autofree char *text
          = g_strconcat (memra_kernel_node_get_section (node), " ", memra_kernel_node_get_name (node), NULL);

      g_assert_cmpstr (text, ==, kernels[i]);
    }
}

static void
add_tests (void)
{
  memra_test_add ("/dsv4-layer/reference-small", test_reference_small);
  memra_test_add ("/dsv4-layer/reference-odd", test_reference_odd);
  memra_test_add ("/dsv4-layer/reference-plain", test_reference_plain);
  memra_test_add ("/dsv4-layer/same-bits", test_same_bits);
  memra_test_add ("/dsv4-layer/stateful", test_stateful);
  memra_test_add ("/dsv4-layer/stays-finite", test_stays_finite);
  memra_test_add ("/dsv4-layer/zero-hidden", test_zero_hidden);
  memra_test_add ("/dsv4-layer/small-hidden", test_small_hidden);
  memra_test_add ("/dsv4-layer/impossible-config", test_impossible_config);
  memra_test_add ("/dsv4-layer/config-limits", test_config_limits);
  memra_test_add ("/dsv4-layer/event-tracking", test_event_tracking);
  memra_test_add ("/dsv4-layer/capture", test_capture);
  memra_test_add ("/dsv4-layer/new-fails", test_new_fails);
  memra_test_add ("/dsv4-layer/forward-fails", test_forward_fails);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
