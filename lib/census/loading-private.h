/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files share that read a census file. */
#pragma once

#include "census/census-private.h"
#include "census/json-text-private.h"
#include "census/json-value-private.h"

/* Deeper than any graph that a census can be taken of. */
#define MEMRA_MAX_DEPTH 200

/* A node that one of the lists tells of. */
typedef struct
{
  MemraNode node;
  guint32 number;
  const char *list; /* where it stands: "kernels", index 3 */
  guint index;
} MemraPlaced;

typedef struct
{
  MemraCensus *census;
  MemraJsonText json;
  GArray *placed;        /* owned: MemraPlaced, list by list */
  GArray *kernels;       /* owned: MemraKernelNode */
  GHashTable *functions; /* owned: name (a string of the census) -> MemraFunction with that name, the last one met */
  GArray *parameters;    /* owned: MemraParameter of the kernel at hand */
  GArray *pointers;      /* owned: MemraPointer of it */
  GByteArray *bytes;     /* owned: parameter buffer of it */
} MemraLoading;

/* Reads node, depth and section of an item, which must stand behind the one before it in its list. */
gboolean _memra_loading_place (MemraLoading *loading, JsonObject *object, const MemraPath *path, guint32 type,
                               guint32 record, GError **error);

/* A buffer's number, which counts as an allocation. */
gboolean _memra_loading_buffer (MemraLoading *loading, JsonObject *object, const MemraPath *path, guint32 *buffer,
                                GError **error);

/* load-kernel.c */
gboolean _memra_loading_kernel (MemraLoading *loading, JsonNode *node, const MemraPath *path, GError **error);

/* load-lists.c: one item each, for _memra_json_text_each_item() with a MemraLoading. */
gboolean _memra_loading_read_copy (const MemraSpan *key, guint index, const MemraSpan *value, gpointer data,
                                   GError **error);
gboolean _memra_loading_read_other (const MemraSpan *key, guint index, const MemraSpan *value, gpointer data,
                                    GError **error);
gboolean _memra_loading_read_hazard (const MemraSpan *key, guint index, const MemraSpan *value, gpointer data,
                                     GError **error);
