/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON text, checked and taken apart. */
#include "config.h"

#include "census-private.h"
#include "json-text-private.h"
#include "json-value-private.h"

#include <stdio.h>
#include <string.h>

/* A census is nested 6 deep. */
#define MAX_NESTING 16

/* What is handed to json-glib in one piece, for a tree of thirty times its size: a kernel with all the arguments that a
 * device takes is a tenth of this. */
#define MAX_PART ((gsize) 8 * 1024 * 1024)

/* An object of a census has a dozen keys; "nodes" has one for each type of node. */
#define MAX_KEYS 256

/* Where a place in the text is, for people: lines and characters counted from 1. */
static gboolean
set_error_at (const MemraJsonText *json, const char *place, GError **error, const char *what)
{
  gsize line = 1;
  const char *begin = json->text.start;
  g_autofree char *message = NULL;

  for (const char *c = json->text.start; c < place; c++)
    if (*c == '\n')
      {
        line++;
        begin = c + 1;
      }
  message = g_strdup_printf ("Line %" G_GSIZE_FORMAT ", position %" G_GSIZE_FORMAT ": %s", line,
                             (gsize) (place - begin) + 1, what);
  _memra_census_set_error (error, MEMRA_CENSUS_ERROR_PARSE, message);
  return FALSE;
}

