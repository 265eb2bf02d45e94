#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-hostile-files.sh [PROGRAM]: census, policy and events files that mean harm or are broken, given to the command,
# as TAP: an error that names the file and the place in it, in little memory and time. tests/test-hostile.c has more of
# them, given to the library. PROGRAM, else $MEMRA_CAPTURE, else the one of the build folder that this runs in.
set -u

tool=${1:-${MEMRA_CAPTURE:-./tools/memra-capture}}
LC_ALL=C
export LC_ALL
n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

# What address space there is for a run, in KiB. A sanitizer wants all of it.
room=262144
if ! sh -c 'ulimit -v "$1" && "$2" --version' sh $room "$tool" >/dev/null 2>&1; then
  room=unlimited
fi

# run ARGUMENT...: runs the program; status in $status, output in $dir/out and $dir/err. Standard input is $input.
input=/dev/null
run () {
  status=0
  # shellcheck disable=SC2016
  timeout 60 sh -c 'ulimit -v "$1" && shift && exec "$@"' sh "$room" "$tool" "$@" \
    >"$dir/out" 2>"$dir/err" <"$input" || status=$?
}

# refused DESCRIPTION PLACE WHAT: the last run ended with a sentence in which that stands, in this order.
refused () {
  n=$((n + 1))
  if [ "$status" -gt 0 ] && [ "$status" -le 2 ] && grep -qF -e "$2$3" "$dir/err" && grep -q '^memra-capture: ' "$dir/err" \
    && ! grep -qi 'critical\|warning\|sanitizer\|runtime error' "$dir/err"; then
    echo "ok $n - $1"
    return
  fi
  failed=$((failed + 1))
  echo "not ok $n - $1"
  echo "# exit status $status; wanted: $2$3"
  sed 's/^/# err: /' "$dir/err" | cut -c 1-300 | head -n 30
}

skip () {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

census=$dir/census.json
policy=$dir/layer.policy
record=$dir/record
events=$record/events-7.jsonl
mkdir "$record"

# An empty census, in two parts; the second begins with a comma.
head='{"copies":[],"edges":{"list":[],"normal":0,"programmatic":0},"format":"memra-capture-census","hazards":[],"version":1'
tail=',"kernels":[],"nodes":{},"others":[]}'
process='{"event":"process","format":"memra-capture-events","version":1,"time_us":5,"pid":7}'

# ---- A gigabyte ----

truncate -s 1G "$dir/gigabyte" 2>/dev/null || dd if=/dev/zero of="$dir/gigabyte" bs=1 count=0 seek=1073741824 2>/dev/null
for command in show dot 'check --policy policy'; do
  echo '[Policy]
Version=1' >"$dir/policy"
  # shellcheck disable=SC2086
  run $(printf '%s' "$command" | sed "s|policy\$|$dir/policy|") "$dir/gigabyte"
  refused "a census of a gigabyte: ${command%% *}" 'gigabyte: ' 'the file has more than 512 MiB, the most that is read'
done
run diff "$dir/gigabyte" "$dir/gigabyte"
refused 'a census of a gigabyte: diff' 'gigabyte: ' 'the file has more than 512 MiB'
run check --policy "$dir/gigabyte" "$census"
refused 'a policy of a gigabyte' 'gigabyte: ' 'the file has more than 1 MiB, the most that is read'
if [ "$room" = unlimited ]; then
  skip 'a gigabyte on standard input' 'a sanitizer keeps all of it'
else
  input=$dir/gigabyte
  room=2097152
  run show -
  refused 'a gigabyte on standard input' 'Standard input' ' is larger than any census (512 MiB)'
  input=/dev/null
  room=262144
fi
ln -s ../gigabyte "$events"
run compare "$record"
refused 'events of a gigabyte' 'events-7.jsonl: line 1: ' 'longer than any event'
rm "$events"
ln -s ../gigabyte "$record/graph-7-1.json"
run compare "$record"
refused 'a recorded census of a gigabyte' 'graph-7-1.json: ' 'it has more than 512 MiB, the most that is read'
printf '%s\n' "$process" '{"event":"instantiate","graph":1}' >"$events"
rm "$record/graph-7-1.json"
cp --sparse=always "$dir/gigabyte" "$record/launches-7.counts" 2>/dev/null || ln -s ../gigabyte "$record/launches-7.counts"
printf 'MEMRALC1' | dd of="$record/launches-7.counts" conv=notrunc 2>/dev/null
run compare "$record"
refused 'counters of a gigabyte' 'Graph 1 of process 7' ' has no census'
rm -f "$record"/*

# ---- Many ----

{
  echo "$process"
  seq 200000 -1 1 | sed 's/.*/{"event":"instantiate","graph":&}/'
  seq 200000 -1 1 | sed 's/.*/{"event":"launches","graph":&,"count":1}/'
} >"$events"
run compare "$record"
refused 'many graphs, and their launches, from the last to the first' 'Graph 1 of process 7' ' has no census'

