/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The census room: what is in a graph. It promises to read only, to ask the driver no more than once for what cannot
 * differ, to leave the caller's current context alone, and to end in an object that never changes, holds no handle, and
 * is written as the same bytes for the same layer on every driver.
 *
 * A census is read in two steps, since a capture tells them apart: nodes, then kernels. In between, and where the
 * second step fails, it is a partial census: types, edges and sections are there, kernels, copies and hazards are not.
 */
#pragma once

#include "census/storage-private.h"
#include "driver/driver-private.h"

#define MEMRA_CENSUS_FORMAT  "memra-capture-census"
#define MEMRA_CENSUS_VERSION 1

#define MEMRA_N_KNOWN_TYPES (MCU_NODE_CONDITIONAL + 1)
#define MEMRA_NO_NODE       G_MAXUINT32
#define MEMRA_NO_BUFFER     G_MAXUINT32
#define MEMRA_NO_RECORD     G_MAXUINT32

/* ---- For the capture room ---- */

/* A mark set when the graph had n_nodes nodes. The node created as the k-th belongs to the last mark with n_nodes <= k.
 */
typedef struct
{
  gsize n_nodes;
  const char *name;
} MemraSectionMark;

/* Step "node census": types, edges and sections of every node at every depth. Marks are in the order they were set. */
MemraCensus *_memra_census_read_nodes (MemraDriver *driver, CUgraph graph, guint layer, const MemraSectionMark *marks,
                                       guint n_marks, GError **error);

/* The context that the graph's nodes are expected to be of, for the hazard "foreign-context". Between the two steps;
 * without it the first kernel's context is taken. */
void _memra_census_set_context (MemraCensus *census, CUcontext context);

/* Step "kernel census": names, geometry, arguments, copies, allocations, hazards. The graph must still be alive. On
 * failure the census stays partial. Either way it is immutable from then on. */
gboolean _memra_census_read_kernels (MemraCensus *census, GError **error);

/* A census that can be patched while somebody holds the original. (transfer full) */
MemraCensus *_memra_census_copy (MemraCensus *census);

typedef struct _MemraCensusPatch MemraCensusPatch;

/* Edits of a complete census that nobody else holds. Adding a kernel, which must be of a known layout, asks the driver
 * what its new values point at and can fail; `params` and `bytes` must stay until the patch is freed. Applying all of
 * them cannot. */
MemraCensusPatch *_memra_census_patch_new (MemraCensus *census, MemraDriver *driver);
gboolean _memra_census_patch_add (MemraCensusPatch *patch, guint32 kernel, const McuKernelNodeParams *params,
                                  const guint8 *bytes, GError **error);
void _memra_census_patch_apply (MemraCensusPatch *patch);
void _memra_census_patch_free (MemraCensusPatch *patch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraCensusPatch, _memra_census_patch_free)

/* Asks the driver, once per distinct allocation, whether what the graph points at is still what it was. The first that
 * is not is MEMRA_CAPTURE_ERROR_STALE, set with g_set_error(); a failing driver call is a MEMRA_DRIVER_ERROR. */
gboolean _memra_census_check_allocations (const MemraCensus *census, MemraDriver *driver, GError **error);

/* The sections of a sequence's layers, for the child graphs of its census: "layer 3: attention" for what is "attention" in
 * the layer's own. `members` are the censuses (MemraCensus) of the top-level nodes in order. Between the two steps. */
void _memra_census_adopt_sections (MemraCensus *census, const GPtrArray *members);

/* The distinct allocations of several graphs, each to be asked for once however many of the graphs point at it. */
typedef struct _MemraLiveSet MemraLiveSet;

MemraLiveSet *_memra_live_set_new (void);
void _memra_live_set_free (MemraLiveSet *set); /* NULL is nothing */

/* Adds what a graph points at; `place`, such as "layer 3", goes in front of the sentences. */
void _memra_live_set_add (MemraLiveSet *set, const MemraCensus *census, const char *place);

/* As _memra_census_check_allocations(), of all. */
gboolean _memra_live_set_check (const MemraLiveSet *set, MemraDriver *driver, GError **error);
guint _memra_live_set_get_size (const MemraLiveSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraLiveSet, _memra_live_set_free)

/* "memra_dsv4_rmsnorm" for a kernel, the type's name for any other node. (transfer full), never NULL; for use in
 * errors, so whatever fails only makes it vaguer. Legal under capture. */
char *_memra_census_describe_node (MemraDriver *driver, CUgraphNode node);

/* ---- What a census holds ---- */

/* An allocation's number is its index: allocations stand in order of first appearance. */
typedef struct
{
  guint64 start, end;              /* the part that is one mapping; a pointer's offset counts from start */
  guint64 range_start, range_size; /* the allocation, or the reserved range around the mapping */
  guint64 id;                      /* BUFFER_ID; 0 for memory of the graph's own allocation nodes, which has none */
  guint64 block_id;                /* MEMORY_BLOCK_ID, 0 where the driver does not tell */
  gboolean host;                   /* pinned host memory */

  /* Its first user, for errors. */
  enum
  {
    MEMRA_USER_KERNEL,
    MEMRA_USER_COPY_SOURCE,
    MEMRA_USER_COPY_TARGET,
    MEMRA_USER_NODE
  } user;
  guint32 user_index;    /* kernel or copy by its index, or a node's number */
  guint32 user_argument; /* of a kernel */
  guint32 user_at;       /* byte of that argument where the pointer is */
  guint64 user_offset;   /* where in the allocation it points */
} MemraAllocation;

