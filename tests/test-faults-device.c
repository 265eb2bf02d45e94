/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Faults in what a layer is written with: driver, contexts, streams, buffers, modules, and the bundled layer. */
#include "config.h"

#include "faults.h"

#include <string.h>

static void
do_nothing (void *data)
{
}

static gboolean
run_buffer_new (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraBuffer) buffer = memra_buffer_new (bench->fixture->stream, 4096, error);

  return buffer != NULL;
}

static gboolean
run_buffer_new_tracked (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraBuffer) buffer = NULL;

  memra_context_set_event_tracking (bench->fixture->context, TRUE);
  buffer = memra_buffer_new (bench->fixture->stream, 4096, error);
  memra_context_set_event_tracking (bench->fixture->context, FALSE);
  return buffer != NULL;
}

static gboolean
run_buffer_new_from_host (FaultsBench *bench, GError **error)
{
  char bytes[100] = { 0 };
  g_autoptr (MemraBuffer) buffer = memra_buffer_new_from_host (bench->fixture->stream, bytes, sizeof bytes, error);

  return buffer != NULL;
}

static gboolean
run_copy_from_host (FaultsBench *bench, GError **error)
{
  float values[FIXTURE_N] = { 0 };

  return memra_buffer_copy_from_host (bench->tracked, 0, values, sizeof values, bench->fixture->stream, error);
}

static gboolean
run_copy_to_host (FaultsBench *bench, GError **error)
{
  float values[FIXTURE_N];

  return memra_buffer_copy_to_host (bench->fixture->dst, 0, values, sizeof values, bench->fixture->stream, error);
}

static gboolean
run_copy (FaultsBench *bench, GError **error)
{
  return memra_buffer_copy (bench->fixture->dst, bench->fixture->src, bench->fixture->stream, error);
}

/* Between two streams, so that events are recorded and waited for. */
static gboolean
run_copy_tracked (FaultsBench *bench, GError **error)
{
  return memra_buffer_zero (bench->tracked, bench->other, error)
         && memra_buffer_copy (bench->fixture->dst, bench->tracked, bench->fixture->stream, error)
         && memra_buffer_zero (bench->tracked, bench->other, error);
}

/* One access after the other; the second is left to its end of scope. */
static gboolean
run_access (FaultsBench *bench, GError **error)
{
  g_auto (MemraAccess) write = { 0 };
  g_auto (MemraAccess) read = { 0 };

  if (memra_buffer_acquire_write (bench->tracked, bench->other, &write, error) == 0 || !memra_access_end (&write, error)
      || memra_buffer_acquire_read (bench->tracked, bench->other, &read, error) == 0)
    return FALSE;
  memra_access_clear (&read);
  return TRUE;
}

static gboolean
run_stream_new (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraStream) stream = memra_stream_new (bench->fixture->context, MEMRA_STREAM_BLOCKING, error);

  return stream != NULL;
}

static gboolean
run_stream_wrap (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraStream) stream
      = memra_stream_wrap (bench->fixture->context, memra_stream_get_cuda_stream (bench->other), error);

  return stream != NULL;
}

/* What the driver does not tell is taken for blocking, and asked for again the next time. */
static gboolean
run_stream_flags (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraStream) stream
      = memra_stream_wrap (bench->fixture->context, memra_stream_get_cuda_stream (bench->other), error);

  if (stream == NULL)
    return FALSE;
  memra_stream_get_flags (stream);
  memra_test_host_control ()->clear_faults ();
  g_assert_cmpint (memra_stream_get_flags (stream), ==,
                   bench->dying ? MEMRA_STREAM_BLOCKING : MEMRA_STREAM_NON_BLOCKING);
  return TRUE;
}

static gboolean
run_stream_synchronize (FaultsBench *bench, GError **error)
{
  return memra_stream_synchronize (bench->fixture->stream, error);
}

static gboolean
run_stream_wait (FaultsBench *bench, GError **error)
{
  return memra_stream_wait (bench->fixture->stream, bench->other, error);
}

static gboolean
run_stream_status (FaultsBench *bench, GError **error)
{
  MemraCaptureStatus status;

  return memra_stream_get_capture_status (bench->fixture->stream, &status, error);
}

static gboolean
run_stream_recover (FaultsBench *bench, GError **error)
{
  return memra_stream_recover (bench->fixture->stream, error);
}

