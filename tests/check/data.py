#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the data files: data/kernel/*.errors, data/functions, data/hooks, data/languages,
data/histories and data/constants.

Every line must parse; system calls must be sorted by number, without duplicates, with the numbers and names of
asm/unistd_64.h (where that header is installed); errnos must be Linux names, sorted, no aliases; functions must be
sorted inside their group and be named once. First the check proves on broken samples that it can fail.

usage: data.py [DATA-FOLDER]        exit status 0 if all is well, 1 with one line a mistake otherwise
"""
import errno
import re
import sys
from pathlib import Path

UNISTD = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm/unistd_64.h"),
)
ALIASES = {"EWOULDBLOCK": "EAGAIN", "EDEADLOCK": "EDEADLK", "ENOTSUP": "EOPNOTSUPP"}
# Linux has them, but Python's errno module does not in every version.
MORE_ERRNOS = {"EHWPOISON", "EKEYEXPIRED", "EKEYREJECTED", "EKEYREVOKED", "ENOKEY", "ENOTRECOVERABLE", "ERFKILL"}
ERRNOS = {name for name in dir(errno) if re.fullmatch(r"E[A-Z0-9]+", name)} | MORE_ERRNOS
SPDX = "# SPDX-License-Identifier: Apache-2.0"


def header_numbers():
    """NUMBER -> NAME from the kernel's header, or None if it is not installed."""
    for path in UNISTD:
        if path.is_file():
            found = re.findall(r"^#define __NR_(\w+)\s+(\d+)", path.read_text(), re.M)
            return {int(number): name for name, number in found}
    return None


def check_start(lines, title):
    if not lines or lines[0] != SPDX:
        yield 1, f"the first line is not '{SPDX}'"
    if not any(re.fullmatch(rf"# {re.escape(title)}, format \d+", line) for line in lines):
        yield 1, f"no comment line '# {title}, format N'"


# Behind an errno: [ARG!VALUE|VALUE...] or [ARG=VALUE|VALUE...].
CONDITION = r"\[[0-5][!=]-?(?:0x)?[0-9a-f]+(?:\|-?(?:0x)?[0-9a-f]+)*\]"


def check_errnos(number, names):
    for name in names:
        if name in ALIASES:
            yield number, f"{name} is an alias (write {ALIASES[name]})"
        elif name not in ERRNOS:
            yield number, f"{name} is not an errno of Linux"
    if names != sorted(names):
        yield number, "errnos are not in alphabetical order"
    if len(set(names)) != len(names):
        yield number, "an errno stands twice"


def check_kernel(text, header):
    """Mistakes in a file of system-call errors, as (line, what)."""
    lines = text.split("\n")
    yield from check_start(lines, "murphy kernel errors")
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    last, names = -1, set()
    for at, line in enumerate(lines, 1):
        if line == "" and at == len(lines) or line.startswith("#"):
            continue
        match = re.fullmatch(rf"(\d+) ([a-z_][a-z0-9_]*)((?: E[A-Z0-9]+(?:{CONDITION})?)*)( \.\.\.)?", line)
        if not match:
            yield at, f"not 'NUMBER NAME ERRNO... [...]': {line!r}"
            continue
        number, name = int(match[1]), match[2]
        if number <= last:
            yield at, f"number {number} comes after {last}"
        if name in names:
            yield at, f"{name} stands twice"
        if header is not None and number in header and header[number] != name:
            yield at, f"system call {number} is {header[number]}, not {name}"
        if header is not None and number not in header and name in header.values():
            yield at, f"{name} does not have the number {number}"
        last = max(last, number)
        names.add(name)
        yield from check_errnos(at, re.sub(CONDITION, "", match[3]).split())
    if not names:
        yield len(lines), "no system call"


SUCCESS = "never|zero|number|count|length|character|pointer|value"
NUMBERED = (
    "arguments|cleared|code|descriptor|emptied|file|fills|flags|flushed|hands|items|length|message|misnamed|mode|path|returns|size"
    "|starts|stream|vector|whence"
)
FACT = (
    rf"noreturn|infallible|errno|no-errno|error -?\d+|by-errno -?\d+|success (?:{SUCCESS})|twice|struct|float|returned"
    rf"|done|foreseen|object|only|throws|variadic|(?:{NUMBERED}) \d+"
    r"|stream (?:stdin|stdout)"
)


