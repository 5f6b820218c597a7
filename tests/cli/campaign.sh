#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is kept of murphy test: the campaign's folder, going on with it, repeating its findings, reports.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox
unset MURPHY_CAMPAIGN

json() { # json EXPRESSION [FILE]: is it true of the object o?
  python3 -c 'import json, sys; o = json.load(open(sys.argv[2])); sys.exit(not eval(f"({sys.argv[1]})"))' "$1" "${2:-out}"
}

cat >victim.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void save(const char *word) {
  FILE *f = fopen("word.txt", "w");
#ifdef FIXED
  if (!f) exit(3);
#endif
  fprintf(f, "%s\n", word);
  fclose(f);
}
int main(void) {
  char *word = strdup("word");
  if (!word) { fprintf(stderr, "no memory\n"); return 1; }
  save(word);
  puts(word);
  free(word);
  return 0;
}
END
cc -g -O0 -w -o victim victim.c

# --- what is kept -------------------------------------------------------------------------------------------------------

run test --budget 20s --function fopen,strdup --format json -- ./victim
holds 'a finding' test "$status" = 1
cp out first.json
holds '... is in the JSON with the fields of the design' json '
set(o) >= {"command", "baseline", "points", "experiments", "seconds", "modes", "not_covered", "findings"} and
set(o["modes"]) >= {"exec", "fork", "branch"} and
all(set(f) >= {"id", "kind", "signal", "fault", "site", "inject_stack", "crash_stack", "count", "precision", "replay"} and
    set(f["fault"]) >= {"function", "call", "retval", "errno"} and
    set(f["site"]) >= {"function_in", "file", "line", "module", "offset"} for f in o["findings"]) and
o["findings"][0]["kind"] == "crash" and o["findings"][0]["site"]["function_in"] == "save"'
id=$(python3 -c 'import json; print(json.load(open("first.json"))["findings"][0]["id"])')
holds 'it has a folder' test -x ".murphy/findings/$id/replay" -a -s ".murphy/findings/$id/scenario.xml" \
  -a -s ".murphy/findings/$id/log.json" -a -e ".murphy/findings/$id/stderr"
holds 'nothing was changed outside' test ! -e word.txt
run report --json
holds 'the report is what the test printed' cmp -s out first.json
run report
holds '... and has a text' grep -q "^finding $id: crash (SIGSEGV) when fopen returns 0 with" out

# --- the same again -----------------------------------------------------------------------------------------------------

run replay "$id"
holds 'replay: it comes again' test "$status" = 1
holds '... and is told' grep -q '^murphy: crash (SIGSEGV): it came again' err
holds '... with a stack' grep -q 'save' err
PATH=$(dirname "$MURPHY"):$PATH sh -c "$(python3 -c 'import json; print(json.load(open("first.json"))["findings"][0]["replay"])')" >out 2>err
holds 'the command of the finding can be pasted' test $? = 1
run verify
holds 'verify: it is left' test "$status" = 1
holds '... and is told' grep -q "^finding $id: .*: still there (crash)" out
cp ".murphy/findings/$id/replay" alone
(cd / && MURPHY=$MURPHY "$work/alone" >"$work/out" 2>"$work/err")
holds 'the script alone repeats it, from any folder' test $? = 1
"$MURPHY" run ".murphy/findings/$id/scenario.xml" -- ./victim >out 2>err
holds 'so does its scenario' test $? = 139
run replay 77
refused 'a finding that is not there' 'no finding 77'
run replay
refused 'no finding named' 'which finding?'

cc -g -O2 -w -DFIXED -o victim victim.c
run verify
holds 'a mended program: all are gone' test "$status" = 0
holds '... and are told to be' grep -q ': gone (handled)' out
run replay "$id"
holds '... replay says so, and that the program has changed' grep -q 'has changed since' err
holds '... with exit status 0' test "$status" = 0
echo 'int main(void) { return 0; }' | cc -g -w -x c -o victim -
run verify
holds 'a program that does nothing of it any more: all are gone' test "$status" = 0
run replay "$id"
holds '... replay says that too' grep -q 'not made any more' err
cc -g -O1 -w -o victim victim.c
run verify --format json
holds 'another build with the same bug: it is left' json 'o["left"] >= 1 and o["findings"][0]["left"]'

mv victim elsewhere
run verify
holds 'verify: without the program, no experiment can be made' test "$status" = 3
holds '... and why' grep -q '^murphy: ./victim: does not exist' err
run replay "$id"
holds 'replay: likewise' test "$status" = 3
mv elsewhere victim

# --- in a debugger ------------------------------------------------------------------------------------------------------

if command -v gdb >/dev/null; then
  run replay "$id" --gdb -- -batch -ex 'echo at it:' -ex 'info symbol $pc' -ex continue
  holds 'gdb stops at the call that is to fail' grep -q 'in save (word=' out
  holds '... with the frame of the program selected, not of the runtime' grep -Eq '^at it:(save|main) ' out
  holds '... and goes on into the crash' grep -q SIGSEGV out
  cat >named.c <<'EOF'
