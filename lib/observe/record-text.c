/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines of JSON. */
#include "config.h"

#include "record-private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void
put (RecordText *text, const char *bytes, size_t length)
{
  if (text->bytes == NULL)
    return;
  if (text->length + length > text->size)
    {
      size_t size = 2 * (text->length + length);
      char *bigger = realloc (text->bytes, size);

      if (bigger == NULL)
        {
          record_text_free (text);
          return;
        }
      text->bytes = bigger;
      text->size = size;
    }
  memcpy (text->bytes + text->length, bytes, length);
  text->length += length;
}

static void
put_text (RecordText *text, const char *string)
{
  put (text, string, strlen (string));
}

/* Length of the UTF-8 sequence that begins here, 0 if it is none. */
static size_t
utf8_length (const unsigned char *c)
{
  size_t length = *c < 0x80 ? 1 : *c >= 0xc2 && *c < 0xe0 ? 2 : *c >= 0xe0 && *c < 0xf0 ? 3 : *c >= 0xf0 && *c < 0xf5 ? 4 : 0;

  for (size_t i = 1; i < length; i++)
    if ((c[i] & 0xc0) != 0x80)
      return 0;
  if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90)
      || (c[0] == 0xf4 && c[1] > 0x8f))
    return 0;
  return length;
}

static void
put_quoted (RecordText *text, const char *string)
{
  const unsigned char *c = (const unsigned char *) string;

  put (text, "\"", 1);
  while (*c != '\0')
    {
      size_t length = utf8_length (c);
      char escape[8];

      if (length == 0)
        {
          put_text (text, "\357\277\275"); /* the replacement character */
          length = 1;
        }
      else if (*c == '"' || *c == '\\' || *c < 0x20 || *c == 0x7f)
        {
          snprintf (escape, sizeof escape, "\\u%04x", *c);
          put_text (text, escape);
        }
      else
        put (text, (const char *) c, length);
      c += length;
    }
  put (text, "\"", 1);
}

static void
put_key (RecordText *text, const char *key)
{
  if (!text->first)
    put (text, ",", 1);
  text->first = false;
  if (key == NULL)
    return;
  put_quoted (text, key);
  put (text, ":", 1);
}

void
record_text_begin (RecordText *text, const char *event)
{
  struct timespec now;

  text->size = 1024;
  text->length = 0;
  text->first = true;
  text->bytes = malloc (text->size);
  clock_gettime (CLOCK_REALTIME, &now);
  put (text, "{", 1);
  record_text_string (text, "event", event);
  record_text_number (text, "time_us", (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000);
  record_text_number (text, "thread", syscall (SYS_gettid));
}

void
record_text_string (RecordText *text, const char *key, const char *value)
{
  put_key (text, key);
  if (value != NULL)
    put_quoted (text, value);
  else
    put_text (text, "null");
}

void
record_text_number (RecordText *text, const char *key, int64_t value)
{
  char digits[32];

  snprintf (digits, sizeof digits, "%" PRId64, value);
  put_key (text, key);
  put_text (text, digits);
}

void
record_text_hex (RecordText *text, const char *key, uint64_t value)
{
  char digits[32];

  snprintf (digits, sizeof digits, "\"0x%" PRIx64 "\"", value);
  put_key (text, key);
  put_text (text, digits);
}

void
record_text_bool (RecordText *text, const char *key, bool value)
{
  put_key (text, key);
  put_text (text, value ? "true" : "false");
}

void
record_text_raw (RecordText *text, const char *key, const char *json)
{
  put_key (text, key);
  put_text (text, json);
}

void
record_text_open (RecordText *text, const char *key, char bracket)
{
  put_key (text, key);
  put (text, &bracket, 1);
  text->first = true;
}

void
record_text_close (RecordText *text, char bracket)
{
  put (text, &bracket, 1);
  text->first = false;
}

void
record_text_free (RecordText *text)
{
  free (text->bytes);
  text->bytes = NULL;
}

void
record_text_result (RecordText *text, McuResult result)
{
  const InterposeDriver *driver = interpose_driver ();
  const char *name = NULL;

  record_text_number (text, "result", result);
  if (result != MCU_SUCCESS && driver != NULL && driver->cuGetErrorName != NULL
      && driver->cuGetErrorName (result, &name) == MCU_SUCCESS && name != NULL)
    record_text_string (text, "result_name", name);
}
