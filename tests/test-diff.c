/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two graphs, what is frozen in one, and the picture of one. */
#include "config.h"

#include "capture-fixture.h"
#include "census-fake.h"

#include "census/align.h"
#include "census/census-private.h"

#include <string.h>

typedef struct
{
  Fixture fixture;
  /* a: dst += src, b: dst += other, z: zero dst, c: copy dst to src, o: copy dst to other, s: silu over dst, m: next
   * mark, a digit: the length of the next additions */
  const char *script;
  guint64 n;
  MemraBuffer *other;
} Script;

static void
script_init (Script *script)
{
  memset (script, 0, sizeof *script);
  fixture_init (&script->fixture);
  script->other = memra_test_buffer_filled (script->fixture.stream, 0.0f, FIXTURE_N);
  script->n = FIXTURE_N;
}

static void
script_clear (Script *script)
{
  memra_buffer_unref (script->other);
  fixture_clear (&script->fixture);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Script, script_clear)

static gboolean
body (MemraStream *stream, gpointer data, GError **error)
{
  Script *script = data;
  MemraDsv4 *dsv4 = script->fixture.dsv4;
  MemraBuffer *dst = script->fixture.dst, *src = script->fixture.src;
  gboolean ok = TRUE;

  for (const char *step = script->script; ok && *step != '\0'; step++)
    switch (*step)
      {
      case 'a':
        ok = memra_dsv4_add_inplace (dsv4, stream, dst, src, script->n, error);
        break;
      case 'b':
        ok = memra_dsv4_add_inplace (dsv4, stream, dst, script->other, script->n, error);
        break;
      case 'z':
        ok = memra_buffer_zero (dst, stream, error);
        break;
      case 'c':
        ok = memra_buffer_copy (src, dst, stream, error);
        break;
      case 'o':
        ok = memra_buffer_copy (script->other, dst, stream, error);
        break;
      case 's':
        ok = memra_dsv4_silu_gate (dsv4, stream, dst, dst, FIXTURE_N, error);
        break;
      case 'm':
        ok = memra_stream_mark (stream, "section", error);
        break;
      default:
        g_assert_true (g_ascii_isdigit (*step));
        script->n = (guint64) g_ascii_digit_value (*step);
      }
  return ok;
}

static void
unref_two (MemraCensus **censuses)
{
  memra_census_unref (censuses[0]);
  memra_census_unref (censuses[1]);
}

static MemraCensus *
census_of (Script *script, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;

  script->script = text;
  capture = memra_capture_layer_record (script->fixture.stream, 0, NULL, body, script, &error);
  g_assert_no_error (error);
  return memra_census_ref (memra_layer_capture_get_census (capture));
}

static void
assert_diff (Script *script, const char *before, const char *after, const char *wanted)
{
  g_autoptr (MemraCensus) a = census_of (script, before);
  g_autoptr (MemraCensus) b = census_of (script, after);
  g_autoptr (MemraCensusDiff) diff = memra_census_diff (a, b);
  g_autofree char *text = memra_census_diff_to_string (diff);
  g_autofree char *json = memra_census_diff_to_json (diff);

  g_assert_cmpstr (text, ==, wanted);
  g_assert_cmpint (memra_census_diff_get_n_changes (diff) == 0, ==, strcmp (json, "[]") == 0);
}

static void
test_diff (void)
{
  g_auto (Script) script = { 0 };

  script_init (&script);
  assert_diff (&script, "azs", "azs", "");
  assert_diff (&script, "azs", "as", "- fill (at 1)\n");
  assert_diff (&script, "as", "azs", "+ fill (at 1)\n");
  assert_diff (&script, "aaa", "aab",
               "~ memra_dsv4_add_inplace: argument 1: buffer 1 + 0 -> a new buffer + 0 (at 2)\n");
  /* A buffer that comes first in one has another number in all that follows, and is still the same buffer. */
  assert_diff (&script, "aaaa", "aaaa", "");
  assert_diff (&script, "amas", "aas",
               "~ memra_dsv4_add_inplace: section section -> none (at 1)\n"
               "~ memra_dsv4_silu_gate: section section -> none (at 2)\n");
}

static void
test_renumbered (void)
{
  g_auto (Script) script = { 0 };

  script_init (&script);
  /* "o" brings its buffer in before "a" and "c" name src: src is buffer 1 in one graph and buffer 2 in the other. */
  assert_diff (&script, "zaac", "zoaac", "+ device-to-device (at 1)\n");
}

/* Partners are those that most pointers speak for, not those that come first. */
static void
test_roles (void)
{
  g_auto (Script) script = { 0 };

  script_init (&script);
  assert_diff (&script, "aaa", "baa",
               "~ memra_dsv4_add_inplace: argument 1: buffer 1 + 0 -> a new buffer + 0 (at 0)\n");
  assert_diff (&script, "aaab", "baab", "~ memra_dsv4_add_inplace: argument 1: buffer 1 + 0 -> buffer 2 + 0 (at 0)\n");
  /* All of them at once is the same in another place: nothing can be told. */
  assert_diff (&script, "aaa", "bbb", "");
  assert_diff (&script, "ac", "ao", "~ device-to-device: target buffer 1 + 0 -> a new buffer + 0 (at 1)\n");
}

