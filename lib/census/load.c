/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The census file, read: every part of it is checked, since it may come from anywhere. */
#include "config.h"

#include "loading-private.h"

#include <string.h>

/* A census of a million kernels is smaller. */
#define MAX_TEXT ((gsize) 512 * 1024 * 1024)

/* Keys of the whole, in order. */
enum
{
  KEY_COPIES,
  KEY_EDGES,
  KEY_FORMAT,
  KEY_HAZARDS,
  KEY_KERNELS,
  KEY_LAYER,
  KEY_NODES,
  KEY_OTHERS,
  KEY_VERSION,
  N_KEYS
};

static const char *const key_names[N_KEYS]
    = { "copies", "edges", "format", "hazards", "kernels", "layer", "nodes", "others", "version" };

typedef struct
{
  MemraSpan spans[N_KEYS];
  MemraSpan unknown; /* the first unknown key; an error only once the version is known to be ours */
} Top;

static gboolean
keep_span (const MemraSpan *key, guint index G_GNUC_UNUSED, const MemraSpan *value, gpointer data, GError **error)
{
  Top *top = data;

  for (guint i = 0; i < N_KEYS; i++)
    if (_memra_span_equals (key, key_names[i]))
      {
        if (top->spans[i].start != NULL)
          return _memra_json_refuse (error, NULL, "has the key \"%s\" twice", key_names[i]);
        top->spans[i] = *value;
        return TRUE;
      }
  if (top->unknown.start == NULL)
    top->unknown = *key;
  return TRUE;
}

static JsonNode *
parse_top (MemraLoading *loading, const Top *top, guint key, GError **error)
{
  return _memra_json_text_parse (&loading->json, &top->spans[key], key_names[key], error);
}

static gboolean
check_format (MemraLoading *loading, const Top *top, GError **error)
{
  const char *format;
  guint32 version;
  JsonNode *node;

  if (top->spans[KEY_FORMAT].start == NULL || top->spans[KEY_VERSION].start == NULL)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT, "Not a census: there is no \"%s\"",
                   key_names[top->spans[KEY_FORMAT].start == NULL ? KEY_FORMAT : KEY_VERSION]);
      return FALSE;
    }
  node = parse_top (loading, top, KEY_FORMAT, error);
  if (node == NULL || !_memra_json_string (node, MEMRA_PATH_KEY (NULL, "format"), FALSE, &format, error))
    return FALSE;
  if (strcmp (format, MEMRA_CENSUS_FORMAT) != 0)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, "format"), "is \"%s\", wanted \"" MEMRA_CENSUS_FORMAT "\"",
                               format);
  node = parse_top (loading, top, KEY_VERSION, error);
  if (node == NULL || !_memra_json_number32 (node, MEMRA_PATH_KEY (NULL, "version"), G_MAXUINT32, &version, error))
    return FALSE;
  if (version == MEMRA_CENSUS_VERSION)
    return TRUE;
  g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_VERSION,
               "The census is of version %u of its format, and this library knows version %u", version,
               MEMRA_CENSUS_VERSION);
  return FALSE;
}

gboolean
_memra_loading_place (MemraLoading *loading, JsonObject *object, const MemraPath *path, guint32 type, guint32 record,
                      GError **error)
{
  GArray *placed = loading->placed;
  const MemraPlaced *before = placed->len > 0 ? &g_array_index (placed, MemraPlaced, placed->len - 1) : NULL;
  MemraPlaced item = { .node = { .type = type, .record = record }, .list = path->up->key, .index = path->index };
  const char *section;

  if (!_memra_json_member_number32 (object, path, "depth", MEMRA_MAX_DEPTH, &item.node.depth, error)
      || !_memra_json_member_number32 (object, path, "node", G_MAXUINT32 - 1, &item.number, error)
      || !_memra_json_member_string (object, path, "section", TRUE, &section, error))
    return FALSE;
  if (before != NULL && before->list == item.list && before->number >= item.number)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (path, "node"), "is %u, wanted more than the %u before it",
                               item.number, before->number);
  item.node.section = section != NULL ? _memra_census_intern (loading->census, section) : NULL;
  g_array_append_val (placed, item);
  return TRUE;
}

gboolean
_memra_loading_buffer (MemraLoading *loading, JsonObject *object, const MemraPath *path, guint32 *buffer,
                       GError **error)
{
  if (!_memra_json_member_number32 (object, path, "buffer", MEMRA_NO_BUFFER - 1, buffer, error))
    return FALSE;
  loading->census->n_allocations = MAX (loading->census->n_allocations, *buffer + 1);
  return TRUE;
}

