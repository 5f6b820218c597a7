# SPDX-License-Identifier: Apache-2.0
"""Compares unwind rows with what readelf --debug-dump=frames-interp says: unwind.py ROWS [FILE...]

ROWS is the program of unwind_rows.c. Files that are not there are skipped. Where readelf only says that there is an
expression, any row is accepted, and how many are an end of the walk is told.
"""
import bisect
import collections
import os
import re
import subprocess
import sys

from tap import Tap

FILES = [
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/bin/git",
    "/usr/bin/python3.11",
]

ENTRY = re.compile(r"^([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)(?: cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))?")
ANY = ("expression",)
END = ("end", 0, 0, 0)
NONE = ("none", 0, 0, 0)


def expected(cfa, rbp, ra):
    """The row for readelf's words, ANY if it does not say enough."""
    if "exp" in (cfa, rbp, ra):
        return ANY
    match = re.fullmatch(r"(rsp|rbp)([+-]\d+)", cfa)
    if not match or ra != "c-8":
        return END
    saved = re.fullmatch(r"c([+-]\d+)", rbp)
    if rbp not in ("u", "s") and not saved:
        return END
    return (match.group(1), 0, int(saved.group(1)) if saved else 0, int(match.group(2)))


def readelf(path):
    """(start, end, [(address, row)]) for each FDE."""
    command = ["readelf", "-W", "--debug-dump=frames-interp", path]
    text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    common, entries, rows, columns = {}, [], None, []
    for line in text.splitlines():
        match = ENTRY.match(line)
        if match:
            rows = []
            if match.group(2) == "CIE":
                common[match.group(1)] = rows
            else:
                # Without rows of its own, an entry has those of its CIE.
                entries.append((int(match.group(4), 16), int(match.group(5), 16), rows, common.get(match.group(3), [])))
        elif line.lstrip().startswith("LOC"):
            columns = line.split()
        elif rows is not None and re.match(r"[0-9a-f]{16} ", line):
            words = dict(zip(columns, re.sub(r" \(\w+\)", "", line).split()))  # "r10 (r10)" is one
            rows.append((int(words["LOC"], 16), expected(words["CFA"], words.get("rbp", "u"), words.get("ra", "u"))))
    return [(s, e, own or [(s, row) for _, row in cie[-1:]]) for s, e, own, cie in entries]


def murphy(program, path):
    out = subprocess.run([program, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        start, kind, *numbers = line.split()
        rows.append((int(start, 16), (kind, *map(int, numbers))))
    return rows


def compare(ours, entries):
    """What differs, and how many rows of which kind stand where readelf has an expression."""
    starts, kinds, problems = [r[0] for r in ours], collections.Counter(), []
    places = set()

    def at(address):
        i = bisect.bisect_right(starts, address) - 1
        return ours[i][1] if i >= 0 else NONE

    begins = {s for s, _, _ in entries}
    for start, end, rows in entries:
        places.update((start, end), (a for a, _ in rows))
        ends = [a for a, _ in rows[1:]] + [end]
        for (address, want), until in zip(rows, ends):
            if address >= end or address == until:
                continue
            for where in (address, min(until, end) - 1):
                got = at(where)
                if want != ANY and got != want:
                    problems.append(f"{where:#x}: {got}, readelf has {want}")
            kinds[("expression: " if want == ANY else "") + at(address)[0]] += 1
        if end not in begins and at(end) != NONE:
            problems.append(f"{end:#x}: {at(end)} behind the end of an entry")
    problems += [f"{s:#x}: a row where readelf has none" for s in starts if s not in places]
    problems += [f"{a[0]:#x} and {b[0]:#x} are out of order" for a, b in zip(ours, ours[1:]) if a[0] >= b[0]]
    problems += [f"{b[0]:#x} says what the row before says" for a, b in zip(ours, ours[1:]) if a[1] == b[1]]
    return problems, kinds


def main():
    program, files = sys.argv[1], sys.argv[2:] or FILES
    tap = Tap()
    for path in filter(os.path.exists, files):
        entries, ours = readelf(path), murphy(program, path)
        problems, kinds = compare(ours, entries)
        if not entries:
            problems.append("readelf found no entries")
        tap.ok(f"{path}: {len(ours)} rows", problems[:20])
        print("# " + ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())))
    if tap.count == 0:
        tap.ok("no file to compare", ["none of the files is there"])
    tap.done()


if __name__ == "__main__":
    main()
