/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files that mean harm, or are broken beyond what their writers would do: an error that says where, in bounded memory
 * and time, and never a crash. tests/test-census-json.c and tests/test-policy.c have what is merely wrong; the fuzz
 * targets look for what nobody thought of.
 */
#include "config.h"

#include "memra-test.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED TRUE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED TRUE
#endif
#endif
#ifndef SANITIZED
#define SANITIZED FALSE
#endif

#define MIB ((gsize) 1024 * 1024)

#define LONGEST_MESSAGE 1100

/* An empty census, in two parts: members can be put between them. */
#define HEAD                                                                                                           \
  "{\"copies\":[],\"edges\":{\"list\":[],\"normal\":0,\"programmatic\":0},\"format\":\"memra-capture-census\","        \
  "\"hazards\":[],\"version\":1"
#define TAIL ",\"kernels\":[],\"layer\":0,\"nodes\":{},\"others\":[]}"

/* A kernel with these arguments. */
#define KERNEL_HEAD HEAD ",\"layer\":0,\"nodes\":{\"kernel\":1},\"others\":[],\"kernels\":[{\"args\":["
#define KERNEL_TAIL                                                                                                    \
  "],\"block\":[1,1,1],\"demangled\":\"k\",\"depth\":0,\"grid\":[1,1,1],\"name\":\"k\",\"node\":0,\"section\":null,"   \
  "\"shared\":0}]}"

static void
assert_message (const GError *error, const char *pattern)
{
  g_autofree char *shown = g_utf8_make_valid (error->message, (gssize) MIN (strlen (error->message), 200));

  g_test_message ("%s", shown);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (strlen (error->message), <=, LONGEST_MESSAGE);
  if (!g_pattern_match_simple (pattern, error->message))
    g_error ("\"%s\" is not \"%s\"", shown, pattern);
}

static void
assert_census_refused (const char *text, gssize length, MemraCensusError code, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_census_from_json (text, length, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, (gint) code);
  assert_message (error, pattern);
}

static void
assert_policy_refused (const char *text, gssize length, const char *pattern)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_policy_new_from_data (text, length, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_POLICY);
  assert_message (error, pattern);
}

/* `what`, n times between two texts. (transfer full) */
static char *
repeat (const char *before, const char *what, gsize n, const char *after)
{
  GString *text = g_string_sized_new (strlen (before) + n * strlen (what) + strlen (after));

  g_string_append (text, before);
  for (gsize i = 0; i < n; i++)
    g_string_append (text, what);
  g_string_append (text, after);
  return g_string_free (text, FALSE);
}

/* Runs a test in a process of its own, and holds what it takes in memory beyond what this one has against a bound.
 * Sanitizers take what they like. */
static void
assert_memory (void (*func) (gconstpointer data), gconstpointer data, gsize most)
{
  gsize rss_pages = 0;
  g_autofree char *statm = NULL;
  struct rusage usage;
  gsize before, peak;
  pid_t child;
  int status;

  g_assert_true (g_file_get_contents ("/proc/self/statm", &statm, NULL, NULL));
  g_assert_cmpint (sscanf (statm, "%*u %zu", &rss_pages), ==, 1);
  before = rss_pages * (gsize) sysconf (_SC_PAGESIZE);
  child = fork ();
  g_assert_cmpint (child, >=, 0);
  if (child == 0)
    {
      func (data);
      _exit (0);
    }
  g_assert_cmpint (wait4 (child, &status, 0, &usage), ==, child);
  g_assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
  peak = (gsize) usage.ru_maxrss * 1024;
  g_test_message ("%.1f MiB at most, and %.1f before", (double) peak / MIB, (double) before / MIB);
  if (!SANITIZED)
    g_assert_cmpuint (peak, <=, before + most);
}

/* ---- Files ---- */

static char *
make_sparse_file (gsize size)
{
  g_autoptr (GError) error = NULL;
  char *path = NULL;
  int fd = g_file_open_tmp ("memra-hostile-XXXXXX", &path, &error);

  g_assert_no_error (error);
  g_assert_cmpint (ftruncate (fd, (off_t) size), ==, 0);
  close (fd);
  return path;
}

