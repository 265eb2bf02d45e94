/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What "record" left in a folder, read back: see docs/formats.md. Of graphs only what their events say is held. */
#pragma once

#include "tool-private.h"

#include <stdio.h>

/* One instantiated graph. */
typedef struct
{
  guint number;         /* in its process, from 1 */
  gboolean captured;    /* as against built by hand */
  guint nodes;
  guint kernels;
  guint64 launches;
  guint updates;        /* that were accepted */
  gint64 thread;        /* that instantiated it; 0: not known */
  char *census;         /* owned, nullable: name of the census file in the folder */
  char *hash;           /* owned, nullable: as the recorder computed it */
  const char *identity; /* interned, nullable: the hash of what is in the file, see tool_recording_identify() */
  char *error;          /* owned, nullable: why there is no census */
  GHashTable *types;    /* owned, nullable: type of node (owned) -> number */
  GHashTable *hazards;  /* owned, nullable: kind (owned) -> number */
  char **stack;         /* owned, nullable: who instantiated it, from the call outwards */
} ToolGraph;

/* A capture that was broken. */
typedef struct
{
  guint capture;
  gint64 thread;     /* that the culprit ran on; 0: not known */
  guint operations;  /* that were captured before */
  char *function;    /* owned, nullable: not known */
  int result;        /* what it answered */
  char *result_name; /* owned, nullable */
  char *reason;      /* owned, nullable: in the driver's words */
  char *after;       /* owned, nullable: the last node, "kernel 'x'" */
  char *caller;      /* owned, nullable */
  char **stack;      /* owned, nullable: from the call outwards */
  gboolean other_thread;
} ToolBroken;

/* An update of an executable graph that was refused. */
typedef struct
{
  guint graph;         /* 0: not known */
  gint64 thread;       /* 0: not known */
  char *function;      /* owned, nullable */
  char *reason;        /* owned */
  char *driver_reason; /* owned, nullable: in the driver's words, where the reason is in ours */
  char *node;          /* owned, nullable: the one to blame, "kernel 'x'" */
  char **stack;        /* owned, nullable: from the call outwards */
} ToolRefusal;

/* One program in one process. */
typedef struct
{
  char *directory;       /* owned */
  char *id;              /* owned: "123", or "123.2" after exec() */
  char *host;            /* owned, nullable */
  gint64 pid;            /* 0: not known */
  gint rank;             /* -1: none */
  char *run;             /* owned, nullable */
  char *program;         /* owned, nullable */
  char *command;         /* owned, nullable: its arguments, quoted as a shell wants them */
  char *driver;          /* owned, nullable: path of the driver */
  gint driver_version;   /* such as 12080; 0: not known */
  gint64 started;        /* microseconds since 1970, of its first event; 0: not known */
  GArray *graphs;        /* ToolGraph, by number */
  GHashTable *places;    /* owned: number -> 1 + where it is in graphs, while they are read */
  GArray *broken;        /* ToolBroken */
  GArray *refused;       /* ToolRefusal */
  GHashTable *hazards;   /* owned: kind (owned) -> number */
  GHashTable *refusals;  /* owned: why updates were refused (owned) -> number */
  guint n_captures;      /* that were begun */
  guint n_open;          /* of them, not ended */
  guint n_failed;        /* instantiations that failed */
  guint n_updates;       /* that were accepted */
  gboolean has_launches; /* launches were counted */
  gboolean truncated;    /* its last event was cut off */
} ToolProcess;

/* What was passed over because it could not be read. */
typedef struct
{
  GPtrArray *sentences; /* owned: the first few, each with its place */
  guint count;          /* of all */
} ToolTroubles;

/* recording.c */

/* All processes of a folder, by rank and start; run != NULL: only those of one run of the command. Errors: G_FILE_ERROR,
 * MEMRA_CENSUS_ERROR. troubles != NULL: a file or a line that is not as it should be is added there and passed over, and
 * only a folder that cannot be read is an error. (transfer full) (element-type ToolProcess) */
