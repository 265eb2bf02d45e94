/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The census file: what is written reads back the same, and whatever is wrong is refused with its place. No driver. */
#include "config.h"

#include "capture-fixture.h"

#include "census/census-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One of everything, as memra_census_to_json() writes it. */
static const char everything[]
    = "{\"copies\":[\n"
      "{\"bytes\":400,\"depth\":0,\"direction\":\"fill\",\"element\":4,\"extent\":[400,1,1],\"node\":1,\"section\":"
      "\"attention\","
      "\"target\":{\"buffer\":0,\"offset\":8,\"pitch\":0},\"value\":7},\n"
      "{\"bytes\":24,\"depth\":1,\"direction\":\"device-to-host\",\"extent\":[4,3,2],\"node\":4,\"section\":\"ffn\","
      "\"source\":{\"memory\":\"array\",\"pitch\":0},\"target\":{\"memory\":\"pageable\",\"pitch\":256}}\n"
      "],\n"
      "\"edges\":{\"list\":[\n"
      "[0,1],\n"
      "[1,2,1],\n"
      "[2,5]\n"
      "],\"normal\":2,\"programmatic\":1},\n"
      "\"format\":\"memra-capture-census\",\n"
      "\"hazards\":[\n"
      "{\"kind\":\"device-to-host-pageable\",\"message\":\"Copy 1 \\\"writes\\\" \\\\ somewhere\",\"node\":4},\n"
      "{\"kind\":\"odd\",\"message\":\"\\u0009caf\xc3\xa9\",\"node\":null}\n"
      "],\n"
      "\"kernels\":[\n"
      "{\"args\":[{\"buffer\":1,\"offset\":64},{\"hex\":\"2a000000\"},{\"hex\":\"01000000000000000000000000000000\","
      "\"pointers\":"
      "[{\"at\":8,\"buffer\":0,\"offset\":16}]}],\"block\":[256,1,1],\"demangled\":\"void "
      "f(int)\",\"depth\":0,\"grid\":[4294967295,2,3],"
      "\"name\":\"_Z1fi\",\"node\":0,\"section\":null,\"shared\":1024},\n"
      "{\"args\":[],\"block\":[1,1,1],\"demangled\":\"g\",\"depth\":1,\"grid\":[1,1,1],\"name\":\"g\",\"node\":3,"
      "\"section\":\"ffn\","
      "\"shared\":0},\n"
      "{\"args\":[{\"pointers\":[{\"at\":0,\"buffer\":2,\"offset\":0}],\"unknown\":\"000000000000000005\"}],\"block\":["
      "1,1,1],"
      "\"demangled\":\"h\",\"depth\":0,\"grid\":[1,1,1],\"name\":\"h\",\"node\":5,\"section\":\"ffn\",\"shared\":0}\n"
      "],\n"
      "\"layer\":3,\n"
      "\"nodes\":{\"conditional\":1,\"kernel\":3,\"mem-alloc\":1,\"mem-free\":1,\"memcpy\":1,\"memset\":1,\"unknown-"
      "17\":1},\n"
      "\"others\":[\n"
      "{\"bodies\":[1,1],\"bodies_from\":\"debug-dump\",\"depth\":0,\"node\":2,\"section\":\"ffn\",\"type\":"
      "\"conditional\"},\n"
      "{\"buffer\":3,\"bytes\":4096,\"depth\":0,\"node\":6,\"section\":\"ffn\",\"type\":\"mem-alloc\"},\n"
      "{\"depth\":0,\"node\":7,\"section\":\"ffn\",\"type\":\"mem-free\"},\n"
      "{\"depth\":0,\"node\":8,\"section\":\"ffn\",\"type\":\"unknown-17\"}\n"
      "],\n"
      "\"version\":1}\n";

static MemraCensus *
read_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  MemraCensus *census = memra_census_from_json (text, -1, &error);

  g_assert_no_error (error);
  g_assert_nonnull (census);
  return census;
}