/* Of several alike it is the one with other arguments that is gone. */
static void
test_which (void)
{
  g_auto (Script) script = { 0 };

  script_init (&script);
  assert_diff (&script, "1a2a3a4a5a", "2a3a4a5a", "- memra_dsv4_add_inplace (at 0)\n");
  assert_diff (&script, "1a2a3a4a5a", "1a2a4a5a", "- memra_dsv4_add_inplace (at 2)\n");
  assert_diff (&script, "1a2a3a4a5a", "1a2a3a4a", "- memra_dsv4_add_inplace (at 4)\n");
  assert_diff (&script, "1a2a4a5a", "1a2a3a4a5a", "+ memra_dsv4_add_inplace (at 2)\n");
  /* A whole layer, in the middle: its addition is the one that is gone, with any two that go with it. */
  assert_diff (&script, "1zas2zas3zas4zas", "1zas3zas4zas",
               "- memra_dsv4_add_inplace (at 4)\n- memra_dsv4_silu_gate (at 5)\n- fill (at 6)\n");
}

static void
test_moved (void)
{
  g_auto (Script) script = { 0 };

  script_init (&script);
  assert_diff (&script, "szaaa", "zaaas", "> memra_dsv4_silu_gate (at 0 -> 4)\n");
  /* What else became of it is told too. */
  assert_diff (&script, "1a2zsss", "zsss9a", "> memra_dsv4_add_inplace: argument 2: 1 -> 9 (at 0 -> 4)\n");
}

static void
test_folded (void)
{
  g_auto (Script) script = { 0 };
  g_autoptr (MemraCensus) a = NULL;
  g_autoptr (MemraCensus) b = NULL;
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autofree char *text = NULL;

  script_init (&script);
  a = census_of (&script, "zaszaszaszas");
  script.n = 17;
  b = census_of (&script, "zaszaszaszas");
  diff = memra_census_diff (a, b);
  text = memra_census_diff_to_string (diff);
  g_assert_cmpuint (memra_census_diff_get_n_changes (diff), ==, 4);
  g_assert_cmpstr (text, ==, "~ memra_dsv4_add_inplace: argument 2: 256 -> 17 (4 times, at 1, 4, 7, 10)\n");
}

/* Every repetition has buffers of its own: still one line. */
static void
test_folded_buffers (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  static const FakeFunction add = { "add", 2, { 0, 8 }, { 8, 8 } };
  guint64 values[8][2], others[8][2];
  CUgraph graphs[2] = { fake_graph_new (), fake_graph_new () };
  g_autoptr (MemraCensus) a = NULL;
  g_autoptr (MemraCensus) b = NULL;
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autofree char *text = NULL;

  for (guint i = 0; i < 16; i++)
    fake_add_memory (0x10000000 + i * 0x10000, 0x1000, 100 + i, MCU_MEMORYTYPE_DEVICE);
  for (guint i = 0; i < 8; i++)
    {
      void *parameters[2] = { &values[i][0], &values[i][1] }, *others_parameters[2] = { &others[i][0], &others[i][1] };

      values[i][0] = others[i][0] = 0x10000000 + 2 * i * 0x10000;
      values[i][1] = others[i][1] = 0x10010000 + 2 * i * 0x10000;
      others[i][1] += 64;
      fake_add_kernel (graphs[0], NULL, &add, parameters);
      fake_add_kernel (graphs[1], NULL, &add, others_parameters);
    }
  a = memra_census_new_from_graph (driver, graphs[0], NULL);
  b = memra_census_new_from_graph (driver, graphs[1], NULL);
  diff = memra_census_diff (a, b);
  text = memra_census_diff_to_string (diff);
  g_assert_cmpstr (
      text, ==,
      "~ add: argument 1: buffer 1 + 0 -> buffer 1 + 64, and the like (8 times, at 0, 1, 2, 3, 4, 5, 6, 7)\n");
  fake_driver_free (driver);
}

static char *
dup_fake_diff (MemraDriver *driver, CUgraph before, CUgraph after)
{
  g_autoptr (MemraCensus) a = memra_census_new_from_graph (driver, before, NULL);
  g_autoptr (MemraCensus) b = memra_census_new_from_graph (driver, after, NULL);
  g_autoptr (MemraCensusDiff) diff = memra_census_diff (a, b);

  return memra_census_diff_to_string (diff);
}

static const FakeFunction x_function = { "x", 0, { 0 }, { 0 } }, y_function = { "y", 0, { 0 }, { 0 } },
                          gone_function = { "gone", 0, { 0 }, { 0 } };

/* x -> gone -> y becomes x -> y, or x and y that nothing orders any more. */
static void
test_edges (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph before = fake_graph_new (), joined = fake_graph_new (), loose = fake_graph_new (),
          programmatic = fake_graph_new ();
  FakeNode *x, *y;
  g_autofree char *kept = NULL;
  g_autofree char *lost = NULL;
  g_autofree char *none = NULL;
  g_autofree char *typed = NULL;

  x = fake_add_kernel (before, NULL, &x_function, NULL);
  x = fake_add_kernel (before, x, &gone_function, NULL);
  fake_add_kernel (before, x, &y_function, NULL);
  x = fake_add_kernel (joined, NULL, &x_function, NULL);
  fake_add_kernel (joined, x, &y_function, NULL);
  fake_add_kernel (loose, NULL, &x_function, NULL);
  fake_add_kernel (loose, NULL, &y_function, NULL);
  x = fake_add_kernel (programmatic, NULL, &x_function, NULL);
  y = fake_add_kernel (programmatic, NULL, &y_function, NULL);
  fake_connect (x, y, MCU_EDGE_PROGRAMMATIC);

  kept = dup_fake_diff (driver, before, joined);
  g_assert_cmpstr (kept, ==, "- gone (at 1)\n");
  lost = dup_fake_diff (driver, before, loose);
  g_assert_cmpstr (lost, ==, "- gone (at 1)\n~ y: after other nodes (at 2)\n");
  none = dup_fake_diff (driver, joined, loose);
  g_assert_cmpstr (none, ==, "~ y: after other nodes (at 1)\n");
  typed = dup_fake_diff (driver, joined, programmatic);
  g_assert_cmpstr (typed, ==, "~ y: edges into it of other types (at 1)\n");
  fake_driver_free (driver);
}

