#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores the errors of system calls (data/kernel/*.errors) against the manual pages of section 2.

The truth is what the ERRORS sections say (groff sources of Debian's manpages-dev), put right by
tests/truth/kernel/man.exceptions where a page is misread, or speaks of other kernels and machines. Errnos are compared
by number, so aliases are one. The pages leave out much that is real: precision against them is a lower bound. For the
system calls in tests/truth/kernel/common, tests/truth/kernel/undocumented lists errnos that the kernel's source shows;
with these, precision and recall are computed once more. Where the kernel's image is at hand (--image), so is what is
found if data/kernel/ways does not tell which errors functions never return, or return besides.
Exit status: 0 good enough, 1 below a threshold, 2 could not be measured.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from manpages import Page, canonical, read_page

ROOT = Path(__file__).resolve().parents[2]
TRUTH = ROOT / "tests/truth/kernel"
UNISTD = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm/unistd_64.h"),
)
# What a page calls by the name of libc's function.
NAMED = {
    "_sysctl": "sysctl",
    "eventfd2": "eventfd",
    "exit": "_exit",
    "fadvise64": "posix_fadvise",
    "newfstatat": "fstatat",
    "pread64": "pread",
    "prlimit64": "prlimit",
    "pselect6": "pselect",
    "pwrite64": "pwrite",
    "signalfd4": "signalfd",
}
KINDS = ("misread", "absent", "old", "other", "libc", "config", "wrong")


class Failed(Exception):
    """Something could not be read or made."""


def read_text(path):
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"{path}: {error}") from error


def data_lines(path):
    """(place, line) for each line that is not a comment."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield f"{path}:{number}", line


def errno_name(word, where):
    name = canonical(word)
    if not name:
        raise Failed(f"{where}: {word} is not an errno of Linux")
    return name


def call_numbers():
    """NAME -> number, from the kernel's header."""
    for path in UNISTD:
        if path.is_file():
            found = re.findall(r"^#define __NR_(\w+)\s+(\d+)", read_text(path), re.M)
            return {name: int(number) for name, number in found}
    raise Failed(f"{UNISTD[0]}: not there (install linux-libc-dev)")


# --- what was found ---------------------------------------------------------------------------------------------------


class Errors:
    """A file of system-call errors: NAME -> errnos."""

    def __init__(self, text, name):
        self.name, self.calls, self.partly = name, {}, set()
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            words = re.sub(r"\[[^]]*\]", "", line).split()
            if words[-1] == "...":
                words.pop()
                self.partly.add(words[1])
            if len(words) < 2 or not words[0].isdigit():
                raise Failed(f"{name}:{number}: not 'NUMBER NAME ERRNO...': {line!r}")
            self.calls[words[1]] = {canonical(word) or word for word in words[2:]}
        if not self.calls:
            raise Failed(f"{name}: no system call")
        self.by_hand = "hand-made" in text

    def of(self, call):
        return self.calls.get(call, set())


