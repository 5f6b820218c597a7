#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the profile of a whole kernel takes, and how much memory, beside objdump of the same code.

usage: kernel_bench.py [--murphy FILE] [VMLINUZ]        by default the newest /boot/vmlinuz-*; none is no failure
"""
import argparse
import lzma
import os
import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS, LIMIT_MB = 60, 2048


def timed(command):
    """Wall seconds, processor seconds and the largest resident set in MB of a command."""
    start = time.monotonic()
    pid = os.posix_spawnp(command[0], command, os.environ,
                          file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"kernel_bench: {' '.join(command)} failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def payload(path, folder):
    """The ELF file inside, if it is packed with xz; objdump cannot read the others."""
    image = path.read_bytes()
    sectors = image[0x1F1] or 4
    at, size = struct.unpack_from("<II", image, 0x248)
    packed = image[(sectors + 1) * 512 + at:][:size]
    if packed[:6] != b"\xfd7zXZ\0":
        return None
    out = Path(folder) / "vmlinux"
    out.write_bytes(lzma.LZMADecompressor().decompress(packed))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--murphy", default=str(ROOT / "build" / "murphy"))
    parser.add_argument("kernel", nargs="?", type=Path)
    options = parser.parse_args()
    kernel = options.kernel or max(Path("/boot").glob("vmlinuz-*"), default=None, key=lambda p: p.stat().st_mtime)
    if not kernel:
        print("kernel: not measured, no /boot/vmlinuz-* here (give one: ./dev bench kernel VMLINUZ)")
        return
    print(f"Profile of all system calls of {kernel}\n")
    wall, cpu, memory = timed([options.murphy, "profile", "--kernel", str(kernel), "--format", "errors"])
    print(f"  murphy       {wall:6.1f} s  {cpu:6.1f} s of processors  {memory:6.0f} MB"
          f"   (limits: {LIMIT_SECONDS} s, {LIMIT_MB} MB)")
    folder = tempfile.mkdtemp()
    try:
        elf = payload(kernel, folder)
        if elf:
            other, _, _ = timed(["objdump", "-d", str(elf)])
            print(f"  objdump -d   {other:6.1f} s  of the unpacked kernel alone; murphy takes {wall / other:.2f} of that")
    finally:
        shutil.rmtree(folder)


main()
