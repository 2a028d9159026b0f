"""A script cut into commands: SQL up to a semicolon or a meta-command, and meta-commands, a line each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.sql_text import script_of
from steelyard.workloads.pgbench.script_error import Place


@dataclass(frozen=True)
class Sql:
    """A command of SQL as written. bare: without comments; quoted: its texts and names in quotes."""

    place: Place
    text: str
    bare: str
    quoted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Meta:
    """A meta-command. name: without its backslash; rest: what follows it."""

    place: Place
    name: str
    rest: str


def commands_of(text: str, file: str) -> Iterator[Sql | Meta]:
    """The commands of a script in their order. Raises InputError for a quote or comment that does not end."""
    for command in script_of(text):
        place = Place(file, 1 + text.count("\n", 0, command.at))
        if command.meta == "" and command.rest.startswith(";"):
            raise place.error("\\; is not supported", "end each command with a semicolon")
        if command.meta is not None:
            yield Meta(place, command.meta, command.rest)
            continue
        at = command.at
        for kind, piece in command.tokens:
            if kind == "broken":
                begin = Place(file, 1 + text.count("\n", 0, text.index(piece, at)))
                raise begin.error("a quote or a comment that begins here does not end")
        quoted = tuple(piece for kind, piece in command.tokens if kind in ("text", "name"))
        yield Sql(place, command.text, command.bare, quoted)
