/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a C++17 compiler needs to take a .cu file for the host driver, whose blocks run as one thread: the qualifiers,
 * indices and functions of the device that our kernels use; and the entry of a kernel in a MemraHostModule, with its
 * parameter table, made from the kernel's own type. Include it before the .cu. The result needs libm and no C++
 * runtime.
 *
 * Shared memory is what one block has for itself, so with one thread it is an ordinary local variable.
 */
#pragma once

#include "memra-capture/memra-host-module.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <utility>

/* Hidden: a kernel and the library's launcher of it share a name, and must not be taken for one another. */
#define __global__ __attribute__ ((visibility ("hidden")))
#define __device__
#define __shared__
#define __launch_bounds__(threads, blocks)

#define MEMRA_MAX_THREADS          1
#define MEMRA_DYNAMIC_SHARED(name) float *name = static_cast<float *> (memra_host_shared)

namespace
{

struct dim3
{
  uint32_t x, y, z;
};

/* Reads floats that were written as such. */
struct [[gnu::may_alias]] alignas (16) float4
{
  float x, y, z, w;
};

constexpr dim3 threadIdx = { 0, 0, 0 };
constexpr dim3 blockDim = { 1, 1, 1 };
thread_local dim3 blockIdx;
thread_local dim3 gridDim;
thread_local void *memra_host_shared;

[[maybe_unused]] inline void
__syncthreads (void)
{
}

[[maybe_unused]] inline uint32_t
__float_as_uint (float value)
{
  uint32_t bits;

  __builtin_memcpy (&bits, &value, sizeof bits);
  return bits;
}

/* Parameters lie one after the other, each at the next multiple of its own alignment, as nvcc lays them out. */
template <typename... T> struct MemraHostParameters
{
  MemraHostParameter at[sizeof...(T)];

  constexpr MemraHostParameters () : at ()
  {
    constexpr uint32_t sizes[] = { sizeof (T)... };
    constexpr uint32_t alignments[] = { alignof (T)... };
    uint32_t end = 0;

    for (size_t i = 0; i < sizeof...(T); i++)
      {
        at[i].offset = (end + alignments[i] - 1) / alignments[i] * alignments[i];
        at[i].size = sizes[i];
        end = at[i].offset + sizes[i];
      }
  }
};

template <typename T>
inline T
memra_host_load (const void *parameter)
{
  T value;

  __builtin_memcpy (&value, parameter, sizeof value);
  return value;
}

template <auto kernel> struct MemraHostEntry;

template <typename... T, void (*kernel) (T...)> struct MemraHostEntry<kernel>
{
  static constexpr MemraHostParameters<T...> parameters = {};

  template <size_t... i> static void call (void *const *params, std::index_sequence<i...>)
  {
    kernel (memra_host_load<T> (params[i])...);
  }

  static void run (void *const *params, const MemraHostBlock *block)
  {
    blockIdx = { block->index[0], block->index[1], block->index[2] };
    gridDim = { block->grid[0], block->grid[1], block->grid[2] };
    memra_host_shared = block->shared;
    call (params, std::index_sequence_for<T...> ());
  }

  static constexpr MemraHostKernel describe (const char *name)
  {
    return { name, run, sizeof...(T), parameters.at };
  }
};

} // namespace

/* An element of a MemraHostKernel array. */
#define MEMRA_HOST_KERNEL(kernel) MemraHostEntry<kernel>::describe (#kernel)
