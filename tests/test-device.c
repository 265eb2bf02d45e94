/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contexts, streams, buffers with and without events, modules and launches. */
#include "config.h"

#include "capture-fixture.h"

#include "driver/driver-private.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>

/* ---- Contexts ---- */

static void
test_context_new (void)
{
  g_autoptr (MemraContext) first = NULL;
  g_autoptr (MemraContext) second = NULL;
  g_autoptr (GError) error = NULL;

  first = memra_context_new (memra_test_driver (), 0, &error);
  g_assert_no_error (error);
  second = memra_context_new (memra_test_driver (), 0, &error);
  g_assert_no_error (error);
  g_assert_true (memra_context_get_cuda_context (first)
                 == memra_context_get_cuda_context (second)); /* the primary one */
  g_assert_true (memra_context_get_driver (first) == memra_test_driver ());
  g_assert_cmpint (memra_context_get_ordinal (first), ==, 0);
  g_assert_true (memra_context_get_event_tracking (first)); /* on at the start */
  memra_context_set_event_tracking (first, FALSE);
  g_assert_false (memra_context_get_event_tracking (first));
  g_assert_true (memra_context_get_event_tracking (second)); /* a setting of the object */
  memra_context_set_event_tracking (first, 17);
  g_assert_cmpint (memra_context_get_event_tracking (first), ==, TRUE);
}

static void
test_context_bad_ordinal (gconstpointer ordinal)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_context_new (memra_test_driver (), GPOINTER_TO_INT (ordinal), &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DEVICE);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_INVALID_DEVICE);
  assert_contains (error->message, "CUDA_ERROR_INVALID_DEVICE (101)");
}

static void
test_context_released (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  MemraContext *context;
  MemraStream *stream;

  if (!memra_test_need_host ())
    return;
  g_assert_cmpuint (control->count_objects ("context"), ==, 0);
  context = memra_test_context_new ();
  g_assert_cmpuint (control->count_objects ("context"), ==, 1);
  stream = memra_test_stream_new (context);
  memra_context_unref (context);
  g_assert_cmpuint (control->count_objects ("context"), ==, 1); /* the stream holds it */
  memra_stream_unref (stream);
  g_assert_cmpuint (control->count_objects ("context"), ==, 0);
  memra_context_unref (NULL);
}

static void
test_context_wrap (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraContext) wrapped = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  wrapped = memra_context_wrap (memra_test_driver (), memra_context_get_cuda_context (fixture.context), &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_context_get_ordinal (wrapped), ==, 0);
  g_assert_true (memra_context_get_event_tracking (wrapped));
  memra_context_set_event_tracking (wrapped, FALSE);
  fixture_assert_thread (&fixture);

  /* Objects of the two belong to one driver context, and go together. */
  stream = memra_test_stream_new (wrapped);
  capture = memra_capture_layer (stream, 0, NULL, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  g_clear_pointer (&capture, memra_layer_capture_unref);
  g_clear_pointer (&stream, memra_stream_unref);
  g_clear_pointer (&wrapped, memra_context_unref); /* the caller's context lives on */
  fixture_assert_good_as_new (&fixture, 1);
}

