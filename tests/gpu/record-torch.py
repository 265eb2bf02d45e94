# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyTorch under the recorder: record-torch.py CASE. It knows nothing of the recorder and prints what it saw itself.

graph      a captured MLP and a captured attention block, replayed 20 times each
scalar     a capture that reads a scalar in the middle, then a good one
gemm       a capture whose first matrix product has to set up its library
thread     a capture in the global mode that another thread breaks
callables  make_graphed_callables
compile    torch.compile in reduce-overhead mode
nodes      three graphs of different kinds, whose nodes are counted by the driver's own call
triton     a kernel of Triton's, captured between two of PyTorch's
many       100 captures, timed, and a phase of replays, timed
profiler   a captured MLP, replayed under PyTorch's own profiler
"""

import ctypes
import sys
import threading
import time

begun = time.perf_counter()
import torch  # noqa: E402: its import is timed

imported = time.perf_counter()
device = torch.device("cuda")


def mlp():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)
    ).to(device).eval()


def capture(function, *arguments, warm_up=True, **options):
    if warm_up:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                function(*arguments)
        torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        output = function(*arguments)
    return graph, output


def check(name, got, wanted):
    torch.cuda.synchronize()
    if not torch.allclose(got, wanted, rtol=1e-3, atol=1e-3):
        raise SystemExit(f"{name}: replay differs from eager")
    print(f"{name}: replay equals eager")


@torch.no_grad()
def case_graph():
    model, x = mlp(), torch.randn(8, 256, device=device)
    q, k, v = (torch.randn(1, 8, 128, 64, device=device, dtype=torch.float16) for _ in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention
    for name, function, arguments in (("mlp", model, (x,)), ("attention", attention, (q, k, v))):
        graph, output = capture(function, *arguments)
        for _ in range(20):
            graph.replay()
        check(name, output, function(*arguments))


@torch.no_grad()
def case_scalar():
    x = torch.ones(64, device=device)

    def body():
        y = x * 2
        if y.sum().item() > 1e9:
            y = y + 1
        return y

    expect_broken(body)
    graph, output = capture(lambda: x * 2)
    graph.replay()
    check("a capture after a broken one", output, x * 2)


def expect_broken(body, **options):
    try:
        capture(body, warm_up=False, **options)
    except RuntimeError as error:
        print("broken:", str(error).splitlines()[0])
    else:
        print("not broken")


@torch.no_grad()
def case_gemm():
    a, b = torch.randn(64, 64, device=device), torch.randn(64, 64, device=device)
    expect_broken(lambda: a @ b)


@torch.no_grad()
def case_thread():
    x = torch.ones(64, device=device)
    started, done = threading.Event(), threading.Event()

    def breaker():
        started.wait(60)
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            print("the other thread:", str(error).splitlines()[0])
        done.set()

    thread = threading.Thread(target=breaker)
    thread.start()

    def body():
        y = x + 1
        started.set()
        done.wait(60)
        return y

    expect_broken(body, capture_error_mode="global")
    thread.join()


def case_callables():
    model, x = mlp().train(), torch.randn(8, 256, device=device, requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (x,))
    graphed(x).sum().backward()
    torch.cuda.synchronize()
    print("graphed callables: forward and backward ran")


@torch.no_grad()
def case_compile():
    model, x = mlp(), torch.randn(8, 256, device=device)
    compiled = torch.compile(model, mode="reduce-overhead")
    for _ in range(5):
        output = compiled(x).clone()
    check("compiled", output, model(x))


def count_nodes(graph):
    """By cuGraphGetNodes, of the graph that PyTorch itself instantiates."""
    n = ctypes.c_size_t(0)
    result = ctypes.CDLL("libcuda.so.1").cuGraphGetNodes(ctypes.c_void_p(graph.raw_cuda_graph()), None, ctypes.byref(n))
    if result != 0:
        raise SystemExit(f"cuGraphGetNodes answered {result}")
    return n.value


@torch.no_grad()
def case_nodes():
    model, x = mlp(), torch.randn(8, 256, device=device)
    q = torch.randn(1, 8, 128, 64, device=device, dtype=torch.float16)
    image = torch.randn(1, 3, 64, 64, device=device)
    weight = torch.randn(8, 3, 3, 3, device=device)
    attention = torch.nn.functional.scaled_dot_product_attention
    counts = []
    for function, arguments in (
        (model, (x,)),
        (attention, (q, q, q)),
        (lambda a: torch.nn.functional.conv2d(a, weight).relu().sum(), (image,)),
    ):
        for _ in range(3):
            function(*arguments)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            output = function(*arguments)
        counts.append(count_nodes(graph))
        graph.instantiate()
        graph.replay()
        check(f"graph {len(counts)}", output, function(*arguments))
    print("nodes:", *counts)


def case_triton():
    from record_triton import add

    x = torch.arange(1000, device=device, dtype=torch.float32)

    def double_and_one():
        return add(x * 2, torch.ones_like(x))

    graph, output = capture(double_and_one)
    x.mul_(3)
    graph.replay()
    check("triton", output, x * 2 + 1)


@torch.no_grad()
def case_many():
    model, x = mlp(), torch.randn(8, 256, device=device)
    capture(model, x)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    print(f"import: {imported - begun:.6f} s")
    print(f"until the first graph: {begin - imported:.6f} s")
    graphs = [capture(model, x, warm_up=False)[0] for _ in range(100)]
    torch.cuda.synchronize()
    print(f"100 captures: {time.perf_counter() - begin:.6f} s")
    best = 1e9
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(50):
            graphs[0].replay()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    print(f"50 replays: {best:.6f} s")
    for graph in graphs:
        graph.reset()


@torch.no_grad()
def case_profiler():
    from torch.profiler import ProfilerActivity, profile

    model, x = mlp(), torch.randn(8, 256, device=device)
    graph, output = capture(model, x)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(5):
            graph.replay()
        torch.cuda.synchronize()
    kernels = sum(event.count for event in profiler.key_averages() if "gemm" in event.key or "kernel" in event.key.lower())
    print("the profiler saw kernels:", kernels > 0)
    check("profiled", output, model(x))


if __name__ == "__main__":
    if len(sys.argv) != 2 or "case_" + sys.argv[1] not in globals():
        raise SystemExit(__doc__)
    globals()["case_" + sys.argv[1]]()
