/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The capture room. It promises one end for every begin on every way out of a body, the caller's context and capture
 * mode as they were, an error that says the step, what had run and whether the stream is clean, and a kept graph that
 * ran exactly once.
 */
#pragma once

#include "census/census-private.h"
#include "device/device-private.h"
#include "observe/observe-private.h"

struct _MemraCaptureOptions
{
  MemraCaptureMode mode;
  gboolean strict;
  gboolean allow_empty;
  gboolean record_only;
  MemraPolicy *policy; /* owned, nullable */
  gboolean blind; /* no listening to the driver's error log */
};

struct _MemraCaptureScope
{
  MemraStream *stream;        /* owned: the caller's, and the one that the graph is launched into */
  MemraStream *issue;         /* owned: the one that is captured; another one than `stream` only if strict needs it */
  guint layer;
  MemraCaptureOptions options;
  MemraRecording *recording;  /* owned, NULL before begin */
  MemraWatch *watch;          /* owned, nullable: listens for the call that breaks the capture */
  gboolean open;              /* begun and not ended */
  GPtrArray *members;         /* element-type MemraCensus, borrowed, nullable: of the layers, if this is a sequence */
  gboolean swapped;           /* when the body was done the stream was in another capture than ours */
  gint64 timings[MEMRA_CAPTURE_N_STEPS]; /* ns */
  gint64 step_started;        /* ns, monotonic */
};

/* Something the caller gave to memra_layer_capture_retain(). */
typedef struct
{
  gpointer data;
  GDestroyNotify destroy; /* nullable */
} MemraRetained;

struct _MemraLayerCapture
{
  gatomicrefcount ref_count;
  MemraStream *stream;       /* owned */
  guint layer;
  gboolean is_sequence;      /* the whole of a MemraLayerSequence: messages name no layer of its own */
  MemraCensus *census;       /* owned */
  gint64 timings[MEMRA_CAPTURE_N_STEPS]; /* ns */
  guint64 executions;        /* 0 or 1: by the capture itself */

  pthread_mutex_t lock;      /* guards all below: the driver does not lock a graph or exec */
  CUgraph graph;             /* owned, NULL when closed */
  CUgraphExec exec;          /* owned, NULL when closed */
  gboolean exec_is_older;    /* exec was made from another graph and updated: it does not know the nodes of this one */
  CUgraphNode *kernel_nodes; /* owned, nullable: handle of each kernel of the census, listed when first asked for */
  guint64 generation;        /* counts what edits and updates made of it; written with the lock held, read without it */
  guint64 replays;
  gboolean dirty;            /* an edit failed and could not be rolled back */
  gboolean in_flight;        /* launched since the last proven completion */
  MemraRecording *recording; /* owned, as a sequence may too: keeps what the body used */
  GPtrArray *superseded;     /* element-type MemraRecording, owned, nullable: of bodies before an update, maybe in use */
  GArray *retained;          /* element-type MemraRetained; sequences hold references, too */
};

/* What goes into a MEMRA_CAPTURE_ERROR beside its code and sentence. */
typedef struct
{
  guint layer;
  gboolean sequence;         /* of a sequence as a whole, which has no layer's number */
  MemraCaptureStage stage;
  McuResult result;          /* 0: no driver call failed */
  MemraExecution execution;
  gboolean unclean;          /* the stream is still in a capture */
  MemraCensus *partial;      /* nullable, referenced by the error */
  char **stack;              /* nullable, copied into the error: from the call that broke the capture outwards */
} MemraFailure;

/* Sets "layer N capture STAGE: <sentence>" and returns FALSE; with a result, the sentence is followed by its
 * description, or is the description alone if `what` is NULL. */
gboolean _memra_capture_fail (MemraDriver *driver, GError **error, MemraCaptureError code, const MemraFailure *failure,
                              const char *what, ...) G_GNUC_PRINTF (5, 6);

/* BROKEN for results that a capture's own rules produce (401, 900 to 908), FAILED for others. */
MemraCaptureError _memra_capture_error_code (McuResult result);

/* Monotonic nanoseconds. */
gint64 _memra_now (void);

/* Books the time since the last call (or since the scope was opened) under a step. */
void _memra_scope_book (MemraCaptureScope *scope, MemraCaptureStep step);

/* Steps status, pre-drain and begin. The context is current and the thread mode relaxed meanwhile. */
MemraCaptureScope *_memra_scope_open (MemraStream *stream, guint layer, const MemraCaptureOptions *options, GError **error);

/* Step end, exactly one: always calls cuStreamEndCapture if the scope is open, and verifies the stream. `body_error` is
 * the body's own (consumed), or NULL if it succeeded. Returns the graph, or NULL with an error set. */
CUgraph _memra_scope_close (MemraCaptureScope *scope, gboolean body_ok, GError *body_error, GError **error);

/* Ends an open capture, discards the graph, says nothing: for ways out that carry no error. */
void _memra_scope_discard (MemraCaptureScope *scope);
void _memra_scope_free (MemraCaptureScope *scope);

