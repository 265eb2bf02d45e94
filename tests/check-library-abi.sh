#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# check-library-abi.sh [--update]: the ABI of the library, as its debug information and the public headers have it, against
# that of the last release in lib/memra-capture.abi.xml, with libabigail. New functions and new enumeration members are
# welcome, anything else is an error. --update writes a new lib/memra-capture.abi.xml. Runs in the build folder.
# Exit status 2 if it cannot be told.
set -eu
LC_ALL=C
export LC_ALL

source=${G_TEST_SRCDIR:-$(dirname "$0")/..}
library=$(readlink -f lib/.libs/libmemra-capture.so)
released=$source/lib/memra-capture.abi.xml

cannot () {
  echo "check-abi: $1" >&2
  exit 2
}

command -v abidiff > /dev/null || cannot 'there is no libabigail (Debian package: abigail-tools)'
# The layouts of another machine are others, on paper.
case $(uname -m) in x86_64) ;; *) cannot "$released is of x86-64" ;; esac
# Without debug information only the names could be compared.
readelf -S "$library" | grep -q '\.debug_info' || cannot "$library has no debug information (CFLAGS=-g)"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/headers"
cp "$source"/include/memra-capture/*.h include/memra-capture/memra-version.h "$dir/headers"

# No lines, and of paths what all build folders share: only a change of the ABI changes the file.
abidw --headers-dir "$dir/headers" --drop-private-types --exported-interfaces-only --no-show-locs --no-corpus-path \
  --no-comp-dir-path --no-elf-needed --type-id-style hash --out-file "$dir/now" "$library"
sed "s,\( path='\)[^']*/\(\(lib\|kernels\)/[^']*'\),\1\2," "$dir/now" > "$dir/now.xml"
if [ "${1:-}" = --update ]; then
  cp "$dir/now.xml" "$released"
  exit 0
fi

differs () { # ABI
  status=0
  abidiff --no-added-syms "$1" "$dir/now.xml" > "$dir/report" 2>&1 || status=$?
  case $status in 0 | 4 | 8 | 12) ;; *) cat "$dir/report" >&2; cannot "abidiff failed ($status)" ;; esac
  [ "$status" -ne 0 ]
}

# A comparison that cannot go red proves nothing: a function that is gone, a constant of another value, a struct that grew.
sed 's/memra_access_clear/memra_access_gone/g' "$released" > "$dir/gone.xml"
differs "$dir/gone.xml" || cannot 'abidiff does not see that a function is gone'
sed "s/\(name='MEMRA_CAPTURE_STAGE_COMPLETION' value='\)[0-9]*/\199/" "$released" > "$dir/value.xml"
differs "$dir/value.xml" || cannot 'abidiff does not see that a constant has changed'

awk "/class-decl name='_MemraDim3'/ { sub (/size-in-bits='96'/, \"size-in-bits='64'\"); inside = 1 }
  inside && /<data-member/ { n++ } !(inside && n == 3) { print }
  inside && n == 3 && /<\\/data-member>/ { inside = 0 }" "$released" > "$dir/struct.xml"
differs "$dir/struct.xml" || cannot 'abidiff does not see that a struct has grown'

if differs "$released"; then
  cat "$dir/report"
  echo 'check-abi: programs built with the last release would break; CONTRIBUTING.md, "A release", says what to do'
  exit 1
fi
grep -E 'changes summary' "$dir/report" || echo 'check-abi: the ABI is that of the last release'
