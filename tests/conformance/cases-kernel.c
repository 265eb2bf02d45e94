/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases-kernel.c: what a kernel node says about its kernel and its arguments, however it was launched. */
#include "runtime.h"

/* The ways to launch. */
enum
{
  BY_FUNCTION, /* cuModuleGetFunction */
  BY_KERNEL,   /* cuKernelGetFunction of a library's kernel */
  BY_CAST,     /* a CUkernel cast to CUfunction */
  BY_LIBRARY,  /* cuModuleGetFunction on a library's module */
  BY_EX,       /* cuLaunchKernelEx */
  BY_COOPERATIVE,
  BY_NODE_FUNC, /* an explicit node with func */
  BY_NODE_KERN, /* an explicit node with kern and ctx */
  BY_NODE_BOTH,
  N_BY
};

static const char *const by_names[N_BY]
    = { "module-function", "kernel-function", "kernel-cast", "library-module-function", "launch-ex", "cooperative",
        "node-func",       "node-kern",       "node-both" };

typedef struct
{
  CUlibrary library;
  CUkernel kernel;
  CUfunction function;
  CUfunction library_function;
} Library;

static Library *
get_library (void)
{
  static Library library;
  if (library.library == NULL)
    {
      CUmodule module = NULL;
      CX (cuLibraryLoadData, &library.library, w.image, NULL, NULL, 0, NULL, NULL, 0);
      CX (cuLibraryGetKernel, &library.kernel, library.library, "conf_store");
      CX (cuKernelGetFunction, &library.function, library.kernel);
      CX (cuLibraryGetModule, &module, library.library);
      if (module != NULL)
        cu.cuModuleGetFunction (&library.library_function, module, "conf_store");
    }
  return &library;
}

static const char *
function_word (CUfunction function, const Library *library)
{
  return function == NULL                          ? "NULL"
         : function == w.store                     ? "module-function"
         : function == library->function           ? "kernel-function"
         : function == (CUfunction)library->kernel ? "kernel-cast"
         : function == library->library_function   ? "library-module-function"
                                                   : "other";
}

static void
fact_names (const McuKernelNodeParams *p)
{
  const char *name = NULL;
  int r = p->func != NULL ? CU (cuFuncGetName, &name, p->func) : CONF_ABSENT;
  fact ("func-name=%s", p->func == NULL ? "no func" : r == 0 && name != NULL ? name : conf_r (r));
  name = NULL;
  r = p->kern != NULL ? CU (cuKernelGetName, &name, p->kern) : CONF_ABSENT;
  fact ("kern-name=%s", p->kern == NULL ? "no kern" : r == 0 && name != NULL ? name : conf_r (r));
  name = NULL;
  r = p->func != NULL ? CU (cuKernelGetName, &name, (CUkernel)p->func) : CONF_ABSENT;
  fact ("kernel-name-of-func=%s", p->func == NULL ? "no func" : r == 0 && name != NULL ? name : conf_r (r));
}

