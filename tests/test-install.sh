#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-install.sh [--installed ROOT]: what "make install" installs can be used by somebody else's programs, through
# pkg-config and with the source and the build folder out of sight. By itself it installs into a temporary folder, and
# takes that back with "make uninstall"; with --installed ("make installcheck") it takes what is installed under ROOT,
# which may be empty. Runs in the build folder; TAP.
set -u
LC_ALL=C.UTF-8
# LeakSanitizer dies at the exit of programs in which a driver's threads still run ("Tracer caught signal 11", gcc 12 and
# clang 14); leaks are looked for in the test programs.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export LC_ALL ASAN_OPTIONS

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
build=$PWD
make=${MEMRA_TEST_MAKE:-make}
cc=${MEMRA_TEST_CC:-cc}
cxx=${MEMRA_TEST_CXX:-c++}
flags=${MEMRA_TEST_FLAGS:-} # the sanitizers that the library was built with
installed=no
if [ "${1:-}" = --installed ]; then installed=yes; fi

for tool in $make readelf nm pkg-config; do
  if ! command -v "$tool" > /dev/null; then
    echo "1..0 # SKIP needs make, binutils and pkg-config"
    exit 0
  fi
done
. "$source/tests/tap.sh"
# The make that runs this test is not the one that this test runs.
unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS DESTDIR 2> /dev/null

# Variables of the Makefile.
for name in MEMRA_ABI VERSION bindir datadir includedir libdir pkgconfigdir prefix; do
  printf "\\t@echo 'make_%s=\"\$(%s)\"'\\n" "$name" "$name"
done > "$dir/lines"
{ echo memra-print: && cat "$dir/lines"; } | "$make" -s -f Makefile -f - memra-print > "$dir/settings" || exit 99
. "$dir/settings"

echo "1..14"

if [ $installed = yes ]; then
  root=${2:-}
  check "it is installed" test -f "$root$make_pkgconfigdir/memra-capture.pc"
else
  root=$dir/root
  check "make install" "$make" -s install DESTDIR="$root"
fi
libdir=$root$make_libdir
bindir=$root$make_bindir

# Where it was not installed where it was configured to be, the .pc file is told so.
if [ -n "$root" ]; then
  mkdir "$dir/pkgconfig"
  sed "s|^\([a-z_]*\)=/|\1=$root/|" "$root$make_pkgconfigdir/memra-capture.pc" > "$dir/pkgconfig/memra-capture.pc"
  PKG_CONFIG_PATH=$dir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
else
  PKG_CONFIG_PATH=$make_pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
fi
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# Programs of others see neither this library's tests nor its build.
outside () {
  (cd "$dir" && unset G_TEST_SRCDIR G_TEST_BUILDDIR && export LD_LIBRARY_PATH && "$@")
}

nothing_private () {
  (cd "$root" && find . -type f -o -type l) | sed 's/^\.//' | sort > "$dir/files"
  test -s "$dir/files" || { echo 'nothing is installed'; return 1; }
  ! grep -E -- '-private\.h$|/config\.h$|\.o$|\.a$|\.lo$|\.stamp$|/test-[^/]*$|\.trs$|\.log$|/\.libs/' "$dir/files"
}

one_prefix () {
  ! grep -vE "^($make_prefix|$make_libdir|$make_datadir)/" "$dir/files"
}

version_is_told () {
  test "$(pkg-config --modversion memra-capture)" = "$make_VERSION"
}

host_driver_is_there () {
  directory=$(pkg-config --variable=hostdriverdir memra-capture)
  test -f "$directory/libcuda.so.1" || { echo "$directory has no libcuda.so.1"; return 1; }
  readelf -d "$directory/libcuda.so.1" | grep -q 'SONAME.*\[libcuda\.so\.1\]'
}

soname_is_right () {
  current=${make_MEMRA_ABI%%:*}
  age=${make_MEMRA_ABI##*:}
  readelf -d "$libdir/libmemra-capture.so" | grep "SONAME.*\[libmemra-capture\.so\.$((current - age))\]"
}

no_cuda () {
  for file in "$libdir/libmemra-capture.so" "$bindir/memra-capture"; do
    if readelf -d "$file" | grep NEEDED | grep -i cuda; then return 1; fi
    if nm -D --undefined-only "$file" | grep -E ' cu[A-Z]'; then return 1; fi
  done
}

knows_no_build_folder () {
  for file in "$libdir"/libmemra-capture.so "$libdir"/memra-capture/*.so "$libdir"/memra-capture/host/*.so* \
    "$bindir/memra-capture"; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F "$build"; then return 1; fi
  done
  for file in "$libdir/pkgconfig/memra-capture.pc" "$root$make_includedir"/memra-capture/*.h; do
    if grep -FH "$build/" "$file" | grep -vF "=$make_prefix"; then return 1; fi
  done
}

# shellcheck disable=SC2046,SC2086
consumer () { # COMPILER LANGUAGE STANDARD
  cp "$source/tests/consumer.c" "$dir/consumer.$2" \
    && outside $1 -std=$3 -Wall -Wextra -Wpedantic -Werror $flags -o "consumer-$3" "consumer.$2" \
      $(pkg-config --cflags --libs memra-capture) \
    && outside "./consumer-$3"
}

# As README.md says it; that README.md and the file are one is for test-docs.sh.
# shellcheck disable=SC2046,SC2086
readme () {
  cp "$source/docs/examples/first.c" "$dir/first.c" \
    && outside $cc $flags first.c -o first $(pkg-config --cflags --libs memra-capture) \
    && outside ./first > "$dir/first.out" && diff -u "$source/docs/examples/first.expected" "$dir/first.out"
}

command_runs () {
  outside "$bindir/memra-capture" --version && outside "$bindir/memra-capture" demo --driver host --layers 1
}

uninstall () {
  "$make" -s uninstall DESTDIR="$root" || return 1
  ! find "$root" ! -type d | grep .
}

if [ $installed = yes ]; then
  skip "nothing private is installed" "what else lies there is not known"
  skip "everything is below the prefix" "what else lies there is not known"
else
  check "nothing private is installed" nothing_private
  check "everything is below the prefix" one_prefix
fi
check "pkg-config tells the version" version_is_told
check "pkg-config tells where the host driver is" host_driver_is_there
check "the soname is what libtool's numbers say" soname_is_right
check "neither library nor command links or needs libcuda" no_cuda
check "nothing has the build folder in it" knows_no_build_folder
check "a C11 program captures on the host driver" consumer "$cc" c c11
check "a gnu17 program captures on the host driver" consumer "$cc" c gnu17
check "a C++17 program captures on the host driver" consumer "$cxx" cc c++17
check "the program of README.md does what it says" readme
check "the command runs" command_runs
if [ $installed = yes ]; then
  skip "make uninstall leaves nothing behind" "it is not ours to remove"
else
  check "make uninstall leaves nothing behind" uninstall
fi

[ "$failed" -eq 0 ]
