/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of captures share: one context, one stream, the bundled kernels and a layer of one kernel whose effect
 * shows how often it ran; a gate that holds a stream without sleeping; and the proof that nothing was left behind.
 */
#pragma once

#include "memra-test.h"

#include <pthread.h>

G_BEGIN_DECLS

#define FIXTURE_N      256u
#define FIXTURE_N_U64  ((guint64) FIXTURE_N)
#define FIXTURE_BYTES  (FIXTURE_N * sizeof (float))
#define FIXTURE_KERNEL "memra_dsv4_add_inplace"

typedef struct
{
  const MemraDriverTable *cu;
  MemraContext *context;
  MemraStream *stream; /* non-blocking */
  MemraDsv4 *dsv4;
  MemraBuffer *dst; /* FIXTURE_N times 1, plus 2 for each time that the layer ran */
  MemraBuffer *src; /* FIXTURE_N times 2 */
  MemraCaptureOptions *options;
  guint calls; /* of fixture_body() and its relatives */

  CUcontext current; /* of this thread when the fixture was made */
  int thread_mode;
} Fixture;

/* With event tracking off. The thread's current context and capture mode are remembered. */
void fixture_init (Fixture *fixture);
void fixture_init_on (Fixture *fixture, MemraDriver *driver, gint ordinal);
void fixture_clear (Fixture *fixture);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

/* dst += src; a body, with the fixture as user_data. Counts its calls. */
gboolean fixture_add (Fixture *fixture, MemraStream *stream, GError **error);
gboolean fixture_body (MemraStream *stream, gpointer fixture, GError **error);

/* A body that issues nothing and succeeds. */
gboolean fixture_empty_body (MemraStream *stream, gpointer fixture, GError **error);

/* The layer captured and run once, which must work. (transfer full) */
MemraLayerCapture *fixture_capture (Fixture *fixture, guint layer);

/* dst is what so many runs of the layer make of it, bit for bit. */
void fixture_assert_ran (Fixture *fixture, guint times);

/* This thread's current context and capture mode are those of fixture_init(). */
void fixture_assert_thread (Fixture *fixture);

/* Everything is as if nothing had happened: the layer ran so many times, the thread is as it was, the stream is usable,
 * and a fresh capture on it works and replays. Leaves dst as it was. */
void fixture_assert_good_as_new (Fixture *fixture, guint times);

/* The context made current for raw calls outside of a body. */
void fixture_enter (Fixture *fixture);
void fixture_leave (Fixture *fixture);

/* The bundled kernels' module loaded with a raw call; the context must be current. */
CUmodule fixture_load_raw_module (Fixture *fixture);

/* Where the host driver's copy of that module lies. (transfer full) */
char *fixture_dup_host_module_path (void);

/* Raw capture status of a stream. */
int fixture_status (Fixture *fixture, MemraStream *stream);

/* The thread's capture mode. */
int fixture_get_thread_mode (const MemraDriverTable *cu);
void fixture_set_thread_mode (const MemraDriverTable *cu, int mode);

/* Kernels launched by address, so that no buffer is acquired and the capture keeps nothing alive. */
gboolean fixture_add_raw (Fixture *fixture, MemraStream *stream, CUdeviceptr dst, CUdeviceptr src, GError **error);

/* ---- Gates: a stream stands at a closed gate until somebody opens it. One at a time: a driver may run all host
 * functions on one thread. With POSIX locks, which race checkers know even where GLib itself is not instrumented. ----
 */

typedef struct
{
  pthread_mutex_t lock;
  pthread_cond_t changed;
  gboolean entered; /* the stream has come to the gate */
  gboolean open;
  guint passed; /* how often it was gone through */
} Gate;

void gate_init (Gate *gate);
void gate_clear (Gate *gate);
/* A CUhostFn. */
void gate_stand (gpointer gate);
void gate_open (Gate *gate);
void gate_await_entered (Gate *gate);
gboolean gate_is_open (Gate *gate);

/* Polls until the atomic flag is set or the patience of a test is over (no sleeping: a bounded number of turns given
 * to other threads). For showing that something does *not* happen: in time for a wrong library, never for a right one.
 */
gboolean fixture_linger (gint *flag);

/* ---- Assertions ---- */

#define assert_contains(text, part)                                                                                    \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    const char *contains_text_ = (text), *contains_part_ = (part);                                                     \
    if (contains_text_ == NULL || strstr (contains_text_, contains_part_) == NULL)                                     \
      fixture_fail_contains (__FILE__, __LINE__, G_STRFUNC, contains_text_, contains_part_, TRUE);                     \
  }                                                                                                                    \
  G_STMT_END

#define assert_lacks(text, part)                                                                                       \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    const char *contains_text_ = (text), *contains_part_ = (part);                                                     \
    if (contains_text_ == NULL || strstr (contains_text_, contains_part_) != NULL)                                     \
      fixture_fail_contains (__FILE__, __LINE__, G_STRFUNC, contains_text_, contains_part_, FALSE);                    \
  }                                                                                                                    \
  G_STMT_END

void fixture_fail_contains (const char *file, int line, const char *function, const char *text, const char *part,
                            gboolean wanted);

/* Everything that a MEMRA_CAPTURE_ERROR says. The message must begin with "layer N capture STAGE: ". */
#define assert_capture_error(error, layer, code, stage, cuda, execution, clean)                                        \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autofree char *prefix_                                                                                           \
        = g_strdup_printf ("layer %u capture %s: ", (guint) (layer), memra_capture_stage_to_string (stage));           \
    g_assert_error ((error), MEMRA_CAPTURE_ERROR, (code));                                                             \
    g_test_message ("%s", (error)->message);                                                                           \
    assert_contains ((error)->message, prefix_);                                                                       \
    g_assert_cmpint (memra_capture_error_get_stage (error), ==, (stage));                                              \
    g_assert_cmpint (memra_capture_error_get_cuda_result (error), ==, (cuda));                                         \
    g_assert_cmpint (memra_capture_error_get_execution (error), ==, (execution));                                      \
    g_assert_cmpint (memra_capture_error_get_stream_clean (error), ==, (clean));                                       \
  }                                                                                                                    \
  G_STMT_END

/* A body's own error, as memra_capture_layer() hands it on: domain, code and CUDA result are the body's, the message is
 * prefixed, nothing ran and the stream is clean. */
#define assert_body_error(error, layer, domain_, code_, cuda)                                                          \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    g_autofree char *prefix_ = g_strdup_printf ("layer %u capture body: ", (guint) (layer));                           \
    g_assert_error ((error), (domain_), (code_));                                                                      \
    g_test_message ("%s", (error)->message);                                                                           \
    assert_contains ((error)->message, prefix_);                                                                       \
    g_assert_cmpint (memra_capture_error_get_stage (error), ==, MEMRA_CAPTURE_STAGE_BODY);                             \
    g_assert_cmpint (memra_capture_error_get_cuda_result (error), ==, (cuda));                                         \
    g_assert_cmpint (memra_capture_error_get_execution (error), ==, MEMRA_EXECUTION_NOT_EXECUTED);                     \
    g_assert_true (memra_capture_error_get_stream_clean (error));                                                      \
    assert_lacks ((error)->message, "still being captured");                                                           \
  }                                                                                                                    \
  G_STMT_END

G_END_DECLS
