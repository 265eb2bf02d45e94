#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-examples.sh: every program of docs/examples/ runs on the host driver and prints what stands in its .expected file, which
# is what the chapters in docs/ show. Addresses, offsets in code and sums that depend on the C library are left out of the
# comparison. Runs in the build folder; TAP. With UPDATE_OUTPUTS=1 it writes the .expected files instead.
set -u
LC_ALL=C.UTF-8
# LeakSanitizer dies at the exit of programs in which a driver's threads still run ("Tracer caught signal 11", gcc 12 and
# clang 14); leaks are looked for in the test programs.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export LC_ALL ASAN_OPTIONS

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
examples=$source/docs/examples
host=$PWD/lib/host/.libs
n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

normalise () {
  sed -E -e 's/0x[0-9a-f]{10,}/0x.../g' -e 's/\+0x[0-9a-f]+/+0x.../g' -e 's/0x[0-9a-f]{8} \([^)]*\)/0x... (...)/g'
}

run () { # NAME COMMAND...
  n=$((n + 1))
  name=$1
  shift
  "$@" > "$dir/raw" 2> "$dir/errors" < /dev/null
  status=$?
  normalise < "$dir/raw" > "$dir/out"
  if [ -n "${UPDATE_OUTPUTS:-}" ]; then cp "$dir/out" "$examples/$name.expected"; fi
  if [ $status -eq 0 ] && diff -u "$examples/$name.expected" "$dir/out" > "$dir/why" 2>&1; then
    echo "ok $n - $name"
  else
    failed=$((failed + 1))
    echo "not ok $n - $name"
    echo "# exit status $status"
    sed 's/^/# /' "$dir/errors" "$dir/why"
  fi
}

skip () { # NAME REASON
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

echo "1..15"
for name in drift engine errors faults first gate read-graph replay sequence update wrap; do
  run $name docs/examples/$name
done
run kernel docs/examples/kernel docs/examples/.libs/scale-kernel.so
run policy docs/examples/policy "$examples/layer.policy"
run raw-driver env LD_LIBRARY_PATH="$host${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" docs/examples/raw-driver

# Python does not run our library if that was built with a sanitizer, whose runtime has to be loaded first.
if ! command -v python3 > /dev/null; then
  skip pytorch_census 'needs python3'
elif nm -D lib/.libs/libmemra-capture.so 2> /dev/null | grep -q -E ' __(asan|tsan)_'; then
  skip pytorch_census 'the library was built with a sanitizer'
else
  run pytorch_census env LD_LIBRARY_PATH="$host:$PWD/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    PYTHONPATH="$source/tests/stand-ins" PYTHONDONTWRITEBYTECODE=1 python3 "$examples/pytorch_census.py"
fi

[ "$failed" -eq 0 ]