static gboolean
run_driver_open (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_test_host_driver_path (), error);

  if (driver == NULL)
    return FALSE;
  g_assert_cmpint (memra_driver_get_n_devices (driver), ==, 1);
  g_assert_cmpint (memra_driver_get_version (driver), ==, memra_driver_get_version (memra_test_driver ()));
  return TRUE;
}

static gboolean
run_context_new (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraContext) context = memra_context_new (memra_test_driver (), 0, error);

  return context != NULL;
}

static gboolean
run_context_wrap (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraContext) context
      = memra_context_wrap (memra_test_driver (), memra_context_get_cuda_context (bench->fixture->context), error);

  return context != NULL;
}

static gboolean
run_context_synchronize (FaultsBench *bench, GError **error)
{
  return memra_context_synchronize (bench->fixture->context, error);
}

static gboolean
run_device_name (FaultsBench *bench, GError **error)
{
  g_autofree char *name = memra_driver_dup_device_name (memra_test_driver (), 0, error);

  return name != NULL;
}

static gboolean
run_module_load (FaultsBench *bench, GError **error)
{
  g_autofree char *path = fixture_dup_host_module_path ();
  g_autoptr (MemraModule) module = memra_module_load (bench->fixture->context, path, error);

  return module != NULL;
}

static gboolean
run_module_load_data (FaultsBench *bench, GError **error)
{
  g_autofree char *path = fixture_dup_host_module_path ();
  g_autofree char *image = NULL;
  g_autoptr (MemraModule) module = NULL;

  g_assert_true (g_file_get_contents (path, &image, NULL, NULL));
  module = memra_module_load_data (bench->fixture->context, image, error);
  return module != NULL;
}

static gboolean
run_get_kernel (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraKernel) kernel
      = memra_module_get_kernel (memra_dsv4_get_module (bench->fixture->dsv4), FIXTURE_KERNEL, error);

  if (kernel == NULL)
    return FALSE;
  /* Three, or not known: never a wrong number. */
  g_assert_true (memra_kernel_get_n_arguments (kernel) == 3 || memra_kernel_get_n_arguments (kernel) == -1);
  return TRUE;
}

static gboolean
run_launch_kernel (FaultsBench *bench, GError **error)
{
  const MemraDim3 grid = { 1, 1, 1 }, block = { 64, 1, 1 };
  const CUdeviceptr dst = memra_buffer_get_address (bench->fixture->dst);
  const CUdeviceptr src = memra_buffer_get_address (bench->fixture->src);
  const guint64 n = FIXTURE_N;
  gconstpointer arguments[] = { &dst, &src, &n };
  g_autoptr (MemraKernel) kernel
      = memra_module_get_kernel (memra_dsv4_get_module (bench->fixture->dsv4), FIXTURE_KERNEL, error);

  return kernel != NULL
         && memra_kernel_launch (kernel, bench->fixture->stream, &grid, &block, 0, arguments, G_N_ELEMENTS (arguments),
                                 error);
}

static void
destroy_once (gpointer data)
{
  g_atomic_int_inc ((gint *) data);
}

/* Run or refused: what came with it is given back, and once. A function that the stream has not come to when its
 * context dies is lost, as the documentation says; so where that is at stake the stream comes to it before the context
 * is dead for everybody to see. */
static gboolean
run_host_func (FaultsBench *bench, GError **error)
{
  const MemraHostControl *control = memra_test_host_control ();
  CUcontext context = memra_context_get_cuda_context (bench->fixture->context);
  gint destroyed = 0;
  gboolean ok;

  if (bench->dying)
    control->hold_work ();
  ok = memra_stream_host_func (bench->fixture->stream, do_nothing, &destroyed, destroy_once, error);
  if (bench->dying)
    {
      if (ok)
        control->break_context (context, MCU_SUCCESS);
      control->release_work ();
    }
  while (g_atomic_int_get (&destroyed) == 0)
    g_thread_yield ();
  if (bench->dying)
    control->break_context (context, MCU_ERROR_ILLEGAL_ADDRESS);
  g_assert_cmpint (destroyed, ==, 1);
  return ok;
}

static gboolean
run_dsv4_new (FaultsBench *bench, GError **error)
{
  g_autoptr (MemraDsv4) dsv4 = memra_dsv4_new (bench->fixture->context, error);

  return dsv4 != NULL;
}

