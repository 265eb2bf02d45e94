/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The graphs of a recorded process: which were instantiated, updated, launched. */
#include "config.h"

#include "record-private.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static RecordMap origins; /* graph -> number of the capture it came from */
static RecordMap execs;   /* executable graph -> number of the instantiation, which is that of its census file */
static unsigned last_graph;

void
record_graphs_forget (void)
{
  record_map_forget (&origins);
  record_map_forget (&execs);
  last_graph = 0;
}

/* ---- Nodes ---- */

static const char *
kernel_name (CUgraphNode node)
{
  const InterposeDriver *driver = interpose_driver ();
  McuKernelNodeParams params;
  const char *name = NULL;
  McuResult result = MCU_ERROR_NOT_SUPPORTED;

  memset (&params, 0, sizeof params);
  if (driver->cuGraphKernelNodeGetParams_v2 != NULL)
    result = driver->cuGraphKernelNodeGetParams_v2 (node, &params);
  else if (driver->cuGraphKernelNodeGetParams != NULL)
    result = driver->cuGraphKernelNodeGetParams (node, &params);
  if (result != MCU_SUCCESS)
    return NULL;
  if (params.func != NULL && driver->cuFuncGetName != NULL && driver->cuFuncGetName (&name, params.func) == MCU_SUCCESS)
    return name;
  if (params.kern != NULL && driver->cuKernelGetName != NULL
      && driver->cuKernelGetName (&name, params.kern) == MCU_SUCCESS)
    return name;
  return NULL;
}

void
record_describe_node (CUgraphNode node, char *type, size_t type_size, char *name, size_t name_size)
{
  static const char *const types[] = { "kernel",          "memcpy",         "memset",   "host",     "child-graph",
                                       "empty",           "wait-event",     "event-record", "ext-semas-signal",
                                       "ext-semas-wait",  "mem-alloc",      "mem-free", "batch-mem-op", "conditional" };
  const InterposeDriver *driver = interpose_driver ();
  const char *kernel;
  int number = -1;

  name[0] = '\0';
  if (driver->cuGraphNodeGetType == NULL || driver->cuGraphNodeGetType (node, &number) != MCU_SUCCESS)
    snprintf (type, type_size, "unknown");
  else if (number < 0 || (size_t) number >= sizeof types / sizeof types[0])
    snprintf (type, type_size, "unknown-%d", number);
  else
    snprintf (type, type_size, "%s", types[number]);
  kernel = number == MCU_NODE_KERNEL ? kernel_name (node) : NULL;
  if (kernel != NULL)
    snprintf (name, name_size, "%s", kernel);
}

void
record_text_node (RecordText *text, const char *key, const char *type, const char *name)
{
  const size_t size = sizeof ((RecordCaptureFacts *) NULL)->after_name;
  char *demangled = malloc (size);

  record_text_open (text, key, '{');
  record_text_string (text, "type", type);
  if (name[0] != '\0' && demangled != NULL)
    {
      record_demangle (name, demangled, size);
      record_text_string (text, "name", name);
      record_text_string (text, "demangled", demangled);
    }
  record_text_close (text, '}');
  free (demangled);
}

static void
put_error_node (RecordText *text, CUgraphNode node)
{
  const size_t size = sizeof ((RecordCaptureFacts *) NULL)->after_name;
  char type[32], *name = node != NULL ? malloc (size) : NULL;

  if (name == NULL)
    return;
  record_describe_node (node, type, sizeof type, name, size);
  record_text_node (text, "node", type, name);
  free (name);
}

static void
put_stack (RecordText *text)
{
  void *frames[RECORD_MAX_FRAMES];

  if (record_wants_stacks ())
    record_text_stack (text, frames, record_stack_take (frames));
}

/* ---- Where graphs come from ---- */

void
record_graph_captured (CUgraph graph, unsigned capture)
{
  record_lock ();
  record_map_put (&origins, graph, capture);
  record_unlock ();
}

unsigned
record_graph_origin (CUgraph graph)
{
  return record_map_get (&origins, graph);
}

