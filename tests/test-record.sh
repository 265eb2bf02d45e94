#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-record.sh [PROGRAM]: memra-capture record and compare from outside, as TAP. PROGRAM, else $MEMRA_CAPTURE, else the
# one of the build folder that this runs in. MEMRA_TEST_DRIVER=host (the default) or cuda says which driver the recorded
# programs find.
set -u

tool=${1:-${MEMRA_CAPTURE:-./tools/memra-capture}}
driver=${MEMRA_TEST_DRIVER:-host}
build=${G_TEST_BUILDDIR:-.}
LC_ALL=C
# A program with the address sanitizer complains of being preloaded into; the recorder does not touch what it guards.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0:detect_leaks=0
export LC_ALL ASAN_OPTIONS
unset NO_COLOR TERM LD_PRELOAD RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID
unset MEMRA_RECORD_DIR MEMRA_HOST_DRIVER_VERSION MEMRA_HOST_DEVICES MEMRA_HOST_FAULT MEMRA_HOST_SHUFFLE
n=0
failed=0
dir=$(mktemp -d) || exit 99
dir=$(cd "$dir" && pwd -P)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

first_of () {
  for file in "$@"; do
    if [ -e "$file" ]; then
      echo "$(cd "$(dirname "$file")" && pwd)/$(basename "$file")"
      return
    fi
  done
}

program=$(first_of "$build/tests/record-program")
loader=$(first_of "$build/tests/record-loader")
linked=$(first_of "$build/tests/.libs/record-linked" "$build/tests/record-linked")
plugin=$(first_of "$build/tests/.libs/record-plugin.so" "$build/tests/record-plugin.so")
plugin_linked=$(first_of "$build/tests/.libs/record-plugin-linked.so" "$build/tests/record-plugin-linked.so")
preloaded=$(first_of "$build/tests/.libs/record-preloaded.so" "$build/tests/record-preloaded.so")
unrelated=$(first_of "$build/tests/.libs/record-unrelated.so" "$build/tests/record-unrelated.so")
abi=$(first_of "$build/tests/record-abi")
old=$(first_of "$build/tests/record-old/.libs/libcuda.so.1")
host=$(first_of "$build/lib/host/.libs/libcuda.so.1" "$build/lib/memra-capture/host/libcuda.so.1")
host_kernels=$(first_of "$build/tests/conformance/.libs/host-kernels.so" "$build/tests/conformance/host-kernels.so")
library_path=${LD_LIBRARY_PATH:-}

# What a capture is made of: on a GPU there is no module that could be loaded.
op=fill
kernels=0
if [ "$driver" = host ]; then
  LD_LIBRARY_PATH=$(dirname "$host")${library_path:+:$library_path}
  RECORD_TEST_MODULE=$host_kernels
  export LD_LIBRARY_PATH RECORD_TEST_MODULE
  op=kernel
  kernels=1
fi

pass () {
  n=$((n + 1))
  echo "ok $n - $1"
}

