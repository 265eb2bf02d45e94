/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A census in at most 80 columns: what kinds of nodes, which kernels, and what might hurt. */
#include "config.h"

#include "tool-private.h"

#include <string.h>

#define NAME_WIDTH    29
#define SECTION_WIDTH 10

/* Cut, with two dots, to a number of characters, and padded. */
static char *
dup_fitted (const char *text, glong width)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *cut = NULL;
  glong length = g_utf8_strlen (valid, -1);

  if (length <= width)
    return g_strdup_printf ("%s%*s", valid, (int) (width - length), "");
  cut = g_utf8_substring (valid, 0, width - 2);
  return g_strconcat (cut, "..", NULL);
}

/* "64", "64x8" or "64x8x2" */
static char *
dup_dim3 (const MemraDim3 *dim)
{
  if (dim->z != 1)
    return g_strdup_printf ("%ux%ux%u", dim->x, dim->y, dim->z);
  return dim->y != 1 ? g_strdup_printf ("%ux%u", dim->x, dim->y) : g_strdup_printf ("%u", dim->x);
}

static const char *
get_name (const MemraKernelNode *node)
{
  const char *name = memra_kernel_node_get_demangled_name (node);

  if (name == NULL)
    name = memra_kernel_node_get_name (node);
  return name != NULL ? name : "(no name)";
}

/* Whether two kernels make the same line. */
static gboolean
look_alike (const MemraKernelNode *a, const MemraKernelNode *b)
{
  MemraDim3 grid[2], block[2];
  guint32 shared[2];

  memra_kernel_node_get_geometry (a, &grid[0], &block[0], &shared[0]);
  memra_kernel_node_get_geometry (b, &grid[1], &block[1], &shared[1]);
  return strcmp (get_name (a), get_name (b)) == 0
         && g_strcmp0 (memra_kernel_node_get_section (a), memra_kernel_node_get_section (b)) == 0
         && memcmp (&grid[0], &grid[1], sizeof grid[0]) == 0 && memcmp (&block[0], &block[1], sizeof block[0]) == 0
         && shared[0] == shared[1] && memra_kernel_node_get_n_arguments (a) == memra_kernel_node_get_n_arguments (b);
}

static void
print_kernel (const MemraKernelNode *node, const char *section, guint times)
{
  g_autofree char *repeated
      = times > 1 ? g_strdup_printf ("%s x%u", get_name (node), times) : g_strdup (get_name (node));
  g_autofree char *name = dup_fitted (repeated, NAME_WIDTH);
  g_autofree char *fitted_section = dup_fitted (section, SECTION_WIDTH);
  g_autofree char *grid_text = NULL;
  g_autofree char *block_text = NULL;
  MemraDim3 grid, block;
  guint32 shared;

  memra_kernel_node_get_geometry (node, &grid, &block, &shared);
  grid_text = dup_dim3 (&grid);
  block_text = dup_dim3 (&block);
  tool_out_label ("");
  tool_out_styled (TOOL_STYLE_DIM, "%s ", fitted_section);
  tool_out ("%s%8s%8s%8u%5u\n", name, grid_text, block_text, shared, memra_kernel_node_get_n_arguments (node));
}

static void
print_kernels (const MemraCensus *census)
{
  const guint n = memra_census_get_n_kernel_nodes (census);
  const char *section = "";

  if (n == 0)
    return;
  tool_out ("\n");
  tool_out_label ("");
  tool_out_styled (TOOL_STYLE_DIM, "%-*s %-*s%8s%8s%8s%5s\n", SECTION_WIDTH, "section", NAME_WIDTH, "kernel, in order",
                   "grid", "block", "shared", "args");
  for (guint i = 0, end; i < n; i = end)
    {
      const MemraKernelNode *node = memra_census_get_kernel_node (census, i);
      const char *own = memra_kernel_node_get_section (node);

      for (end = i + 1; end < n && look_alike (node, memra_census_get_kernel_node (census, end));)
        end++;
      if (own == NULL)
        own = "";
      print_kernel (node, i > 0 && strcmp (own, section) == 0 ? "" : own, end - i);
      section = own;
    }
}

static int
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* "20 kernel, 1 memcpy node(s)" */
static char *
dup_nodes (const MemraCensus *census)
{
  g_autoptr (GPtrArray) types = g_ptr_array_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  GHashTableIter iter;
  gpointer type;

  g_hash_table_iter_init (&iter, memra_census_get_nodes (census));
  while (g_hash_table_iter_next (&iter, &type, NULL))
    g_ptr_array_add (types, type);
  g_ptr_array_sort (types, compare_strings);
  for (guint i = 0; i < types->len; i++)
    g_string_append_printf (text, "%s%u %s", i > 0 ? ", " : "", memra_census_get_count (census, types->pdata[i]),
                            (const char *) types->pdata[i]);
  g_string_append (text, memra_census_get_n_nodes (census) == 1 ? " node" : types->len > 0 ? " nodes" : "no nodes");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
print_copies (const MemraCensus *census)
{
  static const char *const names[] = {
    [MEMRA_COPY_UNKNOWN] = "of unknown direction",  [MEMRA_COPY_HOST_TO_DEVICE] = "host to device",
    [MEMRA_COPY_DEVICE_TO_HOST] = "device to host", [MEMRA_COPY_DEVICE_TO_DEVICE] = "device to device",
    [MEMRA_COPY_HOST_TO_HOST] = "host to host",     [MEMRA_COPY_FILL] = "fill",
  };
  guint64 bytes[G_N_ELEMENTS (names)] = { 0 };
  guint count[G_N_ELEMENTS (names)] = { 0 };

  for (guint i = 0; i < memra_census_get_n_copies (census); i++)
    {
      guint64 size;
      MemraCopyDirection direction = memra_census_get_copy (census, i, &size);

      if ((gsize) direction >= G_N_ELEMENTS (names))
        direction = MEMRA_COPY_UNKNOWN;
      count[direction]++;
      bytes[direction] += size;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (count[i] > 0)
      {
        tool_out_label ("");
        tool_out ("%u copies %s, %" G_GUINT64_FORMAT " bytes\n", count[i], names[i], bytes[i]);
      }
}

void
tool_print_census (const MemraCensus *census)
{
  g_autofree char *nodes = dup_nodes (census);
  const guint programmatic = memra_census_get_n_programmatic_edges (census);
  const guint hazards = memra_census_get_n_hazards (census);

  tool_out_label ("");
  tool_out ("%s, %u edges", nodes, memra_census_get_n_normal_edges (census) + programmatic);
  if (programmatic > 0)
    tool_out (" (%u programmatic)", programmatic);
  tool_out (", %u allocations, %s\n", memra_census_get_n_allocations (census),
            hazards == 0 ? "no hazards" : "hazards:");
  for (guint i = 0; i < hazards; i++)
    {
      const char *message;
      const char *kind = memra_census_get_hazard (census, i, &message);

      tool_out_label ("");
      tool_out_styled (TOOL_STYLE_BAD, "%s", kind);
      tool_out (": %s\n", message);
    }
  print_copies (census);
  print_kernels (census);
}
