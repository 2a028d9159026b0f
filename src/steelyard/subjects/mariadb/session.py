"""Settings of a MariaDB session, set and read back; inspection of a session and its server."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pymysql

from steelyard.host.mariadb_login import error_text
from steelyard.study.key_types import Setting, Settings
from steelyard.study.setting_names import folded, is_plain, options_of
from steelyard.study.study import Option
from steelyard.subjects.rehearsal import SettingsRefused, refuse_others
from steelyard.subjects.servers.identity import FILE, Identity, Interruption, continuity

Connection: TypeAlias = "pymysql.Connection[Any]"

# "Truncated incorrect ... value": the server took the nearest one that it allows
_TRUNCATED = 1292
# SERVER_STATUS_NO_BACKSLASH_ESCAPES
_NO_BACKSLASH_ESCAPES = 0x200
_READ_ONLY = 1238
_DEFAULT = "select default_value from information_schema.system_variables where variable_name = %s"
_STATUS = "(select variable_value from information_schema.session_status where variable_name = '{}')"

# numbers of a session that only the session itself can read
INSPECT = {
    "prepared": "select "
    + ", ".join(
        f"{_STATUS.format(f'Com_stmt_{name}')} as {name}s" for name in ("prepare", "execute", "close")
    ),
    "memory": f"select {_STATUS.format('Memory_used')} as session_bytes",
}

# https://mariadb.com/docs/server/server-management/variables-and-modes: sizes take K, M, G, T, P, E
_SUFFIXES = {letter: 1024**power for power, letter in enumerate("KMGTPE", start=1)}
_BLOCK, _ROUNDED = 128, 0.01
_TRUE, _FALSE = {"on", "true", "yes", "1"}, {"off", "false", "no", "0"}

# an option's defaults do not concern them
_OWN = ("set session max_statement_time = 0", "set session transaction read write")


def session_statements(option: Option) -> tuple[str, ...]:
    """SET statements of the study's session settings, the option's last."""
    return tuple(f"set session {name} = {_literal(value)}" for name, value in option.session.items())


def read_back_session(connection: Connection, option: Option) -> bool:
    """Sets them in this session. Whether a backslash in a text escapes then. Raises SettingsRefused."""
    refused: dict[str, str] = {}
    for (name, value), statement in zip(option.session.items(), session_statements(option), strict=True):
        if words := _refused(connection, statement):
            refused[name] = f"{name} = {written(value)}: {words}"
    if refused:
        raise SettingsRefused("session", refused)
    return not getattr(connection, "server_status", 0) & _NO_BACKSLASH_ESCAPES


def variables(connection: Connection, scope: str) -> dict[str, str]:
    """Every variable of the scope, global or session. Raises pymysql.MySQLError."""
    with connection.cursor() as cursor:
        cursor.execute(f"show {scope} variables")
        return {str(name): str(value) for name, value in cursor.fetchall()}


def refuse_not_taken(
    connection: Connection, shown: Mapping[str, str], requested: Settings, program: Path
) -> None:
    """Raises SettingsRefused for settings that the server does not have as requested. shown: its variables.

    The server writes some values in another way: such a value is set again, which must change nothing. A text
    that cannot be set again was read when the server started, as were options that are no variables.
    """

    def is_same(name: str, value: Setting, has: str) -> bool:
        if taken(value, has):
            return True
        words = _refused(connection, f"set global {folded(name)} = {_literal(value)}")
        if not words and variables(connection, "global")[folded(name)] == has:
            return True
        return (words.startswith(f"{_READ_ONLY} ") and not is_plain(value)) or _is_default(
            connection, name, value
        )

    options = options_of(program.name, str(program.parent))
    checked = {
        name: value
        for name, value in requested.items()
        if folded(name) in shown or folded(name) not in options
    }
    refuse_others("this server", shown, checked, is_same)


def _is_default(connection: Connection, name: str, value: Setting) -> bool:
    """Whether a number is the compiled-in one, which lets the server choose."""
    with connection.cursor() as cursor:
        cursor.execute(_DEFAULT, [folded(name)])
        return any(taken(value, str(default)) for (default,) in cursor.fetchall())


def _refused(connection: Connection, statement: str) -> str:
    """The server's words where it does not take a SET, or takes another value; '' otherwise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.execute("show warnings")
            return "; ".join(text for _, code, text in cursor.fetchall() if int(code) == _TRUNCATED)
    except pymysql.MySQLError as error:
        return error_text(error)


