/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Items of a census file's lists: copies, other nodes, hazards. */
#include "config.h"

#include "loading-private.h"

#include <string.h>

/* {"buffer","offset","pitch"} or {"memory","pitch"} */
static gboolean
read_place (MemraLoading *loading, JsonObject *copy, const MemraPath *path, const char *key, MemraPlace *place,
            GError **error)
{
  static const char *const all_keys[] = { "buffer", "memory", "offset", "pitch", NULL };
  static const char *const buffer_keys[] = { "buffer", "offset", "pitch", NULL };
  static const char *const memory_keys[] = { "memory", "pitch", NULL };
  const MemraPath *at = MEMRA_PATH_KEY (path, key);
  JsonNode *node = _memra_json_member (copy, path, key, error);
  JsonObject *object;
  const char *memory;

  if (node == NULL || !_memra_json_object (node, at, all_keys, &object, error)
      || !_memra_json_member_number (object, at, "pitch", &place->pitch, error))
    return FALSE;
  if (json_object_has_member (object, "buffer"))
    {
      place->kind = MEMRA_PLACE_BUFFER;
      return _memra_json_object (node, at, buffer_keys, &object, error)
             && _memra_loading_buffer (loading, object, at, &place->buffer, error)
             && _memra_json_member_number (object, at, "offset", &place->offset, error);
    }
  if (!_memra_json_object (node, at, memory_keys, &object, error)
      || !_memra_json_member_string (object, at, "memory", FALSE, &memory, error))
    return FALSE;
  place->buffer = MEMRA_NO_BUFFER;
  if (strcmp (memory, "pageable") == 0)
    place->kind = MEMRA_PLACE_PAGEABLE;
  else if (strcmp (memory, "array") == 0)
    place->kind = MEMRA_PLACE_ARRAY;
  else if (strcmp (memory, "unknown") == 0)
    place->kind = MEMRA_PLACE_UNKNOWN;
  else
    return _memra_json_refuse (error, MEMRA_PATH_KEY (at, "memory"), "is \"%s\", wanted array, pageable or unknown",
                               memory);
  return TRUE;
}

static gboolean
read_extent (JsonObject *object, const MemraPath *path, MemraCopy *copy, GError **error)
{
  const MemraPath *list = MEMRA_PATH_KEY (path, "extent");
  JsonNode *node = _memra_json_member (object, path, "extent", error);
  JsonArray *array;

  if (node == NULL || !_memra_json_array (node, list, &array, error))
    return FALSE;
  if (json_array_get_length (array) != G_N_ELEMENTS (copy->extent))
    return _memra_json_refuse (error, list, "has %u items, wanted 3", json_array_get_length (array));
  for (guint i = 0; i < G_N_ELEMENTS (copy->extent); i++)
    if (!_memra_json_number (json_array_get_element (array, i), MEMRA_PATH_ITEM (list, i), G_MAXINT64, &copy->extent[i],
                             error))
      return FALSE;
  return TRUE;
}

static gboolean
read_direction (JsonObject *object, const MemraPath *path, MemraCopyDirection *direction, GError **error)
{
  const char *name;

  if (!_memra_json_member_string (object, path, "direction", FALSE, &name, error))
    return FALSE;
  for (guint i = MEMRA_COPY_UNKNOWN; i <= MEMRA_COPY_FILL; i++)
    if (strcmp (name, _memra_copy_direction_to_string (i)) == 0)
      {
        *direction = i;
        return TRUE;
      }
  return _memra_json_refuse (error, MEMRA_PATH_KEY (path, "direction"), "is \"%s\", which is no direction of a copy",
                             name);
}

