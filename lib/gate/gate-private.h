/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <memra-capture/memra-capture.h>

struct _MemraGateReport
{
  guint n_eager_runs, n_captures, n_replays;
  guint64 n_compared_bytes;
  GString *failure; /* nullable: the first difference, as a sentence */
  char *message;    /* owned: the verdict */
};