GPtrArray *tool_recording_load (const char *directory, const char *run, ToolTroubles *troubles, GError **error);

void tool_troubles_init (ToolTroubles *troubles);
void tool_troubles_clear (ToolTroubles *troubles);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ToolTroubles, tool_troubles_clear)
void tool_troubles_add (ToolTroubles *troubles, const GError *error);

/* recording-counts.c */

/* Turns the counters of processes that have ended into events, so that the folder is plain text. */
void tool_recording_settle (GPtrArray *processes);

/* recording-identity.c */

/* Reads every census and says of each graph what is in it. troubles == NULL: one that is missing or bad is an error, else it
 * is added there and its graph has no identity. Errors: G_FILE_ERROR, MEMRA_CENSUS_ERROR. */
gboolean tool_recording_identify (GPtrArray *processes, ToolTroubles *troubles, GError **error);

/* The census of a graph that has an identity. (transfer full) (nullable) */
MemraCensus *tool_graph_load (const ToolProcess *process, const ToolGraph *graph, GError **error);

/* (transfer full) */
char *tool_graph_dup_path (const ToolProcess *process, const ToolGraph *graph);

/* recording-words.c */

/* "process 123 of node7 (rank 2)"; with_host == FALSE: without the machine. (transfer full) */
char *tool_process_dup_name (const ToolProcess *process, gboolean with_host);

/* "broken by cuStreamSynchronize (900), called from ..., on another thread, after kernel 'x': reason". (transfer full) */
char *tool_broken_dup_sentence (const ToolBroken *broken);

/* Adds to a table of text (owned) -> number. */
void tool_count (GHashTable *counts, const char *what, guint n);

/* The texts of such a table in order. (transfer container) (element-type utf8) */
GPtrArray *tool_counts_get_keys (GHashTable *counts);

/* "3 host-node, 1 programmatic-edge". (transfer full) */
char *tool_counts_dup_text (GHashTable *counts);

/* recording-files.c. Errors of all: G_FILE_ERROR. What is not a regular file is refused, and never waited for. */

/* For reading. (transfer full) (nullable) */
FILE *tool_recording_open (const char *path, GError **error);

/* Closes what was opened for reading. FALSE if the last reading failed, which must be all that went before. */
gboolean tool_recording_close (FILE *file, const char *path, GError **error);

/* For writing at the end of a file that is there and no symbolic link. (transfer full) (nullable) */
FILE *tool_recording_append (const char *path);

/* All of a file, which must have no more than `most` bytes. `bytes`: (out) (transfer full) */
gboolean tool_recording_read (const char *path, gsize most, char **bytes, gsize *length, GError **error);

/* The next line with its end, or its first longest + 1 bytes. FALSE at the end of the file or when reading failed. */
gboolean tool_recording_read_line (FILE *file, GString *line, gsize longest);

/* What is left of a line of which only the beginning was read. */
void tool_recording_skip_line (FILE *file);

/* record-preload.c */

/* Why the recorder cannot be loaded into a program: a sentence, or NULL if it can. `harmful`: nor may it be tried.
 * (transfer full) (nullable) */
char *tool_preload_obstacle (const char *program, gboolean *harmful);

/* record-run.c */

/* Runs a program with an environment and waits for it, with standard input, output and error as they are; signals that
 * are sent to us are passed on. Returns the status to exit with as a shell has it: the program's own, 128 + N when signal
 * N ended it, 127 and 126 when it was not found or cannot be run, which is said on standard error. */
int tool_run (char **argv, char **environment, gboolean *started);

/* record-summary.c */

/* Says on standard error what was recorded, and what does not hold against the policy if there is one. FALSE if the
 * policy was not met. */
gboolean tool_record_summarise (const char *directory, const char *run, MemraPolicy *policy);
