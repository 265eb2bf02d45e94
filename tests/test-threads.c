/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several threads, each with a stream of its own: what one does breaks nothing of the others, unless it means to. */
#include "config.h"

#include "capture-fixture.h"

#include "device/device-private.h"

#define N_THREADS 8
#define N_ROUNDS  20

/* ---- All at once ---- */

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  guint waiting;
} Barrier;

static void
barrier_wait (Barrier *barrier)
{
  pthread_mutex_lock (&barrier->lock);
  if (++barrier->waiting == N_THREADS)
    pthread_cond_broadcast (&barrier->changed);
  while (barrier->waiting < N_THREADS)
    pthread_cond_wait (&barrier->changed, &barrier->lock);
  pthread_mutex_unlock (&barrier->lock);
}

typedef struct
{
  Fixture *shared; /* the context and the kernels are everybody's */
  Barrier *barrier;
  guint index;
  int mode; /* -1: all of them in turn */
} Worker;

typedef struct
{
  MemraDsv4 *dsv4;
  MemraBuffer *dst, *src;
  guint calls;
} Private;

static gboolean
private_body (MemraStream *stream, gpointer data, GError **error)
{
  Private *own = (Private *) data;

  own->calls++;
  return memra_stream_mark (stream, "add", error)
         && memra_dsv4_add_inplace (own->dsv4, stream, own->dst, own->src, FIXTURE_N, error);
}

/* A whole life of a capture, with allocation and release of everything that it uses. */
static void
live_once (Worker *worker, guint round)
{
  Fixture *shared = worker->shared;
  g_autoptr (MemraCaptureOptions) options = memra_capture_options_new ();
  g_autoptr (MemraStream) stream = memra_test_stream_new (shared->context);
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  Private own = { shared->dsv4, NULL, NULL, 0 };
  g_autoptr (MemraBuffer) dst = memra_test_buffer_filled (stream, (float) worker->index, FIXTURE_N);
  g_autoptr (MemraBuffer) src = memra_test_buffer_filled (stream, (float) (round + 1), FIXTURE_N);

  own.dst = dst;
  own.src = src;
  memra_capture_options_set_mode (
      options, (MemraCaptureMode) (worker->mode < 0 ? (int) (worker->index + round) % 3 : worker->mode));
  capture = memra_capture_layer (stream, worker->index, options, private_body, &own, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (own.calls, ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 1);
  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (memra_layer_capture_replay (capture, &error));
      g_assert_no_error (error);
    }
  memra_test_assert_floats (dst, stream, (float) worker->index + 3.0f * (float) (round + 1), FIXTURE_N);
}

static gpointer
live (gpointer data)
{
  Worker *worker = (Worker *) data;

  barrier_wait (worker->barrier);
  for (guint round = 0; round < N_ROUNDS; round++)
    {
      CUcontext current = (CUcontext) worker;

      live_once (worker, round);
      memra_test_assert_cu (worker->shared->cu->cuCtxGetCurrent (&current));
      g_assert_null (current);
      g_assert_cmpint (fixture_get_thread_mode (worker->shared->cu), ==, MCU_CAPTURE_MODE_GLOBAL);
    }
  return NULL;
}

static void
test_all_at_once (gconstpointer mode)
{
  g_auto (Fixture) fixture = { 0 };
  Barrier barrier = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
  Worker workers[N_THREADS];
  GThread *threads[N_THREADS];

  fixture_init (&fixture);
  for (guint i = 0; i < N_THREADS; i++)
    {
      workers[i] = (Worker){ &fixture, &barrier, i, GPOINTER_TO_INT (mode) };
      threads[i] = g_thread_new ("worker", live, &workers[i]);
    }
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- One capture, launched by all ---- */

static gpointer
launch_often (gpointer capture)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N_ROUNDS; i++)
    {
      g_assert_true (i & 1 ? memra_layer_capture_replay ((MemraLayerCapture *) capture, &error)
                           : memra_layer_capture_launch ((MemraLayerCapture *) capture, &error));
      g_assert_no_error (error);
    }
  memra_layer_capture_unref ((MemraLayerCapture *) capture);
  return NULL;
}

