/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver whose cuInit fails with a code that nobody knows. */
#define FAKE_INIT 12345

#include "fake-driver.h"
