/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-stream.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-module
 * @title: Modules and kernels
 * @short_description: code, and launches of it
 * @include: memra-capture/memra-capture.h
 *
 * A cubin, PTX or fatbin on a GPU, a host module on the host driver (see #MemraHostModule). A capture keeps the
 * modules of the kernels that were launched through memra_kernel_launch() loaded.
 */

MEMRA_AVAILABLE_IN_0_1
MemraModule *memra_module_load (MemraContext *context,
                                const char   *path,
                                GError      **error);
MEMRA_AVAILABLE_IN_0_1
MemraModule *memra_module_load_data (MemraContext *context,
                                     gconstpointer image,
                                     GError      **error);
MEMRA_AVAILABLE_IN_0_1
MemraModule *memra_module_ref (MemraModule *module);
MEMRA_AVAILABLE_IN_0_1
void memra_module_unref (MemraModule *module);
MEMRA_AVAILABLE_IN_0_1
struct CUmod_st *memra_module_get_cuda_module (MemraModule *module);
MEMRA_AVAILABLE_IN_0_1
MemraKernel *memra_module_get_kernel (MemraModule *module,
                                      const char  *name,
                                      GError     **error);
MEMRA_AVAILABLE_IN_0_1
MemraKernel *memra_kernel_ref (MemraKernel *kernel);
MEMRA_AVAILABLE_IN_0_1
void memra_kernel_unref (MemraKernel *kernel);
MEMRA_AVAILABLE_IN_0_1
const char *memra_kernel_get_name (MemraKernel *kernel);
MEMRA_AVAILABLE_IN_0_1
struct CUfunc_st *memra_kernel_get_cuda_function (MemraKernel *kernel);
MEMRA_AVAILABLE_IN_0_1
gint memra_kernel_get_n_arguments (MemraKernel *kernel);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_launch (MemraKernel     *kernel,
                              MemraStream     *stream,
                              const MemraDim3 *grid,
                              const MemraDim3 *block,
                              guint32          shared_bytes,
                              gconstpointer   *arguments,
                              guint            n_arguments,
                              GError         **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraModule, memra_module_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraKernel, memra_kernel_unref)

G_END_DECLS
