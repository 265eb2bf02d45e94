/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The demo: what it does (demo-run.c), what it proves (demo-proof.c), and how it is told (demo-print.c, demo-json.c).
 *
 * A step is one token through all layers. Step 0 is what the captures themselves run; steps 1 to n_replays are replays.
 * The same steps are then run eagerly from the same start, and compared as they go.
 */
#pragma once

#include "tool-private.h"

/* Where replay and eager execution first differ, in the order in which things ran. */
typedef struct
{
  gboolean found;
  const char *buffer; /* what it is called, static */
  guint layer;
  guint step;
  gsize element;  /* of four bytes */
  guint32 replay; /* its bits */
  guint32 eager;
} DemoMismatch;

/* Which layer breaks a promise, and how; `problem` is NULL while none does. */
typedef struct
{
  guint layer;
  char *problem; /* owned, nullable: a clause */
} DemoPromise;

typedef struct
{
  guint n_layers;
  guint n_replays;
  gboolean corrupt;

  MemraDriver *driver; /* owned */
  int device;
  char *device_name; /* owned */
  MemraContext *context;
  MemraStream *stream;
  MemraDsv4 *dsv4;
  MemraDsv4Config config;
  GPtrArray *layers;   /* element-type MemraDsv4Layer */
  GPtrArray *captures; /* element-type MemraLayerCapture */
  GPtrArray *outputs;  /* element-type MemraBuffer: a copy of the residual stream after each layer */
  MemraBuffer *hidden; /* the residual stream */

  /* What replay left behind, in host memory. */
  guint32 *trace;                   /* output of [step][layer][element] */
  guint32 *caches;                  /* [layer][keys, values][element] */
  guint *body_calls;                /* [layer], during the capture */
  guint32 *positions_after_capture; /* [layer] */
  guint32 *positions;               /* [layer], after the replays */
  gint64 *replay_ns;                /* [replay], a token through all layers */
  gint64 *eager_ns;                 /* same, of the eager steps 1 to n_replays */

  DemoPromise once;  /* each layer ran exactly once when it was captured */
  DemoPromise moved; /* each replay moved each layer on by one position */
  DemoPromise alive; /* outputs are finite and differ from step to step: equal zeros would prove nothing */
  DemoMismatch mismatch;
} Demo;

/* A step of a capture and its name in output. */
extern const char *const demo_step_names[MEMRA_CAPTURE_N_STEPS];

void demo_clear (Demo *demo);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Demo, demo_clear)

/* Makes everything up to the first capture; demo->driver is set. */
gboolean demo_open (Demo *demo, GError **error);
/* Captures each layer: step 0. */
gboolean demo_capture (Demo *demo, GError **error);
/* Steps 1 to n_replays, then reads caches and positions. */
gboolean demo_replay (Demo *demo, GError **error);
/* All steps eagerly, compared with what replay left behind. */
gboolean demo_compare (Demo *demo, GError **error);
/* Releases the graphs, and says so if the driver does not. */
gboolean demo_close (Demo *demo, GError **error);

/* demo-proof.c */

gsize demo_cache_elements (const Demo *demo);
guint32 *demo_get_trace (const Demo *demo, guint step, guint layer);
guint32 *demo_get_cache (const Demo *demo, guint layer, guint which);

void demo_judge_capture (Demo *demo);
void demo_judge_replays (Demo *demo);
/* For --corrupt: one bit of what replay left behind. */
void demo_corrupt (Demo *demo);
/* Notes the first difference, unless one was found before. */
void demo_match (Demo *demo, const char *buffer, guint layer, guint step, const guint32 *replay, const guint32 *eager,
                 gsize n);
gboolean demo_holds (const Demo *demo);
/* A sentence about the first thing that does not hold. */
char *demo_dup_failure (const Demo *demo);

/* demo-gate.c */

/* One line of --gate. */
typedef struct
{
  const char *name; /* static */
  gboolean pass;
  char *text; /* owned */
} DemoCheck;

/* Puts the input of a step into the residual stream. */
gboolean demo_write_input (Demo *demo, guint step, GError **error);

/* All checks, after the captures. One that cannot be made has failed. (transfer full) (element-type DemoCheck) */
GArray *demo_gate (Demo *demo);
gboolean demo_gate_holds (const GArray *checks);
void demo_print_gate (const GArray *checks);
void demo_print_gate_json (const Demo *demo, const GArray *checks);

void demo_print_start (const Demo *demo);
void demo_print_captures (const Demo *demo);
void demo_print_end (const Demo *demo, const char *saved_in);
void demo_print_json (const Demo *demo);
