#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-command.sh [PROGRAM]: the memra-capture command from outside, as TAP. PROGRAM, else $MEMRA_CAPTURE, else the one
# of the build folder that this runs in. MEMRA_TEST_DRIVER=host (the default) or cuda says which driver demos run on.
set -u

tool=${1:-${MEMRA_CAPTURE:-./tools/memra-capture}}
driver=${MEMRA_TEST_DRIVER:-host}
LC_ALL=C
export LC_ALL
unset NO_COLOR TERM MEMRA_HOST_DRIVER_VERSION MEMRA_HOST_DEVICES MEMRA_HOST_FAULT MEMRA_HOST_SHUFFLE
n=0
failed=0
# What libtool's wrapper of the program and sanitizers may want stays; only the output's place is ours.
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

skip () {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

# run ARGUMENT...: runs the program; status in $status, output in $dir/out and $dir/err.
run () {
  status=0
  "$tool" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

holds () {
  case $1 in
    status=*) [ "$status" = "${1#*=}" ] ;;
    out=*) grep -qF -e "${1#*=}" "$dir/out" ;;
    err=*) grep -qF -e "${1#*=}" "$dir/err" ;;
    no-out=*) ! grep -qF -e "${1#*=}" "$dir/out" ;;
    silent) [ ! -s "$dir/out" ] ;;
    quiet) [ ! -s "$dir/err" ] ;;
    said) grep -q '^memra-capture: .' "$dir/err" && ! grep -qi 'critical\|warning\|sanitizer\|runtime error' "$dir/err" ;;
    plain) ! grep -q "$(printf '\033')" "$dir/out" ;;
    same=*) cmp -s "$dir/out" "${1#*=}" ;;
    file=*) [ -f "${1#*=}" ] ;;
    *) false ;;
  esac
}

# expect DESCRIPTION WHAT...: a test point about the last run. "trouble" is: nothing on standard output, exit status 2,
# a sentence on standard error.
expect () {
  n=$((n + 1))
  description=$1
  shift
  broken=
  for what; do
    case $what in
      trouble) holds status=2 && holds silent && holds said || broken="$broken $what" ;;
      *) holds "$what" || broken="$broken [$what]" ;;
    esac
  done
  if [ -z "$broken" ]; then
    echo "ok $n - $description"
    return
  fi
  failed=$((failed + 1))
  echo "not ok $n - $description"
  echo "# does not hold:$broken (exit status $status)"
  sed 's/^/# out: /' "$dir/out" | cut -c 1-300 | head -n 30
  sed 's/^/# err: /' "$dir/err" | cut -c 1-300 | head -n 30
}

if [ "$driver" = cuda ] && ! "$tool" info --driver cuda >/dev/null 2>&1; then
  echo "1..0 # SKIP no GPU here"
  exit 0
fi

# ---- Usage ----

run --help
expect 'help' status=0 quiet plain out='info ' out='demo ' out='show ' out='--version' out='Exit status'
run -h
expect 'help, short' status=0 quiet out='demo '
for command in info demo show; do
  run $command --help
  expect "help of $command" status=0 quiet out="memra-capture $command [OPTION...]" out=--json
done
n=$((n + 1))
if wide=$(for command in '' info demo show; do "$tool" $command --help; done | awk 'length > 80') && [ -z "$wide" ]; then
  echo "ok $n - help fits into 80 columns"
else
  failed=$((failed + 1))
  echo "not ok $n - help fits into 80 columns"
  echo "# $wide"
fi
run demo --help
expect 'help of demo tells of --corrupt' status=0 out='corrupt one value before the comparison' \
  out='to see the proof fail'
