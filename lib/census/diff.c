/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two graphs. */
#include "config.h"

#include "census/align.h"
#include "census/diff-private.h"

#include <json-glib/json-glib.h>
#include <string.h>

/* How many edges are followed to find what a node follows, past those that only one graph has. */
#define MOST_VISITS 1000

/* Places that are named of one kind of change. */
#define MOST_PLACES 8

typedef struct
{
  MemraChange change;
  guint32 a, b;  /* numbers of nodes, or MEMRA_NO_NODE */
  char *subject; /* owned: the kernel's name or the node's type */
  char *shown;   /* owned: the same for people */
  char *what;    /* owned, nullable: what differs */
  char *message; /* owned: the whole sentence */
} Entry;

struct _MemraCensusDiff
{
  GArray *entries; /* element-type Entry */
};

/* One of the two graphs. */
typedef struct
{
  const MemraCensus *census; /* borrowed, as the strings in it */
  guint32 *tokens;           /* owned: nodes with one token can stand for each other */
  guint64 *contents;         /* owned: partners of one content are alike, but for the buffers they use */
  guint32 *partners;         /* owned: its nodes -> nodes of the other, or MEMRA_UNALIGNED */
  guint32 *first_edge;       /* owned: edges into node i are those from first_edge[i] to first_edge[i + 1] - 1 */
  guint32 *visited;          /* owned: the last question that came by each node */
  GHashTable *hazards;       /* owned: node + 1 -> kinds (GString) */
} Graph;

typedef struct
{
  Graph a, b;
  gboolean by_type; /* one of them is partial: kernels have no names */
  guint32 n_questions;
  MemraPairing pairing;
  GString *scratch; /* owned */
  MemraCensusDiff *diff;
} Comparison;

/* Names and what can be told apart, as numbers from 1. */
typedef struct
{
  GHashTable *names; /* owned: utf8 (owned) -> number */
  MemraMap tokens;
} Vocabulary;

static void
entry_clear (gpointer item)
{
  Entry *entry = item;

  g_free (entry->subject);
  g_free (entry->shown);
  g_free (entry->what);
  g_free (entry->message);
}

static void
graph_clear (Graph *graph)
{
  g_free (graph->tokens);
  g_free (graph->contents);
  g_free (graph->partners);
  g_free (graph->first_edge);
  g_free (graph->visited);
  g_hash_table_unref (graph->hazards);
}

/* What a node is called: two nodes can stand for each other if they are called the same. Owned by the census, or by
 * the caller through `made`. */
static const char *
get_subject (const MemraCensus *census, guint32 number, gboolean by_type, char **made)
{
  const MemraNode *node = _memra_census_node (census, number);

  *made = NULL;
  if (!by_type && node->type == MCU_NODE_KERNEL)
    return census->kernels[node->record].function->name;
  if (!by_type && (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET))
    return _memra_copy_direction_to_string (g_array_index (census->copies, MemraCopy, node->record).direction);
  return *made = _memra_type_dup_name (node->type);
}

static guint32
number_of (GHashTable *names, const char *name)
{
  gpointer number = g_hash_table_lookup (names, name);

  if (number == NULL)
    {
      number = GUINT_TO_POINTER (g_hash_table_size (names) + 1);
      g_hash_table_insert (names, g_strdup (name), number);
    }
  return GPOINTER_TO_UINT (number);
}

static void
make_tokens (Graph *graph, gboolean by_type, Vocabulary *vocabulary)
{
  const guint32 n = graph->census->nodes->len;

  graph->tokens = g_new (guint32, n + 1);
  for (guint32 i = 0; i < n; i++)
    {
      const MemraNode *node = _memra_census_node (graph->census, i);
      g_autofree char *made = NULL;
      guint64 word = number_of (vocabulary->names, get_subject (graph->census, i, by_type, &made));

      /* A kernel called "fill" is no fill, and nothing moves into a child graph unnoticed. */
      word = word << 32 | (guint64) node->depth << 1 | (node->type == MCU_NODE_KERNEL);
      if (!_memra_map_lookup (&vocabulary->tokens, word, &graph->tokens[i]))
        _memra_map_insert (&vocabulary->tokens, word, graph->tokens[i] = vocabulary->tokens.n + 1);
    }
}

