/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of a JSON tree that must be of a certain type, with errors that say where: "kernels[3].grid[1] is a string,
 * wanted an integer from 0 to 4294967295". All errors are MEMRA_CENSUS_ERROR_FORMAT. */
#pragma once

#include <json-glib/json-glib.h>

/* A place in the tree, as a chain of steps on the stack: building its name is left to errors. */
typedef struct _MemraPath MemraPath;
struct _MemraPath
{
  const MemraPath *up; /* nullable */
  const char *key;     /* NULL for an item */
  guint index;
};

#define MEMRA_PATH_KEY(up, key)    (&(const MemraPath){ (up), (key), 0 })
#define MEMRA_PATH_ITEM(up, index) (&(const MemraPath){ (up), NULL, (index) })

/* Sets "<path> <what>" and returns FALSE; the path may be NULL for the whole text. */
gboolean _memra_json_refuse (GError **error, const MemraPath *path, const char *what, ...) G_GNUC_PRINTF (3, 4);

gboolean _memra_json_number (JsonNode *node, const MemraPath *path, guint64 max, guint64 *number, GError **error);
gboolean _memra_json_number32 (JsonNode *node, const MemraPath *path, guint32 max, guint32 *number, GError **error);

/* The string stays the tree's. `string` is set to NULL for null, which is taken only if `nullable`. */
gboolean _memra_json_string (JsonNode *node, const MemraPath *path, gboolean nullable, const char **string,
                             GError **error);

/* An object with no other keys than those listed, up to a NULL. */
gboolean _memra_json_object (JsonNode *node, const MemraPath *path, const char *const *keys, JsonObject **object,
                             GError **error);
gboolean _memra_json_array (JsonNode *node, const MemraPath *path, JsonArray **array, GError **error);

/* A member that must be there, NULL if it is not. */
JsonNode *_memra_json_member (JsonObject *object, const MemraPath *path, const char *key, GError **error);

/* Members that must be there and of their type. */
gboolean _memra_json_member_number (JsonObject *object, const MemraPath *path, const char *key, guint64 *number,
                                    GError **error);
gboolean _memra_json_member_number32 (JsonObject *object, const MemraPath *path, const char *key, guint32 max,
                                      guint32 *number, GError **error);
gboolean _memra_json_member_string (JsonObject *object, const MemraPath *path, const char *key, gboolean nullable,
                                    const char **string, GError **error);
