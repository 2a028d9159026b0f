"""A running PostgreSQL at an address: used as it is; only sessions and clients can be factors."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from steelyard.errors import InputError
from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.study import Option
from steelyard.subjects import Load, Server
from steelyard.subjects.postgres.facts import LEFT_SQL, facts_of, number, tranche_names, watched
from steelyard.subjects.postgres.session import (
    INSPECT,
    Connection,
    read_back_session,
    session_statements,
    turn_end,
)
from steelyard.subjects.servers.by_address import AtAddress, Unreachable

_ANSWER_S = 30.0
_LOOKS_SINCE = 140_000
_SESSION = (
    "select pg_backend_pid(), extract(epoch from now()), extract(epoch from backend_start)"
    " from pg_stat_activity where pid = pg_backend_pid()"
)

_SUPPORTED = frozenset(
    # passfile: libpq looks up the password, which the lab passes to the engine
    {"host", "hostaddr", "port", "user", "password", "passfile", "dbname", "sslmode", "sslrootcert"}
)
_AS_THE_ENGINE_DOES = {  # values that match the engine's behaviour
    "channel_binding": ("prefer", "disable"),
    "gssencmode": ("prefer", "disable"),
    "sslcertmode": ("disable",),
}
_IN_SESSION = "set it for every client in [subject.session]"
_CERTIFICATE = "the load engine does not support client certificates: use a password (pg_hba.conf)"
_INSTEAD = {
    "options": "set its settings for every client in [subject.session]",
    "application_name": _IN_SESSION,
    "fallback_application_name": _IN_SESSION,
    "client_encoding": "leave it out: the load engine sends UTF-8",
    "service": "write host, port, user and dbname of the service into the address",
    "sslcert": _CERTIFICATE,
    "sslkey": _CERTIFICATE,
    "sslpassword": _CERTIFICATE,
    "target_session_attrs": "name a single host",
    "load_balance_hosts": "name a single host",
}
_VERIFY = "use sslmode=verify-full with sslrootcert=FILE, or sslmode=require without sslrootcert"


class ForeignPostgres(AtAddress):
    """A PostgreSQL."""

    def connect(self, option: Option) -> Load:
        """The server at the address. Raises InputError."""
        dsn = self.dsn
        try:
            check(dsn)
            server = within(_ANSWER_S, "connecting to subject.dsn", lambda: self._server(dsn, option))
            server = replace(server, interruption=watched(dsn))
            facts = facts_of(partial(session_at, dsn))
            return Load(server=server, facts={"origin": "a running server at an address", **facts})
        except TimedOut as error:
            raise Unreachable(f"subject.dsn: {error}", "check the address and that the server runs") from None
        except psycopg.OperationalError as error:
            raise Unreachable(
                f"subject.dsn: {str(error).strip()}", "check the address, the user and the password"
            ) from None
        except psycopg.ProgrammingError:
            # its message may quote the address with the password
            raise InputError(
                "subject.dsn: libpq cannot read this address", "postgresql://user:${PASSWORD}@host/database"
            ) from None

    def _server(self, dsn: str, option: Option) -> Server:
        # before a session is set: it may be another's
        shared = self.shared
        with session_at(dsn) as connection:
            info = connection.info
            read_back_session(connection, option)
            parameters = info.get_parameters()
            verified = parameters.get("sslmode") == "verify-full"
            # a statement does not outlive its client
            looks = not shared and info.server_version >= _LOOKS_SINCE
            ends = ("set client_connection_check_interval = '1s'",) if looks else ()
            return Server(
                host=parameters.get("hostaddr", info.host),
                port=info.port,
                user=info.user,
                database=info.dbname,
                protocol="postgres",
                password=info.password or None,
                # prefer and allow, and any mode by Unix socket: as this connection did
                tls="disable"
                if not connection.pgconn.ssl_in_use
                else "verify-full"
                if verified
                else "require",
                ca_file=parameters.get("sslrootcert"),
                pid=None if shared else _here(connection),
                dsn=dsn,
                latch_names=tranche_names,
                session=(*ends, *session_statements(option)),
                # a client of a pooler cannot choose the session that it would inspect
                inspect={} if shared else _permitted(connection),
                turn_end="" if shared else turn_end(connection),
                number=partial(number, dsn),
                left_sql="" if shared else LEFT_SQL,
            )

    def shares_sessions(self) -> bool:
        """The backends are those of a pooler, which gives them to others as well."""

        def ask(connection: Connection) -> tuple[Any, ...]:
            return connection.execute(_SESSION).fetchone() or (None,) * 3

        with session_at(self.dsn) as first:
            pid, now, _ = ask(first)
            # a pooler invents the pid of the login
            if pid != first.info.backend_pid:
                return True
            with session_at(self.dsn) as second:
                other, _, began = ask(second)
                pids = {pid, other, ask(first)[0], second.info.backend_pid}
                return began < now or len(pids) != 2


def _permitted(connection: Connection) -> dict[str, str]:
    """INSPECT without what this role may not read: each refusal would be an error in the server's log."""
    readable = "select has_table_privilege(to_regclass('pg_backend_memory_contexts'), 'select')"
    row = connection.execute(readable).fetchone()
    return INSPECT if row and row[0] else {"prepared": INSPECT["prepared"]}


