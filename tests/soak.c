/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Eight threads that capture, replay, update, close and drop captures, their own and each other's, beside a ninth that
 * does what breaks captures of the global mode. Every layer has run as often as it says, and in the end nothing is
 * left.
 *
 * MEMRA_SOAK_SECONDS says how long; 5 is the default, "make nightly" takes 600. Locks are POSIX ones: ThreadSanitizer
 * does not see those inside GLib.
 *
 * NVIDIA's driver 580.159.04 crashes in cuMemAlloc when other threads capture at that moment, without us as well:
 * docs/gpu-results.md, "The suite". On a GPU the breaker therefore allocates only while no other thread is inside the
 * driver; a body lets it in between two calls, so captures are still broken. MEMRA_SOAK_RACE=1 takes that away.
 */
#include "config.h"

#include "capture-fixture.h"

#include <sched.h>
#include <string.h>

#define N_THREADS       8
#define N_SLOTS         16
#define DEFAULT_SECONDS 5

static const char *const kinds[]
    = { "graph", "exec", "capture", "stream", "event", "allocation", "module", "user-object" };

/* ---- A capture that threads share ---- */

typedef struct
{
  gint ref_count;
  MemraStream *stream; /* owned, as are the other two */
  MemraBuffer *dst;
  MemraLayerCapture *capture;
  pthread_rwlock_t lock; /* for writing: whoever captures into the stream again; taken before the soak's "driver" */
  struct Soak *soak;
} Item;

typedef struct Soak
{
  Fixture fixture;
  gboolean ordered;        /* the breaker must be alone in the driver */
  pthread_rwlock_t driver; /* if so: for writing by the breaker, for reading by the others */
  pthread_mutex_t lock;    /* of the slots */
  Item *slots[N_SLOTS];    /* owned references, nullable */
  CUfunction function;     /* of the run without the library */
  gint stop;
  gint captures, broken, launches, updates, closed; /* how often it happened */
} Soak;

typedef struct
{
  Soak *soak;
  guint index;
  guint64 random;
} Worker;

static guint
draw (Worker *worker, guint n)
{
  worker->random ^= worker->random << 13;
  worker->random ^= worker->random >> 7;
  worker->random ^= worker->random << 17;
  return (guint) (worker->random >> 32) % n;
}