/* Everything that a layer does outside of a capture. */
static gboolean
run_layer (FaultsBench *bench, GError **error)
{
  MemraStream *stream = bench->fixture->stream;
  MemraDsv4Config config;
  MemraDsv4Layer *layer;
  g_autoptr (MemraBuffer) hidden = NULL;
  gboolean ok;

  memra_dsv4_config_init_small (&config);
  layer = memra_dsv4_layer_new (bench->fixture->dsv4, stream, &config, 1, error);
  if (layer == NULL)
    return FALSE;
  hidden = memra_buffer_new (stream, config.hidden * sizeof (float), error);
  ok = hidden != NULL && memra_buffer_zero (hidden, stream, error)
       && memra_dsv4_layer_forward (layer, stream, hidden, error) && memra_dsv4_layer_reset (layer, stream, error);
  memra_dsv4_layer_free (layer);
  return ok;
}

/* The legacy names of what a driver without cuGetProcAddress has are looked up besides: one that fails is no loss. */
static const char *const quiet_at_open[] = { "cuGetProcAddress", NULL };

/* Asked once more by the second look, see run_stream_flags(). */
static const char *const quiet_for_flags[] = { "cuStreamIsCapturing", "cuStreamGetFlags", NULL };

/* The end of a scope has nobody to tell. */
static const char *const quiet_for_access[] = { "cuEventRecord", NULL };

static const FaultsOperation operations[] = {
  { "driver-open", "memra_driver_open", run_driver_open, memra_driver_error_quark, .quiet = quiet_at_open },
  { "device-name", "memra_driver_dup_device_name", run_device_name, memra_driver_error_quark },
  { "context-new", "memra_context_new memra_context_unref", run_context_new, memra_driver_error_quark },
  { "context-wrap", "memra_context_wrap", run_context_wrap, memra_driver_error_quark },
  { "context-synchronize", "memra_context_synchronize", run_context_synchronize, memra_driver_error_quark },
  { "stream-new", "memra_stream_new memra_stream_unref", run_stream_new, memra_driver_error_quark },
  { "stream-wrap", "memra_stream_wrap", run_stream_wrap, memra_driver_error_quark },
  { "stream-flags", "memra_stream_get_flags", run_stream_flags, memra_driver_error_quark, .quiet = quiet_for_flags },
  { "stream-synchronize", "memra_stream_synchronize", run_stream_synchronize, memra_driver_error_quark },
  { "stream-wait", "memra_stream_wait", run_stream_wait, memra_driver_error_quark },
  { "stream-status", "memra_stream_get_capture_status", run_stream_status, memra_driver_error_quark },
  { "stream-recover", "memra_stream_recover", run_stream_recover, memra_driver_error_quark },
  { "host-func", "memra_stream_host_func", run_host_func, memra_driver_error_quark },
  { "buffer-new", "memra_buffer_new memra_buffer_unref", run_buffer_new, memra_driver_error_quark },
  { "buffer-new-tracked", "memra_buffer_new memra_buffer_unref", run_buffer_new_tracked, memra_driver_error_quark },
  { "buffer-new-from-host", "memra_buffer_new_from_host", run_buffer_new_from_host, memra_driver_error_quark },
  { "buffer-copy-from-host", "memra_buffer_copy_from_host", run_copy_from_host, memra_driver_error_quark },
  { "buffer-copy-to-host", "memra_buffer_copy_to_host", run_copy_to_host, memra_driver_error_quark },
  { "buffer-copy", "memra_buffer_copy", run_copy, memra_driver_error_quark },
  { "buffer-copy-tracked", "memra_buffer_copy memra_buffer_zero", run_copy_tracked, memra_driver_error_quark },
  { "access", "memra_buffer_acquire_read memra_buffer_acquire_write memra_access_end memra_access_clear", run_access,
    memra_driver_error_quark, .quiet = quiet_for_access },
  { "module-load", "memra_module_load memra_module_unref", run_module_load, memra_driver_error_quark },
  { "module-load-data", "memra_module_load_data memra_module_unref", run_module_load_data, memra_driver_error_quark },
  { "get-kernel", "memra_module_get_kernel memra_kernel_unref", run_get_kernel, memra_driver_error_quark },
  { "launch-kernel", "memra_kernel_launch", run_launch_kernel, memra_driver_error_quark },
  { "dsv4-new", "memra_dsv4_new memra_dsv4_unref", run_dsv4_new, memra_driver_error_quark },
  { "layer", "memra_dsv4_layer_new memra_dsv4_layer_forward memra_dsv4_layer_reset memra_dsv4_layer_free", run_layer,
    memra_driver_error_quark, .in_turn = TRUE },
};

static void
add_tests (void)
{
  faults_add_operations (operations, G_N_ELEMENTS (operations));
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