def _here(connection: Connection) -> int | None:
    """The postmaster, if the session's process is one of this machine: its title then names our end."""
    with socket.socket(fileno=os.dup(connection.fileno())) as ours:
        end = "[local]" if ours.family == socket.AF_UNIX else f"({ours.getsockname()[1]})"
    info = connection.info
    place = Path("/proc") / str(info.backend_pid)
    with suppress(OSError):
        title = (place / "cmdline").read_text(errors="replace")
        if f" {info.user} {info.dbname} " in title and f"{end} " in title:
            # its parent, after the name in brackets: proc(5)
            return int((place / "stat").read_text().rpartition(")")[2].split()[1])
    return None


def session_at(dsn: str) -> Connection:
    """A session that leaves nothing behind. Raises psycopg.Error."""
    # of a database in SQL_ASCII psycopg gives bytes for texts
    return psycopg.connect(
        dsn, connect_timeout=10, autocommit=True, client_encoding="UTF8", prepare_threshold=None
    )


def check(dsn: str) -> None:
    """Raises InputError for a parameter that the load engine does not support.

    Raises psycopg.ProgrammingError where the text is not an address.
    """
    given = _given(dsn)
    for name, (value, where) in given.items():
        if name not in _SUPPORTED and value not in _AS_THE_ENGINE_DOES.get(name, ()):
            hint = _INSTEAD.get(name, f"leave {name} out")
            raise InputError(f"{where}: the load engine does not support {name}", hint)
    for name in ("host", "hostaddr", "port"):
        value, where = given.get(name, ("", ""))
        if "," in value:
            raise InputError(f"{where}: {name} names several hosts", "name a single host")
    _check_tls({name: value for name, (value, _) in given.items()})


def _check_tls(given: Mapping[str, str]) -> None:
    mode, root = given.get("sslmode", "prefer"), given.get("sslrootcert", "")
    if mode == "verify-ca":
        raise InputError("subject.dsn: the load engine does not support sslmode=verify-ca", _VERIFY)
    if mode == "verify-full" and root in ("", "system"):
        raise InputError(
            "subject.dsn: sslmode=verify-full needs sslrootcert=FILE: the load engine has no built-in"
            " authorities",
            "name the file of the authority's certificate, in PEM",
        )
    if mode == "verify-full" and given.get("hostaddr"):
        raise InputError(
            "subject.dsn: hostaddr with sslmode=verify-full: the load engine verifies the host name that it"
            " connects to",
            "use host without hostaddr, or sslmode=require",
        )
    # with a root certificate libpq verifies in every mode, the engine in verify-full only
    if root and mode not in ("verify-full", "disable"):
        raise InputError(f"subject.dsn: sslrootcert with sslmode={mode} would not be verified", _VERIFY)


def _given(dsn: str) -> dict[str, tuple[str, str]]:
    """Value of each parameter that differs from libpq's own, and its place: address or environment."""
    found: dict[str, tuple[str, str]] = {}
    written = conninfo_to_dict(dsn)
    for option in pq.Conninfo.get_defaults():
        name, compiled = option.keyword.decode(), (option.compiled or b"").decode()
        if name in written:
            value, where = str(written[name]), "subject.dsn"
        elif option.envvar and (variable := option.envvar.decode()) in os.environ:
            value, where = os.environ[variable], f"{variable} in the environment"
        else:
            continue
        if value not in ("", compiled):
            found[name] = value, where
    return found
