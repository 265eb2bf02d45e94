/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The driver's debug dump of a graph, for what no getter tells: the bodies of conditional nodes below driver 13.2, and
 * names of kernels below 12.3.
 *
 * The format is not documented. Seen on drivers 12.8 and 13.0:
 *
 *   subgraph cluster_6 {
 *   label="graph_6" graph[style="dashed"];
 *   "graph_6_node_0"[style="bold" shape="octagon" label="0
 *   _Z5saxpyifPfS_
 *   node handle: 0x000055700F656D20
 *   func handle: 0x000055700F605EF0
 *   "];
 *   "graph_6_node_1"[style="bold" shape="record" label="{
 *   CONDITIONAL
 *   | {ID | 0}
 *   | {node handle| 0x000055AD5E8458D0}
 *   | {Conditional Type| IF}
 *   | {True | graph_7}
 *   | {False| graph_8}
 *   }
 *   "];
 *   "graph_6_node_0" -> "graph_6_node_1";
 *   }
 *
 * and, in verbose dumps, a kernel as label="{KERNEL | {ID | 0 (topoId: 2) | NAME\<\<\<2,1,0\>\>\>} | {{node handle |
 * func handle} | {0x... | 0x...}} ...". Clusters are not nested; the graph itself comes first, graphs inside it follow.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include "reading-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A dump larger than this is not read: 100,000 nodes make some 15 MiB. */
#define MAX_DUMP ((gsize) 256 * 1024 * 1024)

typedef struct
{
  guint64 number;  /* 7 in "graph_7" */
  GArray *handles; /* owned: CUgraphNode */
} Cluster;

typedef struct
{
  const char *kernel; /* nullable; a string of the dump */
  GArray *bodies;     /* owned, nullable: guint64, the numbers of the graphs that a conditional node holds */
  GArray *clusters;   /* owned, nullable: guint, the indices of their clusters, if all are there */
} DumpNode;

struct _MemraDump
{
  GStringChunk *strings;
  GArray *clusters;   /* Cluster */
  GArray *nodes;      /* DumpNode */
  MemraMap by_handle; /* node handle -> index into nodes */
};

static void
clear_cluster (gpointer cluster)
{
  g_array_unref (((Cluster *) cluster)->handles);
}

static void
clear_node (gpointer data)
{
  DumpNode *node = data;

  g_clear_pointer (&node->bodies, g_array_unref);
  g_clear_pointer (&node->clusters, g_array_unref);
}

void
_memra_dump_free (MemraDump *dump)
{
  if (dump == NULL)
    return;
  g_string_chunk_free (dump->strings);
  g_array_unref (dump->clusters);
  g_array_unref (dump->nodes);
  _memra_map_clear (&dump->by_handle);
  g_free (dump);
}

/* The handle in a node's text: the first hexadecimal number behind the words "node handle". */
static guint64
find_handle (const char *text)
{
  const char *words = strstr (text, "node handle");

  if (words == NULL)
    words = strstr (text, "Node Handle");
  if (words == NULL || (words = strstr (words, "0x")) == NULL)
    return 0;
  return g_ascii_strtoull (words, NULL, 16);
}

/* Takes out the backslashes of a record label, and what stands behind the name. */
static const char *
clean_name (MemraDump *dump, const char *begin, gsize length)
{
  g_autoptr (GString) name = g_string_sized_new (length);

  for (gsize i = 0; i < length && strncmp (begin + i, "\\<\\<\\<", 6) != 0 && strncmp (begin + i, "<<<", 3) != 0; i++)
    if (begin[i] != '\\')
      g_string_append_c (name, begin[i]);
  while (name->len > 0 && g_ascii_isspace (name->str[name->len - 1]))
    g_string_truncate (name, name->len - 1);
  return name->len > 0 ? g_string_chunk_insert (dump->strings, name->str) : NULL;
}

