/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host driver's devices, contexts, streams, code and settings, where the conformance table and the library do not
 * look. */
#include "config.h"

#include "host-api.h"

#include <string.h>

/* ---- Devices and contexts ---- */

static void
test_devices (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  const HostApi *cu;
  HostUuid uuids[2], old;
  char ids[2][16];
  gsize bytes = 0;
  int major = 0, minor = 0;

  if (!memra_test_need_host ())
    return;
  cu = host_api_get ();
  memra_test_assert_cu (cu->cuInit (0));
  g_assert_cmpint (control->set_device_count (2), ==, 0);
  for (int i = 0; i < 2; i++)
    {
      memra_test_assert_cu (cu->cuDeviceGetUuid_v2 (&uuids[i], i));
      memra_test_assert_cu (cu->cuDeviceGetUuid (&old, i));
      g_assert_cmpmem (&old, sizeof old, &uuids[i], sizeof uuids[i]);
      memra_test_assert_cu (cu->cuDeviceGetPCIBusId (ids[i], sizeof ids[i], i));
    }
  g_assert_cmpint (memcmp (&uuids[0], &uuids[1], sizeof uuids[0]), !=, 0);
  g_assert_cmpstr (ids[0], !=, ids[1]);
  memra_test_assert_cu (cu->cuDeviceTotalMem_v2 (&bytes, 1));
  g_assert_cmpuint (bytes, ==, (gsize) 8 << 30);
  memra_test_assert_cu (cu->cuDeviceComputeCapability (&major, &minor, 1));
  g_assert_cmpint (major, ==, 9);
  g_assert_cmpint (minor, ==, 0);
  g_assert_cmpint (control->set_device_count (1), ==, 0);
  g_assert_cmpint (cu->cuDeviceGetUuid_v2 (&uuids[1], 1), ==, MCU_ERROR_INVALID_DEVICE);
  g_assert_cmpint (cu->cuDeviceGetPCIBusId (ids[1], sizeof ids[1], 1), ==, MCU_ERROR_INVALID_DEVICE);
  g_assert_cmpint (cu->cuDeviceTotalMem_v2 (NULL, 0), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuDeviceComputeCapability (&major, &minor, 1), ==, MCU_ERROR_INVALID_DEVICE);
}

static void
test_contexts (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUcontext primary = NULL;
  unsigned flags = 99, version = 0;
  int config = 99, active = 99;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuCtxGetFlags (&flags));
  g_assert_cmpuint (flags, ==, 0);
  memra_test_assert_cu (cu->cuCtxGetApiVersion (bench.context, &version));
  g_assert_cmpuint (version, >=, 3020);
  memra_test_assert_cu (cu->cuCtxSetCacheConfig (2)); /* a preference, and there is no cache */
  memra_test_assert_cu (cu->cuCtxGetCacheConfig (&config));
  g_assert_cmpint (config, ==, 0);
  g_assert_cmpint (cu->cuCtxSetCacheConfig (4), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuCtxGetFlags (NULL), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuCtxGetApiVersion ((CUcontext) &version, &version), ==, MCU_ERROR_INVALID_CONTEXT);

  /* Flags of the primary context: for the one to come, and for the one that is there. */
  memra_test_assert_cu (cu->cuDevicePrimaryCtxSetFlags (0, 4));
  memra_test_assert_cu (cu->cuDevicePrimaryCtxRetain (&primary, 0));
  memra_test_assert_cu (cu->cuDevicePrimaryCtxGetState (0, &flags, &active));
  g_assert_cmpuint (flags, ==, 4);
  g_assert_cmpint (active, ==, 1);
  memra_test_assert_cu (cu->cuDevicePrimaryCtxSetFlags_v2 (0, 0));
  memra_test_assert_cu (cu->cuCtxPushCurrent_v2 (primary));
  memra_test_assert_cu (cu->cuCtxGetFlags (&flags));
  g_assert_cmpuint (flags, ==, 0);
  memra_test_assert_cu (cu->cuCtxPopCurrent_v2 (&primary));
  memra_test_assert_cu (cu->cuDevicePrimaryCtxRelease_v2 (0));
  memra_test_assert_cu (cu->cuDevicePrimaryCtxGetState (0, &flags, &active));
  g_assert_cmpint (active, ==, 0);
  g_assert_cmpint (cu->cuDevicePrimaryCtxSetFlags_v2 (7, 0), ==, MCU_ERROR_INVALID_DEVICE);
}

