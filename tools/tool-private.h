/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the command share. The command uses the library's public API only.
 *
 * A new subcommand is a file cmd-NAME.c with a function tool_cmd_NAME(), declared below, and a row in the table of
 * commands.c; dispatch, --help and the list of subcommands follow from the row.
 */
#pragma once

#include <memra-capture/memra-capture.h>

#include <glib.h>

#define TOOL_NAME "memra-capture"

/* Exit statuses, as diff(1) has them. */
enum
{
  TOOL_EXIT_OK = 0,
  TOOL_EXIT_DIFFERENT = 1, /* a difference, a red gate, a failed proof */
  TOOL_EXIT_TROUBLE = 2    /* wrong usage, or an input, driver or output that cannot be used */
};

typedef struct _ToolCommand ToolCommand;

struct _ToolCommand
{
  const char *name;
  const char *usage;                                              /* positional arguments, nullable */
  const char *summary;                                            /* one line, lower case, no full stop */
  int (*run) (const ToolCommand *command, int argc, char **argv); /* argv[0] is the subcommand's name */
  gboolean strict; /* options end at the first argument: what follows is somebody else's command line */
};

int tool_cmd_info (const ToolCommand *command, int argc, char **argv);
int tool_cmd_demo (const ToolCommand *command, int argc, char **argv);
int tool_cmd_show (const ToolCommand *command, int argc, char **argv);
int tool_cmd_diff (const ToolCommand *command, int argc, char **argv);
int tool_cmd_check (const ToolCommand *command, int argc, char **argv);
int tool_cmd_dot (const ToolCommand *command, int argc, char **argv);
int tool_cmd_record (const ToolCommand *command, int argc, char **argv);
int tool_cmd_report (const ToolCommand *command, int argc, char **argv);
int tool_cmd_compare (const ToolCommand *command, int argc, char **argv);

/* commands.c */

/* Runs a whole command line, argv[0] being the program's name. Returns the status to exit with. */
int tool_run_command (int argc, char **argv);

/* options.c */

/* Parses a command line, command == NULL: the one before the subcommand. FALSE: there is nothing left to do but to exit
 * with *status, since --help was answered or the options were wrong and that was said. */
gboolean tool_parse (const ToolCommand *command, const GOptionEntry *entries, const char *description, int *argc,
                     char ***argv, int *status);

/* The last row of a table of options. */
#define TOOL_OPTIONS_END                                                                                               \
  {                                                                                                                    \
    NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL                                                                    \
  }

/* FALSE, and said on standard error, when there are other than n positional arguments. */
gboolean tool_expect_arguments (const ToolCommand *command, char *const *arguments, guint n);

/* The same when there are fewer than n. */
gboolean tool_expect_at_least (const ToolCommand *command, char *const *arguments, guint n);

/* The same when more than one argument is "-": standard input can be read once. */
gboolean tool_expect_one_stdin (const ToolCommand *command, char *const *arguments);

/* FALSE, and said on standard error, when an option's number is out of its range. */
gboolean tool_expect_range (const ToolCommand *command, const char *option, int value, int low, int high);

/* output.c: the only way to standard output and standard error. */

typedef enum
{
  TOOL_STYLE_PLAIN,
  TOOL_STYLE_HEADING,
  TOOL_STYLE_GOOD,
  TOOL_STYLE_BAD,
  TOOL_STYLE_DIM
} ToolStyle;

/* Must be called first: locale, signals, where log messages go. */
void tool_output_init (void);
/* Undoes what it did to signals, in a child that is to become another program. */
void tool_output_restore_signals (void);

/* Text in UTF-8, brought into the locale's character set; control characters of foreign names are made visible. */
void tool_out (const char *format, ...) G_GNUC_PRINTF (1, 2);
void tool_out_styled (ToolStyle style, const char *format, ...) G_GNUC_PRINTF (2, 3);
void tool_out_text (const char *text);
/* The left column of a block, ten wide. */
void tool_out_label (const char *label);
/* A sentence beside it, broken into lines so that both fit into 80 columns, and a newline. */
void tool_out_paragraph (const char *text);
/* UTF-8 as it is, and a newline if it does not end with one: JSON, and pictures. */
void tool_out_json (const char *text);
void tool_out_flush (void);
/* Flushes. Gives back the status to exit with: `status`, or TOOL_EXIT_TROUBLE when standard output could not be
 * written. A reader that went away is no trouble. */
int tool_out_finish (int status);

/* "memra-capture: sentence", then the hint in brackets if there is one, on standard error. */
void tool_error (const char *hint, const char *format, ...) G_GNUC_PRINTF (2, 3);
void tool_note (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* One line on a terminal that stays until tool_progress_end() or the next output. Shown only once the program has run
 * for a second. */
void tool_progress (const char *format, ...) G_GNUC_PRINTF (1, 2);
void tool_progress_end (void);

/* driver-choice.c */

typedef enum
{
  TOOL_DRIVER_AUTO,
  TOOL_DRIVER_CUDA,
  TOOL_DRIVER_HOST
} ToolDriverChoice;

/* Help of a --driver option. */
#define TOOL_DRIVER_DESCRIPTION "auto, cuda or host (auto: cuda, else host)"

/* text == NULL: auto. FALSE, and said on standard error, when it is none of the three. */
gboolean tool_driver_choice_or_complain (const ToolCommand *command, const char *text, ToolDriverChoice *choice);

/* (transfer full) (nullable). With auto and no CUDA driver or device, opens the host driver, and `reason`
 * (transfer full) says why; telling it is the caller's business. */
MemraDriver *tool_driver_open (ToolDriverChoice choice, char **reason, GError **error);

/* Same, and says on standard error what is to be said. */
MemraDriver *tool_driver_open_or_complain (ToolDriverChoice choice);

const char *tool_driver_kind_to_string (MemraDriverKind kind);

/* census-input.c */

/* As much as the library takes: a census of a million kernels is smaller. */
#define TOOL_LARGEST_CENSUS ((gsize) 512 * 1024 * 1024)

/* (transfer full) (nullable). A census file, or standard input for "-". */
MemraCensus *tool_census_load (const char *path, GError **error);

/* (transfer full) (element-type MemraCensus) (nullable). NULL, and said on standard error, if one cannot be read. */
GPtrArray *tool_census_load_all_or_complain (char *const *paths);

/* census-print.c */

/* Prints a census in at most 80 columns, with the left column empty. */
void tool_print_census (const MemraCensus *census);

/* text.c: names that come from graphs and files of others. */

/* Valid UTF-8 in which what could move a cursor, set a title or turn the text around is shown as it is: "\x1b".
 * (transfer full) */
char *tool_text_dup_visible (const char *text);

/* "void (anonymous namespace)::gemm<float, 4>(float*)" becomes "gemm"; at most so many characters, the last two of which
 * are dots where more was cut off. (transfer full) */
char *tool_text_dup_short_name (const char *name, glong longest);

/* graphviz.c */

/* A picture in Graphviz's language drawn as SVG. seconds > 0: it may take no longer. Errors: G_SPAWN_ERROR, of which _NOENT
 * says that there is no Graphviz; G_FILE_ERROR. (transfer full) (nullable) */
char *tool_graphviz_draw (const char *dot, guint seconds, GError **error);

/* file-output.c. Errors: G_FILE_ERROR. */

/* From its beginning on: it may be a pipe or a device. */
gboolean tool_write_in_place (const char *path, const char *text, GError **error);

/* Aside, and renamed, so that nobody sees a part of it; in place where that cannot be done with what is there. */
gboolean tool_write_whole (const char *path, const char *text, GError **error);
