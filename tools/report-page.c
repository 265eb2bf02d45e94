/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page of the report: its head, the summary, who was recorded, and what was passed over. */
#include "config.h"

#include "report-private.h"

#include <string.h>

/* ---- What the parts share ---- */

void
report_put_more (Report *report, const char *tag, gsize all, gsize shown, const char *word)
{
  if (all > shown)
    tool_html (report->page, "<%s class=\"more\">and %lu more %s%s</%s>\n", tag, all - shown, word,
               all - shown == 1 ? "" : "s", tag);
}

void
report_put_link (Report *report, const ToolDistinct *distinct)
{
  if (distinct->number <= REPORT_MOST_DETAILED)
    tool_html (report->page, "<a href=\"#g%u\">G%u</a>", distinct->number, distinct->number);
  else if (distinct->number <= REPORT_MOST_ROWS)
    tool_html (report->page, "<a href=\"#r%u\">G%u</a>", distinct->number, distinct->number);
  else
    tool_html (report->page, "G%u", distinct->number);
}

void
report_put_stack (Report *report, const char *label, char **stack, gboolean open)
{
  if (stack == NULL)
    return;
  tool_html (report->page, "<details%s><summary>%s</summary><ol class=\"stack\">", open ? " open" : "", label);
  for (guint i = 0; stack[i] != NULL; i++)
    tool_html (report->page, "<li><code>%s</code></li>", stack[i]);
  tool_html (report->page, "</ol></details>\n");
}

/* Lines of a difference are told apart by how they begin. */
static const char *
class_of_line (const char *line)
{
  line += strspn (line, " ");
  if (g_str_has_prefix (line, "+ "))
    return "plus";
  if (g_str_has_prefix (line, "- "))
    return "minus";
  return g_str_has_prefix (line, "~ ") || g_str_has_prefix (line, "> ") ? "change" : NULL;
}

void
report_put_lines (Report *report, const char *text, guint most)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  guint n = g_strv_length (lines);

  while (n > 0 && *lines[n - 1] == '\0')
    n--;
  tool_html (report->page, "<pre>");
  for (guint i = 0; i < n && i < most; i++)
    {
      const char *class = class_of_line (lines[i]);

      if (class != NULL)
        tool_html (report->page, "<span class=\"%s\">%s</span>\n", class, lines[i]);
      else
        tool_html (report->page, "%s\n", lines[i]);
    }
  tool_html (report->page, "</pre>\n");
  report_put_more (report, "p", n, most, "line");
}

static const char *
plural (guint64 n)
{
  return n == 1 ? "" : "s";
}

/* ---- The head ---- */

static void
put_start (Report *report)
{
  g_autofree char *name = g_filename_display_name (report->directory);

  tool_html (report->page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                           "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<meta name=\"referrer\" content=\"no-referrer\">\n"
                           "<meta name=\"generator\" content=\"" TOOL_NAME "\">\n");
  tool_html (report->page, "<title>CUDA graphs of %s</title>\n<style>\n", name);
  g_string_append (report->page, report_style);
  tool_html (report->page, "\n</style>\n</head>\n<body>\n");
}

/* "2 processes on node1, node2; driver 12.9; recorded on 2025-12-01 14:07:33 UTC" */
static void
put_where (Report *report)
{
  const GPtrArray *processes = report->overview->processes;
  g_autoptr (GHashTable) hosts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) names = NULL;
  gint version = 0;
  gint64 started = 0;

  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = processes->pdata[i];

      if (process->host != NULL)
        tool_count (hosts, process->host, 1);
      version = MAX (version, process->driver_version);
      if (process->started > 1 && (started == 0 || process->started < started))
        started = process->started;
    }
  names = tool_counts_get_keys (hosts);
  tool_html (report->page, "<p class=\"soft\">%u process%s", processes->len, processes->len == 1 ? "" : "es");
  for (guint i = 0; i < names->len && i < 4; i++)
    tool_html (report->page, "%s%s", i == 0 ? " on " : ", ", (const char *) names->pdata[i]);
  if (names->len > 4)
    tool_html (report->page, " and %u more machines", names->len - 4);
  if (version > 0)
    {
      g_autofree char *text = tool_driver_version_dup_text (version);

      tool_html (report->page, " &middot; CUDA driver %s", text);
    }
  if (started > 0)
    {
      g_autoptr (GDateTime) time = g_date_time_new_from_unix_utc (started / G_USEC_PER_SEC);
      g_autofree char *text = time != NULL ? g_date_time_format (time, "%Y-%m-%d %H:%M:%S UTC") : NULL;

      if (text != NULL)
        tool_html (report->page, " &middot; %s", text);
    }
  tool_html (report->page, "</p>\n");
}

