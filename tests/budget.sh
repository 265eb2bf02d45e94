#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# budget.sh [--update]: how many instructions the library itself takes for what it does, counted by callgrind on the host
# driver, against tests/budget.txt; TAP. What the library calls in GLib and the C library counts, what the driver, the
# body and other threads do does not, so the figures are the same on every machine with the same compiler, asked for the
# same: what distributions harden their packages with costs instructions, and is left alone. More than 5 % above the
# budget is an error, more than 5 % below asks for a new one. --update prints it.
set -u
LC_ALL=C
export LC_ALL

source=${G_TEST_SRCDIR:-$(dirname "$0")/..}
budget=$source/tests/budget.txt
phases='capture census launch replay'
driver=$PWD/lib/host/.libs/libcuda.so.1

skip () {
  echo "1..0 # SKIP $1"
  exit 0
}

compiler () {
  echo '__GNUC__ __OPTIMIZE__ __clang__ __x86_64__ __SSP_STRONG__ __CET__' \
    | ${MEMRA_TEST_CC:-cc} ${MEMRA_TEST_CFLAGS--O2} -E -P -x c -
}

[ -n "${VALGRIND:-}" ] || command -v valgrind >/dev/null || skip 'there is no valgrind (Debian package: valgrind)'
[ -z "${MEMRA_TEST_FLAGS:-}" ] || skip "built with $MEMRA_TEST_FLAGS"
wanted=$(sed -n 's/^# compiler: //p' "$budget")
[ "$(compiler)" = "$wanted" ] || [ "${1:-}" = --update ] \
  || skip "the budget is for a compiler that says $wanted, and this one says $(compiler)"

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

# Instructions of one phase.
count () {
  env -u G_SLICE -u G_DEBUG -u MALLOC_PERTURB_ LD_BIND_NOW=1 ./libtool --mode=execute "${VALGRIND:-valgrind}" \
    --tool=callgrind --toggle-collect=budget_measured --compress-strings=no --compress-pos=no \
    --callgrind-out-file="$dir/out" tests/budget "$1" "$driver" > "$dir/log" 2>&1 || return 1
  # Cost lines are "LINE COUNT". A line behind "calls=" is what the call took, all in all.
  awk '
    /^ob=/ { ours = /libmemra-capture/; next }
    /^cob=/ { other = 1; counts = !/libcuda|libmemra|budget|lt-budget/; next }
    /^calls=/ { getline; if (ours && other && counts) sum += $2; other = 0; next }
    /^[0-9]/ { if (ours) sum += $2 }
    END { print sum + 0 }' "$dir/out"
}

if [ "${1:-}" = --update ]; then
  sed '/^[a-z]/d; s/^# compiler: .*/# compiler: '"$(compiler)"'/' "$budget"
  for phase in $phases; do
    echo "$phase $(count "$phase")"
  done
  exit
fi

echo "1..$(echo $phases | wc -w)"
n=0
failed=0
for phase in $phases; do
  n=$((n + 1))
  limit=$(awk -v phase="$phase" '$1 == phase { print $2 }' "$budget")
  if now=$(count "$phase") && [ "$now" -gt 0 ]; then
    if [ "$now" -gt $((limit + limit / 20)) ]; then
      failed=$((failed + 1))
      echo "not ok $n - $phase: $now instructions, and the budget is $limit"
      echo "# If that is as it should be: 'make budget' prints a new tests/budget.txt"
    else
      echo "ok $n - $phase: $now instructions of $limit"
      [ "$now" -ge $((limit - limit / 20)) ] || echo "# Less than the budget: 'make budget' prints a new tests/budget.txt"
    fi
  else
    failed=$((failed + 1))
    echo "not ok $n - $phase"
    sed 's/^/# /' "$dir/log"
  fi
done
[ "$failed" -eq 0 ]
