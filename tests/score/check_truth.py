#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores `murphy check` against the labelled call sites in tests/truth/check.

Every program of the set is compiled by each compiler at each optimisation level, with debug information, and given to
`murphy check --format=json`. Its sites are matched with the labels by file, line and function.

A label is a comment that begins on the line of the call:

    fd = open(path, O_RDONLY); /* @open all */
    close(fd);                 /* @close none ignored */
    if (a() || b())            /* @stat all; @fopen all */

    @NAME[/NAME...][?] VERDICT [USE[/USE...]] [missing=ERROR,...]

NAME is the function as the programmer wrote it; further names are what compilers are known to make of it (fputs of a
constant becomes fwrite). `?` marks a call that a compiler may merge with its twin on another line or take away: no
site is then no mistake. Several calls of one function on a line share a label, and all copies of a call (inlining,
unrolling, cloning) must be judged as the label says.

VERDICT is relative to the errors that the function really returns:
    all    every error is noticed by a comparison: with an error value or a success value, of the sign, with a variable
           (write(...) != n), in a switch, or of errno where errno is the sign; here or in the callers, callees or
           later functions of this program that the value reaches; asserting and giving up are noticing, and so is
           ending a loop. To accept some errors on purpose (errno != ENOENT) is noticing them. A stream that is asked
           for the failure that it has kept (ferror), in the same function and on every way behind, tells of it; fclose
           alone does not.
    some   some errors are noticed and the others go on as success: one error number of several, or -1 that matters
           only together with some values of errno. missing= names errors that must be among those not noticed.
    none   no error is noticed: ignored, used as it is, or compared only with what does not tell success from failure
           (mmap with NULL, a descriptor with 0, an unsigned number with < 0).
    any    not judged: functions that cannot fail here, or calls about which people differ (exec, feof, time).
USE belongs to none: what becomes of the value; where several fit, each is right.
    ignored       nobody reads it                 used      stored, computed with, passed on
    dereferenced  as a pointer, here or in libc   returned  to callers outside of the program
Every other call of a function that can fail has a label, so a `some` or `none` at a call without one is a false alarm.

A file is a program of its own, or part of one that it names; further comments at the start of a line give options:
    /* program: NAME */   /* flags: for the compiler */   /* link: for the linker; -shared makes a library */

What is counted is label × build: right if there is a site and all sites there have the verdict. Uses are scored for
`none` labels with the right verdict, missing errors for `some` labels with the right verdict. A site that the answer
puts into a file outside of the set (a header with inline functions) is located by addr2line, and counted as such.
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
from collections import Counter, defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SET = os.path.join(ROOT, "tests", "truth", "check")
LEVELS = ["-O0", "-O2", "-O3", "-Os"]
HARDENED = "hardened"  # a level of its own: -O2 as distributions build
HARDENING = ["-O2", "-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection"]
COMMON = ["-g", "-w"]
STANDARD = {".c": "-std=gnu17", ".cc": "-std=gnu++17"}
DRIVER = {".c": {}, ".cc": {"gcc": "g++", "clang": "clang++"}}

VERDICTS = ("all", "some", "none")
USES = ("ignored", "used", "dereferenced", "returned")
COMMENT = re.compile(r"/\* (@.*?) \*/")
LABEL = re.compile(r"@([\w/]+)(\?)? (all|some|none|any)(?: ([a-z/]+))?(?: missing=([\w,]+))?$")
OPTION = re.compile(r"^/\* (program|flags|link): (.*) \*/$", re.M)

# How an error may be written in an answer: its name or its number.
NUMBERS = {name: number for name, number in vars(errno).items() if re.match(r"E[0-9A-Z]+$", name)}
NUMBERS.update(EAI_BADFLAGS=-1, EAI_NONAME=-2, EAI_AGAIN=-3, EAI_FAIL=-4, EAI_MEMORY=-10, EAI_SYSTEM=-11)
NUMBERS.update(GLOB_NOSPACE=1, GLOB_ABORTED=2, GLOB_NOMATCH=3)

