/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Censuses of any shape. Few mutations of a census file's text are censuses, so here the bytes are choices, and what is
 * made of them is always a census: the reader must take it, and everything that works on censuses gets to see graphs
 * that nobody thought of. The second of two differs in one choice: byte 0 says in which, byte 1 what it is.
 */
#include "config.h"

#include "fuzz.h"

#include <string.h>

#define MAX_NODES   24
#define MAX_NESTING 5

/* As JSON has them. */
static const char *const words[] = {
  "null",
  "\"\"",
  "\"add\"",
  "\"_Z3addPff\"",
  "\"void gemm<float, 4>(float*, (anonymous namespace)::shape)\"",
  "\"(anonymous namespace)::f(int)\"",
  "\"::\"",
  "\"operator() (\"",
  "\")))\"",
  "\"a \\\"quoted\\\" \\\\ \\u0001\\n\\t name\"",
  "\"k\xc3\xa4rn\xe2\x82\xac\xf0\x9f\x9a\x80\"",
  "\"kernel@0\"",
  "\"buffer 7 + 8\"",
  "\"a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on\"",
};

static const char *const numbers[] = { "0", "1", "2", "7", "255", "65536", "4294967294" };
static const char *const long_numbers[] = { "0", "8", "4096", "9223372036854775807" };

typedef struct
{
  const guint8 *next, *end;
  GString *kernels, *copies, *others, *edges, *hazards;
  GHashTable *counts; /* type -> number of nodes */
  guint n_nodes, n_normal, n_programmatic;
} Maker;

/* A number below n, the first one when there are no more choices. */
static guint
choose (Maker *maker, guint n)
{
  return maker->next < maker->end ? *maker->next++ % n : 0;
}

static const char *
choose_word (Maker *maker, gboolean nullable)
{
  guint i = choose (maker, G_N_ELEMENTS (words) - (nullable ? 0 : 1));

  return words[i + (nullable ? 0 : 1)];
}

static const char *
choose_number (Maker *maker)
{
  return numbers[choose (maker, G_N_ELEMENTS (numbers))];
}

static const char *
choose_long_number (Maker *maker)
{
  return long_numbers[choose (maker, G_N_ELEMENTS (long_numbers))];
}

static void
begin_item (GString *list)
{
  g_string_append (list, list->len > 0 ? ",\n" : "\n");
}

/* A node's number, which the caller tells of. */
static guint
add_node (Maker *maker, const char *type)
{
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (maker->counts, type));

  g_hash_table_insert (maker->counts, g_strdup (type), GUINT_TO_POINTER (n + 1));
  return maker->n_nodes++;
}

static void
put_place (Maker *maker, GString *list, const char *key)
{
  static const char *const memories[] = { "pageable", "array", "unknown" };
  guint memory = choose (maker, 6);

  if (memory < G_N_ELEMENTS (memories))
    g_string_append_printf (list, ",\"%s\":{\"memory\":\"%s\",\"pitch\":%s}", key, memories[memory],
                            choose_long_number (maker));
  else
    g_string_append_printf (list, ",\"%s\":{\"buffer\":%s,\"offset\":%s,\"pitch\":%s}", key, choose_number (maker),
                            choose_long_number (maker), choose_long_number (maker));
}

/* ["key":"00..", and pointers inside of it. */
static void
put_bytes (Maker *maker, GString *list, const char *key, gboolean may_be_empty)
{
  static const guint sizes[] = { 0, 1, 2, 4, 8, 12, 16, 24, 40 };
  guint size = sizes[choose (maker, G_N_ELEMENTS (sizes) - (may_be_empty ? 0 : 1)) + (may_be_empty ? 0 : 1)];
  g_autofree char *hex = g_malloc (2 * (gsize) size + 1);
  g_autoptr (GString) pointers = g_string_new (NULL);

  for (guint i = 0; i < 2 * size; i++)
    hex[i] = "0123456789abcdef"[choose (maker, 16)];
  hex[2 * size] = '\0';
  for (guint at = 0; at + 8 <= size; at += 8)
    if (choose (maker, 2) == 1)
      {
        memset (hex + 2 * at, '0', 16);
        g_string_append_printf (pointers, "%s{\"at\":%u,\"buffer\":%s,\"offset\":%s}", pointers->len > 0 ? "," : "", at,
                                choose_number (maker), choose_long_number (maker));
      }
  g_string_append_printf (list, "{\"%s\":\"%s\"", key, hex);
  if (pointers->len > 0 || choose (maker, 4) == 3)
    g_string_append_printf (list, ",\"pointers\":[%s]", pointers->str);
  g_string_append_c (list, '}');
}

