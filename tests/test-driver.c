/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading a driver, in every way that it can fail; versions; and how a result becomes an error. */
#include "config.h"

#include "capture-fixture.h"

#include "driver/driver-private.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>

/* ---- Fakes ---- */

/* Beside the test programs, in a build tree and in a bundle. */
static char *
find_fake (const char *name)
{
  static const char *const places[] = { "fake-drivers/.libs", "../fake-drivers/.libs", "fake-drivers" };
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *directory = g_path_get_dirname (program != NULL ? program : ".");
  g_autofree char *file = g_strconcat ("fake-", name, ".so", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_autofree char *path = g_build_filename (directory, places[i], file, NULL);

      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }
  g_error ("%s is not beside %s", file, directory);
  return NULL;
}

static void
assert_no_driver (const char *name, MemraDriverError code, McuResult result, const char *const *sentences)
{
  g_autofree char *path = find_fake (name);
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_driver_open (path, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, code);
  g_test_message ("%s", error->message);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, result);
  assert_contains (error->message, path);
  for (; *sentences != NULL; sentences++)
    assert_contains (error->message, *sentences);
}

static void
test_stub (void)
{
  static const char *const sentences[] = { "stub, not a driver", "(34)", NULL };

  assert_no_driver ("stub", MEMRA_DRIVER_ERROR_STUB, MCU_ERROR_STUB_LIBRARY, sentences);
}

static void
test_no_device (void)
{
  static const char *const sentences[]
      = { "found no device", "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected", "CUDA_VISIBLE_DEVICES",
          NULL };

  assert_no_driver ("no-device", MEMRA_DRIVER_ERROR_NO_DEVICE, MCU_ERROR_NO_DEVICE, sentences);
}

static void
test_no_device_counted (void)
{
  static const char *const sentences[] = { "has no device", NULL };

  assert_no_driver ("no-device-counted", MEMRA_DRIVER_ERROR_NO_DEVICE, MCU_SUCCESS, sentences);
}

static void
test_too_old (void)
{
  static const char *const sentences[] = { "version 11.2", "need 11.4", NULL };

  assert_no_driver ("old", MEMRA_DRIVER_ERROR_TOO_OLD, MCU_SUCCESS, sentences);
}

static void
test_lacking_one (void)
{
  static const char *const sentences[] = { "version 13.0", "lacks cuGraphUpload;", NULL };

  assert_no_driver ("lacking-one", MEMRA_DRIVER_ERROR_MISSING_ENTRY, MCU_SUCCESS, sentences);
}

static void
test_lacking_most (void)
{
  static const char *const sentences[]
      = { "cuDeviceGet,", "cuStreamBeginCapture_v2,", "cuMemAlloc_v2,", "cuGraphLaunch,", NULL };

  assert_no_driver ("lacking-most", MEMRA_DRIVER_ERROR_MISSING_ENTRY, MCU_SUCCESS, sentences);
}

static void
test_not_a_driver (void)
{
  static const char *const sentences[] = { "not a CUDA driver", "cuInit", NULL };

  assert_no_driver ("nothing", MEMRA_DRIVER_ERROR_MISSING_ENTRY, MCU_SUCCESS, sentences);
}

static void
test_unknown_error (void)
{
  static const char *const sentences[] = { "Could not initialise", "12345", NULL };

  assert_no_driver ("unknown-error", MEMRA_DRIVER_ERROR_FAILED, 12345, sentences);
}

static void
test_no_file (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_driver_open ("/nonexistent/libcuda.so.1", &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_SUCCESS);
  assert_contains (error->message, "No CUDA driver");
  assert_contains (error->message, "/nonexistent/libcuda.so.1");
  assert_contains (error->message, "host driver");
}

