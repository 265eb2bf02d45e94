/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * graph-dot.c: cuGraphDebugDotPrint, as driver 13.0 prints without the verbose flag. Programs read it for what no getter
 * told before 12.3 (names of kernels) and 13.2 (bodies of conditional nodes), so the format matters: clusters are not
 * nested, the graph itself comes first, a label's first line is the node's number, its second the type or the kernel.
 */
#include "graph-private.h"

#include <stdio.h>

static const char *const type_names[]
    = { "KERNEL",       "MEMCPY",            "MEMSET",         "HOST",      "GRAPH",    "EMPTY",        "WAIT_EVENT",
        "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL" };

#define DOT_UID "graph_%" G_GUINT64_FORMAT

static void
dot_handle (GString *out, const char *what, const void *handle, unsigned flags)
{
  if ((flags & (MCU_DOT_HANDLES | MCU_DOT_VERBOSE)) != 0)
    g_string_append_printf (out, "%s handle: 0x%016" G_GINT64_MODIFIER "X\n", what, (guint64) (gsize) handle);
}

static void
dot_conditional (GString *out, const HostNode *node, unsigned flags, GQueue *inside)
{
  static const char *const kinds[] = { "IF", "WHILE", "SWITCH" };
  const HostConditional *conditional = node->work->u.conditional;

  g_string_append_printf (out, "[style=\"bold\" shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | %u}\n", node->id);
  if ((flags & (MCU_DOT_HANDLES | MCU_DOT_VERBOSE)) != 0)
    g_string_append_printf (out, "| {node handle| 0x%016" G_GINT64_MODIFIER "X}\n", (guint64) (gsize) node);
  g_string_append_printf (out, "| {Conditional Type| %s}\n", kinds[conditional->type]);
  for (unsigned i = 0; i < conditional->size; i++)
    {
      const HostGraph *body = conditional->bodies[i];

      if (conditional->type == MCU_COND_SWITCH)
        g_string_append_printf (out, "| {%u|  " DOT_UID "}\n", i, body->uid);
      else
        g_string_append_printf (out, "| {%s | " DOT_UID "}\n", i == 0 ? "True" : "False", body->uid);
      g_queue_push_tail (inside, (gpointer) body);
    }
  g_string_append (out, "}\n\"];\n\n");
}

static void
dot_node (GString *out, const HostNode *node, unsigned flags, GQueue *inside)
{
  const HostWork *work = node->work;

  g_string_append_printf (out, "\"" DOT_UID "_node_%u\"", node->graph->uid, node->id);
  if (work->type == MCU_NODE_CONDITIONAL)
    {
      dot_conditional (out, node, flags, inside);
      return;
    }
  g_string_append_printf (out, "[style=\"%s\" shape=\"%s\" label=\"%u\n", work->type == MCU_NODE_KERNEL ? "bold" : "solid",
                          work->type == MCU_NODE_KERNEL   ? "octagon"
                          : work->type == MCU_NODE_MEMCPY ? "trapezium"
                          : work->type == MCU_NODE_MEMSET ? "invtrapezium"
                                                          : "rectangle",
                          node->id);
  if (work->type == MCU_NODE_KERNEL)
    g_string_append_printf (out, "%s\n", work->u.launch->function->kernel->name);
  else if (work->type == MCU_NODE_GRAPH)
    {
      g_string_append_printf (out, DOT_UID "\n", work->u.child->uid);
      g_queue_push_tail (inside, work->u.child);
    }
  else
    g_string_append_printf (out, "%s\n", type_names[work->type]);
  dot_handle (out, "node", node, flags);
  if (work->type == MCU_NODE_KERNEL)
    dot_handle (out, "func", work->u.launch->function, flags);
  else if (work->type == MCU_NODE_MEMSET)
    g_string_append_printf (out, "(%u,%zu)\n", work->u.fill.value,
                            work->u.fill.width * work->u.fill.element_size * work->u.fill.height);
  g_string_append (out, "\"];\n\n");
}

static void
dot_graph (GString *out, const HostGraph *graph, unsigned flags, GQueue *inside)
{
  g_string_append_printf (out, "subgraph cluster_%" G_GUINT64_FORMAT " {\nlabel=\"" DOT_UID "\" graph[style=\"dashed\"];\n",
                          graph->uid, graph->uid);
  for (const HostNode *node = graph->first; node != NULL; node = node->next)
    dot_node (out, node, flags, inside);
  for (const HostNode *node = graph->first; node != NULL; node = node->next)
    for (unsigned i = 0; i < node->dependencies.n; i++)
      g_string_append_printf (out, "\"" DOT_UID "_node_%u\" -> \"" DOT_UID "_node_%u\";\n", graph->uid,
                              node->dependencies.items[i].node->id, graph->uid, node->id);
  g_string_append (out, "}\n");
}

static McuResult
dot_print (CUgraph handle, const char *path, unsigned flags)
{
  HostGraph *graph = host_graph_get (handle);
  if (graph == NULL || path == NULL)
    return MCU_ERROR_INVALID_VALUE;

  GString *out = g_string_new ("digraph dot {\n");
  GQueue inside = G_QUEUE_INIT;
  for (; graph != NULL; graph = g_queue_pop_head (&inside))
    dot_graph (out, graph, flags, &inside);
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
