/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernels for the host driver.
 *
 * A host module is a shared object that exports memra_host_module(); cuModuleLoad() and cuModuleLoadData() of the host
 * driver take such an object where a GPU takes a cubin. A kernel runs block by block, each block as one thread, so its
 * source must be right for any block size. Plain C, no GLib, no cuda.h.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MEMRA_HOST_MODULE_ABI: the layout that this header describes. */
#define MEMRA_HOST_MODULE_ABI 1

/* One block of a running launch. */
typedef struct
{
  uint32_t grid[3];      /* blocks in the launch */
  uint32_t block[3];     /* threads per block asked for at launch; the host runs one */
  uint32_t index[3];     /* this block, each less than grid[] */
  uint32_t shared_bytes; /* dynamic shared memory of the launch */
  void *shared;          /* that memory, 16-byte aligned, not cleared; NULL when shared_bytes is 0 */
} MemraHostBlock;

/* Where a parameter lies in the kernel's parameter buffer: what cuFuncGetParamInfo() answers, and it must be what the
 * GPU's compiler answers for the same source. */
typedef struct
{
  uint32_t offset; /* bytes */
  uint32_t size;   /* bytes */
} MemraHostParameter;

/* One kernel. `run` executes one block; params[i] points at parameter i. */
typedef struct
{
  const char *name;
  void (*run) (void *const *params, const MemraHostBlock *block);
  uint32_t n_parameters;
  const MemraHostParameter *parameters;
} MemraHostKernel;

/* What memra_host_module() returns; constant for the life of the object. */
typedef struct
{
  uint32_t abi;
  uint32_t n_kernels;
  const MemraHostKernel *kernels;
} MemraHostModule;

typedef const MemraHostModule *(*MemraHostModuleFunc) (void);

#ifdef __cplusplus
}
#endif
