/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launchers of the kernels for experts. Their rules are in dsv4-private.h. */
#include "config.h"

#include "dsv4-private.h"

/**
 * memra_dsv4_route:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @experts: the chosen experts, @n_active guint32
 * @weights: their weights, @n_active elements
 * @logits: a logit for each expert, @n_experts elements
 * @n_experts: experts, at least 1
 * @n_active: experts to choose, at least 1 and at most @n_experts
 * @error: return location for an error
 *
 * Enqueues the choice of experts: the @n_active largest logits, largest first and the lower index first among equals,
 * and the softmax over the chosen. A NaN is chosen last.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_route (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *experts, MemraBuffer *weights, MemraBuffer *logits,
                  guint32 n_experts, guint32 n_active, GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "experts", experts, n_active, MEMRA_DSV4_WRITES },
    { "weights", weights, n_active, MEMRA_DSV4_WRITES },
    { "logits", logits, n_experts, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = { { "n_experts", &n_experts }, { "n_active", &n_active } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_ROUTE,
    .grid = { 1, 1, 1 },
    .threads = MEMRA_DSV4_ROW_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (experts != NULL && weights != NULL && logits != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (n_active > n_experts)
    return _memra_dsv4_refuse (MEMRA_DSV4_ROUTE, error, "‘n_active’ is %u, more than ‘n_experts’, %u", n_active,
                               n_experts);
  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_expert_matvec:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @dst: the result, @n_active times @rows elements
 * @matrices: a matrix of @rows times @columns elements for each expert there is
 * @src: the vector, @columns elements; with @per_expert_src one for each active expert
 * @experts: the active experts, @n_active guint32
 * @n_active: active experts, at least 1
 * @rows: rows of a matrix, at least 1
 * @columns: columns of a matrix, at least 1
 * @per_expert_src: whether each active expert has a vector of its own
 * @error: return location for an error
 *
 * Enqueues a matrix-vector product for each active expert, `dst[k][r] = matrices[experts[k]][r] . src`, or `src[k]` with
 * @per_expert_src. An expert past the end of @matrices gives NaN.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_expert_matvec (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *dst, MemraBuffer *matrices,
                          MemraBuffer *src, MemraBuffer *experts, guint32 n_active, guint32 rows, guint32 columns,
                          gboolean per_expert_src, GError **error)
{
  const guint64 matrix = _memra_dsv4_multiply (rows, columns, 1);
  const guint32 per_expert = per_expert_src ? 1 : 0;
  guint32 n_experts = 0;
  const MemraDsv4Operand operands[] = {
    { "dst", dst, _memra_dsv4_multiply (n_active, rows, 1), MEMRA_DSV4_WRITES },
    { "matrices", matrices, matrix, MEMRA_DSV4_READS },
    { "src", src, _memra_dsv4_multiply (columns, per_expert_src ? n_active : 1, 1), MEMRA_DSV4_READS },
    { "experts", experts, n_active, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = {
    { NULL, &n_experts }, { "n_active", &n_active }, { "rows", &rows }, { "columns", &columns }, { NULL, &per_expert }
  };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_EXPERT_MATVEC,
    .grid = { _memra_dsv4_row_blocks (rows), _memra_dsv4_row_blocks (n_active), 1 },
    .threads = MEMRA_DSV4_ROW_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (dst != NULL && matrices != NULL && src != NULL && experts != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (matrix != 0)
    n_experts = (guint32) MIN (memra_buffer_get_size (matrices) / sizeof (float) / matrix, G_MAXUINT32);
  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_silu_gate:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @gate: the gate, changed in place
 * @up: what it gates; it may be @gate
 * @n: elements, at least 1
 * @error: return location for an error
 *
 * Enqueues `gate[i] = gate[i] / (1 + exp (-gate[i])) * up[i]` for i < n.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_silu_gate (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *gate, MemraBuffer *up, guint32 n,
                      GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "gate", gate, n, MEMRA_DSV4_WRITES | MEMRA_DSV4_IN_PLACE },
    { "up", up, n, MEMRA_DSV4_IN_PLACE },
  };
  const MemraDsv4Scalar scalars[] = { { "n", &n } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_SILU_GATE,
    .grid = { _memra_dsv4_element_blocks (n), 1, 1 },
    .threads = MEMRA_DSV4_ELEMENT_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (gate != NULL && up != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_expert_sum:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @dst: the sum, @n elements
 * @src: the summands, @n_active times @n elements
 * @weights: their weights, @n_active elements
 * @n: elements, at least 1
 * @n_active: summands, at least 1
 * @error: return location for an error
 *
 * Enqueues `dst[i] = sum over k of weights[k] * src[k][i]` for i < n and k < n_active, in the order of k.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_expert_sum (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *dst, MemraBuffer *src, MemraBuffer *weights,
                       guint32 n, guint32 n_active, GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "dst", dst, n, MEMRA_DSV4_WRITES },
    { "src", src, _memra_dsv4_multiply (n_active, n, 1), MEMRA_DSV4_READS },
    { "weights", weights, n_active, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = { { "n", &n }, { "n_active", &n_active } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_EXPERT_SUM,
    .grid = { _memra_dsv4_element_blocks (n), 1, 1 },
    .threads = MEMRA_DSV4_ELEMENT_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (dst != NULL && src != NULL && weights != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}
