/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program of the driver API that has never heard of memra-capture. It takes the libcuda.so.1 that it finds. */
#include "engine.h"

#include <stdio.h>

int
main (void)
{
  struct CUgraph_st *graph = NULL;
  unsigned long long memory = 0;
  unsigned value = 0;
  Engine engine;
  int result = engine_open (&engine, "libcuda.so.1");

  if (result != 0)
    {
      fprintf (stderr, "no driver, or none that works: %d\n", result);
      return 77;
    }
  engine.cuMemAlloc_v2 (&memory, 4);
  engine.cuMemsetD32Async (memory, 42, 1, engine.stream);
  engine.cuStreamBeginCapture_v2 (engine.stream, 0); /* CU_STREAM_CAPTURE_MODE_GLOBAL */
  printf ("waiting for a stream that is being captured: %d\n", engine.cuStreamSynchronize (engine.stream));
  printf ("ending the capture: %d\n", engine.cuStreamEndCapture (engine.stream, &graph));
  printf ("waiting for it now: %d\n", engine.cuStreamSynchronize (engine.stream));
  engine.cuMemcpyDtoH_v2 (&value, memory, 4);
  printf ("value: %u\n", value);
  engine.cuMemFree_v2 (memory);
  engine_close (&engine);
  return 0;
}
