/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "host-api.h"

#include <dlfcn.h>
#include <string.h>

const HostApi *
host_api_get (void)
{
  static const char *const symbols[] = {
#define HOST_API_NAME(kind, capture, base, version, symbol, params) #symbol,
    HOST_ENTRIES (HOST_API_NAME)
#undef HOST_API_NAME
  };
  static HostApi api;
  static gsize done;

  if (g_once_init_enter (&done))
    {
      void *handle = dlopen (memra_test_host_driver_path (), RTLD_NOW | RTLD_LOCAL);

      g_assert_nonnull (handle);
      for (gsize i = 0; i < G_N_ELEMENTS (symbols); i++)
        {
          void *address = dlsym (handle, symbols[i]);

          if (address == NULL)
            g_error ("the host driver does not export %s", symbols[i]);
          memcpy ((char *) &api + i * sizeof address, &address, sizeof address);
        }
      g_once_init_leave (&done, 1);
    }
  return &api;
}

void
host_bench_init (HostBench *bench)
{
  memset (bench, 0, sizeof *bench);
  bench->cu = host_api_get ();
  memra_test_assert_cu (bench->cu->cuInit (0));
  memra_test_assert_cu (bench->cu->cuCtxCreate_v2 (&bench->context, 0, 0));
  memra_test_assert_cu (bench->cu->cuStreamCreate (&bench->stream, MCU_STREAM_NON_BLOCKING));
  memra_test_assert_cu (bench->cu->cuMemAlloc_v2 (&bench->memory, HOST_BENCH_BYTES));
  bench->bytes = (guint8 *) bench->memory;
  memra_test_assert_cu (bench->cu->cuMemsetD8Async (bench->memory, 0, HOST_BENCH_BYTES, bench->stream));
  host_bench_wait (bench);
}

void
host_bench_clear (HostBench *bench)
{
  if (bench->context != NULL)
    memra_test_assert_cu (bench->cu->cuCtxDestroy_v2 (bench->context));
  bench->context = NULL;
}

void
host_bench_wait (HostBench *bench)
{
  memra_test_assert_cu (bench->cu->cuStreamSynchronize (bench->stream));
}
