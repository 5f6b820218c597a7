#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the conformance suite under a tool, or under several, and compares them.

  run.py [--tool murphy|libfiu|strace|none]... [--case NAME]... [--tap] [--write FILE]
  run.py --more [--tool none]

--tap prints one test a case and mode; without it there is a table, and the reasons for what is wrong. --write puts the
table into a document, between its markers. What each tool is told is in the file `faults`.

--more runs murphy over a hundred functions beyond those of the suite, with rules that were fixed before murphy was run
on them: it shows whether what is right in the suite is right by more than chance. Always TAP.

The suite tests itself as well: with tool `none`, every check must hold where nothing fails and where a perfect tool is
played, and each case must notice that nothing fails.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 60  # seconds for one run
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
         "-fno-builtin", "-U_FORTIFY_SOURCE"]
PROCESS = "surroundings"  # the case that is about the process, not a function
# One more fault for it: a call of read() in two fails.
PROCESS_FAULTS = {"murphy": "read:EIO when random(0.5)", "libfiu": "posix/io/rw/read=EIO", "strace": "read:EIO"}
ASPECTS = ["result", "errno", "thread", "effect", "argument", "stream", "registers", "repeated", "memory",
           "descriptors", "process", "random"]


class Missing(Exception):
    """The tool has no way to do it."""


def build(folder):
    shared = ["raw.c"]
    surroundings = ["surroundings.c"]
    more = ["more.c"]
    cases = sorted(p.name for p in HERE.glob("*.c") if p.name not in shared + surroundings + more)
    for name, sources in (("conform", shared + cases + ["call.S"]), (PROCESS, shared + surroundings),
                          ("more", shared + more + ["call.S"])):
        subprocess.run(["cc", *FLAGS, *sources, "-o", folder / name], cwd=HERE, check=True)


def read_faults():
    faults = {}
    for line in (HERE / "faults").read_text().splitlines():
        if line and not line.startswith("#"):
            case, *tools = [field.strip() for field in line.split("|")]
            faults[case] = dict(zip(("murphy", "libfiu", "strace"), tools, strict=True))
    faults[PROCESS] = PROCESS_FAULTS
    return faults


# --- the tools --------------------------------------------------------------------------------------------------------


class Plain:
    """Nobody makes anything fail."""
    name = "none"

    def command(self, case, mode, fault, program, folder):
        return program

    def close(self):
        pass


class Murphy(Plain):
    name = "murphy"

    def __init__(self, binary):
        self.binary = binary

    def command(self, case, mode, fault, program, folder):
        if mode == "passed":
            fault += " when call==1000000000"
        return [self.binary, "run", "--fail", fault, "--", *program]


class Libfiu(Plain):
    name = "libfiu"

    def command(self, case, mode, fault, program, folder):
        point, error = fault.split("=")
        number = getattr(__import__("errno"), error)
        if mode == "passed":
            what = f"enable_random name={point},failinfo={number},probability=0"
        elif case == PROCESS:
            what = f"enable_random name={point},failinfo={number},probability=0.5"
        else:
            what = f"enable name={point},failinfo={number}"
        return ["fiu-run", "-x", "-c", what, *program]


class Strace(Plain):
    name = "strace"

    def command(self, case, mode, fault, program, folder):
        command = ["strace", "-f", "-qq", "-o", "/dev/null"]
        for part in fault.split():
            call, error = part.split(":")
            what = error if "=" in error else f"error={error}"
            if mode == "passed":
                when = "65535"
            else:
                when = f"{self.first(call, program, folder)}+" + ("2" if case == PROCESS else "")
            command += ["-e", f"inject={call}:{what}:when={when}"]
        return [*command, *program]

    @staticmethod
    def first(call, program, folder):
        """The number of the first CALL behind the program's mark, in a run of which nothing fails."""
        work = tempfile.mkdtemp(dir=folder)
        log = Path(folder) / (Path(work).name + ".log")
        subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", f"trace=prctl,{call}", *program[:2], *(["passed"] if
                       len(program) == 3 else [])], cwd=work, env=environment(folder), stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT, check=False)
        lines = log.read_text(errors="replace").splitlines()
        main = lines[0].split()[0] if lines else ""
        count = 1
        for line in lines:
            if line.split()[0] != main:
                continue
            if "prctl(0x4d555250" in line:
                return count
            # The program's own start is not counted when it comes to injecting.
            count += f" {call}(" in line and not (call == "execve" and line is lines[0])
        raise Missing("the mark was not found in the trace")


# --- one run ----------------------------------------------------------------------------------------------------------


def environment(folder):
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "LC_ALL": "C", "ONE": "1",
            "XDG_CACHE_HOME": str(Path(folder) / "cache")}


def program_of(case, mode, folder):
    if case == PROCESS:
        return [str(folder / PROCESS), "".join(f"{k}={v}\n" for k, v in environment(folder).items())]
    return [str(folder / "conform"), case, mode]