static void
test_no_library (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("memra-XXXXXX", &path, &error);

  g_assert_no_error (error);
  g_close (fd, NULL);
  g_assert_true (g_file_set_contents (path, "no library", -1, NULL));
  g_assert_null (memra_driver_open (path, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER);
  assert_contains (error->message, path);
  g_unlink (path);
}

static void
test_error_unwanted (void)
{
  static const char *const names[] = { "stub", "no-device", "old", "lacking-one", "nothing" };

  g_assert_null (memra_driver_open ("/nonexistent/libcuda.so.1", NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = find_fake (names[i]);

      g_assert_null (memra_driver_open (path, NULL));
    }
}

/* Before 11.3 there was no cuGetProcAddress: the symbols themselves do. */
static void
test_plain (void)
{
  g_autofree char *path = find_fake ("plain");
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraDriver) driver = memra_driver_open (path, &error);
  g_autofree char *name = NULL;

  g_assert_no_error (error);
  g_assert_cmpint (memra_driver_get_kind (driver), ==, MEMRA_DRIVER_CUDA);
  g_assert_null (memra_driver_get_host_control (driver));
  g_assert_cmpint (memra_driver_get_version (driver), ==, 13000);
  g_assert_cmpint (memra_driver_get_n_devices (driver), ==, 1);
  g_assert_cmpstr (memra_driver_get_path (driver), ==, path);
  g_assert_true (memra_driver_has_entry (driver, "cuGraphUpload"));
  g_assert_true (memra_driver_has_entry (driver, "cuFuncGetName"));
  g_assert_false (memra_driver_has_entry (driver, "cuGraphNodeGetParams")); /* 13.2 */
  g_assert_null (memra_context_new (driver, 0, &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_NOT_SUPPORTED);
  assert_contains (error->message, "801");
  g_clear_error (&error);
  name = memra_driver_dup_device_name (driver, 0, &error);
  g_assert_null (name);
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NOT_SUPPORTED);
}

/* Entry points are asked for by the ABI that this library was written for, not by what the driver or a header says. */
static void
test_pinned_versions (void)
{
  static const struct
  {
    const char *symbol;
    int versions[2];
  } pinned[] = {
    { "cuStreamGetCaptureInfo", { 11030, 12030 } },      { "cuGraphKernelNodeGetParams", { 10000, 12000 } },
    { "cuGraphExecUpdate", { 10020, 12000 } },           { "cuStreamBeginCapture", { 10010, 10010 } },
    { "cuGraphInstantiateWithFlags", { 11040, 11040 } }, { "cuMemAlloc", { 3020, 3020 } },
  };
  g_autofree char *path = find_fake ("recording");
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraDriver) driver = memra_driver_open (path, &error);
  const char *(*get_request) (unsigned, int *, uint64_t *);
  guint found[G_N_ELEMENTS (pinned)][2] = { { 0 } };
  const char *symbol;
  uint64_t flags;
  int version;

  g_assert_no_error (error);
  g_assert_cmpint (memra_driver_get_n_devices (driver), ==, 3);
  get_request = (const char *(*) (unsigned, int *, uint64_t *) ) dlsym (driver->handle, "fake_get_request");
  for (guint i = 0; (symbol = get_request (i, &version, &flags)) != NULL; i++)
    {
      g_assert_cmpint (version, <, 13000); /* nothing here was new in 13.0 */
      g_assert_cmpuint (flags, ==, MCU_GET_PROC_LEGACY_STREAM);
      g_assert_cmpstr (symbol, !=, "cuGraphInstantiate"); /* one name, two argument lists */
      for (guint j = 0; j < G_N_ELEMENTS (pinned); j++)
        if (strcmp (symbol, pinned[j].symbol) == 0)
          {
            g_assert_true (version == pinned[j].versions[0] || version == pinned[j].versions[1]);
            found[j][version == pinned[j].versions[0] ? 0 : 1]++;
          }
    }
  for (guint j = 0; j < G_N_ELEMENTS (pinned); j++)
    {
      g_test_message ("%s", pinned[j].symbol);
      g_assert_cmpuint (found[j][0], ==, 1);
      g_assert_cmpuint (found[j][1], ==, pinned[j].versions[0] == pinned[j].versions[1] ? 0 : 1);
    }
}

/* ---- The default driver: in a process of its own, since a host driver that is loaded has the same soname ---- */

static void
test_default_subprocess (void)
{
  gboolean there = dlopen ("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GError) again_error = NULL;
  g_autoptr (MemraDriver) driver = memra_driver_get_default (&error);
  g_autoptr (MemraDriver) again = memra_driver_get_default (&again_error);

  g_assert_true (driver == again); /* one object */
  g_assert_true ((driver == NULL) == (error != NULL));
  g_assert_true ((again == NULL) == (again_error != NULL)); /* a failure is told every time */
  if (!there)
    {
      g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER);
      assert_contains (error->message, "libcuda.so.1");
    }
  else if (driver == NULL)
    {
      g_assert_true (error->domain == MEMRA_DRIVER_ERROR);
      g_assert_cmpint (error->code, !=, MEMRA_DRIVER_ERROR_NO_DRIVER);
    }
  else
    g_assert_cmpstr (memra_driver_get_path (driver), ==, "libcuda.so.1");
}