#include <string.h>
int main(int n, char **v) { return strchr(v[0], '/') ? 0 : strdup(v[0])[0] != 'n'; }
EOF
  mkdir bin && cc -g -w -fno-builtin -o bin/named named.c
  PATH=$PWD/bin:$PATH run test --budget 20s --campaign by_name --function strdup -- named
  PATH=$PWD/bin:$PATH run replay --campaign by_name 1 --gdb -- -batch -ex 'echo at it:' -ex 'info symbol $pc'
  holds '... of a command that is called by its name, too' grep -q '^at it:main ' out
else
  skip 'gdb stops at the call' 'no gdb'
fi

# --- reports ------------------------------------------------------------------------------------------------------------

run report --sarif
accepted 'SARIF'
holds '... is well-formed' python3 "$MURPHY_SOURCE/tests/check/sarif.py" out
run report --junit
holds 'JUnit is XML, with a failed test' python3 -c '
import xml.etree.ElementTree as tree
suite = tree.parse("out").getroot().find("testsuite")
assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) >= 1
assert int(suite.get("tests")) == len(suite.findall("testcase"))'
run report --html --output page.html
holds 'HTML is one page that loads nothing' python3 -c '
import html.parser
class Page(html.parser.HTMLParser):
    stack, seen = [], set()
    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe"), tag
        if tag not in ("meta", "br"): self.stack.append(tag)
        self.seen.add(tag)
    def handle_endtag(self, tag): assert self.stack.pop() == tag, tag
page = Page()
page.feed(open("page.html").read())
assert not page.stack and {"article", "ol", "table"} <= page.seen'
run report --campaign nowhere
refused 'a report of nothing' 'no campaign here'

# --- a budget that is too short for anything ----------------------------------------------------------------------------

cat >late.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  char *p = malloc(10);
  sleep(2);
  free(p);
  return !p;
}
END
cc -g -O0 -w -o late late.c
run test --campaign late.c1 --function malloc --budget 1s --format json -- ./late
holds 'where the budget is too short for the first experiment, nothing was tested' test "$status" = 3
holds '... which is said' grep -q 'the budget was too short for the first of 2 experiments' err
holds '... and how many there are' json 'o["experiments"] == 0 and o["planned"] == 2'

# --- another campaign in the same folder --------------------------------------------------------------------------------

run test --budget 5runs -- true
holds 'a new campaign keeps the earlier one' test -s .murphy/campaign-1/campaign.db -a -d ".murphy/campaign-1/findings/$id"
holds '... and says so' grep -q 'kept in .murphy/campaign-1' err
run report --json --campaign .murphy/campaign-1
holds '... whose findings can be read' json 'len(o["findings"]) >= 1 and "--campaign .murphy/campaign-1" in o["findings"][0]["replay"]'
holds '... while the new one has none' test ! -e .murphy/findings

# --- the folder is not seen ---------------------------------------------------------------------------------------------

cat >look.sh <<'END'
#!/bin/sh
for f in .* *; do echo "$f"; done
END
chmod +x look.sh
run test --budget 30runs --format json -- ./look.sh
holds 'the command does not see the folder' json 'not any(x["kind"] == "silent" and ".murphy" in x["difference"] for x in o["findings"])'
"$MURPHY" test --budget 1runs --campaign hidden -- sh -c 'test ! -e hidden && test ! -d ./hidden' >out 2>err
holds '... under any name' json 'o["baseline"]["status"] == 0' <("$MURPHY" report --campaign hidden --json)

# --- folders and databases of others ------------------------------------------------------------------------------------

mkdir mine && echo precious >mine/notes
run test --campaign mine --budget 1runs -- true
refused "somebody else's folder" 'not a campaign'
holds '... is as it was' test "$(ls -A mine)" = notes
echo precious >file
run test --campaign file --budget 1runs -- true
refused 'a file in its place' 'is not a folder'
holds '... is as it was' grep -q precious file
mkdir broken && head -c 5000 /dev/urandom >broken/campaign.db && cp broken/campaign.db kept
for command in 'test --budget 1runs' 'test --resume'; do
  run $command --campaign broken -- true
  refused "a broken database: $command" 'broken/campaign.db'
done
run verify --campaign broken
refused 'a broken database: verify' 'campaign.db'
holds '... is as it was' cmp broken/campaign.db kept
run test --campaign /proc/nothing --budget 1runs -- true
refused 'a place where nothing can be made' '/proc/nothing'
run test --budget 1runs --campaign gone -- ./nothing-here
holds 'a command that cannot be tested leaves no folder behind' test "$status" = 2 -a ! -e gone

# --- going on -----------------------------------------------------------------------------------------------------------

