/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver without cuGraphUpload, which is required, and without cuFuncGetName, which is not. */
#define FAKE_LEFT_OUT_cuGraphUpload FAKE_YES
#define FAKE_LEFT_OUT_cuFuncGetName FAKE_YES

#include "fake-driver.h"