/* The kernel that a node's text names, NULL if it is no kernel. */
static const char *
find_kernel (MemraDump *dump, const char *text)
{
  const char *begin, *label = strstr (text, "label=\"");

  if (label == NULL)
    return NULL;
  label += strlen ("label=\"");
  if (g_str_has_prefix (label, "{KERNEL"))
    {
      begin = strstr (label, "ID |");
      begin = begin != NULL ? strchr (begin + strlen ("ID |"), '|') : NULL;
      if (begin == NULL)
        return NULL;
      begin++;
      begin += strspn (begin, " ");
      return clean_name (dump, begin, strcspn (begin, "}\n"));
    }
  if (strstr (text, "shape=\"octagon\"") == NULL || (begin = strchr (label, '\n')) == NULL)
    return NULL;
  begin++;
  return clean_name (dump, begin, strcspn (begin, "\n\""));
}

/* The graphs that a conditional node's text names. */
static GArray *
find_bodies (const char *text)
{
  const char *place = strstr (text, "{Conditional Type");
  GArray *bodies;

  if (place == NULL)
    return NULL;
  bodies = g_array_new (FALSE, FALSE, sizeof (guint64));
  while ((place = strstr (place, "graph_")) != NULL)
    {
      char *end;
      guint64 number;

      place += strlen ("graph_");
      number = g_ascii_strtoull (place, &end, 10);
      if (end != place)
        g_array_append_val (bodies, number);
    }
  return bodies;
}

/* One statement that declares a node; `text` is its attributes. */
static void
add_node (MemraDump *dump, const char *text)
{
  Cluster *cluster = &g_array_index (dump->clusters, Cluster, dump->clusters->len - 1);
  DumpNode node = { 0 };
  guint64 number = find_handle (text);
  CUgraphNode handle = GSIZE_TO_POINTER ((gsize) number);

  g_array_append_val (cluster->handles, handle);
  if (number == 0)
    return;
  node.bodies = find_bodies (text);
  if (node.bodies == NULL)
    node.kernel = find_kernel (dump, text);
  _memra_map_insert (&dump->by_handle, number, dump->nodes->len);
  g_array_append_val (dump->nodes, node);
}

/* Numbers of graphs become indices of clusters; a node with a body that is not there has none. */
static void
resolve_bodies (MemraDump *dump)
{
  g_autoptr (GHashTable) clusters = g_hash_table_new (g_int64_hash, g_int64_equal);

  for (guint i = 0; i < dump->clusters->len; i++)
    g_hash_table_insert (clusters, &g_array_index (dump->clusters, Cluster, i).number, GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < dump->nodes->len; i++)
    {
      DumpNode *node = &g_array_index (dump->nodes, DumpNode, i);
      g_autoptr (GArray) indices = NULL;

      if (node->bodies == NULL || node->bodies->len == 0)
        continue;
      indices = g_array_new (FALSE, FALSE, sizeof (guint));
      for (guint k = 0; k < node->bodies->len; k++)
        {
          guint index = GPOINTER_TO_UINT (g_hash_table_lookup (clusters, &g_array_index (node->bodies, guint64, k)));

          if (index == 0) /* counted from 1 */
            break;
          index--;
          g_array_append_val (indices, index);
        }
      if (indices->len == node->bodies->len)
        node->clusters = g_steal_pointer (&indices);
    }
}

/* The end of the statement whose attributes begin here: a line that closes its label and brackets. */
static const char *
end_of_statement (const char *text)
{
  const char *end = strstr (text, "\"];");

  return end != NULL ? end : text + strlen (text);
}

MemraDump *
_memra_dump_parse (const char *text, gsize length)
{
  MemraDump *dump = g_new0 (MemraDump, 1);
  g_autofree char *copy = g_strndup (text, length);
  char *line = copy;

  dump->strings = g_string_chunk_new (4096);
  dump->clusters = g_array_new (FALSE, FALSE, sizeof (Cluster));
  g_array_set_clear_func (dump->clusters, clear_cluster);
  dump->nodes = g_array_new (FALSE, FALSE, sizeof (DumpNode));
  g_array_set_clear_func (dump->nodes, clear_node);

  while (*line != '\0')
    {
      char *next = line + strcspn (line, "\n");

      if (g_str_has_prefix (line, "subgraph cluster_"))
        {
          Cluster cluster = { .number = g_ascii_strtoull (line + strlen ("subgraph cluster_"), NULL, 10) };

          cluster.handles = g_array_new (FALSE, FALSE, sizeof (CUgraphNode));
          g_array_append_val (dump->clusters, cluster);
        }
      else if (g_str_has_prefix (line, "\"graph_") && dump->clusters->len > 0)
        {
          char *bracket = strchr (line + 1, '"');

          if (bracket != NULL && bracket[1] == '[') /* else it is an edge */
            {
              char *end = (char *) end_of_statement (bracket);
              char kept = *end;

              *end = '\0';
              add_node (dump, bracket);
              *end = kept;
              next = end + strcspn (end, "\n");
            }
        }
      line = *next == '\n' ? next + 1 : next;
    }
  resolve_bodies (dump);
  return dump;
}

