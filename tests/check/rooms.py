# SPDX-License-Identifier: Apache-2.0
"""Checks include lines and names against the table of rooms, and that every source names its licence."""
import os
import re
import sys

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read_table(path):
    """The sections of src/rooms: section → {name: [word, ...]}, in the order of the file."""
    sections = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if line.startswith("["):
                section = sections[line.strip("[]")] = {}
            elif line and not line.startswith("#"):
                name, _, words = line.partition(":")
                section[name.strip()] = words.split()
    return sections


TABLE = read_table(os.path.join(ROOT, "src", "rooms"))
ROOMS = TABLE["rooms"]
LIBRARIES = TABLE["headers"]
# Room → what the names of its functions begin with.
PREFIXES = {room: [room] + TABLE["names"].get(room, []) for room in ROOMS}

# Made by the build.
GENERATED = {"config.h"}

INCLUDE = re.compile(r'^\s*#\s*include(?:_next)?\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# A declaration of one, from the first column on.
FUNCTION = re.compile(r"^(?!typedef\b|static\b)[A-Za-z_][\w \t*]*[ *]((?!__)\w+)\(", re.MULTILINE)
SOURCE = re.compile(r"\.(c|h|S|py|sh|map|lds)$|(^|/)meson(\.build|_options\.txt)$|^dev$|^\.ci/|^man/|^data/")
LICENCE = "SPDX-License-Identifier: Apache-2.0"


def include_problem(room, path, quote, name, files):
    """What is wrong with one include line of a file in src/<room>/, or None."""
    if quote == "<":
        for library, rooms in LIBRARIES.items():
            if name.startswith(library) and room not in rooms:
                return f"<{name}> is for {' and '.join(sorted(rooms))} only"
        return f"<{name}> is not a system header" if f"src/{name}" in files else None
    if name in GENERATED or f"{os.path.dirname(path)}/{name}" in files:
        return None
    if ".." in name.split("/"):
        return f'"{name}" leaves its room: write "<room>/<room>.h"'
    other, _, rest = name.partition("/")
    if other == room:
        return None if f"src/{name}" in files else f'"{name}" is not there'
    if other not in ROOMS:
        return f'"{name}" is in no room'
    if other not in ROOMS[room]:
        return f"room {room} may not use room {other}"
    if rest != f"{other}.h":
        return f'"{name}" is private to room {other}: only "{other}/{other}.h" is for others'
    return None


def check_includes(files):
    for path, text in sorted(files.items()):
        parts = path.split("/")
        if parts[0] != "src" or not path.endswith((".c", ".h", ".S")):
            continue
        room = parts[1]
        if len(parts) != 3 or room not in ROOMS:
            yield f"{path}: is in no room of the table"
            continue
        for match in INCLUDE.finditer(text):
            problem = include_problem(room, path, match.group(1), match.group(2), files)
            if problem:
                line = text.count("\n", 0, match.start(2)) + 1
                yield f"{path}:{line}: {problem}"


def check_order():
    """A room may only use rooms above it: one direction, no way back."""
    above = set()
    for room, used in ROOMS.items():
        for other in used:
            if other not in above:
                yield f"room {room} uses {other}, which does not stand above it"
        above.add(room)


def check_file_names(files):
    """A file's name means one thing in the whole tree."""
    first = {}
    for path in sorted(files):
        if path.startswith("src/") and path.endswith((".c", ".h", ".S")):
            other = first.setdefault(os.path.basename(path), path)
            if other != path:
                yield f"{path}: has the name of {other}"


def check_function_names(files):
    """What a room shows to others carries its name; what it does not carries no name of another room."""
    owners = {}
    for room, prefixes in PREFIXES.items():
        for prefix in prefixes:
            if owners.setdefault(prefix, room) != room:
                yield f"src/rooms: names of {owners[prefix]} and of {room} begin with {prefix}"
    for path, text in sorted(files.items()):
        parts = path.split("/")
        if parts[0] != "src" or not path.endswith(".h") or parts[1] not in ROOMS:
            continue
        room, public = parts[1], parts[2] == f"{parts[1]}.h"
        for name in FUNCTION.findall(COMMENT.sub("", text)):
            owner = owners.get(name.split("_")[0])
            if owner != room and (public or owner):
                yield f"{path}: {name} carries the name of room {owner}" if owner else f"{path}: {name} carries no room"


def check_licence(files):
    for path, text in sorted(files.items()):
        if SOURCE.search(path) and LICENCE not in "\n".join(text.split("\n", 3)[:3]):
            yield f"{path}:1: no line '{LICENCE}'"


def read_tree(root):
    files = {}
    for top in ["src", "tests", "man", "data", ".ci", "dev", "meson.build", "meson_options.txt"]:
        paths = [os.path.join(root, top)] if os.path.isfile(os.path.join(root, top)) else []
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [f for f in folders if f not in ("corpus", "golden", "__pycache__", "input")]
            paths += [os.path.join(folder, name) for name in names if not name.startswith(".")]
        for path in paths:
            name = os.path.relpath(path, root)
            if SOURCE.search(name):
                with open(path, encoding="utf-8", errors="replace") as f:
                    files[name] = f.read()
    return files


def caught(files, want):
    """The problems of a self-test: that not exactly the wanted one was found."""
    found = list(check_includes(files))
    if want is None:
        return found
    return [] if len(found) == 1 and want in found[0] else [f"wanted '{want}', found {found}"]


def self_test(tap):
    def tree(path, line, **more):
        return {path: line + "\n", "src/base/base.h": "", "src/code/code.h": "", "src/code/decode.h": "", **more}

    cases = [
        ("an allowed edge passes", tree("src/image/a.c", '#include "base/base.h"'), None),
        ("an own header passes", tree("src/code/a.c", '#include "code/decode.h"'), None),
        ("a header beside the file passes", tree("src/code/a.c", '#include "decode.h"'), None),
        ("Zydis in room code passes", tree("src/code/a.c", "#include <Zydis/Zydis.h>"), None),
        ("an edge that is not in the table", tree("src/base/a.c", '#include "code/code.h"'), "base may not use"),
        ("an edge from a header", tree("src/image/image.h", '# include "code/code.h"'), "image may not use"),
        ("an edge on the second line", tree("src/wire/a.c", '/* x */\n#include "base/base.h"'), "a.c:2: room wire"),
        ("the runtime uses wire alone", tree("src/runtime/a.c", '#include "base/base.h"'), "runtime may not use"),
        ("a private header of another room", tree("src/flow/a.c", '#include "code/decode.h"'), "private to room code"),
        ("a way around over ..", tree("src/base/a.c", '#include "../code/code.h"'), "leaves its room"),
        ("a room's header as a system header", tree("src/base/a.c", "#include <code/code.h>"), "not a system header"),
        ("Zydis outside room code", tree("src/flow/a.c", "#include <Zydis/Zydis.h>"), "for code only"),
        ("elfutils in room image passes", tree("src/image/a.c", "#include <elfutils/libdw.h>"), None),
        ("elfutils outside room image", tree("src/flow/a.c", "#include <elfutils/libdw.h>"), "for image only"),
        ("a folder that is no room", tree("src/utils/a.c", ""), "in no room of the table"),
    ]
    for name, files, want in cases:
        tap.ok(f"self-test: {name}", caught(files, want))
    twice = list(check_file_names({"src/base/a.c": "", "src/code/a.c": "", "src/code/a.h": ""}))
    good = twice == ["src/code/a.c: has the name of src/base/a.c"]
    tap.ok("self-test: two files of one name", [] if good else [f"found {twice}"])
    names = {
        "src/code/code.h": "/* int bare(void); */\nint code_a(void);\nstruct text *bare(int a,\n  int b);\n",
        "src/code/decode.h": "int decode_a(void);\nbool text_a(void);\n",
    }
    found = list(check_function_names(names))
    good = found == [
        "src/code/code.h: bare carries no room",
        "src/code/decode.h: text_a carries the name of room base",
    ]
    tap.ok("self-test: names without a room, or of another one", [] if good else [f"found {found}"])
    missing = list(check_licence({"src/base/a.c": "int a;\n", "src/base/b.c": f"/* {LICENCE} */\n"}))
    good = missing == [f"src/base/a.c:1: no line '{LICENCE}'"]
    tap.ok("self-test: a source without a licence line", [] if good else [f"found {missing}"])


def main():
    tap = Tap()
    self_test(tap)
    files = read_tree(ROOT)
    found = any(f.startswith("src/cmd/") for f in files)
    tap.ok("there are sources to check", [] if found else [f"none in {ROOT}/src"])
    tap.ok("the table of rooms has one direction", check_order())
    tap.ok("include lines keep to the table of rooms", check_includes(files))
    tap.ok("no two files have the same name", check_file_names(files))
    tap.ok("functions carry the names of their rooms", check_function_names(files))
    tap.ok("every source names its licence", check_licence(files))
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
