#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-symbols.sh: what the built library exports is what lib/memra-capture.map says, what the public headers declare and
# what the reference manual describes, and nothing of CUDA is linked. Runs in the build folder; TAP.
set -u
LC_ALL=C
export LC_ALL

source=${G_TEST_SRCDIR:-$(dirname "$0")/..}
library=lib/.libs/libmemra-capture.so
host=lib/host/.libs/libcuda.so.1
map=$source/lib/memra-capture.map
n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

check () { # NAME COMMAND...: a TAP line; what the command prints is the diagnosis
  n=$((n + 1))
  name=$1
  shift
  if "$@" > "$dir/why" 2>&1; then
    echo "ok $n - $name"
  else
    failed=$((failed + 1))
    echo "not ok $n - $name"
    sed 's/^/# /' "$dir/why"
  fi
}

if ! command -v nm >/dev/null || ! command -v readelf >/dev/null; then
  echo "1..0 # SKIP needs nm and readelf (Debian package: binutils)"
  exit 0
fi
echo "1..8"

# The version's own name is a symbol too.
nm -D --defined-only "$library" | awk '$2 != "A" { sub (/@.*/, "", $3); print $3 }' | sort > "$dir/exported"
sed -n 's/^  *\(memra_[a-z0-9_]*\);$/\1/p' "$map" > "$dir/map"
sort -u "$dir/map" > "$dir/map-sorted"
cat "$source"/include/memra-capture/*.h | tr '\n' ' ' | sed 's/MEMRA_AVAILABLE_IN_[0-9_]*/\n&/g' \
  | sed -n 's/^MEMRA_AVAILABLE_IN_[0-9_]*  *[^(;]*\(memra_[a-z0-9_]*\) *(.*/\1/p' | sort -u > "$dir/declared"

sed -n 's/^\(memra_[a-z0-9_]*\)$/\1/p' "$source/docs/reference/memra-capture-sections.txt" | sort > "$dir/documented"
# Functions whose doc comment says since when they are there.
find "$source/lib" "$source/kernels" -name '*.c' -exec awk '
  /^\/\*\*$/ { name = ""; since = 0; open = 1; next }
  open && name == "" && /^ \* memra_[a-z0-9_]+:$/ { name = substr($2, 1, length($2) - 1) }
  open && /^ \* Since: / { since = 1 }
  open && /\*\/$/ { if (name != "" && since) print name; open = 0 }' {} + | sort > "$dir/commented"

no_cuda () {
  ! { readelf -d "$1" | grep NEEDED | grep -i cuda; } && ! { nm -D --undefined-only "$1" | grep -E ' cu[A-Z]'; }
}

nothing_but_the_driver () {
  ! { nm -D --defined-only "$host" | awk '{ print $3 }' | grep -vE '^(cu[A-Z][A-Za-z0-9_]*|memra_host_control)$'; }
}

check "there is something to compare" test -s "$dir/declared"
check "the map is sorted and has nothing twice" diff -u "$dir/map" "$dir/map-sorted"
check "the map is what the public headers declare" diff -u "$dir/map-sorted" "$dir/declared"
check "the library exports what the map says" diff -u "$dir/map-sorted" "$dir/exported"
check "the reference manual lists what the map says" diff -u "$dir/map-sorted" "$dir/documented"
check "every function has a doc comment above its definition" diff -u "$dir/map-sorted" "$dir/commented"
check "the library neither links nor needs libcuda" no_cuda "$library"
check "the host driver exports the driver's symbols and its own control, nothing else" nothing_but_the_driver

[ "$failed" -eq 0 ]
