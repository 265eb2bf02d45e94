/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A driver without cuGetProcAddress, as before 11.3: everything is found by the dynamic linker. */
#include "fake-driver.h"