# Functions whose result tells no failure; used only to find calls that lack a label (--verify).
HARMLESS = re.compile(
    r"(_*(abort|assert_fail|cxa_.*|ctype_b_loc|errno_location|fdelt_chk|fdelt_warn|gmon_start__|libc_start_main|exit|"
    r"stack_chk_fail|errx?|warnx?|perror|openlog|v?syslog(_chk)?|stpcpy(_chk)?|mem(cpy|set|move|cmp|pcpy|chr)(_chk)?|"
    r"str(n?cmp|n?cpy|n?cat|len|chr|rchr|str|c?spn|error)(_chk)?|free|qsort|getpid|sync|sleep|freeaddrinfo|"
    r"gai_strerror|globfree|get(pp|eu)id|getpgrp|strchrnul|(set|end)grent|longjmp|setjmp|wcslen|bcmp|abs|fu?n?lockfile|regfree|dlerror|nl_langinfo|rewind|cfmakeraw|[hn]to[hn][sl]|std(in|out|err))|"
    r"_?_Z.*|_Unwind_Resume|_ITM.*|__gxx_personality.*|.*cxx11.*)$")


class BadLabel(Exception):
    pass


class Failed(Exception):
    pass


# --- labels and programs ----------------------------------------------------------------------------------------------


class Label:
    def __init__(self, file, line, match):
        names, optional, self.verdict, uses, missing = match.groups()
        self.file, self.line = file, line
        self.names = names.split("/")
        self.optional = bool(optional)
        self.uses = uses.split("/") if uses else []
        self.missing = missing.split(",") if missing else []

    def check(self):
        if (self.verdict == "none") != bool(self.uses) or not set(self.uses) <= set(USES):
            return "a use belongs to none: %s" % ", ".join(USES)
        if self.missing and self.verdict != "some":
            return "missing= belongs to some"
        unknown = [name for name in self.missing if name not in NUMBERS]
        return "unknown errors: %s" % ", ".join(unknown) if unknown else None

    def text(self):
        return "%s:%d: %s" % (self.file, self.line, "/".join(self.names))


class Program:
    def __init__(self, name):
        self.name = name
        self.sources = []  # (path, flags)
        self.link = []
        self.labels = defaultdict(list)  # (file, line) -> labels


def parse_labels(path):
    labels = []
    with open(path) as f:
        for number, line in enumerate(f, 1):
            comments = COMMENT.findall(line)
            if "/* @" in line and not comments:
                raise BadLabel("%s:%d: a label must end on its line" % (path, number))
            for text in "; ".join(comments).split("; ") if comments else ():
                match = LABEL.match(text.strip())
                label = Label(os.path.basename(path), number, match) if match else None
                wrong = label.check() if label else "not a label: %s" % text
                if wrong:
                    raise BadLabel("%s:%d: %s" % (path, number, wrong))
                labels.append(label)
    return labels


def parse_set(folder):
    """Programs by name."""
    programs = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.c")) + glob.glob(os.path.join(folder, "*.cc"))):
        with open(path) as f:
            options = defaultdict(str, OPTION.findall(f.read()))
        name = options["program"] or os.path.splitext(os.path.basename(path))[0]
        program = programs.setdefault(name, Program(name))
        program.sources.append((path, options["flags"].split()))
        program.link += options["link"].split()
        for label in parse_labels(path):
            program.labels[label.file, label.line].append(label)
    if not programs:
        raise BadLabel("%s: no sources" % folder)
    return programs


def all_labels(program):
    return [label for labels in program.labels.values() for label in labels]


# --- builds -----------------------------------------------------------------------------------------------------------


def run(command, good=(0,), **more):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Failed("%s: %s" % (" ".join(command), e))
    if done.returncode not in good:
        raise Failed("%s\nexit status %d\n%s" % (" ".join(command), done.returncode, done.stderr.strip()))
    return done.stdout


def build(program, compiler, level, to):
    """Compiles and links one program; returns its path."""
    os.makedirs(to, exist_ok=True)
    objects, driver, flags = [], compiler, []
    options = HARDENING if level == HARDENED else [level]
    for path, flags in program.sources:
        stem, kind = os.path.splitext(os.path.basename(path))
        name = DRIVER[kind].get(compiler, compiler)
        objects.append(os.path.join(to, stem + ".o"))
        run([name] + options + [STANDARD[kind]] + COMMON + flags + ["-c", path, "-o", objects[-1]])
        driver = name if kind == ".cc" else driver
    target = os.path.join(to, program.name + (".so" if "-shared" in program.link else ""))
    linker = [flag for flag in flags if flag.startswith(("-Wl,", "-pthread"))]
    run([driver, "-o", target] + objects + linker + program.link)
    for path in objects:
        os.remove(path)
    return target