static void
run_by (const ConfCase *test)
{
  const Library *library = get_library ();
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  CUdeviceptr at = w.a + 12288;
  uint32_t value = 0x01020304;
  void *params[] = { &at, &value };
  ConfLaunchConfig config = { 3, 2, 1, 32, 2, 1, 128, stream, NULL, 0 };
  McuKernelNodeParams p;
  CUgraphNode node = NULL;
  int r = CONF_ABSENT;
  if ((test->arg == BY_KERNEL || test->arg == BY_CAST || test->arg == BY_LIBRARY || test->arg == BY_NODE_KERN)
      && library->kernel == NULL)
    {
      fact ("library=absent");
      return;
    }
  memset (&p, 0, sizeof p);
  if (test->arg >= BY_NODE_FUNC)
    {
      cu.cuGraphCreate (&graph, 0);
      conf_own_graph (graph);
      p.func = test->arg == BY_NODE_KERN ? NULL : w.store;
      p.kern = test->arg == BY_NODE_FUNC ? NULL : library->kernel;
      p.ctx = test->arg == BY_NODE_FUNC ? NULL : w.context;
      p.grid_x = 3;
      p.grid_y = 2;
      p.grid_z = 1;
      p.block_x = 32;
      p.block_y = 2;
      p.block_z = 1;
      p.shared_bytes = 128;
      p.kernel_params = params;
      fact_r ("add", CX (cuGraphAddKernelNode, &node, graph, NULL, 0, &p));
    }
  else
    {
      CUfunction function = test->arg == BY_KERNEL    ? library->function
                            : test->arg == BY_CAST    ? (CUfunction)library->kernel
                            : test->arg == BY_LIBRARY ? library->library_function
                                                      : w.store;
      cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
      if (test->arg == BY_EX)
        r = CX (cuLaunchKernelEx, &config, function, params, NULL);
      else if (test->arg == BY_COOPERATIVE)
        r = CX (cuLaunchCooperativeKernel, function, 3, 2, 1, 32, 2, 1, 128, stream, params);
      else
        r = cu.cuLaunchKernel (function, 3, 2, 1, 32, 2, 1, 128, stream, params, NULL);
      fact_r ("launch", r);
      conf_end_graph (stream, &graph);
      node = conf_node (graph, 0);
    }
  if (node == NULL)
    return;
  value = 0;
  at = 0; /* the node has its own copies */
  memset (&p, 0, sizeof p);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, node, &p));
  fact ("func=%s kern=%s ctx=%s", function_word (p.func, library),
        p.kern == NULL              ? "NULL"
        : p.kern == library->kernel ? "same"
                                    : "other",
        p.ctx == NULL        ? "NULL"
        : p.ctx == w.context ? "main"
                             : "other");
  fact ("grid=%u,%u,%u block=%u,%u,%u shared=%u extra=%s", p.grid_x, p.grid_y, p.grid_z, p.block_x, p.block_y,
        p.block_z, p.shared_bytes, p.extra == NULL ? "NULL" : "set");
  if (p.kernel_params != NULL)
    fact ("argument=%#x", *(const uint32_t *)p.kernel_params[1]);
  fact_names (&p);
  McuKernelNodeParams old;
  memset (&old, 0, sizeof old);
  old.kern = (CUkernel)7;
  fact_r ("get-v1", cu.cuGraphKernelNodeGetParams (node, &old));
  fact ("func-same=%s kern-untouched=%s", conf_yes (old.func == p.func), conf_yes (old.kern == (CUkernel)7));
}

/* --- parameter layout --- */

static void
run_layout (const ConfCase *test)
{
  CUfunction function = NULL;
  CUkernel kernel = NULL;
  const Library *library = get_library ();
  cu.cuModuleGetFunction (&function, w.module, test->data);
  CX (cuLibraryGetKernel, &kernel, library->library, test->data);
  size_t offset, size;
  for (size_t i = 0; i < 8; i++)
    {
      offset = size = 77;
      int r = CU (cuFuncGetParamInfo, function, i, &offset, &size);
      if (r != 0)
        {
          fact ("%zu: %s%s", i, conf_r (r),
                offset == 77 && size == 77 ? "" : conf_format (" (wrote %zu,%zu)", offset, size));
          break;
        }
      fact ("%zu: %zu,%zu", i, offset, size);
    }
  int r = CONF_ABSENT;
  for (size_t i = 0; kernel != NULL && i < 8; i++)
    {
      offset = size = 77;
      r = CU (cuKernelGetParamInfo, kernel, i, &offset, &size);
      if (r != 0)
        break;
      fact ("kernel %zu: %zu,%zu", i, offset, size);
    }
  fact ("kernel: %s", conf_r (r));
}

