# SPDX-License-Identifier: Apache-2.0
"""The commands that are compared, and the files that they work on: always the same, dates included."""

import collections
import hashlib
import json
import os
import shutil
import subprocess

# rules: for murphy run. given: the file that is standard input. scope: calls from these modules fail, where a program is
# little more than an interface to its library. budget: of murphy test, where all experiments would take too long.
# program: what is analysed, if it is not what the command begins with.
Program = collections.namedtuple("Program", "command rules given scope budget program",
                                 defaults=(None, (), None, None))

MEMORY = "malloc:ENOMEM when call==3"
LATER = "malloc:ENOMEM when call==60"
CHANCE = "malloc:ENOMEM when random(0.02)"
READ = "read:EIO when call==1"
WRITE = "write:ENOSPC when call==1"
OUTPUT = "fwrite:ENOSPC when call==1"

PROGRAMS = {
    "sort": Program(["sort", "-o", "sorted", "text"], [MEMORY, "open:EACCES when call==1"]),
    "ls": Program(["ls", "-l", "folder"], ["opendir:EACCES", "readdir:EIO when call==3"]),
    "cp": Program(["cp", "-r", "folder", "copy"], ["openat:EACCES when call==3", "mkdirat:ENOSPC when call==2"]),
    "mv": Program(["mv", "text", "moved"], [MEMORY, "renameat2:EXDEV when call==1"]),
    "dd": Program(["dd", "if=text", "of=copy", "bs=4k", "status=none"], [READ, WRITE]),
    "od": Program(["od", "-c", "short"], ["fopen:EMFILE when call==1", "fclose:EIO"]),
    "sha256sum": Program(["sha256sum", "text", "data.json"], ["fopen:EACCES when call==2", "fclose:EIO when call==1"]),
    "split": Program(["split", "-l", "100", "text", "part."], [READ, "write:ENOSPC when call==2"]),
    "find": Program(["find", "folder", "-name", "file*", "-size", "-10"], [MEMORY, "readdir:EIO when call==2"]),
    "grep": Program(["grep", "-rn", "number 7", "folder"], [LATER, "read:EIO when call==2"]),
    "sed": Program(["sed", "-i", "s/1/one/", "text"], [LATER, "rename:EACCES"]),
    "gawk": Program(["gawk", '{ s += $1; print s > "sums.out" } END { print s }', "text"], [CHANCE, READ]),
    "mawk": Program(["mawk", "{ n[$2]++ } END { for (w in n) print w, n[w] }", "text"], [MEMORY, READ]),
    "diff": Program(["sh", "-c", "diff -u text other; test $? = 1"], [MEMORY, READ], program="diff"),
    "cmp": Program(["cmp", "text", "text2"], [MEMORY, "read:EINTR when call==1"]),
    "tar": Program(["tar", "cf", "out.tar", "folder"], [MEMORY, WRITE]),
    "gzip": Program(["gzip", "-kf", "text"], [READ, WRITE]),
    "bzip2": Program(["bzip2", "-kf", "text"], [OUTPUT, "fclose:EIO when call==1"], scope=("bzip2", "libbz2.so.1.0")),
    "xz": Program(["xz", "-kf", "text"], ["read:EINTR when call==1", WRITE], scope=("xz", "liblzma.so.5")),
    "zstd": Program(["zstd", "-qkf", "text"], [MEMORY, OUTPUT]),
    "lz4": Program(["lz4", "-qf", "text", "text.lz4"], [MEMORY, OUTPUT]),
    "zip": Program(["zip", "-q", "out.zip", "text", "data.json"], ["rename:EACCES", "fwrite:ENOSPC when call==3"]),
    "unzip": Program(["unzip", "-q", "-o", "made.zip", "-d", "unpacked"], [WRITE, "mkdir:ENOSPC when call==1"]),
    "git": Program(["git", "-C", "repo", "status"], [CHANCE, "open:EMFILE when call==5"]),
    "sqlite3": Program(["sqlite3", "data.db", "insert into t values (4); select sum(n) from t"],
                       [LATER, "fdatasync:EIO"], scope=("sqlite3", "libsqlite3.so.0")),
    "jq": Program(["jq", ".rows | map(.n) | add", "data.json"], [CHANCE, "fopen:EACCES when call==1"],
                  scope=("jq", "libjq.so.1")),
    "xmllint": Program(["xmllint", "--format", "data.xml"], [CHANCE, READ], scope=("xmllint", "libxml2.so.2")),
    "bc": Program(["bc", "-q"], [MEMORY, READ], given="sums"),
    "make": Program(["make", "-s", "-f", "rules.mk"], [CHANCE, "stat:EACCES when call==2"]),
    "ed": Program(["ed", "-s", "text"], [OUTPUT, "fflush:EIO"], given="edits"),
    "m4": Program(["m4", "macros.m4"], [LATER, "fopen:EACCES when call==1"]),
    "patch": Program(["patch", "-s", "text", "change.diff"], [MEMORY, "rename:EXDEV"]),
    "openssl": Program(["openssl", "enc", "-aes-128-cbc", "-K", "00112233445566778899aabbccddeeff", "-iv",
                        "0102030405060708090a0b0c0d0e0f10", "-in", "text", "-out", "secret"],
                       [CHANCE, "malloc:ENOMEM when call==1000"], scope=("openssl", "libcrypto.so.3")),
    "curl": Program(["curl", "-sS", "-o", "page", "file:///etc/passwd"], [LATER, "fopen:EACCES"],
                    scope=("curl", "libcurl.so.4")),
    "perl": Program(["perl", "-e", 'open my $f, "<", "text" or die; while (<$f>) { $n += length } print "$n\\n"'],
                    [LATER, "read:EIO when call==2"]),
    "python3": Program(["python3", "-I", "-S", "-c", "print(sum(len(line) for line in open('text')))"],
                       ["malloc:ENOMEM when call==500", "open:EMFILE when call==4"]),
    "bash": Program(["bash", "-c", "while read -r n rest; do s=$((s + n)); done < text; echo $s > sum; cat sum"],
                    [LATER, "dup2:EMFILE when call==1"]),
    "dash": Program(["dash", "-c", "wc -l < text | sed s/9/nine/ > lines; cat lines"],
                    ["pipe:EMFILE when call==1", "fork:EAGAIN when call==2"]),
    "lua": Program(["lua5.4", "script.lua"], [OUTPUT, "fopen:EACCES when call==2"]),
    "gpg": Program(["gpg", "--no-options", "--homedir", ".", "--batch", "--enarmor", "-o", "armored", "text"],
                   [LATER, "open:EMFILE when call==2"]),
    "rsync": Program(["rsync", "-r", "folder/", "copy"], [LATER, "socketpair:EMFILE"], budget="150runs"),
}
# murphy run goes into what these start, too.
FOLLOWED = ("diff", "make", "dash")
# With these, pairs of faults are tried besides.
PAIRS = ("sort", "gzip", "ed", "zip", "lua")