static gboolean
read_kernel (const MemraSpan *key G_GNUC_UNUSED, guint index, const MemraSpan *value, gpointer data, GError **error)
{
  MemraLoading *loading = data;
  char name[32];
  JsonNode *node;

  g_snprintf (name, sizeof name, "kernels[%u]", index);
  node = _memra_json_text_parse (&loading->json, value, name, error);
  return node != NULL
         && _memra_loading_kernel (loading, node,
                                   MEMRA_PATH_ITEM (MEMRA_PATH_KEY (NULL, key_names[KEY_KERNELS]), index), error);
}

/* Puts the nodes of all lists into one, where each number from 0 must turn up once. */
static gboolean
merge_nodes (MemraLoading *loading, GError **error)
{
  GArray *nodes = loading->census->nodes;
  guint32 n = loading->placed->len;
  g_autofree const MemraPlaced **at = g_new0 (const MemraPlaced *, n);

  for (guint32 i = 0; i < n; i++)
    {
      const MemraPlaced *placed = &g_array_index (loading->placed, MemraPlaced, i);
      const MemraPath *path = MEMRA_PATH_ITEM (MEMRA_PATH_KEY (NULL, placed->list), placed->index);

      if (placed->number >= n)
        return _memra_json_refuse (error, MEMRA_PATH_KEY (path, "node"), "is %u, but the lists tell of %u nodes",
                                   placed->number, n);
      if (at[placed->number] != NULL)
        return _memra_json_refuse (error, MEMRA_PATH_KEY (path, "node"), "is %u, as is %s[%u].node", placed->number,
                                   at[placed->number]->list, at[placed->number]->index);
      at[placed->number] = placed;
    }
  for (guint32 i = 0; i < n; i++)
    {
      const MemraNode *before = i > 0 ? &at[i - 1]->node : NULL;
      gboolean may_enter = before != NULL && (before->type == MCU_NODE_GRAPH || before->type == MCU_NODE_CONDITIONAL);
      guint32 deepest = before == NULL ? 0 : before->depth + (may_enter ? 1 : 0);

      if (at[i]->node.depth > deepest)
        return _memra_json_refuse (error, MEMRA_PATH_ITEM (MEMRA_PATH_KEY (NULL, at[i]->list), at[i]->index),
                                   "has depth %u, wanted at most %u behind the node before it", at[i]->node.depth,
                                   deepest);
      g_array_append_val (nodes, at[i]->node);
    }
  return TRUE;
}

/* What stands inside a child graph or conditional node must be as many nodes as it says. */
static gboolean
check_bodies (MemraLoading *loading, GError **error)
{
  MemraCensus *census = loading->census;

  for (guint i = 0; i < census->details->len; i++)
    {
      const MemraDetail *detail = &g_array_index (census->details, MemraDetail, i);
      guint32 depth = _memra_census_node (census, detail->node)->depth, behind = detail->node + 1;
      guint64 inside = 0;

      for (guint32 k = 0; k < detail->n_bodies; k++)
        inside += detail->bodies[k];
      while (behind < census->nodes->len && _memra_census_node (census, behind)->depth > depth)
        behind++;
      if (inside != behind - detail->node - 1)
        return _memra_json_refuse (error, NULL, "has %u nodes inside node %u, which tells of %" G_GUINT64_FORMAT,
                                   behind - detail->node - 1, detail->node, inside);
    }
  return TRUE;
}

static gboolean
read_edge (const MemraSpan *key G_GNUC_UNUSED, guint index, const MemraSpan *value, gpointer data, GError **error)
{
  MemraLoading *loading = data;
  GArray *edges = loading->census->edges;
  const MemraPath *path = MEMRA_PATH_ITEM (MEMRA_PATH_KEY (MEMRA_PATH_KEY (NULL, "edges"), "list"), index);
  const MemraEdge *before = edges->len > 0 ? &g_array_index (edges, MemraEdge, edges->len - 1) : NULL;
  MemraEdge edge = { 0 };
  guint32 n_nodes = loading->census->nodes->len, type = MCU_EDGE_DEFAULT;
  JsonArray *array;
  JsonNode *node;
  char name[32];
  guint n;

  g_snprintf (name, sizeof name, "edges.list[%u]", index);
  node = _memra_json_text_parse (&loading->json, value, name, error);
  if (node == NULL || !_memra_json_array (node, path, &array, error))
    return FALSE;
  n = json_array_get_length (array);
  if (n < 2 || n > 3)
    return _memra_json_refuse (error, path, "has %u items, wanted 2 or 3", n);
  if (!_memra_json_number32 (json_array_get_element (array, 0), MEMRA_PATH_ITEM (path, 0), G_MAXUINT32, &edge.from,
                             error)
      || !_memra_json_number32 (json_array_get_element (array, 1), MEMRA_PATH_ITEM (path, 1), G_MAXUINT32, &edge.to,
                                error)
      || (n == 3
          && !_memra_json_number32 (json_array_get_element (array, 2), MEMRA_PATH_ITEM (path, 2), G_MAXUINT8, &type,
                                    error)))
    return FALSE;
  if (edge.from >= edge.to || edge.to >= n_nodes)
    return _memra_json_refuse (error, path, "leads from node %u to node %u of %u, wanted it to lead onward", edge.from,
                               edge.to, n_nodes);
  if (before != NULL && (before->to > edge.to || (before->to == edge.to && before->from >= edge.from)))
    return _memra_json_refuse (error, path, "stands behind the one before it, wanted edges in order");
  edge.type = (guint8) type;
  g_array_append_val (edges, edge);
  return TRUE;
}

