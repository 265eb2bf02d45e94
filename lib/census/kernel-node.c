/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Getters of a kernel node. */
#include "config.h"

#include "census-private.h"

void
_memra_kernel_node_argument_range (const MemraKernelNode *node, guint argument, guint32 *offset, guint32 *size)
{
  const MemraFunction *function = node->function;

  *offset = function->layout_known ? function->parameters[argument].offset : 0;
  *size = function->layout_known ? function->parameters[argument].size : node->n_bytes;
}

guint
_memra_kernel_node_argument_pointers (const MemraKernelNode *node, guint argument, const MemraPointer **first)
{
  guint32 offset, size;
  guint begin = 0, end;

  _memra_kernel_node_argument_range (node, argument, &offset, &size);
  while (begin < node->n_pointers && node->pointers[begin].at < offset)
    begin++;
  for (end = begin; end < node->n_pointers && node->pointers[end].at < offset + size; end++)
    ;
  *first = end > begin ? node->pointers + begin : NULL;
  return end - begin;
}

/**
 * memra_kernel_node_get_name:
 * @node: a kernel node
 *
 * Gets the kernel's name as the driver has it, mangled where the source was C++. A kernel whose name no driver call
 * tells is "kernel@0" for the first such function of the graph, and so on, and there is a hazard "unnamed-kernel".
 *
 * Returns: (transfer none): the name, owned by the census
 *
 * Since: 0.1
 */
const char *
memra_kernel_node_get_name (const MemraKernelNode *node)
{
  g_return_val_if_fail (node != NULL, NULL);

  return node->function->name;
}

/**
 * memra_kernel_node_get_demangled_name:
 * @node: a kernel node
 *
 * Gets the kernel's name as a C++ programmer writes it.
 *
 * Returns: (transfer none): the name, owned by the census; the raw name if it is not mangled or cannot be demangled
 *
 * Since: 0.1
 */
const char *
memra_kernel_node_get_demangled_name (const MemraKernelNode *node)
{
  g_return_val_if_fail (node != NULL, NULL);

  return node->function->demangled;
}

/**
 * memra_kernel_node_get_section:
 * @node: a kernel node
 *
 * Gets the section of the layer that the kernel was issued in, see memra_stream_mark().
 *
 * Returns: (transfer none) (nullable): the section, owned by the census; %NULL before the first mark
 *
 * Since: 0.1
 */
const char *
memra_kernel_node_get_section (const MemraKernelNode *node)
{
  g_return_val_if_fail (node != NULL, NULL);

  return node->section;
}

/**
 * memra_kernel_node_get_depth:
 * @node: a kernel node
 *
 * Gets how deep the node is nested: 0 for a node of the graph itself, 1 inside a child graph or a conditional node.
 *
 * Returns: the depth
 *
 * Since: 0.1
 */
guint
memra_kernel_node_get_depth (const MemraKernelNode *node)
{
  g_return_val_if_fail (node != NULL, 0);

  return node->depth;
}

/**
 * memra_kernel_node_get_geometry:
 * @node: a kernel node
 * @grid: (out) (optional): return location for the grid, in blocks
 * @block: (out) (optional): return location for the block, in threads
 * @shared_bytes: (out) (optional): return location for the dynamic shared memory of a block
 *
 * Gets the shape of the launch.
 *
 * Since: 0.1
 */
void
memra_kernel_node_get_geometry (const MemraKernelNode *node, MemraDim3 *grid, MemraDim3 *block, guint32 *shared_bytes)
{
  g_return_if_fail (node != NULL);

  if (grid != NULL)
    *grid = node->grid;
  if (block != NULL)
    *block = node->block;
  if (shared_bytes != NULL)
    *shared_bytes = node->shared_bytes;
}

/**
 * memra_kernel_node_get_n_arguments:
 * @node: a kernel node
 *
 * Gets the number of arguments. A driver below 12.4 does not tell: then all of them are one argument of kind
 * %MEMRA_ARGUMENT_UNKNOWN.
 *
 * Returns: the number of arguments
 *
 * Since: 0.1
 */
guint
memra_kernel_node_get_n_arguments (const MemraKernelNode *node)
{
  g_return_val_if_fail (node != NULL, 0);

  return node->function->layout_known ? node->function->n_parameters : 1;
}

/**
 * memra_kernel_node_get_argument_kind:
 * @node: a kernel node
 * @index: an argument, counted from 0
 *
 * Gets what an argument is. The driver does not know types: an 8-byte value at an address that is a multiple of 8 is
 * taken for a pointer if it lies in an allocation that the driver knows. %NULL is bytes.
 *
 * Returns: the kind
 *
 * Since: 0.1
 */