def locate(target, addresses, files):
    """address -> (file, line) of the innermost frame that is in one of the files, by addr2line."""
    if not addresses:
        return {}
    text = run(["addr2line", "-a", "-i", "-e", target] + ["%#x" % a for a in addresses])
    places, address = {}, None
    for line in text.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
            continue
        match = re.match(r"(.*):(\d+)", line)
        if match and os.path.basename(match.group(1)) in files:
            places.setdefault(address, (os.path.basename(match.group(1)), int(match.group(2))))
    return places


# --- scoring ----------------------------------------------------------------------------------------------------------


class Score:
    def __init__(self):
        self.right = Counter()  # by expected verdict
        self.wrong = Counter()
        self.confusion = Counter()  # (expected, got)
        self.use_right = self.use_wrong = 0
        self.missing_right = self.missing_wrong = 0
        self.skipped = self.relocated = 0
        self.notes = []  # (kind, text)

    def add(self, other):
        for field in ("right", "wrong", "confusion", "notes"):
            mine = getattr(self, field)
            mine.update(getattr(other, field)) if isinstance(mine, Counter) else mine.extend(getattr(other, field))
        for field in ("use_right", "use_wrong", "missing_right", "missing_wrong", "skipped", "relocated"):
            setattr(self, field, getattr(self, field) + getattr(other, field))

    def alarms(self):
        return sum(kind == "alarm" for kind, _ in self.notes)

    def accuracy(self, verdicts=VERDICTS):
        right, wrong = sum(self.right[v] for v in verdicts), sum(self.wrong[v] for v in verdicts)
        return right / (right + wrong) if right + wrong else 1.0

    def use_accuracy(self):
        total = self.use_right + self.use_wrong
        return self.use_right / total if total else 1.0


def words(value):
    """All texts and numbers in a part of a JSON answer, as texts."""
    if isinstance(value, dict):
        return {w for v in value.values() for w in words(v)}
    if isinstance(value, list):
        return {w for v in value for w in words(v)}
    return {str(value)}


def place_sites(program, target, sites, score):
    """Sites by (file, line); those outside of the set are looked up."""
    files = {os.path.basename(path) for path, _ in program.sources}
    placed, others = defaultdict(list), {}
    for site in sites:
        file, line = os.path.basename(site.get("file") or ""), site.get("line") or 0
        if file in files and line:
            placed[file, line].append(site)
        elif site.get("offset"):
            others[int(str(site["offset"]), 0)] = site
    for address, place in locate(target, sorted(others), files).items():
        placed[place].append(others[address])
        score.relocated += 1
    return placed


def judge(label, sites, score):
    """Compares one label with the sites of its functions on its line."""
    if label.verdict == "any" or (label.optional and not sites):
        score.skipped += label.verdict != "any"
        return
    got = sorted({str(site.get("verdict")) for site in sites}) or ["no site"]
    score.confusion[label.verdict, "+".join(got)] += 1
    if got != [label.verdict]:
        score.wrong[label.verdict] += 1
        uses = "/".join(sorted({str(site.get("use")) for site in sites}))
        score.notes.append(("verdict", "%s: expected %s, got %s%s" % (
            label.text(), label.verdict, "+".join(got), " (%s)" % uses if uses else "")))
        return
    score.right[label.verdict] += 1
    if label.verdict == "none":
        uses = {str(site.get("use")) for site in sites}
        if uses <= set(label.uses):
            score.use_right += 1
        else:
            score.use_wrong += 1
            score.notes.append(("use", "%s: expected %s, got %s" % (
                label.text(), "/".join(label.uses), "/".join(sorted(uses)))))
    if label.missing:
        said = [words(site.get("missing")) for site in sites]
        lost = [e for e in label.missing if not all({e, str(NUMBERS[e])} & w for w in said)]
        score.missing_right += not lost
        score.missing_wrong += bool(lost)
        if lost:
            score.notes.append(("missing", "%s: not among the missing: %s" % (label.text(), ",".join(lost))))


def compare(program, target, sites):
    score = Score()
    placed = place_sites(program, target, sites, score)
    for label in all_labels(program):
        judge(label, [s for s in placed[label.file, label.line] if s["function"] in label.names], score)
    for (file, line), here in sorted(placed.items()):
        known = {name for label in program.labels[file, line] for name in label.names}
        for name, verdict in sorted({(s["function"], s.get("verdict")) for s in here if s["function"] not in known}):
            if verdict in ("some", "none"):
                score.notes.append(("alarm", "%s:%d: %s: no label, got %s" % (file, line, name, verdict)))
    return score