static void
test_round_trip (void)
{
  g_autoptr (MemraCensus) census = read_text (everything);
  g_autofree char *text = memra_census_to_json (census);
  const MemraKernelNode *kernel;
  const char *message;
  MemraDim3 grid;
  guint64 offset, bytes;
  guint buffer;
  gsize at;

  g_assert_cmpstr (text, ==, everything);
  g_assert_cmpuint (memra_census_get_layer (census), ==, 3);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 9);
  g_assert_cmpuint (memra_census_get_n_top_level_nodes (census), ==, 7);
  g_assert_cmpuint (memra_census_get_count (census, "kernel"), ==, 3);
  g_assert_cmpuint (memra_census_get_n_normal_edges (census), ==, 2);
  g_assert_cmpuint (memra_census_get_n_programmatic_edges (census), ==, 1);
  g_assert_cmpuint (memra_census_get_n_allocations (census), ==, 4);
  g_assert_cmpuint (memra_census_get_kernels (census)->len, ==, 3);
  g_assert_cmpstr (memra_census_get_kernels (census)->pdata[0], ==, "_Z1fi");

  kernel = memra_census_get_kernel_node (census, 0);
  memra_kernel_node_get_geometry (kernel, &grid, NULL, NULL);
  g_assert_cmpuint (grid.x, ==, G_MAXUINT32);
  g_assert_cmpstr (memra_kernel_node_get_demangled_name (kernel), ==, "void f(int)");
  g_assert_null (memra_kernel_node_get_section (kernel));
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_POINTER);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 1), ==, MEMRA_ARGUMENT_BYTES);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 2), ==, MEMRA_ARGUMENT_MIXED);
  g_assert_true (memra_kernel_node_get_argument_pointer (kernel, 0, &buffer, &offset));
  g_assert_cmpuint (buffer, ==, 1);
  g_assert_cmpuint (offset, ==, 64);
  memra_kernel_node_get_nth_argument_pointer (kernel, 2, 0, &at, &buffer, &offset);
  g_assert_cmpuint (at, ==, 8);
  g_assert_cmpuint (offset, ==, 16);
  g_assert_cmpuint (memra_kernel_node_get_n_arguments (memra_census_get_kernel_node (census, 1)), ==, 0);
  kernel = memra_census_get_kernel_node (census, 2);
  g_assert_cmpint (memra_kernel_node_get_argument_kind (kernel, 0), ==, MEMRA_ARGUMENT_UNKNOWN);

  g_assert_cmpint (memra_census_get_copy (census, 0, &bytes), ==, MEMRA_COPY_FILL);
  g_assert_cmpuint (bytes, ==, 400);
  g_assert_cmpint (memra_census_get_copy (census, 1, NULL), ==, MEMRA_COPY_DEVICE_TO_HOST);
  g_assert_cmpstr (memra_census_get_hazard (census, 0, &message), ==, "device-to-host-pageable");
  g_assert_cmpstr (message, ==, "Copy 1 \"writes\" \\ somewhere");
  g_assert_cmpuint (memra_census_get_hazard_node (census, 0), ==, 4);
  memra_census_get_hazard (census, 1, &message);
  g_assert_cmpstr (message, ==, "\tcaf\xc3\xa9");
  g_assert_cmpuint (memra_census_get_hazard_node (census, 1), ==, G_MAXUINT);
}

/* Another order of keys and other spacing is the same census. */
static void
test_not_canonical (void)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (MemraCensus) census = NULL;
  g_autofree char *pretty = NULL;
  g_autofree char *text = NULL;

  g_assert_true (json_parser_load_from_data (parser, everything, -1, NULL));
  json_generator_set_root (generator, json_parser_get_root (parser));
  json_generator_set_pretty (generator, TRUE);
  pretty = json_generator_to_data (generator, NULL);
  census = read_text (pretty);
  text = memra_census_to_json (census);
  g_assert_cmpstr (text, ==, everything);
}

static void
test_smallest (void)
{
  const char *text = "{\"copies\":[],\n\"edges\":{\"list\":[],\"normal\":0,\"programmatic\":0},\n\"format\":\"memra-"
                     "capture-census\",\n"
                     "\"hazards\":[],\n\"kernels\":[],\n\"layer\":0,\n\"nodes\":{},\n\"others\":[],\n\"version\":1}\n";
  g_autoptr (MemraCensus) census = read_text (text);
  g_autofree char *again = memra_census_to_json (census);

  g_assert_cmpstr (again, ==, text);
  g_assert_cmpuint (memra_census_get_n_nodes (census), ==, 0);
}

