#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores `murphy profile` against the labelled truth sets in tests/truth.

Every set is compiled by each compiler at each optimisation level into a pair of stripped shared libraries, profiled, and
compared with the labels in its sources. tests/truth/profile/README.md says what a label means and what is counted.
Exit status: 0 good enough, 1 below a threshold, 2 could not be measured.
"""
import argparse
import concurrent.futures
import errno
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SETS = ["tests/truth/profile", "tests/truth/profile2", "tests/truth/profile3", "tests/truth/profile4"]
LEVELS = ["-O0", "-O2", "-O3", "-Os"]
COMMON = ["-std=gnu17", "-fPIC", "-fvisibility=hidden", "-w"]

# What a failing call of libc or the kernel must at least be known to fail with; anything beyond is neither right nor wrong.
MUST = {
    "close": ["EBADF", "EIO"],
    "fopen": ["ENOENT", "EACCES", "EMFILE", "ENOMEM"],
    "fstat": ["EBADF"],
    "fsync": ["EBADF", "EIO"],
    "ftruncate": ["EBADF", "EINVAL"],
    "lseek": ["EBADF", "EINVAL"],
    "malloc": ["ENOMEM"],
    "mkdir": ["EACCES", "ENOENT", "ENOSPC"],
    "mmap": ["ENOMEM", "EINVAL"],
    "open": ["ENOENT", "EACCES", "EMFILE"],
    "pipe": ["EMFILE", "ENFILE"],
    "read": ["EBADF", "EIO"],
    "realloc": ["ENOMEM"],
    "socket": ["EMFILE", "EACCES"],
    "unlink": ["EACCES", "ENOENT"],
    "write": ["EBADF", "EIO", "ENOSPC"],
}

NAMES = {name: number for name, number in vars(errno).items() if re.match(r"E[0-9A-Z]+$", name)}
NAMES["ENOTSUP"] = errno.EOPNOTSUPP

LABEL = re.compile(r"^/\* errors: (.*?)\s*(?:\| side: (.*?))?\s*\*/$")
DEFINITION = re.compile(r"^EXPORT\b.*?\b(?!__attribute__)(\w+)\(")
FLAGS = re.compile(r"^/\* flags: (.*) \*/$", re.M)


class BadLabel(Exception):
    pass


class Failed(Exception):
    pass


class Value:
    """One labelled error value: the numbers it may appear as, the errnos that belong to it, whether more are fine."""

    def __init__(self, numbers, errnos=(), open_errnos=False):
        self.numbers = numbers
        self.errnos = set(errnos)
        self.open_errnos = open_errnos


class Label:
    def __init__(self, function, path, line):
        self.function = function
        self.path = path
        self.line = line
        self.values = []
        self.neutral = set()  # numbers that are neither right nor wrong
        self.neutral_negative = False  # all of -4095..-1 are
        self.neutral_positive = False  # all of 1..4095 are
        self.sides = []  # (kind, argument or None, text, number)

    def is_neutral(self, number):
        return (
            number in self.neutral
            or (self.neutral_negative and -4096 < number < 0)
            or (self.neutral_positive and 0 < number < 4096)
        )


def number_of(text):
    sign = -1 if text.startswith("-") else 1
    word = text.lstrip("-+")
    if word in NAMES:
        return sign * NAMES[word]
    return sign * int(word, 0)


def parse_errnos(text):
    """Returns (numbers, open): the errnos between the brackets of a label."""
    numbers, is_open = set(), False
    for word in text.split(","):
        if word == "*":
            is_open = True
        elif word.startswith("@"):
            numbers.update(NAMES[e] for e in MUST[word[1:]])
            is_open = True
        else:
            numbers.add(NAMES[word])
    return numbers, is_open


def parse_error(label, text):
    match = re.fullmatch(r"([^\[\]]+)(?:\[([^\[\]]+)\])?", text)
    if not match:
        raise BadLabel("cannot read '%s'" % text)
    value, errnos = match.groups()
    numbers, is_open = parse_errnos(errnos) if errnos else (set(), False)
    if value.startswith("?"):
        label.neutral.add(number_of(value[1:]))
    elif value[0] in "+-" and value[1:2] == "@":
        sign = -1 if value[0] == "-" else 1
        for name in MUST[value[2:]]:
            label.values.append(Value([sign * NAMES[name]], (), True))
        if sign < 0:
            label.neutral_negative = True
        else:
            label.neutral_positive = True
    else:
        label.values.append(Value([number_of(v) for v in value.split("~")], numbers, is_open))


def parse_side(label, text):
    place, values = text.split("=")
    match = re.fullmatch(r"arg(\d+)", place)
    if match:
        kind, argument = "arg", int(match.group(1))
    else:
        kind, argument = place.split(":")[0], None
        if kind not in ("tls", "global"):
            raise BadLabel("unknown side channel '%s'" % place)
    for value in values.split(","):
        label.sides.append((kind, argument, place, number_of(value)))


def parse_source(path):
    """Labels of one file: each stands directly above the definition or declaration it belongs to."""
    labels = []
    with open(path) as f:
        lines = f.read().splitlines()
    for i, line in enumerate(lines):
        if line.startswith("EXPORT") and "(" in line and not DEFINITION.match(line):
            raise BadLabel("%s:%d: cannot read the function's name" % (path, i + 1))
        definition = DEFINITION.match(line)
        match = LABEL.match(lines[i - 1]) if i else None
        if "errors:" in line and not LABEL.match(line):
            raise BadLabel("%s:%d: not a label" % (path, i + 1))
        if not definition:
            if match:
                raise BadLabel("%s:%d: a label with no function below" % (path, i))
            continue
        if not match:
            raise BadLabel("%s:%d: %s has no label" % (path, i + 1, definition.group(1)))
        label = Label(definition.group(1), path, i)
        try:
            if match.group(1) != "none":
                for text in match.group(1).split():
                    parse_error(label, text)
            for text in (match.group(2) or "").split():
                parse_side(label, text)
        except (BadLabel, KeyError, ValueError) as e:
            raise BadLabel("%s:%d: %s" % (path, i, e))
        labels.append(label)
    return labels


def parse_set(folder):
    labels = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.c"))):
        for label in parse_source(path):
            if label.function in labels:
                raise BadLabel("%s:%d: %s is labelled twice" % (path, label.line, label.function))
            labels[label.function] = label
    if not labels:
        raise BadLabel("%s: no labelled functions" % folder)
    return labels


def run(command, **more):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Failed("%s: %s" % (" ".join(command), e))
    if done.returncode != 0:
        raise Failed("%s\nexit status %d\n%s" % (" ".join(command), done.returncode, done.stderr.strip()))
    return done.stdout


def build(folder, compiler, level, to):
    """Compiles one set to a pair of stripped libraries; returns their paths, the base library first."""
    groups = {"base": [], "main": []}
    for path in sorted(glob.glob(os.path.join(folder, "*.c"))):
        name = os.path.basename(path)
        target = os.path.join(to, name[:-2] + ".o")
        with open(path) as f:
            flags = " ".join(FLAGS.findall(f.read())).split()
        run([compiler, level] + COMMON + flags + ["-c", path, "-o", target])
        groups["base" if name.startswith("base_") else "main"].append(target)
    stem = os.path.basename(folder.rstrip("/"))
    libraries = []
    for group in ("base", "main"):
        path = os.path.join(to, "lib%s_%s.so" % (stem, group))
        command = [compiler, "-shared", "-o", path, "-Wl,-soname," + os.path.basename(path), "-Wl,--build-id"]
        command += groups[group] + libraries + ["-Wl,-rpath,$ORIGIN", "-Wl,-z,defs"]
        if group == "main":
            command.append("-Wl,-z,now")
        run(command)
        run(["strip", "--strip-all", path])
        libraries.append(path)
    return libraries


def profile(murphy, libraries):
    """Functions of all the libraries, by name, as murphy's JSON has them."""
    functions = {}
    for path in libraries:
        text = run([murphy, "profile", "--no-cache", "--format=json", path])
        try:
            answer = json.loads(text)
        except ValueError as e:
            raise Failed("%s: murphy's answer is not JSON: %s" % (path, e))
        for library in answer["libraries"]:
            if os.path.basename(library["path"]) != os.path.basename(path):
                continue
            for function in library["functions"]:
                functions[function["name"].split("@")[0]] = function
    return functions


