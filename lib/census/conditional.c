/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opening conditional nodes: with the generic getter where the driver has it, else with the help of its debug dump. */
#include "config.h"

#include "reading-private.h"

/* A SWITCH with more bodies than this is taken for a misread struct. */
#define MAX_BODIES 65536

/* Asks the generic getter. FALSE with no error set: it cannot tell. */
static gboolean
ask_getter (MemraBodies *bodies, MemraDriver *driver, CUgraphNode node, GError **error)
{
  McuNodeParams params = { 0 };
  McuResult result;

  if (driver->cu.cuGraphNodeGetParams == NULL)
    return FALSE;
  result = driver->cu.cuGraphNodeGetParams (node, &params);
  if (result == MCU_ERROR_INVALID_VALUE || result == MCU_ERROR_NOT_SUPPORTED)
    return FALSE;
  if (result != MCU_SUCCESS)
    return _memra_driver_set_error (driver, error, result, "Could not get the bodies of a conditional node");
  if (params.type != MCU_NODE_CONDITIONAL || params.u.conditional.graphs_out == NULL || params.u.conditional.size == 0
      || params.u.conditional.size > MAX_BODIES)
    return FALSE;

  bodies->n = params.u.conditional.size;
  bodies->graphs = g_new (CUgraph, bodies->n);
  for (guint i = 0; i < bodies->n; i++)
    bodies->graphs[i] = params.u.conditional.graphs_out[i];
  return TRUE;
}

/* The dump prints handles. They are used only if those it prints for the graph itself are the very ones that the driver
 * lists, and if the driver takes every one of the bodies' for a node. */
static void
ask_dump (MemraBodies *bodies, MemraReading *reading, CUgraphNode node)
{
  MemraDump *dump = _memra_reading_get_dump (reading);
  const guint *clusters;
  guint n_clusters, n;
  int type;

  if (dump == NULL || !_memra_dump_is_of (dump, reading->top, reading->n_top))
    return;
  clusters = _memra_dump_get_bodies (dump, node, &n_clusters);
  if (clusters == NULL)
    return;
  for (guint i = 0; i < n_clusters; i++)
    {
      const CUgraphNode *nodes = _memra_dump_get_cluster (dump, clusters[i], &n);

      for (guint k = 0; k < n; k++)
        if (nodes[k] == NULL || reading->driver->cu.cuGraphNodeGetType (nodes[k], &type) != MCU_SUCCESS)
          return;
    }
  bodies->clusters = clusters;
  bodies->n = n_clusters;
}

gboolean
_memra_bodies_read (MemraBodies *bodies, MemraReading *reading, CUgraphNode node, GError **error)
{
  g_autoptr (GError) failure = NULL;

  if (ask_getter (bodies, reading->driver, node, &failure))
    return TRUE;
  if (failure != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&failure));
      return FALSE;
    }
  ask_dump (bodies, reading, node);
  return TRUE;
}

void
_memra_bodies_clear (MemraBodies *bodies)
{
  g_clear_pointer (&bodies->graphs, g_free);
  bodies->n = 0;
}
