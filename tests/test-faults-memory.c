/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A device with no memory left, and one that cannot be had: an error, and everything else goes on. */
#include "config.h"

#include "faults.h"

#include "capture/capture-private.h"

#include <dlfcn.h>
#include <string.h>

#define PLENTY ((unsigned long long) 8 << 30)

static void
assert_no_memory (GError **error, const char *part)
{
  g_test_message ("%s", (*error)->message);
  g_assert_error (*error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY);
  g_assert_cmpint (memra_driver_error_get_cuda_result (*error), ==, MCU_ERROR_OUT_OF_MEMORY);
  assert_contains ((*error)->message, part);
  g_clear_error (error);
}

static void
assert_capture_no_memory (GError **error, MemraCaptureStage stage)
{
  g_test_message ("%s", (*error)->message);
  g_assert_error (*error, MEMRA_CAPTURE_ERROR, MEMRA_CAPTURE_ERROR_FAILED);
  g_assert_cmpint (memra_capture_error_get_cuda_result (*error), ==, MCU_ERROR_OUT_OF_MEMORY);
  g_assert_cmpint (memra_capture_error_get_stage (*error), ==, stage);
  g_assert_cmpint (memra_capture_error_get_execution (*error), ==, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_true (memra_capture_error_get_stream_clean (*error));
  g_clear_error (error);
}

/* Bytes of the device that are not allocated. */
static gsize
get_available (Fixture *fixture)
{
  McuResult (*get_info) (gsize * available, gsize * total);
  void *handle = dlopen (memra_test_host_driver_path (), RTLD_NOW | RTLD_NOLOAD);
  gsize available = 0, total = 0;

  get_info = (McuResult (*) (gsize *, gsize *)) dlsym (handle, "cuMemGetInfo_v2");
  fixture_enter (fixture);
  memra_test_assert_cu (get_info (&available, &total));
  fixture_leave (fixture);
  dlclose (handle);
  return available;
}

/* An allocation that does not fit is refused, one that does is not, and what was freed can be had again. */
static void
test_allocation (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraBuffer) fits = NULL;
  g_autoptr (GError) error = NULL;
  FaultsObjects objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  control->set_memory (PLENTY - get_available (&fixture) + 8192);
  g_assert_cmpuint (get_available (&fixture), ==, 8192);
  objects = faults_count_objects ();
  for (guint i = 0; i < 3; i++)
    {
      g_assert_null (memra_buffer_new (fixture.stream, 8193, &error));
      assert_no_memory (&error, "8193 bytes");
      faults_assert_objects (&objects, NULL);
      fits = memra_buffer_new (fixture.stream, 8192, &error);
      g_assert_no_error (error);
      g_assert_null (memra_buffer_new (fixture.stream, 1, &error));
      assert_no_memory (&error, "1 bytes");
      g_clear_pointer (&fits, memra_buffer_unref);
    }
  fixture_assert_good_as_new (&fixture, 0);
  control->set_memory (PLENTY);
  faults_report (9, 9);
}

/* With nothing left: what is there goes on, and replays; what must be made is refused; and nothing is lost of it. */
static void
test_nothing_left (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraLayerSequence) sequence = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = fixture_dup_host_module_path ();
  MemraUpdateOutcome outcome;
  FaultsObjects objects;
  guint calls;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 60);
  sequence = memra_layer_sequence_new (fixture.stream, &capture, 1, NULL, &error);
  g_assert_no_error (error);
  objects = faults_count_objects ();
  calls = fixture.calls;
  control->set_memory (0);

  g_assert_null (memra_buffer_new (fixture.stream, 64, &error));
  assert_no_memory (&error, "64 bytes");
  g_assert_null (memra_module_load (fixture.context, path, &error));
  assert_no_memory (&error, "Could not load");
  g_assert_null (memra_dsv4_new (fixture.context, &error));
  assert_no_memory (&error, "Could not load");
  g_assert_null (memra_capture_layer (fixture.stream, 61, NULL, fixture_body, &fixture, &error));
  g_assert_nonnull (memra_capture_error_get_partial_census (error));
  assert_capture_no_memory (&error, MEMRA_CAPTURE_STAGE_INSTANTIATE);
  g_assert_cmpuint (fixture.calls, ==, calls + 1);
  g_assert_null (memra_layer_sequence_new (fixture.stream, &capture, 1, NULL, &error));
  assert_capture_no_memory (&error, MEMRA_CAPTURE_STAGE_INSTANTIATE);
  fixture_assert_thread (&fixture);
  faults_assert_objects (&objects, NULL);

  fixture_assert_ran (&fixture, 1);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  g_assert_true (memra_layer_sequence_replay (sequence, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 3);
  /* In place takes no memory. */
  g_assert_true (memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, fixture_body, &fixture,
                                             &outcome, &error));
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_UPDATED);
  g_assert_true (memra_layer_sequence_update (sequence, MEMRA_UPDATE_OR_REINSTANTIATE, &outcome, &error));
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_UPDATED);
  g_assert_true (memra_layer_sequence_replay (sequence, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 4);

  control->set_memory (PLENTY);
  fixture_assert_good_as_new (&fixture, 4);
  faults_report (5, 5);
}

static gboolean
body_of_two (MemraStream *stream, gpointer fixture, GError **error)
{
  return fixture_add ((Fixture *) fixture, stream, error) && fixture_add ((Fixture *) fixture, stream, error);
}

