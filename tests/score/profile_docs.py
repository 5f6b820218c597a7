#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores `murphy profile` against documentation, the way the LFI paper does (its section 8.4 and table VII).

libc.so.6 is compared with the ERRORS and RETURN VALUE sections of the manual pages of sections 2 and 3 (groff sources
of Debian's manpages-dev); zlib, bzip2 and PCRE2 with what their documents say, listed in tests/truth/docs/*.errors.
TP is what both say, FN what only the document says, FP what only murphy says; accuracy is TP / (TP + FP + FN).
Documents are not the truth: they leave out errors that happen and name errors that cannot. The figure says how well
the two agree, the list behind it says where to look. There is no threshold: exit status 2 if a profile could not be
made, else 0.
"""
import argparse
import json
import os
import re
import signal
import struct
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from manpages import NUMBERS, Manual, canonical

ROOT = Path(__file__).resolve().parents[2]
LIBC = "libc.so.6"
LFI = [  # published figures: library, accuracy, TP, FN, FP, what they were measured against
    ("libpcre (LFI's published figure)", 0.84, 52, 10, 0, "its code, read by hand"),
    ("libxml2 (LFI's published figure)", 0.80, 989, 152, 102, "its documentation"),
]
BEST_KNOWN = (
    "open read write close lseek stat mmap fork execve waitpid socket connect accept send recv rename unlink mkdir "
    "malloc fopen fclose opendir strtol pthread_create pthread_join"
).split()


class Failed(Exception):
    """A profile could not be made or read."""


# --- what murphy says -------------------------------------------------------------------------------------------------


class Found:
    """What murphy found for one function."""

    def __init__(self, function):
        self.retvals = {narrow(error["retval"]) for error in function["errors"]}
        names = {name for error in function["errors"] for name in error["errno"]}
        self.errnos = {canonical(name) for name in names if isinstance(name, str)} - {None}
        self.errno_unknown = any(error.get("errno_unknown") for error in function["errors"])
        self.unknown = bool(function.get("unknown"))
        self.reasons = function.get("unknown_because") or []
        self.sides = defaultdict(set)
        for error in function["errors"]:
            for side in error.get("side", []):
                if side["kind"] == "arg" and int(str(side.get("offset", "0")), 0) == 0 and "argument" in side:
                    self.sides[side["argument"]] |= {narrow(value) for value in side["values"]}


def narrow(value):
    """An int's -1 and a pointer's or size_t's all ones are the same failure."""
    if value >= 1 << 63:
        value -= 1 << 64
    return value - (1 << 32) if 1 << 31 <= value < 1 << 32 else value


def run_murphy(binary, library):
    command = [binary, "profile", "--format=json", library]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(command)}: {error}") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    try:
        profile = json.loads(done.stdout)["libraries"][0]
        found = {}
        for function in profile["functions"]:
            found.setdefault(function["name"], Found(function))  # the default version comes first
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise Failed(f"{' '.join(command)}: not the JSON of a profile: {error!r}") from error
    return found, profile["path"]


def exports(path):
    """Names of the functions in the dynamic symbol table: what a program can call."""
    data = Path(path).read_bytes()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + at * size) for at in range(count)]
    names = set()
    for header in headers:
        if header[1] != 11:  # SHT_DYNSYM
            continue
        strings = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", data, at)
            if section and info & 15 in (2, 10):  # STT_FUNC, STT_GNU_IFUNC
                end = data.index(b"\0", strings + name)
                names.add(data[strings + name : end].decode("ascii", "replace"))
    return names


def installed(name):
    folders = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/lib"]
    return any((Path(folder) / name).exists() for folder in folders)


def kernel_calls():
    """NAME -> errnos, from the kernel data that the profiler uses; and whether that was written by hand."""
    calls, by_hand = {}, False
    for path in sorted((ROOT / "data/kernel").glob("*.errors")):
        for line in path.read_text().splitlines():
            by_hand |= line.startswith("# source:") and "hand-made" in line
            if line and not line.startswith("#"):
                _, name, *names = line.split()
                calls[name] = {errno.split("[")[0] for errno in names}
    return calls, by_hand


# --- counting ---------------------------------------------------------------------------------------------------------


