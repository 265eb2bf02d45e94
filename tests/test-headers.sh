#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-headers.sh: the public headers compile without a warning in every language they are for, with and without cuda.h
# before them, and leave nothing behind but their own documented names. Runs in the build folder; TAP.
set -u
LC_ALL=C
export LC_ALL

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
cc=${MEMRA_TEST_CC:-cc}
cxx=${MEMRA_TEST_CXX:-c++}
headers=$source/include/memra-capture
. "$source/tests/tap.sh"

# Headers of others are system headers: their warnings are not ours.
includes="-I$source/include -Iinclude $(pkg-config --cflags glib-2.0 | sed 's/-I */-isystem /g')"
strict='-Wall -Wextra -Wpedantic -Wundef -Werror'
cuda=${MEMRA_TEST_CUDA_CPPFLAGS:-}
have_cuda=no
echo '#include <cuda.h>' > "$dir/cuda.c"
echo 'int usable;' > "$dir/usable.c"
echo '#include <type_traits>' > "$dir/usable.cc"
# shellcheck disable=SC2086
if $cc $cuda -fsyntax-only "$dir/cuda.c" 2> /dev/null; then have_cuda=yes; fi

# What configure was given, and the other of gcc and clang if it is there.
compilers=
for pair in "$cc|$cxx" "gcc|g++" "clang|clang++"; do
  first=${pair%%|*}
  second=${pair#*|}
  if ! command -v "${first%% *}" > /dev/null || ! command -v "${second%% *}" > /dev/null; then continue; fi
  $first -fsyntax-only "$dir/usable.c" 2> /dev/null && $second -fsyntax-only "$dir/usable.cc" 2> /dev/null || continue
  key=$($first --version 2> /dev/null | sed -n '1s/^[^ ]* //p')
  case $compilers in *"<$key>"*) ;; *) compilers="$compilers<$key>$pair
" ;; esac
done

write () { # LANGUAGE-EXTENSION HEADER CUDA
  {
    if [ "$3" = yes ]; then echo '#include <cuda.h>'; fi
    echo "#include <memra-capture/$2>"
    if [ "$2" = memra-capture.h ]; then
      # Twice is once, and every name can be used.
      echo '#include <memra-capture/memra-capture.h>'
      if [ "$3" = yes ]; then
        # The driver's own handles are taken without a cast.
        echo 'MemraStream *wrap (MemraContext *c, CUstream s);'
        echo 'MemraStream *wrap (MemraContext *c, CUstream s) { return memra_stream_wrap (c, s, NULL); }'
        echo 'MemraCensus *read_graph (MemraDriver *d, CUgraph g);'
        echo 'MemraCensus *read_graph (MemraDriver *d, CUgraph g) { return memra_census_new_from_graph (d, g, NULL); }'
      fi
    fi
    echo 'int done = 0;'
  } > "$dir/probe.$1"
}

compiles () { # COMPILER STANDARD EXTENSION HEADER CUDA
  write "$3" "$4" "$5"
  extra=
  if [ "$5" = yes ]; then extra=$cuda; fi
  # shellcheck disable=SC2086
  $1 -std=$2 $strict $includes $extra -fsyntax-only "$dir/probe.$3"
}

# Each public header but the umbrella and the two that need no GLib.
sub_headers=$(cd "$headers" && ls ./*.h | sed 's,^\./,,' \
  | grep -vxE 'memra-capture\.h|memra-host-driver\.h|memra-host-module\.h'; echo memra-version.h)
sub_headers=$(echo "$sub_headers" | sort -u)

refuses () { # EXTENSION COMPILER
  for header in $sub_headers; do
    write "$1" "$header" no
    # shellcheck disable=SC2086
    if $2 $includes -fsyntax-only "$dir/probe.$1" 2> "$dir/messages"; then
      echo "$header can be included alone"
      return 1
    fi
    grep -q "/$header:[0-9:]*.*Include <memra-capture/memra-capture.h> only" "$dir/messages" || { cat "$dir/messages"; return 1; }
  done
}

# Prints the macros that our headers define and do not take back: "#define" and "#undef" with the file they stand in.
macros () { # HEADER
  write c "$1" no
  # shellcheck disable=SC2086
  $cc -std=gnu11 $includes -E -dD "$dir/probe.c" | awk '
    /^# [0-9]+ "/ { split($0, part, "\""); ours = part[2] ~ /memra-capture\/memra-[a-z0-9-]*\.h$/; next }
    ours && /^#define / { name = $2; sub(/\(.*/, "", name); defined[name] = 1 }
    /^#undef / { delete defined[$2] }
    END { for (name in defined) print name }' | sort
}