static void
test_one_capture (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraLayerCapture *capture;
  GThread *threads[N_THREADS];

  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 0);
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("launcher", launch_often, memra_layer_capture_ref (capture));
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  g_assert_cmpuint (memra_layer_capture_get_replays (capture), ==, N_THREADS * N_ROUNDS);
  fixture_assert_ran (&fixture, 1 + N_THREADS * N_ROUNDS);
  memra_layer_capture_unref (capture);
}

/* ---- One capture, closed by all: everything is released, and once ---- */

typedef struct
{
  MemraLayerCapture *capture;
  Barrier *barrier;
} Closer;

static gpointer
close_it (gpointer data)
{
  Closer *closer = (Closer *) data;

  barrier_wait (closer->barrier);
  g_assert_true (memra_layer_capture_close (closer->capture, NULL));
  return NULL;
}

static void
count_destroyed (gpointer count)
{
  g_atomic_int_inc ((gint *) count);
}

static void
test_closed_by_all (void)
{
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  for (guint round = 0; round < N_ROUNDS; round++)
    {
      Barrier barrier = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
      Closer closer = { fixture_capture (&fixture, round), &barrier };
      GThread *threads[N_THREADS];
      gint destroyed = 0;

      for (guint i = 0; i < 50; i++)
        memra_layer_capture_retain (closer.capture, &destroyed, count_destroyed);
      g_assert_true (memra_layer_capture_replay (closer.capture, NULL));
      for (guint i = 0; i < N_THREADS; i++)
        threads[i] = g_thread_new ("closer", close_it, &closer);
      for (guint i = 0; i < N_THREADS; i++)
        g_thread_join (threads[i]);
      g_assert_cmpint (destroyed, ==, 50);
      memra_layer_capture_unref (closer.capture);
      g_assert_cmpint (destroyed, ==, 50);
    }
  fixture_assert_good_as_new (&fixture, 2 * N_ROUNDS);
}

/* ---- One thread breaks the captures of others, those that can be broken ---- */

typedef struct
{
  Fixture *fixture;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  guint open;      /* captures that stand open */
  gboolean broken; /* the breaker has done its deed */
  guint expected;
} Meeting;

typedef struct
{
  Meeting *meeting;
  int mode;
  MemraStream *stream;
  MemraBuffer *dst;
  GError *error;
  gboolean succeeded;
} Victim;

static gboolean
victim_body (MemraStream *stream, gpointer data, GError **error)
{
  Victim *victim = (Victim *) data;
  Meeting *meeting = victim->meeting;

  if (!memra_dsv4_add_inplace (meeting->fixture->dsv4, stream, victim->dst, meeting->fixture->src, FIXTURE_N, error))
    return FALSE;
  pthread_mutex_lock (&meeting->lock);
  meeting->open++;
  pthread_cond_broadcast (&meeting->changed);
  while (!meeting->broken)
    pthread_cond_wait (&meeting->changed, &meeting->lock);
  pthread_mutex_unlock (&meeting->lock);
  return TRUE;
}

static gpointer
be_victim (gpointer data)
{
  Victim *victim = (Victim *) data;
  g_autoptr (MemraCaptureOptions) options = memra_capture_options_new ();
  g_autoptr (MemraLayerCapture) capture = NULL;

  memra_capture_options_set_mode (options, (MemraCaptureMode) victim->mode);
  capture = memra_capture_layer (victim->stream, (guint) victim->mode, options, victim_body, victim, &victim->error);
  victim->succeeded = capture != NULL;
  return NULL;
}

