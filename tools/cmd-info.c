/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memra-capture info: what this machine has, and what it allows. */
#include "config.h"

#include "tool-private.h"

#include <json-glib/json-glib.h>

typedef struct
{
  const char *name;
  int since;         /* driver version */
  const char *entry; /* the entry point that the feature hangs on */
  const char *gives; /* what the user gets */
} Feature;

static const Feature features[] = {
  { "debug-dump", 11030, "cuGraphDebugDotPrint", "a look into conditional bodies below 13.2" },
  { "instantiate-reason", 12000, "cuGraphInstantiateWithParams", "a failed instantiation names the node" },
  { "kernel-names", 12030, "cuFuncGetName", "a census names every kernel" },
  { "edge-data", 12030, "cuGraphGetEdges_v2", "programmatic edges are told apart" },
  { "argument-sizes", 12040, "cuFuncGetParamInfo", "a census holds every kernel's arguments" },
  { "error-log", 12090, "cuLogsRegisterCallback", "a broken capture names the call that broke it" },
  { "conditional-bodies", 13020, "cuGraphNodeGetParams", "a census counts inside conditional nodes" },
};

/* What was found. A driver is there or `driver_problem` says why not. */
typedef struct
{
  MemraDriver *driver;
  char *cuda_problem;
  char *driver_problem;
  char *kernels_problem; /* NULL: the bundled kernels can be loaded */
} Findings;

static void
findings_clear (Findings *findings)
{
  memra_driver_unref (findings->driver);
  g_free (findings->cuda_problem);
  g_free (findings->driver_problem);
  g_free (findings->kernels_problem);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Findings, findings_clear)

static char *
dup_kernels_problem (MemraDriver *driver)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (MemraContext) context = memra_context_new (driver, 0, &error);
  g_autoptr (MemraDsv4) dsv4 = context != NULL ? memra_dsv4_new (context, &error) : NULL;

  return dsv4 != NULL ? NULL : g_strdup (error->message);
}

/* FALSE: there is no such driver, and the user had asked for it. */
static gboolean
find (ToolDriverChoice choice, Findings *findings)
{
  g_autoptr (GError) error = NULL;

  findings->driver = tool_driver_open (choice, &findings->cuda_problem, &error);
  if (findings->driver == NULL)
    {
      if (choice != TOOL_DRIVER_AUTO)
        {
          tool_error (choice == TOOL_DRIVER_CUDA ? "--driver host needs no GPU" : NULL, "%s", error->message);
          return FALSE;
        }
      findings->driver_problem = g_strdup (error->message);
      return TRUE;
    }
  findings->kernels_problem = dup_kernels_problem (findings->driver);
  return TRUE;
}

static char *
dup_version (int version)
{
  return g_strdup_printf ("%d.%d", version / 1000, version % 1000 / 10);
}

static void
print_driver (const Findings *findings)
{
  MemraDriver *driver = findings->driver;
  g_autofree char *version = dup_version (memra_driver_get_version (driver));

  tool_out_label ("Driver");
  tool_out ("%s %s\n",
            memra_driver_get_kind (driver) == MEMRA_DRIVER_HOST ? "host driver, on the CPU, speaking CUDA" : "CUDA",
            version);
  tool_out_label ("");
  tool_out ("%s\n", memra_driver_get_path (driver));
  for (int i = 0; i < memra_driver_get_n_devices (driver); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *name = memra_driver_dup_device_name (driver, i, &error);

      tool_out_label (i == 0 ? "Devices" : "");
      tool_out ("%d: %s\n", i, name != NULL ? name : error->message);
    }
  tool_out_label ("Kernels");
  tool_out_paragraph (findings->kernels_problem == NULL ? "the bundled ones load on this driver"
                                                        : findings->kernels_problem);
}

static void
print_features (MemraDriver *driver)
{
  tool_out ("\n");
  tool_out_styled (TOOL_STYLE_HEADING, "What the driver allows\n");
  for (gsize i = 0; i < G_N_ELEMENTS (features); i++)
    {
      g_autofree char *since = dup_version (features[i].since);
      gboolean has = memra_driver_has_entry (driver, features[i].entry);

      tool_out_styled (has ? TOOL_STYLE_GOOD : TOOL_STYLE_DIM, "  %-4s", has ? "yes" : "no");
      tool_out ("%-20s%5s  %s\n", features[i].name, since, features[i].gives);
    }
}

static void
print (const Findings *findings)
{
  const char *host = memra_host_driver_path ();

  tool_out_label ("Version");
  tool_out ("%d.%d.%d\n", MEMRA_CAPTURE_MAJOR_VERSION, MEMRA_CAPTURE_MINOR_VERSION, MEMRA_CAPTURE_MICRO_VERSION);
  if (findings->cuda_problem != NULL)
    {
      tool_out_label ("CUDA");
      tool_out_paragraph (findings->cuda_problem);
    }
  if (findings->driver != NULL)
    print_driver (findings);
  else
    {
      tool_out_label ("Driver");
      tool_out_paragraph (findings->driver_problem);
    }
  tool_out_label ("Host");
  tool_out ("%s%s\n", host, g_file_test (host, G_FILE_TEST_EXISTS) ? "" : " (not there)");
  if (findings->driver != NULL)
    print_features (findings->driver);
}

