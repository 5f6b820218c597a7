#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments a second, sandboxed, by exec and by the fork server, beside posix_spawn of the same command.

`bare` is a server that does nothing but fork before main and wait: no sandbox, no faults, nothing compared. No server
that only saves what comes before main is faster, so `bare/spawn` is the most that `fork/spawn` can be. `caged` is the
same server inside of the sandbox: what namespaces and overlays cost the command itself, with nothing of murphy between
two runs. All in one run, in rounds one after another, with one experiment at a time and then with one for each
processor.

Two tables each time: runs a second in the best of several rounds of each, which depends on what else the machine does;
and processor time of one run, of all processes that have a part in it, which hardly does. Exit status: 0 measured
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
    return {way: (float(rate), float(us)) for way, rate, us, _ in (line.split() for line in done.stdout.splitlines())}


WAYS = ("spawn", "exec", "fork", "bare", "caged")


def header(title):
    return f"{title:36}" + "".join(f" {way:>8}" for way in WAYS) + f" {'fork/spawn':>11} {'bare/spawn':>11} {'caged/spawn':>12}"


def row(name, values, factors, end=""):
    return (f"{name:36}" + "".join(f" {value:8.0f}" for value in values) +
            "".join(f" {factor:{width}.2f}" for factor, width in zip(factors, (11, 11, 12))) + end)


def table(at_once):
    title = "one at a time" if at_once == 1 else f"{at_once} at once"
    used = []
    print(header(f"runs a second, {title}"))
    for name, command, script in COMMANDS:
        with tempfile.TemporaryDirectory(prefix="fork-bench-") as folder:
            subprocess.run(["sh", "-ec", script], cwd=folder, check=True)
            r = rates(command, folder, at_once)
        factors = [r[way][0] / r["spawn"][0] for way in ("fork", "bare", "caged")]
        print(row(name, [r[way][0] for way in WAYS], factors,
                  f"  at least {FACTOR}: {'kept' if factors[0] >= FACTOR else 'NOT kept'}"), flush=True)
        used.append((name, r))
    print(header(f"us of processor time, {title}"))
    for name, r in used:
        print(row(name, [r[way][1] for way in WAYS], [r["spawn"][1] / r[way][1] for way in ("fork", "bare", "caged")]),
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
