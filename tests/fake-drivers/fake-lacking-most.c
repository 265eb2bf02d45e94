/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver with next to nothing. */
#define FAKE_EARLY 1

#include "fake-driver.h"
