#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-fuzz.sh: the corpus of each fuzz target, replayed. Runs in the build folder; TAP.
set -u

corpus=${G_TEST_SRCDIR:-$(dirname "$0")/..}/tests/fuzz/corpus
n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

echo "1..$(ls "$corpus" | wc -l)"
for folder in "$corpus"/*; do
  target=fuzz-$(basename "$folder")
  n=$((n + 1))
  if "tests/fuzz/$target" "$folder"/* > "$dir/log" 2>&1; then
    echo "ok $n - $target: $(ls "$folder" | wc -l) files"
  else
    failed=$((failed + 1))
    echo "not ok $n - $target"
    tail -n 40 "$dir/log" | sed 's/^/# /'
  fi
done

[ "$failed" -eq 0 ]
