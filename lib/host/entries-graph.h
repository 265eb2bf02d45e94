/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * entries-graph.h: the entry points of graphs and captures; see entries-host.h for the columns.
 */
#pragma once

/* clang-format off */
#define HOST_GRAPH_ENTRIES(X)                                                                                          \
  X (PLAIN, SAFE, cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode, (int *mode))            \
  X (PLAIN, SAFE, cuGraphCreate, 10000, cuGraphCreate, (CUgraph *graph, unsigned flags))
/* clang-format on */
