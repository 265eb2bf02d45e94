/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the launchers of the bundled kernels share. */
#pragma once

#include "driver/driver-private.h"

/* The GPU's kernels, made at build time from memra-dsv4.cu; a build without nvcc has size 0. */
extern const unsigned long long memra_dsv4_fatbin[];
extern const gsize memra_dsv4_fatbin_size;

/* Limits of the kernels: shared memory for attention, and the experts of a layer. */
#define MEMRA_DSV4_MAX_HEAD_DIM       4096
#define MEMRA_DSV4_MAX_ACTIVE_EXPERTS 8

typedef enum
{
  MEMRA_DSV4_ADD_INPLACE,
  MEMRA_DSV4_RMSNORM,
  MEMRA_DSV4_MATVEC,
  MEMRA_DSV4_ROPE,
  MEMRA_DSV4_KV_APPEND,
  MEMRA_DSV4_ATTENTION,
  MEMRA_DSV4_ROUTE,
  MEMRA_DSV4_EXPERT_MATVEC,
  MEMRA_DSV4_SILU_GATE,
  MEMRA_DSV4_EXPERT_SUM,
  MEMRA_DSV4_ADVANCE,
  MEMRA_DSV4_N_KERNELS
} MemraDsv4KernelId;

struct _MemraDsv4
{
  gatomicrefcount ref_count;
  MemraModule *module;                        /* owned */
  MemraKernel *kernels[MEMRA_DSV4_N_KERNELS]; /* owned */
};

/* What a kernel does to a buffer. Two operands can only be one buffer if neither is written, or if both are IN_PLACE.
 */
typedef enum
{
  MEMRA_DSV4_READS = 0,
  MEMRA_DSV4_WRITES = 1 << 0,
  MEMRA_DSV4_IN_PLACE = 1 << 1
} MemraDsv4Use;

/* A buffer argument. */
typedef struct
{
  const char *name;    /* as in the public header */
  MemraBuffer *buffer; /* borrowed */
  guint64 n_elements;  /* of four bytes, that the kernel touches */
  MemraDsv4Use use;
} MemraDsv4Operand;

/* A plain argument. */
typedef struct
{
  const char *name;    /* of a count, which is a guint32 and must be at least 1; else NULL */
  gconstpointer value; /* borrowed */
} MemraDsv4Scalar;

#define MEMRA_DSV4_MAX_OPERANDS 5
#define MEMRA_DSV4_MAX_SCALARS  5

/* One launch. The kernel's arguments are the operands and then the scalars, both in order. */
typedef struct
{
  MemraDsv4KernelId kernel;
  MemraDim3 grid;
  guint32 threads;
  guint32 shared_bytes;
  const MemraDsv4Operand *operands;
  guint n_operands;
  const MemraDsv4Scalar *scalars;
  guint n_scalars;
} MemraDsv4Launch;

/* The fields for an array of operands or scalars. */
#define MEMRA_DSV4_OPERANDS(array) .operands = (array), .n_operands = G_N_ELEMENTS (array)
#define MEMRA_DSV4_SCALARS(array)  .scalars = (array), .n_scalars = G_N_ELEMENTS (array)

/* Checks counts, sizes and aliases, acquires each buffer once, launches, ends the accesses. */
gboolean _memra_dsv4_launch (MemraDsv4 *dsv4, MemraStream *stream, const MemraDsv4Launch *launch, GError **error);

/* Sets MEMRA_DRIVER_ERROR_INVALID_ARGUMENT, "Could not launch <kernel>: <why>", and returns FALSE. */
gboolean _memra_dsv4_refuse (MemraDsv4KernelId kernel, GError **error, const char *why, ...) G_GNUC_PRINTF (3, 4);

/* a * b * c, or G_MAXUINT64 if it is more: no buffer is that large. */
guint64 _memra_dsv4_multiply (guint64 a, guint64 b, guint64 c);

/* Threads of a block: one element each, or one row of a matrix together. Geometry comes from sizes alone, never from
 * the device, so that a layer's census is the same everywhere. */
#define MEMRA_DSV4_ELEMENT_THREADS 256
#define MEMRA_DSV4_ROW_THREADS     128

/* Blocks for n threads' worth of elements, or for n rows. The kernels loop where that is fewer than needed. */
guint32 _memra_dsv4_element_blocks (guint64 n);
guint32 _memra_dsv4_row_blocks (guint32 n);