def run_murphy(binary, image, data=None):
    """DATA is a folder to use instead of murphy's own."""
    command = [binary, "profile", "--kernel", image, "--format=errors"]
    environment = {**os.environ, **({"MURPHY_DATA": str(data)} if data else {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    return Errors(done.stdout, image)


def without_knowledge(binary, image):
    """What is found if data/kernel/ways does not say which errors functions never return, or return besides."""
    with tempfile.TemporaryDirectory(prefix="murphy-score-") as folder:
        data = Path(folder) / "data"
        shutil.copytree(ROOT / "data", data)
        ways = data / "kernel/ways"
        lines = read_text(ways).splitlines(keepends=True)
        ways.write_text("".join(line for line in lines if not re.match(r"(never|gives)\s", line)), encoding="utf-8")
        return run_murphy(binary, image, data)


def best_file():
    """What is made from an image is better than what is made by hand; the last name is the newest kernel."""
    paths = sorted((ROOT / "data/kernel").glob("*.errors"), key=lambda p: ("handmade" not in p.name, p.name))
    if not paths:
        raise Failed(f"{ROOT / 'data/kernel'}: no *.errors file")
    return paths[-1]


# --- what is true -----------------------------------------------------------------------------------------------------


class Exceptions:
    """tests/truth/kernel/man.exceptions; the file says what its lines mean."""

    LINE = re.compile(r"([a-z0-9_,]+) ([-+])(\*|[A-Z0-9,]+) (\w+): \S.*")

    def __init__(self, path=None, numbers=()):
        self.add, self.drop, self.absent = defaultdict(dict), defaultdict(dict), {}
        self.used = set()
        for where, line in data_lines(path) if path else ():
            match = self.LINE.fullmatch(line)
            if not match or match[4] not in KINDS:
                raise Failed(f"{where}: not 'CALL,... -ERRNO,... KIND: reason' with a KIND of {' '.join(KINDS)}")
            for call in match[1].split(","):
                if call not in numbers:
                    raise Failed(f"{where}: {call} is not a system call")
                self.read(call, match, where)

    def read(self, call, match, where):
        if match[3] == "*":
            if match[2] == "+":
                raise Failed(f"{where}: only -* is possible")
            self.absent[call] = match[4]
            return
        for word in match[3].split(","):
            name = errno_name(word, where)
            if name in self.add[call] or name in self.drop[call]:
                raise Failed(f"{where}: {call} {name} stands twice")
            (self.add if match[2] == "+" else self.drop)[call][name] = match[4]

    def apply(self, call, documented):
        """Changes DOCUMENTED, and remembers which exceptions were needed."""
        for name in self.add[call].keys() - documented:
            self.used.add((call, name, self.add[call][name]))
        for name in self.drop[call].keys() & documented:
            self.used.add((call, name, self.drop[call][name]))
        documented.update(self.add[call])
        documented.difference_update(self.drop[call])

    def unused(self):
        every = {(call, name) for table in (self.add, self.drop) for call in table for name in table[call]}
        return sorted(every - {(call, name) for call, name, _ in self.used})


class Manual:
    """What section 2 says of each system call."""

    def __init__(self, root, numbers, exceptions):
        self.documented = {}  # system call -> errnos; only those of which some are documented
        self.without_page, self.without_errors = [], []
        own, references = defaultdict(set), defaultdict(set)  # of the functions that the pages name
        pages = self.read_pages(root, numbers, own, references)
        referred = self.resolve(own, references, exceptions)
        for call in numbers:
            function = NAMED.get(call, call)
            errnos = own[function] | referred[function]
            exceptions.apply(call, errnos)
            if call in exceptions.absent:
                exceptions.used.add((call, "*", exceptions.absent[call]))
            elif call not in pages:
                self.without_page.append(call)
            elif not errnos:
                self.without_errors.append(call)
            else:
                self.documented[call] = errnos
        if not self.documented:
            raise Failed(f"{root}: no manual pages of system calls (install manpages-dev, or --man DIR)")

    @staticmethod
    def read_pages(root, numbers, own, references):
        pages, seen = set(), set()
        for call in numbers:
            path = next((p for p in (root / f"man2/{call}.2.gz", root / f"man2/{call}.2") if p.is_file()), None)
            read = read_page(path.resolve(), root) if path else None
            # Other packages put pages there, too; those of the Linux man-pages say so in their title.
            if not read or not re.search(r"^\.TH .*Linux man-pages", read[1], re.M):
                continue
            pages.add(call)
            if read[0] in seen:
                continue
            seen.add(read[0])
            page = Page(read[1])
            for function in page.parameters:
                own[function] |= page.errnos.get(function, set())
                references[function] |= page.references.get(function, set())
        return pages

    @staticmethod
    def resolve(own, references, exceptions):
        """Function -> errors of the functions that its page refers to, put right, through any number of pages."""
        right = {function: set(errnos) for function, errnos in own.items()}
        for function, errnos in right.items():
            exceptions.apply(function, errnos)
        referred = defaultdict(set)
        changed = True
        while changed:
            changed = False
            for function, others in references.items():
                more = set().union(*(right.get(other, set()) | referred[other] for other in others))
                changed |= not more <= referred[function]
                referred[function] |= more
        return referred


def read_common(path, manual):
    calls = [line.strip() for _, line in data_lines(path)]
    for call in calls:
        if call not in manual.documented:
            raise Failed(f"{path}: {call} is not a documented system call")
    if len(set(calls)) != len(calls):
        raise Failed(f"{path}: a system call stands twice")
    return calls


def read_undocumented(path, manual):
    """System call -> errnos that the source shows and no page names."""
    found = defaultdict(set)
    for where, line in data_lines(path):
        match = re.fullmatch(r"([a-z0-9_,]+) ([A-Z0-9]+) (\w+): \S.*", line)
        if not match:
            raise Failed(f"{where}: not 'CALL,... ERRNO FUNCTION: reason'")
        name = errno_name(match[2], where)
        for call in match[1].split(","):
            if name in found[call]:
                raise Failed(f"{where}: {call} {name} stands twice")
            if name in manual.documented.get(call, ()):
                raise Failed(f"{where}: {call} {name} is documented")
            found[call].add(name)
    return found


# --- counting ---------------------------------------------------------------------------------------------------------


class Score:
    def __init__(self, calls, truth, errors):
        self.tp = sum(len(truth[call] & errors.of(call)) for call in calls)
        self.fp = sum(len(errors.of(call) - truth[call]) for call in calls)
        self.fn = sum(len(truth[call] - errors.of(call)) for call in calls)
        self.average = (self.tp + self.fp) / len(calls)
        self.documented = (self.tp + self.fn) / len(calls)

    @property
    def recall(self):
        return self.tp / (self.tp + self.fn)

    @property
    def precision(self):
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0

    def row(self, name):
        shares = f"{self.precision:>9.3f} {self.recall:>9.3f}"
        counts = f"{self.tp:>6} {self.fp:>6} {self.fn:>6}"
        return f"  {name:<52} {shares} {counts} {self.average:>8.1f} {self.documented:>8.1f}"


HEAD = f"  {'':<52} {'precision':>9} {'recall':>9} {'TP':>6} {'FP':>6} {'FN':>6} {'found':>8} {'true':>8}"


def words(values):
    return " ".join(sorted(values))


def report_exceptions(manual, exceptions):
    kinds = Counter(kind for _, _, kind in exceptions.used)
    parts = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
    print(f"  {len(exceptions.used)} exceptions from the pages: {parts or 'none'}")
    unused = exceptions.unused()
    if unused:
        print(f"  {len(unused)} exceptions change nothing: {', '.join(':'.join(pair) for pair in unused)}")
    without = f"{len(manual.without_errors)} system calls have a page that names no errno"
    print(f"  {without}, {len(manual.without_page)} have no page")


def report_lists(title, calls, truth, undocumented, errors):
    print(f"\n{title} (- documented, not found; + found, not documented; ! undocumented but real, not found)")
    for call in calls:
        documented, found, real = truth[call], errors.of(call), undocumented[call]
        parts = [f"- {words(documented - found)}"] if documented - found else []
        parts += [f"! {words(real - found)}"] if real - found else []
        if found & real - documented:
            parts.append(f"+ real: {words(found & real)}")
        rest = found - documented - real
        if rest:
            parts.append(f"+ {words(rest)}")
        if parts:
            absent = "" if call in errors.calls else " (not in the file)"
            print(f"  {call}{absent}: {'  '.join(parts)}")


def report_most(calls, manual, errors):
    missing = Counter(name for call in calls for name in manual.documented[call] - errors.of(call))
    extra = Counter(name for call in calls for name in errors.of(call) - manual.documented[call])
    for title, counter in (("documented, not found", missing), ("found, not documented", extra)):
        most = sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:12]
        most = ", ".join(f"{name} {count}" for name, count in most)
        print(f"  {title}, most often: {most or 'none'}")


def report_bare(options, errors, manual, common, truth):
    """How much of the figures is due to what people have written into data/kernel/ways."""
    if not options.image:
        print("\n  Not measured: what is found without the errors that data/kernel/ways tells (--image VMLINUZ)")
        return
    bare = without_knowledge(options.murphy, options.image)
    if set(bare.calls) != set(errors.calls):
        print(f"\n  {options.image} has other system calls than {errors.name}; its figures:")
    print("  without never and gives of data/kernel/ways:")
    print(Score(manual.documented, manual.documented, bare).row("  all documented system calls"))
    print(Score(common, manual.documented, bare).row(f"  the {len(common)} that programs use most"))
    print(Score(common, truth, bare).row("  ... with what the kernel's source shows"))


def report(options, errors, manual, exceptions, plain):
    common = read_common(TRUTH / "common", manual)
    undocumented = read_undocumented(TRUTH / "undocumented", manual)
    truth = {call: manual.documented[call] | undocumented[call] for call in common}
    every, most = Score(manual.documented, manual.documented, errors), Score(common, manual.documented, errors)
    both = Score(common, truth, errors)
    print(f"{errors.name} against the manual pages: {len(manual.documented)} documented system calls")
    report_exceptions(manual, exceptions)
    if errors.by_hand:
        print("  The file was written by hand after the same pages: they agree in part because they have one source.")
    print(f"\n{HEAD}")
    print(every.row("all documented system calls"))
    print(Score(plain.documented, plain.documented, errors).row("... if the pages are taken without exceptions"))
    print(most.row(f"the {len(common)} that programs use most"))
    print(Score(common, plain.documented, errors).row("... if the pages are taken without exceptions"))
    print(both.row("... with what the kernel's source shows"))
    report_bare(options, errors, manual, common, truth)
    known = sum(len(undocumented[call] - manual.documented[call]) for call in common)
    judged = sum(len(errors.of(call) & undocumented[call]) for call in common)
    print(f"\n  Of the {most.fp} errnos of the {len(common)} that no page names, {judged} are known to be real, the")
    print(f"  others are not judged; of {known} that are known to be real, {known - judged} are not found.")
    report_most(common, manual, errors)
    partly = f"{len(errors.partly)} of {len(errors.calls)} system calls, and {len(errors.partly & set(common))}"
    print(f"  Marked as not fully known: {partly} of the {len(common)}.")
    print(f"  modify_ldt has ENOMEM: {'yes' if 'ENOMEM' in errors.of('modify_ldt') else 'no'}")
    if options.verbose:
        report_lists(f"the {len(common)}", common, manual.documented, undocumented, errors)
        others = [call for call in manual.documented if call not in common]
        report_lists("the other documented system calls", others, manual.documented, undocumented, errors)
    return most


def verdict(options, score):
    bad = []
    if options.min_recall is not None and score.recall < options.min_recall:
        bad.append(f"recall {score.recall:.3f} is below {options.min_recall}")
    if options.max_average is not None and score.average > options.max_average:
        bad.append(f"{score.average:.1f} errnos a call are more than {options.max_average}")
    for what in bad:
        print(f"kernel_man: {what}", file=sys.stderr)
    return 1 if bad else 0


# --- all together -----------------------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(description="Score the errors of system calls against the manual pages.")
    default_murphy = os.environ.get("MURPHY", str(ROOT / "build/murphy"))
    parser.add_argument("--murphy", metavar="PROGRAM", default=default_murphy, help="for --kernel (%(default)s)")
    default_man = os.environ.get("MURPHY_MANPAGES", "/usr/share/man")
    parser.add_argument("--man", metavar="DIR", default=default_man, help="folder with man2/ (%(default)s)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--errors", metavar="FILE", type=Path, help="the file to score (the best in data/kernel)")
    source.add_argument("--kernel", metavar="VMLINUZ", help="score what murphy finds in this kernel image")
    default_image = os.environ.get("MURPHY_IMAGE") or None
    parser.add_argument("--image", metavar="VMLINUZ", default=default_image,
                        help="the file's kernel, to score it without what data/kernel/ways knows, too")
    parser.add_argument("--min-recall", metavar="SHARE", type=float, help="fail if recall on the common calls is below")
    parser.add_argument("--max-average", metavar="N", type=float, help="fail if common calls have more errnos each")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the differences, call by call")
    return parser.parse_args()


def main():
    options = parse_arguments()
    numbers = dict(sorted(call_numbers().items(), key=lambda item: item[1]))
    if options.kernel:
        errors = run_murphy(options.murphy, options.kernel)
    else:
        path = options.errors or best_file()
        errors = Errors(read_text(path), path.name)
    exceptions = Exceptions(TRUTH / "man.exceptions", numbers)
    manual = Manual(Path(options.man), numbers, exceptions)
    plain = Manual(Path(options.man), numbers, Exceptions())
    return verdict(options, report(options, errors, manual, exceptions, plain))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main())
    except Failed as problem:
        print(f"kernel_man: {problem}", file=sys.stderr)
        sys.exit(2)
