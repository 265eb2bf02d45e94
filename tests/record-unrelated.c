/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record-unrelated.c: a library that has names of the driver and is not the driver. */
__attribute__ ((visibility ("default"))) int cuGraphLaunch (void *exec, void *stream);
__attribute__ ((visibility ("default"))) int cuStreamEndCapture (void *stream, void **graph);

int
cuGraphLaunch (void *exec, void *stream)
{
  return 4711;
}

int
cuStreamEndCapture (void *stream, void **graph)
{
  return 4712;
}
