/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A record folded, for people: equal graphs once, broken captures and refused updates with one cause once. */
#pragma once

#include "recording.h"

/* One of the graphs that are one and the same. */
typedef struct
{
  const ToolProcess *process; /* borrowed */
  const ToolGraph *graph;     /* borrowed */
} ToolInstance;

/* The kernels of a graph that have one name. */
typedef struct
{
  char *name;       /* owned: demangled where it can be */
  char *short_name; /* owned */
  guint count;
  MemraDim3 grid;   /* of the first */
  MemraDim3 block;
  guint32 shared;
  gboolean varies;  /* not all have that shape */
} ToolKernelKind;

/* A graph, however often it was made. */
typedef struct
{
  guint number;         /* from 1, in order of first appearance */
  const char *identity; /* interned; NULL: its census could not be read */
  char *error;          /* owned, nullable: why */
  GArray *instances;    /* owned: ToolInstance */
  GPtrArray *kernels;   /* owned: ToolKernelKind, the most frequent first */
  GHashTable *types;    /* owned: type of node (owned) -> number */
  GHashTable *hazards;  /* owned: kind (owned) -> number */
  guint n_nodes;
  guint n_kernels;
  guint64 n_launches;   /* of all instances */
  guint n_updates;      /* that were accepted, of all instances */
} ToolDistinct;

/* Captures that were broken by one call. */
typedef struct
{
  const ToolBroken *broken; /* borrowed: the first */
  char *sentence;           /* owned */
  GPtrArray *processes;     /* owned: ToolProcess (borrowed), of each one */
} ToolBrokenKind;

/* Updates that were refused for one reason. */
typedef struct
{
  const ToolRefusal *refusal; /* borrowed: the first */
  GPtrArray *processes;       /* owned: ToolProcess (borrowed), of each one */
} ToolRefusalKind;

typedef struct
{
  GPtrArray *processes; /* owned: ToolProcess */
  GPtrArray *graphs;    /* owned: ToolDistinct */
  GPtrArray *broken;    /* owned: ToolBrokenKind */
  GPtrArray *refusals;  /* owned: ToolRefusalKind */
  guint n_graphs;
  guint n_captured;     /* of them by a capture, as against by hand */
  guint n_unread;       /* of them without a census that could be read */
  guint64 n_nodes;
  guint64 n_kernels;
  guint64 n_launches;
  gboolean has_launches;
  guint n_captures;     /* begun */
  guint n_broken;
  guint n_open;         /* never ended */
  guint n_failed;       /* instantiations */
  guint n_updates;      /* accepted */
  guint n_refused;
  guint n_truncated;    /* processes whose last event was cut off */
} ToolOverview;

/* `processes`, (transfer none), must have identities. Censuses that cannot be read any more are added to `troubles`. */
void tool_overview_init (ToolOverview *overview, GPtrArray *processes, ToolTroubles *troubles);
void tool_overview_clear (ToolOverview *overview);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ToolOverview, tool_overview_clear)

/* The one that a graph of a process is. (transfer none) */
const ToolDistinct *tool_overview_find (const ToolOverview *overview, const ToolGraph *graph);

/* The census of a graph that has an identity. (transfer full) (nullable) */
MemraCensus *tool_distinct_load (const ToolDistinct *distinct, GError **error);

/* "rank 0 (process 41), process 42 and 3 more", each once. (transfer full) */
char *tool_processes_dup_names (const GPtrArray *processes);

/* "gemm x80, rms_norm x40 and 3 more", at most so many. (transfer full) */
char *tool_distinct_dup_kernels (const ToolDistinct *distinct, guint most);

/* "12.9". (transfer full) */
char *tool_driver_version_dup_text (gint version);

/* show-recording.c: prints a folder of record's. Returns the status to exit with. */
int tool_show_recording (const char *directory, gboolean json);

/* Loads all that can be had of a folder and says on standard error what could not, NULL and an error if nothing could.
 * (transfer full) (element-type ToolProcess) */
GPtrArray *tool_overview_load (const char *directory, ToolTroubles *troubles, GError **error);

/* Says on standard error what was passed over. */
void tool_troubles_print (const ToolTroubles *troubles);
