/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Nobody reads more; and a text of many megabytes must not come back in an error. */
#define LONGEST_MESSAGE 2000

/* abort(), which the fuzzer catches, and not the trap of GLib's own fatal messages, which it does not: it would keep no
 * input. */
static void
on_message (const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
  g_log_default_handler (domain, level, message, data);
  if ((level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING)) != 0)
    abort ();
}

int
LLVMFuzzerInitialize (int *argc G_GNUC_UNUSED, char ***argv G_GNUC_UNUSED)
{
  g_log_set_default_handler (on_message, NULL);
  return 0;
}

void
fuzz_check_error (const GError *error, GQuark domain)
{
  g_assert_nonnull (error);
  g_assert_true (error->domain == domain);
  g_assert_true (error->message[0] != '\0');
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (strlen (error->message), <=, LONGEST_MESSAGE);
}

/* Everything that the getters tell. */
static void
read_all (const MemraCensus *census)
{
  guint n_allocations = memra_census_get_n_allocations (census);

  for (guint i = 0; i < memra_census_get_n_kernel_nodes (census); i++)
    {
      const MemraKernelNode *kernel = memra_census_get_kernel_node (census, i);

      g_assert_true (memra_kernel_node_get_name (kernel) == g_ptr_array_index (memra_census_get_kernels (census), i));
      for (guint k = 0; k < memra_kernel_node_get_n_arguments (kernel); k++)
        {
          MemraArgumentKind kind = memra_kernel_node_get_argument_kind (kernel, k);
          guint n = memra_kernel_node_get_n_argument_pointers (kernel, k), buffer = 0;
          guint64 offset;
          gsize size, at = 0;
          const guint8 *bytes = memra_kernel_node_get_argument_bytes (kernel, k, &size);
          guint32 sum = 0;

          for (gsize b = 0; b < size; b++)
            sum += bytes[b];
          g_assert_cmpuint (sum, <=, 255 * size);
          for (guint p = 0; p < n; p++)
            {
              memra_kernel_node_get_nth_argument_pointer (kernel, k, p, &at, &buffer, &offset);
              g_assert_cmpuint (at + 8, <=, size);
              g_assert_cmpuint (buffer, <, n_allocations);
            }
          if (memra_kernel_node_get_argument_pointer (kernel, k, &buffer, &offset))
            g_assert_cmpint (kind, ==, MEMRA_ARGUMENT_POINTER);
        }
    }
  for (guint i = 0; i < memra_census_get_n_copies (census); i++)
    memra_census_get_copy (census, i, NULL);
  for (guint i = 0; i < memra_census_get_n_hazards (census); i++)
    {
      guint node = memra_census_get_hazard_node (census, i);
      const char *message;

      g_assert_nonnull (memra_census_get_hazard (census, i, &message));
      g_assert_true (node == G_MAXUINT || node < memra_census_get_n_nodes (census));
    }
}

static void
check_no_difference (MemraCensus *a, MemraCensus *b)
{
  MemraCensus *const both[] = { a, b };
  g_autoptr (MemraCensusDiff) diff = memra_census_diff (a, b);
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraArgumentReport) report = memra_census_compare_arguments (both, 2, &error);

  g_assert_cmpuint (memra_census_diff_get_n_changes (diff), ==, 0);
  if (report == NULL) /* of a partial census there is nothing to compare, and it says so */
    g_assert_nonnull (strstr (error->message, "is partial"));
  else
    g_assert_cmpuint (memra_argument_report_get_n_changes (report), ==, 0);
}

