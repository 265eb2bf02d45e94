/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A libcuda.so.1 stand-in that does nothing but be loaded. Each fake is a module of its own (check_LTLIBRARIES, with
 * -module -avoid-version -shared): it says what is peculiar about it with the macros below and includes this file.
 *
 *   FAKE_INIT     what cuInit answers (0)
 *   FAKE_VERSION  what cuDriverGetVersion says (13000)
 *   FAKE_DEVICES  what cuDeviceGetCount says (1)
 *   FAKE_EARLY    only the entry points that are needed before the table is filled
 *
 * All entry points of the table are exported by their pinned symbols and answer 801. To take one away, a fake makes it
 * hidden: __asm__ (".hidden cuGraphUpload");
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

#define FAKE_API __attribute__ ((visibility ("default"), used))

/* Under another name in C, so that the five with a body of their own can have it. */
#ifndef FAKE_EARLY
#define FAKE_ENTRY(need, field, base, version, symbol, params)                                                         \
  FAKE_API McuResult fake_##field params __asm__ (FAKE_SYMBOL (symbol));                                               \
  McuResult fake_##field params                                                                                        \
  {                                                                                                                    \
    return MCU_ERROR_NOT_SUPPORTED;                                                                                    \
  }
/* The weak ones give way to those below. */
#define FAKE_SYMBOL(symbol) symbol
#pragma weak cuInit
#pragma weak cuDriverGetVersion
#pragma weak cuDeviceGetCount
#pragma weak cuGetErrorName
#pragma weak cuGetErrorString
#endif
