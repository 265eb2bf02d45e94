/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Editing kernel nodes of a kept capture: a batch that is applied as a whole or not at all. What the driver hands out
 * is only read; edits are made on copies and given back through its setters, to the graph and to its executable form,
 * so that census and liveness check see what will run.
 */
#pragma once

#include "capture-private.h"

/* One launch: a copy of everything that the driver keeps for a node. */
typedef struct
{
  McuKernelNodeParams params; /* kernel_params is ours, extra is NULL */
  guint8 *bytes;              /* owned: the parameter buffer */
} MemraEditLaunch;

typedef struct
{
  guint kernel;
  CUgraphNode node;
  MemraEditLaunch before, after;
} MemraEditItem;

struct _MemraKernelEdit
{
  MemraLayerCapture *capture; /* owned */
  MemraCensus *census;        /* owned: as it was when the edit began */
  guint64 generation;         /* of the capture, likewise */
  GArray *items;              /* element-type MemraEditItem */
  MemraMap places;            /* kernel + 1 -> index into items */
  guint n_lookups;
  GHashTable *kernels; /* owned, nullable: name (borrowed) -> GArray of kernels */
};

/* FALSE always. `what` is nullable. */
gboolean _memra_kernel_edit_fail (MemraKernelEdit *edit, GError **error, MemraCaptureError code, McuResult result,
                                  const char *what);

/* Whether the batch can still be committed. With the capture's lock held. */
gboolean _memra_kernel_edit_check_open (MemraKernelEdit *edit, GError **error);