static void
run_layout_arguments (const ConfCase *test)
{
  size_t offset = 0;
  size_t size = 77;
  const char *name = NULL;
  CUmodule module = NULL;
  (void)test;
  fact_r ("null-function", CU (cuFuncGetParamInfo, NULL, 0, &offset, &size));
  fact_r ("null-offset", CU (cuFuncGetParamInfo, w.add, 0, NULL, &size));
  fact_r ("null-size", CU (cuFuncGetParamInfo, w.add, 1, &offset, NULL));
  fact ("offset=%zu", offset);
  fact_r ("index-huge", CU (cuFuncGetParamInfo, w.add, (size_t)-1, &offset, &size));
  fact_r ("name-null-function", CU (cuFuncGetName, &name, NULL));
  fact_r ("name-null-out", CU (cuFuncGetName, NULL, w.add));
  fact_r ("kernel-name-null", CU (cuKernelGetName, &name, NULL));
  fact_r ("module", CU (cuFuncGetModule, &module, w.add));
  fact ("same=%s", conf_yes (module == w.module));
  CUfunction function = (CUfunction)7;
  fact_r ("missing", cu.cuModuleGetFunction (&function, w.module, "no_such_kernel"));
  fact ("function=%s", function == (CUfunction)7 ? "untouched" : function == NULL ? "NULL" : "set");
  fact_r ("null-name", cu.cuModuleGetFunction (&function, w.module, NULL));
  CUfunction again = NULL;
  cu.cuModuleGetFunction (&again, w.module, "conf_add");
  fact ("again-same=%s", conf_yes (again == w.add));
  cu.cuModuleGetFunction (&again, w.module2, "conf_add");
  fact ("other-module-same=%s", conf_yes (again == w.add));
  unsigned count = 0;
  fact_r ("function-count", CX (cuModuleGetFunctionCount, &count, w.module));
  fact ("n=%u", count);
  count = 0;
  fact_r ("kernel-count", CX (cuLibraryGetKernelCount, &count, get_library ()->library));
  fact ("n=%u", count);
  int value = 0;
  fact_r ("max-threads", CX (cuFuncGetAttribute, &value, 0, w.empty));
  fact ("value=%d", value);
  int loaded = -1;
  fact_r ("is-loaded", CX (cuFuncIsLoaded, &loaded, w.add));
  fact ("state=%d", loaded);
}

static void
run_module_arguments (const ConfCase *test)
{
  CUmodule module = NULL;
  (void)test;
  fact_r ("missing-file", cu.cuModuleLoad (&module, "/nonexistent/file.cubin"));
  fact_r ("empty-file", cu.cuModuleLoad (&module, "/dev/null"));
  fact_r ("null-path", cu.cuModuleLoad (&module, NULL));
  fact_r ("null-image", cu.cuModuleLoadData (&module, NULL));
  static const char rubbish[256] = "this is not an image of anything";
  fact_r ("rubbish", cu.cuModuleLoadData (&module, rubbish));
  fact_r ("load", cu.cuModuleLoadData (&module, w.image));
  fact_r ("unload", cu.cuModuleUnload (module));
  fact_r ("unload-null", cu.cuModuleUnload (NULL));
}

/* --- arguments read back --- */

typedef struct
{
  CUdeviceptr to;
  uint32_t filler[12];
  uint32_t last[2];
} Big;

static void
launch_captured (CUgraph graph, CUdeviceptr at)
{
  CUstream stream = conf_stream (true);
  CUgraphExec exec = conf_make_exec (graph);
  conf_poke (at, 0);
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("value=%#x", conf_peek (at));
}

static void
run_struct (const ConfCase *test)
{
  static unsigned char huge[4000];
  static unsigned char huge_back[4000];
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  CUdeviceptr at = w.a + 12288;
  Big big;
  uint32_t more = 2;
  void *big_params[] = { &big };
  void *huge_params[] = { huge, &more };
  McuKernelNodeParams p;
  for (size_t i = 0; i < sizeof huge; i++)
    huge[i] = (unsigned char)(i * 7);
  memcpy (huge, &at, sizeof at);
  memset (&big, 0x11, sizeof big);
  big.to = at;
  big.last[1] = 0x22334455;
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  if (test->arg == 0)
    fact_r ("kernel", cu.cuLaunchKernel (w.big, 1, 1, 1, 1, 1, 1, 0, stream, big_params, NULL));
  else
    fact_r ("kernel", cu.cuLaunchKernel (w.huge, 1, 1, 1, 1, 1, 1, 0, stream, huge_params, NULL));
  Big sent = big;
  memset (&big, 0, sizeof big);
  memcpy (huge_back, huge, sizeof huge);
  memset (huge, 0, sizeof huge);
  conf_end_graph (stream, &graph);
  memset (&p, 0, sizeof p);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, conf_node (graph, 0), &p));
  if (p.kernel_params == NULL)
    return;
  if (test->arg == 0)
    fact ("equal=%s", conf_yes (memcmp (p.kernel_params[0], &sent, sizeof sent) == 0));
  else
    {
      fact ("equal=%s", conf_yes (memcmp (p.kernel_params[0], huge_back, sizeof huge_back) == 0));
      fact ("distance=%td", (const char *)p.kernel_params[1] - (const char *)p.kernel_params[0]);
    }
  launch_captured (graph, at);
}

