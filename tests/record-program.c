/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-program.c: a program that knows nothing of the recorder. It does what its arguments say, word by word, and
 * prints what the driver answered; tests/test-record.sh looks at what was recorded meanwhile.
 *
 *   lookup=HOW      how the driver's functions are found, first of all words: proc2, proc1 (cuGetProcAddress of 12.0 and
 *                   11.3), dlsym, dlvsym, deepbind, default (RTLD_DEFAULT); "linked" is another build of this file
 *   per-thread      ask for the functions whose default stream is the per-thread one, before lookup
 *   mode=M          of captures: 0 global, 1 thread-local, 2 relaxed
 *   begin, end      a capture of the stream
 *   fill kernel host copy   operations
 *   sync alloc query harmless   calls that may break a capture; harmless fails and breaks nothing
 *   other WORD      the same on another thread
 *   build           a graph by hand
 *   clone           the graph by a copy of itself
 *   instantiate instantiate-params launch=N update update1 destroy-exec destroy-graph destroy-stream destroy-context
 *   fork WORD...    a child does the rest, and so does the parent afterwards, if the child was well
 *   exec WORD...    becomes this program again, with the rest
 *   spawn WORD...   as fork and exec
 *   threads=N       N threads that capture, instantiate, launch and destroy, 20 times each
 *   unrelated=PATH  calls two functions of an object that has the driver's names
 *   phantom         says whether cuGraphLaunch can be found although nobody loaded a driver
 *   close-fds       closes all files but the standard ones, and opens one of its own
 *   own-file        how many bytes others have written into the file that close-fds opened
 *   print=TEXT error=TEXT sleep=MS pid wait-file=PATH
 *   exit=N _exit=N abort kill=N
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "driver/abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* X (field, base, version, symbol, params) */
#define FUNCTIONS(X)                                                                                                   \
  X (cuInit, cuInit, 2000, cuInit, (unsigned flags))                                                                   \
  X (cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain,                               \
     (CUcontext * context, CUdevice device))                                                                           \
  X (cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2, (CUdevice device))           \
  X (cuCtxSetCurrent, cuCtxSetCurrent, 4000, cuCtxSetCurrent, (CUcontext context))                                     \
  X (cuStreamCreate, cuStreamCreate, 2000, cuStreamCreate, (CUstream * stream, unsigned flags))                        \
  X (cuStreamDestroy, cuStreamDestroy, 4000, cuStreamDestroy_v2, (CUstream stream))                                    \
  X (cuMemAlloc, cuMemAlloc, 3020, cuMemAlloc_v2, (CUdeviceptr * address, size_t size))                                \
  X (cuMemsetD32Async, cuMemsetD32Async, 3020, cuMemsetD32Async,                                                       \
     (CUdeviceptr dst, unsigned value, size_t count, CUstream stream))                                                 \
  X (cuMemcpyDtoHAsync, cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2,                                                 \
     (void *dst, CUdeviceptr src, size_t size, CUstream stream))                                                       \
  X (cuLaunchHostFunc, cuLaunchHostFunc, 10000, cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *data))          \
  X (cuModuleLoad, cuModuleLoad, 2000, cuModuleLoad, (CUmodule * module, const char *path))                            \
  X (cuModuleGetFunction, cuModuleGetFunction, 2000, cuModuleGetFunction,                                              \
     (CUfunction * function, CUmodule module, const char *name))                                                       \
  X (cuLaunchKernel, cuLaunchKernel, 7000, cuLaunchKernel,                                                             \
     (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
      unsigned block_z, unsigned shared, CUstream stream, void **params, void **extra))                                \
  X (cuStreamBeginCapture, cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, (CUstream stream, int mode))          \
  X (cuStreamEndCapture, cuStreamEndCapture, 10000, cuStreamEndCapture, (CUstream stream, CUgraph * graph))            \
  X (cuStreamSynchronize, cuStreamSynchronize, 7000, cuStreamSynchronize, (CUstream stream))                           \
  X (cuStreamQuery, cuStreamQuery, 7000, cuStreamQuery, (CUstream stream))                                             \
  X (cuGraphCreate, cuGraphCreate, 10000, cuGraphCreate, (CUgraph * graph, unsigned flags))                            \
  X (cuGraphClone, cuGraphClone, 10000, cuGraphClone, (CUgraph * clone, CUgraph graph))                                \
  X (cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000, cuGraphAddEmptyNode,                                             \
     (CUgraphNode * node, CUgraph graph, const CUgraphNode *dependencies, size_t count))                               \
  X (cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags,                     \
     (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                                                    \
  X (cuGraphLaunch, cuGraphLaunch, 10000, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                          \
  X (cuGraphExecUpdate1, cuGraphExecUpdate, 10020, cuGraphExecUpdate,                                                  \
     (CUgraphExec exec, CUgraph graph, CUgraphNode *node, int *update))                                                \
  X (cuGraphExecDestroy, cuGraphExecDestroy, 10000, cuGraphExecDestroy, (CUgraphExec exec))                            \
  X (cuGraphDestroy, cuGraphDestroy, 10000, cuGraphDestroy, (CUgraph graph))

/* What drivers before 12.0 do not have. */
#define NEW_FUNCTIONS(X)                                                                                               \
  X (cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, cuGraphInstantiateWithParams,                  \
     (CUgraphExec * exec, CUgraph graph, McuInstantiateParams * params))                                               \
  X (cuGraphExecUpdate2, cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2,                                               \
     (CUgraphExec exec, CUgraph graph, McuUpdateResultInfo * info))

#define FIELD(field, base, version, symbol, params) McuResult (*field) params;
static struct
{
  FUNCTIONS (FIELD)
  NEW_FUNCTIONS (FIELD)
} cu;

static CUcontext context;
static CUstream stream;
static CUdeviceptr memory;
static CUfunction kernel;
static CUgraph graph;
static CUgraphExec exec;
static int mode = MCU_CAPTURE_MODE_RELAXED;
static bool per_thread;
static char **arguments; /* of this program, from the word that is being done on */

/* ---- Finding the driver ---- */

#ifdef RECORD_PROGRAM_LINKED

#define DECLARE(field, base, version, symbol, params) extern McuResult symbol params;
FUNCTIONS (DECLARE)
NEW_FUNCTIONS (DECLARE)

static void
look_up (const char *how)
{
#define TAKE(field, base, version, symbol, params) cu.field = symbol;
  FUNCTIONS (TAKE)
  NEW_FUNCTIONS (TAKE)
}

#else

static void
die (const char *what)
{
  const char *why = dlerror ();

  fprintf (stderr, "record-program: %s: %s\n", what, why != NULL ? why : "failed");
  exit (99);
}

static void *handle;
static McuGetProcAddressV1 get1;
static McuGetProcAddressV2 get2;

static void *
find (const char *how, const char *base, int version, const char *symbol, bool required)
{
  uint64_t flags = per_thread ? MCU_GET_PROC_PER_THREAD_STREAM : MCU_GET_PROC_LEGACY_STREAM;
  void *address = NULL;

  if (per_thread && version < 7000)
    version = 7000;
  if (strcmp (how, "proc2") == 0)
    get2 (base, &address, version, flags, NULL);
  else if (strcmp (how, "proc1") == 0)
    get1 (base, &address, version, flags);
  else if (strcmp (how, "default") == 0)
    address = dlsym (RTLD_DEFAULT, symbol);
  else if (strcmp (how, "dlvsym") == 0)
    address = dlvsym (handle, symbol, "LIBCUDA_TEST");
  else
    address = dlsym (handle, symbol);
  if (address == NULL && required)
    die (symbol);
  return address;
}

static void
look_up (const char *how)
{
  int flags = RTLD_NOW;

  if (strcmp (how, "deepbind") == 0)
    flags |= RTLD_DEEPBIND;
  if (strcmp (how, "default") == 0)
    flags |= RTLD_GLOBAL;
  handle = dlopen ("libcuda.so.1", flags);
  if (handle == NULL)
    die ("dlopen");
  get1 = (McuGetProcAddressV1) dlsym (handle, "cuGetProcAddress");
  get2 = (McuGetProcAddressV2) dlsym (handle, "cuGetProcAddress_v2");
#define FIND(field, base, version, symbol, params)                                                                     \
  cu.field = (McuResult (*) params) find (how, #base, version, #symbol, true);
  FUNCTIONS (FIND)
#undef FIND
#define FIND(field, base, version, symbol, params)                                                                     \
  cu.field = (McuResult (*) params) find (how, #base, version, #symbol, false);
  NEW_FUNCTIONS (FIND)
#undef FIND
}

#endif

static void
start (const char *how)
{
  CUmodule module;
  const char *path = getenv ("RECORD_TEST_MODULE");
  unsigned flags = MCU_STREAM_NON_BLOCKING;

  look_up (how);
  if (cu.cuInit (0) != MCU_SUCCESS || cu.cuDevicePrimaryCtxRetain (&context, 0) != MCU_SUCCESS
      || cu.cuCtxSetCurrent (context) != MCU_SUCCESS || cu.cuMemAlloc (&memory, 4096) != MCU_SUCCESS
      || cu.cuStreamCreate (&stream, flags) != MCU_SUCCESS)
    {
      fprintf (stderr, "record-program: no device\n");
      exit (77);
    }
  if (path != NULL
      && (cu.cuModuleLoad (&module, path) != MCU_SUCCESS
          || cu.cuModuleGetFunction (&kernel, module, "conf_store") != MCU_SUCCESS))
    kernel = NULL;
  if (per_thread)
    stream = NULL;
}

/* ---- Words ---- */

static void
on_host (void *data)
{
}

static McuResult
launch_kernel (void)
{
  unsigned value = 7;
  void *params[] = { &memory, &value };

  return cu.cuLaunchKernel (kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static McuResult
build (void)
{
  CUgraphNode first, second;
  McuResult result = cu.cuGraphCreate (&graph, 0);

  if (result == MCU_SUCCESS)
    result = cu.cuGraphAddEmptyNode (&first, graph, NULL, 0);
  if (result == MCU_SUCCESS)
    result = cu.cuGraphAddEmptyNode (&second, graph, &first, 1);
  return result;
}

static McuResult
instantiate_with_params (void)
{
  McuInstantiateParams params = { 0 };

  return cu.cuGraphInstantiateWithParams (&exec, graph, &params);
}

static McuResult
update (bool old)
{
  McuUpdateResultInfo info = { 0 };
  CUgraphNode node;
  int result = -1;

  if (old)
    return cu.cuGraphExecUpdate1 (exec, graph, &node, &result);
  return cu.cuGraphExecUpdate2 (exec, graph, &info);
}

/* A name that a stack can show. */
__attribute__ ((noinline, visibility ("default"))) McuResult record_program_synchronize (void);

McuResult
record_program_synchronize (void)
{
  McuResult result = cu.cuStreamSynchronize (stream);

  __asm__ volatile ("" : : "r" (result) : "memory"); /* no tail call */
  return result;
}

/* FALSE for a word that is no call of the driver. */
static bool
call (const char *word, McuResult *result)
{
  static char host_memory[64];
  CUdeviceptr other;

  if (strcmp (word, "begin") == 0)
    *result = cu.cuStreamBeginCapture (stream, mode);
  else if (strcmp (word, "end") == 0)
    *result = cu.cuStreamEndCapture (stream, &graph);
  else if (strcmp (word, "fill") == 0)
    *result = cu.cuMemsetD32Async (memory, 1, 16, stream);
  else if (strcmp (word, "kernel") == 0)
    *result = launch_kernel ();
  else if (strcmp (word, "host") == 0)
    *result = cu.cuLaunchHostFunc (stream, on_host, NULL);
  else if (strcmp (word, "copy") == 0)
    *result = cu.cuMemcpyDtoHAsync (host_memory, memory, sizeof host_memory, stream);
  else if (strcmp (word, "sync") == 0)
    *result = record_program_synchronize ();
  else if (strcmp (word, "query") == 0)
    *result = cu.cuStreamQuery (stream);
  else if (strcmp (word, "alloc") == 0)
    *result = cu.cuMemAlloc (&other, 64);
  else if (strcmp (word, "harmless") == 0)
    *result = cu.cuStreamCreate (&(CUstream){ NULL }, 0xffff);
  else if (strcmp (word, "build") == 0)
    *result = build ();
  else if (strcmp (word, "clone") == 0)
    *result = cu.cuGraphClone (&graph, graph);
  else if (strcmp (word, "instantiate") == 0)
    *result = cu.cuGraphInstantiateWithFlags (&exec, graph, 0);
  else if (strcmp (word, "instantiate-params") == 0)
    *result = instantiate_with_params ();
  else if (strcmp (word, "update") == 0)
    *result = update (false);
  else if (strcmp (word, "update1") == 0)
    *result = update (true);
  else if (strcmp (word, "destroy-exec") == 0)
    *result = cu.cuGraphExecDestroy (exec);
  else if (strcmp (word, "destroy-graph") == 0)
    *result = cu.cuGraphDestroy (graph);
  else if (strcmp (word, "destroy-stream") == 0)
    *result = cu.cuStreamDestroy (stream);
  else if (strcmp (word, "destroy-context") == 0)
    *result = cu.cuDevicePrimaryCtxReset (0);
  else if (strcmp (word, "new-stream") == 0)
    *result = cu.cuStreamCreate (&stream, MCU_STREAM_NON_BLOCKING);
  else
    return false;
  return true;
}

static void
say (const char *word, McuResult result)
{
  printf ("%s %d\n", word, result);
  fflush (stdout);
}

static void *
run_on_thread (void *data)
{
  const char *word = data;
  McuResult result;

  cu.cuCtxSetCurrent (context);
  if (call (word, &result))
    say (word, result);
  return NULL;
}

static void
launch (int n)
{
  McuResult result = MCU_SUCCESS;

  for (int i = 0; i < n && result == MCU_SUCCESS; i++)
    result = cu.cuGraphLaunch (exec, stream);
  if (result == MCU_SUCCESS)
    result = cu.cuStreamSynchronize (stream);
  say ("launch", result);
}

/* In the child goes on with the rest; the parent does so when the child is done. */
static void
divide (bool becomes)
{
  pid_t child = fork ();
  int status;

  if (child == 0 && !becomes)
    return;
  if (child == 0)
    {
      execv ("/proc/self/exe", arguments);
      _exit (98);
    }
  waitpid (child, &status, 0);
  if (!WIFEXITED (status) || WEXITSTATUS (status) != 0 || becomes)
    exit (WIFEXITED (status) ? WEXITSTATUS (status) : 97);
}

/* ---- Threads ---- */

static void *
work (void *data)
{
  long *failures = data;
  CUdeviceptr own;
  CUstream other;

  cu.cuCtxSetCurrent (context);
  cu.cuMemAlloc (&own, 64);
  cu.cuStreamCreate (&other, MCU_STREAM_NON_BLOCKING);
  for (int i = 0; i < 20; i++)
    {
      CUgraph made;
      CUgraphExec executable;
      McuResult result = cu.cuStreamBeginCapture (other, MCU_CAPTURE_MODE_RELAXED);

      result = result != MCU_SUCCESS ? result : cu.cuMemsetD32Async (own, 1, 16, other);
      result = result != MCU_SUCCESS ? result : cu.cuStreamEndCapture (other, &made);
      result = result != MCU_SUCCESS ? result : cu.cuGraphInstantiateWithFlags (&executable, made, 0);
      for (int k = 0; k < 10 && result == MCU_SUCCESS; k++)
        result = cu.cuGraphLaunch (executable, other);
      result = result != MCU_SUCCESS ? result : cu.cuStreamSynchronize (other);
      result = result != MCU_SUCCESS ? result : cu.cuGraphExecDestroy (executable);
      result = result != MCU_SUCCESS ? result : cu.cuGraphDestroy (made);
      *failures += result != MCU_SUCCESS;
    }
  return NULL;
}

static void
run_threads (int n)
{
  pthread_t threads[64];
  long failures[64] = { 0 }, all = 0;

  for (int i = 0; i < n && i < 64; i++)
    pthread_create (&threads[i], NULL, work, &failures[i]);
  for (int i = 0; i < n && i < 64; i++)
    {
      pthread_join (threads[i], NULL);
      all += failures[i];
    }
  printf ("threads %ld failures\n", all);
}

/* ---- What has nothing to do with the driver ---- */

static void
call_unrelated (const char *path)
{
  void *object = dlopen (path, RTLD_NOW);
  int (*one) (void *, void *) = object != NULL ? (int (*) (void *, void *)) dlsym (object, "cuGraphLaunch") : NULL;
  int (*two) (void *, void **) = object != NULL ? (int (*) (void *, void **)) dlsym (object, "cuStreamEndCapture") : NULL;

  if (one != NULL && two != NULL)
    printf ("unrelated %d %d\n", one (NULL, NULL), two (NULL, NULL));
}

static void
look_for_phantom (void)
{
  void *program = dlopen (NULL, RTLD_NOW);

  printf ("phantom %s %s\n", dlsym (RTLD_DEFAULT, "cuGraphLaunch") != NULL ? "yes" : "no",
          dlsym (program, "cuGraphLaunch") != NULL ? "yes" : "no");
}

static FILE *own_file;

static void
close_files (void)
{
  for (int fd = 3; fd < 256; fd++)
    close (fd);
  own_file = tmpfile ();
}

static void
wait_for_file (const char *path)
{
  for (int i = 0; i < 1000 && access (path, F_OK) != 0; i++)
    usleep (10000);
}

static void
become (void)
{
  execv ("/proc/self/exe", arguments);
  exit (98);
}

static void
other_word (const char *word, const char *value)
{
  if (strcmp (word, "per-thread") == 0)
    per_thread = true;
  else if (strcmp (word, "fork") == 0)
    divide (false);
  else if (strcmp (word, "spawn") == 0)
    divide (true);
  else if (strcmp (word, "exec") == 0)
    become ();
  else if (strncmp (word, "threads=", 8) == 0)
    run_threads (atoi (value));
  else if (strncmp (word, "unrelated=", 10) == 0)
    call_unrelated (value);
  else if (strcmp (word, "phantom") == 0)
    look_for_phantom ();
  else if (strcmp (word, "close-fds") == 0)
    close_files ();
  else if (strcmp (word, "own-file") == 0)
    printf ("own-file %ld bytes\n", own_file != NULL && fseek (own_file, 0, SEEK_END) == 0 ? ftell (own_file) : -1L);
  else if (strcmp (word, "pid") == 0)
    printf ("pid %d\n", (int) getpid ());
  else if (strcmp (word, "abort") == 0)
    abort ();
  else if (strncmp (word, "lookup=", 7) == 0)
    start (value);
  else if (strncmp (word, "mode=", 5) == 0)
    mode = atoi (value);
  else if (strncmp (word, "launch=", 7) == 0)
    launch (atoi (value));
  else if (strncmp (word, "print=", 6) == 0)
    puts (value);
  else if (strncmp (word, "error=", 6) == 0)
    fprintf (stderr, "%s\n", value);
  else if (strncmp (word, "sleep=", 6) == 0)
    usleep ((useconds_t) atoi (value) * 1000);
  else if (strncmp (word, "wait-file=", 10) == 0)
    wait_for_file (value);
  else if (strncmp (word, "exit=", 5) == 0)
    exit (atoi (value));
  else if (strncmp (word, "_exit=", 6) == 0)
    _exit (atoi (value));
  else if (strncmp (word, "kill=", 5) == 0)
    kill (getpid (), atoi (value));
  else
    {
      fprintf (stderr, "record-program: what is '%s'?\n", word);
      exit (99);
    }
  fflush (stdout);
}

/* An object that record-loader.c loads. */
#ifdef RECORD_PROGRAM_OBJECT
__attribute__ ((visibility ("default"))) int record_program_main (int argc, char **argv);
#define main record_program_main
#endif

int
main (int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    {
      const char *word = argv[i], *equals = strchr (word, '=');
      McuResult result;

      arguments = argv + i; /* which has the word itself where execv() wants the program's name */
      if (strcmp (word, "other") == 0 && i + 1 < argc)
        {
          pthread_t thread;

          pthread_create (&thread, NULL, run_on_thread, argv[++i]);
          pthread_join (thread, NULL);
        }
      else if (call (word, &result))
        say (word, result);
      else
        other_word (word, equals != NULL ? equals + 1 : "");
    }
  return 0;
}