run --version
expect 'version' status=0 quiet out='memra-capture 0.'
run
expect 'no command' trouble err=--help
run frobnicate
expect 'unknown command' trouble err="'frobnicate'" err='memra-capture --help'
run --frobnicate
expect 'unknown option' trouble err=--frobnicate err='memra-capture --help'
run demo --frobnicate
expect 'unknown option of a command' trouble err=--frobnicate err='memra-capture demo --help'
run demo extra
expect 'an argument too many' trouble err="'extra'"
run show
expect 'show without a file' trouble err='FILE'
run show a b
expect 'show with two files' trouble err='1 argument'
run demo --driver gpu
expect 'no such driver' trouble err="'gpu'" err='auto, cuda and host'
run info --driver ''
expect 'an empty driver' trouble
for value in 0 -1 1001 2147483647; do
  run demo --driver host --layers=$value
  expect "--layers $value" trouble err='1 to 1000'
  run demo --driver host --replays=$value
  expect "--replays $value" trouble err='1 to 1000'
done
for value in abc 99999999999999999999 ''; do
  run demo --driver host --layers="$value"
  expect "--layers '$value'" trouble err=--layers
done
run demo --driver "$driver" --device 99
expect 'a device that is not there' trouble err='--device 99' err='counted from 0'
run demo --driver "$driver" --device=-1
expect 'a negative device' trouble err='--device -1'

# ---- info ----

run info
expect 'info exits 0 with and without a GPU' status=0 out=Version out=Host plain
run info --driver "$driver"
expect 'info' status=0 quiet plain out=Devices out='kernel-names' out='error-log' out='12.9'
run info --driver "$driver" --json
expect 'info as JSON' status=0 quiet out="\"kind\":\"$driver\"" out='"version":"0.' out='"host_driver":{"path":"/' \
  out='"kernels":{"available":true}'
host_directory=$(sed -n 's/.*"host_driver":{"path":"\(.*\)\/libcuda.so.1".*/\1/p' "$dir/out")
run info --driver cuda
if [ "$status" = 0 ]; then
  skip 'cuda on a machine without a GPU' 'there is a GPU'
  skip 'demo with cuda on a machine without a GPU' 'there is a GPU'
  skip 'auto falls back to the host driver' 'there is a GPU'
else
  expect 'cuda on a machine without a GPU' trouble err=libcuda.so.1 err='host driver'
  run demo --driver cuda
  expect 'demo with cuda on a machine without a GPU' trouble err='--driver host needs no GPU'
  run demo --layers 1 --replays 1 --json
  expect 'auto falls back to the host driver' status=0 said err='No CUDA driver' out='"kind":"host"'
fi

# ---- demo ----

run demo --driver "$driver"
expect 'demo' status=0 quiet plain out='layers 0-3: same census' out='memra_dsv4_attention' out='pre-drain' \
  out='completion' \
  out='ran exactly once' out='to position 4' out='replay equals eager, bit for bit' no-out=FAIL
wide=$(awk 'length > 80' "$dir/out" | head -n 1)
n=$((n + 1))
if [ -z "$wide" ]; then
  echo "ok $n - demo fits into 80 columns"
else
  failed=$((failed + 1))
  echo "not ok $n - demo fits into 80 columns"
  echo "# $wide"
fi
run demo --driver "$driver" --layers 1 --replays 1
expect 'demo of one layer' status=0 out='layer 0' out='1 decoder layer,' out='to position 2'
run demo --driver "$driver" --layers 3 --replays 70
expect 'more replays than the cache has positions by default' status=0 out='to position 71'
run demo --driver "$driver" --corrupt
expect 'a corrupted value fails the proof' status=1 quiet out=FAIL \
  out='layer 2, replay 3, hidden output, element 128' out=eager
run demo --driver "$driver" --corrupt --layers 1 --replays 1 --json
expect 'a corrupted value fails the proof as JSON' status=1 out='"replay_equals_eager":false' \
  out='"exactly_once":true' \
  out='"buffer":"hidden output"' out='"replay_bits":"0x' out='"failure":"layer 0, replay 1'