skip () {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

# expect DESCRIPTION WHAT...: a test point about the last run.
expect () {
  description=$1
  shift
  broken=
  for what; do
    holds "$what" || broken="$broken [$what]"
  done
  if [ -z "$broken" ]; then
    pass "$description"
    return
  fi
  n=$((n + 1))
  failed=$((failed + 1))
  echo "not ok $n - $description"
  echo "# does not hold:$broken (exit status $status)"
  sed 's/^/# out: /' "$dir/out" | cut -c 1-300 | head -n 30
  sed 's/^/# err: /' "$dir/err" | cut -c 1-400 | head -n 30
  cat "$record"/events-*.jsonl 2>/dev/null | sed 's/^/# event: /' | cut -c 1-400 | head -n 40
}

count_files () {
  set -- "$record"/$1
  if [ -e "$1" ]; then echo $#; else echo 0; fi
}

holds () {
  case $1 in
    status=*) [ "$status" = "${1#*=}" ] ;;
    out=*) grep -qF -e "${1#*=}" "$dir/out" ;;
    err=*) grep -qF -e "${1#*=}" "$dir/err" ;;
    no-out=*) ! grep -qF -e "${1#*=}" "$dir/out" ;;
    no-err=*) ! grep -qF -e "${1#*=}" "$dir/err" ;;
    silent) [ ! -s "$dir/out" ] ;;
    quiet) [ ! -s "$dir/err" ] ;;
    same) cmp -s "$dir/out" "$dir/plain" ;;
    event=*) cat "$record"/events-*.jsonl 2>/dev/null | grep -qF -e "${1#*=}" ;;
    no-event=*) ! cat "$record"/events-*.jsonl 2>/dev/null | grep -qF -e "${1#*=}" ;;
    graphs=*) [ "$(count_files 'graph-*.json')" = "${1#*=}" ] ;;
    processes=*) [ "$(count_files 'events-*.jsonl')" = "${1#*=}" ] ;;
    # Nothing but whole files: no part of one, no counters that were not read.
    whole) [ -z "$(ls -A "$record" | grep -v '^graph-[0-9.]*-[0-9]*\.json$\|^events-[0-9.]*\.jsonl$')" ] ;;
    empty) [ -d "$record" ] && [ -z "$(ls -A "$record")" ] ;;
    gone) [ ! -e "$record" ] ;;
    readable) for file in "$record"/graph-*.json; do "$tool" show "$file" >/dev/null 2>&1 || return 1; done ;;
    no) false ;;
    *) echo "# what is $1?"; false ;;
  esac
}

record=$dir/none

# fresh: a folder for the next record.
fresh () {
  record=$dir/record-$((n + 1))
}

# recorded [OPTION...] -- COMMAND...: into a folder of its own.
recorded () {
  fresh
  into "$@"
}

