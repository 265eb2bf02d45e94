#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PyTorch's CUDAGraph on the chain that bench-capture takes: N times x.add_(y) on 64 floats.

Runs bench-capture between its own measurements, so that both are seen under the same conditions, and prints one line
for each N: CPU cost of a replay, and time from the beginning of the capture until the graph can be replayed, of both,
with the ratio ours / PyTorch's.

    bench-torch.py PATH-OF-BENCH-CAPTURE [--pairs N] [--max N] [--json]
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import torch


def chain(x, y, n):
    for _ in range(n):
        x.add_(y)


def batch(n):
    return 50 if n <= 100 else 10 if n <= 1000 else 3


def measure(n, stream, x, y, pairs):
    """Medians in microseconds: replay (CPU), capture to replayable."""
    replays, captures = [], []
    graph = None
    for i in range(pairs + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            chain(x, y, n)
        captured = time.perf_counter() - start
        with torch.cuda.stream(stream):
            graph.replay()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(batch(n)):
                graph.replay()
            replayed = (time.perf_counter() - start) / batch(n)
        torch.cuda.synchronize()
        if i > 0:
            captures.append(captured * 1e6)
            replays.append(replayed * 1e6)
    return statistics.median(replays), statistics.median(captures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", help="the program bench-capture")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--max", type=int, default=10000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    stream = torch.cuda.Stream()
    x, y = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
    with torch.cuda.stream(stream):
        chain(x, y, 3)
    torch.cuda.synchronize()

    theirs, n = {}, 1
    while n <= options.max:
        theirs[n] = measure(n, stream, x, y, options.pairs)
        n *= 10
    ours = json.loads(subprocess.run(
        [options.bench, "--json", "--pairs", str(options.pairs), "--max", str(options.max)],
        check=True, stdout=subprocess.PIPE).stdout)
    figures = {(f["case"], f["kernels"]): f["ours_us"] for f in ours["figures"]}
    again = {n: measure(n, stream, x, y, options.pairs) for n in theirs}

    compared = [{"case": case, "kernels": n, "ours_us": figures[case, n], "before_us": round(theirs[n][i], 3),
                 "after_us": round(again[n][i], 3),
                 "ratio": round(figures[case, n] / ((theirs[n][i] + again[n][i]) / 2), 4)}
                for i, case in enumerate(("launch", "record")) for n in theirs]
    if options.json:
        json.dump({"torch": torch.__version__, "device": ours["device"], "driver": ours["driver"],
                   "pairs": options.pairs, "figures": compared}, sys.stdout, indent=1)
        print()
        return
    print(f"PyTorch {torch.__version__}, {ours['device']}, driver API {ours['driver']}, "
          f"medians of {options.pairs}, PyTorch before and after")
    print(f"{'case':<8} {'kernels':>8} {'ours (us)':>12} {'PyTorch (us)':>12} {'and again':>12} {'ratio':>7}")
    for f in compared:
        print(f"{f['case']:<8} {f['kernels']:>8} {f['ours_us']:>12.2f} {f['before_us']:>12.2f} "
              f"{f['after_us']:>12.2f} {f['ratio']:>7.3f}")


if __name__ == "__main__":
    sys.exit(main())
