/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver on a machine without a device: cuInit answers 100. */
#define FAKE_INIT 100

#include "fake-driver.h"
