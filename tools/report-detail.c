/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each graph of the report by itself: where it was made, what might hurt, its kernels, its picture. */
#include "config.h"

#include "report-private.h"

#include <string.h>

#define MOST_PLACES    8 /* where a graph was made */
#define MOST_HAZARDS   20
#define MOST_OPEN      12           /* graphs whose picture is unfolded */
#define WIDEST_BESIDE  400          /* points, of a picture that goes beside the kernels */
#define SECONDS_EACH   10           /* that a picture may take */
#define SECONDS_ALL    60           /* that all may */
#define LARGEST_DOT    (200 * 1024) /* no picture of that much can be read */
#define DIGITS_OF_HASH 12

/* ---- Where it was made ---- */

/* "graphs 1-12, 14" of those from one place of the list to another, which are in one process. */
static void
put_numbers (Report *report, const GArray *instances, guint begin, guint end)
{
  tool_html (report->page, "graph%s", end - begin > 1 ? "s" : "");
  for (guint i = begin, next; i < end; i = next)
    {
      guint first = g_array_index (instances, ToolInstance, i).graph->number;

      for (next = i + 1; next < end && g_array_index (instances, ToolInstance, next).graph->number == first + next - i;)
        next++;
      tool_html (report->page, "%s%u", i > begin ? ", " : " ", first);
      if (next - i > 1)
        tool_html (report->page, "-%u", first + next - i - 1);
    }
}

static void
put_instances (Report *report, const ToolDistinct *distinct)
{
  const GArray *instances = distinct->instances;
  guint n = 0;

  tool_html (report->page, "<dt>Made</dt><dd>");
  for (guint i = 0, end; i < instances->len; i = end)
    {
      const ToolProcess *process = g_array_index (instances, ToolInstance, i).process;
      g_autofree char *name = tool_process_dup_name (process, FALSE);
      guint captured = 0;

      for (end = i; end < instances->len && g_array_index (instances, ToolInstance, end).process == process; end++)
        captured += g_array_index (instances, ToolInstance, end).graph->captured;
      if (n++ >= MOST_PLACES)
        continue;
      tool_html (report->page, "%s%s: ", i > 0 ? "; " : "", name);
      put_numbers (report, instances, i, end);
      if (process->started > 1)
        tool_html (report->page, "%s", captured == end - i ? ", captured" : captured == 0 ? ", built by hand" : "");
    }
  report_put_more (report, "span", n, MOST_PLACES, "place");
  tool_html (report->page, "</dd>\n");
}

static void
put_facts (Report *report, const ToolDistinct *distinct, const MemraCensus *census)
{
  const ToolGraph *first = g_array_index (distinct->instances, ToolInstance, 0).graph;

  tool_html (report->page, "<dl class=\"facts\">");
  put_instances (report, distinct);
  if (report->overview->has_launches)
    {
      tool_html (report->page, "<dt>Launched</dt><dd>");
      tool_html_number (report->page, distinct->n_launches);
      tool_html (report->page, " time%s</dd>\n", distinct->n_launches == 1 ? "" : "s");
    }
  if (distinct->n_updates > 0)
    tool_html (report->page, "<dt>Updated</dt><dd>%u time%s</dd>\n", distinct->n_updates,
               distinct->n_updates == 1 ? "" : "s");
  if (census != NULL)
    tool_html (report->page, "<dt>Edges</dt><dd>%u%s</dd>\n",
               memra_census_get_n_normal_edges (census) + memra_census_get_n_programmatic_edges (census),
               memra_census_get_n_programmatic_edges (census) > 0 ? ", some of them programmatic" : "");
  if (first->census != NULL)
    tool_html (report->page, "<dt>Census</dt><dd><code>%s</code></dd>\n", first->census);
  if (distinct->identity != NULL)
    {
      g_autofree char *hash = g_strndup (distinct->identity, DIGITS_OF_HASH);

      tool_html (report->page, "<dt>Hash</dt><dd><code title=\"%s\">%s</code></dd>\n", distinct->identity, hash);
    }
  tool_html (report->page, "</dl>\n");
}

