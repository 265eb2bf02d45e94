#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# check-abi.sh FOLDER...: holds our declarations of the driver's ABI (lib/driver/abi.h) against the cuda.h of each folder:
# compiles lib/driver/abi-check.c with it. Needs no build; $CC is the compiler. The
# headers of toolkits from 11.8 on will do; .ci/package fetches those of several. Exit status 1 if any disagrees.
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
    "$source/lib/driver/abi-check.c"; then
    echo "check-abi: $name: our declarations agree"
  else
    echo "check-abi: $name: our declarations DISAGREE" >&2
    status=1
  fi
done
exit $status