/* A struct is told by its words, and a signature that is not the same by its length. */
static void
test_structs (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  static const FakeFunction longer = { "k", 2, { 0, 40 }, { 40, 4 } }, shorter = { "k", 1, { 0 }, { 40 } },
                            other = { "k", 2, { 0, 40 }, { 32, 4 } };
  guint32 before[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, after[10] = { 1, 2, 3, 4, 50, 6, 7, 8, 9, 11 }, number = 1;
  void *parameters[2] = { before, &number }, *changed[2] = { after, &number };
  CUgraph graphs[4];
  g_autofree char *words = NULL;
  g_autofree char *fewer = NULL;
  g_autofree char *narrower = NULL;
  g_autoptr (MemraCensus) a = NULL;
  g_autoptr (MemraCensus) b = NULL;
  g_autoptr (MemraCensus) c = NULL;
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    graphs[i] = fake_graph_new ();
  fake_add_kernel (graphs[0], NULL, &longer, parameters);
  fake_add_kernel (graphs[1], NULL, &longer, changed);
  fake_add_kernel (graphs[2], NULL, &shorter, parameters);
  fake_add_kernel (graphs[3], NULL, &other, parameters);
  words = dup_fake_diff (driver, graphs[0], graphs[1]);
  g_assert_cmpstr (words, ==, "~ k: argument 0 byte 16: 5 -> 50; argument 0 byte 36: 10 -> 11 (at 0)\n");
  fewer = dup_fake_diff (driver, graphs[0], graphs[2]);
  g_assert_cmpstr (fewer, ==, "~ k: number of arguments 2 -> 1 (at 0)\n");
  narrower = dup_fake_diff (driver, graphs[0], graphs[3]);
  g_assert_cmpstr (narrower, ==, "~ k: argument 0: 40 bytes -> 32 bytes (at 0)\n");

  a = memra_census_new_from_graph (driver, graphs[0], NULL);
  b = memra_census_new_from_graph (driver, graphs[1], NULL);
  c = memra_census_new_from_graph (driver, graphs[2], NULL);
  report = memra_census_compare_arguments ((MemraCensus *[]){ a, b }, 2, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, 2);
  g_assert_cmpstr (memra_argument_report_get_change (report, 0, NULL, NULL), ==,
                   "kernel 0 k argument 0 byte 16: 5 -> 50: frozen into the graph; replay will repeat 5");
  /* With the arguments of one, those of the other would be read past their end. */
  g_assert_null (memra_census_compare_arguments ((MemraCensus *[]){ a, c }, 2, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED);
  assert_contains (error->message, "Kernel 0 k takes other arguments");
  fake_driver_free (driver);
}

/* What an old driver does not tell is no difference. */
static void
test_old_driver (void)
{
  static const FakeFunction function = { "k", 1, { 0 }, { 8 } };
  guint64 value = 41;
  void *parameters[1] = { &value };
  MemraCensus *censuses[2];
  const int versions[2] = { 13000, 12030 };
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 2; i++)
    {
      MemraDriver *driver = fake_driver_new (versions[i]);
      CUgraph graph = fake_graph_new ();

      fake_add_kernel (graph, NULL, &function, parameters);
      censuses[i] = memra_census_new_from_graph (driver, graph, &error);
      g_assert_no_error (error);
      fake_driver_free (driver);
    }
  diff = memra_census_diff (censuses[0], censuses[1]);
  g_assert_cmpuint (memra_census_diff_get_n_changes (diff), ==, 0);
  g_assert_null (memra_census_compare_arguments (censuses, 2, &error));
  assert_contains (error->message, "the driver did not tell them");
  g_clear_error (&error);
  report = memra_census_compare_arguments ((MemraCensus *[]){ censuses[1], censuses[1] }, 2, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, 0);
  unref_two (censuses);
}

static MemraCensus *
partial_census (MemraDriver *driver, CUgraph graph)
{
  g_autoptr (GError) error = NULL;
  MemraCensus *census = _memra_census_read_nodes (driver, graph, 0, NULL, 0, &error);

  g_assert_no_error (error);
  fake_fail ("cuGraphKernelNodeGetParams", 1, MCU_ERROR_UNKNOWN);
  g_assert_false (_memra_census_read_kernels (census, NULL));
  fake_fail ("cuGraphKernelNodeGetParams", G_MAXUINT, MCU_ERROR_UNKNOWN);
  return census;
}

/* A census from an error: nodes are known by their types alone. */
static void
test_partial (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new (), longer = fake_graph_new ();
  FakeNode *node;
  g_autoptr (MemraCensus) whole = NULL;
  g_autoptr (MemraCensus) partial = NULL;
  g_autoptr (MemraCensus) other = NULL;
  g_autoptr (MemraCensusDiff) same = NULL;
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autofree char *text = NULL;
  g_autofree char *dot = NULL;
  g_autoptr (GError) error = NULL;

  fake_add_kernel (graph, fake_add (graph, MCU_NODE_MEMSET, NULL), &x_function, NULL);
  node = fake_add (longer, MCU_NODE_MEMSET, NULL);
  node = fake_add_kernel (longer, node, &x_function, NULL);
  fake_add_kernel (longer, node, &y_function, NULL);
  whole = memra_census_new_from_graph (driver, graph, &error);
  g_assert_no_error (error);
  partial = partial_census (driver, graph);
  other = partial_census (driver, longer);

  same = memra_census_diff (whole, partial);
  g_assert_cmpuint (memra_census_diff_get_n_changes (same), ==, 0);
  diff = memra_census_diff (whole, other);
  text = memra_census_diff_to_string (diff);
  g_assert_cmpstr (text, ==, "+ kernel (at 2)\n");
  dot = memra_census_to_dot (other);
  assert_contains (dot, "n1 [label=\"kernel \303\227 2\"");

  g_assert_null (memra_census_compare_arguments ((MemraCensus *[]){ whole, partial }, 2, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED);
  assert_contains (error->message, "Capture 1 is partial");
  fake_driver_free (driver);
}

/* Memory that is no longer freed is the same node in the same place. */
static void
test_hazards (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph before = fake_graph_new (), after = fake_graph_new ();
  g_autofree char *text = NULL;

  for (guint i = 0; i < 2; i++)
    {
      CUgraph graph = i == 0 ? before : after;
      FakeNode *node = fake_add (graph, MCU_NODE_MEM_ALLOC, NULL);

      node->memory = 0x20000000;
      node->memory_size = 4096;
      node = fake_add (graph, MCU_NODE_MEM_FREE, node);
      node->memory = i == 0 ? 0x20000000 : 0x30000000;
    }
  text = dup_fake_diff (driver, before, after);
  assert_contains (text, "~ mem-alloc: hazards none -> unbalanced-allocation (at 0)\n");
  fake_driver_free (driver);
}

#define N_MANY 30000

/* A chain of layers of twenty kernels, the kernels in `without` left out and those in `other` given another number. */
static MemraCensus *
many_kernels (guint64 *values, guint step_without, guint step_other)
{
  static FakeFunction functions[20];
  static char names[20][16];
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  FakeNode *last = NULL;
  MemraCensus *census;

  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      g_snprintf (names[i], sizeof names[i], "kernel_%u", i);
      functions[i] = (FakeFunction){ names[i], 1, { 0 }, { 8 } };
    }
  for (guint i = 0; i < N_MANY; i++)
    {
      void *parameters[1] = { &values[i] };

      if (step_without > 0 && i % step_without == step_without - 1)
        continue;
      values[i] = step_other > 0 && i % step_other == 0 ? 6 : 5;
      last = fake_add_kernel (graph, last, &functions[i % G_N_ELEMENTS (functions)], parameters);
    }
  census = memra_census_new_from_graph (driver, graph, NULL);
  fake_driver_free (driver);
  return census;
}

/* The work grows with the graph and with what differs in it, not with their product: held against reading the graph, on
 * however slow a machine. */
static void
test_many (void)
{
  g_autofree guint64 *values = g_new (guint64, N_MANY);
  gint64 start = g_get_monotonic_time (), reading, few, many, arguments;
  g_autoptr (MemraCensus) a = many_kernels (values, 0, 0);
  g_autoptr (MemraCensus) b = NULL;
  g_autoptr (MemraCensus) c = NULL;
  g_autoptr (MemraCensus) d = NULL;
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autoptr (MemraCensusDiff) large = NULL;
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  reading = g_get_monotonic_time () - start;
  b = many_kernels (values, 10000, 9000);
  c = many_kernels (values, 7, 0);
  d = many_kernels (values, 0, 3000);

  start = g_get_monotonic_time ();
  diff = memra_census_diff (a, b);
  few = g_get_monotonic_time () - start;
  g_assert_cmpuint (memra_census_diff_get_n_changes (diff), ==, 3 + 4);

  start = g_get_monotonic_time ();
  large = memra_census_diff (a, c);
  text = memra_census_diff_to_string (large);
  many = g_get_monotonic_time () - start;
  g_assert_cmpuint (memra_census_diff_get_n_changes (large), ==, N_MANY / 7);

  start = g_get_monotonic_time ();
  report = memra_census_compare_arguments ((MemraCensus *[]){ a, d }, 2, &error);
  arguments = g_get_monotonic_time () - start;
  g_assert_no_error (error);
  g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, N_MANY / 3000);

  g_test_message ("%u kernels: read in %" G_GINT64_FORMAT " us, few differences found in %" G_GINT64_FORMAT
                  " us, many in %" G_GINT64_FORMAT " us, arguments compared in %" G_GINT64_FORMAT " us",
                  N_MANY, reading, few, many, arguments);
  g_assert_cmpint (few, <, 10 * reading + 100000);
  g_assert_cmpint (many, <, 50 * reading + 500000);
  g_assert_cmpint (arguments, <, 10 * reading + 100000);
}

