/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * graph-dot.c: cuGraphDebugDotPrint. The format is the host driver's own: like NVIDIA's it names each kernel, shows
 * each embedded graph as a cluster, and the handles when asked for; a program that parses one cannot rely on the other.
 */
#include "graph-private.h"

#include <stdio.h>

static const char *const type_names[]
    = { "KERNEL",       "MEMCPY",     "MEMSET",   "HOST",      "GRAPH",    "EMPTY",        "WAIT_EVENT",
        "EVENT_RECORD", "EXT_SIGNAL", "EXT_WAIT", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL" };

static void dot_graph (GString *out, const HostGraph *graph, unsigned flags, unsigned depth);

static void
dot_label (GString *out, const HostNode *node, unsigned flags)
{
  const HostWork *work = node->work;
  g_string_append_printf (out, "%u: %s", node->id, type_names[work->type]);
  if (work->type == MCU_NODE_KERNEL)
    {
      const HostLaunch *launch = work->u.launch;
      g_string_append_printf (out, "\\n%s\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", launch->function->kernel->name,
                              launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
                              launch->block[2], launch->shared_bytes);
    }
  else if (work->type == MCU_NODE_MEMCPY)
    g_string_append_printf (out, "\\n%zu bytes", work->u.copy->width_bytes);
  else if (work->type == MCU_NODE_MEMSET)
    g_string_append_printf (out, "\\n%zu x %u bytes", work->u.fill.width, work->u.fill.element_size);
  if ((flags & (MCU_DOT_HANDLES | MCU_DOT_VERBOSE)) != 0)
    g_string_append_printf (out, "\\nhandle %p", (const void *) node);
}

static void
dot_indent (GString *out, unsigned depth)
{
  for (unsigned i = 0; i < depth; i++)
    g_string_append (out, "  ");
}

static void
dot_node (GString *out, const HostNode *node, unsigned flags, unsigned depth)
{
  const HostWork *work = node->work;
  dot_indent (out, depth);
  g_string_append_printf (out, "\"graph_%" G_GUINT64_FORMAT "_node_%u\" [shape=box label=\"", node->graph->uid,
                          node->id);
  dot_label (out, node, flags);
  g_string_append (out, "\"]\n");
  if (work->type == MCU_NODE_GRAPH)
    dot_graph (out, work->u.child, flags, depth);
  else if (work->type == MCU_NODE_CONDITIONAL)
    for (unsigned i = 0; i < work->u.conditional->size; i++)
      dot_graph (out, work->u.conditional->bodies[i], flags, depth);
}

static void
dot_graph (GString *out, const HostGraph *graph, unsigned flags, unsigned depth)
{
  dot_indent (out, depth);
  g_string_append_printf (out, "subgraph cluster_%" G_GUINT64_FORMAT " {\n", graph->uid);
  dot_indent (out, depth + 1);
  if (graph->owner != NULL)
    g_string_append_printf (out, "label=\"graph_%" G_GUINT64_FORMAT " in node %u of graph_%" G_GUINT64_FORMAT "\"\n",
                            graph->uid, graph->owner->id, graph->owner->graph->uid);
  else
    g_string_append_printf (out, "label=\"graph_%" G_GUINT64_FORMAT "\"\n", graph->uid);
  for (const HostNode *node = graph->first; node != NULL; node = node->next)
    dot_node (out, node, flags, depth + 1);
  for (const HostNode *node = graph->first; node != NULL; node = node->next)
    for (unsigned i = 0; i < node->dependencies.n; i++)
      {
        const HostEdge *edge = &node->dependencies.items[i];
        dot_indent (out, depth + 1);
        g_string_append_printf (
            out, "\"graph_%" G_GUINT64_FORMAT "_node_%u\" -> \"graph_%" G_GUINT64_FORMAT "_node_%u\"%s\n", graph->uid,
            edge->node->id, graph->uid, node->id, edge->data.type == MCU_EDGE_PROGRAMMATIC ? " [style=dashed]" : "");
      }
  dot_indent (out, depth);
  g_string_append (out, "}\n");
}

static McuResult
dot_print (CUgraph handle, const char *path, unsigned flags)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || path == NULL)
    return MCU_ERROR_INVALID_VALUE;

  GString *out = g_string_new ("digraph dot {\n");
  dot_graph (out, graph, flags, 1);
  g_string_append (out, "}\n");
  FILE *file = fopen (path, "w");
  bool ok = file != NULL && fwrite (out->str, 1, out->len, file) == out->len;
  if (file != NULL && fclose (file) != 0)
    ok = false;
  g_string_free (out, TRUE);
  return ok ? MCU_SUCCESS : MCU_ERROR_OPERATING_SYSTEM;
}

HOST_API McuResult
cuGraphDebugDotPrint (CUgraph graph, const char *path, unsigned flags)
{
  HOST_CALL (cuGraphDebugDotPrint, dot_print (graph, path, flags));
}
