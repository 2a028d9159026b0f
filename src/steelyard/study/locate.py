"""Finds the line of a key in a TOML file, for error messages: tomllib keeps no positions."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*(\[\[?)([^\[\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w.-])+)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(word for groups in _PART.findall(dotted) for word in "".join(groups).split("."))


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
