/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two graphs: nodes are aligned, and what has no partner, moved or differs is told. */
#include "config.h"

#include "census/align.h"
#include "census/diff-graph-private.h"

#include <string.h>

/* How many edges are followed to find what a node follows, past those that only one graph has. */
#define MOST_VISITS 1000

typedef struct
{
  MemraDiffGraph a, b;
  gboolean by_type; /* one of them is partial: kernels have no names */
  guint32 n_questions;
  MemraPairing pairing;
  GString *scratch; /* owned */
  MemraCensusDiff *diff;
} Comparison;

static void
entry_clear (gpointer item)
{
  MemraDiffEntry *entry = item;

  g_free (entry->subject);
  g_free (entry->shown);
  g_free (entry->what);
  g_free (entry->message);
}

static const char *
get_shown (const MemraCensus *census, guint32 number, const char *subject)
{
  const MemraNode *node = _memra_census_node (census, number);

  return node->type == MCU_NODE_KERNEL && node->record != MEMRA_NO_RECORD
             ? census->kernels[node->record].function->demangled
             : subject;
}

/* Consumes `what`. `how` is what a move adds to its verb. */
static void
add_entry (Comparison *comparison, MemraChange change, guint32 a, guint32 b, const char *how, char *what)
{
  static const char *const verbs[] = { "added", "removed", "moved", "changed" };
  const MemraCensus *census = a != MEMRA_NO_NODE ? comparison->a.census : comparison->b.census;
  guint32 number = a != MEMRA_NO_NODE ? a : b;
  MemraDiffEntry entry = { .change = change, .a = a, .b = b, .what = what };
  g_autofree char *name = _memra_census_name_node (census, number);
  g_autofree char *made = NULL;

  entry.subject = g_strdup (_memra_diff_subject (census, number, comparison->by_type, &made));
  entry.shown = g_strdup (get_shown (census, number, entry.subject));
  entry.message = g_strdup_printf ("%s %s%s%s%s%s", name, verbs[change], how != NULL ? " " : "", how != NULL ? how : "",
                                   what != NULL ? ": " : "", what != NULL ? what : "");
  g_array_append_val (comparison->diff->entries, entry);
}

static void
append (GString *text, const char *what)
{
  g_string_append_printf (text, "%s%s", text->len > 0 ? "; " : "", what);
}

static void
compare_hazards (const Comparison *comparison, guint32 a, guint32 b, GString *what)
{
  const char *before = _memra_diff_graph_get_hazards (&comparison->a, a),
             *after = _memra_diff_graph_get_hazards (&comparison->b, b);
  g_autofree char *text = NULL;

  if (strcmp (before, after) == 0)
    return;
  text = g_strdup_printf ("hazards %s -> %s", before, after);
  append (what, text);
}

/* The nodes of both graphs that `node` follows, as numbers of b: where it follows one of its own graph alone, those
 * that this one follows take its place. FALSE: there are too many to say. */
static gboolean
list_followed (Comparison *comparison, MemraDiffGraph *graph, guint32 node, GArray *followed)
{
  g_autoptr (GArray) pending = g_array_new (FALSE, FALSE, sizeof (guint32));
  const guint32 question = ++comparison->n_questions;
  guint n_visits = 0;

  g_array_append_val (pending, node);
  while (pending->len > 0)
    {
      guint32 at = g_array_index (pending, guint32, pending->len - 1);

      g_array_set_size (pending, pending->len - 1);
      for (guint32 i = graph->first_edge[at]; i < graph->first_edge[at + 1]; i++)
        {
          guint32 from = g_array_index (graph->census->edges, MemraEdge, i).from;
          guint32 partner = graph->partners[from];

          if (++n_visits > MOST_VISITS)
            return FALSE;
          if (graph->visited[from] == question)
            continue;
          graph->visited[from] = question;
          if (partner == MEMRA_UNALIGNED)
            g_array_append_val (pending, from);
          else
            g_array_append_val (followed, *(graph == &comparison->a ? &partner : &from));
        }
    }
  return TRUE;
}

static gint
compare_numbers (gconstpointer x, gconstpointer y)
{
  guint32 a = *(const guint32 *) x, b = *(const guint32 *) y;

  return (a > b) - (a < b);
}

/* Whether partners follow partners. That a node which is gone, new or elsewhere no longer stands in between has been
 * told, and goes without saying; that nothing took its place does not. */
static gboolean
follow_same (Comparison *comparison, guint32 a, guint32 b)
{
  g_autoptr (GArray) before = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GArray) after = g_array_new (FALSE, FALSE, sizeof (guint32));

  if (!list_followed (comparison, &comparison->a, a, before) || !list_followed (comparison, &comparison->b, b, after))
    return TRUE;
  if (before->len != after->len)
    return FALSE;
  g_array_sort (before, compare_numbers);
  g_array_sort (after, compare_numbers);
  return before->len == 0 || memcmp (before->data, after->data, before->len * sizeof (guint32)) == 0;
}

