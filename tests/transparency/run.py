#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test suites of real packages, without murphy and with murphy idle in their processes: the same, test by test.

  run.py --murphy PATH [--work DIR] [PACKAGE...]

The sources come from Debian (apt-get source), are built as they are, and their suites are run three times: twice
without murphy, to know which tests are not stable by themselves, and once with rules on a dozen functions that never
fire, followed into every program that the suite starts. Prints TAP; with DIR, what was built is kept for the next time.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# What nearly every program calls, in all families; none of them ever fails.
FUNCTIONS = ["read", "write", "open", "close", "malloc", "calloc", "realloc", "fopen", "fclose", "fwrite", "stat",
             "mmap"]
NEVER = "when call==1000000000"

PACKAGES = {
    "sed": {
        "build": ["./configure CFLAGS=-O2", "make"],
        "check": "make -k check",
        "logs": [],
    },
    "jq": {
        # Its suite runs under valgrind otherwise, which replaces the functions itself.
        "build": ["autoreconf -fi", "./configure --disable-docs --disable-valgrind CFLAGS='-O2 -D_GNU_SOURCE'", "make"],
        "check": "make -k check",
        "logs": ["tests/*.log"],
    },
}


def say(text):
    print(f"# {text}", flush=True)


def fetch(package, work):
    """The folder of the unpacked source."""
    have = sorted(p for p in work.glob(f"{package}-*") if p.is_dir())
    if not have:
        # The release's own version where the newest cannot be had.
        for name in (package, f"{package}/stable", f"{package}/bookworm"):
            done = subprocess.run(["apt-get", "source", "-q", name], cwd=work, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            have = sorted(p for p in work.glob(f"{package}-*") if p.is_dir())
            if have:
                break
        else:
            sys.exit(f"run.py: no source of {package} (is there a deb-src line in apt's sources?):\n{done.stdout}")
    return have[0]


def build(package, folder):
    if (folder / ".built").exists():
        return
    for command in PACKAGES[package]["build"]:
        with open(folder / "murphy-build.log", "a", encoding="utf-8") as log:
            if subprocess.run(command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                              check=False).returncode:
                sys.exit(f"run.py: {package} does not build: see {folder / 'murphy-build.log'}")
    (folder / ".built").touch()


def results(package, folder, output):
    """Test → its result. A suite may have finer results than its summary in the logs that it leaves."""
    tests = {}
    for result, name in re.findall(r"^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (.*)$", output, re.M):
        tests[name] = result
    for pattern in PACKAGES[package]["logs"]:
        for log in sorted(folder.glob(pattern)):
            text = log.read_text(errors="replace")
            # A line for each test, then what it had to complain about; the last is followed by a summary.
            for name, said in re.findall(r"^Testing (.*)\n((?:(?!Testing ).*\n)*)", text, re.M):
                tests[f"{log.name} {name}"] = said or "PASS"
    return tests


def check(package, folder, before=()):
    """Runs the suite: results, what was said on standard error at the end, seconds."""
    start = time.monotonic()
    command = [*before, *PACKAGES[package]["check"].split()]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    return results(package, folder, done.stdout), done.stderr, time.monotonic() - start, done.returncode


def idle(murphy):
    command = [str(murphy), "run", "--follow", "--reach"]
    for function in FUNCTIONS:
        command += ["--fail", f"{function}:ret=-1 errno=EIO {NEVER}"]
    return [*command, "--"]


def one(package, murphy, work, count):
    say(f"{package}: source and build")
    folder = fetch(package, work)
    build(package, folder)
    plain, _, first, status = check(package, folder)
    again, _, _, _ = check(package, folder)
    unstable = {name for name in plain.keys() | again.keys() if plain.get(name) != again.get(name)}
    with_murphy, said, second, status_with = check(package, folder, idle(murphy))
    attached = re.search(r"in (\d+) process", said)
    processes = int(attached.group(1)) if attached else 0
    calls = sum(int(n) for n in re.findall(r"(\d+) calls? intercepted", said))
    different = sorted(name for name in plain.keys() | with_murphy.keys()
                       if name not in unstable and plain.get(name) != with_murphy.get(name))
    for name in sorted(unstable):
        say(f"{package}: not stable without murphy: {name}")
    for name in different:
        before, behind = plain.get(name, "not run"), with_murphy.get(name, "not run")
        say(f"{package}: {name}: {before} without murphy, {behind} with it")
    say(f"{package}: {len(plain)} results, {len(unstable)} of them not stable; {first:.0f} s without murphy, "
        f"{second:.0f} s with it, in {processes} processes, {calls} calls intercepted")
    good = {
        f"{package}: the suite runs without murphy": len(plain) > 20 and not unstable.issuperset(plain),
        f"{package}: all {len(plain)} results are the same with murphy": not different and status == status_with,
        f"{package}: murphy was in {processes} processes, and intercepted {calls} calls":
            processes > 20 and calls > 10000,
    }
    failed = 0
    for name, is_good in good.items():
        count += 1
        failed += not is_good
        print(f"{'ok' if is_good else 'not ok'} {count} - {name}", flush=True)
    if failed:
        say("what murphy said:")
        for line in said.splitlines()[-40:]:
            say(f"  {line}")
    return count, failed


def main():
    parser = argparse.ArgumentParser(description="test suites of packages, with murphy idle in every process")
    parser.add_argument("--murphy", default=os.environ.get("MURPHY", "build/murphy"))
    parser.add_argument("--work")
    parser.add_argument("package", nargs="*")
    args = parser.parse_args()
    unknown = set(args.package) - set(PACKAGES)
    if unknown:
        sys.exit(f"run.py: no such package here: {', '.join(unknown)} (there is: {', '.join(PACKAGES)})")
    os.environ["LC_ALL"] = "C"
    os.environ.pop("MAKEFLAGS", None)
    with tempfile.TemporaryDirectory(prefix="murphy-transparency.") as scratch:
        work = Path(args.work or scratch).resolve()
        work.mkdir(parents=True, exist_ok=True)
        count = failed = 0
        for package in args.package or PACKAGES:
            count, bad = one(package, Path(args.murphy).resolve(), work, count)
            failed += bad
        print(f"1..{count}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