# Why results of a program vary, whatever tests it.
CHANCE = {
    "patch": "its table of files has chains where inode numbers, which are new each time, fall together",
    "perl": "an endless recursion ends where the stack happens to be full",
    "rsync": "it has three processes, and which of them gets on first is chance",
}
# Temporary files of sed, patch and zip, with names that are drawn behind the group.
DRAWN = r"(\bsed|\btext\.o|\bzi)[A-Za-z0-9]{6}\b"

LINES = "".join(f"{i} line number {i}\n" for i in range(1, 400))
FILES = {
    "text": LINES,
    "text2": LINES,
    "short": LINES[:2000],
    "other": LINES.replace("200 line", "200 other line"),
    "data.json": json.dumps({"rows": [{"n": i, "name": f"row {i}"} for i in range(60)]}),
    "data.xml": "<a>" + "".join(f"<b n='{i}'>text {i}</b>" for i in range(60)) + "</a>\n",
    "script.lua": "local f = assert(io.open('lua.out', 'w'))\nfor i = 1, 50 do f:write(i * i, '\\n') end\n"
    "assert(f:close())\nfor l in io.lines('lua.out') do io.write(l, ' ') end\nprint(os.getenv('HOME') ~= nil)\n",
    "sums": "scale=20\n1/7\nfor (i = 0; i < 20; i++) i^i\nquit\n",
    "rules.mk": "all: one two\n\tcat one two > all.out\none: text\n\thead -n 3 text > one\n"
    "two: text\n\ttail -n 3 text > two\n",
    "edits": "/number 7/s/line/LINE/p\n$a\none more\n.\nw\nq\n",
    "macros.m4": "define(`square', `eval($1 * $1)')dnl\nsquare(7) square(8)\ninclude(`text')dnl\n",
    "change.diff": "--- text\n+++ text\n@@ -1,3 +1,3 @@\n 1 line number 1\n-2 line number 2\n+two\n 3 line number 3\n",
    **{f"folder/file{i}": LINES for i in range(5)},
    "folder/below/deep": "deep\n",
    "repo/tracked": "one\n",
}
DATE = 1000000000
# The order of hashes.
FIXED = {"PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0"}
# What git does must not depend on the day or on who does it.
GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": f"{DATE} +0000", "GIT_COMMITTER_DATE": f"{DATE} +0000",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def environment(folder):
    """Of every command: nothing of whoever compares, but for where programs are found."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C", "TZ": "UTC", **FIXED, **GIT}


def set_dates(folder):
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            os.utime(os.path.join(where, name), (DATE, DATE), follow_symlinks=False)


def make_repo(folder, env):
    # What was changed in the second in which the index was written makes git write it again, or not.
    set_dates(folder)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True, env=env)
    (folder / "tracked").write_text("two, and more\n")
    (folder / "new").write_text("new\n")


def make_files(folder):
    """FOLDER anew, with what the commands read."""
    env = environment(folder)
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    make_repo(folder / "repo", env)
    subprocess.run(["sqlite3", "data.db", "create table t(n); insert into t values (1),(2),(3)"], cwd=folder,
                   check=True, env=env)
    set_dates(folder)
    subprocess.run(["zip", "-qX", "made.zip", "text", "short", "folder/file1"], cwd=folder, check=True, env=env)
    os.utime(folder / "made.zip", (DATE, DATE))
    os.utime(folder, (DATE, DATE))


def path_of(program, folder):
    return shutil.which(program.program or program.command[0], path=environment(folder)["PATH"])


def identity(name, folder):
    """What changes when results of this program can no longer be compared with kept ones."""
    program = PROGRAMS[name]
    with open(os.path.realpath(path_of(program, folder)), "rb") as f:
        content = hashlib.sha256(f.read()).hexdigest()
    return repr((program, FILES, GIT, content, str(folder)))