/* Where an update cannot be made in place there is no memory for a fresh instantiation: the capture is as it was. */
static void
test_reinstantiation (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  MemraUpdateOutcome outcome;
  FaultsObjects objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  capture = fixture_capture (&fixture, 62);
  objects = faults_count_objects ();
  control->set_memory (0);
  g_assert_false (
      memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body_of_two, &fixture, NULL, &error));
  assert_capture_no_memory (&error, MEMRA_CAPTURE_STAGE_INSTANTIATE);
  faults_assert_objects (&objects, NULL);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 2);
  control->set_memory (PLENTY);
  g_assert_true (memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_OR_REINSTANTIATE, body_of_two, &fixture,
                                             &outcome, &error));
  g_assert_no_error (error);
  g_assert_cmpint (outcome, ==, MEMRA_UPDATE_REINSTANTIATED);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  fixture_assert_ran (&fixture, 4);
  faults_report (1, 1);
}

/* The body asks for memory of its own while it is captured, which a relaxed capture lets it do. */
static gboolean
greedy_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;
  g_autoptr (MemraBuffer) scratch = NULL;

  if (!fixture_body (stream, fixture, error))
    return FALSE;
  scratch = memra_buffer_new (stream, 1 << 20, error);
  return scratch != NULL && memra_buffer_zero (scratch, stream, error);
}

static void
test_in_body (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  FaultsObjects objects;

  if (!memra_test_need_host ())
    return;
  fixture_init (&fixture);
  objects = faults_count_objects ();
  control->set_memory (1 << 20); /* of which the fixture has taken some */
  g_assert_null (memra_capture_layer (fixture.stream, 63, NULL, greedy_body, &fixture, &error));
  assert_body_error (error, 63, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY, MCU_ERROR_OUT_OF_MEMORY);
  g_clear_error (&error);
  faults_assert_objects (&objects, NULL);
  fixture_assert_ran (&fixture, 0);
  control->set_memory (PLENTY);
  capture = memra_capture_layer (fixture.stream, 63, NULL, greedy_body, &fixture, &error);
  g_assert_no_error (error);
  fixture_assert_ran (&fixture, 1);
  faults_report (1, 1);
}

/* ---- The device cannot be had ---- */

static void
test_no_context (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  static const struct
  {
    int result;
    MemraDriverError code;
  } cases[] = { { 2, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY },
                { 46, MEMRA_DRIVER_ERROR_FAILED }, /* DEVICE_UNAVAILABLE: somebody has it to themselves */
                { 101, MEMRA_DRIVER_ERROR_NO_DEVICE },
                { 214, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT }, /* ECC_UNCORRECTABLE */
                { 999, MEMRA_DRIVER_ERROR_FAILED } };
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpint (control->inject_fault ("cuDevicePrimaryCtxRetain", 1, cases[i].result), ==, 0);
      g_assert_null (memra_context_new (memra_test_driver (), 0, &error));
      g_assert_error (error, MEMRA_DRIVER_ERROR, cases[i].code);
      g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, cases[i].result);
      assert_contains (error->message, "Could not retain the primary context of device 0");
      g_clear_error (&error);
      g_assert_cmpuint (control->count_objects ("*"), ==, 0);
    }
  control->set_memory (0);
  g_assert_null (memra_context_new (memra_test_driver (), 0, &error));
  assert_no_memory (&error, "device 0");
  g_assert_cmpuint (control->count_objects ("*"), ==, 0);
  control->set_memory (PLENTY);
  context = memra_context_new (memra_test_driver (), 0, &error);
  g_assert_no_error (error);
  faults_report (G_N_ELEMENTS (cases) + 1, G_N_ELEMENTS (cases) + 1);
}

static void
test_no_device (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  static const struct
  {
    int result;
    MemraDriverError code;
  } cases[] = { { 100, MEMRA_DRIVER_ERROR_NO_DEVICE },
                { 802, MEMRA_DRIVER_ERROR_FAILED }, /* SYSTEM_NOT_READY: the fabric is not up yet */
                { 803, MEMRA_DRIVER_ERROR_FAILED }, /* SYSTEM_DRIVER_MISMATCH */
                { 999, MEMRA_DRIVER_ERROR_FAILED } };
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmpint (control->inject_fault ("cuInit", 1, cases[i].result), ==, 0);
      g_assert_null (memra_driver_open (memra_test_host_driver_path (), &error));
      g_assert_error (error, MEMRA_DRIVER_ERROR, cases[i].code);
      g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, cases[i].result);
      g_clear_error (&error);
    }
  g_assert_cmpint (control->set_device_count (0), ==, 0);
  g_assert_null (memra_driver_open (memra_test_host_driver_path (), &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DEVICE);
  g_clear_error (&error);
  g_assert_cmpint (control->set_device_count (1), ==, 0);
  driver = memra_driver_open (memra_test_host_driver_path (), &error);
  g_assert_no_error (error);
  g_assert_null (memra_context_new (driver, 1, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DEVICE);
  faults_report (G_N_ELEMENTS (cases) + 1, G_N_ELEMENTS (cases) + 1);
}

static void
add_tests (void)
{
  memra_test_add ("/faults/memory/allocation", test_allocation);
  memra_test_add ("/faults/memory/nothing-left", test_nothing_left);
  memra_test_add ("/faults/memory/reinstantiation", test_reinstantiation);
  memra_test_add ("/faults/memory/in-body", test_in_body);
  memra_test_add ("/faults/no-context", test_no_context);
  memra_test_add ("/faults/no-device", test_no_device);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
