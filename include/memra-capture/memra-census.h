/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-driver.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-census
 * @title: Census
 * @short_description: what is in a graph
 * @include: memra-capture/memra-capture.h
 *
 * A census lists the nodes of a graph, also those inside child graphs and conditional nodes: counts by type, every
 * kernel with its name, shape and arguments, copies and fills, edges, and hazards, which are facts about a graph that
 * have hurt people. Pointers are told as a buffer's number, in order of first appearance, and an offset, so that two
 * runs of one program have the same census.
 *
 * A graph's census holds no handles and lives on when the graph is gone. It can be written to a file and read back.
 */

/**
 * MemraArgumentKind:
 * @MEMRA_ARGUMENT_BYTES: plain bytes; %NULL, which no one can tell from a number, is among them
 * @MEMRA_ARGUMENT_POINTER: an address inside an allocation that the driver knows
 * @MEMRA_ARGUMENT_MIXED: a by-value struct with at least one pointer inside
 * @MEMRA_ARGUMENT_UNKNOWN: the driver (below 12.4) does not tell the argument's size
 *
 * What an argument of a captured kernel is.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_ARGUMENT_BYTES,
  MEMRA_ARGUMENT_POINTER,
  MEMRA_ARGUMENT_MIXED,
  MEMRA_ARGUMENT_UNKNOWN
} MemraArgumentKind;

/**
 * MemraCopyDirection:
 * @MEMRA_COPY_UNKNOWN: the driver does not tell
 * @MEMRA_COPY_HOST_TO_DEVICE: reads host memory at every replay
 * @MEMRA_COPY_DEVICE_TO_HOST: writes host memory at every replay
 * @MEMRA_COPY_DEVICE_TO_DEVICE: stays on the device
 * @MEMRA_COPY_HOST_TO_HOST: host memory on both sides
 * @MEMRA_COPY_FILL: a fill (memset node)
 *
 * Direction of a copy or fill.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_COPY_UNKNOWN,
  MEMRA_COPY_HOST_TO_DEVICE,
  MEMRA_COPY_DEVICE_TO_HOST,
  MEMRA_COPY_DEVICE_TO_DEVICE,
  MEMRA_COPY_HOST_TO_HOST,
  MEMRA_COPY_FILL
} MemraCopyDirection;

MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_census_new_from_graph (MemraDriver       *driver,
                                          struct CUgraph_st *graph,
                                          GError           **error);
MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_census_ref (MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
void memra_census_unref (MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_layer (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_nodes (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_top_level_nodes (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_count (const MemraCensus *census,
                              const char        *type);
MEMRA_AVAILABLE_IN_0_1
GHashTable *memra_census_get_nodes (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
GPtrArray *memra_census_get_kernels (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_normal_edges (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_programmatic_edges (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_allocations (const MemraCensus *census);

MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_kernel_nodes (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
const MemraKernelNode *memra_census_get_kernel_node (const MemraCensus *census,
                                                     guint              index);
MEMRA_AVAILABLE_IN_0_1
const char *memra_kernel_node_get_name (const MemraKernelNode *node);
MEMRA_AVAILABLE_IN_0_1
const char *memra_kernel_node_get_demangled_name (const MemraKernelNode *node);
MEMRA_AVAILABLE_IN_0_1
const char *memra_kernel_node_get_section (const MemraKernelNode *node);
MEMRA_AVAILABLE_IN_0_1
guint memra_kernel_node_get_depth (const MemraKernelNode *node);
MEMRA_AVAILABLE_IN_0_1
void memra_kernel_node_get_geometry (const MemraKernelNode *node,
                                     MemraDim3             *grid,
                                     MemraDim3             *block,
                                     guint32               *shared_bytes);
MEMRA_AVAILABLE_IN_0_1
guint memra_kernel_node_get_n_arguments (const MemraKernelNode *node);
MEMRA_AVAILABLE_IN_0_1
MemraArgumentKind memra_kernel_node_get_argument_kind (const MemraKernelNode *node,
                                                       guint                  index);
MEMRA_AVAILABLE_IN_0_1
gconstpointer memra_kernel_node_get_argument_bytes (const MemraKernelNode *node,
                                                    guint                  index,
                                                    gsize                 *size);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_kernel_node_get_argument_pointer (const MemraKernelNode *node,
                                                 guint                  index,
                                                 guint                 *buffer,
                                                 guint64               *offset);
MEMRA_AVAILABLE_IN_0_1
guint memra_kernel_node_get_n_argument_pointers (const MemraKernelNode *node,
                                                 guint                  index);
MEMRA_AVAILABLE_IN_0_1
void memra_kernel_node_get_nth_argument_pointer (const MemraKernelNode *node,
                                                 guint                  index,
                                                 guint                  nth,
                                                 gsize                 *at,
                                                 guint                 *buffer,
                                                 guint64               *offset);

MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_copies (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
MemraCopyDirection memra_census_get_copy (const MemraCensus *census,
                                          guint              index,
                                          guint64           *bytes);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_n_hazards (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
const char *memra_census_get_hazard (const MemraCensus *census,
                                     guint              index,
                                     const char       **message);
MEMRA_AVAILABLE_IN_0_1
guint memra_census_get_hazard_node (const MemraCensus *census,
                                    guint              index);

MEMRA_AVAILABLE_IN_0_1
gboolean memra_census_equal (const MemraCensus *a,
                             const MemraCensus *b);
MEMRA_AVAILABLE_IN_0_1
char *memra_census_dup_hash (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
char *memra_census_to_string (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
char *memra_census_to_dot (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
char *memra_census_to_json (const MemraCensus *census);
MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_census_from_json (const char *text,
                                     gssize      length,
                                     GError    **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_census_save (const MemraCensus *census,
                            const char        *path,
                            GError           **error);
MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_census_load (const char *path,
                                GError    **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraCensus, memra_census_unref)

G_END_DECLS