static void
test_to_string (void)
{
  g_autoptr (MemraCensus) census = read_text (everything);
  g_autofree char *text = memra_census_to_string (census);

  g_assert_cmpstr (
      text, ==,
      "layer 3: 9 nodes (7 at the top level): conditional 1, kernel 3, mem-alloc 1, mem-free 1, memcpy 1, memset 1, "
      "unknown-17 1\n"
      "edges: normal 2, programmatic 1\n"
      "nodes by section:\n"
      "       1  (before the first mark)\n"
      "       1  attention\n"
      "       7  ffn\n"
      "kernels:\n"
      "       1  void f(int)  grid 4294967295x2x3  block 256x1x1  shared 1024\n"
      "       1  g  grid 1x1x1  block 1x1x1  shared 0\n"
      "       1  h  grid 1x1x1  block 1x1x1  shared 0\n"
      "copies:\n"
      "       1  fill  400 bytes  with 0x7\n"
      "       1  device-to-host  24 bytes\n"
      "node 2: conditional bodies read from the driver's debug dump\n"
      "hazards:\n"
      "  device-to-host-pageable: Copy 1 \"writes\" \\ somewhere\n"
      "  odd: \tcaf\xc3\xa9\n");
}

static char *
replace (const char *text, const char *old, const char *new)
{
  const char *place = strstr (text, old);

  g_assert_nonnull (place);
  return g_strdup_printf ("%.*s%s%s", (int) (place - text), text, new, place + strlen (old));
}

/* Every single thing that the file holds counts. */
static void
test_equal (void)
{
  static const char *const changes[][2] = {
    { "\"layer\":3", "\"layer\":4" },
    { "\"value\":7", "\"value\":8" },
    { "\"offset\":64", "\"offset\":72" },
    { "\"buffer\":1", "\"buffer\":2" },
    { "2a000000", "2b000000" },
    { "\"_Z1fi\"", "\"_Z1gi\"" },
    { "\"block\":[256,1,1]", "\"block\":[128,1,1]" },
    { "\"shared\":1024", "\"shared\":0" },
    { "\"section\":\"attention\"", "\"section\":\"ffn\"" },
    { "[2,5]", "[1,5]" },
    { "\"bytes\":4096", "\"bytes\":8192" },
    { "\"kind\":\"odd\"", "\"kind\":\"even\"" },
    { "\"pitch\":256", "\"pitch\":512" },
    { "\"extent\":[4,3,2]", "\"extent\":[4,2,3]" },
    { "\"memory\":\"pageable\"", "\"memory\":\"unknown\"" },
  };
  g_autoptr (MemraCensus) census = read_text (everything);
  g_autoptr (MemraCensus) same = read_text (everything);
  g_autofree char *hash = memra_census_dup_hash (census);
  g_autofree char *same_hash = memra_census_dup_hash (same);

  g_assert_true (memra_census_equal (census, census));
  g_assert_true (memra_census_equal (census, same));
  g_assert_cmpstr (hash, ==, same_hash);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    {
      g_autofree char *text = replace (everything, changes[i][0], changes[i][1]);
      g_autoptr (MemraCensus) other = read_text (text);
      g_autofree char *other_hash = memra_census_dup_hash (other);

      g_assert_false (memra_census_equal (census, other));
      g_assert_cmpstr (hash, !=, other_hash);
    }
}

typedef struct
{
  const char *old, *new;
  MemraCensusError code;
  const char *wanted; /* the message, or its beginning if it ends in "*" */
} Wrong;

#define PARSE   MEMRA_CENSUS_ERROR_PARSE
#define FORMAT  MEMRA_CENSUS_ERROR_FORMAT
#define VERSION MEMRA_CENSUS_ERROR_VERSION

