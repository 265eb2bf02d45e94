/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Modules, kernels and launches. */
#include "config.h"

#include "device-private.h"

static MemraModule *
module_load (MemraContext *context, const char *path, gconstpointer image, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  const MemraDriverTable *cu = &context->driver->cu;
  MemraModule *module;
  CUmodule cuda = NULL;
  McuResult result;

  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    {
      _memra_thread_mode_relax (context->driver, &mode); /* before 12.3 loading is refused in stricter captures */
      result = path != NULL ? cu->cuModuleLoad (&cuda, path) : cu->cuModuleLoadData (&cuda, image);
    }
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (context->driver, error, result, "Could not load %s on device %d",
                               path != NULL ? path : "a module image", context->ordinal);
      return NULL;
    }
  module = g_new0 (MemraModule, 1);
  g_atomic_ref_count_init (&module->ref_count);
  module->context = memra_context_ref (context);
  module->cuda = cuda;
  return module;
}

/**
 * memra_module_load:
 * @context: a context
 * @path: a cubin, PTX or fatbin file; for the host driver a host module
 * @error: return location for an error
 *
 * Loads a module from a file. Any thread; breaks no capture.
 *
 * Errors: %MEMRA_DRIVER_ERROR_NOT_FOUND, _INVALID_IMAGE, _OUT_OF_MEMORY, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: (transfer full): the module
 *
 * Since: 0.1
 */
MemraModule *
memra_module_load (MemraContext *context, const char *path, GError **error)
{
  g_return_val_if_fail (context != NULL, NULL);
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return module_load (context, path, NULL, error);
}

/**
 * memra_module_load_data:
 * @context: a context
 * @image: a cubin, PTX (zero-terminated) or fatbin in memory; for the host driver a host module
 * @error: return location for an error
 *
 * Loads a module from memory, which can be freed on return. Any thread; breaks no capture.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_IMAGE, _OUT_OF_MEMORY, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: (transfer full): the module
 *
 * Since: 0.1
 */
