/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON text, checked and taken apart. */
#include "config.h"

#include "json-text-private.h"

#include <memra-capture/memra-capture.h>
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
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_PARSE, "Line %" G_GSIZE_FORMAT ", position %" G_GSIZE_FORMAT ": %s",
               line, (gsize) (place - begin) + 1, what);
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

static void
on_object_start (JsonParser *parser G_GNUC_UNUSED, gpointer data)
{
  MemraJsonText *json = data;
  const guint none = 0;

  g_array_append_val (json->n_members, none);
}

static void
on_object_member (JsonParser *parser G_GNUC_UNUSED, JsonObject *object, const char *name, gpointer data)
{
  MemraJsonText *json = data;
  guint *n = &g_array_index (json->n_members, guint, json->n_members->len - 1);

  if (json->twice == NULL && json_object_get_size (object) < ++*n)
    json->twice = g_strdup (name);
}

static void
on_object_end (JsonParser *parser G_GNUC_UNUSED, JsonObject *object G_GNUC_UNUSED, gpointer data)
{
  MemraJsonText *json = data;

  g_array_set_size (json->n_members, json->n_members->len - 1);
}

gboolean
_memra_json_text_init (MemraJsonText *json, const char *text, gsize length, GError **error)
{
  const char *wrong;

  json->text = (MemraSpan){ text, length };
  json->n_members = g_array_new (FALSE, FALSE, sizeof (guint));
  json->twice = NULL;
  json->parser = json_parser_new ();
  g_signal_connect (json->parser, "object-start", G_CALLBACK (on_object_start), json);
  g_signal_connect (json->parser, "object-member", G_CALLBACK (on_object_member), json);
  g_signal_connect (json->parser, "object-end", G_CALLBACK (on_object_end), json);

  if (!g_utf8_validate (text, (gssize) length, &wrong))
    return set_error_at (json, wrong, error, "not UTF-8");
  return check_characters (json, error);
}

void
_memra_json_text_clear (MemraJsonText *json)
{
  g_clear_object (&json->parser);
  g_clear_pointer (&json->n_members, g_array_unref);
  g_clear_pointer (&json->twice, g_free);
}

/* The text is not JSON at this place. json-glib knows better what it misses, so it is asked about the whole. */
static gboolean
set_syntax_error (MemraJsonText *json, const char *place, GError **error)
{
  g_autoptr (GError) reason = NULL;
  const char *message;

  g_array_set_size (json->n_members, 0);
  if (json_parser_load_from_data (json->parser, json->text.start, (gssize) json->text.length, &reason))
    return set_error_at (json, place, error, "not JSON");
  message = g_str_has_prefix (reason->message, "<data>:") ? reason->message + strlen ("<data>:") : reason->message;
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_PARSE, "Line and position %s", message);
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
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "%s is not %s", path, members ? "an object" : "an array");
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
_memra_json_text_each_member (MemraJsonText *json, const MemraSpan *object, const char *path, MemraSpanFunc func, gpointer data,
                              GError **error)
{
  return each (json, object, path, TRUE, func, data, error);
}

gboolean
_memra_json_text_each_item (MemraJsonText *json, const MemraSpan *list, const char *path, MemraSpanFunc func, gpointer data,
                            GError **error)
{
  return each (json, list, path, FALSE, func, data, error);
}

JsonNode *
_memra_json_text_parse (MemraJsonText *json, const MemraSpan *span, const char *path, GError **error)
{
  JsonNode *root;

  g_array_set_size (json->n_members, 0);
  g_clear_pointer (&json->twice, g_free);
  if (!json_parser_load_from_data (json->parser, span->start, (gssize) span->length, NULL)
      || (root = json_parser_get_root (json->parser)) == NULL)
    {
      set_syntax_error (json, span->start, error);
      return NULL;
    }
  if (json->twice != NULL)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "%s has the key \"%s\" twice", path, json->twice);
      return NULL;
    }
  return root;
}

gboolean
_memra_span_equals (const MemraSpan *span, const char *string)
{
  return strlen (string) == span->length && memcmp (span->start, string, span->length) == 0;
}
