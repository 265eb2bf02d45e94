/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed between two graphs, what is frozen in one, and the picture of one. */
#include "config.h"

#include "capture-fixture.h"

#include "census/align.h"

#include <string.h>

typedef struct
{
  Fixture fixture;
  const char *script; /* a: dst += src, b: dst += other, z: zero dst, c: copy dst to src, o: copy dst to other, s: silu over dst, m: next mark */
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
        g_assert_not_reached ();
      }
  return ok;
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
  assert_diff (&script, "aaa", "aab", "~ memra_dsv4_add_inplace: argument 1: buffer 1 + 0 -> buffer 2 + 0 (at 2)\n");
  /* A buffer that comes first in one has another number in all that follows, and is still the same buffer. */
  assert_diff (&script, "aaaa", "aaaa", "");
  assert_diff (&script, "amas", "aas", "~ memra_dsv4_add_inplace: section section -> none (at 1)\n"
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

static void
test_moved (void)
{
  g_auto (Script) script = { 0 };

  script_init (&script);
  assert_diff (&script, "szaaa", "zaaas", "> memra_dsv4_silu_gate (at 0 -> 4)\n");
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
  g_assert_cmpstr (memra_argument_report_get_change (report, 0, &kernel, &argument), ==,
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
  assert_contains (error->message, "not of the same layer: at place 1 there is Kernel 0 memra_dsv4_add_inplace in one and Kernel 0 "
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
  census = census_of (&script, "cmzaszaszas");
  dot = memra_census_to_dot (census);
  g_test_message ("%s", dot);
  assert_contains (dot, "label=\"3 times\"");
  assert_contains (dot, "label=\"section\"");
  assert_contains (dot, "n0 -> n1;");
  assert_contains (dot, "n3 -> n1 [constraint=false"); /* on to the next repetition */
  assert_lacks (dot, "n4 [");
}

/* Longest alignments against the textbook's table, on random sequences. */
static guint
longest (const guint32 *a, guint n, const guint32 *b, guint m)
{
  guint table[40][40];

  for (guint i = 0; i <= n; i++)
    for (guint j = 0; j <= m; j++)
      table[i][j] = i == 0 || j == 0           ? 0
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
      guint n = g_rand_int_range (random, 0, 32), m = g_rand_int_range (random, 0, 32), words = g_rand_int_range (random, 1, 6);
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

static void
add_tests (void)
{
  g_test_summary ("Differences between graphs are found by role and told once; frozen arguments are named.");
  memra_test_add ("/diff/kinds", test_diff);
  memra_test_add ("/diff/renumbered", test_renumbered);
  memra_test_add ("/diff/moved", test_moved);
  memra_test_add ("/diff/folded", test_folded);
  memra_test_add ("/diff/loaded", test_loaded);
  memra_test_add ("/arguments/frozen", test_arguments);
  memra_test_add ("/arguments/alternating", test_alternating);
  memra_test_add ("/arguments/other-layer", test_other_layer);
  memra_test_add ("/dot", test_dot);
  g_test_add_func ("/align", test_align);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