/* The breaker must get its turn beside eight readers that never pause. */
static void
soak_init (Soak *soak)
{
  pthread_rwlockattr_t attributes;

  fixture_init (&soak->fixture);
  soak->ordered = memra_test_host_control () == NULL && g_getenv ("MEMRA_SOAK_RACE") == NULL;
  pthread_rwlockattr_init (&attributes);
#ifdef __GLIBC__
  pthread_rwlockattr_setkind_np (&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  pthread_rwlock_init (&soak->driver, &attributes);
  pthread_rwlockattr_destroy (&attributes);
}

static void
soak_clear (Soak *soak)
{
  fixture_clear (&soak->fixture);
  pthread_rwlock_destroy (&soak->driver);
  pthread_mutex_destroy (&soak->lock);
}

static void
enter_driver (Soak *soak)
{
  if (soak->ordered)
    pthread_rwlock_rdlock (&soak->driver);
}

static void
enter_driver_alone (Soak *soak)
{
  if (soak->ordered)
    pthread_rwlock_wrlock (&soak->driver);
}

static void
leave_driver (Soak *soak)
{
  if (soak->ordered)
    pthread_rwlock_unlock (&soak->driver);
}

/* To the breaker, if it is its turn. */
static void
let_breaker_in (Soak *soak)
{
  leave_driver (soak);
  sched_yield ();
  enter_driver (soak);
}

/* The last one who has it looks whether the layer ran as often as it says: that may be any thread. */
static void
item_unref (Item *item)
{
  if (!g_atomic_int_dec_and_test (&item->ref_count))
    return;
  enter_driver (item->soak);
  if (item->capture != NULL)
    {
      guint64 ran
          = memra_layer_capture_get_executions (item->capture) + memra_layer_capture_get_replays (item->capture);

      memra_test_assert_floats (item->dst, item->stream, 1.0f + 2.0f * (float) ran, FIXTURE_N);
    }
  memra_layer_capture_unref (item->capture);
  memra_buffer_unref (item->dst);
  memra_stream_unref (item->stream);
  leave_driver (item->soak);
  pthread_rwlock_destroy (&item->lock);
  g_free (item);
}

static Item *
take_from_slot (Worker *worker)
{
  Soak *soak = worker->soak;
  Item *item;

  pthread_mutex_lock (&soak->lock);
  item = soak->slots[draw (worker, N_SLOTS)];
  if (item != NULL)
    g_atomic_int_inc (&item->ref_count);
  pthread_mutex_unlock (&soak->lock);
  return item;
}

static void
put_into_slot (Soak *soak, guint slot, Item *item)
{
  Item *old;

  pthread_mutex_lock (&soak->lock);
  old = soak->slots[slot];
  soak->slots[slot] = item;
  pthread_mutex_unlock (&soak->lock);
  if (old != NULL)
    item_unref (old);
}

/* ---- What threads do ---- */

typedef struct
{
  Soak *soak;
  MemraBuffer *dst;
} Body;

static gboolean
add (MemraStream *stream, gpointer data, GError **error)
{
  Body *body = (Body *) data;
  Fixture *fixture = &body->soak->fixture;

  if (!memra_stream_mark (stream, "add", error)
      || !memra_dsv4_add_inplace (fixture->dsv4, stream, body->dst, fixture->src, FIXTURE_N, error))
    return FALSE;
  let_breaker_in (body->soak);
  return TRUE;
}

static MemraCaptureOptions *
draw_options (Worker *worker, MemraCaptureMode *mode)
{
  MemraCaptureOptions *options = memra_capture_options_new ();

  *mode = (MemraCaptureMode) draw (worker, 3);
  memra_capture_options_set_mode (options, *mode);
  return options;
}

/* Broken, but only where that can be, by nobody but the breaker, with nothing done and the stream clean. */
static void
assert_broken (Soak *soak, MemraStream *stream, MemraCaptureMode mode, const GError *error)
{
  if (mode != MEMRA_CAPTURE_MODE_GLOBAL)
    g_error ("A capture that nobody can break: %s", error->message);
  if (!g_error_matches (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_BROKEN)
      && memra_driver_error_get_cuda_result (error) != MCU_ERROR_STREAM_CAPTURE_INVALIDATED)
    g_error ("Not broken, but: %s", error->message);
  g_assert_cmpint (memra_capture_error_get_execution (error), ==, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_true (memra_capture_error_get_stream_clean (error));
  g_assert_cmpint (fixture_status (&soak->fixture, stream), ==, MCU_CAPTURE_STATUS_NONE);
  g_atomic_int_inc (&soak->broken);
}

static void
capture_one (Worker *worker)
{
  Soak *soak = worker->soak;
  MemraCaptureMode mode;
  g_autoptr (MemraCaptureOptions) options = draw_options (worker, &mode);
  g_autoptr (GError) error = NULL;
  Item *item = g_new0 (Item, 1);
  Body body = { soak, NULL };

  item->ref_count = 1;
  item->soak = soak;
  pthread_rwlock_init (&item->lock, NULL);
  enter_driver (soak);
  item->stream = memra_test_stream_new (soak->fixture.context);
  item->dst = body.dst = memra_test_buffer_filled (item->stream, 1.0f, FIXTURE_N);
  if (draw (worker, 4) == 0)
    item->capture = memra_capture_layer_record (item->stream, worker->index, options, add, &body, &error);
  else
    item->capture = memra_capture_layer (item->stream, worker->index, options, add, &body, &error);
  if (item->capture == NULL)
    assert_broken (soak, item->stream, mode, error);
  leave_driver (soak);
  if (item->capture == NULL)
    {
      item_unref (item);
      return;
    }
  g_atomic_int_inc (&soak->captures);
  put_into_slot (soak, draw (worker, N_SLOTS), item);
}

static void
abandon_one (Worker *worker)
{
  Soak *soak = worker->soak;
  MemraCaptureMode mode;
  g_autoptr (MemraCaptureOptions) options = draw_options (worker, &mode);
  g_autoptr (MemraStream) stream = memra_test_stream_new (soak->fixture.context);
  g_autoptr (MemraBuffer) dst = memra_test_buffer_filled (stream, 1.0f, FIXTURE_N);
  g_autoptr (GError) error = NULL;
  Body body = { soak, dst };
  MemraCaptureScope *scope = memra_capture_scope_begin (stream, worker->index, options, &error);

  g_assert_no_error (error);
  add (stream, &body, NULL);
  memra_capture_scope_abort (scope);
  memra_test_assert_floats (dst, stream, 1.0f, FIXTURE_N);
}

static void
launch_some (Worker *worker, Item *item)
{
  guint n = 1 + draw (worker, 4);

  pthread_rwlock_rdlock (&item->lock);
  enter_driver (worker->soak);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GError) error = NULL;
      gboolean ok = draw (worker, 2) == 0 ? memra_layer_capture_replay (item->capture, &error)
                                          : memra_layer_capture_launch (item->capture, &error);

      if (ok)
        g_atomic_int_inc (&worker->soak->launches);
      else
        g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_CLOSED);
    }
  leave_driver (worker->soak);
  pthread_rwlock_unlock (&item->lock);
}

