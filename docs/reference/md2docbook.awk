# SPDX-License-Identifier: LGPL-2.1-or-later
#
# md2docbook.awk: one chapter, from the Markdown that docs/*.md are written in to DocBook. Variables: id, the chapter's
# name; sections, gtk-doc's list of symbols. What it knows: headings (one #, then ##, ###), paragraphs, lists (* and
# 1.), code between ``` and indented by four, tables, pictures, `code`, **strong**, and links. A symbol in `code` becomes a link
# into the reference, a link to another chapter a link to that chapter. Any awk will do.

BEGIN {
  while ((getline line < sections) > 0)
    if (line ~ /^[A-Za-z]/)
      symbols[line] = 1
  print "<?xml version=\"1.0\"?>"
  print "<!DOCTYPE chapter PUBLIC \"-//OASIS//DTD DocBook XML V4.3//EN\" \"http://www.oasis-open.org/docbook/xml/4.3/docbookx.dtd\">"
  depth = 0
  block = ""
}

function escape (text) {
  gsub (/&/, "\\&amp;", text)
  gsub (/</, "\\&lt;", text)
  gsub (/>/, "\\&gt;", text)
  return text
}

# What stands between ` and `.
function code (text,   name, target) {
  name = text
  sub (/ ?\(\)$/, "", name)
  target = name
  gsub (/_/, "-", target)
  if (name in symbols) {
    if (name ~ /^memra_/)
      return "<link linkend=\"" target "\"><function>" escape(text) "</function></link>"
    if (name ~ /^MEMRA_/)
      return "<link linkend=\"" target ":CAPS\"><literal>" escape(text) "</literal></link>"
    return "<link linkend=\"" name "\"><type>" escape(text) "</type></link>"
  }
  return "<literal>" escape(text) "</literal>"
}

