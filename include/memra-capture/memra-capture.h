/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The umbrella: the only header of the library that a program includes. The host driver's own two headers
 * (memra-host-driver.h, memra-host-module.h) need no GLib and can be included alone. */
#pragma once

#define MEMRA_CAPTURE_INSIDE 1

#include <memra-capture/memra-version.h>
#include <memra-capture/memra-types.h>
#include <memra-capture/memra-error.h>
#include <memra-capture/memra-driver.h>
#include <memra-capture/memra-context.h>
#include <memra-capture/memra-stream.h>
#include <memra-capture/memra-buffer.h>
#include <memra-capture/memra-module.h>
#include <memra-capture/memra-census.h>
#include <memra-capture/memra-policy.h>
#include <memra-capture/memra-diff.h>
#include <memra-capture/memra-layer-capture.h>
#include <memra-capture/memra-layer-sequence.h>
#include <memra-capture/memra-kernel-edit.h>
#include <memra-capture/memra-gate.h>
#include <memra-capture/memra-dsv4.h>

#undef MEMRA_CAPTURE_INSIDE
