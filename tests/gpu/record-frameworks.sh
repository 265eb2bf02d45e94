#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# record-frameworks.sh [--keep DIR] [--python PYTHON]: records PyTorch and CuPy programs on a GPU and looks at what came of
# it, as TAP. From the bundle: gpu-bundle/tests/gpu/record-frameworks.sh; from a build folder with MEMRA_CAPTURE naming the
# command. Frameworks that are not there are skipped, and so is everything on a machine without a GPU.
#
# For every broken capture the summary must name the call that broke it; every graph must have a census; the program's
# own words and exit status must be what they are without the recorder; the price of recording is measured.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bundle=$(cd "$here/../.." && pwd)
python=python3
keep=

while [[ $# -gt 0 ]]; do
  case $1 in
    --keep) keep=${2:?--keep takes a folder}; shift 2 ;;
    --python) python=${2:?--python takes a program}; shift 2 ;;
    -h | --help) sed -n 's/^# \{0,1\}//p' "$0" | sed -n '3,9p'; exit 0 ;;
    *) echo "record-frameworks.sh: unknown argument $1; see --help" >&2; exit 2 ;;
  esac
done

tool=${MEMRA_CAPTURE:-}
if [[ -z $tool ]]; then
  tool=$bundle/bin/memra-capture
fi
# The bundle brings GLib, for the command and for the recorder's second half, which is loaded into the frameworks.
if [[ -d $bundle/lib/memra-capture ]]; then
  export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
if [[ -n $keep ]]; then
  mkdir -p "$keep" || exit 2
  dir=$(cd "$keep" && pwd)
else
  dir=$(mktemp -d) || exit 2
  trap 'rm -rf "$dir"' EXIT
fi

n=0 failed=0

ok () {
  n=$((n + 1))
  echo "ok $n - $1"
}

not_ok () {
  n=$((n + 1)) failed=$((failed + 1))
  echo "not ok $n - $1"
  shift
  printf '# %s\n' "$@"
}

