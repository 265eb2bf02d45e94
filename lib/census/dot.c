/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A picture of a graph that can be read, in Graphviz's language: a block that is repeated is drawn once, sections and
 * what is inside a node are boxes around nodes, kernels go by their short names, hazards stand out.
 */
#include "config.h"

#include "dot-private.h"

#include <string.h>

/* The longest block that is looked for, in nodes at its level: a layer of a large engine. */
#define LONGEST_BLOCK 256

typedef struct _Block Block;

/* A run that is drawn once: `length` nodes from `first` on, `times` times. */
struct _Block
{
  guint32 first;
  guint32 length;
  guint32 times;
  gboolean in_a_row; /* one repetition follows another; else they stand side by side */
  GPtrArray *parts;  /* owned, nullable: Block, what one repetition is made of; NULL: it is one node */
  GPtrArray *bodies; /* owned, nullable: GPtrArray of Block: what is inside that node */
};

typedef struct
{
  const MemraCensus *census;
  guint32 *tokens;      /* owned: nodes with one token look the same */
  guint32 *shown;       /* owned: the node that stands for each node */
  guint32 *first_edge;  /* owned: edges into node i are those from first_edge[i] to first_edge[i + 1] - 1 */
  GString **warnings;   /* owned, nullable: of each node that stands for others, the kinds of all their hazards */
  const char **reasons; /* owned array: message of the first of them, borrowed */
  GHashTable *drawn;    /* owned: pairs of nodes whose edge is drawn, or goes without saying */
  guint n_clusters;
  GString *text;
} Picture;

static GPtrArray *fold (Picture *picture, guint32 begin, guint32 end);

static void
block_free (gpointer data)
{
  Block *block = data;

  g_clear_pointer (&block->parts, g_ptr_array_unref);
  g_clear_pointer (&block->bodies, g_ptr_array_unref);
  g_free (block);
}

