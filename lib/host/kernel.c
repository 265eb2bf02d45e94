/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kernel.c: launching kernels. A launch runs block by block on one thread; its arguments are copied at the call.
 */
#include "core-private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* CUlaunchAttributeID */
enum
{
  ATTRIBUTE_IGNORE = 0,
  ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
  ATTRIBUTE_COOPERATIVE = 2,
  ATTRIBUTE_CLUSTER_DIMENSION = 4,
  ATTRIBUTE_CLUSTER_SCHEDULING = 5,
  ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6,
  ATTRIBUTE_PROGRAMMATIC_EVENT = 7,
  ATTRIBUTE_PRIORITY = 8,
  ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9,
  ATTRIBUTE_MEM_SYNC_DOMAIN = 10,
  ATTRIBUTE_PREFERRED_CLUSTER = 11,
  ATTRIBUTE_COMPLETION_EVENT = 12,
  ATTRIBUTE_DEVICE_UPDATABLE = 13,
  ATTRIBUTE_CARVEOUT = 14
};

#define MAX_BLOCK_Z 64
#define MAX_GRID_YZ 65535

/* The function of a handle, which may be a kernel's, then it is that of the current context; and its kernel, if any. */
static McuResult
resolve (CUfunction handle, HostFunction **function, HostKernel **kern)
{
  HostContext *context;
  McuResult result;

  *kern = NULL;
  if (!host_object_is_live (handle, HOST_KIND_KERNEL))
    {
      result = host_function_get (handle, function);
      if (result == MCU_SUCCESS)
        *kern = (*function)->kern;
      return result;
    }
  *kern = (HostKernel *) (void *) handle;
  result = host_context_current (&context);
  if (result == MCU_SUCCESS)
    *function = host_kernel_function (*kern, context);
  return result;
}

static McuResult
check_shape (const HostFunction *function, const unsigned grid[3], const unsigned block[3], unsigned shared_bytes)
{
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > INT_MAX || grid[1] > MAX_GRID_YZ
      || grid[2] > MAX_GRID_YZ)
    {
      host_log ("The grid %ux%ux%u has no block or too many", grid[0], grid[1], grid[2]);
      return MCU_ERROR_INVALID_VALUE;
    }
  if (block[0] == 0 || block[1] == 0 || block[2] == 0 || block[0] > HOST_MAX_BLOCK_THREADS
      || block[1] > HOST_MAX_BLOCK_THREADS || block[2] > MAX_BLOCK_Z
      || block[0] * block[1] * block[2] > HOST_MAX_BLOCK_THREADS)
    {
      host_log ("The block %ux%ux%u has no thread or too many", block[0], block[1], block[2]);
      return MCU_ERROR_INVALID_VALUE;
    }
  if (shared_bytes > (unsigned) function->max_dynamic_shared)
    {
      host_log ("%u bytes of dynamic shared memory are more than the function's limit, %d", shared_bytes,
                function->max_dynamic_shared);
      return MCU_ERROR_INVALID_VALUE;
    }
  return MCU_SUCCESS;
}

