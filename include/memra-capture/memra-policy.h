/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-census.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-policy
 * @title: Policies
 * @short_description: what a graph must be like
 * @include: memra-capture/memra-capture.h
 *
 * A policy bounds the number of nodes by type and of kernels by name, and forbids hazards. As an option of a capture
 * it refuses a graph before anything runs; memra_policy_check() holds it against any census. The file format is
 * described in memra-policy(5).
 */

/**
 * MEMRA_POLICY_UNBOUNDED:
 *
 * No upper bound.
 *
 * Since: 0.1
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
