#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Commands that behave as badly as they can once a fault comes: nothing outside is changed, nothing is left running, and
# the campaign goes on to its end.
. "$(dirname "$0")/tap.sh"

needs_sandbox

cc -g -O1 -w -o hostile "$MURPHY_SOURCE/tests/hostile/hostile.c"
# A number that no other sleep on this machine has.
export HOSTILE_SLEEP=$((1000000 + $$))
mkdir folder
cp hostile folder
echo precious >"$HOME/precious"
echo precious >folder/precious

# Whatever was there before is there still, and nothing else is.
unharmed() {
  [ "$(cat "$HOME/precious" folder/precious)" = $'precious\nprecious' ] && [ "$(ls folder)" = $'hostile\nprecious' ] &&
    [ -d "$XDG_RUNTIME_DIR" ] && kill -0 $$
}

# None of the command's processes. Its name may take a moment to go from the list.
nobody_left() {
  local i
  for i in 1 2 3 4 5; do
    ps -eo args | grep -qE "^(\./hostile $1|sleep $HOSTILE_SLEEP)( |$)" || return 0
    sleep 0.2
  done
  return 1
}

ways='delete children kill spoil fill deaf fork speak eat'
budget=60s
# Sanitizers make murphy slow.
[ -z "${MURPHY_SANITIZED:-}" ] || { ways='delete children kill spoil' budget=30s; }
for way in $ways; do
  cd folder || exit 1
  last="murphy test -- ./hostile $way"
  "$MURPHY" test --budget "$budget" --campaign "../campaign-$way" --errno EACCES,EMFILE -- ./hostile "$way" \
    >../out 2>../err </dev/null
  status=$?
  cd .. || exit 1
  holds "$way: the campaign comes to its end" test "$status" -le 1
  holds "$way: experiments were made" grep -qE '[1-9][0-9]* of [0-9]+ experiments' out
  holds "$way: nothing outside is changed" unharmed
  holds "$way: nothing is left running" nobody_left "$way"
done

# Who reads a file can do more with it than read.
echo precious >input
stamp=$(stat -c '%a %Y' input)
run test --budget 5runs --input input -- sh -c 'cat; { echo bad >/proc/self/fd/0; chmod 777 /proc/self/fd/0; } 2>/dev/null; :'
holds 'input: experiments were made' grep -qE '[1-9][0-9]* of [0-9]+ experiments' out
holds 'input: the file is not changed' test "$(cat input) $(stat -c '%a %Y' input)" = "precious $stamp"

finish