void
fuzz_check_census (MemraCensus *census)
{
  g_autofree char *json = memra_census_to_json (census);
  g_autofree char *text = memra_census_to_string (census);
  g_autofree char *dot = memra_census_to_dot (census);
  g_autofree char *again = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) copy = memra_census_from_json (json, -1, &error);

  g_assert_no_error (error);
  g_assert_nonnull (copy);
  again = memra_census_to_json (copy);
  g_assert_cmpstr (json, ==, again);
  g_assert_true (memra_census_equal (census, copy));
  g_assert_true (g_utf8_validate (json, -1, NULL));
  g_assert_true (g_utf8_validate (text, -1, NULL));
  g_assert_true (g_utf8_validate (dot, -1, NULL));
  read_all (census);
  check_no_difference (census, census);
  check_no_difference (census, copy);
}

void
fuzz_check_censuses (MemraCensus *a, MemraCensus *b)
{
  static const char *const must_vary[] = { "*a?d*", "*:0", NULL }, *const must_not_vary[] = { "memcpy", "*", NULL };
  MemraCensus *const both[] = { a, b };
  g_autoptr (MemraCensusDiff) diff = memra_census_diff (a, b);
  g_autoptr (MemraArgumentReport) report = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = memra_census_diff_to_string (diff);
  g_autofree char *json = memra_census_diff_to_json (diff);

  g_assert_true (g_utf8_validate (text, -1, NULL));
  g_assert_true (g_utf8_validate (json, -1, NULL));
  for (guint i = 0; i < memra_census_diff_get_n_changes (diff); i++)
    {
      guint node_a, node_b;
      const char *message;
      MemraChange change = memra_census_diff_get_change (diff, i, &node_a, &node_b, &message);

      g_assert_cmpint (node_a == MEMRA_NO_PLACE, ==, change == MEMRA_CHANGE_ADDED);
      g_assert_cmpint (node_b == MEMRA_NO_PLACE, ==, change == MEMRA_CHANGE_REMOVED);
    }
  report = memra_census_compare_arguments (both, 2, &error);
  g_assert_true ((report == NULL) == (error != NULL));
  if (report != NULL)
    {
      g_ptr_array_unref (memra_argument_report_check (report, must_vary, must_not_vary));
      g_free (memra_argument_report_to_string (report));
    }
}

MemraCensus *
fuzz_census_new (void)
{
  static const char text[]
      = "{\"copies\":[\n"
        "{\"bytes\":64,\"depth\":0,\"direction\":\"device-to-device\",\"extent\":[64,1,1],\"node\":1,\"section\":null,"
        "\"source\":{\"buffer\":0,\"offset\":0,\"pitch\":0},\"target\":{\"buffer\":1,\"offset\":8,\"pitch\":0}},\n"
        "{\"bytes\":16,\"depth\":1,\"direction\":\"fill\",\"element\":4,\"extent\":[16,1,1],\"node\":3,\"section\":"
        "null,"
        "\"target\":{\"buffer\":1,\"offset\":0,\"pitch\":0},\"value\":7}\n"
        "],\"edges\":{\"list\":[\n[0,1],\n[1,2,1]\n],\"normal\":1,\"programmatic\":1},"
        "\"format\":\"memra-capture-census\","
        "\"hazards\":[\n{\"kind\":\"programmatic-edge\",\"message\":\"A kernel may begin early\",\"node\":2}\n],"
        "\"kernels\":[\n{\"args\":[{\"buffer\":0,\"offset\":0},{\"hex\":\"00000080\"}],\"block\":[32,1,1],"
        "\"demangled\":\"add(float*, float)\",\"depth\":0,\"grid\":[2,1,1],\"name\":\"_Z3addPff\",\"node\":0,"
        "\"section\":\"first\",\"shared\":0}\n],"
        "\"layer\":3,\"nodes\":{\"child-graph\":1,\"kernel\":1,\"memcpy\":1,\"memset\":1},"
        "\"others\":[\n{\"bodies\":[1],\"depth\":0,\"node\":2,\"section\":null,\"type\":\"child-graph\"}\n],"
        "\"version\":1}";
  g_autoptr (GError) error = NULL;
  MemraCensus *census = memra_census_from_json (text, -1, &error);

  g_assert_no_error (error);
  return census;
}