class Score:
    def __init__(self, tp=0, fp=0, fn=0):
        self.tp, self.fp, self.fn = tp, fp, fn

    def add(self, documented, found, neutral=frozenset()):
        self.tp += len(documented & found)
        self.fp += len(found - documented - neutral)
        self.fn += len(documented - found)

    @staticmethod
    def share(part, whole):
        return f"{100 * part / whole:5.1f} %" if whole else "      -"

    def row(self, name, note=""):
        cells = (
            self.share(self.tp, self.tp + self.fp),
            self.share(self.tp, self.tp + self.fn),
            self.share(self.tp, self.tp + self.fp + self.fn),
        )
        shares = " ".join(f"{cell:>9}" for cell in cells)
        return f"  {name:<44} {shares} {self.tp:>6} {self.fp:>6} {self.fn:>6}  {note}".rstrip()


HEAD = f"  {'':<44} {'precision':>9} {'recall':>9} {'accuracy':>9} {'TP':>6} {'FP':>6} {'FN':>6}"


def words(values):
    return " ".join(str(value) for value in sorted(values, key=lambda v: (isinstance(v, str), v)))


class Libc:
    """libc against the manual."""

    def __init__(self, manual, found, exported, kernel):
        self.manual, self.found = manual, found
        self.calls, self.by_hand = kernel
        self.functions = sorted(f for f in manual.documented if f in exported and manual.errnos[f])
        self.exported = exported

    def found_errnos(self, function):
        known = self.found.get(function)
        if known is None:
            return set()
        if function in self.manual.number_style:
            numbers = {NUMBERS[value] for value in known.retvals if value in NUMBERS}
            return known.errnos | numbers
        return known.errnos

    def errno_scores(self):
        every, both, plain, rest, known = Score(), Score(), Score(), Score(), 0
        for function in self.functions:
            documented, found = self.manual.errnos[function], self.found_errnos(function)
            every.add(documented, found)
            (plain if function in self.calls else rest).add(documented, found)
            if found:
                known += 1
                both.add(documented, found)
        return every, both, plain, rest, known

    def retval_functions(self):
        return sorted(
            f for f, values in self.manual.retvals.items()
            if len(values) == 1 and f in self.exported and f not in self.manual.number_style
        )

    def retval_scores(self):
        every, both = Score(), Score()
        functions = self.retval_functions()
        for function in functions:
            known = self.found.get(function)
            found = known.retvals if known else set()
            every.add(self.manual.retvals[function], found)
            if found:
                both.add(self.manual.retvals[function], found)
        return every, both, functions

    # Why a documented errno was not found, from what can be computed.
    def why_missing(self, function, name):
        known = self.found.get(function)
        if known is None:
            return "the function is not in the profile"
        own = self.calls.get(function)
        if own is not None and name not in own:
            return "the kernel data does not list it for the system call of that name"
        if known.unknown or known.errno_unknown:
            reasons = ", ".join(known.reasons) or "errno computed"
            return f"the function is marked unknown ({reasons})"
        if not self.found_errnos(function):
            return "no error of the function was found, and it is not marked unknown"
        if own is not None:
            return "the kernel data lists it, and yet it was not found"
        return "other errors were found, this one was not"

    def why_extra(self, function, name):
        if name in self.calls.get(function, ()):
            return "the kernel data lists it for the system call of that name; the manual does not"
        if function in self.calls:
            return "not in the kernel data of that name: libc sets it, or makes another system call"
        if any(name in values for values in self.calls.values()) and "2" in self.manual.sections[function]:
            return "a function of section 2 that has no system call of its name"
        return "libc sets it, or a function or system call that it uses does; the manual does not say so"


def print_table(rows):
    print(HEAD)
    for row in rows:
        print(row)


def print_reasons(title, reasons, examples, limit=8):
    total = sum(reasons.values())
    if not total:
        return
    print(f"\n  {title}: {total}")
    for reason, count in reasons.most_common(limit):
        print(f"  {count:6}  {reason}; as {', '.join(examples[reason][:3])}")
    rest = total - sum(count for _, count in reasons.most_common(limit))
    if rest:
        print(f"  {rest:6}  other reasons")


def collect(pairs):
    """Counts and examples by reason, from (reason, example)."""
    reasons, examples = Counter(), defaultdict(list)
    for reason, example in pairs:
        reasons[reason] += 1
        examples[reason].append(example)
    return reasons, examples


