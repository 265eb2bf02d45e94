/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies: what they refuse, before anything runs, and what is wrong with a policy file. */
#include "config.h"

#include "capture-fixture.h"
#include "census-fake.h"

#include "census/census-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
  assert_capture_error (error, 5, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, 0,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
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
  g_autoptr (MemraPolicy) bad
      = parse ("[Policy]\nVersion=1\n[Kernels]\nmemra_dsv4_add*=..0\n*gemm*=1..\n[Nodes]\nmemcpy=3\n");
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
  assert_capture_error (error, 1, MEMRA_CAPTURE_ERROR_POLICY, MEMRA_CAPTURE_STAGE_POLICY, 0,
                        MEMRA_EXECUTION_NOT_EXECUTED, TRUE);
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
  assert_refused_text ("[Policy]\nVersion=1\nAllowEmtpy=true\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Policy] AllowEmtpy: is not known");
  assert_refused_text ("[Policy]\nVersion=1\nAllowEmpty=perhaps\n", MEMRA_CENSUS_ERROR_POLICY,
                       "AllowEmpty: wants true or false");
  assert_refused_text ("[Policy]\nVersion=1\nForbidHazards=host-nod\n", MEMRA_CENSUS_ERROR_POLICY,
                       "‘host-nod’ is no kind of hazard");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernels=1\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernels: is no node type");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=many\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=5..3\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=-1\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=..\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernel: wants a number");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=99999999999999999999\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernel: wants");
  assert_refused_text ("[Policy]\nVersion=1\n[Knodes]\nkernel=1\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Knodes]: the group is not known");
  assert_refused_text ("[Policy]\nVersion=1\n[Kernels]\n\xff=1\n", MEMRA_CENSUS_ERROR_POLICY, "not UTF-8");
}

/* What a key file lets pass: the last of two, or a key for another language. */
static void
test_file_twice (void)
{
  g_autoptr (MemraPolicy) fine = NULL;
  g_autoptr (GError) error = NULL;

  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=1\nmemcpy=0\nkernel=2\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes] kernel: is there twice");
  assert_refused_text ("[Policy]\nVersion=1\n[Nodes]\nkernel=1\n[Nodes]\nmemcpy=2\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Nodes]: the group is there twice");
  assert_refused_text ("[Policy]\nVersion=1\nVersion=1\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Policy] Version: is there twice");
  assert_refused_text ("[Policy]\r\nVersion=1\r\n[Kernels]\r\n  *gemm* =1\r\n*gemm*=2\r\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Kernels] *gemm*: is there twice");
  assert_refused_text ("[Policy]\nVersion=1\n[Kernels]\ngemm[xx]=1\n", MEMRA_CENSUS_ERROR_POLICY,
                       "[Kernels] gemm[xx]: a key cannot have brackets");

  /* The same key in two groups, in a comment, and as a value. */
  fine = memra_policy_new_from_data ("# [Nodes]\n[Policy]\nVersion=1\n#Version=1\n\n[Nodes]\nkernel=1\n#kernel=2\n"
                                     "[Kernels]\nkernel = 1.. \n",
                                     -1, &error);
  g_assert_no_error (error);
  g_assert_nonnull (fine);
}

static void
test_file_hazards (void)
{
  static const char *const kinds[]
      = { "device-to-host-pageable", "pageable-source", "pageable-target", "host-node",      "unbalanced-allocation",
          "programmatic-edge",       "foreign-context", "empty-graph",     "unnamed-kernel", "opaque-node" };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *text = g_strdup_printf ("[Policy]\nVersion=1\nForbidHazards=%s\n", kinds[i]);

      memra_policy_unref (parse (text));
    }
}

/* A kind that is none would never be met. */
static void
test_unknown_hazard (void)
{
  g_autoptr (MemraPolicy) policy = memra_policy_new ();

  g_test_expect_message ("memra-capture", G_LOG_LEVEL_CRITICAL, "*_memra_hazard_kind_is_known*");
  memra_policy_forbid_hazard (policy, "host-nod");
  g_test_assert_expected_messages ();
}

static char *
dup_temporary_path (const char *text, gsize length)
{
  g_autoptr (GError) error = NULL;
  char *path = NULL;
  int fd = g_file_open_tmp ("memra-policy-XXXXXX", &path, &error);

  g_assert_no_error (error);
  g_close (fd, NULL);
  g_file_set_contents (path, text, (gssize) length, &error);
  g_assert_no_error (error);
  return path;
}

