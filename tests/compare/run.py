#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what two builds of murphy say about programs of Debian: test, check, profile and run.

  run.py [OPTION...] OLD NEW [NAME...]

OLD and NEW are binaries, each with its libmurphy-rt.so beside it. Whatever differs is made again with both, twice: where
one of them differs from itself, it is chance. Exits with 1 if anything differs otherwise and `explained` has no reason,
or if nothing was compared, since no call was made to fail.

Everything is kept in build/compare; results of OLD are taken from there if binary, runtime, data and command are the
same, those of NEW with --again only."""

import argparse
import collections
import fcntl
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import campaign
import programs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KINDS = ("test", "check", "profile", "run")
FORMATS = ("text", "json", "sarif")
REPEATS = 2
# So many more where there is chance, or where it takes few seconds: what came out alike three times may do otherwise
# the fourth.
MORE = 4
FEW = 3
LIMIT = 600  # seconds for one run of murphy
SHOWN = 12  # differences of one comparison that are printed; all of them are in a file

# --- what is run ------------------------------------------------------------------------------------------------------


class Side:
    """One of the two builds: where it is, and where its results are kept."""

    def __init__(self, name, binary, data, where):
        self.name, self.binary = name, pathlib.Path(binary).resolve()
        self.runtime = self.binary.parent / "libmurphy-rt.so"
        near = self.binary.parent.parent
        self.data = next((pathlib.Path(d) for d in (data, near / "data", near / "share" / "murphy")
                          if d and pathlib.Path(d).is_dir()), None)
        for path in (self.binary, self.runtime):
            if not path.is_file():
                sys.exit(f"compare: {path}: no such file")
        if not self.data:
            sys.exit(f"compare: no data beside {binary} (name the folder with --{name}-data)")
        self.kept = where / name / self.hash()
        # Both have a cache of their own, at paths of the same length.
        self.cache = where / f"cache-{name}"

    def hash(self):
        digest = hashlib.sha256()
        for path in (self.binary, self.runtime, *sorted(p for p in self.data.rglob("*") if p.is_file())):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]

    def environment(self, folder, cache):
        return {**programs.environment(folder), "MURPHY_DATA": str(self.data.resolve()),
                "MURPHY_RUNTIME": str(self.runtime), "XDG_CACHE_HOME": str(cache)}


class What:
    """One thing to compare: a command of murphy, for a program."""

    def __init__(self, kind, label, words, name, command=(), fresh=False, report=False, log=False):
        self.kind, self.label, self.words, self.name, self.command = kind, label, words, name, command
        self.fresh, self.report, self.log = fresh, report, log

    def file_name(self):
        return f"{self.name}." + re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")


def list_tests(name, program, options):
    scope = [word for module in program.scope for word in ("--from", module)]
    given = ["--input", program.given] if program.given else []
    words = ["test", "--format=json", "--budget", program.budget or options.budget, *scope, *given]
    ways = [(f"test --jobs {n}", ["--jobs", n]) for n in options.jobs.split(",")]
    if name in programs.PAIRS:
        ways.append(("test --depth 2", ["--jobs", "1", "--depth", "2"]))
    for label, more in ways:
        yield What("test", label, words + more, name, program.command, report=True)


def list_whats(name, options, folder):
    program = programs.PROGRAMS[name]
    path = programs.path_of(program, folder)
    # The first fills the cache that the others use.
    yield What("profile", "profile", ["profile", "--for", path, "--format=json"], name, fresh=True)
    for form in FORMATS:
        yield What("check", f"check {form}", ["check", f"--format={form}", path], name)
    yield What("check", "check --all", ["check", "--all", "--recovery", path], name)
    follow = ["--follow"] if name in programs.FOLLOWED else []
    for rule in program.rules:
        yield What("run", f"run {rule}", ["run", *follow, "--fail", rule], name, program.command, log=True)
    yield from list_tests(name, program, options)


def make(side, what, work, number):
    """Runs it in a folder that is made anew, and keeps what came of it."""
    folder, aside, cache = work / "folder", work / "aside", side.cache
    programs.make_files(folder)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    if what.fresh:
        cache = aside / "cache"
        cache.mkdir()
    words = [str(side.binary), *what.words]
    words += ["--campaign", str(aside / "campaign")] if what.report else []
    words += ["--log", str(aside / "log")] if what.log else []
    words += ["--", *what.command] if what.command else []
    env = side.environment(folder, cache)
    given = programs.PROGRAMS[what.name].given
    begun = time.monotonic()
    # murphy run hands its standard input on.
    with open(folder / given if given and what.log else os.devnull, "rb") as stdin:
        done = run(words, folder, env, stdin)
    seconds = time.monotonic() - begun
    result = dict(zip(("status", "stdout", "stderr"), done), seconds=seconds)
    if what.report:
        result["report"] = run([str(side.binary), "report", "--campaign", str(aside / "campaign")], folder, env)[1]
    if what.log:
        result["log"] = (aside / "log").read_text(errors="replace") if (aside / "log").exists() else ""
    keep(side, what, number, result, aside / "campaign" / "campaign.db")
    return result


def run(words, folder, env, stdin=None):
    with subprocess.Popen(words, cwd=folder, env=env, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
            return "took too long", *(text.decode(errors="replace") for text in (out, err))
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


# --- what is kept -----------------------------------------------------------------------------------------------------


def kept_path(side, what, number):
    return side.kept / f"{what.file_name()}.{number}"


def identity(what, work):
    words = repr((what.words, programs.identity(what.name, work / "folder")))
    return hashlib.sha256(words.encode()).hexdigest()


def keep(side, what, number, result, database):
    path = kept_path(side, what, number)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    result["identity"] = what.identity
    if database.exists():
        shutil.copy(database, path / "campaign.db")
    with gzip.open(path / "result.gz", "wt", compresslevel=3) as f:
        json.dump(result, f)


def load(side, what, number):
    """None if there is no result, or one of another command."""
    path = kept_path(side, what, number) / "result.gz"
    if not path.exists():
        return None
    with gzip.open(path, "rt") as f:
        result = json.load(f)
    return result if result["identity"] == what.identity else None


# --- what of it is compared -------------------------------------------------------------------------------------------
# A result is taken apart into items: a name → a text, so that chance in one of them hides nothing of the others.


class Items(dict):
    def add(self, name, value="1"):
        """Items of the same name are one, with all their values."""
        self[name] = "\n".join(sorted([*self[name].split("\n"), value])) if name in self else value

    def add_lines(self, kind, lines):
        for line, n in collections.Counter(lines).items():
            self[f"{kind}: {line}"] = f"{n} times" if n > 1 else "1"
        self[f"{kind}, order"] = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


# Lists of records in JSON; each record is an item.
RECORDS = ("libraries", "functions", "sites", "runs", "results", "rules", "findings")


def flatten(value, path=""):
    """JSON as lines, one for each record and each field around them."""
    if isinstance(value, dict) and any(key in value for key in RECORDS):
        name = f"{path}{value.get('name', '')}"
        for key, part in value.items():
            if key in RECORDS and isinstance(part, list):
                for record in part:
                    yield from flatten(record, f"{name} {key} ")
            else:
                yield from flatten(part, f"{name} {key} ")
    else:
        yield (path + json.dumps(value, sort_keys=True)).strip()


def items_of_output(result):
    """Byte for byte; only for differences it matters where a record begins."""
    items = Items(status=str(result["status"]), bytes=hashlib.sha256(result["stdout"].encode()).hexdigest()[:16])
    text = result["stdout"]
    lines = flatten(json.loads(text)) if text.startswith("{") else text.splitlines()
    items.add_lines("output", list(lines))
    items.add_lines("error", result["stderr"].splitlines())
    return items


def without(value, *names):
    return {k: v for k, v in value.items() if k not in names}


def mask_event(event):
    """Addresses are drawn anew in each run."""
    args = [a if abs(a) < 1 << 32 else "pointer" for a in event.get("args", [])]
    return {**without(event, "time", "pid", "tid", "seq"), "args": args}


def items_of_run(result):
    items = Items(status=str(result["status"]))
    items.add_lines("output", result["stdout"].splitlines())
    items.add_lines("error", mask_numbers(result["stderr"]).splitlines())
    counts = collections.Counter()
    for line in result["log"].splitlines():
        event = json.loads(line)
        # Which of two processes is the first is chance.
        process = event.get("process")
        counts[process] += 1
        items[f"log of process {process}, line {counts[process]}"] = json.dumps(mask_event(event), sort_keys=True)
    return items


def mask_numbers(text):
    """Process numbers, addresses and names that were drawn, in messages."""
    text = re.sub(programs.DRAWN, r"\1…", text)
    return re.sub(r"0x[0-9a-f]{8,}", "0x…", re.sub(r"\b(pid|process) \d+", r"\1 …", text))


def mask_report(text):
    """Times and what depends on them: progress, which mode was the fastest, where a hang was ended."""
    text = re.sub(r"^(modes: .*|murphy: .*, \d+ s( left)?)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"(^ +where it hangs:\n)(      .*\n)*", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"\b\d+(\.\d+)? s\b", "… s", text)
    return mask_found(text)


def mask_found(text):
    """Findings have numbers in the order in which they were found, which depends on what came out sooner."""
    text = re.sub(r"\b(finding|replay) \d+", r"\1 …", re.sub(programs.DRAWN, r"\1…", text))
    return re.sub(r"/findings/\d+/", "/findings/…/", text)


def name_of_fault(fault, by_site):
    often = f"{fault.nth}" + (" and later" if fault.persistent else "")
    act = f", {fault.act}" if fault.act else ""
    return (f"{fault.function} at {fault.site}" + ("" if by_site else f" stack {fault.place}") +
            f" time {often} returns {fault.retval} errno {fault.errno}{act}")


def add_campaign(items, database, by_site):
    points, experiments = campaign.read_campaign(database)
    for p in points:
        items.add(f"point {p.function} at {p.site}" + ("" if by_site else f" stack {p.place}"),
                  f"{p.count} times, in {p.inside}, verdict {p.verdict}")
    for e in experiments:
        items.add("experiment " + ", then ".join(name_of_fault(f, by_site) for f in e.faults), mask_found(e.result))


def add_findings(items, findings):
    for f in findings:
        fault, site = f["fault"], f["site"]
        place = f"{site['file']}:{site['line']}" if site.get("file") else f"{site['module']}+{site['offset']}"
        name = f"finding {f['kind']} {fault['function']} {fault['errno']} {place}"
        items.add(name, f"{f['count']} experiments")
        volatile = ("id", "count", "crash_stack") if f["kind"] == "hang" else ("id", "count")
        items.add(f"JSON of {name}", mask_found(json.dumps(without(f, *volatile), sort_keys=True)))


def items_of_test(result, database, by_site=False):
    items = Items(status=str(result["status"]))
    items.add_lines("error", mask_report(result["stderr"]).splitlines())
    items.add_lines("report", mask_report(result["report"]).splitlines())
    if database.exists():
        add_campaign(items, database, by_site)
    if result["stdout"].startswith("{"):
        said = json.loads(result["stdout"])
        said["baseline"] = without(said["baseline"], "seconds", "memory")
        add_findings(items, said.pop("findings"))
        for key, value in without(said, "seconds", "modes").items():
            items[f"JSON {key}"] = json.dumps(value, sort_keys=True)
    return items


def items_of(side, what, number, result, by_site=False):
    if what.kind == "test":
        return items_of_test(result, kept_path(side, what, number) / "campaign.db", by_site)
    return items_of_run(result) if what.kind == "run" else items_of_output(result)


def is_empty(what, items):
    """Nothing was made to fail, so that nothing was compared."""
    wanted = {"test": "experiment ", "run": "log "}.get(what.kind, "output: ")
    return not any(name.startswith(wanted) for name in items)


# --- the comparison ---------------------------------------------------------------------------------------------------

Difference = collections.namedtuple("Difference", "item old new chance")


def judge(old, new):
    """OLD and NEW: the items of each run. The differences; by chance where one of the two differs from itself."""
    found = []
    for item in sorted({name for items in (*old, *new) for name in items}):
        a, b = [items.get(item) for items in old], [items.get(item) for items in new]
        if len(set(a + b)) > 1:
            found.append(Difference(item, a, b, len(set(a)) > 1 or len(set(b)) > 1))
    orders = [d for d in found if d.item.endswith(", order") or d.item == "bytes"]
    # Other lines are in another order, too: it says something only where the lines are the same.
    return [d for d in found if d not in orders or not has_lines(d.item, found)]


def has_lines(order, found):
    kind = "output" if order == "bytes" else order.removesuffix(", order")
    return any(d.item.startswith(f"{kind}: ") for d in found) or order == "bytes" and any(
        d.item == "output, order" for d in found)


def names_of_points(items):
    return {name for name in items if name.startswith("point ")}


class Comparison:
    """Of one thing: results of both sides, as many of each as it takes."""

    def __init__(self, what, old, new, work, again):
        self.what, self.sides, self.work, self.again = what, (old, new), work, again
        self.results, self.by_site = {old: [], new: []}, False
        self.get_another()
        first = [self.items(side)[0] for side in self.sides]
        self.empty = is_empty(what, first[0])
        self.differences = judge(first[:1], first[1:])
        if self.differences and what.kind == "test":
            points = [names_of_points(items) for items in first]
            self.by_site = all(points) and not points[0] & points[1]
        self.repeat()
        if self.by_site:
            self.differences.append(Difference("stack hashes", ["others"], ["others"], False))

    def repeat(self):
        for number in range(REPEATS + MORE if self.differences else 0):
            self.get_another()
            if number + 1 >= REPEATS:
                self.differences = judge(*(self.items(side) for side in self.sides))
                chance = [d.chance for d in self.differences]
                if all(chance) or not any(chance) and max(self.seconds()) > FEW:
                    break

    def get_another(self):
        for side in self.sides:
            number = len(self.results[side]) + 1
            kept = load(side, self.what, number) if side is self.sides[0] or self.again else None
            self.results[side].append(kept or make(side, self.what, self.work, number))

    def items(self, side):
        return [items_of(side, self.what, number, result, self.by_site)
                for number, result in enumerate(self.results[side], 1)]

    def seconds(self):
        return [self.results[side][0]["seconds"] for side in self.sides]

    def modes(self):
        """How experiments were made; this depends on time, and is told only."""
        said = [self.results[side][0]["stdout"] for side in self.sides]
        if self.what.kind != "test" or not all(text.startswith("{") for text in said):
            return ""
        counts = [json.loads(text)["modes"] for text in said]
        return " ".join("/".join(str(c[m]) for m in ("exec", "fork", "branch")) for c in counts)


# --- explained differences --------------------------------------------------------------------------------------------


class Explained:
    """Lines of program, what, item and reason with tabs between; * stands for anything."""

    def __init__(self, path):
        self.rows = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = line.split("\t")
            if len(parts) != 4 or not parts[3].strip():
                sys.exit(f"compare: {path}:{number}: not program, what, item and reason with tabs between")
            patterns = [re.compile(re.escape(p).replace(r"\*", ".*"), re.DOTALL) for p in parts[:3]]
            self.rows.append([patterns, line, parts[3], 0])

    def reason(self, what, difference):
        for row in self.rows:
            if all(p.fullmatch(s) for p, s in zip(row[0], (what.name, what.label, difference.item))):
                row[3] += 1
                return row[2]
        return None

    def unused(self):
        return [row[1] for row in self.rows if not row[3]]


# --- the report -------------------------------------------------------------------------------------------------------


def show(values, skip):
    """The value of each run; that of the first, if it never was another. SKIP: how much is the same on both sides."""
    texts = ["(none)" if v is None else ("…" if skip else "") + v[skip:].replace("\n", " / ") for v in values]
    return texts[0] if len(set(texts)) == 1 else " | ".join(texts)


def describe(difference, reason):
    word = "by chance" if difference.chance else "explained" if reason else "DIFFERS"
    known = [v for v in difference.old + difference.new if v is not None]
    skip = max(0, len(os.path.commonprefix(known)) - 60) if len(known) > 1 else 0
    lines = [f"  {word}: {difference.item}", f"    old: {show(difference.old, skip)}",
             f"    new: {show(difference.new, skip)}"]
    return "\n".join(lines + ([f"    {reason}"] if reason and not difference.chance else []))


def is_line(difference):
    """A line of text that was drawn is another item each time."""
    return difference.item.startswith(("report", "error", "output"))


# What depends on which experiment of a finding comes out first.
OF_FINDINGS = ("finding ", "JSON of finding ", "report")


def reason_of_chance(what, differences):
    known = programs.CHANCE.get(what.name)
    at_once = what.label.startswith("test --jobs") and not what.label.endswith(" 1")
    if not known and at_once and all(d.item.startswith(OF_FINDINGS) for d in differences):
        known = "of several experiments at once, another was the first of its finding"
    return known or "no reason is known"


class Report:
    def __init__(self, where, explained):
        self.explained, self.counts = explained, collections.Counter()
        self.details = open(where / "differences", "w", encoding="utf-8")
        self.seconds = [0.0, 0.0]

    def add(self, comparison):
        what, told = comparison.what, []
        words = collections.Counter()
        for d in comparison.differences:
            reason = None if d.chance else self.explained.reason(what, d)
            words["by chance" if d.chance else "explained" if reason else "differs"] += 1
            self.counts["only new varies"] += d.chance and len(set(d.old)) == 1 and not is_line(d)
            self.counts["only old varies"] += d.chance and len(set(d.new)) == 1 and not is_line(d)
            told.append(describe(d, reason))
        verdict = next((w for w in ("differs", "explained", "by chance") if words[w]), "same")
        if comparison.empty:
            verdict = "empty"
        self.counts[verdict] += 1
        old, new = comparison.seconds()
        self.seconds = [self.seconds[0] + old, self.seconds[1] + new]
        items = ", ".join(f"{n} {w}" for w, n in words.items())
        if words["by chance"]:
            items += f" ({reason_of_chance(what, [d for d in comparison.differences if d.chance])})"
        print(f"{what.name:10} {what.label:40} {verdict:10} {old:6.1f} {new:6.1f}  {comparison.modes()}"
              f"{'  ' if items else ''}{items}".rstrip(), flush=True)
        self.details.write("".join(f"{what.name}: {what.label}\n" * bool(told)) + "".join(t + "\n" for t in told))
        self.details.flush()
        if words["differs"]:
            shown = [t for t in told if t.startswith("  DIFFERS")]
            print("\n".join(shown[:SHOWN]))
            if len(shown) > SHOWN:
                print(f"  … {len(shown) - SHOWN} more: {self.details.name}")

    def finish(self, names, seconds):
        c = self.counts
        print(f"{names} programs, {sum(c[w] for w in ('same', 'by chance', 'explained', 'differs', 'empty'))} "
              f"comparisons: {c['same']} same, {c['by chance']} by chance, {c['explained']} explained, "
              f"{c['differs']} differ, {c['empty']} empty; {seconds:.0f} s "
              f"(old {self.seconds[0]:.0f} s, new {self.seconds[1]:.0f} s)")
        if c["by chance"]:
            print(f"by chance: {c['only old varies']} items vary with the old one only, {c['only new varies']} with the "
                  f"new one only")
        print(f"details: {self.details.name}")
        for line in self.explained.unused():
            print(f"explained, but no such difference: {line}")
        return 1 if c["differs"] or c["empty"] else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(programs.PROGRAMS))
    parser.add_argument("--old-data", metavar="DIR", help="data of OLD, if they are not in ../data beside it")
    parser.add_argument("--new-data", metavar="DIR", help="data of NEW")
    parser.add_argument("--only", metavar="LIST", default=",".join(KINDS), help="of test, check, profile, run")
    parser.add_argument("--jobs", metavar="LIST", default="1,2", help="of murphy test; each is compared (1,2)")
    parser.add_argument("--budget", default="4000runs", help="of murphy test (4000runs)")
    parser.add_argument("--again", action="store_true", help="take results of NEW that are kept, too")
    parser.add_argument("--accept", metavar="FILE", default=HERE / "explained", type=pathlib.Path,
                        help="explained differences: program, what, item, reason; tabs between, * for anything")
    options = parser.parse_intermixed_args()
    for word, known in ((options.only.split(","), KINDS), (options.names, programs.PROGRAMS)):
        for unknown in set(word) - set(known):
            parser.error(f"{unknown}: there is {', '.join(known)}")
    return options


def main():
    options = parse()
    where = ROOT / "build" / "compare"
    work = where / "work"
    work.mkdir(parents=True, exist_ok=True)
    # The folder's path is in what programs say, so there is one for all.
    lock = open(where / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("compare: another comparison runs in build/compare")
    old = Side("old", options.old, options.old_data, where)
    new = Side("new", options.new, options.new_data, where)
    for side in (old, new):
        shutil.rmtree(side.cache, ignore_errors=True)
        side.cache.mkdir()
    report, begun = Report(where, Explained(options.accept)), time.monotonic()
    names = options.names or list(programs.PROGRAMS)
    print(f"{'program':10} {'what':40} {'':10} {'old s':>6} {'new s':>6}  exec/fork/branch")
    for name in names:
        for what in list_whats(name, options, work / "folder"):
            if what.kind in options.only.split(","):
                what.identity = identity(what, work)
                report.add(Comparison(what, old, new, work, options.again))
    return report.finish(len(names), time.monotonic() - begun)


if __name__ == "__main__":
    sys.exit(main())
