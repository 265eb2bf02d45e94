/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What moves from one capture of a layer to the next is frozen in each of them: a replay repeats the old value. This
 * finds it by comparing captures taken at different steps.
 */
#include "config.h"

#include "census/diff-private.h"

#include <string.h>

typedef struct
{
  guint kernel;   /* index of the kernel, or MEMRA_NO_PLACE for a copy */
  guint argument; /* or MEMRA_NO_PLACE for geometry and copies */
  char *message;  /* owned */
} Change;

struct _MemraArgumentReport
{
  MemraCensus **censuses; /* owned array of owned references */
  guint n_censuses;
  GArray *changes; /* element-type Change */
};

static void
change_clear (gpointer change)
{
  g_free (((Change *) change)->message);
}

/* The same nodes in the same order: else it is not the same layer, and a diff is what is wanted. */
static gboolean
check_same_layer (MemraCensus *const *censuses, guint n, GError **error)
{
  const MemraCensus *a = censuses[0];

  for (guint c = 1; c < n; c++)
    {
      const MemraCensus *b = censuses[c];

      for (guint i = 0; i < MAX (a->nodes->len, b->nodes->len); i++)
        {
          g_autofree char *name_a = i < a->nodes->len ? _memra_census_name_node (a, i) : NULL;
          g_autofree char *name_b = i < b->nodes->len ? _memra_census_name_node (b, i) : NULL;
          const MemraNode *x, *y;

          if (name_a != NULL && name_b != NULL)
            {
              x = _memra_census_node (a, i);
              y = _memra_census_node (b, i);
              if (x->type == y->type && x->depth == y->depth
                  && (x->type != MCU_NODE_KERNEL || x->record == MEMRA_NO_RECORD || y->record == MEMRA_NO_RECORD
                      || strcmp (a->kernels[x->record].function->name, b->kernels[y->record].function->name) == 0))
                continue;
            }
          g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED,
                       "Captures 0 and %u are not of the same layer: at place %u there is %s in one and %s in the other", c, i,
                       name_a != NULL ? name_a : "nothing", name_b != NULL ? name_b : "nothing");
          return FALSE;
        }
    }
  return TRUE;
}

/* "41 -> 42", and for three or more captures all values and whether two of them take turns. */
static char *
describe_values (GPtrArray *values)
{
  GString *text = g_string_new (NULL);
  gboolean alternating = values->len >= 3;

  for (guint i = 0; i < values->len; i++)
    {
      g_string_append_printf (text, "%s%s", i > 0 ? " -> " : "", (const char *) g_ptr_array_index (values, i));
      if (i >= 1 && strcmp (g_ptr_array_index (values, i), g_ptr_array_index (values, i - 1)) == 0)
        alternating = FALSE;
      if (i >= 2 && strcmp (g_ptr_array_index (values, i), g_ptr_array_index (values, i - 2)) != 0)
        alternating = FALSE;
    }
  if (alternating)
    g_string_append_printf (text, ": alternating between two values: one of every two replays would be wrong");
  else
    g_string_append_printf (text, ": frozen into the graph; replay will repeat %s", (const char *) g_ptr_array_index (values, 0));
  return g_string_free (text, FALSE);
}

static void
add_change (MemraArgumentReport *report, guint kernel, guint argument, const char *subject, const char *what, GPtrArray *values)
{
  g_autofree char *described = describe_values (values);
  Change change = { kernel, argument, g_strdup_printf ("%s %s: %s", subject, what, described) };

  g_array_append_val (report->changes, change);
}

typedef char *(*Describe) (const MemraCensus *census, guint32 record, guint index);

/* Adds a change if the description is not the same in all captures. */
static void
compare_described (MemraArgumentReport *report, guint kernel, guint argument, const char *subject, const char *what, guint32 record,
                   guint index, Describe describe)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  gboolean same = TRUE;

  for (guint c = 0; c < report->n_censuses; c++)
    {
      g_ptr_array_add (values, describe (report->censuses[c], record, index));
      same = same && strcmp (g_ptr_array_index (values, c), g_ptr_array_index (values, 0)) == 0;
    }
  if (!same)
    add_change (report, kernel, argument, subject, what, values);
}

static char *
describe_geometry (const MemraCensus *census, guint32 record, guint index G_GNUC_UNUSED)
{
  const MemraKernelNode *kernel = &census->kernels[record];

  return g_strdup_printf ("grid %ux%ux%u block %ux%ux%u shared %u", kernel->grid.x, kernel->grid.y, kernel->grid.z, kernel->block.x,
                          kernel->block.y, kernel->block.z, kernel->shared_bytes);
}

