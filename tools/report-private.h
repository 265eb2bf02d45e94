/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the report share. */
#pragma once

#include "comparison.h"
#include "html.h"
#include "overview.h"

/* Of what there may be any number, that much is shown, and how much more there is. */
enum
{
  REPORT_MOST_DETAILED = 60, /* graphs */
  REPORT_MOST_ROWS = 1000,   /* of a table */
  REPORT_MOST_KERNELS = 40,  /* of a graph */
  REPORT_MOST_LINES = 60     /* of a text */
};

typedef struct
{
  GString *page;
  const char *directory;
  const ToolOverview *overview;     /* borrowed */
  const ToolComparison *comparison; /* borrowed */
  const ToolTroubles *troubles;     /* borrowed */
  char *no_picture;                 /* owned, nullable: why none is drawn any more */
  gint64 drawing;                   /* microseconds that all pictures took so far */
} Report;

/* report-style.c */

extern const char report_style[];

/* report-page.c */

/* The whole page. (transfer full) */
char *report_write (Report *report);

/* "and 7 more graphs", unless all are shown; word: "graph". */
void report_put_more (Report *report, const char *tag, gsize all, gsize shown, const char *word);

/* "G3", and a link to where the page tells of it. */
void report_put_link (Report *report, const ToolDistinct *distinct);

/* The lines of a stack. */
void report_put_stack (Report *report, const char *label, char **stack, gboolean open);

/* The first lines of a text. */
void report_put_lines (Report *report, const char *text, guint most);

/* The parts, each a section of its own. */

void report_put_broken (Report *report);  /* report-broken.c */
void report_put_updates (Report *report); /* report-broken.c */
void report_put_ranks (Report *report);   /* report-ranks.c */
void report_put_graphs (Report *report);  /* report-graphs.c: the table */
void report_put_details (Report *report); /* report-detail.c: each graph by itself */

/* A bar of the types of a graph's nodes, and what they are. */
void report_put_types (Report *report, const ToolDistinct *distinct);
void report_put_hazards (Report *report, const ToolDistinct *distinct);