def check_functions(text):
    """Mistakes in the file of knowledge about functions, as (line, what)."""
    lines = text.split("\n")
    yield from check_start(lines, "murphy knowledge about functions")
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    seen, last = {}, None
    for at, line in enumerate(lines, 1):
        if line == "" or line.startswith("#"):
            last = None
            continue
        match = re.fullmatch(rf"(?:{FACT}) ([A-Za-z_][A-Za-z0-9_.$]*)", line)
        if not match:
            yield at, f"not a fact about a function: {line!r}"
            continue
        name = match[1]
        fact = re.sub(rf"^({NUMBERED}) .*", r"\1", line[: -len(name)])
        if (fact, name) in seen:
            yield at, f"{name} stands in line {seen[fact, name]} already"
        if last is not None and name < last:
            yield at, f"{name} comes after {last}"
        seen.setdefault((fact, name), at)
        last = name
    if not seen:
        yield len(lines), "no function"


def check_list(text, start, pattern, what):
    """Mistakes in a list with one word a line, in order, as (line, what)."""
    lines = text.split("\n")
    yield from check_start(lines, start)
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    found = []
    for at, line in enumerate(lines, 1):
        if line == "" or line.startswith("#"):
            continue
        if not re.fullmatch(pattern, line):
            yield at, f"{what}: {line!r}"
        if found and line <= found[-1]:
            yield at, f"{line!r} is not in order, or stands twice"
        found.append(line)


def check_languages(text):
    """Mistakes in the list of libraries that belong to languages."""
    return check_list(text, "murphy libraries of languages",
                      r"lib[A-Za-z0-9_+.-]+\.so(\.[0-9]+)*|compiler [A-Za-z0-9_+.-]+",
                      "not the name of a library, nor a compiler")


def check_histories(text):
    """Mistakes in the list of files that have what was typed."""
    return check_list(text, "murphy histories", r"\.[*]?[A-Za-z0-9_.-]{3,}", "not a pattern for a hidden file in HOME")


HOOKS = ("close(?:-all|-some)?|dup|fcntl|stream|lock|output|messages|unlock|execve|execveat|execv|execvp|execvpe|execl|"
         "execlp|execle|system|spawn|dlopen|dlclose|dlsym|dlvsym|dladdr|main|fork|look(?:-file|-at)?(?:-old)?|look-x|tell|"
         "move|entry|entry-into|entries|scan(?:-at)?|raw|self|whom|whom2|whoms|advise|thread|control|leave|pin|map|"
         "spent(?:-by)?|end")


def check_hooks(text):
    """Mistakes in the file of what the runtime intercepts for itself, as (line, what)."""
    lines = text.split("\n")
    yield from check_start(lines, "murphy hooks")
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    found = []
    for at, line in enumerate(lines, 1):
        if line == "" or line.startswith("#"):
            continue
        match = re.fullmatch(rf"({HOOKS}) ([A-Za-z_][A-Za-z0-9_]*)", line)
        if not match:
            yield at, f"not 'KIND NAME': {line!r}"
            continue
        if match[2] in [name for _, name in found]:
            yield at, f"{match[2]} stands twice"
        if found and match.groups() < found[-1]:
            yield at, f"{line!r} is not in order"
        found.append(match.groups())
    if not found:
        yield len(lines), "no hook"


def check_constants(text):
    """Mistakes in the file of constants, as (line, what)."""
    lines = text.split("\n")
    yield from check_start(lines, "murphy constants")
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    last = None
    for at, line in enumerate(lines, 1):
        if line == "" or line.startswith("#"):
            continue
        match = re.fullmatch(r"([A-Z][A-Z0-9_]*) (-?[0-9]+|0x[0-9a-f]+)", line)
        if not match:
            yield at, f"not 'NAME VALUE': {line!r}"
            continue
        if last is not None and match[1] <= last:
            yield at, f"{match[1]} comes after {last}"
        last = match[1]
    if last is None:
        yield len(lines), "no constant"


