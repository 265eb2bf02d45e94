/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies: what they refuse, before anything runs, and what is wrong with a policy file. */
#include "config.h"

#include "capture-fixture.h"

#include <string.h>

static MemraPolicy *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  MemraPolicy *policy = memra_policy_new_from_data (text, -1, &error);

  g_assert_no_error (error);
  return policy;
}

static void
assert_refused_text (const char *text, gint code, const char *part)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraPolicy) policy = memra_policy_new_from_data (text, -1, &error);

  g_assert_null (policy);
  g_assert_error (error, MEMRA_CENSUS_ERROR, code);
  assert_contains (error->message, part);
}

/* Captures the one-kernel layer under a policy; the mismatches in the message, or NULL if it was taken. */
static char *
capture_under (Fixture *fixture, MemraPolicy *policy)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraLayerCapture) capture = NULL;

  memra_capture_options_set_policy (fixture->options, policy);
  capture = memra_capture_layer (fixture->stream, 5, fixture->options, fixture_body, fixture, &error);
  if (capture != NULL)
    return NULL;
  assert_capture_error (error, 5, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, 0, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  g_assert_cmpuint (memra_census_get_count (memra_capture_error_get_partial_census (error), "kernel"), ==, 1);
  return g_strdup (error->message);
}

static void
test_counts (void)
{
  static const struct
  {
    guint minimum, maximum;
    const char *mismatch; /* NULL: taken */
  } cases[] = {
    { 1, 1, NULL },
    { 0, 1, NULL },
    { 1, MEMRA_POLICY_UNBOUNDED, NULL },
    { 2, 2, "1 node of type ‘kernel’: exactly 2 wanted" },
    { 2, MEMRA_POLICY_UNBOUNDED, "1 node of type ‘kernel’: at least 2 wanted" },
    { 0, 0, "1 node of type ‘kernel’: none is allowed" },
    { 3, 9, "1 node of type ‘kernel’: 3 to 9 wanted" },
  };
  g_auto (Fixture) fixture = { 0 };
  guint ran = 0;

  fixture_init (&fixture);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (MemraPolicy) policy = memra_policy_new ();
      g_autofree char *mismatch = NULL;

      memra_policy_set_node_count (policy, "kernel", cases[i].minimum, cases[i].maximum);
      mismatch = capture_under (&fixture, policy);
      if (cases[i].mismatch == NULL)
        {
          g_assert_null (mismatch);
          ran++;
        }
      else
        assert_contains (mismatch, cases[i].mismatch);
    }
  memra_capture_options_set_policy (fixture.options, NULL);
  fixture_assert_good_as_new (&fixture, ran);
}

static void
test_kernel_names (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraPolicy) good = parse ("[Policy]\nVersion=1\n[Kernels]\nmemra_dsv4_*=1\n*gemm*=0\n");
  g_autoptr (MemraPolicy) bad = parse ("[Policy]\nVersion=1\n[Kernels]\nmemra_dsv4_add*=..0\n*gemm*=1..\n[Nodes]\nmemcpy=3\n");
  g_autofree char *mismatch = NULL;

  fixture_init (&fixture);
  g_assert_null (capture_under (&fixture, good));
  mismatch = capture_under (&fixture, bad);
  /* Every mismatch, not the first one. */
  assert_contains (mismatch, "1 kernel named ‘memra_dsv4_add*’: none is allowed");
  assert_contains (mismatch, "0 kernels named ‘*gemm*’: at least 1 wanted");
  assert_contains (mismatch, "0 nodes of type ‘memcpy’: exactly 3 wanted");
  memra_capture_options_set_policy (fixture.options, NULL);
  fixture_assert_good_as_new (&fixture, 1);
}

static void
on_host (void *data G_GNUC_UNUSED)
{
}

static gboolean
host_body (MemraStream *stream, gpointer data, GError **error)
{
  Fixture *fixture = data;

  memra_test_assert_cu (fixture->cu->cuLaunchHostFunc (memra_stream_get_cuda_stream (stream), on_host, NULL));
  return fixture_body (stream, data, error);
}

