/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bundled layer's kernels as a module of the host driver. */
#include "host-shim.h"

#include "memra-dsv4.cu"

static constexpr MemraHostKernel kernels[]
    = { MEMRA_HOST_KERNEL (memra_dsv4_add_inplace), MEMRA_HOST_KERNEL (memra_dsv4_rmsnorm),
        MEMRA_HOST_KERNEL (memra_dsv4_matvec),      MEMRA_HOST_KERNEL (memra_dsv4_rope),
        MEMRA_HOST_KERNEL (memra_dsv4_kv_append),   MEMRA_HOST_KERNEL (memra_dsv4_attention),
        MEMRA_HOST_KERNEL (memra_dsv4_route),       MEMRA_HOST_KERNEL (memra_dsv4_expert_matvec),
        MEMRA_HOST_KERNEL (memra_dsv4_silu_gate),   MEMRA_HOST_KERNEL (memra_dsv4_expert_sum),
        MEMRA_HOST_KERNEL (memra_dsv4_advance) };

static constexpr MemraHostModule host_module = { MEMRA_HOST_MODULE_ABI, sizeof kernels / sizeof *kernels, kernels };

extern "C" __attribute__ ((visibility ("default"))) const MemraHostModule *
memra_host_module (void)
{
  return &host_module;
}
