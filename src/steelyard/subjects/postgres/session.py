"""Settings of a PostgreSQL session, set and read back; inspection of a session and its server."""

from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from steelyard.study.key_types import Setting, Settings
from steelyard.study.study import Option
from steelyard.subjects.rehearsal import SettingsRefused
from steelyard.subjects.servers.identity import FILE, Identity

Connection = psycopg.Connection[Any]

SUPERUSER = "postgres"
SOCKET = ".s.PGSQL.{}"
# a session's prepared statements and memory are visible only in that session
INSPECT = {
    "prepared": "select count(*) as statements, coalesce(sum(generic_plans), 0) as generic_plans,"
    " coalesce(sum(custom_plans), 0) as custom_plans from pg_prepared_statements",
    "memory": "select sum(total_bytes) as session_bytes,"
    " coalesce(sum(total_bytes) filter (where name like 'CachedPlan%'), 0) as plan_cache_bytes"
    " from pg_backend_memory_contexts",
}

# a session of the lab lifts some limits for itself, and has its own client_encoding
_GIVEN = ("command line", "session", "client")
# values that leave the choice to the server
_CHOOSE = ("-1", "0")
_NO_SUCH = "an extension's setting exists only when shared_preload_libraries names it"

_CONNECT_S = 30
_ATTEMPTS = 50
_IDENTITY = f"select current_setting('data_directory'), coalesce(pg_read_file('{FILE}', 0, 100, true), '')"
# an option's defaults do not concern them; since: major version
_OWN = {"default_transaction_read_only=off": 0, "statement_timeout=0": 0, "lock_timeout=0": 0,
        "idle_in_transaction_session_timeout=0": 0, "transaction_timeout=0": 17}  # fmt: skip


def set_password(connection: Connection, password: str | None) -> None:
    """Gives the lab's user a password, kept as a SCRAM verifier; None: has no effect."""
    if password is None:
        return
    statement = sql.SQL("alter role {} password {}").format(sql.Identifier(SUPERUSER), sql.Literal(password))
    connection.execute("set password_encryption = 'scram-sha-256'")
    connection.execute(statement)


def turn_end(connection: Connection) -> str:
    """SQL that makes a session pass its counts to the server's statistics now, not up to 1 s later.

    '' before version 15, where a session cannot. (PostgreSQL manual, "The Cumulative Statistics System")
    """
    return "select pg_stat_force_next_flush()" if connection.info.server_version >= 150_000 else ""


def session_statements(option: Option) -> tuple[str, ...]:
    """SQL that sets the study's session settings, the option's last."""
    # as the server reads a configuration file: SET would take `public, other` as the name of one schema
    return tuple(
        f"select set_config({_literal(name)}, {_literal(written(value))}, false)"
        for name, value in option.session.items()
    )


def read_back_session(connection: Connection, option: Option) -> None:
    """Sets them in this session. Raises SettingsRefused."""
    refused: dict[str, str] = {}
    for (name, value), statement in zip(option.session.items(), session_statements(option), strict=True):
        try:
            connection.execute(statement.encode())
        except psycopg.Error as error:
            words = error.diag.message_primary or str(error).strip()
            refused[name] = f"{name} = {written(value)}: {words}"
    if refused:
        raise SettingsRefused("session", refused)


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def refuse_not_taken(connection: Connection, requested: Settings) -> None:
    """Raises SettingsRefused for settings that are not those of the command line, psycopg.Error.

    A server refuses a value that it cannot take, but accepts any name with a dot, even an unknown one; and
    what a database or a role sets counts more (PostgreSQL manual, "Setting Parameters").
    """
    rows = connection.execute(
        "select lower(name), reset_val || coalesce(' ' || unit, ''), source from pg_settings"
    ).fetchall()
    known = {str(name): (value, source) for name, value, source in rows}
    refused: dict[str, str] = {}
    for name, given in requested.items():
        value, (has, source) = written(given), known.get(name.lower(), ("", ""))
        if not source:
            refused[name] = f"this server has no setting {name} ({_NO_SUCH})"
        elif source not in _GIVEN and not (source == "override" and value in _CHOOSE):
            refused[name] = f"the server did not take {name} = {value}: it has {has} (source: {source})"
    if refused:
        raise SettingsRefused("server", refused)


def written(value: Setting) -> str:
    """A setting as text, in PostgreSQL's notation."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


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


def own_session(dsn: str, identity: Identity) -> Connection:
    """A session with the server that was started, and no other. Raises SubjectFailed, psycopg.Error.

    Its reset values (pg_settings.reset_val) are those of the server.
    """
    given = conninfo_to_dict(dsn)
    own = str(given.pop("options")).replace("-c ", "; set ").removeprefix("; ")
    connection = psycopg.connect(make_conninfo("", **given), autocommit=True, connect_timeout=_CONNECT_S)
    try:
        # a limit of 1 ms may cancel what lifts it
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                connection.execute(own.encode())
                break
            except psycopg.errors.QueryCanceled:
                if attempt == _ATTEMPTS:
                    raise
        data, nonce = connection.execute(_IDENTITY).fetchone() or ("", "")
        identity.check(Path(connection.info.host) / f".s.PGSQL.{connection.info.port}", data, nonce)
    except BaseException:
        connection.close()
        raise
    return connection
