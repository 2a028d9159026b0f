"""Facts of a MariaDB server: which of its settings differ from what was compiled in."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeAlias

import pymysql

from steelyard.host.processes.limits import TimedOut, within
from steelyard.subjects.mariadb.session import error_text

_Connection: TypeAlias = "pymysql.Connection[Any]"

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

_ANSWER_S = 10.0
# the counter is in whole seconds, and both readings may be late
_TOLERANCE_S = 2.0


def sources_of(connection: _Connection) -> dict[str, str]:
    """The origin of each setting that is not the compiled-in default; {} of a server without such a view."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_DIFFERENT)
            return {str(name): str(origin) for name, origin in cursor.fetchall()}
    except pymysql.MySQLError:
        return {}


def number(connect: Callable[[], _Connection], sql: str) -> int:
    """The number that a SELECT gives, of one snapshot of the data. Raises pymysql.MySQLError."""
    with closing(connect()) as connection, connection.cursor() as cursor:
        # whatever the server's default is
        cursor.execute("set session transaction isolation level repeatable read")
        cursor.execute(sql)
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def continuity(connect: Callable[[], _Connection], ended: Callable[[], str] = str) -> Callable[[], str]:
    """A function to call after the load: a sentence if the server ended or was restarted since, else ''.

    connect: opens a connection. ended: how its process ended, '' while it runs or where it is unknown.
    Raises pymysql.MySQLError, OSError, TimedOut when the server does not answer now.
    """

    def uptime_s() -> float:
        with closing(connect()) as connection, connection.cursor() as cursor:
            cursor.execute("show global status like 'Uptime'")
            row = cursor.fetchone()
            assert row is not None
            return float(row[1])

    then_s = within(_ANSWER_S, "reading the server's uptime", uptime_s)
    began_s = time.monotonic()

    def interruption() -> str:
        if how := ended():
            return how
        try:
            now_s = within(_ANSWER_S, "reading the server's uptime", uptime_s)
        except (pymysql.MySQLError, OSError, TimedOut) as error:
            return f"the server does not answer after the load: {error_text(error)}"
        if now_s + _TOLERANCE_S < then_s + time.monotonic() - began_s:
            return f"the server was restarted during the run: its uptime is {now_s:.0f} s"
        return ""

    return interruption
