#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every experiment of many programs in the fast modes and by exec: what could be seen of them must be the same.

run.py [--tap] [--most N] [--minutes M] [--jobs J] [--function F] [--pairs] [--write FILE] [NAME...]: all programs, or
those named, and only failures of F if it is given; or pairs of faults. With --tap as a test, else as a table, which
FILE has too, of this run and no other. Every experiment of a program is made, or N of them, or as many as LARGE has for
it; after M minutes no other program is begun, and J are compared at a time. Needs MURPHY_BUILD.

Where nothing but the limits of runs differs, on a machine that does much else, a program is compared again; if that does
not help it was not compared, and a test is skipped.

Exit status: 0 all are equal, 1 some differ, were once different without a reason why they may, could not be compared,
or are in FILE without an explanation.
"""
import argparse
import collections
import concurrent.futures
import datetime
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MURPHY_BUILD", f"{ROOT}/build")

# When a commit is made, which it has in it.
DATES = {"GIT_AUTHOR_DATE": "2020-01-01 00:00", "GIT_COMMITTER_DATE": "2020-01-01 00:00"}
GIT = """git init -q .; git config user.name x; git config user.email x@y; git config core.fsync none
seq 9 > a; git add a; git commit -qm one; seq 8 > b; git add b; git commit -qm two"""
PDF = """printf '%%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj trailer<</Root 1 0 R>>\n' > a.pdf"""

HEAD = """# Is a fast run the same as a slow one?

Written by `./dev equivalence{options}`, in one run that ended on {day} and took {minutes} minutes, with a load of
{load} on {processors} processors at its end. Nothing in it was left out or taken from another run.

Every experiment (a failure of one call) is made by exec, which is the truth, and by the fork server or a branch; exit
status, output, files and the call that failed are compared. Where they are not the same, exec is asked twelve times
more. If it always does the same, so is the fast mode, three times: if all of these are like exec it was *once
different*, else it *differs*. What exec does not always do is tried again where nothing is chance: addresses are not
random, random numbers are always the same ones, temporary files are numbered, and the time of day goes on with each
look at it (tests/equivalence/steady.c). What is the same by exec and in the fast mode then was different *by chance*;
where exec is not always the same even then it *does not repeat* and tells nothing; otherwise it *differs*. So is what
exec always does judged for {drawn}, of which it is known that chance seldom comes to anything else. What a branch
cannot be made for is *left to others*, with the reason that was given last. {limits}

