/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One function turns a CUresult into a GError; everything else in this file serves it. */
#include "config.h"

#include "driver-private.h"

typedef struct
{
  McuResult result;
} MemraDriverErrorPrivate;

static void
memra_driver_error_private_init (MemraDriverErrorPrivate *private)
{
  private->result = MCU_SUCCESS;
}

static void
memra_driver_error_private_copy (const MemraDriverErrorPrivate *from, MemraDriverErrorPrivate *to)
{
  *to = *from;
}

static void
memra_driver_error_private_clear (MemraDriverErrorPrivate *private G_GNUC_UNUSED)
{
}

/**
 * memra_driver_error_quark:
 *
 * Gets the number of the domain %MEMRA_DRIVER_ERROR.
 *
 * Returns: the quark
 *
 * Since: 0.1
 */
G_DEFINE_EXTENDED_ERROR (MemraDriverError, memra_driver_error)

/**
 * memra_driver_error_get_cuda_result:
 * @error: an error of any domain
 *
 * Gets the CUresult behind an error of %MEMRA_DRIVER_ERROR or %MEMRA_CAPTURE_ERROR.
 *
 * Returns: the CUresult, or 0 when no driver call failed or the error is of another domain
 *
 * Since: 0.1
 */
gint
memra_driver_error_get_cuda_result (const GError *error)
{
  g_return_val_if_fail (error != NULL, 0);

  if (error->domain == MEMRA_CAPTURE_ERROR)
    return memra_capture_error_get_cuda_result (error);
  if (error->domain != MEMRA_DRIVER_ERROR)
    return MCU_SUCCESS;
  return memra_driver_error_get_private (error)->result;
}

void
_memra_driver_error_set_cuda_result (GError *error, McuResult result)
{
  memra_driver_error_get_private (error)->result = result;
}

char *
_memra_driver_describe (MemraDriver *driver, McuResult result)
{
  const char *name = NULL, *text = NULL;

  if (driver->cu.cuGetErrorName == NULL || driver->cu.cuGetErrorName (result, &name) != MCU_SUCCESS || name == NULL)
    return g_strdup_printf ("CUDA error %d, which driver %d.%d does not name", result, driver->version / 1000,
                            driver->version % 1000 / 10);
  if (driver->cu.cuGetErrorString == NULL || driver->cu.cuGetErrorString (result, &text) != MCU_SUCCESS)
    text = NULL;
  return text != NULL ? g_strdup_printf ("%s (%d): %s", name, result, text) : g_strdup_printf ("%s (%d)", name, result);
}

MemraDriverError
_memra_driver_error_code (McuResult result)
{
  switch (result)
    {
    case MCU_ERROR_OUT_OF_MEMORY:
      return MEMRA_DRIVER_ERROR_OUT_OF_MEMORY;
    case MCU_ERROR_STUB_LIBRARY:
      return MEMRA_DRIVER_ERROR_STUB;
    case MCU_ERROR_NO_DEVICE:
    case MCU_ERROR_INVALID_DEVICE:
      return MEMRA_DRIVER_ERROR_NO_DEVICE;
    case MCU_ERROR_CALL_REQUIRES_NEWER_DRIVER:
    case MCU_ERROR_NOT_SUPPORTED:
      return MEMRA_DRIVER_ERROR_NOT_SUPPORTED;
    case MCU_ERROR_INVALID_IMAGE:
    case MCU_ERROR_NO_BINARY_FOR_GPU:
    case 218: /* INVALID_PTX */
    case 222: /* UNSUPPORTED_PTX_VERSION */
      return MEMRA_DRIVER_ERROR_INVALID_IMAGE;
    case MCU_ERROR_FILE_NOT_FOUND:
    case MCU_ERROR_NOT_FOUND:
      return MEMRA_DRIVER_ERROR_NOT_FOUND;
    case MCU_ERROR_ILLEGAL_ADDRESS:
    case MCU_ERROR_CONTEXT_IS_DESTROYED:
    case MCU_ERROR_DEINITIALIZED:
    case 214: /* ECC_UNCORRECTABLE */
    case 702: /* LAUNCH_TIMEOUT */
    case 710: /* ASSERT */
    case 714: /* HARDWARE_STACK_ERROR */
    case 715: /* ILLEGAL_INSTRUCTION */
    case 716: /* MISALIGNED_ADDRESS */
    case 717: /* INVALID_ADDRESS_SPACE */
    case 718: /* INVALID_PC */
    case MCU_ERROR_LAUNCH_FAILED:
      return MEMRA_DRIVER_ERROR_BROKEN_CONTEXT;
    default:
      if (result >= MCU_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= MCU_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        return MEMRA_DRIVER_ERROR_CAPTURE_BROKEN;
      return MEMRA_DRIVER_ERROR_FAILED;
    }
}

gboolean
_memra_driver_set_error (MemraDriver *driver, GError **error, McuResult result, const char *what, ...)
{
  g_autofree char *prefix = NULL;
  g_autofree char *description = _memra_driver_describe (driver, result);
  GError *made;
  va_list arguments;

  va_start (arguments, what);
  prefix = g_strdup_vprintf (what, arguments);
  va_end (arguments);

  made = g_error_new (MEMRA_DRIVER_ERROR, _memra_driver_error_code (result), "%s: %s", prefix, description);
  _memra_driver_error_set_cuda_result (made, result);
  g_propagate_error (error, made);
  return FALSE;
}

gboolean
_memra_driver_refuse (GError **error, MemraDriverError code, const char *what, ...)
{
  GError *made;
  va_list arguments;

  va_start (arguments, what);
  made = g_error_new_valist (MEMRA_DRIVER_ERROR, code, what, arguments);
  va_end (arguments);
  g_propagate_error (error, made);
  return FALSE;
}
