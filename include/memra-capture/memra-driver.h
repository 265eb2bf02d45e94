/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-error.h>
#include <memra-capture/memra-host-driver.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-driver
 * @title: Drivers
 * @short_description: loading NVIDIA's driver or the host driver
 * @include: memra-capture/memra-capture.h
 *
 * A driver is loaded when it is asked for, never linked: on a machine without one there is a clear error, and the
 * host driver can take its place.
 */

/**
 * MemraDriverKind:
 * @MEMRA_DRIVER_CUDA: NVIDIA's driver
 * @MEMRA_DRIVER_HOST: the host driver of this project
 *
 * What stands behind a #MemraDriver.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_DRIVER_CUDA,
  MEMRA_DRIVER_HOST
} MemraDriverKind;

MEMRA_AVAILABLE_IN_0_1
MemraDriver *memra_driver_get_default (GError **error);
MEMRA_AVAILABLE_IN_0_1
MemraDriver *memra_driver_open (const char *path,
                                GError    **error);
MEMRA_AVAILABLE_IN_0_1
MemraDriver *memra_driver_ref (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
void memra_driver_unref (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
MemraDriverKind memra_driver_get_kind (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
gint memra_driver_get_version (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
const char *memra_driver_get_path (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
gint memra_driver_get_n_devices (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
char *memra_driver_dup_device_name (MemraDriver *driver,
                                    gint         ordinal,
                                    GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_driver_has_entry (MemraDriver *driver,
                                 const char  *entry);
MEMRA_AVAILABLE_IN_0_1
const MemraHostControl *memra_driver_get_host_control (MemraDriver *driver);
MEMRA_AVAILABLE_IN_0_1
const char *memra_host_driver_path (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraDriver, memra_driver_unref)

G_END_DECLS
