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
recorder=lib/observe/.libs/libmemra-record.so
map=$source/lib/memra-capture.map
. "$source/tests/tap.sh"

if ! command -v nm >/dev/null || ! command -v readelf >/dev/null; then
  echo "1..0 # SKIP needs nm and readelf (Debian package: binutils)"
  exit 0
fi
echo "1..13"

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

# "SYMBOL VERSION", by the map and by the headers.
awk '$2 == "{" { sub(/^MEMRA_CAPTURE_/, "", $1); sub(/\./, "_", $1); node = $1 }
  /^  *memra_[a-z0-9_]*;$/ { sub(/;/, "", $1); print $1, node }' "$map" | sort > "$dir/map-versions"
cat "$source"/include/memra-capture/*.h | tr '\n' ' ' | sed 's/MEMRA_AVAILABLE_IN_[0-9_]*/\n&/g' \
  | sed -n 's/^MEMRA_AVAILABLE_IN_\([0-9_]*\)  *[^(;]*\(memra_[a-z0-9_]*\) *(.*/\2 \1/p' | sort -u > "$dir/declared-versions"

# The same of the built library: every symbol has its node's version.
nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' \
  | sed 's/@@*MEMRA_CAPTURE_\([0-9]*\)\.\([0-9]*\)$/ \1_\2/' | sort > "$dir/exported-versions"

no_cuda () {
  ! { readelf -d "$1" | grep NEEDED | grep -i cuda; } && ! { nm -D --undefined-only "$1" | grep -E ' cu[A-Z]'; }
}

# In a build for coverage it has gcov's own, too.
case ${MEMRA_TEST_FLAGS:-} in
  *--coverage*) besides='|__gcov_[a-z_]*|mangle_path' ;;
  *) besides= ;;
esac

nothing_but_the_driver () {
  ! { nm -D --defined-only "$host" | awk '{ print $3 }' | grep -vE "^(cu[A-Z][A-Za-z0-9_]*|memra_host_control$besides)\$"; }
}

# What the recorder needs, every program that it is loaded into gets; C's own library is there already.
only_libc () {
  ! { readelf -d "$recorder" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux[a-z0-9.-]*|libdl\.so\.2|libpthread\.so\.0)$'; }
}

no_executable_stack () {
  for file in "$library" "$host" "$recorder" lib/observe/.libs/memra-record-census.so lib/host/.libs/memra-dsv4.so; do
    readelf -lW "$file" | grep -q 'GNU_STACK.* RW ' || { echo "$file"; readelf -lW "$file" | grep GNU_STACK; return 1; }
    if readelf -d "$file" | grep TEXTREL; then echo "$file"; return 1; fi
  done
}

# Each node of the map has its line in the Debian package's symbols file.
debian_knows_the_nodes () {
  sed -n 's/^\(MEMRA_CAPTURE_[0-9.]*\) {$/ (symver)\1/p' "$map" | sort > "$dir/nodes"
  sed -n 's/^\( (symver)MEMRA_CAPTURE_[0-9.]*\) [0-9].*$/\1/p' "$source/debian/libmemra-capture0.symbols" | sort \
    | diff -u "$dir/nodes" -
}

check "there is something to compare" test -s "$dir/declared"
check "the map is sorted and has nothing twice" diff -u "$dir/map" "$dir/map-sorted"
check "the map is what the public headers declare" diff -u "$dir/map-sorted" "$dir/declared"
check "the map's nodes are what the headers say a symbol came with" diff -u "$dir/map-versions" "$dir/declared-versions"
check "the library exports what the map says" diff -u "$dir/map-sorted" "$dir/exported"
check "the library's symbols have the map's versions" diff -u "$dir/map-versions" "$dir/exported-versions"
check "the reference manual lists what the map says" diff -u "$dir/map-sorted" "$dir/documented"
check "every function has a doc comment above its definition" diff -u "$dir/map-sorted" "$dir/commented"
check "the library neither links nor needs libcuda" no_cuda "$library"
check "the host driver exports the driver's symbols and its own control, nothing else" nothing_but_the_driver
check "the recorder needs the C library, nothing else" only_libc
check "no shared object asks for an executable stack or writes into its code" no_executable_stack
if [ -d "$source/debian" ]; then
  check "the Debian symbols file knows the map's nodes" debian_knows_the_nodes
else
  n=$((n + 1))
  echo "ok $n - the Debian symbols file knows the map's nodes # SKIP there is no debian/ in a tarball"
fi

[ "$failed" -eq 0 ]
