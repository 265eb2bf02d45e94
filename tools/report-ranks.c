/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The report's comparison of ranks and repeats: who made which graph in which place. */
#include "config.h"

#include "report-private.h"

#define MOST_MEMBERS    64 /* rows of the matrix */
#define MOST_INDICES    24 /* and its columns */
#define MOST_PLACES     10 /* that are told in full */
#define MOST_DIFF_LINES 15

/* ---- The matrix ---- */

/* What most of a family have in a place where not all have the same. (nullable) */
static const ToolVariant *
get_usual (const ToolComparison *comparison, guint family, guint index)
{
  for (guint i = 0; i < comparison->places->len; i++)
    {
      const ToolPlace *place = comparison->places->pdata[i];

      if (place->family == family && place->index == index)
        return place->variants->pdata[0];
    }
  return NULL;
}

static void
put_cell (Report *report, const ToolMember *member, guint index)
{
  const ToolVariant *usual = get_usual (report->comparison, member->family, index);
  const ToolGraph *graph = index < member->process->graphs->len ? tool_member_get_graph (member, index) : NULL;
  const ToolDistinct *distinct = graph != NULL ? tool_overview_find (report->overview, graph) : NULL;
  gboolean odd = graph != NULL && usual != NULL && usual->identity != graph->identity;

  if (graph == NULL)
    {
      tool_html (report->page, "<td class=\"%s\">%s</td>", usual != NULL ? "none" : "same",
                 usual != NULL ? "none" : "");
      return;
    }
  tool_html (report->page, "<td class=\"%s\">", odd ? "odd" : "same");
  if (distinct != NULL)
    report_put_link (report, distinct);
  else
    tool_html (report->page, "?");
  tool_html (report->page, "</td>");
}

static void
put_matrix (Report *report)
{
  const GPtrArray *members = report->comparison->members;
  guint most = 0;

  for (guint i = 0; i < members->len; i++)
    most = MAX (most, ((const ToolMember *) members->pdata[i])->process->graphs->len);
  tool_html (report->page, "<div class=\"table\"><table><thead><tr><th>Process</th>");
  for (guint i = 0; i < most && i < MOST_INDICES; i++)
    tool_html (report->page, "<th class=\"same\">%u</th>", i + 1);
  tool_html (report->page, "</tr></thead><tbody>\n");
  for (guint i = 0; i < members->len && i < MOST_MEMBERS; i++)
    {
      const ToolMember *member = members->pdata[i];
      g_autofree char *name = tool_process_dup_name (member->process, FALSE);

      tool_html (report->page, "<tr><td>%s</td>", name);
      for (guint k = 0; k < most && k < MOST_INDICES; k++)
        put_cell (report, member, k);
      tool_html (report->page, "</tr>\n");
    }
  tool_html (report->page, "</tbody></table></div>\n");
  if (members->len > MOST_MEMBERS)
    tool_html (report->page, "<p class=\"more\">and %u more processes</p>\n", members->len - MOST_MEMBERS);
  report_put_more (report, "p", most, MOST_INDICES, "graph");
}

/* ---- Places ---- */

static gboolean
is_most (const ToolPlace *place, const ToolVariant *variant)
{
  guint all = 0;

  for (guint i = 0; i < place->variants->len; i++)
    all += ((const ToolVariant *) place->variants->pdata[i])->members->len;
  return 2 * variant->members->len > all;
}

static void
put_variant (Report *report, const ToolPlace *place, guint index)
{
  const ToolVariant *usual = place->variants->pdata[0], *variant = place->variants->pdata[index];
  g_autofree char *names = tool_comparison_dup_names (report->comparison, variant->members);
  const ToolGraph *graph = !variant->absent ? tool_member_get_graph (variant->members->pdata[0], place->index) : NULL;
  const ToolDistinct *distinct = graph != NULL ? tool_overview_find (report->overview, graph) : NULL;

  tool_html (report->page, "<p><b>%s</b>: ", names);
  if (distinct != NULL)
    report_put_link (report, distinct);
  if (variant->absent)
    tool_html (report->page, "no such graph");
  else if (variant->identity == NULL)
    tool_html (report->page, " cannot be read");
  tool_html (report->page, "%s</p>\n", is_most (place, variant) ? ", as most" : "");
  if (index > 0 && usual->identity != NULL && variant->identity != NULL)
    {
      g_autoptr (MemraCensusDiff) diff = tool_place_diff (place, index, NULL);
      g_autofree char *text = diff != NULL ? memra_census_diff_to_string (diff) : NULL;

      if (text != NULL)
        report_put_lines (report, text, MOST_DIFF_LINES);
    }
}

static void
put_place (Report *report, const ToolPlace *place)
{
  tool_html (report->page, "<article class=\"card broken\"><h3>Graph %u of each process", place->index + 1);
  if (place->family > 1)
    tool_html (report->page, ", of each rank's process %u", place->family);
  tool_html (report->page, "</h3>\n");
  for (guint i = 0; i < place->variants->len && i < MOST_PLACES; i++)
    put_variant (report, place, i);
  report_put_more (report, "p", place->variants->len, MOST_PLACES, "variant");
  tool_html (report->page, "</article>\n");
}

/* Whether all that have a graph in a place have the same, and others have none. */
static gboolean
is_only_missing (const ToolPlace *place)
{
  return place->variants->len == 2 && ((const ToolVariant *) place->variants->pdata[1])->absent;
}

/* The first place behind a row of places where the same members have no graph. Tells of them all. */
static guint
put_missing (Report *report, guint begin)
{
  const GPtrArray *places = report->comparison->places;
  const ToolPlace *first = places->pdata[begin], *last = first;
  const ToolVariant *absent = first->variants->pdata[1];
  g_autofree char *names = tool_comparison_dup_names (report->comparison, absent->members);
  guint end;

  for (end = begin + 1; end < places->len; end++)
    {
      const ToolPlace *place = places->pdata[end];

      if (place->family != first->family || place->index != last->index + 1 || !is_only_missing (place)
          || ((const ToolVariant *) place->variants->pdata[1])->members->len != absent->members->len)
        break;
      last = place;
    }
  tool_html (report->page, "<article class=\"card broken\"><h3>Graph%s %u", last != first ? "s" : "", first->index + 1);
  if (last != first)
    tool_html (report->page, " to %u", last->index + 1);
  tool_html (report->page, " of each process</h3>\n<p><b>%s</b>: no such graph</p></article>\n", names);
  return end;
}

static void
put_places (Report *report)
{
  const GPtrArray *places = report->comparison->places;
  guint shown = 0, next = 0;

  for (; next < places->len && shown < MOST_PLACES; shown++)
    if (is_only_missing (places->pdata[next]))
      next = put_missing (report, next);
    else
      put_place (report, places->pdata[next++]);
  report_put_more (report, "p", places->len, next, "place");
}

void
report_put_ranks (Report *report)
{
  const ToolComparison *comparison = report->comparison;
  g_autofree char *verdict = NULL;

  if (comparison->members->len == 0)
    return;
  verdict = tool_comparison_dup_verdict (comparison);
  tool_html (report->page, "<section id=\"ranks\"><h2>Ranks and repeats</h2>\n<p>%s.</p>\n", verdict);
  if (comparison->members->len > 1)
    {
      tool_html (report->page, "<p class=\"small\">The n-th graph of each process, in the order in which they were "
                               "instantiated.</p>\n");
      put_matrix (report);
    }
  put_places (report);
  tool_html (report->page, "</section>\n");
}
