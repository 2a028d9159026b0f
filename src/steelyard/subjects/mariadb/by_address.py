"""A running MariaDB at an address: used as it is; only sessions and clients can be factors."""

from __future__ import annotations

import re
import ssl
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql

from steelyard.errors import InputError, nearest
from steelyard.host.mariadb_login import log_in, remedy
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.passwords import expand
from steelyard.study.study import Option
from steelyard.subjects import Load, Server
from steelyard.subjects.mariadb.facts import LEFT_SQL, continuity, number, sources_of
from steelyard.subjects.mariadb.session import (
    INSPECT,
    error_text,
    read_back_session,
    session_statements,
    variables,
)
from steelyard.subjects.servers.by_address import AtAddress, Unreachable, check_shared
from steelyard.subjects.servers.identity import peer_of

_Connection: TypeAlias = "pymysql.Connection[Any]"

_CONNECT_S = 10
_ANSWER_S = 30.0
_ATTEMPTS = 3
# ProxySQL answers `select connection_id()` itself; a login has 32 bits of it
_SESSION = "select connection_id() & 4294967295"

_KNOWN = ("socket", "tls", "ca_file")
_TLS = ("disable", "require", "verify-full")
_CERTIFICATE = re.compile(r"(ssl|tls|client)?[-_]?(cert(ificate)?|key)[-_]?(file|path)?", re.IGNORECASE)
_FORM = "mysql://user:${PASSWORD}@host:3306/database"


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
            raise Unreachable(f"subject.dsn: {error_text(error)}", remedy(error)) from None
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


def _here(connection: _Connection) -> int | None:
    """The server's process where it is one of this machine, and no proxy's."""
    pid = peer_of(vars(connection)["_sock"])
    with suppress(OSError):
        if pid and Path(f"/proc/{pid}/comm").read_text().strip() in ("mariadbd", "mysqld"):
            return pid
    return None


def _connect(address: Address) -> _Connection:
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


@dataclass(frozen=True)
class Address:
    """The server, database and user to connect with. socket: instead of host and port."""

    host: str
    port: int
    user: str
    password: str | None
    database: str
    socket: str | None
    tls: str
    ca_file: str | None

    @property
    def private(self) -> bool:
        """Whether the connection cannot be read by others: TLS or a Unix socket."""
        return self.tls != "disable" or self.socket is not None

    @property
    def context(self) -> ssl.SSLContext | None:
        """The TLS context for a client in Python; raises OSError when ca_file cannot be read."""
        if self.tls == "disable":
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.tls == "require":
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def parse(dsn: str) -> Address:
    """The parts of an address. Raises InputError, which never quotes a password."""
    try:
        parts = urlsplit(dsn)
        port = parts.port or 3306
    except ValueError:
        raise _refused("not an address", _FORM) from None
    if parts.scheme != "mysql":
        raise _refused("an address of MariaDB begins with mysql://", _FORM)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given:
        if _CERTIFICATE.fullmatch(name):
            raise _refused(f"{name}: client certificates are not supported", "use an account with a password")
        if name not in _KNOWN:
            raise _refused(f'unknown parameter "{name}"{nearest(name, _KNOWN)}', f"leave {name} out")
    database, tls = unquote(parts.path.removeprefix("/")), given.get("tls", "disable")
    if not parts.username or not database:
        raise _refused(f"the address names no {'database' if parts.username else 'user'}", _FORM)
    if tls not in _TLS:
        raise _refused(f'unknown tls "{tls}"{nearest(tls, _TLS)}', f"one of: {', '.join(_TLS)}")
    if (tls == "verify-full") != ("ca_file" in given):
        raise _refused("tls=verify-full and ca_file=FILE must be used together", "give both or neither")
    if not parts.hostname and "socket" not in given:
        raise _refused("the address names no host", _FORM)
    password = unquote(parts.password) if parts.password else None
    return Address(
        parts.hostname or "localhost",
        port,
        unquote(parts.username),
        password,
        database,
        given.get("socket"),
        tls,
        given.get("ca_file"),
    )


def _refused(cause: str, hint: str) -> InputError:
    return InputError(f"subject.dsn: {cause}", hint, ("subject", "dsn"))
