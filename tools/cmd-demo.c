/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture demo: its options, and the order of things. */
#include "config.h"

#include "demo-private.h"

#include <errno.h>

#define MOST_LAYERS  1000
#define MOST_REPLAYS 1000

typedef struct
{
  char *driver; /* owned, nullable */
  int layers;
  int replays;
  int device;
  char *save; /* owned, nullable */
  gboolean gate;
  gboolean corrupt;
  gboolean json;
  char **rest; /* owned, nullable */
} Options;

static void
options_clear (Options *options)
{
  g_free (options->driver);
  g_free (options->save);
  g_strfreev (options->rest);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

static gboolean
parse (const ToolCommand *command, Options *options, int argc, char **argv, int *status)
{
  const GOptionEntry entries[] = {
    { "driver", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_STRING, &options->driver, TOOL_DRIVER_DESCRIPTION, "DRIVER" },
    { "device", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_INT, &options->device, "which device of the driver (0)", "N" },
    { "layers", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_INT, &options->layers, "how many layers, 1 to 1000 (4)", "N" },
    { "replays", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_INT, &options->replays, "how many replays, 1 to 1000 (3)", "N" },
    { "save", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME, &options->save, "write census files DIR/layer-000.json...",
      "DIR" },
    { "gate", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options->gate, "hold the captures against every check instead",
      NULL },
    { "corrupt", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options->corrupt,
      "corrupt one value before the comparison,\n                      to see the proof fail", NULL },
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &options->json, "print one JSON object", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &options->rest, NULL, NULL },
    TOOL_OPTIONS_END,
  };

  if (!tool_parse (command, entries,
                   "Each layer is captured, and thereby run once; then a token goes through all\n"
                   "layers with each replay. The same is run eagerly from the same start, and every\n"
                   "output, KV cache and position must be the same, bit for bit.\n\n"
                   "With --gate, one PASS or FAIL each: what the captures point at is alive, no\n"
                   "argument moves from step to step, replay equals eager layer by layer, and so\n"
                   "does one launch of all layers. With --corrupt each has to fail.\n\n"
                   "Exit status: 0 proven, 1 not, 2 it could not be tried.",
                   &argc, &argv, status))
    return FALSE;
  *status = TOOL_EXIT_TROUBLE;
  return tool_expect_arguments (command, options->rest, 0)
         && tool_expect_range (command, "layers", options->layers, 1, MOST_LAYERS)
         && tool_expect_range (command, "replays", options->replays, 1, MOST_REPLAYS);
}

/* Opens the driver and checks the device's number. */
static gboolean
open_driver (const ToolCommand *command, const Options *options, Demo *demo)
{
  ToolDriverChoice choice;
  int n_devices;

  if (!tool_driver_choice_or_complain (command, options->driver, &choice))
    return FALSE;
  demo->driver = tool_driver_open_or_complain (choice);
  if (demo->driver == NULL)
    return FALSE;
  n_devices = memra_driver_get_n_devices (demo->driver);
  if (options->device >= 0 && options->device < n_devices)
    return TRUE;
  tool_error ("see " TOOL_NAME " info", "--device %d is not there; the driver has %d device%s, counted from 0",
              options->device, n_devices, n_devices == 1 ? "" : "s");
  return FALSE;
}

static gboolean
make_directory (const char *path)
{
  g_autofree char *name = NULL;

  if (path == NULL || (g_mkdir_with_parents (path, 0777) == 0 && g_file_test (path, G_FILE_TEST_IS_DIR)))
    return TRUE;
  name = g_filename_display_name (path);
  tool_error ("--save wants a directory", "Could not make directory '%s': %s", name, g_strerror (errno));
  return FALSE;
}

static gboolean
save (const Demo *demo, const char *directory, GError **error)
{
  for (guint i = 0; directory != NULL && i < demo->n_layers; i++)
    {
      g_autofree char *name = g_strdup_printf ("layer-%03u.json", i);
      g_autofree char *path = g_build_filename (directory, name, NULL);

      if (!memra_census_save (memra_layer_capture_get_census (demo->captures->pdata[i]), path, error))
        return FALSE;
    }
  return TRUE;
}

static int
fail (int status, const GError *error)
{
  tool_error (NULL, "%s", error->message);
  return status;
}

static int
run_gate (Demo *demo, const Options *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) checks = demo_gate (demo);

  if (!demo_close (demo, &error))
    return fail (TOOL_EXIT_DIFFERENT, error);
  if (options->json)
    demo_print_gate_json (demo, checks);
  else
    demo_print_gate (checks);
  return demo_gate_holds (checks) ? TOOL_EXIT_OK : TOOL_EXIT_DIFFERENT;
}

static int
run (Demo *demo, const Options *options)
{
  g_autoptr (GError) error = NULL;

  if (!demo_open (demo, &error))
    return fail (TOOL_EXIT_TROUBLE, error);
  if (!options->json)
    demo_print_start (demo);
  if (!demo_capture (demo, &error))
    return fail (TOOL_EXIT_DIFFERENT, error);
  if (!options->json && !options->gate)
    demo_print_captures (demo);
  if (!save (demo, options->save, &error))
    return fail (TOOL_EXIT_TROUBLE, error);
  if (options->gate)
    return run_gate (demo, options);
  if (!demo_replay (demo, &error) || !demo_compare (demo, &error) || !demo_close (demo, &error))
    return fail (TOOL_EXIT_DIFFERENT, error);

  if (options->json)
    demo_print_json (demo);
  else
    demo_print_end (demo, options->save);
  return demo_holds (demo) ? TOOL_EXIT_OK : TOOL_EXIT_DIFFERENT;
}

int
tool_cmd_demo (const ToolCommand *command, int argc, char **argv)
{
  g_auto (Options) options = { .layers = 4, .replays = 3 };
  g_auto (Demo) demo = { 0 };
  int status;

  if (!parse (command, &options, argc, argv, &status))
    return status;
  demo.n_layers = (guint) options.layers;
  demo.n_replays = (guint) options.replays;
  demo.device = options.device;
  demo.corrupt = options.corrupt;
  if (!open_driver (command, &options, &demo) || !make_directory (options.save))
    return TOOL_EXIT_TROUBLE;
  return run (&demo, &options);
}