def parse(text):
    """Check → None if it is right, else what is wrong; skipped checks are left out."""
    checks = {}
    for good, name, skip in re.findall(r"^(ok|not ok) \d+ - (.*?)(?: # (SKIP) .*)?$", text, re.M):
        if not skip:
            checks[name] = None if good == "ok" else "not so"
    return checks


class Result:
    def __init__(self, checks, trouble="", command=()):
        self.checks, self.trouble, self.command = checks, trouble, command

    def wrong(self, wanted):
        """Which of the checks WANTED do not hold, and why; skipped ones count as right unless the run died."""
        for name in wanted:
            if name in self.checks:
                if self.checks[name]:
                    yield name, self.checks[name]
            elif self.trouble:
                yield name, self.trouble


def run(tool, case, mode, fault, folder, limit=LIMIT):
    program = program_of(case, mode, folder)
    if fault == "-":
        return Result({}, "cannot be said")
    work = tempfile.mkdtemp(dir=folder)
    command = []
    try:
        command = tool.command(case, mode, fault, program, folder)
        done = subprocess.run(command, cwd=work, env=environment(folder), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)
    except Missing as e:
        return Result({}, str(e))
    except subprocess.TimeoutExpired as e:
        return Result(parse((e.stdout or b"").decode(errors="replace")), "hangs", command)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    text = done.stdout.decode(errors="replace")
    trouble = ""
    if not re.search(r"^1\.\.\d+$", text, re.M):
        trouble = death(done)
    return Result(parse(text), trouble, command)


def death(done):
    said = done.stderr.decode(errors="replace").strip().splitlines()
    status = done.returncode
    if status < 0 or status > 128:
        number = -status if status < 0 else status - 128
        try:
            return f"dies of {signal.Signals(number).name}"
        except ValueError:
            pass
    return f"exit status {status}" + (f": {said[-1]}" if said else "")


# --- all runs ---------------------------------------------------------------------------------------------------------


