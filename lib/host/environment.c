/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * environment.c: settings and faults from the environment.
 */
#include "core-private.h"

typedef bool (*AddFault) (const char *base, unsigned nth, int result, bool every);

/* "entry:nth:code" */
static bool
read_fault (const char *text, AddFault add_fault)
{
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  guint64 nth;
  gint64 code;

  return g_strv_length (parts) == 3 && g_ascii_string_to_unsigned (parts[1], 10, 1, G_MAXUINT, &nth, NULL)
         && g_ascii_string_to_signed (parts[2], 10, 0, G_MAXINT, &code, NULL)
         && add_fault (parts[0], (unsigned) nth, (int) code, false);
}

/* Several, separated by commas. */
static void
read_faults (const char *text, AddFault add_fault)
{
  g_auto (GStrv) items = g_strsplit (text, ",", -1);

  for (char **item = items; *item != NULL; item++)
    if (*g_strstrip (*item) != '\0' && !read_fault (*item, add_fault))
      g_printerr ("memra host driver: cannot read the fault '%s' in MEMRA_HOST_FAULT\n", *item);
}

static bool
read_number (const char *name, guint64 least, guint64 most, guint64 *value)
{
  const char *text = g_getenv (name);

  if (text == NULL || *text == '\0')
    return false;
  if (g_ascii_string_to_unsigned (text, 10, least, most, value, NULL))
    return true;
  g_printerr ("memra host driver: cannot read %s=%s\n", name, text);
  return false;
}

void
host_environment_read (HostSettings *settings, AddFault add_fault)
{
  const char *text = g_getenv ("MEMRA_HOST_FAULT");
  guint64 value;

  if (read_number ("MEMRA_HOST_DRIVER_VERSION", HOST_VERSION_OLDEST, HOST_VERSION_NEWEST, &value))
    settings->driver_version = (int) value;
  if (read_number ("MEMRA_HOST_DEVICES", 0, HOST_MAX_DEVICES, &value))
    settings->n_devices = (int) value;
  if (read_number ("MEMRA_HOST_POISON", 0, 1, &value))
    settings->poison = value != 0;
  if (read_number ("MEMRA_HOST_REUSE", 0, 1, &value))
    settings->reuse = value != 0;
  if (read_number ("MEMRA_HOST_SHUFFLE", 0, G_MAXUINT, &value))
    settings->shuffle = (unsigned) value;
  if (read_number ("MEMRA_HOST_MEMORY", 0, G_MAXSIZE, &value))
    settings->memory = value;
  if (text != NULL)
    read_faults (text, add_fault);
}
