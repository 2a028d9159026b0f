"""pg-retest's workload files (.wkl): a profile in MessagePack, a list of its fields, as rmp-serde writes it.

Version, time, host, server's version, way of capture, sessions; a session: number, user, database, queries;
a query: SQL, begin and length in us, kind, transaction, values of its response. A begin counts from that of
its session, so when sessions began is not known. https://github.com/pg-retest/pg-retest, src/profile
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.captures.entry import Entry
from steelyard.captures.formats.message_pack import unpacked
from steelyard.captures.tokens import Dialect
from steelyard.study.errors import InputError

NAME = "pg-retest's workload file"
DIALECT: Dialect = "postgresql"
NOTE = "statements of sessions whose begin the file does not have: all sessions begin together"
_VERSIONS = (1, 2)


def sniff(head: bytes) -> bool:
    """A list of seven, the version first, then a time as text."""
    return (
        len(head) > 3 and head[0] == 0x97 and head[1] in _VERSIONS and head[2] in (*range(0xA0, 0xC0), 0xD9)
    )


def read(path: Path, left_out: Counter[str]) -> Iterator[Entry]:
    """The statements; all sessions begin together. Raises InputError."""
    try:
        profile: Any = unpacked(path.read_bytes())
        for number, _, database, queries, *_ in profile[5]:
            for sql, begin_us, took_us, *_ in queries:
                # checked here: a list of other fields has no such texts and numbers
                if not (isinstance(sql, str) and isinstance(begin_us, int) and isinstance(took_us, int)):
                    raise TypeError("a query needs its SQL, begin and length")
                yield Entry(str(number), begin_us, took_us, sql, database=str(database))
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(f"{path}: no {NAME}: {error}") from None
