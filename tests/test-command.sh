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
for command in info demo show diff check; do
  run $command --help
  expect "help of $command" status=0 quiet out="memra-capture $command [OPTION...]" out=--json
done
run dot --help
expect 'help of dot' status=0 quiet out='memra-capture dot [OPTION...] FILE' out=--svg out=--output
n=$((n + 1))
if wide=$(for command in '' info demo show diff check dot report; do "$tool" $command --help; done | awk 'length > 80') && [ -z "$wide" ]; then
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

run demo --driver "$driver" --gate
expect 'demo --gate' status=0 quiet plain out='PASS      liveness: ' out='PASS      arguments: ' out='PASS      replay: ' \
  out='PASS      sequence: 4 launches of all layers'
run demo --driver "$driver" --gate --corrupt
expect 'every check of demo --gate can fail' status=1 quiet out='FAIL      liveness: layer 0' \
  out='FAIL      arguments: layer 0' out='FAIL      replay: layer 0 gate: red' out='FAIL      sequence: sequence gate: red'
run demo --driver "$driver" --gate --layers 1 --replays 1 --json
expect 'demo --gate as JSON' status=0 out='"layers":1,"checks":[{"name":"liveness","pass":true' out='],"pass":true}'
run demo --driver "$driver" --gate --corrupt --json
expect 'demo --gate --corrupt as JSON' status=1 out='{"name":"sequence","pass":false' out='],"pass":false}'

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

# ---- diff ----

other=$dir/new/census/layer-001.json
grid () { # X FILE: a census with another grid for its second kernel
  awk -v x="$1" '/"grid":\[/ && ++n == 2 { sub(/"grid":\[[0-9]+/, "\"grid\":[" x) } { print }' "$census" >"$2"
}
grid 7777 "$dir/grid.json"
grid 8888 "$dir/grid2.json"
run diff "$census" "$census"
expect 'no difference' status=0 quiet plain out='equal: 20 nodes'
run diff "$census" "$other"
expect 'the number of a layer is no difference' status=0 quiet out=equal
run diff "$census" "$dir/grid.json"
expect 'a difference' status=1 quiet plain out='~ memra_dsv4_matvec: grid' out='-> 7777x1x1 (at 1)' out='1 changed'
run diff --json "$census" "$census"
expect 'no difference as JSON' status=0 quiet out='"equal":true' out='"changes":[]' out='"nodes":20' out=layer-000.json
run diff --json "$census" "$dir/grid.json"
expect 'a difference as JSON' status=1 quiet out='"equal":false' out='"added":0,"removed":0,"moved":0,"changed":1' \
  out='"change":"changed","message":"Kernel 1 memra_dsv4_matvec changed: grid' out=grid.json
cp "$dir/out" "$dir/diff.json"
status=0
"$tool" diff "$census" - <"$dir/grid.json" >"$dir/out" 2>"$dir/err" || status=$?
expect 'diff with standard input' status=1 quiet out='1 changed'
printf '{"copies":[],"edges":{"list":[],"normal":0,"programmatic":0},"format":"memra-capture-census","hazards":[],"kernels":[],"layer":0,"nodes":{},"others":[],"version":1}' >"$dir/empty.json"
run diff "$dir/empty.json" "$census"
expect 'everything added' status=1 quiet out='+ memra_dsv4_attention (at 7)' out='20 added'
run diff "$census" "$dir/empty.json"
expect 'everything removed' status=1 quiet out='- memra_dsv4_rmsnorm (2 times, at 0, 10)' out='20 removed'
run diff "$dir/empty.json" "$dir/empty.json"
expect 'nothing at all' status=0 quiet out='equal: 0 nodes'
run diff "$census"
expect 'diff of one file' trouble err='2 arguments'
run diff
expect 'diff of no file' trouble err='2 arguments'
run diff "$census" "$census" "$census"
expect 'diff of three files' trouble err='2 arguments'
run diff - -
expect 'diff of standard input with itself' trouble err='only once'
run diff "$census" "$dir/nothing.json"
expect 'diff with a missing file' trouble err=nothing.json err='No such file'
run diff "$dir/truncated.json" "$census"
expect 'diff with a truncated file' trouble err=truncated.json
run diff --json "$dir/noise" "$census"
expect 'diff with noise' trouble err=noise
run diff --must-vary x "$census" "$census"
expect 'a rule without --arguments' trouble err=--arguments
run diff --frobnicate "$census" "$census"
expect 'unknown option of diff' trouble err=--frobnicate err='memra-capture diff --help'

run diff --arguments "$census" "$census"
expect 'nothing moved' status=0 quiet plain out='nothing moved between 2 captures'
run diff --arguments "$census" "$dir/grid.json"
expect 'something moved' status=1 quiet plain out='kernel 1 memra_dsv4_matvec grid: ' \
  out='-> 7777x1x1: frozen into the graph; replay will repeat' out='1 value moved between 2 captures'