/* Two contexts of one device are as foreign to one another as two devices are. */
static void
test_context_two_of_a_device (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraContext) other = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (GError) error = NULL;
  MemraAccess access = MEMRA_ACCESS_INIT;
  McuResult (*create) (CUcontext *, unsigned, CUdevice);
  McuResult (*destroy) (CUcontext);
  CUcontext raw = NULL, popped = NULL;

  create = (McuResult (*) (CUcontext *, unsigned, CUdevice)) dlsym (memra_test_driver ()->handle, "cuCtxCreate_v2");
  destroy = (McuResult (*) (CUcontext)) dlsym (memra_test_driver ()->handle, "cuCtxDestroy_v2");
  fixture_init (&fixture);
  memra_test_assert_cu (create (&raw, 0, 0));
  memra_test_assert_cu (fixture.cu->cuCtxPopCurrent (&popped));
  other = memra_context_wrap (memra_test_driver (), raw, &error);
  g_assert_no_error (error);
  memra_context_set_event_tracking (other, FALSE);
  stream = memra_test_stream_new (other);
  fixture_assert_thread (&fixture);

  g_assert_cmphex (memra_buffer_acquire_write (fixture.dst, stream, &access, &error), ==, 0);
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT);
  assert_contains (error->message, "two contexts of device 0");
  g_clear_error (&error);
  g_assert_null (memra_capture_layer (stream, 66, NULL, fixture_body, &fixture, &error));
  assert_body_error (error, 66, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT, MCU_SUCCESS);
  memra_test_assert_stream_usable (stream);

  g_clear_pointer (&stream, memra_stream_unref);
  g_clear_pointer (&other, memra_context_unref);
  memra_test_assert_cu (destroy (raw)); /* its owner is somebody else */
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_context_synchronize (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_true (fixture_add (&fixture, fixture.stream, &error));
  g_assert_true (memra_context_synchronize (fixture.context, &error));
  g_assert_no_error (error);
  g_assert_cmpint (fixture.cu->cuStreamQuery (memra_stream_get_cuda_stream (fixture.stream)), ==, MCU_SUCCESS);
  fixture_assert_ran (&fixture, 1);

  fixture_enter (&fixture);
  memra_test_assert_cu (
      fixture.cu->cuStreamBeginCapture (memra_stream_get_cuda_stream (fixture.stream), MCU_CAPTURE_MODE_RELAXED));
  fixture_leave (&fixture);
  g_assert_false (memra_context_synchronize (fixture.context, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, 900);
  g_clear_error (&error);
  g_assert_true (memra_stream_recover (fixture.stream, &error));
  fixture_assert_good_as_new (&fixture, 1);
}

/* A sick context is told from an ordinary failure, by its code; healing it is the host driver's privilege. */
static void
test_context_broken (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 61);
  control->break_context (memra_context_get_cuda_context (fixture.context), MCU_ERROR_ILLEGAL_ADDRESS);
  g_assert_false (memra_stream_synchronize (fixture.stream, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_ILLEGAL_ADDRESS);
  g_clear_error (&error);
  g_assert_null (memra_buffer_new (fixture.stream, 64, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT);
  g_clear_error (&error);
  g_assert_null (memra_capture_layer (fixture.stream, 62, NULL, fixture_body, &fixture, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_FAILED);
  g_assert_cmpint (memra_capture_error_get_cuda_result (error), ==, MCU_ERROR_ILLEGAL_ADDRESS);
  g_assert_cmpint (memra_capture_error_get_stage (error), <, MEMRA_CAPTURE_STAGE_BODY);
  g_assert_cmpint (memra_capture_error_get_execution (error), ==, MEMRA_EXECUTION_NOT_EXECUTED);
  g_clear_error (&error);
  g_assert_false (memra_layer_capture_replay (capture, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_FAILED);
  g_assert_cmpint (memra_capture_error_get_cuda_result (error), ==, MCU_ERROR_ILLEGAL_ADDRESS);
  g_assert_cmpuint (fixture.calls, ==, 1);
  control->break_context (memra_context_get_cuda_context (fixture.context), 0);
  g_clear_pointer (&capture, memra_layer_capture_unref);
  fixture_assert_good_as_new (&fixture, 1);
}

/* ---- Two devices ---- */

typedef struct
{
  MemraDriver *driver;
  Fixture first, second;
} Pair;

static gboolean
pair_init (Pair *pair)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (GError) error = NULL;

  if (control != NULL)
    {
      g_assert_cmpint (control->set_device_count (2), ==, 0);
      pair->driver = memra_driver_open (memra_test_host_driver_path (), &error); /* counts them anew */
      g_assert_no_error (error);
    }
  else
    pair->driver = memra_driver_ref (memra_test_driver ());
  if (memra_driver_get_n_devices (pair->driver) < 2)
    {
      g_test_skip ("needs two devices");
      memra_driver_unref (pair->driver);
      return FALSE;
    }
  fixture_init_on (&pair->first, pair->driver, 0);
  fixture_init_on (&pair->second, pair->driver, 1);
  return TRUE;
}

static void
pair_clear (Pair *pair)
{
  fixture_clear (&pair->second);
  fixture_clear (&pair->first);
  memra_driver_unref (pair->driver);
  if (memra_test_host_control () != NULL)
    g_assert_cmpint (memra_test_host_control ()->set_device_count (1), ==, 0);
}

static void
test_devices_side_by_side (void)
{
  Pair pair;
  g_autofree char *name = NULL;
  g_autoptr (MemraLayerCapture) one = NULL;
  g_autoptr (MemraLayerCapture) two = NULL;
  g_autoptr (GError) error = NULL;

  if (!pair_init (&pair))
    return;
  name = memra_driver_dup_device_name (pair.driver, 1, &error);
  g_assert_no_error (error);
  g_assert_cmpstr (name, !=, "");
  g_assert_cmpint (memra_context_get_ordinal (pair.second.context), ==, 1);
  g_assert_true (memra_context_get_cuda_context (pair.first.context)
                 != memra_context_get_cuda_context (pair.second.context));
  one = fixture_capture (&pair.first, 0);
  two = fixture_capture (&pair.second, 1);
  g_assert_true (memra_layer_capture_replay (one, &error));
  g_assert_true (memra_layer_capture_replay (two, &error));
  g_assert_true (memra_layer_capture_replay (two, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&pair.first, 2);
  fixture_assert_ran (&pair.second, 3);
  g_clear_pointer (&one, memra_layer_capture_unref);
  g_clear_pointer (&two, memra_layer_capture_unref);
  fixture_assert_good_as_new (&pair.first, 2);
  fixture_assert_good_as_new (&pair.second, 3);
  pair_clear (&pair);
}

static void
assert_crossing (GError **error, const char *first, const char *second)
{
  g_assert_error (*error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT);
  g_assert_cmpint (memra_driver_error_get_cuda_result (*error), ==, MCU_SUCCESS);
  assert_contains ((*error)->message, first);
  assert_contains ((*error)->message, second);
  g_clear_error (error);
}

static void
test_devices_crossing (void)
{
  Pair pair;
  MemraAccess access = MEMRA_ACCESS_INIT;
  g_autoptr (GError) error = NULL;
  float values[FIXTURE_N];

  if (!pair_init (&pair))
    return;
  g_assert_cmphex (memra_buffer_acquire_read (pair.second.dst, pair.first.stream, &access, &error), ==, 0);
  assert_crossing (&error, "buffer belongs to device 1", "stream to device 0");
  g_assert_cmphex (memra_buffer_acquire_write (pair.first.dst, pair.second.stream, &access, &error), ==, 0);
  assert_crossing (&error, "buffer belongs to device 0", "stream to device 1");
  g_assert_false (memra_buffer_copy (pair.first.dst, pair.second.dst, pair.first.stream, &error));
  assert_crossing (&error, "device 1", "device 0");
  g_assert_false (memra_buffer_copy (pair.second.dst, pair.first.dst, pair.first.stream, &error));
  assert_crossing (&error, "device 1", "device 0");
  g_assert_false (memra_buffer_zero (pair.second.dst, pair.first.stream, &error));
  assert_crossing (&error, "device 1", "device 0");
  g_assert_false (memra_buffer_copy_to_host (pair.second.dst, 0, values, sizeof values, pair.first.stream, &error));
  assert_crossing (&error, "device 1", "device 0");
  g_assert_false (memra_buffer_copy_from_host (pair.second.dst, 0, values, sizeof values, pair.first.stream, &error));
  assert_crossing (&error, "device 1", "device 0");
  g_assert_false (memra_stream_wait (pair.second.stream, pair.first.stream, &error));
  assert_crossing (&error, "waiting stream belongs to device 1", "stream waited for to device 0");
  g_assert_false (fixture_add_raw (&pair.first, pair.second.stream, memra_buffer_get_address (pair.first.dst),
                                   memra_buffer_get_address (pair.first.src), &error));
  assert_crossing (&error, "kernel belongs to device 0", "stream to device 1");
  g_assert_null (memra_stream_wrap (pair.first.context, memra_stream_get_cuda_stream (pair.second.stream), &error));
  assert_crossing (&error, "another context", "device 0");
  fixture_assert_good_as_new (&pair.first, 0);
  fixture_assert_good_as_new (&pair.second, 0);
  pair_clear (&pair);
}

static gboolean
crossing_body (MemraStream *stream, gpointer data, GError **error)
{
  Pair *pair = (Pair *) data;

  return fixture_body (stream, &pair->first, error) && fixture_add (&pair->second, stream, error);
}

static void
test_devices_crossing_in_body (void)
{
  Pair pair;
  g_autoptr (GError) error = NULL;

  if (!pair_init (&pair))
    return;
  g_assert_null (memra_capture_layer (pair.first.stream, 63, NULL, crossing_body, &pair, &error));
  assert_body_error (error, 63, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_WRONG_CONTEXT, MCU_SUCCESS);
  assert_contains (error->message, "use objects of one context together");
  fixture_assert_good_as_new (&pair.first, 0);
  fixture_assert_good_as_new (&pair.second, 0);
  pair_clear (&pair);
}

/* A thread that has the other device's context current keeps it. */
static void
test_devices_current (void)
{
  Pair pair;
  CUcontext popped;

  if (!pair_init (&pair))
    return;
  fixture_enter (&pair.second);
  pair.first.current = pair.second.current = memra_context_get_cuda_context (pair.second.context);
  fixture_assert_good_as_new (&pair.first, 0);
  fixture_assert_good_as_new (&pair.second, 0);
  memra_test_assert_cu (pair.first.cu->cuCtxPopCurrent (&popped));
  memra_test_assert_cu (pair.first.cu->cuCtxGetCurrent (&pair.first.current));
  pair.second.current = pair.first.current;
  pair_clear (&pair);
}

/* ---- Streams ---- */

static void
test_stream_flags (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) blocking = NULL;
  g_autoptr (MemraStream) wrapped = NULL;
  g_autoptr (MemraStream) wrapped_blocking = NULL;
  g_autoptr (GError) error = NULL;
  unsigned flags = 99;

  fixture_init (&fixture);
  blocking = memra_stream_new (fixture.context, MEMRA_STREAM_BLOCKING, &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_stream_get_flags (blocking), ==, MEMRA_STREAM_BLOCKING);
  g_assert_cmpint (memra_stream_get_flags (fixture.stream), ==, MEMRA_STREAM_NON_BLOCKING);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamGetFlags (memra_stream_get_cuda_stream (fixture.stream), &flags));
  g_assert_cmpuint (flags & MCU_STREAM_NON_BLOCKING, ==, MCU_STREAM_NON_BLOCKING);
  memra_test_assert_cu (fixture.cu->cuStreamGetFlags (memra_stream_get_cuda_stream (blocking), &flags));
  g_assert_cmpuint (flags & MCU_STREAM_NON_BLOCKING, ==, 0);
  fixture_leave (&fixture);
  wrapped = memra_stream_wrap (fixture.context, memra_stream_get_cuda_stream (fixture.stream), &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_stream_get_flags (wrapped), ==, MEMRA_STREAM_NON_BLOCKING);
  wrapped_blocking = memra_stream_wrap (fixture.context, memra_stream_get_cuda_stream (blocking), &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_stream_get_flags (wrapped_blocking), ==, MEMRA_STREAM_BLOCKING);
  g_assert_false (memra_stream_is_legacy (wrapped));
}

/* A stream that somebody else made: captured and replayed as one of ours, and not destroyed with the object. */
/* Asking the driver for the flags of a stream that is being captured breaks the capture. */
static void
test_stream_wrap_while_capturing (void)
{
  g_autoptr (MemraContext) context = memra_test_context_new ();
  g_autoptr (MemraStream) stream = memra_test_stream_new (context);
  g_autoptr (MemraStream) wrapped = NULL;
  g_autoptr (GError) error = NULL;
  const MemraDriverTable *cu = memra_test_cu ();
  CUstream raw = memra_stream_get_cuda_stream (stream);
  MemraCaptureStatus status;
  CUgraph graph = NULL;

  memra_test_assert_cu (cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_GLOBAL));
  wrapped = memra_stream_wrap (context, raw, &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_stream_get_flags (wrapped), ==, MEMRA_STREAM_BLOCKING); /* not known */
  g_assert_true (memra_stream_get_capture_status (wrapped, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_ACTIVE);
  memra_test_assert_cu (cu->cuStreamEndCapture (raw, &graph));
  memra_test_assert_cu (cu->cuGraphDestroy (graph));
  g_assert_cmpint (memra_stream_get_flags (wrapped), ==, MEMRA_STREAM_NON_BLOCKING);
  memra_test_assert_stream_usable (stream);
}

static void
test_stream_wrap (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  CUstream raw = NULL;

  fixture_init (&fixture);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamCreate (&raw, MCU_STREAM_NON_BLOCKING));
  fixture_leave (&fixture);
  stream = memra_stream_wrap (fixture.context, raw, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_get_cuda_stream (stream) == raw);
  g_assert_true (memra_stream_get_context (stream) == fixture.context);
  capture = memra_capture_layer (stream, 0, NULL, fixture_body, &fixture, &error);
  g_assert_no_error (error);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_true (memra_stream_synchronize (stream, &error));
  fixture_assert_ran (&fixture, 2);
  memra_test_assert_stream_usable (stream);
  g_clear_pointer (&capture, memra_layer_capture_unref);
  g_clear_pointer (&stream, memra_stream_unref);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamSynchronize (raw)); /* still there */
  memra_test_assert_cu (fixture.cu->cuStreamDestroy (raw));
  fixture_leave (&fixture);
}