static void
test_default (void)
{
  g_test_trap_subprocess ("/driver/default/subprocess", 0, 0);
  g_test_trap_assert_passed ();
}

/* ---- A driver that is there ---- */

static void
test_open (void)
{
  MemraDriver *driver = memra_test_driver ();
  g_autofree char *name = NULL;
  g_autofree char *nobody = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (memra_driver_ref (driver) == driver);
  memra_driver_unref (driver);
  memra_driver_unref (NULL);
  g_assert_cmpint (memra_driver_get_kind (driver), ==, memra_test_on_gpu () ? MEMRA_DRIVER_CUDA : MEMRA_DRIVER_HOST);
  g_assert_true ((memra_driver_get_host_control (driver) != NULL) == !memra_test_on_gpu ());
  g_assert_cmpint (memra_driver_get_version (driver), >=, 11040);
  g_assert_cmpint (memra_driver_get_n_devices (driver), >=, 1);
  name = memra_driver_dup_device_name (driver, 0, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (strlen (name), >, 0);
  g_assert_true (g_utf8_validate (name, -1, NULL));
  nobody = memra_driver_dup_device_name (driver, 4711, &error);
  g_assert_null (nobody);
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DEVICE);
  assert_contains (error->message, "4711");
}

static void
test_has_entry (void)
{
  MemraDriver *driver = memra_test_driver ();

  g_assert_true (memra_driver_has_entry (driver, "cuStreamBeginCapture"));
  g_assert_true (memra_driver_has_entry (driver, "cuStreamBeginCapture_v2"));
  g_assert_true (memra_driver_has_entry (driver, "cuMemAlloc_v2"));
  g_assert_false (memra_driver_has_entry (driver, "cuFlyToTheMoon"));
  g_assert_false (memra_driver_has_entry (driver, ""));
  g_assert_cmpint (memra_driver_has_entry (driver, "cuFuncGetName"), ==, memra_driver_get_version (driver) >= 12030);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuGraphNodeGetParams"), ==,
                   memra_driver_get_version (driver) >= 13020);
}

static void
test_host_control (void)
{
  const MemraHostControl *control = memra_test_host_control ();

  if (!memra_test_need_host ())
    return;
  g_assert_cmpuint (control->abi, >=, MEMRA_HOST_CONTROL_ABI);
  g_assert_cmpint (control->set_driver_version (11030), ==, 1);
  g_assert_cmpint (control->set_driver_version (99000), ==, 1);
  g_assert_cmpint (control->set_device_count (-1), ==, 1);
  g_assert_cmpint (control->set_device_count (17), ==, 1);
  g_assert_cmpint (control->inject_fault ("cuFlyToTheMoon", 1, 999), ==, 1);
  g_assert_cmpint (control->inject_fault ("cuGraphLaunch", 0, 999), ==, 1);
  g_assert_nonnull (control->get_entry (0));
  g_assert_null (control->get_entry (100000));
}

/* A failure is not remembered: what opens next is asked anew. */
static void
test_no_device_then_one (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  g_assert_cmpint (control->set_device_count (0), ==, 0);
  g_assert_null (memra_driver_open (memra_test_host_driver_path (), &error));
  g_assert_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DEVICE);
  g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, MCU_ERROR_NO_DEVICE);
  g_clear_error (&error);
  g_assert_cmpint (control->set_device_count (3), ==, 0);
  driver = memra_driver_open (memra_test_host_driver_path (), &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_driver_get_n_devices (driver), ==, 3);
  g_assert_cmpint (control->set_device_count (1), ==, 0);
}

