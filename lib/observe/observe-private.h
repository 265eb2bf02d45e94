/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The observing room: who broke a capture. It promises to name a call only if the capture was seen to break inside that
 * very call, to cost nothing while nothing breaks, and to say nothing where the driver is too old to tell.
 */
#pragma once

#include "driver/driver-private.h"

typedef struct _MemraWatch MemraWatch;

/* A call that broke a capture. */
typedef struct
{
  char *function;   /* owned: the driver entry point, "cuStreamSynchronize" */
  McuResult result; /* what it answered */
  char *reason;     /* owned, nullable: the driver's own sentence about it */
  gboolean other_thread; /* not the thread that opened the watch */
  void *frames[48]; /* return addresses, innermost first */
  gint n_frames;
} MemraCulprit;

/* Starts to listen to the driver's error log on behalf of a capture that is about to begin in `stream` on this thread.
 * NULL if the driver (below 12.9) has no log. */
MemraWatch *_memra_watch_open (MemraDriver *driver, CUstream stream);

/* The capture has begun: from now on a failing call during which the stream's status is no longer active is the culprit. */
void _memra_watch_arm (MemraWatch *watch);

/* Right before the capture is ended by us: what fails from here on is our own end, whose reason is kept. */
void _memra_watch_ending (MemraWatch *watch);

/* Stops listening; idempotent. What was found stays. */
void _memra_watch_close (MemraWatch *watch);
void _memra_watch_free (MemraWatch *watch);

/* The culprit, or NULL if none was seen; valid until the watch is freed. Call after close. */
const MemraCulprit *_memra_watch_get_culprit (MemraWatch *watch);

/* The driver's own sentence about a failing end, or NULL. Call after close. */
const char *_memra_watch_get_end_reason (MemraWatch *watch);

/* "invalidated by cuStreamSynchronize (900), called from step+0x42 in libengine.so, on another thread". (transfer full) */
char *_memra_culprit_describe (MemraDriver *driver, const MemraCulprit *culprit);

/* One line for each frame from the failing call outwards, "step+0x42 in libengine.so", without the driver's own frames and
 * ours. (transfer full), NULL-terminated */
char **_memra_culprit_dup_stack (MemraDriver *driver, const MemraCulprit *culprit);
