/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The report's captures that were broken, and updates that were refused. */
#include "config.h"

#include "report-private.h"

static void
put_fact (Report *report, const char *label, const char *text)
{
  if (text != NULL)
    tool_html (report->page, "<dt>%s</dt><dd>%s</dd>", label, text);
}

static void
put_code (Report *report, const char *label, const char *text)
{
  if (text != NULL)
    tool_html (report->page, "<dt>%s</dt><dd><code>%s</code></dd>", label, text);
}

static void
put_times (Report *report, guint times)
{
  if (times > 1)
    tool_html (report->page, "<span class=\"soft\">%u times</span>", times);
}

static void
put_broken (Report *report, const ToolBrokenKind *kind)
{
  const ToolBroken *broken = kind->broken;
  g_autofree char *names = tool_processes_dup_names (kind->processes);
  g_autofree char *where = g_strdup_printf ("%" G_GINT64_FORMAT "%s", broken->thread,
                                            broken->other_thread ? ", not the one that began the capture" : "");
  g_autofree char *when
      = g_strdup_printf ("%s%s%u operation%s captured", broken->after != NULL ? broken->after : "",
                         broken->after != NULL ? "; " : "", broken->operations, broken->operations == 1 ? "" : "s");

  tool_html (report->page, "<article class=\"card broken\"><div class=\"head\"><h3>");
  if (broken->function != NULL)
    tool_html (report->page, "<code>%s</code>", broken->function);
  else
    tool_html (report->page, "A call that was not seen");
  tool_html (report->page, "</h3><span class=\"tag bad\">%d%s%s</span>", broken->result,
             broken->result_name != NULL ? " " : "", broken->result_name != NULL ? broken->result_name : "");
  put_times (report, kind->processes->len);
  tool_html (report->page, "</div>\n<dl class=\"facts\">");
  put_code (report, "Called from", broken->caller);
  put_fact (report, "The driver says", broken->reason);
  put_code (report, "After", when);
  put_fact (report, "On thread", broken->thread != 0 ? where : NULL);
  put_fact (report, "In", names);
  tool_html (report->page, "</dl>\n");
  report_put_stack (report, "Call stack", broken->stack, TRUE);
  tool_html (report->page, "</article>\n");
}

void
report_put_broken (Report *report)
{
  const GPtrArray *broken = report->overview->broken;

  if (broken->len == 0)
    return;
  tool_html (report->page, "<section id=\"broken\"><h2>Broken captures</h2>\n");
  for (guint i = 0; i < broken->len && i < REPORT_MOST_DETAILED; i++)
    put_broken (report, broken->pdata[i]);
  report_put_more (report, "p", broken->len, REPORT_MOST_DETAILED, "broken capture");
  tool_html (report->page, "</section>\n");
}

static void
put_refusal (Report *report, const ToolRefusalKind *kind)
{
  const ToolRefusal *refusal = kind->refusal;
  g_autofree char *names = tool_processes_dup_names (kind->processes);

  tool_html (report->page, "<article class=\"card refused\"><div class=\"head\"><h3>%s</h3>", refusal->reason);
  put_times (report, kind->processes->len);
  tool_html (report->page, "</div>\n<dl class=\"facts\">");
  put_code (report, "Refused by", refusal->function);
  put_code (report, "Because of", refusal->node);
  put_fact (report, "The driver says", refusal->driver_reason);
  put_fact (report, "In", names);
  tool_html (report->page, "</dl>\n");
  report_put_stack (report, "Call stack", refusal->stack, FALSE);
  tool_html (report->page, "</article>\n");
}

void
report_put_updates (Report *report)
{
  const ToolOverview *overview = report->overview;
  const GPtrArray *refusals = overview->refusals;

  if (overview->n_updates + overview->n_refused == 0)
    return;
  tool_html (report->page, "<section id=\"updates\"><h2>Updates</h2>\n<p>");
  tool_html_number (report->page, overview->n_updates);
  tool_html (report->page, " accepted, ");
  tool_html_number (report->page, overview->n_refused);
  tool_html (report->page, " refused%s</p>\n", overview->n_refused > 0 ? ":" : ".");
  for (guint i = 0; i < refusals->len && i < REPORT_MOST_DETAILED; i++)
    put_refusal (report, refusals->pdata[i]);
  report_put_more (report, "p", refusals->len, REPORT_MOST_DETAILED, "reason");
  tool_html (report->page, "</section>\n");
}