HEAD_CONSTANTS = f"{SPDX}\n# murphy constants, format 1\n"
BROKEN_CONSTANTS = {
    "no format": (f"{SPDX}\nEOF -1\n", 1),
    "no value": (HEAD_CONSTANTS + "EOF\n", 3),
    "not a name": (HEAD_CONSTANTS + "eof -1\n", 3),
    "not a number": (HEAD_CONSTANTS + "EOF minus\n", 3),
    "not sorted": (HEAD_CONSTANTS + "O_RDWR 2\nEOF -1\n", 4),
    "twice": (HEAD_CONSTANTS + "EOF -1\nEOF -1\n", 4),
    "empty": (HEAD_CONSTANTS, 3),
}
HEAD_LANGUAGES = f"{SPDX}\n# murphy libraries of languages, format 1\n"
BROKEN_LANGUAGES = {
    "two words": (HEAD_LANGUAGES + "compiler a b\n", 3),
    "a folder": (HEAD_LANGUAGES + "/lib/libx.so.1\n", 3),
    "not in order": (HEAD_LANGUAGES + "libb.so.1\nliba.so.1\n", 4),
    "twice": (HEAD_LANGUAGES + "liba.so.1\nliba.so.1\n", 4),
    "no newline": (HEAD_LANGUAGES + "liba.so.1", 3),
}
HEAD_HISTORIES = f"{SPDX}\n# murphy histories, format 1\n"
BROKEN_HISTORIES = {
    "all files": (HEAD_HISTORIES + ".*\n", 3),
    "not hidden": (HEAD_HISTORIES + "*_history\n", 3),
    "in a folder": (HEAD_HISTORIES + ".local/state\n", 3),
    "not in order": (HEAD_HISTORIES + ".viminfo\n.lesshst\n", 4),
    "twice": (HEAD_HISTORIES + ".viminfo\n.viminfo\n", 4),
    "no newline": (HEAD_HISTORIES + ".viminfo", 3),
}
HEAD_HOOKS = f"{SPDX}\n# murphy hooks, format 1\n"
BROKEN_HOOKS = {
    "no format": (f"{SPDX}\ndlsym dlsym\n", 1),
    "unknown kind": (HEAD_HOOKS + "clone clone\n", 3),
    "no name": (HEAD_HOOKS + "dlsym\n", 3),
    "twice": (HEAD_HOOKS + "dlopen dlsym\ndlsym dlsym\n", 4),
    "not sorted": (HEAD_HOOKS + "dlsym dlsym\ndlopen dlopen\n", 4),
    "empty": (HEAD_HOOKS, 3),
}
HEAD_KERNEL = f"{SPDX}\n# murphy kernel errors, format 1\n"
HEAD_FUNCTIONS = f"{SPDX}\n# murphy knowledge about functions, format 1\n"
SAMPLE_HEADER = {0: "read", 3: "close", 39: "getpid"}
BROKEN_KERNEL = {
    "no SPDX line": ("# murphy kernel errors, format 1\n0 read EIO\n", 1),
    "no format": (f"{SPDX}\n0 read EIO\n", 1),
    "wrong name": (HEAD_KERNEL + "0 write EIO\n", 3),
    "wrong number": (HEAD_KERNEL + "400 read EIO\n", 3),
    "not sorted": (HEAD_KERNEL + "3 close EIO\n0 read EIO\n", 4),
    "number twice": (HEAD_KERNEL + "3 close EIO\n3 close EIO\n", 4),
    "no such errno": (HEAD_KERNEL + "3 close EWRONG\n", 3),
    "alias": (HEAD_KERNEL + "0 read EWOULDBLOCK\n", 3),
    "errnos not sorted": (HEAD_KERNEL + "3 close EIO EBADF\n", 3),
    "errno twice": (HEAD_KERNEL + "3 close EIO EIO\n", 3),
    "condition on no argument": (HEAD_KERNEL + "9 mmap EBADF[6!-1]\n", 3),
    "condition without a value": (HEAD_KERNEL + "9 mmap EBADF[4!]\n", 3),
    "condition left open": (HEAD_KERNEL + "9 mmap EBADF[4!-1\n", 3),
    "more in the middle": (HEAD_KERNEL + "3 close EBADF ... EIO\n", 3),
    "more twice": (HEAD_KERNEL + "3 close EBADF ... ...\n", 3),
    "two spaces": (HEAD_KERNEL + "3 close  EIO\n", 3),
    "trailing space": (HEAD_KERNEL + "39 getpid \n", 3),
    "empty line inside": (HEAD_KERNEL + "\n0 read EIO\n", 3),
    "no call": (HEAD_KERNEL, 3),
    "no newline": (HEAD_KERNEL + "0 read EIO", 3),
}
BROKEN_FUNCTIONS = {
    "no SPDX line": ("# murphy knowledge about functions, format 1\nnoreturn abort\n", 1),
    "no format": (f"{SPDX}\nnoreturn abort\n", 1),
    "unknown word": (HEAD_FUNCTIONS + "returns abort\n", 3),
    "no name": (HEAD_FUNCTIONS + "noreturn\n", 3),
    "unknown kind": (HEAD_FUNCTIONS + "success often open\n", 3),
    "no kind": (HEAD_FUNCTIONS + "success open\n", 3),
    "argument without a number": (HEAD_FUNCTIONS + "descriptor read\n", 3),
    "two arguments": (HEAD_FUNCTIONS + "descriptor 0 read\n\ndescriptor 1 read\n", 5),
    "a stream that is none": (HEAD_FUNCTIONS + "stream stderr perror\n", 3),
    "two names": (HEAD_FUNCTIONS + "noreturn abort exit\n", 3),
    "not sorted": (HEAD_FUNCTIONS + "noreturn exit\nnoreturn abort\n", 4),
    "twice": (HEAD_FUNCTIONS + "noreturn abort\n\nnoreturn abort\n", 5),
    "no newline": (HEAD_FUNCTIONS + "noreturn abort", 3),
    "empty": (HEAD_FUNCTIONS, 3),
}