static void
test_file (void)
{
  static const char good[] = "[Policy]\nVersion=1\n[Nodes]\nmemcpy=0\n";
  static const char cut[] = "[Policy]\nVersion=1\n\0[Nodes]\nmemcpy=0\n";
  g_autofree char *good_path = dup_temporary_path (good, sizeof good - 1);
  g_autofree char *cut_path = dup_temporary_path (cut, sizeof cut - 1);
  g_autoptr (MemraPolicy) policy = NULL;
  g_autoptr (GError) error = NULL;

  policy = memra_policy_load (good_path, &error);
  g_assert_no_error (error);
  g_assert_nonnull (policy);
  /* What follows a zero byte is not passed over. */
  g_assert_null (memra_policy_load (cut_path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_POLICY);
  assert_contains (error->message, cut_path);
  g_clear_error (&error);
  g_assert_null (memra_policy_load ("/dev/zero", &error)); /* has no end */
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_POLICY);
  assert_contains (error->message, "has more than 1 MiB");
  g_clear_error (&error);
  g_assert_null (memra_policy_load ("/", &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_ISDIR);
  g_assert_cmpint (g_unlink (good_path), ==, 0);
  g_assert_cmpint (g_unlink (cut_path), ==, 0);
}

/* Not with GLib, which puts a new file in the place of the pipe where it can. */
static gpointer
write_policy (gpointer path)
{
  static const char text[] = "[Policy]\nVersion=1\n";
  int fd = g_open (path, O_WRONLY, 0);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, text, strlen (text)), ==, (gssize) strlen (text));
  close (fd);
  return NULL;
}

/* As the shell's <(...) gives one. */
static void
test_pipe (void)
{
  g_autofree char *directory = g_dir_make_tmp ("memra-policy-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (directory, "pipe", NULL);
  g_autoptr (MemraPolicy) policy = NULL;
  g_autoptr (GError) error = NULL;
  GThread *thread;

  g_assert_cmpint (mkfifo (path, 0600), ==, 0);
  thread = g_thread_new ("writer", write_policy, path);
  policy = memra_policy_load (path, &error);
  g_assert_no_error (error);
  g_thread_join (thread);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (g_rmdir (directory), ==, 0);
}

/* A census whose kernels were not read does not pass for one without kernels. */
static void
test_partial (void)
{
  static const FakeFunction function = { "debug_print", 0, { 0 }, { 0 } };
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  g_autoptr (MemraPolicy) nodes = parse ("[Policy]\nVersion=1\n[Nodes]\nkernel=1\n");
  g_autoptr (MemraPolicy) names = parse ("[Policy]\nVersion=1\n[Kernels]\n*debug*=0\n");
  g_autoptr (MemraPolicy) hazards = parse ("[Policy]\nVersion=1\nForbidHazards=host-node\n");
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GPtrArray) fine = NULL;
  g_autoptr (GPtrArray) unnamed = NULL;
  g_autoptr (GPtrArray) unjudged = NULL;

  fake_add_kernel (graph, NULL, &function, NULL);
  census = _memra_census_read_nodes (driver, graph, 0, NULL, 0, NULL);
  fake_fail ("cuGraphKernelNodeGetParams", 1, MCU_ERROR_UNKNOWN);
  g_assert_false (_memra_census_read_kernels (census, NULL));
  fine = memra_policy_check (nodes, census);
  g_assert_cmpuint (fine->len, ==, 0);
  unnamed = memra_policy_check (names, census);
  g_assert_cmpuint (unnamed->len, ==, 1);
  assert_contains (g_ptr_array_index (unnamed, 0), "the census is partial");
  unjudged = memra_policy_check (hazards, census);
  g_assert_cmpuint (unjudged->len, ==, 1);
  fake_driver_free (driver);
}

/* Names are tried once for each function, however often it is launched. */
static void
test_counts_of_many (void)
{
  static const FakeFunction functions[3]
      = { { "a", 0, { 0 }, { 0 } }, { "_Z1bIfEvv", 0, { 0 }, { 0 } }, { "c", 0, { 0 }, { 0 } } };
  MemraDriver *driver = fake_driver_new (13000);
  CUgraph graph = fake_graph_new ();
  g_autoptr (MemraPolicy) policy
      = parse ("[Policy]\nVersion=1\n[Kernels]\na=400\n*b<float>*=400\n_Z*=399\n*=1200\nd=1\n");
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GPtrArray) mismatches = NULL;

  for (guint i = 0; i < 1200; i++)
    fake_add_kernel (graph, NULL, &functions[i % 3], NULL);
  census = memra_census_new_from_graph (driver, graph, NULL);
  mismatches = memra_policy_check (policy, census);
  g_assert_cmpuint (mismatches->len, ==, 2);
  g_assert_cmpstr (g_ptr_array_index (mismatches, 0), ==, "400 kernels named ‘_Z*’: exactly 399 wanted");
  g_assert_cmpstr (g_ptr_array_index (mismatches, 1), ==, "0 kernels named ‘d’: exactly 1 wanted");
  fake_driver_free (driver);
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
  g_test_summary ("A policy refuses a graph before it runs and names every mismatch; a policy file that is not "
                  "understood is an error.");
  memra_test_add ("/policy/counts", test_counts);
  memra_test_add ("/policy/kernel-names", test_kernel_names);
  memra_test_add ("/policy/hazard", test_hazard);
  memra_test_add ("/policy/empty", test_empty);
  g_test_add_func ("/policy/file/errors", test_file_errors);
  g_test_add_func ("/policy/file/twice", test_file_twice);
  g_test_add_func ("/policy/file/hazards", test_file_hazards);
  g_test_add_func ("/policy/file/missing", test_missing_file);
  g_test_add_func ("/policy/file/contents", test_file);
  g_test_add_func ("/policy/file/pipe", test_pipe);
  g_test_add_func ("/policy/unknown-hazard", test_unknown_hazard);
  g_test_add_func ("/policy/partial", test_partial);
  g_test_add_func ("/policy/many", test_counts_of_many);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