static void
put_command (Report *report)
{
  const GPtrArray *processes = report->overview->processes;

  for (guint i = 0; i < processes->len; i++)
    {
      const ToolProcess *process = processes->pdata[i];
      const char *command = process->command != NULL ? process->command : process->program;

      if (command != NULL)
        {
          tool_html (report->page, "<code class=\"command\">%s</code>\n", command);
          return;
        }
    }
}

/* ---- Verdicts ---- */

static void
put_pill (Report *report, const char *class, const char *target, const char *text)
{
  if (target != NULL)
    tool_html (report->page, "<a class=\"pill %s\" href=\"#%s\">%s</a>", class, target, text);
  else
    tool_html (report->page, "<span class=\"pill %s\">%s</span>", class, text);
}

static void
put_capture_pills (Report *report)
{
  const ToolOverview *overview = report->overview;
  g_autofree char *broken
      = g_strdup_printf ("%u of %u capture%s broken", overview->n_broken,
                         MAX (overview->n_captures, overview->n_broken), plural (overview->n_captures));
  g_autofree char *open = g_strdup_printf ("%u capture%s never ended", overview->n_open, plural (overview->n_open));
  g_autofree char *failed
      = g_strdup_printf ("%u instantiation%s failed", overview->n_failed, plural (overview->n_failed));

  if (overview->n_broken > 0)
    put_pill (report, "bad", "broken", broken);
  else if (overview->n_captures > 0)
    put_pill (report, "good", NULL, overview->n_open > 0 ? "No capture broken" : "All captures ended well");
  if (overview->n_open > 0)
    put_pill (report, "warn", NULL, open);
  if (overview->n_failed > 0)
    put_pill (report, "bad", NULL, failed);
}

static void
put_pills (Report *report)
{
  const ToolOverview *overview = report->overview;
  const ToolComparison *comparison = report->comparison;
  guint hazardous = 0;

  for (guint i = 0; i < overview->graphs->len; i++)
    {
      const ToolDistinct *distinct = overview->graphs->pdata[i];

      if (g_hash_table_size (distinct->hazards) > 0)
        hazardous += distinct->instances->len;
    }
  tool_html (report->page, "<div class=\"pills\">");
  put_capture_pills (report);
  if (comparison->members->len > 1 && comparison->places->len == 0)
    put_pill (report, "good", "ranks", "All processes made the same graphs");
  else if (comparison->members->len > 1 && comparison->places->len > comparison->n_unread)
    put_pill (report, "bad", "ranks", "Processes made different graphs");
  else if (comparison->members->len > 1)
    put_pill (report, "warn", "ranks", "Not all graphs could be compared");
  if (hazardous > 0)
    {
      g_autofree char *text = g_strdup_printf ("%u graph%s with hazards", hazardous, plural (hazardous));

      put_pill (report, "warn", "graphs", text);
    }
  if (overview->n_refused > 0)
    {
      g_autofree char *text
          = g_strdup_printf ("%u update%s refused", overview->n_refused, plural (overview->n_refused));

      put_pill (report, "warn", "updates", text);
    }
  if (report->troubles->count > 0)
    put_pill (report, "warn", "passed-over", "Not all could be read");
  tool_html (report->page, "</div>\n");
}

/* ---- Figures ---- */

static void
put_tile (Report *report, guint64 number, const char *label, const char *more)
{
  tool_html (report->page, "<div class=\"tile\"><b>");
  tool_html_number (report->page, number);
  tool_html (report->page, "</b><span>%s%s%s</span></div>\n", label, more != NULL ? ", " : "",
             more != NULL ? more : "");
}

static void
put_tiles (Report *report)
{
  const ToolOverview *overview = report->overview;
  g_autofree char *different = g_strdup_printf ("%u different", overview->graphs->len);
  g_autofree char *begun = g_strdup_printf ("%u broken", overview->n_broken);
  g_autofree char *refused = g_strdup_printf ("%u refused", overview->n_refused);

  tool_html (report->page, "<div class=\"tiles\">\n");
  put_tile (report, overview->n_graphs, overview->n_graphs == 1 ? "graph" : "graphs", different);
  put_tile (report, overview->n_nodes, overview->n_nodes == 1 ? "node" : "nodes", NULL);
  put_tile (report, overview->n_kernels, overview->n_kernels == 1 ? "kernel" : "kernels", NULL);
  if (overview->has_launches)
    put_tile (report, overview->n_launches, overview->n_launches == 1 ? "launch" : "launches", NULL);
  put_tile (report, overview->n_captures, overview->n_captures == 1 ? "capture" : "captures", begun);
  put_tile (report, overview->n_updates, overview->n_updates == 1 ? "update" : "updates", refused);
  tool_html (report->page, "</div>\n");
}

/* ---- Who was recorded ---- */

