/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * per-thread.c: the entry points whose default stream is the per-thread one (_ptsz and _ptds).
 */
#include "per-thread.h"

#define TWIN(symbol, suffix, params, args)                                                                             \
  HOST_API McuResult symbol##suffix params                                                                             \
  {                                                                                                                    \
    HostThread *thread = host_thread ();                                                                               \
    bool was = thread->per_thread;                                                                                     \
    McuResult result;                                                                                                  \
                                                                                                                       \
    thread->per_thread = true;                                                                                         \
    result = symbol args;                                                                                              \
    thread->per_thread = was;                                                                                          \
    return result;                                                                                                     \
  }
HOST_PER_THREAD_ENTRIES (TWIN)
#undef TWIN
