/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel for the host driver: cc -shared -fPIC -o scale-kernel.so scale-kernel.c */
#include <memra-capture/memra-host-module.h>

/* extern "C" __global__ void scale (float *x, float factor, unsigned n), of which a block is one thread here. */
static void
scale (void *const *params, const MemraHostBlock *block)
{
  float *x = *(float *const *) params[0];
  float factor = *(const float *) params[1];
  uint32_t n = *(const uint32_t *) params[2];

  for (uint32_t i = block->index[0]; i < n; i += block->grid[0])
    x[i] *= factor;
}

static const MemraHostParameter scale_parameters[] = { { 0, 8 }, { 8, 4 }, { 12, 4 } };

static const MemraHostKernel kernels[] = { { "scale", scale, 3, scale_parameters } };

static const MemraHostModule module = { MEMRA_HOST_MODULE_ABI, 1, kernels };

const MemraHostModule *memra_host_module (void) __attribute__ ((visibility ("default")));

const MemraHostModule *
memra_host_module (void)
{
  return &module;
}
