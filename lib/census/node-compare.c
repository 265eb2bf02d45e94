/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "census/diff-private.h"

#include <string.h>

/* A struct in which more words than this differ is told as so many, and that there are more. */
#define MOST_PARTS 8

guint
_memra_kernel_n_comparable (const MemraKernelNode *kernel)
{
  return kernel->function->layout_known ? kernel->function->n_parameters : kernel->n_bytes > 0;
}

guint32
_memra_argument_size (const MemraKernelNode *kernel, guint index)
{
  guint32 offset, size;

  _memra_kernel_node_argument_range (kernel, index, &offset, &size);
  return size;
}

gboolean
_memra_argument_equal (const MemraKernelNode *a, const MemraKernelNode *b, guint index, const MemraPairing *pairing)
{
  const MemraPointer *pointers_a, *pointers_b;
  guint n_a = _memra_kernel_node_argument_pointers (a, index, &pointers_a);
  guint n_b = _memra_kernel_node_argument_pointers (b, index, &pointers_b);
  guint32 offset_a, size_a, offset_b, size_b, at = 0;

  _memra_kernel_node_argument_range (a, index, &offset_a, &size_a);
  _memra_kernel_node_argument_range (b, index, &offset_b, &size_b);
  if (size_a != size_b || n_a != n_b)
    return FALSE;

  for (guint i = 0; i <= n_a; i++)
    {
      guint32 end = i < n_a ? pointers_a[i].at - offset_a : size_a;

      if (i < n_a && pointers_b[i].at - offset_b != end)
        return FALSE;
      if (end > at && memcmp (a->bytes + offset_a + at, b->bytes + offset_b + at, end - at) != 0)
        return FALSE;
      if (i < n_a
          && !_memra_pairing_match (pairing, pointers_a[i].buffer, pointers_a[i].offset, pointers_b[i].buffer,
                                    pointers_b[i].offset))
        return FALSE;
      at = end + sizeof (guint64);
    }
  return TRUE;
}

/* A pointer of an argument at exactly this byte, or NULL. */
static const MemraPointer *
pointer_at (const MemraKernelNode *kernel, guint index, guint32 at)
{
  const MemraPointer *pointers;
  guint n = _memra_kernel_node_argument_pointers (kernel, index, &pointers);
  guint32 offset, size;

  _memra_kernel_node_argument_range (kernel, index, &offset, &size);
  for (guint i = 0; i < n; i++)
    if (pointers[i].at - offset == at)
      return &pointers[i];
  return NULL;
}

static gboolean
part_equal (const MemraKernelNode *a, const MemraKernelNode *b, guint index, MemraPart part,
            const MemraPairing *pairing)
{
  const MemraPointer *x = pointer_at (a, index, part.at), *y = pointer_at (b, index, part.at);
  guint32 offset_a, offset_b, size;

  if (x != NULL && y != NULL)
    return _memra_pairing_match (pairing, x->buffer, x->offset, y->buffer, y->offset);
  if (x != NULL || y != NULL)
    return FALSE;
  _memra_kernel_node_argument_range (a, index, &offset_a, &size);
  _memra_kernel_node_argument_range (b, index, &offset_b, &size);
  return memcmp (a->bytes + offset_a + part.at, b->bytes + offset_b + part.at, part.size) == 0;
}

static gboolean
is_number (guint32 size)
{
  return size > 0 && size <= sizeof (guint64) && (size & (size - 1)) == 0;
}

void
_memra_argument_add_differences (const MemraKernelNode *a, const MemraKernelNode *b, guint index,
                                 const MemraPairing *pairing, GArray *parts)
{
  guint32 size = _memra_argument_size (a, index);
  guint k = 0;

  for (guint32 at = 0; at < size;)
    {
      MemraPart part = { at, size };

      if (!is_number (size))
        part.size = pointer_at (a, index, at) != NULL || pointer_at (b, index, at) != NULL
                        ? sizeof (guint64)
                        : MIN (sizeof (guint32), size - at);
      at += part.size;
      if (part_equal (a, b, index, part, pairing))
        continue;
      while (k < parts->len && g_array_index (parts, MemraPart, k).at < part.at)
        k++;
      if (k == parts->len || g_array_index (parts, MemraPart, k).at != part.at)
        g_array_insert_val (parts, k, part);
      else if (g_array_index (parts, MemraPart, k).size < part.size)
        g_array_index (parts, MemraPart, k) = part;
    }
}

/* A number as what it may be; the bytes are little-endian, as they are in the parameter buffer. */
static void
append_number (GString *text, const guint8 *bytes, gsize n)
{
  guint64 value = 0;
  float real;

  memcpy (&value, bytes, n);
  g_string_append_printf (text, "%" G_GUINT64_FORMAT, value);
  if (n != sizeof real)
    return;
  memcpy (&real, bytes, sizeof real);
  if (value > 0xffff && real == real && ABS (real) > 1e-9f && ABS (real) < 1e9f)
    g_string_append_printf (text, " (as float32 %.9g)", real);
}