def self_test():
    """What the check itself gets wrong: each broken sample must be refused at its line, and good ones must pass."""
    good_kernel = HEAD_KERNEL + "0 read EAGAIN EHWPOISON EIO\n3 close EBADF ...\n39 getpid ...\n500 future EIO\n"
    good_functions = HEAD_FUNCTIONS + "noreturn abort\nnoreturn exit\n\n# C++\nnoreturn _ZSt9terminatev\n"
    for kind, found in (
        ("kernel", list(check_kernel(good_kernel, SAMPLE_HEADER))),
        ("functions", list(check_functions(good_functions))),
    ):
        if found:
            yield f"self-test: a good {kind} sample is refused: {found}"
    for samples, check in (
        (BROKEN_KERNEL, lambda text: check_kernel(text, SAMPLE_HEADER)),
        (BROKEN_FUNCTIONS, check_functions),
        (BROKEN_HOOKS, check_hooks),
        (BROKEN_LANGUAGES, check_languages),
        (BROKEN_HISTORIES, check_histories),
        (BROKEN_CONSTANTS, check_constants),
    ):
        for what, (text, line) in samples.items():
            found = [at for at, _ in check(text)]
            if line not in found:
                yield f"self-test: '{what}' is not found in line {line} (found: {found})"


def check_file(path, check):
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        return [f"{path}: {error}"]
    return [f"{path}:{at}: {what}" for at, what in check(text)]


def main(arguments):
    data = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "data"
    mistakes = list(self_test())
    header = header_numbers()
    kernels = sorted(data.glob("kernel/*.errors"))
    if not kernels:
        mistakes.append(f"{data}/kernel: no *.errors file")
    for path in kernels:
        mistakes += check_file(path, lambda text: check_kernel(text, header))
    mistakes += check_file(data / "functions", check_functions)
    mistakes += check_file(data / "hooks", check_hooks)
    mistakes += check_file(data / "languages", check_languages)
    mistakes += check_file(data / "histories", check_histories)
    mistakes += check_file(data / "constants", check_constants)
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if not mistakes:
        samples = len(BROKEN_KERNEL) + len(BROKEN_FUNCTIONS) + len(BROKEN_HOOKS) + len(BROKEN_CONSTANTS)
        samples += len(BROKEN_LANGUAGES) + len(BROKEN_HISTORIES)
        numbers = "compared with asm/unistd_64.h" if header else "not compared, no asm/unistd_64.h here"
        files = f"{len(kernels)} kernel file(s), functions, hooks, languages, histories, constants"
        print(f"{files}: fine; numbers {numbers}; {samples} broken samples refused")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
