/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the recorder writes and the command reads: see docs/formats.md. */
#pragma once

#define RECORD_EVENTS_FORMAT "memra-capture-events"
#define RECORD_EVENTS_VERSION 1

/* launches-ID.counts: a header of one chunk that begins with the magic, then 64-bit counters of this machine's byte
 * order, that of graph 1 first, in whole chunks. */
#define RECORD_COUNTS_MAGIC "MEMRALC1"
#define RECORD_COUNTS_CHUNK 65536

/* How the command tells the recorder. */
#define RECORD_ENV_DIRECTORY "MEMRA_RECORD_DIR" /* an absolute path; without it nothing is recorded */
#define RECORD_ENV_RUN "MEMRA_RECORD_RUN"       /* which run of the command a process belongs to */
#define RECORD_ENV_OPTIONS "MEMRA_RECORD_OPTIONS" /* "launches", "stacks", or both */
#define RECORD_MAX_DIRECTORY 3900                 /* bytes */

#define RECORD_LIBRARY "libmemra-record.so"