A server that is sent requests is not among them: who sends them is another process, so that there are no branches, and
a port that was used is not free in the next run, so that the fork server is given up for a new network and each run
begins with exec, as can be seen of the program port.
"""

# Why a fast mode may be once different from an exec that repeats. Sources of our own say it: "once different: WHY."
ONCE = {
    "fdfind": "threads run, and ask for memory in an order that is chance",
    "rsync": "how much comes through a pipe at once is chance",
    "perl": "the order of hashes is random, and with it how often memory is asked for",
    "child_ignored": "where waitpid fails the child is not waited for, and how far it came is chance",
    "pipe_length": "where waitpid fails the child is not waited for, and how far it came is chance",
}

# Of these chance may come to the same each time that exec is asked, as the remarks below and sources of our own say.
DRAWN = ("cc1",)

# Why experiments of a program differ or do not repeat, as what differs shows and its source says.
REMARKS = {
    "sed": "the name of the temporary file, which is random, is in the messages of a rename, close or write that failed"
           ". (A failed fstat is not looked at, and what it did not fill in is on the stack; that repeats.)",
    "patch": "the name of the temporary file is random, and in the messages",
    "zip": "the temporary file stays where a rename fails, and its name is random",
    "git status": "the index that it writes has times and numbers of devices, which are others in each sandbox",
    "python3": "the message of a fatal error has the address of the thread",
    "perl": "the order of hashes is random in each run, from /dev/urandom, and with it how often memory is asked for "
            "(realloc 83 to 85 times in 40 runs without murphy, always 85 with one PERL_HASH_SEED)",
    "rg": "hash tables are gone through in an order that is drawn with getrandom, and so is memory asked for; where "
          "getrandom always draws the same, all 2,838 are equal in branches",
    "cc1": "the message has addresses, and how large the heap is, which depends on where it begins, as do tables that "
           "are sorted by address. All children of one fork server have one of these places, which exec comes upon in "
           "some runs",
    "drawn": "memory is asked for as getrandom draws",
    "placed": "memory is asked for as the place of the heap has it",
    "lighttpd": "its messages have the time of day",
    "fdfind": "threads run, and ask for memory in an order that is chance",
    "rsync": "the name of the temporary file is random, how much comes through a pipe at once is chance, and so is which of its processes says why it ends before another one ends it",
    "git commit": "temporary files have random names, and the index has times and numbers of devices",
    "sqlite3 wal": "the log that stays has a random number at its beginning",
    "pids": "where waitpid fails the child is not waited for, and its output comes when it comes",
    "gcc": "the programs that it starts have temporary files with random names",
}

# Name → a command, and what is in its folder before; a file of this name is what the command reads.
INPUT = "stdin"
DEBIAN = {
    "ls": (["ls", "-l", "tree"], "mkdir tree; for i in $(seq 40); do mkdir tree/$i; ln -s $i tree/link$i; done"),
    "sort": (["sort", "-r", "lines"], "seq 2000 | shuf --random-source=/bin/ls > lines"),
    "sort -o": (["sort", "-o", "sorted", "lines"], "seq 500 > lines"),
    "gzip": (["gzip", "-k", "lines"], "seq 20000 > lines"),
    "tar": (["tar", "cf", "all.tar", "tree"], "mkdir -p tree/a/b; for i in 1 2 3; do seq $i > tree/a/b/$i; done"),
    "git status": (["git", "status"], "git init -q .; seq 9 > a; git add a; seq 8 > b"),
    "make": (["make", "-s"], "printf 'all: x\\nx: y\\n\\tcp y x\\n' > Makefile; echo > y"),
    "sqlite3": (["sqlite3", "new.db", "create table t(a, b); insert into t values (1, 2); select * from t;"], ""),
    "sqlite3 old": (["sqlite3", "old.db", "insert into t values (3, 4); delete from t where a = 1;"],
                    "sqlite3 old.db 'create table t(a, b); insert into t values (1, 2);'"),
    "cp": (["cp", "-r", "tree", "copy"], "mkdir tree; seq 100 > tree/a; ln -s a tree/b"),
    "grep": (["grep", "-rn", "7", "tree"], "mkdir tree; seq 100 > tree/a; seq 50 > tree/b"),
    "sed": (["sed", "-i", "s/1/one/", "lines"], "seq 100 > lines"),
    "awk": (["awk", "{s += $1} END {print s > \"sum\"}", "lines"], "seq 100 > lines"),
    "sh": (["sh", "-c", "for i in 1 2 3; do echo $i > f$i; done; cat f1 f2"], ""),
    "wc": (["wc", "lines"], "seq 1000 > lines"),
    "diff": (["diff", "-u", "a", "a"], "seq 100 > a"),
    "tac": (["tac", "lines"], "seq 1000 > lines"),
    "xz": (["xz", "-k", "lines"], "seq 2000 > lines"),
    "find": (["find", ".", "-name", "*.c"], "mkdir -p a/b; touch a/b/x.c a/y.c"),
    "mv": (["mv", "a", "b"], "seq 10 > a"),
    "rg": (["rg", "-j1", "7"], "for i in 1 2 3; do seq 100 > f$i; done"),
    "fdfind": (["fdfind", "-j1", "x"], "mkdir -p a/b; touch a/b/x.c a/y.c"),
    "lighttpd": (["lighttpd", "-tt", "-f", "conf"],
                 "printf 'server.document-root = \"/tmp\"\nserver.modules = ( \"mod_access\" )\n' > conf"),
    "xmllint": (["xmllint", "--format", "a.xml"], "echo '<a><b c=\"1\">x</b></a>' > a.xml"),
    "xsltproc": (["xsltproc", "a.xsl", "a.xml"], """echo '<a><b>x</b></a>' > a.xml
