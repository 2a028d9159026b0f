"""A running PostgreSQL at an address: used as it is; only sessions and clients can be factors."""

from __future__ import annotations

from dataclasses import replace

import psycopg

from steelyard.host.processes.limits import TimedOut, within
from steelyard.study.errors import InputError
from steelyard.study.passwords import expand
from steelyard.study.plan import Option
from steelyard.subjects import Bench, Load, Server
from steelyard.subjects.postgres.address import check
from steelyard.subjects.postgres.facts import facts_of
from steelyard.subjects.postgres.interruption import continuity
from steelyard.subjects.postgres.lwlocks import tranche_names
from steelyard.subjects.postgres.session import INSPECT, read_back_session, session_statements, turn_end

_ANSWER_S = 30.0


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
            return Load(server=server, facts={"origin": "a running server at an address", **facts_of(dsn)})
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
        # of a database in SQL_ASCII psycopg gives bytes for texts
        with psycopg.connect(dsn, connect_timeout=10, autocommit=True, client_encoding="UTF8") as connection:
            info = connection.info
            self._check_tables(connection)
            read_back_session(connection, self._bench.study, option)
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
                session=session_statements(option),
                inspect=INSPECT,
                turn_end=turn_end(connection),
            )

    def _check_tables(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        missing = [
            table.name
            for table in (*self._bench.work.files, *self._bench.work.tables)
            if connection.execute("select to_regclass(%s)", [table.name]).fetchone() == (None,)
        ]
        if missing:
            raise InputError(
                f"the database {connection.info.dbname} has no table {', '.join(missing)}",
                'steelyard data STUDY | psql "$DSN" creates and fills them',
            )

    def reset(self) -> None:
        """Nothing to do: the lab does not change this server's data."""

    def stop(self) -> str:
        """Nothing to do: the server keeps running, and its log is not available."""
        return ""
