/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Members of an event, which may be missing or of any type. */
#include "config.h"

#include "recording-private.h"

#include <string.h>

/* The recorder writes no more, but a file may come from anywhere. */
#define DEEPEST_STACK 256
#define MOST_WORDS    256

static JsonNode *
get_value (JsonObject *object, const char *name, GType type)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == type ? node : NULL;
}

gint64
tool_member_int (JsonObject *object, const char *name, gint64 otherwise)
{
  JsonNode *node = get_value (object, name, G_TYPE_INT64);

  return node != NULL ? json_node_get_int (node) : otherwise;
}

guint
tool_member_uint (JsonObject *object, const char *name)
{
  return (guint) CLAMP (tool_member_int (object, name, 0), 0, G_MAXUINT);
}

gboolean
tool_member_bool (JsonObject *object, const char *name)
{
  JsonNode *node = get_value (object, name, G_TYPE_BOOLEAN);

  return node != NULL && json_node_get_boolean (node);
}

const char *
tool_member_string (JsonObject *object, const char *name)
{
  JsonNode *node = get_value (object, name, G_TYPE_STRING);

  return node != NULL ? json_node_get_string (node) : NULL;
}

/* Half a character in an escape makes bytes that are no text. */
char *
tool_member_dup_string (JsonObject *object, const char *name)
{
  const char *string = tool_member_string (object, name);

  return string != NULL ? g_utf8_make_valid (string, -1) : NULL;
}

JsonObject *
tool_member_object (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
}

static JsonArray *
get_array (JsonObject *object, const char *name)
{
  JsonNode *node = json_object_get_member (object, name);

  return node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;
}

GHashTable *
tool_member_dup_counts (JsonObject *object, const char *name)
{
  JsonObject *counts = tool_member_object (object, name);
  g_autoptr (GList) keys = counts != NULL ? json_object_get_members (counts) : NULL;
  GHashTable *table;

  if (counts == NULL)
    return NULL;
  table = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (GList *key = keys; key != NULL; key = key->next)
    {
      g_autofree char *valid = g_utf8_make_valid (key->data, -1);

      tool_count (table, valid, tool_member_uint (counts, key->data));
    }
  return table;
}

char *
tool_member_dup_node (JsonObject *object, const char *name)
{
  JsonObject *node = tool_member_object (object, name);
  g_autofree char *type = node != NULL ? tool_member_dup_string (node, "type") : NULL;
  g_autofree char *kernel = node != NULL ? tool_member_dup_string (node, "demangled") : NULL;

  if (node == NULL)
    return NULL;
  if (kernel != NULL)
    return g_strdup_printf ("%s '%s'", type != NULL ? type : "kernel", kernel);
  return type != NULL ? g_strdup_printf ("a %s node", type) : g_strdup ("a node");
}

static char *
dup_frame (JsonObject *frame)
{
  g_autofree char *module = tool_member_dup_string (frame, "module");
  g_autofree char *function = tool_member_dup_string (frame, "function");
  g_autofree char *place = tool_member_dup_string (frame, function != NULL ? "plus" : "offset");

  if (module == NULL)
    {
      char *address = tool_member_dup_string (frame, "address");

      return address != NULL ? address : g_strdup ("?");
    }
  if (place == NULL)
    place = g_strdup ("0x0");
  return function != NULL ? g_strdup_printf ("%s+%s in %s", function, place, module)
                          : g_strdup_printf ("%s+%s", module, place);
}

char **
tool_member_dup_stack (JsonObject *object, const char *name)
{
  JsonArray *frames = get_array (object, name);
  guint n = frames != NULL ? MIN (json_array_get_length (frames), DEEPEST_STACK) : 0;
  char **lines;

  if (n == 0)
    return NULL;
  lines = g_new0 (char *, n + 1);
  for (guint i = 0; i < n; i++)
    {
      JsonNode *frame = json_array_get_element (frames, i);

      lines[i] = JSON_NODE_HOLDS_OBJECT (frame) ? dup_frame (json_node_get_object (frame)) : g_strdup ("?");
    }
  return lines;
}

/* Words that mean themselves to a shell stand as they are, which is how a person would have typed them. */
static void
append_word (GString *text, const char *word)
{
  g_autofree char *quoted = NULL;
  gboolean plain = *word != '\0';

  for (const char *p = word; *p != '\0'; p++)
    plain &= g_ascii_isalnum (*p) || strchr ("-_=+./,:@%", *p) != NULL;
  if (!plain)
    quoted = g_shell_quote (word);
  if (text->len > 0)
    g_string_append_c (text, ' ');
  g_string_append (text, quoted != NULL ? quoted : word);
}

char *
tool_member_dup_command (JsonObject *object, const char *name)
{
  JsonArray *words = get_array (object, name);
  guint n = words != NULL ? json_array_get_length (words) : 0;
  g_autoptr (GString) text = g_string_new (NULL);

  if (n == 0)
    return NULL;
  for (guint i = 0; i < n && i < MOST_WORDS; i++)
    {
      JsonNode *word = json_array_get_element (words, i);

      if (JSON_NODE_HOLDS_VALUE (word) && json_node_get_value_type (word) == G_TYPE_STRING)
        {
          g_autofree char *valid = g_utf8_make_valid (json_node_get_string (word), -1);

          append_word (text, valid);
        }
    }
  if (n > MOST_WORDS)
    g_string_append (text, " ...");
  return g_string_free (g_steal_pointer (&text), FALSE);
}