run diff --arguments "$dir/grid.json" "$dir/grid2.json" "$dir/grid.json" "$dir/grid2.json"
expect 'two values take turns' status=1 quiet out='7777x1x1 -> 8888x1x1 -> 7777x1x1 -> 8888x1x1: alternating' out='4 captures'
run diff --arguments --must-vary memra_dsv4_matvec "$census" "$dir/grid.json"
expect 'what must vary did' status=0 quiet out='1 value moved' out='the rule holds'
run diff --arguments --must-vary memra_dsv4_matvec --must-not-vary '*rope*' --must-not-vary '*rope*:1' "$census" "$dir/grid.json"
expect 'all rules hold' status=0 quiet out='all 3 rules hold'
run diff --arguments --must-vary '*rope*' "$census" "$dir/grid.json"
expect 'what must vary did not' status=1 quiet out='broken: *rope* must vary, and did not'
run diff --arguments --must-not-vary '*matvec' "$census" "$dir/grid.json"
expect 'what must not vary did' status=1 quiet out='broken: *matvec must not vary: kernel 1 memra_dsv4_matvec grid'
run diff --arguments --must-not-vary 'memra_dsv4_roep' "$census" "$census"
expect 'a rule about nothing' status=1 quiet out='broken: memra_dsv4_roep names nothing'
run diff --arguments --json "$census" "$dir/grid.json"
expect 'arguments as JSON' status=1 quiet out='"kernel":1,"name":"memra_dsv4_matvec","occurrence":0,"message":"kernel 1' \
  out='"rules":0,"broken":[]' out='"ok":false'
run diff --arguments --json --must-vary '*matvec' --must-not-vary '*rope*' "$census" "$dir/grid.json"
expect 'rules as JSON' status=0 quiet out='"rules":2,"broken":[]' out='"ok":true'
run diff --arguments --json --must-not-vary '*' "$census" "$dir/grid.json"
expect 'broken rules as JSON' status=1 quiet out='"broken":["* must not vary: kernel 1' out='"ok":false'
run diff --arguments "$census" "$dir/empty.json"
expect 'captures of two layers' trouble err='not of the same layer' err='place 0'
run diff --arguments "$census"
expect 'arguments of one file' trouble err='at least 2'
run diff --arguments - "$census" -
expect 'arguments of standard input twice' trouble err='only once'
run diff --arguments "$census" "$dir/nothing.json"
expect 'arguments of a missing file' trouble err=nothing.json

# ---- check ----

printf '[Policy]\nVersion=1\n[Nodes]\nkernel=20\nmemcpy=0\n[Kernels]\n*attention=1\n' >"$dir/good.policy"
printf '[Policy]\nVersion=1\n[Nodes]\nkernel=..19\nmemcpy=1..\n[Kernels]\n*attention=0\n' >"$dir/bad.policy"
printf '[Policy]\nVersion=1\n[Nodes]\nkernel=20\nkernel=21\n' >"$dir/twice.policy"
run check --policy "$dir/good.policy" "$census"
expect 'as the policy wants' status=0 quiet plain out="$census: as the policy wants"
run check --policy "$dir/good.policy" "$census" "$other" "$dir/grid.json"
expect 'three files as the policy wants' status=0 quiet out='3 files: all as the policy wants'
run check --policy="$dir/bad.policy" "$census"
expect 'not as the policy wants: every mismatch is a line' status=1 quiet plain out="$census: 20 nodes of type" \
  out='at most 19 allowed' out='at least 1 wanted' out='none is allowed' no-out='as the policy wants'
run check --policy "$dir/good.policy" "$census" "$dir/empty.json"
expect 'one of two' status=1 quiet out="$dir/empty.json: the graph is empty" no-out="$census: " out='1 of 2 files'
run check --policy "$dir/good.policy" "$census" "$dir/nothing.json" "$dir/empty.json" "$dir/noise"
expect 'one that cannot be read among others' status=2 said out="$dir/empty.json: the graph" err=nothing.json err=noise
run check --json --policy "$dir/good.policy" "$census" "$dir/empty.json"
expect 'check as JSON' status=1 quiet out='"policy":"' out='"layer":0,"mismatches":[]' out='"mismatches":["the graph is empty' \
  out='"ok":false'
