/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that come from graphs and files of others. */
#include "config.h"

#include "tool-private.h"

#include <string.h>

/* What turns the direction of writing makes a name look like another one. */
static gboolean
turns_around (gunichar c)
{
  return c == 0x200e || c == 0x200f || c == 0x061c || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

char *
tool_text_dup_visible (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autoptr (GString) visible = g_string_sized_new (strlen (valid));

  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c == '\n' || c == '\t' || (!g_unichar_iscntrl (c) && !turns_around (c)))
        g_string_append_unichar (visible, c);
      else
        g_string_append_printf (visible, "\\x%02x", c);
    }
  return g_string_free (g_steal_pointer (&visible), FALSE);
}

/* Behind what stands between two brackets, from the first on; the end of the text where nothing closes it. */
static const char *
skip_brackets (const char *p)
{
  const char open = *p, close = open == '<' ? '>' : open == '{' ? '}' : ')';
  guint depth = 0;

  for (; *p != '\0'; p++)
    if (*p == open)
      depth++;
    else if (*p == close && !(close == '>' && p[-1] == '-') && --depth == 0) /* no arrow */
      return p + 1;
  return p;
}

/* Behind "operator<<" and the like, whose brackets are part of the name; `p` where there is none. */
static const char *
skip_operator (const char *p)
{
  const gsize length = strlen ("operator");

  if (!g_str_has_prefix (p, "operator") || g_ascii_isalnum (p[length]) || p[length] == '_')
    return p;
  p += length;
  return g_str_has_prefix (p, "()") ? p + 2 : p + strspn (p, "<>=!+-*/%^&|~[]");
}

/* Where the last part of a qualified name begins and ends, without its template arguments and parameters. */
static void
find_last_part (const char *name, const char **start, const char **end)
{
  const char *p = name;

  *start = name;
  *end = NULL;
  while (*p != '\0')
    {
      const char *behind = p == *start ? skip_operator (p) : p;

      if (behind != p)
        p = *end = behind;
      else if (*p == '<' || *p == '{')
        {
          *end = *end != NULL ? *end : p;
          p = skip_brackets (p);
        }
      else if (*p == '(')
        {
          behind = skip_brackets (p);
          if (p > *start && !g_str_has_prefix (behind, "::"))
            break; /* the parameters, not "(anonymous namespace)::" */
          p = behind;
        }
      else if (*p == ':' || *p == ' ')
        {
          *start = ++p;
          *end = NULL;
        }
      else
        p++;
    }
  if (*end == NULL)
    *end = p;
}

char *
tool_text_dup_short_name (const char *name, glong longest)
{
  g_autofree char *valid = g_utf8_make_valid (name, -1);
  const char *start, *end;

  find_last_part (valid, &start, &end);
  if (start == end) /* there is nothing but brackets */
    {
      start = valid;
      end = valid + strlen (valid);
    }
  if (g_utf8_strlen (start, end - start) > longest)
    {
      g_autofree char *cut = g_utf8_substring (start, 0, longest - 2);

      return g_strconcat (cut, "..", NULL);
    }
  return g_strndup (start, (gsize) (end - start));
}
