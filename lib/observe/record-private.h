/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recorder inside a recorded process: what the wrappers tell, brought into files. Plain C, no GLib.
 *
 * It writes into the folder that MEMRA_RECORD_DIR names (an absolute path; without it nothing is recorded):
 *   events-ID.jsonl      one JSON object a line, each written with one write(); begins with a "process" event
 *   graph-ID-N.json      the census of the N-th graph that was instantiated
 *   launches-ID.counts   launches per graph, if MEMRA_RECORD_OPTIONS has "launches": shared memory, right at any moment
 * ID is the process id, with ".2", ".3" where that name was taken, as after exec(). docs/formats.md tells more.
 *
 * Locking: one mutex for all tables, never held while the driver is called, since the driver calls us back from inside
 * failing calls. Every function here keeps errno and is no cancellation point.
 */
#pragma once

#include "interpose-private.h"
#include "record-format.h"

#include <signal.h>

/* ---- record-process.c: settings, fork ---- */

/* Whether this process is recorded at all. Cheap; may be asked at any time, also before constructors have run. */
bool record_is_on (void);
bool record_counts_launches (void);
bool record_wants_stacks (void);
const char *record_directory (void);
const char *record_run (void); /* which run of the command this belongs to, "" for none */

/* Number of captures that are being watched: whatever costs time is only done while there are any. */
extern int record_capturing;

/* While we work on behalf of a call, so that our own look-ups get no wrappers. */
extern __thread int record_inside __attribute__ ((tls_model ("initial-exec")));

typedef struct
{
  int saved_errno;
  int cancel_state;
} RecordGuard;

/* Around everything that is more than a look at a flag. */
void record_enter (RecordGuard *guard);
void record_leave (RecordGuard *guard);

/* Says once in the life of a process, on standard error, that it cannot be recorded, and switches recording off. */
void record_give_up (const char *what, int error_number);

/* The same for launches alone: those of graphs that have a counter go on being counted. */
void record_stop_counting (const char *what, int error_number);

void record_lock (void);
void record_unlock (void);
/* Waits, with the lock, for record_wake(). */
void record_wait (void);
void record_wake (void);

/* Called in the child of fork(), each for its own file. */
void record_files_forget (void);
void record_captures_forget (void);
void record_graphs_forget (void);
void record_log_forget (void);

/* ---- record-text.c: a growing line of JSON ---- */

typedef struct
{
  char *bytes; /* owned; NULL when memory ran out */
  size_t length, size;
  bool first; /* no member yet */
} RecordText;

/* {"event":"NAME","time_us":...,"thread":... */
void record_text_begin (RecordText *text, const char *event);
/* ,"key": and the value. Strings are made valid UTF-8; NULL is null. */
void record_text_string (RecordText *text, const char *key, const char *value);
void record_text_number (RecordText *text, const char *key, int64_t value);
void record_text_hex (RecordText *text, const char *key, uint64_t value);
void record_text_bool (RecordText *text, const char *key, bool value);
/* JSON as it is. */
void record_text_raw (RecordText *text, const char *key, const char *json);
/* An array or object: the key and the bracket; then members or, in arrays, values with key == NULL. */
void record_text_open (RecordText *text, const char *key, char bracket);
void record_text_close (RecordText *text, char bracket);
void record_text_free (RecordText *text);

/* "result":900,"name":"CUDA_ERROR_..." */
void record_text_result (RecordText *text, McuResult result);

/* ---- record-files.c ---- */

/* Around whatever makes a file longer: a limit on the size of files is the program's own affair, and what we write beyond
 * it must fail, not end the program by SIGXFSZ. */
void record_writing_begin (sigset_t *mask);
void record_writing_end (const sigset_t *mask);

/* Ends the line, writes it and frees it. The first one of a process is preceded by the "process" event. */
void record_write (RecordText *text);

/* "graph-123-4.json", and as a path; both in buffers of PATH_MAX. FALSE if nothing can be written. */
bool record_graph_path (unsigned graph, char *name, char *path, char *temporary);

/* One more launch of a graph. No lock, no system call in the ordinary case. */
void record_count_launch (unsigned graph);
/* Makes room for the graph's counter. */
void record_count_prepare (unsigned graph);

/* ---- record-map.c: from handles to numbers; reading takes no lock ---- */

typedef struct _RecordMapTable RecordMapTable;

typedef struct
{
  RecordMapTable *table; /* atomic; older ones are never freed, since somebody may be reading them */
} RecordMap;

/* With the lock, except for get. A number is never 0: that is what get() answers for an unknown handle. */
void record_map_put (RecordMap *map, const void *handle, unsigned number);
unsigned record_map_remove (RecordMap *map, const void *handle);
unsigned record_map_get (const RecordMap *map, const void *handle);
void record_map_forget (RecordMap *map);

