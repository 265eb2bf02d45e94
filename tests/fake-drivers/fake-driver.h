/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A libcuda.so.1 stand-in that does nothing but be loaded. Each fake is a module of its own (-module -avoid-version):
 * it says what is peculiar about it with the macros below, and includes this file.
 *
 *   FAKE_INIT     what cuInit answers (0)
 *   FAKE_VERSION  what cuDriverGetVersion says (13000)
 *   FAKE_DEVICES  what cuDeviceGetCount says (1)
 *   FAKE_EARLY    defined: only the entry points that are needed before the table is filled
 *   FAKE_LEFT_OUT_cuX  defined as FAKE_YES: it has no cuX
 *
 * All other entry points of the library's table are exported by their pinned symbols, and answer 801.
 */
#pragma once

#include "driver/entries.h"

#ifndef FAKE_INIT
#define FAKE_INIT 0
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif

#define FAKE_API __attribute__ ((visibility ("default")))

FAKE_API McuResult cuInit (unsigned flags);
FAKE_API McuResult cuDriverGetVersion (int *version);
FAKE_API McuResult cuDeviceGetCount (int *count);
FAKE_API McuResult cuGetErrorName (int error, const char **name);
FAKE_API McuResult cuGetErrorString (int error, const char **text);

McuResult
cuInit (unsigned flags)
{
  (void) flags;
  return FAKE_INIT;
}

McuResult
cuDriverGetVersion (int *version)
{
  *version = FAKE_VERSION;
  return MCU_SUCCESS;
}

McuResult
cuDeviceGetCount (int *count)
{
  *count = FAKE_DEVICES;
  return MCU_SUCCESS;
}

/* It knows one code by name, so that both ways of describing a result are seen. */
McuResult
cuGetErrorName (int error, const char **name)
{
  *name = error == MCU_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : 0;
  return *name != 0 ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

McuResult
cuGetErrorString (int error, const char **text)
{
  *text = error == MCU_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : 0;
  return *text != 0 ? MCU_SUCCESS : MCU_ERROR_INVALID_VALUE;
}

#ifndef FAKE_EARLY

/* FAKE_YES makes the second argument of FAKE_SECOND a 1, anything else leaves it a 0. */
#define FAKE_YES                        ~, 1
#define FAKE_SECOND(first, second, ...) second
#define FAKE_IS_YES(...)                FAKE_SECOND (__VA_ARGS__, 0, 0)
#define FAKE_CONCATENATE(a, b)          a##b
#define FAKE_DEFINE_IF(left_out, ...)   FAKE_CONCATENATE (FAKE_DEFINE_, left_out) (__VA_ARGS__)
#define FAKE_DEFINE_1(field, symbol, params)
#define FAKE_DEFINE_0(field, symbol, params)                                                                           \
  FAKE_API McuResult fake_##field params __asm__(symbol);                                                              \
  McuResult fake_##field params                                                                                        \
  {                                                                                                                    \
    return MCU_ERROR_NOT_SUPPORTED;                                                                                    \
  }
#define FAKE_ENTRY(need, field, base, version, symbol, params)                                                         \
  FAKE_DEFINE_IF (FAKE_IS_YES (FAKE_LEFT_OUT_##field), field, symbol, params)

#define FAKE_LEFT_OUT_cuInit             FAKE_YES /* above */
#define FAKE_LEFT_OUT_cuDriverGetVersion FAKE_YES
#define FAKE_LEFT_OUT_cuDeviceGetCount   FAKE_YES
#define FAKE_LEFT_OUT_cuGetErrorName     FAKE_YES
#define FAKE_LEFT_OUT_cuGetErrorString   FAKE_YES

MEMRA_DRIVER_ENTRIES (FAKE_ENTRY)

#endif
