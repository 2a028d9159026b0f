"""SQL as tokens and commands, by the lexical rules of a dialect (crates/load/src/statements/lexer.rs)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from steelyard import _core

Kind = Literal["space", "comment", "text", "number", "parameter", "word", "name", "other", "broken"]

_SILENT = ("space", "comment")
# half of a character, as JSON may have it
_SURROGATE = re.compile("[\ud800-\udfff]")
_META = re.compile(r"\\(\w*)((?:[^\n\\]|\\\n|\\.)*)")
# its body may have semicolons between BEGIN and END
_ROUTINE = re.compile(
    r"create ((or replace|aggregate|temp|temporary|definer( \S+){0,2}) )*(function|procedure|trigger|event)\b"
    "|begin not atomic"
)
# MySQL's: END and one of these end no BEGIN
_INNER = {"if", "loop", "while", "repeat"}


class Token(NamedTuple):
    """A piece of SQL. kind: `broken` for the rest of a text whose quote or comment does not end."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a script. at: where it begins, in characters of the script. tokens: of SQL.

    meta: name of a meta-command, without its backslash; rest: what follows it. None: it is SQL.
    """

    at: int
    tokens: Sequence[Token]
    meta: str | None = None
    rest: str = ""

    @property
    def text(self) -> str:
        """As written, comments included: hints and tags act."""
        return "".join(text for _, text in self.tokens).strip()

    @property
    def bare(self) -> str:
        """Without comments."""
        return "".join(" " if kind == "comment" else text for kind, text in self.tokens).strip()


def tokens(sql: str, dialect: str) -> Iterator[Token]:
    """The pieces of the text, in order; together they are the text. dialect: also the name of a protocol
    (crates/load/src/statements/lexer.rs); any other: what all have in common.
    """
    at = 0
    for kind, text in _core.sql_tokens(_SURROGATE.sub("\ufffd", sql), dialect):
        yield Token(kind, sql[at : at + len(text)])
        at += len(text)


def commands_of(sql: str, dialect: str = "postgresql") -> list[str]:
    """The commands of a text, without comments and semicolons."""
    return [command.bare for command in script_of(sql, dialect) if command.meta is None]


def script_of(text: str, dialect: str = "postgresql") -> Iterator[Command]:
    """Commands of SQL and meta-commands in their order, as psql reads them.

    A semicolon within parentheses, or in the body of a function, does not end a command.
    """
    at, part = 0, _Part(0)
    while at < len(text):
        for token in tokens(text[at:], dialect):
            if token.text == "\\" and token.kind == "other":
                break
            at += len(token.text)
            if part.ends_at(token):
                yield from part.command()
                part = _Part(at)
        else:
            break
        meta = _META.match(text, at)
        assert meta is not None
        yield from part.command()
        yield Command(at, (), meta[1].lower(), meta[2].replace("\\\n", " ").strip())
        at = meta.end()
        part = _Part(at)
    yield from part.command()


@dataclass
class _Part:
    """A command of SQL that is being read. blocks: BEGIN and CASE of a routine's body that are open."""

    at: int
    tokens: list[Token] = field(default_factory=list[Token])
    words: list[str] = field(default_factory=list[str])
    parentheses: int = 0
    blocks: int = 0

    def ends_at(self, token: Token) -> bool:
        """Adds a token; whether it is the semicolon that ends the command."""
        if token.text == ";" and self.parentheses <= 0 and self.blocks <= 0:
            return True
        self.parentheses += {"(": 1, ")": -1}.get(token.text, 0)
        if token.kind == "word" or token.text == ";":
            last = self.words[-1] if self.words else ""
            self.words.append(word := token.text.lower())
            if _ROUTINE.match(" ".join(self.words[:7])) and not self.parentheses:
                self.blocks += word == "begin" or (word == "case" and last != "end" and self.blocks > 0)
                # MariaDB's block outside of a routine; an `end` that ended no block
                self.blocks += (last, word) == ("not", "atomic") or (last == "end" and word in _INNER)
                self.blocks -= word == "end" and self.blocks > 0
        self.tokens.append(token)
        return False

    def command(self) -> Iterator[Command]:
        at = self.at
        for token in self.tokens:
            if token.kind not in _SILENT:
                yield Command(at, self.tokens)
                return
            at += len(token.text)