static gboolean
is_space (char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *
skip_space (const char *c, const char *end)
{
  while (c < end && is_space (*c))
    c++;
  return c;
}

/* Behind the string that begins here, or NULL if it has no end. */
static const char *
skip_string (const char *c, const char *end)
{
  for (c++; c < end && *c != '"'; c++)
    if (*c == '\\')
      c++;
  return c < end ? c + 1 : NULL;
}

/* The code unit of the escape that begins here, or -1 if there is none. */
static gint32
read_unit (const char *c, const char *end)
{
  gint32 unit = 0;

  if (end - c < 6 || c[0] != '\\' || c[1] != 'u')
    return -1;
  for (guint i = 2; i < 6; i++)
    {
      gint digit = g_ascii_xdigit_value (c[i]);

      if (digit < 0)
        return -1;
      unit = unit << 4 | digit;
    }
  return unit;
}

/* The inside of a string, which ends at `end`. json-glib takes what JSON does not have, ends a string at an escaped nul
 * and makes bytes that are no text of half a character. */
static gboolean
check_string (const MemraJsonText *json, const char *c, const char *end, GError **error)
{
  for (; c < end; c++)
    {
      gint32 unit;

      if ((guchar) *c < 0x20)
        return set_error_at (json, c, error, "a control character in a string");
      if (*c != '\\')
        continue;
      unit = read_unit (c, end);
      if (unit < 0 && strchr ("\"\\/bfnrt", c[1]) == NULL)
        return set_error_at (json, c, error, "an escape that JSON does not have");
      if (unit == 0)
        return set_error_at (json, c, error, "a nul character in a string");
      if (unit >= 0xdc00 && unit <= 0xdfff)
        return set_error_at (json, c, error, "half a character in a string");
      if (unit >= 0xd800 && unit <= 0xdbff)
        {
          gint32 other = read_unit (c + 6, end);

          if (other < 0xdc00 || other > 0xdfff)
            return set_error_at (json, c, error, "half a character in a string");
          c += 6;
        }
      c += unit >= 0 ? 5 : 1;
    }
  return TRUE;
}

static const char *
skip_digits (const char *c, const char *end)
{
  while (c < end && g_ascii_isdigit (*c))
    c++;
  return c;
}

/* Whether an integer is one of 64 bits. */
static gboolean
fits (const char *c, const char *end)
{
  g_autofree char *digits = g_strndup (c, (gsize) (end - c));

  return g_ascii_string_to_signed (digits, 10, G_MININT64, G_MAXINT64, NULL, NULL);
}

/* json-glib takes 0x10, 010 (for 8), .5 and 1. too, and makes something else of an integer of more than 64 bits. */
static const char *
fault_of_number (const char *c, const char *end)
{
  static const char no_number[] = "neither a number nor true, false or null";
  const char *digits = c < end && *c == '-' ? c + 1 : c, *behind = skip_digits (digits, end), *whole = behind;

  if (behind == digits || (*digits == '0' && behind > digits + 1))
    return no_number;
  if (behind < end && *behind == '.')
    {
      digits = behind + 1;
      behind = skip_digits (digits, end);
      if (behind == digits)
        return no_number;
    }
  if (behind < end && (*behind == 'e' || *behind == 'E'))
    {
      digits = behind + 1;
      if (digits < end && (*digits == '+' || *digits == '-'))
        digits++;
      behind = skip_digits (digits, end);
      if (behind == digits)
        return no_number;
    }
  if (behind < end)
    return no_number;
  return whole == end && end - c > 18 && !fits (c, end) ? "an integer that is out of range" : NULL;
}

/* What stands outside of strings and is no bracket, comma or colon. */
static const char *
fault_of_word (const char *c, const char *end)
{
  const MemraSpan word = { c, (gsize) (end - c) };

  if (word.length == 0)
    return "a character that JSON does not have outside of strings";
  if (_memra_span_equals (&word, "true") || _memra_span_equals (&word, "false") || _memra_span_equals (&word, "null"))
    return NULL;
  return fault_of_number (c, end);
}

/* Behind the word that begins here. */
static const char *
skip_word (const char *c, const char *end)
{
  while (c < end && (g_ascii_isalnum (*c) || *c == '+' || *c == '-' || *c == '.'))
    c++;
  return c;
}

/* Whether the text is made of words of JSON, with brackets that close and something between values. */
static gboolean
check_words (const MemraJsonText *json, GError **error)
{
  const char *c = json->text.start, *end = c + json->text.length, *fault;
  gboolean complete = FALSE; /* a value has just ended */
  guint nesting = 0;

  while ((c = skip_space (c, end)) < end)
    {
      const char *word = c;

      if (complete && strchr (",:]}", *c) == NULL)
        return set_error_at (json, c, error, nesting > 0 ? "a comma is missing" : "there is something behind the end");
      c++;
      switch (*word)
        {
        case '"':
          c = skip_string (word, end);
          if (c == NULL)
            return set_error_at (json, word, error, "a string has no end");
          if (!check_string (json, word + 1, c - 1, error))
            return FALSE;
          complete = TRUE;
          break;
        case '{':
        case '[':
          if (++nesting > MAX_NESTING)
            return set_error_at (json, word, error, "nested deeper than any census");
          complete = FALSE;
          break;
        case '}':
        case ']':
          if (nesting-- == 0)
            return set_error_at (json, word, error, "a bracket closes nothing");
          complete = TRUE;
          break;
        case ',':
        case ':':
          complete = FALSE;
          break;
        default:
          c = skip_word (word, end);
          fault = fault_of_word (word, c);
          if (fault != NULL)
            return set_error_at (json, word, error, fault);
          complete = TRUE;
        }
    }
  return nesting == 0 || set_error_at (json, end, error, "the text ends too early: a bracket is not closed");
}

gboolean
_memra_json_text_init (MemraJsonText *json, const char *text, gsize length, GError **error)
{
  const char *wrong;

  json->text = (MemraSpan){ text, length };
  json->keys = g_array_new (FALSE, FALSE, sizeof (MemraSpan));
  json->parser = json_parser_new ();
  if (!g_utf8_validate (text, (gssize) length, &wrong))
    return set_error_at (json, wrong, error, "not UTF-8");
  return check_words (json, error);
}

void
_memra_json_text_clear (MemraJsonText *json)
{
  g_clear_object (&json->parser);
  g_clear_pointer (&json->keys, g_array_unref);
}

/* The text is not JSON at this place. json-glib knows better what it misses, so it is asked about the whole, if that is
 * not too much; its message begins "<data>:LINE:POSITION: Parse error: ". */
static gboolean
set_syntax_error (MemraJsonText *json, const char *place, GError **error)
{
  g_autoptr (GError) reason = NULL;
  g_autofree char *message = NULL;
  guint line, position;
  int length = 0;

  if (json->text.length > MAX_PART
      || json_parser_load_from_data (json->parser, json->text.start, (gssize) json->text.length, &reason))
    return set_error_at (json, place, error, "not JSON");
  if (sscanf (reason->message, "<data>:%u:%u: Parse error: %n", &line, &position, &length) < 2 || length == 0)
    return set_error_at (json, place, error, reason->message);
  message = g_strdup_printf ("Line %u, position %u: %s", line, position, reason->message + length);
  _memra_census_set_error (error, MEMRA_CENSUS_ERROR_PARSE, message);
  return FALSE;
}

/* Behind the value that begins here. The text's strings and brackets are known to end. */
static const char *
skip_value (const char *c, const char *end)
{
  guint nesting = 0;

  while (c < end)
    if (*c == '"')
      {
        c = skip_string (c, end);
        if (nesting == 0)
          return c;
      }
    else if (*c == '{' || *c == '[')
      {
        nesting++;
        c++;
      }
    else if (*c == '}' || *c == ']')
      {
        if (nesting == 0)
          return c;
        c++;
        if (--nesting == 0)
          return c;
      }
    else if (nesting == 0 && (*c == ',' || *c == ':' || is_space (*c)))
      return c;
    else
      c++;
  return c;
}

gboolean
_memra_json_text_get_root (MemraJsonText *json, MemraSpan *root, GError **error)
{
  const char *end = json->text.start + json->text.length, *behind;

  root->start = skip_space (json->text.start, end);
  behind = skip_value (root->start, end);
  root->length = (gsize) (behind - root->start);
  if (root->length == 0)
    return set_error_at (json, root->start, error, "there is no JSON here");
  behind = skip_space (behind, end);
  return behind == end || set_syntax_error (json, behind, error);
}

static gboolean
each (MemraJsonText *json, const MemraSpan *span, const char *path, gboolean members, MemraSpanFunc func, gpointer data,
      GError **error)
{
  const char *c = span->start, *end = span->start + span->length;

  if (span->length == 0 || *c != (members ? '{' : '['))
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "%s is not %s", path,
                   members ? "an object" : "an array");
      return FALSE;
    }
  c = skip_space (c + 1, end);
  if (c < end && *c == (members ? '}' : ']'))
    return TRUE;
  for (guint index = 0;; index++)
    {
      MemraSpan key = { c, 0 }, value;

      if (members)
        {
          if (c >= end || *c != '"')
            return set_syntax_error (json, c, error);
          c = skip_string (c, end);
          key = (MemraSpan){ key.start + 1, (gsize) (c - key.start) - 2 };
          c = skip_space (c, end);
          if (c >= end || *c != ':')
            return set_syntax_error (json, c, error);
          c = skip_space (c + 1, end);
        }
      value.start = c;
      c = skip_value (c, end);
      value.length = (gsize) (c - value.start);
      if (value.length == 0) /* json-glib would say that it found a bracket where it expected that bracket */
        return set_error_at (json, c, error, "a value is missing");
      if (!func (&key, index, &value, data, error))
        return FALSE;
      c = skip_space (c, end);
      if (c < end && *c == (members ? '}' : ']'))
        return TRUE;
      if (c >= end || *c != ',')
        return set_syntax_error (json, c, error);
      c = skip_space (c + 1, end);
    }
}

