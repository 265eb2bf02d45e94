/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether all ranks and all repeats made the same graphs: the n-th graph of one process against the n-th of the others. */
#pragma once

#include "recording.h"

/* A process that takes part. */
typedef struct
{
  const ToolProcess *process; /* borrowed */
  guint family;               /* only members of one family are held against each other; 0: those without a rank */
} ToolMember;

/* Those whose n-th graph is one and the same, or cannot be read, or is not there. */
typedef struct
{
  const char *identity; /* borrowed, nullable */
  gboolean absent;      /* they have no n-th graph */
  GPtrArray *members;   /* owned: ToolMember, borrowed */
} ToolVariant;

/* One place where members differ. */
typedef struct
{
  guint family;
  guint index;
  GPtrArray *variants; /* owned: ToolVariant, the one that most have first, those without a graph last */
} ToolPlace;

typedef struct
{
  GPtrArray *recordings; /* owned: GPtrArray of ToolProcess */
  GPtrArray *members;    /* owned: ToolMember */
  GPtrArray *places;     /* owned: ToolPlace, those where members differ, or a graph cannot be read */
  guint n_families;
  guint n_unread;        /* places where one cannot be read */
  guint n_places;        /* also those where all agree */
  guint n_directories;
} ToolComparison;

void tool_comparison_init (ToolComparison *comparison);
void tool_comparison_clear (ToolComparison *comparison);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (ToolComparison, tool_comparison_clear)

/* Adds processes of one folder, whose graphs have their identities. Returns how many of them take part: those that made
 * a graph. `processes`: (transfer none) */
guint tool_comparison_add (ToolComparison *comparison, GPtrArray *processes);

/* Once all are there. */
void tool_comparison_compare (ToolComparison *comparison);

/* The n-th graph of a member, from 0; it must have one. */
const ToolGraph *tool_member_get_graph (const ToolMember *member, guint index);

/* "ranks 0-2, 5", or the names of processes. (transfer full) */
char *tool_comparison_dup_names (const ToolComparison *comparison, const GPtrArray *members);

/* "4 processes with 2 graphs each: all agree". (transfer full) */
char *tool_comparison_dup_verdict (const ToolComparison *comparison);

/* What tells a variant from the first of its place; both must have an identity. (transfer full) (nullable) */
MemraCensusDiff *tool_place_diff (const ToolPlace *place, guint variant, GError **error);