run check --json --policy "$dir/good.policy" "$census"
expect 'a good check as JSON' status=0 quiet out='"ok":true'
run check --json --policy "$dir/good.policy" "$dir/nothing.json"
expect 'a missing file as JSON' status=2 said out='"error":"' out='"ok":false' err=nothing.json
status=0
"$tool" check --policy "$dir/good.policy" - <"$census" >"$dir/out" 2>"$dir/err" || status=$?
expect 'check of standard input' status=0 quiet out='-: as the policy wants'
run check "$census"
expect 'check without a policy' trouble err=--policy
run check --policy "$dir/good.policy"
expect 'check without a file' trouble err='at least 1'
run check --policy "$dir/nothing.policy" "$census"
expect 'a missing policy' trouble err=nothing.policy err='No such file'
run check --policy "$dir/twice.policy" "$census"
expect 'a policy with a key twice' trouble err=twice.policy err='[Nodes] kernel' err=twice
run check --policy "$census" "$census"
expect 'a policy that is none' trouble err='no key file'
run check --policy "$dir" "$census"
expect 'a directory as policy' trouble err="$dir"
run check --policy
expect 'a policy that is not given' trouble err=--policy

# ---- dot ----

run dot "$census"
expect 'dot' status=0 quiet plain out='digraph memra {' out='memra_dsv4_attention' out='label="attention"'
cp "$dir/out" "$dir/picture.dot"
status=0
"$tool" dot - <"$census" >"$dir/out" 2>"$dir/err" || status=$?
expect 'dot of standard input' status=0 quiet same="$dir/picture.dot"
run dot -o - "$census"
expect 'dot to standard output by name' status=0 quiet same="$dir/picture.dot"
run dot -o "$dir/written.dot" "$census"
expect 'dot into a file' status=0 quiet silent file="$dir/written.dot"
cp "$dir/written.dot" "$dir/out"
expect 'which is the same' same="$dir/picture.dot"
run dot --output="$dir/written.dot" "$dir/empty.json"
expect 'dot over a file' status=0 quiet silent
cp "$dir/written.dot" "$dir/out"
expect 'which is replaced' out='0 nodes' no-out=attention
run dot "$dir/names.json"
expect 'a control character in a name does not come out' status=0 plain out='red'
run dot -o "$dir/no/such/place" "$census"
expect 'dot into nowhere' trouble err=such/place
run dot -o "$dir" "$census"
expect 'dot over a directory' trouble err="$dir"
run dot
expect 'dot without a file' trouble err='1 argument'
run dot "$census" "$census"
expect 'dot of two files' trouble err='1 argument'
run dot "$dir/nothing.json"
expect 'dot of a missing file' trouble err=nothing.json
run dot --svg "$dir/noise"
expect 'dot of noise' trouble err=noise

# A PATH on which what a wrapper of the program may want is, and no Graphviz but ours.
mkdir "$dir/bin"
for program in sh bash ls sed cat dirname basename expr mv rm mkdir chmod gcc ld env readlink realpath uname; do
  place=$(command -v $program) && ln -s "$place" "$dir/bin/$program"
done
on_path () { # ARGUMENT...: runs the program with that PATH
  status=0
  env PATH="$dir/bin" "$tool" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}
graphviz () { # COMMAND: what "dot" does
  printf '#!/bin/sh\n%s\n' "$1" >"$dir/bin/dot"
  chmod +x "$dir/bin/dot"
}
on_path dot --svg "$census"
expect 'no Graphviz' trouble err="'dot'" err=PATH err='apt-get install graphviz'
on_path dot "$census"
expect 'no Graphviz, and none wanted' status=0 quiet same="$dir/picture.dot"
graphviz 'if [ "$*" = -Tsvg ] && cat >"'"$dir"'/drawn"; then echo "<svg>done</svg>"; fi; echo "a warning" >&2'
on_path dot --svg "$census"
expect 'Graphviz draws' status=0 quiet out='<svg>done</svg>'
cp "$dir/drawn" "$dir/out"
expect 'what it was given' same="$dir/picture.dot"
on_path dot --svg -o "$dir/picture.svg" "$census"
expect 'Graphviz draws into a file' status=0 quiet silent file="$dir/picture.svg"
graphviz 'echo "no such font" >&2; exit 3'
on_path dot --svg -o "$dir/failed.svg" "$census"
expect 'Graphviz fails' trouble err='drew nothing' err='no such font'
if [ -e "$dir/failed.svg" ]; then status=there; else status=none; fi
expect 'and nothing is written' status=none
graphviz 'kill -9 $$'
on_path dot --svg "$census"
expect 'Graphviz is killed' trouble err='drew nothing'
graphviz 'echo hello'
on_path dot --svg "$census"
expect 'another program of that name' trouble err='drew nothing'
graphviz 'exec <&-; i=0; while [ $i -lt 20000 ]; do echo "<svg>0123456789012345678901234567890123456789</svg>"; i=$((i + 1)); done'
on_path dot --svg "$census"
expect 'Graphviz that reads nothing and writes much' status=0 quiet out='<svg>'
if command -v dot >/dev/null; then
  run dot --svg "$census"
  expect 'Graphviz itself' status=0 quiet out='<svg' out='memra_dsv4_attention'
else
  skip 'Graphviz itself' 'there is no Graphviz'
fi

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
