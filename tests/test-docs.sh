#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-docs.sh: what the documentation says is so. Every block of code and output in README.md, CONTRIBUTING.md and
# docs/*.md stands in a file of docs/examples/ (whose programs test-examples.sh runs), every symbol, command, make target,
# file and case of the recording that is named there exists, and the manual pages are clean. Runs in the build folder; TAP.
set -u
LC_ALL=C.UTF-8
export LC_ALL

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
tool=${MEMRA_CAPTURE:-$PWD/tools/memra-capture}
build=$PWD
n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$source" || exit 99

check () { # NAME COMMAND...: a TAP line; what the command prints is the diagnosis, and makes it fail
  n=$((n + 1))
  title=$1
  shift
  "$@" > "$dir/why" 2>&1
  if [ ! -s "$dir/why" ]; then
    echo "ok $n - $title"
  else
    failed=$((failed + 1))
    echo "not ok $n - $title"
    sed 's/^/# /' "$dir/why"
  fi
}

skip () { # NAME REASON
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

texts="README.md CONTRIBUTING.md $(echo docs/*.md)"
pages="docs/memra-capture.1 docs/memra-capture.7 docs/memra-policy.5"
words () { # REGULAR-EXPRESSION: every match in texts and manual pages, once; in pages \- is a plain -
  # shellcheck disable=SC2086
  sed 's/\\-/-/g; s/\\f.//g' $texts $pages | grep -o -E "$1" | sort -u
}

# ---- Code blocks: $dir/block-N, and a line "N LANGUAGE FILE LINE" for each in $dir/blocks ----

# shellcheck disable=SC2086
awk -v dir="$dir" '
  function close_block () { if (open) close(dir "/block-" n); open = 0 }
  FNR == 1 { close_block(); fenced = 0; before = "" }
  /^```/ && !fenced { close_block(); n++; fenced = 1; open = 1; printf "" > (dir "/block-" n)
                      print n, (length($0) > 3 ? substr($0, 4) : "none"), FILENAME, FNR; next }
  /^```/ { fenced = 0; close_block(); next }
  fenced { print > (dir "/block-" n); next }
  /^    / && (open || before == "") {
    if (!open) { n++; open = 1; printf "" > (dir "/block-" n); print n, "indented", FILENAME, FNR }
    print substr($0, 5) > (dir "/block-" n)
    next
  }
  /^$/ { if (open) print "" > (dir "/block-" n); before = ""; next }
  { close_block(); before = $0 }' $texts > "$dir/blocks"

# Whether the lines of a block stand one after the other in one of the files.
stands_in () { # BLOCK FILE...
  awk '
    FILENAME != file { file = FILENAME; files++; if (files > 1) n = 0 }
    files == 1 { wanted[++total] = $0; next }
    FNR == 1 { n = 0 }
    { have[++n] = $0
      while (total > 0 && wanted[total] == "") total--
      if (n >= total) {
        for (i = 0; i < total && have[n - i] == wanted[total - i]; i++) ;
        if (i == total) { found = 1; exit }
      } }
    END { exit !found }' "$@"
}

blocks_stand_in_examples () {
  while read -r number language file line; do
    block=$dir/block-$number
    if [ "$language" = indented ] && grep -q '#include' "$block"; then language=c; fi
    case $language in
      c) stands_in "$block" docs/examples/*.c docs/examples/*.h docs/examples/*.policy ;;
      cpp) stands_in "$block" docs/examples/*.cc ;;
      python) stands_in "$block" docs/examples/*.py ;;
      ini) stands_in "$block" docs/examples/*.policy ;;
      json | text) stands_in "$block" docs/examples/*.expected ;;
      indented) true ;;
      *) false ;;
    esac || echo "$file:$line: this block ($language) stands in no file of docs/examples"
  done < "$dir/blocks"
}

# ---- Commands ----

# Blocks of commands, and `commands` in the text.
commands () {
  # shellcheck disable=SC2086
  {
    while read -r number language file line; do
      if [ "$language" = indented ] && ! grep -q '#include' "$dir/block-$number"; then cat "$dir/block-$number"; fi
    done < "$dir/blocks"
    grep -h -o '`[^`]*`' $texts | tr -d '`'
  } | sed -e 's/ # .*//' -e 's/ && /\n/g'
}

commands_exist () {
  "$tool" --help > "$dir/help"
  commands | grep -o -E '(^| )(memra-capture|tools/memra-capture) [a-z]+.*' | sed 's/^ *//' | sort -u > "$dir/commands"
  while read -r _ command rest; do
    grep -q -E "^  $command " "$dir/help" || { echo "memra-capture $command: no such command"; continue; }
    "$tool" "$command" --help > "$dir/command-help"
    for option in $(printf '%s\n' "$rest" | grep -o -E -- '--[a-z-]+'); do
      grep -q -e "$option" "$dir/command-help" || echo "memra-capture $command: no option $option"
    done
  done < "$dir/commands"
}

targets_exist () {
  commands | grep -E '^([A-Z_]+=[^ ]* )*make( |$)' | sed -E 's/^([A-Z_]+=[^ ]* )*make//; s/-C [^ ]+//' | tr ' ' '\n' \
    | grep -v -E '^(|all|check|clean|dist|distcheck|install|-[a-zA-Z0-9]+|[A-Za-z_]+=.*)$' | sort -u > "$dir/targets"
  while read -r target; do
    grep -q -E "^$target:|^[[:space:]]+$target( |\\\\|\$)" Makefile.am || echo "make $target: no such target"
  done < "$dir/targets"
}

