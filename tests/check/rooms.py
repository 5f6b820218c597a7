# SPDX-License-Identifier: Apache-2.0
"""Checks the include lines against the table of rooms, and that every source names its licence."""
import os
import re
import sys

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Room → the rooms it may use, as the design has it. `mutate` and `cluster` get their lines when they come.
ROOMS = {
    "base": "",
    "xml": "base",
    "wire": "",
    "image": "base",
    "code": "base image",
    "flow": "base image code",
    "follow": "base image code flow",
    "solver": "base image code flow",
    "profile": "base xml image code flow solver",
    "site": "base image code flow follow profile",
    "scenario": "base xml wire profile site",
    "shim": "base wire image",
    "runtime": "wire",
    "run": "base wire shim image",
    "hub": "base wire",
    "observe": "base",
    "campaign": "base scenario run observe",
    "store": "base",
    "report": "base store",
    "cmd": "base wire image code flow profile site scenario shim run hub observe campaign store report",
}

# The beginning of a system header → the only rooms that may see it.
LIBRARIES = {
    "Zydis/": {"code"},
    "Zycore/": {"code"},
    "lzma": {"image"},
    "zlib": {"image"},
    "zstd": {"image"},
    "lz4": {"image"},
    "bzlib": {"image"},
    "elfutils/": {"image"},
    "dwarf.h": {"image"},
    "libelf.h": {"image"},
    "gelf.h": {"image"},
    "sqlite3": {"store"},
    "llvm-c/": {"mutate"},
    "libxml/": {"xml"},
    "jansson": {"profile", "scenario", "run", "report", "cmd"},
}

# Made by the build.
GENERATED = {"config.h"}

INCLUDE = re.compile(r'^\s*#\s*include(?:_next)?\s*([<"])([^>"]+)[>"]', re.MULTILINE)
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
    if other not in ROOMS[room].split():
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
        for other in used.split():
            if other not in above:
                yield f"room {room} uses {other}, which does not stand above it"
        above.add(room)


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
    tap.ok("every source names its licence", check_licence(files))
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
