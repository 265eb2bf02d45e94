/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A sequence: clones of the graphs of several captures as children of one graph. That graph is kept the way a captured
 * one is, as a MemraLayerCapture of its own, so replays, completion, updates and release are those of a capture.
 */
#pragma once

#include "capture-private.h"

struct _MemraLayerSequence
{
  gatomicrefcount ref_count;
  MemraLayerCapture *whole;     /* owned; its lock guards all below that changes */
  MemraLayerCapture **captures; /* owned, and each of them */
  guint n_layers;
  MemraCaptureOptions options;  /* policy and allow-empty, for whatever is assembled */
  pthread_mutex_t updating;     /* held for a whole update; taken before any capture's lock */

  guint64 *generations; /* owned: of each capture when it was cloned */
  guint64 epoch;        /* of all captures, when the generations were last seen to be those */
  MemraLiveSet *live;   /* owned */
};

/* What is put together for a sequence before it becomes one. */
typedef struct
{
  MemraCaptureScope scope; /* not a capture's, but what its last steps go by */
  CUgraph graph;           /* owned until it is handed on */
  GPtrArray *members;      /* owned: the layers' censuses, referenced */
  guint64 *generations;    /* owned */
  guint64 epoch;
  MemraLiveSet *live;      /* owned */
} MemraAssembly;

void _memra_assembly_clear (MemraAssembly *assembly);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraAssembly, _memra_assembly_clear)

/* Clones the graphs of `captures` into one. With the context current and the thread mode relaxed, and no lock held. */
gboolean _memra_assembly_make (MemraAssembly *assembly, MemraStream *stream, const MemraCaptureOptions *options,
                               MemraLayerCapture *const *captures, guint n, GError **error);

/* "layer 3", or where its place is another one "layer 3 (place 7)". (transfer full) */
char *_memra_sequence_dup_place (const MemraLayerCapture *capture, guint place);
