#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how the time of `murphy check` grows with the number of call sites: in many functions, and in one.

Programs with 1,000, 3,000, 10,000 and 100,000 call sites are assembled; each is checked three times on one thread, and the
fastest counts, as processor time. Four in eight sites check their result, two of these in code that the others share.
Exit status: 0 measured (whatever the figures say), 1 a run failed.
"""
import os
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What a compiler makes of a call whose result is checked, ignored, used, kept on the stack, or wrapped.
SITES = [
    "mov $8, %edi; call malloc@PLT; mov %rax, (%rsp); test %rax, %rax; jne 1f; lea text(%rip), %rdi; "
    "call puts@PLT; 1:",
    "mov $3, %edi; call close@PLT",
    "mov $1, %edi; lea text(%rip), %rsi; mov $1, %edx; call write@PLT; test %rax, %rax; js fail",
    "mov $8, %edi; call malloc@PLT; movb $0, (%rax)",
    "mov $1, %edi; call wrapped; cmp $1, %eax; jne fail",
    "mov $1, %edi; call wrapped",
    "lea text(%rip), %rdi; call strdup@PLT; mov %rax, 8(%rsp)",
    "mov 8(%rsp), %rdi; call unlink@PLT; cmp $-1, %eax; je fail",
]
ENTER, LEAVE = "push %rbx; sub $32, %rsp", "xor %eax, %eax; 2: add $32, %rsp; pop %rbx; ret"


def program(sites, per_function):
    yield ".text"
    yield ".type wrapped, @function; wrapped: sub $8, %rsp; lea text(%rip), %rsi; mov $1, %edx; call write@PLT; " \
          "add $8, %rsp; ret; .size wrapped, .-wrapped"
    for number, first in enumerate(range(0, sites, per_function)):
        name = f"f{number}"
        yield f".globl {name}; .type {name}, @function; {name}: .cfi_startproc; {ENTER}"
        for i in range(first, first + per_function):
            yield SITES[i % len(SITES)].replace("fail", f"fail{number}")
        yield f"{LEAVE}; fail{number}: mov $-1, %eax; jmp 2b; .cfi_endproc; .size {name}, .-{name}"
    yield ".globl main; .type main, @function; main: jmp f0; .size main, .-main"
    yield '.section .rodata; text: .asciz "text"; .section .note.GNU-stack,"",@progbits'


def build(folder, sites, per_function):
    source, target = os.path.join(folder, "p.s"), os.path.join(folder, f"p{sites}.{per_function}")
    with open(source, "w", encoding="ascii") as out:
        out.write("\n".join(program(sites, per_function)) + "\n")
    subprocess.run(["cc", "-o", target, source], check=True)
    return target


def processor_time(command):
    best = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = seconds if best is None else min(best, seconds)
    return best


def main():
    murphy = os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy"))
    print(f"{'call sites':>10} {'in functions of 10':>20} {'in one function':>20}")
    with tempfile.TemporaryDirectory() as folder:
        for sites in 1000, 3000, 10000, 100000:
            row = []
            for per_function in 10, sites:
                try:
                    target = build(folder, sites, per_function)
                    row.append(processor_time([murphy, "check", "--jobs", "1", "--format", "json", target]))
                except (OSError, subprocess.CalledProcessError) as error:
                    print(f"check_linear_bench: {error}", file=sys.stderr)
                    return 1
            print(f"{sites:10} {row[0]:19.3f}s {row[1]:19.3f}s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