static void
read_one (Item *item)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  g_autofree char *json = NULL;
  g_autoptr (MemraCensus) census = NULL;

  pthread_rwlock_rdlock (&item->lock);
  enter_driver (item->soak);
  if (!memra_layer_capture_check (item->capture, &error))
    g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_CLOSED);
  text = memra_layer_capture_to_string (item->capture);
  census = memra_census_ref (memra_layer_capture_get_census (item->capture));
  leave_driver (item->soak);
  pthread_rwlock_unlock (&item->lock);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, 1);
  json = memra_census_to_json (census);
}

static void
update_one (Worker *worker, Item *item)
{
  Soak *soak = worker->soak;
  MemraCaptureMode mode;
  g_autoptr (MemraCaptureOptions) options = draw_options (worker, &mode);
  g_autoptr (GError) error = NULL;
  Body body = { soak, item->dst };

  pthread_rwlock_wrlock (&item->lock);
  enter_driver (soak);
  if (memra_layer_capture_update (item->capture, options, MEMRA_UPDATE_IN_PLACE_ONLY, add, &body, NULL, &error))
    g_atomic_int_inc (&soak->updates);
  else if (!g_error_matches (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_CLOSED))
    assert_broken (soak, item->stream, mode, error);
  leave_driver (soak);
  pthread_rwlock_unlock (&item->lock);
}

static void
close_one (Soak *soak, Item *item)
{
  g_autoptr (GError) error = NULL;

  pthread_rwlock_rdlock (&item->lock);
  enter_driver (soak);
  g_assert_true (memra_layer_capture_close (item->capture, &error));
  g_assert_no_error (error);
  leave_driver (soak);
  pthread_rwlock_unlock (&item->lock);
  g_atomic_int_inc (&soak->closed);
}

static void
use_one (Worker *worker)
{
  Item *item = take_from_slot (worker);

  if (item == NULL)
    return;
  switch (draw (worker, 8))
    {
    case 0:
      update_one (worker, item);
      break;
    case 1:
      read_one (item);
      break;
    case 2:
      close_one (worker->soak, item);
      break;
    default:
      launch_some (worker, item);
    }
  item_unref (item);
}

