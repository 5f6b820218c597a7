# SPDX-License-Identifier: Apache-2.0
"""Reads manual pages: groff sources to text, and the text to facts: which errnos a page documents for a function.

Imported by the scores that compare with documentation.
"""
import errno
import gzip
import re
from collections import defaultdict
from pathlib import Path

ERRNOS = {name: number for name, number in vars(errno).items() if re.fullmatch(r"E[0-9A-Z]+", name)}
ERRNOS.update(EHWPOISON=133, ENOKEY=126, EKEYEXPIRED=127, EKEYREVOKED=128, EKEYREJECTED=129, ENOTSUP=errno.EOPNOTSUPP)
ALIASES = {"EWOULDBLOCK": "EAGAIN", "EDEADLOCK": "EDEADLK", "ENOTSUP": "EOPNOTSUPP"}
NUMBERS = {number: name for name, number in ERRNOS.items() if name not in ALIASES}


def canonical(name):
    """The one name of an errno, or None if Linux has no such errno."""
    name = ALIASES.get(name, name)
    return name if name in ERRNOS else None


# --- manual pages: groff to text --------------------------------------------------------------------------------------

# Parameters of functions are set in italics; they are kept as «word» in the text.
ESCAPES = [
    (r'\\".*', ""),
    (r"\\%|\\:|\\&|\\/|\\,|\\c|\\\||\\\^", ""),
    (r"\\-|\\\(hy|\\\(mi", "-"),
    (r"\\\(aq|\\\[aq\]", "'"),
    (r"\\\(dq|\\\[dq\]", '"'),
    (r"\\\(em|\\\[em\]|\\\(en|\\\[en\]", "-"),
    (r"\\\(\+-", "+-"),
    (r"\\~|\\ |\\0", " "),
    (r"\\e|\\\\", "\\\\"),
    (r"\\s[-+]?\d|\\\(..|\\\[[^]]*\]|\\\*\(..|\\\*\[[^]]*\]", ""),
]


def inline(text):
    """Escapes of one piece of text; italics become «...»."""
    for pattern, plain in ESCAPES:
        text = re.sub(pattern, plain, text)
    text = re.sub(r"\\fI(.*?)(\\f.|$)", r"«\1»", text)
    return re.sub(r"\\f(\(..|.)", "", text)


def arguments(line):
    """The arguments of a macro: words, or what is in double quotes."""
    found = re.findall(r'"((?:[^"]|"")*)"|((?:\\.|[^\s"])+)', line)
    return [quoted.replace('""', '"') if quoted or not bare else bare for quoted, bare in found]


def styled(macro, rest):
    """The text of a font macro: .B, .I, or two fonts in turn (.BR, .IR, ...)."""
    if len(macro) == 1:
        text = " ".join(arguments(rest))
        return f"«{inline(text)}»" if macro == "I" else inline(text)
    parts = []
    for at, argument in enumerate(arguments(rest)):
        text = inline(argument)
        parts.append(f"«{text}»" if macro[at % 2] == "I" and text.strip() else text)
    return "".join(parts)


WANTED = ("NAME", "SYNOPSIS", "RETURN VALUE", "ERRORS")


def sections(source):
    """SECTION -> list of (macro, text): text lines have the macro '', paragraphs and headings their own."""
    found, current = {}, None
    for line in source.replace("\\\n", "").split("\n"):
        match = re.match(r"['.]\s*(\w+|\\\")\s*(.*)", line)
        macro, rest = (match[1], match[2]) if match else ("", line)
        if macro == '\\"' or line.startswith("'\\\""):
            continue
        if macro == "SH":
            title = " ".join(arguments(rest)).upper()
            current = found.setdefault(title, []) if title in WANTED else None
        elif current is None:
            continue
        elif macro in ("B", "I", "BR", "RB", "BI", "IB", "IR", "RI", "SM", "SB"):
            current.append(("", styled({"SM": "R", "SB": "B"}.get(macro, macro), rest)))
        elif macro == "":
            current.append(("", inline(line)))
        else:
            current.append((macro, inline(" ".join(arguments(rest)))))
    return found


def read_page(path, root):
    """(path, source) of the page behind PATH, which may only point to another one (.so); None if that is not there."""
    for _ in range(5):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace") as stream:
            source = stream.read()
        link = re.match(r"(?:['.]\\\".*\n)*\.so (\S+)", source)
        if not link:
            return path, source
        target = root / link[1]
        path = next((p for p in (target, Path(f"{target}.gz")) if p.is_file()), None)
        if path is None:
            return None
    return None


# --- manual pages: text to facts --------------------------------------------------------------------------------------

CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(\)")
REFERENCE = re.compile(r"\b([A-Za-z_]\w*)\s*\(([23])\)")
ELSEWHERE = re.compile(
    r"not on linux|before linux|until linux|linux \S+ to |and earlier|aarch64|alpha|ia-?64|mips|powerpc|s390|sparc",
    re.I,
)


class Page:
    """What one page says: its functions with their parameters, and (function, errno) facts and references."""

    def __init__(self, source):
        self.parts = sections(source)
        self.parameters = {}  # function -> set of parameter names, or None if there is no prototype
        self.errnos = defaultdict(set)
        self.references = defaultdict(set)  # function -> functions whose errors it can have too
        self.retvals = defaultdict(set)
        self.number_style = set()  # functions that return the error number itself
        self.read_synopsis()
        if self.parameters and "ERRORS" in self.parts:
            self.read_errors()
        if self.parameters:
            self.read_retvals()

    def read_synopsis(self):
        text = " ".join(line for macro, line in self.parts.get("SYNOPSIS", []))
        names = " ".join(line for macro, line in self.parts.get("NAME", [])).split(" - ")[0]
        names = [name.strip(" «»") for name in names.split(",")]
        for match in re.finditer(r"\b([A-Za-z_]\w*)\s*\(((?:[^()]|\([^()]*\))*)\)[^;()]*;", text):
            # Others are only shown: ioctl() on the page of one request, syscall() where libc has no function.
            if match[1] in names:
                self.parameters.setdefault(match[1], set()).update(re.findall(r"«\W*(\w+)", match[2]))
        for name in names:
            if re.fullmatch(r"[A-Za-z_]\w*", name):
                self.parameters.setdefault(name, None)

    def mentioned(self, text):
        return {name for name in CALL.findall(text) if name in self.parameters}

    def fits(self, function, body):
        """Not if the text is about a parameter that only other functions of the page have."""
        own = self.parameters[function]
        of_page = {p for parameters in self.parameters.values() if parameters for p in parameters}
        if own is None:
            return True
        about, end = set(), None
        for match in re.finditer(r"«\W*(\w+)[^»]*»", body):
            if match[1] not in of_page:
                continue
            if about and not re.fullmatch(r"[\s,/]*(or|and)?\s*", body[end : match.start()]):
                break
            about.add(match[1])
            end = match.end()
        return not about or bool(about & own)

    @staticmethod
    def paragraphs(lines):
        """(tag or None, text) for each paragraph; the tag is the line behind .TP."""
        result, tag, text, want_tag = [], None, [], False
        for macro, line in lines:
            if macro == "IP" and not line:
                continue  # the entry goes on
            if macro in ("TP", "TQ", "PP", "P", "LP", "IP", "SS"):
                if tag is not None or text:
                    result.append((tag, " ".join(text)))
                tag, text, want_tag = None, [], macro in ("TP", "TQ")
                if macro == "SS":
                    text = [line + ":"]
                elif macro == "IP":
                    tag = line
            elif macro == "" and line.strip():
                if want_tag:
                    tag, want_tag = line, False
                else:
                    text.append(line.strip())
        result.append((tag, " ".join(text)))
        return [(tag, re.sub(r"\s+", " ", text)) for tag, text in result if tag or text]

    def entry_scope(self, tag, body, scope):
        """The functions that an entry is about."""
        for pattern in (
            r"^\(((?:[^()]|\([^()]*\))*\(\)(?:[^()]|\([^()]*\))*)\)",  # (openat()) ...
            r"\(((?:for )?(?:\w+\(\)(?:, and |, or |, | and | or )?)+)\)\.?$",  # ... (setpgid(), setpgrp()).
            r"^(\w+ ?\(\)):",  # mmap(): ...
        ):
            match = re.search(pattern, body)
            if match and self.mentioned(match[1]):
                return self.mentioned(match[1])
        named = set()
        for match in re.finditer(r"(?:^|\. )For ((?:\w+ ?\(\)(?:, and |, or |, | and | or )?)+)", body):
            named |= self.mentioned(match[1])
        return named or self.mentioned(tag) or scope

    def read_errors(self):
        scope = set(self.parameters)
        entries = []  # (errnos, body, scope)
        paragraphs = self.paragraphs(self.parts["ERRORS"])
        self.in_remarks = set().union(*(self.mentioned(text) for tag, text in paragraphs if not tag))
        for tag, text in paragraphs:
            names = re.findall(r"\bE[A-Z0-9]{2,}\b", re.sub(r"\([^)]*\)?", "", tag)) if tag else []
            names = [name for name in map(canonical, names) if name]
            if tag and names:
                remark = re.match(r"^\([^)]*\)", text)
                if ELSEWHERE.search(tag) or remark and ELSEWHERE.search(remark[0]):
                    continue
                entries.append((names, text, self.entry_scope(tag, text, scope)))
                continue
            scope = self.read_remark(f"{tag or ''} {text}", scope, entries)
        for names, body, functions in entries:
            for function in functions:
                if self.fits(function, body):
                    self.errnos[function].update(names)

    def read_remark(self, text, scope, entries):
        """A paragraph between entries: what it refers to, and whom the next entries are about."""
        everyone = set(self.parameters)
        if re.search(r"\b(these|both|all) (functions|system calls)", text, re.I):
            scope = everyone
        for name in re.findall(r"(?:set to|with the error|error code) (E[A-Z0-9]+)", text):
            if canonical(name):
                entries.append(([canonical(name)], "", self.mentioned(text) or scope))
        for sentence in re.split(r"(?<=[.:;]) ", text):
            functions = self.mentioned(sentence)
            others = {name for name, _ in REFERENCE.findall(sentence)}
            match = re.search(r"same errors that occur for (.*?) can also occur for (.*)", sentence)
            if match:
                sources = set(CALL.findall(match[1])) | {name for name, _ in REFERENCE.findall(match[1])}
                for function in self.mentioned(match[2]):
                    self.references[function] |= sources - {function}
            elif re.search(r"same errors apply", sentence) and functions:
                entries += [(names, body, functions) for names, body, _ in list(entries)]
            elif others and re.search(r"\b(any error|errors?|as for|same|fails)\b", sentence, re.I):
                if not re.search(r"\bsee\b", sentence, re.I):
                    for function in functions or scope:
                        self.references[function] |= others - {function}
            if functions and re.search(r"error|fail|^ ?For ", sentence):
                # "The general errors for chmod() are": of its sisters too, unless another remark is about these.
                scope = functions if "additional" in sentence else functions | (everyone - self.in_remarks)
        return scope

    def read_retvals(self):
        for tag, text in self.paragraphs(self.parts.get("RETURN VALUE", [])):
            last = set(self.parameters)
            for sentence in re.split(r"(?<=[.;]) ", f"{tag or ''} {text}".replace("«", "").replace("»", "")):
                last = self.mentioned(sentence) or last
                if re.search(r"\b(these|both|all) functions", sentence, re.I):
                    last = set(self.parameters)
                self.read_retval(sentence, last)
        self.number_style -= {function for function, values in self.retvals.items() if values}

    def read_retval(self, sentence, functions):
        number = r"error (number|code|value)s?"
        if re.search(rf"\breturn\w*\b.{{0,60}}\b{number}|{number} (is|are) returned", sentence):
            self.number_style |= functions
            return
        failure = r"errors?|fails?|failed|failure|failing|unsuccessful|otherwise|could not|cannot|exhausted"
        if not re.search(rf"\b({failure})\b", sentence, re.I):
            return
        if re.search(r"(?<![\w-])-1\b|\bEOF\b|MAP_FAILED|SIG_ERR", sentence):
            value = -1
        elif re.search(r"\bNULL\b|null pointer|SEM_FAILED", sentence, re.I):
            value = 0
        else:
            return
        for function in functions:
            self.retvals[function].add(value)


