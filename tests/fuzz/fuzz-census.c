/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The census file, from any bytes. */
#include "config.h"

#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraCensus) census = memra_census_from_json (size > 0 ? (const char *) data : "", (gssize) size, &error);

  if (census != NULL)
    {
      g_autoptr (MemraCensus) other = fuzz_census_new ();

      g_assert_no_error (error);
      fuzz_check_census (census);
      fuzz_check_censuses (census, other);
      fuzz_check_censuses (other, census);
    }
  else
    fuzz_check_error (error, MEMRA_CENSUS_ERROR);
  return 0;
}
