/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memra-capture command. */
#include "config.h"

#include "tool-private.h"

int
main (int argc, char **argv)
{
  tool_output_init ();
  return tool_out_finish (tool_run_command (argc, argv));
}
