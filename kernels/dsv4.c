/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bundled kernels' module, and the one way in which all of them are launched. */
#include "config.h"

#include "dsv4-private.h"

#include <dlfcn.h>

#define MAX_BLOCKS 65535

static const char *const kernel_names[MEMRA_DSV4_N_KERNELS] = {
  [MEMRA_DSV4_ADD_INPLACE] = "memra_dsv4_add_inplace",
  [MEMRA_DSV4_RMSNORM] = "memra_dsv4_rmsnorm",
  [MEMRA_DSV4_MATVEC] = "memra_dsv4_matvec",
  [MEMRA_DSV4_ROPE] = "memra_dsv4_rope",
  [MEMRA_DSV4_KV_APPEND] = "memra_dsv4_kv_append",
  [MEMRA_DSV4_ATTENTION] = "memra_dsv4_attention",
  [MEMRA_DSV4_ROUTE] = "memra_dsv4_route",
  [MEMRA_DSV4_EXPERT_MATVEC] = "memra_dsv4_expert_matvec",
  [MEMRA_DSV4_SILU_GATE] = "memra_dsv4_silu_gate",
  [MEMRA_DSV4_EXPERT_SUM] = "memra_dsv4_expert_sum",
  [MEMRA_DSV4_ADVANCE] = "memra_dsv4_advance",
};

/* The accesses of one launch; those that are not in use are all zero. */
typedef struct
{
  MemraAccess at[MEMRA_DSV4_MAX_OPERANDS];
} Accesses;

