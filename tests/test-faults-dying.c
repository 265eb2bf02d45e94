/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A context that dies under us, a device with no memory left, and one that cannot be had at all. Nothing of it takes
 * the process along: what was made is released, nothing stays alive in the driver, and the next context works. That
 * contexts die at every single call of everything is seen to by the sweeps of the other programs (faults.c).
 */
#include "config.h"

#include "faults.h"

#include "capture/capture-private.h"

#include <string.h>

/* ---- Contexts ---- */

typedef struct
{
  Fixture fixture;
  FaultsObjects objects;      /* before it was made */
  MemraLayerCapture *capture; /* run once */
  MemraLayerSequence *sequence;
  CUdeviceptr freed; /* an address that nothing lies at any more */
} Mortal;

static void
mortal_init (Mortal *mortal)
{
  g_autoptr (GError) error = NULL;
  Fixture *fixture = &mortal->fixture;

  memset (mortal, 0, sizeof *mortal);
  mortal->objects = faults_count_objects ();
  fixture_init (fixture);
  mortal->capture = fixture_capture (fixture, 70);
  mortal->sequence = memra_layer_sequence_new (fixture->stream, &mortal->capture, 1, NULL, &error);
  g_assert_no_error (error);
  fixture_enter (fixture);
  memra_test_assert_cu (fixture->cu->cuMemAlloc (&mortal->freed, 1 << 20));
  memra_test_assert_cu (fixture->cu->cuMemFree (mortal->freed));
  fixture_leave (fixture);
}

static void
strike (Mortal *mortal)
{
  memra_test_host_control ()->break_context (memra_context_get_cuda_context (mortal->fixture.context),
                                             MCU_ERROR_ILLEGAL_ADDRESS);
}

/* It is let go, and nothing of it is left; the next one is as good as new. */
static void
mortal_bury (Mortal *mortal)
{
  g_auto (Fixture) next = { 0 };

  memra_layer_sequence_unref (mortal->sequence);
  memra_layer_capture_unref (mortal->capture);
  fixture_clear (&mortal->fixture);
  faults_assert_objects (&mortal->objects, NULL);
  fixture_init (&next);
  fixture_assert_good_as_new (&next, 0);
  faults_report (1, 1);
}

static void
assert_dead (GError **error, const char *part)
{
  g_test_message ("%s", (*error)->message);
  g_assert_error (*error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT);
  g_assert_cmpint (memra_driver_error_get_cuda_result (*error), ==, MCU_ERROR_ILLEGAL_ADDRESS);
  assert_contains ((*error)->message, part);
  g_clear_error (error);
}

static void
assert_capture_dead (GError **error, MemraCaptureStage stage, MemraExecution execution)
{
  g_test_message ("%s", (*error)->message);
  g_assert_error (*error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_FAILED);
  g_assert_cmpint (memra_capture_error_get_cuda_result (*error), ==, MCU_ERROR_ILLEGAL_ADDRESS);
  g_assert_cmpint (memra_capture_error_get_stage (*error), ==, stage);
  g_assert_cmpint (memra_capture_error_get_execution (*error), ==, execution);
  g_clear_error (error);
}

