/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver that counts no device, where cuInit saw nothing wrong. */
#define FAKE_DEVICES 0

#include "fake-driver.h"
