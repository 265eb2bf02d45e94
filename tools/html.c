/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing HTML. */
#include "config.h"

#include "html.h"
#include "tool-private.h"

#include <stdarg.h>
#include <string.h>

static void
put_text (GString *page, const char *text)
{
  g_autofree char *visible = tool_text_dup_visible (text);

  for (const char *p = visible; *p != '\0'; p++)
    switch (*p)
      {
      case '&':
        g_string_append (page, "&amp;");
        break;
      case '<':
        g_string_append (page, "&lt;");
        break;
      case '>':
        g_string_append (page, "&gt;");
        break;
      case '"':
        g_string_append (page, "&quot;");
        break;
      case '\'':
        g_string_append (page, "&#39;");
        break;
      default:
        g_string_append_c (page, *p);
        break;
      }
}

void
tool_html (GString *page, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  for (const char *p = format; *p != '\0'; p++)
    if (*p != '%')
      g_string_append_c (page, *p);
    else if (*++p == 's')
      put_text (page, va_arg (arguments, const char *));
    else if (*p == 'u')
      g_string_append_printf (page, "%u", va_arg (arguments, guint));
    else if (*p == 'd')
      g_string_append_printf (page, "%d", va_arg (arguments, gint));
    else if (*p == 'l' && p[1] == 'u')
      {
        g_string_append_printf (page, "%lu", va_arg (arguments, gulong));
        p++;
      }
    else if (*p == '%')
      g_string_append_c (page, '%');
    else
      g_assert_not_reached ();
  va_end (arguments);
}

void
tool_html_number (GString *page, guint64 number)
{
  g_autofree char *digits = g_strdup_printf ("%" G_GUINT64_FORMAT, number);
  gsize left = strlen (digits);

  for (const char *p = digits; *p != '\0'; p++, left--)
    {
      if (p > digits && left % 3 == 0)
        g_string_append_c (page, ',');
      g_string_append_c (page, *p);
    }
}

/* Behind an id of the tag that `p` is in, or NULL if it does not begin here. */
static const char *
skip_id (const char *p)
{
  const char *end;

  if (!g_str_has_prefix (p, " id=\""))
    return NULL;
  end = strchr (p + strlen (" id=\""), '"');
  return end != NULL ? end + 1 : NULL;
}

/* Behind a comment or a title, which only repeat what nodes are called in Graphviz's language; NULL: there is none. */
static const char *
skip_noise (const char *p)
{
  static const char *const begins[] = { "<!--", "<title>" }, *const ends[] = { "-->", "</title>" };

  for (gsize i = 0; i < G_N_ELEMENTS (begins); i++)
    if (g_str_has_prefix (p, begins[i]))
      {
        const char *end = strstr (p, ends[i]);

        return end != NULL ? end + strlen (ends[i]) : NULL;
      }
  return NULL;
}

void
tool_html_svg (GString *page, const char *svg)
{
  g_autofree char *valid = g_utf8_make_valid (svg, -1);
  const char *p = strstr (valid, "<svg");
  gboolean in_tag = FALSE;

  while (p != NULL && *p != '\0')
    {
      const char *behind = in_tag ? skip_id (p) : skip_noise (p);

      if (behind != NULL)
        {
          p = behind;
          continue;
        }
      in_tag = *p == '<' || (in_tag && *p != '>');
      g_string_append_c (page, *p++);
    }
}