function link (text, target,   name) {
  text = inline(text)
  if (target ~ /^https?:/)
    return "<ulink url=\"" escape(target) "\">" text "</ulink>"
  if (target ~ /^[a-z-]+\.md$/) {
    name = target
    sub (/\.md$/, "", name)
    return "<link linkend=\"chapter-" name "\">" text "</link>"
  }
  if (target ~ /^#/)
    return "<link linkend=\"" id "-" substr(target, 2) "\">" text "</link>"
  return "<filename>" text "</filename>"
}

function inline (text,   out, at, end, middle, stop) {
  out = ""
  while (length(text) > 0) {
    at = match(text, /`|\*\*|\[/)
    if (at == 0)
      return out escape(text)
    out = out escape(substr(text, 1, at - 1))
    if (substr(text, at, 1) == "`") {
      end = index(substr(text, at + 1), "`")
      if (end == 0)
        return out escape(substr(text, at))
      out = out code(substr(text, at + 1, end - 1))
      text = substr(text, at + end + 1)
    } else if (substr(text, at, 2) == "**") {
      end = index(substr(text, at + 2), "**")
      if (end == 0)
        return out escape(substr(text, at))
      out = out "<emphasis role=\"strong\">" inline(substr(text, at + 2, end - 1)) "</emphasis>"
      text = substr(text, at + end + 3)
    } else {
      middle = index(substr(text, at), "](")
      stop = middle > 0 ? index(substr(text, at + middle), ")") : 0
      if (stop == 0) {
        out = out "["
        text = substr(text, at + 1)
      } else {
        out = out link(substr(text, at + 1, middle - 2), substr(text, at + middle + 1, stop - 2))
        text = substr(text, at + middle + stop)
      }
    }
  }
  return out
}

# Ends whatever paragraph, list or table is open.
function finish () {
  if (block == "para")
    print "<para>" inline(gathered) "</para>"
  else if (block == "item")
    print "<para>" inline(gathered) "</para></listitem>"
  if (block == "item")
    print list == "*" ? "</itemizedlist>" : "</orderedlist>"
  else if (block == "table")
    print "</tbody></tgroup></informaltable>"
  else if (block == "indented")
    print "]]></programlisting></informalexample>"
  block = ""
  gathered = ""
}

function heading (level, title,   name) {
  finish()
  while (depth >= level) {
    print depth == 1 ? "</chapter>" : "</section>"
    depth--
  }
  depth = level
  name = tolower(title)
  gsub (/`/, "", name)
  gsub (/[^a-z0-9]+/, "-", name)
  sub (/-$/, "", name)
  if (level == 1)
    print "<chapter id=\"chapter-" id "\"><title>" inline(title) "</title>"
  else
    print "<section id=\"" id "-" name "\"><title>" inline(title) "</title>"
}

function row (line, tag,   cells, n, i) {
  gsub (/^\| *| *\|$/, "", line)
  n = split(line, cells, / *\| */)
  if (tag == "head") {
    print "<informaltable rules=\"all\"><tgroup cols=\"" n "\"><thead><row>"
    for (i = 1; i <= n; i++)
      print "<entry>" inline(cells[i]) "</entry>"
    print "</row></thead><tbody>"
    return
  }
  print "<row>"
  for (i = 1; i <= n; i++)
    print "<entry>" inline(cells[i]) "</entry>"
  print "</row>"
}

fenced {
  if ($0 ~ /^```/) {
    print "]]></programlisting></informalexample>"
    fenced = 0
  } else
    print
  next
}

/^```/ {
  finish()
  fenced = 1
  printf "<informalexample><programlisting><![CDATA["
  next
}

/^# /   { heading(1, substr($0, 3)); next }
/^## /  { heading(2, substr($0, 4)); next }
/^### / { heading(3, substr($0, 5)); next }

/^<!--/ { next }

# A picture, alone on its line; build.sh puts the file beside the pages.
/^!\[.*\]\(.*\)$/ {
  finish()
  target = $0
  sub (/.*\//, "", target)
  sub (/\)$/, "", target)
  title = substr($0, 3, index($0, "](") - 3)
  print "<informalfigure><mediaobject><imageobject><imagedata fileref=\"" escape(target) "\"/></imageobject>" \
        "<textobject><phrase>" escape(title) "</phrase></textobject></mediaobject></informalfigure>"
  next
}

/^$/ {
  if (block == "indented")
    print ""
  else if (block == "item")
    maybe = 1
  else
    finish()
  next
}

/^    / && block != "item" && block != "para" {
  if (block != "indented") {
    finish()
    block = "indented"
    printf "<informalexample><programlisting><![CDATA["
  }
  print substr($0, 5)
  next
}

/^\|/ {
  if (block != "table") {
    finish()
    block = "table"
    row($0, "head")
  } else if ($0 !~ /^\|[-| :]+\|$/)
    row($0, "body")
  next
}

/^(\*|[0-9]+\.) / {
  kind = $0 ~ /^\*/ ? "*" : "1"
  if (block == "item" && list == kind)
    print "<para>" inline(gathered) "</para></listitem>"
  else {
    finish()
    list = kind
    block = "item"
    print list == "*" ? "<itemizedlist>" : "<orderedlist>"
  }
  print "<listitem>"
  gathered = $0
  sub (/^(\*|[0-9]+\.) +/, "", gathered)
  maybe = 0
  next
}

{
  text = $0
  sub (/^ +/, "", text)
  if (block == "item" && (!maybe || $0 ~ /^ /)) {
    if (maybe) {
      print "<para>" inline(gathered) "</para>"
      gathered = text
    } else
      gathered = gathered " " text
    maybe = 0
    next
  }
  maybe = 0
  if (block != "para") {
    finish()
    block = "para"
    gathered = text
  } else
    gathered = gathered " " text
}

END {
  finish()
  while (depth > 0) {
    print depth == 1 ? "</chapter>" : "</section>"
    depth--
  }
}