def _literal(value: Setting) -> str:
    # of an enumeration its number: in quotes it would be a name
    if isinstance(value, bool | int | float) or value.isdigit():
        return written(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"


def written(value: Setting) -> str:
    """A setting as text, for an option of the server."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)


def argument(name: str, value: Setting) -> str:
    """A setting on the command line. log_bin takes a text: `off` would be the name of a file."""
    if folded(name).startswith("skip_") and taken(True, written(value)):
        return f"--{name.replace('_', '-')}"
    if folded(name) == "log_bin" and taken(False, written(value)):
        return "--skip-log-bin"
    return f"--{name.replace('_', '-')}={written(value)}"


def taken(requested: Setting, shown: str) -> bool:
    """Whether `shown`, of SHOW VARIABLES, is the requested value."""
    want, have = written(requested).strip().lower(), shown.strip().lower()
    if want == have or any({want, have} <= words for words in (_TRUE, _FALSE)):
        return True
    number, other = _amount(want), _amount(have)
    if number is None or other is None:
        return False
    # sizes are rounded to blocks of the server
    return number == other or (other % _BLOCK == 0 and abs(number - other) < _ROUNDED * number)


def _amount(text: str) -> float | None:
    digits, factor = text.removesuffix("b"), 1
    if digits[-1:].upper() in _SUFFIXES:
        digits, factor = digits[:-1], _SUFFIXES[digits[-1].upper()]
    try:
        return float(digits) * factor
    except ValueError:
        return None


def own_session(
    socket: Path, user: str, database: str = "", flags: int = 0, identity: Identity | None = None
) -> Connection:
    """A session with the server that was started, and no other; identity: None: it is not checked.

    Raises SubjectFailed, pymysql.MySQLError.
    """
    connection = pymysql.connect(
        unix_socket=str(socket), user=user, database=database or None, connect_timeout=2, client_flag=flags
    )
    try:
        with connection.cursor() as cursor:
            for statement in _OWN:
                cursor.execute(statement)
            if identity is not None:
                cursor.execute(f"select @@datadir, load_file(concat(@@datadir, '{FILE}'))")
                data, nonce = cursor.fetchone() or ("", "")
                text = nonce.decode() if isinstance(nonce, bytes) else str(nonce)
                identity.check(socket, str(data), text)
    except BaseException:
        connection.close()
        raise
    return connection


# AUTO: the server computes a default from the machine or from other settings
_DIFFERENT = (
    "select lower(variable_name), lower(global_value_origin) from information_schema.system_variables"
    " where global_value_origin <> 'COMPILE-TIME'"
    " and (global_value_origin <> 'AUTO' or not global_value <=> default_value) order by 1"
)


# without the right PROCESS a user sees only its own sessions; this one is not counted
# handlers count a row of a partitioned table twice; engines without transactions keep what is rolled back
WROTE = """
select coalesce(sum(variable_value), 0), 0, null, 0, (
    select group_concat(name) from (
        select routine_name as name from information_schema.routines
            where routine_schema = database() and is_deterministic = 'NO'
        union select table_name from information_schema.tables join information_schema.engines using (engine)
            where table_schema = database() and coalesce(transactions, 'NO') <> 'YES') by_chance)
from information_schema.session_status
where variable_name in ('HANDLER_WRITE', 'HANDLER_UPDATE', 'HANDLER_DELETE')
"""
LEFT_SQL = """
    select 1 + least(@@global.max_connections - count(*), if(@@max_user_connections > 0,
        @@max_user_connections - sum(user = substring_index(user(), '@', 1)),
        @@global.max_connections - count(*)))
    from information_schema.processlist where user not in ('system user', 'event_scheduler')
"""

# the counter is in whole seconds, and both readings may be late
_Life = tuple[float, float]  # uptime, and when it was read, in s
_TOLERANCE_S = 2.0


def sources_of(connection: Connection) -> dict[str, str]:
    """The origin of each setting that is not the compiled-in default; {} of a server without such a view."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_DIFFERENT)
            return {str(name): str(origin) for name, origin in cursor.fetchall()}
    except pymysql.MySQLError:
        return {}


def number(connect: Callable[[], Connection], sql: str) -> int:
    """The number that a SELECT gives, of one snapshot of the data. Raises pymysql.MySQLError."""
    with closing(connect()) as connection, connection.cursor() as cursor:
        # whatever the server's default is
        cursor.execute("set session transaction isolation level repeatable read")
        cursor.execute(sql)
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def watched(connect: Callable[[], Connection], ended: Interruption = str) -> Interruption:
    """`continuity` of the server that this connects to. Raises pymysql.MySQLError, OSError, TimedOut."""

    def look() -> _Life:
        with closing(connect()) as connection, connection.cursor() as cursor:
            cursor.execute("show global status like 'Uptime'")
            row = cursor.fetchone()
            assert row is not None
            return float(row[1]), time.monotonic()

    def compared(then: _Life, now: _Life) -> str:
        if now[0] + _TOLERANCE_S < then[0] + now[1] - then[1]:
            return f"the server was restarted during the run: its uptime is {now[0]:.0f} s"
        return ""

    return continuity(look, compared, (pymysql.MySQLError, OSError), ended, error_text)