gboolean
_memra_dump_is_of (const MemraDump *dump, const CUgraphNode *nodes, gsize n)
{
  const GArray *handles;
  guint32 index;

  if (dump->clusters->len == 0)
    return FALSE;
  handles = g_array_index (dump->clusters, Cluster, 0).handles;
  if (handles->len != n)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (g_array_index (handles, CUgraphNode, i) == NULL
        || !_memra_map_lookup (&dump->by_handle, GPOINTER_TO_SIZE (nodes[i]), &index) || index >= n)
      return FALSE;
  return TRUE;
}

const char *
_memra_dump_get_kernel (const MemraDump *dump, CUgraphNode node)
{
  guint32 index;

  if (!_memra_map_lookup (&dump->by_handle, GPOINTER_TO_SIZE (node), &index))
    return NULL;
  return g_array_index (dump->nodes, DumpNode, index).kernel;
}

const guint *
_memra_dump_get_bodies (const MemraDump *dump, CUgraphNode node, guint *n)
{
  guint32 index;
  const GArray *clusters;

  if (!_memra_map_lookup (&dump->by_handle, GPOINTER_TO_SIZE (node), &index))
    return NULL;
  clusters = g_array_index (dump->nodes, DumpNode, index).clusters;
  if (clusters == NULL)
    return NULL;
  *n = clusters->len;
  return (const guint *) (gpointer) clusters->data;
}

const CUgraphNode *
_memra_dump_get_cluster (const MemraDump *dump, guint cluster, guint *n)
{
  const GArray *handles = g_array_index (dump->clusters, Cluster, cluster).handles;

  *n = handles->len;
  return (const CUgraphNode *) (gpointer) handles->data;
}

/* Has the driver write its dump into `path`, and reads it. */
static MemraDump *
dump_through (MemraReading *reading, const char *path)
{
  g_autofree char *text = NULL;
  gsize length;
  GStatBuf status;

  if (reading->driver->cu.cuGraphDebugDotPrint (reading->graph, path, MCU_DOT_HANDLES | MCU_DOT_CONDITIONAL)
          != MCU_SUCCESS
      && reading->driver->cu.cuGraphDebugDotPrint (reading->graph, path, MCU_DOT_HANDLES) != MCU_SUCCESS)
    return NULL;
  if (g_stat (path, &status) != 0 || status.st_size <= 0 || (guint64) status.st_size > MAX_DUMP
      || !g_file_get_contents (path, &text, &length, NULL))
    return NULL;
  return _memra_dump_parse (text, length);
}

MemraDump *
_memra_reading_get_dump (MemraReading *reading)
{
  g_autofree char *path = NULL;
  int fd;

  if (reading->dump_tried || reading->driver->cu.cuGraphDebugDotPrint == NULL)
    return reading->dump;
  reading->dump_tried = TRUE;

  fd = memfd_create ("memra-capture-dump", MFD_CLOEXEC);
  if (fd >= 0)
    {
      path = g_strdup_printf ("/proc/self/fd/%d", fd);
      reading->dump = dump_through (reading, path);
      close (fd);
      if (reading->dump != NULL)
        return reading->dump;
      g_clear_pointer (&path, g_free);
    }

  /* No memfd, no /proc, or a driver that writes aside and renames. */
  fd = g_file_open_tmp ("memra-capture-XXXXXX.dot", &path, NULL);
  if (fd < 0)
    return NULL;
  close (fd);
  reading->dump = dump_through (reading, path);
  g_unlink (path);
  return reading->dump;
}
