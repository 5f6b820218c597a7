#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments a second in each mode, beside posix_spawn of the same command and a bare fork and wait.

Experiments from all over the plan of `murphy test`, each mode with the same ones, one at a time in one lab; `all` is by
branches, in a lab for each processor. Then only those among the last tenth of the run's calls, so that nearly all of it
comes before the fault; what one of them costs over growing inputs, and how long the branch's child runs of that; and
over growing memory, of a program made for it and of programs of Debian. `at most` is what branch/exec would be if a
branch cost nothing but what its child does behind the fault; `by time` is exec's processor time over branch's, which
depends less on what else the machine does.

Waiting or a snapshot: a trunk waits for its child, and each processor has a trunk. If it went on meanwhile, one trunk
would do, so that one run of the command were saved for each processor but one in a batch of about a second; but each
child would need namespaces of its own (`apart` against `fork+wait`), since all have one number and see other files at the
same place. `busy` is how much of all processors waiting trunks use: `all` over as many times `branch`.
Exit status: 0 measured (whatever the figures say), 1 a run failed.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
SQLITE = (["sqlite3", "db", ".read script"], "libsqlite3.so.0")
GIT = (["git", "status"], None)


def statements(n):
    """A script for sqlite3: a table, and as many rows as there is room for."""
    return f"(echo 'create table t(a);'; for i in $(seq {n - 1}); do echo \"insert into t values ($i);\"; done) > script"


def repository(n):
    return f"git init -q .; for i in $(seq {n}); do echo $i > f$i; done; git add .; seq 8 > other"


# Name, command, the module whose calls fail (None: as ever), what is in the folder before.
COMMANDS = [
    ("ls -l", ["ls", "-l"], None, "for i in $(seq 30); do echo > $i; done"),
    ("sort, 10,000 lines", ["sort", "lines"], None, "seq 10000 > lines"),
    ("gzip, 1 MB", ["gzip", "-k", "data"], None, "head -c 1000000 /dev/urandom > data"),
    ("sqlite3, 200 statements", *SQLITE, statements(200)),
    ("git status", *GIT, repository(9)),
]
LATE = [
    ("sqlite3, 200 statements", *SQLITE, statements(200)),
    ("sqlite3, 800 statements", *SQLITE, statements(800)),
    ("git status, 1,000 files", *GIT, repository(1000)),
    ("git status, 4,000 files", *GIT, repository(4000)),
]
# Programs of Debian that are as large as they are told to be, and make calls that can fail then.
PERL = '$x = "a" x {bytes}; for (1..8) {{ open(F, ">", "f$_") && print(F $_) && close(F) or exit 1 }}'
ROWS = ("create table t(a); with recursive c(n) as (select 1 union all select n + 1 from c where n < {rows}) "
        "insert into t select zeroblob(100000) from c; select count(*) from t;")
LARGE = [
    ("made for it", lambda mb: ["./large", str(mb)]),
    ("perl", lambda mb: ["perl", "-e", PERL.format(bytes=mb << 20)]),
    ("sqlite3", lambda mb: ["sqlite3", ":memory:", ROWS.format(rows=mb * 10)]),
]
CURVES = [
    ("sqlite3, statements", *SQLITE, statements, (50, 200, 800)),
    ("git status, files", *GIT, repository, (100, 400, 1600)),
]
EXPERIMENTS = 100
LS_AIM, LATE_AIM = 1000, 10
PROCESSORS = min(os.cpu_count() or 1, 8)  # as many labs as branch_bench has


def measure(command, module, script, *options, most=EXPERIMENTS):
    environment = dict(os.environ, MURPHY_DATA=f"{ROOT}/data", MURPHY_RUNTIME=f"{BUILD}/libmurphy-rt.so")
    chosen = [*options, *(["-f", module] if module else [])]
    with tempfile.TemporaryDirectory(prefix="branch-bench-") as folder:
        subprocess.run(["sh", "-ec", script], cwd=folder, check=True)
        done = subprocess.run([f"{BUILD}/tests/branch_bench", *chosen, str(most), *command], cwd=folder,
                              env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def verdict(value, aim):
    return f"at least {aim:,}: {'kept' if value >= aim else 'NOT kept'}"


def bound(r):
    return 1000 / r["exec"] / r["child"] if r["child"] else 0


def by_time(r):
    return r["exec-us"] / r["branch-us"] if r["branch-us"] else 0


def modes():
    print(f"{'experiments a second':24} {'fork+wait':>10} {'apart':>8} {'spawn':>8} {'exec':>8} {'fork':>8} {'branch':>8} "
          f"{'all':>8} {'busy':>6} {'by branch':>10} {'branch/exec':>12} {'at most':>8} {'by time':>8}")
    for name, command, module, script in COMMANDS:
        r = measure(command, module, script)
        busy = 100 * r["both"] / r["branch"] / PROCESSORS
        print(f"{name:24} {r['bare']:10.0f} {r['apart']:8.0f} {r['spawn']:8.0f} {r['exec']:8.0f} {r['fork']:8.0f} "
              f"{r['branch']:8.0f} {r['both']:8.0f} {busy:5.0f}% {r['made']:9.0f}% {r['branch'] / r['exec']:12.1f} "
              f"{bound(r):8.1f} {by_time(r):8.1f}"
              f"{'  all ' + verdict(r['both'], LS_AIM) if name == 'ls -l' else ''}", flush=True)


WAYS = [part for way in ("exec", "fork", "branch") for part in ("-w", way)]


def late():
    print(f"\n{'faults near the end':24} {'exec':>8} {'fork':>8} {'branch':>8} {'by branch':>10} {'branch/exec':>12} {'at most':>8} "
          f"{'by time':>8}")
    for name, command, module, script in LATE:
        r = measure(command, module, script, "-l", *WAYS)
        factor = r["branch"] / r["exec"]
        print(f"{name:24} {r['exec']:8.0f} {r['fork']:8.0f} {r['branch']:8.0f} {r['made']:9.0f}% {factor:12.1f} "
              f"{bound(r):8.1f} {by_time(r):8.1f}  {verdict(factor, LATE_AIM)}", flush=True)


def curves():
    print(f"\n{'ms an experiment near the end':32} {'exec':>8} {'fork':>8} {'branch':>8} {'its child':>10} {'branch/exec':>12}")
    for name, command, module, script, sizes in CURVES:
        for size in sizes:
            r = measure(command, module, script(size), "-l", "-r", "1", *WAYS)
            print(f"{f'{name}: {size:,}':32} {1000 / r['exec']:8.1f} {1000 / r['fork']:8.1f} "
                  f"{1000 / r['branch']:8.1f} {r['child']:10.1f} {r['branch'] / r['exec']:12.1f}", flush=True)


def memory():
    print(f"\n{'ms an experiment near the end':32} {'exec':>8} {'fork':>8} {'branch':>8} {'by branch':>10}")
    build = f"cc -O1 -o large '{ROOT}/tests/bench/large.c'"
    for name, command in LARGE:
        for size in (10, 100, 1000):
            r = measure(command(size), None, build, "-l", "-r", "1", *WAYS, most=20)
            print(f"{f'{name}: {size:,} MB resident':32} {1000 / r['exec']:8.1f} {1000 / r['fork']:8.1f} "
                  f"{1000 / r['branch']:8.1f} {r['made']:9.0f}%", flush=True)


def main():
    try:
        modes()
        late()
        curves()
        memory()
    except (OSError, subprocess.CalledProcessError, KeyError, ValueError) as error:
        print(f"branch_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
