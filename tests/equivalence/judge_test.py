#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What exec does each time and a fork never is a difference, also where it is gone with chance.

A library notes the time when it is loaded, and is old in all children of a fork server. Needs MURPHY_BUILD."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MURPHY_BUILD", f"{ROOT}/build")
LIBRARY = """
#include <time.h>
static struct timespec born;
__attribute__((constructor)) static void start(void) { clock_gettime(CLOCK_REALTIME, &born); }
double age(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)(now.tv_sec - born.tv_sec) + (double)(now.tv_nsec - born.tv_nsec) / 1e9;
}
"""
PROGRAM = """
#include <stdio.h>
#include <unistd.h>
double age(void);
int main(void) {
  puts(age() > 0.5 ? "old" : "young");
  usleep(250000);
  for (int i = 0; i < 6; i++) {
    int fd = dup(1);
    if (fd >= 0) close(fd);
  }
  return 0;
}
"""


def build(folder):
    for name, text in (("library.c", LIBRARY), ("program.c", PROGRAM)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libage.so", "library.c"], cwd=folder, check=True)
    subprocess.run(["cc", "-o", "program", "program.c", "-L.", "-lage", f"-Wl,-rpath,{folder}"], cwd=folder, check=True)


def judge(folder, *options):
    environment = dict(os.environ, MURPHY_DATA=f"{ROOT}/data", MURPHY_RUNTIME=f"{BUILD}/libmurphy-rt.so", LC_ALL="C")
    return subprocess.run([f"{BUILD}/tests/equivalence", "-n", "5", "-f", "dup", "-s", f"{BUILD}/tests/steady.so",
                           *options, "--", "./program"], cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")


def main():
    if os.environ.get("MURPHY_AGAIN"):
        print("1..0 # SKIP was run with the other compiler")
        return 0
    with tempfile.TemporaryDirectory(prefix="equivalence-judge-") as folder:
        build(folder)
        plain, known = judge(folder), judge(folder, "-c")
    if plain.returncode == 2 and "namespaces" in plain.stdout:
        print("1..0 # SKIP no namespaces here")
        return 0
    for line in (plain.stdout + known.stdout).splitlines():
        print(f"# {line}")
    results = (("what exec always does and a fork never differs", plain.returncode == 1 and "DIFFERS fork" in
                plain.stdout and "BY CHANCE" not in plain.stdout),
               ("but where it is known to be chance", known.returncode == 0 and "BY CHANCE fork" in known.stdout))
    print(f"1..{len(results)}")
    for number, (name, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
