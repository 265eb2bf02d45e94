#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Compares what a driver answers with a recording, as TAP.
#   compare.sh RECORDING ACTUAL KNOWN-DIFFERENCES
# KNOWN-DIFFERENCES has lines of the form case-id<TAB>reason; empty lines and lines that begin with # are skipped.
set -u
if [ $# -ne 3 ]; then
  echo "usage: compare.sh RECORDING ACTUAL KNOWN-DIFFERENCES" >&2
  exit 2
fi
for file in "$@"; do
  if [ ! -r "$file" ]; then
    echo "Bail out! cannot read $file"
    exit 2
  fi
done

# The three files by place, not by FNR: any of them may be empty.
RECORDING=$1 ACTUAL=$2 KNOWN=$3 awk '
function result(passed, text) {
  print (passed ? "ok " : "not ok ") (++n) " - " text
  if (!passed)
    failed++
}
function id_of(line,    end) {
  end = index(line, " | ")
  return end > 0 ? substr(line, 1, end - 1) : line
}
function show(id) {
  print "# recorded: " (id in recorded ? recorded[id] : "(no such line)")
  print "# actual:   " (id in actual ? actual[id] : "(no such line)")
}
BEGIN {
  while ((getline line < ENVIRON["RECORDING"]) > 0)
    if (line != "" && line !~ /^#/) {
      id = id_of(line)
      recorded[id] = line
      order[++count] = id
    }
  while ((getline line < ENVIRON["ACTUAL"]) > 0)
    if (line != "" && line !~ /^#/) {
      id = id_of(line)
      actual[id] = line
      if (!(id in recorded))
        order[++count] = id
    }
  while ((getline line < ENVIRON["KNOWN"]) > 0)
    if (line != "" && line !~ /^#/) {
      tab = index(line, "\t")
      id = tab > 0 ? substr(line, 1, tab - 1) : line
      reason = tab > 0 ? substr(line, tab + 1) : ""
      if (reason == "")
        result(0, id " is listed without a reason")
      if (id in known)
        result(0, id " is listed twice")
      else
        listed[++n_listed] = id
      known[id] = reason
    }
  for (i = 1; i <= count; i++) {
    id = order[i]
    same = id in recorded && id in actual && recorded[id] == actual[id]
    if (same && !(id in known)) {
      equal++
      continue
    }
    if (same) {
      equal++
      result(0, id " is listed as different but is not")
    } else if (id in known) {
      print "not ok " (++n) " - " id " # TODO " known[id]
      expected++
    } else {
      result(0, id)
      show(id)
    }
  }
  for (i = 1; i <= n_listed; i++)
    if (!(listed[i] in recorded) && !(listed[i] in actual))
      result(0, listed[i] " is listed but there is no such case")
  result(equal > 0, equal + 0 " lines equal")
  print "# " equal + 0 " equal, " expected + 0 " different as listed, " failed + 0 " failures, of " count + 0 " cases"
  print "1.." n
  exit failed > 0
}'
