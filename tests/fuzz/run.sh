#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh RUNS TARGET...: each fuzz target for so many executions, on from its corpus. Runs in a build folder that was
# configured with --enable-fuzzing; what is found stays in fuzz/TARGET/ there, the corpus with what was added to it in
# fuzz/TARGET/corpus. The last lines are a table: what docs/proof.md has.
set -u

srcdir=${srcdir:-.}
runs=$1
shift
failed=0
top=$(pwd)
# A slice's next owner would be blamed for what the one before did.
G_SLICE=always-malloc
export G_SLICE
mkdir -p fuzz || exit 99
: > fuzz/table

# With input of more bytes a shape only gets slow, not stranger.
flags_of () {
  case $1 in
    shapes) echo '-max_len=256 -entropic=0' ;;
  esac
}

for program; do
  target=${program##*/fuzz-}
  folder=$top/fuzz/$target
  dictionary=$srcdir/tests/fuzz/$target.dict
  mkdir -p "$folder/corpus" || exit 99
  began=$(date +%s)
  # shellcheck disable=SC2046
  if "$program" -runs="$runs" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 $(flags_of "$target") \
    $([ -f "$dictionary" ] && echo "-dict=$dictionary") -artifact_prefix="$folder/" \
    "$folder/corpus" "$srcdir/tests/fuzz/corpus/$target" > "$folder/log" 2>&1; then
    result=clean
  else
    result=FAILED
    failed=1
    tail -n 60 "$folder/log"
  fi
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/log")
  edges=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$folder/log" | tail -n 1)
  echo "| $target | ${executions:-?} | $(($(date +%s) - began)) | ${edges:-?} | $result |" | tee -a fuzz/table
done

[ $failed -eq 0 ]