/* What is done with an ended capture's graph, which is handed over. */
typedef gpointer (*MemraFinish) (MemraCaptureScope *scope, CUgraph graph, gpointer data, GError **error);

/* Status to end around a body, with everything put back on every way out of it, then `finish`, under the same guard. */
gpointer _memra_capture_run (MemraStream *stream, guint layer, const MemraCaptureOptions *options, MemraLayerBody body,
                             gpointer user_data, MemraFinish finish, gpointer finish_data, GError **error);

/* What is made of a graph on the way to a kept capture; released in the right order by work_clear. */
typedef struct
{
  MemraDriver *driver; /* borrowed */
  CUgraph graph;
  CUgraphExec exec;
  MemraCensus *census;
} MemraWork;

void _memra_work_clear (MemraWork *work);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraWork, _memra_work_clear)

/* Steps node census, kernel census and policy: fills work->census. */
gboolean _memra_work_examine (MemraCaptureScope *scope, MemraWork *work, GError **error);

/* Steps instantiate and upload: fills work->exec. */
gboolean _memra_work_instantiate (MemraCaptureScope *scope, MemraWork *work, GError **error);

/* The steps from node census on: takes the graph over, also on error. Consumes nothing of the
 * scope but its recording. */
MemraLayerCapture *_memra_scope_finish (MemraCaptureScope *scope, CUgraph graph, GError **error);

/* Brings a stream out of whatever capture it is in, from the thread that began it. Returns whether it is out. */
gboolean _memra_stream_leave_capture (MemraStream *stream, McuResult *result);

/* The newest mark, and the newest work (`last_node` if it is known, else what was launched through the library or stood
 * last at the mark); NULL for none. */
const char *_memra_recording_last_mark (MemraRecording *recording);
const char *_memra_recording_last_work (MemraRecording *recording, const char *last_node);

/* Why the driver does not update an exec. */
typedef struct
{
  int result;       /* MCU_UPDATE_* */
  CUgraphNode node; /* nullable */
} MemraRefusal;

/* An empty array for what is retained: the last reference calls the destroy functions. (transfer full) */
GArray *_memra_retained_new (void);

/* The capture's graph is another one than before. With the lock held. */
void _memra_layer_capture_changed (MemraLayerCapture *capture);

/* Counts the changes of all captures: as long as it stays, none has changed. */
guint64 _memra_captures_get_epoch (void);

/* What a checked replay is made of, with the lock held. check_open: neither closed nor dirty. */
gboolean _memra_layer_capture_fail_replay (MemraLayerCapture *capture, GError **error, MemraCaptureError code,
                                           McuResult result, MemraExecution execution, const char *what);
gboolean _memra_layer_capture_fail_open (MemraLayerCapture *capture, GError **error);

static inline gboolean
_memra_layer_capture_check_open (MemraLayerCapture *capture, GError **error)
{
  return G_LIKELY (capture->exec != NULL && !capture->dirty) || _memra_layer_capture_fail_open (capture, error);
}

gboolean _memra_layer_capture_check_stream (MemraLayerCapture *capture, GError **error);
gboolean _memra_layer_capture_launch_locked (MemraLayerCapture *capture, GError **error);

/* An update of a kept graph by another one that came out of `scope`. */
typedef struct
{
  MemraLayerCapture *capture; /* borrowed */
  MemraUpdateFlags flags;
  MemraUpdateOutcome outcome;
  MemraRecording *replaced; /* owned, nullable: what the body before used, with nothing in flight that could use it */
} MemraUpdate;

/* Whether there is anything to update; lets go what no launch can be using any more. */
gboolean _memra_update_prepare (MemraLayerCapture *capture, GError **error);

/* With the lock held: the graph of `work` takes the place of the old. */
gboolean _memra_update_locked (MemraUpdate *update, MemraCaptureScope *scope, MemraWork *work, GError **error);
void _memra_update_release (MemraUpdate *update);

/* Makes exec do what `graph` says, which is of the same shape. With the lock held. */
McuResult _memra_layer_capture_update_exec (MemraLayerCapture *capture, CUgraph graph, MemraRefusal *refusal);

/* "between 'a' and 'b', after K", "after 'a', last node K", "after K" or NULL: how far a body got. */
char *_memra_recording_where (MemraRecording *recording, const char *last_node);

/* Whether the last launch is done; waits for it unless its stream is being captured. With the lock held, the context
 * current and the thread mode relaxed. On FALSE, *result says why, or is 0 if the stream is being captured. On TRUE,
 * *superseded (transfer full) (nullable) is what was kept for bodies before an update; to be freed once the lock is
 * released, since that calls functions of the caller. */
gboolean _memra_layer_capture_prove_completion (MemraLayerCapture *capture, McuResult *result, GPtrArray **superseded);

/* A body of ours begins and is done on this thread; meanwhile no other capture is opened on it. */
void _memra_body_enter (void);
void _memra_body_leave (void);
