/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver room: the only place that loads CUDA. It promises a complete table of the required entry points at their
 * pinned ABIs, NULL for optional ones that the driver lacks, and one way to turn a CUresult into a GError.
 */
#pragma once

#include "entries.h"
#include <memra-capture/memra-capture.h>

struct _MemraDriver
{
  gatomicrefcount ref_count;
  char *path;                          /* owned: as opened */
  void *handle;                        /* dlopen handle, never closed */
  MemraDriverKind kind;
  int version;                         /* 13000 for 13.0 */
  int n_devices;
  const MemraHostControl *host_control; /* NULL for NVIDIA's driver */
  MemraDriverTable cu;                 /* constant after loading */
};

/* "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901): operation failed due to ...": name, number and text of a result, in the
 * driver's own words where it knows the code. Legal under capture. */
char *_memra_driver_describe (MemraDriver *driver, McuResult result);

/* The MemraDriverError code for a result. */
MemraDriverError _memra_driver_error_code (McuResult result);

/* Sets a MEMRA_DRIVER_ERROR "<what>: CUDA_ERROR_X (n): text" and returns FALSE; `what` is printf-style and says what
 * could not be done. The one place where a CUresult becomes a GError outside of captures. */
gboolean _memra_driver_set_error (MemraDriver *driver, GError **error, McuResult result, const char *what, ...) G_GNUC_PRINTF (4, 5);

/* Sets a MEMRA_DRIVER_ERROR that no driver call produced (cuda result 0) and returns FALSE. */
gboolean _memra_driver_refuse (GError **error, MemraDriverError code, const char *what, ...) G_GNUC_PRINTF (3, 4);

/* Gives a fresh MEMRA_DRIVER_ERROR the CUresult behind it. */
void _memra_driver_error_set_cuda_result (GError *error, McuResult result);

/* Kernel node parameters at the newest ABI the driver has; *params is zeroed first, so kern and ctx are NULL below 12.0. */
McuResult _memra_driver_get_kernel_params (MemraDriver *driver, CUgraphNode node, McuKernelNodeParams *params);
