"""SQL as tokens: literals, names, comments. No grammar: what follows from the lexical rules alone.

https://www.postgresql.org/docs/current/sql-syntax-lexical.html
https://mariadb.com/kb/en/string-literals/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Dialect = Literal["postgresql", "mysql"]
Kind = Literal["space", "comment", "text", "number", "parameter", "word", "name", "other", "broken"]

_NUMBER = r"(?P<number>0[xX][0-9a-fA-F]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
_SPACE = r"(?P<space>\s+)"
_POSTGRESQL = re.compile(
    _SPACE
    + r"|(?P<comment>--[^\n]*)"
    + r"|(?P<block>/\*)"
    + r"|(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'"
    + r"|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)"
    + r"|(?P<parameter>\$\d+)"
    + r"|" + _NUMBER
    + r'|(?P<name>(?:[uU]&)?"(?:[^"]|"")*")'
    + r"|(?P<word>[^\W\d][\w$]*)"
    + r"|(?P<other>[^'\"\\]|\\)",
    re.DOTALL,
)  # fmt: skip
_MYSQL = re.compile(
    _SPACE
    + r"|(?P<comment>--(?=\s|$)[^\n]*|\#[^\n]*)"
    + r"|(?P<block>/\*)"
    + r"|(?P<text>(?:[bBxXnN]|_\w+)?'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
    + r"|(?P<parameter>\?)"
    + r"|" + _NUMBER
    + r"|(?P<name>`(?:[^`]|``)*`)"
    + r"|(?P<word>[^\W\d][\w$]*)"
    + r"|(?P<other>[^'\"`])",
    re.DOTALL,
)  # fmt: skip
_KINDS: tuple[Kind, ...] = ("space", "comment", "text", "number", "parameter", "word", "name", "other")
_LITERALS = ("text", "number")
_LIST = re.compile(r"\( ?\?(?: ?, ?\?)+ ?\)")
_ROWS = re.compile(r"(values \([^()]*\))(?: ?, ?\([^()]*\))+")
_BEFORE_A_SIGN = re.compile(
    r"(?:^|[=<>(,+*/%|]|\b(?:and|or|then|else|when|limit|between|in|select|values|set)) ?$"
)


@dataclass(frozen=True)
class Token:
    """A piece of SQL. kind: `broken` for the rest of a text whose quote or comment does not end."""

    kind: Kind
    text: str

    @property
    def is_literal(self) -> bool:
        """Whether it is a value."""
        return self.kind in _LITERALS


def tokens(sql: str, dialect: Dialect) -> Iterator[Token]:
    """The pieces of the text, in order; together they are the text."""
    pattern = _POSTGRESQL if dialect == "postgresql" else _MYSQL
    at = 0
    while at < len(sql):
        found = pattern.match(sql, at)
        if found is None:
            yield Token("broken", sql[at:])
            return
        if found["block"]:
            end = _block_end(sql, at, nested=dialect == "postgresql")
            yield Token("comment" if end else "broken", sql[at : end or len(sql)])
            at = end or len(sql)
            continue
        kind: Kind = next(kind for kind in _KINDS if found[kind] is not None)
        yield Token(kind, found[0])
        at = found.end()


def _block_end(sql: str, begin: int, nested: bool) -> int | None:
    depth = 0
    for found in re.compile(r"/\*|\*/").finditer(sql, begin):
        depth += 1 if found[0] == "/*" and (nested or depth == 0) else -1 if found[0] == "*/" else 0
        if depth == 0:
            return found.end()
    return None


def normalised(sql: str, dialect: Dialect) -> str:
    """The text without its values: literals and parameters as `?`, lists of them as one, words in lower case.

    What two executions of one statement of an application have in common.
    """
    pieces: list[str] = []
    for token in tokens(sql, dialect):
        if token.kind in ("space", "comment"):
            if pieces and pieces[-1] != " ":
                pieces.append(" ")
        elif token.is_literal or token.kind == "parameter":
            if _signed(pieces):
                pieces.pop()
            pieces.append("?")
        else:
            pieces.append(token.text.lower() if token.kind == "word" else token.text)
    text = "".join(pieces).strip().rstrip(";").rstrip()
    return _ROWS.sub(r"\1", _LIST.sub("(?)", text))


def _signed(pieces: list[str]) -> bool:
    """Whether the last piece is the sign of a number that follows."""
    return bool(pieces) and pieces[-1] in "-+" and _BEFORE_A_SIGN.search("".join(pieces[-3:-1])) is not None
