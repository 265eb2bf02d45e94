/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-stream.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-buffer
 * @title: Buffers
 * @short_description: device memory, accesses, copies
 * @include: memra-capture/memra-capture.h
 *
 * A body acquires the buffers that its kernels use: that gives the address, keeps the buffer alive as long as the
 * capture, and, where a buffer carries events, refuses it. Sizes and offsets are in bytes.
 */

/**
 * MemraAccess:
 *
 * An open access to a buffer, on the caller's stack. Start from %MEMRA_ACCESS_INIT; memra_access_end() closes it, and
 * so does leaving the scope of a g_auto(MemraAccess). For one thread at a time. All fields are private.
 *
 * Since: 0.1
 */
typedef struct _MemraAccess MemraAccess;
struct _MemraAccess
{
  /*< private >*/
  MemraBuffer *buffer;
  MemraStream *stream;
  gboolean write;
  gpointer reserved[3];
};

/**
 * MEMRA_ACCESS_INIT:
 *
 * Initialiser of a #MemraAccess.
 *
 * Since: 0.1
 */
#define MEMRA_ACCESS_INIT                                                                                              \
  {                                                                                                                    \
    NULL, NULL, FALSE, { NULL, NULL, NULL }                                                                            \
  }

MEMRA_AVAILABLE_IN_0_1
MemraBuffer *memra_buffer_new (MemraStream *stream,
                               gsize        size,
                               GError     **error);
MEMRA_AVAILABLE_IN_0_1
MemraBuffer *memra_buffer_new_from_host (MemraStream  *stream,
                                         gconstpointer data,
                                         gsize         size,
                                         GError      **error);
MEMRA_AVAILABLE_IN_0_1
MemraBuffer *memra_buffer_ref (MemraBuffer *buffer);
MEMRA_AVAILABLE_IN_0_1
void memra_buffer_unref (MemraBuffer *buffer);
MEMRA_AVAILABLE_IN_0_1
gsize memra_buffer_get_size (MemraBuffer *buffer);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_buffer_get_address (MemraBuffer *buffer);
MEMRA_AVAILABLE_IN_0_1
MemraContext *memra_buffer_get_context (MemraBuffer *buffer);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_buffer_carries_events (MemraBuffer *buffer);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_buffer_acquire_read (MemraBuffer *buffer,
                                   MemraStream *stream,
                                   MemraAccess *access,
                                   GError     **error);
MEMRA_AVAILABLE_IN_0_1
guint64 memra_buffer_acquire_write (MemraBuffer *buffer,
                                    MemraStream *stream,
                                    MemraAccess *access,
                                    GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_access_end (MemraAccess *access,
                           GError     **error);
MEMRA_AVAILABLE_IN_0_1
void memra_access_clear (MemraAccess *access);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_buffer_copy_from_host (MemraBuffer  *buffer,
                                      gsize         offset,
                                      gconstpointer data,
                                      gsize         size,
                                      MemraStream  *stream,
                                      GError      **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_buffer_copy_to_host (MemraBuffer *buffer,
                                    gsize        offset,
                                    gpointer     data,
                                    gsize        size,
                                    MemraStream *stream,
                                    GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_buffer_copy (MemraBuffer *destination,
                            MemraBuffer *source,
                            MemraStream *stream,
                            GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_buffer_zero (MemraBuffer *buffer,
                            MemraStream *stream,
                            GError     **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraBuffer, memra_buffer_unref)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MemraAccess, memra_access_clear)

G_END_DECLS
