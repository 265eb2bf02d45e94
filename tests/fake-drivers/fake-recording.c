/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver that remembers what it was asked for, and at which version. Exports fake_get_request(). */
#define FAKE_DEVICES 3

#include "fake-driver.h"

#define MAX_REQUESTS 256

static struct
{
  const char *symbol;
  int version;
  uint64_t flags;
} requests[MAX_REQUESTS];
static unsigned n_requests;

FAKE_API McuResult cuGetProcAddress_v2 (const char *symbol, void **pfn, int version, uint64_t flags, int *status);
FAKE_API const char *fake_get_request (unsigned index, int *version, uint64_t *flags);

/* Finds nothing, so that the exported symbols are taken. */
McuResult
cuGetProcAddress_v2 (const char *symbol, void **pfn, int version, uint64_t flags, int *status)
{
  if (n_requests < MAX_REQUESTS)
    {
      requests[n_requests].symbol = symbol;
      requests[n_requests].version = version;
      requests[n_requests++].flags = flags;
    }
  *pfn = 0;
  if (status != 0)
    *status = MCU_GET_PROC_NOT_FOUND;
  return MCU_ERROR_NOT_FOUND;
}

const char *
fake_get_request (unsigned index, int *version, uint64_t *flags)
{
  if (index >= n_requests)
    return 0;
  *version = requests[index].version;
  *flags = requests[index].flags;
  return requests[index].symbol;
}
