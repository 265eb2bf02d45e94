/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The policy file, see memra-policy(5):
 *
 *   [Policy]
 *   Version=1
 *   AllowEmpty=false
 *   ForbidHazards=host-node;device-to-host-pageable
 *
 *   [Nodes]
 *   memcpy=0
 *   kernel=20..24
 *
 *   [Kernels]
 *   *gemm*=1..
 */
#include "config.h"

#include "census-private.h"

#include <string.h>

#define POLICY_MAXIMUM_BYTES (1024 * 1024)

/* In one group: each rule is looked for among those before it. */
#define MOST_RULES 10000

static gboolean
fail (GError **error, const char *group, const char *key, const char *what)
{
  g_autofree char *message
      = g_strdup_printf ("[%.80s]%s%.80s: %s", group, key != NULL ? " " : "", key != NULL ? key : "", what);

  _memra_census_set_error (error, MEMRA_CENSUS_ERROR_POLICY, message);
  return FALSE;
}

/* A number from 0 to 2^32 - 2 that ends at `end`. */
static gboolean
parse_number (const char *text, const char *end, guint *number)
{
  g_autofree char *digits = g_strndup (text, end - text);
  guint64 value;

  if (!g_ascii_string_to_unsigned (digits, 10, 0, MEMRA_POLICY_UNBOUNDED - 1, &value, NULL))
    return FALSE;
  *number = value;
  return TRUE;
}

/* "3", "3..5", "3..", "..5" */
static gboolean
parse_bounds (const char *text, guint *minimum, guint *maximum)
{
  const char *dots = strstr (text, "..");
  const char *end = text + strlen (text);

  if (dots == NULL)
    {
      if (!parse_number (text, end, minimum))
        return FALSE;
      *maximum = *minimum;
      return TRUE;
    }
  *minimum = 0;
  *maximum = MEMRA_POLICY_UNBOUNDED;
  if (dots == text && dots + 2 == end)
    return FALSE;
  return (dots == text || parse_number (text, dots, minimum))
         && (dots + 2 == end || parse_number (dots + 2, end, maximum)) && *minimum <= *maximum;
}

static gboolean
read_counts (GKeyFile *file, const char *group, MemraPolicy *policy,
             void (*set) (MemraPolicy *, const char *, guint, guint), GError **error)
{
  g_auto (GStrv) keys = NULL;

  if (!g_key_file_has_group (file, group))
    return TRUE;
  keys = g_key_file_get_keys (file, group, NULL, error);
  if (keys != NULL && g_strv_length (keys) > MOST_RULES)
    return fail (error, group, NULL, "has more rules than any policy");
  for (gsize i = 0; keys != NULL && keys[i] != NULL; i++)
    {
      g_autofree char *value = g_key_file_get_value (file, group, keys[i], NULL);
      guint minimum, maximum;
      guint32 type;

      if (strcmp (group, "Nodes") == 0 && !_memra_census_type_from_name (keys[i], &type))
        return fail (error, group, keys[i],
                     "is no node type; the types are those of a census, such as kernel or memcpy");
      if (value == NULL || !parse_bounds (g_strstrip (value), &minimum, &maximum))
        return fail (error, group, keys[i], "wants a number, or bounds such as 3..5, 3.. or ..5");
      set (policy, keys[i], minimum, maximum);
    }
  return keys != NULL;
}

/* Not as GKeyFile's list, which is none at all if it has an escape that GKeyFile does not know, and warns of two. */
static gboolean
read_hazards (GKeyFile *file, MemraPolicy *policy, GError **error)
{
  g_autofree char *value = g_key_file_get_value (file, "Policy", "ForbidHazards", NULL);
  g_auto (GStrv) kinds = g_strsplit (value != NULL ? value : "", ";", -1);

  for (gsize i = 0; kinds[i] != NULL; i++)
    {
      if (*g_strstrip (kinds[i]) == '\0' && kinds[i + 1] == NULL) /* a semicolon may end the list */
        continue;
      if (!_memra_hazard_kind_is_known (kinds[i]))
        {
          g_autofree char *what = g_strdup_printf ("‘%s’ is no kind of hazard", kinds[i]);

          return fail (error, "Policy", "ForbidHazards", what);
        }
      memra_policy_forbid_hazard (policy, kinds[i]);
    }
  return TRUE;
}

