/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "census-fake.h"

#include <stdio.h>
#include <string.h>

static GPtrArray *graphs;   /* FakeGraph */
static GArray *memories;    /* FakeMemory */
static const char *failing; /* entry */
static guint fail_from;
static McuResult fail_result;
static const char *dump_text;

/* Calls of one entry point; counters stay for the life of the process and start anew with each fake. */
typedef struct
{
  const char *entry;
  guint n;
} Counter;

static Counter counters[32];

static Counter *
find_counter (const char *entry)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (counters) && counters[i].entry != NULL; i++)
    if (strcmp (counters[i].entry, entry) == 0)
      return &counters[i];
  g_assert_cmpuint (i, <, G_N_ELEMENTS (counters));
  counters[i].entry = entry;
  return &counters[i];
}

static McuResult
enter (Counter *counter)
{
  counter->n++;
  return failing != NULL && strcmp (failing, counter->entry) == 0 && counter->n >= fail_from ? fail_result
                                                                                             : MCU_SUCCESS;
}

#define ENTER(entry)                                                                                                   \
  G_STMT_START                                                                                                         \
  {                                                                                                                    \
    static Counter *counter_;                                                                                          \
    McuResult result_;                                                                                                 \
                                                                                                                       \
    if (counter_ == NULL)                                                                                              \
      counter_ = find_counter (entry);                                                                                 \
    result_ = enter (counter_);                                                                                        \
    if (result_ != MCU_SUCCESS)                                                                                        \
      return result_;                                                                                                  \
  }                                                                                                                    \
  G_STMT_END

void
fake_fail (const char *entry, guint nth, McuResult result)
{
  failing = entry;
  fail_from = nth;
  fail_result = result;
}

guint
fake_count (const char *entry)
{
  return find_counter (entry)->n;
}

void
fake_set_dump (const char *text)
{
  dump_text = text;
}