unsigned
record_graph_destroying (CUgraph graph)
{
  unsigned capture;
  RecordGuard guard;

  if (record_map_get (&origins, graph) == 0)
    return 0;
  record_enter (&guard);
  record_lock ();
  capture = record_map_remove (&origins, graph);
  record_unlock ();
  record_leave (&guard);
  return capture;
}

/* ---- Instantiate ---- */

static const RecordCensusModule *census_module;
static pthread_once_t census_once = PTHREAD_ONCE_INIT;
static char census_trouble[512];

static void
load_census_module (void)
{
  const char *trouble = NULL;
  void *module = interpose_open_beside (RECORD_CENSUS_MODULE, &trouble);
  InterposeObject object;
  RecordCensusModuleFunc get = NULL;

  /* Not dlsym(): here it would be our own. */
  if (module != NULL && interpose_object_named (RECORD_CENSUS_MODULE, &object))
    get = (RecordCensusModuleFunc) interpose_symbol (&object, "memra_record_census");
  if (get != NULL)
    census_module = get ();
  if (census_module != NULL && census_module->abi == RECORD_CENSUS_ABI)
    return;
  census_module = NULL;
  snprintf (census_trouble, sizeof census_trouble, "%s", trouble != NULL ? trouble : RECORD_CENSUS_MODULE " is not of this version");
}

static void
put_census (RecordText *text, CUgraph graph, unsigned number)
{
  /* One allocation, since the stack may be small. */
  struct
  {
    char name[PATH_MAX], path[PATH_MAX], temporary[PATH_MAX];
    RecordCensusFacts facts;
  } *work = calloc (1, sizeof *work);
  sigset_t mask;
  bool written;

  if (work == NULL || !record_graph_path (number, work->name, work->path, work->temporary))
    {
      free (work);
      return;
    }
  pthread_once (&census_once, load_census_module);
  record_writing_begin (&mask);
  written = census_module != NULL
            && census_module->write (interpose_driver ()->path, graph, work->temporary, work->path, &work->facts);
  record_writing_end (&mask);
  if (census_module == NULL)
    record_text_string (text, "census_error", census_trouble);
  else if (!written)
    record_text_string (text, "census_error", work->facts.error);
  else
    {
      record_text_string (text, "census", work->name);
      record_text_string (text, "hash", work->facts.hash);
      record_text_number (text, "nodes", work->facts.nodes);
      record_text_number (text, "kernels", work->facts.kernels);
      record_text_number (text, "edges", work->facts.edges);
      record_text_raw (text, "types", work->facts.types);
      record_text_raw (text, "hazards", work->facts.hazards);
    }
  free (work);
}

static const char *
instantiate_failure_in_words (int failure)
{
  switch (failure)
    {
    case MCU_INSTANTIATE_RESULT_INVALID_STRUCTURE:
      return "the graph's structure is invalid, such as a cycle";
    case MCU_INSTANTIATE_RESULT_NODE_OPERATION_NOT_SUPPORTED:
      return "a node's operation cannot be launched from the device";
    case MCU_INSTANTIATE_RESULT_MULTIPLE_CTXS_NOT_SUPPORTED:
      return "nodes of several contexts cannot be launched from the device";
    case MCU_INSTANTIATE_RESULT_CONDITIONAL_HANDLE_UNUSED:
      return "a conditional handle is used by no node";
    default:
      return NULL;
    }
}

void
record_instantiated (McuResult result, CUgraphExec exec, CUgraph graph, const RecordInstantiation *how)
{
  RecordGuard guard;
  RecordText text;
  unsigned number = 0, origin;

  if (interpose_driver () == NULL)
    return;
  record_enter (&guard);
  origin = record_graph_origin (graph);
  if (result == MCU_SUCCESS && exec != NULL)
    {
      record_lock ();
      number = ++last_graph;
      record_map_put (&execs, exec, number);
      record_unlock ();
      record_count_prepare (number);
    }
  record_text_begin (&text, "instantiate");
  if (number != 0)
    record_text_number (&text, "graph", number);
  record_text_string (&text, "function", how->function);
  record_text_bool (&text, "captured", origin != 0);
  if (origin != 0)
    record_text_number (&text, "capture", origin);
  if (how->has_flags)
    record_text_number (&text, "flags", (int64_t) how->flags);
  record_text_result (&text, result);
  if (number != 0)
    put_census (&text, graph, number);
  else if (result != MCU_SUCCESS)
    {
      const char *words = instantiate_failure_in_words (how->failure);

      record_text_string (&text, "reason", words != NULL ? words : record_last_reason ());
      put_error_node (&text, how->failure > MCU_INSTANTIATE_RESULT_ERROR ? how->error_node : NULL);
    }
  put_stack (&text);
  record_write (&text);
  record_leave (&guard);
}

