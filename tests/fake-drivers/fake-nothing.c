/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library that is no driver at all. */

__attribute__ ((visibility ("default"))) int fake_nothing = 1;
