#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-reference.sh: the reference manual can be made, and every public symbol is documented. Runs in the build folder;
# TAP.
set -u
LC_ALL=C.UTF-8
export LC_ALL

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)

for tool in gtkdoc-scan gtkdoc-mkdb gtkdoc-check; do
  if ! command -v $tool > /dev/null || ! pkg-config --exists 'gtk-doc >= 1.33'; then
    echo "1..0 # SKIP needs gtk-doc 1.33 or later (Debian package: gtk-doc-tools)"
    exit 0
  fi
done
. "$source/tests/tap.sh"
manual=docs/reference/manual

make_docbook () {
  sh "$source/docs/reference/build.sh" "$source" . "$dir/reference" 0 > "$dir/log" 2>&1 || { cat "$dir/log"; return 1; }
}

no_warnings () { # LOG: none but those about symbols of others, whose manuals may not be installed
  ! grep -i -E 'warning|error:' "$1" | grep -v -E 'no link for: .?(G|g|NULL|TRUE|FALSE|CU|cu|uint32-t)'
}

everything_is_documented () {
  (cd "$dir/reference" && DOC_MODULE=memra-capture DOC_MAIN_SGML_FILE=memra-capture-docs.xml gtkdoc-check)
  status=$?
  if [ $status -ne 0 ]; then
    cat "$dir"/reference/memra-capture-undocumented.txt "$dir"/reference/memra-capture-undeclared.txt \
      "$dir"/reference/memra-capture-unused.txt
  fi
  return $status
}

there_are_pages () {
  for page in index.html memra-capture-Captures.html memra-capture-Census.html chapter-getting-started.html api-index-full.html; do
    test -s $manual/html/$page || { echo "$page is not there"; ls $manual/html; return 1; }
  done
}

echo "1..5"
check "the doc comments and chapters can be read" make_docbook
check "nothing is wrong with them" no_warnings "$dir/log"
check "every public symbol is documented" everything_is_documented
if [ -d $manual/html ]; then
  check "nothing is wrong with the manual, and no link leads nowhere" no_warnings docs/reference/manual.log
  check "chapters and reference are in it" there_are_pages
else
  echo "ok 4 - nothing is wrong with the manual, and no link leads nowhere # SKIP configured without --enable-gtk-doc"
  echo "ok 5 - chapters and reference are in it # SKIP configured without --enable-gtk-doc"
fi

[ "$failed" -eq 0 ]