static void
build_driver (JsonBuilder *builder, MemraDriver *driver)
{
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "kind");
  json_builder_add_string_value (builder, tool_driver_kind_to_string (memra_driver_get_kind (driver)));
  json_builder_set_member_name (builder, "version");
  json_builder_add_int_value (builder, memra_driver_get_version (driver));
  json_builder_set_member_name (builder, "path");
  json_builder_add_string_value (builder, memra_driver_get_path (driver));
  json_builder_set_member_name (builder, "devices");
  json_builder_begin_array (builder);
  for (int i = 0; i < memra_driver_get_n_devices (driver); i++)
    {
      g_autofree char *name = memra_driver_dup_device_name (driver, i, NULL);

      json_builder_add_string_value (builder, name);
    }
  json_builder_end_array (builder);
  json_builder_set_member_name (builder, "features");
  json_builder_begin_array (builder);
  for (gsize i = 0; i < G_N_ELEMENTS (features); i++)
    {
      json_builder_begin_object (builder);
      json_builder_set_member_name (builder, "name");
      json_builder_add_string_value (builder, features[i].name);
      json_builder_set_member_name (builder, "since");
      json_builder_add_int_value (builder, features[i].since);
      json_builder_set_member_name (builder, "available");
      json_builder_add_boolean_value (builder, memra_driver_has_entry (driver, features[i].entry));
      json_builder_set_member_name (builder, "gives");
      json_builder_add_string_value (builder, features[i].gives);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
}

/* {"available":...} and, if not, why. */
static void
build_availability (JsonBuilder *builder, const char *member, gboolean available, const char *problem)
{
  json_builder_set_member_name (builder, member);
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "available");
  json_builder_add_boolean_value (builder, available);
  if (!available && problem != NULL)
    {
      json_builder_set_member_name (builder, "problem");
      json_builder_add_string_value (builder, problem);
    }
  json_builder_end_object (builder);
}

static void
print_json (const Findings *findings)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *version = g_strdup_printf ("%d.%d.%d", MEMRA_CAPTURE_MAJOR_VERSION, MEMRA_CAPTURE_MINOR_VERSION,
                                              MEMRA_CAPTURE_MICRO_VERSION);
  g_autofree char *text = NULL;
  const char *host = memra_host_driver_path ();

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "version");
  json_builder_add_string_value (builder, version);
  json_builder_set_member_name (builder, "driver");
  if (findings->driver != NULL)
    build_driver (builder, findings->driver);
  else
    json_builder_add_null_value (builder);
  if (findings->cuda_problem != NULL)
    build_availability (builder, "cuda", FALSE, findings->cuda_problem);
  else if (findings->driver != NULL && memra_driver_get_kind (findings->driver) == MEMRA_DRIVER_CUDA)
    build_availability (builder, "cuda", TRUE, NULL);
  json_builder_set_member_name (builder, "host_driver");
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "path");
  json_builder_add_string_value (builder, host);
  json_builder_set_member_name (builder, "available");
  json_builder_add_boolean_value (builder, g_file_test (host, G_FILE_TEST_EXISTS));
  json_builder_end_object (builder);
  if (findings->driver != NULL)
    build_availability (builder, "kernels", findings->kernels_problem == NULL, findings->kernels_problem);
  json_builder_end_object (builder);

  root = json_builder_get_root (builder);
  text = json_to_string (root, FALSE);
  tool_out_json (text);
}

int
tool_cmd_info (const ToolCommand *command, int argc, char **argv)
{
  gboolean json = FALSE;
  g_autofree char *driver = NULL;
  g_auto (GStrv) rest = NULL;
  const GOptionEntry entries[] = {
    { "driver", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_STRING, &driver, TOOL_DRIVER_DESCRIPTION, "DRIVER" },
    { "json", 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, &json, "print one JSON object", NULL },
    { G_OPTION_REMAINING, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, NULL },
    TOOL_OPTIONS_END,
  };
  g_auto (Findings) findings = { 0 };
  ToolDriverChoice choice;
  int status;

  if (!tool_parse (command, entries, "Without a GPU it shows the host driver and exits 0.", &argc, &argv, &status))
    return status;
  if (!tool_expect_arguments (command, rest, 0) || !tool_driver_choice_or_complain (command, driver, &choice))
    return TOOL_EXIT_TROUBLE;
  if (!find (choice, &findings))
    return TOOL_EXIT_TROUBLE;

  if (json)
    print_json (&findings);
  else
    print (&findings);
  return TOOL_EXIT_OK;
}