/* cuInit and the calls around it, failing. */
static void
test_open_faults (void)
{
  static const struct
  {
    const char *entry;
    int result;
    MemraDriverError code;
  } faults[] = {
    { "cuInit", 34, MEMRA_DRIVER_ERROR_STUB },
    { "cuInit", 100, MEMRA_DRIVER_ERROR_NO_DEVICE },
    { "cuInit", 999, MEMRA_DRIVER_ERROR_FAILED },
    { "cuInit", 2, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY },
    { "cuDriverGetVersion", 999, MEMRA_DRIVER_ERROR_FAILED },
    { "cuDeviceGetCount", 999, MEMRA_DRIVER_ERROR_FAILED },
  };
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (MemraDriver) driver = NULL;

  if (!memra_test_need_host ())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (faults); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (control->inject_fault (faults[i].entry, 1, faults[i].result), ==, 0);
      g_assert_null (memra_driver_open (memra_test_host_driver_path (), &error));
      g_assert_error (error, MEMRA_DRIVER_ERROR, (gint) faults[i].code);
      g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, faults[i].result);
    }
  driver = memra_driver_open (memra_test_host_driver_path (), NULL);
  g_assert_nonnull (driver);
}

/* ---- Versions: the whole main job on each, and a broken capture ---- */

static gboolean
breaking_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  if (!fixture_body (stream, fixture, error))
    return FALSE;
  g_assert_cmpint (fixture->cu->cuStreamQuery (memra_stream_get_cuda_stream (stream)), ==, 900);
  return TRUE;
}

static gboolean
sectioned_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = (Fixture *) data;

  return memra_stream_mark (stream, "add", error) && fixture_body (stream, fixture, error)
         && memra_stream_mark (stream, "copy", error) && memra_buffer_copy (fixture->src, fixture->dst, stream, error);
}

static void
main_job (MemraDriver *driver, int version)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  MemraCensus *census;
  const MemraKernelNode *node;
  MemraDim3 grid = { 0, 0, 0 };

  fixture_init_on (&fixture, driver, 0);
  capture = memra_capture_layer (fixture.stream, 71, NULL, sectioned_body, &fixture, &error);
  g_assert_no_error (error);
  census = memra_layer_capture_get_census (capture);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 2);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, 1);
  g_assert_cmpuint (memra_census_get_count (census, "memcpy"), ==, 1);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_kernels (capture)->len, ==, 1);
  node = memra_census_get_kernel_node (census, 0);
  memra_kernel_node_get_geometry (node, &grid, NULL, NULL);
  g_assert_cmpuint (grid.x, ==, 1);
  g_assert_cmpstr (memra_kernel_node_get_section (node), ==, "add");
  if (version >= 12030) /* no names below, and that must not break anything */
    g_assert_cmpstr (memra_kernel_node_get_name (node), ==, FIXTURE_KERNEL);
  if (version >= 12040)
    {
      g_assert_cmpuint (memra_kernel_node_get_n_arguments (node), ==, 3);
      g_assert_cmpint (memra_kernel_node_get_argument_kind (node, 0), ==, MEMRA_ARGUMENT_POINTER);
    }
  text = memra_layer_capture_to_string (capture);
  assert_contains (text, "layer 71");
  memra_test_assert_floats (fixture.src, fixture.stream, 3.0f, FIXTURE_N);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  memra_test_assert_floats (fixture.src, fixture.stream, 6.0f, FIXTURE_N); /* 3 + 3 */
  g_assert_true (
      memra_layer_capture_update (capture, NULL, MEMRA_UPDATE_IN_PLACE_ONLY, sectioned_body, &fixture, NULL, &error));
  g_assert_no_error (error);

  g_assert_null (memra_capture_layer (fixture.stream, 72, NULL, breaking_body, &fixture, &error));
  assert_capture_error (error, 72, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, 901,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  if (version >= 12090)
    assert_contains (error->message, "broken by cuStreamQuery");
  memra_test_assert_stream_usable (fixture.stream);
}

static void
test_version (gconstpointer data)
{
  int version = GPOINTER_TO_INT (data);
  const MemraHostControl *control = memra_test_host_control ();
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (GError) error = NULL;

  if (!memra_test_need_host ())
    return;
  g_assert_cmpint (control->set_driver_version (version), ==, 0);
  driver = memra_driver_open (memra_test_host_driver_path (), &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_driver_get_version (driver), ==, version);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuGraphInstantiateWithParams"), ==, version >= 12000);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuGraphExecUpdate_v2"), ==, version >= 12000);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuFuncGetName"), ==, version >= 12030);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuStreamGetCaptureInfo_v3"), ==, version >= 12030);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuFuncGetParamInfo"), ==, version >= 12040);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuLogsRegisterCallback"), ==, version >= 12090);
  g_assert_cmpint (memra_driver_has_entry (driver, "cuGraphNodeGetParams"), ==, version >= 13020);
  main_job (driver, version);
  g_assert_cmpint (control->set_driver_version (13000), ==, 0);
}

