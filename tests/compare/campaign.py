# SPDX-License-Identifier: Apache-2.0
"""What a campaign's database says, in one shape whatever the version of its tables. A new version of the store needs a
function here, and an entry in READERS."""

import collections
import sqlite3

# place: the hash of the stack. site: module+offset of the call.
Point = collections.namedtuple("Point", "function place site count inside verdict")
Fault = collections.namedtuple("Fault", "function place site nth persistent retval errno act")
# faults: in the order in which they come. result: a text, equal if the two came out alike.
Experiment = collections.namedtuple("Experiment", "faults result")

POINTS = """SELECT function, hash, module, offset, count, "in", verdict FROM point"""
EXPERIMENTS = """SELECT e.id, p.function, p.hash, p.module, p.offset, e.nth, e.onwards, e.retval, e.errno, e.act, e.first,
  e.outcome, e.status, e.call, e.process, e.doubt, e.difference FROM experiment e JOIN point p ON p.id = e.point"""


def site_of(module, offset):
    return f"{module}+{offset:#x}" if module else "?"


def place_of(stack):
    return f"{stack & (1 << 64) - 1:016x}"


def result_of(outcome, status, call, process, doubt, difference):
    words = [f"{outcome}, status {status}, call {call} of process {process}"]
    return "; ".join(words + [text.strip() for text in (doubt, difference) if text])


def read_version_1(db):
    points = [Point(function, place_of(stack), site_of(module, offset), count, inside, verdict)
              for function, stack, module, offset, count, inside, verdict in db.execute(POINTS)]
    faults, rows = {}, []
    for row in db.execute(EXPERIMENTS):
        key, function, stack, module, offset, *fault, first = row[:11]
        faults[key] = Fault(function, place_of(stack), site_of(module, offset), *fault)
        rows.append((first, key, row[11:]))
    return points, [Experiment(tuple(faults[k] for k in (first, key) if k is not None), result_of(*result))
                    for first, key, result in rows]


READERS = {1: read_version_1}


class Unreadable(Exception):
    pass


def read_campaign(path):
    """(points, experiments). A version without a reader is read as the one before it: views may have kept the names."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        return READERS[max((v for v in READERS if v <= version), default=1)](db)
    except sqlite3.Error as e:
        raise Unreadable(f"{path}: {e} (tables of version {version}; tests/compare/campaign.py reads {list(READERS)})")
    finally:
        db.close()
