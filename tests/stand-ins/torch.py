# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for PyTorch where docs/examples/pytorch_census.py is tested: what is captured is one fill."""
import ctypes
import types

driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result != 0:
        raise RuntimeError("%s answered %d" % (name, result))


context = ctypes.c_void_p()
stream = ctypes.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuStreamCreate", ctypes.byref(stream), 1)


class Tensor:
    def __init__(self, n):
        self.bytes = 4 * n
        self.address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(self.bytes))

    def add_(self, value):
        call("cuMemsetD32Async", self.address, value, ctypes.c_size_t(self.bytes // 4), stream)


class CUDAGraph:
    def __init__(self, keep_graph=False):
        assert keep_graph
        self.graph = ctypes.c_void_p()

    def raw_cuda_graph(self):
        return self.graph.value


class capture:
    def __init__(self, graph):
        self.graph = graph

    def __enter__(self):
        call("cuStreamBeginCapture_v2", stream, 1)

    def __exit__(self, *details):
        call("cuStreamEndCapture", stream, ctypes.byref(self.graph.graph))


def zeros(n, device):
    assert device == "cuda"
    return Tensor(n)


cuda = types.SimpleNamespace(CUDAGraph=CUDAGraph, graph=capture)
