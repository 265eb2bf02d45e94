#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tables and pictures of docs/performance.md, from what the programs in tests/bench printed with --json.

    figures.py tables RUN            Markdown, between the chapter's comments "figures: NAME"
    figures.py update RUN CHAPTER    puts those tables into the chapter, in place
    figures.py plots RUN             RUN/*.svg (needs matplotlib; not needed to build anything)

RUN is a folder with capture.json, steps.json, sequence.json, checks.json, and perhaps torch.json.
"""
import json
import pathlib
import re
import sys

CAPTURE_CASES = ("launch", "replay", "capture", "no-walk", "record", "update", "edit", "edits", "census")


def load(run, name):
    path = pathlib.Path(run) / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def number(us):
    return f"{us:,.2f}" if us < 100 else f"{us:,.0f}"


def rows(data, axis):
    """case -> [(size, ours, raw, ratio)], sizes ascending."""
    cases = {}
    for figure in data["figures"]:
        cases.setdefault(figure["case"], []).append(
            (figure[axis], figure["ours_us"], figure["raw_us"], figure["ratio"]))
    return {case: sorted(figures) for case, figures in cases.items()}


def table(head, body):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def long_table(data, axis, cases):
    found = rows(data, axis)
    return table(("case", axis, "ours (us)", "raw (us)", "ratio"),
                 [(case, f"{size:,}", number(ours), number(raw), f"{ratio:.3f}")
                  for case in cases if case in found for size, ours, raw, ratio in found[case]])


def steps_table(data):
    """One line for each step, ours and raw side by side for each size."""
    found = rows(data, "kernels")
    sizes = [size for size, *_ in found["whole"]]
    head = ["step"] + [f"{size:,} kernels: ours, raw (us)" for size in sizes]
    return table(head, [[step] + [f"{number(ours)}, {number(raw)}" for _, ours, raw, _ in figures]
                        for step, figures in found.items()])


def torch_table(data):
    return table(("case", "kernels", "ours (us)", "PyTorch (us)", "and again", "ratio"),
                 [(f["case"], f"{f['kernels']:,}", number(f["ours_us"]), number(f["before_us"]), number(f["after_us"]),
                   f"{f['ratio']:.3f}") for f in data["figures"]])


def tables(run):
    """Name -> Markdown."""
    made = {}
    capture, steps, sequence, checks, torch = (
        load(run, name) for name in ("capture", "steps", "sequence", "checks", "torch"))
    if capture:
        made["capture"] = long_table(capture, "kernels", CAPTURE_CASES)
    if steps:
        made["steps"] = steps_table(steps)
    if sequence:
        made["sequence"] = long_table(sequence, "kernels", ("layers", "sequence", "checked"))
    if checks:
        made["checks"] = long_table(checks, "allocations", ("checks", "check"))
    if torch:
        made["torch"] = torch_table(torch)
    return made


def update(run, chapter):
    path = pathlib.Path(chapter)
    text = path.read_text()
    for name, made in tables(run).items():
        mark = f"<!-- figures: {name} -->\n"
        pattern = re.compile(re.escape(mark) + r"\n(?:\|.*\n)*")
        if not pattern.search(text):
            sys.exit(f"figures: {chapter} has no line '{mark.strip()}' with an empty line below it")
        text = pattern.sub(lambda _, made=made, mark=mark: f"{mark}\n{made}\n", text, count=1)
    path.write_text(text)


def plots(run):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "memra", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                                "grid.alpha": 0.3, "figure.figsize": (7.6, 3.4), "legend.frameon": False})
    from matplotlib import pyplot

    def save(figure, name):
        figure.tight_layout()
        path = pathlib.Path(run) / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        # Lines end where their text does, so that the file is as clean as the others here.
        path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
        pyplot.close(figure)

    def ratios(data, axis, cases, name, title):
        figure, axes = pyplot.subplots()
        found = rows(data, axis)
        for case in cases:
            if case in found:
                axes.plot([f[0] for f in found[case]], [f[3] for f in found[case]], marker="o", label=case)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xlabel(axis)
        axes.set_ylabel("ours / raw")
        axes.set_title(title)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        save(figure, name)

    def times(data, axis, cases, name, title):
        figure, axes = pyplot.subplots()
        found = rows(data, axis)
        for case, label, which in cases:
            if case in found:
                axes.plot([f[0] for f in found[case]], [f[which] for f in found[case]],
                          marker="o" if which == 1 else "x", linestyle="-" if which == 1 else "--", label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.set_xlabel(axis)
        axes.set_ylabel("us")
        axes.set_title(title)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        save(figure, name)

    capture, checks = load(run, "capture"), load(run, "checks")
    if capture:
        ratios(capture, "kernels", ("launch", "replay", "capture", "record", "update"), "ratios",
               "The library's call against the raw driver calls")
        times(capture, "kernels", (("capture", "memra_capture_layer", 1), ("capture", "raw calls with a walk", 2),
                                   ("update", "memra_layer_capture_update", 1), ("census", "census", 1),
                                   ("census", "cuGraphGetNodes", 2)), "growth", "How it grows")
    if checks:
        times(checks, "allocations", (("checks", "checked replay", 1), ("checks", "bare launch", 2),
                                      ("check", "the check alone", 1), ("check", "one query for each", 2)),
              "checks", "A checked replay of 1,000 kernels or more")


def main(arguments):
    if len(arguments) == 3 and arguments[1] == "tables":
        for name, made in tables(arguments[2]).items():
            print(f"<!-- figures: {name} -->\n\n{made}\n")
    elif len(arguments) == 4 and arguments[1] == "update":
        update(arguments[2], arguments[3])
    elif len(arguments) == 3 and arguments[1] == "plots":
        plots(arguments[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