static void
test_loaded (void)
{
  g_auto (Script) script = { 0 };
  g_autoptr (MemraCensus) a = NULL;
  g_autoptr (MemraCensus) b = NULL;
  g_autoptr (MemraCensusDiff) diff = NULL;
  g_autofree char *json = NULL;
  g_autoptr (GError) error = NULL;

  script_init (&script);
  a = census_of (&script, "zasbcm");
  json = memra_census_to_json (a);
  b = memra_census_from_json (json, -1, &error);
  g_assert_no_error (error);
  diff = memra_census_diff (a, b);
  g_assert_cmpuint (memra_census_diff_get_n_changes (diff), ==, 0);
}

static void
test_arguments (void)
{
  g_auto (Script) script = { 0 };
  MemraCensus *censuses[3];
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GPtrArray) mismatches = NULL;
  g_autoptr (GError) error = NULL;
  const char *const must_vary[] = { "memra_dsv4_silu_gate", NULL };
  const char *const must_not_vary[] = { "memra_dsv4_add*:2", NULL };
  guint kernel, argument;

  script_init (&script);
  for (guint i = 0; i < 3; i++)
    {
      script.n = 41 + i;
      censuses[i] = census_of (&script, "zas");
    }
  report = memra_census_compare_arguments (censuses, 2, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, 1);
  g_assert_cmpstr (
      memra_argument_report_get_change (report, 0, &kernel, &argument), ==,
      "kernel 0 memra_dsv4_add_inplace argument 2: 41 -> 42: frozen into the graph; replay will repeat 41");
  g_assert_cmpuint (kernel, ==, 0);
  g_assert_cmpuint (argument, ==, 2);
  mismatches = memra_argument_report_check (report, must_vary, must_not_vary);
  g_assert_cmpuint (mismatches->len, ==, 2);
  assert_contains (g_ptr_array_index (mismatches, 0), "memra_dsv4_silu_gate must vary, and did not");
  assert_contains (g_ptr_array_index (mismatches, 1), "memra_dsv4_add*:2 must not vary: kernel 0");
  for (guint i = 0; i < 3; i++)
    memra_census_unref (censuses[i]);
}

