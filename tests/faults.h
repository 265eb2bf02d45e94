/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the programs of injected faults share. What driver calls an operation makes is not written down anywhere: it is
 * learned from the host driver's counters. Each of those calls is then made to fail, the first as well as the later
 * ones, with each of five results: there is an error with the right code and result, or none where the call is one that
 * may fail; the thread is as it was; nothing is left alive in the driver; and the next try works.
 */
#pragma once

#include "capture-fixture.h"

G_BEGIN_DECLS

/* Out of memory, a dead context, what breaks a capture, a broken capture, and what nobody knows. */
#define FAULTS_N_CODES 5
extern const int faults_codes[FAULTS_N_CODES];

/* ---- Live objects of the driver ---- */

#define FAULTS_N_KINDS 8

typedef struct
{
  guint64 n[FAULTS_N_KINDS];
} FaultsObjects;

FaultsObjects faults_count_objects (void);

/* `lost`: the kind of object whose own destruction was made to fail, "any" if it may be one of any kind, or NULL. */
void faults_assert_objects (const FaultsObjects *before, const char *lost);

/* What stays alive because this entry point, which would have destroyed it, did not. NULL: nothing. */
const char *faults_lost_by (const char *entry);

/* ---- Calls ---- */

/* The driver's entry points. (transfer container) */
GPtrArray *faults_get_entries (void);

/* How often each of them was called so far. (transfer full) (element-type guint64) */
GArray *faults_count_calls (GPtrArray *entries);

/* Calls of the index-th entry point between two counts. */
guint64 faults_calls_between (GArray *before, GArray *after, guint index);

/* Does what only the call that failed could have done: sets the thread's capture mode to what it was, gives the primary
 * context back. */
void faults_repair (Fixture *fixture, const char *entry);

gboolean faults_is_one_of (const char *entry, const char *const *list);

/* Says "faults: N injected, N survived", which "make check-faults" adds up; both must be the same, and not 0. */
void faults_report (guint injected, guint survived);

/* ---- Operations ---- */

/* What operations work with. */
typedef struct
{
  Fixture *fixture;
  MemraStream *other;
  MemraBuffer *tracked; /* carries events */
  MemraLayerCapture *capture;
  MemraLayerSequence *sequence; /* of that capture alone */
  gboolean swapped;             /* which of two bodies the capture was made of, see faults_update_swapped() */
  gboolean dying;               /* the fault breaks the context for good */
} FaultsBench;

typedef struct
{
  const char *name;
  const char *swept; /* the public functions that it is about, separated by spaces; see test-faults.sh */
  gboolean (*run) (FaultsBench *bench, GError **error);
  GQuark (*domain) (void);  /* NULL: whatever fits */
  MemraCaptureStage stage;  /* for capture errors, if `domain` is theirs */
  gboolean in_turn;         /* it makes so many calls that each gets one of the codes only */
  gboolean closes;          /* it closes a capture, for which a dead context has nothing to wait for */
  guint n_inside[2];        /* graphs inside the one that the first, and the second, cuGraphDestroy destroys */
  const char *const *quiet; /* nullable: calls whose failure need not be reported, beside the usual ones */
} FaultsOperation;

/* For an operation that a fault was injected into, and whose capture must be what it was: it replays now that there are
 * no more faults, unless its context died of it. */
void faults_assert_replays (FaultsBench *bench);

/* Updates the capture with a body that its graph cannot be updated to in place: a fill and a sum, and the next time the
 * sum and the fill, so that each time takes the same calls. On failure the capture is as it was; after a fault that is
 * shown by a replay. */
gboolean faults_update_swapped (FaultsBench *bench, MemraUpdateFlags flags, MemraUpdateOutcome *outcome,
                                GError **error);

/* Adds two tests for each, of which the table must stay. "/faults/operation/NAME": every call fails once, with every
 * code. "/faults/dying/NAME": at every call in turn the context dies (700, and from then on whatever is asked of it); what
 * is made of it is released all the same, and a new context works. */
void faults_add_operations (const FaultsOperation *operations, gsize n);

G_END_DECLS
