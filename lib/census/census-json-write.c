/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The census file, written.
 *
 * Canonical, so that two censuses are the same if their bytes are: keys sorted, numbers in decimal, bytes in lower-case
 * hexadecimal, one kernel, copy, node, edge or hazard per line, so that a line-by-line diff shows what changed. Written
 * by hand rather than through json-glib, whose tree of objects would take thirty times the memory of the text; reading
 * goes through json-glib.
 */
#include "config.h"

#include "census-private.h"

#include <stdlib.h>
#include <string.h>

static void
put_string (GString *text, const char *string)
{
  if (string == NULL)
    {
      g_string_append (text, "null");
      return;
    }
  g_string_append_c (text, '"');
  for (const char *c = string; *c != '\0'; c++)
    if (*c == '"' || *c == '\\')
      {
        g_string_append_c (text, '\\');
        g_string_append_c (text, *c);
      }
    else if ((guchar) *c < 0x20)
      g_string_append_printf (text, "\\u%04x", (guint) *c);
    else
      g_string_append_c (text, *c);
  g_string_append_c (text, '"');
}

static void
put_number (GString *text, guint64 number)
{
  char digits[20];
  guint n = 0;

  do
    digits[n++] = (char) ('0' + number % 10);
  while ((number /= 10) > 0);
  while (n > 0)
    g_string_append_c (text, digits[--n]);
}

/* ,"key":number */
static void
put_member (GString *text, const char *key, guint64 number)
{
  g_string_append (text, key);
  put_number (text, number);
}

static void
put_dim3 (GString *text, const char *key, const MemraDim3 *dim)
{
  g_string_append (text, key);
  put_member (text, "[", dim->x);
  put_member (text, ",", dim->y);
  put_member (text, ",", dim->z);
  g_string_append_c (text, ']');
}

/* Bytes in hexadecimal, those of pointers as zeros. */
static void
put_bytes (GString *text, const guint8 *bytes, guint32 offset, guint32 size, const MemraPointer *pointers,
           guint n_pointers)
{
  static const char digits[] = "0123456789abcdef";
  gsize begin = text->len;

  g_string_set_size (text, text->len + 2 * (gsize) size);
  for (guint32 i = 0; i < size; i++)
    {
      text->str[begin + 2 * i] = digits[bytes[offset + i] >> 4];
      text->str[begin + 2 * i + 1] = digits[bytes[offset + i] & 15];
    }
  for (guint i = 0; i < n_pointers; i++)
    memset (text->str + begin + 2 * (pointers[i].at - offset), '0', 2 * sizeof (guint64));
}

static void
put_pointer (GString *text, const MemraPointer *pointer)
{
  put_member (text, "\"buffer\":", pointer->buffer);
  put_member (text, ",\"offset\":", pointer->offset);
}

static void
put_pointers (GString *text, const MemraPointer *pointers, guint n_pointers, guint32 offset)
{
  g_string_append (text, "\"pointers\":[");
  for (guint i = 0; i < n_pointers; i++)
    {
      put_member (text, i == 0 ? "{\"at\":" : ",{\"at\":", pointers[i].at - offset);
      g_string_append_c (text, ',');
      put_pointer (text, &pointers[i]);
      g_string_append_c (text, '}');
    }
  g_string_append_c (text, ']');
}

static void
put_argument (GString *text, const MemraKernelNode *kernel, guint argument)
{
  const MemraPointer *pointers;
  guint n_pointers = _memra_kernel_node_argument_pointers (kernel, argument, &pointers);
  guint32 offset, size;

  _memra_kernel_node_argument_range (kernel, argument, &offset, &size);
  g_string_append_c (text, '{');
  if (!kernel->function->layout_known)
    {
      if (n_pointers > 0)
        {
          put_pointers (text, pointers, n_pointers, offset);
          g_string_append_c (text, ',');
        }
      g_string_append (text, "\"unknown\":\"");
      put_bytes (text, kernel->bytes, offset, size, pointers, n_pointers);
      g_string_append_c (text, '"');
    }
  else if (n_pointers == 1 && size == sizeof (guint64))
    put_pointer (text, pointers);
  else
    {
      g_string_append (text, "\"hex\":\"");
      put_bytes (text, kernel->bytes, offset, size, pointers, n_pointers);
      g_string_append_c (text, '"');
      if (n_pointers > 0)
        {
          g_string_append_c (text, ',');
          put_pointers (text, pointers, n_pointers, offset);
        }
    }
  g_string_append_c (text, '}');
}

