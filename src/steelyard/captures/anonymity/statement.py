"""A statement with its values replaced, and on request its names; what is not understood gives nothing."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

from steelyard.captures.anonymity.values import Values, largest_like
from steelyard.captures.tokens import Dialect, Token, tokens

_PREFIXED = re.compile(r"([A-Za-z]|_\w+)?(['\"])(.*)\2", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "'": "'", '"': '"', "\\": "\\"}
# in MariaDB's patterns these stay with their backslash
_PATTERN = {"%": "\\%", "_": "\\_"}
_SETTINGS = frozenset(("transaction", "session", "autocommit", "names", "isolation", "constraints"))
_COUNTS = frozenset(("limit", "offset", "first", "next", "top", "start", "increment", "cache", "by"))
_TYPES = frozenset(
    [
        "varchar",
        "char",
        "character",
        "varying",
        "numeric",
        "decimal",
        "dec",
        "bit",
        "varbit",
        "time",
        "timestamp",
        "timestamptz",
        "interval",
        "varbinary",
        "binary",
        "int",
        "integer",
        "bigint",
        "smallint",
        "tinyint",
        "mediumint",
        "float",
        "double",
        "datetime",
        "year",
        "vector",
        "nvarchar",
    ]
)
_NAMED_BY = frozenset(("nextval", "currval", "setval", "to_regclass"))
_SECRET_OF = re.compile(
    r"\b(?:create|alter|set)\s+(?:user|role|password|login)\b|\bidentified\b|\bpassword\b", re.I
)


@lru_cache
def known_words() -> frozenset[str]:
    """Keywords and built-in functions of PostgreSQL and MariaDB: words that are no names of the owner's."""
    return frozenset(files("steelyard.captures.anonymity").joinpath("words.txt").read_text("ascii").split())


class Anonymiser:
    """Replaces what statements hold, under a secret. names: names of tables, columns and the like as well."""

    def __init__(self, secret: bytes, dialect: Dialect, names: bool) -> None:
        self.values = Values(secret)
        self._secret = secret
        self._dialect: Dialect = dialect
        self._names = names

    def statement(self, sql: str) -> str | None:
        """The statement without its values and comments; None where it is not understood."""
        if _SECRET_OF.search(sql):
            return None
        found = [Token("space", " ") if one.kind == "comment" else one for one in tokens(sql, self._dialect)]
        solid = [number for number, one in enumerate(found) if one.kind != "space"]
        if any(one.kind == "broken" for one in found) or not solid or not _is_permitted(found, solid):
            return None
        out = [one.text for one in found]
        for place, number in enumerate(solid):
            before = [found[n] for n in solid[max(0, place - 4) : place]]
            after = [found[n] for n in solid[place + 1 : place + 4]]
            text = self._token(found[number], before, after)
            if text is None:
                return None
            out[number] = text
        return "".join(out).strip()

    def _token(self, token: Token, before: Sequence[Token], after: Sequence[Token]) -> str | None:
        if token.kind == "number":
            if _is_a_count(before):
                return token.text
            if _is_a_place(before) and token.text.isdigit():
                return str(largest_like(int(token.text)))
            return self.values.replaced(token.text)
        if token.kind == "text":
            return self._text(token.text, before, after)
        if token.kind in ("word", "name") and self._names:
            return self.name(token.text)
        return token.text

    def _text(self, text: str, before: Sequence[Token], after: Sequence[Token]) -> str | None:
        found = _PREFIXED.fullmatch(text)
        if found is None:
            # a body in dollars, or Unicode escapes
            return None
        prefix, quote, content = found[1] or "", found[2], found[3]
        value = self._decoded(content, quote, prefix)
        if value is None:
            return None
        if _is_a_name(before, after):
            return self._quoted(self._path(value) if self._names else value)
        if prefix in ("x", "X"):
            return f"{prefix}'{self.values.replaced('0x' + value)[2:]}'" if value.isalnum() else None
        if prefix in ("b", "B"):
            return None
        keep = prefix if prefix.startswith("_") else ""
        return keep + self._quoted(self.values.replaced(value))

    def _decoded(self, content: str, quote: str, prefix: str) -> str | None:
        """The value of a literal; None for escapes that are not known."""
        content = content.replace(quote * 2, quote)
        if self._dialect == "postgresql" and prefix not in ("e", "E"):
            return content
        escapes = _ESCAPES if self._dialect == "postgresql" else _ESCAPES | _PATTERN
        pieces = re.split(r"\\(.)", content, flags=re.DOTALL)
        if any(one not in escapes for one in pieces[1::2]):
            return None
        return "".join(escapes[one] if at % 2 else one for at, one in enumerate(pieces))

    def _quoted(self, value: str) -> str:
        if self._dialect == "mysql":
            value = re.sub(r"\\(?![%_])", r"\\\\", value)
        return "'" + value.replace("'", "''") + "'"

    def name(self, text: str) -> str:
        """Another name for one that is the owner's; quotes stay."""
        quote = text[0] if text[0] in '"`' else ""
        bare = text.strip('"`')
        if not quote and bare.lower() in known_words():
            return text
        return f"{quote}n{self._digest(bare if quote else bare.lower())}{quote}"

    def _path(self, value: str) -> str:
        return ".".join(self.name(part) for part in value.split(".") if part)

    def _digest(self, name: str) -> str:
        return hmac.digest(self._secret, f"name\0{name.lower()}".encode(), "sha256").hex()[:12]


def _is_permitted(found: Sequence[Token], solid: Sequence[int]) -> bool:
    """A setting may hold anything: only those of transactions pass."""
    words = [found[number].text.lower() for number in solid[:2]]
    if words[0] in ("set", "reset"):
        return len(words) > 1 and words[1] in _SETTINGS
    return words[0] not in ("do", "copy", "load", "listen", "notify", "security", "comment", "prepare")


def _is_a_count(before: Sequence[Token]) -> bool:
    """A number that says how many, or which column: of no row."""
    texts = [token.text.lower() for token in before]
    match texts:
        case [*_, word] if word in _COUNTS:
            return True
        case [*_, word, "("] if word in _TYPES:
            return True
        case [*_, word, "with" | "by"] if word in ("start", "increment"):
            return True
        case [*_, word, "["] if word != "array":
            return True
        case _:
            return False


def _is_a_place(before: Sequence[Token]) -> bool:
    """A number from which a sequence goes on."""
    texts = [token.text.lower() for token in before]
    return texts[-4:-2] == ["setval", "("] and texts[-1] == ","


def _is_a_name(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """A text that names something: a sequence, a table, a member of JSON, a time zone."""
    texts = [token.text.lower() for token in before]
    if texts[-2:-1] and texts[-1] == "(" and texts[-2] in _NAMED_BY:
        return True
    if (
        texts[-2:] == ["time", "zone"]
        or texts[-2:] in (["-", ">"], ["#", ">"])
        or texts[-3:] == ["-", ">", ">"]
    ):
        return True
    return [token.text.lower() for token in after] == [":", ":", "regclass"]
