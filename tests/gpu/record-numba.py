# SPDX-License-Identifier: LGPL-2.1-or-later
"""Numba under the recorder: a kernel that Numba compiles, captured by the driver's own calls, since Numba has none. It
knows nothing of the recorder and prints what it saw itself."""

import ctypes

import numpy as np
from numba import cuda

driver = ctypes.CDLL("libcuda.so.1")


def must(result, what):
    if result != 0:
        raise SystemExit(f"{what} answered {result}")


@cuda.jit
def memra_numba_add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def handle_of(stream):
    """A CUstream as a number; what `handle` is has changed over the versions."""
    handle = stream.handle
    return int(getattr(handle, "value", handle) or 0)


def main():
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(1000, dtype=np.float32), stream=stream)
    memra_numba_add_one[4, 256, stream](x)  # compiles and loads it, which a capture would not survive
    stream.synchronize()

    raw = ctypes.c_void_p(handle_of(stream))
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    must(driver.cuStreamBeginCapture_v2(raw, 1), "cuStreamBeginCapture")
    for _ in range(3):
        memra_numba_add_one[4, 256, stream](x)
    must(driver.cuStreamEndCapture(raw, ctypes.byref(graph)), "cuStreamEndCapture")
    must(driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)), "cuGraphInstantiate")
    for _ in range(5):
        must(driver.cuGraphLaunch(executable, raw), "cuGraphLaunch")
    result = x.copy_to_host(stream=stream)
    stream.synchronize()
    must(driver.cuGraphExecDestroy(executable), "cuGraphExecDestroy")
    must(driver.cuGraphDestroy(graph), "cuGraphDestroy")
    if not (result == 16).all():
        raise SystemExit(f"numba: {result[0]} where 16 was to be")
    print("numba: replay equals eager")


if __name__ == "__main__":
    main()
