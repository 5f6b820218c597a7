#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""murphy test on twenty programs of Debian, each with a command that people use: what it finds in how much time, beside
the same experiments in random order. Writes docs/findings.md from the results and from what a person has written down:
`judgements`, what reading the source showed, and `notes`, what to think of the results that are there.

  run.py [--budget 60s] [--results DIR] [--write FILE] [--again] [PROGRAM...]

With --again, the results of an earlier run are used, so that new judgements need no new run."""

import argparse
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
MURPHY = os.environ.get("MURPHY", str(HERE.parent.parent / "build" / "murphy"))

# Name, package, command, standard input. Files are made by make_files.
PROGRAMS = [
    ("gzip", "gzip", ["gzip", "-kf", "text"], None),
    ("bzip2", "bzip2", ["bzip2", "-kf", "text"], None),
    ("xz", "xz-utils", ["xz", "-kf", "text"], None),
    ("zstd", "zstd", ["zstd", "-qkf", "text"], None),
    ("lz4", "lz4", ["lz4", "-qf", "text", "text.lz4"], None),
    ("tar", "tar", ["tar", "cf", "out.tar", "folder"], None),
    ("zip", "zip", ["zip", "-q", "out.zip", "text", "data.json"], None),
    ("jq", "jq", ["jq", ".rows | map(.n) | add", "data.json"], None),
    ("xmllint", "libxml2-utils", ["xmllint", "--format", "data.xml"], None),
    ("sqlite3", "sqlite3", ["sqlite3", "data.db", "insert into t values (4); select sum(n) from t"], None),
    ("lua", "lua5.4", ["lua5.4", "script.lua"], None),
    ("bc", "bc", ["bc", "-q"], "sums"),
    ("make", "make", ["make", "-s", "-f", "rules.mk"], None),
    ("git", "git", ["git", "-C", "repo", "status"], None),
    # The sandbox has a network of its own with nobody in it, so the server is a part of the command.
    ("curl", "curl", ["sh", "fetch.sh"], None),
    ("ed", "ed", ["ed", "-s", "text"], "edits"),
    ("sed", "sed", ["sed", "-i", "s/1/one/", "text"], None),
    ("gawk", "gawk", ["gawk", "{ s += $1; print s > \"sums.out\" } END { print s }", "text"], None),
    ("m4", "m4", ["m4", "macros.m4"], None),
    ("patch", "patch", ["patch", "-s", "text", "change.diff"], None),
]
# Programs that are little more than an interface to their library are tested with it.
SCOPE = {
    "bzip2": ["bzip2", "libbz2.so.1.0"],
    "xz": ["xz", "liblzma.so.5"],
    "jq": ["jq", "libjq.so.1"],
    "xmllint": ["xmllint", "libxml2.so.2"],
    "sqlite3": ["sqlite3", "libsqlite3.so.0"],
    "curl": ["curl", "libcurl.so.4"],
}
KINDS = ["crash", "abort", "hang", "silent", "sanitizer"]

FILES = {
    "text": "".join(f"{i} line number {i}\n" for i in range(1, 400)),
    "data.json": json.dumps({"rows": [{"n": i, "name": f"row {i}"} for i in range(60)]}),
    "data.xml": "<a>" + "".join(f"<b n='{i}'>text {i}</b>" for i in range(60)) + "</a>\n",
    "script.lua": "local f = assert(io.open('lua.out', 'w'))\nfor i = 1, 50 do f:write(i * i, '\\n') end\n"
    "assert(f:close())\nfor l in io.lines('lua.out') do io.write(l, ' ') end\nprint(os.getenv('HOME') ~= nil)\n",
    "sums": "scale=20\n1/7\nfor (i = 0; i < 20; i++) i^i\nquit\n",
    "rules.mk": "all: one two\n\tcat one two > all.out\none: text\n\thead -n 3 text > one\ntwo: text\n\ttail -n 3 text > two\n",
    "edits": "/number 7/s/line/LINE/p\n$a\none more\n.\nw\nq\n",
    "macros.m4": "define(`square', `eval($1 * $1)')dnl\nsquare(7) square(8)\ninclude(`text')dnl\n",
    # Sends back what it was sent.
    "serve.pl": "use IO::Socket::INET;\nmy $s = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', LocalPort => 8080) "
    "or die;\nexit 0 if fork;\nalarm 10;\nwhile (my $c = $s->accept) {\n  my ($n, $got) = (0, '');\n"
    "  while (<$c>) { $n = $1 if /^content-length: (\\d+)/i; last if /^\\r?\\n$/ }\n  read $c, $got, $n;\n"
    '  print $c "HTTP/1.1 200 OK\\r\\nContent-Length: ", length($got), "\\r\\nConnection: close\\r\\n\\r\\n$got";\n'
    "  close $c;\n}\n",
    "fetch.sh": "perl serve.pl && curl -sS -o page --data-binary @text http://127.0.0.1:8080/\n",
    "change.diff": "--- text\n+++ text\n@@ -1,3 +1,3 @@\n 1 line number 1\n-2 line number 2\n+two\n 3 line number 3\n",
}


def make_files(folder):
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (folder / "folder").mkdir()
    for i in range(5):
        (folder / "folder" / f"file{i}").write_text(FILES["text"])
    (folder / "repo").mkdir()
    git = ["git", "-C", str(folder / "repo"), "-c", "user.name=a", "-c", "user.email=a@b"]
    tracked = folder / "repo" / "tracked"
    tracked.write_text("one\n")
    # What was changed in the second in which the index was written makes git write it again, or not.
    os.utime(tracked, (1000000000, 1000000000))
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(git + words, check=True)
    tracked.write_text("two, and more\n")
    os.utime(tracked, (1100000000, 1100000000))
    (folder / "repo" / "new").write_text("new\n")
    subprocess.run(["sqlite3", "data.db", "create table t(n); insert into t values (1),(2),(3)"], cwd=folder, check=True)


def version_of(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return done.stdout or "?"


def found_after(database):
    """For each finding, how many experiments were made when it was found; the least first."""
    if not database.exists():
        return []
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT min(id) FROM experiment WHERE finding IS NOT NULL GROUP BY finding")
        return sorted(row[0] for row in rows)


def test(name, command, given, order, budget, where):
    """One campaign, in a fresh folder; the JSON that murphy prints, or the message with which it refuses."""
    with tempfile.TemporaryDirectory(prefix="murphy-findings-") as folder:
        folder = pathlib.Path(folder)
        make_files(folder)
        words = [MURPHY, "test", "--format=json", "--budget", budget, "--order", order]
        words += ["--campaign", str(folder / ".campaign")]
        words += ["--input", given] if given else []
        words += [word for module in SCOPE.get(name, []) for word in ("--from", module)]
        env = dict(os.environ, HOME=str(folder), LC_ALL="C", GIT_CONFIG_NOSYSTEM="1")
        done = subprocess.run(words + ["--"] + command, cwd=folder, env=env, capture_output=True, text=True)
        result = json.loads(done.stdout) if done.returncode in (0, 1) else {"refused": done.stderr.strip()}
        result["found_after"] = found_after(folder / ".campaign" / "campaign.db")
    result["budget"] = budget
    (where / f"{name}.{order}.json").write_text(json.dumps(result, indent=1))
    return result


# --- the document -----------------------------------------------------------------------------------------------------


def frame(f):
    name = f.get("symbol") or f.get("function") or f.get("function_in")
    place = f"{f['file']}:{f['line']}" if f.get("file") else f"{f.get('module')}+{f.get('offset')}"
    return f"{name} ({place})" if name else place


def stack(frames, most=5):
    kept = [frame(f) for f in frames]
    return " ← ".join(kept[:most]) + (" …" if len(kept) > most else "") if kept else "–"


def read_judgements():
    """(program, kind, function, words of the site's frame) → (verdict, why). Tabs between; the first that fits counts."""
    rows = []
    for line in (HERE / "judgements").read_text().splitlines():
        if line and not line.startswith("#"):
            rows.append(line.split("\t"))
    return rows


def judge(rows, program, finding):
    text = json.dumps(finding.get("inject_stack", [])) + json.dumps(finding.get("site", {}))
    for name, kind, function, words, verdict, why in rows:
        if name == program and kind == finding["kind"] and function == finding["fault"]["function"] and words in text:
            return verdict, why
    return "not read", ""


def count(result):
    found = [f["kind"] for f in result.get("findings", [])]
    return " ".join(f"{found.count(k)} {k}" for k in KINDS if found.count(k)) or "none"


def after(result):
    """How many experiments it took to the first finding and to the last."""
    found = result.get("found_after", [])
    return "–" if not found else f"{found[0]}" if len(found) == 1 else f"{found[0]}, {found[-1]}"


def made(result):
    left = result["planned"] - result["experiments"]
    return f"{result['experiments']}" + (f" of {result['planned']}" if left else "")


def is_whole(result):
    """Were all experiments made, but for some where it is known to hang?"""
    return result["planned"] - result["experiments"] <= result["planned"] / 100


def expected_first(result):
    """When the first failure comes in random order, on average over all orders: K of N experiments lead to findings."""
    return (result["experiments"] + 1) / (sum(f["count"] for f in result["findings"]) + 1)


def compare_orders(results):
    """What the order is good for, in numbers."""
    found = [(n, r) for n, r in results if r["best"].get("found_after") and r["random"].get("found_after")]
    whole = [r for _, r in found if is_whole(r["best"])]
    cut = [(n, r) for n, r in found if not is_whole(r["best"])]
    first = [(r["best"]["found_after"][0], r["random"]["found_after"][0], expected_first(r["best"])) for r in whole]
    last = [(r["best"]["found_after"][-1], r["random"]["found_after"][-1]) for r in whole]
    ended = "; ".join(f"{n} {after(r['best'])} against {after(r['random'])}" for n, r in cut)
    return {
        "programs": len(whole),
        "sooner": sum(a < e for a, _, e in first),
        "first": sum(a for a, _, _ in first),
        "first_random": sum(b for _, b, _ in first),
        "first_expected": round(sum(e for _, _, e in first)),
        "last": sum(a for a, _ in last),
        "last_random": sum(b for _, b in last),
        "cut": f" Where the budget ended first: {ended}." if ended else "",
    }


INTRODUCTION = """Made by `./dev findings` (tests/findings/run.py), in one run: twenty programs, each with one command, `murphy test` \
with a budget of {budget}, and beside it the same experiments in random order with the same budget. Programs are those of \
Debian 12, without debug information, so that places are addresses and nearest symbols. Programs that leave their work to \
a library are tested with it: {libraries}. The machine has two processors, which others used at the same time.

{findings} findings: {bugs} held to be bugs ({distinct} different ones), {others} not, {unread} not read; {random} findings in \
random order. A verdict is what reading the source of the package showed (tests/findings/judgements).

*Found after* is how many experiments were made when the first and the last finding came. Over the {programs} programs with \
findings whose experiments were all made, but for known hangs, the first came after {first} experiments in murphy's order, \
together, after {first_random} in the random order of this run, and after {first_expected} in random order on average, as \
computed from how many experiments lead to a finding; murphy's order is sooner than that average in {sooner} of them. The \
last came after {last} and {last_random}.{cut}

{notes}"""

TABLE = """
| program | version | experiments | seconds | findings | found after | random: experiments | seconds | findings | found after |
|---|---|---|---|---|---|---|---|---|---|
"""


def write_table(results, out):
    packages = {p[0]: p[1] for p in PROGRAMS}
    for name, result in results:
        best, other = result["best"], result["random"]
        start = f"| {name} | {version_of(packages[name])} |"
        if "refused" in best:
            out.write(f"{start} refused: {best['refused']} | | | | | | | |\n")
            continue
        cells = [f"{made(r)} | {r['seconds']:.0f} | {count(r)} | {after(r)}" for r in (best, other)]
        out.write(f"{start} {' | '.join(cells)} |\n")


def write_finding(f, verdict, why, out):
    fault = f["fault"]
    ends = f" ({f['signal']})" if f.get("signal") else ""
    out.write(f"- **{f['kind']}**{ends} when {fault['function']} returns {fault['retval']}")
    out.write(f" with {fault['errno']}" if fault.get("errno") else "")
    experiments = f"{f['count']} experiment{'' if f['count'] == 1 else 's'}"
    out.write(f", call {fault['call']}; {experiments}. *{verdict}*{': ' + why if why else ''}\n")
    out.write(f"  failed: {stack(f['inject_stack'])}\n")
    if f.get("crash_stack"):
        out.write(f"  ended: {stack(f['crash_stack'])}\n")
    elif f.get("difference"):
        lines = [line.strip() for line in f["difference"].strip().splitlines()]
        out.write(f"  different: {plain('; '.join(lines[:4]))}\n")


def plain(text):
    """Folders of the run are nobody's business."""
    return re.sub(r"/\S*murphy-findings-[^/]*/", "", text)


def write(results, budget, out):
    rows = read_judgements()
    judged = [judge(rows, n, f) for n, r in results for f in r["best"].get("findings", [])]
    verdicts = [verdict for verdict, _ in judged]
    random = [f["kind"] for _, r in results for f in r["random"].get("findings", [])]
    text = INTRODUCTION.format(
        budget=budget,
        libraries=", ".join(sorted(SCOPE)),
        findings=len(verdicts),
        bugs=verdicts.count("bug"),
        distinct=len({why.split(" (")[0] for verdict, why in judged if verdict == "bug"}),
        others=verdicts.count("no bug"),
        unread=verdicts.count("not read"),
        random=len(random),
        notes=(HERE / "notes").read_text().strip(),
        **compare_orders(results),
    )
    out.write("# What murphy finds in programs of Debian\n")
    for paragraph in text.split("\n\n"):
        out.write("\n" + textwrap.fill(paragraph, 120, break_on_hyphens=False) + "\n")
    out.write(TABLE)
    write_table(results, out)
    for name, result in results:
        findings = result["best"].get("findings", [])
        if not findings:
            continue
        command = next(p[2] for p in PROGRAMS if p[0] == name)
        script = FILES[command[1]].strip() if command[0] == "sh" else ""
        out.write(f"\n## {name}\n\n`{script or ' '.join(command)}`\n\n")
        for f in findings:
            write_finding(f, *judge(rows, name, f), out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--results", default="build/findings")
    parser.add_argument("--write", default="docs/findings.md")
    parser.add_argument("--again", action="store_true", help="write from the results that are there")
    parser.add_argument("programs", nargs="*")
    args = parser.parse_args()
    where = pathlib.Path(args.results)
    where.mkdir(parents=True, exist_ok=True)
    results = []
    for name, package, command, given in PROGRAMS:
        if args.programs and name not in args.programs:
            continue
        if not args.again and not shutil.which(command[0]):
            sys.exit(f"findings: {command[0]} is not installed (apt-get install {package})")
        both = {}
        for order in ("best", "random"):
            kept = where / f"{name}.{order}.json"
            if not args.again:
                both[order] = test(name, command, given, order, args.budget, where)
            elif kept.exists():
                both[order] = json.loads(kept.read_text())
            else:
                both[order] = {"refused": "not run"}
            print(name, order, both[order].get("refused") or count(both[order]), file=sys.stderr, flush=True)
        results.append((name, both))
    if not args.programs:
        with open(args.write, "w") as out:
            write(results, args.budget, out)


if __name__ == "__main__":
    main()
