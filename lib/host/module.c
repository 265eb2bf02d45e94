/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * module.c: modules and their functions. Two loads of one file are two modules with functions of their own.
 */
#include "core-private.h"

#include <string.h>

static void
function_finalize (HostObject *object)
{
  HostFunction *function = (HostFunction *) object;

  host_image_unref (function->image);
  g_free (function);
}

static void
module_finalize (HostObject *object)
{
  HostModule *module = (HostModule *) object;

  g_ptr_array_free (module->functions, TRUE);
  host_image_unref (module->image);
  host_object_unref (module->context);
  g_free (module);
}

size_t
host_kernel_args_size (const MemraHostKernel *kernel)
{
  size_t size = 0;

  for (uint32_t i = 0; i < kernel->n_parameters; i++)
    size = MAX (size, (size_t) kernel->parameters[i].offset + kernel->parameters[i].size);
  return size;
}

McuResult
host_kernel_param_info (const MemraHostKernel *kernel, size_t index, size_t *offset, size_t *size)
{
  if (offset == NULL || index >= kernel->n_parameters)
    return MCU_ERROR_INVALID_VALUE;
  *offset = kernel->parameters[index].offset;
  if (size != NULL)
    *size = kernel->parameters[index].size;
  return MCU_SUCCESS;
}

static HostFunction *
function_new (HostModule *module, const MemraHostKernel *kernel)
{
  HostFunction *function = g_new0 (HostFunction, 1);

  host_object_init (&function->object, HOST_KIND_FUNCTION, function_finalize);
  function->module = module;
  function->image = host_image_ref (module->image);
  function->kernel = kernel;
  function->args_size = host_kernel_args_size (kernel);
  function->max_dynamic_shared = HOST_DEFAULT_DYNAMIC_SHARED;
  function->preferred_carveout = -1;
  return function;
}

HostModule *
host_module_new (HostContext *context, HostImage *image, HostLibrary *library)
{
  HostModule *module = g_new0 (HostModule, 1);

  host_object_init (&module->object, HOST_KIND_MODULE, module_finalize);
  module->context = host_object_ref (context);
  module->image = host_image_ref (image);
  module->library = library;
  module->functions = g_ptr_array_new ();
  for (uint32_t i = 0; i < image->module->n_kernels; i++)
    g_ptr_array_add (module->functions, function_new (module, &image->module->kernels[i]));
  return module;
}

/* Launches under way, and recorded ones, hold their function, and so the code. */
void
host_module_unload (HostModule *module)
{
  for (guint i = 0; i < module->functions->len; i++)
    host_object_destroy (g_ptr_array_index (module->functions, i));
  g_ptr_array_set_size (module->functions, 0);
  host_object_destroy (module);
}

static void
unload_in_context (void *object, void *data)
{
  HostModule *module = object;

  if (module->context != data)
    return;
  if (module->library != NULL)
    g_ptr_array_remove_fast (module->library->modules, module);
  host_module_unload (module);
}

void
host_modules_forget_context (HostContext *context)
{
  host_object_foreach (HOST_KIND_MODULE, unload_in_context, context);
}

static McuResult
load (HostEntry entry, CUmodule *out, const char *path, const void *data)
{
  HostContext *context;
  HostImage *image;
  McuResult result;

  if (out == NULL)
    return MCU_ERROR_INVALID_VALUE;
  result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    result = host_capture_check (entry, context);
  if (result == MCU_SUCCESS && host_device_available (context->device) == 0)
    result = MCU_ERROR_OUT_OF_MEMORY;
  if (result != MCU_SUCCESS)
    return result;
  host_object_ref (context);
  result = host_image_load (path, data, &image);
  if (result == MCU_SUCCESS)
    {
      result = host_context_health (context);
      if (result == MCU_SUCCESS)
        *out = host_module_new (context, image, NULL);
      host_image_unref (image);
    }
  host_object_unref (context);
  return result;
}