run demo --driver "$driver" --layers 2 --replays 3 --save "$dir/new/census" --json
expect 'demo as JSON' status=0 quiet out="{\"driver\":{\"kind\":\"$driver\",\"version\":1" \
  out='"layers":[{"layer":0,"executions":1,' \
  out='{"layer":1,"executions":1,' out='"replays":3' out='"replay_equals_eager":true' out='"format":"memra-capture-census"' \
  out='"timings":{"pre-drain":' no-out=failure
cp "$dir/out" "$dir/demo.json"
expect 'demo saves the censuses' file="$dir/new/census/layer-000.json" file="$dir/new/census/layer-001.json"
if [ "$(wc -l <"$dir/demo.json")" -eq 1 ]; then lines=one; else lines=several; fi
status=$lines
expect 'demo as JSON is one line' status=one
if python3 -c '' 2>/dev/null; then
  status=0
  python3 -c 'import json, sys
demo = json.load (open (sys.argv[1]))
assert [layer["census"] for layer in demo["layers"]] == [json.load (open (path)) for path in sys.argv[2:]]
assert all (layer["executions"] == 1 and len (layer["timings"]) == 7 for layer in demo["layers"])' \
    "$dir/demo.json" "$dir/new/census/layer-000.json" "$dir/new/census/layer-001.json" >"$dir/out" 2>"$dir/err" || status=$?
  expect 'demo as JSON parses, and holds the censuses that were saved' status=0
else
  skip 'demo as JSON parses, and holds the censuses that were saved' 'no python3'
fi
: >"$dir/plain-file"
run demo --driver "$driver" --save "$dir/plain-file"
expect 'saving into a file' trouble err=plain-file err='directory'
run demo --driver "$driver" --save "$dir/plain-file/x"
expect 'saving below a file' trouble err=plain-file
mkdir "$dir/taken" "$dir/taken/layer-000.json"
run demo --driver "$driver" --layers 1 --save "$dir/taken"
expect 'saving over a directory' status=2 said err=layer-000.json

# ---- show ----

census=$dir/new/census/layer-000.json
run show "$census"
expect 'show' status=0 quiet plain out=memra_dsv4_rmsnorm out=kernel
cp "$dir/out" "$dir/shown"
run show --json "$census"
expect 'show as JSON gives the file, byte for byte' status=0 quiet same="$census"
status=0
"$tool" show - <"$census" >"$dir/out" 2>"$dir/err" || status=$?
expect 'show standard input' status=0 quiet same="$dir/shown"
run show -- "$census"
expect 'show after --' status=0 same="$dir/shown"
run show "$dir/nothing.json"
expect 'a missing file' trouble err=nothing.json err='No such file'
run show "$dir"
expect 'a directory' trouble err="$dir"
dd if="$census" of="$dir/truncated.json" bs=200 count=1 2>/dev/null
run show "$dir/truncated.json"
expect 'a truncated file' trouble err=truncated.json
status=0
"$tool" show - <"$dir/truncated.json" >"$dir/out" 2>"$dir/err" || status=$?
expect 'a truncated standard input' trouble err='tandard input'
run show -
expect 'an empty standard input' trouble err='tandard input'
status=0
"$tool" show - <"$dir" >"$dir/out" 2>"$dir/err" || status=$?
expect 'a directory as standard input' trouble
status=0
"$tool" show - <&- >"$dir/out" 2>"$dir/err" || status=$?
expect 'a closed standard input' trouble
run show "$dir/plain-file"
expect 'an empty file' trouble err=plain-file
dd if=/dev/urandom of="$dir/noise" bs=4096 count=1 2>/dev/null
run show "$dir/noise"
expect 'noise' trouble err=noise
echo '{"hello":"world"}' >"$dir/other.json"
run show "$dir/other.json"
expect 'other JSON' trouble err=other.json err=format
sed 's/"version" *: *1\([^0-9]\)/"version":99\1/' "$census" >"$dir/future.json"
run show "$dir/future.json"
expect 'a later version of the format' trouble err=future.json err=99
run show "$dir/$(printf 'k\303\244se\377.json')"
expect 'a file name that is no UTF-8' trouble err='No such file'
umlaut=$(printf 'k\303\244se')
sed "s/memra_dsv4_attention/\\\\u001b[31mred/; s/memra_dsv4_route/$umlaut/" "$census" >"$dir/names.json"
run show "$dir/names.json"
expect 'a control character in a name is made visible' status=0 plain out='\x1b[31mred'
status=0
LC_ALL=C.UTF-8 "$tool" show "$dir/names.json" >"$dir/out" 2>"$dir/err" || status=$?
expect 'a name in UTF-8' status=0 plain quiet out="$umlaut"