/* One node, at its place in the walk: topological, ties by creation, what is inside a node directly behind it. */
typedef struct
{
  const char *section; /* nullable; owned by the census */
  guint32 type;        /* MCU_NODE_* or what a newer driver says */
  guint32 depth;
  guint32 record; /* index into kernels, copies or details, by type; MEMRA_NO_RECORD for none */
} MemraNode;

typedef struct
{
  guint32 from, to; /* numbers of nodes, from < to */
  guint8 type;      /* MCU_EDGE_* or what a newer driver says */
} MemraEdge;

typedef struct
{
  guint32 offset; /* in the parameter buffer */
  guint32 size;
} MemraParameter;

/* What every launch of one function has in common. */
typedef struct
{
  const char *name;      /* owned by the census, as all names here */
  const char *demangled; /* `name` itself if there is nothing to demangle */
  gboolean layout_known; /* if not, all arguments are one of kind UNKNOWN */
  guint32 n_parameters;
  const MemraParameter *parameters; /* ascending, not overlapping */
  guint32 size;                     /* end of the last parameter */

  /* While a graph is read: the offsets in the parameter buffer where a pointer can be. */
  guint32 n_slots;
  const guint32 *slots; /* ascending */
} MemraFunction;

/* A pointer inside a kernel's parameter buffer. */
typedef struct
{
  guint32 at; /* offset in the parameter buffer */
  guint32 buffer;
  guint64 offset;
} MemraPointer;

struct _MemraKernelNode
{
  const MemraFunction *function; /* borrowed from the arena, as are bytes and pointers */
  const guint8 *bytes;           /* the parameter buffer; its pointers are as captured, and zero in a loaded census */
  const MemraPointer *pointers;  /* ascending */
  const char *section;           /* nullable */
  guint32 n_bytes;               /* 0 where the driver keeps the bytes to itself */
  guint32 n_pointers;
  MemraDim3 grid;
  MemraDim3 block;
  guint32 shared_bytes;
  guint32 node;
  guint32 depth;
  guint32 pointer_room; /* how many pointers there is room for, if more than there ever were */
};

typedef enum
{
  MEMRA_PLACE_NONE,     /* a fill has no source */
  MEMRA_PLACE_BUFFER,   /* in a known allocation */
  MEMRA_PLACE_PAGEABLE, /* host memory that the driver does not know */
  MEMRA_PLACE_ARRAY,    /* a CUDA array */
  MEMRA_PLACE_UNKNOWN   /* a device address that the driver does not know, such as another graph's memory */
} MemraPlaceKind;

typedef struct
{
  MemraPlaceKind kind;
  guint32 buffer; /* MEMRA_PLACE_BUFFER only */
  guint64 offset;
  guint64 pitch; /* bytes from row to row, 0 where there is but one */
} MemraPlace;

typedef struct
{
  MemraCopyDirection direction;
  guint32 node;
  guint64 bytes;
  guint64 extent[3]; /* bytes in a row, rows, slices */
  MemraPlace source;
  MemraPlace target;
  guint32 value; /* fills: what is written, and how many bytes at a time */
  guint32 element_size;
} MemraCopy;

/* What is known of the nodes that are neither kernel, copy nor fill: bodies of child graphs and conditional nodes, and
 * memory of allocation and free nodes. */
typedef struct
{
  guint32 node;
  guint32 n_bodies;
  const guint32 *bodies; /* in the arena: number of nodes in each body, at every depth, directly behind this node */
  gboolean opaque;       /* there is something inside that could not be opened */
  gboolean from_dump;    /* bodies were read from the driver's debug dump */
  guint32 buffer;        /* allocation or free; MEMRA_NO_BUFFER if not known */
  guint64 bytes;         /* allocation */
} MemraDetail;

typedef struct
{
  const char *kind;
  guint32 node; /* MEMRA_NO_NODE for the graph as a whole */
  const char *message;
} MemraHazard;

typedef struct _MemraReading MemraReading;

struct _MemraCensus
{
  gatomicrefcount ref_count;
  guint layer;
  MemraArena arena;
  GStringChunk *strings; /* owned: every string of the census, each once */

  GArray *nodes;   /* MemraNode */
  GArray *edges;   /* MemraEdge, by `to` and then `from` */
  GArray *details; /* MemraDetail */
  guint n_top_level;
  guint n_normal_edges;
  guint n_programmatic_edges; /* all that are not ordinary */
  GHashTable *counts;         /* owned: type name (borrowed) -> number of nodes */

