/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * program.c: a graph made flat, sorted and frozen: what an executable graph runs.
 */
#include "graph-private.h"

HostProgram *
host_program_ref (HostProgram *program)
{
  program->refs++;
  return program;
}

static void
step_clear (HostStep *step)
{
  if (step->bodies != NULL)
    for (unsigned i = 0; i < step->work->u.conditional->size; i++)
      host_program_unref (step->bodies[i]);
  g_free (step->bodies);
  host_work_unref (step->work);
}

void
host_program_unref (HostProgram *program)
{
  if (program == NULL || --program->refs > 0)
    return;
  for (unsigned i = 0; i < program->steps->len; i++)
    step_clear (HOST_STEP (program, i));
  g_array_unref (program->steps);
  g_array_unref (program->edges);
  host_user_objects_free (program->user_objects);
  g_free (program);
}

HostProgram *
host_program_own (HostProgram *program)
{
  if (program->refs == 1)
    return program;

  HostProgram *copy = g_new0 (HostProgram, 1);
  copy->refs = 1;
  copy->n_nodes = program->n_nodes;
  copy->n_special = program->n_special;
  copy->steps = g_array_copy (program->steps);
  copy->edges = g_array_copy (program->edges);
  copy->user_objects = host_user_objects_copy (program->user_objects);
  for (unsigned i = 0; i < copy->steps->len; i++)
    {
      HostStep *step = HOST_STEP (copy, i);
      if (step->work != NULL)
        host_work_ref (step->work);
      if (step->bodies != NULL)
        {
          unsigned size = step->work->u.conditional->size;
          step->bodies = g_memdup2 (step->bodies, size * sizeof *step->bodies);
          for (unsigned b = 0; b < size; b++)
            host_program_ref (step->bodies[b]);
        }
    }
  program->refs--;
  return copy;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Sorting
 */

static void
heap_push (GArray *heap, unsigned value)
{
  g_array_append_val (heap, value);
  unsigned *items = (unsigned *) heap->data;
  for (unsigned i = heap->len - 1; i > 0 && items[(i - 1) / 2] > items[i]; i = (i - 1) / 2)
    {
      unsigned parent = items[(i - 1) / 2];
      items[(i - 1) / 2] = items[i];
      items[i] = parent;
    }
}

static unsigned
heap_pop (GArray *heap)
{
  unsigned *items = (unsigned *) heap->data;
  unsigned top = items[0];
  unsigned last = items[heap->len - 1];
  g_array_set_size (heap, heap->len - 1);
  unsigned i = 0;
  while (heap->len > 0)
    {
      unsigned child = 2 * i + 1;
      if (child + 1 < heap->len && items[child + 1] < items[child])
        child++;
      if (child >= heap->len || items[child] >= last)
        break;
      items[i] = items[child];
      i = child;
    }
  if (heap->len > 0)
    items[i] = last;
  return top;
}

/* The nodes in topological order, ties by creation, as a GPtrArray; NULL and the offender for a cycle. Node positions
 * are used up. */
static GPtrArray *
graph_sort (HostGraph *graph, HostNode **offender)
{
  GPtrArray *sorted = g_ptr_array_sized_new (graph->n_nodes);
  bool forward = true;
  for (HostNode *node = graph->first; node != NULL; node = node->next)
    {
      node->position = sorted->len;
      g_ptr_array_add (sorted, node);
    }
  for (HostNode *node = graph->first; node != NULL && forward; node = node->next)
    for (unsigned i = 0; i < node->dependencies.n && forward; i++)
      forward = node->dependencies.items[i].node->position < node->position;
  if (forward)
    return sorted; /* creation order is one already, and then it is the one wanted */

  GPtrArray *created = sorted;
  sorted = g_ptr_array_sized_new (graph->n_nodes);
  unsigned *pending = g_new (unsigned, graph->n_nodes);
  GArray *ready = g_array_new (FALSE, FALSE, sizeof (unsigned));
  for (unsigned i = 0; i < created->len; i++)
    {
      HostNode *node = created->pdata[i];
      pending[i] = node->dependencies.n;
      if (pending[i] == 0)
        heap_push (ready, i);
    }
  while (ready->len > 0)
    {
      HostNode *node = created->pdata[heap_pop (ready)];
      g_ptr_array_add (sorted, node);
      for (unsigned i = 0; i < node->dependents.n; i++)
        {
          unsigned next = node->dependents.items[i].node->position;
          if (--pending[next] == 0)
            heap_push (ready, next);
        }
    }
  if (sorted->len < created->len)
    {
      for (unsigned i = 0; i < created->len; i++)
        if (pending[i] > 0)
          *offender = created->pdata[i];
      g_clear_pointer (&sorted, g_ptr_array_unref);
    }
  g_array_unref (ready);
  g_free (pending);
  g_ptr_array_unref (created);
  return sorted;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Flattening
 */

static HostStep *
program_add_step (HostProgram *program, HostStepKind kind, HostNode *node, HostWork *work, unsigned depth)
{
  HostStep step = { .kind = kind,
                    .node = node,
                    .uid = node->uid,
                    .work = work,
                    .depth = depth,
                    .special = -1,
                    .enabled = true,
                    .first = program->edges->len };
  g_array_append_val (program->steps, step);
  return HOST_STEP (program, program->steps->len - 1);
}

static void
program_add_edge (HostProgram *program, HostStep *step, unsigned from, const McuEdgeData *data)
{
  HostStepEdge edge = { .step = from };
  if (data != NULL)
    edge.data = *data;
  g_array_append_val (program->edges, edge);
  step->n++;
}

static bool
type_is_special (int type)
{
  return type == MCU_NODE_WAIT_EVENT || type == MCU_NODE_EVENT_RECORD || type == MCU_NODE_MEM_ALLOC
         || type == MCU_NODE_MEM_FREE;
}

static McuResult program_add_graph (HostProgram *program, HostGraph *graph, int enter, unsigned depth,
                                    HostNode **offender);

static McuResult
step_add_bodies (HostStep *step, HostConditional *conditional, HostNode **offender)
{
  /* No kernel can end the loop. */
  if (conditional->type == MCU_COND_WHILE && conditional->value != 0)
    return host_unsupported ("WHILE nodes that start true");
  step->bodies = g_new0 (HostProgram *, conditional->size);
  for (unsigned i = 0; i < conditional->size; i++)
    {
      McuResult result = host_program_new (&step->bodies[i], conditional->bodies[i], offender);
      if (result != MCU_SUCCESS)
        return result;
    }
  return MCU_SUCCESS;
}

/* One node; its position becomes the step that its dependents depend on. */
static McuResult
program_add_node (HostProgram *program, HostNode *node, int enter, unsigned depth, HostNode **offender)
{
  bool child = node->work->type == MCU_NODE_GRAPH;
  HostWork *work = child                                 ? NULL
                   : node->work->type == MCU_NODE_KERNEL ? host_work_copy (node->work)
                                                         : host_work_ref (node->work);
  HostStep *step = program_add_step (program, child ? HOST_STEP_ENTER : HOST_STEP_NODE, node, work, depth);
  for (unsigned i = 0; i < node->dependencies.n; i++)
    program_add_edge (program, step, node->dependencies.items[i].node->position, &node->dependencies.items[i].data);
  if (node->dependencies.n == 0 && enter >= 0)
    program_add_edge (program, step, (unsigned) enter, NULL);

  unsigned index = program->steps->len - 1;
  node->position = index;
  if (work != NULL && type_is_special (work->type))
    step->special = (int) program->n_special++;
  if (work != NULL && work->type == MCU_NODE_CONDITIONAL)
    return step_add_bodies (step, work->u.conditional, offender);
  if (!child)
    return MCU_SUCCESS;

  HostGraph *inner = node->work->u.child;
  McuResult result = program_add_graph (program, inner, (int) index, depth + 1, offender);
  if (result != MCU_SUCCESS)
    return result;
  HostStep *leave = program_add_step (program, HOST_STEP_LEAVE, node, NULL, depth);
  for (HostNode *last = inner->first; last != NULL; last = last->next)
    if (last->dependents.n == 0)
      program_add_edge (program, leave, last->position, NULL);
  program_add_edge (program, leave, index, NULL);
  leave->partner = index;
  leave->peers = inner->n_nodes;
  node->position = program->steps->len - 1;
  HOST_STEP (program, index)->partner = node->position;
  HOST_STEP (program, index)->peers = inner->n_nodes;
  return MCU_SUCCESS;
}

static McuResult
program_add_graph (HostProgram *program, HostGraph *graph, int enter, unsigned depth, HostNode **offender)
{
  GPtrArray *sorted = graph_sort (graph, offender);
  if (sorted == NULL)
    return MCU_ERROR_INVALID_VALUE;
  McuResult result = MCU_SUCCESS;
  for (unsigned i = 0; i < sorted->len && result == MCU_SUCCESS; i++)
    result = program_add_node (program, sorted->pdata[i], enter, depth, offender);
  g_ptr_array_unref (sorted);
  return result;
}

/* The user objects of a graph and of its child graphs. */
static void
program_collect_user_objects (HostProgram *program, HostGraph *graph)
{
  GHashTableIter iter;
  gpointer key;

  if (graph->user_objects != NULL)
    {
      if (program->user_objects == NULL)
        program->user_objects = g_hash_table_new (NULL, NULL);
      g_hash_table_iter_init (&iter, graph->user_objects);
      while (g_hash_table_iter_next (&iter, &key, NULL))
        if (!g_hash_table_contains (program->user_objects, key))
          {
            host_user_object_retain (key, 1);
            g_hash_table_insert (program->user_objects, key, GUINT_TO_POINTER (1));
          }
    }
  for (HostNode *node = graph->first; node != NULL; node = node->next)
    if (node->work->type == MCU_NODE_GRAPH)
      program_collect_user_objects (program, node->work->u.child);
}

McuResult
host_program_new (HostProgram **out, HostGraph *graph, HostNode **offender)
{
  HostProgram *program = g_new0 (HostProgram, 1);
  program->refs = 1;
  program->n_nodes = graph->n_nodes;
  program->steps = g_array_sized_new (FALSE, FALSE, sizeof (HostStep), graph->n_nodes);
  program->edges = g_array_sized_new (FALSE, FALSE, sizeof (HostStepEdge), graph->n_nodes);
  *offender = NULL;
  McuResult result = program_add_graph (program, graph, -1, 0, offender);
  if (result == MCU_SUCCESS)
    program_collect_user_objects (program, graph);
  else
    g_clear_pointer (&program, host_program_unref);
  *out = program;
  return result;
}

/* ---------------------------------------------------------------------------------------------------------------
 * Another legal order
 */

static unsigned
random_below (uint64_t *state, unsigned n)
{
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return (unsigned) ((x >> 11) % n);
}

unsigned *
host_program_shuffle (HostProgram *program, unsigned seed)
{
  unsigned n = program->steps->len;
  unsigned *order = g_new (unsigned, MAX (n, 1));
  unsigned *pending = g_new (unsigned, MAX (n, 1));
  unsigned *first = g_new0 (unsigned, n + 2); /* dependents of step i: out[first[i] ... first[i + 1] - 1] */
  unsigned *out = g_new (unsigned, MAX (program->edges->len, 1));
  unsigned *ready = g_new (unsigned, MAX (n, 1));
  unsigned n_ready = 0;
  uint64_t state = 0x9e3779b97f4a7c15u ^ ((uint64_t) seed << 16 | seed);

  for (unsigned i = 0; i < program->edges->len; i++)
    first[HOST_STEP_EDGE (program, i)->step + 2]++;
  for (unsigned i = 2; i < n + 2; i++)
    first[i] += first[i - 1];
  for (unsigned i = 0; i < n; i++)
    {
      const HostStep *step = HOST_STEP (program, i);
      pending[i] = step->n;
      if (step->n == 0)
        ready[n_ready++] = i;
      for (unsigned e = 0; e < step->n; e++)
        out[first[HOST_STEP_EDGE (program, step->first + e)->step + 1]++] = i;
    }
  for (unsigned done = 0; n_ready > 0; done++)
    {
      unsigned pick = random_below (&state, n_ready);
      unsigned step = ready[pick];
      ready[pick] = ready[--n_ready];
      order[done] = step;
      for (unsigned i = first[step]; i < first[step + 1]; i++)
        if (--pending[out[i]] == 0)
          ready[n_ready++] = out[i];
    }
  g_free (pending);
  g_free (first);
  g_free (out);
  g_free (ready);
  return order;
}
