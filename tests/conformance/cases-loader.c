/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-loader.c: cuGetProcAddress, exported names, error names, initialisation and fork. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime.h"

/* --- cuGetProcAddress --- */

typedef struct
{
  const char *name;
  int version;
  uint64_t flags;
} Ask;

#define ABOVE 999990 /* a version that no driver has */

static const Ask asks[] = {
  { "cuNoSuchEntry", 12000, 1 },
  { "", 12000, 1 },
  { "cuMemAlloc", 2000, 1 },
  { "cuMemAlloc", 3010, 1 },
  { "cuMemAlloc", 3020, 1 },
  { "cuMemAlloc", 12000, 1 },
  { "cuMemAlloc", 1000, 1 },
  { "cuMemAlloc", 0, 1 },
  { "cuMemAlloc", -1, 1 },
  { "cuMemAlloc", ABOVE, 1 },
  { "cuMemAlloc_v2", 3020, 1 },
  { "cuMemAlloc_v2", 12000, 1 },
  { "cuInit", 2000, 1 },
  { "cuInit", 1000, 1 },
  { "cuGetProcAddress", 11030, 1 },
  { "cuGetProcAddress", 12000, 1 },
  { "cuGetProcAddress", 11020, 1 },
  { "cuStreamBeginCapture", 10000, 1 },
  { "cuStreamBeginCapture", 10010, 1 },
  { "cuStreamBeginCapture", 9000, 1 },
  { "cuStreamBeginCapture_v2", 10010, 1 },
  { "cuStreamBeginCaptureToGraph", 12030, 1 },
  { "cuStreamBeginCaptureToGraph", 12020, 1 },
  { "cuStreamGetCaptureInfo", 10000, 1 },
  { "cuStreamGetCaptureInfo", 10010, 1 },
  { "cuStreamGetCaptureInfo", 11030, 1 },
  { "cuStreamGetCaptureInfo", 12030, 1 },
  { "cuStreamGetCaptureInfo", 13000, 1 },
  { "cuStreamGetCaptureInfo_v2", 11030, 1 },
  { "cuStreamGetCaptureInfo_v3", 12030, 1 },
  { "cuStreamUpdateCaptureDependencies", 11030, 1 },
  { "cuStreamUpdateCaptureDependencies", 12030, 1 },
  { "cuGraphGetEdges", 10000, 1 },
  { "cuGraphGetEdges", 12030, 1 },
  { "cuGraphInstantiate", 10000, 1 },
  { "cuGraphInstantiate", 11000, 1 },
  { "cuGraphInstantiate", 12000, 1 },
  { "cuGraphInstantiateWithFlags", 11040, 1 },
  { "cuGraphInstantiateWithFlags", 11030, 1 },
  { "cuGraphExecUpdate", 10010, 1 },
  { "cuGraphExecUpdate", 10020, 1 },
  { "cuGraphExecUpdate", 12000, 1 },
  { "cuGraphKernelNodeGetParams", 10000, 1 },
  { "cuGraphKernelNodeGetParams", 12000, 1 },
  { "cuGraphNodeGetParams", 13020, 1 },
  { "cuGraphAddNode", 12020, 1 },
  { "cuGraphAddNode", 12030, 1 },
  { "cuLaunchKernel", 4000, 0 },
  { "cuLaunchKernel", 4000, 1 },
  { "cuLaunchKernel", 4000, 2 },
  { "cuLaunchKernel", 7000, 2 },
  { "cuLaunchKernel", 4000, 3 },
  { "cuLaunchKernel", 4000, 4 },
  { "cuCtxCreate", 3020, 1 },
  { "cuCtxCreate", 11040, 1 },
  { "cuCtxCreate", 12050, 1 },
  { "cuCtxSynchronize", 2000, 1 },
  { "cuCtxSynchronize", 13000, 1 },
  { "cuLogsRegisterCallback", 12090, 1 },
  { "cuEventElapsedTime", 2000, 1 },
  { "cuEventElapsedTime", 12080, 1 },
};