cc -g -O0 -w -o victim victim.c
run test --campaign part --budget 2runs --format json -- ./victim
holds 'a part of a campaign' json 'o["experiments"] == 2 and sum(x["experiments"] for x in o["not_covered"]) == o["planned"] - 2'
run test --campaign part --resume --budget 20s --format json
holds 'goes on to the end' json 'o["experiments"] == o["planned"] and o["not_covered"] == [] and o["findings"]'
cp out whole.json
run test --campaign part --resume --format json -- ./victim
holds '... and has nothing more to do then' json 'o["experiments"] == o["planned"]'
run test --campaign other --budget 20s --format json -- ./victim
holds '... with the findings of one that was not interrupted' python3 -c '
import json
def what(name): return sorted((f["kind"], f["fault"]["function"], str(f["site"]["line"])) for f in json.load(open(name))["findings"])
assert what("whole.json") == what("out")'
run test --campaign part --resume -- true
refused 'not with another command' 'something else'
run test --campaign nothing --resume
refused 'not without a campaign' 'no campaign here'
holds '... and none is made' test ! -e nothing
cc -g -O1 -w -DFIXED -o victim victim.c
run test --campaign part --resume
refused 'not with another program' 'has changed since'

# --- a full disk --------------------------------------------------------------------------------------------------------

seq 2000 >numbers
mkdir small
if unshare -Urm mount -t tmpfs -o size=150k x small 2>/dev/null; then
  # shellcheck disable=SC2016 # the inner shell's
  unshare -Urm sh -c 'mount -t tmpfs -o size=150k x small
    "$1" test --campaign small/c --budget 30s -- sort numbers >out 2>err
    echo $? >status
    "$1" report --campaign small/c --json >kept.json
    mount -o remount,size=50m small
    "$1" test --campaign small/c --resume --budget 5runs --format json >more.json 2>>err' sh "$MURPHY"
  holds 'a full disk ends it with exit status 2' test "$(cat status)" = 2
  holds '... and a message' grep -q 'the disk is full' err
  holds '... what was done is kept and printed' test -s out -a -n "$(grep experiments out)"
  holds '... and it goes on when there is room' python3 -c '
import json
kept, more = (json.load(open(n))["experiments"] for n in ("kept.json", "more.json"))
assert 0 < kept < more, (kept, more)'
  # Sizes that are enough for nothing, for the database alone, and not for the plan.
  unshare -Urm sh -c 'for size in 4 64 76; do mount -t tmpfs -o size=${size}k x small
    "$1" test --campaign small/c --budget 30s -- sort numbers >out.$size 2>err.$size
    umount small; done' sh "$MURPHY"
  holds '... it is told as well if it was full before' grep -q 'the disk is full' err.4
  holds '... where nothing is kept, nothing else is said' test "$(grep -c 'is kept' err.4)" = 0
  holds '... and whatever could not be written' grep -q 'the disk is full' err.64
  holds '... before there was a plan, nobody knows what could be tried' test "$(grep -c 'nothing was tried' out.76)" = 0
else
  skip 'a full disk' 'cannot be arranged here'
fi

# --- ended by force -----------------------------------------------------------------------------------------------------

# Experiments that take their time, so that there is one to interrupt.
slow='sort numbers; sleep 0.1'
"$MURPHY" test --campaign killed --jobs 1 --budget 60s -- sh -c "$slow" >out 2>err &
pid=$!
for _ in $(seq 100); do
  sleep 0.1
  [ "$("$MURPHY" report --campaign killed --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["experiments"])' 2>/dev/null || echo 0)" -ge 5 ] && break
done
kill -9 $pid
wait $pid 2>/dev/null
"$MURPHY" report --campaign killed --json >before.json
holds 'killed: what was done is kept' json 'o["experiments"] >= 5 and o["state"] == "running"' before.json
run test --campaign killed --resume --budget 5runs --format json
holds '... and it goes on' python3 -c '
import json
before, after = (json.load(open(n)) for n in ("before.json", "out"))
assert after["experiments"] == min(before["experiments"] + 5, after["planned"]), (before["experiments"], after["experiments"])'

# With job control: the shell's background jobs ignore SIGINT otherwise, and murphy would too.
set -m
for signal in INT TERM; do
  "$MURPHY" test --campaign $signal --jobs 1 --budget 60s --format json -- sh -c "$slow" >out 2>err &
  pid=$!
  for _ in $(seq 100); do
    sleep 0.1
    "$MURPHY" report --campaign $signal --json 2>/dev/null | grep -q '"same":\|"handled":' && break
  done
  kill -$signal $pid
  wait $pid
  status=$?
  holds "SIG$signal: the exit status is 128 and its number" test $status = $((128 + $(kill -l $signal)))
  holds '... and what was done is printed' json 'o["experiments"] > 0 and o["state"] == "interrupted"'
done
"$MURPHY" test --campaign early --timeout 60s -- sleep 30 >out 2>err &
pid=$!
sleep 2
kill -INT $pid
for _ in $(seq 50); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
wait $pid
status=$?
set +m
holds 'interrupted in the baseline' test $status = 130
holds '... nothing is left behind' test ! -e early
finish