class Score:
    FIELDS = ("tp", "fp", "fn", "errno_found", "errno_missed", "errno_wrong", "side_found", "side_missed", "unknown")

    def __init__(self):
        for field in self.FIELDS:
            setattr(self, field, 0)
        self.notes = []

    def add(self, other):
        for field in self.FIELDS:
            setattr(self, field, getattr(self, field) + getattr(other, field))

    @staticmethod
    def ratio(part, whole):
        return part / whole if whole else 1.0

    def accuracy(self):
        return self.ratio(self.tp, self.tp + self.fp + self.fn)

    def errno_recall(self):
        return self.ratio(self.errno_found, self.errno_found + self.errno_missed)

    def errno_precision(self):
        return self.ratio(self.errno_found, self.errno_found + self.errno_wrong)

    def side_recall(self):
        return self.ratio(self.side_found, self.side_found + self.side_missed)


def errno_numbers(names):
    return {NAMES[n] if n in NAMES else int(n) for n in names}


def errno_text(numbers):
    return ",".join(errno.errorcode.get(n, str(n)) for n in sorted(numbers))


def side_matches(side, kind, argument, number):
    if side["kind"] != kind or number not in side["values"]:
        return False
    if argument is None:
        return True
    said = re.search(r"\d+", str(side.get("where", "")))
    return said is None or int(said.group()) == argument


