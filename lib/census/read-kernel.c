/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kernel nodes: name and layout once per function, geometry and arguments once per node. */
#include "config.h"

#include "reading-private.h"

#include <string.h>

/* More than any device takes (32,764 bytes); beyond it a layout is taken for nonsense. */
#define MAX_PARAMETER_BYTES (1024 * 1024)

/* A result that says that a handle is not of the kind that the call is for, or is not known by name. */
static gboolean
is_no_answer (McuResult result)
{
  return result == MCU_ERROR_INVALID_HANDLE || result == MCU_ERROR_NOT_FOUND;
}

const char *
_memra_kernel_name (MemraDriver *driver, const McuKernelNodeParams *params, McuResult *result)
{
  const char *name = NULL;

  *result = MCU_SUCCESS;
  if (params->func != NULL && driver->cu.cuFuncGetName != NULL)
    {
      *result = driver->cu.cuFuncGetName (&name, params->func);
      if (*result == MCU_SUCCESS && name != NULL)
        return name;
      if (*result != MCU_SUCCESS && !is_no_answer (*result))
        return NULL;
    }
  /* A CUkernel may also stand where a CUfunction should: launches take it. */
  if (driver->cu.cuKernelGetName != NULL && (params->kern != NULL || params->func != NULL))
    {
      *result = driver->cu.cuKernelGetName (&name, params->kern != NULL ? params->kern : (CUkernel) params->func);
      if (*result == MCU_SUCCESS && name != NULL)
        return name;
    }
  if (is_no_answer (*result))
    *result = MCU_SUCCESS;
  return NULL;
}

/* Name and demangled name. A driver below 12.3 names kernels in its debug dump only. */
static gboolean
name_function (MemraCensus *census, MemraFunction *function, guint32 number, const McuKernelNodeParams *params,
               GError **error)
{
  MemraReading *reading = census->reading;
  MemraDump *dump;
  McuResult result;
  const char *name = _memra_kernel_name (reading->driver, params, &result);
  g_autofree char *made = NULL;
  g_autofree char *demangled = NULL;

  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (reading->driver, error, result, "Could not get the name of the kernel of node %u",
                                    number);
  if (name == NULL || *name == '\0')
    {
      dump = _memra_reading_get_dump (reading);
      name = dump != NULL ? _memra_dump_get_kernel (dump, _memra_reading_handle (reading, number)) : NULL;
    }
  if (name == NULL)
    {
      name = made = g_strdup_printf ("kernel@%u", reading->n_unnamed++);
      _memra_census_add_hazard (
          census, "unnamed-kernel", number,
          "The driver does not tell the name of this kernel: it is called %s here, and cannot be told "
          "from another kernel that takes its place",
          name);
    }
  function->name = _memra_census_intern (census, name);
  demangled = _memra_demangle (function->name);
  function->demangled = demangled != NULL ? _memra_census_intern (census, demangled) : function->name;
  return TRUE;
}

static McuResult
get_parameter (MemraDriver *driver, const McuKernelNodeParams *params, gboolean as_kernel, gsize index, gsize *offset,
               gsize *size)
{
  if (as_kernel)
    return driver->cu.cuKernelGetParamInfo (params->kern != NULL ? params->kern : (CUkernel) params->func, index,
                                            offset, size);
  return driver->cu.cuFuncGetParamInfo (params->func, index, offset, size);
}

/* Pointers can be at multiples of 8. A struct that holds one is aligned like one, so a parameter that is not has none. */
static void
find_slots (MemraCensus *census, MemraFunction *function)
{
  guint32 *slots = _memra_arena_alloc (&census->arena, function->size / sizeof (guint64) * sizeof *slots);

  for (guint32 i = 0; i < function->n_parameters; i++)
    {
      const MemraParameter *parameter = &function->parameters[i];

      if (parameter->offset % sizeof (guint64) != 0)
        continue;
      for (guint32 at = 0; at + sizeof (guint64) <= parameter->size; at += sizeof (guint64))
        slots[function->n_slots++] = parameter->offset + at;
    }
  function->slots = slots;
}