static void
tokenise (Picture *picture)
{
  g_autoptr (GHashTable) words = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint32 i = 0; i < picture->census->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (picture->census, i);
      g_autofree char *below = NULL;
      g_autofree char *label = _memra_dot_dup_label (picture->census, i, &below);
      char *word = g_strdup_printf ("%u/%u/%s/%s/%s", node->type, node->depth,
                                    node->section != NULL ? node->section : "", label, below != NULL ? below : "");
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

/* ---- Folding ---- */

static guint32
count_repeats (const guint32 *tokens, guint32 left, guint32 length)
{
  guint32 times = 1;

  while (((gsize) times + 1) * length <= left
         && memcmp (tokens, tokens + (gsize) times * length, length * sizeof *tokens) == 0)
    times++;
  return times;
}

/* Whether one repetition follows another. */
static gboolean
is_in_a_row (const Picture *picture, const Block *block)
{
  const guint32 end = block->first + block->length * block->times;

  for (guint32 i = picture->first_edge[block->first + block->length]; i < picture->first_edge[end]; i++)
    {
      const MemraEdge *edge = &g_array_index (picture->census->edges, MemraEdge, i);

      if (edge->from >= block->first
          && (edge->from - block->first) / block->length != (edge->to - block->first) / block->length)
        return TRUE;
    }
  return FALSE;
}

/* What is inside a node, each body by itself. */
static GPtrArray *
fold_bodies (Picture *picture, guint32 number, guint32 end)
{
  const MemraNode *node = _memra_census_node (picture->census, number);
  GPtrArray *bodies = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  guint32 at = number + 1;

  if (node->record != MEMRA_NO_RECORD)
    {
      const MemraDetail *detail = &g_array_index (picture->census->details, MemraDetail, node->record);

      for (guint i = 0; i < detail->n_bodies && detail->bodies[i] <= end - at; i++)
        {
          g_ptr_array_add (bodies, fold (picture, at, at + detail->bodies[i]));
          at += detail->bodies[i];
        }
    }
  if (at < end)
    g_ptr_array_add (bodies, fold (picture, at, end));
  return bodies;
}

/* Makes a block, and says for each of its nodes which one is shown. */
static Block *
block_new (Picture *picture, const Block *found, gboolean is_one_node)
{
  Block *block = g_memdup2 (found, sizeof *found);

  if (!is_one_node)
    block->parts = fold (picture, block->first, block->first + block->length);
  else
    {
      picture->shown[block->first] = block->first;
      if (block->length > 1)
        block->bodies = fold_bodies (picture, block->first, block->first + block->length);
    }
  for (guint32 i = block->length; i < block->length * block->times; i++)
    picture->shown[block->first + i] = picture->shown[block->first + i % block->length];
  block->in_a_row = block->times > 1 && is_in_a_row (picture, block);
  return block;
}

/* The nodes from `begin` to `end` - 1, which are of one level but for what is inside of them. Left to right: at each
 * place the block that covers most, the shortest of those. (transfer full) (element-type Block) */
static GPtrArray *
fold (Picture *picture, guint32 begin, guint32 end)
{
  const guint32 *tokens = picture->tokens;
  GPtrArray *blocks = g_ptr_array_new_with_free_func (block_free);
  g_autoptr (GArray) starts = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint32 depth = begin < end ? _memra_census_node (picture->census, begin)->depth : 0;

  for (guint32 i = begin; i < end; i++)
    if (i == begin || _memra_census_node (picture->census, i)->depth <= depth)
      g_array_append_val (starts, i);
  g_array_append_val (starts, end);

  for (guint at = 0; at + 1 < starts->len;)
    {
      const guint32 first = g_array_index (starts, guint32, at);
      Block best = { first, g_array_index (starts, guint32, at + 1) - first, 1, FALSE, NULL, NULL };
      guint items = 1;

      for (guint period = 1; period <= LONGEST_BLOCK && at + period + 1 < starts->len; period++)
        {
          guint32 length = g_array_index (starts, guint32, at + period) - first, times;

          if (2 * (gsize) length > end - first || tokens[first] != tokens[first + length])
            continue;
          times = count_repeats (tokens + first, end - first, length);
          if (times >= 2 && (gsize) times * length > (gsize) best.times * best.length)
            {
              best.length = length;
              best.times = times;
              items = period;
            }
        }
      g_ptr_array_add (blocks, block_new (picture, &best, items == 1));
      at += items * best.times;
    }
  return blocks;
}

/* ---- Drawing ---- */

static void
indent (Picture *picture, guint level)
{
  g_string_append_printf (picture->text, "%*s", (int) (2 * level), "");
}

static void
open_cluster (Picture *picture, guint level, const char *label, const char *style)
{
  indent (picture, level);
  g_string_append_printf (picture->text, "subgraph cluster_%u {\n", picture->n_clusters++);
  indent (picture, level + 1);
  g_string_append (picture->text, "label=\"");
  _memra_dot_append_escaped (picture->text, label);
  g_string_append_printf (picture->text, "\";\n");
  indent (picture, level + 1);
  g_string_append_printf (picture->text, "%s;\n", style);
}

static void
close_cluster (Picture *picture, guint level)
{
  indent (picture, level);
  g_string_append (picture->text, "}\n");
}

static void
append_tooltip (Picture *picture, guint32 number)
{
  const MemraNode *node = _memra_census_node (picture->census, number);
  g_autofree char *name = _memra_census_name_node (picture->census, number);

  g_string_append (picture->text, ", tooltip=\"");
  _memra_dot_append_escaped (picture->text, picture->reasons[number] != NULL ? picture->reasons[number]
                                            : node->type == MCU_NODE_KERNEL && node->record != MEMRA_NO_RECORD
                                                ? picture->census->kernels[node->record].function->demangled
                                                : name);
  g_string_append_c (picture->text, '"');
}

static void
draw_node (Picture *picture, const Block *block, guint level)
{
  const guint32 number = block->first;
  const GString *warning = picture->warnings[number];
  const gboolean is_kernel = _memra_census_node (picture->census, number)->type == MCU_NODE_KERNEL;
  g_autofree char *below = NULL;
  g_autofree char *label = _memra_dot_dup_label (picture->census, number, &below);

  indent (picture, level);
  g_string_append_printf (picture->text, "n%u [label=\"", number);
  _memra_dot_append_escaped (picture->text, label);
  if (block->times > 1)
    g_string_append_printf (picture->text, " \303\227 %u%s", block->times, block->in_a_row ? "" : " in parallel");
  if (below != NULL)
    {
      g_string_append (picture->text, "\\n");
      _memra_dot_append_escaped (picture->text, below);
    }
  if (warning != NULL)
    {
      g_string_append (picture->text, "\\n! ");
      _memra_dot_append_escaped (picture->text, warning->str);
    }
  g_string_append_c (picture->text, '"');
  if (warning != NULL)
    g_string_append_printf (
        picture->text,
        ", style=\"%sfilled\", fillcolor=\"#ffe5e5\", color=\"#cc0000\", fontcolor=\"#990000\", penwidth=2",
        is_kernel ? "" : "rounded,");
  else if (!is_kernel)
    g_string_append (picture->text, ", style=\"rounded,filled\", fillcolor=\"#eeeeee\"");
  append_tooltip (picture, number);
  g_string_append (picture->text, "];\n");
}

static void draw_blocks (Picture *picture, const GPtrArray *blocks, const char *section, guint level);

static const Block *
block_at (const GPtrArray *blocks, guint i)
{
  return g_ptr_array_index (blocks, i);
}

/* From a node to what stands first inside of it. */
static void
draw_entries (Picture *picture, guint32 number, guint32 end, guint level)
{
  const guint32 depth = _memra_census_node (picture->census, number)->depth + 1;

  for (guint32 i = number + 1; i < end; i++)
    if (_memra_census_node (picture->census, i)->depth == depth && picture->first_edge[i] == picture->first_edge[i + 1]
        && picture->shown[i] == i)
      {
        indent (picture, level);
        g_string_append_printf (picture->text, "n%u -> n%u [style=dashed, color=\"#888888\"];\n", number, i);
      }
}

/* A node with what is inside of it. */
static void
draw_container (Picture *picture, const Block *block, const char *section, guint level)
{
  open_cluster (picture, level, "", "style=\"rounded\"; color=\"#888888\"");
  draw_node (picture, block, level + 1);
  for (guint i = 0; i < block->bodies->len; i++)
    {
      const GPtrArray *body = g_ptr_array_index (block->bodies, i);
      g_autofree char *label = g_strdup_printf ("body %u", i);

      if (block->bodies->len > 1)
        open_cluster (picture, level + 1, label, "style=\"rounded\"; color=\"#888888\"");
      draw_blocks (picture, body, section, level + (block->bodies->len > 1 ? 2 : 1));
      if (block->bodies->len > 1)
        close_cluster (picture, level + 1);
    }
  draw_entries (picture, block->first, block->first + block->length, level + 1);
  close_cluster (picture, level);
}

static void
draw_block (Picture *picture, const Block *block, const char *section, guint level)
{
  g_autofree char *label = NULL;

  if (block->parts == NULL)
    {
      if (block->bodies != NULL)
        draw_container (picture, block, section, level);
      else
        draw_node (picture, block, level);
      return;
    }
  label = g_strdup_printf ("%u times, %s", block->times, block->in_a_row ? "in a row" : "in parallel");
  open_cluster (picture, level, label, "style=dashed");
  draw_blocks (picture, block->parts, section, level + 1);
  close_cluster (picture, level);
}

/* The section that all of a block is in; FALSE if there are several. */
static gboolean
get_section (const Picture *picture, const Block *block, const char **section)
{
  *section = _memra_census_node (picture->census, block->first)->section;
  for (guint32 i = 1; i < block->length; i++)
    if (g_strcmp0 (*section, _memra_census_node (picture->census, block->first + i)->section) != 0)
      {
        *section = NULL;
        return FALSE;
      }
  return TRUE;
}

/* Blocks of one section behind each other stand in one box, unless that is around them already. */
static void
draw_blocks (Picture *picture, const GPtrArray *blocks, const char *section, guint level)
{
  for (guint i = 0, end; i < blocks->len; i = end)
    {
      const char *here, *next;
      gboolean boxed
          = get_section (picture, block_at (blocks, i), &here) && here != NULL && g_strcmp0 (here, section) != 0;

      end = i + 1;
      if (!boxed)
        {
          draw_block (picture, block_at (blocks, i), section, level);
          continue;
        }
      while (end < blocks->len && get_section (picture, block_at (blocks, end), &next) && g_strcmp0 (next, here) == 0)
        end++;
      open_cluster (picture, level, here, "style=solid; bgcolor=\"#f7f9fc\"; color=\"#aabbcc\"");
      for (guint k = i; k < end; k++)
        draw_block (picture, block_at (blocks, k), here, level + 1);
      close_cluster (picture, level);
    }
}

static gboolean
note_edge (Picture *picture, guint32 from, guint32 to)
{
  guint64 key = (guint64) from << 32 | to;

  return g_hash_table_add (picture->drawn, g_memdup2 (&key, sizeof key));
}

/* That the end of one repetition leads to the beginning of the next is what "in a row" says. */
static void
note_rows (Picture *picture, const GPtrArray *blocks)
{
  for (guint i = 0; i < blocks->len; i++)
    {
      const Block *block = block_at (blocks, i);

      if (block->in_a_row)
        note_edge (picture, picture->shown[block->first + block->length - 1], picture->shown[block->first]);
      if (block->parts != NULL)
        note_rows (picture, block->parts);
      for (guint k = 0; block->bodies != NULL && k < block->bodies->len; k++)
        note_rows (picture, g_ptr_array_index (block->bodies, k));
    }
}

static void
draw_edges (Picture *picture)
{
  for (guint i = 0; i < picture->census->edges->len; i++)
    {
      const MemraEdge *edge = &g_array_index (picture->census->edges, MemraEdge, i);
      guint32 from = picture->shown[edge->from], to = picture->shown[edge->to];

      if (from == to || !note_edge (picture, from, to))
        continue;
      /* Against the order: into the next repetition, but neither from its end nor to its beginning. */
      g_string_append_printf (picture->text, "  n%u -> n%u%s;\n", from, to,
                              edge->type != MCU_EDGE_DEFAULT
                                  ? " [style=dotted, color=\"#2255bb\", fontcolor=\"#2255bb\", label=\"programmatic\"]"
                              : from > to ? " [constraint=false, style=dashed, color=\"#888888\"]"
                                          : "");
    }
}

/* A hazard of a node that is not shown is one of the node that stands for it. */
static void
gather_warnings (Picture *picture)
{
  for (guint i = 0; i < picture->census->hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (picture->census->hazards, MemraHazard, i);
      guint32 number;

      if (hazard->node >= picture->census->nodes->len)
        continue;
      number = picture->shown[hazard->node];
      if (picture->warnings[number] == NULL)
        {
          picture->warnings[number] = g_string_new (hazard->kind);
          picture->reasons[number] = hazard->message;
        }
      else if (strstr (picture->warnings[number]->str, hazard->kind) == NULL)
        g_string_append_printf (picture->warnings[number], ", %s", hazard->kind);
    }
}

static void
picture_init (Picture *picture, const MemraCensus *census)
{
  const guint32 n = census->nodes->len;
  guint at = 0;

  *picture = (Picture){ .census = census };
  picture->tokens = g_new0 (guint32, n + 1);
  picture->shown = g_new0 (guint32, n + 1);
  picture->first_edge = g_new (guint32, n + 2);
  picture->warnings = g_new0 (GString *, n + 1);
  picture->reasons = g_new0 (const char *, n + 1);
  picture->drawn = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  picture->text = g_string_new (NULL);
  for (guint32 i = 0; i <= n; i++)
    {
      while (at < census->edges->len && g_array_index (census->edges, MemraEdge, at).to < i)
        at++;
      picture->first_edge[i] = at;
    }
}

/* Gives the text back. */
static char *
picture_finish (Picture *picture)
{
  for (guint32 i = 0; i < picture->census->nodes->len; i++)
    if (picture->warnings[i] != NULL)
      g_string_free (picture->warnings[i], TRUE);
  g_free (picture->tokens);
  g_free (picture->shown);
  g_free (picture->first_edge);
  g_free (picture->warnings);
  g_free (picture->reasons);
  g_hash_table_unref (picture->drawn);
  return g_string_free (picture->text, FALSE);
}

/**
 * memra_census_to_dot:
 * @census: a census
 *
 * Writes a picture of the graph in Graphviz's DOT language. A block of nodes that is repeated is drawn once, with the
 * number of times, and whether the repetitions follow each other; sections, child graphs and bodies of conditional
 * nodes are boxes; kernels carry their short names and geometry, and their full names as tooltips; nodes with a hazard
 * are red, say which, and carry its sentence as a tooltip. Any thread; makes no driver call.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
char *
memra_census_to_dot (const MemraCensus *census)
{
  g_autoptr (GPtrArray) blocks = NULL;
  Picture picture;

  g_return_val_if_fail (census != NULL, NULL);

  picture_init (&picture, census);
  tokenise (&picture);
  blocks = fold (&picture, 0, census->nodes->len);
  gather_warnings (&picture);
  note_rows (&picture, blocks);

  g_string_append_printf (picture.text,
                          "digraph memra {\n"
                          "  label=\"layer %u: %u node%s\";\n"
                          "  labelloc=t;\n"
                          "  labeljust=l;\n"
                          "  fontname=\"sans-serif\";\n"
                          "  fontsize=11;\n"
                          "  nodesep=0.3;\n"
                          "  ranksep=0.25;\n"
                          "  node [shape=box, fontname=\"sans-serif\", fontsize=10, height=0.4];\n"
                          "  edge [arrowsize=0.6, fontname=\"sans-serif\", fontsize=8];\n",
                          census->layer, census->nodes->len, census->nodes->len == 1 ? "" : "s");
  draw_blocks (&picture, blocks, NULL, 1);
  draw_edges (&picture);
  g_string_append (picture.text, "}\n");
  return picture_finish (&picture);
}
