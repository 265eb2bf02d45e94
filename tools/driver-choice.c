/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --driver auto|cuda|host */
#include "config.h"

#include "tool-private.h"

#include <string.h>

gboolean
tool_driver_choice_or_complain (const ToolCommand *command, const char *text, ToolDriverChoice *choice)
{
  static const char *const names[]
      = { [TOOL_DRIVER_AUTO] = "auto", [TOOL_DRIVER_CUDA] = "cuda", [TOOL_DRIVER_HOST] = "host" };
  g_autofree char *hint = g_strdup_printf ("see " TOOL_NAME " %s --help", command->name);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (strcmp (text != NULL ? text : "auto", names[i]) == 0)
      {
        *choice = (ToolDriverChoice) i;
        return TRUE;
      }
  tool_error (hint, "--driver '%s' is none of auto, cuda and host", text);
  return FALSE;
}

const char *
tool_driver_kind_to_string (MemraDriverKind kind)
{
  return kind == MEMRA_DRIVER_HOST ? "host" : "cuda";
}

/* Whether an error says that this machine has nothing to run CUDA on, as against having something that is broken. */
static gboolean
is_absence (const GError *error)
{
  return g_error_matches (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER)
         || g_error_matches (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_STUB)
         || g_error_matches (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DEVICE);
}

static MemraDriver *
open_cuda (GError **error)
{
  g_autoptr (MemraDriver) driver = memra_driver_get_default (error);

  if (driver == NULL || memra_driver_get_kind (driver) == MEMRA_DRIVER_CUDA)
    return g_steal_pointer (&driver);
  g_set_error_literal (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER,
                       "The libcuda.so.1 that this machine finds is the host driver, not NVIDIA's; take its directory "
                       "out of LD_LIBRARY_PATH");
  return NULL;
}

static MemraDriver *
open_host (GError **error)
{
  const char *path = memra_host_driver_path ();

  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return memra_driver_open (path, error);
  g_set_error (error, MEMRA_DRIVER_ERROR, MEMRA_DRIVER_ERROR_NO_DRIVER,
               "There is no host driver at %s, where the library's installation should have it", path);
  return NULL;
}

MemraDriver *
tool_driver_open (ToolDriverChoice choice, char **reason, GError **error)
{
  g_autoptr (MemraDriver) driver = NULL;
  g_autoptr (GError) absence = NULL;

  *reason = NULL;
  if (choice == TOOL_DRIVER_CUDA)
    return open_cuda (error);
  if (choice == TOOL_DRIVER_HOST)
    return open_host (error);

  driver = memra_driver_get_default (&absence);
  if (driver != NULL)
    return g_steal_pointer (&driver);
  if (!is_absence (absence))
    {
      g_propagate_error (error, g_steal_pointer (&absence));
      return NULL;
    }
  *reason = g_strdup (absence->message);
  return open_host (error);
}

MemraDriver *
tool_driver_open_or_complain (ToolDriverChoice choice)
{
  g_autofree char *reason = NULL;
  g_autoptr (GError) error = NULL;
  MemraDriver *driver = tool_driver_open (choice, &reason, &error);

  if (driver == NULL)
    tool_error (choice == TOOL_DRIVER_CUDA ? "--driver host needs no GPU" : NULL, "%s", error->message);
  else if (reason != NULL)
    tool_note ("No CUDA driver or device here, so the host driver is used (" TOOL_NAME " info says why)");
  return driver;
}