char *
_memra_argument_describe (const MemraKernelNode *kernel, guint index, MemraPart part, const MemraCensus *census,
                          const MemraPairing *pairing)
{
  const MemraPointer *pointer = pointer_at (kernel, index, part.at);
  GString *text = g_string_new (NULL);
  guint32 offset, size;

  _memra_kernel_node_argument_range (kernel, index, &offset, &size);
  if (pointer != NULL)
    {
      _memra_pairing_describe (pairing, pointer->buffer, pointer->offset, text);
      if (census != NULL && _memra_census_has_addresses (census))
        g_string_append_printf (text, " (0x%" G_GINT64_MODIFIER "x)",
                                g_array_index (census->allocations, MemraAllocation, pointer->buffer).start
                                    + pointer->offset);
    }
  else if (is_number (part.size))
    append_number (text, kernel->bytes + offset + part.at, part.size);
  else
    {
      g_string_append (text, "0x");
      for (guint32 i = 0; i < part.size; i++)
        g_string_append_printf (text, "%02x", kernel->bytes[offset + part.at + i]);
    }
  return g_string_free (text, FALSE);
}

char *
_memra_argument_name (const MemraKernelNode *kernel, guint index, MemraPart part)
{
  if (part.size == _memra_argument_size (kernel, index))
    return g_strdup_printf ("argument %u", index);
  return g_strdup_printf ("argument %u byte %u", index, part.at);
}

static void
separate (GString *text)
{
  if (text->len > 0)
    g_string_append (text, "; ");
}

static void
compare_dim (GString *text, const char *what, MemraDim3 a, MemraDim3 b)
{
  if (a.x == b.x && a.y == b.y && a.z == b.z)
    return;
  separate (text);
  g_string_append_printf (text, "%s %ux%ux%u -> %ux%ux%u", what, a.x, a.y, a.z, b.x, b.y, b.z);
}

static void
compare_number (GString *text, const char *what, guint64 a, guint64 b)
{
  if (a == b)
    return;
  separate (text);
  g_string_append_printf (text, "%s %" G_GUINT64_FORMAT " -> %" G_GUINT64_FORMAT, what, a, b);
}

static void
compare_argument (GString *text, const MemraKernelNode *a, const MemraKernelNode *b, guint index,
                  const MemraPairing *pairing)
{
  g_autoptr (GArray) parts = NULL;
  guint32 size_a = _memra_argument_size (a, index), size_b = _memra_argument_size (b, index);

  if (_memra_argument_equal (a, b, index, pairing))
    return;
  if (size_a != size_b)
    {
      separate (text);
      g_string_append_printf (text, "argument %u: %u bytes -> %u bytes", index, size_a, size_b);
      return;
    }
  parts = g_array_new (FALSE, FALSE, sizeof (MemraPart));
  _memra_argument_add_differences (a, b, index, pairing, parts);
  for (guint i = 0; i < parts->len && i < MOST_PARTS; i++)
    {
      MemraPart part = g_array_index (parts, MemraPart, i);
      g_autofree char *name = _memra_argument_name (a, index, part);
      g_autofree char *before = _memra_argument_describe (a, index, part, NULL, NULL);
      g_autofree char *after = _memra_argument_describe (b, index, part, NULL, pairing);

      separate (text);
      g_string_append_printf (text, "%s: %s -> %s", name, before, after);
    }
  if (parts->len > MOST_PARTS)
    g_string_append_printf (text, "; argument %u: %u more words", index, parts->len - MOST_PARTS);
}

static void
compare_kernels (GString *text, const MemraKernelNode *a, const MemraKernelNode *b, const MemraPairing *pairing)
{
  guint n_a = _memra_kernel_n_comparable (a), n_b = _memra_kernel_n_comparable (b);

  compare_dim (text, "grid", a->grid, b->grid);
  compare_dim (text, "block", a->block, b->block);
  compare_number (text, "shared memory", a->shared_bytes, b->shared_bytes);
  /* An old driver tells no layout: what is known of one side only cannot be compared. */
  if (a->function->layout_known != b->function->layout_known)
    return;
  if (a->function->layout_known)
    compare_number (text, "number of arguments", n_a, n_b);
  for (guint i = 0; n_a == n_b && i < n_a; i++)
    compare_argument (text, a, b, i, pairing);
}

static void
append_place (GString *text, const MemraPlace *place, const MemraPairing *pairing)
{
  static const char *const words[] = {
    [MEMRA_PLACE_NONE] = "nothing",
    [MEMRA_PLACE_PAGEABLE] = "pageable host memory",
    [MEMRA_PLACE_ARRAY] = "a CUDA array",
    [MEMRA_PLACE_UNKNOWN] = "unknown memory",
  };

  if (place->kind == MEMRA_PLACE_BUFFER)
    _memra_pairing_describe (pairing, place->buffer, place->offset, text);
  else
    g_string_append (text, words[place->kind]);
}