echo '<s:stylesheet version="1.0" xmlns:s="http://www.w3.org/1999/XSL/Transform"><s:output method="text"/></s:stylesheet>' \
> a.xsl"""),
    "python3": (["/usr/bin/python3", "-S", "-c", "open('out', 'w').write('x' * 9); print(sum(map(int, open('lines'))))"],
                "seq 9 > lines"),
    "perl": (["perl", "-e", "open(F, '<', 'lines'); while (<F>) { $s += $_ } open(O, '>', 'o'); print O $s; print $s"],
             "seq 9 > lines"),
    "lua": (["lua5.4", "-e", "for l in io.lines('lines') do print(l * 2) end io.open('o', 'w'):write('x')"],
            "seq 9 > lines"),
    "gawk": (["gawk", "{s += $1} END {print s > \"sum\"; print s}", "lines"], "seq 9 > lines"),
    "vim": (["vim.tiny", "-es", "-u", "NONE", "-i", "NONE", "-c", "%s/1/one/", "-c", "wq", "lines"], "seq 9 > lines"),
    "git log": (["git", "log", "--stat"], GIT),
    "git commit": (["git", "-c", "gc.auto=0", "commit", "-qm", "two"], GIT + "; seq 7 > a; git add a"),
    "git gc": (["git", "gc", "-q"], GIT),
    "sqlite3 wal": (["sqlite3", "w.db", "pragma journal_mode=wal; create table t(a); insert into t values (1);"], ""),
    "zip": (["zip", "-q", "a.zip", "lines", "more"], "seq 99 > lines; seq 9 > more"),
    "unzip": (["unzip", "-qo", "a.zip"], "seq 99 > lines; zip -q a.zip lines; rm lines"),
    "openssl": (["openssl", "dgst", "-sha256", "-out", "sum", "lines"], "seq 99 > lines"),
    "gpg": (["gpg", "--homedir", ".", "--no-options", "--batch", "-o", "x.asc", "--enarmor", "lines"],
            "seq 9 > lines; chmod 700 ."),
    "cc1": (["/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "-quiet", "a.c", "-o", "a.s"], "echo 'int x;' > a.c"),
    "gcc": (["gcc", "-c", "a.c"], "echo 'int x;' > a.c"),
    "cmake": (["cmake", "-P", "a.cmake"], "echo 'file(WRITE out text)' > a.cmake"),
    "bash": (["bash", "--norc", "-c", "for i in 1 2 3; do echo $i > f$i; done; read x < f2; echo $x"], ""),
    "ffmpeg": (["ffmpeg", "-v", "error", "-threads", "1", "-f", "lavfi", "-i", "sine=d=0.01", "a.wav"], ""),
    "pdftotext": (["pdftotext", "a.pdf", "a.txt"], PDF),
    "my_print_defaults": (["my_print_defaults", "--defaults-file=my.cnf", "client"],
                          "printf '[client]\nuser=x\n' > my.cnf"),
    "rsync": (["rsync", "-r", "--no-whole-file", "tree/", "copy"], "mkdir tree; seq 99 > tree/a; seq 9 > tree/b"),
    "jq": (["jq", ".a", "a.json"], "echo '{\"a\": [1, 2]}' > a.json"),
    "ed": (["ed", "-s", "lines"], "seq 9 > lines"),
    "ed input": (["ed", "-s", "lines"], "seq 9 > lines; printf '3d\n1,5s/4/four/p\nw\nq\n' > stdin"),
    "bc": (["bc", "-q", "sum"], "printf '2^100\nquit\n' > sum"),
    "m4": (["m4", "in"], "echo 'define(a, b)a' > in"),
    "patch": (["patch", "-s", "a", "d"], "seq 9 > a; sed s/5/five/ a > b; diff -u a b > d || true"),
}

# Programs with thousands of experiments that take long: so many of them, from all over the plan.
LARGE = dict.fromkeys(
    ("rg", "fdfind", "python3", "perl", "vim", "git log", "git commit", "git gc", "git status", "cc1", "gcc", "cmake",
     "bash", "rsync", "lua", "gawk", "zip", "unzip", "patch", "m4"), 120)


UNEXPLAINED = "not explained"
LATE = ", where a run came to its limit"
ROUNDS = 3  # of a comparison in which runs came to their limit
NOT_COMPARED = "not compared: runs came to their limit, on a machine that did much else"
COUNTED = ("exec", "fork", "branch", "differ", "once", "chance", "unstable")


def sources():
    return sorted(glob.glob(f"{ROOT}/tests/equivalence/programs/*.c") + glob.glob(f"{ROOT}/tests/examples/*.c"))


def own_names():
    return [os.path.basename(p)[:-2] for p in sources()]


def prepare(name, folder):
    """The command to compare, in FOLDER; None if it is not there."""
    if name in DEBIAN:
        command, script = DEBIAN[name]
        if not shutil.which(command[0]):
            return None
        subprocess.run(["sh", "-ec", script], cwd=folder, check=True, env=dict(os.environ, **DATES),
                       stdout=subprocess.DEVNULL)
        return command
    source = next(p for p in sources() if os.path.basename(p) == name + ".c")
    subprocess.run(["cc", "-g", "-O1", "-w", "-o", f"{folder}/{name}", source, "-lpthread", "-lm"], check=True)
    return [f"./{name}"]


def own_words(name, pattern):
    """What the source of a program of our own says about it; None if it says nothing."""
    source = next((p for p in sources() if os.path.basename(p) == name + ".c"), None)
    if not source:
        return None
    with open(source, encoding="utf-8") as f:
        return re.search(pattern, f.read())


def may_be_once(name):
    """Why it may be once different; None if it may not."""
    words = own_words(name, r"once different: ([^.]+)[.]")
    return re.sub(r"\s*\n \* *", " ", words[1]) if words else ONCE.get(name)


def by_chance_alone(name):
    """Its source may say that all that differs from run to run is taken away with chance."""
    return bool(own_words(name, r"by chance alone"))


def unlike_chance(name, said):
    return by_chance_alone(name) and ", 0 do not repeat" not in said


def too_few_branches(name, said):
    """Its source may say how many of its experiments must be made by branches; the others cannot be."""
    wanted = own_words(name, r"by branches: (\d+) of 100")
    numbers = re.search(r"(\d+) of \d+ experiments: .* (\d+) branch", said)
    return bool(wanted and numbers) and int(numbers[2]) * 100 < int(wanted[1]) * int(numbers[1])


def unlike_its_words(name, said):
    """... or why none are made: a reason to refuse, as the last line has it."""
    wanted = own_words(name, r"refused: ([^.*]+)[.]")
    return bool(wanted) and f"({wanted[1]})" not in said.splitlines()[-1]


def compare(name, mode, arguments, folder):
    """(status, what it said)"""
    command = prepare(name, folder)
    if not command:
        return 0, "not installed"
    environment = dict(os.environ, MURPHY_DATA=f"{ROOT}/data", MURPHY_RUNTIME=f"{BUILD}/libmurphy-rt.so", LC_ALL="C",
                       **DATES)
    most = arguments.most or LARGE.get(name, 0)
    limit = ["-s", f"{BUILD}/tests/steady.so"] + (["-n", str(most)] if most else [])
    limit += ["-i", f"{folder}/{INPUT}"] if os.path.exists(f"{folder}/{INPUT}") else []
    limit += ["-b"] if mode == "branch" else []
    limit += ["-f", arguments.function] if arguments.function else []
    limit += ["-d"] if arguments.pairs else []
    limit += ["-c"] if name in DRAWN or by_chance_alone(name) else []
    done = subprocess.run([f"{BUILD}/tests/equivalence", *limit, "--", *command], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    said = done.stdout.strip()
    if mode == "branch" and too_few_branches(name, said):
        return 1, said + "\ntoo few were made by branches"
    if mode == "branch" and arguments.function and said and unlike_its_words(name, said):
        return 1, said + "\nit was not refused as its source says"
    if unlike_chance(name, said):
        return 1, said + "\nit does not repeat without chance"
    if done.returncode in (1, 3) and is_busy() and came_late(unlike(said)):
        return 1, said + "\n" + NOT_COMPARED
    if done.returncode == 3:
        if may_be_once(name):
            return 0, said
        return 1, said + "\nonce different, and nothing says why it may be"
    return done.returncode, said


def unlike(said):
    """What differed or was once different; LATE behind it if one of the two came to its limit."""
    found = re.findall(r"^((?:DIFFERS|ONCE DIFFERENT) .*?):?\n(timed out: )?", said, re.MULTILINE)
    return [line + (LATE if late else "") for line, late in found]


def is_busy():
    """Does the machine do so much else that a run may come to its limit by chance?"""
    return os.getloadavg()[0] > 2 * os.cpu_count()


def came_late(lines):
    return bool(lines) and all(line.endswith(LATE) for line in lines)


def count(said, totals):
    """Adds what the last line of a comparison says, and returns it; what branches refused was not compared."""
    found = re.search(r"(\d+) of (\d+) experiments: (\d+) exec, (\d+) fork, (\d+) branch .*; (\d+) differ, "
                      r"(\d+) once different, (\d+) by chance, (\d+) do not repeat(?: [(](.*)[)])?", said)
    if not found or said.endswith(NOT_COMPARED):
        return None
    numbers = [int(n) for n in found.groups()[:9]]
    for key, n in zip(COUNTED, numbers[2:]):
        totals[key] += n
    totals["experiments"] += sum(numbers[2:5])
    return (*numbers, found[10], unlike(said))


def explanation(name, rows):
    """Why rows of a program are as they are. That nothing differs without chance explains itself."""
    known = REMARKS.get(name) or may_be_once(name)
    if not known and not any(row[5] + row[6] + row[8] for row in rows):
        known = "without chance all is the same"
    return known or UNEXPLAINED


def explain(results):
    """For each program that was not always the same: what differed, and why."""
    lines = []
    for name in dict.fromkeys(name for name, _ in results):
        rows = [row for (n, _), row in results.items() if n == name and row and any(row[5:9])]
        if not rows:
            continue
        lines.append(f"- {name}: {explanation(name, rows)}.")
        such = collections.Counter(line for row in rows for line in row[10])
        lines += [f"  - {line}" + (f" ({n} such)" if n > 1 else "") for line, n in such.items()]
    return lines or ["Nothing."]


def summary(results, totals):
    return (f"{len(set(name for name, _ in results))} programs, {totals['experiments']} comparisons with exec: "
            f"{totals['fork']} by fork, {totals['branch']} by branch, {totals['exec']} by exec again; "
            f"{totals['differ']} differ, {totals['once']} once different, {totals['chance']} by chance, "
            f"{totals['unstable']} do not repeat")


def head(arguments, begun, absent, late):
    """What the document begins with: how its one run was made, and what is not in it."""
    limits = f"Of each program at most {arguments.most} experiments are made" if arguments.most else \
        "Of most programs all experiments are made, of those with thousands at most 120"
    limits += ", taken from all over the plan: the column says how many of how many."
    if late:
        limits += f" The time of the run was over before these were begun: {', '.join(late)}."
    if absent:
        limits += f" Not installed: {', '.join(absent)}."
    text = HEAD.format(options="".join(" " + word for word in sys.argv[1:]), processors=os.cpu_count(),
                       day=datetime.date.today(), minutes=round((time.monotonic() - begun) / 60),
                       load=round(os.getloadavg()[0]), limits=limits,
                       drawn=", ".join([*DRAWN, *filter(by_chance_alone, own_names())]))
    return "\n\n".join(textwrap.fill(part, 120) for part in text.split("\n\n")) + "\n"


def table(results, totals, start, busy):
    """The document: for each program a row for each mode. BUSY: those that the machine had no time for."""
    whole = 0
    lines = [start, "| program | mode | experiments | compared | differ | once different | by chance "
             "| do not repeat | left to others, since |", "|---|---|---|---|---|---|---|---|---|"]
    for (name, mode), row in results.items():
        if row is None:
            why = NOT_COMPARED if (name, mode) in busy else "could not be compared"
            lines.append(f"| {name} | {mode} | | | | | | | {why} |")
            continue
        chosen, planned, *made, differ, once, chance, unstable, why, _ = row
        of = f"{chosen} of {planned}" if chosen < planned else planned
        compared = made[1] + made[2]
        left = f"{chosen - compared}: {why}" if chosen > compared and why else chosen - compared or ""
        whole += chosen == planned and mode == "branch"
        lines.append(f"| {name} | {mode} | {of} | {compared} | {differ} | {once} | {chance} | {unstable} | {left} |")
    lines += ["", "What differs or does not repeat, and why:", "", *explain(results), ""]
    lines.append(f"{summary(results, totals)}. Of {whole} programs all experiments were made.")
    return "\n".join(lines) + "\n"


def in_turn(arguments):
    """(name, mode, status, what it said) for each program and mode; a status of None: the time was over before."""
    # Our own and others by turns: a run that is ended has some of both.
    every = [n for pair in itertools.zip_longest(DEBIAN, own_names()) for n in pair if n]
    end = time.monotonic() + arguments.minutes * 60 if arguments.minutes else None

    def one(what):
        if end and time.monotonic() > end:
            return *what, None, ""
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory(prefix="equivalence-") as folder:
                status, said = compare(*what, arguments, folder)
            if not said.endswith(NOT_COMPARED):
                break
        return *what, status, said

    both = [(name, mode) for name in arguments.names or every for mode in arguments.mode.split(",")]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        yield from pool.map(one, both)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--function")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--mode", default="fork,branch")
    parser.add_argument("--write", help="a document with the results")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.tap and os.environ.get("MURPHY_AGAIN"):
        print("1..0 # SKIP was run with the other compiler")
        return 0
    bad, results, absent, late, busy, begun = 0, {}, [], [], set(), time.monotonic()
    totals = dict.fromkeys(("experiments", *COUNTED), 0)
    for number, (name, mode, status, said) in enumerate(in_turn(arguments), 1):
        skipped = arguments.tap and said.endswith(NOT_COMPARED)
        bad += bool(status) and not skipped
        if said.endswith(NOT_COMPARED):
            busy.add((name, mode))
        if status is None or said == "not installed":
            (late if status is None else absent).append(f"{name} ({mode})")
        else:
            results[name, mode] = count(said, totals)
        if arguments.tap:
            if status == 2 and "namespaces" in said:
                print("1..0 # SKIP no namespaces here")
                return 0
            print("\n".join("# " + line for line in said.splitlines()))
            print(f"{'not ok' if status and not skipped else 'ok'} {number} - {name} by {mode}" +
                  (f" # SKIP {NOT_COMPARED}" if skipped else ""))
        elif status is not None:
            print(f"{name:14} {mode:6} {said if status or not said else said.splitlines()[-1]}", flush=True)
    if arguments.write:
        document = table(results, totals, head(arguments, begun, absent, late), busy)
        bad += f": {UNEXPLAINED}." in document
        with open(arguments.write, "w", encoding="utf-8") as f:
            f.write(document)
    print(f"1..{number}" if arguments.tap else summary(results, totals))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