static const Wrong wrongs[] = {
  /* types and ranges */
  { "[4294967295,2,3]", "[1,\"2\",3]", FORMAT,
    "kernels[0].grid[1] is a string, wanted an integer from 0 to 4294967295" },
  { "[4294967295,2,3]", "[4294967296,2,3]", FORMAT,
    "kernels[0].grid[0] is 4294967296, wanted an integer from 0 to 4294967295" },
  { "[4294967295,2,3]", "[-1,2,3]", FORMAT, "kernels[0].grid[0] is -1, wanted an integer from 0 to 4294967295" },
  { "[4294967295,2,3]", "[1.5,2,3]", FORMAT,
    "kernels[0].grid[0] is a number with a fraction or exponent, wanted an integer from 0 to 4294967295" },
  { "[4294967295,2,3]", "[true,2,3]", FORMAT,
    "kernels[0].grid[0] is a boolean, wanted an integer from 0 to 4294967295" },
  { "[4294967295,2,3]", "[[],2,3]", FORMAT, "kernels[0].grid[0] is an array, wanted an integer from 0 to 4294967295" },
  { "[4294967295,2,3]", "[1,2]", FORMAT, "kernels[0].grid has 2 items, wanted 3" },
  { "[4294967295,2,3]", "7", FORMAT, "kernels[0].grid is 7, wanted an array" },
  { "\"layer\":3", "\"layer\":null", FORMAT, "layer is null, wanted an integer from 0 to 4294967295" },
  { "\"name\":\"_Z1fi\"", "\"name\":null", FORMAT, "kernels[0].name is null, wanted a string" },
  { "\"section\":null", "\"section\":{}", FORMAT, "kernels[0].section is an object, wanted a string or null" },
  { "\"offset\":64", "\"offset\":\"64\"", FORMAT,
    "kernels[0].args[0].offset is a string, wanted an integer from 0 to 9223372036854775807" },
  { "\"buffer\":1", "\"buffer\":4294967295", FORMAT,
    "kernels[0].args[0].buffer is 4294967295, wanted an integer from 0 to 4294967294" },
  { "{\"hex\":\"2a000000\"}", "\"2a\"", FORMAT, "kernels[0].args[1] is a string, wanted an object" },
  { "\"hex\":\"2a000000\"", "\"hex\":\"2A000000\"", FORMAT,
    "kernels[0].args[1].hex is not made of lower-case hexadecimal digits" },
  { "\"hex\":\"2a000000\"", "\"hex\":\"2a00000\"", FORMAT,
    "kernels[0].args[1].hex has 7 digits, wanted two for each byte" },
  { "\"hex\":\"2a000000\"", "\"hex\":\"\"", FORMAT, "kernels[0].args[1] has no bytes" },
  { "\"at\":8", "\"at\":4", FORMAT,
    "kernels[0].args[2].pointers[0] is at 4, wanted a multiple of 8 inside the argument's 16 bytes" },
  { "\"at\":8", "\"at\":16", FORMAT,
    "kernels[0].args[2].pointers[0] is at 16, wanted a multiple of 8 inside the argument's 16 bytes" },
  { "\"at\":8", "\"at\":0", FORMAT, "kernels[0].args[2].pointers[0] is at bytes that are not zero" },
  { "{\"at\":8,\"buffer\":0,\"offset\":16}",
    "{\"at\":8,\"buffer\":0,\"offset\":16},{\"at\":8,\"buffer\":0,\"offset\":16}", FORMAT,
    "kernels[0].args[2].pointers[1] stands behind the one before it, wanted pointers in order" },
  { "{\"args\":[{\"pointers\"", "{\"args\":[{\"hex\":\"00\"},{\"pointers\"", FORMAT,
    "kernels[2].args[1] is unknown, wanted it to be the only argument" },
  { "\"direction\":\"fill\"", "\"direction\":\"up\"", FORMAT,
    "copies[0].direction is \"up\", which is no direction of a copy" },
  { "\"memory\":\"array\"", "\"memory\":\"none\"", FORMAT,
    "copies[1].source.memory is \"none\", wanted array, pageable or unknown" },
  { "\"type\":\"unknown-17\"", "\"type\":\"unknown-3\"", FORMAT,
    "others[3].type is \"unknown-3\", which is no type of node" },
  { "\"bodies\":[1,1]", "\"bodies\":[]", FORMAT, "others[0].bodies is empty" },
  { "\"debug-dump\"", "\"hearsay\"", FORMAT, "others[0].bodies_from is \"hearsay\", wanted \"debug-dump\"" },
  { "\"bodies\":[1,1],", "", FORMAT, "others[0] has \"bodies_from\", but no \"bodies\"" },
  { "\"copies\":[", "\"copies\":5,\"others2\":[", FORMAT, "The census has a key \"others2\", which is unknown here" },
  { "\"nodes\":{", "\"nodes\":[{", PARSE, "*" },
  { "\"edges\":{\"list\":[\n[0,1],\n[1,2,1],\n[2,5]\n],\"normal\":2,\"programmatic\":1}", "\"edges\":[]", FORMAT,
    "edges is not an object" },
  { "[1,2,1]", "[1,2,256]", FORMAT, "edges.list[1][2] is 256, wanted an integer from 0 to 255" },
  { "[1,2,1]", "[1]", FORMAT, "edges.list[1] has 1 items, wanted 2 or 3" },
  { "[1,2,1]", "{}", FORMAT, "edges.list[1] is an object, wanted an array" },

  /* what does not fit together */
  { "\"kernel\":3", "\"kernel\":4", FORMAT, "nodes.kernel is 4, but the lists tell of 3" },
  { "\"kernel\":3,", "", FORMAT, "nodes has 6 types, but the lists tell of 7" },
  { "\"kernel\":3", "\"kernels\":3", FORMAT, "nodes has a key \"kernels\", which is no type of node" },
  { "\"normal\":2", "\"normal\":3", FORMAT, "edges.normal is 3, but the list has 2" },
  { "\"programmatic\":1", "\"programmatic\":0", FORMAT, "edges.programmatic is 0, but the list has 1" },
  { "[2,5]", "[5,2]", FORMAT, "edges.list[2] leads from node 5 to node 2 of 9, wanted it to lead onward" },
  { "[2,5]", "[2,9]", FORMAT, "edges.list[2] leads from node 2 to node 9 of 9, wanted it to lead onward" },
  { "[2,5]", "[0,2]", FORMAT, "edges.list[2] stands behind the one before it, wanted edges in order" },
  { "\"node\":3,", "\"node\":9,", FORMAT, "kernels[2].node is 5, wanted more than the 9 before it" },
  { "\"node\":5,", "\"node\":9,", FORMAT, "kernels[2].node is 9, but the lists tell of 9 nodes" },
  { "\"node\":3,", "\"node\":2,", FORMAT, "others[0].node is 2, as is kernels[1].node" },
  { "\"depth\":1,\"grid\"", "\"depth\":2,\"grid\"", FORMAT,
    "kernels[1] has depth 2, wanted at most 1 behind the node before it" },
  { "\"depth\":1,\"direction\"", "\"depth\":0,\"direction\"", FORMAT,
    "The census has 1 nodes inside node 2, which tells of 2" },
  { "\"depth\":0,\"node\":6", "\"depth\":1,\"node\":6", FORMAT,
    "others[1] has depth 1, wanted at most 0 behind the node before it" },
  { "\"depth\":0,\"node\":6", "\"depth\":201,\"node\":6", FORMAT,
    "others[1].depth is 201, wanted an integer from 0 to 200" },
  { "\"node\":4}", "\"node\":9}", FORMAT, "hazards[0].node is 9, but there are 9 nodes" },

  /* keys */
  { "\"shared\":1024", "\"shared\":1024,\"colour\":1", FORMAT,
    "kernels[0] has a key \"colour\", which is unknown here" },
  { ",\"shared\":1024", "", FORMAT, "kernels[0] has no \"shared\"" },
  { "\"shared\":1024", "\"shared\":1024,\"grid\":[1,1,1]", FORMAT, "kernels[0] has the key \"grid\" twice" },
  { "{\"hex\":\"2a000000\"}", "{\"hex\":\"2a000000\",\"hex\":\"00\"}", FORMAT, "kernels[0] has the key \"hex\" twice" },
  { "\"shared\":1024", "\"shared\":1024,\"gr\\u0069d\":[1,1,1]", FORMAT,
    "kernels[0] has an unknown key \"gr\\u0069d\"" },
  { "\"layer\":3,", "\"layer\":3,\"layer\":3,", FORMAT, "The census has the key \"layer\" twice" },
  { "\"layer\":3,", "", FORMAT, "The census has no \"layer\"" },
  { "\"normal\":2", "\"normal\":2,\"normal\":2", FORMAT, "edges has the key \"normal\" twice" },
  { "\"normal\":2,", "", FORMAT, "edges has no \"normal\"" },
  { "\"normal\":2", "\"normal\":2,\"more\":2", FORMAT, "edges has a key \"more\", which is unknown here" },
  { "\"direction\":\"fill\"", "\"direction\":\"host-to-host\"", FORMAT,
    "copies[0] has a key \"element\", which is unknown here" },
  { "\"value\":7", "\"value\":7,\"source\":{}", FORMAT, "copies[0] has a key \"source\", which is unknown here" },
  { "{\"memory\":\"array\"", "{\"buffer\":1,\"memory\":\"array\"", FORMAT,
    "copies[1].source has a key \"memory\", which is unknown here" },
  { "{\"buffer\":1,\"offset\":64}", "{\"buffer\":1,\"hex\":\"00\",\"offset\":64}", FORMAT,
    "kernels[0].args[0] has a key \"hex\", which is unknown here" },
  { "{\"buffer\":1,\"offset\":64}", "{\"buffer\":1}", FORMAT, "kernels[0].args[0] has no \"offset\"" },
  { "\"type\":\"unknown-17\"", "\"bytes\":1,\"type\":\"unknown-17\"", FORMAT,
    "others[3] has a key \"bytes\", which is unknown here" },
  { ",\"node\":4}", "}", FORMAT, "hazards[0] has no \"node\"" },

  /* format and version */
  { "\"format\":\"memra-capture-census\"", "\"format\":\"memra-capture-policy\"", FORMAT,
    "format is \"memra-capture-policy\", wanted \"memra-capture-census\"" },
  { "\"format\":\"memra-capture-census\"", "\"format\":1", FORMAT, "format is 1, wanted a string" },
  { "\"format\":\"memra-capture-census\",", "", FORMAT, "Not a census: there is no \"format\"" },
  { ",\n\"version\":1", "", FORMAT, "Not a census: there is no \"version\"" },
  { "\"version\":1", "\"version\":2,\"new\":[]", VERSION,
    "The census is of version 2 of its format, and this library knows version 1" },
  { "\"version\":1", "\"version\":0", VERSION,
    "The census is of version 0 of its format, and this library knows version 1" },
  { "\"version\":1", "\"version\":\"1\"", FORMAT, "version is a string, wanted an integer from 0 to 4294967295" },

  /* not JSON */
  { "\"version\":1}\n", "\"version\":1}\nmore", PARSE, "Line 29, position 1: there is something behind the end" },
  { "\"version\":1}\n", "\"version\":1", PARSE,
    "Line 28, position 12: the text ends too early: a bracket is not closed" },
  { "\"version\":1}", "\"version\":1}]", PARSE, "Line 28, position 13: a bracket closes nothing" },
  { "\"version\":1}", "\"version\":1,}", PARSE, "*" },
  { "\"layer\":3", "\"layer\" 3", PARSE, "*" },
  { "\"layer\":3", "layer:3", PARSE, "*" },
  { "\"layer\":3", "\"layer\":", PARSE, "*" },
  { "\"layer\":3", "\"layer\":maybe", PARSE, "*" },
  { "\"layer\":3", "/* a comment */ \"layer\":3", PARSE,
    "Line 20, position 1: a character that JSON does not have outside of strings" },
  { "[0,1],", "[0 1],", PARSE, "*" },
  { "[0,1],", "[0,1]", PARSE, "*" },
  { "[0,1],", "[0,1},", PARSE, "*" },
  { "caf\xc3\xa9", "caf\xe9", PARSE, "Line 13, position 35: not UTF-8" },
  { "\"kind\":\"odd\"", "\"kind\":\"odd", PARSE, "*" },
  { "\"hazards\":[", "\"hazards\":[[[[[[[[[[[[[[[[[", PARSE, "Line 11, position 26: nested deeper than any census" },
};

