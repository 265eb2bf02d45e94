/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nodes are called in a picture. */
#include "config.h"

#include "dot-private.h"

#include <string.h>

#define LONGEST_NAME 40

/* What stands between two brackets, from the first on; the end of the text where nothing closes it. */
static const char *
skip_brackets (const char *p)
{
  const char open = *p, close = open == '<' ? '>' : open == '{' ? '}' : ')';
  gint depth = 0;

  for (; *p != '\0'; p++)
    {
      depth += *p == open ? 1 : *p == close && !(close == '>' && p[-1] == '-') ? -1 : 0;
      if (depth == 0)
        return p + 1;
    }
  return p;
}

/* Behind "operator<<" and the like, whose brackets are part of the name. */
static const char *
skip_operator (const char *p)
{
  p += strlen ("operator");
  if (g_str_has_prefix (p, "()"))
    return p + 2;
  return p + strspn (p, "<>=!+-*/%^&|~[]");
}

/* "std::enable_if<true>::type (anonymous namespace)::gemm<float, 4>(float*)" becomes "gemm". */
static char *
shorten (const char *name)
{
  const char *start = name, *end = NULL, *p = name;

  while (*p != '\0')
    if (p == start && g_str_has_prefix (p, "operator") && !g_ascii_isalnum (p[8]) && p[8] != '_')
      p = end = skip_operator (p);
    else if (*p == '<' || *p == '{')
      {
        end = end != NULL && end >= start ? end : p;
        p = skip_brackets (p);
      }
    else if (*p == '(')
      {
        const char *behind = skip_brackets (p);

        if (p > start && !g_str_has_prefix (behind, "::"))
          break; /* the parameters */
        p = behind;
      }
    else if (*p == ':' || *p == ' ')
      {
        start = ++p;
        end = NULL;
      }
    else
      p++;
  if (end == NULL || end < start)
    end = p;
  if (end == start)
    return g_strdup (name);
  if (g_utf8_strlen (start, end - start) > LONGEST_NAME)
    {
      g_autofree char *cut = g_utf8_substring (start, 0, LONGEST_NAME - 2);

      return g_strconcat (cut, "..", NULL);
    }
  return g_strndup (start, end - start);
}

/* "64", "64x8" or "64x8x2" */
static char *
dup_dim3 (MemraDim3 dim)
{
  if (dim.z != 1)
    return g_strdup_printf ("%ux%ux%u", dim.x, dim.y, dim.z);
  return dim.y != 1 ? g_strdup_printf ("%ux%u", dim.x, dim.y) : g_strdup_printf ("%u", dim.x);
}

char *
_memra_dot_dup_label (const MemraCensus *census, guint32 number, char **below)
{
  const MemraNode *node = _memra_census_node (census, number);

  *below = NULL;
  if (node->record != MEMRA_NO_RECORD && node->type == MCU_NODE_KERNEL)
    {
      const MemraKernelNode *kernel = &census->kernels[node->record];
      g_autofree char *grid = dup_dim3 (kernel->grid);
      g_autofree char *block = dup_dim3 (kernel->block);

      *below = g_strdup_printf ("grid %s, block %s", grid, block);
      return shorten (kernel->function->demangled);
    }
  if (node->record != MEMRA_NO_RECORD && (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET))
    {
      const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, node->record);

      *below = g_strdup_printf ("%" G_GUINT64_FORMAT " bytes", copy->bytes);
      return g_strdup (_memra_copy_direction_to_string (copy->direction));
    }
  if (node->record != MEMRA_NO_RECORD && node->type == MCU_NODE_MEM_ALLOC)
    *below = g_strdup_printf ("%" G_GUINT64_FORMAT " bytes",
                              g_array_index (census->details, MemraDetail, node->record).bytes);
  return _memra_type_dup_name (node->type);
}

void
_memra_dot_append_escaped (GString *text, const char *string)
{
  for (const char *p = string; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);

      if (c == '"' || c == '\\')
        g_string_append_c (text, '\\');
      if (g_unichar_iscntrl (c))
        g_string_append (text, c == '\n' || c == '\t' ? " " : "\357\277\275");
      else
        g_string_append_unichar (text, c);
    }
}