def compare(label, function, score):
    """Adds to the score what the profile of one function has right and wrong."""

    def note(kind, text):
        score.notes.append((label, kind, text))

    reported = {e["retval"]: e for e in function.get("errors", [])} if function else {}
    if function and function.get("unknown"):
        score.unknown += 1
    claimed = set()
    for value in label.values:
        hits = [n for n in value.numbers if n in reported]
        claimed.update(hits)
        if not hits:
            score.fn += 1
            score.errno_missed += len(value.errnos)
            note("FN", "%d is not found" % value.numbers[0])
            if value.errnos:
                note("errno FN", "%d: %s" % (value.numbers[0], errno_text(value.errnos)))
            continue
        score.tp += 1
        said = set()
        for hit in hits:
            said |= errno_numbers(reported[hit].get("errno") or [])
        missed, wrong = value.errnos - said, set() if value.open_errnos else said - value.errnos
        score.errno_found += len(value.errnos & said)
        score.errno_missed += len(missed)
        score.errno_wrong += len(wrong)
        if missed:
            note("errno FN", "%d: %s" % (hits[0], errno_text(missed)))
        if wrong:
            note("errno FP", "%d: %s" % (hits[0], errno_text(wrong)))
    for number in sorted(set(reported) - claimed):
        if label.is_neutral(number):
            continue
        score.fp += 1
        note("FP", "%d is no error" % number)
    sides = [s for e in reported.values() for s in e.get("side") or []]
    for kind, argument, place, number in label.sides:
        if any(side_matches(s, kind, argument, number) for s in sides):
            score.side_found += 1
        else:
            score.side_missed += 1
            note("side FN", "%s=%d is not found" % (place, number))


def measure(job):
    folder, labels, compiler, level, murphy, temp = job
    to = os.path.join(temp, "%s-%s%s" % (os.path.basename(folder.rstrip("/")), os.path.basename(compiler), level))
    os.makedirs(to, exist_ok=True)
    functions = profile(murphy, build(folder, compiler, level, to))
    score = Score()
    for label in labels.values():
        compare(label, functions.get(label.function), score)
    return score


