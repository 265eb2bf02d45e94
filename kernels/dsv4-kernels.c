/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Launchers of the kernels that every decoder layer needs. Their rules are in dsv4-private.h. */
#include "config.h"

#include "dsv4-private.h"

/**
 * memra_dsv4_add_inplace:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @dst: the buffer to add to
 * @src: the buffer to add; it may be @dst
 * @n: elements, at least 1
 * @error: return location for an error
 *
 * Enqueues `dst[i] += src[i]` for i < n.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_add_inplace (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *dst, MemraBuffer *src, guint64 n,
                        GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "dst", dst, n, MEMRA_DSV4_WRITES | MEMRA_DSV4_IN_PLACE },
    { "src", src, n, MEMRA_DSV4_IN_PLACE },
  };
  const MemraDsv4Scalar scalars[] = { { NULL, &n } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_ADD_INPLACE,
    .grid = { _memra_dsv4_element_blocks (n / 4 + (n % 4 != 0)), 1, 1 },
    .threads = MEMRA_DSV4_ELEMENT_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (dst != NULL && src != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (n == 0)
    return _memra_dsv4_refuse (MEMRA_DSV4_ADD_INPLACE, error, "‘n’ is 0");
  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_rmsnorm:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @dst: the result; it may be @src or @weight
 * @src: the vector
 * @weight: a factor for each element
 * @n: elements, at least 1
 * @epsilon: what to add to the mean of the squares, at least 0
 * @error: return location for an error
 *
 * Enqueues `dst[i] = src[i] * weight[i] / sqrt (mean (src^2) + epsilon)` for i < n.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_rmsnorm (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *dst, MemraBuffer *src, MemraBuffer *weight,
                    guint32 n, float epsilon, GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "dst", dst, n, MEMRA_DSV4_WRITES | MEMRA_DSV4_IN_PLACE },
    { "src", src, n, MEMRA_DSV4_IN_PLACE },
    { "weight", weight, n, MEMRA_DSV4_IN_PLACE },
  };
  const MemraDsv4Scalar scalars[] = { { "n", &n }, { NULL, &epsilon } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_RMSNORM,
    .grid = { 1, 1, 1 },
    .threads = MEMRA_DSV4_ELEMENT_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (dst != NULL && src != NULL && weight != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (!(epsilon >= 0.0f))
    return _memra_dsv4_refuse (MEMRA_DSV4_RMSNORM, error, "‘epsilon’ is %g, not at least 0", (double) epsilon);
  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_matvec:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @dst: the result, @rows elements
 * @matrix: @rows times @columns elements, row by row
 * @src: the vector, @columns elements
 * @rows: rows, at least 1
 * @columns: columns, at least 1
 * @error: return location for an error
 *
 * Enqueues a matrix-vector product, `dst[r] = sum over c of matrix[r * columns + c] * src[c]` for r < rows.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_matvec (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *dst, MemraBuffer *matrix, MemraBuffer *src,
                   guint32 rows, guint32 columns, GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "dst", dst, rows, MEMRA_DSV4_WRITES },
    { "matrix", matrix, _memra_dsv4_multiply (rows, columns, 1), MEMRA_DSV4_READS },
    { "src", src, columns, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = { { "rows", &rows }, { "columns", &columns } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_MATVEC,
    .grid = { _memra_dsv4_row_blocks (rows), 1, 1 },
    .threads = MEMRA_DSV4_ROW_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (dst != NULL && matrix != NULL && src != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_rope:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @x: @n_heads times @head_dim elements, changed in place
 * @position: the position, one guint32
 * @n_heads: heads, at least 1
 * @head_dim: width of a head, even, at least 2
 * @base: base of the angles, such as 10000; above 0
 * @error: return location for an error
 *
 * Enqueues a rotary embedding: each pair `(x[h][i], x[h][i + head_dim / 2])` is rotated by
 * `position * base^(-2i / head_dim)`.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_rope (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *x, MemraBuffer *position, guint32 n_heads,
                 guint32 head_dim, float base, GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "x", x, _memra_dsv4_multiply (n_heads, head_dim, 1), MEMRA_DSV4_WRITES },
    { "position", position, 1, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = { { "n_heads", &n_heads }, { "head_dim", &head_dim }, { NULL, &base } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_ROPE,
    .grid = { _memra_dsv4_element_blocks (_memra_dsv4_multiply (n_heads, head_dim / 2, 1)), 1, 1 },
    .threads = MEMRA_DSV4_ELEMENT_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (x != NULL && position != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (head_dim % 2 != 0)
    return _memra_dsv4_refuse (MEMRA_DSV4_ROPE, error, "‘head_dim’ is %u, which is odd", head_dim);
  if (!(base > 0.0f))
    return _memra_dsv4_refuse (MEMRA_DSV4_ROPE, error, "‘base’ is %g, not above 0", (double) base);
  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_kv_append:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @key_cache: the keys, @max_positions times @width elements
 * @value_cache: the values, likewise
 * @key: the key to append, @width elements
 * @value: the value to append, likewise
 * @position: the position, one guint32
 * @width: elements of a position, heads times width of a head; at least 1
 * @max_positions: capacity of the cache, at least 1
 * @error: return location for an error
 *
 * Enqueues `key_cache[position] = key` and `value_cache[position] = value`. A position past the end of the cache writes
 * nothing.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_kv_append (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *key_cache, MemraBuffer *value_cache,
                      MemraBuffer *key, MemraBuffer *value, MemraBuffer *position, guint32 width, guint32 max_positions,
                      GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "key_cache", key_cache, _memra_dsv4_multiply (width, max_positions, 1), MEMRA_DSV4_WRITES },
    { "value_cache", value_cache, _memra_dsv4_multiply (width, max_positions, 1), MEMRA_DSV4_WRITES },
    { "key", key, width, MEMRA_DSV4_READS },
    { "value", value, width, MEMRA_DSV4_READS },
    { "position", position, 1, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = { { "width", &width }, { "max_positions", &max_positions } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_KV_APPEND,
    .grid = { _memra_dsv4_element_blocks (width), 1, 1 },
    .threads = MEMRA_DSV4_ELEMENT_THREADS,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (key_cache != NULL && value_cache != NULL && key != NULL && value != NULL && position != NULL,
                        FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_attention:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @dst: the result, @n_heads times @head_dim elements; it may be @query
 * @query: the query, likewise
 * @key_cache: the keys, @max_positions times @n_kv_heads times @head_dim elements
 * @value_cache: the values, likewise
 * @position: the position, one guint32
 * @n_heads: query heads, at least 1, a multiple of @n_kv_heads
 * @n_kv_heads: key and value heads, at least 1
 * @head_dim: width of a head, 1 to 4096
 * @max_positions: capacity of the cache, at least 1
 * @error: return location for an error
 *
 * Enqueues attention of one token over the cache, its own position included, with scores scaled by 1 / sqrt (head_dim):
 * `dst[h] = sum over p <= position of softmax (query[h] . key_cache[p][g] / sqrt (head_dim)) * value_cache[p][g]`, where
 * `g = h / (n_heads / n_kv_heads)`. A position past the end of the cache sees all of it.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_attention (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *dst, MemraBuffer *query,
                      MemraBuffer *key_cache, MemraBuffer *value_cache, MemraBuffer *position, guint32 n_heads,
                      guint32 n_kv_heads, guint32 head_dim, guint32 max_positions, GError **error)
{
  const guint64 n_queries = _memra_dsv4_multiply (n_heads, head_dim, 1);
  const guint64 n_cached = _memra_dsv4_multiply (max_positions, n_kv_heads, head_dim);
  const MemraDsv4Operand operands[] = {
    { "dst", dst, n_queries, MEMRA_DSV4_WRITES | MEMRA_DSV4_IN_PLACE },
    { "query", query, n_queries, MEMRA_DSV4_IN_PLACE },
    { "key_cache", key_cache, n_cached, MEMRA_DSV4_READS },
    { "value_cache", value_cache, n_cached, MEMRA_DSV4_READS },
    { "position", position, 1, MEMRA_DSV4_READS },
  };
  const MemraDsv4Scalar scalars[] = { { "n_heads", &n_heads },
                                      { "n_kv_heads", &n_kv_heads },
                                      { "head_dim", &head_dim },
                                      { "max_positions", &max_positions } };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_ATTENTION,
    .grid = { _memra_dsv4_row_blocks (n_heads), 1, 1 },
    .threads = MEMRA_DSV4_ROW_THREADS,
    .shared_bytes = 2 * sizeof (float) * head_dim,
    MEMRA_DSV4_OPERANDS (operands),
    MEMRA_DSV4_SCALARS (scalars),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (dst != NULL && query != NULL && key_cache != NULL && value_cache != NULL && position != NULL,
                        FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  if (n_kv_heads != 0 && n_heads % n_kv_heads != 0)
    return _memra_dsv4_refuse (MEMRA_DSV4_ATTENTION, error, "‘n_heads’ is %u, not a multiple of ‘n_kv_heads’, %u",
                               n_heads, n_kv_heads);
  if (head_dim > MEMRA_DSV4_MAX_HEAD_DIM)
    return _memra_dsv4_refuse (MEMRA_DSV4_ATTENTION, error, "‘head_dim’ is %u, more than %u", head_dim,
                               MEMRA_DSV4_MAX_HEAD_DIM);
  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}

/**
 * memra_dsv4_advance:
 * @dsv4: the kernels
 * @stream: the stream to launch into
 * @position: the position, one guint32
 * @error: return location for an error
 *
 * Enqueues position += 1.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, and those of memra_buffer_acquire_write() and memra_kernel_launch().
 * Legal under capture. Any thread.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_dsv4_advance (MemraDsv4 *dsv4, MemraStream *stream, MemraBuffer *position, GError **error)
{
  const MemraDsv4Operand operands[] = {
    { "position", position, 1, MEMRA_DSV4_WRITES },
  };
  const MemraDsv4Launch launch = {
    .kernel = MEMRA_DSV4_ADVANCE,
    .grid = { 1, 1, 1 },
    .threads = 1,
    MEMRA_DSV4_OPERANDS (operands),
  };

  g_return_val_if_fail (dsv4 != NULL && stream != NULL, FALSE);
  g_return_val_if_fail (position != NULL, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  return _memra_dsv4_launch (dsv4, stream, &launch, error);
}
