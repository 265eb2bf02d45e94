/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-context.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-stream
 * @title: Streams
 * @short_description: streams, marks, and getting a stream out of a capture
 * @include: memra-capture/memra-capture.h
 *
 * A stream is created, or somebody else's is wrapped. The legacy stream can be wrapped and used, but not captured.
 */

/**
 * MemraStreamFlags:
 * @MEMRA_STREAM_BLOCKING: ordered with the legacy stream; work that escapes to the legacy stream breaks its captures
 * @MEMRA_STREAM_NON_BLOCKING: independent of the legacy stream (CU_STREAM_NON_BLOCKING)
 *
 * How a stream stands to the legacy stream.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_STREAM_BLOCKING = 0,
  MEMRA_STREAM_NON_BLOCKING = 1
} MemraStreamFlags;

/**
 * MemraCaptureStatus:
 * @MEMRA_CAPTURE_STATUS_NONE: not being captured
 * @MEMRA_CAPTURE_STATUS_ACTIVE: being captured
 * @MEMRA_CAPTURE_STATUS_INVALIDATED: being captured, and the capture is broken; it must still be ended
 *
 * Capture status of a stream, with the driver's own values.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CAPTURE_STATUS_NONE = 0,
  MEMRA_CAPTURE_STATUS_ACTIVE = 1,
  MEMRA_CAPTURE_STATUS_INVALIDATED = 2
} MemraCaptureStatus;

/**
 * MemraHostFunc:
 * @data: what was given to memra_stream_host_func()
 *
 * A function that a stream calls, on a thread of the driver. It must not call CUDA.
 *
 * Since: 0.1
 */
typedef void (*MemraHostFunc) (gpointer data);

MEMRA_AVAILABLE_IN_0_1
MemraStream *memra_stream_new (MemraContext    *context,
                               MemraStreamFlags flags,
                               GError         **error);
MEMRA_AVAILABLE_IN_0_1
MemraStream *memra_stream_wrap (MemraContext       *context,
                                struct CUstream_st *cuda_stream,
                                GError            **error);
MEMRA_AVAILABLE_IN_0_1
MemraStream *memra_stream_ref (MemraStream *stream);
MEMRA_AVAILABLE_IN_0_1
void memra_stream_unref (MemraStream *stream);
MEMRA_AVAILABLE_IN_0_1
MemraContext *memra_stream_get_context (MemraStream *stream);
MEMRA_AVAILABLE_IN_0_1
struct CUstream_st *memra_stream_get_cuda_stream (MemraStream *stream);
MEMRA_AVAILABLE_IN_0_1
MemraStreamFlags memra_stream_get_flags (MemraStream *stream);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_is_legacy (MemraStream *stream);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_get_capture_status (MemraStream        *stream,
                                          MemraCaptureStatus *status,
                                          GError            **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_synchronize (MemraStream *stream,
                                   GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_wait (MemraStream *stream,
                            MemraStream *other,
                            GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_host_func (MemraStream   *stream,
                                 MemraHostFunc  func,
                                 gpointer       data,
                                 GDestroyNotify destroy,
                                 GError       **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_recover (MemraStream *stream,
                               GError     **error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_stream_mark (MemraStream *stream,
                            const char  *name,
                            GError     **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (MemraStream, memra_stream_unref)

G_END_DECLS
