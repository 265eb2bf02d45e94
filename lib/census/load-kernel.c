/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One kernel of a census file. */
#include "config.h"

#include "loading-private.h"

#include <string.h>

/* Parameters of a loaded kernel lie as a compiler would put them if all were aligned like pointers: the file tells
 * their sizes, and where pointers lie within each, but not where each begins. */
#define ALIGNMENT 8

static int
digit_value (char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Makes room for an argument, all zeros. */
static guint32
add_room (GByteArray *bytes, guint32 size)
{
  guint old_size = bytes->len;
  guint32 offset = (old_size + ALIGNMENT - 1) & ~(guint32) (ALIGNMENT - 1);

  g_byte_array_set_size (bytes, offset + size);
  if (bytes->len > old_size)
    memset (bytes->data + old_size, 0, bytes->len - old_size);
  return offset;
}

/* Appends the bytes of one argument, and says where they are. */
static gboolean
read_hex (MemraLoading *loading, JsonObject *object, const MemraPath *path, const char *key, guint32 *offset,
          guint32 *size, GError **error)
{
  GByteArray *bytes = loading->bytes;
  const char *hex;
  gsize length;

  if (!_memra_json_member_string (object, path, key, FALSE, &hex, error))
    return FALSE;
  length = strlen (hex);
  if (length % 2 != 0 || length > G_MAXINT32)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (path, key),
                               "has %" G_GSIZE_FORMAT " digits, wanted two for each byte", length);

  *size = (guint32) (length / 2);
  *offset = add_room (bytes, *size);
  for (gsize i = 0; i < *size; i++)
    {
      int high = digit_value (hex[2 * i]), low = digit_value (hex[2 * i + 1]);

      if (high < 0 || low < 0)
        return _memra_json_refuse (error, MEMRA_PATH_KEY (path, key), "is not made of lower-case hexadecimal digits");
      bytes->data[*offset + i] = (guint8) (high << 4 | low);
    }
  return TRUE;
}

static gboolean
read_pointer (MemraLoading *loading, JsonObject *object, const MemraPath *path, guint32 at, GError **error)
{
  MemraPointer pointer = { .at = at };

  if (!_memra_loading_buffer (loading, object, path, &pointer.buffer, error)
      || !_memra_json_member_number (object, path, "offset", &pointer.offset, error))
    return FALSE;
  g_array_append_val (loading->pointers, pointer);
  return TRUE;
}

static gboolean
read_inner_pointer (MemraLoading *loading, JsonNode *node, const MemraPath *path, guint32 offset, guint32 size,
                    GError **error)
{
  static const char *const keys[] = { "at", "buffer", "offset", NULL };
  static const guint8 zeros[sizeof (guint64)];
  const GArray *pointers = loading->pointers;
  JsonObject *object;
  guint32 at;

  if (!_memra_json_object (node, path, keys, &object, error)
      || !_memra_json_member_number32 (object, path, "at", G_MAXINT32, &at, error))
    return FALSE;
  if (at % sizeof (guint64) != 0 || at + sizeof (guint64) > size)
    return _memra_json_refuse (error, path, "is at %u, wanted a multiple of 8 inside the argument's %u bytes", at,
                               size);
  if (pointers->len > 0 && g_array_index (pointers, MemraPointer, pointers->len - 1).at >= offset + at)
    return _memra_json_refuse (error, path, "stands behind the one before it, wanted pointers in order");
  if (memcmp (loading->bytes->data + offset + at, zeros, sizeof zeros) != 0)
    return _memra_json_refuse (error, path, "is at bytes that are not zero");
  return read_pointer (loading, object, path, offset + at, error);
}

static gboolean
read_inner_pointers (MemraLoading *loading, JsonObject *object, const MemraPath *path, guint32 offset, guint32 size,
                     GError **error)
{
  const MemraPath *list = MEMRA_PATH_KEY (path, "pointers");
  JsonNode *node = json_object_get_member (object, "pointers");
  JsonArray *array;

  if (node == NULL)
    return TRUE;
  if (!_memra_json_array (node, list, &array, error))
    return FALSE;
  for (guint i = 0; i < json_array_get_length (array); i++)
    if (!read_inner_pointer (loading, json_array_get_element (array, i), MEMRA_PATH_ITEM (list, i), offset, size,
                             error))
      return FALSE;
  return TRUE;
}

/* {"buffer","offset"}, {"hex"}, {"hex","pointers"}, or {"unknown"} with or without pointers. */
static gboolean
read_argument (MemraLoading *loading, JsonNode *node, const MemraPath *path, gboolean *unknown, GError **error)
{
  static const char *const all_keys[] = { "buffer", "hex", "offset", "pointers", "unknown", NULL };
  static const char *const pointer_keys[] = { "buffer", "offset", NULL };
  static const char *const bytes_keys[] = { "hex", "pointers", NULL };
  static const char *const unknown_keys[] = { "pointers", "unknown", NULL };
  MemraParameter parameter;
  JsonObject *object;

  if (!_memra_json_object (node, path, all_keys, &object, error))
    return FALSE;
  *unknown = json_object_has_member (object, "unknown");
  if (json_object_has_member (object, "buffer"))
    {
      parameter.size = sizeof (guint64);
      parameter.offset = add_room (loading->bytes, parameter.size);
      if (!_memra_json_object (node, path, pointer_keys, &object, error)
          || !read_pointer (loading, object, path, parameter.offset, error))
        return FALSE;
    }
  else
    {
      if (!_memra_json_object (node, path, *unknown ? unknown_keys : bytes_keys, &object, error)
          || !read_hex (loading, object, path, *unknown ? "unknown" : "hex", &parameter.offset, &parameter.size, error)
          || !read_inner_pointers (loading, object, path, parameter.offset, parameter.size, error))
        return FALSE;
      if (parameter.size == 0 && !*unknown)
        return _memra_json_refuse (error, path, "has no bytes");
    }
  g_array_append_val (loading->parameters, parameter);
  return TRUE;
}