# ---- Names ----

symbols_exist () {
  words 'memra_[a-z0-9_]*[a-z0-9]' | grep -v -E '^memra_host_(module|control)$' > "$dir/symbols"
  sed -n 's/^ *\(memra_[a-z0-9_]*\);$/\1/p' lib/memra-capture.map | sort -u > "$dir/map"
  comm -23 "$dir/symbols" "$dir/map" | sed 's/$/: no such function/'
  words 'Memra[A-Z][A-Za-z0-9]*' > "$dir/types"
  grep -E '^Memra' docs/reference/memra-capture-sections.txt | sort -u > "$dir/known"
  comm -23 "$dir/types" "$dir/known" | sed 's/$/: no such type/'
  words 'MEMRA_[A-Z0-9_]*[A-Z0-9]' | while read -r word; do
    grep -q -r -w -e "$word" include lib kernels tests/*.c tests/*.sh m4 || echo "$word: no such constant or variable"
  done
}

files_exist () {
  # shellcheck disable=SC2086
  for text in $texts; do
    grep -o -E '\]\([^)#:]+\)' "$text" | sed 's/^](//; s/)$//' | while read -r link; do
      test -e "$(dirname "$text")/$link" || echo "$text: link to $link, which is not there"
    done
    # What was seen on hardware is written down where there is hardware.
    grep -v 'docs/gpu-results.md' "$text" | grep -o -E '`(docs|include|kernels|lib|m4|tests|tools|debian)/[A-Za-z0-9_./*-]*`' | tr -d '`' | while read -r path; do
      # A tarball holds no packaging.
      case $path in debian/*) test -d debian || continue ;; esac
      # shellcheck disable=SC2086
      ls -d $path > /dev/null 2>&1 || test -e "$build/$path" || echo "$text: $path is not there"
    done
  done
}

chapters_are_listed () {
  for chapter in docs/*.md; do
    name=$(basename "$chapter" .md)
    case $name in gpu-results) continue ;; esac
    grep -q "xml/$name.xml" docs/reference/memra-capture-docs.xml || echo "$chapter is not part of the manual"
  done
}

cases_exist () {
  recording=tests/conformance/h200-580.159.04.txt
  grep -o -E '`[a-z-]+/[A-Za-z0-9_./-]+`' docs/under-capture.md | tr -d '`' | grep -v -E '^(docs|tests|lib)/' | sort -u > "$dir/cases"
  test -s "$dir/cases" || echo "no case is named"
  cut -d ' ' -f 1 "$recording" > "$dir/recorded"
  while read -r case; do
    awk -v case="$case" '$0 == case || index($0, case "/") == 1 { found = 1; exit } END { exit !found }' "$dir/recorded" \
      || echo "$case: not in $recording"
  done < "$dir/cases"
}

# ---- Manual pages ----

versions_agree () {
  version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$build/config.h")
  grep -L -E "^\.TH [A-Z-]+ [0-9] \"[0-9-]+\" \"memra-capture $version\"" $pages | sed "s/\$/: the title line has another version than $version/"
  head -n 1 NEWS | grep -q "^memra-capture $version " || echo "NEWS does not begin with version $version"
}

lint () {
  mandoc -T lint -W warning $pages
}

man_warnings () {
  for page in $pages; do
    MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "./$page" 2>&1 > /dev/null
  done
}

echo "1..12"
# The tables, made anew of what the programs in tests/bench printed.
figures_agree () {
  run=$(grep -o 'performance/[a-z0-9.-]*/[a-z]*\.svg' docs/performance.md | head -n 1 | xargs dirname)
  cp docs/performance.md "$dir/performance.md" && chmod u+w "$dir/performance.md"
  python3 docs/performance/figures.py update "docs/$run" "$dir/performance.md" || echo "figures.py failed"
  diff docs/performance.md "$dir/performance.md"
}

check "there are blocks of code to compare" sh -c 'test "$(wc -l < "$1")" -gt 10 || echo "only a few blocks were found"' sh "$dir/blocks"
check "every block of code and output stands in docs/examples" blocks_stand_in_examples
check "every command and option that is named exists" commands_exist
check "every make target that is named exists" targets_exist
check "every function, type and constant that is named exists" symbols_exist
check "every file that is named exists" files_exist
check "every chapter is part of the manual" chapters_are_listed
check "every case that is cited is in the recording" cases_exist
check "manual pages and NEWS are of this version" versions_agree
if command -v python3 > /dev/null; then
  check "the figures of docs/performance.md are those that were printed" figures_agree
else
  skip "the figures of docs/performance.md are those that were printed" "needs python3"
fi
if command -v mandoc > /dev/null; then
  check "mandoc finds nothing wrong with the manual pages" lint
else
  skip "mandoc finds nothing wrong with the manual pages" "needs mandoc"
fi
if command -v man > /dev/null && man --version 2> /dev/null | grep -q '^man [0-9]'; then
  check "man finds nothing wrong with the manual pages" man_warnings
else
  skip "man finds nothing wrong with the manual pages" "needs man-db"
fi

[ "$failed" -eq 0 ]
