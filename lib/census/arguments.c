/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What moves from one capture of a layer to the next is frozen in each of them: a replay repeats the old value. This
 * finds it by comparing captures taken at different steps.
 */
#include "config.h"

#include "census/arguments-private.h"

#include <string.h>

/* Values that are told of one thing, and things that are told of one argument. */
#define MOST_VALUES 8
#define MOST_PARTS  8

static void
change_clear (gpointer item)
{
  MemraArgumentChange *change = item;

  g_free (change->what);
  g_free (change->values);
  g_free (change->message);
}

static gboolean
same_signature (const MemraKernelNode *a, const MemraKernelNode *b)
{
  guint n = _memra_kernel_n_comparable (a);

  if (a->function == b->function && a->n_bytes == b->n_bytes)
    return TRUE;
  if (a->function->layout_known != b->function->layout_known || n != _memra_kernel_n_comparable (b))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (_memra_argument_size (a, i) != _memra_argument_size (b, i))
      return FALSE;
  return TRUE;
}

/* Whether what differs between two nodes can only be what they are given. */
static gboolean
same_node (const MemraCensus *a, const MemraCensus *b, guint32 number, gboolean *same_arguments)
{
  const MemraNode *x = _memra_census_node (a, number), *y = _memra_census_node (b, number);

  *same_arguments = TRUE;
  if (x->type != y->type || x->depth != y->depth)
    return FALSE;
  if (x->type != MCU_NODE_KERNEL)
    return TRUE;
  if (strcmp (a->kernels[x->record].function->name, b->kernels[y->record].function->name) != 0)
    return FALSE;
  *same_arguments = same_signature (&a->kernels[x->record], &b->kernels[y->record]);
  return *same_arguments;
}

/* The same nodes in the same order: else it is not the same layer, and a diff is what is wanted. */
static gboolean
check_same_layer (MemraCensus *const *censuses, guint n, GError **error)
{
  const MemraCensus *a = censuses[0];

  for (guint c = 0; c < n; c++)
    {
      const MemraCensus *b = censuses[c];
      guint32 i = 0;
      gboolean same_arguments = TRUE;
      g_autofree char *name_a = NULL;
      g_autofree char *name_b = NULL;

      if (_memra_census_is_partial (b))
        {
          g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED,
                       "Capture %u is partial: its kernels and copies could not be read", c);
          return FALSE;
        }
      while (i < a->nodes->len && i < b->nodes->len && same_node (a, b, i, &same_arguments))
        i++;
      if (i == a->nodes->len && i == b->nodes->len)
        continue;
      name_a = i < a->nodes->len ? _memra_census_name_node (a, i) : g_strdup ("nothing");
      name_b = i < b->nodes->len ? _memra_census_name_node (b, i) : g_strdup ("nothing");
      if (!same_arguments)
        g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED,
                     "Captures 0 and %u cannot be compared: in one, %s takes other arguments than in the other, or the "
                     "driver did not tell them",
                     c, name_a);
      else
        g_set_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED,
                     "Captures 0 and %u are not of the same layer: at place %u there is %s in one and %s in the other",
                     c, i, name_a, name_b);
      return FALSE;
    }
  return TRUE;
}

static const char *
value_at (const GPtrArray *values, guint i)
{
  return g_ptr_array_index (values, i);
}

/* "41 -> 42", and for three or more captures all values and whether two of them take turns. */
static char *
describe_values (const GPtrArray *values)
{
  GString *text = g_string_new (NULL);
  gboolean alternating = values->len >= 3 && strcmp (value_at (values, 0), value_at (values, 1)) != 0;

  for (guint i = 0; i < values->len; i++)
    {
      if (i < MOST_VALUES)
        g_string_append_printf (text, "%s%s", i > 0 ? " -> " : "", value_at (values, i));
      else if (i == MOST_VALUES)
        g_string_append (text, " -> ...");
      if (i >= 2 && strcmp (value_at (values, i), value_at (values, i - 2)) != 0)
        alternating = FALSE;
    }
  if (alternating)
    g_string_append (text, ": alternating between two values: one of every two replays would be wrong");
  else
    g_string_append_printf (text, ": frozen into the graph; replay will repeat %s", value_at (values, 0));
  return g_string_free (text, FALSE);
}