static gboolean
read_arguments (MemraLoading *loading, JsonObject *object, const MemraPath *path, gboolean *layout_known,
                GError **error)
{
  const MemraPath *list = MEMRA_PATH_KEY (path, "args");
  JsonNode *node = _memra_json_member (object, path, "args", error);
  JsonArray *array;

  g_array_set_size (loading->parameters, 0);
  g_array_set_size (loading->pointers, 0);
  g_byte_array_set_size (loading->bytes, 0);
  *layout_known = TRUE;
  if (node == NULL || !_memra_json_array (node, list, &array, error))
    return FALSE;
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      gboolean unknown;

      if (!read_argument (loading, json_array_get_element (array, i), MEMRA_PATH_ITEM (list, i), &unknown, error))
        return FALSE;
      if (unknown && json_array_get_length (array) > 1)
        return _memra_json_refuse (error, MEMRA_PATH_ITEM (list, i), "is unknown, wanted it to be the only argument");
      *layout_known = !unknown;
    }
  return TRUE;
}

/* A function that was met before, or a new one. */
static const MemraFunction *
find_function (MemraLoading *loading, const char *name, const char *demangled, gboolean layout_known)
{
  MemraCensus *census = loading->census;
  const char *key = _memra_census_intern (census, name);
  const char *other_name = _memra_census_intern (census, demangled);
  guint32 n = layout_known ? loading->parameters->len : 0;
  MemraFunction *function = g_hash_table_lookup (loading->functions, key);

  if (function != NULL && function->demangled == other_name && function->layout_known == layout_known
      && function->n_parameters == n
      && (n == 0 || memcmp (function->parameters, loading->parameters->data, n * sizeof (MemraParameter)) == 0))
    return function;

  function = _memra_arena_alloc (&census->arena, sizeof *function);
  function->name = key;
  function->demangled = other_name;
  function->layout_known = layout_known;
  function->n_parameters = n;
  function->parameters = _memra_arena_copy (&census->arena, loading->parameters->data, n * sizeof (MemraParameter));
  function->size = layout_known ? loading->bytes->len : 0;
  g_hash_table_insert (loading->functions, (gpointer) key, function);
  return function;
}

static gboolean
read_dim3 (JsonObject *object, const MemraPath *path, const char *key, MemraDim3 *dim, GError **error)
{
  const MemraPath *list = MEMRA_PATH_KEY (path, key);
  JsonNode *node = _memra_json_member (object, path, key, error);
  guint32 *sides[] = { &dim->x, &dim->y, &dim->z };
  JsonArray *array;

  if (node == NULL || !_memra_json_array (node, list, &array, error))
    return FALSE;
  if (json_array_get_length (array) != G_N_ELEMENTS (sides))
    return _memra_json_refuse (error, list, "has %u items, wanted 3", json_array_get_length (array));
  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    if (!_memra_json_number32 (json_array_get_element (array, i), MEMRA_PATH_ITEM (list, i), G_MAXUINT32, sides[i],
                               error))
      return FALSE;
  return TRUE;
}

gboolean
_memra_loading_kernel (MemraLoading *loading, JsonNode *node, const MemraPath *path, GError **error)
{
  static const char *const keys[]
      = { "args", "block", "demangled", "depth", "grid", "name", "node", "section", "shared", NULL };
  MemraArena *arena = &loading->census->arena;
  MemraKernelNode kernel = { 0 };
  const MemraPlaced *placed;
  const char *name, *demangled;
  gboolean layout_known;
  JsonObject *object;

  if (!_memra_json_object (node, path, keys, &object, error)
      || !read_arguments (loading, object, path, &layout_known, error)
      || !read_dim3 (object, path, "block", &kernel.block, error)
      || !_memra_json_member_string (object, path, "demangled", FALSE, &demangled, error)
      || !read_dim3 (object, path, "grid", &kernel.grid, error)
      || !_memra_json_member_string (object, path, "name", FALSE, &name, error)
      || !_memra_json_member_number32 (object, path, "shared", G_MAXUINT32, &kernel.shared_bytes, error)
      || !_memra_loading_place (loading, object, path, MCU_NODE_KERNEL, loading->kernels->len, error))
    return FALSE;

  placed = &g_array_index (loading->placed, MemraPlaced, loading->placed->len - 1);
  kernel.node = placed->number;
  kernel.depth = placed->node.depth;
  kernel.section = placed->node.section;
  kernel.function = find_function (loading, name, demangled, layout_known);
  kernel.n_bytes = loading->bytes->len;
  if (kernel.n_bytes > 0)
    kernel.bytes = _memra_arena_copy (arena, loading->bytes->data, kernel.n_bytes);
  kernel.n_pointers = loading->pointers->len;
  if (kernel.n_pointers > 0)
    kernel.pointers = _memra_arena_copy (arena, loading->pointers->data, kernel.n_pointers * sizeof (MemraPointer));
  g_array_append_val (loading->kernels, kernel);
  return TRUE;
}
