/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files that read a recorder's folder share. */
#pragma once

#include "recording.h"

#include <json-glib/json-glib.h>

/* recording-members.c: members of an event, which may be missing or of any type. Text is repaired UTF-8. */

gint64 tool_member_int (JsonObject *object, const char *name, gint64 otherwise);
guint tool_member_uint (JsonObject *object, const char *name);
gboolean tool_member_bool (JsonObject *object, const char *name);

/* As it stands there, which may be bytes that are no text. (nullable) */
const char *tool_member_string (JsonObject *object, const char *name);

/* (transfer full) (nullable) */
char *tool_member_dup_string (JsonObject *object, const char *name);

/* (nullable) */
JsonObject *tool_member_object (JsonObject *object, const char *name);

/* Text -> number, as tool_count() makes them. (transfer full) (nullable) */
GHashTable *tool_member_dup_counts (JsonObject *object, const char *name);

/* "kernel 'x'" or "a memset node". (transfer full) (nullable) */
char *tool_member_dup_node (JsonObject *object, const char *name);

/* Lines such as "step+0x42 in libengine.so". (transfer full) (nullable) */
char **tool_member_dup_stack (JsonObject *object, const char *name);

/* A list of words as a shell wants them. (transfer full) (nullable) */
char *tool_member_dup_command (JsonObject *object, const char *name);

/* recording-events.c */

/* Adds what a file of events says. troubles == NULL: the first that is not as it should be is an error. */
gboolean tool_recording_read_events (ToolProcess *process, const char *path, ToolTroubles *troubles, GError **error);

/* (nullable) */
ToolGraph *tool_process_get_graph (ToolProcess *process, guint number);

/* Takes over what the graph owns. */
void tool_process_add_graph (ToolProcess *process, const ToolGraph *graph);

/* recording-counts.c */

void tool_recording_read_counts (ToolProcess *process);
