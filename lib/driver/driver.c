/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loading libcuda.so.1 and its entry points. */
#include "config.h"

#include "driver-private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define MEMRA_DRIVER_MINIMUM 11040

typedef enum
{
  OPTIONAL,
  REQUIRED
} EntryNeed;

typedef struct
{
  EntryNeed need;
  const char *field;
  const char *base;
  int version;
  const char *symbol;
  gsize offset; /* of the field in MemraDriverTable */
} Entry;

static const Entry entries[] = {
#define DRIVER_ENTRY(need, field, base, version, symbol, params)                                                       \
  { need, #field, base, version, symbol, offsetof (MemraDriverTable, field) },
  MEMRA_DRIVER_ENTRIES (DRIVER_ENTRY)
#undef DRIVER_ENTRY
};

/* The two ways of asking a driver for an entry point at an ABI version; both NULL before 11.3. */
typedef struct
{
  void *handle;
  McuGetProcAddressV1 v1;
  McuGetProcAddressV2 v2;
} Resolver;

static void *
resolve (const Resolver *resolver, const Entry *entry)
{
  void *pfn = NULL;
  int status = MCU_GET_PROC_SUCCESS;
  McuResult result = MCU_ERROR_NOT_FOUND;

  /* The legacy-stream flag is explicit, so that a NULL stream means the legacy stream however anyone was compiled. */
  if (resolver->v2 != NULL)
    result = resolver->v2 (entry->base, &pfn, entry->version, MCU_GET_PROC_LEGACY_STREAM, &status);
  else if (resolver->v1 != NULL)
    result = resolver->v1 (entry->base, &pfn, entry->version, MCU_GET_PROC_LEGACY_STREAM);

  if (result == MCU_SUCCESS && pfn != NULL && status == MCU_GET_PROC_SUCCESS)
    return pfn;
  return dlsym (resolver->handle, entry->symbol);
}

/* Fills the table; a required entry that is missing is the error, all of them named. */
static gboolean
fill_table (MemraDriver *driver, const Resolver *resolver, GError **error)
{
  g_autoptr (GString) missing = g_string_new (NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      const Entry *entry = &entries[i];
      void *pfn = entry->version <= driver->version ? resolve (resolver, entry) : NULL;

      memcpy ((char *) &driver->cu + entry->offset, &pfn, sizeof pfn);
      if (pfn == NULL && entry->need == REQUIRED)
        g_string_append_printf (missing, "%s%s", missing->len > 0 ? ", " : "", entry->symbol);
    }
  if (missing->len == 0)
    return TRUE;

  return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_MISSING_ENTRY,
                               "Driver %s says it is version %d.%d but lacks %s; it is damaged, or something stands "
                               "before it in the library path",
                               driver->path, driver->version / 1000, driver->version % 1000 / 10, missing->str);
}

static gboolean
initialise (MemraDriver *driver, const Resolver *resolver, GError **error)
{
  McuResult (*init) (unsigned) = (McuResult (*) (unsigned)) dlsym (driver->handle, "cuInit");
  McuResult (*get_version) (int *) = (McuResult (*) (int *)) dlsym (driver->handle, "cuDriverGetVersion");
  McuResult (*get_count) (int *) = (McuResult (*) (int *)) dlsym (driver->handle, "cuDeviceGetCount");
  McuResult result;

  if (init == NULL || get_version == NULL || get_count == NULL)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_MISSING_ENTRY,
                                 "%s is not a CUDA driver: it lacks cuInit, cuDriverGetVersion or cuDeviceGetCount",
                                 driver->path);

  /* So that errors of cuInit itself can be described. */
  driver->cu.cuGetErrorName = (McuResult (*) (int, const char **)) dlsym (driver->handle, "cuGetErrorName");
  driver->cu.cuGetErrorString = (McuResult (*) (int, const char **)) dlsym (driver->handle, "cuGetErrorString");

  result = init (0);
  if (result == MCU_ERROR_STUB_LIBRARY)
    {
      _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_STUB,
                            "%s is the CUDA toolkit's stub, not a driver (CUDA_ERROR_STUB_LIBRARY (34)); take the "
                            "toolkit's stubs folder out of the library path",
                            driver->path);
      if (error != NULL)
        _memra_driver_error_set_cuda_result (*error, result);
      return FALSE;
    }
  if (result == MCU_ERROR_NO_DEVICE)
    return _memra_driver_set_error (driver, error, result, "Driver %s found no device; see nvidia-smi and "
                                    "CUDA_VISIBLE_DEVICES, or use the host driver", driver->path);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, result, "Could not initialise driver %s", driver->path);

  result = get_version (&driver->version);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, result, "Could not ask driver %s for its version", driver->path);
  if (driver->version < MEMRA_DRIVER_MINIMUM)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_TOO_OLD,
                                 "Driver %s is version %d.%d; captures need 11.4 or later", driver->path,
                                 driver->version / 1000, driver->version % 1000 / 10);
  if (!fill_table (driver, resolver, error))
    return FALSE;

  result = get_count (&driver->n_devices);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, result, "Could not count the devices of driver %s", driver->path);
  if (driver->n_devices == 0)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_NO_DEVICE, "Driver %s has no device", driver->path);
  return TRUE;
}

