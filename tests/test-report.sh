#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# test-report.sh [PROGRAM]: memra-capture show DIR and report from outside, on the recordings of tests/recordings, as TAP.
# PROGRAM, else $MEMRA_CAPTURE, else the one of the build folder that this runs in.
set -u

source=$(cd "${G_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
tool=${1:-${MEMRA_CAPTURE:-./tools/memra-capture}}
samples=$source/tests/recordings
LC_ALL=C.UTF-8
export LC_ALL
unset NO_COLOR TERM
n=0
failed=0
dir=$(mktemp -d) || exit 99
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM

pass () {
  n=$((n + 1))
  echo "ok $n - $1"
}

fail () {
  n=$((n + 1))
  failed=$((failed + 1))
  echo "not ok $n - $1"
}

skip () {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}

holds () {
  case $1 in
    status=*) [ "$status" = "${1#*=}" ] ;;
    out=*) grep -qF -e "${1#*=}" "$dir/out" ;;
    err=*) grep -qF -e "${1#*=}" "$dir/err" ;;
    page=*) grep -qF -e "${1#*=}" "$page" ;;
    no-out=*) ! grep -qF -e "${1#*=}" "$dir/out" ;;
    no-err=*) ! grep -qF -e "${1#*=}" "$dir/err" ;;
    no-page=*) [ -s "$page" ] && ! grep -qF -e "${1#*=}" "$page" ;;
    # COUNT:TEXT, in how many places.
    times=*) what=${1#*=}; [ "$(grep -oF -e "${what#*:}" "$page" | wc -l)" -eq "${what%%:*}" ] ;;
    silent) [ ! -s "$dir/out" ] ;;
    quiet) [ ! -s "$dir/err" ] ;;
    said) grep -q '^memra-capture: .' "$dir/err" && ! grep -qi 'critical\|sanitizer\|runtime error' "$dir/err" ;;
    # But for the first line, which may have the name of a folder.
    narrow) awk 'NR > 1 && length > 80 { wide = 1 } END { exit wide }' "$dir/out" ;;
    # No byte moves a cursor, and all of it is text.
    text=*) ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "${1#*=}" && iconv -f UTF-8 -t UTF-8 "${1#*=}" >/dev/null 2>&1 ;;
    gone=*) [ ! -e "${1#*=}" ] ;;
    alone=*) [ "$(ls -A "$(dirname "${1#*=}")")" = "$(basename "${1#*=}")" ] ;;
    no) false ;;
    *) echo "# what is $1?"; false ;;
  esac
}

# expect DESCRIPTION WHAT...: a test point about the last run.
expect () {
  description=$1
  shift
  broken=
  for what; do
    holds "$what" || broken="$broken [$what]"
  done
  if [ -z "$broken" ]; then
    pass "$description"
    return
  fi
  fail "$description"
  echo "# does not hold:$broken (exit status $status)"
  sed 's/^/# out: /' "$dir/out" | cut -c 1-300 | head -n 40
  sed 's/^/# err: /' "$dir/err" | cut -c 1-300 | head -n 30
}

page=$dir/page.html

