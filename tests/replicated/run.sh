#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three replicas under one hub: run.sh FOLDER PORT [CFLAGS...]. Builds the store there, starts hub and replicas, sets
# keys, and leaves hub.log, 1.log to 3.log, hub.out and client.out. Prints the exit status of each. Exit status 3: one of
# the three ports is somebody else's.
set -u
here=$(dirname "$(readlink -f "$0")")
# Also one that is named from the folder where this was started.
murphy=$(readlink -f "$(command -v "${MURPHY:?the binary}")") || exit 1
cd "$1" || exit 1
port=$2
shift 2
cc -g -O1 "$@" -o replica "$here/replica.c" || exit 1

wait_for() { # wait_for SECONDS COMMAND...: until it succeeds
  local end=$((SECONDS + $1))
  until "${@:2}" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

taken() {
  grep -q '^bind: Address already in use' [0123].err
}

give_up() { # give_up WHAT: what was started does not work
  echo "run.sh: $1" >&2
  cat ./[123].err >&2
  kill "$hub" "${pids[@]}" 2>/dev/null
  taken && exit 3
  exit 1
}

started() { # started N PID: replica N has its port, or has ended
  grep -q ":$(printf %04X $((port + $1))) " /proc/net/udp || ! kill -0 "$2"
}

"$murphy" hub --after 20 --every 7 --limit 60 --log hub.log unix:"$PWD/hub.socket" >hub.out &
hub=$!
pids=()
wait_for 60 grep listening hub.out || give_up 'the hub does not listen'
for n in 1 2 3; do
  "$murphy" run --hub unix:"$PWD/hub.socket" --log $n.log "$here/network.xml" -- ./replica "$port" $n 2>$n.err &
  pids+=($!)
  # In this order, so that the hub meets them in it.
  wait_for 60 started $n $! || give_up "replica $n has no port after a minute"
  kill -0 $! 2>/dev/null || give_up "replica $n has ended"
done
timeout 60 ./replica "$port" set 120 >client.out 2>0.err
echo "client: $?"
# A replica that the END of the client did not reach is ended.
for n in 1 2 3; do
  wait_for 10 sh -c "! kill -0 ${pids[n - 1]}" || kill "${pids[n - 1]}"
  wait "${pids[n - 1]}"
  echo "replica $n: $?"
done
kill $hub
wait $hub
echo "hub: $?"
! taken || exit 3