static void
load_large_census (gconstpointer path)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_census_load ((const char *) path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_FORMAT);
  assert_message (error, "*memra-hostile-*: the file has more than 512 MiB, the most that is read");
}

static void
load_large_policy (gconstpointer path)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_policy_load ((const char *) path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_POLICY);
  assert_message (error, "*memra-hostile-*: the file has more than 1 MiB, the most that is read");
}

static void
test_gigabyte (void)
{
  g_autofree char *path = make_sparse_file (1024 * MIB);

  assert_memory (load_large_census, path, 8 * MIB);
  assert_memory (load_large_policy, path, 8 * MIB);
  g_unlink (path);
}

/* A file of nothing but nul bytes, as a crash of the machine leaves them. */
static void
test_zeros (void)
{
  g_autofree char *path = make_sparse_file (1000);
  g_autoptr (GError) error = NULL;

  g_assert_null (memra_census_load (path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_PARSE);
  assert_message (error, "*: Line 1, position 1: not UTF-8");
  g_clear_error (&error);
  g_assert_null (memra_policy_load (path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, MEMRA_CENSUS_ERROR_POLICY);
  assert_message (error, "*: Line 1: the policy is not UTF-8 text");
  g_unlink (path);
}

/* ---- Censuses: size and depth ---- */

static void
read_nested (gconstpointer text)
{
  assert_census_refused ((const char *) text, -1, MEMRA_CENSUS_ERROR_PARSE,
                         "Line 1, position *: nested deeper than any census");
}

static void
test_nesting (void)
{
  static const char *const openings[] = { "[", "{\"a\":", "[{\"a\":[" };
  g_autofree char *inside = repeat (KERNEL_HEAD, "[", MIB, "");

  for (gsize i = 0; i < G_N_ELEMENTS (openings); i++)
    {
      g_autofree char *text = repeat ("", openings[i], MIB, "");
      g_autofree char *closed = repeat (text, "]", 17, "");

      assert_memory (read_nested, text, 8 * MIB);
      assert_memory (read_nested, closed, 8 * MIB);
    }
  assert_memory (read_nested, inside, 8 * MIB);
}

static void
read_big_kernel (gconstpointer text)
{
  assert_census_refused ((const char *) text, -1, MEMRA_CENSUS_ERROR_FORMAT,
                         "kernels?0? has * MiB of text, wanted at most 8");
}

/* One item that would make a tree of gigabytes. */
static void
test_big_part (void)
{
  g_autofree char *arguments = repeat (KERNEL_HEAD "{\"hex\":\"00\"}", ",{\"hex\":\"00\"}", 2 * MIB, KERNEL_TAIL);
  g_autofree char *bytes = repeat (KERNEL_HEAD "{\"hex\":\"", "00", 20 * MIB, "\"}" KERNEL_TAIL);

  assert_memory (read_big_kernel, arguments, 8 * MIB);
  assert_memory (read_big_kernel, bytes, 8 * MIB);
}

static void
read_wrong_end (gconstpointer text)
{
  assert_census_refused ((const char *) text, -1, MEMRA_CENSUS_ERROR_PARSE, "Line 1048577, position 12: a value is missing");
}

/* What is wrong stands behind much that is right: json-glib must not be given all of it to find out. */
static void
test_late_error (void)
{
  g_autofree char *text = repeat (HEAD ",\"others\":[", "{\"a\":[0,0,0,0,0,0,0,0,0,0]},\n", MIB, "0],\"layer\"::0}");

  assert_memory (read_wrong_end, text, 8 * MIB);
}

/* Keys are looked for among those before them. */
static void
test_many_keys (void)
{
  g_autoptr (GString) text = g_string_new (HEAD ",\"kernels\":[],\"layer\":0,\"others\":[],\"nodes\":{");
  gint64 began = g_get_monotonic_time ();

  for (guint i = 0; i < 300000; i++)
    g_string_append_printf (text, "%s\"unknown-%u\":1", i > 0 ? "," : "", i + 100);
  g_string_append (text, "}}");
  assert_census_refused (text->str, (gssize) text->len, MEMRA_CENSUS_ERROR_FORMAT,
                         "nodes has an object with more than 256 keys");
  g_assert_cmpint (g_get_monotonic_time () - began, <, 20 * G_USEC_PER_SEC);
}

/* What an error quotes is cut. */
static void
test_long_quotes (void)
{
  g_autofree char *key = repeat (HEAD ",\"", "\xc3\xa4", MIB, "\":0" TAIL);
  g_autofree char *format = repeat ("{\"version\":1,\"format\":\"", "x\xe2\x82\xac", MIB, "\"" TAIL);
  g_autofree char *word = repeat (HEAD ",\"layer\":", "x", MIB, "}");
  g_autofree char *type
      = repeat (HEAD ",\"kernels\":[],\"layer\":0,\"nodes\":{\"", "\xc3\xa4", MIB, "\":1},\"others\":[]}");

  assert_census_refused (key, -1, MEMRA_CENSUS_ERROR_FORMAT, "The census has a key \"*\", which is unknown here");
  assert_census_refused (format, -1, MEMRA_CENSUS_ERROR_FORMAT, "format is \"*");
  assert_census_refused (word, -1, MEMRA_CENSUS_ERROR_PARSE, "Line 1, position *: neither a number nor true*");
  assert_census_refused (type, -1, MEMRA_CENSUS_ERROR_FORMAT, "nodes has a key *");
}

/* ---- Censuses: text that json-glib would take ---- */

typedef struct
{
  const char *text; /* of a value */
  const char *wanted;
} Value;

static void
test_numbers (void)
{
  static const Value values[] = {
    { "0x10", "*neither a number*" },
    { "010", "*neither a number*" },
    { ".5", "*neither a number*" },
    { "1.", "*neither a number*" },
    { "1.e5", "*neither a number*" },
    { "1e", "*neither a number*" },
    { "1e+", "*neither a number*" },
    { "-", "*neither a number*" },
    { "- 1", "*neither a number*" },
    { "--1", "*neither a number*" },
    { "+1", "*neither a number*" },
    { "1_000", "Line 1, position 1??: a comma is missing" },
    { "1 000", "Line 1, position 1??: a comma is missing" },
    { "NaN", "*neither a number*" },
    { "Infinity", "*neither a number*" },
    { "-Infinity", "*neither a number*" },
    { "True", "*neither a number*" },
    { "nil", "*neither a number*" },
    { "9223372036854775808", "*an integer that is out of range" },
    { "18446744073709551616", "*an integer that is out of range" },
    { "18446744073709551617", "*an integer that is out of range" },
    { "-9223372036854775809", "*an integer that is out of range" },
    { "100000000000000000000000000000000000000000", "*an integer that is out of range" },
    { "9223372036854775807", "layer is 9223372036854775807, wanted an integer from 0 to 4294967295" },
    { "-9223372036854775808", "layer is -9223372036854775808, wanted an integer*" },
    { "4294967296", "layer is 4294967296, wanted an integer*" },
    { "-1", "layer is -1, wanted an integer*" },
    { "1e3", "layer is a number with a fraction or exponent, wanted an integer*" },
    { "1E400", "layer is a number with a fraction or exponent, wanted an integer*" },
    { "0.0", "layer is a number with a fraction or exponent, wanted an integer*" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autofree char *text
          = g_strconcat (HEAD ",\"kernels\":[],\"nodes\":{},\"others\":[],\"layer\":", values[i].text, "}", NULL);
      g_autoptr (GError) error = NULL;

      g_assert_null (memra_census_from_json (text, -1, &error));
      g_assert_true (error->domain == MEMRA_CENSUS_ERROR);
      assert_message (error, values[i].wanted);
    }
}

static void
test_strings (void)
{
  static const Value values[] = {
    { "a\\u0000b", "Line 1, position ???: a nul character in a string" },
    { "\\ud800", "Line 1, position ???: half a character in a string" },
    { "\\ud800x", "Line 1, position ???: half a character in a string" },
    { "\\ud800\\u0041", "Line 1, position ???: half a character in a string" },
    { "\\ud800\\ud800", "Line 1, position ???: half a character in a string" },
    { "\\udc00", "Line 1, position ???: half a character in a string" },
    { "\\u12", "Line 1, position ???: an escape that JSON does not have" },
    { "\\u12g4", "Line 1, position ???: an escape that JSON does not have" },
    { "\\x41", "Line 1, position ???: an escape that JSON does not have" },
    { "\\'", "Line 1, position ???: an escape that JSON does not have" },
    { "a\nb", "Line 1, position ???: a control character in a string" },
    { "a\tb", "Line 1, position ???: a control character in a string" },
    { "a\x01", "Line 1, position ???: a control character in a string" },
    { "a\xff", "Line 1, position ???: not UTF-8" },
    { "a\xc0\x80", "Line 1, position ???: not UTF-8" },
    { "a\xed\xa0\x80", "Line 1, position ???: not UTF-8" },
    { "a\xf4\x90\x80\x80", "Line 1, position ???: not UTF-8" },
    { "a\"b", "Line 1, position ???: a comma is missing" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autofree char *text = g_strconcat (HEAD ",\"layer\":\"", values[i].text, "\"}", NULL);

      assert_census_refused (text, -1, MEMRA_CENSUS_ERROR_PARSE, values[i].wanted);
    }
}

/* And what is JSON is read as what it is. */
static void
test_escapes (void)
{
  static const char before[] = KERNEL_HEAD "],\"block\":[1,1,1],\"demangled\":\"";
  static const char after[]
      = "\",\"depth\":0,\"grid\":[1,1,1],\"name\":\"k\",\"node\":0,\"section\":null,\"shared\":0}]}";
  g_autofree char *text
      = g_strconcat (before, "\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20AC\\ud83d\\uDE80\x7f", after, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = memra_census_from_json (text, -1, &error);

  g_assert_no_error (error);
  g_assert_cmpstr (memra_kernel_node_get_demangled_name (memra_census_get_kernel_node (census, 0)), ==,
                   "\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\x80\x7f");
}

static void
test_missing_values (void)
{
  static const char *const values[] = { "", " ", ",\"a\":1" };

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autofree char *text = g_strconcat ("{\"layer\":", values[i], "}", NULL);

      assert_census_refused (text, -1, MEMRA_CENSUS_ERROR_PARSE, "Line 1, position 1?: a value is missing");
    }
}

static void
test_other_texts (void)
{
  static const char *const texts[] = { "{} {}", "{}[]", "0{}", "\"a\"{}", "{}x", "{}\"a\"", "[] 1" };
  g_autofree char *nul = g_strdup (HEAD TAIL);

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    assert_census_refused (texts[i], -1, MEMRA_CENSUS_ERROR_PARSE,
                           "Line 1, position *: there is something behind the end");
  for (gsize i = 0; i < strlen (HEAD TAIL); i += 7)
    {
      g_autofree char *wanted = g_strdup_printf ("Line 1, position %" G_GSIZE_FORMAT ": not UTF-8", i + 1);
      char kept = nul[i];

      nul[i] = '\0';
      assert_census_refused (nul, (gssize) strlen (HEAD TAIL), MEMRA_CENSUS_ERROR_PARSE, wanted);
      nul[i] = kept;
    }
}

/* Buffers with high numbers take no more room than those with low ones. */
static void
use_high_buffers (gconstpointer data G_GNUC_UNUSED)
{
  static const char high[] = KERNEL_HEAD "{\"buffer\":4294967294,\"offset\":9223372036854775807}" KERNEL_TAIL;
  static const char low[] = KERNEL_HEAD "{\"buffer\":0,\"offset\":9223372036854775807}" KERNEL_TAIL;
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) a = memra_census_from_json (high, -1, &error);
  g_autoptr (MemraCensus) b = memra_census_from_json (low, -1, &error);
  g_autoptr (MemraCensusDiff) diff = NULL;

  g_assert_no_error (error);
  g_assert_cmpuint (memra_census_get_n_allocations (a), ==, G_MAXUINT32);
  diff = memra_census_diff (a, b);
  g_assert_cmpuint (memra_census_diff_get_n_changes (diff), ==, 0);
  g_free (memra_census_to_string (a));
  g_free (memra_census_to_dot (a));
}

static void
test_high_buffers (void)
{
  assert_memory (use_high_buffers, NULL, 8 * MIB);
}

/* ---- Policies ---- */

static const char small_policy[]
    = "# A comment\n[Policy]\nVersion=1\nAllowEmpty=false\nForbidHazards=host-node;opaque-node\n"
      "[Nodes]\nkernel=1..5\nmemcpy=0\n[Kernels]\n*k\xc3\xa4rn*=..3\n";

/* Cut off anywhere, or with any byte turned into another: an error or a policy, and nothing else. */
static void
test_policy_damaged (void)
{
  static const char bytes[] = { '\0', '[', ']', '=', '\n', ';', '*', '9', '-', '.', '\\', ' ', '\xff' };
  const gsize length = strlen (small_policy);

  for (gsize i = 0; i <= length; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (MemraPolicy) policy = memra_policy_new_from_data (small_policy, (gssize) i, &error);

      g_assert_true ((policy == NULL) == (error != NULL));
      g_assert_true (i < length || policy != NULL);
    }
  for (gsize i = 0; i < length; i++)
    for (gsize k = 0; k < G_N_ELEMENTS (bytes); k++)
      {
        g_autofree char *text = g_strdup (small_policy);
        g_autoptr (GError) error = NULL;
        g_autoptr (MemraPolicy) policy = NULL;

        text[i] = bytes[k];
        policy = memra_policy_new_from_data (text, (gssize) length, &error);
        g_assert_true ((policy == NULL) == (error != NULL));
      }
}

static void
test_policy_values (void)
{
  static const Value values[] = {
    { "[Policy]\nVersion=18446744073709551617\n", "?Policy? Version: wants the number 1" },
    { "[Policy]\nVersion=one\n", "?Policy? Version: wants the number 1" },
    { "[Policy]\nVersion=1\nAllowEmpty=2\n", "?Policy? AllowEmpty: wants true or false" },
    { "[Policy]\nVersion=1\nForbidHazards=host-node;\\x\n", "?Policy? ForbidHazards: *\\x* is no kind of hazard" },
    { "[Policy]\nVersion=1\nForbidHazards=\\x\\\n", "?Policy? ForbidHazards: * is no kind of hazard" },
    { "[Policy]\nVersion=1\nForbidHazards=host-node;;opaque-node\n", "?Policy? ForbidHazards: * is no kind of hazard" },
    { "[Policy]\nVersion=1\n[Nodes]\nkernel=4294967295\n", "?Nodes? kernel: wants a number*" },
    { "[Policy]\nVersion=1\n[Nodes]\nkernel=18446744073709551617\n", "?Nodes? kernel: wants a number*" },
    { "[Policy]\nVersion=1\n[Nodes]\nkernel=5..3\n", "?Nodes? kernel: wants a number*" },
    { "[Policy]\nVersion=1\n[Nodes]\nkernel=1...3\n", "?Nodes? kernel: wants a number*" },
    { "[Policy]\nVersion=1\n[Nodes]\nkernel=-1\n", "?Nodes? kernel: wants a number*" },
    { "[Policy]\nVersion=1\n[Nodes]\nkernel=0x10\n", "?Nodes? kernel: wants a number*" },
    { "[Policy]\nVersion=1\n[Kernels]\nk=\n", "?Kernels? k: wants a number*" },
    { "[Policy]\nVersion=1\n[Kernels]\nk\n", "Line 4: the policy is no key file: *" },
    { "[Policy]\nVersion=1\n[Kernels\nk=1\n", "Line 3: the policy is no key file: *" },
    { "k=1\n[Policy]\nVersion=1\n", "Line 1: the policy is no key file: *" },
    { "# A comment\n\n[Policy]\nVersion=1\nx", "Line 5: the policy is no key file: *" },
    { "[Policy]\nVersion=1\n\n\xed\xa0\x80", "Line 4: the policy is not UTF-8 text" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    assert_policy_refused (values[i].text, -1, values[i].wanted);
  assert_policy_refused ("[Policy]\nVersion=1\n\0[Nodes]\nkernel=0\n", 39, "Line 3: the policy is not UTF-8 text");
}

static void
test_policy_long (void)
{
  g_autofree char *group = repeat ("[Policy]\nVersion=1\n[", "\xc3\xa4", MIB, "]\n");
  g_autofree char *key = repeat ("[Policy]\nVersion=1\n", "\xc3\xa4", MIB, "=1\n");
  g_autofree char *value = repeat ("[Policy]\nVersion=1\n[Nodes]\nkernel=", "9", MIB, "\n");
  g_autofree char *hazard = repeat ("[Policy]\nVersion=1\nForbidHazards=", "\xc3\xa4", MIB, "\n");
  g_autofree char *line = repeat ("[Policy]\nVersion=1\n", "\xc3\xa4", MIB, "\n");
  g_autoptr (GString) rules = g_string_new ("[Policy]\nVersion=1\n[Kernels]\n");

  for (guint i = 0; i < 50000; i++)
    g_string_append_printf (rules, "k%u=1\n", i);
  assert_policy_refused (group, -1, "*group is not known*");
  assert_policy_refused (key, -1, "?Policy? *");
  assert_policy_refused (value, -1, "?Nodes? kernel: wants a number*");
  assert_policy_refused (hazard, -1, "?Policy? ForbidHazards: *");
  assert_policy_refused (line, -1, "Line 3: the policy is no key file: *");
  assert_policy_refused (rules->str, (gssize) rules->len, "?Kernels?: has more rules than any policy");
}

/* A pattern with many stars against a name that nearly matches, as long as names of templates get. */
static void
test_patterns (void)
{
  g_autofree char *name = repeat ("", "a", 5000, "");
  g_autofree char *text
      = g_strconcat (KERNEL_HEAD "],\"block\":[1,1,1],\"demangled\":\"", name,
                     "\",\"depth\":0,\"grid\":[1,1,1],\"name\":\"k\xc3\xa4rn\",\"node\":0,\"section\":null,"
                     "\"shared\":0}]}",
                     NULL);
  static const struct
  {
    const char *pattern;
    gboolean matches;
  } patterns[] = { { "*a*a*a*a*a*a*a*a*a*a*a*b", FALSE },
                   { "*a*a*a*a*a*a*a*a*a*a*a*", TRUE },
                   { "a*a?a*a", TRUE },
                   { "k?rn", TRUE },
                   { "k??rn", FALSE },
                   { "?*?", TRUE },
                   { "k*n", TRUE },
                   { "k*", TRUE },
                   { "*", TRUE },
                   { "**", TRUE },
                   { "k*r*rn", FALSE },
                   { "*rn", TRUE },
                   { "k\xc3\xa4r", FALSE },
                   { "k\xc3\xa4rn?", FALSE },
                   { "", FALSE } };
  g_autoptr (MemraCensus) census = memra_census_from_json (text, -1, NULL);
  gint64 began = g_get_monotonic_time ();

  g_assert_nonnull (census);
  for (gsize i = 0; i < G_N_ELEMENTS (patterns); i++)
    {
      g_autoptr (MemraPolicy) policy = memra_policy_new ();
      g_autoptr (GPtrArray) mismatches = NULL;

      memra_policy_set_kernel_count (policy, patterns[i].pattern, 1, 1);
      mismatches = memra_policy_check (policy, census);
      g_test_message ("%s", patterns[i].pattern);
      g_assert_cmpuint (mismatches->len, ==, patterns[i].matches ? 0 : 1);
    }
  g_assert_cmpint (g_get_monotonic_time () - began, <, 20 * G_USEC_PER_SEC);
}

static void
add_tests (void)
{
  g_test_add_func ("/hostile/file/gigabyte", test_gigabyte);
  g_test_add_func ("/hostile/file/zeros", test_zeros);
  g_test_add_func ("/hostile/census/nesting", test_nesting);
  g_test_add_func ("/hostile/census/big-part", test_big_part);
  g_test_add_func ("/hostile/census/late-error", test_late_error);
  g_test_add_func ("/hostile/census/many-keys", test_many_keys);
  g_test_add_func ("/hostile/census/long-quotes", test_long_quotes);
  g_test_add_func ("/hostile/census/numbers", test_numbers);
  g_test_add_func ("/hostile/census/strings", test_strings);
  g_test_add_func ("/hostile/census/escapes", test_escapes);
  g_test_add_func ("/hostile/census/missing-values", test_missing_values);
  g_test_add_func ("/hostile/census/other-texts", test_other_texts);
  g_test_add_func ("/hostile/census/high-buffers", test_high_buffers);
  g_test_add_func ("/hostile/policy/damaged", test_policy_damaged);
  g_test_add_func ("/hostile/policy/values", test_policy_values);
  g_test_add_func ("/hostile/policy/long", test_policy_long);
  g_test_add_func ("/hostile/policy/patterns", test_patterns);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
