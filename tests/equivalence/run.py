#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every experiment of many programs in the fast modes and by exec: what could be seen of them must be the same.

run.py [--tap] [--most N] [--function F] [--pairs] [NAME...]: all programs, or those named, and only failures of F if it is
given; or pairs of faults. With --tap as a test, else as a table. Needs MURPHY_BUILD. Exit status: 0 all are equal, 1 some
differ or could not be compared.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MURPHY_BUILD", f"{ROOT}/build")

# Name → a command, and what is in its folder before.
DEBIAN = {
    "ls": (["ls", "-l", "tree"], "mkdir tree; for i in $(seq 40); do mkdir tree/$i; ln -s $i tree/link$i; done"),
    "sort": (["sort", "-r", "lines"], "seq 2000 | shuf --random-source=/bin/ls > lines"),
    "sort -o": (["sort", "-o", "sorted", "lines"], "seq 500 > lines"),
    "gzip": (["gzip", "-k", "lines"], "seq 20000 > lines"),
    "tar": (["tar", "cf", "all.tar", "tree"], "mkdir -p tree/a/b; for i in 1 2 3; do seq $i > tree/a/b/$i; done"),
    "git status": (["git", "status"], "git init -q .; seq 9 > a; git add a; seq 8 > b"),
    "make": (["make", "-s"], "printf 'all: x\\nx: y\\n\\tcp y x\\n' > Makefile; echo > y"),
    "sqlite3": (["sqlite3", "new.db", "create table t(a, b); insert into t values (1, 2); select * from t;"], ""),
    "sqlite3 old": (["sqlite3", "old.db", "insert into t values (3, 4); delete from t where a = 1;"],
                    "sqlite3 old.db 'create table t(a, b); insert into t values (1, 2);'"),
    "cp": (["cp", "-r", "tree", "copy"], "mkdir tree; seq 100 > tree/a; ln -s a tree/b"),
    "grep": (["grep", "-rn", "7", "tree"], "mkdir tree; seq 100 > tree/a; seq 50 > tree/b"),
    "sed": (["sed", "-i", "s/1/one/", "lines"], "seq 100 > lines"),
    "awk": (["awk", "{s += $1} END {print s > \"sum\"}", "lines"], "seq 100 > lines"),
    "sh": (["sh", "-c", "for i in 1 2 3; do echo $i > f$i; done; cat f1 f2"], ""),
    "wc": (["wc", "lines"], "seq 1000 > lines"),
    "diff": (["diff", "-u", "a", "a"], "seq 100 > a"),
    "tac": (["tac", "lines"], "seq 1000 > lines"),
    "xz": (["xz", "-k", "lines"], "seq 2000 > lines"),
    "find": (["find", ".", "-name", "*.c"], "mkdir -p a/b; touch a/b/x.c a/y.c"),
    "mv": (["mv", "a", "b"], "seq 10 > a"),
}


def sources():
    return sorted(glob.glob(f"{ROOT}/tests/equivalence/programs/*.c") + glob.glob(f"{ROOT}/tests/examples/*.c"))


def prepare(name, folder):
    """The command to compare, in FOLDER; None if it is not there."""
    if name in DEBIAN:
        command, script = DEBIAN[name]
        if not shutil.which(command[0]):
            return None
        environment = dict(os.environ, GIT_AUTHOR_DATE="2020-01-01 00:00", GIT_COMMITTER_DATE="2020-01-01 00:00")
        subprocess.run(["sh", "-ec", script], cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)
        return command
    source = next(p for p in sources() if os.path.basename(p) == name + ".c")
    subprocess.run(["cc", "-g", "-O1", "-w", "-o", f"{folder}/{name}", source, "-lpthread"], check=True)
    return [f"./{name}"]


def too_few_branches(name, said):
    """Its source may say how many of its experiments must be made by branches; the others cannot be."""
    source = next((p for p in sources() if os.path.basename(p) == name + ".c"), None)
    wanted = re.search(r"by branches: (\d+) of 100", open(source, encoding="utf-8").read()) if source else None
    numbers = re.search(r"(\d+) of \d+ experiments: .* (\d+) branch", said)
    return bool(wanted and numbers) and int(numbers[2]) * 100 < int(wanted[1]) * int(numbers[1])


def compare(name, mode, arguments, folder):
    """(status, what it said)"""
    command = prepare(name, folder)
    if not command:
        return 0, "not installed"
    environment = dict(os.environ, MURPHY_DATA=f"{ROOT}/data", MURPHY_RUNTIME=f"{BUILD}/libmurphy-rt.so", LC_ALL="C")
    limit = (["-n", str(arguments.most)] if arguments.most else []) + (["-b"] if mode == "branch" else [])
    limit += ["-f", arguments.function] if arguments.function else []
    limit += ["-d"] if arguments.pairs else []
    done = subprocess.run([f"{BUILD}/tests/equivalence", *limit, "--", *command], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    said = done.stdout.strip()
    if mode == "branch" and too_few_branches(name, said):
        return 1, said + "\ntoo few were made by branches"
    return done.returncode, said


def count(said, totals):
    """Adds what the last line of a comparison says; what branches refused was not compared."""
    found = re.search(r"(\d+) exec, (\d+) fork, (\d+) branch .*; (\d+) differ, (\d+) do not repeat", said)
    if not found:
        return
    numbers = [int(n) for n in found.groups()]
    for key, n in zip(("exec", "fork", "branch", "differ", "unstable"), numbers):
        totals[key] += n
    totals["experiments"] += sum(numbers[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--function")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--mode", default="fork,branch")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.tap and os.environ.get("MURPHY_AGAIN"):
        print("1..0 # SKIP was run with the other compiler")
        return 0
    examples = [os.path.basename(p)[:-2] for p in sources()]
    bad = 0
    totals = dict.fromkeys(("experiments", "exec", "fork", "branch", "differ", "unstable"), 0)
    both = [(mode, name) for name in arguments.names or examples + list(DEBIAN) for mode in arguments.mode.split(",")]
    for number, (mode, name) in enumerate(both, 1):
        with tempfile.TemporaryDirectory(prefix="equivalence-") as folder:
            status, said = compare(name, mode, arguments, folder)
        bad += status != 0
        count(said, totals)
        last = said.splitlines()[-1] if said else ""
        if arguments.tap:
            if "namespaces" in said:
                print("1..0 # SKIP no namespaces here")
                return 0
            print("\n".join("# " + line for line in said.splitlines()))
            print(f"{'not ok' if status else 'ok'} {number} - {name} by {mode}")
        else:
            print(f"{name:14} {mode:6} {last if status == 0 else said}", flush=True)
    if arguments.tap:
        print(f"1..{number}")
    else:
        print(f"{len(set(name for _, name in both))} programs, {totals['experiments']} comparisons with exec: "
              f"{totals['fork']} by fork, {totals['branch']} by branch, {totals['exec']} by exec again; "
              f"{totals['differ']} differ, {totals['unstable']} do not repeat")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