class Manual:
    """The documented facts of all pages of sections 2 and 3 below ROOT."""

    def __init__(self, root):
        self.errnos, self.retvals = defaultdict(set), defaultdict(set)
        self.number_style, self.references, self.sections = set(), defaultdict(set), defaultdict(set)
        self.pages = 0
        seen = set()
        for section in ("3", "2"):
            for path in sorted((root / f"man{section}").glob(f"*.{section}*")):
                if not re.search(rf"\.{section}(\.gz)?$", path.name):
                    continue
                real, source = read_page(path, root) or (None, "")
                # Other packages put pages into section 3, too; those of the Linux man-pages say so in their title.
                if real is None or real in seen or not re.search(r"^\.TH .*Linux man-pages", source, re.M):
                    continue
                seen.add(real)
                self.add(Page(source), real.parent.name[-1])
        self.documented = {f for f, found in self.errnos.items() if found} | set(self.references)
        self.resolve()

    def add(self, page, section):
        self.pages += 1
        for function in page.parameters:
            if section == "2" and "3" in self.sections[function]:
                continue  # readdir(2) is not what a program calls
            self.sections[function].add(section)
            self.errnos[function] |= page.errnos.get(function, set())
            self.retvals[function] |= page.retvals.get(function, set())
            if page.references.get(function):
                self.references[function] |= page.references[function]
            if function in page.number_style:
                self.number_style.add(function)

    def resolve(self):
        """Adds the errors of the functions that a page refers to, through any number of pages."""
        changed = True
        while changed:
            changed = False
            for function, others in self.references.items():
                before = len(self.errnos[function])
                for other in others:
                    self.errnos[function] |= self.errnos.get(other, set())
                changed |= len(self.errnos[function]) != before