  GPtrArray *names;         /* owned: name of every kernel node in order, borrowed */
  MemraKernelNode *kernels; /* owned */
  guint n_kernels;
  GArray *copies;      /* MemraCopy, by node */
  GArray *hazards;     /* MemraHazard, by node, the graph's own first */
  GArray *allocations; /* MemraAllocation; empty in a loaded census */
  guint n_allocations;
  guint32 pageable_copy; /* first copy that touches pageable host memory, or MEMRA_NO_RECORD */

  MemraReading *reading; /* NULL once it is immutable */
  MemraCensus *base;     /* owned, nullable: whose strings and functions a copy uses */
  guint32 *uses;         /* owned, nullable: how many pointers lead to each allocation, counted when first patched */
};

/* The first that is not what it was, or that the driver did not answer for, in which case *failed is not 0; or NULL. */
static inline const MemraAllocation *
_memra_allocations_find_stale (const MemraAllocation *allocations, guint n, MemraDriver *driver, McuResult *failed)
{
  int attributes[] = { MCU_POINTER_BUFFER_ID, MCU_POINTER_MEMORY_BLOCK_ID };

  *failed = MCU_SUCCESS;
  for (guint i = 0; i < n; i++)
    {
      const MemraAllocation *allocation = &allocations[i];
      guint64 id = 0, block_id = 0;
      void *slots[] = { &id, &block_id };
      McuResult result;

      if (allocation->id == 0) /* the graph's own */
        continue;
      result
          = driver->cu.cuPointerGetAttributes (allocation->block_id != 0 ? 2 : 1, attributes, slots, allocation->start);
      if (G_LIKELY (result == MCU_SUCCESS && id == allocation->id && block_id == allocation->block_id))
        continue;
      if (result != MCU_SUCCESS && result != MCU_ERROR_INVALID_VALUE)
        *failed = result;
      return allocation;
    }
  return NULL;
}

/* "Kernel 7 memra_x argument 2": who holds the first pointer into an allocation. (transfer full) */
char *_memra_allocation_name_user (const MemraCensus *census, const MemraAllocation *allocation);

/* Says what has become of it. */
void _memra_allocation_set_stale (const MemraAllocation *allocation, const char *user, MemraDriver *driver,
                                  GError **error);

/* Whether no copy touches host memory that the driver does not know. */
gboolean _memra_census_check_pageable (const MemraCensus *census, GError **error);

/* An empty census. (transfer full) */
MemraCensus *_memra_census_new (guint layer);

/* `text` as a string of the census, made valid UTF-8. */
const char *_memra_census_intern (MemraCensus *census, const char *text);

/* "kernel", "unknown-15"; the latter is a string of the census. */
const char *_memra_census_type_name (MemraCensus *census, guint32 type);

/* As above, for want of a census. (transfer full) */
char *_memra_type_dup_name (guint32 type);

/* The type of a name, FALSE if there is none such. */
gboolean _memra_census_type_from_name (const char *name, guint32 *type);

const char *_memra_copy_direction_to_string (MemraCopyDirection direction);

/* Counts `nodes` by type into counts and n_top_level, and `edges` by kind. */
void _memra_census_count (MemraCensus *census);

/* Whether kernels and copies are unknown, as in the census of an error that came before they could be read. */
gboolean _memra_census_is_partial (const MemraCensus *census);

/* Fills `names` from the kernels. */
void _memra_census_list_names (MemraCensus *census);

static inline MemraNode *
_memra_census_node (const MemraCensus *census, guint32 number)
{
  return &g_array_index (census->nodes, MemraNode, number);
}

/* Whether a name is one that a pattern with * and ? stands for. GLib's own patterns take exponential time with names
 * that nearly match. Both are valid UTF-8. */
gboolean _memra_pattern_matches (const char *pattern, const char *name);

/* Sets a MEMRA_CENSUS_ERROR whose message may quote a file: it is made valid UTF-8, and cut where it gets long. */
void _memra_census_set_error (GError **error, MemraCensusError code, const char *message);

/* Whether a policy can forbid hazards of a kind: a name that is none would never be met. */
gboolean _memra_hazard_kind_is_known (const char *kind);

/* All of a file, which may be a pipe. If it is longer than `most` bytes it is not kept, and a MEMRA_CENSUS_ERROR of that
 * code is set; else a G_FILE_ERROR. (transfer full) (nullable) */
GString *_memra_read_file (const char *path, gsize most, MemraCensusError too_long, GError **error);

/* "Kernel 7 memra_x", "Copy 2", "Node 5 (host)": a node as errors and hazards name it. (transfer full) */
char *_memra_census_name_node (const MemraCensus *census, guint32 number);

/* The pointers of a kernel that lie in one argument: returns how many, and the first. */
guint _memra_kernel_node_argument_pointers (const MemraKernelNode *node, guint argument, const MemraPointer **first);

/* Where an argument lies in the parameter buffer: the whole of it for a function without a known layout. */
void _memra_kernel_node_argument_range (const MemraKernelNode *node, guint argument, guint32 *offset, guint32 *size);
