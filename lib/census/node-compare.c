/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "census/diff-private.h"

#include <string.h>

void
_memra_pairing_init (MemraPairing *pairing)
{
  pairing->forward = g_hash_table_new (NULL, NULL);
  pairing->backward = g_hash_table_new (NULL, NULL);
}

void
_memra_pairing_clear (MemraPairing *pairing)
{
  g_clear_pointer (&pairing->forward, g_hash_table_unref);
  g_clear_pointer (&pairing->backward, g_hash_table_unref);
}

gboolean
_memra_pairing_match (MemraPairing *pairing, guint32 a, guint32 b)
{
  gpointer key_a = GSIZE_TO_POINTER ((gsize) a + 1), key_b = GSIZE_TO_POINTER ((gsize) b + 1);
  gpointer partner_of_a, partner_of_b;

  if (pairing == NULL || a == MEMRA_NO_BUFFER || b == MEMRA_NO_BUFFER)
    return a == b;
  partner_of_a = g_hash_table_lookup (pairing->forward, key_a);
  partner_of_b = g_hash_table_lookup (pairing->backward, key_b);
  if (partner_of_a == NULL && partner_of_b == NULL)
    {
      g_hash_table_insert (pairing->forward, key_a, key_b);
      g_hash_table_insert (pairing->backward, key_b, key_a);
      return TRUE;
    }
  return partner_of_a == key_b;
}

static void
append_hex (GString *text, const guint8 *bytes, gsize n)
{
  g_string_append (text, "0x");
  for (gsize i = 0; i < n && i < 32; i++)
    g_string_append_printf (text, "%02x", bytes[i]);
  if (n > 32)
    g_string_append_printf (text, "... (%" G_GSIZE_FORMAT " bytes)", n);
}

/* A scalar as the number it may be; the bytes are little-endian, as they are in the parameter buffer. */
static void
append_scalar (GString *text, const guint8 *bytes, gsize n)
{
  guint64 value = 0;
  float real;

  if (n == 0 || n > 8 || (n & (n - 1)) != 0)
    {
      append_hex (text, bytes, n);
      return;
    }
  memcpy (&value, bytes, n);
  g_string_append_printf (text, "%" G_GUINT64_FORMAT, value);
  if (n != 4)
    return;
  memcpy (&real, bytes, sizeof real);
  if (value > 0xffff && real == real && ABS (real) > 1e-9f && ABS (real) < 1e9f)
    g_string_append_printf (text, " (as float32 %.9g)", real);
}

char *
_memra_argument_describe (const MemraKernelNode *kernel, guint index)
{
  const MemraPointer *pointers;
  guint n_pointers = _memra_kernel_node_argument_pointers (kernel, index, &pointers);
  GString *text = g_string_new (NULL);
  guint32 offset, size;

  _memra_kernel_node_argument_range (kernel, index, &offset, &size);
  if (kernel->n_bytes == 0)
    g_string_append_c (text, '?');
  else if (n_pointers == 0)
    append_scalar (text, kernel->bytes + offset, size);
  else
    for (guint i = 0; i < n_pointers; i++)
      {
        g_string_append_printf (text, "%sbuffer %u + %" G_GUINT64_FORMAT, i > 0 ? ", " : "", pointers[i].buffer, pointers[i].offset);
        if (size > 8)
          g_string_append_printf (text, " at byte %u", pointers[i].at - offset);
      }
  return g_string_free (text, FALSE);
}