/* Offset and size of every parameter. The first index that the driver refuses is the end of the list. */
static gboolean
lay_out_function (MemraCensus *census, MemraFunction *function, const McuKernelNodeParams *params, GError **error)
{
  MemraDriver *driver = census->reading->driver;
  g_autoptr (GArray) parameters = g_array_new (FALSE, FALSE, sizeof (MemraParameter));
  gboolean as_kernel = params->func == NULL;
  McuResult result = MCU_SUCCESS;
  gsize offset = 0, size = 0, end = 0;

  if (driver->cu.cuFuncGetParamInfo == NULL || driver->cu.cuKernelGetParamInfo == NULL)
    return TRUE;
  result = get_parameter (driver, params, as_kernel, 0, &offset, &size);
  if (!as_kernel && is_no_answer (result))
    result = get_parameter (driver, params, as_kernel = TRUE, 0, &offset, &size);
  while (result == MCU_SUCCESS)
    {
      MemraParameter parameter = { .offset = (guint32) offset, .size = (guint32) size };

      if (size == 0 || offset < end || offset > MAX_PARAMETER_BYTES || size > MAX_PARAMETER_BYTES)
        return TRUE; /* nonsense: better no layout than a wrong one */
      end = offset + size;
      g_array_append_val (parameters, parameter);
      result = get_parameter (driver, params, as_kernel, parameters->len, &offset, &size);
    }
  if (is_no_answer (result))
    return TRUE;
  if (result != MCU_ERROR_INVALID_VALUE)
    return _memra_driver_set_error (driver, error, result, "Could not get the arguments' layout of kernel %s",
                                    function->name);

  function->layout_known = TRUE;
  function->n_parameters = parameters->len;
  function->parameters
      = _memra_arena_copy (&census->arena, parameters->data, parameters->len * sizeof (MemraParameter));
  function->size = (guint32) end;
  find_slots (census, function);
  return TRUE;
}

static MemraFunction *
find_function (MemraCensus *census, guint32 number, const McuKernelNodeParams *params, GError **error)
{
  MemraReading *reading = census->reading;
  gpointer handle = params->func != NULL ? (gpointer) params->func : (gpointer) params->kern;
  MemraFunction *function;
  guint32 index;

  if (G_LIKELY (_memra_map_lookup (&reading->functions, GPOINTER_TO_SIZE (handle), &index)))
    return reading->function_list->pdata[index];

  function = _memra_arena_alloc (&census->arena, sizeof *function);
  memset (function, 0, sizeof *function);
  if (!name_function (census, function, number, params, error) || !lay_out_function (census, function, params, error))
    return NULL;
  if (handle != NULL)
    _memra_map_insert (&reading->functions, GPOINTER_TO_SIZE (handle), reading->function_list->len);
  g_ptr_array_add (reading->function_list, function);
  return function;
}

/* The packed form of a launch's arguments: {POINTER, buffer, SIZE, &size, END}. */
static gconstpointer
unpack_extra (void **extra, gsize *size)
{
  gconstpointer buffer = NULL;

  *size = 0;
  for (guint i = 0; i < 4 && extra[i] != MCU_LAUNCH_PARAM_END; i += 2)
    if (extra[i] == MCU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[i + 1];
    else if (extra[i] == MCU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1] != NULL)
      *size = *(const gsize *) extra[i + 1];
  if (buffer == NULL || *size > MAX_PARAMETER_BYTES)
    *size = 0;
  return buffer;
}

