/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two graphs. */
#include "config.h"

#include "census/align.h"
#include "census/diff-private.h"

#include <json-glib/json-glib.h>
#include <string.h>

typedef struct
{
  MemraChange change;
  guint32 a, b;  /* numbers of nodes, or MEMRA_NO_NODE */
  char *subject; /* owned: the kernel's name or the node's type */
  char *what;    /* owned, nullable: what differs */
  char *message; /* owned: the whole sentence */
} Entry;

struct _MemraCensusDiff
{
  GArray *entries; /* element-type Entry */
};

typedef struct
{
  const MemraCensus *a, *b;
  guint32 *partners; /* owned: node of a -> node of b or MEMRA_UNALIGNED */
  guint32 *backward; /* owned: node of b -> node of a or MEMRA_UNALIGNED */
  MemraPairing pairing;
  MemraCensusDiff *diff;
} Comparison;

static void
entry_clear (gpointer item)
{
  Entry *entry = item;

  g_free (entry->subject);
  g_free (entry->what);
  g_free (entry->message);
}

/* What a node is called: two nodes can stand for each other if they are called the same. */
static char *
dup_subject (const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);

  if (node->type == MCU_NODE_KERNEL && node->record != MEMRA_NO_RECORD)
    return g_strdup (census->kernels[node->record].function->name);
  if ((node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET) && node->record != MEMRA_NO_RECORD)
    return g_strdup (_memra_copy_direction_to_string (g_array_index (census->copies, MemraCopy, node->record).direction));
  return g_strdup (_memra_census_type_name ((MemraCensus *) census, node->type));
}

static guint32 *
tokens_of (const MemraCensus *census, GHashTable *vocabulary)
{
  guint32 *tokens = g_new (guint32, MAX (census->nodes->len, 1));

  for (guint32 i = 0; i < census->nodes->len; i++)
    {
      char *subject = dup_subject (census, i);
      /* A kernel called "memcpy" is no copy. */
      char *word = g_strdup_printf ("%u/%u/%s", _memra_census_node (census, i)->type, _memra_census_node (census, i)->depth, subject);
      gpointer number = g_hash_table_lookup (vocabulary, word);

      g_free (subject);
      if (number == NULL)
        {
          number = GUINT_TO_POINTER (g_hash_table_size (vocabulary) + 1);
          g_hash_table_insert (vocabulary, word, number);
        }
      else
        g_free (word);
      tokens[i] = GPOINTER_TO_UINT (number);
    }
  return tokens;
}

static void
add_entry (Comparison *comparison, MemraChange change, guint32 a, guint32 b, char *what)
{
  static const char *const verbs[] = { "added", "removed", "moved", "changed" };
  Entry entry = { change, a, b, NULL, what, NULL };
  g_autofree char *name = a != MEMRA_NO_NODE ? _memra_census_name_node (comparison->a, a) : _memra_census_name_node (comparison->b, b);

  entry.subject = a != MEMRA_NO_NODE ? dup_subject (comparison->a, a) : dup_subject (comparison->b, b);
  entry.message = g_strdup_printf ("%s %s%s%s", name, verbs[change], what != NULL ? ": " : "", what != NULL ? what : "");
  g_array_append_val (comparison->diff->entries, entry);
}

/* A node that is missing here and one called the same that is new there have moved. In order, so that several of one name
 * keep theirs. */
static void
find_moves (Comparison *comparison, const guint32 *tokens_a, const guint32 *tokens_b)
{
  g_autoptr (GHashTable) news = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_queue_free);

  for (guint32 i = 0; i < comparison->b->nodes->len; i++)
    if (comparison->backward[i] == MEMRA_UNALIGNED)
      {
        GQueue *queue = g_hash_table_lookup (news, GUINT_TO_POINTER (tokens_b[i]));

        if (queue == NULL)
          {
            queue = g_queue_new ();
            g_hash_table_insert (news, GUINT_TO_POINTER (tokens_b[i]), queue);
          }
        g_queue_push_tail (queue, GUINT_TO_POINTER (i));
      }
  for (guint32 i = 0; i < comparison->a->nodes->len; i++)
    {
      GQueue *queue;

      if (comparison->partners[i] != MEMRA_UNALIGNED)
        continue;
      queue = g_hash_table_lookup (news, GUINT_TO_POINTER (tokens_a[i]));
      if (queue != NULL && !g_queue_is_empty (queue))
        {
          guint32 there = GPOINTER_TO_UINT (g_queue_pop_head (queue));
          char *what = there == i ? g_strdup ("past others") : g_strdup_printf ("from place %u to place %u", i, there);

          add_entry (comparison, MEMRA_CHANGE_MOVED, i, there, what);
          comparison->backward[there] = i;
        }
      else
        add_entry (comparison, MEMRA_CHANGE_REMOVED, i, MEMRA_NO_NODE, NULL);
    }
  for (guint32 i = 0; i < comparison->b->nodes->len; i++)
    if (comparison->backward[i] == MEMRA_UNALIGNED)
      add_entry (comparison, MEMRA_CHANGE_ADDED, MEMRA_NO_NODE, i, NULL);
}