static void
test_stream_legacy (gconstpointer handle)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureStatus status = MEMRA_CAPTURE_STATUS_INVALIDATED;

  fixture_init (&fixture);
  legacy = memra_stream_wrap (fixture.context, (CUstream) handle, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_is_legacy (legacy));
  g_assert_cmpint (memra_stream_get_flags (legacy), ==, MEMRA_STREAM_BLOCKING);
  g_assert_true (memra_stream_get_capture_status (legacy, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_NONE);
  g_assert_true (fixture_add (&fixture, legacy, &error));
  g_assert_no_error (error);
  g_assert_true (memra_stream_synchronize (legacy, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 1);
  fixture_assert_thread (&fixture);
}

/* Beside a blocking capture the driver will not tell about the legacy stream; it still is not being captured. */
static void
test_stream_legacy_beside_capture (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraStream) legacy = NULL;
  g_autoptr (MemraStream) blocking = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureStatus status = MEMRA_CAPTURE_STATUS_INVALIDATED;
  CUgraph graph = NULL;

  fixture_init (&fixture);
  blocking = memra_stream_new (fixture.context, MEMRA_STREAM_BLOCKING, &error);
  fixture_enter (&fixture);
  memra_test_assert_cu (
      fixture.cu->cuStreamBeginCapture (memra_stream_get_cuda_stream (blocking), MCU_CAPTURE_MODE_RELAXED));
  legacy = memra_stream_wrap (fixture.context, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (memra_stream_get_capture_status (legacy, &status, &error));
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_NONE);
  g_assert_null (memra_capture_layer (legacy, 64, NULL, fixture_body, &fixture, &error));
  g_assert_error (error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE);
  memra_test_assert_cu (
      fixture.cu->cuStreamEndCapture (memra_stream_get_cuda_stream (blocking), &graph)); /* unharmed */
  memra_test_assert_cu (fixture.cu->cuGraphDestroy (graph));
  fixture_leave (&fixture);
}

