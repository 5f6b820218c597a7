#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test on the examples: the bug is found, and its mended twin is not blamed.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox
examples=$MURPHY_SOURCE/tests/examples

compile() { # compile NAME [OPTION]
  if [ -e "$examples/$1.cc" ]; then
    c++ -g -O1 -w ${2:+"$2"} -o "$1" "$examples/$1.cc"
  else
    cc -g -O1 -w ${2:+"$2"} -o "$1" "$examples/$1.c" -lpthread
  fi
}

try() { # try FOLDER [OPTION]: murphy test on the example, built with OPTION
  mkdir "$work/$1" && cd "$work/$1" || exit 1
  compile "$name" ${2:+"$2"}
  run test --depth "${depth:-1}" --budget 90s --format json -- "./$name"
  keep_run
}

# All of them in the release build; sanitizers make murphy slow, not the examples.
# Of two processes that race on a busy machine, one may be late: pipe_length is for ./dev try.
chosen=$(cd "$examples" && ls *.c *.cc | grep -v pipe_length)
[ -z "${MURPHY_SANITIZED:-}" ] || chosen='alloc_deref.c fclose_ignored.c'
# What hangs keeps murphy waiting, and no processor busy: those first, and several at once.
hangs=$(cd "$examples" && grep -l '^ \* expect: .*hang' $chosen)
others=$(cd "$examples" && grep -L '^ \* expect: .*hang' $chosen)
for source in $hangs $others; do
  name=${source%.*}
  depth=$(sed -n 's/^ \* depth: //p' "$examples/$source")
  at_once 4 try "$name"
  at_once 4 try "$name-fixed" -DFIXED
done
wait
for source in $chosen; do
  name=${source%.*}
  expected=$(sed -n 's/^ \* expect: //p' "$examples/$source")
  cd "$work/$name" && resume_run
  holds "$name: $expected is found" python3 -c '
import json, sys
found = json.load(open("out"))["findings"]
sys.exit(not any(f["kind"] == sys.argv[1] and f["precision"] > 0.5 for f in found))' "$expected"
  holds "... with the names of the functions that were on the way" python3 -c '
import json, sys
found = json.load(open("out"))["findings"]
sys.exit(not all(any(s["symbol"] for s in f["inject_stack"]) for f in found))'
  cd "$work/$name-fixed" && resume_run
  holds "$name: nothing is found once it is mended" test "$status" = 0
done
cd "$work" && finish