static void
test_wrong (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (wrongs); i++)
    {
      const Wrong *wrong = &wrongs[i];
      g_autofree char *text = replace (everything, wrong->old, wrong->new);
      g_autoptr (GError) error = NULL;
      gsize length = strlen (wrong->wanted);

      g_assert_null (memra_census_from_json (text, -1, &error));
      g_test_message ("%s -> %s: %s", wrong->old, wrong->new, error->message);
      g_assert_error (error, MEMRA_CENSUS_ERROR, (int) wrong->code);
      if (g_str_has_suffix (wrong->wanted, "*"))
        g_assert_cmpint (strncmp (error->message, wrong->wanted, length - 1), ==, 0);
      else
        g_assert_cmpstr (error->message, ==, wrong->wanted);
    }
}

static void
test_not_an_object (void)
{
  static const char *const texts[] = { "",   " ", "3",  "\"x\"",   "[]",       "null", "{",           "}",
                                       "{}", "[", "\"", "{\"a\"}", "{\"a\":}", "\\",   "{\"format\"", "\"\\" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (memra_census_from_json (texts[i], -1, &error));
      g_test_message ("%s: %s", texts[i], error->message);
      g_assert_true (g_error_matches (error, MEMRA_CENSUS_ERROR, PARSE)
                     || g_error_matches (error, MEMRA_CENSUS_ERROR, FORMAT));
    }
}

