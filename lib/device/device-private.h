/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device room: contexts, streams, buffers and kernels, as a body uses them. It promises that every call leaves the
 * caller's current context and capture mode as they were, that objects of two contexts never meet, that buffers which
 * carry events order the streams that use them, and that whatever is used under one of our captures outlives it.
 */
#pragma once

#include "driver/driver-private.h"

#include <pthread.h>

typedef struct _MemraRecording MemraRecording;

struct _MemraContext
{
  gatomicrefcount ref_count;
  MemraDriver *driver; /* owned */
  CUcontext cuda;      /* primary context, retained; or the caller's, borrowed */
  CUdevice device;
  gint ordinal;
  gboolean owned;
  gint tracking; /* atomic boolean: event tracking */

  pthread_mutex_t lock;   /* guards recordings and what is in them */
  gint n_recordings;      /* atomic: how many captures of ours are open here */
  GPtrArray *recordings;  /* element-type MemraRecording, borrowed from their scopes */
};

struct _MemraStream
{
  gatomicrefcount ref_count;
  MemraContext *context; /* owned */
  CUstream cuda;         /* owned if `owned`, else the caller's */
  guint64 serial;        /* unique in the process, unlike the handle */
  gint flags;            /* atomic: MemraStreamFlags, or MEMRA_FLAGS_UNKNOWN for a wrapped stream not asked yet */
  gboolean owned;
  gboolean legacy;
};

#define MEMRA_FLAGS_UNKNOWN (-1)

struct _MemraModule
{
  gatomicrefcount ref_count;
  MemraContext *context; /* owned */
  CUmodule cuda;         /* owned */
};

struct _MemraKernel
{
  gatomicrefcount ref_count;
  MemraModule *module; /* owned */
  CUfunction cuda;     /* belongs to the module */
  char *name;          /* owned */
  gint n_arguments;    /* -1: the driver (below 12.4) does not tell */
};

/* A section of a layer: everything issued after the mark and before the next. */
typedef struct
{
  gsize n_nodes; /* in the graph when the mark was set */
  gboolean counted; /* whether n_nodes is known */
  char *name;    /* owned */
} MemraMark;

/* Data of the caller's, each with its own call of a function that frees it. */
typedef struct
{
  gpointer data;
  GDestroyNotify destroy;
} MemraOwned;

/* One of our captures while it is open, as the device room sees it, and afterwards what it keeps alive. Owned by the
 * capture scope, then by the capture, and by the sequences that the capture is part of. */
struct _MemraRecording
{
  gatomicrefcount ref_count;
  MemraContext *context; /* borrowed: the scope holds a reference */
  CUstream origin;
  guint64 id;            /* the driver's capture id, 0 before it is known */
  gboolean fragile;      /* of the global mode: any thread's call may break it, and its graph may go at any moment */
  GHashTable *retained;  /* object -> GDestroyNotify: kept alive by the capture */
  GArray *owned;         /* element-type MemraOwned: freed with the capture */
  GArray *marks;         /* element-type MemraMark */
  MemraKernel *last_kernel; /* borrowed from retained, nullable: launched last through the library */
  char *last_node;       /* owned, nullable: the last node when the last mark was set */
  GError *refusal;       /* owned, nullable: the first thing the device room refused inside this capture */
  GError *breach;        /* owned, nullable: the mark at which the capture was found broken */
};

/* Context made current for a stretch of code. */
typedef struct
{
  MemraContext *context; /* NULL: nothing to restore */
  CUcontext previous;
  gboolean foreign; /* set by whoever runs the caller's code in between, which may push and pop on its own account */
} MemraCurrent;

/* Makes the context current on this thread; leave() puts back the one that was. */
McuResult _memra_context_enter (MemraContext *context, MemraCurrent *current);
void _memra_context_leave (MemraCurrent *current);
/* Makes the context current again if the code between made another one current. */
void _memra_context_reenter (MemraCurrent *current);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraCurrent, _memra_context_leave)

/* The thread's capture mode set to RELAXED for a stretch of code that must not break the captures of others. */
typedef struct
{
  MemraDriver *driver; /* NULL: nothing to restore */
  int mode;
} MemraThreadMode;

void _memra_thread_mode_relax (MemraDriver *driver, MemraThreadMode *mode);
void _memra_thread_mode_restore (MemraThreadMode *mode);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraThreadMode, _memra_thread_mode_restore)

/* Whether both are of one driver context; if not, sets MEMRA_DRIVER_ERROR_WRONG_CONTEXT. */
gboolean _memra_context_require_same (MemraContext *a, const char *what_a, MemraContext *b, const char *what_b, GError **error);

/* Opens and closes a recording; called by the capture scope right after begin and right before end. */
MemraRecording *_memra_recording_new (MemraStream *stream);
void _memra_recording_close (MemraRecording *recording);
MemraRecording *_memra_recording_ref (MemraRecording *recording);
void _memra_recording_unref (MemraRecording *recording); /* NULL is nothing */

/* One that no capture is open for: it keeps what it is given, and has marks. */
MemraRecording *_memra_recording_new_detached (MemraContext *context);

/* The recording of ours that a stream (origin or fork) is in, or NULL. No driver call when no capture of ours is open. */
MemraRecording *_memra_stream_find_recording (MemraStream *stream);

/* The recording of the capture with this id, or NULL if it is not one of ours. */
MemraRecording *_memra_context_find_recording (MemraContext *context, guint64 id);

/* Hands `data` over to the recording's capture. */
void _memra_recording_own (MemraRecording *recording, gpointer data, GDestroyNotify destroy);

/* Keeps `object` alive by the recording's capture, once however often it is used; `ref` is called when it is new.
 * Remembers `kernel`, if any, as the last one launched. */
void _memra_recording_retain (MemraRecording *recording, gpointer object, void (*ref) (gpointer), GDestroyNotify unref,
                              MemraKernel *kernel);

/* Remembers a copy of the first refusal, so that the capture fails even if the body ignores it. */
void _memra_recording_refuse (MemraRecording *recording, const GError *refusal);

/* Capture status of a stream; errors of the driver read as NONE only for the legacy stream beside a blocking capture. */
McuResult _memra_stream_status (MemraStream *stream, int *status);

/* The stream's flags, asked for when first needed; 900 without asking if the stream is being captured. */
McuResult _memra_stream_learn_flags (MemraStream *stream, MemraStreamFlags *flags);

/* Sets MEMRA_DRIVER_ERROR_CAPTURING and returns FALSE if the stream is being captured: for calls that would wait. */
gboolean _memra_stream_require_not_capturing (MemraStream *stream, const char *what, GError **error);
