#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev compare calls the same, by chance and different, with results that are made up."""
import os
import pathlib
import sqlite3
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "check"))

import run  # noqa: E402
from tap import Tap  # noqa: E402

TABLES = """PRAGMA user_version = 1;
CREATE TABLE point (id INTEGER PRIMARY KEY, hash INTEGER, function TEXT, count INTEGER, module TEXT, offset INTEGER,
  "in" TEXT, file TEXT, line INTEGER, verdict TEXT);
CREATE TABLE experiment (id INTEGER PRIMARY KEY, point INTEGER, nth INTEGER, onwards INTEGER, retval INTEGER,
  errno INTEGER, outcome TEXT, status INTEGER, call INTEGER, process INTEGER, difference TEXT, act TEXT, doubt TEXT,
  first INTEGER)"""
REPORT = "0 findings; 2 of 2 experiments at 1 places in {} s: 2 same\nmodes: {} by branch\n"


def campaign(folder, name, outcome="same", stack=-5, seconds="1.0"):
    """The items of a test with an experiment and a pair behind it."""
    path = pathlib.Path(folder) / name
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    db.execute("INSERT INTO point VALUES (1, ?, 'read', 3, 'cat', 4096, NULL, NULL, NULL, 'all')", (stack,))
    row = "INSERT INTO experiment VALUES (?, 1, ?, 0, -1, 5, ?, 0, 1, 1, NULL, NULL, NULL, ?)"
    db.execute(row, (1, 1, "same", None))
    db.execute(row, (2, 2, outcome, 1))
    db.commit()
    db.close()
    result = {"status": 0, "stdout": "", "stderr": "", "report": REPORT.format(seconds, seconds)}
    return [run.items_of_test(result, path, by_site) for by_site in (False, True)]


def same(tap, name, got, wanted):
    tap.ok(name, [] if got == wanted else [f"is {got}", f"and not {wanted}"])


def words(differences):
    return [(d.item.split(" ")[0], "chance" if d.chance else "differs") for d in differences]


def of_campaigns(tap, folder):
    a, by_site = campaign(folder, "a")
    b = campaign(folder, "b", seconds="2.5")[0]
    c = campaign(folder, "c", outcome="crash")[0]
    d, d_by_site = campaign(folder, "d", stack=7)
    same(tap, "a pair has both faults", [n.split(" time ")[1][0] for n in a if ", then " in n], ["1"])
    same(tap, "times are no difference", run.judge([a], [b]), [])
    same(tap, "another outcome each time", words(run.judge([a] * 3, [c] * 3)), [("experiment", "differs")])
    same(tap, "an outcome that does not repeat", words(run.judge([a] * 3, [c, a, c])), [("experiment", "chance")])
    same(tap, "one that did not with the old one", words(run.judge([a, c, a], [c] * 3)), [("experiment", "chance")])
    same(tap, "other stack hashes are seen", run.names_of_points(a) & run.names_of_points(d), set())
    same(tap, "sites are compared instead", run.judge([by_site], [d_by_site]), [])


def of_output(tap):
    def items(text):
        return run.items_of_output({"status": 0, "stdout": text, "stderr": ""})

    first = '{"sites":[{"function":"read","line":1},{"function":"write","line":2}]}'
    other = '{"sites":[{"function":"read","line":1},{"function":"write","line":3}]}'
    turned = '{"sites":[{"function":"write","line":2},{"function":"read","line":1}]}'

    def found(text):
        return [d.item for d in run.judge([items(first)], [items(text)])]

    same(tap, "the same bytes", found(first), [])
    same(tap, "a record that differs is shown alone", found(other),
         [f'output: sites {{"function": "write", "line": {n}}}' for n in (2, 3)])
    same(tap, "the order counts", found(turned), ["output, order"])
    same(tap, "blanks count", found(first.replace(",", ", ")), ["bytes"])


def of_explanations(tap, folder):
    path = pathlib.Path(folder) / "explained"
    path.write_text("# a comment\ngrep\ttest*\tpoint *\tit is meant\nls\t*\t*\tnever\n")
    explained = run.Explained(path)
    what = run.What("test", "test --jobs 1", [], "grep")
    point = run.Difference("point read at [x]", ["1"], ["2"], False)
    same(tap, "a difference that is explained", explained.reason(what, point), "it is meant")
    same(tap, "one that is not", explained.reason(what, point._replace(item="status")), None)
    same(tap, "explanations without use", [line.split("\t")[0] for line in explained.unused()], ["ls"])


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        of_campaigns(tap, folder)
        of_output(tap)
        of_explanations(tap, folder)
    tap.done()


if __name__ == "__main__":
    main()