static void
put_process (Report *report, const ToolProcess *process)
{
  g_autofree char *name = tool_process_dup_name (process, FALSE);
  guint64 launches = 0;

  for (guint i = 0; i < process->graphs->len; i++)
    launches += g_array_index (process->graphs, ToolGraph, i).launches;
  tool_html (report->page,
             "<tr><td data-label=\"Process\"><div>%s</div></td><td data-label=\"Machine\"><div>%s</div></td>", name,
             process->host != NULL ? process->host : "");
  tool_html (report->page, "<td class=\"n\" data-label=\"Graphs\">%u</td>", process->graphs->len);
  if (report->overview->has_launches)
    {
      tool_html (report->page, "<td class=\"n\" data-label=\"Launches\">");
      tool_html_number (report->page, launches);
      tool_html (report->page, "</td>");
    }
  tool_html (report->page, "<td class=\"n\" data-label=\"Broken\">%u</td>", process->broken->len);
  tool_html (report->page, "<td data-label=\"Command\"><div><code class=\"full\">%s</code>%s</div></td></tr>\n",
             process->command != NULL   ? process->command
             : process->program != NULL ? process->program
                                        : "",
             process->truncated ? "ended in the middle of an event" : "");
}

static void
put_processes (Report *report)
{
  const GPtrArray *processes = report->overview->processes;

  tool_html (report->page,
             "<section id=\"processes\"><h2>Processes</h2>\n<div class=\"table\"><table class=\"wide\"><thead><tr>"
             "<th>Process</th><th>Machine</th><th class=\"n\">Graphs</th>");
  if (report->overview->has_launches)
    tool_html (report->page, "<th class=\"n\">Launches</th>");
  tool_html (report->page, "<th class=\"n\">Broken</th><th>Command</th></tr></thead><tbody>\n");
  for (guint i = 0; i < processes->len && i < REPORT_MOST_ROWS; i++)
    put_process (report, processes->pdata[i]);
  tool_html (report->page, "</tbody></table></div>\n");
  if (processes->len > REPORT_MOST_ROWS)
    tool_html (report->page, "<p class=\"more\">and %u more processes</p>\n", processes->len - REPORT_MOST_ROWS);
  tool_html (report->page, "</section>\n");
}

static void
put_troubles (Report *report)
{
  const ToolTroubles *troubles = report->troubles;

  if (troubles->count == 0)
    return;
  tool_html (report->page,
             "<section id=\"passed-over\"><h2>Passed over</h2>\n<div class=\"card unread\"><p>What could not be "
             "read is not in this report.</p><ul>\n");
  for (guint i = 0; i < troubles->sentences->len; i++)
    tool_html (report->page, "<li><code>%s</code></li>\n", (const char *) troubles->sentences->pdata[i]);
  tool_html (report->page, "</ul>\n");
  report_put_more (report, "p", troubles->count, troubles->sentences->len, "line or file");
  tool_html (report->page, "</div></section>\n");
}

/* ---- All of it ---- */

static void
put_navigation (Report *report)
{
  const ToolOverview *overview = report->overview;

  tool_html (report->page, "<nav>");
  if (overview->broken->len > 0)
    tool_html (report->page, "<a href=\"#broken\">Broken captures</a>");
  if (overview->n_updates + overview->n_refused > 0)
    tool_html (report->page, "<a href=\"#updates\">Updates</a>");
  if (report->comparison->members->len > 0)
    tool_html (report->page, "<a href=\"#ranks\">Ranks and repeats</a>");
  if (overview->graphs->len > 0)
    tool_html (report->page, "<a href=\"#graphs\">Graphs</a><a href=\"#details\">Each graph</a>");
  tool_html (report->page, "<a href=\"#processes\">Processes</a></nav>\n");
}

char *
report_write (Report *report)
{
  g_autofree char *name = g_filename_display_name (report->directory);

  report->page = g_string_new (NULL);
  put_start (report);
  tool_html (report->page, "<header>\n<div class=\"over\">Recorded CUDA graphs</div>\n<h1>%s</h1>\n", name);
  put_where (report);
  put_command (report);
  put_pills (report);
  put_tiles (report);
  put_navigation (report);
  tool_html (report->page, "</header>\n<main>\n");
  put_troubles (report);
  report_put_broken (report);
  report_put_updates (report);
  report_put_ranks (report);
  report_put_graphs (report);
  report_put_details (report);
  put_processes (report);
  tool_html (report->page,
             "</main>\n<footer>Written by " TOOL_NAME " %d.%d.%d. This page needs no network and runs no script."
             "</footer>\n</body>\n</html>\n",
             MEMRA_CAPTURE_MAJOR_VERSION, MEMRA_CAPTURE_MINOR_VERSION, MEMRA_CAPTURE_MICRO_VERSION);
  g_clear_pointer (&report->no_picture, g_free);
  return g_string_free (g_steal_pointer (&report->page), FALSE);
}
