/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A buffer and the events it may carry. */
#pragma once

#include "device-private.h"

/* The last read of one stream. Streams are told apart by serial, since a handle may be used again. */
typedef struct
{
  guint64 stream; /* MemraStream.serial */
  CUevent event;  /* owned by the buffer */
} MemraReader;

struct _MemraBuffer
{
  gatomicrefcount ref_count;
  MemraContext *context; /* owned */
  CUdeviceptr address;   /* owned */
  gsize size;            /* bytes */
  gboolean carries_events; /* constant: tracking was on when it was allocated */

  pthread_mutex_t lock;   /* guards the events */
  CUevent write_event;    /* owned, NULL without events: recorded after the last write */
  gboolean written;       /* write_event has been recorded */
  guint64 writer;         /* serial of the stream of the last write */
  GArray *readers;        /* element-type MemraReader, nullable: reads since the last write */
  GArray *idle_readers;   /* element-type MemraReader, nullable: events to use again */
};