gboolean
_memra_argument_equal (const MemraKernelNode *a, const MemraKernelNode *b, guint index, MemraPairing *pairing)
{
  const MemraPointer *pointers_a, *pointers_b;
  guint n_a = _memra_kernel_node_argument_pointers (a, index, &pointers_a);
  guint n_b = _memra_kernel_node_argument_pointers (b, index, &pointers_b);
  guint32 offset_a, size_a, offset_b, size_b, at = 0;

  _memra_kernel_node_argument_range (a, index, &offset_a, &size_a);
  _memra_kernel_node_argument_range (b, index, &offset_b, &size_b);
  if (size_a != size_b || n_a != n_b || (a->n_bytes == 0) != (b->n_bytes == 0))
    return FALSE;
  if (a->n_bytes == 0)
    return TRUE;

  for (guint i = 0; i <= n_a; i++)
    {
      guint32 end = i < n_a ? pointers_a[i].at - offset_a : size_a;

      if (i < n_a && pointers_b[i].at - offset_b != end)
        return FALSE;
      if (memcmp (a->bytes + offset_a + at, b->bytes + offset_b + at, end - at) != 0)
        return FALSE;
      if (i < n_a
          && (pointers_a[i].offset != pointers_b[i].offset || !_memra_pairing_match (pairing, pointers_a[i].buffer, pointers_b[i].buffer)))
        return FALSE;
      at = end + 8;
    }
  return TRUE;
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

static guint
n_arguments (const MemraKernelNode *kernel)
{
  return kernel->function->layout_known ? kernel->function->n_parameters : kernel->n_bytes > 0;
}

static void
compare_kernels (GString *text, const MemraKernelNode *a, const MemraKernelNode *b, MemraPairing *pairing)
{
  compare_dim (text, "grid", a->grid, b->grid);
  compare_dim (text, "block", a->block, b->block);
  compare_number (text, "shared memory", a->shared_bytes, b->shared_bytes);
  compare_number (text, "number of arguments", n_arguments (a), n_arguments (b));
  for (guint i = 0; n_arguments (a) == n_arguments (b) && i < n_arguments (a); i++)
    {
      g_autofree char *before = NULL;
      g_autofree char *after = NULL;

      if (_memra_argument_equal (a, b, i, pairing))
        continue;
      before = _memra_argument_describe (a, i);
      after = _memra_argument_describe (b, i);
      separate (text);
      g_string_append_printf (text, "argument %u: %s -> %s", i, before, after);
    }
}

static void
compare_places (GString *text, const char *what, const MemraPlace *a, const MemraPlace *b, MemraPairing *pairing)
{
  if (a->kind != b->kind)
    {
      separate (text);
      g_string_append_printf (text, "%s is in another kind of memory", what);
    }
  else if (a->kind == MEMRA_PLACE_BUFFER && (a->offset != b->offset || !_memra_pairing_match (pairing, a->buffer, b->buffer)))
    {
      separate (text);
      g_string_append_printf (text, "%s buffer %u + %" G_GUINT64_FORMAT " -> buffer %u + %" G_GUINT64_FORMAT, what, a->buffer, a->offset,
                              b->buffer, b->offset);
    }
  compare_number (text, "pitch", a->pitch, b->pitch);
}

static void
compare_copies (GString *text, const MemraCopy *a, const MemraCopy *b, MemraPairing *pairing)
{
  compare_number (text, "bytes", a->bytes, b->bytes);
  if (a->bytes == b->bytes && memcmp (a->extent, b->extent, sizeof a->extent) != 0)
    {
      separate (text);
      g_string_append (text, "rows and slices");
    }
  compare_number (text, "value", a->value, b->value);
  compare_number (text, "element size", a->element_size, b->element_size);
  compare_places (text, "source", &a->source, &b->source, pairing);
  compare_places (text, "target", &a->target, &b->target, pairing);
}

void
_memra_node_compare (const MemraCensus *a, guint32 number_a, const MemraCensus *b, guint32 number_b, MemraPairing *pairing, GString *text)
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
    compare_copies (text, &g_array_index (a->copies, MemraCopy, node_a->record), &g_array_index (b->copies, MemraCopy, node_b->record),
                    pairing);
  else
    {
      const MemraDetail *x = &g_array_index (a->details, MemraDetail, node_a->record);
      const MemraDetail *y = &g_array_index (b->details, MemraDetail, node_b->record);

      compare_number (text, "bytes", x->bytes, y->bytes);
      compare_number (text, "bodies", x->n_bodies, y->n_bodies);
    }
}