/* Programs of older and of newer drivers ask for other versions of the same calls. */
static void
test_versions (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  struct
  {
    void *affinity;
    int n_affinity;
    void *cig;
  } params = { NULL, 0, NULL };
  CUcontext contexts[3] = { NULL }, top = NULL, primary = NULL;
  CUstream stream = NULL;
  CUevent events[2] = { NULL };
  CUdevice device = -1;
  unsigned long long ids[2] = { 0 };
  void *green = &green;
  float milliseconds = -1.0f;
  gsize limit = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuCtxCreate_v3 (&contexts[0], NULL, 0, 0, 0));
  memra_test_assert_cu (cu->cuCtxCreate_v4 (&contexts[1], &params, 0, 0));
  params.n_affinity = 1;
  g_assert_cmpint (cu->cuCtxCreate_v4 (&contexts[2], &params, 0, 0), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (cu->cuCtxCreate_v3 (&contexts[2], NULL, 1, 0, 0), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (cu->cuCtxCreate_v3 (&contexts[2], NULL, 0, 0, 9), ==, MCU_ERROR_INVALID_DEVICE);
  memra_test_assert_cu (cu->cuCtxPopCurrent (&top));
  g_assert_true (top == contexts[1]);
  memra_test_assert_cu (cu->cuCtxPushCurrent (top));
  memra_test_assert_cu (cu->cuCtxDestroy (contexts[1]));
  memra_test_assert_cu (cu->cuCtxGetCurrent (&top));
  g_assert_true (top == contexts[0]);
  memra_test_assert_cu (cu->cuCtxGetDevice_v2 (&device, bench.context));
  g_assert_cmpint (device, ==, 0);
  memra_test_assert_cu (cu->cuCtxGetId (bench.context, &ids[0]));
  memra_test_assert_cu (cu->cuCtxGetId (NULL, &ids[1]));
  g_assert_cmpuint (ids[0], !=, ids[1]);
  memra_test_assert_cu (cu->cuCtxSynchronize_v2 (bench.context));
  g_assert_cmpint (cu->cuCtxSynchronize_v2 (contexts[1]), ==, MCU_ERROR_INVALID_CONTEXT);
  memra_test_assert_cu (cu->cuCtxGetLimit (&limit, 0));
  memra_test_assert_cu (cu->cuCtxSetLimit (0, limit));
  g_assert_cmpint (cu->cuCtxGetLimit (&limit, 9), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (cu->cuCtxSetLimit (9, 0), ==, MCU_ERROR_NOT_SUPPORTED);
  memra_test_assert_cu (cu->cuCtxDestroy_v2 (contexts[0]));

  memra_test_assert_cu (cu->cuStreamCreate (&stream, 0));
  memra_test_assert_cu (cu->cuStreamGetCtx_v2 (stream, &top, &green));
  g_assert_true (top == bench.context);
  g_assert_null (green);
  for (guint i = 0; i < 2; i++)
    {
      memra_test_assert_cu (cu->cuEventCreate (&events[i], 0));
      memra_test_assert_cu (cu->cuEventRecord (events[i], stream));
    }
  memra_test_assert_cu (cu->cuEventSynchronize (events[1]));
  memra_test_assert_cu (cu->cuEventElapsedTime_v2 (&milliseconds, events[0], events[1]));
  g_assert_cmpfloat (milliseconds, >=, 0.0f);
  g_assert_cmpint (cu->cuEventCreate (&events[0], 6), ==, MCU_ERROR_NOT_SUPPORTED); /* for other processes */
  memra_test_assert_cu (cu->cuEventDestroy (events[1]));
  memra_test_assert_cu (cu->cuStreamDestroy (stream));

  memra_test_assert_cu (cu->cuDevicePrimaryCtxRetain (&primary, 0));
  memra_test_assert_cu (cu->cuDevicePrimaryCtxRelease (0));
  g_assert_cmpint (cu->cuDevicePrimaryCtxRelease (0), ==, MCU_ERROR_INVALID_CONTEXT);
  memra_test_assert_cu (cu->cuDevicePrimaryCtxRetain (&primary, 0));
  memra_test_assert_cu (cu->cuDevicePrimaryCtxReset (0));
  g_assert_cmpint (cu->cuCtxPushCurrent_v2 (primary), ==, MCU_ERROR_INVALID_CONTEXT);
  g_assert_cmpint (cu->cuDevicePrimaryCtxRelease (0), ==, MCU_ERROR_INVALID_CONTEXT);
}

/* ---- Streams ---- */

static void
test_streams (void)
{
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUstream other = NULL;
  CUdevice device = -1;
  guint64 value[8] = { 3 }, answer[8] = { 0 };
  int priority = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuStreamCreateWithPriority (&other, MCU_STREAM_NON_BLOCKING, -1));
  memra_test_assert_cu (cu->cuStreamGetDevice (bench.stream, &device));
  g_assert_cmpint (device, ==, 0);
  g_assert_cmpint (cu->cuStreamGetDevice (bench.stream, NULL), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuStreamSetAttribute (other, 3, value));
  memra_test_assert_cu (cu->cuStreamGetAttribute (bench.stream, 3, answer));
  g_assert_cmpuint (answer[0], ==, 0);
  memra_test_assert_cu (cu->cuStreamCopyAttributes (bench.stream, other));
  memra_test_assert_cu (cu->cuStreamGetAttribute (bench.stream, 3, answer));
  g_assert_cmpuint (answer[0], ==, 3);
  memra_test_assert_cu (cu->cuStreamGetPriority (bench.stream, &priority));
  g_assert_cmpint (priority, ==, -1);
  g_assert_cmpint (cu->cuStreamGetAttribute (bench.stream, 2, answer), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuStreamCopyAttributes (bench.stream, (CUstream) value), ==, MCU_ERROR_INVALID_HANDLE);
}

/* ---- Code ---- */

static void
test_modules (void)
{
  g_auto (HostBench) bench = { 0 };
  g_autofree char *path = fixture_dup_host_module_path ();
  g_autofree char *image = NULL;
  const HostApi *cu;
  CUmodule module = NULL, again = NULL;
  CUfunction functions[64] = { NULL }, add = NULL;
  unsigned count = 0;
  gsize n = 0;
  int option = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  g_assert_true (g_file_get_contents (path, &image, NULL, NULL));
  memra_test_assert_cu (cu->cuModuleLoadDataEx (&module, image, 1, &option, NULL));
  g_assert_cmpint (cu->cuModuleLoadDataEx (&again, image, 1, NULL, NULL), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuModuleLoadFatBinary (&again, image));
  g_assert_true (module != again);
  g_assert_cmpint (cu->cuModuleLoadFatBinary (NULL, image), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuModuleGetFunctionCount (&count, module));
  g_assert_cmpuint (count, >, 5);
  memra_test_assert_cu (cu->cuModuleEnumerateFunctions (functions, G_N_ELEMENTS (functions), module));
  for (guint i = 0; i < count; i++)
    {
      const char *name = NULL;

      memra_test_assert_cu (cu->cuFuncGetName (&name, functions[i]));
      if (strcmp (name, FIXTURE_KERNEL) == 0)
        add = functions[i];
    }
  g_assert_null (functions[count]);
  g_assert_nonnull (add);
  memra_test_assert_cu (cu->cuFuncGetParamCount (add, &n));
  g_assert_cmpuint (n, ==, 3);
  memra_test_assert_cu (cu->cuFuncSetCacheConfig (add, 1));
  g_assert_cmpint (cu->cuFuncSetCacheConfig (add, 4), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuFuncGetParamCount (NULL, &n), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuModuleUnload (again));
  g_assert_cmpint (cu->cuModuleEnumerateFunctions (functions, 1, again), ==, MCU_ERROR_INVALID_HANDLE);
  g_assert_cmpint (cu->cuModuleEnumerateFunctions (NULL, 1, module), ==, MCU_ERROR_INVALID_VALUE);
}

/* What is set for a kernel holds for its functions, those that are there and those that are made later. */
static void
test_kernels (void)
{
  g_auto (HostBench) bench = { 0 };
  g_autofree char *path = fixture_dup_host_module_path ();
  const HostApi *cu;
  CUlibrary library = NULL, owner = NULL;
  CUkernel kernel = NULL, first = NULL;
  CUfunction function = NULL;
  gsize n = 0;
  int value = 0;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  memra_test_assert_cu (cu->cuLibraryLoadFromFile (&library, path, NULL, NULL, 0, NULL, NULL, 0));
  g_assert_cmpint (cu->cuLibraryLoadFromFile (&library, "/nowhere", NULL, NULL, 0, NULL, NULL, 0), ==,
                   MCU_ERROR_FILE_NOT_FOUND);
  g_assert_cmpint (cu->cuLibraryLoadFromFile (&library, path, NULL, NULL, 1, NULL, NULL, 0), ==,
                   MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuLibraryGetKernel (&kernel, library, FIXTURE_KERNEL));
  memra_test_assert_cu (cu->cuLibraryEnumerateKernels (&first, 1, library));
  memra_test_assert_cu (cu->cuKernelGetLibrary (&owner, first));
  g_assert_true (owner == library);
  memra_test_assert_cu (cu->cuKernelGetParamCount (kernel, &n));
  g_assert_cmpuint (n, ==, 3);
  memra_test_assert_cu (cu->cuKernelSetAttribute (8, 65536, kernel, 0));
  memra_test_assert_cu (cu->cuKernelGetFunction (&function, kernel));
  memra_test_assert_cu (cu->cuFuncGetAttribute (&value, 8, function));
  g_assert_cmpint (value, ==, 65536);
  memra_test_assert_cu (cu->cuKernelSetAttribute (9, 50, kernel, 0));
  memra_test_assert_cu (cu->cuFuncGetAttribute (&value, 9, function));
  g_assert_cmpint (value, ==, 50);
  memra_test_assert_cu (cu->cuKernelGetAttribute (&value, 8, kernel, 0));
  g_assert_cmpint (value, ==, 65536);
  memra_test_assert_cu (cu->cuKernelGetAttribute (&value, 0, kernel, 0));
  g_assert_cmpint (value, ==, 1024);
  for (int attribute = 1; attribute <= 6; attribute++)
    memra_test_assert_cu (cu->cuKernelGetAttribute (&value, attribute, kernel, 0));
  g_assert_cmpint (value, ==, 90);
  g_assert_cmpint (cu->cuKernelGetAttribute (&value, 99, kernel, 0), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuKernelGetAttribute (&value, 0, kernel, 1), ==, MCU_ERROR_INVALID_DEVICE);
  g_assert_cmpint (cu->cuKernelSetAttribute (8, 1 << 20, kernel, 0), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuKernelSetAttribute (9, 101, kernel, 0), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuKernelSetAttribute (0, 1, kernel, 0), ==, MCU_ERROR_INVALID_VALUE);
  g_assert_cmpint (cu->cuKernelSetAttribute (10, 1, kernel, 0), ==, MCU_ERROR_NOT_SUPPORTED);
  g_assert_cmpint (cu->cuKernelGetParamCount (NULL, &n), ==, MCU_ERROR_INVALID_VALUE);
  memra_test_assert_cu (cu->cuLibraryUnload (library));
  g_assert_cmpint (cu->cuKernelGetParamCount (kernel, &n), ==, MCU_ERROR_INVALID_HANDLE);
}

/* ---- Settings ---- */

static void
test_controls (void)
{
  const MemraHostControl *control = memra_test_host_control ();
  g_auto (HostBench) bench = { 0 };
  const HostApi *cu;
  CUcontext second = NULL;
  guint64 fired;

  if (!memra_test_need_host ())
    return;
  host_bench_init (&bench);
  cu = bench.cu;
  g_assert_cmpint (control->inject_fault ("cuNothing", 1, 2), ==, 1);
  g_assert_cmpint (control->inject_fault ("cuMemAlloc", 0, 2), ==, 1);
  g_assert_cmpint (control->inject_fault_from (NULL, 1, 2), ==, 1);
  g_assert_cmpint (control->inject_break ("cuNothing", 1, bench.context, 700), ==, 1);
  g_assert_cmpint (control->inject_break ("cuMemAlloc", 1, NULL, 700), ==, 1);
  g_assert_cmpint (control->set_driver_version (11030), ==, 1);
  g_assert_cmpint (control->set_device_count (17), ==, 1);
  g_assert_cmpint (control->set_device_count (0), ==, 1); /* there is a context */
  g_assert_cmpuint (control->count_calls (NULL), ==, 0);
  g_assert_cmpuint (control->count_objects (NULL), ==, 0);
  g_assert_cmpuint (control->count_calls ("*"), >=, control->count_calls ("cuMemAlloc"));
  g_assert_cmpuint (control->count_objects ("*"), ==, 3); /* context, stream, memory */

  /* A context dies at the second call from now on, and another one does not. */
  memra_test_assert_cu (cu->cuCtxCreate_v2 (&second, 0, 0));
  fired = control->count_faults ();
  g_assert_cmpint (control->inject_break ("*", 2, bench.context, 719), ==, 0);
  memra_test_assert_cu (cu->cuStreamSynchronize (bench.stream));
  g_assert_cmpint (cu->cuCtxSynchronize (), ==, 719); /* of the second one; the call only was the moment */
  g_assert_cmpuint (control->count_faults (), ==, fired + 1);
  memra_test_assert_cu (cu->cuCtxSynchronize ());
  g_assert_cmpint (cu->cuStreamSynchronize (bench.stream), ==, 719);
  g_assert_cmpint (cu->cuStreamQuery (bench.stream), ==, 719);

  /* One that is gone when it is due is not missed, even by a context that lies where it lay. */
  g_assert_cmpint (control->inject_break ("cuCtxSynchronize", 1, second, 700), ==, 0);
  memra_test_assert_cu (cu->cuCtxDestroy_v2 (second));
  memra_test_assert_cu (cu->cuCtxCreate_v2 (&second, 0, 0));
  g_assert_cmpint (cu->cuCtxSynchronize (), ==, 700);
  memra_test_assert_cu (cu->cuCtxSynchronize ());
  memra_test_assert_cu (cu->cuCtxDestroy_v2 (second));
}

/* What the environment says of memory, of two programs: one that can read it and one that cannot. */
static void
test_environment_subprocess (void)
{
  const HostApi *cu;
  gsize bytes = 0;

  if (g_getenv ("MEMRA_HOST_MEMORY") == NULL)
    return;
  cu = host_api_get ();
  memra_test_assert_cu (cu->cuInit (0));
  memra_test_assert_cu (cu->cuDeviceTotalMem_v2 (&bytes, 0));
  g_print ("%" G_GSIZE_FORMAT " bytes\n", bytes);
}

static void
test_environment (void)
{
  if (!memra_test_need_host ())
    return;
  g_setenv ("MEMRA_HOST_MEMORY", "123456789", TRUE);
  g_test_trap_subprocess ("/host-driver/environment/subprocess", 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stdout ("*123456789 bytes*");
  g_setenv ("MEMRA_HOST_MEMORY", "plenty", TRUE);
  g_test_trap_subprocess ("/host-driver/environment/subprocess", 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*cannot read MEMRA_HOST_MEMORY=plenty*");
  g_test_trap_assert_stdout ("*8589934592 bytes*");
  g_unsetenv ("MEMRA_HOST_MEMORY");
}

static void
add_tests (void)
{
  memra_test_add ("/host-driver/devices", test_devices);
  memra_test_add ("/host-driver/contexts", test_contexts);
  memra_test_add ("/host-driver/versions", test_versions);
  memra_test_add ("/host-driver/streams", test_streams);
  memra_test_add ("/host-driver/modules", test_modules);
  memra_test_add ("/host-driver/kernels", test_kernels);
  memra_test_add ("/host-driver/controls", test_controls);
  memra_test_add ("/host-driver/environment", test_environment);
  memra_test_add ("/host-driver/environment/subprocess", test_environment_subprocess);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
