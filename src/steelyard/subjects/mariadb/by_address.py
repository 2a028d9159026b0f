"""A running MariaDB at an address: used as it is; only sessions and clients can be factors."""

from contextlib import closing, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pymysql

from steelyard.errors import InputError
from steelyard.host.mariadb_login import Address, error_text, log_in, parse, remedy
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.study import Option
from steelyard.subjects import Load, Server
from steelyard.subjects.mariadb import session
from steelyard.subjects.servers.by_address import AtAddress, Unreachable
from steelyard.subjects.servers.identity import peer_of

_ANSWER_S = 30.0
# ProxySQL answers `select connection_id()` itself; a login has 32 bits of it
_SESSION = "select connection_id() & 4294967295"


class ForeignMariaDB(AtAddress):
    """A MariaDB or MySQL."""

    def connect(self, option: Option) -> Load:
        """The server at the address. Raises InputError, SubjectFailed."""
        address = self._address

        def read_back() -> tuple[dict[str, str], dict[str, str], int | None, bool]:
            # before a session is set: it may be another's
            shared = self.shared
            with closing(log_in(address)) as connection:
                escapes = session.read_back_session(connection, option)
                pid = None if shared else _here(connection)
                return session.variables(connection, "global"), session.sources_of(connection), pid, escapes

        try:
            shown, sources, pid, escapes = within(_ANSWER_S, "connecting to subject.dsn", read_back)
            interruption = session.watched(lambda: log_in(address))
        except TimedOut as error:
            raise Unreachable(f"subject.dsn: {error}", "check the address and that the server runs") from None
        except (pymysql.MySQLError, OSError) as error:
            raise Unreachable(f"subject.dsn: {error_text(error)}", remedy(error)) from None
        server = Server(
            **vars(address),
            protocol="mysql",
            escapes=escapes,
            pid=pid,
            dsn=self.dsn,
            session=session.session_statements(option),
            # a client of a proxy cannot choose the session that it would inspect
            inspect={} if self.shared else session.INSPECT,
            interruption=interruption,
            number=partial(session.number, lambda: log_in(address)),
            left_sql="" if self.shared else session.LEFT_SQL,
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
        try:
            return parse(self.dsn)
        except InputError as wrong:
            raise InputError(f"subject.dsn: {wrong}", wrong.hint, ("subject", "dsn")) from None

    def shares_sessions(self) -> bool:
        """The sessions are those of a proxy, which gives them to others as well."""
        with closing(log_in(self._address)) as first, closing(log_in(self._address)) as second:
            sessions: tuple[Any, ...] = (first, second, first)
            seen: list[int] = []
            for one in sessions:
                with one.cursor() as cursor:
                    cursor.execute(_SESSION)
                    seen += cursor.fetchone()
            return seen != [one.thread_id() for one in sessions] or seen[0] == seen[1]


def _here(connection: session.Connection) -> int | None:
    """The server's process where it is one of this machine, and no proxy's."""
    pid = peer_of(vars(connection)["_sock"])
    with suppress(OSError):
        if pid and Path(f"/proc/{pid}/comm").read_text().strip() in ("mariadbd", "mysqld"):
            return pid
    return None