static gboolean
read_policy_group (GKeyFile *file, MemraPolicy *policy, GError **error)
{
  g_auto (GStrv) keys = g_key_file_get_keys (file, "Policy", NULL, NULL);
  g_autoptr (GError) reason = NULL;
  gint version;

  if (keys == NULL)
    return fail (error, "Policy", NULL, "the group is missing; a policy file begins with it");
  for (gsize i = 0; keys[i] != NULL; i++)
    if (strcmp (keys[i], "Version") != 0 && strcmp (keys[i], "AllowEmpty") != 0
        && strcmp (keys[i], "ForbidHazards") != 0)
      return fail (error, "Policy", keys[i], "is not known; known are Version, AllowEmpty and ForbidHazards");

  version = g_key_file_get_integer (file, "Policy", "Version", &reason);
  if (reason != NULL)
    return fail (error, "Policy", "Version", "wants the number 1");
  if (version != 1)
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_VERSION,
                   "[Policy] Version: %d is not known; this library reads version 1", version);
      return FALSE;
    }
  if (g_key_file_has_key (file, "Policy", "AllowEmpty", NULL))
    {
      gboolean allow_empty = g_key_file_get_boolean (file, "Policy", "AllowEmpty", &reason);

      if (reason != NULL)
        return fail (error, "Policy", "AllowEmpty", "wants true or false");
      memra_policy_set_allow_empty (policy, allow_empty);
    }
  return read_hazards (file, policy, error);
}

/* Takes the line that `at` stands at, without spaces around it, and puts `at` behind it. */
static char *
take_line (const char **at, const char *end)
{
  const char *newline = memchr (*at, '\n', end - *at);
  char *line = g_strndup (*at, (newline != NULL ? newline : end) - *at);

  *at = newline != NULL ? newline + 1 : end;
  return g_strstrip (line);
}

/* What GKeyFile passes over in silence: a group or key that is there twice, of which it takes the last, and a key in
 * brackets, which it takes for a translation into another language. The text is one that it could read. */
static gboolean
check_lines (const char *text, gsize size, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autofree char *group = g_strdup ("");
  const char *at = text, *end = text + size;

  while (at < end)
    {
      g_autofree char *line = take_line (&at, end);
      char *equals = strchr (line, '=');

      if (*line == '[')
        {
          g_free (group);
          group = g_strndup (line + 1, strcspn (line + 1, "]"));
          if (!g_hash_table_add (seen, g_strdup_printf ("[%s]", group)))
            return fail (error, group, NULL, "the group is there twice");
        }
      else if (*line != '#' && equals != NULL)
        {
          *equals = '\0';
          g_strchomp (line);
          if (strpbrk (line, "[]") != NULL)
            return fail (error, group, line, "a key cannot have brackets; a pattern can have ? in their place");
          if (!g_hash_table_add (seen, g_strdup_printf ("[%s]%s", group, line)))
            return fail (error, group, line, "is there twice");
        }
    }
  return TRUE;
}

static guint
line_of (const char *text, const char *place)
{
  guint line = 1;

  for (; text < place; text++)
    line += *text == '\n';
  return line;
}

static gboolean
is_key_file (const char *text, gsize size)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();

  return g_key_file_load_from_data (file, text, size, G_KEY_FILE_NONE, NULL);
}