static void
compare_places (GString *text, const char *what, const MemraPlace *a, const MemraPlace *b, const MemraPairing *pairing)
{
  if (a->kind != b->kind
      || (a->kind == MEMRA_PLACE_BUFFER && !_memra_pairing_match (pairing, a->buffer, a->offset, b->buffer, b->offset)))
    {
      separate (text);
      g_string_append_printf (text, "%s ", what);
      append_place (text, a, NULL);
      g_string_append (text, " -> ");
      append_place (text, b, pairing);
    }
  if (a->pitch != b->pitch)
    {
      g_autofree char *pitch = g_strdup_printf ("%s pitch", what);

      compare_number (text, pitch, a->pitch, b->pitch);
    }
}

static void
compare_copies (GString *text, const MemraCopy *a, const MemraCopy *b, const MemraPairing *pairing)
{
  compare_number (text, "bytes", a->bytes, b->bytes);
  if (a->bytes == b->bytes && memcmp (a->extent, b->extent, sizeof a->extent) != 0)
    {
      separate (text);
      g_string_append_printf (text,
                              "%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT
                              " bytes, rows and slices -> %" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT
                              "x%" G_GUINT64_FORMAT,
                              a->extent[0], a->extent[1], a->extent[2], b->extent[0], b->extent[1], b->extent[2]);
    }
  compare_number (text, "value", a->value, b->value);
  compare_number (text, "element size", a->element_size, b->element_size);
  compare_places (text, "source", &a->source, &b->source, pairing);
  compare_places (text, "target", &a->target, &b->target, pairing);
}

static void
compare_details (GString *text, const MemraDetail *a, const MemraDetail *b, const MemraPairing *pairing)
{
  compare_number (text, "bytes", a->bytes, b->bytes);
  compare_number (text, "bodies", a->n_bodies, b->n_bodies);
  if (a->buffer == MEMRA_NO_BUFFER || b->buffer == MEMRA_NO_BUFFER
      || _memra_pairing_match (pairing, a->buffer, 0, b->buffer, 0))
    return;
  separate (text);
  _memra_pairing_describe (NULL, a->buffer, 0, text);
  g_string_append (text, " -> ");
  _memra_pairing_describe (pairing, b->buffer, 0, text);
}

void
_memra_node_compare (const MemraCensus *a, guint32 number_a, const MemraCensus *b, guint32 number_b,
                     const MemraPairing *pairing, GString *text)
{
  const MemraNode *node_a = _memra_census_node (a, number_a);
  const MemraNode *node_b = _memra_census_node (b, number_b);

  compare_number (text, "depth", node_a->depth, node_b->depth);
  if (g_strcmp0 (node_a->section, node_b->section) != 0)
    {
      separate (text);
      g_string_append_printf (text, "section %s -> %s", node_a->section != NULL ? node_a->section : "none",
                              node_b->section != NULL ? node_b->section : "none");
    }
  if (node_a->record == MEMRA_NO_RECORD || node_b->record == MEMRA_NO_RECORD)
    return;
  if (node_a->type == MCU_NODE_KERNEL)
    compare_kernels (text, &a->kernels[node_a->record], &b->kernels[node_b->record], pairing);
  else if (node_a->type == MCU_NODE_MEMCPY || node_a->type == MCU_NODE_MEMSET)
    compare_copies (text, &g_array_index (a->copies, MemraCopy, node_a->record),
                    &g_array_index (b->copies, MemraCopy, node_b->record), pairing);
  else
    compare_details (text, &g_array_index (a->details, MemraDetail, node_a->record),
                     &g_array_index (b->details, MemraDetail, node_b->record), pairing);
}

/* Past `word` and what stands behind it of digits, or NULL. */
static const char *
skip_number (const char *text, const char *word, gboolean hexadecimal)
{
  const char *p = text + strlen (word);

  if (!g_str_has_prefix (text, word) || !(hexadecimal ? g_ascii_isxdigit (*p) : g_ascii_isdigit (*p)))
    return NULL;
  while (hexadecimal ? g_ascii_isxdigit (*p) : g_ascii_isdigit (*p))
    p++;
  return p;
}

char *
_memra_dup_pattern (const char *what)
{
  static const char buffer[] = "buffer ", address[] = "(0x";
  GString *pattern = g_string_new (NULL);
  const char *end;

  for (const char *p = what; *p != '\0';)
    if ((end = skip_number (p, buffer, FALSE)) != NULL || (end = skip_number (p, address, TRUE)) != NULL)
      {
        g_string_append_c (pattern, *p);
        p = end;
      }
    else
      g_string_append_c (pattern, *p++);
  return g_string_free (pattern, FALSE);
}