def report_libc(libc, verbose):
    every, both, plain, rest, known = libc.errno_scores()
    values, values_both, functions = libc.retval_scores()
    with_errors = sum(1 for f in libc.found.values() if f.retvals)
    with_errnos = sum(1 for f in libc.found.values() if f.errnos)
    unknown = sum(1 for f in libc.found.values() if f.unknown)
    print(f"{LIBC} against {libc.manual.pages} manual pages of sections 2 and 3\n")
    print(f"  functions exported by libc                              {len(libc.exported):6}")
    print(f"  ... for which the manual names errnos                   {len(libc.functions):6}")
    print(f"  ... and murphy too                                      {known:6}")
    print(f"  ... for which the manual says the failing value plainly {len(functions):6}")
    print(f"  functions in murphy's profile                           {len(libc.found):6}")
    print(f"  ... with an error value / with errnos / marked unknown  {with_errors:6} /{with_errnos:6} /{unknown:6}\n")
    rows = [
        every.row("(function, errno): all documented functions"),
        both.row("(function, errno): those that both know"),
        plain.row("(function, errno): named as a system call"),
        rest.row("(function, errno): all other functions"),
        values.row("(function, value): all with a plain value"),
        values_both.row("(function, value): those that both know"),
    ]
    print_table(rows)
    if libc.by_hand:
        print("\n  The kernel data was written by hand after the same manual pages: functions named as a system call agree")
        print("  in part because they have one source. The row of the other functions says more.")
    missing = [(f, e) for f in libc.functions for e in sorted(libc.manual.errnos[f] - libc.found_errnos(f))]
    extra = [(f, e) for f in libc.functions for e in sorted(libc.found_errnos(f) - libc.manual.errnos[f])]
    for title, why, pairs in (
        ("documented, not found", libc.why_missing, missing),
        ("found, not documented", libc.why_extra, extra),
    ):
        print_reasons(title, *collect((why(f, e), f"{f}:{e}") for f, e in pairs))
    if verbose:
        report_best_known(libc)
        report_misses(libc, functions)
    return every


def report_best_known(libc):
    print(f"\n  {'the best known':<20} {'manual':>6} {'murphy':>6} {'both':>6}  only the manual | only murphy")
    for function in BEST_KNOWN:
        documented, found = libc.manual.errnos.get(function, set()), libc.found_errnos(function)
        difference = f"{words(documented - found) or '-'} | {words(found - documented) or '-'}"
        print(f"  {function:<20} {len(documented):>6} {len(found):>6} {len(documented & found):>6}  {difference}")


def report_misses(libc, functions):
    print("\n  errnos by function (- documented and not found, + found and not documented)")
    for function in libc.functions:
        documented, found = libc.manual.errnos[function], libc.found_errnos(function)
        report_difference(function, documented, found, libc.found.get(function))
    print("\n  failing values by function")
    for function in functions:
        known = libc.found.get(function)
        report_difference(function, libc.manual.retvals[function], known.retvals if known else set(), known)


def report_difference(name, documented, found, known):
    if documented == found:
        return
    parts = [f"- {words(documented - found)}"] if documented - found else []
    parts += [f"+ {words(found - documented)}"] if found - documented else []
    state = ""
    if known is None:
        state = " (not in the profile)"
    elif known.unknown:
        state = f" (unknown: {', '.join(known.reasons)})"
    print(f"    {name}{state}: {'  '.join(parts)}")


# --- tables of documented values --------------------------------------------------------------------------------------


class Table:
    """tests/truth/docs/NAME.errors; the file says what its lines mean."""

    def __init__(self, path):
        self.path, self.name, self.library = path, path.stem, None
        self.values = {}  # (function, argument or 0) -> values that count
        self.neutral = defaultdict(set)
        self.handed_on = defaultdict(set)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r"# library: (\S+)", line)
            if match:
                self.library = match[1]
            line = line.split("#")[0].split()
            if line:
                self.read_line(line, f"{path}:{number}")
        if not self.library:
            raise Failed(f"{path}: no '# library:' line")

    def read_line(self, line, where):
        match = re.fullmatch(r"(\w+)(?::arg(\d+))?", line[0])
        if not match or len(line) < 2:
            raise Failed(f"{where}: not 'function value...'")
        key = (match[1], int(match[2] or 0))
        if key in self.values:
            raise Failed(f"{where}: {line[0]} stands twice")
        if line[1:] == ["any"]:
            return
        self.values[key] = set()
        for word in line[1:]:
            self.read_value(key, word, where)

    def read_value(self, key, word, where):
        if word == "none":
            return
        match = re.fullmatch(r"(-?\d+)(?:\.\.(-?\d+))?([?*]?)", word)
        if not match:
            raise Failed(f"{where}: not a value: {word}")
        first, last = int(match[1]), int(match[2] or match[1])
        values = set(range(min(first, last), max(first, last) + 1))
        if match[3] == "?":
            self.neutral[key] |= values
        else:
            self.values[key] |= values
        if match[3] == "*":
            self.handed_on[key] |= values