static guint64
mix (guint64 hash, gconstpointer bytes, gsize n)
{
  for (const guint8 *p = bytes, *end = p + n; p < end; p++)
    hash = (hash ^ *p) * G_GUINT64_CONSTANT (0x100000001b3);
  return hash;
}

static guint64
mix_place (guint64 hash, const MemraPlace *place)
{
  const guint64 words[] = { place->kind, place->offset, place->pitch };

  return mix (hash, words, sizeof words);
}

/* Everything but where pointers begin. */
static guint64
mix_argument (guint64 hash, const MemraKernelNode *kernel, guint index)
{
  const MemraPointer *pointers;
  guint n = _memra_kernel_node_argument_pointers (kernel, index, &pointers);
  guint32 offset, size, at = 0;

  _memra_kernel_node_argument_range (kernel, index, &offset, &size);
  for (guint i = 0; i <= n; i++)
    {
      guint32 end = i < n ? pointers[i].at - offset : size;

      if (end > at)
        hash = mix (hash, kernel->bytes + offset + at, end - at);
      if (i < n)
        hash = mix (hash, &pointers[i].offset, sizeof pointers[i].offset);
      at = end + sizeof (guint64);
    }
  return hash;
}

static guint64
content_of (const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);
  guint64 hash = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  if (node->section != NULL)
    hash = mix (hash, node->section, strlen (node->section));
  if (node->record == MEMRA_NO_RECORD)
    return hash;
  if (node->type == MCU_NODE_KERNEL)
    {
      const MemraKernelNode *kernel = &census->kernels[node->record];

      hash = mix (hash, &kernel->grid, sizeof kernel->grid);
      hash = mix (hash, &kernel->block, sizeof kernel->block);
      hash = mix (hash, &kernel->shared_bytes, sizeof kernel->shared_bytes);
      for (guint i = 0; i < _memra_kernel_n_comparable (kernel); i++)
        hash = mix_argument (hash, kernel, i);
      return hash;
    }
  if (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET)
    {
      const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, node->record);

      hash = mix (hash, copy->extent, sizeof copy->extent);
      hash = mix (hash, &copy->value, sizeof copy->value);
      return mix_place (mix_place (hash, &copy->source), &copy->target);
    }
  return mix (hash, &g_array_index (census->details, MemraDetail, node->record).bytes, sizeof (guint64));
}

static void
make_contents (Graph *graph)
{
  const guint32 n = graph->census->nodes->len;

  graph->contents = g_new (guint64, n + 1);
  for (guint32 i = 0; i < n; i++)
    graph->contents[i] = content_of (graph->census, i);
}

static void
index_edges (Graph *graph)
{
  const GArray *edges = graph->census->edges;
  const guint32 n = graph->census->nodes->len;
  guint at = 0;

  graph->first_edge = g_new (guint32, n + 2);
  graph->visited = g_new0 (guint32, n + 1);
  for (guint32 i = 0; i <= n; i++)
    {
      while (at < edges->len && g_array_index (edges, MemraEdge, at).to < i)
        at++;
      graph->first_edge[i] = at;
    }
}

static gboolean
has_hazard (const MemraCensus *census, const char *kind)
{
  for (guint i = 0; i < census->hazards->len; i++)
    if (strcmp (g_array_index (census->hazards, MemraHazard, i).kind, kind) == 0)
      return TRUE;
  return FALSE;
}

static void
string_free (gpointer string)
{
  g_string_free (string, TRUE);
}

/* The kinds of each node's hazards, but for those that stand for many nodes and are noted at the first of them alone:
 * of these, edges are compared one by one, and a foreign context counts only if the other graph has none. */