static void
test_stream_status (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  MemraCaptureStatus status = MEMRA_CAPTURE_STATUS_INVALIDATED;
  CUstream raw;

  fixture_init (&fixture);
  raw = memra_stream_get_cuda_stream (fixture.stream);
  g_assert_true (memra_stream_get_capture_status (fixture.stream, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_NONE);
  fixture_enter (&fixture);
  memra_test_assert_cu (fixture.cu->cuStreamBeginCapture (raw, MCU_CAPTURE_MODE_GLOBAL));
  g_assert_true (memra_stream_get_capture_status (fixture.stream, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_ACTIVE);
  g_assert_cmpint (fixture.cu->cuStreamQuery (raw), ==, 900);
  g_assert_true (memra_stream_get_capture_status (fixture.stream, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_INVALIDATED);
  fixture_leave (&fixture);
  g_assert_true (memra_stream_recover (fixture.stream, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 0);
}

/* ---- Order by a buffer's events ---- */

typedef struct
{
  Fixture fixture;
  MemraStream *writer, *reader;
  MemraBuffer *shared;    /* with or without events; starts as 1 */
  MemraBuffer *copy;      /* of the reader's own, without events */
  Gate gate;              /* in the writer's stream, before its write */
  gint reader_began;      /* atomic: the reader's stream is at work */
  gint reader_done;       /* atomic */
  gboolean gate_was_open; /* when the reader was done */
} Order;

static void
order_init (Order *order, gboolean tracking)
{
  memset (order, 0, sizeof *order);
  fixture_init (&order->fixture);
  gate_init (&order->gate);
  order->writer = memra_test_stream_new (order->fixture.context);
  order->reader = memra_test_stream_new (order->fixture.context);
  order->copy = memra_test_buffer_filled (order->reader, 0.0f, FIXTURE_N);
  memra_context_set_event_tracking (order->fixture.context, tracking);
  order->shared = memra_test_buffer_filled (order->writer, 1.0f, FIXTURE_N);
  memra_context_set_event_tracking (order->fixture.context, FALSE);
  g_assert_cmpint (memra_buffer_carries_events (order->shared), ==, tracking);
}

static void
order_clear (Order *order)
{
  memra_buffer_unref (order->shared);
  memra_buffer_unref (order->copy);
  memra_stream_unref (order->reader);
  memra_stream_unref (order->writer);
  gate_clear (&order->gate);
  fixture_clear (&order->fixture);
}

static void
enqueue_host (Order *order, MemraStream *stream, CUhostFn fn, void *data)
{
  fixture_enter (&order->fixture);
  memra_test_assert_cu (order->fixture.cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), fn, data));
  fixture_leave (&order->fixture);
}

static void
note_began (void *data)
{
  g_atomic_int_set (&((Order *) data)->reader_began, TRUE);
}

static void
note_done (void *data)
{
  Order *order = (Order *) data;

  order->gate_was_open = gate_is_open (&order->gate);
  g_atomic_int_set (&order->reader_done, TRUE);
}

/* shared += 2 in the writer's stream, behind the gate. */
static void
enqueue_write (Order *order)
{
  g_autoptr (GError) error = NULL;

  enqueue_host (order, order->writer, gate_stand, &order->gate);
  g_assert_true (memra_dsv4_add_inplace (order->fixture.dsv4, order->writer, order->shared, order->fixture.src,
                                         FIXTURE_N, &error));
  g_assert_no_error (error);
}

/* copy = shared in the reader's stream. On a GPU a host function of the reader could stand behind the gate's own
 * thread, so there the stream is asked instead. */
static void
enqueue_read (Order *order)
{
  g_autoptr (GError) error = NULL;

  if (!memra_test_on_gpu ())
    enqueue_host (order, order->reader, note_began, order);
  g_assert_true (memra_buffer_copy (order->copy, order->shared, order->reader, &error));
  g_assert_no_error (error);
  if (!memra_test_on_gpu ())
    enqueue_host (order, order->reader, note_done, order);
}

static gboolean
stream_is_idle (Order *order, MemraStream *stream)
{
  McuResult result;

  fixture_enter (&order->fixture);
  result = order->fixture.cu->cuStreamQuery (memra_stream_get_cuda_stream (stream));
  fixture_leave (&order->fixture);
  g_assert_true (result == MCU_SUCCESS || result == MCU_ERROR_NOT_READY);
  return result == MCU_SUCCESS;
}

/* Gives a stream that nothing holds back all the time it needs to run empty. */
static gboolean
linger_for_idle (Order *order, MemraStream *stream)
{
  for (guint i = 0; i < 5000; i++)
    {
      if (stream_is_idle (order, stream))
        return TRUE;
      g_thread_yield ();
    }
  return FALSE;
}

/* A write in one stream, then a read in another: with events the read waits, though the gate holds the write back. */
static void
test_order_read_after_write (void)
{
  Order order;
  guint64 waits = 0;
  const MemraHostControl *control = memra_test_host_control ();

  order_init (&order, TRUE);
  enqueue_write (&order);
  gate_await_entered (&order.gate);
  if (control != NULL)
    waits = control->count_calls ("cuStreamWaitEvent");
  enqueue_read (&order);
  if (control != NULL)
    g_assert_cmpuint (control->count_calls ("cuStreamWaitEvent") - waits, ==, 1);
  g_assert_false (linger_for_idle (&order, order.reader));
  gate_open (&order.gate);
  memra_test_assert_floats (order.copy, order.reader, 3.0f, FIXTURE_N);
  if (control != NULL)
    {
      g_assert_true (g_atomic_int_get (&order.reader_done));
      g_assert_true (order.gate_was_open);
    }
  order_clear (&order);
}

/* The same without events: nothing orders them, the read is done while the write still stands at the gate. This is what
 * the test above would see if the events did nothing. */
static void
test_order_without_events (void)
{
  Order order;

  order_init (&order, FALSE);
  enqueue_write (&order);
  gate_await_entered (&order.gate);
  enqueue_read (&order);
  memra_test_assert_floats (order.copy, order.reader, 1.0f, FIXTURE_N); /* the old value, and the gate is closed */
  g_assert_false (gate_is_open (&order.gate));
  gate_open (&order.gate);
  memra_test_assert_floats (order.shared, order.writer, 3.0f, FIXTURE_N);
  order_clear (&order);
}

/* A read in one stream held back, then a write in another: the write waits for the read. */
static void
check_write_after_read (gboolean tracking)
{
  Order order;
  g_auto (MemraAccess) access = MEMRA_ACCESS_INIT;
  g_autoptr (GError) error = NULL;
  CUdeviceptr from, to;

  order_init (&order, tracking);
  from = memra_buffer_acquire_read (order.shared, order.reader, &access, &error);
  g_assert_no_error (error);
  to = memra_buffer_get_address (order.copy);
  enqueue_host (&order, order.reader, gate_stand, &order.gate);
  fixture_enter (&order.fixture);
  memra_test_assert_cu (
      order.fixture.cu->cuMemcpyDtoDAsync (to, from, FIXTURE_BYTES, memra_stream_get_cuda_stream (order.reader)));
  fixture_leave (&order.fixture);
  g_assert_true (memra_access_end (&access, &error));
  g_assert_no_error (error);
  gate_await_entered (&order.gate);

  g_assert_true (memra_buffer_zero (order.shared, order.writer, &error));
  g_assert_no_error (error);
  if (tracking)
    {
      g_assert_false (linger_for_idle (&order, order.writer));
      gate_open (&order.gate);
      g_assert_true (memra_stream_synchronize (order.writer, &error));
      memra_test_assert_floats (order.copy, order.reader, 1.0f, FIXTURE_N); /* read before it was overwritten */
    }
  else
    {
      g_assert_true (memra_stream_synchronize (order.writer, &error)); /* done, though the reader has not begun */
      g_assert_false (gate_is_open (&order.gate));
      gate_open (&order.gate);
      memra_test_assert_floats (order.copy, order.reader, 0.0f, FIXTURE_N); /* which reads what came later */
    }
  memra_test_assert_floats (order.shared, order.writer, 0.0f, FIXTURE_N);
  order_clear (&order);
}

static void
test_order_write_after_read (gconstpointer tracking)
{
  check_write_after_read (GPOINTER_TO_INT (tracking));
}

enum
{
  N_READERS = 3
};

/* A read that stands at the gate. */
static void
read_behind_gate (Order *order)
{
  MemraAccess access = MEMRA_ACCESS_INIT;
  g_autoptr (GError) error = NULL;
  CUdeviceptr from = memra_buffer_acquire_read (order->shared, order->reader, &access, &error);

  g_assert_no_error (error);
  enqueue_host (order, order->reader, gate_stand, &order->gate);
  fixture_enter (&order->fixture);
  memra_test_assert_cu (order->fixture.cu->cuMemcpyDtoDAsync (
      memra_buffer_get_address (order->copy), from, FIXTURE_BYTES, memra_stream_get_cuda_stream (order->reader)));
  fixture_leave (&order->fixture);
  g_assert_true (memra_access_end (&access, &error));
  g_assert_no_error (error);
  gate_await_entered (&order->gate);
}

static void
read_by_all (Order *order, MemraStream *const *streams, MemraBuffer *const *copies, float value)
{
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < N_READERS; i++)
    {
      g_assert_true (memra_buffer_copy (copies[i], order->shared, streams[i], &error));
      g_assert_no_error (error);
      memra_test_assert_floats (copies[i], streams[i], value, FIXTURE_N);
    }
}

/* Several readers at once do not wait for one another; a writer after them waits for all of them, whether the one that
 * is still reading came first or last. */
static void
test_order_many_readers (gconstpointer last)
{
  Order order;
  MemraStream *streams[N_READERS];
  MemraBuffer *copies[N_READERS];
  g_autoptr (GError) error = NULL;

  order_init (&order, TRUE);
  for (guint i = 0; i < N_READERS; i++)
    {
      streams[i] = memra_test_stream_new (order.fixture.context);
      copies[i] = memra_test_buffer_filled (streams[i], 0.0f, FIXTURE_N);
    }
  if (GPOINTER_TO_INT (last))
    read_by_all (&order, streams, copies, 1.0f);
  read_behind_gate (&order);
  if (!GPOINTER_TO_INT (last))
    read_by_all (&order, streams, copies, 1.0f);
  g_assert_false (gate_is_open (&order.gate));

  g_assert_true (memra_buffer_zero (order.shared, order.writer, &error));
  g_assert_no_error (error);
  g_assert_false (linger_for_idle (&order, order.writer));
  gate_open (&order.gate);
  memra_test_assert_floats (order.shared, order.writer, 0.0f, FIXTURE_N);
  memra_test_assert_floats (order.copy, order.reader, 1.0f, FIXTURE_N);
  read_by_all (&order, streams, copies, 0.0f); /* the next reads see the write */
  for (guint i = 0; i < N_READERS; i++)
    {
      memra_buffer_unref (copies[i]);
      memra_stream_unref (streams[i]);
    }
  order_clear (&order);
}

/* One stream alone needs no waiting for itself. */
static void
test_order_one_stream (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();
  guint64 waits;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  memra_context_set_event_tracking (fixture.context, TRUE);
  buffer = memra_test_buffer_filled (fixture.stream, 1.0f, FIXTURE_N);
  waits = control->count_calls ("cuStreamWaitEvent");
  for (guint i = 0; i < 3; i++)
    {
      g_assert_true (memra_buffer_zero (buffer, fixture.stream, &error));
      g_assert_true (memra_buffer_copy (fixture.dst, buffer, fixture.stream, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpuint (control->count_calls ("cuStreamWaitEvent"), ==, waits);
  memra_context_set_event_tracking (fixture.context, FALSE);
}

/* A write that waited for the reads before it stands for them: the next writer waits for that write alone. */
static void
test_order_waits_are_few (void)
{
  Order order;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();
  guint64 waits;

  if (!memra_test_need_host ())
    return;
  order_init (&order, TRUE);
  g_assert_true (memra_buffer_copy (order.copy, order.shared, order.reader, &error));
  g_assert_true (memra_buffer_copy (order.fixture.dst, order.shared, order.fixture.stream, &error));
  waits = control->count_calls ("cuStreamWaitEvent");
  g_assert_true (memra_buffer_zero (order.shared, order.writer, &error)); /* for two reads */
  g_assert_cmpuint (control->count_calls ("cuStreamWaitEvent") - waits, ==, 2);
  g_assert_true (memra_buffer_zero (order.shared, order.reader, &error)); /* for one write */
  g_assert_cmpuint (control->count_calls ("cuStreamWaitEvent") - waits, ==, 3);
  g_assert_no_error (error);
  order_clear (&order);
}

/* Events are made once and used again, and all go with the buffer. */
static void
test_order_events_are_few (void)
{
  Order order;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();
  guint64 events;

  if (!memra_test_need_host ())
    return;
  order_init (&order, TRUE);
  events = control->count_objects ("event");
  for (guint i = 0; i < 10; i++)
    {
      g_assert_true (memra_buffer_copy (order.copy, order.shared, order.reader, &error));
      g_assert_true (memra_buffer_copy (order.fixture.dst, order.shared, order.writer, &error));
      g_assert_true (memra_buffer_zero (order.shared, order.writer, &error));
      g_assert_no_error (error);
    }
  g_assert_cmpuint (control->count_objects ("event"), ==, events + 2);
  g_assert_true (memra_stream_synchronize (order.writer, &error));
  memra_buffer_unref (g_steal_pointer (&order.shared));
  g_assert_cmpuint (control->count_objects ("event"), ==, events - 1);
  order_clear (&order);
}

/* An access that is left early is closed by its scope. */
static gboolean
leave_with_access (Order *order)
{
  g_auto (MemraAccess) access = MEMRA_ACCESS_INIT;
  g_autoptr (GError) error = NULL;

  enqueue_host (order, order->writer, gate_stand, &order->gate);
  return memra_buffer_acquire_write (order->shared, order->writer, &access, &error) != 0;
}

static void
test_access_auto (void)
{
  Order order;

  order_init (&order, TRUE);
  g_assert_true (leave_with_access (&order));
  gate_await_entered (&order.gate);
  enqueue_read (&order);
  g_assert_false (linger_for_idle (&order, order.reader)); /* so the write's end was recorded */
  gate_open (&order.gate);
  memra_test_assert_floats (order.copy, order.reader, 1.0f, FIXTURE_N);
  order_clear (&order);
}

static void
test_access_twice (void)
{
  g_auto (Fixture) fixture = { 0 };
  MemraAccess access = MEMRA_ACCESS_INIT;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_true (memra_access_end (&access, &error)); /* not in use: nothing to do */
  g_assert_cmphex (memra_buffer_acquire_read (fixture.dst, fixture.stream, &access, &error), ==,
                   memra_buffer_get_address (fixture.dst));
  g_test_expect_message (G_LOG_DOMAIN, G_LOG_LEVEL_CRITICAL, "*access*");
  g_assert_cmphex (memra_buffer_acquire_read (fixture.dst, fixture.stream, &access, NULL), ==, 0); /* in use */
  g_test_assert_expected_messages ();
  g_assert_true (memra_access_end (&access, &error));
  g_assert_cmphex (memra_buffer_acquire_write (fixture.dst, fixture.stream, &access, &error), !=, 0);
  g_assert_true (memra_access_end (&access, &error));
  g_assert_no_error (error);
}

/* Waiting for another stream, without buffers. */
static void
test_stream_wait (gconstpointer waits)
{
  Order order;
  g_autoptr (GError) error = NULL;

  order_init (&order, FALSE);
  enqueue_write (&order);
  gate_await_entered (&order.gate);
  if (GPOINTER_TO_INT (waits))
    {
      g_assert_true (memra_stream_wait (order.reader, order.writer, &error));
      g_assert_no_error (error);
      enqueue_read (&order);
      g_assert_false (linger_for_idle (&order, order.reader));
      gate_open (&order.gate);
      memra_test_assert_floats (order.copy, order.reader, 3.0f, FIXTURE_N);
    }
  else
    {
      g_assert_true (memra_stream_wait (order.writer, order.reader, &error)); /* the wrong way round */
      g_assert_no_error (error);
      enqueue_read (&order);
      memra_test_assert_floats (order.copy, order.reader, 1.0f, FIXTURE_N);
      gate_open (&order.gate);
    }
  memra_test_assert_floats (order.shared, order.writer, 3.0f, FIXTURE_N);
  order_clear (&order);
}

/* Work is asynchronous: nothing of it is seen while it is held. */
static void
test_stream_asynchronous (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();
  CUstream raw;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  raw = memra_stream_get_cuda_stream (fixture.stream);
  control->hold_work ();
  g_assert_true (fixture_add (&fixture, fixture.stream, &error));
  g_assert_no_error (error);
  fixture_enter (&fixture);
  g_assert_cmpint (fixture.cu->cuStreamQuery (raw), ==, MCU_ERROR_NOT_READY);
  fixture_leave (&fixture);
  control->release_work ();
  fixture_assert_ran (&fixture, 1);
}

/* ---- Buffers ---- */

static void
test_buffer_basics (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) buffer = NULL;
  g_autoptr (GError) error = NULL;
  guint8 bytes[100], back[100];

  fixture_init (&fixture);
  for (guint i = 0; i < sizeof bytes; i++)
    bytes[i] = (guint8) i;
  buffer = memra_buffer_new_from_host (fixture.stream, bytes, sizeof bytes, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_buffer_get_size (buffer), ==, 100);
  g_assert_cmphex (memra_buffer_get_address (buffer), !=, 0);
  g_assert_true (memra_buffer_get_context (buffer) == fixture.context);
  g_assert_false (memra_buffer_carries_events (buffer));
  memset (back, 0, sizeof back);
  g_assert_true (memra_buffer_copy_to_host (buffer, 0, back, sizeof back, fixture.stream, &error));
  g_assert_cmpmem (back, sizeof back, bytes, sizeof bytes);

  /* A part of it. */
  memset (back, 0, sizeof back);
  g_assert_true (memra_buffer_copy_to_host (buffer, 10, back, 5, fixture.stream, &error));
  g_assert_cmpmem (back, 5, bytes + 10, 5);
  g_assert_cmpuint (back[5], ==, 0);
  g_assert_true (memra_buffer_copy_from_host (buffer, 99, bytes, 1, fixture.stream, &error));
  g_assert_true (memra_buffer_copy_to_host (buffer, 98, back, 2, fixture.stream, &error));
  g_assert_cmpuint (back[0], ==, 98);
  g_assert_cmpuint (back[1], ==, 0);
  g_assert_true (memra_buffer_copy_to_host (buffer, 100, NULL, 0, fixture.stream, &error)); /* nothing, at the end */
  g_assert_no_error (error);
  g_assert_true (memra_buffer_ref (buffer) == buffer);
  memra_buffer_unref (buffer);
  memra_buffer_unref (NULL);
}

static void
test_buffer_ranges (void)
{
  static const struct
  {
    gsize offset, size;
  } ranges[] = { { 0, 101 }, { 100, 1 }, { 101, 0 }, { 99, 2 }, { G_MAXSIZE, 2 }, { 2, G_MAXSIZE } };
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) buffer = NULL;
  guint8 bytes[100] = { 0 };

  fixture_init (&fixture);
  buffer = memra_buffer_new_from_host (fixture.stream, bytes, sizeof bytes, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (ranges); i++)
    {
      g_autoptr (GError) to = NULL;
      g_autoptr (GError) from = NULL;

      g_assert_false (memra_buffer_copy_to_host (buffer, ranges[i].offset, bytes, ranges[i].size, fixture.stream, &to));
      g_assert_error (to, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT);
      assert_contains (to->message, "buffer of 100");
      g_assert_false (
          memra_buffer_copy_from_host (buffer, ranges[i].offset, bytes, ranges[i].size, fixture.stream, &from));
      g_assert_error (from, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT);
    }
}

static void
test_buffer_copy (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) larger = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  larger = memra_buffer_new (fixture.stream, FIXTURE_BYTES + 1, &error);
  g_assert_no_error (error);
  g_assert_false (memra_buffer_copy (larger, fixture.dst, fixture.stream, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT);
  assert_contains (error->message, "1024 bytes into one of 1025");
  g_clear_error (&error);
  g_assert_true (memra_buffer_copy (fixture.dst, fixture.src, fixture.stream, &error));
  g_assert_no_error (error);
  memra_test_assert_floats (fixture.dst, fixture.stream, 2.0f, FIXTURE_N);
  g_assert_true (memra_buffer_copy (fixture.dst, fixture.dst, fixture.stream, &error)); /* onto itself */
  g_assert_no_error (error);
  g_assert_true (memra_buffer_zero (fixture.dst, fixture.stream, &error));
  memra_test_assert_floats (fixture.dst, fixture.stream, 0.0f, FIXTURE_N);
}

static void
test_buffer_too_large (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_buffer_new (fixture.stream, (gsize) 1 << 50, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_OUT_OF_MEMORY);
  assert_contains (error->message, "1125899906842624 bytes");
  fixture_assert_good_as_new (&fixture, 0);
}

static gpointer
open_gate (gpointer gate)
{
  gate_open ((Gate *) gate);
  return NULL;
}

/* A dropped buffer's memory is not taken away from work that is under way. */
static void
test_buffer_unref_waits (void)
{
  Order order;
  GThread *opener;
  g_autoptr (GError) error = NULL;
  const MemraHostControl *control = memra_test_host_control ();

  order_init (&order, FALSE);
  if (control != NULL)
    control->set_poison (TRUE);
  enqueue_host (&order, order.reader, gate_stand, &order.gate);
  g_assert_true (memra_buffer_copy (order.copy, order.shared, order.reader, &error));
  g_assert_no_error (error);
  gate_await_entered (&order.gate);
  opener = g_thread_new ("opener", open_gate, &order.gate);
  memra_buffer_unref (g_steal_pointer (&order.shared)); /* waits for the copy */
  g_thread_join (opener);
  memra_test_assert_floats (order.copy, order.reader, 1.0f, FIXTURE_N);
  if (control != NULL)
    control->set_poison (FALSE);
  order_clear (&order);
}

/* ---- Modules and launches ---- */

static void
test_module_missing_file (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_module_load (fixture.context, "/nonexistent/kernels.cubin", &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NOT_FOUND);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_FILE_NOT_FOUND);
  assert_contains (error->message, "/nonexistent/kernels.cubin");
  fixture_assert_thread (&fixture);
}

static void
test_module_wrong_image (void)
{
  static const char garbage[4096] = "this is no module";
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  int fd;

  fixture_init (&fixture);
  g_assert_null (memra_module_load_data (fixture.context, garbage, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_INVALID_IMAGE);
  g_clear_error (&error);
  fd = g_file_open_tmp ("memra-XXXXXX", &path, &error);
  g_assert_no_error (error);
  g_close (fd, NULL);
  g_assert_true (g_file_set_contents (path, garbage, sizeof garbage, &error));
  g_assert_null (memra_module_load (fixture.context, path, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_INVALID_IMAGE);
  assert_contains (error->message, path);
  g_unlink (path);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_module_load (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraModule) module = NULL;
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = fixture_dup_host_module_path ();

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  module = memra_module_load (fixture.context, path, &error);
  g_assert_no_error (error);
  g_assert_nonnull (memra_module_get_cuda_module (module));
  kernel = memra_module_get_kernel (module, FIXTURE_KERNEL, &error);
  g_assert_no_error (error);
  g_clear_pointer (&module, memra_module_unref); /* the kernel holds it */
  g_assert_cmpstr (memra_kernel_get_name (kernel), ==, FIXTURE_KERNEL);
  g_assert_nonnull (memra_kernel_get_cuda_function (kernel));
}

static void
test_kernel_unknown (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_module_get_kernel (memra_dsv4_get_module (fixture.dsv4), "memra_dsv4_divide_by_zero", &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NOT_FOUND);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_NOT_FOUND);
  assert_contains (error->message, "memra_dsv4_divide_by_zero");
}

static void
test_kernel_arguments (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (GError) error = NULL;
  const MemraDim3 one = { 1, 1, 1 };
  CUdeviceptr address;
  guint64 n = FIXTURE_N;
  gconstpointer arguments[] = { &address, &address, &n, &n };

  fixture_init (&fixture);
  if (!memra_driver_has_entry (memra_test_driver (), "cuFuncGetParamInfo"))
    {
      g_test_skip ("the driver is below 12.4 and does not tell how many arguments a kernel takes");
      return;
    }
  address = memra_buffer_get_address (fixture.dst);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (fixture.dsv4), FIXTURE_KERNEL, &error);
  g_assert_cmpint (memra_kernel_get_n_arguments (kernel), ==, 3);
  for (guint given = 0; given <= 4; given++)
    {
      if (given == 3)
        continue;
      g_assert_false (
          memra_kernel_launch (kernel, fixture.stream, &one, &one, 0, given > 0 ? arguments : NULL, given, &error));
      g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT);
      assert_contains (error->message, FIXTURE_KERNEL);
      assert_contains (error->message, "takes 3 arguments");
      g_clear_error (&error);
    }
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_launch_zero_grid (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (GError) error = NULL;
  const MemraDim3 none = { 0, 1, 1 }, one = { 1, 1, 1 }, huge = { 1 << 12, 1 << 12, 1 };
  CUdeviceptr dst, src;
  guint64 n = FIXTURE_N;
  gconstpointer arguments[] = { &dst, &src, &n };

  fixture_init (&fixture);
  dst = memra_buffer_get_address (fixture.dst);
  src = memra_buffer_get_address (fixture.src);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (fixture.dsv4), FIXTURE_KERNEL, &error);
  g_assert_false (memra_kernel_launch (kernel, fixture.stream, &none, &one, 0, arguments, 3, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_INVALID_VALUE);
  assert_contains (error->message, FIXTURE_KERNEL);
  g_clear_error (&error);
  g_assert_false (
      memra_kernel_launch (kernel, fixture.stream, &one, &huge, 0, arguments, 3, &error)); /* a block too large */
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED);
  g_clear_error (&error);
  g_assert_true (memra_kernel_launch (kernel, fixture.stream, &one, &one, 0, arguments, 3, &error));
  g_assert_no_error (error);
  fixture_assert_good_as_new (&fixture, 1);
}