gboolean
_memra_loading_read_copy (const MemraSpan *key G_GNUC_UNUSED, guint index, const MemraSpan *value, gpointer data,
                          GError **error)
{
  static const char *const all_keys[]
      = { "bytes", "depth", "direction", "element", "extent", "node", "section", "source", "target", "value", NULL };
  static const char *const copy_keys[]
      = { "bytes", "depth", "direction", "extent", "node", "section", "source", "target", NULL };
  static const char *const fill_keys[]
      = { "bytes", "depth", "direction", "element", "extent", "node", "section", "target", "value", NULL };
  MemraLoading *loading = data;
  const MemraPath *path = MEMRA_PATH_ITEM (MEMRA_PATH_KEY (NULL, "copies"), index);
  MemraCopy copy = { 0 };
  gboolean is_fill;
  char name[32];
  JsonNode *node;
  JsonObject *object;

  g_snprintf (name, sizeof name, "copies[%u]", index);
  node = _memra_json_text_parse (&loading->json, value, name, error);
  if (node == NULL || !_memra_json_object (node, path, all_keys, &object, error)
      || !read_direction (object, path, &copy.direction, error))
    return FALSE;
  is_fill = copy.direction == MEMRA_COPY_FILL;
  if (!_memra_json_object (node, path, is_fill ? fill_keys : copy_keys, &object, error)
      || !_memra_json_member_number (object, path, "bytes", &copy.bytes, error)
      || !read_extent (object, path, &copy, error)
      || !read_place (loading, object, path, "target", &copy.target, error))
    return FALSE;
  if (is_fill ? !_memra_json_member_number32 (object, path, "element", G_MAXUINT32, &copy.element_size, error)
                    || !_memra_json_member_number32 (object, path, "value", G_MAXUINT32, &copy.value, error)
              : !read_place (loading, object, path, "source", &copy.source, error))
    return FALSE;
  if (!_memra_loading_place (loading, object, path, is_fill ? MCU_NODE_MEMSET : MCU_NODE_MEMCPY,
                             loading->census->copies->len, error))
    return FALSE;
  copy.node = g_array_index (loading->placed, MemraPlaced, loading->placed->len - 1).number;
  g_array_append_val (loading->census->copies, copy);
  return TRUE;
}

static gboolean
read_bodies (MemraLoading *loading, JsonObject *object, const MemraPath *path, MemraDetail *detail, GError **error)
{
  const MemraPath *list = MEMRA_PATH_KEY (path, "bodies");
  JsonNode *node = json_object_get_member (object, "bodies");
  const char *from = NULL;
  JsonArray *array;
  guint32 *sizes;

  if (node == NULL)
    return !json_object_has_member (object, "bodies_from")
           || _memra_json_refuse (error, path, "has \"bodies_from\", but no \"bodies\"");
  if (!_memra_json_array (node, list, &array, error))
    return FALSE;
  detail->n_bodies = json_array_get_length (array);
  if (detail->n_bodies == 0)
    return _memra_json_refuse (error, list, "is empty");
  detail->bodies = sizes = _memra_arena_alloc (&loading->census->arena, detail->n_bodies * sizeof *sizes);
  for (guint i = 0; i < detail->n_bodies; i++)
    if (!_memra_json_number32 (json_array_get_element (array, i), MEMRA_PATH_ITEM (list, i), G_MAXUINT32, &sizes[i],
                               error))
      return FALSE;
  if (!json_object_has_member (object, "bodies_from"))
    return TRUE;
  if (!_memra_json_member_string (object, path, "bodies_from", FALSE, &from, error))
    return FALSE;
  detail->from_dump = TRUE;
  return strcmp (from, "debug-dump") == 0
         || _memra_json_refuse (error, MEMRA_PATH_KEY (path, "bodies_from"), "is \"%s\", wanted \"debug-dump\"", from);
}