# ---- Output that cannot be written ----

# closed_pipe ARGUMENT...: runs the program into a pipe that nobody reads any more.
closed_pipe () {
  : >"$dir/out"
  { sleep 1; code=0; "$tool" "$@" 2>"$dir/err" </dev/null || code=$?; echo "$code" >"$dir/status"; } | :
  status=$(cat "$dir/status")
}
closed_pipe --help
expect 'help into a closed pipe' status=0 quiet
closed_pipe demo --driver "$driver"
expect 'demo into a closed pipe' status=0 quiet
closed_pipe demo --driver "$driver" --json --corrupt
expect 'a failed demo into a closed pipe' status=1 quiet
if [ -c /dev/full ]; then
  status=0
  "$tool" show "$census" >/dev/full 2>"$dir/err" || status=$?
  : >"$dir/out"
  expect 'output onto a full disk' status=2 said err='standard output'
else
  skip 'output onto a full disk' 'no /dev/full'
fi

# ---- The host driver's settings ----

# with VARIABLE=VALUE ARGUMENT...: one setting in the environment.
with () {
  setting=$1
  shift
  status=0
  env "$setting" "$tool" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

if [ -n "$host_directory" ]; then
  path=$host_directory${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  with LD_LIBRARY_PATH="$path" demo --layers 1 --replays 1 --json
  expect 'auto takes the libcuda.so.1 that is found' status=0 quiet out='"kind":"host"'
  with LD_LIBRARY_PATH="$path" demo --driver cuda
  expect 'cuda does not take the host driver' trouble err='LD_LIBRARY_PATH'
fi
with MEMRA_HOST_DEVICES=2 demo --driver host --device 1 --layers 1 --replays 1
expect 'the second of two devices' status=0 out='1: '
with MEMRA_HOST_DEVICES=2 info --driver host
expect 'info of two devices' status=0 out='0: ' out='1: '
with MEMRA_HOST_DEVICES=0 demo --driver host
expect 'no device' trouble err=device
with MEMRA_HOST_DRIVER_VERSION=11040 info --driver host
expect 'info of an old driver' status=0 quiet out=11.4 out='no  kernel-names'
for version in 11040 12040 13020; do
  with MEMRA_HOST_DRIVER_VERSION=$version demo --driver host --layers 2 --json
  expect "demo on driver version $version" status=0 quiet out="\"version\":$version" out='"replay_equals_eager":true'
done
with MEMRA_HOST_SHUFFLE=7 demo --driver host
expect 'demo with the nodes in another legal order' status=0 quiet
with MEMRA_HOST_FAULT=cuInit:1:999 demo --driver host
expect 'a driver that does not start' trouble err=999
with MEMRA_HOST_FAULT=cuStreamEndCapture:1:901 demo --driver host --json
expect 'a capture that fails' status=1 silent said err='layer 0 capture end' err='(901)'
with MEMRA_HOST_FAULT=cuGraphLaunch:6:719 demo --driver host --json
expect 'a replay that fails' status=1 silent said err='layer 1' err='replay' err='(719)'

echo "1..$n"
[ "$failed" -eq 0 ]
