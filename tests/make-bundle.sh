#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# make-bundle.sh: called by "make gpu-bundle" in the build folder. Collects what was built, and every library that it
# needs apart from the C library, into one relocatable folder. In the environment: srcdir, libdir, bindir, bundle (the
# folder to make), and lists: tests and helpers (programs), modules (.la), scripts and data (in srcdir), benches.
set -eu

stage=$bundle.stage

rm -rf "$bundle" "$stage"
mkdir -p "$bundle/bin" "$bundle/lib/memra-capture/host" "$bundle/tests" "$bundle/bench"

${MAKE:-make} -s install DESTDIR="$PWD/$stage" >"$stage.log" 2>&1 || { cat "$stage.log" >&2; exit 1; }
cp -p "$stage$libdir"/libmemra-capture.so.* "$bundle/lib/"
cp -p "$stage$libdir"/memra-capture/*.so "$bundle/lib/memra-capture/"
cp -p "$stage$libdir"/memra-capture/host/*.so* "$bundle/lib/memra-capture/host/"
for program in "$stage$bindir"/*; do
  if [ -f "$program" ]; then cp -p "$program" "$bundle/bin/"; fi
done
rm -rf "$stage" "$stage.log"

# The program itself, not libtool's wrapper around it.
copy_program () { # PROGRAM FOLDER
  real=$(dirname "$1")/.libs/$(basename "$1")
  if [ ! -f "$real" ]; then real=$1; fi
  mkdir -p "$2"
  cp -p "$real" "$2/$(basename "$1")"
}

: > "$bundle/tests/LIST"
for program in $tests; do
  copy_program "$program" "$bundle/tests"
  basename "$program" >> "$bundle/tests/LIST"
done
for script in $scripts; do
  cp -p "$srcdir/$script" "$bundle/tests/"
  basename "$script" >> "$bundle/tests/LIST"
done
for program in $helpers; do
  copy_program "$program" "$bundle/$(dirname "$program")"
done
for module in $modules; do
  mkdir -p "$bundle/$(dirname "$module")"
  cp -p "$(dirname "$module")/.libs/$(basename "$module" .la).so" "$bundle/$(dirname "$module")/"
done
for program in $benches; do
  copy_program "$program" "$bundle/bench"
done
for file in $data; do
  mkdir -p "$bundle/$(dirname "$file")"
  cp -p "$srcdir/$file" "$bundle/$file"
done
cp -p "$srcdir/tests/run-tests" "$bundle/run-tests"
cp -p "$srcdir/tests/summarise.sh" "$bundle/tests/"
chmod -R u+w "$bundle"
chmod +x "$bundle/run-tests" "$bundle/tests/summarise.sh"

# ldd resolves indirect needs as well. The C library and what belongs to it must be the machine's own, and so must CUDA.
elves=$(find "$bundle" -type f \( -name '*.so*' -o -perm -u+x \) ! -name '*.sh' ! -name run-tests)
for elf in $elves; do
  LD_LIBRARY_PATH=$PWD/$bundle/lib ldd "$elf"
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
  case $(basename "$library") in
    libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.* | libutil.so.* | \
      libanl.so.* | libnsl.so.* | libnss_*.so.* | ld-linux*.so.* | libcuda.so.* | libmemra-capture.so.*) ;;
    *) cp -Lp "$library" "$bundle/lib/" ;;
  esac
done
# shellcheck disable=SC2086
${STRIP:-strip} --strip-debug $elves "$bundle"/lib/*.so* 2>/dev/null || :

echo "$bundle: $(du -sk "$bundle" | cut -f1) KiB, $(wc -l < "$bundle/tests/LIST") test programs and scripts"