skip () {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

check () { # NAME COMMAND...
  local name=$1 why
  shift
  if why=$("$@" 2>&1); then
    ok "$name"
  else
    not_ok "$name" "$*" "${why:0:2000}"
    sed 's/^/# out: /' "$dir/$case.out" | head -n 20
    sed 's/^/# err: /' "$dir/$case.err" | head -n 40
  fi
}

events () {
  cat "$dir/$case"/events-*.jsonl 2>/dev/null
}

# Every graph that was instantiated has a census that can be read, with the number of nodes that the event says.
every_graph_is_there () {
  local instantiated files
  instantiated=$(events | grep -c '"event":"instantiate".*"graph":')
  files=$(find "$dir/$case" -name 'graph-*.json' | wc -l)
  [[ $instantiated -eq $files && $files -ge ${1:-1} ]] || { echo "$instantiated instantiated, $files files"; return 1; }
  for file in "$dir/$case"/graph-*.json; do
    "$tool" show "$file" > /dev/null || return 1
  done
}

nothing_unread () {
  ! events | grep '"census_error"'
}

says () {
  grep -q -e "$1" "$dir/$case.err" || { echo "the summary does not say: $1"; return 1; }
}

prints () {
  grep -q -e "$1" "$dir/$case.out" || { echo "the program did not print: $1"; return 1; }
}

# The first line about a broken capture has a function in it.
culprit_is_named () {
  says 'broken by cu[A-Za-z0-9_]* (9[0-9][0-9]' && ! grep -q 'a call that was not seen' "$dir/$case.err"
}

same_words () {
  diff <(sed 's/[0-9.]* s$//' "$dir/$case.plain") <(sed 's/[0-9.]* s$//' "$dir/$case.out")
}

# record CASE OPTION... -- COMMAND...: without and with the recorder.
record () {
  case=$1
  shift
  local options=()
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  rm -rf "${dir:?}/$case"
  "$@" > "$dir/$case.plain" 2> "$dir/$case.plain-err" < /dev/null
  local plain=$?
  "$tool" record -o "$dir/$case" "${options[@]}" -- "$@" > "$dir/$case.out" 2> "$dir/$case.err" < /dev/null
  local status=$?
  check "$case: exit status" test "$status" = "$plain"
  check "$case: the program says what it always says" same_words
  check "$case: everything could be read" nothing_unread
}

has () { # MODULE
  "$python" -c "import $1" > /dev/null 2>&1
}

if ! "$tool" info --driver cuda > /dev/null 2>&1; then
  echo "1..0 # SKIP no GPU"
  exit 0
fi

if has torch && "$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2> /dev/null; then
  torch=("$python" "$here/record-torch.py")

  record torch-graph --launches -- "${torch[@]}" graph
  check 'torch-graph: two graphs' every_graph_is_there 2
  check 'torch-graph: launches' says '40 launches'
  check 'torch-graph: kernels with names' grep -q -r '"demangled":".*gemm\|"demangled":"void ' "$dir/torch-graph"

  for broken in scalar thread; do
    record "torch-$broken" -- "${torch[@]}" "$broken"
    check "torch-$broken: it was broken" prints '^broken:'
    check "torch-$broken: the culprit is named" culprit_is_named
  done
  case=torch-scalar
  check 'torch-scalar: the synchronise of the scalar read' says 'broken by cuStreamSynchronize (900'
  check 'torch-scalar: the stack leads to the scalar read' grep -q '_local_scalar_dense' <(events)
  check 'torch-scalar: the good capture is there' every_graph_is_there 1
  case=torch-thread
  check 'torch-thread: on another thread' says 'on another thread'

  # Whether this breaks depends on the version; if it does, the culprit must be named.
  record torch-gemm -- "${torch[@]}" gemm
  if grep -q '^broken' "$dir/torch-gemm.out"; then
    check 'torch-gemm: the culprit is named' culprit_is_named
  else
    check 'torch-gemm: nothing is blamed' says ', 0 broken'
  fi

  record torch-callables -- "${torch[@]}" callables
  check 'torch-callables: forward and backward' every_graph_is_there 2

  record torch-nodes -- "${torch[@]}" nodes
  check 'torch-nodes: three graphs' every_graph_is_there 3
  # shellcheck disable=SC2016
  check 'torch-nodes: as many nodes as PyTorch has' \
    diff <(sed -n 's/^nodes: //p' "$dir/torch-nodes.out") \
         <(events | sed -n 's/.*"event":"instantiate".*"nodes":\([0-9]*\).*/\1/p' | paste -s -d ' ')

  if has triton; then
    record torch-triton -- "${torch[@]}" triton
    check 'torch-triton: one graph' every_graph_is_there 1
    check 'torch-triton: with the kernel' grep -q -r 'memra_triton_add' "$dir/torch-triton"
    record torch-compile -- "${torch[@]}" compile
    check 'torch-compile: graphs' every_graph_is_there 1
  else
    skip 'torch-triton and torch-compile' 'no triton'
  fi

  record torch-profiler -- "${torch[@]}" profiler
  check 'torch-profiler: both work' prints 'the profiler saw kernels: True'
  check 'torch-profiler: the graph is there' every_graph_is_there 1

  # The price: the best of three, side by side, phase by phase.
  phases=('import' 'until the first graph' '100 captures' '50 replays')
  declare -A plain_best recorded_best
  lower () { awk -v a="$1" -v b="$2" 'BEGIN { print (b != "" && b < a) ? b : a }'; }
  phase_of () { sed -n "s/^$1: \(.*\) s\$/\1/p" "$2"; }
  for _ in 1 2 3; do
    record torch-many -- "${torch[@]}" many
    for phase in "${phases[@]}"; do
      plain_best[$phase]=$(lower "${plain_best[$phase]:-99}" "$(phase_of "$phase" "$dir/torch-many.plain")")
      recorded_best[$phase]=$(lower "${recorded_best[$phase]:-99}" "$(phase_of "$phase" "$dir/torch-many.out")")
    done
  done
  for phase in "${phases[@]}"; do
    echo "# $phase: ${plain_best[$phase]} s without, ${recorded_best[$phase]} s with the recorder"
  done
  check 'torch-many: 100 graphs' every_graph_is_there 100
  at_most () { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { print b / a; exit !(b <= most * a) }'; }
  check 'replays cost at most 1.01 times as much' at_most "${plain_best[50 replays]}" "${recorded_best[50 replays]}" 1.01
  case=torch-many
  whole () { local begin=$EPOCHREALTIME; "$@" > /dev/null 2>&1 < /dev/null; awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'; }
  plain=99 recorded=99
  for _ in 1 2 3; do
    plain=$(lower "$plain" "$(whole "${torch[@]}" many)")
    rm -rf "$dir/price"
    recorded=$(lower "$recorded" "$(whole "$tool" record -o "$dir/price" -- "${torch[@]}" many)")
  done
  echo "# the whole program: $plain s without, $recorded s with the recorder"
  check 'the whole program costs at most 1.2 times as much' at_most "$plain" "$recorded" 1.2

  # Two processes on one GPU, one of them killed in the middle.
  case=torch-killed
  rm -rf "${dir:?}/$case"
  # shellcheck disable=SC2016
  "$tool" record -o "$dir/$case" --launches -- bash -c '
    "$@" graph & victim=$!
    "$@" graph & other=$!
    for _ in $(seq 600); do compgen -G "$0/graph-*.json" > /dev/null && break; sleep 0.05; done
    kill -KILL $victim; wait $other' "$dir/$case" "${torch[@]}" > "$dir/$case.out" 2> "$dir/$case.err"
  check 'torch-killed: what is there is whole' every_graph_is_there 1
  check 'torch-killed: no part of a file' test -z "$(find "$dir/$case" -name '.*.part')"
else
  skip 'PyTorch' 'no PyTorch that sees a GPU'
fi

if has cupy && "$python" -c 'import cupy, sys; sys.exit(cupy.cuda.runtime.getDeviceCount() < 1)' 2> /dev/null; then
  record cupy-graph --launches -- "$python" "$here/record-cupy.py" graph
  check 'cupy-graph: one graph' every_graph_is_there 1
  check 'cupy-graph: launches' says '20 launches'
  record cupy-scalar -- "$python" "$here/record-cupy.py" scalar
  check 'cupy-scalar: it was broken' prints '^broken:'
  check 'cupy-scalar: the culprit is named' culprit_is_named
else
  skip 'CuPy' 'no CuPy that sees a GPU'
fi

if has jax && "$python" -c 'import jax, sys; sys.exit(jax.default_backend() != "gpu")' 2> /dev/null; then
  record jax --launches -- "$python" "$here/record-jax.py"
  check 'jax: the result is right' prints 'the result is right'
  check 'jax: a graph' every_graph_is_there 1
else
  skip 'JAX' 'no JAX that sees a GPU'
fi

if has numba.cuda && "$python" -c 'from numba import cuda; import sys; sys.exit(not cuda.is_available())' 2> /dev/null; then
  record numba --launches -- "$python" "$here/record-numba.py"
  check 'numba: one graph' every_graph_is_there 1
  check 'numba: with the kernel' grep -q -r 'memra_numba_add_one' "$dir/numba"
  check 'numba: launches' says '5 launches'
else
  skip 'Numba' 'no Numba that sees a GPU'
fi

echo "1..$n"
[[ $failed -eq 0 ]]