gboolean
_memra_json_text_each_member (MemraJsonText *json, const MemraSpan *object, const char *path, MemraSpanFunc func,
                              gpointer data, GError **error)
{
  return each (json, object, path, TRUE, func, data, error);
}

gboolean
_memra_json_text_each_item (MemraJsonText *json, const MemraSpan *list, const char *path, MemraSpanFunc func,
                            gpointer data, GError **error)
{
  return each (json, list, path, FALSE, func, data, error);
}

/* A key of an object: an error if the object had it before, or if an escape in it could hide that. */
static gboolean
check_key (const MemraJsonText *json, const MemraSpan *key, guint first, const char *path, GError **error)
{
  gboolean escaped = memchr (key->start, '\\', key->length) != NULL, twice = FALSE;

  for (guint i = first; i < json->keys->len && !twice; i++)
    {
      const MemraSpan *other = &g_array_index (json->keys, MemraSpan, i);

      twice = other->length == key->length && memcmp (other->start, key->start, key->length) == 0;
    }
  if (json->keys->len - first >= MAX_KEYS)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, path), "has an object with more than %u keys", MAX_KEYS);
  if (!escaped && !twice)
    return TRUE;
  return _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, path),
                             escaped ? "has an unknown key \"%.*s\"" : "has the key \"%.*s\" twice",
                             (int) MIN (key->length, 80), key->start);
}

/* The keys of every object of a part. */
static gboolean
check_keys (MemraJsonText *json, const MemraSpan *span, const char *path, GError **error)
{
  const char *c = span->start, *end = span->start + span->length;
  guint first[MAX_NESTING + 1] = { 0 }; /* where the keys of the object at this depth begin */
  guint depth = 0;

  g_array_set_size (json->keys, 0);
  while (c < end)
    if (*c == '"')
      {
        MemraSpan key = { c + 1, 0 };

        c = skip_string (c, end);
        key.length = (gsize) (c - key.start) - 1;
        c = skip_space (c, end);
        if (c < end && *c == ':')
          {
            if (!check_key (json, &key, first[depth], path, error))
              return FALSE;
            g_array_append_val (json->keys, key);
          }
      }
    else
      {
        if (*c == '{' || *c == '[')
          first[++depth] = json->keys->len;
        else if ((*c == '}' || *c == ']') && depth > 0)
          g_array_set_size (json->keys, first[depth--]);
        c++;
      }
  return TRUE;
}

JsonNode *
_memra_json_text_parse (MemraJsonText *json, const MemraSpan *span, const char *path, GError **error)
{
  JsonNode *root;

  if (span->length > MAX_PART)
    {
      _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, path), "has %" G_GSIZE_FORMAT " MiB of text, wanted at most %u",
                          span->length >> 20, (guint) (MAX_PART >> 20));
      return NULL;
    }
  if (!check_keys (json, span, path, error))
    return NULL;
  if (!json_parser_load_from_data (json->parser, span->start, (gssize) span->length, NULL)
      || (root = json_parser_get_root (json->parser)) == NULL)
    {
      set_syntax_error (json, span->start, error);
      return NULL;
    }
  return root;
}

gboolean
_memra_span_equals (const MemraSpan *span, const char *string)
{
  return strlen (string) == span->length && memcmp (span->start, string, span->length) == 0;
}
