/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * library.c: libraries, which belong to no context, and their kernels.
 */
#include "core-private.h"

#include <string.h>

static void
kernel_finalize (HostObject *object)
{
  HostKernel *kernel = (HostKernel *) object;

  host_image_unref (kernel->image);
  g_free (kernel);
}

static void
library_finalize (HostObject *object)
{
  HostLibrary *library = (HostLibrary *) object;

  g_ptr_array_free (library->kernels, TRUE);
  g_ptr_array_free (library->modules, TRUE);
  host_image_unref (library->image);
  g_free (library);
}

static McuResult
load (HostEntry entry, CUlibrary *out, const char *path, const void *data)
{
  HostLibrary *library;
  HostImage *image;
  McuResult result;

  if (out == NULL)
    return MCU_ERROR_INVALID_VALUE;
  result = host_capture_check (entry, NULL);
  if (result == MCU_SUCCESS)
    result = host_image_load (path, data, &image);
  if (result != MCU_SUCCESS)
    return result;
  library = g_new0 (HostLibrary, 1);
  host_object_init (&library->object, HOST_KIND_LIBRARY, library_finalize);
  library->image = image;
  library->kernels = g_ptr_array_new ();
  library->modules = g_ptr_array_new ();
  for (uint32_t i = 0; i < image->module->n_kernels; i++)
    {
      HostKernel *kernel = g_new0 (HostKernel, 1);

      host_object_init (&kernel->object, HOST_KIND_KERNEL, kernel_finalize);
      kernel->library = library;
      kernel->image = host_image_ref (image);
      kernel->kernel = &image->module->kernels[i];
      kernel->max_dynamic_shared = -1;
      kernel->preferred_carveout = -1;
      g_ptr_array_add (library->kernels, kernel);
    }
  *out = library;
  return MCU_SUCCESS;
}

HOST_API McuResult
cuLibraryLoadData (CUlibrary *library, const void *image, int *jit_options, void **jit_values, unsigned n_jit_options,
                   int *options, void **values, unsigned n_options)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryLoadData);

  (void) jit_values;
  (void) values;
  if (result == MCU_SUCCESS)
    {
      if ((n_jit_options > 0 && jit_options == NULL) || (n_options > 0 && options == NULL))
        result = MCU_ERROR_INVALID_VALUE;
      else
        result = load (HOST_ENTRY_cuLibraryLoadData, library, NULL, image);
    }
  return host_leave (HOST_ENTRY_cuLibraryLoadData, result);
}

HOST_API McuResult
cuLibraryLoadFromFile (CUlibrary *library, const char *path, int *jit_options, void **jit_values,
                       unsigned n_jit_options, int *options, void **values, unsigned n_options)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryLoadFromFile);

  (void) jit_values;
  (void) values;
  if (result == MCU_SUCCESS)
    {
      if ((n_jit_options > 0 && jit_options == NULL) || (n_options > 0 && options == NULL))
        result = MCU_ERROR_INVALID_VALUE;
      else
        result = load (HOST_ENTRY_cuLibraryLoadFromFile, library, path, NULL);
    }
  return host_leave (HOST_ENTRY_cuLibraryLoadFromFile, result);
}

static McuResult
library_get (CUlibrary library)
{
  return host_object_is_live (library, HOST_KIND_LIBRARY) ? MCU_SUCCESS : MCU_ERROR_INVALID_HANDLE;
}

static McuResult
kernel_get (CUkernel kernel)
{
  if (kernel == NULL)
    return MCU_ERROR_INVALID_VALUE;
  return host_object_is_live (kernel, HOST_KIND_KERNEL) ? MCU_SUCCESS : MCU_ERROR_INVALID_HANDLE;
}

HOST_API McuResult
cuLibraryUnload (CUlibrary library)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryUnload);

  if (result == MCU_SUCCESS)
    result = library_get (library);
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuLibraryUnload, NULL);
  if (result == MCU_SUCCESS)
    {
      for (guint i = 0; i < library->modules->len; i++)
        host_module_unload (g_ptr_array_index (library->modules, i));
      for (guint i = 0; i < library->kernels->len; i++)
        host_object_destroy (g_ptr_array_index (library->kernels, i));
      host_object_destroy (library);
    }
  return host_leave (HOST_ENTRY_cuLibraryUnload, result);
}

HostModule *
host_library_module (HostLibrary *library, HostContext *context)
{
  HostModule *module;

  for (guint i = 0; i < library->modules->len; i++)
    {
      module = g_ptr_array_index (library->modules, i);
      if (module->context == context)
        return module;
    }
  module = host_module_new (context, library->image, library);
  g_ptr_array_add (library->modules, module);
  for (guint i = 0; i < module->functions->len; i++)
    {
      HostFunction *function = g_ptr_array_index (module->functions, i);
      HostKernel *kernel = g_ptr_array_index (library->kernels, i);

      function->kern = kernel;
      if (kernel->max_dynamic_shared >= 0)
        function->max_dynamic_shared = kernel->max_dynamic_shared;
      function->preferred_carveout = kernel->preferred_carveout;
    }
  return module;
}

HostFunction *
host_kernel_function (HostKernel *kernel, HostContext *context)
{
  HostModule *module = host_library_module (kernel->library, context);
  guint index = 0;

  while (g_ptr_array_index (kernel->library->kernels, index) != kernel)
    index++;
  return g_ptr_array_index (module->functions, index);
}

