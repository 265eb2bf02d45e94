/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of a report on arguments share. */
#pragma once

#include "census/diff-private.h"

typedef struct
{
  guint kernel;   /* index of the kernel, or MEMRA_NO_PLACE for any other node */
  guint argument; /* or MEMRA_NO_PLACE for what is no argument */
  guint32 node;
  char *what;    /* owned: "argument 2" */
  char *values;  /* owned: "41 -> 42: ..." */
  char *message; /* owned */
} MemraArgumentChange;

struct _MemraArgumentReport
{
  MemraCensus **censuses; /* owned array of owned references */
  guint n_censuses;
  MemraPairing *pairings; /* owned: of the first census with each */
  GArray *changes;        /* element-type MemraArgumentChange */
};