run () {
  status=0
  "$tool" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

# report FOLDER: into $page.
report () {
  rm -f "$page"
  run report "$1" -o "$page"
}

# A PATH on which is what a wrapper of the program may want, and no Graphviz; fake_dot puts one there.
mkdir "$dir/bin"
for command in sh cat rm mkdir sed ls dirname basename grep cut expr uname sleep echo test printf env cp mv ln touch mktemp gcc cc ld; do
  where=$(command -v $command) && case $where in /*) ln -s "$where" "$dir/bin/$command" ;; esac
done
ours=$dir/bin

fake_dot () { # COMMAND: what it does
  printf '#!/bin/sh\n%s\n' "$1" >"$ours/dot"
  chmod +x "$ours/dot"
}

on_our_path () {
  status=0
  (PATH=$ours; export PATH; "$tool" "$@") >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

# copy NAME FOLDER: a sample that may be changed.
copy () {
  rm -rf "$2"
  cp -R "$samples/$1" "$2"
  chmod -R u+w "$2"
}

# census FILE KERNELS WORD: a census of so many kernels of different names, told apart from others by a word of eight digits.
census () {
  awk -v n="$2" -v word="$3" 'BEGIN {
    printf "{\"copies\":[],\"edges\":{\"list\":["
    for (i = 1; i < n; i++) printf "%s[%d,%d]", (i > 1 ? "," : ""), i - 1, i
    printf "],\"normal\":%d,\"programmatic\":0},\"format\":\"memra-capture-census\",\"hazards\":[],\"kernels\":[", n - 1
    for (i = 0; i < n; i++)
      printf "%s{\"args\":[{\"hex\":\"%s\"}],\"block\":[1,1,1],\"demangled\":\"kernel_%d\",\"depth\":0,\"grid\":[1,1,1]," \
        "\"name\":\"kernel_%d\",\"node\":%d,\"section\":null,\"shared\":0}", (i > 0 ? "," : ""), word, i, i, i
    printf "],\"layer\":0,\"nodes\":{\"kernel\":%d},\"others\":[],\"version\":1}\n", n }' >"$1"
}

# ---- show DIR ----

run show --help
expect 'help of show' status=0 quiet narrow out='show [OPTION...] FILE|DIR' out='DIR is a folder that record wrote'
run show "$samples/ranks"
expect 'show: who was recorded' status=0 quiet narrow out='2 processes, 5 graphs (4 different), 3006 launches' \
  out='rank 0 (process 2001 of node1): 3 graphs, 2 broken captures, driver 13.0' out='engine --layers 2' text="$dir/out"
expect 'show: equal graphs are one line' out='G1       x 2         6      3  1 kernel, 1 memcpy, 1 memset' \
  out='conf_store x2' out='graph-2001-1.json and 1 more' out='G4       x 1      1500      4  1 host, 2 kernel, 1 memset' no-out=G5
expect 'show: hazards' out='hazards: 1 device-to-host-pageable' out='hazards: 1 host-node'
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/line" && mv "$dir/line" "$dir/out"
expect 'show: who broke a capture' out='8 captures begun, 2 broken' \
  out='broken by cuStreamSynchronize (900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED), called from record_program_synchronize+0x11 in engine' \
  out='broken by cuMemAlloc_v2' out='on another thread, after a memset node' out='(the driver: The call conflicts with'
expect 'show: updates' out='1 update accepted, 1 refused' out='1: the topology changed'
run show "$samples/layers"
expect 'show: a record without ranks and launches' status=0 quiet narrow out='1 process, 2 graphs (1 different)' no-out=launches, \
  out='G1       x 2         -     20  20 kernel' out='memra_dsv4_matvec x5, memra_dsv4_expert_matvec x3, ' out='and 3 more' out='2 captures begun, 0 broken'
run show --json "$samples/ranks"
expect 'show as JSON' status=0 quiet out='"directory":"' out='"times":2' out='"launches":1500' out='"types":{"kernel":1,"memcpy":1,"memset":1}' \
  out='"hazards":{"host-node":1}' out='{"name":"conf_store","short":"conf_store","count":2}' \
  out='{"process":"2002","graph":2,"census":"graph-2002-2.json"}' out='"function":"cuMemAlloc_v2"' out='"other_thread":true' \
  out='"stack":["record_program_synchronize+0x11 in engine",' out='"updates_accepted":1' out='"passed_over":0' out='"rank":1'
if command -v python3 >/dev/null 2>&1; then
  python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$dir/out" 2>>"$dir/err"
  status=$?
  expect 'which is JSON' status=0
else
  skip 'which is JSON' 'no python3'
fi
run show "$dir/nothing-there"
expect 'show of a folder that is not there' status=2 silent said err=nothing-there
mkdir "$dir/empty"
run show "$dir/empty"
expect 'show of an empty folder' status=2 silent said err='There is no record of a program in'

# ---- report ----

run report --help
expect 'help of report' status=0 quiet narrow out='report [OPTION...] DIR' out='-o, --output=OUT'
run report
expect 'report without a folder' status=2 silent said err=DIR
run report a b
expect 'report of two folders' status=2 silent said err='1 argument'
report "$dir/nothing-there"
expect 'report of a folder that is not there' status=2 silent said err=nothing-there gone="$page"
report "$dir/empty"
expect 'report of an empty folder' status=2 silent said err='There is no record of a program in' gone="$page"
report "$samples/ranks"
expect 'report' status=0 silent quiet page='<!DOCTYPE html>' page='</html>' text="$page"
expect 'the page is by itself' page="content=\"default-src 'none'; style-src 'unsafe-inline'" no-page='<script' no-page='<link' \
  no-page='<img' no-page='<iframe' no-page='url(' no-page='@import' no-page=' src=' no-page='href="http'
expect 'the summary' page='2 processes on node1' page='CUDA driver 13.0' page='2025-12-01 14:00:00 UTC' page='engine --layers 2' \
  page='2 of 8 captures broken' page='Processes made different graphs' page='3 graphs with hazards' page='1 update refused' \
  page='<b>3,006</b><span>launches' page='graphs, 4 different'
expect 'the table of graphs' page='<tr id="r1">' page='<tr id="r4">' no-page='<tr id="r5">' page='1 kernel, 1 memcpy, 1 memset' \
  page='conf_store x2' page='<span class="tag warn">1 host-node</span>'
expect 'each graph' page='id="g1"' page='id="g4"' page='graph-2001-1.json' page='rank 0 (process 2001): graph 1, captured; rank 1 (process 2002): graph 1, captured' \
  page='rank 0 (process 2001): graph 3, built by hand' page='writes pageable host memory at every replay' \
  page='Instantiated from' page='1,500 times'
expect 'broken captures with their stacks' page='<h3><code>cuStreamSynchronize</code></h3><span class="tag bad">900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED' \
  page='<li><code>record_program_synchronize+0x11 in engine</code></li>' page='kernel &#39;conf_store&#39;; 1 operation captured' \
  page='2002, not the one that began the capture' page='The call conflicts with a global capture'
expect 'updates' page='1 accepted, 1 refused' page='<h3>the topology changed: another number of nodes or other dependencies</h3>' page=cuGraphExecUpdate_v2
expect 'two ranks' page='2 processes with 2 to 3 graphs: 2 of 3 differ' page='<td class="odd"><a href="#g4">G4</a></td>' \
  page='<h3>Graph 2 of each process' page='<span class="plus">+ host' page='<b>rank 1</b>: no such graph'
if command -v dot >/dev/null 2>&1; then
  expect 'pictures' times='4:<svg ' no-page='id="node1"' no-page='<!--' no-page='<?xml' page='fill="#ffe5e5"'
else
  skip 'pictures' 'no Graphviz'
fi
report "$samples/layers"
expect 'a record without ranks and launches' status=0 quiet page='All captures ended well' page='nothing to compare' no-page='>Launches<' \
  no-page='id="broken"' no-page='id="updates"' page='<td>' page='graphs 1-2, captured'
copy ranks "$dir/agree"
rm "$dir/agree"/*-2002*
for file in events graph; do
  for one in "$dir/agree/$file"-2001*; do sed 's/graph-2001-/graph-2002-/; s/"pid":2001/"pid":2002/; s/"rank":0/"rank":1/' "$one" >"$(echo "$one" | sed 's/-2001/-2002/')"; done
done
report "$dir/agree"
expect 'ranks that agree' status=0 quiet page='2 processes with 3 graphs each: all agree' page='All processes made the same graphs' \
  no-page='class="odd"' page='4 of 12 captures broken' times='3:<span class="soft">2 times</span>'

# Every tag that is opened is closed, and nothing comes from elsewhere.
check_page () { # DESCRIPTION
  if ! command -v python3 >/dev/null 2>&1; then
    skip "$1" 'no python3'
    return
  fi
  status=0
  python3 - "$page" >"$dir/out" 2>"$dir/err" <<'END' || status=$?
import html.parser
import sys

VOID = {"meta", "br", "hr"}
KNOWN = set("""html head meta title style body header main footer nav div span h1 h2 h3 p a b i code pre table thead tbody tr th td
section article details summary dl dt dd ul ol li svg g polygon path text ellipse polyline""".split())


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], set(), set()

    def handle_starttag(self, tag, attributes):
        if tag not in KNOWN:
            sys.exit(f"{self.getpos()}: a <{tag}>")
        for name, value in attributes:
            if name.startswith("on") or name in ("src", "srcset", "action", "background", "xlink:href"):
                sys.exit(f"{self.getpos()}: {name}={value}")
            if name == "href" and not value.startswith("#"):
                sys.exit(f"{self.getpos()}: a link to {value}")
            if name == "href":
                self.links.add(value[1:])
            if name == "id" and value in self.ids:
                sys.exit(f"{self.getpos()}: id {value} twice")
            if name == "id":
                self.ids.add(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"{self.getpos()}: </{tag}>")


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
page.close()
if page.open:
    sys.exit(f"not closed: {page.open}")
if page.links - page.ids:
    sys.exit(f"links to nowhere: {page.links - page.ids}")
END
  expect "$1" status=0 quiet
}

report "$samples/ranks"
check_page 'the page is well formed'

# ---- Names that others chose ----

evil='<script>alert(1)</script>&amp;\"x\" onload='\''y'\''\u001b[31m\u202e\ud800.'
copy ranks "$dir/hostile <b>&'\""
hostile="$dir/hostile <b>&'\""
into=$(printf '%s' "$evil" | sed 's/[\\&]/\\&/g')
set --
for member in function host reason result_name caller demangled path; do
  set -- "$@" -e 's|"'$member'":"[^"]*"|"'$member'":"'"$into"'"|g'
done
sed "$@" -e 's|"module":"engine"|"module":"'"$into"'"|g' -e 's|"arguments":\[[^]]*\]|"arguments":["'"$into"'","plain"]|' \
  -e 's|"hazards":{[^}]*}|"hazards":{"'"$into"'":2}|' "$samples/ranks/events-2001.jsonl" >"$hostile/events-2001.jsonl"
grep -qF 'u001b[31m' "$hostile/events-2001.jsonl" && grep -qF '&amp;\"x\"' "$hostile/events-2001.jsonl" || echo '# the hostile names are not there'
# In a census half a character is an error, so there it stays away.
sed 's/"demangled":"conf_store"/"demangled":"<script>alert(2)<\/script>\&amp;\\"x\\" onload='\''y'\''\\u001b[31m\\u202e"/' \
  "$samples/ranks/graph-2001-2.json" >"$hostile/graph-2001-2.json"
rm "$hostile/graph-2001-3.json"
run show "$hostile"
expect 'show of hostile names' status=0 text="$dir/out" text="$dir/err" out='\x1b[31m' out='\x202e'
run show --json "$hostile"
expect 'show of hostile names as JSON' status=0 text="$dir/out" out='<script>alert(1)<'
report "$hostile"
expect 'report of hostile names' status=0 text="$page" no-page='<script' no-page='<b>&' page='&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;&quot;x&quot; onload=&#39;y&#39;\x1b[31m\x202e' \
  page='&lt;script&gt;alert(2)' page='hostile &lt;b&gt;&amp;&#39;&quot;'
check_page 'the page of hostile names is well formed'

# ---- What cannot be read is passed over ----

copy ranks "$dir/bad-line"
{ echo nonsense; cat "$samples/ranks/events-2002.jsonl"; echo '[1]'; printf '%s' '{"event":"instantiate","gra'; } >"$dir/bad-line/events-2002.jsonl"
report "$dir/bad-line"
expect 'bad lines' status=0 err='events-2002.jsonl: line 1: ' err='events-2002.jsonl: line 11: ' page='2 processes with 2 to 3 graphs' \
  page='Not all could be read' page='events-2002.jsonl: line 11: ' page='ended in the middle of an event' page='rank 1 (process 2002)'
run show "$dir/bad-line"
expect 'show of bad lines' status=0 err='Passed over: ' err='line 11: ' out='5 graphs (4 different)' out='1 process ended in the middle'
run compare "$dir/bad-line"
expect 'compare is strict' status=2 silent err='line 1: '
copy ranks "$dir/no-process"
sed 1d "$samples/ranks/events-2002.jsonl" >"$dir/no-process/events-2002.jsonl"
run show "$dir/no-process"
expect 'events without their process' status=0 err='line 1: the first event is not' out='5 graphs (4 different)' out='process 2002: 2 graphs'
head -c 3000000 /dev/zero | tr '\0' x >"$dir/long"
copy ranks "$dir/long-line"
{ head -n 3 "$samples/ranks/events-2001.jsonl"; cat "$dir/long"; echo; sed 1,3d "$samples/ranks/events-2001.jsonl"; } >"$dir/long-line/events-2001.jsonl"
run show "$dir/long-line"
expect 'a line of three million bytes' status=0 err='line 4: longer than any event' no-err='line 5' out='5 graphs (4 different), 3006 launches' out='2 broken'
copy ranks "$dir/lost-line"
grep -v '"graph":2,"function":"cuGraphInst' "$samples/ranks/events-2001.jsonl" >"$dir/lost-line/events-2001.jsonl"
run show "$dir/lost-line"
expect 'a graph whose event was lost' status=0 quiet out='5 graphs (4 different)' out=graph-2001-2.json
copy ranks "$dir/version"
sed '1s/"version":1,/"version":2,/' "$samples/ranks/events-2001.jsonl" >"$dir/version/events-2001.jsonl"
run show "$dir/version"
expect 'events of another version' status=0 err='line 1: the record is of version 2' out='5 graphs (4 different)' out='process 2001: 3 graphs' no-out='broken by'
copy ranks "$dir/bad-file"
echo '{}' >"$dir/bad-file/graph-2001-2.json"
rm "$dir/bad-file/graph-2002-2.json" "$dir/bad-file/graph-2001-3.json"
mkfifo "$dir/bad-file/graph-2001-3.json" "$dir/bad-file/events-77.jsonl"
report "$dir/bad-file"
expect 'bad, missing and endless files' status=0 err=graph-2001-2.json err=graph-2002-2.json err='graph-2001-3.json: it is not a regular file' \
  err=events-77.jsonl page='class="card unread"' page='<span class="tag bad">not readable</span>' page='id="g1"' page='2 empty' \
  page='2 of 3 differ or cannot be read' page='</a> cannot be read'
check_page 'the page of bad files is well formed'
run show "$dir/bad-file"
expect 'show of bad files' status=0 out='could not be read: ' out='G1       x 2'
copy ranks "$dir/none"
rm "$dir/none"/graph-*
report "$dir/none"
expect 'events without any census' status=0 said page='2 of 8 captures broken' page='not readable' page='1 kernel, 1 memcpy, 1 memset'
copy ranks "$dir/census-only"
rm "$dir/census-only"/events-*
report "$dir/census-only"
expect 'censuses without events' status=0 quiet page='graphs, 4 different' page='graph-2002-2.json' no-page='1970-'

# ---- Any number of everything ----

mkdir "$dir/many"
census "$dir/many/graph-1-1.json" 45 00000000
i=1
while [ $i -lt 1005 ]; do
  i=$((i + 1))
  census "$dir/many/graph-1-$i.json" 1 "$(printf %08x $i)"
done
rm -f "$ours/dot"
on_our_path report "$dir/many" -o "$page"
expect 'a thousand graphs' status=0 quiet page='id="g60"' no-page='id="g61"' page='and 945 more graphs' page='<tr id="r1000">' \
  no-page='<tr id="r1001">' page='and 5 more graphs' page='href="#r1000"'
expect 'forty-five kernels' page='>kernel_39<' no-page='>kernel_40<' page='and 5 more kernels'
check_page 'the page of a thousand graphs is well formed'
run show "$dir/many"
expect 'show of a thousand graphs' status=0 quiet out='G100 ' no-out='G101 ' out='and 905 more graphs' out='and 37 more'

# ---- Pictures ----

on_our_path report "$samples/ranks" -o "$page"
expect 'no Graphviz' status=0 quiet no-page='<svg' page="There is no picture: there is no program &#39;dot&#39; on PATH." page='conf_store  grid 1x1x1' times='4:As text'
fake_dot 'cat >/dev/null; echo "no such thing" >&2; exit 3'
on_our_path report "$samples/ranks" -o "$page"
expect 'a Graphviz that fails' status=0 quiet no-page='<svg' page='dot drew nothing: no such thing' times='4:As text'
fake_dot 'cat >/dev/null; echo "<?xml version=\"1.0\"?><svg width=\"10pt\"><!-- n --><g id=\"n1\" class=\"node\"><title>t</title><text>id=\"kept\"</text></g></svg>"'
on_our_path report "$samples/ranks" -o "$page"
expect 'what a Graphviz draws' status=0 quiet times='4:<svg width="10pt"><g class="node"><text>id="kept"</text></g></svg>' no-page='As text'
fake_dot 'exec sleep 60'
mkdir "$dir/one"
cp "$samples/ranks/graph-2001-1.json" "$dir/one/"
before=$(date +%s)
on_our_path report "$dir/one" -o "$page"
[ $(($(date +%s) - before)) -lt 40 ] || status='waited for it'
expect 'a Graphviz that takes too long' status=0 quiet page='was not done within 10 seconds' page='conf_store  grid 1x1x1'
rm -f "$ours/dot"

# ---- Where it is written ----

mkdir "$dir/place"
echo old >"$dir/place/report.html"
page=$dir/place/report.html
run report "$samples/layers" -o "$page"
expect 'over a file, with nothing left beside it' status=0 silent quiet page='<!DOCTYPE html>' no-page=old alone="$page"
ln -s report.html "$dir/place/link"
echo old >"$page"
run report "$samples/layers" --output="$dir/place/link"
[ -h "$dir/place/link" ] || status='no link any more'
expect 'through a link' status=0 quiet page='<!DOCTYPE html>'
page=$dir/page.html
copy layers "$dir/default"
run report "$dir/default"
page=$dir/default/report.html
expect 'beside the record by default' status=0 silent quiet page='<!DOCTYPE html>'
run show "$dir/default"
expect 'where it is no part of the record' status=0 quiet out='1 process, 2 graphs'
page=$dir/page.html
run report "$samples/layers" -o -
expect 'to standard output' status=0 quiet out='<!DOCTYPE html>' out='</html>'
run report "$samples/layers" -o "$dir/no/such/place.html"
expect 'into nowhere' status=2 silent said err=no/such/place.html
run report "$samples/layers" -o "$dir/place"
expect 'over a folder' status=2 silent said err="$dir/place"
if [ -c /dev/full ]; then
  run report "$samples/layers" -o /dev/full
  [ -c /dev/full ] || status='no device any more'
  expect 'onto a full device' status=2 silent said err=/dev/full
else
  skip 'onto a full device' 'there is no /dev/full'
fi
if [ "$(id -u)" = 0 ]; then
  skip 'into a folder without permission' 'root may write everywhere'
else
  chmod 500 "$dir/empty"
  run report "$samples/layers" -o "$dir/empty/report.html"
  expect 'into a folder without permission' status=2 silent said err='Permission denied'
fi

echo "1..$n"
[ "$failed" -eq 0 ]
