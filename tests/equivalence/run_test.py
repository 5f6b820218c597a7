#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What run.py makes of a comparison that was once different, with one that always says the same in place of it."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The machine does much else, or nothing.
LOADED = "import sys; import run; run.os.getloadavg = lambda: (%d, 0, 0); sys.exit(run.main())"
SAID = r"""#!/bin/sh
case $* in *./flags)
  echo '9 of 9 experiments: 0 exec, 9 fork, 0 branch (0 runs); 0 differ, 0 once different, 0 by chance, 1 do not repeat'
  exit 0 ;;
*./self)
  printf 'ONCE DIFFERENT fork: read -1 EIO, time 1:\ntimed out: 0, 1\n'
  echo '9 of 9 experiments: 0 exec, 9 fork, 0 branch (0 runs); 0 differ, 1 once different, 0 by chance, 0 do not repeat'
  exit 3 ;;
*./held)
  if [ -e "$0.late" ]; then
    echo '9 of 9 experiments: 0 exec, 9 fork, 0 branch (0 runs); 0 differ, 0 once different, 0 by chance, 0 do not repeat'
    exit 0
  fi
  : > "$0.late"
  printf 'DIFFERS fork: read -1 EIO, time 1:\ntimed out: 0, 1\n'
  echo '9 of 9 experiments: 0 exec, 9 fork, 0 branch (0 runs); 1 differ, 0 once different, 0 by chance, 0 do not repeat'
  exit 1 ;;
*./names)
  echo '9 of 9 experiments: 0 exec, 9 fork, 0 branch (0 runs); 0 differ, 0 once different, 1 by chance, 0 do not repeat'
  exit 0 ;;
esac
echo 'ONCE DIFFERENT branch: read -1 EIO, time 1:'
echo 'exit status: 0, 1'
echo '9 of 9 experiments: 0 exec, 9 fork, 0 branch (0 runs); 0 differ, 1 once different, 0 by chance, 0 do not repeat'
exit 3
"""


def run(build, *arguments, load=0):
    return subprocess.run([sys.executable, "-B", "-c", LOADED % load, "--mode", "fork", *arguments], text=True, cwd=HERE,
                          env=dict({k: v for k, v in os.environ.items() if k != "MURPHY_AGAIN"}, MURPHY_BUILD=build),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    results = []
    with tempfile.TemporaryDirectory(prefix="equivalence-test-") as build:
        os.mkdir(f"{build}/tests")
        with open(f"{build}/tests/equivalence", "w", encoding="utf-8") as f:
            f.write(SAID)
        os.chmod(f"{build}/tests/equivalence", 0o755)
        done = run(build, "--tap", "signals")
        results.append(("once different is a failure", done.returncode == 1 and "not ok 1" in done.stdout))
        done = run(build, "--tap", "pids")
        results.append(("but where the source says why", done.returncode == 0 and "\nok 1" in done.stdout))
        done = run(build, "--write", f"{build}/table.md", "signals", "pids")
        with open(f"{build}/table.md", encoding="utf-8") as f:
            document = f.read()
        results.append(("it is counted for itself",
                        "0 differ, 2 once different, 0 by chance, 0 do not repeat" in document))
        results.append(("it has a column", "| signals | fork | 9 | 9 | 0 | 1 | 0 | 0 |  |" in document))
        results.append(("what is not explained is named",
                        "- signals: not explained.\n  - ONCE DIFFERENT branch: read -1 EIO, time 1\n" in document))
        done = run(build, "--write", f"{build}/table.md", "flags")
        results.append(("what is not explained is a failure of the document", done.returncode == 1))
        done = run(build, "--write", f"{build}/table.md", "names")
        results.append(("what chance alone does is explained by that", done.returncode == 0))
        done = run(build, "--write", f"{build}/table.md", "self", load=9999)
        with open(f"{build}/table.md", encoding="utf-8") as f:
            document = f.read()
        results.append(("what came to its limit on a busy machine is not compared", done.returncode == 1 and
                        "| self | fork | | | | | | | not compared: runs came to their limit" in document and
                        " 0 comparisons with exec" in document))
        done = run(build, "--tap", "self", load=9999)
        results.append(("... and skipped in a test", done.returncode == 0 and
                        "\nok 1 - self by fork # SKIP not compared" in done.stdout))
        done = run(build, "--tap", "self")
        results.append(("else it is a failure", done.returncode == 1 and "\nnot ok 1" in done.stdout))
        done = run(build, "--tap", "held", load=9999)
        results.append(("it is tried again", done.returncode == 0 and "\nok 1 - held by fork\n" in done.stdout))
        run(build, "--write", f"{build}/table.md", "--minutes", "0.0001", "signals", "pids")
        with open(f"{build}/table.md", encoding="utf-8") as f:
            document = f.read()
        late = document.replace("\n", " ").partition("before these were begun: ")[2]
        results.append(("what was not begun is named", "pids (fork)." in late))
    print(f"1..{len(results)}")
    for number, (name, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