/* The next edge into `node`, or NULL; the edges are sorted by `to` and then `from`. */
static const MemraEdge *
next_edge (const MemraCensus *census, guint *at, guint32 node)
{
  for (; *at < census->edges->len; ++*at)
    {
      const MemraEdge *edge = &g_array_index (census->edges, MemraEdge, *at);

      if (edge->to > node)
        return NULL;
      if (edge->to == node)
        {
          ++*at;
          return edge;
        }
    }
  return NULL;
}

/* Whether both partners follow the same nodes. Where one follows a node that was removed, added or moved, that has been
 * told, and what takes its place goes without saying. */
static gboolean
same_edges (const Comparison *comparison, guint *at_a, guint32 node_a, guint *at_b, guint32 node_b)
{
  gboolean same = TRUE, told = FALSE;
  const MemraEdge *x, *y;

  do
    {
      x = next_edge (comparison->a, at_a, node_a);
      y = next_edge (comparison->b, at_b, node_b);
      told = told || (x != NULL && comparison->partners[x->from] == MEMRA_UNALIGNED)
             || (y != NULL && comparison->backward[y->from] == MEMRA_UNALIGNED);
      if ((x == NULL) != (y == NULL) || (x != NULL && (x->type != y->type || comparison->partners[x->from] != y->from)))
        same = FALSE;
    }
  while (x != NULL || y != NULL);
  return same || told;
}

static void
compare_partners (Comparison *comparison)
{
  guint at_a = 0, at_b = 0;

  for (guint32 i = 0; i < comparison->a->nodes->len; i++)
    {
      GString *what;

      if (comparison->partners[i] == MEMRA_UNALIGNED)
        continue;
      what = g_string_new (NULL);
      _memra_node_compare (comparison->a, i, comparison->b, comparison->partners[i], &comparison->pairing, what);
      if (!same_edges (comparison, &at_a, i, &at_b, comparison->partners[i]))
        g_string_append_printf (what, "%safter other nodes", what->len > 0 ? "; " : "");
      if (what->len > 0)
        add_entry (comparison, MEMRA_CHANGE_CHANGED, i, comparison->partners[i], g_string_free (what, FALSE));
      else
        g_string_free (what, TRUE);
    }
}

static gint
compare_entries (gconstpointer x, gconstpointer y)
{
  const Entry *a = x, *b = y;
  guint32 place_a = a->a != MEMRA_NO_NODE ? a->a : a->b, place_b = b->a != MEMRA_NO_NODE ? b->a : b->b;

  return place_a != place_b ? (place_a > place_b ? 1 : -1) : (gint) a->change - (gint) b->change;
}

/**
 * memra_census_diff:
 * @a: a census
 * @b: a census
 *
 * Says what was added, removed, moved or changed from the graph of @a to that of @b. Buffers are compared by their role:
 * a buffer that merely has another number is the same. Any thread; makes no driver call.
 *
 * Returns: (transfer full): the differences, ordered by place; none if there are none
 *
 * Since: 0.1
 */
