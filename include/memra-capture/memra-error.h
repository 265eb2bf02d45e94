/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#if !defined(MEMRA_CAPTURE_INSIDE) && !defined(MEMRA_CAPTURE_COMPILATION)
#error "Include <memra-capture/memra-capture.h> only."
#endif

#include <memra-capture/memra-types.h>
#include <memra-capture/memra-version.h>

G_BEGIN_DECLS

/**
 * SECTION:memra-error
 * @title: Errors
 * @short_description: what went wrong, where, and what had run
 * @include: memra-capture/memra-capture.h
 *
 * There are three domains. %MEMRA_DRIVER_ERROR is for everything that is no capture: loading the driver, contexts,
 * streams, buffers, kernels. %MEMRA_CAPTURE_ERROR is for captures, replays and edits; its errors carry the step that
 * failed, the CUresult, whether anything ran, and whether the stream is out of capture. %MEMRA_CENSUS_ERROR is for
 * census and policy files and for reading graphs. A message always keeps the CUDA name and number of the result that
 * caused it.
 *
 * An error that a body sets keeps its own domain and code; its message gets a prefix such as "layer 3 capture body:
 * ".
 */

/**
 * MEMRA_DRIVER_ERROR:
 *
 * Error domain of everything that is not a capture: loading the driver, contexts, streams, buffers, kernels.
 * Errors are #MemraDriverError codes; memra_driver_error_get_cuda_result() gives the CUresult behind one.
 *
 * Since: 0.1
 */
#define MEMRA_DRIVER_ERROR (memra_driver_error_quark ())

/**
 * MemraDriverError:
 * @MEMRA_DRIVER_ERROR_FAILED: a driver call failed for a reason that has no code of its own here
 * @MEMRA_DRIVER_ERROR_NO_DRIVER: there is no libcuda.so.1, or it cannot be loaded
 * @MEMRA_DRIVER_ERROR_STUB: the toolkit's link-time stub was found instead of a driver (CUDA 34)
 * @MEMRA_DRIVER_ERROR_NO_DEVICE: the driver sees no device (CUDA 100), or the ordinal does not exist (101)
 * @MEMRA_DRIVER_ERROR_TOO_OLD: the driver is older than 11.4
 * @MEMRA_DRIVER_ERROR_MISSING_ENTRY: the driver lacks an entry point that is required
 * @MEMRA_DRIVER_ERROR_NOT_SUPPORTED: the driver or device lacks an optional feature; the message names it
 * @MEMRA_DRIVER_ERROR_OUT_OF_MEMORY: device or host memory is exhausted (CUDA 2)
 * @MEMRA_DRIVER_ERROR_NOT_FOUND: no such file, kernel or symbol (CUDA 301, 500)
 * @MEMRA_DRIVER_ERROR_INVALID_IMAGE: the module image is damaged or for another device (CUDA 200, 209, 218, 222)
 * @MEMRA_DRIVER_ERROR_WRONG_CONTEXT: two objects of different contexts were brought together
 * @MEMRA_DRIVER_ERROR_CAPTURING: the call would wait or run at once, and the stream is being captured
 * @MEMRA_DRIVER_ERROR_EVENT_TRACKING: a buffer that carries events was acquired under capture
 * @MEMRA_DRIVER_ERROR_INVALID_ARGUMENT: an argument does not fit the kernel, buffer or stream; the message says which
 * @MEMRA_DRIVER_ERROR_BROKEN_CONTEXT: the context is sick (CUDA 700, 709, 719 and the like) and must be recreated
 * @MEMRA_DRIVER_ERROR_CAPTURE_BROKEN: the driver refused the call because of a capture (CUDA 900 to 908)
 *
 * Codes of %MEMRA_DRIVER_ERROR.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_DRIVER_ERROR_FAILED,
  MEMRA_DRIVER_ERROR_NO_DRIVER,
  MEMRA_DRIVER_ERROR_STUB,
  MEMRA_DRIVER_ERROR_NO_DEVICE,
  MEMRA_DRIVER_ERROR_TOO_OLD,
  MEMRA_DRIVER_ERROR_MISSING_ENTRY,
  MEMRA_DRIVER_ERROR_NOT_SUPPORTED,
  MEMRA_DRIVER_ERROR_OUT_OF_MEMORY,
  MEMRA_DRIVER_ERROR_NOT_FOUND,
  MEMRA_DRIVER_ERROR_INVALID_IMAGE,
  MEMRA_DRIVER_ERROR_WRONG_CONTEXT,
  MEMRA_DRIVER_ERROR_CAPTURING,
  MEMRA_DRIVER_ERROR_EVENT_TRACKING,
  MEMRA_DRIVER_ERROR_INVALID_ARGUMENT,
  MEMRA_DRIVER_ERROR_BROKEN_CONTEXT,
  MEMRA_DRIVER_ERROR_CAPTURE_BROKEN
} MemraDriverError;

MEMRA_AVAILABLE_IN_0_1
GQuark memra_driver_error_quark (void);
MEMRA_AVAILABLE_IN_0_1
gint memra_driver_error_get_cuda_result (const GError *error);

/**
 * MEMRA_CAPTURE_ERROR:
 *
 * Error domain of captures. An extended error: see memra_capture_error_get_stage() and its siblings.
 *
 * Since: 0.1
 */