def check(murphy, target, temp):
    """The sites of one program, as murphy's JSON has them."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(temp, "cache"))
    text = run([murphy, "check", "--format=json", target], good=(0, 1), env=environment)
    try:
        return json.loads(text)["sites"]
    except (ValueError, KeyError, TypeError) as e:
        raise Failed("%s: murphy's answer is not what it should be: %s" % (target, e))


def measure(job):
    program, compiler, level, murphy, temp = job
    target = build(program, compiler, level, os.path.join(temp, os.path.basename(compiler) + level))
    return compare(program, target, check(murphy, target, temp)) if murphy else verify(program, target)


# --- the set itself ---------------------------------------------------------------------------------------------------


def written_name(symbol):
    """The function that the programmer wrote, for an imported symbol."""
    name = re.sub(r"@.*", "", symbol)
    name = re.sub(r"^__(open|openat)(64)?_2$", r"\1", name)
    name = re.sub(r"^__(?:isoc99_)?(\w+?)(_chk)?$", r"\1", name) if not name.startswith("__cxa") else name
    return re.sub(r"(?<=[a-z])64$|64(?=_r$)", "", name)


def library_calls(target):
    """(address, symbol) of the calls and tail calls of imported functions, by objdump."""
    loaded, calls = {}, []
    for line in run(["objdump", "-d", "--no-show-raw-insn", "-w", target]).splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(?:bnd |notrack )?(\w+)\s+(.*)", line)
        if not match:
            loaded = {} if line.endswith(">:") else loaded
            continue
        address, what, rest = int(match.group(1), 16), match.group(2), match.group(3)
        direct = re.search(r"<(\w+)@plt>", rest)
        slot = re.search(r"\(%rip\).*<(\w+)@[\w.]+>", rest)
        register = re.match(r"\*(%\w+)", rest)
        if what == "mov" and slot and re.search(r"(%\w+)\s+#", rest):
            loaded[re.search(r"(%\w+)\s+#", rest).group(1)] = slot.group(1)
        elif what in ("call", "jmp") and (direct or slot):
            calls.append((address, (direct or slot).group(1)))
        elif what in ("call", "jmp") and register and register.group(1) in loaded:
            calls.append((address, loaded[register.group(1)]))
    return calls


def verify(program, target):
    """Has each label its call in this build, and each call that can fail its label?"""
    score = Score()
    calls = library_calls(target)
    places = locate(target, [address for address, _ in calls], {os.path.basename(path) for path, _ in program.sources})
    found = defaultdict(set)
    for address, symbol in calls:
        if address in places:
            found[places[address]].add(written_name(symbol))
    for label in all_labels(program):
        if found[label.file, label.line] & set(label.names):
            score.right[label.verdict] += 1
        elif not label.optional:
            score.wrong[label.verdict] += 1
            score.notes.append(("call", "%s: no call in the binary" % label.text()))
    for (file, line), names in sorted(found.items()):
        known = {name for label in program.labels[file, line] for name in label.names}
        for name in sorted(names - known):
            if not HARMLESS.match(name):
                score.notes.append(("label", "%s:%d: %s has no label" % (file, line, name)))
    return score


# --- the report -------------------------------------------------------------------------------------------------------


def row(name, s):
    return "%-16s %8.4f %6d %6d %8.4f %8.4f %8.4f %8.4f %7d" % (
        name, s.accuracy(), sum(s.right[v] for v in VERDICTS), sum(s.wrong[v] for v in VERDICTS),
        s.accuracy(("all",)), s.accuracy(("some",)), s.accuracy(("none",)), s.use_accuracy(), s.alarms())


HEADING = "%-16s %8s %6s %6s %8s %8s %8s %8s %7s" % (
    "build", "accuracy", "right", "wrong", "all", "some", "none", "use", "alarms")


def print_notes(results):
    """Each mistake once, with the builds that have it."""
    notes = defaultdict(list)
    for (_, compiler, level), score in results:
        for note in score.notes:
            notes[note].append(os.path.basename(compiler) + level)
    order = ["call", "label", "verdict", "alarm", "use", "missing"]
    for (kind, text), where in sorted(notes.items(), key=lambda n: (order.index(n[0][0]), n[0][1])):
        print("%s: %s [%s]" % (kind, text, " ".join(dict.fromkeys(where))))


def report(args, results):
    total, groups = Score(), {}
    for (_, compiler, level), score in results:
        total.add(score)
        compiler = os.path.basename(compiler)
        for name in (compiler + " " + level, compiler + ", all", "all, " + level):
            groups.setdefault(name, Score()).add(score)
    print(HEADING)
    for name in sorted(groups, key=lambda n: ("all" in n, n)):
        print(row(name, groups[name]))
    print(row("total", total))
    print("expected -> got: " + ", ".join("%s -> %s %d" % (*pair, n) for pair, n in sorted(total.confusion.items())))
    print("missing errors named: %d of %d; optional calls not there: %d; located by addr2line: %d" % (
        total.missing_right, total.missing_right + total.missing_wrong, total.skipped, total.relocated))
    if args.verbose:
        print_notes(results)
    return total


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="programs of the set; all if none is given")
    parser.add_argument("--set", default=SET, help="the folder with the sources (tests/truth/check)")
    parser.add_argument("--murphy", default=os.environ.get("MURPHY") or os.path.join(ROOT, "build", "murphy"),
                        help="the binary (build/murphy)")
    parser.add_argument("--compilers", default="gcc,clang", help="compilers, separated by commas")
    parser.add_argument("--levels", default=",".join(LEVELS), help="optimisation levels, separated by commas; hardened is -O2 with distributions' flags")
    parser.add_argument("--turns", action="store_true",
                        help="one compiler for a program at each level, by turns: half of the builds")
    parser.add_argument("--min", type=float, default=0.98, help="least accuracy of verdicts")
    parser.add_argument("--min-use", type=float, default=0.0, help="least accuracy of uses")
    parser.add_argument("--max-alarms", type=int, help="most false alarms, over all builds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", metavar="DIR", help="build here, and leave the programs for a look")
    parser.add_argument("--list", action="store_true", help="check and count the labels, and measure nothing")
    parser.add_argument("--verify", action="store_true",
                        help="check with objdump that labels and calls belong together in every build; no murphy")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every label that is judged wrongly")
    return parser.parse_args()


def list_set(programs):
    labels = [label for program in programs.values() for label in all_labels(program)]
    verdicts = Counter(label.verdict for label in labels)
    functions = {label.names[0] for label in labels}
    print("%d programs of %d files, %d labels (%s) of %d functions" % (
        len(programs), sum(len(p.sources) for p in programs.values()), len(labels),
        ", ".join("%s %d" % pair for pair in sorted(verdicts.items())), len(functions)))
    return 0


def choose(args):
    programs = parse_set(args.set)
    unknown = [name for name in args.programs if name not in programs]
    if unknown:
        raise BadLabel("no such program: %s (there is: %s)" % (", ".join(unknown), " ".join(programs)))
    return {name: p for name, p in programs.items() if not args.programs or name in args.programs}


def score_all(args, programs):
    murphy = None if args.verify else os.path.abspath(args.murphy)
    temp = os.path.abspath(args.keep) if args.keep else tempfile.mkdtemp(prefix="murphy-check-truth-")
    jobs = {
        (name, compiler, level): (program, compiler, level, murphy, temp)
        for i, compiler in enumerate(args.compilers.split(",")) for k, level in enumerate(args.levels.split(","))
        for n, (name, program) in enumerate(programs.items())
        if not args.turns or (i + k + n) % 2 == 0
    }
    try:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            return list(zip(jobs, pool.map(measure, jobs.values())))
    finally:
        if not args.keep:
            shutil.rmtree(temp, ignore_errors=True)


def main():
    args = parse_arguments()
    try:
        programs = choose(args)
        if args.list:
            return list_set(programs)
        results = score_all(args, programs)
    except (BadLabel, Failed) as e:
        print("check_truth: %s" % e, file=sys.stderr)
        return 2
    if args.verify:
        print_notes(results)
        bad = sum(len(score.notes) for _, score in results)
        print("%d labels and calls that do not belong together" % bad)
        return 1 if bad else 0
    total = report(args, results)
    status = 0
    for what, have, want in (
        ("accuracy", total.accuracy(), args.min),
        ("accuracy of uses", total.use_accuracy(), args.min_use),
    ):
        if have < want:
            print("%s %.4f is below %.4f" % (what, have, want))
            status = 1
    if args.max_alarms is not None and total.alarms() > args.max_alarms:
        print("%d false alarms are more than %d" % (total.alarms(), args.max_alarms))
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
