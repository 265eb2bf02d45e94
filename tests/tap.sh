# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# For test scripts to source: a temporary folder $dir, which goes when the script ends, and TAP lines. What a check's
# command prints is the diagnosis, of which the end is shown. The script prints its plan and ends with [ "$failed" -eq 0 ].

n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

check () { # NAME COMMAND...
  n=$((n + 1))
  name=$1
  shift
  if "$@" > "$dir/why" 2>&1; then
    echo "ok $n - $name"
  else
    failed=$((failed + 1))
    echo "not ok $n - $name"
    tail -n 40 "$dir/why" | sed 's/^/# /'
  fi
}

skip () { # NAME REASON
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}
