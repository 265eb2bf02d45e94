/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many layers, and large ones. */
#include "config.h"

#include "capture-fixture.h"

#define N_LAYERS  61
#define N_KERNELS 10000

typedef struct
{
  Fixture *fixture;
  MemraBuffer *position;
  guint n_kernels;
} Scale;

/* Each layer of the model is shown to run in its turn: dst = dst * 2 + 2 would differ in any other order or number. */
static gboolean
doubling_body (MemraStream *stream, gpointer data, GError **error)
{
  Scale *scale = (Scale *) data;
  Fixture *fixture = scale->fixture;

  return memra_stream_mark (stream, "double", error)
         && memra_dsv4_add_inplace (fixture->dsv4, stream, fixture->dst, fixture->dst, FIXTURE_N, error)
         && memra_stream_mark (stream, "step", error) && fixture_add (fixture, stream, error)
         && memra_dsv4_advance (fixture->dsv4, stream, scale->position, error);
}

static guint32
read_position (Scale *scale)
{
  guint32 position = 0;

  g_assert_true (
      memra_buffer_copy_to_host (scale->position, 0, &position, sizeof position, scale->fixture->stream, NULL));
  return position;
}

/* x -> 2x + 2 in single precision, as the layers do it. */
static float
expected_after (guint n_layers)
{
  float x = 1.0f;

  for (guint i = 0; i < n_layers; i++)
    {
      x = x + x;
      x = x + 2.0f;
    }
  return x;
}

static void
test_layers (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) position = NULL;
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *captures[N_LAYERS];
  Scale scale = { &fixture, NULL, 0 };
  guint32 zero = 0;

  fixture_init (&fixture);
  scale.position = position = memra_buffer_new_from_host (fixture.stream, &zero, sizeof zero, &error);
  for (guint i = 0; i < N_LAYERS; i++)
    {
      captures[i] = memra_capture_layer (fixture.stream, i, NULL, doubling_body, &scale, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (memra_layer_capture_get_layer (captures[i]), ==, i);
      g_assert_cmpuint (memra_layer_capture_get_kernels (captures[i])->len, ==, 3);
      g_assert_cmpuint (read_position (&scale), ==, i + 1);
    }
  memra_test_assert_floats (fixture.dst, fixture.stream, expected_after (N_LAYERS), FIXTURE_N);

  for (guint round = 0; round < 2; round++)
    for (guint i = 0; i < N_LAYERS; i++)
      {
        g_assert_true (round == 0 ? memra_layer_capture_replay (captures[i], &error)
                                  : memra_layer_capture_launch (captures[i], &error));
        g_assert_no_error (error);
      }
  g_assert_cmpuint (read_position (&scale), ==, 3 * N_LAYERS);
  for (guint i = 0; i < N_LAYERS; i++)
    {
      g_assert_cmpuint (memra_layer_capture_get_replays (captures[i]), ==, 2);
      memra_layer_capture_unref (captures[i]);
    }
  memra_test_assert_stream_usable (fixture.stream);
}

/* The model again, with values that stay small enough to be exact: the layers are replayed in their order. */
static gboolean
ordered_body (MemraStream *stream, gpointer data, GError **error)
{
  Scale *scale = (Scale *) data;

  /* One layer doubles, the next adds two: any other order gives another number. */
  return scale->n_kernels % 2 == 0 ? memra_dsv4_add_inplace (scale->fixture->dsv4, stream, scale->fixture->dst,
                                                             scale->fixture->dst, FIXTURE_N, error)
                                   : fixture_add (scale->fixture, stream, error);
}

static void
test_layers_in_order (void)
{
  enum
  {
    N = 20
  };
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *captures[N];
  Scale scale = { &fixture, NULL, 0 };
  float x = 1.0f;

  fixture_init (&fixture);
  for (guint i = 0; i < N; i++)
    {
      scale.n_kernels = i;
      captures[i] = memra_capture_layer_record (fixture.stream, i, NULL, ordered_body, &scale, &error);
      g_assert_no_error (error);
    }
  fixture_assert_ran (&fixture, 0);
  for (guint i = 0; i < N; i++)
    {
      g_assert_true (memra_layer_capture_replay (captures[i], &error));
      g_assert_no_error (error);
      x = i % 2 == 0 ? x + x : x + 2.0f;
    }
  memra_test_assert_floats (fixture.dst, fixture.stream, x, FIXTURE_N);
  for (guint i = 0; i < N; i++)
    memra_layer_capture_unref (captures[i]);
}

static gboolean
large_body (MemraStream *stream, gpointer data, GError **error)
{
  Scale *scale = (Scale *) data;

  for (guint i = 0; i < scale->n_kernels; i++)
    {
      if (i == scale->n_kernels / 2 && !memra_stream_mark (stream, "second half", error))
        return FALSE;
      if (!fixture_add (scale->fixture, stream, error))
        return FALSE;
    }
  return TRUE;
}