static void
compare_edges (Comparison *comparison, guint32 a, guint32 b, GString *what)
{
  const guint32 *first_a = &comparison->a.first_edge[a], *first_b = &comparison->b.first_edge[b];
  const guint32 n = first_a[1] - first_a[0];
  gboolean same = n == first_b[1] - first_b[0], same_types = TRUE;

  for (guint32 i = 0; same && i < n; i++)
    {
      const MemraEdge *x = &g_array_index (comparison->a.census->edges, MemraEdge, first_a[0] + i);
      const MemraEdge *y = &g_array_index (comparison->b.census->edges, MemraEdge, first_b[0] + i);

      same = comparison->a.partners[x->from] == y->from;
      same_types = same_types && x->type == y->type;
    }
  if (same && !same_types)
    append (what, "edges into it of other types");
  else if (!same && !follow_same (comparison, a, b))
    append (what, "after other nodes");
}

/* What differs between two nodes, NULL if nothing does. */
static char *
dup_differences (Comparison *comparison, guint32 a, guint32 b, gboolean with_edges)
{
  GString *what = g_string_truncate (comparison->scratch, 0);

  _memra_node_compare (comparison->a.census, a, comparison->b.census, b, &comparison->pairing, what);
  if (g_hash_table_size (comparison->a.hazards) > 0 || g_hash_table_size (comparison->b.hazards) > 0)
    compare_hazards (comparison, a, b, what);
  if (with_edges)
    compare_edges (comparison, a, b, what);
  return what->len > 0 ? g_strndup (what->str, what->len) : NULL;
}

static void
compare_partners (Comparison *comparison)
{
  for (guint32 i = 0; i < comparison->a.census->nodes->len; i++)
    {
      guint32 partner = comparison->a.partners[i];
      char *what = partner != MEMRA_UNALIGNED ? dup_differences (comparison, i, partner, TRUE) : NULL;

      if (what != NULL)
        add_entry (comparison, MEMRA_CHANGE_CHANGED, i, partner, NULL, what);
    }
}

/* A node that is missing here and one called the same that is new there have moved. In order, so that several of one
 * name keep theirs. (transfer full): for each node of a that moved its node of b, or MEMRA_UNALIGNED. */
static guint32 *
find_moves (const MemraDiffGraph *a, const MemraDiffGraph *b)
{
  const guint32 n = a->census->nodes->len, m = b->census->nodes->len;
  g_autoptr (GHashTable) news = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_queue_free);
  guint32 *moves = g_new (guint32, n + 1);

  for (guint32 i = 0; i < m; i++)
    if (b->partners[i] == MEMRA_UNALIGNED)
      {
        gpointer token = GUINT_TO_POINTER (b->tokens[i]);
        GQueue *queue = g_hash_table_lookup (news, token);

        if (queue == NULL)
          g_hash_table_insert (news, token, queue = g_queue_new ());
        g_queue_push_tail (queue, GUINT_TO_POINTER (i));
      }
  for (guint32 i = 0; i < n; i++)
    {
      GQueue *queue
          = a->partners[i] == MEMRA_UNALIGNED ? g_hash_table_lookup (news, GUINT_TO_POINTER (a->tokens[i])) : NULL;

      moves[i]
          = queue != NULL && !g_queue_is_empty (queue) ? GPOINTER_TO_UINT (g_queue_pop_head (queue)) : MEMRA_UNALIGNED;
    }
  return moves;
}

static void
tell_moves (Comparison *comparison, const guint32 *moves)
{
  const MemraDiffGraph *a = &comparison->a, *b = &comparison->b;
  g_autofree guint8 *told = g_new0 (guint8, b->census->nodes->len + 1);

  for (guint32 i = 0; i < a->census->nodes->len; i++)
    if (moves[i] != MEMRA_UNALIGNED)
      {
        g_autofree char *how
            = moves[i] == i ? g_strdup ("past others") : g_strdup_printf ("from place %u to place %u", i, moves[i]);

        told[moves[i]] = TRUE;
        add_entry (comparison, MEMRA_CHANGE_MOVED, i, moves[i], how, dup_differences (comparison, i, moves[i], FALSE));
      }
    else if (a->partners[i] == MEMRA_UNALIGNED)
      add_entry (comparison, MEMRA_CHANGE_REMOVED, i, MEMRA_NO_NODE, NULL, NULL);
  for (guint32 i = 0; i < b->census->nodes->len; i++)
    if (b->partners[i] == MEMRA_UNALIGNED && !told[i])
      add_entry (comparison, MEMRA_CHANGE_ADDED, MEMRA_NO_NODE, i, NULL, NULL);
}

static gint
compare_entries (gconstpointer x, gconstpointer y)
{
  const MemraDiffEntry *a = x, *b = y;
  guint32 place_a = a->a != MEMRA_NO_NODE ? a->a : a->b, place_b = b->a != MEMRA_NO_NODE ? b->a : b->b;

  return place_a != place_b ? (place_a > place_b ? 1 : -1) : (gint) a->change - (gint) b->change;
}

