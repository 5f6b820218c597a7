#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call costs under `murphy run`, beside a plain call, libfiu and strace, all in one run.

Each figure is the fastest of several runs of a program that itself takes the fastest of many rounds. Plans are made by
hand (tests/bench/rt_bench.c), so that nothing but shim and runtime is measured. Exit status: 0 measured (whatever the
figures say), 1 a run failed.
"""
import argparse
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
TARGET = f"{BUILD}/tests/target-bench"
RUNS = 5

# What a rule costs: name of the rule, what it is, limit in nanoseconds over the plain call.
RULES = [
    ("idle", "no rule can fire any more", 2),
    ("count", "call == n", 5),
    ("caller", 'caller("..."), which is another', 10),
    ("caller-hit", 'caller("..."), but not with this argument', 10),
    ("caller-call", 'caller("...") and call == n', 10),
    ("random", "random(p)", None),
]


def run(command):
    environment = dict(os.environ, MURPHY_BUILD=BUILD)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return float(done.stdout)


def fastest(command, runs=RUNS):
    return min(run(command) for _ in range(runs))


def under(rule, function, *arguments, runs=RUNS):
    return fastest([f"{BUILD}/tests/rt_bench", rule, function, "--", TARGET, *arguments], runs)


def verdict(over, limit):
    if limit is None:
        return ""
    return f"at most {limit}: {'kept' if over <= limit else 'NOT kept'}"


def rules():
    plain = under("none", "target_nothing", "call")
    print(f"{'a call of a function that does nothing':42} {'ns':>8} {'over plain':>11}")
    print(f"{'  plain, through the PLT':42} {plain:8.2f}")
    for rule, what, limit in RULES:
        ns = under(rule, "target_nothing", "call")
        print(f"{'  ' + what:42} {ns:8.2f} {ns - plain:11.2f}  {verdict(ns - plain, limit)}".rstrip(), flush=True)


def threads():
    print(f"\n{'malloc and free of 32 bytes, each thread':42} {'1 thread':>8} {'2 threads':>11}")
    for rule, what in (("none", "plain"), ("idle", "no rule can fire any more"), ("count", "call == n")):
        one, two = (under(rule, "malloc", "malloc", str(n)) for n in (1, 2))
        print(f"{'  ' + what:42} {one:8.2f} {two:11.2f}", flush=True)


def others():
    """Other tools, with a fault that does not come, on functions that they know."""
    plain = {"close": fastest([TARGET, "close"]), "malloc": fastest([TARGET, "malloc"])}
    rows = [("murphy, call == n", lambda what: under("count", what, what))]
    if shutil.which("fiu-run"):
        rows.append(("libfiu", lambda what: fastest(["fiu-run", "-x", TARGET, what], 2)))
    if shutil.which("strace"):
        strace = ["strace", "-f", "-o", "/dev/null", "-e", "trace=close", "-e", "inject=close:error=EIO:when=65535"]
        rows.append(("strace --inject", lambda what: fastest([*strace, TARGET, what], 2) if what == "close" else None))
    print(f"\n{'over a plain call, ns':42} {'malloc':>8} {'close':>11}")
    for name, measure in rows:
        cells = []
        for what in ("malloc", "close"):
            ns = measure(what)
            cells.append("-" if ns is None else f"{ns - plain[what]:.1f}")
        print(f"{'  ' + name:42} {cells[0]:>8} {cells[1]:>11}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.parse_args()
    try:
        rules()
        threads()
        others()
    except (OSError, RuntimeError, ValueError) as error:
        print(f"run_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
