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
  GArray *nodes;     /* element-type Bounds */
  GArray *kernels;   /* element-type Bounds */
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

/**
 * memra_policy_forbid_hazard:
 * @policy: a policy
 * @kind: a kind of hazard, see memra_census_get_hazard()
 *
 * Refuses graphs that carry such a hazard.
 *
 * Since: 0.1
 */
void
memra_policy_forbid_hazard (MemraPolicy *policy, const char *kind)
{
  g_return_if_fail (policy != NULL);
  g_return_if_fail (kind != NULL);

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
check_bounds (GPtrArray *mismatches, const Bounds *bounds, const char *noun, guint count)
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
  g_ptr_array_add (mismatches, g_strdup_printf ("%u %s ‘%s’: %s", count, noun, bounds->what, wanted));
}

static guint
count_kernels (const MemraCensus *census, const char *pattern)
{
  GPatternSpec *spec = g_pattern_spec_new (pattern);
  const MemraFunction *last = NULL;
  gboolean matches = FALSE;
  guint n = 0;

  for (guint i = 0; i < census->n_kernels; i++)
    {
      const MemraFunction *function = census->kernels[i].function;

      if (function != last)
        matches = g_pattern_match_string (spec, function->name) || g_pattern_match_string (spec, function->demangled);
      last = function;
      n += matches;
    }
  g_pattern_spec_free (spec);
  return n;
}

/**
 * memra_policy_check:
 * @policy: a policy
 * @census: a census
 *
 * Holds a census against a policy. Any thread; makes no driver call.
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
    g_ptr_array_add (mismatches, g_strdup ("the graph is empty: nothing was issued into the stream that was captured; if that is "
                                           "right, allow it"));
  for (guint i = 0; i < policy->nodes->len; i++)
    {
      const Bounds *bounds = &g_array_index (policy->nodes, Bounds, i);

      check_bounds (mismatches, bounds, "nodes of type", memra_census_get_count (census, bounds->what));
    }
  for (guint i = 0; i < policy->kernels->len; i++)
    {
      const Bounds *bounds = &g_array_index (policy->kernels, Bounds, i);

      check_bounds (mismatches, bounds, "kernels named", count_kernels (census, bounds->what));
    }
  for (guint i = 0; i < census->hazards->len; i++)
    {
      const MemraHazard *hazard = &g_array_index (census->hazards, MemraHazard, i);

      if (g_ptr_array_find_with_equal_func (policy->hazards, hazard->kind, g_str_equal, NULL))
        g_ptr_array_add (mismatches, g_strdup_printf ("hazard %s: %s", hazard->kind, hazard->message));
    }
  return mismatches;
}
