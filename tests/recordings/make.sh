#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# make.sh [DIR]: makes the recordings in DIR, else in this folder, anew. To be run in a build folder after "make check",
# on the host driver. What differs from run to run and from machine to machine is replaced: numbers of processes and
# threads, times, addresses, names of machines, and paths.
#
#   ranks   two ranks. Their first graphs are the same, the second ones are not; rank 0 broke two captures, one from
#           another thread, and an update of it was refused. Rank 1 lacks the third graph.
#   layers  one process, the bundled decoder layers, without ranks and without launches.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
to=${1:-$here}
tool=$PWD/tools/memra-capture
program=$PWD/tests/record-program
host=$PWD/lib/host/.libs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID MEMRA_HOST_DRIVER_VERSION

# record OPTION... -- COMMAND...: into $dir/now
record () {
  rm -rf "$dir/now"
  "$tool" record -o "$dir/now" "$@" >/dev/null 2>&1
}

# keep FOLDER ID COMMAND: what was recorded, as process ID that ran COMMAND.
keep () {
  mkdir -p "$to/$1"
  events=$(echo "$dir"/now/events-*.jsonl)
  pid=${events##*/events-}
  pid=${pid%.jsonl}
  for census in "$dir"/now/graph-"$pid"-*.json; do
    number=${census##*-}
    cat "$census" >"$to/$1/graph-$2-$number"
  done
  # The main thread has the process's number; others are counted from there.
  awk -v id="$2" -v pid="$pid" -v command="$3" '
    { line = $0
      if (match(line, /"thread":[0-9]+/)) {
        thread = substr(line, RSTART + 9, RLENGTH - 9)
        if (!(thread in threads)) threads[thread] = id + n_threads++
        sub(/"thread":[0-9]+/, "\"thread\":" threads[thread], line)
      }
      sub(/"time_us":[0-9]+/, sprintf("\"time_us\":1764597600%06d", (id - 2000) * 1000 + NR * 10), line)
      gsub("graph-" pid "-", "graph-" id "-", line)
      gsub(/"(stream|address)":"0x[0-9a-f]+"/, "\"stream\":\"0x5000\"", line)
      sub(/"host":"[^"]*"/, "\"host\":\"node1\"", line)
      sub(/"pid":[0-9]+/, "\"pid\":" id, line)
      sub(/"parent":[0-9]+/, "\"parent\":1000", line)
      sub(/"run":"[^"]*"/, "\"run\":\"node1-1000\"", line)
      sub(/"program":"[^"]*"/, "\"program\":\"/usr/bin/engine\"", line)
      sub(/"arguments":\[[^]]*\]/, "\"arguments\":[" command "]", line)
      sub(/"path":"[^"]*"/, "\"path\":\"/usr/lib/x86_64-linux-gnu/libcuda.so.1\"", line)
      gsub(/"module":"record-program"/, "\"module\":\"engine\"", line)
      gsub(/in record-program"/, "in engine\"", line)
      print line }' "$events" >"$to/$1/events-$2.jsonl"
}

rm -rf "$to/ranks" "$to/layers"
LD_LIBRARY_PATH=$host${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
RECORD_TEST_MODULE=$PWD/tests/conformance/.libs/host-kernels.so
export LD_LIBRARY_PATH RECORD_TEST_MODULE

RANK=0
export RANK
record --launches --stacks -- "$program" lookup=proc2 begin kernel fill copy end instantiate launch=3 begin kernel sync end \
  mode=0 begin fill other alloc end mode=2 begin fill fill kernel kernel end instantiate launch=1500 begin fill fill kernel \
  kernel end update begin fill end update build instantiate
keep ranks 2001 '"engine","--layers","2"'
RANK=1
record --launches --stacks -- "$program" lookup=proc2 begin kernel fill copy end instantiate launch=3 begin fill host kernel \
  kernel end instantiate launch=1500
keep ranks 2002 '"engine","--layers","2"'
unset RANK
record -- "$tool" demo --driver host --layers 2 --replays 1
keep layers 2003 '"memra-capture","demo","--layers","2"'