typedef struct
{
  MemraSpan list, normal, programmatic;
} EdgeSpans;

static gboolean
keep_edge_span (const MemraSpan *key, guint index G_GNUC_UNUSED, const MemraSpan *value, gpointer data, GError **error)
{
  EdgeSpans *spans = data;
  MemraSpan *span = _memra_span_equals (key, "list")           ? &spans->list
                    : _memra_span_equals (key, "normal")       ? &spans->normal
                    : _memra_span_equals (key, "programmatic") ? &spans->programmatic
                                                               : NULL;

  if (span == NULL)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, "edges"), "has a key \"%.*s\", which is unknown here",
                               (int) MIN (key->length, 80), key->start);
  if (span->start != NULL)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, "edges"), "has the key \"%.*s\" twice", (int) key->length,
                               key->start);
  *span = *value;
  return TRUE;
}

static gboolean
check_edge_count (MemraLoading *loading, const MemraSpan *span, const char *key, guint n, GError **error)
{
  const MemraPath *edges = MEMRA_PATH_KEY (NULL, "edges");
  JsonNode *node;
  guint32 told;

  if (span->start == NULL)
    return _memra_json_refuse (error, edges, "has no \"%s\"", key);
  node = _memra_json_text_parse (&loading->json, span, "edges", error);
  if (node == NULL || !_memra_json_number32 (node, MEMRA_PATH_KEY (edges, key), G_MAXUINT32, &told, error))
    return FALSE;
  return told == n || _memra_json_refuse (error, MEMRA_PATH_KEY (edges, key), "is %u, but the list has %u", told, n);
}

/* Edges, then the counts of nodes and edges, which must be those of the lists. */
static gboolean
read_edges (MemraLoading *loading, const MemraSpan *span, GError **error)
{
  EdgeSpans spans = { 0 };

  if (!_memra_json_text_each_member (&loading->json, span, "edges", keep_edge_span, &spans, error))
    return FALSE;
  if (spans.list.start == NULL)
    return _memra_json_refuse (error, MEMRA_PATH_KEY (NULL, "edges"), "has no \"list\"");
  if (!_memra_json_text_each_item (&loading->json, &spans.list, "edges.list", read_edge, loading, error))
    return FALSE;
  _memra_census_count (loading->census);
  return check_edge_count (loading, &spans.normal, "normal", loading->census->n_normal_edges, error)
         && check_edge_count (loading, &spans.programmatic, "programmatic", loading->census->n_programmatic_edges,
                              error);
}

static gboolean
check_counts (MemraLoading *loading, const Top *top, GError **error)
{
  const MemraPath *path = MEMRA_PATH_KEY (NULL, key_names[KEY_NODES]);
  JsonNode *node = parse_top (loading, top, KEY_NODES, error), *value;
  JsonObject *object;
  JsonObjectIter iter;
  const char *type;
  guint32 told;
  guint32 known;

  if (node == NULL)
    return FALSE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return _memra_json_refuse (error, path, "is not an object");
  object = json_node_get_object (node);
  json_object_iter_init (&iter, object);
  while (json_object_iter_next (&iter, &type, &value))
    {
      const MemraPath *at = MEMRA_PATH_KEY (path, type);

      if (!_memra_census_type_from_name (type, &known))
        return _memra_json_refuse (error, path, "has a key \"%s\", which is no type of node", type);
      if (!_memra_json_number32 (value, at, G_MAXUINT32, &told, error))
        return FALSE;
      if (told == 0 || told != memra_census_get_count (loading->census, type))
        return _memra_json_refuse (error, at, "is %u, but the lists tell of %u", told,
                                   memra_census_get_count (loading->census, type));
    }
  return json_object_get_size (object) == g_hash_table_size (loading->census->counts)
         || _memra_json_refuse (error, path, "has %u types, but the lists tell of %u", json_object_get_size (object),
                                g_hash_table_size (loading->census->counts));
}