static gboolean
zero_grid_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;
  g_autoptr (MemraKernel) kernel = NULL;
  const MemraDim3 none = { 1, 0, 1 }, one = { 1, 1, 1 };
  CUdeviceptr dst = memra_buffer_get_address (fixture->dst), src = memra_buffer_get_address (fixture->src);
  guint64 n = FIXTURE_N;
  gconstpointer arguments[] = { &dst, &src, &n };

  kernel = memra_module_get_kernel (memra_dsv4_get_module (fixture->dsv4), FIXTURE_KERNEL, error);
  return kernel != NULL && memra_kernel_launch (kernel, stream, &none, &one, 0, arguments, 3, error);
}

static void
test_launch_zero_grid_in_body (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 65, NULL, zero_grid_body, &fixture, &error));
  assert_body_error (error, 65, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_FAILED, MCU_ERROR_INVALID_VALUE);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
add_tests (void)
{
  memra_test_add ("/context/released", test_context_released); /* first: counts every context there is */
  memra_test_add ("/context/new", test_context_new);
  memra_test_add_data ("/context/bad-ordinal/negative", GINT_TO_POINTER (-1), test_context_bad_ordinal);
  memra_test_add_data ("/context/bad-ordinal/too-large", GINT_TO_POINTER (1000), test_context_bad_ordinal);
  memra_test_add ("/context/wrap", test_context_wrap);
  memra_test_add ("/context/two-of-a-device", test_context_two_of_a_device);
  memra_test_add ("/context/synchronize", test_context_synchronize);
  memra_test_add ("/context/broken", test_context_broken);
  memra_test_add ("/devices/side-by-side", test_devices_side_by_side);
  memra_test_add ("/devices/crossing", test_devices_crossing);
  memra_test_add ("/devices/crossing-in-body", test_devices_crossing_in_body);
  memra_test_add ("/devices/current", test_devices_current);

  memra_test_add ("/stream/flags", test_stream_flags);
  memra_test_add ("/stream/wrap", test_stream_wrap);
  memra_test_add ("/stream/wrap-while-capturing", test_stream_wrap_while_capturing);
  memra_test_add_data ("/stream/legacy/null", NULL, test_stream_legacy);
  memra_test_add_data ("/stream/legacy/handle", MCU_STREAM_LEGACY, test_stream_legacy);
  memra_test_add ("/stream/legacy/beside-capture", test_stream_legacy_beside_capture);
  memra_test_add ("/stream/status", test_stream_status);
  memra_test_add_data ("/stream/wait/waits", GINT_TO_POINTER (TRUE), test_stream_wait);
  memra_test_add_data ("/stream/wait/other-way", GINT_TO_POINTER (FALSE), test_stream_wait);
  memra_test_add ("/stream/asynchronous", test_stream_asynchronous);

  memra_test_add ("/order/read-after-write", test_order_read_after_write);
  memra_test_add ("/order/read-after-write/without-events", test_order_without_events);
  memra_test_add_data ("/order/write-after-read", GINT_TO_POINTER (TRUE), test_order_write_after_read);
  memra_test_add_data ("/order/write-after-read/without-events", GINT_TO_POINTER (FALSE), test_order_write_after_read);
  memra_test_add_data ("/order/many-readers/gated-first", GINT_TO_POINTER (FALSE), test_order_many_readers);
  memra_test_add_data ("/order/many-readers/gated-last", GINT_TO_POINTER (TRUE), test_order_many_readers);
  memra_test_add ("/order/one-stream", test_order_one_stream);
  memra_test_add ("/order/events-are-few", test_order_events_are_few);
  memra_test_add ("/order/waits-are-few", test_order_waits_are_few);
  memra_test_add ("/access/auto", test_access_auto);
  memra_test_add ("/access/twice", test_access_twice);

  memra_test_add ("/buffer/basics", test_buffer_basics);
  memra_test_add ("/buffer/ranges", test_buffer_ranges);
  memra_test_add ("/buffer/copy", test_buffer_copy);
  memra_test_add ("/buffer/too-large", test_buffer_too_large);
  memra_test_add ("/buffer/unref-waits", test_buffer_unref_waits);

  memra_test_add ("/module/missing-file", test_module_missing_file);
  memra_test_add ("/module/wrong-image", test_module_wrong_image);
  memra_test_add ("/module/load", test_module_load);
  memra_test_add ("/kernel/unknown", test_kernel_unknown);
  memra_test_add ("/kernel/arguments", test_kernel_arguments);
  memra_test_add ("/kernel/zero-grid", test_launch_zero_grid);
  memra_test_add ("/kernel/zero-grid-in-body", test_launch_zero_grid_in_body);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