static void
test_alternating (void)
{
  g_auto (Script) script = { 0 };
  MemraCensus *censuses[4];
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GError) error = NULL;

  script_init (&script);
  for (guint i = 0; i < 4; i++)
    {
      script.n = 10 + i % 2;
      censuses[i] = census_of (&script, "a");
    }
  report = memra_census_compare_arguments (censuses, 4, &error);
  g_assert_no_error (error);
  assert_contains (memra_argument_report_get_change (report, 0, NULL, NULL), "10 -> 11 -> 10 -> 11: alternating");
  for (guint i = 0; i < 4; i++)
    memra_census_unref (censuses[i]);
}

/* Two buffers in the same role: by address they are not the same, and a file does not tell. */
static void
test_double_buffer (void)
{
  g_auto (Script) script = { 0 };
  MemraCensus *censuses[4], *loaded[2];
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (MemraArgumentReport) blind = NULL;
  g_autoptr (GError) error = NULL;
  guint kernel = 99, argument = 99;

  script_init (&script);
  for (guint i = 0; i < 4; i++)
    censuses[i] = census_of (&script, i % 2 == 0 ? "a" : "b");
  report = memra_census_compare_arguments (censuses, 4, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, 1);
  g_test_message ("%s", memra_argument_report_get_change (report, 0, &kernel, &argument));
  assert_contains (memra_argument_report_get_change (report, 0, &kernel, &argument),
                   "kernel 0 memra_dsv4_add_inplace argument 1: buffer 1 + 0 (0x");
  assert_contains (memra_argument_report_get_change (report, 0, NULL, NULL), "alternating between two values");
  g_assert_cmpuint (kernel, ==, 0);
  g_assert_cmpuint (argument, ==, 1);

  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *json = memra_census_to_json (censuses[i]);

      loaded[i] = memra_census_from_json (json, -1, &error);
      g_assert_no_error (error);
    }
  blind = memra_census_compare_arguments (loaded, 2, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_argument_report_get_n_changes (blind), ==, 0);
  for (guint i = 0; i < 2; i++)
    memra_census_unref (loaded[i]);
  for (guint i = 0; i < 4; i++)
    memra_census_unref (censuses[i]);
}

/* Copies, fills and geometry. */
static void
test_other_things (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  MemraCensus *censuses[2];
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GPtrArray) mismatches = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  const char *const rules[] = { "memset", "mem-alloc", "x", "memcpy", NULL };

  fake_add_memory (0x10000000, 0x10000, 100, MCU_MEMORYTYPE_DEVICE);
  fake_add_memory (0x20000000, 0x10000, 101, MCU_MEMORYTYPE_DEVICE);
  for (guint i = 0; i < 2; i++)
    {
      CUgraph graph = fake_graph_new ();
      FakeNode *fill = fake_add (graph, MCU_NODE_MEMSET, NULL),
               *kernel = fake_add_kernel (graph, fill, &x_function, NULL),
               *alloc = fake_add (graph, MCU_NODE_MEM_ALLOC, kernel), *copy = fake_add (graph, MCU_NODE_MEMCPY, alloc);

      fill->fill
          = (McuMemsetNodeParams){ .dst = 0x10000000, .value = i, .element_size = 4, .width = 16 + i, .height = 1 };
      kernel->kernel.grid_x = 4 + i;
      kernel->kernel.block_y = 2 + i;
      kernel->kernel.shared_bytes = 64 * i;
      alloc->memory = 0x70000000;
      alloc->memory_size = 4096 + i;
      copy->copy = (McuMemcpy3D){ .src_memory_type = MCU_MEMORYTYPE_DEVICE,
                                  .src_device = 0x10000000 + 16 * i,
                                  .dst_memory_type = MCU_MEMORYTYPE_DEVICE,
                                  .dst_device = 0x20000000,
                                  .width_bytes = 64,
                                  .height = 1,
                                  .depth = 1 };
      censuses[i] = memra_census_new_from_graph (driver, graph, &error);
      g_assert_no_error (error);
    }
  report = memra_census_compare_arguments (censuses, 2, &error);
  g_assert_no_error (error);
  text = memra_argument_report_to_string (report);
  g_assert_cmpstr (
      text, ==,
      "copy 0 (fill of 64 bytes) size: 64 bytes -> 68 bytes: frozen into the graph; replay will repeat 64 bytes\n"
      "copy 0 (fill of 64 bytes) value: 0x0 -> 0x1: frozen into the graph; replay will repeat 0x0\n"
      "kernel 0 x grid: 4x1x1 -> 5x1x1: frozen into the graph; replay will repeat 4x1x1\n"
      "kernel 0 x block: 1x2x1 -> 1x3x1: frozen into the graph; replay will repeat 1x2x1\n"
      "kernel 0 x shared memory: 0 -> 64: frozen into the graph; replay will repeat 0\n"
      "node 2 (mem-alloc) size: 4096 bytes -> 4097 bytes: frozen into the graph; replay will repeat 4096 bytes\n"
      "copy 1 (device-to-device, 64 bytes) source: buffer 0 + 0 (0x10000000) -> buffer 0 + 16 (0x10000010): "
      "frozen into the graph; replay will repeat buffer 0 + 0 (0x10000000)\n");
  mismatches = memra_argument_report_check (report, rules, NULL);
  g_assert_cmpuint (mismatches->len, ==, 0);
  unref_two (censuses);
  fake_driver_free (driver);
}