/* Which of the names that a symbol may have is the address that was handed out? */
static const char *
spelling (const char *name, const void *found)
{
  static const char *const suffixes[]
      = { "", "_v2", "_v3", "_v4", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds", "_v3_ptsz" };
  char text[200];
  if (found == NULL)
    return "NULL";
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
    {
      snprintf (text, sizeof text, "%s%s", name, suffixes[i]);
      if (conf_symbol (text) == found)
        return conf_format ("exported(%s)", suffixes[i][0] == '\0' ? "plain" : suffixes[i]);
    }
  return "internal";
}

static void
run_ask (const ConfCase *test)
{
  const Ask *ask = test->data;
  void *found = (void *)7;
  int status = 77;
  if (conf_gpa_v2 != NULL)
    {
      int result = conf_gpa_v2 (ask->name, &found, ask->version, ask->flags, &status);
      fact ("v2=%d status=%d entry=%s", result, status, found == (void *)7 ? "untouched" : spelling (ask->name, found));
      void *again = (void *)7;
      result = conf_gpa_v2 (ask->name, &again, ask->version, ask->flags, NULL);
      fact ("null-status=%d same=%s", result, conf_yes (again == found));
    }
  else
    fact ("v2=absent");
  if (conf_gpa_v1 == NULL)
    {
      fact ("v1=absent");
      return;
    }
  found = (void *)7;
  int result = conf_gpa_v1 (ask->name, &found, ask->version, ask->flags);
  fact ("v1=%d entry=%s", result, found == (void *)7 ? "untouched" : spelling (ask->name, found));
}

static void
run_ask_null (const ConfCase *test)
{
  void *found = NULL;
  int status = 77;
  if (conf_gpa_v2 == NULL)
    fact ("v2=absent");
  else if (test->arg == 0)
    fact ("null-name=%d", conf_gpa_v2 (NULL, &found, 12000, 1, &status));
  else
    fact ("null-out=%d", conf_gpa_v2 ("cuInit", NULL, 12000, 1, &status));
}

static void
run_entries (const ConfCase *test)
{
  (void)test;
#define MISSING(need, field, base, version, symbol, params)                                                            \
  if (cu.field == NULL)                                                                                                \
    fact ("absent: %s at %d", base, version);
#define MISSING_EXTRA(need, field, base, version, symbol, params)                                                      \
  if (cx.field == NULL)                                                                                                \
    fact ("absent: %s at %d", base, version);
  if (test->arg == 0)
    {
      MEMRA_DRIVER_ENTRIES (MISSING)
    }
  else
    {
      CONF_EXTRA_ENTRIES (MISSING_EXTRA)
    }
#undef MISSING
#undef MISSING_EXTRA
}

/* The exported names of the ABIs that the library pins. */
static void
run_exports (const ConfCase *test)
{
  (void)test;
#define EXPORTED(need, field, base, version, symbol, params)                                                           \
  if (conf_symbol (symbol) == NULL)                                                                                    \
    fact ("not exported: %s", symbol);
  if (test->arg == 0)
    {
      MEMRA_DRIVER_ENTRIES (EXPORTED)
    }
  else
    {
      CONF_EXTRA_ENTRIES (EXPORTED)
    }
#undef EXPORTED
}

/* --- error names --- */

static void
run_names (const ConfCase *test)
{
  for (int code = test->arg; code < test->arg + 100; code++)
    {
      const char *name = NULL;
      if (cu.cuGetErrorName (code, &name) == 0 && name != NULL)
        fact ("%d %s", code, name);
    }
}

static void
run_string (const ConfCase *test)
{
  const char *name = (const char *)7;
  const char *text = (const char *)7;
  int r = cu.cuGetErrorName (test->arg, &name);
  fact ("name=%d %s", r, name == NULL ? "NULL" : name == (const char *)7 ? "untouched" : name);
  r = cu.cuGetErrorString (test->arg, &text);
  fact ("text=%d %s", r,
        text == NULL              ? "NULL"
        : text == (const char *)7 ? "untouched"
        : conf_texts              ? text
                                  : "(a sentence)");
}

/* --- initialisation and fork --- */

static void
run_before_init (const ConfCase *test)
{
  int number = 0;
  CUcontext context = NULL;
  CUstream stream = NULL;
  const char *name = NULL;
  void *found = NULL;
  int status = 0;
  CUgraph graph = NULL;
  (void)test;
  fact_r ("cuDriverGetVersion", cu.cuDriverGetVersion (&number));
  fact_r ("cuGetErrorName", cu.cuGetErrorName (3, &name));
  if (conf_gpa_v2 != NULL)
    fact ("cuGetProcAddress=%d", conf_gpa_v2 ("cuInit", &found, 2000, 1, &status));
  fact_r ("cuDeviceGetCount", cu.cuDeviceGetCount (&number));
  fact_r ("cuCtxGetCurrent", cu.cuCtxGetCurrent (&context));
  fact_r ("cuCtxSynchronize", cu.cuCtxSynchronize ());
  fact_r ("cuStreamCreate", cu.cuStreamCreate (&stream, 0));
  fact_r ("cuStreamIsCapturing", cu.cuStreamIsCapturing (NULL, &number));
  fact_r ("cuThreadExchangeStreamCaptureMode", cu.cuThreadExchangeStreamCaptureMode (&number));
  fact_r ("cuGraphCreate", cu.cuGraphCreate (&graph, 0));
  fact_r ("cuInit-flags-1", cu.cuInit (1));
  fact_r ("cuInit", cu.cuInit (0));
  fact_r ("cuInit", cu.cuInit (0));
  fact_r ("cuCtxGetCurrent", cu.cuCtxGetCurrent (&context));
  fact ("context=%s", context == NULL ? "NULL" : "set");
  fact_r ("cuCtxSynchronize", cu.cuCtxSynchronize ());
  fact_r ("cuStreamCreate", cu.cuStreamCreate (&stream, 0));
  fact_r ("cuStreamIsCapturing-legacy", cu.cuStreamIsCapturing (NULL, &number));
  CUdeviceptr memory = 0;
  fact_r ("cuMemAlloc", cu.cuMemAlloc (&memory, 64));
  fact_r ("cuGraphCreate", cu.cuGraphCreate (&graph, 0));
  CUdevice device = 0;
  fact_r ("cuDeviceGet-99", cu.cuDeviceGet (&device, 99));
  fact_r ("cuDeviceGet-minus-1", cu.cuDeviceGet (&device, -1));
  fact_r ("cuCtxGetDevice", cu.cuCtxGetDevice (&device));
  CUcontext popped = NULL;
  fact_r ("cuCtxPopCurrent", cu.cuCtxPopCurrent (&popped));
}

static void
run_fork (const ConfCase *test)
{
  (void)test;
  pid_t child = fork ();
  if (child == 0)
    {
      int number = 0;
      CUcontext context = NULL;
      CUstream stream = NULL;
      CUdeviceptr memory = 0;
      const char *name = NULL;
      alarm (5);
      fact_r ("cuInit", cu.cuInit (0));
      fact_r ("cuDriverGetVersion", cu.cuDriverGetVersion (&number));
      fact_r ("cuGetErrorName", cu.cuGetErrorName (3, &name));
      fact_r ("cuDeviceGetCount", cu.cuDeviceGetCount (&number));
      fact_r ("cuCtxGetCurrent", cu.cuCtxGetCurrent (&context));
      fact_r ("cuStreamCreate", cu.cuStreamCreate (&stream, 0));
      fact_r ("cuStreamIsCapturing", cu.cuStreamIsCapturing (NULL, &number));
      fact_r ("cuMemAlloc", cu.cuMemAlloc (&memory, 64));
      fact_r ("cuLaunchKernel", conf_kernel (NULL));
      fact_r ("cuCtxSynchronize", cu.cuCtxSynchronize ());
      _exit (0);
    }
  int status = 0;
  if (child < 0 || waitpid (child, &status, 0) != child)
    {
      fact ("cannot fork");
      return;
    }
  if (WIFSIGNALED (status))
    fact ("child %s", WTERMSIG (status) == SIGALRM ? "timeout" : "crash");
  fact_r ("parent", conf_health ());
}

void
conf_cases_loader (void)
{
  static const int codes[]
      = { 0,   1,   2,   3,   4,   34,  36,  100, 101, 200, 201, 209, 301, 304, 400, 401, 402, 500, 600,  700,
          709, 712, 713, 719, 800, 801, 900, 901, 902, 903, 904, 905, 906, 907, 908, 909, 910, 999, 5000, -1 };
  for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
    conf_add (0, run_ask, 0, 0, &asks[i], "loader/%s/%d/flags-%d", asks[i].name[0] != '\0' ? asks[i].name : "(empty)",
              asks[i].version, (int)asks[i].flags);
  conf_add (CONF_ISOLATED, run_ask_null, 0, 0, NULL, "loader/null-name");
  conf_add (CONF_ISOLATED, run_ask_null, 0, 1, NULL, "loader/null-out");
  conf_add (0, run_entries, 0, 0, NULL, "loader/entries");
  conf_add (0, run_entries, 0, 1, NULL, "loader/extra-entries");
  conf_add (0, run_exports, 0, 0, NULL, "loader/exports");
  conf_add (0, run_exports, 0, 1, NULL, "loader/extra-exports");
  for (int i = 0; i < 10; i++)
    conf_add (0, run_names, 0, 100 * i, NULL, "error/names/%d", 100 * i);
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    conf_add (0, run_string, 0, codes[i], NULL, "error/text/%d", codes[i]);
  conf_add (CONF_ISOLATED | CONF_NO_INIT, run_before_init, 0, 0, NULL, "process/before-init");
  conf_add (CONF_ISOLATED, run_fork, 0, 0, NULL, "process/fork");
}