def found_values(found, key):
    function, argument = key
    known = found.get(function)
    if known is None:
        return set()
    return known.sides.get(argument, set()) if argument else known.retvals


def why_value(table, found, key, value):
    known = found.get(key[0])
    if known is None:
        return "the function is not in the profile"
    if value in table.handed_on[key]:
        return "handed on from an earlier call or a callback"
    if known.unknown:
        return f"the function is marked unknown ({', '.join(known.reasons) or 'no reason given'})"
    if not found_values(found, key):
        return "nothing was found for the function, and it is not marked unknown"
    return "other values were found, this one was not"


def label(key):
    return f"{key[0]}:arg{key[1]}" if key[1] else key[0]


def report_table(table, found, verbose):
    every, own, returns, through, both = Score(), Score(), Score(), Score(), Score()
    known = 0
    for key, documented in table.values.items():
        values, neutral = found_values(found, key), table.neutral[key]
        every.add(documented, values, neutral)
        own.add(documented - table.handed_on[key], values - table.handed_on[key], neutral)
        (through if key[1] else returns).add(documented, values, neutral)
        if values and documented:
            both.add(documented, values, neutral)
            known += 1
    failing = sum(1 for documented in table.values.values() if documented)
    print(f"\n{table.library} against {table.path.name}: {len(table.values)} documented results;")
    print(f"  {failing} of them can fail, murphy knows errors of {known} of these\n")
    rows = [every.row("all"), both.row("those that both know"), returns.row("return values alone")]
    if through.tp + through.fn:
        rows.append(through.row("values stored through arguments alone"))
    if any(table.handed_on.values()):
        rows.append(own.row("without values that are handed on"))
    print_table(rows)
    missing = [(k, v) for k, d in table.values.items() for v in sorted(d - found_values(found, k))]
    extra = [(k, v) for k, d in table.values.items() for v in sorted(found_values(found, k) - d - table.neutral[k])]
    reasons = collect((why_value(table, found, k, v), f"{label(k)}:{v}") for k, v in missing)
    print_reasons("documented, not found", *reasons)
    reasons = collect((why_extra_value(table, k, v), f"{label(k)}:{v}") for k, v in extra)
    print_reasons("found, not documented", *reasons)
    if verbose:
        print("\n  values by function (- documented and not found, + found and not documented)")
        for key, documented in table.values.items():
            found_here = found_values(found, key) - (table.neutral[key] - documented)
            report_difference(label(key), documented, found_here, found.get(key[0]))
    return every


def why_extra_value(table, key, value):
    if not table.values[key]:
        return "the document names no error of the function"
    of_library = {v for values in table.values.values() for v in values}
    if value in of_library:
        return "an error value of the library that is not documented for this function"
    return "not a documented error value of the library"


# --- all together -----------------------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(description="Score murphy profile against documentation.")
    default_murphy = os.environ.get("MURPHY", str(ROOT / "build/murphy"))
    parser.add_argument("murphy", nargs="?", default=default_murphy, help="the binary (%(default)s)")
    default_man = os.environ.get("MURPHY_MANPAGES", "/usr/share/man")
    parser.add_argument("--man", metavar="DIR", default=default_man, help="folder with man2/ and man3/ (%(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the differences function by function")
    return parser.parse_args()


def main():
    options = parse_arguments()
    summary = []
    manual = Manual(Path(options.man))
    if manual.errnos.get("close"):
        found, path = run_murphy(options.murphy, LIBC)
        score = report_libc(Libc(manual, found, exports(path), kernel_calls()), options.verbose)
        summary.append(score.row(f"{LIBC}, errnos", "manual pages, read by a parser"))
    else:
        print(f"{LIBC}: not scored, no manual pages in {options.man} (install manpages-dev, or --man DIR)")
    for path in sorted((ROOT / "tests/truth/docs").glob("*.errors")):
        table = Table(path)
        if not installed(table.library):
            print(f"\n{table.library}: not scored, not installed")
            continue
        found, _ = run_murphy(options.murphy, table.library)
        score = report_table(table, found, options.verbose)
        summary.append(score.row(table.library, "its documents, read by hand"))
    print("\nAgreement with documentation; below them what LFI published, for other libraries and versions\n")
    print_table(summary)
    for name, accuracy, tp, fn, fp, against in LFI:
        print(Score(tp, fp, fn).row(name, f"{against}; published as {accuracy:.0%}"))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main())
    except Failed as problem:
        print(f"profile_docs: {problem}", file=sys.stderr)
        sys.exit(2)
