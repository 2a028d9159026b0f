"""A running MariaDB at an address: used as it is; only sessions and clients can be factors."""

from __future__ import annotations

from contextlib import closing, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pymysql

from steelyard.host.mariadb_login import log_in, remedy
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.passwords import expand
from steelyard.study.plan import Option
from steelyard.subjects import Load, Server
from steelyard.subjects.mariadb.address import Address, parse
from steelyard.subjects.mariadb.facts import LEFT_SQL, number, sources_of
from steelyard.subjects.mariadb.interruption import continuity
from steelyard.subjects.mariadb.session import (
    INSPECT,
    error_text,
    read_back_session,
    session_statements,
    variables,
)
from steelyard.subjects.servers.by_address import AtAddress, Unreachable, check_shared
from steelyard.subjects.servers.identity import peer_of

_CONNECT_S = 10
_ANSWER_S = 30.0
_ATTEMPTS = 3
# ProxySQL answers `select connection_id()` itself; a login has 32 bits of it
_SESSION = "select connection_id() & 4294967295"


class ForeignMariaDB(AtAddress):
    """A MariaDB or MySQL."""

    def connect(self, option: Option) -> Load:
        """The server at the address. Raises InputError, SubjectFailed."""
        dsn = expand(self._bench.study.subject.dsn or "")
        address = self._address

        def read_back() -> tuple[dict[str, str], dict[str, str], int | None, bool]:
            # before a session is set: it may be another's
            if self._shared:
                check_shared(self._bench.study, self._bench.options)
            with closing(_connect(address)) as connection:
                escapes = read_back_session(connection, option)
                pid = None if self._shared else _here(connection)
                return variables(connection, "global"), sources_of(connection), pid, escapes

        try:
            shown, sources, pid, escapes = within(_ANSWER_S, "connecting to subject.dsn", read_back)
            interruption = continuity(lambda: _connect(address))
        except TimedOut as error:
            raise Unreachable(f"subject.dsn: {error}", "check the address and that the server runs") from None
        except (pymysql.MySQLError, OSError) as error:
            cause = error_text(error) if isinstance(error, pymysql.MySQLError) else str(error)
            raise Unreachable(f"subject.dsn: {cause}", remedy(error)) from None
        server = Server(
            protocol="mysql",
            escapes=escapes,
            socket=address.socket,
            host=address.host,
            port=address.port,
            user=address.user,
            database=address.database,
            password=address.password,
            tls=address.tls,
            ca_file=address.ca_file,
            pid=pid,
            dsn=dsn,
            session=session_statements(option),
            # a client of a proxy cannot choose the session that it would inspect
            inspect={} if self._shared else INSPECT,
            interruption=interruption,
            number=partial(number, lambda: _connect(address)),
            left_sql="" if self._shared else LEFT_SQL,
        )
        return Load(
            server=server,
            facts={
                "origin": "a running server at an address",
                "version": shown["version"],
                "settings": shown,
                "sources": sources,
            },
        )

    @cached_property
    def _address(self) -> Address:
        return parse(expand(self._bench.study.subject.dsn or ""))

    @cached_property
    def _shared(self) -> bool:
        return any(_shares_sessions(self._address) for _ in range(_ATTEMPTS))


def _shares_sessions(address: Address) -> bool:
    """Whether the sessions are those of a proxy, which gives them to others as well. Reads alone."""
    with closing(_connect(address)) as first, closing(_connect(address)) as second:
        sessions: tuple[Any, ...] = (first, second, first)
        seen: list[int] = []
        for session in sessions:
            with session.cursor() as cursor:
                cursor.execute(_SESSION)
                seen += cursor.fetchone()
        return seen != [session.thread_id() for session in sessions] or seen[0] == seen[1]


def _here(connection: pymysql.Connection[Any]) -> int | None:
    """The server's process where it is one of this machine, and no proxy's."""
    pid = peer_of(vars(connection)["_sock"])
    with suppress(OSError):
        if pid and Path(f"/proc/{pid}/comm").read_text().strip() in ("mariadbd", "mysqld"):
            return pid
    return None


def _connect(address: Address) -> pymysql.Connection[Any]:
    return log_in(
        private=address.private,
        host=address.host,
        port=address.port,
        unix_socket=address.socket,
        user=address.user,
        password=address.password or "",
        database=address.database,
        ssl=address.context,
        connect_timeout=_CONNECT_S,
    )
