#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test on the examples that need more than themselves, which they say in their comments:
#   build: OPTIONS    for the compiler      library: NAME   also made of the source, with -DLIBRARY, and linked
#   setup: COMMANDS   before it is run      module: NAME    ... and opened by the program
#   args: WORDS       of the command        stdin: FILE     its standard input
# Of each the bug is found, and its mended twin is not blamed.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_SANITIZED:-}" ] || plan_skip 'sanitizers make murphy slow, not the examples'

needs_sandbox

field() { sed -n "s/^ \* $1: //p" "$source"; }

compile() { # compile [OPTION]
  local compiler=cc library link=()
  [ "$source" = "${source%.cc}" ] || compiler='c++ -std=c++17'
  for library in $(field library) $(field module); do
    $compiler -g -O1 -w ${1:+"$1"} -DLIBRARY -shared -fPIC -o "lib$library.so" "$source"
  done
  for library in $(field library); do link+=(-L. "-l$library" "-Wl,-rpath,$PWD"); done
  $compiler -g -O1 -w ${1:+"$1"} -o "$name" "$source" $(field build) "${link[@]}"
}

try() { # try FOLDER [OPTION]: murphy test on the example, built with OPTION
  local input
  input=$(field stdin)
  mkdir "$work/$1" && cd "$work/$1" || exit 1
  compile ${2:+"$2"}
  eval "$(field setup)"
  run test --budget 120s --format json ${input:+--input "$input"} -- "./$name" $(field args)
  keep_run
}

# What hangs keeps murphy waiting, and no processor busy: those first, and several at once.
examples=$MURPHY_SOURCE/tests/examples/more
hangs=$(grep -l '^ \* expect: .*hang' "$examples"/*)
others=$(grep -L '^ \* expect: .*hang' "$examples"/*)
for source in $hangs $others; do
  name=$(basename "${source%.*}")
  at_once 4 try "$name"
  at_once 4 try "$name-fixed" -DFIXED
done
wait

for source in "$examples"/*; do
  name=$(basename "${source%.*}")
  expected=$(field expect)
  cd "$work/$name" && resume_run
  holds "$name: $expected is found" python3 -c '
import json, sys
found = json.load(open("out"))["findings"]
sys.exit(not any(f["kind"] in sys.argv[1].split("|") and f["precision"] > 0.5 for f in found))' "$expected"
  cd "$work/$name-fixed" && resume_run
  holds "$name: nothing is found once it is mended" test "$status" = 0
done
cd "$work" && finish
