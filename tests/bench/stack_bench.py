#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What triggers cost that look at callers and stacks, beside backtrace() in the same process, at a depth of 30 frames.

First the runtime's own functions, compiled as for a target and called directly; then a call under a rule in a program
that is run with shim and runtime, minus the same call without them. Exit status: 0 measured (whatever the figures say),
1 a run failed.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = [
    ("pointers-rows", "frame pointers"),
    ("rows", "no frame pointers"),
    ("memory", "tables in memory"),
]
COLUMNS = [
    ("caller_hit", "caller, hit"),
    ("caller_miss", "caller, miss"),
    ("stack", "stack"),
    ("frames", "30 frames"),
    ("hash", "point"),
    ("record", "recorded"),
    ("new", "new address"),
    ("backtrace", "backtrace()"),
]


def measure(program, way):
    """Nanoseconds by name, of three runs the fastest, without what the loop around it takes."""
    best = {}
    for _ in range(3):
        done = subprocess.run([program, way], stdout=subprocess.PIPE, text=True, check=True)
        for name, value in map(str.split, done.stdout.splitlines()):
            best[name] = min(best.get(name, float("inf")), float(value))
    return {name: value - (best["nothing"] if name != "new" else 0) for name, value in best.items()}


def call(build, rule, target):
    """Nanoseconds of a call below 30 frames, of five runs the fastest."""
    command = [f"{build}/tests/rt_bench", rule, "target_nothing", "--", f"{build}/tests/{target}", "stack"]
    env = dict(os.environ, MURPHY_BUILD=build)
    return min(float(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)
               for _ in range(5))


def whole_calls(build):
    print(f"\n{'ns a call, over none':26}{'caller, hit':>14}{'caller, miss':>14}{'stack':>14}{'limit':>14}")
    for title, rule, target, limit in (
        ("frame pointers", "stack-rows", "target-bench-pointers", 100),
        ("no frame pointers", "stack-rows", "target-bench", 1000),
        ("tables in memory", "stack", "target-bench", 1000),
    ):
        plain = call(build, "none", target)
        hit, miss, stack = (call(build, name, target) - plain for name in ("caller-hit", "caller", rule))
        print(f"{title:26}{hit:14.1f}{miss:14.1f}{stack:14.1f}{limit:14}", flush=True)


def main():
    build = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
    program = os.path.join(build, "tests", "bench-stack")
    print(f"{'ns a call':26}" + "".join(f"{title:>14}" for _, title in COLUMNS))
    try:
        for way, title in WAYS:
            ns = measure(program, way)
            print(f"{title:26}" + "".join(f"{ns[name]:14.1f}" for name, _ in COLUMNS), flush=True)
        whole_calls(build)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"stack_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
