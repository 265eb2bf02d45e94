/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-census.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-diff
 * @title: Differences
 * @short_description: between two graphs, and between captures of one layer
 * @include: memra-capture/memra-capture.h
 *
 * memra_census_diff() tells what was added, removed, moved or changed from one graph to another.
 * memra_census_compare_arguments() is for captures of one layer at different steps: what moved from one to the next
 * is frozen into each, and a replay repeats it.
 */

/**
 * MemraCensusDiff:
 *
 * What differs between two graphs. Constant, so any number of threads may use one. See memra_census_diff().
 *
 * Since: 0.1
 */
typedef struct _MemraCensusDiff MemraCensusDiff;

/**
 * MemraArgumentReport:
 *
 * What moved between captures of one layer. Constant, so any number of threads may use one. See
 * memra_census_compare_arguments().
 *
 * Since: 0.1
 */
typedef struct _MemraArgumentReport MemraArgumentReport;

/**
 * MemraChange:
 * @MEMRA_CHANGE_ADDED: a node that only the second graph has
 * @MEMRA_CHANGE_REMOVED: a node that only the first graph has
 * @MEMRA_CHANGE_MOVED: a node that both have, in another place of the order
 * @MEMRA_CHANGE_CHANGED: a node that both have, with another geometry, argument, size, section or neighbour
 *
 * What became of a node.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CHANGE_ADDED,
  MEMRA_CHANGE_REMOVED,
  MEMRA_CHANGE_MOVED,
  MEMRA_CHANGE_CHANGED
} MemraChange;

/**
 * MEMRA_NO_PLACE:
 *
 * No node: the side of a #MemraChange that there is not.
 *
 * Since: 0.1
 */
#define MEMRA_NO_PLACE G_MAXUINT

MEMRA_AVAILABLE_IN_0_1
MemraCensusDiff *memra_census_diff (MemraCensus *a,
                                    MemraCensus *b);
MEMRA_AVAILABLE_IN_0_1
void memra_census_diff_free (MemraCensusDiff *diff);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_diff_get_n_changes (const MemraCensusDiff *diff);
MEMRA_AVAILABLE_IN_0_1
MemraChange memra_census_diff_get_change (const MemraCensusDiff *diff,
                                          guint                  index,
                                          guint                 *node_a,
                                          guint                 *node_b,
                                          const char           **message);
MEMRA_AVAILABLE_IN_0_1
char *memra_census_diff_to_string (const MemraCensusDiff *diff);
MEMRA_AVAILABLE_IN_0_1
char *memra_census_diff_to_json (const MemraCensusDiff *diff);

MEMRA_AVAILABLE_IN_0_1
MemraArgumentReport *memra_census_compare_arguments (MemraCensus *const *censuses,
                                                     guint               n_censuses,
                                                     GError            **error);
MEMRA_AVAILABLE_IN_0_1
void memra_argument_report_free (MemraArgumentReport *report);
MEMRA_AVAILABLE_IN_0_1
guint memra_argument_report_get_n_changes (const MemraArgumentReport *report);
MEMRA_AVAILABLE_IN_0_1
const char *memra_argument_report_get_change (const MemraArgumentReport *report,
                                              guint                      index,
                                              guint                     *kernel,
                                              guint                     *argument);
MEMRA_AVAILABLE_IN_0_1
GPtrArray *memra_argument_report_check (const MemraArgumentReport *report,
                                        const char *const         *must_vary,
                                        const char *const         *must_not_vary);
MEMRA_AVAILABLE_IN_0_1
char *memra_argument_report_to_string (const MemraArgumentReport *report);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraCensusDiff, memra_census_diff_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraArgumentReport, memra_argument_report_free)

G_END_DECLS
