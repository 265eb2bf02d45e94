/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the comparison of two graphs share. */
#pragma once

#include "census/diff-private.h"

typedef struct
{
  MemraChange change;
  guint32 a, b;  /* numbers of nodes, or MEMRA_NO_NODE */
  char *subject; /* owned: the kernel's name or the node's type */
  char *shown;   /* owned: the same for people */
  char *what;    /* owned, nullable: what differs */
  char *message; /* owned: the whole sentence */
} MemraDiffEntry;

struct _MemraCensusDiff
{
  GArray *entries; /* element-type MemraDiffEntry */
};

/* One of the two graphs. */
typedef struct
{
  const MemraCensus *census; /* borrowed, as the strings in it */
  guint32 *tokens;           /* owned: nodes with one token can stand for each other */
  guint64 *contents;         /* owned: partners of one content are alike, but for the buffers they use */
  guint32 *partners;         /* owned: its nodes -> nodes of the other, or MEMRA_UNALIGNED */
  guint32 *first_edge;       /* owned: edges into node i are those from first_edge[i] to first_edge[i + 1] - 1 */
  guint32 *visited;          /* owned: the last question that came by each node */
  GHashTable *hazards;       /* owned: node + 1 -> kinds (GString) */
} MemraDiffGraph;

/* Names and what can be told apart, as numbers from 1. */
typedef struct
{
  GHashTable *names; /* owned: utf8 (owned) -> number */
  MemraMap tokens;
} MemraDiffVocabulary;

/* A node goes by the kernel's name, its direction or its type; two can stand for each other if they are called the
 * same. Owned by the census, or by the caller through `made`. With `by_type`, by its type alone. */
const char *_memra_diff_subject (const MemraCensus *census, guint32 number, gboolean by_type, char **made);

void _memra_diff_graph_make_tokens (MemraDiffGraph *graph, gboolean by_type, MemraDiffVocabulary *vocabulary);
void _memra_diff_graph_make_contents (MemraDiffGraph *graph);
void _memra_diff_graph_index_edges (MemraDiffGraph *graph);
void _memra_diff_graph_list_hazards (MemraDiffGraph *graph, const MemraCensus *other);

/* "host-func, opaque-node", or "none". */
const char *_memra_diff_graph_get_hazards (const MemraDiffGraph *graph, guint32 node);
void _memra_diff_graph_clear (MemraDiffGraph *graph);
