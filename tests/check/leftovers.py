# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing is left of merges and patches, and that C sources keep to 120 columns."""
import os
import re
import subprocess

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# As git writes them. A line of = alone can also be a headline, so that it counts between the others only.
MARKER = re.compile(r"^(<{7}|>{7}|\|{7})( |$)")
REMAINS = re.compile(r"\.(orig|rej)$|~$")
COLUMNS = 120


def markers(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if MARKER.match(line):
            yield f"{path}:{number}: a mark of a merge that was not finished: {line[:40]}"


def too_wide(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.expandtabs(8)) > COLUMNS:
            yield f"{path}:{number}: {len(line)} columns, at most {COLUMNS}"


def is_own_source(path):
    return re.match(r"(src|tests/(unit|fuzz|kernel))/.*\.[ch]$", path) is not None


def tracked(root):
    """Paths of all files that belong to the tree: what git knows, or, without git, all but builds."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
        return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith((".git", "build"))]
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return paths


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""  # deleted since, or a link to nowhere


def self_test(tap):
    ours, theirs = "<" * 7, ">" * 7
    wrong = f"a\n{ours} HEAD\nb\n=======\nc\n{theirs} other\n"
    tap.ok("marks of a merge are found", [] if len(list(markers("x", wrong))) == 2 else [wrong])
    fine = f"Headline\n=======\n a {ours} b\n{'<' * 8}\n"
    tap.ok("what only looks alike is not", markers("x", fine))
    tap.ok("120 columns are fine", too_wide("x", "a" * 120))
    tap.ok("121 are not", [] if list(too_wide("x", "a" * 121)) else ["not found"])


def main():
    tap = Tap()
    self_test(tap)
    paths = sorted(tracked(ROOT))
    texts = {path: read(os.path.join(ROOT, path)) for path in paths if "/corpus/" not in path}
    tap.ok("there is something to check", [] if "dev" in texts else ["no file 'dev'"])
    tap.ok("no file has marks of a merge", [p for path, text in texts.items() for p in markers(path, text)])
    tap.ok("no file is left of a patch", [path for path in paths if REMAINS.search(path)])
    sources = {path: text for path, text in texts.items() if is_own_source(path)}
    tap.ok("C sources keep to 120 columns", [p for path, text in sources.items() for p in too_wide(path, text)])
    tap.done()


if __name__ == "__main__":
    main()
