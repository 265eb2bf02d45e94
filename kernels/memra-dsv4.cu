/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernels of the bundled decoder layer.
 *
 * One source, two targets: nvcc makes the GPU's fatbin of it, and memra-dsv4-host.cc the host driver's module, in which
 * a block runs as one thread. So every kernel is right for any one-dimensional block and grid of at least one; it sums
 * in an order that depends on block and grid alone, so the same launch gives the same bits each time. Parameters are
 * pointers, unsigned int, unsigned long long and float, which lie at the same offsets for both compilers. Buffers are
 * distinct unless a kernel says "in place". The position is read from device memory when the kernel runs.
 */
#ifdef __CUDACC__
#define MEMRA_MAX_THREADS          1024
#define MEMRA_DYNAMIC_SHARED(name) extern __shared__ __align__ (16) float name[]
#endif

#define MEMRA_KERNEL extern "C" __global__ __launch_bounds__ (MEMRA_MAX_THREADS, 1)

/* Threads that share the dot product of one position of the KV cache. */
#define MEMRA_LANES 8u

/* for (i = grid_first (); i < n; i += grid_step ()) is a loop of all threads of the launch together. */
static __device__ size_t
grid_first (void)
{
  return (size_t) blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ size_t
grid_step (void)
{
  return (size_t) gridDim.x * blockDim.x;
}

static __device__ bool
are_aligned (const float *a, const float *b)
{
  return (((size_t) a | (size_t) b) & 15) == 0;
}

/* This thread's part of a . b: vectors of four at first, first + step and so on, then single elements likewise. */
static __device__ float
dot_part (const float *a, const float *b, unsigned int n, unsigned int first, unsigned int step)
{
  float sum = 0.0f;
  size_t single = 0;

  if (are_aligned (a, b))
    {
      const float4 *a4 = (const float4 *) a;
      const float4 *b4 = (const float4 *) b;
      float x = 0.0f, y = 0.0f, z = 0.0f, w = 0.0f;

      for (size_t i = first; i < n / 4; i += step)
        {
          const float4 p = a4[i];
          const float4 q = b4[i];

          x += p.x * q.x;
          y += p.y * q.y;
          z += p.z * q.z;
          w += p.w * q.w;
        }
      sum = (x + y) + (z + w);
      single = n / 4 * 4;
    }
  for (size_t i = single + first; i < n; i += step)
    sum += a[i] * b[i];
  return sum;
}

/* The sum of every thread's value, for all of them. `scratch` has an element per thread. */
static __device__ float
block_sum (float value, float *scratch)
{
  scratch[threadIdx.x] = value;
  __syncthreads ();
  for (unsigned int n = blockDim.x; n > 1;)
    {
      const unsigned int half = (n + 1) / 2;

      if (threadIdx.x < n - half)
        scratch[threadIdx.x] += scratch[threadIdx.x + half];
      __syncthreads ();
      n = half;
    }
  value = scratch[0];
  __syncthreads ();
  return value;
}

/* The largest of every thread's value, for all of them. */
static __device__ unsigned long long
block_max (unsigned long long value, unsigned long long *scratch)
{
  scratch[threadIdx.x] = value;
  __syncthreads ();
  for (unsigned int n = blockDim.x; n > 1;)
    {
      const unsigned int half = (n + 1) / 2;

      if (threadIdx.x < n - half && scratch[threadIdx.x + half] > scratch[threadIdx.x])
        scratch[threadIdx.x] = scratch[threadIdx.x + half];
      __syncthreads ();
      n = half;
    }
  value = scratch[0];
  __syncthreads ();
  return value;
}

/* A key that orders logits: larger logit, larger key; equal logits (0 and -0 too), larger key for the lower index; a
 * NaN below everything. No two indices share a key, and none is 0 or all ones. */
static __device__ unsigned long long
route_key (float logit, unsigned int index)
{
  unsigned int order = 0;

  if (logit == logit)
    {
      const unsigned int bits = __float_as_uint (logit == 0.0f ? 0.0f : logit);

      order = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    }
  return (unsigned long long) order << 32 | (0xffffffffu - index);
}

/* In place: dst may be src. */
MEMRA_KERNEL void
memra_dsv4_add_inplace (float *dst, const float *src, unsigned long long n)
{
  size_t n_vectors = 0;

  if (are_aligned (dst, src))
    {
      float4 *dst4 = (float4 *) dst;
      const float4 *src4 = (const float4 *) src;

      n_vectors = n / 4;
      for (size_t i = grid_first (); i < n_vectors; i += grid_step ())
        {
          float4 sum = dst4[i];
          const float4 addend = src4[i];

          sum.x += addend.x;
          sum.y += addend.y;
          sum.z += addend.z;
          sum.w += addend.w;
          dst4[i] = sum;
        }
    }
  for (size_t i = grid_first (); i < n - 4 * n_vectors; i += grid_step ())
    dst[4 * n_vectors + i] += src[4 * n_vectors + i];
}

/* One block. In place: dst may be src or weight. */
MEMRA_KERNEL void
memra_dsv4_rmsnorm (float *dst, const float *src, const float *weight, unsigned int n, float epsilon)
{
  __shared__ float scratch[MEMRA_MAX_THREADS];
  const float squares = block_sum (dot_part (src, src, n, threadIdx.x, blockDim.x), scratch);
  const float factor = 1.0f / sqrtf (squares / (float) n + epsilon);

  if (blockIdx.x == 0)
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
      dst[i] = src[i] * weight[i] * factor;
}

/* A block for each row. */
MEMRA_KERNEL void
memra_dsv4_matvec (float *dst, const float *matrix, const float *src, unsigned int rows, unsigned int columns)
{
  __shared__ float scratch[MEMRA_MAX_THREADS];

  for (size_t row = blockIdx.x; row < rows; row += gridDim.x)
    {
      const float part = dot_part (matrix + row * columns, src, columns, threadIdx.x, blockDim.x);
      const float sum = block_sum (part, scratch);

      if (threadIdx.x == 0)
        dst[row] = sum;
    }
}

MEMRA_KERNEL void
memra_dsv4_rope (float *x, const unsigned int *position, unsigned int n_heads, unsigned int head_dim, float base)
{
  const unsigned int half = head_dim / 2;
  const float turns = (float) *position;

  for (size_t i = grid_first (); i < (size_t) n_heads * half; i += grid_step ())
    {
      const unsigned int pair = (unsigned int) (i % half);
      const float angle = turns * powf (base, -2.0f * (float) pair / (float) head_dim);
      const float cosine = cosf (angle);
      const float sine = sinf (angle);
      float *head = x + i / half * head_dim;
      const float a = head[pair];
      const float b = head[pair + half];

      head[pair] = a * cosine - b * sine;
      head[pair + half] = a * sine + b * cosine;
    }
}

/* Past the end of the cache nothing is written. */
MEMRA_KERNEL void
memra_dsv4_kv_append (float *key_cache, float *value_cache, const float *key, const float *value,
                      const unsigned int *position, unsigned int width, unsigned int max_positions)
{
  const size_t row = *position;

  if (row >= max_positions)
    return;
  for (size_t i = grid_first (); i < width; i += grid_step ())
    {
      key_cache[row * width + i] = key[i];
      value_cache[row * width + i] = value[i];
    }
}

/*
 * A block for each query head. The positions come in tiles of as many as the block can score at once, and the softmax
 * is online: what was summed so far is scaled down whenever a larger score turns up. Dynamic shared memory: twice
 * head_dim floats. A position past the end of the cache sees the whole cache. In place: dst may be query.
 */
MEMRA_KERNEL void
memra_dsv4_attention (float *dst, const float *query, const float *key_cache, const float *value_cache,
                      const unsigned int *position, unsigned int n_heads, unsigned int n_kv_heads,
                      unsigned int head_dim, unsigned int max_positions)
{
  MEMRA_DYNAMIC_SHARED (dynamic);
  __shared__ float parts[MEMRA_MAX_THREADS];
  __shared__ float scores[MEMRA_MAX_THREADS];
  __shared__ float shares[MEMRA_MAX_THREADS];
  float *own_query = dynamic;
  float *sum = dynamic + head_dim;
  const unsigned int lanes = blockDim.x % MEMRA_LANES == 0 ? MEMRA_LANES : 1u;
  const unsigned int tile = blockDim.x / lanes;
  const unsigned int slot = threadIdx.x / lanes;
  const unsigned int length = *position < max_positions ? *position + 1 : max_positions;
  const size_t stride = (size_t) n_kv_heads * head_dim;
  const float scale = 1.0f / sqrtf ((float) head_dim);

  for (size_t head = blockIdx.x; head < n_heads; head += gridDim.x)
    {
      const size_t column = head / (n_heads / n_kv_heads) * head_dim;
      float largest = -INFINITY;
      float total = 0.0f;

      for (size_t d = threadIdx.x; d < head_dim; d += blockDim.x)
        {
          own_query[d] = query[head * head_dim + d];
          sum[d] = 0.0f;
        }
      __syncthreads ();

      for (unsigned int done = 0; done < length;)
        {
          const unsigned int n = tile < length - done ? tile : length - done;
          const float *values = value_cache + done * stride + column;
          float previous = largest;
          float correction;

          if (slot < n)
            parts[threadIdx.x] = dot_part (key_cache + (done + (size_t) slot) * stride + column, own_query, head_dim,
                                           threadIdx.x % lanes, lanes);
          __syncthreads ();
          if (threadIdx.x < n)
            {
              float score = 0.0f;

              for (unsigned int lane = 0; lane < lanes; lane++)
                score += parts[threadIdx.x * lanes + lane];
              scores[threadIdx.x] = score * scale;
            }
          __syncthreads ();
          for (unsigned int i = 0; i < n; i++)
            largest = fmaxf (largest, scores[i]);
          if (threadIdx.x < n)
            shares[threadIdx.x] = expf (scores[threadIdx.x] - largest);
          __syncthreads ();
          correction = expf (previous - largest);
          total *= correction;
          for (unsigned int i = 0; i < n; i++)
            total += shares[i];
          for (size_t d = threadIdx.x; d < head_dim; d += blockDim.x)
            {
              float value = sum[d] * correction;

              for (unsigned int i = 0; i < n; i++)
                value += shares[i] * values[i * stride + d];
              sum[d] = value;
            }
          done += n;
        }
      for (size_t d = threadIdx.x; d < head_dim; d += blockDim.x)
        dst[head * head_dim + d] = sum[d] / total;
      __syncthreads ();
    }
}

/* One block. Picks the largest logit that is smaller than the one picked before, n_active times. */
MEMRA_KERNEL void
memra_dsv4_route (unsigned int *experts, float *weights, const float *logits, unsigned int n_experts,
                  unsigned int n_active)
{
  __shared__ unsigned long long scratch[MEMRA_MAX_THREADS];
  unsigned long long previous = ~0ull;
  float first = 0.0f;
  float total = 0.0f;

  for (unsigned int k = 0; k < n_active; k++)
    {
      unsigned long long best = 0;
      unsigned int expert;

      for (size_t i = threadIdx.x; i < n_experts; i += blockDim.x)
        {
          const unsigned long long key = route_key (logits[i], (unsigned int) i);

          if (key < previous && key > best)
            best = key;
        }
      previous = block_max (best, scratch);
      expert = 0xffffffffu - (unsigned int) previous;
      if (k == 0)
        first = logits[expert];
      if (blockIdx.x == 0 && threadIdx.x == 0)
        {
          const float share = expf (logits[expert] - first);

          total += share;
          experts[k] = expert;
          weights[k] = share;
        }
    }
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (unsigned int k = 0; k < n_active; k++)
      weights[k] /= total;
}

/* A block for each row (x) of each active expert (y). An expert that the matrices do not have gives NaN. */
MEMRA_KERNEL void
memra_dsv4_expert_matvec (float *dst, const float *matrices, const float *src, const unsigned int *experts,
                          unsigned int n_experts, unsigned int n_active, unsigned int rows, unsigned int columns,
                          unsigned int per_expert_src)
{
  __shared__ float scratch[MEMRA_MAX_THREADS];

  for (size_t k = blockIdx.y; k < n_active; k += gridDim.y)
    {
      const size_t expert = experts[k];
      const float *own_src = per_expert_src != 0 ? src + k * columns : src;

      for (size_t row = blockIdx.x; row < rows; row += gridDim.x)
        {
          float part = nanf ("");
          float sum;

          if (expert < n_experts)
            part = dot_part (matrices + (expert * rows + row) * columns, own_src, columns, threadIdx.x, blockDim.x);
          sum = block_sum (part, scratch);
          if (threadIdx.x == 0)
            dst[k * rows + row] = sum;
        }
    }
}

/* In place: gate may be up. */
MEMRA_KERNEL void
memra_dsv4_silu_gate (float *gate, const float *up, unsigned int n)
{
  for (size_t i = grid_first (); i < n; i += grid_step ())
    gate[i] = gate[i] / (1.0f + expf (-gate[i])) * up[i];
}

MEMRA_KERNEL void
memra_dsv4_expert_sum (float *dst, const float *src, const float *weights, unsigned int n, unsigned int n_active)
{
  for (size_t i = grid_first (); i < n; i += grid_step ())
    {
      float sum = 0.0f;

      for (size_t k = 0; k < n_active; k++)
        sum += weights[k] * src[k * n + i];
      dst[i] = sum;
    }
}

MEMRA_KERNEL void
memra_dsv4_advance (unsigned int *position)
{
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *position += 1;
}
