/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files share that read a graph. None of it outlives the reading. */
#pragma once

#include "census/census-private.h"

typedef struct _MemraDump MemraDump;

struct _MemraReading
{
  MemraDriver *driver; /* owned */
  CUgraph graph;       /* borrowed: the graph itself, not one inside it */
  CUgraphNode *top;    /* owned: its nodes as the driver lists them */
  gsize n_top;
  GArray *handles;   /* owned: CUgraphNode of every node of the census */
  CUcontext context; /* nullable: the one that nodes are expected to be of */
  guint n_foreign;   /* kernel nodes that are not, and the first of them */
  guint32 first_foreign;

  /* The driver's debug dump of the graph, made when first asked for. */
  gboolean dump_tried;
  MemraDump *dump; /* owned, nullable */

  /* Kernels. */
  MemraMap functions;       /* func or kern handle -> index into function_list */
  GPtrArray *function_list; /* owned: MemraFunction, in the arena */
  guint n_unnamed;

  /* Allocations. */
  MemraRanges ranges;          /* allocations by address */
  MemraMap values;             /* every value asked for -> allocation, or MEMRA_NO_BUFFER */
  gboolean attributes_reduced; /* the driver does not know all of the attributes */
};

static inline CUgraphNode
_memra_reading_handle (const MemraReading *reading, guint32 number)
{
  return g_array_index (reading->handles, CUgraphNode, number);
}

void _memra_reading_free (MemraReading *reading); /* NULL is nothing */

/* Adds a detail of a node, which must be the last one with details so far. */
MemraDetail *_memra_census_add_detail (MemraCensus *census, guint32 number);

/* ---- order.c ---- */

/* The type of each node of one graph, and the edges into it: those into node i are items first[i] to first[i + 1] - 1,
 * and their `from` is an index into the graph's list of nodes. */
typedef struct
{
  guint32 n;
  guint32 *types;   /* owned */
  guint32 *first;   /* owned: n + 1 of them */
  MemraEdge *items; /* owned: `to` is i */
  guint32 n_items, capacity;
  gboolean sorted; /* every edge leads from a lower index to a higher one */
} MemraLinks;

/* Asks for type and dependencies of each node, both at once while the driver has the node at hand. */
gboolean _memra_links_read (MemraLinks *links, MemraDriver *driver, const CUgraphNode *nodes, guint32 n,
                            GError **error);
void _memra_links_clear (MemraLinks *links);

/* The nodes' indices in topological order, ties by index. (transfer full); NULL with no error set means that the nodes
 * already stand in that order, NULL with one that there is none. */
guint32 *_memra_links_sort (const MemraLinks *links, GError **error);

/* ---- conditional.c ---- */

/* The bodies of a conditional node: each a graph, or a list of nodes. */
typedef struct
{
  guint n;               /* 0: it cannot be opened */
  CUgraph *graphs;       /* owned, nullable */
  const guint *clusters; /* borrowed from the dump, nullable */
} MemraBodies;

gboolean _memra_bodies_read (MemraBodies *bodies, MemraReading *reading, CUgraphNode node, GError **error);
void _memra_bodies_clear (MemraBodies *bodies);

/* ---- dump.c ---- */

/* The debug dump of the graph being read, or NULL where the driver makes none. Its format is not documented: what comes
 * out of it is checked, and marked. */
MemraDump *_memra_reading_get_dump (MemraReading *reading);

/* A dump from its text. (transfer full) */
MemraDump *_memra_dump_parse (const char *text, gsize length);
void _memra_dump_free (MemraDump *dump);

/* Whether the dump's first cluster is these very nodes: then its handles can be believed. */
gboolean _memra_dump_is_of (const MemraDump *dump, const CUgraphNode *nodes, gsize n);

/* The name of the kernel that a node launches, or NULL. */
const char *_memra_dump_get_kernel (const MemraDump *dump, CUgraphNode node);

/* The clusters that are a conditional node's bodies, NULL for none. */
const guint *_memra_dump_get_bodies (const MemraDump *dump, CUgraphNode node, guint *n);

/* The nodes of a cluster. */
const CUgraphNode *_memra_dump_get_cluster (const MemraDump *dump, guint cluster, guint *n);

/* ---- read-kernel.c ---- */

/* The name of a node's function in the driver's words, valid as long as its module. NULL with a result of success: the
 * driver does not tell names. */
const char *_memra_kernel_name (MemraDriver *driver, const McuKernelNodeParams *params, McuResult *result);

/* ---- demangle.c ---- */

/* (transfer full) (nullable): NULL if the name is not mangled or nobody can demangle it. */
char *_memra_demangle (const char *name);

/* ---- allocations.c ---- */

/* Who holds a pointer. */
typedef struct
{
  guint user; /* MEMRA_USER_* */
  guint32 index;
  guint32 argument;
  guint32 at;
} MemraUser;

/* A kernel, known by its index, that holds a pointer at an offset in its parameter buffer. */
MemraUser _memra_kernel_user (const MemraKernelNode *kernel, guint32 index, guint32 at);

/* Nothing is ever mapped outside of these on any system that the driver runs on: no need to ask. */
#define MEMRA_LOWEST_ADDRESS  G_GUINT64_CONSTANT (0x10000)
#define MEMRA_HIGHEST_ADDRESS (G_GUINT64_CONSTANT (1) << 57)

static inline gboolean
_memra_may_be_address (guint64 value)
{
  return value >= MEMRA_LOWEST_ADDRESS && value < MEMRA_HIGHEST_ADDRESS;
}

/* The allocation that an address lies in; *buffer is MEMRA_NO_BUFFER where there is none. */
gboolean _memra_reading_find (MemraCensus *census, guint64 address, const MemraUser *user, guint32 *buffer,
                              guint64 *offset, GError **error);

/* The allocation that an address lies in, from the driver; its id is 0 where there is none. */
gboolean _memra_allocation_read (MemraDriver *driver, guint64 address, const MemraUser *user, MemraAllocation *allocation,
                                 GError **error);

/* Makes an allocation node's memory known, and returns its number. */
guint32 _memra_reading_add_graph_memory (MemraCensus *census, guint64 address, guint64 size, guint32 number);

/* ---- copies.c ---- */

gboolean _memra_census_read_copy (MemraCensus *census, guint32 number, GError **error);
gboolean _memra_census_read_fill (MemraCensus *census, guint32 number, GError **error);
gboolean _memra_census_read_memory_node (MemraCensus *census, guint32 number, GError **error);

/* ---- hazards.c ---- */

void _memra_census_add_hazard (MemraCensus *census, const char *kind, guint32 number, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

/* A kernel node of another context than the graph's. */
void _memra_census_note_foreign (MemraCensus *census, guint32 number);

/* Adds those that follow from nodes, edges and copies, and puts all in order. */
void _memra_census_find_hazards (MemraCensus *census);
