/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON text, checked and taken apart. */
#include "config.h"

#include "json-text-private.h"

#include <memra-capture/memra-capture.h>
#include <stdio.h>
#include <string.h>

/* A census is nested 6 deep. */
#define MAX_NESTING 16

/* Where a place in the text is, for people: lines and characters counted from 1. */
static gboolean
set_error_at (const MemraJsonText *json, const char *place, GError **error, const char *what)
{
  gsize line = 1;
  const char *begin = json->text.start;

  for (const char *c = json->text.start; c < place; c++)
    if (*c == '\n')
      {
        line++;
        begin = c + 1;
      }
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_PARSE,
               "Line %" G_GSIZE_FORMAT ", position %" G_GSIZE_FORMAT ": %s", line, (gsize) (place - begin) + 1, what);
  return FALSE;
}

static gboolean
is_space (char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
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

static gboolean
check_characters (const MemraJsonText *json, GError **error)
{
  const char *end = json->text.start + json->text.length;
  guint nesting = 0;

  for (const char *c = json->text.start; c < end; c++)
    switch (*c)
      {
      case '"':
        {
          const char *behind = skip_string (c, end);

          if (behind == NULL)
            return set_error_at (json, c, error, "a string has no end");
          c = behind - 1;
          break;
        }
      case '{':
      case '[':
        if (++nesting > MAX_NESTING)
          return set_error_at (json, c, error, "nested deeper than any census");
        break;
      case '}':
      case ']':
        if (nesting-- == 0)
          return set_error_at (json, c, error, "a bracket closes nothing");
        break;
      default:
        if (!g_ascii_isalnum (*c) && !is_space (*c) && strchr (",:+-.", *c) == NULL)
          return set_error_at (json, c, error, "a character that JSON does not have outside of strings");
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
  return check_characters (json, error);
}

void
_memra_json_text_clear (MemraJsonText *json)
{
  g_clear_object (&json->parser);
  g_clear_pointer (&json->keys, g_array_unref);
}

/* The text is not JSON at this place. json-glib knows better what it misses, so it is asked about the whole; its
 * message begins "<data>:LINE:POSITION: Parse error: ". */
static gboolean
set_syntax_error (MemraJsonText *json, const char *place, GError **error)
{
  g_autoptr (GError) reason = NULL;
  guint line, position;
  int length = 0;

  if (json_parser_load_from_data (json->parser, json->text.start, (gssize) json->text.length, &reason))
    return set_error_at (json, place, error, "not JSON");
  if (sscanf (reason->message, "<data>:%u:%u: Parse error: %n", &line, &position, &length) < 2 || length == 0)
    return set_error_at (json, place, error, reason->message);
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_PARSE, "Line %u, position %u: %s", line, position,
               reason->message + length);
  return FALSE;
}

static const char *
skip_space (const char *c, const char *end)
{
  while (c < end && is_space (*c))
    c++;
  return c;
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
      if (value.length == 0)
        return set_syntax_error (json, c, error);
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
  if (!escaped && !twice)
    return TRUE;
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT,
               escaped ? "%s has an unknown key \"%.*s\"" : "%s has the key \"%.*s\" twice", path,
               (int) MIN (key->length, 80), key->start);
  return FALSE;
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
