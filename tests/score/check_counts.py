#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what `murphy check` says of programs of Debian: sites by verdict, and how many findings it shows.

The programs are those of this system; one that is not installed is skipped. There is no threshold: exit status 2 if
murphy failed, else 0. `./dev score check_real` has the accuracy, on programs with labels.
"""
import json
import os
import shutil
import subprocess
import sys
from collections import Counter

PROGRAMS = "git named dig rsync tar curl logrotate gzip sqlite3 ssh cp mv sort ls".split()
COLUMNS = ("all", "some", "none", "unknown")


def check(murphy, program):
    command = [murphy, "check", "--format=json", "--verdict=" + ",".join(COLUMNS), program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        print(f"check_counts: {' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return json.loads(done.stdout)["sites"]


def main():
    murphy = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MURPHY", "build/murphy")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    print("Sites of the programs of this system, by verdict; unknown: functions without known errors\n")
    print(f"{'':12}" + "".join(f"{c:>9}" for c in COLUMNS) + f"{'none shown':>12}{'some shown':>12}")
    for name in PROGRAMS:
        program = shutil.which(name, path=path)
        if program is None:
            print(f"{name:12} not installed")
            continue
        sites = check(murphy, program)
        verdicts = Counter(site["verdict"] for site in sites)
        shown = Counter(site["verdict"] for site in sites if not site["quiet"])
        print(f"{name:12}" + "".join(f"{verdicts[c]:>9}" for c in COLUMNS) + f"{shown['none']:>12}{shown['some']:>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
