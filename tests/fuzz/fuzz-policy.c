/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The policy file, from any bytes, and what it says about a small census. */
#include "config.h"

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraPolicy) policy
      = memra_policy_new_from_data (size > 0 ? (const char *) data : "", (gssize) size, &error);

  if (policy != NULL)
    {
      g_autoptr (MemraCensus) census = fuzz_census_new ();
      g_autoptr (GPtrArray) mismatches = memra_policy_check (policy, census);

      g_assert_no_error (error);
      for (guint i = 0; i < mismatches->len; i++)
        g_assert_true (g_utf8_validate (g_ptr_array_index (mismatches, i), -1, NULL));
    }
  else
    fuzz_check_error (error, MEMRA_CENSUS_ERROR);
  return 0;
}
