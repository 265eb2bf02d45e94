/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host-kernels.c: the kernels of image.c for the host driver; same names, offsets and sizes. */
#include <stddef.h>
#include <string.h>

#include <memra-capture/memra-host-module.h>

MemraHostModule const *memra_host_module (void);

/* One parameter, read the way the GPU's constant bank is: no alignment assumed. */
#define READ(type, name, from)                                                                                         \
  type name;                                                                                                           \
  memcpy (&name, (from), sizeof name)

static void
run_empty (void *const *params, const MemraHostBlock *block)
{
  (void)params;
  (void)block;
}

static void
run_add (void *const *params, const MemraHostBlock *block)
{
  READ (uint64_t, to, params[0]);
  READ (uint64_t, from, params[1]);
  READ (uint64_t, count, params[2]);
  uint32_t *dst = (uint32_t *)(uintptr_t)to;
  const uint32_t *src = (const uint32_t *)(uintptr_t)from;
  for (uint32_t thread = 0; thread < block->block[0]; thread++)
    {
      uint64_t i = (uint64_t)block->index[0] * block->block[0] + thread;
      if (i < count)
        dst[i] += src[i];
    }
}

static void
run_store (void *const *params, const MemraHostBlock *block)
{
  (void)block;
  READ (uint64_t, to, params[0]);
  READ (uint32_t, value, params[1]);
  *(uint32_t *)(uintptr_t)to = value;
}

static void
run_mix (void *const *params, const MemraHostBlock *block)
{
  (void)block;
  READ (uint8_t, small, params[0]);
  READ (uint32_t, value, params[1]);
  READ (uint64_t, to, params[4]);
  *(uint32_t *)(uintptr_t)to = value + small;
}

static void
run_big (void *const *params, const MemraHostBlock *block)
{
  (void)block;
  READ (uint64_t, to, params[0]);
  READ (uint32_t, value, (const char *)params[0] + 60);
  *(uint32_t *)(uintptr_t)to = value;
}

static void
run_huge (void *const *params, const MemraHostBlock *block)
{
  (void)block;
  READ (uint64_t, to, params[0]);
  READ (uint32_t, value, (const char *)params[0] + 3996);
  READ (uint32_t, more, params[1]);
  *(uint32_t *)(uintptr_t)to = value + more;
}

static const MemraHostParameter add_parameters[] = { { 0, 8 }, { 8, 8 }, { 16, 8 } };
static const MemraHostParameter store_parameters[] = { { 0, 8 }, { 8, 4 } };
static const MemraHostParameter mix_parameters[] = { { 0, 1 }, { 4, 4 }, { 8, 8 }, { 16, 2 }, { 24, 8 } };
static const MemraHostParameter big_parameters[] = { { 0, 64 } };
static const MemraHostParameter huge_parameters[] = { { 0, 4000 }, { 4000, 4 } };

static const MemraHostKernel kernels[] = {
  { "conf_empty", run_empty, 0, NULL },
  { "conf_add", run_add, 3, add_parameters },
  { "conf_store", run_store, 2, store_parameters },
  { "conf_mix", run_mix, 5, mix_parameters },
  { "conf_big", run_big, 1, big_parameters },
  { "conf_huge", run_huge, 2, huge_parameters },
};

static const MemraHostModule module = {
  MEMRA_HOST_MODULE_ABI,
  sizeof kernels / sizeof kernels[0],
  kernels,
};

__attribute__ ((visibility ("default"))) const MemraHostModule *
memra_host_module (void)
{
  return &module;
}
