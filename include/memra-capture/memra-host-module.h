/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plain C: needs neither GLib nor cuda.h, and can be included alone. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * SECTION:memra-host-module
 * @title: Host modules
 * @short_description: kernels for the host driver
 * @include: memra-capture/memra-host-module.h
 *
 * A host module is a shared object that exports `memra_host_module`; cuModuleLoad() and cuModuleLoadData() of the
 * host driver take such an object where a GPU takes a cubin. A kernel runs block by block, each block as one thread,
 * so its source must be right for any block size.
 *
 * The header is plain C; it needs neither GLib nor cuda.h and can be included alone.
 */

/**
 * MEMRA_HOST_MODULE_ABI:
 *
 * The layout of #MemraHostModule that this header describes.
 *
 * Since: 0.1
 */
#define MEMRA_HOST_MODULE_ABI 1

/**
 * MemraHostBlock:
 * @grid: blocks in the launch
 * @block: threads per block asked for at launch; the host runs one
 * @index: this block, each less than @grid
 * @shared_bytes: dynamic shared memory of the launch, in bytes
 * @shared: that memory, 16-byte aligned, not cleared; %NULL when @shared_bytes is 0
 *
 * One block of a running launch.
 *
 * Since: 0.1
 */
typedef struct _MemraHostBlock MemraHostBlock;
struct _MemraHostBlock
{
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t index[3];
  uint32_t shared_bytes;
  void *shared;
};

/**
 * MemraHostParameter:
 * @offset: bytes from the beginning of the parameter buffer
 * @size: bytes
 *
 * Where a parameter lies in the kernel's parameter buffer: what cuFuncGetParamInfo() answers, and it must be what the
 * GPU's compiler answers for the same source.
 *
 * Since: 0.1
 */
typedef struct _MemraHostParameter MemraHostParameter;
struct _MemraHostParameter
{
  uint32_t offset;
  uint32_t size;
};

/**
 * MemraHostKernel:
 * @name: the kernel's symbol
 * @run: executes one block; params[i] points at parameter i. Blocks of one launch run one after the other, launches in
 *   several streams beside each other, each on a thread of the host driver
 * @n_parameters: how many parameters
 * @parameters: where they lie
 *
 * One kernel.
 *
 * Since: 0.1
 */
typedef struct _MemraHostKernel MemraHostKernel;
struct _MemraHostKernel
{
  const char *name;
  void (*run) (void *const *params, const MemraHostBlock *block);
  uint32_t n_parameters;
  const MemraHostParameter *parameters;
};

/**
 * MemraHostModule:
 * @abi: %MEMRA_HOST_MODULE_ABI
 * @n_kernels: how many kernels
 * @kernels: the kernels
 *
 * What `memra_host_module` returns; constant for the life of the object.
 *
 * Since: 0.1
 */
typedef struct _MemraHostModule MemraHostModule;
struct _MemraHostModule
{
  uint32_t abi;
  uint32_t n_kernels;
  const MemraHostKernel *kernels;
};

/**
 * MemraHostModuleFunc:
 *
 * The type of a host module's symbol "memra_host_module".
 *
 * Returns: the module
 *
 * Since: 0.1
 */
typedef const MemraHostModule *(*MemraHostModuleFunc) (void);

#ifdef __cplusplus
}
#endif
