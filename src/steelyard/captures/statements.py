"""Facts of a statement that decide whether, and how faithfully, it can be executed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from steelyard.captures.tokens import Dialect, Token, tokens

_READS = ("select", "with", "show", "explain", "values", "table", "desc", "describe", "use", "fetch")
_CONTROL = ("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release")
_WRITES = ("insert", "update", "delete", "merge", "replace", "truncate", "call", "do", "copy", "load")
# fmt: off
_SERVER_VALUES = frozenset((
    "now", "current_timestamp", "current_date", "current_time", "localtimestamp", "localtime",
    "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday", "random", "uuid",
    "gen_random_uuid", "uuid_generate_v4", "uuidv7", "nextval", "currval", "lastval", "txid_current",
    "pg_backend_pid", "pg_current_xact_id", "rand", "sysdate", "curdate", "curtime", "unix_timestamp",
    "utc_timestamp", "connection_id", "last_insert_id", "uuid_short",
))
# fmt: on
_STATE = frozenset(("set", "reset", "prepare", "deallocate", "listen", "discard", "lock", "use", "declare"))


@dataclass(frozen=True)
class Facts:
    """Of one text, which may have several statements.

    control: `begin`, `commit` and `rollback` of its statements that begin or end a transaction, in order.
    server_values: it takes values that the server makes, so other ones each time. gives: its result has
    values that the server made, which later statements may contain. state: it changes its session. prepares,
    releases: it prepares statements, or forgets those that were prepared. chooses: another database.
    """

    broken: bool
    copies: bool
    reads: bool
    writes: bool
    server_values: bool
    gives: bool
    state: bool
    savepoint: bool
    several: bool
    prepares: bool
    releases: bool
    chooses: bool
    control: tuple[str, ...]
    autocommit: bool | None
    parameters: int


@lru_cache(maxsize=512)
def facts(sql: str, dialect: Dialect) -> Facts:
    """What the words of the text say."""
    found = [token for token in tokens(sql, dialect) if token.kind not in ("space", "comment")]
    words = {token.text.lower() for token in found if token.kind == "word"}
    parts = [part for part in _parts(found) if part]
    firsts = [_first(part) for part in parts]
    control = tuple(kind for part in parts if (kind := _control(part)))
    reads = all(first in _READS or first in _CONTROL or first == "set" for first in firsts)
    writes = bool(words & {*_WRITES, "into"}) or ("for" in words and bool(words & {"update", "share"}))
    return Facts(
        broken=any(token.kind == "broken" for token in found) or not parts,
        copies="copy" in firsts or "load" in firsts,
        reads=reads and not writes and not words & {"nextval", "setval"},
        writes=writes or not reads,
        server_values=bool(words & _SERVER_VALUES),
        gives="returning" in words or bool(words & {"nextval", "currval", "lastval", "last_insert_id"}),
        state=any(first in _STATE for first in firsts) or {"create", "temporary"} <= words,
        savepoint="savepoint" in firsts,
        several=len(parts) > 1,
        prepares="prepare" in firsts,
        chooses=firsts == ["use"],
        releases=any(first in ("deallocate", "discard") for first in firsts),
        control=control,
        autocommit=_autocommit(parts),
        parameters=len({token.text for token in found if token.kind == "parameter"}),
    )


def _parts(found: Sequence[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in found:
        if token.text == ";":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _first(part: Sequence[Token]) -> str:
    return next((token.text.lower() for token in part if token.kind == "word"), "")


def _control(part: Sequence[Token]) -> str:
    words = [token.text.lower() for token in part if token.kind == "word"]
    match words:
        case ["begin", *_] | ["start", "transaction", *_]:
            return "begin"
        case ["rollback" | "abort", *rest] if "to" not in rest and "prepared" not in rest:
            return "rollback"
        case ["commit" | "end", *rest] if "prepared" not in rest:
            return "commit"
        case ["prepare", "transaction", *_]:
            return "commit"
        case _:
            return ""


def _autocommit(parts: Sequence[Sequence[Token]]) -> bool | None:
    """What a text sets it to; None: it does not."""
    for part in parts:
        match [token.text.lower() for token in part if token.text not in ("@", ".", ":")]:
            case ["set", "autocommit", "=", value] | ["set", "session", "autocommit", "=", value]:
                return value in ("1", "on", "true")
            case ["set", "@@autocommit", "=", value]:
                return value in ("1", "on", "true")
            case _:
                pass
    return None
