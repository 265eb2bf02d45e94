/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every fuzz target has. Each is a program of its own: with a libFuzzer main() where configure was given
 * --enable-fuzzing, else with the one of replay.c, which runs the files and folders that it is given. docs/proof.md
 * says how to use them.
 */
#pragma once

#include <memra-capture/memra-capture.h>

#include <stddef.h>
#include <stdint.h>

/* A target's own function, called by name from the fuzzer. */
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Called once before: a critical message of GLib's or json-glib's is as bad as a crash. */
int LLVMFuzzerInitialize (int *argc, char ***argv);

/* What must hold of a census that was read from text: what is written of it reads back as the same, nothing differs
 * from itself, and all that can be written about it can be. Ends the program where it does not. */
void fuzz_check_census (MemraCensus *census);

/* The same of two of them. */
void fuzz_check_censuses (MemraCensus *a, MemraCensus *b);

/* An error that a reader has set: of this domain, with a message that is UTF-8 and not longer than anybody reads. */
void fuzz_check_error (const GError *error, GQuark domain);

/* A small census with a kernel, a copy, a fill, a child graph and a hazard. (transfer full) */
MemraCensus *fuzz_census_new (void);