MemraModule *
memra_module_load_data (MemraContext *context, gconstpointer image, GError **error)
{
  g_return_val_if_fail (context != NULL, NULL);
  g_return_val_if_fail (image != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return module_load (context, NULL, image, error);
}

/**
 * memra_module_ref:
 * @module: a module
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @module
 *
 * Since: 0.1
 */
MemraModule *
memra_module_ref (MemraModule *module)
{
  g_return_val_if_fail (module != NULL, NULL);

  g_atomic_ref_count_inc (&module->ref_count);
  return module;
}

/**
 * memra_module_unref:
 * @module: (transfer full) (nullable): a module
 *
 * Drops a reference; the last one unloads the module. Its kernels hold references, and so does every capture that
 * launched one of them through memra_kernel_launch(). Any thread; breaks no capture.
 *
 * Since: 0.1
 */
void
memra_module_unref (MemraModule *module)
{
  g_auto (MemraCurrent) current = { 0 };
  g_auto (MemraThreadMode) mode = { 0 };
  McuResult result;

  if (module == NULL || !g_atomic_ref_count_dec (&module->ref_count))
    return;

  result = _memra_context_enter (module->context, &current);
  _memra_thread_mode_relax (module->context->driver, &mode); /* unloading is refused in stricter captures */
  if (result == MCU_SUCCESS)
    result = module->context->driver->cu.cuModuleUnload (module->cuda);
  if (result != MCU_SUCCESS)
    g_debug ("unloading a module answered %d", result);
  _memra_thread_mode_restore (&mode);
  _memra_context_leave (&current);
  memra_context_unref (module->context);
  g_free (module);
}

/**
 * memra_module_get_cuda_module:
 * @module: a module
 *
 * Gets the CUmodule, for calls of one's own.
 *
 * Returns: (transfer none): the handle
 *
 * Since: 0.1
 */
struct CUmod_st *
memra_module_get_cuda_module (MemraModule *module)
{
  g_return_val_if_fail (module != NULL, NULL);

  return module->cuda;
}

static gint
count_arguments (const MemraDriverTable *cu, CUfunction function)
{
  gsize offset, size;
  gint n = 0;
  McuResult result;

  if (cu->cuFuncGetParamInfo == NULL)
    return -1;
  while ((result = cu->cuFuncGetParamInfo (function, n, &offset, &size)) == MCU_SUCCESS)
    n++;
  return result == MCU_ERROR_INVALID_VALUE ? n : -1; /* past the end; anything else says nothing about their number */
}

/**
 * memra_module_get_kernel:
 * @module: a module
 * @name: the kernel's symbol
 * @error: return location for an error
 *
 * Looks a kernel up. Any thread; legal under capture.
 *
 * Errors: %MEMRA_DRIVER_ERROR_NOT_FOUND, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: (transfer full): the kernel
 *
 * Since: 0.1
 */
MemraKernel *
memra_module_get_kernel (MemraModule *module, const char *name, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  const MemraDriverTable *cu;
  MemraKernel *kernel;
  CUfunction function = NULL;
  McuResult result;

  g_return_val_if_fail (module != NULL, NULL);
  g_return_val_if_fail (name != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  cu = &module->context->driver->cu;
  result = _memra_context_enter (module->context, &current);
  if (result == MCU_SUCCESS)
    result = cu->cuModuleGetFunction (&function, module->cuda, name);
  if (result != MCU_SUCCESS)
    {
      _memra_driver_set_error (module->context->driver, error, result, "Could not find kernel ‘%s’ in the module", name);
      return NULL;
    }
  kernel = g_new0 (MemraKernel, 1);
  g_atomic_ref_count_init (&kernel->ref_count);
  kernel->module = memra_module_ref (module);
  kernel->cuda = function;
  kernel->name = g_strdup (name);
  kernel->n_arguments = count_arguments (cu, function);
  return kernel;
}

/**
 * memra_kernel_ref:
 * @kernel: a kernel
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @kernel
 *
 * Since: 0.1
 */
MemraKernel *
memra_kernel_ref (MemraKernel *kernel)
{
  g_return_val_if_fail (kernel != NULL, NULL);

  g_atomic_ref_count_inc (&kernel->ref_count);
  return kernel;
}

/**
 * memra_kernel_unref:
 * @kernel: (transfer full) (nullable): a kernel
 *
 * Drops a reference. Any thread.
 *
 * Since: 0.1
 */
void
memra_kernel_unref (MemraKernel *kernel)
{
  if (kernel == NULL || !g_atomic_ref_count_dec (&kernel->ref_count))
    return;
  memra_module_unref (kernel->module);
  g_free (kernel->name);
  g_free (kernel);
}

/**
 * memra_kernel_get_name:
 * @kernel: a kernel
 *
 * Gets the symbol that the kernel was looked up by.
 *
 * Returns: (transfer none): the name, owned by @kernel
 *
 * Since: 0.1
 */
const char *
memra_kernel_get_name (MemraKernel *kernel)
{
  g_return_val_if_fail (kernel != NULL, NULL);

  return kernel->name;
}

/**
 * memra_kernel_get_cuda_function:
 * @kernel: a kernel
 *
 * Gets the CUfunction, for calls of one's own.
 *
 * Returns: (transfer none): the handle
 *
 * Since: 0.1
 */
struct CUfunc_st *
memra_kernel_get_cuda_function (MemraKernel *kernel)
{
  g_return_val_if_fail (kernel != NULL, NULL);

  return kernel->cuda;
}

/**
 * memra_kernel_get_n_arguments:
 * @kernel: a kernel
 *
 * Gets how many arguments the kernel takes.
 *
 * Returns: the number, or -1 if the driver (below 12.4) does not tell
 *
 * Since: 0.1
 */
gint
memra_kernel_get_n_arguments (MemraKernel *kernel)
{
  g_return_val_if_fail (kernel != NULL, -1);

  return kernel->n_arguments;
}

static void
ref_kernel (gpointer kernel)
{
  memra_kernel_ref (kernel);
}

static void
unref_kernel (gpointer kernel)
{
  memra_kernel_unref (kernel);
}

/**
 * memra_kernel_launch:
 * @kernel: a kernel
 * @stream: the stream to launch into
 * @grid: blocks
 * @block: threads per block
 * @shared_bytes: dynamic shared memory per block, in bytes
 * @arguments: (array length=n_arguments) (nullable): pointers to the arguments' values, which are copied at the call
 * @n_arguments: number of arguments; checked where the driver (12.4) tells how many there are
 * @error: return location for an error
 *
 * Enqueues a launch. Legal under capture, where it is recorded and the capture keeps the kernel's module loaded; the
 * memory behind pointer arguments is kept by acquiring its buffers. Any thread.
 *
 * Errors: %MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, _WRONG_CONTEXT, _CAPTURE_BROKEN, _BROKEN_CONTEXT, _FAILED.
 *
 * Returns: %TRUE on success
 *
 * Since: 0.1
 */
gboolean
memra_kernel_launch (MemraKernel *kernel, MemraStream *stream, const MemraDim3 *grid, const MemraDim3 *block, guint32 shared_bytes,
                     gconstpointer *arguments, guint n_arguments, GError **error)
{
  g_auto (MemraCurrent) current = { 0 };
  MemraContext *context;
  MemraRecording *recording;
  McuResult result;

  g_return_val_if_fail (kernel != NULL, FALSE);
  g_return_val_if_fail (stream != NULL, FALSE);
  g_return_val_if_fail (grid != NULL && block != NULL, FALSE);
  g_return_val_if_fail (arguments != NULL || n_arguments == 0, FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  context = kernel->module->context;
  if (!_memra_context_require_same (context, "kernel", stream->context, "stream", error))
    return FALSE;
  if (kernel->n_arguments >= 0 && (guint) kernel->n_arguments != n_arguments)
    return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, "Could not launch %s: it takes %d arguments, not %u",
                                 kernel->name, kernel->n_arguments, n_arguments);

  result = _memra_context_enter (context, &current);
  if (result == MCU_SUCCESS)
    result = context->driver->cu.cuLaunchKernel (kernel->cuda, grid->x, grid->y, grid->z, block->x, block->y, block->z,
                                                 shared_bytes, stream->cuda, (void **) arguments, NULL);
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (context->driver, error, result, "Could not launch %s", kernel->name);

  recording = _memra_stream_find_recording (stream);
  if (recording != NULL)
    _memra_recording_retain (recording, kernel, ref_kernel, unref_kernel, kernel);
  return TRUE;
}
