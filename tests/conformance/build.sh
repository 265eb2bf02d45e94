#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the conformance program and its host kernels into OUTDIR, with nothing but a C compiler.
set -eu
if [ $# -ne 1 ]; then
  echo "usage: build.sh OUTDIR" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
out=$1
mkdir -p "$out"
# Word splitting of CC and CFLAGS is wanted.
cc=${CC:-cc}
flags="-std=gnu11 -Wall -Wextra -Werror ${CFLAGS:--O1 -g}"
program=
for file in "$here"/*.c; do
  case $file in
    */host-kernels.c) ;;
    *) program="$program $file" ;;
  esac
done
# shellcheck disable=SC2086
$cc $flags -I"$top/lib/driver" -I"$top/include" $program -o "$out/conformance" -ldl -lpthread
# shellcheck disable=SC2086
$cc $flags -I"$top/include" -shared -fPIC -fvisibility=hidden "$here/host-kernels.c" -o "$out/conformance-host-kernels.so"