def row(name, s):
    return "%-28s %8.4f %5d %4d %4d %8.4f %8.4f %8.4f %8d" % (
        name, s.accuracy(), s.tp, s.fp, s.fn, s.errno_recall(), s.errno_precision(), s.side_recall(), s.unknown)


HEADING = "%-28s %8s %5s %4s %4s %8s %8s %8s %8s" % (
    "configuration", "accuracy", "TP", "FP", "FN", "errno-R", "errno-P", "side-R", "unknown")


def print_notes(results):
    """Each miss once, with the configurations that have it."""
    misses = {}
    for (_, compiler, level), score in results:
        for label, kind, text in score.notes:
            misses.setdefault((label.path, label.line, label.function, kind, text), []).append(os.path.basename(compiler) + level)
    for (path, line, function, kind, text), where in sorted(misses.items()):
        print("%s:%d: %s: %s: %s [%s]" % (os.path.relpath(path, ROOT), line, function, kind, text, " ".join(where)))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="truth sets; all of tests/truth if none is given")
    parser.add_argument("--murphy", default=os.path.join(ROOT, "build", "murphy"), help="the binary (build/murphy)")
    parser.add_argument("--compilers", default="gcc,clang", help="compilers, separated by commas")
    parser.add_argument("--levels", default=",".join(LEVELS), help="optimisation levels, separated by commas")
    parser.add_argument("--min", "--min-accuracy", dest="min_accuracy", type=float, default=0.97)
    parser.add_argument("--min-errno-recall", type=float, default=0.95)
    parser.add_argument("--min-errno-precision", type=float, default=0.0)
    parser.add_argument("--min-side-recall", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", metavar="DIR", help="build here, and leave the libraries for a look")
    parser.add_argument("--list", action="store_true", help="check and count the labels, and measure nothing")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every value that is missing or wrong")
    return parser.parse_args()


def score_sets(args, sets, temp):
    jobs = {
        (folder, compiler, level): (folder, labels, compiler, level, args.murphy, temp)
        for folder, labels in sets.items() for compiler in args.compilers.split(",") for level in args.levels.split(",")
    }
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        return list(zip(jobs, pool.map(measure, jobs.values())))


def report(args, results):
    total, by_set = Score(), {}
    print(HEADING)
    for (folder, compiler, level), score in results:
        name = os.path.basename(folder.rstrip("/"))
        print(row("%s %s %s" % (name, os.path.basename(compiler), level), score))
        by_set.setdefault(name, Score()).add(score)
        total.add(score)
    for name, score in by_set.items():
        if len(by_set) > 1:
            print(row("%s, all" % name, score))
    print(row("total", total))
    if args.verbose:
        print_notes(results)
    return total


def main():
    args = parse_arguments()
    folders = [os.path.abspath(f) for f in args.folders] or [os.path.join(ROOT, s) for s in SETS]
    try:
        sets = {folder: parse_set(folder) for folder in folders}
        if args.list:
            for folder, labels in sets.items():
                print("%s: %d functions, %d error values, %d without errors, %d side channel values" % (
                    os.path.relpath(folder, ROOT), len(labels), sum(len(l.values) for l in labels.values()),
                    sum(not l.values for l in labels.values()), sum(len(l.sides) for l in labels.values())))
            return 0
        args.murphy = os.path.abspath(args.murphy)
        temp = os.path.abspath(args.keep) if args.keep else tempfile.mkdtemp(prefix="murphy-truth-")
        try:
            results = score_sets(args, sets, temp)
        finally:
            if not args.keep:
                shutil.rmtree(temp, ignore_errors=True)
    except (BadLabel, Failed) as e:
        print("profile_truth: %s" % e, file=sys.stderr)
        return 2
    total = report(args, results)
    status = 0
    for what, have, want in (
        ("accuracy", total.accuracy(), args.min_accuracy),
        ("errno recall", total.errno_recall(), args.min_errno_recall),
        ("errno precision", total.errno_precision(), args.min_errno_precision),
        ("side channel recall", total.side_recall(), args.min_side_recall),
    ):
        if have < want:
            print("%s %.4f is below %.4f" % (what, have, want))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