/* ---- What might hurt ---- */

static void
put_hazards (Report *report, const MemraCensus *census)
{
  const guint n = memra_census_get_n_hazards (census);

  if (n == 0)
    return;
  tool_html (report->page, "<ul class=\"hazards\">");
  for (guint i = 0; i < n && i < MOST_HAZARDS; i++)
    {
      const char *message;
      const char *kind = memra_census_get_hazard (census, i, &message);

      tool_html (report->page, "<li><span class=\"tag warn\">%s</span> %s</li>\n", kind, message);
    }
  report_put_more (report, "li", n, MOST_HAZARDS, "hazard");
  tool_html (report->page, "</ul>\n");
}

/* ---- Kernels ---- */

static void
put_dim3 (Report *report, MemraDim3 dim)
{
  tool_html (report->page, "%u", dim.x);
  if (dim.y != 1 || dim.z != 1)
    tool_html (report->page, "&times;%u", dim.y);
  if (dim.z != 1)
    tool_html (report->page, "&times;%u", dim.z);
}

static void
put_kernel (Report *report, const ToolDistinct *distinct, const ToolKernelKind *kind)
{
  tool_html (report->page, "<tr><td><code title=\"%s\">%s</code>", kind->name, kind->short_name);
  if (strcmp (kind->name, kind->short_name) != 0)
    tool_html (report->page, "<span class=\"full mono\">%s</span>", kind->name);
  tool_html (report->page, "</td><td class=\"n\">");
  tool_html_number (report->page, kind->count);
  tool_html (report->page,
             "</td><td data-label=\"Share\"><div><div class=\"bar\"><i class=\"t-kernel\" style=\"width:%u%%\"></i>"
             "</div></div></td>",
             (guint) (100 * (guint64) kind->count / distinct->n_kernels));
  tool_html (report->page, "<td class=\"n\">%s", kind->varies ? "various" : "");
  if (!kind->varies)
    put_dim3 (report, kind->grid);
  tool_html (report->page, "</td><td class=\"n\">%s", kind->varies ? "various" : "");
  if (!kind->varies)
    put_dim3 (report, kind->block);
  tool_html (report->page, "</td></tr>\n");
}

static void
put_kernels (Report *report, const ToolDistinct *distinct)
{
  const GPtrArray *kernels = distinct->kernels;

  if (kernels->len == 0)
    return;
  tool_html (report->page, "<table class=\"kernels\"><thead><tr><th>Kernel</th><th class=\"n\">Times</th><th>Share</th>"
                           "<th class=\"n\">Grid</th><th class=\"n\">Block</th></tr></thead><tbody>\n");
  for (guint i = 0; i < kernels->len && i < REPORT_MOST_KERNELS; i++)
    put_kernel (report, distinct, kernels->pdata[i]);
  tool_html (report->page, "</tbody></table>\n");
  report_put_more (report, "p", kernels->len, REPORT_MOST_KERNELS, "kernel");
}

/* ---- The picture ---- */

/* NULL: there is none, and `why` says why not. What will hold for all that follow is kept in the report. Both
 * (transfer full). */