HOST_API McuResult
cuLibraryGetModule (CUmodule *module, CUlibrary library)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryGetModule);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = module != NULL ? library_get (library) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    *module = host_library_module (library, context);
  return host_leave (HOST_ENTRY_cuLibraryGetModule, result);
}

HOST_API McuResult
cuLibraryGetKernel (CUkernel *kernel, CUlibrary library, const char *name)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryGetKernel);

  if (result == MCU_SUCCESS)
    result = kernel != NULL && name != NULL ? library_get (library) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    {
      result = MCU_ERROR_NOT_FOUND;
      for (guint i = 0; i < library->kernels->len && result != MCU_SUCCESS; i++)
        {
          HostKernel *each = g_ptr_array_index (library->kernels, i);

          if (strcmp (each->kernel->name, name) == 0)
            {
              *kernel = each;
              result = MCU_SUCCESS;
            }
        }
    }
  return host_leave (HOST_ENTRY_cuLibraryGetKernel, result);
}

HOST_API McuResult
cuLibraryGetKernelCount (unsigned *count, CUlibrary library)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryGetKernelCount);

  if (result == MCU_SUCCESS)
    result = count != NULL ? library_get (library) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *count = library->kernels->len;
  return host_leave (HOST_ENTRY_cuLibraryGetKernelCount, result);
}

HOST_API McuResult
cuLibraryEnumerateKernels (CUkernel *kernels, unsigned count, CUlibrary library)
{
  McuResult result = host_enter (HOST_ENTRY_cuLibraryEnumerateKernels);

  if (result == MCU_SUCCESS)
    result = kernels != NULL || count == 0 ? library_get (library) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    for (unsigned i = 0; i < MIN (count, library->kernels->len); i++)
      kernels[i] = g_ptr_array_index (library->kernels, i);
  return host_leave (HOST_ENTRY_cuLibraryEnumerateKernels, result);
}

HOST_API McuResult
cuKernelGetFunction (CUfunction *function, CUkernel kernel)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelGetFunction);
  HostContext *context;

  if (result == MCU_SUCCESS)
    result = function != NULL ? kernel_get (kernel) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    *function = host_kernel_function (kernel, context);
  return host_leave (HOST_ENTRY_cuKernelGetFunction, result);
}

HOST_API McuResult
cuKernelGetLibrary (CUlibrary *library, CUkernel kernel)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelGetLibrary);

  if (result == MCU_SUCCESS)
    result = library != NULL ? kernel_get (kernel) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *library = kernel->library;
  return host_leave (HOST_ENTRY_cuKernelGetLibrary, result);
}

HOST_API McuResult
cuKernelGetName (const char **name, CUkernel kernel)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelGetName);

  if (result == MCU_SUCCESS)
    result = name != NULL ? kernel_get (kernel) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *name = kernel->kernel->name;
  return host_leave (HOST_ENTRY_cuKernelGetName, result);
}

HOST_API McuResult
cuKernelGetParamInfo (CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelGetParamInfo);

  if (result == MCU_SUCCESS)
    result = kernel_get (kernel);
  if (result == MCU_SUCCESS)
    result = host_kernel_param_info (kernel->kernel, index, offset, size);
  return host_leave (HOST_ENTRY_cuKernelGetParamInfo, result);
}

HOST_API McuResult
cuKernelGetParamCount (CUkernel kernel, size_t *count)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelGetParamCount);

  if (result == MCU_SUCCESS)
    result = count != NULL ? kernel_get (kernel) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *count = kernel->kernel->n_parameters;
  return host_leave (HOST_ENTRY_cuKernelGetParamCount, result);
}

HOST_API McuResult
cuKernelGetAttribute (int *value, int attribute, CUkernel kernel, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelGetAttribute);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = value != NULL ? kernel_get (kernel) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    result = host_device_get (ordinal, &device);
  if (result == MCU_SUCCESS)
    result = host_function_get_attribute (attribute, kernel->max_dynamic_shared, kernel->preferred_carveout, value);
  return host_leave (HOST_ENTRY_cuKernelGetAttribute, result);
}

/* Also for the functions that contexts already have of it. */
HOST_API McuResult
cuKernelSetAttribute (int attribute, int value, CUkernel kernel, CUdevice ordinal)
{
  McuResult result = host_enter (HOST_ENTRY_cuKernelSetAttribute);
  HostDevice *device;

  if (result == MCU_SUCCESS)
    result = kernel_get (kernel);
  if (result == MCU_SUCCESS)
    result = host_device_get (ordinal, &device);
  if (result == MCU_SUCCESS)
    result = host_function_set_attribute (attribute, value, &kernel->max_dynamic_shared, &kernel->preferred_carveout);
  if (result == MCU_SUCCESS)
    for (guint i = 0; i < kernel->library->modules->len; i++)
      {
        HostModule *module = g_ptr_array_index (kernel->library->modules, i);
        HostFunction *function = host_kernel_function (kernel, module->context);

        if (module->context->device == device)
          host_function_set_attribute (attribute, value, &function->max_dynamic_shared, &function->preferred_carveout);
      }
  return host_leave (HOST_ENTRY_cuKernelSetAttribute, result);
}
