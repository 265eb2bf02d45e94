#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-record-folder.sh [PROGRAM]: the recorder's folder when it cannot be written, or when somebody has put something
# into it, as TAP: the recorded program runs as ever, nothing outside of the folder is touched, and what is not there is
# said. PROGRAM, else $MEMRA_CAPTURE, else the one of the build folder that this runs in.
set -u

tool=${1:-${MEMRA_CAPTURE:-./tools/memra-capture}}
build=${G_TEST_BUILDDIR:-.}
LC_ALL=C
# A program with the address sanitizer complains of being preloaded into.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0:detect_leaks=0
export LC_ALL ASAN_OPTIONS
unset LD_PRELOAD RANK OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID
unset MEMRA_RECORD_DIR MEMRA_HOST_DRIVER_VERSION MEMRA_HOST_DEVICES MEMRA_HOST_FAULT MEMRA_HOST_SHUFFLE
n=0
failed=0
dir=$(mktemp -d) || exit 99
dir=$(cd "$dir" && pwd -P)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

program=$build/tests/record-program
case $program in /*) ;; *) program=$(pwd)/$program ;; esac
if [ "${MEMRA_TEST_DRIVER:-host}" = host ]; then
  for file in "$build/lib/host/.libs/libcuda.so.1" "$build/lib/memra-capture/host/libcuda.so.1"; do
    if [ -e "$file" ]; then LD_LIBRARY_PATH=$(dirname "$file")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi
  done
  export LD_LIBRARY_PATH
fi
if ! "$program" lookup=proc2 >/dev/null 2>"$dir/err"; then
  echo "1..0 # SKIP $(head -n 1 "$dir/err")"
  exit 0
fi

skip () {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

holds () {
  case $1 in
    status=*) [ "$status" = "${1#*=}" ] ;;
    out=*) grep -qF -e "${1#*=}" "$dir/out" ;;
    err=*) grep -qF -e "${1#*=}" "$dir/err" ;;
    no-err=*) ! grep -qF -e "${1#*=}" "$dir/err" ;;
    silent) [ ! -s "$dir/out" ] ;;
    gone) [ ! -e "$record" ] ;;
    untouched) [ "$(cat "$dir/victim")" = 'of somebody else' ] ;;
    *) sh -c "$1" ;;
  esac
}

# expect DESCRIPTION WHAT...: a test point about the last run; what is no word of holds() is a command.
expect () {
  n=$((n + 1))
  description=$1
  shift
  broken=
  for what; do
    holds "$what" || broken="$broken [$what]"
  done
  if [ -z "$broken" ]; then
    echo "ok $n - $description"
    return
  fi
  failed=$((failed + 1))
  echo "not ok $n - $description"
  echo "# does not hold:$broken (exit status $status)"
  sed 's/^/# out: /' "$dir/out" | cut -c 1-300 | head -n 30
  sed 's/^/# err: /' "$dir/err" | cut -c 1-400 | head -n 30
  # shellcheck disable=SC2012
  ls -la "$record" 2>/dev/null | sed 's/^/# in the folder: /'
}

fresh () {
  record=$dir/record-$((n + 1))
  export record
  echo 'of somebody else' >"$dir/victim"
}

run () {
  status=0
  "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

# What a recorded program does here.
work='lookup=proc2 begin fill end instantiate launch=2 print=fine'

# ---- No room ----

# limited BLOCKS OPTION... -- COMMAND...: recorded, with files of at most so many blocks of 512 bytes, or of 1024 in some
# shells.
limited () {
  blocks=$1
  shift
  fresh
  # shellcheck disable=SC2086,SC3045
  run sh -c 'ulimit -f "$1"; shift; exec "$@"' sh "$blocks" "$tool" record -o "$record" "$@"
}

# shellcheck disable=SC2086
{
  limited 8 -- "$program" $work
  expect 'no file can have what the recorder needs' status=2 silent err="$record: File too large" gone
  limited 160 --launches -- "$program" $work
  expect 'no room to count launches: the program runs, and that is said' status=0 out=fine err='launches counted no further' \
    err='File too large' err='1 graph instantiated'
  limited 160 -- "$program" lookup=proc2 threads=24 print=fine
  expect 'no room for more events: the program runs, and that is said' status=0 out=fine \
    err='is not recorded any more: could not write' err='File too large' err='ended in the middle of an event'
}

# full KIB OPTION... -- COMMAND...: recorded onto a disk of that size. A chunk of counters takes 64.
full () {
  size=$1
  shift
  fresh
  run unshare -rm sh -c 'mkdir "$0.disk" && mount -t tmpfs -o size="$1" none "$0.disk" && shift && exec "$@"' \
    "$record" "${size}k" "$tool" record -o "$record.disk/record" "$@"
}

if unshare -rm sh -c 'mount -t tmpfs -o size=4k none "$0"' "$(mktemp -d "$dir/mount-XXXXXX")" 2>/dev/null; then
  # shellcheck disable=SC2086
  {
    full 68 --launches -- "$program" $work
    expect 'a disk without room for counters' status=0 out=fine err='launches counted no further' err='No space left on device' \
      err='1 graph instantiated'
    full 72 --launches -- "$program" $work
    expect 'a disk without room for a census' status=0 out=fine err='1 graph could not be read' err='2 launches'
    full 80 -- "$program" lookup=proc2 threads=8 print=fine
    expect 'a disk that gets full' status=0 out=fine err='is not recorded any more' err='No space left on device'
    full 4 -- echo ran
    expect 'a disk that is full' status=2 silent err='record: No space left on device'
  }
else
  for what in 'a disk without room for counters' 'a disk without room for a census' 'a disk that gets full' 'a disk that is full'; do
    skip "$what" 'nobody may mount a disk here'
  done
fi

# ---- What somebody has put there ----

# planted COMMAND: recorded, after that command was run in the folder, with the process's number in $$.
planted () {
  fresh
  # shellcheck disable=SC2016
  run timeout 60 "$tool" record -o "$record" --launches -- \
    sh -c 'cd "$record" || exit 99; eval "$1"; cd / || exit 99; shift; exec "$@"' sh "$1" "$program" $work
}

planted 'echo none >events-$$.jsonl; ln "$record/events-$$.jsonl" ../hard'
expect 'a file in place of the events: another name is taken' status=0 out=fine 'test -s "$record"/events-*.2.jsonl' \
  'test "$(cat "$record/../hard")" = none'
rm -f "$dir/hard"
planted 'ln -s ../victim events-$$.jsonl'
expect 'a link in place of the events is not written through' status=0 out=fine untouched 'test -s "$record"/events-*.2.jsonl'
planted 'ln -s ../new events-$$.jsonl'
expect 'nor is one that leads nowhere' out=fine 'test ! -e "$record/../new"' 'test -s "$record"/events-*.2.jsonl'
planted 'ln -s ../victim graph-$$-1.json'
expect 'a link in place of a census is replaced' status=0 out=fine untouched 'test -f "$record"/graph-*-1.json' \
  'test ! -L "$record"/graph-*-1.json'
planted 'ln -s ../victim .graph-$$-1.json.part'
expect 'and so is one in place of a half-written one' status=0 out=fine untouched 'test -s "$record"/graph-*-1.json'
planted 'mkfifo .graph-$$-1.json.part'
expect 'a pipe in its place is not waited for' status=0 out=fine 'test -s "$record"/graph-*-1.json'
planted 'mkdir .graph-$$-1.json.part'
expect 'a folder in its place: that census is missing, and that is said' status=0 out=fine err='1 graph could not be read' \
  'grep -q "\"census_error\":\"Could not write .*: File exists\"" "$record"/events-*.jsonl'
planted 'ln -s ../victim launches-$$.counts'
expect 'a link in place of the counters is not written through' status=0 out=fine untouched err='launches counted no further' \
  err='Too many levels of symbolic links'
planted 'mkfifo launches-$$.counts'
expect 'nor is a pipe' status=0 out=fine err='launches counted no further'

# Counters of a process that has ended are turned into events, which may be a link by then.
fresh
mkdir "$record"
printf '%s\n' '{"event":"process","format":"memra-capture-events","version":1,"time_us":5,"pid":7,"host":"-","counts_launches":true}' \
  '{"event":"instantiate","graph":1,"nodes":1,"kernels":0}' >"$dir/events"
cp "$dir/events" "$dir/before"
ln -s ../events "$record/events-7.jsonl"
printf 'MEMRALC1' >"$record/launches-7.counts"
run "$tool" record -o "$record" -- true
run "$tool" compare "$record"
expect 'a link is not written through when launches are added up' 'cmp "$record/../events" "$record/../before"' \
  'test -e "$record/launches-7.counts"'

# ---- No permission ----

# As another user where this one may do everything.
plainly=env
if [ "$(id -u)" = 0 ]; then
  plainly='setpriv --reuid=65534 --regid=65534 --clear-groups'
  chmod 755 "$dir"
fi
if $plainly test ! -w / 2>/dev/null && $plainly "$tool" --version >/dev/null 2>&1; then
  fresh
  mkdir "$record"
  chmod 555 "$record"
  run $plainly "$tool" record -o "$record" -- echo ran
  expect 'a folder that may not be written' status=2 silent err="$record: Permission denied"
  run $plainly "$tool" record -o "$record/below/it" -- echo ran
  expect 'nor may one be made in it' status=2 silent err='below/it: Permission denied'
else
  skip 'a folder that may not be written' 'nobody but root can run this here'
  skip 'nor may one be made in it' 'nobody but root can run this here'
fi

echo "1..$n"
[ "$failed" -eq 0 ]
