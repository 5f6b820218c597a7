#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what murphy says about the tiny kernel with what the comments of its source expect; prints TAP.

usage: expect.py MURPHY KERNEL SOURCE...        MURPHY_DATA is the data folder

The lines that count are told in tiny.c. A system call that has none is a mistake, and so is a line without a system
call, so that each new one is a function and a line above it.
"""
import json
import re
import subprocess
import sys

EXPECT = re.compile(r"^[/ ]\*? *expect (\w+)( all)?:((?: E[A-Z0-9]+)*)(?: \*/)?$", re.M)
WHY = re.compile(r"^[/ ]\*? *why ([a-z_]+:E[A-Z0-9]+): (.*?)(?: \*/)?$", re.M)
TODO = re.compile(r"^[/ ]\*? *todo (\w+): (.*?)(?: \*/)?$", re.M)
UNKNOWN = re.compile(r"^[/ ]\*? *unknown (\w+)(?: \*/)?$", re.M)
CALL = re.compile(r"^CALL\((\w+)\)", re.M)


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, good, name, why="", todo=None):
        self.count += 1
        self.failed += not good and todo is None
        print(("ok" if good else "not ok"), self.count, "-", name + (f" # TODO {todo}" if todo else ""))
        if not good and why:
            for line in why.splitlines():
                print("#  ", line)


def run(murphy, *arguments):
    done = subprocess.run([murphy, "profile", *arguments], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def found(murphy, kernel, *options):
    """Name of each system call -> set of errnos; and those that are not fully known."""
    out, err = run(murphy, "--kernel", kernel, "--format", "json", *options)
    if err or not out:
        print("Bail out!", err.strip() or "no output")
        sys.exit(1)
    functions = json.loads(out)["libraries"][0]["functions"]
    errors = {f["name"]: {e for error in f["errors"] for e in error["errno"]} for f in functions}
    return errors, {f["name"] for f in functions if f["unknown"]}


def difference(expected, got):
    text = f"expected {' '.join(sorted(expected)) or 'nothing'}"
    if expected - got:
        text += f"; missing {' '.join(sorted(expected - got))}"
    if got - expected:
        text += f"; too much {' '.join(sorted(got - expected))}"
    return text


def compare(tap, expected, got, todo, what):
    for name in sorted(got.keys() - expected.keys()):
        tap.result(False, f"{name}{what}: nothing says what it returns", "write a line 'expect'")
    for name, errors in expected.items():
        if name not in got:
            tap.result(False, f"{name}{what}: there is no such system call")
            continue
        right = errors == got[name]
        tap.result(right, f"{name}{what}: {len(errors)} errors", difference(errors, got[name]), todo.get(name))


def same_in_all_forms(tap, murphy, kernel, got, unknown):
    """The forms .errors, text, XML and JSON tell the same, and XML and JSON can be read back."""
    out, err = run(murphy, "--kernel", kernel, "--format", "errors")
    lines = [line.split() for line in out.splitlines() if not line.startswith("#")]
    errors = {line[1]: {re.sub(r"\[.*", "", word) for word in line[2:] if word != "..."} for line in lines}
    tap.result(errors == got, "--format errors tells what JSON does", err)
    marked = {line[1] for line in lines if line[-1] == "..."}
    tap.result(marked == unknown, "and marks what is not fully known", difference(unknown, marked))
    numbers = [int(line[0]) for line in lines]
    tap.result(numbers == sorted(set(numbers)) and numbers[0] == 0, "and numbers the calls by the table")
    ordinary, _ = run(murphy, "--kernel", kernel, "--function", ",".join(got))
    text = {}
    for line in ordinary.splitlines()[1:]:
        words = line.split()
        if not line.startswith("   "):
            name = words[0]
        if name not in got:
            continue  # the last lines are about all
        text.setdefault(name, set()).update(word.strip(",") for word in words if re.fullmatch(r"E[A-Z0-9]+,?", word))
    tap.result(text == got, "the text tells what JSON does", ordinary)
    want, _ = run(murphy, "--kernel", kernel, "--format", "json")
    for form in ("json", "xml"):
        run(murphy, "--kernel", kernel, "--format", form, "--output", f"read_back.{form}")
        out, err = run(murphy, "--profile", f"read_back.{form}", "--format", "json")
        tap.result(out == want, f"what is written as {form} is the same when it is read back", err)


def ask_why(tap, murphy, kernel, what, words):
    out, err = run(murphy, "--kernel", kernel, "--why", what)
    at = 0
    for word in words:
        at = out.find(word, at)
        if at < 0:
            break
        at += len(word)
    tap.result(at >= 0, f"why {what}", f"'{word}' is missing in\n{out}{err}")


def main():
    murphy, kernel, sources = sys.argv[1], sys.argv[2], sys.argv[3:]
    text = "".join(open(path, encoding="utf-8").read() for path in sources)
    ordinary, everything = {}, {}
    for name, of_all, errors in EXPECT.findall(text):
        (everything if of_all else ordinary)[name] = set(errors.split())
    todo = dict(TODO.findall(text))
    tap = Tap()
    defined = CALL.findall(text)
    tap.result(sorted(defined) == sorted(ordinary), "each system call has its line, and each line its call",
               f"without: {set(defined) ^ set(ordinary)}")
    got, unknown = found(murphy, kernel)
    compare(tap, ordinary, got, todo, "")
    compare(tap, {**ordinary, **everything}, found(murphy, kernel, "--all")[0], todo, " with --all")
    said = set(UNKNOWN.findall(text))
    tap.result(unknown == said, "what is not fully known is said", difference(said, unknown))
    same_in_all_forms(tap, murphy, kernel, got, unknown)
    for what, words in WHY.findall(text):
        ask_why(tap, murphy, kernel, what, words.split())
    print(f"1..{tap.count}")
    sys.exit(tap.failed != 0)


if __name__ == "__main__":
    main()
