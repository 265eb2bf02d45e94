/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-census.h>

G_BEGIN_DECLS

/**
 * MEMRA_POLICY_UNBOUNDED:
 *
 * No upper bound.
 */
#define MEMRA_POLICY_UNBOUNDED G_MAXUINT

MEMRA_AVAILABLE_IN_0_1
MemraPolicy *memra_policy_new (void);
MEMRA_AVAILABLE_IN_0_1
MemraPolicy *memra_policy_load (const char *path,
                                GError    **error);
MEMRA_AVAILABLE_IN_0_1
MemraPolicy *memra_policy_new_from_data (const char *text,
                                         gssize      length,
                                         GError    **error);
MEMRA_AVAILABLE_IN_0_1
MemraPolicy *memra_policy_ref (MemraPolicy *policy);
MEMRA_AVAILABLE_IN_0_1
void memra_policy_unref (MemraPolicy *policy);
MEMRA_AVAILABLE_IN_0_1
void memra_policy_set_node_count (MemraPolicy *policy,
                                  const char  *type,
                                  guint        minimum,
                                  guint        maximum);
MEMRA_AVAILABLE_IN_0_1
void memra_policy_set_kernel_count (MemraPolicy *policy,
                                    const char  *pattern,
                                    guint        minimum,
                                    guint        maximum);
MEMRA_AVAILABLE_IN_0_1
void memra_policy_forbid_hazard (MemraPolicy *policy,
                                 const char  *kind);
MEMRA_AVAILABLE_IN_0_1
void memra_policy_set_allow_empty (MemraPolicy *policy,
                                   gboolean     allow_empty);
MEMRA_AVAILABLE_IN_0_1
GPtrArray *memra_policy_check (const MemraPolicy *policy,
                               const MemraCensus *census);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraPolicy, memra_policy_unref)

G_END_DECLS