documented_macros_only () {
  macros memra-capture.h > "$dir/macros"
  test -s "$dir/macros" || { echo 'no macro was found at all'; return 1; }
  if grep -vE '^MEMRA_' "$dir/macros"; then return 1; fi
  if grep -xE 'MEMRA_CAPTURE_(INSIDE|COMPILATION)' "$dir/macros"; then return 1; fi
  sections=$source/docs/reference/memra-capture-sections.txt
  if [ -f "$sections" ]; then
    sort "$sections" > "$dir/sections"
    comm -23 "$dir/macros" "$dir/sections" > "$dir/undocumented"
    if [ -s "$dir/undocumented" ]; then cat "$dir/undocumented"; return 1; fi
  fi
}

umbrella_has_all () {
  for header in $sub_headers; do
    grep -qx "#include <memra-capture/$header>" "$headers/memra-capture.h" || { echo "$header is missing there"; return 1; }
  done
}

# An opaque type's comment has a word on threads: who may share it, or that nobody may.
threads_are_told () {
  awk '/^\/\*\*/ { comment = ""; open = 1 }
    open { comment = comment $0 }
    /\*\/$/ { open = 0 }
    /^typedef struct _Memra[A-Za-z0-9]+ Memra[A-Za-z0-9]+;$/ { name = $NF; sub (/;/, "", name); type[name] = comment }
    /^struct _Memra[A-Za-z0-9]+$/ { delete type[substr ($2, 2)] }
    END { for (name in type) { n++; if (type[name] !~ /thread/) { print name; bad = 1 } } exit bad || n < 20 }' "$headers"/*.h
}

# Neither cuda.h nor any header but GLib's, C's and our own.
includes_nothing_else () {
  if grep -hE '^ *# *include' "$headers"/*.h \
    | grep -vE '<memra-capture/memra-[a-z0-9-]*\.h>|<glib\.h>|<(stdint|stddef)\.h>'; then
    return 1
  fi
}

count=$(printf %s "$compilers" | grep -c .)
echo "1..$((count * 3 * 4 + 7))"

printf %s "$compilers" > "$dir/compilers"
while IFS= read -r line; do
  pair=${line#*>}
  for language in c11:c gnu17:c c++17:cc; do
    standard=${language%%:*}
    extension=${language#*:}
    if [ "$extension" = c ]; then compiler=${pair%%|*}; else compiler=${pair#*|}; fi
    check "memra-capture.h as $standard, $compiler" compiles "$compiler" "$standard" "$extension" memra-capture.h no
    if [ $have_cuda = yes ]; then
      check "memra-capture.h after cuda.h as $standard, $compiler" \
        compiles "$compiler" "$standard" "$extension" memra-capture.h yes
    else
      skip "memra-capture.h after cuda.h as $standard, $compiler" 'there is no cuda.h'
    fi
    check "memra-host-driver.h alone as $standard, $compiler" \
      compiles "$compiler" "$standard" "$extension" memra-host-driver.h no
    check "memra-host-module.h alone as $standard, $compiler" \
      compiles "$compiler" "$standard" "$extension" memra-host-module.h no
  done
done < "$dir/compilers"

check "every other header refuses to be included alone in C" refuses c "$cc"
check "every other header refuses to be included alone in C++" refuses cc "$cxx"
check "the umbrella includes every other header" umbrella_has_all
check "what macros they leave begin with MEMRA_ and are documented" documented_macros_only
check "they include GLib, C's own headers and each other" includes_nothing_else
check "every opaque type says what threads may do with it" threads_are_told
check "those of the host driver need no GLib" sh -c "! grep -E '<glib|GLIB|G_BEGIN' '$headers/memra-host-driver.h' '$headers/memra-host-module.h'"

[ "$failed" -eq 0 ]
