#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a campaign's database takes experiments, each in a transaction of its own, and how large it gets.

Exit status: 0 measured (whatever the figures say), 1 a run failed.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy")))
EXPERIMENTS = 100000
LIMIT = 5000


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{BUILD}/tests/store_bench", folder, str(EXPERIMENTS)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return 1
        rate, load, size = (float(word) for word in done.stdout.split())
    print(f"a campaign of {EXPERIMENTS:,} experiments in the database")
    print(f"  experiments a second, each in its own transaction {rate:10,.0f}"
          f"   at least {LIMIT:,}: {'kept' if rate >= LIMIT else 'NOT kept'}")
    print(f"  size of the file, MB                              {size / 1e6:10.1f}   {size / EXPERIMENTS:.0f} bytes each")
    print(f"  a report of it, ms                                {load:10.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
