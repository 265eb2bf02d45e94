#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-schema.sh: docs/census.schema.json and the library agree about what a census file is. Runs in the build folder; TAP.
set -u
LC_ALL=C.UTF-8
export LC_ALL

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
tool=${MEMRA_CAPTURE:-$PWD/tools/memra-capture}

if ! command -v python3 > /dev/null || ! python3 -c 'import jsonschema' 2> /dev/null; then
  echo "1..0 # SKIP needs Python's jsonschema (Debian package: python3-jsonschema)"
  exit 0
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

"$tool" demo --driver host --layers 2 --replays 1 --save "$dir/demo" > "$dir/log" 2>&1 || cat "$dir/log" >&2
docs/examples/read-graph "$dir/read-graph.json" > "$dir/log" 2>&1 || cat "$dir/log" >&2

# PYTHONDONTWRITEBYTECODE: nothing is written beside the source.
PYTHONDONTWRITEBYTECODE=1 python3 -W ignore - "$source/docs/census.schema.json" "$tool" "$dir" << 'END'
import copy
import glob
import json
import subprocess
import sys

import jsonschema

schema_path, tool, folder = sys.argv[1:]
schema = json.load(open(schema_path, encoding="utf-8"))
validator = jsonschema.Draft7Validator(schema)
points = []


def library_takes(census):
    """Whether memra-capture show reads it; 2 is its answer to a bad file."""
    process = subprocess.run([tool, "show", "-"], input=json.dumps(census), encoding="utf-8", capture_output=True)
    if process.returncode not in (0, 2):
        raise RuntimeError("show answered %d: %s" % (process.returncode, process.stderr))
    return process.returncode == 0, process.stderr.strip()


def check(name, census, wanted):
    takes, reason = library_takes(census)
    errors = [error.message for error in validator.iter_errors(census)]
    fine = takes == wanted and (not errors) == wanted
    points.append(fine)
    print("%s %d - %s" % ("ok" if fine else "not ok", len(points), name))
    if not fine:
        print("# library: %s %s" % ("takes it" if takes else "refuses it:", reason))
        for error in errors[:3] or ["takes it"]:
            print("# schema: %s" % error)


def node(type, number, **more):
    return dict({"depth": 0, "node": number, "section": None, "type": type}, **more)


# One of everything that a census can have; its counts agree.
everything = {
    "copies": [
        {"bytes": 64, "depth": 0, "direction": "device-to-host", "extent": [64, 1, 1], "node": 1, "section": "a",
         "source": {"buffer": 0, "offset": 8, "pitch": 0}, "target": {"memory": "pageable", "pitch": 0}},
        {"bytes": 64, "depth": 0, "direction": "unknown", "extent": [32, 2, 1], "node": 2, "section": None,
         "source": {"memory": "array", "pitch": 0}, "target": {"memory": "unknown", "pitch": 64}},
        {"bytes": 16, "depth": 0, "direction": "fill", "element": 4, "extent": [16, 1, 1], "node": 3, "section": None,
         "target": {"buffer": 1, "offset": 0, "pitch": 0}, "value": 7},
    ],
    "edges": {"list": [[0, 1], [0, 2], [1, 2, 1]], "normal": 2, "programmatic": 1},
    "format": "memra-capture-census",
    "hazards": [{"kind": "x", "message": "of all", "node": None}, {"kind": "host-node", "message": "y", "node": 4}],
    "kernels": [
        {"args": [{"buffer": 0, "offset": 0}, {"hex": "01000000"},
                  {"hex": "000000000000000001", "pointers": [{"at": 0, "buffer": 0, "offset": 1}]}],
         "block": [1, 1, 1], "demangled": "f", "depth": 0, "grid": [1, 2, 3], "name": "f", "node": 0, "section": "a",
         "shared": 0},
        {"args": [{"unknown": "0102"}], "block": [1, 1, 1], "demangled": "g", "depth": 1, "grid": [1, 1, 1], "name": "g",
         "node": 8, "section": None, "shared": 16},
    ],
    "layer": 3,
    "nodes": {"kernel": 2, "memcpy": 2, "memset": 1, "host": 1, "mem-alloc": 1, "mem-free": 1, "child-graph": 1,
              "conditional": 2, "unknown-99": 1, "empty": 1},
    "others": [
        node("host", 4), node("mem-alloc", 5, bytes=64, buffer=2), node("mem-free", 6, buffer=2),
        node("child-graph", 7, bodies=[1]), node("conditional", 9),
        node("conditional", 10, bodies=[1, 0], bodies_from="debug-dump"),
        dict(node("empty", 11), depth=1), node("unknown-99", 12),
    ],
    "version": 1,
}