MemraCensusDiff *
memra_census_diff (MemraCensus *a, MemraCensus *b)
{
  g_autoptr (GHashTable) vocabulary = NULL;
  g_autofree guint32 *tokens_a = NULL;
  g_autofree guint32 *tokens_b = NULL;
  Comparison comparison = { .a = a, .b = b };

  g_return_val_if_fail (a != NULL, NULL);
  g_return_val_if_fail (b != NULL, NULL);

  comparison.diff = g_new0 (MemraCensusDiff, 1);
  comparison.diff->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_clear_func (comparison.diff->entries, entry_clear);

  vocabulary = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  tokens_a = tokens_of (a, vocabulary);
  tokens_b = tokens_of (b, vocabulary);
  comparison.partners = _memra_align (tokens_a, a->nodes->len, tokens_b, b->nodes->len);
  comparison.backward = g_new (guint32, MAX (b->nodes->len, 1));
  memset (comparison.backward, 0xff, b->nodes->len * sizeof (guint32));
  for (guint32 i = 0; i < a->nodes->len; i++)
    if (comparison.partners[i] != MEMRA_UNALIGNED)
      comparison.backward[comparison.partners[i]] = i;

  _memra_pairing_init (&comparison.pairing);
  compare_partners (&comparison);
  find_moves (&comparison, tokens_a, tokens_b);
  g_array_sort (comparison.diff->entries, compare_entries);

  _memra_pairing_clear (&comparison.pairing);
  g_free (comparison.partners);
  g_free (comparison.backward);
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
memra_census_diff_get_change (const MemraCensusDiff *diff, guint index, guint *node_a, guint *node_b, const char **message)
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

/**
 * memra_census_diff_to_string:
 * @diff: differences
 *
 * Writes the differences for people, one line for each kind of change: what is the same in every repeated layer is
 * written once, with the places.
 *
 * Returns: (transfer full): the text, empty for equal graphs
 *
 * Since: 0.1
 */
char *
memra_census_diff_to_string (const MemraCensusDiff *diff)
{
  static const char signs[] = "+->~";
  GString *text = g_string_new (NULL);
  g_autoptr (GHashTable) lines = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) order = g_ptr_array_new ();

  g_return_val_if_fail (diff != NULL, NULL);

  /* The places of equal changes, by their text. A move is told by its own places. */
  for (guint i = 0; i < diff->entries->len; i++)
    {
      const Entry *entry = &g_array_index (diff->entries, Entry, i);
      gboolean changed = entry->change == MEMRA_CHANGE_CHANGED;
      g_autofree char *key = g_strdup_printf ("%c %s%s%s", signs[entry->change], entry->subject, changed ? ": " : "",
                                              changed ? entry->what : "");
      GArray *places = g_hash_table_lookup (lines, key);

      if (places == NULL)
        {
          places = g_array_new (FALSE, FALSE, sizeof (guint));
          g_ptr_array_add (order, key);
          g_hash_table_insert (lines, g_steal_pointer (&key), places);
        }
      g_array_append_val (places, i);
    }
  for (guint i = 0; i < order->len; i++)
    {
      GArray *places = g_hash_table_lookup (lines, g_ptr_array_index (order, i));

      g_string_append_printf (text, "%s", (const char *) g_ptr_array_index (order, i));
      g_string_append (text, places->len > 1 ? " (" : " (at ");
      if (places->len > 1)
        g_string_append_printf (text, "%u times, at ", places->len);
      for (guint k = 0; k < places->len && k < 8; k++)
        {
          const Entry *entry = &g_array_index (diff->entries, Entry, g_array_index (places, guint, k));

          g_string_append_printf (text, "%s%u", k > 0 ? ", " : "", entry->a != MEMRA_NO_NODE ? entry->a : entry->b);
          if (entry->change == MEMRA_CHANGE_MOVED)
            g_string_append_printf (text, " -> %u", entry->b);
        }
      g_string_append (text, places->len > 8 ? ", ...)\n" : ")\n");
      g_array_unref (places);
    }
  return g_string_free (text, FALSE);
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
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  g_return_val_if_fail (diff != NULL, NULL);

  json_builder_begin_array (builder);
  for (guint i = 0; i < diff->entries->len; i++)
    {
      const Entry *entry = &g_array_index (diff->entries, Entry, i);

      json_builder_begin_object (builder);
      json_builder_set_member_name (builder, "a");
      if (entry->a != MEMRA_NO_NODE)
        json_builder_add_int_value (builder, entry->a);
      else
        json_builder_add_null_value (builder);
      json_builder_set_member_name (builder, "b");
      if (entry->b != MEMRA_NO_NODE)
        json_builder_add_int_value (builder, entry->b);
      else
        json_builder_add_null_value (builder);
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
