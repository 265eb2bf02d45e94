/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A driver made of data, for what no driver at hand does on demand: graphs of any shape, old versions, memory at chosen
 * addresses, failing calls. It knows graphs and memory only, and answers as driver 13.0 was measured to. One fake at a
 * time; handles are the addresses of the structs below.
 */
#pragma once

#include "driver/driver-private.h"

G_BEGIN_DECLS

typedef struct
{
  const char *name; /* nullable: the driver tells none */
  guint n_parameters;
  gsize offsets[8];
  gsize sizes[8];
} FakeFunction;

typedef struct _FakeNode FakeNode;

typedef struct
{
  FakeNode *from;
  McuEdgeData data;
} FakeEdge;

struct _FakeNode
{
  int type;
  GArray *edges; /* FakeEdge */
  McuKernelNodeParams kernel;
  void *parameters[8];
  McuMemcpy3D copy;
  McuMemsetNodeParams fill;
  CUdeviceptr memory; /* of an allocation or free node */
  gsize memory_size;
  CUgraph bodies[4]; /* of a child graph node or conditional node */
  guint n_bodies;
};

typedef struct
{
  GPtrArray *nodes; /* FakeNode */
} FakeGraph;

typedef struct
{
  guint64 start, size, id, block_id;
  int type;                      /* MCU_MEMORYTYPE_* */
  guint64 mapping, mapping_size; /* 0: that of the whole allocation */
} FakeMemory;

/* A fake that claims a version, and has the entry points of it. */
MemraDriver *fake_driver_new (int version);
void fake_driver_free (MemraDriver *driver);

CUgraph fake_graph_new (void);
FakeNode *fake_add (CUgraph graph, int type, FakeNode *after); /* after: nullable */
void fake_connect (FakeNode *from, FakeNode *to, int edge_type);

/* A kernel node with one block of one thread; parameters are borrowed. */
FakeNode *fake_add_kernel (CUgraph graph, FakeNode *after, const FakeFunction *function, void *const *parameters);
FakeNode *fake_add_child (CUgraph graph, FakeNode *after, CUgraph child);

void fake_add_memory (guint64 start, guint64 size, guint64 id, int type);
FakeMemory *fake_find_memory (guint64 address);
void fake_remove_memory (guint64 start);

/* Makes every call of an entry point from the nth on answer this result; `entry` must be a string constant. */
void fake_fail (const char *entry, guint nth, McuResult result);

/* How often an entry point was called. */
guint fake_count (const char *entry);

/* What the debug dump says instead of the truth, NULL for the truth. */
void fake_set_dump (const char *text);

G_END_DECLS
