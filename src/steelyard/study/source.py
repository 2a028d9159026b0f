"""Text and TOML of a file that the user names; every error names file and line."""

import os
import re
import stat
import tomllib
from collections import deque
from collections.abc import Sequence
from datetime import date, time
from pathlib import Path
from typing import Any, cast

from steelyard.errors import InputError
from steelyard.study.key_types import Toml

_MOST_BYTES = 1 << 20
_DEEPEST = 32
_LONGEST_KEY = 200
_PLACE = re.compile(r"\(at line (\d+), column \d+\)$")
# more digits than Python converts to a number
_ENDLESS = re.compile(r"\d[\d_]{4300}")
_PART = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*"
# a key of so many parts: tomllib takes time quadratic in their number
_DOTTED = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_PART}\.[ \t]*){{{_DEEPEST}}}", re.MULTILINE)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_HEADER = re.compile(r"^\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w.-])+)\s*=""")
_NAME_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(word for groups in _NAME_PART.findall(dotted) for word in "".join(groups).split("."))


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """Number of the line, from 1, of a path, or of the nearest table above it.

    path: keys and, for arrays of tables, indices, as pydantic gives them. None: not in the file.
    """
    best_line, best_depth = None, 0
    # a dot in a name may be quoted; unquoted it separates tables
    sought = [word for part in path for word in str(part).split(".")]
    prefix: tuple[str, ...] = ()
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            prefix = _parts(header[2])
            if header[1] == "[[":
                index = seen[header[2]] = seen.get(header[2], -1) + 1
                prefix = (*prefix, str(index))
            here = prefix
        elif key := _KEY.match(line):
            here = (*prefix, *_parts(key[1]))
        else:
            continue
        # a table may exist only by its subtables
        depth = min(len(here), len(sought))
        if list(here[:depth]) == sought[:depth] and depth > best_depth:
            best_line, best_depth = number, depth
            # an inline table has the rest of the path on the same line
            if depth == len(sought):
                break
    return best_line


def text_of(path: Path, most_bytes: int = _MOST_BYTES) -> str:
    """The text of a file, its lines ended by line feeds. Raises FileNotFoundError, InputError."""
    try:
        # without O_NONBLOCK, opening a pipe without a writer would block
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    try:
        mode = os.fstat(handle).st_mode
        for is_kind, kind in _KINDS:
            if is_kind(mode):
                raise InputError(f"{path}: cannot be read: it is {kind}", "name a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        os.close(handle)
    if len(data) > most_bytes:
        raise InputError(f"{path}: cannot be read: it is longer than {most_bytes:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise InputError(f"{path}:{line}: not UTF-8: byte 0x{byte:02x}", "save the file as UTF-8") from None
    return re.sub("\r\n?", "\n", text)


def toml_of(text: str, origin: str) -> Toml:
    """The content of a TOML text. origin: its name in messages. Raises InputError.

    Refused are numbers beyond 64 bits or not finite, texts with a zero byte, and dates.
    """
    if found := _DOTTED.search(text):
        line = text.count("\n", 0, found.end()) + 1
        raise InputError(f"{origin}:{line}: a key of more than {_DEEPEST} parts")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # tomllib gives the place as text: `(at line 3, column 5)`, `(at end of document)`
        place = _PLACE.search(str(error))
        line = place[1] if place else text.rstrip("\n").count("\n") + 1
        raise InputError(f"{origin}:{line}: not TOML: {error}", "example: steelyard studies demo") from None
    except RecursionError:
        lines = text.split("\n")
        line = 1 + max(range(len(lines)), key=lambda number: len(re.findall(r"[\[{]", lines[number])))
        raise InputError(f"{origin}:{line}: lists or tables nested too deeply") from None
    except ValueError:
        found = _ENDLESS.search(text)
        line = text.count("\n", 0, found.start() if found else 0) + 1
        raise InputError(f"{origin}:{line}: a number with too many digits") from None
    _check(raw, text, origin)
    return raw


def _check(raw: Toml, text: str, origin: str) -> None:
    """Refuses values that are valid TOML and that no key accepts."""
    left: deque[tuple[tuple[str | int, ...], Any]] = deque([((), raw)])
    while left:
        path, value = left.popleft()
        if cause := _wrong(value, len(path)) or (_wrong_key(str(path[-1])) if path else ""):
            where = f"{origin}:{line_of(text, path) or 1}: {'.'.join(map(str, path))}"
            raise InputError(f"{where}: {cause}")
        if isinstance(value, dict):
            left.extend(((*path, key), inner) for key, inner in cast("Toml", value).items())
        elif isinstance(value, list):
            left.extend(((*path, place), inner) for place, inner in enumerate(cast("list[Any]", value)))


def _wrong(value: Any, depth: int) -> str:
    if depth > _DEEPEST:
        return f"tables or lists nested more than {_DEEPEST} deep"
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return "a whole number beyond 64 bits"
    if isinstance(value, float) and not abs(value) < float("inf"):
        return f"{value} is not a finite number"
    if isinstance(value, str) and "\0" in value:
        return "a zero byte is not allowed in a text"
    if isinstance(value, date | time):
        return f"{value} is a date or a time: write it in quotes"
    return ""


def _wrong_key(key: str) -> str:
    if len(key) > _LONGEST_KEY:
        return f"a key of {len(key):,} characters; at most {_LONGEST_KEY}"
    return "a zero byte is not allowed in a key" if "\0" in key else ""