static void
put_arguments (Maker *maker, GString *list)
{
  guint n = choose (maker, 6);

  if (n == 5)
    {
      put_bytes (maker, list, "unknown", TRUE);
      return;
    }
  for (guint i = 0; i < n; i++)
    {
      g_string_append (list, i > 0 ? "," : "");
      if (choose (maker, 2) == 0)
        g_string_append_printf (list, "{\"buffer\":%s,\"offset\":%s}", choose_number (maker),
                                choose_long_number (maker));
      else
        put_bytes (maker, list, "hex", FALSE);
    }
}

static void
make_kernel (Maker *maker, guint depth)
{
  GString *list = maker->kernels;
  guint number = add_node (maker, "kernel");

  begin_item (list);
  g_string_append (list, "{\"args\":[");
  put_arguments (maker, list);
  g_string_append_printf (
      list,
      "],\"block\":[%s,1,1],\"demangled\":%s,\"depth\":%u,\"grid\":[%s,1,%s],\"name\":%s,\"node\":%u,"
      "\"section\":%s,\"shared\":%s}",
      choose_number (maker), choose_word (maker, FALSE), depth, choose_number (maker), choose_number (maker),
      choose_word (maker, FALSE), number, choose_word (maker, TRUE), choose_number (maker));
}

static void
make_copy (Maker *maker, guint depth)
{
  static const char *const directions[]
      = { "unknown", "host-to-device", "device-to-host", "device-to-device", "host-to-host", "fill" };
  const char *direction = directions[choose (maker, G_N_ELEMENTS (directions))];
  gboolean is_fill = strcmp (direction, "fill") == 0;
  GString *list = maker->copies;
  guint number = add_node (maker, is_fill ? "memset" : "memcpy");

  begin_item (list);
  g_string_append_printf (
      list, "{\"bytes\":%s,\"depth\":%u,\"direction\":\"%s\",\"extent\":[%s,%s,%s],\"node\":%u,\"section\":%s",
      choose_long_number (maker), depth, direction, choose_long_number (maker), choose_long_number (maker),
      choose_long_number (maker), number, choose_word (maker, TRUE));
  if (!is_fill)
    put_place (maker, list, "source");
  put_place (maker, list, "target");
  if (is_fill)
    g_string_append_printf (list, ",\"element\":%s,\"value\":%s", choose_number (maker), choose_number (maker));
  g_string_append_c (list, '}');
}

static void
make_memory (Maker *maker, guint depth)
{
  gboolean frees = choose (maker, 2) == 1;
  guint number = add_node (maker, frees ? "mem-free" : "mem-alloc"), kind = choose (maker, 3);

  begin_item (maker->others);
  g_string_append_c (maker->others, '{');
  if (kind > 0)
    g_string_append_printf (maker->others, "\"buffer\":%s,", choose_number (maker));
  if (!frees && kind > 0)
    g_string_append_printf (maker->others, "\"bytes\":%s,", choose_long_number (maker));
  g_string_append_printf (maker->others, "\"depth\":%u,\"node\":%u,\"section\":%s,\"type\":\"%s\"}", depth, number,
                          choose_word (maker, TRUE), frees ? "mem-free" : "mem-alloc");
}

static void
make_other (Maker *maker, guint depth)
{
  static const char *const types[]
      = { "empty", "host", "wait-event", "event-record", "unknown-14", "unknown-4294967295" };
  const char *type = types[choose (maker, G_N_ELEMENTS (types))];
  guint number = add_node (maker, type);

  begin_item (maker->others);
  g_string_append_printf (maker->others, "{\"depth\":%u,\"node\":%u,\"section\":%s,\"type\":\"%s\"}", depth, number,
                          choose_word (maker, TRUE), type);
}

static void make_nodes (Maker *maker, guint depth);

/* A child graph or a conditional node: what is inside of it comes first, as its sizes have to be known. */
static void
make_parent (Maker *maker, guint depth)
{
  gboolean conditional = choose (maker, 2) == 1;
  guint n_bodies = conditional ? choose (maker, 3) : choose (maker, 4) == 3 ? 0 : 1;
  const char *type = conditional ? "conditional" : "child-graph";
  const char *section = choose_word (maker, TRUE);
  guint number = add_node (maker, type);
  GString *before = maker->others;
  g_autoptr (GString) sizes = g_string_new (NULL);
  g_autoptr (GString) inside = NULL;

  maker->others = g_string_new (NULL);
  for (guint i = 0; i < n_bodies; i++)
    {
      guint first = maker->n_nodes;

      if (depth < MAX_NESTING)
        make_nodes (maker, depth + 1);
      g_string_append_printf (sizes, "%s%u", i > 0 ? "," : "", maker->n_nodes - first);
    }
  inside = maker->others;
  maker->others = before;
  begin_item (before);
  g_string_append_c (before, '{');
  if (n_bodies > 0)
    g_string_append_printf (before, "\"bodies\":[%s],", sizes->str);
  if (n_bodies > 0 && conditional && choose (maker, 2) == 1)
    g_string_append (before, "\"bodies_from\":\"debug-dump\",");
  g_string_append_printf (before, "\"depth\":%u,\"node\":%u,\"section\":%s,\"type\":\"%s\"}%s%s", depth, number,
                          section, type, inside->len > 0 ? "," : "", inside->str);
}

