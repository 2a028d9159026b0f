"""The lab's own sessions with a PostgreSQL that it started."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from steelyard.subjects.postgres.cluster import SUPERUSER
from steelyard.subjects.servers.identity import FILE, Identity

_CONNECT_S = 30
_ATTEMPTS = 50
_IDENTITY = f"select current_setting('data_directory'), coalesce(pg_read_file('{FILE}', 0, 100, true), '')"
# an option's defaults do not concern them; since: major version
_OWN = {"default_transaction_read_only=off": 0, "statement_timeout=0": 0, "lock_timeout=0": 0,
        "idle_in_transaction_session_timeout=0": 0, "transaction_timeout=0": 17}  # fmt: skip


def own_dsn(socket: Path, database: str, version: int) -> str:
    """The address of the server at a Unix socket `.s.PGSQL.PORT`; version: its major version."""
    # of a database in SQL_ASCII psycopg gives bytes for texts
    return make_conninfo(
        "",
        host=str(socket.parent),
        port=socket.suffix.removeprefix("."),
        user=SUPERUSER,
        dbname=database,
        client_encoding="UTF8",
        options=" ".join(f"-c {setting}" for setting, since in _OWN.items() if version >= since),
    )


def own_session(dsn: str, identity: Identity) -> psycopg.Connection[Any]:
    """A session with the server that was started, and no other. Raises SubjectFailed, psycopg.Error.

    Its reset values (pg_settings.reset_val) are those of the server.
    """
    given = conninfo_to_dict(dsn)
    own = str(given.pop("options")).replace("-c ", "; set ").removeprefix("; ")
    connection = psycopg.connect(make_conninfo("", **given), autocommit=True, connect_timeout=_CONNECT_S)
    try:
        _lift_limits(connection, own)
        data, nonce = connection.execute(_IDENTITY).fetchone() or ("", "")
        identity.check(Path(connection.info.host) / f".s.PGSQL.{connection.info.port}", data, nonce)
    except BaseException:
        connection.close()
        raise
    return connection


def _lift_limits(connection: psycopg.Connection[Any], own: str) -> None:
    """Executes SQL that lifts the session's limits. A limit of 1 ms may cancel it: it is tried 50 times."""
    for attempt in range(_ATTEMPTS):
        try:
            connection.execute(own.encode())
        except psycopg.errors.QueryCanceled:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def answers(dsn: str) -> bool:
    """Whether the server admits sessions."""
    with suppress(psycopg.OperationalError):
        psycopg.connect(dsn, connect_timeout=2).close()
        return True
    return False
