#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy run on the programs of tests/target. Each says in its own comments how it is built and run and what comes of it:
#   @needs COMMAND          the target is skipped where this fails
#   @build COMMANDS         builds $out from $src, beside which is $here; each build is tested with all runs
#   @run N STATUS OPTIONS   murphy run OPTIONS…; the program is put behind `--`. N injections are logged (- for any number),
#                           and the exit status is STATUS: a target exits with 0 if it saw what it expects
# TARGETS in the environment chooses some: TARGETS='exec fork' tests/cli/run_targets.sh
. "$(dirname "$0")/tap.sh"
here=$MURPHY_SOURCE/tests/target
export here

directive() { sed -n "s/^[ *#/]*@$1 //p" "$src"; }

# With sanitizers the test is murphy's, not the target's: what murphy is told must not reach it.
target_run() { # target_run N STATUS OPTIONS...
  local n=$1 expected=$2 program=() words=() word
  shift 2
  case $src in
  *.py) program=(/usr/bin/python3 "$src") ;;
  *.sh) program=("$src") ;;
  *) program=("$out") ;;
  esac
  for word in "$@"; do
    words+=("$word")
    [ "$word" = -- ] && words+=("${program[@]}")
  done
  rm -f log
  last="cd $PWD && $MURPHY run --log log ${words[*]@Q}"
  timeout 60 "$MURPHY" run --log log "${words[@]}" >out 2>err </dev/null
  status=$?
  injections=$(grep -c '"event": *"inject"' log 2>/dev/null)
  last="$last: $injections injections, $n expected; status $expected expected"
  [ "$status" = "$expected" ] && { [ "$n" = - ] || [ "$injections" = "$n" ]; }
}

# Sanitizers make murphy slow, and all is run in the release build: with one compiler every third run is made, with the
# other every sixth of the others.
left_out() {
  runs=$((${runs:-0} + 1))
  [ -n "${MURPHY_SANITIZED:-}" ] || return
  if [ -n "${MURPHY_AGAIN:-}" ]; then [ $((runs % 6)) != 1 ]; else [ $((runs % 3)) != 0 ]; fi
}

one_target() {
  local name build line k=0
  name=$(basename "$src")
  if ! (eval "$(directive needs)") >/dev/null 2>&1; then
    skip "$name" "needs: $(directive needs)"
    return
  fi
  while IFS= read -r build; do
    k=$((k + 1))
    mkdir -p "$work/$name.$k"
    cd "$work/$name.$k" || exit 1
    out=$PWD/${name%.*}
    if ! eval "$build" >out 2>err; then
      last=$build status=
      result 1 "$name: builds: $build"
      continue
    fi
    while IFS= read -r line; do
      left_out && continue
      eval "target_run $line"
      result $? "$name${build:+, $k}: $line"
    done < <(directive run)
  done < <(directive build | grep . || echo)
  cd "$work" || exit 1
}

for src in "$here"/*.c "$here"/*.cc "$here"/*.rs "$here"/*.py "$here"/*.sh; do
  [ -n "$(directive run)" ] || continue
  if [ -n "${TARGETS:-}" ]; then
    [[ " $TARGETS " == *" $(basename "${src%.*}") "* ]] || continue
  fi
  one_target
done

finish
