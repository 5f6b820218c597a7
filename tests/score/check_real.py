#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores `murphy check` on real programs, the way the LFI paper does (its section 8.3 and table VI).

tests/truth/check-real/NAME.sites holds the call sites of seven functions of libc in one program of Debian, each with
the verdict that a person read from the source. The program is built from the same version of the source package, with
Debian's flags and with debugging information, and sites are matched with labels by file, line and function. Several
sites may have one label: inlined copies. A positive is a site that is said not to check: FN is unchecked and said to
be checked, FP is checked and said not to be. A label without a site is missed, and counts as wrong. Labels that are
mixed or absent are not scored (the head of a .sites file says what these are).

Sources and programs are kept in $XDG_CACHE_HOME/murphy-score, or in --dir. Nothing is installed: what the build needs
is downloaded and unpacked beside it. A program whose sources cannot be had is skipped. There is no threshold: exit
status 2 if murphy failed or a label is not understood, else 0.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRUTH = ROOT / "tests/truth/check-real"
FUNCTIONS = "malloc close open unlink readlink fopen write".split()
VERDICTS = ("all", "some", "none", "mixed")
USES = ("ignored", "used", "dereferenced", "returned")
LFI = [  # table VI: system, function, right (TP + TN), FN, FP
    ("BIND", "malloc", 17, 0, 0),
    ("BIND", "unlink", 6, 0, 0),
    ("BIND", "open", 5, 0, 1),
    ("BIND", "close", 39, 0, 0),
    ("Git", "malloc", 25, 0, 0),
    ("Git", "close", 127, 0, 0),
    ("Git", "readlink", 7, 0, 0),
    ("PBFT", "fopen", 6, 0, 0),
]


class Failed(Exception):
    """The score cannot be measured."""


class Skipped(Exception):
    """A program cannot be had here."""


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- labels -----------------------------------------------------------------------------------------------------------

LABEL = re.compile(r"(\S+):(\d+) (\w+) (\w+) (\w+)( absent)?\s*(?:#\s*(.*))?")


class Label:
    def __init__(self, match):
        self.file, self.line, self.function, self.verdict, self.use = match[1], int(match[2]), *match.group(3, 4, 5)
        self.absent, self.why = bool(match[6]), match[7] or ""
        self.sites = 0

    def __str__(self):
        return f"{self.file}:{self.line} {self.function}"


class Labels:
    """The labels of one program, by base name of the file, line and function."""

    def __init__(self, path):
        self.name, self.package, self.version = path.stem, None, None
        self.by_place = defaultdict(list)
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if text.startswith("#"):
                source = re.fullmatch(r"# source: (\S+) (\S+)", text)
                if source:
                    self.package, self.version = source.groups()
                continue
            match = LABEL.fullmatch(text)
            if text and not (match and match[4] in VERDICTS and match[5] in USES and match[3] in FUNCTIONS):
                raise Failed(f"{path}:{number}: not a label: {text}")
            if text:
                label = Label(match)
                self.by_place[(os.path.basename(label.file), label.line, label.function)].append(label)
        if self.package is None:
            raise Failed(f"{path}: no line '# source: PACKAGE VERSION'")

    def __iter__(self):
        return (label for labels in self.by_place.values() for label in labels)

    def find(self, site):
        """The label of a site; where two files of one name have a label on the line, the one whose path fits."""
        file = os.path.normpath(site.get("file") or "")
        found = self.by_place.get((os.path.basename(file), site.get("line"), site["function"]), [])
        if len(found) > 1:
            fitting = [label for label in found if ("/" + file).endswith("/" + label.file)]
            found = sorted(fitting, key=lambda label: len(label.file), reverse=True)
        return found[0] if found else None


# --- programs ---------------------------------------------------------------------------------------------------------


class Recipe:
    """How a program is made: what is needed to compile and link it, and the commands, with flags filled in."""

    def __init__(self, needs, program, commands, hardening=""):
        self.needs, self.program, self.commands, self.hardening = needs.split(), program, commands, hardening


RECIPES = {  # as in debian/rules of the source packages, without what the program itself does not use
    "git": Recipe(
        "zlib1g-dev zlib1g libpcre2-dev libpcre2-8-0",
        "git",
        [
            "make -j{jobs} git V=1 NO_OPENSSL=1 NO_CURL=1 USE_LIBPCRE2=1 prefix=/usr gitexecdir=/usr/lib/git-core "
            "SANE_TOOL_PATH= DEFAULT_PAGER=pager DEFAULT_EDITOR=editor CC=gcc HOST_CPU=x86_64 "
            "CFLAGS='-Wall {cflags} {cppflags}' LDFLAGS='{ldflags}'",
        ],
    ),
    "rsync": Recipe(
        "libacl1-dev libacl1 libattr1-dev libattr1 libpopt-dev libpopt0 libxxhash-dev libxxhash0 liblz4-dev liblz4-1 "
        "libzstd-dev libzstd1 zlib1g-dev zlib1g libssl-dev libssl3",
        "rsync",
        [
            "CFLAGS='{cflags}' CPPFLAGS='{cppflags}' LDFLAGS='{ldflags}' ./configure --prefix=/usr "
            "--with-included-zlib=no --disable-md5-asm --with-rrsync",
            # What configure is made from is newer where patches touched it; what the package ships is good.
            "touch aclocal.m4 && sleep 1 && touch configure.sh config.h.in && make -j{jobs} rsync",
        ],
        "hardening=+all",
    ),
}


