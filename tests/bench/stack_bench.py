#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What triggers cost that look at callers and stacks, beside backtrace() in the same process, at a depth of 30 frames.

The runtime's own functions, compiled as for a target and called directly: what a call through the shim costs beside
them is the matter of run_bench.py. Exit status: 0 measured (whatever the figures say), 1 a run failed.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = [
    ("pointers", "frame pointers, no tables"),
    ("pointers-rows", "frame pointers, tables"),
    ("rows", "no frame pointers, tables"),
]
COLUMNS = [
    ("caller_hit", "caller, hit"),
    ("caller_miss", "caller, miss"),
    ("stack", "stack"),
    ("frames", "30 frames"),
    ("hash", "point"),
    ("record", "recorded"),
    ("backtrace", "backtrace()"),
]


def measure(program, way):
    """Nanoseconds by name, of three runs the fastest, without what the loop around it takes."""
    best = {}
    for _ in range(3):
        done = subprocess.run([program, way], stdout=subprocess.PIPE, text=True, check=True)
        for name, value in map(str.split, done.stdout.splitlines()):
            best[name] = min(best.get(name, float("inf")), float(value))
    return {name: value - best["nothing"] for name, value in best.items()}


def main():
    build = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
    program = os.path.join(build, "tests", "bench-stack")
    print(f"{'ns a call':26}" + "".join(f"{title:>14}" for _, title in COLUMNS))
    for way, title in WAYS:
        try:
            ns = measure(program, way)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"stack_bench: {error}", file=sys.stderr)
            return 1
        print(f"{title:26}" + "".join(f"{ns[name]:14.1f}" for name, _ in COLUMNS), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
