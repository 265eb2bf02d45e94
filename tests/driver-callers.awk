# SPDX-License-Identifier: LGPL-2.1-or-later
#
# driver-callers.awk: the functions through which a call of the driver can be reached, read out of C sources that are
# formatted as .clang-format says. "awk -f driver-callers.awk FILES FILES" (every file twice: the first time round it
# learns which functions are static) prints one name a line, of functions that are not. A function that is named in
# another one, called or handed over, counts as called by it, and so does what g_auto() and g_autoptr() run at the end
# of a scope: the answer errs on the side of too many.

function key(name) { return (FILENAME "\t" name) in is_static ? FILENAME "\t" name : name }

# Without comments and strings; a comment may go on over lines.
function code(line,    start, end, out) {
  gsub(/"([^"\\]|\\.)*"/, "", line)
  out = ""
  while (line != "") {
    if (in_comment) {
      end = index(line, "*/")
      if (end == 0)
        return out
      line = substr(line, end + 2)
      in_comment = 0
    }
    start = index(line, "/*")
    if (start == 0)
      return out line
    out = out substr(line, 1, start - 1)
    line = substr(line, start + 2)
    in_comment = 1
  }
  return out
}

FNR == 1 { in_comment = 0; in_body = 0; name = ""; before = ""; again = (FILENAME in seen); seen[FILENAME] = 1 }
{
  line = code($0)
  if (match(line, /^G_DEFINE_AUTO(PTR)?_CLEANUP_(CLEAR_)?FUNC \([A-Za-z0-9]+, [a-z0-9_]+\)/)) {
    split(line, part, /[(), ]+/)
    cleanup[part[2]] = part[3]
  }
  if (!in_body && match(line, /^[a-z_][A-Za-z0-9_]* \(/)) {
    name = substr(line, 1, RLENGTH - 2)
    now_static = before ~ /(^| )static( |$)/
  }
  if (!in_body && line ~ /;[ ]*$/)
    name = ""
  if (line ~ /^\{/ && name != "") {
    in_body = 1
    if (now_static)
      is_static[FILENAME "\t" name] = 1
    if (again)
      function_of[++n] = key(name)
  } else if (line ~ /^\}/) {
    in_body = 0
    name = ""
  } else if (in_body && again) {
    if (line ~ /(\.|->)cu[A-Z][A-Za-z0-9_]* \(/)
      reaches[key(name)] = 1
    rest = line
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
      word = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      if (word in cleanup && (line ~ /g_auto(ptr)? \(/))
        word = cleanup[word]
      if (word != name)
        edges[++n_edges] = key(name) SUBSEP key(word)
    }
  }
  before = line
}
END {
  do {
    changed = 0
    for (i = 1; i <= n_edges; i++) {
      split(edges[i], end, SUBSEP)
      if (end[2] in reaches && !(end[1] in reaches)) {
        reaches[end[1]] = 1
        changed = 1
      }
    }
  } while (changed)
  for (i = 1; i <= n; i++)
    if (function_of[i] in reaches && function_of[i] !~ /\t/)
      print function_of[i]
}
