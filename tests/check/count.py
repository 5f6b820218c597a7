# SPDX-License-Identifier: Apache-2.0
"""Counts what is in the test logs that meson left: each TAP line is a test, and so is a program without TAP.

count.py LOG [AGAIN]   prints "PASSED FAILED"; a program that was run again counts as it did then
count.py --bad LOG     prints the names of the programs that failed, one a line
count.py --tell LOG    ... each with the tests in it that did

What is known not to work yet (TODO) is neither; meson fails the program if it does work."""
import json
import re
import sys

TAP = re.compile(r"^(not )?ok\b(?!.*# *(?:SKIP|TODO)).*", re.MULTILINE)


def name_of(test):
    return test["name"].split(" / ")[-1]


def is_bad(test):
    return test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")


def results(test):
    """The TAP lines of a program: those that are good, and those that are not."""
    good, bad = [], []
    for line in TAP.finditer(test.get("stdout") or ""):
        (bad if line.group(1) else good).append(line.group())
    return good, bad


def count(tests):
    passed = failed = 0
    for test in tests:
        good, bad = map(len, results(test))
        if is_bad(test):
            bad = max(bad, 1)
        elif test["result"] != "SKIP":
            good = max(good, 1)
        passed += good
        failed += bad
    return passed, failed


def load(path):
    try:
        with open(path, encoding="utf-8") as log:
            return {name_of(test): test for test in map(json.loads, log)}
    except FileNotFoundError:
        return {}


def main():
    tests = {}
    for path in sys.argv[1:]:
        if not path.startswith("--"):
            tests.update(load(path))
    if not sys.argv[1].startswith("--"):
        print(*count(tests.values()))
        return
    for name, test in tests.items():
        if is_bad(test):
            print(name if sys.argv[1] == "--bad" else f"{name}: {'; '.join(results(test)[1]) or test['result']}")


if __name__ == "__main__":
    main()
