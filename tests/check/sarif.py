#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a file against the parts of SARIF 2.1.0 that murphy writes, and against what GitHub's code scanning asks for.

The schema below says what the standard says of these objects: which properties there are, which are required, their
types and the values that they may have. Anything else is a mistake, so a property that is spelled wrongly is found.

usage: sarif.py FILE        exit status 0 if all is well, 1 with one line a mistake otherwise
"""
import json
import re
import sys

TEXT = {"text": (str, True)}
MESSAGE = {"text": (str, True)}
URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:[A-Za-z0-9\-._~/:@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*")


def positive(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def natural(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def uri(value):
    return isinstance(value, str) and URI.fullmatch(value) is not None


def one_of(*words):
    return lambda value: value in words


LEVEL = one_of("none", "note", "warning", "error")

LOCATION = {
    "physicalLocation": ({
        "artifactLocation": ({"uri": (uri, False), "uriBaseId": (str, False)}, False),
        "region": ({"startLine": (positive, False), "startColumn": (positive, False)}, False),
        "address": ({"absoluteAddress": (natural, False), "kind": (str, False)}, False),
    }, False),
    "logicalLocations": ([{"kind": (str, False), "name": (str, False)}], False),
}

# Property -> (what it is, is it required?). A type, a function, a dict for an object, [X] for an array of X.
SCHEMA = {
    "$schema": (uri, False),
    "version": (one_of("2.1.0"), True),
    "runs": ([{
        "tool": ({"driver": ({
            "name": (str, True),
            "version": (str, False),
            "rules": ([{
                "id": (str, True),
                "name": (str, False),
                "shortDescription": (TEXT, False),
                "fullDescription": (TEXT, False),
                "help": (TEXT, False),
                "defaultConfiguration": ({"level": (LEVEL, False)}, False),
                "properties": (dict, False),
            }], False),
        }, True)}, True),
        "columnKind": (one_of("utf16CodeUnits", "unicodeCodePoints"), False),
        "originalUriBaseIds": (dict, False),
        "results": ([{
            "ruleId": (str, False),
            "ruleIndex": (natural, False),
            "level": (LEVEL, False),
            "message": (MESSAGE, True),
            "locations": ([LOCATION], False),
            "stacks": ([{
                "message": (MESSAGE, False),
                "frames": ([{"location": (LOCATION, False), "module": (str, False)}], True),
            }], False),
            "partialFingerprints": (dict, False),
            "suppressions": ([{
                "kind": (one_of("inSource", "external"), True),
                "status": (one_of("accepted", "underReview", "rejected"), False),
            }], False),
        }], False),
    }], True),
}


def mistakes(value, schema, path="$"):
    if isinstance(schema, list):
        if not isinstance(value, list):
            yield f"{path}: not an array"
            return
        for i, item in enumerate(value):
            yield from mistakes(item, schema[0], f"{path}[{i}]")
    elif isinstance(schema, dict):
        if not isinstance(value, dict):
            yield f"{path}: not an object"
            return
        for name, (_, required) in schema.items():
            if required and name not in value:
                yield f"{path}: no {name}"
        for name, item in value.items():
            if name not in schema:
                yield f"{path}: {name} is not known"
            else:
                yield from mistakes(item, schema[name][0], f"{path}.{name}")
    elif isinstance(schema, type):
        if not isinstance(value, schema):
            yield f"{path}: not a {schema.__name__}"
    elif not schema(value):
        yield f"{path}: {value!r} is not allowed"


def what_github_asks(log):
    """Rules that results name exist; every result has a place in a file and a fingerprint, which is its own."""
    for run in log["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        seen = set()
        for i, result in enumerate(run["results"]):
            at = f"$.runs.results[{i}]"
            index = result.get("ruleIndex", -1)
            if not (0 <= index < len(rules) and rules[index]["id"] == result.get("ruleId")):
                yield f"{at}: no rule {result.get('ruleId')}"
            place = (result.get("locations") or [{}])[0].get("physicalLocation", {})
            if not place.get("artifactLocation", {}).get("uri") or "startLine" not in place.get("region", {}):
                yield f"{at}: no line"
            base = place.get("artifactLocation", {}).get("uriBaseId")
            if base is not None and not run.get("originalUriBaseIds", {}).get(base, {}).get("uri", "").endswith("/"):
                yield f"{at}: no base {base}"
            prints = tuple(sorted(result.get("partialFingerprints", {}).items()))
            if not prints or not all(isinstance(v, str) for _, v in prints):
                yield f"{at}: no fingerprint"
            if prints in seen:
                yield f"{at}: the fingerprint of another result"
            seen.add(prints)
            if not result["message"]["text"]:
                yield f"{at}: no text"


def check(log):
    found = list(mistakes(log, SCHEMA))
    return found or list(what_github_asks(log))


def broken_samples(log):
    """What must be refused, or this check could not fail."""
    yield {**log, "version": "2.0.0"}
    yield {"version": "2.1.0"}
    yield {**log, "extra": 1}
    for change in ({"level": "bad"}, {"ruleIndex": -1}, {"message": {}}, {"locations": [{}]}, {"partialFingerprints": {}}):
        copy = json.loads(json.dumps(log))
        for run in copy["runs"]:
            for result in run["results"][:1]:
                result.update(change)
        if any(run["results"] for run in copy["runs"]):
            yield copy


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        log = json.load(file)
    found = check(log)
    for mistake in found:
        print(f"{sys.argv[1]}: {mistake}")
    if not found and not all(check(sample) for sample in broken_samples(log)):
        found = ["a broken sample was accepted"]
        print(found[0])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