/* A rule that is about nothing would never be broken. */
static void
test_rules (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  static const FakeFunction mangled = { "_Z6k_tmplIfEvPT_", 1, { 0 }, { 8 } }; /* void k_tmpl<float>(float*) */
  guint64 before = 1, after = 2;
  void *parameters[2][1] = { { &before }, { &after } };
  MemraCensus *censuses[2];
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GPtrArray) fine = NULL;
  g_autoptr (GPtrArray) broken = NULL;
  g_autoptr (GPtrArray) idle = NULL;
  const char *const good[] = { "_Z6k_tmpl*", "*k_tmpl<float>*", "*k_tmpl<float>*:0", "*", NULL };
  const char *const bad[] = { "*k_tmpl<double>*", "k_tmpl*", "_Z6k_tmpl*:1", "memcpy", "*:0:0", "", NULL };

  for (guint i = 0; i < 2; i++)
    {
      CUgraph graph = fake_graph_new ();

      fake_add_kernel (graph, NULL, &mangled, parameters[i]);
      censuses[i] = memra_census_new_from_graph (driver, graph, NULL);
    }
  report = memra_census_compare_arguments (censuses, 2, NULL);
  fine = memra_argument_report_check (report, good, NULL);
  g_assert_cmpuint (fine->len, ==, 0);
  broken = memra_argument_report_check (report, NULL, good);
  g_assert_cmpuint (broken->len, ==, 4);
  assert_contains (g_ptr_array_index (broken, 2),
                   "*k_tmpl<float>*:0 must not vary: kernel 0 _Z6k_tmplIfEvPT_ argument 0: 1 -> 2");
  idle = memra_argument_report_check (report, bad, bad);
  g_assert_cmpuint (idle->len, ==, 12);
  for (guint i = 0; i < idle->len; i++)
    assert_contains (g_ptr_array_index (idle, i), "names nothing in the layer");
  unref_two (censuses);
  fake_driver_free (driver);
}

/* What moves in every layer is one line; what does not is one each. */
static void
test_folded_report (void)
{
  g_auto (Script) script = { 0 };
  MemraCensus *censuses[2];
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autofree char *text = NULL;

  script_init (&script);
  censuses[0] = census_of (&script, "1zas1zas1zas5as");
  censuses[1] = census_of (&script, "2zas2zas2zas6as");
  report = memra_census_compare_arguments (censuses, 2, NULL);
  g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, 4);
  text = memra_argument_report_to_string (report);
  g_assert_cmpstr (
      text, ==,
      "memra_dsv4_add_inplace argument 2: 1 -> 2: frozen into the graph; replay will repeat 1 (3 times, at 1, 4, 7)\n"
      "kernel 6 memra_dsv4_add_inplace argument 2: 5 -> 6: frozen into the graph; replay will repeat 5\n");
  for (guint i = 0; i < 2; i++)
    memra_census_unref (censuses[i]);
}