static void
test_large_layer (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Scale scale = { &fixture, NULL, N_KERNELS };
  MemraCensus *census;
  GPtrArray *kernels;
  const gint64 *timings;

  fixture_init (&fixture);
  capture = memra_capture_layer (fixture.stream, 0, NULL, large_body, &scale, &error);
  g_assert_no_error (error);
  census = memra_layer_capture_get_census (capture);
  kernels = memra_layer_capture_get_kernels (capture);
  g_assert_cmpuint (kernels->len, ==, N_KERNELS);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, N_KERNELS);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, N_KERNELS);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, N_KERNELS - 1);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 2);
  g_assert_cmpstr (g_ptr_array_index (kernels, N_KERNELS - 1), ==, FIXTURE_KERNEL);
  g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, N_KERNELS / 2 - 1)), ==, NULL);
  g_assert_cmpstr (memra_kernel_node_get_section (memra_census_get_kernel_node (census, N_KERNELS / 2)), ==,
                   "second half");
  fixture_assert_ran (&fixture, N_KERNELS);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 2 * N_KERNELS);

  timings = memra_layer_capture_get_timings (capture, NULL);
  g_test_message ("%d kernels: body %.1f ms, census %.1f ms, instantiate %.1f ms, upload %.1f ms, run %.1f ms",
                  N_KERNELS, timings[MEMRA_CAPTURE_STEP_BODY] / 1e6, timings[MEMRA_CAPTURE_STEP_CENSUS] / 1e6,
                  timings[MEMRA_CAPTURE_STEP_INSTANTIATE] / 1e6, timings[MEMRA_CAPTURE_STEP_UPLOAD] / 1e6,
                  (timings[MEMRA_CAPTURE_STEP_LAUNCH] + timings[MEMRA_CAPTURE_STEP_COMPLETION]) / 1e6);
  g_test_minimized_result (timings[MEMRA_CAPTURE_STEP_CENSUS] / 1e9, "census of %d kernels", N_KERNELS);
}

/* Captured again and again on one stream, nothing piles up. */
static void
test_again_and_again (void)
{
  g_auto (Fixture) fixture = { 0 };
  const MemraHostControl *control = memra_test_host_control ();
  guint64 objects = 0;

  fixture_init (&fixture);
  memra_layer_capture_unref (fixture_capture (&fixture, 0));
  if (control != NULL)
    objects = control->count_objects ("*");
  for (guint i = 1; i <= 200; i++)
    memra_layer_capture_unref (fixture_capture (&fixture, i));
  if (control != NULL)
    g_assert_cmpuint (control->count_objects ("*"), ==, objects);
  fixture_assert_ran (&fixture, 201);
}

/* A layer whose buffer is another one each time. */
static gboolean
fresh_buffer_body (MemraStream *stream, gpointer data, GError **error)
{
  Scale *scale = (Scale *) data;
  g_autoptr (MemraBuffer) buffer = memra_buffer_new (stream, FIXTURE_BYTES, error);

  return buffer != NULL && memra_buffer_copy (buffer, scale->fixture->src, stream, error)
         && memra_dsv4_add_inplace (scale->fixture->dsv4, stream, scale->fixture->dst, buffer, FIXTURE_N, error);
}

/* Updated again and again, a capture lets go of what it used before, whether it is launched in between or not. */
static void
test_updates (gconstpointer replay)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Scale scale = { &fixture, NULL, 0 };
  const MemraHostControl *control = memra_test_host_control ();
  guint64 allocations = 0;
  guint ran = 1;

  fixture_init (&fixture);
  if (control != NULL)
    allocations = control->count_objects ("allocation");
  capture = memra_capture_layer (fixture.stream, 0, NULL, fresh_buffer_body, &scale, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 20; i++)
    {
      g_assert_true (memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, fresh_buffer_body, &scale,
                                                 NULL, &error));
      g_assert_no_error (error);
      if (GPOINTER_TO_INT (replay))
        {
          g_assert_true (memra_layer_capture_replay (capture, &error));
          g_assert_no_error (error);
          ran++;
        }
      if (control != NULL) /* the new one, and the last one that a launch may still be using */
        g_assert_cmpuint (control->count_objects ("allocation"), <=, allocations + 2);
    }
  fixture_assert_ran (&fixture, ran);
  g_clear_pointer (&capture, memra_layer_capture_unref);
  if (control != NULL)
    g_assert_cmpuint (control->count_objects ("allocation"), ==, allocations);
}

static void
add_tests (void)
{
  memra_test_add ("/scale/61-layers", test_layers);
  memra_test_add ("/scale/layers-in-order", test_layers_in_order);
  memra_test_add ("/scale/10000-kernels", test_large_layer);
  memra_test_add ("/scale/again-and-again", test_again_and_again);
  memra_test_add_data ("/scale/updates/launched", GINT_TO_POINTER (TRUE), test_updates);
  memra_test_add_data ("/scale/updates/never-launched", GINT_TO_POINTER (FALSE), test_updates);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