gboolean
_memra_loading_read_other (const MemraSpan *key G_GNUC_UNUSED, guint index, const MemraSpan *value, gpointer data,
                           GError **error)
{
  static const char *const plain_keys[] = { "depth", "node", "section", "type", NULL };
  static const char *const alloc_keys[] = { "buffer", "bytes", "depth", "node", "section", "type", NULL };
  static const char *const free_keys[] = { "buffer", "depth", "node", "section", "type", NULL };
  static const char *const child_keys[] = { "bodies", "bodies_from", "depth", "node", "section", "type", NULL };
  static const char *const all_keys[]
      = { "bodies", "bodies_from", "buffer", "bytes", "depth", "node", "section", "type", NULL };
  MemraLoading *loading = data;
  MemraCensus *census = loading->census;
  const MemraPath *path = MEMRA_PATH_ITEM (MEMRA_PATH_KEY (NULL, "others"), index);
  MemraDetail detail = { .buffer = MEMRA_NO_BUFFER };
  guint32 record = MEMRA_NO_RECORD, type;
  gboolean is_child, is_memory;
  const char *type_name;
  char name[32];
  JsonNode *node;
  JsonObject *object;

  g_snprintf (name, sizeof name, "others[%u]", index);
  node = _memra_json_text_parse (&loading->json, value, name, error);
  if (node == NULL || !_memra_json_object (node, path, all_keys, &object, error)
      || !_memra_json_member_string (object, path, "type", FALSE, &type_name, error))
    return FALSE;
  if (!_memra_census_type_from_name (type_name, &type))
    return _memra_json_refuse (error, MEMRA_PATH_KEY (path, "type"), "is \"%s\", which is no type of node", type_name);
  is_child = type == MCU_NODE_GRAPH || type == MCU_NODE_CONDITIONAL;
  is_memory = type == MCU_NODE_MEM_FREE || (type == MCU_NODE_MEM_ALLOC && json_object_has_member (object, "bytes"));
  if (!_memra_json_object (node, path,
                           is_child                     ? child_keys
                           : !is_memory                 ? plain_keys
                           : type == MCU_NODE_MEM_ALLOC ? alloc_keys
                                                        : free_keys,
                           &object, error)
      || !read_bodies (loading, object, path, &detail, error))
    return FALSE;
  if (is_memory && json_object_has_member (object, "buffer")
      && !_memra_loading_buffer (loading, object, path, &detail.buffer, error))
    return FALSE;
  if (is_memory && type == MCU_NODE_MEM_ALLOC
      && !_memra_json_member_number (object, path, "bytes", &detail.bytes, error))
    return FALSE;
  if (is_child || is_memory)
    record = census->details->len;
  if (!_memra_loading_place (loading, object, path, type, record, error))
    return FALSE;
  detail.node = g_array_index (loading->placed, MemraPlaced, loading->placed->len - 1).number;
  detail.opaque = type == MCU_NODE_CONDITIONAL && detail.n_bodies == 0;
  if (record != MEMRA_NO_RECORD)
    g_array_append_val (census->details, detail);
  return TRUE;
}

gboolean
_memra_loading_read_hazard (const MemraSpan *key G_GNUC_UNUSED, guint index, const MemraSpan *value, gpointer data,
                            GError **error)
{
  static const char *const keys[] = { "kind", "message", "node", NULL };
  MemraLoading *loading = data;
  MemraCensus *census = loading->census;
  const MemraPath *path = MEMRA_PATH_ITEM (MEMRA_PATH_KEY (NULL, "hazards"), index);
  MemraHazard hazard = { .node = MEMRA_NO_NODE };
  const char *kind, *message;
  JsonNode *node, *number;
  JsonObject *object;
  char name[32];

  g_snprintf (name, sizeof name, "hazards[%u]", index);
  node = _memra_json_text_parse (&loading->json, value, name, error);
  if (node == NULL || !_memra_json_object (node, path, keys, &object, error)
      || !_memra_json_member_string (object, path, "kind", FALSE, &kind, error)
      || !_memra_json_member_string (object, path, "message", FALSE, &message, error))
    return FALSE;
  number = _memra_json_member (object, path, "node", error);
  if (number == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_NULL (number)
      && !_memra_json_number32 (number, MEMRA_PATH_KEY (path, "node"), MEMRA_NO_NODE - 1, &hazard.node, error))
    return FALSE;
  if (hazard.node != MEMRA_NO_NODE && hazard.node >= census->nodes->len)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (path, "node"), "is %u, but there are %u nodes", hazard.node,
                               census->nodes->len);
  hazard.kind = _memra_census_intern (census, kind);
  hazard.message = _memra_census_intern (census, message);
  g_array_append_val (census->hazards, hazard);
  return TRUE;
}