HOST_API McuResult
cuModuleLoad (CUmodule *module, const char *path)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleLoad);

  if (result == MCU_SUCCESS)
    result = load (HOST_ENTRY_cuModuleLoad, module, path, NULL);
  return host_leave (HOST_ENTRY_cuModuleLoad, result);
}

HOST_API McuResult
cuModuleLoadData (CUmodule *module, const void *image)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleLoadData);

  if (result == MCU_SUCCESS)
    result = load (HOST_ENTRY_cuModuleLoadData, module, NULL, image);
  return host_leave (HOST_ENTRY_cuModuleLoadData, result);
}

/* The options are for the compiler of assembly text, and there is none. */
HOST_API McuResult
cuModuleLoadDataEx (CUmodule *module, const void *image, unsigned count, int *options, void **values)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleLoadDataEx);

  (void) values;
  if (result == MCU_SUCCESS)
    {
      if (count > 0 && options == NULL)
        result = MCU_ERROR_INVALID_VALUE;
      else
        result = load (HOST_ENTRY_cuModuleLoadDataEx, module, NULL, image);
    }
  return host_leave (HOST_ENTRY_cuModuleLoadDataEx, result);
}

HOST_API McuResult
cuModuleLoadFatBinary (CUmodule *module, const void *image)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleLoadFatBinary);

  if (result == MCU_SUCCESS)
    result = load (HOST_ENTRY_cuModuleLoadFatBinary, module, NULL, image);
  return host_leave (HOST_ENTRY_cuModuleLoadFatBinary, result);
}

static McuResult
module_get (CUmodule module)
{
  return host_object_is_live (module, HOST_KIND_MODULE) ? MCU_SUCCESS : MCU_ERROR_INVALID_HANDLE;
}

HOST_API McuResult
cuModuleUnload (CUmodule module)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleUnload);

  if (result == MCU_SUCCESS)
    result = module_get (module);
  if (result == MCU_SUCCESS && module->library != NULL)
    result = MCU_ERROR_NOT_PERMITTED; /* the library's to unload */
  if (result == MCU_SUCCESS)
    result = host_capture_check (HOST_ENTRY_cuModuleUnload, module->context);
  if (result == MCU_SUCCESS)
    host_module_unload (module);
  return host_leave (HOST_ENTRY_cuModuleUnload, result);
}

static McuResult
get_function (CUfunction *function, HostModule *module, const char *name)
{
  if (function == NULL || name == NULL)
    return MCU_ERROR_INVALID_VALUE;
  *function = NULL;
  for (guint i = 0; i < module->functions->len; i++)
    {
      HostFunction *each = g_ptr_array_index (module->functions, i);

      if (strcmp (each->kernel->name, name) == 0)
        {
          *function = each;
          return MCU_SUCCESS;
        }
    }
  return MCU_ERROR_NOT_FOUND;
}

HOST_API McuResult
cuModuleGetFunction (CUfunction *function, CUmodule module, const char *name)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleGetFunction);

  if (result == MCU_SUCCESS)
    result = module_get (module);
  if (result == MCU_SUCCESS)
    result = get_function (function, module, name);
  return host_leave (HOST_ENTRY_cuModuleGetFunction, result);
}

HOST_API McuResult
cuModuleGetFunctionCount (unsigned *count, CUmodule module)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleGetFunctionCount);

  if (result == MCU_SUCCESS)
    result = count != NULL ? module_get (module) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    *count = module->functions->len;
  return host_leave (HOST_ENTRY_cuModuleGetFunctionCount, result);
}

HOST_API McuResult
cuModuleEnumerateFunctions (CUfunction *functions, unsigned count, CUmodule module)
{
  McuResult result = host_enter (HOST_ENTRY_cuModuleEnumerateFunctions);

  if (result == MCU_SUCCESS)
    result = functions != NULL || count == 0 ? module_get (module) : MCU_ERROR_INVALID_VALUE;
  if (result == MCU_SUCCESS)
    for (unsigned i = 0; i < MIN (count, module->functions->len); i++)
      functions[i] = g_ptr_array_index (module->functions, i);
  return host_leave (HOST_ENTRY_cuModuleEnumerateFunctions, result);
}
