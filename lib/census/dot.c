/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A picture of a graph that can be read, in Graphviz's language: a block that is repeated is drawn once, sections are
 * clusters, kernels go by their short names, hazards stand out.
 */
#include "config.h"

#include "census-private.h"

#include <string.h>

/* The longest block that is looked for, in nodes: a layer of a large engine. */
#define LONGEST_BLOCK 256

/* A run of nodes that is drawn once: `period` nodes from `first` on, `times` times. */
typedef struct
{
  guint32 first;
  guint32 period;
  guint32 times;
} Block;

typedef struct
{
  const MemraCensus *census;
  guint32 *tokens; /* owned: nodes with one token look the same */
  guint32 *shown;  /* owned: the node that stands for each node */
  GArray *blocks;  /* element-type Block */
  const char **warnings; /* owned: message of a node's first hazard, borrowed */
  GString *text;
} Picture;

/* "void (anonymous namespace)::gemm<float, 4>(float*)" becomes "gemm". */
static char *
shorten (const char *name)
{
  const char *end = name, *start;
  gint depth = 0;

  for (; *end != '\0'; end++)
    {
      if (*end == '(' && g_str_has_prefix (end, "(anonymous namespace)"))
        {
          end += strlen ("(anonymous namespace)") - 1;
          continue;
        }
      if (*end == '<' || *end == '(')
        break;
    }
  for (start = end; start > name && (depth > 0 || (start[-1] != ' ' && start[-1] != ':')); start--)
    depth += start[-1] == ')' ? 1 : start[-1] == '(' ? -1 : 0;
  if (start == end)
    return g_strdup (name);
  if (g_utf8_strlen (start, end - start) > 40)
    end = g_utf8_offset_to_pointer (start, 40);
  return g_strndup (start, end - start);
}

static void
append_escaped (GString *text, const char *string)
{
  for (; *string != '\0'; string++)
    {
      if (*string == '"' || *string == '\\')
        g_string_append_c (text, '\\');
      g_string_append_c (text, *string == '\n' ? ' ' : *string);
    }
}

/* What stands in a node's box. */
static char *
label_of (const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);

  if (node->record != MEMRA_NO_RECORD && node->type == MCU_NODE_KERNEL)
    {
      const MemraKernelNode *kernel = &census->kernels[node->record];
      g_autofree char *name = shorten (kernel->function->demangled);

      return g_strdup_printf ("%s\n%ux%ux%u, %ux%ux%u", name, kernel->grid.x, kernel->grid.y, kernel->grid.z, kernel->block.x,
                              kernel->block.y, kernel->block.z);
    }
  if (node->record != MEMRA_NO_RECORD && (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET))
    {
      const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, node->record);

      return g_strdup_printf ("%s\n%" G_GUINT64_FORMAT " bytes", _memra_copy_direction_to_string (copy->direction), copy->bytes);
    }
  return g_strdup (_memra_census_type_name ((MemraCensus *) census, node->type));
}

static void
tokenise (Picture *picture)
{
  g_autoptr (GHashTable) words = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint32 i = 0; i < picture->census->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (picture->census, i);
      g_autofree char *label = label_of (picture->census, i);
      char *word = g_strdup_printf ("%u/%u/%s/%s", node->type, node->depth, node->section != NULL ? node->section : "", label);
      gpointer number = g_hash_table_lookup (words, word);

      if (number == NULL)
        {
          number = GUINT_TO_POINTER (g_hash_table_size (words) + 1);
          g_hash_table_insert (words, word, number);
        }
      else
        g_free (word);
      picture->tokens[i] = GPOINTER_TO_UINT (number);
    }
}

static guint32
count_repeats (const guint32 *tokens, guint32 left, guint32 period)
{
  guint32 times = 1;

  while ((times + 1) * period <= left && memcmp (tokens, tokens + times * period, period * sizeof *tokens) == 0)
    times++;
  return times;
}

/* Left to right: at each place the block that covers most, the shortest of those. */
static void
fold (Picture *picture)
{
  guint32 n = picture->census->nodes->len;

  for (guint32 at = 0; at < n;)
    {
      Block best = { at, 1, 1 };

      for (guint32 period = 1; period <= LONGEST_BLOCK && 2 * period <= n - at; period++)
        {
          guint32 times;

          if (picture->tokens[at] != picture->tokens[at + period])
            continue;
          times = count_repeats (picture->tokens + at, n - at, period);
          if (times >= 2 && times * period > best.times * best.period)
            best = (Block){ at, period, times };
        }
      for (guint32 i = 0; i < best.times * best.period; i++)
        picture->shown[at + i] = at + i % best.period;
      g_array_append_val (picture->blocks, best);
      at += best.times * best.period;
    }
}

