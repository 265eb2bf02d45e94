/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the host driver reads in its environment: a line each for its variables, in the order of `names`. */
#include "config.h"

#include "fuzz.h"

#include "host/core-private.h"

#include <string.h>

static const char *const names[]
    = { "MEMRA_HOST_FAULT", "MEMRA_HOST_DRIVER_VERSION", "MEMRA_HOST_DEVICES", "MEMRA_HOST_POISON",
        "MEMRA_HOST_REUSE", "MEMRA_HOST_SHUFFLE",        "MEMRA_HOST_MEMORY" };

static guint n_said, n_faults;

static void
count_line (const char *text)
{
  g_assert_true (g_str_has_prefix (text, "memra host driver: cannot read "));
  n_said++;
}

static bool
add_fault (const char *base, unsigned nth, int result, bool every)
{
  g_assert_cmpuint (nth, >, 0);
  g_assert_cmpint (result, >=, 0);
  g_assert_false (every);
  g_assert_null (strpbrk (base, ":,"));
  n_faults++;
  return base[0] == '*' || base[0] == 'c';
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const HostSettings before = { .driver_version = 13000, .n_devices = 1, .reuse = true };
  g_autofree char *text = g_strndup (size > 0 ? (const char *) data : "", size);
  g_auto (GStrv) lines = g_strsplit (text, "\n", G_N_ELEMENTS (names));
  HostSettings settings = before;
  GPrintFunc printerr;
  guint n_commas = 0;

  for (guint i = 0, n = g_strv_length (lines); i < G_N_ELEMENTS (names); i++)
    if (i < n)
      g_setenv (names[i], lines[i], TRUE);
    else
      g_unsetenv (names[i]);
  for (const char *c = lines[0]; c != NULL && *c != '\0'; c++)
    n_commas += *c == ',';
  n_said = n_faults = 0;
  printerr = g_set_printerr_handler (count_line);
  host_environment_read (&settings, add_fault);
  g_set_printerr_handler (printerr);
  g_assert_true (settings.driver_version >= HOST_VERSION_OLDEST && settings.driver_version <= HOST_VERSION_NEWEST);
  g_assert_true (settings.n_devices >= 0 && settings.n_devices <= HOST_MAX_DEVICES);
  /* Each word is read or told of. */
  g_assert_cmpuint (n_faults, <=, n_commas + 1);
  g_assert_cmpuint (n_said, <=, n_commas + G_N_ELEMENTS (names));
  return 0;
}
