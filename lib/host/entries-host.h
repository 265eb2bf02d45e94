/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * entries-host.h: every entry point that the host driver exports, once.
 *
 * X (kind, capture, base, version, symbol, params)
 *   kind     PLAIN; EARLY: needs no cuInit; STREAM: takes a stream, or works on the default one
 *   capture  SAFE, UNSAFE, LOAD or FATAL: what host_capture_check() does (host-private.h)
 *   base     the name that cuGetProcAddress is asked for
 *   version  of this ABI
 *   symbol   the exported name of this ABI
 *   params   the C parameter list; every entry returns McuResult
 *
 * X (base, version, symbol) for those that exist and answer 801.
 *
 * Generates the enumeration, the prototypes, cuGetProcAddress's table, the counters and the names for faults. To change
 * what a call may do during a capture, change its class here.
 */
#pragma once

#include "abi.h"

#include "entries-core.h"
#include "entries-graph.h"

#ifndef HOST_GRAPH_UNSUPPORTED_ENTRIES
#define HOST_GRAPH_UNSUPPORTED_ENTRIES(X)
#endif

#define HOST_ENTRIES(X) HOST_CORE_ENTRIES (X) HOST_GRAPH_ENTRIES (X)
#define HOST_UNSUPPORTED_ENTRIES(X) HOST_CORE_UNSUPPORTED_ENTRIES (X) HOST_GRAPH_UNSUPPORTED_ENTRIES (X)