static void
list_hazards (Graph *graph, const MemraCensus *other)
{
  const GArray *hazards = graph->census->hazards;
  gboolean foreign_counts = !has_hazard (other, "foreign-context");

  graph->hazards = g_hash_table_new_full (NULL, NULL, NULL, string_free);
  for (guint i = 0; i < hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (hazards, MemraHazard, i);
      gpointer key = GSIZE_TO_POINTER ((gsize) hazard->node + 1);
      GString *kinds;

      if (hazard->node == MEMRA_NO_NODE || strcmp (hazard->kind, "programmatic-edge") == 0
          || (strcmp (hazard->kind, "foreign-context") == 0 && !foreign_counts))
        continue;
      kinds = g_hash_table_lookup (graph->hazards, key);
      if (kinds == NULL)
        g_hash_table_insert (graph->hazards, key, g_string_new (hazard->kind));
      else
        g_string_append_printf (kinds, ", %s", hazard->kind);
    }
}

static const char *
get_hazards (const Graph *graph, guint32 node)
{
  const GString *kinds = g_hash_table_lookup (graph->hazards, GSIZE_TO_POINTER ((gsize) node + 1));

  return kinds != NULL ? kinds->str : "none";
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
  Entry entry = { .change = change, .a = a, .b = b, .what = what };
  g_autofree char *name = _memra_census_name_node (census, number);
  g_autofree char *made = NULL;

  entry.subject = g_strdup (get_subject (census, number, comparison->by_type, &made));
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
  const char *before = get_hazards (&comparison->a, a), *after = get_hazards (&comparison->b, b);
  g_autofree char *text = NULL;

  if (strcmp (before, after) == 0)
    return;
  text = g_strdup_printf ("hazards %s -> %s", before, after);
  append (what, text);
}

/* The nodes of both graphs that `node` follows, as numbers of b: where it follows one of its own graph alone, those
 * that this one follows take its place. FALSE: there are too many to say. */
static gboolean
list_followed (Comparison *comparison, Graph *graph, guint32 node, GArray *followed)
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
find_moves (const Graph *a, const Graph *b)
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
  const Graph *a = &comparison->a, *b = &comparison->b;
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
  const Entry *a = x, *b = y;
  guint32 place_a = a->a != MEMRA_NO_NODE ? a->a : a->b, place_b = b->a != MEMRA_NO_NODE ? b->a : b->b;

  return place_a != place_b ? (place_a > place_b ? 1 : -1) : (gint) a->change - (gint) b->change;
}

