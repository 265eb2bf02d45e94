/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a graph that somebody else captured. An argument is a file to save the census in. */
#include <memra-capture/memra-capture.h>

#include "engine.h"

static struct CUgraph_st *
engine_capture (Engine *engine, unsigned long long memory, void *host)
{
  struct CUgraph_st *graph = NULL;

  engine->cuStreamBeginCapture_v2 (engine->stream, 1); /* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL */
  engine->cuMemsetD32Async (memory, 0, 256, engine->stream);
  engine->cuMemcpyDtoDAsync_v2 (memory + 1024, memory, 1024, engine->stream);
  engine->cuMemcpyDtoHAsync_v2 (host, memory + 1024, 1024, engine->stream); /* into ordinary memory */
  engine->cuStreamEndCapture (engine->stream, &graph);
  return graph;
}

static gboolean
run (struct CUgraph_st *graph, const char *path, GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_open (memra_host_driver_path (), error);
  g_autoptr (MemraCensus) census = driver != NULL ? memra_census_new_from_graph (driver, graph, error) : NULL;
  g_autofree char *text = census != NULL ? memra_census_to_string (census) : NULL;

  if (text == NULL)
    return FALSE;
  g_print ("%s", text);
  for (guint i = 0; i < memra_census_get_n_hazards (census); i++)
    g_print ("look at node %u: %s\n", memra_census_get_hazard_node (census, i),
             memra_census_get_hazard (census, i, NULL));
  return path == NULL || memra_census_save (census, path, error);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autofree void *host = g_malloc (1024);
  struct CUgraph_st *graph;
  unsigned long long memory;
  Engine engine;
  gboolean ok;

  if (engine_open (&engine, memra_host_driver_path ()) != 0 || engine.cuMemAlloc_v2 (&memory, 2048) != 0)
    return 1;
  graph = engine_capture (&engine, memory, host);
  ok = graph != NULL && run (graph, argc > 1 ? argv[1] : NULL, &error);
  if (error != NULL)
    g_printerr ("%s\n", error->message);
  engine.cuGraphDestroy (graph); /* the census keeps nothing of it */
  engine.cuMemFree_v2 (memory);
  engine_close (&engine);
  return ok ? 0 : 1;
}
