/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver of CUDA 11.2. */
#define FAKE_VERSION 11020

#include "fake-driver.h"
