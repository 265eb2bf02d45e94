/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The library as a user has it: public header and shared object, no private symbol, no harness. Runs on the host
 * driver whatever the run is about: the other programs are about the GPU.
 */
#include <memra-capture/memra-capture.h>

static void
test_host_driver_path (void)
{
  const char *path = memra_host_driver_path ();

  g_test_summary ("The host driver is found from where the library lies, and the path is absolute");
  g_assert_true (g_path_is_absolute (path));
  g_assert_true (g_str_has_suffix (path, "/libcuda.so.1"));
  g_assert_true (g_file_test (path, G_FILE_TEST_EXISTS));
  g_assert_true (memra_host_driver_path () == path);
}

typedef struct
{
  MemraDsv4 *dsv4;
  MemraBuffer *dst;
  MemraBuffer *src;
  guint calls;
} Body;

static gboolean
add_once (MemraStream *stream, gpointer user_data, GError **error)
{
  Body *body = (Body *) user_data;

  body->calls++;
  return memra_dsv4_add_inplace (body->dsv4, stream, body->dst, body->src, 4, error);
}

static void
test_capture (void)
{
  const float ones[] = { 1, 1, 1, 1 };
  float values[4];
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), &error);
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraStream) stream = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraBuffer) dst = NULL;
  g_autoptr (MemraBuffer) src = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;
  Body body = { NULL, NULL, NULL, 0 };

  g_test_summary ("A capture and a replay through the exported symbols alone");
  g_assert_no_error (error);
  g_assert_cmpint (memra_driver_get_kind (driver), ==, MEMRA_DRIVER_HOST);
  context = memra_context_new (driver, 0, &error);
  g_assert_no_error (error);
  memra_context_set_event_tracking (context, FALSE);
  stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, &error);
  g_assert_no_error (error);
  dsv4 = memra_dsv4_new (context, &error);
  g_assert_no_error (error);
  dst = memra_buffer_new_from_host (stream, ones, sizeof ones, &error);
  g_assert_no_error (error);
  src = memra_buffer_new_from_host (stream, ones, sizeof ones, &error);
  g_assert_no_error (error);

  body.dsv4 = dsv4;
  body.dst = dst;
  body.src = src;
  capture = memra_capture_layer (stream, 0, NULL, add_once, &body, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (body.calls, ==, 1);
  memra_layer_capture_replay (capture, &error);
  g_assert_no_error (error);
  memra_stream_synchronize (stream, &error);
  g_assert_no_error (error);
  memra_buffer_copy_to_host (dst, 0, values, sizeof values, stream, &error);
  g_assert_no_error (error);
  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    g_assert_cmpfloat (values[i], ==, 3);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/shared/host-driver-path", test_host_driver_path);
  g_test_add_func ("/shared/capture", test_capture);
  return g_test_run ();
}
