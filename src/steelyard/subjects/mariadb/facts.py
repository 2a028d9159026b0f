"""Facts of a MariaDB server: which of its settings differ from what was compiled in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pymysql

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


def sources_of(connection: pymysql.Connection[Any]) -> dict[str, str]:
    """The origin of each setting that is not the compiled-in default; {} of a server without such a view."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_DIFFERENT)
            return {str(name): str(origin) for name, origin in cursor.fetchall()}
    except pymysql.MySQLError:
        return {}


def number(connect: Callable[[], pymysql.Connection[Any]], sql: str) -> int:
    """The number that a SELECT gives, of one snapshot of the data. Raises pymysql.MySQLError."""
    with closing(connect()) as connection, connection.cursor() as cursor:
        # whatever the server's default is
        cursor.execute("set session transaction isolation level repeatable read")
        cursor.execute(sql)
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])