# ---- A census ----

# census WHAT: makes a census file of a text.
census () {
  printf '%s' "$1" >"$census"
  run show "$census"
}

nested=$(head -c 100000 /dev/zero | tr '\0' '[')
census "$head,\"layer\":$nested"
refused 'a census that is nested deeply' 'census.json: Line 1, position ' '142: nested deeper than any census'
census "$head,\"layer\":\"three\"$tail"
refused 'a census with text for a number' 'census.json: layer ' 'is a string, wanted an integer from 0 to 4294967295'
census "$head,\"layer\":0,\"kernels\":{},\"nodes\":{},\"others\":[]}"
refused 'a census with an object for a list' 'census.json: ' 'kernels'
census "$head,\"layer\":0,\"nodes\":{\"kernel\":1},\"others\":[],\"kernels\":[{\"args\":[],\"block\":[1,1],\"demangled\":\"k\",\"depth\":0,\"grid\":[1,1,1],\"name\":\"k\",\"node\":0,\"section\":null,\"shared\":0}]}"
refused 'a census with two numbers for three' 'census.json: kernels[0].block ' 'has 2 items, wanted 3'
census "$head,\"layer\":4294967296$tail"
refused 'a census with a number out of range' 'census.json: layer ' 'is 4294967296, wanted an integer from 0 to 4294967295'
census "$head,\"layer\":18446744073709551617$tail"
refused 'a census with a number that no integer can hold' 'census.json: Line 1, position ' '127: an integer that is out of range'
census "$head,\"layer\":-1$tail"
refused 'a census with a negative number' 'census.json: layer ' 'is -1, wanted an integer'
census "$(printf '%s,\n"layer":0,"kernels":[],\n"nodes":{"\303\050":1},"others":[]}' "$head")"
refused 'a census that is not UTF-8' 'census.json: Line 3, position ' '11: not UTF-8'
census "$(printf '%s,"layer":0%s' "$head" "$tail" | head -c 100)"
refused 'a census that was cut off' 'census.json: Line 1, position ' '94: a string has no end'
: >"$census"
run show "$census"
refused 'an empty census' 'census.json: ' 'Line 1, position 1: '

# ---- A policy ----

census "$head,\"layer\":0$tail"
policy () {
  printf '[Policy]\nVersion=1\n%b' "$1" >"$policy"
  run check --policy "$policy" "$census"
}

policy '[Nodes]\nkernel=many\n'
refused 'a policy with text for a number' 'layer.policy: [Nodes] kernel: ' 'wants a number, or bounds'
policy 'AllowEmpty=7\n'
refused 'a policy with a number for a yes or no' 'layer.policy: [Policy] AllowEmpty: ' 'wants true or false'
policy '[Nodes]\nkernel=4294967296\n'
refused 'a policy with a number out of range' 'layer.policy: [Nodes] kernel: ' 'wants a number, or bounds'
policy '[Nodes]\nkernel=5..3\n'
refused 'a policy with bounds the wrong way round' 'layer.policy: [Nodes] kernel: ' 'wants a number, or bounds'
policy '[Kernels]\nk\0303\0050*=1\n'
refused 'a policy that is not UTF-8' 'layer.policy: Line 4: ' 'the policy is not UTF-8 text'
policy '[Kernels'
refused 'a policy that was cut off' 'layer.policy: Line 3: ' 'the policy is no key file: '
policy "[Kernels]\n$nested=1\n"
refused 'a policy full of brackets' 'layer.policy: Line 4: ' 'the policy is no key file: '

# ---- Events ----

events () {
  rm -f "$record"/*
  printf '%s\n' "$process" "$@" >"$events"
  run compare "$record"
}

events '{"event":"begin","capture":1}' "{\"event\":$nested"
refused 'events that are nested deeply' 'events-7.jsonl: line 3: ' 'nested deeper than any event'
events '{"event":7}'
refused 'an event with a number for its name' 'events-7.jsonl: line 2: ' 'there is no "event"'
events '["event"]'
refused 'an event that is a list' 'events-7.jsonl: line 2: ' 'this is no JSON object'
events '{"event":"launches","graph":1,"count":99999999999999999999'
refused 'an event that was cut off in the middle of the file' 'events-7.jsonl: line 2: ' ''
events "$(printf '{"event":"\303\050"}')"
refused 'events that are not UTF-8' 'events-7.jsonl: line 2: ' ''
printf '%s\n' '{"event":"process","format":"memra-capture-events","version":18446744073709551617}' >"$events"
run compare "$record"
refused 'events with a version out of range' 'events-7.jsonl: line 1: ' ''

echo "1..$n"
[ "$failed" -eq 0 ]
