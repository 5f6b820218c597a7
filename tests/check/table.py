# SPDX-License-Identifier: Apache-2.0
"""Checks that --help, the completion and the man pages say the same about commands and options.

All but the man pages come from one table in src/cmd/table.c, so a difference between the first two is a mistake in how
they are made, and one with the third is a page that was forgotten.
"""
import os
import re
import subprocess
import sys

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MURPHY = os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy"))

# "  -o, --output FILE   Help." and, in a man page, "     -o, --output FILE".
OPTION = re.compile(r"^ {2,6}(?:-(\w), +)?--([a-z-]+)(?: (\S+(?: \| \S+)*))?(?= {2,}|$)", re.MULTILINE)
ENTRY = re.compile(r"^ {2,6}([a-z]+)(?= {2,}|$)", re.MULTILINE)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def manual(page):
    """The page as it is read, without overstrikes, on lines wide enough for a synopsis."""
    text = output("mandoc", "-Tascii", "-Owidth=400", os.path.join(ROOT, "man", page))
    return re.sub(r".\x08", "", text)


def section(text, title):
    match = re.search(rf"^{title}\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    return match.group(1) if match else ""


def words(text):
    return re.sub(r"\s*\|\s*", "|", " ".join(text.split()))


def options(text):
    """(letter, name, argument) of each option that a list explains, in order."""
    return [(letter, name, words(argument)) for letter, name, argument in OPTION.findall(text)]


def help_of(text):
    """Synopsis, options and commands that --help shows."""
    usage = re.search(r"^Usage: (.*?)\n\n", text, re.DOTALL).group(1)
    parts = {title: body for title, body in re.findall(r"^(Options|Commands):\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)}
    return words(usage), options(parts.get("Options", "")), ENTRY.findall(parts.get("Commands", ""))


def same(what, one, other):
    return [] if one == other else [f"{what} differ:", f"  help:  {one}", f"  other: {other}"]


def completed(script, *line):
    """What bash offers at the end of a command line."""
    ask = """source /dev/stdin; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_murphy; printf '%s\\n' "${COMPREPLY[@]}" """
    command = ["bash", "-c", ask, "bash", *line]
    return subprocess.run(command, input=script, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def spelled(listed):
    """All spellings of options, as completion offers them."""
    return sorted([f"--{name}" for _, name, _ in listed] + [f"-{letter}" for letter, _, _ in listed if letter])


def check_command(tap, name, script):
    text = output(MURPHY, "help", name)
    usage, listed, _ = help_of(text)
    tap.ok(f"{name} --help is help {name}", same("texts", text, output(MURPHY, name, "--help")))
    tap.ok(f"{name}: help fits 80 columns", [f"too long: {line}" for line in text.split("\n") if len(line) > 80])

    in_usage = re.findall(r"--([a-z-]+)(?: ([^]\s]+))?", usage)
    tap.ok(f"{name}: the usage has each option", same("options", in_usage, [(n, a) for _, n, a in listed]))
    offered = sorted(completed(script, "murphy", name, "-"))
    tap.ok(f"{name}: completion offers its options", same("options", spelled(listed), offered))
    for _, option, argument in listed:
        if "|" in argument:
            choices = argument.split("|")
            tap.ok(f"{name}: completion offers the values of --{option}",
                   same("values", choices, completed(script, "murphy", name, f"--{option}", ""))
                   + same("values", choices, completed(script, "murphy", name, f"--{option}", "=", "")))
    if name == "help":
        return
    page = manual(f"murphy-{name}.1")
    tap.ok(f"murphy-{name}(1): its synopsis is that of --help",
           same("synopses", usage, words(section(page, "SYNOPSIS"))))
    tap.ok(f"murphy-{name}(1): its options are those of --help",
           same("options", listed, options(section(page, "OPTIONS"))))


def self_test(tap):
    text = ("Usage: murphy x [--one A|B]\n           [--two]\n\nOptions:\n"
            "  -o, --one A|B   Says --this.\n      --two\n                  More.\n")
    want = ("murphy x [--one A|B] [--two]", [("o", "one", "A|B"), ("", "two", "")], [])
    tap.ok("self-test: a help text is read", same("readings", want, help_of(text)))
    page = "OPTIONS\n     -o, --one A | B\n             Says --this.\n\n     --two   More.\n\nSEE ALSO\n     --three\n"
    tap.ok("self-test: a man page is read", same("readings", want[1], options(section(page, "OPTIONS"))))
    tap.ok("self-test: a difference is seen", [] if same("readings", want[1], want[1][:1]) else ["it is not"])


def main():
    tap = Tap()
    self_test(tap)
    script = output(MURPHY, "--completion", "bash")
    text = output(MURPHY, "--help")
    usage, listed, commands = help_of(text)
    page = manual("murphy.1")

    tap.ok("there are commands", [] if "profile" in commands else [f"found {commands}"])
    tap.ok("help is --help", same("texts", text, output(MURPHY, "help")))
    tap.ok("help fits 80 columns", [f"too long: {line}" for line in text.split("\n") if len(line) > 80])
    tap.ok("completion offers commands and options",
           same("words", sorted(commands + spelled(listed)), sorted(completed(script, "murphy", ""))))
    tap.ok("completion offers commands behind help", same("words", commands, completed(script, "murphy", "help", "")))
    tap.ok("murphy(1): its synopsis is that of --help", same("synopses", usage, words(section(page, "SYNOPSIS"))))
    tap.ok("murphy(1): its commands are those of --help",
           same("commands", commands, ENTRY.findall(section(page, "COMMANDS"))))
    tap.ok("murphy(1): its options are those of --help", same("options", listed, options(section(page, "OPTIONS"))))
    for name in commands:
        check_command(tap, name, script)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
