"""A running PostgreSQL at an address: used as it is; only sessions and clients can be factors."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import psycopg

from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.errors import InputError
from steelyard.study.passwords import expand
from steelyard.study.plan import Option
from steelyard.subjects import Bench, Load, Server
from steelyard.subjects.postgres.address import check
from steelyard.subjects.postgres.facts import LEFT_SQL, facts_of, number
from steelyard.subjects.postgres.interruption import continuity
from steelyard.subjects.postgres.lwlocks import tranche_names
from steelyard.subjects.postgres.session import INSPECT, read_back_session, session_statements, turn_end
from steelyard.subjects.servers.by_address import check_shared

_ANSWER_S = 30.0
_LOOKS_SINCE = 140_000
_ATTEMPTS = 3
_SESSION = (
    "select pg_backend_pid(), extract(epoch from now()), extract(epoch from backend_start)"
    " from pg_stat_activity where pid = pg_backend_pid()"
)


class ForeignPostgres:
    """Connects; starts nothing, changes no settings, creates no tables."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def start(self, option: Option) -> Load:
        """The server at the address, whose tables must exist. Raises InputError."""
        dsn = expand(self._bench.study.subject.dsn or "")
        try:
            check(dsn)
            server = within(_ANSWER_S, "connecting to subject.dsn", lambda: self._server(dsn, option))
            server = replace(server, interruption=continuity(dsn))
            facts = facts_of(partial(session_at, dsn))
            return Load(server=server, facts={"origin": "a running server at an address", **facts})
        except TimedOut as error:
            raise InputError(f"subject.dsn: {error}", "check the address, and that the server runs") from None
        except psycopg.OperationalError as error:
            raise InputError(
                f"subject.dsn: {str(error).strip()}", "check the address, the user and the password"
            ) from None
        except psycopg.ProgrammingError:
            # its message may quote the address with the password
            raise InputError(
                "subject.dsn: libpq cannot read this address", "postgresql://user:${PASSWORD}@host/database"
            ) from None

    def join(self, option: Option) -> Load:
        """The same for every option: the server at the address."""
        return self.start(option)

    def _server(self, dsn: str, option: Option) -> Server:
        # before a session is set: it may be another's
        if self._shared:
            check_shared(self._bench.study, self._bench.options)
        with session_at(dsn) as connection:
            info = connection.info
            read_back_session(connection, option)
            parameters = info.get_parameters()
            verified = parameters.get("sslmode") == "verify-full"
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
                dsn=dsn,
                latch_names=tranche_names,
                session=(*_ends(connection, self._shared), *session_statements(option)),
                # a client of a pooler cannot choose the session that it would inspect
                inspect={} if self._shared else INSPECT,
                turn_end="" if self._shared else turn_end(connection),
                number=partial(number, dsn),
                left_sql="" if self._shared else LEFT_SQL,
            )

    @cached_property
    def _shared(self) -> bool:
        dsn = expand(self._bench.study.subject.dsn or "")
        return any(_shares_sessions(dsn) for _ in range(_ATTEMPTS))

    def reset(self) -> None:
        """Nothing to do: the lab does not change this server's data."""

    def stop(self) -> str:
        """Nothing to do: the server keeps running, and its log is not available."""
        return ""


def _ends(connection: psycopg.Connection[Any], shared: bool) -> tuple[str, ...]:
    """SQL of each client, so that a statement does not outlive its client; () where a session is shared."""
    known = connection.info.server_version >= _LOOKS_SINCE and not shared
    return ("set client_connection_check_interval = '1s'",) if known else ()


def session_at(dsn: str) -> psycopg.Connection[Any]:
    """A session that leaves nothing behind. Raises psycopg.Error."""
    # of a database in SQL_ASCII psycopg gives bytes for texts
    return psycopg.connect(
        dsn, connect_timeout=10, autocommit=True, client_encoding="UTF8", prepare_threshold=None
    )


def _shares_sessions(dsn: str) -> bool:
    """Whether the backends are those of a pooler, which gives them to others as well. Reads alone."""

    def ask(connection: psycopg.Connection[Any]) -> tuple[Any, ...]:
        return connection.execute(_SESSION).fetchone() or (None,) * 3

    with session_at(dsn) as first:
        pid, now, _ = ask(first)
        # a pooler invents the pid of the login
        if pid != first.info.backend_pid:
            return True
        with session_at(dsn) as second:
            other, _, began = ask(second)
            pids = {pid, other, ask(first)[0], second.info.backend_pid}
            return began < now or len(pids) != 2