/* The same function for a node whose bytes do not fit its layout. */
static MemraFunction *
without_layout (MemraCensus *census, const MemraFunction *function)
{
  MemraFunction *other = _memra_arena_copy (&census->arena, function, sizeof *function);

  other->layout_known = FALSE;
  other->n_parameters = 0;
  other->parameters = NULL;
  other->size = 0;
  other->n_slots = 0;
  other->slots = NULL;
  return other;
}

/* Nearly all parameters are pointers and numbers, for which a call of memcpy() would take longer than the copy. */
static inline void
copy_parameter (guint8 *to, gconstpointer from, guint32 size)
{
  if (G_UNLIKELY (from == NULL))
    return;
  if (size == 8)
    memcpy (to, from, 8);
  else if (size == 4)
    memcpy (to, from, 4);
  else
    memcpy (to, from, size);
}

/* Copies the parameter buffer. What the driver hands out is only read. */
static void
read_bytes (MemraCensus *census, MemraKernelNode *kernel, const McuKernelNodeParams *params)
{
  const MemraFunction *function = kernel->function;
  guint8 *bytes;

  if (params->extra != NULL)
    {
      gsize size;
      gconstpointer packed = unpack_extra (params->extra, &size);

      if (function->layout_known && size >= function->size)
        size = function->size;
      else if (function->layout_known)
        kernel->function = without_layout (census, function);
      kernel->n_bytes = (guint32) size;
      kernel->bytes = size > 0 ? _memra_arena_copy (&census->arena, packed, size) : NULL;
      return;
    }
  if (function->size == 0) /* no arguments, or no layout */
    return;
  if (params->kernel_params == NULL)
    {
      kernel->function = without_layout (census, function);
      return;
    }

  bytes = _memra_arena_alloc (&census->arena, function->size);
  memset (bytes, 0, function->size);
  for (guint32 i = 0; i < function->n_parameters; i++)
    copy_parameter (bytes + function->parameters[i].offset, params->kernel_params[i], function->parameters[i].size);
  kernel->bytes = bytes;
  kernel->n_bytes = function->size;
}

/* A value that was not met before: out of the way of those that were. */
static __attribute__ ((noinline)) gboolean
find_new (MemraCensus *census, const MemraKernelNode *kernel, guint64 value, guint32 at, guint32 *buffer, GError **error)
{
  const MemraUser user = _memra_kernel_user (kernel, census->n_kernels - 1, at);
  guint64 offset;

  return _memra_reading_find (census, value, &user, buffer, &offset, error);
}

/* Looks whether there is a pointer at an offset in a kernel's parameter buffer, and adds it at the end. */
static inline gboolean
find_pointer (MemraCensus *census, const MemraKernelNode *kernel, guint32 at, MemraPointer **end, GError **error)
{
  guint64 value;
  guint32 buffer;

  memcpy (&value, kernel->bytes + at, sizeof value);
  if (!_memra_may_be_address (value))
    return TRUE;
  if (G_UNLIKELY (!_memra_map_lookup (&census->reading->values, value, &buffer))
      && !find_new (census, kernel, value, at, &buffer, error))
    return FALSE;
  if (buffer != MEMRA_NO_BUFFER)
    *(*end)++ = (MemraPointer){ .at = at,
                                .buffer = buffer,
                                .offset = value - g_array_index (census->allocations, MemraAllocation, buffer).start };
  return TRUE;
}

static gboolean
read_pointers (MemraCensus *census, MemraKernelNode *kernel, GError **error)
{
  const MemraFunction *function = kernel->function;
  guint32 n_slots = function->layout_known ? function->n_slots : kernel->n_bytes / (guint32) sizeof (guint64);
  gsize room = n_slots * sizeof (MemraPointer);
  MemraPointer *pointers, *end;

  if (n_slots == 0)
    return TRUE;
  /* Nothing else is taken from the arena meanwhile. */
  pointers = end = _memra_arena_alloc (&census->arena, room);
  for (guint32 i = 0; i < n_slots; i++)
    if (!find_pointer (census, kernel, function->layout_known ? function->slots[i] : i * (guint32) sizeof (guint64), &end, error))
      return FALSE;
  kernel->n_pointers = (guint32) (end - pointers);
  kernel->pointers = pointers;
  _memra_arena_trim (&census->arena, pointers, room, kernel->n_pointers * sizeof (MemraPointer));
  return TRUE;
}

