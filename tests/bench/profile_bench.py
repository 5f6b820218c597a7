#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `murphy profile` against `objdump -d` on libraries from small to huge, in the same run.

Each is started anew three times, without murphy's cache, with its output thrown away; the fastest counts. Memory is the
largest resident set of the process. Exit status: 0 measured (whatever the figures say), 1 a run failed.
"""
import argparse
import os
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"]
# For each row the first that is there.
LIBRARIES = [
    ["libz.so.1"],
    ["libsqlite3.so.0", "libxml2.so.2"],
    ["libc.so.6"],
    ["libcrypto.so.3"],
    ["libLLVM-14.so.1"],
]
LIMIT_RATIO = 0.5
LIMIT_SIZE = 1_000_000  # bytes of code; a smaller library takes what its callees in libc take
LIMIT_MB = 400


def find(names):
    for name in names:
        for folder in FOLDERS:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return os.path.realpath(path)
    return None


def code_size(path):
    """Bytes of the executable sections, which are what objdump -d goes through."""
    with open(path, "rb") as f:
        header = f.read(64)
        offset, = struct.unpack_from("<Q", header, 0x28)
        size, count = struct.unpack_from("<HH", header, 0x3A)
        f.seek(offset)
        table = f.read(size * count)
    total = 0
    for i in range(count):
        _, kind, flags, _, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if flags & 4 and kind != 8:  # SHF_EXECINSTR, not SHT_NOBITS
            total += length
    return total


def run(command):
    """Seconds, and the largest resident set in MB. RuntimeError if the run fails."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        message = process.stderr.read().decode(errors="replace").strip()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode} {message}")
    return seconds, usage.ru_maxrss / 1024


def best(command, times):
    runs = [run(command) for _ in range(times)]
    return min(seconds for seconds, _ in runs), max(megabytes for _, megabytes in runs)


def linearity(rows):
    """The line seconds = fixed + slope * bytes that fits best, and how much of the differences it explains (1 is all)."""
    n = len(rows)
    mean_x = sum(x for x, _ in rows) / n
    mean_y = sum(y for _, y in rows) / n
    spread = sum((x - mean_x) ** 2 for x, _ in rows)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in rows) / spread if spread else 0.0
    fixed = mean_y - slope * mean_x
    total = sum((y - mean_y) ** 2 for _, y in rows)
    rest = sum((y - fixed - slope * x) ** 2 for x, y in rows)
    return fixed, slope, 1 - rest / total if total else 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--murphy", default=os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("library", nargs="*", help="other libraries than the usual ones")
    options = parser.parse_args()

    paths = [os.path.realpath(p) for p in options.library]
    for names in [] if paths else LIBRARIES:
        path = find(names)
        if path:
            paths.append(path)
        else:
            print(f"profile_bench: none of {', '.join(names)} is installed", file=sys.stderr)

    print(f"murphy profile --no-cache against objdump -d; best of {options.times}, {os.cpu_count()} processors")
    print(f"{'library':<26}{'code':>9}{'murphy':>10}{'objdump':>10}{'ratio':>8}{'memory':>9}{'per byte':>11}")
    rows, missed, failed = [], [], False
    for path in paths:
        name, size = os.path.basename(path), code_size(path)
        try:
            ours, megabytes = best([options.murphy, "profile", "--no-cache", path], options.times)
            theirs, _ = best(["objdump", "-d", path], options.times)
        except RuntimeError as failure:
            print(f"{name:<26}{size / 1e6:>6.2f} MB  {failure}", flush=True)
            missed.append(name)
            failed = True
            continue
        rows.append((size, ours))
        if size >= LIMIT_SIZE and ours > LIMIT_RATIO * theirs or megabytes > LIMIT_MB:
            missed.append(name)
        print(f"{name:<26}{size / 1e6:>6.2f} MB{ours:>8.3f} s{theirs:>8.3f} s{ours / theirs:>8.2f}"
              f"{megabytes:>6.0f} MB{ours / size * 1e9:>8.1f} ns", flush=True)

    if len(rows) > 1:
        fixed, slope, explained = linearity(rows)
        print(f"\nover {len(rows)} libraries: {fixed * 1e3:.0f} ms for the libraries that they call, "
              f"and {slope * 1e9:.0f} ns a byte; a line explains {explained:.1%}")
    print(f"wanted from {LIMIT_SIZE / 1e6:.0f} MB of code on: ratio at most {LIMIT_RATIO}, memory at most {LIMIT_MB} MB: "
          + ("met by all" if not missed else "missed by " + ", ".join(missed)))
    return failed


if __name__ == "__main__":
    sys.exit(main())
