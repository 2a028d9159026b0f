"""Texts of SQL without their values: what two executions of one statement have in common."""

import re
from collections.abc import Iterator
from typing import Literal

from steelyard import sql_text
from steelyard.sql_text import Token

Dialect = Literal["postgresql", "mysql"]

# a text of 50 MiB would take minutes and 10 GB
LONGEST_CHARACTERS = 4 << 20
_TRACED = re.compile(r"([^'\"`#$/-]*(?:\$\d[^'\"`#$/-]*)*)/\*(?![+!M])[^*]*(?:\*(?!/)[^*]*)*\*/\s*$")
# comments that the server, or an extension of it, reads
_HINTS = ("/*+", "/*!", "/*M!")
_LIST = re.compile(r"\( ?\?(?: ?, ?\?)+ ?\)")
_ROWS = re.compile(r"(values \([^()]*\))(?: ?, ?\([^()]*\))+")
_BEFORE_A_SIGN = re.compile(
    r"(?:^|[=<>(,+*/%|]|\b(?:and|or|then|else|when|limit|between|in|select|values|set)) ?$"
)


def tokens(sql: str, dialect: Dialect) -> Iterator[Token]:
    """The pieces of the text, in order; a text that is too long is broken."""
    if len(sql) > LONGEST_CHARACTERS:
        return iter([Token("broken", sql)])
    return sql_text.tokens(sql, dialect)


def bare(sql: str) -> str:
    """The text without a comment at its end, which tracing puts there, if no quote or comment is before it.

    Executions that differ in it alone are then read once.
    """
    found = _TRACED.match(sql)
    return found[1] if found else sql


def normalised(sql: str, dialect: Dialect) -> str:
    """The text without values and comments: literals and parameters as `?`, lists as one, in lower case.

    What two executions of one statement of an application have in common.
    """
    pieces: list[str] = []
    for token in tokens(sql, dialect):
        if token.kind in ("space", "comment") and not token.text.startswith(_HINTS):
            if pieces and pieces[-1] != " ":
                pieces.append(" ")
        elif token.kind in ("text", "number", "parameter"):
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
