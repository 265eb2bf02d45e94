#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# summarise.sh FILE...: counts test results and prints "tests: N passed, N failed, N skipped".
#
# A .trs file is what automake's TAP driver wrote of one test program; any other file is raw TAP. Every test point counts
# by itself. What was planned and did not report (a crash), and a program that ended badly though its points were fine
# (.trs: ERROR; raw TAP: a last line "# exit status N"), counts as failed. A known difference ("not ok ... # TODO
# reason", which automake calls XFAIL) counts as skipped: it neither passed nor surprised anybody.
# Exit status: 0 if something passed and nothing failed, else 1.
#
# Only bash: it also runs on machines with nothing installed.

passed=0 failed=0 skipped=0

count_trs () {
  local line
  while IFS= read -r line || [[ -n $line ]]; do
    case $line in
      ':test-result: PASS'*) passed=$((passed + 1)) ;;
      ':test-result: SKIP'* | ':test-result: XFAIL'*) skipped=$((skipped + 1)) ;;
      ':test-result: FAIL'* | ':test-result: XPASS'* | ':test-result: ERROR'*) failed=$((failed + 1)) ;;
    esac
  done < "$1"
}

count_tap () {
  local line planned=0 seen=0 bad=0 status=0
  while IFS= read -r line || [[ -n $line ]]; do
    if [[ $line =~ ^1\.\.([0-9]+) ]]; then
      planned=${BASH_REMATCH[1]}
      [[ ${line^^} =~ ^1\.\.0\ *\#\ *SKIP ]] && skipped=$((skipped + 1))
    elif [[ $line =~ ^not\ ok($|\ ) ]]; then
      seen=$((seen + 1))
      if [[ ${line^^} =~ \#\ *TODO ]]; then
        skipped=$((skipped + 1))
      else
        bad=$((bad + 1))
      fi
    elif [[ $line =~ ^ok($|\ ) ]]; then
      seen=$((seen + 1))
      if [[ ${line^^} =~ \#\ *SKIP ]]; then skipped=$((skipped + 1)); else passed=$((passed + 1)); fi
    elif [[ $line =~ ^#\ exit\ status\ ([0-9]+)$ ]]; then
      status=${BASH_REMATCH[1]}
    fi
  done < "$1"
  [[ $seen -lt $planned ]] && bad=$((bad + planned - seen))
  [[ $status -ne 0 && $bad -eq 0 ]] && bad=1
  failed=$((failed + bad))
}

for file in "$@"; do
  if [[ ! -r $file ]]; then
    echo "summarise.sh: cannot read $file" >&2
    failed=$((failed + 1))
    continue
  fi
  case $file in
    *.trs) count_trs "$file" ;;
    *) count_tap "$file" ;;
  esac
done

echo "tests: $passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
