"""A dump by pg_dump or mysqldump with the values of its rows replaced, as those of the statements are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from steelyard.captures.anonymity.statement import Anonymiser
from steelyard.captures.tokens import Dialect, tokens

_COPY = re.compile(r"COPY (.+) FROM stdin;\s*", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}
_WRITTEN = {value: f"\\{key}" for key, value in _ESCAPES.items()}
_HEADS: tuple[tuple[bytes, Dialect], ...] = (
    (b"-- PostgreSQL database dump", "postgresql"),
    (b"-- MariaDB dump", "mysql"),
    (b"-- MySQL dump", "mysql"),
)
# settings of a dump itself
_OWN = re.compile(
    r"SET \w+ = (?:\w+|'\w*');|SELECT pg_catalog\.set_config\('search_path', '', false\);"
    r"|/\*!.*\*/;?|(?:UN)?LOCK TABLES.*;"
)

NOT_UNDERSTOOD = "statements that were not understood, and removed"


def dialect_of(path: Path) -> Dialect | None:
    """Of a dump; None for another file. Raises OSError."""
    with path.open("rb") as file:
        head = file.read(4096)
    return next((dialect for words, dialect in _HEADS if words in head), None)


def anonymise_dump(source: Path, target: Path, anonymiser: Anonymiser, dialect: Dialect) -> Counter[str]:
    """Writes the dump; what was left out. Raises OSError."""
    left_out: Counter[str] = Counter()
    with (
        source.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines,
        target.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as out,
    ):
        for statement in _statements(lines, dialect):
            if (found := _COPY.fullmatch(statement)) is not None:
                head = anonymiser.statement(f"table {found[1]}")
                out.write(f"COPY {(head or found[1]).removeprefix('table ')} FROM stdin;\n")
                for line in lines:
                    if line.rstrip("\n") == "\\.":
                        break
                    out.write(
                        "\t".join(_cell(anonymiser, one) for one in line.rstrip("\n").split("\t")) + "\n"
                    )
                out.write("\\.\n")
            elif _OWN.fullmatch(statement):
                out.write(statement + "\n")
            elif (text := anonymiser.statement(statement.rstrip(";"))) is not None:
                out.write(text + ";\n")
            else:
                left_out[NOT_UNDERSTOOD] += 1
    return left_out


def _statements(lines: Iterator[str], dialect: Dialect) -> Iterator[str]:
    """Whole statements; the caller takes the rows after a COPY from `lines`."""
    text = ""
    for line in lines:
        if not text and (not line.strip() or line.startswith(("--", "\\"))):
            continue
        text += line
        # a semicolon ends a statement where no quote is open
        if line.rstrip().endswith(";") and all(one.kind != "broken" for one in tokens(text, dialect)):
            yield text.strip()
            text = ""
    if text.strip():
        yield text.strip()


def _cell(anonymiser: Anonymiser, cell: str) -> str:
    if cell == "\\N":
        return cell
    value = _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), cell)
    replaced = anonymiser.values.replaced(value)
    return "".join(_WRITTEN.get(one, one) for one in replaced)