/* The packed form of the arguments. */
static void
run_extra (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  CUdeviceptr at = w.a + 12288;
  unsigned char buffer[32];
  size_t size = test->arg == 1 ? 12 : test->arg == 2 ? 8 : 16;
  uint32_t value = 0x55;
  void *params[] = { &at, &value };
  void *extra[]
      = { MCU_LAUNCH_PARAM_BUFFER_POINTER, buffer, MCU_LAUNCH_PARAM_BUFFER_SIZE, &size, MCU_LAUNCH_PARAM_END };
  McuKernelNodeParams p;
  memset (buffer, 0, sizeof buffer);
  memcpy (buffer, &at, sizeof at);
  memcpy (buffer + 8, &value, sizeof value);
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  fact_r ("kernel", cu.cuLaunchKernel (w.store, 1, 1, 1, 1, 1, 1, 0, stream, test->arg == 3 ? params : NULL, extra));
  fact ("status=%s", conf_status (stream));
  memset (buffer, 0, sizeof buffer);
  if (conf_end_graph (stream, &graph) != 0 || conf_node (graph, 0) == NULL)
    return;
  memset (&p, 0, sizeof p);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, conf_node (graph, 0), &p));
  fact ("params=%s extra=%s", p.kernel_params == NULL ? "NULL" : "set", p.extra == NULL ? "NULL" : "set");
  if (p.kernel_params != NULL)
    fact ("argument=%#x", *(const uint32_t *)p.kernel_params[1]);
  const unsigned char *kept = NULL;
  size_t kept_size = 0;
  for (void **e = p.extra; e != NULL && *e != MCU_LAUNCH_PARAM_END; e += 2)
    if (*e == MCU_LAUNCH_PARAM_BUFFER_POINTER)
      kept = e[1];
    else if (*e == MCU_LAUNCH_PARAM_BUFFER_SIZE)
      kept_size = *(const size_t *)e[1];
  if (kept != NULL)
    {
      uint32_t packed = 0;
      memcpy (&packed, kept + 8, sizeof packed);
      fact ("packed=%#x size=%zu own-copy=%s", packed, kept_size, conf_yes (kept != buffer));
    }
  launch_captured (graph, at);
}

static void
run_no_arguments (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  McuKernelNodeParams p;
  void *none[] = { NULL };
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  fact_r ("kernel", conf_launch (w.empty, stream, test->arg ? none : NULL));
  conf_end_graph (stream, &graph);
  memset (&p, 0, sizeof p);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, conf_node (graph, 0), &p));
  fact ("params=%s extra=%s", p.kernel_params == NULL ? "NULL" : "set", p.extra == NULL ? "NULL" : "set");
}

