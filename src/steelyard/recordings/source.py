"""A file of a recording, line by line: plain, gzip or zstd; of any length, and in little memory.

Windows line ends, byte order marks and bytes that are not UTF-8 do no harm. A line `### title ###` or
`--- title ---` begins another section; so does a banner of sysstat.
"""

import gzip
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from steelyard.errors import InputError, brief
from steelyard.recordings.limits import Deadline
from steelyard.recordings.schedule import NO_CHOICE, FileChoice

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# how the line begins that stands in place of what is missing
CUT_OFF = b"[cut off here"
_ZSTD = b"\x28\xb5\x2f\xfd"
_UNPACKED_BY = {b"\xfd7zXZ\0": "xz -dk", b"BZh": "bunzip2 -k", b"PK\x03\x04": "unzip"}
# raised on a packed file that ends too early or is damaged
DAMAGE = (OSError, EOFError, zlib.error, zstd.ZstdError)
HEAD_CHARACTERS = 1 << 16
# longer files are of one tool, and have one format
_SECTIONS_BYTES = 64 << 20
# a line of a report is shorter: what is longer is cut, and not understood
_LONGEST_LINE = 1 << 16
# lines between two looks at the clock
_CHECKED = 1000
_LINES_MAX = 100_000
_SECTION = re.compile(r"### (\S.*?) ###(.*)|--- ([^\s-].*?) ---(.*)")
# of sysstat, at the beginning of each of its outputs
BANNER = re.compile(r"(?:Linux|SunOS) \S+ \((\S+)\)\s+(\d\S*)(?:\s+_\S+_\s+\((\d+) CPU\))?")
# a number that was too wide for its column
_TOO_WIDE = re.compile(r"""(?<![^\s,|"'>])#{2,}(?![^\s,|"'<%)])""")
_TITLE = re.compile(r"\s*#+\s+[A-Za-z=.]|#+$")

Line = tuple[int, str]


@dataclass
class Skipped:
    """Lines that no reader understood: their number, and the first of them.

    cut_off_at: number of the line at which the file ends too early; None: it is whole.
    """

    cut_off_at: int | None = None
    count: int = 0
    lines: list[Line] = field(default_factory=list[Line])
    _in_part: set[int] = field(default_factory=set[int])

    def add(self, number: int, text: str, in_part: bool = False) -> None:
        """Counts a line, and keeps it among the first. in_part: a cell alone, the others count."""
        if number in self._in_part or (in_part and self.count >= _LINES_MAX):
            return
        if in_part:
            self._in_part.add(number)
        self.count += 1
        if self.count <= _LINES_MAX:
            self.lines.append((number, brief(text.strip(), 120)))