/* What one thing is in one of the captures. */
typedef struct
{
  guint32 node;
  guint32 record;
  guint argument;
  MemraPart part;
} Thing;

typedef char *(*Describe) (const MemraCensus *census, const Thing *thing);

static void
add_change (MemraArgumentReport *report, const Thing *thing, gboolean is_kernel, const char *what, Describe describe)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *subject = _memra_census_name_node (report->censuses[0], thing->node);
  MemraArgumentChange change
      = { is_kernel ? thing->record : MEMRA_NO_PLACE, thing->argument, thing->node, g_strdup (what), NULL, NULL };

  for (guint c = 0; c < report->n_censuses; c++)
    g_ptr_array_add (values, describe (report->censuses[c], thing));
  subject[0] = g_ascii_tolower (subject[0]);
  change.values = describe_values (values);
  change.message = g_strdup_printf ("%s %s: %s", subject, what, change.values);
  g_array_append_val (report->changes, change);
}

static const MemraKernelNode *
kernel_in (const MemraArgumentReport *report, guint census, guint32 record)
{
  return &report->censuses[census]->kernels[record];
}

static char *
dup_dim (MemraDim3 dim)
{
  return g_strdup_printf ("%ux%ux%u", dim.x, dim.y, dim.z);
}

static char *
describe_grid (const MemraCensus *census, const Thing *thing)
{
  return dup_dim (census->kernels[thing->record].grid);
}

static char *
describe_block (const MemraCensus *census, const Thing *thing)
{
  return dup_dim (census->kernels[thing->record].block);
}

static char *
describe_shared (const MemraCensus *census, const Thing *thing)
{
  return g_strdup_printf ("%u", census->kernels[thing->record].shared_bytes);
}

static char *
describe_argument (const MemraCensus *census, const Thing *thing)
{
  return _memra_argument_describe (&census->kernels[thing->record], thing->argument, thing->part, census, NULL);
}

static gboolean
same_dim (MemraDim3 a, MemraDim3 b)
{
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

static void
compare_geometry (MemraArgumentReport *report, const Thing *thing)
{
  const MemraKernelNode *first = kernel_in (report, 0, thing->record);
  gboolean grid = FALSE, block = FALSE, shared = FALSE;

  for (guint c = 1; c < report->n_censuses; c++)
    {
      const MemraKernelNode *other = kernel_in (report, c, thing->record);

      grid = grid || !same_dim (first->grid, other->grid);
      block = block || !same_dim (first->block, other->block);
      shared = shared || first->shared_bytes != other->shared_bytes;
    }
  if (grid)
    add_change (report, thing, TRUE, "grid", describe_grid);
  if (block)
    add_change (report, thing, TRUE, "block", describe_block);
  if (shared)
    add_change (report, thing, TRUE, "shared memory", describe_shared);
}

/* All parts of an argument that are not the same in every capture. */
static void
tell_argument (MemraArgumentReport *report, Thing *thing)
{
  const MemraKernelNode *first = kernel_in (report, 0, thing->record);
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (MemraPart));

  for (guint c = 1; c < report->n_censuses; c++)
    _memra_argument_add_differences (first, kernel_in (report, c, thing->record), thing->argument, &report->pairings[c],
                                     parts);
  for (guint i = 0; i < parts->len && i < MOST_PARTS; i++)
    {
      g_autofree char *name = NULL;
      g_autofree char *what = NULL;

      thing->part = g_array_index (parts, MemraPart, i);
      name = _memra_argument_name (first, thing->argument, thing->part);
      what = i + 1 == MOST_PARTS && parts->len > MOST_PARTS
                 ? g_strdup_printf ("%s (and %u words more)", name, parts->len - MOST_PARTS)
                 : g_strdup (name);
      add_change (report, thing, TRUE, what, describe_argument);
    }
}