/* One victim of each mode; then `deed` by this thread, while all three stand open. */
static void
meet (Fixture *fixture, McuResult (*deed) (Fixture *fixture), McuResult answer, const gboolean breaks[3],
      const char *entry)
{
  Meeting meeting = { fixture, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
  Victim victims[3];
  GThread *threads[3];

  for (int i = 0; i < 3; i++)
    {
      victims[i] = (Victim){ &meeting, i, memra_test_stream_new (fixture->context), NULL, NULL, FALSE };
      victims[i].dst = memra_test_buffer_filled (victims[i].stream, 1.0f, FIXTURE_N);
    }
  for (int i = 0; i < 3; i++)
    threads[i] = g_thread_new ("victim", be_victim, &victims[i]);
  pthread_mutex_lock (&meeting.lock);
  while (meeting.open < 3)
    pthread_cond_wait (&meeting.changed, &meeting.lock);
  pthread_mutex_unlock (&meeting.lock);
  fixture_enter (fixture);
  g_assert_cmpint (deed (fixture), ==, answer);
  fixture_leave (fixture);
  pthread_mutex_lock (&meeting.lock);
  meeting.broken = TRUE;
  pthread_cond_broadcast (&meeting.changed);
  pthread_mutex_unlock (&meeting.lock);

  for (int i = 0; i < 3; i++)
    {
      g_thread_join (threads[i]);
      g_assert_cmpint (victims[i].succeeded, ==, !breaks[i]);
      if (breaks[i])
        {
          assert_capture_error (victims[i].error, i, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, 901,
                                MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
          if (memra_driver_has_entry (memra_test_driver (), "cuLogsRegisterCallback"))
            {
              assert_contains (victims[i].error->message, entry);
              assert_contains (victims[i].error->message, "on another thread");
            }
        }
      memra_test_assert_floats (victims[i].dst, victims[i].stream, breaks[i] ? 1.0f : 3.0f, FIXTURE_N);
      memra_test_assert_stream_usable (victims[i].stream);
      g_clear_error (&victims[i].error);
      memra_buffer_unref (victims[i].dst);
      memra_stream_unref (victims[i].stream);
    }
}

static McuResult
allocate (Fixture *fixture)
{
  CUdeviceptr address = 0;

  return fixture->cu->cuMemAlloc (&address, 4096);
}

static McuResult
allocate_relaxed (Fixture *fixture)
{
  CUdeviceptr address = 0;
  McuResult result;

  fixture_set_thread_mode (fixture->cu, MCU_CAPTURE_MODE_RELAXED);
  result = fixture->cu->cuMemAlloc (&address, 4096);
  if (result == MCU_SUCCESS)
    result = fixture->cu->cuMemFree (address);
  fixture_set_thread_mode (fixture->cu, MCU_CAPTURE_MODE_GLOBAL);
  return result;
}

static McuResult
synchronize (Fixture *fixture)
{
  return fixture->cu->cuCtxSynchronize ();
}

/* Everything of the library that may be done at any time. */
static McuResult
use_library (Fixture *fixture)
{
  g_autoptr (MemraDsv4) dsv4 = memra_dsv4_new (fixture->context, NULL);

  g_assert_nonnull (dsv4);
  fixture->current = memra_context_get_cuda_context (fixture->context);
  fixture_assert_good_as_new (fixture, 0);
  fixture->current = NULL;
  return MCU_SUCCESS;
}

static void
test_breaker_allocates (void)
{
  static const gboolean breaks[] = { TRUE, FALSE, FALSE };
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  meet (&fixture, allocate, MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED, breaks, "cuMemAlloc");
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_breaker_synchronizes (void)
{
  static const gboolean breaks[] = { TRUE, TRUE, TRUE };
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  meet (&fixture, synchronize, MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED, breaks, "cuCtxSynchronize");
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_breaker_relaxes (void)
{
  static const gboolean breaks[] = { FALSE, FALSE, FALSE };
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  meet (&fixture, allocate_relaxed, MCU_SUCCESS, breaks, NULL);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_breaker_uses_library (void)
{
  static const gboolean breaks[] = { FALSE, FALSE, FALSE };
  g_auto (Fixture) fixture = { 0 };

  fixture_init (&fixture);
  meet (&fixture, use_library, MCU_SUCCESS, breaks, NULL);
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- Threads that share a handle which means another stream to each of them ---- */

static gpointer
capture_per_thread (gpointer data)
{
  Victim *victim = (Victim *) data;
  CUcontext popped;

  fixture_enter (victim->meeting->fixture); /* the per-thread stream is of the current context */
  be_victim (victim);
  g_assert_true (memra_stream_synchronize (victim->stream, NULL));
  memra_test_assert_cu (victim->meeting->fixture->cu->cuCtxPopCurrent (&popped));
  return NULL;
}

/* Each capture keeps its own buffer alive, though the streams have the same handle. */
static void
test_per_thread_streams (void)
{
  g_auto (Fixture) fixture = { 0 };
  Meeting meeting = { &fixture, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };
  Victim victims[2];
  GThread *threads[2];
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  for (int i = 0; i < 2; i++)
    {
      victims[i] = (Victim){ &meeting, MCU_CAPTURE_MODE_RELAXED, NULL, NULL, NULL, FALSE };
      victims[i].stream = memra_stream_wrap (fixture.context, MCU_STREAM_PER_THREAD, &error);
      g_assert_no_error (error);
      victims[i].dst = memra_test_buffer_filled (fixture.stream, 1.0f, FIXTURE_N);
    }
  for (int i = 0; i < 2; i++)
    threads[i] = g_thread_new ("per-thread", capture_per_thread, &victims[i]);
  pthread_mutex_lock (&meeting.lock);
  while (meeting.open < 2)
    pthread_cond_wait (&meeting.changed, &meeting.lock);
  pthread_mutex_unlock (&meeting.lock);

  /* Both bodies have issued their work, and wait: each recording has two buffers and a kernel. */
  g_assert_cmpuint (fixture.context->recordings->len, ==, 2);
  for (guint i = 0; i < 2; i++)
    {
      const MemraRecording *recording = g_ptr_array_index (fixture.context->recordings, i);

      g_assert_cmpuint (g_hash_table_size (recording->retained), ==, 3);
    }
  pthread_mutex_lock (&meeting.lock);
  meeting.broken = TRUE;
  pthread_cond_broadcast (&meeting.changed);
  pthread_mutex_unlock (&meeting.lock);
  for (int i = 0; i < 2; i++)
    {
      g_thread_join (threads[i]);
      g_assert_no_error (victims[i].error);
      g_assert_true (victims[i].succeeded);
      memra_test_assert_floats (victims[i].dst, fixture.stream, 3.0f, FIXTURE_N);
      memra_buffer_unref (victims[i].dst);
      memra_stream_unref (victims[i].stream);
    }
  fixture_assert_good_as_new (&fixture, 0);
}

static void
add_tests (void)
{
  memra_test_add_data ("/threads/all-at-once/global", GINT_TO_POINTER (0), test_all_at_once);
  memra_test_add_data ("/threads/all-at-once/thread-local", GINT_TO_POINTER (1), test_all_at_once);
  memra_test_add_data ("/threads/all-at-once/relaxed", GINT_TO_POINTER (2), test_all_at_once);
  memra_test_add_data ("/threads/all-at-once/mixed", GINT_TO_POINTER (-1), test_all_at_once);
  memra_test_add ("/threads/one-capture", test_one_capture);
  memra_test_add ("/threads/closed-by-all", test_closed_by_all);
  memra_test_add ("/threads/breaker/allocates", test_breaker_allocates);
  memra_test_add ("/threads/breaker/synchronizes", test_breaker_synchronizes);
  memra_test_add ("/threads/breaker/relaxes", test_breaker_relaxes);
  memra_test_add ("/threads/breaker/uses-library", test_breaker_uses_library);
  memra_test_add ("/threads/per-thread-streams", test_per_thread_streams);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