static gboolean
read_list (MemraLoading *loading, const Top *top, guint key, MemraSpanFunc func, GError **error)
{
  return _memra_json_text_each_item (&loading->json, &top->spans[key], key_names[key], func, loading, error);
}

static gboolean
read_census (MemraLoading *loading, GError **error)
{
  MemraCensus *census = loading->census;
  Top top = { 0 };
  MemraSpan root;
  JsonNode *layer;
  guint32 number;

  if (!_memra_json_text_get_root (&loading->json, &root, error)
      || !_memra_json_text_each_member (&loading->json, &root, "The census", keep_span, &top, error)
      || !check_format (loading, &top, error))
    return FALSE;
  if (top.unknown.start != NULL)
    return _memra_json_refuse (error, NULL, "has a key \"%.*s\", which is unknown here",
                               (int) MIN (top.unknown.length, 80), top.unknown.start);
  for (guint i = 0; i < N_KEYS; i++)
    if (top.spans[i].start == NULL)
      return _memra_json_refuse (error, NULL, "has no \"%s\"", key_names[i]);

  layer = parse_top (loading, &top, KEY_LAYER, error);
  if (layer == NULL || !_memra_json_number32 (layer, MEMRA_PATH_KEY (NULL, "layer"), G_MAXUINT32, &number, error))
    return FALSE;
  census->layer = number;
  if (!read_list (loading, &top, KEY_KERNELS, read_kernel, error)
      || !read_list (loading, &top, KEY_COPIES, _memra_loading_read_copy, error)
      || !read_list (loading, &top, KEY_OTHERS, _memra_loading_read_other, error) || !merge_nodes (loading, error)
      || !check_bodies (loading, error) || !read_edges (loading, &top.spans[KEY_EDGES], error)
      || !check_counts (loading, &top, error)
      || !read_list (loading, &top, KEY_HAZARDS, _memra_loading_read_hazard, error))
    return FALSE;

  census->n_kernels = loading->kernels->len;
  census->kernels = (MemraKernelNode *) (gpointer) g_array_free (g_steal_pointer (&loading->kernels), FALSE);
  _memra_census_list_names (census);
  return TRUE;
}

/**
 * memra_census_from_json:
 * @text: a census as memra_census_to_json() writes it
 * @length: number of bytes in @text, or -1 if it ends in a nul byte
 * @error: return location for an error
 *
 * Reads a census from text. The text need not be canonical, but all of it has to be right: an unknown or missing key, a
 * value of the wrong type or a count that does not fit is an error that says where.
 *
 * Errors: %MEMRA_CENSUS_ERROR_PARSE for text that is not JSON, with line and position; %MEMRA_CENSUS_ERROR_FORMAT for
 * JSON that is not a census; %MEMRA_CENSUS_ERROR_VERSION for a census of a later format. Any thread; makes no driver
 * call.
 *
 * Returns: (transfer full): the census
 *
 * Since: 0.1
 */
MemraCensus *
memra_census_from_json (const char *text, gssize length, GError **error)
{
  gsize size;
  MemraLoading loading = { 0 };
  gboolean success;

  g_return_val_if_fail (text != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  size = length < 0 ? strlen (text) : (gsize) length;
  if (size > MAX_TEXT)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT,
                   "The text has %" G_GSIZE_FORMAT " MiB; a census has at most %" G_GSIZE_FORMAT, size >> 20,
                   MAX_TEXT >> 20);
      return NULL;
    }
  loading.census = _memra_census_new (0);
  loading.placed = g_array_new (FALSE, FALSE, sizeof (MemraPlaced));
  loading.kernels = g_array_new (FALSE, FALSE, sizeof (MemraKernelNode));
  loading.functions = g_hash_table_new (NULL, NULL);
  loading.parameters = g_array_new (FALSE, FALSE, sizeof (MemraParameter));
  loading.pointers = g_array_new (FALSE, FALSE, sizeof (MemraPointer));
  loading.bytes = g_byte_array_new ();
  success = _memra_json_text_init (&loading.json, text, size, error) && read_census (&loading, error);

  _memra_json_text_clear (&loading.json);
  g_array_unref (loading.placed);
  g_clear_pointer (&loading.kernels, g_array_unref);
  g_hash_table_unref (loading.functions);
  g_array_unref (loading.parameters);
  g_array_unref (loading.pointers);
  g_byte_array_unref (loading.bytes);
  if (!success)
    g_clear_pointer (&loading.census, memra_census_unref);
  return loading.census;
}
