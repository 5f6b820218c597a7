#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test --depth 2: a second fault where the first one has led, found, told and repeated with both.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox

# ask EXPRESSION: of the JSON that was printed last, as R.
ask() { python3 -c 'import json, sys; r = json.load(open("out")); sys.exit(not eval(f"({sys.argv[1]})"))' "$1"; }

cc -g -O1 -w -o rescue "$MURPHY_SOURCE/tests/examples/rescue.c"
run test --format json -- ./rescue
holds 'no single fault shows it' ask 'r["findings"] == [] and r["pairs"] == 0'
single=$(python3 -c 'import json; print(json.load(open("out"))["experiments"])')

run test --depth 2 --format json -- ./rescue
holds 'two do' test "$status" = 1
holds '... and both are told' ask 'len(r["findings"]) == 1 and r["findings"][0]["kind"] == "crash" and
  r["findings"][0]["fault"]["function"] == "malloc" and r["findings"][0]["first"]["function"] in ("open", "write", "close")'
holds '... with the stacks of both' ask '[s["symbol"] for s in r["findings"][0]["first"]["stack"]][:2] == ["save", "main"] and
  [s["symbol"] for s in r["findings"][0]["inject_stack"]][:2] == ["rescue", "main"]'
holds '... all single faults were tried, too' ask "r['pairs'] > 10 and r['experiments'] == $single + r['pairs']"
holds '... most by branches' ask 'r["modes"]["branch"] > r["pairs"] and r["modes"]["exec"] == 0'
python3 -c 'import json; print(json.load(open("out"))["findings"][0]["run"].replace("murphy", "exec \"$MURPHY\"", 1))' >line
sh ./line >/dev/null 2>&1
holds 'murphy run with both does it, too' test $? = 139
run run .murphy/findings/1/scenario.xml -- ./rescue
holds '... and so does the scenario' test "$status" = 139

run report
holds 'the report has both' grep -q 'finding 1: crash (SIGSEGV) when malloc returns 0 with ENOMEM, after ' out
holds '... in this order' test "$(grep -c 'the call that failed first:\|the call that failed then:' out)" = 2
holds '... and says how many' grep -q 'of them with two faults' out
run replay 1
holds 'it comes again' test "$status" = 1
sh .murphy/findings/1/replay >/dev/null 2>&1
holds '... by the script' test $? = 1
cc -g -O1 -w -DPADDED -include stdint.h -Wl,--section-start=.text=0x5000 -o rescue "$MURPHY_SOURCE/tests/examples/rescue.c"
run verify
holds '... in another build, too' grep -q '^1 of 1 finding left' out
cc -g -O1 -w -DFIXED -o rescue "$MURPHY_SOURCE/tests/examples/rescue.c"
run verify
holds '... and is gone once it is mended' grep -q '^0 of 1 finding left' out

# What the first fault says may be an answer; what is lost by the second is lost all the same.
cat >moved.c <<'X'
#include <stdio.h>
static int fill(const char *name) {
  FILE *f = fopen(name, "w");
  return !f || fputs("result\n", f) < 0 || fclose(f) != 0;
}
int main(void) {
  if (fill("result.new")) return perror("result.new"), 1;
  if (rename("result.new", "result") == 0) return 0;
  FILE *f = fopen("result", "w");
  if (!f) return perror("result"), 1;
  if (fputs("result\n", f) < 0) return perror("result"), 1;
  fclose(f);
  return remove("result.new") < 0;
}
X
cc -g -O1 -w -o moved moved.c
run test --depth 2 --campaign moved.c1 --function rename,fclose --errno ENOENT,ENOSPC --format json -- ./moved
holds 'a loss behind an answer is one' ask 'any(f["kind"] == "silent" and f["fault"]["function"] == "fclose" and
  f["first"]["errno"] == "ENOENT" for f in r["findings"])'

# Sanitizers make murphy slow, and this has nothing new for them.
[ -z "${MURPHY_SANITIZED:-}" ] || finish
cc -g -O1 -w -o rescue "$MURPHY_SOURCE/tests/examples/rescue.c"
run test --depth 2 --budget 60runs --campaign c --format json -- ./rescue
holds 'half of the budget is for pairs' ask 'r["experiments"] == 60 and r["pairs"] == 30'
run test --resume --campaign c --format json
holds '... and what is left is made later' ask "r['experiments'] == r['planned'] and r['experiments'] > $single + 10"
finish