/* GKeyFile does not say in which line it stopped: the last of the fewest lines that it does not take. */
static guint
line_of_fault (const char *text, gsize size)
{
  g_autoptr (GArray) ends = g_array_new (FALSE, FALSE, sizeof (gsize));
  guint good = 0, bad;

  for (gsize i = 0; i < size; i++)
    if (text[i] == '\n' || i + 1 == size)
      {
        gsize end = i + 1;

        g_array_append_val (ends, end);
      }
  bad = ends->len;
  while (bad > good + 1)
    {
      guint middle = good + (bad - good) / 2;

      if (is_key_file (text, g_array_index (ends, gsize, middle - 1)))
        good = middle;
      else
        bad = middle;
    }
  return bad;
}

/**
 * memra_policy_new_from_data:
 * @text: a policy file's text, see memra-policy(5)
 * @length: bytes, or -1 if @text is zero-terminated
 * @error: return location for an error
 *
 * Reads a policy. What it does not understand is an error, never passed over, and so is a group or key that is there
 * twice.
 *
 * Errors: %MEMRA_CENSUS_ERROR_POLICY with the line, or with group and key; %MEMRA_CENSUS_ERROR_VERSION. Any thread.
 *
 * Returns: (transfer full): the policy
 *
 * Since: 0.1
 */
MemraPolicy *
memra_policy_new_from_data (const char *text, gssize length, GError **error)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autoptr (MemraPolicy) policy = memra_policy_new ();
  g_autoptr (GError) reason = NULL;
  g_auto (GStrv) groups = NULL;
  g_autofree char *message = NULL;
  const char *wrong;
  gsize size;

  g_return_val_if_fail (text != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  size = length < 0 ? strlen (text) : (gsize) length;
  if (!g_utf8_validate_len (text, size, &wrong))
    {
      g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_POLICY, "Line %u: the policy is not UTF-8 text",
                   line_of (text, wrong));
      return NULL;
    }
  if (!g_key_file_load_from_data (file, text, size, G_KEY_FILE_NONE, &reason))
    {
      message = g_strdup_printf ("Line %u: the policy is no key file: %s", line_of_fault (text, size), reason->message);
      _memra_census_set_error (error, MEMRA_CENSUS_ERROR_POLICY, message);
      return NULL;
    }
  if (!check_lines (text, size, error))
    return NULL;
  groups = g_key_file_get_groups (file, NULL);
  for (gsize i = 0; groups[i] != NULL; i++)
    if (strcmp (groups[i], "Policy") != 0 && strcmp (groups[i], "Nodes") != 0 && strcmp (groups[i], "Kernels") != 0)
      {
        fail (error, groups[i], NULL, "the group is not known; known are Policy, Nodes and Kernels");
        return NULL;
      }
  if (!read_policy_group (file, policy, error)
      || !read_counts (file, "Nodes", policy, memra_policy_set_node_count, error)
      || !read_counts (file, "Kernels", policy, memra_policy_set_kernel_count, error))
    return NULL;
  return g_steal_pointer (&policy);
}

/**
 * memra_policy_load:
 * @path: a policy file, see memra-policy(5)
 * @error: return location for an error
 *
 * Reads a policy from a file of at most 1 MiB, or from a pipe.
 *
 * Errors: those of memra_policy_new_from_data() with the path before the message, and %G_FILE_ERROR. Any thread.
 *
 * Returns: (transfer full): the policy
 *
 * Since: 0.1
 */
MemraPolicy *
memra_policy_load (const char *path, GError **error)
{
  g_autoptr (GString) text = NULL;
  g_autoptr (MemraPolicy) policy = NULL;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  text = _memra_read_file (path, POLICY_MAXIMUM_BYTES, MEMRA_CENSUS_ERROR_POLICY, error);
  if (text == NULL)
    return NULL;
  policy = memra_policy_new_from_data (text->str, (gssize) text->len, error);
  if (policy == NULL)
    {
      g_autofree char *name = g_filename_display_name (path);

      g_prefix_error (error, "%s: ", name);
    }
  return g_steal_pointer (&policy);
}