/* ---- Settings in the environment, for programs that know nothing of the host driver ---- */

static void
test_environment_subprocess (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (memra_driver_get_version (memra_test_driver ()), ==, 12040);
  g_assert_cmpint (memra_driver_get_n_devices (memra_test_driver ()), ==, 2);
  fixture_init (&fixture);
  g_assert_null (memra_capture_layer (fixture.stream, 1, NULL, fixture_body, &fixture, &error));
  assert_capture_error (error, 1, MEMRA_CAPTURE_ERROR_BROKEN, MEMRA_CAPTURE_STAGE_END, 901,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  fixture_assert_good_as_new (&fixture, 0);
}

static void
test_environment (void)
{
  if (!memra_test_need_host ())
    return;
  g_setenv ("MEMRA_HOST_DRIVER_VERSION", "12040", TRUE);
  g_setenv ("MEMRA_HOST_DEVICES", "2", TRUE);
  g_setenv ("MEMRA_HOST_FAULT", "cuStreamEndCapture:1:901", TRUE);
  g_test_trap_subprocess ("/driver/environment/subprocess", 0, 0);
  g_unsetenv ("MEMRA_HOST_DRIVER_VERSION");
  g_unsetenv ("MEMRA_HOST_DEVICES");
  g_unsetenv ("MEMRA_HOST_FAULT");
  g_test_trap_assert_passed ();
}

/* ---- Results and errors ---- */

static void
test_error_codes (void)
{
  static const struct
  {
    McuResult result;
    MemraDriverError code;
  } codes[] = {
    { 1, MEMRA_DRIVER_ERROR_FAILED },
    { 2, MEMRA_DRIVER_ERROR_OUT_OF_MEMORY },
    { 3, MEMRA_DRIVER_ERROR_FAILED },
    { 4, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT },
    { 34, MEMRA_DRIVER_ERROR_STUB },
    { 36, MEMRA_DRIVER_ERROR_NOT_SUPPORTED },
    { 100, MEMRA_DRIVER_ERROR_NO_DEVICE },
    { 101, MEMRA_DRIVER_ERROR_NO_DEVICE },
    { 200, MEMRA_DRIVER_ERROR_INVALID_IMAGE },
    { 201, MEMRA_DRIVER_ERROR_FAILED },
    { 209, MEMRA_DRIVER_ERROR_INVALID_IMAGE },
    { 218, MEMRA_DRIVER_ERROR_INVALID_IMAGE },
    { 301, MEMRA_DRIVER_ERROR_NOT_FOUND },
    { 400, MEMRA_DRIVER_ERROR_FAILED },
    { 401, MEMRA_DRIVER_ERROR_FAILED },
    { 500, MEMRA_DRIVER_ERROR_NOT_FOUND },
    { 600, MEMRA_DRIVER_ERROR_FAILED },
    { 700, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT },
    { 709, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT },
    { 719, MEMRA_DRIVER_ERROR_BROKEN_CONTEXT },
    { 801, MEMRA_DRIVER_ERROR_NOT_SUPPORTED },
    { 899, MEMRA_DRIVER_ERROR_FAILED },
    { 900, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN },
    { 904, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN },
    { 908, MEMRA_DRIVER_ERROR_CAPTURE_BROKEN },
    { 909, MEMRA_DRIVER_ERROR_FAILED },
    { 910, MEMRA_DRIVER_ERROR_FAILED },
    { 999, MEMRA_DRIVER_ERROR_FAILED },
    { 123456, MEMRA_DRIVER_ERROR_FAILED },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      g_autoptr (GError) error = NULL;

      g_test_message ("%d", codes[i].result);
      g_assert_cmpint (_memra_driver_error_code (codes[i].result), ==, codes[i].code);
      g_assert_false (_memra_driver_set_error (memra_test_driver (), &error, codes[i].result, "Could not do %s", "it"));
      g_assert_error (error, MEMRA_DRIVER_ERROR, (gint) codes[i].code);
      g_assert_cmpint (memra_driver_error_get_cuda_result (error), ==, codes[i].result);
      assert_contains (error->message, "Could not do it: ");
    }
}

static void
test_error_text (void)
{
  g_autofree char *known = _memra_driver_describe (memra_test_driver (), MCU_ERROR_STREAM_CAPTURE_INVALIDATED);
  g_autofree char *unknown = _memra_driver_describe (memra_test_driver (), 123456);

  assert_contains (known, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901): ");
  assert_contains (unknown, "123456");
  assert_contains (unknown, "does not name");
}

static void
test_error_getters (void)
{
  g_autoptr (GError) foreign = g_error_new (G_FILE_ERROR, G_FILE_ERROR_NOENT, "x");
  g_autoptr (GError) driver_error = NULL;
  g_autoptr (GError) copy = NULL;

  g_assert_cmpint (memra_driver_error_get_cuda_result (foreign), ==, 0);
  g_assert_cmpint (memra_capture_error_get_cuda_result (foreign), ==, 0);
  g_assert_cmpint (memra_capture_error_get_stage (foreign), ==, MEMRA_CAPTURE_STAGE_BODY);
  g_assert_cmpint (memra_capture_error_get_execution (foreign), ==, MEMRA_EXECUTION_NOT_EXECUTED);
  g_assert_true (memra_capture_error_get_stream_clean (foreign));
  g_assert_null (memra_capture_error_get_partial_census (foreign));
  g_assert_null (memra_capture_error_get_stack (foreign));
  _memra_driver_set_error (memra_test_driver (), &driver_error, 719, "x");
  copy = g_error_copy (driver_error);
  g_assert_cmpint (memra_driver_error_get_cuda_result (copy), ==, 719);
  g_assert_cmpint (memra_capture_error_get_cuda_result (copy), ==, 719);
}

static void
test_stage_names (void)
{
  static const char *const names[] = { "status",        "pre-drain", "begin",       "body",   "end",    "node census",
                                       "kernel census", "policy",    "instantiate", "upload", "launch", "completion" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_cmpstr (memra_capture_stage_to_string ((MemraCaptureStage) i), ==, names[i]);
  g_assert_cmpstr (memra_capture_stage_to_string (MEMRA_CAPTURE_STAGE_UPDATE), ==, "update");
  g_assert_cmpstr (memra_capture_stage_to_string (MEMRA_CAPTURE_STAGE_REPLAY), ==, "replay");
  g_assert_cmpstr (memra_capture_stage_to_string (MEMRA_CAPTURE_STAGE_CLOSE), ==, "close");
}

static void
add_tests (void)
{
  static const int versions[] = { 11040, 12000, 12030, 12040, 12090, 13000, 13020 };

  /* These need no driver, and are the same wherever they run. */
  g_test_add_func ("/driver/default", test_default);
  g_test_add_func ("/driver/default/subprocess", test_default_subprocess);
  g_test_add_func ("/driver/no-file", test_no_file);
  g_test_add_func ("/driver/no-library", test_no_library);
  g_test_add_func ("/driver/stub", test_stub);
  g_test_add_func ("/driver/no-device", test_no_device);
  g_test_add_func ("/driver/no-device-counted", test_no_device_counted);
  g_test_add_func ("/driver/too-old", test_too_old);
  g_test_add_func ("/driver/lacking-one", test_lacking_one);
  g_test_add_func ("/driver/lacking-most", test_lacking_most);
  g_test_add_func ("/driver/not-a-driver", test_not_a_driver);
  g_test_add_func ("/driver/unknown-error", test_unknown_error);
  g_test_add_func ("/driver/error-unwanted", test_error_unwanted);
  g_test_add_func ("/driver/plain", test_plain);
  g_test_add_func ("/driver/pinned-versions", test_pinned_versions);
  g_test_add_func ("/driver/stage-names", test_stage_names);

  memra_test_add ("/driver/open", test_open);
  memra_test_add ("/driver/has-entry", test_has_entry);
  memra_test_add ("/driver/host-control", test_host_control);
  memra_test_add ("/driver/no-device-then-one", test_no_device_then_one);
  memra_test_add ("/driver/open-faults", test_open_faults);
  for (gsize i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autofree char *path = g_strdup_printf ("/driver/version/%d.%d", versions[i] / 1000, versions[i] % 1000 / 10);

      memra_test_add_data (path, GINT_TO_POINTER (versions[i]), test_version);
    }
  memra_test_add ("/driver/environment", test_environment);
  memra_test_add ("/driver/environment/subprocess", test_environment_subprocess);
  memra_test_add ("/driver/error-codes", test_error_codes);
  memra_test_add ("/driver/error-text", test_error_text);
  memra_test_add ("/driver/error-getters", test_error_getters);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
