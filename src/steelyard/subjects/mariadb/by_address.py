"""A running MariaDB at an address: used as it is; only sessions and clients can be factors."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property, partial
from typing import Any

import pymysql

from steelyard.host.mariadb_login import login_methods
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.errors import InputError
from steelyard.study.passwords import expand
from steelyard.study.plan import Option
from steelyard.subjects import Bench, Load, Server
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
from steelyard.subjects.servers.by_address import check_shared

_CONNECT_S = 10
_ANSWER_S = 30.0
_ATTEMPTS = 3
# ProxySQL answers `select connection_id()` itself; a login has 32 bits of it
_SESSION = "select connection_id() & 4294967295"


class ForeignMariaDB:
    """Connects; starts nothing, changes no settings, creates no tables."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def start(self, option: Option) -> Load:
        """The server at the address, whose tables must exist. Raises InputError, SubjectFailed."""
        dsn = expand(self._bench.study.subject.dsn or "")
        address = self._address

        def read_back() -> tuple[dict[str, str], dict[str, str]]:
            # before a session is set: it may be another's
            if self._shared:
                check_shared(self._bench.study, self._bench.options)
            with closing(_connect(address)) as connection:
                read_back_session(connection, option)
                return variables(connection, "global"), sources_of(connection)

        try:
            shown, sources = within(_ANSWER_S, "connecting to subject.dsn", read_back)
            interruption = continuity(lambda: _connect(address))
        except TimedOut as error:
            raise InputError(f"subject.dsn: {error}", "check the address, and that the server runs") from None
        except (pymysql.MySQLError, OSError) as error:
            cause = error_text(error) if isinstance(error, pymysql.MySQLError) else str(error)
            raise InputError(
                f"subject.dsn: {cause}", "check the address, the user and the password"
            ) from None
        server = Server(
            protocol="mysql",
            socket=address.socket,
            host=address.host,
            port=address.port,
            user=address.user,
            database=address.database,
            password=address.password,
            tls=address.tls,
            ca_file=address.ca_file,
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

    def join(self, option: Option) -> Load:
        """The same for every option: the server at the address."""
        return self.start(option)

    @cached_property
    def _address(self) -> Address:
        return parse(expand(self._bench.study.subject.dsn or ""))

    @cached_property
    def _shared(self) -> bool:
        return any(_shares_sessions(self._address) for _ in range(_ATTEMPTS))

    def reset(self) -> None:
        """Nothing to do: the lab does not change this server's data."""

    def stop(self) -> str:
        """Nothing to do: the server keeps running, and its log is not available."""
        return ""


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


def _connect(address: Address) -> pymysql.Connection[Any]:
    return pymysql.connect(
        host=address.host,
        port=address.port,
        unix_socket=address.socket,
        user=address.user,
        password=address.password or "",
        database=address.database,
        ssl=address.context,
        auth_plugin_map=login_methods(private=address.private),
        connect_timeout=_CONNECT_S,
        autocommit=True,
    )
