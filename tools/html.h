/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing HTML. */
#pragma once

#include <glib.h>

/* Adds to a page, where %s is text that is escaped, of any bytes: no argument ever becomes markup. Besides there are %u,
 * %d, and %lu for 64 bits. */
void tool_html (GString *page, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* "1,234,567" */
void tool_html_number (GString *page, guint64 number);

/* A picture that Graphviz drew, to stand in a page: without what is before the element, and without its ids, which are
 * the same in every picture. */
void tool_html_svg (GString *page, const char *svg);