static gboolean
read_kernel (MemraCensus *census, guint32 number, MemraKernelNode *kernel, GError **error)
{
  MemraReading *reading = census->reading;
  const MemraNode *node = _memra_census_node (census, number);
  const MemraFunction *function;
  McuKernelNodeParams params;
  McuResult result
      = _memra_driver_get_kernel_params (reading->driver, _memra_reading_handle (reading, number), &params);

  if (G_UNLIKELY (result != MCU_SUCCESS))
    return _memra_driver_set_error (reading->driver, error, result, "Could not get the parameters of kernel node %u",
                                    number);
  function = find_function (census, number, &params, error);
  if (G_UNLIKELY (function == NULL))
    return FALSE;

  *kernel = (MemraKernelNode){ .function = function,
                               .section = node->section,
                               .grid = { params.grid_x, params.grid_y, params.grid_z },
                               .block = { params.block_x, params.block_y, params.block_z },
                               .shared_bytes = params.shared_bytes,
                               .node = number,
                               .depth = node->depth };
  if (params.ctx != NULL)
    {
      if (reading->context == NULL)
        reading->context = params.ctx;
      else if (G_UNLIKELY (params.ctx != reading->context))
        _memra_census_note_foreign (census, number);
    }
  read_bytes (census, kernel, &params);
  return read_pointers (census, kernel, error);
}

static gboolean
read_node (MemraCensus *census, guint32 number, GError **error)
{
  MemraNode *node = _memra_census_node (census, number);

  switch (node->type)
    {
    case MCU_NODE_KERNEL:
      node->record = census->n_kernels;
      return read_kernel (census, number, &census->kernels[census->n_kernels++], error);
    case MCU_NODE_MEMCPY:
      return _memra_census_read_copy (census, number, error);
    case MCU_NODE_MEMSET:
      return _memra_census_read_fill (census, number, error);
    case MCU_NODE_MEM_ALLOC:
    case MCU_NODE_MEM_FREE:
      return _memra_census_read_memory_node (census, number, error);
    default:
      return TRUE;
    }
}

/* Back to a partial census, as the first step left it. */
static void
forget_kernels (MemraCensus *census, guint n_details)
{
  for (guint i = 0; i < census->nodes->len; i++)
    {
      MemraNode *node = _memra_census_node (census, i);

      if (node->type != MCU_NODE_GRAPH && node->type != MCU_NODE_CONDITIONAL)
        node->record = MEMRA_NO_RECORD;
    }
  g_clear_pointer (&census->kernels, g_free);
  census->n_kernels = 0;
  census->pageable_copy = MEMRA_NO_RECORD;
  g_array_set_size (census->details, n_details);
  g_array_set_size (census->copies, 0);
  g_array_set_size (census->hazards, 0);
  g_array_set_size (census->allocations, 0);
}

gboolean
_memra_census_read_kernels (MemraCensus *census, GError **error)
{
  guint n_kernels = memra_census_get_count (census, "kernel");
  guint n_details = census->details->len;
  gboolean success = TRUE;

  g_return_val_if_fail (census->reading != NULL, FALSE);

  census->kernels = g_new (MemraKernelNode, n_kernels);
  for (guint32 i = 0; i < census->nodes->len && success; i++)
    success = read_node (census, i, error);
  if (success)
    {
      census->n_allocations = census->allocations->len;
      _memra_census_list_names (census);
      _memra_census_find_hazards (census);
    }
  else
    forget_kernels (census, n_details);
  g_clear_pointer (&census->reading, _memra_reading_free);
  return success;
}
