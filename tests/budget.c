/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * budget PHASE HOST-DRIVER: one phase of the library's work, for tests/budget.sh to count its instructions. Only what
 * budget_measured() does counts; before it the same is done once, so that what happens once in a process is not in it.
 * Kernels are launched by the driver's own call, as from an engine.
 */
#include "config.h"

#include <memra-capture/memra-capture.h>

#include <dlfcn.h>
#include <string.h>

#define N_KERNELS  1000
#define N_LAUNCHES 100

typedef int (*LaunchKernel) (void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z,
                             unsigned int shared_bytes, void *stream, void **arguments, void **extra);
typedef int (*SetCurrent) (void *context);

typedef struct
{
  MemraDriver *driver;
  MemraStream *stream;
  LaunchKernel launch_kernel;
  void *function;
  guint64 dst, src;
  MemraLayerCapture *capture; /* for the phases that need one */
  MemraLayerCapture *another; /* of the phase that makes one; nullable */
} Budget;

typedef void (*Phase) (Budget *budget);

void budget_measured (Phase phase, Budget *budget);

static void
check (gboolean ok, const GError *error)
{
  if (!ok)
    g_error ("%s", error != NULL ? error->message : "a driver call failed");
}

static gboolean
body (MemraStream *stream, gpointer data, GError **error G_GNUC_UNUSED)
{
  Budget *budget = data;
  void *cuda = memra_stream_get_cuda_stream (stream);
  guint64 n = 64;
  void *arguments[] = { &budget->dst, &budget->src, &n };

  for (guint i = 0; i < N_KERNELS; i++)
    check (budget->launch_kernel (budget->function, 1, 1, 1, 64, 1, 1, 0, cuda, arguments, NULL) == 0, NULL);
  return TRUE;
}

static MemraLayerCapture *
capture_layer (Budget *budget)
{
  g_autoptr (GError) error = NULL;
  MemraLayerCapture *capture = memra_capture_layer (budget->stream, 0, NULL, body, budget, &error);

  check (capture != NULL, error);
  return capture;
}

static void
phase_capture (Budget *budget)
{
  memra_layer_capture_unref (budget->another);
  budget->another = capture_layer (budget);
}

static void
phase_census (Budget *budget)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census
      = memra_census_new_from_graph (budget->driver, memra_layer_capture_get_cuda_graph (budget->capture), &error);

  check (census != NULL, error);
}

static void
phase_launch (Budget *budget)
{
  for (guint i = 0; i < N_LAUNCHES; i++)
    check (memra_layer_capture_launch (budget->capture, NULL), NULL);
}

static void
phase_replay (Budget *budget)
{
  for (guint i = 0; i < N_LAUNCHES; i++)
    check (memra_layer_capture_replay (budget->capture, NULL), NULL);
}

static const struct
{
  const char *name;
  Phase run;
} phases[] = {
  { "capture", phase_capture }, { "census", phase_census }, { "launch", phase_launch }, { "replay", phase_replay }
};

/* The name that the counter is told. */
__attribute__ ((noinline)) void
budget_measured (Phase phase, Budget *budget)
{
  phase (budget);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraContext) context = NULL;
  g_autoptr (MemraDsv4) dsv4 = NULL;
  g_autoptr (MemraKernel) kernel = NULL;
  g_autoptr (MemraBuffer) dst = NULL;
  g_autoptr (MemraBuffer) src = NULL;
  Budget budget = { 0 };
  SetCurrent set_current;
  Phase phase = NULL;
  void *handle;

  for (gsize i = 0; argc == 3 && i < G_N_ELEMENTS (phases); i++)
    if (strcmp (argv[1], phases[i].name) == 0)
      phase = phases[i].run;
  if (phase == NULL)
    return 2;

  budget.driver = memra_driver_open (argv[2], &error);
  check (budget.driver != NULL, error);
  handle = dlopen (argv[2], RTLD_NOW);
  *(void **) &budget.launch_kernel = dlsym (handle, "cuLaunchKernel");
  *(void **) &set_current = dlsym (handle, "cuCtxSetCurrent");
  check (budget.launch_kernel != NULL && set_current != NULL, NULL);

  context = memra_context_new (budget.driver, 0, &error);
  check (context != NULL, error);
  memra_context_set_event_tracking (context, FALSE);
  check (set_current (memra_context_get_cuda_context (context)) == 0, NULL);
  budget.stream = memra_stream_new (context, MEMRA_STREAM_NON_BLOCKING, &error);
  check (budget.stream != NULL, error);
  dsv4 = memra_dsv4_new (context, &error);
  check (dsv4 != NULL, error);
  kernel = memra_module_get_kernel (memra_dsv4_get_module (dsv4), "memra_dsv4_add_inplace", &error);
  check (kernel != NULL, error);
  dst = memra_buffer_new (budget.stream, 256, &error);
  check (dst != NULL, error);
  src = memra_buffer_new (budget.stream, 256, &error);
  check (src != NULL, error);
  budget.function = memra_kernel_get_cuda_function (kernel);
  budget.dst = memra_buffer_get_address (dst);
  budget.src = memra_buffer_get_address (src);

  budget.capture = capture_layer (&budget);
  phase (&budget);
  check (memra_stream_synchronize (budget.stream, &error), error);
  g_clear_pointer (&budget.another, memra_layer_capture_unref);
  budget_measured (phase, &budget);

  memra_layer_capture_unref (budget.another);
  memra_layer_capture_unref (budget.capture);
  memra_stream_unref (budget.stream);
  memra_driver_unref (budget.driver);
  return 0;
}
