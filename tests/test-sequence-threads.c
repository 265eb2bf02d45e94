/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One sequence and many threads: most launch it, one changes a layer of it, one brings it up to date. */
#include "config.h"

#include "capture-fixture.h"

#define N_THREADS 8
#define N_ROUNDS  20
#define N_LAYERS  3

typedef struct
{
  Fixture *fixture;
  MemraLayerCapture *capture; /* the first layer */
  MemraLayerSequence *sequence;
  gint accepted; /* launches; atomic */
} Shared;

static gpointer
launch_sequence (gpointer data)
{
  Shared *shared = (Shared *) data;

  for (guint i = 0; i < N_ROUNDS; i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean ok = i & 1 ? memra_layer_sequence_replay (shared->sequence, &error)
                          : memra_layer_sequence_launch (shared->sequence, &error);

      g_assert_cmpuint (memra_layer_sequence_get_n_layers (shared->sequence), ==, N_LAYERS);
      if (ok)
        g_atomic_int_inc (&shared->accepted);
      else
        g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_OUTDATED);
    }
  return NULL;
}

static gpointer
change_layer (gpointer data)
{
  Shared *shared = (Shared *) data;

  for (guint i = 0; i < N_ROUNDS; i++)
    {
      g_autoptr (GError) error = NULL;

      memra_layer_capture_update (shared->capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, fixture_body, shared->fixture,
                                  NULL, &error);
      g_assert_no_error (error);
    }
  return NULL;
}

static gpointer
refresh_sequence (gpointer data)
{
  Shared *shared = (Shared *) data;

  for (guint i = 0; i < N_ROUNDS; i++)
    {
      g_autoptr (GError) error = NULL;

      memra_layer_sequence_update (shared->sequence, MEMRA_UPDATE_IN_PLACE_ONLY, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (memra_layer_sequence_check (shared->sequence, &error)
                     || g_error_matches (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_OUTDATED));
    }
  return NULL;
}

static void
test_one_sequence (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *layers[N_LAYERS];
  Shared shared = { &fixture, NULL, NULL, 0 };
  GThread *threads[N_THREADS];

  fixture_init (&fixture);
  stream = memra_test_stream_new (fixture.context); /* that of the layers is captured again and again */
  for (guint i = 0; i < N_LAYERS; i++)
    {
      layers[i] = memra_capture_layer_record (fixture.stream, i, NULL, fixture_body, &fixture, &error);
      g_assert_no_error (error);
    }
  shared.capture = layers[0];
  shared.sequence = memra_layer_sequence_new (stream, layers, N_LAYERS, NULL, &error);
  g_assert_no_error (error);
  threads[0] = g_thread_new ("changer", change_layer, &shared);
  threads[1] = g_thread_new ("refresher", refresh_sequence, &shared);
  for (guint i = 2; i < N_THREADS; i++)
    threads[i] = g_thread_new ("launcher", launch_sequence, &shared);
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_true (memra_layer_sequence_update (shared.sequence, MEMRA_UPDATE_IN_PLACE_ONLY, NULL, &error));
  g_assert_true (memra_layer_sequence_replay (shared.sequence, &error));
  g_assert_no_error (error);
  shared.accepted++;
  g_assert_cmpuint (memra_layer_sequence_get_replays (shared.sequence), ==, shared.accepted);
  g_assert_true (memra_stream_synchronize (stream, &error));
  fixture_assert_ran (&fixture, N_LAYERS * (guint) shared.accepted);
  memra_layer_sequence_unref (shared.sequence);
  for (guint i = 0; i < N_LAYERS; i++)
    memra_layer_capture_unref (layers[i]);
  fixture_assert_good_as_new (&fixture, N_LAYERS * (guint) shared.accepted);
}

static gpointer
close_sequence (gpointer data)
{
  g_autoptr (GError) error = NULL;

  g_assert_true (memra_layer_sequence_close ((MemraLayerSequence *) data, &error));
  g_assert_no_error (error);
  memra_layer_sequence_unref ((MemraLayerSequence *) data);
  return NULL;
}

/* All close it, and each drops a reference. What it was made of is not closed with it. */
static void
test_closed_by_all (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) layer = NULL;
  g_autoptr (GError) error = NULL;
  MemraLayerSequence *sequence;
  GThread *threads[N_THREADS];

  fixture_init (&fixture);
  layer = fixture_capture (&fixture, 0);
  sequence = memra_layer_sequence_new (fixture.stream, &layer, 1, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_sequence_replay (sequence, &error));
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("closer", close_sequence, memra_layer_sequence_ref (sequence));
  memra_layer_sequence_unref (sequence);
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_true (memra_layer_capture_replay (layer, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 3);
}

static void
add_tests (void)
{
  memra_test_add ("/sequence-threads/one-sequence", test_one_sequence);
  memra_test_add ("/sequence-threads/closed-by-all", test_closed_by_all);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
