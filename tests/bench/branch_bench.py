#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments a second in each mode, beside posix_spawn of the same command and a bare fork and wait.

The first experiments of a command in the order of `murphy test`, each mode with the same ones, one at a time in one lab.
Then the cost of an experiment near the end of a run over growing inputs, and of a fork over growing memory. Exit status:
0 measured (whatever the figures say), 1 a run failed.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
COMMANDS = [
    ("ls -l", ["ls", "-l"], "for i in $(seq 30); do echo > $i; done"),
    ("sort, 10,000 lines", ["sort", "lines"], "seq 10000 > lines"),
    ("gzip, 1 MB", ["gzip", "-k", "data"], "head -c 1000000 /dev/urandom > data"),
    ("sqlite3, 200 statements", ["sqlite3", "db", ".read script"],
     "(echo 'create table t(a);'; for i in $(seq 199); do echo \"insert into t values ($i);\"; done) > script"),
    ("git status", ["git", "status"], "git init -q .; seq 9 > a; git add a; seq 8 > b"),
]


def measure(command, folder, most):
    environment = dict(os.environ, MURPHY_DATA=f"{ROOT}/data", MURPHY_RUNTIME=f"{BUILD}/libmurphy-rt.so")
    done = subprocess.run([f"{BUILD}/tests/branch_bench", str(most), *command], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def modes():
    print(f"{'experiments a second':24} {'fork+wait':>10} {'spawn':>8} {'exec':>8} {'fork':>8} {'branch':>8} "
          f"{'by branch':>10} {'branch/exec':>12}")
    for name, command, script in COMMANDS:
        with tempfile.TemporaryDirectory(prefix="branch-bench-") as folder:
            subprocess.run(["sh", "-ec", script], cwd=folder, check=True)
            r = measure(command, folder, 30)
        print(f"{name:24} {r['bare']:10.0f} {r['spawn']:8.0f} {r['exec']:8.0f} {r['fork']:8.0f} {r['branch']:8.0f} "
              f"{r['made']:9.0f}% {r['branch'] / r['exec']:12.1f}", flush=True)


def prefix():
    print(f"\n{'the longer the run before the fault':36} {'exec':>8} {'fork':>8} {'branch':>8}")
    for lines in (1000, 10000, 100000):
        with tempfile.TemporaryDirectory(prefix="branch-bench-") as folder:
            subprocess.run(["sh", "-ec", f"seq {lines} | shuf --random-source=/bin/ls > lines"], cwd=folder, check=True)
            r = measure(["sort", "lines"], folder, 60)
        print(f"{f'  sort of {lines:,} lines, experiments a second':36} {r['exec']:8.0f} {r['fork']:8.0f} "
              f"{r['branch']:8.0f}", flush=True)


def main():
    try:
        modes()
        prefix()
    except (OSError, subprocess.CalledProcessError, KeyError, ValueError) as error:
        print(f"branch_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
