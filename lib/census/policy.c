/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a graph must be like: counts, kernels, hazards. */
#include "config.h"

#include "census-private.h"

#include <string.h>

/* How many there may be of something. */
typedef struct
{
  char *what; /* owned: a node type or a kernel name pattern */
  guint minimum;
  guint maximum;
} Bounds;

struct _MemraPolicy
{
  gatomicrefcount ref_count;
  GArray *nodes;      /* element-type Bounds */
  GArray *kernels;    /* element-type Bounds */
  GPtrArray *hazards; /* element-type utf8: forbidden kinds */
  gboolean allow_empty;
};

static void
bounds_clear (gpointer bounds)
{
  g_free (((Bounds *) bounds)->what);
}

/**
 * memra_policy_new:
 *
 * Makes a policy that refuses an empty graph and nothing else. A policy is filled by one thread and not changed once it
 * has been used.
 *
 * Returns: (transfer full): the policy
 *
 * Since: 0.1
 */
MemraPolicy *
memra_policy_new (void)
{
  MemraPolicy *policy = g_new0 (MemraPolicy, 1);

  g_atomic_ref_count_init (&policy->ref_count);
  policy->nodes = g_array_new (FALSE, FALSE, sizeof (Bounds));
  policy->kernels = g_array_new (FALSE, FALSE, sizeof (Bounds));
  g_array_set_clear_func (policy->nodes, bounds_clear);
  g_array_set_clear_func (policy->kernels, bounds_clear);
  policy->hazards = g_ptr_array_new_with_free_func (g_free);
  return policy;
}

/**
 * memra_policy_ref:
 * @policy: a policy
 *
 * Takes a reference. Any thread.
 *
 * Returns: (transfer full): @policy
 *
 * Since: 0.1
 */
MemraPolicy *
memra_policy_ref (MemraPolicy *policy)
{
  g_return_val_if_fail (policy != NULL, NULL);

  g_atomic_ref_count_inc (&policy->ref_count);
  return policy;
}

/**
 * memra_policy_unref:
 * @policy: (transfer full) (nullable): a policy
 *
 * Drops a reference. Any thread.
 *
 * Since: 0.1
 */
void
memra_policy_unref (MemraPolicy *policy)
{
  if (policy == NULL || !g_atomic_ref_count_dec (&policy->ref_count))
    return;
  g_array_unref (policy->nodes);
  g_array_unref (policy->kernels);
  g_ptr_array_unref (policy->hazards);
  g_free (policy);
}

static void
set_bounds (GArray *list, const char *what, guint minimum, guint maximum)
{
  Bounds bounds = { NULL, minimum, maximum };

  for (guint i = 0; i < list->len; i++)
    if (strcmp (g_array_index (list, Bounds, i).what, what) == 0)
      {
        g_array_remove_index (list, i);
        break;
      }
  bounds.what = g_strdup (what);
  g_array_append_val (list, bounds);
}

/**
 * memra_policy_set_node_count:
 * @policy: a policy
 * @type: a node type as in memra_census_get_nodes(), such as "memcpy"
 * @minimum: the least number of nodes, over all depths
 * @maximum: the greatest number, 0 to forbid the type, or %MEMRA_POLICY_UNBOUNDED
 *
 * Says how many nodes of a type there may be. Setting a type again replaces its bounds.
 *
 * Since: 0.1
 */
void
memra_policy_set_node_count (MemraPolicy *policy, const char *type, guint minimum, guint maximum)
{
  guint32 number;

  g_return_if_fail (policy != NULL);
  g_return_if_fail (type != NULL && _memra_census_type_from_name (type, &number));
  g_return_if_fail (minimum <= maximum);

  set_bounds (policy->nodes, type, minimum, maximum);
}

/**
 * memra_policy_set_kernel_count:
 * @policy: a policy
 * @pattern: a pattern with * and ? for kernel names, which is held against both the raw and the demangled name
 * @minimum: the least number of matching kernel nodes, over all depths
 * @maximum: the greatest number, 0 to forbid such kernels, or %MEMRA_POLICY_UNBOUNDED
 *
 * Says how many kernels with such names there may be. Setting a pattern again replaces its bounds.
 *
 * Since: 0.1
 */
void
memra_policy_set_kernel_count (MemraPolicy *policy, const char *pattern, guint minimum, guint maximum)
{
  g_return_if_fail (policy != NULL);
  g_return_if_fail (pattern != NULL);
  g_return_if_fail (minimum <= maximum);

  set_bounds (policy->kernels, pattern, minimum, maximum);
}

gboolean
_memra_hazard_kind_is_known (const char *kind)
{
  static const char *const kinds[] = {
    "device-to-host-pageable",
    "empty-graph",
    "foreign-context",
    "host-node",
    "opaque-node",
    "pageable-source",
    "pageable-target",
    "programmatic-edge",
    "unbalanced-allocation",
    "unnamed-kernel",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kind, kinds[i]) == 0)
      return TRUE;
  return FALSE;
}

/**
 * memra_policy_forbid_hazard:
 * @policy: a policy
 * @kind: a kind of hazard, see memra_census_get_hazard()
 *
 * Refuses graphs that carry such a hazard. A kind that does not exist forbids nothing; in a policy file it is an error.
 *
 * Since: 0.1
 */