static McuResult
get_error_name (int error, const char **name)
{
  *name = error == MCU_ERROR_UNKNOWN ? "CUDA_ERROR_UNKNOWN" : NULL;
  return *name != NULL ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

static McuResult
get_error_string (int error G_GNUC_UNUSED, const char **text)
{
  *text = "unknown error";
  return MCU_SUCCESS;
}

static McuResult
get_nodes (CUgraph handle, CUgraphNode *nodes, size_t *count)
{
  const FakeGraph *graph = (const FakeGraph *) handle;
  size_t n = graph->nodes->len;

  ENTER ("cuGraphGetNodes");
  for (size_t i = 0; nodes != NULL && i < *count; i++)
    nodes[i] = i < n ? graph->nodes->pdata[i] : NULL;
  *count = nodes != NULL ? MIN (*count, n) : n;
  return MCU_SUCCESS;
}

static McuResult
get_type (CUgraphNode handle, int *type)
{
  ENTER ("cuGraphNodeGetType");
  *type = ((const FakeNode *) handle)->type;
  return MCU_SUCCESS;
}

static McuResult
get_dependencies_v2 (CUgraphNode handle, CUgraphNode *dependencies, McuEdgeData *data, size_t *count)
{
  const GArray *edges = ((const FakeNode *) handle)->edges;

  ENTER ("cuGraphNodeGetDependencies");
  if (dependencies == NULL)
    *count = edges->len;
  *count = MIN (*count, edges->len);
  for (size_t i = 0; dependencies != NULL && i < *count; i++)
    {
      const FakeEdge *edge = &g_array_index (edges, FakeEdge, i);

      if (data == NULL && edge->data.type != MCU_EDGE_DEFAULT)
        return MCU_ERROR_LOSSY_QUERY;
      dependencies[i] = (CUgraphNode) edge->from;
      if (data != NULL)
        data[i] = edge->data;
    }
  return MCU_SUCCESS;
}

static McuResult
get_dependencies (CUgraphNode handle, CUgraphNode *dependencies, size_t *count)
{
  return get_dependencies_v2 (handle, dependencies, NULL, count);
}

static McuResult
get_kernel_params (CUgraphNode handle, McuKernelNodeParams *params)
{
  const McuKernelNodeParams *kernel = &((const FakeNode *) handle)->kernel;

  ENTER ("cuGraphKernelNodeGetParams");
  memcpy (params, kernel, G_STRUCT_OFFSET (McuKernelNodeParams, kern));
  return MCU_SUCCESS;
}

static McuResult
get_kernel_params_v2 (CUgraphNode handle, McuKernelNodeParams *params)
{
  ENTER ("cuGraphKernelNodeGetParams");
  *params = ((const FakeNode *) handle)->kernel;
  return MCU_SUCCESS;
}

static McuResult
get_copy (CUgraphNode handle, McuMemcpy3D *params)
{
  ENTER ("cuGraphMemcpyNodeGetParams");
  *params = ((const FakeNode *) handle)->copy;
  return MCU_SUCCESS;
}

static McuResult
get_fill (CUgraphNode handle, McuMemsetNodeParams *params)
{
  ENTER ("cuGraphMemsetNodeGetParams");
  *params = ((const FakeNode *) handle)->fill;
  return MCU_SUCCESS;
}

static McuResult
get_alloc (CUgraphNode handle, McuMemAllocNodeParams *params)
{
  const FakeNode *node = (const FakeNode *) handle;

  ENTER ("cuGraphMemAllocNodeGetParams");
  memset (params, 0, sizeof *params);
  params->byte_size = node->memory_size;
  params->dptr = node->memory;
  return MCU_SUCCESS;
}

static McuResult
get_free (CUgraphNode handle, CUdeviceptr *address)
{
  ENTER ("cuGraphMemFreeNodeGetParams");
  *address = ((const FakeNode *) handle)->memory;
  return MCU_SUCCESS;
}

static McuResult
get_child (CUgraphNode handle, CUgraph *child)
{
  ENTER ("cuGraphChildGraphNodeGetGraph");
  *child = ((const FakeNode *) handle)->bodies[0];
  return MCU_SUCCESS;
}

static McuResult
get_params (CUgraphNode handle, McuNodeParams *params)
{
  FakeNode *node = (FakeNode *) handle;

  ENTER ("cuGraphNodeGetParams");
  params->type = node->type;
  params->u.conditional.size = node->n_bodies;
  params->u.conditional.graphs_out = node->bodies;
  return MCU_SUCCESS;
}

static void
print_node (FILE *file, guint graph, guint index, const FakeNode *node, GPtrArray *queue)
{
  static const char *const words[] = { NULL, "MEMCPY", "MEMSET", "HOST", NULL, "EMPTY" };

  fprintf (file, "\"graph_%u_node_%u\"[style=\"bold\" ", graph, index);
  if (node->type == MCU_NODE_CONDITIONAL)
    {
      fprintf (file, "shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | %u}\n| {node handle| 0x%016lX}\n", index,
               (gulong) node);
      fprintf (file, "| {Conditional Type| SWITCH}\n");
      for (guint i = 0; i < node->n_bodies; i++)
        {
          g_ptr_array_add (queue, node->bodies[i]);
          fprintf (file, "| {%u|  graph_%u}\n", i, queue->len);
        }
      fprintf (file, "}\n\"];\n\n");
    }
  else if (node->type == MCU_NODE_KERNEL)
    fprintf (file, "shape=\"octagon\" label=\"%u\n%s\nnode handle: 0x%016lX\nfunc handle: 0x%016lX\n\"];\n\n", index,
             ((const FakeFunction *) node->kernel.func)->name, (gulong) node, (gulong) node->kernel.func);
  else
    fprintf (file, "shape=\"rectangle\" label=\"%u\n%s\nnode handle: 0x%016lX\n\"];\n\n", index,
             node->type < (int) G_N_ELEMENTS (words) && words[node->type] != NULL ? words[node->type] : "OTHER",
             (gulong) node);
}

static McuResult
print_dump (CUgraph graph, const char *path, unsigned flags G_GNUC_UNUSED)
{
  g_autoptr (GPtrArray) queue = g_ptr_array_new ();
  FILE *file;

  ENTER ("cuGraphDebugDotPrint");
  file = fopen (path, "w");
  if (file == NULL)
    return MCU_ERROR_OPERATING_SYSTEM;
  if (dump_text != NULL)
    fputs (dump_text, file);
  else
    {
      fprintf (file, "digraph dot {\n");
      g_ptr_array_add (queue, graph);
      for (guint i = 0; i < queue->len; i++)
        {
          const FakeGraph *one = queue->pdata[i];

          fprintf (file, "subgraph cluster_%u {\nlabel=\"graph_%u\" graph[style=\"dashed\"];\n", i + 1, i + 1);
          for (guint k = 0; k < one->nodes->len; k++)
            print_node (file, i + 1, k, one->nodes->pdata[k], queue);
          fprintf (file, "\"graph_%u_node_0\" -> \"graph_%u_node_1\";\n}\n", i + 1, i + 1);
        }
      fprintf (file, "}\n");
    }
  fclose (file);
  return MCU_SUCCESS;
}

static McuResult
get_name (const char **name, CUfunction handle)
{
  ENTER ("cuFuncGetName");
  *name = ((const FakeFunction *) handle)->name;
  return *name != NULL ? MCU_SUCCESS : MCU_ERROR_INVALID_HANDLE;
}

static McuResult
get_kernel_name (const char **name, CUkernel handle)
{
  ENTER ("cuKernelGetName");
  *name = ((const FakeFunction *) handle)->name;
  return *name != NULL ? MCU_SUCCESS : MCU_ERROR_INVALID_HANDLE;
}

static McuResult
get_parameter (const FakeFunction *function, size_t index, size_t *offset, size_t *size)
{
  if (index >= function->n_parameters)
    return MCU_ERROR_INVALID_VALUE;
  *offset = function->offsets[index];
  *size = function->sizes[index];
  return MCU_SUCCESS;
}

static McuResult
get_func_parameter (CUfunction handle, size_t index, size_t *offset, size_t *size)
{
  ENTER ("cuFuncGetParamInfo");
  return get_parameter ((const FakeFunction *) handle, index, offset, size);
}

static McuResult
get_kernel_parameter (CUkernel handle, size_t index, size_t *offset, size_t *size)
{
  ENTER ("cuKernelGetParamInfo");
  return get_parameter ((const FakeFunction *) handle, index, offset, size);
}

FakeMemory *
fake_find_memory (guint64 address)
{
  for (guint i = 0; i < memories->len; i++)
    {
      FakeMemory *memory = &g_array_index (memories, FakeMemory, i);
      guint64 start = memory->mapping != 0 ? memory->mapping : memory->start;
      guint64 size = memory->mapping != 0 ? memory->mapping_size : memory->size;

      if (address >= start && address < start + size)
        return memory;
    }
  return NULL;
}

static McuResult
get_attributes (unsigned n, int *attributes, void **answers, CUdeviceptr address)
{
  const FakeMemory *memory = fake_find_memory (address);

  ENTER ("cuPointerGetAttributes");
  for (unsigned i = 0; i < n; i++)
    switch (attributes[i])
      {
      case MCU_POINTER_BUFFER_ID:
        *(guint64 *) answers[i] = memory != NULL ? memory->id : 0;
        break;
      case MCU_POINTER_MEMORY_BLOCK_ID:
        *(guint64 *) answers[i] = memory != NULL ? memory->block_id : 0;
        break;
      case MCU_POINTER_MEMORY_TYPE:
        *(guint32 *) answers[i] = memory != NULL ? (guint32) memory->type : 0;
        break;
      case MCU_POINTER_RANGE_START_ADDR: /* these two are left alone for an unknown address */
        if (memory != NULL)
          *(guint64 *) answers[i] = memory->start;
        break;
      case MCU_POINTER_RANGE_SIZE:
        if (memory != NULL)
          *(guint64 *) answers[i] = memory->size;
        break;
      case MCU_POINTER_MAPPING_BASE_ADDR: /* without a mapping of its own, an allocation is part of a larger block */
        *(guint64 *) answers[i] = memory == NULL         ? 0
                                  : memory->mapping != 0 ? memory->mapping
                                                         : memory->start & ~G_GUINT64_CONSTANT (0xfffff);
        break;
      case MCU_POINTER_MAPPING_SIZE:
        *(guint64 *) answers[i] = memory == NULL         ? 0
                                  : memory->mapping != 0 ? memory->mapping_size
                                                         : memory->size + 0x100000;
        break;
      default:
        return MCU_ERROR_INVALID_VALUE;
      }
  return MCU_SUCCESS;
}

void
fake_add_memory (guint64 start, guint64 size, guint64 id, int type)
{
  FakeMemory memory = { .start = start, .size = size, .id = id, .block_id = 77, .type = type };

  g_array_append_val (memories, memory);
}

void
fake_remove_memory (guint64 start)
{
  for (guint i = 0; i < memories->len; i++)
    if (g_array_index (memories, FakeMemory, i).start == start)
      {
        g_array_remove_index (memories, i);
        return;
      }
  g_assert_not_reached ();
}

static void
free_node (gpointer data)
{
  FakeNode *node = data;

  g_array_unref (node->edges);
  g_free (node);
}

static void
free_graph (gpointer data)
{
  FakeGraph *graph = data;

  g_ptr_array_unref (graph->nodes);
  g_free (graph);
}

MemraDriver *
fake_driver_new (int version)
{
  MemraDriver *driver = g_new0 (MemraDriver, 1);
  MemraDriverTable *cu = &driver->cu;

  g_assert_null (graphs);
  graphs = g_ptr_array_new_with_free_func (free_graph);
  memories = g_array_new (FALSE, FALSE, sizeof (FakeMemory));
  for (guint i = 0; i < G_N_ELEMENTS (counters); i++)
    counters[i].n = 0;
  failing = NULL;
  dump_text = NULL;

  g_atomic_ref_count_init (&driver->ref_count);
  driver->path = g_strdup ("a fake");
  driver->version = version;
  cu->cuGetErrorName = get_error_name;
  cu->cuGetErrorString = get_error_string;
  cu->cuGraphGetNodes = get_nodes;
  cu->cuGraphNodeGetType = get_type;
  cu->cuGraphNodeGetDependencies = get_dependencies;
  cu->cuGraphKernelNodeGetParams = get_kernel_params;
  cu->cuGraphMemcpyNodeGetParams = get_copy;
  cu->cuGraphMemsetNodeGetParams = get_fill;
  cu->cuGraphMemAllocNodeGetParams = get_alloc;
  cu->cuGraphMemFreeNodeGetParams = get_free;
  cu->cuGraphChildGraphNodeGetGraph = get_child;
  cu->cuGraphDebugDotPrint = print_dump;
  cu->cuPointerGetAttributes = get_attributes;
  if (version >= 12000)
    cu->cuGraphKernelNodeGetParams_v2 = get_kernel_params_v2;
  if (version >= 12030)
    {
      cu->cuGraphNodeGetDependencies_v2 = get_dependencies_v2;
      cu->cuFuncGetName = get_name;
      cu->cuKernelGetName = get_kernel_name;
    }
  if (version >= 12040)
    {
      cu->cuFuncGetParamInfo = get_func_parameter;
      cu->cuKernelGetParamInfo = get_kernel_parameter;
    }
  if (version >= 13020)
    cu->cuGraphNodeGetParams = get_params;
  return driver;
}

void
fake_driver_free (MemraDriver *driver)
{
  g_assert_true (g_atomic_ref_count_compare (&driver->ref_count, 1)); /* no census holds on to it */
  memra_driver_unref (driver);
  g_clear_pointer (&graphs, g_ptr_array_unref);
  g_clear_pointer (&memories, g_array_unref);
}

CUgraph
fake_graph_new (void)
{
  FakeGraph *graph = g_new0 (FakeGraph, 1);

  graph->nodes = g_ptr_array_new_with_free_func (free_node);
  g_ptr_array_add (graphs, graph);
  return (CUgraph) graph;
}

void
fake_connect (FakeNode *from, FakeNode *to, int edge_type)
{
  FakeEdge edge = { .from = from, .data = { .type = (unsigned char) edge_type } };

  g_array_append_val (to->edges, edge);
}

FakeNode *
fake_add (CUgraph graph, int type, FakeNode *after)
{
  FakeNode *node = g_new0 (FakeNode, 1);

  node->type = type;
  node->edges = g_array_new (FALSE, FALSE, sizeof (FakeEdge));
  g_ptr_array_add (((FakeGraph *) graph)->nodes, node);
  if (after != NULL)
    fake_connect (after, node, MCU_EDGE_DEFAULT);
  return node;
}

FakeNode *
fake_add_kernel (CUgraph graph, FakeNode *after, const FakeFunction *function, void *const *parameters)
{
  FakeNode *node = fake_add (graph, MCU_NODE_KERNEL, after);

  node->kernel.func = (CUfunction) function;
  node->kernel.grid_x = node->kernel.grid_y = node->kernel.grid_z = 1;
  node->kernel.block_x = node->kernel.block_y = node->kernel.block_z = 1;
  if (parameters != NULL)
    {
      memcpy (node->parameters, parameters, function->n_parameters * sizeof *parameters);
      node->kernel.kernel_params = node->parameters;
    }
  return node;
}

FakeNode *
fake_add_child (CUgraph graph, FakeNode *after, CUgraph child)
{
  FakeNode *node = fake_add (graph, MCU_NODE_GRAPH, after);

  node->bodies[0] = child;
  node->n_bodies = 1;
  return node;
}