/* Which node is which. */
static void
align (Comparison *comparison)
{
  MemraDiffGraph *a = &comparison->a, *b = &comparison->b;
  const guint32 n = a->census->nodes->len, m = b->census->nodes->len;
  MemraDiffVocabulary vocabulary = { .names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  guint32 n_aligned = 0;

  _memra_diff_graph_make_tokens (a, comparison->by_type, &vocabulary);
  _memra_diff_graph_make_tokens (b, comparison->by_type, &vocabulary);
  g_hash_table_unref (vocabulary.names);
  _memra_map_clear (&vocabulary.tokens);

  a->partners = _memra_align (a->tokens, n, b->tokens, m);
  b->partners = g_new (guint32, m + 1);
  memset (b->partners, 0xff, m * sizeof *b->partners); /* MEMRA_UNALIGNED */
  for (guint32 i = 0; i < n; i++)
    if (a->partners[i] != MEMRA_UNALIGNED)
      {
        b->partners[a->partners[i]] = i;
        n_aligned++;
      }
  if (n_aligned == n && n_aligned == m)
    return;
  _memra_diff_graph_make_contents (a);
  _memra_diff_graph_make_contents (b);
  _memra_align_shift (&(MemraSide){ a->tokens, a->contents, a->partners, n },
                      &(MemraSide){ b->tokens, b->contents, b->partners, m });
}

/**
 * memra_census_diff:
 * @a: a census
 * @b: a census
 *
 * Says what was added, removed, moved or changed from the graph of @a to that of @b. Buffers are compared by their
 * role: a buffer that merely has another number is the same. So are layers: their numbers do not count. What is known
 * of one side only is not compared: with a partial census of an error, what kernels are called and what they are given;
 * with one of an old driver, arguments. Any thread; makes no driver call.
 *
 * Returns: (transfer full): the differences, ordered by place; none if there are none
 *
 * Since: 0.1
 */
MemraCensusDiff *
memra_census_diff (MemraCensus *a, MemraCensus *b)
{
  Comparison comparison = { .a.census = a, .b.census = b };
  g_autofree guint32 *moves = NULL;

  g_return_val_if_fail (a != NULL, NULL);
  g_return_val_if_fail (b != NULL, NULL);

  comparison.by_type = _memra_census_is_partial (a) || _memra_census_is_partial (b);
  comparison.scratch = g_string_new (NULL);
  comparison.diff = g_new0 (MemraCensusDiff, 1);
  comparison.diff->entries = g_array_new (FALSE, FALSE, sizeof (MemraDiffEntry));
  g_array_set_clear_func (comparison.diff->entries, entry_clear);

  align (&comparison);
  _memra_diff_graph_index_edges (&comparison.a);
  _memra_diff_graph_index_edges (&comparison.b);
  _memra_diff_graph_list_hazards (&comparison.a, b);
  _memra_diff_graph_list_hazards (&comparison.b, a);
  moves = find_moves (&comparison.a, &comparison.b);
  _memra_pairing_init_roles (&comparison.pairing, a, b, comparison.a.partners, moves);
  compare_partners (&comparison);
  tell_moves (&comparison, moves);
  g_array_sort (comparison.diff->entries, compare_entries);

  g_string_free (comparison.scratch, TRUE);
  _memra_pairing_clear (&comparison.pairing);
  _memra_diff_graph_clear (&comparison.a);
  _memra_diff_graph_clear (&comparison.b);
  return comparison.diff;
}

/**
 * memra_census_diff_free:
 * @diff: (transfer full) (nullable): differences
 *
 * Frees differences.
 *
 * Since: 0.1
 */
void
memra_census_diff_free (MemraCensusDiff *diff)
{
  if (diff == NULL)
    return;
  g_array_unref (diff->entries);
  g_free (diff);
}

/**
 * memra_census_diff_get_n_changes:
 * @diff: differences
 *
 * Gets how many nodes were added, removed, moved or changed.
 *
 * Returns: the number, 0 for equal graphs
 *
 * Since: 0.1
 */
guint
memra_census_diff_get_n_changes (const MemraCensusDiff *diff)
{
  g_return_val_if_fail (diff != NULL, 0);

  return diff->entries->len;
}

/**
 * memra_census_diff_get_change:
 * @diff: differences
 * @index: which, less than memra_census_diff_get_n_changes()
 * @node_a: (out) (optional): the node's place in the first graph, or %MEMRA_NO_PLACE
 * @node_b: (out) (optional): its place in the second graph, or %MEMRA_NO_PLACE
 * @message: (out) (optional) (transfer none): the change as a sentence, owned by @diff
 *
 * Gets one change.
 *
 * Returns: what became of the node
 *
 * Since: 0.1
 */
MemraChange
memra_census_diff_get_change (const MemraCensusDiff *diff, guint index, guint *node_a, guint *node_b,
                              const char **message)
{
  const MemraDiffEntry *entry;

  g_return_val_if_fail (diff != NULL && index < diff->entries->len, MEMRA_CHANGE_CHANGED);

  entry = &g_array_index (diff->entries, MemraDiffEntry, index);
  if (node_a != NULL)
    *node_a = entry->a;
  if (node_b != NULL)
    *node_b = entry->b;
  if (message != NULL)
    *message = entry->message;
  return entry->change;
}