@dataclass(frozen=True)
class Source:
    """A file, or a section of it. inner: its lines; None: the whole file. choices: a schedule's for it."""

    path: Path
    title: str = ""
    inner: tuple[Line, ...] | None = None
    choices: FileChoice = NO_CHOICE
    skipped: Skipped = field(default_factory=Skipped)
    deadline: Deadline = field(default_factory=Deadline)

    def lines(self) -> Iterator[Line]:
        """Number and text of each line, without its end; reports cells of `####`. Raises InputError."""
        for number, text in self._numbered():
            if "##" in text and _TOO_WIDE.search(text) and not _TITLE.match(text):
                self.skip(number, text, in_part=True)
            yield number, text

    def _numbered(self) -> Iterator[Line]:
        if self.inner is not None:
            yield from self.inner
            return
        done = 0
        with closing(opened(self.path)) as file:
            for number, raw in enumerate(_raw_lines(file), start=1):
                done += len(raw)
                if number % _CHECKED == 0:
                    self.deadline.check(self.path, done)
                if raw.startswith(CUT_OFF):
                    self.skipped.cut_off_at = number
                text = raw.decode("utf-8", "replace").rstrip("\r\n").replace("\0", "\ufffd")
                if number == 1:
                    text = text.removeprefix("\ufeff")
                yield number, text

    def head(self) -> str:
        """The first lines, for `sniff`. Raises InputError."""
        return "\n".join(text for _, text in _until(self._numbered(), HEAD_CHARACTERS)[0])

    def text(self) -> str:
        """All of it. Raises InputError for a file that is too long to be held."""
        lines, whole = _until(self.lines(), _SECTIONS_BYTES)
        if not whole:
            raise InputError(f"{self.path}: longer than {_SECTIONS_BYTES:,} bytes")
        return "\n".join(text for _, text in lines)

    def skip(self, number: int, text: str, in_part: bool = False) -> None:
        """Reports a line that is not understood, or of which a cell is not; not blank lines and rulers."""
        if in_part or text.strip(" \t-=~*_|+.#\f"):
            self.skipped.add(number, text, in_part)

    def place(self, number: int = 0) -> str:
        """File and line, for messages; 0: its first line."""
        return f"{self.path}:{number or self.first}"

    @property
    def first(self) -> int:
        """Number of its first line."""
        return self.inner[0][0] if self.inner else 1

    def sections(self) -> "list[Source]":
        """The parts of a file that titles divide, or banners; the file itself where there are none."""
        head = self.head().split("\n")
        banners = 0
        if any(map(BANNER.match, head)):
            banners = sum(bool(BANNER.match(line)) for _, line in self._numbered())
        if banners < 2 and not any(_SECTION.fullmatch(line) for line in head):
            return [self]
        lines, whole = _until(self._numbered(), _SECTIONS_BYTES)
        if not whole:
            if banners > 1:
                raise InputError(f"{self.path}: {banners} outputs in one long file", "split the file")
            return [self]
        parts: list[tuple[str, list[Line]]] = [("", [])]
        for number, text in lines:
            if found := _SECTION.fullmatch(text):
                title, rest = found[1] or found[3], (found[2] or found[4] or "").strip()
                parts.append((title, [(number, rest)] if rest else []))
            elif banners > 1 and BANNER.match(text):
                parts.append(("", [(number, text)]))
            else:
                parts[-1][1].append((number, text))
        return [
            replace(self, title=title, inner=tuple(lines))
            for title, lines in parts
            if any(text.strip() for _, text in lines)
        ]


def several_runs(source: Source, line: int) -> InputError:
    """For a log whose beginning comes again: the time between two runs would count."""
    return InputError(
        f"{source.path}:{line}: another run begins in this file", "give each run a file of its own"
    )


def _until(lines: Iterator[Line], most: int) -> tuple[list[Line], bool]:
    """The first lines, and whether they are all: the last one passes so many characters."""
    found: list[Line] = []
    for line in lines:
        found.append(line)
        most -= len(line[1]) + 1
        if most < 0:
            return found, False
    return found, True


def _raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while line := file.readline(_LONGEST_LINE):
            yield line
    except (OSError, EOFError) as error:
        # cut off in the middle: what came before it counts
        yield CUT_OFF + f": {brief(str(error))}]".encode()
    except DAMAGE as error:
        yield f"[damaged here: {error}]".encode()


def is_packed(path: Path) -> str:
    """`gzip`, `zstd`, or `none`, by the first bytes of the file. Raises InputError."""
    with plain(path) as file:
        magic = file.read(6)
    for begin, program in _UNPACKED_BY.items():
        if magic.startswith(begin):
            raise InputError(f"{path}: packed in a way not read here", f"unpack it first: {program} {path}")
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic.startswith(_ZSTD) else "none"


def is_cut_off(path: Path, deadline: Deadline) -> bool:
    """Whether the file is gzip or zstd, and not whole. Raises InputError."""
    if is_packed(path) == "none":
        return False
    try:
        with opened(path) as file:
            done = 0
            while part := file.read(1 << 20):
                done += len(part)
                deadline.check(path, done)
    except DAMAGE:
        return True
    return False


def plain(path: Path) -> IO[bytes]:
    """The file itself, open. Raises InputError."""
    try:
        # without O_NONBLOCK, opening a pipe without a writer would block
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(
            f"{path}: cannot be read: it is no file", "name files, or give a folder with --by-folder"
        )
    return os.fdopen(handle, "rb")


def opened(path: Path) -> IO[bytes]:
    """The file, unpacked: reading raises one of DAMAGE where it was cut off. Raises InputError."""
    packed = is_packed(path)
    if packed == "gzip":
        return gzip.open(path, "rb")  # pyright: ignore[reportReturnType]
    return zstd.open(path, "rb") if packed == "zstd" else plain(path)  # pyright: ignore[reportReturnType]
