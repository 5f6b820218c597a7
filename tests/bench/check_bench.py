#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `murphy check` against `objdump -d` on programs, in the same run.

Each program by itself, and then all in one command. Each is started anew three times, with its output thrown away; the
fastest counts. murphy has no cache here. objdump is given the program alone, and then the program and the libraries
that define what it imports, which murphy reads as well.
A program whose code is mostly in libraries of its own source package (named's is) gets a second table: all call sites of
the program and of these libraries, against objdump of exactly these files. Where there is no dpkg, there is none.
Exit status: 0 measured (whatever the figures say), 1 a run failed.

usage: check_bench.py [PROGRAM...]
"""
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = ["/usr/bin/git", "/usr/sbin/named", "/usr/bin/dig", "/usr/bin/curl", "/bin/tar", "/bin/cp"]


def fastest(command):
    best = None
    for _ in range(3):
        start = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        seconds = time.monotonic() - start
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]}: {done.stderr.decode(errors='replace').strip()}")
        best = seconds if best is None else min(best, seconds)
    return best


def libraries(program):
    """The libraries that the program itself needs, as the loader finds them."""
    needed = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
    names = {line.split()[1] for line in needed.splitlines() if line.split()[:1] == ["NEEDED"]}
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [w[2] for w in map(str.split, listed.splitlines()) if len(w) > 2 and w[0] in names and w[2][:1] == "/"]


def source_package(path):
    """The source package of a file, or None."""
    owner = subprocess.run(["dpkg", "-S", os.path.realpath(path)], capture_output=True, text=True, check=False).stdout
    if ": " not in owner:
        return None
    query = ["dpkg-query", "-W", "-f", "${source:Package}", owner.split(": ")[0].split(",")[0]]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout or None


def own_files(program):
    """The program and those of its libraries that were made from the same source package."""
    try:
        package = source_package(program)
        return [program, *(lib for lib in libraries(program) if package and source_package(lib) == package)]
    except FileNotFoundError:
        return [program]


def compare_own(murphy, programs):
    """Whole source packages: the call sites of all their files."""
    sets = [files for files in map(own_files, programs) if len(files) > 1]
    if sets:
        print(f"\n{'with its own libraries':24} {'files':>8} {'murphy':>8} {'objdump':>8} {'ratio':>6}")
    for files in sets:
        own = fastest([murphy, "check", "--format", "json", *files])
        plain = fastest(["objdump", "-d", *files])
        print(f"{files[0]:24} {len(files):8} {own:7.3f}s {plain:7.3f}s {own / plain:6.2f}", flush=True)


def main():
    murphy = os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy"))
    programs = sys.argv[1:] or [p for p in PROGRAMS if os.path.exists(p)]
    print(f"{'program':24} {'murphy':>8} {'objdump':>8} {'ratio':>6} {'with libraries':>15} {'ratio':>6}")
    for program in programs:
        try:
            own = fastest([murphy, "check", "--format", "json", program])
            alone = fastest(["objdump", "-d", program])
            all_files = fastest(["objdump", "-d", program, *libraries(program)])
        except RuntimeError as error:
            print(f"check_bench: {error}", file=sys.stderr)
            return 1
        print(f"{program:24} {own:7.3f}s {alone:7.3f}s {own / alone:6.2f} {all_files:14.3f}s {own / all_files:6.2f}",
              flush=True)
    try:
        if len(programs) > 1:
            own = fastest([murphy, "check", "--format", "json", *programs])
            plain = fastest(["objdump", "-d", *programs])
            print(f"{'all of them at once':24} {own:7.3f}s {plain:7.3f}s {own / plain:6.2f}", flush=True)
        compare_own(murphy, programs)
    except RuntimeError as error:
        print(f"check_bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