static void
make_nodes (Maker *maker, guint depth)
{
  guint n = choose (maker, depth == 0 ? MAX_NODES : 4);

  for (guint i = 0; i < n && maker->n_nodes < MAX_NODES && maker->next < maker->end; i++)
    switch (choose (maker, 8))
      {
      case 0:
      case 1:
      case 2:
        make_kernel (maker, depth);
        break;
      case 3:
      case 4:
        make_copy (maker, depth);
        break;
      case 5:
        make_memory (maker, depth);
        break;
      case 6:
        make_other (maker, depth);
        break;
      default:
        make_parent (maker, depth);
      }
}

static void
make_edges (Maker *maker)
{
  for (guint to = 1; to < maker->n_nodes; to++)
    for (guint from = choose (maker, 2) == 1 ? choose (maker, to) : to - 1; from < to; from += 1 + choose (maker, 4))
      {
        guint type = choose (maker, 8);

        begin_item (maker->edges);
        if (type > 0 && type < 4)
          g_string_append_printf (maker->edges, "[%u,%u,%u]", from, to, type);
        else
          g_string_append_printf (maker->edges, "[%u,%u]", from, to);
        *(type > 0 && type < 4 ? &maker->n_programmatic : &maker->n_normal) += 1;
      }
}

static void
make_hazards (Maker *maker)
{
  static const char *const kinds[]
      = { "host-node", "programmatic-edge", "foreign-context", "empty-graph", "a new one" };

  for (guint i = choose (maker, 4); i > 0; i--)
    {
      guint node = choose (maker, maker->n_nodes + 1);

      begin_item (maker->hazards);
      g_string_append_printf (maker->hazards,
                              "{\"kind\":\"%s\",\"message\":%s,\"node\":", kinds[choose (maker, G_N_ELEMENTS (kinds))],
                              choose_word (maker, FALSE));
      if (node == maker->n_nodes)
        g_string_append (maker->hazards, "null}");
      else
        g_string_append_printf (maker->hazards, "%u}", node);
    }
}

/* (transfer full) */
static char *
make_text (const guint8 *choices, gsize n)
{
  Maker maker = { .next = choices, .end = choices + n };
  GString *text = g_string_new (NULL), *counts = g_string_new (NULL);
  GHashTableIter iter;
  gpointer type, count;
  const char *layer;

  maker.kernels = g_string_new (NULL);
  maker.copies = g_string_new (NULL);
  maker.others = g_string_new (NULL);
  maker.edges = g_string_new (NULL);
  maker.hazards = g_string_new (NULL);
  maker.counts = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  layer = choose_number (&maker);
  make_nodes (&maker, 0);
  make_edges (&maker);
  make_hazards (&maker);
  g_hash_table_iter_init (&iter, maker.counts);
  while (g_hash_table_iter_next (&iter, &type, &count))
    g_string_append_printf (counts, "%s\"%s\":%u", counts->len > 0 ? "," : "", (const char *) type,
                            GPOINTER_TO_UINT (count));
  g_string_append_printf (
      text,
      "{\"format\":\"memra-capture-census\",\"version\":1,\"layer\":%s,\"kernels\":[%s],\"copies\":[%s],"
      "\"others\":[%s],\"nodes\":{%s},\"edges\":{\"list\":[%s],\"normal\":%u,\"programmatic\":%u},"
      "\"hazards\":[%s]}",
      layer, maker.kernels->str, maker.copies->str, maker.others->str, counts->str, maker.edges->str, maker.n_normal,
      maker.n_programmatic, maker.hazards->str);
  g_string_free (counts, TRUE);
  g_string_free (maker.kernels, TRUE);
  g_string_free (maker.copies, TRUE);
  g_string_free (maker.others, TRUE);
  g_string_free (maker.edges, TRUE);
  g_string_free (maker.hazards, TRUE);
  g_hash_table_unref (maker.counts);
  return g_string_free (text, FALSE);
}

static MemraCensus *
make_census (const guint8 *choices, gsize n)
{
  g_autofree char *text = make_text (choices, n);
  g_autoptr (GError) error = NULL;
  MemraCensus *census = memra_census_from_json (text, -1, &error);

  if (census == NULL)
    g_error ("%s\n%s", error->message, text);
  return census;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (MemraCensus) other = NULL;
  g_autofree guint8 *choices = NULL;

  if (size < 3 || size > 1024)
    return 0;
  choices = g_memdup2 (data + 2, size - 2);
  choices[data[0] * (size - 2) / 256] = data[1];
  census = make_census (data + 2, size - 2);
  if (size % 2 == 0) /* one after the other, since each takes its time */
    {
      fuzz_check_census (census);
      return 0;
    }
  other = make_census (choices, size - 2);
  fuzz_check_censuses (census, other);
  return 0;
}
