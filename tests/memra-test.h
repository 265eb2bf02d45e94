/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The harness of the test programs. Each program lists its tests in one function and hands it to memra_test_main():
 *
 *   static void test_once (void) { ... }
 *   static void add_tests (void) { memra_test_add ("/layer-capture/once", test_once); }
 *   int main (int argc, char **argv) { return memra_test_main (argc, argv, add_tests); }
 *
 * MEMRA_TEST_DRIVER=host (the default) or cuda says which driver a run is about; it names no library. Where a run on
 * CUDA finds no GPU, every test added with memra_test_add() is skipped with the reason, and counted.
 *
 * The programs are linked with the library's objects themselves, so private functions and raw driver calls are at hand.
 */
#pragma once

#include <memra-capture/memra-capture.h>

#include "driver/entries.h"

/* A test's own G_DEFINE_QUARK() has no prototype, and g_assert_error() with a variable compares an enum with an int. */
#ifndef __cplusplus
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#endif
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wsign-compare"

G_BEGIN_DECLS

/* Runs the tests: g_test_init(), add_tests(), g_test_run(). */
int memra_test_main (int argc, char **argv, void (*add_tests) (void));

/* Adds a test that needs a driver. A test that needs none (JSON, policy) may use g_test_add_func() as well. */
void memra_test_add (const char *path, void (*func) (void));

/* The same for a case of a table. `data` must stay. */
void memra_test_add_data (const char *path, gconstpointer data, void (*func) (gconstpointer data));

/* The driver of this run, opened once, borrowed. Not to be called in a test that g_test_add_func() added and that is to
 * run without a driver: where there is none it ends the program. */
MemraDriver *memra_test_driver (void);

/* The raw entry points of that driver. */
const MemraDriverTable *memra_test_cu (void);

/* The host driver's file, as an absolute path, in a build tree and in a bundle, on every machine. */
const char *memra_test_host_driver_path (void);

gboolean memra_test_on_gpu (void);

/* Controls of the host driver, NULL on a GPU. */
const MemraHostControl *memra_test_host_control (void);

/* FALSE on the wrong kind of driver, and the test is then marked as skipped: if (!memra_test_need_host ()) return; */
gboolean memra_test_need_gpu (void);
gboolean memra_test_need_host (void);

/* The primary context of device 0, with event tracking switched off, as captures want it. (transfer full) */
MemraContext *memra_test_context_new (void);

/* A non-blocking stream of our own. (transfer full) */
MemraStream *memra_test_stream_new (MemraContext *context);

/* A buffer with these values, copied and complete. (transfer full) */
MemraBuffer *memra_test_buffer_from_floats (MemraStream *stream, const float *values, gsize n);

/* A buffer with n times this value, copied and complete. (transfer full) */
MemraBuffer *memra_test_buffer_filled (MemraStream *stream, float value, gsize n);

/* Waits for the stream and reads the first n values. */
void memra_test_read_floats (MemraBuffer *buffer, MemraStream *stream, float *values, gsize n);

/* Waits for the stream and asserts that the first n values are all this one, bit for bit. */
void memra_test_assert_floats (MemraBuffer *buffer, MemraStream *stream, float value, gsize n);

/* Asserts that the stream is not being captured and that a fresh capture of one fill on it can be taken, launched and
 * seen to have run. Raw driver calls only; current context and capture mode are as before. */
void memra_test_assert_stream_usable (MemraStream *stream);

/* A file that belongs to the tests' sources, such as ("data/census-1.json"), in a source tree and in a bundle.
 * (transfer full) */
char *memra_test_dup_data_path (const char *name);

/* One raw driver call that must succeed. */
#define memra_test_assert_cu(call)                                                                                     \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    McuResult memra_test_result_ = (call);                                                                             \
    if (memra_test_result_ != MCU_SUCCESS)                                                                             \
      memra_test_fail_cu (__FILE__, __LINE__, G_STRFUNC, #call, memra_test_result_);                                   \
  }                                                                                                                    \
  G_STMT_END

void memra_test_fail_cu (const char *file, int line, const char *function, const char *call, McuResult result);

G_END_DECLS