static char *
describe_argument (const MemraCensus *census, guint32 record, guint index)
{
  return _memra_argument_describe (&census->kernels[record], index);
}

static char *
describe_place (const MemraPlace *place)
{
  if (place->kind == MEMRA_PLACE_BUFFER)
    return g_strdup_printf ("buffer %u + %" G_GUINT64_FORMAT, place->buffer, place->offset);
  return g_strdup (place->kind == MEMRA_PLACE_PAGEABLE ? "pageable host memory" : "other memory");
}

static char *
describe_copy (const MemraCensus *census, guint32 record, guint index G_GNUC_UNUSED)
{
  const MemraCopy *copy = &g_array_index (census->copies, MemraCopy, record);
  g_autofree char *source = describe_place (&copy->source);
  g_autofree char *target = describe_place (&copy->target);

  if (copy->direction == MEMRA_COPY_FILL)
    return g_strdup_printf ("%" G_GUINT64_FORMAT " bytes of %u into %s", copy->bytes, copy->value, target);
  return g_strdup_printf ("%" G_GUINT64_FORMAT " bytes from %s to %s", copy->bytes, source, target);
}

static void
compare_kernel (MemraArgumentReport *report, guint32 node, guint32 record)
{
  const MemraKernelNode *first = &report->censuses[0]->kernels[record];
  g_autofree char *subject = _memra_census_name_node (report->censuses[0], node);

  subject[0] = g_ascii_tolower (subject[0]);
  compare_described (report, record, MEMRA_NO_PLACE, subject, "launch", record, 0, describe_geometry);
  for (guint i = 0; first->function->layout_known && i < first->function->n_parameters; i++)
    {
      g_autofree char *what = g_strdup_printf ("argument %u", i);
      gboolean same = TRUE;

      /* By value, without building a text for each of a hundred thousand arguments that did not move. */
      for (guint c = 1; same && c < report->n_censuses; c++)
        same = _memra_argument_equal (first, &report->censuses[c]->kernels[record], i, NULL);
      if (!same)
        compare_described (report, record, i, subject, what, record, i, describe_argument);
    }
}

/**
 * memra_census_compare_arguments:
 * @censuses: (array length=n_censuses): captures of the same layer, at different steps
 * @n_censuses: how many, at least 2
 * @error: return location for an error
 *
 * Lists every scalar, pointer, launch geometry, copy size and address that is not the same in all captures. A value that
 * moves from step to step is frozen into each graph at what it was, and a replay repeats it. Values that take turns
 * between two, as double buffers do, are told apart when three or more captures are given. Pointers are compared by
 * buffer number and offset. Any thread; makes no driver call.
 *
 * Errors: %MEMRA_CENSUS_ERROR_FAILED: the captures are not of the same layer; the message says where they part.
 *
 * Returns: (transfer full): the report
 *
 * Since: 0.1
 */