# into [OPTION...] -- COMMAND...: into $record.
into () {
  status=0
  "$tool" record -o "$record" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

# plainly COMMAND...: the same without a recorder, for comparison.
plainly () {
  "$@" >"$dir/plain" 2>/dev/null </dev/null || :
}

run () {
  status=0
  "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

if ! "$program" lookup=proc2 >/dev/null 2>"$dir/err"; then
  echo "1..0 # SKIP $(head -n 1 "$dir/err")"
  exit 0
fi

# ---- The command itself ----

run "$tool" record --help
expect 'help' status=0 quiet out='-o, --output=DIR' out=--launches out=--stacks out='--check=POLICY'
fresh
run "$tool" record -o "$record"
expect 'no command' status=2 silent err='No command to record was given' gone
run "$tool" record --frobnicate -- true
expect 'unknown option' status=2 silent err=--frobnicate
recorded true --frobnicate
expect 'options after the command are its own' status=0 empty
recorded -- /bin/true
expect 'a program without CUDA leaves nothing' status=0 silent err='Nothing to record' empty
recorded -- "$dir/nothing-there"
expect 'a command that is not there' status=127 silent err='No such file or directory' gone
: >"$dir/plain-file"
recorded -- "$dir/plain-file"
expect 'a command that cannot be run' status=126 silent err='Permission denied' gone
record=$dir/plain-file
into -- true
expect 'a file in place of the folder' status=2 silent err='no directory'
record=$dir/plain-file/below
into -- true
expect 'a folder below a file' status=2 silent err="$record"
mkdir "$dir/target"
ln -s target "$dir/link"
record=$dir/link
into -- sh -c 'echo ran'
expect 'a symbolic link in place of the folder' status=2 silent err='symbolic link'
record=$dir/dangling
ln -s nowhere "$record"
into -- sh -c 'echo ran'
expect 'a dangling link in place of the folder' status=2 silent err='symbolic link'
if [ "$(id -u)" = 0 ]; then
  skip 'a folder without permission' 'root may write everywhere'
else
  record=$dir/read-only
  mkdir "$record"
  chmod 500 "$record"
  into -- sh -c 'echo ran'
  expect 'a folder without permission' status=2 silent err='Permission denied'
fi
record=$dir/new/deep
into -- true
expect 'a folder whose parents are not there' status=0 empty
if [ "$(ls -ld "$record" | cut -c 1-10)" = drwx------ ]; then status=private; fi
expect 'the folder is private' status=private
(cd "$dir" && mkdir default && cd default && case $tool in /*) ;; *) exit 1 ;; esac && "$tool" record true) >"$dir/out" 2>"$dir/err"
if [ $? -ne 0 ]; then
  real=$(first_of "$tool")
  (cd "$dir/default" && "$real" record true) >"$dir/out" 2>"$dir/err"
fi
status=$?
record=$(echo "$dir"/default/memra-record-*)
expect 'a folder by default' status=0 empty err="$record"

# ---- What passes through ----

recorded -- sh -c 'cat; echo problem >&2; exit 3'
status=0
fresh
echo 'through and through' | "$tool" record -o "$record" -- sh -c 'cat; echo problem >&2; exit 3' >"$dir/out" 2>"$dir/err" || status=$?
echo 'through and through' >"$dir/plain"
expect 'input, output and exit status' status=3 same err=problem
recorded -- sh -c 'kill -TERM $$'
expect 'the death by a signal' status=143 silent
recorded -- sh -c 'kill -KILL $$'
expect 'the death by another signal' status=137 silent
case ${MEMRA_TEST_FLAGS:-} in
  *sanitize=thread*)
    skip 'a signal to the recorder goes to the program' 'ThreadSanitizer holds it back while the recorder waits for the program'
    ;;
  *)
    fresh
    "$tool" record -o "$record" -- sh -c 'trap "echo asked; exit 7" TERM; echo ready >"$0"; while :; do sleep 0.1; done' "$dir/ready" \
      >"$dir/out" 2>"$dir/err" </dev/null &
    # The program behind libtool's wrapper is the same process.
    pid=$!
    while [ ! -s "$dir/ready" ]; do sleep 0.1; done
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    expect 'a signal to the recorder goes to the program' status=7 out=asked
    ;;
esac
fresh
status=0
(trap '' HUP; exec "$tool" record -o "$record" -- sh -c 'kill -HUP $$; echo alive') >"$dir/out" 2>"$dir/err" || status=$?
expect 'a signal that is ignored stays ignored' status=0 out=alive
fresh
status=0
"$tool" record -o "$record" -- sh -c 'i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i + 1)); done; echo went on >&2' \
  2>"$dir/err" </dev/null | head -n 1 >"$dir/out"
expect 'a pipe that closes ends the program as ever' out=0123456789 no-err='went on'
if [ -n "$preloaded" ]; then
  fresh
  status=0
  LD_PRELOAD=$preloaded "$tool" record -o "$record" -- "$program" lookup=dlsym begin $op end instantiate launch=1 \
    >"$dir/out" 2>"$dir/err" </dev/null || status=$?
  expect 'a tool that is preloaded already still works' status=0 graphs=1 readable err='another tool is loaded' \
    err='another tool sees cuGraphLaunch' event='"captured":true'
fi

# ---- Every way to find the driver ----

# found WAY COMMAND...: a program that finds the driver that way behaves as ever and is recorded.
found () {
  way=$1
  shift
  plainly "$@" begin fill $op end instantiate launch=3 destroy-exec destroy-graph
  recorded --launches -- "$@" begin fill $op end instantiate launch=3 destroy-exec destroy-graph
  expect "$way" status=0 same graphs=1 processes=1 whole readable event='"event":"begin"' event='"event":"end"' \
    event='"captured":true' event='"nodes":2' event="\"kernels\":$kernels" event='"count":3' event='"event":"destroy"' \
    err='1 graph instantiated in 1 process' err='2 nodes' err='3 launches'
}

found 'cuGetProcAddress of 12.0' "$program" lookup=proc2
found 'cuGetProcAddress of 11.3' "$program" lookup=proc1
found 'dlsym' "$program" lookup=dlsym
found 'dlsym in what is loaded' "$program" lookup=default
if "$program" lookup=deepbind >/dev/null 2>&1; then
  found 'a driver opened with RTLD_DEEPBIND' "$program" lookup=deepbind
else
  skip 'a driver opened with RTLD_DEEPBIND' 'this build cannot open one'
fi
found 'a program linked with the driver' "$linked" lookup=linked
if "$loader" "$plugin" lookup=proc2 >/dev/null 2>&1; then
  found 'an object opened with RTLD_DEEPBIND' "$loader" "$plugin" lookup=proc2
  found 'an object opened with RTLD_DEEPBIND and linked with the driver' "$loader" "$plugin_linked" lookup=linked
else
  skip 'an object opened with RTLD_DEEPBIND' 'this build cannot open one'
  skip 'an object opened with RTLD_DEEPBIND and linked with the driver' 'this build cannot open one'
fi
found 'the per-thread stream' "$program" per-thread lookup=proc2
recorded -- "$program" unrelated="$unrelated" lookup=proc2 unrelated="$unrelated"
expect 'a library that has names of the driver is left alone' status=0 out='unrelated 4711 4712' empty
recorded -- "$program" phantom
expect 'a driver that is not there is not seen' status=0 out='phantom no no' empty
if [ -n "$old" ]; then
  (LD_LIBRARY_PATH=$(dirname "$old"); export LD_LIBRARY_PATH; plainly "$abi"; RECORD_TEST_INTERNAL=1 "$abi" >"$dir/plain2")
  fresh
  status=0
  LD_LIBRARY_PATH=$(dirname "$old") "$tool" record -o "$record" --launches -- "$abi" >"$dir/out" 2>"$dir/err" || status=$?
  expect 'old ABIs get what they asked for' status=0 same out='cuGraphInstantiate_v2 0x1000 0x2 0x3000 0x4000 5000' \
    out='cuStreamBeginCapture_v2_ptsz' event='"function":"cuStreamBeginCapture_v2"' event='"function":"cuStreamBeginCapture"' \
    event='"function":"cuGraphInstantiate"' event='"function":"cuGraphInstantiate_v2"' \
    event='"function":"cuGraphInstantiateWithFlags"' event='"function":"cuGraphExecUpdate"' event='"version":11080'
  events=$(cat "$record"/events-*.jsonl | wc -l)
  fresh
  status=0
  cp "$dir/plain2" "$dir/plain"
  LD_LIBRARY_PATH=$(dirname "$old") RECORD_TEST_INTERNAL=1 "$tool" record -o "$record" --launches -- "$abi" \
    >"$dir/out" 2>"$dir/err" || status=$?
  expect 'old ABIs of a driver that does not hand out what it exports' status=0 same event='"function":"cuGraphInstantiate"' \
    event='"function":"cuGraphInstantiate_v2"'
  [ "$(cat "$record"/events-*.jsonl | wc -l)" = "$events" ] && status=same
  expect 'and as many events' status=same
else
  skip 'old ABIs get what they asked for' 'the old driver is not here'
  skip 'old ABIs of a driver that does not hand out what it exports' 'the old driver is not here'
fi

# ---- Graphs ----

recorded -- "$program" lookup=proc2 build instantiate instantiate-params clone instantiate begin $op end clone instantiate
expect 'graphs by hand and captured ones' status=0 graphs=4 readable whole event='"graph":2,"function":"cuGraphInstantiateWithParams","captured":false' \
  event='"graph":3,"function":"cuGraphInstantiateWithFlags","captured":false' event='"graph":4,"function":"cuGraphInstantiateWithFlags","captured":true,"capture":1' \
  err='4 graphs instantiated in 1 process (1 captured, 3 built by hand; 2 different)'
recorded -- "$program" lookup=proc2 begin $op end instantiate update begin $op end update build update update1
expect 'updates, accepted and refused with the reason' status=0 graphs=1 event='"graph":1,"function":"cuGraphExecUpdate_v2","accepted":true' \
  event='"accepted":false' event='"reason":"the topology changed' event='"function":"cuGraphExecUpdate"' \
  event='"reason":"another number of nodes' err='2 updates accepted, 2 refused: 1 another number of nodes' \
  err='1 the topology changed'
recorded -- "$program" lookup=proc2 begin $op fill end instantiate build update
expect 'an update refused for a node' status=0 event='"node":{"type":"empty"}' event="\"reason\":\"a node's type changed" \
  err="1 a node's type changed"
recorded --stacks -- "$program" lookup=proc2 begin $op end instantiate
expect 'stacks of what went well' status=0 event='"function":"main"'
recorded -- "$program" lookup=proc2 begin $op copy end instantiate
expect 'hazards' status=0 event='"hazards":{"device-to-host-pageable":1}' err='hazards: 1 device-to-host-pageable'
recorded --launches -- "$program" lookup=proc2 threads=8
expect 'eight threads' status=0 out='threads 0 failures' graphs=160 whole readable err='160 graphs' err='1600 launches'
if [ "$driver" = host ]; then
  recorded --launches -- "$program" lookup=proc2 begin $op end instantiate launch=2 close-fds begin $op end instantiate launch=2 own-file
  expect 'a program that closes all files' status=0 graphs=2 readable out='own-file 0 bytes' err='4 launches' event='"graph":2'
  recorded -- "$program" lookup=proc2 begin $op destroy-context
  expect 'a context that is destroyed while it captures' status=0 event='"event":"lost"'
else
  skip 'a program that closes all files' 'a GPU driver has files of its own open'
  skip 'a context that is destroyed while it captures' 'on the host driver only'
fi
recorded -- "$program" lookup=proc2 begin $op destroy-stream new-stream begin $op end instantiate
expect 'a stream that is destroyed while it captures' status=0 graphs=1 event='"event":"lost"' event='"capture":2'
recorded -- sh -c 'mv "$1" "$1.away"; exec "$0" lookup=proc2 begin fill end instantiate begin fill end instantiate print=fine' "$program" "$dir/record-$((n + 1))"
expect 'a folder that goes away' out=fine err='is not recorded any more'

# ---- Who broke it ----

# breaks DESCRIPTION FUNCTION WORD...: the capture is broken by that function.
breaks () {
  description=$1
  function=$2
  shift 2
  recorded -- "$program" lookup=proc2 "$@"
  expect "$description" status=0 event="\"function\":\"$function" event='"event":"broken"' event='"stack":[{' \
    err='1 broken' err="broken by $function"
}

breaks 'a synchronise' cuStreamSynchronize begin fill $op sync end
expect 'the caller and the last node are named' event='"function":"record_program_synchronize"' event='"module":"record-program"' \
  event='"other_thread":false' event='"operations":2' event="\"after\":{\"type\":\"$([ $op = kernel ] && echo kernel || echo memset)\"" \
  err='called from record_program_synchronize+0x' err='in record-program' no-err='another thread'
[ $op = kernel ] && expect 'the last kernel is named' event='"name":"conf_store"' err="after kernel 'conf_store'"
breaks 'an allocation on another thread under the global mode' cuMemAlloc mode=0 begin $op other alloc end
expect 'the other thread is named' event='"other_thread":true' err='on another thread' event='"function":"run_on_thread"'
recorded -- "$program" lookup=proc2 mode=1 begin $op other alloc end instantiate
expect 'the same is innocent under the thread-local mode' status=0 out='alloc 0' no-event='"broken"' err='0 broken' graphs=1
recorded -- "$program" lookup=proc2 mode=0 begin harmless $op other harmless harmless end instantiate
expect 'harmless failures are not blamed' status=0 no-out='harmless 0' no-event='"broken"' err='0 broken' graphs=1
breaks 'of several failures the first one is blamed' cuStreamSynchronize begin $op harmless sync query $op harmless end
recorded -- "$program" lookup=proc2 begin $op sync end begin $op query end begin $op end instantiate
expect 'several captures are told apart' status=0 event='"event":"broken"' graphs=1 err='3 captures begun, 2 broken' \
  err='broken by cuStreamSynchronize' err='broken by cuStreamQuery'
recorded -- "$program" lookup=proc2 begin begin $op end
expect 'a begin that is refused' status=0 out='begin 401' event='"mode":"relaxed","result":401' err='1 capture begun, 0 broken'
recorded -- "$program" lookup=proc2 mode=1 begin $op other end end
expect 'an end from the wrong thread' status=0 out='end 908' event='"function":"cuStreamEndCapture","result":908' err='1 broken'
breaks 'an instantiation' cuGraphInstantiateWithFlags build mode=0 begin $op instantiate end
recorded -- "$program" lookup=proc2 begin $op
expect 'a capture that nobody ends' status=0 err='1 capture begun, 0 broken, 1 never ended'
recorded -- "$linked" lookup=linked begin $op sync end
expect 'a culprit in a program linked with the driver' status=0 err='broken by cuStreamSynchronize' event='"module":"record-linked"'

if [ "$driver" = host ]; then
  for version in 11040 12000 12080; do
    MEMRA_HOST_DRIVER_VERSION=$version
    export MEMRA_HOST_DRIVER_VERSION
    recorded --launches -- "$program" lookup=proc1 begin fill $op end instantiate launch=2 begin $op sync end mode=0 begin $op other alloc end
    expect "driver version $version, without an error log" status=0 graphs=1 readable event='"error_log":false' err='2 launches' \
      err='3 captures begun, 2 broken' err='broken by cuStreamSynchronize' err='broken by cuMemAlloc' err='on another thread'
    recorded -- "$program" lookup=dlsym mode=0 begin harmless $op other harmless end instantiate
    expect "driver version $version: harmless failures" status=0 no-event='"broken"' graphs=1
    recorded -- "$linked" lookup=linked begin $op sync end
    expect "driver version $version: linked with the driver" status=0 err='broken by cuStreamSynchronize'
  done
  unset MEMRA_HOST_DRIVER_VERSION
  MEMRA_HOST_FAULT=cuGraphInstantiateWithFlags:1:2
  export MEMRA_HOST_FAULT
  recorded -- "$program" lookup=proc2 begin $op end instantiate
  expect 'an instantiation that fails' status=0 graphs=0 event='"event":"instantiate"' event='"result":2' err='0 graphs'
  MEMRA_HOST_FAULT=cuGraphGetNodes:2:999
  recorded -- "$program" lookup=proc2 begin $op end instantiate
  expect 'a graph that cannot be read' status=0 out='instantiate 0' graphs=0 whole event='"census_error":"' event='999' \
    err='1 graph could not be read'
  unset MEMRA_HOST_FAULT
fi

# ---- Processes ----

recorded --launches -- "$program" lookup=proc2 begin $op end instantiate launch=2 _exit=5
expect '_exit right after a launch' status=5 graphs=1 readable whole err='2 launches'
recorded --launches -- "$program" lookup=proc2 begin $op end instantiate launch=2 abort
expect 'abort' status=134 graphs=1 readable whole err='2 launches'
recorded --launches -- "$program" lookup=proc2 begin $op end instantiate launch=2 kill=9
expect 'SIGKILL' status=137 graphs=1 readable whole err='2 launches'
recorded --launches -- "$program" fork lookup=proc2 begin $op end instantiate launch=2
expect 'fork: each process has its own files' status=0 graphs=2 processes=2 readable whole err='2 graphs instantiated in 2 processes' err='4 launches'
recorded --launches -- "$program" lookup=proc2 begin $op end instantiate launch=2 fork print=child begin $op end instantiate
expect 'fork of a process that has CUDA: the child has none and starts clean' status=0 processes=2 graphs=2 whole readable \
  event='"result":3' err='2 graphs instantiated in 2 processes'
recorded --launches -- "$program" lookup=proc2 begin $op end instantiate launch=2 exec lookup=dlsym begin $op end instantiate launch=3
expect 'exec: nothing of the first program is lost' status=0 graphs=2 processes=2 readable whole err='2 graphs' err='5 launches'
recorded --launches -- "$program" lookup=proc2 begin $op end instantiate spawn lookup=dlsym begin $op end instantiate launch=3
expect 'a child that is another program' status=0 graphs=2 processes=2 readable whole
recorded -- sh -c '"$0" lookup=proc2 begin fill end instantiate & "$0" lookup=proc2 begin fill end instantiate; wait' "$program"
expect 'two processes at once' status=0 graphs=2 processes=2 readable
for variable in RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID; do
  recorded -- env $variable=5 "$program" lookup=proc2 begin sync end
  expect "the rank that $variable tells" status=0 event="\"rank\":5,\"rank_from\":\"$variable\"" err='rank 5 (process' \
    event="\"host\":\"$(uname -n)\""
done
recorded -- env RANK=none SLURM_PROCID=3 "$program" lookup=proc2 begin sync end
expect 'what is no rank is none' status=0 event='"rank":3'
recorded -- "$program" lookup=proc2 begin $op end instantiate
into -- "$program" lookup=proc2 begin $op end instantiate begin $op end instantiate
expect 'two runs into one folder: the summary is of the second' status=0 graphs=3 processes=2 err='2 graphs instantiated in 1 process'
printf '%s' '{"event":"instantiate","gra' >>"$(echo "$record"/events-*.jsonl | cut -d ' ' -f 1)"
run "$tool" compare "$record"
expect 'an event that was cut off is passed over' status=1

# ---- Programs that cannot be recorded ----

printf 'int main (void) { return 9; }\n' >"$dir/static.c"
if ${CC:-cc} -static -o "$dir/static" "$dir/static.c" 2>/dev/null; then
  recorded -- "$dir/static"
  expect 'a static program runs, and that is said' status=9 silent err='statically' empty
else
  skip 'a static program runs, and that is said' 'no static C library, or no compiler'
fi
if [ "$(id -u)" = 0 ] && cp /bin/true "$dir/set-uid" && chown 65534 "$dir/set-uid" && chmod 4755 "$dir/set-uid"; then
  recorded -- "$dir/set-uid"
  expect 'a set-uid program runs, and that is said' status=0 err='gains privileges'
else
  skip 'a set-uid program runs, and that is said' 'only root can make one of another user'
fi
printf '\177ELF\002\001\001' >"$dir/foreign"
dd if=/dev/zero bs=57 count=1 2>/dev/null >>"$dir/foreign"
chmod +x "$dir/foreign"
recorded -- "$dir/foreign"
expect 'a program for another machine' err='another kind of machine'
mkfifo "$dir/pipe"
chmod +x "$dir/pipe"
fresh
run timeout 20 "$tool" record -o "$record" -- "$dir/pipe"
expect 'a pipe as the program' status=126 silent err='Permission denied' gone
printf '#!%s\n' "$program lookup=proc2" >"$dir/script"
chmod +x "$dir/script"
recorded -- "$dir/script"
expect 'a script is judged by its interpreter' no-err='is not recorded'

# ---- Policies ----

cat >"$dir/policy" <<'END'
[Policy]
Version=1

[Nodes]
memset=1..2
END
recorded --check "$dir/policy" -- "$program" lookup=proc2 begin fill end instantiate begin fill fill end instantiate
expect 'a policy that holds' status=0 graphs=2 err='policy: all 2 graphs hold'
recorded --check "$dir/policy" -- "$program" lookup=proc2 begin fill end instantiate build instantiate
expect 'a policy that does not hold' status=1 graphs=2 err='policy: 1 of 2 graphs does not hold' err='-2.json: '
recorded --check "$dir/policy" -- "$program" lookup=proc2 build instantiate exit=7
expect 'the exit status of a program that failed comes first' status=7 err='1 of 1 graph does not hold'
recorded --check "$dir/policy" -- true
expect 'a policy without a graph' status=1 err='there was no graph to hold against it'
recorded --check "$dir/nothing-there" -- sh -c 'echo ran'
expect 'a policy that is not there' status=2 silent err=nothing-there gone
echo nonsense >"$dir/bad-policy"
recorded --check "$dir/bad-policy" -- sh -c 'echo ran'
expect 'a policy that is none' status=2 silent gone

# ---- Compare ----

run "$tool" compare --help
expect 'help of compare' status=0 quiet out='DIR...' out=--json
run "$tool" compare
expect 'compare without a folder' status=2 silent err=DIR
run "$tool" compare "$dir/nothing-there"
expect 'compare with a folder that is not there' status=2 silent err=nothing-there
run "$tool" compare "$dir/target"
expect 'compare with an empty folder' status=2 silent err='no recorded graph'
recorded -- "$program" lookup=proc2 begin $op end instantiate
run "$tool" compare "$record"
expect 'one process has nobody to agree with' status=0 out='nothing to compare'

# rank N WORD...: another rank into $record.
rank () {
  number=$1
  shift
  env RANK="$number" "$tool" record -o "$record" -- "$program" lookup=proc2 "$@" >/dev/null 2>&1
}

fresh
for number in 0 1 2 3; do rank $number begin fill $op end instantiate begin fill end instantiate; done
run "$tool" compare "$record"
expect 'four ranks that agree' status=0 quiet graphs=8 out='4 processes with 2 graphs each: all agree'
run "$tool" compare --json "$record"
expect 'four ranks that agree, as JSON' status=0 quiet out='"agree":true' out='"compared":2' out='"rank":3'
rank 4 begin fill $op end instantiate begin fill fill end instantiate
run "$tool" compare "$record"
expect 'one rank is odd' status=1 out='5 processes with 2 graphs each: 1 of 2 differs' out='Graph 2: ranks 0-3 agree' \
  out='rank 4: another one' out='+ ' no-out='Graph 1'
run "$tool" compare --json "$record"
expect 'one rank is odd, as JSON' status=1 out='"agree":false' out='"graph":2' out='"members":[0,1,2,3]' out='"members":[4]' \
  out='"change":"added"'
fresh
rank 0 begin fill end instantiate begin fill end instantiate
rank 1 begin fill end instantiate
run "$tool" compare "$record"
expect 'one rank has a graph less' status=1 out='1 to 2 graphs' out='Graph 2: rank 0 has one' out='rank 1: no such graph'
one=$record
fresh
rank 0 begin fill end instantiate begin fill end instantiate
run "$tool" compare "$one" "$record"
expect 'repeats in two folders' status=1 out='3 processes'
fresh
into -- sh -c 'for i in 1 2 3; do "$0" lookup=proc2 begin fill end instantiate; done' "$program"
run "$tool" compare "$record"
expect 'repeats without ranks' status=0 out='3 processes with 1 graph each: all agree'
rm -f "$record"/events-*.jsonl
run "$tool" compare "$record"
expect 'censuses without events' status=0 out='3 processes with 1 graph each: all agree'
echo '{}' >"$(echo "$record"/graph-*.json | cut -d ' ' -f 1)"
run "$tool" compare "$record"
expect 'a file that is no census' status=2 silent err=graph-
recorded -- "$program" lookup=proc2 begin fill end instantiate
echo nonsense >>"$(echo "$record"/events-*.jsonl)"
run "$tool" compare "$record"
expect 'events that are none' status=2 silent err='line 5'
recorded -- "$program" lookup=proc2 begin fill end instantiate
echo '{"event":"begin","capture":2}{"event":"end","capture":2}' >>"$(echo "$record"/events-*.jsonl)"
run "$tool" compare "$record"
expect 'two events on a line' status=2 silent err='line 5' err='behind the end'
recorded -- "$program" lookup=proc2 begin fill end instantiate
head -c 3000000 /dev/zero | tr '\0' x >>"$(echo "$record"/events-*.jsonl)"
run "$tool" compare "$record"
expect 'a line of three million bytes' status=2 silent err='line 5' err='longer than'
recorded -- "$program" lookup=proc2 begin fill end instantiate
mkfifo "$record/events-77.jsonl"
run timeout 20 "$tool" compare "$record"
expect 'a pipe where events should be' status=2 silent err='events-77.jsonl' err='not a regular file'
recorded -- "$program" lookup=proc2 begin fill end instantiate
census=$(echo "$record"/graph-*.json)
rm "$census"
mkfifo "$census"
run timeout 20 "$tool" compare "$record"
expect 'a pipe where a census should be' status=2 silent err='graph-' err='not a regular file'
recorded -- "$program" lookup=proc2 begin fill end instantiate
rm "$record"/graph-*
run "$tool" compare "$record"
expect 'a census that is gone' status=2 silent err=graph-
fresh
mkdir "$record"
recorded_one=$one/$(ls "$one" | grep '^graph-' | head -n 1)
i=0
while [ $i -lt 2000 ]; do
  i=$((i + 1))
  echo "$record/graph-$((i % 4 + 1))-$i.json"
done | while read -r file; do ln "$recorded_one" "$file" 2>/dev/null || cp "$recorded_one" "$file"; done
run "$tool" compare "$record"
expect 'two thousand files' status=0 out='4 processes with 500 graphs each: all agree'

echo "1..$n"
[ "$failed" -eq 0 ]