static void
compare_kernel (MemraArgumentReport *report, guint32 node, guint32 record)
{
  const MemraKernelNode *first = kernel_in (report, 0, record);
  Thing thing = { node, record, MEMRA_NO_PLACE, { 0, 0 } };
  guint n = _memra_kernel_n_comparable (first);

  compare_geometry (report, &thing);
  for (guint i = 0; i < n; i++)
    {
      gboolean same = TRUE;

      /* By value, without building a text for each of a hundred thousand arguments that did not move. */
      for (guint c = 1; same && c < report->n_censuses; c++)
        same = _memra_argument_equal (first, kernel_in (report, c, record), i, &report->pairings[c]);
      thing.argument = i;
      if (!same)
        tell_argument (report, &thing);
    }
}

static const MemraCopy *
copy_in (const MemraCensus *census, const Thing *thing)
{
  return &g_array_index (census->copies, MemraCopy, thing->record);
}

static char *
describe_place (const MemraCensus *census, const MemraPlace *place)
{
  if (place->kind == MEMRA_PLACE_PAGEABLE)
    return g_strdup ("pageable host memory");
  if (place->kind != MEMRA_PLACE_BUFFER)
    return g_strdup ("other memory");
  if (_memra_census_has_addresses (census))
    return g_strdup_printf ("buffer %u + %" G_GUINT64_FORMAT " (0x%" G_GINT64_MODIFIER "x)", place->buffer,
                            place->offset,
                            g_array_index (census->allocations, MemraAllocation, place->buffer).start + place->offset);
  return g_strdup_printf ("buffer %u + %" G_GUINT64_FORMAT, place->buffer, place->offset);
}

static char *
describe_source (const MemraCensus *census, const Thing *thing)
{
  return describe_place (census, &copy_in (census, thing)->source);
}

static char *
describe_target (const MemraCensus *census, const Thing *thing)
{
  return describe_place (census, &copy_in (census, thing)->target);
}

static char *
describe_size (const MemraCensus *census, const Thing *thing)
{
  const MemraCopy *copy = copy_in (census, thing);

  if (copy->extent[1] <= 1 && copy->extent[2] <= 1)
    return g_strdup_printf ("%" G_GUINT64_FORMAT " bytes", copy->bytes);
  return g_strdup_printf ("%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT " bytes", copy->extent[0],
                          copy->extent[1], copy->extent[2]);
}

static char *
describe_value (const MemraCensus *census, const Thing *thing)
{
  return g_strdup_printf ("0x%x", copy_in (census, thing)->value);
}

static gboolean
same_place (const MemraPairing *pairing, const MemraPlace *a, const MemraPlace *b)
{
  return a->kind == b->kind && a->pitch == b->pitch
         && (a->kind != MEMRA_PLACE_BUFFER
             || _memra_pairing_match (pairing, a->buffer, a->offset, b->buffer, b->offset));
}

static void
compare_copy (MemraArgumentReport *report, guint32 node, guint32 record)
{
  const Thing thing = { node, record, MEMRA_NO_PLACE, { 0, 0 } };
  const MemraCopy *first = copy_in (report->censuses[0], &thing);
  gboolean size = FALSE, value = FALSE, source = FALSE, target = FALSE;

  for (guint c = 1; c < report->n_censuses; c++)
    {
      const MemraCopy *other = copy_in (report->censuses[c], &thing);

      size = size || memcmp (first->extent, other->extent, sizeof first->extent) != 0;
      value = value || first->value != other->value;
      source = source || !same_place (&report->pairings[c], &first->source, &other->source);
      target = target || !same_place (&report->pairings[c], &first->target, &other->target);
    }
  if (size)
    add_change (report, &thing, FALSE, "size", describe_size);
  if (value)
    add_change (report, &thing, FALSE, "value", describe_value);
  if (source)
    add_change (report, &thing, FALSE, "source", describe_source);
  if (target)
    add_change (report, &thing, FALSE, "target", describe_target);
}

