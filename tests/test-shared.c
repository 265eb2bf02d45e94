/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user's program: the shared library alone, the one public header, nothing else. */
#include <memra-capture/memra-capture.h>

#include <dlfcn.h>
#include <string.h>

/* The umbrella leaves no stray macro. */
#ifdef MEMRA_CAPTURE_INSIDE
#error "MEMRA_CAPTURE_INSIDE is still defined"
#endif
#if !MEMRA_CAPTURE_CHECK_VERSION(0, 1, 0) || MEMRA_CAPTURE_CHECK_VERSION(1000, 0, 0)
#error "MEMRA_CAPTURE_CHECK_VERSION is wrong"
#endif
/* Nor does it need cuda.h, or bring one in. */
#ifdef CUDA_VERSION
#error "cuda.h was included"
#endif

#define N 64

static MemraDriver *
open_driver (void)
{
  g_autoptr (GError) error = NULL;
  gboolean on_gpu = g_strcmp0 (g_getenv ("MEMRA_TEST_DRIVER"), "cuda") == 0;
  MemraDriver *driver
      = on_gpu ? memra_driver_get_default (&error) : memra_driver_open (memra_host_driver_path (), &error);

  if (driver == NULL && on_gpu)
    g_test_skip (error->message);
  else
    g_assert_no_error (error);
  return driver;
}

typedef struct
{
  MemraDsv4 *kernels;
  MemraBuffer *x;
  guint calls;
} Model;

static gboolean
layer (MemraStream *stream, gpointer data, GError **error)
{
  Model *model = data;

  model->calls++;
  return memra_dsv4_add_inplace (model->kernels, stream, model->x, model->x, N, error);
}

static void
assert_values (Model *model, MemraStream *stream, float value)
{
  g_autoptr (GError) error = NULL;
  float values[N] = { 0 };

  g_assert_true (memra_buffer_copy_to_host (model->x, 0, values, sizeof values, stream, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < N; i++)
    g_assert_cmpfloat (values[i], ==, value);
}

static void
test_main_job (void)
{
  g_autoptr (MemraDriver) driver = open_driver ();
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) kernels = NULL;
  g_autoptr (MemraBuffer) x = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *json = NULL;
  g_autoptr (MemraCensus) census = NULL;
  Model model = { NULL, NULL, 0 };
  float ones[N];

  if (driver == NULL)
    return;
  for (guint i = 0; i < N; i++)
    ones[i] = 1.0f;
  context = memra_context_new (driver, 0, &error);
  g_assert_no_error (error);
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, &error);
  g_assert_no_error (error);
  model.kernels = kernels = memra_dsv4_new (context, &error);
  g_assert_no_error (error);
  model.x = x = memra_buffer_new_from_host (stream, ones, sizeof ones, &error);
  g_assert_no_error (error);

  capture = memra_capture_layer (stream, 7, NULL, layer, &model, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (model.calls, ==, 1);
  assert_values (&model, stream, 2.0f);
  g_assert_true (memra_layer_capture_replay (capture, &error));
  g_assert_no_error (error);
  assert_values (&model, stream, 4.0f);

  json = memra_census_to_json (memra_layer_capture_get_census (capture));
  census = memra_census_from_json (json, -1, &error);
  g_assert_no_error (error);
  g_assert_true (memra_census_equal (census, memra_layer_capture_get_census (capture)));
  g_assert_cmpuint (memra_census_get_layer (census), ==, 7);
}

static gboolean
failing (MemraStream *stream, gpointer data, GError **error)
{
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no weights");
  return FALSE;
}

static void
test_failing_body (void)
{
  g_autoptr (MemraDriver) driver = open_driver ();
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (GError) error = NULL;
  MemraCaptureStatus status = MEMRA_CAPTURE_STATUS_INVALIDATED;

  if (driver == NULL)
    return;
  context = memra_context_new (driver, 0, &error);
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_BLOCKING, &error);
  g_assert_no_error (error);
  g_assert_null (memra_capture_layer (stream, 8, NULL, failing, NULL, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  g_assert_cmpstr (error->message, ==, "layer 8 capture body: no weights");
  g_assert_cmpint (memra_capture_error_get_stage (error), ==, MEMRA_CAPTURE_STAGE_BODY);
  g_clear_error (&error);
  g_assert_true (memra_stream_get_capture_status (stream, &status, &error));
  g_assert_cmpint (status, ==, MEMRA_CAPTURE_STATUS_NONE);
}

/* Only what is public can be reached, and no CUDA comes with it. */
static void
test_exports (void)
{
  static const char *const hidden[]
      = { "_memra_driver_describe", "_memra_capture_fail", "_memra_census_new", "memra_dsv4_fatbin", "cuInit",
          "cuLaunchKernel" };
  static const char *const visible[] = { "memra_capture_layer", "memra_census_to_json", "memra_dsv4_layer_forward" };
  void *self = dlopen (NULL, RTLD_NOW);

  for (gsize i = 0; i < G_N_ELEMENTS (hidden); i++)
    {
      g_test_message ("%s", hidden[i]);
      g_assert_null (dlsym (self, hidden[i]));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (visible); i++)
    g_assert_nonnull (dlsym (self, visible[i]));
  dlclose (self);
}

/* The library finds the host driver that belongs to it, wherever it was loaded from. */
static void
test_host_driver_path (void)
{
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_path_is_absolute (memra_host_driver_path ()));
  g_assert_true (g_str_has_suffix (memra_host_driver_path (), "/libcuda.so.1"));
  driver = memra_driver_open (memra_host_driver_path (), &error);
  g_assert_no_error (error);
  g_assert_cmpint (memra_driver_get_kind (driver), ==, MEMRA_DRIVER_HOST);
  g_assert_nonnull (memra_driver_get_host_control (driver));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/shared/exports", test_exports); /* before any driver is loaded */
  g_test_add_func ("/shared/main-job", test_main_job);
  g_test_add_func ("/shared/failing-body", test_failing_body);
  g_test_add_func ("/shared/host-driver-path", test_host_driver_path);
  return g_test_run ();
}