/**
 * memra_driver_open:
 * @path: a driver, such as memra_host_driver_path(), or a bare soname to be looked up as dlopen(3) does
 * @error: return location for an error
 *
 * Loads and initialises a driver. Nothing in this library ever unloads one. A driver that carries the same soname as
 * one that is already loaded is only told apart by a @path with a slash in it.
 *
 * Errors: %MEMRA_DRIVER_ERROR_NO_DRIVER, _STUB, _NO_DEVICE, _TOO_OLD, _MISSING_ENTRY, _FAILED. A failure is not
 * remembered; calling again tries again. Any thread; legal under capture, as it touches no context.
 *
 * Returns: (transfer full): the driver
 *
 * Since: 0.1
 */
MemraDriver *
memra_driver_open (const char *path, GError **error)
{
  g_autoptr (MemraDriver) driver = NULL;
  MemraHostControlFunc get_control;
  Resolver resolver;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  driver = g_new0 (MemraDriver, 1);
  g_atomic_ref_count_init (&driver->ref_count);
  driver->path = g_strdup (path);
  driver->handle = dlopen (path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (driver->handle == NULL)
    {
      const char *reason = dlerror ();

      _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_NO_DRIVER,
                            "No CUDA driver: %s; install NVIDIA's driver, or use the host driver",
                            reason != NULL ? reason : path);
      return NULL;
    }

  get_control = (MemraHostControlFunc) dlsym (driver->handle, "memra_host_control");
  driver->host_control = get_control != NULL ? get_control () : NULL;
  driver->kind = driver->host_control != NULL ? MEMRA_DRIVER_HOST : MEMRA_DRIVER_CUDA;

  resolver.handle = driver->handle;
  resolver.v1 = (McuGetProcAddressV1) dlsym (driver->handle, "cuGetProcAddress");
  resolver.v2 = (McuGetProcAddressV2) dlsym (driver->handle, "cuGetProcAddress_v2");
  if (!initialise (driver, &resolver, error))
    return NULL;
  return g_steal_pointer (&driver);
}

/**
 * memra_driver_get_default:
 * @error: return location for an error
 *
 * Gets the driver that programs of this machine get: libcuda.so.1, found as dlopen(3) finds it. It is loaded once.
 * A program that also opens the host driver by its path must ask for the default driver first, since the dynamic
 * linker takes a library with that soname that is already loaded for the one asked for.
 *
 * Errors, threads and capture: as memra_driver_open().
 *
 * Returns: (transfer full): the driver
 *
 * Since: 0.1
 */
MemraDriver *
memra_driver_get_default (GError **error)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static MemraDriver *default_driver;
  MemraDriver *driver;

  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  pthread_mutex_lock (&lock);
  if (default_driver == NULL)
    default_driver = memra_driver_open ("libcuda.so.1", error);
  driver = default_driver != NULL ? memra_driver_ref (default_driver) : NULL;
  pthread_mutex_unlock (&lock);
  return driver;
}

/**
 * memra_driver_ref:
 * @driver: a driver
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @driver
 *
 * Since: 0.1
 */
MemraDriver *
memra_driver_ref (MemraDriver *driver)
{
  g_return_val_if_fail (driver != NULL, NULL);

  g_atomic_ref_count_inc (&driver->ref_count);
  return driver;
}

/**
 * memra_driver_unref:
 * @driver: (transfer full) (nullable): a driver
 *
 * Drops a reference. The shared object stays loaded. Any thread.
 *
 * Since: 0.1
 */
void
memra_driver_unref (MemraDriver *driver)
{
  if (driver == NULL || !g_atomic_ref_count_dec (&driver->ref_count))
    return;
  g_free (driver->path);
  g_free (driver);
}

/**
 * memra_driver_get_kind:
 * @driver: a driver
 *
 * Says whether this is NVIDIA's driver or the host driver.
 *
 * Returns: the kind
 *
 * Since: 0.1
 */
MemraDriverKind
memra_driver_get_kind (MemraDriver *driver)
{
  g_return_val_if_fail (driver != NULL, MEMRA_DRIVER_CUDA);

  return driver->kind;
}

/**
 * memra_driver_get_version:
 * @driver: a driver
 *
 * Gets the version of the driver's API, 1000 times major plus 10 times minor: 12040 for 12.4.
 *
 * Returns: the version
 *
 * Since: 0.1
 */
gint
memra_driver_get_version (MemraDriver *driver)
{
  g_return_val_if_fail (driver != NULL, 0);

  return driver->version;
}

/**
 * memra_driver_get_path:
 * @driver: a driver
 *
 * Gets the path or soname that the driver was opened by.
 *
 * Returns: (transfer none): the path, owned by @driver
 *
 * Since: 0.1
 */
const char *
memra_driver_get_path (MemraDriver *driver)
{
  g_return_val_if_fail (driver != NULL, NULL);

  return driver->path;
}

