#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Three replicas under one hub: run.sh FOLDER PORT [CFLAGS...]. Builds the store there, starts hub and replicas, sets
# keys, and leaves hub.log, 1.log to 3.log, hub.out and client.out. Prints the exit status of each.
set -u
here=$(dirname "$(readlink -f "$0")")
murphy=${MURPHY:?the binary}
cd "$1" || exit 1
port=$2
shift 2
cc -g -O1 "$@" -o replica "$here/replica.c" || exit 1

wait_for() { # wait_for COMMAND...: until it succeeds, at most 10 seconds
  local i
  for ((i = 0; i < 100; i++)); do
    "$@" >/dev/null 2>&1 && return
    sleep 0.1
  done
  return 1
}

"$murphy" hub --after 20 --every 7 --limit 60 --log hub.log unix:"$PWD/hub.socket" >hub.out &
hub=$!
wait_for grep listening hub.out || exit 1
pids=()
for n in 1 2 3; do
  "$murphy" run --hub unix:"$PWD/hub.socket" --log $n.log "$here/network.xml" -- ./replica "$port" $n 2>$n.err &
  pids+=($!)
  # In this order, so that the hub meets them in it.
  wait_for grep -q ":$(printf %04X $((port + n))) " /proc/net/udp || exit 1
done
timeout 60 ./replica "$port" set 120 >client.out
echo "client: $?"
# A replica that the END of the client did not reach is ended.
for n in 1 2 3; do
  wait_for sh -c "! kill -0 ${pids[n - 1]}" || kill "${pids[n - 1]}"
  wait "${pids[n - 1]}"
  echo "replica $n: $?"
done
kill $hub
wait $hub
echo "hub: $?"