/* The buffer that `extra` names, or 1. */
static McuResult
read_extra (void **extra, const char **buffer, size_t *size)
{
  bool has_size = false;

  *buffer = NULL;
  *size = 0;
  for (; *extra != MCU_LAUNCH_PARAM_END; extra += 2)
    if (extra[0] == MCU_LAUNCH_PARAM_BUFFER_POINTER)
      *buffer = extra[1];
    else if (extra[0] == MCU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != NULL)
      {
        *size = *(size_t *) extra[1];
        has_size = true;
      }
    else
      return MCU_ERROR_INVALID_VALUE;
  return *buffer != NULL && has_size ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static void
point_extra (HostLaunch *launch)
{
  void *const extra[] = { MCU_LAUNCH_PARAM_BUFFER_POINTER, launch->args, MCU_LAUNCH_PARAM_BUFFER_SIZE,
                          &launch->packed_size, MCU_LAUNCH_PARAM_END };

  memcpy (launch->extra, extra, sizeof extra);
}

static McuResult
copy_args (HostLaunch *launch, void **params, void **extra)
{
  const MemraHostKernel *kernel = launch->function->kernel;
  const char *buffer = NULL;
  size_t size = 0;
  McuResult result;

  if (params != NULL && extra != NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (kernel->n_parameters == 0)
    return MCU_SUCCESS;
  if (params == NULL && extra == NULL)
    return MCU_ERROR_INVALID_VALUE;
  if (params != NULL)
    {
      for (uint32_t i = 0; i < kernel->n_parameters; i++)
        if (params[i] == NULL)
          return MCU_ERROR_INVALID_VALUE;
      for (uint32_t i = 0; i < kernel->n_parameters; i++)
        memcpy (launch->params[i], params[i], kernel->parameters[i].size);
      return MCU_SUCCESS;
    }
  result = read_extra (extra, &buffer, &size);
  if (result != MCU_SUCCESS)
    return result;
  if (size > launch->function->args_size)
    return MCU_ERROR_INVALID_VALUE;
  memcpy (launch->args, buffer, size);
  launch->packed_size = size;
  point_extra (launch);
  return MCU_SUCCESS;
}

/* A launch with room for arguments. */
static HostLaunch *
launch_new (HostFunction *function, HostKernel *kern)
{
  const MemraHostKernel *kernel = function->kernel;
  HostLaunch *launch = g_new0 (HostLaunch, 1);

  launch->function = host_object_ref (function);
  launch->kern = kern != NULL ? host_object_ref (kern) : NULL;
  launch->args = g_malloc0 (MAX (function->args_size, 1));
  launch->params = g_new0 (void *, (gsize) kernel->n_parameters + 1);
  for (uint32_t i = 0; i < kernel->n_parameters; i++)
    launch->params[i] = launch->args + kernel->parameters[i].offset;
  return launch;
}

/* *shapeless tells a launch that failed for its shape. */
static McuResult
make (HostLaunch **out, CUfunction handle, const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
      void **params, void **extra, bool *shapeless)
{
  HostFunction *function;
  HostKernel *kern;
  HostLaunch *launch;
  McuResult result = resolve (handle, &function, &kern);

  *shapeless = false;
  if (result == MCU_SUCCESS)
    {
      result = check_shape (function, grid, block, shared_bytes);
      *shapeless = result != MCU_SUCCESS;
    }
  if (result != MCU_SUCCESS)
    return result;
  launch = launch_new (function, kern);
  memcpy (launch->grid, grid, sizeof launch->grid);
  memcpy (launch->block, block, sizeof launch->block);
  launch->shared_bytes = shared_bytes;
  result = copy_args (launch, params, extra);
  if (result == MCU_SUCCESS)
    *out = launch;
  else
    host_launch_free (launch);
  return result;
}

McuResult
host_launch_new (HostLaunch **out, CUfunction handle, const unsigned grid[3], const unsigned block[3],
                 unsigned shared_bytes, void **params, void **extra)
{
  bool shapeless;

  return make (out, handle, grid, block, shared_bytes, params, extra, &shapeless);
}

HostLaunch *
host_launch_copy (const HostLaunch *from)
{
  HostLaunch *launch = launch_new (from->function, from->kern);
  char *args = launch->args;
  void **params = launch->params;

  *launch = *from;
  launch->args = args;
  launch->params = params;
  memcpy (args, from->args, from->function->args_size);
  if (from->extra[0] != NULL)
    point_extra (launch);
  return launch;
}

void
host_launch_free (HostLaunch *launch)
{
  host_object_unref (launch->function);
  host_object_unref (launch->kern);
  g_free (launch->args);
  g_free (launch->params);
  g_free (launch);
}

void
host_launch_run (const HostLaunch *launch)
{
  const MemraHostKernel *kernel = launch->function->kernel;
  MemraHostBlock block = {
    .grid = { launch->grid[0], launch->grid[1], launch->grid[2] },
    .block = { launch->block[0], launch->block[1], launch->block[2] },
    .shared_bytes = launch->shared_bytes,
    .shared = launch->shared_bytes > 0 ? g_malloc (launch->shared_bytes) : NULL,
  };

  for (block.index[2] = 0; block.index[2] < block.grid[2]; block.index[2]++)
    for (block.index[1] = 0; block.index[1] < block.grid[1]; block.index[1]++)
      for (block.index[0] = 0; block.index[0] < block.grid[0]; block.index[0]++)
        kernel->run (launch->params, &block);
  g_free (block.shared);
}

static McuResult
work_run (void *data)
{
  host_launch_run (data);
  return MCU_SUCCESS;
}

static void
work_free (void *data)
{
  host_launch_free (data);
}

/* Records or enqueues; takes the launch. */
static McuResult
submit (HostLaunch *launch, HostStream *stream)
{
  if (launch->function->module->context != stream->context)
    {
      host_log ("The function and the stream belong to different contexts");
      host_launch_free (launch);
      return MCU_ERROR_INVALID_HANDLE;
    }
  if (stream->capture != NULL)
    return host_capture_kernel (stream, launch);
  host_stream_enqueue (stream, host_op_new (work_run, launch, work_free));
  return MCU_SUCCESS;
}

/* The attributes of a launch that change what it means; those that only tune a GPU change nothing. */
static McuResult
apply_attribute (HostLaunch *launch, const HostLaunchAttribute *attribute)
{
  switch (attribute->id)
    {
    case ATTRIBUTE_COOPERATIVE: /* a host kernel has no means to wait for another block */
      launch->cooperative = attribute->u.value != 0;
      return MCU_SUCCESS;
    case ATTRIBUTE_CLUSTER_DIMENSION:
      for (int i = 0; i < 3; i++)
        {
          if (attribute->u.dim[i] == 0 || launch->grid[i] % attribute->u.dim[i] != 0)
            return 912; /* invalid cluster size */
          launch->cluster[i] = attribute->u.dim[i];
        }
      return MCU_SUCCESS;
    case ATTRIBUTE_PROGRAMMATIC_SERIALIZATION:
      launch->programmatic = attribute->u.value != 0;
      return MCU_SUCCESS;
    case ATTRIBUTE_PRIORITY:
      launch->priority = attribute->u.value;
      return MCU_SUCCESS;
    case ATTRIBUTE_IGNORE:
    case ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case ATTRIBUTE_CLUSTER_SCHEDULING:
    case ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case ATTRIBUTE_MEM_SYNC_DOMAIN:
    case ATTRIBUTE_PREFERRED_CLUSTER:
    case ATTRIBUTE_CARVEOUT:
      return MCU_SUCCESS;
    case ATTRIBUTE_PROGRAMMATIC_EVENT:
    case ATTRIBUTE_COMPLETION_EVENT:
    case ATTRIBUTE_DEVICE_UPDATABLE:
      return host_unsupported ("events and device-side updates of a launch");
    default:
      return MCU_ERROR_INVALID_VALUE;
    }
}

static McuResult
launch_kernel (const HostLaunchConfig *config, CUfunction function, void **params, void **extra)
{
  HostStream *stream;
  HostLaunch *launch;
  bool shapeless;
  McuResult result = host_stream_get_for_work (config->stream, &stream);

  if (result != MCU_SUCCESS)
    return result;
  result = make (&launch, function, config->grid, config->block, config->shared_bytes, params, extra, &shapeless);
  if (shapeless && stream->capture != NULL)
    host_capture_kernel_refused (stream);
  if (result != MCU_SUCCESS)
    return result;
  launch->priority = stream->priority;
  for (unsigned i = 0; i < config->n_attributes && result == MCU_SUCCESS; i++)
    result = apply_attribute (launch, &config->attributes[i]);
  if (result == MCU_SUCCESS)
    return submit (launch, stream);
  host_launch_free (launch);
  return result;
}

HOST_API McuResult
cuLaunchKernel (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
  McuResult result = host_enter (HOST_ENTRY_cuLaunchKernel);
  HostLaunchConfig config
      = { { grid_x, grid_y, grid_z }, { block_x, block_y, block_z }, shared_bytes, stream, NULL, 0 };

  if (result == MCU_SUCCESS)
    result = launch_kernel (&config, function, params, extra);
  return host_leave (HOST_ENTRY_cuLaunchKernel, result);
}

HOST_API McuResult
cuLaunchKernelEx (const HostLaunchConfig *config, CUfunction function, void **params, void **extra)
{
  McuResult result = host_enter (HOST_ENTRY_cuLaunchKernelEx);

  if (result == MCU_SUCCESS)
    {
      if (config == NULL || (config->n_attributes > 0 && config->attributes == NULL))
        result = MCU_ERROR_INVALID_VALUE;
      else
        result = launch_kernel (config, function, params, extra);
    }
  return host_leave (HOST_ENTRY_cuLaunchKernelEx, result);
}

HOST_API McuResult
cuLaunchCooperativeKernel (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **params)
{
  McuResult result = host_enter (HOST_ENTRY_cuLaunchCooperativeKernel);
  HostLaunchAttribute attribute = { .id = ATTRIBUTE_COOPERATIVE, .u.value = 1 };
  HostLaunchConfig config
      = { { grid_x, grid_y, grid_z }, { block_x, block_y, block_z }, shared_bytes, stream, &attribute, 1 };

  if (result == MCU_SUCCESS)
    result = launch_kernel (&config, function, params, NULL);
  return host_leave (HOST_ENTRY_cuLaunchCooperativeKernel, result);
}