/* Cut off anywhere, or with any byte turned into another: an error or a census, and nothing else. */
static void
test_damaged (void)
{
  static const char bytes[] = { '\0', '"', '{', '}', '[', ']', ',', ':', '9', '-', 'e', '\\', ' ', '\xff' };
  const gsize length = strlen (everything);
  guint n_read = 0;

  for (gsize i = 0; i + 1 < length; i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (memra_census_from_json (everything, (gssize) i, &error));
      g_assert_nonnull (error);
    }
  for (gsize i = 0; i < length; i++)
    {
      g_autofree char *text = g_strdup (everything);
      g_autoptr (GError) error = NULL;
      g_autoptr (MemraCensus) census = NULL;

      text[i] = bytes[i % G_N_ELEMENTS (bytes)];
      census = memra_census_from_json (text, (gssize) length, &error);
      g_assert_true ((census == NULL) == (error != NULL));
      if (census != NULL)
        {
          g_autofree char *again = memra_census_to_json (census);
          g_autofree char *string = memra_census_to_string (census);

          g_assert_nonnull (again);
          g_assert_nonnull (string);
          n_read++;
        }
    }
  g_test_message ("%u of %" G_GSIZE_FORMAT " damaged texts were censuses still", n_read, length);
}

static void
test_length (void)
{
  g_autofree char *longer = g_strconcat (everything, "garbage", NULL);
  g_autofree char *unended = g_memdup2 (everything, strlen (everything));
  g_autoptr (GError) error = NULL;
  MemraCensus *census;

  census = memra_census_from_json (longer, (gssize) strlen (everything), &error);
  g_assert_no_error (error);
  memra_census_unref (census);
  census = memra_census_from_json (unended, (gssize) strlen (everything), &error); /* no nul behind it */
  g_assert_no_error (error);
  memra_census_unref (census);
  g_assert_null (memra_census_from_json (everything, ((gssize) 512 << 20) + 1, &error)); /* not looked at */
  g_assert_error (error, MEMRA_CENSUS_ERROR, FORMAT);
  g_assert_cmpstr (error->message, ==, "The text has 512 MiB; a census has at most 512");
}

