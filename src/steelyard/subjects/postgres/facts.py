"""Facts of a PostgreSQL server: its version, its build and its settings."""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg

from steelyard.host.processes.limits import within
from steelyard.subjects.postgres.session import Connection
from steelyard.subjects.servers.identity import Interruption, continuity

_ANSWER_S = 30.0

_HINT = re.compile(r"(?:HINT|DETAIL):  (.*)")
# the lab's own sessions set some: the server's value is then the one that a reset gives
_SETTINGS = """
    select name,
        case when source <> 'session' then current_setting(name, true)
            else reset_val || coalesce(unit, '') end,
        case when source <> 'session' then source when reset_val = boot_val then 'default'
            else 'command line' end
    from pg_settings order by name"""


# https://www.postgresql.org/docs/current/runtime-config-connection.html; a superuser may take reserved ones
# a transaction has a number once it has written; what draws lots is a volatile function, or a view with one
WROTE = r"""
    select n + (txid_current_if_assigned() is not null)::int,
        case when current_setting('track_counts')::bool then updated end, inserted, deleted,
        (select string_agg(name, ',') from (
            select proname as name from pg_proc where provolatile = 'v' and prorettype <> 'trigger'::regtype
                and pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
            union select relname from pg_class where relkind = 'v' and case when
                relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
                then pg_get_viewdef(oid) end ~* '\m(random|now|nextval|\w+_timestamp)\(|\mcurrent_(date|time)'
        ) by_chance)
    from (select coalesce(sum(n_tup_upd), 0) as updated, coalesce(sum(n_tup_ins), 0) as inserted,
        coalesce(sum(n_tup_del), 0) as deleted, coalesce(sum(n_tup_upd + n_tup_ins + n_tup_del), 0) as n
        from pg_stat_xact_user_tables) s
"""
# triggers that wait for the end of the transaction
SETTLES = "set constraints all immediate"
LEFT_SQL = """
    select least(
        current_setting('max_connections')::int - there - case when rolsuper then 0 else
            current_setting('superuser_reserved_connections')::int
            + coalesce(current_setting('reserved_connections', true)::int, 0) end,
        case when rolconnlimit >= 0 and not rolsuper then rolconnlimit - own end,
        case when datconnlimit >= 0 and not rolsuper then datconnlimit - here end)
    from pg_roles, pg_database, (
        select count(*) as there, count(*) filter (where usename = session_user) as own,
            count(*) filter (where datname = current_database()) as here
        from pg_stat_activity where pid <> pg_backend_pid()
            and (backend_type = 'client backend' or backend_type is null and datid is not null)) s
    where rolname = session_user and pg_database.datname = current_database()
"""

# the postmaster's log lines when it is ready, and before it restarts its processes
READY = "ready to accept connections"
CRASHED = ("was terminated by signal", "reinitializing")

_CONNECT_S = 10
# Start time of the postmaster, and a value that changes with a crash: the checkpointer has another pid after
# one. Where it is hidden, a reset of the statistics shows a crash.
_LIFE = """
    select pg_postmaster_start_time()::text,
        coalesce((select pid::text from pg_stat_activity where backend_type = 'checkpointer'),
            (select stats_reset::text from pg_stat_bgwriter), '')"""


def facts_of(connect: Callable[[], Connection]) -> dict[str, Any]:
    """A server's version and every setting that the user may see.

    connect: opens a session. settings: name to value with its unit, as SHOW prints it. sources: name to
    source, of settings that differ from the default. Raises psycopg.Error, TimedOut without an answer.
    """

    def read() -> dict[str, Any]:
        with connect() as connection:
            version = connection.execute("select version()").fetchone()
            rows = connection.execute(_SETTINGS).fetchall()
            number = connection.info.server_version
        return {
            "version": f"{number // 10_000}.{number % 10_000}",
            "build": version[0] if version else "",
            "settings": {name: value for name, value, _ in rows},
            "sources": {name: source for name, _, source in rows if source not in ("default", "override")},
        }

    return within(_ANSWER_S, "reading the server's settings", read)


def number(dsn: str, sql: str) -> int:
    """The number that a SELECT gives, of one snapshot of the data. Raises psycopg.Error."""
    return int(_rows(dsn, sql)[0][0])


def sessions(dsn: str, text: str) -> list[int]:
    """Processes of the sessions whose statement begins with a text. Raises psycopg.Error."""
    # pg_stat_activity has the first track_activity_query_size bytes, 1,024 by default
    found = (
        "select pid from pg_stat_activity where starts_with(query, left(%s, 500)) and pid <> pg_backend_pid()"
    )
    return [pid for (pid,) in _rows(dsn, found, text)]


