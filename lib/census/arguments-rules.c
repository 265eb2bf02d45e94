/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A report on arguments held against what must vary and what must not. */
#include "config.h"

#include "census/arguments-private.h"

#include <string.h>

/* "pattern" or "pattern:argument" */
typedef struct
{
  const char *text; /* borrowed: as it was given */
  char *names;      /* owned: a pattern */
  guint argument;   /* MEMRA_NO_PLACE: whatever moves */
} Rule;

static void
rule_clear (Rule *rule)
{
  g_free (rule->names);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Rule, rule_clear)

static void
rule_init (Rule *rule, const char *text)
{
  const char *colon = strrchr (text, ':');
  guint64 argument;

  rule->text = text;
  rule->argument = MEMRA_NO_PLACE;
  if (colon != NULL && g_ascii_string_to_unsigned (colon + 1, 10, 0, MEMRA_NO_PLACE - 1, &argument, NULL))
    {
      rule->argument = (guint) argument;
      rule->names = g_strndup (text, colon - text);
    }
  else
    rule->names = g_strdup (text);
}

/* A kernel goes by its name, raw or demangled; any other node by its type. */
static gboolean
rule_names_node (const Rule *rule, const MemraCensus *census, guint32 number)
{
  const MemraNode *node = _memra_census_node (census, number);
  g_autofree char *type = NULL;

  if (node->type == MCU_NODE_KERNEL)
    {
      const MemraFunction *function = census->kernels[node->record].function;

      return _memra_pattern_matches (rule->names, function->name)
             || (function->demangled != function->name && _memra_pattern_matches (rule->names, function->demangled));
    }
  if (node->type != MCU_NODE_MEMCPY && node->type != MCU_NODE_MEMSET && node->type != MCU_NODE_MEM_ALLOC)
    return FALSE;
  type = _memra_type_dup_name (node->type);
  return _memra_pattern_matches (rule->names, type);
}

/* Whether there is anything that a rule could be about: one with a slip of the pen would never be broken. */
static gboolean
rule_has_subject (const Rule *rule, const MemraCensus *census)
{
  const MemraFunction *last = NULL;

  for (guint32 i = 0; i < census->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (census, i);

      if (node->type == MCU_NODE_KERNEL)
        {
          const MemraKernelNode *kernel = &census->kernels[node->record];

          if (kernel->function == last
              || (rule->argument != MEMRA_NO_PLACE && rule->argument >= _memra_kernel_n_comparable (kernel)))
            continue;
          last = kernel->function;
        }
      else if (rule->argument != MEMRA_NO_PLACE)
        continue;
      if (rule_names_node (rule, census, i))
        return TRUE;
    }
  return FALSE;
}

static void
check_rule (const MemraArgumentReport *report, const char *text, gboolean must_vary, GPtrArray *mismatches)
{
  g_auto (Rule) rule = { 0 };
  gboolean any = FALSE;

  rule_init (&rule, text);
  if (!rule_has_subject (&rule, report->censuses[0]))
    {
      g_ptr_array_add (mismatches, g_strdup_printf ("%s names nothing in the layer that could vary", text));
      return;
    }
  for (guint i = 0; i < report->changes->len && !(any && must_vary); i++)
    {
      const MemraArgumentChange *change = &g_array_index (report->changes, MemraArgumentChange, i);

      if ((rule.argument != MEMRA_NO_PLACE && change->argument != rule.argument)
          || !rule_names_node (&rule, report->censuses[0], change->node))
        continue;
      any = TRUE;
      if (!must_vary)
        g_ptr_array_add (mismatches, g_strdup_printf ("%s must not vary: %s", text, change->message));
    }
  if (must_vary && !any)
    g_ptr_array_add (mismatches, g_strdup_printf ("%s must vary, and did not", text));
}

/**
 * memra_argument_report_check:
 * @report: a report
 * @must_vary: (nullable) (array zero-terminated=1): rules for what has to have moved
 * @must_not_vary: (nullable) (array zero-terminated=1): rules for what must not have moved
 *
 * Holds a report against what is known of the layer. A rule is a pattern with * and ? for kernel names, raw or
 * demangled, or such a pattern, a colon and an argument's number: "memra_dsv4_rope:1". Copies, fills and allocations go
 * by their node types memcpy, memset and mem-alloc. A rule that is about nothing in the layer is a mismatch too.
 *
 * Returns: (transfer full) (element-type utf8): every mismatch as a sentence; empty if all is as it should be
 *
 * Since: 0.1
 */
GPtrArray *
memra_argument_report_check (const MemraArgumentReport *report, const char *const *must_vary,
                             const char *const *must_not_vary)
{
  GPtrArray *mismatches;

  g_return_val_if_fail (report != NULL, NULL);

  mismatches = g_ptr_array_new_with_free_func (g_free);
  for (gsize i = 0; must_vary != NULL && must_vary[i] != NULL; i++)
    check_rule (report, must_vary[i], TRUE, mismatches);
  for (gsize i = 0; must_not_vary != NULL && must_not_vary[i] != NULL; i++)
    check_rule (report, must_not_vary[i], FALSE, mismatches);
  return mismatches;
}
