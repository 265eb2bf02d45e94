/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JSON text that is taken apart before json-glib sees it. json-glib builds a tree of about thirty times the size of the
 * text, recurses with the text's nesting, and lets a later key replace an earlier one; here the text is checked for
 * nesting first, large lists are handed to it item by item, and keys that appear twice are errors.
 */
#pragma once

#include <json-glib/json-glib.h>

/* A part of the text. */
typedef struct
{
  const char *start;
  gsize length;
} MemraSpan;

typedef struct
{
  MemraSpan text;     /* all of it */
  JsonParser *parser; /* owned */
  GArray *keys;       /* owned: MemraSpan, those of the objects around the place at hand */
} MemraJsonText;

/* Whether text is UTF-8 made of JSON's characters and not nested deeper than a census. MEMRA_CENSUS_ERROR_PARSE with
 * line and position if not. The text must stay until _memra_json_text_clear(). */
gboolean _memra_json_text_init (MemraJsonText *json, const char *text, gsize length, GError **error);
void _memra_json_text_clear (MemraJsonText *json);

/* The one value that the text is, without the space around it. */
gboolean _memra_json_text_get_root (MemraJsonText *json, MemraSpan *root, GError **error);

/* Called for each member of an object or item of a list; `key` is empty for items. */
typedef gboolean (*MemraSpanFunc) (const MemraSpan *key, guint index, const MemraSpan *value, gpointer data,
                                   GError **error);

/* Takes an object or list apart without looking into its values. `path` says where it is, for errors. */
gboolean _memra_json_text_each_member (MemraJsonText *json, const MemraSpan *object, const char *path,
                                       MemraSpanFunc func, gpointer data, GError **error);
gboolean _memra_json_text_each_item (MemraJsonText *json, const MemraSpan *list, const char *path, MemraSpanFunc func,
                                     gpointer data, GError **error);

/* Parses a part with json-glib; the node is the parser's, until the next call. */
JsonNode *_memra_json_text_parse (MemraJsonText *json, const MemraSpan *span, const char *path, GError **error);

gboolean _memra_span_equals (const MemraSpan *span, const char *string);