def fatal(log: str) -> str:
    """The last error in a server's log, with its hint; the log without one."""
    lines = log.splitlines()
    for number, line in reversed([*enumerate(lines)]):
        if found := re.search("FATAL: (.*)", line) or re.search("ERROR: (.*)", line):
            hints = [f"({hint[1]})" for hint in map(_HINT.search, lines[number:]) if hint]
            return " ".join([found[1].strip(), *hints[:1]])
    return log


def _rows(dsn: str, query: str, *given: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn, autocommit=True, connect_timeout=_CONNECT_S) as connection:
        return connection.execute(query.encode(), given or None).fetchall()


def _interrupted(then: Sequence[str], now: Sequence[str]) -> str:
    if now[0] != then[0]:
        return f"the server was restarted during the run: it started at {then[0]}, and again at {now[0]}"
    if now[1] != then[1]:
        return "the server crashed and recovered during the run: its processes were restarted"
    return ""


def watched(dsn: str, ended: Interruption = str) -> Interruption:
    """`continuity` of this server. Raises psycopg.Error, TimedOut."""
    return continuity(lambda: _rows(dsn, _LIFE)[0], _interrupted, (psycopg.Error,), ended)


_POINTER = struct.Struct("=Q")
_NAME = re.compile(rb"[A-Z][A-Za-z0-9]{1,62}\0")
_NAME_BYTES_MAX = 64
# the first name is that of latch number 1: 0 was never given
_SINGLE = (b"ShmemIndex", b"OidGen", b"XidGen")
_TRANCHES = (b"XactBuffer", b"CommitTsBuffer", b"SubtransBuffer")
# numbers of single latches before PostgreSQL 17 (13 to 16: src/backend/storage/lmgr/lwlocknames.txt)
_SINGLE_COUNT = 48


def tranche_names(pid: int) -> dict[int, str]:
    """Names by number; {} where they are not found, or the memory of the process cannot be read."""
    try:
        memory = _Memory.of(pid)
    except OSError:
        return {}
    single, many = memory.array(_SINGLE), memory.array(_TRANCHES)
    if single is None or many is None:
        return {}
    between, odd = divmod(many - single, _POINTER.size)
    together = not odd and 0 < between < 2 * _SINGLE_COUNT
    first = 1 + between if together else _SINGLE_COUNT
    found = {1 + i: memory.name(memory.pointer(single + i * _POINTER.size)) for i in range(first - 1)}
    # up to the first pointer without a name
    while name := memory.name(memory.pointer(many)):
        found[first] = name
        first, many = first + 1, many + _POINTER.size
    return {number: name for number, name in found.items() if name}


@dataclass(frozen=True)
class _Memory:
    """The mapped parts of a program's file, with relocated pointers: address and bytes of each part."""

    pieces: Sequence[tuple[int, bytes]]

    @classmethod
    def of(cls, pid: int) -> Self:
        """Raises OSError."""
        process = Path(f"/proc/{pid}")
        program = str((process / "exe").readlink())
        pieces: list[tuple[int, bytes]] = []
        with (process / "mem").open("rb", buffering=0) as memory:
            for line in (process / "maps").read_text().splitlines():
                span, _, _, _, _, *path = line.split(maxsplit=5)
                if path == [program]:
                    start, end = (int(part, 16) for part in span.split("-"))
                    memory.seek(start)
                    pieces.append((start, memory.read(end - start)))
        return cls(pieces)

    def array(self, first: Sequence[bytes]) -> int | None:
        """Address of consecutive pointers to these names, ignoring case; None if not found."""
        for text in self._find(first[0] + b"\0"):
            for place in self._find(_POINTER.pack(text)):
                if all(
                    self.name(self.pointer(place + i * _POINTER.size)).lower() == name.decode().lower()
                    for i, name in enumerate(first)
                ):
                    return place
        return None

    def name(self, address: int) -> str:
        """The name at an address; '' if there is none."""
        found = _NAME.match(self._bytes(address, _NAME_BYTES_MAX))
        return found[0][:-1].decode() if found else ""

    def pointer(self, place: int) -> int:
        """The pointer at an address; 0 outside the mapped parts."""
        found = self._bytes(place, _POINTER.size)
        return _POINTER.unpack(found)[0] if len(found) == _POINTER.size else 0

    def _bytes(self, address: int, length: int) -> bytes:
        for start, piece in self.pieces:
            if start <= address < start + len(piece):
                return piece[address - start : address - start + length]
        return b""

    def _find(self, pattern: bytes) -> Iterator[int]:
        for start, piece in self.pieces:
            at = piece.find(pattern)
            while at >= 0:
                yield start + at
                at = piece.find(pattern, at + 1)