/* Which node is which. */
static void
align (Comparison *comparison)
{
  Graph *a = &comparison->a, *b = &comparison->b;
  const guint32 n = a->census->nodes->len, m = b->census->nodes->len;
  Vocabulary vocabulary = { .names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  guint32 n_aligned = 0;

  make_tokens (a, comparison->by_type, &vocabulary);
  make_tokens (b, comparison->by_type, &vocabulary);
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
  make_contents (a);
  make_contents (b);
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
  comparison.diff->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_clear_func (comparison.diff->entries, entry_clear);

  align (&comparison);
  index_edges (&comparison.a);
  index_edges (&comparison.b);
  list_hazards (&comparison.a, b);
  list_hazards (&comparison.b, a);
  moves = find_moves (&comparison.a, &comparison.b);
  _memra_pairing_init_roles (&comparison.pairing, a, b, comparison.a.partners, moves);
  compare_partners (&comparison);
  tell_moves (&comparison, moves);
  g_array_sort (comparison.diff->entries, compare_entries);

  g_string_free (comparison.scratch, TRUE);
  _memra_pairing_clear (&comparison.pairing);
  graph_clear (&comparison.a);
  graph_clear (&comparison.b);
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
  const Entry *entry;

  g_return_val_if_fail (diff != NULL && index < diff->entries->len, MEMRA_CHANGE_CHANGED);

  entry = &g_array_index (diff->entries, Entry, index);
  if (node_a != NULL)
    *node_a = entry->a;
  if (node_b != NULL)
    *node_b = entry->b;
  if (message != NULL)
    *message = entry->message;
  return entry->change;
}

/* The differences that make one line. */
typedef struct
{
  const Entry *first;
  gboolean same;   /* what changed is the same in all, to the last buffer */
  GArray *entries; /* owned: const Entry * */
} Line;

static void
line_free (gpointer line)
{
  g_array_unref (((Line *) line)->entries);
  g_free (line);
}

static void
append_line (GString *text, const Line *line)
{
  static const char signs[] = "+->~";
  const Entry *first = line->first;

  g_string_append_printf (text, "%c %s", signs[first->change], first->shown);
  if (first->what != NULL)
    g_string_append_printf (text, ": %s%s", first->what, line->same ? "" : ", and the like");
  g_string_append (text, line->entries->len > 1 ? " (" : " (at ");
  if (line->entries->len > 1)
    g_string_append_printf (text, "%u times, at ", line->entries->len);
  for (guint i = 0; i < line->entries->len && i < MOST_PLACES; i++)
    {
      const Entry *entry = g_array_index (line->entries, const Entry *, i);

      g_string_append_printf (text, "%s%u", i > 0 ? ", " : "", entry->a != MEMRA_NO_NODE ? entry->a : entry->b);
      if (entry->change == MEMRA_CHANGE_MOVED)
        g_string_append_printf (text, " -> %u", entry->b);
    }
  g_string_append (text, line->entries->len > MOST_PLACES ? ", ...)\n" : ")\n");
}

/**
 * memra_census_diff_to_string:
 * @diff: differences
 *
 * Writes the differences for people, one line for each kind of change: + added, - removed, > moved, ~ changed. What is
 * the same in every repeated layer is written once, with the places, which are those of the first graph but for added
 * nodes.
 *
 * Returns: (transfer full): the text, empty for equal graphs
 *
 * Since: 0.1
 */
char *
memra_census_diff_to_string (const MemraCensusDiff *diff)
{
  g_autoptr (GHashTable) lines = NULL;
  g_autoptr (GPtrArray) order = NULL;
  GString *text;

  g_return_val_if_fail (diff != NULL, NULL);

  lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  order = g_ptr_array_new_with_free_func (line_free);
  for (guint i = 0; i < diff->entries->len; i++)
    {
      const Entry *entry = &g_array_index (diff->entries, Entry, i);
      g_autofree char *pattern = _memra_dup_pattern (entry->what != NULL ? entry->what : "");
      g_autofree char *key = g_strdup_printf ("%d %s: %s", entry->change, entry->shown, pattern);
      Line *line = g_hash_table_lookup (lines, key);

      if (line == NULL)
        {
          line = g_new (Line, 1);
          *line = (Line){ entry, TRUE, g_array_new (FALSE, FALSE, sizeof (const Entry *)) };
          g_ptr_array_add (order, line);
          g_hash_table_insert (lines, g_steal_pointer (&key), line);
        }
      line->same = line->same && g_strcmp0 (entry->what, line->first->what) == 0;
      g_array_append_val (line->entries, entry);
    }

  text = g_string_new (NULL);
  for (guint i = 0; i < order->len; i++)
    append_line (text, g_ptr_array_index (order, i));
  return g_string_free (text, FALSE);
}

static void
add_place (JsonBuilder *builder, const char *member, guint32 node)
{
  json_builder_set_member_name (builder, member);
  if (node != MEMRA_NO_NODE)
    json_builder_add_int_value (builder, node);
  else
    json_builder_add_null_value (builder);
}

/**
 * memra_census_diff_to_json:
 * @diff: differences
 *
 * Writes the differences as a JSON array of {"a", "b", "change", "message", "name"}, with null for the side that there
 * is not.
 *
 * Returns: (transfer full): the text
 *
 * Since: 0.1
 */
char *
memra_census_diff_to_json (const MemraCensusDiff *diff)
{
  static const char *const words[] = { "added", "removed", "moved", "changed" };
  g_autoptr (JsonBuilder) builder = NULL;
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (diff != NULL, NULL);

  builder = json_builder_new ();
  json_builder_begin_array (builder);
  for (guint i = 0; i < diff->entries->len; i++)
    {
      const Entry *entry = &g_array_index (diff->entries, Entry, i);

      json_builder_begin_object (builder);
      add_place (builder, "a", entry->a);
      add_place (builder, "b", entry->b);
      json_builder_set_member_name (builder, "change");
      json_builder_add_string_value (builder, words[entry->change]);
      json_builder_set_member_name (builder, "message");
      json_builder_add_string_value (builder, entry->message);
      json_builder_set_member_name (builder, "name");
      json_builder_add_string_value (builder, entry->subject);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}
