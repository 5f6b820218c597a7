#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks data/relevance and data/aliases.

Every line must parse as the header of its file says; nothing may be said twice or in contradiction; functions must
exist in libc, or in the library that their name tells, and not be aliases; constants must have the value of this
system. What the file says of NULL and -1 as arguments is tried: each function of the table CALLS is called so in a
process of its own. First the check proves on broken samples that it can fail.

usage: relevance.py [DATA-FOLDER]   exit status 0 if all is well, 1 with one line a mistake otherwise
"""
import ctypes
import errno
import fcntl
import mmap
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path

import data

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
NAMES = rf"{NAME}(?:,{NAME})*"
FUNCTIONS = rf"(?:\*|{NAMES})"
ERROR = rf"(?:E[A-Z0-9]+|={NAME}|-|\*)"
ARGUMENTS = r"[0-5](?:,[0-5])*"
VALUES = r"-?[A-Za-z0-9_]+(?:,-?[A-Za-z0-9_]+)*"
WORDS = "file|dir|socket|pipe|tty|remote|nonblocking|written|unwritten|flushed|failed|pending|stdout|stderr|handler|any-handler"
ON_DESCRIPTOR = r"(?:^|[ |])(?:file|dir|socket|pipe|tty|nonblocking|written|unwritten|flushed|stdout|stderr)\b"
ONE_TEST = rf"(?:{WORDS}|arg[0-5][=!&~]{VALUES}|arg[0-5]:(?:fixed|date))"
TESTS = rf"{ONE_TEST}(?:\|{ONE_TEST})*(?: {ONE_TEST}(?:\|{ONE_TEST})*)*"
CLASS = "data-loss|security|crash|wrong-result|leak|harmless"
GRAVE = ("data-loss", "security", "crash")
CAUSE = "memory|limit|disk|hardware|network|peer|permission|missing|race|signal|input|config|bug"
EFFECT = "ok|error|crash|wrong"
KIND = "path|file|dir|socket|pipe|tty|memory|other|like:[0-5]"
LINES = {
    "group": rf"(?P<group>[a-z0-9_]+) (?P<names>{NAMES})",
    "constant": rf"(?P<constant>{NAME}) (?P<value>-?(?:0x)?[0-9a-f]+)",
    "fail": rf"(?P<names>{FUNCTIONS}) (?P<errors>{ERROR}(?:,{ERROR})*) (?:common|possible|rare|contrived)"
    rf"(?P<cause> when (?:{CAUSE}))?(?: if (?P<tests>{TESTS}))?",
    "unnoticed": rf"(?P<names>{FUNCTIONS}) (?P<class>{CLASS})(?: if (?P<tests>{TESTS}) else (?:{CLASS}))?",
    "ignore": rf"(?P<names>{NAMES})(?: if (?P<tests>{TESTS}))?",
    "lost": rf"(?P<names>{NAMES}) (?P<errors>{ERROR}(?:,{ERROR})*)(?: if (?P<tests>{TESTS}))?",
    "short": rf"(?P<names>{NAMES}) (?:common|possible|rare)(?: if (?P<tests>{TESTS}))?",
    "answer": rf"(?P<names>{NAMES})",
    "nothing": rf"(?P<names>{NAMES})",
    "again": rf"(?P<names>{NAMES})(?: (?P<others>{NAMES}))?",
    "absent": rf"(?P<names>{NAMES})",
    "now": rf"(?P<names>{NAMES})(?: \d(?: \d+(?:,\d+)*)?)?",
    "kept": rf"(?P<names>{NAMES}) [0-5] (?P<others>{NAMES})",
    "forgets": rf"(?P<names>{NAMES}) [0-5]",
    "null": rf"(?P<names>{NAMES}) (?P<arguments>{ARGUMENTS}) (?P<effect>{EFFECT})",
    "minus": rf"(?P<names>{NAMES}) (?P<arguments>{ARGUMENTS}) (?P<effect>{EFFECT})",
    "opens": rf"(?P<names>{NAMES}) (?P<place>ret|arg[0-5]\[[0-9]\]) (?:fd|stream|dir) (?:{KIND}) "
    r"(?:read|write|both|(?:flags|mode|like):[0-5])",
    "writes": rf"(?P<names>{NAMES}) (?:[0-5]|stdout)",
    "flushes": rf"(?P<names>{NAMES}) [0-5]",
    "closes": rf"(?P<names>{NAMES}) [0-5]",
    "reads": rf"(?P<names>{NAMES}) (?:[0-5]|stdin)",
    "on": rf"(?P<names>{NAMES}) [0-5]",
}


def read_facts(text):
    """(line, keyword, match or None) of each fact, with the functions of its groups."""
    groups = {}
    for at, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            rest = re.sub(r"@(\w+)", lambda use: groups.get(use[1], use[0]), rest)
            match = re.fullmatch(LINES[word], rest) if word in LINES else None
            if match and word == "group":
                groups[match["group"]] = match["names"]
            yield at, word, match


def keys(word, match):
    """What a fact is about, which no other may be about. A function may have several `ignore` lines with tests."""
    group = match.groupdict()
    if word == "constant":
        return [(word, group["constant"])]
    if word == "group":
        return [(word, group["group"])]
    names = group["names"].split(",")
    if word in ("fail", "lost"):
        return [(word, name, error) for name in names for error in group["errors"].split(",")]
    if word in ("null", "minus"):
        return [(word, name, arg) for name in names for arg in group["arguments"].split(",")]
    if word in ("ignore", "short"):
        return [(word, name, group["tests"]) for name in names]
    if word == "opens":
        return [(word, name, group["place"]) for name in names]
    return [(word, name) for name in names]


def check_errors(at, errors):
    for error in errors:
        if error in data.ALIASES:
            yield at, f"{error} is an alias (write {data.ALIASES[error]})"
        elif error[0] == "E" and error not in data.ERRNOS:
            yield at, f"{error} is not an errno of Linux"


def used_constants(group):
    """Names of constants in the tests and the errors of a fact."""
    tests = re.findall(r"arg[0-5][=!&~]([^ |]+)", group.get("tests") or "")
    values = [value for test in tests for value in test.split(",")]
    values += [error[1:] for error in (group.get("errors") or "").split(",") if error.startswith("=")]
    return [value for value in values if not re.fullmatch(r"-?(?:0x[0-9a-f]+|[0-9]+)", value)]


def check_line(at, word, match, seen, constants):
    for key in keys(word, match):
        if key in seen:
            yield at, f"{' '.join(str(part) for part in key if part)} stands in line {seen[key]} already"
        seen.setdefault(key, at)
    group = match.groupdict()
    if word == "constant":
        constants[group["constant"]] = at
    if word in ("fail", "lost"):
        yield from check_errors(at, group["errors"].split(","))
    if word == "fail":
        if group["names"] == "*" and not group["cause"]:
            yield at, "no `when`, where all functions are meant"
    for name in used_constants(group):
        if name not in constants:
            yield at, f"no line `constant {name} VALUE` above"
        constants[name] = 0


def check_uses(facts):
    """Each function is known to have its descriptor in one place, if a test speaks of it."""
    uses = {}
    for at, word, match in facts:
        if match and word in ("on", "reads", "writes", "flushes", "closes"):
            for name in match["names"].split(","):
                if name in uses:
                    yield at, f"the descriptor of {name} stands in line {uses[name]} already"
                uses[name] = at
    for at, word, match in facts:
        for name in match["names"].split(",") if match and word in ("fail", "unnoticed", "ignore") else ():
            if name != "*" and re.search(ON_DESCRIPTOR, match["tests"] or "") and name not in uses:
                yield at, f"no line says which argument of {name} is its descriptor"


def check_relevance(text):
    """Mistakes in the file of relevance, as (line, what)."""
    lines = text.split("\n")
    yield from data.check_start(lines, "murphy relevance of errors")
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    seen, constants, facts = {}, {}, list(read_facts(text))
    for at, word, match in facts:
        if match:
            yield from check_line(at, word, match, seen, constants)
        else:
            yield at, f"not a fact that the header describes: {lines[at - 1]!r}"
    for name, at in constants.items():
        if at:
            yield at, f"constant {name} is not used"
    for name in set(re.findall(r"^group (\w+)", text, re.M)) - set(re.findall(r"@(\w+)", re.sub("#.*", "", text))):
        yield seen.get(("group", name), 1), f"group {name} is not used"
    for key in (("fail", "*", "*"), ("fail", "*", "-"), ("unnoticed", "*")):
        if key not in seen:
            yield len(lines), f"no line `{' '.join(key)}`: some functions would have no meaning"
    yield from check_uses(facts)
    grave = {}
    for at, word, match in facts:
        if match and word == "unnoticed" and not match["tests"] and match["class"] in GRAVE:
            grave.update((name, match["class"]) for name in match["names"].split(","))
    for at, word, match in facts:
        if match and word == "ignore" and not match["tests"]:
            for name in match["names"].split(","):
                if name in grave:
                    yield at, f"{name} may be ignored, but means {grave[name]} if unnoticed"


def check_aliases(text):
    """Mistakes in the file of aliases, as (line, what)."""
    lines = text.split("\n")
    yield from data.check_start(lines, "murphy aliases of functions")
    if lines[-1] != "":
        yield len(lines), "no newline at the end"
    seen, written, last = {}, {}, None
    for at, line in enumerate(lines, 1):
        if line == "" or line.startswith("#"):
            last = None
            continue
        match = re.fullmatch(rf"({NAME}) ({NAME})(?: (?:[0-9]|-)(?:,(?:[0-9]|-))*\+?)?", line)
        if not match:
            yield at, f"not 'IMPORTED WRITTEN [ARGUMENTS]': {line!r}"
            continue
        if match[1] in seen:
            yield at, f"{match[1]} stands in line {seen[match[1]]} already"
        if last is not None and match[1] < last:
            yield at, f"{match[1]} comes after {last}"
        last = match[1]
        seen.setdefault(last, at)
        written[match[2]] = at
    for name in written.keys() & seen.keys():
        yield written[name], f"{name} is itself an alias (write what it stands for)"
    if not seen:
        yield len(lines), "no alias"


def names_in(text):
    """Function → line where it stands first."""
    found = {}
    for at, word, match in read_facts(text):
        if match and word != "constant":
            for group in (match["names"], match.groupdict().get("others")):
                for name in (group or "*").split(","):
                    found.setdefault(name, at)
    found.pop("*", None)
    return found


# What names of functions start with that are not libc's.
OTHERS = {"gz": "libz.so.1", "sqlite3_": "libsqlite3.so.0", "xml": "libxml2.so.2", "SSL_": "libssl.so.3",
          "g_": "libglib-2.0.so.0"}
CRYPTO = r"(BIO|CRYPTO|DH|DSA|EC_KEY|ENGINE|RSA|UI|X509|X509_STORE|X509_STORE_CTX)_[a-z]"


def home_of(name, libc):
    """The name of the library that should have a function, and the library itself; None if it is not installed."""
    library = next((of for start, of in OTHERS.items() if name.startswith(start)), None)
    if re.match(CRYPTO, name):
        library = "libcrypto.so.3"
    if not library:
        return "libc", libc
    try:
        return library, ctypes.CDLL(library)
    except OSError:
        return library, None


def check_names(text, aliases, libc):
    """Functions that are aliases, or that their library does not have."""
    imported = set(re.findall(rf"^({NAME}) ", aliases, re.M))
    for name, at in names_in(text).items():
        if name in imported:
            yield at, f"{name} is an alias (see the file aliases)"
        elif libc is not None and not name.startswith("_Z"):
            library, home = home_of(name, libc)
            if home and not hasattr(home, name):
                yield at, f"{library} has no function {name}"


def check_constants(text):
    """Constants that have another value here, as far as Python knows them."""
    for at, word, match in read_facts(text):
        if not match or word != "constant":
            continue
        for module in (os, fcntl, socket, mmap, time, signal):
            here = getattr(module, match["constant"], None)
            if here is not None and int(here) != int(match["value"], 0):
                yield at, f"{match['constant']} is {int(here)} here"


# --- NULL and -1, tried -----------------------------------------------------------------------------------------------

# Functions with arguments that they take well: s text, w wide text, f format, r mode of fopen, p path that does not
# exist, o folder, q file, b buffer, a pointers, P pointer to NULL, N NULL, d descriptor, k socket, Y terminal, F
# stream, D directory stream, 0 1 2 small numbers, n 8, z 4096, t time, m broken-down time, i iconv, e regular
# expression, c compare function, T template of a temporary file, x mutex, v condition, y semaphore.
CALLS = """
free:b malloc_usable_size:N realloc:Nn reallocarray:Nnn malloc:n calloc:nn
memcpy:bsn memmove:bsn mempcpy:bsn memcmp:ssn bcmp:ssn strcpy:bs strncpy:bsn strcat:bs strncat:bsn stpcpy:bs stpncpy:bsn
strcmp:ss strncmp:ssn strcasecmp:ss strncasecmp:ssn strcoll:ss strverscmp:ss strstr:ss strcasestr:ss strspn:ss
strcspn:ss strpbrk:ss wcscmp:ww wcscpy:bw memset:b1n memchr:s1n memrchr:s1n rawmemchr:b0 bzero:bn explicit_bzero:bn
strlen:s strnlen:sn strchr:s1 strrchr:s1 strchrnul:s1 index:s1 rindex:s1 strdup:s strndup:sn wcslen:w wcsdup:w wcschr:w1
memmem:snsn strtok:ss strtok_r:ssP strsep:Ps strtol:sN0 strtoll:sN0 strtoul:sN0 strtoull:sN0 strtoimax:sN0 strtoumax:sN0
strtod:sN strtof:sN strtold:sN atoi:s atol:s atoll:s atof:s sscanf:sfb vsscanf:sfb strftime:bnsm strptime:sfm
basename:b dirname:b mbstowcs:bsn wcstombs:bwn mbrtowc:bsnN mbtowc:bsn mblen:sn wctomb:b1 mbrlen:snN
printf:s vprintf:sb puts:s sprintf:bs vsprintf:bsb snprintf:bns vsnprintf:bnsb fprintf:Fs vfprintf:Fsb
dprintf:ds vdprintf:dsb asprintf:Ps vasprintf:Psb fputs:sF fputc:1F putc:1F fputs_unlocked:sF fputc_unlocked:1F
putc_unlocked:1F
fwrite:b1nF fread:b1nF fwrite_unlocked:b1nF fread_unlocked:b1nF fgetc:F getc:F getc_unlocked:F fgetc_unlocked:F
fgets:bnF fgets_unlocked:bnF getline:PaF getdelim:Pa1F fscanf:Fs vfscanf:Fsb ungetc:1F fclose:F pclose:F feof:F
ferror:F fileno:F clearerr:F rewind:F ftell:F ftello:F fseek:F00 fseeko:F00 fgetpos:Fb fsetpos:Fb setvbuf:FN2n setbuf:FN
setlinebuf:F flockfile:F funlockfile:F fflush:F fflush_unlocked:F fopen:pr fdopen:dr freopen:prF popen:sr perror:s
opendir:p readdir:D closedir:D rewinddir:D telldir:D seekdir:D0 dirfd:D readdir_r:Dba scandir:pPNN
open:p0 creat:p0 stat:pb lstat:pb access:p0 unlink:p rmdir:p mkdir:p0 chdir:p chroot:p chmod:p0 chown:p00 lchown:p00
truncate:p0 mkfifo:p0 readlink:pbn openat:dp0 fstatat:dpb0 faccessat:dp00 unlinkat:dp0 mkdirat:dp0 readlinkat:dpbn
fchmodat:dp00 fchownat:dp000 remove:p rename:pp link:pp symlink:pp symlinkat:pdp realpath:oN getcwd:bz mkstemp:T
mkostemp:T0 mkdtemp:T fstat:db utime:qN utimes:qN utimensat:dqN0 read:dbn write:dbn pread:dbn0 pwrite:dbn0 send:kbn0
recv:kbn1 pipe:b mmap:Nn12d0 munmap:Nn getenv:s secure_getenv:s setenv:ss1 unsetenv:s putenv:b system:s setlocale:0s
textdomain:s bindtextdomain:ss newlocale:1sN duplocale:b freelocale:b iconv_open:ss iconv:iNNNN iconv_close:i
execv:pa execve:paN execvp:pa posix_spawn:bpNNaN wait:N waitpid:1N1 sigaction:nNN sigprocmask:0NN sigemptyset:b
sigfillset:b sigaddset:b1 sigdelset:b1 sigismember:b1 time:N gettimeofday:NN clock_gettime:0b nanosleep:tN localtime:t
gmtime:t ctime:t asctime:m mktime:m timegm:m localtime_r:tb gmtime_r:tb getpwnam:s getgrnam:s regcomp:bs0 regexec:es0N0
regfree:e fnmatch:ss0 glob:s0Nb globfree:b qsort:bnnc bsearch:sbnnc connect:kbn bind:kbn accept:kba getsockname:kba
getpeername:kba freeaddrinfo:N freeifaddrs:N getaddrinfo:ssNP inet_pton:2sb inet_aton:sb inet_addr:s gethostbyname:s
inet_ntop:2bbz if_nametoindex:s dlopen:s1 dlsym:Ns dlclose:N pthread_mutex_lock:x pthread_mutex_unlock:x
pthread_mutex_destroy:x pthread_mutex_init:xN pthread_cond_wait:vx pthread_cond_signal:v pthread_cond_init:vN
pthread_create:bNcN sem_wait:y sem_post:y sem_init:y00 tcgetattr:Yb tcsetattr:Y0b endmntent:F
getmntent:F hasmntopt:as close:d readv:db1 writev:db1 lseek:d00 fsync:d fdatasync:d ftruncate:d0 fchmod:d0 fchown:d00
fchdir:d flock:dn lockf:d00 fcntl:d1 ioctl:d0b isatty:d dup:d dup2:d0 sendfile:d1Nn posix_fadvise:d000
posix_fallocate:d0n fallocate:d00n fdopendir:d ttyname:d ttyname_r:dbn futimens:dN fstatfs:db fstatvfs:db syncfs:d
sync_file_range:d000 copy_file_range:dNdNn0 socket:000 listen:k0 accept4:kba0 sendto:kbn0bn recvfrom:kbn1ba
sendmsg:kb0 recvmsg:kb1 shutdown:k0 getsockopt:k00ba setsockopt:k00bn epoll_wait:db10 inotify_add_watch:ds1
timerfd_settime:d0bN epoll_ctl:d1db mprotect:bn0 msync:bn0 madvise:bn0 killpg:00 setpgid:00 setuid:0 setgid:0 seteuid:0
setegid:0
"""
# They return a pointer; NULL and (void *)-1 say failure.
POINTERS = set(
    "asctime calloc dirname dlopen fdopen fdopendir fopen getcwd malloc mmap newlocale realloc reallocarray realpath "
    "setlocale strndup textdomain bindtextdomain ttyname".split()
)


def prepare(libc):
    """Letter → a function that makes such an argument."""
    for name in ("tmpfile", "opendir", "iconv_open", "calloc"):
        getattr(libc, name).restype = ctypes.c_void_p
    texts = {letter: ctypes.create_string_buffer(text) for letter, text in
             {"s": b"1", "f": b"%d", "r": b"r", "p": b"/nonexistent/name", "o": b"/"}.items()}
    zeros = {letter: ctypes.create_string_buffer(4096) for letter in "tmexvyT"}
    pointers = (ctypes.c_void_p * 64)(ctypes.addressof(zeros["t"]))

    def descriptor():
        fd = os.memfd_create("sample")
        os.pwrite(fd, b"1\n" * 64, 0)
        return fd

    def stream():
        made = ctypes.c_void_p(libc.tmpfile())
        libc.fputs(b"1\n1\n1\n1\n1\n", made)
        libc.rewind(made)
        return made

    def regular_expression():
        libc.regcomp(zeros["e"], texts["s"], 0)
        return zeros["e"]

    makers = {letter: lambda text=text: text for letter, text in (texts | zeros).items()}
    makers |= {letter: lambda number=number: number for letter, number in zip("012nz", (0, 1, 2, 8, 4096))}
    return makers | {
        "q": lambda: f"/proc/self/fd/{descriptor()}".encode(),
        "w": lambda: ctypes.c_wchar_p("1"),
        "b": lambda: ctypes.c_void_p(libc.calloc(1, 4096)),
        "a": lambda: ctypes.byref(pointers),
        "P": lambda: ctypes.byref(ctypes.c_void_p(None)),
        "N": lambda: None,
        "d": descriptor,
        "k": lambda: socket.socketpair()[0].detach(),
        "Y": lambda: os.openpty()[1],
        "F": stream,
        "D": lambda: ctypes.c_void_p(libc.opendir(b"/")),
        "i": lambda: ctypes.c_void_p(libc.iconv_open(b"UTF-8", b"UTF-8")),
        "e": regular_expression,
        "c": lambda: ctypes.cast(libc.strcmp, ctypes.c_void_p),
    }


def call(libc, makers, name, letters, arg, value):
    """In a child: 0 if the function returns well, 1 if it says failure."""
    devnull = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(devnull, number)
    arguments = [makers[letter]() for letter in letters]
    if value != "its own":
        arguments[arg] = ctypes.c_void_p(value)
    function = getattr(libc, name)
    function.restype = ctypes.c_void_p if name in POINTERS else ctypes.c_int
    ctypes.set_errno(0)
    result = function(*arguments)
    if name in POINTERS:
        return result in (None, ctypes.c_size_t(-1).value)
    # Most return -1, some the errno itself; isatty says no by 0.
    number = result > 0 and (name.startswith("posix_") or name == "ttyname_r")
    return result < 0 or number or (result == 0 and ctypes.get_errno() != 0)


def attempt(libc, makers, name, letters, arg, value):
    """What becomes of one call: ok, error, crash, or another word."""
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        status = 99  # an argument could not be made
        try:
            status = call(libc, makers, name, letters, arg, value)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return "crash"
    return {0: "ok", 1: "error"}.get(status, f"status {status}")


def try_arguments(text, libc, tried):
    """Facts about NULL and -1 that are not so here. What is `wrong` is not tried: kill(-1) is such a call."""
    makers = prepare(libc)
    calls = dict(entry.split(":") for entry in CALLS.split())
    for at, word, match in read_facts(text):
        if not match or word not in ("null", "minus") or match["effect"] == "wrong":
            continue
        value = None if word == "null" else ctypes.c_size_t(-1).value
        for name in match["names"].split(","):
            for arg in map(int, match["arguments"].split(",")):
                if arg >= len(calls.get(name, "")):
                    yield at, f"{name} cannot be tried with argument {arg} (add it to CALLS in {Path(__file__).name})"
                    continue
                tried.append(name)
                found = attempt(libc, makers, name, calls[name], arg, value)
                # Without children, wait fails in any case.
                if (found, match["effect"]) == ("error", "ok"):
                    found = {"error": "ok"}.get(attempt(libc, makers, name, calls[name], arg, "its own"), found)
                if found != match["effect"]:
                    yield at, f"{name} with {word} as argument {arg}: {found}, not {match['effect']}"


# --- broken samples ---------------------------------------------------------------------------------------------------

HEAD_RELEVANCE = f"{data.SPDX}\n# murphy relevance of errors, format 1\n"
HEAD_ALIASES = f"{data.SPDX}\n# murphy aliases of functions, format 1\n"
ALL = "fail * * rare when config\nfail * - rare when config\nunnoticed * harmless\n"
GOOD_RELEVANCE = HEAD_RELEVANCE + ALL + (
    "constant O_EXCL 0x80\n\n# files\nfail open,creat EEXIST,ENOENT common when race if handler "
    "arg1&O_EXCL,2|any-handler\n"
    "group all close,dup\nunnoticed @all data-loss if written else harmless\nignore close if unwritten\n"
    "closes close 0\non dup 0\nnull free 0 ok\nminus dup2 0,1 error\n"
    "opens pipe arg0[1] fd pipe write\nopens fopen ret stream file mode:1\nkept fputs 1 ferror\nwrites puts stdout\n"
)
GOOD_ALIASES = HEAD_ALIASES + "__fprintf_chk fprintf 0,2+\n__xmknod mknod 1,2,-\n\n# 64\nopen64 open\n"
# Each follows HEAD_RELEVANCE and ALL; the mistake is in its last line, the sixth where there is one line.
BROKEN_FACTS = {
    "unknown word": "likely open ENOENT",
    "two spaces": "fail open  ENOENT common",
    "no likelihood": "fail open ENOENT",
    "unknown likelihood": "fail open ENOENT sometimes",
    "no such errno": "fail open EWRONG common",
    "alias of an errno": "fail read EWOULDBLOCK common",
    "unknown cause": "fail open ENOENT common when moon",
    "no cause": "fail * EIO rare",
    "unknown test": "fail open ENOENT common if moon",
    "test on no argument": "fail open ENOENT common if arg6=1",
    "no such constant": "fail open EEXIST common if arg1&O_EXCL",
    "constant not used": "constant O_EXCL 0x80",
    "group not used": "group all open,close",
    "no such group": "ignore @all",
    "group twice": "group all open\nignore @all\ngroup all close",
    "group and member": "group all open\nfail @all EIO rare\nfail open EIO rare",
    "error twice": "fail open EIO rare\nfail open EIO rare",
    "no descriptor": "ignore close if file",
    "two descriptors": "on dup2 0\non dup2 1",
    "descriptor read and closed": "closes dup2 0\nreads dup2 1",
    "no else": "unnoticed close data-loss if written",
    "unknown class": "unnoticed close bad",
    "class twice": "unnoticed close leak\nunnoticed close leak",
    "contradiction": "unnoticed close data-loss\nignore close",
    "unknown effect": "null free 0 fine",
    "effect twice": "null free 0 ok\nnull free 0,1 crash",
    "no argument": "null free ok",
    "unknown place": "opens open arg1 fd file read",
    "unknown access": "opens open ret fd file flags",
    "trailing comma": "ignore close,",
    "trailing space": "ignore close ",
}
BROKEN_ALIASES = {
    "no SPDX line": ("# murphy aliases of functions, format 1\nopen64 open\n", 1),
    "no format": (f"{data.SPDX}\nopen64 open\n", 1),
    "one name": (HEAD_ALIASES + "open64\n", 3),
    "bad arguments": (HEAD_ALIASES + "open64 open 0,\n", 3),
    "plus inside": (HEAD_ALIASES + "open64 open 0+,1\n", 3),
    "not sorted": (HEAD_ALIASES + "open64 open\ncreat64 creat\n", 4),
    "twice": (HEAD_ALIASES + "open64 open\n\nopen64 open\n", 5),
    "chain": (HEAD_ALIASES + "__open64 open64\nopen64 open\n", 3),
    "no newline": (HEAD_ALIASES + "open64 open", 3),
    "empty": (HEAD_ALIASES, 3),
}


def self_test():
    """What the check itself gets wrong."""
    for found in (list(check_relevance(GOOD_RELEVANCE)), list(check_aliases(GOOD_ALIASES))):
        if found:
            yield f"self-test: a good sample is refused: {found}"
    broken = [(what, HEAD_RELEVANCE + ALL + fact + "\n", 6 + fact.count("\n"), check_relevance)
              for what, fact in BROKEN_FACTS.items()]
    broken.append(("no defaults", HEAD_RELEVANCE + "ignore close\n", 4, check_relevance))
    broken += [(what, text, line, check_aliases) for what, (text, line) in BROKEN_ALIASES.items()]
    for what, text, line, check in broken:
        found = [at for at, _ in check(text)]
        if line not in found:
            yield f"self-test: '{what}' is not found in line {line} (found: {found})"
    if not list(check_names("ignore open64\n", "open64 open\n", None)):
        yield "self-test: an alias among the functions is not found"
    if not list(check_constants("constant O_EXCL 1\n")):
        yield "self-test: a constant with another value is not found"


def main(arguments):
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "data"
    mistakes = list(self_test())
    tried = []
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "gnu_get_libc_version"):
        libc = None
    mistakes += data.check_file(folder / "aliases", check_aliases)
    mistakes += data.check_file(folder / "relevance", check_relevance)
    if not mistakes:
        aliases = (folder / "aliases").read_text()
        mistakes += data.check_file(folder / "relevance", lambda text: check_names(text, aliases, libc))
        mistakes += data.check_file(folder / "relevance", check_constants)
        if libc is not None:
            mistakes += data.check_file(folder / "relevance", lambda text: try_arguments(text, libc, tried))
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if not mistakes:
        functions = len(names_in((folder / "relevance").read_text()))
        samples = len(BROKEN_FACTS) + 1 + len(BROKEN_ALIASES)
        print(f"relevance of {functions} functions, aliases: fine; {len(tried)} calls with NULL and -1 tried; "
              f"{samples} broken samples refused")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
