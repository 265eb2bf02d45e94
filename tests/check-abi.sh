#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# check-abi.sh FOLDER...: holds our declarations of the driver's ABI (lib/driver/abi.h) against the cuda.h of each folder,
# by compiling lib/driver/abi-check.c with it, and compiles the public headers after it, in C and in C++. Needs no build;
# $CC and $CXX are the compilers. The headers of toolkits from 11.8 on will do; .ci/package fetches those of several. Exit
# status 1 if any disagrees.
set -u

if [ $# -eq 0 ]; then
  echo "usage: check-abi.sh FOLDER-WITH-cuda.h..." >&2
  exit 2
fi
source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
status=0

echo '/* for abi-check.c, which needs nothing that configure finds out */' > "$dir/config.h"
mkdir -p "$dir/include/memra-capture"
sed 's/@MEMRA_[A-Z]*@/0/' "$source/include/memra-capture/memra-version.h.in" > "$dir/include/memra-capture/memra-version.h"
# A program that has both takes the driver's handles for ours, without a cast.
cat > "$dir/both.c" << 'END'
#include <cuda.h>
#include <memra-capture/memra-capture.h>
MemraStream *wrap (MemraContext *context, CUstream stream);
MemraStream *wrap (MemraContext *context, CUstream stream) { return memra_stream_wrap (context, stream, NULL); }
MemraCensus *census (MemraDriver *driver, CUgraph graph);
MemraCensus *census (MemraDriver *driver, CUgraph graph) { return memra_census_new_from_graph (driver, graph, NULL); }
END
cp "$dir/both.c" "$dir/both.cc"

both () { # FOLDER
  # shellcheck disable=SC2046
  set -- -Wall -Wextra -Wpedantic -Wundef -Werror -fsyntax-only -I"$source/include" -I"$dir/include" -isystem "$1" \
    $(pkg-config --cflags glib-2.0 | sed 's/-I */-isystem /g')
  for standard in c11 gnu17; do ${CC:-cc} -std=$standard "$@" "$dir/both.c" || return 1; done
  ${CXX:-c++} -std=c++17 "$@" "$dir/both.cc"
}

for include in "$@"; do
  version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$include/cuda.h" 2> /dev/null)
  if [ -z "$version" ]; then
    echo "check-abi: there is no cuda.h in $include" >&2
    status=1
    continue
  fi
  name="${CC:-cc}, cuda.h of $((version / 1000)).$((version % 1000 / 10))"
  # shellcheck disable=SC2086
  if ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I"$dir" -I"$source/include" -I"$source/lib" \
    -I"$source/lib/driver" -isystem "$include" ${CFLAGS:-} \
    "$source/lib/driver/abi-check.c" && both "$include"; then
    echo "check-abi: $name: our declarations agree, the public headers compile"
  else
    echo "check-abi: $name: they DISAGREE" >&2
    status=1
  fi
done
exit $status
