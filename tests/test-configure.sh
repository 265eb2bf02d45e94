#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-configure.sh: what configure refuses, and with which sentence; and that the compiler keeps us to the GLib that
# configure asks for. Runs in the build folder; TAP.
set -u
LC_ALL=C
export LC_ALL

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
build=$PWD
cc=${MEMRA_TEST_CC:-cc}
. "$source/tests/tap.sh"

# All that configure wants before it refuses; a source folder that is configured itself would be refused for that.
mkdir -p "$dir/source/include/memra-capture" && cp "$source/configure" "$dir/source/" \
  && cp "$source/include/memra-capture/memra-capture.h" "$dir/source/include/memra-capture/" \
  && cp -R "$source/build-aux" "$dir/source/" || exit 99

# Another machine is what configure's cache says of this one: there is no need of a compiler for it.
refuses () { # SENTENCE ARGUMENT...
  sentence=$1
  shift
  mkdir "$dir/build"
  (cd "$dir/build" && env -u CONFIG_SITE "$dir/source/configure" --quiet --without-cuda "$@") > "$dir/said" 2>&1
  status=$?
  made=$(find "$dir/build" -name Makefile)
  rm -rf "$dir/build"
  cat "$dir/said"
  [ $status -ne 0 ] && [ -z "$made" ] && grep -qF "configure: error: $sentence" "$dir/said"
}

# g_tree_remove_all() came with GLib 2.70, g_tree_node_first() with 2.68.
window=$(sed -n 's/^GLIB_WINDOW = //p' "$build/Makefile")
compiles () { # STATEMENT
  printf '#include <glib.h>\nvoid f (GTree *tree);\nvoid f (GTree *tree) { %s; }\n' "$1" > "$dir/window.c"
  # shellcheck disable=SC2046,SC2086
  $cc -Werror $window $(pkg-config --cflags glib-2.0) -fsyntax-only "$dir/window.c"
}
keeps_window () {
  [ -n "$window" ] && ! compiles 'g_tree_remove_all (tree)'
}

echo '1..5'
check '32 bits are refused' refuses 'memra-capture is for 64-bit machines only' ac_cv_sizeof_void_p=4
check 'big-endian is refused' refuses 'memra-capture is for little-endian machines only' ac_cv_c_bigendian=yes
check 'a toolkit that is not there is refused' refuses "--with-cuda=$dir/nowhere: neither" --with-cuda="$dir/nowhere"
check 'GLib 2.68 may be called' compiles 'g_tree_node_first (tree)'
check 'later GLib may not' keeps_window

[ "$failed" -eq 0 ]