/* ---- record-stack.c ---- */

#define RECORD_MAX_FRAMES 64

/* Loads what the first backtrace needs, where that is harmless. */
void record_stack_prepare (void);
int record_stack_take (void **frames);
/* "caller":...,"stack":[...] without our own frames and the driver's at the inner end. */
void record_text_stack (RecordText *text, void *const *frames, int n_frames);

/* ---- record-log.c: the driver's error log, and who broke a capture ---- */

/* Listening is counted: the first listener registers with the driver, the last one ends it. */
void record_listen (void);
void record_unlisten (void);

/* What the driver said while the last call of this thread failed, or NULL; until the next failure. */
const char *record_last_reason (void);

/* A call on this thread has failed: if a capture has left the active state, this call broke it. */
void record_failure (McuResult result, const char *function, const char *reason);

/* For wrappers of calls that may break a capture: nothing to do where the driver's log tells. */
void record_failure_seen (McuResult result, const char *function);

/* ---- record-capture.c ---- */

typedef struct _RecordCapture RecordCapture;

typedef struct
{
  unsigned number;     /* of the capture in this process, from 1 */
  CUstream stream;     /* never NULL: a per-thread stream is MCU_STREAM_PER_THREAD */
  int thread;          /* that began it */
  unsigned operations; /* that were seen to become nodes of it */
  char after_type[32]; /* of the last of these, "" for none */
  char after_name[4096]; /* and its kernel's raw name, "" for none */
} RecordCaptureFacts;

/* The calling thread, as the kernel numbers it. */
int record_thread (void);

/* The handle by which the driver knows the stream on this thread, whatever function it came through. */
CUstream record_stream (CUstream stream, bool per_thread);

void record_begun (McuResult result, const char *function, CUstream stream, int mode, CUgraph into, bool again);
/* Before and after the end of a capture. NULL: not one that we know. */
RecordCapture *record_ending (CUstream stream);
void record_ended (RecordCapture *capture, McuResult result, CUstream stream, CUgraph graph);
/* An operation was put into a stream while there are captures. */
void record_operation (McuResult result, const char *function, CUstream stream);
/* The stream, the context, or everything is about to be destroyed. */
void record_stream_gone (CUstream stream);
void record_context_gone (CUcontext context);

/* Calls `broken` for each capture that has left the active state and was not reported before. */
void record_find_broken (void (*broken) (const RecordCaptureFacts *facts, void *data), void *data);

/* ---- record-graph.c ---- */

typedef struct
{
  const char *function;
  bool has_flags;
  uint64_t flags;
  int failure;            /* MCU_INSTANTIATE_RESULT_*, -1 where the ABI does not tell */
  CUgraphNode error_node; /* nullable */
} RecordInstantiation;

void record_instantiated (McuResult result, CUgraphExec exec, CUgraph graph, const RecordInstantiation *how);
void record_updated (McuResult result, const char *function, CUgraphExec exec, CUgraph graph, int update,
                     CUgraphNode error_node);
void record_launched (CUgraphExec exec);
/* Before and after. */
unsigned record_exec_destroying (CUgraphExec exec);
void record_exec_destroyed (McuResult result, CUgraphExec exec, unsigned graph);
/* Which capture a graph came from, 0 for none. */
void record_graph_captured (CUgraph graph, unsigned capture);
unsigned record_graph_origin (CUgraph graph);
unsigned record_graph_destroying (CUgraph graph);

/* "kernel" and its raw name, "memcpy" and "": of a node of a live graph. */
void record_describe_node (CUgraphNode node, char *type, size_t type_size, char *name, size_t name_size);
/* "key":{"type":...,"name":...,"demangled":...} */
void record_text_node (RecordText *text, const char *key, const char *type, const char *name);
/* Demangled into a buffer, or copied. */
void record_demangle (const char *name, char *text, size_t size);

/* ---- record-census.c: an object of its own, with GLib, loaded when it is needed ---- */

#define RECORD_CENSUS_MODULE "memra-record-census.so"
#define RECORD_CENSUS_ABI 1

typedef struct
{
  unsigned nodes, kernels, edges;
  char types[1024];   /* JSON object: node type -> number */
  char hazards[1024]; /* JSON object: kind -> number */
  char hash[65];
  char error[1024]; /* why there is no census */
} RecordCensusFacts;

typedef struct
{
  unsigned abi;
  /* Reads the census of a graph and writes it to `path`, aside first. */
  bool (*write) (const char *driver_path, CUgraph graph, const char *temporary, const char *path, RecordCensusFacts *facts);
} RecordCensusModule;

typedef const RecordCensusModule *(*RecordCensusModuleFunc) (void);