MemraArgumentReport *
memra_census_compare_arguments (MemraCensus *const *censuses, guint n_censuses, GError **error)
{
  MemraArgumentReport *report;

  g_return_val_if_fail (censuses != NULL, NULL);
  g_return_val_if_fail (n_censuses >= 2, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  if (!check_same_layer (censuses, n_censuses, error))
    return NULL;

  report = g_new0 (MemraArgumentReport, 1);
  report->censuses = g_new (MemraCensus *, n_censuses);
  report->n_censuses = n_censuses;
  for (guint i = 0; i < n_censuses; i++)
    report->censuses[i] = memra_census_ref (censuses[i]);
  report->changes = g_array_new (FALSE, FALSE, sizeof (Change));
  g_array_set_clear_func (report->changes, change_clear);

  for (guint32 i = 0; i < censuses[0]->nodes->len; i++)
    {
      const MemraNode *node = _memra_census_node (censuses[0], i);

      if (node->record == MEMRA_NO_RECORD)
        continue;
      if (node->type == MCU_NODE_KERNEL)
        compare_kernel (report, i, node->record);
      else if (node->type == MCU_NODE_MEMCPY || node->type == MCU_NODE_MEMSET)
        {
          g_autofree char *subject = g_strdup_printf ("copy %u", node->record);

          compare_described (report, MEMRA_NO_PLACE, MEMRA_NO_PLACE, subject, "is", node->record, 0, describe_copy);
        }
    }
  return report;
}

/**
 * memra_argument_report_free:
 * @report: (transfer full) (nullable): a report
 *
 * Frees a report.
 *
 * Since: 0.1
 */
void
memra_argument_report_free (MemraArgumentReport *report)
{
  if (report == NULL)
    return;
  for (guint i = 0; i < report->n_censuses; i++)
    memra_census_unref (report->censuses[i]);
  g_free (report->censuses);
  g_array_unref (report->changes);
  g_free (report);
}

/**
 * memra_argument_report_get_n_changes:
 * @report: a report
 *
 * Gets how many things moved.
 *
 * Returns: the number
 *
 * Since: 0.1
 */
guint
memra_argument_report_get_n_changes (const MemraArgumentReport *report)
{
  g_return_val_if_fail (report != NULL, 0);

  return report->changes->len;
}

/**
 * memra_argument_report_get_change:
 * @report: a report
 * @index: which, less than memra_argument_report_get_n_changes()
 * @kernel: (out) (optional): the kernel, as in memra_census_get_kernel_node(), or %MEMRA_NO_PLACE for a copy
 * @argument: (out) (optional): its argument, or %MEMRA_NO_PLACE for its launch geometry and for copies
 *
 * Gets one thing that moved.
 *
 * Returns: (transfer none): the sentence, owned by @report
 *
 * Since: 0.1
 */
const char *
memra_argument_report_get_change (const MemraArgumentReport *report, guint index, guint *kernel, guint *argument)
{
  const Change *change;

  g_return_val_if_fail (report != NULL && index < report->changes->len, NULL);

  change = &g_array_index (report->changes, Change, index);
  if (kernel != NULL)
    *kernel = change->kernel;
  if (argument != NULL)
    *argument = change->argument;
  return change->message;
}

/* "pattern" or "pattern:argument" */
static gboolean
rule_matches (const char *rule, const char *name, guint argument)
{
  const char *colon = strrchr (rule, ':');
  g_autofree char *pattern = NULL;
  guint64 wanted;

  if (colon != NULL && g_ascii_string_to_unsigned (colon + 1, 10, 0, G_MAXUINT - 1, &wanted, NULL))
    {
      pattern = g_strndup (rule, colon - rule);
      return argument == wanted && g_pattern_match_simple (pattern, name);
    }
  return g_pattern_match_simple (rule, name);
}

static gboolean
rule_has_changes (const MemraArgumentReport *report, const char *rule, GPtrArray *found)
{
  gboolean any = FALSE;

  for (guint i = 0; i < report->changes->len; i++)
    {
      const Change *change = &g_array_index (report->changes, Change, i);

      if (change->kernel == MEMRA_NO_PLACE
          || !rule_matches (rule, report->censuses[0]->kernels[change->kernel].function->name, change->argument))
        continue;
      any = TRUE;
      if (found != NULL)
        g_ptr_array_add (found, g_strdup_printf ("%s must not vary: %s", rule, change->message));
    }
  return any;
}

/**
 * memra_argument_report_check:
 * @report: a report
 * @must_vary: (nullable) (array zero-terminated=1): rules for what has to have moved
 * @must_not_vary: (nullable) (array zero-terminated=1): rules for what must not have moved
 *
 * Holds a report against what is known of the layer. A rule is a pattern for kernel names, with * and ?, or such a
 * pattern, a colon and an argument's number: "memra_dsv4_rope:1".
 *
 * Returns: (transfer full) (element-type utf8): every mismatch as a sentence; empty if all is as it should be
 *
 * Since: 0.1
 */
GPtrArray *
memra_argument_report_check (const MemraArgumentReport *report, const char *const *must_vary, const char *const *must_not_vary)
{
  GPtrArray *mismatches;

  g_return_val_if_fail (report != NULL, NULL);

  mismatches = g_ptr_array_new_with_free_func (g_free);
  for (gsize i = 0; must_vary != NULL && must_vary[i] != NULL; i++)
    if (!rule_has_changes (report, must_vary[i], NULL))
      g_ptr_array_add (mismatches, g_strdup_printf ("%s must vary, and did not", must_vary[i]));
  for (gsize i = 0; must_not_vary != NULL && must_not_vary[i] != NULL; i++)
    rule_has_changes (report, must_not_vary[i], mismatches);
  return mismatches;
}

/**
 * memra_argument_report_to_string:
 * @report: a report
 *
 * Writes the report for people, a line for each thing that moved.
 *
 * Returns: (transfer full): the text, empty if nothing moved
 *
 * Since: 0.1
 */
char *
memra_argument_report_to_string (const MemraArgumentReport *report)
{
  GString *text = g_string_new (NULL);

  g_return_val_if_fail (report != NULL, NULL);

  for (guint i = 0; i < report->changes->len; i++)
    g_string_append_printf (text, "%s\n", g_array_index (report->changes, Change, i).message);
  return g_string_free (text, FALSE);
}