MemraArgumentKind
memra_kernel_node_get_argument_kind (const MemraKernelNode *node, guint index)
{
  const MemraPointer *first;

  g_return_val_if_fail (node != NULL, MEMRA_ARGUMENT_UNKNOWN);
  g_return_val_if_fail (index < memra_kernel_node_get_n_arguments (node), MEMRA_ARGUMENT_UNKNOWN);

  if (!node->function->layout_known)
    return MEMRA_ARGUMENT_UNKNOWN;
  if (_memra_kernel_node_argument_pointers (node, index, &first) == 0)
    return MEMRA_ARGUMENT_BYTES;
  return node->function->parameters[index].size == sizeof (guint64) ? MEMRA_ARGUMENT_POINTER : MEMRA_ARGUMENT_MIXED;
}

/**
 * memra_kernel_node_get_argument_bytes:
 * @node: a kernel node
 * @index: an argument, counted from 0
 * @size: (out): return location for the number of bytes
 *
 * Gets a copy of an argument's bytes as they were captured; changing the graph's argument is not possible through it.
 * In a census that was read from a file the bytes of pointers are zero.
 *
 * Returns: (transfer none) (nullable): the bytes, owned by the census; %NULL with a @size of 0 if the driver does not
 * tell
 *
 * Since: 0.1
 */
gconstpointer
memra_kernel_node_get_argument_bytes (const MemraKernelNode *node, guint index, gsize *size)
{
  guint32 offset, n;

  g_return_val_if_fail (node != NULL, NULL);
  g_return_val_if_fail (size != NULL, NULL);
  g_return_val_if_fail (index < memra_kernel_node_get_n_arguments (node), NULL);

  _memra_kernel_node_argument_range (node, index, &offset, &n);
  *size = n;
  return n > 0 ? node->bytes + offset : NULL;
}

/**
 * memra_kernel_node_get_argument_pointer:
 * @node: a kernel node
 * @index: an argument, counted from 0
 * @buffer: (out) (optional): return location for the allocation, numbered in order of first appearance in the graph
 * @offset: (out) (optional): return location for the offset in it
 *
 * Gets where an argument of kind %MEMRA_ARGUMENT_POINTER points.
 *
 * Returns: %FALSE if the argument is of another kind; @buffer and @offset are then left as they are
 *
 * Since: 0.1
 */
gboolean
memra_kernel_node_get_argument_pointer (const MemraKernelNode *node, guint index, guint *buffer, guint64 *offset)
{
  const MemraPointer *first;

  g_return_val_if_fail (node != NULL, FALSE);
  g_return_val_if_fail (index < memra_kernel_node_get_n_arguments (node), FALSE);

  if (memra_kernel_node_get_argument_kind (node, index) != MEMRA_ARGUMENT_POINTER)
    return FALSE;
  _memra_kernel_node_argument_pointers (node, index, &first);
  if (buffer != NULL)
    *buffer = first->buffer;
  if (offset != NULL)
    *offset = first->offset;
  return TRUE;
}

/**
 * memra_kernel_node_get_n_argument_pointers:
 * @node: a kernel node
 * @index: an argument, counted from 0
 *
 * Gets the number of pointers inside an argument: 1 for %MEMRA_ARGUMENT_POINTER, at least 1 for %MEMRA_ARGUMENT_MIXED.
 *
 * Returns: the number of pointers
 *
 * Since: 0.1
 */
guint
memra_kernel_node_get_n_argument_pointers (const MemraKernelNode *node, guint index)
{
  const MemraPointer *first;

  g_return_val_if_fail (node != NULL, 0);
  g_return_val_if_fail (index < memra_kernel_node_get_n_arguments (node), 0);

  return _memra_kernel_node_argument_pointers (node, index, &first);
}

/**
 * memra_kernel_node_get_nth_argument_pointer:
 * @node: a kernel node
 * @index: an argument, counted from 0
 * @nth: a pointer inside it, counted from 0 in order of address
 * @at: (out) (optional): return location for the byte of the argument where the pointer is
 * @buffer: (out) (optional): return location for the allocation, numbered in order of first appearance in the graph
 * @offset: (out) (optional): return location for the offset in it
 *
 * Gets where a pointer inside an argument points: one inside a by-value struct, for instance.
 *
 * Since: 0.1
 */
void
memra_kernel_node_get_nth_argument_pointer (const MemraKernelNode *node, guint index, guint nth, gsize *at,
                                            guint *buffer, guint64 *offset)
{
  const MemraPointer *first;
  guint32 begin, size;

  g_return_if_fail (node != NULL);
  g_return_if_fail (index < memra_kernel_node_get_n_arguments (node));
  g_return_if_fail (nth < memra_kernel_node_get_n_argument_pointers (node, index));

  _memra_kernel_node_argument_range (node, index, &begin, &size);
  _memra_kernel_node_argument_pointers (node, index, &first);
  if (at != NULL)
    *at = first[nth].at - begin;
  if (buffer != NULL)
    *buffer = first[nth].buffer;
  if (offset != NULL)
    *offset = first[nth].offset;
}