/* How long the node's copies last, and whether their addresses move. */
static void
run_lifetime (const ConfCase *test)
{
  CUstream stream = conf_stream (true);
  CUgraph graph = NULL;
  uint8_t small = 1;
  uint32_t word = 0x1234;
  uint64_t wide = 0x5678;
  uint16_t half = 9;
  CUdeviceptr at = w.a + 12288;
  void *params[] = { &small, &word, &wide, &half, &at };
  McuKernelNodeParams p, later;
  CUmodule module = NULL;
  CUfunction function = NULL;
  cu.cuModuleLoadData (&module, w.image);
  cu.cuModuleGetFunction (&function, module, "conf_mix");
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  fact_r ("kernel", cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
  conf_end_graph (stream, &graph);
  memset (&p, 0, sizeof p);
  memset (&later, 0, sizeof later);
  CUgraphNode node = conf_node (graph, 0);
  CU (cuGraphKernelNodeGetParams_v2, node, &p);
  char text[100] = "";
  for (int i = 1; p.kernel_params != NULL && i < 5; i++)
    snprintf (text + strlen (text), sizeof text - strlen (text), " %td",
              (const char *)p.kernel_params[i] - (const char *)p.kernel_params[0]);
  fact ("places:%s", text);
  CUgraphExec exec = conf_make_exec (graph);
  CU (cuGraphKernelNodeGetParams_v2, node, &later);
  fact ("stable-over-instantiate=%s",
        conf_yes (later.kernel_params != NULL && later.kernel_params[1] == p.kernel_params[1]));
  fact_r ("launch", cu.cuGraphLaunch (exec, stream));
  fact_r ("sync", cu.cuStreamSynchronize (stream));
  fact ("value=%#x", conf_peek (at));
  conf_forget (exec);
  cu.cuGraphExecDestroy (exec);
  fact ("argument-after-exec=%#x", p.kernel_params != NULL ? *(const uint32_t *)p.kernel_params[1] : 0);
  if (test->arg == 0)
    {
      fact_r ("unload", cu.cuModuleUnload (module));
      return;
    }
  /* After the module is gone: isolated. */
  fact_r ("unload", cu.cuModuleUnload (module));
  memset (&later, 0, sizeof later);
  fact_r ("get", CU (cuGraphKernelNodeGetParams_v2, node, &later));
  CUgraphExec second = NULL;
  fact_r ("instantiate", cu.cuGraphInstantiateWithFlags (&second, graph, 0));
  conf_own_exec (second);
}

static void
run_priority (const ConfCase *test)
{
  CUstream stream = NULL;
  CUgraph graph = NULL;
  int least = 0, greatest = 0, priority = 77;
  ConfAttributeValue value;
  (void)test;
  fact_r ("range", CX (cuCtxGetStreamPriorityRange, &least, &greatest));
  fact ("least=%d greatest=%d", least, greatest);
  fact_r ("create", CX (cuStreamCreateWithPriority, &stream, MCU_STREAM_NON_BLOCKING, greatest));
  conf_own_stream (stream);
  if (stream == NULL)
    return;
  fact_r ("get", CX (cuStreamGetPriority, stream, &priority));
  fact ("is-greatest=%s", conf_yes (priority == greatest));
  cu.cuStreamBeginCapture (stream, MCU_CAPTURE_MODE_THREAD_LOCAL);
  conf_kernel (stream);
  conf_end_graph (stream, &graph);
  memset (&value, 0, sizeof value);
  fact_r ("attribute", CX (cuGraphKernelNodeGetAttribute, conf_node (graph, 0), CONF_ATTRIBUTE_PRIORITY, &value));
  fact ("is-greatest=%s", conf_yes (value.number == greatest));
  memset (&value, 0, sizeof value);
  fact_r ("cooperative", CX (cuGraphKernelNodeGetAttribute, conf_node (graph, 0), CONF_ATTRIBUTE_COOPERATIVE, &value));
  fact ("value=%d", value.number);
}

void
conf_cases_kernel (void)
{
  static const char *const kernels[] = { "conf_empty", "conf_add", "conf_store", "conf_mix", "conf_big", "conf_huge" };
  static const char *const extras[] = { "16-bytes", "12-bytes", "8-bytes", "and-params" };
  for (int by = 0; by < N_BY; by++)
    conf_add (0, run_by, 0, by, NULL, "kernel/by/%s", by_names[by]);
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
    conf_add (0, run_layout, 0, 0, kernels[i], "kernel/layout/%s", kernels[i]);
  conf_add (0, run_layout_arguments, 0, 0, NULL, "kernel/getters");
  conf_add (0, run_module_arguments, 0, 0, NULL, "kernel/module-errors");
  conf_add (0, run_struct, 0, 0, NULL, "kernel/arguments/struct-64");
  conf_add (0, run_struct, 0, 1, NULL, "kernel/arguments/struct-4000");
  for (int i = 0; i < 4; i++)
    conf_add (0, run_extra, 0, i, NULL, "kernel/arguments/extra-%s", extras[i]);
  conf_add (0, run_no_arguments, 0, 0, NULL, "kernel/arguments/none-null");
  conf_add (0, run_no_arguments, 0, 1, NULL, "kernel/arguments/none-array");
  conf_add (0, run_lifetime, 0, 0, NULL, "kernel/arguments/lifetime");
  conf_add (CONF_ISOLATED, run_lifetime, 0, 1, NULL, "kernel/arguments/module-unloaded");
  conf_add (0, run_priority, 0, 0, NULL, "kernel/priority");
}