def list_cases(folder):
    """Case → its family, in order."""
    out = subprocess.run([folder / "conform", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    cases = dict(reversed(line.split()) for line in out.splitlines())
    cases[PROCESS] = "process"
    return cases


def modes_of(case):
    if case == PROCESS:
        return ["failed"]
    return ["failed", "passed"]


def wanted_checks(case, mode, folder):
    """The checks that there are: from a run in which a perfect tool is played, or nothing fails."""
    if case == PROCESS:
        return list(run(Plain(), case, mode, "", folder).checks)
    result = run(Plain(), case, "perfect" if mode == "failed" else mode, "", folder)
    return list(result.checks)


def run_all(tool, cases, faults, folder, jobs):
    work = [(case, mode) for case in cases for mode in modes_of(case)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda w: run(tool, *w, faults[w[0]].get(tool.name, ""), folder), work)
        return dict(zip(work, results))


def self_test(cases, folder, tap):
    for case in cases:
        if case == PROCESS:
            continue
        problems = []
        for mode in ("passed", "perfect"):
            result = run(Plain(), case, mode, "", folder)
            problems += [f"{mode}: {result.trouble}"] if result.trouble else []
            problems += [f"{mode}: {name}" for name, bad in result.checks.items() if bad]
        # Some wait for ever at the second call, since the first was not to succeed.
        result = run(Plain(), case, "failed", "", folder, limit=3)
        if not any(bad for name, bad in result.checks.items() if aspect_of(name) in ("result", "errno", "effect")):
            problems.append("does not notice that nothing fails")
        tap(f"{case}: the suite itself", problems)


def run_more(tool, folder, tap, jobs):
    """One call of each function of more.c, under its rule; with no tool, each must notice that."""
    listed = subprocess.run([folder / "more", "--list"], cwd=tempfile.mkdtemp(dir=folder), stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    rules = dict(line.split() for line in listed.splitlines())

    def one(name):
        work = tempfile.mkdtemp(dir=folder)
        command = tool.command(name, "failed", rules[name], [str(folder / "more"), name], folder)
        try:
            done = subprocess.run(command, cwd=work, env=environment(folder), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return name, ["hangs"]
        text = done.stdout.decode(errors="replace")
        problems = [check for check, bad in parse(text).items() if bad]
        if not re.search(r"^1\.\.\d+$", text, re.M):
            problems.append(death(done))
        return name, problems

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, problems in pool.map(one, rules):
            if tool.name == "none":
                problems = [] if problems else ["does not notice that nothing fails"]
            tap(f"{rules[name]}", problems)


# --- output -----------------------------------------------------------------------------------------------------------


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def __call__(self, name, problems):
        self.count += 1
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}")
        for problem in problems:
            print(f"# {problem}", flush=True)


def show_tap(results, wanted, tap):
    for (case, mode), result in results.items():
        wrong = list(result.wrong(wanted[case, mode]))
        problems = [f"{name.split(': ', 1)[-1]}: {why}" for name, why in wrong]
        if problems and result.command:
            problems.append(f"repeat with: {' '.join(repr(str(word)) for word in result.command)}")
        tap(f"{case} {mode}", problems)


def aspect_of(name):
    return name.split(": ")[1]


def table(tools, all_results, wanted, cases):
    """Rows of the comparison, as Markdown."""
    lines = ["| | checks | " + " | ".join(tools) + " |", "|---|--:|" + "--:|" * len(tools)]

    def row(title, chosen):
        total = sum(len(names) for names in chosen.values())
        cells = []
        for tool in tools:
            bad = sum(len([n for n, _ in all_results[tool][key].wrong(wanted[key]) if n in set(names)])
                      for key, names in chosen.items())
            cells.append(str(total - bad))
        lines.append(f"| {title} | {total} | " + " | ".join(cells) + " |")

    def of(condition):
        return {key: [n for n in names if condition(key, n)] for key, names in wanted.items()}

    families = list(dict.fromkeys(cases.values()))
    for family in families:
        row(family, of(lambda key, n, f=family: cases[key[0]] == f))
    row("**all**", of(lambda key, n: True))
    lines += ["", "| what is looked at | checks | " + " | ".join(tools) + " |", "|---|--:|" + "--:|" * len(tools)]
    for aspect in ASPECTS:
        row(aspect, of(lambda key, n, a=aspect: aspect_of(n) == a))
    row("calls that fail", of(lambda key, n: key[1] == "failed" and not key[0].endswith("-then")))
    row("calls that are made, then reported as failed", of(lambda key, n: key[0].endswith("-then")))
    row("calls that do not fail", of(lambda key, n: key[1] == "passed" and not key[0].endswith("-then")))
    said = {tool: [c for c in cases if all_results[tool][c, "failed"].trouble != "cannot be said"] for tool in tools}
    lines += ["", "Counting only the cases that a tool has words for:", "",
              "| | cases | checks | right | |", "|---|--:|--:|--:|--:|"]
    for tool in tools:
        keys = [key for key in wanted if key[0] in said[tool]]
        total = sum(len(wanted[key]) for key in keys)
        bad = sum(len(list(all_results[tool][key].wrong(wanted[key]))) for key in keys)
        share = 100 * (total - bad) / max(total, 1)
        lines.append(f"| {tool} | {len(said[tool])} | {total} | {total - bad} | {share:.1f}% |")
    return lines


def reasons(tool, results, wanted):
    """What is wrong, the most frequent first, with the cases."""
    groups = defaultdict(list)
    for key, result in results.items():
        for name, why in result.wrong(wanted[key]):
            text = why if why != "not so" else name.split(": ", 1)[1]
            groups[text].append(key[0])
    lines = [f"**{tool}**", ""]
    for text, where in sorted(groups.items(), key=lambda g: -len(g[1])):
        names = Counter(where)
        shown = ", ".join(f"`{n}`" for n in names)
        item = f"- {text} ({len(where)} check{'s' if len(where) > 1 else ''}): {shown}"
        lines += textwrap.wrap(item, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    if not groups:
        lines.append("- nothing")
    return lines + [""]


def write_document(path, lines):
    begin, end = "<!-- begin: ./dev conformance -->", "<!-- end -->"
    text = Path(path).read_text()
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    Path(path).write_text(before + begin + "\n" + "\n".join(lines).rstrip() + "\n" + end + after)


def main():
    parser = argparse.ArgumentParser(description="the conformance suite, under one tool or several")
    parser.add_argument("--tool", action="append", choices=["none", "murphy", "libfiu", "strace"])
    parser.add_argument("--case", action="append")
    parser.add_argument("--murphy", default=os.environ.get("MURPHY", "build/murphy"))
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    makers = {"none": Plain, "murphy": lambda: Murphy(Path(args.murphy).resolve()), "libfiu": Libfiu, "strace": Strace}
    tools = args.tool or ["murphy", "libfiu", "strace"]

    with tempfile.TemporaryDirectory(prefix="murphy-conform.") as name:
        folder = Path(name)
        build(folder)
        faults, cases = read_faults(), list_cases(folder)
        if args.case:
            cases = {case: family for case, family in cases.items() if case in args.case}
        if set(cases) - set(faults):
            sys.exit(f"run.py: no line in faults for {set(cases) - set(faults)}")
        tap = Tap()
        if args.more:
            run_more(makers[(args.tool or ["murphy"])[0]](), folder, tap, args.jobs)
        elif tools == ["none"]:
            self_test(cases, folder, tap)
        else:
            wanted = {(c, m): wanted_checks(c, m, folder) for c in cases for m in modes_of(c)}
            all_results = {t: run_all(makers[t](), cases, faults, folder, args.jobs) for t in tools}
            if args.tap:
                for tool in tools:
                    show_tap(all_results[tool], wanted, tap)
            else:
                lines = table(tools, all_results, wanted, cases) + ["", "What is wrong:", ""]
                for tool in tools:
                    lines += reasons(tool, all_results[tool], wanted)
                print("\n".join(lines))
                if args.write:
                    write_document(args.write, lines)
        if args.tap or args.more or tools == ["none"]:
            print(f"1..{tap.count}")
        sys.exit(tap.failed > 0)


if __name__ == "__main__":
    # What the suite is started from may ignore signals, as nohup does; programs inherit that.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    main()
