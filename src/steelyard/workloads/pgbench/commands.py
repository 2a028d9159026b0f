"""A script cut into commands: SQL up to a semicolon or a meta-command, and meta-commands, a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.workloads.pgbench.script_error import Place

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)"
    r"|(?P<quoted>[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|\"[^\"]*\""
    r"|\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?\$(?P=tag)\$)"
    r"|(?P<name>\w+)"
    r"|(?P<open>['\"]|/\*)"
    r"|(?P<joined>\\;)"
    r"|(?P<end>;)"
    r"|\\(?P<meta>\w*)(?P<rest>(?:[^\n\\]|\\\n|\\.)*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Sql:
    """A command of SQL without comments. quoted: its texts in quotes."""

    place: Place
    text: str
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Meta:
    """A meta-command. name: without its backslash; rest: what follows it."""

    place: Place
    name: str
    rest: str


def commands_of(text: str, file: str) -> Iterator[Sql | Meta]:
    """The commands of a script in their order. Raises InputError for a quote or comment that does not end."""
    sql, quoted, begin, before = "", list[str](), 0, 0

    def place(at: int) -> Place:
        return Place(file, 1 + text.count("\n", 0, at))

    for token in _TOKEN.finditer(text):
        piece = text[before : token.start()]
        before = token.end()
        if not sql.strip():
            begin = token.start() - len(piece.lstrip())
        sql += piece
        if token["open"]:
            raise place(token.start()).error("a quote or a comment that begins here does not end")
        if token["joined"]:
            raise place(token.start()).error("\\; is not supported", "end each command with a semicolon")
        if token["comment"]:
            sql += " "
        elif token["quoted"] or token["name"]:
            sql += token[0]
            quoted += [token["quoted"]] if token["quoted"] else []
        else:
            if sql.strip():
                yield Sql(place(begin), sql.strip(), tuple(quoted))
            sql, quoted = "", []
            if token["meta"] is not None:
                rest = token["rest"].replace("\\\n", " ").strip()
                yield Meta(place(token.start()), token["meta"].lower(), rest)
    sql += text[before:]
    if sql.strip():
        yield Sql(place(begin), sql.strip(), tuple(quoted))
