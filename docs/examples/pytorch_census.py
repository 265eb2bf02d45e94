# SPDX-License-Identifier: LGPL-2.1-or-later
"""The census of a graph that PyTorch captured. Needs PyTorch 2.8 or later, and libmemra-capture.so.0."""
import ctypes
import sys

import torch

memra = ctypes.CDLL("libmemra-capture.so.0")
for name in ("memra_driver_get_default", "memra_census_new_from_graph", "memra_census_to_string"):
    getattr(memra, name).restype = ctypes.c_void_p


class Error(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


def census(raw_graph):
    """The text of a census. `raw_graph` is the address of a cudaGraph_t."""
    error = ctypes.POINTER(Error)()
    driver = memra.memra_driver_get_default(ctypes.byref(error))
    if driver:
        found = memra.memra_census_new_from_graph(
            ctypes.c_void_p(driver), ctypes.c_void_p(raw_graph), ctypes.byref(error))
        memra.memra_driver_unref(ctypes.c_void_p(driver))
    if error:
        raise RuntimeError(error.contents.message.decode())
    text = memra.memra_census_to_string(ctypes.c_void_p(found))
    memra.memra_census_unref(ctypes.c_void_p(found))
    return ctypes.string_at(text).decode()


def main():
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    x = torch.zeros(1024, device="cuda")
    with torch.cuda.graph(graph):
        x.add_(1)
    sys.stdout.write(census(graph.raw_cuda_graph()))


if __name__ == "__main__":
    main()