void
memra_policy_forbid_hazard (MemraPolicy *policy, const char *kind)
{
  g_return_if_fail (policy != NULL);
  g_return_if_fail (kind != NULL && _memra_hazard_kind_is_known (kind));

  if (!g_ptr_array_find_with_equal_func (policy->hazards, kind, g_str_equal, NULL))
    g_ptr_array_add (policy->hazards, g_strdup (kind));
}

/**
 * memra_policy_set_allow_empty:
 * @policy: a policy
 * @allow_empty: whether a graph without nodes is all right
 *
 * Says whether an empty graph passes. By default it does not.
 *
 * Since: 0.1
 */
void
memra_policy_set_allow_empty (MemraPolicy *policy, gboolean allow_empty)
{
  g_return_if_fail (policy != NULL);

  policy->allow_empty = allow_empty;
}

static void
check_bounds (GPtrArray *mismatches, const Bounds *bounds, const char *noun, const char *what, guint count)
{
  g_autofree char *wanted = NULL;

  if (count >= bounds->minimum && count <= bounds->maximum)
    return;
  if (bounds->maximum == 0)
    wanted = g_strdup ("none is allowed");
  else if (bounds->minimum == bounds->maximum)
    wanted = g_strdup_printf ("exactly %u wanted", bounds->minimum);
  else if (bounds->maximum == MEMRA_POLICY_UNBOUNDED)
    wanted = g_strdup_printf ("at least %u wanted", bounds->minimum);
  else if (bounds->minimum == 0)
    wanted = g_strdup_printf ("at most %u allowed", bounds->maximum);
  else
    wanted = g_strdup_printf ("%u to %u wanted", bounds->minimum, bounds->maximum);
  g_ptr_array_add (mismatches, g_strdup_printf ("%u %s%s %s ‘%s’: %s", count, noun, count == 1 ? "" : "s", what,
                                                bounds->what, wanted));
}

/* How often each function is launched: far fewer patterns have to be tried than there are kernels. */
static GHashTable *
count_functions (const MemraCensus *census)
{
  GHashTable *functions = g_hash_table_new (NULL, NULL);
  guint run = 0;

  for (guint i = 0; i < census->n_kernels; i++)
    {
      gpointer function = (gpointer) census->kernels[i].function;

      run++;
      if (i + 1 < census->n_kernels && census->kernels[i + 1].function == function)
        continue;
      g_hash_table_insert (functions, function,
                           GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (functions, function)) + run));
      run = 0;
    }
  return functions;
}

static guint
count_kernels (GHashTable *functions, const char *pattern)
{
  GHashTableIter iter;
  gpointer key, count;
  guint n = 0;

  g_hash_table_iter_init (&iter, functions);
  while (g_hash_table_iter_next (&iter, &key, &count))
    {
      const MemraFunction *function = key;

      if (_memra_pattern_matches (pattern, function->name) || _memra_pattern_matches (pattern, function->demangled))
        n += GPOINTER_TO_UINT (count);
    }
  return n;
}

static void
check_kernels (GPtrArray *mismatches, const MemraPolicy *policy, const MemraCensus *census)
{
  g_autoptr (GHashTable) functions = count_functions (census);

  for (guint i = 0; i < policy->kernels->len; i++)
    {
      const Bounds *bounds = &g_array_index (policy->kernels, Bounds, i);

      check_bounds (mismatches, bounds, "kernel", "named", count_kernels (functions, bounds->what));
    }
}

/**
 * memra_policy_check:
 * @policy: a policy
 * @census: a census
 *
 * Holds a census against a policy. A partial census, which knows neither names of kernels nor hazards, does not pass a
 * policy that bounds or forbids them. Any thread; makes no driver call.
 *
 * Returns: (transfer full) (element-type utf8): every mismatch as a sentence; empty if the graph is what it should be
 *
 * Since: 0.1
 */
GPtrArray *
memra_policy_check (const MemraPolicy *policy, const MemraCensus *census)
{
  GPtrArray *mismatches;

  g_return_val_if_fail (policy != NULL, NULL);
  g_return_val_if_fail (census != NULL, NULL);

  mismatches = g_ptr_array_new_with_free_func (g_free);
  if (census->nodes->len == 0 && !policy->allow_empty)
    g_ptr_array_add (mismatches,
                     g_strdup ("the graph is empty: nothing was issued into the stream that was captured; if that is "
                               "right, allow it"));
  for (guint i = 0; i < policy->nodes->len; i++)
    {
      const Bounds *bounds = &g_array_index (policy->nodes, Bounds, i);

      check_bounds (mismatches, bounds, "node", "of type", memra_census_get_count (census, bounds->what));
    }
  if (_memra_census_is_partial (census))
    {
      if (policy->kernels->len > 0 || policy->hazards->len > 0)
        g_ptr_array_add (mismatches,
                         g_strdup ("kernels and hazards cannot be judged: the census is partial, they were not read"));
      return mismatches;
    }
  if (policy->kernels->len > 0)
    check_kernels (mismatches, policy, census);
  for (guint i = 0; i < census->hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (census->hazards, MemraHazard, i);

      if (g_ptr_array_find_with_equal_func (policy->hazards, hazard->kind, g_str_equal, NULL))
        g_ptr_array_add (mismatches, g_strdup_printf ("hazard %s: %s", hazard->kind, hazard->message));
    }
  return mismatches;
}