static char *
describe_allocation (const MemraCensus *census, const Thing *thing)
{
  return g_strdup_printf ("%" G_GUINT64_FORMAT " bytes",
                          g_array_index (census->details, MemraDetail, thing->record).bytes);
}

static void
compare_allocation (MemraArgumentReport *report, guint32 node, guint32 record)
{
  const Thing thing = { node, record, MEMRA_NO_PLACE, { 0, 0 } };
  gboolean same = TRUE;

  for (guint c = 1; same && c < report->n_censuses; c++)
    {
      const MemraCensus *a = report->censuses[0], *b = report->censuses[c];

      same = g_array_index (a->details, MemraDetail, record).bytes
             == g_array_index (b->details, MemraDetail, _memra_census_node (b, node)->record).bytes;
    }
  if (!same)
    add_change (report, &thing, FALSE, "size", describe_allocation);
}

/* Kernels and copies have the same record in every capture of one layer, since all of them have one. */
static void
compare_node (MemraArgumentReport *report, guint32 number)
{
  const MemraNode *node = _memra_census_node (report->censuses[0], number);

  switch (node->type)
    {
    case MCU_NODE_KERNEL:
      compare_kernel (report, number, node->record);
      break;
    case MCU_NODE_MEMCPY:
    case MCU_NODE_MEMSET:
      compare_copy (report, number, node->record);
      break;
    case MCU_NODE_MEM_ALLOC:
      for (guint c = 0; c < report->n_censuses; c++)
        if (_memra_census_node (report->censuses[c], number)->record != node->record || node->record == MEMRA_NO_RECORD)
          return;
      compare_allocation (report, number, node->record);
      break;
    default:
      break;
    }
}

/**
 * memra_census_compare_arguments:
 * @censuses: (array length=n_censuses): captures of the same layer, at different steps
 * @n_censuses: how many, at least 2
 * @error: return location for an error
 *
 * Lists every scalar, pointer, launch geometry, copy size and address that is not the same in all captures. A value
 * that moves from step to step is frozen into each graph at what it was, and a replay repeats it. Values that take
 * turns between two, as double buffers do, are told apart when three or more captures are given. What has no known
 * layout (a struct) is told by its words.
 *
 * Pointers are compared by address, but for memory that the graph allocates itself. A census that was read from a file
 * holds no addresses: with such a one they are compared by buffer number and offset, and two buffers that take turns in
 * the same role look the same. Any thread; makes no driver call.
 *
 * Errors: %MEMRA_CENSUS_ERROR_FAILED: the captures are not of the same layer, or one is partial; the message says where
 * they part.
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
  report->pairings = g_new0 (MemraPairing, n_censuses);
  report->n_censuses = n_censuses;
  for (guint i = 0; i < n_censuses; i++)
    {
      report->censuses[i] = memra_census_ref (censuses[i]);
      _memra_pairing_init_addresses (&report->pairings[i], censuses[0], censuses[i]);
    }
  report->changes = g_array_new (FALSE, FALSE, sizeof (MemraArgumentChange));
  g_array_set_clear_func (report->changes, change_clear);

  for (guint32 i = 0; i < censuses[0]->nodes->len; i++)
    compare_node (report, i);
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
  g_free (report->pairings);
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
 * @kernel: (out) (optional): the kernel, as in memra_census_get_kernel_node(), or %MEMRA_NO_PLACE for another
 *   node
 * @argument: (out) (optional): its argument, or %MEMRA_NO_PLACE for what is no argument
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
  const MemraArgumentChange *change;

  g_return_val_if_fail (report != NULL && index < report->changes->len, NULL);

  change = &g_array_index (report->changes, MemraArgumentChange, index);
  if (kernel != NULL)
    *kernel = change->kernel;
  if (argument != NULL)
    *argument = change->argument;
  return change->message;
}
