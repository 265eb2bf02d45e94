# SPDX-License-Identifier: LGPL-2.1-or-later
"""CuPy under the recorder: record-cupy.py CASE. It knows nothing of the recorder and prints what it saw itself.

graph    a stream capture of three kernels, launched 20 times
scalar   a capture that reads a scalar in the middle, then a good one
"""

import sys

import cupy


def capture(stream, body):
    with stream:
        stream.begin_capture()
        try:
            result = body()
        finally:
            graph = stream.end_capture()
    return graph, result


def case_graph():
    stream = cupy.cuda.Stream(non_blocking=True)
    x, y = cupy.ones(1024, dtype=cupy.float32), cupy.zeros(1024, dtype=cupy.float32)

    def body():
        cupy.add(x, 1, out=y)
        cupy.multiply(y, 2, out=y)
        cupy.sqrt(y, out=y)

    with stream:
        body()  # compiles the kernels
    stream.synchronize()
    graph, _ = capture(stream, body)
    for _ in range(20):
        graph.launch(stream)
    stream.synchronize()
    if not bool(cupy.all(y == 2).get()):
        raise SystemExit("graph: wrong values")
    print("graph: right values")


def case_scalar():
    stream = cupy.cuda.Stream(non_blocking=True)
    x = cupy.ones(64, dtype=cupy.float32)
    y = cupy.zeros(64, dtype=cupy.float32)
    with stream:
        cupy.add(x, 1, out=y)
    stream.synchronize()

    def body():
        cupy.add(x, 1, out=y)
        stream.synchronize()

    try:
        capture(stream, body)
    except Exception as error:  # CuPy has several types for this
        print("broken:", str(error).splitlines()[0])
    else:
        print("not broken")
    graph, _ = capture(stream, lambda: cupy.add(x, 1, out=y))
    graph.launch(stream)
    stream.synchronize()
    print("a capture after a broken one:", float(y[0]))


if __name__ == "__main__":
    if len(sys.argv) != 2 or "case_" + sys.argv[1] not in globals():
        raise SystemExit(__doc__)
    globals()["case_" + sys.argv[1]]()