def run(command, folder, why, **options):
    """Runs a command with its output in a log file; Skipped, with WHY and the last lines, if it fails."""
    log = folder / "log"
    with open(log, "a", encoding="utf-8") as stream:
        stream.write(f"$ {command if isinstance(command, str) else ' '.join(command)}\n")
        stream.flush()
        try:
            options.update(shell=isinstance(command, str), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
            done = subprocess.run(command, **options)
        except OSError as error:
            raise Skipped(f"{why}: {error}") from error
    if done.returncode != 0:
        last = log.read_text(errors="replace").splitlines()[-1]
        raise Skipped(f"{why}: {last} (more in {log})")


def unpack_needs(recipe, folder):
    """Unpacks the packages that are needed to compile and link, and gives the folder."""
    packages, root = folder / "packages", folder / "root"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    run(["apt-get", "download", *recipe.needs], folder, "the packages that it needs cannot be downloaded", cwd=packages)
    for package in sorted(packages.glob("*.deb")):
        run(["dpkg", "-x", str(package), str(root)], folder, f"{package.name} cannot be unpacked")
    return root


def unpack_source(labels, folder):
    """Downloads and unpacks the source package of the labels, and gives the folder."""
    source = f"{labels.package}={labels.version}"
    why = f"the source {source} cannot be downloaded (is there a deb-src line for it?)"
    run(["apt-get", "source", "--download-only", source], folder, why, cwd=folder)
    descriptions = sorted(folder.glob("*.dsc"))
    if not descriptions:
        raise Skipped(why)
    shutil.rmtree(folder / "source", ignore_errors=True)
    command = ["dpkg-source", "--no-check", "-x", descriptions[0].name, "source"]
    run(command, folder, f"{descriptions[0].name} cannot be unpacked", cwd=folder)
    return folder / "source"


def flag(name, recipe, source):
    """Debian's compiler flags, as they are in the folder of the source."""
    environment = dict(os.environ, DEB_BUILD_MAINT_OPTIONS=recipe.hardening)
    for variable in ("CFLAGS", "CPPFLAGS", "LDFLAGS"):
        environment.pop(f"DEB_{variable}_SET", None)
    command = ["dpkg-buildflags", "--get", name]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def build(labels, base):
    """The program of the labels, built in BASE unless it is there already."""
    recipe = RECIPES.get(labels.name)
    if recipe is None:
        raise Skipped(f"no recipe to build it (--program {labels.name}=FILE)")
    for tool in ("apt-get", "dpkg", "dpkg-source", "dpkg-buildflags", "gcc", "make"):
        if shutil.which(tool) is None:
            raise Skipped(f"{tool} is not installed (install dpkg-dev and build-essential)")
    if re.search(r"[^-+:.0-9a-zA-Z~/_]", str(base)):
        raise Skipped(f"{base}: Debian's flags are not for paths with such characters (--dir DIR)")
    folder = base / f"{labels.package}_{labels.version.split(':')[-1]}"
    finished = folder / labels.name
    if finished.is_file():
        say(f"{labels.name}: as built before, {finished}")
        return finished
    say(f"{labels.name}: building {labels.package} {labels.version} in {folder}; this takes minutes, once")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = unpack_source(labels, folder)
    root = unpack_needs(recipe, folder)
    libraries = f"-L{root}/usr/lib/x86_64-linux-gnu -L{root}/lib/x86_64-linux-gnu"
    flags = {
        "jobs": os.cpu_count() or 1,
        "cflags": flag("CFLAGS", recipe, source),
        "cppflags": f"{flag('CPPFLAGS', recipe, source)} -I{root}/usr/include -I{root}/usr/include/x86_64-linux-gnu",
        "ldflags": f"{flag('LDFLAGS', recipe, source)} {libraries}",
    }
    for command in recipe.commands:
        run(command.format(**flags), folder, "the build failed", cwd=source)
    shutil.copy2(source / recipe.program, finished)
    return finished


# --- what murphy says -------------------------------------------------------------------------------------------------


def run_murphy(binary, program):
    command = [binary, "check", "--format=json"]
    for function in FUNCTIONS:
        command += ["--function", function]
    command.append(str(program))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{' '.join(command)}: {error}") from error
    if done.returncode not in (0, 1):  # 1: there are findings
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
    try:
        sites = json.loads(done.stdout)["sites"]
        return [site for site in sites if site["function"] in FUNCTIONS and site["verdict"] and site["offset"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"{' '.join(command)}: not the JSON of a check: {error!r}") from error


# --- the score --------------------------------------------------------------------------------------------------------


class Score:
    def __init__(self):
        self.count = Counter()

    def __getattr__(self, name):
        return self.count[name]

    def accuracy(self):
        total = self.right + self.fn + self.fp + self.missed
        return f"{self.right / total:.1%}" if total else "-"

    def row(self, name):
        columns = (self.right, self.fn, self.fp, self.missed, self.unscored, self.unlabelled)
        return f"  {name:10}" + "".join(f"{column:>11}" for column in columns) + f"{self.accuracy():>10}"


HEAD = f"  {'':10}" + "".join(f"{c:>11}" for c in ("TP+TN", "FN", "FP", "missed", "not scored", "unlabelled")) + (
    f"{'accuracy':>10}   LFI's table VI: accuracy (sites)"
)


def published(function):
    """What LFI reached for the function, in the programs that it was measured on."""
    rows = [(s, right, right + fn + fp) for s, f, right, fn, fp in LFI if f == function]
    return ", ".join(f"{system} {right / total:.0%} ({total})" for system, right, total in rows) or "-"


def judge(label, site):
    """Which number of the score a site adds to."""
    if label is None:
        return "unlabelled"
    if label.verdict == "mixed":
        return "unscored"
    if site["verdict"] == label.verdict:
        return "right"
    return "fn" if label.verdict == "none" else "fp"


class Comparison:
    """All sites of one program against its labels."""

    def __init__(self, labels, sites):
        self.scores = {function: Score() for function in FUNCTIONS}
        self.uses, self.differences, self.use_differences = Counter(), [], []
        for site in sites:
            self.add(labels.find(site), site)
        for label in labels:
            if not label.sites and not label.absent:
                self.scores[label.function].count["missed"] += 1
                self.differences.append((str(label), f"missed: no site, labelled {label.verdict}", label.why))

    def add(self, label, site):
        where = f"{site.get('file') or '?'}:{site.get('line') or '?'} {site['function']} at {site['offset']}"
        result = judge(label, site)
        self.scores[site["function"]].count[result] += 1
        if label is None:
            self.differences.append((where, f"not labelled, found {site['verdict']}", ""))
            return
        label.sites += 1
        if result in ("fn", "fp"):
            text = f"{result.upper()}: labelled {label.verdict}, found {site['verdict']} ({site.get('use', '?')})"
            self.differences.append((f"{label} at {site['offset']}", text, label.why))
        if label.verdict == "none" == site["verdict"]:
            self.uses[label.use == site.get("use")] += 1
            if label.use != site.get("use"):
                text = f"labelled {label.use}, found {site.get('use')}"
                self.use_differences.append((f"{label} at {site['offset']}", text, label.why))

    def total(self):
        total = Score()
        for score in self.scores.values():
            total.count.update(score.count)
        return total

    def report(self, verbose):
        print(HEAD)
        for function, score in self.scores.items():
            if score.count:
                print(f"{score.row(function)}   {published(function)}")
        print(self.total().row("all"))
        if sum(self.uses.values()):
            print(f"  use right in {self.uses[True]} of {sum(self.uses.values())} sites that are rightly none")
        if verbose:
            self.list("verdicts that differ", self.differences)
            self.list("uses that differ", self.use_differences)

    @staticmethod
    def list(title, differences):
        print(f"\n  {title}: {len(differences)}")
        for where, text, why in sorted(differences):
            print(f"    {where}: {text}" + (f"; {why}" if why else ""))


# --- all together -----------------------------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(description="Score murphy check on programs of Debian, labelled by hand.")
    default_murphy = os.environ.get("MURPHY", str(ROOT / "build/murphy"))
    parser.add_argument("murphy", nargs="?", default=default_murphy, help="the binary (%(default)s)")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "murphy-score"
    parser.add_argument("--dir", metavar="DIR", type=Path, default=cache, help="where to build (%(default)s)")
    help_program = "take this file, built with -g from the labelled version, instead of building it"
    parser.add_argument("--program", metavar="NAME=FILE", action="append", default=[], help=help_program)
    parser.add_argument("-v", "--verbose", action="store_true", help="list each disagreement")
    options = parser.parse_args()
    if not all("=" in given for given in options.program):
        parser.error("--program: not of the form NAME=FILE")
    options.program = dict(given.split("=", 1) for given in options.program)
    unknown = set(options.program) - {path.stem for path in TRUTH.glob("*.sites")}
    if unknown:
        parser.error(f"--program: no labels for {', '.join(sorted(unknown))} in {TRUTH}")
    return options


def main():
    options = parse_arguments()
    print("Verdicts of murphy check against labels read from the source; beside them what LFI published, for other")
    print("programs and versions")
    for path in sorted(TRUTH.glob("*.sites")):
        labels = Labels(path)
        try:
            program = options.program.get(labels.name) or build(labels, options.dir.resolve())
        except Skipped as reason:
            print(f"\n{labels.name}: not scored, {reason}")
            continue
        comparison = Comparison(labels, run_murphy(options.murphy, program))
        print(f"\n{labels.name} ({labels.package} {labels.version}), {sum(1 for _ in labels)} labels\n")
        comparison.report(options.verbose)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main())
    except Failed as problem:
        print(f"check_real: {problem}", file=sys.stderr)
        sys.exit(2)
