/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Typed values of a JSON tree. */
#include "config.h"

#include "census-private.h"
#include "json-value-private.h"

#include <string.h>

static void
append_path (GString *text, const MemraPath *path)
{
  if (path->up != NULL)
    append_path (text, path->up);
  if (path->key == NULL)
    g_string_append_printf (text, "[%u]", path->index);
  else
    g_string_append_printf (text, "%s%s", text->len > 0 ? "." : "", path->key);
}

gboolean
_memra_json_refuse (GError **error, const MemraPath *path, const char *what, ...)
{
  g_autoptr (GString) text = g_string_new (NULL);
  va_list arguments;

  if (path != NULL)
    append_path (text, path);
  else
    g_string_append (text, "The census");
  g_string_append_c (text, ' ');
  va_start (arguments, what);
  g_string_append_vprintf (text, what, arguments);
  va_end (arguments);
  _memra_census_set_error (error, MEMRA_CENSUS_ERROR_FORMAT, text->str);
  return FALSE;
}

/* What a value is, in words. */
static char *
describe (JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    return g_strdup ("an object");
  if (JSON_NODE_HOLDS_ARRAY (node))
    return g_strdup ("an array");
  if (JSON_NODE_HOLDS_NULL (node))
    return g_strdup ("null");
  switch (json_node_get_value_type (node))
    {
    case G_TYPE_INT64:
      return g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));
    case G_TYPE_DOUBLE:
      return g_strdup ("a number with a fraction or exponent");
    case G_TYPE_BOOLEAN:
      return g_strdup ("a boolean");
    default:
      return g_strdup ("a string");
    }
}

gboolean
_memra_json_number (JsonNode *node, const MemraPath *path, guint64 max, guint64 *number, GError **error)
{
  gint64 value
      = JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_INT64 ? json_node_get_int (node) : -1;

  if (value < 0 || (guint64) value > max)
    {
      g_autofree char *is = describe (node);

      return _memra_json_refuse (error, path, "is %s, wanted an integer from 0 to %" G_GUINT64_FORMAT, is, max);
    }
  *number = (guint64) value;
  return TRUE;
}

gboolean
_memra_json_number32 (JsonNode *node, const MemraPath *path, guint32 max, guint32 *number, GError **error)
{
  guint64 value = 0;

  if (!_memra_json_number (node, path, max, &value, error))
    return FALSE;
  *number = (guint32) value;
  return TRUE;
}

gboolean
_memra_json_string (JsonNode *node, const MemraPath *path, gboolean nullable, const char **string, GError **error)
{
  g_autofree char *is = NULL;

  if (nullable && JSON_NODE_HOLDS_NULL (node))
    {
      *string = NULL;
      return TRUE;
    }
  if (JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING)
    {
      *string = json_node_get_string (node);
      return TRUE;
    }
  is = describe (node);
  return _memra_json_refuse (error, path, "is %s, wanted a string%s", is, nullable ? " or null" : "");
}

gboolean
_memra_json_object (JsonNode *node, const MemraPath *path, const char *const *keys, JsonObject **object, GError **error)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autofree char *is = describe (node);

      return _memra_json_refuse (error, path, "is %s, wanted an object", is);
    }
  *object = json_node_get_object (node);
  json_object_iter_init (&iter, *object);
  while (json_object_iter_next (&iter, &name, &value))
    {
      guint i;

      for (i = 0; keys[i] != NULL && strcmp (keys[i], name) != 0; i++)
        ;
      if (keys[i] == NULL)
        return _memra_json_refuse (error, path, "has a key \"%s\", which is unknown here", name);
    }
  return TRUE;
}

gboolean
_memra_json_array (JsonNode *node, const MemraPath *path, JsonArray **array, GError **error)
{
  g_autofree char *is = NULL;

  if (JSON_NODE_HOLDS_ARRAY (node))
    {
      *array = json_node_get_array (node);
      return TRUE;
    }
  is = describe (node);
  return _memra_json_refuse (error, path, "is %s, wanted an array", is);
}

JsonNode *
_memra_json_member (JsonObject *object, const MemraPath *path, const char *key, GError **error)
{
  JsonNode *node = json_object_get_member (object, key);

  if (node == NULL)
    _memra_json_refuse (error, path, "has no \"%s\"", key);
  return node;
}

gboolean
_memra_json_member_number (JsonObject *object, const MemraPath *path, const char *key, guint64 *number, GError **error)
{
  JsonNode *node = _memra_json_member (object, path, key, error);

  return node != NULL && _memra_json_number (node, MEMRA_PATH_KEY (path, key), G_MAXINT64, number, error);
}

gboolean
_memra_json_member_number32 (JsonObject *object, const MemraPath *path, const char *key, guint32 max, guint32 *number,
                             GError **error)
{
  JsonNode *node = _memra_json_member (object, path, key, error);

  return node != NULL && _memra_json_number32 (node, MEMRA_PATH_KEY (path, key), max, number, error);
}

gboolean
_memra_json_member_string (JsonObject *object, const MemraPath *path, const char *key, gboolean nullable,
                           const char **string, GError **error)
{
  JsonNode *node = _memra_json_member (object, path, key, error);

  return node != NULL && _memra_json_string (node, MEMRA_PATH_KEY (path, key), nullable, string, error);
}
