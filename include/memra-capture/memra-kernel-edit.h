/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-layer-capture.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-kernel-edit
 * @title: Kernel edits
 * @short_description: change arguments and launch shapes of a kept capture
 * @include: memra-capture/memra-capture.h
 *
 * A batch of edits is applied as a whole or not at all. Values are checked against the sizes that the driver tells.
 */

/**
 * MemraKernelEdit:
 *
 * A batch of edits of a capture's kernels. For one thread at a time. See memra_kernel_edit_begin().
 *
 * Since: 0.1
 */
typedef struct _MemraKernelEdit MemraKernelEdit;

MEMRA_AVAILABLE_IN_0_1
MemraKernelEdit *memra_kernel_edit_begin (MemraLayerCapture *capture,
                                          GError           **error);
MEMRA_AVAILABLE_IN_0_1
void memra_kernel_edit_free (MemraKernelEdit *edit);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_edit_find (MemraKernelEdit *edit,
                                 const char      *name,
                                 guint            occurrence,
                                 guint           *kernel,
                                 GError         **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_edit_get_argument (MemraKernelEdit *edit,
                                         guint            kernel,
                                         guint            argument,
                                         gpointer         value,
                                         gsize            size,
                                         GError         **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_edit_set_argument (MemraKernelEdit *edit,
                                         guint            kernel,
                                         guint            argument,
                                         gconstpointer    value,
                                         gsize            size,
                                         GError         **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_edit_set_geometry (MemraKernelEdit *edit,
                                         guint            kernel,
                                         const MemraDim3 *grid,
                                         const MemraDim3 *block,
                                         guint32          shared_bytes,
                                         GError         **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_edit_commit (MemraKernelEdit *edit,
                                   GError         **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraKernelEdit, memra_kernel_edit_free)

G_END_DECLS
