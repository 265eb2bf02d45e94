/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's error log, in any words, as the library listens to it and as the recorder does: an entry to a line. The
 * driver is one whose captures are broken whatever is called, so each call that an entry names is to blame.
 */
#include "config.h"

#include "fuzz.h"

#include "observe/observe-private.h"
#include "observe/record-private.h"

#include <dlfcn.h>
#include <json-glib/json-glib.h>
#include <string.h>

static McuLogsCallback library_callback, recorder_callback;
static void *library_data;
static guint n_events;

/* ---- The driver ---- */

static McuResult
listen_library (McuLogsCallback callback, void *data, CUlogsCallbackHandle *handle)
{
  library_callback = callback;
  library_data = data;
  *handle = (CUlogsCallbackHandle) &library_callback;
  return MCU_SUCCESS;
}

static McuResult
listen_recorder (McuLogsCallback callback, void *data G_GNUC_UNUSED, CUlogsCallbackHandle *handle)
{
  recorder_callback = callback;
  *handle = (CUlogsCallbackHandle) &recorder_callback;
  return MCU_SUCCESS;
}

static McuResult
unlisten (CUlogsCallbackHandle handle G_GNUC_UNUSED)
{
  return MCU_SUCCESS;
}

static McuResult
is_capturing (CUstream stream G_GNUC_UNUSED, int *status)
{
  *status = MCU_CAPTURE_STATUS_INVALIDATED;
  return MCU_SUCCESS;
}

static MemraDriver driver = { .cu = { .cuLogsRegisterCallback = listen_library, .cuStreamIsCapturing = is_capturing } };

/* ---- What the recorder's log has around it ---- */

const InterposeDriver *
interpose_driver (void)
{
  static const InterposeDriver recorded
      = { .has_log = true, .cuLogsRegisterCallback = listen_recorder, .cuLogsUnregisterCallback = unlisten };

  return &recorded;
}

void
record_enter (RecordGuard *guard G_GNUC_UNUSED)
{
}

void
record_leave (RecordGuard *guard G_GNUC_UNUSED)
{
}

void
record_stack_prepare (void)
{
}

int
record_stack_take (void **frames G_GNUC_UNUSED)
{
  return 0;
}

int
record_thread (void)
{
  return 1;
}

void
record_text_stack (RecordText *text, void *const *frames G_GNUC_UNUSED, int n_frames)
{
  record_text_number (text, "frames", n_frames);
}

/* The name of the last kernel is outside text too: here what the driver said. */
void
record_text_node (RecordText *text, const char *key, const char *type, const char *name)
{
  record_text_open (text, key, '{');
  record_text_string (text, "type", type);
  record_text_string (text, "name", name);
  record_text_close (text, '}');
}

void
record_find_broken (void (*broken) (const RecordCaptureFacts *facts, void *data), void *data)
{
  RecordCaptureFacts facts = { .number = 1, .thread = 2, .operations = 1, .after_type = "kernel" };

  if (record_last_reason () != NULL)
    g_strlcpy (facts.after_name, record_last_reason (), sizeof facts.after_name);
  broken (&facts, data);
}

/* An event is a line of JSON, whatever the driver said. */
void
record_write (RecordText *text)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;
  JsonObject *event;

  record_text_close (text, '}');
  g_assert_true (g_utf8_validate_len (text->bytes, text->length, NULL));
  g_assert_null (memchr (text->bytes, '\n', text->length));
  json_parser_load_from_data (parser, text->bytes, (gssize) text->length, &error);
  g_assert_no_error (error);
  event = json_node_get_object (json_parser_get_root (parser));
  g_assert_cmpstr (json_object_get_string_member (event, "event"), ==, "broken");
  g_assert_true (json_object_has_member (event, "reason"));
  record_text_free (text);
  n_events++;
}

/* ---- A log ---- */

/* Told with its length, and with nothing behind it that could be read. */
static void
tell (const uint8_t *entry, size_t length)
{
  char *copy = g_malloc (length);

  memcpy (copy, entry, length);
  library_callback (library_data, 0, copy, length);
  recorder_callback (NULL, 0, copy, length);
  g_free (copy);
}

static void
check_culprit (MemraWatch *watch)
{
  const MemraCulprit *culprit = _memra_watch_get_culprit (watch);
  g_autofree char *sentence = NULL;

  g_assert_true (culprit != NULL || n_events == 0);
  if (culprit == NULL)
    return;
  g_assert_true (culprit->function[0] != '\0');
  sentence = _memra_culprit_describe (&driver, culprit);
  g_assert_true (g_utf8_validate (sentence, -1, NULL));
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const uint8_t *const end = size > 0 ? data + size : data;
  MemraWatch *watch;

  if (driver.handle == NULL)
    {
      g_atomic_ref_count_init (&driver.ref_count);
      driver.handle = dlopen (NULL, RTLD_NOW);
    }
  n_events = 0;
  watch = _memra_watch_open (&driver, (CUstream) &driver);
  _memra_watch_arm (watch);
  record_listen ();
  while (data < end)
    {
      const uint8_t *newline = memchr (data, '\n', (size_t) (end - data));
      size_t length = newline != NULL ? (size_t) (newline - data) + 1 : (size_t) (end - data);

      tell (data, length);
      data += length;
    }
  record_unlisten ();
  _memra_watch_close (watch);
  check_culprit (watch);
  _memra_watch_free (watch);
  return 0;
}
