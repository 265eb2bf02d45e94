/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The report's table of graphs. */
#include "config.h"

#include "report-private.h"

/* The colour of a type. */
static const char *
class_of_type (const char *type)
{
  static const struct
  {
    const char *type, *class;
  } classes[] = {
    { "kernel", "t-kernel" },     { "memcpy", "t-memcpy" },     { "memset", "t-memset" },    { "host", "t-host" },
    { "child-graph", "t-child" }, { "conditional", "t-child" }, { "mem-alloc", "t-memory" }, { "mem-free", "t-memory" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (classes); i++)
    if (g_str_equal (type, classes[i].type))
      return classes[i].class;
  return "t-other";
}

void
report_put_types (Report *report, const ToolDistinct *distinct)
{
  g_autoptr (GPtrArray) types = tool_counts_get_keys (distinct->types);
  g_autofree char *text = tool_counts_dup_text (distinct->types);

  if (types->len == 0)
    return;
  tool_html (report->page, "<div class=\"bar\">");
  for (guint i = 0; i < types->len; i++)
    {
      guint64 count = GPOINTER_TO_UINT (g_hash_table_lookup (distinct->types, types->pdata[i]));

      tool_html (report->page, "<i class=\"%s\" style=\"flex:%lu 1 0\"></i>", class_of_type (types->pdata[i]), count);
    }
  tool_html (report->page, "</div><span class=\"small\">%s</span>", text);
}

void
report_put_hazards (Report *report, const ToolDistinct *distinct)
{
  g_autoptr (GPtrArray) kinds = tool_counts_get_keys (distinct->hazards);

  for (guint i = 0; i < kinds->len; i++)
    tool_html (report->page, "<span class=\"tag warn\">%u %s</span>",
               GPOINTER_TO_UINT (g_hash_table_lookup (distinct->hazards, kinds->pdata[i])),
               (const char *) kinds->pdata[i]);
  if (distinct->identity == NULL)
    tool_html (report->page, "<span class=\"tag bad\">not readable</span>");
}

static void
put_row (Report *report, const ToolDistinct *distinct)
{
  g_autofree char *kernels = tool_distinct_dup_kernels (distinct, 4);
  const gboolean calm = g_hash_table_size (distinct->hazards) == 0 && distinct->identity != NULL;

  tool_html (report->page, "<tr id=\"r%u\"><td data-label=\"Graph\">", distinct->number);
  report_put_link (report, distinct);
  tool_html (report->page, "</td><td class=\"n\" data-label=\"Made\">&times; ");
  tool_html_number (report->page, distinct->instances->len);
  tool_html (report->page, "</td>");
  if (report->overview->has_launches)
    {
      tool_html (report->page, "<td class=\"n\" data-label=\"Launches\">");
      tool_html_number (report->page, distinct->n_launches);
      tool_html (report->page, "</td>");
    }
  tool_html (report->page, "<td class=\"n\" data-label=\"Nodes\">");
  tool_html_number (report->page, distinct->n_nodes);
  tool_html (report->page, "</td><td data-label=\"Of which\"><div>");
  report_put_types (report, distinct);
  tool_html (report->page, "</div></td><td class=\"%s\" data-label=\"Kernels\"><div><code>%s</code></div></td>",
             *kernels == '\0' ? "empty" : "", kernels);
  tool_html (report->page, "<td class=\"%s\" data-label=\"Hazards\"><div>", calm ? "empty" : "");
  report_put_hazards (report, distinct);
  tool_html (report->page, "</div></td></tr>\n");
}

void
report_put_graphs (Report *report)
{
  const GPtrArray *graphs = report->overview->graphs;

  if (graphs->len == 0)
    return;
  tool_html (report->page,
             "<section id=\"graphs\"><h2>Graphs</h2>\n<div class=\"table\"><table class=\"wide\"><thead><tr>"
             "<th>Graph</th><th class=\"n\">Made</th>");
  if (report->overview->has_launches)
    tool_html (report->page, "<th class=\"n\">Launches</th>");
  tool_html (report->page,
             "<th class=\"n\">Nodes</th><th>Of which</th><th>Kernels</th><th>Hazards</th></tr></thead><tbody>\n");
  for (guint i = 0; i < graphs->len && i < REPORT_MOST_ROWS; i++)
    put_row (report, graphs->pdata[i]);
  tool_html (report->page, "</tbody></table></div>\n");
  report_put_more (report, "p", graphs->len, REPORT_MOST_ROWS, "graph");
  tool_html (report->page, "</section>\n");
}
