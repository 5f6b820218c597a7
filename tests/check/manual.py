# SPDX-License-Identifier: Apache-2.0
"""Checks that the man pages are well-formed, and that every command has one."""
import os
import subprocess
import sys

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def lint(path, text=None):
    # References to pages that are not installed on this machine are no fault of the page.
    command = ["mandoc", "-Tlint", "-Wwarning"] + ([] if text is not None else [path])
    run = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return [line for line in run.stdout.splitlines() if "referenced manual not found" not in line]


def main():
    tap = Tap()
    seen = lint("-", ".Dd Today\n.Dt X 1\n.Os\n.Sh NAME\n.Bl\n")
    tap.ok("self-test: a broken page is seen", [] if seen else ["it is not"])
    pages = sorted(os.listdir(os.path.join(ROOT, "man")))
    tap.ok("there are pages", [] if "murphy.1" in pages else ["no murphy.1"])
    for page in pages:
        tap.ok(f"{page} is well-formed", lint(os.path.join(ROOT, "man", page)))
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as f:
        build = f.read()
    missing = [page for page in pages if f"'man/{page}'" not in build]
    tap.ok("every page is installed", [f"{page} is not in meson.build" for page in missing])
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