static char *
draw (Report *report, const MemraCensus *census, char **why)
{
  g_autofree char *dot = NULL;
  g_autoptr (GError) error = NULL;
  gint64 before = g_get_monotonic_time ();
  char *svg;

  *why = g_strdup (report->no_picture);
  if (report->no_picture != NULL)
    return NULL;
  dot = memra_census_to_dot (census);
  if (strlen (dot) > LARGEST_DOT)
    {
      *why = g_strdup ("it is too large for a picture");
      return NULL;
    }
  svg = tool_graphviz_draw (dot, SECONDS_EACH, &error);
  report->drawing += g_get_monotonic_time () - before;
  if (svg == NULL)
    *why = g_strdup (error->message);
  if (g_error_matches (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
    report->no_picture = g_strdup (error->message);
  else if (report->drawing > SECONDS_ALL * G_USEC_PER_SEC)
    report->no_picture = g_strdup_printf ("the pictures before it took more than %d seconds", SECONDS_ALL);
  return svg;
}

/* Whether there is room for it beside the kernels. */
static gboolean
is_narrow (const char *svg)
{
  const char *width = strstr (svg, " width=\"");

  return width != NULL && g_ascii_strtod (width + strlen (" width=\""), NULL) <= WIDEST_BESIDE;
}

static void
put_picture (Report *report, const ToolDistinct *distinct, const char *svg)
{
  tool_html (report->page, "<details%s><summary>Picture, repeated blocks drawn once</summary><div class=\"picture\">",
             distinct->number <= MOST_OPEN ? " open" : "");
  tool_html_svg (report->page, svg);
  tool_html (report->page, "</div></details>\n");
}

static void
put_text (Report *report, const ToolDistinct *distinct, const MemraCensus *census, const char *why)
{
  g_autofree char *text = memra_census_to_string (census);

  tool_html (report->page, "<details%s><summary>As text</summary><p class=\"small\">There is no picture: %s.</p>",
             distinct->number <= MOST_OPEN ? " open" : "", why);
  report_put_lines (report, text, REPORT_MOST_LINES);
  tool_html (report->page, "</details>\n");
}

static void
put_contents (Report *report, const ToolDistinct *distinct, const MemraCensus *census)
{
  g_autofree char *why = NULL;
  g_autofree char *svg = draw (report, census, &why);
  const gboolean beside = svg != NULL && distinct->kernels->len > 0 && is_narrow (svg);

  tool_html (report->page, "<div class=\"%s\"><div>\n", beside ? "beside" : "below");
  put_kernels (report, distinct);
  tool_html (report->page, "</div><div>\n");
  if (svg != NULL)
    put_picture (report, distinct, svg);
  else
    put_text (report, distinct, census, why);
  tool_html (report->page, "</div></div>\n");
}

/* ---- All of it ---- */

static void
put_detail (Report *report, const ToolDistinct *distinct)
{
  const ToolGraph *first = g_array_index (distinct->instances, ToolInstance, 0).graph;
  g_autoptr (MemraCensus) census = distinct->identity != NULL ? tool_distinct_load (distinct, NULL) : NULL;

  tool_html (report->page, "<article class=\"card%s\" id=\"g%u\"><div class=\"head\"><h3>G%u</h3><span class=\"soft\">",
             distinct->identity == NULL ? " unread" : "", distinct->number, distinct->number);
  tool_html_number (report->page, distinct->n_nodes);
  tool_html (report->page, " node%s, made ", distinct->n_nodes == 1 ? "" : "s");
  tool_html_number (report->page, distinct->instances->len);
  tool_html (report->page, " time%s</span></div>\n", distinct->instances->len == 1 ? "" : "s");
  report_put_types (report, distinct);
  put_facts (report, distinct, census);
  if (census == NULL)
    tool_html (report->page, "<p><span class=\"tag bad\">not readable</span> %s</p>\n",
               distinct->error != NULL ? distinct->error : "its census is gone");
  else
    {
      put_hazards (report, census);
      put_contents (report, distinct, census);
    }
  report_put_stack (report, "Instantiated from", first->stack, FALSE);
  tool_html (report->page, "</article>\n");
}

void
report_put_details (Report *report)
{
  const GPtrArray *graphs = report->overview->graphs;

  if (graphs->len == 0)
    return;
  tool_html (report->page, "<section id=\"details\"><h2>Each graph</h2>\n");
  for (guint i = 0; i < graphs->len && i < REPORT_MOST_DETAILED; i++)
    {
      tool_progress ("Writing graph %u of %u", i + 1, MIN (graphs->len, (guint) REPORT_MOST_DETAILED));
      put_detail (report, graphs->pdata[i]);
    }
  report_put_more (report, "p", graphs->len, REPORT_MOST_DETAILED, "graph");
  tool_html (report->page, "</section>\n");
}