static void
test_other_layer (void)
{
  g_auto (Script) script = { 0 };
  MemraCensus *censuses[2];
  g_autoptr (GError) error = NULL;

  script_init (&script);
  censuses[0] = census_of (&script, "zas");
  censuses[1] = census_of (&script, "zss");
  g_assert_null (memra_census_compare_arguments (censuses, 2, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FAILED);
  assert_contains (error->message,
                   "not of the same layer: at place 1 there is Kernel 0 memra_dsv4_add_inplace in one and Kernel 0 "
                   "memra_dsv4_silu_gate in the other");
  memra_census_unref (censuses[0]);
  memra_census_unref (censuses[1]);
}

static void
test_dot (void)
{
  g_auto (Script) script = { 0 };
  g_autoptr (MemraCensus) census = NULL;
  g_autofree char *dot = NULL;

  script_init (&script);
  census = census_of (&script, "cmzaaszaaszaas");
  dot = memra_census_to_dot (census);
  g_test_message ("%s", dot);
  assert_contains (dot, "label=\"3 times, in a row\"");
  assert_contains (dot, "n2 [label=\"memra_dsv4_add_inplace \303\227 2\\ngrid 1, block 256\"");
  assert_contains (dot, "n0 -> n1;");
  assert_contains (dot, "n2 -> n4;");
  /* On to the next repetition: that is what "in a row" says. */
  assert_lacks (dot, "n4 -> n1");
  assert_lacks (dot, "n2 -> n2");
  assert_lacks (dot, "n5 [");
  /* One box for the section, with the repetition in it. */
  g_assert_true (strstr (dot, "label=\"section\"") < strstr (dot, "label=\"3 times"));
  g_assert_null (strstr (strstr (dot, "label=\"section\"") + 1, "label=\"section\""));
}

static void
test_dot_empty (void)
{
  MemraDriver *driver = fake_driver_new (13000);
  g_autoptr (MemraCensus) census = memra_census_new_from_graph (driver, fake_graph_new (), NULL);
  g_autofree char *dot = memra_census_to_dot (census);

  assert_contains (dot, "label=\"layer 0: 0 nodes\"");
  fake_driver_free (driver);
}

/* Child graphs, conditional bodies, parallel kernels, programmatic edges. */
static void
test_dot_shapes (void)
{
  MemraDriver *driver = fake_driver_new (13020);
  CUgraph graph = fake_graph_new (), bodies[2] = { fake_graph_new (), fake_graph_new () };
  FakeNode *node = NULL, *conditional, *first;
  g_autoptr (MemraCensus) census = NULL;
  g_autofree char *dot = NULL;

  for (guint i = 0; i < 3; i++)
    {
      CUgraph child = fake_graph_new ();

      fake_add_kernel (child, fake_add_kernel (child, NULL, &x_function, NULL), &y_function, NULL);
      node = fake_add_child (graph, node, child);
    }
  conditional = fake_add (graph, MCU_NODE_CONDITIONAL, node);
  fake_add_kernel (bodies[0], NULL, &x_function, NULL);
  fake_add_kernel (bodies[1], NULL, &y_function, NULL);
  conditional->bodies[0] = bodies[0];
  conditional->bodies[1] = bodies[1];
  conditional->n_bodies = 2;
  first = fake_add_kernel (graph, conditional, &y_function, NULL);
  for (guint i = 0; i < 7; i++)
    fake_add_kernel (graph, conditional, &y_function, NULL);
  fake_connect (first, fake_add_kernel (graph, NULL, &x_function, NULL), MCU_EDGE_PROGRAMMATIC);

  census = memra_census_new_from_graph (driver, graph, NULL);
  dot = memra_census_to_dot (census);
  g_test_message ("%s", dot);
  assert_contains (dot, "n0 [label=\"child-graph \303\227 3\"");
  assert_contains (dot, "n0 -> n1 [style=dashed");
  assert_contains (dot, "n1 -> n2;");
  assert_lacks (dot, "n4 [");
  assert_contains (dot, "label=\"body 0\"");
  assert_contains (dot, "label=\"body 1\"");
  assert_contains (dot, "n0 -> n9;");
  assert_contains (dot, "n9 -> n12;");
  assert_contains (dot, "n12 [label=\"y \303\227 8 in parallel\\n");
  assert_contains (dot, "n12 -> n20 [style=dotted");
  assert_contains (dot, "! programmatic-edge\", style=\"filled\"");
  fake_driver_free (driver);
}

static void
test_dot_names (void)
{
  static const struct
  {
    const char *name, *shown;
  } names[] = {
    { "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
      "vectorized_elementwise_kernel" },
    { "_ZN12_GLOBAL__N_14gemmIfLi4EEEvPT_", "gemm" },
    { "_Z6kernelIfENSt9enable_ifIXsr3std7is_sameIT_fEE5valueEvE4typeEPS1_", "kernel" },
    { "_ZN1AclEv", "operator()" },
    { "_Zls1AS_", "operator<<" },
    { "_Z1fv", "f" },
    { "plain", "plain" },
    { "quo\"te\\d", "quo\\\"te\\\\d" },
    { "escape\033[31m", "escape\357\277\275[31m" },
    { "()", "()" },
    { "<", "<" },
    { "a_name_that_is_far_too_long_to_stand_in_a_box_of_a_picture", "a_name_that_is_far_too_long_to_stand_i.." },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      MemraDriver *driver = fake_driver_new (13000);
      CUgraph graph = fake_graph_new ();
      FakeFunction function = { names[i].name, 0, { 0 }, { 0 } };
      g_autofree char *wanted = g_strdup_printf ("n0 [label=\"%s\\ngrid 1, block 1\"", names[i].shown);
      g_autoptr (MemraCensus) census = NULL;
      g_autofree char *dot = NULL;

      fake_add_kernel (graph, NULL, &function, NULL);
      census = memra_census_new_from_graph (driver, graph, NULL);
      dot = memra_census_to_dot (census);
      assert_contains (dot, wanted);
      fake_driver_free (driver);
    }
}

/* Longest alignments against the textbook's table, on random sequences. */
static guint
longest (const guint32 *a, guint n, const guint32 *b, guint m)
{
  guint table[40][40];

  for (guint i = 0; i <= n; i++)
    for (guint j = 0; j <= m; j++)
      table[i][j] = i == 0 || j == 0       ? 0
                    : a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1
                                           : MAX (table[i - 1][j], table[i][j - 1]);
  return table[n][m];
}

static void
test_align (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);

  for (guint round = 0; round < 20000; round++)
    {
      guint32 a[32], b[32], last = 0;
      guint n = g_rand_int_range (random, 0, 32), m = g_rand_int_range (random, 0, 32),
            words = g_rand_int_range (random, 1, 6);
      guint aligned = 0;
      g_autofree guint32 *partners = NULL;

      for (guint i = 0; i < n; i++)
        a[i] = g_rand_int_range (random, 0, words);
      for (guint i = 0; i < m; i++)
        b[i] = g_rand_int_range (random, 0, words);
      partners = _memra_align (a, n, b, m);
      for (guint i = 0; i < n; i++)
        {
          if (partners[i] == MEMRA_UNALIGNED)
            continue;
          g_assert_cmpuint (partners[i], <, m);
          g_assert_cmpuint (a[i], ==, b[partners[i]]);
          g_assert_true (aligned == 0 || partners[i] > last);
          last = partners[i];
          aligned++;
        }
      g_assert_cmpuint (aligned, ==, longest (a, n, b, m));
    }
}

