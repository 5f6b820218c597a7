#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy test on the examples that need more than themselves, which they say in their comments:
#   build: OPTIONS    for the compiler      library: NAME   also made of the source, with -DLIBRARY, and linked
#   setup: COMMANDS   before it is run      module: NAME    ... and opened by the program
#   args: WORDS       of the command        stdin: FILE     its standard input
#   budget: TIME      if 20 s are not enough
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
  local input budget
  input=$(field stdin) budget=$(field budget)
  mkdir "$work/$1" && cd "$work/$1" || exit 1
  compile ${2:+"$2"}
  eval "$(field setup)"
  run test --budget "${budget:-20s}" --format json ${input:+--input "$input"} -- "./$name" $(field args)
}

for source in "$MURPHY_SOURCE"/tests/examples/more/*; do
  name=$(basename "${source%.*}")
  expected=$(field expect)
  try "$name"
  holds "$name: $expected is found" python3 -c '
import json, sys
found = json.load(open("out"))["findings"]
sys.exit(not any(f["kind"] in sys.argv[1].split("|") and f["precision"] > 0.5 for f in found))' "$expected"
  try "$name-fixed" -DFIXED
  holds "$name: nothing is found once it is mended" test "$status" = 0
done
cd "$work" && finish