def changed(change):
    census = copy.deepcopy(everything)
    change(census)
    return census


def set_at(*path_and_value):
    *path, key, value = path_and_value

    def change(census):
        for step in path:
            census = census[step]
        census[key] = value
    return change


def delete_at(*path):
    def change(census):
        for step in path[:-1]:
            census = census[step]
        del census[path[-1]]
    return change


jsonschema.Draft7Validator.check_schema(schema)
saved = sorted(glob.glob(folder + "/demo/*.json")) + [folder + "/read-graph.json"]
for path in saved:
    check("saved: " + path[len(folder) + 1:], json.load(open(path, encoding="utf-8")), True)
check("one of everything", everything, True)
check("an empty graph", dict(everything, copies=[], edges={"list": [], "normal": 0, "programmatic": 0}, hazards=[], kernels=[],
                             nodes={}, others=[]), True)

for key in sorted(everything):
    check("without " + key, changed(delete_at(key)), False)
for name, place in (("a kernel", ("kernels", 0)), ("a copy", ("copies", 0)), ("a fill", ("copies", 2)),
                    ("another node", ("others", 0)), ("a hazard", ("hazards", 0)), ("a place", ("copies", 0, "source"))):
    sample = everything
    for step in place:
        sample = sample[step]
    for key in sorted(sample):
        check("%s without %s" % (name, key), changed(delete_at(*place, key)), False)
    check("%s with a key too many" % name, changed(set_at(*place, "more", 1)), False)
for name, change in (
        ("a key too many", set_at("more", 1)),
        ("another format", set_at("format", "x")),
        ("a later version", set_at("version", 2)),
        ("a negative layer", set_at("layer", -1)),
        ("a layer of 33 bits", set_at("layer", 1 << 32)),
        ("a layer with a fraction", set_at("layer", 1.5)),
        ("a layer in words", set_at("layer", "3")),
        ("an edge of one node", set_at("edges", "list", 0, [0])),
        ("an edge of four numbers", set_at("edges", "list", 0, [0, 1, 0, 0])),
        ("an edge of type 256", set_at("edges", "list", 2, [1, 2, 256])),
        ("a grid of two", set_at("kernels", 0, "grid", [1, 2])),
        ("an argument of nothing", set_at("kernels", 0, "args", 1, {})),
        ("an argument of no bytes", set_at("kernels", 0, "args", 1, {"hex": ""})),
        ("an argument of half a byte", set_at("kernels", 0, "args", 1, {"hex": "012"})),
        ("an argument in capitals", set_at("kernels", 0, "args", 1, {"hex": "AA"})),
        ("an argument that is two things", set_at("kernels", 0, "args", 1, {"hex": "01", "buffer": 0, "offset": 0})),
        ("a pointer at byte 4", set_at("kernels", 0, "args", 2, "pointers", 0, "at", 4)),
        ("a section that is a number", set_at("kernels", 0, "section", 1)),
        ("a depth of 201", set_at("kernels", 0, "depth", 201)),
        ("an unknown direction", set_at("copies", 0, "direction", "up")),
        ("a fill with a source", set_at("copies", 2, "source", {"memory": "unknown", "pitch": 0})),
        ("memory of an unknown kind", set_at("copies", 0, "target", {"memory": "none", "pitch": 0})),
        ("an unknown type", set_at("others", 0, "type", "graph")),
        ("a host node with a buffer", set_at("others", 0, "buffer", 0)),
        ("a freed buffer with bytes", set_at("others", 2, "bytes", 1)),
        ("an allocation with a buffer and no bytes", delete_at("others", 1, "bytes")),
        ("a host node with bodies", set_at("others", 0, "bodies", [0])),
        ("bodies that are none", set_at("others", 3, "bodies", [])),
        ("bodies from elsewhere", set_at("others", 5, "bodies_from", "memory")),
        ("bodies from a dump without bodies", set_at("others", 4, "bodies_from", "debug-dump")),
        ("a count of nothing", set_at("nodes", "batch-mem-op", 0)),
        ("a count of an unknown type", set_at("nodes", "graph", 1)),
):
    check(name, changed(change), False)

print("1..%d" % len(points))
sys.exit(0 if all(points) else 1)
END