/* ---- Update ---- */

static const char *
update_in_words (int update, CUgraphNode error_node)
{
  static const char *const words[] = {
    [MCU_UPDATE_ERROR] = "the update is invalid",
    [MCU_UPDATE_TOPOLOGY_CHANGED] = "the topology changed: another number of nodes or other dependencies",
    [MCU_UPDATE_NODE_TYPE_CHANGED] = "a node's type changed",
    [MCU_UPDATE_FUNCTION_CHANGED] = "a kernel node's function changed, which this driver cannot update",
    [MCU_UPDATE_PARAMETERS_CHANGED] = "a node's parameters changed in a way that cannot be updated",
    [MCU_UPDATE_NOT_SUPPORTED] = "a node is of a kind that cannot be updated",
    [MCU_UPDATE_UNSUPPORTED_FUNCTION_CHANGE] = "a kernel node's function changed in a way that cannot be updated",
    [MCU_UPDATE_ATTRIBUTES_CHANGED] = "a node's attributes changed in a way that cannot be updated",
  };

  /* What the first form of the call has for another number of nodes (measured). */
  if (update == MCU_UPDATE_NOT_SUPPORTED && error_node == NULL)
    return "another number of nodes, or nodes of a kind that cannot be updated";
  return update > 0 && (size_t) update < sizeof words / sizeof words[0] ? words[update] : NULL;
}

void
record_updated (McuResult result, const char *function, CUgraphExec exec, CUgraph graph, int update,
                CUgraphNode error_node)
{
  unsigned number = record_map_get (&execs, exec), origin = record_graph_origin (graph);
  bool refused = result == MCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  RecordGuard guard;
  RecordText text;

  if (interpose_driver () == NULL)
    return;
  record_enter (&guard);
  record_text_begin (&text, "update");
  if (number != 0)
    record_text_number (&text, "graph", number);
  record_text_string (&text, "function", function);
  record_text_bool (&text, "accepted", result == MCU_SUCCESS);
  record_text_bool (&text, "captured", origin != 0);
  record_text_result (&text, result);
  if (result != MCU_SUCCESS)
    {
      const char *words = refused ? update_in_words (update, error_node) : NULL;

      if (refused)
        record_text_number (&text, "update_result", update);
      record_text_string (&text, "reason", words != NULL ? words : record_last_reason ());
      if (words != NULL && record_last_reason () != NULL)
        record_text_string (&text, "driver_reason", record_last_reason ());
      put_error_node (&text, refused ? error_node : NULL);
    }
  put_stack (&text);
  record_write (&text);
  record_leave (&guard);
}

/* ---- Launch and destroy ---- */

void
record_launched (CUgraphExec exec)
{
  unsigned number = record_map_get (&execs, exec);

  if (number != 0)
    record_count_launch (number);
}

unsigned
record_exec_destroying (CUgraphExec exec)
{
  unsigned number;
  RecordGuard guard;

  /* Before the driver does it: afterwards another thread may get the same handle. */
  record_enter (&guard);
  record_lock ();
  number = record_map_remove (&execs, exec);
  record_unlock ();
  record_leave (&guard);
  return number;
}

void
record_exec_destroyed (McuResult result, CUgraphExec exec, unsigned graph)
{
  RecordGuard guard;
  RecordText text;

  if (graph == 0)
    return;
  record_enter (&guard);
  if (result != MCU_SUCCESS)
    {
      record_lock ();
      record_map_put (&execs, exec, graph);
      record_unlock ();
    }
  else
    {
      record_text_begin (&text, "destroy");
      record_text_number (&text, "graph", graph);
      record_write (&text);
    }
  record_leave (&guard);
}
