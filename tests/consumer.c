/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program of somebody else: tests/test-install.sh and the Debian package's tests compile it, as C11 and as C++17,
 * with what pkg-config says, and run it on the host driver. It takes no short cut that only a test of ours could take.
 */
#include <memra-capture/memra-capture.h>

#if !MEMRA_CAPTURE_CHECK_VERSION(0, 1, 0) || MEMRA_CAPTURE_CHECK_VERSION(1000, 0, 0)
#error "MEMRA_CAPTURE_CHECK_VERSION does not compare"
#endif

enum
{
  BYTES = 4096
};

typedef struct
{
  MemraBuffer *source;
  MemraBuffer *target;
  int calls;
} Work;

static gboolean
body (MemraStream *stream, gpointer user_data, GError **error)
{
  Work *work = (Work *) user_data;

  work->calls++;
  return memra_buffer_copy (work->target, work->source, stream, error);
}

static gboolean
refuse (MemraStream *stream, gpointer user_data, GError **error)
{
  (void) stream;
  (void) user_data;
  g_set_error_literal (error, G_FILE_ERROR, G_FILE_ERROR_NOSPC, "the body gives up");
  return FALSE;
}

static gboolean
run (GError **error)
{
  static guint8 sent[BYTES], received[BYTES];
  Work work = { NULL, NULL, 0 };
  g_autoptr (GError) refused = NULL;
  g_autoptr (MemraBuffer) source = NULL;
  g_autoptr (MemraBuffer) target = NULL;
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (MemraLayerCapture) nothing = NULL;
  g_autoptr (MemraStream) stream = NULL;

  if (driver == NULL || (context = memra_context_new (driver, 0, error)) == NULL)
    return FALSE;
  g_assert_cmpint (memra_driver_get_kind (driver), ==, MEMRA_DRIVER_HOST);
  memra_context_set_event_tracking (context, FALSE);
  if ((stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, error)) == NULL)
    return FALSE;

  for (gsize i = 0; i < BYTES; i++)
    sent[i] = (guint8) (i * 7 + 1);
  if ((source = memra_buffer_new_from_host (stream, sent, BYTES, error)) == NULL
      || (target = memra_buffer_new (stream, BYTES, error)) == NULL)
    return FALSE;

  work.source = source;
  work.target = target;
  if ((capture = memra_capture_layer (stream, 3, NULL, body, &work, error)) == NULL)
    return FALSE;
  g_assert_cmpint (work.calls, ==, 1);
  g_assert_cmpuint (memra_layer_capture_get_executions (capture), ==, 1);
  if (!memra_buffer_copy_to_host (target, 0, received, BYTES, stream, error))
    return FALSE;
  g_assert_cmpmem (sent, BYTES, received, BYTES);

  /* The replay does the work again. */
  if (!memra_buffer_zero (target, stream, error) || !memra_layer_capture_replay (capture, error)
      || !memra_buffer_copy_to_host (target, 0, received, BYTES, stream, error))
    return FALSE;
  g_assert_cmpmem (sent, BYTES, received, BYTES);
  g_assert_cmpint (work.calls, ==, 1);

  /* A body's own error comes back with the place before it. */
  nothing = memra_capture_layer (stream, 4, NULL, refuse, NULL, &refused);
  g_assert_null (nothing);
  g_assert_error (refused, G_FILE_ERROR, G_FILE_ERROR_NOSPC);
  g_assert_true (g_str_has_prefix (refused->message, "layer 4 "));
  return memra_layer_capture_close (capture, error);
}

int
main (void)
{
  g_autoptr (GError) error = NULL;

  if (!run (&error))
    {
      g_printerr ("consumer: %s\n", error->message);
      return 1;
    }
  g_print ("captured, ran once, replayed\n");
  return 0;
}