static void
test_hazard (void)
{
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraPolicy) policy = parse ("[Policy]\nVersion=1\nForbidHazards=host-node\n");
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  capture = memra_capture_layer (fixture.stream, 0, NULL, host_body, &fixture, &error);
  g_assert_no_error (error);
  memra_capture_options_set_policy (fixture.options, policy);
  g_assert_null (memra_capture_layer (fixture.stream, 1, fixture.options, host_body, &fixture, &error));
  assert_capture_error (error, 1, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, 0, MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
  assert_contains (error->message, "hazard host-node");
  fixture_assert_good_as_new (&fixture, 1);
}

static void
test_empty (void)
{
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (MemraPolicy) strict = parse ("[Policy]\nVersion=1\n");
  g_autoptr (MemraPolicy) lenient = parse ("[Policy]\nVersion=1\nAllowEmpty=true\n");
  g_autoptr (GPtrArray) mismatches = NULL;
  g_autoptr (GPtrArray) none = NULL;
  g_auto (Fixture) fixture = { 0 };
  g_autoptr (MemraLayerCapture) capture = NULL;
  g_autoptr (GError) error = NULL;

  fixture_init (&fixture);
  memra_capture_options_set_allow_empty (fixture.options, TRUE);
  capture = memra_capture_layer (fixture.stream, 0, fixture.options, fixture_empty_body, &fixture, &error);
  g_assert_no_error (error);
  census = memra_census_ref (memra_layer_capture_get_census (capture));
  mismatches = memra_policy_check (strict, census);
  g_assert_cmpuint (mismatches->len, ==, 1);
  assert_contains (g_ptr_array_index (mismatches, 0), "the graph is empty");
  none = memra_policy_check (lenient, census);
  g_assert_cmpuint (none->len, ==, 0);
}

static void
test_file_errors (void)
{
  assert_refused_text ("", MEMRA_CENSUS_ERROR_POLICY, "[Policy]: the group is missing");
  assert_refused_text ("hello", MEMRA_CENSUS_ERROR_POLICY, "no key file");
  assert_refused_text ("[Policy]\n", MEMRA_CENSUS_ERROR_POLICY, "[Policy] Version: wants the number 1");
  assert_refused_text ("[Policy]\nVersion=2\n", MEMRA_CENSUS_ERROR_VERSION, "Version: 2 is not known");
  assert_refused_text ("[Policy]\nVersion=1\nAllowEmtpy=true\n", MEMRA_CENSUS_ERROR_POLICY, "[Policy] AllowEmtpy: is not known");
  assert_refused_text ("[Policy]\nVersion=1\nAllowEmpty=perhaps\n", MEMRA_CENSUS_ERROR_POLICY, "AllowEmpty: wants true or false");
  assert_refused_text ("[Policy]\nVersion=1\nForbidHazards=host-nod\n", MEMRA_CENSUS_ERROR_POLICY, "‘host-nod’ is no kind of hazard");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernels=1\n", MEMRA_CENSUS_ERROR_POLICY, "[Nodes] kernels: is no node type");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=many\n", MEMRA_CENSUS_ERROR_POLICY, "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=5..3\n", MEMRA_CENSUS_ERROR_POLICY, "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=-1\n", MEMRA_CENSUS_ERROR_POLICY, "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=..\n", MEMRA_CENSUS_ERROR_POLICY, "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=99999999999999999999\n", MEMRA_CENSUS_ERROR_POLICY, "[Nodes] kernel: wants");
  assert_refused_text ("[Policy]\nVersion=1\n[Knodes]\nkernel=1\n", MEMRA_CENSUS_ERROR_POLICY, "[Knodes]: the group is not known");
  assert_refused_text ("[Policy]\nVersion=1\n[Kernels]\n\xff=1\n", MEMRA_CENSUS_ERROR_POLICY, "not UTF-8");
}

static void
test_missing_file (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_policy_load ("/nonexistent/policy", &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  assert_contains (error->message, "/nonexistent/policy");
}

static void
add_tests (void)
{
  g_test_summary ("A policy refuses a graph before it runs and names every mismatch; a policy file that is not understood is an error.");
  memra_test_add ("/policy/counts", test_counts);
  memra_test_add ("/policy/kernel-names", test_kernel_names);
  memra_test_add ("/policy/hazard", test_hazard);
  memra_test_add ("/policy/empty", test_empty);
  g_test_add_func ("/policy/file/errors", test_file_errors);
  g_test_add_func ("/policy/file/missing", test_missing_file);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
