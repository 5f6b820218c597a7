#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments a second, sandboxed, by exec and by the fork server, beside posix_spawn of the same command.

`bare` is a server that does nothing but fork before main and wait: no sandbox, no faults, nothing compared. No fork
server is faster, so `bare/spawn` is the most that `fork/spawn` can be. All in one run, one after another, with one
experiment at a time and then with one for each processor; the best of several rounds of each. Exit status: 0 measured
(whatever the figures say), 1 a run failed.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
COMMANDS = [
    ("ls", ["ls", "-l"], "for i in $(seq 30); do echo > $i; done"),
    ("sort", ["sort", "lines"], "seq 1000 > lines"),
    ("git status", ["git", "status"], "git init -q .; seq 9 > a; git add a; seq 8 > b"),
]
FACTOR = 2


def rates(command, folder, at_once):
    environment = dict(os.environ, MURPHY_DATA=f"{ROOT}/data", MURPHY_RUNTIME=f"{BUILD}/libmurphy-rt.so")
    done = subprocess.run([f"{BUILD}/tests/lab_bench", "-j", str(at_once), "-b", f"{BUILD}/tests/bare_server.so", "--",
                           *command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {name: float(rate) for name, rate in (line.split() for line in done.stdout.splitlines())}


def table(at_once):
    title = "one at a time" if at_once == 1 else f"{at_once} at once"
    print(f"{'runs a second, ' + title:26} {'posix_spawn':>12} {'exec':>8} {'fork':>8} {'bare':>8} {'fork/spawn':>11}"
          f" {'bare/spawn':>11}")
    for name, command, script in COMMANDS:
        with tempfile.TemporaryDirectory(prefix="fork-bench-") as folder:
            subprocess.run(["sh", "-ec", script], cwd=folder, check=True)
            r = rates(command, folder, at_once)
        factor = r["fork"] / r["spawn"]
        print(f"{name:26} {r['spawn']:12.0f} {r['exec']:8.0f} {r['fork']:8.0f} {r['bare']:8.0f} {factor:11.2f}"
              f" {r['bare'] / r['spawn']:11.2f}  at least {FACTOR}: {'kept' if factor >= FACTOR else 'NOT kept'}",
              flush=True)


def main():
    try:
        table(1)
        if (processors := len(os.sched_getaffinity(0))) > 1:
            table(processors)
    except (OSError, subprocess.CalledProcessError, KeyError, ValueError) as error:
        print(f"fork_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
