#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# build.sh [--html] SOURCE BUILD OUT VERSION: makes the reference manual in the folder OUT, of the doc comments in the
# folder SOURCE (and the generated header in BUILD) and of the chapters in SOURCE/docs. Without --html it stops at
# DocBook, with gtk-doc's reports of what is missing. Called by make (configure --enable-gtk-doc) and by
# tests/test-reference.sh.
set -eu

html=no
if [ "$1" = --html ]; then
  html=yes
  shift
fi
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
out=$3
version=$4
module=memra-capture
docs=$source/docs

rm -rf "$out"
mkdir -p "$out/xml"
cd "$out"

cp "$docs/reference/$module-docs.xml" "$docs/reference/$module-sections.txt" .
chmod u+w ./*
: > $module.types
printf '<!ENTITY package_version "%s">\n' "$version" > xml/gtkdocentities.ent
for chapter in "$docs"/*.md; do
  name=$(basename "$chapter" .md)
  if grep -q "xml/$name.xml" $module-docs.xml; then
    awk -v id="$name" -v sections=$module-sections.txt -f "$docs/reference/md2docbook.awk" "$chapter" > "xml/$name.xml"
  fi
done

gtkdoc-scan --module=$module --ignore-headers=$module.h --ignore-decorators='MEMRA_AVAILABLE_IN_\w*' \
  --source-dir="$source/include/memra-capture" --source-dir="$build/include/memra-capture"
gtkdoc-mkdb --module=$module --output-format=xml --source-suffixes=c,h --name-space=memra \
  --main-sgml-file=$module-docs.xml --source-dir="$source/include/memra-capture" \
  --source-dir="$build/include/memra-capture" --source-dir="$source/lib" --source-dir="$source/kernels"

if [ $html = yes ]; then
  mkdir html
  (cd html && gtkdoc-mkhtml $module ../$module-docs.xml)
  cp "$docs"/performance/*/*.svg html/
  gtkdoc-fixxref --module=$module --module-dir=html
fi
