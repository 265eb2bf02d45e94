#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-conformance.sh: the conformance table of this run's driver against the one that was recorded on a GPU, as TAP.
# In a build folder and in a bundle. A GPU is only held to a recording of its own driver version.
set -u

source=${G_TEST_SRCDIR:-$(dirname "$0")/..}/tests/conformance
build=${G_TEST_BUILDDIR:-.}
program=$build/tests/conformance/conformance
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

first_of () {
  for file in "$@"; do
    if [ -e "$file" ]; then
      echo "$file"
      return
    fi
  done
}

recording=$(first_of "$source"/h200-*.txt)

version_of () {
  sed -n 's/^# driver version //p' "$1"
}

if [ "${MEMRA_TEST_DRIVER:-host}" = cuda ]; then
  "$program" > "$dir/table" 2> "$dir/err"
  status=$?
  if [ $status -eq 2 ]; then
    echo "1..0 # SKIP $(head -n 1 "$dir/err")"
    exit 0
  fi
  if [ $status -eq 0 ] && [ "$(version_of "$dir/table")" != "$(version_of "$recording")" ]; then
    echo "1..0 # SKIP the recording is of driver $(version_of "$recording"), this is $(version_of "$dir/table")"
    exit 0
  fi
  : > "$dir/known"
else
  "$program" --driver "$(first_of "$build/lib/host/.libs/libcuda.so.1" "$build/lib/memra-capture/host/libcuda.so.1")" \
    --module "$(first_of "$build/tests/conformance/.libs/host-kernels.so" "$build/tests/conformance/host-kernels.so")" \
    > "$dir/table" 2> "$dir/err"
  status=$?
  cp "$source/known-differences.txt" "$dir/known"
fi

if [ $status -ne 0 ]; then
  sed 's/^/# /' "$dir/err"
  echo "Bail out! the conformance program ended with $status"
  exit 1
fi
sh "$source/compare.sh" "$recording" "$dir/table" "$dir/known"
