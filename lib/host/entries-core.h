/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * entries-core.h: the entry points of everything but graphs and captures; see entries-host.h for the columns.
 */
#pragma once

/* clang-format off */
#define HOST_CORE_ENTRIES(X)                                                                                           \
  X (EARLY, SAFE, cuInit, 2000, cuInit, (unsigned flags))                                                              \
  X (EARLY, SAFE, cuDriverGetVersion, 2020, cuDriverGetVersion, (int *version))
/* clang-format on */
