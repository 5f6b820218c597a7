# SPDX-License-Identifier: Apache-2.0
"""Checks what libmurphy-rt.so imports, exports, needs and uses: it lives in other people's programs."""
import os
import re
import subprocess
import sys

from tap import Tap

# The loader's list of objects, and the shim's table.
IMPORTS = {"_r_debug", "_dl_debug_addr", "murphy_shim"}
EXPORTS = {"murphy_rt_enter", "murphy_rt_fault", "murphy_rt_start"}
# The only functions that may touch vector registers: they save and restore those of others.
VECTORS_IN = {"murphy_rt_enter", "rt_foreign"}
VECTOR = re.compile(r"%(xmm|ymm|zmm|mm|st)\d?")


def symbols(path):
    """(undefined, defined) dynamic symbols."""
    undefined, defined = set(), set()
    for line in subprocess.run(["nm", "-D", path], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines():
        kind, name = line.split()[-2:]
        (undefined if kind in "Uwv" else defined).add(name.split("@")[0])
    return undefined, defined


def vector_users(path):
    function = ""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, text=True, stdout=subprocess.PIPE)
    for line in text.stdout.splitlines():
        start = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if start:
            function = start.group(1)
        elif VECTOR.search(line) and function not in VECTORS_IN:
            yield f"{function}: {line.strip()}"


def dynamic(path):
    return subprocess.run(["readelf", "-dW", path], check=True, text=True, stdout=subprocess.PIPE).stdout


def main():
    tap = Tap()
    runtime = os.path.join(os.environ["MURPHY_BUILD"], "libmurphy-rt.so")
    undefined, defined = symbols(runtime)
    tap.ok("imports what is allowed", [f"imports {name}" for name in sorted(undefined - IMPORTS)])
    tap.ok("exports what is meant", [f"exports {name}" for name in sorted(defined ^ EXPORTS)])
    entries = dynamic(runtime)
    tap.ok("needs no library", re.findall(r".*\(NEEDED\).*", entries))
    tap.ok("has no relocations in its code", re.findall(r".*TEXTREL.*", entries))
    tap.ok("has no initialiser of its own", re.findall(r".*\(INIT(?:_ARRAY)?\).*", entries))
    tap.ok("touches no vector register", vector_users(runtime))
    murphy = os.environ["MURPHY"]
    undefined, _ = symbols(murphy)
    tap.ok("self-test: other objects do import", [] if undefined - IMPORTS else ["murphy imports nothing"])
    tap.ok("self-test: other objects do use vectors", [] if any(vector_users(murphy)) else ["murphy uses none"])
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