/* Beyond what is searched for the best, still one that is right. */
static void
test_align_much (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (2);

  for (guint words = 2; words <= 200000; words *= 100)
    {
      const guint n = 8000, m = 9000;
      g_autofree guint32 *a = g_new (guint32, n);
      g_autofree guint32 *b = g_new (guint32, m);
      g_autofree guint32 *partners = NULL;
      guint32 next = 0, aligned = 0;

      for (guint i = 0; i < n; i++)
        a[i] = (guint32) g_rand_int_range (random, 0, (gint32) words);
      for (guint i = 0; i < m; i++)
        b[i] = (guint32) g_rand_int_range (random, 0, (gint32) words);
      memcpy (b + 4000, a + 3500, 500 * sizeof *a); /* something in common */
      partners = _memra_align (a, n, b, m);
      for (guint i = 0; i < n; i++)
        if (partners[i] != MEMRA_UNALIGNED)
          {
            g_assert_cmpuint (partners[i], >=, next);
            g_assert_cmpuint (partners[i], <, m);
            g_assert_cmpuint (a[i], ==, b[partners[i]]);
            next = partners[i] + 1;
            aligned++;
          }
      g_test_message ("%u words: %u aligned", words, aligned);
      g_assert_cmpuint (aligned, >=, words > 1000 ? 500 : 1000);
    }
}

/* Shifting keeps an alignment one, and makes no pair fewer alike. */
static void
test_align_shift (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (3);

  for (guint round = 0; round < 5000; round++)
    {
      guint32 tokens[2][24], n[2], *partners[2], last = 0;
      guint64 contents[2][24];
      guint n_aligned[2] = { 0, 0 }, alike[2] = { 0, 0 };

      for (guint k = 0; k < 2; k++)
        {
          n[k] = g_rand_int_range (random, 0, 24);
          for (guint i = 0; i < n[k]; i++)
            {
              tokens[k][i] = g_rand_int_range (random, 0, 3);
              contents[k][i] = g_rand_int_range (random, 0, 3);
            }
        }
      partners[0] = _memra_align (tokens[0], n[0], tokens[1], n[1]);
      partners[1] = g_new (guint32, n[1] + 1);
      memset (partners[1], 0xff, n[1] * sizeof (guint32));
      for (guint when = 0; when < 2; when++)
        {
          gboolean any = FALSE;

          for (guint i = 0; i < n[0]; i++)
            if (partners[0][i] != MEMRA_UNALIGNED)
              {
                guint32 there = partners[0][i];

                g_assert_cmpuint (there, <, n[1]);
                g_assert_cmpuint (tokens[0][i], ==, tokens[1][there]);
                g_assert_true (!any || there > last);
                if (when == 1)
                  g_assert_cmpuint (partners[1][there], ==, i);
                partners[1][there] = i;
                last = there;
                any = TRUE;
                n_aligned[when]++;
                alike[when] += contents[0][i] == contents[1][there];
              }
          if (when == 0)
            _memra_align_shift (&(MemraSide){ tokens[0], contents[0], partners[0], n[0] },
                                &(MemraSide){ tokens[1], contents[1], partners[1], n[1] });
        }
      g_assert_cmpuint (n_aligned[0], ==, n_aligned[1]);
      g_assert_cmpuint (alike[0], <=, alike[1]);
      g_free (partners[0]);
      g_free (partners[1]);
    }
}

static void
add_tests (void)
{
  g_test_summary ("Differences between graphs are found by role and told once; frozen arguments are named.");
  memra_test_add ("/diff/kinds", test_diff);
  memra_test_add ("/diff/renumbered", test_renumbered);
  memra_test_add ("/diff/roles", test_roles);
  memra_test_add ("/diff/which", test_which);
  memra_test_add ("/diff/moved", test_moved);
  memra_test_add ("/diff/folded", test_folded);
  g_test_add_func ("/diff/folded-buffers", test_folded_buffers);
  g_test_add_func ("/diff/edges", test_edges);
  g_test_add_func ("/diff/structs", test_structs);
  g_test_add_func ("/diff/old-driver", test_old_driver);
  g_test_add_func ("/diff/partial", test_partial);
  g_test_add_func ("/diff/hazards", test_hazards);
  g_test_add_func ("/diff/many", test_many);
  memra_test_add ("/diff/loaded", test_loaded);
  memra_test_add ("/arguments/frozen", test_arguments);
  memra_test_add ("/arguments/alternating", test_alternating);
  memra_test_add ("/arguments/double-buffer", test_double_buffer);
  g_test_add_func ("/arguments/other-things", test_other_things);
  g_test_add_func ("/arguments/rules", test_rules);
  memra_test_add ("/arguments/folded", test_folded_report);
  memra_test_add ("/arguments/other-layer", test_other_layer);
  memra_test_add ("/dot/blocks", test_dot);
  g_test_add_func ("/dot/empty", test_dot_empty);
  g_test_add_func ("/dot/shapes", test_dot_shapes);
  g_test_add_func ("/dot/names", test_dot_names);
  g_test_add_func ("/align/best", test_align);
  g_test_add_func ("/align/much", test_align_much);
  g_test_add_func ("/align/shift", test_align_shift);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