/**
 * memra_driver_get_n_devices:
 * @driver: a driver
 *
 * Gets the number of devices that the driver saw when it was opened, at least 1.
 *
 * Returns: the number of devices
 *
 * Since: 0.1
 */
gint
memra_driver_get_n_devices (MemraDriver *driver)
{
  g_return_val_if_fail (driver != NULL, 0);

  return driver->n_devices;
}

/**
 * memra_driver_dup_device_name:
 * @driver: a driver
 * @ordinal: a device, counted from 0
 * @error: return location for an error
 *
 * Gets a device's name, such as "NVIDIA H200". Errors: %MEMRA_DRIVER_ERROR_NO_DEVICE. Any thread; legal under capture.
 *
 * Returns: (transfer full): the name
 *
 * Since: 0.1
 */
char *
memra_driver_dup_device_name (MemraDriver *driver, gint ordinal, GError **error)
{
  char name[256] = "";
  CUdevice device;
  McuResult result;

  g_return_val_if_fail (driver != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  result = driver->cu.cuDeviceGet (&device, ordinal);
  if (result == MCU_SUCCESS)
    result = driver->cu.cuDeviceGetName (name, sizeof name, device);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (driver, error, result, "Could not get the name of device %d", ordinal);
      return NULL;
    }
  return g_utf8_make_valid (name, -1);
}

/**
 * memra_driver_has_entry:
 * @driver: a driver
 * @entry: an entry point by its base name, such as "cuGraphNodeGetParams", or by the symbol of one ABI of it, such as
 *   "cuStreamGetCaptureInfo_v3"
 *
 * Says whether the driver has an entry point that this library makes use of. Features hang on these: for instance
 * kernel names on "cuFuncGetName" (12.3) and argument sizes on "cuFuncGetParamInfo" (12.4).
 *
 * Returns: %TRUE if the driver has it, %FALSE if not or if this library does not know it
 *
 * Since: 0.1
 */
gboolean
memra_driver_has_entry (MemraDriver *driver, const char *entry)
{
  g_return_val_if_fail (driver != NULL, FALSE);
  g_return_val_if_fail (entry != NULL, FALSE);

  for (gsize i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      void *pfn;

      if (strcmp (entry, entries[i].base) != 0 && strcmp (entry, entries[i].symbol) != 0)
        continue;
      memcpy (&pfn, (const char *) &driver->cu + entries[i].offset, sizeof pfn);
      if (pfn != NULL)
        return TRUE;
    }
  return FALSE;
}

/**
 * memra_driver_get_host_control:
 * @driver: a driver
 *
 * Gets the controls of the host driver: faults, claimed version, number of devices, counters.
 *
 * Returns: (transfer none) (nullable): the controls, valid for the life of the process, or %NULL for NVIDIA's driver
 *
 * Since: 0.1
 */
const MemraHostControl *
memra_driver_get_host_control (MemraDriver *driver)
{
  g_return_val_if_fail (driver != NULL, NULL);

  return driver->host_control;
}

static pthread_once_t host_path_once = PTHREAD_ONCE_INIT;
static char host_path[4096];

/* Where the host driver may lie as seen from this very library: installed (also when the whole prefix was moved, as in a
 * bundle), and in a build tree. */
static void
find_host_path (void)
{
  static const char *const places[] = { "memra-capture/host/libcuda.so.1", "host/libcuda.so.1", "../host/.libs/libcuda.so.1" };
  Dl_info self;

  if (dladdr ((void *) find_host_path, &self) != 0 && self.dli_fname != NULL)
    {
      g_autofree char *directory = g_path_get_dirname (self.dli_fname);

      for (gsize i = 0; i < G_N_ELEMENTS (places); i++)
        {
          g_autofree char *candidate = g_build_filename (directory, places[i], NULL);

          /* Not canonical: the directory of the link, not of what it points to, is where the host driver's kernels are. */
          if (strlen (candidate) < sizeof host_path && g_file_test (candidate, G_FILE_TEST_EXISTS))
            {
              strcpy (host_path, candidate);
              return;
            }
        }
    }
  g_strlcpy (host_path, MEMRA_HOST_DRIVER_DIR "/libcuda.so.1", sizeof host_path);
}

/**
 * memra_host_driver_path:
 *
 * Gets the path of the host driver that belongs to this library, for memra_driver_open(). It is found from where the
 * library itself was loaded, else where it was configured to be installed; no environment variable names it.
 *
 * Returns: (transfer none): an absolute path, valid for the life of the process, whether or not the file exists
 *
 * Since: 0.1
 */
const char *
memra_host_driver_path (void)
{
  pthread_once (&host_path_once, find_host_path);
  return host_path;
}

McuResult
_memra_driver_get_kernel_params (MemraDriver *driver, CUgraphNode node, McuKernelNodeParams *params)
{
  memset (params, 0, sizeof *params);
  return driver->cu.cuGraphKernelNodeGetParams_v2 != NULL ? driver->cu.cuGraphKernelNodeGetParams_v2 (node, params)
                                                          : driver->cu.cuGraphKernelNodeGetParams (node, params);
}