static void
accesses_clear (Accesses *accesses)
{
  for (gsize i = 0; i < G_N_ELEMENTS (accesses->at); i++)
    memra_access_clear (&accesses->at[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Accesses, accesses_clear)

/* The host driver's module lies beside the host driver itself, wherever that was loaded from. */
static MemraModule *
load_host_module (MemraContext *context, GError **error)
{
  g_autofree char *directory = NULL;
  g_autofree char *path = NULL;
  MemraDriver *driver = memra_context_get_driver (context);
  const char *driver_path = memra_driver_get_path (driver);
  Dl_info object;

  if (dladdr (memra_driver_get_host_control (driver), &object) != 0 && object.dli_fname != NULL)
    driver_path = object.dli_fname;
  directory = g_path_get_dirname (driver_path);
  path = g_build_filename (directory, "memra-dsv4.so", NULL);
  return memra_module_load (context, path, error);
}

static MemraModule *
load_gpu_module (MemraContext *context, GError **error)
{
  if (memra_dsv4_fatbin_size == 0)
    {
      _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_NOT_SUPPORTED,
                            "Could not load the bundled kernels: the library was built without GPU kernels, since its "
                            "configure found no nvcc; build it with --with-cuda=DIR, or use the host driver");
      return NULL;
    }
  return memra_module_load_data (context, memra_dsv4_fatbin, error);
}

/**
 * memra_dsv4_new:
 * @context: a context
 * @error: return location for an error
 *
 * Loads the kernels of the bundled decoder layer: on a GPU those built into the library, on the host driver those that
 * are installed beside it. Any thread; breaks no capture.
 *
 * Errors: %MEMRA_DRIVER_ERROR_NOT_SUPPORTED if the library was built without GPU kernels, and those of
 * memra_module_load_data() and memra_module_get_kernel().
 *
 * Returns: (transfer full): the kernels
 *
 * Since: 0.1
 */
MemraDsv4 *
memra_dsv4_new (MemraContext *context, GError **error)
{
  g_autoptr (MemraDsv4) dsv4 = NULL;
  gboolean on_host;

  g_return_val_if_fail (context != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  dsv4 = g_new0 (MemraDsv4, 1);
  g_atomic_ref_count_init (&dsv4->ref_count);
  on_host = memra_driver_get_kind (memra_context_get_driver (context)) == MEMRA_DRIVER_HOST;
  dsv4->module = on_host ? load_host_module (context, error) : load_gpu_module (context, error);
  if (dsv4->module == NULL)
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS (dsv4->kernels); i++)
    {
      dsv4->kernels[i] = memra_module_get_kernel (dsv4->module, kernel_names[i], error);
      if (dsv4->kernels[i] == NULL)
        return NULL;
    }
  return g_steal_pointer (&dsv4);
}

/**
 * memra_dsv4_ref:
 * @dsv4: the kernels
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @dsv4
 *
 * Since: 0.1
 */
MemraDsv4 *
memra_dsv4_ref (MemraDsv4 *dsv4)
{
  g_return_val_if_fail (dsv4 != NULL, NULL);

  g_atomic_ref_count_inc (&dsv4->ref_count);
  return dsv4;
}

/**
 * memra_dsv4_unref:
 * @dsv4: (transfer full) (nullable): the kernels
 *
 * Drops a reference; the last one unloads the module, unless a capture that launched one of its kernels holds it. Any
 * thread; breaks no capture.
 *
 * Since: 0.1
 */
void
memra_dsv4_unref (MemraDsv4 *dsv4)
{
  if (dsv4 == NULL || !g_atomic_ref_count_dec (&dsv4->ref_count))
    return;
  for (gsize i = 0; i < G_N_ELEMENTS (dsv4->kernels); i++)
    memra_kernel_unref (dsv4->kernels[i]);
  memra_module_unref (dsv4->module);
  g_free (dsv4);
}

/**
 * memra_dsv4_get_module:
 * @dsv4: the kernels
 *
 * Gets the module, for launches of one's own; its kernels are named as their launchers are.
 *
 * Returns: (transfer none): the module, owned by @dsv4
 *
 * Since: 0.1
 */
MemraModule *
memra_dsv4_get_module (MemraDsv4 *dsv4)
{
  g_return_val_if_fail (dsv4 != NULL, NULL);

  return dsv4->module;
}

gboolean
_memra_dsv4_refuse (MemraDsv4KernelId kernel, GError **error, const char *why, ...)
{
  g_autofree char *reason = NULL;
  va_list arguments;

  va_start (arguments, why);
  reason = g_strdup_vprintf (why, arguments);
  va_end (arguments);
  return _memra_driver_refuse (error, MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, "Could not launch %s: %s",
                               kernel_names[kernel], reason);
}

guint64
_memra_dsv4_multiply (guint64 a, guint64 b, guint64 c)
{
  guint64 product;

  if (g_uint64_checked_mul (&product, a, b) && g_uint64_checked_mul (&product, product, c))
    return product;
  return G_MAXUINT64;
}

guint32
_memra_dsv4_element_blocks (guint64 n)
{
  const guint64 blocks = n / MEMRA_DSV4_ELEMENT_THREADS + (n % MEMRA_DSV4_ELEMENT_THREADS != 0);

  return (guint32) CLAMP (blocks, 1, MAX_BLOCKS);
}

guint32
_memra_dsv4_row_blocks (guint32 n)
{
  return MIN (n, MAX_BLOCKS);
}

static gboolean
check_counts (const MemraDsv4Launch *launch, GError **error)
{
  for (guint i = 0; i < launch->n_scalars; i++)
    {
      const MemraDsv4Scalar *scalar = &launch->scalars[i];

      if (scalar->name != NULL && *(const guint32 *) scalar->value == 0)
        return _memra_dsv4_refuse (launch->kernel, error, "‘%s’ is 0", scalar->name);
    }
  return TRUE;
}

static gboolean
check_operands (const MemraDsv4Launch *launch, GError **error)
{
  for (guint i = 0; i < launch->n_operands; i++)
    {
      const MemraDsv4Operand *operand = &launch->operands[i];
      const guint64 needed = _memra_dsv4_multiply (operand->n_elements, sizeof (float), 1);

      if (memra_buffer_get_size (operand->buffer) < needed)
        return _memra_dsv4_refuse (launch->kernel, error,
                                   "buffer ‘%s’ has %" G_GSIZE_FORMAT " bytes, and %" G_GUINT64_FORMAT " are needed",
                                   operand->name, memra_buffer_get_size (operand->buffer), needed);
      for (guint j = 0; j < i; j++)
        {
          const MemraDsv4Operand *other = &launch->operands[j];

          if (other->buffer == operand->buffer && ((operand->use | other->use) & MEMRA_DSV4_WRITES) != 0
              && (operand->use & other->use & MEMRA_DSV4_IN_PLACE) == 0)
            return _memra_dsv4_refuse (launch->kernel, error,
                                       "‘%s’ and ‘%s’ are the same buffer, and it cannot work in place", other->name,
                                       operand->name);
        }
    }
  return TRUE;
}

/* The first operand that is the same buffer. */
static guint
find_first (const MemraDsv4Launch *launch, guint index)
{
  guint first = 0;

  while (launch->operands[first].buffer != launch->operands[index].buffer)
    first++;
  return first;
}

static gboolean
is_written (const MemraDsv4Launch *launch, MemraBuffer *buffer)
{
  for (guint i = 0; i < launch->n_operands; i++)
    if (launch->operands[i].buffer == buffer && (launch->operands[i].use & MEMRA_DSV4_WRITES) != 0)
      return TRUE;
  return FALSE;
}

gboolean
_memra_dsv4_launch (MemraDsv4 *dsv4, MemraStream *stream, const MemraDsv4Launch *launch, GError **error)
{
  g_auto (Accesses) accesses = { 0 };
  const MemraDim3 block = { launch->threads, 1, 1 };
  guint64 addresses[MEMRA_DSV4_MAX_OPERANDS];
  gconstpointer arguments[MEMRA_DSV4_MAX_OPERANDS + MEMRA_DSV4_MAX_SCALARS];

  if (!check_counts (launch, error) || !check_operands (launch, error))
    return FALSE;

  for (guint i = 0; i < launch->n_operands; i++)
    {
      MemraBuffer *buffer = launch->operands[i].buffer;
      const guint first = find_first (launch, i);

      if (first < i)
        addresses[i] = addresses[first];
      else if (is_written (launch, buffer))
        addresses[i] = memra_buffer_acquire_write (buffer, stream, &accesses.at[i], error);
      else
        addresses[i] = memra_buffer_acquire_read (buffer, stream, &accesses.at[i], error);
      if (addresses[i] == 0)
        return FALSE;
      arguments[i] = &addresses[i];
    }
  for (guint i = 0; i < launch->n_scalars; i++)
    arguments[launch->n_operands + i] = launch->scalars[i].value;

  if (!memra_kernel_launch (dsv4->kernels[launch->kernel], stream, &launch->grid, &block, launch->shared_bytes,
                            arguments, launch->n_operands + launch->n_scalars, error))
    return FALSE;
  for (guint i = 0; i < launch->n_operands; i++)
    if (!memra_access_end (&accesses.at[i], error))
      return FALSE;
  return TRUE;
}