static gpointer
work (gpointer data)
{
  Worker *worker = (Worker *) data;
  const MemraDriverTable *cu = worker->soak->fixture.cu;

  while (!g_atomic_int_get (&worker->soak->stop))
    {
      CUcontext current = (CUcontext) worker;

      switch (draw (worker, 8))
        {
        case 0:
          enter_driver (worker->soak);
          abandon_one (worker);
          leave_driver (worker->soak);
          break;
        case 1:
        case 2:
          capture_one (worker);
          break;
        default:
          use_one (worker);
        }
      memra_test_assert_cu (cu->cuCtxGetCurrent (&current));
      g_assert_null (current);
      g_assert_cmpint (fixture_get_thread_mode (cu), ==, MCU_CAPTURE_MODE_GLOBAL);
    }
  return NULL;
}

/* Allocates as CUDA programs do, which breaks every capture of the global mode that is open. */
static gpointer
break_captures (gpointer data)
{
  Worker *worker = (Worker *) data;
  Fixture *fixture = &worker->soak->fixture;

  fixture_enter (fixture);
  while (!g_atomic_int_get (&worker->soak->stop))
    {
      CUdeviceptr address = 0;
      McuResult result;

      enter_driver_alone (worker->soak);
      result = fixture->cu->cuMemAlloc (&address, 4096);
      if (result == MCU_SUCCESS)
        {
          fixture_set_thread_mode (fixture->cu, MCU_CAPTURE_MODE_RELAXED);
          memra_test_assert_cu (fixture->cu->cuMemFree (address));
          fixture_set_thread_mode (fixture->cu, MCU_CAPTURE_MODE_GLOBAL);
        }
      else
        g_assert_cmpint (result, ==, MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      leave_driver (worker->soak);
      g_usleep (draw (worker, 500));
    }
  fixture_leave (fixture);
  return NULL;
}

/* ---- The same with nothing but the driver: where this fails, it is not the library's doing ---- */

/* One launch of the kernel into a stream that may be in a capture that has been broken. */
static McuResult
launch_raw (Soak *soak, CUstream stream, CUdeviceptr dst)
{
  CUdeviceptr src = memra_buffer_get_address (soak->fixture.src);
  guint64 n = FIXTURE_N;
  void *arguments[] = { &dst, &src, &n };

  return soak->fixture.cu->cuLaunchKernel (soak->function, 1, 1, 1, 64, 1, 1, 0, stream, arguments, NULL);
}

static void
capture_raw (Worker *worker, CUstream stream, CUdeviceptr dst)
{
  Soak *soak = worker->soak;
  const MemraDriverTable *cu = soak->fixture.cu;
  int mode = (int) draw (worker, 3);
  McuResult launched, ended;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;

  memra_test_assert_cu (cu->cuStreamBeginCapture (stream, mode));
  launched = launch_raw (soak, stream, dst);
  let_breaker_in (soak);
  ended = cu->cuStreamEndCapture (stream, &graph);
  if (launched != MCU_SUCCESS || ended != MCU_SUCCESS)
    {
      g_assert_cmpint (mode, ==, MCU_CAPTURE_MODE_GLOBAL);
      g_assert_cmpint (ended, ==, MCU_ERROR_STREAM_CAPTURE_INVALIDATED);
      g_assert_null (graph);
      g_atomic_int_inc (&soak->broken);
      return;
    }
  memra_test_assert_cu (cu->cuGraphInstantiateWithFlags (&exec, graph, 0));
  memra_test_assert_cu (cu->cuGraphLaunch (exec, stream));
  memra_test_assert_cu (cu->cuStreamSynchronize (stream));
  memra_test_assert_cu (cu->cuGraphExecDestroy (exec));
  memra_test_assert_cu (cu->cuGraphDestroy (graph));
  g_atomic_int_inc (&soak->captures);
}

static gpointer
work_raw (gpointer data)
{
  Worker *worker = (Worker *) data;
  Soak *soak = worker->soak;
  g_autoptr (MemraStream) stream = memra_test_stream_new (soak->fixture.context);
  g_autoptr (MemraBuffer) dst = memra_test_buffer_filled (stream, 1.0f, FIXTURE_N);

  fixture_enter (&soak->fixture);
  /* So that what this thread does breaks nobody: that is for the breaker. */
  fixture_set_thread_mode (soak->fixture.cu, MCU_CAPTURE_MODE_RELAXED);
  while (!g_atomic_int_get (&soak->stop))
    {
      enter_driver (soak);
      capture_raw (worker, memra_stream_get_cuda_stream (stream), memra_buffer_get_address (dst));
      leave_driver (soak);
    }
  fixture_set_thread_mode (soak->fixture.cu, MCU_CAPTURE_MODE_GLOBAL);
  fixture_leave (&soak->fixture);
  return NULL;
}

/* ---- The run ---- */

static guint
get_seconds (void)
{
  const char *text = g_getenv ("MEMRA_SOAK_SECONDS");
  guint64 seconds;

  if (text == NULL || !g_ascii_string_to_unsigned (text, 10, 1, 7 * 24 * 3600, &seconds, NULL))
    return DEFAULT_SECONDS;
  return (guint) seconds;
}

static void
run (Soak *soak, GThreadFunc func, guint seconds)
{
  const gint64 end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;
  Worker workers[N_THREADS + 1];
  GThread *threads[N_THREADS + 1];

  for (guint i = 0; i <= N_THREADS; i++)
    {
      workers[i] = (Worker){ soak, i, (guint64) (guint32) g_test_rand_int () << 32 | (i + 1) };
      threads[i]
          = g_thread_new (i < N_THREADS ? "worker" : "breaker", i < N_THREADS ? func : break_captures, &workers[i]);
    }
  while (g_get_monotonic_time () < end)
    g_usleep (20000);
  g_atomic_int_set (&soak->stop, TRUE);
  for (guint i = 0; i <= N_THREADS; i++)
    g_thread_join (threads[i]);
}

static void
test_soak (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  guint64 before[G_N_ELEMENTS (kinds)] = { 0 };
  Soak soak = { .lock = PTHREAD_MUTEX_INITIALIZER };

  soak_init (&soak);
  for (gsize i = 0; control != NULL && i < G_N_ELEMENTS (kinds); i++)
    before[i] = control->count_objects (kinds[i]);
  run (&soak, work, get_seconds ());
  for (guint i = 0; i < N_SLOTS; i++)
    put_into_slot (&soak, i, NULL);
  g_test_message ("%d captures, %d broken, %d launches, %d updates, %d closed", soak.captures, soak.broken,
                  soak.launches, soak.updates, soak.closed);
  for (gsize i = 0; control != NULL && i < G_N_ELEMENTS (kinds); i++)
    {
      guint64 now = control->count_objects (kinds[i]);

      if (now != before[i])
        g_error ("%" G_GUINT64_FORMAT " of %s, not %" G_GUINT64_FORMAT, now, kinds[i], before[i]);
    }
  g_assert_cmpint (soak.captures, >, 0);
  g_assert_cmpint (soak.broken, >, 0);
  g_assert_cmpint (soak.launches, >, 0);
  fixture_assert_good_as_new (&soak.fixture, 0);
  soak_clear (&soak);
}

static void
test_raw (void)
{
  Soak soak = { .lock = PTHREAD_MUTEX_INITIALIZER };
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (GError) error = NULL;

  soak_init (&soak);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (soak.fixture.dsv4), FIXTURE_KERNEL, &error);
  g_assert_no_error (error);
  soak.function = memra_kernel_get_cuda_function (kernel);
  run (&soak, work_raw, MAX (get_seconds () / 5, 1));
  g_test_message ("%d captures, %d broken", soak.captures, soak.broken);
  g_assert_cmpint (soak.captures, >, 0);
  fixture_assert_good_as_new (&soak.fixture, 0);
  g_clear_pointer (&kernel, memra_kernel_unref);
  soak_clear (&soak);
}

static void
add_tests (void)
{
  memra_test_add ("/soak/raw", test_raw);
  memra_test_add ("/soak/threads", test_soak);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
