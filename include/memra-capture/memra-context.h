/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-driver.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-context
 * @title: Contexts
 * @short_description: a device's context, and event tracking
 * @include: memra-capture/memra-capture.h
 *
 * A context is the device's primary one, or one that somebody else made. No call of this library changes the calling
 * thread's current context for longer than the call.
 */

MEMRA_AVAILABLE_IN_0_1
MemraContext *memra_context_new (MemraDriver *driver,
                                 gint         ordinal,
                                 GError     **error);
MEMRA_AVAILABLE_IN_0_1
MemraContext *memra_context_wrap (MemraDriver     *driver,
                                  struct CUctx_st *cuda_context,
                                  GError         **error);
MEMRA_AVAILABLE_IN_0_1
MemraContext *memra_context_ref (MemraContext *context);
MEMRA_AVAILABLE_IN_0_1
void memra_context_unref (MemraContext *context);
MEMRA_AVAILABLE_IN_0_1
MemraDriver *memra_context_get_driver (MemraContext *context);
MEMRA_AVAILABLE_IN_0_1
struct CUctx_st *memra_context_get_cuda_context (MemraContext *context);
MEMRA_AVAILABLE_IN_0_1
gint memra_context_get_ordinal (MemraContext *context);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_context_get_event_tracking (MemraContext *context);
MEMRA_AVAILABLE_IN_0_1
void memra_context_set_event_tracking (MemraContext *context,
                                       gboolean      tracking);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_context_synchronize (MemraContext *context,
                                    GError      **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraContext, memra_context_unref)

G_END_DECLS