static void
put_kernel (GString *text, const MemraKernelNode *kernel)
{
  guint n_arguments = memra_kernel_node_get_n_arguments (kernel);

  g_string_append (text, "{\"args\":[");
  for (guint i = 0; i < n_arguments; i++)
    {
      if (i > 0)
        g_string_append_c (text, ',');
      put_argument (text, kernel, i);
    }
  put_dim3 (text, "],\"block\":", &kernel->block);
  g_string_append (text, ",\"demangled\":");
  put_string (text, kernel->function->demangled);
  put_member (text, ",\"depth\":", kernel->depth);
  put_dim3 (text, ",\"grid\":", &kernel->grid);
  g_string_append (text, ",\"name\":");
  put_string (text, kernel->function->name);
  put_member (text, ",\"node\":", kernel->node);
  g_string_append (text, ",\"section\":");
  put_string (text, kernel->section);
  put_member (text, ",\"shared\":", kernel->shared_bytes);
  g_string_append_c (text, '}');
}

static void
put_place (GString *text, const char *key, const MemraPlace *place)
{
  static const char *const memories[] = {
    [MEMRA_PLACE_NONE] = "none",   [MEMRA_PLACE_BUFFER] = "buffer",   [MEMRA_PLACE_PAGEABLE] = "pageable",
    [MEMRA_PLACE_ARRAY] = "array", [MEMRA_PLACE_UNKNOWN] = "unknown",
  };

  g_string_append (text, key);
  if (place->kind == MEMRA_PLACE_BUFFER)
    {
      put_member (text, "{\"buffer\":", place->buffer);
      put_member (text, ",\"offset\":", place->offset);
    }
  else
    {
      g_string_append (text, "{\"memory\":");
      put_string (text, memories[place->kind]);
    }
  put_member (text, ",\"pitch\":", place->pitch);
  g_string_append_c (text, '}');
}

static void
put_copy (GString *text, const MemraCensus *census, const MemraCopy *copy)
{
  const MemraNode *node = _memra_census_node (census, copy->node);

  put_member (text, "{\"bytes\":", copy->bytes);
  put_member (text, ",\"depth\":", node->depth);
  g_string_append (text, ",\"direction\":");
  put_string (text, _memra_copy_direction_to_string (copy->direction));
  if (copy->direction == MEMRA_COPY_FILL)
    put_member (text, ",\"element\":", copy->element_size);
  put_member (text, ",\"extent\":[", copy->extent[0]);
  put_member (text, ",", copy->extent[1]);
  put_member (text, ",", copy->extent[2]);
  put_member (text, "],\"node\":", copy->node);
  g_string_append (text, ",\"section\":");
  put_string (text, node->section);
  if (copy->direction != MEMRA_COPY_FILL)
    put_place (text, ",\"source\":", &copy->source);
  put_place (text, ",\"target\":", &copy->target);
  if (copy->direction == MEMRA_COPY_FILL)
    put_member (text, ",\"value\":", copy->value);
  g_string_append_c (text, '}');
}

/* Any node that is neither a kernel nor a copy of which more is known. */
static void
put_other (GString *text, const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);
  g_autofree char *type = _memra_type_dup_name (node->type);
  const MemraDetail *detail = NULL;

  if (node->record != MEMRA_NO_RECORD)
    detail = &g_array_index (census->details, MemraDetail, node->record);
  g_string_append_c (text, '{');
  if (detail != NULL && detail->n_bodies > 0)
    {
      g_string_append (text, "\"bodies\":[");
      for (guint32 i = 0; i < detail->n_bodies; i++)
        put_member (text, i == 0 ? "" : ",", detail->bodies[i]);
      g_string_append (text, "],");
      if (detail->from_dump)
        g_string_append (text, "\"bodies_from\":\"debug-dump\",");
    }
  if (detail != NULL && detail->buffer != MEMRA_NO_BUFFER)
    {
      put_member (text, "\"buffer\":", detail->buffer);
      g_string_append_c (text, ',');
    }
  if (node->type == MCU_NODE_MEM_ALLOC && detail != NULL)
    {
      put_member (text, "\"bytes\":", detail->bytes);
      g_string_append_c (text, ',');
    }
  put_member (text, "\"depth\":", node->depth);
  put_member (text, ",\"node\":", number);
  g_string_append (text, ",\"section\":");
  put_string (text, node->section);
  g_string_append (text, ",\"type\":");
  put_string (text, type);
  g_string_append_c (text, '}');
}

