/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The toolkit's link-time stub: answers 34, and has no name for it. */
#define FAKE_INIT 34

#include "fake-driver.h"
