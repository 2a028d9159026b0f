"""Facts of a MariaDB server: which of its settings differ from what was compiled in."""

from __future__ import annotations

from typing import Any

import pymysql

# AUTO: the server computes a default from the machine or from other settings
_DIFFERENT = (
    "select lower(variable_name), lower(global_value_origin) from information_schema.system_variables"
    " where global_value_origin <> 'COMPILE-TIME'"
    " and (global_value_origin <> 'AUTO' or not global_value <=> default_value) order by 1"
)


def sources_of(connection: pymysql.Connection[Any]) -> dict[str, str]:
    """The origin of each setting that is not the compiled-in default; {} of a server without such a view."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_DIFFERENT)
            return {str(name): str(origin) for name, origin in cursor.fetchall()}
    except pymysql.MySQLError:
        return {}
