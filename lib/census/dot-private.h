/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nodes are called in a picture. */
#pragma once

#include "census-private.h"

/* What stands in a node's box: a name, and in `below` what it is given, or NULL. Both are (transfer full). */
char *_memra_dot_dup_label (const MemraCensus *census, guint32 number, char **below);

/* As it can stand between quotation marks in Graphviz's language. */
void _memra_dot_append_escaped (GString *text, const char *string);