/* Whatever is asked of a dead context: an error that says so, and no call of a body. */
static void
test_everything (void)
{
  Mortal mortal;
  Fixture *fixture = &mortal.fixture;
  g_autoptr (GError) error = NULL;
  float value = 0.0f;
  guint calls;

  if (!memra_test_need_host ())
    return;
  mortal_init (&mortal);
  calls = fixture->calls;
  strike (&mortal);
  g_assert_null (memra_capture_layer (fixture->stream, 71, NULL, fixture_body, fixture, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_STATUS, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_null (memra_capture_layer_record (fixture->stream, 71, NULL, fixture_body, fixture, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_STATUS, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_null (memra_capture_scope_begin (fixture->stream, 71, NULL, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_STATUS, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_false (memra_layer_capture_update (mortal.capture, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, fixture_body,
                                              fixture, NULL, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_STATUS, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_cmpuint (fixture->calls, ==, calls);
  /* What lies at an address the host driver tells of a dead context, too. */
  g_assert_true (memra_layer_capture_check (mortal.capture, &error));
  g_assert_no_error (error);
  g_assert_false (memra_layer_capture_replay (mortal.capture, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_REPLAY, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_false (memra_layer_capture_launch (mortal.capture, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_REPLAY, MEMRA_EXECUTION_UNKNOWN);
  g_assert_true (memra_layer_sequence_check (mortal.sequence, &error));
  g_assert_no_error (error);
  g_assert_false (memra_layer_sequence_replay (mortal.sequence, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_REPLAY, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_false (memra_layer_sequence_launch (mortal.sequence, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_REPLAY, MEMRA_EXECUTION_UNKNOWN);
  g_assert_null (memra_layer_sequence_new (fixture->stream, &mortal.capture, 1, NULL, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_STATUS, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_false (memra_stream_recover (fixture->stream, &error));
  assert_dead (&error, "The stream could not be brought out of its capture");
  g_assert_false (memra_stream_synchronize (fixture->stream, &error));
  assert_dead (&error, "Could not wait for the stream");
  g_assert_false (memra_context_synchronize (fixture->context, &error));
  assert_dead (&error, "Could not wait for device 0");
  g_assert_null (memra_buffer_new (fixture->stream, 64, &error));
  assert_dead (&error, "64 bytes");
  g_assert_false (memra_buffer_copy_to_host (fixture->dst, 0, &value, sizeof value, fixture->stream, &error));
  assert_dead (&error, "Could not");
  g_assert_null (memra_stream_new (fixture->context, MEMRA_STREAM_BLOCKING, &error));
  assert_dead (&error, "Could not create a stream");
  g_assert_null (memra_dsv4_new (fixture->context, &error));
  assert_dead (&error, "Could not");
  fixture_assert_thread (fixture);

  /* There is nothing to wait for, so both can be closed, and for good. */
  for (guint i = 0; i < 2; i++)
    {
      g_assert_true (memra_layer_capture_close (mortal.capture, &error));
      g_assert_no_error (error);
      g_assert_true (memra_layer_sequence_close (mortal.sequence, &error));
      g_assert_no_error (error);
    }
  mortal_bury (&mortal);
}

/* ---- Work that the context dies of ---- */

/* A fill of memory that is gone, in a graph, where nobody looks at addresses before the fill is done. */
static gboolean
deadly_body (MemraStream *stream, gpointer data, GError **error)
{
  Mortal *mortal = (Mortal *) data;

  mortal->fixture.calls++;
  memra_test_assert_cu (
      mortal->fixture.cu->cuMemsetD32Async (mortal->freed, 1, 1, memra_stream_get_cuda_stream (stream)));
  return TRUE;
}

/* The layer itself is deadly: it was launched, and what became of it nobody knows. */
static void
test_own_work (void)
{
  Mortal mortal;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  mortal_init (&mortal);
  g_assert_null (memra_capture_layer (mortal.fixture.stream, 72, NULL, deadly_body, &mortal, &error));
  g_assert_true (memra_capture_error_get_stream_clean (error));
  g_assert_nonnull (memra_capture_error_get_partial_census (error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_COMPLETION, MEMRA_EXECUTION_UNKNOWN);
  g_assert_false (memra_layer_capture_replay (mortal.capture, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_REPLAY, MEMRA_EXECUTION_NOT_EXECUTED);
  mortal_bury (&mortal);
}

/* Launches it into another stream, where it waits until the test lets it go. (transfer full) */
static MemraLayerCapture *
launch_deadly (Mortal *mortal, MemraStream *stream)
{
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *deadly = memra_capture_layer_record (stream, 73, NULL, deadly_body, mortal, &error);

  g_assert_no_error (error);
  memra_test_host_control ()->hold_work ();
  g_assert_true (memra_layer_capture_launch (deadly, &error));
  g_assert_no_error (error);
  return deadly;
}

/* Replays that were accepted before other work killed the context: the waits say so, and so does the next replay. */
static void
test_other_work (void)
{
  Mortal mortal;
  Fixture *fixture = &mortal.fixture;
  g_autoptr (MemraStream) other = NULL;
  g_autoptr (MemraLayerCapture) deadly = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  mortal_init (&mortal);
  other = memra_test_stream_new (fixture->context);
  deadly = launch_deadly (&mortal, other);
  g_assert_true (memra_layer_capture_replay (mortal.capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_layer_sequence_replay (mortal.sequence, &error));
  g_assert_no_error (error);
  memra_test_host_control ()->release_work ();
  g_assert_false (memra_context_synchronize (fixture->context, &error));
  assert_dead (&error, "Could not wait for device 0");
  g_assert_false (memra_stream_synchronize (fixture->stream, &error));
  assert_dead (&error, "Could not wait for the stream");
  g_assert_false (memra_layer_sequence_replay (mortal.sequence, &error));
  assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_REPLAY, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_true (memra_layer_capture_close (deadly, &error)); /* it is in flight for ever */
  g_assert_no_error (error);
  g_clear_pointer (&deadly, memra_layer_capture_unref);
  g_clear_pointer (&other, memra_stream_unref);
  mortal_bury (&mortal);
}

typedef struct
{
  Mortal *mortal;
  GError *error; /* owned */
} Attempt;

static gpointer
attempt (gpointer data)
{
  Attempt *attempt = (Attempt *) data;
  Fixture *fixture = &attempt->mortal->fixture;

  g_assert_null (memra_capture_layer (fixture->stream, 74, NULL, fixture_body, fixture, &attempt->error));
  return NULL;
}

/* Earlier work in the stream itself: it comes up before the layer's own, and is not taken for it. */
static void
test_earlier_work (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  Mortal mortal;
  Attempt trial = { &mortal, NULL };
  g_autoptr (MemraLayerCapture) deadly = NULL;
  GThread *thread;
  guint64 waits;
  guint calls;

  if (!memra_test_need_host ())
    return;
  mortal_init (&mortal);
  calls = mortal.fixture.calls + 1;
  deadly = launch_deadly (&mortal, mortal.fixture.stream);
  g_assert_cmpuint (mortal.fixture.calls, ==, calls);
  waits = control->count_calls ("cuStreamSynchronize");
  thread = g_thread_new ("capture", attempt, &trial);
  while (control->count_calls ("cuStreamSynchronize") == waits) /* it is healthy until then */
    g_thread_yield ();
  control->release_work ();
  g_thread_join (thread);
  assert_contains (trial.error->message, "earlier work in the stream failed");
  g_assert_true (memra_capture_error_get_stream_clean (trial.error));
  assert_capture_dead (&trial.error, MEMRA_CAPTURE_STAGE_PRE_DRAIN, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_cmpuint (mortal.fixture.calls, ==, calls);
  g_clear_pointer (&deadly, memra_layer_capture_unref);
  mortal_bury (&mortal);
}

/* ---- Inside the body ---- */

typedef struct
{
  Mortal *mortal;
  gboolean says_so; /* the body issues more, finds out and fails; else it has issued everything already */
} Death;

static gboolean
dying_body (MemraStream *stream, gpointer data, GError **error)
{
  Death *death = (Death *) data;
  Fixture *fixture = &death->mortal->fixture;

  if (!fixture_body (stream, fixture, error))
    return FALSE;
  strike (death->mortal);
  return !death->says_so || fixture_add (fixture, stream, error);
}

/* The capture cannot be ended any more, nor the stream be asked: that is said, and it is destroyed with its context. */
static void
test_in_body (gconstpointer says_so)
{
  Mortal mortal;
  Death death = { &mortal, says_so != NULL };
  Fixture *fixture = &mortal.fixture;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  mortal_init (&mortal);
  g_assert_null (memra_capture_layer (fixture->stream, 75, NULL, dying_body, &death, &error));
  g_test_message ("%s", error->message);
  assert_contains (error->message, "the stream is still being captured");
  assert_contains (error->message, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  if (death.says_so)
    assert_dead (&error, "layer 75 capture body: Could not launch " FIXTURE_KERNEL);
  else
    {
      g_assert_false (memra_capture_error_get_stream_clean (error));
      assert_capture_dead (&error, MEMRA_CAPTURE_STAGE_END, MEMRA_EXECUTION_NOT_EXECUTED);
    }
  fixture_assert_thread (fixture);
  g_assert_false (memra_stream_recover (fixture->stream, &error));
  assert_dead (&error, "The stream could not be brought out of its capture");
  mortal_bury (&mortal);
}

/* What the caller handed over is given back, once, although its context is dead and its stream in a capture. */
static void
count_destroyed (gpointer data)
{
  ++*(guint *) data;
}

static void
test_retained (void)
{
  Mortal mortal;
  guint destroyed = 0;

  if (!memra_test_need_host ())
    return;
  mortal_init (&mortal);
  memra_layer_capture_retain (mortal.capture, &destroyed, count_destroyed);
  g_assert_true (memra_layer_capture_replay (mortal.capture, NULL));
  g_assert_true (memra_layer_sequence_replay (mortal.sequence, NULL));
  strike (&mortal);
  mortal_bury (&mortal);
  g_assert_cmpuint (destroyed, ==, 1);
}

/* The other device does not mind. */
static void
test_other_device (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (GError) error = NULL;
  Fixture first, second;

  if (!memra_test_need_host ())
    return;
  g_assert_cmpint (control->set_device_count (2), ==, 0);
  driver = memra_driver_open (memra_test_host_driver_path (), &error);
  g_assert_no_error (error);
  fixture_init_on (&first, driver, 0);
  fixture_init_on (&second, driver, 1);
  control->break_context (memra_context_get_cuda_context (first.context), MCU_ERROR_ILLEGAL_ADDRESS);
  g_assert_false (memra_stream_synchronize (first.stream, &error));
  assert_dead (&error, "Could not wait for the stream");
  fixture_assert_good_as_new (&second, 0);
  fixture_clear (&first);
  fixture_assert_good_as_new (&second, 0);
  fixture_clear (&second);
  g_assert_cmpint (control->set_device_count (1), ==, 0);
  faults_report (1, 1);
}

static void
add_tests (void)
{
  memra_test_add ("/faults/dead/everything", test_everything);
  memra_test_add ("/faults/dead/own-work", test_own_work);
  memra_test_add ("/faults/dead/other-work", test_other_work);
  memra_test_add ("/faults/dead/earlier-work", test_earlier_work);
  memra_test_add_data ("/faults/dead/in-body/fails", GINT_TO_POINTER (TRUE), test_in_body);
  memra_test_add_data ("/faults/dead/in-body/succeeds", GINT_TO_POINTER (FALSE), test_in_body);
  memra_test_add ("/faults/dead/retained", test_retained);
  memra_test_add ("/faults/dead/other-device", test_other_device);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
