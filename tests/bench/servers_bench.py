#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LFI's tables IV, VIII and IX again: what triggers cost a web server and a database, and how precise they are.

Apache httpd with ab, MariaDB with sysbench, all of Debian and on loopback; a server without murphy and one for each set
of triggers run side by side, and are measured in turn, so that what else the machine does hits all of them. Triggers
are evaluated at every call and let every call through. Exit status: 0 measured (whatever the figures say), 1 a run
failed, 2 something is not installed.
"""
import argparse
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from servers import apache, asked, counted, mariadb, precision  # noqa: E402
from servers.measure import MURPHY, ROOT, Failed, missing  # noqa: E402

TABLES = {"asked": asked, "counted": counted, "precision": precision, "apache": apache, "mariadb": mariadb}


def place():
    """In memory, if there is enough: disks are not what is measured."""
    try:
        memory = os.statvfs("/dev/shm")
        return "/dev/shm" if memory.f_bavail * memory.f_frsize > 4 << 30 else "/tmp"
    except OSError:
        return "/tmp"


class Both(io.StringIO):
    """What is printed, at once and to be kept."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def write(self, text):
        self.out.write(text)
        return super().write(text)

    def flush(self):
        self.out.flush()


def measured():
    """When, and with what: a document says it with its figures."""
    said = subprocess.run([MURPHY, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    version = said.split("\n")[0]
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    return f"(measured {time.strftime('%Y-%m-%d')}, {version}{', ' + commit if commit else ''})\n"


def write_block(path, text):
    """TEXT in place of the block of PATH whose first line has the same first words."""
    with open(path, encoding="utf-8") as f:
        document = f.read()
    title = re.match(r"[^:,]*", text).group()
    block = re.compile(r"(?<=^```\n)" + re.escape(title) + r".*?(?=^```$)", re.DOTALL | re.MULTILINE)
    document, found = block.subn(lambda _: text, document, count=1)
    if not found:
        raise Failed(f"{path} has no block that begins with '{title}'")
    with open(path, "w", encoding="utf-8") as f:
        f.write(document)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", nargs="*", choices=[*TABLES, []], help="which ones (all)")
    parser.add_argument("--short", action="store_true", help="in a quarter of the time: 8 rounds, 3 starts, 20 runs")
    parser.add_argument("--rounds", type=int, help="how often each server is measured (30)")
    parser.add_argument("--starts", type=int, help="how often all servers are started anew (6)")
    parser.add_argument("--seconds", type=int, default=240,
                        help="no further start of a table's servers that would take longer than this, if there were "
                             "two (240)")
    parser.add_argument("--runs", type=int, help="how often each scenario of table IV is run (100)")
    parser.add_argument("--write", metavar="FILE", nargs="?", const=os.path.join(ROOT, "docs", "servers.md"),
                        help="write each table into FILE, in place of what it has there (docs/servers.md)")
    options = parser.parse_args()
    for name, usual, few in (("rounds", 30, 8), ("starts", 6, 3), ("runs", 100, 20)):
        setattr(options, name, getattr(options, name) or (few if options.short else usual))
    # Ended in good order, so that the servers are, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    status = 0
    for name in options.table or TABLES:
        absent = missing(TABLES[name].NEEDS)
        if absent:
            print(f"{name}: not measured, there is no {', '.join(absent)}", file=sys.stderr)
            status = status or 2
            continue
        # Not below a folder that only one user may enter: servers change to another one.
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="bench-servers-", dir=place()) as folder:
            os.chmod(folder, 0o755)
            text = Both(sys.stdout)
            try:
                with contextlib.redirect_stdout(text):
                    TABLES[name].table(folder, options)
                if options.write:
                    write_block(options.write, text.getvalue() + measured())
            except Failed as error:
                print(f"{name}: {error}", file=sys.stderr)
                status = 1
        print(f"({name}: {time.monotonic() - begun:.0f} s)", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