/* ---- Files ---- */

typedef struct
{
  char *folder;
  char *path;
} Files;

static void
files_init (Files *files)
{
  g_autoptr (GError) error = NULL;

  files->folder = g_dir_make_tmp ("memra-census-XXXXXX", &error);
  g_assert_no_error (error);
  files->path = g_build_filename (files->folder, "layer-003.json", NULL);
}

static void
files_clear (Files *files)
{
  g_unlink (files->path);
  g_assert_cmpint (g_rmdir (files->folder), ==, 0); /* nothing is left behind */
  g_free (files->folder);
  g_free (files->path);
}

static void
test_save_load (void)
{
  g_autoptr (MemraCensus) census = read_text (everything);
  g_autoptr (MemraCensus) loaded = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;
  Files files;

  files_init (&files);
  g_assert_true (memra_census_save (census, files.path, &error));
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents (files.path, &text, NULL, &error));
  g_assert_cmpstr (text, ==, everything);
  g_assert_true (memra_census_save (census, files.path, &error)); /* over the old one */
  loaded = memra_census_load (files.path, &error);
  g_assert_no_error (error);
  g_assert_true (memra_census_equal (census, loaded));
  files_clear (&files);
}

static void
test_load_errors (void)
{
  g_autoptr (MemraCensus) census = read_text (everything);
  g_autoptr (GError) error = NULL;
  g_autofree char *nowhere = NULL;
  g_autofree char *wanted = NULL;
  Files files;

  files_init (&files);
  g_assert_null (memra_census_load (files.path, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  assert_contains (error->message, files.path);
  g_clear_error (&error);
  g_assert_null (memra_census_load (files.folder, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_ISDIR);
  g_clear_error (&error);

  g_assert_true (g_file_set_contents (files.path, "{}", -1, NULL));
  g_assert_null (memra_census_load (files.path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, FORMAT);
  wanted = g_strdup_printf ("%s: Not a census: there is no \"format\"", files.path);
  g_assert_cmpstr (error->message, ==, wanted);
  g_clear_error (&error);

  nowhere = g_build_filename (files.folder, "no", "such", "folder.json", NULL);
  g_assert_false (memra_census_save (census, nowhere, &error));
  g_assert_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
  files_clear (&files);
}

/* Larger than any census: not even read. A sparse file takes no room on the disk. */
static void
test_load_huge (void)
{
  g_autoptr (GError) error = NULL;
  Files files;
  int fd;

  files_init (&files);
  fd = g_open (files.path, O_CREAT | O_WRONLY, 0600);
  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (ftruncate (fd, (off_t) 8 << 30), ==, 0);
  close (fd);
  g_assert_null (memra_census_load (files.path, &error));
  g_assert_error (error, MEMRA_CENSUS_ERROR, FORMAT);
  assert_contains (error->message, "the file has more than 512 MiB");
  files_clear (&files);
}

static gpointer
write_pipe (gpointer path)
{
  int fd = g_open (path, O_WRONLY, 0);

  g_assert_cmpint (fd, >=, 0);
  g_assert_cmpint (write (fd, everything, 100), ==, 100);
  g_assert_cmpint (write (fd, everything + 100, strlen (everything) - 100), ==, (gssize) strlen (everything) - 100);
  close (fd);
  return NULL;
}

static void
test_load_pipe (void)
{
  g_autoptr (MemraCensus) census = NULL;
  g_autoptr (GError) error = NULL;
  GThread *writer;
  Files files;

  files_init (&files);
  g_assert_cmpint (mkfifo (files.path, 0600), ==, 0);
  writer = g_thread_new ("writer", write_pipe, files.path);
  census = memra_census_load (files.path, &error);
  g_thread_join (writer);
  g_assert_no_error (error);
  g_assert_cmpuint (memra_census_get_layer (census), ==, 3);
  files_clear (&files);
}

static void
add_tests (void)
{
  g_test_add_func ("/census/json/round-trip", test_round_trip);
  g_test_add_func ("/census/json/not-canonical", test_not_canonical);
  g_test_add_func ("/census/json/smallest", test_smallest);
  g_test_add_func ("/census/json/to-string", test_to_string);
  g_test_add_func ("/census/json/equal", test_equal);
  g_test_add_func ("/census/json/wrong", test_wrong);
  g_test_add_func ("/census/json/not-an-object", test_not_an_object);
  g_test_add_func ("/census/json/damaged", test_damaged);
  g_test_add_func ("/census/json/length", test_length);
  g_test_add_func ("/census/file/save-load", test_save_load);
  g_test_add_func ("/census/file/errors", test_load_errors);
  g_test_add_func ("/census/file/huge", test_load_huge);
  g_test_add_func ("/census/file/pipe", test_load_pipe);
}

int
main (int argc, char **argv)
{
  return memra_test_main (argc, argv, add_tests);
}