static void
draw_node (Picture *picture, guint32 number, const char *indent)
{
  const MemraNode *node = _memra_census_node (picture->census, number);
  g_autofree char *label = label_of (picture->census, number);
  g_auto (GStrv) lines = g_strsplit (label, "\n", -1);

  g_string_append_printf (picture->text, "%sn%u [label=\"", indent, number);
  for (gsize i = 0; lines[i] != NULL; i++)
    {
      g_string_append (picture->text, i > 0 ? "\\n" : "");
      append_escaped (picture->text, lines[i]);
    }
  g_string_append_c (picture->text, '"');
  if (node->type != MCU_NODE_KERNEL)
    g_string_append (picture->text, ", style=\"rounded,filled\", fillcolor=\"#eeeeee\"");
  if (picture->warnings[number] != NULL)
    {
      g_string_append (picture->text, ", color=\"#cc0000\", penwidth=2, xlabel=\"!\", tooltip=\"");
      append_escaped (picture->text, picture->warnings[number]);
      g_string_append_c (picture->text, '"');
    }
  g_string_append (picture->text, "];\n");
}

/* The nodes of a block, those of one section after another in a cluster. */
static void
draw_block (Picture *picture, const Block *block, guint *n_clusters)
{
  const char *section = NULL;
  gboolean open = FALSE;

  if (block->times > 1)
    g_string_append_printf (picture->text, "  subgraph cluster_%u {\n    label=\"%u times\";\n    style=dashed;\n", (*n_clusters)++,
                            block->times);
  for (guint32 i = 0; i < block->period; i++)
    {
      const char *here = _memra_census_node (picture->census, block->first + i)->section;

      if (open && g_strcmp0 (here, section) != 0)
        {
          g_string_append (picture->text, "    }\n");
          open = FALSE;
        }
      if (!open && here != NULL)
        {
          g_string_append_printf (picture->text, "    subgraph cluster_%u {\n      label=\"", (*n_clusters)++);
          append_escaped (picture->text, here);
          g_string_append (picture->text, "\";\n      style=solid;\n");
          open = TRUE;
        }
      section = here;
      draw_node (picture, block->first + i, open ? "      " : "    ");
    }
  if (open)
    g_string_append (picture->text, "    }\n");
  if (block->times > 1)
    g_string_append (picture->text, "  }\n");
}

static void
draw_edges (Picture *picture)
{
  g_autoptr (GHashTable) drawn = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);

  for (guint i = 0; i < picture->census->edges->len; i++)
    {
      const MemraEdge *edge = &g_array_index (picture->census->edges, MemraEdge, i);
      guint64 key = (guint64) picture->shown[edge->from] << 32 | picture->shown[edge->to];

      /* From one repetition to the next: an edge back to the block's beginning, which says just that. */
      if (!g_hash_table_add (drawn, g_memdup2 (&key, sizeof key)))
        continue;
      g_string_append_printf (picture->text, "  n%u -> n%u%s;\n", picture->shown[edge->from], picture->shown[edge->to],
                              edge->type != MCU_EDGE_DEFAULT                              ? " [style=dotted, label=\"programmatic\"]"
                              : picture->shown[edge->from] >= picture->shown[edge->to] ? " [constraint=false, color=\"#888888\"]"
                                                                                         : "");
    }
}

/**
 * memra_census_to_dot:
 * @census: a census
 *
 * Writes a picture of the graph in Graphviz's DOT language. A block of nodes that is repeated is drawn once, with the
 * number of times; sections are clusters; kernels carry their short names and geometry; nodes with a hazard are red and
 * carry its sentence as a tooltip. Any thread; makes no driver call.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
char *
memra_census_to_dot (const MemraCensus *census)
{
  Picture picture = { .census = census };
  guint n_clusters = 0;

  g_return_val_if_fail (census != NULL, NULL);

  picture.tokens = g_new0 (guint32, census->nodes->len + 1);
  picture.shown = g_new0 (guint32, census->nodes->len + 1);
  picture.warnings = g_new0 (const char *, census->nodes->len + 1);
  picture.blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  picture.text = g_string_new (NULL);
  for (guint i = 0; i < census->hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (census->hazards, MemraHazard, i);

      if (hazard->node < census->nodes->len && picture.warnings[hazard->node] == NULL)
        picture.warnings[hazard->node] = hazard->message;
    }
  tokenise (&picture);
  fold (&picture);

  g_string_append_printf (picture.text,
                          "digraph memra {\n  label=\"layer %u: %u nodes\";\n  labelloc=t;\n  fontname=\"sans-serif\";\n"
                          "  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge [arrowsize=0.6];\n",
                          census->layer, census->nodes->len);
  for (guint i = 0; i < picture.blocks->len; i++)
    draw_block (&picture, &g_array_index (picture.blocks, Block, i), &n_clusters);
  draw_edges (&picture);
  g_string_append (picture.text, "}\n");

  g_free (picture.tokens);
  g_free (picture.shown);
  g_free (picture.warnings);
  g_array_unref (picture.blocks);
  return g_string_free (picture.text, FALSE);
}