#define MEMRA_CAPTURE_ERROR (memra_capture_error_quark ())

/**
 * MemraCaptureError:
 * @MEMRA_CAPTURE_ERROR_FAILED: a driver call of the capture failed; ask for stage and CUDA result
 * @MEMRA_CAPTURE_ERROR_EVENT_TRACKING: refused: event tracking is on, or a buffer that carries events was acquired
 * @MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE: refused: the legacy stream, a stream already being captured, or a nested
 *   capture
 * @MEMRA_CAPTURE_ERROR_BODY: the body failed without an error of its own
 * @MEMRA_CAPTURE_ERROR_BROKEN: the capture was broken or ended by a call inside the body (CUDA 900 to 908, 401)
 * @MEMRA_CAPTURE_ERROR_POLICY: the graph is not what the policy wants; by default, it is empty
 * @MEMRA_CAPTURE_ERROR_STALE: an allocation the graph points at is no longer the one that was captured
 * @MEMRA_CAPTURE_ERROR_CLOSED: the capture was closed
 * @MEMRA_CAPTURE_ERROR_UPDATE_REFUSED: the driver cannot update the executable graph in place (CUDA 910); it is as
 *   before
 * @MEMRA_CAPTURE_ERROR_EDIT: an edit does not fit the kernel it is for; nothing was changed
 * @MEMRA_CAPTURE_ERROR_DIRTY: a failed edit could not be rolled back, so the graph is neither old nor new
 * @MEMRA_CAPTURE_ERROR_BUSY: completion of the graph's last launch could not be proven, so nothing was released
 * @MEMRA_CAPTURE_ERROR_OUTDATED: a layer of the sequence was updated or edited since; memra_layer_sequence_update()
 *   makes them agree
 *
 * Codes of %MEMRA_CAPTURE_ERROR.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CAPTURE_ERROR_FAILED,
  MEMRA_CAPTURE_ERROR_EVENT_TRACKING,
  MEMRA_CAPTURE_ERROR_NOT_CAPTURABLE,
  MEMRA_CAPTURE_ERROR_BODY,
  MEMRA_CAPTURE_ERROR_BROKEN,
  MEMRA_CAPTURE_ERROR_POLICY,
  MEMRA_CAPTURE_ERROR_STALE,
  MEMRA_CAPTURE_ERROR_CLOSED,
  MEMRA_CAPTURE_ERROR_UPDATE_REFUSED,
  MEMRA_CAPTURE_ERROR_EDIT,
  MEMRA_CAPTURE_ERROR_DIRTY,
  MEMRA_CAPTURE_ERROR_BUSY,
  MEMRA_CAPTURE_ERROR_OUTDATED
} MemraCaptureError;

/**
 * MemraCaptureStage:
 * @MEMRA_CAPTURE_STAGE_STATUS: before the body: tracking, stream status, nesting
 * @MEMRA_CAPTURE_STAGE_PRE_DRAIN: waiting for earlier work in the stream
 * @MEMRA_CAPTURE_STAGE_BEGIN: beginning the capture
 * @MEMRA_CAPTURE_STAGE_BODY: the caller's body
 * @MEMRA_CAPTURE_STAGE_END: ending the capture
 * @MEMRA_CAPTURE_STAGE_NODE_CENSUS: reading the graph's nodes
 * @MEMRA_CAPTURE_STAGE_KERNEL_CENSUS: reading kernels and their arguments
 * @MEMRA_CAPTURE_STAGE_POLICY: judging hazards and policy
 * @MEMRA_CAPTURE_STAGE_INSTANTIATE: making the executable graph
 * @MEMRA_CAPTURE_STAGE_UPLOAD: uploading it
 * @MEMRA_CAPTURE_STAGE_LAUNCH: launching it
 * @MEMRA_CAPTURE_STAGE_COMPLETION: waiting for it
 * @MEMRA_CAPTURE_STAGE_UPDATE: updating the executable graph in place
 * @MEMRA_CAPTURE_STAGE_REPLAY: a later replay
 * @MEMRA_CAPTURE_STAGE_CLOSE: releasing the graph
 * @MEMRA_CAPTURE_STAGE_ASSEMBLY: putting layers together to a sequence
 *
 * Where in its life a capture failed.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CAPTURE_STAGE_STATUS,
  MEMRA_CAPTURE_STAGE_PRE_DRAIN,
  MEMRA_CAPTURE_STAGE_BEGIN,
  MEMRA_CAPTURE_STAGE_BODY,
  MEMRA_CAPTURE_STAGE_END,
  MEMRA_CAPTURE_STAGE_NODE_CENSUS,
  MEMRA_CAPTURE_STAGE_KERNEL_CENSUS,
  MEMRA_CAPTURE_STAGE_POLICY,
  MEMRA_CAPTURE_STAGE_INSTANTIATE,
  MEMRA_CAPTURE_STAGE_UPLOAD,
  MEMRA_CAPTURE_STAGE_LAUNCH,
  MEMRA_CAPTURE_STAGE_COMPLETION,
  MEMRA_CAPTURE_STAGE_UPDATE,
  MEMRA_CAPTURE_STAGE_REPLAY,
  MEMRA_CAPTURE_STAGE_CLOSE,
  MEMRA_CAPTURE_STAGE_ASSEMBLY
} MemraCaptureStage;

/**
 * MemraExecution:
 * @MEMRA_EXECUTION_NOT_EXECUTED: none of the captured work ran
 * @MEMRA_EXECUTION_EXECUTED: it ran exactly once and completed
 * @MEMRA_EXECUTION_UNKNOWN: it was handed to the driver, and whether it ran is not known
 *
 * Whether the captured work has run.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_EXECUTION_NOT_EXECUTED,
  MEMRA_EXECUTION_EXECUTED,
  MEMRA_EXECUTION_UNKNOWN
} MemraExecution;

MEMRA_AVAILABLE_IN_0_1
GQuark memra_capture_error_quark (void);
MEMRA_AVAILABLE_IN_0_1
MemraCaptureStage memra_capture_error_get_stage (const GError *error);
MEMRA_AVAILABLE_IN_0_1
const char *memra_capture_stage_to_string (MemraCaptureStage stage);
MEMRA_AVAILABLE_IN_0_1
gint memra_capture_error_get_cuda_result (const GError *error);
MEMRA_AVAILABLE_IN_0_1
MemraExecution memra_capture_error_get_execution (const GError *error);
MEMRA_AVAILABLE_IN_0_1
gboolean memra_capture_error_get_stream_clean (const GError *error);
MEMRA_AVAILABLE_IN_0_1
MemraCensus *memra_capture_error_get_partial_census (const GError *error);
MEMRA_AVAILABLE_IN_0_1
const char *const *memra_capture_error_get_stack (const GError *error);

/**
 * MEMRA_CENSUS_ERROR:
 *
 * Error domain of census files and of reading a graph. Errors are #MemraCensusError codes.
 *
 * Since: 0.1
 */
#define MEMRA_CENSUS_ERROR (memra_census_error_quark ())

/**
 * MemraCensusError:
 * @MEMRA_CENSUS_ERROR_FAILED: the graph could not be read
 * @MEMRA_CENSUS_ERROR_PARSE: the text is not JSON
 * @MEMRA_CENSUS_ERROR_FORMAT: the JSON is not a census; the message says where
 * @MEMRA_CENSUS_ERROR_VERSION: a census or policy of a later format
 * @MEMRA_CENSUS_ERROR_POLICY: a policy file with something that is no policy; the message says where
 *
 * Codes of %MEMRA_CENSUS_ERROR. Errors of reading and writing files come in %G_FILE_ERROR.
 *
 * Since: 0.1
 */
typedef enum
{
  MEMRA_CENSUS_ERROR_FAILED,
  MEMRA_CENSUS_ERROR_PARSE,
  MEMRA_CENSUS_ERROR_FORMAT,
  MEMRA_CENSUS_ERROR_VERSION,
  MEMRA_CENSUS_ERROR_POLICY
} MemraCensusError;

MEMRA_AVAILABLE_IN_0_1
GQuark memra_census_error_quark (void);

G_END_DECLS