static void
put_hazard (GString *text, const MemraHazard *hazard)
{
  g_string_append (text, "{\"kind\":");
  put_string (text, hazard->kind);
  g_string_append (text, ",\"message\":");
  put_string (text, hazard->message);
  if (hazard->node == MEMRA_NO_NODE)
    g_string_append (text, ",\"node\":null}");
  else
    {
      put_member (text, ",\"node\":", hazard->node);
      g_string_append_c (text, '}');
    }
}

static void
put_edge (GString *text, const MemraEdge *edge)
{
  put_member (text, "[", edge->from);
  put_member (text, ",", edge->to);
  if (edge->type != MCU_EDGE_DEFAULT)
    put_member (text, ",", edge->type);
  g_string_append_c (text, ']');
}

static int
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
put_counts (GString *text, const MemraCensus *census)
{
  guint n;
  g_autofree const char **types = (const char **) g_hash_table_get_keys_as_array (census->counts, &n);

  qsort (types, n, sizeof *types, compare_strings);
  g_string_append_c (text, '{');
  for (guint i = 0; i < n; i++)
    {
      if (i > 0)
        g_string_append_c (text, ',');
      put_string (text, types[i]);
      put_member (text, ":", memra_census_get_count (census, types[i]));
    }
  g_string_append_c (text, '}');
}

/* A list with one item per line. */
static void
begin_item (GString *text, gboolean *any)
{
  g_string_append (text, *any ? ",\n" : "\n");
  *any = TRUE;
}

static void
end_list (GString *text, gboolean any)
{
  g_string_append (text, any ? "\n]" : "]");
}

static void
put_others (GString *text, const MemraCensus *census)
{
  gboolean any = FALSE;

  for (guint32 i = 0; i < census->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (census, i);
      gboolean is_work
          = node->type == MCU_NODE_KERNEL || node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET;

      if (is_work && node->record != MEMRA_NO_RECORD)
        continue;
      begin_item (text, &any);
      put_other (text, census, i);
    }
  end_list (text, any);
}

/**
 * memra_census_to_json:
 * @census: a census
 *
 * Writes a census as canonical JSON: keys sorted, no times, handles or addresses. Two censuses are equal exactly if
 * these texts are; the same layer gives the same text on every driver. Any thread.
 *
 * Returns: (transfer full): the text, UTF-8
 *
 * Since: 0.1
 */
char *
memra_census_to_json (const MemraCensus *census)
{
  GString *text;
  gboolean any;

  g_return_val_if_fail (census != NULL, NULL);

  text = g_string_sized_new (1024 + 256 * (gsize) census->nodes->len);
  g_string_append (text, "{\"copies\":[");
  any = FALSE;
  for (guint i = 0; i < census->copies->len; i++)
    {
      begin_item (text, &any);
      put_copy (text, census, &g_array_index (census->copies, MemraCopy, i));
    }
  end_list (text, any);

  g_string_append (text, ",\n\"edges\":{\"list\":[");
  any = FALSE;
  for (guint i = 0; i < census->edges->len; i++)
    {
      begin_item (text, &any);
      put_edge (text, &g_array_index (census->edges, MemraEdge, i));
    }
  end_list (text, any);
  put_member (text, ",\"normal\":", census->n_normal_edges);
  put_member (text, ",\"programmatic\":", census->n_programmatic_edges);

  g_string_append (text, "},\n\"format\":\"" MEMRA_CENSUS_FORMAT "\",\n\"hazards\":[");
  any = FALSE;
  for (guint i = 0; i < census->hazards->len; i++)
    {
      begin_item (text, &any);
      put_hazard (text, &g_array_index (census->hazards, MemraHazard, i));
    }
  end_list (text, any);

  g_string_append (text, ",\n\"kernels\":[");
  any = FALSE;
  for (guint i = 0; i < census->n_kernels; i++)
    {
      begin_item (text, &any);
      put_kernel (text, &census->kernels[i]);
    }
  end_list (text, any);

  put_member (text, ",\n\"layer\":", census->layer);
  g_string_append (text, ",\n\"nodes\":");
  put_counts (text, census);
  g_string_append (text, ",\n\"others\":[");
  put_others (text, census);
  put_member (text, ",\n\"version\":", MEMRA_CENSUS_VERSION);
  g_string_append (text, "}\n");
  return g_string_free (text, FALSE);
}
